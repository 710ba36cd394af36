"""Checked rows: labels, probabilities or scores, weights."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from gbdt_objectives import _checks
from gbdt_objectives._checks import Array, Sampling, check_order, group_numbers, is_dask, shown
from gbdt_objectives._rows.rows import BLOCK_BYTES, blocks
from gbdt_objectives._rows.workers import several

ONE_CLASS = "pass one class at a time, y_true == label and its column"


@dataclass(frozen=True, eq=False)
class LabelledRows:
    """Rows of weight above 0, everything float64 but class positions. ``y``: labels 0 and 1 if
    ``p`` is (n,), positions of the columns if it is (n, K). ``kept``: an index of these rows among
    the given ones. ``rate``: that at which negatives were kept, or of each row. ``c``: how many
    rows each stands for, or None; ``w`` is of one."""

    y: Array
    p: Array
    w: Array
    kept: Any
    rate: float | Array = 1.0
    c: Array | None = None

    @property
    def number(self) -> int:
        """How many rows there are, copies included."""
        return len(self.y) if self.c is None else int(self.c.sum())

    @property
    def weight(self) -> Array:
        """The weight of all copies of each row."""
        return self.copies(self.w)

    @property
    def unit(self) -> float:
        """The mean weight of a row."""
        return float(self.weight.sum()) / self.number

    def copies(self, x: Array, at: slice = slice(None)) -> Array:
        """Times how often there are these rows: what all their copies add to a sum of x."""
        return x if self.c is None else self.c[at] * x

    def sums(self, g: Array, G: int, terms: Callable[[slice], Sequence[Array]]) -> Array:
        """:func:`sums_by`, over all copies of the rows."""
        return sums_by(g, G, lambda at: [self.copies(x, at) for x in terms(at)])

    def part(self, at: slice, unit: float = 1.0) -> tuple[Array, Array, Array, Any, Array]:
        """y, p, w, the rate and v, which rows stand for, of some rows; weights in units."""
        y, p, w = self.y[at], self.p[at], self.w[at]
        w = w if unit == 1 else w / unit  # a copy takes time
        rate = self.rate[at] if isinstance(self.rate, np.ndarray) else self.rate
        return y, p, w, rate, LabelledRows.stand_for(y, w, rate)

    def standing(self) -> LabelledRows:
        """The rows with the weights of what they stand for: w for positives, w/r for negatives."""
        if np.ndim(self.rate) == 0 and self.rate == 1:
            return self
        return replace(self, w=LabelledRows.stand_for(self.y, self.w, self.rate), rate=1.0)

    @property
    def given(self) -> int:
        """How many rows there were, those of weight 0 included."""
        return len(self.y) if isinstance(self.kept, slice) else len(self.kept)

    def owners(self, groups: ArrayLike | None) -> Array | None:
        """The number of each row's group, from those of the given rows; None without groups."""
        if groups is None:
            return None
        own = group_numbers(groups, self.given)[self.kept]
        return _checks.check_groups("groups", own, rows=self.number)

    @staticmethod
    def of_scores(
        name: str, labels: ArrayLike, score: ArrayLike, sample_weight: ArrayLike | None
    ) -> LabelledRows:
        """Rows of both labels, with a finite score on any scale in place of the probability."""
        y = _checks.vector(name, labels).astype(np.float64, copy=False)
        _checks.binary_labels(name, y)
        rows = LabelledRows.weighed(y, _checks.vector("score", score), sample_weight, "score")
        check_both_labels(name, rows)
        return rows

    @staticmethod
    def weighed(
        y: Array,
        p: Array,
        sample_weight: ArrayLike | None,
        name: str,
        counts: ArrayLike | None = None,
    ) -> LabelledRows:
        _checks.same_length(name, p, "the labels", len(y))
        w = _checks.weights("sample_weight", sample_weight, len(y))
        c = _checks.counts("counts", counts, len(y))
        w = np.broadcast_to(1.0, len(y)) if w is None else w.astype(np.float64, copy=False)
        there = w > 0 if c is None else (w > 0) & (c > 0)
        if there.size and not several():  # other workers may have rows that count
            _checks.some_weight("sample_weight times counts", float(there.max()), len(y))
        kept = slice(None) if there.all() else there
        c = None if c is None else c[kept].astype(np.float64)
        return LabelledRows(y[kept], p[kept], w[kept], kept, c=c)

    @staticmethod
    def stand_for(y: Array, w: Array | float, r: float | Array) -> Array:
        """v, the weight that rows of labels 0 and 1 stand for if negatives were kept at the rate
        r."""
        return w / np.where(y == 1, 1.0, r)

    @staticmethod
    def mean_and_error(x: Array, w: Array, owner: Array | None) -> tuple[float, float]:
        """The weighted mean of x, and its standard error for independent rows, or owners of
        rows."""
        W = float(w.sum())
        mean = float(w @ x) / W
        residual: Array = w * (x - mean)
        if owner is not None:
            residual = np.bincount(owner, residual)
        return mean, float(np.sqrt(residual @ residual)) / W


def probability_rows(
    y_true: ArrayLike, probability: ArrayLike, labels: ArrayLike | None,
    sample_weight: ArrayLike | None, counts: ArrayLike | None = None,
) -> LabelledRows:  # fmt: skip
    p = _checks.probabilities("probability", probability)
    if p.ndim == 1:
        check_no_columns(labels)
        y = _checks.vector("y_true", y_true).astype(np.float64, copy=False)
        _checks.binary_labels("y_true", y)
    else:
        y = _checks.positions("y_true", y_true, column_classes(labels, p))
    return LabelledRows.weighed(y, p, sample_weight, "probability", counts)


def column_classes(labels: ArrayLike | None, p: Array) -> Array:
    order = np.arange(p.shape[1]) if labels is None else check_order(labels, ordinal=False)
    if len(order) != p.shape[1]:
        raise ValueError(
            f"labels has {len(order)} classes, but probability has {p.shape[1]} columns: list "
            "the classes in the order of the columns"
        )
    return order


def check_no_columns(labels: ArrayLike | None) -> None:
    """Raise if ``labels`` name columns, which probabilities (n,) do not have."""
    if labels is not None:
        raise ValueError(
            "labels name the columns of (n, K) probabilities, but probability is (n,), of "
            "label 1: pass y_true == label as y_true"
        )


def label_1_columns(
    y_true: Any, probability: Any, sample_weight: Any, counts: Any = None
) -> dict[str, Any]:
    """The columns of rows with probabilities (n,), arrays or Dask collections."""
    if np.ndim(probability) != 1:
        found = np.shape(probability)
        raise ValueError(f"probability must be (n,), of label 1, found shape {found}: {ONE_CLASS}")
    return {
        "y_true": y_true, "probability": probability, "sample_weight": sample_weight,
        "counts": counts,
    }  # fmt: skip


def label_1_rows(
    y_true: Any, probability: Any, sample_weight: Any, keep_rate: Any = 1.0, counts: Any = None
) -> LabelledRows:
    """Rows with probabilities (n,), and their rate, as :func:`read_rates` gives it."""
    columns = label_1_columns(y_true, probability, sample_weight, counts)
    rows = probability_rows(labels=None, **columns)
    return replace(rows, rate=row_rates(keep_rate, rows))


def read_standing_rows(**columns: Any) -> LabelledRows:
    """Read rows, with the weights of what they stand for."""
    return label_1_rows(**columns).standing()


def read_rates(
    negative_keep_rate: float | None, keep_rate: ArrayLike | None,
    class_keep_rates: Mapping[Any, float] | None,
) -> Any:  # fmt: skip
    """How rows were sampled: the rate of a negative in each row's place, a float if it is the same
    for all rows, 1 if nothing is given, else a column that :func:`row_rates` checks."""
    if negative_keep_rate is not None and keep_rate is not None:
        raise ValueError(
            "negative_keep_rate and keep_rate are both given: pass negative_keep_rate, one number, "
            "if all negatives were kept at the same rate, and keep_rate, (n,), if each at its own"
        )
    by_row = keep_rate is not None
    name, rate = ("keep_rate", keep_rate) if by_row else ("negative_keep_rate", negative_keep_rate)
    if class_keep_rates is not None:
        if rate is not None:
            raise ValueError(f"class_keep_rates and {name} are both given: leave one of them out")
        return negative_rate(class_keep_rates)
    if rate is None:
        return 1.0
    is_map = isinstance(rate, Mapping)
    if is_map or is_column(rate) != by_row:
        wanted = "a rate of each row, (n,)" if by_row else "one number in (0, 1]"
        remedy = "pass rates of each row as keep_rate="
        if is_map:
            remedy = "write class_keep_rates="
        elif by_row:
            remedy = "pass one rate of all negatives as negative_keep_rate="
        raise TypeError(f"{name} must be {wanted}, found {shown(rate)}: {remedy}")
    return rate if by_row else _checks.keep_rate(name, rate)


def read_arrived(name: str, values: ArrayLike) -> Array:
    """F of each row, float64 (n,): how probably the label of a positive has arrived."""
    if callable(values):
        raise TypeError(f"{name} is the distribution of delays itself: call it, F(age)")
    if _checks.as_array(name, values).dtype.kind == "b":
        raise TypeError(
            f"{name} must be probabilities in [0, 1], found True and False: it is not whether the "
            "label has arrived, but F(age), as delay_distribution(age, delay)(age) gives it"
        )
    F: Array = _checks.vector(name, values).astype(np.float64)
    _checks.each(
        name, F, (F >= 0) & (F <= 1), "must be in [0, 1]",
        "it is F(age), the probability that the label of a positive has arrived by the row's age, "
        "as delay_distribution(age, delay)(age) gives it, not the age",
    )  # fmt: skip
    return F


def check_arrived(y: Array, F: Array) -> None:
    """Raise where a label has arrived that by F could not have."""
    _checks.each(
        "arrived", F, (F > 0) | ~y, "must be above 0 where y_true is 1, as that label has arrived",
        "is its age right, measured when the labels were read? An estimate is 0 below the "
        "shortest delay that it has seen: make it with these rows too",
    )  # fmt: skip


def is_column(rate: Any) -> bool:
    return is_dask(rate) or np.ndim(rate) > 0


def are_sampled(rate: Any) -> bool:
    """Whether negatives were dropped, from what ``read_rates`` gives."""
    return is_column(rate) or rate < 1


def check_label_1_sampled(rate: Any) -> None:
    """Raise if rows with probabilities (n, K) were sampled, from what ``read_rates`` gives."""
    if are_sampled(rate):
        raise ValueError(
            "negative_keep_rate, keep_rate and class_keep_rates are for probability (n,), of label "
            f"1: {ONE_CLASS}"
        )


def negative_rate(class_keep_rates: Mapping[Any, float], labels: Sequence[Any] = (0, 1)) -> float:
    """The rate of the first label, ``{0: rate, 1: 1.0}``; the second is the positive one."""
    rates = read_class_rates(class_keep_rates, list(labels))
    if rates[1] != 1:
        one = shown(labels[1])
        raise ValueError(
            f"class_keep_rates[{one}] must be 1, found {rates[1]:g}: where label {one} was dropped "
            "or copied as well pass sample_weight, 1 over the rate of each row's label"
        )
    return float(rates[0])


def read_class_rates(class_keep_rates: Mapping[Any, float], labels: list[Any]) -> Array:
    """The rate in (0, 1] of each label, (K,)."""
    name, remedy = "class_keep_rates", "pass one rate of all negatives as negative_keep_rate="
    as_mapping = f"write {{{', '.join(f'{shown(label)}: rate' for label in labels)}}}"
    class_keep_rates = _checks.by_name(name, class_keep_rates)
    if isinstance(class_keep_rates, list | tuple | np.ndarray):
        remedy = as_mapping
    if not isinstance(class_keep_rates, Mapping):
        raise TypeError(
            f"{name} must be a mapping {{label: rate}}, as measured_keep_rates gives it, found "
            f"{shown(class_keep_rates)}: {remedy}"
        )
    if set(class_keep_rates) != set(labels):
        raise ValueError(
            f"{name} must have a rate for each of the labels {shown(labels)} and no other, found "
            f"{shown(sorted(class_keep_rates, key=str))}: {as_mapping}, 1 for a label that is kept "
            "whole"
        )
    return np.array([
        _checks.keep_rate(f"{name}[{shown(label)}]", class_keep_rates[label]) for label in labels
    ])  # fmt: skip


def row_rates(rate: Any, rows: LabelledRows) -> float | Array:
    """The rate of each row of weight above 0, from what :func:`read_rates` gives for all rows."""
    if np.ndim(rate) == 0:
        found: float | Array = float(rate)
    else:
        rates = _checks.keep_rates("keep_rate", rate)
        _checks.same_length("keep_rate", rates, "the labels", rows.given)
        found = np.asarray(rates[rows.kept])
    if len(rows.y) and np.min(found) < 1:
        Sampling(weights=rows.w, positive=rows.y == 1, rate=found)
    return found


def sampling_offset(
    negative_keep_rate: float | None, keep_rate: ArrayLike | None,
    class_keep_rates: Mapping[Any, float] | None, rows: LabelledRows,
) -> float | Array:  # fmt: skip
    """What a row's log-odds in the sample are above those in the population, -log r: a float if all
    rows have the same rate r, else (n,), of the rows of weight above 0."""
    r = row_rates(read_rates(negative_keep_rate, keep_rate, class_keep_rates), rows)
    if class_keep_rates is None and np.min(r) < 1:
        P, negative = float(rows.w @ rows.y), rows.w * (1 - rows.y)
        kept = float(negative.sum())
        Sampling(
            name="the rate", thinned=0, rows_of=(np.inf, P), kept=kept,
            rate=kept / float((negative / r).sum()) if kept else 1.0,
            to_name="pass the rates by name, class_keep_rates={label: rate, other label: 1}",
        )  # fmt: skip
    if isinstance(r, np.ndarray) and (r == r[0]).all():
        r = float(r[0])
    if not isinstance(r, np.ndarray):
        return -math.log(r)
    _checks.rates_by_row_alone("keep_rate", r < 1, rows.y == 1, "negative_keep_rate=")
    return -np.log(r)


def check_both_labels(name: str, rows: LabelledRows) -> None:
    if rows.y.min() == rows.y.max():
        some = "" if len(rows.y) == rows.given else " among rows of weight above 0"
        found = f"the single class {rows.y[0]:g}{some}"
        raise ValueError(f"{name} holds {found}: there must be rows of both labels")


def check_weights_count_rows(least: float, where: str = "") -> None:
    """Raise if a label weighs less than the one row that is added to it."""
    if least < 1:
        raise ValueError(
            f"sample_weight sums to {least:g} for one label, less than a row{where}: multiply the "
            "weights so that they count rows"
        )


ROUND_OFF = 1e-9  # of scores, in log-odds or relative to the largest


def is_one_score(score: Array, size: float | None = None) -> bool:
    """Whether finite scores differ by round-off only."""
    low, high = score.min() / 2, score.max() / 2  # whose difference does not overflow
    return bool(high - low <= ROUND_OFF * (max(-low, high) if size is None else size))


def group_ties(rows: LabelledRows) -> tuple[Array, Array, Array]:
    """The d distinct scores, rising, and the weight of label 1 and of label 0 at each."""
    w = rows.weight
    order = np.argsort(rows.p)
    s = rows.p[order]
    new = s[1:] != s[:-1]
    first = None if new.all() else np.append(0, np.flatnonzero(new) + 1)
    p = s if first is None else s[first]
    del s, new

    def sums(label: int) -> Array:
        x = np.empty(len(order))
        for at in blocks(order):
            rising = order[at]
            x[at] = w[rising] * (rows.y[rising] == label)
        return x if first is None else np.add.reduceat(x, first)

    return p, sums(1), sums(0)


def sums_by(g: Array, G: int, terms: Callable[[slice], Sequence[Array]]) -> Array:
    """Sums over the rows of each group 0 to G-1 of the k terms of a slice of rows, (k, G)."""
    slices = blocks(g, max(BLOCK_BYTES, g.itemsize * G)) or [slice(0, 0)]
    parts = ([np.bincount(g[at], x, minlength=G) for x in terms(at)] for at in slices)
    total = np.array(next(parts))
    for part in parts:
        total += part
    return total


def sums_of_groups(x: Array, owner: Array, g: Array, G: int) -> Any:
    """Sums of x over the rows of each owner in each group 0 to G-1, sparse (owners, G)."""
    from scipy.sparse import csr_array

    sums = csr_array((x, (owner, g)), (int(owner.max()) + 1, G))
    sums.sum_duplicates()
    return sums
