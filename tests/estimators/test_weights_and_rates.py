"""Weights and rates that mean another thing than their place says, and their units."""

from __future__ import annotations

from functools import partial

import lightgbm as lgb
import numpy as np
import pytest
from scipy.special import expit
from sklearn import config_context
from sklearn.linear_model import LinearRegression, LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from gbdt_objectives import offset_logloss_objective
from gbdt_objectives.adapters import imbalance_shift
from gbdt_objectives.calibration import (
    calibration_error_test,
    calibration_ratio_by_segment,
    choose_calibrator,
)
from gbdt_objectives.estimators import CalibratedClassifier, DownsampledClassifier, QWKClassifier
from gbdt_objectives.priors import estimate_prior
from tests.cases import each, refusals_of


@pytest.fixture(scope="module")
def sampled():
    """Labels and right probabilities of rows of which a tenth of the negatives was kept."""
    rng = np.random.default_rng(0)
    p = rng.beta(1, 60, 50_000)
    y = (rng.random(50_000) < p).astype(int)
    kept = (y == 1) | (rng.random(50_000) < 0.1)
    return y[kept], p[kept]


def test_weights_that_follow_the_label_are_no_weights_of_the_error_test(sampled) -> None:
    y, p = sampled
    weight = np.where(y == 1, 1.0, 10.0)
    with pytest.raises(ValueError, match=r"pass negative_keep_rate=0.1 and no such weights"):
        calibration_error_test(y, p, sample_weight=weight)
    assert calibration_error_test(y, p, negative_keep_rate=0.1, random_state=0).p_value > 0.01
    calibration_error_test(y, p, sample_weight=np.full(len(y), 2.0), random_state=0)
    calibration_error_test(y, p, sample_weight=weight * (1 + np.arange(len(y)) % 2))


@each("whole", [0, 5])
def test_rates_of_1_for_positives_are_refused_if_some_negatives_have_it(sampled, whole) -> None:
    y, p = sampled
    rates = np.where(y == 1, 1.0, 0.1)
    rates[np.flatnonzero(y == 0)[:whole]] = 1.0
    refused = pytest.raises(ValueError, match="rates must not follow the label")
    with refused:
        offset_logloss_objective(rates)(y, np.zeros(len(y)))
    with refused:
        calibration_error_test(y, p, keep_rate=rates)
    with refused:
        calibration_ratio_by_segment(y, p, "prediction", keep_rate=rates)
    rates[np.flatnonzero(y == 1)[0]] = 0.1
    offset_logloss_objective(rates)(y, np.zeros(len(y)))


@pytest.mark.filterwarnings("ignore:probability is 0 or 1 in every row")  # on purpose
def test_the_interval_of_certain_predictions_has_a_width() -> None:
    y = np.arange(200) < 10
    certain = calibration_error_test(y, np.zeros(200), random_state=0).interval
    nearly = calibration_error_test(y, np.full(200, 1e-9), random_state=0).interval
    np.testing.assert_allclose(certain, nearly, atol=0.01)  # the step of a simulated quantile
    assert certain[0] < 0.05 < certain[1]
    right = calibration_error_test([0] * 5 + [1] * 5, [0.0] * 5 + [1.0] * 5, random_state=0)
    assert right.error == right.interval[0] == 0
    assert 0.05 < right.interval[1] < 0.6  # ten rows tell little


def test_the_standard_error_of_an_inferred_shift_counts_rows() -> None:
    """Over 60 samples, kept at .1 and weighted back; their deviation is known to 9 %."""
    rng = np.random.default_rng(1)
    x = rng.normal(size=(20_000, 1))
    model = lgb.LGBMClassifier(n_estimators=20, max_depth=2, verbose=-1, n_jobs=1)
    model.fit(x, rng.random(20_000) < expit(x[:, 0] - 2))
    shifts, errors = [], []
    for _ in range(60):
        x = rng.normal(size=(4000, 1))
        y = (rng.random(4000) < expit(x[:, 0] - 3)).astype(int)
        rows = (y == 1) | (rng.random(4000) < 0.1)
        weight = np.where(y == 1, 1.0, 10.0)[rows]
        shift = imbalance_shift(model, x[rows], y[rows], sample_weight=weight)
        shifts.append(float(shift))
        errors.append(shift.standard_error)
        scaled = imbalance_shift(model, x[rows], y[rows], sample_weight=7 * weight)
        assert scaled.standard_error == pytest.approx(shift.standard_error, rel=1e-9)
    assert np.mean(errors) == pytest.approx(np.std(shifts), rel=0.3)


@pytest.mark.slow
def test_the_unit_of_weights_is_no_evidence_in_the_choice() -> None:
    rng = np.random.default_rng(2)
    p = rng.beta(1, 9, 3000)
    y = (rng.random(3000) < p).astype(int)
    assert type(choose_calibrator(y, p).calibrator) is type(
        choose_calibrator(y, p, np.full(3000, 1000.0)).calibrator
    )


test_decisions_instead_of_probabilities_have_no_interval = refusals_of(
    lambda new, held: estimate_prior(new, out_of_fold=([0, 0, 1, 1], held)),
    ([0.5] * 50, [0.25, 0.25, 0.75, 0.75], "their chance is unknown"),
    ([0.3] * 50, [0.1, 0.1, 0.9, 0.9], "their chance is unknown"),
)


@pytest.mark.filterwarnings("ignore:negative_keep_rate drops rows of 0")  # few rows are left
@each("routed", [False, "costs"])
def test_weights_that_the_wrapped_estimator_asked_not_to_get_are_refused(routed) -> None:
    pytest.importorskip("sklearn.utils.metadata_routing", reason="since 1.3")
    rng = np.random.default_rng(0)
    X, w = rng.normal(size=(200, 2)), rng.uniform(0.5, 2, 200)
    y = (X[:, 0] + rng.normal(size=200) > 0).astype(int)
    message = rf"Regression has set_fit_request\(sample_weight={routed!r}\): set it to True, or"
    for make, Inner, first in (
        (CalibratedClassifier, LogisticRegression, []),
        (partial(DownsampledClassifier, negative_keep_rate=0.5), LogisticRegression, []),
        (QWKClassifier, LinearRegression, []),
        (QWKClassifier, LinearRegression, [StandardScaler()]),
    ):
        for asked in (routed, True, None):
            with config_context(enable_metadata_routing=True):
                inner = Inner().set_fit_request(sample_weight=asked)
            model = make(make_pipeline(*first, inner) if first else inner)
            if asked is routed:
                with pytest.raises(ValueError, match=message):
                    model.fit(X, y, sample_weight=w)
                model.fit(X, y)
            else:
                model.fit(X, y, sample_weight=w)
