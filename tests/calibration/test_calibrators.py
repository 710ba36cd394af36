"""The calibrators: worked examples, scikit-learn and plain minimisers as references, JSON."""

from __future__ import annotations

import json
import math
import warnings
from contextlib import suppress
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, strategies as st
from scipy.optimize import minimize
from scipy.special import expit, logit
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.exceptions import NotFittedError
from sklearn.isotonic import IsotonicRegression

import gbdt_objectives as go
from gbdt_objectives import CalibratedClassifier
from gbdt_objectives.calibration import (
    BetaCalibrator,
    InterceptCalibrator,
    LogitCalibrator,
    ROCConvexHullCalibrator,
    SplineCalibrator,
    TemperatureCalibrator,
    VennAbersCalibrator,
    brier_score,
    calibrators,
    choose_calibrator,
)
from gbdt_objectives.calibration.calibrators import logistic_loss, minimize_convex
from tests import contract
from tests.calibration import checks
from tests.calibration.checks import made, score_of
from tests.cases import each, refusals_of, refused
from tests.contract import LOG_ODDS
from tests.estimators.checks import TAGS, check_all

DESCENDING = [1, 1, 0, 1, 1, 0, 1, 1, 0, 0]  # labels of the worked example, best score first
CALIBRATORS = each(
    "calibrator",
    [
        *(kind() for kind in contract.CALIBRATORS.values()),
        *(kind(input_space="margin") for kind in LOG_ODDS),
        ROCConvexHullCalibrator(m=10, prior=[0.9, 0.1], monotone=True),
        ROCConvexHullCalibrator(m=7, prior="base_rate"),
    ],
    ids=str,
)


@pytest.fixture
def rows():
    return made(2000)


# --- ROCConvexHullCalibrator ----------------------------------------------------------------


@each(
    ("parameters", "expected", "error"),
    [
        ({}, [1, 1, *[2 / 3] * 6, 0, 0], 2 / 15),
        ({"m": 2}, [3 / 4, 3 / 4, *[5 / 8] * 6, 1 / 4, 1 / 4], 0.159375),
        ({"m": 10, "prior": [0.2, 0.8]}, [10 / 12, 10 / 12, *[12 / 16] * 6, 8 / 12, 8 / 12], None),
        ({"m": 5, "prior": "base_rate"}, [5 / 7, 5 / 7, *[7 / 11] * 6, 3 / 7, 3 / 7], None),
    ],
)
def test_worked_example(parameters, expected, error) -> None:
    score = np.arange(10, 0, -1)
    p = ROCConvexHullCalibrator(**parameters).fit(score, DESCENDING).predict(score)
    np.testing.assert_allclose(p, expected, rtol=1e-14)  # a handful of operations
    if error:  # as printed
        assert brier_score(DESCENDING, p) == pytest.approx(error, abs=5e-7)


def test_smoothing_can_reverse_the_order_and_be_told_not_to() -> None:
    y, score = [1, 0, *[1] * 9, 0, 0, 0], np.arange(14, 0, -1)
    p = ROCConvexHullCalibrator(m=2).fit(score, y).predict([14, 9, 1])
    np.testing.assert_allclose(p, [2 / 3, 5 / 6, 1 / 5], rtol=1e-14)
    rising = ROCConvexHullCalibrator(m=2, monotone=True).fit(score, y).predict([14, 9, 1])
    top = (1 * 2 / 3 + 10 * 5 / 6) / 11  # nearest in squared error over the 11 rows
    np.testing.assert_allclose(rising, [top, top, 1 / 5], rtol=1e-14)


@pytest.mark.filterwarnings("ignore:the area under the ROC curve is")  # labels are drawn at random
@each("seed", range(20))
def test_without_smoothing_it_is_isotonic_regression(seed) -> None:
    rng = np.random.default_rng(seed)
    n = int(rng.integers(2, 400))
    score = rng.normal(size=n).round(int(rng.integers(0, 4)))  # many ties, some, hardly any
    y = (rng.random(n) < expit(score)).astype(int)
    y[:2] = 0, 1
    decay = 0.5 ** (rng.permutation(n) / 2)  # old rows count less, down to 1e-60
    w = decay if seed % 2 else rng.choice([0, 1, 2, 0.3, 1.7], size=n)
    w[:2] = 1
    ours = ROCConvexHullCalibrator().fit(score, y, w)
    theirs = IsotonicRegression(out_of_bounds="clip").fit(score, y, sample_weight=w)
    new = np.concatenate([score, rng.normal(0, 2, size=1000)])  # between and beyond, too
    np.testing.assert_allclose(ours.predict(new), theirs.predict(new), rtol=0, atol=1e-12)


@pytest.mark.filterwarnings("ignore:the area under the ROC curve is")  # labels are drawn at random
def test_scores_of_one_segment_and_extremes() -> None:
    calibrator = ROCConvexHullCalibrator().fit([2.0, 1.0, 2.0, 1.0], [0, 1, 0, 1])
    assert calibrator.scores_.tolist() == [1, 2]
    assert calibrator.predict([-9, 1, 1.5, 2, 9]).tolist() == [0.5] * 5
    tiny = np.nextafter(0, 1)  # the slope between these overflows
    calibrator.fit([0.0, tiny, 1e300], [0, 1, 1])
    assert calibrator.predict([-1e300, 0.0, tiny, 1e300]).tolist() == [0, 0, 1, 1]
    single = np.array([0.1, 0.2, 0.3], np.float32)
    assert calibrator.fit(single, [0, 1, 1]).predict(single).tolist() == [0, 1, 1]


# --- InterceptCalibrator --------------------------------------------------------------------


@pytest.mark.filterwarnings("ignore:the area under the ROC curve is")  # labels are drawn at random
@given(z=st.lists(st.floats(-40, 40), min_size=2, max_size=30), data=st.data())
def test_the_mean_matches(z, data) -> None:
    n = len(z)
    y = [0, 1, *data.draw(st.lists(st.integers(0, 1), min_size=n - 2, max_size=n - 2))]
    w = data.draw(st.lists(st.floats(0.1, 10), min_size=n, max_size=n))
    calibrator = InterceptCalibrator(input_space="margin").fit(z, y, w)
    p = calibrator.predict(z)
    # the solver stops within 1e-14 of a shift of up to 80, which moves p by as much at most
    assert np.average(p, weights=w) == pytest.approx(np.average(y, weights=w), rel=1e-12)
    np.testing.assert_allclose(p, expit(np.array(z) + calibrator.shift_))


def test_rare_events_match_in_relative_terms() -> None:
    z, y = np.random.default_rng(0).normal(5, 2, 300_000), np.arange(300_000) < 3
    calibrator = InterceptCalibrator(input_space="margin").fit(z, y)
    # 3e5 terms of round-off 1e-16 each, at random
    assert calibrator.predict(z).mean() == pytest.approx(1e-5, rel=1e-12)


@each("space", ["probability", "margin"])
def test_the_shift_is_that_of_the_sampling_rate(space) -> None:
    """Undoing a shift of the log-odds recovers it: 5e5 rows, standard error about 0.004."""
    rng = np.random.default_rng(0)
    p = expit(rng.normal(-1, 2, 500_000))
    y = rng.random(500_000) < p
    q = go.correct_probability(p, shift=-math.log(0.1))
    score = q if space == "probability" else logit(q)
    found = InterceptCalibrator(input_space=space).fit(score, y)
    assert found.shift_ == pytest.approx(math.log(0.1), abs=0.016)


def test_certain_probabilities_stay() -> None:
    p, y = [0.0, 0.0, 0.5, 0.5, 0.5, 0.5, 1.0], [0, 1, 0, 0, 1, 0, 1]
    found = InterceptCalibrator().fit(p, y).predict(p)
    np.testing.assert_allclose(found, [0, 0, *[0.5] * 4, 1], rtol=1e-12)  # (3 - 1) / 4


test_certain_and_wrong = refusals_of(
    lambda p, y, w=None: InterceptCalibrator().fit(p, y, w),
    ([0.0, 0.5, 0.0], [1, 1, 0], None,
     "others, 0.333 of the weight, would have to give 0.667 of it"),
    ([1.0, 1.0, 0.5, 0.5], [0, 1, 0, 0], [2, 1, 1.5, 1.5],
     "others, 0.5 of the weight, would have to give -0.333 of it"),
    ([0.0, 1.0], [0, 1], None, "others, 0 of the weight, would have to give 0 of it"),
)  # fmt: skip


# --- LogitCalibrator ------------------------------------------------------------------------


@each("space", ["probability", "margin"])
@each("weighted", [False, True])
def test_is_the_maximum_of_the_likelihood(rows, space, weighted) -> None:
    """Its slopes are 0, to round-off, which defines it: it bends down everywhere."""
    p, y = rows
    z = logit(p)
    w = np.random.default_rng(1).uniform(0, 3, len(y)) if weighted else np.ones(len(y))
    score = p if space == "probability" else z
    calibrator = LogitCalibrator(input_space=space).fit(score, y, w if weighted else None)
    found = calibrator.predict(score)
    np.testing.assert_allclose(found, expit(calibrator.slope_ * z + calibrator.intercept_))
    assert w @ (found - y) == pytest.approx(0, abs=1e-9 * len(y))
    assert w @ ((found - y) * z) == pytest.approx(0, abs=1e-9 * len(y))


@each(
    ("scale", "place", "rtol"),
    [
        *((1e-6, 5.0, 1e-6), (1e6, -1e9, 1e-6)),  # digits lost in adding the place
        *((scale, 0.0, 1e-9) for scale in (1e-305, 1e-300, 1e-170, 1e170, 1e300, 1e307)),
    ],
)
def test_scale_and_place_of_the_score_do_not_matter(rows, scale, place, rtol) -> None:
    p, y = rows
    z = place + scale * logit(p)
    expected = LogitCalibrator().fit(p, y)
    found = LogitCalibrator(input_space="margin").fit(z, y)
    assert found.slope_ * scale == pytest.approx(expected.slope_, rel=rtol)
    np.testing.assert_allclose(found.predict(z), expected.predict(p), rtol=rtol)


def test_no_warning_where_the_maximum_was_found() -> None:
    """scikit-learn's solver warns with these weights, although it has the maximum."""
    rng = np.random.default_rng(56)
    n, b, s = int(rng.integers(5, 3000)), rng.uniform(-7, 3), 10 ** rng.uniform(-2, 2)
    z = rng.standard_cauchy(n)
    y = (rng.random(n) < expit(s * z + b)).astype(int)
    w = rng.exponential(size=n) ** rng.integers(0, 6)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        calibrator = LogitCalibrator(input_space="margin").fit(z, y, w)
    error = w * (calibrator.predict(z) - y) / w.sum()
    assert error.sum() == pytest.approx(0, abs=1e-9)
    assert error @ z / np.abs(z).max() == pytest.approx(0, abs=1e-9)


@pytest.mark.parametrize(("kind", "steps"), [(LogitCalibrator, 1), (BetaCalibrator, 2)])
def test_a_maximum_that_was_not_reached_is_refused(kind, steps, rows, monkeypatch) -> None:
    monkeypatch.setattr("gbdt_objectives.calibration.calibrators.STEPS", steps)
    with pytest.raises(ValueError, match="no maximum that could be found .gradient"):
        kind().fit(*rows)


def test_log_odds_that_no_shift_could_change_are_refused() -> None:
    calibrator = InterceptCalibrator(input_space="margin")
    with pytest.raises(ValueError, match="log-odds of at most 1e.15, found -1e.308.*LogitCal"):
        calibrator.fit([-1e308, 1e308, 0, 1], [0, 1, 0, 1])


def test_certain_and_right_tells_nothing(rows) -> None:
    p, y = rows
    plain = LogitCalibrator().fit(p, y)
    more = LogitCalibrator().fit([*p, 0.0, 1.0, 1.0], [*y, 0, 1, 1])
    # log-odds of arrays of other lengths may differ in the last digit
    assert more.slope_ == pytest.approx(plain.slope_, rel=1e-9)
    assert more.intercept_ == pytest.approx(plain.intercept_, rel=1e-9)
    assert more.predict([0.0, 1.0]).tolist() == [0, 1]
    with pytest.raises(ValueError, match="score is exactly 1 for 2 rows of label 0"):
        plain.fit([*p, 1.0, 1.0], [*y, 0, 0])
    with pytest.raises(ValueError, match="exactly 0 or 1 for all rows of one label"):
        plain.fit([0.0, 0.5, 0.7, 1.0], [0, 1, 1, 1])


@pytest.mark.parametrize("score", [[0.1, 0.4, 0.5, 0.9], [0.1, 0.4, 0.4, 0.9]])
def test_perfect_separation_is_fitted_to_platts_targets(score) -> None:
    """Of 2 rows each: 3/4 and 1/4; compared with a minimiser."""
    y = np.array([0, 0, 1, 1])
    calibrator = LogitCalibrator().fit(score, y)
    z, target = logit(score), np.where(y == 1, 0.75, 0.25)

    def loss(ab: np.ndarray) -> float:
        s = ab[0] * z + ab[1]
        return float((np.logaddexp(0, s) - target * s).sum())

    best = minimize(loss, [1.0, 0.0], tol=1e-12).x
    assert [calibrator.slope_, calibrator.intercept_] == pytest.approx(best, abs=1e-5)
    # weights are copies of rows
    twice = LogitCalibrator().fit(score, y, sample_weight=[2, 2, 2, 2])
    copied = LogitCalibrator().fit(np.repeat(score, 2), np.repeat(y, 2))
    assert twice.slope_ == pytest.approx(copied.slope_, rel=1e-9)
    assert twice.slope_ > calibrator.slope_
    with pytest.warns(UserWarning, match="the fitted slope is -"):
        LogitCalibrator().fit(score, 1 - y)
    with pytest.raises(ValueError, match="sums to 0.5 for one label, less than a row"):
        LogitCalibrator().fit(score, y, sample_weight=np.full(4, 0.25))


def test_nothing_to_fit() -> None:
    with pytest.raises(ValueError, match="in all rows: no slope.*InterceptCalibrator"):
        LogitCalibrator().fit([0.3, 0.3, 0.3], [0, 1, 0])
    with pytest.warns(UserWarning, match="slope is -.*does not rise with the label"):
        calibrator = LogitCalibrator().fit([0.1, 0.2, 0.3, 0.4], [1, 0, 1, 0])
    assert calibrator.predict([0.0, 1.0]).tolist() == [0, 1]  # stay all the same


# --- all ------------------------------------------------------------------------------------


@pytest.mark.filterwarnings("ignore:the rate drops rows of")  # the rate is of either class
@pytest.mark.parametrize("check", checks.CHECKS)
@CALIBRATORS
def test_every_calibrator_keeps_the_contract(check, calibrator) -> None:
    check(calibrator)


@CALIBRATORS
@each("scale", [1e-90, 1e-60, 1e15, 1e29])
def test_the_unit_of_weights_does_not_matter_without_smoothing(calibrator, rows, scale) -> None:
    if isinstance(calibrator, SplineCalibrator | VennAbersCalibrator):
        pytest.skip("weights are in rows: the more of them, the less is smoothed")
    p, y = rows
    score = score_of(calibrator, p)
    w = np.random.default_rng(1).uniform(0, 3, len(y))
    if "m" in (parameters := calibrator.get_params()):
        calibrator = clone(calibrator).set_params(m=0 if not parameters["m"] else 1)
    one = clone(calibrator).fit(score, y, w)
    if getattr(calibrator, "m", 0):  # in units of the weights
        calibrator = clone(calibrator).set_params(m=scale)
    other = clone(calibrator).fit(score, y, w * scale)
    np.testing.assert_allclose(other.predict(score), one.predict(score), rtol=1e-9, atol=1e-12)


HULL = {
    "format": "gbdt_objectives.ROCConvexHullCalibrator/1", "m": 2.0, "prior": [0.5, 0.5],
    "monotone": False, "scores": [0.1, 0.4], "probabilities": [0.2, 0.3],
}  # fmt: skip
INTERCEPT = {
    "format": "gbdt_objectives.InterceptCalibrator/1", "input_space": "margin", "shift": -1.5,
}  # fmt: skip
LOGIT = {
    "format": "gbdt_objectives.LogitCalibrator/1", "input_space": "margin", "slope": 1,
    "intercept": 0.5,
}  # fmt: skip
BETA = {
    "format": "gbdt_objectives.BetaCalibrator/1", "input_space": "margin", "a": 1, "b": 0.5,
    "c": -1,
}  # fmt: skip
SPLINE = {
    "format": "gbdt_objectives.SplineCalibrator/1", "input_space": "margin", "knots": [-1, 0.5, 2],
    "slopes": [1, 0.5, 0, 2], "start": -3,
}  # fmt: skip
VENN = {
    "format": "gbdt_objectives.VennAbersCalibrator/1", "scores": [0.1, 0.4],
    "lower": [0, 0.2, 0.3], "upper": [0.2, 0.3, 1],
}  # fmt: skip
CLASS = contract.CALIBRATORS


def class_of(saved):
    return CLASS[saved["format"].split(".")[1].split("/")[0]]


@each("good", [HULL, INTERCEPT, LOGIT, BETA, SPLINE, VENN], ids=lambda good: good["format"])
def test_foreign_json_is_refused(good) -> None:
    kind = class_of(good)
    kind.from_json(json.dumps(good))
    later = good["format"][:-1] + "3"
    for text, message in (
        (json.dumps(good)[:-5], "not complete JSON.*truncated"),
        ("[1]", "another format, found '\\[1\\]'"),
        (json.dumps(good | {"format": later}), f"found .*/3' instead of .*{kind.__name__}/2'"),
        (json.dumps(good | {"extra": 1}), "must have the keys"),
    ):
        with pytest.raises(ValueError, match=message):
            kind.from_json(text)
    with pytest.raises(TypeError, match="text must be a str, found bytes"):
        kind.from_json(b"{}")
    with pytest.raises(NotFittedError):
        kind().to_json()


@refused(
    (HULL, {"m": -1}, "m must not be negative, found -1"),
    (HULL, {"m": 10**400}, "m must be a finite number, found 1000"),
    (HULL, {"monotone": True, "probabilities": [0.3, 0.2]}, "must not fall"),
    (HULL, {"m": 0, "probabilities": [0.3, 0.2]}, "must not fall"),
    (HULL, {"m": True}, "m must be a finite number, found True"),
    (HULL, {"m": float("nan")}, "text holds NaN"),
    (HULL, {"prior": [0.5, 0.6]}, "prior must sum to 1"),
    (HULL, {"prior": 0.5}, "prior must be a list"),
    (HULL, {"prior": "uniform"}, "prior must be one of 'base_rate'"),
    (HULL, {"monotone": 1}, "monotone must be true or false, found 1"),
    (HULL, {"scores": [0.4, 0.1]}, "scores must rise"),
    (HULL, {"scores": [0.1]}, "probabilities has 2 rows, but scores have 1"),
    (HULL, {"scores": []}, "scores must be a list of numbers"),
    (HULL, {"scores": [0.1, "0.4"]}, "scores must be a finite number, found '0.4'"),
    (HULL, {"probabilities": [0.2, 1.1]}, "probabilities must be in \\[0, 1\\], found 1.1"),
    (INTERCEPT, {"shift": None}, "shift must be a finite number, found None"),
    (INTERCEPT, {"shift": float("inf")}, "text holds Infinity"),
    (INTERCEPT, {"input_space": "logit"}, "input_space must be one of"),
    (LOGIT, {"slope": "1"}, "slope must be a finite number, found '1'"),
    (LOGIT, {"intercept": [1]}, "intercept must be a finite number, found \\[1\\]"),
    (LOGIT, {"input_space": None}, "input_space must be one of"),
    (BETA, {"a": -1}, "a must not be negative, found -1"),
    (BETA, {"b": -0.1}, "b must not be negative, found -0.1"),
    (BETA, {"c": None}, "c must be a finite number, found None"),
    (SPLINE, {"knots": [-1, 2, 0.5]}, "knots must be two or more and rise"),
    (SPLINE, {"knots": [-1], "slopes": [1, 1]}, "knots must be two or more and rise"),
    (SPLINE, {"slopes": [1, 1]}, "slopes must be one more than knots, 4, found 2"),
    (SPLINE, {"slopes": [1, 1, -1, 1]}, "slopes must not be negative, found -1"),
    (SPLINE, {"start": "0"}, "start must be a finite number"),
    (VENN, {"scores": [0.4, 0.1]}, "scores must rise"),
    (VENN, {"lower": [0, 0.2]}, "lower must have one value more than scores, 3, found 2"),
    (VENN, {"upper": [0.2, 0.3, 1.1]}, "upper must be in \\[0, 1\\], found 1.1"),
    (VENN, {"upper": [0.3, 0.2, 1]}, "upper must not fall"),
    (VENN, {"lower": [0, 0.2, 1], "upper": [0.2, 0.3, 0.9]}, "lower must not exceed upper"),
)
def test_changed_json_is_refused(good, change) -> None:
    class_of(good).from_json(json.dumps(good | change))


def test_smoothing_can_reverse_the_order_in_json() -> None:
    ROCConvexHullCalibrator.from_json(json.dumps(HULL | {"probabilities": [0.3, 0.2]}))


@CALIBRATORS
@refused(
    ([0.1, 0.2], [1, 1], None, "single class 1"),
    ([0.1, 0.2, 0.3], [0, 0, 1], [1, 1, 0],
     "^y holds the single class 0 among rows of weight above 0"),
    (np.array(["0.1", "0.2"], object), [0, 1], None,
     "score must hold real numbers, found str '0.1'", TypeError),
    (np.array([0.1, "x"], object), [0, 1], None, "score must hold real numbers", TypeError),
    (["0.1", "0.2"], [0, 1], None, "score must hold real numbers", TypeError),
    ([0.1, np.nan], [0, 1], None, "score must be finite, found nan at row 1"),
    ([0.1, 0.2, 0.3], [0, 1, 2], None, "must be 0 .* or 1 .*found 2.0 at row 2"),
    ([0.1, 0.2], ["a", "b"], None, "y must hold real numbers", TypeError),
    ([0.1, 0.2, 0.3], [0, 1], None, "score has 3 rows, but the labels have 2"),
    ([0.1, 0.2], [0, 1], [1, -1], "must not be negative, found -1.0 at row 1"),
    ([0.1, 0.2], [0, 1], [1], "sample_weight has 1 rows"),
    ([[0.1, 0.2], [0.3, 0.4]], [0, 1], None,
     "\\(n, 1\\), found \\(2, 2\\): .* of predict_proba pass the column"),
    ([], [], None, "empty"),
    ([0.1, 0.2], None, None, "requires y"),
)  # fmt: skip
def test_bad_input(calibrator, score, y, w) -> None:
    unfitted = clone(calibrator)
    try:
        unfitted.fit(score, y, w)
    finally:
        with pytest.raises(NotFittedError):
            unfitted.predict([0.5])


@each("kind", LOG_ODDS)
def test_probabilities_outside_the_unit_interval(kind, rows) -> None:
    with pytest.raises(ValueError, match="score must be in \\[0, 1\\], found 1.2 at row 1"):
        kind().fit([0.1, 1.2], [0, 1])
    with pytest.raises(ValueError, match="score must be in \\[0, 1\\], found -3.0.*margins need"):
        kind().fit(*rows).predict([-3.0])
    with pytest.raises(ValueError, match="input_space must be one of 'probability', 'margin'"):
        kind(input_space="logit").fit(*rows)


@refused(
    ({"m": -1}, "m must not be negative, found -1"),
    ({"m": "2"}, "m must be a number", TypeError),
    ({"m": math.nan}, "m must be finite"),
    ({"prior": [0.5, 0.6]}, "prior must sum to 1, found 1.1"),
    ({"prior": [1.0]}, "prior has 1 classes, but there are 2"),
    ({"prior": "uniform"}, "prior must be one of 'base_rate'"),
    ({"monotone": 1}, "monotone must be True or False", TypeError),
)
def test_bad_parameters(rows, parameters) -> None:
    ROCConvexHullCalibrator(**parameters).fit(*rows)


REASONS = {
    "gives or expects a matrix of features: here is one score": "dict_unchanged "
    "dont_overwrite_parameters estimator_sparse_array estimators_empty_data_messages "
    "f_contiguous_array_estimator fit2d_1feature fit2d_1sample fit2d_predict1d "
    "methods_sample_order_invariance methods_subset_invariance n_features_in "
    "n_features_in_after_fitting sample_weight_equivalence_on_dense_data "
    "sample_weights_not_overwritten sample_weights_shape",
    "gives labels other than 0 and 1, which are refused": "dtype_object estimators_dtypes "
    "sample_weights_not_an_array sample_weights_pandas_series",
    "is refused, in other words than the check looks for": "all_zero_sample_weights_error "
    "complex_data estimators_nan_inf",
    "wants a matrix of features: one score may be one-dimensional": "fit1d",
}
EXPECTED = {f"check_{name}": why for why, names in REASONS.items() for name in names.split()}


@pytest.mark.slow
@TAGS
@pytest.mark.parametrize("kind", CLASS.values(), ids=CLASS)
def test_check_estimator(kind) -> None:
    options = {"input_space": "margin"} if kind in LOG_ODDS else {}
    calibrator = kind(m=2) if kind is ROCConvexHullCalibrator else kind(**options)
    assert len(check_all(calibrator, EXPECTED)) >= 20


def test_many_rows_start_from_some_of_them(monkeypatch: pytest.MonkeyPatch) -> None:
    """The start changes nothing but the steps to the one maximum."""
    rng = np.random.default_rng(3)
    n = 30_000
    x, offset = rng.normal(size=n), rng.normal(size=n)
    y = (rng.random(n) < expit(0.7 * x - 1 + offset)).astype(float)
    w = rng.uniform(0.5, 2, n)
    found, starts_of, sizes = {}, [], []
    minimize, loss_of = minimize_convex, logistic_loss

    def started(loss, starts, lowest):
        starts_of.append(np.array(starts[0]))
        return minimize(loss, starts, lowest)

    def counted(X, target, *more):
        sizes.append(len(target))
        return loss_of(X, target, *more)

    monkeypatch.setattr(calibrators, "minimize_convex", started)
    monkeypatch.setattr(calibrators, "logistic_loss", counted)
    for coarse in (1000, 2):
        monkeypatch.setattr(calibrators, "COARSE", coarse)
        found[coarse] = LogitCalibrator._fit_logistic([x], y, w, offset=offset)
    np.testing.assert_allclose(found[2], found[1000], rtol=1e-6)  # the minimiser's tolerance
    assert found[2] == pytest.approx((0.7, -1), abs=0.08)  # four standard errors
    assert sizes == [n, n // 2, n]
    assert np.abs(starts_of[2] - starts_of[1]).max() > 0.1  # it goes on from where that ended


PAGE = Path(__file__).parents[2] / "docs" / "served_folder.md"


def test_every_calibrator_is_on_the_page_of_formats() -> None:
    text = PAGE.read_text("utf-8")
    missing = [name for name in contract.CALIBRATORS if f"| `{name}` |" not in text]
    assert not missing, f"docs/served_folder.md does not say how to read {', '.join(missing)}"


# --- what every calibrator is told ------------------------------------------------------------


def test_candidates_for_a_falling_score_are_told(rows) -> None:
    with pytest.warns(UserWarning, match="does not rise with the label"):
        choose_calibrator(rows[1], 1 - rows[0])


@CALIBRATORS
def test_predicted_classes_are_told(calibrator, rows) -> None:
    p, y = rows
    if "margin" in str(calibrator):
        return
    with (
        pytest.warns(UserWarning, match="0 or 1 in every row, as predicted classes are"),
        suppress(ValueError),  # certain and wrong
    ):
        clone(calibrator).fit((p > 0.5).astype(int), y)


def test_probabilities_as_log_odds_to_shift_are_told(rows) -> None:
    with pytest.warns(UserWarning, match="score is between .* as probabilities are"):
        InterceptCalibrator(input_space="margin").fit(*rows)


def test_small_weights_are_no_rows_for_venn_abers() -> None:
    p, y = made(4000)
    with pytest.raises(ValueError, match="less than a row: multiply the weights"):
        VennAbersCalibrator().fit(p, y, np.full(4000, 1 / 4000))


@pytest.mark.filterwarnings("ignore:the area under the ROC curve is")  # labels are drawn at random
@each("round_off", [0, 1e-16, 1e-13, 1e-10])
def test_scores_that_differ_by_round_off_are_one_score(round_off) -> None:
    """The default predicted 1/2 for all, where 0.055 is right."""
    rng = np.random.default_rng(0)
    y = (rng.random(2000) < 0.055).astype(int)
    p = 0.055 * (1 + round_off * rng.integers(-3, 4, 2000))
    for kind in (LogitCalibrator, BetaCalibrator, SplineCalibrator):
        for calibrator, score in ((kind(), p), (kind(input_space="margin"), logit(p))):
            with pytest.raises(ValueError, match=r"in all rows.*use InterceptCalibrator"):
                calibrator.fit(score, y)
    with pytest.raises(ValueError, match="same for all classes or in all rows"):
        TemperatureCalibrator(bias=True).fit(np.column_stack([1 - p, p]), y)
    model = CalibratedClassifier(Given(), cv="prefit").fit(p[:, None], y)
    np.testing.assert_allclose(model.predict_proba(p[:, None])[:, 1], y.mean(), rtol=1e-6)


class Given(ClassifierMixin, BaseEstimator):
    """Its probability is the only feature."""

    classes_ = np.array([0, 1])

    def __sklearn_is_fitted__(self):
        return True

    def fit(self, X, y):
        return self

    def predict_proba(self, X):
        return np.column_stack([1 - X[:, 0], X[:, 0]])


# --- the way back


@each("input_space", ["probability", "margin"])
@each("kind", LOG_ODDS)
def test_inverse_is_the_score_of_a_probability(kind, input_space, rows) -> None:
    p, y = rows
    score = logit(p) if input_space == "margin" else p
    calibrator = kind(input_space=input_space).fit(score, y)
    wanted = calibrator.predict(score)
    again = calibrator.inverse(wanted[:50])
    np.testing.assert_allclose(calibrator.predict(again), wanted[:50], rtol=1e-7)  # 1-p is rounded
    cut, clear = float(calibrator.inverse(0.3)), np.abs(wanted - 0.3) > 1e-9
    np.testing.assert_array_equal((score >= cut)[clear], (wanted >= 0.3)[clear])
    assert 0 < (score >= cut).mean() < 1


def test_the_way_back_of_a_falling_map_falls() -> None:
    calibrator = LogitCalibrator()
    calibrator.slope_, calibrator.intercept_ = -2.0, 0.5
    found = calibrator.inverse([0.2, 0.8])
    assert found[0] > found[1]
    np.testing.assert_allclose(calibrator.predict(found), [0.2, 0.8], rtol=1e-12)


def beta_map(a: float) -> BetaCalibrator:
    """With a = 1: p / (1 + p)."""
    calibrator = BetaCalibrator()
    calibrator.a_, calibrator.b_, calibrator.c_ = a, 0.0, 0.0
    return calibrator


def test_a_map_that_ends_has_scores_of_what_it_reaches() -> None:
    np.testing.assert_allclose(beta_map(1.0).inverse(0.4), 2 / 3, rtol=1e-12)


test_no_score_is_given_that_is_none_or_one_of_many = refusals_of(
    lambda calibrator, p: calibrator.inverse(p),
    (beta_map(1.0), 0.6, "probability 0.6 is that of no score: the map goes from 0 to 0.5"),
    (beta_map(0.0), 0.5, "probability 0.5 is that of many scores"),
    (beta_map(1.0), 1.5, r"probability must be in \[0, 1\]"),
    (beta_map(0.0), 1e-320, "is that of no score: the map goes from 0.5 to 0.5"),
    (beta_map(1.0), [], r"probability must be a number or \(m,\), m > 0"),
    (beta_map(1.0), [[0.1]], r"probability must be a number or \(m,\)"),
    (LogitCalibrator(), 0.5, "not fitted", NotFittedError),
)
