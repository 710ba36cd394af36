"""Rows, checked once and sorted once by score, and cumulative curves over their pools.

``low``, ``high``: the score range of each pool, shape (d,); ``score``: its mean score. All three
are the score itself where a pool is one distinct score.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cached_property, partial
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike

from gbdt_objectives import _checks
from gbdt_objectives._checks import Array, check_order, check_thresholds, is_dask, positions, shown
from gbdt_objectives._public import public
from gbdt_objectives._rows.rows import (
    ArrayValue,
    Table,
    check_column,
    freeze,
    from_zero,
    map_parts,
    same_labels,
    vectors,
)
from gbdt_objectives._steps.steps import LONGEST, SavedAsJSON, is_finite_number, read_range


@dataclass(frozen=True, eq=False)
class LabelCurve:
    """N[i], S[i]: total weight and weighted position in the first i pools, float64 (d+1,)."""

    low: Array
    high: Array
    score: Array
    N: Array
    S: Array
    class_weight: Array


@dataclass(frozen=True, eq=False)
class ClassCurve:
    """C[k, i]: weight of class k in the first i pools, float64 (K, d+1)."""

    low: Array
    high: Array
    C: Array


@dataclass(frozen=True, eq=False)
class Bins:
    """Pools of several scores: range, mean, weights and squares of weights by class (d, K)."""

    labels: Array
    low: Array
    high: Array
    score: Array
    counts: Array
    squares: Array
    row_weight: Array | None = None  # of each class, (K,), if all its rows weigh the same

    def take(self, at: Array, counts: Array, squares: Array) -> Bins:
        """Some bins, with other counts, without the empty ones."""
        keep = counts.any(axis=1)
        i = at[keep]
        low, high, score = self.low[i], self.high[i], self.score[i]
        return Bins(self.labels, low, high, score, counts[keep], squares[keep], self.row_weight)

    def reweighted_classes(self, factor: Array) -> Bins:
        """The bins with weights times the factor of their class, (K,)."""
        return replace(self, counts=self.counts * factor, squares=self.squares * factor**2)

    @cached_property
    def label_curve(self) -> LabelCurve:
        N = from_zero(self.counts.sum(axis=1))
        S = from_zero(self.counts @ np.arange(len(self.labels)))
        i = np.flatnonzero(np.diff(N) > 0)  # weights lost in rounding do not exist
        low, high, score = self.low[i], self.high[i], self.score[i]
        return LabelCurve(low, high, score, at_ends(N, i), at_ends(S, i), self.class_weight)

    @property
    def class_weight(self) -> Array:
        """Total weight of each class, (K,)."""
        return np.asarray(self.counts.sum(axis=0))

    @property
    def class_curve(self) -> ClassCurve:
        return ClassCurve(self.low, self.high, self._below(self.counts))

    @property
    def squares_below(self) -> Array:
        """Sum of squared weights of each class in the first i pools, (K, d+1)."""
        return self._below(self.squares)

    def _below(self, sums: Array) -> Array:
        return np.cumsum(np.concatenate([np.zeros((1, len(self.labels))), sums]), axis=0).T


def last_of_ties(score: Array) -> Array:
    """The last row of each distinct score, given sorted scores."""
    return np.append(np.flatnonzero(score[1:] != score[:-1]), len(score) - 1)


def at_ends(sums: Array, last: Array) -> Array:
    """Cumulative sums at the ends of pools only."""
    return np.append(0.0, sums[1:][last])


def cut_to_threshold(low: Array, high: Array, cuts: Array) -> Array:
    """Midway between the neighbouring pools; -inf or +inf with nothing on one side. high[i-1] <
    threshold <= low[i], even where the midpoint rounds to the lower score."""
    thresholds = np.where(cuts == 0, -np.inf, np.inf)
    inside = (cuts > 0) & (cuts < len(low))
    below = high[cuts[inside] - 1].astype(np.float64)
    above = low[cuts[inside]].astype(np.float64)
    middle = 0.5 * below + 0.5 * above
    thresholds[inside] = np.where((middle > below) & (middle < above), middle, above)
    return thresholds


def threshold_to_cut(score: Array, thresholds: Array) -> Array:
    """Number of pools whose score is below each threshold."""
    return np.searchsorted(score, thresholds, side="left")


@dataclass(frozen=True, eq=False)
class ScoredRows:
    """Rows of weight > 0 in ascending order of score. ``weight``, of all copies of a row, is None
    if all weights are 1; ``copies`` is None if each is one; ``order``: numbers before sorting."""

    score: Array
    position: Array
    weight: Array | None
    labels: Array
    order: Array | None = None
    copies: Array | None = None

    @cached_property
    def class_weight(self) -> Array:
        """Total weight of each class, float64 (K,)."""
        return weigh_classes(self.position, self.weight, len(self.labels))

    @cached_property
    def label_curve(self) -> LabelCurve:
        """What thresholds for QWK need of the rows."""
        self.check_classes()
        score = self.score
        if self.weight is None:
            N = np.arange(len(score) + 1, dtype=np.float64)
            S = from_zero(self.position)
            if not (score[1:] == score[:-1]).any():
                return LabelCurve(score, score, score, N, S, self.class_weight)
            last = last_of_ties(score)
        else:
            w = self.weight.astype(np.float64)
            N = from_zero(w)
            w *= self.position
            S = from_zero(w)
            last = last_of_ties(score)
            last = last[np.diff(N[1:][last], prepend=0.0) > 0]  # weights lost in rounding
        if len(last) < len(score):
            score = score[last]
            N, S = at_ends(N, last), at_ends(S, last)
        return LabelCurve(score, score, score, N, S, self.class_weight)

    @cached_property
    def class_curve(self) -> ClassCurve:
        """What thresholds for any other metric need of the rows."""
        self.check_classes()
        score = self.score if self._ends is None else self.score[self._ends[1:] - 1]
        return ClassCurve(score, score, self._below(self.weight))

    @cached_property
    def _ends(self) -> Array | None:
        """The number of rows in the first i pools, (d+1,); None where each row is a pool."""
        if not (self.score[1:] == self.score[:-1]).any():
            return None
        return np.append(0, last_of_ties(self.score) + 1)

    @property
    def squares_below(self) -> Array:
        """Sum of squared weights of the copies of each class in the first i pools, (K, d+1)."""
        w, c = self.weight, self.copies
        return self._below(None if w is None else w * w if c is None else w * (w / c))

    def _below(self, values: Array | None) -> Array:
        """Sums of values, None: of ones, of each class in the first i pools, (K, d+1)."""
        ends = self._ends
        below = np.zeros(len(self.score) + 1, np.int64 if values is None else np.float64)
        sums = np.empty((len(self.labels), len(below if ends is None else ends)))
        for k in range(len(sums)):
            row = self.position == k
            np.cumsum(row if values is None else values * row, dtype=below.dtype, out=below[1:])
            sums[k] = below if ends is None else below[ends]
        return sums

    def check_classes(self) -> None:
        """Raise unless there are at least two classes, and as many rows as classes."""
        rows = len(self.score) if self.copies is None else int(self.copies.sum())
        check_enough_rows(rows, len(self.labels))
        check_class_weights(self.class_weight, self.labels)

    def take(self, at: Array, weight: Array | None) -> ScoredRows:
        """The rows at rising places, with the weights given."""
        order, copies = (None if x is None else x[at] for x in (self.order, self.copies))
        return ScoredRows(self.score[at], self.position[at], weight, self.labels, order, copies)

    def reweighted(self, factor: Array) -> ScoredRows:
        """The rows with other weights, without those of factor 0."""
        at = np.flatnonzero(factor)
        weight = factor[at].astype(np.float64)
        return self.take(at, weight if self.weight is None else weight * self.weight[at])

    def reweighted_classes(self, factor: Array) -> ScoredRows:
        """The rows with weights times the factor of their class, (K,)."""
        return self.reweighted(factor[self.position])

    @staticmethod
    def read_columns(
        y_true: ArrayLike, score: ArrayLike, labels: ArrayLike | None,
        sample_weight: ArrayLike | None, target_prior: Mapping[Any, float] | None = None,
    ) -> tuple[Array, Array, Array | None, Array]:  # fmt: skip
        """Scores, class positions, weights and labels from the arguments of a public function."""
        s = _checks.vector("score", score)
        order = consecutive_labels(y_true) if labels is None else check_order(labels)
        position = positions("y_true", y_true, order)
        _checks.same_length("score", s, "the labels", len(position))
        _checks.no_labels("score", s, order)
        w = _checks.weights("sample_weight", sample_weight, len(s))
        return s, position, ScoredRows.weights_of_prior(target_prior, order, position, w), order

    @staticmethod
    def read(
        y_true: ArrayLike, score: ArrayLike, labels: ArrayLike | None,
        sample_weight: ArrayLike | None, target_prior: Mapping[Any, float] | None = None,
        counts: ArrayLike | None = None, *, keep_order: bool = False,
    ) -> ScoredRows:  # fmt: skip
        """Rows from the arguments of ``optimize_thresholds``."""
        s, position, w, order = ScoredRows.read_columns(y_true, score, labels, sample_weight)
        copies = _checks.counts("counts", counts, len(s))
        w = ScoredRows.weights_of_prior(target_prior, order, position, weigh_copies(w, copies))
        return ScoredRows.sort(s, position, w, order, keep_order=keep_order, copies=copies)

    @staticmethod
    def sort(
        score: Array, position: Array, weight: Array | None, labels: Array, *,
        keep_order: bool = False, copies: Array | None = None,
    ) -> ScoredRows:  # fmt: skip
        """Checked arrays as rows, without those of weight 0; ``weight`` is of a row's copies."""
        if weight is None and copies is None and not keep_order and len(labels) == 2:
            return ScoredRows(*merge_classes(score, position), None, labels)
        score, position, weight, counted = without_zero_weights(score, position, weight)
        order = np.argsort(score)
        score, position = score[order], position[order]
        if weight is not None:
            weight = weight[order]
        before = order if counted is None else counted[order]
        copies = None if copies is None else copies[before]
        return ScoredRows(score, position, weight, labels, before if keep_order else None, copies)

    @staticmethod
    def weights_of_prior(
        target_prior: Mapping[Any, float] | None, labels: Array, position: Array, w: Array | None
    ) -> Array | None:
        """Weights with which the label frequencies are those of the prior; without one, w."""
        if target_prior is None:
            return w
        factor = prior_factors(target_prior, labels, weigh_classes(position, w, len(labels)))
        return factor[position] if w is None else factor[position] * w


def weigh_classes(position: Array, weight: Array | None, K: int) -> Array:
    """Total weight of each of K classes, float64 (K,)."""
    return np.bincount(position, weights=weight, minlength=K).astype(np.float64)


def merge_classes(score: Array, position: Array) -> tuple[Array, Array]:
    """Scores in ascending order, and the positions 0 and 1 of two classes. Numbers that are sorted
    without their places take a third of the time, and a stable sort merges what is sorted."""
    upper = position == 1
    s = np.concatenate([score[~upper], score[upper]])
    lower = len(s) - np.count_nonzero(upper)
    s[:lower].sort()
    s[lower:].sort()
    order = np.argsort(s, kind="stable")
    return s[order], (order >= lower).astype(position.dtype)


def weigh_copies(w: Array | None, copies: Array | None) -> Array | None:
    """The weight of all copies of each row, not all of them 0."""
    if copies is None:
        return w
    weight = copies.astype(np.float64) if w is None else copies * w.astype(np.float64)
    _checks.some_weight("sample_weight times counts", float(weight.max()), len(weight))
    return weight


def without_zero_weights(
    s: Array, position: Array, w: Array | None
) -> tuple[Array, Array, Array | None, Array | None]:
    """The rows whose weight is not 0, and which these are (None: all)."""
    if w is None or w.all():
        return s, position, w, None
    counted = np.flatnonzero(w)
    return s[counted], position[counted], w[counted], counted


def check_enough_rows(rows: int, K: int) -> None:
    if rows < K:
        raise ValueError(
            f"y_true has {rows} rows that count for {K} classes: at least one row per class is "
            "needed to fit thresholds; merge classes, or list in labels= only those that occur"
        )


def check_class_weights(class_weight: Array, labels: Array) -> None:
    total = class_weight.sum()
    present = np.flatnonzero(total + class_weight > total)  # weights lost in rounding do not exist
    if len(present) < 2:
        raise single_class(shown(labels[present].tolist()))


def single_class(label: object) -> ValueError:
    return ValueError(
        f"y_true holds the single class {label}: there must be rows of at least two classes to fit "
        "thresholds between them"
    )


def consecutive_labels(y_true: ArrayLike, ordinal: bool = True) -> Array:
    """min..max of whole numbers, whose distance counts if ``ordinal``, or a Categorical's order."""
    check_column("y_true", y_true)
    order = _checks.category_order("y_true", y_true)
    if order is not None:
        return order
    low, high, rows = vectors(partial(whole_range, ordinal), {"y_true": y_true}).T
    low, high, rows = int(low.min()), int(high.max()), int(rows.sum())
    if high == low:
        raise single_class(low)
    if high - low >= rows:
        raise ValueError(
            f"y_true has {rows} rows for the {high - low + 1} classes {low} to {high}: there "
            "must be at least one row per class; merge classes into fewer grades, or pass "
            "labels=[...], those that occur, in ascending order"
        )
    return np.arange(low, high + 1)


def whole_range(ordinal: bool, y_true: Any) -> tuple[int, int, int]:
    """The lowest and the highest label of some rows, and how many rows these are."""
    y = _checks.whole_numbers("y_true", y_true)
    low, high = int(y.min()), int(y.max())
    if ordinal:
        _checks.warn_of_code("y_true", y, low, high)
    return low, high, len(y)


def midpoints(labels: Array) -> Array:
    """Midway between neighbouring labels that are numbers, (K-1,)."""
    numbers = labels.astype(np.float64)
    return 0.5 * (numbers[1:] + numbers[:-1])


def are_rising_numbers(labels: Array) -> bool:
    """Whether rounding a score to the nearest label makes sense."""
    return labels.dtype.kind in "iuf" and bool((labels[1:] > labels[:-1]).all())


def nearest_cuts(labels: Array, called: str, instead: str) -> Array:
    """The thresholds of the nearest label, (K-1,); a score half-way between two has the upper."""
    if not are_rising_numbers(labels):
        found = shown(labels.tolist())
        raise ValueError(f"{called} needs labels that are rising numbers, found {found}: {instead}")
    return midpoints(labels)


def prior_factors(target_prior: Mapping[Any, float], labels: Array, class_weight: Array) -> Array:
    """What each class is to be multiplied by for its frequency to be its prior, (K,)."""
    order = labels.tolist()
    p = _checks.prior_mapping("target_prior", target_prior)
    unknown = [label for label in p if label not in order]
    if unknown:
        raise ValueError(
            f"target_prior holds {shown(unknown[0])}, which is not in labels {shown(order)}: list "
            "every class in labels"
        )
    tau = _checks.prior_of_labels("target_prior", p, order, class_weight > 0, "y_true")
    factor = np.divide(tau, class_weight, out=np.zeros(len(tau)), where=tau > 0)
    check_class_weights(factor, labels)
    return np.asarray(factor * class_weight.sum())


@public
@dataclass(frozen=True, eq=False, repr=False)
class Thresholds(ArrayValue, Table, SavedAsJSON):
    """Thresholds with the classes that they separate, as ``optimize_thresholds`` returns them.

    numpy reads them as an array of shape (K-1,): ``thresholds + 0.1``, ``thresholds[0]``. What is
    computed from them is a plain array, which may separate other classes: ``apply_thresholds`` asks
    for its labels. NaN, thresholds not sorted, and labels repeated or not K raise ValueError.

    Parameters
    ----------
    values, labels : array-like of shape (K-1,), array-like of shape (K,)
        Sorted, in score units; -inf and inf are allowed. All classes in ascending order.
    score_range : (float, float), optional
        The ends of the scores that they were placed on, to tell margins from probabilities.

    Examples
    --------
    >>> from gbdt_objectives.thresholds import Thresholds
    >>> thresholds = Thresholds([0.5, 1.5], ["low", "mid", "high"])
    >>> thresholds
    Thresholds([0.5, 1.5], labels=['low', 'mid', 'high'])
    >>> thresholds + 0.25
    array([0.75, 1.75])
    >>> Thresholds.from_json(thresholds.to_json()).apply([0.6, 2.0]).tolist()
    ['mid', 'high']
    """

    values: Any
    labels: Any
    score_range: Any = None

    def __post_init__(self) -> None:
        cuts, labels = check_thresholds("thresholds", self.values), check_order(self.labels).copy()
        if len(labels) != len(cuts) + 1:
            raise ValueError(
                f"labels must be {len(cuts) + 1} classes for {len(cuts)} thresholds, found "
                f"{len(labels)}: {shown(labels.tolist())}"
            )
        if (known := self.score_range) is not None:
            known = read_range("score_range", np.asarray(known).tolist())
        freeze(self, values=np.array(cuts), labels=labels, score_range=known)

    def __repr__(self) -> str:
        return f"Thresholds({self.tolist()}, labels={self.labels.tolist()})"

    def _shown(self) -> tuple[str, dict[str, Any]]:
        of_class = self._columns() | {"label": [str(label) for label in self.labels]}
        return "Thresholds: low <= score < high", of_class

    def _columns(self) -> dict[str, Any]:
        ends = np.concatenate([[-np.inf], self.values, [np.inf]])
        return {"label": self.labels, "low": ends[:-1], "high": ends[1:]}

    def round(self, decimals: int = 0) -> Thresholds:
        """Thresholds of so many digits behind the point, which separate the same classes."""
        return replace(self, values=self.values.round(decimals))

    def apply(self, score: ArrayLike) -> Array:
        """The class of each score, (n,), as :func:`apply_thresholds`."""
        return apply_thresholds(score, self)

    def _classes_of(self, s: Array) -> Array:
        """The class of each finite score, (n,)."""
        _checks.in_unit_of(self.score_range, "these thresholds are", s)
        return np.asarray(self.labels[self.values.searchsorted(s, side="right")])

    def to_sql(self, score: str) -> str:
        """The class of each ``score``, a column as it stands in SQL, as an expression of SQL.

        NULL has the class NULL. Numbers have an exponent, so that a FLOAT is compared as a DOUBLE,
        and 0e0 makes numbers of a text column of SQLite. Leave out rows with NaN, which databases
        put above all numbers, and text that is no number, which is 0 in SQLite.

        >>> from gbdt_objectives.thresholds import Thresholds
        >>> print(Thresholds([0.5], ["no", "yes"]).to_sql("p"))
        CASE WHEN p IS NULL THEN NULL WHEN p + 0e0 < 5.0000000000000000e-01 THEN 'no' ELSE 'yes' END
        """
        if not isinstance(score, str) or not score.strip():
            raise TypeError(f"score must be the name of a column, found {shown(score)}")
        names = self.labels.tolist()
        if not any({*map(type, names)} <= kinds for kinds in ({int, float}, {str}, {bool})):
            kinds = "all numbers, all strings or all booleans in SQL"
            raise TypeError(f"labels must be {kinds}, found {shown(names)}: give such labels")
        words = [str(name).replace("'", "''") for name in names]
        names = [f"'{word}'" for word in words] if isinstance(names[0], str) else words
        parts = [
            f"WHEN {score} + 0e0 < {cut:.16e} THEN {name}"
            for before, cut, name in zip([-np.inf, *self.values], self.values, names, strict=False)
            if before < cut < np.inf
        ]
        last = names[np.count_nonzero(self.values < np.inf)]
        return f"CASE WHEN {score} IS NULL THEN NULL {' '.join([*parts, 'ELSE'])} {last} END"

    def __len__(self) -> int:
        return len(self.values)

    def __float__(self) -> float:
        """The threshold of two classes."""
        return float(self.values.item())

    def __iter__(self) -> Iterator[np.float64]:
        return iter(self.values)

    def __getitem__(self, key: Any) -> Any:
        return self.values[key]

    _saved: ClassVar = {
        **{key: lambda key, value: value for key in ("dtype", "labels", "thresholds")},
        "score_range": read_range,
    }
    _left_out: ClassVar = {"score_range": None}

    def _values(self) -> list[Any]:
        labels = write_labels(self.labels, "labels must be all integers, all numbers")
        return [*labels, self.values, self.score_range]

    @classmethod
    def _restore(cls, data: dict[str, Any]) -> Thresholds:
        labels = Thresholds._read_labels(data["labels"], data["dtype"])
        return cls(read_cuts(data["thresholds"]), labels, data["score_range"])

    @staticmethod
    def _with_labels(thresholds: ArrayLike, labels: ArrayLike | None) -> Thresholds:
        """Checked thresholds with the classes that they carry, or those that are given."""
        carried = ArrayValue._carried_labels(thresholds)
        if isinstance(thresholds, Thresholds) and (labels is None or labels is carried):
            return thresholds
        if carried is None and labels is None:
            K = len(check_thresholds("thresholds", thresholds)) + 1
            raise ValueError(
                f"labels are missing, and thresholds {shown(thresholds)} carry none, as those of "
                f"optimize_thresholds do: pass labels=[...], all {K} classes in ascending order, "
                f"or labels=range({K}) for class positions"
            )
        known = getattr(thresholds, "score_range", None)
        found = Thresholds(thresholds, carried if labels is None else labels, known)
        if carried is not None and not same_labels(found.labels, carried):
            raise ValueError(
                f"labels are {shown(found.labels.tolist())}, but thresholds were placed between "
                f"the classes {shown(carried.tolist())}: leave labels out, or if they are other "
                "names of the same classes pass np.asarray(thresholds)"
            )
        return found

    @staticmethod
    def _read_labels(values: object, dtype: object, name: str = "labels") -> Array:
        """Labels of JSON, of the type that was saved. ``name``: what messages call them."""
        kinds = {"i": int, "u": int, "f": float, "U": str, "O": str}
        if not isinstance(dtype, str) or not re.fullmatch(r"O|[OUfiu]\d+", dtype):
            raise ValueError(
                f"dtype must be one of an integer, float or string, found {shown(dtype)}"
            )
        kind = kinds[dtype[0]]
        if dtype == "O" and isinstance(values, list) and values:
            kind = next((each for each in (int, float) if type(values[0]) is each), kind)
        kinds_read = {kind} if kind is str or dtype == "O" else {int, float}  # 1 is written for 1.0
        if not isinstance(values, list) or not {*map(type, values)} <= kinds_read:
            raise ValueError(f"{name} must be a list of {kind.__name__}, found {shown(values)}")
        try:
            if np.dtype(dtype).itemsize * len(values) > LONGEST:
                raise ValueError(
                    f"dtype {shown(dtype)} of {len(values)} {name} takes too much memory"
                )
            labels = np.array(values, dtype)
        except (TypeError, OverflowError) as error:
            raise ValueError(
                f"{name} {shown(values)} do not fit dtype {shown(dtype)}: {error}"
            ) from None
        if labels.tolist() != values:
            raise ValueError(f"{name} {shown(values)} do not fit dtype {shown(dtype)}")
        return labels


@public
def apply_thresholds(
    score: ArrayLike, thresholds: ArrayLike | None = None, labels: ArrayLike | None = None
) -> Array:
    """Ordered classes of scores of new rows, by the thresholds of :func:`optimize_thresholds`.

    ::

        class k where thresholds[k-1] <= score < thresholds[k]

    Without thresholds, the nearest of ``labels``; of 2 and 3 2.5 is 3, not 2 as by ``numpy.rint``.

    Parameters
    ----------
    score : array-like of shape (n,)
        Finite, in the units of the thresholds; a Dask Series or Array gives a lazy one.
    thresholds : array-like of shape (K-1,), optional
        Sorted; equal ones leave a class empty, -inf and +inf are allowed. None: the nearest label.
    labels : array-like of shape (K,), optional
        The classes in ascending order; ``range(K)`` for class positions. None: those that the
        thresholds of :func:`optimize_thresholds` carry; numbers that were computed carry none.
        Without thresholds: rising numbers in units of the score; ValueError for others.

    Returns
    -------
    ndarray of shape (n,)
        ``labels[k]``.

    Raises
    ------
    ValueError
        Thresholds not sorted; labels missing, repeated, not K, or not the thresholds'; NaN.

    Examples
    --------
    >>> from gbdt_objectives.thresholds import apply_thresholds, optimize_thresholds
    >>> y, score = [1, 1, 2, 2, 3, 3], [0.1, 0.4, 0.3, 0.6, 0.7, 0.9]
    >>> apply_thresholds(score, optimize_thresholds(y, score))
    array([1, 1, 1, 2, 3, 3])
    >>> apply_thresholds([0.2, 0.5, 2.0], [0.5, 1.5], labels=range(3))
    array([0, 1, 2])
    >>> apply_thresholds([0.2, 2.5, 9.0], labels=[1, 2, 3])
    array([1, 3, 3])
    """
    if thresholds is None:
        if labels is None:
            raise ValueError("thresholds are missing: pass them, or labels=[...], to be rounded to")
        thresholds = nearest_cuts(check_order(labels), "rounding", "pass thresholds, too")
    if is_dask(score):
        found = Thresholds._with_labels(thresholds, labels)
        of_part = partial(apply_thresholds, thresholds=found)
        return map_parts(of_part, {"score": score}, found.labels.dtype)  # type: ignore[no-any-return]
    s = _checks.vector("score", score)
    found = Thresholds._with_labels(thresholds, labels)
    return found._classes_of(s)


def write_labels(labels: Array, rule: str) -> tuple[str, list[Any]]:
    """The type and the values of labels in JSON. ``rule``: how messages begin."""
    values = labels.tolist()
    kinds = {type(value) for value in values}
    if len(kinds) > 1 or not kinds <= {int, float, str}:
        raise ValueError(f"{rule} or all strings to be written as JSON, found {shown(values)}")
    return labels.dtype.str.lstrip("<>=|"), values


def read_cuts(values: object) -> Array:
    """Thresholds of JSON, where infinite ones are strings."""
    if not isinstance(values, list):
        raise ValueError(f"thresholds must be a list of numbers, found {shown(values)}")
    for value in values:
        if not is_finite_number(value) and value not in ("-inf", "inf"):
            raise ValueError(f'thresholds must be numbers, "-inf" or "inf", found {shown(value)}')
    return np.array([float(value) for value in values])
