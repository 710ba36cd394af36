"""The page of a report: its numbers against scikit-learn, numpy and the jackknife, and the page
itself, which loads nothing and escapes everything."""

from __future__ import annotations

import re
import warnings
from base64 import b64decode
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import matplotlib as mpl

mpl.use("Agg")
import matplotlib.pyplot as plt
import numpy as np
import pytest
from sklearn.linear_model import LinearRegression, LogisticRegression, Ridge
from sklearn.metrics import (
    cohen_kappa_score,
    confusion_matrix,
    mean_absolute_error,
    precision_score,
    recall_score,
)
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import gbdt_objectives as go
from gbdt_objectives import QWKClassifier, ThresholdClassifier
from gbdt_objectives.evaluation import report
from tests.cases import refused
from tests.read_html import Read

pytestmark = pytest.mark.slow

SHOWN = 6e-4  # relative: four digits are shown
NAMES = np.array(["<script>alert(1)</script>", "low & mid", "$high$", "top"])
HOW_GOOD, CONFUSION = "How good the classes are", "Confusion matrix: rows"
RNG = np.random.default_rng(3)
X = RNG.normal(size=(900, 3))
POSITION = np.digitize(X[:, 0] + 0.5 * X[:, 1] + 0.7 * RNG.normal(size=900), [-1, 0.2, 1.1])
GRADE = NAMES[POSITION]
EVENT = (RNG.random(900) < 1 / (1 + np.exp(2 - 1.5 * X[:, 0]))).astype(int)
SITE = RNG.choice(["news", "<img src=http://a.b>"], 900)
OLD, NEW = slice(0, 500), slice(500, 900)

GRADES = QWKClassifier(Ridge(), labels=NAMES.tolist()).fit(X[OLD], GRADE[OLD])
CUT = ThresholdClassifier(metric="mae").fit(X[OLD, 0], POSITION[OLD])
EVENTS = LogisticRegression().fit(X[OLD], EVENT[OLD])
PROBABILITY = EVENTS.predict_proba(X)[:, 1]


def page(tmp_path: Path, model: Any, *rows: Any, **options: Any) -> Read:
    before = plt.get_fignums()
    path = report(model, *rows, tmp_path / "page.html", **options)
    assert plt.get_fignums() == before  # it leaves no figure open
    return Read(path.read_text(encoding="utf-8"))


def limits(row: dict[str, str]) -> tuple[float, float]:
    return float(row["95 % from"]), float(row["to"])


def jackknife_error(metric: Any, y: np.ndarray, p: np.ndarray) -> float:
    n = len(y)
    left = np.array([metric(np.delete(y, i), np.delete(p, i)) for i in range(n)])
    return float(np.sqrt((n - 1) / n * ((left - left.mean()) ** 2).sum()))


def quadratic_kappa(y: np.ndarray, p: np.ndarray) -> float:
    return float(cohen_kappa_score(y, p, weights="quadratic"))


class TestOrdinal:
    def test_numbers(self, tmp_path) -> None:
        found = page(tmp_path, GRADES, X[NEW], GRADE[NEW])
        predicted = np.searchsorted(NAMES[np.argsort(NAMES)], GRADES.predict(X[NEW]))
        predicted = np.argsort(NAMES)[predicted]
        (row,) = found.tables[HOW_GOOD]
        kappa = quadratic_kappa(POSITION[NEW], predicted)
        assert float(row["value"]) == pytest.approx(kappa, rel=SHOWN)
        half = 1.96 * jackknife_error(quadratic_kappa, POSITION[NEW], predicted)
        # the jackknife and the linear approximation differ by terms of order 1/n
        assert limits(row) == pytest.approx((kappa - half, kappa + half), abs=0.04 * half)
        C = confusion_matrix(POSITION[NEW], predicted)
        shown = [
            [int(row[f"predicted {name}"]) for name in NAMES] for row in found.tables[CONFUSION]
        ]
        assert shown == C.tolist()
        assert [row["true class"] for row in found.tables[CONFUSION]] == NAMES.tolist()
        classes = found.tables["Classes: from which score, and how frequent"]
        from_score = [float(row["from score"]) for row in classes]
        np.testing.assert_allclose(from_score[1:], GRADES.thresholds_, rtol=SHOWN)
        shares = [float(row["share predicted"]) for row in classes]
        np.testing.assert_allclose(shares, C.sum(axis=0) / 400, rtol=SHOWN)

    def test_a_weight_is_so_many_rows_and_groups_are_the_draws(self, tmp_path) -> None:
        s, y = X[NEW, 0], POSITION[NEW]
        once = page(tmp_path, CUT, s, y).tables
        w = np.arange(400) % 3
        again = np.repeat(np.arange(400), w)
        weighted = page(tmp_path, CUT, s, y, sample_weight=w).tables
        repeated = page(tmp_path, CUT, s[again], y[again], groups=again).tables
        for a, b in zip(weighted[HOW_GOOD], repeated[HOW_GOOD], strict=True):
            assert float(a["value"]) == float(b["value"])
            assert limits(a) == limits(b)
        assert weighted["Confusion matrix: weight"] == repeated[CONFUSION]
        twice = np.tile(np.arange(400), 2)
        same = page(tmp_path, CUT, s[twice], y[twice], groups=twice).tables
        for a, b in zip(once[HOW_GOOD], same[HOW_GOOD], strict=True):
            assert limits(a) == limits(b)
        apart = page(tmp_path, CUT, s[twice], y[twice]).tables[HOW_GOOD][0]
        assert limits(apart)[0] > limits(once[HOW_GOOD][0])[0]

    def test_the_classifiers_own_metric(self, tmp_path) -> None:
        first, own = page(tmp_path, CUT, X[NEW, 0], POSITION[NEW]).tables[HOW_GOOD]
        predicted = CUT.predict(X[NEW, 0])
        assert (first["metric"], own["metric"]) == ("quadratic weighted kappa", "mae")
        error = mean_absolute_error(POSITION[NEW], predicted)
        assert float(own["value"]) == pytest.approx(error, rel=SHOWN)
        half = 1.96 * np.abs(POSITION[NEW] - predicted).std(ddof=1) / np.sqrt(400)
        assert limits(own) == pytest.approx((error - half, error + half), rel=SHOWN)

    def test_rows_that_are_all_right_have_no_limits(self, tmp_path) -> None:
        right = CUT.predict(X[:, 0]) == POSITION
        kappa, error = page(tmp_path, CUT, X[right, 0], POSITION[right]).tables[HOW_GOOD]
        assert (kappa["value"], kappa["95 % from"], kappa["to"]) == ("1", "", "")
        assert (error["value"], error["to"]) == ("0", "")


class TestProbability:
    def test_numbers(self, tmp_path) -> None:
        y, p, threshold = EVENT[NEW], PROBABILITY[NEW], 0.35
        known = {"sample_weight": 1 + np.arange(400) % 2, "negative_keep_rate": 0.5}
        found = page(
            tmp_path, EVENTS, X[NEW], y, segments={"site": SITE[NEW]}, threshold=threshold, **known
        )
        (every,) = found.tables["All rows: ratio is mean prediction / mean outcome"]
        v = known["sample_weight"] / np.where(y == 1, 1, 0.5)
        assert (int(every["rows"]), int(every["label 1"])) == (400, y.sum())
        assert float(every["ratio"]) == pytest.approx((v @ p) / (v @ y), rel=SHOWN)
        assert float(every["mean outcome"]) == pytest.approx(np.average(y, weights=v), rel=SHOWN)
        for row in found.tables["By segment"]:
            here = SITE[NEW] == row["segment"]
            expected = (v[here] @ p[here]) / (v[here] @ y[here])
            assert float(row["ratio"]) == pytest.approx(expected, rel=SHOWN)
        alerts, others = found.tables["Alerts: rows of probability 0.35 or more"]
        acted = p >= threshold
        precision = precision_score(y, acted, sample_weight=v)
        assert float(alerts["mean outcome"]) == pytest.approx(precision, rel=SHOWN)
        recall = recall_score(y, acted, sample_weight=v)
        assert float(alerts["share of label 1"]) == pytest.approx(recall, rel=SHOWN)
        assert float(others["share of rows"]) == pytest.approx(v[~acted].sum() / v.sum(), rel=SHOWN)
        by = go.calibration.calibration_ratio_by_segment(y, p, acted, **known)
        assert limits(alerts) == pytest.approx((by.low[1], by.high[1]), rel=SHOWN)

    def test_label_1_is_the_second_class(self, tmp_path) -> None:
        words = np.array(["!paid", "<b>fraud"])
        model = LogisticRegression().fit(X[OLD], words[EVENT[OLD]])
        found = page(tmp_path, model, X[NEW], words[EVENT[NEW]], threshold=1)
        title = "All rows: ratio is mean prediction / mean outcome; label 1 is <b>fraud"
        (every,) = found.tables[title]
        assert float(every["mean outcome"]) == pytest.approx(EVENT[NEW].mean(), rel=SHOWN)
        (others,) = found.tables["Alerts: rows of probability 1 or more"]
        assert (others[""], others["share of label 1"]) == ("others", "1")


@pytest.mark.parametrize("several", [False, True])
def test_segments_that_differ_are_marked(tmp_path, several) -> None:
    y, p = EVENT[NEW], PROBABILITY[NEW]
    off = np.where(y & (RNG.random(400) < 0.6), "off", SITE[NEW])
    segments = {"site": off, "half": np.arange(400) % 2} if several else off
    found = page(tmp_path, EVENTS, X[NEW], y, segments=segments)
    by = go.calibration.calibration_ratio_by_segment(y, p, segments).by_evidence()
    rows = found.tables["By segment"]
    assert [row["segment"] for row in rows] == [str(value) for value in by.segment]
    assert [bool(row["below 0.01"]) for row in rows] == (by.rest_p_value_holm < 0.01).tolist()
    assert rows[0]["below 0.01"] != rows[-1]["below 0.01"] or not several
    shown = [float(row["adjusted p"]) for row in rows]
    np.testing.assert_allclose(shown, by.rest_p_value_holm, rtol=SHOWN)
    assert "adjusted (Holm) for the number of segments" in found.text
    assert "SegmentRatios" not in found.text
    one = page(tmp_path, EVENTS, X[NEW], y, segments=np.zeros(400)).tables["By segment"]
    assert (one[0]["rest"], one[0]["adjusted p"], one[0]["below 0.01"]) == ("", "", "")


def test_each_heading_is_explained(tmp_path) -> None:
    options = {"segments": SITE[NEW], "threshold": 0.2}
    for rows, given, headings in (
        ((GRADES, X[NEW], GRADE[NEW]), {}, 4), ((EVENTS, X[NEW], EVENT[NEW]), options, 4)
    ):  # fmt: skip
        path = report(*rows, tmp_path / "page.html", **given)
        text = path.read_text(encoding="utf-8")
        assert len(re.findall(r"<h2>[^<]+</h2><p>[A-Z][^<]{40,}\.</p><div>", text)) == headings
        assert text.count("<h2>") == headings


@pytest.mark.parametrize("weighted", [False, True])
def test_counted_rows_have_the_page_of_the_rows_written_out(tmp_path, weighted) -> None:
    keys = np.round(X[NEW, 0]), EVENT[NEW], SITE[NEW] == "news"
    (x, y, news), n = np.unique(np.stack(keys).astype(float), axis=1, return_counts=True)
    assert len(n) < 40
    w = np.where(y == 1, 2.0, 1.5)
    n = np.where(np.arange(len(n)) == 3, 0, n)  # a row that is not there
    model = LogisticRegression().fit(X[OLD, :1], EVENT[OLD])

    def found(at: np.ndarray, **counts: Any) -> dict[str, list[dict[str, str]]]:
        known = {"sample_weight": w[at]} if weighted else {}
        rows = x[at, np.newaxis], y[at]
        by = {"segments": {"news": news[at]}, "groups": np.arange(len(n))[at], "threshold": 0.2}
        return page(tmp_path, model, *rows, **known, **by, **counts).tables

    assert found(np.arange(len(n)), counts=n) == found(np.repeat(np.arange(len(n)), n))


@pytest.mark.parametrize(
    ("rows", "options"),
    [
        ((GRADES, X[NEW], GRADE[NEW]), {}),
        ((EVENTS, X[NEW], EVENT[NEW]), {"segments": SITE[NEW], "threshold": 0.2}),
    ],
)
def test_the_page_loads_nothing_and_is_the_same_each_time(tmp_path, rows, options) -> None:
    title = "May </title><script>alert(2)</script> {x}"
    path = report(*rows, tmp_path / "a.html", title=title, **options)
    text = path.read_text(encoding="utf-8")
    found = Read(text)
    assert "script" not in found.tags
    assert title in found.text
    sources = [value for name, value in found.attributes if name in ("src", "href")]
    assert sources
    assert all(value.startswith("data:image/svg+xml;base64,") for value in sources)
    assert not any("://" in value for _, value in found.attributes)
    assert not re.search(r"url\(|@import", text)
    for source in sources:
        svg = b64decode(source.partition(",")[2])
        assert ElementTree.fromstring(svg).tag.endswith("svg")
        assert b"<script" not in svg
    with mpl.rc_context({"figure.facecolor": "red", "font.size": 30, "svg.fonttype": "none"}):
        again = report(*rows, tmp_path / "a.html", title=title, **options)
    assert again.read_text(encoding="utf-8") == text


COUNTS = {"counts": np.ones(400)}
WEIGHTS = {"sample_weight": np.zeros(400)}
SEARCH = GridSearchCV(LinearRegression(), {"fit_intercept": [True]}).fit(X[OLD], EVENT[OLD])
PIPELINE = make_pipeline(StandardScaler().fit(X[OLD]), GRADES)
GIVEN, OTHER = (X[NEW], EVENT[NEW]), (X[NEW], GRADE[NEW])


@refused(
    (EVENTS, GIVEN, "page.txt", {}, "path .*page.txt.* would hold a page of HTML: .*in .html"),
    (EVENTS, GIVEN, None, {}, "path None would hold a page of HTML: give a name"),
    (LinearRegression(), GIVEN, "p.html", {}, "model must be .*, found LinearRegr", TypeError),
    (LogisticRegression, GIVEN, "p.html", {}, "model must be a fitted QWKClassifier", TypeError),
    (SEARCH, GIVEN, "p.html", {}, "found GridSearchCV.*best_estimator_", TypeError),
    (PIPELINE, OTHER, "p.html", {}, r"shape \(400, 4\): of a Pipeline pass its last", TypeError),
    (ThresholdClassifier(), GIVEN, "p.html", {}, "not fitted"),
    (CUT, GIVEN, "p.html", {}, r"score must have shape \(n,\) or \(n, 1\), found \(400, 3\)"),
    (GRADES, OTHER, "p.html", {"threshold": 0.5}, "threshold is for a model of probabilities"),
    (GRADES, OTHER, "p.html", {"negative_keep_rate": 0.5}, "negative_keep_rate is for a model of"),
    (GRADES, OTHER, "p.html", COUNTS, r"counts is for a .*: write the rows out, rows = n"),
    (EVENTS, GIVEN, "p.html", {"counts": np.full(400, 2.5)}, "counts must be whole .* found 2.5"),
    (EVENTS, GIVEN, "p.html", {"counts": np.zeros(400)}, "counts is 0 in all 400 rows"),
    (EVENTS, GIVEN, "p.html", {"counts": 1 - EVENT[NEW]}, "of one class only, found .0."),
    (GRADES, (X[NEW], POSITION[NEW]), "p.html", {}, "y has dtype int64, but the mod", TypeError),
    (GRADES, (X[NEW], GRADE[OLD]), "p.html", {}, "y has 500 rows, but the rows of X have 400"),
    (GRADES, OTHER, "p.html", {"groups": np.zeros(400)}, "groups must be at least 2 different"),
    (EVENTS, (X[NEW], EVENT[NEW] + 1), "p.html", {}, "y holds 2 .* model's classes .0, 1.: give"),
    (EVENTS, (X[NEW], 0 * EVENT[NEW]), "p.html", {}, "y has rows .* of one class only, found .0."),
    (EVENTS, GIVEN, "p.html", {"threshold": 20}, r"threshold must be in \[0, 1\], found 20"),
    (EVENTS, GIVEN, "p.html", {"threshold": "a"}, "threshold must be a number", TypeError),
    (EVENTS, GIVEN, "p.html", WEIGHTS, "sample_weight is zero in all rows"),
    (EVENTS, GIVEN, "p.html", {"segments": SITE}, "segments has 900 rows, but the labels have 400"),
)  # fmt: skip
def test_nonsense_is_refused(tmp_path, model, rows, name, options):
    try:
        report(model, *rows, name and tmp_path / name, **options)
    finally:
        assert list(tmp_path.iterdir()) == []


def test_a_folder_that_is_not_there_is_said_before_anything_is_computed(tmp_path) -> None:
    with pytest.raises(ValueError, match=r"missing/page\.html.* is in a folder .* make it first"):
        report(CUT, "no rows", None, tmp_path / "missing" / "page.html")


@pytest.mark.parametrize(("words", "warns"), [(("fraud", "legit"), True), (("no", "yes"), False)])
def test_a_rate_of_named_classes_is_of_the_first(words, warns, tmp_path) -> None:
    y = np.array(words)[EVENT]
    model = LogisticRegression().fit(X[OLD], y[OLD])
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        page(tmp_path, model, X[NEW], y[NEW], negative_keep_rate=0.5)
    said = [str(one.message) for one in told if "alphabetical" in str(one.message)]
    assert bool(said) == warns
    assert all("negative_keep_rate is of 'fraud'" in one and "y == 'fraud'" in one for one in said)
