"""How rows were sampled has the same three spellings in all functions, and one meaning."""

import sys
import warnings

import numpy as np
import pytest

import gbdt_objectives as go
from gbdt_objectives import calibration, priors
from gbdt_objectives._rows.rows import BLOCK_BYTES
from gbdt_objectives.calibration import (
    calibration_error_test,
    calibration_ratio,
    calibration_ratio_by_segment,
    calibration_refinement,
    expected_calibration_error,
    reliability_bins,
)
from gbdt_objectives.plotting import ReliabilityDisplay
from gbdt_objectives.priors import measured_keep_rates
from gbdt_objectives.thresholds import optimize_thresholds
from tests.cases import refusals_of

RATE = 0.125  # of which 1/r is exact

FUNCTIONS = {
    "ratio": calibration_ratio,
    "segments": lambda y, p, **how: vars(calibration_ratio_by_segment(y, p, p > 0.1, **how)),
    "predictions": lambda y, p, **how: vars(
        calibration_ratio_by_segment(y, p, "prediction", n_bins=4, **how)
    ),
    "test": lambda y, p, **how: vars(
        calibration_error_test(y, p, **how, n_resamples=100, random_state=0)
    ),
    "error": expected_calibration_error,
    "bins": lambda y, p, **how: vars(reliability_bins(y, p, n_bins=5, **how)),
    "equal widths": lambda y, p, **how: vars(reliability_bins(y, p, strategy="uniform", **how)),
}
WEIGHED = "ratio", "error", "bins", "equal widths"  # for which weights of 1/r say the same


def kept_rows(seed=0, n=4000):
    rng = np.random.default_rng(seed)
    p = rng.beta(1, 9, n)
    y = (rng.random(n) < p).astype(int)
    rows = go.negative_downsample(y, RATE, random_state=seed)
    return y, y[rows], p[rows]


def equal(found, expected, rtol=1e-12):  # sums in other orders
    if not isinstance(found, dict):
        found, expected = {"": found}, {"": expected}
    for name, values in found.items():
        if np.asarray(values).dtype.kind == "f":
            np.testing.assert_allclose(values, expected[name], rtol=rtol, err_msg=name)


@pytest.mark.parametrize("name", FUNCTIONS)
def test_every_spelling_means_the_same(name) -> None:
    _, y, p = kept_rows()
    function = FUNCTIONS[name]
    expected = function(y, p, negative_keep_rate=RATE)
    equal(function(y, p, keep_rate=np.full(len(y), RATE)), expected)
    equal(function(y, p, class_keep_rates={0: RATE, 1: 1.0}), expected)
    if name in WEIGHED:
        equal(function(y, p, sample_weight=np.where(y == 1, 1, 1 / RATE)), expected)
    w = (np.arange(len(y)) % 7 > 0).astype(float)  # some rows do not count
    some = w > 0
    rates = np.where(np.arange(len(y)) % 2, RATE, 0.5)
    equal(
        function(y, p, sample_weight=w, keep_rate=rates),
        function(y[some], p[some], keep_rate=rates[some]),
    )


def test_measured_rates_are_a_description() -> None:
    full, y, p = kept_rows()
    rates = measured_keep_rates(full, y)
    assert rates[1] == 1
    found = calibration_ratio(y, p, class_keep_rates=rates)
    assert found == pytest.approx(calibration_ratio(y, p, negative_keep_rate=rates[0]))
    assert found == pytest.approx(1, abs=0.1)  # that of right probabilities; 390 events
    assert calibration_ratio(y, p) < 0.6  # what the kept rows alone say


test_other_descriptions_are_refused = refusals_of(
    lambda name, how: FUNCTIONS[name]([0, 1], np.array([0.2, 0.4]), **how),
    *((name, *row) for name in FUNCTIONS for row in [
        ({"negative_keep_rate": 0.5, "keep_rate": [0.5, 0.5]}, "are both given"),
        ({"class_keep_rates": {0: 0.5, 1: 1}, "keep_rate": [0.5, 0.5]}, "keep_rate are"),
        ({"negative_keep_rate": [0.5, 0.5]}, "pass rates of each row as keep_rate=", TypeError),
        ({"negative_keep_rate": {0: 0.5, 1: 1}}, "write class_keep_rates=", TypeError),
        ({"negative_keep_rate": 0}, r"negative_keep_rate must be in \(0, 1\]"),
        ({"keep_rate": 0.5}, "pass one rate of all negatives as negative_keep_rate=", TypeError),
        ({"keep_rate": {0: 0.5}}, "write class_keep_rates=", TypeError),
        ({"keep_rate": [0.5, 2.0]}, r"keep_rate must be in \(0, 1\], found 2.0 at row"),
        ({"keep_rate": [0.5]}, "keep_rate has 1 rows, but the labels have 2"),
        ({"class_keep_rates": 0.5}, "class_keep_rates must be a mapping", TypeError),
        ({"class_keep_rates": {0: 0.5}}, r"each of the labels \[0, 1\] and no other"),
        ({"class_keep_rates": {0: 0.5, 1: 0.5}}, r"\[1\] must be 1, found 0.5"),
        ({"class_keep_rates": {0: 0.0, 1: 1}}, r"class_keep_rates\[0\] must be in"),
    ])
)  # fmt: skip


ROWS = 400_000


# each row is a bin, which takes the most memory
@pytest.mark.filterwarnings("ignore:.*so calibration is mostly chance")
@pytest.mark.slow
@pytest.mark.one_route("counts the memory of the functions that --last-bits replaces")
@pytest.mark.parametrize("how", [{}, {"negative_keep_rate": 0.1}, {"sample_weight": None}])
@pytest.mark.parametrize("name", ["segments", "predictions", "test", "error", "refinement", "hull"])
def test_memory_is_a_few_columns(name, how) -> None:
    """Beside the arguments at most six columns, and the blocks in hand."""
    import tracemalloc

    functions = FUNCTIONS | {
        "refinement": calibration_refinement,
        "hull": lambda y, p, **how: calibration_refinement(y, p, partition="isotonic", **how),
    }
    if "negative_keep_rate" in how and name in ("refinement", "hull"):
        pytest.skip("splits a loss of the rows as they are")
    rng = np.random.default_rng(0)
    p = rng.beta(1, 30, ROWS)
    y = (rng.random(ROWS) < p).astype(int)
    if "sample_weight" in how:
        how = {"sample_weight": rng.uniform(0.5, 2, ROWS)}
    functions[name](
        y[:1000], p[:1000], **{k: v if np.ndim(v) == 0 else v[:1000] for k, v in how.items()}
    )
    tracemalloc.start()
    functions[name](y, p, **how)
    peak = tracemalloc.get_traced_memory()[1] / (8 * ROWS)
    tracemalloc.stop()
    block = BLOCK_BYTES / (8 * ROWS) if sys.version_info >= (3, 14) else 0
    assert peak < 7 + block  # from 3.14 on numpy does not compute in memory that is not needed


@pytest.mark.parametrize("name", FUNCTIONS)
def test_arguments_stay_as_they_are(name) -> None:
    _, y, p = kept_rows()
    y, w, rates = y.astype(float), np.ones(len(y)), np.full(len(y), RATE)
    given = [values.copy() for values in (y, p, w, rates)]
    for values in (y, p, w, rates):
        values.flags.writeable = False
    FUNCTIONS[name](y, p, sample_weight=w, keep_rate=rates)
    for values, before in zip((y, p, w, rates), given, strict=True):
        np.testing.assert_array_equal(values, before)


GROUPED = {
    "test": lambda y, p, g: calibration.calibration_error_test(y, p, groups=g, n_resamples=100),
    "segments": lambda y, p, g: calibration.calibration_ratio_by_segment(
        y, p, "prediction", n_bins=1, groups=g
    ),
    "display": lambda y, p, g: ReliabilityDisplay.from_predictions(y, p, groups=g),
    "prior": lambda y, p, g: priors.estimate_prior(p, 0.3, groups=g),
    "out of fold": lambda y, p, g: priors.estimate_prior(p, out_of_fold=(y, p), groups=(g, None)),
    "held out": lambda y, p, g: priors.estimate_prior(p, out_of_fold=(y, p), groups=(None, g)),
}


@pytest.mark.parametrize("name", GROUPED)
def test_a_single_group_tells_nothing_of_how_groups_differ(name) -> None:
    rng = np.random.default_rng(0)
    p = rng.random(200)
    y = (rng.random(200) < p).astype(int)
    with pytest.raises(
        ValueError, match=r"must be at least 2 different ones, .* found 1 among 200"
    ):
        GROUPED[name](y, p, np.zeros(200))


def test_priors_of_classes_need_as_many_groups() -> None:
    p = np.random.default_rng(0).dirichlet(np.ones(3), 200)
    with pytest.raises(ValueError, match="groups must be at least 3 different ones, .* found 2"):
        priors.estimate_prior(p, [0.3, 0.3, 0.4], groups=np.arange(200) % 2)


test_rates_of_labels_in_other_words = refusals_of(
    lambda rates: calibration.calibration_ratio([0, 1], [0.2, 0.3], class_keep_rates=rates),
    ({0: 0.2}, r"found \[0\]: write \{0: rate, 1: rate\}, 1 for a label that is kept whole"),
    ({"no": 0.2, "yes": 1}, r"labels \[0, 1\] .* write \{0: rate, 1: rate\}"),
    ([0.2, 1], r"found \[0.2, 1\]: write \{0: rate, 1: rate\}", TypeError),
)


def test_weights_of_dropped_positives_are_refused_with_what_works() -> None:
    rng = np.random.default_rng(0)
    p = rng.random(3000)
    y = (rng.random(3000) < p).astype(int)
    kept = (y == 0) | (rng.random(3000) < 0.25)
    y, p = y[kept], p[kept]
    w = np.where(y == 1, 4.0, 1.0)
    with pytest.raises(
        ValueError, match=r"pass 1 - y_true, 1 - probability, negative_keep_rate=0.25"
    ):
        calibration.calibration_error_test(y, p, sample_weight=w)
    found = calibration.calibration_error_test(
        1 - y, 1 - p, strategy="uniform", negative_keep_rate=0.25, n_resamples=100
    )
    expected = calibration.expected_calibration_error(y, p, strategy="uniform", sample_weight=w)
    assert found.error == pytest.approx(expected, rel=1e-9)


def test_weights_that_undo_the_sampling_and_the_rate_too():
    rng = np.random.default_rng(0)
    p = rng.random(600)
    y = (rng.random(600) < p).astype(int)
    w, other = np.where(y == 1, 2.0, 6.667), rng.random(600)
    functions = {
        "ratio": lambda w, r: calibration_ratio(y, p, sample_weight=w, negative_keep_rate=r),
        "rates of rows": lambda w, r: calibration_ratio(
            y, p, sample_weight=w, keep_rate=np.full(600, r)
        ),
        "calibrator": lambda w, r: calibration.LogitCalibrator().fit(p, y, w, negative_keep_rate=r),
        "thresholds": lambda w, r: optimize_thresholds(
            y, p, metric="f1", sample_weight=w, negative_keep_rate=r
        ),
    }
    for name, call in functions.items():
        with pytest.warns(UserWarning, match="3.333 times .* the rate undoes it again"):
            call(w, 0.3)
        with warnings.catch_warnings():
            warnings.filterwarnings("error", message=".*undoes it again", category=UserWarning)
            for given, rate in ((w, 0.5), (other, 0.3), (w * other, 0.3), (None, 0.3), (w, 1.0)):
                assert call(given, rate) is not None, name
