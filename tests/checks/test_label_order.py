"""The order of labels: right, refused or warned of with the remedy, at every door that uses it."""

from __future__ import annotations

import json
import re
import warnings
from datetime import date

import numpy as np
import pandas as pd
import pytest
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.metrics import accuracy_score, cohen_kappa_score

import gbdt_objectives as go
from gbdt_objectives import calibration, evaluation, metrics, plotting
from gbdt_objectives._checks import check_order
from gbdt_objectives.calibration import TemperatureCalibrator
from gbdt_objectives.thresholds import Thresholds, ThresholdStatistics, fit_segment_shift
from tests.cases import each

OFTEN = [2, 3, 1, 4, 0]
RISING = [0, 1, 2, 3, 4]
rng = np.random.default_rng(0)
y = np.resize(RISING, 200)
score = y + rng.normal(0, 0.6, 200)
CUTS = [0.5, 1.5, 2.5, 3.5]
P = np.exp(-((np.arange(5) - score[:, None]) ** 2))
P /= P.sum(axis=1, keepdims=True)
SEGMENTS = np.arange(200) % 2
NEITHER = "neither rise nor fall"
ALPHABET = "follow the alphabet"


def said(function, *arguments, **named) -> list[str]:
    """What it warns of, if it is of the order of labels."""
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        function(*arguments, **named)
    found = {str(one.message) for one in told}
    return [text for text in found if NEITHER in text or ALPHABET in text]


# --- the guard

RIGHT = [
    RISING, RISING[::-1], range(5), [0.5, 1.0, 2.5], [-3, 7], [1, 0], [True, False],
    ["8", "9", "10"], ["10", "9", "8"], ["1", "1.5", "2"], ["low", "mid", "high"],
    ["poor", "fair", "good"], ["no", "yes"], ["A", "B", "C"], ["a", "b", "c", "d"],
    ["Grade A", "Grade B", "Grade C"], ["stage 1", "stage 2", "stage 10"], ["g1", "g2", "g3"],
    ["I", "II", "III", "IV"], ["Stage I", "Stage II", "Stage III"], ["A1", "A2", "B1", "B2"],
    ["0-4", "5-9", "10-14"], ["0.25 mg", "0.5 mg", "1 mg"], ["none", "mild", "severe"],
    ["None", "Mild", "Severe"], np.array([b"p", b"f", b"g"]), pd.Index([3, 2, 1]),
    np.array(["low", "mid", "high"], object), [date(2026, 1, 1), date(2026, 2, 1)],
]  # fmt: skip

ALPHABETICAL = [
    ["high", "low", "mid"], ["Fair", "Good", "Very Good"], ["bad", "fair", "good", "top"],
    ["g10", "g8", "g9"], ["0-4", "10-14", "5-9"], ["stage 1", "stage 10", "stage 2"],
    np.array([b"high", b"low", b"mid"]),
]  # fmt: skip

WRONG = [
    (OFTEN, "sorted(labels), labels=[0, 1, 2, 3, 4]"),
    (pd.Series(OFTEN).unique(), "sorted(labels), labels=[0, 1, 2, 3, 4]"),
    (pd.Series([1, 1, 1, 2, 0, 0]).value_counts().index, "sorted(labels), labels=[0, 1, 2]"),
    (np.array([2.5, 1, 3]), "sorted(labels), labels=[1.0, 2.5, 3.0]"),
    (["10", "8", "9"], "sorted(labels, key=float), labels=['8', '9', '10']"),
    (np.array(["10", "8", "9"], object), "sorted(labels, key=float), labels=['8', '9', '10']"),
    (["1", "10", "2"], "sorted(labels, key=float), labels=['1', '2', '10']"),
    ([date(2026, 3, 1), date(2026, 1, 1), date(2026, 2, 1)], "sorted(labels), labels=["),
]

MISSING = [
    [0, None, 1], pd.array([0, None, 1]), [0, np.nan, 1], ["a", None, "b"], ["NA", "0", "1"],
    ["0", "1", ""], ["nan", "0.0", "1.0"], ["null", "1", "2"], ["None", "1", "2"],
    pd.Index(["a", pd.NA, "b"], dtype=object), ["NA", "low", "high"], ["", "low", "high"],
]  # fmt: skip


@each("labels", RIGHT, ids=repr)
def test_what_is_right_is_left_alone(labels):
    assert not said(check_order, labels)
    assert check_order(labels).tolist() == np.asarray(labels).tolist()


@each("labels", ALPHABETICAL, ids=repr)
def test_the_alphabet_is_warned_of(labels):
    (told,) = said(check_order, labels)
    assert re.search(r"^labels=\[.* follow the alphabet: .*, pass labels=\[\.\.\.\]$", told)
    assert not said(check_order, labels, ordinal=False)


@each(("labels", "remedy"), WRONG, ids=repr)
def test_numbers_in_no_order_are_refused_with_the_right_one(labels, remedy):
    with pytest.raises(ValueError, match="neither rise nor fall") as error:
        check_order(labels)
    values = np.asarray(labels).tolist()
    assert str(error.value).startswith(f"labels={values} neither rise nor fall, ")
    assert f": pass {remedy}" in str(error.value)
    assert said(check_order, labels, refuse=False) == [str(error.value)]
    assert check_order(labels, ordinal=False).tolist() == values


@each("labels", MISSING, ids=repr)
def test_what_is_missing_is_no_class(labels):
    with pytest.raises(ValueError, match="^labels hold .*, a missing value: remove it"):
        check_order(labels)


def test_without_an_order_only_what_is_missing_is_refused():
    assert check_order(["NA", "EU", "SA"], ordinal=False).tolist() == ["NA", "EU", "SA"]
    for labels in ([0, None, 1], ["NA", "0", "1"]):
        with pytest.raises(ValueError, match="a missing value"):
            check_order(labels, ordinal=False)


# --- the doors


def performance(function=evaluation.estimate_performance, **options):
    models = [LogisticRegression()] * (2 if function is evaluation.compare_performance else 1)
    return function(*models, score[:, None], y, cv=3, n_repeats=2, **options)


def loaded(labels):
    saved = json.loads(Thresholds(CUTS, RISING).to_json())
    return Thresholds.from_json(json.dumps({**saved, "labels": labels}))


def loaded_classifier(labels):
    saved = json.loads(go.ThresholdClassifier("exact").fit(score, y).to_json())
    return go.ThresholdClassifier.from_json(json.dumps({**saved, "labels": labels}))


REFUSES = {
    "optimize_thresholds": lambda o: go.optimize_thresholds(y, score, labels=o),
    "optimize_thresholds by accuracy":
        lambda o: go.optimize_thresholds(y, score, labels=o, metric="accuracy"),
    "optimize_thresholds by a function": lambda o: go.optimize_thresholds(
        y, score, labels=o, metric=lambda t, p, w: accuracy_score(t, p), method="nelder-mead"),
    "cross_validate_thresholds":
        lambda o: go.cross_validate_thresholds(y, score, labels=o, n_bootstrap=0),
    "apply_thresholds": lambda o: go.apply_thresholds(score, CUTS, labels=o),
    "Thresholds": lambda o: Thresholds(CUTS, o),
    "Thresholds.from_json": loaded,
    "ThresholdClassifier": lambda o: go.ThresholdClassifier(labels=o).fit(score, y),
    "ThresholdClassifier by accuracy":
        lambda o: go.ThresholdClassifier(labels=o, metric="accuracy").fit(score, y),
    "ThresholdClassifier.from_json": loaded_classifier,
    "QWKClassifier":
        lambda o: go.QWKClassifier(Ridge(), objective=None, labels=o).fit(score[:, None], y),
    "ThresholdStatistics.empty": ThresholdStatistics.empty,
    "ThresholdStatistics.of": lambda o: ThresholdStatistics.of(y, score, labels=o),
    "fit_segment_shift": lambda o: fit_segment_shift(y, score, SEGMENTS, labels=o),
    "ThresholdDisplay":
        lambda o: plotting.ThresholdDisplay.from_predictions(y, score, labels=o),
    "decide": lambda o: go.decide(P, labels=o),
    "decide by distance": lambda o: go.decide(P, "mae", labels=o),
    "estimate_performance": lambda o: performance(labels=o),
    "compare_performance":
        lambda o: performance(evaluation.compare_performance, labels=o, metric="linear"),
}  # fmt: skip

WARNS = {
    "quadratic_weighted_kappa": lambda o, p: go.quadratic_weighted_kappa(y, p, labels=o),
    "qwk_metric": lambda o, p: go.qwk_metric()(y, p, labels=o),
    "mae": lambda o, p: metrics.threshold_metric("mae")(y, p, labels=o),
}

ANY_ORDER = {
    "accuracy": lambda o: metrics.threshold_metric("accuracy")(y, y[::-1], labels=o),
    "macro_recall": lambda o: metrics.threshold_metric("macro_recall")(y, y[::-1], labels=o),
    "kappa": lambda o: metrics.threshold_metric("kappa")(y, y[::-1], labels=o),
    "matthews": lambda o: metrics.threshold_metric("matthews")(y, y[::-1], labels=o),
    "macro_f1": lambda o: metrics.threshold_metric("macro_f1")(y, y[::-1], labels=o),
    "decide": lambda o: go.decide(P[:, o], "accuracy", labels=o).tolist(),
    "decide by costs": lambda o: go.decide(
        P[:, o], metrics.cost_metric(np.abs(np.subtract.outer(o, o))), labels=o).tolist(),
    "estimate_performance":
        lambda o: performance(labels=o, metric="accuracy", random_state=0).estimate,
    "estimate_performance by a function": lambda o: performance(
        labels=o, metric=lambda t, p, w: np.average(t == p, weights=w), random_state=0).estimate,
    "normalized_entropy":
        lambda o: round(calibration.normalized_entropy(y, P[:, o], labels=o), 9),
    "TemperatureCalibrator":
        lambda o: round(TemperatureCalibrator(labels=o).fit(P[:, o], y).temperature_, 6),
}  # fmt: skip


@each("door", REFUSES.values(), ids=REFUSES)
def test_doors_of_decisions_refuse(door):
    with pytest.raises(
        ValueError, match=r"labels=\[2, 3, 1, 4, 0\] neither rise .*\[0, 1, 2, 3, 4"
    ):
        door(OFTEN)
    assert not said(door, RISING)


@each("door", WARNS.values(), ids=WARNS)
def test_values_of_metrics_are_warned_of_and_kept(door):
    (told,) = said(door, OFTEN, y[::-1])
    assert "pass sorted(labels), labels=[0, 1, 2, 3, 4]" in told
    assert not said(door, RISING, y[::-1])
    assert not said(door, RISING[::-1], y[::-1])


def test_kappa_in_any_order_is_that_of_scikit_learn():
    p = np.clip(np.rint(score), 0, 4).astype(int)
    with pytest.warns(UserWarning, match=NEITHER):
        found = go.quadratic_weighted_kappa(y, p, labels=OFTEN)
    assert found == pytest.approx(cohen_kappa_score(y, p, labels=OFTEN, weights="quadratic"))


@each("door", ANY_ORDER.values(), ids=ANY_ORDER)
def test_without_distances_any_order_is_right(door):
    assert not said(door, OFTEN)
    assert door(OFTEN) == door(RISING)


@each("labels", [OFTEN, ["bad", "best", "fair", "good", "poor"]], ids=repr)
def test_decisions_say_that_columns_are_ordered_too(labels):
    """As those of scikit-learn's classifiers of text are not, and only labels= would be passed."""
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with pytest.raises((ValueError, UserWarning), match=r"^put columns of probability in or"):
            go.decide(P, labels=labels)


def test_a_falling_order_turns_the_classes_round():
    found = go.optimize_thresholds(y, -score, labels=RISING[::-1])
    assert go.quadratic_weighted_kappa(y, found.apply(-score)) > 0.8


def test_words_are_warned_of_where_they_are_placed_but_not_in_each_prediction():
    names = np.array(["bad", "fair", "good", "super", "top"])
    classifier = go.ThresholdClassifier(labels=names)
    (told,) = said(classifier.fit, score, names[y])
    assert told.startswith("labels=['bad', 'fair', 'good', 'super', 'top'] follow the alphabet")
    assert not said(classifier.predict, score)
    assert not said(go.apply_thresholds, score, classifier.thresholds_)
    other = np.array(["1st", "awful", "meh", "okay", "fine"])
    assert not said(go.ThresholdClassifier(labels=other).fit, score, other[y])


# --- ordered Categoricals, whose order is used without labels=


OF_CATEGORIES = {
    "optimize_thresholds": go.optimize_thresholds,
    "cross_validate_thresholds":
        lambda c, s: go.cross_validate_thresholds(c, s, n_bootstrap=0),
    "ThresholdClassifier": lambda c, s: go.ThresholdClassifier().fit(s, c),
    "QWKClassifier": lambda c, s: go.QWKClassifier(Ridge(), objective=None).fit(s[:, None], c),
}  # fmt: skip


@each("use", OF_CATEGORIES.values(), ids=OF_CATEGORIES)
def test_categories_are_asked_too(use):
    digits = pd.Series(pd.Categorical((y + 7).astype(str), ordered=True))
    remedy = r"the categories of y(_true)? \['10', '11', '7', .*key=float\), labels=\['7', '8', '9'"
    with pytest.raises(ValueError, match=remedy):
        use(digits, score)
    names = np.array(["poor", "fair", "good", "better", "best"])
    alphabetical = pd.Categorical(names[y], ordered=True)
    told = said(use, alphabetical, alphabetical.codes + score - y)
    assert any(
        re.match(r"the categories of y(_true)? \['best', 'better', .* alph", t) for t in told
    )
    assert not said(use, pd.Categorical(names[y], names, ordered=True), score)


def test_kappa_of_categories_is_warned_of():
    digits = pd.Categorical((y + 7).astype(str), ordered=True)
    (told,) = said(go.quadratic_weighted_kappa, digits, digits)
    assert "the categories of y_true" in told
    assert not said(metrics.threshold_metric("accuracy"), digits, digits)
    assert len(said(go.qwk_metric(), digits, digits)) == 1


# --- our own messages say the order, and not to sort digits as text


@each("wrap", [np.asarray, lambda t: t.astype(object), pd.Series, pd.Categorical])
def test_numbers_as_text_are_told_to_be_numbers(wrap):
    text = wrap((y + 7).astype(str))
    remedy = r"\.astype\(int\), or \.astype\(float\)|ascending order"
    for use in (lambda: go.optimize_thresholds(text, score), lambda: go.qwk_metric()(text, text)):
        with pytest.raises((TypeError, ValueError), match=remedy):
            use()
    with pytest.raises((TypeError, ValueError), match="all classes from lowest to highest"):
        go.optimize_thresholds(np.array(["low", "high"])[y % 2], score)


# --- the command line


@each(
    ("command", "message"),
    [
        ("thresholds --score s --labels 2,3,1,4,0",
         "--labels 2,3,1,4,0 neither rise nor fall, but must be in ascending order: pass --labels "
         "0,1,2,3,4"),
        ("kappa --prediction p --labels 0,1,2,3,4,", "--labels hold '', a missing value: remove"),
    ],
)  # fmt: skip
def test_the_command_line_refuses(tmp_path, monkeypatch, command, message):
    pytest.importorskip("click")
    from tests.commands import refused

    monkeypatch.chdir(tmp_path)
    pd.DataFrame({"y": y, "p": y, "s": score}).to_csv("grades.csv", index=False)
    name, options = command.split(maxsplit=1)
    assert message in refused(f"{name} grades.csv --label y {options}")


# --- Dask


def test_dask_asks_before_it_reads():
    array = pytest.importorskip("dask.array")
    part, parts = array.from_array(y, chunks=100), array.from_array(score, chunks=100)
    for use in (go.optimize_thresholds, ThresholdStatistics.of):
        with pytest.raises(ValueError, match=NEITHER):
            use(part, parts, labels=OFTEN)
    assert go.optimize_thresholds(part, parts, labels=RISING).labels.tolist() == RISING
    with pytest.raises(ValueError, match=NEITHER):
        go.apply_thresholds(parts, CUTS, OFTEN)
