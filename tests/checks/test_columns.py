"""Columns that are not what an argument says: predicted classes, probabilities, other orders."""

from __future__ import annotations

from contextlib import suppress

import numpy as np
import pytest

import gbdt_objectives as go
from gbdt_objectives import calibration, metrics, priors
from tests.cases import each

rng = np.random.default_rng(0)
y = rng.integers(0, 2, 200)
p = np.clip(0.2 + 0.6 * y + rng.normal(0, 0.15, 200), 0.01, 0.99)
CLASSES = (rng.random(200) < 0.3).astype(int)

OF_PROBABILITIES = {
    "calibration_refinement": lambda q: calibration.calibration_refinement(y, q),
    "expected_calibration_error": lambda q: calibration.expected_calibration_error(y, q),
    "calibration_error_test": lambda q: calibration.calibration_error_test(y, q),
    "reliability_bins": lambda q: calibration.reliability_bins(y, q),
    "calibration_ratio": lambda q: calibration.calibration_ratio(y, q),
    "normalized_entropy": lambda q: calibration.normalized_entropy(y, q),
    "brier_score": lambda q: calibration.brier_score(y, q),
    "calibration_ratio_by_segment": lambda q: calibration.calibration_ratio_by_segment(
        y, q, {"half": y}
    ),
    "correct_probability": lambda q: go.correct_probability(q, negative_keep_rate=0.1),
    "pilot_keep_rates": lambda q: priors.pilot_keep_rates(y, q, 0.3),
    "estimate_prior": lambda q: priors.estimate_prior(q, 0.3),
    "decide": lambda q: go.decide(np.column_stack([1 - q, q]), "mae", labels=[0, 1]),
    "weighted_logloss_metric": lambda q: go.weighted_logloss_metric(1, input_space="probability")(
        y, q
    ),
    "TemperatureCalibrator": lambda q: calibration.TemperatureCalibrator().fit(
        np.column_stack([1 - q, q]), y
    ),
}


# the probabilities p are random
@pytest.mark.filterwarnings(
    "ignore:negative_keep_rate drops rows of", "ignore:.*so calibration is mostly chance"
)
@each("use", OF_PROBABILITIES.values(), ids=OF_PROBABILITIES)
def test_predicted_classes_are_no_probabilities(use) -> None:
    use(p)
    for classes in (CLASSES, CLASSES.astype(np.uint8)):
        with pytest.raises(TypeError, match=r"found whole numbers.*predict_proba\(X\)"):
            use(classes)
    with (
        pytest.warns(UserWarning, match="is 0 or 1 in every row, as predicted classes are"),
        suppress(ValueError),  # log-odds of what was certain and wrong
    ):
        use(CLASSES.astype(float))


TAKES_CERTAINTY = {
    "roc_convex_hull": lambda q: calibration.roc_convex_hull(y, q),
    "ROCConvexHullCalibrator": lambda q: calibration.ROCConvexHullCalibrator().fit(q, y),
    "VennAbersCalibrator": lambda q: calibration.VennAbersCalibrator().fit(q, y),
    "class_logloss_metric": lambda q: metrics.class_logloss_metric(input_space="probability")(
        y, np.column_stack([1 - q, q])
    ),
}


@each("use", TAKES_CERTAINTY.values(), ids=TAKES_CERTAINTY)
def test_predicted_classes_are_warned_of_where_they_may_be_meant(use, recwarn) -> None:
    recwarn.clear()
    use(p)
    assert not recwarn.list
    with pytest.warns(UserWarning, match="is 0 or 1 in every row, as predicted classes are"):
        use(CLASSES)


def test_booleans_are_no_probabilities() -> None:
    with pytest.raises(TypeError, match="found booleans"):
        calibration.brier_score([0, 1], [False, True])


def test_few_certain_rows_are_probabilities(recwarn) -> None:
    assert go.correct_probability([0, 1], negative_keep_rate=0.1).tolist() == [0, 1]
    calibration.brier_score(y, np.zeros(200))  # one value only, as a base rate is
    assert not recwarn.list


def test_margins_that_look_like_probabilities(recwarn) -> None:
    with pytest.warns(UserWarning, match="margin is between .* as probabilities are"):
        priors.correct_margin(p, negative_keep_rate=0.1)
    recwarn.clear()
    for margin in (p[:9], np.full(20, 0.5), np.append(p, -0.1), np.column_stack([p, 1 - p])):
        priors.correct_margin(margin, negative_keep_rate=0.1)
    assert not recwarn.list


def test_rates_of_swapped_labels_are_refused() -> None:
    full, sample = np.repeat([0, 1], [1000, 20]), np.repeat([0, 1], [20, 20])
    assert priors.measured_keep_rates(full, sample) == {0: 0.02, 1: 1}
    with pytest.raises(ValueError, match="1000 rows of 0, .* are the arguments swapped"):
        priors.measured_keep_rates(sample, full)
    copied = np.repeat([0, 1], [1000, 1000])  # by an oversampler
    assert priors.measured_keep_rates(full, copied) == {0: 1, 1: 50}
    assert priors.measured_keep_rates(full, np.repeat(full, 2)) == {0: 2, 1: 2}


@pytest.mark.parametrize("digits", [2, 3])
def test_probabilities_written_with_few_digits_are_read_whatever_their_rows_sum_to(digits) -> None:
    p = np.random.default_rng(0).dirichlet(np.ones(5), 300)
    y = p.argmax(axis=1)
    written = p.round(digits).astype(np.float32)
    off = np.abs(written.sum(axis=1) - 1).max()
    assert off > 10.0**-digits / 2  # or there is nothing to allow
    metric = metrics.class_logloss_metric(5, input_space="probability")
    exact = -np.log(written[np.arange(300), y].astype(float)).mean()
    assert metric(y, written) == pytest.approx(exact, rel=1e-6)  # float32
    spoilt = written.copy()
    spoilt[7, 0] += 0.1
    with pytest.raises(ValueError, match=r"rows of y_pred must sum to 1, found 1\.\d* at row 7"):
        metric(y, spoilt)
