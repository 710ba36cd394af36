"""The methods that fit thresholds, in one table, and what each of them can optimise."""

from __future__ import annotations

import math
import sys
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from inspect import signature
from typing import Any, Literal

import numpy as np

from gbdt_objectives import _checks
from gbdt_objectives._checks import Array, RandomState, check_takes, shown, warn
from gbdt_objectives.metrics import ClassMetric, Metric, ShareMetric, threshold_metric
from gbdt_objectives.thresholds import qwk, rows as _rows
from gbdt_objectives.thresholds.qwk import best_of_every_cut, confusion, optimal_cuts
from gbdt_objectives.thresholds.rows import Bins, ClassCurve, ScoredRows, Thresholds

Method = Literal["plugin", "curved", "exact", "nelder-mead", "rounding"]
MetricArgument = str | ClassMetric | Callable[..., Any]
Target = ClassMetric | Callable[..., Any]
"""A checked metric: one of ours, or a user's function of which greater is better."""


Scored = ScoredRows | Bins

WORST = sys.float_info.max  # the worst loss: finite, as scipy subtracts losses
FREQUENT, FEW = 0.1, 15
"""The best thresholds of a score that tells classes apart give a class of this share rows."""
EVERY = 2000  # so many cuts are all looked at
STEP = 1e-5  # share of the weight that is moved to one pair of classes to differentiate a metric


def exact(rows: Scored, metric: Any) -> Array:
    """The global optimum of a metric of classes."""
    if metric.exact_method == "isotonic":
        curve = rows.label_curve
        return _rows.cut_to_threshold(curve.low, curve.high, qwk.exact_cuts(curve))
    best = best_of_every_cut if isinstance(metric, ShareMetric) else optimal_cuts
    pools = rows.class_curve
    return _rows.cut_to_threshold(pools.low, pools.high, best(pools.C, metric))


def rounding(rows: Scored, metric: Target) -> Array:
    return _rows.nearest_cuts(rows.labels, "method='rounding'", "use another method")


def nelder_mead(
    rows: Scored, metric: Target, n_starts: int = 4, random_state: RandomState = 0
) -> Array:
    """The best of ``n_starts`` runs of scipy's Nelder-Mead: not exact, but for any function."""
    from scipy.optimize import minimize

    assert isinstance(rows, ScoredRows)
    curve = rows.class_curve
    loss = class_loss(curve, metric) if isinstance(metric, ClassMetric) else row_loss(rows, metric)
    if len(rows.labels) == 2 and not isinstance(metric, ClassMetric):
        return best_threshold(np.unique(rows.score), loss)
    runs = [
        minimize(lambda x: loss(np.sort(x)), start, method="Nelder-Mead", options=options)
        for start, options in search_starts(curve, rows.labels, n_starts, random_state)
    ]
    return np.sort(min(runs, key=lambda run: float(run.fun)).x)


def best_threshold(score: Array, loss: Callable[[Array], float]) -> Array:
    """The threshold of least loss between two classes; of many, by a grid and around its best."""

    def threshold(cut: Any) -> Array:
        return _rows.cut_to_threshold(score, score, np.array([int(cut)]))

    d = len(score)
    ends = np.geomspace(1, d, EVERY // 4)
    grid = np.concatenate([np.linspace(0, d, EVERY // 4), ends, d - ends]).astype(int)
    cuts = np.unique(grid) if d > EVERY else np.arange(d + 1)
    best = int(np.argmin([loss(threshold(cut)) for cut in cuts]))
    if d > EVERY:
        around = cuts[max(best - 1, 0)], cuts[min(best + 1, len(cuts) - 1)]
        cuts = np.unique(np.append(cuts[best], np.linspace(*around, EVERY // 4).astype(int)))
        best = int(np.argmin([loss(threshold(cut)) for cut in cuts]))
    return threshold(cuts[best])


def class_loss(curve: ClassCurve, metric: ClassMetric) -> Callable[[Array], float]:
    """The metric, negated if greater is better, of sorted thresholds; nan is worst."""
    sign = -1 if metric.greater_is_better else 1

    def loss(thresholds: Array) -> float:
        cuts = _rows.threshold_to_cut(curve.low, thresholds)
        value = sign * metric.of_counts(confusion(curve.C, cuts))
        return WORST if math.isnan(value) else value

    return loss


def row_loss(rows: ScoredRows, metric: Callable[..., Any]) -> Callable[[Array], float]:
    """The negative metric of sorted thresholds, of rows as their user gave them; nan is worst."""
    assert rows.order is not None
    as_given = np.argsort(rows.order)
    score = rows.score[as_given]
    y_true = rows.labels[rows.position[as_given]]
    weight = None if rows.weight is None else rows.weight[as_given]
    check_direction(metric, y_true, None if weight is None or not np.ptp(weight) else weight)

    def loss(thresholds: Array) -> float:
        y_pred = rows.labels[np.searchsorted(thresholds, score, side="right")]
        value = float(metric(y_true, y_pred, weight))
        return WORST if math.isnan(value) else -value

    return loss


def search_starts(
    curve: ClassCurve, labels: Array, n_starts: int, random_state: RandomState
) -> list[tuple[Array, dict[str, Any]]]:
    """Midway between the labels with scipy's own initial simplex, as is usual; then at the label
    frequencies, then at random, with one of a quarter of the scores' standard deviation."""
    found: list[tuple[Array, dict[str, Any]]] = []
    if labels.dtype.kind in "iuf":
        found.append((_rows.midpoints(labels), {}))
    score = curve.low.astype(np.float64)
    own = curve.C[:, -1]
    below = curve.C.sum(axis=0) / own.sum()
    weight = np.diff(below)
    step = 0.25 * np.sqrt(weight @ (score - weight @ score) ** 2)
    share = np.cumsum(own)[:-1] / own.sum()
    generator = _checks.generator(random_state)
    while len(found) < n_starts:
        start = score[np.searchsorted(below[1:-1], share)]
        simplex = np.vstack([start, start + step * np.eye(len(share))])
        found.append((start, {"initial_simplex": simplex}))
        share = np.sort(generator.uniform(size=len(share)))
    return found[:n_starts]


METHODS: dict[str, Callable[..., Array]] = {
    "plugin": lambda rows, metric: qwk.plugin_thresholds(rows.label_curve),
    "curved": lambda rows, metric: qwk.curved_thresholds(rows), "exact": exact,
    "nelder-mead": nelder_mead, "rounding": rounding,
}  # fmt: skip


@dataclass(frozen=True)
class WeighedByName:
    """A function that takes the weights as ``sample_weight=``, as those of scikit-learn do."""

    function: Callable[..., Any]

    def __call__(self, y_true: Array, y_pred: Array, sample_weight: Array | None) -> Any:
        return self.function(y_true, y_pred, sample_weight=sample_weight)

    @property
    def __name__(self) -> str:
        return str(getattr(self.function, "__name__", "metric"))


def resolve_metric(metric: MetricArgument) -> Target:
    """The metric of classes, or the function, that thresholds are to be fitted for."""
    if isinstance(metric, str):
        return threshold_metric(metric)
    if isinstance(metric, ClassMetric):
        if metric.thresholds is not None:
            raise ValueError(
                f"metric {metric.name!r} has thresholds of its own, {shown(metric.thresholds)}: "
                "make it without thresholds="
            )
        return metric
    ours = str(getattr(metric, "__module__", "")).startswith("gbdt_objectives.")  # e.g. not called
    if ours or isinstance(metric, Metric):
        raise ValueError(
            f"metric must be a metric of classes, found {shown(metric)}: pass for instance 'qwk', "
            "'accuracy', qwk_metric((0, 5)) or cost_metric(matrix), without .loss or .xgboost"
        )
    if not callable(metric):
        raise TypeError(
            f"metric must be a name, a metric of classes or a function, found {shown(metric)}: for "
            "a matrix of costs use cost_metric(matrix) or kappa_cost_metric(matrix), for those of "
            "decide pass costs=[[...]]"
        )
    if scored := getattr(metric, "_score_func", None):
        raise TypeError(
            f"metric is a scorer of scikit-learn, which is called with a model: pass its function, "
            f"{getattr(scored, '__name__', scored)}, or partial(function, ...) with its options"
        )
    name, called = getattr(metric, "__name__", "metric"), "y_true, y_pred, sample_weight"
    if reads_scores(getattr(metric, "func", metric)):
        raise TypeError(
            f"metric {getattr(metric, 'func', metric).__name__} of scikit-learn is for scores or "
            "probabilities, but gets classes: pass a metric of classes, such as 'macro_recall'; of "
            "probabilities sklearn.model_selection.cross_val_score(..., scoring=) estimates it"
        )
    by_name = False
    with suppress(ValueError):  # it has no signature to look at
        weight = signature(metric).parameters.get("sample_weight")
        by_name = weight is not None and weight.kind == weight.KEYWORD_ONLY
    check_takes(
        "metric", metric, called.removesuffix(", sample_weight" * by_name), lambda found, _: (
            f"metric must be called as metric({called}), found {name}{found}: pass for instance "
            f"lambda y, p, w: {name}(y, p, sample_weight=w), or the name of a metric, such as "
            "'accuracy'"
        ), by_name=["sample_weight"] * by_name, wrong="measure another thing",
    )  # fmt: skip
    return WeighedByName(metric) if by_name else metric


def reads_scores(metric: Any) -> bool:
    """Whether it is a function of scikit-learn for something else than classes."""
    if not str(getattr(metric, "__module__", "")).startswith("sklearn.metrics"):
        return False
    _, second, *_ = [*signature(metric).parameters, "", ""]
    return second not in ("y_pred", "y2", "labels_pred") or metric.__name__.endswith("log_loss")


def check_direction(metric: Callable[..., Any], y_true: Array, weight: Array | None) -> None:
    """Raise for an error, best on shuffled labels, and for a function that ignores weights."""
    shuffled = np.random.default_rng(0).permutation(y_true)
    best, other = (float(metric(y_true, y, weight)) for y in (y_true, shuffled))
    if best < other:
        name = getattr(metric, "__name__", "metric")
        raise ValueError(
            f"metric must be a function of which greater is better, found {best:.4g} of {name} for "
            f"the labels themselves, and {other:.4g} for the same labels shuffled: negate it, "
            f"lambda y, p, w: -{name.replace('<lambda>', 'metric')}(y, p, w)"
        )
    if weight is not None and best > other:  # the rows that are right made to weigh more
        heavier = float(metric(y_true, shuffled, weight * np.where(shuffled == y_true, 1e3, 1.0)))
        if heavier == other and (shuffled == y_true).any():
            raise ValueError(
                "metric ignores its third argument, how much each row weighs: use it, as in "
                "numpy.average(y == p, weights=w), or pass the name of a metric, such as 'accuracy'"
            )


def resolve_method(method: str | None, metric: Target) -> str:
    """The method, the default one for None, if it can optimise the metric."""
    if method is None:  # Nelder-Mead for functions
        exact_or_search = "exact" if getattr(metric, "exact_method", None) else "nelder-mead"
        return "plugin" if is_qwk(metric) else exact_or_search
    _checks.choice("method", method, tuple(METHODS))
    if not isinstance(metric, ClassMetric):
        if method in ("plugin", "curved", "exact"):
            raise ValueError(
                f"metric is a function, and method={method!r} cannot optimise one: pass "
                "method='nelder-mead', or a metric of gbdt_objectives.metrics"
            )
    elif method == "exact" and metric.exact_method is None:
        raise ValueError(
            f"metric {metric.name!r} does not say how method='exact' finds its best thresholds: "
            "write it as a RatioMetric, or pass method='nelder-mead'"
        )
    elif method in ("plugin", "curved") and not is_qwk(metric):
        raise ValueError(
            f"method={method!r} is for metric='qwk' only, found {metric.name!r}: pass "
            "method='exact'"
        )
    return method


def check_needs_no_rows(method: str, metric: Target) -> None:
    """Raise for what sums over the partitions of a Dask collection do not give."""
    if not isinstance(metric, ClassMetric):
        raise ValueError(
            "metric is a function, which needs the rows of all partitions at once: pass a metric "
            "of gbdt_objectives.metrics, such as 'accuracy' or cost_metric(matrix)"
        )
    if method not in ("exact", "plugin"):
        raise ValueError(
            f"method={method!r} needs the rows of all partitions at once: pass 'plugin' or 'exact'"
        )


def resolve_labels(labels: Any, metric: Target, **asked: Any) -> Any:
    """The labels argument, or the labels of the metric's ``label_range``."""
    return metric.agree_labels(labels, **asked) if isinstance(metric, ClassMetric) else labels


def of_labels(metric: Target, labels: Any) -> Target:
    """The metric, whose positions are those of these labels."""
    return metric._of_labels(labels) if isinstance(metric, ClassMetric) else metric


def find_thresholds(method: str, rows: Scored, metric: Target, **search: Any) -> Thresholds:
    """Thresholds of one method, with the classes they separate; warn if they are useless."""
    return with_warnings(method, place_thresholds(method, rows, metric, **search), rows, metric)


def with_warnings(method: str, found: Array, rows: Scored, metric: Target) -> Thresholds:
    """Thresholds with the classes they separate; warn if they are useless."""
    warn_if_useless(method, found, rows, metric)
    return Thresholds(found, rows.labels, _checks.unit_range(rows.score))


def place_thresholds(method: str, rows: Scored, metric: Target, **search: Any) -> Array:
    """Thresholds of one method; for QWK exact ones where its kappa is 0 or less on these rows."""
    found = METHODS[method](rows, metric, **search)
    if is_qwk(metric) and method not in ("exact", "rounding"):
        curve = rows.label_curve
        if not qwk.qwk_ratio(curve, _rows.threshold_to_cut(curve.score, found)) < qwk.USEFUL:
            return exact(rows, metric)
    return found


def fit_thresholds(method: str, rows: ScoredRows, metric: Target) -> Array:
    """Place thresholds on a fold or resample: exact ones if the score does not rise there."""
    if method in ("plugin", "curved") and not qwk.score_rises(rows.label_curve):
        method = "exact"
    return place_thresholds(method, rows, metric)


def is_qwk(metric: Target) -> bool:
    return isinstance(metric, ClassMetric) and metric.exact_method == "isotonic"


def warn_if_useless(method: str, thresholds: Array, rows: Scored, metric: Target) -> None:
    """Warn of one class for all rows, of a kappa of 0 or less, of no row for a frequent class."""
    reason = "the scores are all equal, or no thresholds on them do better"
    falling = "; if low scores mean high classes pass -score"
    first, last = np.searchsorted(thresholds, rows.score[[0, -1]], side="right")
    if first == last:
        found = f"every row gets the class {rows.labels[first]}"
    elif method == "rounding" and is_qwk(metric) and not rounding_agrees(thresholds, rows):
        found = "quadratic weighted kappa of the rounded scores is not above 0"
    elif is_qwk(metric) and (label := left_out(thresholds, rows)) is not None:
        found = f"no row gets the class {label}, of at least {FREQUENT:.0%} of the rows"
        reason, falling = "the score hardly tells it from its neighbours, improve the model", ""
    else:
        return
    if method == "rounding":
        reason = "rounding fits nothing to the scores, pass another method"
    warn(f"{found}: {reason}{falling}")


def warn_if_chance(thresholds: Array, rows: ScoredRows, limit: float) -> bool:
    """Warn if held-out scores rise by no more than chance, by ``limit`` standard deviations."""
    curve, w = rows.label_curve, rows.weight
    n = len(rows.score) if w is None else float(w.sum()) ** 2 / float(w @ w)
    z = qwk.rank_correlation(curve) * math.sqrt(n - 1)
    if z > limit:
        return False
    kappa = 1 - qwk.qwk_ratio(curve, _rows.threshold_to_cut(curve.score, thresholds))
    warn(
        f"out-of-fold kappa {kappa:.2f} is not distinguishable from 0 in {n:.0f} rows (z = "
        f"{z:.1f}): the regressor may have learnt nothing that holds on new rows"
    )
    return True


def left_out(thresholds: Array, rows: Scored) -> Any:
    """The first frequent class that no row gets, or None."""
    cuts = _rows.threshold_to_cut(rows.score, thresholds)
    got = np.diff(cuts, prepend=0, append=len(rows.score)) > 0
    frequent = rows.class_weight >= max(FREQUENT * rows.class_weight.sum(), FEW)
    return next((rows.labels[k] for k in np.flatnonzero(frequent & ~got)), None)


def rounding_agrees(thresholds: Array, rows: Any) -> bool:
    """Whether the classes given rise with the true ones: the sign of the covariance is kappa's."""
    given = np.searchsorted(thresholds, rows.score, side="right")
    mean = np.average(given, weights=rows.weight)
    return bool(np.average((given - mean) * rows.position, weights=rows.weight) > 1e-12)


def row_losses(value: Any, counts: Array) -> Array:
    """g[true, predicted], the metric's derivative by shares of rows, of mean 0."""
    C: Array = counts / counts.sum()
    here = value(C)
    g: Array = np.zeros_like(C)
    for i in np.flatnonzero(C.sum(axis=1)):
        for j in range(len(C)):
            moved = (1 - STEP) * C
            moved[i, j] += STEP
            g[i, j] = (value(moved) - here) / STEP
    return g
