"""estimate_prior and prior_shift_test: published vector, maximum, collapse, size and power."""

from __future__ import annotations

import warnings

import lightgbm as lgb
import numpy as np
import pytest
from hypothesis import assume, given, strategies as st
from hypothesis.extra import numpy as hnp
from scipy.optimize import minimize_scalar
from scipy.special import expit, logit, softmax
from scipy.stats import chi2

from gbdt_objectives import correct_probability, log_odds_shift
from gbdt_objectives.priors import estimate, estimate_prior, prior_shift_test
from tests.cases import each, refusals, refusals_of

pytestmark = pytest.mark.slow

FIVE = np.array([0.9, 0.8, 0.3, 0.6, 0.2])


@pytest.fixture
def no_detectable(monkeypatch: pytest.MonkeyPatch) -> None:
    """Simulations that do not look at ``detectable`` do without it, nine tenths of their time:
    nothing else is computed from it."""
    monkeypatch.setattr(
        estimate, "detectable_priors", lambda expected, pi0: np.full((2, len(pi0)), np.nan)
    )


def binary(n: int, prior: float, rng: np.random.Generator, separation: float = 2.0):
    """Labels, and true probabilities under a prior of a half."""
    y = (rng.random(n) < prior).astype(int)
    x = rng.normal(size=n) + separation * y
    return y, expit(separation * (x - separation / 2))


def three(n: int, prior: np.ndarray, train_prior: np.ndarray, rng: np.random.Generator):
    """Labels, and true probabilities of three classes under the training prior."""
    centre = np.array([[0.0, 0.0], [1.5, 0.0], [0.0, 1.5]])
    y = rng.choice(3, n, p=prior)
    x = rng.normal(size=(n, 2)) + centre[y]
    return y, softmax(x @ centre.T - (centre**2).sum(1) / 2 + np.log(train_prior), axis=1)


# the published vector


@pytest.mark.parametrize(
    ("columns", "train_prior"), [(False, 0.5), (True, [0.5, 0.5]), (True, 0.5)]
)
def test_vector(columns, train_prior) -> None:
    probability = np.column_stack([1 - FIVE, FIVE]) if columns else FIVE
    estimate = estimate_prior(probability, train_prior, tol=1e-10)
    expected = 0.703178 if train_prior == 0.5 else [0.296822, 0.703178]
    assert estimate.prior == pytest.approx(expected, abs=5e-7)  # as printed
    assert isinstance(estimate.prior, float) == (train_prior == 0.5)
    assert estimate.converged
    assert not estimate.collapsed
    assert estimate.train_prior == pytest.approx(train_prior)
    assert estimate.n_iter <= 15  # of a root; expectation maximisation took over 40


def test_an_iteration_of_expectation_maximisation() -> None:
    """Of three classes: the first is the mean, as published."""
    share = np.array([0.5, 0.3, 0.6, 0.2, 0.4])
    P = np.column_stack([FIVE, share * (1 - FIVE), (1 - share) * (1 - FIVE)])
    with pytest.warns(UserWarning, match="no convergence in 1 iterations"):
        estimate = estimate_prior(P, [0.5, 0.25, 0.25], max_iter=1)
    np.testing.assert_allclose(estimate.prior, P.mean(axis=0), rtol=1e-14)
    assert estimate.prior[0] == pytest.approx(0.56)


def test_stops_on_the_change_relative_to_the_class() -> None:
    """A tolerance of 1e-2, absolute, would be the whole prior."""
    _, p = binary(50_000, 0.01, np.random.default_rng(0), separation=1.2)
    fine = estimate_prior(p, 0.5, tol=1e-12)
    assert estimate_prior(p, 0.5, tol=1e-2).prior == pytest.approx(fine.prior, rel=0.01)
    assert estimate_prior(p, 0.5).prior == pytest.approx(fine.prior, rel=1e-6)


# what it finds

posteriors = hnp.arrays(np.float64, st.integers(5, 40), elements=st.floats(0.01, 0.99))


@given(p=posteriors, train_prior=st.floats(0.05, 0.95))
def test_it_is_the_maximum_of_the_likelihood(p, train_prior) -> None:
    assume(np.ptp(p) > 1e-3)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # collapse
        estimate = estimate_prior(p, train_prior, tol=1e-9, max_iter=3000)

    assume(estimate.converged or estimate.collapsed)  # on flat ground it takes longer

    def log_likelihood(pi: float) -> float:
        return float(np.log(pi * p / train_prior + (1 - pi) * (1 - p) / (1 - train_prior)).sum())

    best = minimize_scalar(lambda pi: -log_likelihood(pi), bounds=(0, 1), method="bounded")
    # a collapse stops with a hundredth of a row to go, which is worth at most .01
    slack = 0.0101 if estimate.collapsed else 1e-5
    assert log_likelihood(estimate.prior) > -best.fun - slack
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        statistic = prior_shift_test(p, train_prior, tol=1e-9).statistic
    assert statistic == pytest.approx(max(2 * log_likelihood(estimate.prior), 0), abs=1e-8)


def test_it_finds_a_known_prior() -> None:
    rng = np.random.default_rng(0)
    y, p = binary(100_000, 0.02, rng)
    estimate = estimate_prior(p, 0.5)
    assert estimate.prior == pytest.approx(0.02, rel=0.1)  # deviation about 2.5 %
    shift = log_odds_shift(train_prior=0.5, target_prior=estimate.prior)
    assert correct_probability(p, shift).mean() == pytest.approx(y.mean(), rel=0.1)

    prior, train_prior = np.array([0.8, 0.15, 0.05]), np.array([0.2, 0.3, 0.5])
    _, P = three(50_000, prior, train_prior, rng)
    np.testing.assert_allclose(estimate_prior(P, train_prior).prior, prior, atol=0.015)


def test_float32_softmax_is_good_enough() -> None:
    rng = np.random.default_rng(0)
    _, P = three(2000, np.full(3, 1 / 3), np.full(3, 1 / 3), rng)
    np.testing.assert_allclose(
        estimate_prior(P.astype(np.float32), [1 / 3] * 3).prior,
        estimate_prior(P, [1 / 3] * 3).prior,
        rtol=1e-4,
    )


# warnings


def test_collapse_warns() -> None:
    """Predictions that lean to the negatives more than any prior explains."""
    p = expit(np.random.default_rng(0).normal(-1, 0.3, 1000))
    with pytest.warns(UserWarning, match="prior of class 1 collapsed to 0 .* calibrated") as record:
        estimate = estimate_prior(p, 0.5)
    assert record[0].filename == __file__
    assert estimate.collapsed
    assert not estimate.converged
    assert estimate.prior == pytest.approx(1e-5)  # a hundredth of a row in a thousand
    with pytest.warns(UserWarning, match="collapsed") as record:
        prior_shift_test(p, 0.5)
    assert record[0].filename == __file__


def test_a_certain_model_collapses_to_zero() -> None:
    with pytest.warns(UserWarning, match="prior of class 1 collapsed"):
        estimate = estimate_prior(np.zeros(10), 0.5)
    assert estimate.prior == pytest.approx(0.001)


def test_running_out_of_iterations_warns() -> None:
    with pytest.warns(UserWarning, match="no convergence in 3 iterations to 1e-06 of each class"):
        estimate = estimate_prior(FIVE, 0.5, max_iter=3)
    assert estimate.n_iter == 3
    assert not estimate.converged
    assert not estimate.collapsed


# held-out rows


@each("distortion", [(2.0, 0.0), (0.6, 0.0), (1.0, 0.7)])
@pytest.mark.filterwarnings("ignore:.*collapsed")
def test_held_out_rows_make_up_for_distorted_probabilities(distortion) -> None:
    """Margins too large, as from a model that has overfitted, too small, or moved."""
    rng = np.random.default_rng(0)

    def distorted(p: np.ndarray) -> np.ndarray:
        return expit(distortion[0] * logit(p) + distortion[1])

    y, p = binary(20_000, 0.5, rng)
    _, p_new = binary(20_000, 0.1, rng)
    raw = estimate_prior(distorted(p_new), 0.5).prior
    fixed = estimate_prior(distorted(p_new), out_of_fold=(y, distorted(p)))
    assert abs(raw - 0.1) > 0.02
    assert fixed.prior == pytest.approx(0.1, abs=0.012)
    assert abs(fixed.prior - 0.1) < 4 * fixed.standard_error
    # little is lost beside undistorted probabilities
    undistorted = estimate_prior(p_new, out_of_fold=(y, p))
    assert fixed.standard_error < 1.3 * undistorted.standard_error


@pytest.mark.filterwarnings("ignore:.*collapsed")
def test_held_out_rows_of_three_classes() -> None:
    rng = np.random.default_rng(0)
    train_prior, prior = np.array([0.2, 0.3, 0.5]), np.array([0.6, 0.3, 0.1])

    def distorted(P: np.ndarray) -> np.ndarray:
        return softmax(0.5 * np.log(P) + [0.0, 0.7, -0.3], axis=1)

    y, P = three(30_000, train_prior, train_prior, rng)
    _, P_new = three(30_000, prior, train_prior, rng)
    fixed = estimate_prior(distorted(P_new), out_of_fold=(y, distorted(P)))
    np.testing.assert_allclose(fixed.prior, prior, atol=0.02)
    assert (np.abs(fixed.prior - prior) < 4 * fixed.standard_error).all()
    assert fixed.interval.shape == (2, 3)
    assert np.abs(estimate_prior(distorted(P_new), train_prior).prior - prior).max() > 0.05


def test_the_prior_of_training_is_that_of_the_held_out_rows() -> None:
    """A perfect model: nothing has moved, and nothing is found, whatever its own prior was."""
    rng = np.random.default_rng(1)
    y, p = binary(5000, 0.1545, rng)  # p is for a prior of a half
    test = prior_shift_test(p, out_of_fold=(y, p))
    assert test.estimate.train_prior == y.mean()
    assert test.estimate.prior == pytest.approx(y.mean(), rel=1e-6)
    assert test.statistic < 1e-9
    assert prior_shift_test(p, y.mean()).statistic > 100


@each("value", [0.05, 0.1, 0.2, 0.3, 0.37])
def test_equal_held_out_predictions_tell_nothing(value) -> None:
    """Means of equal numbers differ by rounding, which once gave a p-value of 6e-24."""
    y = np.repeat([0, 1], [70, 33])
    for new in (np.full(100, value), np.repeat([0.2, value], 50)):
        with pytest.raises(ValueError, match="do not tell the classes apart"):
            prior_shift_test(new, out_of_fold=(y, np.full(103, value)))


def test_overconfident_predictions_do_not_go_in_circles() -> None:
    """Plain steps went from .611 to 3e-5 and back; the moment equation has one root, .0752."""
    rng = np.random.default_rng(3)
    pi0, pi = rng.dirichlet(np.ones(2) * 3), rng.dirichlet(np.ones(2) * 2)

    def draw(p: np.ndarray, m: int) -> tuple[np.ndarray, np.ndarray]:
        y = rng.choice(2, size=m, p=p)
        Z = rng.normal(size=(m, 2))
        Z[np.arange(m), y] += 0.3
        return y, softmax(4 * (0.3 * Z + np.log(pi0)), axis=1)[:, 1]

    held_out = draw(pi0, 200)
    estimate = estimate_prior(draw(pi, 200)[1], out_of_fold=held_out)
    assert estimate.converged
    assert estimate.prior == pytest.approx(0.0752, abs=1e-4)
    with pytest.raises(ValueError, match="probability has 1 row: at least two"):
        estimate_prior([0.4], out_of_fold=held_out)


def test_a_class_that_is_gone_collapses() -> None:
    rng = np.random.default_rng(2)
    y, p = binary(4000, 0.5, rng, separation=4.0)
    _, gone = binary(2000, 0.0, rng, separation=4.0)
    with pytest.warns(UserWarning, match="prior of class 1 collapsed to 0"):
        estimate = estimate_prior(gone[gone < 0.5], out_of_fold=(y, p))
    assert estimate.collapsed
    assert estimate.interval[0] == 0


# how certain


@pytest.mark.parametrize("prior", [0.1, 0.3])
def test_ends_of_the_interval_are_where_the_test_begins_to_reject(prior) -> None:
    rng = np.random.default_rng(12)
    (y, held), (_, new) = binary(900, 0.4, rng), binary(900, prior, rng)
    s, n_1, n_0, n = y.mean(), y.sum(), (1 - y).sum(), len(new)

    def z(pi: float) -> float:
        """The moments' difference at pi, in its standard errors, written out for two classes."""
        u, v = (
            (p / s - (1 - p) / (1 - s)) / ((1 - pi) * (1 - p) / (1 - s) + pi * p / s)
            for p in (new, held)
        )
        difference = u.mean() - pi * v[y == 1].mean() - (1 - pi) * v[y == 0].mean()
        held_out = pi**2 * v[y == 1].var(ddof=1) / n_1 + (1 - pi) ** 2 * v[y == 0].var(ddof=1) / n_0
        return difference / np.sqrt(u.var(ddof=1) / n + held_out)

    low, high = estimate_prior(new, out_of_fold=(y, held)).interval
    # root-finder's tolerance of 1e-9 standard errors
    assert [z(low), z(high)] == pytest.approx([1.959963985, -1.959963985], abs=1e-6)
    columns = estimate_prior(
        np.column_stack([1 - new, new]), out_of_fold=(y, np.column_stack([1 - held, held]))
    )
    np.testing.assert_allclose(columns.interval, [[1 - high, low], [1 - low, high]], atol=1e-12)


def test_the_interval_at_face_value_inverts_the_score_test() -> None:
    _, p = binary(400, 0.1, np.random.default_rng(13))
    for pi, sign in zip(
        estimate_prior(p, 0.5, confidence_level=0.8).interval, (1, -1), strict=True
    ):
        u = (2 * p - 1) / (pi * p + (1 - pi) * (1 - p))
        assert u.sum() / np.sqrt((u**2).sum()) == pytest.approx(sign * 1.2815515655, abs=1e-6)


@pytest.mark.usefixtures("no_detectable")
@pytest.mark.parametrize("held_out", [False, True])
@pytest.mark.parametrize("prior", [0.5, 0.05])
def test_the_interval_covers(held_out, prior) -> None:
    """In 200 samples; the binomial deviation of 90 % is 2.1 %."""
    rng = np.random.default_rng(3)
    covered, estimates, errors = [], [], []
    for _ in range(200):
        p = binary(1000, prior, rng)[1] ** (2 if held_out else 1)  # distorted where it may be
        rows = {}
        if held_out:
            y, q = binary(1000, 0.5, rng)
            rows = {"out_of_fold": (y, q**2)}
        found = estimate_prior(p, None if held_out else 0.5, **rows, confidence_level=0.9)
        covered.append(found.interval[0] <= prior <= found.interval[1])
        estimates.append(found.prior)
        errors.append(found.standard_error)
    assert 0.85 < np.mean(covered) < 0.95
    assert np.mean(errors) == pytest.approx(np.std(estimates), rel=0.15)  # deviation 5 %


@pytest.mark.usefixtures("no_detectable")
def test_classes_of_three_are_covered() -> None:
    rng = np.random.default_rng(4)
    pi0, prior = np.array([0.2, 0.3, 0.5]), np.array([0.5, 0.3, 0.2])
    covered = []
    for _ in range(200):
        y, P = three(1000, pi0, pi0, rng)
        found = estimate_prior(
            three(1000, prior, pi0, rng)[1], out_of_fold=(y, P), confidence_level=0.9
        )
        covered.append((found.interval[0] <= prior) & (prior <= found.interval[1]))
        assert found.prior.sum() == pytest.approx(1)
    assert (np.mean(covered, axis=0) > 0.83).all()  # deviation 2.1 %


@pytest.mark.usefixtures("no_detectable")
def test_the_test_holds_its_level_for_a_fitted_booster() -> None:
    """250 samples of one pool, so without a shift; the likelihood ratio, which trusts the model,
    rejects often.

    The binomial deviation of 5 % is 1.4 %.
    """
    rng = np.random.default_rng(5)

    def rows(n: int) -> tuple[np.ndarray, np.ndarray]:
        X = rng.normal(size=(n, 4))
        return X, (rng.random(n) < expit(-1.7 + X[:, 0] + 0.8 * X[:, 1] * X[:, 2])).astype(int)

    X, y = rows(3000)
    model = lgb.LGBMClassifier(n_estimators=60, n_jobs=1, verbose=-1).fit(X, y)
    X_pool, y_pool = rows(40_000)
    pool = model.predict_proba(X_pool)[:, 1]
    rejected, trusting = [], []
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for held, new in rng.integers(len(pool), size=(250, 2, 1000)):
            known = y_pool[held], pool[held]
            rejected.append(prior_shift_test(pool[new], out_of_fold=known).p_value < 0.05)
            trusting.append(prior_shift_test(pool[new], y.mean()).p_value < 0.05)
    assert 0.02 < np.mean(rejected) < 0.08
    assert np.mean(trusting) > 0.15


# the test


@given(
    P=hnp.arrays(np.float64, (30, 3), elements=st.floats(0.05, 1)),
    pi0=hnp.arrays(np.float64, 3, elements=st.floats(0.1, 1)),
)
def test_the_statistic_is_the_same_for_every_class(P, pi0) -> None:
    """At the fixed point, by each class's own ratio p_new(x|k) / p_old(x|k)."""
    P, pi0 = P / P.sum(axis=1, keepdims=True), pi0 / pi0.sum()
    assume(np.linalg.svd(P - P.mean(axis=0))[1][1] > 1e-3)  # the classes can be told apart
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # collapse
        test = prior_shift_test(P, pi0, tol=1e-12)
    pi = test.estimate.prior
    new = correct_probability(P, log_odds_shift(train_prior=pi0, target_prior=pi / pi.sum()))
    each = 2 * (np.log(P / pi0).sum(axis=0) - np.log(new / pi).sum(axis=0))
    np.testing.assert_allclose(each, test.statistic, rtol=1e-9, atol=1e-9)
    if test.estimate.converged:
        np.testing.assert_allclose(new.mean(axis=0), pi, rtol=1e-9)
    assert test.degrees_of_freedom == 2
    assert test.p_value == pytest.approx(chi2.sf(test.statistic, 2))


@pytest.mark.usefixtures("no_detectable")
def test_size_and_power() -> None:
    """400 samples of 500 rows; binomial deviation of 5 % is 1.1 %."""
    rng = np.random.default_rng(0)
    reject = {}
    for prior in (0.5, 0.42):
        samples = [binary(500, prior, rng)[1] for _ in range(400)]
        reject[prior] = np.mean([prior_shift_test(p, 0.5).p_value < 0.05 for p in samples])
    assert 0.02 < reject[0.5] < 0.08
    assert reject[0.42] > 0.6  # .08 is about 2.9 deviations of the estimate


@pytest.mark.usefixtures("no_detectable")
def test_size_with_three_classes() -> None:
    rng = np.random.default_rng(0)
    pi0 = np.array([0.2, 0.3, 0.5])
    p_values = [prior_shift_test(three(400, pi0, pi0, rng)[1], pi0).p_value for _ in range(300)]
    assert 0.02 < np.mean(np.array(p_values) < 0.05) < 0.09  # binomial deviation 1.3 %
    assert 0.4 < np.mean(p_values) < 0.6  # uniform


# bad input


test_bad_input = refusals_of(
    lambda function, probability, train_prior: function(probability, train_prior),
    *((function, *row) for function in [estimate_prior, prior_shift_test] for row in [
        ([0.5, 1.1], 0.5, "probability must be in .0, 1., found 1.1 at row 1"),
        ([0.5, np.nan], 0.5, "probability must be in .0, 1., found nan at row 1"),
        ([], 0.5, "and not empty, found shape"),
        (0.5, 0.5, "and not empty, found shape"),
        ([[0.5, 0.4]], 0.5, "rows of probability must sum to 1"),
        ([[0.2, 0.3, 0.5]], 0.5, "probability has 3 classes, but there must be 2"),
        ([0.5], [0.2, 0.3, 0.5], "probability has 2 classes, but there must be 3"),
        ([0.5], 0.0, "train_prior must be above 0 and below 1"),
        ([0.5], np.nan, "train_prior must be finite"),
        ([[0.5, 0.5]], [0.5, 0.4], "train_prior must sum to 1"),
        ([[0.5, 0.5]], [1.0, 0.0], "train_prior must be above 0 for every class"),
    ])
)  # fmt: skip


test_bad_out_of_fold = refusals_of(
    lambda y, probability: estimate_prior([0.5, 0.6], out_of_fold=(y, probability)),
    ([0, 0], [0.4, 0.6], r"columns 0..1, each at least twice, found \{0.0: 2\}"),
    ([0, 0, 1], [0.4, 0.6, 0.7], "each at least twice, found .*1.0: 1"),
    ([0, 2], [0.4, 0.6], "labels of out_of_fold must be the columns 0..1"),
    ([0, 1, 1], [0.4, 0.6], "the probability of out_of_fold has 2 rows, but the labels have 3"),
    ([0, 1], [0.4, 1.2], "the probability of out_of_fold must be in .0, 1."),
    ([0, 1], [[0.2, 0.3, 0.5]] * 2, "out_of_fold has 3 classes, but there must be 2"),
)


@pytest.mark.filterwarnings("ignore::UserWarning")  # of a collapse
@pytest.mark.parametrize(("train_prior", "n", "held_out"), [(0.5, 1000, False), (0.05, 2000, True)])
def test_a_detectable_prior_is_found_four_times_in_five(train_prior, n, held_out, request) -> None:
    rng = np.random.default_rng(0)

    def rows(prior: float) -> tuple[np.ndarray, np.ndarray]:
        y, p = binary(n, prior, rng, separation=1.7)
        return y, expit(logit(p) + logit(train_prior))

    def test_of(prior: float):
        if held_out:
            return prior_shift_test(rows(prior)[1], out_of_fold=rows(train_prior))
        return prior_shift_test(rows(prior)[1], train_prior)

    priors = np.median([test_of(train_prior).detectable for _ in range(4)], axis=0)
    assert priors[0] < train_prior < priors[1]
    request.getfixturevalue("no_detectable")
    for prior in priors:
        power = np.mean([test_of(prior).p_value < 0.05 for _ in range(150)])
        assert abs(power - 0.8) < 0.1  # three binomial errors of .033


@pytest.mark.filterwarnings("ignore::UserWarning")  # of a collapse
def test_detectable_priors_by_hand_and_of_three_classes() -> None:
    """Predictions of one cut find a shift as a test of a share does."""
    high = np.r_[np.ones(400), np.zeros(600)]  # 40 % of the rows, whatever their class
    y = np.r_[np.arange(400) < 320, np.arange(600) < 180].astype(int)
    p = np.where(high == 1, 0.8, 0.3)
    test = prior_shift_test(p, out_of_fold=(y, p))
    share = np.array([high[y == 0].mean(), high[y == 1].mean()])
    for prior, train_prior in zip(test.detectable, [0.5, 0.5], strict=True):
        new, old = (float(np.array([1 - x, x]) @ share) for x in (prior, train_prior))
        variance = new * (1 - new) / 1000 + old * (1 - old) / 999
        z = abs(new - old) / np.sqrt(variance)
        assert z == pytest.approx(1.959964 + 0.841621, rel=1e-3)  # the far tail adds 1e-6
    assert "detectable=array([" in repr(test)
    rng, prior = np.random.default_rng(1), np.array([0.5, 0.3, 0.2])
    _, P = three(2000, prior, prior, rng)
    y, held_out = three(2000, prior, prior, rng)
    several = prior_shift_test(P, out_of_fold=(y, held_out)).detectable
    assert several.shape == (2, 3)
    assert (several[0] < np.bincount(y) / 2000).all()
    assert (several[1] > np.bincount(y) / 2000).all()
    more = prior_shift_test(np.tile(P, (4, 1)), prior).detectable
    fewer = prior_shift_test(P, prior).detectable
    np.testing.assert_allclose(np.diff(fewer, axis=0) / np.diff(more, axis=0), 2, rtol=0.1)
    few = prior_shift_test(binary(30, 0.02, rng)[1] * 0.02, 0.01)
    assert np.isnan(few.detectable[0])  # not even 0 is far enough


# rows of one user


def test_copies_of_a_row_in_one_group_are_one_row() -> None:
    """Up to the lost degrees of freedom, of each class or of all groups: 1 in 150."""
    rng = np.random.default_rng(4)
    y, p = binary(300, 0.5, rng)
    new = binary(400, 0.3, rng)[1]
    fitted = {
        "train_prior": (lambda p, y, q, **how: prior_shift_test(p, 0.5, **how)),
        "out_of_fold": (lambda p, y, q, **how: prior_shift_test(p, out_of_fold=(y, q), **how)),
    }
    for name, test in fitted.items():
        alone = test(new, y, p)
        pair = name == "out_of_fold"
        copies = np.repeat(new, 5), np.repeat(y, 5), np.repeat(p, 5)
        users = np.repeat(np.arange(400), 5), np.repeat(np.arange(300), 5).astype(str)
        found = test(*copies, groups=users if pair else users[0])
        one = test(new, y, p, groups=(np.arange(400), None) if pair else np.arange(400))
        for other in (found, one):
            for what in ("prior", "standard_error", "interval"):
                expected = getattr(alone.estimate, what)
                np.testing.assert_allclose(getattr(other.estimate, what), expected, rtol=2e-3)
        close = {"rel": 1e-9} if pair else {"rel": 0.05}  # of train_prior another statistic
        assert found.statistic == pytest.approx(one.statistic, rel=1e-9)
        assert one.statistic == pytest.approx(alone.statistic, **close)
        np.testing.assert_allclose(found.detectable, one.detectable, rtol=0.02)
        np.testing.assert_allclose(one.detectable, alone.detectable, rtol=0.02)
        assert test(*copies).p_value < found.p_value


@pytest.mark.usefixtures("no_detectable")
@pytest.mark.parametrize("held_out", [False, True])
def test_groups_widen_the_interval_of_users_with_many_rows(held_out) -> None:
    rng, draws, covered, rejected = np.random.default_rng(11), 60, np.zeros(2), np.zeros(2)

    def users(number, prior):
        y = np.repeat((rng.random(number) < prior).astype(int), 8)
        x = np.repeat(rng.normal(size=number), 8) * 0.7 + rng.normal(size=8 * number) * 0.7
        return y, expit(2 * (x + 2 * y - 1)), np.repeat(np.arange(number), 8)

    for _ in range(draws):
        _, p, user = users(100, 0.3)
        y, q, other = users(100, 0.3)
        source = {"out_of_fold": (y, q)} if held_out else {"train_prior": 0.3}
        if not held_out:
            p = correct_probability(p, train_prior=0.5, target_prior=0.3)
        for k, groups in enumerate((None, (user, other) if held_out else user)):
            found = prior_shift_test(p, **source, groups=groups)
            rejected[k] += found.p_value < 0.05
            low, high = found.estimate.interval
            covered[k] += low <= 0.3 <= high
    assert covered[0] / draws < 0.7
    assert abs(covered[1] / draws - 0.95) < 3 * 0.028  # binomial errors
    assert rejected[0] / draws > 0.3
    assert rejected[1] / draws < 0.05 + 3 * 0.028


def test_a_rejected_edge_has_an_interval_of_z_errors() -> None:
    """No prior has a moment within z of its standard errors: 1, beside .01."""

    def rejected(prior: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        return np.ones(1), np.array([[1e-4]])

    ends = estimate.invert_test(rejected, 0.5, 0.05, 1e-6, 2.0)
    assert ends == pytest.approx((0.4, 0.6), rel=1e-12)
    assert estimate.invert_test(rejected, 0.99, 0.05, 0.02, 2.0) == pytest.approx((0.88, 1.0))
    assert estimate.invert_test(rejected, 0.01, 0.05, 0.02, 2.0) == pytest.approx((0.0, 0.12))


PAIRS = np.random.default_rng(0).dirichlet([1, 1], 300)
TWINS = np.column_stack([PAIRS[:, 0] / 2, PAIRS[:, 0] / 2, PAIRS[:, 1]])
OWN = ([0, 0, 1, 1], [0.2, 0.4, 0.5, 0.7])  # labels and probabilities held out

test_refusals = refusals(
    (lambda: estimate_prior([0.3, 0.3], out_of_fold=([0, 1, 0, 1], [0.3] * 4)),
     "do not tell the classes apart"),
    *((lambda level=level: estimate_prior(FIVE, 0.5, confidence_level=level),
     r"confidence_level must be in \(0, 1\), found") for level in [0, 1, -0.1, 90]),
    *((lambda bad=bad: estimate_prior(FIVE, 0.5, tol=bad), "tol must be")
      for bad in [0, -1e-6, np.nan]),
    (lambda: estimate_prior(FIVE, 0.5, max_iter=0),
     "max_iter must be a whole number >= 1, found 0"),
    *((lambda out_of_fold=out_of_fold: estimate_prior([0.5, 0.2], out_of_fold=out_of_fold),
     "out_of_fold must be a pair", TypeError) for out_of_fold in [[0.5, 0.2, 0.3], (0.5,), "ab"]),
    (lambda: estimate_prior(np.full(50, 0.3), 0.3), "does not tell all classes apart"),
    (lambda: estimate_prior(TWINS, [0.25, 0.25, 0.5]), "does not tell all classes apart"),
    (lambda: estimate_prior([0.5], 0.5, out_of_fold=OWN),
     "found both: the labels of out_of_fold are the prior"),
    (lambda: estimate_prior([0.5]), "exactly one of train_prior and out_of_fold .* found none"),
    (lambda: estimate_prior(OWN[1], 0.5, groups=[1, 2]),
     "groups has 2 rows, but the labels have 4"),
    (lambda: estimate_prior(OWN[1], 0.5, groups=([1] * 4, [1] * 4)),
     "a pair is for out_of_fold", TypeError),
    (lambda: estimate_prior(OWN[1], 0.5, groups=[1, None, 2, 2]), "groups must not be missing"),
    (lambda: estimate_prior(OWN[1], out_of_fold=OWN, groups=[1, 2, 3, 4]),
     "groups must be a pair", TypeError),
    (lambda: estimate_prior(OWN[1], out_of_fold=OWN, groups=(None, [1, 2])),
     "the groups of out_of_fold has 2 rows"),
)  # fmt: skip
