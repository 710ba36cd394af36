"""decide: the classes of most utility, from class probabilities."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from gbdt_objectives import _checks
from gbdt_objectives._checks import Array, shown, warn
from gbdt_objectives._checks.mistakes import class_keys
from gbdt_objectives._steps.formulas import affine
from gbdt_objectives.metrics import ClassMetric, RatioMetric, ShareMetric
from gbdt_objectives.thresholds.dynamic_program import LAST_DIGITS, least_ratio
from gbdt_objectives.thresholds.methods import MetricArgument, resolve_labels, resolve_metric

Decidable = RatioMetric | ShareMetric

STARTS = (0.0, 0.5, 1.0, 2.0)  # classes weigh prior^-power: 0 is accuracy, 1 balanced accuracy
FULL_STEPS, STEPS = 2, 60  # of the fixed point from each start
SETTLED = 1e-3  # shares this near to their fixed point: their value differs by the square of it


def decide(
    probability: ArrayLike,
    metric: MetricArgument = "qwk",
    *,
    labels: ArrayLike | None = None,
    sample_weight: ArrayLike | None = None,
) -> Array:
    """The class of each row that is best for a metric, given class probabilities.

    Use it where a model predicts the probability of each class; for a model of one score use
    :func:`optimize_thresholds`. With C the costs of the metric, [true, predicted], the class of row
    i is ::

        argmin_c sum_j P_ij C_jc                  a mean cost, accuracy, ...
        argmin_c sum_j P_ij (F_jc - R G_jc)       a ratio: kappas, F-beta

    where R = sum F / sum G of all rows is iterated until it stops falling (Dinkelbach): no other
    classes have a better metric of their expected confusion counts. That of the counts themselves
    is close where there are many rows.

    "macro_f1", "g_mean" and "matthews" are no ratios. Their best classes are ::

        argmax_k a_k P_ik - c_k

    where a and c are the slopes of the metric at the expected counts of these very classes: a fixed
    point, searched from four starts. For Matthews' coefficient, which has local optima, the best is
    not always found.

    Parameters
    ----------
    probability : array-like of shape (n, K)
        Calibrated, a column per class in ascending order.
    metric : str or Metric
        As in ``optimize_thresholds``, but no functions.
    labels : array-like of shape (K,), optional
        The classes in ascending order. None: those of the metric's ``label_range``, else 0..K-1.
    sample_weight : array-like of shape (n,), optional
        w means the same as w copies of the row.

    Returns
    -------
    ndarray of shape (n,)
        Labels. Except for mean costs the class of a row depends on the other rows: decide on all at
        once, or by a rule of :func:`optimize_decisions`.

    Raises
    ------
    ValueError
        Probabilities that are none, rows that do not sum to 1, labels that are not K, a metric that
        is a function or of another number of classes.

    References
    ----------
    Elkan (2001), "The foundations of cost-sensitive learning", IJCAI, for costs; Dinkelbach (1967),
    Management Science 13(7), for the ratio.

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
    target = resolve_decidable(metric)
    P, order, w = read_columns(probability, labels, sample_weight, target)
    if isinstance(target, ShareMetric):
        return order[choose(P, *best_shares(P, w, target))]
    return order[best_ratio(P, w, target)]


def read_columns(
    probability: ArrayLike, labels: ArrayLike | None, sample_weight: ArrayLike | None,
    target: Decidable,
) -> tuple[Array, Array, Array | None]:  # fmt: skip
    """Checked probabilities (n, K), the class of each column and the weights."""
    P = _checks.probabilities("probability", probability)
    if P.ndim == 1:
        raise ValueError(
            f"probability must be (n, K), a column per class, found shape {P.shape}: for two "
            "classes pass numpy.column_stack([1 - p, p])"
        )
    order = resolve_columns(probability, labels, P.shape[1], target)
    return P, order, _checks.weights("sample_weight", sample_weight, len(P))


def best_ratio(P: Array, w: Array | None, target: RatioMetric) -> Array:
    """The decisions of the best ratio of expected counts, as positions (n,)."""
    return least_ratio(
        P.sum(axis=0) if w is None else w @ P,
        target,
        solve=lambda costs: (P @ costs).argmin(axis=1),
        counts=lambda chosen: expected_counts(P, w, chosen),
        single=lambda k: np.full(len(P), k),
    )


def expected_counts(P: Array, w: Array | None, chosen: Array) -> Array:
    """Weights [true, predicted] that are expected of decisions."""
    decided = np.eye(P.shape[1])[chosen]
    return np.asarray(P.T @ (decided if w is None else decided * w[:, None]))


def choose(P: Array, a: Array, c: Array) -> Array:
    """The positions of the greatest a_k P_ik - c_k, (n,)."""
    return np.asarray(affine(P, a, c).argmax(axis=1))


def best_shares(P: Array, w: Array | None, target: ShareMetric) -> tuple[Array, Array]:
    """The a and c of the best decisions found. A step goes from expected shares to the slopes
    there, to decisions by these, and on to their shares. Full steps come first, shorter ones follow
    (Frank and Wolfe): the shares on the way are averages, so only those of decisions are judged."""
    n, K = P.shape
    v = np.full(n, 1 / n) if w is None else w / w.sum()
    true = v @ P
    occurs = true > 0
    best, found = -np.inf, (np.ones(K), np.zeros(K))

    def judge(a: Array, c: Array) -> Array:
        nonlocal best, found
        chosen = choose(P, a, c)
        hit = np.bincount(chosen, v * P[np.arange(n), chosen], K)
        predicted = np.bincount(chosen, v, K)
        value = float(target.of_shares(hit, predicted, true))
        if value > best + LAST_DIGITS:
            best, found = value, (a, c)
        return np.stack([hit, predicted])

    for power in STARTS:
        at = judge(np.where(occurs, true, np.inf) ** -power, np.where(occurs, 0.0, 1.0))
        for step in range(STEPS):
            hit, predicted = at[:, occurs]
            slopes = target.slopes(hit, predicted, true[occurs])
            a, c = np.zeros(K), np.full(K, slopes[1].max() + 1)  # worse than any class that occurs
            a[occurs], c[occurs] = slopes
            new = judge(a, c)
            if np.abs(new - at).max() < SETTLED:
                break
            at = at + (1 if step < FULL_STEPS else 2 / (step + 2)) * (new - at)
    return found


def resolve_decidable(metric: MetricArgument) -> Decidable:
    """The metric argument, if it is known which decisions are best for it."""
    target = resolve_metric(metric)
    if not isinstance(target, ClassMetric):
        raise ValueError(
            "metric is a function, whose costs are unknown: pass a metric of "
            "gbdt_objectives.metrics, such as 'mae' or cost_metric(matrix)"
        )
    if not isinstance(target, Decidable):
        raise ValueError(
            f"metric {target.name!r} is neither a RatioMetric nor a ShareMetric, and nothing else "
            "says which decisions are best: pass one that is, such as 'kappa' or 'macro_f1'"
        )
    return target


def resolve_columns(
    probability: ArrayLike, labels: ArrayLike | None, K: int, target: Decidable
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
