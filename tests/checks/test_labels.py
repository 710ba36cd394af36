"""Labels as users hold them: pandas Categoricals, integers as objects."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from sklearn.linear_model import Ridge
from sklearn.model_selection import KFold

import gbdt_objectives as go
from tests.cases import each

WORDS = np.array(["low", "mid", "high"])
rng = np.random.default_rng(0)
y = np.resize([0, 1, 2], 90)
score = y + rng.normal(0, 0.7, 90)


def ridge(**options):
    return go.QWKClassifier(Ridge(), objective=None, **options)


USES = {
    "optimize_thresholds": lambda v: go.optimize_thresholds(v, score),
    "cross_validate_thresholds": lambda v: go.cross_validate_thresholds(
        v, score, n_bootstrap=0, random_state=0
    ),
    "ThresholdClassifier": lambda v: go.ThresholdClassifier().fit(score, v),
    "QWKClassifier": lambda v: ridge().fit(score[:, None], v),
    "quadratic_weighted_kappa": lambda v: go.quadratic_weighted_kappa(v, v),
    "accuracy": lambda v: go.metrics.threshold_metric("accuracy")(v, v),
}
every_use = each("use", USES.values(), ids=USES)


def ordered(values=WORDS[y], categories=WORDS):
    return pd.Categorical(values, categories=list(categories), ordered=True)


@pytest.mark.parametrize(
    "wrap", [lambda c: c, pd.Series, pd.CategoricalIndex], ids=["array", "series", "index"]
)
def test_an_ordered_categorical_carries_its_order(wrap):
    c = wrap(ordered())
    thresholds = go.optimize_thresholds(c, score)
    assert thresholds.tolist() == go.optimize_thresholds(y, score).tolist()
    assert thresholds.labels.tolist() == WORDS.tolist()
    classes = go.apply_thresholds(score, thresholds)
    kappa = go.quadratic_weighted_kappa(y, np.digitize(score, thresholds))
    assert go.quadratic_weighted_kappa(c, classes) == kappa
    assert go.qwk_metric()(c, classes) == kappa
    found = go.cross_validate_thresholds(c, score, n_bootstrap=0, random_state=0)
    same = go.cross_validate_thresholds(y, score, n_bootstrap=0, random_state=0)
    assert found.score == same.score
    classifier = go.ThresholdClassifier().fit(score, c)
    assert classifier.classes_.tolist() == WORDS.tolist()
    assert classifier.score(score, c) == classifier.score(score, WORDS[y]) == kappa
    for estimator in (ridge(), ridge(labels=WORDS)):
        estimator.fit(score[:, None], c)
        assert estimator.classes_.tolist() == WORDS.tolist()
        assert estimator.score(score[:, None], c) == estimator.score(score[:, None], WORDS[y]) > 0.6


def test_categories_that_are_numbers_count_by_position():
    codes = np.array([10, 20, 50])
    c = ordered(codes[y], codes)
    thresholds = go.optimize_thresholds(c, score)
    assert thresholds.tolist() == go.optimize_thresholds(y, score).tolist()
    predicted = go.apply_thresholds(score, thresholds)
    by_position = go.quadratic_weighted_kappa(y, np.digitize(score, thresholds))
    assert go.quadratic_weighted_kappa(c, predicted) == by_position
    classifier = ridge().fit(score[:, None], c)
    assert classifier.score(score[:, None], c) == classifier.score(score[:, None], codes[y])
    falling = ordered(y, [2, 1, 0])
    assert go.optimize_thresholds(falling, -score).labels.tolist() == [2, 1, 0]
    metric = go.metrics.threshold_metric(
        "mae"
    )  # floats are scores in label units, whatever the order
    assert metric(ordered(y, [0, 1, 2]), score) == metric(y, score)


@every_use
def test_a_categorical_without_an_order_is_refused(use):
    with pytest.raises(TypeError, match="categorical without an order.*or an ordered Categorical"):
        use(pd.Categorical(WORDS[y]))
    use(pd.Categorical(y))  # integers have an order


@every_use
def test_a_missing_category_is_refused(use):
    c = ordered()
    c[3] = None
    with pytest.raises((TypeError, ValueError), match=r"holds nan at row 3|nan at row 3"):
        use(c)


@each("use", [use for name, use in USES.items() if name != "QWKClassifier"])  # which reads them
def test_integers_as_objects_are_refused_with_the_remedy(use):
    with pytest.raises((TypeError, ValueError), match=r"object: it holds integers, pass its .ast"):
        use(y.astype(object))


def test_missing_integers_as_objects():
    with_none = np.array([0, 1, None, 2], object)
    with pytest.raises(TypeError, match="dtype object: leave rows without a label out"):
        go.optimize_thresholds(with_none, score[:4])
    with pytest.raises(TypeError, match=r"but labels have int64.*\.astype\(int\)"):
        go.optimize_thresholds(y.astype(object), score, labels=[0, 1, 2])


# of which there is one in each row
@pytest.mark.filterwarnings("ignore:score holds nothing but labels")
@pytest.mark.filterwarnings("ignore:The number of unique classes")
def test_more_classes_than_rows_say_what_to_do():
    wide, of_wide = np.append(np.arange(49), 60), np.arange(50.0)
    for use in (
        lambda **labels: go.optimize_thresholds(wide, of_wide, **labels),
        lambda **labels: ridge(**labels, cv=KFold(5)).fit(of_wide[:, None], wide),
    ):
        with pytest.raises(ValueError, match=r"50 rows for the 61 classes 0 to 60.*labels=\["):
            use()
        use(labels=np.unique(wide))  # what the message says to do
    with pytest.raises(ValueError, match="count for 61 classes.*merge classes"):
        go.optimize_thresholds(wide, of_wide, labels=range(61))
