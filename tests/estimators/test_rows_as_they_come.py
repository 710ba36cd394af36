"""Rows as files and users have them: texts, in an order, with counts, labels read as objects."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest
from scipy.sparse import csr_matrix
from sklearn.feature_extraction.text import HashingVectorizer
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.model_selection import StratifiedGroupKFold, StratifiedKFold
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer

from gbdt_objectives import CalibratedClassifier, DownsampledClassifier, QWKClassifier
from gbdt_objectives.adapters import imbalance_shift
from gbdt_objectives.calibration import LogitCalibrator, choose_calibrator
from gbdt_objectives.estimators import ProbabilityEstimationTree, ThresholdClassifier
from gbdt_objectives.evaluation import estimate_performance, report
from tests.cases import each

rng = np.random.default_rng(0)
N = 120
X = rng.normal(size=(N, 2))
GRADE = np.digitize(X[:, 0] + rng.normal(0, 0.4, N), [-0.7, 0, 0.7])
EVENT = (GRADE > 1).astype(int)
TEXT = [" ".join(["the", *["good"] * grade, *["bad"] * (3 - grade)]) for grade in GRADE]

# --- X goes to the user's pipeline as it came


def of_texts(last: Any) -> Any:
    return make_pipeline(HashingVectorizer(n_features=8), last)


def graded(last: Any) -> QWKClassifier:
    return QWKClassifier(last, cv=3)


def calibrated(last: Any) -> CalibratedClassifier:
    return CalibratedClassifier(last, LogitCalibrator(), cv=3)


def downsampled(last: Any) -> DownsampledClassifier:
    return DownsampledClassifier(last, 0.8, random_state=0, n_bags=2)


MAKERS = {graded: (Ridge(), GRADE), calibrated: (LogisticRegression(), EVENT),
          downsampled: (LogisticRegression(), EVENT)}  # fmt: skip


@pytest.mark.parametrize("make", [*MAKERS])
@each("form", [list, pd.Series, np.array])
def test_texts_are_read_by_the_pipeline(make, form) -> None:
    """As what the first step makes of them: the hashes of words know nothing of the rows."""
    last, y = MAKERS[make]
    hashed = HashingVectorizer(n_features=8).transform(TEXT)
    found = make(of_texts(last)).fit(form(TEXT), y).predict(form(TEXT))
    assert found.tolist() == make(last).fit(hashed, y).predict(hashed).tolist()


@each("make", [*MAKERS])
def test_pictures_are_read_by_the_pipeline(make) -> None:
    last, y = MAKERS[make]
    flat = make_pipeline(FunctionTransformer(lambda pictures: pictures.reshape(-1, 2)), last)
    found = make(flat).fit(X.reshape(-1, 1, 2), y).predict(X.reshape(-1, 1, 2))
    assert found.tolist() == make(last).fit(X, y).predict(X).tolist()


def test_texts_of_functions_that_ask_a_model() -> None:
    texts, model = pd.Series(TEXT), of_texts(LogisticRegression()).fit(TEXT, EVENT)
    hashed = model[0].transform(TEXT)
    shift = imbalance_shift(model, texts, EVENT)
    np.testing.assert_allclose(shift, imbalance_shift(model[-1], hashed, EVENT), atol=1e-9)
    found = estimate_performance(model, texts, EVENT, "accuracy", cv=3, n_repeats=2)
    known = estimate_performance(model[-1], hashed, EVENT, "accuracy", cv=3, n_repeats=2)
    assert found.estimate == pytest.approx(known.estimate, abs=1e-12)


@pytest.mark.slow  # it draws
def test_texts_of_a_report(tmp_path) -> None:
    model = of_texts(LogisticRegression()).fit(TEXT, EVENT)
    texts, hashed = pd.Series(TEXT), model[0].transform(TEXT)
    pages = [report(m, x, EVENT, tmp_path / "a.html").read_text()
             for m, x in ((model, texts), (model[-1], hashed))]  # fmt: skip
    assert pages[0] == pages[1]


@each("form", [list, pd.Series, np.array])
def test_a_column_of_numbers_is_no_table(form) -> None:
    column = form(X[:, 0].tolist())
    for make, (last, y) in MAKERS.items():
        with pytest.raises(ValueError, match=r"X must be two-dim.*X\.reshape\(-1, 1\) for one fe"):
            make(last).fit(column, y)
    model = LogisticRegression().fit(X, EVENT)
    with pytest.raises(TypeError, match=r"write imbalance_shift\(model, X, y\)"):
        imbalance_shift(model, form(EVENT.tolist()), X)


# --- folds are drawn


@each("groups", [None, np.arange(N) // 4])
def test_folds_of_rows_in_an_order_are_drawn(groups) -> None:
    order = np.argsort(X[:, 0])
    kind = StratifiedKFold if groups is None else StratifiedGroupKFold
    drawn = kind(4, shuffle=True, random_state=0)
    own, named = (
        CalibratedClassifier(LogisticRegression(), LogitCalibrator(), cv=cv)
        .fit(X[order], EVENT[order], groups=groups).oof_probability_
        for cv in (4, drawn)
    )  # fmt: skip
    np.testing.assert_allclose(own, named, rtol=1e-12)


# --- counts of rows whose copies are split or drawn


@pytest.mark.parametrize("pandas", [False, True])
def test_counts_are_answered_with_rows_written_out(pandas: bool) -> None:
    """What the message says works when it is typed, and is what the whole file gives."""
    counts, table = 1 + np.arange(N) % 3, pd.DataFrame(X, columns=["a", "b"])
    table, y = (table, pd.Series(EVENT)) if pandas else (X, EVENT)
    grade = pd.Series(GRADE) if pandas else GRADE
    calls = {
        calibrated(LogisticRegression()).fit: (table, y),
        downsampled(LogisticRegression()).fit: (table, y),
        graded(Ridge()).fit: (table, grade),
        ProbabilityEstimationTree().fit: (table, y),
        ThresholdClassifier().fit: (X[:, 0], grade),
        lambda *rows, **given: estimate_performance(
            LogisticRegression(), *rows, "accuracy", cv=3, n_repeats=2, **given
        ): (table, y),
        choose_calibrator: (y, np.clip(X[:, 0] / 9 + 0.5, 0.01, 0.99)),
    }
    rows = np.repeat(np.arange(len(counts)), counts)
    for call, given in calls.items():
        with pytest.raises(TypeError) as refused:
            call(*given, counts=counts)
        assert "rows = numpy.repeat(numpy.arange(len(counts)), counts)" in str(refused.value)
        assert "y[rows], of pandas y.iloc[rows]" in str(refused.value)
        assert "sample_weight" not in str(refused.value)
        call(*(x.iloc[rows] if hasattr(x, "iloc") else x[rows] for x in given))


# --- labels that are objects


@pytest.mark.parametrize("make", [*MAKERS])
@each("kind", [int, float, bool, np.int64])
def test_numbers_in_a_column_of_objects_are_labels(make, kind) -> None:
    last, y = MAKERS[make]
    y = EVENT if kind is bool else y
    objects = pd.Series([kind(value) for value in y], dtype=object)
    assert objects.dtype == object
    found = make(last).fit(csr_matrix(X), objects)
    assert found.classes_.dtype.kind in "bif"
    assert found.predict(X).tolist() == make(last).fit(X, y).predict(X).tolist()


@each("make", [*MAKERS])
@each("odd", ["1", None, np.nan])
def test_objects_that_are_no_numbers_are_refused(make, odd) -> None:
    last, y = MAKERS[make]
    objects = pd.Series([*y.tolist()[:-1], odd], dtype=object)
    with pytest.raises((TypeError, ValueError), match=r"\by\b"):
        make(last).fit(X, objects)
