"""CatBoost: train on an Objective, with the intercept inside the model.

It copies both with its parameters, and reports an error of theirs as its own.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable, Iterator, Mapping, MutableMapping, Sequence
from contextlib import contextmanager
from functools import wraps
from hashlib import sha256
from os import PathLike
from typing import Any

import catboost
import numpy as np
from numpy.typing import ArrayLike

from gbdt_objectives._checks import Array, Earlier, Training
from gbdt_objectives._checks.tables import check_label_column
from gbdt_objectives._links import BY_NAME, IDENTITY, LOGIT, OPAQUE, UNDECLARED, Link
from gbdt_objectives._public import public
from gbdt_objectives._registry import CATBOOST, library
from gbdt_objectives.adapters import _arguments, _train
from gbdt_objectives.adapters._arguments import TRAIN, Request, by_reason, documented, words_of
from gbdt_objectives.adapters._models import CannotTrain
from gbdt_objectives.adapters._train import StartedObjective
from gbdt_objectives.metrics import Metric
from gbdt_objectives.objectives import Objective
from gbdt_objectives.objectives.function import FunctionLoss

BLOCK = 1000  # the most rows that CatBoost passes at once (1.2.10), so that no sum is of all rows


def reporting(method: Callable[..., Any]) -> Callable[..., Any]:
    """The method, which also keeps an error that it raises."""

    @wraps(method)
    def call(self: Called, *args: Any) -> Any:
        try:
            return method(self, *args)
        except Exception as error:
            self.error = error
            raise

    return call


class Called:
    no_jit = True  # else CatBoost would compile the methods, or warn that it cannot
    error: Exception | None = None

    def __deepcopy__(self, memo: dict[int, Any]) -> Called:
        return self


class RowWise(Called):
    """A measured objective of checked rows, at CatBoost's margins plus ``shift``."""

    shifts = False  # as the package asks of what a library calls: ``shift`` is known from the start

    def __init__(self, objective: Objective, shift: float) -> None:
        self.objective, self.shift = objective, shift

    @reporting
    def calc_ders_range(self, margin: Array, y: Array, w: Array | None) -> Array:
        """The negative gradient and hessian, (n, 2): CatBoost climbs where others descend."""
        f, found = margin + self.shift, np.empty((len(margin), 2))
        loss, y = self.objective.equations, y.astype(np.float64)
        if isinstance(loss, FunctionLoss):  # which applies the weights itself
            found[:, 0], found[:, 1] = loss.of_part(y, f, w)
        else:
            found[:, 0], found[:, 1] = loss.gradient_hessian(y, f, None, np)
            if w is not None:
                found *= w[:, None]
            if not math.isfinite(np.vdot(found, found)):  # quicker than isfinite of each
                self.objective.gradient_hessian(y, f, w)  # says what is wrong
        return np.negative(found, out=found)


class Unmeasured(Called):
    """What CatBoost, which wants a metric, measures where nobody named one."""

    def is_max_optimal(self) -> bool:
        return False

    def evaluate(self, margins: Any, y: Array, w: Array | None) -> tuple[float, float]:
        return 0.0, 1.0

    def get_final_error(self, value: float, n: float) -> float:
        return value


class Measured(Unmeasured):
    """A metric, at CatBoost's margins plus ``shift``, or at what the link makes of them."""

    def __init__(self, metric: Metric, shift: float, link: Link | None) -> None:
        self.metric, self.shift, self.link = metric, shift, link

    def is_max_optimal(self) -> bool:
        return self.metric.greater_is_better

    @reporting
    def evaluate(self, margins: Any, y: Array, w: Array | None) -> tuple[float, float]:
        f = np.column_stack(margins).squeeze(axis=1) if len(margins) == 1 else np.array(margins).T
        f = f + self.shift if self.link is None else self.link.inverse(f)
        return self.metric._of_everybody(y, f, w), 1.0


def rendered(metric: Metric | None, shift: float = 0.0, link: Link | None = None) -> Called:
    """The metric, under its own name of a class, at margins or at what ``link`` makes of them."""
    if metric is None:
        return Unmeasured()
    kind: type[Measured] = type(metric.name, (Measured,), {})
    return kind(metric, shift, link)


@contextmanager
def own_errors(*called: Any) -> Iterator[None]:
    """Raise what one of the ``called`` found wrong, which CatBoost tells as text."""
    try:
        yield
    except catboost.CatBoostError:
        for error in [one.error for one in called if isinstance(one, Called) and one.error]:
            raise error from None
        raise


def check_row_wise(objective: Objective, y: Array) -> None:
    """Raise unless the measured objective is right on blocks; what a user wrote is tried."""
    why, remedy = "", "train it with XGBoost or LightGBM"
    if objective.outputs > 1:
        why = f"has {objective.outputs} outputs, which CatBoost asks for one row at a time"
    elif objective.is_by_row:
        why = "has values of each row, but CatBoost does not say which rows a block holds"
    elif (
        objective.couples_rows
        or (objective.whole and not isinstance(objective.equations, FunctionLoss))
        or depends_on_others(objective, y)
    ):
        why = f"has a gradient that needs all rows, but CatBoost passes {BLOCK} at a time"
        remedy = "use XGBoost, LightGBM, or squared error: QWKClassifier(CatBoostRegressor())"
    if why:
        raise CannotTrain(f"{objective!r} {why}: {remedy}")


def depends_on_others(objective: Objective, y: Array) -> bool:
    """Whether gradients of a part of the rows are others than those of all."""
    f = np.random.default_rng(0).normal(objective.intercept or 0.0, 1.0, len(y))
    part = slice(min(BLOCK, max(1, len(y) // 2)))
    own = np.array(objective.gradient_hessian(y[part], f[part]))
    found = np.array(objective.gradient_hessian(y, f))[:, part]
    return not np.allclose(found, own, rtol=1e-5, atol=1e-9 * np.abs(own).max())


WORDS = words_of(
    CATBOOST, data="catboost.Pool", objective="str or Objective, also called ``loss_function``",
    theirs="``pool``, the objective in ``params`` and ``eval_metric``",
    trains='``objective(function, link="log")``', scores="``focal_objective(2)``",
    progress="``verbose=10``\n    prints every tenth round.",
    max="iterations", parameters="verbose=0, allow_writing_files=False",
    stopping="``early_stopping_rounds`` or ``use_best_model``",
    of_rows=""" So are a GPU, a ``baseline``,
    and an objective whose gradient needs all rows, such as ``qwk_objective()``, or that has values
    of each row or several outputs. For ordinal labels
    use ``QWKClassifier(CatBoostRegressor())``.""",
)  # fmt: skip

INSTEAD = {
    "pool": "write data=", "eval_set": "write evals=[(Pool, name), ...]",
    "iterations": "write num_boost_round=",
}  # fmt: skip

REFUSED = by_reason({
    "weights of classes are weights of rows here: pass weight= to the Pool, or sample_weight= to "
    "fit": "class_weights auto_class_weights=None scale_pos_weight=1",
    "on a GPU CatBoost wants an objective in the language of numba; leave it out": "task_type=CPU",
    "it would compare values of the metric instead of the loss; leave it out":
        "leaf_estimation_backtracking=No",
    "boosting starts at the objective's intercept; leave it out": "boost_from_average=0",
    "these rows would count in the intercept; hold them out, evals= of train or eval_set= of fit":
        "eval_fraction=0",
    "CatBoost's own metrics would miss the intercept; pass a metric of gbdt_objectives, metric= of "
    "train or eval_metric=": "custom_metric custom_loss eval_metric",
    "the labels are what they are; leave it out": "target_border",
})  # fmt: skip
"""By trial: CatBoost would ignore or misread these under an objective of ours."""

OF_TRAIN = by_reason({
    "pass objective= to train()": "loss_function objective",
    "pass metric= to train()": "eval_metric",
    "pass num_boost_round= to train()": "iterations n_estimators num_boost_round num_trees",
    "pass early_stopping_rounds= to train(), which keeps the best rounds":
        "early_stopping_rounds od_wait od_type od_pval use_best_model",
    "make the labels 0 and 1, and leave it out": "class_names classes_count=2",
})  # fmt: skip


@public
@documented(
    TRAIN + """
Returns
-------
catboost.CatBoost
    A plain model, which predicts margins; ``prediction_type="Probability"`` gives
    probabilities under log-odds, ``"Exponent"`` means under the link "log". Go on from it
    by ``init_model=`` here, or from its file: CatBoost's own ``fit`` would go on from the
    margins of this training, which lack the intercept.
{raises}
Examples
--------
>>> import catboost, numpy as np
>>> from gbdt_objectives import offset_logloss_objective
>>> from gbdt_objectives.adapters.catboost import train
>>> rng = np.random.default_rng(0)
>>> X = rng.random((500, 3)); y = (rng.random(500) < 0.2).astype(int)
>>> params, data = dict(verbose=0, allow_writing_files=False), catboost.Pool(X, y)
>>> model = train(params, data, 5, objective=offset_logloss_objective(0.1))
>>> bool(model.predict(X, prediction_type="Probability")[:, 1].mean() < 0.1)
True
""", WORDS, refused="a GPU.", starts=", 0 and 1 for two classes, and without ``baseline``.",
    instance="""``offset_logloss_objective(0.1)``. One whose gradient needs all rows, such as
    ``qwk_objective(y)``, or that has values of each row or several outputs, is refused.""",
    kwargs="""``init_model``, ``verbose`` (10 prints every tenth round), ...""",
)  # fmt: skip
def train(
    params: Mapping[str, Any], data: catboost.Pool, num_boost_round: int = 100, *,
    objective: Objective = _arguments.ABSENT, metric: Metric | None = None,
    evals: Sequence[tuple[catboost.Pool, str]] = (), early_stopping_rounds: int | None = None,
    **kwargs: Any,
) -> catboost.CatBoost:  # fmt: skip
    """``catboost.train`` that starts, stops and predicts correctly."""
    return _train.train(library("catboost"), Request(
        "train", params, data, num_boost_round, objective, metric, evals, early_stopping_rounds,
        kwargs,
    ))  # fmt: skip


class StopRounds:
    """Says among the callbacks that CatBoost is to stop early."""

    data = None  # on the last set


def check(request: Request, params: Mapping[str, Any], callbacks: Sequence[Any]) -> None:
    _arguments.refuse_all(params, {**REFUSED, **OF_TRAIN})
    for pool, name in request.evals:
        if pool.has_label():
            check_label_column(f"the label of {name}", np.ravel(pool.get_label()))


def labels(pool: catboost.Pool, name: str) -> Array:
    """The labels of a Pool, which must have no start of its own."""
    if not pool.has_label():
        raise ValueError(f"{name} has no labels: pass label= to the Pool")
    if np.size(pool.get_baseline()):
        start = {"row_start": f"baseline of {name}", "start_ends": (-np.inf, np.inf)}
        Training(library=CATBOOST, **start)
    return np.asarray(pool.get_label())


def pool_weights(pool: catboost.Pool) -> Array | None:
    """The weights of a Pool's rows; None if all weigh 1."""
    w = np.asarray(pool.get_weight())
    return None if (w == 1).all() else w


def place(
    request: Request, objective: Objective, params: Mapping[str, Any], datasets: Any
) -> tuple[RowWise, dict[str, Any]]:
    pool = request.data
    y, w = labels(pool, "data"), pool_weights(pool)
    return start(objective, y, w, request.others, params, request.training), {}


def start(
    objective: Objective, y: Array, w: Array | None, given: MutableMapping[str, Any],
    asked: Mapping[str, Any], training: Training,
) -> RowWise:  # fmt: skip
    """The measured objective, and where it starts: at its intercept, or at an earlier model."""
    measured = objective.measured(y, w)
    check_row_wise(measured, y)
    asked = {"snapshot_file": "experiment.cbsnapshot", **asked, **given}
    if asked.get("save_snapshot"):  # CatBoost would go on with the rounds of another objective
        name = sha256(f"{measured!r} {training.metric!r}".encode()).hexdigest()[:8]
        given["snapshot_file"] = f"{asked['snapshot_file']}.{name}"
    training.know(loss=measured.equations, rows=measured._read_labels(y, w))
    earlier = given.get("init_model")
    if earlier is None:
        return RowWise(measured, float(StartedObjective.margin_of(measured)))
    if isinstance(earlier, str | PathLike):
        earlier = catboost.CatBoost().load_model(earlier)
    # a copy forgets the margins of its training, which lack the intercept
    given["init_model"] = earlier.copy()
    outputs = np.size(earlier.get_scale_and_bias()[1])
    training.know(earlier=Earlier("init_model", outputs, margins_of(earlier)[1]))
    return RowWise(measured, 0.0)


def run(
    request: Request, callbacks: Sequence[Any], loss: RowWise, params: Mapping[str, Any]
) -> catboost.CatBoost:
    rounds = request.early_stopping_rounds
    metric = rendered(request.metric, loss.shift)
    named = {"log": "Poisson", "logit": "Logloss"}.get(loss.objective.link.name, "RMSE")
    params = {**request.params, "iterations": request.num_boost_round, "loss_function": named}
    model = catboost.CatBoost(params)  # to_classifier and to_regressor look at the name
    called = {"loss_function": loss, "eval_metric": metric, "use_best_model": rounds is not None}
    called |= quiet(request.params, request.others)
    pools = [pool for pool, _ in request.evals] or None
    with own_errors(loss, metric), set_temporarily(model, called):
        model.fit(request.data, eval_set=pools, early_stopping_rounds=rounds, **request.others)
    if rounds is not None and request.metric is not None:
        warn_of_few(model, request.metric)
    return model


WRITES = {"allow_writing_files", "train_dir", "save_snapshot", "snapshot_file"}
"""Parameters of what CatBoost writes; without any it would leave a folder catboost_info."""


def quiet(*given: Mapping[str, Any]) -> dict[str, Any]:
    """No files, unless a parameter or an argument says something of them."""
    return {} if any(WRITES & one.keys() for one in given) else {"allow_writing_files": False}


@contextmanager
def set_temporarily(estimator: Any, parameters: Mapping[str, Any]) -> Iterator[None]:
    """CatBoost refuses to change a fitted estimator, and a fit that fails may leave no model."""
    before, model = estimator._init_params, estimator._object
    now = {**before, **parameters}.items()
    estimator._init_params = {name: v for name, v in now if v is not None}
    estimator._canonized_params, estimator._object = None, type(model)()
    try:
        yield
    except BaseException:  # an interrupt, too
        estimator._object = model
        raise
    finally:
        estimator._init_params, estimator._canonized_params = before, None


def warn_of_few(model: Any, metric: Metric) -> None:
    """Warn if early stopping on the metric keeps the first few of many rounds."""
    *_, last = model.get_evals_result().values()
    _train.warn_if_few(model.get_best_iteration(), len(last[metric.name]), metric.name)


LINKS = {
    "Logloss": LOGIT, "CrossEntropy": LOGIT, "MultiClass": Link.softmax(None),
    "PythonUserDefinedPerObject": UNDECLARED,  # what CatBoost calls each objective in Python
    **dict.fromkeys(("RMSE", "MAE", "Quantile", "Huber", "LogCosh", "MAPE", "Lq"), IDENTITY),
}  # fmt: skip
"""What margins of models of CatBoost's objectives are."""


LINK = "gbdt_objectives_link"  # where a model, and its file, name the link of an objective of ours
OF_FILES: dict[str, Link] = {**BY_NAME, "score": Link.score(np.asarray, None)}


def link_of(model: Any) -> Link | None:
    """The link of an objective of ours that trained a model, or all models of a sum."""
    own: Objective | None = vars(model).get("_objective")
    if own is not None or not model.is_fitted():
        return None if own is None else own.link
    about = model.get_metadata().items()
    links = {value for name, value in about if re.fullmatch(rf"(model\d+:)*{LINK}", name)}
    return OPAQUE if len(links) > 1 else OF_FILES.get("".join(links))


def margins_of(model: Any) -> tuple[str, Link]:
    own, name = vars(model).get("_objective"), model._object._get_loss_function_name()
    link = link_of(model) or LINKS.get(name.partition(":")[0], OPAQUE)
    return name if own is None else repr(own), link


def shift_intercept(model: Any, delta: ArrayLike, mark: str = "") -> Any:
    """A shifted copy, with the shift in CatBoost's bias."""
    if not model.is_fitted():
        raise ValueError("the booster is not trained: call fit first")
    _arguments.check_shiftable(*margins_of(model))
    scale, bias = model.get_scale_and_bias()
    raw = _arguments.read_shift(delta, np.size(bias)) + bias
    moved = model.copy()
    moved.set_scale_and_bias(scale, raw.tolist() if len(raw) > 1 else float(raw[0]))
    write_mark(moved, mark)
    return moved


def write_mark(model: Any, mark: str) -> None:
    """Write what corrects its log-odds, and of which training: another one leaves it there."""
    if mark:
        about = model.get_metadata()
        about[_train.MARK] = f"{mark} {about.get('model_guid')}"


def mark_of(model: Any) -> str | None:
    about = model.get_metadata() if model.is_fitted() else {}
    mark, training = about.get(_train.MARK, " ").split(" ")
    return mark if training == about.get("model_guid") else None


def finish(model: Any, objective: Objective, intercept: float | Array) -> Any:
    """A complete model, with the intercept in its first tree: CatBoost's own bias would be missing
    from a classifier's ONNX file and from models that go on from it."""
    leaves = model.get_leaf_values()
    leaves[: model.get_tree_leaf_counts()[0]] += intercept
    model.set_leaf_values(leaves)
    model.set_scale_and_bias(*model.get_scale_and_bias())  # CatBoost forgets what it prepared
    about = model.get_metadata()
    about[LINK] = objective.link.name
    rate = _train.corrected_rate(objective)
    write_mark(model, "" if rate is None else f"{rate:.6g}")
    if objective.link.name == "log":  # which predict() of a loaded file reads there
        known = json.loads(about["params"])
        known["flat_params"]["loss_function"] = "Poisson"
        about["params"] = json.dumps(known)
    return model
