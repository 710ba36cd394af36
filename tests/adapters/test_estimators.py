"""The drop-in estimators: the library's own, and right with an objective or metric of ours."""

from __future__ import annotations

import inspect
import json
import pickle
import warnings
from pathlib import Path
from typing import Any

import lightgbm as lgb
import numpy as np
import pytest
import sklearn
import xgboost as xgb
from sklearn.base import clone
from sklearn.ensemble import VotingRegressor
from sklearn.metrics import make_scorer
from sklearn.model_selection import GridSearchCV, cross_validate
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.fixes import parse_version
from sklearn.utils.validation import has_fit_parameter

import gbdt_objectives as go
from gbdt_objectives.adapters import xgboost as xgboost_adapter
from tests.adapters.classes import Scaled, Softmax, Steps
from tests.adapters.library import LGB, XGB, Library, both, needs_routing
from tests.cases import each, refused
from tests.contract import squared_error
from tests.matrix.tables import logistic, of_classes, poisson, poisson_loss

TRAIN, TEST = slice(0, 400), slice(400, 600)
SMOOTH, ERROR = go.extended_qwk_metric(), go.metrics.squared_error_metric()
QWK, OFFSET, FOCAL = go.qwk_objective(), go.offset_logloss_objective(0.5), go.focal_objective(1.0)


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
        model = lib.make(classifier, plain, **parameters)
        lib.fit(model, X[TRAIN], y[TRAIN], [(X[TEST], y[TEST])], sample_weight=w[TRAIN])
        proba = model.predict_proba(X) if classifier else model.predict(X)
        results.append((model.predict(X), proba, lib.history(model), lib.booster(model)))
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
    ours, plain = (lib.make(plain=p, **extra).fit(frame, y) for p in (False, True))
    np.testing.assert_array_equal(ours.predict(frame), plain.predict(frame))
    with_objective = lib.make(objective=QWK, **extra).fit(frame, y)
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

    ours, plain = (lib.make(plain=p, objective=mine).fit(X, y) for p in (False, True))
    np.testing.assert_array_equal(ours.predict(X), plain.predict(X))


@both
def test_a_callable_of_the_user_starts_far_from_its_labels_or_takes_them_second(
    lib: Library, ordinal
) -> None:
    X, y, _ = ordinal

    def mine(y_true, margin):
        return margin - y_true, np.ones_like(margin)

    model = lib.make(objective=mine)
    with pytest.warns(UserWarning, match="far from the labels' centre 10.*objective\\(function"):
        model.fit(X, y + 1000)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        lib.make(objective=mine).fit(X, y - y.mean())
    calls = []
    lib.make(
        n_estimators=3, objective=lambda y_true, margin: [calls.append(1), mine(y_true, margin)][1]
    ).fit(X, y)  # it may count its calls
    assert len(calls) == 3
    with pytest.raises(TypeError, match="would train backwards; write the labels first"):
        lib.make(objective=lambda preds, labels: mine(labels, preds)).fit(X, y)


@both
@pytest.mark.filterwarnings("error:The argument 'eval_set' is deprecated")
def test_our_metric_on_a_built_in_objective_stops_in_its_direction(lib: Library, ordinal) -> None:
    X, y, _ = ordinal
    model = lib.make(n_estimators=150, early_stopping_rounds=10)
    lib.fit(model, X[TRAIN], y[TRAIN], [(X[TEST], y[TEST])], SMOOTH)
    (values,) = (v["extended_qwk"] for v in lib.history(model).values())
    kept = model.best_iteration + 1 if lib is XGB else model.best_iteration_
    assert kept == np.argmax(values[: kept + 10]) + 1 > 5
    if lib is XGB:
        assert lib.rounds(lib.booster(model)) == kept
    assert SMOOTH(y[TEST], model.predict(X[TEST])) == pytest.approx(max(values), rel=1e-5)


@both
def test_our_metric_on_the_librarys_classifier_must_take_probabilities(lib: Library, rare) -> None:
    X, y, _ = rare
    of_margin, of_probability = (
        go.weighted_logloss_metric(1, input_space=space) for space in ("margin", "probability")
    )
    with pytest.raises(ValueError, match="takes log-odds, but under a built-in objective boosters"):
        lib.fit(lib.make(True), X, y, [(X[:99], y[:99])], of_margin)
    model = lib.fit(lib.make(True), X, y, [(X[:99], y[:99])], of_probability)
    (values,) = (v["weighted_logloss"] for v in lib.history(model).values())
    assert values[-1] == pytest.approx(of_probability(y[:99], model.predict_proba(X[:99])[:, 1]))


BUILT_IN = {"xgboost": "binary:logistic", "lightgbm": "binary"}
LOGLOSS, OF_TWO = go.weighted_logloss_metric(1), go.qwk_metric((0, 1))
ODDS = go.weighted_logloss_objective(1)
LOG = go.objective(poisson, loss=poisson_loss, link="log")


@both
@refused(
    (False, BUILT_IN, LOGLOSS, 'pass predictions.*input_space="probability"'),
    (True, None, OF_TWO, "label units.*use a regressor"),
    *((True, ODDS, metric, "label units.*log-odds.*weighted_logloss_metric")
      for metric in (OF_TWO, OF_TWO.loss, SMOOTH, ERROR)),
    (False, QWK, LOGLOSS, "log-odds.*label units.*extended_qwk_metric"),
    *((False, LOG, metric, r"logs of a positive mean.*pass loss_metric\(objective\)")
      for metric in (SMOOTH, {"xgboost": "logloss", "lightgbm": "l2"})),
)  # fmt: skip
def test_a_metric_that_would_misread_what_is_trained(
    lib: Library, rare, classifier, objective, metric
) -> None:
    X, y, _ = rare
    of_library = {"objective": BUILT_IN[lib.name]} if objective is BUILT_IN else {}
    model = lib.make(classifier, **({"objective": objective} | of_library if objective else {}))
    metric = metric[lib.name] if isinstance(metric, dict) else metric
    lib.fit(model, X, y, [(X[:99], y[:99])], metric)


@pytest.mark.filterwarnings("ignore:sample_weight of a negative is")  # balanced weights are meant
@each("class_weight", [{0: 1.0, 1: 3.0}, "balanced"], ids=str)
@each("objective", [go.weighted_logloss_objective(0.5), Scaled()], ids=str)
def test_class_weight_of_lightgbm_is_a_weight(class_weight, objective, rare) -> None:
    X, y, w = rare
    by_class = sklearn.utils.class_weight.compute_sample_weight(class_weight, y)
    for weight in (None, w):
        model = LGB.make(True, objective=objective, class_weight=class_weight)
        model.fit(X, y, sample_weight=weight)
        total = by_class if weight is None else by_class * weight
        expected = LGB.make(True, objective=objective).fit(X, y, sample_weight=total)
        np.testing.assert_allclose(model.predict_proba(X), expected.predict_proba(X), atol=1e-6)


def test_the_intercept_is_xgboosts_base_score(ordinal) -> None:
    X, y, _ = ordinal
    model = XGB.make(objective=QWK).fit(X, y + 10)
    config = json.loads(model.get_booster().save_config())
    base = config["learner"]["learner_model_param"]["base_score"].strip("[]")
    for found in (float(base), float(np.ravel(model.intercept_)[0])):
        assert found == pytest.approx(y.mean() + 10, rel=1e-6)


# --- evaluation sets


def test_built_in_metrics_of_lightgbm_are_refused_where_they_would_misread_log_odds(rare) -> None:
    X, y, _ = rare
    objective = go.offset_logloss_objective(0.5)
    for metric in (
        "auc",
        ["binary_logloss"],
        [go.weighted_logloss_metric(0.5), "average_precision"],
    ):
        with pytest.raises(ValueError, match="misread log-odds of label 1 under a custom"):
            LGB.fit(LGB.make(True, objective=objective), X, y, [(X[:99], y[:99])], metric)


def test_built_in_metrics_of_xgboost_beside_ours(ordinal, rare) -> None:
    X, y, _ = ordinal
    held_out = [(X[TEST], y[TEST])]
    model = XGB.make(objective=QWK, n_estimators=100, early_stopping_rounds=10,
                 eval_metric=["mae", SMOOTH])  # fmt: skip
    if parse_version(xgb.__version__) < parse_version("3.1"):
        with pytest.raises(ValueError, match="no other metric beside one of gbdt_objectives"):
            model.fit(X[TRAIN], y[TRAIN], eval_set=held_out, verbose=False)
        return
    model.fit(X[TRAIN], y[TRAIN], eval_set=held_out, verbose=False)
    values = XGB.history(model)["validation_0"]
    assert list(values) == ["mae", "extended_qwk"]
    kept = XGB.rounds(model.get_booster())
    assert kept == np.argmax(values["extended_qwk"]) + 1 > 5
    alone = XGB.make(objective=QWK, n_estimators=100, early_stopping_rounds=10)
    XGB.fit(alone, X[TRAIN], y[TRAIN], held_out, SMOOTH)
    assert XGB.rounds(alone.get_booster()) == kept
    Z, t, _ = rare
    model = XGB.make(True, objective=go.offset_logloss_objective(1), eval_metric="logloss")
    model.fit(Z, t, eval_set=[(Z, t)], verbose=False)
    probability = model.predict_proba(Z)[:, 1]
    expected = -np.mean(np.log(np.where(t == 1, probability, 1 - probability)))
    assert XGB.history(model)["validation_0"]["logloss"][-1] == pytest.approx(expected, rel=1e-5)


def test_xgboost_with_a_metric_but_nothing_to_evaluate_trains(ordinal) -> None:
    """In a grid search there are no evaluation sets, and the metric stays a parameter."""
    X, y, _ = ordinal
    model = XGB.make(objective=QWK, eval_metric=SMOOTH).fit(X, y)
    without = XGB.make(objective=QWK).fit(X, y)
    np.testing.assert_array_equal(model.predict(X), without.predict(X))


# --- early stopping


def stopping_forms(lib: Library, X, y) -> dict[str, Any]:
    """The same early stopping, asked for in all the ways there are: parameters, arguments."""
    pair = (X[TEST], y[TEST])
    number, one = {"early_stopping_rounds": 12}, {"eval_set": [pair]}
    several = [(X[TRAIN], y[TRAIN]), (X[:40], y[:40]), pair]
    forms = {"number": (number, one), "last of several": (number, {"eval_set": several})}
    if lib is XGB:
        first = xgb.callback.EarlyStopping(rounds=12, data_name="validation_0")
        ours = xgboost_adapter.early_stopping(SMOOTH, 12)
        return forms | {
            "callback": ({"callbacks": [lib.stop(12)]}, one),
            "our callback": ({"callbacks": [ours]}, one),
            "named set": ({"callbacks": [first]}, {"eval_set": [pair, (X[TRAIN], y[TRAIN])]}),
        }
    forms |= {
        "alias": ({"n_iter_no_change": 12}, one),
        "tuple": (number, {"eval_set": pair}),
        "callback": ({}, {"callbacks": [lib.stop(12)], **one}),
    }
    if "eval_X" in inspect.signature(lgb.LGBMRegressor.fit).parameters:  # since 4.7
        forms["eval_X"] = (number, {"eval_X": pair[0], "eval_y": pair[1]})
        Xs, ys = (tuple(s[k] for s in several) for k in (0, 1))
        forms["eval_X of several"] = (number, {"eval_X": Xs, "eval_y": ys})
    return forms


@pytest.mark.slow
@both
def test_early_stopping_in_all_the_ways_to_ask_for_it(lib: Library, ordinal) -> None:
    X, y, _ = ordinal
    data = lib.data(X[TRAIN], y[TRAIN])
    expected = lib.train(
        lib.params, data, 120, objective=QWK, metric=SMOOTH,
        evals=[(lib.data(X[TEST], y[TEST], reference=data), "v")], early_stopping_rounds=12,
    )  # fmt: skip
    kept = lib.rounds(expected)
    assert 5 < kept < 100
    for name, (parameters, arguments) in stopping_forms(lib, X, y).items():
        print(name)
        model = lib.make(objective=QWK, n_estimators=120, **parameters)
        lib.fit(model, X[TRAIN], y[TRAIN], metric=SMOOTH, **arguments)
        assert (model.best_iteration + 1 if lib is XGB else model.best_iteration_) == kept
        assert lib.rounds(lib.booster(model)) == kept
        np.testing.assert_allclose(model.predict(X), lib.predict(expected, X), atol=1e-5)
        assert model.get_params()["objective"] == go.qwk_objective()


def test_metrics_in_a_list_or_a_tuple(ordinal) -> None:
    X, y, _ = ordinal
    held_out = [(X[TEST], y[TEST])]
    for several in ([SMOOTH, ERROR, "l1"], (SMOOTH, ERROR, "l1"), {SMOOTH, "l1"}):
        model = LGB.make(objective=QWK, n_estimators=100, early_stopping_rounds=5)
        LGB.fit(model, X[TRAIN], y[TRAIN], held_out, several)
        values = LGB.history(model)["valid_0"]
        assert set(several) - {SMOOTH, ERROR} | {"extended_qwk"} <= set(values)
        assert model.best_iteration_ == np.argmax(values["extended_qwk"]) + 1
    for one in ([SMOOTH], (SMOOTH,)):
        model = XGB.make(objective=QWK, n_estimators=100, early_stopping_rounds=5)
        XGB.fit(model, X[TRAIN], y[TRAIN], held_out, one)
        values = XGB.history(model)["validation_0"]
        assert XGB.rounds(model.get_booster()) == np.argmax(values["extended_qwk"]) + 1
    with pytest.raises(ValueError, match="one metric of gbdt_objectives"):
        XGB.fit(model, X[TRAIN], y[TRAIN], held_out, [SMOOTH, ERROR])


@pytest.mark.skipif(
    parse_version(lgb.__version__) < parse_version("4.4"), reason="refuses it by itself"
)
@pytest.mark.parametrize("rounds", [0, -1])
def test_no_patience_is_lightgbms_word_for_no_early_stopping(rounds: int, ordinal, rare) -> None:
    off: dict[str, Any] = {"callbacks": [lgb.early_stopping(rounds)]}
    X, y, _ = ordinal
    data, call = LGB.data(X[TRAIN], y[TRAIN]), {"objective": QWK, "metric": SMOOTH}
    evals = [(LGB.data(X[TEST], y[TEST], reference=data), "v")]
    assert LGB.rounds(LGB.train(LGB.params, data, 20, evals=evals, **call, **off)) == 20
    history = LGB.cv(data, 20, **call, **off)
    assert len(history["valid extended_qwk-mean"]) == 20
    regressor = LGB.make(objective=QWK, n_estimators=20)
    for asked in (SMOOTH, None):  # None needs no metric of ours, as nothing stops
        LGB.fit(regressor, X[TRAIN], y[TRAIN], [(X[TEST], y[TEST])], asked, **off)
        assert LGB.rounds(regressor.booster_) == 20
    X, y, _ = rare
    model = LGB.make(True, objective=go.weighted_logloss_objective(0.5), n_estimators=20)
    metric = go.weighted_logloss_metric(0.5)
    LGB.fit(model, X[:500], y[:500], [(X[500:], y[500:])], metric, **off)
    assert LGB.rounds(model.booster_) == 20


@both
def test_early_stopping_on_nothing_or_on_the_training_data_is_refused(
    lib: Library, ordinal
) -> None:
    X, y, _ = ordinal
    by_number = lib.make(objective=QWK, early_stopping_rounds=5)
    with pytest.raises(ValueError, match="early stopping needs held-out rows"):
        lib.fit(by_number, X, y, None, SMOOTH)
    with pytest.raises(ValueError, match="which is the training data: put held-out data last"):
        lib.fit(by_number, X, y, [(X[:9], y[:9]), (X, y)], SMOOTH)
    stop = {"callbacks": [lib.stop(5)]}
    made, given = (stop, {}) if lib is XGB else ({}, stop)
    if lib is XGB:
        stop["callbacks"][0].data = "validation_0"
    with pytest.raises(ValueError, match="which is the training data"):
        lib.fit(lib.make(objective=QWK, **made), X, y, [(X, y)], SMOOTH, **given)


# --- refits, parameters, copies


@both
@pytest.mark.parametrize("classifier", [False, True], ids=["regressor", "classifier"])
def test_parameters_make_the_round_trip(lib: Library, classifier: bool) -> None:
    objective = go.offset_logloss_objective(0.1) if classifier else go.qwk_objective(mean=1.0)
    other = go.weighted_logloss_objective(0.2) if classifier else go.qwk_objective()
    model = lib.make(classifier, objective=objective, learning_rate=0.3)
    params = model.get_params(deep=True)
    assert params["objective"] is objective
    assert params["learning_rate"] == 0.3
    if lib is XGB:
        assert np.isnan(params.pop("missing"))  # nan is not equal to itself
    assert set(params) <= set(lib.make(classifier, plain=True, objective=None).get_params())
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
    own = {"eval_metric": SMOOTH, "callbacks": [lib.stop(3)]} if lib is XGB else {}
    metric, held_out = None if lib is XGB else SMOOTH, [(X[TEST], y[TEST])]
    model = lib.make(objective=go.objective(fails), early_stopping_rounds=7, **own)
    before, attributes = dict(model.get_params()), set(vars(model))
    with pytest.raises(RuntimeError, match="on purpose"):
        lib.fit(model, X[TRAIN], y[TRAIN], held_out, metric)
    after = model.get_params()
    assert after == before
    for name in before:
        assert after[name] is before[name], name
    grown = set(vars(model)) - attributes  # only what the library's own fit sets
    assert not grown & {"objective", "metric", "base_score", "callbacks"}
    model.set_params(objective=QWK)
    lib.fit(model, X[TRAIN], y[TRAIN], held_out, metric)
    assert kappa(y, model.predict(X)) > 0.5


@both
def test_fit_leaves_the_users_arguments_alone(lib: Library, ordinal) -> None:
    X, y, w = ordinal
    X0, y0, w0 = X.copy(), y.copy(), w.copy()
    callbacks: list[Any] = []
    pairs = [(X[TEST], y[TEST])]
    more = {} if lib is XGB else {"callbacks": callbacks, "eval_metric": SMOOTH}
    parameters = {"callbacks": callbacks, "eval_metric": SMOOTH} if lib is XGB else {}
    model = lib.make(objective=QWK, early_stopping_rounds=5, **parameters)
    lib.fit(model, X[TRAIN], y[TRAIN], pairs, sample_weight=w[TRAIN], **more)
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
    grid = {"objective": [QWK, go.qwk_objective(clip=False), go.objective(squared_error)]}
    scorer = make_scorer(SMOOTH)
    search = GridSearchCV(lib.make(), grid, scoring=scorer, cv=2, n_jobs=2).fit(X, y + 10)
    assert search.cv_results_["mean_test_score"].shape == (3,)
    assert np.isfinite(search.cv_results_["mean_test_score"]).all()
    assert search.best_score_ > 0.5
    assert search.best_estimator_.predict(X).mean() == pytest.approx(y.mean() + 10, abs=0.2)


@both
def test_ensembles_and_pipelines(lib: Library, ordinal) -> None:
    X, y, w = ordinal
    y = y + 10
    model = lib.make(objective=QWK)
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
    model, plain = lib.make(classifier), lib.make(classifier, plain=True)
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
        model = lib.make(objective=QWK).set_fit_request(sample_weight=True)
        scorer = make_scorer(ERROR, greater_is_better=False).set_score_request(sample_weight=True)
        given = {"params": {"sample_weight": w}, "scoring": scorer, "return_estimator": True}
        found = cross_validate(model, X, y, cv=2, **given)
    halves = [slice(300, 600), slice(0, 300)]
    for fitted, rows in zip(found["estimator"], halves, strict=True):
        expected = lib.make(objective=QWK).fit(X[rows], y[rows], sample_weight=w[rows])
        np.testing.assert_array_equal(fitted.predict(X), expected.predict(X))


# --- labels and objectives of every kind


@both
def test_labels_in_a_frame_a_series_or_a_list(lib: Library, ordinal) -> None:
    pd = pytest.importorskip("pandas")
    X, y, w = ordinal
    expected = lib.make(objective=QWK).fit(X, y, sample_weight=w).predict(X)
    for labels in (pd.Series(y), y.tolist(), y.astype(np.float32), y.astype(np.int8)):
        model = lib.make(objective=QWK)
        weight = pd.Series(w) if isinstance(labels, pd.Series) else w
        np.testing.assert_allclose(
            model.fit(X, labels, sample_weight=weight).predict(X), expected, atol=1e-6
        )


@both
def test_objectives_of_the_wrong_kind_are_refused_with_the_right_estimator(lib, rare) -> None:
    X, y, _ = rare
    log, logit, softmax = (
        go.objective(function, link=link, outputs=K)
        for function, link, K in ((poisson, "log", 1), (logistic, "logit", 1),
                                  (of_classes, "softmax", 2))
    )  # fmt: skip
    prefix, of_scores = lib.prefix, f"use {lib.prefix}Classifier.*with {lib.margin}=True margins"
    for classifier, objective, message in (
        (False, OFFSET, f"trains log-odds .*use {prefix}Classifier"),
        (True, QWK, f"trains scores in label units.*use {prefix}Regressor"),
        (True, go.objective(squared_error), f"Classifier cannot turn .*use {prefix}Regressor"),
        (True, log, f"logs of a positive mean(?!.*apply_thresholds).*use {prefix}Regressor"),
        (False, logit, f"use {prefix}Classifier"),
        (False, softmax, f"use {prefix}Classifier"),
        *((False, objective, of_scores) for objective in (Scaled(), Softmax(), Steps())),
    ):
        with pytest.raises(TypeError, match=message):
            lib.make(classifier, objective=objective).fit(X, y)


@both
def test_ours_under_a_name_that_the_library_ignores_is_refused(lib: Library, ordinal) -> None:
    X, y, _ = ordinal
    qwk = go.qwk_objective()
    for name in ("obj", "fobj", "loss", "loss_function"):
        with pytest.raises(TypeError, match=f"^{name} is an objective.*write objective="):
            lib.make(**{name: qwk}).fit(X, y)
    remedy = "write eval_metric=" if lib is XGB else "pass it to fit, eval_metric="
    for name in ("objective", "metric", "feval", "custom_metric"):
        for metric in (SMOOTH, getattr(SMOOTH, lib.name), [SMOOTH]):
            with pytest.raises(TypeError, match=f"^{name} is a metric.*{remedy}"):
                lib.make(**{name: metric}).fit(X, y)
    with pytest.raises(TypeError, match="eval_metric is an objective.*write objective="):
        lib.fit(lib.make(), X, y, [(X, y)], qwk)


@pytest.mark.filterwarnings("ignore:.*differs by row")  # a start per row is meant
def test_base_margin_of_xgboost_is_set_on_all_or_none(ordinal) -> None:
    X, y, _ = ordinal
    start = y.mean() + X[:, 3] - 0.5
    model = XGB.make(objective=QWK, eval_metric=ERROR, learning_rate=1e-9, n_estimators=1)
    given = {"base_margin": start, "base_margin_eval_set": [start], "eval_set": [(X, y)]}
    first = XGB.history(model.fit(X, y, verbose=False, **given))["validation_0"]
    assert first["squared_error"][0] == pytest.approx(np.mean((start - y) ** 2), rel=1e-5)
    for more, where in (
        ({"base_margin_eval_set": None}, r"set on X but not on eval_set\[0\]"),
        ({"base_margin": None}, r"set on eval_set\[0\] but not on X"),
        ({"base_margin": None, "eval_set": [(X, y)] * 2, "base_margin_eval_set": [None, start]},
         r"on eval_set\[1\] but not on X, eval_set\[0\]"),
    ):  # fmt: skip
        with pytest.raises(ValueError, match=where):
            model.fit(X, y, **given | more)


def test_positional_weights_in_lightgbm(ordinal) -> None:
    X, y, w = ordinal
    model = LGB.make(objective=QWK)
    by_name = clone(model).fit(X, y, sample_weight=w).predict(X)
    np.testing.assert_array_equal(clone(model).fit(X, y, w).predict(X), by_name)


@both
def test_dart_and_early_stopping_are_refused_together(lib: Library, ordinal) -> None:
    X, y, _ = ordinal
    dart = {"booster": "dart"} if lib is XGB else {"boosting_type": "dart"}
    model = lib.make(objective=QWK, early_stopping_rounds=5, **dart)
    with pytest.raises(ValueError, match="dart.* is refused"):
        lib.fit(model, X[TRAIN], y[TRAIN], [(X[TEST], y[TEST])], SMOOTH)
    by_callback = {"callbacks": [lib.stop(5)]}
    other, given = (by_callback, {}) if lib is XGB else ({}, by_callback)
    own = lib.make(objective=QWK, **dart, **other)
    with pytest.raises(ValueError, match="dart.* is refused"):
        lib.fit(own, X[TRAIN], y[TRAIN], [(X[TEST], y[TEST])], SMOOTH, **given)
    model.set_params(early_stopping_rounds=None).fit(X, y)
    assert kappa(y, model.predict(X)) > 0.5


def test_a_worker_without_rows_has_no_classes() -> None:
    from gbdt_objectives.adapters._estimators import class_positions

    for y in (np.empty(0), np.empty((0, 1))):
        assert class_positions("y", y, np.array(["a", "b"])).tolist() == []
    with pytest.raises(ValueError, match="as 0 to 1, or leave such rows out"):
        class_positions("y", ["a", "c"], np.array(["a", "b"]))


@each("objective", [go.qwk_objective([0, 1]), "reg:squarederror"])
@refused(
    ((np.eye(4), np.ones(4)), r"write eval_set=\[\(X, y\)\]"),
    ([(np.eye(4), np.ones(4), np.ones(4))], "eval_set must be a list of pairs"),
    ([np.eye(4)], "eval_set must be a list of pairs"),
)
def test_eval_set_of_xgboost_holds_pairs(objective, pairs) -> None:
    model = XGB.make(objective=objective, eval_metric=SMOOTH)
    model.fit(np.eye(4), np.array([0, 1, 0, 1]), eval_set=pairs)


def test_the_default_metric_of_xgboost_is_left_out_where_it_would_be_wrong(rare) -> None:
    """It would take for a prediction what only the objective reads."""
    X, y, _ = rare
    model = XGB.make(True, objective=Scaled())
    model.fit(X, y, eval_set=[(X, y)], verbose=False)
    try:
        found = model.evals_result()
    except ValueError:  # XGBoost (3.2) has none then
        found = {}
    assert not any(found.values())
    stops = XGB.make(objective=go.objective(poisson, link="log"), early_stopping_rounds=2)
    with pytest.raises(ValueError, match="XGBoost"):
        stops.fit(X, y, eval_set=[(X, y)], verbose=False)


def test_a_step_is_not_limited_as_xgboost_limits_counts(tmp_path: Path) -> None:
    """XGBoost limits leaves to .7 under the name count:poisson, which a saved model has."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(300, 3))
    y = np.exp(1.5 * X[:, 0])
    objective = go.objective(poisson, link="log")
    short = {"objective": objective, "n_estimators": 1, "learning_rate": 0.3, "reg_lambda": 0}
    began = XGB.make(**short).fit(X, y)
    began.save_model(tmp_path / "began.ubj")
    read = xgb.Booster(model_file=tmp_path / "began.ubj")
    before = read.predict(xgb.DMatrix(X), output_margin=True)
    assert np.ptp(before) > 2 * 0.3 * 0.7
    for went_on in (str(tmp_path / "began.ubj"), began.get_booster(), read):
        more = XGB.make(**{**short, "learning_rate": 1.0}).fit(X, y, xgb_model=went_on)
        step = more.predict(X, output_margin=True) - before
        assert np.abs(step).max() > 0.75


@refused(
    (
        [SMOOTH, "nonsense"],
        "'nonsense' is no metric of this version of XGBoost, or accepts no other",
    ),
    (["nonsense"], "'nonsense' is no metric of this version of XGBoost: correct the name"),
    ("qwk", r"'qwk' is no metric of this .*: pass qwk_metric\(...\)"),
)
def test_a_name_of_a_metric_that_xgboost_does_not_know(ordinal, metrics) -> None:
    X, y, _ = ordinal
    XGB.make(objective=QWK, eval_metric=metrics).fit(X, y, eval_set=[(X, y)], verbose=False)


def test_a_model_that_is_read_or_fitted_forgets_the_objective_before(rare, tmp_path) -> None:
    X, y, _ = rare
    plain = XGB.make(True, plain=True).fit(X, y)
    plain.save_model(tmp_path / "plain.ubj")
    for objective, again in (
        (FOCAL, lambda model: model.load_model(tmp_path / "plain.ubj")),
        (go.ordinal_logit_objective(2), lambda model: model.fit(X, y)),
    ):
        model = XGB.make(True, objective=objective).fit(X, y)
        again(model.set_params(objective="binary:logistic"))
        np.testing.assert_allclose(model.predict_proba(X), plain.predict_proba(X), rtol=1e-6)
        assert not hasattr(model, "objective_")


def test_several_outputs_are_measured_by_what_is_asked_for_only() -> None:
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(120, 2)), np.arange(120) % 3
    objective = go.objective(of_classes, outputs=3)
    model = LGB.make(objective=objective).fit(X, y, eval_set=[(X, y)])
    assert not any(model.evals_result_.values())
    spread = lambda y_true, margin: ("spread", float(np.std(margin)), True)  # noqa: E731
    model = LGB.make(objective=objective).fit(X, y, eval_set=[(X, y)], eval_metric=spread)
    assert [list(found) for found in model.evals_result_.values()] == [["spread"]]


@pytest.mark.skipif(not hasattr(lgb.LGBMClassifier, "decision_function"), reason="since 4.7")
def test_margins_decide_in_lightgbm(rare) -> None:
    X, y, _ = rare
    model = LGB.make(True, objective=OFFSET).fit(X, y)
    margin = model.predict(X, raw_score=True)
    np.testing.assert_allclose(model.decision_function(X), margin, rtol=1e-12)
    few = model.predict(X, raw_score=True, num_iteration=2)
    np.testing.assert_allclose(model.decision_function(X, num_iteration=2), few, rtol=1e-12)


def with_nan(y: np.ndarray) -> np.ndarray:
    return np.where(np.arange(len(y)) == 7, np.nan, y.astype(float))


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
    lib.make(classifier, objective=objective).fit(X, y, sample_weight=(*weight, None)[0])


@both
@refused(
    (False, QWK, {}, {"early_stopping_rounds": 5},
     r"no argument 'early_stopping_rounds'.*(Regressor|set_params)\(early_stopping", TypeError),
    (False, FOCAL, {"objective__gamma": 2.0}, {}, "objective__gamma is no parameter"),
    (True, FOCAL, {"objective__gamma": 2.0}, {}, "objective__gamma is no parameter"),
)  # fmt: skip
def test_parameters_in_the_wrong_place(
    lib: Library, classifier, objective, parameters, arguments
) -> None:
    X, y = np.eye(4), np.array([0, 1, 0, 1])
    lib.make(classifier, objective=objective, **parameters).fit(X, y, **arguments)
