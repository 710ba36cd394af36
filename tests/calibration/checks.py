"""What every calibrator of one score must do; ``test_calibrators.py`` runs it on all of them."""

from __future__ import annotations

import pickle
from typing import Any

import numpy as np
import pytest
from scipy.special import expit, logit
from sklearn.base import clone
from sklearn.exceptions import NotFittedError

import gbdt_objectives as go
from gbdt_objectives.calibration import SplineCalibrator, brier_score


def made(n, seed=0):
    """Probabilities that are too high and too spread, and labels."""
    rng = np.random.default_rng(seed)
    z = rng.normal(-2, 1, n)
    return expit(2 * z + 4), (rng.random(n) < expit(z)).astype(int)


def score_of(calibrator, probability):
    return logit(probability) if "margin" in str(calibrator) else probability


def check_weight_is_repetition(calibrator: Any) -> None:
    p, y = made(2000)
    score = score_of(calibrator, p)
    w = np.random.default_rng(1).integers(0, 4, len(y))
    weighted = clone(calibrator).fit(score, y, w).predict(score)
    copies = clone(calibrator).fit(np.repeat(score, w), np.repeat(y, w)).predict(score)
    # sums in another order, and a spline's smoothness is searched for
    rtol = 1e-7 if isinstance(calibrator, SplineCalibrator) else 1e-10
    np.testing.assert_allclose(weighted, copies, rtol=rtol)


def check_better_on_new_rows(calibrator: Any) -> None:
    p, y = made(20_000)
    calibrated = clone(calibrator).fit(score_of(calibrator, p), y)
    p, y = made(20_000, seed=1)
    found = calibrated.predict(score_of(calibrator, p))
    assert found.dtype == np.float64
    assert found.shape == p.shape
    assert brier_score(y, found) < brier_score(y, p) - 0.003
    assert go.calibration.calibration_ratio(y, found) == pytest.approx(1, abs=0.05)


def check_clone_pickle_json_column(calibrator: Any) -> None:
    p, y = made(2000)
    assert str(clone(calibrator)) == str(calibrator)
    fitted = clone(calibrator).fit(score_of(calibrator, p), y)
    new = score_of(calibrator, made(1000, seed=2)[0])
    expected = fitted.predict(new)
    pickled = pickle.loads(pickle.dumps(fitted))
    for loaded in (pickled, type(calibrator).from_json(fitted.to_json())):
        assert loaded.get_params() == fitted.get_params()
        assert loaded.to_json() == fitted.to_json()
        np.testing.assert_array_equal(loaded.predict(new), expected)
    np.testing.assert_array_equal(fitted.predict(new[:, None]), expected)


def check_a_score_that_falls_where_the_label_rises_is_told(calibrator: Any) -> None:
    p, y = made(2000)
    with pytest.warns(UserWarning, match="does not rise with the label"):
        clone(calibrator).fit(score_of(calibrator, 1 - p), y)


def check_rates_of_kept_negatives_are_corrected(calibrator: Any) -> None:
    """Predictions are for all rows, where a tenth of the negatives was kept to fit on."""
    p, y = made(40_000)
    kept = (y == 1) | (np.arange(len(y)) % 10 == 0)
    score = score_of(calibrator, p)
    fitted = clone(calibrator).fit(score[kept], y[kept], negative_keep_rate=0.1)
    found = go.calibration.calibration_ratio(y, fitted.predict(score))
    assert found == pytest.approx(1, abs=0.4)  # a rate that is forgotten makes it 3 or more


def check_refuses_bad_input(calibrator: Any) -> None:
    for y, words in (([1, 1], "single class 1"), ([0, 2], "y must be 0")):
        with pytest.raises(ValueError, match=words):
            clone(calibrator).fit([0.1, 0.2], y)
    with pytest.raises(NotFittedError):
        clone(calibrator).predict([0.5])


CHECKS = [
    check_weight_is_repetition,
    check_better_on_new_rows,
    check_clone_pickle_json_column,
    check_a_score_that_falls_where_the_label_rises_is_told,
    check_rates_of_kept_negatives_are_corrected,
    check_refuses_bad_input,
]
