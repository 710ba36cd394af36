"""Thresholds between two classes that keep bounds: on the rows themselves, or on new ones.

Every metric is looked at in all d+1 cuts. A row is an alert where the second class, the positive
one, is predicted. A guarantee tests cuts in an order that is fixed beforehand, each at the whole
level, up to the first that fails: those that passed are all right with at least that probability
(fixed sequence testing). A *share* is that of the good rows among some, the others are bad. On
either side the rows have a sum A of weights and S of their squares; they are worth n = A^2/S rows
of weight u = S/A (Kish). If the share is at its bound x, the good ones among n1 + n0 are binomial,
with the odds x/(1-x) u0/u1, and a share that is as good or better has the probability ::

    p = P(Bin(n1 + n0, q) >= n1) = I_q(n1, n0 + 1)

That is exact where rows weigh 1, and also where negatives weigh 1/r as they were kept at rate r.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import cached_property, partial
from typing import Any

import numpy as np

from gbdt_objectives import _checks
from gbdt_objectives._checks import Array, Sampling, shown
from gbdt_objectives._rows.rows import blocks, from_zero
from gbdt_objectives.metrics import ClassMetric
from gbdt_objectives.thresholds import methods
from gbdt_objectives.thresholds.methods import Scored, Target, resolve_metric
from gbdt_objectives.thresholds.qwk import LAST_DIGITS
from gbdt_objectives.thresholds.rows import (
    Bins,
    ScoredRows,
    Thresholds,
    cut_to_threshold,
    last_of_ties,
)

FIRST, LEAST = 20, 2  # alerts, and least false alerts, of a first test: experiments/precision_start
SEEN = 5  # alerts that are enough to say how precise those of more rows would be
POWER = 0.84  # standard errors beside those of the level, of a test that passes in four of five
NINE_DIGITS = 2.5e-8  # scores that are nearer, relatively, may be equal when written in nine digits
STEP = 2.0**-23  # of float32, relative: programs may keep scores and thresholds in it
ZERO = 1e-9  # of the greatest score: what a score near 0 is near to


@dataclass(frozen=True)
class Limits:
    """Bounds of metrics, all to be kept; with a ``level`` by new rows, at that confidence."""

    bounds: tuple[tuple[ClassMetric, float], ...]
    level: float | None
    first_test: int | None = None

    def start(self, x: float, r: float) -> int:
        """False alerts that the first test of a precision allows: never of the labels it tests.

        If it allowed two, it would see 5 alerts at a bound of 0.15, and fail by chance. Those of
        20 alerts give it power; 50 alerts are more than 50 positives can show.
        """
        if self.first_test is not None:
            return self.first_test
        false = (1 - x) * r
        return max(LEAST, math.ceil(round(FIRST * false / (false + x), 9)))

    def place(self, rows: Scored, metric: ClassMetric, r: float, owner: Array | None) -> Array:
        """The threshold of the best metric, and then of the fewest alerts, of those that keep all
        bounds. ``r``: the rate at which negatives were kept; ``owner``: the group of each row."""
        pools, factor = rows.class_curve, np.array([1 / r, 1.0])
        C, tests = pools.C if r == 1 else pools.C * factor[:, None], []
        low, high = pools.low, pools.high
        if self.level is None:
            place = cut_to_threshold
            kept = [by_block(partial(keeps, m, bound), C) for m, bound in self.bounds]
        else:
            low, high, cuts = pool_as_written(low, high)
            sums = np.stack([C, rows.squares_below * factor[:, None] ** 2])[..., cuts]
            C = sums[0]
            delta = (1 - self.level) / len(self.bounds)
            tests = [ShareTest(m, x, sums, delta, self.start(x, r)) for m, x in self.bounds]
            if owner is not None:
                assert isinstance(rows, ScoredRows)
                tests = [test.of_groups(rows, factor, owner, cuts) for test in tests]
            place, kept = just_above, [test.passed for test in tests]
        allowed = np.logical_and.reduce(kept)
        if not allowed.any():
            best_one, cut = self._nearest(kept, C)
            t = cut_to_threshold(low, high, np.array([cut]))[0]
            others = " where the others are kept" if len(kept) > 1 else ""
            nearest = (
                f"the best {best_one.name}{others} is {best_one.of_every_cut(C)[0][cut]:.6g}, at "
                f"the threshold {t:.6g}"
            )
            unknown = [test.reason for test in tests if not test.passed.any()]
            where = f" on new rows at confidence_level={self.level:g}" if tests else ""
            why = "; ".join(unknown) or ("each can, but not together" if tests else nearest)
            why += with_more_rows(tests)
            raise ValueError(
                f"constraints {said(self.bounds)} cannot be kept{where}: {why}; loosen a bound or "
                "improve the model"
            )
        value = np.where(allowed, by_block(partial(goodness, metric), C), -np.inf)
        best = value.max()
        last = np.flatnonzero(allowed & (value >= best - LAST_DIGITS * abs(best)))[-1:]
        return place(low, high, last)

    def _nearest(self, kept: list[Array], C: Array) -> tuple[ClassMetric, int]:
        """The first metric whose best, where the others are kept, says how far it is; its cut."""
        for k, (metric, _) in enumerate(self.bounds):
            others = np.logical_and.reduce([np.ones(C.shape[1], bool), *kept[:k], *kept[k + 1 :]])
            value = np.where(others, goodness(metric, C), -np.inf)
            if value.max() > -np.inf:
                return metric, int(np.argmax(value))
        metric = self.bounds[0][0]
        return metric, int(np.argmax(goodness(metric, C)))


def said(bounds: tuple[tuple[ClassMetric, float], ...]) -> str:
    signs = ("<=", ">=")
    return " and ".join(f"{m.name} {signs[m.greater_is_better]} {x:g}" for m, x in bounds)


def goodness(metric: ClassMetric, C: Array) -> Array:
    """The metric at every cut, negated if smaller is better; -inf where it is 0/0."""
    value, _ = metric.of_every_cut(C)
    return np.where(np.isnan(value), -np.inf, value if metric.greater_is_better else -value)


def by_block(of_cuts: Callable[[Array], Array], C: Array) -> Array:
    """What a function of weights below cuts and in all says of every cut; blocks fit a cache."""
    parts = (np.append(C[:, cuts], C[:, -1:], axis=1) for cuts in blocks(C[0]))
    return np.concatenate([of_cuts(part)[:-1] for part in parts])


def keeps(metric: ClassMetric, bound: float, C: Array) -> Array:
    """At which cuts a metric keeps its bound, up to how sums of weights round."""
    value, below = metric.of_every_cut(C)
    slack = (value - bound if metric.greater_is_better else bound - value) * below
    return np.asarray(slack >= -LAST_DIGITS * max(1.0, abs(bound)) * C[:, -1].sum())


def pool_as_written(low: Array, high: Array) -> tuple[Array, Array, Array]:
    """Pools that stay apart where scores are written as float32 or with nine digits, of which the
    others are ties; the ranges of what is written; and the cuts between them."""
    below, above = high[:-1].astype(np.float64), low[1:].astype(np.float64)
    inside = below < above  # bins with edges may share one, which parts them
    with np.errstate(over="ignore"):
        short = [x.astype(np.float32).astype(np.float64) for x in (below, above)]
    below = np.where(inside, np.maximum(below, short[0]), below)
    above = np.where(inside, np.minimum(above, short[1]), above)
    cut = np.flatnonzero(~inside | (above - below > NINE_DIGITS * size(below, high)))
    ends = np.append(below[cut], high[-1:].astype(np.float64))
    return np.append(low[:1], above[cut]), ends, np.concatenate([[0], cut + 1, [len(low)]])


def size(score: Array, scores: Array) -> Array:
    """How great a score is, beside others if it is near 0."""
    greatest = np.abs(scores[np.isfinite(scores)]).max(initial=0)
    return np.asarray(np.maximum(np.abs(score), ZERO * greatest))


def just_above(low: Array, high: Array, cuts: Array) -> Array:
    """A threshold above the pool below each cut, so that the rows above are a random sample: a step
    of float32 higher, or midway to the next, where both keep their side however written."""
    found = np.where(cuts == 0, -np.inf, np.inf)
    inside = cuts[cuts > 0]
    below, above = high[inside - 1], np.append(low, np.inf)[inside]
    found[cuts > 0] = np.minimum(below + STEP * size(below, high), 0.5 * below + 0.5 * above)
    return found


@dataclass(frozen=True, eq=False)
class ShareTest:
    """A share that is to keep its bound at all cuts of a sequence that passed. ``sums``: of weights
    and squared weights of each class below each cut, (2, 2, d+1); ``effect``: of design."""

    metric: Any
    bound: float
    sums: Array
    delta: float
    start: int
    effect: Array | float = 1.0

    @property
    def x(self) -> float:
        """The least share of good rows."""
        return self.bound if self.metric.greater_is_better else 1 - self.bound

    @cached_property
    def sides(self) -> tuple[Array, Array]:
        """Which rows are good and bad, [true, predicted]."""
        F, G = self.metric.ratio_costs(self.sums[0, :, -1])
        return G - F, F

    @property
    def starts_without_alerts(self) -> bool:
        """Whether all rows that it counts are good, or there are none, if none is an alert."""
        return bool(self.sides[1][:, 1].any())

    @property
    def counts_alerts(self) -> bool:
        """Whether the rows that it counts are the alerts alone, so that it is not monotone."""
        good, bad = self.sides
        return not (good + bad)[:, 0].any()

    @cached_property
    def worth(self) -> tuple[Array, Array, float, Array]:
        """Rows that the good and the bad are worth at each cut, and q, of all rows and there."""
        n, units = [], []
        for M in self.sides:
            A, S = (self.metric.at_every_cut(M, C) for C in self.sums)
            most = np.argmax(A)
            some = np.flatnonzero(LAST_DIGITS * A[most] < A)
            near = np.clip(np.arange(len(A)), some[0], some[-1])  # where there are none: the next
            unit = S[near] / A[near]
            n.append(np.where(LAST_DIGITS * A[most] < A, A / unit, 0.0) / self.effect)
            units.append((S[most] / A[most], unit))
        q = [self.x * b / (self.x * b + (1 - self.x) * a) for a, b in zip(*units, strict=True)]
        return *n, *q

    def p_values(self, cuts: Array) -> Array:
        from scipy.special import betainc

        n1, n0, _, q = self.worth
        some, a = n1[cuts] > 0, np.where(n1 > 0, n1, 1.0)[cuts]
        return np.where(some, betainc(a, n0[cuts] + 1, q[cuts]), 1.0)

    def sequence(self, start: int, end: int) -> Array:
        """Cuts with m_j alerts or more, of which j or fewer are bad with probability delta."""
        from scipy.stats import nbinom

        n1, n0, q, _ = self.worth
        j = self.start + np.arange(start, end)
        m = j + 1 + nbinom.ppf(1 - self.delta, j + 1, 1 - q)
        alerts = np.maximum.accumulate((n1 + n0)[::-1])
        at: Array = np.searchsorted(alerts, m * (1 - LAST_DIGITS))
        return np.asarray(len(alerts) - 1 - at[at < len(alerts)])

    @cached_property
    def passed(self) -> Array:
        """Which cuts passed, (d+1,)."""
        found = np.zeros(self.sums.shape[-1], bool)
        if not self.counts_alerts:  # monotone: what is on the safe side of one that passed has, too
            right = self.p_values(np.arange(len(found))) <= self.delta
            if self.starts_without_alerts:
                return np.logical_or.accumulate(right)
            return np.logical_or.accumulate(right[::-1])[::-1]
        start, size = 0, 256
        while len(cuts := self.sequence(start, start + size)):
            right = self.p_values(cuts) <= self.delta
            n = len(right) if right.all() else int(np.argmin(right))
            found[cuts[:n]] = True
            if n < size:
                break
            start, size = start + size, 2 * size
        return found

    def of_groups(self, rows: ScoredRows, factor: Array, owner: Array, cuts: Array) -> ShareTest:
        """The test where outcomes of a group depend: excess variance by group over that of rows."""
        good, bad = self.sides
        residual = (1 - self.x) * good - self.x * bad
        no_alerts, y = self.starts_without_alerts, rows.position
        first, last = residual.T if no_alerts else residual.T[::-1]
        v = factor[y] if rows.weight is None else factor[y] * rows.weight
        walk = slice(None, None, -1 if no_alerts else 1)  # rows as the cut passes them
        before, step = v * first[y], v * (last - first)[y]
        together = squares_of_groups(owner[walk], before[walk], step[walk])
        passed = np.append(0, last_of_ties(rows.score) + 1)[cuts]
        S1, S0 = (self.metric.at_every_cut(M, self.sums[1]) for M in self.sides)
        alone = (1 - self.x) ** 2 * S1 + self.x**2 * S0
        found = together[len(y) - passed if no_alerts else passed]
        effect = np.divide(found, alone, out=np.ones(len(alone)), where=alone > 0)
        return replace(self, effect=np.maximum(effect, 1.0))

    @property
    def needs(self) -> int:
        """Of how many rows the first test is; others: how many there must be."""
        from scipy.stats import nbinom

        q = self.worth[2]
        if self.counts_alerts:
            return self.start + 1 + int(nbinom.ppf(1 - self.delta, self.start + 1, 1 - q))
        return math.ceil(math.log(self.delta) / math.log(q))

    @property
    def reason(self) -> str:
        """Why no cut passed."""
        n1, n0, *_ = self.worth
        n = n1 + n0
        if not self.counts_alerts:
            return f"{self.metric.name} needs {self.needs} rows of its class, found {n[0]:.4g}"
        found = f"there are {n[0]:.4g} rows"
        for first in self.sequence(0, 1):
            found = f"here {n0[first]:.4g} of {n[first]:.4g} are"
        return (
            f"the first test of {self.metric.name} is that at most {self.start} of {self.needs} "
            f"alerts are false: {found}"
        )


def with_more_rows(tests: list[ShareTest]) -> str:
    """How many more rows of the same kind would do, as copies that do not depend on each other:
    with some power, if any, or just."""
    from scipy.special import ndtr, ndtri

    test = next((test for test in tests if test.counts_alerts), None)
    if test is None:
        return ""
    n = test.worth[0] + test.worth[1]
    least = min(SEEN, n.max())
    seen = n >= least
    for power in (POWER, 0.0):
        own = [replace(one, delta=ndtr(ndtri(one.delta) - power)) for one in tests]
        k, most = 1.0, max(one.needs for one in own) / SEEN
        while k < most:
            k = math.ceil(11 * k) / 10
            more = [replace(one, effect=one.effect / k).passed for one in own]
            if (at := np.logical_and.reduce([seen, *more])).any():
                A, S = test.sums[:, 1, -1]
                return (
                    f"; if more rows are as precise as the {n[at].max():.4g} highest scores, {k:g} "
                    f"times as many would do: {math.ceil(k * A**2 / S)} positives"
                )
    best = np.where(seen, test.metric.of_every_cut(test.sums[0])[0], 0.0).max()
    few = f"; the best {test.metric.name} of {least:.4g} alerts or more is {best:.4g}"
    if best <= test.bound:
        return f"{few}, so no number of rows of this kind would do"
    return f"{few}: more rows and a greater first_test may do" if len(tests) == 1 else ""


def squares_of_groups(owner: Array, value: Array, step: Array) -> Array:
    """The sum over groups of their squared sums, after each of 0..n rows' value has made a step."""
    order = np.argsort(owner, kind="stable")
    own, s = owner[order], step[order]
    new = np.append(True, own[1:] != own[:-1])
    before = np.cumsum(s) - s
    before -= before[new][np.cumsum(new) - 1]
    sums = np.bincount(owner, value)
    grown = np.empty(len(s))
    grown[order] = (2 * (sums[own] + before) + s) * s
    return sums @ sums + from_zero(grown)


def read_limits(
    constraints: Mapping[Any, float] | None, confidence_level: float | None, groups: Any,
    method: str | None, metric: Target, r: float,
) -> Limits | None:  # fmt: skip
    """Checked arguments of ``optimize_thresholds``; None without constraints."""
    if constraints is None:
        other = (
            "for each group's own take fit_segment_shift(y_true, score, segments), for honest "
            "scores cross_validate_thresholds(groups=)"
        )
        for name, value in (("confidence_level", confidence_level), ("groups", groups)):
            if value is not None:
                raise ValueError(
                    f"{name} is for what constraints promise on new rows: pass constraints="
                    f"{{'precision': 0.9}}; {other if name == 'groups' else 'or leave it out'}"
                )
        return None
    if not isinstance(constraints, Mapping) or not constraints:
        raise TypeError(
            f"constraints must be a mapping {{metric: bound}}, found {shown(constraints)}: write "
            "for instance {'precision': 0.9}"
        )
    if not isinstance(metric, ClassMetric) or method not in (None, "exact"):
        found = f"method={method!r}" if isinstance(metric, ClassMetric) else "a function as metric"
        raise ValueError(
            f"constraints are kept by looking at every cut, which method='exact' does, found "
            f"{found}: leave method out, and pass a metric by its name, such as 'recall'"
        )
    bounds = tuple(read_bound(*item) for item in constraints.items())
    if confidence_level is None:
        if groups is not None:
            raise ValueError("groups matter to confidence_level only: pass both or neither")
        return Limits(bounds, None)
    level = _checks.confidence_level("confidence_level", confidence_level, usual=0.9)
    for m, bound in bounds:
        why = ""
        if not getattr(m, "is_share", False):
            why = "is no share of rows: of precision, recall, false_positive_rate and alert_rate"
        elif m.name == "alert_rate" and r < 1:
            why = "of rows whose negatives were sampled tells nothing of all: of all rows"
        elif not 0 < bound < 1:
            why = f"cannot be known to be {bound:g} in every row: of a bound inside (0, 1)"
        if why:
            raise ValueError(
                f"confidence_level: {m.name} {why} there are guarantees, leave confidence_level or "
                "this constraint out"
            )
    return Limits(bounds, level)


def read_bound(key: Any, bound: Any) -> tuple[ClassMetric, float]:
    metric = resolve_metric(key)
    if not isinstance(metric, ClassMetric):
        raise TypeError(f"constraints must be of metrics of classes, found {shown(key)}")
    name = f"constraints[{shown(metric.name)}]"
    x = _checks.number(name, bound)
    if getattr(metric, "is_share", False) and not 0 <= x <= 1:
        raise ValueError(f"{name} must be in [0, 1], found {x:g}: 0.02 is 2 %")
    return metric, x


def read_rate(negative_keep_rate: float | None, target_prior: Any, level: Any) -> float:
    """The rate at which negatives were kept, 1 for None."""
    if target_prior is not None:
        rivals = {"negative_keep_rate": negative_keep_rate, "confidence_level": level}
        for name, value in rivals.items():
            if value is not None:
                raise ValueError(
                    f"target_prior and {name} are both given: the prior already says how frequent "
                    "each class is, and rows weighed by it promise nothing; leave one of them out"
                )
    if negative_keep_rate is None:
        return 1.0
    return _checks.keep_rate("negative_keep_rate", negative_keep_rate)


def find_within_limits(
    method: str, rows: Scored, metric: Target, limits: Limits | None, r: float,
    owner: Array | None = None, first_test: int | None = None, **search: Any,
) -> Thresholds:  # fmt: skip
    """Thresholds within limits, if there are any, of rows whose negatives were kept at rate r."""
    if first_test is not None:
        first_test = _checks.whole_number("first_test", first_test, 0)
        bounds = limits.bounds if limits and limits.level else ()
        if not any(m.name == "precision" for m, _ in bounds):
            raise ValueError(
                "first_test is for a precision on new rows: pass constraints={'precision': 0.5} "
                "and confidence_level=0.9, or leave it out"
            )
    metric = methods.of_labels(metric, rows.labels)
    if (limits or r < 1) and len(rows.labels) != 2:
        raise ValueError(
            f"{'constraints' if limits else 'negative_keep_rate'} must be for two classes, found "
            f"{len(rows.labels)}: say which, labels=[negative, positive]"
        )
    if r < 1:
        kept, positives = rows.class_weight
        Sampling(
            name="negative_keep_rate", thinned=rows.labels.tolist()[0], rows_of=(np.inf, positives),
            kept=kept, rate=r, to_name="list it first, labels=[negative, positive]",
        )  # fmt: skip
        if isinstance(rows, ScoredRows) and (w := rows.weight) is not None:
            own = w if rows.copies is None else w / rows.copies
            Sampling(weights=own, positive=rows.position == 1, rate=r)
        elif isinstance(rows, Bins) and (w := rows.row_weight) is not None:
            Sampling(weights=w, positive=np.array([False, True]), rate=r)
    if limits is None:
        whole = rows if r == 1 else rows.reweighted_classes(np.array([1 / r, 1.0]))
        return methods.find_thresholds(method, whole, metric, **search)
    assert isinstance(metric, ClassMetric)
    bounds = tuple((own._of_labels(rows.labels), bound) for own, bound in limits.bounds)
    limits = replace(limits, bounds=bounds, first_test=first_test)
    return methods.with_warnings("exact", limits.place(rows, metric, r, owner), rows, metric)
