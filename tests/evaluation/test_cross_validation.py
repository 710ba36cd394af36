"""cross_validate_thresholds: honest, reproducible, and strict about its splits."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.model_selection import GroupKFold, KFold, ShuffleSplit

from gbdt_objectives import cross_validate_thresholds, optimize_thresholds
from gbdt_objectives.metrics import threshold_metric
from gbdt_objectives.thresholds import apply_thresholds
from tests.cases import refused


@pytest.fixture
def rows():
    rng = np.random.default_rng(0)
    latent = rng.normal(size=600)
    y = np.digitize(latent + rng.normal(size=600), [-1.2, 0, 1])
    return y, 1.5 + 0.6 * latent


@pytest.mark.filterwarnings("ignore:no row gets the class")  # scores are noise, in whole or in part
def test_noise_scores_nothing_on_rows_that_were_held_out() -> None:
    """The honest score of exact thresholds on noise is 0 on average, the in-sample one is not."""
    rng = np.random.default_rng(1)
    honest, naive = [], []
    for _ in range(30):
        y, score = rng.integers(0, 6, size=200), rng.normal(size=200)
        found = cross_validate_thresholds(y, score, method="exact", random_state=0, n_bootstrap=0)
        assert found.interval is None
        honest.append(found.fold_score.mean())
        naive.append(found.in_sample_score[0])
    assert min(naive) > 0
    assert np.mean(naive) > 0.1
    assert abs(np.mean(honest)) < 3 * np.std(honest, ddof=1) / np.sqrt(30)
    assert abs(np.mean(honest)) < 0.05


def test_scores_are_those_of_the_splits_written_out(rows) -> None:
    y, score = rows
    splits = list(KFold(4, shuffle=True, random_state=0).split(score))
    found = cross_validate_thresholds(
        y, score, method=["plugin", "exact"], cv=splits, n_bootstrap=0
    )
    kappa = threshold_metric("qwk")
    for i, method in enumerate(found.methods):
        predicted = np.empty_like(y)
        for f, (train, test) in enumerate(splits):
            cuts = optimize_thresholds(y[train], score[train], method=method)
            predicted[test] = apply_thresholds(score[test], cuts)
            assert found.fold_score[i, f] == pytest.approx(kappa(y[test], predicted[test]))
        assert found.score[i] == pytest.approx(kappa(y, predicted))
        np.testing.assert_array_equal(
            found.thresholds[i], optimize_thresholds(y, score, method=method)
        )
    better = found.fold_score[0] - found.fold_score[1]
    expected = better.mean(), better.std(ddof=1) / 2
    assert found.difference("plugin", "exact") == pytest.approx(expected)
    np.testing.assert_allclose(found.spread, found.fold_score.std(axis=1, ddof=1))


@pytest.mark.slow
def test_intervals_hold_the_thresholds_and_shrink_with_rows(rows) -> None:
    y, score = rows
    found = cross_validate_thresholds(y, score, random_state=0)
    low, high = found.interval[0]
    assert (low < found.thresholds[0]).all()
    assert (found.thresholds[0] < high).all()
    few = cross_validate_thresholds(y[:100], score[:100], random_state=0)
    assert (few.interval[0, 1] - few.interval[0, 0]).mean() > 1.5 * (high - low).mean()
    again = cross_validate_thresholds(y, score, random_state=0)
    np.testing.assert_array_equal(found.interval, again.interval)
    np.testing.assert_array_equal(found.fold_score, again.fold_score)


def test_progress_is_shown_on_request_and_changes_nothing(rows, capsys) -> None:
    alone = cross_validate_thresholds(*rows, n_bootstrap=20, random_state=0)
    assert capsys.readouterr().err == ""
    watched = cross_validate_thresholds(*rows, n_bootstrap=20, random_state=0, verbose=True)
    np.testing.assert_array_equal(watched.interval, alone.interval)
    told = capsys.readouterr().err
    assert "5/5" in told
    assert "20/20" in told
    with pytest.raises(TypeError, match="verbose must be True or False"):
        cross_validate_thresholds(*rows, n_bootstrap=0, verbose="yes")


@pytest.mark.filterwarnings("ignore:no row gets the class")  # scores are noise, in whole or in part
def test_best_prefers_the_first_unless_another_is_clearly_better(rows) -> None:
    y, score = rows
    methods = ["plugin", "exact", "rounding"]
    found = cross_validate_thresholds(y, score, method=methods, random_state=0, n_bootstrap=0)
    assert found.best == "plugin"  # rounding loses: these scores are too narrow
    assert found.difference("rounding", "plugin")[0] < 0
    # a jump that no line can follow: equally spaced thresholds must fail
    bent = np.where(y >= 2, 30, 0) + y + 0.1 * score
    found = cross_validate_thresholds(y, bent, method=methods, random_state=0, n_bootstrap=0)
    assert found.best == "exact"


def test_costs_are_compared_in_their_direction(rows) -> None:
    y, score = rows
    found = cross_validate_thresholds(
        y, score - 1.5, method=["rounding", "exact"], metric="mae", random_state=0, n_bootstrap=0
    )
    assert not found.greater_is_better
    assert found.score[1] < found.score[0]
    assert found.difference("exact", "rounding")[0] > 0
    assert found.best == "exact"


def test_weights_count_as_repetition_and_zero_as_none(rows) -> None:
    y, score = (a[:200] for a in rows)
    w = np.random.default_rng(3).integers(0, 4, size=200)
    fold = np.arange(200) % 4
    repeated = np.repeat(np.arange(200), w)

    def splits(fold):
        return [(np.flatnonzero(fold != f), np.flatnonzero(fold == f)) for f in range(4)]

    options = {"method": ["plugin", "exact"], "n_bootstrap": 0}
    weighted = cross_validate_thresholds(y, score, sample_weight=w, cv=splits(fold), **options)
    copies = cross_validate_thresholds(
        y[repeated], score[repeated], cv=splits(fold[repeated]), **options
    )
    np.testing.assert_allclose(weighted.fold_score, copies.fold_score)
    np.testing.assert_allclose(weighted.score, copies.score)
    np.testing.assert_allclose(weighted.thresholds, copies.thresholds)


def test_prints_as_a_small_table(rows) -> None:
    y, score = rows
    methods = ["plugin", "exact", "rounding", "nelder-mead"]
    found = cross_validate_thresholds(y, score, method=methods, cv=2, n_bootstrap=0)
    lines = repr(found).splitlines()
    assert [line.split()[0] for line in lines] == ["method", *methods]
    assert f"{found.score[1]:.4g}" in lines[2]
    assert lines[1].endswith(" ".join(f"{x:.4g}" for x in found.thresholds[0]))
    many = np.resize(np.arange(60), 600)
    found = cross_validate_thresholds(many, many + 1e-5 * score, cv=2, n_bootstrap=0)
    assert max(map(len, [*lines, *str(found).splitlines()])) <= 100
    assert str(found).endswith("...")


@pytest.mark.parametrize("kind", [np.random.default_rng, np.random.RandomState])
def test_seeds_of_any_kind(rows, kind) -> None:
    y, score = rows
    a, b = (
        cross_validate_thresholds(y, score, random_state=kind(3), n_bootstrap=5) for _ in range(2)
    )
    np.testing.assert_array_equal(a.fold_score, b.fold_score)
    np.testing.assert_array_equal(a.interval, b.interval)
    cross_validate_thresholds(y, score, random_state=None, n_bootstrap=1)


@pytest.mark.filterwarnings("ignore:no row gets the class")  # scores are noise, in whole or in part
def test_resamples_of_weighted_rows_are_those_written_out(rows) -> None:
    """The sorted rows are resampled; the same as resampling rows and starting afresh."""
    y, score = (a[:150] for a in rows)
    w = np.random.default_rng(1).integers(0, 3, size=150).astype(float)
    groups = np.resize(np.arange(40), 150)
    for number, units, options in [(np.arange(150), 150, {}), (groups, 40, {"groups": groups})]:
        found = cross_validate_thresholds(
            y, score, method="exact", sample_weight=w, n_bootstrap=9, confidence_level=0.99,
            random_state=5, cv=2, **options,
        )  # fmt: skip
        rng = np.random.default_rng(5)
        drawn = []
        for _ in range(9):
            times = np.bincount(rng.integers(units, size=units), minlength=units)[number]
            drawn.append(
                optimize_thresholds(
                    y, score, method="exact", sample_weight=times * w, labels=range(4)
                )
            )
        np.testing.assert_allclose(found.interval[0, 0], np.min(drawn, axis=0))
        np.testing.assert_allclose(found.interval[0, 1], np.max(drawn, axis=0))


def test_groups_stay_together(rows) -> None:
    y, score = rows
    groups = np.repeat(np.arange(60), 10)
    for cv in (4, GroupKFold(4)):
        cross_validate_thresholds(y, score, cv=cv, groups=groups, random_state=0, n_bootstrap=5)
    with (
        pytest.warns(UserWarning, match="groups parameter is ignored"),
        pytest.raises(ValueError, match="on both sides of a split.*GroupKFold"),
    ):
        cross_validate_thresholds(y, score, cv=KFold(4, shuffle=True), groups=groups)
    with pytest.raises(ValueError, match="need at least 5 groups, found 3"):
        cross_validate_thresholds(y, score, groups=groups % 3)


def test_a_function_as_metric(rows) -> None:
    y, score = (a[:120] for a in rows)

    def accuracy(y_true, y_pred, sample_weight):
        return float(np.average(y_true == y_pred, weights=sample_weight))

    found = cross_validate_thresholds(
        y, score, method=["nelder-mead", "rounding"], metric=accuracy, cv=2, n_bootstrap=0
    )
    assert found.greater_is_better
    assert 0.2 < found.score[0] < 1


@refused(
    ({"method": "best"}, "method must be one of 'plugin'.*found 'best'"),
    ({"method": []}, "method must name different methods"),
    ({"method": ["exact", "exact"]}, "method must name different methods"),
    ({"method": "plugin", "metric": "mae"}, "method='plugin' is for metric='qwk' only"),
    ({"method": "rounding", "labels": [3, 2, 1, 0]}, "rising numbers, found \\[3, 2, 1, 0\\]"),
    ({"cv": 1}, "cv must be at least 2 folds, found 1"),
    ({"cv": None}, "cv is None: give a number"),
    ({"cv": 1000}, "at least 1000 rows"),
    ({"cv": ShuffleSplit(3, random_state=0)}, "hold each row out exactly once"),
    ({"n_bootstrap": -1}, "n_bootstrap must be a whole number >= 0, found -1"),
    ({"confidence_level": 95}, "confidence_level must be in \\(0, 1\\), found 95"),
    ({"groups": [1, 2]}, "groups has 2 rows"),
    ({"score": np.arange(600) * np.nan}, "score must be finite"),
    ({"labels": [0, 1, 2]}, "y_true holds np.int64\\(3\\)|y_true holds 3"),
)
def test_bad_input(rows, change) -> None:
    y, score = rows
    arguments = {"y_true": y, "score": score, **change}
    cross_validate_thresholds(arguments.pop("y_true"), arguments.pop("score"), **arguments)


def test_folds_that_cannot_be_scored_are_named(rows) -> None:
    y, score = rows
    order = np.argsort(y, kind="stable")
    with pytest.raises(ValueError, match="fold 0 is nan.*hold the classes \\[0\\]"):
        cross_validate_thresholds(y[order], y[order] + 0.1 * score, cv=KFold(20), n_bootstrap=0)


def test_target_prior_weighs_all_rows_and_names_are_irrelevant():
    rng = np.random.default_rng(0)
    y, names = np.resize([0, 0, 0, 1, 1, 2], 600), ["poor", "fair", "good"]
    score = y + rng.normal(size=600)
    prior = np.array([0.1, 0.3, 0.6])
    options = {"random_state": 0, "method": ["plugin", "exact"], "n_bootstrap": 10}
    for weight in (None, rng.exponential(size=600)):
        totals = np.bincount(y, weight)
        by_hand = (prior / totals)[y] * (1 if weight is None else weight) * totals.sum()
        found, same = (
            cross_validate_thresholds(labels, score, **how, **options)
            for labels, how in (
                (np.array(names)[y], {
                    "labels": names, "sample_weight": weight,
                    "target_prior": dict(zip(names, prior.tolist(), strict=True)),
                }),
                (y, {"sample_weight": by_hand}),
            )
        )  # fmt: skip
        assert found.labels.tolist() == names
        for name in ("score", "fold_score", "thresholds", "interval"):
            np.testing.assert_allclose(getattr(found, name), getattr(same, name), rtol=1e-9)
