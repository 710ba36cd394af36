"""What training stops on and records where more is asked than one metric, and what it trains on
where a callback changes the data."""

from __future__ import annotations

import logging
import warnings
from functools import partial
from typing import Any, ClassVar

import lightgbm as lgb
import numpy as np
import pytest
import xgboost as xgb
from sklearn.metrics import cohen_kappa_score, mean_squared_error, roc_auc_score
from sklearn.model_selection import KFold
from sklearn.utils.fixes import parse_version

import gbdt_objectives as go
from gbdt_objectives.adapters.sklearn import HistGradientBoostingRegressor
from gbdt_objectives.metrics import kappa_cost_metric, squared_error_metric, threshold_metric
from tests.adapters.library import LGB, XGB, Library, both
from tests.cases import each

pytestmark = pytest.mark.filterwarnings(
    "ignore:The argument 'eval_set' is deprecated", "ignore:early stopping keeps"
)
quiet = pytest.mark.filterwarnings("ignore:boosting starts at")
takes_lists = pytest.mark.skipif(
    parse_version(xgb.__version__) < parse_version("3.1"),
    reason="its estimators take no list that holds a function, which is refused",
)
rng = np.random.default_rng(1)
X = rng.random((900, 4))
Y = np.digitize(X[:, :3].sum(1) + rng.normal(0, 0.3, 900), [0.9, 1.3, 1.7, 2.1])
TRAIN, TEST = slice(0, 500), slice(500, 900)
CUTS = [0.3, 1.2, 2.2, 3.1]
NEAREST, CUT = go.qwk_metric((0, 4)), go.qwk_metric((0, 4), thresholds=CUTS)
QWK, SMOOTH = go.qwk_objective(), go.extended_qwk_metric()
PATIENCE = 8


def kappa(scores: Any, cuts: Any = (0.5, 1.5, 2.5, 3.5)) -> float:
    return float(cohen_kappa_score(Y[TEST], np.digitize(scores, cuts), weights="quadratic"))


def rmse(scores: Any) -> float:
    return float(mean_squared_error(Y[TEST], scores) ** 0.5)


def best_of(values: Any, sign: int, patience: int = PATIENCE) -> int:
    """The round, from 0, that early stopping keeps by hand; those before the first move are free
    where ``sign`` is that of a metric of ours."""
    best = still = 0
    for k, value in enumerate(values):
        still = k if value == values[0] and still >= k - 1 else still
        best = k if sign * value > sign * values[best] else best
        if k - max(best, still) >= patience:
            break
    return best


def fitted(lib: Library, measured: Any, **more: Any) -> Any:
    """A drop-in regressor on grades, evaluated on held-out rows."""
    fit = {name: more.pop(name) for name in ("callbacks",) if lib is LGB and name in more}
    model = lib.make(**{"objective": QWK, "n_estimators": 60, "learning_rate": 0.3, **more})
    return lib.fit(model, X[TRAIN], Y[TRAIN], [(X[TEST], Y[TEST])], measured, **fit)


def staged(lib: Library, model: Any, rounds: int) -> list[Any]:
    booster = lib.booster(model)
    return [lib.predict(booster, X[TEST], rounds=k + 1) for k in range(rounds)]


# --- two metrics of one name


def lightgbm_train(metrics: list[Any]) -> dict[str, list[float]]:
    record: dict[str, Any] = {}
    data = lgb.Dataset(X[TRAIN], Y[TRAIN])
    lgb.train(
        {**LGB.params, "objective": QWK, "metric": "None"}, data, 6, feval=metrics,
        valid_sets=[lgb.Dataset(X[TEST], Y[TEST], reference=data)],
        callbacks=[lgb.record_evaluation(record)],
    )  # fmt: skip
    return record["valid_0"]


def lightgbm_cv(metrics: list[Any]) -> dict[str, list[float]]:
    folds = [(np.arange(500), np.arange(500, 900))]
    found = lgb.cv({**LGB.params, "objective": QWK, "metric": "None"}, lgb.Dataset(X, Y), 6,
                   feval=metrics, folds=folds)  # fmt: skip
    names = {name: name.removeprefix("valid ").removesuffix("-mean") for name in found}
    return {names[name]: found[name] for name in found if name.endswith("-mean")}


def xgboost_train(metrics: list[Any]) -> dict[str, list[float]]:
    record: dict[str, Any] = {}
    evals = [(xgb.DMatrix(X[TEST], Y[TEST]), name) for name in ("t", "v")]
    xgb.train(
        {**XGB.params, "base_score": 2.0, "disable_default_eval_metric": 1},
        xgb.DMatrix(X[TRAIN], Y[TRAIN]), 6, obj=QWK, evals=evals, evals_result=record,
        custom_metric=lambda p, d: [one(p, d)[:2] for one in metrics], verbose_eval=False,
    )  # fmt: skip
    assert record["t"] == record["v"]
    return record["v"]


def lightgbm_fit(metrics: list[Any], plain: bool) -> dict[str, list[float]]:
    model = LGB.make(objective=QWK, metric="None", n_estimators=6, plain=plain)
    return LGB.history(LGB.fit(model, X[TRAIN], Y[TRAIN], [(X[TEST], Y[TEST])], metrics))["valid_0"]


DOORS = {
    "train": lightgbm_train, "cv": lightgbm_cv, "plain": partial(lightgbm_fit, plain=True),
    "drop-in": partial(lightgbm_fit, plain=False),
}  # fmt: skip
OF_A_LIST = {
    "lightgbm": lambda metrics: lightgbm_train([lambda p, d: [one(p, d) for one in metrics]]),
    "xgboost": xgboost_train,
}


@quiet
@each("door", list(DOORS))
def test_two_metrics_of_one_name_have_two_curves(door: str) -> None:
    other = threshold_metric("qwk", (0, 4), thresholds=[0.5, 1, 1.5, 2])
    curves = DOORS[door]([NEAREST, CUT, other])
    assert list(curves) == ["qwk", "qwk_2", "qwk_3"]
    for (name, values), metric in zip(curves.items(), (NEAREST, CUT, other), strict=True):
        (alone,) = DOORS[door]([metric]).values()
        assert len(values) == 6, name
        np.testing.assert_allclose(values, alone, rtol=1e-12)
    own = DOORS[door]([lambda first, second: ("qwk", 7.0, False), NEAREST, squared_error_metric()])
    assert list(own) == ["qwk", "qwk_2", "squared_error"]
    assert own["qwk"] == [7.0] * 6


@quiet
@each("library", list(OF_A_LIST))
def test_a_function_that_answers_several_metrics_of_ours(library: str) -> None:
    metrics = [getattr(one, library) for one in (NEAREST, CUT, NEAREST)]
    curves = OF_A_LIST[library](metrics[:2])
    assert list(curves) == ["qwk", "qwk_2"]
    for values, metric in zip(curves.values(), metrics, strict=False):
        (alone,) = OF_A_LIST[library]([metric]).values()
        np.testing.assert_allclose(values, alone, rtol=1e-12)
    assert list(OF_A_LIST[library](metrics)) == ["qwk", "qwk_2"]  # the same metric, asked twice


def test_the_curves_are_those_of_their_metrics() -> None:
    model = fitted(LGB, [CUT, NEAREST], n_estimators=5)
    curves, scores = LGB.history(model)["valid_0"], staged(LGB, model, 5)
    np.testing.assert_allclose(curves["qwk"], [kappa(s, CUTS) for s in scores], atol=1e-9)
    np.testing.assert_allclose(curves["qwk_2"], [kappa(s) for s in scores], atol=1e-9)


def test_losses_of_two_objectives_have_two_curves() -> None:
    losses = [
        go.loss_metric(go.qwk_objective(Y)),
        go.loss_metric(go.qwk_objective(mean=0, variance=1)),
    ]
    model = fitted(LGB, losses, n_estimators=5)
    scores = staged(LGB, model, 5)
    for name, loss in zip(("loss", "loss_2"), losses, strict=True):
        right = [loss(Y[TEST], s) for s in scores]
        np.testing.assert_allclose(LGB.history(model)["valid_0"][name], right, rtol=1e-6)


@each("metrics", [[NEAREST, CUT], [CUT, NEAREST]])
def test_the_first_of_two_metrics_of_one_name_stops(metrics: list[Any], caplog: Any) -> None:
    stop = {"callbacks": [lgb.early_stopping(PATIENCE)]}
    alone = [fitted(LGB, [one], **stop).best_iteration_ for one in metrics]
    assert alone[0] != alone[1]
    lgb.register_logger(logging.getLogger("said"))
    caplog.set_level(logging.INFO, "said")
    caplog.clear()
    assert fitted(LGB, metrics, verbose=1, **stop).best_iteration_ == alone[0]
    assert caplog.messages[-1].endswith("\nEvaluated only: qwk")


def test_a_function_of_the_same_name_does_not_stop() -> None:
    stop = {"callbacks": [lgb.early_stopping(PATIENCE, verbose=False)]}
    alone = fitted(LGB, [NEAREST], **stop).best_iteration_
    calls = iter(range(999))

    def best_at_first(y_true: Any, y_pred: Any) -> Any:
        return "qwk", float(next(calls)), False

    model = fitted(LGB, [best_at_first, NEAREST], **stop)
    curves = LGB.history(model)["valid_0"]
    assert list(curves)[-2:] == ["qwk", "qwk_2"]
    assert model.best_iteration_ == best_of(curves["qwk_2"], 1) + 1 == alone > 1
    assert fitted(LGB, [NEAREST, best_at_first], **stop).best_iteration_ == alone


class Named(go.Metric):
    """A user's metric with the name of one of XGBoost's."""

    name: ClassVar[str] = "rmse"
    greater_is_better: ClassVar[bool] = False

    def score(self, y_true: Any, y_pred: Any, sample_weight: Any) -> float:
        return float(np.abs(np.asarray(y_true) - y_pred).mean())


class Renamed(Named):
    name: ClassVar[str] = "mine"


@takes_lists
def test_xgboost_takes_one_metric_of_ours_and_of_another_name() -> None:
    def qwk(y_true: Any, y_pred: Any) -> float:
        return 7.0

    for metrics in ([NEAREST, CUT], [qwk, NEAREST], [NEAREST, NEAREST]):
        with pytest.raises(
            ValueError, match="takes one metric of gbdt_objectives or .*the predictions"
        ):
            fitted(XGB, metrics)
    for metrics in (["rmse", Named()], Named()):  # the second beside XGBoost's default
        with pytest.raises(ValueError, match="'rmse' is the name of two .*, name = 'rmse_2'"):
            fitted(XGB, metrics)
    curves = XGB.history(fitted(XGB, ["rmse", Renamed()], n_estimators=5))["validation_0"]
    assert {name: len(values) for name, values in curves.items()} == {"rmse": 5, "mine": 5}


@both
def test_train_and_cv_take_one_metric(lib: Library) -> None:
    data = lib.data(X, Y)
    message = "found .*QWKMetric.*others of a list are measured on the predictions"
    with pytest.raises(TypeError, match=message):
        lib.train(lib.params, data, 5, objective=QWK, metric=[NEAREST, CUT], evals=[(data, "v")])
    with pytest.raises(TypeError, match=message):
        lib.cv(data, 5, objective=QWK, metric=(NEAREST, CUT))


# --- early stopping on another metric than ours


@pytest.mark.slow
@each("way", ["callback", "parameter"])
def test_first_metric_only_of_lightgbm(way: str) -> None:
    how: dict[str, Any] = {"callbacks": [lgb.early_stopping(PATIENCE, True, verbose=False)]}
    if way == "parameter":
        how = {"first_metric_only": True, "early_stopping_rounds": PATIENCE}
    all_rounds = LGB.history(fitted(LGB, ["rmse", NEAREST]))["valid_0"]
    on_rmse = best_of(all_rounds["rmse"], -1) + 1
    on_kappa = best_of(all_rounds["qwk"], 1) + 1
    assert on_rmse != on_kappa
    for metrics, more, best in (
        (["rmse", NEAREST], {}, on_rmse),
        (["rmse", NEAREST, "mae"], {}, on_rmse),
        (NEAREST, {"metric": "rmse"}, on_rmse),
        ([NEAREST, "rmse"], {}, on_kappa),
        ([NEAREST, CUT], {}, on_kappa),
        (NEAREST, {}, on_kappa),
    ):
        model = fitted(LGB, metrics, **how, **more)
        assert model.best_iteration_ == best, metrics
        assert LGB.rounds(model.booster_) == best, metrics
    with_both = fitted(LGB, ["rmse", NEAREST], early_stopping_rounds=PATIENCE)
    assert with_both.best_iteration_ == on_kappa


def test_first_metric_only_predicts_with_the_best_round() -> None:
    stop = lgb.early_stopping(PATIENCE, first_metric_only=True, verbose=False)
    model = fitted(LGB, ["rmse", NEAREST], callbacks=[stop])
    curve = LGB.history(model)["valid_0"]["rmse"]
    assert model.best_iteration_ - 1 == int(np.argmin(curve))
    assert rmse(model.predict(X[TEST])) == pytest.approx(min(curve), rel=1e-6)


def test_a_list_of_min_deltas_has_one_for_each_metric() -> None:
    """In the order in which LightGBM measures: its own names first."""
    values = LGB.history(fitted(LGB, ["mae", SMOOTH], metric="rmse"))["valid_0"]
    assert list(values) == ["l1", "rmse", "extended_qwk"]
    curve, best = values["extended_qwk"], 0
    for k, value in enumerate(curve):
        if value > curve[best] + 0.02:
            best = k
        elif k - best == PATIENCE:
            break
    assert best < best_of(curve, 1)
    stop = partial(lgb.early_stopping, PATIENCE, verbose=False)
    model = fitted(LGB, ["mae", SMOOTH], metric="rmse", callbacks=[stop(min_delta=[9, 8, 0.02])])
    assert model.best_iteration_ == best + 1
    with pytest.raises(ValueError, match=r"min_delta=\[9, 0.02\], .* l1, rmse, extended_qwk: "):
        fitted(LGB, ["mae", SMOOTH], metric="rmse", callbacks=[stop(min_delta=[9, 0.02])])
    with pytest.raises(ValueError, match="must not be negative"):
        fitted(LGB, ["mae", SMOOTH], callbacks=[stop(min_delta=[9, -1])])


class Mine(xgb.callback.EarlyStopping):
    """A user's own class."""


@pytest.mark.slow
@takes_lists
@pytest.mark.parametrize("kind", [xgb.callback.EarlyStopping, Mine])
@pytest.mark.parametrize("metrics", [["rmse", NEAREST], [NEAREST, "rmse"], NEAREST], ids=str)
def test_early_stopping_of_xgboost_on_another_metric(kind: Any, metrics: Any) -> None:
    stop = kind(rounds=PATIENCE, metric_name="rmse", data_name="validation_0", save_best=True)
    all_rounds = XGB.history(fitted(XGB, metrics))["validation_0"]
    best = best_of(all_rounds["rmse"], -1)
    assert best != best_of(all_rounds["qwk"], 1)
    for _ in range(2):  # a refitted estimator keeps its callbacks
        model = fitted(XGB, metrics, callbacks=[stop])
        assert model.best_iteration == best
        assert XGB.rounds(model.get_booster()) == best + 1
    assert rmse(model.predict(X[TEST])) == pytest.approx(all_rounds["rmse"][best], rel=1e-4)
    np.testing.assert_allclose(  # the curve of ours is the same
        XGB.history(model)["validation_0"]["qwk"][: best + 1], all_rounds["qwk"][: best + 1]
    )


@takes_lists
def test_early_stopping_of_xgboost_has_the_direction_of_the_metric_it_names() -> None:
    y = (Y > 2).astype(int)
    loss = go.weighted_logloss_objective(1)
    stop = xgb.callback.EarlyStopping(rounds=PATIENCE, metric_name="auc")
    model = XGB.make(True, objective=loss, n_estimators=60, callbacks=[stop], learning_rate=0.3)
    XGB.fit(model, X[TRAIN], y[TRAIN], [(X[TEST], y[TEST])], ["auc", go.loss_metric(loss)])
    curve = XGB.history(model)["validation_0"]["auc"]
    assert model.best_iteration == int(np.argmax(curve)) > 0
    right = roc_auc_score(y[TEST], model.predict_proba(X[TEST])[:, 1])
    assert curve[model.best_iteration] == pytest.approx(right, abs=1e-4)


@takes_lists
def test_xgboost_may_stop_on_two_metrics() -> None:
    stops = [xgb.callback.EarlyStopping(rounds=PATIENCE, metric_name="rmse")]
    model = fitted(XGB, ["rmse", NEAREST], callbacks=stops, early_stopping_rounds=3)
    values = XGB.history(model)["validation_0"]
    by_kappa = best_of(values["qwk"], 1, 3)
    assert len(values["rmse"]) == by_kappa + 4  # the first that stops ends training


@takes_lists
def test_early_stopping_on_what_is_not_measured_is_refused() -> None:
    stop = xgb.callback.EarlyStopping(rounds=PATIENCE, metric_name="rmsle")
    with pytest.raises(ValueError, match="'rmsle', but .* measured are 'rmse', 'qwk': name one"):
        fitted(XGB, ["rmse", NEAREST], callbacks=[stop])
    focal = go.focal_objective(2.0)
    stop = xgb.callback.EarlyStopping(rounds=PATIENCE, metric_name="logloss")
    model = XGB.make(True, objective=focal, callbacks=[stop])
    with pytest.raises(ValueError, match="'logloss', but .* measured are 'loss': name one"):
        XGB.fit(model, X, Y > 2, [(X, Y > 2), (X[TEST], Y[TEST] > 2)], go.loss_metric(focal))


@quiet
def test_plain_calls_stop_on_the_metric_that_is_named() -> None:
    stop = xgb.callback.EarlyStopping(rounds=PATIENCE, metric_name="rmse")
    history: dict[str, Any] = {}
    booster = xgb.train(
        {**XGB.params, "base_score": 2.0, "eval_metric": "rmse"},
        xgb.DMatrix(X[TRAIN], Y[TRAIN]), 60, obj=QWK, custom_metric=NEAREST,
        evals=[(xgb.DMatrix(X[TEST], Y[TEST]), "v")], callbacks=[stop], evals_result=history,
        verbose_eval=False,
    )  # fmt: skip
    assert booster.best_iteration == best_of(history["v"]["rmse"], -1)


# --- rankers


def groups(rows: slice) -> np.ndarray:
    return np.full(len(Y[rows]) // 10, 10)


RANKS = {"group": groups(TRAIN), "eval_set": [(X[TEST], Y[TEST])], "eval_group": [groups(TEST)]}


@quiet
@pytest.mark.parametrize("objective", [None, QWK], ids=["its own", "ours"])
def test_lightgbms_ranker_measures_all_rows(objective: Any) -> None:
    """It passes the sizes of its queries as a fourth argument, where a metric has one."""
    metrics = [NEAREST, kappa_cost_metric(1 - np.eye(5)), SMOOTH]
    model = lgb.LGBMRanker(objective=objective, **LGB.estimator)
    model.fit(X[TRAIN], Y[TRAIN], eval_metric=metrics, **RANKS)
    curves = model.evals_result_["valid_0"]
    score = model.predict(X[TEST])
    for metric in metrics:
        assert curves[metric.name][-1] == pytest.approx(metric(Y[TEST], score), abs=1e-12)
    assert curves["qwk"][-1] == pytest.approx(kappa(score), abs=1e-12)


@pytest.mark.slow
def test_xgboosts_ranker_stops_in_the_metrics_direction() -> None:
    """It measures each query alone, in threads."""
    made = {**XGB.estimator, "n_estimators": 40, "learning_rate": 0.5}
    callback = {"callbacks": [xgb.callback.EarlyStopping(rounds=3)]}
    # which form a metric has and how one asks to stop are read in different places
    for metric, stops in ((SMOOTH, {"early_stopping_rounds": 3}), (SMOOTH.xgboost, callback)):
        model = xgb.XGBRanker(eval_metric=metric, **made, **stops)
        model.fit(X[TRAIN], Y[TRAIN], verbose=False, **RANKS)
        curve = model.evals_result()["validation_0"]["extended_qwk"]
        assert model.best_iteration == int(np.argmax(curve)) > 0
    score, by_query = model.predict(X[TEST]), Y[TEST].reshape(-1, 10)
    right = [SMOOTH(y, s) for y, s in zip(by_query, score.reshape(-1, 10), strict=True)]
    assert max(curve) == pytest.approx(np.mean(right), abs=1e-5)


# --- folds


@pytest.mark.filterwarnings("ignore:The groups parameter is ignored")  # LightGBM hands them on
@both
def test_folds_from_a_generator(lib: Library) -> None:
    data = lib.data(X, Y)
    call = {"objective": QWK, "metric": NEAREST}
    splits = list(KFold(3).split(X))
    right = lib.cv(data, 5, **call, folds=splits)
    for folds in (KFold(3).split(X), iter(splits), (split for split in splits)):
        assert lib.cv(data, 5, **call, folds=folds) == right
    assert lib.cv(data, 5, **call, folds=KFold(3)) == right
    used = iter(splits)
    list(used)
    with pytest.raises(ValueError, match="folds gives 0 splits: .* used up"):
        lib.cv(data, 5, **call, folds=used)


@both
def test_folds_from_a_generator_for_values_by_row(lib: Library) -> None:
    y = (Y > 2).astype(float)
    loss = go.offset_logloss_objective(np.linspace(0.1, 1, 900))
    call = {"objective": loss, "metric": go.weighted_logloss_metric(1)}
    params = {**lib.params, "verbose": -1} if lib is LGB else lib.params
    right = lib.cv(lib.data(X, y), 5, params, **call, folds=list(KFold(3).split(X)))
    assert lib.cv(lib.data(X, y), 5, params, **call, folds=KFold(3).split(X)) == right


# --- data that a callback changes


class Changes(xgb.callback.TrainingCallback):
    """Hard examples, or smoothed labels, in either library."""

    def __init__(self, what: str, data: Any = None) -> None:
        super().__init__()
        self.what, self.data = what, data

    def change(self, data: Any, k: int) -> None:
        y = data.get_label()
        if self.what == "weight":
            data.set_weight(np.where(y >= 4, 1.0 + 2 * k, 1.0))
        elif k > 0:  # LightGBM measures after what is done before the first round
            data.set_label(np.clip(y + 0.2 * (y < 2), 0, 4))

    def before_iteration(self, model: Any, epoch: int, evals_log: Any) -> bool:
        for data in [self.data] if self.data else [fold.dtrain for fold in model.cvfolds]:
            self.change(data, epoch)
        return False


def lightgbms(changes: Changes) -> Any:
    def before(env: Any) -> None:
        boosters = getattr(env.model, "boosters", [env.model])
        for booster in boosters:
            changes.change(booster.train_set, env.iteration)

    before.before_iteration = True  # type: ignore[attr-defined]
    return before


COUPLED = [QWK, go.qwk_objective(Y), go.qwk_objective(Y, scale="kappa")]


@each("what", ["label", "weight"])
@each("loss", COUPLED)
def test_xgboost_trains_on_what_the_data_say_now(what: str, loss: go.Objective) -> None:
    """As a plain call does."""
    params, found = {**XGB.params, "base_score": 2.0}, []
    for ours in (False, True):
        data = xgb.DMatrix(X, Y)
        more: dict[str, Any] = {"callbacks": [Changes(what, data)]}
        if ours:
            booster = XGB.train(params, data, 8, objective=loss, **more)
        else:
            booster = xgb.train(params, data, 8, obj=loss, **more)
        found.append(booster.predict(xgb.DMatrix(X)))
    unchanged = XGB.train(params, xgb.DMatrix(X, Y), 8, objective=loss).predict(xgb.DMatrix(X))
    np.testing.assert_allclose(*found, rtol=1e-5)  # float32 sums in another order
    assert np.abs(found[0] - unchanged).max() > 0.05


@quiet
@each("what", ["label", "weight"])
@each("loss", COUPLED)
def test_lightgbm_trains_on_what_the_data_say_now(what: str, loss: go.Objective) -> None:
    """As a plain call does, from the same start."""
    start, call = float(Y.mean()), {"callbacks": [lightgbms(Changes(what))]}
    data = lgb.Dataset(X, Y, init_score=np.full(900, start))
    plain = lgb.train({**LGB.params, "objective": loss}, data, 8, **call).predict(X) + start
    train = LGB.train(LGB.params, lgb.Dataset(X, Y), 8, objective=loss, **call).predict(X)
    np.testing.assert_allclose(train, plain, rtol=1e-6)
    fit = LGB.make(objective=loss, n_estimators=8).fit(X, Y, **call)
    np.testing.assert_allclose(fit.predict(X), plain, rtol=1e-6)
    unchanged = LGB.train(LGB.params, lgb.Dataset(X, Y), 8, objective=loss).predict(X)
    assert np.abs(plain - unchanged).max() > 0.05


@quiet
@both
@each("what", ["label", "weight"])
def test_each_fold_trains_on_what_its_data_say_now(lib: Library, what: str) -> None:
    folds = [(np.arange(500), np.arange(500, 900)), (np.arange(400, 900), np.arange(400))]
    loss, start = go.qwk_objective(Y), float(Y.mean())
    more = {"callbacks": [Changes(what) if lib is XGB else lightgbms(Changes(what))]}
    name, call = lib.mean.format("extended_qwk"), {"objective": loss, "metric": SMOOTH}
    found = lib.cv(lib.data(X, Y), 8, folds=folds, **call, **more)[name]
    if lib is XGB:
        params = {**lib.params, "base_score": start, "disable_default_eval_metric": 1}
        plain = xgb.cv(
            params, lib.data(X, Y), 8, folds=folds, obj=loss, custom_metric=SMOOTH, **more
        )
    else:
        params = {**lib.params, "objective": loss, "metric": "None"}
        data = lib.data(X, Y, start=np.full(900, start))
        plain = lgb.cv(params, data, 8, folds=folds, feval=SMOOTH, **more)
    np.testing.assert_allclose(found, plain[name], rtol=1e-5)  # six digits, of XGBoost
    unchanged = lib.cv(lib.data(X, Y), 8, folds=folds, **call)[name]
    assert np.abs(np.array(found) - unchanged).max() > 1e-3


# --- a blend that holds an objective of ours


HIGH = Y + 20.0


def half(y_true: Any, margin: Any) -> Any:
    """Half of our gradient, half of one that wants half of the labels."""
    g, h = QWK(y_true, margin)
    return 0.5 * g + 0.5 * (margin - y_true / 2), 0.5 * h + 0.5


def of_data(margin: Any, data: Any) -> Any:
    g, h = QWK(margin, data)
    return 0.5 * g + 0.5 * (margin - data.get_label() / 2), 0.5 * h + 0.5


def whole(y_true: Any, margin: Any, sample_weight: Any) -> Any:
    return half(y_true, margin)


BLENDS = {
    "obj=": lambda: xgb.train(
        {**XGB.params, "base_score": 15}, xgb.DMatrix(X, HIGH), 3, obj=of_data),
    "lightgbm.train": lambda: LGB.plain(of_data, LGB.data(X, HIGH, start=np.full(900, 15.0)), 3),
    "XGBRegressor": lambda: XGB.make(plain=True, objective=half, base_score=15).fit(X, HIGH),
    "LGBMRegressor": lambda: LGB.make(plain=True, objective=half).fit(
        X, HIGH, init_score=np.full(900, 15.0)),
    "XGBRegressor of ours": lambda: XGB.make(objective=half, base_score=15).fit(X, HIGH),
    "train of XGBoost": lambda: XGB.train(
        XGB.params, xgb.DMatrix(X, HIGH), 3, objective=go.objective(whole, link="identity")),
    "train of LightGBM": lambda: LGB.train(
        LGB.params, lgb.Dataset(X, HIGH), 3, objective=go.objective(whole, link="identity")),
    "HistGradientBoosting": lambda: HistGradientBoostingRegressor(
        objective=go.objective(whole, link="identity"), max_iter=3).fit(X, HIGH),
}  # fmt: skip


@each("door", list(BLENDS))
def test_a_blend_may_start_where_an_objective_in_it_may_not(door: str) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        BLENDS[door]()


def test_outside_of_a_blend_the_start_is_still_told() -> None:
    with pytest.warns(UserWarning, match="boosting starts at 15, far from the labels' centre"):
        xgb.train({**XGB.params, "base_score": 15}, xgb.DMatrix(X, HIGH), 3, obj=QWK)
    with pytest.warns(UserWarning, match="boosting starts at 15, far from the labels' centre"):
        QWK(HIGH, np.full(900, 15.0))  # the first round of a loop by hand
