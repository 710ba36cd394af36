"""decide: the classes of most utility, from class probabilities."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from gbdt_objectives import _checks
from gbdt_objectives._checks import Array, shown, warn
from gbdt_objectives._checks.mistakes import class_keys
from gbdt_objectives.metrics import ClassMetric, RatioMetric
from gbdt_objectives.thresholds.dynamic_program import least_ratio
from gbdt_objectives.thresholds.methods import MetricArgument, resolve_labels, resolve_metric


def decide(
    probability: ArrayLike,
    metric: MetricArgument = "qwk",
    *,
    labels: ArrayLike | None = None,
    sample_weight: ArrayLike | None = None,
) -> Array:
    """The class of each row that is best for a metric, given class probabilities.

    Use it where a model predicts the probability of each class; for a model of one score use
    :func:`optimize_thresholds`.

    With C the costs of the metric, [true, predicted], the class of row i is ::

        argmin_c sum_j P_ij C_jc                  a mean cost, accuracy, ...
        argmin_c sum_j P_ij (F_jc - R G_jc)       a ratio: kappas, F-beta

    where R = sum F / sum G of all rows is iterated until it stops falling (Dinkelbach): no
    other classes have a better metric of their expected confusion counts. That of the counts
    themselves is close where there are many rows. Classes of a row need not follow one score,
    as with thresholds.

    Parameters
    ----------
    probability : array-like of shape (n, K)
        Calibrated, a column per class in ascending order.
    metric : str or Metric
        As in ``optimize_thresholds``, but no functions, and not "matthews".
    labels : array-like of shape (K,), optional
        The classes in ascending order. None: those of the metric's ``label_range``, else
        0..K-1.
    sample_weight : array-like of shape (n,), optional
        w means the same as w copies of the row.

    Returns
    -------
    ndarray of shape (n,)
        Labels. For a ratio the class of a row depends on the other rows: decide on all of
        them at once.

    Raises
    ------
    ValueError
        Probabilities that are none, rows that do not sum to 1, labels that are not K, a
        metric that is a function or of another number of classes.

    References
    ----------
    Elkan (2001), "The foundations of cost-sensitive learning", IJCAI, for costs; Dinkelbach
    (1967), Management Science 13(7), for the ratio.

    Examples
    --------
    >>> import numpy as np
    >>> from gbdt_objectives import decide
    >>> from gbdt_objectives.metrics import cost_metric
    >>> P = np.array([[0.6, 0.3, 0.1], [0.4, 0.3, 0.3], [0.1, 0.2, 0.7]])
    >>> decide(P, "accuracy")
    array([0, 0, 2])
    >>> decide(P)
    array([0, 1, 2])
    >>> decide(P, cost_metric([[0, 1, 1], [1, 0, 1], [4, 4, 0]]), labels=["a", "b", "c"]).tolist()
    ['a', 'c', 'c']
    """
    target = resolve_ratio(metric)
    P = _checks.probabilities("probability", probability)
    if P.ndim == 1:
        raise ValueError(
            f"probability must be (n, K), a column per class, found shape {P.shape}: for two "
            "classes pass numpy.column_stack([1 - p, p])"
        )
    n, K = P.shape
    order = resolve_columns(probability, labels, K, target)
    w = _checks.weights("sample_weight", sample_weight, n)

    def expected_counts(c: Array) -> Array:
        chosen = np.eye(K)[c]  # (n, K): [true, predicted] weights in one product
        return P.T @ (chosen if w is None else chosen * w[:, None])

    best = least_ratio(
        P.sum(axis=0) if w is None else w @ P,
        target,
        solve=lambda costs: (P @ costs).argmin(axis=1),
        counts=expected_counts,
        single=lambda k: np.full(n, k),
    )
    return order[best]


def resolve_ratio(metric: MetricArgument) -> RatioMetric:
    """The metric argument, if it is a ratio of sums over rows."""
    target = resolve_metric(metric)
    if not isinstance(target, ClassMetric):
        raise ValueError(
            "metric is a function, whose costs are unknown: pass a metric of "
            "gbdt_objectives.metrics, such as 'mae' or cost_metric(matrix)"
        )
    if not isinstance(target, RatioMetric):
        raise ValueError(
            f"metric {target.name!r} is no ratio of sums over rows: pass one that is, such as "
            "'kappa' or 'macro_recall'"
        )
    return target


def resolve_columns(
    probability: ArrayLike, labels: ArrayLike | None, K: int, target: RatioMetric
) -> Array:
    """The class of each of K columns, in order."""
    order = resolve_labels(labels, target, name="put columns of probability in order too: labels=")
    names = getattr(probability, "columns", None)
    if order is None and names is not None and class_keys(names) != list(range(K)):
        warn(
            f"probability has columns named {shown(list(names))}, but without labels= the classes "
            f"are 0 to {K - 1}: pass labels=[...], the class of each column"
        )
    order = np.arange(K) if order is None else order
    if len(order) != K:
        raise ValueError(
            f"labels must be {K} classes for {K} columns of probability, found {len(order)}: "
            f"{shown(order.tolist())}"
        )
    return np.asarray(order)
