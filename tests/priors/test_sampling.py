"""Sampling by label: rates, seeds, memory, imbalanced-learn, and SMOTE, which cannot be undone;
prior_weights: King & Zeng's formula, what it does to a model."""

from __future__ import annotations

import tracemalloc
from hashlib import blake2b
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import example, given, strategies as st
from lightgbm import LGBMClassifier
from scipy.special import expit, logit
from scipy.stats import chi2
from sklearn.linear_model import LogisticRegression
from sklearn.naive_bayes import GaussianNB

from gbdt_objectives import (
    correct_probability,
    log_odds_shift,
    negative_downsample,
    weighted_logloss_objective,
)
from gbdt_objectives.priors import (
    measured_keep_rates,
    negative_downsample_by_key,
    pilot_keep_rates,
    prior_weights,
    resample_classes,
)
from gbdt_objectives.priors.sampling import INCREMENT, bits_of_object, mix, uniform_of_key
from tests.cases import each, refusals, refusals_of, refused

n = 300_000  # more than two blocks
RARE = (np.arange(n) % 100 == 0).astype(int)


def within_five_deviations(count: int, rows: int, rate: float) -> bool:
    return abs(count - rows * rate) <= 5 * (rows * rate * (1 - rate)) ** 0.5


# negative_downsample

RATES = np.random.default_rng(4).choice([0.001, 0.02, 0.3, 1.0], n)


@each("rate", [0.001, 0.02, 0.5, 1, RATES], ids=np.shape)
@each("dtype", [np.int64, np.int8, np.float32, np.bool_])
def test_a_negative_is_kept_if_its_random_number_is_below_its_rate(rate, dtype) -> None:
    """Every positive is; there is a number for each row, in order, so lower rates keep a subset."""
    rows = negative_downsample(RARE.astype(dtype), rate, random_state=0)
    assert rows.dtype == np.int64
    uniform = np.random.default_rng(0).random(n)
    np.testing.assert_array_equal(rows, np.flatnonzero((RARE == 1) | (uniform < rate)))


def test_rates_and_labels_of_pandas_count_by_position() -> None:
    pd = pytest.importorskip("pandas")
    index = np.random.default_rng(0).permutation(n)
    y, rates = pd.Series(RARE, index=index), pd.Series(RATES, index=np.arange(n) + n)
    np.testing.assert_array_equal(
        negative_downsample(y, rates, random_state=1),
        negative_downsample(RARE, RATES.tolist(), random_state=1),
    )
    with pytest.raises(ValueError, match="y and negative_keep_rate have the same index in another"):
        negative_downsample(y, pd.Series(RATES), random_state=1)


test_bad_rates_by_row = refusals_of(
    lambda rates: negative_downsample([0, 0, 0, 1], rates, random_state=0),
    ([0.1] * 3, "negative_keep_rate has 3 rows, but the labels have 4"),
    ([0.1, 0.1, 0, 0.1], r"must be in \(0, 1\], found 0.0 at row 2"),
    ([0.1, 0.1, 2, 0.1], "found 2.0 at row 2.* 0.02 for 2 %"),
    ([0.1, 0.1, np.nan, 0.1], "finite, found nan at row 2"),
    ([True, False, True, True], "is it a mask", TypeError),
    ([[0.1] * 4], "one-dimensional"),
    ([1e-12] * 4, "of which the sample has none: raise its rate"),
    (np.array(0.1), "must be a number, found ndarray", TypeError),
    (20, r"must be in \(0, 1\], found 20"),
)


# pilot_keep_rates


# positives are not rare here
@pytest.mark.filterwarnings("ignore:negative_keep_rate drops rows of")
@given(
    seed=st.integers(0, 2**32 - 1),
    mean=st.floats(1e-4, 1),
    share=st.floats(0.001, 1),
    spread=st.floats(0, 20),
)
@example(seed=0, mean=0.5597610438366772, share=0.9999999999999999, spread=0.0)
def test_mean_rate_of_the_negatives_is_what_was_asked_for(seed, mean, share, spread) -> None:
    rng = np.random.default_rng(seed)
    y = np.append([0, 1], rng.random(100) < 0.3).astype(int)
    p = expit(spread * rng.normal(size=len(y)) - 4)
    rates = pilot_keep_rates(y, p, mean, floor=share * mean)
    assert rates[y == 0].mean() == pytest.approx(mean, rel=1e-9)  # of a root found to 1e-13
    assert rates.min() >= share * mean
    assert rates.max() <= 1
    inside = (rates > 1.001 * share * mean) & (rates < 0.999)
    c = rates[inside] / p[inside]
    np.testing.assert_allclose(c, c.mean() if len(c) else 1, rtol=1e-9)  # in proportion
    assert (np.diff(rates[np.argsort(p)]) >= 0).all()


def test_equal_probabilities_give_one_rate() -> None:
    np.testing.assert_allclose(pilot_keep_rates([0, 0, 1], [0.3] * 3, 0.2), 0.2, rtol=1e-12)
    np.testing.assert_array_equal(pilot_keep_rates([0, 0, 1], [0.1, 0.2, 0.3], 1), 1)
    np.testing.assert_array_equal(pilot_keep_rates([0, 0, 1], [0.1, 0.2, 0.3], 0.2, floor=0.2), 0.2)
    np.testing.assert_array_equal(pilot_keep_rates([0, 0, 1], [0, 0, 0.3], 0.2, floor=0.2), 0.2)


def test_the_floor_is_a_tenth_of_the_mean_unless_told_otherwise() -> None:
    assert pilot_keep_rates([0, 0, 1], [1e-9, 0.3, 0.3], 0.1)[0] == pytest.approx(0.01)


@refused(
    ({"floor": 0.6}, "floor is 0.6, above negative_keep_rate 0.5"),
    ({"floor": 0}, r"floor must be in \(0, 1\], found 0"),
    ({"negative_keep_rate": 50}, r"negative_keep_rate must be in \(0, 1\]"),
    ({"negative_keep_rate": [0.5] * 4}, "must be a number, found list", TypeError),
    ({"probability": [0, 0, 0.1, 0.2]},
     "0 in 2 of 3 negatives.* floor, 0.05: the mean rate is at most 0.366"),
    ({"probability": [0] * 4}, "0 in 3 of 3 negatives"),
    ({"probability": [0.1, 2, 3, 4]}, r"probability must be in \[0, 1\]"),
    ({"probability": [0.1, np.nan, 0.1, 0.1]}, "probability must be finite"),
    ({"probability": [0.1]}, "probability has 1 rows, but the labels have 4"),
    ({"probability": [[0.9, 0.1]] * 4}, "probability must be one-dimensional"),
    ({"y_true": [0, 0, 0, 0]}, "y_true has the label 0 only"),
    ({"y_true": [1, 1, 1, 1]}, "y_true has the label 1 only"),
    ({"y_true": [0, 0, 0, 2]}, "found 2 at row 3"),
    ({"y_true": ["0", "0", "0", "1"]}, "y_true must be 0", TypeError),
)  # fmt: skip
def test_bad_arguments_of_pilot_keep_rates(change) -> None:
    good = {"y_true": [0, 0, 0, 1], "probability": [0.1, 0.2, 0.1, 0.5], "negative_keep_rate": 0.5}
    pilot_keep_rates(**good)
    pilot_keep_rates(**(good | change))


# seeds


@each("seed", [int, np.int64, np.random.default_rng, np.random.RandomState])
def test_reproducible(seed) -> None:
    first, second = (negative_downsample(RARE, 0.02, random_state=seed(7)) for _ in range(2))
    np.testing.assert_array_equal(first, second)


@pytest.mark.parametrize("source", [np.random.default_rng(1), np.random.RandomState(1), None])
def test_a_source_moves_on(source) -> None:
    first, second = (negative_downsample(RARE, 0.02, random_state=source) for _ in range(2))
    assert not np.array_equal(first, second)


# resample_classes


@pytest.mark.parametrize("names", [np.array([0, 1, 2]), np.array(["a", "b", "c"], object), None])
def test_rates_under_and_over_one(names) -> None:
    position = np.random.default_rng(0).integers(0, 3, 30_000)
    names = np.array([0.0, 1.0, 2.5]) if names is None else names
    y = names[position]
    rates = dict(zip(names.tolist(), [0.05, 2.3, 3.0], strict=True))
    rows = resample_classes(y, rates, random_state=0)
    assert (np.diff(rows) >= 0).all()
    copies = np.bincount(rows, minlength=len(y))
    assert set(copies[position == 0]) == {0, 1}
    assert set(copies[position == 1]) == {2, 3}
    assert set(copies[position == 2]) == {3}
    size = np.bincount(position)
    assert within_five_deviations(copies[position == 0].sum(), size[0], 0.05)
    assert within_five_deviations((copies[position == 1] == 3).sum(), size[1], 0.3)
    measured = measured_keep_rates(y, y[rows])
    assert list(measured) == list(rates)
    assert list(measured.values()) == pytest.approx(list(rates.values()), rel=0.05)


# memory


def test_memory_is_that_of_the_sample() -> None:
    """An index of 8 bytes for each row taken, and blocks of at most a few MB."""
    y = np.zeros(5_000_000, np.int8)
    y[::1000] = 1
    tracemalloc.start()
    try:
        rows = negative_downsample(y, 0.02, random_state=0)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak < 2 * rows.nbytes + 4e6 < 8e6  # against 40 MB for a vector of uniforms


# measured_keep_rates


def test_measured_rates_give_back_the_class_odds() -> None:
    rows = resample_classes(RARE, {0: 0.013, 1: 1.7}, random_state=0)
    rates = measured_keep_rates(RARE, RARE[rows])
    shift = log_odds_shift(negative_keep_rate=rates[0], positive_keep_rate=rates[1])
    # the best constant prediction after sampling becomes the one before, to rounding
    assert correct_probability(RARE[rows].mean(), shift) == pytest.approx(0.01, rel=1e-13)
    per_class = log_odds_shift(class_keep_rates=list(rates.values()))
    s = RARE[rows].mean()
    assert correct_probability([[1 - s, s]], per_class)[0, 1] == pytest.approx(0.01, rel=1e-13)


def test_downsampled_logistic_regression_corrected_or_weighted_is_that_of_all_rows() -> None:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(200_000, 2))
    true = expit(X @ [1.0, -0.5] - 4)
    y = (rng.random(len(X)) < true).astype(int)
    rows = negative_downsample(y, 0.1, random_state=rng)
    plain, weighted = (
        LogisticRegression(C=np.inf).fit(X[rows], y[rows], w).predict_proba(X)
        for w in (None, prior_weights(y[rows], y.mean()))
    )
    rates = measured_keep_rates(y, y[rows])
    for p in (correct_probability(plain, negative_keep_rate=rates[0]), weighted):
        # about 5,000 positives: coefficients to .02, so probabilities to about 2 % on average
        assert np.abs(p[:, 1] / true - 1).mean() < 0.06
        assert p[:, 1].mean() == pytest.approx(y.mean(), rel=0.03)
    assert plain[:, 1].mean() > 5 * y.mean()


# imbalanced-learn


def gaussian_data(rows: int, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Ten features, positives moved by .4: naive Bayes is the right model. Also its posterior."""
    y = (rng.random(rows) < 0.02).astype(int)
    X = rng.normal(size=(rows, 10)) + 0.4 * y[:, None]
    return X, y, expit(0.4 * (X - 0.2).sum(axis=1) + np.log(0.02 / 0.98))


def logloss(q: np.ndarray, p: np.ndarray) -> float:
    """Expected logloss of probabilities p, given the true q."""
    return float(-(q * np.log(p) + (1 - q) * np.log1p(-p)).mean())


def corrected(X, y, X_after, y_after, X_test) -> np.ndarray:
    rates = measured_keep_rates(y, y_after)
    shift = log_odds_shift(class_keep_rates=list(rates.values()))
    model = GaussianNB().fit(X_after, y_after)
    p: np.ndarray = correct_probability(model.predict_proba(X_test), shift)[:, 1]
    return p


def test_no_shift_corrects_smote() -> None:
    """Interpolated positives have too little variance: another p(x|y), so no constant undoes it."""
    pytest.importorskip("imblearn")
    from imblearn.over_sampling import SMOTE, RandomOverSampler

    rng = np.random.default_rng(0)
    X, y, _ = gaussian_data(30_000, rng)
    X_test, _, q = gaussian_data(50_000, rng)

    def excess(sampler) -> np.ndarray:
        """Logloss above the least possible, of every shift on a grid around the right one."""
        p = corrected(X, y, *sampler.fit_resample(X, y), X_test)
        shifts = np.linspace(-1, 1, 41)
        return np.array([logloss(q, correct_probability(p, shift=d)) for d in shifts]) - logloss(
            q, q
        )

    right = excess(RandomOverSampler(random_state=0))[20]
    assert right < 1e-3  # its copies are corrected by what measured_keep_rates finds
    # measured: 3.6e-4 to 4.1e-4 against 2.1e-3 to 4.2e-3, the best shift chosen by the truth
    assert excess(SMOTE(random_state=0)).min() > 4 * right


# bad input


test_bad_labels = refusals_of(
    lambda y: negative_downsample(y, 0.5, random_state=0),
    ([0, 1, 2], r"y must hold the labels \[0, 1\], found 2 at row 2: encode the rare event"),
    ([0, 1, np.nan], r"y must hold the labels \[0, 1\], found nan at row 2"),
    ([-1, 1], r"y must hold the labels \[0, 1\], found -1 at row 0"),
    ([1, 1], "y has 0 rows of the label 0, of which the sample has none: every label must"),
    ([0, 0], "y has 0 rows of the label 1, of which the sample has none: every label must"),
    ([0, 0], r"for a chunk of a larger log write negative_keep_rate=\{0: rate\}"),
    ([], "y must be one-dimensional and not empty"),
    ([[0, 1]], "y must be one-dimensional and not empty"),
)


test_labels_and_rates_that_do_not_match = refusals_of(
    lambda y: resample_classes(y, {0: 0.9, 1: 1}, random_state=0),
    ([0, 1, 2], "found 2 at row 2: give every label a rate"),
    ([0, 0, 0], "y has 0 rows of the label 1"),
    (["a", "b"], "found 'a' at row 0"),
)


test_labels_that_do_not_match = refusals_of(
    measured_keep_rates,
    ([0, 1, 1], [1, 1], "y_sampled has no row of the label 0, y_full has 1"),
    ([0, 1], [0, 1, 2], "y_sampled holds the label 2, which is not in y_full: .* swapped"),
    (["a", "b"], [0, 1], "y_sampled holds the label 0, which is not in y_full"),
    ([0, np.nan], [0, 1], "y_full must be finite"),
    ([0, 1], [], "y_sampled must be one-dimensional and not empty"),
    ([[0, 1]], [0, 1], "y_full must be one-dimensional and not empty"),
)


@pytest.mark.slow
def test_boosters_memorise_copies_and_linear_models_do_not() -> None:
    """As in the docstring: no shift undoes what a booster makes of copies."""
    rng = np.random.default_rng(0)

    def rows(n: int) -> tuple[np.ndarray, np.ndarray]:
        X = rng.normal(size=(n, 8))
        z = -5.3 + X[:, 0] + 0.6 * X[:, 1] + 0.7 * X[:, 4] * X[:, 5] + 0.8 * np.abs(X[:, 3])
        return X, (rng.random(n) < expit(z)).astype(int)

    X, y = rows(40_000)
    X_test, y_test = rows(100_000)
    sampled = resample_classes(y, {0: 1, 1: 20}, random_state=0)
    shift = log_odds_shift(positive_keep_rate=20)
    ratio = {}
    for model in (LGBMClassifier(n_jobs=1, verbose=-1), LogisticRegression()):
        p = model.fit(X[sampled], y[sampled]).predict_proba(X_test)[:, 1]
        ratio[type(model)] = correct_probability(p, shift).mean() / y_test.mean()
    assert ratio[LGBMClassifier] < 0.75
    assert 0.9 < ratio[LogisticRegression] < 1.1  # binomial deviation 3 %


@given(
    positives=st.integers(1, 50),
    negatives=st.integers(1, 50),
    tau=st.floats(1e-6, 1 - 1e-6),
)
def test_king_and_zeng(positives, negatives, tau) -> None:
    y = np.repeat([1, 0], [positives, negatives])
    s = positives / len(y)
    w = prior_weights(y, tau)
    np.testing.assert_allclose(w, np.where(y == 1, tau / s, (1 - tau) / (1 - s)), rtol=1e-12)
    assert w.mean() == pytest.approx(1, rel=1e-12)
    assert np.average(y, weights=w) == pytest.approx(tau, rel=1e-9)
    by_positive = prior_weights(y, tau, normalize="positive")
    np.testing.assert_allclose(by_positive, w / w[0], rtol=1e-12)
    # a negative weighs 1/w, the inverse of the rate at which it was kept
    shift = log_odds_shift(train_prior=s, target_prior=tau)
    assert by_positive[-1] == pytest.approx(np.exp(-shift), rel=1e-9)


@pytest.mark.parametrize("names", [["a", "b", "c"], [0, 1, 2], [-1.5, 0.0, 7.0]])
def test_several_labels(names) -> None:
    y = np.array(names)[[0, 0, 0, 1, 1, 2]]
    tau = dict(zip(names[::-1], [0.1, 0.2, 0.7], strict=True))
    w = prior_weights(y, tau)
    np.testing.assert_allclose(w, [0.7 / 3 * 6] * 3 + [0.2 / 2 * 6] * 2 + [0.1 * 6], rtol=1e-14)
    np.testing.assert_allclose(prior_weights(y, tau | {names[0]: 0.7}), w)


def test_a_mapping_of_two_labels_is_the_float() -> None:
    y = [0, 1, 1, 0, 0]
    for normalize in ("mean", "positive"):
        np.testing.assert_array_equal(
            prior_weights(y, 0.25, normalize=normalize),
            prior_weights(y, {1: 0.25, 0: 0.75}, normalize=normalize),
        )
    assert (prior_weights(y, {0: 0.75, 1: 0.25, 2: 0}) == prior_weights(y, 0.25)).all()
    printed = prior_weights(y, {0: 0.7500004, 1: 0.2500004})  # rounded, allowed to 1e-6
    assert printed.mean() == pytest.approx(1, rel=1e-12)


# bad input


test_bad_priors = refusals_of(
    lambda target_prior: prior_weights([0, 1, 0], target_prior),
    (0, "target_prior must be above 0 and below 1, found 0.0"),
    (1.0, "target_prior must be above 0 and below 1, found 1.0"),
    (np.nan, "target_prior must be finite"),
    ({0: 0.5, 1: 0.4}, "target_prior must sum to 1, found 0.9"),
    ({0: 1.0, 1: 0.0}, "target_prior must be above 0 for labels that occur .* for 1"),
    ({0: 1.5, 1: -0.5}, "target_prior must hold probabilities >= 0, found -0.5 for 1"),
    ({0: 0.9, 1: 0.2, 2: -0.1}, "target_prior must hold probabilities >= 0, found -0.1 for 2"),
    ({0: 0.5, 1: np.nan}, r"target_prior\[1\] must be finite"),
    ({0: 1.0}, "label 1 occurs in y but not in target_prior"),
    ({0: 0.5, 1: 0.3, 2: 0.2}, "target_prior gives 2 the probability 0.2, but no row of y"),
)


@pytest.mark.parametrize(
    ("normalize", "expected"),
    [(None, 0.3 * 0.7), ("mean", 0.01 * 0.99), ("positive", 0.3 * 0.99)],
)
def test_mean_hessian_at_the_start_is_that_of_the_docstring(normalize, expected) -> None:
    """Mean 1 is the strongest regularisation: hessians of .0099 per row, against .21."""
    s, tau = 0.3, 0.01
    y = np.repeat([0, 1], [700, 300])
    w = None if normalize is None else prior_weights(y, tau, normalize=normalize)
    objective = weighted_logloss_objective(1)
    start = objective.measured(y, w).intercept
    assert start == pytest.approx(logit(s if w is None else tau))
    _, hessian = objective.gradient_hessian(y, np.full(1000, start), w)
    assert hessian.mean() == pytest.approx(expected)


N = 100_000


def test_published_outputs_of_splitmix64() -> None:
    """The first outputs of splitmix64.c from the state 0."""
    state = np.arange(1, 6, dtype=np.uint64) * INCREMENT
    assert [hex(int(z)) for z in mix(state)] == [
        "0xe220a8397b1dcdaf",
        "0x6e789e6aa1b965f4",
        "0x6c45d188009454f",
        "0xf88bb8a8724c81ec",
        "0x1b39896a51a8749b",
    ]


def splitmix(z: int) -> int:
    """The output function in Python's integers."""
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9 % 2**64
    z = (z ^ (z >> 27)) * 0x94D049BB133111EB % 2**64
    return z ^ (z >> 31)


def kept_of(y: Any, key: Any, rate: Any, **options: Any) -> np.ndarray:
    """Whether each row is kept, from the positions of those that are."""
    positions = negative_downsample_by_key(y, key, rate, **options)
    assert positions.dtype == np.int64
    assert (np.diff(positions) > 0).all()
    return np.isin(np.arange(len(y)), positions)


@pytest.mark.parametrize("seed", [0, 1, 2**63 + 5])
def test_the_hash_as_documented(seed) -> None:
    keys = [0, 1, 5, -1, -(2**63), 2**63 - 1]
    words = ["", "a", "ü", "a\0", "user 17"]
    expected = [
        (splitmix(splitmix((k + 0x9E3779B97F4A7C15) % 2**64) ^ splitmix(seed)) >> 11) / 2**53
        for k in keys
    ]
    assert uniform_of_key(keys, seed).tolist() == expected
    numbers = [int.from_bytes(blake2b(w.encode(), digest_size=8).digest(), "little") for w in words]
    of_numbers = uniform_of_key(np.array(numbers, np.uint64), seed).tolist()
    assert uniform_of_key(np.array(words, object), seed).tolist() == of_numbers
    assert uniform_of_key([w.encode() for w in ("x", "yy")], seed).tolist() == [
        uniform_of_key(["x"], seed)[0],
        uniform_of_key(["yy"], seed)[0],
    ]


def test_the_hash_never_changes() -> None:
    """Samples that were drawn stay what they were."""
    found = (uniform_of_key([1, 2, 3], 0) * 1e6).astype(int)
    assert found.tolist() == [862856, 898616, 838887]
    found = (uniform_of_key(["a", "b"], 7) * 1e6).astype(int)
    assert found.tolist() == [423696, 938388]
    assert bits_of_object(b"abc") == 6455300059550759896


@pytest.mark.parametrize(
    "keys",
    [
        np.arange(N),
        np.arange(N) * 2**20,
        np.arange(N) * 10 + 3,
        -np.arange(N),
        np.array([f"user{i}" for i in range(N // 4)], object),
    ],
    ids=["consecutive", "high bits", "tens", "negative", "strings"],
)
def test_hashes_are_uniform_and_seeds_independent(keys) -> None:
    u, v = uniform_of_key(keys, 0), uniform_of_key(keys, 1)
    assert 0 <= u.min() <= u.max() < 1
    for table in (
        np.histogram(u, 1_000, (0, 1))[0],
        np.histogram2d(u, v, 30, [[0, 1], [0, 1]])[0].ravel(),
        np.histogram2d(u[1:], u[:-1], 30, [[0, 1], [0, 1]])[0].ravel(),  # of neighbouring keys
    ):
        expected = table.sum() / len(table)
        statistic = ((table - expected) ** 2 / expected).sum()
        assert 1e-4 < chi2.sf(statistic, len(table) - 1) < 1 - 1e-4


def labelled(n: int = N) -> tuple[np.ndarray, np.ndarray]:
    return (np.arange(n) % 50 == 0).astype(int), np.arange(n) // 2


@each("rate", [0.001, 0.02, 1.0, np.where(np.arange(N) < N // 2, 0.1, 0.3)], ids=np.shape)
def test_fate_depends_on_the_hash_of_the_key_alone(rate) -> None:
    """So rows of one key are kept or dropped together, and lower rates keep a subset."""
    y, key = labelled()
    order = np.random.default_rng(0).permutation(N)
    for at in (slice(None), order, slice(5, 50_000)):
        r = rate if np.ndim(rate) == 0 else rate[at]
        kept = kept_of(y[at], key[at], r, random_state=4)
        np.testing.assert_array_equal(kept, (y[at] == 1) | (uniform_of_key(key[at], 4) < r))


INTEGERS = [
    list, pd.Series, lambda k: k.astype(np.int32), lambda k: k.astype(np.uint16),
    lambda k: k.astype(">i8"), lambda k: k.astype(object), lambda k: pd.Series(k, dtype="Int64"),
    lambda k: pd.Series(k, index=k[::-1]),
]  # fmt: skip
WORDS = [
    list, pd.Series, lambda k: k.astype("U"), lambda k: pd.Series(k, dtype="string"),
    lambda k: pd.Series(k, dtype="category"),
]  # fmt: skip


def test_a_key_of_any_type_is_the_same_key() -> None:
    y, key = labelled(2_000)
    words = key.astype(str).astype(object)
    for keys, kinds in ((key, INTEGERS), (words, WORDS)):
        expected = uniform_of_key(keys, 0)
        for convert in kinds:
            np.testing.assert_array_equal(uniform_of_key(convert(keys), 0), expected)
            kept_of(pd.Series(y), convert(keys), 0.3)
    assert (uniform_of_key(words, 0) != uniform_of_key(key, 0)).any()


@refused(
    ([0, 1], [1.0, 2.0], {}, r"dtype float64: convert it with \.astype\(str\)", TypeError),
    ([0, 1], [True, False], {}, "found dtype bool", TypeError),
    ([0, 1], np.array(["2020", "2021"], "M8[Y]"), {}, "dtype datetime64", TypeError),
    ([0, 1], np.array(["a", None], object), {}, "none missing, found None", TypeError),
    ([0, 1], np.array([1, np.nan], object), {}, "none missing, found nan", TypeError),
    ([0, 1], pd.Series([1, None], dtype="Int64"), {}, "key must hold integers", TypeError),
    ([0, 1], [2**64, 1], {}, "integers of 64 bits, found 18446744073709551616"),
    ([0, 1], [-(2**63) - 1, 1], {}, "integers of 64 bits, found -9223372036854775809"),
    ([0, 1], ["7", "NA"], {}, "key must not be missing, found 'NA', a word.* keys of their own"),
    ([0, 1], ["user 7", "."], {}, "key must not be missing, found '.'"),
    ([0, 1], ["NULL", "e5"], {}, "key must not be missing, found 'NULL'"),
    ([0, 1], ["Ann", ""], {}, "key must not be missing, found ''"),
    ([0, 1], [[1], [2]], {}, r"one-dimensional, found shape \(2, 1\)"),
    ([0, 1], [1], {}, "key has 1 rows, but the labels have 2"),
    ([0, 2], [1, 2], {}, r"must be 0 \(negative\) or 1 \(positive\), found 2"),
    ([0, 0], [1, 2], {}, r"no row of the label 1.* chunk .* write negative_keep_rate=\{0: rate\}"),
    ([1, 1], [1, 2], {}, "no row of the label 0"),
    (["a", "b"], [1, 2], {}, r"y must be 0 \(negative\) or 1 \(positive\)", TypeError),
    (np.array(["a", "b"], object), [0, 1], {},
     r"object, such as 'a': write \(y == label\)\.astype\(int\).*; y comes first, the key second",
     TypeError),
    ([0, 1], [1, 2], {"negative_keep_rate": 0.0}, r"must be in \(0, 1\], found 0\.0"),
    ([0, 1], [1, 2], {"negative_keep_rate": 1e-9}, "the sample has none: raise"),
    ([0, 1], [1, 2], {"negative_keep_rate": [0.5]}, "negative_keep_rate has 1"),
    ([0, 1], [1, 2], {"random_state": -1}, ">= 0, found -1"),
    ([0, 1], [1, 2], {"random_state": 0.5}, "random_state must be a whole number", TypeError),
)  # fmt: skip
def test_bad_input(y, key, options) -> None:
    negative_downsample_by_key(y, key, **{"negative_keep_rate": 0.5} | options)


@each("names", [["Na", "Bo"], ["NA", "EU"], ["None", "all"], ["7", "NA 0"], ["NA", "NA"]])
def test_a_key_may_be_spelled_as_what_is_missing(names) -> None:
    """Among words it may be a name, and one that is written in another way is no such word."""
    assert len(kept_of(np.array([0, 1]), names[:2], 0.999)) == 2


def test_chunks_of_a_log_may_lack_a_label_or_a_row() -> None:
    """Their samples are that of the whole log; with one seed each draws numbers of its own."""
    y, key = np.zeros(300, int), np.arange(300)
    y[[7, 250, 251, 252]] = 1
    kept = kept_of(y, key, 0.05)
    ends = [(0, 100), (100, 200), (200, 250), (250, 253), (253, 255), (255, 255), (255, 300)]
    chunks = [kept_of(y[a:b], key[a:b], {0: 0.05}) for a, b in ends]
    np.testing.assert_array_equal(np.concatenate(chunks), kept)
    assert [chunk.any() for chunk in chunks[3:6]] == [True, False, False]
    assert len(negative_downsample(y[100:200], {0: 0.05}, random_state=0)) < 20
    assert len(negative_downsample(y[250:253], {0: 0.05}, random_state=0)) == 3
    assert len(negative_downsample(y[253:254], {0: 1e-9}, random_state=0)) == 0


FEW_NEGATIVES = np.repeat([0, 1], [100, 900])
DRAWS = {
    "negative_downsample": lambda y, rate: negative_downsample(y, rate, random_state=0),
    "by key": lambda y, rate: negative_downsample_by_key(y, np.arange(len(y)), rate),
    "pilot": lambda y, rate: pilot_keep_rates(y, np.linspace(0.01, 0.1, len(y)), rate),
}


@pytest.mark.parametrize("draw", DRAWS.values(), ids=DRAWS)
def test_the_class_that_is_thinned_is_the_frequent_one(draw) -> None:
    with pytest.raises(ValueError, match=r"100 rows to 900: pass 1 - y, or negative_keep_rate=\{0"):
        draw(FEW_NEGATIVES, 0.5)
    with pytest.warns(UserWarning, match="drops rows of 0, .* 400 rows to 600"):
        draw(np.repeat([0, 1], [400, 600]), 0.5)


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("draw", DRAWS.values(), ids=DRAWS)
def test_a_rate_that_names_its_class_may_thin_the_rare_one(draw) -> None:
    """As in a chunk of a larger log."""
    named = draw(FEW_NEGATIVES, {0: 0.5})
    assert len(named)
    plain = draw(1 - FEW_NEGATIVES, 0.5)
    np.testing.assert_array_equal(plain, draw(1 - FEW_NEGATIVES, {0: 0.5}))
    assert len(draw(FEW_NEGATIVES, 1.0))  # nothing is thinned
    for wrong in ({1: 0.5}, {0: 0.5, 1: 1.0}, {}):
        with pytest.raises(ValueError, match=r"\{0: rate\}, found .*resample_classes"):
            draw(FEW_NEGATIVES, wrong)


def test_rates_by_row_are_asked_the_same() -> None:
    rates = np.full(1000, 0.5)
    with pytest.raises(ValueError, match="100 rows to 900"):
        negative_downsample(FEW_NEGATIVES, rates)
    rows = negative_downsample(FEW_NEGATIVES, {0: rates}, random_state=0)
    assert 25 < (FEW_NEGATIVES[rows] == 0).sum() < 75


def test_a_log_that_was_sampled_before_is_told() -> None:
    with pytest.warns(UserWarning, match="drops rows of 0, of which 200 .* 500 .*sampled before"):
        negative_downsample(np.repeat([0, 1], [2000, 500]), 0.1, random_state=0)


test_refusals = refusals(
    (lambda: negative_downsample([-1, -1, 1], [0.5, 0.5, 0.5]),
     "found -1 at row 0: encode the rare event as 1"),
    (lambda: pilot_keep_rates([-1, -1, 1], [0.5, 0.5, 0.5], 0.5),
     "found -1 at row 0: encode the rare event as 1"),
    *((lambda bad=bad: negative_downsample(RARE, 0.02, random_state=bad),
     "random_state must be an int, a numpy Generator", TypeError)
      for bad in ["0", 1.0, True, np.random]),
    (lambda: negative_downsample(RARE, 0.02, random_state=-1),
     "random_state must not be negative, found -1"),
    *((lambda bad=bad: negative_downsample(RARE, bad, random_state=0), "rate must be")
      for bad in [0, -0.1, 1.5, np.nan]),
    *((lambda bad=bad: resample_classes(RARE, {0: bad, 1: 1}, random_state=0),
     r"class_keep_rates\[0\] must be") for bad in [0, -0.1, np.nan, np.inf]),
    *((lambda bad=bad: resample_classes(RARE, bad, random_state=0),
     "class_keep_rates must be a mapping", TypeError) for bad in [0.1, [0.1, 1], {}, None]),
    *((lambda call=call: call({0: 100, 1: 100}),  # imblearn's counts
       "class_keep_rates are above 1 for all classes, found {0: 100, 1: 100}: a rate is the share")
      for call in (lambda counts: resample_classes(RARE, counts),
                   lambda counts: log_odds_shift(class_keep_rates=counts),
                   lambda counts: correct_probability([0.5], class_keep_rates=counts))),
    (lambda: negative_downsample(["0", "1"], 0.5, random_state=0),
     "y must be 0 .negative. or 1 .positive., found dtype", TypeError),
    *((lambda y=y: measured_keep_rates(np.array(y, object), [0, 1]),
     "y_full must hold labels of one type", TypeError)
      for y in [[0, 1, None], np.array([0, "a"], object)]),
    *((lambda target_prior=target_prior: prior_weights([0, 1, 0], target_prior),
     "target_prior must be a number", TypeError)
      for target_prior in ["0.1", None, True, [0.9, 0.1]]),
    (lambda: prior_weights([0, 1, 0], {}), "target_prior must be a mapping {label: probability}",
     TypeError),
    *((lambda y=y: prior_weights(y, 0.1), "y must hold the labels 0 and 1 with a float target_")
      for y in [[0, 0], [1, 1], [0, 1, 2], [-1, 1], [0, 1, np.nan], ["0", "1"]]),
    (lambda: prior_weights(["a", "b"], {"a": 0.5, "b": 0.5}, normalize="positive"),
     "y must hold the labels 0 and 1 with normalize='pos"),
    *((lambda y=y: prior_weights(y, 0.1), "y must be one-dimensional and not empty")
      for y in [[], [[0, 1]], 1]),
    (lambda: prior_weights([0, 1], 0.1, normalize="sum"),
     "normalize must be one of 'mean', 'positive'"),
    *((lambda values=values: resample_classes(values, {0: 0.5, 1: 1}), r"^y ")
      for values in ([0, 1, np.nan], [[0, 1]], [])),
)  # fmt: skip
