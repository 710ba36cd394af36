"""TemperatureCalibrator against plain minimisers, scikit-learn and LogitCalibrator."""

from __future__ import annotations

import json
import pickle
import warnings

import numpy as np
import pytest
from scipy.optimize import minimize
from scipy.special import log_softmax, logsumexp, softmax
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import LogisticRegression

from gbdt_objectives.calibration import LogitCalibrator, TemperatureCalibrator
from gbdt_objectives.calibration.temperature_calibrator import softmax_loss
from tests.cases import each, refused

BOTH = each("bias", [False, True])


def made(n=1500, K=4, seed=0, temperature=0.5):
    """Overconfident probabilities with shares of classes that are off, and labels."""
    rng = np.random.default_rng(seed)
    z = rng.normal(size=(n, K)) * 1.5
    truth = softmax(z, axis=1)
    y = np.array([rng.choice(K, p=p) for p in truth])
    return softmax(z / temperature + np.linspace(-1, 1, K), axis=1), y


@BOTH
@each("weighted", [False, True])
@each("K", [2, 3, 7])
def test_is_the_maximum_of_the_likelihood(bias, weighted, K) -> None:
    """Its slopes are 0, to round-off, which defines it: it bends down everywhere."""
    p, y = made(K=K)
    w = np.random.default_rng(1).uniform(0, 3, len(y)) if weighted else np.ones(len(y))
    ours = TemperatureCalibrator(bias=bias).fit(p, y, w if weighted else None)
    found = ours.predict(p)
    expected = softmax(np.log(p) / ours.temperature_ + ours.bias_, axis=1)
    np.testing.assert_allclose(found, expected, rtol=1e-9)
    error = w[:, None] * (found - np.eye(K)[y])
    assert (error * np.log(p)).sum() == pytest.approx(0, abs=1e-8 * len(y))
    if bias:
        assert ours.bias_.sum() == pytest.approx(0, abs=1e-9)
        np.testing.assert_allclose(error.sum(axis=0), 0, atol=1e-8 * len(y))
    else:
        assert ours.bias_.tolist() == [0] * K


def test_is_multinomial_regression_on_one_feature() -> None:
    """Rows of z = x (1, 0, ..., 0): scikit-learn's coefficients of x are held to such a form."""
    rng = np.random.default_rng(0)
    x = rng.normal(size=(3000, 1))
    truth = softmax(x * [0.7, 0, 0] + [0.2, 0, -0.4], axis=1)
    y = np.array([rng.choice(3, p=p) for p in truth])
    p = softmax(x * [1, 0, 0], axis=1)
    ours = TemperatureCalibrator(bias=True).fit(p, y)
    # label 0 against the rest is then a logistic regression on x with an offset of its own
    line = LogisticRegression(C=np.inf, tol=1e-12, solver="newton-cholesky").fit(x, y == 0)
    assert 1 / ours.temperature_ == pytest.approx(line.coef_[0, 0], rel=1e-6)
    np.testing.assert_allclose(ours.predict(p)[:, 0], line.predict_proba(x)[:, 1], rtol=1e-6)


@each(
    ("p", "y"),
    [
        (made(K=2)[0][:, 1], made(K=2)[1]),
        (np.array([0.1, 0.3, 0.3, 0.8]), [0, 0, 1, 1]),  # both fall back on Platt's targets
    ],
    ids=["usual", "separated"],
)
def test_two_classes_are_logit_calibration(p, y) -> None:
    line, both = LogitCalibrator().fit(p, y), np.column_stack([1 - p, p])
    ours = TemperatureCalibrator(bias=True).fit(both, y)
    assert 1 / ours.temperature_ == pytest.approx(line.slope_, rel=1e-6)
    np.testing.assert_allclose(ours.predict(both)[:, 1], line.predict(p), rtol=1e-6)


@pytest.mark.slow
@BOTH
def test_finds_what_was_done(bias) -> None:
    """20,000 rows: standard errors of about .02."""
    p, y = made(20_000, 3)
    if not bias:
        p = softmax(np.log(p) - np.linspace(-1, 1, 3), axis=1)
    found = TemperatureCalibrator(bias=bias).fit(p, y)
    assert found.temperature_ == pytest.approx(2, abs=0.1)
    expected = -np.linspace(-1, 1, 3) / 2 if bias else np.zeros(3)
    np.testing.assert_allclose(found.bias_, expected, atol=0.1)


@BOTH
def test_weight_is_repetition(bias) -> None:
    p, y = made()
    w = np.random.default_rng(1).integers(0, 4, len(y))
    weighted = TemperatureCalibrator(bias=bias).fit(p, y, w).predict(p)
    copies = TemperatureCalibrator(bias=bias).fit(np.repeat(p, w, axis=0), np.repeat(y, w))
    np.testing.assert_allclose(weighted, copies.predict(p), rtol=1e-9)  # sums in another order
    unit = TemperatureCalibrator(bias=bias).fit(p, y, w * 1e20).predict(p)
    np.testing.assert_allclose(weighted, unit, rtol=1e-9)


@BOTH
@each("K", [2, 3, 4])
def test_perfect_separation_is_fitted_to_laplaces_targets(bias, K) -> None:
    rng = np.random.default_rng(0)
    y = np.repeat(np.arange(K), 5)
    p = softmax(rng.uniform(0, 1, (len(y), K)) + 1.1 * np.eye(K)[y], axis=1)
    if bias:  # which only biases set right
        p = softmax(np.log(p) + np.arange(K) * 2.0, axis=1)
    ours = TemperatureCalibrator(bias=bias).fit(p, y)
    target = np.where(np.eye(K)[y] == 1, 6 / (5 + K), 1 / (5 + K))

    def loss(theta):
        m = theta[0] * np.log(p) + np.append(0, theta[1:] if bias else np.zeros(K - 1))
        return -(target * log_softmax(m, axis=1)).sum()

    best = minimize(loss, np.append(1, np.zeros(K - 1)), tol=1e-12)
    theta = np.append(1 / ours.temperature_, ours.bias_[1:] - ours.bias_[0])
    assert loss(theta) <= best.fun + 1e-9
    with pytest.raises(ValueError, match="sums to 0.5 for one label, less than a row"):
        TemperatureCalibrator(bias=bias).fit(p, y, np.full(len(y), 0.1))


def test_biases_that_set_each_pair_of_classes_right_but_not_all_three() -> None:
    """exp(a) + exp(-2a) is least at a = log(2)/3; separable, it would be fitted to targets."""
    z = np.array([[0, 1, -2], [-2, 0, 1], [1, -2, 0]])
    found = TemperatureCalibrator(bias=True).fit(softmax(z, axis=1), [0, 1, 2])
    assert found.temperature_ == pytest.approx(3 / np.log(2), rel=1e-9)
    np.testing.assert_allclose(found.bias_, 0, atol=1e-9)


@BOTH
def test_probabilities_of_0_stay(bias) -> None:
    p, y = made()
    plain = TemperatureCalibrator(bias=bias).fit(p, y)
    certain = np.eye(4)[[0, 1, 2]]
    more = TemperatureCalibrator(bias=bias).fit(np.vstack([p, certain]), [*y, 0, 1, 2])
    np.testing.assert_allclose(more.predict(p), plain.predict(p), rtol=1e-9)
    assert more.predict(certain).tolist() == certain.tolist()
    # a class that a row excludes does not enter it
    part = p.copy()
    excluded = (y != 3) & (np.arange(len(y)) % 2 == 0)
    part[excluded, 3] = 0
    part /= part.sum(axis=1, keepdims=True)
    found = TemperatureCalibrator(bias=bias).fit(part, y).predict(part)
    assert (found[excluded, 3] == 0).all()
    error = (found - np.eye(4)[y]) * (part > 0)
    assert (error * np.log(np.where(part > 0, part, 1))).sum() == pytest.approx(0, abs=1e-5)
    np.testing.assert_allclose(found.sum(axis=1), 1)
    wrong = np.vstack([p, np.eye(4)[[0]]])
    with pytest.raises(ValueError, match="exactly 0 for the label of 1 rows, the first of class 2"):
        TemperatureCalibrator(bias=bias).fit(wrong, [*y, 2])


def test_classes_without_rows() -> None:
    p, y = made(K=3)
    kept, names = y != 1, np.array(["a", "b", "c"])
    sure = p.copy()
    sure[y == 2] = [0, 0, 1]  # all others possible: its bias has no maximum
    for rows, labels, words in (
        ((p[kept], y[kept]), None, "no row of class 1, whose bias.*bias=False"),
        ((p, names[y], kept), names, "no row of class 'b'"),
        ((sure, y), None, "the bias of class 2.*with certainty; use bias=False"),
    ):
        with pytest.raises(ValueError, match=words):
            TemperatureCalibrator(bias=True, labels=labels).fit(*rows)
        TemperatureCalibrator(labels=labels).fit(*rows)
    with pytest.raises(ValueError, match="y holds the single class 0"):
        TemperatureCalibrator().fit(p[y == 0], y[y == 0])
    found = TemperatureCalibrator().fit(p[kept], y[kept])
    assert found.predict(p).shape == p.shape


def test_labels_name_the_columns() -> None:
    p, y = made(K=3)
    names = np.array(["low", "high", "middle"])
    by_name = TemperatureCalibrator(bias=True, labels=names).fit(p, names[y])
    plain = TemperatureCalibrator(bias=True).fit(p, y)
    np.testing.assert_array_equal(by_name.predict(p), plain.predict(p))


@refused(
    (None, "unless labels name them: pass .*labels=model.classes_", TypeError),
    (["a", "b"], "labels has 2 classes, but probability has 3 columns"),
    (["low", "hi", "middle"], "y holds 'high' at row"),
)
def test_labels_that_do_not_name_the_columns(labels) -> None:
    p, y = made(K=3)
    TemperatureCalibrator(labels=labels).fit(p, np.array(["low", "high", "middle"])[y])


@BOTH
@each("labels", [None, ["a", "b", "c", "d"], [1, 2, 3, 4], [0.5, 1.5, 2, 3]])
def test_json_clone_pickle(bias, labels) -> None:
    p, y = made()
    calibrator = TemperatureCalibrator(bias=bias, labels=labels)
    assert str(clone(calibrator)) == str(calibrator)
    fitted = calibrator.fit(p, y if labels is None else np.array(labels)[y])
    for again in (
        pickle.loads(pickle.dumps(fitted)),
        TemperatureCalibrator.from_json(fitted.to_json()),
    ):
        assert again.get_params() == fitted.get_params()
        assert again.to_json() == fitted.to_json()
        np.testing.assert_array_equal(again.predict(p), fitted.predict(p))


GOOD = {
    "format": "gbdt_objectives.TemperatureCalibrator/1", "bias": True, "labels": None,
    "temperature": 2.0, "biases": [0.5, -0.5],
}  # fmt: skip


@refused(
    ({"temperature": 0}, "temperature must be above 0, found 0"),
    ({"temperature": "2"}, "temperature must be a finite number"),
    ({"biases": [0.5]}, "biases must be one a class, at least two, found 1"),
    ({"labels": [1, 2, 3]}, "biases must be one a class, at least two, found 2"),
    ({"labels": ["a", 1]}, "labels must be null, or a list of numbers or of strings"),
    ({"labels": "ab"}, "labels must be null, or a list"),
    ({"labels": [1, 1]}, "labels must be different"),
    ({"bias": False}, "biases must be 0 if bias is false"),
    ({"bias": 1}, "bias must be true or false"),
    ({"format": "gbdt_objectives.LogitCalibrator/1"}, "another format"),
    ({"extra": 1}, "must have the keys"),
)
def test_changed_json_is_refused(change) -> None:
    TemperatureCalibrator.from_json(json.dumps(GOOD))
    TemperatureCalibrator.from_json(json.dumps(GOOD | change))


THREE = [[0.5, 0.3, 0.2], [0.2, 0.5, 0.3], [0.1, 0.1, 0.8]]


@BOTH
@refused(
    (THREE, [0, 1], None, "probability has 3 rows, but the labels have 2"),
    (THREE, None, None, "requires y"),
    (THREE, [0, 1, 3], None, "y holds 3 at row 2, which is not in labels"),
    (THREE, [0, 1, 2], [1, -1, 1], "sample_weight must not be negative"),
    (THREE, [0, 1, 2], [0, 0, 0], "sample_weight is 0 in all 3 rows"),
    ([[2.0, 0.3], [0.1, -1.0]], [0, 1], None, "found 2.0.*margins need"),
    ([[0.2, 0.3], [0.1, 0.9]], [0, 1], None, "rows of probability must sum to 1"),
    ([[np.nan, 0.3], [0.1, 0.9]], [0, 1], None, "found nan"),
    ([0.2, 0.7], [0, 1], None, "must be .n, K.*use LogitCalibrator"),
    ([[0.2], [0.7]], [0, 1], None, "must be .n, K.*use LogitCalibrator"),
    ([[0.5, 0.5]] * 4, [0, 1, 0, 1], None, "same for all classes or in all rows"),
    ([[0.4, 0.6], [0.6, 0.4], [0.3, 0.7]], [0, 1, 0], None,
     "does not rise with the labels.*columns in the order of labels, .0, 1."),
)  # fmt: skip
def test_bad_input(bias, p, y, w) -> None:
    unfitted = TemperatureCalibrator(bias=bias)
    try:
        unfitted.fit(p, y, w)
    finally:
        for method in (lambda: unfitted.predict(THREE), unfitted.to_json):
            with pytest.raises(NotFittedError):
                method()


def test_bad_parameters_and_other_columns() -> None:
    p, y = made()
    with pytest.raises(TypeError, match="bias must be True or False"):
        TemperatureCalibrator(bias="yes").fit(p, y)
    fitted = TemperatureCalibrator().fit(p, y)
    with pytest.raises(ValueError, match="probability has 3 columns, but fit saw 4"):
        fitted.predict(THREE)
    with pytest.raises(ValueError, match="must be .n, K."):
        fitted.predict(p[:, 0])
    with pytest.raises((TypeError, ValueError)):
        fitted.fit(y, p)


def test_tails() -> None:
    """Log-probabilities down to the smallest float."""
    rng = np.random.default_rng(0)
    z = np.column_stack([rng.uniform(-700, 0, 400), np.zeros(400), rng.uniform(-5, 0, 400)])
    truth = softmax(z / 50, axis=1)
    y = np.array([rng.choice(3, p=p) for p in truth])
    found = TemperatureCalibrator().fit(softmax(z, axis=1), y)
    assert found.temperature_ == pytest.approx(50, rel=0.3)


def test_probabilities_of_the_sample_are_told_from_those_of_the_population() -> None:
    """A temperature alone leaves those of a model that was trained on the sample at its level."""
    rng = np.random.default_rng(0)
    P = rng.dirichlet([20, 1, 1], 20_000)
    y = (P.cumsum(axis=1) < rng.random((len(P), 1))).sum(axis=1)
    rates = np.array([0.05, 1.0, 1.0])
    kept = rng.random(len(P)) < rates[y]
    y, P = y[kept], P[kept]
    of_sample = P * rates / (P @ rates)[:, np.newaxis]
    given = {"class_keep_rates": {0: 0.05, 1: 1, 2: 1}}
    with pytest.warns(UserWarning, match="of the sample, not of the full population.* bias=True"):
        TemperatureCalibrator().fit(of_sample, y, **given)
    with warnings.catch_warnings():
        warnings.simplefilter("error", UserWarning)
        TemperatureCalibrator().fit(P, y, **given)
        TemperatureCalibrator().fit(of_sample, y)
        TemperatureCalibrator().fit(of_sample, y, class_keep_rates=dict.fromkeys(range(3), 0.5))
        found = TemperatureCalibrator(bias=True).fit(of_sample, y, **given).predict(of_sample)
    assert np.abs(found - P).max() < 0.1


@BOTH
def test_slopes_of_the_loss_of_several_blocks_are_its_differences(bias) -> None:
    """Of 60,000 rows, some probabilities 0, each row with an offset of its own."""
    rng = np.random.default_rng(0)
    n, K = 60_000, 3
    x, y = rng.normal(size=(K, n)), rng.integers(0, K, n)
    x[(y[:5000] + 1) % K, np.arange(5000)] = -np.inf
    w = rng.exponential(size=n)
    offset = rng.normal(size=(K, n))
    loss = softmax_loss(x, np.eye(K)[y].T, w / w.sum(), offset)
    theta = np.array([0.7, 0.2, -0.4] if bias else [0.7])
    m = theta[0] * x + np.append(0, theta[1:] if bias else [0, 0])[:, None] + offset
    value, gradient, hessian = loss(theta)
    truth = np.average(logsumexp(m, axis=0) - m[y, np.arange(n)], weights=w)
    assert value == pytest.approx(truth, rel=1e-12)
    for k, step in enumerate(1e-5 * np.eye(len(theta))):  # central: error 1e-10, rounding 1e-11
        up, down = loss(theta + step), loss(theta - step)
        assert gradient[k] == pytest.approx((up[0] - down[0]) / 2e-5, abs=1e-9)
        np.testing.assert_allclose(hessian[k], (up[1] - down[1]) / 2e-5, atol=1e-9)
