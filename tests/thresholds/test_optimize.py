"""optimize_thresholds and apply_thresholds: invariances, each method, bad input."""

from __future__ import annotations

import itertools

import numpy as np
import pandas as pd
import pytest
from scipy.sparse import csr_matrix
from sklearn.metrics import accuracy_score, f1_score, fbeta_score, make_scorer

from gbdt_objectives.metrics import (
    cost_metric,
    extended_qwk_metric,
    f_beta_metric,
    kappa_cost_metric,
    qwk_metric,
)
from gbdt_objectives.thresholds import (
    apply_thresholds,
    optimize_multilabel_thresholds,
    optimize_thresholds,
)
from tests.cases import each, refusals, refusals_of, refused
from tests.thresholds.reference import kappa, sample

METHODS = ("exact", "plugin", "nelder-mead")


# invariances


@each("method", ["exact", "plugin"])
@each(("scale", "shift"), [(1.0, 1e3), (1e-6, 0.0), (1e6, -7.0), (1e200, 0)])
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


@each("metric", ["qwk", "linear", "accuracy", "mae", "macro_recall"])
@each("method", METHODS)
def test_a_weight_is_a_repetition(method, metric):
    if method == "plugin" and metric != "qwk":
        pytest.skip("plugin is for qwk")
    y, score = sample(120)
    w = np.random.default_rng(1).integers(0, 9, len(y)) * (1 + (y < 2))
    weighted, repeated, plain = (
        optimize_thresholds(
            *columns, method=method, metric=metric, sample_weight=v, labels=range(4), n_starts=2
        )
        for *columns, v in (
            (y, score, w), (np.repeat(y, w), np.repeat(score, w), None), (y, score, None)
        )
    )  # fmt: skip
    np.testing.assert_allclose(weighted, repeated, rtol=1e-9)
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
    words, codes = np.array(["poor", "fair", "good", "best"]), np.array([-3, 7, 10, 99])
    for labels, names in (
        (y + 3, None), (y + 3.0, None), (words[y].astype(object), words), (codes[y], codes),
        (words[y], words),
    ):  # fmt: skip
        found = optimize_thresholds(labels, score, method=method, labels=names)
        np.testing.assert_array_equal(found, expected)
    classes = apply_thresholds(score, found)
    assert classes.tolist() == words[apply_thresholds(score, expected)].tolist()


@pytest.mark.parametrize("method", METHODS)
def test_float32_and_integer_scores(method):
    y, score = sample()
    single = score.astype(np.float32)
    whole = score.round().astype(int)
    for other, rtol in ((single, 1e-6), (whole, 0)):
        found, expected = (
            optimize_thresholds(y, s, method=method) for s in (other, other.astype(float))
        )
        np.testing.assert_allclose(found, expected, rtol=rtol)


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


@each("method", ["exact", "plugin"])
@each("weighted", [False, True])
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


def test_label_prior_zero_means_that_the_rows_do_not_exist():
    y, score = sample()
    rest = y != 1
    prior = {k: float((y[rest] == k).mean()) for k in range(4)}
    np.testing.assert_allclose(
        optimize_thresholds(y, score, method="exact", target_prior=prior),
        optimize_thresholds(y[rest], score[rest], method="exact"),
    )


@pytest.mark.filterwarnings("ignore:no row gets the class")  # the scores do not reach every class
@pytest.mark.slow
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


# degenerate, but answered


@each("method", ["plugin", "curved", "exact", "nelder-mead"])
@each("copies", [1, 10])
def test_equal_scores_give_the_class_nearest_the_mean(method, copies):
    y = [0, 0, 1, 2, 3, 3, 3] * copies
    with pytest.warns(UserWarning, match="every row gets the class 2: the scores are all equal"):
        thresholds = optimize_thresholds(y, np.full(len(y), 5.0), method=method)
    assert thresholds.tolist() == [-np.inf, -np.inf, np.inf]


@each(
    ("metric", "y", "best"),
    [
        *((m, [0, 0, 1, 2, 3, 3, 3], k) for m, k in zip(
            ("accuracy", "mae", "linear", "kappa"), (3, 2, 2, 3), strict=True)),
        # all positive has F1 = 4/9, all negative 0, though it errs less often
        (f_beta_metric(1), [0, 0, 0, 0, 0, 1, 1], 1),
    ],
)  # fmt: skip
def test_equal_scores_give_the_best_single_class(metric, y, best):
    with pytest.warns(UserWarning, match=f"every row gets the class {best}"):
        thresholds = optimize_thresholds(y, np.zeros(7), method="exact", metric=metric)
    assert apply_thresholds([0.0], thresholds).tolist() == [best]


def test_equal_scores_give_any_single_class_where_all_are_as_good():
    """The macro recall of each is 1/4: which one is told is the last bit's."""
    with pytest.warns(UserWarning, match="every row gets the class [0-3]") as caught:
        thresholds = optimize_thresholds(
            [0, 0, 1, 2, 3, 3, 3], np.zeros(7), method="exact", metric="macro_recall"
        )
    (single,) = apply_thresholds([0.0], thresholds)
    assert f"every row gets the class {single}:" in str(caught[0].message)


def test_exact_on_falling_scores_warns():
    y, score = np.repeat([0, 1, 2], 4), -np.arange(12.0)
    with pytest.warns(UserWarning, match="pass -score"):
        thresholds = optimize_thresholds(y, score, method="exact")
    assert apply_thresholds(score, thresholds).tolist() == [1] * 12


# the default method, and metrics


def test_the_range_of_a_metric_gives_the_labels():
    y, score = sample()
    found = optimize_thresholds(y, score, metric=qwk_metric((0, 5)))
    assert found.labels.tolist() == [0, 1, 2, 3, 4, 5]
    np.testing.assert_array_equal(found, optimize_thresholds(y, score, labels=range(6)))
    named = optimize_thresholds(y, score, metric=qwk_metric((0, 3)), labels=range(4))
    assert named.labels.tolist() == [0, 1, 2, 3]


# bad input

Y, S = [0, 1, 2, 2], [0.1, 0.2, 0.3, 0.4]


@refused(
    (dict(score=[0.1, np.nan, 0.3, 0.4]), "score must be finite, found nan at row 1"),
    (dict(score=[0.1, np.inf, 0.3, 0.4]), "score must be finite, found inf at row 1"),
    (dict(score=[0.1, 0.2, 0.3]), "score has 3 rows, but the labels have 4"),
    (dict(score=[[0.1], [0.2], [0.3], [0.4]]), "score must be one-dimensional"),
    (dict(score=["a", "b", "c", "d"]), "score must hold real numbers", TypeError),
    (dict(y_true=[1, 1, 1, 1]), "y_true holds the single class 1"),
    (dict(y_true=[1, 1, 1, 1], labels=[0, 1]), r"single class \[1\]"),
    (dict(sample_weight=[0, 0, 1, 1]), "2 rows that count for 3 classes"),
    (dict(y_true=[0, 1, 2, 9]), "4 rows for the 10 classes 0 to 9"),
    (dict(labels=range(6)), "4 rows that count for 6 classes"),
    (dict(y_true=[0, 1, 2, 1.5]), "found 1.5 at row 3: .*pass labels="),
    (dict(y_true=[0, 1, 2, np.nan]), "y_true must be finite, found nan at row 3"),
    (dict(y_true=["a", "b", "a", "b"]), "y_true has dtype <U1: pass labels=", TypeError),
    (dict(y_true=["a", "b", "a", "b"], labels=[0, 1]), "y_true has dtype", TypeError),
    (dict(labels=[0, 1, 2, 1]), r"labels .* found \[1\] more than once"),
    (dict(labels=[0]), "labels must list at least two classes"),
    (dict(labels=[0, 1]), "y_true holds .*2.* at row 2, which is not in labels"),
    (dict(sample_weight=[0, 0, 0, 0]), "sample_weight is 0 in all 4 rows"),
    (dict(sample_weight=[1, 1, -1, 1]), "sample_weight must not be negative"),
    (dict(sample_weight=[1, 1, 1]), "sample_weight has 3 rows"),
    (dict(sample_weight=[1, 1, np.nan, 1]), "sample_weight must be finite"),
    (dict(target_prior=[0.5, 0.5]), "target_prior must be a mapping", TypeError),
    (dict(target_prior={0: 0.5, 1: 0.5}), "label 2 occurs in y_true but not in target"),
    (dict(target_prior={0: 0.5, 1: 0.2, 2: 0.2}), "must sum to 1, found 0.9"),
    (dict(target_prior={0: 1.5, 1: -0.7, 2: 0.2}), "probabilities >= 0, found -0.7"),
    (dict(target_prior={0: 0, 1: 0, 2: 1}), r"single class \[2\]"),
    (dict(target_prior={0: 0.5, 1: 0.2, 2: 0.2, 7: 0.1}), "7, which is not in labels"),
    (dict(target_prior={0: 0.5, 1: 0.2, 2: 0.2, 3: 0.1}, labels=range(4)),
     "no row of y_true has that label"),
    (dict(method="best"), "method must be one of 'plugin', 'curved', 'exact'"),
    (dict(metric="f3"), "metric must be one of 'qwk'"),
    (dict(metric="mae", method="plugin"), "pass method='exact'"),
    (dict(metric=f_beta_metric(1), method="plugin"), "pass method='exact'"),
    (dict(metric=f_beta_metric(1)), "is for two classes, found 3"),
    (dict(metric=f_beta_metric(1), method="exact"), "is for two classes, found 3"),
    (dict(metric="youden", method="exact"), "is for two classes, found 3"),
    (dict(metric=[[0, 1], [1, 0]], method="exact"), "use cost_metric", TypeError),
    (dict(metric=extended_qwk_metric()), "metric of classes, found Extended.*pass for"),
    (dict(metric=qwk_metric().loss), "metric of classes, found MetricLoss.*out .loss"),
    (dict(metric=qwk_metric), "metric of classes, found <function qwk_metric"),
    (dict(metric=qwk_metric().lightgbm), "metric of classes, found LightGBMMetric"),
    (dict(metric=qwk_metric((0, 2), thresholds=[0.5, 1.5])),
     "'qwk' has thresholds of its own.*make it without thresholds="),
    (dict(metric=qwk_metric((0, 1))), "y_true holds .*2.* not in labels"),
    (dict(metric=qwk_metric((0, 3)), labels=[0, 1, 2]),
     r"labels are \[0, 1, 2\], but the metric has label_range \(0, 3\): leave one"),
    (dict(method="rounding", labels=[2, 1, 0]), "needs labels that are rising numbers"),
    (dict(metric=lambda y, p, w: 1, method="plugin"), "pass method='nelder-mead'"),
    (dict(metric=lambda y, p, w: 1, method="curved"), "'curved' cannot optimise one"),
    (dict(metric="accuracy", method="curved"), "method='curved' is for metric='qwk' only"),
    (dict(metric=lambda y, p, w: 1, method="exact"), "pass method='nelder-mead'"),
    (dict(metric=lambda y, p: 1), "lambda y, p, w: <lambda>.y, p, sample_weight=w", TypeError),
    (dict(metric=lambda y_pred, y_true, *, sample_weight=None: 1), "the labels first", TypeError),
    (dict(metric=make_scorer(accuracy_score)), "scorer .* pass its function, accuracy_score",
     TypeError),
    (dict(metric=cost_metric(np.eye(2)), method="exact"), r"shape \(2, 2\), but .* 3"),
    (dict(n_starts=0), "n_starts must be a whole number >= 1"),
    (dict(random_state=0.5), "random_state must be an int", TypeError),
    (dict(score=[-1.7e308, 0, 1.0, 1.7e308]), "more than float64 holds"),
)  # fmt: skip
def test_bad_input(arguments) -> None:
    optimize_thresholds(**{"y_true": Y, "score": S, **arguments})


def test_the_search_is_repeatable_as_documented() -> None:
    """Four starts of seed 0 where nothing is said."""
    rng = np.random.default_rng(9)
    y = rng.integers(0, 5, 300)
    score = y + rng.normal(size=300)

    def search(**how):
        seen = []

        def metric(y_true, y_pred, sample_weight):
            seen.append(np.array(y_pred))
            return (y_true == y_pred).mean()

        optimize_thresholds(y, score, metric=metric, method="nelder-mead", **how)
        return seen

    left_out, said = search(), search(n_starts=4, random_state=0)
    assert len(left_out) == len(said)
    assert all(map(np.array_equal, left_out, said))
    assert len(search(random_state=1)) != len(said)
    assert len(search(n_starts=5)) > len(said)


def test_words_are_searched_from_their_own_frequencies() -> None:
    """Labels without numbers have no midpoints: the first cuts leave as many rows as labels, but
    for one at each cut."""
    rng = np.random.default_rng(11)
    y, score = np.array(["a", "b", "c"])[rng.choice(3, 200, p=[0.2, 0.5, 0.3])], rng.random(200)
    first = []

    def metric(y_true, y_pred, sample_weight):
        first.append(np.array(y_pred))
        return (y_true == y_pred).mean()

    optimize_thresholds(
        y, score, metric=metric, method="nelder-mead", n_starts=1, labels=["a", "b", "c"]
    )
    for label in "abc":
        assert abs(int(np.sum(first[0] <= label)) - int(np.sum(y <= label))) <= 1


def recall_if_precise(y_true, y_pred, sample_weight):
    w = np.ones(len(y_true)) if sample_weight is None else sample_weight
    found, right = w[y_pred == 1].sum(), w[(y_pred == 1) & (y_true == 1)].sum()
    return right / w[y_true == 1].sum() if found and right >= 0.8 * found else -1.0


def test_functions_of_scikit_learn_get_the_weights_by_name() -> None:
    rng = np.random.default_rng(0)
    score, w = rng.normal(size=60), rng.integers(1, 4, 60)
    y = (score + rng.normal(size=60) > 0).astype(int)
    own = optimize_thresholds(
        y, score, metric=lambda y, p, w: f1_score(y, p, sample_weight=w), sample_weight=w
    )
    assert optimize_thresholds(y, score, metric=f1_score, sample_weight=w).tolist() == own.tolist()
    with pytest.warns(UserWarning, match=r"score holds nothing but labels, .* y_true comes first"):
        optimize_thresholds(y, (score > 0.1).astype(int))


@pytest.mark.slow
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("n", [400, 5000])
@pytest.mark.parametrize("seed", range(3))
def test_a_constraint_of_a_function_of_two_classes_is_kept(seed, n, weighted) -> None:
    """Nelder-Mead saw -1 at each of its starts, and stayed there."""
    rng = np.random.default_rng(seed)
    score = rng.normal(size=n)
    y = (rng.random(n) < 1 / (1 + np.exp(4 - 3 * score))).astype(int)
    w = rng.integers(1, 4, n).astype(float) if weighted else None
    found = optimize_thresholds(y, score, metric=recall_if_precise, sample_weight=w)
    value = recall_if_precise(y, apply_thresholds(score, found), w)
    if n <= 2000:
        cuts = np.append(score, np.inf)
        best = max(recall_if_precise(y, (score >= cut).astype(int), w) for cut in cuts)
        assert value == best
    assert value > 0.2


def test_many_cuts_cost_few_calls() -> None:
    calls = []

    def top(y_true, y_pred, sample_weight):
        calls.append(y_pred.sum())
        return -abs(y_pred.sum() - 777)

    rng = np.random.default_rng(0)
    score = rng.random(20_000)
    t = optimize_thresholds((rng.random(20_000) < score).astype(int), score, metric=top)
    assert (score >= t[0]).sum() == 777
    assert len(calls) < 2500


test_refusals = refusals(
    (lambda: cost_metric([[0, 1]]), "shape"),
    (lambda: cost_metric([[0, np.nan], [1, 0]]), "finite"),
    (lambda: kappa_cost_metric([[0, -1], [1, 0]]), ">= 0"),
    (lambda: kappa_cost_metric([[1, 1], [1, 0]]), "diagonal"),
    (lambda: f_beta_metric(0), "beta must be > 0"),
    (lambda: optimize_thresholds(
        Y, S, metric=kappa_cost_metric([[0, 0, 1], [1, 0, 1], [1, 0, 0]]), method="exact"
     ), "position 1 costs nothing"),
)  # fmt: skip


# several labels


@each("weighted", [False, True])
def test_thresholds_of_several_labels_have_the_best_micro_f(weighted: bool) -> None:
    rng = np.random.default_rng(3)
    for beta in (0.5, 1.0, 2.0) * 10:
        y, score = rng.integers(0, 2, (6, 3)), rng.integers(0, 4, (6, 3)) / 4
        y[0, 0] = 1
        w = rng.integers(1, 4, 6) if weighted else None

        def micro(t, y=y, score=score, w=w, beta=beta) -> float:
            v = 1 if w is None else w[:, np.newaxis]
            given = score >= np.array(t)
            hit, wrong, missed = ((v * of).sum() for of in (y * given, (1 - y) * given, y * ~given))
            return (1 + beta**2) * hit / ((1 + beta**2) * hit + beta**2 * missed + wrong)

        found = optimize_multilabel_thresholds(y, score, beta=beta, sample_weight=w)
        theirs = fbeta_score(
            y, score >= np.array(found), beta=beta, average="micro", sample_weight=w
        )
        assert micro(found) == pytest.approx(theirs, rel=1e-12)
        every = itertools.product(*([*np.unique(s), np.inf] for s in score.T))
        assert micro(found) == pytest.approx(max(map(micro, every)), abs=1e-12)  # sums in two ways


def test_a_label_without_rows_is_given_to_none_and_rows_of_weight_0_do_not_count() -> None:
    y, score = [[1, 0], [0, 0], [1, 0]], [[0.9, 0.8], [0.4, 0.9], [0.5, 0.1]]
    found = optimize_multilabel_thresholds(y, score)
    np.testing.assert_allclose(found, [0.45, np.inf])
    found = optimize_multilabel_thresholds(y, score, sample_weight=[1, 1, 0])
    np.testing.assert_allclose(found, [0.65, np.inf])


def test_one_column_of_labels_has_one_threshold() -> None:
    y, score = np.array([[1], [0], [1]]), np.array([[0.9], [0.4], [0.5]])
    for labels in (y, y.tolist(), pd.DataFrame(y, columns=["a"])):
        assert optimize_multilabel_thresholds(labels, score).round(9).tolist() == [0.45]


LABELS, SCORES = [[1, 0], [0, 1]], [[0.9, 0.8], [0.4, 0.9]]


test_bad_columns_of_labels_are_refused = refusals_of(
    optimize_multilabel_thresholds,
    (LABELS, [[0.9, 0.8]], "score must have the shape of y_true"),
    (pd.DataFrame(LABELS, columns=["a", "b"]), pd.DataFrame(SCORES, columns=["b", "a"]),
     "the columns of score, .*, would be read as"),
    (SCORES, LABELS, r"y_true must be 0 \(negative\) or 1 \(positive\)"),
    ([[0, 0], [0, 0]], SCORES, "y_true holds no 1"),
    (LABELS, [[0.9, np.nan], [0.4, 0.9]], "score must be finite"),
    (csr_matrix(LABELS), SCORES, r"y_true is a sparse matrix: pass .* y_true.toarray", TypeError),
    ([0, 1, 0, 1], SCORES, r"y_true must have shape \(n, L\)"),
    ([0, 1], [0.1, 0.9], "for one label use optimize_thresholds"),
)  # fmt: skip


@each("labels", [[1, 2, 3, 4, 5, 6], [0, 1], [-3, 0, 0.5, 4], [10, 20, 50]], ids=str)
def test_without_thresholds_a_score_has_the_nearest_label(labels: list[float]) -> None:
    score = np.arange(-40, 240) / 4  # every half-way point is among them, without rounding
    nearest = [min(labels, key=lambda label: (abs(label - s), -label)) for s in score]
    rounded = apply_thresholds(score, labels=labels)
    assert rounded.tolist() == nearest  # of two as near, the upper
    assert rounded.dtype == np.asarray(labels).dtype
    found = optimize_thresholds(nearest, score, labels=labels, method="rounding")
    same = apply_thresholds(score, found)
    np.testing.assert_array_equal(rounded, same)


def test_rounding_says_which_labels_it_needs() -> None:
    with pytest.raises(ValueError, match="thresholds are missing: pass them, or labels="):
        apply_thresholds([0.5])
    for labels in (["low", "high"], [3, 2, 1], [False, True]):
        with pytest.raises(ValueError, match="rounding needs labels that are rising numbers"):
            apply_thresholds([0.5], labels=labels)
