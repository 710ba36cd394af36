"""Calibrators fitted on kept negatives: the offset model, its limits, what is refused."""

from __future__ import annotations

import warnings
from functools import partial

import numpy as np
import pytest
from scipy.optimize import brentq, minimize
from scipy.special import expit, logit, softmax, xlogy
from sklearn.base import clone
from sklearn.isotonic import IsotonicRegression
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import log_loss
from sklearn.model_selection import PredefinedSplit

from gbdt_objectives import CalibratedClassifier
from gbdt_objectives.calibration import (
    BetaCalibrator,
    InterceptCalibrator,
    LogitCalibrator,
    ROCConvexHullCalibrator,
    SplineCalibrator,
    TemperatureCalibrator,
    VennAbersCalibrator,
    choose_calibrator,
)
from gbdt_objectives.priors import correct_probability, pilot_keep_rates, resample_classes
from tests import contract
from tests.cases import each

RATE = 0.1
LOG_ODDS = [kind() for kind in contract.LOG_ODDS]
ONE_RATE = [ROCConvexHullCalibrator(), ROCConvexHullCalibrator(m=2), VennAbersCalibrator()]
BINARY = LOG_ODDS + ONE_RATE


def population(n, seed=0, mean=-3.0, over=1.5):
    """True probabilities, a model's, which are overconfident, and labels."""
    rng = np.random.default_rng(seed)
    z = rng.normal(mean, 1.2, n)
    return expit(z), expit(mean + over * (z - mean)), (rng.random(n) < expit(z)).astype(int)


def keep(y, rates, seed=1):
    return np.flatnonzero((y == 1) | (np.random.default_rng(seed).random(len(y)) < rates))


@pytest.fixture(scope="module")
def kept():
    """Probabilities, labels and a rate of each row, of rows kept at these rates."""
    p, model, y = population(20_000)
    rates = pilot_keep_rates(y, p, RATE)
    rows = keep(y, rates)
    return model[rows], y[rows], rates[rows]


def divergence(p, q):
    q = np.clip(q, 1e-15, 1 - 1e-15)
    return float(np.mean(xlogy(p, p / q) + xlogy(1 - p, (1 - p) / (1 - q))))


@each("weighted", [False, True])
def test_greatest_likelihood_of_the_offset_model(kept, weighted) -> None:
    """Against a plain minimiser and a root finder; tolerances are the minimiser's."""
    p, y, rates = kept
    z, w = logit(p), np.random.default_rng(0).integers(1, 4, len(y)) if weighted else None
    v = np.ones(len(y)) if w is None else w

    def loss(theta):
        m = theta[0] * z + theta[1] - np.log(rates)
        return float(v @ (np.logaddexp(0, m) - y * m)) / v.sum()

    a, b = minimize(loss, [1, 0], method="Nelder-Mead", options={"xatol": 1e-9, "fatol": 1e-14}).x
    fitted = LogitCalibrator().fit(p, y, w, keep_rate=rates)
    assert (fitted.slope_, fitted.intercept_) == pytest.approx((a, b), abs=1e-5)
    shift = InterceptCalibrator().fit(p, y, w, keep_rate=rates).shift_
    root = brentq(lambda b: v @ (expit(z + b - np.log(rates)) - y), -20, 20, xtol=1e-13)
    assert shift == pytest.approx(root, abs=1e-9)
    two = TemperatureCalibrator(bias=True).fit(np.c_[1 - p, p], y, w, keep_rate=rates)
    assert two.predict(np.c_[1 - p, p])[:, 1] == pytest.approx(fitted.predict(p), abs=1e-8)
    one = TemperatureCalibrator().fit(np.c_[1 - p, p], y, w, keep_rate=rates)
    best = minimize(lambda a: loss([a[0], 0]), [1.0], method="Nelder-Mead", tol=1e-10).x[0]
    assert 1 / one.temperature_ == pytest.approx(best, abs=1e-5)


@each("calibrator", BINARY, ids=str)
def test_one_rate_corrects_the_fit_on_the_sample(kept, calibrator) -> None:
    """The hull is linear between its scores on either scale, and compared at these only."""
    p, y, _ = kept
    fitted = clone(calibrator).fit(p, y, negative_keep_rate=RATE)
    at = fitted.scores_ if isinstance(calibrator, ROCConvexHullCalibrator) else np.unique(p)
    in_sample = clone(calibrator).fit(p, y).predict(at)
    expected = correct_probability(in_sample, negative_keep_rate=RATE)
    # the spline's penalty is found to .1 of its logarithm, from wherever the search begins
    rtol = 1e-4 if isinstance(calibrator, SplineCalibrator) else 1e-7
    np.testing.assert_allclose(fitted.predict(at), expected, rtol=rtol, atol=1e-12)
    assert (np.diff(fitted.predict(np.unique(p))) >= 0).all() or calibrator.get_params().get("m")


@each("calibrator", BINARY, ids=str)
def test_equal_rates_of_each_row_are_one_rate(kept, calibrator) -> None:
    p, y, _ = kept
    one = clone(calibrator).fit(p, y, negative_keep_rate=RATE)
    many = clone(calibrator).fit(p, y, keep_rate=np.full(len(y), RATE))
    assert one.to_json() == many.to_json()
    plain = clone(calibrator).fit(p, y)
    assert plain.to_json() == clone(calibrator).fit(p, y, negative_keep_rate=1).to_json()
    assert plain.to_json() == clone(calibrator).fit(p, y, keep_rate=np.ones(len(y))).to_json()

    loaded = type(calibrator).from_json(one.to_json())
    assert loaded.to_json() == one.to_json()
    np.testing.assert_array_equal(loaded.predict(p), one.predict(p))


def test_the_pair_of_venn_abers_is_of_the_population(kept) -> None:
    p, y, _ = kept
    fitted, plain = VennAbersCalibrator().fit(p, y, negative_keep_rate=RATE), VennAbersCalibrator()
    low, high = fitted.interval(p).T
    assert ((low <= fitted.predict(p)) & (fitted.predict(p) <= high)).all()
    pair = plain.fit(p, y).interval(p)
    expected = correct_probability(pair.ravel(), negative_keep_rate=RATE).reshape(-1, 2)
    np.testing.assert_allclose(fitted.interval(p), expected, rtol=1e-12)


@each("by_row", [False, True])
@each("calibrator", LOG_ODDS, ids=str)
def test_a_row_of_weight_w_is_w_rows(kept, calibrator, by_row) -> None:
    p, y, rates = (values[:1500] for values in kept)
    w = np.random.default_rng(0).integers(0, 4, len(y))
    rate = {"keep_rate": rates} if by_row else {"negative_keep_rate": RATE}
    again = {"keep_rate": np.repeat(rates, w)} if by_row else rate
    one = clone(calibrator).fit(p, y, w, **rate)
    many = clone(calibrator).fit(np.repeat(p, w), np.repeat(y, w), **again)
    # the penalty of the spline is found to .1 of its logarithm
    rtol = 1e-3 if isinstance(calibrator, SplineCalibrator) else 1e-6
    np.testing.assert_allclose(one.predict(p), many.predict(p), rtol=rtol)


@pytest.mark.slow
@each("by_row", [False, True])
@each("calibrator", LOG_ODDS, ids=str)
def test_many_rows_make_it_equal_to_weights(calibrator, by_row) -> None:
    """Both find the same map, but for the noise of some 20,000 kept negatives."""
    p, _, y = population(200_000, seed=2)
    rates = pilot_keep_rates(y, p, RATE) if by_row else np.full(len(y), RATE)
    rows = keep(y, rates)
    p, y, rates = p[rows], y[rows], rates[rows]
    rate = {"keep_rate": rates} if by_row else {"negative_keep_rate": RATE}
    offset = clone(calibrator).fit(p, y, **rate)
    weighted = clone(calibrator).fit(p, y, np.where(y == 1, 1, 1 / rates))
    at = np.quantile(p, [0.1, 0.3, 0.5, 0.7, 0.9])
    found = logit(offset.predict(at))
    np.testing.assert_allclose(found, logit(weighted.predict(at)), atol=0.15)
    np.testing.assert_allclose(found, logit(at), atol=0.15)  # the model was right


@pytest.mark.slow
def test_nearer_to_the_truth_than_weights() -> None:
    """In ``experiments/few_events`` the divergence from the truth was 1.4 to 7 times less."""
    calibrators = [LogitCalibrator(), BetaCalibrator(), SplineCalibrator(), VennAbersCalibrator()]
    found = np.zeros((len(calibrators), 2))
    for seed in range(5):
        truth, model, y = population(80_000, seed, mean=-6.3, over=1.8)
        fit, test = slice(0, 60_000), slice(60_000, None)
        rows = keep(y[fit], 0.02, seed)
        p, labels = model[rows], y[rows]
        weight = np.where(labels == 1, 1, 50.0)
        for i, calibrator in enumerate(calibrators):
            weighted = clone(calibrator).fit(p, labels, weight).predict(model[test])
            offset = clone(calibrator).fit(p, labels, negative_keep_rate=0.02).predict(model[test])
            found[i] += divergence(truth[test], weighted), divergence(truth[test], offset)
    weighted, offset = found.T
    assert (offset < weighted * [0.9, 0.9, 0.5, 0.3]).all(), found
    assert (offset / 5 < [6e-5, 30e-5, 8e-5, 30e-5]).all(), found


@each(
    "rates, error, message",
    [
        ({"negative_keep_rate": 0.1, "keep_rate": [0.1] * 4}, ValueError, "are both given"),
        ({"negative_keep_rate": 0}, ValueError, r"negative_keep_rate must be in \(0, 1\], found 0"),
        ({"negative_keep_rate": 50}, ValueError, r"negative_keep_rate must be in .* fraction of"),
        ({"negative_keep_rate": [0.1] * 4}, TypeError, "one number.*of each row as keep_rate="),
        ({"keep_rate": 0.1}, TypeError, "rate of each row.*pass one rate.*negative_keep_rate="),
        ({"keep_rate": [0.1] * 3}, ValueError, "keep_rate has 3 rows, but the labels have 4"),
        ({"keep_rate": [0.1, 0.2, 0, 1]}, ValueError, r"keep_rate must be in \(0, 1\], found 0"),
        ({"keep_rate": [True] * 4}, TypeError, "keep_rate must be rates.*is it a mask"),
        ({"keep_rate": [0.1, 0.2, 1, 1]}, ValueError,
         "rates must not follow the label.*rate at which a negative in its place.*"
         "for one rate, negative_keep_rate="),
    ],
)  # fmt: skip
def test_refused_rates(rates, error, message) -> None:
    p, y = np.array([0.1, 0.4, 0.3, 0.6]), [0, 0, 1, 1]
    both = np.column_stack([1 - p, p])
    classifier = CalibratedClassifier(LogisticRegression(), cv=2)
    for fit in (
        *(partial(clone(one).fit, p, y) for one in BINARY),
        partial(choose_calibrator, y, p),
        partial(TemperatureCalibrator().fit, both, y),
        partial(classifier.fit, both, y),
    ):
        with pytest.raises(error, match=message):
            fit(**rates)


THREE = np.full((6, 3), 1 / 3), [0, 1, 2] * 2


@each(
    ("calibrator", "given", "words"),
    [
        *((one, "several", r"differs by row.*SplineCalibrator.*1 / keep_rate\)")
          for one in ONE_RATE),
        (TemperatureCalibrator(), "three", r"for two classes, found .*pass class_keep_rates="),
        (IsotonicRegression(), "one", "IsotonicRegression does not accept it"),
    ],
)  # fmt: skip
def test_what_needs_one_rate_refuses_several(kept, calibrator, given, words) -> None:
    p, y, rates = kept
    rate = {"keep_rate": rates} if given == "several" else {"negative_keep_rate": RATE}
    X, label = THREE if given == "three" else (logit(p)[:, None], y)
    with pytest.raises(ValueError, match=words):
        CalibratedClassifier(LogisticRegression(), calibrator).fit(X, label, **rate)
    if given != "one":
        with pytest.raises(ValueError, match=words):
            clone(calibrator).fit(X if given == "three" else p, label, **rate)


def test_rates_of_rows_without_weight_do_not_count(kept) -> None:
    p, y, rates = (values[:2000] for values in kept)
    w = np.ones(2000)
    w[::3] = 0
    some = LogitCalibrator().fit(p, y, w, keep_rate=rates)
    left = LogitCalibrator().fit(p[w > 0], y[w > 0], keep_rate=rates[w > 0])
    assert some.to_json() == left.to_json()
    own = np.where(w > 0, RATE, rates)
    assert VennAbersCalibrator().fit(p, y, w, keep_rate=own).shift_ == pytest.approx(np.log(RATE))


def test_certain_probabilities_stay(kept) -> None:
    p, y, rates = map(np.append, kept, ([0, 1], [0, 1], [0.01, 1]))
    for calibrator in LOG_ODDS:
        fitted = clone(calibrator).fit(p, y, keep_rate=rates)
        assert fitted.predict([0.0, 1.0]).tolist() == [0, 1]


@pytest.mark.slow
def test_the_choice_compares_predictions_for_the_sample(kept) -> None:
    p, y, rates = kept
    choice = choose_calibrator(y, p, negative_keep_rate=RATE)
    assert np.isfinite(list(choice.log_loss.values())).all()
    assert type(choice.calibrator) is SplineCalibrator
    splits = list(PredefinedSplit(np.arange(len(y)) % 2).split())
    by_row = choose_calibrator(y, p, keep_rate=rates, cv=splits)
    infinite = {name for name, loss in by_row.log_loss.items() if not np.isfinite(loss)}
    assert infinite == {"VennAbersCalibrator", "ROCConvexHullCalibrator"}
    q = np.empty(len(y))
    for train, test in splits:
        fitted = SplineCalibrator(shrink=True).fit(p[train], y[train], keep_rate=rates[train])
        q[test] = expit(logit(fitted.predict(p[test])) - np.log(rates[test]))
    assert by_row.log_loss["SplineCalibrator"] == pytest.approx(log_loss(y, q), rel=1e-10)


def features(n, rate, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 2))
    p = expit(X @ [1.0, 0.5] - 3)
    y = (rng.random(n) < p).astype(int)
    rows = keep(y, rate, seed)
    return X[rows], y[rows], X, p


@pytest.mark.slow
@each("calibrator", [LogitCalibrator(), InterceptCalibrator(), "auto", None], ids=str)
def test_the_calibrated_classifier_predicts_the_population(calibrator) -> None:
    """The mean prediction is that of the truth; 2,000 events have a standard error of 2.5 %."""
    X, y, everything, p = features(30_000, RATE)
    rates, model = np.full(len(y), RATE), LogisticRegression()
    one = CalibratedClassifier(model, calibrator).fit(X, y, negative_keep_rate=RATE)
    assert one.predict_proba(everything)[:, 1].mean() == pytest.approx(p.mean(), rel=0.1)
    many = CalibratedClassifier(model, calibrator).fit(X, y, keep_rate=rates)
    assert many.calibrator_.to_json() == one.calibrator_.to_json()
    odd, even = (slice(k, None, 2) for k in (1, 0))
    prefit = CalibratedClassifier(clone(model).fit(X[even], y[even]), calibrator, cv="prefit")
    prefit.fit(X[odd], y[odd], keep_rate=rates[odd])
    pair, split = [(X[odd], y[odd])], PredefinedSplit(np.where(np.arange(len(y)) % 2, 0, -1))
    later = CalibratedClassifier(model, calibrator)
    later.fit(X[even], y[even], eval_set=pair, keep_rate=rates[odd])
    held = CalibratedClassifier(model, calibrator, cv=split).fit(X, y, keep_rate=rates)
    for other in (later, held):
        assert other.calibrator_.to_json() == prefit.calibrator_.to_json()


@pytest.mark.slow
def test_the_automatic_choice_takes_rates_with_groups_and_weights() -> None:
    X, y, *_ = features(5000, RATE)
    rng = np.random.default_rng(0)
    groups, w = rng.integers(50, size=len(y)), rng.integers(0, 3, len(y))
    rates = rng.choice([0.1, 0.2], len(y))
    for rate in ({"negative_keep_rate": RATE}, {"keep_rate": rates}):
        fitted = CalibratedClassifier(LogisticRegression(), "auto").fit(X, y, w, groups, **rate)
        assert np.isfinite(fitted.comparison_.log_loss["SplineCalibrator"])


@each("calibrator", BINARY, ids=str)
def test_rates_by_class_are_the_rate_of_negatives(kept, calibrator) -> None:
    p, y, _ = kept
    X, names = logit(p)[:, None], np.where(y == 1, "yes", "no")
    expected = clone(calibrator).fit(p, y, negative_keep_rate=RATE).to_json()
    assert clone(calibrator).fit(p, y, class_keep_rates={0: RATE, 1: 1.0}).to_json() == expected
    classifier, named = (CalibratedClassifier(LogisticRegression(), calibrator) for _ in range(2))
    classifier.fit(X, y == 1, negative_keep_rate=RATE)
    named.fit(X, names, class_keep_rates={"no": RATE, "yes": 1})
    assert named.calibrator_.to_json() == classifier.calibrator_.to_json()
    with pytest.raises(ValueError, match="each of the labels"):
        named.fit(X, names, class_keep_rates={0: RATE, 1: 1})


@pytest.mark.slow
def test_rates_of_several_classes_are_undone() -> None:
    rng, rates = np.random.default_rng(5), {0: 0.05, 1: 0.4, 2: 1.0}
    z = rng.normal([3, 1, -1], size=(200_000, 3))
    true = softmax(z, axis=1)
    y = (rng.random((len(z), 1)) > true.cumsum(axis=1)).sum(axis=1).clip(max=2)
    rows = resample_classes(y, rates, random_state=0)
    p = softmax(1.6 * z + [0.5, -0.5, 0.0], axis=1)[rows]  # overconfident, and biased
    calibrator = TemperatureCalibrator(bias=True).fit(p, y[rows], class_keep_rates=rates)
    assert calibrator.temperature_ == pytest.approx(1.6, rel=0.03)  # 4 standard errors
    error = np.abs(calibrator.predict(p) - true[rows]).max(axis=1)
    assert error.mean() < 0.01
    alone = TemperatureCalibrator(bias=True).fit(p, y[rows])
    assert np.abs(alone.predict(p) - true[rows]).max(axis=1).mean() > 0.2
    classifier = CalibratedClassifier(LogisticRegression(), TemperatureCalibrator(bias=True))
    names = np.array(["a", "b", "c"])[y[rows]]
    classifier.fit(z[rows], names, class_keep_rates=dict(zip("abc", rates.values(), strict=True)))
    share = classifier.predict_proba(z).mean(axis=0)
    np.testing.assert_allclose(share, true.mean(axis=0), atol=0.01)  # of the full population


def test_groups_are_held_out_together_in_the_choice() -> None:
    rng = np.random.default_rng(2)
    user = np.repeat(np.arange(300), 10)
    p = np.repeat(rng.beta(1, 4, 300), 10)
    y = (rng.random(3000) < p).astype(int)
    found = choose_calibrator(y, p, groups=user)
    assert type(found.calibrator).__name__ == "SplineCalibrator"
    alone = choose_calibrator(y, p)
    for name, loss in found.log_loss.items():  # other folds, of the same rows
        assert 0 < abs(loss - alone.log_loss[name]) < 0.02
    with pytest.raises(ValueError, match="need at least 5 groups, found 3"):
        choose_calibrator(y, p, groups=user // 100)


@each("calibrator", BINARY, ids=str)
def test_arguments_stay_as_they_are(kept, calibrator) -> None:
    p, y, _ = kept
    given = p.copy(), y.astype(float), np.ones(len(y)), np.full(len(y), RATE)
    for values in given:
        values.flags.writeable = False
    fitted = clone(calibrator).fit(*given[:3], keep_rate=given[3])
    np.testing.assert_array_equal(fitted.predict(given[0]), fitted.predict(p.copy()))


@each("given", [{"negative_keep_rate": 0.01}, {"keep_rate": np.tile([0.005, 0.02], 200)[:397]}])
def test_a_rate_that_leaves_more_of_a_rare_event_is_right(given) -> None:
    y = np.repeat([0, 1], [97, 300])  # of 3 % in the population, and of 2.4 %
    p = np.clip(0.03 * np.exp(np.random.default_rng(0).normal(y, 1)), 0.001, 0.9)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        LogitCalibrator().fit(p, y, **given)


@pytest.mark.filterwarnings("ignore:probability fits the kept rows better")  # all rows are kept
@each("calibrator", [*BINARY, TemperatureCalibrator()], ids=repr)
def test_a_rate_of_the_rare_class_is_told_unless_it_is_named(calibrator) -> None:
    _, model, y = population(4000)
    p = np.column_stack([model, 1 - model])  # of label 1, the frequent one
    own = p if isinstance(calibrator, TemperatureCalibrator) else p[:, 1]
    with pytest.warns(UserWarning, match=r"drops rows of 0, .*class_keep_rates=\{label: rate"):
        told = clone(calibrator).fit(own, 1 - y, negative_keep_rate=RATE)
    with pytest.warns(UserWarning, match="drops rows of 0"):
        CalibratedClassifier(LogisticRegression(), calibrator, cv=2).fit(
            logit(p[:, :1]), 1 - y, negative_keep_rate=RATE
        )
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        warnings.filterwarnings("ignore", "probability fits the kept rows better")  # all are kept
        named = clone(calibrator).fit(own, 1 - y, class_keep_rates={0: RATE, 1: 1})
    np.testing.assert_array_equal(told.predict(own), named.predict(own))
