"""XGBoost: train and cross-validate on an Objective, with the intercept inside the model.

Below: the intercept of a trained model, and what its parameters did to it.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Mapping, MutableMapping, Sequence
from contextlib import suppress
from typing import Any

import numpy as np
import xgboost as xgb
from numpy.typing import ArrayLike
from scipy.special import logit
from sklearn.model_selection import StratifiedKFold

from gbdt_objectives import _checks
from gbdt_objectives._checks import Array, Earlier, Training
from gbdt_objectives._links import CHANGED, IDENTITY, LOG, LOGIT, OPAQUE, SOFTMAX, UNDECLARED, Link
from gbdt_objectives._public import public
from gbdt_objectives._registry import XGBOOST, library
from gbdt_objectives._rows import workers as _workers
from gbdt_objectives.adapters import _arguments, _train
from gbdt_objectives.adapters._arguments import BOOSTER, CV, STARTS, TRAIN, Request, documented
from gbdt_objectives.adapters._train import StartedFolds, StartedObjective, shift_metric
from gbdt_objectives.adapters.xgboost import parameters
from gbdt_objectives.metrics import Metric
from gbdt_objectives.objectives import Objective

WORDS = _arguments.words_of(
    XGBOOST, data="xgboost.DMatrix", params='{"max_depth": 2}', place="``base_score``",
    theirs="``dtrain``, ``obj`` and ``custom_metric``", labels="Labels are 0 to K-1",
    progress="``fit`` prints each round,\n    unless ``verbose=False``.",
)  # fmt: skip


@public
@documented(
    TRAIN + BOOSTER, WORDS, starts=STARTS.format(start="a ``base_margin``"),
    refused="what would change predictions. ``base_score``, in the units of a prediction,\n"
    "    replaces the objective's intercept.",
    rows="xgboost.DMatrix([[0.1, 0.5, 0.5], [0.9, 0.5, 0.5]])", booster="",
    kwargs="""``callbacks``, ``evals_result``, ``verbose_eval`` (True
    prints each round, 10 every tenth) and ``xgb_model`` (a booster, fitted estimator, path or
    bytes). XGBoost's ``EarlyStopping`` among the callbacks does what ``early_stopping_rounds``
    does, whatever its ``save_best``; one of a class of your own, derived from it, keeps what its
    ``save_best`` says.

    On several workers, joined by XGBoost's collective, each calls it with its own rows, perhaps
    none; objective and metric must be the same. All get the model, the values of the metric and
    the best round of all rows together, or all raise.""",
)  # fmt: skip
def train(
    params: Mapping[str, Any], data: xgb.DMatrix, num_boost_round: int = 100, *,
    objective: Objective = _arguments.ABSENT, metric: Metric | None = None,
    evals: Sequence[tuple[xgb.DMatrix, str]] = (), early_stopping_rounds: int | None = None,
    **kwargs: Any,
) -> xgb.Booster:  # fmt: skip
    """``xgboost.train`` that starts, stops and predicts correctly."""
    return _train.train(library("xgboost"), Request(  # type: ignore[no-any-return]
        "train", params, data, num_boost_round, objective, metric, evals, early_stopping_rounds,
        kwargs,
    ))  # fmt: skip


@public
@documented(
    CV, WORDS, history="pandas.DataFrame or dict", boosters="", column="test-",
    kwargs="``nfold``, ``folds``, ``stratified``, ``seed``, ...\n    "
    "``verbose_eval=True`` prints each round.",
)  # fmt: skip
def cv(
    params: Mapping[str, Any], data: xgb.DMatrix, num_boost_round: int = 100, *,
    objective: Objective = _arguments.ABSENT, metric: Metric,
    early_stopping_rounds: int | None = None, **kwargs: Any,
) -> Any:  # fmt: skip
    """``xgboost.cv`` with ``objective`` and ``metric`` meaning the same as in :func:`train`."""
    if xgb.collective.is_distributed():
        raise ValueError(
            "cv() is for one machine, found several workers: XGBoost cannot cross-validate there; "
            "train() takes metric= and evals= on all of them"
        )
    return _train.cv(library("xgboost"), Request(
        "cv", params, data, num_boost_round, objective, metric, (), early_stopping_rounds, kwargs,
    ))  # fmt: skip


def run(
    request: Request, callbacks: list[Any], started: StartedObjective | StartedFolds,
    start: Mapping[str, Any], native: Callable[..., Any] | None = None,
) -> Any:  # fmt: skip
    """``xgboost.train``, ``xgboost.cv`` or a ``native`` function like these."""
    exact, cv = None, request.function == "cv"
    native = native or getattr(xgb, request.function)
    if request.metric is not None:
        rendered = shift_metric(request.metric.xgboost, lambda data: started.of(data).shift)
        exact = parameters.Exact(request.metric, callbacks, request.objective, call=rendered)
    others = {} if cv else {"evals": list(request.evals), "verbose_eval": False}
    trained = native(
        {**as_custom(request.params, request.objective), **start}, request.data,
        request.num_boost_round, obj=started, custom_metric=exact,
        callbacks=[exact or parameters.Complete(callbacks, request.objective)],
        **{**others, **request.others},
    )  # fmt: skip
    if cv and exact is not None:
        exact.write(trained)
    return trained


def finish(booster: xgb.Booster, objective: Objective, shift: float | Array) -> xgb.Booster:
    """A complete model: intercepts that no base_score holds go into its leaves."""
    if np.any(shift):
        add_to_leaves(booster, np.broadcast_to(shift, objective.outputs))
    return booster


def fold_rows(request: Request) -> Callable[[Any], Array]:
    """A function that gives the training rows of each fold in the order of ``xgboost.cv``."""
    data, given = request.data, request.others
    n, nfold, seed = data.num_row(), given.get("nfold", 3), given.get("seed", 0)
    folds: Any = given.get("folds")
    request.objective.check_rows(n, "data")
    if len(data.get_uint_info("group_ptr")) > 1:
        raise ValueError(
            "data has query groups, which XGBoost cannot split for an objective with values by "
            "row: make the DMatrix without group= and qid=, and pass folds="
        )
    if folds is None and given.get("stratified"):
        folds = StratifiedKFold(nfold, shuffle=True, random_state=seed)
    if hasattr(folds, "split"):
        folds = folds.split(X=data.get_label(), y=data.get_label())
    if folds is None:
        shuffled = np.random.RandomState(seed).permutation(n)  # the folds of xgboost.cv itself
        parts = np.array_split(shuffled if given.get("shuffle", True) else np.arange(n), nfold)
        folds = [(np.concatenate(parts[:k] + parts[k + 1 :]), parts[k]) for k in range(nfold)]
    given["folds"] = list(folds)
    of_folds = iter([rows for rows, _ in given["folds"]])
    return lambda train: next(of_folds)


def as_custom(params: Mapping[str, Any], objective: Objective) -> dict[str, Any]:
    """The parameters of a training on the objective, whatever it starts at."""
    return {
        **params, **_arguments.several_outputs(objective),
        **parameters.link_parameters(params, objective),
        "disable_default_eval_metric": 1,  # else that of the named objective is measured, too
    }  # fmt: skip


def labels(matrix: xgb.DMatrix, name: str) -> Array:
    found = matrix.get_label()
    if found.size == 0 and not is_empty(matrix):
        raise ValueError(f"{name} has no labels: pass label= to the DMatrix")
    n, weights = matrix.num_row(), matrix.get_weight().size
    if weights not in (0, n) and not len(matrix.get_uint_info("group_ptr")):  # cv does not look
        raise ValueError(f"{name} has {weights} weights, but {n} rows: they must match")
    return found


def is_empty(matrix: xgb.DMatrix) -> bool:
    """Whether it has no rows, which one of several workers may have."""
    return _workers.several() and matrix.num_row() == 0


def continues(
    params: Mapping[str, Any], given: MutableMapping[str, Any], objective: Objective,
    training: Training,
) -> bool:  # fmt: skip
    """Whether training continues an earlier model, ``given["xgb_model"]``. If so, it is replaced by
    one of the same margins that predicts by the objective's link."""
    if given.get("xgb_model") is None:
        return False
    if params.get("base_score") is not None:
        raise ValueError("base_score and xgb_model are both given: the model has its own intercept")
    booster = read_booster(given["xgb_model"])
    name = objective_of(booster)
    came = RAW.get(name) or OF_XGBOOST.get(name)
    training.know(earlier=Earlier("xgb_model", count_outputs(booster), came))
    given["xgb_model"] = name_link(booster.copy(), objective.link)
    return True


def read_booster(model: Any) -> xgb.Booster:
    """A model in any form: XGBoost itself does not take all of them everywhere."""
    if isinstance(model, xgb.XGBModel):
        return model.get_booster()
    if isinstance(model, xgb.Booster):
        return model
    if not isinstance(model, str | os.PathLike | bytes | bytearray):
        what = "a Booster, a fitted estimator, a path or bytes of save_raw()"
        raise TypeError(f"xgb_model must be {what}, found {_checks.shown(model)}")
    return xgb.Booster(model_file=bytearray(model) if isinstance(model, bytes) else model)


def place(
    request: Request, objective: Objective, params: Mapping[str, Any],
    matrices: Mapping[str, xgb.DMatrix],
) -> tuple[StartedObjective, dict[str, Any]]:  # fmt: skip
    """The objective, measured on the first matrix, and the base_score to start at."""
    if continues(params, request.others, objective, request.training):
        return StartedObjective(objective, None, request.training), {}
    margins = {name: matrix.get_float_info("base_margin") for name, matrix in matrices.items()}
    first = next(iter(matrices))
    has_margin = bool(_workers.all_sum(margins[first].size > 0))  # a worker may have no rows
    has = {name: m.size > 0 for name, m in margins.items() if not is_empty(matrices[name])}
    request.training.know(row_start="base_margin", sets_with_start={**has, first: has_margin})
    own_start = margins[first] if has_margin else None
    return start_at(
        objective, params, request.training,
        label_weight=_checks.label_weight(matrices[first]), base_margin=own_start,
    )  # fmt: skip


def start_at(
    objective: Objective, params: Mapping[str, Any], training: Training, *,
    earlier: bool = False, label_weight: tuple[Any, Any] | None = None, base_margin: Any = None,
    its_name: str = "base_margin", ends: tuple[float, float] = (-np.inf, np.inf),
) -> tuple[StartedObjective, dict[str, Any]]:  # fmt: skip
    """The objective, measured on the labels, and the base_score to start at. That of ``params`` is
    the user's, in the units of a prediction. Without ``label_weight`` the objective was measured
    elsewhere, where a start of each row was read: ``base_margin`` says that there is one, ``ends``
    its least and greatest numbers. ``earlier``: training continues a model."""
    base_score, several = params.get("base_score"), objective.outputs > 1
    if earlier:
        return StartedObjective(objective, None, training), {}
    if base_margin is not None:
        if base_score is not None:
            raise ValueError(
                f"base_score and {its_name} are both given: XGBoost would ignore the first; leave "
                "one out"
            )
        starts = None
        if label_weight is not None:
            n = len(label_weight[0])
            starts = StartedObjective.read_starts("base_margin", base_margin, objective.outputs, n)
        return start_by_row(objective, starts, training, its_name, ends)
    if several and base_score is not None:
        raise ValueError(
            f"base_score is given, but {objective!r} has {objective.outputs} outputs, each with an "
            "intercept of its own: leave it out"
        )
    if several and not parameters.holds_starts(params):  # measured in the first round
        return StartedObjective(objective, 0.0, training, shifts=True), {"base_score": 0.0}
    if label_weight is not None:
        objective = objective.measured(*label_weight)
    if several:
        starts = np.broadcast_to(StartedObjective.margin_of(objective), objective.outputs)
        return StartedObjective(objective, starts, training), {"base_score": starts.tolist()}
    is_given = base_score is not None
    start = (
        margin(base_score, objective) if is_given else float(StartedObjective.margin_of(objective))
    )
    started = StartedObjective(objective, start, training, given="base_score" * is_given)
    return started, {"base_score": prediction(start, objective.link)}


def start_by_row(
    objective: Objective, starts: Array | None, training: Training, its_name: str,
    ends: tuple[float, float],
) -> tuple[StartedObjective, dict[str, Any]]:  # fmt: skip
    """The objective, and the base_score: what all rows start at, or else 0 in margin units."""
    several, link = objective.outputs > 1, objective.link
    if several:
        ends = -np.inf, np.inf  # a base_score is one number
    elif starts is not None:
        ends = _train.ends_of(starts)
    training.know(row_start=its_name, start_ends=ends)
    kept = float(link.inverse(np.array(ends[0]))) if ends[0] == ends[1] else np.nan
    if not is_base_score(kept, link):
        kept = 0.0 if several else prediction(0.0, link)
    return StartedObjective(objective, starts, training), {"base_score": kept}


def prediction(start: float, link: Link) -> float:
    p = float(link.inverse(np.array(start)))
    if is_base_score(p, link):
        return p
    unit, limit = link.margins, "base_score to float32"
    if link.n_classes:
        unit, limit = "log-odds", f"a logistic base_score to +-{MOST_LOG_ODDS:.4g}"
    raise ValueError(
        f"training cannot start at {start:g} {unit}: XGBoost limits {limit}. Start at a "
        f"base_margin, data.set_base_margin(numpy.full(n, {start:.17g})) for data and evals, "
        "and put it into the trained model with shift_intercept"
    )


def margin(base_score: Any, objective: Objective) -> float:
    """The margin of the user's base_score, which may be a number written as a string."""
    if isinstance(base_score, str):
        with suppress(ValueError):
            base_score = float(base_score)
    link, base_score = objective.link, _checks.number("base_score", base_score)
    if not link.lowest < base_score < link.highest:
        what, predicts = f"above {link.lowest:g}", "positive means"
        if link.n_classes:
            what, predicts = "a probability above 0 and below 1", "probabilities"
        raise ValueError(
            f"base_score must be {what}, found {base_score:g}: {objective!r} predicts {predicts}"
        )
    return float(link.forward(np.array(base_score)))


def is_base_score(value: float, link: Link) -> bool:
    """Whether XGBoost keeps it, in float32, as it is."""
    if np.isfinite(link.highest):
        return LEAST_PROBABILITY <= value <= 1 - LEAST_PROBABILITY
    limits = np.finfo(np.float32)
    least = limits.tiny if np.isfinite(link.lowest) else limits.min
    return bool(least <= value <= limits.max)


def name_link(booster: xgb.Booster, link: Link) -> xgb.Booster:
    """Let a model predict by this link, with its margins: XGBoost keeps the number in base_score,
    but reads it in the unit of the new objective."""
    learner = read_learner(booster)
    trained, shape = learner["objective"]["name"], learner["learner_model_param"]
    if int(shape["num_target"]) > 1:
        found = shape["num_target"]
        raise start_at_margins(f"has {found} targets, not classes, as outputs of an objective are")
    if trained == link.xgboost:
        return booster
    if trained not in OF_XGBOOST:
        raise start_at_margins(f"was trained on {trained!r}, whose base_score has its own unit")
    margins = OF_XGBOOST[trained].forward(np.atleast_1d(json.loads(shape["base_score"])))
    base_score: Any = margins.tolist() if len(margins) > 1 else float(margins[0])
    if len(margins) == 1 and not link.takes_several:  # of several outputs it is a margin
        base_score = float(link.inverse(margins)[0])
        if not is_base_score(base_score, link):
            raise start_at_margins(
                f"starts at a margin of {margins[0]:g}, which no base_score can hold under "
                f"{link.xgboost!r}"
            )
    # count:poisson would set max_delta_step to 0.7
    booster.set_param({"objective": link.xgboost, "base_score": base_score, "max_delta_step": 0})
    return booster


def start_at_margins(why: str) -> ValueError:
    return ValueError(
        f"xgb_model {why}: start at its margins instead, data.set_base_margin(model.predict(data, "
        "output_margin=True)) for data and evals"
    )


LOGISTIC_OBJECTIVES = ("binary:logistic", "reg:logistic", "binary:logitraw")
LOG_ODDS = (*LOGISTIC_OBJECTIVES, "multi:softprob", "multi:softmax")
SHIFTABLE_OBJECTIVES = (
    *LOG_ODDS,
    "reg:squarederror", "reg:pseudohubererror", "reg:absoluteerror", "reg:quantileerror",
)  # fmt: skip
"""Their margins are label units or log-odds."""

LEAST_PROBABILITY = 1e-6  # XGBoost silently clips a logistic base_score to [1e-6, 1 - 1e-6]
MOST_LOG_ODDS = float(-logit(LEAST_PROBABILITY))


def shift_intercept(booster: xgb.Booster, delta: ArrayLike, mark: str = "") -> xgb.Booster:
    """A shifted copy: the shift is in ``base_score`` as far as possible, else in leaves."""
    learner = read_learner(booster)
    name = learner["objective"]["name"]
    if name not in SHIFTABLE_OBJECTIVES:
        _arguments.refuse_objective(name, _arguments.NO_MARGIN)
    if booster.num_boosted_rounds() == 0:
        raise ValueError("the booster has no tree: train it first")
    before = _first_margin(booster)
    target = before + _arguments.read_shift(delta, len(before))
    if not (np.abs(target) < np.finfo(np.float32).max).all():
        raise ValueError(f"delta = {delta!r} moves the margin beyond XGBoost's float32")
    moved = booster.copy()
    grown = {"booster": learner["gradient_booster"]["name"]}
    if len(before) == 1 or parameters.holds_starts(grown):
        base_score = np.atleast_1d(json.loads(learner["learner_model_param"]["base_score"]))
        if OF_XGBOOST[name] is LOGIT:
            p = LOGIT.inverse(LOGIT.forward(base_score) + target - before)
            base_score = np.clip(p, LEAST_PROBABILITY, 1 - LEAST_PROBABILITY)
        else:  # it is a margin
            base_score = base_score + target - before
        start: Any = base_score.tolist()  # XGBoost ignores it in load_config
        moved.set_param({"base_score": start if len(start) > 1 else start[0]})
    rest = target - _first_margin(moved)
    unit = 1 + np.abs(before) + np.abs(target)
    if (np.abs(rest) > 2e-7 * unit).any():  # more than a few roundings of float32
        add_to_leaves(moved, rest)
    _arguments.check_moved(_first_margin(moved), target, 1e-5 * unit)
    if mark:
        moved.set_attr(**{_train.MARK: f"{mark} {moved.num_boosted_rounds()}"})
    return moved


def mark_of(booster: xgb.Booster) -> str | None:
    """What corrects its log-odds, unless there are later rounds, which may be of another loss."""
    mark, rounds = (booster.attr(_train.MARK) or " 0").split(" ")
    return mark if booster.num_boosted_rounds() <= int(rounds) else None


def margins_of(booster: xgb.Booster) -> tuple[str, Link]:
    name = objective_of(booster)
    if name == "reg:squarederror":  # the default, which a function of the user's leaves there
        return name, UNDECLARED
    return name, LOGIT if name in LOG_ODDS else OF_XGBOOST.get(name, OPAQUE)


def read_odds(booster: xgb.Booster, y: ArrayLike | None) -> float:
    """The factor by which its parameters multiplied the odds of label 1."""
    weight = float(_logistic_objective(booster)["reg_loss_param"]["scale_pos_weight"])
    if not weight > 0:
        raise ValueError(
            f"the booster was trained with scale_pos_weight = {weight:g}: no shift undoes that"
        )
    return weight


def predict_log_odds(booster: xgb.Booster, X: Any, sample_weight: ArrayLike | None) -> Array:
    _logistic_objective(booster)
    data = X if isinstance(X, xgb.DMatrix) else xgb.DMatrix(X, enable_categorical=True)
    if sample_weight is None and data.get_weight().size:
        raise ValueError("X is a DMatrix with weights: pass them, sample_weight=X.get_weight()")
    margin: Array = _checks.vector("the margin", booster.predict(data, output_margin=True))
    return margin.astype(np.float64)


def _logistic_objective(booster: xgb.Booster) -> dict[str, Any]:
    objective: dict[str, Any] = read_learner(booster)["objective"]
    if objective["name"] not in LOGISTIC_OBJECTIVES:
        _arguments.refuse_objective(objective["name"], _arguments.NO_LOG_ODDS)
    return objective


def count_outputs(booster: xgb.Booster) -> int:
    """How many margins it predicts for a row."""
    shape = read_learner(booster)["learner_model_param"]
    return max(1, int(shape["num_class"]), int(shape["num_target"]))


def leaves(booster: Any, X: Any) -> Array:
    """The leaf of each row in each tree, up to the best round if training stopped early."""
    if hasattr(booster, "apply"):  # an estimator
        return np.asarray(booster.apply(X))
    data = X if isinstance(X, xgb.DMatrix) else xgb.DMatrix(X, enable_categorical=True)
    best = booster.attr("best_iteration")
    rounds = (0, booster.num_boosted_rounds() if best is None else int(best) + 1)
    return np.asarray(booster.predict(data, pred_leaf=True, iteration_range=rounds))


def read_learner(booster: xgb.Booster) -> dict[str, Any]:
    _arguments.check_booster(booster, xgb.Booster, "get_booster()")
    learner: dict[str, Any] = json.loads(booster.save_config())["learner"]
    return learner


def objective_of(booster: xgb.Booster) -> str:
    return str(read_learner(booster)["objective"]["name"])


OF_XGBOOST = {
    **dict.fromkeys((
        "reg:squarederror", "reg:squaredlogerror", "reg:pseudohubererror", "reg:absoluteerror",
        "reg:quantileerror", "reg:expectileerror", "binary:logitraw", "binary:hinge",
        "multi:softmax",  # the class, of the margins
    ), IDENTITY),
    "binary:logistic": LOGIT, "reg:logistic": LOGIT, "multi:softprob": SOFTMAX,
    "count:poisson": LOG, "reg:gamma": LOG, "reg:tweedie": LOG,
}  # fmt: skip
"""The link of what models of XGBoost's objectives predict; identity where that is the margin."""
RAW = {"binary:logitraw": LOGIT}
"""What the margin is under XGBoost's objectives that predict the margin itself."""
UNDER_OURS = {
    **OF_XGBOOST, "survival:cox": LOG, "survival:aft": LOG,
    **dict.fromkeys(("rank:ndcg", "rank:map", "rank:pairwise"), IDENTITY),
    **dict.fromkeys(("reg:absoluteerror", "reg:quantileerror", "binary:hinge"), CHANGED),
}  # fmt: skip
"""By what a booster of this name predicts that an objective of ours trains. Changed: XGBoost 3.2
refits leaves under the names of absolute and quantile errors; hinge predicts 0 or 1."""


def _first_margin(booster: xgb.Booster) -> Array:
    """Margins (K,) of a row of missing values after the first round, with few roundings."""
    row = xgb.DMatrix(np.full((1, booster.num_features()), np.nan))
    margin = booster.predict(
        row, output_margin=True, iteration_range=(0, 1), validate_features=False
    )
    return np.asarray(margin, np.float64).ravel()


def trees_of(
    booster: dict[str, Any], *, vectors: bool = False
) -> tuple[dict[str, Any], list[float] | None]:
    """Trees or weights of a gradient_booster, and what dropout multiplies each tree by.
    ``vectors``: whether leaves may hold a number for each output, as XGBoost 3.2 writes them."""
    model = booster.get("gbtree", booster)["model"]  # before XGBoost 3.3, dart wraps a gbtree
    of_vectors = [tree for tree in model.get("trees", ()) if count_numbers(tree) > 1]
    if not all(vectors and "leaf_weights" in tree for tree in of_vectors):
        raise ValueError(
            "the booster has vector leaves (multi_output_tree): train it with "
            "multi_strategy='one_output_per_tree'"
        )
    return model, booster.get("weight_drop") or model.get("weight_drop")  # from XGBoost 3.4 on


def count_numbers(tree: dict[str, Any]) -> int:
    """How many numbers a leaf holds."""
    return max(1, int(tree["tree_param"]["size_leaf_vector"]))


def add_to_leaves(booster: xgb.Booster, deltas: Array) -> None:
    """Add to every leaf of each output's first tree, or to gblinear's last weights, in place."""
    document = json.loads(booster.save_raw("json"))
    model, drop = trees_of(document["learner"]["gradient_booster"])
    if "weights" in model:  # of gblinear: the last are those of no column
        weights, K = model["weights"], len(deltas)
        weights[-K:] = np.float32(np.add(weights[-K:], deltas)).tolist()
        deltas = np.empty(0)
    for output, delta in enumerate(deltas):
        first = model["tree_info"].index(output)
        tree = model["trees"][first]
        leaf = np.equal(tree["left_children"], -1)  # its value is in split_conditions
        shift = np.where(leaf, delta / drop[first] if drop else delta, 0)
        tree["split_conditions"] = np.float32(tree["split_conditions"] + shift).tolist()
    booster.load_model(bytearray(json.dumps(document).encode()))
