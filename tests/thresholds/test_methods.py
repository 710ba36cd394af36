"""The plug-in and rounding, and which method a metric gets."""

from __future__ import annotations

import numpy as np
import pytest

from gbdt_objectives.metrics import (
    cost_metric,
    qwk_metric,
)
from gbdt_objectives.thresholds import optimize_thresholds
from tests.cases import each
from tests.thresholds.reference import kappa, sample


def test_plugin_is_equally_spaced_and_solves_its_equation():
    y, score = sample(2_000, K=5)
    thresholds = optimize_thresholds(y, score)
    beta, alpha = np.polyfit(score, y, 1)
    R = 1 - kappa(y, score, thresholds)
    t = (np.arange(1, 5) - 0.5) * (1 - R) + R * y.mean()
    np.testing.assert_allclose(thresholds, (t - alpha) / beta, rtol=0.02, atol=0.01)
    np.testing.assert_allclose(np.diff(thresholds), np.diff(thresholds)[0])


def test_plugin_of_a_perfect_score_is_rounding():
    y = np.repeat(np.arange(4), 5)
    np.testing.assert_allclose(optimize_thresholds(y, 2.0 * y + 1), [2, 4, 6])


@pytest.mark.parametrize("weighted", [False, True])
def test_plugin_fits_a_line_kept_within_the_labels(weighted):
    """The same m as a general least-squares solver finds, so the same thresholds."""
    from scipy.optimize import least_squares

    rng = np.random.default_rng(0)
    m = rng.normal(1.5, 1.5, 4_000)  # one row in three is beyond the labels
    y = np.clip(np.rint(m.clip(0, 3) + rng.normal(0, 0.5, len(m))), 0, 3).astype(int)
    w = rng.integers(1, 4, len(m)).astype(float) if weighted else np.ones(len(m))
    score = 10 * m - 7

    def residual(line):
        return np.sqrt(w) * (np.clip(line[0] + line[1] * score, 0, 3) - y)

    alpha, beta = least_squares(residual, [0.5, 0.05], x_scale=[1, 0.1]).x
    thresholds = optimize_thresholds(y, score, sample_weight=w if weighted else None)
    R = 1 - kappa(y, score, thresholds, w)
    t = (np.arange(1, 4) - 0.5) * (1 - R) + R * np.average(y, weights=w)
    # the last R was measured on slightly other thresholds than it gave
    np.testing.assert_allclose(alpha + beta * thresholds, t, atol=2e-3)


@pytest.mark.parametrize("top", [3.0, 5.0, 50.0])
def test_plugin_does_not_mind_how_far_scores_drift_beyond_the_labels(top):
    """As those of a model trained with a clipping objective do."""
    rng = np.random.default_rng(1)
    m = rng.uniform(0, 3, 20_000)
    y = np.clip(np.rint(m + rng.normal(0, 0.7, len(m))), 0, 3).astype(int)
    at_the_end = m > 2.6
    drifted = np.where(at_the_end, m + (top - 3) * rng.random(len(m)), m)
    plain = kappa(y, m, optimize_thresholds(y, m))
    # half the rows of the top class moved; a line through all rows loses 0.008 and 0.2
    assert kappa(y, drifted, optimize_thresholds(y, drifted)) > plain - 0.002


@each(("rows", "place"), [(1, 1e6), (26, 1e3), (261, 1e3), (1305, 50.0), (None, 50.0), (1, -1e18)])
def test_plugin_does_not_mind_clusters_far_out(rows, place):
    """The line through all rows may lie within the labels, and yet be nobody's."""
    rng = np.random.default_rng(0)
    m = rng.uniform(0, 3, 20_000)
    y = np.clip(np.rint(m + rng.normal(0, 0.7, len(m))), 0, 3).astype(int)
    far = np.flatnonzero(m < 0.4 if place < 0 else m > 2.6)[:rows]
    drifted = m.copy()
    drifted[far] = place + rng.random(len(far))
    plain = kappa(y, m, optimize_thresholds(y, m))
    # a line through all rows reaches 0.0002 to 0.52, of 0.726
    assert kappa(y, drifted, optimize_thresholds(y, drifted)) > plain - 0.002


def test_weights_that_rounding_loses_are_refused_as_one_class():
    for w in ([4e-23, 4e-5], [1e-17, 1.0]):
        with pytest.raises(ValueError, match="single class"):
            optimize_thresholds([0, 1], [0, 1.0], sample_weight=w)


def test_plugin_survives_a_score_with_hardly_any_signal():
    rng = np.random.default_rng(2)
    y, score = rng.integers(0, 3, 5_000), rng.standard_normal(5_000)
    if np.corrcoef(y, score)[0, 1] < 0:
        score = -score
    thresholds = optimize_thresholds(y, score)
    assert np.isfinite(thresholds).all()
    assert (np.diff(thresholds) > 0).all()


def test_plugin_refuses_falling_scores():
    y, score = sample()
    with pytest.raises(ValueError, match=r"score falls .* pass -score"):
        optimize_thresholds(y, -score)


def test_the_default_method_is_the_one_that_suits_the_metric():
    y, score = sample()
    for metric, method in [
        ("qwk", "plugin"),
        (qwk_metric(), "plugin"),
        ("accuracy", "exact"),
        (cost_metric(1 - np.eye(4)), "exact"),
        (lambda y, p, w: (y == p).mean(), "nelder-mead"),
    ]:
        np.testing.assert_array_equal(
            optimize_thresholds(y, score, metric=metric),
            optimize_thresholds(y, score, metric=metric, method=method),
        )


def test_rounding_is_midway_between_the_labels():
    y, score = sample()
    found = optimize_thresholds(y, score, method="rounding")
    assert found.tolist() == [0.5, 1.5, 2.5]
    assert found.labels.tolist() == [0, 1, 2, 3]


def test_plugin_does_not_pass_between_scores_that_only_rounding_sets_apart() -> None:
    """Two groups of rows, of which the upper one's scores are three in the last digits."""
    low, high = 0.27486794590950014, 0.7251320540905
    score = np.repeat([low, high - 4e-16, high - 1e-16, high], [105, 6, 1, 88])
    y = np.concatenate(
        [np.repeat([0, 1], [96, 9]), [0, 0, 0, 1, 1, 1, 1], np.repeat([0, 1], [1, 87])]
    )
    (threshold,) = optimize_thresholds(y, score)
    assert low + 0.1 < threshold < high - 0.1
