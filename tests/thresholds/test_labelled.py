"""Thresholds know their labels, and nothing is ever classified into others."""

from __future__ import annotations

import copy
import json
import pickle
import sqlite3
from contextlib import closing

import numpy as np
import pytest
from sklearn.linear_model import Ridge

import gbdt_objectives as go
from gbdt_objectives import (
    ThresholdClassifier,
    apply_thresholds,
    cross_validate_thresholds,
    optimize_thresholds,
)
from gbdt_objectives.plotting import ThresholdDisplay
from gbdt_objectives.thresholds import Thresholds, ThresholdStatistics
from tests.cases import each, refusals_of

WORDS = ["poor", "fair", "good"]


def essays(n=300, low=1, K=6):
    rng = np.random.default_rng(0)
    latent = rng.standard_normal(n)
    y = low + np.searchsorted(np.linspace(-1.2, 1.2, K - 1), latent)
    return y, latent + 0.5 * rng.standard_normal(n)


@pytest.fixture
def thresholds():
    return Thresholds([-0.5, 0.75], WORDS)


@each("dtype", ["float64", "float32"])
@each("cuts, labels", [
    ([0.1, 1 / 3, 0.7], ["it's", "a 'b'", "%s", "-"]),
    ([-np.inf, 0.1, 0.1, 0.7, np.inf, np.inf], range(-3, 4)),
    ([0.7], [False, True]), ([0.7], [0.5, 1e-7]), ([-np.inf], ["a", "b"]), ([np.inf], ["a", "b"]),
    ([-np.inf, 0.3, np.inf], [1, 2, 3, 4]), ([-np.inf, np.inf], [1, 2, 3]),
])  # fmt: skip
def test_sql_gives_the_classes_of_apply(cuts, labels, dtype):
    duckdb = pytest.importorskip("duckdb")
    thresholds = Thresholds(cuts, list(labels))
    near = np.array([-1e9, -0.1, 0.1, 0.3, 1 / 3, 0.7, 1e-300, 1e9])
    score = np.concatenate([near, np.nextafter(near, -9), np.nextafter(near, 9)])
    score = np.concatenate([score, near.astype("float32")]).astype(dtype)
    table = {"order": np.arange(len(score)), "my score": score}
    case = thresholds.to_sql('"my score"')
    found = duckdb.sql(
        f'SELECT {case}, typeof("my score") FROM "table" ORDER BY "order"'
    ).fetchall()
    assert [one for one, _ in found] == thresholds.apply(score).tolist()
    assert {kind for _, kind in found} == {"FLOAT" if dtype == "float32" else "DOUBLE"}
    assert len(table) == 2
    null = thresholds.to_sql(f"CAST(NULL AS {'FLOAT' if dtype == 'float32' else 'DOUBLE'})")
    assert duckdb.sql(f"SELECT {null}").fetchall() == [(None,)]


def test_sql_has_no_class_that_is_never_predicted():
    text = Thresholds([-np.inf, 0.5, 0.5, np.inf], list("abcde")).to_sql("s")
    assert text == (
        "CASE WHEN s IS NULL THEN NULL WHEN s + 0e0 < 5.0000000000000000e-01 THEN 'b' ELSE 'd' END"
    )


@each("kind", ["TEXT", "REAL", "NUMERIC", "INTEGER", "VARCHAR(20)", ""])
def test_sql_of_text_in_sqlite(kind):
    """SQLite compares a column of text as text, and a CSV is imported as text."""
    thresholds = Thresholds([-2.5, 0.1, 2.5, 10.5], ["a", "b", "c", "d", "e"])
    score = np.array([-10.0, -2.5, -0.3, 0.1, 1e-7, 0.5, 2.5, 3.0, 9.9, 11.0, 100.0, 1e30])
    with closing(sqlite3.connect(":memory:")) as db:
        db.execute(f"create table t (s {kind})")
        for rows in (map(str, score.tolist()), score.tolist(), score.astype("float32").tolist()):
            db.executemany("insert into t values (?)", [(value,) for value in rows])
        db.execute("insert into t values (NULL)")
        query = f"select {thresholds.to_sql('s')} from t order by rowid"
        found = [one for (one,) in db.execute(query)]
    expected = [*thresholds.apply(score).tolist() * 2, *thresholds.apply(score.astype("float32"))]
    assert found == [*expected, None]


@each("labels, score, words", [
    ([np.datetime64("2026-01-01"), np.datetime64("2026-02-01")], "s", "strings or all booleans"),
    (["low", "high"], np.ones(2), "score must be the name of a column, found array"),
    (["low", "high"], None, "score must be the name of a column, found None"),
])  # fmt: skip
def test_what_sql_cannot_say(labels, score, words):
    with pytest.raises(TypeError, match=words):
        Thresholds([0.5], labels).to_sql(score)


@pytest.mark.filterwarnings("ignore:no row gets the class")  # the scores do not reach every class
@each("low", [0, 1, -3])
@each("how", [
    {"method": "plugin"}, {"method": "exact"}, {"method": "nelder-mead", "n_starts": 1},
    {"metric": lambda y, p, w: -np.abs(y - p).mean(), "n_starts": 1},
])  # fmt: skip
def test_classes_are_those_fitted_on(low, how):
    y, s = essays(low=low)
    found = optimize_thresholds(y, s, **how)
    assert found.labels.tolist() == list(range(low, low + 6))
    classes = apply_thresholds(s, found.tolist(), range(low, low + 6))
    np.testing.assert_array_equal(apply_thresholds(s, found), classes)


@each("words", [WORDS, np.array(WORDS, object), np.array([b"p", b"f", b"g"]), (30, 20, 10)])
def test_labels_of_any_type_and_order(words):
    position = np.repeat([0, 1, 2], 20)
    s = position + np.random.default_rng(0).uniform(-0.6, 0.6, 60)
    found = optimize_thresholds(np.asarray(words)[position], s, labels=words)
    expected = apply_thresholds(s, found.tolist(), words)
    assert apply_thresholds(s, found).tolist() == expected.tolist()
    assert set(expected.tolist()) == set(np.asarray(words).tolist())


@pytest.mark.filterwarnings("ignore:no row gets the class")  # the scores do not reach every class
def test_statistics_and_the_classifier_give_labels_too():
    y, s = essays()
    statistics = ThresholdStatistics.of(y, s)
    assert statistics.thresholds(method="exact", metric="mae").labels.tolist() == [1, 2, 3, 4, 5, 6]
    for method in ("plugin", "curved", "exact", "rounding"):
        model = ThresholdClassifier(method).fit(s, y)
        for fitted in (model, ThresholdClassifier.from_json(model.to_json())):
            np.testing.assert_array_equal(apply_thresholds(s, fitted.thresholds_), model.predict(s))


def test_cross_validation_holds_the_labels_once():
    y, s = essays()
    result = cross_validate_thresholds(y, s, n_bootstrap=0)
    assert type(result.thresholds) is np.ndarray
    with pytest.raises(ValueError, match="labels are missing"):
        apply_thresholds(s, result.thresholds[0])
    np.testing.assert_array_equal(
        apply_thresholds(s, result.thresholds[0], result.labels),
        apply_thresholds(s, optimize_thresholds(y, s)),
    )


def test_display_takes_the_labels_of_the_thresholds():
    y, s = essays()
    found = optimize_thresholds(y, s)
    few = y < 5
    display = ThresholdDisplay.from_predictions(y[few], s[few], thresholds=found)
    assert display.labels.tolist() == display.thresholds.labels.tolist() == [1, 2, 3, 4, 5, 6]
    with pytest.raises(ValueError, match="thresholds were placed between the classes"):
        ThresholdDisplay.from_predictions(y, s, thresholds=found, labels=range(1, 7)[::-1])


@each("kept", [
    lambda t: t.round(2), lambda t: Thresholds.from_json(t.to_json()), copy.copy, copy.deepcopy,
    *(lambda t, p=p: pickle.loads(pickle.dumps(t, p)) for p in range(6)),
])  # fmt: skip
def test_copies_keep_the_labels(thresholds, kept):
    found = kept(thresholds)
    assert isinstance(found, Thresholds)
    assert found.tolist() == thresholds.tolist()
    assert found.apply([-1, 0, 1]).tolist() == WORDS
    assert apply_thresholds([-1, 0, 1], found).tolist() == WORDS


@each("lost", [
    lambda t: t[:1], lambda t: t[::-1], lambda t: t + 0.25, lambda t: 1 - t, lambda t: t * -2,
    lambda t: -t,  # high scores would get the low classes
    lambda t: np.clip(t, -9, 9), lambda t: t == t, np.isfinite, lambda t: np.append(t, 3.0),
    lambda t: np.stack([t, t]), lambda t: np.mean([t, t], axis=0), np.array, np.diff,
    lambda t: np.add.outer(t, t),
])  # fmt: skip
def test_what_is_computed_from_them_is_a_plain_array(thresholds, lost):
    found = lost(thresholds)
    assert type(found) is np.ndarray
    if found.dtype == float and found.shape == (2,) and (np.diff(found) > 0).all():
        with pytest.raises(ValueError, match="labels are missing"):
            apply_thresholds([0.0], found)


def test_nothing_is_written_into_them(thresholds):
    with pytest.raises(ValueError, match="read-only"):
        thresholds.values[0] = 2.0
    with pytest.raises(ValueError, match="read-only"):
        thresholds.labels[0] = "worst"
    with pytest.raises(TypeError, match="item assignment"):
        thresholds[0] = 2.0
    moved, words = np.asarray(thresholds), np.array(WORDS)
    moved += 0.25
    assert thresholds.tolist() == [-0.5, 0.75]
    found = Thresholds([0.0, 1.0], words)
    words[0] = "x"
    assert found.labels.tolist() == WORDS


def test_numpy_reads_them_as_an_array(thresholds):
    plain = np.array([-0.5, 0.75])
    np.testing.assert_array_equal(thresholds, plain)
    assert (thresholds == plain).all()
    assert np.asarray(thresholds, np.float32).dtype == np.float32
    assert type(thresholds[0]) is type(thresholds @ thresholds) is np.float64
    assert thresholds.tolist() == [-0.5, 0.75] == json.loads(json.dumps(list(thresholds)))
    assert (len(thresholds), np.shape(thresholds)) == (2, (2,))


test_wrong_ones_cannot_be_made = refusals_of(
    Thresholds,
    ([0.5], WORDS, "labels must be 2 classes for 1 thresholds, found 3"),
    ([1.0, 0.5], WORDS, "thresholds must be sorted"),
    ([np.nan, 0.5], WORDS, "thresholds must not be NaN"),
    ([0.0, 0.5], [1, 1, 2], "labels must be different"),
)


def test_other_labels_are_refused(thresholds):
    for same in (WORDS, tuple(WORDS), np.array(WORDS, object)):
        assert apply_thresholds([-1.0], thresholds, same).tolist() == ["poor"]
    for other in (WORDS[::-1], range(3), ["a", "b", "c"]):
        with pytest.raises(ValueError, match=r"labels are .* between the classes \['poor', 'fair'"):
            apply_thresholds([0.0], thresholds, other)
    whole = Thresholds([0.0], [1, 2])
    with pytest.raises(ValueError, match=r"labels are \[0, 1.* classes \[1, 2.* leave labels out"):
        apply_thresholds([0.0], whole, labels=range(2))
    assert apply_thresholds([0.0], whole, labels=[1.0, 2.0]).dtype == np.float64


@each("form", [list, tuple, np.array, lambda t: json.loads(json.dumps(t))])
def test_numbers_without_labels_are_refused_with_the_remedy(form):
    cuts = form([0.5, 1.5])
    with pytest.raises(ValueError, match=r"labels=\[...\], all 3 classes .* labels=range\(3\)"):
        apply_thresholds([0.0], cuts)
    assert apply_thresholds([0.0, 9.0], cuts, labels=range(3)).tolist() == [0, 2]


def test_apply_is_searchsorted_from_the_right():
    rng = np.random.default_rng(0)
    thresholds = np.array([-np.inf, -0.5, 0.25, 0.25, np.inf])
    score = np.concatenate([rng.standard_normal(1000).round(2), thresholds[1:4]])
    expected = np.searchsorted(thresholds, score, side="right")
    np.testing.assert_array_equal(apply_thresholds(score, thresholds, range(6)), expected)
    assert apply_thresholds([0.25], thresholds, range(6)).tolist() == [4]
    assert apply_thresholds([np.nextafter(0.25, 0)], thresholds, range(6)).tolist() == [2]


test_bad_input_to_apply = refusals_of(
    lambda arguments: apply_thresholds(*arguments),
    (([0.1], [1, 0]), r"thresholds must be sorted, found \[1.0, 0.0\]"),
    (([0.1], [np.nan]), "thresholds must not be NaN"),
    (([0.1], []), "thresholds must be one-dimensional and not empty"),
    (([0.1], 0.5), "thresholds must be one-dimensional"),
    (([0.1], ["a"]), "thresholds must hold real numbers", TypeError),
    (([np.nan], [0]), "score must be finite"),
    (([0.1], [0], [0, 1, 2]), "labels must be 2 classes for 1 thresholds, found 3"),
    (([0.1], [0], [1, 1]), "more than once"),
)


def test_thresholds_of_other_labels_are_refused_by_the_metric() -> None:
    y, score = np.resize([1, 2, 3], 60), np.resize([1.0, 2.1, 2.9], 60)
    thresholds = go.optimize_thresholds(y, score, method="exact")
    assert go.qwk_metric((1, 3), thresholds=thresholds)(y, score) == 1
    with pytest.raises(ValueError, match=r"thresholds are for the labels \[1, 2, 3\].*\(0, 2\)"):
        go.qwk_metric((0, 2), thresholds=thresholds)


def test_thresholds_of_the_classifier_apply_to_its_scores() -> None:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(200, 2))
    y = np.array(["low", "mid", "high"])[np.digitize(X[:, 0], [-0.5, 0.5])]
    classifier = go.QWKClassifier(Ridge(), objective=None, labels=["low", "mid", "high"]).fit(X, y)
    found = go.apply_thresholds(classifier.predict_score(X), classifier.thresholds_)
    np.testing.assert_array_equal(found, classifier.predict(X))


@each("labels", [[b"poor", b"good"], [True, False]])
def test_labels_that_json_has_not_are_refused(labels):
    with pytest.raises((TypeError, ValueError), match="labels must be"):
        Thresholds([0.5], np.array(labels)).to_json()


def test_labels_that_are_no_integers_come_back():
    saved = Thresholds([0.5], [0.5, 1.5]).to_json()
    assert Thresholds.from_json(saved).labels.tolist() == [0.5, 1.5]
    with pytest.raises(ValueError, match="labels must be a list of float"):
        Thresholds.from_json(saved.replace("0.5, 1.5", '"0", "1"'))


def test_whole_labels_may_be_written_either_way():
    """Other writers of JSON write 1 for 1.0, and some 1.0 for 1."""
    for labels, other in (([1.0, 2.5], "[1, 2.5]"), ([1, 2], "[1.0, 2.0]")):
        saved = Thresholds([0.5], labels).to_json()
        found = Thresholds.from_json(saved.replace(str(labels), other)).labels
        assert found.tolist() == labels
        assert found.dtype == np.array(labels).dtype
    with pytest.raises(ValueError, match="labels .* do not fit dtype 'i8'"):
        Thresholds.from_json(saved.replace("[1, 2]", "[1.5, 2.0]"))
