"""Plain calls of the libraries: ``obj=``, ``custom_metric=``, ``feval=`` and ``eval_metric=`` of
theirs, ours inside, and nothing else changed in a notebook."""

from __future__ import annotations

import gc
import os
import pickle
import re
import warnings
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import cache
from typing import Any, ClassVar

import lightgbm as lgb
import numpy as np
import pytest
import xgboost as xgb
from scipy.special import expit
from sklearn.metrics import cohen_kappa_score

import gbdt_objectives as go
from gbdt_objectives._checks import asked
from gbdt_objectives.metrics import class_logloss_metric, squared_error_metric
from gbdt_objectives.objectives import base
from tests.adapters.library import LGB, XGB, Library, both
from tests.cases import each

pytestmark = pytest.mark.filterwarnings("ignore:The argument 'eval_set' is deprecated")
quiet = pytest.mark.filterwarnings("ignore:boosting starts at")
rng = np.random.default_rng(1)
X = rng.random((900, 4))
Y = np.digitize(X[:, :3].sum(1) + rng.normal(0, 0.3, 900), [0.9, 1.3, 1.7, 2.1]).astype(float)
TRAIN, TEST = slice(0, 500), slice(500, 900)
QWK = go.qwk_objective(Y[TRAIN])
KAPPA, SMOOTH, ERROR = go.qwk_metric((0, 4)), go.extended_qwk_metric(), squared_error_metric()
START = QWK.intercept
ROUNDS, RATE = 40, 0.25
XGB_PARAMS = {**XGB.params, "eta": RATE, "base_score": START}
LGB_PARAMS = {**LGB.params, "learning_rate": RATE}


def matrices() -> tuple[xgb.DMatrix, xgb.DMatrix]:
    return xgb.DMatrix(X[TRAIN], Y[TRAIN]), xgb.DMatrix(X[TEST], Y[TEST])


def datasets(start: float | None = None) -> tuple[lgb.Dataset, lgb.Dataset]:
    own = {} if start is None else {"init_score": np.full(500, start)}
    held = {} if start is None else {"init_score": np.full(400, start)}
    data = lgb.Dataset(X[TRAIN], Y[TRAIN], params=LGB_PARAMS, **own)
    return data, lgb.Dataset(X[TEST], Y[TEST], reference=data, **held)


def plainly(metric: Any, rounds: int = ROUNDS, **given: Any) -> xgb.Booster:
    """XGBoost's own train(), on our objective, with held-out rows for a metric."""
    data, held_out = matrices()
    return xgb.train(XGB_PARAMS, data, rounds, obj=QWK, custom_metric=metric,
                     evals=[(held_out, "v")], verbose_eval=False, **given)  # fmt: skip


def kappa(scores: Any) -> float:
    """Of the nearest grades, by scikit-learn."""
    grades = np.clip(np.floor(np.asarray(scores) + 0.5), 0, 4).astype(int)
    return float(cohen_kappa_score(Y[TEST].astype(int), grades, weights="quadratic"))


@cache
def ours_of_xgboost() -> xgb.Booster:
    return XGB.train(XGB_PARAMS, matrices()[0], ROUNDS, objective=QWK)


FORMS = {"itself": lambda metric: metric, "xgboost": lambda metric: metric.xgboost}


@pytest.mark.slow
@each("form", list(FORMS))
@pytest.mark.parametrize("metric", [KAPPA, SMOOTH.loss, ERROR], ids=lambda m: m.name)
def test_xgboost_stops_as_our_train_does(metric: go.Metric, form: str) -> None:
    held_out, history = matrices()[1], dict[str, Any]()
    stops = {"early_stopping_rounds": 8, "evals_result": history}
    plain = plainly(FORMS[form](metric), **stops)
    values = history["v"][metric.name]
    best = int(np.argmax(values) if metric.greater_is_better else np.argmin(values))
    assert plain.best_iteration == best
    assert best > 5
    # the same trees: XGBoost adds them up in float32
    found, right = (
        one.predict(held_out, iteration_range=(0, best + 1)) for one in (plain, ours_of_xgboost())
    )
    np.testing.assert_allclose(found, right, rtol=0, atol=1e-5)
    if metric is KAPPA:  # XGBoost prints five digits
        assert values[best] == pytest.approx(kappa(found), abs=1e-5)


@pytest.mark.parametrize("metric", [KAPPA, ERROR], ids=lambda m: m.name)
def test_lightgbm_trains_and_measures_as_our_train_does(metric: go.Metric) -> None:
    histories: list[dict[str, Any]] = [{}, {}]
    data, held_out = datasets()
    ours = LGB.train(
        LGB_PARAMS, data, ROUNDS, objective=QWK, metric=metric, evals=[(held_out, "v")],
        callbacks=[lgb.record_evaluation(histories[0])],
    )  # fmt: skip
    data, held_out = datasets(START)
    plain = lgb.train(
        {**LGB_PARAMS, "objective": QWK, "metric": "None"}, data, ROUNDS, feval=metric,
        valid_sets=[held_out], valid_names=["v"],
        callbacks=[lgb.record_evaluation(histories[1]), lgb.early_stopping(8, verbose=False)],
    )  # fmt: skip
    first, second = (np.array(one["v"][metric.name]) for one in histories)
    n = len(second)  # ours went on
    # gradients are float32: rounded at margins of another start, a few roundings apart
    np.testing.assert_allclose(first[:n], second, rtol=0, atol=1e-6)
    best = int(np.argmax(second) if metric.greater_is_better else np.argmin(second))
    assert plain.best_iteration == best + 1 > 5
    found = plain.predict(X[TEST], num_iteration=best + 1) + START
    right = ours.predict(X[TEST], num_iteration=best + 1)
    np.testing.assert_allclose(found, right, rtol=0, atol=1e-6)  # of labels up to 4


def test_cv_of_both_libraries() -> None:
    data, _ = matrices()
    plain = xgb.cv(XGB_PARAMS, data, ROUNDS, obj=QWK, custom_metric=SMOOTH, nfold=3, seed=0,
                   early_stopping_rounds=8, as_pandas=False)["test-extended_qwk-mean"]  # fmt: skip
    assert len(plain) - 1 == int(np.argmax(plain)) > 5
    dataset, _ = datasets(START)
    found = lgb.cv({**LGB_PARAMS, "objective": QWK, "metric": "None"}, dataset, 20, nfold=3,
                   feval=KAPPA, stratified=False)  # fmt: skip
    assert list(found) == ["valid qwk-mean", "valid qwk-stdv"]
    assert found["valid qwk-mean"][-1] > found["valid qwk-mean"][0]


@quiet
def test_estimators_of_both_libraries() -> None:
    model = XGB.make(plain=True, objective=QWK, eval_metric=KAPPA, early_stopping_rounds=8,
                     n_estimators=ROUNDS, base_score=START, learning_rate=RATE)  # fmt: skip
    weight = 1.0 + np.arange(400) % 3
    model.fit(X[TRAIN], Y[TRAIN], eval_set=[(X[TEST], Y[TEST])], sample_weight_eval_set=[weight],
              verbose=False)  # fmt: skip
    values = model.evals_result()["validation_0"]["qwk"]
    assert model.best_iteration == int(np.argmax(values)) > 5
    scores = model.predict(X[TEST], output_margin=True)
    right = KAPPA(Y[TEST], scores, weight)
    assert values[model.best_iteration] == pytest.approx(right, abs=1e-5)  # which XGBoost prints
    assert pickle.loads(pickle.dumps(model)).get_params()["eval_metric"] == KAPPA
    other = LGB.make(
        plain=True, objective=QWK, n_estimators=ROUNDS, learning_rate=RATE, metric="None"
    )
    LGB.fit(other, X[TRAIN], Y[TRAIN], [(X[TEST], Y[TEST])], KAPPA, eval_sample_weight=[weight])
    last = other.evals_result_["valid_0"]["qwk"][-1]
    assert last == pytest.approx(KAPPA(Y[TEST], other.predict(X[TEST]), weight), rel=1e-12)


@pytest.mark.slow
def test_the_direction_is_the_users_again_after_training() -> None:
    stop = xgb.callback.EarlyStopping(rounds=8)
    kept = [
        plainly(metric, callbacks=[one]).best_iteration
        for metric, one in ((KAPPA, stop), (ERROR, xgb.callback.EarlyStopping(rounds=8)))
    ]
    gc.collect()
    assert stop.maximize is None
    again = xgb.callback.EarlyStopping(rounds=8)
    for metric, before in zip((KAPPA, ERROR), kept, strict=True):  # one callback, two directions
        again.stopping_history, again.best_scores = {}, {}
        assert plainly(metric, callbacks=[again]).best_iteration == before
        gc.collect()
    with pytest.raises(RuntimeError, match="in the first round"):
        plainly(Failing(), 3, callbacks=[stop])
    gc.collect()
    assert stop.maximize is None


@dataclass(frozen=True, kw_only=True)
class Failing(go.Metric):
    """A metric that has said its direction when it fails."""

    name: ClassVar[str] = "failing"
    greater_is_better: ClassVar[bool] = True

    def score(self, y_true: Any, y_pred: Any, sample_weight: Any) -> float:
        raise RuntimeError("in the first round")


@quiet
def test_the_opposite_direction_is_refused() -> None:
    stop = xgb.callback.EarlyStopping(rounds=5, maximize=False)
    model, held_out = XGB.make(plain=True, objective=QWK, callbacks=[stop]), [(X[TEST], Y[TEST])]
    minimise = "would minimise qwk: pass maximize=True, or leave it out"
    maximise = "would maximise squared_error: pass maximize=False"
    for call, message in (
        (lambda: plainly(KAPPA, 9, early_stopping_rounds=5, maximize=False), minimise),
        (lambda: plainly(KAPPA, 9, callbacks=[stop]), minimise),
        (lambda: XGB.fit(model, X[TRAIN], Y[TRAIN], held_out, KAPPA), minimise),
        (lambda: plainly(ERROR, 9, early_stopping_rounds=5, maximize=True), maximise),
    ):
        with pytest.raises(ValueError, match=message):
            call()


def test_behind_a_function_of_the_users_nothing_is_known_of_the_sign() -> None:
    """1 - kappa is right to minimise."""

    def loss(scores: Any, rows: xgb.DMatrix) -> tuple[str, float]:
        return "loss", 1 - KAPPA(rows.get_label(), scores)

    found, direct = (plainly(metric, early_stopping_rounds=8) for metric in (loss, KAPPA))
    assert found.best_iteration == direct.best_iteration > 5


def test_the_form_of_the_answer_is_that_of_the_data_whoever_calls() -> None:
    data, dataset = matrices()[1], lgb.Dataset(X[TEST], Y[TEST], params={"verbose": -1}).construct()
    scores = X[TEST, :3].sum(1)
    value = KAPPA(Y[TEST], scores)
    assert isinstance(value, float)
    assert KAPPA(scores, data) == ("qwk", pytest.approx(value))
    assert KAPPA(scores, dataset) == ("qwk", pytest.approx(value), True)
    assert KAPPA.xgboost(scores, data) == KAPPA(scores, data)
    with pytest.raises(TypeError, match="y_pred is a Rows, of no library that is known"):
        KAPPA(scores, Rows())


class Rows:
    def get_label(self) -> Any:
        return Y[TEST]


@both
def test_under_several_classes_the_metric_says_what_to_do(lib: Library) -> None:
    y = Y.astype(int)

    def train() -> None:
        if lib is XGB:
            data, params = xgb.DMatrix(X, y), {"objective": "multi:softprob", "num_class": 5}
            xgb.train(params, data, 2, custom_metric=KAPPA, evals=[(data, "v")])
        else:
            rows = lgb.Dataset(X, y, params=LGB_PARAMS)
            params = {**LGB_PARAMS, "objective": "multiclass", "num_class": 5}
            lgb.train(params, rows, 2, feval=KAPPA, valid_sets=[rows])

    wide = "takes one score of each row, found shape .*: measure class_logloss_metric"
    with pytest.raises(ValueError, match=wide):
        train()
    with pytest.raises(ValueError, match=wide):
        ERROR(y, np.zeros((900, 5)))
    even = class_logloss_metric(input_space="probability")(y, np.full((900, 5), 0.2))
    assert even == pytest.approx(np.log(5))


RARE = (rng.random(900) < 0.01).astype(float)
OFTEN = (rng.random(900) < 0.2).astype(float)
OFFSET = go.offset_logloss_objective(0.05)
BEST = float(OFFSET.measured(RARE).intercept)


def starts(lib: Library, loss: go.Objective, y: Any, **params: Any) -> list[str]:
    """The warnings of a plain training of a few rounds."""
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        lib.plain(loss, lib.data(X, y), 3, **params)
    return [str(one.message) for one in told if "boosting starts" in str(one.message)]


@both
def test_a_start_far_from_the_best_constant_of_a_log_loss_warns_once(lib: Library) -> None:
    (message,) = starts(lib, OFFSET, RARE)
    assert f"far from the best constant, {BEST:.4g}:" in message
    assert f"from gbdt_objectives.adapters.{lib}, which start there" in message
    assert ("base_score" in message, "init_score would" in message) == (lib is XGB, lib is LGB)
    assert not starts(lib, go.weighted_logloss_objective(1.0), OFTEN)  # .6 of all gradients
    assert not starts(lib, go.weighted_logloss_objective(1.0), 1 - OFTEN)


def test_the_remedy_is_in_the_unit_of_the_boosters_own_objective_and_works() -> None:
    for name, unit in {"reg:squarederror": lambda f: f, "binary:logistic": expit}.items():
        (message,) = starts(XGB, OFFSET, RARE, objective=name)
        (found,) = re.findall(r": pass base_score=([-.\de]+), or import", message)
        assert float(found) == pytest.approx(unit(BEST), rel=1e-4)  # six digits
        assert not starts(XGB, OFFSET, RARE, objective=name, base_score=float(found))


@both
def test_a_function_of_the_users_far_from_its_labels_warns_with_the_start_found(
    lib: Library,
) -> None:
    def median(y: Any, f: Any, w: Any) -> Any:
        return np.where(f >= y, 0.5, -0.5), np.ones_like(f)

    (message,) = starts(lib, go.objective(median), Y * 3 + 60)
    assert f"far from the best constant, {np.median(Y) * 3 + 60:g}:" in message
    assert ("base_score=" in message) == (lib is XGB)
    assert not starts(lib, go.objective(median), Y - 2)
    (message,) = starts(lib, go.objective(lambda y, f, w: (np.ones_like(f), np.ones_like(f))), Y)
    assert "far from any good constant" in message  # as none is found
    assert "base_score=" not in message


@both
def test_losses_whose_gradients_sum_to_0_at_each_constant_do_not_warn(lib: Library) -> None:
    def centred(y: Any, f: Any, w: Any) -> Any:
        return (f - f.mean()) - (y - y.mean()), np.ones_like(f)

    assert not starts(lib, go.objective(centred), Y + 60)


def test_calls_by_hand_and_later_rounds_do_not_warn() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        OFFSET(RARE, np.full(900, 0.5))
    assert len(starts(XGB, OFFSET, RARE, eta=0.0)) == 1  # all margins stay where they are


def rows_of(lib: Library, y: Any) -> Any:
    data = lib.data(X, y)
    return data if lib is XGB else data.construct()


def change(lib: Library, data: Any, name: str, values: Any) -> None:
    """By the function that leaves the least trace of it."""
    if lib is XGB:
        data.set_float_info(name, values)
    else:
        data.set_field(name, values)


SCORES = np.linspace(-1, 5, 900)


def agrees(loss: go.Objective, data: Any, y: Any, w: Any = None) -> None:
    """What a call with the data gives is what the labels and weights themselves give."""
    for found, right in zip(loss(SCORES, data), loss(y, SCORES, w), strict=True):
        # a bound call adds up in another order, in steps of float32 gradients
        np.testing.assert_allclose(found, right, rtol=0, atol=1e-6 * np.abs(right).max())


LOSSES = [
    go.qwk_objective(), go.qwk_objective(Y), go.qwk_objective(Y, scale="kappa"),
    go.ordinal_logit_objective(5),
]  # fmt: skip


@both
@each("loss", LOSSES)
def test_labels_and_weights_may_change_between_calls(lib: Library, loss: go.Objective) -> None:
    w = 1.0 + np.arange(900) % 2
    data = rows_of(lib, Y)
    for _ in range(2):
        agrees(loss, data, Y)
    other = Y.copy()
    other[np.flatnonzero(Y == 1)[:9]] = 2  # as many rows, at the same address
    change(lib, data, "label", other)
    agrees(loss, data, other)
    change(lib, data, "weight", w)
    agrees(loss, data, other, w)
    change(lib, data, "label", Y)
    agrees(loss, data, Y, w)
    change(lib, data, "label", np.full(900, 7.5))
    with pytest.raises(ValueError, match=r"label|y_true"):
        loss(SCORES, data)


@both
def test_results_of_plain_calls_are_the_callers_own(lib: Library) -> None:
    data = rows_of(lib, Y)
    first = QWK(SCORES, data)
    kept = [values.copy() for values in first]
    second = QWK(SCORES[::-1].copy(), data)
    for one, copy, other in zip(first, kept, second, strict=True):
        np.testing.assert_array_equal(one, copy)
        assert not np.shares_memory(one, other)
    first[0][:] = first[1][:] = 0
    for found, right in zip(QWK(SCORES, data), kept, strict=True):
        np.testing.assert_array_equal(found, right)


@both
def test_nothing_is_kept_longer_than_the_data(lib: Library) -> None:
    gc.collect()  # what errors of earlier tests hold
    held, data = len(base._bound), rows_of(lib, Y)
    QWK(SCORES, data)
    assert len(base._bound) == held + 1
    del data
    gc.collect()
    assert len(base._bound) == held


@pytest.mark.filterwarnings("ignore:os.fork")  # where another test has imported JAX
@pytest.mark.filterwarnings("ignore:This process .* is multi-threaded")  # Python since 3.12
@pytest.mark.slow
@both
def test_threads_and_forks_share_a_data_set(lib: Library) -> None:
    """Each with its own margins, some with an objective of their own."""
    data = rows_of(lib, Y)
    losses = [LOSSES[k % len(LOSSES)] for k in range(8)]
    margins = [SCORES * (1 + 0.1 * k) for k in range(8)]
    right = [loss(Y, f)[0] for loss, f in zip(losses, margins, strict=True)]

    def call(k: int) -> float:
        found = [losses[k](margins[k], data)[0] for _ in range(50)]
        return max(float(np.abs(one - right[k]).max() / np.abs(right[k]).max()) for one in found)

    with ThreadPoolExecutor(8) as pool:
        assert max(pool.map(call, range(8))) < 1e-6  # steps of float32 gradients
    if hasattr(os, "fork"):
        child = os.fork()
        if not child:
            os._exit(0 if max(map(call, range(4))) < 1e-6 else 1)
        assert os.waitpid(child, 0)[1] == 0


@quiet
@both
def test_two_boosters_and_cv_on_one_data_set(lib: Library) -> None:
    """Two in turns, with an objective each, are as each alone; a fold's labels are its own."""
    losses = [go.qwk_objective(), go.qwk_objective(clip=False)]

    def booster() -> Any:
        if lib is XGB:
            return xgb.Booster(XGB_PARAMS, [data])
        return lgb.Booster(LGB_PARAMS, data)

    def step(one: Any, loss: go.Objective) -> None:
        if lib is XGB:
            one.update(data, 0, loss)
        else:
            one.update(fobj=loss)

    data = rows_of(lib, Y)
    alone = []
    for loss in losses:
        data = rows_of(lib, Y)
        alone.append(booster())
        for _ in range(5):
            step(alone[-1], loss)
    data = rows_of(lib, Y)
    pair = [booster(), booster()]
    for _ in range(5):
        for one, loss in zip(pair, losses, strict=True):
            step(one, loss)
    for found, right in zip(pair, alone, strict=True):
        assert trees(lib, found) == trees(lib, right)

    def of_these_labels(margin: Any, rows: Any) -> Any:
        return go.qwk_objective(rows.get_label())(margin, rows)

    folds = [(np.arange(450), np.arange(450, 900)), (np.arange(300, 900), np.arange(300))]
    found, right = (
        xgb.cv(XGB_PARAMS, data, 5, obj=loss, custom_metric=SMOOTH, folds=folds, as_pandas=False)
        if lib is XGB
        else lgb.cv({**LGB_PARAMS, "objective": loss, "metric": "None"}, rows_of(lib, Y), 5,
                    folds=folds, feval=SMOOTH)
        for loss in (losses[0], of_these_labels)
    )  # fmt: skip
    means = lib.mean.format("extended_qwk")
    np.testing.assert_allclose(found[means], right[means], rtol=0, atol=2e-5)  # five digits


def trees(lib: Library, booster: Any) -> Any:
    return booster.get_dump() if lib is XGB else booster.model_to_string()


# --- the start, given by hand


@both
def test_several_outputs_far_from_their_constants_warn(lib: Library) -> None:
    """Classes of .96 and .01; classes of alike shares start well at 0."""

    def softmax(y: Any, f: Any, w: Any) -> Any:
        e = np.exp(f - f.max(axis=1, keepdims=True))
        p = e / e.sum(axis=1, keepdims=True)
        return p - (y[:, None] == np.arange(5)), 2 * p * (1 - p)

    loss = go.objective(softmax, outputs=5, link="softmax")
    rare = np.where(np.arange(900) % 25, 0, 1 + np.arange(900) // 25 % 4).astype(float)
    for y, count in ((rare, 1), (np.arange(900) % 5.0, 0)):
        assert len(starts(lib, loss, y, num_class=5)) == count


def test_a_base_score_that_contradicts_the_objective_warns() -> None:
    def train(score: float, y: Any, objective: go.Objective) -> None:
        XGB.train({**XGB.params, "base_score": score}, xgb.DMatrix(X, y), 2, objective=objective)

    loss = go.qwk_objective()
    far = "boosting starts at 0.5, far from .*: leave base_score out, and training starts at"
    with pytest.warns(UserWarning, match=far):
        train(0.5, Y + 20, loss)
    with pytest.warns(UserWarning, match="starts at 0, far from the best constant, -"):
        train(0.5, RARE, OFFSET)
    with pytest.warns(UserWarning, match=far):
        XGB.make(objective=loss, base_score=0.5).fit(X, Y + 20)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        train(22.0, Y + 20, loss)
        train(0.0005, RARE, OFFSET)


def test_a_base_margin_of_one_number_goes_into_the_model() -> None:
    start = np.full(900, 22.0)
    data = xgb.DMatrix(X, Y + 20, base_margin=start)
    call: dict[str, Any] = {"objective": go.qwk_objective()}
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        booster = XGB.train(XGB.params, data, 20, **call)
        model = XGB.make(**call, n_estimators=20)
        model.fit(X, Y + 20, base_margin=start)
    right = booster.predict(data)
    np.testing.assert_allclose(booster.predict(xgb.DMatrix(X)), right, atol=1e-5)  # float32 of 22
    assert model.predict(X).mean() == pytest.approx(right.mean(), abs=0.1)
    loss = {"objective": go.weighted_logloss_objective(1.0)}
    events = xgb.DMatrix(X, OFTEN, base_margin=np.full(900, -1.0))
    booster = XGB.train(XGB.params, events, 20, **loss)
    np.testing.assert_allclose(booster.predict(xgb.DMatrix(X)), booster.predict(events), atol=1e-6)


def test_an_init_score_of_one_number_is_refused() -> None:
    def data(start: Any) -> lgb.Dataset:
        return lgb.Dataset(X, Y, init_score=start, params=LGB_PARAMS)

    call: dict[str, Any] = {"objective": go.qwk_objective()}
    start = np.full(900, 2.0)
    for refused in (
        lambda: LGB.train(LGB_PARAMS, data(start), 3, **call),
        lambda: LGB.cv(data(start), 3, LGB_PARAMS, **call, metric=SMOOTH, stratified=False),
        lambda: LGB.make(**call).fit(X, Y, init_score=start),
        lambda: LGB.make(**call).fit(X, Y, eval_init_score=start),
    ):
        with pytest.raises(ValueError, match="init_score is given.*missing from the predictions"):
            refused()


@both
def test_a_start_that_differs_by_row_says_that_predictions_leave_it_out(lib: Library) -> None:
    start = 2 + X[:, 0]
    with pytest.warns(UserWarning, match="differs by row, .* leave it out: ") as told:
        lib.train(lib.params, lib.data(X, Y, start=start), 3, objective=go.qwk_objective())
    assert len(told) == 1


@each("name", ["reg:absoluteerror", "reg:quantileerror", "binary:hinge", "survival:cox",
               "survival:aft"])  # fmt: skip
def test_an_objective_of_xgboost_that_would_change_predictions(name: str) -> None:
    """It transforms margins or refits leaves, also where its model is trained on."""
    X, y = np.random.default_rng(0).random((200, 3)), np.arange(200) % 2
    data = xgb.DMatrix(X, y, label_lower_bound=y + 1.0, label_upper_bound=y + 1.0)
    params = {"objective": name, "base_score": 0.5, "quantile_alpha": 0.5, "verbosity": 0}
    obj, plain = go.qwk_objective([0, 1]), {"base_score": 0.5, "verbosity": 0}
    with pytest.raises(TypeError, match=f"{name}.*XGBRegressor.*leave objective out of the param"):
        xgb.train(params, data, 2, obj=obj)
    earlier = xgb.train(params, data, 2)
    with pytest.raises(TypeError, match=f"objective '{name}' would take for"):
        xgb.train(plain, data, 2, obj=obj, xgb_model=earlier)


@pytest.mark.filterwarnings("error")
def test_an_objective_of_xgboost_that_leaves_margins_alone() -> None:
    X, y = np.random.default_rng(0).random((200, 3)), np.arange(200) % 2
    data, obj = xgb.DMatrix(X, y, group=[200]), go.qwk_objective([0, 1])
    names = ("reg:squarederror", "reg:pseudohubererror", "binary:logitraw", "rank:ndcg")
    found = [
        xgb.train({"objective": name, "base_score": 0.5, "verbosity": 0}, data, 3, obj=obj)
        for name in names
    ]
    first, *others = [booster.predict(data) for booster in found]
    assert all(np.array_equal(first, other) for other in others)


@pytest.mark.parametrize("library", ["xgboost", "lightgbm"])
def test_locals_of_a_library_that_are_not_known_say_nothing(library: str) -> None:
    """Those of a later version may have other names."""

    class Booster:
        """One that no training has read."""

    for seen in ({}, {"params": {}}, {"params": {"eta": 0.1}, "stops": None}):
        assert asked.read_call(Booster(), "", library, seen, {}) == {}
