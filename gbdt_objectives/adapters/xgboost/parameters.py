"""What train() does with every parameter of XGBoost, and what to write instead of refused ones."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from functools import cache
from operator import attrgetter
from types import FrameType
from typing import Any

import numpy as np
import xgboost as xgb
from numpy.typing import ArrayLike

from gbdt_objectives import _checks
from gbdt_objectives._checks import Training, label_weight
from gbdt_objectives._checks.spellings import each_word
from gbdt_objectives._public import public
from gbdt_objectives._rows import workers as _workers
from gbdt_objectives.adapters import _arguments
from gbdt_objectives.adapters._arguments import (
    ParameterTable,
    Refused,
    as_list,
    by_reason,
    metrics_of,
)
from gbdt_objectives.adapters._train import MARK, corrected_rate, starts_of_sets, warn_if_few
from gbdt_objectives.metrics import Metric, loss_metric
from gbdt_objectives.objectives import Objective


class EarlyStopping(xgb.callback.EarlyStopping):
    """XGBoost's early stopping, in which rounds before the metric's first move do not count."""

    def __init__(
        self, metric: Metric, rounds: int, data_name: str | None = None, min_delta: float = 0.0
    ) -> None:
        super().__init__(
            rounds=rounds, metric_name=metric.name, data_name=data_name,
            maximize=metric.greater_is_better, save_best=True, min_delta=min_delta,
        )  # fmt: skip

    def before_training(self, model: Any) -> Any:
        forget(self)
        self.seen = 0
        self.save_best = isinstance(model, xgb.Booster)  # cv has no model to keep
        return super().before_training(model)

    def after_iteration(self, model: Any, epoch: int, evals_log: Any) -> bool:
        values = evals_log[self.data or list(evals_log)[-1]][self.metric_name]
        self.seen = len(values)
        if len(values) > 1 and all(value == values[0] for value in values):
            return False
        return bool(super().after_iteration(model, epoch, evals_log))

    def after_training(self, model: Any) -> Any:
        if self.seen and xgb.collective.get_rank() == 0:  # one of several workers tells
            best = model.best_iteration - self.starting_round
            warn_if_few(best, self.seen, str(self.metric_name))
        return keep_categories(super().after_training(model), model)


def keep_categories(cut: Any, whole: Any) -> Any:
    """A booster cut to its first rounds, with the categories that XGBoost (3.2) drops: without them
    it reads rows whose categories are in another order, or new, as if they were its own."""
    if cut is whole or "c" not in (getattr(whole, "feature_types", None) or ()):
        return cut
    (_, known), (document, trees) = map(trees_of, (whole, cut))
    if "cats" in known and known["cats"] != trees["cats"]:  # from XGBoost 3.1 on
        trees["cats"], config = known["cats"], cut.save_config()
        cut.load_model(bytearray(json.dumps(document, ensure_ascii=False).encode()))
        cut.load_config(config)
    return cut


def trees_of(booster: xgb.Booster) -> tuple[dict[str, Any], dict[str, Any]]:
    """A booster as JSON, and in it what holds the trees, which dart keeps one level below."""
    document = json.loads(booster.save_raw("json"))
    trees = document["learner"]["gradient_booster"]
    return document, trees.get("gbtree", trees)["model"]


def forget(callback: xgb.callback.EarlyStopping) -> None:
    """Forget an earlier training: a refitted estimator keeps its callbacks."""
    callback.stopping_history, callback.best_scores, callback.current_rounds = {}, {}, 0


STOPPING = xgb.callback.EarlyStopping
PRINTED = 1e-6  # XGBoost formats a custom metric's value with %f, and reads six decimals back
MANY = 5  # rounds, of which the first is best by chance only if nothing is learned
LEARNED = 0.9  # of the loss: in noise, or with a rate of 1, it may fall by less while errors rise


@public
def early_stopping(metric: Metric, rounds: int, *, data_name: str | None = None) -> EarlyStopping:
    """XGBoost's early stopping in the metric's own direction, keeping the best rounds only.

    It is for ``callbacks=`` of XGBoost's own estimators and ``xgboost.train``, which would guess
    the direction from the metric's name. Rounds before the metric's first move do not count.

    Parameters
    ----------
    metric : Metric
        The one whose ``.xgboost`` rendering is the booster's metric.
    rounds : int
        Stop after this many rounds, at least 1, without improvement.
    data_name : str, optional
        Evaluation set to look at; None is the last one.

    Returns
    -------
    xgboost.callback.EarlyStopping

    Examples
    --------
    >>> from gbdt_objectives import extended_qwk_metric
    >>> from gbdt_objectives.adapters.xgboost import early_stopping
    >>> early_stopping(extended_qwk_metric(), 50).maximize
    True
    """
    _arguments.check_is_metric(metric)
    return EarlyStopping(metric, _checks.whole_number("rounds", rounds, 1), data_name)


def direct_callbacks(callbacks: Sequence[Any] | None, metric: Metric) -> list[Any]:
    """The user's callbacks, with ours in place of XGBoost's EarlyStopping, which by default keeps
    all rounds. :class:`Exact` tells a class of the user's the direction."""
    directed: list[Any] = []
    for callback in callbacks or ():
        if isinstance(callback, STOPPING) and callback.metric_name in (None, metric.name):
            if callback.maximize not in (None, metric.greater_is_better):
                better = "greater" if metric.greater_is_better else "smaller"
                raise ValueError(
                    f"callbacks holds an EarlyStopping with maximize={callback.maximize}, but a "
                    f"{better} {metric.name} is better: leave maximize out"
                )
            if type(callback) in (STOPPING, EarlyStopping):
                rounds, data, min_delta = callback.rounds, callback.data, callback._min_delta
                callback = EarlyStopping(metric, rounds, data, min_delta)
        directed.append(callback)
    return directed


def any_stops_early(callbacks: Sequence[Any]) -> bool:
    return any(isinstance(callback, STOPPING) for callback in callbacks)


def guesses(estimator: Any, name: str) -> tuple[bool, ...]:
    """Whether early stopping on a metric of this name would maximise it where nobody says that."""
    asked = [c for c in estimator.callbacks or () if any_stops_early([c]) and c.maximize is None]
    names = [None] * (estimator.early_stopping_rounds is not None) + [c.metric_name for c in asked]
    return tuple(is_maximized(name) for looked_at in names if looked_at in (None, name))


def is_maximized(name: str) -> bool:
    """Whether XGBoost maximises a metric of this name where nobody says that."""
    # as EarlyStopping of xgboost.callback does (3.2), which takes mape out of map
    return name != "mape" and name.startswith(("auc", "pre", "map", "ndcg"))


def link_parameters(params: Mapping[str, Any], objective: Objective) -> dict[str, Any]:
    """The parameters by which a model predicts by the objective's link."""
    step = {"max_delta_step": params.get("max_delta_step") or 0}  # 0.7 by count:poisson
    linear = params.get("booster") == "gblinear"
    return {"objective": objective.link.xgboost, **({} if linear else step)}


class Complete(xgb.callback.TrainingCallback):
    """Callbacks, called in their order before XGBoost 3.0, too, that see a model which is complete.
    ``params`` are those of an estimator, whose booster is to be named by the objective's link. In
    each round it gets the rate for which the objective corrects, with the number of its rounds."""

    def __init__(
        self, callbacks: Sequence[Any], objective: Objective | None = None,
        params: Mapping[str, Any] | None = None,
    ) -> None:  # fmt: skip
        super().__init__()
        xgb.callback.CallbackContainer(callbacks)  # raises for what is not a callback
        self.callbacks, self.rate = callbacks, corrected_rate(objective)
        self.named = objective and params and link_parameters(params, objective)

    def before_training(self, model: Any) -> Any:
        if self.named:
            model.set_param(self.named)
        for callback in self.callbacks:
            model = callback.before_training(model)
        return model

    def before_iteration(self, model: Any, epoch: int, evals_log: Any) -> bool:
        return any(c.before_iteration(model, epoch, evals_log) for c in self.callbacks)

    def after_iteration(self, model: Any, epoch: int, evals_log: Any) -> bool:
        self.mark(model)
        return any(c.after_iteration(model, epoch, evals_log) for c in self.callbacks)

    def after_training(self, model: Any) -> Any:
        for callback in self.callbacks:
            model = keep_categories(callback.after_training(model), model)
        self.mark(model)
        return model

    def mark(self, model: Any) -> None:
        rate = self.rate  # None removes that of an earlier model
        model.set_attr(**{MARK: rate and f"{rate:.6g} {model.num_boosted_rounds()}"})


class Exact(Complete):
    """A metric whose values early stopping and the user see in full precision. XGBoost prints six
    decimals and reads them back. This is the metric that it calls, and a callback that restores the
    values and then calls the others."""

    def __init__(
        self, metric: Metric, *complete: Any, call: Callable[..., Any] | None = None
    ) -> None:
        super().__init__(*complete)
        self.metric, self.call = metric, call or metric.xgboost
        self.round: list[float] = []
        self.history: list[list[tuple[float, float]]] = []
        self.names: list[str] = []

    __name__ = property(attrgetter("metric.name"))

    def __call__(self, a: Any, b: Any, sample_weight: ArrayLike | None = None) -> Any:
        returned = self.call(a, b, sample_weight)
        self.round.append(returned[1] if isinstance(returned, tuple) else returned)
        return returned

    def before_training(self, model: Any) -> Any:
        """Tell early stopping the direction, also where it is of a user's class."""
        self.told = [(c, c.maximize) for c in self.callbacks if isinstance(c, STOPPING)]
        for callback, _ in self.told:
            forget(callback)
            if callback.metric_name in (None, self.metric.name):
                callback.maximize = self.metric.greater_is_better
        return super().before_training(model)

    def after_iteration(self, model: Any, epoch: int, evals_log: Any) -> bool:
        self.names = [name for name in evals_log if self.metric.name in evals_log[name]]
        if self.round and self.names:  # else nothing was measured
            self.history.append(restore(evals_log, self.metric.name, self.round))
            self.round = []
        if len(self.history) == 1:
            self.check_names(evals_log[self.names[-1]])
        return super().after_iteration(model, epoch, evals_log)

    def after_training(self, model: Any) -> Any:
        model = super().after_training(model)
        for callback, maximize in self.told:  # another training may have another metric
            callback.maximize = maximize
        return model

    def check_names(self, log: Any) -> None:
        """Raise for two metrics of one name, or none of that on which training is to stop."""
        name, measured = self.metric.name, ", ".join(map(repr, log))
        if len(log[name]) > 1:
            twice = f"{name!r} is the name of two metrics, one of them XGBoost's own"
            raise ValueError(f"{twice}: write another into the class of yours, name = '{name}_2'")
        for found in (c.metric_name for c, _ in self.told if c.metric_name not in (None, *log)):
            wrong = f"callbacks holds an EarlyStopping on {found!r}, but what is measured are "
            raise ValueError(f"{wrong}{measured}: name one of these, or leave metric_name out")

    def write(self, history: Any) -> None:
        """Means and standard deviations over folds, per round, in what ``xgboost.cv`` returned."""
        for name, values in zip(self.names, zip(*self.history, strict=True), strict=True):
            column = f"{name}-{self.metric.name}"
            rounds = len(history[f"{column}-mean"])
            for what, numbers in zip(("mean", "std"), zip(*values, strict=True), strict=True):
                history[f"{column}-{what}"] = list(numbers[:rounds])

    def __deepcopy__(self, memo: dict[int, Any]) -> Exact:
        return self


def restore(evals_log: Any, metric: str, measured: list[float]) -> list[tuple[float, float]]:
    """Write what was measured in this round in full precision: in cv all sets of a fold in turn."""
    logs = [log[metric] for log in evals_log.values() if metric in log]
    folds = np.reshape(measured, (-1, len(logs)))
    exact = list(zip(folds.mean(axis=0).tolist(), folds.std(axis=0).tolist(), strict=True))
    for log, pair in zip(logs, exact, strict=True):
        log[-1] = pair if isinstance(log[-1], tuple) else pair[0]
    return exact


class Watch(xgb.callback.TrainingCallback):
    """Stands before early stopping in a plain call: restores the digits of metrics of ours, and
    asks whether the direction of a user's function is that of what it returned."""

    def __init__(self, callbacks: Sequence[Any], objective: Any, evals: Any, own: Any) -> None:
        self.stops = [(c, c.maximize) for c in callbacks if any_stops_early([c])]
        self.objective, self.evals, self.own = objective, evals, own
        self.said: dict[tuple[str, bool, str | None], list[float]] = {}  # by ours, as of ``note``
        self.log: Any = {}

    def after_iteration(self, model: Any, epoch: int, evals_log: Any) -> bool:
        self.log, self.folds = evals_log, len(getattr(model, "cvfolds", "1"))
        for (_, _, name), said in self.said.items():
            if name is not None:
                restore(evals_log, name, said[-self.folds * len(evals_log) :])
        return False

    def after_training(self, model: Any) -> Any:
        ours = {*self.own, *(name for _, _, name in self.said)}
        for stop, maximize in self.stops:
            its: Any = stop.data or next(reversed(self.log), None)
            name = stop.metric_name or next(reversed(self.log.get(its, {})), "")
            values = [np.ravel(value)[0] for value in self.log.get(its, {}).get(name, ())]
            if name in ours or np.ptp(values or [0.0]) < PRINTED:
                continue
            up = is_maximized(name) if maximize is None else maximize
            known = [(better, of) for (of, better, its_name), said in self.said.items()
                     if its_name is None and self.is_said(values, its, said)]  # fmt: skip
            worse = np.subtract(values, values[0]) * (-1 if up else 1)
            first = maximize is None and len(worse) > MANY and worse.min() >= 0 < worse[-1]
            if not known and first and self.learns(model, its, len(values)):
                known = [(not up, "")]
            for better, of in known:
                Training(last=name, guesses=[up], greater_is_better=better, returns=of)
        return model

    def is_said(self, values: list[float], its: str, said: list[float]) -> bool:
        """Whether each value of a set is one that ours said of it: no minus or 1 - kappa is."""
        shape = len(values), self.folds, len(self.log)
        if len(said) % math.prod(shape):
            return False
        means = np.reshape(said, (*shape, -1)).mean(axis=1)[:, [*self.log].index(its)]
        return bool((np.abs(means.T - values) < PRINTED).any(axis=0).all())

    def learns(self, model: Any, its: str, rounds: int) -> bool:
        """Whether the objective's loss of a set has clearly fallen since the first round."""
        folds = [(fold.bst, fold.watchlist) for fold in getattr(model, "cvfolds", ())]
        losses = [0.0, 0.0]
        with suppress(Exception):  # it may have none, or none of these rows
            for booster, sets in folds or [(model, self.evals)]:
                data = next(data for data, name in sets if name == its)
                for k, end in enumerate((booster.num_boosted_rounds() - rounds + 1, 0)):
                    f = booster.predict(data, output_margin=True, iteration_range=(0, end))
                    y, w = label_weight(data)
                    losses[k] += loss_metric(self.objective).score(y, f, w)
            return losses[1] < LEARNED * losses[0]
        return False


def watch(container: Any, objective: Any = None, evals: Any = (), own: Any = ()) -> Watch | None:
    """What watches the callbacks of a plain call, if it stops early, on one machine."""
    known = next((c for c in container.callbacks if isinstance(c, Watch | Complete)), None)
    if known is None and not _workers.workers() and any_stops_early(container.callbacks):
        known = Watch(container.callbacks, objective, evals, own)
        container.callbacks = [known, *container.callbacks]
    return known if isinstance(known, Watch) else None  # else ours has asked before


def note(said: tuple[str, bool, str | None], value: float, frame: FrameType | None) -> None:
    while frame and not isinstance(frame.f_locals.get("self"), xgb.callback.CallbackContainer):
        frame = frame.f_back
    if frame and (found := watch(frame.f_locals["self"])):
        found.said.setdefault(said, []).append(value)


INSTEAD = {
    "init_model": "write xgb_model=",
    "keep_training_booster": "leave it out: train on with xgb_model=",
    "verbose": "write verbose_eval=",
}

ALIASES = {main: (main, *others.split()) for main, others in {
    "learning_rate": "eta", "gamma": "min_split_loss", "lambda": "reg_lambda",
    "alpha": "reg_alpha", "nthread": "n_jobs", "seed": "random_state",
    "num_boost_round": "num_round num_rounds n_estimators num_iterations num_trees iterations",
    "early_stopping_rounds": "early_stopping_round early_stopping",
}.items()}  # fmt: skip

LINEAR = {"feature_selector": ("cyclic",), "top_k": (0,), "tolerance": (0,)}  # neutral values

PASSED = frozenset(LINEAR) | each_word({
    "general": "nthread device verbosity validate_parameters seed seed_per_iteration use_rmm "
    "use_cuda_async_pool fail_on_invalid_gpu_id",
    "the shape of a tree": "max_depth max_leaves grow_policy min_child_weight gamma max_delta_step "
    "learning_rate lambda alpha monotone_constraints interaction_constraints",
    "sampling, boosted forests": "subsample sampling_method colsample_bytree colsample_bylevel "
    "colsample_bynode num_parallel_tree",
    # process_type="update" refreshes the trees of xgb_model=
    "how trees are grown": "tree_method updater process_type refresh_leaf max_bin multi_strategy "
    "max_cat_to_onehot max_cat_threshold default_direction",
    "memory and debugging": "max_cached_hist_node extmem_single_page sparse_threshold "
    "debug_synchronize opt_dense_col max_row_perbatch",
    "dropout": "booster rate_drop one_drop skip_drop sample_type normalize_type",
}).keys()  # fmt: skip

USED = frozenset({"objective", "num_class", "base_score"})  # train() compares or reads them

REMOVED = "XGBoost removed it; "
CLI = "only XGBoost's old command line read it; "

REFUSED = by_reason({
    "nothing but metric= is measured; leave it out": "eval_metric",
    "train() sets it to 1; leave it out": "disable_default_eval_metric=1",
    "XGBoost ignores it here; pass num_boost_round= to train(), n_estimators= of an estimator":
        "num_boost_round",
    "XGBoost ignores it here; pass early_stopping_rounds= to train()": "early_stopping_rounds",
    "boosting starts at the objective's intercept; leave it out": "boost_from_average=1",
    "XGBoost counts the columns of the data; leave it out": "num_feature",
    "train() handles one margin per row; for several call xgboost.train(obj=...)": "num_target=0|1",
    "XGBoost ignores it under a custom objective; pass weights to the DMatrix, or sample_weight= "
    "to fit": "scale_pos_weight=1",
    "only XGBoost's own objectives and metrics read it; leave it out":
        "tweedie_variance_power=1.5 huber_slope=1 quantile_alpha expectile_alpha "
        "aft_loss_distribution=normal aft_loss_distribution_scale=1 lambdarank_pair_method=topk "
        "lambdarank_num_pair_per_sample lambdarank_normalization=1 "
        "lambdarank_score_normalization=1 lambdarank_unbiased=0 lambdarank_bias_norm=2 "
        "ndcg_exp_gain=1",
    REMOVED + "write device='cuda:0'": "gpu_id", REMOVED + "write device='cuda'": "n_gpus",
    REMOVED + "write device='cuda' or device='cpu'": "predictor=auto",
    REMOVED + "write verbosity": "silent", REMOVED + "write max_bin": "sketch_eps sketch_ratio",
    REMOVED + "leave it out":
        "single_precision_histogram=0 enable_feature_grouping=0 cache_opt=1 lambda_bias=0",
    CLI + "pass an xgboost.DMatrix as the second argument": "data",
    CLI + "predict with the booster": "test:data", CLI + "leave it out": "task=train",
    CLI + "pass xgb_model= to train()": "model_in",
    CLI + "call save_model() of the booster": "model_out model_dir",
    CLI + "pass callbacks=[xgboost.callback.TrainingCheckPoint(...)]": "save_period=0",
    CLI + "pass it to dump_model() of the booster": "fmap dump_format",
    CLI + "call dump_model() of the booster": "name_dump",
    CLI + "call predict() of the booster": "name_pred",
    CLI + "pass output_margin=True to predict()": "pred_margin",
    CLI + "pass data_split_mode= to the DMatrix": "dsplit",
})  # fmt: skip

NOT_LINEAR = "only gblinear reads it; write booster='gblinear' too, or leave it out"
NOT_EXACT = "tree_method='exact' ignores it; write tree_method='hist', or leave it out"
EXACT = {"tree_method": ("exact",)}

REFUSED_WITH: _arguments.RefusedWith = {
    "default_direction": (
        ("learn",), {"tree_method": (None, "auto", "hist", "approx")},
        "only tree_method='exact' reads it; leave it out",
    ),
    "max_bin": ((256,), EXACT, NOT_EXACT),
    "max_leaves": ((0,), EXACT, NOT_EXACT),
    "grow_policy": (("depthwise",), EXACT, NOT_EXACT),
    **{name: (neutral, {"booster": (None, "gbtree", "dart")}, NOT_LINEAR)
       for name, neutral in LINEAR.items()},
}  # fmt: skip

DROPOUT = by_reason({
    "XGBoost drops no trees here; write booster='dart' too, or leave it out":
        "rate_drop=0 one_drop=0 skip_drop=0 sample_type=uniform normalize_type=tree",
})  # fmt: skip
"""Up to XGBoost 3.2 gbtree ignores them, in 3.4 it drops trees, too."""

REFUSED_STOPPING = by_reason({
    "dart and gblinear change what earlier rounds have learnt, so the best round cannot be cut out "
    "of the model; leave early_stopping_rounds out": "booster=gbtree",
    "dropout rescales earlier trees, so the best round cannot be cut out of the model; leave "
    "early_stopping_rounds out": "rate_drop=0 one_drop=0 skip_drop=0",
    "XGBoost cannot cut the best round out of updated trees; leave early_stopping_rounds out":
        "process_type=default",
})  # fmt: skip

ONE_TREE_EACH = by_reason({
    "it needs XGBoost 3.2 and booster='gbtree'; leave it out": "multi_strategy=one_output_per_tree",
})  # fmt: skip

FOREIGN = by_reason({
    "pass it to the DMatrix": "missing enable_categorical feature_names feature_types label weight "
    "label_lower_bound label_upper_bound feature_weights base_margin group qid data_split_mode",
    "pass it to the QuantileDMatrix": "max_quantile_batches",
    "pass it to the ExtMemQuantileDMatrix": "cache_host_ratio min_cache_page_bytes",
    "pass weights to the DMatrix, or sample_weight= to fit":
        "class_weight sample_weight is_unbalance unbalance",
    "write evals=[(data, name), ...]": "eval_set",
    "pass it to train()": "evals evals_result verbose_eval xgb_model callbacks",
    "pass objective= to train()": "obj",
    "pass metric= to train()": "custom_metric feval metric",
    "leave it out: the metric knows its direction": "maximize",
    "write verbosity, or pass verbose_eval= to train()": "verbose",
    "pass it to get_score() of the booster": "importance_type",
    "pass it to predict() of the booster": "iteration_range",
    "write booster": "boosting boosting_type", "write learning_rate": "shrinkage_rate",
    "write max_leaves, with grow_policy='lossguide' to grow leaf by leaf": "num_leaves",
    "write max_depth": "depth",
    "write min_child_weight, a sum of hessians":
        "min_child_samples min_data_in_leaf min_samples_leaf",
    "write min_child_weight": "min_sum_hessian_in_leaf",
    "write gamma": "min_split_gain min_gain_to_split",
    "write alpha": "lambda_l1", "write lambda": "lambda_l2 l2_leaf_reg",
    "write colsample_bytree": "feature_fraction", "write subsample": "bagging_fraction",
    "write colsample_bynode": "feature_fraction_bynode max_features",
    "it samples in every round; leave it out": "bagging_freq subsample_freq",
    "write rate_drop": "drop_rate", "write nthread": "num_threads", "write seed": "random_seed",
    "write device": "device_type", "leave it out": "linear_tree",
    "pass enable_categorical=True to the DMatrix": "categorical_feature cat_features",
    "early_stopping_rounds keeps the best round; leave it out": "use_best_model",
}, "XGBoost has no such parameter and ignores it; ")  # fmt: skip

LEAF_REFIT = "XGBoost would replace the leaves by its own objective's (leaf refit); leave it out"

REFITS = ("reg:absoluteerror", "reg:quantileerror")  # in 3.2; XGBoost 3.4 refits no leaves of ours
NO_TREES: Refused = {"updater": ((), "alone it grows no trees; leave it out")}  # "sync", up to 3.2

TABLE = ParameterTable(
    library="XGBoost", aliases=ALIASES, passed=PASSED, used=USED,
    refused=REFUSED | FOREIGN, refused_with=REFUSED_WITH,
)  # fmt: skip


VERSION = [int(part) for part in xgb.__version__.split(".")[:2]]


def holds_starts(params: Mapping[str, Any]) -> bool:
    """Whether a base_score may hold a number for each output: gblinear takes the first for all."""
    return VERSION >= [3, 1] and params.get("booster") != "gblinear"  # before 3.1 it is a number


def holds_vectors(params: Mapping[str, Any]) -> bool:
    """Whether a leaf may hold a number for each output: XGBoost 3.1 cuts such models wrongly."""
    since = [3, 4] if params.get("booster") == "dart" else [3, 2]
    return holds_starts(params) and since <= VERSION


def check(
    params: Mapping[str, Any], objective: Objective, callbacks: Sequence[Any] = (), *,
    stops_early: bool = False,
) -> None:  # fmt: skip
    """Raise for what XGBoost would misread, and for a callback that would save another model."""
    stops_early |= any_stops_early(callbacks)
    lacks = objective.outputs > 1 and not holds_starts(params)
    transform = objective.link.xgboost
    dropout = DROPOUT.keys() & params.keys() if params.get("booster") != "dart" else ()
    here = {
        "objective": ((transform,), LEAF_REFIT if params.get("objective") in REFITS else
                      "objective= already says what to train on, and predictions are transformed "
                      f"as {transform!r} does; leave it out"),
        "num_class": _arguments.num_class(objective),
        **{name: DROPOUT[name] for name in dropout if not in_xgboost(name)},
        **(ONE_TREE_EACH if objective.outputs > 1 and not holds_vectors(params) else {}),
        **(NO_TREES if params.get("updater") == "sync" else {}),
        **(REFUSED_STOPPING if stops_early else {}),
    }  # fmt: skip
    TABLE.check(params, here, in_xgboost)
    if lacks and any(isinstance(c, xgb.callback.TrainingCheckPoint) for c in callbacks):
        raise ValueError(
            "callbacks holds a TrainingCheckPoint, whose models would lack the intercepts of "
            "several outputs: leave it out, and train on with xgb_model="
        )


@cache
def in_xgboost(name: str) -> bool:
    """Whether the installed XGBoost reads a parameter of this name when it grows trees (gbtree)."""
    return f'"{name}":' in xgb.Booster({"num_feature": 1}).save_config()


ORDERS = {"auc", "aucpr", "pre", "map", "ndcg", "merror", "error@0"}
"""XGBoost's own metrics for which margins are as good as what is made of them."""
DEFAULTS = {
    "reg:squarederror": "rmse", "binary:logistic": "logloss", "multi:softprob": "mlogloss",
}  # fmt: skip
"""What is measured where nobody names a metric, by the booster's objective."""


def read_call(seen: Mapping[str, Any], fit: Mapping[str, Any], name: str) -> dict[str, Any]:
    """Facts of a training; ``fit``: locals of a fit above, ``name``: the booster's objective."""
    given, sets = seen["params"], seen.get("evals") or ()
    pairs = [*(given.items() if isinstance(given, Mapping) else given)]
    own = [one for key, value in pairs if key == "eval_metric" for one in as_list(value)]
    own += seen.get("metrics", ())  # of cv, which has taken them out of the parameters
    functions = as_list(getattr(fit.get("self"), "eval_metric", seen.get("custom_metric")))
    functions = [one for one in functions if callable(one)]
    unnamed = [DEFAULTS[name]] if name in DEFAULTS and (sets or "cvfolds" in seen) else []
    if own or dict(pairs).get("disable_default_eval_metric") in (True, 1, "1", "true"):
        unnamed = []
    measured = [*own, *unnamed, *functions]
    stops = [c for c in seen["callbacks"] if isinstance(c, xgb.callback.EarlyStopping)]
    looked_at = [c.metric_name or measured[-1] for c in stops if c.metric_name or measured]
    facts = metrics_of(own, functions, looked_at) | {
        "parameters": [(key, key, value) for key, value in pairs],
        "orders": ORDERS, "unnamed": unnamed,
    }  # fmt: skip
    objective = getattr(fit.get("self"), "objective", seen.get("obj"))
    for found in seen.values() if stops else ():
        if isinstance(found, xgb.callback.CallbackContainer):
            watch(found, objective, sets, {*own, *unnamed, *ORDERS})
    if "dtrain" in seen and "cvfolds" not in seen:
        own = seen["dtrain"]
        facts |= {
            "sets": sets, "data": own, "looks_at": [c.data for c in stops],
            "labels": lambda k: (own if k is None else sets[k][0]).get_label(),
        }  # fmt: skip
        margins = {its: one.get_float_info("base_margin") for one, its in [(own, "dtrain"), *sets]}
        starts = {its: one if len(one) else None for its, one in margins.items()}
        if any(one is not None for one in starts.values()):
            facts |= starts_of_sets("base_margin", starts)
    return facts
