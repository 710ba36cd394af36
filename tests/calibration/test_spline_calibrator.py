"""SplineCalibrator against scipy's minimiser and splines, and its smoothness against the truth."""

from __future__ import annotations

import json
import tracemalloc
from functools import partial

import numpy as np
import pytest
from scipy.interpolate import BSpline
from scipy.optimize import minimize
from scipy.special import expit, logit, rel_entr

from gbdt_objectives._steps import formulas
from gbdt_objectives.calibration import (
    BetaCalibrator,
    LogitCalibrator,
    SplineCalibrator,
    spline_calibrator as maths,
)
from gbdt_objectives.calibration.calibrators import logistic_loss
from tests.cases import each


def rows(n=3000, seed=0, bend=1.0):
    """Scores whose calibration map bends around 0, and labels."""
    rng = np.random.default_rng(seed)
    z = rng.normal(-1, 1.5, n)
    truth = expit(z + bend * np.tanh(2 * z))
    return expit(z), (rng.random(n) < truth).astype(int), truth


def curve_of(knots, slopes, start):
    calibrator = SplineCalibrator()
    calibrator.knots_, calibrator.slopes_, calibrator.start_ = knots, slopes, start
    numbers = calibrator._map()
    assert numbers.pop("map") == "cubic"
    return partial(formulas.cubic, **numbers)


def test_features_are_a_cubic_spline_that_goes_on_straight() -> None:
    rng = np.random.default_rng(0)
    knots, slopes = np.sort(rng.normal(size=6)), rng.random(7)
    curve = curve_of(knots, slopes, -2.0)
    coefficients = np.append(-2, -2 + np.cumsum(slopes * np.diff(maths.greville(knots))))
    reference = BSpline(maths.full_knots(knots), coefficients, 3)
    inside = np.linspace(knots[0], knots[-1], 500)
    np.testing.assert_allclose(curve(inside), reference(inside), rtol=1e-12)
    for end, way in ((knots[0], -1), (knots[-1], 1)):
        far = end + way * np.array([1, 7.0])
        expected = reference(end) + (far - end) * reference.derivative()(end)
        np.testing.assert_allclose(curve(far), expected, rtol=1e-10)
    line = curve_of(knots, np.full(7, 1.5), -2.0)
    z = np.linspace(-9, 9, 1000)
    np.testing.assert_allclose(line(z), -2 + 1.5 * (z - knots[0]), rtol=1e-12)
    assert (np.diff(curve(z)) >= 0).all()


def test_its_json_is_read_as_served_folder_md_says() -> None:
    p, y, _ = rows()
    calibrator = SplineCalibrator().fit(p, y)
    saved = json.loads(calibrator.to_json())
    t, s = np.array(saved["knots"]), np.array(saved["slopes"])
    full = np.concatenate([[t[0]] * 3, t, [t[-1]] * 3])
    g = (full[1:-3] + full[2:-2] + full[3:-1]) / 3
    c = saved["start"] + np.append(0, np.cumsum(s * np.diff(g)))
    z = logit(p)
    m = BSpline(full, c, 3)(z.clip(t[0], t[-1]))
    m += s[0] * np.minimum(z - t[0], 0) + s[-1] * np.maximum(z - t[-1], 0)
    np.testing.assert_allclose(expit(m), calibrator.predict(p), rtol=1e-9)


def test_a_text_of_the_dense_matrix_loads_and_predicts_the_same() -> None:
    text = (
        '{"format": "gbdt_objectives.SplineCalibrator/1", "input_space": "probability", '
        '"shrink": true, "knots": [-2.197, -0.847, 0.0], "slopes": [0.5, 0.0, 1.25, 2.0], '
        '"start": -1.75}'
    )
    loaded = SplineCalibrator.from_json(text)
    sealed, document = (json.loads(one) for one in (loaded.to_json(), text))
    assert sealed == document | {key: sealed[key] for key in ("format", "sha256")}
    expected = [
        0.0, 0.0005209919816028361, 0.14803303570869786, 0.1877815962691844,
        0.27423895308595925, 0.4887727208626681, 0.9872517679034696, 1.0,
    ]  # fmt: skip
    found = loaded.predict([0, 1e-6, 0.1, 0.2, 0.35, 0.5, 0.9, 1])
    np.testing.assert_allclose(found, expected, rtol=1e-12)


def test_rows_in_blocks_are_the_rows_one_by_one() -> None:
    p, y, _ = rows(100_001)
    p[[0, 5, 40_000, 100_000]] = 0, 1, 1, 0
    fitted = SplineCalibrator().fit(p[1000:3000], y[1000:3000])
    found = fitted.predict(p)
    some = np.r_[:10, 32_760:32_780, 39_999:40_002, 99_990:100_001]
    np.testing.assert_array_equal(found[some], [fitted.predict(p[[row]])[0] for row in some])
    assert found[[0, 5, 40_000, 100_000]].tolist() == [0, 1, 1, 0]


@pytest.mark.one_route("counts the memory of the functions that --last-bits replaces")
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_predicting_takes_24_bytes_a_row_at_most(dtype) -> None:
    p, y, _ = rows(200_000)
    fitted = SplineCalibrator().fit(p[:2000], y[:2000])
    p = p.astype(dtype)
    fitted.predict(p[:10])  # imports
    tracemalloc.start()
    try:
        fitted.predict(p)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak <= 24 * len(p)


@pytest.mark.parametrize("bend", [-1.5, 1.0])
def test_is_the_maximum_of_the_penalised_likelihood(monkeypatch, bend) -> None:
    """For a penalty that is held, and also where slopes are up against 0."""
    monkeypatch.setattr(maths, "ROUGHEST", 3.0)
    monkeypatch.setattr(maths, "SMOOTHEST", 3.0 / 1000 * (1 + 1e-9))
    p, y, _ = rows(1000, bend=bend)
    z = logit(p)
    ours = SplineCalibrator().fit(p, y)
    knots = ours.knots_
    H = maths.slope_features(knots, z)
    g = maths.greville(knots)
    distance = np.diff((g[1:] + g[:-1]) / 2)

    def loss(theta):
        m = theta[-1] + theta[:-1] @ H
        rough = (np.diff(theta[:-1]) ** 2 / distance).sum() * z.std() ** 3
        return np.logaddexp(0, m).sum() - y @ m + 3 / 2 * rough

    start = np.append(np.ones(len(knots) + 1), -1)
    bounds = [(0, None)] * (len(knots) + 1) + [(None, None)]
    best = minimize(loss, start, bounds=bounds, options={"maxfun": 100_000, "ftol": 1e-14})
    found = loss(np.append(ours.slopes_, ours.start_))
    # finite differences end at about 1e-5 of a loss of 500
    assert best.fun - 1e-2 <= found <= best.fun + 1e-6
    assert (ours.slopes_ == 0).any() == (bend < 0)


@pytest.mark.slow
@each("shrink", [False, True])
@each("by_row", [False, True])
def test_many_rows_are_fitted_as_few_are(monkeypatch, shrink, by_row) -> None:
    """The penalty, found on means of rows, costs a 500th of what chance does, about 5."""
    p, y, _ = rows(20_000, 3)
    w = np.random.default_rng(0).exponential(size=len(p))
    rates = np.where(p > 0.5, 0.9, 0.3) if by_row else np.full(len(p), 0.5)
    found = SplineCalibrator(shrink=shrink).fit(p, y, w, keep_rate=rates)
    monkeypatch.setattr(maths, "GROUPS", len(p))
    expected = SplineCalibrator(shrink=shrink).fit(p, y, w, keep_rate=rates)
    np.testing.assert_array_equal(found.knots_, expected.knots_)
    q, p = expected.predict(p), found.predict(p)
    assert 2 * w @ (rel_entr(q, p) + rel_entr(1 - q, 1 - p)) < 0.01
    if by_row:  # whose penalty is found on the rows themselves
        np.testing.assert_allclose(logit(p), logit(q), atol=1e-6)


@each("shrink", [False, True])
def test_a_fit_passes_over_many_rows_a_few_times(monkeypatch, shrink) -> None:
    """And over 1,024 means about a hundred times; it was a hundred times over all rows."""
    p, y, _ = rows(50_000)
    seen = []

    def counted(X, target, *others):
        loss = logistic_loss(X, target, *others)
        return lambda theta: (seen.append(len(target)), loss(theta))[1]

    monkeypatch.setattr(maths.calibrators, "logistic_loss", counted)
    SplineCalibrator(shrink=shrink).fit(p, y)
    assert sum(seen) <= 10 * len(p)


@each("bend", [0.0, 1.0, -0.6])
def test_follows_a_bend_and_leaves_a_line_straight(bend) -> None:
    p, y, _ = rows(10_000, 0, bend)
    new, _, truth = rows(20_000, 1, bend)
    found = SplineCalibrator().fit(p, y)
    gap = np.abs(logit(found.predict(new)) - logit(truth))
    assert np.quantile(gap, 0.95) < 0.2  # of log-odds that bend by 2
    line, beta = (one().fit(p, y).predict(new) for one in (LogitCalibrator, BetaCalibrator))
    if bend == 0:
        np.testing.assert_allclose(found.slopes_, found.slopes_[0], atol=0.02)
        np.testing.assert_allclose(found.predict(new), line, atol=0.005)
    else:
        for other in (line, beta):
            assert gap.mean() < np.abs(logit(other) - logit(truth)).mean() / 1.5


@each(("shrink", "tail"), [(False, 0.0), (True, 0.01)])
def test_perfect_separation_and_falling_scores(shrink, tail) -> None:
    p, y = np.linspace(0.1, 0.8, 20), np.repeat([0, 1], 10)
    found = SplineCalibrator(shrink=shrink).fit(p, y).predict(p)
    assert tail < found.min() < 0.3 < 0.7 < found.max() < 1 - tail
    with pytest.warns(UserWarning, match="constant: the score does not rise"):
        falling = SplineCalibrator(shrink=shrink).fit(p, 1 - y)
    if not shrink:
        line = LogitCalibrator().fit(p, y).predict(p)
        np.testing.assert_allclose(found, line, atol=0.1)  # both near Platt's targets
        assert found.min() < 0.2 < 0.8 < found.max()
        np.testing.assert_allclose(falling.predict([0.0001, 0.3, 0.9]), 0.5, rtol=1e-9)


def test_few_scores() -> None:
    two = SplineCalibrator().fit([0.2, 0.8] * 10, [0, 1] * 7 + [1, 0] * 3)
    np.testing.assert_allclose(two.predict([0.2, 0.8]), [0.3, 0.7], rtol=1e-6)
    for n in (3, 5, 30):
        rng = np.random.default_rng(n)
        score, label = rng.random(n).round(2), np.arange(n) % 2
        assert np.isfinite(SplineCalibrator().fit(score, label).predict(score)).all()


@each("scale", [1e-300, 1e-170, 1e170, 1e300])
def test_scores_of_any_scale(scale) -> None:
    p, y, _ = rows()
    z = logit(p)
    found = SplineCalibrator(input_space="margin").fit(z * scale, y).predict(z * scale)
    np.testing.assert_allclose(found, SplineCalibrator().fit(p, y).predict(p), rtol=1e-6)


def test_clusters_and_outliers() -> None:
    """Knots that rounding alone sets apart are one."""
    rng = np.random.default_rng(0)
    p, y, _ = rows()
    z = logit(p)
    at = z.round(1)
    near = at + 1e-13 * rng.normal(size=len(p))
    far = np.append(z, [-700, 600.0])
    found, rounded, outliers = (
        SplineCalibrator(input_space="margin").fit(score, label)
        for score, label in ((near, y), (at, y), (far, np.append(y, [0, 1])))
    )
    np.testing.assert_allclose(found.predict(near), rounded.predict(at), atol=1e-6)
    expected = SplineCalibrator().fit(p, y).predict(p)
    np.testing.assert_allclose(outliers.predict(z), expected, atol=0.08)


@pytest.mark.slow
@each("seed", range(30))
def test_a_maximum_is_found(seed) -> None:
    """For heavy tails, ties, weights of any size and rare labels."""
    rng = np.random.default_rng(seed)
    n = int(rng.integers(20, 2000))
    z = rng.standard_t(2, n) * 10 ** rng.uniform(-1, 1)
    z = z.round(1) if seed % 3 == 0 else z
    y = (rng.random(n) < expit(np.tanh(z) - rng.uniform(0, 4))).astype(int)
    y[:2] = 0, 1
    w = rng.exponential(size=n) ** rng.integers(0, 4) * 10.0 ** rng.integers(0, 4)
    found = SplineCalibrator(input_space="margin").fit(z, y, w).predict(z)
    assert np.average(found, weights=w) == pytest.approx(np.average(y, weights=w), rel=1e-6)


def line_and_loss(p, y, w, offset):
    """A line of greatest likelihood with the prior of ``shrink``, by a plain minimiser."""
    z = logit(p)
    share = w * expit(z + offset) * expit(-z - offset)
    c = share @ z / share.sum()

    def loss(theta):
        m = c + theta[0] + theta[1] * (z - c)
        fit = w @ (np.logaddexp(0, m + offset) - y * (m + offset))
        return fit + theta[0] ** 2 / 2 + (theta[1] - 1) ** 2 / (2 * 0.5**2)

    options = {"xatol": 1e-9, "fatol": 1e-12}
    b, a = minimize(loss, [0, 1], method="Nelder-Mead", options=options).x
    return c + b + a * (z - c)


@each("sampled", [False, True])
def test_shrunk_and_straight_it_is_a_line_with_the_prior(monkeypatch, sampled) -> None:
    monkeypatch.setattr(maths, "ROUGHEST", 1e9)
    p, y, _ = rows(300)
    w = np.random.default_rng(0).integers(1, 4, 300).astype(float)
    rates = np.where(p > np.median(p), 0.5, 0.2) if sampled else np.ones(300)
    found = SplineCalibrator(shrink=True).fit(p, y, w, keep_rate=rates).predict(p)
    expected = line_and_loss(p, y, w, -np.log(rates))
    np.testing.assert_allclose(logit(found), expected, atol=1e-4)  # the minimiser's digits


def test_shrinking_is_strong_with_few_events_and_gone_with_many() -> None:
    rng = np.random.default_rng(0)
    z = rng.normal(-4.8, 1.2, 200)
    y = np.zeros(200, int)
    y[np.argsort(z)[[190, 198]]] = 1  # two events
    found = SplineCalibrator(shrink=True).fit(expit(z), y)
    assert np.abs(logit(found.predict(expit(z))) - z).max() < 1.5
    wild = SplineCalibrator().fit(expit(z), y)
    assert np.abs(logit(wild.predict(expit(z))) - z).max() > 10
    p, y, _ = rows(20_000)
    gap = logit(SplineCalibrator(shrink=True).fit(p, y).predict(p)) - logit(
        SplineCalibrator().fit(p, y).predict(p)
    )
    assert np.abs(gap).max() < 0.02


def test_shrunk_fits_of_light_rows_and_their_json() -> None:
    p, y = np.linspace(0.1, 0.8, 20), np.repeat([0, 1], 10)
    light = SplineCalibrator(shrink=True).fit(p, y, np.full(20, 1e-9)).predict(p)
    np.testing.assert_allclose(light, p, rtol=1e-4)  # rows of no weight leave it as it is
    with pytest.raises(TypeError, match="shrink must be"):
        SplineCalibrator(shrink=1).fit(p, y)
    fitted = SplineCalibrator(shrink=True).fit(p, y)
    loaded = SplineCalibrator.from_json(fitted.to_json())
    assert loaded.shrink is True
    assert loaded.to_json() == fitted.to_json()
    assert "shrink" not in SplineCalibrator().fit(p, y).to_json()


def test_few_scores_of_many_rows_are_as_those_rows_weighed_together() -> None:
    """Where the last score has a few rows only, no group of rows mixes it with the one before."""
    count = {(0.1, 0): 28_212, (0.1, 1): 3_080, (0.2, 0): 554, (0.2, 1): 141, (0.3, 0): 11}
    score, y = np.array(list(count)).T
    n = np.array(list(count.values()))
    one = SplineCalibrator().fit(score, y, n)
    many = SplineCalibrator().fit(np.repeat(score, n), np.repeat(y, n))
    at = [0.1, 0.15, 0.2, 0.25, 0.3]
    np.testing.assert_allclose(many.predict(at), one.predict(at), rtol=1e-3)
