"""optimize_thresholds: thresholds of any method for any metric."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from numpy.typing import ArrayLike

from gbdt_objectives import _checks
from gbdt_objectives._checks import RandomState
from gbdt_objectives._rows.parts import any_dask
from gbdt_objectives.metrics import ClassMetric
from gbdt_objectives.thresholds import methods
from gbdt_objectives.thresholds.constraints import find_within_limits, read_limits, read_rate
from gbdt_objectives.thresholds.methods import Method, MetricArgument, Scored
from gbdt_objectives.thresholds.rows import Thresholds, read_scored_rows
from gbdt_objectives.thresholds.statistics import ThresholdStatistics


def optimize_thresholds(
    y_true: ArrayLike, score: ArrayLike, *, method: Method | None = None,
    labels: ArrayLike | None = None, sample_weight: ArrayLike | None = None,
    counts: ArrayLike | None = None, target_prior: Mapping[Any, float] | None = None,
    metric: MetricArgument = "qwk", constraints: Mapping[Any, float] | None = None,
    negative_keep_rate: float | None = None, confidence_level: float | None = None,
    groups: ArrayLike | None = None, n_starts: int = 4, random_state: RandomState = 0,
) -> Thresholds:  # fmt: skip
    """Thresholds that turn a score into ordered classes, for the best value of a metric.

    Use it on out-of-fold scores, and :func:`apply_thresholds` on new ones. For quadratic weighted
    kappa, kappa = 1-R, with mu the mean class position and m an estimate of
    E[y|score] that rises with the score::

        class of a row = number of c in 1..K-1 with m(score) >= t_c,   t_c = (c - 1/2)(1-R) + R mu

    The methods differ in m (``docs/theory/thresholds.md``). "plugin" and "exact" take Dask Series
    or Arrays too: exactly up to 131,072 distinct scores; with more, neighbours share a bin, at a
    cost in QWK that ``qwk_loss_bound()`` of :meth:`ThresholdStatistics.of` bounds.

    Parameters
    ----------
    y_true, score : array-like of shape (n,)
        Classes, and finite numbers on any scale, rising with the class; out-of-fold, to be honest.
    method : {"plugin", "curved", "exact", "nelder-mead", "rounding"}, optional
        None: "plugin" for QWK, "exact" for other metrics of classes, "nelder-mead" for functions.

        - "plugin" (QWK): m is a line, so thresholds are equally spaced. It generalises best where
          E[y] is roughly linear in the score, above all from few rows.
        - "curved" (QWK): a spline instead of the line, if it predicts better.
        - "exact": the global optimum on these rows, of any metric but a function; of "matthews",
          "macro_f1" and "g_mean" for two classes only. Only the order of the scores matters.
        - "nelder-mead": the usual search, which takes everything and guarantees nothing. For a
          function of two classes up to 2,000 cuts are tried instead, a grid of more.
        - "rounding": the nearest label, for labels that are rising numbers in units of the score.
    labels : array-like of shape (K,), optional
        All classes in ascending order, of any type. None: those of the metric's ``label_range``,
        else the order of a pandas Categorical, else the integers from min to max of ``y_true``.
    sample_weight : array-like of shape (n,), optional
        Weights >= 0; w means w copies of the row, but ``confidence_level`` counts it once.
    counts : array-like of shape (n,), optional
        Whole numbers >= 0: how many identical rows a row stands for, as in a GROUP BY.
    target_prior : mapping of label to probability, optional
        The label distribution where the thresholds will be used, if it differs.
    metric : str, Metric or callable
        A name that :func:`threshold_metric` knows; a metric of classes without thresholds of its
        own, such as ``cost_metric(matrix)``; or a function ``metric(y_true, y_pred, sample_weight)
        -> float`` of labels, greater is better, nan worst (``sample_weight`` may be None).
    constraints : mapping of metric to bound, optional
        For two classes, of which the second is the positive one: ``{"precision": 0.9, "alert_rate":
        0.002}`` keeps precision >= 0.9 and alerts for at most 2 rows in 1,000, at the best
        ``metric``, and of equally good thresholds the fewest alerts. A bound is the least value, or
        the greatest if smaller is better. On new rows it is violated about half the time
        (``docs/constraints.md``): see ``confidence_level``.
    negative_keep_rate : float in (0, 1], optional
        Rate at which negatives, the first of two classes, were kept: metrics are then of all rows.
    confidence_level : float in (0, 1), optional
        Probability over the draw of these rows that new rows keep all bounds, of "precision",
        "recall", "false_positive_rate" and "alert_rate"; exact for rows that are drawn one by one,
        approximate for weights and groups. The rows must be new to the model whose scores these
        are: neither its training rows nor out-of-fold scores, which are of other models.
    groups : array-like of shape (n,), optional
        With ``confidence_level``: the user or session of each row, 30 or more, if outcomes depend.
    n_starts, random_state
        How many runs of Nelder-Mead there are (the best counts): midway between the labels, at the
        scores' quantiles of the label frequencies, then at random quantiles, with this seed.

    Returns
    -------
    Thresholds, an array of shape (K-1,)
        Sorted, in score units, with ``labels``. Exact ones lie midway between neighbouring scores,
        or are infinite with nothing on one side; with ``confidence_level`` just above the lower.

    Warns
    -----
    UserWarning
        If every row gets the same class, or QWK is not above 0 on these rows: where exact
        thresholds do better than that, all methods but "rounding" give them.

    Raises
    ------
    ValueError, TypeError
        A single class, fewer rows than classes, bad labels, scores, weights or prior; scores with
        which no line of the class rises ("plugin", "curved"); a metric not of classes, or beyond
        the method; constraints that cannot be kept, with the best value there is, or how many rows
        more a guarantee needs.

    References
    ----------
    Dinkelbach (1967), Management Science 13(7), for ratios; Barlow et al. (1972), Statistical
    Inference under Order Restrictions, for isotonic fits; Tong, Feng & Li (2018), Science Advances
    4(2), and Angelopoulos et al. (2025), Annals of Applied Statistics 19(2), for guarantees.

    Examples
    --------
    >>> from gbdt_objectives.thresholds import optimize_thresholds
    >>> y, score = [0, 0, 1, 1, 2, 2], [0.1, 0.4, 0.3, 0.6, 0.7, 0.9]
    >>> optimize_thresholds(y, score).round(3)
    Thresholds([0.558, 0.642], labels=[0, 1, 2])
    >>> y, score = [0, 0, 1, 0, 1, 1], [0.1, 0.2, 0.3, 0.4, 0.5, 0.6]
    >>> optimize_thresholds(y, score, metric="recall", constraints={"precision": 0.75}).round(2)
    Thresholds([0.25], labels=[0, 1])
    """
    target = methods.resolve_metric(metric)
    r = read_rate(negative_keep_rate, target_prior, confidence_level)
    limits = read_limits(constraints, confidence_level, groups, method, target, r)
    chosen = "exact" if limits else methods.resolve_method(method, target)
    search: dict[str, Any] = {
        "n_starts": _checks.whole_number("n_starts", n_starts, 1),
        "random_state": _checks.generator(random_state),
    }
    order = methods.resolve_labels(labels, target)
    columns: dict[str, Any] = {
        "y_true": y_true, "score": score, "sample_weight": sample_weight, "counts": counts,
    }  # fmt: skip
    rows: Scored
    owner = None
    if any_dask(columns):
        methods.check_needs_no_rows(chosen, target)
        if groups is not None:
            raise ValueError("groups need the rows of all partitions at once: leave groups out")
        rows = ThresholdStatistics.of(**columns, labels=order).bins(target_prior)
    else:
        keep_order = not isinstance(target, ClassMetric) or groups is not None
        rows = read_scored_rows(
            **columns, labels=order, target_prior=target_prior, keep_order=keep_order
        )
        if groups is not None:
            assert rows.order is not None
            own = _checks.group_numbers(groups, len(_checks.as_array("y_true", y_true)))
            owner = _checks.check_groups("groups", own[rows.order])
    return find_within_limits(
        chosen, rows, target, limits, r, owner, **(search if chosen == "nelder-mead" else {})
    )
