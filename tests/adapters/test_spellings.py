"""What users write in the libraries' own words works with its meaning, or says what to write."""

from __future__ import annotations

import warnings
from typing import Any

import lightgbm as lgb
import numpy as np
import pytest
import xgboost as xgb
from sklearn.pipeline import make_pipeline

import gbdt_objectives as go
from gbdt_objectives.adapters import lightgbm as lightgbm_adapter, xgboost as xgboost_adapter
from gbdt_objectives.adapters._estimators import check_name
from gbdt_objectives.calibration import TemperatureCalibrator
from tests.adapters.library import LGB, XGB, Library, both
from tests.cases import each

pytestmark = pytest.mark.filterwarnings("ignore:The argument 'eval_set' is deprecated")
TRAIN, TEST = slice(0, 400), slice(400, 600)
SMOOTH = go.extended_qwk_metric()
QUIET = {"xgboost": {"max_depth": 2}, "lightgbm": {"num_leaves": 4, "verbose": -1}}
QWK = go.qwk_objective()


def regressor(lib: Library, **parameters: Any) -> Any:
    given = {"objective": QWK, "n_estimators": 60, "n_jobs": 1, **parameters}
    return lib.kind()(**QUIET[lib.name], **given)


def stopping(lib: Library, model: Any, X, y, metric: Any = None, **given: Any) -> Any:
    """Fitted, with the rows after the first 400 held out."""
    return lib.fit(model, X[TRAIN], y[TRAIN], [(X[TEST], y[TEST])], metric, **given)


# --- names of metrics


@each(
    ("name", "remedy"),
    [
        ("qwk", r"pass qwk_metric\(\.\.\.\)"),
        ("kappa", r"pass qwk_metric\(\.\.\.\)"),
        ("extended_qwk", r"pass extended_qwk_metric\(\.\.\.\)"),
        ("weighted_logloss", r"pass weighted_logloss_metric\(\.\.\.\)"),
        ("rmsee", "correct the name"),
        ("l1,qwk", r"pass qwk_metric\(\.\.\.\)"),
    ],
)
def test_names_that_lightgbm_does_not_know_are_refused(name, remedy, ordinal) -> None:
    X, y, _ = ordinal
    for objective in (QWK, "regression", None):
        for metric, parameters in ((name, {}), (["l1", name], {}), (None, {"metric": name})):
            model = regressor(LGB, objective=objective, **parameters)
            with pytest.raises(ValueError, match=f"is not a metric of LightGBM.*{remedy}"):
                stopping(LGB, model, X, y, metric)


# --- names of objectives


@both
@each(
    ("name", "remedy"),
    [
        ("qwk", r"pass qwk_objective\(\.\.\.\)"),
        ("cohen_kappa", r"pass qwk_objective\(\.\.\.\)"),
        ("focal_loss", r"pass focal_objective\(\.\.\.\)"),
        ("ordinal", "correct the name"),
    ],
)
def test_objectives_that_a_library_does_not_know_are_refused(lib, name, remedy, ordinal) -> None:
    """With three classes or more both classifiers would train their own softmax instead."""
    X, y, _ = ordinal
    ours = lib.kind(True)(objective=name, **QUIET[lib.name])
    own = type(ours).__base__(objective=name, **QUIET[lib.name])
    for model in (
        ours,
        regressor(lib, objective=name),
        go.CalibratedClassifier(own, TemperatureCalibrator()),
        go.CalibratedClassifier(make_pipeline(own), TemperatureCalibrator()),
        go.DownsampledClassifier(own, 0.5, correction=None),
        go.QWKClassifier(lib.kind(plain=True)(objective=name, **QUIET[lib.name])),
    ):
        with pytest.raises(ValueError, match=f"'{name}' is a name that .* does not .*: {remedy}"):
            model.fit(X, y)


@both
@each(("known", "warns"), [(0, True), (1, False), (2, False)])
def test_a_classifier_on_an_objective_of_numbers_warns(lib, known, warns, ordinal) -> None:
    name = {
        "xgboost": ("reg:squarederror", "binary:hinge", "reg:logistic"),
        "lightgbm": ("l2", "ovr", "xentropy"),
    }[lib.name][known]
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        check_name(lib.kind(True)(objective=name))
        check_name(lib.kind()(objective=name))
    assert [
        f"objective='{name}' is not known to predict classes" in str(w.message) for w in told
    ] == [True] * warns


KNOWN = [
    "l1", "mae", "regression_l1", "l2", "mse", "rmse", "l2_root", "root_mean_squared_error",
    "quantile", "mape", "huber", "fair", "poisson", "gamma", "gamma_deviance", "tweedie",
    "ndcg", "lambdarank", "map", "auc", "average_precision", "binary_logloss", "binary_error",
    "multi_logloss", "softmax", "multi_error", "auc_mu", "cross_entropy", "xentropy",
    "cross_entropy_lambda", "kullback_leibler", "kldiv", "None", "na", "custom",
]  # fmt: skip


def test_names_that_lightgbm_knows_are_not_refused() -> None:
    knows = lightgbm_adapter._train.names_of_metric
    assert [name for name in KNOWN if not knows(name)] == []


@both
@pytest.mark.parametrize("classifier", [False, True], ids=["regressor", "classifier"])
def test_early_stopping_on_no_metric_says_so(lib: Library, classifier, ordinal, rare) -> None:
    X, y, _ = rare if classifier else ordinal
    objective = go.offset_logloss_objective(0.1) if classifier else QWK
    by_number, stop = {"early_stopping_rounds": 5}, {"callbacks": [lib.stop(5)]}
    forms = [(by_number, {}), (stop, {}) if lib is XGB else ({}, stop)]
    for parameters, arguments in forms:
        model = lib.kind(classifier)(objective=objective, **QUIET[lib.name], **parameters)
        with pytest.raises(ValueError, match=r"eval_metric is missing.*loss_metric\(objective\)"):
            stopping(lib, model, X, y, **arguments)
    if not classifier:
        loss = go.loss_metric(go.qwk_objective(y[TRAIN]))
        stopping(lib, lib.make(objective=objective, **by_number), X, y, loss)


def test_lightgbm_stops_on_the_metric_that_is_named_alone(ordinal) -> None:
    """LightGBM adds l2 under a custom objective, and stops on whichever is best first."""
    X, y, _ = ordinal
    y = np.where(np.arange(len(y)) % 50 == 0, y + 30, y)  # l2 follows the outliers, l1 does not
    for metric, parameters in (("l1", {}), (None, {"metric": "l1"})):
        model = regressor(LGB, n_estimators=150, early_stopping_rounds=10, **parameters)
        stopping(LGB, model, X, y, metric)
        (values,) = model.evals_result_.values()
        assert list(values) == ["l1"]
        assert model.best_iteration_ == np.argmin(values["l1"]) + 1


@both
def test_rmse_by_name_is_what_early_stopping_looks_at(lib: Library, ordinal) -> None:
    X, y, _ = ordinal
    model = stopping(lib, regressor(lib, early_stopping_rounds=5), X, y, "rmse")
    (values,) = lib.history(model).values()
    assert list(values) == ["rmse"]


# --- early stopping of a class of the user's


class Watching(xgb.callback.EarlyStopping):
    """Notes what it sees; stops as XGBoost does."""

    def __init__(self, **parameters: Any) -> None:
        super().__init__(**parameters)
        self.seen: list[Any] = []

    def after_iteration(self, model, epoch, evals_log):
        *_, values = list(evals_log.values())[-1].values()
        self.seen.append(values[-1])
        return super().after_iteration(model, epoch, evals_log)


def watched(way: str, own: Any, X, y, metric: Any = SMOOTH) -> tuple[Any, list[float]]:
    """The booster and the values of the metric; in cv no booster."""
    call: dict[str, Any] = {"objective": QWK, "metric": metric, "callbacks": [own]}
    if way == "estimator":
        model = regressor(XGB, n_estimators=100, learning_rate=0.3, callbacks=[own])
        stopping(XGB, model, X, y, metric)
        return model.get_booster(), model.evals_result()["validation_0"][metric.name]
    if way == "cv":
        history = XGB.cv(xgb.DMatrix(X, y), 100, {"max_depth": 2}, **call)
        return None, history[f"test-{metric.name}-mean"]
    data, rows = xgb.DMatrix(X[TRAIN], y[TRAIN]), xgb.DMatrix(X[TEST], y[TEST])
    record: dict[str, Any] = {}
    booster = XGB.train(
        {"max_depth": 2}, data, 100, evals=[(rows, "v")], evals_result=record, **call
    )
    return booster, record["v"][metric.name]


@pytest.mark.parametrize("way", ["train", "estimator", "cv"])
def test_xgboost_early_stopping_of_a_users_class_is_kept(way: str, ordinal) -> None:
    X, y, _ = ordinal
    own = Watching(rounds=8)
    booster, values = watched(way, own, X, y)
    seen = [value[0] if isinstance(value, tuple) else value for value in own.seen]
    assert 8 < len(seen) < 100
    assert seen[: len(values)] == values  # in full precision; cv cuts its history
    assert any(value != round(value, 6) for value in seen)
    assert len(seen) == np.argmax(seen) + 1 + 8  # greater is better
    assert own.maximize is None  # as it was
    if booster is not None:
        assert booster.num_boosted_rounds() == len(seen)  # save_best is False
        assert booster.best_iteration == np.argmax(seen)
        best = Watching(rounds=8, save_best=True)
        booster, _ = watched(way, best, X, y)
        assert booster.num_boosted_rounds() == np.argmax(seen) + 1
    own.seen.clear()
    watched(
        way, own, X, y, go.metrics.squared_error_metric()
    )  # another direction, from the beginning
    errors = [value[0] if isinstance(value, tuple) else value for value in own.seen]
    assert len(errors) == min(100, np.argmin(errors) + 1 + 8)


# --- labels and weights that were set on constructed data


@pytest.mark.filterwarnings("ignore:boosting starts at 0, far from")  # as the plain call does
def test_labels_and_weights_set_on_a_constructed_dataset_are_those_trained_on(ordinal) -> None:
    X, y, w = ordinal

    def changed() -> tuple[lgb.Dataset, lgb.Dataset]:
        data = lgb.Dataset(X[TRAIN], y[::-1][TRAIN], weight=np.ones(400)).construct()
        rows = lgb.Dataset(X[TEST], y[::-1][TEST], reference=data).construct()
        for dataset, part in ((data, TRAIN), (rows, TEST)):
            dataset.get_label(), dataset.get_weight()
            dataset.set_field("label", y[part])
            dataset.set_field("weight", w[part])
        return data, rows

    data = lgb.Dataset(X[TRAIN], y[TRAIN], weight=w[TRAIN])
    right = data, lgb.Dataset(X[TEST], y[TEST], weight=w[TEST], reference=data)
    params = {"num_leaves": 4, "verbose": -1, "num_threads": 1}
    call: dict[str, Any] = {"objective": QWK, "metric": SMOOTH}
    plain = {**params, "objective": go.qwk_objective(y[TRAIN], sample_weight=w[TRAIN]),
             "metric": "None"}  # fmt: skip

    def trained(data: lgb.Dataset, rows: lgb.Dataset) -> Any:
        record: dict[str, Any] = {}
        given = {"evals": [(rows, "v")], **LGB.recording(record), **call}
        return LGB.train(params, data, 5, **given).model_to_string(), record

    def natively(data: lgb.Dataset, rows: lgb.Dataset) -> Any:
        booster = lgb.train(plain, data, 5, valid_sets=[rows], feval=SMOOTH.lightgbm)
        return booster.model_to_string(), booster.best_score

    split = [(np.arange(200), np.arange(200, 400))]
    for way in (trained, natively, lambda data, _: LGB.cv(data, 5, params, folds=split, **call)):
        assert way(*changed()) == way(*right)


# --- early stopping on rows that are those of the training


@both
@pytest.mark.parametrize("way", ["train", "estimator"])
def test_early_stopping_on_a_copy_of_the_training_rows_warns(
    lib: Library, way: str, ordinal
) -> None:
    X, y, _ = ordinal

    def stop(a: np.ndarray, b: np.ndarray) -> None:
        stops = {"early_stopping_rounds": 3}
        if way == "train":
            data = lib.data(X[TRAIN], y[TRAIN])
            evals = [(lib.data(a, b, reference=data), "v")]
            lib.train(QUIET[lib.name], data, 3, objective=QWK, metric=SMOOTH, evals=evals, **stops)
            return
        model = regressor(lib, n_estimators=3, **stops)
        lib.fit(model, X[TRAIN], y[TRAIN], [(a, b)], SMOOTH)

    for a, b in ((X[TRAIN], y[TRAIN]), (X[TRAIN].copy(), y[TRAIN].copy())):
        with pytest.warns(UserWarning, match="as many rows as the training data, and the same lab"):
            stop(a, b)
    with warnings.catch_warnings():
        warnings.simplefilter("error", UserWarning)
        stop(X[TEST], y[TEST])
        stop(X[200:600], y[200:600])


# --- what the libraries' own train and estimators take


@pytest.mark.slow
@pytest.mark.parametrize("min_delta", [0.02, [0.02], []], ids=str)
@pytest.mark.parametrize("way", ["train", "estimator"])
def test_min_delta_of_lightgbm_has_its_meaning(way: str, min_delta, ordinal) -> None:
    X, y, _ = ordinal
    error = go.metrics.squared_error_metric()
    stop = lgb.early_stopping(5, verbose=False, min_delta=min_delta)
    plain = {"num_leaves": 4, "verbose": -1, "num_threads": 1, "learning_rate": 0.1}
    data = lgb.Dataset(X[TRAIN], y[TRAIN])
    rows = lgb.Dataset(X[TEST], y[TEST], reference=data)
    if way == "train":
        booster = LGB.train(plain, data, 150, objective=QWK, metric=error,
                            evals=[(rows, "valid 0")], callbacks=[stop])  # fmt: skip
    else:
        model = regressor(LGB, n_estimators=150)
        booster = stopping(LGB, model, X, y, error, callbacks=[stop]).booster_
    record: dict[str, Any] = {}
    all_rounds = {"callbacks": [lgb.record_evaluation(record)], "evals": [(rows, "v")]}
    LGB.train(plain, data, 150, objective=QWK, metric=error, **all_rounds)
    values, best = record["v"]["squared_error"], 0
    for k, value in enumerate(values):
        if value < values[best] - (0.02 if min_delta else 0):
            best = k
        elif k - best == 5:
            break
    assert booster.current_iteration() == best + 1
    assert best > 5


def test_min_deltas_that_mean_nothing_are_refused(ordinal) -> None:
    X, y, _ = ordinal
    for bad, message in (
        ([0.1, 0.2, 0.3], "measured are l2, extended_qwk: write one number"),
        (-1.0, "must not be negative"),
    ):
        stop = lgb.early_stopping(5, verbose=False, min_delta=bad)
        with pytest.raises(ValueError, match=message):
            stopping(LGB, regressor(LGB), X, y, SMOOTH, callbacks=[stop])


def test_names_of_evaluation_sets_with_blanks(ordinal) -> None:
    X, y, _ = ordinal
    record: dict[str, Any] = {}
    call: dict[str, Any] = {"objective": QWK, "metric": SMOOTH}
    data = lgb.Dataset(X[TRAIN], y[TRAIN])
    evals = [(lgb.Dataset(X[:99], y[:99], reference=data), "a - b: c"),
             (lgb.Dataset(X[TEST], y[TEST], reference=data), "valid 0")]  # fmt: skip
    LGB.train({"verbose": -1}, data, 30, evals=evals, early_stopping_rounds=5,
              callbacks=[lgb.record_evaluation(record)], **call)  # fmt: skip
    assert list(record) == ["a - b: c", "valid 0"]
    matrix = xgb.DMatrix(X, y)
    with pytest.raises(ValueError, match="must not contain a blank"):
        XGB.train({}, matrix, 3, evals=[(matrix, "valid 0")], **call)
    for lib, rows in ((XGB, matrix), (LGB, data)):
        with pytest.raises(ValueError, match="a name in evals is empty"):
            lib.train({}, rows, 3, evals=[(rows, "")], **call)


@both
@pytest.mark.parametrize("dtype", [int, np.int64], ids=["int", "int64"])
def test_whole_numbers_of_dtype_object_are_labels(lib: Library, dtype: type, ordinal) -> None:
    X, y, _ = ordinal
    objects = np.array([dtype(label) for label in y], dtype=object)
    call: dict[str, Any] = {"objective": QWK}
    expected = lib.predict(lib.train(QUIET[lib.name], lib.data(X, y), 3, **call), X)
    found = lib.predict(lib.train(QUIET[lib.name], lib.data(X, objects), 3, **call), X)
    np.testing.assert_array_equal(found, expected)
    histories = [
        lib.cv(lib.data(X, labels), 3, QUIET[lib.name], metric=SMOOTH, **call)
        for labels in (y, objects)
    ]
    assert histories[0] == histories[1]
    one, other = (
        stopping(lib, regressor(lib, n_estimators=3), X, labels, SMOOTH) for labels in (y, objects)
    )
    np.testing.assert_array_equal(one.predict(X), other.predict(X))
    assert lib.history(one) == lib.history(other)
    for objective in (go.offset_logloss_objective(0.5), go.focal_objective(2)):
        model = lib.kind(True)(objective=objective, n_estimators=3, **QUIET[lib.name])
        one = model.fit(X, (y > 2).astype(int)).predict_proba(X)
        other = model.fit(X, (objects > 2).astype(int).astype(object)).predict_proba(X)
        np.testing.assert_array_equal(one, other)


@pytest.mark.parametrize(
    ("alias", "own", "value", "more"),
    [
        ("feature_fraction", "colsample_bytree", 0.5, {}),
        ("bagging_freq", "subsample_freq", 1, {"subsample": 0.5}),
        ("lambda_l2", "reg_lambda", 300.0, {}),
        ("eta", "learning_rate", 0.5, {}),
        ("boosting", "boosting_type", "goss", {"n_estimators": 30}),
    ],
)
def test_other_names_of_lightgbms_parameters_act(alias, own, value, more, ordinal) -> None:
    X, y, _ = ordinal
    kind = LGB.kind()
    common = {"objective": QWK, "n_estimators": 5, "n_jobs": 1, "verbose": -1,
              "random_state": 0, **more}  # fmt: skip
    default = kind(**{**common, "subsample": 1.0}).fit(X, y).predict(X)
    expected = kind(**common, **{own: value}).fit(X, y).predict(X)
    model = kind(**common, **{alias: value})
    before = model.get_params()
    found = model.fit(X, y).predict(X)
    np.testing.assert_array_equal(found, expected)
    assert not np.array_equal(found, default)
    assert model.get_params() == before


def test_two_names_of_a_parameter_of_lightgbm_that_disagree_are_refused(ordinal) -> None:
    X, y, _ = ordinal
    for pair in ({"colsample_bytree": 0.8, "feature_fraction": 0.5},
                 {"sub_feature": 0.8, "feature_fraction": 0.5}):  # fmt: skip
        with pytest.raises(ValueError, match="are one parameter of LightGBM"):
            regressor(LGB, **pair).fit(X, y)


def own_gradient(margin: Any, data: Any) -> tuple[Any, Any]:
    return margin - data.get_label(), np.ones_like(margin)


@both
@each("name", ["train", "cv"])
def test_an_objective_in_the_wrong_place_says_what_to_write(lib: Library, name, ordinal) -> None:
    X, y, _ = ordinal
    data, options = lib.data(X, y), {"metric": SMOOTH} if name == "cv" else {}
    wrap = r"write objective=gbdt_objectives\.objective\(function\)"
    built_in = "binary:logistic" if lib is XGB else "binary"
    for params, more, message in (
        ({}, {"obj": own_gradient}, r"wrap .* with gbdt_objectives\.objective\(function\)"),
        ({}, {"fobj": own_gradient}, f"got fobj=: {wrap}"),
        ({}, {"loss": QWK}, "got loss=: write objective=$"),
        ({"objective": built_in}, {}, r"of the library call its own.*pass objective= to"),
        ({"objective": own_gradient}, {}, f"objective= is missing: {wrap}"),
        ({"objective": QWK}, {}, rf"pass it to {name}\(\), objective="),
        ({}, {}, "objective must be an objective such as"),
    ):
        with pytest.raises(TypeError, match=message):
            getattr(lib.adapter, name)(params, data, 3, **options, **more)


@both
@each("objective", [None, QWK], ids=["own", "ours"])
def test_fit_without_labels_is_the_librarys_error(lib: Library, objective, ordinal) -> None:
    X, _, _ = ordinal
    own = None if lib is LGB else "reg:squarederror"
    errors = (ValueError, xgb.core.XGBoostError)
    with pytest.raises(errors, match="y to be passed, but the target y is None|shape of labels"):
        regressor(lib, objective=objective or own).fit(X, None)


@pytest.mark.parametrize("objective", ["reg:squarederror", QWK], ids=str)
def test_xgboost_takes_weights_by_position_and_warns(objective, ordinal) -> None:
    X, y, w = ordinal
    expected = regressor(XGB, objective=objective).fit(X, y, sample_weight=w).predict(X)
    with pytest.warns(FutureWarning, match="Pass `sample_weight` as keyword args"):
        model = regressor(XGB, objective=objective).fit(X, y, w)
    np.testing.assert_array_equal(model.predict(X), expected)
    with pytest.raises(TypeError):
        regressor(XGB, objective=objective).fit(X, y, w, sample_weight=w)


def test_train_and_cv_take_the_librarys_own_words(ordinal) -> None:
    X, y, _ = ordinal
    objective, metric, few = go.qwk_objective(), go.qwk_metric(), {"max_depth": 2, "nthread": 1}
    ours, theirs = (xgb.DMatrix(X, y) for _ in range(2))
    results: list[dict[str, Any]] = [{}, {}]
    models = [
        xgboost_adapter.train(few, ours, 4, objective=objective, metric=metric,
            evals=[(ours, "v")], evals_result=results[0], verbose_eval=False),
        xgboost_adapter.train(few, dtrain=theirs, num_boost_round=4, obj=objective,
            custom_metric=metric, evals=[(theirs, "v")], evals_result=results[1],
            verbose_eval=False),
    ]  # fmt: skip
    assert models[0].save_raw() == models[1].save_raw()
    assert results[0] == results[1]
    own, their = (
        {"objective": objective, "metric": metric},
        {"obj": objective, "custom_metric": metric},
    )
    of_cv = [xgboost_adapter.cv(few, ours, 4, nfold=3, seed=0, **words) for words in (own, their)]
    assert of_cv[0].equals(of_cv[1])

    quiet = {"verbose": -1, "num_threads": 1}
    for names, evals in (
        (None, ["training", "valid_1"]), ("a", ["a", "valid_1"]), (["a", "b"], ["a", "b"])
    ):  # fmt: skip
        data = lgb.Dataset(X, y)
        new, found = lgb.Dataset(X[:300], y[:300], reference=data), dict[str, Any]()
        lightgbm_adapter.train(
            quiet, train_set=data, num_boost_round=2, objective=objective, feval=metric,
            valid_sets=[data, new], **({"valid_names": names} if names else {}),
            callbacks=[lgb.record_evaluation(found)],
        )  # fmt: skip
        assert sorted(found) == sorted(evals)
        assert all(len(values["qwk"]) == 2 for values in found.values())
    with pytest.raises(TypeError, match="feval=: write metric="):
        lightgbm_adapter.train(quiet, data, 2, objective=objective, metric=metric, feval=metric)
    with pytest.raises(ValueError, match="valid_names has 2 names, but valid_sets 1: name each"):
        lightgbm_adapter.train(quiet, data, 2, objective=objective, metric=metric,
            valid_sets=data, valid_names=["a", "b"])  # fmt: skip
    with pytest.raises(
        TypeError, match="cv.. got an unexpected keyword argument .valid_sets.; its nearest"
    ):
        lightgbm_adapter.cv(quiet, data, 2, objective=objective, metric=metric, valid_sets=[data])
