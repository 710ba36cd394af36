"""optimize_thresholds and apply_thresholds: invariances, each method, bad input."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.metrics import accuracy_score, cohen_kappa_score

from gbdt_objectives.metrics import (
    cost_metric,
    extended_qwk_metric,
    f_beta_metric,
    kappa_cost_metric,
    qwk_metric,
)
from gbdt_objectives.thresholds import apply_thresholds, optimize_thresholds
from tests.thresholds.reference import value

METHODS = ("exact", "plugin", "nelder-mead")


def sample(n=400, K=4, seed=0, noise=1.0):
    rng = np.random.default_rng(seed)
    latent = rng.standard_normal(n)
    y = np.searchsorted(np.linspace(-1, 1.2, K - 1), latent)
    return y, latent + noise * rng.standard_normal(n)


def kappa(y, score, thresholds, w=None):
    w = np.ones(len(y)) if w is None else w
    return value("qwk", y, apply_thresholds(score, thresholds), w, len(thresholds) + 1)


# invariances


@pytest.mark.parametrize("method", ["exact", "plugin"])
@pytest.mark.parametrize(("scale", "shift"), [(1.0, 1e3), (1e-6, 0.0), (1e6, -7.0), (1e200, 0)])
def test_affine_scores_give_affine_thresholds(method, scale, shift):
    y, score = sample()
    thresholds = optimize_thresholds(y, score, method=method)
    moved = optimize_thresholds(y, scale * score + shift, method=method)
    np.testing.assert_allclose((moved - shift) / scale, thresholds, rtol=1e-6, atol=1e-9)


@pytest.mark.parametrize("method", ["exact", "plugin"])
def test_exact_is_equivariant_under_any_rising_map(method):
    y, score = sample()
    before = apply_thresholds(score, optimize_thresholds(y, score, method=method))
    warped = np.exp(score)
    after = apply_thresholds(warped, optimize_thresholds(y, warped, method=method))
    assert np.array_equal(before, after) == (method == "exact")


@pytest.mark.parametrize("metric", ["qwk", "linear", "accuracy", "mae", "macro_recall"])
@pytest.mark.parametrize("method", METHODS)
def test_a_weight_is_a_repetition(method, metric):
    if method == "plugin" and metric != "qwk":
        pytest.skip("plugin is for qwk")
    y, score = sample(120)
    w = np.random.default_rng(1).integers(0, 9, len(y)) * (1 + (y < 2))
    weighted = optimize_thresholds(
        y, score, method=method, metric=metric, sample_weight=w, labels=range(4), n_starts=2
    )
    repeated = optimize_thresholds(
        np.repeat(y, w),
        np.repeat(score, w),
        method=method,
        metric=metric,
        labels=range(4),
        n_starts=2,
    )
    np.testing.assert_allclose(weighted, repeated, rtol=1e-9)
    plain = optimize_thresholds(y, score, method=method, metric=metric, n_starts=2)
    assert not np.allclose(weighted, plain)


@pytest.mark.parametrize("method", METHODS)
def test_row_order_means_nothing(method):
    y, score = sample()
    score = score.round(1)
    order = np.random.default_rng(1).permutation(len(y))
    np.testing.assert_allclose(
        optimize_thresholds(y[order], score[order], method=method),
        optimize_thresholds(y, score, method=method),
    )


@pytest.mark.parametrize("method", ["exact", "plugin"])
def test_only_the_order_of_labels_counts(method):
    y, score = sample()
    expected = optimize_thresholds(y, score, method=method)
    shifted = optimize_thresholds(y + 3, score, method=method)
    floats = optimize_thresholds(y + 3.0, score, method=method)
    words = np.array(["poor", "fair", "good", "best"])
    named = optimize_thresholds(words[y], score, method=method, labels=words)
    objects = optimize_thresholds(words[y].astype(object), score, method=method, labels=words)
    codes = np.array([10, -3, 99, 7])
    coded = optimize_thresholds(codes[y], score, method=method, labels=codes)
    for thresholds in (shifted, floats, named, objects, coded):
        np.testing.assert_array_equal(thresholds, expected)
    classes = apply_thresholds(score, named)
    assert classes.tolist() == words[apply_thresholds(score, expected)].tolist()


@pytest.mark.parametrize("method", METHODS)
def test_float32_and_integer_scores(method):
    y, score = sample()
    single = score.astype(np.float32)
    np.testing.assert_allclose(
        optimize_thresholds(y, single, method=method),
        optimize_thresholds(y, single.astype(float), method=method),
        rtol=1e-6,
    )
    whole = score.round().astype(int)
    np.testing.assert_array_equal(
        optimize_thresholds(y, whole, method=method),
        optimize_thresholds(y, whole.astype(float), method=method),
    )


@pytest.mark.parametrize("method", METHODS)
def test_inputs_stay_as_they_are(method):
    y, score = sample()
    w = np.ones(len(y))
    arrays = y, score, w
    before = [a.copy() for a in arrays]
    for a in arrays:
        a.setflags(write=False)
    optimize_thresholds(y, score, method=method, sample_weight=w)
    for a, b in zip(arrays, before, strict=True):
        np.testing.assert_array_equal(a, b)


def test_more_than_127_classes():
    y = np.repeat(np.arange(200), 3)
    score = y + np.tile([-0.2, 0.0, 0.2], 200)
    for method in ("exact", "plugin"):
        thresholds = optimize_thresholds(y, score, method=method)
        np.testing.assert_allclose(thresholds, np.arange(199) + 0.5, atol=0.02)


# the deployment distribution


@pytest.mark.parametrize("method", ["exact", "plugin"])
@pytest.mark.parametrize("weighted", [False, True])
def test_label_prior_reweighs_the_rows(method, weighted):
    y, score = sample()
    w = np.random.default_rng(1).exponential(size=len(y)) if weighted else None
    prior = {0: 0.1, 1: 0.1, 2: 0.2, 3: 0.6}
    frequency = np.bincount(y, weights=w) / (len(y) if w is None else w.sum())
    factor = np.array(list(prior.values())) / frequency
    by_hand = factor[y] * (1 if w is None else w)
    given = optimize_thresholds(y, score, method=method, sample_weight=w, target_prior=prior)
    np.testing.assert_allclose(
        given, optimize_thresholds(y, score, method=method, sample_weight=by_hand)
    )
    assert not np.allclose(given, optimize_thresholds(y, score, method=method, sample_weight=w))


def test_label_prior_equal_to_the_frequencies_changes_nothing():
    y, score = sample()
    prior = {k: float((y == k).mean()) for k in range(4)}
    np.testing.assert_allclose(
        optimize_thresholds(y, score, target_prior=prior), optimize_thresholds(y, score)
    )


def test_label_prior_zero_means_that_the_rows_do_not_exist():
    y, score = sample()
    rest = y != 1
    prior = {k: float((y[rest] == k).mean()) for k in range(4)}
    np.testing.assert_allclose(
        optimize_thresholds(y, score, method="exact", target_prior=prior),
        optimize_thresholds(y[rest], score[rest], method="exact"),
    )


def test_label_prior_wins_at_deployment():
    y, score = sample(20_000)
    prior = np.array([0.05, 0.05, 0.2, 0.7])
    rng = np.random.default_rng(9)
    frequency = np.bincount(y) / len(y)
    rows = rng.choice(len(y), 20_000, p=(prior / frequency)[y] / (prior / frequency)[y].sum())
    for method in ("exact", "plugin"):
        aware = optimize_thresholds(y, score, method=method, target_prior=dict(enumerate(prior)))
        naive = optimize_thresholds(y, score, method=method)
        assert kappa(y[rows], score[rows], aware) > kappa(y[rows], score[rows], naive) + 0.02


# plug-in


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


@pytest.mark.parametrize(
    ("rows", "place"), [(1, 1e6), (26, 1e3), (261, 1e3), (1305, 50.0), (None, 50.0), (1, -1e18)]
)
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


def test_simulated_table():
    """Facts, section 5, first row: 4 equal classes, correlation 0.5, 100 rows, 30 draws.

    Published: Nelder-Mead .3551, exact .4175, plug-in .4366, ceiling .4401.
    """
    from scipy.stats import norm

    cuts, rho = norm.ppf([0.25, 0.5, 0.75]), 0.5
    rng = np.random.default_rng(0)

    def draw(n):
        x = rng.standard_normal(n)
        z = rho * x + np.sqrt(1 - rho**2) * rng.standard_normal(n)
        m = norm.sf((cuts[:, None] - rho * x) / np.sqrt(1 - rho**2)).sum(axis=0)
        return np.searchsorted(cuts, z), m

    y_test, m_test = draw(100_000)
    reached = {method: [] for method in METHODS}
    for _ in range(30):
        y, m = draw(100)
        for method in METHODS:
            thresholds = optimize_thresholds(y, m, method=method, n_starts=1)
            reached[method].append(kappa(y_test, m_test, thresholds))
    mean = {method: np.mean(values) for method, values in reached.items()}
    assert mean["plugin"] == pytest.approx(0.4366, abs=0.004)
    assert mean["exact"] == pytest.approx(0.4175, abs=0.01)
    assert mean["nelder-mead"] == pytest.approx(0.3551, abs=0.02)
    ceiling = kappa(y_test, m_test, optimize_thresholds(y_test, m_test, method="exact"))
    assert ceiling == pytest.approx(0.4401, abs=0.004)
    assert mean["plugin"] < ceiling


# search


def test_search_with_a_function_equals_the_search_with_its_name():
    y, score = sample()

    def qwk(y_true, y_pred, sample_weight):
        return cohen_kappa_score(y_true, y_pred, weights="quadratic", sample_weight=sample_weight)

    w = np.random.default_rng(0).exponential(size=len(y))
    for weight in (None, w):
        np.testing.assert_allclose(
            optimize_thresholds(
                y, score, method="nelder-mead", metric=qwk, sample_weight=weight, n_starts=2
            ),
            optimize_thresholds(y, score, method="nelder-mead", sample_weight=weight, n_starts=2),
            atol=0.02,
        )


def test_search_hands_the_function_labels():
    y, score = sample()
    words = np.array(["a", "b", "c", "d"])
    seen = []

    def accuracy(y_true, y_pred, sample_weight):
        seen.append((set(y_true) | set(y_pred), sample_weight))
        return accuracy_score(y_true, y_pred)

    thresholds = optimize_thresholds(
        words[y], score, method="nelder-mead", metric=accuracy, labels=words
    )
    assert set.union(*(s for s, _ in seen)) == set("abcd")
    assert all(w is None for _, w in seen)
    best = optimize_thresholds(y, score, method="exact", metric="accuracy")
    reached = (apply_thresholds(score, thresholds) == words[y]).mean()
    assert 0 <= (apply_thresholds(score, best) == y).mean() - reached < 0.03


def test_search_takes_nan_as_worst():
    y, score = sample(100)

    def picky(y_true, y_pred, sample_weight):
        constant = len(np.unique(y_pred)) == 1
        return np.nan if constant else (y_true == y_pred).mean()

    small = score / 1000  # the first start, at the half-integers, sees nan only
    thresholds = optimize_thresholds(y, small, method="nelder-mead", metric=picky, n_starts=2)
    assert (apply_thresholds(small, thresholds) == y).mean() > 0.45


def test_more_starts_are_never_worse_and_repeatable():
    y, score = sample(200)
    score = 100 * score  # half-integers are far off this scale
    found = [
        kappa(y, score, optimize_thresholds(y, score, method="nelder-mead", n_starts=n))
        for n in (1, 2, 6)
    ]
    assert found[0] <= found[1] <= found[2]
    assert found[0] < found[2] - 0.01
    a, b = (optimize_thresholds(y, score, method="nelder-mead", random_state=3) for _ in range(2))
    np.testing.assert_array_equal(a, b)
    assert (np.diff(a) >= 0).all()


# apply


def test_apply_is_searchsorted_from_the_right():
    rng = np.random.default_rng(0)
    thresholds = np.array([-np.inf, -0.5, 0.25, 0.25, np.inf])
    score = np.concatenate([rng.standard_normal(1000).round(2), thresholds[1:4]])
    expected = np.searchsorted(thresholds, score, side="right")
    np.testing.assert_array_equal(apply_thresholds(score, thresholds, range(6)), expected)
    assert apply_thresholds([0.25], thresholds, range(6)).tolist() == [4]
    assert apply_thresholds([np.nextafter(0.25, 0)], thresholds, range(6)).tolist() == [2]


# degenerate, but answered


@pytest.mark.parametrize("method", ["exact", "plugin"])
def test_equal_scores_give_the_class_nearest_the_mean(method):
    y = [0, 0, 1, 2, 3, 3, 3]
    with pytest.warns(UserWarning, match="every row gets the class 2"):
        thresholds = optimize_thresholds(y, np.full(7, 5.0), method=method)
    assert thresholds.tolist() == [-np.inf, -np.inf, np.inf]


@pytest.mark.parametrize(
    ("metric", "best"),
    [("accuracy", 3), ("mae", 2), ("linear", 2), ("macro_recall", 3), ("kappa", 3)],
)
def test_equal_scores_give_the_best_single_class(metric, best):
    y = [0, 0, 1, 2, 3, 3, 3]
    with pytest.warns(UserWarning, match=f"every row gets the class {best}"):
        thresholds = optimize_thresholds(y, np.zeros(7), method="exact", metric=metric)
    assert apply_thresholds([0.0], thresholds).tolist() == [best]


def test_equal_scores_with_a_ratio_metric():
    """All positive has F1 = 4/9, all negative 0, though it errs less often."""
    with pytest.warns(UserWarning, match="every row gets the class 1"):
        thresholds = optimize_thresholds(
            [0, 0, 0, 0, 0, 1, 1], np.zeros(7), method="exact", metric=f_beta_metric(1)
        )
    assert thresholds.tolist() == [-np.inf]


def test_exact_on_falling_scores_warns():
    y, score = np.repeat([0, 1, 2], 4), -np.arange(12.0)
    with pytest.warns(UserWarning, match="pass -score"):
        thresholds = optimize_thresholds(y, score, method="exact")
    assert apply_thresholds(score, thresholds).tolist() == [1] * 12


# the default method, and metrics


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


def test_the_range_of_a_metric_gives_the_labels():
    y, score = sample()
    found = optimize_thresholds(y, score, metric=qwk_metric((0, 5)))
    assert found.labels.tolist() == [0, 1, 2, 3, 4, 5]
    np.testing.assert_array_equal(found, optimize_thresholds(y, score, labels=range(6)))
    named = optimize_thresholds(y, score, metric=qwk_metric((0, 3)), labels=range(4))
    assert named.labels.tolist() == [0, 1, 2, 3]


@pytest.mark.parametrize("seed", [None, 3, np.random.default_rng(3), np.random.RandomState(3)])
def test_seeds_of_any_kind(seed):
    y, score = sample(60)
    found = optimize_thresholds(y, score, method="nelder-mead", random_state=seed, n_starts=3)
    assert (np.diff(found) >= 0).all()


def test_search_hands_the_function_rows_in_the_order_given():
    y, score = sample(80)
    w = np.ones(80)
    w[5] = 0
    counted = np.delete(np.arange(80), 5)

    def accuracy(y_true, y_pred, sample_weight):
        np.testing.assert_array_equal(y_true, y[counted])
        return (y_true == y_pred).mean()

    found = optimize_thresholds(y, score, metric=accuracy, sample_weight=w, n_starts=1)
    assert np.isfinite(found).all()


# bad input

Y, S = [0, 1, 2, 2], [0.1, 0.2, 0.3, 0.4]
BAD = [
    (dict(score=[0.1, np.nan, 0.3, 0.4]), ValueError, "score must be finite, found nan at row 1"),
    (dict(score=[0.1, np.inf, 0.3, 0.4]), ValueError, "score must be finite, found inf at row 1"),
    (dict(score=[0.1, 0.2, 0.3]), ValueError, "score has 3 rows, but the labels have 4"),
    (dict(score=[[0.1], [0.2], [0.3], [0.4]]), ValueError, "score must be one-dimensional"),
    (dict(score=["a", "b", "c", "d"]), TypeError, "score must hold real numbers"),
    (dict(y_true=[1, 1, 1, 1]), ValueError, "y_true holds the single class 1"),
    (dict(y_true=[1, 1, 1, 1], labels=[0, 1]), ValueError, r"single class \[1\]"),
    (dict(sample_weight=[0, 0, 1, 1]), ValueError, "2 rows that count for 3 classes"),
    (dict(y_true=[0, 1, 2, 9]), ValueError, "4 rows for the 10 classes 0 to 9"),
    (dict(labels=range(6)), ValueError, "4 rows that count for 6 classes"),
    (dict(y_true=[0, 1, 2, 1.5]), ValueError, "found 1.5 at row 3: .*pass labels="),
    (dict(y_true=[0, 1, 2, np.nan]), ValueError, "y_true must be finite, found nan at row 3"),
    (dict(y_true=["a", "b", "a", "b"]), TypeError, "y_true has dtype <U1: pass labels="),
    (dict(y_true=["a", "b", "a", "b"], labels=[0, 1]), TypeError, "y_true has dtype"),
    (dict(labels=[0, 1, 2, 1]), ValueError, r"labels .* found \[1\] more than once"),
    (dict(labels=[0]), ValueError, "labels must list at least two classes"),
    (dict(labels=[0, 1]), ValueError, "y_true holds .*2.* at row 2, which is not in labels"),
    (dict(sample_weight=[0, 0, 0, 0]), ValueError, "sample_weight is 0 in all 4 rows"),
    (dict(sample_weight=[1, 1, -1, 1]), ValueError, "sample_weight must not be negative"),
    (dict(sample_weight=[1, 1, 1]), ValueError, "sample_weight has 3 rows"),
    (dict(sample_weight=[1, 1, np.nan, 1]), ValueError, "sample_weight must be finite"),
    (dict(target_prior=[0.5, 0.5]), TypeError, "target_prior must be a mapping"),
    (
        dict(target_prior={0: 0.5, 1: 0.5}),
        ValueError,
        "label 2 occurs in y_true but not in target",
    ),
    (dict(target_prior={0: 0.5, 1: 0.2, 2: 0.2}), ValueError, "must sum to 1, found 0.9"),
    (dict(target_prior={0: 1.5, 1: -0.7, 2: 0.2}), ValueError, "probabilities >= 0, found -0.7"),
    (dict(target_prior={0: 0, 1: 0, 2: 1}), ValueError, r"single class \[2\]"),
    (dict(target_prior={0: 0.5, 1: 0.2, 2: 0.2, 7: 0.1}), ValueError, "7, which is not in labels"),
    (
        dict(target_prior={0: 0.5, 1: 0.2, 2: 0.2, 3: 0.1}, labels=range(4)),
        ValueError,
        "no row of y_true has that label",
    ),
    (
        dict(method="best"),
        ValueError,
        "method must be one of 'plugin', 'curved', 'exact'",
    ),
    (dict(metric="f3"), ValueError, "metric must be one of 'qwk'"),
    (dict(metric="mae", method="plugin"), ValueError, "pass method='exact'"),
    (dict(metric=f_beta_metric(1), method="plugin"), ValueError, "pass method='exact'"),
    (dict(metric=f_beta_metric(1)), ValueError, "is for two classes, found 3"),
    (dict(metric=f_beta_metric(1), method="exact"), ValueError, "is for two classes, found 3"),
    (dict(metric="youden", method="exact"), ValueError, "is for two classes, found 3"),
    (dict(metric=[[0, 1], [1, 0]], method="exact"), TypeError, "use cost_metric"),
    (dict(metric=extended_qwk_metric()), ValueError, "metric of classes, found Extended.*pass for"),
    (dict(metric=qwk_metric().loss), ValueError, "metric of classes, found MetricLoss.*out .loss"),
    (dict(metric=qwk_metric), ValueError, "metric of classes, found <function qwk_metric"),
    (dict(metric=qwk_metric().lightgbm), ValueError, "metric of classes, found LightGBMMetric"),
    (
        dict(metric=qwk_metric((0, 2), thresholds=[0.5, 1.5])),
        ValueError,
        "'qwk' has thresholds of its own.*make it without thresholds=",
    ),
    (dict(metric=qwk_metric((0, 1))), ValueError, "y_true holds .*2.* not in labels"),
    (
        dict(metric=qwk_metric((0, 3)), labels=[0, 1, 2]),
        ValueError,
        r"labels are \[0, 1, 2\], but the metric has label_range \(0, 3\): leave one",
    ),
    (dict(method="rounding", labels=[2, 1, 0]), ValueError, "needs labels that are rising numbers"),
    (dict(metric=lambda y, p, w: 1, method="plugin"), ValueError, "pass method='nelder-mead'"),
    (dict(metric=lambda y, p, w: 1, method="exact"), ValueError, "pass method='nelder-mead'"),
    (
        dict(metric=accuracy_score),
        TypeError,
        "lambda y, p, w: accuracy_score.y, p, sample_weight=w",
    ),
    (dict(metric=cost_metric(np.eye(2)), method="exact"), ValueError, r"shape \(2, 2\), but .* 3"),
    (dict(n_starts=0), ValueError, "n_starts must be a whole number >= 1"),
    (dict(random_state=0.5), TypeError, "random_state must be an int"),
    (dict(score=[-1.7e308, 0, 1.0, 1.7e308]), ValueError, "more than a float64 holds"),
]


@pytest.mark.parametrize(("arguments", "error", "message"), BAD)
def test_bad_input(arguments, error, message):
    with pytest.raises(error, match=message):
        optimize_thresholds(**{"y_true": Y, "score": S, **arguments})


@pytest.mark.parametrize(
    ("arguments", "error", "message"),
    [
        (([0.1], [1, 0]), ValueError, r"thresholds must be sorted, found \[1.0, 0.0\]"),
        (([0.1], [np.nan]), ValueError, "thresholds must not be NaN"),
        (([0.1], []), ValueError, "thresholds must be one-dimensional and not empty"),
        (([0.1], 0.5), ValueError, "thresholds must be one-dimensional"),
        (([0.1], ["a"]), TypeError, "thresholds must hold real numbers"),
        (([np.nan], [0]), ValueError, "score must be finite"),
        (([0.1], [0], [0, 1, 2]), ValueError, "labels must be 2 classes for 1 thresholds, found 3"),
        (([0.1], [0], [1, 1]), ValueError, "more than once"),
    ],
)
def test_bad_input_to_apply(arguments, error, message):
    with pytest.raises(error, match=message):
        apply_thresholds(*arguments)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: cost_metric([[0, 1]]), "shape"),
        (lambda: cost_metric([[0, np.nan], [1, 0]]), "finite"),
        (lambda: kappa_cost_metric([[0, -1], [1, 0]]), ">= 0"),
        (lambda: kappa_cost_metric([[1, 1], [1, 0]]), "diagonal"),
        (lambda: f_beta_metric(0), "beta must be > 0"),
    ],
)
def test_bad_metrics(make, message):
    with pytest.raises(ValueError, match=message):
        make()


def test_kappa_cost_that_a_constant_satisfies_is_refused():
    lenient = kappa_cost_metric([[0, 0, 1], [1, 0, 1], [1, 0, 0]])
    with pytest.raises(ValueError, match="position 1 costs nothing"):
        optimize_thresholds(Y, S, metric=lenient, method="exact")


def test_plugin_does_not_pass_between_scores_that_only_rounding_sets_apart() -> None:
    """Two groups of rows, of which the upper one's scores are three in the last digits."""
    low, high = 0.27486794590950014, 0.7251320540905
    score = np.repeat([low, high - 4e-16, high - 1e-16, high], [105, 6, 1, 88])
    y = np.concatenate(
        [np.repeat([0, 1], [96, 9]), [0, 0, 0, 1, 1, 1, 1], np.repeat([0, 1], [1, 87])]
    )
    (threshold,) = optimize_thresholds(y, score)
    assert low + 0.1 < threshold < high - 0.1
