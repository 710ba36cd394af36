"""What silently trained another model or stopped at the wrong round is right, or refused."""

from __future__ import annotations

import contextlib
import os
import random
import re
import socket
import subprocess
import sys
import warnings
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import Any

import lightgbm as lgb
import numpy as np
import pandas as pd
import pytest
import xgboost as xgb

import gbdt_objectives as go
from gbdt_objectives.adapters import lightgbm as lightgbm_adapter, xgboost as xgboost_adapter
from tests.adapters.library import LGB, XGB, Library, both
from tests.cases import each

pytestmark = pytest.mark.filterwarnings(
    "ignore:The argument 'eval_set' is deprecated", "ignore:Overriding the parameters"
)
quiet = pytest.mark.filterwarnings("ignore:boosting starts at")
KAPPA, SMOOTH = go.qwk_metric((1, 4)), go.extended_qwk_metric()
TRAIN, TEST = slice(0, 400), slice(400, 600)


def regressor(lib: Library, **parameters: Any) -> Any:
    return lib.make(**{"n_estimators": 100, **parameters})


def fit_stopping(
    lib: Library, metric: go.Metric, X, y, rounds: int, weight=None, **parameters: Any
) -> Any:
    """A drop-in estimator that stops early on the rows after the first 400."""
    parameters = {"objective": go.qwk_objective(), "early_stopping_rounds": rounds,
                  "n_estimators": 100, **parameters}  # fmt: skip
    model = lib.make(**parameters)
    return lib.fit(model, X[TRAIN], y[TRAIN], [(X[TEST], y[TEST])], metric, sample_weight=weight)


def train_and_held_out(lib: Library, X, y) -> tuple[Any, Any]:
    data = lib.data(X[TRAIN], y[TRAIN])
    return data, lib.data(X[TEST], y[TEST], reference=data)


# --- one Dataset, many trainings


@pytest.mark.parametrize("constructed", [True, False])
def test_lightgbm_dataset_shared_by_two_threads_gives_every_model_its_intercept(
    constructed, ordinal
) -> None:
    X, y, _ = ordinal
    y = y + 20
    data = lgb.Dataset(X, y, params=LGB.params)
    if constructed:  # else by the first thread, while the second one waits
        data.construct()

    def trial(k: int) -> np.ndarray:
        params = {**LGB.params, "learning_rate": 0.05 * (k + 1)}
        booster = LGB.train(
            params, data, 10, objective=go.qwk_objective(), metric=SMOOTH, evals=[(data, "t")]
        )
        return booster.predict(X)

    with ThreadPoolExecutor(2) as pool:
        together = list(pool.map(trial, range(8)))
    for k, prediction in enumerate(together):
        assert prediction.mean() == pytest.approx(y.mean(), abs=0.1)
        np.testing.assert_array_equal(prediction, trial(k))


FORK = """
import os, threading, time
import lightgbm as lgb, numpy as np
from gbdt_objectives import qwk_objective
from gbdt_objectives.adapters.lightgbm import train

X, begun, forked = np.random.default_rng(0).random((300, 2)), threading.Event(), threading.Event()
y = np.rint(2 * X[:, 0])

def wait(env):  # until the other thread has forked
    begun.set()
    forked.wait()

wait.before_iteration, wait.order = True, -(10**9)  # while no other thread may construct data

def trained(*callbacks):
    params = {"num_leaves": 3, "verbose": -1, "num_threads": 1}
    train(params, lgb.Dataset(X, y), 2, objective=qwk_objective(), callbacks=list(callbacks))

thread = threading.Thread(target=trained, args=(wait,))
thread.start()
begun.wait()
child = os.fork()
if not child:
    trained()
    os._exit(0)
forked.set()
thread.join()
deadline = time.monotonic() + 30
while not (ended := os.waitpid(child, os.WNOHANG))[0] and time.monotonic() < deadline:
    time.sleep(0.05)
if not ended[0]:
    os.kill(child, 9)
    raise SystemExit("the child hangs")
raise SystemExit(os.waitstatus_to_exitcode(ended[1]))
"""


@pytest.mark.slow
@pytest.mark.skipif(not hasattr(os, "fork"), reason="Windows has no fork")
def test_a_child_forked_while_another_thread_trains_can_train() -> None:
    ran = subprocess.run([sys.executable, "-c", FORK], capture_output=True, text=True, timeout=120)
    assert ran.returncode == 0, ran.stderr


@each("free_raw_data", [True, False])
@each("params", [{"min_data_in_leaf": 5}, {"max_bin": 31}], ids=str)
@each("kind", ["whole", "subset", "subset of constructed", "constructed"])
def test_lightgbm_params_that_differ_from_the_dataset_lose_no_intercept(
    kind: str, params: dict[str, Any], free_raw_data: bool, ordinal
) -> None:
    X, y, _ = ordinal
    y = y + 20
    own = {"min_data_in_leaf": 30, "max_bin": 100, "verbose": -1}
    data = lgb.Dataset(X, y, free_raw_data=free_raw_data, params=own)
    if "constructed" in kind:
        data.construct()
    if "subset" in kind:
        data = data.subset(range(0, 600, 2))
    arguments = (LGB.params | params, data, 25)
    if kind == "constructed" and free_raw_data:
        with pytest.raises(lgb.basic.LightGBMError):  # LightGBM's own refusal
            LGB.train(*arguments, objective=go.qwk_objective())
        return
    score = LGB.train(*arguments, objective=go.qwk_objective()).predict(X)
    assert score.mean() == pytest.approx(y.mean(), abs=0.05)
    classes = np.rint(score).clip(21, 24).astype(int)
    assert go.quadratic_weighted_kappa(y, classes) > 0.8  # 0.71 if training started at 0


@pytest.mark.filterwarnings("ignore:.*differs by row")  # a start per row is meant
@each("constructed", [True, False])
def test_lightgbm_dropping_the_init_score_of_a_subset_raises(constructed: bool, ordinal) -> None:
    X, y, _ = ordinal
    rows, start = np.arange(0, 600, 2), y.mean() + X[:, 3] - 0.5
    whole = {"free_raw_data": False, "params": {"verbose": -1}}
    half = lgb.Dataset(X, y, **whole).subset(rows)
    if constructed:
        half.construct()
    half.set_init_score(start[rows])
    call = {"objective": go.qwk_objective()}
    with pytest.raises(RuntimeError, match="the start was lost.* set it on the whole Dataset"):
        LGB.train({**LGB.params, "max_bin": 31}, half, 5, **call)
    # what the message says to do
    half = lgb.Dataset(X, y, init_score=start, **whole).subset(rows)
    booster = LGB.train(LGB.params, half, 20, **call)
    assert (booster.predict(X) + start).mean() == pytest.approx(y.mean(), abs=0.1)


@pytest.mark.filterwarnings("ignore:.*differs by row")  # a start per row is meant
def test_lightgbm_dropping_the_init_score_of_an_evaluation_set_raises(ordinal) -> None:
    X, y, _ = ordinal
    start = y.mean() + 0.1 * X[:, 0]
    whole = lgb.Dataset(X, y, init_score=start, free_raw_data=False)
    data, held_out = whole.subset(range(400)), whole.subset(range(400, 600))
    call: dict[str, Any] = {"objective": go.qwk_objective(), "metric": SMOOTH}
    LGB.train(LGB.params, data, 3, evals=[(held_out, "v")], **call)
    held_out = lgb.Dataset(X, y, free_raw_data=False, reference=whole).subset(range(400, 600))
    held_out.set_init_score(start[400:])
    with pytest.raises(RuntimeError, match="on an evaluation set.*the start was lost"):
        LGB.train(LGB.params, data, 3, evals=[(held_out, "v")], **call)


@pytest.mark.parametrize("constructed", [True, False])
@pytest.mark.parametrize("free_raw_data", [True, False])
@pytest.mark.parametrize("whose", ["ours", "the library's"])
def test_lightgbm_dataset_after_init_model_starts_where_it_did_before(
    whose: str, free_raw_data: bool, constructed: bool, ordinal
) -> None:
    X, y, _ = ordinal
    y = y + 20
    obj = go.qwk_objective()
    first = LGB.train(LGB.params, lgb.Dataset(X, y), 5, objective=obj)
    data = lgb.Dataset(X, y, free_raw_data=free_raw_data, params=LGB.params)
    held_out = lgb.Dataset(X[TEST], y[TEST], reference=data, free_raw_data=free_raw_data)
    if constructed:
        data.construct()
    if constructed and free_raw_data:
        with pytest.raises(lgb.basic.LightGBMError, match="freed raw data"):
            LGB.train(LGB.params, data, 5, objective=obj, init_model=first)
    elif whose == "ours":
        LGB.train(LGB.params, data, 5, objective=obj, init_model=first,
                  metric=SMOOTH, evals=[(held_out, "v")])  # fmt: skip
    else:
        params = {**LGB.params, "objective": "regression"}
        lgb.train(params, data, 5, init_model=first, valid_sets=[held_out])
    call: dict[str, Any] = {"objective": obj, "metric": SMOOTH, "evals": [(held_out, "v")]}
    if free_raw_data and not constructed and whose != "ours":
        with pytest.raises(lgb.basic.LightGBMError, match="freed raw data"):
            LGB.train(LGB.params, data, 5, **call)
        return
    for _ in range(2):  # LightGBM sets back what it left to zeros, which are no start either
        record: dict[str, Any] = {}
        again = LGB.train(LGB.params, data, 5, callbacks=[lgb.record_evaluation(record)], **call)
        np.testing.assert_array_equal(again.predict(X), first.predict(X))
        expected = SMOOTH(y[TEST], first.predict(X[TEST]))
        assert record["v"]["extended_qwk"][-1] == pytest.approx(expected)


@pytest.mark.filterwarnings("ignore:(categorical_feature|label) keyword")
def test_lightgbm_columns_given_by_name_leave_a_model_that_can_be_read(ordinal, tmp_path) -> None:
    """LightGBM writes names into the model that it cannot read back."""
    X, y, _ = ordinal
    X = np.column_stack([X[:, 0], (X[:, 1] * 4).astype(int)])
    file = tmp_path / "rows.csv"
    np.savetxt(file, np.column_stack([y, X]), delimiter=",", header="y,a,b", comments="")
    params = {**LGB.params, "header": True, "label": "name:y", "categorical_feature": "name:b"}
    booster = LGB.train(params, lgb.Dataset(str(file)), 30, objective=go.qwk_objective())
    again = lgb.Booster(model_str=booster.model_to_string())
    np.testing.assert_array_equal(again.predict(X), booster.predict(X))
    classes = np.rint(again.predict(X)).clip(1, 4).astype(int)
    assert go.quadratic_weighted_kappa(y, classes) > 0.6
    plain = lgb.train({**params, "objective": "l2"}, lgb.Dataset(str(file)), 5)
    moved = LGB.shift_intercept(plain, delta=3.0)
    np.testing.assert_allclose(moved.predict(X), plain.predict(X) + 3, rtol=1e-12)


# --- early stopping: precision, direction, plateau


@pytest.mark.slow
def test_xgboost_stops_at_the_same_round_whatever_the_unit_of_the_labels(ordinal) -> None:
    """XGBoost prints metrics with six decimals, and early stopping read those."""
    X, y, _ = ordinal
    metric = go.metrics.squared_error_metric()
    # heavy rows: XGBoost never splits for a gain below 1e-6, in weighted squared units
    weight, params = np.full(600, 2.0**20), {"learning_rate": 0.1}
    kept, exact, tables = [], [], []
    for unit in (2.0**-10, 1.0):
        target = y * unit
        data = XGB.data(X[TRAIN], target[TRAIN], weight[TRAIN])
        held_out = XGB.data(X[TEST], target[TEST])
        record: dict[str, Any] = {}
        booster = XGB.train(
            {**XGB.params, **params}, data, 150, objective=go.qwk_objective(), metric=metric,
            evals=[(held_out, "v")], early_stopping_rounds=10, evals_result=record,
        )  # fmt: skip
        model = fit_stopping(XGB, metric, X, target, 10, weight[TRAIN], n_estimators=150, **params)
        table = XGB.cv(
            XGB.data(X, target, weight), 150, {**XGB.params, **params},
            objective=go.qwk_objective(), metric=metric, nfold=3, early_stopping_rounds=10,
        )  # fmt: skip
        rounds = [
            XGB.rounds(booster),
            XGB.rounds(model.get_booster()),
            len(table["test-squared_error-std"]),
        ]
        kept.append(rounds)
        values = record["v"]["squared_error"]
        assert rounds[0] == np.argmin(values) + 1
        assert model.evals_result()["validation_0"]["squared_error"] == pytest.approx(
            values, rel=1e-6
        )
        assert min(values) == pytest.approx(
            metric(target[TEST], XGB.predict(booster, X[TEST])), rel=1e-4
        )
        exact.append(np.array(values) / unit**2)
        tables.append({name: np.array(column) / unit**2 for name, column in table.items()})
    assert min(exact[0]) * 2.0**-20 < 5e-7  # 0.000000 when printed
    assert kept[0] == kept[1]
    assert min(kept[0]) > 5
    np.testing.assert_allclose(exact[0], exact[1], rtol=1e-4)
    for name in ("train-squared_error-mean", "test-squared_error-mean", "test-squared_error-std"):
        np.testing.assert_allclose(tables[0][name], tables[1][name], rtol=1e-3)


class Mine(xgb.callback.EarlyStopping):
    """A user's own class."""


TOLD = {
    "nothing": lambda: xgb.callback.EarlyStopping(rounds=10),
    "its direction": lambda: xgb.callback.EarlyStopping(rounds=10, maximize=True),
    "its metric": lambda: xgb.callback.EarlyStopping(rounds=10, metric_name="extended_qwk"),
    "all, by us": lambda: xgboost_adapter.early_stopping(SMOOTH, 10),
}


@pytest.fixture(scope="module")
def by_argument(ordinal) -> tuple[int, dict[str, list[float]]]:
    """The rounds that train keeps with early_stopping_rounds=, and the history of cv."""
    X, y, _ = ordinal
    data, held_out = train_and_held_out(XGB, X, y)
    stops = {"objective": go.qwk_objective(), "metric": SMOOTH, "early_stopping_rounds": 10}
    booster = XGB.train(XGB.params, data, 100, evals=[(held_out, "v")], **stops)
    history = XGB.cv(XGB.data(X, y), 100, **stops)
    assert 5 < XGB.rounds(booster) < 90
    assert 5 < len(history["test-extended_qwk-mean"]) < 90
    return XGB.rounds(booster), history


@pytest.mark.slow
@pytest.mark.parametrize("told", list(TOLD))
def test_xgboost_early_stopping_of_the_user_is_told_the_direction(
    told, by_argument, ordinal
) -> None:
    X, y, _ = ordinal
    (rounds, history), stop = by_argument, TOLD[told]
    data, held_out = train_and_held_out(XGB, X, y)
    call: dict[str, Any] = {"objective": go.qwk_objective(), "metric": SMOOTH}
    evals = [(held_out, "v")]
    booster = XGB.train(XGB.params, data, 100, evals=evals, callbacks=[stop()], **call)
    assert XGB.rounds(booster) == rounds
    model = regressor(XGB, objective=go.qwk_objective(), callbacks=[stop()])
    XGB.fit(model, X[TRAIN], y[TRAIN], [(X[TEST], y[TEST])], SMOOTH)
    assert XGB.rounds(model.get_booster()) == rounds
    assert XGB.cv(XGB.data(X, y), 100, callbacks=[stop()], **call) == history


@pytest.mark.parametrize("kind", [xgb.callback.EarlyStopping, Mine])
@pytest.mark.parametrize(
    ("contradiction", "message"),
    [
        ({"maximize": False}, "with maximize=False, but a greater extended_qwk .*leave maximize"),
        ({"metric_name": "rmse"}, "on 'rmse', but what .* 'extended_qwk': .*leave metric_name"),
    ],
    ids=str,
)
def test_xgboost_early_stopping_that_contradicts_the_metric_is_refused(
    kind, contradiction, message, ordinal
) -> None:
    X, y, _ = ordinal
    data = XGB.data(X, y)
    call = {"objective": go.qwk_objective(), "metric": SMOOTH,
            "callbacks": [kind(rounds=10, **contradiction)]}  # fmt: skip
    with pytest.raises(ValueError, match=message):
        XGB.train({}, data, 5, evals=[(XGB.data(X[:9], y[:9]), "v")], **call)
    with pytest.raises(ValueError, match=message):
        XGB.cv(data, 5, **call)
    if "metric_name" in contradiction:  # which an estimator measures, too
        return
    model = regressor(XGB, objective=go.qwk_objective(), callbacks=call["callbacks"])
    with pytest.raises(ValueError, match=message):
        XGB.fit(model, X, y, [(X[:9], y[:9])], SMOOTH)


@both
def test_early_stopping_of_the_user_does_not_look_at_the_training_data(
    lib: Library, ordinal
) -> None:
    X, y, _ = ordinal
    data, held_out = train_and_held_out(lib, X, y)
    call: dict[str, Any] = {"objective": go.qwk_objective(), "metric": SMOOTH}
    ours_last, theirs_last = [(held_out, "v"), (data, "t")], [(data, "t"), (held_out, "v")]
    own = partial(xgb.callback.EarlyStopping, rounds=10)
    training = "'t', which is the training data"
    cases = [
        ({}, ours_last, lib.stop(10), training),
        ({"booster" if lib is XGB else "boosting": "dart"}, [(held_out, "v")], lib.stop(10),
         "dart (rescales|and gblinear change)"),
    ]  # fmt: skip
    if lib is XGB:
        cases += [
            ({}, theirs_last, own(data_name="t"), training),
            ({}, theirs_last, own(data_name="u"),
             "look at 'u', but the evaluation sets are 't', 'v'"),
        ]  # fmt: skip
    for params, evals, stop, message in cases:
        with pytest.raises(ValueError, match=message):
            lib.train(params, data, 5, evals=evals, callbacks=[stop], **call)


@pytest.mark.slow
@quiet
def test_our_callback_stops_xgboost_itself_right(ordinal) -> None:
    X, y, _ = ordinal
    obj = go.qwk_objective(y)
    data, held_out = train_and_held_out(XGB, X, y)
    params = {**XGB.params, "base_score": obj.intercept}
    ours = XGB.train(
        XGB.params, data, 100, objective=obj, metric=SMOOTH, evals=[(held_out, "v")],
        early_stopping_rounds=10,
    )  # fmt: skip
    assert 5 < XGB.rounds(ours) < 90
    call: dict[str, Any] = {"obj": obj, "custom_metric": SMOOTH.xgboost}
    callback = xgboost_adapter.early_stopping(SMOOTH, 10)
    given = {"objective": obj, "base_score": obj.intercept, "n_estimators": 100}
    by_callback = XGB.make(plain=True, **given, callbacks=[callback])
    for _ in range(2):  # the callback forgets the first training
        XGB.fit(by_callback, X[TRAIN], y[TRAIN], [(X[TEST], y[TEST])], SMOOTH)
        assert XGB.rounds(by_callback.get_booster()) == XGB.rounds(ours)
    fold = {"as_pandas": False, **call}
    by_callback = xgb.cv(params, data, 60, callbacks=[callback], **fold)
    assert by_callback == xgb.cv(params, data, 60, maximize=True, early_stopping_rounds=10, **fold)
    with pytest.raises(TypeError, match="metric must be a Metric"):
        xgboost_adapter.early_stopping("qwk", 10)


SLOW = {"learning_rate": 0.01}


@pytest.mark.slow
@both
@pytest.mark.filterwarnings("error:early stopping keeps")
def test_early_stopping_on_rounded_kappa_outlasts_the_plateau_at_its_start(
    lib: Library, ordinal
) -> None:
    """All rounded scores are one class for longer than the patience lasts."""
    X, _, _ = ordinal
    y = np.digitize(X[:, 0], [0.3, 0.7]) + 1  # the mean is in the middle of the middle class
    kappa, obj, params = go.qwk_metric((1, 3)), go.qwk_objective(), {**lib.params, **SLOW}
    data, held_out = train_and_held_out(lib, X, y)
    booster = lib.train(
        params, data, 150, objective=obj, metric=kappa, evals=[(held_out, "v")],
        early_stopping_rounds=20,
    )  # fmt: skip
    assert kappa(y[TEST], lib.predict(booster, X[TEST], rounds=40)) == 0  # the plateau
    assert lib.rounds(booster) > 40
    assert kappa(y[TEST], lib.predict(booster, X[TEST])) > 0.2
    call: dict[str, Any] = {"objective": obj, "metric": kappa, "nfold": 3}
    table = lib.cv(lib.data(X, y), 150, params, early_stopping_rounds=20, **call)
    means = list(table[lib.mean.format("qwk")])
    assert means[39] == 0
    assert means[-1] == max(means) > 0.2


@both
def test_a_best_round_among_the_first_few_of_many_warns(lib: Library, ordinal) -> None:
    X, y, _ = ordinal
    noise = np.random.default_rng(1).permutation(y)  # nothing to learn: soon worse
    data, held_out = lib.data(X[TRAIN], y[TRAIN]), None
    held_out = lib.data(X[TEST], noise[TEST], reference=data)
    metric = go.metrics.squared_error_metric()
    with pytest.warns(
        UserWarning, match=r"early stopping keeps [123] of \d+ rounds: squared_error"
    ):
        lib.train(lib.params, data, 50, objective=go.qwk_objective(), metric=metric,
                  evals=[(held_out, "v")], early_stopping_rounds=15)  # fmt: skip
    labels = np.concatenate([y[TRAIN], noise[TEST]])
    with pytest.warns(UserWarning, match="early stopping keeps"):
        fit_stopping(lib, metric, X, labels, 15)
    with pytest.warns(UserWarning, match="early stopping keeps"):
        lib.cv(lib.data(X, noise), 50, objective=go.qwk_objective(), metric=metric, nfold=3,
               early_stopping_rounds=15)  # fmt: skip


# --- interfaces that take an objective for something else


class OfTheUser(xgb.XGBClassifier):
    """A subclass is no less a classifier."""


@quiet
def test_plain_classifiers_refuse_a_score_in_label_units(ordinal) -> None:
    X, y, _ = ordinal
    t = (y > 2).astype(int)
    read = "would interpret as log-odds"
    scores, odds = (go.qwk_objective(t), go.qwk_objective()), (
        go.weighted_logloss_objective(0.5), go.offset_logloss_objective(0.5))  # fmt: skip
    for kind, objectives, message in (
        (xgb.XGBClassifier, scores, f"which XGBClassifier {read}: import XG"),
        (xgb.XGBRFClassifier, scores, read),
        (OfTheUser, scores, f"which XGBClassifier {read}"),
        (lgb.LGBMClassifier, scores, f"which LGBMClassifier {read}: import LG"),
        (lgb.LGBMClassifier, odds, "returns raw scores as probabilities"),
    ):
        for objective in objectives:
            with pytest.raises(TypeError, match=message):
                kind(objective=objective).fit(X, t)
    for objective in odds:
        xgb.XGBClassifier(objective=objective, n_estimators=2).fit(X, t)  # right there


WORKER = """
import gc, sys, warnings
import lightgbm as lgb, numpy as np
import gbdt_objectives as go
from gbdt_objectives.adapters import lightgbm as adapter

warnings.simplefilter("ignore")
mine, ports = int(sys.argv[1]), sys.argv[2:]
rng = np.random.default_rng(mine)
X = rng.random((200, 3))
y = np.digitize(X[:, 0], [0.3, 0.6]) + 1.0
obj, kappa = go.qwk_objective([1, 2, 3]), go.objectives.kappa_objective("absolute", [1, 2, 3])
for how in ("train", "kappa", "adapter", "estimator"):
    pair, ports = ports[:2], ports[2:]
    params = {
        "machines": ",".join(f"127.0.0.1:{port}" for port in pair),
        "local_listen_port": int(pair[mine]), "tree_learner": "data", "pre_partition": True,
        "time_out": 1, "verbose": -1, "num_threads": 1,
    }
    try:
        if how in ("train", "kappa"):
            given = kappa if how == "kappa" else obj
            lgb.train({**params, "objective": given}, lgb.Dataset(X, y), 3)
        elif how == "adapter":
            adapter.train(params, lgb.Dataset(X, y), 3, objective=obj)
        else:
            lgb.LGBMRegressor(objective=obj, n_estimators=3, **params).fit(X, y)
        print(how, "trained")
    except ValueError as error:
        print(how, "refused:", error)
    gc.collect()  # the booster, which leaves the network
"""


def free_ports(n: int) -> list[str]:
    """Below those that the system hands out, which another test could get before they are used."""
    free: list[str] = []
    for port in random.SystemRandom().sample(range(20_000, 30_000), 100):
        with socket.socket() as s, contextlib.suppress(OSError):
            s.bind(("127.0.0.1", port))
            free.append(str(port))
    return free[:n]


@pytest.mark.slow
def test_distributed_lightgbm_refuses_on_the_first_call() -> None:
    """Two real workers, each of which would see the sums of its own rows only."""
    ports = free_ports(8)
    workers = [
        subprocess.Popen(
            [sys.executable, "-c", WORKER, str(rank), *ports],
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
        )
        for rank in (0, 1)
    ]  # fmt: skip
    try:
        for worker in workers:
            out, err = worker.communicate(timeout=100)
            for how in ("train", "kappa", "adapter", "estimator"):
                assert f"{how} refused: " in out, (out, err)
            assert "kappa refused: RatioObjective is called in distributed LightGBM" in out
            assert out.count("refused: QWKObjective is called in distributed LightGBM") >= 2
            assert "train on one machine, with XGBoost, or on Dask within lightgbm()" in out
    finally:
        for worker in workers:
            worker.kill()


# --- what a user's own function may do


@both
@each("victim", ["labels", "weights"])
def test_a_gradient_function_that_writes_into_its_arguments_raises(
    lib: Library, victim: str, ordinal
) -> None:
    X, y, w = ordinal
    y = y.astype(float)
    data = lib.data(X, y, w)
    if lib is LGB:
        data.construct()
    obj = go.objective(writes_labels if victim == "labels" else writes_weights)
    with pytest.raises(ValueError, match="read-only"):
        lib.train(lib.params, data, 2, objective=obj)
    with pytest.raises(ValueError, match="read-only"):
        lib.plain(obj, data, 2)
    np.testing.assert_array_equal(data.get_label(), y)
    np.testing.assert_array_equal(data.get_weight(), w)
    X0, y0, w0 = X.copy(), y.copy(), w.copy()
    with pytest.raises(ValueError, match="read-only"):
        regressor(lib, objective=obj).fit(X, y, sample_weight=w)
    for now, before in ((X, X0), (y, y0), (w, w0)):
        np.testing.assert_array_equal(now, before)


def writes_labels(y_true, margin, sample_weight):
    y_true -= 1
    return margin - y_true, sample_weight


def writes_weights(y_true, margin, sample_weight):
    sample_weight *= 2
    return sample_weight * (margin - y_true), sample_weight


# --- extreme labels and margins


@both
@pytest.mark.parametrize("unit", [1e-6, 1e6])
def test_labels_of_any_unit_train_alike(lib: Library, unit: float, ordinal) -> None:
    X, y, _ = ordinal
    small = lib.train(lib.params, lib.data(X, y * unit), 15, objective=go.qwk_objective())
    if lib is XGB and unit < 1:  # XGBoost never splits for a gain below 1e-6, in squared units
        np.testing.assert_allclose(lib.predict(small, X) / unit, y.mean(), rtol=1e-6)
        return
    plain = lib.train(lib.params, lib.data(X, y), 15, objective=go.qwk_objective())
    np.testing.assert_allclose(lib.predict(small, X) / unit, lib.predict(plain, X), atol=2e-3)


@each("weighted", [False, True])
@each("n", [3, 20_000])
def test_margins_of_1e20_without_clipping_give_finite_gradients(n: int, weighted: bool) -> None:
    y = np.resize([0.0, 1.0, 2.0], n)
    w = np.resize([1.0, 3.0], n) if weighted else None
    obj = go.qwk_objective([0, 1, 2], clip=False)
    far = np.resize([1e20, -1e20, 3e19], n)
    for margin in (far, far.astype(np.float32)):
        for gradient, hessian in (obj(y, margin, w), obj.bind(y, w)(margin)):
            assert np.isfinite(gradient).all()
            assert np.isfinite(hessian).all()
        assert np.isfinite(obj.loss(y, margin, w))


@each(
    "given",
    [{"mean": 2.0}, {"variance": 0.7}, {"mean": 2.0, "variance": 0.7}, {"label_range": (0, 9)},
     {"mean": 2.5, "label_range": (0, 9)}, {"mean": 2.0, "variance": 0.7, "clip": False}],
    ids=str,
)  # fmt: skip
def test_what_is_given_to_the_objective_is_never_measured_over(given, ordinal) -> None:
    _, y, w = ordinal
    for weight in (None, w):
        measured = go.qwk_objective(**given).measured(y, weight)
        mean = np.average(y, weights=weight)
        found = {"mean": mean, "variance": np.average((y - mean) ** 2, weights=weight)}
        for name, value in {**found, **given}.items():
            assert getattr(measured, name) == pytest.approx(value), name
        assert measured.measured(y + 1 if "label_range" in given else y) == measured


# --- messages


@quiet
def test_a_metric_in_the_form_of_the_other_library_is_refused(ordinal) -> None:
    X, y, _ = ordinal
    obj = go.qwk_objective(y)
    dmatrix = xgb.DMatrix(X, y)
    dataset = lgb.Dataset(X, y, params={"verbose": -1})
    params = {**LGB.params, "objective": obj}
    with pytest.raises(TypeError, match="called by lightgbm: pass the metric itself, or metric.li"):
        lgb.train(params, dataset, 2, feval=KAPPA.xgboost, valid_sets=[dataset])
    with pytest.raises(TypeError, match="called by xgboost: pass the metric itself, or metric.xgb"):
        xgb.train({}, dmatrix, 2, obj=obj, custom_metric=KAPPA.lightgbm, evals=[(dmatrix, "t")])


@both
def test_factories_that_were_not_called_are_named(lib: Library, ordinal) -> None:
    X, y, _ = ordinal
    data = lib.data(X, y)
    obj = go.qwk_objective(y)
    said = r"is the function qwk_objective itself: call it, qwk_objective\(...\)"
    for call in (
        lambda: lib.train({}, data, 2, objective=go.qwk_objective),
        lambda: lib.cv(data, 2, objective=go.qwk_objective, metric=SMOOTH),
        lambda: regressor(lib, objective=go.qwk_objective).fit(X, y),
    ):
        with pytest.raises(TypeError, match=f"objective {said}"):
            call()
    said = r"metric is the function extended_qwk_metric itself: call it, extended_qwk_metric\("
    factory = go.extended_qwk_metric
    for call in (
        lambda: lib.train({}, data, 2, objective=obj, metric=factory, evals=[(data, "t")]),
        lambda: lib.cv(data, 2, objective=obj, metric=factory),
        lambda: lib.fit(regressor(lib, objective=obj), X, y, [(X[:9], y[:9])], factory),
    ):
        with pytest.raises(TypeError, match=said):
            call()


@both
def test_obj_instead_of_objective_is_the_librarys_own_word(lib: Library, ordinal) -> None:
    X, y, _ = ordinal
    data, obj = lib.data(X, y), go.qwk_objective(y)
    own = {"dtrain" if lib is XGB else "train_set": data}
    same = lib.train({}, num_boost_round=2, obj=obj, **own)  # the library's own words
    ours = lib.train({}, data, 2, objective=obj)
    np.testing.assert_allclose(lib.predict(same, X), lib.predict(ours, X), rtol=1e-6)  # float32


def test_a_hundred_thousand_values_make_no_endless_message(ordinal) -> None:
    X, y, _ = ordinal
    many = list(range(100_000))
    data, obj = XGB.data(X, y), go.qwk_objective(y)
    array = np.arange(100_000.0)
    calls = [
        lambda lib: lib.train(many, lib.data(X, y), 2, objective=obj),
        lambda lib: lib.train({}, lib.data(X, y), 2, objective=many),
        lambda lib: lib.train(
            {}, lib.data(X, y), 2, objective=obj, metric=many, evals=[(data, "t")]
        ),
        lambda lib: lib.train({}, lib.data(X, y), 2, objective=obj, metric=SMOOTH, evals=many),
        lambda lib: lib.train({}, lib.data(X, y), many, objective=obj),
        lambda lib: lib.train({}, lib.data(X, y), array, objective=obj),
        lambda lib: lib.train({"num_class": many}, lib.data(X, y), 2, objective=obj),
        lambda lib: go.qwk_objective(many, label_range=(0, 9)),
        lambda lib: xgboost_adapter.early_stopping(many, 10),
        lambda _: XGB.train({}, data, 2, objective=obj, metric=SMOOTH,
                            evals=[(data, "t" * 100_000 + " ")]),
        lambda lib: lightgbm_adapter.LGBMClassifier(
            objective=go.offset_logloss_objective(0.1)).fit(np.zeros((100_000, 1)), many),
    ]  # fmt: skip
    for lib in (XGB, LGB):
        for call in calls:
            with pytest.raises((ValueError, TypeError)) as error:
                call(lib)
            assert len(str(error.value)) < 1000, str(error.value)[:300]


def test_a_metric_called_by_hand_inside_a_users_own_function_is_nobodys_business(ordinal) -> None:
    """Only a booster that calls the metric itself can misread it."""
    X, y, _ = ordinal

    def mine(y_true: np.ndarray, y_pred: np.ndarray) -> tuple[str, float, bool]:
        return "mine", KAPPA(y_true, y_pred), True

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = LGB.fit(LGB.make(plain=True), X, y, [(X, y)], mine)
    (values,) = LGB.history(model).values()
    assert "mine" in values


@each("objective", [go.weighted_logloss_objective(1), go.focal_objective(1.0)])
@each(("alias", "given"), [("metric", "l2"), ("metrics", "l2"), ("metric_types", "l2"),
                           ("metric", ["l2", "l1"]), ("metric", ("l2", "l1"))])  # fmt: skip
def test_a_built_in_metric_as_a_parameter_is_refused(rare, objective, alias, given) -> None:
    X, y, _ = rare
    model = LGB.make(True, objective=objective, n_estimators=2, **{alias: given})
    with pytest.raises(ValueError, match="eval_metric 'l2' is LightGBM's own"):
        model.fit(X, y, eval_set=[(X, y)])
    model.set_params(**{alias: "None"}).fit(X, y)


def test_rounds_of_a_continued_training_are_counted_from_its_start() -> None:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(800, 3))
    y = np.digitize(X[:, 0], [-1, 1]).astype(float)
    train, held_out = XGB.data(X[:400], y[:400]), XGB.data(rng.normal(size=(400, 3)), y[400:])
    began = XGB.train({"max_depth": 2}, train, 25, objective=go.qwk_objective())
    with pytest.warns(
        UserWarning, match=r"early stopping keeps [123] of (9|1\d) rounds: "
    ) as warned:
        booster = XGB.train(
            {"max_depth": 2}, train, 60, objective=go.qwk_objective(), xgb_model=began,
            metric=go.extended_qwk_metric(), evals=[(held_out, "v")], early_stopping_rounds=9,
        )  # fmt: skip
    kept = int(str(warned[0].message).split(" keeps ")[1].split()[0])
    assert XGB.rounds(booster) == 25 + kept


def rounded_kappa(y_true, y_pred):
    return go.quadratic_weighted_kappa(y_true, np.clip(np.rint(y_pred), 1, 4))


def test_a_function_that_early_stopping_would_minimise(ordinal) -> None:
    """XGBoost takes every function for a loss. One minus kappa is one."""
    X, y, _ = ordinal

    def fit(metric, objective=go.qwk_objective(), **how):  # noqa: B008
        model = regressor(XGB, objective=objective, eval_metric=metric, n_estimators=60, **how)
        return model.fit(X[TRAIN], y[TRAIN], eval_set=[(X[TEST], y[TEST])], verbose=False)

    for objective in (go.qwk_objective(), None):
        with pytest.raises(ValueError, match="would minimise 'rounded_kappa', .*pass a Metric"):
            fit(rounded_kappa, objective, early_stopping_rounds=9)
        with pytest.raises(ValueError, match="would minimise 'rounded_kappa'"):
            fit(rounded_kappa, objective, callbacks=[xgb.callback.EarlyStopping(rounds=9)])
    said = fit(rounded_kappa, callbacks=[xgb.callback.EarlyStopping(rounds=9, maximize=True)])
    turned = fit(lambda y, f: 1 - rounded_kappa(y, f), early_stopping_rounds=9)
    assert said.best_iteration == turned.best_iteration > 0
    error = fit(lambda y, f: abs(y - f).mean(), early_stopping_rounds=9)
    assert error.best_iteration > 0
    assert "rounded_kappa" in fit(rounded_kappa).evals_result()["validation_0"]


@both
def test_a_function_that_would_get_log_odds(lib: Library) -> None:
    """It would take margins for probabilities; one that ranks them may have them."""
    X = np.random.default_rng(0).random((300, 3))
    y, held_out = (X[:, 0] > 0.7).astype(int), [(X[:100], (X[:100, 0] > 0.7).astype(int))]

    def fit(measure):
        def metric(y_true, y_pred):
            value = measure(y_true, y_pred)
            return value if lib is XGB else ("value", value, False)

        model = lib.make(True, objective=go.weighted_logloss_objective(0.5), n_estimators=5)
        lib.fit(model, X, y, held_out, metric)

    with pytest.raises(ValueError, match="get margins, log-odds.*: pass weighted_logloss_metric"):
        fit(lambda y, p: np.mean((y - p) ** 2))
    fit(lambda y, p: np.corrcoef(y, np.argsort(np.argsort(p)))[0, 1])


@both
def test_words_in_alphabetical_order_under_an_objective_of_sampled_negatives_warn(lib) -> None:
    """Label 1 would be "good", though events are "bad"."""
    rng = np.random.default_rng(0)
    X = rng.random((400, 2))
    y = np.where(rng.random(400) < 0.26, "bad", "good")
    model = lib.make(True, objective=go.offset_logloss_objective(0.1), n_estimators=2)
    target = (y == "good").astype(int) if lib is XGB else y  # XGBoost takes numbers only
    with pytest.warns(UserWarning, match="drops rows of 0, .*alphabetical order"):
        model.fit(X, target)


def go_on_in_lightgbm(X, y, earlier) -> list[Any]:
    """Training on from a model at each door."""
    obj, given = go.qwk_objective([1, 4]), {"init_model": earlier}
    params, data = {"verbose": -1, "num_threads": 1}, lambda: lgb.Dataset(X, y)
    fits = [lambda plain=plain: LGB.make(plain=plain, objective=obj, n_estimators=1).fit(
        X, y, **given) for plain in (False, True)]  # fmt: skip
    return [
        lambda: LGB.train(params, data(), 1, objective=obj, **given),
        lambda: LGB.cv(data(), 1, params, objective=obj, metric=SMOOTH, **given),
        lambda: lgb.train({**params, "objective": obj}, data(), 1, **given),
        *fits,
    ]


@quiet
def test_an_earlier_model_of_other_margins() -> None:
    """A forest's are sums, and it predicts means; those of another link mean something else; and
    columns are read by position."""
    rng = np.random.default_rng(0)
    X = pd.DataFrame(rng.random((300, 3)), columns=["a b", "c", "d"])
    y, params = rng.integers(1, 5, 300), {"verbose": -1, "num_threads": 1}
    forest = {"boosting": "rf", "bagging_freq": 1, "bagging_fraction": 0.5}
    trees = lgb.train({**params, **forest}, lgb.Dataset(X, y), 4)
    numbers = lgb.train(params, lgb.Dataset(X, y), 4)
    odds = lgb.train({**params, "objective": "binary"}, lgb.Dataset(X, y > 2), 4)
    turned = X[["d", "c", "a b"]]
    for way in go_on_in_lightgbm(X, y, trees):
        with pytest.raises(ValueError, match="init_model is a forest.*boosting='gbdt'"):
            way()
    for way in go_on_in_lightgbm(X, y, odds):
        with pytest.warns(UserWarning, match="init_model has margins that are log-odds"):
            way()
    for way in go_on_in_lightgbm(turned, y, numbers):
        with pytest.raises(ValueError, match="^X has the columns of init_model in another"):
            way()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        warnings.filterwarnings("ignore", "boosting starts at")
        for way in go_on_in_lightgbm(X, y, numbers):
            way()


@each("own", [{"objective": "binary", "sigmoid": 2.0}, {"reg_sqrt": True}, {"objective": "binary"}])
def test_an_earlier_model_whose_margins_have_another_scale(own) -> None:
    """What LightGBM predicts of them is no link of ours: that is told, and only that."""
    rng = np.random.default_rng(0)
    X, params = rng.random((300, 3)), {"verbose": -1, "num_threads": 1}
    y = (X[:, 0] > rng.random(300)).astype(int)
    first = lgb.train({**params, **own}, lgb.Dataset(X, y), 3)
    objective = go.qwk_objective() if "reg_sqrt" in own else go.weighted_logloss_objective(1)
    slow = {**params, "learning_rate": 1e-9}
    for way in (
        lambda: LGB.train(slow, lgb.Dataset(X, y), 1, objective=objective, init_model=first),
        lambda: lgb.train({**slow, "objective": objective}, lgb.Dataset(X, y), 1, init_model=first),
    ):
        with warnings.catch_warnings(record=True) as told:
            warnings.simplefilter("always")
            way()
        found = [str(w.message) for w in told if "init_model has margins" in str(w.message)]
        assert len(found) == (own != {"objective": "binary"})
        assert all(re.search("those of '(binary sigmoid:2|regression sqrt)'", one) for one in found)


@each("name", ["logloss", "error"])
@each("K", [2, 3])
def test_lightgbms_classifier_renames_a_metric(name: str, K: int) -> None:
    X, y = np.random.default_rng(0).random((100, 3)), np.arange(100) % K
    model = LGB.fit(LGB.make(True, n_estimators=2), X, y, [(X[:50], y[:50])], [name])
    (values,) = model.evals_result_.values()
    assert f"{'binary' if K == 2 else 'multi'}_{name}" in values
    with pytest.raises(ValueError, match=f"{name!r} is not a metric of LightGBM"):
        LGB.fit(regressor(LGB), X, y, [(X[:50], y[:50])], name)
