"""What the test of a calibration error adds up, fits and draws, by loops and plain formulas."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from scipy.optimize import minimize
from scipy.special import expit, logit

from gbdt_objectives.calibration import calibration_error_test, reliability
from gbdt_objectives.calibration.rows import probability_rows
from tests.calibration.reference import without_counts
from tests.cases import each

CELL = 0.35  # of log-odds and of logarithms of rates


def sampled(n: int = 60, B: int = 3, seed: int = 0):
    """Labels, probabilities, weights, rates and bins of rows whose negatives were kept."""
    rng = np.random.default_rng(seed)
    p, w = rng.uniform(0.02, 0.9, n), rng.uniform(0.5, 3, n)
    r = rng.choice([0.1, 0.4, 1.0], n)
    b = rng.integers(0, B, n)
    b[:B] = np.arange(B)
    y = (rng.random(n) < p / (p + (1 - p) * r)).astype(int)
    return y, p, w, r, b


def test_bins_have_the_variance_of_their_rows() -> None:
    y, p, w, r, b = sampled()
    bins = reliability.sum_bins(replace(probability_rows(y, p, None, w), rate=r), b)
    unit = w / w.mean()
    v = np.where(y == 1, unit, unit / r)
    k, s = unit * (p + (1 - p) * r) / r, p / (p + (1 - p) * r)
    squares = 0.0
    for i in range(3):
        own = b == i
        assert bins.W[i] == pytest.approx(v[own].sum(), rel=1e-13)
        assert bins.p[i] == pytest.approx(np.average(p[own], weights=v[own]), rel=1e-13)
        gap = np.average((p - y)[own], weights=v[own])
        assert bins.d[i] == pytest.approx(gap, rel=1e-12)
        squares += ((v * (y - p + gap))[own] ** 2).sum()
        # given the rows, sum v (y - p) is sum k (y - s), of independent outcomes
        assert (bins.e * bins.m * bins.p)[i] == pytest.approx((k * s)[own].sum(), rel=1e-13)
        variance = (k**2 * s * (1 - s))[own].sum()
        assert bins.variance(bins.p)[i] == pytest.approx(variance, rel=1e-12)
        # and of mean m p, (e m p)/e
        assert bins.e[i] == pytest.approx((k**2 * s)[own].sum() / (k * s)[own].sum(), rel=1e-13)
    assert bins.pairs.shape == (3, 0)
    expected = bins.variance(bins.p - bins.d).sum()
    assert bins.phi == pytest.approx(max(1.0, squares / expected), rel=1e-12)


def test_few_rare_rows_have_their_variance() -> None:
    p = np.array([0.02, 0.1])
    bins = reliability.sum_bins(probability_rows([0, 1], p, None, None), np.zeros(2, int))
    assert bins.variance(bins.p)[0] == pytest.approx((p * (1 - p)).sum(), rel=1e-12)


def test_outcomes_that_vary_more_than_expected_are_noticed() -> None:
    """Weights of single rows count more where they are the outcomes'."""
    y, p = np.array([1, 0, 0, 0, 0]), np.full(5, 0.2)
    w = np.array([3.0, 1, 1, 1, 1])
    bins = reliability.sum_bins(probability_rows(y, p, None, w), np.zeros(5, int))
    v = w / w.mean()
    mean = v[0] / v.sum()
    expected = (v**2).sum() * mean * (1 - mean)
    squares = (v**2 * (y - mean) ** 2).sum()
    assert squares > expected
    assert bins.phi == pytest.approx(squares / expected, rel=1e-12)


def test_bins_of_certain_predictions() -> None:
    y, p, w = np.array([0, 0, 1]), np.array([0.0, 0.0, 1.0]), np.array([1.0, 2.0, 3.0])
    bins = reliability.sum_bins(probability_rows(y, p, None, w), np.array([0, 0, 1]))
    np.testing.assert_allclose(bins.e, [5 / 3 / 2, 1.5], rtol=1e-14)  # sum w^2 / sum w, mean w 2
    np.testing.assert_allclose(bins.m, [1.5 / (5 / 6), 1], rtol=1e-14)
    assert bins.phi == 1


def one_bin(**fields) -> reliability.BinSums:
    found = {"W": [2.0, 5.0], "p": [0.3, 0.2], "d": [0.1, -0.05], "e": [0.01, 0.02]}
    found |= {"m": [200.0, 250.0], "x": [0.1, 0.0], "pairs": np.zeros((2, 0))} | fields
    return reliability.BinSums(**{name: np.asarray(value) for name, value in found.items()})


@each("gap", [[0.0, 0.0], [0.1, -0.1]])
@each("phi", [1.0, 2.25])
@each("pairs", [None, [[0.2], [0.1]]])
def test_drawn_errors_have_the_variance_of_the_bins(gap, phi: float, pairs) -> None:
    bins = one_bin() if pairs is None else one_bin(pairs=pairs)
    gap, draws = np.array(gap), 20_000
    for only in range(2):  # of each bin, in which the other's weight is next to nothing
        own = np.where(np.arange(2) == only, 1.0, 1e-9)
        part = one_bin(
            W=bins.W * own, e=bins.e * own, pairs=bins.pairs * own[:, np.newaxis], p=bins.p
        )
        errors = part.simulate(gap, phi, draws, seed=0)
        noise = phi * part.variance(part.p - gap) + (part.pairs**2).sum(axis=1)
        square = (noise / part.W**2 + gap**2)[only]
        # the spread of squares of normal numbers is 1.4 times their mean
        assert (errors**2).mean() == pytest.approx(square, rel=3 * 1.5 / np.sqrt(draws))
    assert errors.shape == (draws,)


def test_cells_are_of_similar_rows() -> None:
    y, p, w, r, b = sampled(400)
    rows = replace(probability_rows(y, p, None, w), rate=r)
    bins = reliability.sum_bins(rows, b)
    found = reliability.sampled_bins(bins, rows, b)
    cells: dict = {}
    for i in range(400):
        key = b[i], np.floor(logit(p[i]) / CELL), np.floor(np.log(r[i]) / CELL)
        cells.setdefault(key, []).append(i)
    assert 100 < len(cells) < 200
    unit = w / w.mean()
    expected = []
    for (k, _, _), own in cells.items():
        u = unit[own]
        stands = u / (p[own] + (1 - p[own]) * r[own])
        n = stands.sum()
        expected.append((k, stands @ p[own] / n, stands @ r[own] / n, u.sum(), u @ u / u.sum()))
    ours = zip(found.bin, found.cell_p, found.rate, found.weight, found.unit, strict=True)
    np.testing.assert_allclose(sorted(ours), sorted(expected), rtol=1e-12)
    for name in ("W", "p", "d", "e", "m", "x", "phi"):
        np.testing.assert_array_equal(getattr(found, name), getattr(bins, name))
    slope, level = np.polyfit(logit(found.cell_p), found.z, 1)
    assert slope == pytest.approx(1, abs=0.4)  # predictions are right
    np.testing.assert_allclose(found.z, level + slope * logit(found.cell_p), rtol=1e-9)
    one = reliability.sampled_bins(bins, replace(rows, rate=0.4), b)
    np.testing.assert_allclose(one.rate, 0.4, rtol=1e-12)


def test_the_slope_of_log_odds_is_the_likeliest_with_its_prior() -> None:
    rng = np.random.default_rng(0)
    z, log_rate, W = rng.normal(-3, 1, 20), rng.uniform(-3, 0, 20), rng.uniform(0.5, 8, 20)
    positive = W * expit(1.4 * z + 1 - log_rate) * rng.uniform(0.5, 1, 20)
    slope, intercept = reliability.fit_slope(z, log_rate, W, positive)
    centre = np.average(z, weights=W)

    def loss(beta):
        a, level = beta
        f = a * (z - centre) + level - log_rate
        likelihood = W @ np.logaddexp(0, f) - positive @ f
        return likelihood + 4 * (a - 1) ** 2 / 2 + 0.04 * (level - centre) ** 2 / 2

    free = minimize(loss, [1.0, centre], method="BFGS", options={"gtol": 1e-7}).x
    # BFGS by differences of the loss
    assert [slope, intercept + slope * centre] == pytest.approx(free.tolist(), abs=1e-4)
    assert reliability.fit_slope(-z, log_rate, W, positive)[0] >= 0


def cells_of(W=1e4) -> reliability.SampledBins:
    bins = one_bin(e=[1.0, 1.0], m=[1.0, 1.0])
    return reliability.SampledBins(
        **vars(bins),
        bin=np.array([0, 0, 1, 1]),
        cell_p=np.array([0.2, 0.4, 0.1, 0.3]),
        rate=np.array([0.1, 0.5, 0.2, 1.0]),
        weight=W * np.array([1.0, 2, 3, 4]),
        unit=np.array([1.0, 2, 1, 0.5]),
        z=np.array([-1.0, 0.3, -2, -1.5]),
    )


def test_bins_of_cells_have_the_gaps_asked_for() -> None:
    cells, gap = cells_of(), np.array([0.05, -0.1])
    pi = cells.probability(gap)
    n = cells.weight / (pi + (1 - pi) * cells.rate)
    np.testing.assert_allclose(cells.stand(pi), n, rtol=1e-14)
    sums = np.bincount(cells.bin, n * (cells.cell_p - pi))
    np.testing.assert_allclose(sums / np.bincount(cells.bin, n), gap, atol=1e-10)
    shift = logit(pi) - cells.z  # the same in each cell of a bin
    assert shift[0] == pytest.approx(shift[1], abs=1e-9)
    assert shift[2] == pytest.approx(shift[3], abs=1e-9)
    error = np.abs(sums).sum() / n.sum()
    assert cells.population_error(gap) == pytest.approx(error, rel=1e-9)


@each("pairs", [None, [[500.0], [0.0]]])
def test_drawn_errors_of_cells_have_their_mean_and_variance(pairs) -> None:
    cells, draws = cells_of(), 20_000
    if pairs is not None:
        cells = replace(cells, pairs=np.array(pairs))
    gap = np.array([0.05, -0.1])
    errors = cells.simulate(gap, 1.0, draws, seed=0)
    pi = cells.probability(gap)
    n = cells.stand(pi)
    one, zero = n * pi, n * (1 - pi) * cells.rate  # weights of the kept
    assert errors.mean() == pytest.approx(cells.population_error(gap), rel=0.01)
    # the error is about sum_b sign_b D_b / W, linear in sums of Poisson numbers
    sign, error = np.sign(gap)[cells.bin], cells.population_error(gap)
    of_one, of_zero = -(1 - cells.cell_p) * sign - error, cells.cell_p * sign - error
    variance = cells.unit @ (one * of_one**2) + cells.unit @ (zero * (of_zero / cells.rate) ** 2)
    variance += (cells.pairs**2).sum()
    assert errors.var() * n.sum() ** 2 == pytest.approx(variance, rel=0.05)


def test_sums_of_groups_and_their_covariance_by_loops() -> None:
    rng = np.random.default_rng(0)
    n, B = 300, 3
    owner, b = rng.integers(0, 40, n), rng.integers(0, B, n)
    residual = rng.normal(size=n) + 2 * rng.normal(size=(40, B))[owner, b]  # of a group, alike
    rows = without_counts(n)
    sums, alone = reliability.group_sums(rows, residual, b, owner)
    expected, together = np.zeros((40, B)), np.zeros(B)
    for i in range(B):
        own = b == i
        groups = len(set(owner[own]))
        for g in range(40):
            expected[g, i] = residual[own & (owner == g)].sum() * np.sqrt(groups / (groups - 1))
        m = own.sum()
        assert alone[i] == pytest.approx((residual[own] ** 2).sum() * m / (m - 1), rel=1e-12)
        together[i] = (expected[:, i] ** 2).sum()
    np.testing.assert_allclose(sums.toarray(), expected, atol=1e-11)
    effect = reliability.design_effect(rows, residual, b, owner)
    np.testing.assert_allclose(effect, np.maximum(together / alone, 1), rtol=1e-11)
    assert effect.min() > 2
    root = reliability.pair_root(rows, residual, b, owner)
    covariance = expected.T @ expected - np.diag(alone)
    assert np.linalg.eigvalsh(covariance).min() > 0  # so that nothing is left out
    np.testing.assert_allclose(root @ root.T, covariance, rtol=1e-9)


def test_directions_of_negative_covariance_are_left_out() -> None:
    """The trace, the variance in all bins together, stays."""
    owner, b = np.repeat(np.arange(50), 4), np.tile([0, 0, 1, 1], 50)
    rng = np.random.default_rng(0)
    residual = np.where(b == 0, np.repeat(rng.normal(size=50), 4), rng.normal(size=200))
    residual[b == 1] -= np.roll(residual[b == 1], 1) * np.tile([0, 1], 50)
    rows = without_counts(200)
    sums, alone = reliability.group_sums(rows, residual, b, owner)
    covariance = (sums.T @ sums).toarray() - np.diag(alone)
    assert np.linalg.eigvalsh(covariance)[0] < 0 < np.trace(covariance)
    root = reliability.pair_root(rows, residual, b, owner)
    assert root.shape == (2, 1)
    assert (root**2).sum() == pytest.approx(np.trace(covariance), rel=1e-12)
    apart = np.tile([1.0, -1, 1, -1], 50)  # what a group adds up to is 0
    assert reliability.pair_root(rows, apart, b, owner).shape == (2, 0)


def test_no_population_is_beyond_certainty() -> None:
    """All outcomes are 1 where .9 is predicted: the error is .1 at most, and that is found."""
    found = calibration_error_test(
        np.ones(12, int), np.full(12, 0.9), n_bins=1, n_resamples=200, random_state=0
    )
    assert found.error == pytest.approx(0.1, rel=1e-12)
    assert found.interval[1] == pytest.approx(0.1, rel=1e-6)


def test_weights_of_one_label_alone_are_taken() -> None:
    for label in (0, 1):
        found = calibration_error_test(
            np.full(20, label), np.full(20, 0.5), sample_weight=np.full(20, 3.0), random_state=0
        )
        assert found.error == pytest.approx(0.5, rel=1e-12)
    with pytest.raises(ValueError, match=r"found 1 for label 1 and 5 .*negative_keep_rate=0.2 "):
        calibration_error_test([1, 0], [0.5, 0.5], sample_weight=[1, 5])
