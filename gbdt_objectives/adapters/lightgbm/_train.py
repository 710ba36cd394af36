"""LightGBM: train and cross-validate on an Objective, with the intercept inside the model.

What train() does with every parameter, and what to write instead of refused ones, stands below.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping, MutableMapping, Sequence
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from threading import RLock
from typing import Any

import lightgbm as lgb
import numpy as np
from lightgbm.basic import _ConfigAliases

from gbdt_objectives import _checks
from gbdt_objectives._checks import Array, Earlier, Layout, Training, column_names
from gbdt_objectives._checks.spellings import each_word
from gbdt_objectives._checks.tables import check_numbers
from gbdt_objectives._public import public
from gbdt_objectives._registry import LIGHTGBM, library
from gbdt_objectives.adapters import _arguments, _train
from gbdt_objectives.adapters._arguments import (
    BOOSTER,
    CV,
    STARTS,
    TRAIN,
    ParameterTable,
    RefusedWith,
    Request,
    as_list,
    by_reason,
    documented,
    metrics_of,
)
from gbdt_objectives.adapters._estimators import sounding_like, unwrap_integers
from gbdt_objectives.adapters._train import StartedFolds, StartedObjective, starts_of_sets
from gbdt_objectives.adapters.lightgbm.intercept import InTraining, averages, declared_link
from gbdt_objectives.metrics import Metric
from gbdt_objectives.objectives import Objective

WORDS = _arguments.words_of(
    LIGHTGBM, data="lightgbm.Dataset", params='{"num_leaves": 4, "verbose": -1}',
    of_fit=" of ``fit``",
    theirs="``train_set``, the objective in ``params`` and ``feval``",
    progress="In ``fit``\n    "
    "``callbacks=[lightgbm.log_evaluation(10)]`` prints every tenth round.",
)  # fmt: skip


@public
@documented(
    TRAIN + BOOSTER, WORDS, refused="``boosting='rf'``.",
    starts=STARTS.format(start="an ``init_score``")
    + "\n    Threads may share it, if their ``params`` agree on how it is binned.",
    rows="[[0.1, 0.5, 0.5], [0.9, 0.5, 0.5]]", kwargs="""``init_model``, and ``callbacks``:
    ``[lightgbm.log_evaluation(10)]`` prints every tenth round.""",
    booster="""
    Predict from the first iteration on: ``start_iteration`` > 0 leaves the intercept out.
    Its objective is called ``regression``, ``poisson``, ``binary`` or ``multiclass``, so that
    converters accept it and ``refit`` works: on squared error, or on plain logloss without the
    objective's rate. With the link "score" it has no such name, and LightGBM refuses to refit.""",
)  # fmt: skip
def train(
    params: Mapping[str, Any], data: lgb.Dataset, num_boost_round: int = 100, *,
    objective: Objective = _arguments.ABSENT, metric: Metric | None = None,
    evals: Sequence[tuple[lgb.Dataset, str]] = (), early_stopping_rounds: int | None = None,
    **kwargs: Any,
) -> lgb.Booster:  # fmt: skip
    """``lightgbm.train`` that starts, stops and predicts correctly."""
    return _train.train(library("lightgbm"), Request(  # type: ignore[no-any-return]
        "train", params, data, num_boost_round, objective, metric, evals, early_stopping_rounds,
        kwargs,
    ))  # fmt: skip


@public
@documented(
    CV, WORDS, history="dict", column="valid ",
    kwargs="""``nfold``, ``folds``, ``seed``, ``return_cvbooster``, ...
    ``callbacks=[lightgbm.log_evaluation(10)]`` prints every tenth round.
    LightGBM stratifies by label by default; labels with fractions need ``stratified=False``.""",
    boosters="""
    The boosters of ``return_cvbooster=True`` are like those of :func:`train`, with the intercept
    inside and the best rounds only.""",
)  # fmt: skip
def cv(
    params: Mapping[str, Any], data: lgb.Dataset, num_boost_round: int = 100, *,
    objective: Objective = _arguments.ABSENT, metric: Metric,
    early_stopping_rounds: int | None = None, **kwargs: Any,
) -> dict[str, Any]:  # fmt: skip
    """``lightgbm.cv`` with ``objective`` and ``metric`` meaning the same as in :func:`train`."""
    return _train.cv(library("lightgbm"), Request(  # type: ignore[no-any-return]
        "cv", params, data, num_boost_round, objective, metric, (), early_stopping_rounds, kwargs,
    ))  # fmt: skip


def run(
    request: Request, callbacks: list[Any], started: StartedObjective | StartedFolds,
    start: Mapping[str, Any],
) -> Any:  # fmt: skip
    others: dict[str, Any] = {}
    if request.function == "train":
        others = {
            "valid_sets": [dataset for dataset, _ in request.evals] or None,
            "valid_names": [name for _, name in request.evals] or None,
        }
    several = _arguments.several_outputs(request.objective)
    return getattr(lgb, request.function)(
        {**request.params, **several, "objective": started, "metric": "None"}, request.data,
        request.num_boost_round,
        feval=None if request.metric is None else request.metric.lightgbm,
        callbacks=[completing(getattr(started, "folds", [started])), *callbacks],
        **others, **request.others,
    )  # fmt: skip


def check(request: Request, params: Mapping[str, Any], callbacks: Sequence[Any]) -> None:
    datasets = [request.data, *(dataset for dataset, _ in request.evals)]
    check_parameters(
        params, request.objective, stops_early=any_stops_early(callbacks),
        from_file=any(d.data is None or in_file(d) for d in datasets),
    )  # fmt: skip


@contextmanager
def hold(request: Request, datasets: Sequence[lgb.Dataset]) -> Iterator[list[Any]]:
    """One thread at a time until its first round; ``init_model`` leaves predictions, init_score."""
    if request.others.pop("keep_training_booster", False):
        raise ValueError(
            "keep_training_booster=True is refused: what it keeps would train on from margins "
            "without the intercept; leave it out, and train on with init_model="
        )
    if any(name == "training" and dataset is not request.data for dataset, name in request.evals):
        raise ValueError(
            "the name 'training' in evals is LightGBM's own for the training data, on which it "
            "never stops early: give held-out data another name"
        )
    if request.objective.rows is not None and request.data.used_indices is not None:
        raise ValueError(
            f"data is a subset of a Dataset, whose rows LightGBM sorts, but {request.objective!r} "
            "is for rows in their order: make lightgbm.Dataset(X[rows], label=y[rows])"
        )
    goes_on = continues(request.others, request.data, request.training)
    with one_at_a_time() as first_round, explain_errors():
        had = [init_score(d, request.objective.outputs) for d in datasets] if goes_on else []
        try:
            yield [first_round]
        finally:
            for dataset, score in zip(datasets, had, strict=False):
                dataset._predictor, dataset.init_score = None, score
                if _constructed(dataset):
                    dataset.set_field("init_score", score)


def continues(given: MutableMapping[str, Any], data: Any, training: Training) -> bool:
    """Whether training continues an earlier model, ``given["init_model"]``; if so, it is read."""
    if given.get("init_model") is None:
        return False
    given["init_model"] = read_booster(given["init_model"])
    training.know(**earlier_facts({**given, "train_set": data}))
    return True


def earlier_facts(seen: Mapping[str, Any]) -> dict[str, Any]:
    """What is known of the ``init_model`` among the locals of a training, if there is one."""
    if seen.get("init_model") is None:
        return {}
    booster, data = read_booster(seen["init_model"]), seen["train_set"]
    Layout(
        name="X", trained_on=booster.feature_name(), known=booster.pandas_categorical or (),
        of="init_model", **layout_of(data),
    )  # fmt: skip
    came = declared_link(booster)
    outputs = booster.num_model_per_iteration()
    return {"earlier": Earlier("init_model", outputs, came, averages(booster))}


def layout_of(data: Any) -> dict[str, Any]:
    """The facts of the layout of a Dataset, or of what becomes one."""
    X, rows = data, {}
    if isinstance(data, lgb.Dataset):  # which has frames and Series until it is constructed
        X, rows = data.data, {"label": data.label, "weight": data.weight}
        rows = {"X": X, **rows, "init_score": data.init_score}
    names, kinds = column_names(X), X.dtypes.items() if hasattr(X, "iloc") else ()
    categories = {name: list(kind.categories) for name, kind in kinds if kind == "category"}
    if getattr(data, "_handle", None):
        names = data.get_feature_name()
        coded = [names[k] for k in data.params.get("categorical_column", ())]
        categories = dict(zip(coded, data.pandas_categorical or (), strict=False))
    return {"columns": names, "rows": rows, "categories": categories}


def read_booster(model: Any) -> lgb.Booster:
    """A model in any form. LightGBM itself ignores what is not a model, and starts at 0."""
    if isinstance(model, lgb.LGBMModel):
        return model.booster_
    if isinstance(model, lgb.Booster):
        return model.complete() if isinstance(model, InTraining) else model
    if not isinstance(model, str | Path):
        found = _checks.shown(model)
        raise TypeError(f"init_model must be a Booster, a fitted estimator or path, found {found}")
    return lgb.Booster(model_file=model)


def fold_rows(request: Request) -> Callable[[Any], Array]:
    def rows(fold: lgb.Dataset) -> Array:
        request.objective.check_rows(request.data.num_data(), "data")
        return np.asarray(fold.used_indices)

    return rows


_construction = RLock()


if hasattr(os, "register_at_fork"):  # a child has none of the threads that could release it
    os.register_at_fork(after_in_child=lambda: globals().update(_construction=RLock()))


@contextmanager
def one_at_a_time() -> Iterator[Callable[[Any], None]]:
    """One thread at a time until the callback that this yields is called, in the first round: until
    then LightGBM constructs the data, and one thread would free what another is to read."""
    lock, held = _construction, True

    def first_round(env: Any) -> None:
        nonlocal held
        if held:
            held = False
            lock.release()

    first_round.before_iteration = True  # type: ignore[attr-defined]
    first_round.order = -(10**6)  # type: ignore[attr-defined]  # before what the user has
    lock.acquire()
    try:
        yield first_round
    finally:
        first_round(None)


def completing(starts: Sequence[StartedObjective]) -> Callable[[Any], None]:
    """A callback that makes boosters complete to all that read them while they train."""

    def first_round(env: Any) -> None:
        boosters = getattr(env.model, "boosters", [env.model])  # of cv
        for booster, started in zip(boosters, starts, strict=True):
            if isinstance(booster, InTraining):
                return
            booster.__class__, booster._started = InTraining, started
            of_rows = isinstance(started.start, np.ndarray) and np.any(started.start)
            if of_rows and any(d.get_field("init_score") is None for d in booster.valid_sets):
                raise _train.lost_start(
                    "boosting starts at 0 on an evaluation set that has an init_score"
                )

    first_round.before_iteration = True  # type: ignore[attr-defined]
    first_round.order = -(10**6)  # type: ignore[attr-defined]
    return first_round


def finish(booster: lgb.Booster, objective: Objective, intercept: float | Array) -> lgb.Booster:
    """A complete model up to the best round: of ``cv`` in training, or of others' callbacks."""
    if booster._Booster__set_objective_to_none:  # type: ignore[attr-defined]
        started = StartedObjective(objective, None, Training(), lacks=intercept)
        booster.__class__, booster._started = InTraining, started  # type: ignore[attr-defined]
    return booster.complete(None) if isinstance(booster, InTraining) else booster


def place(
    request: Request, objective: Objective, params: Mapping[str, Any],
    datasets: Mapping[str, lgb.Dataset],
) -> tuple[StartedObjective, dict[str, Any]]:  # fmt: skip
    """The objective, which starts at an init_score, or shifts all margins by its intercept."""
    scores = {name: init_score(d, objective.outputs) for name, d in datasets.items()}
    has_score = {name: score is not None for name, score in scores.items()}
    training = request.training.know(row_start="init_score", sets_with_start=has_score)
    own_start = next(iter(scores.values()))
    if request.others.get("init_model") is not None:
        return StartedObjective(objective, None, training), {}
    if own_start is not None:
        ends = _train.ends_of(own_start)
        if request.function == "train" or ends[0] == ends[1]:  # cv's predictions start as rows do
            training.know(start_ends=ends)
        return StartedObjective(objective, own_start, training), {}
    return StartedObjective(objective, 0.0, training, shifts=True), {}


def _current(dataset: lgb.Dataset, name: str) -> Any:
    """A field that set_field may have changed since, which the attribute does not know."""
    return dataset.get_field(name) if _constructed(dataset) else getattr(dataset, name)


def _constructed(dataset: lgb.Dataset) -> bool:
    return bool(dataset._handle)  # a null pointer if it could not be constructed


def in_file(dataset: lgb.Dataset) -> bool:
    return isinstance(dataset.data, str | Path)


def labels(dataset: lgb.Dataset, name: str) -> Any:
    """Check columns in memory: constructed, a Dataset has 0 for NaN and for none."""
    label = _current(dataset, "label")
    for field in ("weight", "init_score"):
        if (column := _current(dataset, field)) is not None:
            found = check_numbers(f"the {field} of {name}", column)
            if label is not None and found is not None and found.ndim == 2:
                _checks.same_length(f"the {field} of {name}", found, "the labels", len(label))
    if label is not None:
        _checks.vector(f"the label of {name}", unwrap_integers(np.asarray(label)).ravel())
    elif dataset.used_indices is None and not in_file(dataset):
        raise ValueError(f"{name} has no labels: pass label= to the Dataset")
    return label


def init_score(dataset: lgb.Dataset, outputs: int) -> Array | None:
    """The user's init_score, (n,) or (n, K), not what an init_model left, nor LightGBM's zeros."""
    if getattr(dataset, "_predictor", None) is not None:
        return None
    waits = dataset.used_indices is not None and not _constructed(dataset)
    if waits and dataset.init_score is None:
        whole = init_score(dataset.reference, outputs)  # type: ignore[arg-type]  # a subset has one
        return None if whole is None else whole[dataset.used_indices]
    score = _current(dataset, "init_score")
    if score is None or not np.any(score):
        return None
    # LightGBM keeps the K scores of a row apart: those of the first output come first
    return StartedObjective.read_starts("init_score", np.asarray(score), outputs, order="F")


@contextmanager
def explain_errors() -> Iterator[None]:
    """Say in the user's terms which internal check of LightGBM failed."""
    try:
        yield
    except lgb.basic.LightGBMError as error:
        if "num_features" not in str(error):
            raise
        raise ValueError(
            "no feature can be split: all are constant, or there are fewer than "
            "2 * min_data_in_leaf rows (40 by default): add rows, use fewer folds or lower "
            "min_data_in_leaf (min_child_samples)"
        ) from error


class StopEarly:
    """A callback that stops on ``metric`` of the last set evaluated; LightGBM's own stops on any.

    Rounds before the metric's first move do not count: rounded scores are all in one class at
    first. A value must be better than the best by more than ``min_delta``, a list of which has one
    for each metric. With ``verbose`` it says what LightGBM's own says, where LightGBM says it.
    """

    before_iteration = False
    data = None

    def __init__(self, metric: Metric, rounds: int, verbose: bool, min_delta: Any = 0.0) -> None:
        self.metric, self.rounds, self.verbose, self.min_delta = metric, rounds, verbose, min_delta
        self.name, self.value = metric.name, None  # as an estimator's metric was reported last
        self.order = 30  # after what records and prints; LightGBM ignores one of the class

    def __call__(self, env: Any) -> None:
        k, value = env.iteration - env.begin_iteration, self._value(env.evaluation_result_list)
        if k == 0:
            self._say(f"Training until validation scores don't improve for {self.rounds} rounds")
            self.names = list(dict.fromkeys(map(_name, env.evaluation_result_list)))
            self.delta = self._delta()
            self.first = self.best = value
            self.best_round = self.last_still = 0
        if value == self.first and self.last_still == max(k - 1, 0):
            self.last_still = k
        gain = value - self.best if self.metric.greater_is_better else self.best - value
        if gain > self.delta:
            self.best, self.best_round = value, k
        if self.best_round == k:
            self.results = env.evaluation_result_list
        stops = k - max(self.best_round, self.last_still) >= self.rounds
        if stops or env.iteration == env.end_iteration - 1:
            _train.warn_if_few(self.best_round, k + 1, self.name)
            best = env.begin_iteration + self.best_round
            found = "\t".join(f"{r[0]}'s {r[1]}: {r[2]:g}" for r in self.results)
            met = "Early stopping, best" if stops else "Did not meet early stopping. Best"
            only = f"\nEvaluated only: {self.name}" * (len(self.names) > 1)
            self._say(f"{met} iteration is:\n[{best + 1}]\t{found}{only}")
            raise lgb.callback.EarlyStopException(best, self.results)

    def _say(self, text: str) -> None:
        if self.verbose:
            lgb.basic._log_info(text)

    def _delta(self) -> float:
        given = self.min_delta if isinstance(self.min_delta, list) else [self.min_delta]
        if len(given) not in (0, 1, len(self.names)):
            wrong = f"early_stopping has min_delta={given}, but what is measured are "
            raise ValueError(f"{wrong}{', '.join(self.names)}: write one number, or one for each")
        return float([*given, 0][self.names.index(self.name) if given[1:] else 0])

    def _value(self, results: list[Any]) -> float:
        for result in reversed(results):
            if _name(result) == self.name:
                return float(result[2] if self.value is None else self.value)
        raise ValueError(f"early stopping on {self.name} finds no set on which it is evaluated")


def _name(result: Any) -> str:
    """The metric of (data, metric, value, ...); old versions of cv join the first two names."""
    return " ".join(result[:2]).rpartition(" ")[2]


def direct_callbacks(callbacks: Sequence[Any] | None, metric: Metric) -> list[Any]:
    """The user's callbacks, with ours on ``metric`` in place of LightGBM's early stopping."""
    return [
        StopEarly(metric, one.stopping_rounds, one.verbose, _min_delta(one.min_delta))
        if type(one) is lgb.callback._EarlyStoppingCallback and stops_by_name(one)
        else one
        for one in callbacks or ()
    ]


def stops_by_name(callback: Any) -> bool:
    """Whether it is LightGBM's early stopping, which is off at 0 rounds or fewer."""
    kind = lgb.callback._EarlyStoppingCallback
    return isinstance(callback, kind) and callback.stopping_rounds > 0


def _min_delta(given: Any) -> Any:
    """A number, or a list of one for each metric."""
    for one in given if isinstance(given, list) else [given]:
        delta = _checks.number("min_delta of early_stopping", one)
        if delta < 0:
            raise ValueError(f"min_delta of early_stopping must not be negative, found {delta:g}")
    return given


def prints(params: Mapping[str, Any]) -> bool:
    """Whether LightGBM prints what it does with these parameters."""
    verbosity = TABLE.value(params, "verbosity")
    return verbosity is None or int(verbosity) > 0


def any_stops_early(callbacks: Sequence[Any]) -> bool:
    return any(isinstance(callback, StopEarly) for callback in callbacks)


DATASET = "pass it to the Dataset"

INSTEAD = each_word({
    "write init_model=": "xgb_model", DATASET: "feature_name categorical_feature",
    "write callbacks=[lightgbm.record_evaluation(evals_result)]": "evals_result",
    "write callbacks=[lightgbm.log_evaluation(period)]":
        "verbose_eval eval_freq metric_period",
    "write callbacks=[lightgbm.reset_parameter(learning_rate=...)]": "learning_rates",
})  # fmt: skip

NAMES = _ConfigAliases._get_all_param_aliases()
"""The parameters of the installed LightGBM, each with all its names."""
KNOWN = frozenset().union(*NAMES.values())

ALIASES = {
    main: (main, *sorted(set(names) - {main}))
    for main, names in sorted(NAMES.items())
    if len(names) > 1
}

BUILT_IN = "only LightGBM's own objectives read it; leave it out"
CLI = "only LightGBM's command line reads it; "
PREDICT = "training ignores it; "

REFUSED = by_reason({
    "objective= already says what to train on; leave it out": "objective",
    "pass num_boost_round= to train(), or n_estimators= of an estimator": "num_iterations",
    "pass early_stopping_rounds= to train()": "early_stopping_round=0",
    "pass callbacks=[lightgbm.early_stopping(rounds, min_delta=...)]": "early_stopping_min_delta=0",
    "LightGBM ignores it under a custom objective; boosting starts at the objective's intercept "
    "anyway": "boost_from_average=0",
    "LightGBM ignores it under a custom objective; pass weights to the Dataset, or sample_weight= "
    "to fit": "scale_pos_weight=1 is_unbalance=0 pos_bagging_fraction=1 neg_bagging_fraction=1",
    BUILT_IN + ", or write lambda_l1 if you mean that": "alpha=0.9",
    BUILT_IN: "fair_c=1 poisson_max_delta_step=0.7 tweedie_variance_power=1.5 reg_sqrt=0 sigmoid=1 "
        "lambdarank_truncation_level=30 lambdarank_norm=1 "
        "lambdarank_position_bias_regularization=0 label_gain",
    "nothing but metric= is measured; leave it out":
        "metric=none|null|custom|na| eval_at multi_error_top_k=1 auc_mu_weights",
    "pass callbacks=[lightgbm.log_evaluation(period)] to train()": "metric_freq=1",
    "add (data, 'train') to evals=": "is_provide_training_metric=0",
    "each LightGBM worker would see only its own rows in sums over all; train on one machine":
        "num_machines=1 machines= machine_list_filename=",
    "only workers of distributed training read it, which train() refuses; leave it out":
        "tree_learner=serial top_k=20 pre_partition=0 local_listen_port=12400 time_out=120",
    CLI + "write its parameters into params": "config=",
    CLI + "call predict() or refit() of the booster": "task=train|training",
    CLI + "pass a lightgbm.Dataset as the second argument": "data=",
    CLI + "write evals=[(Dataset, name), ...]": "valid=",
    CLI + "pass init_model= to train()": "input_model=",
    CLI + "call save_model() of the booster": "output_model=LightGBM_model.txt",
    CLI + "save env.model in a callback": "snapshot_freq=-1",
    CLI + "call save_binary() of the Dataset": "save_binary=0",
    CLI + "pass importance_type= to save_model() of the booster": "saved_feature_importance_type=0",
    CLI + "call predict() of the booster": "output_result=LightGBM_predict_result.txt",
    CLI + "leave it out": "convert_model=gbdt_prediction.cpp convert_model_language=",
    PREDICT + "pass start_iteration= to predict()": "start_iteration_predict=0",
    PREDICT + "pass num_iteration= to predict()": "num_iteration_predict=-1",
    PREDICT + "pass raw_score=True to predict()": "predict_raw_score=0",
    PREDICT + "pass pred_leaf=True to predict()": "predict_leaf_index=0",
    PREDICT + "pass pred_contrib=True to predict()": "predict_contrib=0",
    PREDICT + "pass it to predict()": "predict_disable_shape_check=0 pred_early_stop=0 "
        "pred_early_stop_freq=10 pred_early_stop_margin=10",
    PREDICT + "pass decay_rate= to refit()": "refit_decay_rate=0.9",
})  # fmt: skip

FILE = "LightGBM reads it only for data in a file; "

FROM_FILE = by_reason({
    FILE + "pass label= to the Dataset": "label_column=",
    FILE + "pass weight= to the Dataset": "weight_column=",
    FILE + "pass group= to the Dataset": "group_column=",
    FILE + "leave the column out of the data": "ignore_column=",
    FILE + "leave it out": "header=0 two_round=0 precise_float_parser=0 parser_config_file=",
})  # fmt: skip
"""Passed if the Dataset is read from a file; otherwise refused, except for neutral values."""

GBDT = (None, "gbdt", "gbrt")
NOT_DART = {"boosting": (*GBDT, "goss")}
NO_DART = "LightGBM drops no trees here; write boosting='dart' too, or leave it out"
NOT_GOSS = {"boosting": (*GBDT, "dart"), "data_sample_strategy": (None, "bagging")}
NO_GOSS = "LightGBM ignores it here; write data_sample_strategy='goss' too, or leave it out"

REFUSED_WITH: RefusedWith = {
    "boosting": (
        ("gbdt", "gbrt", "dart", "goss"), {},
        "LightGBM's random forests do not take custom objectives; write 'gbdt', or train the "
        "forest on its own objective (in QWKClassifier: objective=None)",
    ),
    "bagging_fraction": (
        (1,), {"bagging_freq": (None, 0, -1)},
        "LightGBM samples no rows here; write bagging_freq=1 too, or leave it out",
    ),
    "drop_rate": ((0.1,), NOT_DART, NO_DART), "max_drop": ((50,), NOT_DART, NO_DART),
    "skip_drop": ((0.5,), NOT_DART, NO_DART), "uniform_drop": ((False,), NOT_DART, NO_DART),
    "xgboost_dart_mode": ((False,), NOT_DART, NO_DART),
    "top_rate": ((0.2,), NOT_GOSS, NO_GOSS), "other_rate": ((0.1,), NOT_GOSS, NO_GOSS),
    "use_quantized_grad": (
        (False,), {"linear_tree": (True,)},
        "with linear_tree LightGBM learns nothing from quantised gradients; leave one of them out",
    ),
}  # fmt: skip

REFUSED_STOPPING = by_reason({
    "dart rescales earlier trees, so the best round cannot be cut out of the model; leave "
    "early_stopping_rounds out": "boosting=gbdt|gbrt|goss",
})  # fmt: skip

FOREIGN = by_reason({
    "set init_score on the data": "base_score",
    DATASET: "init_score feature_name reference position free_raw_data",
    "pass feature_name= to the Dataset": "feature_names",
    "pass categorical_feature= to the Dataset": "enable_categorical",
    "write zero_as_missing, or put nan into the data": "missing",
    "pass weights to the Dataset, or sample_weight= to fit": "class_weight sample_weight",
    "write evals=[(data, name), ...]": "eval_set valid_sets valid_names",
    "pass it to train()": "evals init_model callbacks",
    "leave it out: train on with init_model=": "keep_training_booster",
    "pass objective= to train()": "fobj obj",
    "pass metric= to train()": "feval custom_metric eval_metric",
    "pass callbacks=[lightgbm.record_evaluation(evals_result)] to train()": "evals_result",
    "pass callbacks=[lightgbm.log_evaluation(period)] to train()": "verbose_eval",
    "pass it to feature_importance() of the booster": "importance_type",
    "write boosting": "booster",
    "pass num_boost_round= to train(), or n_estimators= of an estimator": "iterations",
    "early_stopping_rounds keeps the best round; leave it out": "use_best_model",
    "pass categorical_feature= to the Dataset, or to fit": "cat_features",
    "leave it out: it always uses histograms": "tree_method",
    "leave it out: it always grows leaf by leaf": "grow_policy", "write max_depth": "depth",
    "write lambda_l2": "l2_leaf_reg", "write min_gain_to_split": "gamma min_split_loss",
    "write feature_fraction_bynode": "max_features colsample_bylevel",
    "write data_sample_strategy='goss'": "sampling_method",
    "leave it out: it grows one tree per round": "num_parallel_tree",
    "write boosting='dart'": "one_drop", "write uniform_drop": "sample_type",
    "write xgboost_dart_mode": "normalize_type",
    "leave it out: nothing but metric= is measured": "disable_default_eval_metric",
    "leave it out: train() checks them": "validate_parameters",
}, "LightGBM has no such parameter and ignores it; ")  # fmt: skip

USED = frozenset({*FROM_FILE, "num_class"})
PASSED = frozenset(NAMES) - USED - REFUSED.keys()
"""All others that the installed LightGBM knows: tests try each of them."""

TABLE = ParameterTable(
    library="LightGBM", aliases=ALIASES, passed=PASSED, used=USED,
    refused=REFUSED | FOREIGN, refused_with=REFUSED_WITH,
)  # fmt: skip


def check_parameters(
    params: Mapping[str, Any], objective: Objective, *, stops_early: bool, from_file: bool = False
) -> None:
    """Raise for what LightGBM would misread; ``from_file``: whether the data may be in a file."""
    here = {"num_class": _arguments.num_class(objective), **({} if from_file else FROM_FILE)}
    TABLE.check(params, here | (REFUSED_STOPPING if stops_early else {}), KNOWN.__contains__)


NO_METRIC = {"", "none", "null", "na", "custom"}  # they measure nothing, and say so
NOT_MEASURED_HERE = NO_METRIC | {
    "multi_logloss", "multiclass", "softmax", "multiclassova", "multiclass_ova", "ova", "ovr",
    "multi_error", "auc_mu",  # on several outputs only
}  # fmt: skip


@cache
def names_of_metric(name: str) -> tuple[str, ...]:
    """What the installed LightGBM, which is asked, calls its metric of this name, if it has one."""
    if name.lower() in NOT_MEASURED_HERE:
        return (name,)
    quiet = {"verbosity": -1, "num_threads": 1}
    data = lgb.Dataset(np.zeros((4, 1)), np.ones(4), group=[4], params=quiet)
    try:
        booster = lgb.Booster({**quiet, "objective": "none", "metric": name}, data)
    except lgb.basic.LightGBMError:  # known, and for other data
        return (name,)
    return tuple(result[1] for result in booster.eval_train())


ORDERS = {"auc", "average_precision", "map", "mean_average_precision", "ndcg", "lambdarank",
          "multi_error", "auc_mu"}  # fmt: skip
"""LightGBM's own metrics for which margins are as good as what is made of them."""


def names_in(metrics: Sequence[Any]) -> list[str]:
    """The names of LightGBM's own metrics among all that are given."""
    names = (name for one in metrics if isinstance(one, str) for name in one.split(","))
    return [name.strip().lower() for name in names]


def ignored(names: Sequence[str]) -> dict[str, str]:
    """The names that LightGBM would drop without a word, and what to write instead."""
    unknown = (one for one in names if not names_of_metric(one))
    return {one: sounding_like(one, "metric") for one in unknown}


def read_call(seen: Mapping[str, Any], fit: Mapping[str, Any], name: str) -> dict[str, Any]:
    """The facts of a training; ``fit`` are the locals of an estimator's fit above it."""
    params, functions, main = seen["params"], as_list(seen.get("feval")), TABLE.main
    said = fit["self"].get_params() if fit else params
    own = [one for key in TABLE.given(said, "metric") for one in as_list(said[key])]
    own = [*as_list(fit.get("eval_metric")), *own]
    own = [one for one in names_in(own) if one not in NO_METRIC]
    booster = seen.get("booster") or (seen.get("cvbooster") or seen["cvfolds"]).boosters[0]
    unnamed = []
    if not said.keys() & NAMES["metric"]:
        written = {its for one in own for its in names_of_metric(one)}
        measured = getattr(booster, "_Booster__name_inner_eval", ())
        unnamed = [its for its in measured if its not in written]
    stops = [c for c in seen["callbacks_set"] if stops_by_name(c)]
    first = [*own, *unnamed][:1]
    looks_at_all = any(not c.first_metric_only for c in stops) or not first
    functions = [getattr(one, "func", one) for one in functions]  # as estimators wrap them
    looked_at = [*own, *unnamed, *functions] if looks_at_all else first
    facts = earlier_facts(seen) | metrics_of(own, functions, looked_at if stops else ()) | {
        "parameters": [(key, main.get(key, key), value) for key, value in params.items()],
        "orders": ORDERS, "unnamed": unnamed, "ignored": ignored(own),
    }  # fmt: skip
    if "valid_sets" in seen:
        data, sets = seen["train_set"], seen["reduced_valid_sets"]
        named = [*zip(sets, seen["name_valid_sets"], strict=False)]
        facts |= {  # of several, those of other rows stop it
            "sets": named, "data": data, "looks_at": [None] if stops and len(named) == 1 else [],
            "labels": lambda k: (data if k is None else sets[k]).get_label(),
        }  # fmt: skip
        K = int(TABLE.value(params, "num_class") or 1)
        starts = {its: init_score(one, K) for one, its in [(data, "train_set"), *named]}
        facts |= starts_of_sets("init_score", starts)
        if not fit:  # of train, whose users add it to predictions
            facts.pop("lost_start", None)
    return facts
