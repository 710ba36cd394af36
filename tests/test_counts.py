"""Counts: rows of a GROUP BY, each with its number, give what the rows they stand for give."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression

from gbdt_objectives.adapters import imbalance_shift
from gbdt_objectives.calibration import (
    SegmentStatistics,
    calibration_error_test,
    calibration_ratio_by_segment,
    choose_calibrator,
)
from gbdt_objectives.calibration.reliability import ReliabilityCurve
from gbdt_objectives.evaluation import cross_validate_thresholds, estimate_performance
from gbdt_objectives.priors import estimate_prior, prior_shift_test
from tests.cases import each

EXACT = 1 / 64
"""Predictions, weights and rates are such multiples, so that sums in any order have the same bits,
and bins the same borders."""


def grouped(weighted, rate, owned, seed=0):
    """Distinct rows, one of them there no times, and how often each is there among 4,000."""
    rng = np.random.default_rng(seed)
    n = 4000
    p = np.maximum(rng.binomial(20, 0.15, n), 1) * 2 * EXACT
    w = rng.choice([0.5, 1.0, 2.5], n) if weighted else np.ones(n)
    columns = {
        "y": rng.random(n) < p ** np.where(w > 1, 0.5, 0.8),  # outcomes vary more than by chance
        "p": p,
        "segment": rng.integers(0, 3, n),
        "w": w,
        "r": rng.choice([0.25, 0.5, 1.0], n) if rate == "by row" else np.full(n, float(rate)),
        "owner": rng.integers(0, 60, n) if owned else np.zeros(n),
    }
    kept = columns["y"] | (rng.random(n) < columns["r"])
    rows, c = np.unique(np.stack(list(columns.values()))[:, kept], axis=1, return_counts=True)
    order = rng.permutation(len(c) + 1)
    rows, c = (
        np.append(rows, rows[:, :1] + [[0], [0.5], [0], [3], [0], [0]], axis=1),
        np.append(c, 0),
    )
    return dict(zip(columns, rows[:, order], strict=True)), c[order]


def written_out(columns, c, seed=1):
    order = np.random.default_rng(seed).permutation(c.sum())
    return {name: np.repeat(values, c)[order] for name, values in columns.items()}


def options(columns, weighted, rate, owned):
    given = {"sample_weight": columns["w"]} if weighted else {}
    given |= {"keep_rate": columns["r"]} if rate == "by row" else {}
    given |= {"negative_keep_rate": rate} if rate == 0.25 else {}
    return given | ({"groups": columns["owner"]} if owned else {})


def numbers(result):
    return np.concatenate([
        np.ravel(value) for value in vars(result).values() if np.asarray(value).dtype.kind in "fi"
    ])  # fmt: skip


def by_segment(columns, c, **given):
    rows = columns["y"], columns["p"]
    return np.append(
        numbers(calibration_ratio_by_segment(*rows, columns["segment"], counts=c, **given)),
        numbers(calibration_ratio_by_segment(*rows, "prediction", n_bins=4, counts=c, **given)),
    )


def error_test(columns, c, **given):
    found = calibration_error_test(
        columns["y"], columns["p"], n_bins=6, counts=c, n_resamples=200, random_state=0, **given
    )
    return numbers(found)


def reliability(columns, c, **given):
    found = []
    for strategy in ("quantile", "uniform", *([] if "groups" in given else ["isotonic"])):
        curve = ReliabilityCurve._of(
            columns["y"], columns["p"], 5, strategy, 0.95, given.get("sample_weight"),
            given.get("groups"), given.get("keep_rate", given.get("negative_keep_rate", 1.0)), c,
        )  # fmt: skip
        found += [curve.low, curve.high, *vars(curve.bins).values(), [curve.ratio]]
    return np.concatenate(found)


@pytest.mark.slow
@pytest.mark.parametrize("function", [by_segment, error_test, reliability])
@each("weighted, rate, owned", product([False, True], [1, 0.25, "by row"], [False, True]))
def test_counted_rows_are_the_rows_written_out(function, weighted, rate, owned) -> None:
    columns, c = grouped(weighted, rate, owned)
    assert len(c) < c.sum()
    every = written_out(columns, c)
    found = function(columns, c, **options(columns, weighted, rate, owned))
    expected = function(every, None, **options(every, weighted, rate, owned))
    np.testing.assert_allclose(found, expected, rtol=1e-12)


@pytest.mark.parametrize("weighted", [False, True])
def test_parts_of_counted_rows_add_up(weighted) -> None:
    columns, c = grouped(weighted, 1, False)
    parts = np.array_split(np.arange(len(c)), [0, 7, 40])
    found = [
        SegmentStatistics.of(
            *(columns[name][at] for name in ("y", "p", "segment")), counts=c[at],
            sample_weight=columns["w"][at] if weighted else None,
        )
        for at in parts[1:]
    ]  # fmt: skip
    together = found[0] + found[1] + found[2]
    assert (together.rows, together.weight) == (c.sum(), c @ columns["w"])
    every = written_out(columns, c)
    expected = calibration_ratio_by_segment(
        every["y"], every["p"], every["segment"], sample_weight=every["w"]
    )
    np.testing.assert_allclose(numbers(together.ratios()), numbers(expected), rtol=1e-12)


def test_the_predicted_class_of_several_is_counted() -> None:
    P = np.array([[0.5, 0.25, 0.25], [0.125, 0.75, 0.125], [0.25, 0.125, 0.625]]).repeat(3, axis=0)
    y, c = np.tile([0, 1, 2], 3), np.array([22, 14, 9, 8, 31, 5, 3, 17, 24])
    found = calibration_error_test(y, P, counts=c, n_resamples=200, random_state=0)
    expected = calibration_error_test(
        y.repeat(c), P.repeat(c, axis=0), n_resamples=200, random_state=0
    )
    np.testing.assert_allclose(numbers(found), numbers(expected), rtol=1e-12)


@each("several, held_out, owned", product([False, True], repeat=3))
def test_priors_of_counted_rows(several, held_out, owned) -> None:
    rng = np.random.default_rng(0)
    K, sizes = 3 if several else 2, (70, 90)
    p, q = (rng.dirichlet(np.full(K, 0.6), n) for n in sizes)
    label = (rng.random((90, 1)) > q.cumsum(axis=1)).sum(axis=1)
    p, q = (p, q) if several else (p[:, 1], q[:, 1])
    c, owner = ([rng.integers(0, most, n) for n in sizes] for most in (9, 30))

    def found(p, q, label, owner, counts):
        known = {"train_prior": [0.5, 0.3, 0.2] if several else 0.25}
        pair = [owner[0], counts and counts[0]]
        if held_out:
            known, pair = {"out_of_fold": (label, q)}, [tuple(owner), counts and tuple(counts)]
        test = prior_shift_test(p, **known, groups=pair[0] if owned else None, counts=pair[1])
        values = [test.statistic, test.p_value, test.detectable, *vars(test.estimate).values()]
        return np.concatenate([np.ravel(value) for value in values]).astype(float)

    every = [x.repeat(n, axis=0) for x, n in ((p, c[0]), (q, c[1]), (label, c[1]))]
    expected = found(*every, [x.repeat(n) for x, n in zip(owner, c, strict=True)], None)
    assert np.isfinite(expected).mean() > 0.8  # but for shifts that no test could find
    np.testing.assert_allclose(found(p, q, label, owner, c), expected, rtol=1e-11)


@pytest.mark.parametrize("weighted", [False, True])
def test_a_shift_from_counted_rows_has_their_error(weighted) -> None:
    columns, c = grouped(weighted, 1, False)
    model = LogisticRegression(class_weight="balanced")
    every = written_out(columns, c)
    model.fit(every["p"][:, None], every["y"])
    found, expected = (
        imbalance_shift(
            model, rows["p"][:, None], rows["y"], counts=counts,
            sample_weight=rows["w"] if weighted else None,
        )
        for rows, counts in ((columns, c), (every, None))
    )  # fmt: skip
    np.testing.assert_allclose(found.values, expected.values, rtol=1e-12)
    np.testing.assert_allclose(found.standard_error, expected.standard_error, rtol=1e-12)


P, Y, C = np.array([0.1, 0.1, 0.3, 0.3]), np.array([0, 1, 0, 1]), np.array([90, 10, 60, 40])


def test_vectors() -> None:
    """Made by a prototype, from the rows written out; as weights they differ."""
    near = {"rtol": 1e-8}
    found = calibration_ratio_by_segment(Y, P, np.zeros(4), counts=C)
    expected = [200, 0.8, 0.64758116, 1.01388218, 0.06430113]
    names = ("weight", "ratio", "low", "high", "p_value")
    np.testing.assert_allclose([getattr(found, name)[0] for name in names], expected, rtol=5e-8)
    found = calibration_ratio_by_segment(Y, P, np.zeros(4), sample_weight=C)
    expected = [200, 0.8, 0.2977138, 4.24368596, 0.7968182]
    np.testing.assert_allclose([getattr(found, name)[0] for name in names], expected, rtol=5e-8)
    found = calibration_ratio_by_segment(
        Y, P, np.zeros(4), counts=C, sample_weight=np.where(Y == 1, 1, 5)
    )
    expected = [800, 2.96, 2.10818274, 4.10981415]
    np.testing.assert_allclose([getattr(found, name)[0] for name in names[:4]], expected, **near)
    curve = ReliabilityCurve._of(Y, P, 2, "quantile", 0.95, None, counts=C)
    np.testing.assert_allclose(curve.low, [0.05258468, 0.3079523], rtol=1e-7)
    np.testing.assert_allclose(curve.high, [0.17012393, 0.49774326], rtol=1e-7)
    test = calibration_error_test(Y, P, n_bins=2, counts=C, random_state=0)
    assert test.error == pytest.approx(0.05, rel=1e-12)
    # 100 rows of 0.3 add up to 30 or a bit more, where numpy changes how it draws binomials
    # above 30: three standard errors of 2,000 draws
    assert test.null_error == pytest.approx(0.0300775, abs=0.0015)
    assert test.p_value == pytest.approx(0.14942529, abs=0.03)
    assert test.interval[1] == pytest.approx(0.09835197, abs=0.004)
    shift = prior_shift_test(
        [0.05, 0.1, 0.2, 0.4, 0.7], 0.15, counts=[40, 25, 15, 12, 8], tol=1e-12
    )
    expected = [2.8557584595555, 0.0910472886, 0.2894983493854, 0.0898502242]
    estimate = shift.estimate
    values = [shift.statistic, shift.p_value, estimate.prior, estimate.standard_error]
    np.testing.assert_allclose(values, expected, rtol=1e-9)


refusals = {
    "a weight": (dict(counts=[90, 10, 60, 2.5]), r"counts must be whole numbers >= 0, found 2.5 at "
                 "row 3: .* weight: pass sample_weight"),
    "negative": (dict(counts=[90, 10, 60, -1]), "counts must be whole numbers >= 0, found -1.0 at"),
    "no rows": (dict(counts=[0, 0, 0, 0]), "counts is 0 in all 4 rows"),
    "none with weight": (dict(counts=[0, 0, 1, 1], sample_weight=[1, 1, 0, 0]),
                         "sample_weight times counts is 0 in all 4 rows"),
    "length": (dict(counts=[1, 2, 3]), "counts has 3 .*4"),
    "one group": (dict(counts=[90, 0, 0, 0], groups=[1, 2, 2, 2]), "found 1 among 90 rows"),
}  # fmt: skip


@each("given, words", refusals.values(), ids=refusals)
def test_counts_that_are_none(given, words) -> None:
    for function in (calibration_error_test, calibration_ratio_by_segment):
        segments = [np.zeros(4)] if function is calibration_ratio_by_segment else []
        with pytest.raises(ValueError, match=words):
            function(Y, P, *segments, **given)


def test_priors_and_folds_refuse_counts_that_are_not_theirs() -> None:
    q, held = [0.2, 0.7, 0.4], ([0, 0, 1, 1], [0.1, 0.6, 0.4, 0.8])
    for given, words in (
        ((2, 1, 1), "counts must be a pair (of probability, of out_of_fold)"),
        (((1, 0, 0), None), "probability has 1 row"),
        ((None, (1, 0, 1, 4)), "each at least twice, found {0.0: 1, 1.0: 5}"),
        ((None, (1, 1, 1, 0.5)), "the counts of out_of_fold must be whole numbers"),
    ):
        with pytest.raises((ValueError, TypeError)) as error:
            estimate_prior(q, out_of_fold=held, counts=given)
        assert words in str(error.value)
    with pytest.raises(ValueError, match="groups must be at least 2 .* found 1 among 9 rows"):
        estimate_prior(q, 0.5, counts=[4, 0, 5], groups=["a", "b", "a"])
    for function in (estimate_performance, choose_calibrator, cross_validate_thresholds):
        with pytest.raises(TypeError, match="no argument .counts.: write the rows out"):
            function(counts=C)
