"""How good an estimator is on new rows, and how certain that is: nested cross-validation.

Symbols: n rows in K folds, drawn R times; e_out, e_in and e_cv as docs/theory/performance.md
defines them; M a metric, C the (weighted) counts [true, predicted] of all held-out rows of all
repeats. To first order about C, M is a mean over the rows of a loss, g[y, p] = dM/dC.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from itertools import combinations, product
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import ndtri
from sklearn.base import clone
from sklearn.utils import _safe_indexing
from sklearn.utils.parallel import Parallel, delayed
from sklearn.utils.validation import has_fit_parameter

from gbdt_objectives import _checks
from gbdt_objectives._checks import Array, RandomState, check_order, group_numbers, positions, shown
from gbdt_objectives._checks.tables import held_out_once
from gbdt_objectives._public import public
from gbdt_objectives._rows.rows import Shown, Table
from gbdt_objectives.estimators._base import FitRows
from gbdt_objectives.evaluation.cross_validation import is_greater_better, score_classes
from gbdt_objectives.metrics import ClassMetric
from gbdt_objectives.thresholds import methods
from gbdt_objectives.thresholds.methods import MetricArgument, Target, row_losses


@public
@dataclass(frozen=True, eq=False, repr=False)
class PerformanceEstimate(Shown):
    """Result of :func:`estimate_performance`, for R repeats of K folds.

    Attributes
    ----------
    metric, greater_is_better, estimate : str, bool, float
        Name and direction of the metric. The cross-validated metric, mean over the repeats.
    standard_error : float
        Root mean square distance to the metric on new rows of the estimator trained on all.
    interval, confidence_level : (float, float), float
        Symmetric interval, which may pass the metric's best value, and its probability.
    naive_error : float
        The standard error if the models were given: too small where they differ by training set.
    bias : float
        How far the estimate is off because its models are trained on a fraction (K-1)/K of the
        rows; estimated, and part of ``standard_error``, not of ``estimate``.
    fold_scores : ndarray of shape (R, K)
        The metric of each fold's held-out rows.
    """

    metric: str
    greater_is_better: bool
    estimate: float
    standard_error: float
    interval: tuple[float, float]
    confidence_level: float
    naive_error: float
    bias: float
    fold_scores: Array

    def __repr__(self) -> str:
        R, K = self.fold_scores.shape
        low, high = self.interval
        return (
            f"{self.metric} {self.estimate:.4g} +- {self.standard_error:.2g}, "
            f"{100 * self.confidence_level:g} % interval {low:.4g} to {high:.4g}\n"
            f"(naive error {self.naive_error:.2g}, bias {self.bias:.2g}; {K} folds, {R} times)"
        )

    def _shown(self) -> tuple[str, dict[str, Any]]:
        R, K = self.fold_scores.shape
        errors = {"naive error": [self.naive_error], "bias": [self.bias]}
        title = f"{self.metric} of new rows: {K} folds, {R} times"
        return title, _estimates([self.estimate], self) | errors


@public
@dataclass(frozen=True, eq=False, repr=False)
class PerformanceDifference(Table):
    """Result of :func:`compare_performance`.

    Attributes
    ----------
    difference, standard_error : float
        How much better the first is than the second on new rows, positive if it is better, whatever
        the metric's direction; and the paired standard error of that.
    interval, confidence_level : (float, float), float
        Interval about the difference, and its probability.
    first, second : PerformanceEstimate
        Each estimator on its own, on the same folds.
    """

    difference: float
    standard_error: float
    interval: tuple[float, float]
    confidence_level: float
    first: PerformanceEstimate
    second: PerformanceEstimate

    def __repr__(self) -> str:
        low, high = self.interval
        return (
            f"gain of the first: {self.difference:.4g} +- {self.standard_error:.2g}, "
            f"{100 * self.confidence_level:g} % interval {low:.4g} to {high:.4g}\n"
            f"first: {self.first!r}\nsecond: {self.second!r}"
        )

    def _shown(self) -> tuple[str, dict[str, Any]]:
        return f"{self.first.metric} of new rows, compared", self._columns()

    def _columns(self) -> dict[str, Any]:
        names = {"": ["first", "second", "gain of the first"]}
        values = [self.first.estimate, self.second.estimate, self.difference]
        return names | _estimates(values, self.first, self.second, self)


def _estimates(
    values: list[float], *found: PerformanceEstimate | PerformanceDifference
) -> dict[str, list[float]]:
    """The columns of a table with a row of each, which share a confidence level."""
    low, high = zip(*(one.interval for one in found), strict=True)
    level = f"{100 * found[0].confidence_level:g} %"
    return {
        "estimate": values, "standard error": [one.standard_error for one in found],
        f"{level} from": list(low), "to": list(high),
    }  # fmt: skip


@public
def estimate_performance(
    estimator: Any, X: Any, y: ArrayLike, metric: MetricArgument = "qwk", *, cv: int = 5,
    n_repeats: int = 10, labels: ArrayLike | None = None, sample_weight: ArrayLike | None = None,
    groups: ArrayLike | None = None, confidence_level: float = 0.9, random_state: RandomState = 0,
    n_jobs: int | None = None, verbose: bool | int = False,
) -> PerformanceEstimate:  # fmt: skip
    """How good an estimator trained on these rows is on new ones, with an honest interval.

    Use it before you report a score.

    Everything that ``fit`` does, thresholds and tuning included, is done anew without the rows it
    is judged by: R K (K+1) / 2 models with K folds and R repeats. With V the naive variance and
    e_out, e_in, e_cv as ``docs/theory/performance.md`` defines them ::

        error^2 = V + (K-1)/K [mean((e_in - e_out)^2 - (e_cv - e_out)^2) - d^2]
                    - (1 - 1/R) var_r(score) + bias^2,    V <= error^2 <= K V
        bias = (K-2)/K d,    d = mean(e_in - e_cv)

    Parameters
    ----------
    estimator : estimator
        With ``fit`` and ``predict`` of classes, such as ``QWKClassifier``, a Pipeline or a search
        of parameters; it is cloned. Its ``fit`` gets ``groups``, too, if it has that argument.
    X, y : array-like, sparse matrix or DataFrame of shape (n, features), array-like of shape (n,)
        Features, passed on unchanged. Rows must be exchangeable, not ordered in time. Classes.
    metric : str, metric of classes or function
        As in :func:`optimize_thresholds`; a function must be smooth in shares, greater is better.
    cv, n_repeats : int
        Number of stratified, shuffled folds, at least 3, and how often they are drawn, at least 2.
    labels : array-like of shape (K,), optional
        All classes in order; None as in :func:`optimize_thresholds`.
    sample_weight : array-like of shape (n,), optional
        Weights >= 0 for the estimator and the metric; w means w rows of one group.
    groups : array-like of shape (n,), optional
        Rows of one group stay in one fold, and the error is that of drawing groups.
    confidence_level, random_state : float in (0, 1), int, Generator or RandomState, optional
        Probability of the interval. Seed for drawing the folds.
    n_jobs : int, optional
        Number of repeats computed at the same time.
    verbose : bool or int
        Whether to show a progress bar over the repeats; a number above 0 is True. It needs tqdm,
        ``pip install 'gbdt_objectives[progress]'``.

    Returns
    -------
    PerformanceEstimate

    Raises
    ------
    ValueError, TypeError
        Predictions that are not classes, a metric that needs thresholds or is 0/0 in a fold, fewer
        than two rows (groups) in each fold, training rows of one class only.

    References
    ----------
    Bates, Hastie & Tibshirani (2021), arXiv 2104.00673, for nested cross-validation.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.tree import DecisionTreeClassifier
    >>> from gbdt_objectives.evaluation import estimate_performance
    >>> X = np.random.default_rng(0).normal(size=(300, 3))
    >>> y = np.digitize(X[:, 0] + X[:, 1], [-1, 0, 1])
    >>> found = estimate_performance(DecisionTreeClassifier(max_depth=3), X, y, n_repeats=2)
    >>> found.interval[0] < found.estimate < found.interval[1]
    True
    """
    rows = _read(
        estimator, X, y, metric, cv, n_repeats, labels, sample_weight, groups, random_state
    )
    level = _checks.confidence_level("confidence_level", confidence_level, usual=0.9)
    (judged,) = _judge([("estimator", estimator)], rows, n_jobs, verbose)
    return _summary(rows, judged, level)


@public
def compare_performance(
    first: Any, second: Any, X: Any, y: ArrayLike, metric: MetricArgument = "qwk", *, cv: int = 5,
    n_repeats: int = 10, labels: ArrayLike | None = None, sample_weight: ArrayLike | None = None,
    groups: ArrayLike | None = None, confidence_level: float = 0.9, random_state: RandomState = 0,
    n_jobs: int | None = None, verbose: bool | int = False,
) -> PerformanceDifference:  # fmt: skip
    """How much better one estimator is than another on new rows, with an honest interval.

    Use it before you replace one model by another. Both are trained and judged on the same folds,
    so that what is hard for both cancels. The interval is for the two models trained on all rows
    given. There is no p-value for the question which algorithm is better on training sets of this
    size; difference / standard_error is a conservative test (``docs/theory/performance.md``).

    Parameters
    ----------
    first, second : estimator
        With ``fit`` and ``predict`` of classes; they are cloned.
    X, y, metric, cv, n_repeats, labels, sample_weight, groups
        As in :func:`estimate_performance`, with its errors.
    confidence_level, random_state, n_jobs, verbose
        As in :func:`estimate_performance`.

    Returns
    -------
    PerformanceDifference

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.dummy import DummyClassifier
    >>> from sklearn.tree import DecisionTreeClassifier
    >>> from gbdt_objectives.evaluation import compare_performance
    >>> X = np.random.default_rng(0).normal(size=(300, 3))
    >>> y = np.digitize(X[:, 0] + X[:, 1], [-1, 0, 1])
    >>> tree = DecisionTreeClassifier(max_depth=3)
    >>> found = compare_performance(tree, DummyClassifier(), X, y, "accuracy", n_repeats=2)
    >>> found.interval[0] > 0
    True
    """
    rows = _read(first, X, y, metric, cv, n_repeats, labels, sample_weight, groups, random_state)
    level = _checks.confidence_level("confidence_level", confidence_level, usual=0.9)
    a, b = _judge([("first", first), ("second", second)], rows, n_jobs, verbose)
    sign = 1.0 if is_greater_better(rows.metric) else -1.0
    difference = sign * float(a.score.mean() - b.score.mean())
    error, _, _ = nested_error(a.outer - b.outer, a.inner - b.inner, rows.fold, rows.w, rows.unit)
    return PerformanceDifference(
        difference=difference, standard_error=error,
        interval=normal_interval(difference, error, level), confidence_level=level,
        first=_summary(rows, a, level), second=_summary(rows, b, level),
    )  # fmt: skip


@dataclass(frozen=True, eq=False)
class _Design:
    """What is judged, checked: y as given, its positions, folds (R, n), and the unit of a row."""

    X: Any
    y: Any
    position: Array
    classes: Array
    w: Array
    weighted: bool
    group: Array | None
    unit: Array
    fold: Array
    metric: Target


@dataclass(frozen=True, eq=False)
class _Judged:
    """Losses of held-out rows, NaN in fold k itself, and the metric of each repeat and fold."""

    outer: Array  # (R, n)
    inner: Array  # (R, K, n)
    score: Array  # (R,)
    fold_scores: Array  # (R, K)


def _read(
    estimator: Any, X: Any, y: Any, metric: MetricArgument, cv: int, n_repeats: int,
    labels: ArrayLike | None, sample_weight: ArrayLike | None, groups: ArrayLike | None,
    random_state: RandomState,
) -> _Design:  # fmt: skip
    target = methods.resolve_metric(metric)
    if not isinstance(cv, int | np.integer):
        found = f"cv must be a number of folds, found {shown(cv)}"
        raise TypeError(f"{found}: nested cross-validation leaves out pairs, and draws them anew")
    K = _checks.whole_number("cv", cv, 3)
    R = _checks.whole_number("n_repeats", n_repeats, 2)
    rng = _checks.generator(random_state)
    X, values = FitRows.read_X_and_y(estimator, X, y)
    order = methods.resolve_labels(labels, target)
    rank = getattr(target, "is_ordinal", False)
    classes = (
        FitRows.ordered_classes(y, values, rank) if order is None else check_order(order, rank)
    )
    position = positions("y", values, classes).astype(np.int64)
    n = len(position)
    w = FitRows.check_weights(sample_weight, n)
    group = None if groups is None else group_numbers(groups, n)
    given = y if getattr(getattr(y, "dtype", None), "ordered", False) else values
    if w is not None and not w.all():
        keep = np.flatnonzero(w)
        X, given, position, n = _safe_indexing(X, keep), given.take(keep), position[keep], len(keep)
        w, group = w[keep], None if group is None else group[keep]
    FitRows.check_several_classes(classes[np.unique(position)])
    unit = np.arange(n) if group is None else np.unique(group, return_inverse=True)[1]
    fold = _draw_folds(position, K, rng.choice(2**31 - 1, size=R).tolist(), group, unit)
    weight, target = np.ones(n) if w is None else w, methods.of_labels(target, classes)
    if not isinstance(target, ClassMetric):
        methods.check_direction(target, classes[position], weight)
    return _Design(X, given, position, classes, weight, w is not None, group, unit, fold, target)


def _draw_folds(
    position: Array, K: int, seeds: list[int], group: Array | None, unit: Array
) -> Array:
    """The fold of each row, drawn with each of R seeds, (R, n)."""
    units = int(unit.max()) + 1
    if units < 2 * K:
        what = "rows" if group is None else "groups"
        needed = f"cv = {K} folds need at least {2 * K} {what}, two in each fold, found {units}"
        raise ValueError(f"{needed}: use fewer folds or more rows")
    fold = np.empty((len(seeds), len(position)), np.int64)
    for own, seed in zip(fold, seeds, strict=True):
        for k, (_, test) in enumerate(held_out_once(position, K, group, random_state=seed)):
            own[test] = k
            if len(np.unique(unit[test])) < 2:
                raise ValueError(
                    f"fold {k} holds a single group: use fewer folds, or groups of more equal size"
                )
    return fold


def _judge(
    estimators: Sequence[tuple[str, Any]], rows: _Design, n_jobs: int | None, verbose: bool | int
) -> list[_Judged]:
    for name, estimator in estimators:
        if isinstance(estimator, type) or not all(
            hasattr(estimator, method) for method in ("fit", "predict", "get_params")
        ):
            raise TypeError(
                f"{name} must be a scikit-learn estimator with fit and predict, such as "
                f"QWKClassifier(LGBMRegressor()), found {shown(estimator)}"
            )
        if rows.weighted:
            FitRows.check_weights(rows.w, len(rows.w), estimator)
    verbose = _checks.is_loud("verbose", verbose)
    each = list(product(range(len(rows.fold)), estimators))
    tasks = (delayed(_held_out_classes)(name, estimator, rows, r) for r, (name, estimator) in each)
    done = Parallel(n_jobs=n_jobs, return_as="generator")(tasks)
    found = list(_checks.show_progress(verbose, done, len(each), "performance", "repeat"))
    return [_losses(rows, found[i :: len(estimators)]) for i in range(len(estimators))]


def _held_out_classes(name: str, estimator: Any, rows: _Design, r: int) -> tuple[Array, Array]:
    """Positions in a repeat without the row's fold, (n,), and without fold k too, (K, n), or -1."""
    fold = rows.fold[r]
    K = int(fold.max()) + 1
    outer = np.empty(len(fold), np.int64)
    inner = np.full((K, len(fold)), -1)
    predict = partial(_fit_and_predict, name, estimator, rows)
    for k in range(K):
        out = np.flatnonzero(fold == k)
        outer[out] = predict(np.flatnonzero(fold != k), out)
    for j, k in combinations(range(K), 2):
        out = np.flatnonzero((fold == j) | (fold == k))
        found = predict(np.flatnonzero((fold != j) & (fold != k)), out)
        first = fold[out] == j
        inner[k, out[first]] = found[first]
        inner[j, out[~first]] = found[~first]
    return outer, inner


def _fit_and_predict(name: str, estimator: Any, rows: _Design, train: Array, out: Array) -> Array:
    present = rows.classes[np.unique(rows.position[train])]
    if len(present) < 2:
        raise ValueError(
            f"the {len(train)} rows left to train on, without two folds, are of one class only, "
            f"found {shown(present.tolist())}: use more rows, or other groups"
        )
    arguments: dict[str, Any] = {"sample_weight": rows.w[train]} if rows.weighted else {}
    if rows.group is not None and has_fit_parameter(estimator, "groups"):
        arguments["groups"] = rows.group[train]
    model = clone(estimator)
    model.fit(_safe_indexing(rows.X, train), rows.y.take(train), **arguments)
    predicted = np.asarray(model.predict(_safe_indexing(rows.X, out)))
    if predicted.shape == (len(out), 1):
        predicted = predicted[:, 0]
    try:
        return positions("the prediction", predicted, rows.classes)
    except (TypeError, ValueError) as error:
        raise type(error)(
            f"{name} must predict classes: {error}; of a regressor make QWKClassifier(regressor)"
        ) from error


def _losses(rows: _Design, found: Sequence[tuple[Array, Array]]) -> _Judged:
    """The metric as a mean over rows, and its values."""
    outer = np.stack([o for o, _ in found])
    inner = np.stack([i for _, i in found])
    y, w, L = rows.position, rows.w, len(rows.classes)

    def counts(p: Array, at: Array) -> Array:
        return np.bincount(y[at] * L + p[at], w[at], minlength=L * L).reshape(L, L)

    value = partial(metric_of_counts, rows.metric, rows.classes)
    K = inner.shape[1]
    repeats = [counts(p, np.full(len(y), True)) for p in outer]
    folds = np.array([
        [value(counts(p, fold == k)) for k in range(K)]
        for p, fold in zip(outer, rows.fold, strict=True)
    ])  # fmt: skip
    score = np.array([value(C) for C in repeats])
    if np.isnan(folds).any():
        r, k = np.argwhere(np.isnan(folds))[0]
        held = rows.classes[np.unique(y[rows.fold[r] == k])].tolist()
        raise ValueError(
            f"the metric of fold {k} of repeat {r} is nan, its held-out rows hold the classes "
            f"{shown(held)}: use fewer folds, or a metric that is defined there"
        )
    g = row_losses(value, np.sum(repeats, axis=0))
    return _Judged(g[y, outer], np.where(inner < 0, np.nan, g[y, inner]), score, folds)


def metric_of_counts(metric: Target, classes: Array, counts: Array) -> float:
    """The metric of rows of these (weighted) counts [true, predicted]."""
    true, predicted = np.nonzero(counts)
    return score_classes(metric, classes, true, predicted, counts[true, predicted])


def variance_of_mean(v: Array, w: Array, unit: Array) -> float:
    """Variance of the weighted mean of v, where a draw is a unit (row or group)."""
    sums = np.bincount(unit, w * (v - np.average(v, weights=w)))
    units = np.count_nonzero(np.bincount(unit))
    return float(units / (units - 1) * (sums @ sums) / w.sum() ** 2)


def nested_error(
    outer: Array, inner: Array, fold: Array, w: Array, unit: Array
) -> tuple[float, float, float]:
    """The standard error, the naive one and the bias; see :func:`estimate_performance`. Losses:
    ``outer`` (R, n) by models without the row's fold; ``inner`` (R, K, n) without fold k too."""
    R, K, _ = inner.shape
    naive = float(np.mean([variance_of_mean(v, w, unit) for v in outer]))
    shift, excess = np.empty((2, R, K))
    for r, k in np.ndindex(R, K):
        rest = fold[r] != k
        e_out = np.average(outer[r, ~rest], weights=w[~rest])
        e_cv = np.average(outer[r, rest], weights=w[rest])
        e_in = np.average(inner[r, k, rest], weights=w[rest])
        shift[r, k] = e_in - e_cv
        excess[r, k] = (e_in - e_out) ** 2 - (e_cv - e_out) ** 2
    d = shift.mean()
    bias = (K - 2) / K * d
    repeats = np.average(outer, axis=1, weights=w)
    square = naive + (K - 1) / K * (excess.mean() - d**2)
    square += bias**2 - (1 - 1 / R) * repeats.var(ddof=1)
    return float(np.sqrt(np.clip(square, naive, K * naive))), float(np.sqrt(naive)), float(bias)


def _summary(rows: _Design, judged: _Judged, level: float) -> PerformanceEstimate:
    error, naive, bias = nested_error(judged.outer, judged.inner, rows.fold, rows.w, rows.unit)
    estimate = float(judged.score.mean())
    return PerformanceEstimate(
        metric=str(getattr(rows.metric, "name", getattr(rows.metric, "__name__", "metric"))),
        greater_is_better=is_greater_better(rows.metric), estimate=estimate, standard_error=error,
        interval=normal_interval(estimate, error, level), confidence_level=level,
        naive_error=naive, bias=bias, fold_scores=judged.fold_scores,
    )  # fmt: skip


def normal_interval(centre: float, error: float, level: float) -> tuple[float, float]:
    half = float(ndtri((1 + level) / 2)) * error
    return centre - half, centre + half
