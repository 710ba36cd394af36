"""The room of calibration by its definitions, in fractions, and calibrators by their likelihood."""

from __future__ import annotations

import math
from fractions import Fraction
from itertools import pairwise
from typing import Any

import numpy as np
from mpmath import mp

from gbdt_objectives import calibration
from tests.fuzz.exact import counted, fraction, fractions, mean, real, sigmoid, softplus, weights_of
from tests.fuzz.generators import Array, Draw
from tests.fuzz.harness import Arguments, Holds, Near, Outside, Same, Unclear

Weighted = list[tuple[int, Fraction, Fraction, Fraction]]
"""Label, probability or score, weight, and the weight that the row stands for, where it counts."""


def rates_of(keep: dict[str, Any], n: int) -> list[Fraction]:
    if "negative_keep_rate" in keep:
        return [fraction(keep["negative_keep_rate"])] * n
    if "class_keep_rates" in keep:
        return [fraction(keep["class_keep_rates"][0])] * n
    return fractions(keep["keep_rate"]) if "keep_rate" in keep else [Fraction(1)] * n


def rows_of(y: Any, p: Any, w: Any, keep: dict[str, Any]) -> Weighted:
    n = len(y)
    v, r = weights_of(w, n), rates_of(keep, n)
    return [(int(y[i]), fraction(p[i]), v[i], v[i] / (1 if y[i] else r[i])) for i in counted(w, n)]


def draw_rows(draw: Draw, calm: bool = False) -> Arguments:
    n = draw.rows()
    w = draw.calm_weights(n) if calm else draw.weights(n)
    return {
        "y_true": draw.binary(n), "probability": draw.probabilities(n), "sample_weight": w,
        "keep": draw.keep_rates(n),
    }  # fmt: skip


def draw_columns(draw: Draw, many: int = 300) -> Arguments:
    """Rows of label 1, or of K classes that have names."""
    n, K = draw.rows(many=many), draw.classes(5)
    if draw.chance(0.5):
        return {
            "y_true": draw.binary(n), "probability": draw.probabilities(n), "labels": None,
            "sample_weight": draw.weights(n),
        }  # fmt: skip
    labels = draw.names(K) if draw.chance(0.5) else None
    y = draw.positions(n, K)
    return {
        "y_true": y if labels is None else np.array(labels)[y],
        "probability": draw.probability_rows(n, K), "labels": labels,
        "sample_weight": draw.weights(n),
    }  # fmt: skip


def read_columns(y_true: Any, probability: Any, labels: Any, sample_weight: Any) -> Any:
    """Positions, exact probabilities of all classes, and weights of the rows that count."""
    rows, w = counted(sample_weight, len(y_true)), weights_of(sample_weight, len(y_true))
    if probability.ndim == 1:
        P = [[1 - fraction(p), fraction(p)] for p in probability]
        y = [int(v) for v in y_true]
    else:
        P = [fractions(row) for row in probability]
        order = list(range(len(P[0]))) if labels is None else labels
        y = [order.index(v) for v in y_true.tolist()]
    return [y[i] for i in rows], [P[i] for i in rows], [w[i] for i in rows]


def half_brier(y: int, P: list[Fraction]) -> Fraction:
    return sum((p - (k == y)) ** 2 for k, p in enumerate(P)) / 2


def draw_brier(draw: Draw) -> Arguments:
    return draw_columns(draw) | {"scale_by_half": draw.chance(0.5)}


brier = calibration.brier_score


def brier_reference(
    y_true: Any, probability: Any, labels: Any, sample_weight: Any, scale_by_half: Any
) -> Near:
    y, P, w = read_columns(y_true, probability, labels, sample_weight)
    value = mean([half_brier(k, row) for k, row in zip(y, P, strict=True)], w)
    # p - 1 rounds by EPS of 1
    return Near(value * (1 if scale_by_half else 2), 1e-14 * real(value) ** 0.5 + 1e-30)


entropy = calibration.normalized_entropy


def minus_log(p: Fraction) -> Any:
    return -mp.log(real(p)) if p else mp.inf


def entropy_reference(y_true: Any, probability: Any, labels: Any, sample_weight: Any) -> Near:
    y, P, w = read_columns(y_true, probability, labels, sample_weight)
    W = sum(w)
    q = [x for k in set(y) if (x := sum(v for v, c in zip(w, y, strict=True) if c == k) / W)]
    if len(q) < 2:
        raise Outside("y_true")
    if min(q) < Fraction(1, 10**13):  # of which the logarithm of the other one knows nothing
        raise Unclear
    loss = sum(minus_log(row[k]) * real(v) for k, row, v in zip(y, P, w, strict=True)) / real(W)
    value = loss / -sum(real(x) * mp.log(real(x)) for x in q)
    return Near(value, 0 if mp.isinf(value) else value * 1e-15 / real(min(q)) + value * 1e-13)


def ratio(y_true: Any, probability: Any, sample_weight: Any, keep: Any) -> Any:
    return calibration.calibration_ratio(y_true, probability, sample_weight=sample_weight, **keep)


def ratio_reference(y_true: Any, probability: Any, sample_weight: Any, keep: Any) -> Near:
    rows = rows_of(y_true, probability, sample_weight, keep)
    outcome = sum(v for y, _, _, v in rows if y)
    if not outcome:
        raise Outside("y_true")
    value = sum(v * p for _, p, _, v in rows) / outcome
    if value > 10**300:  # more than a float holds
        raise Unclear
    lost = Fraction(len(rows), 10**322) / outcome  # products below the least float
    return Near(value, Fraction(1, 10**13) * value + lost)


# bins


def draw_bins(draw: Draw) -> Arguments:
    return draw_rows(draw) | {
        "n_bins": draw.of([1, 2, 3, 15]), "strategy": draw.of(["quantile", "uniform", "events"]),
    }  # fmt: skip


def bins(
    y_true: Any, probability: Any, sample_weight: Any, keep: Any, n_bins: int, strategy: Any
) -> Any:
    given: Any = dict(n_bins=n_bins, strategy=strategy, sample_weight=sample_weight, **keep)
    found = calibration.reliability_bins(y_true, probability, **given)
    return {
        "weight": found.weight, "probability": found.probability, "frequency": found.frequency,
        "error": calibration.expected_calibration_error(y_true, probability, **given),
    }  # fmt: skip


def bins_of(rows: Weighted, n_bins: int, strategy: str) -> dict[int, Weighted]:
    """The rows of each bin. Those of one prediction are in the bin of the middle of their share."""
    found: dict[int, Weighted] = {}
    at = sorted({p for _, p, _, _ in rows})
    share = {p: sum(v for _, q, _, v in rows if q == p) for p in at}
    if strategy == "events":
        share = {p: v * p for p, v in share.items()}
    total, below = sum(share.values()), Fraction(0)
    for p in at:
        if strategy == "uniform":
            b = max(math.ceil(p * n_bins) - 1, 0)
            edge = p * n_bins
            tie = p.denominator not in (1, 2) and abs(edge - round(edge)) < Fraction(1, 10**12)
        else:
            middle = (below + share[p] / 2) * n_bins / total if total else Fraction(0)
            b, below = min(math.floor(middle), n_bins - 1), below + share[p]
            tie = abs(middle - round(middle)) < Fraction(1, 10**9) and middle > Fraction(1, 2)
        if tie and n_bins > 1:  # which side of an edge it is on, rounding says
            raise Unclear
        found.setdefault(b, []).extend(row for row in rows if row[1] == p)
    return found


def bins_reference(
    y_true: Any, probability: Any, sample_weight: Any, keep: Any, n_bins: int, strategy: Any
) -> Any:
    rows = rows_of(y_true, probability, sample_weight, keep)
    found = bins_of(rows, n_bins, strategy)
    W = [sum(v for *_, v in found[b]) for b in sorted(found)]
    p = [sum(v * q for _, q, _, v in found[b]) / x for b, x in zip(sorted(found), W, strict=True)]
    y = [sum(v * t for t, _, _, v in found[b]) / x for b, x in zip(sorted(found), W, strict=True)]
    gaps = sum(v * abs(a - b) for v, a, b in zip(W, p, y, strict=True)) / sum(W)
    return {
        "weight": [Near(v, 1e-13 * v) for v in W],
        "probability": [  # products below the least float are lost
            Near(v, 1e-13 * v + Fraction(len(rows), 10**320) / min(x, 1))
            for v, x in zip(p, W, strict=True)
        ],
        "frequency": [Near(v, 1e-13 * v + Fraction(1, 10**320)) for v in y],
        "error": Near(gaps, 1e-13),
    }


def draw_class_error(draw: Draw) -> Arguments:
    n, K = draw.rows(), draw.classes(5)
    return {
        "y_true": draw.positions(n, K), "probability": draw.probability_rows(n, K),
        "sample_weight": draw.calm_weights(n), "n_bins": draw.of([1, 3, 15]),
    }  # fmt: skip


class_error = calibration.expected_calibration_error


def class_error_reference(y_true: Any, probability: Any, sample_weight: Any, n_bins: int) -> Any:
    first = [list(row).index(max(row)) for row in probability]
    p = [row[k] for row, k in zip(probability, first, strict=True)]
    right = [int(y == k) for y, k in zip(y_true, first, strict=True)]
    return bins_reference(np.array(right), p, sample_weight, {}, n_bins, "quantile")["error"]


# the hull


def draw_hull(draw: Draw) -> Arguments:
    n = draw.rows(many=40, least=2)
    return {
        "y_true": draw.binary(n, both=True), "score": draw.scores(n),
        "sample_weight": draw.weights(n), "m": draw.of([0, 2, 0.5]),
        "monotone": draw.chance(0.3),
    }  # fmt: skip


def hull(y_true: Any, score: Any, sample_weight: Any, m: Any, monotone: Any) -> Any:
    found = calibration.roc_convex_hull(y_true, score, sample_weight=sample_weight)
    own = calibration.ROCConvexHullCalibrator(m=m, monotone=monotone)
    own.fit(score, y_true, sample_weight)
    return {
        "low": found.low, "high": found.high, "positive": found.positive,
        "negative": found.negative, "auc": found.auc, "hull_auc": found.hull_auc,
        "probability": found.probability(m=m, monotone=monotone), "predict": own.predict(found.low),
    }  # fmt: skip


def min_max(values: list[Fraction], w: list[Fraction]) -> list[Fraction]:
    """Isotonic regression: max over a <= i of the min over b >= i of the mean of a..b."""
    d = len(values)
    total = np.cumsum([Fraction(0), *(x * v for x, v in zip(values, w, strict=True))])
    weight = np.cumsum([Fraction(0), *w])
    found = []
    for i in range(d):
        least = [
            min((total[b + 1] - total[a]) / (weight[b + 1] - weight[a]) for b in range(i, d))
            for a in range(i + 1)
        ]
        found.append(max(least))
    return found


def hull_reference(y_true: Any, score: Any, sample_weight: Any, m: Any, monotone: Any) -> Any:
    rows = rows_of(y_true, score, sample_weight, {})
    if len({y for y, *_ in rows}) < 2:
        raise Outside("y_true|y holds")
    at = sorted({s for _, s, _, _ in rows})
    P = [sum(w for y, s, w, _ in rows if s == x and y) for x in at]
    N = [sum(w for y, s, w, _ in rows if s == x and not y) for x in at]
    n = [a + b for a, b in zip(P, N, strict=True)]
    if max(n) > min(n) * 10**10:  # rounding of weights of very different sizes joins or parts
        raise Unclear
    fit = min_max([a / b for a, b in zip(P, n, strict=True)], n)
    whole = all(w.denominator == 1 and w < 2**30 for _, _, w, _ in rows)
    if not whole and any(0 < b - a < Fraction(1, 10**12) for a, b in pairwise(fit)):
        raise Unclear
    ends = [0, *(i for i in range(1, len(at)) if fit[i] > fit[i - 1]), len(at)]
    if not whole:  # neighbours of equal proportion may stay apart: only the map is compared
        merged = [sum(P[i:j]) / sum(n[i:j]) for i, j in pairwise(ends)]
        if any(P[k] / n[k] == f for f, (i, j) in zip(merged, pairwise(ends), strict=True)
               for k in range(i, j) if j - i > 1 and 0 < f < 1):  # fmt: skip
            raise Unclear
    parts = list(pairwise(ends))
    positive, negative = ([sum(x[i:j]) for i, j in parts] for x in (P, N))
    mm = fraction(m)
    p = [(a + mm / 2) / (a + b + mm) for a, b in zip(positive, negative, strict=True)]
    total = [a + b for a, b in zip(positive, negative, strict=True)]
    if monotone:
        p = min_max(p, total)
    pairs = sum(P) * sum(N)

    def auc(a: list[Fraction], b: list[Fraction]) -> Fraction:
        below = Fraction(0)
        found = Fraction(0)
        for x, y in zip(a, b, strict=True):
            found += x * (below + y / 2)
            below += y
        return found / pairs

    near = [Near(x, 1e-12 * x + 1e-300) for x in p]
    return {
        "low": [Same(float(at[i])) for i, _ in parts],
        "high": [Same(float(at[j - 1])) for _, j in parts],
        "positive": [Near(x, 1e-13 * x) for x in positive],
        "negative": [Near(x, 1e-13 * x) for x in negative],
        "auc": Near(auc(P, N), 1e-13), "hull_auc": Near(auc(positive, negative), 1e-13),
        "probability": near, "predict": near,
    }  # fmt: skip


# Brier score and log loss in parts


def draw_refinement(draw: Draw) -> Arguments:
    given = draw_columns(draw, many=40)
    n = len(given["y_true"])
    kinds: list[Any] = ["prediction", draw.rng.integers(0, max(1, n // 3), n)]
    if given["probability"].ndim == 1:
        kinds.append("isotonic")
    return given | {
        "sample_weight": draw.calm_weights(n), "partition": draw.of(kinds),
        "loss": draw.of(["brier_score", "log_loss"]),
    }  # fmt: skip


refinement = calibration.calibration_refinement


def refinement_reference(
    y_true: Any, probability: Any, labels: Any, sample_weight: Any, partition: Any, loss: Any
) -> Any:
    y, P, w = read_columns(y_true, probability, labels, sample_weight)
    K, W = len(P[0]), sum(w)
    if isinstance(partition, str):
        keys: list[Any] = [tuple(row) for row in P]
        if partition == "isotonic":
            at = sorted({row[1] for row in P})
            n = [sum(v for v, row in zip(w, P, strict=True) if row[1] == x) for x in at]
            a = [sum(v for v, row, k in zip(w, P, y, strict=True) if row[1] == x and k) for x in at]
            fit = min_max([x / z for x, z in zip(a, n, strict=True)], n)
            near = any(0 < q - p < Fraction(1, 10**12) for p, q in pairwise(fit))
            if near and any(v.denominator > 1 for v in w):
                raise Unclear
            keys = [fit[at.index(row[1])] for row in P]
    else:
        keys = [partition[i] for i in counted(sample_weight, len(y_true))]

    def entr(q: Any) -> Any:
        return -real(q) * mp.log(real(q)) if q else mp.mpf(0)

    parts = {"calibration": mp.mpf(0), "refinement": mp.mpf(0), "within": mp.mpf(0)}
    for g in set(keys):
        own = [i for i, key in enumerate(keys) if key == g]
        W_g = sum(w[i] for i in own)
        mean_p = [sum(w[i] * P[i][k] for i in own) / W_g for k in range(K)]
        q = [sum(w[i] for i in own if y[i] == k) / W_g for k in range(K)]
        share = real(W_g / W)
        if loss == "brier_score":
            gaps = [(a - b) ** 2 for a, b in zip(mean_p, q, strict=True)]
            parts["calibration"] += share * real(sum(gaps) / 2)
            parts["refinement"] += share * real(sum(b * (1 - b) for b in q) / 2)
        else:
            parts["calibration"] += share * sum(
                real(b) * mp.log(real(b / a)) if a else mp.inf
                for a, b in zip(mean_p, q, strict=True) if b
            )  # fmt: skip
            parts["refinement"] += share * sum(map(entr, q))
        for i in own:
            if loss == "brier_score":
                d = [P[i][k] - mean_p[k] for k in range(K)]
                term = real(sum(x * (x - 2 * (k == y[i])) for k, x in enumerate(d)) / 2)
            elif not mean_p[y[i]]:
                term = mp.mpf(0)  # calibration is inf
            else:
                p = P[i][y[i]]
                term = mp.log(real(mean_p[y[i]] / p)) if p else mp.inf
            parts["within"] += real(w[i] / W) * term
    q = [sum(v for v, k in zip(w, y, strict=True) if k == c) / W for c in range(K)]
    brier = loss == "brier_score"
    parts["uncertainty"] = real(sum(b * (1 - b) for b in q) / 2) if brier else sum(map(entr, q))
    tiny = min((x for row in P for x in row if x), default=1)
    size = 1 if brier else 40 + abs(float(mp.log(real(tiny))))
    # squares of numbers up to 1; logarithms up to that of the least probability
    return {
        name: Near(value, 0 if mp.isinf(value) else 1e-13 * size) for name, value in parts.items()
    }


# ratios of segments


def draw_segments(draw: Draw) -> Arguments:
    given = draw_rows(draw, calm=True)
    n = len(given["y_true"])
    return given | {
        "segments": draw.groups(n), "cut": draw.below(n + 1),
        "groups": draw.rng.integers(0, max(2, n // 2), n) if draw.chance(0.3) else None,
        "confidence_level": draw.of([0.95, 0.8]),
    }  # fmt: skip


FIELDS = (
    "weight", "probability", "frequency", "ratio", "low", "high", "p_value", "p_value_holm",
    "p_value_bh", "rest_ratio", "rest_p_value",
)  # fmt: skip


def segments(
    y_true: Any, probability: Any, sample_weight: Any, keep: Any, segments: Any, cut: int,
    groups: Any, confidence_level: float,
) -> Any:  # fmt: skip
    found = calibration.calibration_ratio_by_segment(
        y_true, probability, segments, sample_weight=sample_weight, groups=groups,
        confidence_level=confidence_level, **keep,
    )  # fmt: skip
    again = found
    if groups is None:  # the same of two parts, at random
        of = calibration.SegmentStatistics.of
        halves = [
            of(y_true[s], probability[s], segments[s],
               sample_weight=None if sample_weight is None else sample_weight[s],
               **{name: rate[s] if isinstance(rate, np.ndarray) else rate
                  for name, rate in keep.items()})
            for s in (slice(0, cut), slice(cut, None)) if len(y_true[s])
        ]  # fmt: skip
        again = sum(halves[1:], halves[0]).ratios(confidence_level=confidence_level)
    return {
        "segment": found.segment.tolist(),
        **{name: getattr(found, name) for name in FIELDS},
        "again": {name: getattr(again, name) for name in FIELDS},
    }


def segments_reference(
    y_true: Any, probability: Any, sample_weight: Any, keep: Any, segments: Any, cut: int,
    groups: Any, confidence_level: float,
) -> Any:  # fmt: skip
    n = len(y_true)
    some = counted(sample_weight, n)
    rows = rows_of(y_true, probability, sample_weight, keep)
    g = [segments[i].item() for i in some]
    owner = None if groups is None else [groups[i].item() for i in some]
    if owner is not None and len(some) > 1 and len(set(owner)) < 2:
        raise Outside("groups")
    if "keep_rate" in keep:
        r = keep["keep_rate"]
        below = [i for i in some if r[i] < 1]
        positive = [i for i in some if y_true[i]]
        if positive and below and not any(y_true[i] for i in below):
            raise Outside("keep_rate")
    dropped = bool(keep) and ("keep_rate" in keep or min(rates_of(keep, 1)) < 1)
    z2 = real(2 * mp.erfinv(real(confidence_level)) ** 2)
    names = sorted(set(g))
    found: dict[str, list[Any]] = {name: [] for name in FIELDS}
    unclear = dropped  # S is also what outcomes of similar predictions suggest: no closed form here
    for name in names:
        own = [k for k, s in enumerate(g) if s == name]
        y, p, w, v = zip(*(rows[k] for k in own), strict=True)
        A, B = (
            sum(a * b for a, b in zip(v, y, strict=True)),
            sum(a * b for a, b in zip(v, p, strict=True)),
        )
        W = sum(v)
        found["weight"].append(Near(W, 1e-13 * W))
        found["probability"].append(Near(B / W, 1e-13 * (B / W)))
        found["frequency"].append(Near(A / W, 1e-13 * (A / W)))
        rest = [rows[k] for k in range(len(g)) if k not in own]
        A_r, B_r = sum(v * y for y, _, _, v in rest), sum(v * p for _, p, _, v in rest)
        values = {"ratio": (A, B), "rest_ratio": (A_r, B_r)}
        for field, (a, b) in values.items():
            if field == "rest_ratio" and len(names) == 1:
                found[field].append(Near(math.nan))
            else:
                value = b / a if a else (math.inf if b else math.nan)
                if field == "rest_ratio" and not a and b * 10**13 < sum(r[3] * r[1] for r in rows):
                    raise Unclear  # the rest's prediction is lost in that of all rows
                # the rest is a difference of sums of all rows
                lost = [sum(r[3] * (r[1] if k else r[0]) for r in rows) for k in (0, 1)]
                error = (lost[1] + value * lost[0]) / a * Fraction(1, 10**13) if a else 0
                found[field].append(Near(value, error))
        if unclear or Fraction(1, 10**130) > B:  # squares of predictions below the least float
            unclear = True
            continue
        # the variance V(u) = b u + a u^2, of observed events and one more as expected
        S = sum((a * b) ** 2 for a, b in zip(v, p, strict=True))
        wy = sum(a * b for a, b in zip(w, y, strict=True))
        E = sum(a * a * b for a, b in zip(w, y, strict=True))
        C = sum(a * a * b * c for a, b, c in zip(w, y, p, strict=True))
        e1 = sum(a * b * c for a, b, c in zip(w, v, p, strict=True)) / (B or 1)
        c1 = sum(a * b * c * c for a, b, c in zip(w, v, p, strict=True)) / (B or 1)
        events = wy + e1
        if not B or not events:
            unclear = True
            continue
        b = B * (E + e1 * e1) / events
        a = S - 2 * B * (C + e1 * c1) / events
        u = A / B
        if A:
            observed = E - 2 * u * C + u * u * S
            a = max(a, (observed - u * b) / u**2)
        if owner is not None:
            pairs = Fraction(0)
            hat = u if A else Fraction(1)
            for o in set(owner):
                eps = [
                    (rows[k][2] * rows[k][0] if A else 0) - hat * rows[k][3] * rows[k][1]
                    for k in own if owner[k] == o
                ]  # fmt: skip
                pairs += sum(eps) ** 2 - sum(x * x for x in eps)
            a += max(pairs, Fraction(0)) / hat**2
        V = max(a + b, Fraction(0))
        if V == 0:
            p_value = mp.mpf(1) if A == B else mp.mpf(0)
        else:
            p_value = mp.erfc(abs(real(A - B)) / mp.sqrt(2 * real(V)))
        if A != B and abs(a) > V * 10**8:  # a difference of sums
            unclear = True
            continue
        found["p_value"].append(Near(p_value, 1e-6 * p_value + 1e-300))
        # (A R - B)^2 <= z^2 (b R + a), a quadratic in R
        linear, constant = real(2 * A * B) + z2 * real(b), real(B * B) - z2 * real(a)
        root = mp.sqrt(max(linear**2 - 4 * real(A * A) * constant, 0))
        low = max(2 * constant / (linear + root), 0)
        found["low"].append(Near(low, 1e-6 * (low + real(B) / linear)))
        high = (linear + root) / (2 * real(A * A)) if A else mp.inf
        found["high"].append(Near(high, 1e-6 * high if A else 0))
    checked: dict[str, Any] = {
        key: found[key] for key in ("weight", "probability", "frequency", "ratio", "rest_ratio")
    }
    if not unclear:
        checked |= {key: found[key] for key in ("low", "high", "p_value")}
        p = [near.value for near in found["p_value"]]
        G = len(p)
        order = sorted(range(G), key=lambda k: p[k])
        holm, bh = [mp.mpf(0)] * G, [mp.mpf(0)] * G
        for i, k in enumerate(order):
            holm[k] = min(1, max((G - j) * p[order[j]] for j in range(i + 1)))
            bh[k] = min(1, min(p[order[j]] * G / (j + 1) for j in range(i, G)))
        checked["p_value_holm"] = [Near(x, 1e-6 * x + 1e-300) for x in holm]
        checked["p_value_bh"] = [Near(x, 1e-6 * x + 1e-300) for x in bh]
    return {"segment": Same(names), **checked, "again": checked}


# the test of the calibration error, where it is binomial


def draw_error_test(draw: Draw) -> Arguments:
    n = draw.between(1, 30)
    p = draw.of([0.5, 0.1, 0.03, draw.uniform(0.05, 0.95)])
    return {
        "y_true": draw.binary(n), "probability": np.full(n, p), "n_resamples": 2000,
        "random_state": draw.below(2**31), "n_bins": draw.of([1, 5]),
    }  # fmt: skip


def error_test(
    y_true: Any, probability: Any, n_resamples: int, random_state: int, n_bins: int
) -> Any:
    found = calibration.calibration_error_test(
        y_true, probability, n_resamples=n_resamples, random_state=random_state, n_bins=n_bins
    )
    low, high = found.interval
    return {
        "error": found.error, "null_error": found.null_error, "p_value": found.p_value,
        "ends": 0 <= low <= found.error * (1 + 1e-9) and low <= high <= 1 + 1e-9,
    }  # fmt: skip


def error_test_reference(
    y_true: Any, probability: Any, n_resamples: int, random_state: int, n_bins: int
) -> Any:
    n, k, p = len(y_true), int(np.sum(y_true)), real(probability[0])
    chance = [mp.binomial(n, i) * p**i * (1 - p) ** (n - i) for i in range(n + 1)]
    gap = [abs(p - mp.mpf(i) / n) for i in range(n + 1)]
    null = sum(c * d for c, d in zip(chance, gap, strict=True))
    spread = mp.sqrt(max(sum(c * d * d for c, d in zip(chance, gap, strict=True)) - null**2, 0))
    p_value = sum(c for c, d in zip(chance, gap, strict=True) if d >= gap[k] * (1 - mp.mpf("1e-9")))
    # a mean and a share of draws, six of their standard errors
    six = 6 / mp.sqrt(n_resamples)
    of_share = six * mp.sqrt(max(p_value * (1 - p_value), 0)) + mp.mpf(4) / n_resamples
    return {
        "error": Near(gap[k], 1e-14), "null_error": Near(null, six * spread + 1e-14),
        "p_value": Near(p_value, of_share),
        "ends": Same(True),
    }  # fmt: skip


# from counts to probabilities


def draw_counts(draw: Draw) -> Arguments:
    K = draw.classes()
    n = draw.rng.integers(0, 5, (draw.between(1, 5), K)) * draw.of([1, 1.0, 1e-300, 1e30])
    prior = draw.rng.dirichlet(np.ones(K)) if draw.chance(0.5) else None
    return {"counts": n, "m": draw.of([0, 2, K, 1e-9, 0.5]), "prior": prior}


counts = calibration.empirical_probability


def counts_reference(counts: Any, m: Any, prior: Any) -> Any:
    K, mm = counts.shape[1], fraction(m)
    pi = [Fraction(1, K)] * K if prior is None else fractions(prior)
    found = []
    for row in counts:
        n = fractions(row)
        if sum(n) + mm == 0:
            raise Outside("counts")
        p = [(a + mm * b) / (sum(n) + mm) for a, b in zip(n, pi, strict=True)]
        found.append([Near(x, 1e-14 * x) for x in p])
    return found


# calibrators


def draw_calibrator(draw: Draw) -> Arguments:
    n = draw.rows(many=40, least=6)
    z = 2 * draw.rng.normal(size=n)
    if draw.chance(0.3):
        z = np.round(z)
    y = (draw.rng.random(n) < 1 / (1 + np.exp(-draw.of([1.0, 0.3]) * z))).astype(int)
    y[:2] = 0, 1
    keep = draw.keep_rates(n)
    if "keep_rate" in keep:  # a rate by row: of logistic maps only
        keep["keep_rate"] = draw.rng.uniform(0.05, 1, n)
    return {"score": z, "y": y, "sample_weight": draw.calm_weights(n), "keep": keep}


def calibrator(score: Any, y: Any, sample_weight: Any, keep: Any) -> Any:
    given = dict(sample_weight=sample_weight, **keep)
    logit = calibration.LogitCalibrator(input_space="margin").fit(score, y, **given)
    shift = calibration.InterceptCalibrator(input_space="margin").fit(score, y, **given)
    return {
        "logit": (logit.slope_, logit.intercept_),
        "shift": shift.shift_,
        "predict": logit.predict(score),
    }


def read_scores(
    score: Any, y: Any, sample_weight: Any, distinct: int = 2, either_way: bool = False
) -> Any:
    """The rows that count, their labels, scores and weights, and what they are fitted to: where a
    rising score, or one either way, separates the labels, as if a row of each were added."""
    some, n = counted(sample_weight, len(y)), len(y)
    labels = [int(y[i]) for i in some]
    if len(set(labels)) < 2:
        raise Outside("y")
    z = [real(score[i]) for i in some]
    w = [real(weights_of(sample_weight, n)[i]) for i in some]
    if len(set(z)) < distinct:
        raise Outside("score")
    zero, one = ([x for x, k in zip(z, labels, strict=True) if k == c] for c in (0, 1))
    target = [mp.mpf(k) for k in labels]
    if max(zero) <= min(one) or (either_way and max(one) <= min(zero)):
        of = [sum(a for a, k in zip(w, labels, strict=True) if k == c) for c in (0, 1)]
        if min(of) < 1:
            raise Outside("sample_weight")
        target = [(of[1] + 1) / (of[1] + 2) if k else 1 / (of[0] + 2) for k in labels]
    return some, labels, z, w, target


def calibrator_reference(score: Any, y: Any, sample_weight: Any, keep: Any) -> Any:
    some, labels, z, w, target = read_scores(score, y, sample_weight, either_way=True)
    o = [-mp.log(real(rates_of(keep, len(y))[i])) for i in some]
    W = sum(w)

    def gradient(found: Any) -> bool:
        """The likelihood has slope 0, by its definition, and bends upwards everywhere."""
        a, b = map(real, found)
        error = [
            v * (sigmoid(a * x + b + off) - t) for v, x, off, t in zip(w, z, o, target, strict=True)
        ]
        return bool(
            abs(sum(error)) < 1e-6 * W
            and abs(sum(e * x for e, x in zip(error, z, strict=True))) < 1e-5 * W
        )

    def level(found: Any) -> bool:
        b = real(found)
        total = sum(
            v * (sigmoid(x + b + off) - k) for v, x, off, k in zip(w, z, o, labels, strict=True)
        )
        return bool(abs(total) < 1e-9 * W)

    return {
        "logit": Holds("the slope of the likelihood is 0", gradient),
        "shift": Holds("the mean probability is the mean label", level),
    }


def draw_three(draw: Draw) -> Arguments:
    given = draw_calibrator(draw)
    return {name: given[name] for name in ("score", "y", "sample_weight")}


def three(score: Any, y: Any, sample_weight: Any) -> Any:
    made = calibration.BetaCalibrator(input_space="margin").fit(score, y, sample_weight)
    return made.a_, made.b_, made.c_


def three_reference(score: Any, y: Any, sample_weight: Any) -> Any:
    _, _, z, w, target = read_scores(score, y, sample_weight, distinct=3)

    def best(found: Any) -> bool:
        """Slopes of the likelihood are 0, or not below 0 where a or b is at its bound."""
        a, b, c = map(real, found)
        u, v = [-softplus(-x) for x in z], [softplus(x) for x in z]
        error = [
            m * (sigmoid(a * p + b * q + c) - t) / sum(w)
            for m, p, q, t in zip(w, u, v, target, strict=True)
        ]
        slopes = [sum(e * x for e, x in zip(error, s, strict=True)) for s in (u, v)]
        return bool(
            abs(sum(error)) < 1e-6
            and all(
                abs(s) < 1e-5 or (x == 0 and s > 0) for x, s in zip((a, b), slopes, strict=True)
            )
            and min(a, b) >= 0
        )

    return Holds("the likelihood is greatest under a, b >= 0", best)


def draw_venn_abers(draw: Draw) -> Arguments:
    n = draw.between(2, 14)
    y = draw.binary(n, both=True)
    return {
        "score": draw.scores(n), "y": y,
        "sample_weight": draw.rng.integers(1, 4, n) if draw.chance(0.4) else None,
    }  # fmt: skip


def venn_abers(score: Any, y: Any, sample_weight: Any) -> Any:
    made = calibration.VennAbersCalibrator().fit(score, y, sample_weight)
    return {"interval": made.interval(points(score)), "predict": made.predict(points(score))}


def points(score: Array) -> Array:
    """At the scores, and beyond all of them."""
    s = np.unique(score).astype(float)
    return np.append(s, [s[0] - abs(s[0]) - 1, s[-1] + abs(s[-1]) + 1])


def venn_abers_reference(score: Any, y: Any, sample_weight: Any) -> Any:
    rows = [(k, s, w) for k, s, w, _ in rows_of(y, score, sample_weight, {})]
    if len({k for k, *_ in rows}) < 2:
        raise Outside("y")
    both, middle = [], []
    for x in map(fraction, points(score)):
        pair = []
        for label in (0, 1):
            more = [*rows, (label, x, Fraction(1))]
            at = sorted({s for _, s, _ in more})
            n = [sum(w for _, s, w in more if s == t) for t in at]
            m = [sum(w for k, s, w in more if s == t and k) for t in at]
            fit = min_max([a / b for a, b in zip(m, n, strict=True)], n)
            pair.append(fit[at.index(x)])
        both.append([Near(q, 1e-12) for q in pair])
        middle.append(Near(pair[1] / (1 - pair[0] + pair[1]), 1e-12))
    return {"interval": both, "predict": middle}


# calibrators with shifts of segments


def draw_segment_calibrator(draw: Draw) -> Arguments:
    n = draw.between(20, 60)
    g = draw.rng.integers(0, draw.of([2, 3, 6]), n)
    z = draw.rng.normal(-1, 1, n)
    y = (draw.rng.random(n) < 1 / (1 + np.exp(-z - draw.of([0.0, 1.0, 2.5]) * (g % 2)))).astype(int)
    y[:2] = 0, 1
    w = draw.rng.integers(1, 4, n) if draw.chance(0.3) else None
    keep = {"keep_rate": draw.rng.uniform(0.3, 1, n)} if draw.chance(0.3) else {}
    p = 1 / (1 + np.exp(-z))
    return {"probability": p, "y": y, "segments": g, "sample_weight": w, "keep": keep}


def segment_calibrator(
    probability: Any, y: Any, segments: Any, sample_weight: Any, keep: Any
) -> Any:
    common = calibration.InterceptCalibrator()
    made = calibration.SegmentCalibrator(common).fit(
        probability, y, sample_weight, segments=segments, **keep
    )
    again = calibration.SegmentCalibrator.from_json(made.to_json())
    return {
        "level": made.calibrator_.shift_ + made.shift_, "shifts": made.segment_shift_.shifts,
        "predict": again.predict(probability, segments=segments),
    }  # fmt: skip


def bisect(rising: Any, low: Any, high: Any) -> Any:
    """Where a rising function is 0, or each of several."""
    for _ in range(50):
        middle = (low + high) / 2
        above = rising(middle) > 0
        low, high = np.where(above, low, middle), np.where(above, middle, high)
    return (low + high) / 2


def segment_calibrator_reference(
    probability: Any, y: Any, segments: Any, sample_weight: Any, keep: Any
) -> Any:
    """Deviation by deviation, with roots by bisection."""
    names = sorted(set(segments.tolist()))
    if len(set(y.tolist())) < 2:
        raise Outside("y")
    if len(names) < 2:
        raise Outside("segments")
    w = np.ones(len(y)) if sample_weight is None else sample_weight.astype(float)
    p, g = np.array(probability, float), np.searchsorted(names, segments)
    z = np.log(p / (1 - p)) - np.log([float(rate) for rate in rates_of(keep, len(y))])

    def chance(m: Any) -> Any:
        return 1 / (1 + np.exp(-m))

    def sums(x: Any) -> Any:
        return np.bincount(g, x)

    def loss(m: Any) -> Any:
        return sums(-w * np.log(np.where(y == 1, chance(m), chance(-m))))

    def shifts_at(b: Any, t: float) -> tuple[Any, float]:
        """d of each segment, and the log likelihood."""
        far = np.full(len(names), 40.0)
        u = bisect(lambda v: v / t**2 + sums(w * (chance(z + b + v[g]) - y)), -far, far)
        q = chance(z + b + u[g])
        gain, bends = loss(z + b) - loss(z + b + u[g]), 1 + t**2 * sums(w * q * (1 - q))
        F = np.exp(gain - u**2 / (2 * t**2)) / np.sqrt(bends)
        s = bisect(lambda v: -((F - 1) / (1 + v * (F - 1))).sum(), 0.0, 1.0)
        likelihood = np.log(1 - s + s * F).sum() - loss(z + b).sum()
        return s * F / (1 - s + s * F) * u, float(likelihood)

    deviations = 0.05 * 2.0 ** np.arange(6)

    def solves(found: Any) -> bool:
        """There may be several levels: which segments moved, and which stayed? At one of them the
        shifts follow, and no other deviation is clearly likelier there."""
        b, d = float(found["level"]), np.array(found["shifts"])
        left = w @ (chance(z + b + d[g]) - y)
        at = [shifts_at(b, t) for t in deviations]
        none = (np.zeros(len(names)), -loss(z + b).sum())
        likely = max(likelihood for _, likelihood in [none, *at])
        own = [x for shifts, x in [none, *at] if np.abs(shifts - d).max() < 1e-5]
        # the level of the others is another, so their likelihood is a little off
        return bool(abs(left) < 1e-5 * w.sum() and own and max(own) > likely - 0.5)

    return Holds("shifts and level solve the equations", solves)
