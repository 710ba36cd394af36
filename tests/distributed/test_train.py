"""Training on Dask: the model of one machine, or an error that says which worker and what to do.

Everything has a deadline. Features have few values,
so that bins do not depend on how quantile sketches were merged.
"""

from __future__ import annotations

import os
import pickle
import re
import signal
import threading
import time
import warnings
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
import xgboost as xgb

import gbdt_objectives as go
from gbdt_objectives.adapters.xgboost import (
    XGBClassifier,
    XGBRegressor,
    _train as on_one_machine,
    train,
)
from gbdt_objectives.adapters.xgboost.parameters import holds_starts, holds_vectors
from tests.adapters.test_natural_units import poisson
from tests.distributed import faults
from tests.distributed.faults import within
from tests.objectives.test_start import median, softmax, squared_error

distributed = pytest.importorskip("distributed")
dask = pytest.importorskip("dask")
pytest.importorskip("pyarrow")

import dask.array as da  # noqa: E402
from xgboost import dask as xgb_dask  # noqa: E402

from gbdt_objectives.distributed import dask as ours  # noqa: E402
from gbdt_objectives.distributed.dask._train import find_lost  # noqa: E402

pytestmark = [pytest.mark.slow, pytest.mark.xdist_group("dask")]

HAS_TIMEOUT = hasattr(xgb.collective, "Config")
SHORT = 3
"""Seconds for which workers wait for one that hangs."""

N = 1200
_rng = np.random.default_rng(0)
X = _rng.integers(0, 12, (N, 4)).astype(float)
Y = np.digitize(X[:, :2].sum(1) + _rng.normal(0, 2, N), [7, 11, 15]).astype(float)
_order = np.argsort(Y, kind="stable")  # partitions as unlike as can be
X, Y = X[_order], Y[_order]
W = _rng.integers(1, 4, N).astype(float)
RARE = (Y == 3).astype(float)
HELD_OUT = np.arange(0, N, 5)
SAID = re.compile("boosting starts|early stopping keeps")


@pytest.fixture
def client(cluster):
    with distributed.Client(cluster) as joined:
        joined.wait_for_workers(3, timeout=faults.DEADLINE)
        yield joined


def column(client, values, parts):
    """A Dask array of (worker, rows), each where it is told to be."""
    workers = sorted(client.nthreads())
    shape = (np.nan, *values.shape[1:])  # for empty parts not to be dropped
    return da.concatenate(
        [
            da.from_delayed(
                dask.delayed(client.scatter(values[rows], workers=[workers[at]], hash=False)),
                shape,
                values.dtype,
            )
            for at, rows in parts
        ],
        allow_unknown_chunksizes=True,
    )


def thirds(k):
    """N rows on k workers."""
    return [(at, slice(at * N // k, (at + 1) * N // k)) for at in range(k)]


LAYOUTS = {
    "two workers": (thirds(2), [(0, HELD_OUT[:100]), (1, HELD_OUT[100:])]),
    "three workers, empty partitions": (
        [*thirds(3), (0, slice(0, 0)), (2, slice(0, 0))],
        [(1, HELD_OUT)],
    ),
    "an evaluation-only worker": (thirds(2), [(2, HELD_OUT)]),
}


def matrix(client, parts, y=Y, weight=W, **more):
    more = {name: column(client, values, parts) for name, values in more.items()}
    x_, y_, w_ = (column(client, values, parts) for values in (X, y, weight))
    made = within(lambda: xgb_dask.DaskDMatrix(client, x_, y_, weight=w_, **more))
    workers = sorted(client.nthreads())
    wanted = {workers[at] for at, rows in parts}
    assert set(made.worker_map) == wanted, "partitions are not where the test wants them"
    return made


def alone(y=Y, weight=W, rows=slice(None), **more):
    more = {name: values[rows] for name, values in more.items()}
    return xgb.DMatrix(X[rows], y[rows], weight=weight[rows], **more)


PARAMETERS = {"max_depth": 3, "nthread": 1}
STILL = {**PARAMETERS, "learning_rate": 1e-9}
QWK = go.qwk_objective()


def trained(client, data, rounds=2, objective=QWK, parameters=PARAMETERS, **options):
    """What our train returns or raises, before the deadline."""
    return within(
        lambda: ours.train(client, parameters, data, rounds, objective=objective, **options)
    )


def fitted(client, model, X, y, **options):
    """The same of an estimator of Dask."""
    model.client = client
    return within(lambda: model.fit(X, y, **options))


OBJECTIVES = {
    "qwk": (QWK, go.extended_qwk_metric(), Y),
    "qwk, classes": (go.qwk_objective(clip=False), go.qwk_metric(), Y),
    "kappa": (go.objectives.kappa_objective("absolute"), go.metrics.squared_error_metric(), Y),
    "weighted logloss": (go.weighted_logloss_objective(0.2), go.weighted_logloss_metric(1), RARE),
    "offset logloss": (go.offset_logloss_objective(0.2), go.weighted_logloss_metric(1), RARE),
    "fixed thresholds": (go.ordinal_logit_objective(4, thresholds="fixed"), None, Y),
    "refitted thresholds": (go.ordinal_logit_objective(4), None, Y),
    "focal": (go.focal_objective(2), None, RARE),
    "focal of 4 classes": (go.focal_objective(1, n_classes=4), None, Y),
}


def both(client, layout, name, rounds=10):
    """The model and the history of one machine and of several, and the training data of one."""
    objective, metric, y = OBJECTIVES[name]
    options = {"metric": metric or go.loss_metric(objective), "early_stopping_rounds": 3}
    history, theirs = {}, {}
    data, held_out = alone(y), alone(y, rows=HELD_OUT)
    one = train(
        PARAMETERS, data, rounds, objective=objective, evals=[(held_out, "v")],
        evals_result=history, **options,
    )  # fmt: skip
    training, evaluation = (matrix(client, parts, y) for parts in LAYOUTS[layout])
    many = trained(
        client, training, rounds, objective, evals=[(evaluation, "v")], evals_result=theirs,
        **options,
    )  # fmt: skip
    return one, history, many, theirs, data


def base_score(booster):
    return re.search(r'"base_score":"([^"]*)"', booster.save_config())[1]


def assert_same_values(theirs, history) -> None:
    """All values of the metric; sums of partitions differ from one sum in the last bits."""
    assert [*theirs] == [*history]
    for name, values in history["v"].items():
        np.testing.assert_allclose(theirs["v"][name], values, rtol=1e-12)


@pytest.mark.parametrize("layout", LAYOUTS)
def test_any_layout_trains_the_model_of_one_machine(client, layout) -> None:
    one, history, many, theirs, data = both(client, layout, "qwk")
    assert many.get_dump(with_stats=True) == one.get_dump(with_stats=True)
    assert base_score(many) == base_score(one)
    assert_same_values(theirs, history)
    assert many.best_iteration == one.best_iteration
    assert many.num_boosted_rounds() == one.num_boosted_rounds()
    np.testing.assert_array_equal(many.predict(data), one.predict(data))
    assert naive_error(client, LAYOUTS[layout][0], data) > 0.1  # in label units; ours is 0


@pytest.mark.skipif(not holds_vectors({}), reason="XGBoost 3.2")
def test_vector_leaves_of_all_rows(client) -> None:
    vector = {**PARAMETERS, "multi_strategy": "multi_output_tree"}
    objective = OBJECTIVES["focal of 4 classes"][0]
    one = train(vector, alone(), 5, objective=objective)
    parts = LAYOUTS["three workers, empty partitions"][0]
    many = trained(client, matrix(client, parts), 5, objective, vector)
    margins = [model.predict(alone(), output_margin=True) for model in (many, one)]
    np.testing.assert_allclose(*margins, rtol=1e-5, atol=1e-6)  # sums of float32
    assert np.ptp(margins[1], axis=0).min() > 0.1


def naive_error(client, parts, data) -> float:
    """How far the model of an objective made from the rows of each worker is off."""
    parameters, options = {**PARAMETERS, "base_score": 1.5}, {"obj": faults.naive}
    split = matrix(client, parts)
    naive = within(
        lambda: xgb_dask.train(client, parameters, split, 10, verbose_eval=False, **options)
    )["booster"]
    exact = xgb.train(parameters, data, 10, **options)
    return float(np.abs(naive.predict(data) - exact.predict(data)).max())


ELSEWHERE = ("qwk", "refitted thresholds", "focal of 4 classes")
"""QWK is trained in each layout, the others by their own test and as estimators."""


@pytest.mark.parametrize("name", [name for name in OBJECTIVES if name not in ELSEWHERE])
def test_every_objective_trains_the_model_of_one_machine(client, name) -> None:
    one, history, many, theirs, _ = both(client, "an evaluation-only worker", name)
    assert many.get_dump(with_stats=True) == one.get_dump(with_stats=True)
    assert base_score(many) == base_score(one)
    assert_same_values(theirs, history)
    assert many.best_iteration == one.best_iteration


def test_refitted_thresholds_are_those_of_one_machine(client) -> None:
    one, history, many, theirs, data = both(
        client, "three workers, empty partitions", "refitted thresholds"
    )
    # workers start the search for thresholds at other samples, which ends within 1e-7
    np.testing.assert_allclose(theirs["v"]["loss"], history["v"]["loss"], rtol=0, atol=1e-6)
    np.testing.assert_allclose(many.predict(data), one.predict(data), rtol=0, atol=1e-5)
    objective, split = go.ordinal_logit_objective(4), matrix(client, thirds(3))
    found = within(lambda: ours.fitted_objective(client, objective, many, split))
    expected = objective.fitted(Y, many.predict(data), W)
    np.testing.assert_allclose(found.thresholds, expected.thresholds, rtol=0, atol=1e-5)


def test_margins_per_row_and_an_earlier_model(client) -> None:
    start = np.linspace(0, 3, N)
    with_start, without = matrix(client, thirds(3), base_margin=start), matrix(client, thirds(3))
    with pytest.warns(UserWarning, match="base_margin differs by row"):
        one = train(PARAMETERS, alone(base_margin=start), 5, objective=QWK)
    with pytest.warns(UserWarning, match="base_margin differs by row"):
        many = trained(client, with_start, 5)
    assert many.get_dump() == one.get_dump()
    assert base_score(many) == base_score(one)
    further = trained(client, without, 4, xgb_model=many)
    expected = train(PARAMETERS, alone(), 4, objective=QWK, xgb_model=one)
    assert further.get_dump() == expected.get_dump()
    with pytest.raises(ValueError, match="base_margin is set on data but not on evals 'v'"):
        trained(
            client, with_start, metric=go.metrics.squared_error_metric(), evals=[(without, "v")]
        )


def test_what_workers_warn_of_reaches_the_client_once(client) -> None:
    """Of a plain call of xgboost.dask, and a base_score of our train, where 40 is what no label is;
    of a stop in the first rounds."""

    def plain(objective, y, **params) -> None:
        data = matrix(client, thirds(3), y)
        xgb_dask.train(client, {**PARAMETERS, **params}, data, 2, obj=objective)

    def our_train(objective, y, **params) -> None:
        trained(client, matrix(client, thirds(3), y), 2, objective, {**PARAMETERS, **params})

    def stopped(by_estimator: bool) -> None:
        """On noise, which the first round learns best."""
        noise, error = _rng.permutation(Y), go.metrics.squared_error_metric()
        held_out = matrix(client, thirds(2), _rng.permutation(Y))
        if not by_estimator:
            trained(
                client, matrix(client, thirds(3), noise), 50, metric=error,
                evals=[(held_out, "v")], early_stopping_rounds=12,
            )  # fmt: skip
            return
        x, y, u, z = (
            column(client, v, thirds(3)) for v in (X, noise, X.copy(), _rng.permutation(Y))
        )
        ours.DaskXGBRegressor(
            objective=go.qwk_objective(), eval_metric=error, early_stopping_rounds=12,
            n_estimators=50,
        ).fit(x, y, eval_set=[(u, z)])  # fmt: skip

    def told(train, *arguments, **params) -> list[str]:
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            within(lambda: train(*arguments, **params))
            for _ in range(40):  # the scheduler forwards events
                if any(SAID.match(str(one.message)) for one in caught):
                    break
                time.sleep(0.05)
            time.sleep(0.2)
        return [str(one.message) for one in caught if SAID.match(str(one.message))]

    few = np.where(np.arange(N) % 100, 0.0, 1.0)
    (message,) = told(plain, go.qwk_objective(), Y + 40)
    assert "gbdt_objectives.distributed.dask, which start there" in message
    assert f"base_score={np.average(Y + 40, weights=W):.6g}" in message
    (message,) = told(plain, go.weighted_logloss_objective(1.0), few)
    assert "far from the best constant, -" in message
    (message,) = told(our_train, go.qwk_objective(), Y, base_score=40.0)
    assert "leave base_score out" in message
    assert not told(plain, go.qwk_objective(), Y, base_score=2.0)
    assert not told(our_train, go.qwk_objective(), Y + 40)
    for by_estimator in (False, True):
        (message,) = told(stopped, by_estimator)
        assert re.match(r"early stopping keeps [123] of 1\d rounds: squared_error", message)


def test_a_base_margin_of_one_number_goes_into_the_model(client) -> None:
    data = matrix(client, thirds(3), Y + 40, base_margin=np.full(N, 41.0))
    assert base_score(trained(client, data, 3)) == "[4.1E1]"


def test_an_earlier_model_of_another_unit(client) -> None:
    """Its margins are kept, as on one machine."""
    first = xgb.train({**PARAMETERS, "objective": "binary:logistic"}, alone(RARE), 5)
    with pytest.warns(UserWarning, match="xgb_model has margins that are log-odds of label 1"):
        further = trained(client, matrix(client, thirds(3)), 1, parameters=STILL, xgb_model=first)
    model = ours.DaskXGBRegressor(objective=QWK, n_estimators=1, learning_rate=1e-9)
    x, y = da.from_array(X, (400, 4)), da.from_array(Y, 400)
    with pytest.warns(UserWarning, match="xgb_model has margins that are log-odds of label 1"):
        fitted(client, model, x, y, xgb_model=bytes(first.save_raw()))
    margin = first.predict(alone(), output_margin=True)
    for booster in (further, model.get_booster()):
        # base_score is float32
        np.testing.assert_allclose(booster.predict(alone()), margin, rtol=0, atol=1e-5)


def test_means_by_the_log_link(client) -> None:
    objective = go.objective(poisson, link="log")
    one = train(PARAMETERS, alone(), 8, objective=objective)
    many = trained(client, matrix(client, thirds(3)), 8, objective)
    assert many.get_dump() == one.get_dump()
    expected = one.predict(alone())
    assert expected.min() > 0
    np.testing.assert_array_equal(many.predict(alone()), expected)
    model = ours.DaskXGBRegressor(objective=objective, n_estimators=8, **PARAMETERS)
    x, y, w = da.from_array(X, (400, 4)), da.from_array(Y, 400), da.from_array(W, 400)
    fitted(client, model, x, y, sample_weight=w)
    found = within(lambda: model.predict(x).compute())
    # the estimator's margins start at 0, the others at a base_score of 1
    np.testing.assert_allclose(found, expected, rtol=1e-5)


def test_own_functions_start_where_the_gradients_of_all_partitions_sum_to_0(client) -> None:
    for function, options in (
        (median, {}), (squared_error, {}), (softmax, {"link": "softmax", "outputs": 4}),
    ):  # fmt: skip
        objective = go.objective(function, **options)
        many = trained(client, matrix(client, thirds(3)), 1, objective, STILL)
        one = train(STILL, alone(), 1, objective=objective).predict(alone())
        np.testing.assert_allclose(many.predict(alone()), one, rtol=1e-6)
        assert one.min() > 0


def checkpoints(folder):
    """A callback that saves the model of each round, and what those that it saved predict."""
    saving = xgb.callback.TrainingCheckPoint(folder, interval=1)

    def predicted():
        models = [xgb.Booster(model_file=path) for path in folder.iterdir()]
        return {model.num_boosted_rounds(): model.predict(alone()) for model in models}

    return saving, predicted


@pytest.mark.parametrize("name", ["log", "softmax"])
def test_what_a_worker_saves_is_a_training_of_so_many_rounds(client, name, tmp_path) -> None:
    functions = {"log": (poisson, {}), "softmax": (softmax, {"outputs": 4})}
    function, options = functions[name]
    objective = go.objective(function, link=name, **options)
    if objective.outputs > 1 and not holds_starts({}):
        pytest.skip("XGBoost 3.1")
    for door in ("train", "fit"):
        folder = tmp_path / door
        folder.mkdir()
        saving, predicted = checkpoints(folder)
        if door == "train":
            many = trained(client, matrix(client, thirds(3)), 4, objective, callbacks=[saving])
        else:
            kind = ours.DaskXGBClassifier if name == "softmax" else ours.DaskXGBRegressor
            model = kind(objective=objective, n_estimators=4, callbacks=[saving], **PARAMETERS)
            x, y, w = (column(client, values, thirds(3)) for values in (X, Y, W))
            many = fitted(client, model, x, y, sample_weight=w).get_booster()
        saved = predicted()
        assert len(saved) >= 3
        for rounds, p in saved.items():
            one = train(PARAMETERS, alone(), rounds, objective=objective).predict(alone())
            np.testing.assert_allclose(p, one, rtol=1e-6)  # sums of float32
            cut = many.predict(alone(), iteration_range=(0, rounds))
            np.testing.assert_allclose(p, cut, rtol=1e-6)


def test_xgboosts_own_metrics_read_what_the_model_predicts(client) -> None:
    objective = go.objective(poisson, link="log")
    parameters = {"objective": objective, "n_estimators": 30, "eval_metric": "rmse", "max_depth": 3}
    model = ours.DaskXGBRegressor(learning_rate=1.0, early_stopping_rounds=2, **parameters)
    x, y = (column(client, values, thirds(3)) for values in (X, Y))
    held_out = [column(client, values, [(1, HELD_OUT)]) for values in (X, Y)]
    fitted(client, model, x, y, eval_set=[tuple(held_out)], verbose=False)
    booster, values = model.get_booster(), model.evals_result()["validation_0"]["rmse"]
    for k, value in enumerate(values):
        p = booster.predict(alone(rows=HELD_OUT), iteration_range=(0, k + 1))
        assert value == pytest.approx(np.sqrt(np.mean((p - Y[HELD_OUT]) ** 2)), rel=1e-5)
    assert model.best_iteration == np.argmin(values)


# The drop-in estimators.

ESTIMATORS = {
    "qwk": (ours.DaskXGBRegressor, XGBRegressor),
    "refitted thresholds": (ours.DaskXGBClassifier, XGBClassifier),
    "focal of 4 classes": (ours.DaskXGBClassifier, XGBClassifier),
}


@pytest.mark.parametrize("name", ESTIMATORS)
def test_estimators_are_those_of_one_machine(client, name) -> None:
    objective, metric, y = OBJECTIVES[name]
    metric = metric or go.loss_metric(objective)
    parameters = {"objective": objective, "max_depth": 3, "n_estimators": 10, "n_jobs": 1}
    parameters |= {"eval_metric": metric, "early_stopping_rounds": 3}
    many, one = (kind(**parameters) for kind in ESTIMATORS[name])
    one.fit(
        X, y, sample_weight=W, verbose=False,
        eval_set=[(X[HELD_OUT], y[HELD_OUT])], sample_weight_eval_set=[W[HELD_OUT]],
    )  # fmt: skip
    training, evaluation = LAYOUTS["an evaluation-only worker"]
    x_, y_, w_ = (column(client, values, training) for values in (X, y, W))
    held_out = [column(client, values, evaluation) for values in (X, y, W)]
    assert many is fitted(
        client, many, x_, y_, sample_weight=w_, verbose=False,
        eval_set=[tuple(held_out[:2])], sample_weight_eval_set=[held_out[2]],
    )  # fmt: skip
    assert many.objective == objective
    assert many.eval_metric == metric
    assert many.best_iteration == one.best_iteration
    # 1e-6, 1e-5: as above where thresholds are refitted; all others are the same
    tolerance = 1e-6 if name == "refitted thresholds" else 0
    values, expected = (model.evals_result()["validation_0"][metric.name] for model in (many, one))
    np.testing.assert_allclose(values, expected, rtol=0, atol=tolerance)
    if not tolerance:
        assert many.get_booster().get_dump() == one.get_booster().get_dump()
        assert many.objective_ == one.objective_
    np.testing.assert_array_equal(within(lambda: many.predict(x_).compute()), one.predict(X))
    margin = within(lambda: many.predict(x_, output_margin=True).compute())
    np.testing.assert_allclose(
        margin, one.predict(X, output_margin=True), rtol=0, atol=10 * tolerance
    )
    if isinstance(one, XGBClassifier):
        p = within(lambda: many.predict_proba(x_).compute())
        np.testing.assert_allclose(p, one.predict_proba(X), rtol=0, atol=10 * tolerance)
        np.testing.assert_array_equal(many.classes_, one.classes_)


def test_estimators_may_stop_on_another_metric(client) -> None:
    training, evaluation = LAYOUTS["an evaluation-only worker"]
    found = []
    for kind in (ours.DaskXGBRegressor, XGBRegressor):
        stop = xgb.callback.EarlyStopping(rounds=3, metric_name="rmse")
        model = kind(objective=QWK, eval_metric=["rmse", go.qwk_metric()], n_estimators=30,
                     learning_rate=1.0, callbacks=[stop], n_jobs=1)  # fmt: skip
        if kind is XGBRegressor:
            model.fit(X, Y, eval_set=[(X[HELD_OUT], Y[HELD_OUT])], verbose=False)
        else:
            x_, y_ = (column(client, values, training) for values in (X, Y))
            held_out = tuple(column(client, values, evaluation) for values in (X, Y))
            fitted(client, model, x_, y_, eval_set=[held_out], verbose=False)
        curve = model.evals_result()["validation_0"]["rmse"]
        assert model.best_iteration == int(np.argmin(curve)) < 26
        found.append(curve)
    np.testing.assert_allclose(*found, rtol=1e-5)  # XGBoost's own sums of float32


def test_without_ours_an_estimator_is_xgboosts(client) -> None:
    x_, y_ = (column(client, values, thirds(2)) for values in (X, RARE))
    dumps = []
    for kind in (ours.DaskXGBClassifier, xgb_dask.DaskXGBClassifier):
        model = fitted(client, kind(n_estimators=4, max_depth=2), x_, y_)
        dumps.append(model.get_booster().get_dump())
    assert dumps[0] == dumps[1]


def test_estimators_refuse_what_they_would_misread(client) -> None:
    x_, y_ = (column(client, values, thirds(2)) for values in (X, Y))
    by_row = go.objective(faults.squared_error_by_row, rows=["cost"])
    for objective, X_, y__, error in (
        (go.qwk_objective(), X, y_, "X must be a Dask array, series or data frame, found ndarray"),
        (by_row, x_, y_, "is for training rows in their order"),
        (go.qwk_objective(), x_, da.zeros_like(y_), "the labels of positive weight are constant"),
    ):
        with pytest.raises((TypeError, ValueError), match=error):
            fitted(client, ours.DaskXGBRegressor(objective=objective), X_, y__)
    with pytest.raises(TypeError, match="use DaskXGBRegressor"):
        ours.DaskXGBClassifier(objective=go.qwk_objective()).fit(x_, y_)


# Wrong input.


def wrong(y, what):
    """Labels with something wrong in the middle of the second partition."""
    return {
        "out of range": lambda: np.where(np.arange(N) == 700, 7.0, y),
        "fraction": lambda: np.where(np.arange(N) == 700, 1.5, y),
        "nan": lambda: np.where(np.arange(N) == 700, np.nan, y),
        "text": lambda: np.where(y > 1, "high", "low"),
    }[what]()


@pytest.mark.parametrize("what", ["out of range", "fraction", "nan", "text"])
def test_wrong_labels_are_the_error_of_one_machine(client, what) -> None:
    objective, y = go.ordinal_logit_objective(4), wrong(Y, what)
    with pytest.raises(ValueError) as expected:  # noqa: PT011
        train(PARAMETERS, alone(y), 2, objective=objective)
    parts = thirds(2) if what != "text" else [(0, slice(0, 600)), (1, slice(600, None))]
    x_, y_ = column(client, X, parts), column(client, y, parts)
    data = xgb_dask.DaskDMatrix(client, x_, y_)
    with pytest.raises(ValueError) as found:  # noqa: PT011
        trained(client, data, objective=objective)
    assert re.match(r"in partition [01] of data: ", str(found.value))
    if what in ("out of range", "fraction"):  # XGBoost's own have a stack trace
        text = re.sub(r" at row \d+", "", str(expected.value))
        assert text in re.sub(r" at row \d+", "", str(found.value))
    with pytest.raises(ValueError, match=r"in partition [01] of y: "):
        fitted(client, ours.DaskXGBClassifier(objective=objective), x_, y_)


def test_a_partition_without_labels(client) -> None:
    first = column(client, Y, [(0, slice(0, 600)), (1, slice(0, 0))])
    for k, labels in enumerate(((), (first,))):
        data = xgb_dask.DaskDMatrix(client, column(client, X, thirds(2)), *labels)
        error = f"in partition {k} of data: data has no labels: pass label="
        with pytest.raises(ValueError, match=error):
            trained(client, data)


def test_weights_and_labels_of_all_partitions_together(client) -> None:
    zero = np.where(np.arange(N) < 600, 0.0, W)
    one = train(PARAMETERS, alone(weight=zero), 4, objective=QWK)
    many = trained(client, matrix(client, thirds(2), weight=zero), 4)
    assert many.get_dump() == one.get_dump()
    for weight, error in (
        (np.zeros(N), "sample_weight is 0 in all 1200 rows"),
        (np.where(np.arange(N) == 9, -1.0, W), "negative|Weights must be positive"),
    ):
        with pytest.raises(ValueError, match=error):
            trained(client, matrix(client, thirds(2), weight=weight))


def test_what_is_returned_is_a_booster_and_no_dict(client) -> None:
    booster = trained(client, matrix(client, thirds(2)), 3)
    for key in ("booster", "history"):
        with pytest.raises(TypeError, match=rf"leave \['{key}'\] out; evals_result="):
            booster[key]
    for same in (pickle.loads(pickle.dumps(booster)), booster.copy(), booster[:3]):
        assert type(same) is xgb.Booster
        assert same.get_dump() == booster.get_dump()


def test_arguments_are_refused_with_the_remedy(client) -> None:
    data, config = matrix(client, thirds(2)), getattr(xgb.collective, "Config", dict)
    for options, error in (
        ({"timeout": 0}, "timeout must be"),
        ({"objective": go.objective(faults.squared_error_by_row, rows=["cost"])}, "in their order"),
        ({"evals": [(alone(), "v")], "metric": go.qwk_metric()}, "a xgboost.dask.DaskDMatrix"),
        ({"dtrain": data}, "got data twice"),
        ({"parameters": {"scale_pos_weight": 3}}, "pass weights to the DMatrix"),
        ({"data": alone()}, r"data must be a xgboost.dask.DaskDMatrix.*client, X, y"),
        ({"client": "tcp://10.0.0.1:8786"}, "client must be a distributed.Client, found"),
        ({"coll_cfg": config(timeout=5)}, "set timeout= only")
        if HAS_TIMEOUT
        else ({"timeout": 5}, "upgrade to XGBoost 3.0"),
    ):
        with pytest.raises((TypeError, ValueError), match=error):
            trained(**{"client": client, "data": data, **options})
    with pytest.raises(TypeError, match="train of gbdt_objectives.distributed.dask"):
        train(PARAMETERS, data, objective=QWK)


# Workers that fail, and what comes after.


def check_exact(client) -> None:
    """A fit on all workers is the one of this machine."""
    client.wait_for_workers(3, timeout=faults.DEADLINE)

    def training() -> set[str]:
        return find_lost(client, set(client.nthreads()), 0.01)[1]

    faults.recover(client, training, 2 * SHORT)
    many = trained(client, matrix(client, thirds(3)), 5)
    one = train(PARAMETERS, alone(), 5, objective=QWK)
    assert many.get_dump() == one.get_dump()


def fail(client, objective, **options) -> tuple[Exception, list[str]]:
    """The error at the client, and the addresses of workers before."""
    workers = sorted(client.nthreads())
    short = {"timeout": SHORT} if HAS_TIMEOUT else {}
    with pytest.raises(Exception) as found:  # noqa: PT011
        trained(client, matrix(client, thirds(3)), 20, objective, **short, **options)
    return found.value, workers


def test_a_worker_that_raises_is_named(client) -> None:
    error, workers = fail(client, go.objective(faults.FaultyLoss("raises"), intercept=1.0))
    assert re.search(
        r"ZeroDivisionError: the loss of this worker is undefined \(worker 1, tcp://\S+\)",
        str(error),
    )
    assert any(address in str(error) for address in workers)
    check_exact(client)


def test_a_callback_that_raises_ends_the_fit(client) -> None:
    error, _ = fail(client, go.qwk_objective(), callbacks=[faults.RaisingCallback()])
    # XGBoost's own where the worker that raised cannot say goodbye: that error hides the user's
    assert isinstance(error, xgb.core.XGBoostError) or re.search(
        "callback of a user|first error in the workers' logs|still at work", str(error)
    ), repr(error)
    check_exact(client)


def test_a_killed_worker_is_named(client) -> None:
    error, workers = fail(client, go.objective(faults.FaultyLoss("killed"), intercept=1.0))
    assert isinstance(error, RuntimeError)
    assert re.search(r"worker tcp://\S+ was lost in training", str(error))
    assert "from a new DaskDMatrix" in str(error)
    assert sum(address in str(error) for address in workers) == 1
    check_exact(client)


@pytest.mark.parametrize("door", ["train", "fit"])
def test_a_worker_killed_before_the_first_round_is_named(client, door) -> None:
    began, killing = time.monotonic(), {"callbacks": [faults.KilledCallback()]}
    if door == "train":
        error, workers = fail(client, go.qwk_objective(), **killing)
    else:
        workers = sorted(client.nthreads())
        model = ours.DaskXGBRegressor(objective=QWK, n_estimators=2, **killing)
        x, y = (column(client, values, thirds(3)) for values in (X, Y))
        with pytest.raises(RuntimeError) as found:
            fitted(client, model, x, y)
        error = found.value
    assert time.monotonic() - began < faults.SLEEP
    assert re.search(r"worker tcp://\S+ was lost in training", str(error)), repr(error)
    assert sum(address in str(error) for address in workers) == 1
    check_exact(client)


@pytest.mark.skipif(not HAS_TIMEOUT, reason="before XGBoost 3.0 it is XGBoost's own, of minutes")
@pytest.mark.parametrize("when", ["measured", "trained"])
def test_a_part_that_never_starts_is_named(client, when, monkeypatch) -> None:
    """Where a worker is at work on something else, the others wait for the timeout, not for it."""
    data, last = matrix(client, thirds(3)), sorted(client.nthreads())[2]
    check_exact(client)
    others = []

    def keep_busy():
        others.append(client.submit(time.sleep, 10 * faults.SLEEP, workers=[last], pure=False))
        time.sleep(0.5)

    start_at = on_one_machine.start_at
    if when == "measured":
        keep_busy()
    else:
        monkeypatch.setattr(
            on_one_machine, "start_at", lambda *a, **k: (start_at(*a, **k), keep_busy())[0]
        )
    began = time.monotonic()
    with pytest.raises(RuntimeError, match=rf"{last} was still at work when .* 3 s for an answer"):
        trained(client, data, 20, QWK, timeout=SHORT)
    assert time.monotonic() - began < faults.SLEEP
    del others[:]
    faults.restart(client, {last})
    check_exact(client)


@pytest.mark.skipif(not HAS_TIMEOUT, reason="before XGBoost 3.0 it is XGBoost's own, of minutes")
def test_a_hung_worker_is_named_and_restarted(client) -> None:
    began = time.monotonic()
    error, _ = fail(client, go.objective(faults.FaultyLoss("hangs"), intercept=1.0))
    assert time.monotonic() - began < faults.SLEEP
    assert isinstance(error, RuntimeError)
    found = re.search(r"restart it, client.restart_workers\(\[(.+)\]\)", str(error))
    assert found, str(error)
    named = set(re.findall(r"tcp://[^']+", found[1]))
    assert len(named) in (1, 2), str(error)  # a slow one, too, if busy
    faults.restart(client, named)
    check_exact(client)  # the one that hangs was among them


@pytest.mark.skipif(not HAS_TIMEOUT, reason="before XGBoost 3.0 it is XGBoost's own, of minutes")
def test_a_skipped_reduction_is_an_error(client) -> None:
    skipping = go.objective(faults.SkippingLoss(mean=1.5, variance=1.2, label_range=(0.0, 3.0)))
    fail(client, skipping)
    check_exact(client)


def test_interrupted_at_the_client(client, tmp_path) -> None:
    flag = tmp_path / "training"
    slow = go.objective(faults.SlowLoss(str(flag)), intercept=1.0)
    data = matrix(client, thirds(3))

    def interrupt() -> None:
        until = time.monotonic() + faults.DEADLINE
        while not flag.exists() and time.monotonic() < until:
            time.sleep(0.05)
        os.kill(os.getpid(), signal.SIGINT)

    # a process that a script started in the background ignores the signal
    handler = signal.signal(signal.SIGINT, signal.default_int_handler)
    threading.Thread(target=interrupt, daemon=True).start()
    try:
        with pytest.raises(KeyboardInterrupt):
            ours.train(client, PARAMETERS, data, 1_000_000, objective=slow)
    finally:
        signal.signal(signal.SIGINT, handler)
    assert flag.exists()
    check_exact(client)  # the workers have stopped, or it would wait for hours


def test_two_fits_in_turn_and_two_clients_at_once(client, cluster) -> None:
    check_exact(client)
    with distributed.Client(cluster) as other, ThreadPoolExecutor(2) as pool:
        fits = [pool.submit(check_exact, each) for each in (client, other)]
        for fit in fits:
            fit.result(timeout=faults.DEADLINE)
