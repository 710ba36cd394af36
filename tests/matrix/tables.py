"""The rows of the matrix: data, objectives with their truth in numpy, and doors.

The data has one feature of four values, and trees can tell all of them apart: a model trained to
the end predicts, in each of the four groups, what minimises the loss there. That is known without
any booster: a weighted mean, a rate, or the least point of a function of one number.

A new link is a row of ``ROWS``, a new way into a library one of ``DOORS``: all cells then exist.
"""

from __future__ import annotations

import re
import traceback
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import lightgbm as lgb
import numpy as np
import xgboost as xgb
from scipy.optimize import minimize_scalar
from scipy.special import expit, log_expit, logit, softmax

import gbdt_objectives as go
from gbdt_objectives.adapters import (
    lightgbm as our_lightgbm,
    sklearn as our_sklearn,
    xgboost as our_xgboost,
)

Array = np.ndarray[Any, Any]

N, GROUPS = 240, 4
ROUNDS = 25
CLOSE = 2e-3
"""Of predictions in natural units: XGBoost never splits for a gain below 1e-6, which leaves a
group of 60 rows some 1e-4 from its optimum, and steps of half-bounded hessians end there too."""

GROUP = np.arange(N) % GROUPS
X = GROUP[:, np.newaxis].astype(float)
WEIGHT = 1.0 + np.arange(N) // GROUPS % 3
FOLDS = [(np.arange(N)[np.arange(N) // 40 % 2 != k], np.arange(N)[np.arange(N) // 40 % 2 == k])
         for k in (0, 1)]  # fmt: skip
"""Labels repeat after 40 rows, so that all of them occur in both."""

XGB = {"max_depth": 3, "eta": 1.0, "lambda": 0.0, "min_child_weight": 0.0, "nthread": 1}
LGB = {
    "num_leaves": 8, "learning_rate": 1.0, "min_data_in_leaf": 1, "min_sum_hessian_in_leaf": 0.0,
    "min_data_in_bin": 1, "num_threads": 1, "verbose": -1, "force_row_wise": True,
}  # fmt: skip
XGB_SKLEARN = {
    "max_depth": 3, "learning_rate": 1.0, "reg_lambda": 0.0, "min_child_weight": 0.0, "n_jobs": 1,
    "n_estimators": ROUNDS,
}  # fmt: skip
LGB_SKLEARN = {
    "num_leaves": 8, "learning_rate": 1.0, "min_child_samples": 1, "min_child_weight": 0.0,
    "min_data_in_bin": 1, "n_jobs": 1, "verbose": -1, "n_estimators": ROUNDS,
}  # fmt: skip
HISTOGRAM = {
    "max_iter": ROUNDS, "learning_rate": 1.0, "min_samples_leaf": 1, "early_stopping": False,
}  # fmt: skip
CATBOOST = {
    "iterations": ROUNDS, "learning_rate": 1.0, "depth": 3, "l2_leaf_reg": 0.0, "verbose": 0,
    "thread_count": 1, "allow_writing_files": False, "bootstrap_type": "No",
    "random_strength": 0.0,
}  # fmt: skip


# --- objectives, and what they aim at


GRADES = np.array([
    [0, 1, 1, 1, 2, 1, 1, 1, 1, 1],
    [1, 1, 0, 2, 1, 2, 1, 1, 2, 1],
    [2, 2, 1, 2, 3, 1, 2, 2, 1, 2],
    [2, 2, 2, 3, 2, 2, 2, 2, 1, 2],
])  # fmt: skip
"""Few at the ends, where scores of QWK would be clipped."""


def _grades() -> Array:
    return GRADES[GROUP, np.arange(N) // GROUPS % 10].astype(float)


def _events() -> Array:
    """0 or 1, of a rate that rises with the group; both occur in all groups and folds."""
    return (np.arange(N) // GROUPS % 10 < np.array([1, 3, 6, 8])[GROUP]).astype(float)


def _counts() -> Array:
    return (np.arange(N) // GROUPS % 3 * (1 + GROUP) + (GROUP == 0)) / 1.0


def _classes() -> Array:
    return (np.arange(N) // GROUPS % 10 + GROUP) // 2 % 3 * 1.0


def weighted(values: Array, w: Array | None) -> Array:
    return values if w is None else values * (w if values.ndim == 1 else w[:, np.newaxis])


def squared_error(y: Array, f: Array, w: Array | None) -> tuple[Array, Array]:
    return weighted(f - y, w), weighted(np.ones_like(f), w)


def squared_loss(y: Array, f: Array, w: Array | None) -> float:
    return float(weighted((f - y) ** 2 / 2, w).sum())


def poisson(y: Array, f: Array, w: Array | None) -> tuple[Array, Array]:
    return weighted(np.exp(f) - y, w), weighted(np.exp(f), w)


def poisson_loss(y: Array, f: Array, w: Array | None) -> float:
    return float(weighted(np.exp(f) - y * f, w).sum())


def logistic(y: Array, f: Array, w: Array | None) -> tuple[Array, Array]:
    p = expit(f)
    return weighted(p - y, w), weighted(p * (1 - p), w)


def logistic_loss(y: Array, f: Array, w: Array | None) -> float:
    return float(weighted(np.logaddexp(0, f) - y * f, w).sum())


def of_classes(y: Array, f: Array, w: Array | None) -> tuple[Array, Array]:
    p = softmax(f, axis=1)
    return weighted(p - np.eye(f.shape[1])[y.astype(int)], w), weighted(2 * p * (1 - p), w)


def of_classes_loss(y: Array, f: Array, w: Array | None) -> float:
    return float(-weighted(np.log(softmax(f, axis=1)[np.arange(len(y)), y.astype(int)]), w).sum())


def error_of_shares(y: Array, f: Array, w: Array | None) -> tuple[Array, Array]:
    return weighted(f - np.eye(3)[y.astype(int)], w), weighted(np.ones_like(f), w)


def loss_of_shares(y: Array, f: Array, w: Array | None) -> float:
    return float(weighted((f - np.eye(3)[y.astype(int)]) ** 2 / 2, w).sum())


def focal(y: Array, f: Array) -> Array:
    """-(1 - p)^2 log p, with p the probability of the label."""
    s = (2 * y - 1) * f
    return -(expit(-s) ** 2) * log_expit(s)


def same(f: Array) -> Array:
    return f


def two_columns(p: Array) -> Array:
    return np.column_stack([1 - p, p])


def by_group(statistic: Callable[[Array, Array], Any], y: Array, w: Array, group: Array) -> Array:
    """What a statistic of labels and weights is in each group, at each of the groups 0 to 3."""
    return np.array([statistic(y[group == k], w[group == k]) for k in range(GROUPS)])


def mean(y: Array, w: Array) -> float:
    return float(np.average(y, weights=w))


def means(y: Array, w: Array, group: Array) -> Array:
    return by_group(mean, y, w, group)


def shares(y: Array, w: Array, group: Array) -> Array:
    """Of each class, (4, 3)."""
    one = lambda a, b: [(b * (a == k)).sum() / b.sum() for k in range(3)]  # noqa: E731
    return by_group(one, y, w, group)


def least_focal(y: Array, w: Array, group: Array) -> Array:
    def least(a: Array, b: Array) -> float:
        rate = np.average(a, weights=b)
        expected = lambda z: rate * focal(np.ones(1), z) + (1 - rate) * focal(np.zeros(1), z)  # noqa: E731
        found = minimize_scalar(lambda z: float(expected(np.array([z]))[0]), bounds=(-9, 9),
                                method="bounded", options={"xatol": 1e-10})  # fmt: skip
        return float(found.x)

    return by_group(least, y, w, group)


def least_qwk(y: Array, w: Array, group: Array) -> Array:
    """Means drawn apart until they have the spread of the labels."""
    overall, m = np.average(y, weights=w), means(y, w, group)
    within = np.average((y - overall) ** 2, weights=w)
    between = np.average((m[group] - overall) ** 2, weights=w)
    return np.clip(overall + np.sqrt(within / between) * (m - overall), y.min(), y.max())


def mean_qwk_loss(y: Array, f: Array, w: Array) -> float:
    f = np.clip(f, y.min(), y.max())
    a = np.average(y, weights=w)
    expected = np.average((f - a) ** 2 + (y - a) ** 2, weights=w)
    return float(np.average((f - y) ** 2, weights=w) / expected)


def mean_of(loss: Callable[..., float]) -> Callable[[Array, Array, Array], float]:
    return lambda y, f, w: loss(y, f, w) / w.sum()


@dataclass(frozen=True, eq=False)
class Row:
    """An objective of one link, and the truth about it."""

    name: str
    objective: go.Objective
    labels: Callable[[], Array]
    best: Callable[[Array, Array, Array], Array]
    """The margin of least loss in each group, of labels, weights and groups."""
    mean_loss: Callable[[Array, Array, Array], float]
    inverse: Callable[[Array], Array]
    """From margins to natural units: labels, means, or the probability of each class."""
    n_classes: int | None = None

    def __repr__(self) -> str:
        return self.name

    @cached_property
    def y(self) -> Array:
        return self.labels()

    @cached_property
    def truth(self) -> Array:
        """The natural prediction of each training row."""
        return self.inverse(self.best(self.y, WEIGHT, GROUP)[GROUP])

    @property
    def loss_of_folds(self) -> float:
        """The mean over the folds of the mean loss held out, at the end of training."""
        return float(np.mean([
            self.mean_loss(
                self.y[test],
                self.best(self.y[rows], WEIGHT[rows], GROUP[rows])[GROUP[test]],
                WEIGHT[test],
            )
            for rows, test in FOLDS
        ]))  # fmt: skip


def _probability_of_focal(z: Array) -> Array:
    """The rate whose expected focal loss is least at z: of the two slopes."""
    step = 1e-5
    slope = lambda y: (focal(y, z + step) - focal(y, z - step)) / (2 * step)  # noqa: E731
    up, down = slope(np.zeros_like(z)), slope(np.ones_like(z))
    return two_columns(up / (up - down))


ROWS = [
    Row("identity", go.objective(squared_error, loss=squared_loss, link="identity"), _grades,
        means, mean_of(squared_loss), same),
    Row("identity-coupled", go.qwk_objective(), _grades, least_qwk, mean_qwk_loss, same),
    Row("identity-outputs",
        go.objective(error_of_shares, loss=loss_of_shares, link="identity", outputs=3), _classes,
        shares, mean_of(loss_of_shares), same),
    Row("log", go.objective(poisson, loss=poisson_loss, link="log"), _counts,
        lambda *of: np.log(means(*of)), mean_of(poisson_loss), np.exp),
    Row("logit", go.weighted_logloss_objective(1.0), _events,
        lambda *of: logit(means(*of)), mean_of(logistic_loss), lambda f: two_columns(expit(f)), 2),
    Row("logit-function", go.objective(logistic, loss=logistic_loss, link="logit"), _events,
        lambda *of: logit(means(*of)), mean_of(logistic_loss), lambda f: two_columns(expit(f)), 2),
    Row("softmax",
        go.objective(of_classes, loss=of_classes_loss, link="softmax", outputs=3), _classes,
        lambda *of: np.log(shares(*of)), mean_of(of_classes_loss), lambda f: softmax(f, axis=1), 3),
    Row("score", go.focal_objective(2.0), _events,
        least_focal, mean_of(lambda y, f, w: float((w * focal(y, f)).sum())),
        _probability_of_focal, 2),
    Row("undeclared", go.objective(logistic, loss=logistic_loss), _events,
        lambda *of: logit(means(*of)), mean_of(logistic_loss), same),
]  # fmt: skip
BY_NAME = {row.name: row for row in ROWS}


# --- doors


@dataclass(frozen=True)
class Found:
    """What came out of a door: margins, natural predictions, or a mean loss of folds."""

    margin: Array | None = None
    natural: Array | None = None
    loss: float | None = None

    def check(self, row: Row) -> None:
        if self.loss is not None:
            np.testing.assert_allclose(self.loss, row.loss_of_folds, rtol=CLOSE)
            return
        found = self.natural if self.margin is None else row.inverse(np.asarray(self.margin, float))
        truth = row.truth
        if found is not None and found.ndim == 1 and truth.ndim == 2:  # of two classes
            truth = truth[:, 1]
        np.testing.assert_allclose(found, truth, rtol=0, atol=CLOSE)


SKLEARN = {"xgboost": XGB_SKLEARN, "lightgbm": LGB_SKLEARN}


def estimator_of(library: str, row: Row, *, ours: bool = True) -> Any:
    """The estimator for such labels."""
    of_us, theirs, prefix = {
        "xgboost": (our_xgboost, xgb, "XGB"), "lightgbm": (our_lightgbm, lgb, "LGBM")
    }[library]  # fmt: skip
    role = "Regressor" if row.n_classes is None else "Classifier"
    return getattr(of_us if ours else theirs, prefix + role)


def natural_of_booster(row: Row, predictions: Array) -> Found:
    """What a booster's ``predict`` gives: the margin, where only the objective can read it."""
    if row.objective.link.is_of_objective or not row.objective.link.is_declared:
        return Found(margin=predictions)
    return Found(natural=predictions)


@dataclass(frozen=True, eq=False)
class Door:
    """A way to train on an objective, and to ask the model."""

    library: str
    name: str
    enter: Callable[[Row, Path], Found]
    right: Callable[[Row], bool] = lambda row: True
    """Whether this objective must be right here; the others may be refused."""
    told: bool = False
    """Whether the booster has a transform of its own, so that its configuration tells."""
    fits: bool = False
    """Whether it is an estimator of a library that calls ``train``, which may be patched."""

    def __repr__(self) -> str:
        return f"{self.library}-{self.name}"


def matrix(row: Row, rows: Any = slice(None)) -> xgb.DMatrix:
    return xgb.DMatrix(X[rows], row.y[rows], weight=WEIGHT[rows])


def dataset(row: Row) -> lgb.Dataset:
    return lgb.Dataset(X, row.y, weight=WEIGHT, params=LGB, free_raw_data=False)


def several(row: Row) -> dict[str, int]:
    return {"num_class": 3} if row.objective.outputs > 1 else {}


def xgboost_train(row: Row, _: Path) -> Found:
    booster = our_xgboost.train(XGB, matrix(row), ROUNDS, objective=row.objective)
    return natural_of_booster(row, booster.predict(matrix(row)))


def xgboost_reloaded(row: Row, folder: Path) -> Found:
    booster = our_xgboost.train(XGB, matrix(row), ROUNDS, objective=row.objective)
    booster.save_model(folder / "model.json")
    again = xgb.Booster(model_file=folder / "model.json")
    return natural_of_booster(row, again.predict(matrix(row)))


def xgboost_cv(row: Row, _: Path) -> Found:
    history = our_xgboost.cv(
        XGB, matrix(row), ROUNDS, objective=row.objective,
        metric=go.loss_metric(row.objective), folds=FOLDS, as_pandas=False,
    )  # fmt: skip
    return Found(loss=history["test-loss-mean"][-1])


def xgboost_native(transform: str | None) -> Callable[[Row, Path], Found]:
    """The library's own train, of a booster that has this objective by name."""

    def enter(row: Row, _: Path) -> Found:
        named = {} if transform is None else {"objective": transform}
        K = several(row) or ({"num_class": 3} if (transform or "").startswith("multi") else {})
        params = {**XGB, **named, **K}
        booster = xgb.train(params, matrix(row), ROUNDS, obj=row.objective)
        if transform in (None, "reg:squarederror") or not row.objective.link.is_declared:
            return Found(margin=booster.predict(matrix(row), output_margin=True))
        return natural_of_booster(row, booster.predict(matrix(row)))

    return enter


def lightgbm_train(row: Row, _: Path) -> Found:
    booster = our_lightgbm.train(LGB, dataset(row), ROUNDS, objective=row.objective)
    return natural_of_booster(row, booster.predict(X))


def lightgbm_reloaded(row: Row, folder: Path) -> Found:
    booster = our_lightgbm.train(LGB, dataset(row), ROUNDS, objective=row.objective)
    booster.save_model(folder / "model.txt")
    again = lgb.Booster(model_file=folder / "model.txt")
    return natural_of_booster(row, again.predict(X))


def lightgbm_cv(row: Row, _: Path) -> Found:
    history = our_lightgbm.cv(
        LGB, dataset(row), ROUNDS, objective=row.objective, metric=go.loss_metric(row.objective),
        folds=FOLDS,
    )  # fmt: skip
    (name,) = (name for name in history if name.endswith("loss-mean"))
    return Found(loss=history[name][-1])


def lightgbm_native(row: Row, _: Path) -> Found:
    params = {**LGB, "objective": row.objective, **several(row)}
    return Found(margin=lgb.train(params, dataset(row), ROUNDS).predict(X))


def estimator(kind: Any, **parameters: Any) -> Callable[[Row, Path], Found]:
    """Fit, and ask for predictions of a regressor, for probabilities of a classifier."""

    def enter(row: Row, _: Path) -> Found:
        K = several(row) if "LGBM" in kind.__name__ and ours_not(kind) else {}
        model = kind(objective=row.objective, **{**parameters, **K})
        classifies = hasattr(model, "predict_proba")
        y = row.y.astype(int) if classifies else row.y
        model.fit(X, y, sample_weight=WEIGHT)
        of_classes = is_class(row) and not classifies  # of which it can tell margins only
        if of_classes or not row.objective.link.is_declared:
            flags = {"XGB": {"output_margin": True}, "LGB": {"raw_score": True}}
            return Found(margin=model.predict(X, **flags.get(kind.__name__[:3], {})))
        return Found(natural=model.predict_proba(X) if classifies else model.predict(X))

    return enter


def ours_not(kind: Any) -> bool:
    return not kind.__module__.startswith("gbdt_objectives")


def is_number(row: Row) -> bool:
    return row.n_classes is None


def is_class(row: Row) -> bool:
    return row.n_classes is not None


def of_one_output(right: Callable[[Row], bool]) -> Callable[[Row], bool]:
    return lambda row: right(row) and row.objective.outputs == 1


def of_rows_apart(right: Callable[[Row], bool]) -> Callable[[Row], bool]:
    """CatBoost passes blocks of rows."""
    return lambda row: of_one_output(right)(row) and not row.objective.couples_rows


def never(row: Row) -> bool:
    return False


TRANSFORMS = ("reg:squarederror", "binary:logistic", "count:poisson", "multi:softprob")
"""Objectives of XGBoost that a plain training may name beside ``obj=``."""

DOORS = [
    Door("xgboost", "train", xgboost_train),
    Door("xgboost", "cv", xgboost_cv),
    Door("xgboost", "reloaded", xgboost_reloaded),
    Door("xgboost", "our-regressor", estimator(our_xgboost.XGBRegressor, **XGB_SKLEARN),
         is_number, fits=True),
    Door("xgboost", "our-classifier", estimator(our_xgboost.XGBClassifier, **XGB_SKLEARN),
         is_class, fits=True),
    Door("xgboost", "native", xgboost_native(None)),
    *(Door("xgboost", f"native-{name}", xgboost_native(name), never, told=True)
      for name in TRANSFORMS),
    Door("xgboost", "regressor", estimator(xgb.XGBRegressor, **XGB_SKLEARN), never, fits=True),
    Door("xgboost", "classifier", estimator(xgb.XGBClassifier, **XGB_SKLEARN), never,
         told=True, fits=True),
    Door("lightgbm", "train", lightgbm_train),
    Door("lightgbm", "cv", lightgbm_cv),
    Door("lightgbm", "reloaded", lightgbm_reloaded),
    Door("lightgbm", "our-regressor", estimator(our_lightgbm.LGBMRegressor, **LGB_SKLEARN),
         is_number, fits=True),
    Door("lightgbm", "our-classifier", estimator(our_lightgbm.LGBMClassifier, **LGB_SKLEARN),
         is_class, fits=True),
    Door("lightgbm", "native", lightgbm_native),
    Door("sklearn", "our-regressor",
         estimator(our_sklearn.HistGradientBoostingRegressor, **HISTOGRAM),
         of_one_output(is_number)),
    Door("sklearn", "our-classifier",
         estimator(our_sklearn.HistGradientBoostingClassifier, **HISTOGRAM), is_class),
    Door("lightgbm", "regressor", estimator(lgb.LGBMRegressor, **LGB_SKLEARN), never, fits=True),
    Door("lightgbm", "classifier", estimator(lgb.LGBMClassifier, **LGB_SKLEARN), never, fits=True),
]  # fmt: skip
if find_spec("catboost"):
    from gbdt_objectives.adapters import catboost as our_catboost

    DOORS += [
        Door("catboost", "our-regressor",
             estimator(our_catboost.CatBoostRegressor, **CATBOOST), of_rows_apart(is_number)),
        Door("catboost", "our-classifier",
             estimator(our_catboost.CatBoostClassifier, **CATBOOST), of_rows_apart(is_class)),
    ]  # fmt: skip


# --- refusals, and a library that is patched

REMEDY = re.compile(
    r"\b(import|pass|use|write|make|leave|declare|name no|remove|train|start|encode|must be|"
    r"but \w+ is (None|empty))\b", re.I,
)  # fmt: skip
"""What a refusal says to do, or what is missing."""

LIBRARIES_OWN = (xgb.core.XGBoostError, lgb.basic.LightGBMError)


def right_or_refused(call: Callable[[], Any]) -> Any:
    """What the call returns; None if it is refused: by us with a remedy, or by the library."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="boosting starts at")
        warnings.filterwarnings("ignore", category=FutureWarning)
        try:
            return call()
        except LIBRARIES_OWN:
            return None
        except (TypeError, ValueError) as error:
            refusal = error
    rooms = raised_in(refusal)
    if set(rooms) == {"tests"}:  # a slip of the test itself
        raise refusal
    if rooms[-1] == "gbdt_objectives":
        assert REMEDY.search(str(refusal)), f"no remedy: {refusal}"
    return None


def raised_in(error: BaseException) -> list[str]:
    """The packages whose code it passed, the one that raised it last."""
    frames = (frame for frame, _ in traceback.walk_tb(error.__traceback__))
    return [str(frame.f_globals["__name__"]).partition(".")[0] for frame in frames]


def patch_train(monkeypatch: Any) -> None:
    """A function of somebody else between ``fit`` and ``train``, as MLflow's autolog puts it."""
    from lightgbm import sklearn as of_lightgbm
    from xgboost import sklearn as of_xgboost

    for module in (of_xgboost, of_lightgbm):
        monkeypatch.setattr(module, "train", wrapped(module.train))


def wrapped(function: Callable[..., Any]) -> Callable[..., Any]:
    def wrapper(*args: Any, **kwargs: Any) -> Any:
        return function(*args, **kwargs)

    return wrapper
