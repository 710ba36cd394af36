"""Thresholds by segment: errors of rows that are really left out, weights, recovery, refusals."""

from __future__ import annotations

import copy
import json
import math
import pickle

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings, strategies as st

from gbdt_objectives import (
    apply_thresholds,
    optimize_thresholds,
    quadratic_weighted_kappa,
)
from gbdt_objectives.thresholds import SegmentShift, fit_segment_shift, segments as module
from tests.cases import each, refusals, refusals_of, refused

LABELS = range(6)


def draw(
    seed: int, n: int = 1000, G: int = 20, sd: float = 0.5, confounded: float = 0.0, new: int = 4000
) -> tuple[list[tuple[np.ndarray, np.ndarray, np.ndarray]], np.ndarray]:
    """Rows and new rows (y, score, segment), and what the segments' scores lack.

    ``confounded``: how the scores of a segment move with its effect on the class.
    """
    rng = np.random.default_rng(seed)
    effect = sd * rng.standard_normal(G)
    parts = []
    for rows in (n, new):
        g = rng.integers(0, G, rows)
        m = 1.2 * rng.standard_normal(rows)
        y = np.rint(2.5 + m + effect[g] + 0.8 * rng.standard_normal(rows)).clip(0, 5)
        parts.append((y.astype(int), m + confounded * effect[g], g))
    return parts, (1 - confounded) * effect


def kappa(rows, new, shift: np.ndarray) -> float:
    """Kappa of the new rows, with thresholds on the shifted scores."""
    (y, s, g), (y_new, s_new, g_new) = rows, new
    thresholds = optimize_thresholds(y, s + shift[g], method="exact", labels=LABELS)
    found = apply_thresholds(s_new + shift[g_new], thresholds)
    return quadratic_weighted_kappa(y_new, found, labels=LABELS)


def ridge(y, s, g, w, G: int, k: float) -> tuple[np.ndarray, np.ndarray]:
    """alpha, beta and the deltas by penalised normal equations, and their matrix."""
    Z = np.column_stack([np.ones(len(s)), s, np.eye(G)[g]])
    if math.isinf(k):
        Z, penalty = Z[:, :2], np.zeros(2)
    else:
        penalty = np.append([0.0, 0.0], np.full(G, k))
    A = (Z.T * w) @ Z + np.diag(penalty)
    return np.linalg.solve(A, (Z.T * w) @ y), Z


some_rows = st.integers(0, 2**32 - 1).map(np.random.default_rng)


@given(some_rows, st.integers(8, 25), st.integers(2, 5), st.sampled_from([0.25, 4, 64, math.inf]))
def test_errors_are_those_of_rows_that_are_left_out(rng, n, G, k) -> None:
    """One copy of the row, or all of it if its weight is below 1."""
    y, s = rng.integers(0, 4, n).astype(float), rng.standard_normal(n)
    g, w = rng.integers(0, G, n), rng.choice([0.2, 0.7, 1.0, 2.0, 3.5], n)
    found = module.SegmentedRows(y, s, g, w, G).fit(k)
    c, _ = ridge(y, s, g, w, G, k)
    np.testing.assert_allclose([found.alpha, found.beta], c[:2], atol=1e-9)
    np.testing.assert_allclose(found.delta, c[2:] if len(c) > 2 else 0, atol=1e-9)
    for i in range(n):
        left = w.copy()
        left[i] -= min(w[i], 1)
        c, Z = ridge(y, s, g, left, G, k)
        assert found.errors[i] == pytest.approx(y[i] - Z[i] @ c, rel=1e-7, abs=1e-9)


@pytest.mark.slow
@settings(max_examples=25)  # each leaves out every row for every k
@given(some_rows, st.integers(30, 80), st.integers(2, 6))
def test_the_choice_is_that_of_rows_that_are_left_out(rng, n, G) -> None:
    g = rng.integers(0, G, n)
    s = rng.standard_normal(n)
    y = s + rng.choice([0.0, 0.5]) * rng.standard_normal(G)[g] + 0.6 * rng.standard_normal(n)
    w = np.ones(n)
    found = module.choose_segment_fit(module.SegmentedRows(y, s, g, w, G))

    def errors(k: float) -> np.ndarray:
        e = []
        for i in range(n):
            c, Z = ridge(y, s, g, w - (np.arange(n) == i), G, k)
            e.append(y[i] - Z[i] @ c)
        return np.square(e)

    gains = {k: errors(math.inf) - errors(k) for k in 4.0 ** np.arange(-1, 6)}
    better = {k: x.mean() for k, x in gains.items() if x.mean() > np.sqrt(2 / n) * x.std()}
    assert found.k == max(better, key=better.__getitem__, default=math.inf)


@given(some_rows, st.integers(25, 60), st.integers(2, 5))
def test_weights_are_copies_and_order_is_irrelevant(rng, n, G) -> None:
    (rows, _), _ = draw(int(rng.integers(2**32)), n, G, 1.0, new=1)
    y, s, g = rows
    w = rng.integers(0, 4, n)
    w[:2], g[:2], y[:2], s[:2] = 1, [0, 1], [0, 5], [-9, 9]
    expected = fit_segment_shift(y, s, g, labels=LABELS, sample_weight=w)
    for i in (np.repeat(np.arange(n), w), rng.permutation(np.repeat(np.arange(n), w))):
        found = fit_segment_shift(y[i], s[i], g[i], labels=LABELS)
        assert found.segments.tolist() == expected.segments.tolist() == sorted(set(g[w > 0]))
        assert found.shrinkage == expected.shrinkage
        np.testing.assert_allclose(found.shifts, expected.shifts, rtol=1e-9, atol=1e-9)


@given(some_rows)
def test_units_and_names_are_irrelevant(rng) -> None:
    (rows, _), _ = draw(int(rng.integers(2**32)), 200, 4, 0.7, new=1)
    y, s, g = rows
    names, grades = np.array(["a", "b", "c", "d"]), np.array(list("fedcba"))
    expected = fit_segment_shift(y, s, g, labels=LABELS)
    found = fit_segment_shift(grades[y], 1000 * s - 7, names[g], labels=list("fedcba"))
    assert found.shrinkage == expected.shrinkage
    np.testing.assert_allclose(found.shifts, 1000 * expected.shifts, rtol=1e-8, atol=1e-8)
    np.testing.assert_allclose(
        found.apply(1000 * s - 7, names[g]), 1000 * expected.apply(s, g) - 7, atol=1e-6
    )


# what it is for


@each("confounded", [0.0, -3.0, 0.5])
def test_shifts_are_recovered(confounded: float) -> None:
    """Scores that move against the segments' effects have another slope over all rows."""
    for seed in range(3):
        (rows, new), true = draw(seed, 5000, 10, 0.3, confounded)
        shift = fit_segment_shift(*rows, labels=LABELS)
        error = shift.shifts - (true - true.mean())
        # a mean of 500 residuals of .85 classes has an error of .038; classes end at 0 and 5
        assert np.sqrt(np.mean(error**2)) < 0.06 + 0.06 * np.abs(true).max()
        common, best = kappa(rows, new, np.zeros(10)), kappa(rows, new, true)
        assert kappa(rows, new, shift.shifts) > common + 0.8 * (best - common) - 0.002


@pytest.mark.slow
@each(("n", "G"), [(300, 5), (1000, 5), (1000, 20)])
def test_without_effects_thresholds_stay_common(n: int, G: int) -> None:
    common, losses = 0, []
    for seed in range(100):
        (rows, new), _ = draw(seed, n, G, 0.0, new=2000)
        shift = fit_segment_shift(*rows, labels=LABELS)
        common += math.isinf(shift.shrinkage)
        if math.isfinite(shift.shrinkage):
            losses.append(kappa(rows, new, np.zeros(G)) - kappa(rows, new, shift.shifts))
    assert common >= 85
    assert sum(losses) / 100 < 0.001


def test_rows_beyond_the_line_tell_nothing_of_the_shift() -> None:
    """In a segment with many hopeless rows these are class 0 whatever its shift."""
    (rows, _), true = draw(1, 4000, 4, 0.5)
    y, s, g = rows
    far = np.full(2000, -30.0)
    shifts = fit_segment_shift(y, s, g, labels=LABELS).shifts
    found = fit_segment_shift(
        np.append(y, np.zeros(2000, int)), np.append(s, far), np.append(g, np.zeros(2000, int))
    ).shifts
    np.testing.assert_allclose(found, shifts, atol=0.1)
    np.testing.assert_allclose(found, true - true.mean(), atol=0.2)


def test_a_segment_beyond_the_line_has_no_shift() -> None:
    (rows, _), _ = draw(1, 2000, 3, 0.8)
    y, s, g = rows
    y, s, g = np.append(y, [0, 0]), np.append(s, [-30.0, -31.0]), np.append(g, [3, 3])
    shift = fit_segment_shift(y, s, g)
    assert shift.segments.tolist() == [0, 1, 2, 3]
    assert shift.shifts[3] == 0
    assert np.abs(shift.shifts[:3]).min() > 0


def test_small_segments_are_pulled_most_and_shifts_sum_to_zero() -> None:
    rng = np.random.default_rng(0)
    g = np.repeat([0, 1, 2, 3], [500, 500, 5, 5])
    s = rng.uniform(0.5, 3.5, len(g))
    y = s + np.array([0.4, -0.4, 0.4, -0.4])[g] + 0.3 * rng.standard_normal(len(g))
    fit = module.SegmentedRows(y, s, g, np.ones(len(g)), 4).fit(16.0)
    residuals = y - fit.alpha - fit.beta * s
    means = np.array([residuals[g == k].mean() for k in range(4)])
    np.testing.assert_allclose(fit.delta / means, [500 / 516, 500 / 516, 5 / 21, 5 / 21])
    assert fit.delta.sum() == pytest.approx(0, abs=1e-12)
    shift = fit_segment_shift(np.rint(y).clip(0, 4).astype(int), s, g)
    assert math.isfinite(shift.shrinkage)
    assert shift.shifts.sum() == pytest.approx(0, abs=1e-12)


@each(("n", "weight"), [(2000, np.full(2000, 1 / 2000)), (19, None)])
def test_weights_are_rows(n: int, weight) -> None:
    """Weights of sum 1 are one row, and of fewer than 20 nothing is fitted."""
    g = np.arange(n) % 2
    y = np.where(np.arange(n) % 4 < 2, 1, 3) + g
    shift = fit_segment_shift(y, y - 2.0 * g + np.arange(n) / n, g, sample_weight=weight)
    assert shift.shrinkage == math.inf
    assert shift.shifts.tolist() == [0, 0]


def test_two_segments_of_one_row_each_stay_common() -> None:
    (rows, _), _ = draw(0, 200, 1, 0.0)
    y, s, _ = rows
    shift = fit_segment_shift(y, s, np.arange(200))  # every row its own
    assert shift.shrinkage == math.inf
    np.testing.assert_array_equal(shift.apply(s, np.arange(200)), s)


# the value


@pytest.fixture
def shift() -> SegmentShift:
    return SegmentShift(["west", "east"], [-0.5, 0.25], 4.0, "common")


def test_apply_adds_the_shift(shift) -> None:
    found = shift.apply(np.array([1, 2, 3], np.float32), ["east", "west", "south"])
    assert found.dtype == np.float64
    assert found.tolist() == [1.25, 1.5, 3.0]
    refused = SegmentShift(shift.segments, shift.shifts)
    with pytest.raises(
        ValueError,
        match=r"segments holds 'south', first at row 2, which the shifts of \['east', 'west'\] .*"
        "'common' for what all rows have in common",
    ):
        refused.apply([1, 2, 3], ["east", "west", "south"])
    with pytest.raises(ValueError, match=r"segments holds \['south', 'up'\], first at row 0"):
        refused.apply([1, 2], ["up", "south"])


@each("kind", [
    lambda g: g, list, lambda g: g.astype(np.int8), lambda g: g.astype(float), lambda g: g > 0,
    lambda g: g.astype(str), lambda g: np.array(["a", "b"], object)[g],
    lambda g: np.array(["2020-01-01", "2021-05-01"], "datetime64[ns]")[g],
    lambda g: pd.Series(np.array(["a", "b"])[g]),
    lambda g: pd.Series(pd.Categorical.from_codes(g, ["y", "x", "unused"])),
    lambda g: pd.Categorical.from_codes(1 + g, [3, 2, 1]),
])  # fmt: skip
def test_segments_of_any_type(kind) -> None:
    (rows, _), _ = draw(0, 400, 2, 0.8)
    y, s, g = rows
    expected = fit_segment_shift(y, s, g)
    found = fit_segment_shift(y, s, kind(g))
    assert len(found.segments) == 2
    np.testing.assert_array_equal(found.apply(s, kind(g)), expected.apply(s, g))
    np.testing.assert_array_equal(found.apply(s[:1], kind(g)[:1]), expected.apply(s, g)[:1])


@each("kept", [
    lambda shift: SegmentShift.from_json(shift.to_json()), copy.copy, copy.deepcopy,
    lambda shift: pickle.loads(pickle.dumps(shift)),
])  # fmt: skip
@each("segments", [["a", "b"], [3, 1], np.array([2, 1], np.int8)])
@each("k", [0.0, 16.0, math.inf])
def test_copies_are_the_same(kept, segments, k) -> None:
    shift = SegmentShift(segments, [0.1, -0.1], k, "common")
    found = kept(shift)
    assert found.segments.dtype == shift.segments.dtype
    assert repr(found) == repr(shift)
    assert found.apply([0, 0, 0], [*segments, segments[0]]).tolist() == [0.1, -0.1, 0.1]
    assert (found.shrinkage, found.handle_unknown) == (k, "common")


@refused(
    (lambda d: d | {"segments": ["a", 1]}, "segments must be a list of str"),
    (lambda d: d | {"dtype": "M8"}, "dtype must be one of an integer, float or string"),
    (lambda d: d | {"shifts": [0.1]}, "segments has 2 rows, but the shifts have 1"),
    (lambda d: d | {"shrinkage": -1}, "shrinkage must be a weight of rows >= 0, found -1"),
    (lambda d: d | {"shrinkage": "many"}, "shrinkage must be a finite number"),
    (lambda d: d | {"handle_unknown": "zero"}, "handle_unknown must be one of 'error'"),
    (lambda d: {"format": d["format"]}, "text must have the keys"),
)
def test_changed_json_is_refused(shift, change) -> None:
    SegmentShift.from_json(json.dumps(change(json.loads(shift.to_json()))))


def test_numbers_of_a_column_of_objects_are_saved() -> None:
    """As a column of a DataFrame of several types gives them."""
    shift = SegmentShift(np.array([1, 2], object), [0.5, -0.5])
    saved = SegmentShift.from_json(shift.to_json())
    assert saved.apply([0.0, 0.0], [2, 1]).tolist() == [-0.5, 0.5]


def test_segments_of_another_type_are_not_unknown_ones() -> None:
    """Every row would silently get the common thresholds."""
    sites = SegmentShift([1, 2], [0.5, -0.5], handle_unknown="common")
    assert sites.apply([0.0, 0.0], [3.0, 1.0]).tolist() == [0, 0.5]
    for wrong in (["1", "2"], np.array(["2020"], "datetime64[Y]").repeat(2)):
        with pytest.raises(TypeError, match=r"segments are .* those of the shifts, 1, are int: co"):
            sites.apply([0.0, 0.0], wrong)
    with pytest.raises(TypeError, match="segments are int, such as 1, but .* 'a', are str"):
        SegmentShift(["a", "b"], [0, 0], handle_unknown="common").apply([0.0], [1])


def test_nothing_is_written_into_it(shift) -> None:
    for values in (shift.segments, shift.shifts):
        with pytest.raises(ValueError, match="read-only"):
            values[0] = values[1]
    given_ones = np.array([0.5, -0.5])
    own = SegmentShift([0, 1], given_ones)
    given_ones[0] = 9
    assert own.shifts.tolist() == [0.5, -0.5]


# refusals

Y = np.arange(40) % 4
S = Y + np.linspace(0, 0.5, 40)
G = np.array(["a", "b"])[np.arange(40) // 20]


test_bad_input = refusals_of(
    lambda arguments, options: fit_segment_shift(*arguments, **options),
    ((Y, S, [*G[:39], None]), {}, "segments must not be missing, .* at row 39"),
    ((Y, S, [*G[:39], np.nan]), {}, "segments must not be missing, .* at row 39"),
    ((Y, S, np.append(Y[:39], np.nan)), {}, "segments must be finite"),
    ((Y, S, pd.Categorical.from_codes([-(g == "b") for g in G], ["a"])), {},
     "without a category at row 20"),
    ((Y, S, G[:30]), {}, "segments has 30 rows, but the labels have 40"),
    ((Y, S, np.stack([G, G])), {}, "segments must be one-dimensional"),
    ((Y, S, S), {}, r"whole numbers, found 1.012\d+ at row 1: cut numbers into bins"),
    ((Y, S, S.astype(object)), {}, "segments must be words or whole numbers"),
    ((Y, Y, S), {}, "cut numbers into bins first, and pass scores in"),
    ((Y, S, ["a"] * 40), {}, "the single segment 'a': .* at least two segments"),
    ((Y, S, [*G[:39], 3]), {}, "segments must be of one type that can be sorted", TypeError),
    ((Y, S, G), {"sample_weight": G == "a"}, "the single segment 'a'"),
    ((Y, S, G), {"sample_weight": -Y}, "sample_weight must not be negative"),
    ((Y, S, G), {"handle_unknown": "zero"}, "handle_unknown must be one of"),
    ((Y, S[:30], G), {}, "score has 30 rows, but the labels have 40"),
    ((Y, np.append(S[:39], np.nan), G), {}, "score must be finite"),
    ((Y, G, S), {}, "score must hold real numbers", TypeError),
    ((Y, -S, G), {}, "score falls as the class .* pass -score, .* leave the segm"),
    ((Y, np.ones(40), G), {}, "score is 1.0 in every row: pass the model's"),
    ((Y, (S - 1.7) * 0.9e308, G), {}, "more than float64 holds: halve it"),
    ((Y * 0, S, G), {}, "y_true holds the single class 0"),
    ((Y * 0, S, G), {"labels": LABELS}, "y_true holds the single class"),
    ((Y, S, G), {"labels": [0, 1, 2]}, "y_true holds 3 at row 3"),
)  # fmt: skip


@refused(
    ((S, G[:30]), "segments has 30 rows, but the scores have 40"),
    ((S, [*G[:39], None]), "segments must not be missing"),
    ((G, S), "score must hold real numbers", TypeError),
    ((S, S), "pass scores in their own place"),
    (([], []), "score is empty"),
    ((S, np.arange(40)), r"segments holds \[0, 1, .*, first at row 0"),
)
def test_bad_input_to_apply(arguments) -> None:
    shift = fit_segment_shift(Y, S, G)
    shift.apply(*arguments)


test_wrong_ones_cannot_be_made = refusals_of(
    lambda arguments: SegmentShift(*arguments),
    ((["a", "a"], [0, 1]), r"segments must be different .* \['a'\] more than once"),
    ((["a"], [0, 1]), "segments has 1 rows, but the shifts have 2"),
    ((["a"], [np.nan]), "shifts must be finite"),
    (([0.5], [0]), "segments must be words or whole numbers, found 0.5"),
    ((["a"], [0], -1), "shrinkage must be a weight of rows >= 0, found -1"),
    ((["a"], [0], "many"), "shrinkage must be a number", TypeError),
    ((["a"], [0], 1, "zero"), "handle_unknown must be one of 'error', 'common'"),
)

test_dates_are_not_saved = refusals(
    (lambda: SegmentShift(np.array(["2020", "2021"], "datetime64[D]"), [0, 0]).to_json(),
     "segments must be all numbers or all strings to be"),
)  # fmt: skip


def test_a_row_that_decides_the_slope_alone_is_no_evidence() -> None:
    """Without the only other score there is no line to predict its class with."""
    y, g = np.append(np.zeros(39, int), 1), np.arange(40) % 2
    score = np.append(np.zeros(39), 1.0)
    shift = fit_segment_shift(y, score, g)
    assert shift.shrinkage == math.inf
