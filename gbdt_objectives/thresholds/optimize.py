"""optimize_thresholds and apply_thresholds: the public functions."""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable, Mapping
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike

from gbdt_objectives import _checks
from gbdt_objectives._checks import Array, shown, sorted_thresholds
from gbdt_objectives.thresholds.curve import (
    ClassCurve,
    LabelCurve,
    class_curve,
    cut_to_threshold,
    label_curve,
)
from gbdt_objectives.thresholds.labelled import Thresholds, threshold_labels
from gbdt_objectives.thresholds.metrics import QWK, ThresholdMetric, threshold_metric
from gbdt_objectives.thresholds.program import optimal_cuts
from gbdt_objectives.thresholds.quadratic import (
    bounded_line,
    exact_cuts,
    middle_line,
    moments,
    one_class,
    plugin_thresholds,
    straight_line,
)
from gbdt_objectives.thresholds.rows import checked_rows
from gbdt_objectives.thresholds.search import searched_thresholds

Method = Literal["exact", "plugin", "nelder-mead"]


def optimize_thresholds(
    y_true: ArrayLike,
    score: ArrayLike,
    *,
    method: Method = "plugin",
    labels: ArrayLike | None = None,
    sample_weight: ArrayLike | None = None,
    target_prior: Mapping[Any, float] | None = None,
    metric: str | ThresholdMetric | Callable[..., Any] = "qwk",
    n_starts: int = 4,
    random_state: int = 0,
) -> Thresholds:
    """Thresholds that turn a score into ordered classes as well as a metric allows.

    For quadratic weighted kappa, kappa = 1-R, with mu the mean class position::

        class of a row = number of c in 1..K-1 with m(score) >= t_c
        t_c = (c - 1/2)(1-R) + R mu

    "exact": m is the isotonic fit of the class on the score, and R is iterated from 1
    (Dinkelbach): the global maximum over all threshold vectors, in one sort and one
    isotonic regression. "plugin": m = alpha + beta score, kept within 0..K-1, by least
    squares, so that the thresholds (t_c - alpha)/beta are equally spaced and R is the
    only thing fitted: it generalises better, most of all on few rows. "nelder-mead":
    the usual search.

    Parameters
    ----------
    y_true : array-like of shape (n,)
        Classes.
    score : array-like of shape (n,)
        Finite, on any scale, rising with the class. For honest results out-of-fold.
        "plugin" needs scores that are about a straight line in E[y] between the lowest
        and the highest class, and anything beyond; "exact" looks at the order only.
    method : {"plugin", "exact", "nelder-mead"}
        "plugin" is for ``metric="qwk"``. "exact" solves every metric but a function:
        the others by a dynamic program over all cuts, with Dinkelbach's iteration for
        ratios, O(n K) in time and memory. "nelder-mead" takes everything and
        guarantees nothing.
    labels : array-like of shape (K,), optional
        All classes in order of grade, of any type; their positions count, so
        neighbours are 1 apart. None: the integers from min to max of ``y_true``.
    sample_weight : array-like of shape (n,), optional
        Weights >= 0; w means the same as w copies of the row, 0 as none.
    target_prior : mapping of label to probability, optional
        The label distribution where the thresholds will be used, if it differs: the
        rows are weighed so that (weighted) label frequencies equal it.
    metric : str, ThresholdMetric or callable
        "qwk", "linear", "kappa", "accuracy", "mae", "macro_recall", "youden";
        ``cost_metric(matrix)``, ``kappa_cost(matrix)``, ``f_beta(beta)``; or a
        function ``metric(y_true, y_pred, sample_weight) -> float``, greater is better,
        of labels (``sample_weight`` is None without weights; nan counts as worst),
        with "nelder-mead" only: the optimum is then not guaranteed.
    n_starts : int
        Runs of Nelder-Mead; the best one wins. The first starts midway between the
        labels, if they are numbers, and is what most people run; then come the scores'
        quantiles at the label frequencies, then random quantiles.
    random_state : int
        Seed of those random starts.

    Returns
    -------
    Thresholds, an ndarray of shape (K-1,)
        Sorted, float64, in score units, for :func:`apply_thresholds`: class k where
        ``thresholds[k-1] <= score < thresholds[k]``. Exact ones lie midway between the
        neighbouring scores; -inf or +inf with nothing on one side. They carry the
        classes, ``thresholds.labels``, through copies, pickles and arithmetic that keeps
        their number; ``thresholds.tolist()`` is for JSON.

    Warns
    -----
    UserWarning
        If the best that can be done is one class for every row: equal scores, or
        scores that do not rise with the class.

    Raises
    ------
    ValueError
        One class only, fewer rows than classes, labels given twice or missing in
        ``labels``, NaN, bad weights or prior; scores that fall as the class rises
        ("plugin"); a method that cannot do the metric.
    TypeError
        Arguments of the wrong kind.

    References
    ----------
    Dinkelbach (1967), Management Science 13(7), for the ratio; Barlow et al. (1972),
    Statistical Inference under Order Restrictions, for the isotonic fit as the slopes
    of the cumulative curve's convex hull.

    Examples
    --------
    >>> from gbdt_objectives.thresholds import apply_thresholds, optimize_thresholds
    >>> y = [0, 0, 1, 1, 2, 2]
    >>> score = [0.1, 0.4, 0.3, 0.6, 0.7, 0.9]
    >>> optimize_thresholds(y, score, method="exact").round(3)
    array([0.5 , 0.65])
    >>> optimize_thresholds(y, score).round(3)
    array([0.558, 0.642])
    >>> grade = ["low", "low", "mid", "mid", "high", "high"]
    >>> thresholds = optimize_thresholds(
    ...     grade, score, method="exact", metric="accuracy", labels=["low", "mid", "high"]
    ... )
    >>> apply_thresholds(score, thresholds).tolist()
    ['low', 'mid', 'mid', 'mid', 'high', 'high']
    """
    _checks.choice("method", method, ("exact", "plugin", "nelder-mead"))
    known = checked_metric(metric, method)
    n_starts = _checks.whole_number("n_starts", n_starts, 1)
    random_state = _checks.whole_number("random_state", random_state, 0)
    rows = checked_rows(y_true, score, labels, sample_weight, target_prior)
    if known is None or method == "nelder-mead":
        searched: Any = metric if known is None else known
        found = searched_thresholds(rows, searched, n_starts, random_state)
    elif known != QWK:
        found = best_thresholds(class_curve(rows), known, rows.labels)
    elif method == "exact":
        found = best_qwk_thresholds(label_curve(rows), rows.labels)
    else:
        found = plugin(label_curve(rows), rows.labels)
    return Thresholds(found, rows.labels)


def checked_metric(
    metric: str | ThresholdMetric | Callable[..., Any], method: str
) -> ThresholdMetric | None:
    """The metric, None for a function, if the method can do it."""
    if isinstance(metric, str | ThresholdMetric):
        known = threshold_metric(metric)
        if method == "plugin" and known != QWK:
            raise ValueError(
                f"method='plugin' is for metric='qwk' only, found {shown(metric)}: pass "
                "method='exact'"
            )
        return known
    if not callable(metric):
        raise TypeError(
            f"metric must be a name, a ThresholdMetric or a function, found {shown(metric)}: for "
            "a matrix of costs use cost_metric(matrix) or kappa_cost(matrix)"
        )
    if method != "nelder-mead":
        raise ValueError(
            f"metric is a function, and method={method!r} cannot optimise one: pass "
            "method='nelder-mead', or a metric of gbdt_objectives.thresholds"
        )
    return None


def best_thresholds(curve: ClassCurve, metric: ThresholdMetric, labels: Array) -> Array:
    """Exact thresholds for a known metric."""
    thresholds = cut_to_threshold(curve.low, curve.high, optimal_cuts(curve.C, metric))
    return warned(thresholds, labels)


def best_qwk_thresholds(curve: LabelCurve, labels: Array) -> Array:
    """Exact thresholds for QWK."""
    return warned(cut_to_threshold(curve.low, curve.high, exact_cuts(curve)), labels)


def plugin(curve: LabelCurve, labels: Array) -> Array:
    """Plug-in thresholds."""
    low, high = float(curve.score[0]), float(curve.score[-1])
    if low == high:
        return warned(cut_to_threshold(curve.low, curve.high, one_class(curve)), labels)
    spread = high - low
    if not math.isfinite(spread):
        raise ValueError(
            f"score ranges from {low} to {high}, more than a float64 holds: divide it by 2"
        )
    line = straight_line(curve, spread, 0, len(curve.score))
    starts = [line, *middle_line(curve, spread)]
    correlation = line.beta * math.sqrt(line.var / moments(curve)[1])
    if not any(start.rises for start in starts):
        raise ValueError(
            f"score falls as the class rises (correlation {correlation:.3g}): if low scores mean "
            "high classes pass -score, otherwise use method='exact'"
        )
    R = min(max(0.0, 1 - correlation), 1.0)  # the best R of continuous predictions
    bounded = bounded_line(curve, [start for start in starts if start.rises])
    return warned(plugin_thresholds(curve, bounded, R), labels)


def warned(thresholds: Array, labels: Array) -> Array:
    """The thresholds, with a warning if they put every row into one class."""
    if not np.isfinite(thresholds).any():
        only = labels[int((thresholds < 0).sum())]
        warnings.warn(
            f"every row gets the class {only}: the scores are all equal, or no thresholds on them "
            "do better; if low scores mean high classes pass -score",
            UserWarning,
            stacklevel=4,
        )
    return thresholds


def apply_thresholds(
    score: ArrayLike, thresholds: ArrayLike, labels: ArrayLike | None = None
) -> Array:
    """Ordered classes of scores.

    ::

        class k where thresholds[k-1] <= score < thresholds[k]

    Parameters
    ----------
    score : array-like of shape (n,)
        Finite numbers, in the units of the thresholds.
    thresholds : array-like of shape (K-1,)
        Sorted; equal ones leave a class empty, -inf and +inf are allowed.
    labels : array-like of shape (K,), optional
        The classes in order of grade; ``range(K)`` for class positions. None: those that
        the thresholds of :func:`optimize_thresholds` carry. Numbers read from JSON and
        means of several thresholds carry none.

    Returns
    -------
    ndarray of shape (n,)
        ``labels[k]``.

    Raises
    ------
    ValueError
        Thresholds that are not sorted or NaN; labels that are not K, given twice, not
        those that the thresholds carry, or missing; NaN scores.

    Examples
    --------
    >>> from gbdt_objectives.thresholds import apply_thresholds, optimize_thresholds
    >>> y = [1, 1, 2, 2, 3, 3]
    >>> score = [0.1, 0.4, 0.3, 0.6, 0.7, 0.9]
    >>> apply_thresholds(score, optimize_thresholds(y, score))
    array([1, 1, 1, 2, 3, 3])
    >>> apply_thresholds([0.2, 0.5, 2.0], [0.5, 1.5], labels=["low", "mid", "high"]).tolist()
    ['low', 'mid', 'high']
    >>> apply_thresholds([0.2, 0.5, 2.0], [0.5, 1.5], labels=range(3))
    array([0, 1, 2])
    """
    s = _checks.vector("score", score)
    cuts = sorted_thresholds("thresholds", thresholds)
    order = threshold_labels(thresholds, labels, len(cuts) + 1)
    result: Array = order[np.searchsorted(cuts, s, side="right")]
    return result
