"""What an estimator is asked before ours wraps it."""

from __future__ import annotations

import lightgbm as lgb
import numpy as np
import pytest
import xgboost as xgb
from sklearn.ensemble import RandomForestClassifier
from sklearn.naive_bayes import GaussianNB, MultinomialNB
from sklearn.pipeline import make_pipeline

from gbdt_objectives.estimators import _base
from tests.cases import each


@each(
    ("estimator", "name"),
    [
        (MultinomialNB(class_prior=[0.5, 0.5]), "class_prior="),
        (MultinomialNB(fit_prior=False), "fit_prior=False"),
        (GaussianNB(priors=[0.5, 0.5]), "priors="),
        (RandomForestClassifier(class_weight="balanced"), "class_weight='balanced'"),
        (make_pipeline(MultinomialNB(fit_prior=False)), "multinomialnb__fit_prior=False"),
        (lgb.LGBMClassifier(scale_pos_weight=3), "scale_pos_weight=3"),
        (lgb.LGBMClassifier(unbalance=True), "unbalance=True"),
        (lgb.LGBMClassifier(pos_bagging=0.5), "pos_bagging=0.5"),
        (lgb.LGBMClassifier(neg_bagging_fraction=0.5), "neg_bagging_fraction=0.5"),
        (xgb.XGBClassifier(scale_pos_weight=3), "scale_pos_weight=3"),
    ],
)
def test_what_moves_the_log_odds_is_refused(estimator, name) -> None:
    with pytest.raises(ValueError, match=f"{name}.*which moves the log-odds by itself"):
        _base.check_correctable(estimator)


@each(
    "estimator",
    [
        MultinomialNB(), GaussianNB(), RandomForestClassifier(),
        lgb.LGBMClassifier(scale_pos_weight=1, is_unbalance=False, pos_bagging_fraction=1),
        xgb.XGBClassifier(scale_pos_weight=1), make_pipeline(MultinomialNB(fit_prior=True)),
    ],
)  # fmt: skip
def test_defaults_that_are_written_out_are_taken(estimator) -> None:
    _base.check_correctable(estimator)


@each("name", ["booster", "boosting_type", "boosting", "boost"])
def test_dropped_trees_have_no_best_round(name) -> None:
    for value in (None, "gbtree", "gbdt", "gbrt", "goss"):
        _base.check_best_round({name: value})
    for value in ("dart", "gblinear", "rf"):
        with pytest.raises(ValueError, match=f"early stopping is not supported with {name}='"):
            _base.check_best_round({name: value})


@each("value", [0, 0.0, None])
def test_any_improvement_counts(value) -> None:
    _base.check_best_round({"early_stopping_min_delta": value})
    for other in (0.1, np.array([0.1])):
        with pytest.raises(ValueError, match="early_stopping_min_delta=.*any improvement"):
            _base.check_best_round({"early_stopping_min_delta": other})


@each(
    ("estimator", "rounds"),
    [
        (lgb.LGBMRegressor(), None), (lgb.LGBMClassifier(), None), (xgb.XGBClassifier(), None),
        (lgb.LGBMClassifier(early_stopping_rounds=7), 7), (RandomForestClassifier(), None),
        (lgb.LGBMClassifier(early_stopping_round=-1), None),
        (lgb.LGBMClassifier(n_iter_no_change=3), 3),
        (xgb.XGBClassifier(early_stopping_rounds=5), 5),
    ],
)  # fmt: skip
def test_its_own_stopping_is_found(estimator, rounds) -> None:
    assert _base.find_stopping_rounds(estimator) == rounds
