"""The room of thresholds: every possible cut, in fractions."""

from __future__ import annotations

import itertools
import math
from fractions import Fraction
from typing import Any

import numpy as np
from mpmath import mp

from gbdt_objectives import metrics, thresholds
from tests.fuzz.exact import counted, fraction, fractions, mean, real, weights_of
from tests.fuzz.generators import Array, Draw
from tests.fuzz.harness import Arguments, Holds, Near, Outside, Same, Unclear
from tests.fuzz.metrics import (
    DOWN,
    NAMES,
    ROW_SHARES,
    TWO,
    Counts,
    class_value,
    cost_of,
    make_metric,
)

SHARES = ("matthews", "macro_f1", "g_mean")
"""Metrics whose best thresholds of several classes nobody knows; of decisions, see
tests/thresholds."""
COSTS = ("cost", "kappa_cost", "f_beta")
METHODS = ("plugin", "curved", "exact", "nelder-mead", "rounding")


class Pools:
    """The exact weight of each class at each distinct score of the rows that count."""

    def __init__(self, y: list[int], s: list[Fraction], w: list[Fraction], K: int) -> None:
        self.K, self.scores = K, sorted(set(s))
        at = {x: i for i, x in enumerate(self.scores)}
        self.weight = [[Fraction(0)] * K for _ in self.scores]
        for k, x, v in zip(y, s, w, strict=True):
            self.weight[at[x]][k] += v

    def counts(self, cuts: tuple[int, ...]) -> Counts:
        C = [[Fraction(0)] * self.K for _ in range(self.K)]
        for i, own in enumerate(self.weight):
            p = sum(c <= i for c in cuts)
            for k, v in enumerate(own):
                C[k][p] += v
        return C

    def cuts_of(self, found: Any) -> tuple[int, ...]:
        """How many pools lie below each threshold."""
        return tuple(
            sum(x < t for x in self.scores)
            for t in (v if math.isinf(v) else fraction(v) for v in np.asarray(found).tolist())
        )

    def cuts_of_exact(self, t: list[Fraction]) -> tuple[int, ...]:
        return tuple(sum(x < value for x in self.scores) for value in t)

    def value(self, metric: str, parameter: Any, cuts: tuple[int, ...]) -> Any:
        """Greater is better; None where it is 0/0."""
        value, _ = class_value(metric, parameter, self.counts(cuts))
        return value if value is None else (-real(value) if metric in DOWN else real(value))

    def best(self, metric: str, parameter: Any) -> Any:
        every = itertools.combinations_with_replacement(range(len(self.scores) + 1), self.K - 1)
        values = [self.value(metric, parameter, cuts) for cuts in every]
        return max(v for v in values if v is not None)


def draw_optimize(draw: Draw) -> Arguments:
    metric = draw.of([*NAMES, *COSTS, "qwk", "qwk", "qwk", "qwk"])
    K = 2 if metric in (*TWO, *SHARES) and draw.chance(0.9) else draw.of([2, 3, 3, 4])
    n = draw.between(2, 7 if K == 4 else 10)
    s = draw.scores(n)
    if draw.chance(0.5):  # more rows, of few scores
        s = draw.rng.choice(np.unique(s)[:6], draw.rows(40, 40, least=K))
        n = len(s)
    names = list(range(K)) if draw.chance(0.6) else draw.names(K)
    position = draw.positions(n, K)
    if draw.chance(0.6):  # the score tells something
        order = np.argsort(np.argsort(s, kind="stable"), kind="stable")
        position = np.minimum(K * (order + draw.rng.normal(size=n)).clip(0, n - 1) / n, K - 1)
        position = position.astype(int)
    y = np.array(names)[position]
    matrix = draw.rng.integers(0, 4, (K, K)) + 1.0
    np.fill_diagonal(matrix, 0)
    parameter = {"f_beta": 2.0, "cost": matrix.tolist(), "kappa_cost": matrix.tolist()}.get(metric)
    methods: list[Any] = ["exact", "exact", None, "nelder-mead", "rounding"]
    if metric == "qwk":
        methods += ["plugin", "plugin", "curved"]
    prior = None
    present = sorted(set(position.tolist()))
    if draw.chance(0.2):
        tau = draw.rng.dirichlet(np.full(len(present), 4.0))
        prior = {names[k]: t for k, t in zip(present, tau.tolist(), strict=True)}
    return {
        "y_true": y, "score": s, "labels": names, "sample_weight": draw.calm_weights(n),
        "metric": metric, "parameter": parameter, "method": draw.of(methods), "prior": prior,
        "cut": draw.below(n + 1),
    }  # fmt: skip


def optimize(
    y_true: Any, score: Any, labels: Any, sample_weight: Any, metric: str, parameter: Any,
    method: Any, prior: Any, cut: int,
) -> Any:  # fmt: skip
    made = make_metric(metric, parameter, None, None)
    found = thresholds.optimize_thresholds(
        y_true, score, labels=labels, sample_weight=sample_weight, metric=made, method=method,
        target_prior=prior,
    )  # fmt: skip
    again = found
    if method in (None, "exact", "plugin"):
        empty = thresholds.ThresholdStatistics.empty(labels)
        halves = [
            empty.add(y_true[s], score[s], None if sample_weight is None else sample_weight[s])
            for s in (slice(0, cut), slice(cut, None))
        ]
        again = (halves[0] + halves[1]).thresholds(method=method, metric=made, target_prior=prior)
    return {"values": found.values, "again": again.values}


def read_rows(
    y_true: Any, score: Any, labels: Any, sample_weight: Any, prior: Any
) -> tuple[list[int], list[Fraction], list[Fraction], int]:
    n = len(y_true)
    order = list(labels)
    y = [order.index(v) for v in y_true.tolist()]
    w, some = weights_of(sample_weight, n), counted(sample_weight, n)
    if prior is not None:
        class_weight = [sum(w[i] for i in some if y[i] == k) for k in range(len(order))]
        for k, label in enumerate(order):
            if (prior.get(label, 0) > 0 and not class_weight[k]) or (
                class_weight[k] and label not in prior
            ):
                raise Outside("target_prior|y_true")
        w = [
            v * fraction(prior.get(order[k], 0)) / class_weight[k] if v else v
            for v, k in zip(w, y, strict=True)
        ]
        some = [i for i in some if w[i] > 0]
    if len(some) < len(order) or len({y[i] for i in some}) < 2:
        raise Outside("y_true|statistics")
    s = fractions(score)
    return [y[i] for i in some], [s[i] for i in some], [w[i] for i in some], len(order)


def optimize_reference(
    y_true: Any, score: Any, labels: Any, sample_weight: Any, metric: str, parameter: Any,
    method: Any, prior: Any, cut: int,
) -> Any:  # fmt: skip
    if method == "rounding" and not all(isinstance(x, int | float) for x in labels):
        raise Outside("rounding|y_true")
    if method == "rounding":  # which fits nothing to the rows
        if prior is not None:
            raise Unclear
        t = [(fraction(a) + fraction(b)) / 2 for a, b in itertools.pairwise(labels)]
        return {"values": [Near(x) for x in t], "again": [Near(x) for x in t]}
    y, s, w, K = read_rows(y_true, score, labels, sample_weight, prior)
    if metric in TWO and K != 2:
        raise Outside("metric")
    pools = Pools(y, s, w, K)
    chosen = method or ("plugin" if metric == "qwk" else "exact")
    if metric in SHARES and K > 2 and chosen == "exact":
        raise Outside("metric")
    if metric == "kappa_cost":
        true, c = (
            [sum(v for v, k in zip(w, y, strict=True) if k == j) for j in range(K)],
            cost_of(metric, parameter, K),
        )
        if not min(sum(true[i] * c[i][j] for i in range(K)) for j in range(K)):
            raise Outside("cost")
    if chosen in ("plugin", "curved"):
        check_rises(pools)
    best = pools.best(metric, parameter)
    size = 1 + max(abs(v) for row in parameter for v in row) if metric == "cost" else 1

    def good(found: Any) -> bool:
        found = np.asarray(found)
        if len(found) != K - 1 or not (found[1:] >= found[:-1]).all():
            return False
        value = pools.value(metric, parameter, pools.cuts_of(found))
        if value is None or value > best + 1e-12:
            return False
        if chosen == "exact":
            return bool(value >= best - 1e-9 * size)
        if chosen == "nelder-mead":  # never worse than where it starts
            numbers = all(isinstance(x, int | float) for x in labels)
            start = [(a + b) / 2 for a, b in itertools.pairwise(labels)] if numbers else None
            first = pools.value(metric, parameter, pools.cuts_of(start)) if start else None
            return first is None or bool(value >= first - 1e-9 * size)
        if value >= best - 1e-9:
            return True
        if chosen == "plugin" and not np.allclose(
            np.diff(found), np.diff(found)[:1] if K > 2 else 0, rtol=1e-5, atol=0
        ):
            return False
        return bool(value > 0)

    says = f"thresholds of {chosen}, of which the best give {mp.nstr(best, 17)}"
    holds: Any = Holds(says, good)
    if chosen == "plugin" and (line := plain_line(pools)) is not None:
        t = iterated(pools, *line)
        if t is not None:
            spread = pools.scores[-1] - pools.scores[0]
            holds = [Near(x, 1e-7 * real(spread) + 1e-13 * abs(real(x))) for x in t]
    return {"values": holds, "again": holds}


def check_rises(pools: Pools) -> None:
    """Refuse scores that fall as the class rises; leave open what only the middle half tells."""
    n = [sum(own) for own in pools.weight]
    S = [sum(k * v for k, v in enumerate(own)) for own in pools.weight]
    W, below = sum(n), Fraction(0)
    mu, covariance = sum(S) / W, Fraction(0)
    if len(pools.scores) == 1:
        return
    for v, s in zip(n, S, strict=True):
        covariance += (2 * below + v - W) * (s - mu * v)
        below += v
    spread = pools.scores[-1] - pools.scores[0]
    if covariance <= 0:
        raise Outside("score")
    if spread < abs(pools.scores[0]) * Fraction(1, 10**6):
        raise Unclear
    if slope_and_level(pools)[0] <= 0 or covariance < W * W * Fraction(1, 10**9):
        raise Unclear


def slope_and_level(
    pools: Pools, first: int = 0, end: int | None = None
) -> tuple[Fraction, Fraction]:
    """Least squares of the class position on the score, over some of the pools."""
    scores, weight = pools.scores[first:end], pools.weight[first:end]
    n = [sum(own) for own in weight]
    m = [sum(k * v for k, v in enumerate(own)) / x for own, x in zip(weight, n, strict=True)]
    s_mean, y_mean = mean(scores, n), mean(m, n)
    var = mean([(s - s_mean) ** 2 for s in scores], n)
    slope = mean([(s - s_mean) * k for s, k in zip(scores, m, strict=True)], n) / var
    return slope, y_mean - slope * s_mean


def plain_line(pools: Pools) -> tuple[Fraction, Fraction] | None:
    """The line of all rows, where the rule has no other: it stays within the classes, and so does
    that of the middle half, unless it falls."""
    if len(pools.scores) == 1:
        return None

    def within(line: tuple[Fraction, Fraction]) -> bool:
        ends = [line[1] + line[0] * s for s in (pools.scores[0], pools.scores[-1])]
        return min(ends) > 0 and max(ends) < pools.K - 1

    below = [Fraction(0), *itertools.accumulate(sum(own) for own in pools.weight)]
    i, j = (sum(x < below[-1] * share for x in below) for share in (Fraction(1, 4), Fraction(3, 4)))
    line = slope_and_level(pools)
    if j - i > 1:
        middle = slope_and_level(pools, i, j)
        if middle[0] > 0 and not within(middle):
            return None
    return line if within(line) else None


def useless(R: Fraction) -> bool:
    """Whether classes do no better than one for all rows."""
    spread = 1 - R
    return spread * 10**12 <= 1


def iterated(pools: Pools, slope: Fraction, level: Fraction) -> list[Fraction] | None:
    """Where the line passes t_c = (c - 1/2)(1 - R) + R mu, R iterated; None where it is exact
    thresholds, or a score is so near to one that rounding decides."""
    K = pools.K
    own = [sum(row[k] for row in pools.weight) for k in range(K)]
    mu = mean(list(range(K)), own)
    var = mean([(k - mu) ** 2 for k in range(K)], own)
    n = [sum(row) for row in pools.weight]
    s_mean = mean(pools.scores, n)
    spread = mean([(s - s_mean) ** 2 for s in pools.scores], n)
    correlation = real(slope) * mp.sqrt(real(spread / var))
    start = Fraction(float(min(max(0, 1 - correlation), 1)))
    met: dict[Fraction, list[Fraction]] = {}
    visited: list[tuple[Fraction, list[Fraction]]] = []
    for first in (start, Fraction(1)):
        R, seen = first, set[Fraction]()
        while R not in seen and len(seen) < 50:
            seen.add(R)
            t = [((c - Fraction(1, 2)) * (1 - R) + R * mu - level) / slope for c in range(1, K)]
            if any(abs(x - s) < Fraction(1, 10**9) * (pools.scores[-1] - pools.scores[0])
                   for x in t for s in pools.scores):  # fmt: skip
                raise Unclear
            value, _ = class_value("qwk", None, pools.counts(pools.cuts_of_exact(t)))
            R = 1 - Fraction(value)
            met.setdefault(R, t)
            visited.append((R, t))
            if useless(R):
                break
        if not useless(R):
            break
    least = min(met)
    same = [t for R, t in visited if R - least < Fraction(1, 10**12)]
    if any(t != same[0] for t in same):  # of the same value, of which rounding prefers one
        raise Unclear
    return None if useless(least) else met[least]


def draw_curved(draw: Draw) -> Arguments:
    n, K = draw.between(20, 40), draw.of([2, 3])
    s = draw.rng.choice(np.sort(draw.rng.normal(size=draw.of([6, 12]))), n)
    bent = draw.of([np.tanh, np.exp, np.abs])(s)
    y = np.floor(K / 2 + bent - 0.5 + draw.of([0.3, 1.0]) * draw.rng.normal(size=n))
    y = y.clip(0, K - 1).astype(int)
    return {
        "y_true": y, "score": s, "labels": list(range(K)), "sample_weight": draw.calm_weights(n),
        "metric": "qwk", "parameter": None, "method": "curved", "prior": None, "cut": 0,
    }  # fmt: skip


# constraints


def draw_limited(draw: Draw) -> Arguments:
    n, r = draw.between(2, 12), draw.of([1.0, 0.5, 0.3, 0.01])
    s = draw.scores(n)
    names = ["f1", "youden", "kappa", "cost", "g_mean", *ROW_SHARES]
    bounds = {m: draw.of([0.0, 0.5, 2 / 3, 1.0, draw.uniform()]) for m in
              draw.rng.choice(names, draw.between(1, 3), replace=False).tolist()}  # fmt: skip
    return {
        "y_true": draw.positions(n, 2), "score": s, "sample_weight": draw.calm_weights(n),
        "metric": draw.of(names), "bounds": bounds, "rate": r, "cut": draw.below(n + 1),
    }  # fmt: skip


COST = [[0.0, 1.0], [2.0, -0.5]]


def limited(
    y_true: Any, score: Any, sample_weight: Any, metric: str, bounds: Any, rate: float, cut: int
) -> Any:
    def made(name: str) -> Any:
        return make_metric(name, COST, None, None)

    options: Any = {
        "metric": made(metric), "constraints": {made(m): x for m, x in bounds.items()},
        "negative_keep_rate": rate,
    }  # fmt: skip
    try:
        found = thresholds.optimize_thresholds(
            y_true, score, labels=[0, 1], sample_weight=sample_weight, **options
        )
    except ValueError as error:
        if "cannot be kept" not in str(error):
            raise
        return {"values": None, "again": None}
    empty = thresholds.ThresholdStatistics.empty([0, 1])
    halves = [
        empty.add(y_true[s], score[s], None if sample_weight is None else sample_weight[s])
        for s in (slice(0, cut), slice(cut, None))
    ]
    return {"values": found.values, "again": (halves[0] + halves[1]).thresholds(**options).values}


def limited_reference(
    y_true: Any, score: Any, sample_weight: Any, metric: str, bounds: Any, rate: float, cut: int
) -> Any:
    y, s, w, K = read_rows(y_true, score, [0, 1], sample_weight, None)
    if rate < 1 and sum(v for v, k in zip(w, y, strict=True) if k) > 10**300:
        raise Unclear
    w = [v if k else v / fraction(rate) for v, k in zip(w, y, strict=True)]
    pools, near = Pools(y, s, w, K), mp.mpf(10) ** -9

    def slack(m: str, x: float, c: int) -> Any:
        value = pools.value(m, COST, (c,))
        return None if value is None else value - (-1 if m in DOWN else 1) * real(fraction(x))

    cuts = range(len(pools.scores) + 1)
    least = []
    for c in cuts:
        found = [slack(m, x, c) for m, x in bounds.items()]
        least.append(-mp.inf if None in found else min(found))
    if any(0 < abs(x) < near for x in least):  # which rounding decides
        raise Unclear
    values = [pools.value(metric, COST, (c,)) for c in cuts]
    kept = [-mp.inf if v is None else v for v, x in zip(values, least, strict=True) if x >= 0]
    if not kept:
        return {"values": Same(None), "again": Same(None)}

    def good(found: Any) -> bool:
        (c,) = pools.cuts_of(found)
        value = -mp.inf if values[c] is None else values[c]
        return bool(least[c] >= 0 and (value == max(kept) or value >= max(kept) - near))

    holds = Holds(f"the best {metric} where {bounds} are kept, {mp.nstr(max(kept), 17)}", good)
    return {"values": holds, "again": holds}


# optimize_multilabel_thresholds


def draw_tags(draw: Draw) -> Arguments:
    n, L = draw.between(1, 6), draw.between(2, 3)
    score = np.stack([draw.scores(n).astype(float) for _ in range(L)], axis=1)
    return {
        "y_true": np.stack([draw.positions(n, 2) for _ in range(L)], axis=1), "score": score,
        "beta": draw.of([0.5, 1, 2]), "sample_weight": draw.calm_weights(n),
    }  # fmt: skip


def tags(y_true: Any, score: Any, beta: float, sample_weight: Any) -> Any:
    return thresholds.optimize_multilabel_thresholds(
        y_true, score, beta=beta, sample_weight=sample_weight
    )


def tags_reference(y_true: Any, score: Any, beta: float, sample_weight: Any) -> Any:
    """Every cut of every label with every other."""
    w = [Fraction(1)] * len(y_true) if sample_weight is None else fractions(sample_weight)
    b2, columns = fraction(beta) ** 2, range(y_true.shape[1])
    P = sum(v * int(k) for v, row in zip(w, y_true.tolist(), strict=True) for k in row)
    if not P:
        raise Outside("y_true")

    def value(t: Any) -> Fraction:
        given = [(score[:, j] >= t[j]).tolist() for j in columns]
        hits = [v * g * int(k) for j in columns
                for v, g, k in zip(w, given[j], y_true[:, j].tolist(), strict=True)]  # fmt: skip
        alerts = [v * g for j in columns for v, g in zip(w, given[j], strict=True)]
        return (1 + b2) * sum(hits) / (b2 * P + sum(alerts))

    every = itertools.product(*([*np.unique(score[:, j]).tolist(), math.inf] for j in columns))
    best = max(value(t) for t in every)
    near = Fraction(1, 10**12)  # of sums in another order
    return Holds(f"thresholds of F {float(best)!r}", lambda found: value(found) >= best - near)


# apply_thresholds


def draw_apply(draw: Draw) -> Arguments:
    n, K = draw.rows(), draw.classes()
    s = draw.scores(n)
    cuts = np.sort(draw.rng.choice(np.append(s.astype(float), [0.0, -np.inf, np.inf]), K - 1))
    return {"score": s, "values": cuts, "labels": draw.names(K), "carried": draw.chance(0.5)}


def apply(score: Any, values: Any, labels: Any, carried: bool) -> Any:
    if not carried:
        return thresholds.apply_thresholds(score, values, labels)
    made = thresholds.Thresholds(values, labels)
    return thresholds.Thresholds.from_json(made.to_json()).apply(score)


def apply_reference(score: Any, values: Any, labels: Any, carried: bool) -> Any:
    cuts = [x if math.isinf(x) else fraction(x) for x in values.tolist()]
    return [Same(labels[sum(t <= fraction(s) for t in cuts)]) for s in score]


# decide


def draw_decide(draw: Draw) -> Arguments:
    metric = draw.of([*(x for x in NAMES if x not in SHARES), *COSTS])
    K = 2 if metric in TWO else draw.of([2, 3])
    n = draw.between(1, 7 if K == 2 else 4)
    matrix = draw.rng.integers(0, 4, (K, K)) + 1.0
    np.fill_diagonal(matrix, 0)
    parameter = {"f_beta": 2.0, "cost": matrix.tolist(), "kappa_cost": matrix.tolist()}.get(metric)
    return {
        "probability": draw.probability_rows(n, K, zeros=False), "metric": metric,
        "parameter": parameter, "labels": draw.names(K) if draw.chance(0.5) else None,
        "sample_weight": draw.calm_weights(n),
    }  # fmt: skip


def decide(probability: Any, metric: str, parameter: Any, labels: Any, sample_weight: Any) -> Any:
    made = make_metric(metric, parameter, None, None)
    return thresholds.decide(probability, made, labels=labels, sample_weight=sample_weight)


def decide_reference(
    probability: Any, metric: str, parameter: Any, labels: Any, sample_weight: Any
) -> Any:
    n, K = probability.shape
    P, w = [fractions(row) for row in probability], weights_of(sample_weight, n)
    order = list(range(K)) if labels is None else labels
    share = sum(v * row[-1] for row, v in zip(P, w, strict=True)) / sum(w)
    if metric in ("f1", "f_beta") and share < Fraction(1, 10**6):
        raise Unclear  # 1 - F, which is minimised, is known to 1e-16, of F a part of 1e-16/share

    def value(chosen: Any) -> Any:
        C = [[Fraction(0)] * K for _ in range(K)]
        for row, k, v in zip(P, chosen, w, strict=True):
            for i, p in enumerate(row):
                C[i][k] += v * p
        found, _ = class_value(metric, parameter, C)
        return found if found is None else (-real(found) if metric in DOWN else real(found))

    values = [value(chosen) for chosen in itertools.product(range(K), repeat=n)]
    best = max(v for v in values if v is not None)
    # rows of float32 sum to 1 to 1e-7
    says = f"no other classes have a better {metric} than {mp.nstr(best, 17)}"
    return Holds(
        says, lambda found: (v := value([order.index(x) for x in found.tolist()])) is not None
        and v >= best - 1e-9 * (1 + abs(best)),
    )  # fmt: skip


def draw_rule(draw: Draw) -> Arguments:
    given = draw_decide(draw)
    K = given["probability"].shape[1]
    given["metric"] = draw.of(
        ["kappa", "accuracy", "macro_recall", *(("f1", "qwk")[: 2 * (K == 2)])]
    )
    prior = dict(enumerate(draw.rng.dirichlet(np.full(K, 4.0)).tolist()))
    return {**given, "labels": None, "parameter": None, "prior": draw.of([None, prior])}


def rule(
    probability: Any, metric: str, parameter: Any, labels: Any, sample_weight: Any, prior: Any
) -> Any:
    found = thresholds.optimize_decisions(
        probability, metric, target_prior=prior, sample_weight=sample_weight
    )
    return type(found).from_json(found.to_json()).apply(probability)


def rule_reference(
    probability: Any, metric: str, parameter: Any, labels: Any, sample_weight: Any, prior: Any
) -> Any:
    """The best decisions on what a row of the target population would look like."""
    n, K = probability.shape
    P, w = [fractions(row) for row in probability], weights_of(sample_weight, n)
    if prior is not None:
        train = [sum(v * p[k] for v, p in zip(w, P, strict=True)) / sum(w) for k in range(K)]
        moved = [[fraction(prior[k]) / train[k] * p[k] for k in range(K)] for p in P]
        w = [v * sum(row) / sum(p) for v, row, p in zip(w, moved, P, strict=True)]
        P = [[x / sum(row) for x in row] for row in moved]
    return decide_reference(np.array(P, object), metric, parameter, labels, w)


# statistics in bins


def draw_statistics(draw: Draw) -> Arguments:
    n, K = draw.rows(least=4), draw.of([2, 3])
    s = draw.scores(n).astype(float)
    kind = draw.of(["edges", "max_bins"])
    edges = np.unique(draw.rng.choice(s, draw.between(1, 4))) if kind == "edges" else None
    return {
        "y_true": draw.positions(n, K), "score": s, "sample_weight": draw.calm_weights(n), "K": K,
        "edges": edges, "max_bins": draw.of([2, 3, 8]) if edges is None else None,
        "part": draw.rng.integers(0, 3, n),
    }  # fmt: skip


def statistics(
    y_true: Any, score: Any, sample_weight: Any, K: int, edges: Any, max_bins: Any, part: Any
) -> Any:
    empty = thresholds.ThresholdStatistics.empty(range(K), edges=edges, max_bins=max_bins)
    whole = empty.add(y_true, score, sample_weight)
    parts = [
        empty.add(y_true[part == k], score[part == k],
                  None if sample_weight is None else sample_weight[part == k])
        for k in range(3)
    ]  # fmt: skip
    merged = sum(parts, empty)
    y, s, w = merged.weighted_rows()
    loss = 0.0
    own = np.array([np.sum(whole.counts[:, k]) for k in range(K)])
    if (own > 0).sum() > 1 and edges is None:
        found = merged.thresholds(method="exact")
        loss = float(
            metrics.quadratic_weighted_kappa(
                y_true, found.apply(score), labels=range(K), sample_weight=sample_weight
            )
            + merged.qwk_loss_bound()
        )
    return {
        "rows": merged.rows, "counts": merged.counts, "same": bool(
            np.allclose(whole.counts, merged.counts, rtol=1e-12)
            and np.array_equal(whole.low, merged.low) and np.array_equal(whole.high, merged.high)
            and np.allclose(whole.score, merged.score, rtol=1e-12, atol=1e-12 * np.abs(score).max())
        ),
        "bins": (merged.low, merged.high), "weighted": [float(w[y == k].sum()) for k in range(K)],
        "mean": float(w @ s / w.sum()), "loss": loss,
    }  # fmt: skip


def statistics_reference(
    y_true: Any, score: Any, sample_weight: Any, K: int, edges: Any, max_bins: Any, part: Any
) -> Any:
    n = len(y_true)
    some, w = counted(sample_weight, n), weights_of(sample_weight, n)
    s = fractions(score)
    own = [sum(w[i] for i in some if y_true[i] == k) for k in range(K)]
    average = mean([s[i] for i in some], [w[i] for i in some])
    size = mean([abs(s[i]) for i in some], [w[i] for i in some])
    checked: dict[str, Any] = {
        "rows": Same(len(some)), "same": Same(True),
        "weighted": [Near(x, 1e-12 * x) for x in own],
        "mean": Near(average, 1e-12 * size + 1e-300),
    }  # fmt: skip
    if edges is not None:
        cuts = fractions(edges)
        table = [[Fraction(0)] * K for _ in range(len(cuts) + 1)]
        for i in some:
            table[sum(e <= s[i] for e in cuts)][int(y_true[i])] += w[i]
        checked["counts"] = [[Near(x, 1e-12 * x) for x in row] for row in table]
        return checked

    def covers(found: Any) -> bool:
        low, high = found
        inside = all(
            sum(a <= score[i] <= b for a, b in zip(low, high, strict=True)) == 1 for i in some
        )
        distinct = len({s[i] for i in some})
        return inside and len(low) <= max_bins and (len(low) == distinct or distinct > max_bins)

    checked["bins"] = Holds("each row in one bin, no more bins than allowed", covers)
    if sum(x > 0 for x in own) > 1 and len({s[i] for i in some}) <= 9:
        y = [int(y_true[i]) for i in some]
        best = Pools(y, [s[i] for i in some], [w[i] for i in some], K).best("qwk", None)
        checked["loss"] = Holds(
            f"the bound is not passed, the best is {mp.nstr(best, 17)}",
            lambda found: found >= best - 1e-9,
        )
    return checked


# shifts of segments


def draw_segment_shift(draw: Draw) -> Arguments:
    n, K = draw.between(22, 40), draw.of([4, 6])
    g = draw.rng.integers(0, draw.of([2, 3, 5]), n)
    s = draw.rng.uniform(1, K - 2, n)
    y = np.clip(np.rint(s + draw.of([0.0, 0.7, 1.5]) * (g % 2 - 0.5)
                        + draw.of([0.3, 0.8]) * draw.rng.normal(size=n)), 0, K - 1)  # fmt: skip
    w = draw.rng.integers(1, 4, n) if draw.chance(0.3) else None
    return {"y_true": y.astype(int), "score": s, "segments": g, "sample_weight": w, "K": K}


def segment_shift(y_true: Any, score: Any, segments: Any, sample_weight: Any, K: int) -> Any:
    found = thresholds.fit_segment_shift(
        y_true, score, segments, labels=range(K), sample_weight=sample_weight
    )
    again = type(found).from_json(found.to_json())
    return {"k": found.shrinkage, "shifts": found.shifts, "apply": again.apply(score, segments)}


def segment_shift_reference(
    y_true: Any, score: Any, segments: Any, sample_weight: Any, K: int
) -> Any:
    """Penalised least squares by the normal equations, anew without each row."""
    names = sorted(set(segments.tolist()))
    if len(names) < 2:
        raise Outside("segments")
    y, s = [int(v) for v in y_true], fractions(score)
    w = np.ones(len(y)) if sample_weight is None else sample_weight.astype(float)
    pools = Pools(y, s, fractions(w), K)
    if len(set(y)) < 2:
        raise Outside("y_true")
    check_rises(pools)
    if plain_line(pools) is None:
        raise Unclear
    g = np.array([names.index(v) for v in segments.tolist()])
    X = np.column_stack([np.ones(len(y)), score, np.eye(len(names))[g]])
    t = np.array(y, float)

    def fit(k: float, v: Array) -> Array:
        if k == math.inf:
            return np.append(np.linalg.solve((X[:, :2].T * v) @ X[:, :2], (X[:, :2].T * v) @ t),
                             np.zeros(len(names)))  # fmt: skip
        penalty = np.diag([0.0, 0.0, *[k] * len(names)])
        return np.linalg.solve((X.T * v) @ X + penalty, (X.T * v) @ t)

    def errors(k: float) -> Array:
        found = np.empty(len(y))
        for i in range(len(y)):
            less = w.copy()
            less[i] -= min(1.0, w[i])
            found[i] = t[i] - X[i] @ fit(k, less)
        return found

    common, best, most = errors(math.inf), math.inf, 1e-12
    n = w.sum()
    for k in 4.0 ** np.arange(-1, 6):
        if fit(k, w)[1] <= 0:
            continue
        gains = common**2 - errors(k) ** 2
        gain = w @ gains / n
        error = math.sqrt(2 * (w @ (gains - gain) ** 2) / n / n)
        if abs(gain - max(most, error)) < 1e-7:
            raise Unclear
        if gain > max(most, error):
            best, most = float(k), gain
    theta = fit(best, w)
    shifts = theta[2:] / theta[1]
    return {
        "k": Near(best), "shifts": [Near(x, 1e-6) for x in shifts],
        "apply": [Near(a + shifts[k], 1e-6) for a, k in zip(score, g, strict=True)],
    }  # fmt: skip
