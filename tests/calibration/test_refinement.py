"""calibration_refinement: the published segment, CORP by scikit-learn, what is refused."""

from __future__ import annotations

import warnings

import numpy as np
import pandas as pd
import pytest
from sklearn.isotonic import IsotonicRegression
from sklearn.metrics import brier_score_loss, log_loss

from gbdt_objectives.calibration import calibration_refinement
from tests.cases import refusals, refused

pytestmark = pytest.mark.slow


def test_published_segment() -> None:
    y, p = [0] * 6 + [1] * 3 + [2], [[0.5, 0.3, 0.2]] * 10
    for groups in ("prediction", ["one"] * 10):
        parts = calibration_refinement(y, p, partition=groups)
        assert 10 * parts.calibration == pytest.approx(0.1, rel=1e-12)
        assert 10 * parts.refinement == pytest.approx(2.7, rel=1e-12)
        assert 10 * parts.total == pytest.approx(2.8, rel=1e-12)
        assert parts.within == pytest.approx(0, abs=1e-16)
        assert parts.discrimination == pytest.approx(0, abs=1e-16)


def test_tree_with_its_own_proportions_has_no_calibration_loss() -> None:
    y = np.repeat([1, 0, 1, 0, 1, 0], [20, 40, 10, 5, 20, 5])
    p = np.repeat([1 / 3, 2 / 3, 4 / 5], [60, 15, 25])
    parts = calibration_refinement(y, p)
    assert parts.calibration == pytest.approx(0, abs=1e-16)
    assert parts.refinement == pytest.approx((40 / 3 + 10 / 3 + 4) / 100, rel=1e-13)
    assert parts.uncertainty == 0.25


LOSSES = {"brier_score": brier_score_loss, "log_loss": log_loss}


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("decimals", [2, 17])
@pytest.mark.parametrize("loss", LOSSES)
def test_isotonic_segments_are_corp(loss, weighted, decimals) -> None:
    rng = np.random.default_rng(0)
    p = rng.uniform(0.01, 0.99, 3_000).round(decimals)
    y = (rng.random(3_000) < p**2).astype(int)
    w = rng.exponential(size=3_000) if weighted else None
    parts = calibration_refinement(y, p, partition="isotonic", loss=loss, sample_weight=w)
    fit = IsotonicRegression().fit(p, y, sample_weight=w).predict(p).clip(0, 1)
    mean = np.full(3_000, np.average(y, weights=w))
    score, recalibrated, constant = (LOSSES[loss](y, q, sample_weight=w) for q in (p, fit, mean))
    assert parts.total == pytest.approx(score, abs=1e-12)
    # scikit-learn moves probabilities of 0 and 1 by 2e-16
    assert parts.refinement == pytest.approx(recalibrated, abs=1e-12)
    assert parts.miscalibration == pytest.approx(score - recalibrated, abs=1e-12)
    assert parts.discrimination == pytest.approx(constant - recalibrated, abs=1e-12)
    assert parts.uncertainty == pytest.approx(constant, abs=1e-12)
    assert parts.miscalibration > 0.01 < parts.discrimination


def test_a_certain_prediction_that_is_wrong_costs_inf() -> None:
    alone = calibration_refinement([0, 1], [0.5, 0.0], loss="log_loss")
    assert alone.calibration == alone.total == np.inf
    assert alone.within == 0
    among = calibration_refinement([0, 1], [0.5, 0.0], partition=[1, 1], loss="log_loss")
    assert among.within == among.total == np.inf
    assert among.calibration < np.inf
    right = calibration_refinement([0, 1], [0.0, 1.0], loss="log_loss")
    assert right.total == right.calibration == right.refinement == 0


def test_isotonic_segments_are_those_of_the_hull() -> None:
    parts = calibration_refinement([0, 0, 1, 1], [0.1, 0.2, 0.8, 0.9], partition="isotonic")
    assert parts.calibration == pytest.approx(0.15**2, rel=1e-14)
    assert parts.within == pytest.approx(0.05**2, rel=1e-13)


def test_coarse_groups_of_informative_predictions() -> None:
    parts = calibration_refinement([0, 1], [0.25, 0.75], partition=["all", "all"])
    assert (parts.calibration, parts.refinement) == (0, 0.25)
    assert parts.within == parts.miscalibration == -0.1875  # they do better than the group's mean
    assert parts.total == 0.0625


def test_one_class_is_certain() -> None:
    for groups in ("prediction", "isotonic"):
        parts = calibration_refinement([1, 1], [0.5, 0.75], partition=groups)
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
    calibration_refinement([0, 1], [0.1, 0.2], partition=groups, sample_weight=w)


def test_equal_rows_are_found_though_their_keys_are_equal_too(monkeypatch) -> None:
    rng = np.random.default_rng(0)
    p = rng.permutation([[0.5, 0.3, 0.2], [0.3, 0.5, 0.2], [0.2, 0.3, 0.5]] * 40)
    y = rng.integers(0, 3, 120)
    expected = calibration_refinement(y, p, partition=[str(row) for row in p])
    # groups of the same rows in another order
    assert vars(calibration_refinement(y, p)) == pytest.approx(vars(expected), abs=1e-15)

    class Ones:
        def uniform(self, low, high, size):
            return np.ones(size)

    monkeypatch.setattr(np.random, "default_rng", lambda seed: Ones())  # all keys are 1
    found = calibration_refinement(y, p)
    assert vars(found) == pytest.approx(vars(expected), abs=1e-15)


test_refusals = refusals(
    (lambda: calibration_refinement([0, 1], [[0.5, 0.5]] * 2, partition="isotonic"),
     "pass one class at a time"),
    (lambda: calibration_refinement([0, 1], [0.5, 0.0], loss="logloss"),
     "loss must be one of 'brier_score', 'log_loss'"),
)  # fmt: skip


def test_prints_as_a_table() -> None:
    parts = calibration_refinement([0, 1, 0, 1], [0.1, 0.3, 0.6, 0.7], partition="isotonic")
    names, values = str(parts).splitlines()
    assert len(names) == len(values) <= 100
    for name, value in zip(names.split(), values.split(), strict=True):
        assert getattr(parts, name) == pytest.approx(float(value), rel=1e-3)


def test_groups_of_nearly_a_row_each_are_warned_of() -> None:
    rng = np.random.default_rng(0)
    p = rng.beta(1, 30, 3_000)
    y = (rng.random(3_000) < p).astype(int)
    with pytest.warns(UserWarning, match="3000 different predictions.*: pass partition='isotonic'"):
        assert calibration_refinement(y, p).calibration > 0.02  # of true probabilities
    with pytest.warns(UserWarning, match="3000 different predictions.*, for one class at a time"):
        calibration_refinement(y, np.column_stack([1 - p, p]))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert calibration_refinement(y, p, partition="isotonic").calibration < 0.002
        calibration_refinement(y, p, partition=np.arange(3_000) % 1_600)
        calibration_refinement(y, p.round(3))
        calibration_refinement(y[:49], p[:49])


def test_rows_that_stand_for_many_are_not_taken_for_continuous() -> None:
    p = np.linspace(0.05, 0.95, 60)
    y, w = np.arange(60) % 2, np.full(60, 100.0)
    with pytest.warns(UserWarning, match="60 rows have 60 different predictions"):
        calibration_refinement(y, p)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        calibration_refinement(y, p, sample_weight=w)
