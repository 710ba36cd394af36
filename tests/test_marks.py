"""What one part of the path returns, the next takes as it is."""

from __future__ import annotations

import lightgbm as lgb
import numpy as np
import pytest
import xgboost as xgb
from sklearn.linear_model import Ridge

import gbdt_objectives as go


def test_a_models_imbalance_corrects_by_position() -> None:
    X, y = np.eye(40), np.resize([0, 0, 0, 1], 40)
    params = {"objective": "binary", "scale_pos_weight": 3.0, "verbose": -1}
    shifts = [
        go.adapters.imbalance_shift(lgb.train(params, lgb.Dataset(X, y), 1)),
        go.adapters.imbalance_shift(
            xgb.train(
                {"objective": "binary:logistic", "scale_pos_weight": 3.0}, xgb.DMatrix(X, y), 1
            )
        ),
    ]
    for shift in shifts:
        assert go.priors.correct_margin([0.0], shift)[0] == pytest.approx(-np.log(3))
        assert go.correct_probability([0.5], shift)[0] == pytest.approx(0.25)


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
