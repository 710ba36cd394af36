"""optimize_thresholds and apply_thresholds: the public functions."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from numpy.typing import ArrayLike

from gbdt_objectives import _checks, _names
from gbdt_objectives._checks import RandomState
from gbdt_objectives._order import in_order
from gbdt_objectives._parts import any_dask
from gbdt_objectives.metrics import ClassMetric
from gbdt_objectives.thresholds.labelled import Thresholds
from gbdt_objectives.thresholds.methods import (
    METHODS,
    Method,
    MetricArgument,
    Scored,
    check_needs_no_rows,
    resolve_labels,
    resolve_method,
    resolve_metric,
    warn_if_one_class,
)
from gbdt_objectives.thresholds.rows import read_scored_rows
from gbdt_objectives.thresholds.statistics import ThresholdStatistics


@_names.arguments(
    n_classes="write labels=range(n_classes)",
    y_pred="write score=",
    initial="leave it out, the best are found without",
    initial_coef="leave it out, the best are found without",
)
@in_order
def optimize_thresholds(
    y_true: ArrayLike,
    score: ArrayLike,
    *,
    method: Method | None = None,
    labels: ArrayLike | None = None,
    sample_weight: ArrayLike | None = None,
    target_prior: Mapping[Any, float] | None = None,
    metric: MetricArgument = "qwk",
    n_starts: int = 4,
    random_state: RandomState = 0,
) -> Thresholds:
    """Thresholds that turn a score into ordered classes, for the best value of a metric.

    For quadratic weighted kappa, kappa = 1-R, with mu the mean class position::

        class of a row = number of c in 1..K-1 with m(score) >= t_c
        t_c = (c - 1/2)(1-R) + R mu

    "exact": m is the isotonic fit of the class on the score, and R is iterated from 1
    (Dinkelbach): the global maximum over all threshold vectors, in one sort and one
    isotonic regression. "plugin": m = alpha + beta score, kept within 0..K-1, by least
    squares, so that the thresholds (t_c - alpha)/beta are equally spaced and R is all
    that is left to fit: it generalises better, above all from few rows. "curved": the line,
    unless a natural spline in the normal scores (the normal quantiles of the ranks), made to
    rise, has a smaller squared error on held-out folds, by more than a standard error; then
    the same with the spline for m, which needs no score that is linear in E[y].
    "nelder-mead": the usual search. "rounding": the nearest label.

    Dask Series or Arrays are taken too, by "plugin" and "exact": the result is that of arrays if
    there are at most 131,072 distinct scores. With more, neighbours share a bin, at a cost in QWK
    that ``qwk_loss_bound()`` of :meth:`ThresholdStatistics.of` bounds.

    Parameters
    ----------
    y_true : array-like of shape (n,)
        Classes.
    score : array-like of shape (n,)
        Finite, on any scale, rising with the class; out-of-fold, for honest results.
        "plugin" needs scores that are roughly linear in E[y] between the lowest and the
        highest class, and may do anything beyond; "exact" looks at their order only.
    method : {"plugin", "curved", "exact", "nelder-mead", "rounding"}, optional
        None: "plugin" for QWK, "exact" for the other metrics, "nelder-mead" for
        functions. "plugin" and "curved" are for QWK only; the folds of "curved" are random,
        with a fixed seed. "exact" solves every metric but a function:
        those other than QWK by a dynamic program over all cuts, with Dinkelbach's
        iteration for ratios, O(n K) in time and memory; "matthews" by looking at every cut
        between two classes (of more, use "nelder-mead"). "nelder-mead" accepts everything
        and guarantees nothing. "rounding" needs labels that are rising numbers, and
        scores in their units.
    labels : array-like of shape (K,), optional
        All classes in ascending order, of any type; their positions count, so
        neighbours are 1 apart. None: those of the metric's ``label_range``, else the order
        of a pandas Categorical that has one, else the integers from min to max of
        ``y_true``.
    sample_weight : array-like of shape (n,), optional
        Weights >= 0; w means the same as w copies of the row, 0 that there is none.
    target_prior : mapping of label to probability, optional
        The label distribution where the thresholds will be used, if it differs: the
        rows are reweighted so that their label frequencies equal it.
    metric : str, Metric or callable
        "qwk", "linear", "kappa", "accuracy", "mae", "macro_recall", "matthews", "f1",
        "youden";
        ``qwk_metric()``, ``cost_metric(matrix)``, ``kappa_cost_metric(matrix)``,
        ``f_beta_metric(beta)``, without thresholds of their own; or a function
        ``metric(y_true, y_pred, sample_weight) -> float`` of labels, greater is better
        (``sample_weight`` is None without weights; nan counts as worst).
    n_starts : int
        Runs of Nelder-Mead; the best one wins. The first starts midway between the
        labels, if they are numbers, as most people do; the second at the scores'
        quantiles of the label frequencies, the others at random quantiles.
    random_state : int, numpy Generator or RandomState, optional
        Of those random starts.

    Returns
    -------
    Thresholds, an ndarray of shape (K-1,)
        Sorted, float64, in score units, for :func:`apply_thresholds`: class k where
        ``thresholds[k-1] <= score < thresholds[k]``. Exact ones lie midway between the
        neighbouring scores; they are -inf or +inf with nothing on one side. Copies,
        pickles and arithmetic under which they stay in order keep the classes,
        ``thresholds.labels``; ``thresholds.tolist()`` is for JSON.

    Warns
    -----
    UserWarning
        If the best thresholds put every row into one class: equal scores, or scores
        that do not rise with the class.

    Raises
    ------
    ValueError
        A single class, fewer rows than classes, labels that are repeated or missing in
        ``labels``, NaN, bad weights or prior; scores that fall as the class rises
        ("plugin"); a metric that is not of classes, or that the method cannot optimise.
    TypeError
        Arguments of the wrong kind.

    References
    ----------
    Harrell (2015), Regression Modeling Strategies, section 2.4.5, for natural splines and
    their knots; Nadeau & Bengio (2003), Machine Learning 52, for the standard error of folds
    that share rows; Dinkelbach (1967), Management Science 13(7), for the ratio; Barlow et
    al. (1972), Statistical Inference under Order Restrictions, for the isotonic fit as the
    slopes of the cumulative curve's convex hull.

    Examples
    --------
    >>> from gbdt_objectives.thresholds import apply_thresholds, optimize_thresholds
    >>> y = [0, 0, 1, 1, 2, 2]
    >>> score = [0.1, 0.4, 0.3, 0.6, 0.7, 0.9]
    >>> optimize_thresholds(y, score, method="exact").round(3)
    Thresholds([0.5, 0.65], labels=[0, 1, 2])
    >>> optimize_thresholds(y, score).round(3)
    Thresholds([0.558, 0.642], labels=[0, 1, 2])
    >>> grade = ["low", "low", "mid", "mid", "high", "high"]
    >>> thresholds = optimize_thresholds(
    ...     grade, score, metric="accuracy", labels=["low", "mid", "high"]
    ... )
    >>> apply_thresholds(score, thresholds).tolist()
    ['low', 'mid', 'mid', 'mid', 'high', 'high']
    """
    target = resolve_metric(metric)
    chosen = resolve_method(method, target)
    search: dict[str, Any] = {
        "n_starts": _checks.whole_number("n_starts", n_starts, 1),
        "random_state": _checks.generator(random_state),
    }
    order = resolve_labels(labels, target)
    rows: Scored
    if any_dask({"y_true": y_true, "score": score, "sample_weight": sample_weight}):
        check_needs_no_rows(chosen, target)
        statistics = ThresholdStatistics.of(
            y_true, score, labels=order, sample_weight=sample_weight
        )
        rows = statistics.bins(target_prior)
    else:
        of_function = not isinstance(target, ClassMetric)
        rows = read_scored_rows(
            y_true, score, order, sample_weight, target_prior, keep_order=of_function
        )
    found = METHODS[chosen](rows, target, **(search if chosen == "nelder-mead" else {}))
    warn_if_one_class(found, rows.labels)
    return Thresholds(found, rows.labels)
