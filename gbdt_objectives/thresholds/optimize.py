"""optimize_thresholds: thresholds of any method for any metric."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike

from gbdt_objectives import _checks
from gbdt_objectives._checks import Array, RandomState, check_order, positions, shown
from gbdt_objectives._checks.asked import SAME_WEIGHT
from gbdt_objectives._public import public
from gbdt_objectives._rows.rows import any_dask, total
from gbdt_objectives.metrics import ClassMetric, f_beta_metric
from gbdt_objectives.thresholds import methods, rows as _rows
from gbdt_objectives.thresholds.constraints import find_within_limits, read_limits, read_rate
from gbdt_objectives.thresholds.methods import Method, MetricArgument, Scored
from gbdt_objectives.thresholds.qwk import exact_cuts, qwk_ratio
from gbdt_objectives.thresholds.rows import ScoredRows, Thresholds

BLOCK = 131_072  # rows that are sorted at a time for at most so many bins; bins of Dask collections


@public
@dataclass(frozen=True, eq=False)
class ThresholdStatistics:
    """All that thresholds need of the rows, as sums: add chunks, merge, then fit.

    Use them where the rows are read in chunks or are spread over machines. Start with
    :meth:`empty`, or with :meth:`of` if all rows are at hand. Every distinct score is kept, and the
    thresholds are those of ``optimize_thresholds`` on all rows at once. With ``max_bins`` memory is
    constant: with more distinct scores those whose float64 have the same leading bits share a bin,
    whatever the chunks or their order. With ``edges`` you choose the bins. Thresholds lie midway
    between neighbouring bins (with ``edges`` they are edges, where both bins have rows), so the
    classes they give are counted exactly; cuts inside a bin are missed, at a cost that
    :meth:`qwk_loss_bound` bounds. Plug-in thresholds replace scores by their bin's mean.

    Attributes
    ----------
    labels : ndarray of shape (K,)
        All classes in ascending order.
    edges : ndarray of shape (B,) or None
        Bin borders: bins are score < edges[0], edges[j-1] <= score < edges[j], score >= edges[B-1].
    max_bins, dropped_bits
        How many bins there are at most, and in how many of the last bits of a float64 the scores of
        one may differ; 0 if each bin is a distinct score.
    low, high, score : ndarray of shape (d,)
        The range of each bin (``edges``, or its lowest and highest score), and its mean score.
    sums : ndarray of shape (3, d, K) or (1, d, K)
        Weight, rows and squared weights of each bin and class; one of the three if all weigh 1.
    counts : ndarray of shape (d, K)
        The first of these, the weight.
    rows : int
        How many rows of weight above 0 were added, each as often as ``counts=`` said.

    Examples
    --------
    >>> from gbdt_objectives.thresholds import ThresholdStatistics
    >>> y, score = [0, 0, 1, 1, 2, 2], [0.1, 0.4, 0.3, 0.6, 0.7, 0.9]
    >>> statistics = ThresholdStatistics.empty([0, 1, 2], max_bins=131_072)
    >>> statistics = statistics.add(y[:3], score[:3]) + statistics.add(y[3:], score[3:])
    >>> statistics.thresholds(method="exact").round(3), len(statistics.counts)
    (Thresholds([0.5, 0.65], labels=[0, 1, 2]), 6)
    """

    labels: Array
    edges: Array | None
    max_bins: int | None
    dropped_bits: int
    low: Array
    high: Array
    score: Array
    sums: Array
    rows: int

    @property
    def counts(self) -> Array:
        return np.asarray(self.sums[0])

    @staticmethod
    def empty(
        labels: ArrayLike, *, edges: ArrayLike | None = None, max_bins: int | None = None
    ) -> ThresholdStatistics:
        """Statistics of no rows.

        Parameters
        ----------
        labels : array-like of shape (K,)
            All classes in ascending order.
        edges : array-like of shape (B,), optional
            Strictly rising bin borders, as quantiles of the first scores; beyond are two more bins.
        max_bins : int >= 2, optional
            Above so many distinct scores, neighbours share a bin. 131,072 take 1 to 3 MB a class.

        Raises
        ------
        ValueError
            Repeated labels, edges that do not rise or are not finite, edges and ``max_bins``.
        """
        order = check_order(labels).copy()
        low = high = np.empty(0)
        if max_bins is not None:
            max_bins = _checks.whole_number("max_bins", max_bins, 2)
        if edges is not None:
            if max_bins is not None:
                raise ValueError("edges and max_bins are both given: leave one of them out")
            edges = _checks.vector("edges", edges).astype(np.float64)
            if (np.diff(edges) <= 0).any():
                raise ValueError("edges must rise strictly: sort them and keep each once")
            low = np.concatenate(([-np.inf], edges))
            high = np.concatenate((edges, [np.inf]))
        score, sums = np.zeros(len(low)), np.zeros((1, len(low), len(order)))
        return ThresholdStatistics(order, edges, max_bins, 0, low, high, score, sums, rows=0)

    @staticmethod
    def of(
        y_true: ArrayLike, score: ArrayLike, *, labels: ArrayLike | None = None,
        sample_weight: ArrayLike | None = None, counts: ArrayLike | None = None,
        max_bins: int | None = None,
    ) -> ThresholdStatistics:  # fmt: skip
        """Statistics of rows that are all at hand, or in Dask Series or Arrays.

        Parameters
        ----------
        y_true, score, labels, sample_weight, counts
            As in ``optimize_thresholds``, whose errors are raised. Without ``labels`` Dask
            collections are read once more, for the lowest and the highest label.
        max_bins : int >= 2, optional
            As in :meth:`empty`. None: every distinct score of arrays, 131,072 of Dask collections.

        Examples
        --------
        >>> from gbdt_objectives.thresholds import ThresholdStatistics
        >>> statistics = ThresholdStatistics.of([0, 0, 1, 1], [0.1, 0.2, 0.4, 0.6])
        >>> statistics.thresholds(metric="accuracy").round(2), statistics.qwk_loss_bound()
        (Thresholds([0.3], labels=[0, 1]), 0.0)
        """
        columns = {
            "y_true": y_true, "score": score, "sample_weight": sample_weight, "counts": counts,
        }  # fmt: skip
        order = _rows.consecutive_labels(y_true) if labels is None else check_order(labels)
        if max_bins is None and any_dask(columns):
            max_bins = BLOCK
        found = total(ThresholdStatistics.empty(order, max_bins=max_bins).add, columns)
        _rows.check_enough_rows(found.rows, len(order))
        return found

    def add(
        self, y_true: ArrayLike, score: ArrayLike, sample_weight: ArrayLike | None = None,
        counts: ArrayLike | None = None,
    ) -> ThresholdStatistics:  # fmt: skip
        """These statistics and a chunk of rows: a new object.

        The arguments are those of ``optimize_thresholds``. A chunk without rows, or of weight 0,
        adds nothing. Other labels, infinite scores, bad weights or counts raise ValueError.
        """
        multiples = {"sample_weight": sample_weight, "counts": counts}
        columns = [y_true, score, *(x for x in multiples.values() if x is not None)]
        if all(np.shape(column) == (0,) for column in columns):
            return self
        s = _checks.vector("score", score).astype(np.float64)
        y = positions("y_true", y_true, self.labels)
        _checks.same_length("score", s, "the labels", len(y))
        _checks.no_labels("score", s, self.labels)
        for name, values in multiples.items():
            given = None if values is None else _checks.vector(name, values)
            if given is not None and len(given) == len(s) and not given.any():
                return self
        w = _checks.weights("sample_weight", sample_weight, len(s))
        c = _checks.counts("counts", counts, len(s))
        if w is not None and c is not None and not (w * c).any():
            return self
        total = _rows.weigh_copies(w, c)
        s, y, total, there = _rows.without_zero_weights(s, y, total)
        w, c = (x if x is None or there is None else x[there] for x in (w, c))
        terms = [total] if w is None else [total, c, total * w]
        if self.max_bins is None:
            return self + self._of_rows(s, y, terms)
        for rows in (slice(i, i + BLOCK) for i in range(0, len(s), BLOCK)):
            self += self._of_rows(s[rows], y[rows], [None if x is None else x[rows] for x in terms])
        return self

    def _of_rows(self, s: Array, y: Array, terms: list[Array | None]) -> ThresholdStatistics:
        """Statistics of rows of weight above 0, of what each adds to ``sums``, None: 1."""
        dropped_bits, low, high = self.dropped_bits, self.low, self.high
        if self.edges is None:
            ordered = np.sort(s)
            dropped_bits, first = find_bins(ordered, self.max_bins, dropped_bits)
            low, high = ordered[first], ordered[np.append(first[1:], len(s)) - 1]
            bin_ = np.searchsorted(low, s, side="right") - 1
        else:
            bin_ = np.searchsorted(self.edges, s, side="right")
        K = len(self.labels)
        sums = [_rows.weigh_classes(bin_ * K + y, x, len(low) * K).reshape(-1, K) for x in terms]
        share = (1.0 if terms[0] is None else terms[0]) / sums[0].sum(axis=1)[bin_]
        score = _rows.weigh_classes(bin_, share * s, len(low)).clip(low, high)
        found = replace(self, dropped_bits=dropped_bits, low=low, high=high)
        rows = int(sums[len(sums) // 2].sum())
        return replace(found, score=score, sums=np.array(sums), rows=rows)

    def __add__(self, other: ThresholdStatistics) -> ThresholdStatistics:
        if not isinstance(other, ThresholdStatistics):
            return NotImplemented
        a, b = self.labels.tolist(), other.labels.tolist()
        for name, x, y in (("labels", a, b), ("max_bins", self.max_bins, other.max_bins)):
            if x != y:
                raise ValueError(
                    f"statistics of {name} {shown(x)} and {shown(y)} do not add up: start both "
                    "with the same"
                )
        if not np.array_equal(self.edges, other.edges):  # type: ignore[arg-type]  # or None
            raise ValueError("statistics with different edges do not add up: start with the same")
        if self.edges is not None:
            a, b = self.counts.sum(axis=1), other.counts.sum(axis=1)
            weight = np.where(a + b > 0, a + b, 1)
            score = self.score * (a / weight) + other.score * (b / weight)
            score = score.clip(self.low, self.high)
            found = replace(self, score=score, sums=self.sums + other.sums)
        else:
            found = self._merged_bins(other)
        return replace(found, rows=self.rows + other.rows)

    def _merged_bins(self, other: ThresholdStatistics) -> ThresholdStatistics:
        """The bins of both, as wide as all of them together need to be."""
        low = np.concatenate([self.low, other.low])
        order = np.argsort(low, kind="stable")
        low = low[order]
        if not len(low):
            return self
        most = max(self.dropped_bits, other.dropped_bits)
        dropped_bits, first = find_bins(low, self.max_bins, most)
        kinds = max(len(self.sums), len(other.sums))
        parts = np.concatenate(
            [np.broadcast_to(x, (kinds, *x.shape[1:])) for x in (self.sums, other.sums)], axis=1
        )[:, order]
        sums = np.add.reduceat(parts, first, axis=1)
        low, high = low[first], np.concatenate([self.high, other.high])[order]
        high = np.maximum.reduceat(high, first)
        bin_ = np.repeat(np.arange(len(first)), np.diff(np.append(first, len(order))))
        share = parts[0].sum(axis=1) / sums[0].sum(axis=1)[bin_]
        score = np.concatenate([self.score, other.score])[order]
        score = np.add.reduceat(share * score, first).clip(low, high)
        return replace(self, dropped_bits=dropped_bits, low=low, high=high, score=score, sums=sums)

    def __radd__(self, other: object) -> ThresholdStatistics:
        """``sum`` starts at 0."""
        return self if isinstance(other, int) and other == 0 else NotImplemented

    def weighted_rows(self) -> tuple[Array, Array, Array]:
        """Labels, scores and weights of few rows that stand for all: one a bin and class.

        For any function that takes weights, where w means the same as w copies of the row:
        calibrators, reliability bins and diagrams, scikit-learn's metrics. Limits and p-values
        there are not those of the rows, as they count rows: see :meth:`counted_rows`.

        Returns
        -------
        y_true, score, sample_weight : ndarray of shape (m,)
            In ascending order of score, the mean of each bin; weights above 0.

        Examples
        --------
        >>> from gbdt_objectives.calibration import calibration_ratio
        >>> from gbdt_objectives.thresholds import ThresholdStatistics
        >>> statistics = ThresholdStatistics.of([0, 0, 1, 0, 1], [0.25, 0.25, 0.5, 0.5, 0.5])
        >>> y, p, w = statistics.weighted_rows()
        >>> p.tolist(), calibration_ratio(y, p, sample_weight=w)
        ([0.25, 0.5, 0.5], 1.0)
        """
        bin_, k = np.nonzero(self.counts)
        return self.labels[k], self.score[bin_], self.counts[bin_, k]

    def counted_rows(self) -> tuple[Array, Array, Array, Array]:
        """The rows of :meth:`weighted_rows` for functions that take counts: weights are of one row.

        Limits and p-values, too, are then of all rows, if those of a bin and class weigh the same.

        Returns
        -------
        y_true, score, sample_weight, counts : ndarray of shape (m,)
            The mean weight of the rows that each stands for, and how many these are.
        """
        y, score, weight = self.weighted_rows()
        counts = self.sums[len(self.sums) // 2][self.counts > 0]
        return y, score, weight / counts, counts.astype(np.int64)

    def thresholds(
        self, *, method: Literal["exact", "plugin"] | None = None,
        metric: str | ClassMetric = "qwk", target_prior: Mapping[Any, float] | None = None,
        constraints: Mapping[Any, float] | None = None, negative_keep_rate: float | None = None,
        confidence_level: float | None = None, first_test: int | None = None,
    ) -> Thresholds:  # fmt: skip
        """Thresholds of the rows added so far: arguments and errors of ``optimize_thresholds``.

        Nelder-Mead and functions need the rows. Fewer than two classes so far raise ValueError.
        """
        target = methods.resolve_metric(metric)
        r = read_rate(negative_keep_rate, target_prior, confidence_level)
        limits = read_limits(constraints, confidence_level, None, method, target, r)
        resolved = "exact" if limits else methods.resolve_method(method, target)
        chosen = _checks.choice("method", resolved, ("exact", "plugin"))
        methods.resolve_labels(self.labels, target)
        bins = self.bins(target_prior)
        return find_within_limits(chosen, bins, target, limits, r, first_test=first_test)

    def qwk_loss_bound(self, *, target_prior: Mapping[Any, float] | None = None) -> float:
        """How much QWK the bins can have cost at most, in units of kappa.

        The exact optimum if the rows inside each bin were sorted by class, which no score can beat,
        minus the optimum on bins. 0 if each bin is a distinct score. ``target_prior`` is that of
        ``optimize_thresholds``; fewer than two classes so far raise ValueError.
        """
        bins = self.bins(target_prior)
        wide = bins.low < bins.high
        if not wide.any():
            return 0.0
        d, K = bins.counts.shape
        apart = bins.counts[:, np.newaxis] * np.where(wide[:, None, None], np.eye(K), 0.0)
        apart[~wide, 0] = bins.counts[~wide]  # rows of one score stay together
        apart = apart.reshape(d * K, K)
        binned = bins.label_curve
        by_class = bins.take(np.repeat(np.arange(d), K), apart, apart).label_curve
        gain = qwk_ratio(binned, exact_cuts(binned)) - qwk_ratio(by_class, exact_cuts(by_class))
        return max(0.0, gain)

    def bins(self, target_prior: Mapping[Any, float] | None) -> _rows.Bins:
        """The bins that are not empty, reweighted to the prior."""
        total = self.counts.sum(axis=0)
        if not total.any():
            raise ValueError(
                "the statistics hold no rows yet: statistics.add(y_true, score) returns new ones "
                "with a chunk of rows"
            )
        _rows.check_class_weights(total, self.labels)
        weight, rows, squares = self.sums.sum(axis=1)[[0, len(self.sums) // 2, -1]]
        alike = rows.all() and (squares * rows <= (1 + SAME_WEIGHT**2) * weight**2).all()
        known = self.labels, self.low, self.high, self.score, self.counts, self.sums[-1]
        bins = _rows.Bins(*known, weight / rows if alike else None)
        if target_prior is not None:
            bins = bins.reweighted_classes(_rows.prior_factors(target_prior, self.labels, total))
        return bins.take(np.arange(len(self.low)), bins.counts, bins.squares)


def find_bins(s: Array, max_bins: int | None, least: int) -> tuple[int, Array]:
    """The fewest last bits without which at most ``max_bins`` scores differ; where each begins."""
    bits = (s + 0.0).view(np.int64)  # where -0 is 0
    bits ^= (bits >> 63) & np.int64(0x7FFF_FFFF_FFFF_FFFF)  # integers in the order of the scores

    def begins(dropped_bits: int) -> Array:
        kept = bits >> dropped_bits
        return np.append(True, kept[1:] != kept[:-1])

    def are_few(dropped_bits: int) -> bool:
        return max_bins is None or int(np.count_nonzero(begins(dropped_bits))) <= max_bins

    if max_bins is not None and len(s) > max_bins and not are_few(least):
        least = bisect_left(range(63), True, lo=least + 1, key=are_few)
    return least, np.flatnonzero(begins(least))


@public
def optimize_thresholds(
    y_true: ArrayLike, score: ArrayLike, *, method: Method | None = None,
    labels: ArrayLike | None = None, sample_weight: ArrayLike | None = None,
    counts: ArrayLike | None = None, target_prior: Mapping[Any, float] | None = None,
    metric: MetricArgument = "qwk", constraints: Mapping[Any, float] | None = None,
    negative_keep_rate: float | None = None, confidence_level: float | None = None,
    groups: ArrayLike | None = None, first_test: int | None = None, n_starts: int = 4,
    random_state: RandomState = 0,
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
    first_test : int >= 0, optional
        With ``confidence_level``: how many false alerts the first test of a precision allows. None:
        about those of 20 alerts, at least 2. With some 50 positives 2 finds a threshold more often;
        a number chosen by the labels, or tried after another, breaks the promise.
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
        rows = ScoredRows.read(
            **columns, labels=order, target_prior=target_prior, keep_order=keep_order
        )
        if groups is not None:
            assert rows.order is not None
            own = _checks.group_numbers(groups, len(_checks.as_array("y_true", y_true)))
            owner = _checks.check_groups("groups", own[rows.order])
    return find_within_limits(
        chosen, rows, target, limits, r, owner, first_test,
        **(search if chosen == "nelder-mead" else {}),
    )  # fmt: skip


@public
def optimize_multilabel_thresholds(
    y_true: ArrayLike, score: ArrayLike, *, beta: float = 1.0,
    sample_weight: ArrayLike | None = None,
) -> Array:  # fmt: skip
    """One threshold for each of several labels, for the best micro-averaged F measure of them all.

    Use it where a row may have several labels at once, such as the tags of a text. With T_l the
    weight of the rows that have label l and get it, P_l of those that have it, and A_l of those
    that get it, the thresholds have the greatest ::

        F = (1 + beta^2) sum_l T_l / (beta^2 sum_l P_l + sum_l A_l)

    which is exact, by Dinkelbach's method: for the best F so far each label has a best cut of its
    own, of those of one sort. A macro average is best where each label is: call
    ``optimize_thresholds(y_true[:, l], score[:, l], metric="f1")`` for each.

    Parameters
    ----------
    y_true : array-like of shape (n, L)
        1 where the row has the label, else 0; in all columns together there is at least one 1.
    score : array-like of shape (n, L)
        Finite numbers that rise with the label, out-of-fold, to be honest. Columns of tables must
        have the same names in the same order.
    beta : float > 0
        How much recall counts: 1 is F1, 2 weighs recall four times as much.
    sample_weight : array-like of shape (n,), optional
        Weights >= 0; w means w copies of the row.

    Returns
    -------
    ndarray of shape (L,)
        A row gets label l where ``score[:, l] >= thresholds[l]``. Of equally good cuts that with
        the fewest alerts is taken; ``inf`` gives the label to no row.

    Raises
    ------
    ValueError, TypeError
        Other shapes, NaN, labels that are not 0 and 1, no 1 at all, bad weights, beta <= 0.

    References
    ----------
    Dinkelbach (1967), Management Science 13(7); Ye, Chai, Lee & Chieu (2012), "Optimizing
    F-measure: A tale of two approaches", ICML.

    Examples
    --------
    >>> from gbdt_objectives.thresholds import optimize_multilabel_thresholds
    >>> y = [[1, 0], [0, 0], [1, 1], [0, 0], [1, 0]]
    >>> score = [[0.9, 0.2], [0.3, 0.1], [0.4, 0.7], [0.2, 0.6], [0.8, 0.3]]
    >>> optimize_multilabel_thresholds(y, score).round(2)
    array([0.35, 0.65])
    """
    S, Y = read_label_columns("score", score), _checks.as_array("y_true", y_true)
    # one column of labels comes flat
    Y = read_label_columns("y_true", Y[:, None] if Y.ndim == 1 == S.shape[1] else y_true)
    if Y.shape != S.shape:
        raise ValueError(
            f"score must have the shape of y_true, a column for each label, found {S.shape} beside "
            f"{Y.shape}"
        )
    _checks.binary_labels("y_true", Y)
    b2 = f_beta_metric(beta).beta ** 2
    weight = _checks.weights("sample_weight", sample_weight, len(Y))
    w = np.ones(len(Y)) if weight is None else weight.astype(np.float64)
    Y, S, w = (x[w > 0] for x in (Y, S, w))
    if not (P := float((w @ Y).sum())) > 0:
        raise ValueError("y_true holds no 1 of a weight above 0: there must be at least one")
    labels = [label_cuts(y, s, w) for y, s in zip(Y.T, S.T, strict=True)]
    F, better = -1.0, 0.0
    while better > F:
        F = better
        cuts = [len(T) - 1 - int(np.argmax(((1 + b2) * T - F * A)[::-1])) for _, T, A in labels]
        T, A = (
            sum(float(sums[k][c]) for sums, c in zip(labels, cuts, strict=True)) for k in (1, 2)
        )
        better = (1 + b2) * T / (b2 * P + A)
    return np.concatenate(
        [
            _rows.cut_to_threshold(s, s, np.array([cut]))
            for (s, _, _), cut in zip(labels, cuts, strict=True)
        ]
    )


def read_label_columns(name: str, values: ArrayLike) -> Array:
    """Finite numbers of each row and label, float64 (n, L)."""
    found: Array = _checks.real_array(name, values).astype(np.float64)
    if found.ndim != 2 or 0 in found.shape:
        raise ValueError(
            f"{name} must have shape (n, L), a row for each row and a column for each label, found "
            f"shape {found.shape}: for one label use optimize_thresholds"
        )
    _checks.finite(name, found)
    return found


def label_cuts(y: Array, s: Array, w: Array) -> tuple[Array, Array, Array]:
    """The distinct scores in ascending order, (d,), and at each cut, 0..d, the weight above it of
    the rows that have the label, and of all."""
    score, place = np.unique(s, return_inverse=True)
    sums = (_rows.weigh_classes(place, x, len(score)) for x in (w * y, w))
    T, A = (np.append(np.cumsum(x[::-1])[::-1], 0.0) for x in sums)
    return score, T, A
