"""Ratios by segment: Wilson's limits, the definition by loops, p-values and limits of one test."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from hypothesis import assume, given, strategies as st
from scipy.optimize import brentq
from scipy.special import expit
from scipy.stats import binomtest, false_discovery_control, norm

from gbdt_objectives.calibration import (
    calibration_error_test,
    calibration_ratio,
    calibration_ratio_by_segment,
    reliability_bins,
    segments,
)
from gbdt_objectives.calibration.segments import shares_test
from tests.calibration.reference import users
from tests.cases import each, refused


def simulated(seed, n=3000):
    rng = np.random.default_rng(seed)
    p = rng.beta(1, 9, n)
    y = (rng.random(n) < p**0.9).astype(int)
    return y, p, rng.exponential(size=n), rng.choice(["a", "b", "c"], n)


@each("events", [0, 1, 7, 40])
def test_a_constant_prediction_has_wilsons_limits(events) -> None:
    y = np.arange(40) < events
    found = calibration_ratio_by_segment(y, np.full(40, 0.3), np.zeros(40), confidence_level=0.9)
    wilson = binomtest(events, 40).proportion_ci(0.9, method="wilson")
    assert found.low == pytest.approx(0.3 / wilson.high, rel=1e-9)
    if events:
        assert found.high == pytest.approx(0.3 / wilson.low, rel=1e-9)
        assert found.ratio == pytest.approx(0.3 / (events / 40), rel=1e-12)
    else:
        assert found.high == found.ratio == np.inf
    z = (events - 12) / np.sqrt(40 * 0.3 * 0.7)
    assert found.p_value == pytest.approx(2 * norm.sf(abs(z)), rel=1e-9)


def expected_squares(y, p, w, r):
    """What is expected of (v/w)^2 of each row, from the outcomes in 15 bins of predictions."""
    v = np.where(y == 1, w, w / r)
    bins = reliability_bins(y, p, n_bins=15, strategy="events", sample_weight=v)
    order = np.argsort(p)
    b = np.empty(len(p), int)
    b[order] = np.searchsorted(np.cumsum(bins.weight) * (1 + 1e-12), np.cumsum(v[order]))
    found = []
    for i in range(len(p)):
        own = b == b[i]
        one = v.mean()
        pi = min(p[i] * ((v * y)[own].sum() + one) / ((v * p)[own].sum() + one), 1)
        kept = pi / (pi + (1 - pi) * r[i])
        found.append(kept + (1 - kept) / r[i] ** 2)
    return np.array(found)


def by_definition(y, p, w, r, squares, level):
    """Limits by looking for the borders of the test, all sums by loops."""
    rows = list(zip(y, p, w / np.mean(w), r, strict=True))
    v = [wi if yi else wi / ri for yi, _, wi, ri in rows]
    A = sum(wi for yi, _, wi, _ in rows if yi)
    B = sum(vi * pi for vi, (_, pi, _, _) in zip(v, rows, strict=True))
    e0 = sum(vi * wi * pi for vi, (_, pi, wi, _) in zip(v, rows, strict=True)) / B
    c0 = sum(vi * wi * pi**2 for vi, (_, pi, wi, _) in zip(v, rows, strict=True)) / B
    e = (sum(wi**2 for yi, _, wi, _ in rows if yi) + e0 * e0) / (A + e0)
    c = (sum(wi**2 * pi for yi, pi, wi, _ in rows if yi) + e0 * c0) / (A + e0)
    S = sum((vi * pi) ** 2 for vi, (_, pi, _, _) in zip(v, rows, strict=True))
    S = max(S, sum((wi * pi) ** 2 * k for (_, pi, wi, _), k in zip(rows, squares, strict=True)))
    z, u = norm.ppf((1 + level) / 2), A / B
    E = sum(wi**2 for yi, _, wi, _ in rows if yi)
    C = sum(wi**2 * pi for yi, pi, wi, _ in rows if yi)
    a = max(S - 2 * B * c, (E - 2 * u * C + u**2 * S - u * B * e) / u**2)

    def rejected(u):
        return (A - B * u) ** 2 - z**2 * (u * B * e + u**2 * a)

    far = u + 1.0
    while rejected(far) < 0 and far < 1e9:
        far *= 2
    return 1 / brentq(rejected, u, far, rtol=1e-14), 1 / brentq(rejected, 0, u, rtol=1e-14)


@pytest.mark.parametrize("rate", [1.0, 0.2, "by row"])
@pytest.mark.parametrize("weighted", [False, True])
def test_limits_are_those_of_the_test(weighted, rate) -> None:
    y, p, w, g = simulated(0)
    rng = np.random.default_rng(1)
    w = w if weighted else np.ones(len(y))
    r = rng.uniform(0.1, 1, len(y)) if rate == "by row" else np.full(len(y), rate)
    kept = (y == 1) | (rng.random(len(y)) < r)
    y, p, w, g, r = y[kept], p[kept], w[kept], g[kept], r[kept]
    found = calibration_ratio_by_segment(
        y, p, g, keep_rate=r, sample_weight=w, confidence_level=0.8
    )
    assert found.segment.tolist() == ["a", "b", "c"]
    squares = expected_squares(y, p, w, r)
    for k, name in enumerate("abc"):
        own = g == name
        low, high = by_definition(y[own], p[own], w[own], r[own], squares[own], 0.8)
        assert found.low[k] == pytest.approx(low, rel=1e-9)
        assert found.high[k] == pytest.approx(high, rel=1e-9)
        v = np.where(y == 1, w, w / r)[own]
        expected = calibration_ratio(y[own], p[own], sample_weight=v)
        assert found.ratio[k] == pytest.approx(expected, rel=1e-12)
        assert found.weight[k] == pytest.approx(v.sum(), rel=1e-12)
        assert found.probability[k] == pytest.approx(np.average(p[own], weights=v), rel=1e-12)
        assert found.frequency[k] == pytest.approx(np.average(y[own], weights=v), rel=1e-12)


@st.composite
def problems(draw):
    n = draw(st.integers(1, 12))
    column = {
        "y": st.integers(0, 1),
        "p": st.sampled_from([0.0, 1e-6, 0.01, 0.3, 0.5, 0.9, 1.0]),
        "w": st.sampled_from([0.1, 1.0, 2.0, 30.0]),
        "r": st.sampled_from([0.01, 0.3, 1.0]),
        "g": st.integers(0, 1),
    }
    return [np.array([draw(s) for _ in range(n)]) for s in column.values()]


@given(problems(), st.sampled_from([0.5, 0.95, 0.999]))
def test_the_p_value_and_the_limits_are_one_test(problem, level) -> None:
    y, p, w, r, g = problem
    assume(not y.any() or (r[y == 1] < 1).any() or (r == 1).all())  # rates of the label: refused
    found = calibration_ratio_by_segment(
        y, p, g, keep_rate=r, sample_weight=w, confidence_level=level
    )
    for ratio, low, high, p_value in zip(
        found.ratio, found.low, found.high, found.p_value, strict=True
    ):
        assert 0 <= low <= high
        assert 0 <= p_value <= 1
        if not np.isnan(ratio):
            assert low <= ratio * (1 + 1e-6)  # the root of rounding: a limit may be the ratio
            assert ratio <= high * (1 + 1e-6)
        if min(abs(low - 1), abs(high - 1)) > 1e-6:
            assert (p_value < 1 - level) == (not low <= 1 <= high)


def test_nothing_predicted() -> None:
    found = calibration_ratio_by_segment([0, 0, 1], [0, 0, 0.0], ["a", "a", "b"])
    assert np.isnan(found.ratio[0])
    assert (found.low[0], found.high[0], found.p_value[0]) == (0, np.inf, 1)
    assert (found.ratio[1], found.low[1], found.high[1], found.p_value[1]) == (0, 0, 0, 0)


def test_weights_count_as_rows_in_limits_and_as_copies_in_ratios() -> None:
    y, p, _, g = simulated(2)
    twice = calibration_ratio_by_segment(y, p, g, sample_weight=np.full(len(y), 2e20))
    once = calibration_ratio_by_segment(y, p, g)
    np.testing.assert_allclose(twice.weight, 2e20 * once.weight)
    for name in ("ratio", "low", "high", "p_value", "probability", "frequency"):
        np.testing.assert_allclose(getattr(twice, name), getattr(once, name), rtol=1e-9)
    n = np.random.default_rng(0).integers(0, 3, len(y))
    weighted = calibration_ratio_by_segment(y, p, g, sample_weight=n)
    copies = calibration_ratio_by_segment(*(np.repeat(x, n) for x in (y, p, g)))
    np.testing.assert_allclose(weighted.ratio, copies.ratio, rtol=1e-12)
    assert (weighted.low < copies.low).all()
    assert (weighted.high > copies.high).all()


@pytest.mark.slow
@pytest.mark.parametrize("rate", [1.0, 0.1])
def test_limits_cover(rate) -> None:
    rng, covered, draws = np.random.default_rng(0), np.zeros(2), 400
    true = rng.beta(1, 19, 100_000)
    of = rng.integers(0, 2, len(true))
    p = np.clip(true * np.exp(rng.normal(0, 0.7, len(true))), 0, 1)  # too extreme, as if fitted
    expected = np.bincount(of, p) / np.bincount(of, true)
    for _ in range(draws):
        i = rng.integers(len(true), size=1500)
        y = rng.random(1500) < true[i]
        kept = y | (rng.random(1500) < rate)
        i, y = i[kept], y[kept]
        found = calibration_ratio_by_segment(y, p[i], of[i], negative_keep_rate=rate)
        covered += (found.low <= expected) & (expected <= found.high)
    assert np.abs(covered / draws - 0.95).max() < 0.04  # binomial error .011


def test_segments_of_every_type_keep_their_order_and_their_values() -> None:
    y, p, _, _ = simulated(3, 6)
    days = pd.Series(pd.to_datetime(["2024-01-02", "2024-01-01"] * 3))
    grades = pd.Categorical(["mid", "low", "mid"] * 2, categories=["top", "mid", "low"])
    columns = {
        "integer": (np.array([3, 1] * 3), [1, 3]),
        "bool": ([True, False] * 3, [False, True]),
        "float": ([0.5, -1.0] * 3, [-1.0, 0.5]),
        "text": (["z", "é"] * 3, ["z", "é"]),
        "strings": (np.array(["z", "é"] * 3), ["z", "é"]),
        "category": (grades, ["mid", "low"]),
        "categories": (pd.Series(grades), ["mid", "low"]),
        "day": (days, sorted(set(days.to_numpy()))),
    }
    for values, expected in columns.values():
        assert calibration_ratio_by_segment(y, p, values).segment.tolist() == expected
    frame = pd.DataFrame({name: values for name, (values, _) in columns.items()})
    for several in (frame, {name: frame[name] for name in frame}):
        found = calibration_ratio_by_segment(pd.Series(y), p.astype(np.float32), several)
        assert found.column.tolist() == np.repeat(list(columns), 2).tolist()
        assert found.segment.tolist() == [v for _, values in columns.values() for v in values]
        assert len(pd.DataFrame(vars(found))) == 16
        lines = str(found).splitlines()
        assert lines[1].split()[:2] == ["column", "segment"]
        assert ["day", "2024-01-01"] in [line.split()[:2] for line in lines]
    assert "column" not in str(calibration_ratio_by_segment(y, p, days))
    long = str(calibration_ratio_by_segment(y, p, ["x" * 99] * 6))
    assert "x" * 27 + "..." in long
    assert "x" * 28 not in long


@pytest.mark.parametrize("strategy", ["events", "quantile", "uniform"])
def test_bins_of_the_prediction_are_reliability_bins(strategy) -> None:
    y, p, w, _ = simulated(4)
    found = calibration_ratio_by_segment(
        y, p, "prediction", n_bins=7, strategy=strategy, sample_weight=w
    )
    bins = reliability_bins(y, p, n_bins=7, strategy=strategy, sample_weight=w)
    np.testing.assert_allclose(found.weight, bins.weight, rtol=1e-12)
    np.testing.assert_allclose(found.probability, bins.probability, rtol=1e-12)
    np.testing.assert_allclose(found.frequency, bins.frequency, rtol=1e-12)
    assert found.segment[0].split(" to ")[0] == f"{p.min():.3g}"
    assert found.segment[-1].split(" to ")[1] == f"{p.max():.3g}"
    (everything,) = calibration_ratio_by_segment(y, p, "prediction", n_bins=1).ratio
    assert everything == pytest.approx(calibration_ratio(y, p), rel=1e-12)


def test_rows_of_no_weight_do_not_count() -> None:
    y, p, _, g = simulated(5, 300)
    w = (g != "b") * 1.0
    found = calibration_ratio_by_segment(y, p, g, sample_weight=w)
    alone = calibration_ratio_by_segment(y[w > 0], p[w > 0], g[w > 0])
    assert found.segment.tolist() == ["a", "c"]
    np.testing.assert_allclose(found.low, alone.low, rtol=1e-9)  # roots, of sums with zeros


@refused(
    ("country", {}, r"found 'country': pass the column itself, \{'country': X\['country'\]\}"),
    ([1.0, np.nan, 2.0], {}, "segments must be finite"),
    (["a", None, "b"], {}, "segments must not be missing, found None at row 1"),
    (pd.Categorical(["a", None, "b"]), {}, "found a row without a category at row 1"),
    (pd.DataFrame({"x": ["a", np.nan, "b"]}), {}, r"segments\['x'\] must not be missing"),
    (["a", 1, "b"], {}, "segments must be of one type", TypeError),
    (["a", "b"], {}, "segments has 2 rows, but the labels have 3"),
    (pd.Categorical(["a", "b"]), {}, "segments has 2 rows, but the labels have 3"),
    (np.zeros((3, 2)), {}, "segments must be one column"),
    ({}, {}, "segments has no column"),
    (None, {}, "segments must be one-dimensional"),
    ([0, 0, 0], {"confidence_level": 95}, "confidence_level must be in"),
    ("prediction", {"n_bins": 0}, "n_bins must be a whole number"),
)
def test_bad_arguments(segments, options) -> None:
    calibration_ratio_by_segment([0, 1, 0], [0.1, 0.2, 0.3], segments, **options)


@pytest.mark.slow
@pytest.mark.parametrize(("rows", "without"), [(5, 0.93), (20, 0.8)])
def test_limits_cover_where_rows_of_a_user_belong_together(rows, without) -> None:
    rng, covered, draws = np.random.default_rng(0), np.zeros((2, 2)), 150
    for _ in range(draws):
        y, p, user = users(rng, expit(rng.normal(-2.5, 1, (400, rows))))
        for k, options in enumerate(({}, {"groups": user})):
            found = calibration_ratio_by_segment(y, p, user % 2, **options)
            covered[k] += (found.low <= 1) & (found.high >= 1)
    alone, together = covered.mean(axis=1) / draws
    assert alone < without  # .87 and .66 in 3,200 other draws
    assert abs(together - 0.95) < 0.04  # binomial error .0126 of 300 segments


@pytest.mark.parametrize("rate", [1.0, 0.2])
def test_groups_of_single_rows_are_no_groups(rate) -> None:
    y, p, w, g = simulated(7)
    options = {"sample_weight": w, "negative_keep_rate": rate}
    alone = calibration_ratio_by_segment(y, p, g, **options)
    own = [f"row {i}" for i in np.random.default_rng(0).permutation(len(y))]
    found = calibration_ratio_by_segment(y, p, g, groups=own, **options)
    for name in ("ratio", "low", "high", "p_value"):
        np.testing.assert_allclose(getattr(found, name), getattr(alone, name), rtol=1e-9)


def test_the_variance_of_groups_is_that_of_their_residuals() -> None:
    rng = np.random.default_rng(8)
    y, p, user = users(rng, expit(rng.normal(-2.5, 1, (60, 10))))
    w = rng.exponential(size=len(y))
    alone = calibration_ratio_by_segment(y, p, y * 0, sample_weight=w)
    found = calibration_ratio_by_segment(y, p, y * 0, sample_weight=w, groups=user)
    u = 1 / found.ratio[0]
    e = w * (y - u * p)
    added = sum(e[user == k].sum() ** 2 for k in range(60)) - (e**2).sum()
    assert added > 0
    z = norm.isf(alone.p_value[0] / 2)
    A, B = (w * y).sum(), (w * p).sum()
    variance = ((A - B) / z) ** 2 + added / u**2
    assert found.p_value[0] == pytest.approx(2 * norm.sf(abs(A - B) / np.sqrt(variance)), rel=1e-9)


@each(
    ("groups", "message"),
    [
        ([1, 2], "groups has 2 rows, but the labels have 3"),
        ([1.0, np.nan, 2.0], "groups must be finite"),
        ([["a"], ["b"], ["c"]], "groups must be one-dimensional"),
        (["a", 1, "b"], "groups must be of one type"),
    ],
)
def test_bad_groups(groups, message) -> None:
    for function in (
        lambda **options: calibration_ratio_by_segment(
            [0, 1, 0], [0.1, 0.2, 0.3], [0, 0, 1], **options
        ),
        lambda **options: calibration_error_test([0, 1, 0], [0.1, 0.2, 0.3], **options),
    ):
        with pytest.raises((ValueError, TypeError), match=message):
            function(groups=groups)


def off_by_a_factor(seed, factor, odd=1.0):
    """Four segments of 2,000 rows, predictions too high by a factor, by odd times as much in d."""
    rng = np.random.default_rng(seed)
    true, g = rng.beta(2, 18, 8000), np.repeat(list("abcd"), 2000)
    p = np.minimum(true * factor * np.where(g == "d", odd, 1), 1)
    return (rng.random(8000) < true).astype(int), p, g


def test_one_factor_everywhere_is_no_difference_to_the_rest() -> None:
    flagged = np.zeros(2)
    for seed in range(100):
        found = calibration_ratio_by_segment(*off_by_a_factor(seed, 1.3))
        flagged += (found.p_value < 0.05).mean(), (found.rest_p_value_holm < 0.05).any()
    each_against_1, any_against_rest = flagged / 100
    assert each_against_1 > 0.9
    assert any_against_rest < 0.05 + 3 * 0.022  # binomial error


def test_an_odd_segment_among_many_comes_first() -> None:
    found = calibration_ratio_by_segment(*off_by_a_factor(0, 1.3, 1.5))
    assert found.segment.tolist() == list("abcd")  # in their own order
    first = found.by_evidence()
    assert first.segment[0] == "d"
    assert (np.diff(first.rest_p_value) >= 0).all()
    assert first.rest_p_value_holm[0] < 1e-4
    assert first.ratio[0] / first.rest_ratio[0] == pytest.approx(1.5, rel=0.2)  # error .07
    assert str(found).splitlines()[2].split()[0] == "d"
    assert max(map(len, str(found).splitlines())) <= 80
    named = {"country": list("abcd") * 2000, "site": np.repeat(list("abcd"), 2000)}
    y, p, _ = off_by_a_factor(0, 1.3, 1.5)
    wide = str(calibration_ratio_by_segment(y, p, named))
    assert max(map(len, wide.splitlines())) <= 80
    bins = calibration_ratio_by_segment(y, p, "prediction", n_bins=4)
    assert [line.split()[0] for line in str(bins).splitlines()[2:]] == [
        name.split()[0] for name in bins.segment
    ]


def test_the_rest_is_all_other_rows() -> None:
    y, p, w, g = simulated(9)
    found = calibration_ratio_by_segment(y, p, g, sample_weight=w)
    for k, name in enumerate("abc"):
        two = calibration_ratio_by_segment(y, p, g == name, sample_weight=w)
        assert found.rest_ratio[k] == pytest.approx(two.ratio[0], rel=1e-9)
        assert found.rest_p_value[k] == pytest.approx(two.rest_p_value[1], rel=1e-6)
        assert two.rest_p_value[0] == pytest.approx(two.rest_p_value[1], rel=1e-6)
    several = calibration_ratio_by_segment(y, p, {"g": g, "one": y * 0})
    alone = calibration_ratio_by_segment(y, p, g)
    np.testing.assert_allclose(several.rest_p_value[:3], alone.rest_p_value)
    assert np.isnan([several.rest_p_value[3], several.rest_ratio[3]]).all()
    assert np.isnan([several.rest_p_value_holm[3], several.rest_p_value_bh[3]]).all()
    nothing = calibration_ratio_by_segment([0, 0, 0], [0.1, 0.2, 0], [0, 1, 2])
    assert nothing.rest_p_value.tolist() == [1, 1, 1]
    assert nothing.rest_ratio.tolist() == [np.inf] * 3
    one = calibration_ratio_by_segment(y, p, "prediction", n_bins=1)
    assert "p_value" in str(one)


def test_the_test_against_the_rest_by_hand() -> None:
    """Of a constant prediction it is nearly that of two proportions."""
    y, g = (
        np.r_[np.arange(400) < 60, np.arange(600) < 60].astype(int),
        np.repeat([0, 1], [400, 600]),
    )
    found = calibration_ratio_by_segment(y, np.full(1000, 0.3), g)
    z = (60 / 400 - 60 / 600) / np.sqrt(0.12 * 0.88 * (1 / 400 + 1 / 600))
    np.testing.assert_allclose(norm.isf(found.rest_p_value / 2), z, rtol=0.02)  # one event more


def test_the_rest_where_groups_have_rows_in_several_segments() -> None:
    rejected = np.zeros(2)
    rng = np.random.default_rng(10)
    for _ in range(150):
        y, p, user = users(rng, expit(rng.normal(-2.5, 1, (300, 10))))
        for k, g in enumerate((user % 3, np.arange(len(y)) % 3)):
            found = calibration_ratio_by_segment(y, 0.7 * p, g, groups=user)
            rejected[k] += (found.rest_p_value < 0.05).mean()
    assert np.abs(rejected / 150 - 0.05).max() < 0.045  # binomial error .018 of 150, dependent in 3


def test_adjusted_p_values_by_hand() -> None:
    p = np.array([0.01, 0.04, 0.03, 0.005])
    np.testing.assert_allclose(segments.holm(p), [0.03, 0.06, 0.06, 0.02])
    np.testing.assert_allclose(segments.benjamini_hochberg(p), [0.02, 0.04, 0.04, 0.02])
    some = np.array([0.2, np.nan, 0.01, 0.9, np.nan])
    np.testing.assert_allclose(segments.holm(some), [0.4, np.nan, 0.03, 0.9, np.nan])
    np.testing.assert_allclose(segments.benjamini_hochberg(some), [0.3, np.nan, 0.03, 0.9, np.nan])
    y, p, _, g = simulated(11)
    found = calibration_ratio_by_segment(y, p, g)
    np.testing.assert_allclose(found.p_value_holm, segments.holm(found.p_value))
    np.testing.assert_allclose(found.rest_p_value_bh, false_discovery_control(found.rest_p_value))


@pytest.mark.slow
@pytest.mark.parametrize("rate", [1.0, 0.1])
def test_few_outcomes_raise_no_false_alarms_against_the_rest(rate) -> None:
    """Of 20 segments with five expected outcomes each, Holm's least p-value."""
    rng, alarms, flagged, draws, segments = np.random.default_rng(0), 0, 0, 300, 20
    for _ in range(draws):
        p = rng.beta(1, 49, 5000)
        y = rng.random(5000) < p
        kept = y | (rng.random(5000) < rate)
        found = calibration_ratio_by_segment(
            y[kept], p[kept], rng.integers(0, segments, kept.sum()), negative_keep_rate=rate
        )
        alarms += found.rest_p_value_holm.min() < 0.01
        flagged += (found.rest_p_value < 0.05).sum()
    assert alarms / draws < 0.012  # .02 and .025 by the normal approximation, in 400 draws
    assert 0.02 < flagged / draws / segments < 0.06  # cautious with five outcomes


def test_the_test_of_shares_is_the_larger_of_binomial_and_normal() -> None:
    from scipy.stats import binom

    N, k = 30, 0.2
    for x in range(N + 1):
        upper = binom.sf(x, N, k) + binom.pmf(x, N, k) / 2
        z = abs(x - N * k) / np.sqrt(N * k * (1 - k))
        expected = min(max(2 * min(upper, 1 - upper), 2 * norm.sf(z)), 1)
        found = shares_test(
            np.array([float(x)]), float(N), np.array([k]), np.array([N * k * (1 - k)])
        )
        assert found[0] == pytest.approx(expected, rel=1e-9)
        heavy = shares_test(
            np.array([7.0 * x]), 7.0 * N, np.array([k]), np.array([49 * N * k * (1 - k)])
        )
        assert heavy[0] == pytest.approx(expected, rel=1e-9)  # rows of weight 7


@each("groups", [None, [0, 0, 1, 1, 2, 2]])
def test_a_segment_with_an_outcome_and_next_to_no_prediction(groups) -> None:
    """(A/B)^2 is more than a float holds; a warning of numpy fails the test."""
    y, p = [1, 0, 1, 0, 0, 1], [1e-300, 1e-300, 0.5, 0.25, 0.5, 0.75]
    found = calibration_ratio_by_segment(y, p, ["a", "a", "b", "b", "b", "b"], groups=groups)
    assert found.ratio == pytest.approx([2e-300, 1.0])
    # one event, as certain as Poisson's: R = B u with (1 - u)^2 = z^2 (u + u^2), u to leading order
    assert 0 <= found.low[0] < found.ratio[0] < found.high[0] < 1e-298
    assert np.isfinite(found.p_value).all()


def test_an_outcome_where_none_is_possible_differs_from_the_rest() -> None:
    """All that is predicted is predicted elsewhere: chance has no part in it."""
    y, p = [1, 0, 1, 0, 1], [0.5, 0.25, 0.5, 0.0, 0.0]
    found = calibration_ratio_by_segment(y, p, ["a", "a", "a", "b", "b"])
    np.testing.assert_array_equal(found.rest_p_value, 0)
    y[-1] = 0
    found = calibration_ratio_by_segment(y, p, ["a", "a", "a", "b", "b"])
    np.testing.assert_array_equal(found.rest_p_value, 1)
