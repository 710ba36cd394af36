"""Validation of arguments."""

from decimal import Decimal

import numpy as np
import pandas as pd
import pytest
from scipy.sparse import csr_matrix
from sklearn.linear_model import LinearRegression, LogisticRegression
from sklearn.tree import DecisionTreeClassifier

import gbdt_objectives as go
from gbdt_objectives import _checks
from gbdt_objectives.thresholds import Thresholds
from tests.cases import each


class Broken:
    def __repr__(self):
        raise RuntimeError("no repr")


@each(
    ("value", "text"),
    [
        (0.5, "0.5"),
        ("exact", "'exact'"),
        ([0, 1, 2], "[0, 1, 2]"),
        (np.array([0, 1]), "array([0, 1])"),
        (np.array([[0, 1], [2, 3]]), "array([[0, 1], [2, 3]])"),
        (list(range(100_000)), "[0, 1, 2, 3, 4, 5, ...] (100000 in all)"),
        (dict.fromkeys(range(100), 1), "{0: 1, 1: 1, 2: 1, 3: 1, 4: 1, 5: 1, ...} (100 in all)"),
        (np.arange(100_000), "ndarray of shape (100000,), [0, 1, 2, 3, 4, 5, ...]"),
        (np.zeros((50, 2)), "ndarray of shape (50, 2), [0.0, 0.0, 0.0, 0.0, 0.0, 0.0, ...]"),
        (pd.Series(range(100)), "Series of shape (100,)"),
        (pd.DataFrame({"a": range(100)}), "DataFrame of shape (100, 1)"),
        (csr_matrix(np.eye(3)), "csr_matrix of shape (3, 3)"),
        (Broken(), "a Broken"),
        (np.float64(0.5), "0.5"),
        (np.int64(3), "3"),
        (np.str_("a"), "'a'"),
        (10**5000, "a int"),
    ],
    ids=lambda value: type(value).__name__,
)
def test_shown_is_a_short_repr(value, text):
    assert _checks.shown(value) == text


@each(
    "value",
    [
        "x" * 10_000,
        ["x" * 10_000] * 5,
        [list(range(1000))] * 1000,
        np.array(["x" * 10_000] * 10),
        np.array(["x" * 10_000] * 3),
        {"a": "x" * 1000},
        10**4000,
        b"x" * 1000,
    ],
)
def test_shown_is_never_long(value):
    assert len(_checks.shown(value)) <= 120


# weights


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_weights_beyond_the_bound_are_refused(dtype):
    allowed = np.array([1.0, 9e29], dtype)
    np.testing.assert_array_equal(_checks.weights("sample_weight", allowed, 2), allowed)
    for heavy in (1.1e30, 1e38):
        with pytest.raises(ValueError, match=r"at most 1e\+30, found .* at row 1: .* their mean"):
            _checks.weights("sample_weight", np.array([1.0, heavy], dtype), 2)


# masked arrays and long messages, through the public functions

K = 4
Y = np.arange(40) % K
BINARY = (np.arange(40) % 2).astype(float)
P = 0.2 + 0.6 * BINARY
S = Y + np.linspace(0, 0.5, 40)
CUTS = [0.5, 1.5, 2.5]
X = np.linspace(0, 1, 80).reshape(40, 2)
TREE = DecisionTreeClassifier(max_depth=2).fit(X, BINARY)


def masked(values):
    array = np.ma.array(np.asarray(values))
    array[-1] = np.ma.masked
    return array


def in_bins(y, score, weight=None):
    return go.thresholds.ThresholdStatistics.empty(range(K), edges=[1.0]).add(y, score, weight)


SEGMENTS = np.arange(40) % 3
SHIFT = go.thresholds.fit_segment_shift(Y, S, SEGMENTS)
CALIBRATED = go.CalibratedClassifier(LogisticRegression(), go.calibration.LogitCalibrator())
CALLS = {
    "shift y": (go.thresholds.fit_segment_shift, (Y, S, SEGMENTS), {}, 0),
    "shift score": (go.thresholds.fit_segment_shift, (Y, S, SEGMENTS), {}, 1),
    "shift segments": (go.thresholds.fit_segment_shift, (Y, S, SEGMENTS), {}, 2),
    "shift weight": (go.thresholds.fit_segment_shift, (Y, S, SEGMENTS), {"sample_weight": Y + 1},
         "sample_weight"),
    "shifted score": (SHIFT.apply, (S, SEGMENTS), {}, 0),
    "shifted segments": (SHIFT.apply, (S, SEGMENTS), {}, 1),
    "shifts": (go.thresholds.SegmentShift, ([0, 1], [0.5, -0.5]), {}, 1),
    "optimize y": (go.optimize_thresholds, (Y, S), {}, 0),
    "optimize score": (go.optimize_thresholds, (Y, S), {}, 1),
    "optimize labels": (go.optimize_thresholds, (Y, S), {"labels": range(K)}, "labels"),
    "optimize weight": (go.optimize_thresholds, (Y, S), {"sample_weight": Y + 1}, "sample_weight"),
    "apply score": (go.apply_thresholds, (S, CUTS, range(K)), {}, 0),
    "apply thresholds": (go.apply_thresholds, (S, CUTS, range(K)), {}, 1),
    "apply labels": (go.apply_thresholds, (S, CUTS, range(K)), {}, 2),
    "Thresholds": (Thresholds, (CUTS, range(K)), {}, 0),
    "Thresholds labels": (Thresholds, (CUTS, range(K)), {}, 1),
    "cv y": (go.cross_validate_thresholds, (Y, S), {"n_bootstrap": 0}, 0),
    "cv groups": (go.cross_validate_thresholds, (Y, S), {"groups": np.arange(40)}, "groups"),
    "statistics y": (in_bins, (Y, S, Y + 1), {}, 0),
    "statistics score": (in_bins, (Y, S, Y + 1), {}, 1),
    "statistics weight": (in_bins, (Y, S, Y + 1), {}, 2),
    "edges": (go.thresholds.ThresholdStatistics.empty, (range(K),), {"edges": [1.0, 2.0]}, "edges"),
    "cost": (go.metrics.cost_metric, (np.ones((2, 2)),), {}, 0),
    "classifier score": (go.ThresholdClassifier().fit, (S, Y), {}, 0),
    "classifier y": (go.ThresholdClassifier().fit, (S, Y), {}, 1),
    "classifier predict": (go.ThresholdClassifier().fit(S, Y).predict, (S,), {}, 0),
    "classifier score y": (go.ThresholdClassifier().fit(S, Y).score, (S, Y), {}, 1),
    "probability": (go.correct_probability, (P,), {"negative_keep_rate": 0.1}, 0),
    "margin": (go.priors.correct_margin, (P,), {"negative_keep_rate": 0.1}, 0),
    "threshold": (go.priors.correct_threshold, (P,), {"negative_keep_rate": 0.1}, 0),
    "shift": (go.correct_probability, ([[0.3, 0.7]],), {"shift": [0.0, 1.0]}, "shift"),
    "class rates": (go.log_odds_shift, (), {"class_keep_rates": [0.1, 1.0]}, "class_keep_rates"),
    "prior": (go.log_odds_shift, (), {"train_prior": [0.5, 0.5], "target_prior": [0.1, 0.9]},
         "target_prior"),
    "downsample": (go.negative_downsample, (BINARY, 0.5), {}, 0),
    "resample": (go.priors.resample_classes, (Y, dict.fromkeys(range(K), 1)), {}, 0),
    "measured full": (go.priors.measured_keep_rates, (Y, Y), {}, 0),
    "measured sampled": (go.priors.measured_keep_rates, (Y, Y), {}, 1),
    "prior weights": (go.priors.prior_weights, (BINARY, 0.1), {}, 0),
    "estimate prior": (go.priors.estimate_prior, (P, 0.5), {}, 0),
    "brier y": (go.calibration.brier_score, (BINARY, P), {}, 0),
    "brier p": (go.calibration.brier_score, (BINARY, P), {}, 1),
    "refinement partition": (go.calibration.calibration_refinement, (BINARY, P),
         {"partition": np.arange(40) % 3}, "partition"),
    "calibration labels": (go.calibration.brier_score, (BINARY, np.column_stack([1 - P, P])),
         {"labels": [0, 1]}, "labels"),
    "bins": (go.calibration.reliability_bins, (BINARY, P), {"sample_weight": P}, "sample_weight"),
    "hull": (go.calibration.roc_convex_hull, (BINARY, P), {}, 0),
    "counts": (go.calibration.empirical_probability, ([3, 4],), {}, 0),
    "counts' prior": (go.calibration.empirical_probability, ([3, 4],), {"prior": [0.5, 0.5]},
         "prior"),
    "kappa": (go.quadratic_weighted_kappa, (Y, Y), {}, 1),
    "accuracy": (go.metrics.threshold_metric("accuracy"), (Y, Y), {}, 0),
    "kappa labels": (go.quadratic_weighted_kappa, (Y, Y), {"labels": range(K)}, "labels"),
    "objective": (go.qwk_objective, (Y,), {}, 0),
    "calibrator": (go.calibration.InterceptCalibrator().fit, (P, BINARY), {}, 0),
    "calibrator y": (go.calibration.InterceptCalibrator().fit, (P, BINARY), {}, 1),
    "calibrated X": (CALIBRATED.fit, (X, BINARY), {}, 0),
    "calibrated y": (CALIBRATED.fit, (X, BINARY), {}, 1),
    "calibrated weight": (CALIBRATED.fit, (X, BINARY), {"sample_weight": P}, "sample_weight"),
    "downsampled y": (go.DownsampledClassifier(LogisticRegression(), 0.5).fit, (X, BINARY), {}, 1),
    "QWK y": (go.QWKClassifier(LinearRegression(), objective=None).fit, (X, Y), {}, 1),
    "tree y": (go.estimators.ProbabilityEstimationTree().fit, (X, BINARY), {}, 1),
    "tree X": (go.estimators.ProbabilityEstimationTree().fit(X, BINARY).predict_proba, (X,), {}, 0),
    "leaf y": (go.estimators.leaf_probability, (TREE, X, BINARY), {}, 2),
    "leaf X": (go.estimators.leaf_probability, (TREE, X, BINARY), {}, 1),
    "reliability": (go.plotting.ReliabilityDisplay.from_predictions, (BINARY, P), {}, 0),
    "display": (go.plotting.ThresholdDisplay.from_predictions, (Y, S), {"thresholds": CUTS},
         "thresholds"),
}  # fmt: skip


def called(name, change):
    """The call with its argument changed."""
    call, args, kwargs, where = CALLS[name]
    args, kwargs = list(args), dict(kwargs)
    holder = args if isinstance(where, int) else kwargs
    holder[where] = change(holder[where])
    return call(*args, **kwargs)


# the columns do not belong together
@pytest.mark.filterwarnings(
    "ignore:margin is between", "ignore:the fitted slope is", "ignore:out-of-fold kappa"
)
@each("name", CALLS)
@each("change", [masked, lambda values: np.ma.array(np.asarray(values))])
def test_masked_arrays_are_refused(name, change):
    with pytest.raises(TypeError, match=r"is a masked array, with \d+ of \d+ .*\.compressed\(\)"):
        called(name, change)
    if name not in ("reliability", "display"):
        called(name, lambda values: change(values).data)


def of_module(module, kind, **members):
    """An object of a library that may not be installed, as numpy sees it."""
    return type(kind, (), {"__module__": module, **members})()


NOT_HERE = {
    "collect": of_module("polars.lazyframe.frame", "LazyFrame"),
    "pass the column itself": of_module("polars.expr.expr", "Expr"),
    "toPandas": of_module("pyspark.sql.classic.column", "Column"),
    "detach": of_module("torch", "Tensor", requires_grad=True),
}


@each("remedy", NOT_HERE)
@each("name", [name for name in CALLS if name not in ("prior", "shift")])  # or one number
def test_what_holds_no_numbers_yet_is_refused_with_the_call_that_gets_them(name, remedy):
    with pytest.raises(TypeError, match=remedy):
        called(name, lambda _: NOT_HERE[remedy])


@each("name", ["optimize y", "optimize score", "optimize weight", "kappa", "objective", "brier p"])
def test_decimals_are_refused_with_the_conversion(name):
    with pytest.raises(TypeError, match=r"Decimal numbers, .*numpy.asarray\(..., float\)"):
        called(name, lambda values: [Decimal(str(value)) for value in values])


TAKEN = {
    go.apply_thresholds, go.calibration.calibration_ratio,
    go.calibration.calibration_ratio_by_segment, go.calibration.expected_calibration_error,
    go.extended_qwk_metric, go.objectives.kappa_objective, go.priors.measured_keep_rates,
    go.priors.negative_downsample_by_key, go.optimize_thresholds, go.priors.prior_weights,
    go.quadratic_weighted_kappa, go.qwk_objective, go.calibration.reliability_bins,
}  # fmt: skip
"""What takes Dask collections, in all columns of rows (tests/distributed/test_partitions.py)."""


@each("name", CALLS)
def test_dask_collections_are_refused(name):
    """Whose rows numpy would gather, in silence."""
    da = pytest.importorskip("dask.array")
    call, _, _, where = CALLS[name]

    def lazy(values):
        return da.from_array(np.asarray(values), chunks=-1)

    if name in ("apply score", "measured full", "measured sampled", "prior weights", "objective"):
        assert call in TAKEN  # the only column of its rows
        found, expected = called(name, lazy), called(name, lambda values: values)
        assert str(np.asarray(found)) == str(np.asarray(expected))
        return
    refused = r"Dask Array, .*\.compute\(\)|y is a Dask Array, whose rows have no positions"
    if call in TAKEN and name not in ("apply thresholds", "apply labels") and where != "labels":
        refused = "but .* a Dask collection: pass both as Dask collections"
    with pytest.raises(TypeError, match=refused):
        called(name, lazy)


MANY = list(range(10_000))
LONG = "x" * 10_000
SAVED = go.ThresholdClassifier().fit(S, Y).to_json()

LONG_CALLS = {
    "one class": lambda: go.optimize_thresholds([LONG] * 9, range(9), labels=[LONG, "a"]),
    "labels twice": lambda: go.optimize_thresholds(MANY, MANY, labels=MANY * 2),
    "labels 2-d": lambda: go.optimize_thresholds(MANY, MANY, labels=[MANY]),
    "unknown label": lambda: go.optimize_thresholds([-1, *MANY[1:]], MANY, labels=MANY),
    "long label": lambda: go.optimize_thresholds([LONG], [1.0], labels=["a", "b"]),
    "method": lambda: go.optimize_thresholds(Y, S, method=MANY),
    "metric": lambda: go.optimize_thresholds(Y, S, metric=MANY),
    "target_prior": lambda: go.optimize_thresholds(Y, S, target_prior=MANY),
    "target_prior labels": lambda: go.optimize_thresholds(Y, S, target_prior={LONG: 1}),
    "n_starts": lambda: go.optimize_thresholds(Y, S, n_starts=MANY),
    "unsorted": lambda: go.apply_thresholds(S, MANY[::-1]),
    "nan": lambda: go.apply_thresholds(S, [*MANY, np.nan]),
    "no labels": lambda: go.apply_thresholds(S, MANY),
    "wrong labels": lambda: go.apply_thresholds(S, MANY, MANY),
    "other labels": lambda: go.apply_thresholds(S, Thresholds(MANY[1:], MANY), MANY[::-1]),
    "cv method": lambda: go.cross_validate_thresholds(Y, S, method=[*MANY, 0]),
    "groups": lambda: go.cross_validate_thresholds([LONG], [0], groups=[None], labels=[LONG, "b"]),
    "one segment": lambda: go.thresholds.fit_segment_shift(Y, S, [LONG] * 40),
    "unknown segment": lambda: go.thresholds.SegmentShift(MANY, MANY).apply(S, [LONG] * 40),
    "unknown segments": lambda: SHIFT.apply(MANY, [*MANY[1:], -1]),
    "segments twice": lambda: go.thresholds.SegmentShift([LONG] * 2, [0, 0]),
    "segments of the shift": lambda: go.thresholds.SegmentShift(["a"], [0]).apply([0], [LONG]),
    "handle_unknown": lambda: go.thresholds.SegmentShift([0], [0], 0, MANY),
    "statistics": lambda: (
        go.thresholds.ThresholdStatistics.empty(MANY)
        + go.thresholds.ThresholdStatistics.empty(CUTS)
    ),
    "classifier": lambda: go.ThresholdClassifier(method=MANY).fit(S, Y),
    "classifier groups": lambda: go.ThresholdClassifier().fit([LONG], Y),
    "json": lambda: go.ThresholdClassifier.from_json(LONG),
    "json classes": lambda: go.ThresholdClassifier.from_json(
        SAVED.replace('"labels": [', f'"labels": {MANY}, "c": [')
    ),
    "json thresholds": lambda: go.ThresholdClassifier.from_json(
        SAVED.replace('thresholds": [', f'thresholds": [{MANY},')
    ),
    "shift by position": lambda: go.correct_probability(0.5, MANY),
    "shift": lambda: go.correct_probability(0.5, shift={LONG: MANY}),
    "threshold's shift": lambda: go.priors.correct_threshold(0.5, shift=MANY),
    "shift's length": lambda: go.correct_probability(0.5, shift=MANY),
    "rates of classes": lambda: go.log_odds_shift(class_keep_rates={LONG: 0.0, "a": 1}),
    "mixed rates": lambda: go.log_odds_shift(class_keep_rates={**dict.fromkeys(MANY, 1), "a": 1}),
    "rate": lambda: go.log_odds_shift(negative_keep_rate=MANY),
    "keep rate": lambda: go.negative_downsample(BINARY, MANY),
    "seed": lambda: go.negative_downsample(BINARY, 0.5, random_state=MANY),
    "rates": lambda: go.priors.resample_classes(MANY, MANY),
    "rate of a label": lambda: go.priors.resample_classes([LONG], {LONG: 0}),
    "labels without a rate": lambda: go.priors.resample_classes([LONG], dict.fromkeys(MANY, 1)),
    "new labels": lambda: go.priors.measured_keep_rates(["a"], [LONG]),
    "labels gone": lambda: go.priors.measured_keep_rates([LONG, "a"], ["a"]),
    "prior labels": lambda: go.priors.prior_weights(MANY, 0.1),
    "prior": lambda: go.priors.prior_weights([LONG], {LONG: 0}),
    "prior label": lambda: go.priors.prior_weights([LONG], {"a": 1}),
    "out of fold": lambda: go.priors.estimate_prior([0.5], out_of_fold=(MANY, [0.5] * len(MANY))),
    "label range": lambda: _checks.label_range("label_range", MANY),
    "prior mapping": lambda: _checks.prior("prior", MANY),
    "flag": lambda: _checks.flag("half", MANY),
    "n_bins": lambda: go.calibration.reliability_bins(BINARY, P, n_bins=MANY),
    "tree": lambda: go.estimators.ProbabilityEstimationTree(tree=MANY).fit(X, BINARY),
    "one kind of row": lambda: go.estimators.ProbabilityEstimationTree().fit(X[:1], [LONG]),
    "calibrated": lambda: go.CalibratedClassifier(MANY, MANY).fit(X, BINARY),
    "classes": lambda: CALIBRATED.fit(np.ones((999, 1)), MANY[:999]),
}


# which is the mistake that is made
@pytest.mark.filterwarnings("ignore:The number of unique classes")
@pytest.mark.slow
@each("name", LONG_CALLS)
def test_no_message_holds_all_the_values(name):
    with pytest.raises((TypeError, ValueError)) as caught:
        LONG_CALLS[name]()
    assert len(str(caught.value)) < 800
