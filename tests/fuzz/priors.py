"""The room of priors: shifts in 50 digits, sampling row by row, estimates by their equations."""

from __future__ import annotations

import math
from collections import Counter
from fractions import Fraction
from functools import partial
from hashlib import blake2b
from typing import Any

import numpy as np
from mpmath import mp

from gbdt_objectives import experimental, priors
from tests.fuzz.exact import EPS, counted, fraction, fractions, real, weights_of
from tests.fuzz.generators import Draw
from tests.fuzz.harness import Arguments, Holds, Near, Outside, Same, Unclear

# shifts


def draw_description(draw: Draw, K: int) -> dict[str, Any]:
    """What describes a shift of K classes, at times nothing, or too much."""
    rates = draw.rng.choice([1.0, 0.5, 0.01, 1e-9, 3.0, 250.0], K).tolist()
    found: list[dict[str, Any]] = [
        {"class_keep_rates": rates},
        {"class_keep_rates": {k: rates[k] for k in draw.rng.permutation(K).tolist()}},
        {"train_prior": draw.rng.dirichlet(np.full(K, 5.0)),
         "target_prior": draw.rng.dirichlet(np.full(K, 5.0))},
    ]  # fmt: skip
    if K == 2:
        found += [
            {"negative_keep_rate": draw.rate()},
            {"positive_keep_rate": draw.of([0.5, 2, 1e6]), "negative_keep_rate": draw.rate()},
            {"train_prior": draw.uniform(0.01, 0.99), "target_prior": draw.of([1e-9, 0.5, 0.999])},
        ]
    if draw.chance(0.02):
        found = [{}, {"class_keep_rates": rates, "train_prior": 0.5}]
    return draw.of(found)


def shifts_of(description: dict[str, Any], K: int) -> tuple[list[Any], bool]:
    """d of each class in 50 digits, and whether it is one number, that of label 1."""
    if "shift" in description:
        d = description["shift"]
        return ([mp.mpf(0), real(d)], True) if np.ndim(d) == 0 else (list(map(real, d)), False)
    given = set(description)
    if given == {"class_keep_rates"}:
        rates = description["class_keep_rates"]
        if isinstance(rates, dict):
            rates = [rates[k] for k in sorted(rates)]
        if min(rates) > 1:
            raise Outside("class_keep_rates")
        return [-mp.log(real(r)) for r in rates], False
    if given <= {"negative_keep_rate", "positive_keep_rate"} and given:
        beta, alpha = (
            real(description.get(f"{label}_keep_rate", 1.0)) for label in ("negative", "positive")
        )
        return [mp.mpf(0), mp.log(beta) - mp.log(alpha)], True
    if given == {"train_prior", "target_prior"}:
        old, new = description["train_prior"], description["target_prior"]
        if np.ndim(old) == 0:
            logit = [mp.log(real(x)) - mp.log(1 - real(x)) for x in (old, new)]
            return [mp.mpf(0), logit[1] - logit[0]], True
        return [mp.log(real(t)) - mp.log(real(s)) for s, t in zip(old, new, strict=True)], False
    raise Outside("exactly one description")


def draw_shift(draw: Draw) -> Arguments:
    return {"description": draw_description(draw, draw.classes())}


def shift(description: dict[str, Any]) -> Any:
    return np.atleast_1d(priors.log_odds_shift(**description).values)


def shift_reference(description: dict[str, Any]) -> Any:
    d, one = shifts_of(description, 0)
    # logs of numbers that are rounded themselves, 1 - s of a prior near 1 most
    return [Near(x, 1e-9 if one and "train_prior" in description else 1e-13 * (1 + abs(x)))
            for x in (d[1:] if one else d)]  # fmt: skip


def draw_correction(draw: Draw, margin: bool) -> Arguments:
    n, K = draw.rows(), draw.classes()
    columns = K > 2 or draw.chance(0.3)
    if margin:
        values = draw.margins((n, K) if columns else n)
    else:
        values = draw.probability_rows(n, K) if columns else draw.probabilities(n)
    description = draw_description(draw, K)
    if draw.chance(0.3):
        shift: Any = draw.of([0.0, -2.3, 80.0, -81.0, 690.0, 710.0])
        description = {"shift": draw.rng.normal(size=K) if K > 2 else shift}
    return {"values": values, "description": description}


draw_correct_probability = partial(draw_correction, margin=False)
draw_correct_margin = partial(draw_correction, margin=True)


def draw_correct_threshold(draw: Draw) -> Arguments:
    t = draw.probabilities(draw.between(1, 5))
    return {"values": t, "description": draw_description(draw, 2)}


def correct_probability(values: Any, description: Any) -> Any:
    return priors.correct_probability(values, **description).ravel()


def correct_margin(values: Any, description: Any) -> Any:
    return priors.correct_margin(values, **description).ravel()


def correct_threshold(values: Any, description: Any) -> Any:
    return priors.correct_threshold(values, **description)


def aligned(values: Any, description: Any) -> list[Any]:
    K = values.shape[1] if values.ndim == 2 else 2
    d, _ = shifts_of(description, K)
    if len(d) != K:
        raise Outside("shift")
    return d


def corrected(p: Any, d: Any) -> Any:
    """p exp(d) / (p exp(d) + 1 - p)."""
    odds = real(p) * mp.exp(d)
    return odds / (odds + real(1 - fraction(p)))


def check_odds(values: Any) -> None:
    """Leave open float32 so small that 1/p is more than a float32: they are taken for 0."""
    if values.dtype == np.float32 and ((values > 0) & (values < 3e-39)).any():
        raise Unclear


def correct_probability_reference(values: Any, description: Any) -> Any:
    d = aligned(values, description)
    check_odds(values)
    if max(d) - min(d) > 700:
        raise Outside("shift")
    eps, least = (4e-6, 1e-37) if values.dtype == np.float32 else (1e-13, 1e-300)
    if values.ndim == 1:
        found = [corrected(p, d[1] - d[0]) for p in values]
    else:
        found = []
        for row in values:
            v = [real(p) * mp.exp(x) for p, x in zip(row, d, strict=True)]
            found += [x / sum(v) for x in v]
        # of what is left of a product below the least float nothing is known
        if any(0 < x * len(d) < 1e-30 for x in found) and eps > 1e-6:
            raise Unclear
    # a shift rounds by EPS of itself, which multiplies the odds
    return [Near(q, eps * q * (1 + real(max(map(abs, d))) / 50) + least) for q in found]


def correct_margin_reference(values: Any, description: Any) -> Any:
    d = aligned(values, description)
    rows = values if values.ndim == 2 else [(z,) for z in values]
    add = d if values.ndim == 2 else [d[1] - d[0]]
    eps = 2e-7 if values.dtype == np.float32 else 1e-15
    rounded = 1e-9 * ("train_prior" in description)  # 1 - s of a prior near 1
    top = max(map(abs, d))
    return [
        Near(real(z) + x, eps * (abs(real(z)) + top) + rounded)
        for row in rows
        for z, x in zip(row, add, strict=True)
    ]


def correct_threshold_reference(values: Any, description: Any) -> Any:
    d = aligned(values, description)
    check_odds(values)
    eps, least = (4e-6, 1e-37) if values.dtype == np.float32 else (1e-9, 1e-300)
    if abs(d[1] - d[0]) > 700:
        raise Outside("shift")
    return [Near(t, eps * t + least) for t in (corrected(t, d[0] - d[1]) for t in values)]


# delays


def draw_delays(draw: Draw) -> Arguments:
    n = draw.rows()
    age = draw.rng.integers(0, draw.of([4, 12, 30]), n) * draw.of([1.0, 0.1, 24.0])
    delay = age * draw.rng.choice([0, 0.25, 0.5, 0.5, 1.0], n)
    if draw.chance(0.5):
        delay = np.floor(delay)
    horizon = draw.of([None, None, float(age.max()) / 2])
    return {
        "age": age, "delay": delay, "sample_weight": draw.calm_weights(n), "horizon": horizon,
    }  # fmt: skip


def delays(age: Any, delay: Any, sample_weight: Any, horizon: Any) -> Any:
    F = experimental.delay_distribution(age, delay, sample_weight, horizon=horizon)
    at = np.unique(np.append(age, 0.0))
    return {
        "delay": F.delay, "probability": F.probability, "standard_error": F.standard_error,
        "call": F(at), "again": type(F).from_json(F.to_json())(at),
    }  # fmt: skip


def delays_reference(age: Any, delay: Any, sample_weight: Any, horizon: Any) -> Any:
    rows, w = counted(sample_weight, len(age)), weights_of(sample_weight, len(age))
    a, d = fractions(age), fractions(delay)
    if any(t > s for s, t in zip(a, d, strict=True)):
        raise Outside("delay")
    old = [i for i in rows if a[i] > 0]
    same = [i for i in old if a[i] == d[i]]
    if 2 * len(same) > len(old) and len({a[i] for i in same}) >= 5:
        raise Outside("delay")
    oldest = max(a[i] for i in rows)
    T = oldest if horizon is None else fraction(horizon)
    if oldest < T:
        raise Outside("horizon")
    rows = [i for i in rows if d[i] <= T]
    if not rows:
        raise Outside("horizon")
    a = [min(x, T) for x in a]
    at = sorted({d[i] for i in rows})
    n = {t: sum(w[i] for i in rows if d[i] == t) for t in at}
    R = {t: sum(w[i] for i in rows if d[i] <= t <= a[i]) for t in at}
    if any(R[t] <= n[t] for t in at[1:]):
        raise Outside("delay")
    F, error = {}, {}
    for k, t in enumerate(at):
        F[t] = Fraction(1)
        for s in at[k + 1 :]:
            F[t] *= 1 - n[s] / R[s]
        terms = [n[s] / (R[s] * (R[s] - n[s])) for s in at[k + 1 :]]
        error[t] = real(F[t]) * mp.sqrt(real(sum(terms, Fraction(0))))
    least = min([R[t] - n[t] for t in at[1:]], default=Fraction(1))
    if least < Fraction(1, 1000) * sum(w[i] for i in rows) / len(rows):  # a difference of sums
        raise Unclear
    steps = [
        Near(F[max(own)] if (own := [s for s in at if s <= fraction(x)]) else 0, 1e-11)
        for x in np.unique(np.append(age, 0.0))
    ]
    return {
        "delay": [Near(t) for t in at],
        "probability": [Near(F[t], 1e-11) for t in at],  # a product of at most 40 quotients
        "standard_error": [Near(error[t], 1e-9 * error[t] + 1e-15) for t in at],
        "call": steps, "again": steps,
    }  # fmt: skip


# estimates


def draw_estimate(draw: Draw) -> Arguments:
    n, K = draw.rows(60, least=2), draw.of([2, 2, 2, 3, 4])
    columns = K > 2 or draw.chance(0.3)
    P = draw.rng.dirichlet(np.full(K, draw.of([0.3, 1.0, 3.0])), n) * (1 - 1e-6) + 1e-6 / K
    prior: Any = draw.rng.dirichlet(np.full(K, 8.0))
    owner = draw.rng.integers(0, max(K, n // 2), n) if draw.chance(0.2) else None
    return {
        "probability": P if columns else P[:, 1], "train_prior": prior if columns else prior[1],
        "groups": owner, "confidence_level": draw.of([0.9, 0.95]),
    }  # fmt: skip


def estimate(probability: Any, train_prior: Any, groups: Any, confidence_level: float) -> Any:
    test = priors.prior_shift_test(
        probability, train_prior, groups=groups, confidence_level=confidence_level
    )
    return {
        "estimate": test.estimate, "statistic": test.statistic, "p_value": test.p_value,
        "alone": priors.estimate_prior(
            probability, train_prior, groups=groups, confidence_level=confidence_level
        ),
        "degrees": test.degrees_of_freedom,
    }  # fmt: skip


def estimate_reference(
    probability: Any, train_prior: Any, groups: Any, confidence_level: float
) -> Any:
    P = np.asarray(probability, float)
    P = P if P.ndim == 2 else np.column_stack([1 - P, P])
    pi0 = np.array([1 - train_prior, train_prior]) if np.ndim(train_prior) == 0 else train_prior
    n, K = P.shape
    if groups is not None and len(set(groups.tolist())) < K:
        raise Outside("groups")
    r = P / pi0
    if len(np.unique(r, axis=0)) < K + 2 or np.linalg.matrix_rank(r - r[:, -1:]) < K - 1:
        raise Unclear
    one = np.ndim(train_prior) == 0

    def shares(found: Any) -> Any:
        return np.array([1 - found.prior, found.prior]) if one else np.asarray(found.prior)

    def solves(found: Any) -> bool:
        """The likelihood is stationary, or an end of the range is better than what is inside."""
        pi = shares(found)
        m = [sum(r[i, k] / (r[i] @ pi) for i in range(n)) / n for k in range(K)]
        if found.collapsed:
            return max(m) < 1.2 or K > 2
        if not found.converged:
            return True
        return all(abs(x - 1) < 1e-4 or pi[k] < 0.02 / n for k, x in enumerate(m))

    def errors(found: Any) -> bool:
        """The inverse of the observed information, or that between two sums over groups."""
        pi = shares(found)
        u = [(r[i, :-1] - r[i, -1]) / (r[i] @ pi) for i in range(n)]
        information = sum(np.outer(v, v) for v in u)
        if np.linalg.cond(information) > 1e9:
            return True
        C = np.linalg.inv(information)
        if groups is not None:
            of = {g: sum(v for v, own in zip(u, groups, strict=True) if own == g) for g in groups}
            C = C @ sum(np.outer(v, v) for v in of.values()) @ C
        error = np.sqrt(np.append(np.diag(C), C.sum()))
        return bool(np.allclose(found.standard_error, error[1] if one else error, rtol=1e-5))

    def ends(found: Any) -> bool:
        """Of two classes an end is where the score is z of its standard errors from 0."""
        if K > 2 or groups is not None or found.collapsed:
            return True
        z = float(mp.sqrt(2) * mp.erfinv(confidence_level))
        low, high = found.interval if one else found.interval[:, 1]
        for p in (low, high):
            v = [(x[0] - x[1]) / (x @ np.array([1 - p, p])) for x in r]
            size = z * math.sqrt(sum(x * x for x in v))
            if 0.01 / n < p < 1 - 0.01 / n and abs(abs(sum(v)) - size) > 1e-4 * size:
                wald = found.standard_error if one else found.standard_error[1]
                centre = found.prior if one else found.prior[1]
                return bool(abs(abs(p - centre) - z * wald) < 1e-6)
        return bool(low <= high)

    def gains(found: Any) -> bool:
        pi = shares(found["estimate"])
        if groups is None:
            statistic = max(0, 2 * sum(mp.log(real(x @ pi)) for x in r))
        else:
            u = [(r[i, :-1] - r[i, -1]) / (r[i] @ pi0) for i in range(n)]
            of = {g: sum(v for v, own in zip(u, groups, strict=True) if own == g) for g in groups}
            C = sum(np.outer(v, v) for v in of.values())
            if np.linalg.cond(C) > 1e9:
                return True
            d = sum(u)
            statistic = d @ np.linalg.inv(C) @ d
        p = mp.gammainc(mp.mpf(K - 1) / 2, real(float(statistic)) / 2, regularized=True)
        return bool(
            abs(found["statistic"] - float(statistic)) < 1e-6 * (1 + abs(float(statistic)))
            and abs(found["p_value"] - float(p)) < 1e-5
        )

    return Holds(
        "the likelihood is stationary, its information and score give error and interval, and its "
        "gain the statistic",
        lambda found: solves(found["estimate"]) and errors(found["estimate"])
        and ends(found["estimate"]) and gains(found) and found["degrees"] == K - 1
        and np.array_equal(found["alone"].prior, found["estimate"].prior),
    )  # fmt: skip


def draw_matched(draw: Draw) -> Arguments:
    n, m, K = draw.between(10, 60), draw.between(20, 80), draw.of([2, 2, 3])
    label = np.arange(m) % K
    centre = 3 * np.eye(K) * draw.of([0.5, 1.0])

    def softmax(z: Any) -> Any:
        return np.exp(z) / np.exp(z).sum(axis=1, keepdims=True)

    held_out = softmax(centre[label] + draw.rng.normal(size=(m, K)))
    P = softmax(centre[draw.rng.integers(0, K, n)] + draw.rng.normal(size=(n, K)))
    return {"probability": P, "y": label, "held_out": held_out}


def matched(probability: Any, y: Any, held_out: Any) -> Any:
    return priors.estimate_prior(probability, out_of_fold=(y, held_out))


def matched_reference(probability: Any, y: Any, held_out: Any) -> Any:
    K = probability.shape[1]
    pi0 = np.array([np.mean(y == k) for k in range(K)])

    def u(P: Any, pi: Any) -> Any:
        return np.array(
            [(row[:-1] / pi0[:-1] - row[-1] / pi0[-1]) / ((row / pi0) @ pi) for row in P]
        )

    def solves(found: Any) -> bool:
        pi = found.prior
        if found.collapsed or not found.converged or pi.min() < 0.02 / len(probability):
            return True
        of_class = sum(pi[k] * u(held_out[y == k], pi).mean(axis=0) for k in range(K))
        size = np.abs(u(held_out, pi)).max()
        return bool(np.abs(u(probability, pi).mean(axis=0) - of_class).max() < 1e-4 * size)

    return Holds("mean u is what the classes' means of u make of the prior", solves)


# samples


def draw_downsample(draw: Draw) -> Arguments:
    n = draw.rows(least=2)
    rate: Any = draw.rate()
    rates = draw.rng.choice([1.0, 0.5, 0.1], n) if draw.chance(0.4) else rate
    kind = draw.below(3)
    key: Any = draw.rng.integers(-(2**62), 2**62, n)
    if kind == 1:
        key = np.array([f"user {k}" for k in draw.rng.integers(0, 9, n)])
    elif kind == 2:
        key = key.astype(draw.of(["u1", "i4", "u8"]))
    return {
        "y": draw.binary(n, both=True), "key": key, "negative_keep_rate": rates,
        "random_state": draw.below(2**40),
    }  # fmt: skip


def meant(y: Any, rate: Any) -> Any:
    """The rate, with the name of the class where that is the rare one."""
    ones = np.count_nonzero(y)
    return {0: rate} if len(y) - ones < ones / 2 else rate


def downsample(y: Any, key: Any, negative_keep_rate: Any, random_state: int) -> Any:
    return priors.negative_downsample(y, meant(y, negative_keep_rate), random_state=random_state)


def checked_sample(y: Any, kept: list[bool]) -> Any:
    labels = [int(x) for x in y]
    part = isinstance(meant(y, 1.0), dict)  # as in a chunk of a log, which may lack a label
    none_left = not any(k and not x for k, x in zip(kept, labels, strict=True))
    if not part and (len(set(labels)) < 2 or none_left):
        raise Outside("y")
    return Same([i for i, k in enumerate(kept) if k])


def downsample_reference(y: Any, key: Any, negative_keep_rate: Any, random_state: int) -> Any:
    rates = np.broadcast_to(negative_keep_rate, len(y))
    uniform = np.random.default_rng(random_state).random(len(y))
    return checked_sample(y, [bool(x) or u < r for x, u, r in zip(y, uniform, rates, strict=True)])


def by_key(y: Any, key: Any, negative_keep_rate: Any, random_state: int) -> Any:
    rate = meant(y, negative_keep_rate)
    return priors.negative_downsample_by_key(y, key, rate, random_state=random_state)


def mix(z: int) -> int:
    """SplitMix64's output function, in Python's integers."""
    z = ((z ^ (z >> 30)) * 0xBF58476D1CE4E5B9) % 2**64
    z = ((z ^ (z >> 27)) * 0x94D049BB133111EB) % 2**64
    return z ^ (z >> 31)


def by_key_reference(y: Any, key: Any, negative_keep_rate: Any, random_state: int) -> Any:
    rates = np.broadcast_to(negative_keep_rate, len(y))
    kept = []
    for x, k, r in zip(y, key.tolist(), rates, strict=True):
        if isinstance(k, str):
            k = int.from_bytes(blake2b(k.encode(), digest_size=8).digest(), "little")
        bits = mix(mix((k + 0x9E3779B97F4A7C15) % 2**64) ^ mix(random_state % 2**64))
        kept.append(bool(x) or Fraction(bits >> 11, 2**53) < fraction(r))
    return checked_sample(y, kept)


def draw_resample(draw: Draw) -> Arguments:
    n, K = draw.rows(), draw.classes(5)
    names = draw.names(K)
    y = np.array(names)[draw.positions(n, K)]
    present = dict.fromkeys(y.tolist() if draw.chance(0.9) else names)
    rates = {name: draw.of([1, 2.5, 0.5, 3, 0.1]) for name in present}
    return {"y": y, "class_keep_rates": rates, "random_state": draw.below(2**31)}


def resample(y: Any, class_keep_rates: Any, random_state: int) -> Any:
    return priors.resample_classes(y, class_keep_rates, random_state=random_state)


def resample_reference(y: Any, class_keep_rates: Any, random_state: int) -> Any:
    if min(class_keep_rates.values()) > 1:
        raise Outside("class_keep_rates")
    uniform = np.random.default_rng(random_state).random(len(y))
    found: list[int] = []
    for i, (label, u) in enumerate(zip(y.tolist(), uniform, strict=True)):
        r = class_keep_rates[label]
        found += [i] * (math.floor(r) + (u < r - math.floor(r)))
    if {y[i] for i in found} != set(class_keep_rates):
        raise Outside("y")
    return Same(found)


def draw_measured(draw: Draw) -> Arguments:
    n, K = draw.rows(), draw.classes(5)
    y = np.array(draw.names(K))[draw.positions(n, K)]
    rows = draw.rng.integers(0, n, draw.between(1, 2 * n))
    return {"y_full": y, "y_sampled": y[rows] if draw.chance(0.5) else np.append(y[rows], y)}


def measured(y_full: Any, y_sampled: Any) -> Any:
    return priors.measured_keep_rates(y_full, y_sampled)


def measured_reference(y_full: Any, y_sampled: Any) -> Any:
    full, sampled = Counter(y_full.tolist()), Counter(y_sampled.tolist())
    if set(full) != set(sampled):
        raise Outside("y_sampled")
    rates = {label: Fraction(sampled[label], full[label]) for label in sorted(full)}
    top = [label for label in rates if sampled[label] == max(sampled.values())]
    if min(rates.values()) >= 1 and max(rates.values()) > 1:  # are the arguments swapped?
        if len(top) > 1:
            raise Unclear
        if rates[top[0]] > max([Fraction(1), *(rates[k] for k in rates if k != top[0])]):
            raise Outside("y_sampled")
    return {label: Near(rate, EPS * rate) for label, rate in rates.items()}


def draw_pilot(draw: Draw) -> Arguments:
    n = draw.rows(least=2)
    return {
        "y_true": draw.binary(n, both=True), "probability": draw.probabilities(n),
        "negative_keep_rate": draw.of([0.5, 0.1, 1e-3, 1.0]), "floor": draw.of([None, 0.01, 0.2]),
    }  # fmt: skip


def pilot(y_true: Any, probability: Any, negative_keep_rate: float, floor: Any) -> Any:
    rate = meant(y_true, negative_keep_rate)
    return priors.pilot_keep_rates(y_true, probability, rate, floor=floor)


def pilot_reference(y_true: Any, probability: Any, negative_keep_rate: float, floor: Any) -> Any:
    mean = fraction(negative_keep_rate)
    least = fraction(negative_keep_rate / 10 if floor is None else floor)
    if least > mean:
        raise Outside("floor")
    y, p = [int(x) for x in y_true], fractions(probability)
    own = [x for x, label in zip(p, y, strict=True) if not label]
    if len(own) in (0, len(p)):
        raise Outside("y_true")
    if least == mean:
        return [Near(mean) for _ in p]
    if mean == 1 and min(own) > 0:  # of a positive any rate that a larger multiplier gives
        share = Holds("a rate", lambda rate: 0 < rate <= 1)
        return [share if label else Near(1, 1e-12) for label in y]

    def total(c: Any) -> Any:
        return sum(min(Fraction(1), max(least, c * x)) for x in own)

    corners = sorted({v / x for x in own if x for v in (least, Fraction(1))})
    if not corners or total(corners[-1]) < mean * len(own):
        if corners and mean * len(own) - total(corners[-1]) < Fraction(1, 10**12):
            raise Unclear
        raise Outside("probability")
    high = next(c for c in corners if total(c) >= mean * len(own))
    low = max([c for c in corners if c < high], default=Fraction(0))
    rise = total(high) - total(low)
    c = high if rise == 0 else low + (high - low) * (mean * len(own) - total(low)) / rise
    if any(
        abs(total(x) - mean * len(own)) < Fraction(1, 10**9) for x in corners
    ):  # any larger multiplier may be right, too
        raise Unclear
    rates = [min(Fraction(1), max(least, c * x)) for x in p]
    # the multiplier is found to 1e-13 of its logarithm, which is at most some 700
    return [Near(rate, 1e-9 * rate) for rate in rates]


def draw_weights(draw: Draw) -> Arguments:
    n, K = draw.rows(), draw.classes(4)
    if draw.chance(0.5):
        y: Any = draw.binary(n)
        prior: Any = draw.of([0.5, 1e-6, 0.3])
    else:
        y = np.array(draw.names(K))[draw.positions(n, K)]
        some = sorted(set(y.tolist()))
        tau = draw.rng.dirichlet(np.full(len(some), 5.0))
        prior = dict(zip(some, tau.tolist(), strict=True))
    return {"y": y, "target_prior": prior, "normalize": draw.of(["mean", "positive"])}


def prior_weights(y: Any, target_prior: Any, normalize: Any) -> Any:
    return priors.prior_weights(y, target_prior, normalize=normalize)


def prior_weights_reference(y: Any, target_prior: Any, normalize: Any) -> Any:
    counts = Counter(y.tolist())
    if not isinstance(target_prior, dict):
        target_prior = {0: 1 - fraction(target_prior), 1: fraction(target_prior)}
        if set(counts) != {0, 1}:
            raise Outside("y")
    if normalize == "positive" and set(counts) != {0, 1}:
        raise Outside("y")
    total = sum(map(fraction, target_prior.values()))
    w = {k: fraction(target_prior[k]) / total * len(y) / counts[k] for k in counts}
    unit = w[1] if normalize == "positive" else 1
    # 1 - tau, and the sum of priors, round by EPS
    return [Near(w[k] / unit, 16 * EPS * (1 + w[k] / unit)) for k in y.tolist()]
