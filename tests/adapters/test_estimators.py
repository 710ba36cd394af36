"""The drop-in estimators: the library's own, and right with an objective or metric of ours."""

from __future__ import annotations

import inspect
import json
import pickle
import warnings
from pathlib import Path
from typing import Any

import joblib
import lightgbm as lgb
import numpy as np
import pytest
import sklearn
import xgboost as xgb
from scipy.special import expit, logit
from sklearn.base import clone
from sklearn.ensemble import VotingRegressor
from sklearn.metrics import make_scorer
from sklearn.model_selection import GridSearchCV, cross_val_predict, cross_validate
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.fixes import parse_version
from sklearn.utils.validation import has_fit_parameter

import gbdt_objectives as go
from gbdt_objectives.adapters import lightgbm as lightgbm_adapter, xgboost as xgboost_adapter
from tests.adapters.library import LGB, XGB, Library, both, needs_routing
from tests.adapters.test_natural_units import multinomial, poisson
from tests.cases import each, refused

pytestmark = pytest.mark.filterwarnings("ignore:The argument 'eval_set' is deprecated")
TRAIN, TEST = slice(0, 400), slice(400, 600)
SMOOTH, ERROR = go.extended_qwk_metric(), go.metrics.squared_error_metric()
SMALL = {
    "xgboost": {"max_depth": 3, "n_jobs": 1, "random_state": 0, "n_estimators": 12},
    "lightgbm": {
        "num_leaves": 7, "verbose": -1, "n_jobs": 1, "random_state": 0, "n_estimators": 12,
        "deterministic": True,
    },
}  # fmt: skip
OURS = {
    ("xgboost", False): xgboost_adapter.XGBRegressor,
    ("xgboost", True): xgboost_adapter.XGBClassifier,
    ("lightgbm", False): lightgbm_adapter.LGBMRegressor,
    ("lightgbm", True): lightgbm_adapter.LGBMClassifier,
}
PLAIN = {
    ("xgboost", False): xgb.XGBRegressor,
    ("xgboost", True): xgb.XGBClassifier,
    ("lightgbm", False): lgb.LGBMRegressor,
    ("lightgbm", True): lgb.LGBMClassifier,
}
eval_X_is_known = pytest.mark.skipif(
    "eval_X" not in inspect.signature(lgb.LGBMRegressor.fit).parameters, reason="since 4.7"
)


def make(lib: Library, classifier: bool = False, plain: bool = False, **parameters: Any) -> Any:
    kind = (PLAIN if plain else OURS)[lib.name, classifier]
    return kind(**{**SMALL[lib.name], **parameters})


def fit(
    lib: Library, model: Any, X, y, held_out: Any = None, metric: Any = None, **more: Any
) -> Any:
    """Evaluated on ``held_out`` (a list of pairs) with ``metric``, wherever that is given."""
    if held_out is not None:
        more["eval_set"] = held_out
    if lib is XGB:
        if metric is not None:
            model.set_params(eval_metric=metric)
        return model.fit(X, y, verbose=False, **more)
    if metric is not None:
        more["eval_metric"] = metric
    return model.fit(X, y, **more)


def history(lib: Library, model: Any) -> dict[str, dict[str, list[float]]]:
    found = model.evals_result() if lib is XGB else model.evals_result_
    return {name: {m: list(v) for m, v in values.items()} for name, values in found.items()}


def booster(lib: Library, model: Any) -> Any:
    return model.get_booster() if lib is XGB else model.booster_


def kappa(y, score) -> float:
    return go.quadratic_weighted_kappa(y, np.rint(score).clip(y.min(), y.max()).astype(int))


# --- without anything of ours: the library's own estimators


@both
@pytest.mark.parametrize("classifier", [False, True], ids=["regressor", "classifier"])
@pytest.mark.parametrize("stops", [False, True], ids=["", "stops"])
def test_without_ours_it_is_the_librarys_estimator_to_the_bit(
    lib: Library, classifier: bool, stops: bool, ordinal
) -> None:
    X, y, w = ordinal
    y = y - 1  # XGBoost wants classes from 0; four of them
    parameters: dict[str, Any] = {"subsample": 0.8, "n_estimators": 40 if stops else 12}
    if stops:
        parameters["early_stopping_rounds"] = 3
        parameters["learning_rate"] = 0.5
    results = []
    for plain in (False, True):
        model = make(lib, classifier, plain, **parameters)
        fit(lib, model, X[TRAIN], y[TRAIN], [(X[TEST], y[TEST])], sample_weight=w[TRAIN])
        proba = model.predict_proba(X) if classifier else model.predict(X)
        results.append((model.predict(X), proba, history(lib, model), booster(lib, model)))
    ours, theirs = results
    np.testing.assert_array_equal(ours[0], theirs[0])
    np.testing.assert_array_equal(ours[1], theirs[1])
    assert ours[2] == theirs[2]
    assert lib.rounds(ours[3]) == lib.rounds(theirs[3])
    if lib is LGB:
        assert ours[3].model_to_string() == theirs[3].model_to_string()
        assert ours[3].best_iteration == theirs[3].best_iteration


@both
def test_without_ours_categories_and_missing_values_of_pandas_pass_through(
    lib: Library, ordinal
) -> None:
    pd = pytest.importorskip("pandas")
    X, y, _ = ordinal
    frame = pd.DataFrame(X.copy(), columns=list("abcd"))  # pandas 2 would write into X
    frame["e"] = pd.Categorical(np.where(X[:, 0] > 0.5, "high", "low"))
    frame.loc[frame.index[::7], "b"] = np.nan
    extra = {"enable_categorical": True} if lib is XGB else {}
    ours, plain = (make(lib, plain=p, **extra).fit(frame, y) for p in (False, True))
    np.testing.assert_array_equal(ours.predict(frame), plain.predict(frame))
    with_objective = make(lib, objective=go.qwk_objective(), **extra).fit(frame, y)
    again = pickle.loads(pickle.dumps(with_objective))
    np.testing.assert_array_equal(again.predict(frame), with_objective.predict(frame))
    assert kappa(y, again.predict(frame)) > 0.6
    if hasattr(plain, "feature_names_in_"):  # LightGBM has none up to 4.4
        assert list(with_objective.feature_names_in_) == list("abcde")
    if lib is LGB:  # the categories are in the saved model
        text = with_objective.booster_.model_to_string()
        np.testing.assert_allclose(
            lgb.Booster(model_str=text).predict(frame), again.predict(frame), rtol=1e-12
        )


@both
@pytest.mark.filterwarnings("ignore:.*custom objective")
def test_a_callable_of_the_user_is_passed_to_the_library_as_it_is(lib: Library, ordinal) -> None:
    X, y, _ = ordinal

    def mine(y_true, margin):
        return margin - y_true, np.ones_like(margin)

    ours, plain = (make(lib, plain=p, objective=mine).fit(X, y) for p in (False, True))
    np.testing.assert_array_equal(ours.predict(X), plain.predict(X))


@both
def test_our_metric_on_a_built_in_objective_stops_in_its_direction(lib: Library, ordinal) -> None:
    X, y, _ = ordinal
    model = make(lib, n_estimators=150, early_stopping_rounds=10)
    fit(lib, model, X[TRAIN], y[TRAIN], [(X[TEST], y[TEST])], SMOOTH)
    (values,) = (v["extended_qwk"] for v in history(lib, model).values())
    kept = model.best_iteration + 1 if lib is XGB else model.best_iteration_
    assert kept == np.argmax(values[: kept + 10]) + 1 > 5
    if lib is XGB:
        assert lib.rounds(booster(lib, model)) == kept
    assert SMOOTH(y[TEST], model.predict(X[TEST])) == pytest.approx(max(values), rel=1e-5)


@pytest.mark.filterwarnings("error:The argument 'eval_set' is deprecated")
def test_our_metric_on_a_built_in_objective_has_the_names_of_lightgbm_4_7(ordinal) -> None:
    X, y, _ = ordinal
    model = make(LGB, n_estimators=20)
    model.fit(X[TRAIN], y[TRAIN], eval_set=[(X[TEST], y[TEST])], eval_metric=SMOOTH)
    assert len(history(LGB, model)["valid_0"]["extended_qwk"]) == 20


@both
def test_our_metric_on_the_librarys_classifier_must_take_probabilities(lib: Library, rare) -> None:
    X, y, _ = rare
    of_margin, of_probability = (
        go.weighted_logloss_metric(1, input_space=space) for space in ("margin", "probability")
    )
    with pytest.raises(ValueError, match="takes log-odds, but under a built-in objective boosters"):
        fit(lib, make(lib, True), X, y, [(X[:99], y[:99])], of_margin)
    model = fit(lib, make(lib, True), X, y, [(X[:99], y[:99])], of_probability)
    (values,) = (v["weighted_logloss"] for v in history(lib, model).values())
    assert values[-1] == pytest.approx(of_probability(y[:99], model.predict_proba(X[:99])[:, 1]))


@both
def test_a_metric_that_would_misread_what_is_trained_is_refused(lib: Library, rare) -> None:
    X, y, _ = rare
    held_out = [(X[:99], y[:99])]
    logloss, kappa_metric = go.weighted_logloss_metric(1), go.qwk_metric((0, 1))
    built_in = make(lib, objective="binary:logistic" if lib is XGB else "binary")
    with pytest.raises(ValueError, match='pass predictions.*input_space="probability"'):
        fit(lib, built_in, X, y, held_out, logloss)
    with pytest.raises(ValueError, match="label units.*use a regressor"):
        fit(lib, make(lib, True), X, y, held_out, kappa_metric)
    of_odds = go.weighted_logloss_objective(1)
    for metric in (kappa_metric, kappa_metric.loss, SMOOTH, ERROR):
        with pytest.raises(ValueError, match="label units.*log-odds.*weighted_logloss_metric"):
            fit(lib, make(lib, True, objective=of_odds), X, y, held_out, metric)
    with pytest.raises(ValueError, match="log-odds.*label units.*extended_qwk_metric"):
        fit(lib, make(lib, objective=go.qwk_objective()), X, y, held_out, logloss)
    data = lib.data(X, y)
    with pytest.raises(ValueError, match="label units.*log-odds"):
        lib.train(lib.params, data, 3, objective=of_odds, metric=ERROR, evals=[(data, "all")])


# --- with ours: what train() of the adapter trains


@both
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.filterwarnings("error:boosting starts")
def test_regressor_equals_train_with_the_same_parameters(
    lib: Library, weighted: bool, ordinal
) -> None:
    X, y, w = ordinal
    y = y + 10
    weight = w if weighted else None
    tolerance = 1e-5 if lib is XGB else 1e-12
    for objective in (go.qwk_objective(), go.qwk_objective(y, sample_weight=weight)):
        model = make(lib, objective=objective).fit(X, y, sample_weight=weight)
        data = lib.data(X, y, weight)
        expected = lib.predict(lib.train(lib.params, data, 12, objective=objective), X)
        np.testing.assert_allclose(model.predict(X), expected, atol=tolerance)
        assert model.objective is objective
    assert kappa(y, model.predict(X)) > 0.7


@both
@pytest.mark.parametrize("weighted", [False, True])
def test_classifier_equals_train_with_the_same_parameters(
    lib: Library, weighted: bool, rare
) -> None:
    X, y, w = rare
    weight = w if weighted else None
    for objective in (go.offset_logloss_objective(0.5), go.weighted_logloss_objective(0.5)):
        model = make(lib, True, objective=objective).fit(X, y, sample_weight=weight)
        trained = lib.train(lib.params, lib.data(X, y, weight), 12, objective=objective)
        expected = lib.predict(trained, X)
        probability = model.predict_proba(X)
        assert probability.shape == (len(y), 2)
        np.testing.assert_allclose(probability[:, 1], expected, atol=1e-6 if lib is XGB else 1e-12)
        np.testing.assert_allclose(probability.sum(axis=1), 1, rtol=1e-6)
        np.testing.assert_array_equal(model.predict(X), (expected > 0.5).astype(int))
        assert list(model.classes_) == [0, 1]
        assert model.score(X, y) > 0.8


@both
@pytest.mark.parametrize("classifier", [False, True], ids=["regressor", "classifier"])
def test_a_weight_is_so_many_rows(lib: Library, classifier: bool, ordinal, rare) -> None:
    X, y, w = rare if classifier else ordinal
    X = X.round(1)  # few values: the same bins
    at = np.repeat(np.arange(len(y)), w.astype(int))
    objective = go.offset_logloss_objective(0.5) if classifier else go.qwk_objective()
    counts = {"min_child_samples": 1} if lib is LGB else {}
    model = make(lib, classifier, objective=objective, **counts)
    weighted = clone(model).fit(X, y, sample_weight=w)
    repeated = clone(model).fit(X[at], y[at])
    one, other = (
        m.predict_proba(X)[:, 1] if classifier else m.predict(X) for m in (weighted, repeated)
    )
    np.testing.assert_allclose(one, other, atol=2e-4)
    np.testing.assert_allclose(one.mean(), other.mean(), rtol=1e-5)


@pytest.mark.parametrize("class_weight", [{0: 1.0, 1: 3.0}, "balanced"], ids=str)
def test_class_weight_of_lightgbm_is_a_weight(class_weight, rare) -> None:
    X, y, w = rare
    objective = go.weighted_logloss_objective(0.5)
    by_class = sklearn.utils.class_weight.compute_sample_weight(class_weight, y)
    for weight in (None, w):
        model = make(LGB, True, objective=objective, class_weight=class_weight)
        model.fit(X, y, sample_weight=weight)
        total = by_class if weight is None else by_class * weight
        expected = make(LGB, True, objective=objective).fit(X, y, sample_weight=total)
        np.testing.assert_allclose(model.predict_proba(X), expected.predict_proba(X), atol=1e-6)


def saved(tmp_path: Path, lib: Library, model: Any) -> Path:
    path = tmp_path / ("model.ubj" if lib is XGB else "model.txt")
    (model if lib is XGB else model.booster_).save_model(path)
    return path


@both
@pytest.mark.parametrize("classifier", [False, True], ids=["regressor", "classifier"])
def test_natural_units_after_pickle_joblib_and_saving(
    lib: Library, classifier: bool, ordinal, rare, tmp_path
) -> None:
    X, y, _ = rare if classifier else ordinal
    y = y if classifier else y + 10
    objective = go.offset_logloss_objective(0.5) if classifier else go.qwk_objective()
    model = make(lib, classifier, objective=objective).fit(X, y)
    here = model.predict_proba(X)[:, 1] if classifier else model.predict(X)
    joblib.dump(model, tmp_path / "model.joblib")
    copies = [pickle.loads(pickle.dumps(model)), joblib.load(tmp_path / "model.joblib")]
    for again in copies:
        probability = again.predict_proba(X)[:, 1] if classifier else again.predict(X)
        np.testing.assert_array_equal(probability, here)
        assert again.objective == objective
    path = saved(tmp_path, lib, model)
    plain = xgb.Booster(model_file=path) if lib is XGB else lgb.Booster(model_file=path)
    np.testing.assert_allclose(lib.predict(plain, X), here, rtol=1e-6)
    if lib is XGB:  # the library's own estimator reads it, and so does ours
        for plain in (True, False):
            loaded = make(XGB, classifier, plain)
            loaded.load_model(path)
            probability = loaded.predict_proba(X)[:, 1] if classifier else loaded.predict(X)
            np.testing.assert_array_equal(probability, here)
    stands_for = np.where(y == 0, 2, 1) if classifier else None  # two negatives each
    aim = np.average(y, weights=stands_for)
    assert np.average(here, weights=stands_for) == pytest.approx(aim, rel=0.08)


@both
def test_the_intercept_is_inside_the_booster(lib: Library, ordinal, rare) -> None:
    X, y, _ = ordinal
    tiny = {"learning_rate": 1e-9, "n_estimators": 2}
    model = make(lib, objective=go.qwk_objective(), **tiny).fit(X, y + 10)
    np.testing.assert_allclose(lib.predict(booster(lib, model), X), y.mean() + 10, rtol=1e-6)
    np.testing.assert_allclose(model.predict(X), y.mean() + 10, rtol=1e-6)
    if lib is XGB:
        config = json.loads(model.get_booster().save_config())
        base = config["learner"]["learner_model_param"]["base_score"].strip("[]")
        assert float(base) == pytest.approx(y.mean() + 10, rel=1e-6)
        assert float(np.ravel(model.intercept_)[0]) == pytest.approx(y.mean() + 10, rel=1e-6)
    Z, t, _ = rare
    model = make(lib, True, objective=go.offset_logloss_objective(0.1), **tiny).fit(Z, t)
    expected = logit(t.mean()) + np.log(0.1)
    np.testing.assert_allclose(model.predict_proba(Z)[:, 1], expit(expected), rtol=1e-5)
    margin = lib.predict(booster(lib, model), Z, raw=True)
    np.testing.assert_allclose(margin, expected, atol=1e-4)


@both
@pytest.mark.parametrize("classifier", [False, True], ids=["regressor", "classifier"])
def test_contributions_sum_to_the_margin(lib: Library, classifier: bool, ordinal, rare) -> None:
    X, y, _ = rare if classifier else ordinal
    y = y if classifier else y + 10
    objective = go.offset_logloss_objective(0.5) if classifier else go.qwk_objective()
    model = make(lib, classifier, objective=objective).fit(X, y)
    margin = lib.predict(booster(lib, model), X, raw=True)
    contributions = lib.contributions(booster(lib, model), X)
    np.testing.assert_allclose(contributions.sum(axis=1), margin, atol=2e-5)
    if lib is LGB:
        by_estimator = model.predict(X, pred_contrib=True)
        np.testing.assert_allclose(by_estimator.sum(axis=1), margin, atol=1e-9)
        np.testing.assert_allclose(model.predict(X, raw_score=True), margin, atol=1e-12)
    else:
        np.testing.assert_allclose(model.predict(X, output_margin=True), margin, rtol=1e-6)
    if not classifier:
        np.testing.assert_allclose(model.predict(X), margin, atol=1e-5)


# --- evaluation sets


@both
def test_evaluation_sets_start_where_training_does(lib: Library, ordinal, rare) -> None:
    X, y, _ = ordinal
    y = y + 10
    tiny = {"learning_rate": 1e-9, "n_estimators": 2}
    sets = [(X[:50], y[:50]), (X[TEST], y[TEST])]
    model = fit(
        lib, make(lib, objective=go.qwk_objective(), **tiny), X[TRAIN], y[TRAIN], sets, ERROR
    )
    for (_, labels), values in zip(sets, history(lib, model).values(), strict=True):
        expected = np.mean((labels - y[TRAIN].mean()) ** 2)
        assert values["squared_error"][0] == pytest.approx(expected, rel=1e-5)
    Z, t, _ = rare
    metric = go.weighted_logloss_metric(0.5)
    model = make(lib, True, objective=go.weighted_logloss_objective(0.5), **tiny)
    fit(lib, model, Z, t, [(Z[:200], t[:200])], metric)
    start = logit(t.sum() / (t.sum() + 2 * (t == 0).sum()))
    (values,) = history(lib, model).values()
    expected = metric(t[:200], np.full(200, start))
    assert values["weighted_logloss"][0] == pytest.approx(expected, rel=1e-5)


def test_built_in_metrics_of_lightgbm_see_the_intercept_of_an_identity_objective(ordinal) -> None:
    X, y, _ = ordinal
    y = y + 10
    model = make(LGB, objective=go.qwk_objective(), learning_rate=1e-9)
    fit(LGB, model, X, y, [(X[TEST], y[TEST])], ["l2", "l1", SMOOTH])
    (values,) = history(LGB, model).values()
    assert values["l2"][0] == pytest.approx(np.mean((y[TEST] - y.mean()) ** 2), rel=1e-6)
    assert values["l1"][0] == pytest.approx(np.mean(np.abs(y[TEST] - y.mean())), rel=1e-6)
    assert "extended_qwk" in values


def test_built_in_metrics_of_lightgbm_are_refused_where_they_would_misread_log_odds(rare) -> None:
    X, y, _ = rare
    objective = go.offset_logloss_objective(0.5)
    for metric in (
        "auc",
        ["binary_logloss"],
        [go.weighted_logloss_metric(0.5), "average_precision"],
    ):
        with pytest.raises(ValueError, match="interpret log-odds of label 1 as predictions"):
            fit(LGB, make(LGB, True, objective=objective), X, y, [(X[:99], y[:99])], metric)


def test_built_in_metrics_of_xgboost_beside_ours(ordinal, rare) -> None:
    X, y, _ = ordinal
    held_out = [(X[TEST], y[TEST])]
    model = make(XGB, objective=go.qwk_objective(), n_estimators=100, early_stopping_rounds=10,
                 eval_metric=["mae", SMOOTH])  # fmt: skip
    if xgb.__version__.startswith("2."):
        with pytest.raises(ValueError, match="no other metric beside one of gbdt_objectives"):
            model.fit(X[TRAIN], y[TRAIN], eval_set=held_out, verbose=False)
        return
    model.fit(X[TRAIN], y[TRAIN], eval_set=held_out, verbose=False)
    values = history(XGB, model)["validation_0"]
    assert list(values) == ["mae", "extended_qwk"]
    kept = XGB.rounds(model.get_booster())
    assert kept == np.argmax(values["extended_qwk"]) + 1 > 5
    alone = make(XGB, objective=go.qwk_objective(), n_estimators=100, early_stopping_rounds=10)
    fit(XGB, alone, X[TRAIN], y[TRAIN], held_out, SMOOTH)
    assert XGB.rounds(alone.get_booster()) == kept
    Z, t, _ = rare
    model = make(XGB, True, objective=go.offset_logloss_objective(1), eval_metric="logloss")
    model.fit(Z, t, eval_set=[(Z, t)], verbose=False)
    probability = model.predict_proba(Z)[:, 1]
    expected = -np.mean(np.log(np.where(t == 1, probability, 1 - probability)))
    assert history(XGB, model)["validation_0"]["logloss"][-1] == pytest.approx(expected, rel=1e-5)


def test_xgboost_with_a_metric_but_nothing_to_evaluate_trains(ordinal) -> None:
    """In a grid search there are no evaluation sets, and the metric stays a parameter."""
    X, y, _ = ordinal
    model = make(XGB, objective=go.qwk_objective(), eval_metric=SMOOTH).fit(X, y)
    without = make(XGB, objective=go.qwk_objective()).fit(X, y)
    np.testing.assert_array_equal(model.predict(X), without.predict(X))


# --- early stopping


def stopping_forms(lib: Library, X, y) -> dict[str, Any]:
    """The same early stopping, asked for in all the ways there are."""
    pair = (X[TEST], y[TEST])
    objective, many = go.qwk_objective(), {"n_estimators": 120}
    by_number = {**many, "objective": objective, "early_stopping_rounds": 12}
    several = [(X[TRAIN], y[TRAIN]), (X[:40], y[:40]), pair]
    if lib is XGB:
        callbacks = [xgb.callback.EarlyStopping(rounds=12)]
        return {
            "number": (by_number, {"eval_set": [pair]}),
            "last of several": (by_number, {"eval_set": several}),
            "callback": (
                {**many, "objective": objective, "callbacks": callbacks}, {"eval_set": [pair]}
            ),
            "our callback": (
                {**many, "objective": objective,
                 "callbacks": [xgboost_adapter.early_stopping(SMOOTH, 12)]},
                {"eval_set": [pair]},
            ),
            "named set": (
                {**many, "objective": objective, "callbacks": [
                    xgb.callback.EarlyStopping(rounds=12, data_name="validation_0")]},
                {"eval_set": [pair, (X[TRAIN], y[TRAIN])]},
            ),
        }  # fmt: skip
    forms = {
        "number": (by_number, {"eval_set": [pair]}),
        "alias": ({**many, "objective": objective, "n_iter_no_change": 12}, {"eval_set": [pair]}),
        "last of several": (by_number, {"eval_set": several}),
        "tuple": (by_number, {"eval_set": pair}),
        "callback": (
            {**many, "objective": objective},
            {"eval_set": [pair], "callbacks": [lgb.early_stopping(12, verbose=False)]},
        ),
    }
    if "eval_X" in inspect.signature(lgb.LGBMRegressor.fit).parameters:
        forms["eval_X"] = (by_number, {"eval_X": pair[0], "eval_y": pair[1]})
        forms["eval_X of several"] = (
            by_number,
            {"eval_X": tuple(s[0] for s in several), "eval_y": tuple(s[1] for s in several)},
        )
    return forms


@pytest.mark.slow
@both
def test_early_stopping_in_all_the_ways_to_ask_for_it(lib: Library, ordinal) -> None:
    X, y, _ = ordinal
    data = lib.data(X[TRAIN], y[TRAIN])
    expected = lib.train(
        lib.params, data, 120, objective=go.qwk_objective(), metric=SMOOTH,
        evals=[(lib.data(X[TEST], y[TEST], reference=data), "v")], early_stopping_rounds=12,
    )  # fmt: skip
    kept = lib.rounds(expected)
    assert 5 < kept < 100
    for name, (parameters, arguments) in stopping_forms(lib, X, y).items():
        print(name)
        if lib is XGB:
            model = make(lib, eval_metric=SMOOTH, **parameters)
            model.fit(X[TRAIN], y[TRAIN], verbose=False, **arguments)
            assert model.best_iteration + 1 == kept
        else:
            model = make(lib, **parameters)
            model.fit(X[TRAIN], y[TRAIN], eval_metric=SMOOTH, **arguments)
            assert model.best_iteration_ == kept
        assert lib.rounds(booster(lib, model)) == kept
        np.testing.assert_allclose(model.predict(X), lib.predict(expected, X), atol=1e-5)
        assert model.get_params()["objective"] == go.qwk_objective()


@both
def test_early_stopping_of_a_classifier(lib: Library, rare) -> None:
    X, y, _ = rare
    metric = go.weighted_logloss_metric(0.5)
    model = make(lib, True, objective=go.weighted_logloss_objective(0.5), n_estimators=200,
                 early_stopping_rounds=10, learning_rate=0.2)  # fmt: skip
    fit(lib, model, X[:500], y[:500], [(X[500:], y[500:])], metric)
    (values,) = (v["weighted_logloss"] for v in history(lib, model).values())
    kept = lib.rounds(booster(lib, model))
    assert kept == np.argmin(values) + 1 < 150
    p = model.predict_proba(X[500:])[:, 1]
    assert metric(y[500:], logit(p.astype(float))) == pytest.approx(min(values), rel=1e-4)


def test_metrics_in_a_list_or_a_tuple(ordinal) -> None:
    X, y, _ = ordinal
    held_out = [(X[TEST], y[TEST])]
    for several in ([SMOOTH, ERROR, "l1"], (SMOOTH, ERROR, "l1"), {SMOOTH, "l1"}):
        model = make(LGB, objective=go.qwk_objective(), n_estimators=100, early_stopping_rounds=5)
        fit(LGB, model, X[TRAIN], y[TRAIN], held_out, several)
        values = history(LGB, model)["valid_0"]
        assert set(several) - {SMOOTH, ERROR} | {"extended_qwk"} <= set(values)
        assert model.best_iteration_ == np.argmax(values["extended_qwk"]) + 1
    for one in ([SMOOTH], (SMOOTH,)):
        model = make(XGB, objective=go.qwk_objective(), n_estimators=100, early_stopping_rounds=5)
        fit(XGB, model, X[TRAIN], y[TRAIN], held_out, one)
        values = history(XGB, model)["validation_0"]
        assert XGB.rounds(model.get_booster()) == np.argmax(values["extended_qwk"]) + 1
    with pytest.raises(ValueError, match="one metric of gbdt_objectives"):
        fit(XGB, model, X[TRAIN], y[TRAIN], held_out, [SMOOTH, ERROR])


def test_early_stopping_of_lightgbm_on_its_own_metric_leaves_the_best_rounds(ordinal) -> None:
    X, y, _ = ordinal
    model = make(LGB, objective=go.qwk_objective(), n_estimators=150, early_stopping_rounds=10)
    fit(LGB, model, X[TRAIN], y[TRAIN] + 10, [(X[TEST], y[TEST] + 10)], "l2")
    (values,) = (v["l2"] for v in history(LGB, model).values())
    assert 5 < LGB.rounds(model.booster_) == np.argmin(values) + 1 == model.best_iteration_ < 140
    error = np.mean((y[TEST] + 10 - model.predict(X[TEST])) ** 2)
    assert error == pytest.approx(min(values), rel=1e-9)


@pytest.mark.skipif(
    parse_version(lgb.__version__) < parse_version("4.4"), reason="refuses it by itself"
)
@pytest.mark.parametrize("rounds", [0, -1])
def test_no_patience_is_lightgbms_word_for_no_early_stopping(rounds: int, ordinal, rare) -> None:
    off: dict[str, Any] = {"callbacks": [lgb.early_stopping(rounds)]}
    X, y, _ = ordinal
    data, call = LGB.data(X[TRAIN], y[TRAIN]), {"objective": go.qwk_objective(), "metric": SMOOTH}
    evals = [(LGB.data(X[TEST], y[TEST], reference=data), "v")]
    assert LGB.rounds(LGB.train(LGB.params, data, 20, evals=evals, **call, **off)) == 20
    history = lightgbm_adapter.cv(LGB.params, data, 20, **call, **off)
    assert len(history["valid extended_qwk-mean"]) == 20
    regressor = make(LGB, objective=go.qwk_objective(), n_estimators=20)
    for asked in (SMOOTH, None):  # None needs no metric of ours, as nothing stops
        fit(LGB, regressor, X[TRAIN], y[TRAIN], [(X[TEST], y[TEST])], asked, **off)
        assert LGB.rounds(regressor.booster_) == 20
    X, y, _ = rare
    model = make(LGB, True, objective=go.weighted_logloss_objective(0.5), n_estimators=20)
    metric = go.weighted_logloss_metric(0.5)
    fit(LGB, model, X[:500], y[:500], [(X[500:], y[500:])], metric, **off)
    assert LGB.rounds(model.booster_) == 20


@both
def test_early_stopping_on_nothing_or_on_the_training_data_is_refused(
    lib: Library, ordinal
) -> None:
    X, y, _ = ordinal
    by_number = make(lib, objective=go.qwk_objective(), early_stopping_rounds=5)
    with pytest.raises(ValueError, match="early stopping needs held-out rows"):
        fit(lib, by_number, X, y, None, SMOOTH)
    with pytest.raises(ValueError, match="which is the training data: put held-out data last"):
        fit(lib, by_number, X, y, [(X[:9], y[:9]), (X, y)], SMOOTH)
    if lib is XGB:
        callback = xgb.callback.EarlyStopping(rounds=5, data_name="validation_0")
        model = make(lib, objective=go.qwk_objective(), callbacks=[callback])
        with pytest.raises(ValueError, match="which is the training data"):
            fit(lib, model, X, y, [(X, y), (X[:9], y[:9])], SMOOTH)
    else:
        model = make(lib, objective=go.qwk_objective())
        stop = lgb.early_stopping(5, verbose=False)
        with pytest.raises(ValueError, match="which is the training data"):
            fit(lib, model, X, y, [(X, y)], SMOOTH, callbacks=[stop])


# --- refits, parameters, copies


@both
def test_refits_in_turn_leave_nothing_behind(lib: Library, ordinal) -> None:
    X, y, _ = ordinal
    model = make(lib, objective=go.qwk_objective())
    first = model.fit(X, y).predict(X)
    model.fit(X, y + 10)
    assert model.predict(X).mean() == pytest.approx(y.mean() + 10, abs=0.1)
    fit(lib, model, X[TRAIN], y[TRAIN], [(X[TEST], y[TEST])], SMOOTH)
    np.testing.assert_array_equal(model.set_params(n_estimators=12).fit(X, y).predict(X), first)
    own = "reg:squarederror" if lib is XGB else None
    model.set_params(objective=own)
    if lib is XGB:
        model.set_params(eval_metric=None)
    plain = make(lib, plain=True).fit(X, y)
    np.testing.assert_array_equal(model.fit(X, y).predict(X), plain.predict(X))
    if lib is LGB:
        assert model.objective_ == "regression"
    model.set_params(objective=go.qwk_objective(y))
    np.testing.assert_array_equal(model.fit(X, y).predict(X), first)
    stops = fit(
        lib, model.set_params(early_stopping_rounds=5, n_estimators=60),
        X[TRAIN], y[TRAIN], [(X[TEST], y[TEST])], SMOOTH,
    )  # fmt: skip
    kept = lib.rounds(booster(lib, stops))
    assert kept < 60
    fit(lib, model, X[TRAIN], y[TRAIN], [(X[TEST], y[TEST])], SMOOTH)
    assert lib.rounds(booster(lib, model)) == kept


@both
@pytest.mark.parametrize("classifier", [False, True], ids=["regressor", "classifier"])
def test_parameters_make_the_round_trip(lib: Library, classifier: bool) -> None:
    objective = go.offset_logloss_objective(0.1) if classifier else go.qwk_objective(center=1.0)
    other = go.weighted_logloss_objective(0.2) if classifier else go.qwk_objective()
    model = make(lib, classifier, objective=objective, learning_rate=0.3)
    params = model.get_params(deep=True)
    assert params["objective"] is objective
    assert params["learning_rate"] == 0.3
    if lib is XGB:
        assert np.isnan(params.pop("missing"))  # nan is not equal to itself
    assert set(params) <= set(make(lib, classifier, plain=True, objective=None).get_params())
    for copy in (type(model)(**params), clone(model), pickle.loads(pickle.dumps(model))):
        assert {name: copy.get_params()[name] for name in params} == params
    assert model.set_params(objective=other).get_params()["objective"] is other
    assert type(model).__name__ in repr(model)
    if lib is LGB:  # of XGBoost's many parameters scikit-learn shows thirty, without this one
        assert type(other).__name__ in model.__repr__(N_CHAR_MAX=10_000)


def fails(y_true, margin, sample_weight):
    raise RuntimeError("on purpose")


@both
def test_a_fit_that_fails_leaves_the_parameters_as_they_were(lib: Library, ordinal) -> None:
    X, y, _ = ordinal
    metric = {"eval_metric": SMOOTH, "callbacks": [xgb.callback.EarlyStopping(rounds=3)]}
    model = make(lib, objective=go.objective(fails), early_stopping_rounds=7,
                 **(metric if lib is XGB else {}))  # fmt: skip
    before, attributes = dict(model.get_params()), set(vars(model))
    with pytest.raises(RuntimeError, match="on purpose"):
        fit(lib, model, X[TRAIN], y[TRAIN], [(X[TEST], y[TEST])], None if lib is XGB else SMOOTH)
    after = model.get_params()
    assert after == before
    for name in before:
        assert after[name] is before[name], name
    grown = set(vars(model)) - attributes  # only what the library's own fit sets
    assert not grown & {"objective", "metric", "base_score", "callbacks"}
    model.set_params(objective=go.qwk_objective())
    fit(lib, model, X[TRAIN], y[TRAIN], [(X[TEST], y[TEST])], None if lib is XGB else SMOOTH)
    assert kappa(y, model.predict(X)) > 0.5


@both
def test_fit_leaves_the_users_arguments_alone(lib: Library, ordinal) -> None:
    X, y, w = ordinal
    X0, y0, w0 = X.copy(), y.copy(), w.copy()
    callbacks: list[Any] = []
    pairs = [(X[TEST], y[TEST])]
    more = {} if lib is XGB else {"callbacks": callbacks, "eval_metric": SMOOTH}
    parameters = {"callbacks": callbacks, "eval_metric": SMOOTH} if lib is XGB else {}
    model = make(lib, objective=go.qwk_objective(), early_stopping_rounds=5, **parameters)
    fit(lib, model, X[TRAIN], y[TRAIN], pairs, sample_weight=w[TRAIN], **more)
    assert callbacks == []
    assert len(pairs) == 1
    for now, before in ((X, X0), (y, y0), (w, w0)):
        np.testing.assert_array_equal(now, before)


# --- scikit-learn around it


@pytest.mark.slow
@pytest.mark.xdist_group("two_processes")
@both
def test_grid_search_over_objectives_in_two_processes(lib: Library, ordinal) -> None:
    X, y, _ = ordinal
    grid = {
        "objective": [go.qwk_objective(), go.qwk_objective(clip=False), go.objective(squared)],
        "n_estimators": [4, 8],
    }
    scorer = make_scorer(SMOOTH)
    search = GridSearchCV(make(lib), grid, scoring=scorer, cv=2, n_jobs=2).fit(X, y)
    assert search.cv_results_["mean_test_score"].shape == (6,)
    assert np.isfinite(search.cv_results_["mean_test_score"]).all()
    assert search.best_score_ > 0.5
    assert search.best_estimator_.predict(X).mean() == pytest.approx(y.mean(), abs=0.2)
    together = cross_val_predict(make(lib, objective=go.qwk_objective()), X, y + 10, cv=2, n_jobs=2)
    assert together.mean() == pytest.approx(y.mean() + 10, abs=0.1)


def squared(y_true, margin, sample_weight):
    w = np.ones_like(margin) if sample_weight is None else sample_weight
    return w * (margin - y_true), w


@both
def test_ensembles_and_pipelines(lib: Library, ordinal) -> None:
    X, y, w = ordinal
    y = y + 10
    model = make(lib, objective=go.qwk_objective())
    alone = clone(model).fit(X, y, sample_weight=w).predict(X)
    voting = VotingRegressor([("a", clone(model)), ("b", clone(model))])
    voting.fit(X, y, sample_weight=w)
    np.testing.assert_allclose(voting.predict(X), alone, rtol=1e-6)
    pipeline = make_pipeline(StandardScaler(), clone(model))
    step = pipeline.steps[-1][0]
    pipeline.fit(X, y, **{f"{step}__sample_weight": w})
    assert kappa(y, pipeline.predict(X)) > 0.7
    np.testing.assert_array_equal(
        clone(pipeline).fit(X, y).predict(X), clone(pipeline).fit(X, y).predict(X)
    )


@both
@each("classifier", [False, True], ids=["regressor", "classifier"])
def test_scikit_learn_sees_the_fit_of_the_library(lib: Library, classifier: bool, ordinal) -> None:
    model, plain = make(lib, classifier), make(lib, classifier, plain=True)
    assert has_fit_parameter(model, "sample_weight")
    assert inspect.signature(model.fit) == inspect.signature(plain.fit)
    assert model.fit.__doc__ == plain.fit.__doc__
    assert sklearn.base.is_classifier(model) is classifier
    assert sklearn.base.is_regressor(model) is not classifier
    assert isinstance(model, type(plain))


@needs_routing
@both
def test_metadata_routing_passes_weights(lib: Library, ordinal) -> None:
    X, y, w = ordinal
    with sklearn.config_context(enable_metadata_routing=True):
        model = make(lib, objective=go.qwk_objective()).set_fit_request(sample_weight=True)
        scorer = make_scorer(ERROR, greater_is_better=False).set_score_request(sample_weight=True)
        found = cross_validate(
            model, X, y, cv=2, params={"sample_weight": w}, scoring=scorer, return_estimator=True
        )
    halves = [slice(300, 600), slice(0, 300)]
    for fitted, rows in zip(found["estimator"], halves, strict=True):
        expected = make(lib, objective=go.qwk_objective()).fit(
            X[rows], y[rows], sample_weight=w[rows]
        )
        np.testing.assert_array_equal(fitted.predict(X), expected.predict(X))


# --- labels and objectives of every kind


def test_string_labels_in_the_lightgbm_classifier(rare) -> None:
    X, y, _ = rare
    names = np.where(y == 1, "yes", "no")
    objective, metric = go.offset_logloss_objective(0.5), go.weighted_logloss_metric(0.5)
    expected = make(LGB, True, objective=objective).fit(X, y)
    model = make(LGB, True, objective=objective)
    fit(LGB, model, X, names, [(X[:300], names[:300])], metric)
    np.testing.assert_array_equal(model.predict_proba(X), expected.predict_proba(X))
    assert list(model.classes_) == ["no", "yes"]
    likelier = np.where(model.predict_proba(X)[:, 1] > 0.5, "yes", "no")
    np.testing.assert_array_equal(model.predict(X), likelier)
    (values,) = (v["weighted_logloss"] for v in history(LGB, model).values())
    margin = model.predict(X[:300], raw_score=True)
    assert values[-1] == pytest.approx(metric(y[:300], margin), rel=1e-6)


@both
def test_labels_in_a_frame_a_series_or_a_list(lib: Library, ordinal) -> None:
    pd = pytest.importorskip("pandas")
    X, y, w = ordinal
    expected = make(lib, objective=go.qwk_objective()).fit(X, y, sample_weight=w).predict(X)
    for labels in (pd.Series(y), y.tolist(), y.astype(np.float32), y.astype(np.int8)):
        model = make(lib, objective=go.qwk_objective())
        weight = pd.Series(w) if isinstance(labels, pd.Series) else w
        np.testing.assert_allclose(
            model.fit(X, labels, sample_weight=weight).predict(X), expected, atol=1e-6
        )


@both
def test_objectives_of_the_wrong_kind_are_refused_with_the_right_estimator(
    lib: Library, ordinal, rare
) -> None:
    X, y, _ = rare
    prefix = "XGB" if lib is XGB else "LGBM"
    cases = [
        (False, go.offset_logloss_objective(0.5), f"trains log-odds .*use {prefix}Classifier"),
        (True, go.qwk_objective(), f"trains scores in label units.*use {prefix}Regressor"),
        (True, go.objective(squared), f"{prefix}Classifier cannot turn .*use {prefix}Regressor"),
    ]
    for classifier, objective, message in cases:
        with pytest.raises(TypeError, match=message):
            make(lib, classifier, objective=objective).fit(X, y)


@both
def test_ours_under_a_name_that_the_library_ignores_is_refused(lib: Library, ordinal) -> None:
    X, y, _ = ordinal
    qwk = go.qwk_objective()
    for name in ("obj", "fobj", "loss"):
        with pytest.raises(TypeError, match=f"^{name} is an objective.*write objective="):
            make(lib, **{name: qwk}).fit(X, y)
    remedy = "write eval_metric=" if lib is XGB else "pass it to fit, eval_metric="
    for name in ("objective", "metric", "feval", "custom_metric"):
        for metric in (SMOOTH, getattr(SMOOTH, lib.name), [SMOOTH]):
            with pytest.raises(TypeError, match=f"^{name} is a metric.*{remedy}"):
                make(lib, **{name: metric}).fit(X, y)
    with pytest.raises(TypeError, match="eval_metric is an objective.*write objective="):
        fit(lib, make(lib), X, y, [(X, y)], qwk)


@both
def test_a_users_wrapped_function_in_the_regressor(lib: Library, ordinal) -> None:
    X, y, w = ordinal
    y = y + 10
    for objective, start in (
        (go.objective(squared), y.mean()),
        (go.objective(squared, intercept=12.0), 12),
    ):
        model = make(lib, objective=objective, n_estimators=5).fit(X, y, sample_weight=w)
        data = lib.data(X, y, w)
        expected = lib.predict(lib.train(lib.params, data, 5, objective=objective), X)
        np.testing.assert_allclose(model.predict(X), expected, atol=1e-5)
        tiny = make(lib, objective=objective, n_estimators=1, learning_rate=1e-9).fit(X, y)
        np.testing.assert_allclose(tiny.predict(X), start, rtol=1e-7, atol=1e-6)


# --- starts of the user, and models that go on


def test_base_score_and_base_margin_of_xgboost(ordinal, rare) -> None:
    X, y, _ = ordinal
    objective = go.qwk_objective()
    tiny = {"learning_rate": 1e-9, "n_estimators": 1}
    model = make(XGB, objective=objective, base_score=2.0, **tiny).fit(X, y)
    np.testing.assert_allclose(model.predict(X), 2.0, atol=1e-6)
    assert model.base_score == 2.0
    Z, t, _ = rare
    logloss = go.offset_logloss_objective(0.5)
    model = make(XGB, True, objective=logloss, base_score=0.25, **tiny).fit(Z, t)
    np.testing.assert_allclose(model.predict_proba(Z)[:, 1], 0.25, atol=1e-6)  # a probability
    start = y.mean() + X[:, 3] - 0.5
    model = make(XGB, objective=objective).fit(X, y, base_margin=start)
    trained = XGB.train(XGB.params, XGB.data(X, y, start=start), 12, objective=objective)
    expected = trained.predict(xgb.DMatrix(X, base_margin=start))
    np.testing.assert_allclose(model.predict(X, base_margin=start), expected, atol=1e-5)
    with pytest.raises(ValueError, match="base_score and base_margin are both given"):
        make(XGB, objective=objective, base_score=2.0).fit(X, y, base_margin=start)
    model = make(XGB, objective=objective, eval_metric=ERROR, **tiny)
    model.fit(
        X, y, base_margin=start, eval_set=[(X, y)], base_margin_eval_set=[start], verbose=False
    )
    first = history(XGB, model)["validation_0"]["squared_error"][0]
    assert first == pytest.approx(np.mean((start - y) ** 2), rel=1e-5)
    with pytest.raises(ValueError, match=r"base_margin is set on X but not on eval_set\[0\]"):
        model.fit(X, y, base_margin=start, eval_set=[(X, y)])
    with pytest.raises(ValueError, match=r"base_margin is set on eval_set\[0\] but not on X"):
        model.fit(X, y, eval_set=[(X, y)], base_margin_eval_set=[start])
    with pytest.raises(ValueError, match=r"on eval_set\[1\] but not on X, eval_set\[0\]"):
        model.fit(X, y, eval_set=[(X, y)] * 2, base_margin_eval_set=[None, start])


@both
@pytest.mark.parametrize("classifier", [False, True], ids=["regressor", "classifier"])
def test_training_goes_on_from_a_model(lib: Library, classifier: bool, ordinal, rare) -> None:
    X, y, _ = rare if classifier else ordinal
    y = y if classifier else y + 10
    objective = go.offset_logloss_objective(0.5) if classifier else go.qwk_objective(y)
    name = "xgb_model" if lib is XGB else "init_model"
    first = make(lib, classifier, objective=objective, n_estimators=6).fit(X, y)
    whole = make(lib, classifier, objective=objective, n_estimators=12).fit(X, y)
    for earlier in (first, booster(lib, first)):
        model = make(lib, classifier, objective=objective, n_estimators=6)
        model.fit(X, y, **{name: earlier})
        assert lib.rounds(booster(lib, model)) == 12
        one, other = (
            m.predict_proba(X)[:, 1] if classifier else m.predict(X) for m in (model, whole)
        )
        np.testing.assert_allclose(one, other, atol=1e-4)


def test_positional_weights_in_lightgbm(ordinal) -> None:
    X, y, w = ordinal
    model = make(LGB, objective=go.qwk_objective())
    by_name = clone(model).fit(X, y, sample_weight=w).predict(X)
    np.testing.assert_array_equal(clone(model).fit(X, y, w).predict(X), by_name)


@eval_X_is_known
def test_labels_of_evaluation_sets_given_as_eval_y_start_alike(ordinal) -> None:
    X, y, _ = ordinal
    y = y + 10
    model = make(LGB, objective=go.qwk_objective(), learning_rate=1e-9)
    model.fit(X[TRAIN], y[TRAIN], eval_X=X[TEST], eval_y=y[TEST], eval_metric=ERROR)
    (values,) = history(LGB, model).values()
    expected = np.mean((y[TEST] - y[TRAIN].mean()) ** 2)
    assert values["squared_error"][0] == pytest.approx(expected, rel=1e-6)


@both
def test_ready_to_use_without_a_warning(lib: Library, ordinal, rare) -> None:
    for classifier, (X, y, w) in ((False, ordinal), (True, rare)):
        objective = go.offset_logloss_objective(0.5) if classifier else go.qwk_objective()
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            model = make(lib, classifier, objective=objective).fit(X, y, sample_weight=w)
            model.predict(X)
            if classifier:
                model.predict_proba(X)
            pickle.loads(pickle.dumps(model)).predict(X)


@both
@each("classifier", [False, True], ids=["regressor", "classifier"])
def test_parameters_that_a_custom_objective_ignores_are_refused(
    lib: Library, classifier: bool, ordinal, rare
) -> None:
    X, y, _ = rare if classifier else ordinal
    objective = go.offset_logloss_objective(0.5) if classifier else go.qwk_objective()
    refused: list[dict[str, Any]] = [{"scale_pos_weight": 5}]
    if lib is XGB:
        refused += [{"top_k": 3}, {"num_class": 3}]
    else:
        refused += [{"is_unbalance": True}, {"boosting_type": "rf"}, {"pos_bagging_fraction": 0.5}]
    for parameters in refused:
        print(parameters)  # shown if it is not refused
        with pytest.raises(ValueError, match=f"{next(iter(parameters))}.* is refused"):
            make(lib, classifier, objective=objective, **parameters).fit(X, y)
    if classifier:  # without ours it is the library's business
        make(lib, classifier, scale_pos_weight=5).fit(X, y)


@both
def test_dart_and_early_stopping_are_refused_together(lib: Library, ordinal) -> None:
    X, y, _ = ordinal
    dart = {"booster": "dart"} if lib is XGB else {"boosting_type": "dart"}
    model = make(lib, objective=go.qwk_objective(), early_stopping_rounds=5, **dart)
    with pytest.raises(ValueError, match="dart.* is refused"):
        fit(lib, model, X[TRAIN], y[TRAIN], [(X[TEST], y[TEST])], SMOOTH)
    model.set_params(early_stopping_rounds=None).fit(X, y)
    assert kappa(y, model.predict(X)) > 0.5


def test_a_worker_without_rows_has_no_classes() -> None:
    from gbdt_objectives.adapters._estimators import class_positions

    for y in (np.empty(0), np.empty((0, 1))):
        assert class_positions("y", y, np.array(["a", "b"])).tolist() == []
    with pytest.raises(ValueError, match="as 0 to 1, or leave such rows out"):
        class_positions("y", ["a", "c"], np.array(["a", "b"]))


# --- what only one line of the code decides


@both
def test_integers_of_dtype_object_are_labels_in_eval_set_too(lib: Library, ordinal) -> None:
    X, y, _ = ordinal
    as_objects = y.astype(int).astype(object)
    model = make(lib, objective=go.qwk_objective())
    fit(lib, model, X, as_objects, [(X, as_objects)], ERROR)
    plain = fit(lib, make(lib, objective=go.qwk_objective()), X, y, [(X, y)], ERROR)
    found, expected = (next(iter(history(lib, one).values())) for one in (model, plain))
    np.testing.assert_allclose(found["squared_error"], expected["squared_error"], rtol=1e-9)


def test_margins_of_an_objective_for_classes_are_asked_for(ordinal) -> None:
    X, y, _ = ordinal
    for lib, flag in ((XGB, "output_margin"), (LGB, "raw_score")):
        model = make(lib, True, objective=go.ordinal_logit_objective(6)).fit(X, y)
        margin = model.predict(X, **{flag: True})
        assert margin.ndim == 1
        assert len(np.unique(margin)) > 6  # scores, not classes
        p = model.objective_.class_probability(margin)
        np.testing.assert_allclose(model.predict_proba(X), p, rtol=1e-6)


@each("objective", [go.qwk_objective([0, 1]), "reg:squarederror"])
@refused(
    ((np.eye(4), np.ones(4)), r"write eval_set=\[\(X, y\)\]"),
    ([(np.eye(4), np.ones(4), np.ones(4))], "eval_set must be a list of pairs"),
    ([np.eye(4)], "eval_set must be a list of pairs"),
)
def test_eval_set_of_xgboost_holds_pairs(objective, pairs) -> None:
    model = make(XGB, objective=objective, eval_metric=SMOOTH)
    model.fit(np.eye(4), np.array([0, 1, 0, 1]), eval_set=pairs)


def test_the_default_metric_of_xgboost_is_left_out_where_it_would_be_wrong(rare) -> None:
    """It would take a probability for the margin of a transformed link."""
    X, y, _ = rare
    model = make(XGB, objective=go.objective(poisson, link="log"))
    model.fit(X, y, eval_set=[(X, y)], verbose=False)
    try:
        found = model.evals_result()
    except ValueError:  # XGBoost (3.2) has none then
        found = {}
    assert not any(found.values())
    stops = make(XGB, objective=go.objective(poisson, link="log"), early_stopping_rounds=2)
    with pytest.raises(ValueError, match="XGBoost"):
        stops.fit(X, y, eval_set=[(X, y)], verbose=False)


def test_a_step_is_not_limited_as_xgboost_limits_counts(tmp_path: Path) -> None:
    """XGBoost limits leaves to .7 under the name count:poisson, which a saved model has."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(300, 3))
    y = np.exp(1.5 * X[:, 0])
    objective = go.objective(poisson, link="log")
    short = {"objective": objective, "n_estimators": 1, "learning_rate": 0.3, "reg_lambda": 0}
    began = make(XGB, **short).fit(X, y)
    began.save_model(tmp_path / "began.ubj")
    read = xgb.Booster(model_file=tmp_path / "began.ubj")
    before = read.predict(xgb.DMatrix(X), output_margin=True)
    assert np.ptp(before) > 2 * 0.3 * 0.7
    for went_on in (str(tmp_path / "began.ubj"), began.get_booster(), read):
        more = make(XGB, **{**short, "learning_rate": 1.0}).fit(X, y, xgb_model=went_on)
        step = more.predict(X, output_margin=True) - before
        assert np.abs(step).max() > 0.75


@refused(
    (
        [SMOOTH, "nonsense"],
        "'nonsense' is no metric of this version of XGBoost, or accepts no other",
    ),
    (["nonsense"], "'nonsense' is no metric of this version of XGBoost: correct the name"),
)
def test_a_name_of_a_metric_that_xgboost_does_not_know(ordinal, metrics) -> None:
    X, y, _ = ordinal
    make(XGB, objective=QWK, eval_metric=metrics).fit(X, y, eval_set=[(X, y)], verbose=False)


def test_a_model_that_is_read_forgets_the_objective_of_an_earlier_fit(rare, tmp_path) -> None:
    X, y, _ = rare
    plain = make(XGB, True, plain=True).fit(X, y)
    plain.save_model(tmp_path / "plain.ubj")
    model = make(XGB, True, objective=go.focal_objective(1.0)).fit(X, y)
    model.set_params(objective="binary:logistic").load_model(tmp_path / "plain.ubj")
    np.testing.assert_allclose(model.predict_proba(X), plain.predict_proba(X), rtol=1e-6)
    assert not hasattr(model, "objective_")


def test_a_fit_on_a_built_in_objective_forgets_the_one_before(rare) -> None:
    X, y, _ = rare
    plain = make(XGB, True, plain=True).fit(X, y)
    model = make(XGB, True, objective=go.ordinal_logit_objective(2)).fit(X, y)
    model.set_params(objective="binary:logistic").fit(X, y)
    np.testing.assert_allclose(model.predict_proba(X), plain.predict_proba(X), rtol=1e-6)


# --- what only one line of LightGBM's estimators decides


def test_several_outputs_are_measured_by_what_is_asked_for_only() -> None:
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(120, 2)), np.arange(120) % 3
    objective = go.objective(multinomial, outputs=3)
    model = make(LGB, objective=objective).fit(X, y, eval_set=[(X, y)])
    assert not any(model.evals_result_.values())
    spread = lambda y_true, margin: ("spread", float(np.std(margin)), True)  # noqa: E731
    model = make(LGB, objective=objective).fit(X, y, eval_set=[(X, y)], eval_metric=spread)
    assert [list(found) for found in model.evals_result_.values()] == [["spread"]]


def test_an_alias_replaces_the_default_of_lightgbms_own_name(ordinal) -> None:
    X, y, _ = ordinal
    short = {"objective": go.qwk_objective(), "n_estimators": 3}
    own = make(LGB, **short, learning_rate=0.7).fit(X, y).predict(X)
    alias = make(LGB, **short, eta=0.7).fit(X, y).predict(X)
    np.testing.assert_allclose(alias, own, rtol=1e-12)
    default = make(LGB, **short).fit(X, y).predict(X)
    assert np.abs(alias - default).max() > 0.1


@pytest.mark.skipif(not hasattr(lgb.LGBMClassifier, "decision_function"), reason="since 4.7")
def test_margins_decide_in_lightgbm(rare) -> None:
    X, y, _ = rare
    model = make(LGB, True, objective=go.offset_logloss_objective(0.5)).fit(X, y)
    margin = model.predict(X, raw_score=True)
    np.testing.assert_allclose(model.decision_function(X), margin, rtol=1e-12)
    few = model.predict(X, raw_score=True, num_iteration=2)
    np.testing.assert_allclose(model.decision_function(X, num_iteration=2), few, rtol=1e-12)


def with_nan(y: np.ndarray) -> np.ndarray:
    return np.where(np.arange(len(y)) == 7, np.nan, y.astype(float))


QWK, OFFSET, FOCAL = go.qwk_objective(), go.offset_logloss_objective(0.5), go.focal_objective(1.0)


@both
@refused(
    (False, QWK, lambda X, y, w: (X, with_nan(y)), "(?i)nan|finite"),
    (True, FOCAL, lambda X, y, w: (X, with_nan(y > 2)),
     r"y (must be finite, found|holds) nan at row 7"),
    (False, QWK, lambda X, y, w: (X, y, -w), "(?i)weight"),
    (False, QWK, lambda X, y, w: (X, np.ones(len(y))), "constant"),
    (False, go.qwk_objective([1, 2]), lambda X, y, w: (X, y), "must lie in label_range"),
    (True, OFFSET, lambda X, y, w: (X, y - 1), "y has 4 classes, .* but the objective is for two"),
    (True, OFFSET, lambda X, y, w: (X, np.zeros(len(y), int)), "y has 1 classes"),
)  # fmt: skip
def test_what_an_objective_cannot_be_trained_on(
    lib: Library, ordinal, classifier, objective, given
) -> None:
    X, y, *weight = given(*ordinal)
    make(lib, classifier, objective=objective).fit(X, y, sample_weight=(*weight, None)[0])


@both
@refused(
    (False, QWK, {}, {"early_stopping_rounds": 5},
     r"no argument 'early_stopping_rounds'.*Regressor\(early_stopping_rounds=...\)", TypeError),
    (False, FOCAL, {"objective__gamma": 2.0}, {}, "objective__gamma is no parameter"),
    (True, FOCAL, {"objective__gamma": 2.0}, {}, "objective__gamma is no parameter"),
)  # fmt: skip
def test_parameters_in_the_wrong_place(
    lib: Library, classifier, objective, parameters, arguments
) -> None:
    X, y = np.eye(4), np.array([0, 1, 0, 1])
    make(lib, classifier, objective=objective, **parameters).fit(X, y, **arguments)


def test_base_score_beside_an_earlier_model_is_refused(ordinal) -> None:
    X, y, _ = ordinal
    model = make(XGB, objective=QWK, base_score=2.0)
    with pytest.raises(ValueError, match="the model has its own intercept"):
        model.fit(X, y, xgb_model=make(XGB, objective=QWK).fit(X, y))
