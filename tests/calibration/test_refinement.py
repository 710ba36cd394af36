"""calibration_refinement: parts that add up, the published segment, CORP by scikit-learn."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, strategies as st
from sklearn.isotonic import IsotonicRegression
from sklearn.metrics import brier_score_loss, log_loss

import gbdt_objectives as go
from tests.calibration.reference import half_squared_error
from tests.cases import refused

pytestmark = pytest.mark.slow


def test_published_segment() -> None:
    y, p = [0] * 6 + [1] * 3 + [2], [[0.5, 0.3, 0.2]] * 10
    for groups in ("prediction", ["one"] * 10):
        parts = go.calibration.calibration_refinement(y, p, partition=groups)
        assert 10 * parts.calibration == pytest.approx(0.1, rel=1e-12)
        assert 10 * parts.refinement == pytest.approx(2.7, rel=1e-12)
        assert 10 * parts.total == pytest.approx(2.8, rel=1e-12)
        assert parts.within == pytest.approx(0, abs=1e-16)
        assert parts.discrimination == pytest.approx(0, abs=1e-16)


def test_tree_with_its_own_proportions_has_no_calibration_loss() -> None:
    y = np.repeat([1, 0, 1, 0, 1, 0], [20, 40, 10, 5, 20, 5])
    p = np.repeat([1 / 3, 2 / 3, 4 / 5], [60, 15, 25])
    parts = go.calibration.calibration_refinement(y, p)
    assert parts.calibration == pytest.approx(0, abs=1e-16)
    assert parts.refinement == pytest.approx((40 / 3 + 10 / 3 + 4) / 100, rel=1e-13)
    assert parts.uncertainty == 0.25


def by_definition(y, p, w, groups):
    """The parts by loops over groups; y positions, p (n, K)."""
    I = np.eye(p.shape[1])[y]
    share = w / w.sum()
    calibration = refinement = 0.0
    for g in set(groups):
        rows = [i for i in range(len(y)) if groups[i] == g and w[i] > 0]
        if rows:
            P = np.average(p[rows], axis=0, weights=w[rows])
            q = np.average(I[rows], axis=0, weights=w[rows])
            calibration += share[rows].sum() * 0.5 * ((P - q) ** 2).sum()
            refinement += share[rows].sum() * 0.5 * (q * (1 - q)).sum()
    q = share @ I
    return calibration, refinement, share @ half_squared_error(y, p), 0.5 * (q * (1 - q)).sum()


@st.composite
def problems(draw):
    K, n = draw(st.integers(2, 4)), draw(st.integers(1, 12))
    rows = st.lists(st.integers(0, 4), min_size=K, max_size=K).filter(sum)
    p = np.array([draw(rows) for _ in range(n)], float)
    p /= p.sum(axis=1, keepdims=True)
    column = {
        "y": st.integers(0, K - 1),
        "g": st.integers(-2, 2),
        "w": st.sampled_from([0.0, 0.3, 1.0, 2.0]),
    }
    y, g, w = (np.array([draw(s) for _ in range(n)]) for s in column.values())
    w[0] += 1
    return y, p, w, g


def log_loss_by_definition(y, p, w, groups):
    """The parts of the log loss by loops over groups; inf where a class of probability 0 occurs."""
    I = np.eye(p.shape[1])[y]
    share = w / w.sum()

    def entropy(q):
        return -sum(v * np.log(v) for v in q if v > 0)

    calibration = refinement = total = 0.0
    for g in set(groups):
        rows = [i for i in range(len(y)) if groups[i] == g and w[i] > 0]
        if rows:
            P = np.average(p[rows], axis=0, weights=w[rows])
            q = np.average(I[rows], axis=0, weights=w[rows])
            with np.errstate(divide="ignore"):
                against = sum(a * np.log(a / b) for a, b in zip(q, P, strict=True) if a > 0)
            calibration += share[rows].sum() * against
            refinement += share[rows].sum() * entropy(q)
    for i in range(len(y)):
        if w[i] > 0:
            total += share[i] * (np.inf if p[i, y[i]] == 0 else -np.log(p[i, y[i]]))
    return calibration, refinement, total, entropy(share @ I)


def equal_sets(p):
    return [tuple(row) for row in p.tolist()]


@given(problems())
def test_parts_add_up_and_are_the_definition(problem) -> None:
    y, p, w, g = problem
    for groups, keys in ((g, g.tolist()), ("prediction", equal_sets(p))):
        parts = go.calibration.calibration_refinement(y, p, partition=groups, sample_weight=w)
        calibration, refinement, total, uncertainty = by_definition(y, p, w, keys)
        assert parts.calibration == pytest.approx(calibration, abs=1e-12)
        assert parts.refinement == pytest.approx(refinement, abs=1e-12)
        assert parts.uncertainty == pytest.approx(uncertainty, abs=1e-12)
        assert parts.total == pytest.approx(total, abs=1e-12)
        murphy = parts.miscalibration - parts.discrimination + parts.uncertainty
        assert murphy == pytest.approx(total, abs=1e-12)
        if isinstance(groups, str):
            assert parts.within == pytest.approx(0, abs=1e-15)
    if p.shape[1] == 2:
        for groups in ("prediction", g):
            one = go.calibration.calibration_refinement(
                y, p[:, 1], partition=groups, sample_weight=w
            )
            two = go.calibration.calibration_refinement(y, p, partition=groups, sample_weight=w)
            for name in ("calibration", "refinement", "within", "uncertainty"):
                assert getattr(one, name) == pytest.approx(getattr(two, name), abs=1e-12)


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("decimals", [2, 17])
def test_isotonic_segments_are_corp(weighted, decimals) -> None:
    rng = np.random.default_rng(0)
    p = rng.random(3_000).round(decimals)
    y = (rng.random(3_000) < p**2).astype(int)
    w = rng.exponential(size=3_000) if weighted else None
    parts = go.calibration.calibration_refinement(y, p, partition="isotonic", sample_weight=w)
    fit = IsotonicRegression().fit(p, y, sample_weight=w).predict(p)
    mean = np.full(3_000, np.average(y, weights=w))
    score, recalibrated, constant = (
        brier_score_loss(y, q, sample_weight=w) for q in (p, fit.clip(0, 1), mean)
    )
    assert parts.total == pytest.approx(score, abs=1e-12)
    assert parts.refinement == pytest.approx(recalibrated, abs=1e-12)
    assert parts.miscalibration == pytest.approx(score - recalibrated, abs=1e-12)
    assert parts.discrimination == pytest.approx(constant - recalibrated, abs=1e-12)
    assert parts.uncertainty == pytest.approx(constant, abs=1e-12)
    assert parts.miscalibration > 0.01 < parts.discrimination


@given(problems())
def test_parts_of_the_log_loss_add_up_and_are_the_definition(problem) -> None:
    y, p, w, g = problem
    for groups, keys in ((g, g.tolist()), ("prediction", equal_sets(p))):
        options = {"partition": groups, "sample_weight": w, "loss": "log_loss"}
        parts = go.calibration.calibration_refinement(y, p, **options)
        calibration, refinement, total, uncertainty = log_loss_by_definition(y, p, w, keys)
        assert parts.calibration == pytest.approx(calibration, abs=1e-12)
        assert parts.refinement == pytest.approx(refinement, abs=1e-12)
        assert parts.uncertainty == pytest.approx(uncertainty, abs=1e-12)
        assert parts.total == pytest.approx(total, abs=1e-12)
        assert parts.calibration >= -1e-12 <= parts.discrimination
        if isinstance(groups, str):
            assert parts.within == pytest.approx(0, abs=1e-15)
        if p.shape[1] == 2:
            one = go.calibration.calibration_refinement(y, p[:, 1], **options)
            for name in ("calibration", "refinement", "within", "uncertainty"):
                expected = getattr(parts, name)
                assert getattr(one, name) == pytest.approx(expected, abs=1e-12)


@pytest.mark.parametrize("weighted", [False, True])
def test_isotonic_segments_are_corp_for_the_log_loss(weighted) -> None:
    rng = np.random.default_rng(0)
    p = rng.uniform(0.01, 0.99, 3_000).round(2)
    y = (rng.random(3_000) < p**2).astype(int)
    w = rng.exponential(size=3_000) if weighted else None
    parts = go.calibration.calibration_refinement(
        y, p, partition="isotonic", loss="log_loss", sample_weight=w
    )
    fit = IsotonicRegression().fit(p, y, sample_weight=w).predict(p)
    mean = np.full(3_000, np.average(y, weights=w))
    score, recalibrated, constant = (log_loss(y, q, sample_weight=w) for q in (p, fit, mean))
    assert parts.total == pytest.approx(score, abs=1e-12)
    # scikit-learn moves probabilities of 0 and 1 by 2e-16
    assert parts.refinement == pytest.approx(recalibrated, abs=1e-12)
    assert parts.discrimination == pytest.approx(constant - recalibrated, abs=1e-12)
    assert parts.miscalibration > 0.01 < parts.discrimination


def test_a_certain_prediction_that_is_wrong_costs_inf() -> None:
    alone = go.calibration.calibration_refinement([0, 1], [0.5, 0.0], loss="log_loss")
    assert alone.calibration == alone.total == np.inf
    assert alone.within == 0
    among = go.calibration.calibration_refinement(
        [0, 1], [0.5, 0.0], partition=[1, 1], loss="log_loss"
    )
    assert among.within == among.total == np.inf
    assert among.calibration < np.inf
    right = go.calibration.calibration_refinement([0, 1], [0.0, 1.0], loss="log_loss")
    assert right.total == right.calibration == right.refinement == 0
    with pytest.raises(ValueError, match="loss must be one of 'brier_score', 'log_loss'"):
        go.calibration.calibration_refinement([0, 1], [0.5, 0.0], loss="logloss")


def test_isotonic_segments_are_those_of_the_hull() -> None:
    parts = go.calibration.calibration_refinement(
        [0, 0, 1, 1], [0.1, 0.2, 0.8, 0.9], partition="isotonic"
    )
    assert parts.calibration == pytest.approx(0.15**2, rel=1e-14)
    assert parts.within == pytest.approx(0.05**2, rel=1e-13)


def test_coarse_groups_of_informative_predictions() -> None:
    parts = go.calibration.calibration_refinement([0, 1], [0.25, 0.75], partition=["all", "all"])
    assert (parts.calibration, parts.refinement) == (0, 0.25)
    assert parts.within == parts.miscalibration == -0.1875  # they do better than the group's mean
    assert parts.total == 0.0625


def test_weight_is_repetition_and_zero_is_absence() -> None:
    rng = np.random.default_rng(3)
    y, p, w = rng.integers(0, 2, 200), rng.random(200).round(1), rng.integers(0, 4, 200)
    g = rng.integers(0, 9, 200).astype(str)
    at = np.repeat(np.arange(200), w)
    p = p.clip(0.1, 0.9)
    for loss in ("brier_score", "log_loss"):
        for a, b in (("prediction",) * 2, ("isotonic",) * 2, (g, g[at])):
            weighted = go.calibration.calibration_refinement(
                y, p, partition=a, loss=loss, sample_weight=w
            )
            repeated = go.calibration.calibration_refinement(y[at], p[at], partition=b, loss=loss)
            for name in ("calibration", "refinement", "within", "uncertainty"):
                assert getattr(weighted, name) == pytest.approx(getattr(repeated, name), abs=1e-14)


def test_one_class_is_certain() -> None:
    for groups in ("prediction", "isotonic"):
        parts = go.calibration.calibration_refinement([1, 1], [0.5, 0.75], partition=groups)
        assert (parts.refinement, parts.uncertainty) == (0, 0)
        assert parts.miscalibration == parts.total == (0.25 + 0.0625) / 2


@pytest.mark.parametrize("w", [None, [1, 0], [1, 2]])
@refused(
    ([1, 2, 3], "partition has 3 rows, but the labels have 2"),
    ([[1, 2]], "partition must be one-dimensional"),
    ([1, np.nan], "partition must be finite"),
    (["a", None], "partition must not be missing, found None at row 1"),
    ([np.nan, "a"], "partition must not be missing, found nan at row 0"),
    (["a", pd.NA], "partition must not be missing, found <NA> at row 1"),
    (pd.Series(["a", None]), "partition must not be missing, found .* at row 1"),
    (np.array(["2020-01-01", "NaT"], "M8[D]"), "partition must not be missing, found .*NaT"),
    ([1, "a"], "partition must be of one type that can be sorted, found int, str", TypeError),
    ([1j, "a"], "partition must be of one type that can be sorted, found complex, str", TypeError),
    ("leaf", "partition must be one of 'prediction', 'isotonic', found 'leaf'"),
)
def test_bad_groups(w, groups) -> None:
    go.calibration.calibration_refinement([0, 1], [0.1, 0.2], partition=groups, sample_weight=w)


def test_equal_rows_are_found_though_their_keys_are_equal_too(monkeypatch) -> None:
    rng = np.random.default_rng(0)
    p = rng.permutation([[0.5, 0.3, 0.2], [0.3, 0.5, 0.2], [0.2, 0.3, 0.5]] * 40)
    y = rng.integers(0, 3, 120)
    expected = go.calibration.calibration_refinement(y, p, partition=[str(row) for row in p])
    # groups of the same rows in another order
    assert vars(go.calibration.calibration_refinement(y, p)) == pytest.approx(
        vars(expected), abs=1e-15
    )

    class Ones:
        def uniform(self, low, high, size):
            return np.ones(size)

    monkeypatch.setattr(np.random, "default_rng", lambda seed: Ones())  # all keys are 1
    found = go.calibration.calibration_refinement(y, p)
    assert vars(found) == pytest.approx(vars(expected), abs=1e-15)


def test_isotonic_is_binary() -> None:
    with pytest.raises(ValueError, match="pass one class at a time"):
        go.calibration.calibration_refinement([0, 1], [[0.5, 0.5]] * 2, partition="isotonic")


def test_prints_as_a_table() -> None:
    parts = go.calibration.calibration_refinement(
        [0, 1, 0, 1], [0.1, 0.3, 0.6, 0.7], partition="isotonic"
    )
    names, values = str(parts).splitlines()
    assert len(names) == len(values) <= 100
    for name, value in zip(names.split(), values.split(), strict=True):
        assert getattr(parts, name) == pytest.approx(float(value), rel=1e-3)
