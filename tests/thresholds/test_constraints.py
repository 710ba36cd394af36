"""Thresholds that keep bounds: every cut in fractions, the tests of the guarantee, its doors."""

from __future__ import annotations

import re
import warnings
from fractions import Fraction
from itertools import product

import numpy as np
import pytest
from scipy.special import bdtr, betainc
from scipy.stats import binom
from sklearn.base import clone
from sklearn.metrics import precision_score, recall_score

from gbdt_objectives import ThresholdClassifier, apply_thresholds, optimize_thresholds
from gbdt_objectives.metrics import cost_metric, threshold_metric
from gbdt_objectives.thresholds import ThresholdStatistics
from gbdt_objectives.thresholds.constraints import Limits, ShareTest, by_block, goodness, keeps
from gbdt_objectives.thresholds.rows import ScoredRows
from tests.cases import each, refusals_of

PROFIT = cost_metric([[0, 2], [0, -10]])
Y = [1, 1, 0, 1, 0, 1, 0, 0, 1, 0]
SCORE = [0.95, 0.9, 0.85, 0.8, 0.7, 0.6, 0.6, 0.5, 0.4, 0.2]


@each(
    ("metric", "constraints", "rate", "threshold"),
    [
        ("recall", {"precision": 0.75}, None, 0.75),
        ("recall", {"precision": 0.7}, None, 0.75),
        ("recall", {"precision": 0.99}, None, 0.875),
        ("recall", {"false_positive_rate": 0.2}, None, 0.75),
        ("recall", {"alert_rate": 0.6}, None, 0.75),  # a fifth alert adds nothing
        ("precision", {"recall": 0.8}, None, 0.55),
        ("precision", {"recall": 0.6}, None, 0.75),
        ("f1", {"alert_rate": 0.5}, None, 0.75),
        (PROFIT, {"precision": 0.55}, None, 0.3),
        ("recall", {PROFIT: -2.8}, None, 0.3),
        ("alert_rate", {"recall": 0.8, "precision": 0.5}, None, 0.55),
        ("recall", {"precision": 0.3}, 0.2, 0.75),
        ("recall", {"precision": 0.75}, 0.2, 0.875),
        ("recall", {"alert_rate": 0.2}, 0.2, 0.875),
    ],
)
def test_ten_rows_by_hand(metric, constraints, rate, threshold):
    options = {"metric": metric, "constraints": constraints, "negative_keep_rate": rate}
    found = optimize_thresholds(Y, SCORE, **options)
    assert float(found) == pytest.approx(threshold)
    halves = [ThresholdStatistics.empty([0, 1]).add(Y[k::2], SCORE[k::2]) for k in (0, 1)]
    assert sum(halves).thresholds(**options) == pytest.approx(found)
    classifier = clone(ThresholdClassifier(**options)).fit(SCORE, Y)
    assert (classifier.thresholds_method_, float(classifier.thresholds_)) == ("exact", float(found))
    if rate is None and isinstance(metric, str):
        again = ThresholdClassifier.from_json(classifier.to_json())
        np.testing.assert_array_equal(again.predict(SCORE), apply_thresholds(SCORE, found))


def in_fractions(y, score, w, r, t):
    """Precision and the like of the alerts from t on, None where it is 0/0."""
    sums = {(k, a): Fraction(0) for k in (0, 1) for a in (False, True)}
    for k, s, v in zip(y, score, w, strict=True):
        sums[k, bool(s >= t)] += Fraction(v) / (1 if k else Fraction(r))
    FP, TP, FN = sums[0, True], sums[1, True], sums[1, False]
    P, N = TP + FN, FP + sums[0, False]
    return {
        "precision": TP / (TP + FP) if TP + FP else None,
        "recall": TP / P,
        "false_positive_rate": FP / N,
        "alert_rate": (TP + FP) / (P + N),
        "f1": 2 * TP / (P + TP + FP),
        "youden": TP / P - FP / N,
        PROFIT: (2 * FP - 10 * TP) / (P + N),
    }


DOWN = ("false_positive_rate", "alert_rate", PROFIT)


@pytest.mark.parametrize("seed", range(120))
def test_no_cut_is_better_in_fractions(seed):
    rng = np.random.default_rng(seed)
    n, r = int(rng.integers(4, 30)), Fraction(1, int(rng.choice([1, 2, 3, 10])))
    score = rng.integers(0, 12, n) / 4
    y = np.append([0, 1], rng.integers(0, 2, n - 2))
    w = rng.integers(1, 9, n) / 4 if seed % 2 else np.ones(n)
    values = [in_fractions(y, score, w, r, t) for t in (*np.unique(score), np.inf)]
    metric, *limited = rng.permutation(np.array(list(values[0]), object))[: rng.integers(2, 5)]
    reached = rng.choice(len(values) - 1)  # bounds that this cut keeps, and reaches
    bounds = {m: values[reached][m] + Fraction(int(rng.integers(0, 2)), 7) for m in limited}

    def kept(v):
        return all(v[m] is not None and (v[m] <= x if m in DOWN else v[m] >= x)
                   for m, x in bounds.items())  # fmt: skip

    def goodness(v):
        return -(10**9) if v[metric] is None else -v[metric] if metric in DOWN else v[metric]

    best = max((goodness(v) for v in values if kept(v)), default=None)
    options = {"metric": metric, "constraints": {m: float(x) for m, x in bounds.items()}}
    call = (y, score), {**options, "negative_keep_rate": float(r), "sample_weight": w}
    if any(not 0 <= x <= 1 for m, x in bounds.items() if m != PROFIT and m not in ("f1", "youden")):
        with pytest.raises(ValueError, match=r"must be in \[0, 1\]"):
            optimize_thresholds(*call[0], **call[1])
        return
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # every row gets one class, rates
        if best is None:
            with pytest.raises(ValueError, match="cannot be kept: the best"):
                optimize_thresholds(*call[0], **call[1])
            return
        t = float(optimize_thresholds(*call[0], **call[1]))
    found = in_fractions(y, score, w, r, t)
    assert kept(found)
    assert goodness(found) == best
    fewer = [v for v in values if kept(v) and goodness(v) == best]
    assert found["alert_rate"] == min(v["alert_rate"] for v in fewer)


def test_metrics_are_those_of_scikit_learn():
    rng = np.random.default_rng(0)
    y, p, w = rng.integers(0, 2, 50), rng.integers(0, 2, 50), rng.exponential(size=50)
    for name, expected in {
        "precision": precision_score(y, p, sample_weight=w),
        "recall": recall_score(y, p, sample_weight=w),
        "false_positive_rate": 1 - recall_score(1 - y, 1 - p, sample_weight=w),
        "alert_rate": np.average(p, weights=w),
    }.items():
        assert threshold_metric(name)(y, p, w) == pytest.approx(expected, rel=1e-12)


# the guarantee


def of_top(y, x, rate=1.0, delta=0.1, name="precision", start=2):
    """The test of the first rows, of no ties, given labels from the highest score down."""
    y = np.asarray(y)[::-1]
    factor = np.array([[1 / rate], [1.0]])
    C = np.stack([np.append(0, np.cumsum(y == k)) for k in (0, 1)]) * factor
    return ShareTest(threshold_metric(name), x, np.stack([C, C * factor]), delta, start)


@each(
    ("positives", "alerts", "x", "rate", "p", "limit"),
    [
        (18, 20, 0.8, 1.0, 0.20608471894847402, 0.7552346828713884),
        (45, 50, 0.8, 1.0, 0.04802721937073359, 0.8223818723826234),
        (90, 100, 0.8, 1.0, 0.005696380955793522, 0.8501174076983797),
        (45, 50, 0.5, 0.1, 0.6990970589855465, 0.3164756157030439),
        (48, 50, 0.5, 0.1, 0.15546356085088653, 0.46560027198280396),
    ],
)
def test_p_values_are_binomial(positives, alerts, x, rate, p, limit):
    labels = [0] * (alerts - positives) + [1] * positives + [0, 1] * 5
    at = np.array([10])  # of 10 rows that are no alerts
    assert of_top(labels, x, rate).p_values(at) == pytest.approx(p, rel=1e-12)
    assert binom.sf(positives - 1, alerts, x / (x + rate * (1 - x))) == pytest.approx(p, rel=1e-9)
    assert of_top(labels, limit, rate).p_values(at) == pytest.approx(0.1, rel=1e-9)


@each(
    ("x", "rate", "m"),
    [
        (0.5, 1, [4, 7, 9, 12, 14, 17, 19, 21, 24]),
        (0.8, 1, [11, 18, 25, 32, 38, 45, 51, 57, 63]),
        (0.9, 1, [22, 38, 52, 65, 78]),
        (0.5, 0.1, [25, 42, 57, 72, 86, 100, 114, 128, 141]),
    ],
)
def test_alerts_of_the_tests(x, rate, m):
    test = of_top([1] * 500 + [0] * 500, x, rate)
    assert (1000 - test.sequence(-2, len(m) - 2)).tolist() == m
    q = x / (x + rate * (1 - x))
    for j, least in enumerate(m):
        assert binom.cdf(j, least, 1 - q) <= 0.1 < binom.cdf(j, least - 1, 1 - q)


def test_all_tests_up_to_the_first_that_fails():
    """Of far more than are made at once: one alert in ten is false, then nine are."""
    test = of_top(np.tile([1] * 9 + [0], 1000).tolist() + [0] * 5000 + [1] * 5000, 0.8)
    order = test.sequence(0, 15_000)
    right = test.p_values(order) <= 0.1
    passed = int(np.argmin(right))
    assert 1500 < passed < len(order)
    assert np.flatnonzero(test.passed).tolist() == sorted(set(order[:passed].tolist()))


def test_weighted_rows_are_worth_fewer():
    """The formula at each cut; of a side without rows the nearest says what one weighs."""
    y, score = sample(40)
    w = np.random.default_rng(4).exponential(size=40)
    statistics = ThresholdStatistics.of(y, score, sample_weight=w)
    bins = statistics.bins(None)
    sums = np.stack([bins.class_curve.C, bins.squares_below])
    found = ShareTest(threshold_metric("precision"), 0.4, sums, 0.1, 2).p_values(np.arange(40))
    for i, t in enumerate(np.sort(score)):
        a, b = (w[(score >= t) & (y == k)] for k in (1, 0))
        b = b if len(b) else w[score == score[y == 0].max()]
        n1, n0 = a.sum() ** 2 / (a @ a), np.sum(b) ** 2 / (b @ b) * bool((y[score >= t] == 0).any())
        odds = 0.4 / 0.6 * (b @ b / b.sum()) / (a @ a / a.sum())
        assert found[i] == pytest.approx(betainc(n1, n0 + 1, odds / (1 + odds)), rel=1e-8)
    options = {"metric": "f1", "constraints": {"recall": 0.3}, "confidence_level": 0.8}
    placed = optimize_thresholds(y, score, sample_weight=w, **options)
    assert float(statistics.thresholds(**options)) == float(placed)


K = [
    (50, 0.05, 0, None), (50, 0.1, 1, 1), (200, 0.05, 5, 4), (200, 0.1, 14, 12),
    (1000, 0.05, 40, 38), (1000, 0.1, 87, 84), (10_000, 0.05, 471, 463), (10_000, 0.1, 961, 950),
    (100, 0.01, None, None), (1000, 0.01, 5, None), (10_000, 0.01, 86, None),
]  # fmt: skip
"""Rows, rate, and the rank of the order statistic at 90 and 95 %, from P(Bin(n, x) <= k)."""


@each("metric", ["false_positive_rate", "recall", "alert_rate"])
@each(("n", "x", "k90", "k95"), K)
def test_rates_by_order_statistics(metric, n, x, k90, k95):
    """So many of n negatives may be alerts, of n positives may be none, or of n rows."""
    y, score = np.tile([1, 0], n), np.arange(2.0 * n)
    counted = {"false_positive_rate": y == 0, "recall": y == 1, "alert_rate": y >= 0}[metric]
    if metric == "alert_rate":  # each more finds a positive
        y, score, counted = np.repeat([0, 1], [1, n - 1]), score[:n], counted[:n]
    for level, k in ((0.9, k90), (0.95, k95)):
        options = {
            "metric": "precision" if metric == "recall" else "recall",
            "constraints": {metric: 1 - x if metric == "recall" else x},
            "confidence_level": level,
        }
        if k is None and not (x == 0.01 and level == 0.95 and n > 100):
            least = int(np.ceil(np.log(1 - level) / np.log(1 - x)))
            with pytest.raises(ValueError, match=f"{metric} needs {least} rows .* found {n}"):
                optimize_thresholds(y, score, **options)
        elif k is not None:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", UserWarning)  # no alerts, where that is best
                t = float(optimize_thresholds(y, score, **options))
            wrong = score < t if metric == "recall" else score >= t
            assert np.count_nonzero(wrong & counted) == k


def chain(y, score, x, rate, delta, start):
    """The threshold of the fixed sequence, row by row, for scores without ties: the last that
    passed, or one of fewer alerts and as many positives."""
    order = np.argsort(-score)
    false, s, q = np.cumsum(y[order] == 0), score[order], x / (x + rate * (1 - x))
    found, m = {}, 1  # by the number of positives
    for j in range(start, len(y)):
        m = max(m, j + 1)
        while bdtr(j, m, 1 - q) > delta:
            m += 1
        if m > len(y) or false[m - 1] > j:
            break
        found.setdefault(m - false[m - 1], s[m] if m < len(y) else -np.inf)
    return found[max(found)]


def sample(n=3000, seed=0, rate=1.0):
    rng = np.random.default_rng(seed)
    score = rng.normal(size=n)
    y = (rng.random(n) < 1 / (1 + np.exp(2 - 2.5 * score))).astype(int)
    kept = (y == 1) | (rng.random(n) < rate)
    return y[kept], score[kept]


@each(
    ("x", "rate", "start"),
    [
        (0.15, 1.0, 17), (0.3, 1.0, 14), (0.5, 1.0, 10), (0.8, 1.0, 4), (0.9, 1.0, 2),
        (0.95, 1.0, 2), (0.7, 1.0, 6), (0.01, 1.0, 20), (0.5, 0.2, 4), (0.1, 0.05, 7),
    ],
)  # fmt: skip
def test_the_first_test_follows_from_the_bound_and_the_rate(x, rate, start):
    """False alerts among 20, rounded up; whatever the rows are."""
    assert Limits((), 0.9).start(x, rate) == start
    assert Limits((), 0.9, 5).start(x, rate) == 5


# positives are not rare here
@pytest.mark.filterwarnings("ignore:negative_keep_rate drops rows of")
@each("seed", range(4))
@each("first", [None, 0, 2, 30])
@each(("x", "rate", "usual"), [(0.5, 1.0, 10), (0.8, 1.0, 4), (0.5, 0.2, 4)])
def test_precision_by_a_fixed_sequence(x, rate, usual, first, seed):
    y, score = sample(seed=seed, rate=rate)
    options = {
        "metric": "recall", "constraints": {"precision": x}, "confidence_level": 0.9,
        "first_test": first,
    }  # fmt: skip
    try:
        expected = chain(y, score, x, rate, 0.1, usual if first is None else first)
    except ValueError:  # nothing passed
        with pytest.raises(ValueError, match="cannot be kept"):
            optimize_thresholds(y, score, negative_keep_rate=rate, **options)
        return
    found = float(optimize_thresholds(y, score, negative_keep_rate=rate, **options))
    assert ((score >= found) == (score > expected)).all()
    assert expected < found < expected + 4 * np.finfo(np.float32).eps * abs(expected)
    parts = [ThresholdStatistics.empty([0, 1]).add(y[k::3], score[k::3]) for k in range(3)]
    assert float(sum(parts).thresholds(negative_keep_rate=rate, **options)) == found
    classifier = ThresholdClassifier(negative_keep_rate=rate, **options)
    assert float(clone(classifier).fit(score, y).thresholds_) == found
    loose = float(optimize_thresholds(y, score, negative_keep_rate=rate, **options | {
        "confidence_level": None, "first_test": None}))  # fmt: skip
    assert loose < found


def written(score):
    """The same scores as files, databases and other sums have them."""
    score = np.asarray(score, np.float64)
    noise = np.random.default_rng(1).integers(-4, 5, len(score)) * np.spacing(score)
    short = score.astype(np.float32)
    return {
        "FLOAT": short.astype(np.float64), "summed in another order": score + noise,
        "nine digits": np.array([float(f"{x:.9g}") for x in score]),
        "nine digits of a FLOAT": np.array([float(f"{x:.9g}") for x in short]),
        "seventeen digits": np.array([float(f"{x:.16e}") for x in score]),
    }  # fmt: skip


SCORES = {
    "eleven values": lambda p, rng: p.round(1),
    "a leaf each": lambda p, rng: np.sort(rng.lognormal(size=30))[(30 * p).astype(int)],
    "negative, and 0": lambda p, rng: (6 * p).round() / 3 - 1,
    "float32": lambda p, rng: p.astype(np.float32),
    "neighbours in float32": lambda p, rng: np.float32(0.3) + (40 * p).astype(np.int32)
    * np.spacing(np.float32(0.3)),
    "whole numbers": lambda p, rng: (20 * p).astype(np.int64),
    "small": lambda p, rng: 1e-12 * p.round(2),
    "nearer than float32": lambda p, rng: 0.5 + 1e-9 * (50 * p).round() + 0.1 * p.round(1),
    "continuous": lambda p, rng: p,
}  # fmt: skip


@each("kind", SCORES)
@each("metric, bound", [("precision", 0.45), ("recall", 0.6), ("false_positive_rate", 0.3)])
def test_a_guarantee_holds_however_scores_and_cut_are_written(kind, metric, bound):
    """float32, nine digits and the order of sums change no alert, at any door."""
    rng = np.random.default_rng(3)
    p = rng.beta(2, 3, 800)
    y = (rng.random(800) < p).astype(int)
    options = {
        "metric": "precision" if metric == "recall" else "recall", "constraints": {metric: bound},
        "confidence_level": 0.9,
    }  # fmt: skip
    score = np.asarray(SCORES[kind](p, rng))
    statistics = ThresholdStatistics.empty([0, 1], max_bins=10_000)
    statistics = statistics.add(y[:300], score[:300]) + statistics.add(y[300:], score[300:])
    doors = {
        "precision": lambda: statistics.thresholds(**options),
        "recall": lambda: optimize_thresholds(y, score, groups=np.arange(800), **options),
        "false_positive_rate": lambda: ThresholdClassifier(**options).fit(score, y).thresholds_,
    }  # fmt: skip
    for cut in (optimize_thresholds(y, score, **options), doors[metric]()):
        t = float(cut)
        alerts = cut.apply(score)
        assert 0 < alerts.sum() < 800
        for how, other in written(score).items():
            changed = np.count_nonzero((other >= t) != alerts)
            assert not changed, f"{changed} alerts of {how}, cut {t!r}"
            changed = np.count_nonzero((other >= float(f"{t:.9g}")) != alerts)
            assert not changed, f"{changed} alerts of {how} and the cut {t:.9g}"


@each("seed", range(3))
def test_scores_that_are_equal_but_for_rounding_are_one_tie(seed):
    """Noise in the last digits gives the alerts of the score without it."""
    rng = np.random.default_rng(seed)
    clean = rng.beta(1, 3, 3000).round(1)
    y = (rng.random(3000) < clean).astype(int)
    options = {"metric": "recall", "constraints": {"precision": 0.45}, "confidence_level": 0.9}
    expected = optimize_thresholds(y, clean, **options).apply(clean)
    for how, score in written(clean).items():
        found = optimize_thresholds(y, score, groups=np.arange(3000), **options).apply(score)
        assert (found == expected).all(), how


def test_edges_part_bins_as_they_are():
    """An edge is a cut itself, whatever float32 makes of it."""
    y, score = sample()
    edges = np.linspace(-2.1, 2.1, 43)
    statistics = ThresholdStatistics.empty([0, 1], edges=edges).add(y, score)
    options = {"metric": "recall", "constraints": {"precision": 0.6}, "confidence_level": 0.9}
    assert float(statistics.thresholds(**options)) in edges


def test_several_constraints_share_the_level():
    y, score = sample()
    both = {"precision": 0.5, "false_positive_rate": 0.03}

    def place(level, constraints, metric="recall"):
        return float(optimize_thresholds(
            y, score, metric=metric, constraints=constraints, confidence_level=level
        ))  # fmt: skip

    found, alone = place(0.9, both), [place(0.95, {m: x}) for m, x in both.items()]
    assert found >= max(alone)  # the lowest that both allow, at one of the cuts of the sequence
    assert np.count_nonzero((score < found) & (score >= max(alone))) < 10
    assert place(0.95, {"recall": 0.3}, "f1") < place(0.95, {"recall": 0.3}, "precision")


OPTIONS = {"metric": "recall", "constraints": {"precision": 0.6}, "confidence_level": 0.9}


def test_what_rows_are_worth():
    """Copies are rows, weights are not, a group of copies is one row, a rate is a weight."""
    y, score = sample(2000)
    plain = float(optimize_thresholds(y, score, **OPTIONS))
    number = np.random.default_rng(1).integers(0, 4, len(y))
    copies = np.repeat(y, number), np.repeat(score, number)
    as_copies = float(optimize_thresholds(*copies, **OPTIONS))
    counted = float(optimize_thresholds(y, score, counts=number, **OPTIONS))
    assert counted == as_copies != plain
    binned = ThresholdStatistics.of(y, score, counts=number)
    assert float(binned.thresholds(**OPTIONS)) == counted
    assert binned.rows == number.sum()
    weighted = float(optimize_thresholds(y, score, sample_weight=number, **OPTIONS))
    assert weighted > counted  # of less evidence
    assert float(optimize_thresholds(y, score, sample_weight=[7.3] * len(y), **OPTIONS)) == plain
    five = np.repeat(y, 5), np.repeat(score, 5)
    owner = np.repeat(np.arange(len(y)), 5)
    assert float(optimize_thresholds(*five, groups=owner, **OPTIONS)) == plain
    assert float(optimize_thresholds(*five, **OPTIONS)) < plain
    assert float(optimize_thresholds(y, score, groups=np.arange(len(y)), **OPTIONS)) == plain
    options = OPTIONS | {"constraints": {"precision": 0.3}}
    weights = np.where(y == 1, 1.0, 5.0)
    as_weights = float(optimize_thresholds(y, score, sample_weight=weights, **options))
    assert as_weights == float(optimize_thresholds(y, score, negative_keep_rate=0.2, **options))


@each("metric", ["precision", "recall", "false_positive_rate", "alert_rate"])
def test_the_design_effect_of_every_cut(metric):
    """The running sums are those of each cut on its own."""
    from gbdt_objectives.thresholds.rows import ScoredRows

    y, score = sample(60)
    score, rng = score.round(1), np.random.default_rng(2)
    w, owner = rng.exponential(size=60), rng.integers(0, 12, 60)
    rows = ScoredRows.read(y, score, [0, 1], w, keep_order=True)
    factor, x = np.array([5.0, 1.0]), 0.3
    sums = np.stack(
        [rows.class_curve.C * factor[:, None], rows.squares_below * factor[:, None] ** 2]
    )
    test = ShareTest(threshold_metric(metric), x, sums, 0.1, 2).of_groups(
        rows, factor, owner[rows.order], np.arange(sums.shape[-1])
    )
    v, share = factor[y] * w, x if metric in ("precision", "recall") else 1 - x
    for i, t in enumerate((*np.unique(score), np.inf)):
        alert = score >= t
        good, bad = {
            "precision": (alert & (y == 1), alert & (y == 0)),
            "recall": (alert & (y == 1), ~alert & (y == 1)),
            "false_positive_rate": (~alert & (y == 0), alert & (y == 0)),
            "alert_rate": (~alert, alert),
        }[metric]
        residual = v * (good * (1 - share) - bad * share)
        alone = residual @ residual
        together = (np.bincount(owner, residual) ** 2).sum()
        effect = max(1.0, together / alone) if alone else 1.0
        assert test.effect[i] == pytest.approx(effect, rel=1e-9)


@pytest.mark.slow
@each(("metric", "x", "most"), [("precision", 0.5, 0.13), ("recall", 0.8, 0.13)])
def test_new_rows_keep_the_bound(metric, x, most):
    """Violated in at most .1 of draws, and 1.5 standard errors of 200; in sample in half."""
    z = np.sort(np.random.default_rng(9).normal(size=400_000))[::-1]
    found = np.cumsum(1 / (1 + np.exp(2 - 2.5 * z)))
    true = found / np.arange(1, len(z) + 1) if metric == "precision" else found / found[-1]
    violated = {None: 0, 0.9: 0}
    for seed in range(200):
        y, score = sample(1000, seed + 100)
        for level in violated:
            t = float(optimize_thresholds(
                y, score, metric="recall" if metric == "precision" else "precision",
                constraints={metric: x}, confidence_level=level,
            ))  # fmt: skip
            violated[level] += bool(true[np.searchsorted(-z, -t, side="right") - 1] < x)
    assert violated[0.9] / 200 <= most
    assert violated[None] / 200 > 0.35


def weak(n, seed, d=1.0, base=0.05):
    """Rows, one in twenty positive, whose scores tell little."""
    rng = np.random.default_rng(seed)
    y = (rng.random(n) < base).astype(int)
    return y, rng.normal(size=n) + d * y


def is_found(y, score, **options):
    try:
        optimize_thresholds(y, score, **{"metric": "recall", **LEVEL, **options})
    except ValueError:
        return False
    return True


@pytest.mark.slow
@each(("first", "least", "most"), [(None, 0, 20), (2, 40, 60)])
def test_a_bound_is_found_with_two_hundred_positives(first, least, most):
    """The tests started at two false alerts, and 47 of 100 draws had no threshold."""
    options = {"constraints": {"precision": 0.15}, "first_test": first}
    none = sum(not is_found(*weak(4000, seed), **options) for seed in range(100))
    assert least <= none <= most


def refusal(y, score, **options):
    with pytest.raises(ValueError, match="cannot be kept on new rows") as error:
        optimize_thresholds(y, score, **{"metric": "recall", **LEVEL, **options})
    return str(error.value)


@pytest.mark.slow
@each(
    ("x", "n", "d", "options"),
    [
        (0.15, 4000, 1.0, {}),
        (0.3, 1000, 1.5, {}),
        (0.9, 4000, 2.1, {}),
        (0.5, 4000, 1.8, {"negative_keep_rate": 0.05}),
        (0.3, 1000, 1.3, {"constraints": {"precision": 0.3, "false_positive_rate": 0.02}}),
    ],
)
def test_as_many_rows_as_the_error_says_would_do(x, n, d, options):
    """As copies of these rows, and mostly as new ones of the same population."""
    options = {"constraints": {"precision": x}, **options}
    rate = options.get("negative_keep_rate", 1)

    def draw(n, seed):
        y, score = weak(n, seed, d)
        kept = (y == 1) | (np.random.default_rng(seed + 99).random(n) < rate)
        return y[kept], score[kept]

    again = []
    for seed in range(60):
        if len(again) == 12:
            break
        y, score = draw(n, seed)
        if is_found(y, score, **options):
            continue
        said = refusal(y, score, **options)
        remedy = re.search(r"([\d.]+) times as many would do: (\d+) positives", said)
        if remedy is None:
            assert "a greater first_test may do" in said or len(options["constraints"]) > 1
            continue
        k, positives = float(remedy[1]), int(remedy[2])
        assert positives == np.ceil(k * y.sum())
        if k == round(k):
            assert is_found(y, score, counts=[round(k)] * len(y), **options)
        again.append(is_found(*draw(round(positives / 0.05), seed + 1000), **options))
    assert len(again) > 3
    assert np.mean(again) > 0.6


@each(
    ("x", "y", "first", "says"),
    [
        (
            0.5,
            [0, 0, 1, 0, 0] * 40,
            None,
            "the best precision of 5 alerts or more is 0.25, so no",
        ),
        (
            0.5,
            [1, 0, 1, 0, 1, 0, 0, 1] * 40,
            None,
            "is 0.6: more rows and a greater first_test",
        ),
        (0.5, [1, 0, 1, 0, 1, 0, 0, 1] * 40, 0, "is 0.6: more rows and a greater first_test"),
    ],
)
def test_what_more_rows_cannot_do(x, y, first, says):
    """From the highest score down."""
    options = {"constraints": {"precision": x}, "first_test": first}
    assert says in refusal(y, -np.arange(len(y)), **options)


@pytest.mark.filterwarnings("ignore:every row gets the class")  # which is the best of some samples
def test_a_later_start_and_more_rows_find_a_precision_near_the_bound():
    y = np.tile([1, 0, 1, 0, 1, 0, 1, 1, 0, 1], 300)
    options = {"constraints": {"precision": 0.5}}
    assert not is_found(y, -np.arange(3000.0), first_test=10, **options)
    assert is_found(y, -np.arange(3000.0), first_test=100, **options)


# what is refused


def test_bins_between_edges_are_tested_at_their_edges():
    y, score = sample()
    edges = np.linspace(-2, 3, 51)
    binned = ThresholdStatistics.empty([0, 1], edges=edges).add(y, score)
    t = float(binned.thresholds(**OPTIONS))
    assert t in edges
    at_edges = np.append(-2.1, edges)[np.searchsorted(edges, score, side="right")]
    same = optimize_thresholds(y, at_edges, **OPTIONS)
    np.testing.assert_array_equal(same.apply(at_edges), score >= t)


@each(
    ("constraints", "says"),
    [
        ({"precision": 0.99, "recall": 0.8}, "the best precision where the others are kept is "
         "0.571429, at the threshold 0.55"),
        ({PROFIT: -5}, "constraints cost <= -5 cannot be kept: the best cost is -4.2, at the thre"),
        ({"precision": 0.9, "recall": 1, "alert_rate": 0.4}, "the best recall .* is 0.4, at the"),
    ],
)  # fmt: skip
def test_the_best_that_there_is_is_said(constraints, says):
    with pytest.raises(ValueError, match=says):
        optimize_thresholds(Y, SCORE, metric="recall", constraints=constraints)


def call(**options):
    y = options.pop("y", Y)
    optimize_thresholds(
        y, SCORE, **{"metric": "recall", "constraints": {"precision": 0.7}, **options}
    )


LEVEL = {"confidence_level": 0.9}

test_bad_arguments = refusals_of(
    lambda options: call(**options),
    ({"constraints": None, **LEVEL}, "confidence_level is for what constraints promise"),
    ({"constraints": None, "groups": range(10)}, "groups is for what constraints promise"),
    ({"constraints": {}}, "mapping", TypeError),
    ({"constraints": [("precision", 0.9)]}, "mapping", TypeError),
    ({"constraints": {"precision": 90}}, r"'precision'\] must be in \[0, 1\], found 90: 0.02"),
    ({"constraints": {"precision": "high"}}, "must be a number", TypeError),
    ({"constraints": {"fpr": 0.1}}, "pass 'false_positive_rate'"),
    ({"constraints": {len: 0.1}}, "metric", TypeError),
    ({"metric": lambda y, p, w: 1.0}, "found a function as metric: leave method out"),
    ({"method": "plugin"}, "found method='plugin'"),
    ({"groups": range(10)}, "groups matter to confidence_level only"),
    ({"confidence_level": 95}, "must be in"),
    ({"constraints": {"f1": 0.5}, **LEVEL}, "f_beta is no share of rows"),
    ({"constraints": {"precision": 1}, **LEVEL}, "precision cannot be known to be 1 in every row"),
    ({"constraints": {"alert_rate": 0.1}, "negative_keep_rate": 0.5, **LEVEL}, "nothing of all"),
    ({**LEVEL}, "first test of precision is that at most 6 of 33 alerts are false: there are 10 r"),
    ({"first_test": 1, **LEVEL}, "that at most 1 of 12 alerts are false: there are 10 rows"),
    ({"constraints": {"precision": 0.3}, "first_test": 2, **LEVEL},
     "at most 2 of 6 alerts are false: here 3 of 7 are; the best precision of 5 alerts or more is "
     "0.6: more rows and a gr"),
    ({"constraints": {"precision": 0.5}, "first_test": 2}, "first_test is for a precision on new"),
    ({"constraints": {"recall": 0.5}, "first_test": 2, **LEVEL}, "first_test is for a precision"),
    ({"constraints": None, "first_test": 2}, "first_test is for a precision on new rows: pass con"),
    ({"first_test": -1, **LEVEL}, "first_test must be a whole number >= 0, found -1"),
    ({"first_test": 2.0, **LEVEL}, "first_test must be a whole number", TypeError),
    ({"negative_keep_rate": 2}, "negative_keep_rate must be in"),
    ({"negative_keep_rate": 0.5, "target_prior": {0: 0.9, 1: 0.1}}, "are both given"),
    ({"y": [0, 1, 2] * 3 + [0]}, "constraints must be for two classes, found 3"),
    ({"y": [0, 1, 2] * 3 + [0], "constraints": None, "metric": "qwk", "negative_keep_rate": 0.5},
     "negative_keep_rate must be for two classes"),
    ({"counts": [2.5] * 10}, "counts must be whole numbers >= 0, found 2.5 .* that|is a weight"),
)  # fmt: skip


def test_a_rate_without_constraints_is_a_weight():
    y, score = sample(500, rate=0.3)
    w = np.where(y == 1, 1, 1 / 0.3)
    for metric in ("f1", "qwk", lambda y, p, w: -np.average(y != p, weights=w)):
        found = optimize_thresholds(y, score, metric=metric, negative_keep_rate=0.3)
        assert found == pytest.approx(
            optimize_thresholds(y, score, metric=metric, sample_weight=w), rel=1e-9
        )
    with pytest.warns(
        UserWarning, match="negative_keep_rate drops rows of 0, of which .* are left"
    ):
        optimize_thresholds(
            np.minimum(y + (score > -1), 1), score, metric="f1", negative_keep_rate=0.3
        )


@each("x", [0.8, 0.9])
def test_a_constraint_inside_a_function_finds_a_cut_that_keeps_it(x):
    """Of 3,000 rows, more than are tried one by one."""

    def limited(true, p, w):
        hits = np.count_nonzero(true & p)
        return hits / true.sum() if hits and hits >= x * p.sum() else -1.0

    for seed in range(5):
        y, score = sample(seed=seed)
        t = optimize_thresholds(y, score, metric=limited)
        best = optimize_thresholds(y, score, metric="recall", constraints={"precision": x})
        value, most = (limited(y, apply_thresholds(score, one), None) for one in (t, best))
        assert 0.9 * most <= value <= most


@each("weighted", [False, True])
def test_counts_are_copies(weighted):
    """Sums, rows and squares add up over chunks; thresholds are those of the copies."""
    rng = np.random.default_rng(3)
    y, c = rng.integers(0, 3, 200), rng.integers(0, 5, 200)
    score = y + rng.integers(0, 30, 200) / 8
    w = rng.integers(1, 4, 200) / 2 if weighted else None
    long = [None if x is None else np.repeat(x, c) for x in (y, score, w)]
    empty = ThresholdStatistics.empty(range(3))
    table, copies = empty.add(y, score, w, c), empty.add(*long)
    for name in ("low", "score", "sums"):
        np.testing.assert_allclose(getattr(table, name), getattr(copies, name), rtol=1e-12)
    assert table.rows == copies.rows == c.sum()
    ones = empty.add(y, score)  # which has one sum where the other has three
    for merged in (table + ones, ones + table, empty + table + ones):
        both = copies + ones
        np.testing.assert_allclose(merged.sums, both.sums, rtol=1e-12)
    few_y, few_score, few_w, few_c = table.counted_rows()
    assert few_c.dtype == np.int64
    assert few_c.sum() == c.sum()
    again = empty.add(few_y, few_score, few_w, few_c)
    np.testing.assert_allclose(again.counts, table.counts, rtol=1e-12)
    for method, metric in (("exact", "linear"), ("plugin", "qwk"), ("curved", "qwk")):
        options = {"method": method, "metric": metric, "labels": range(3)}
        np.testing.assert_allclose(
            optimize_thresholds(y, score, sample_weight=w, counts=c, **options),
            optimize_thresholds(long[0], long[1], sample_weight=long[2], **options),
            rtol=1e-9,
        )
    assert empty.add(y, score, w, np.zeros(200)) is empty
    with pytest.raises(ValueError, match="rows"):
        optimize_thresholds([0, 1, 2], [0.1, 0.2, 0.3], counts=[1, 1, 0], labels=range(3))


def test_levels_in_pieces() -> None:
    """Every combination of doors refuses or agrees: classifier, statistics, function."""
    y, score = sample()
    for level, rate in product((None, 0.9), (None, 0.5)):
        options = {"constraints": {"precision": 0.6}, "metric": "f1", "confidence_level": level,
                   "negative_keep_rate": rate}  # fmt: skip
        found = float(optimize_thresholds(y, score, **options))
        fitted = ThresholdClassifier(**options).fit(score, y).thresholds_
        assert float(fitted) == found
        assert float(ThresholdStatistics.of(y, score).thresholds(**options)) == found
    own = np.arange(len(y)) // 30
    grouped = ThresholdClassifier(**OPTIONS).fit(score, y, groups=own).thresholds_
    assert float(grouped) == float(optimize_thresholds(y, score, groups=own, **OPTIONS))


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_two_classes_are_sorted_as_by_an_argsort(dtype: type) -> None:
    rng = np.random.default_rng(0)
    for decimals in (1, 12):  # with ties, and without
        score = rng.normal(size=3000).round(decimals).astype(dtype)
        score[:3] = -0.0, 0.0, np.inf
        y = rng.integers(0, 2, 3000).astype(np.int8)
        rows = ScoredRows.sort(score, y, None, np.arange(2))
        order = np.argsort(score, kind="stable")
        assert np.array_equal(rows.score, score[order])
        assert (rows.score.dtype, rows.position.dtype) == (dtype, np.int8)
        cuts = np.append(0, np.flatnonzero(np.diff(score[order])) + 1)  # before each distinct score
        for k, below in enumerate(rows.class_curve.C):
            truth = [np.count_nonzero(y[order][:cut] == k) for cut in [*cuts, 3000]]
            assert np.array_equal(below, truth)


def test_many_cuts_are_looked_at_in_blocks() -> None:
    """The values of 300,001 cuts, three blocks, are those of all at once, to the bit."""
    rng = np.random.default_rng(0)
    share = np.linspace(0, 1, 300_001)  # of the second class
    C = np.cumsum(rng.random((2, 300_001)) < [1 - share, share], axis=1).astype(float)
    for name, bound in (("precision", 0.7), ("recall", 0.5), ("matthews", 0.3)):
        metric = threshold_metric(name)
        whole = keeps(metric, bound, C)
        assert 0 < whole.sum() < len(whole)
        assert np.array_equal(by_block(lambda c, m=metric, x=bound: keeps(m, x, c), C), whole)
        value = by_block(lambda c, m=metric: goodness(m, c), C)
        assert np.array_equal(value, goodness(metric, C))
