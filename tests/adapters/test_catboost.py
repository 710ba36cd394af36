"""CatBoost: the same promises as of the other libraries, against a truth of numpy."""

from __future__ import annotations

import pickle
import re
import warnings
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.feature_selection import RFE
from sklearn.metrics import r2_score, roc_auc_score
from sklearn.model_selection import GridSearchCV

import gbdt_objectives as go
from gbdt_objectives.calibration import InterceptCalibrator
from tests.contract import OBJECTIVES, ObjectiveCase, squared_error, squared_error_loss
from tests.matrix.tables import logistic, logistic_loss, poisson, poisson_loss

catboost = pytest.importorskip("catboost")
from gbdt_objectives.adapters.catboost import (  # noqa: E402
    CatBoostClassifier,
    CatBoostRegressor,
    imbalance_shift,
    shift_intercept,
    train,
)

Array = np.ndarray[Any, Any]
ROUNDS, RATE, L2 = 6, 0.3, 3.0
PARAMS: dict[str, Any] = {
    "depth": 3, "learning_rate": RATE, "l2_leaf_reg": L2, "verbose": 0, "random_seed": 0,
    "allow_writing_files": False, "thread_count": 1,
}  # fmt: skip
OWN = {
    "log": go.objective(poisson, loss=poisson_loss, link="log"),
    "logit": go.objective(logistic, loss=logistic_loss, link="logit"),
}
CASES = [
    *OBJECTIVES, ObjectiveCase("log", OWN["log"], (0, 1, 2, 5), (-2, 2), ()),
    ObjectiveCase("logit", OWN["logit"], (0, 1), (-4, 4), ()),
]  # fmt: skip


def is_row_wise(case: ObjectiveCase) -> bool:
    objective = case.objective
    return not (
        objective.couples_rows or objective.outputs > 1 or objective.is_by_row
        or case.name == "user-loss-coupled"
    )  # fmt: skip


ROW_WISE = [case for case in CASES if is_row_wise(case)]


def rows(case: ObjectiveCase, n: int = 2500) -> tuple[Array, Array, Array]:
    """More rows than CatBoost passes at once; a third of them do not count."""
    y, _, w = case.rows(n)
    X = np.random.default_rng(1).normal(size=(n, 3)) + y[:, None] * [0.3, 0, 0]
    return X, y, np.where(w == 2, 0.0, w)


def truth(model: Any, objective: go.Objective, X: Array, y: Array, w: Array, f: Array) -> Array:
    """The margins that the leaves of the model must hold, found tree by tree from its splits."""
    leaves = model.calc_leaf_indexes(X)
    for leaf in leaves.T:
        g, h = objective.gradient_hessian(y, f, w)
        G, H = (np.bincount(leaf, values, 8) for values in (g, h))
        f = f - RATE * (G / (H + L2 * w.mean()))[leaf]
    return f


@pytest.mark.parametrize("case", ROW_WISE, ids=repr)
def test_margins_are_those_of_numpy_also_in_files(case: ObjectiveCase, tmp_path) -> None:
    X, y, w = rows(case)
    objective = case.objective.measured(y, w)
    model = train(
        PARAMS, catboost.Pool(X, y, weight=w), ROUNDS, objective=case.objective
    )  # fmt: skip
    expected = truth(model, objective, X, y, w, np.full(len(y), objective.intercept or 0.0))
    np.testing.assert_allclose(model.predict(X), expected, atol=1e-6)
    for kind in ("cbm", "json"):
        model.save_model(tmp_path / "model", format=kind)
        loaded = catboost.CatBoost().load_model(tmp_path / "model", format=kind)
        np.testing.assert_allclose(loaded.predict(X), expected, atol=1e-6)
    again = pickle.loads(pickle.dumps(model))
    np.testing.assert_array_equal(again.predict(X), model.predict(X))


@pytest.mark.parametrize("case", [c for c in CASES if not is_row_wise(c)], ids=repr)
def test_objectives_that_blocks_of_rows_would_change_are_refused(case: ObjectiveCase) -> None:
    y, _, w = case.rows(600)
    X = np.random.default_rng(1).normal(size=(600, 3))
    with pytest.raises(ValueError, match="CatBoost (passes|does not say|asks)"):
        train(PARAMS, catboost.Pool(X, y, weight=w), 2, objective=case.objective)


def spread(n: int = 3000, seed: int = 0) -> tuple[Array, Array]:
    rng = np.random.default_rng(seed)
    X = rng.random((n, 3))
    return X, (rng.random(n) < 0.5 * X[:, 0]).astype(int)


WEIGHTED = go.weighted_logloss_objective(0.5)
METRIC = go.weighted_logloss_metric(0.5)
FIT, HELD_OUT = slice(0, 2000), slice(2000, 3000)
LETTERS = np.array(["no", "yes"])


@pytest.mark.parametrize(
    ("more", "steps", "sums_hessian"),
    [
        ({"boosting_type": "Ordered"}, 1, True), ({"grow_policy": "Lossguide"}, 1, True),
        ({"leaf_estimation_iterations": 4}, 4, True),
        ({"leaf_estimation_method": "Gradient"}, 1, False), ({"thread_count": 2}, 1, True),
        ({"bootstrap_type": "Bernoulli", "subsample": 0.5}, 1, True),
    ],
    ids=str,
)  # fmt: skip
def test_what_is_not_refused_is_right(more: Any, steps: int, sums_hessian: bool) -> None:
    X, y = spread()
    model = train({**PARAMS, **more}, catboost.Pool(X, y), ROUNDS, objective=WEIGHTED)
    objective = WEIGHTED.measured(y)
    f = np.full(len(y), objective.intercept)
    for leaf in model.calc_leaf_indexes(X).T:
        step = np.zeros(99)
        for _ in range(steps):
            g, h = objective.gradient_hessian(y, f + step[leaf])
            h = h if sums_hessian else np.ones(len(y))
            step -= np.bincount(leaf, g, 99) / (np.bincount(leaf, h, 99) + L2)
        f = f + RATE * step[leaf]
    np.testing.assert_allclose(model.predict(X), f, atol=1e-6)


@pytest.mark.parametrize(
    "labels", [LETTERS, np.array([False, True]), np.array([3, 5]), np.arange(2.0)]
)
@pytest.mark.parametrize("objective", [WEIGHTED, go.focal_objective(2)], ids=repr)
def test_classifier_predicts_classes_and_what_the_objective_aims_at(
    labels: Array, objective: go.Objective
) -> None:
    X, y = spread()
    model = CatBoostClassifier(objective=objective, **PARAMS, iterations=20)
    model.fit(X, labels[y])
    assert model.classes_.tolist() == labels.tolist()
    assert model.score(X, labels[y]) == (model.predict(X) == labels[y]).mean()
    margin = model.predict(X, prediction_type="RawFormulaVal")
    expected = objective.measured(y).class_probability(margin)
    p = model.predict_proba(X)
    np.testing.assert_allclose(p, expected, rtol=1e-12)
    np.testing.assert_allclose(np.exp(model.predict_log_proba(X)), p, rtol=1e-12)
    np.testing.assert_allclose(model.predict(X, prediction_type="Probability"), p, rtol=1e-12)
    *_, staged = model.staged_predict_proba(X)
    np.testing.assert_allclose(staged, p, rtol=1e-12)
    assert (model.predict(X) == model.classes_[p.argmax(axis=1)]).all()
    for copy in (pickle.loads(pickle.dumps(model)), model.copy()):
        np.testing.assert_array_equal(copy.predict_proba(X), p)
        assert copy.objective_ == model.objective_ != objective


def test_pool_of_categories_is_the_same_as_columns(tmp_path) -> None:
    X, y = spread()
    columns = [[f"{a:.1f}", b] for a, b in X[:, :2]]
    given: dict[str, Any] = {**PARAMS, "objective": WEIGHTED, "iterations": 10}
    given |= {"eval_metric": METRIC, "use_best_model": False}
    pool = catboost.Pool(columns, LETTERS[y], cat_features=[0])
    held_out = catboost.Pool(columns[:500], LETTERS[y][:500], cat_features=[0])
    first = CatBoostClassifier(**given, cat_features=[0]).fit(columns, LETTERS[y])
    second = CatBoostClassifier(**given).fit(pool, eval_set=held_out, early_stopping_rounds=99)
    np.testing.assert_array_equal(first.predict_proba(columns), second.predict_proba(pool))
    with pytest.raises(catboost.CatBoostError, match="sample_weight"):
        CatBoostClassifier(**given).fit(pool, sample_weight=np.ones(len(y)), eval_set=held_out)
    first.save_model(tmp_path / "model")
    loaded = catboost.CatBoostClassifier().load_model(tmp_path / "model")
    np.testing.assert_array_equal(loaded.predict_proba(columns), first.predict_proba(columns))
    np.testing.assert_array_equal(loaded.predict(columns), first.predict(columns))


def test_regressor_predicts_means_under_a_log_link_also_from_a_file(tmp_path) -> None:
    X, _ = spread()
    y = np.random.default_rng(2).poisson(np.exp(1 + X[:, 0]))
    model = CatBoostRegressor(loss_function=OWN["log"], **PARAMS, iterations=20).fit(X, y)
    margin = model.predict(X, prediction_type="RawFormulaVal")
    np.testing.assert_allclose(model.predict(X), np.exp(margin), rtol=1e-12)
    model.save_model(tmp_path / "model")
    loaded = catboost.CatBoostRegressor().load_model(tmp_path / "model")
    np.testing.assert_allclose(loaded.predict(X), np.exp(margin), rtol=1e-12)


def test_onnx_file_holds_margins(tmp_path) -> None:
    runtime = pytest.importorskip("onnxruntime")
    X, y = spread()
    X = X.astype(np.float32)
    model = CatBoostClassifier(objective=WEIGHTED, **PARAMS, iterations=9).fit(X, y)
    model.save_model(tmp_path / "model.onnx", format="onnx")
    session = runtime.InferenceSession(tmp_path / "model.onnx")
    (found,) = session.run(None, {"features": X})
    margin = model.predict(X, prediction_type="RawFormulaVal")
    np.testing.assert_allclose(np.ravel(found), margin, atol=1e-5)  # float32


@pytest.mark.parametrize("up", [False, True])
def test_stops_at_the_best_round_of_the_last_set_in_the_metrics_direction(up: bool) -> None:
    X, y = spread()
    kind: Any = CatBoostRegressor if up else CatBoostClassifier
    metric = go.extended_qwk_metric() if up else METRIC
    objective = go.objective(squared_error, loss=squared_error_loss) if up else WEIGHTED
    params = {**PARAMS, "iterations": 200, "early_stopping_rounds": 5}
    model = kind(objective=objective, eval_metric=metric, **params)
    sets = [(X[FIT][:500], y[FIT][:500]), (X[HELD_OUT], y[HELD_OUT])]
    model.fit(X[FIT], y[FIT], eval_set=sets)
    *_, found = model.get_evals_result().values()
    values = found[metric.name]
    best = int(np.argmax(values) if up else np.argmin(values))
    assert model.tree_count_ == best + 1
    assert len(values) == best + 6 < 200
    margin = model.predict(X[HELD_OUT], prediction_type="RawFormulaVal")
    assert metric(y[HELD_OUT], margin) == pytest.approx(values[best], rel=1e-6)  # float32 labels


@pytest.mark.parametrize("in_pools", [False, True])
def test_metric_reads_what_catboosts_own_objective_predicts(in_pools: bool) -> None:
    X, y = spread()
    metric = go.weighted_logloss_metric(1.0, input_space="probability")
    model = CatBoostClassifier(eval_metric=metric, **PARAMS, iterations=9)
    if in_pools:
        sets = [catboost.Pool(X[at], y[at]) for at in (FIT, HELD_OUT)]
        model.fit(sets[0], eval_set=sets[1])
    else:
        model.fit(X[FIT], y[FIT], eval_set=(X[HELD_OUT], y[HELD_OUT]))
    p = model.predict_proba(X[HELD_OUT])[:, 1]
    assert min(model.evals_result_["validation"][metric.name]) == pytest.approx(
        metric(y[HELD_OUT], p), rel=1e-6
    )


def test_training_goes_on_from_the_margins_of_a_model(tmp_path) -> None:
    X, y = spread()
    params = {**PARAMS, "random_strength": 0, "bootstrap_type": "No"}
    pool = catboost.Pool(X, y)
    at_once = train(params, pool, 12, objective=WEIGHTED).predict(X)
    first = train(params, pool, 6, objective=WEIGHTED)
    first.save_model(tmp_path / "model")
    for earlier in (first, tmp_path / "model"):
        second = train(params, pool, 6, objective=WEIGHTED, init_model=earlier)
        np.testing.assert_allclose(second.predict(X), at_once, atol=1e-8)
    moved = go.shift_intercept(first, delta=0.5)  # in CatBoost's bias
    np.testing.assert_allclose(moved.predict(X), first.predict(X) + 0.5, atol=1e-12)
    second = train(params, pool, 6, objective=WEIGHTED, init_model=moved)
    np.testing.assert_allclose(second.predict(X, ntree_end=6), moved.predict(X), atol=1e-8)


REFUSED = {
    "class_weights": ([1, 2], "is refused"), "auto_class_weights": ("Balanced", "is refused"),
    "task_type": ("GPU", "is refused"), "boost_from_average": (True, "is refused"),
    "leaf_estimation_backtracking": ("AnyImprovement", "is refused"),
    "eval_fraction": (0.2, "is refused"), "custom_metric": (["AUC"], "is refused"),
    "target_border": (0.5, "is refused"), "eval_metric": ("AUC", "miss the intercept"),
    "loss_function": ("Logloss", "leave one out"), "early_stopping_rounds": (3, "needs a metric"),
}  # fmt: skip


@pytest.mark.parametrize("name", ["loss_function", "iterations", "use_best_model", "od_wait"])
def test_what_train_itself_sets_is_refused(name: str) -> None:
    X, y = spread(200)
    with pytest.raises(ValueError, match=r"pass \w+= to train"):
        train({**PARAMS, name: 3}, catboost.Pool(X, y), 2, objective=WEIGHTED)


def test_rows_without_weight_at_the_beginning_are_no_reason_to_refuse() -> None:
    X, y = spread()
    objective = go.objective(squared_error, loss=squared_error_loss)
    w = (np.arange(3000) >= 1500).astype(float)
    model = CatBoostRegressor(objective=objective, **PARAMS, iterations=9).fit(
        X, y, sample_weight=w
    )
    alone = CatBoostRegressor(objective=objective, **PARAMS, iterations=9)
    alone.fit(X[1500:], y[1500:])
    error = model.predict(X) - alone.predict(X)
    assert np.abs(error).mean() < 0.05  # other borders and regularisation, the same rows


class Accuracy:
    """A metric in CatBoost's form."""

    def is_max_optimal(self) -> bool:
        return True

    def evaluate(self, margins: Any, y: Array, w: Array | None) -> tuple[float, float]:
        return float(np.mean((np.asarray(margins[0]) > 0) == y)), 1.0

    def get_final_error(self, value: float, n: float) -> float:
        return value


def test_a_metric_in_catboosts_form_would_miss_the_intercept() -> None:
    X, y = spread(200)
    model = CatBoostClassifier(objective=WEIGHTED, eval_metric=Accuracy(), **PARAMS)
    with pytest.raises(ValueError, match="miss the intercept"):
        model.fit(X, y)


@pytest.mark.parametrize("name", REFUSED)
def test_what_catboost_would_ignore_or_misread_is_refused(name: str) -> None:
    X, y = spread(200)
    value, said = REFUSED[name]
    model = CatBoostClassifier(objective=WEIGHTED, **PARAMS, **{name: value})
    with pytest.raises(ValueError, match=said):
        model.fit(X, y)
    assert not model.is_fitted()


def test_starts_of_rows_are_refused() -> None:
    X, y = spread(200)
    pool = catboost.Pool(X, y, baseline=np.ones(200))
    model = CatBoostClassifier(objective=WEIGHTED, **PARAMS)
    for fit in (
        lambda: model.fit(X, y, eval_set=pool),
        lambda: model.fit(pool), lambda: model.fit(X, y, baseline=np.ones(200)),
        lambda: train(PARAMS, pool, 2, objective=WEIGHTED),
    ):  # fmt: skip
        with pytest.raises(ValueError, match="boosting starts at the objective's intercept"):
            fit()


@pytest.mark.parametrize("name", ["objective", "loss_function"])
def test_a_function_is_refused_with_the_remedy(name: str) -> None:
    def squares(y_true: Array, margin: Array) -> tuple[Array, Array]:
        return margin - y_true, np.ones_like(margin)

    model = CatBoostRegressor(**{name: squares}, **PARAMS, iterations=1)
    with pytest.raises(TypeError, match=r"wrap .* with gbdt_objectives\.objective\(function\)"):
        model.fit(np.zeros((4, 1)), np.arange(4.0))


def test_an_error_in_a_round_is_raised_as_it_was() -> None:
    def fails(y: Array, f: Array, sample_weight: Array | None = None) -> tuple[Array, Array]:
        return np.where(f > 1.2, np.nan, f - y), np.ones(len(y))

    X, y = spread()
    model = CatBoostRegressor(objective=go.objective(fails, intercept=0.3), **PARAMS)
    with pytest.raises(ValueError, match="returned by fails must be finite.* at margin [12]"):
        model.fit(X, 9.0 * y)


@pytest.mark.parametrize("kind", [catboost.CatBoostClassifier, CatBoostClassifier])
@pytest.mark.parametrize("stops", [{}, {"early_stopping_rounds": 9}], ids=str)
def test_offset_correction_is_the_drop_in_classifier(kind: Any, stops: Any) -> None:
    X, _ = spread()
    y = (np.random.default_rng(3).random(3000) < 0.2 * X[:, 0]).astype(int)
    estimator = kind(**PARAMS, **stops, iterations=40)
    model = go.DownsampledClassifier(estimator, 0.4, correction="offset", random_state=0)
    model.fit(X, y)
    assert model.predict_proba(X)[:, 1].mean() == pytest.approx(y.mean(), rel=0.1)


def test_qwk_classifier_trains_catboosts_own_loss_and_stops_early() -> None:
    X, _ = spread()
    y = np.digitize(X[:, 0], [0.3, 0.6])
    for kind in (catboost.CatBoostRegressor, CatBoostRegressor):
        estimator = kind(**PARAMS, iterations=60)
        model = go.QWKClassifier(estimator, early_stopping_rounds=5).fit(X, y)
        assert (model.predict(X) == y).mean() > 0.95
        with pytest.raises(ValueError, match="CatBoost passes 1000"):
            go.QWKClassifier(estimator, objective="qwk").fit(X, y)


@pytest.mark.parametrize("name", ["iterations", "n_estimators", "num_trees"])
def test_qwk_classifier_trains_the_rounds_of_its_folds_on_all_rows(name: str) -> None:
    X, _ = spread(600)
    y = np.digitize(X[:, 0], [0.3, 0.6])
    estimator = catboost.CatBoostRegressor(**PARAMS, **{name: 90})
    model = go.QWKClassifier(estimator, early_stopping_rounds=2, ensemble=False).fit(X, y)
    assert model.estimator_.tree_count_ == round(np.mean(model.best_iterations_)) < 90


def test_qwk_classifier_keeps_the_learning_rate_that_its_folds_chose() -> None:
    X, _ = spread(600)
    y = np.digitize(X[:, 0], [0.3, 0.6])
    own = {name: v for name, v in PARAMS.items() if name != "learning_rate"}
    for more in ({}, {"learning_rate": 0.2}, {"eta": 0.2}):
        estimator = catboost.CatBoostRegressor(**own, **more, iterations=90)
        asked = {"early_stopping_rounds": 2, "cv": 2}
        folds = go.QWKClassifier(estimator, **asked).fit(X, y).estimators_
        refit = go.QWKClassifier(estimator, **asked, ensemble=False).fit(X, y).estimator_
        rates = [fold.learning_rate_ for fold in folds]
        np.testing.assert_allclose(refit.learning_rate_, np.mean(rates), rtol=1e-6)


def test_qwk_classifier_stops_where_catboost_is_told_what_is_so_anyway() -> None:
    X, _ = spread(600)
    y = np.digitize(X[:, 0], [0.3, 0.6])
    plain = catboost.CatBoostRegressor(**PARAMS, iterations=60)
    asked = {"cv": 2, "ensemble": False}
    expected = go.QWKClassifier(plain, **asked).fit(X, y)
    for more in ({"eval_metric": "RMSE"}, {"boosting_type": "Plain"}, {"use_best_model": True}):
        found = go.QWKClassifier(plain.copy().set_params(**more), **asked).fit(X, y)
        assert found.best_iterations_ == expected.best_iterations_
        np.testing.assert_array_equal(found.predict_score(X), expected.predict_score(X))


@pytest.mark.parametrize(
    "given", [{"use_best_model": False}, {"eval_fraction": 0.2}, {"best_model_min_trees": 30}]
)
def test_qwk_classifier_does_not_stop_where_catboost_would_not_keep_the_best_round(
    given: Any,
) -> None:
    X, _ = spread(600)
    y = np.digitize(X[:, 0], [0.3, 0.6])
    model = go.QWKClassifier(catboost.CatBoostRegressor(**PARAMS, iterations=30, **given), cv=2)
    assert not hasattr(model.fit(X, y), "best_iterations_")
    with pytest.raises(ValueError, match=f"{next(iter(given))}.* leave it out"):
        model.set_params(early_stopping_rounds=5).fit(X, y)


def test_classes_in_another_order_are_refused_or_followed() -> None:
    X, y = spread(600)
    own = catboost.CatBoostClassifier(**PARAMS, iterations=5, class_names=(1, 0))
    for model in (go.CalibratedClassifier(own, cv=2), go.DownsampledClassifier(own, 0.5)):
        with pytest.raises(ValueError, match=r"class_names=\(1, 0\).* leave it out"):
            model.fit(X, y)
    rates = {0: 0.1, 1: 1.0}
    with pytest.raises(ValueError, match="not trained"):
        shift_intercept(catboost.CatBoostClassifier(), class_keep_rates=rates)
    for order in ((1, 0), (0, 1)):
        model = own.copy().set_params(class_names=order).fit(X, y)
        moved = shift_intercept(model, class_keep_rates=rates)
        step = (np.log(each.predict_proba(X)[:, order.index(1)]) for each in (moved, model))
        assert (next(step) < next(step)).all()
        with pytest.raises(ValueError, match="but the classes are"):
            shift_intercept(model, class_keep_rates={"no": 0.1, "yes": 1.0})


def test_shifts_that_cannot_be_read_are_said_with_the_remedy() -> None:
    X, y = spread(400)
    data = catboost.Pool(X, y)
    model = train({**PARAMS}, data, 5, objective=WEIGHTED)
    with pytest.raises(TypeError, match="InterceptCalibrator"):
        imbalance_shift(model, X, y)
    z = model.predict(X)
    b = InterceptCalibrator(input_space="margin").fit(z, y).shift_
    p = shift_intercept(model, delta=b).predict(X, prediction_type="Probability")[:, 1]
    assert p.mean() == pytest.approx(y.mean(), abs=1e-6)
    with pytest.raises(TypeError, match="pass a sample") as said:
        imbalance_shift(CatBoostClassifier(**PARAMS))
    assert "get_booster" not in str(said.value)
    for ours in (
        go.QWKClassifier(CatBoostRegressor()),
        go.CalibratedClassifier(CatBoostClassifier()),
    ):
        with pytest.raises(TypeError, match="X is a Pool, .* pass the features"):
            ours.fit(data, y)


def test_what_cannot_be_cloned_is_said_with_the_remedy() -> None:
    X, y = spread(200)
    own = CatBoostClassifier(**PARAMS, iterations=2, one_hot_max_size=2, cat_features=[])
    try:
        clone(own)
    except RuntimeError:
        pass
    else:
        pytest.skip("scikit-learn clones it in this version")
    for model in (go.CalibratedClassifier(own), go.DownsampledClassifier(own, 0.5)):
        with pytest.raises(ValueError, match=r"cannot be cloned.* tuple.* cat_features=\[\]"):
            model.fit(X, y)


@pytest.mark.parametrize(
    "given",
    [{"loss_function": go.qwk_objective()}, {"objective": WEIGHTED},
     {"loss_function": WEIGHTED, "eval_metric": METRIC}, {"eval_metric": go.qwk_metric()}],
    ids=str,
)  # fmt: skip
def test_plain_catboost_says_where_ours_is(given: Any) -> None:
    X, y = spread(200)
    with pytest.raises((TypeError, catboost.CatBoostError), match="adapters.catboost"):
        catboost.CatBoostRegressor(**{**PARAMS, **given}).fit(X, y)


@pytest.mark.parametrize("objective", [None, OWN["log"]], ids=["its own", "ours"])
@pytest.mark.parametrize("metrics", [[go.qwk_metric(), METRIC], ["RMSE", METRIC], [METRIC]])
def test_a_list_of_metrics_is_refused(objective: Any, metrics: Any) -> None:
    X, y = spread(200)
    model = CatBoostRegressor(loss_function=objective, eval_metric=metrics, **PARAMS)
    with pytest.raises(ValueError, match="eval_metric is a list: CatBoost stops on one"):
        model.fit(X, y, eval_set=(X[:50], y[:50]))


def test_a_blend_may_start_where_an_objective_in_it_may_not() -> None:
    X, _ = spread(600)
    y = (X[:, 0] > 0.95).astype(float)
    offset = go.offset_logloss_objective(0.05)

    def blend(y: Any, f: Any, w: Any) -> Any:
        g, h = offset(y, f)
        return 0.5 * g + 0.5 * (f - y), 0.5 * h + 0.5

    with warnings.catch_warnings():
        warnings.simplefilter("error")
        train(PARAMS, catboost.Pool(X, y), 3, objective=go.objective(blend, link="logit"))
        CatBoostRegressor(objective=go.objective(blend), iterations=3, **PARAMS).fit(X, y)


def test_served_models_have_the_remedy(tmp_path) -> None:
    X, y = spread(200)
    model = CatBoostClassifier(objective=WEIGHTED, **PARAMS, iterations=2).fit(X, y)
    for one in (model, go.DownsampledClassifier(CatBoostClassifier(**PARAMS), 0.5).fit(X, y)):
        with pytest.raises(TypeError, match="model.save_model"):
            go.serving.export(one, tmp_path / "folder")


def test_members_may_have_categories_when_they_stop_early() -> None:
    pandas = pytest.importorskip("pandas")
    X, _ = spread()
    y = np.digitize(X[:, 0], [0.3, 0.6])
    frame = pandas.DataFrame({"x": X[:, 0], "c": np.where(X[:, 1] > 0.5, "up", "down")})
    member = catboost.CatBoostRegressor(**PARAMS, iterations=40, cat_features=("c",))
    model = go.QWKClassifier(member, early_stopping_rounds=5).fit(frame, y)
    assert (model.predict(frame) == y).mean() > 0.95


def test_regressor_scores_its_predictions() -> None:
    X, _ = spread(600)
    y = np.floor(6 * X[:, 0])
    model = CatBoostRegressor(objective=OWN["log"], **PARAMS, iterations=20).fit(X, y)
    assert model.score(X, y) == pytest.approx(r2_score(y, model.predict(X)), rel=1e-9)


def test_a_loaded_model_is_not_read_by_an_earlier_objective(tmp_path) -> None:
    X, y = spread(300)
    plain = catboost.CatBoostClassifier(**PARAMS, iterations=5).fit(X, y)
    plain.save_model(tmp_path / "model.cbm")
    model = CatBoostClassifier(objective=go.focal_objective(2), **PARAMS, iterations=5).fit(X, y)
    model.load_model(tmp_path / "model.cbm")
    np.testing.assert_array_equal(model.predict_proba(X), plain.predict_proba(X))


def test_search_and_clone() -> None:
    X, y = spread(600)
    model = CatBoostClassifier(objective=WEIGHTED, **PARAMS, iterations=5)
    assert clone(model).get_params() == model.get_params()
    grid = {"objective": [WEIGHTED, go.focal_objective(2)], "depth": [1, 3]}
    found = GridSearchCV(model, grid, scoring="neg_log_loss", cv=2).fit(X, y)
    assert found.best_params_["depth"] == 3
    with pytest.raises(TypeError, match="use GridSearchCV"):
        model.grid_search({"depth": [1, 3]}, X, y)
    refitted = model.fit(X, y).predict_proba(X)
    np.testing.assert_array_equal(model.fit(X, y).predict_proba(X), refitted)


SCORE = go.focal_objective(2, alpha=0.25)
OF_LINK: dict[str, tuple[Any, go.Objective, Array]] = {
    "logit": (CatBoostClassifier, WEIGHTED, spread(1200)[1]),
    "score": (CatBoostClassifier, SCORE, spread(1200)[1]),
    "log": (CatBoostRegressor, OWN["log"], np.floor(6 * spread(1200)[0][:, 0])),
}
FEATURES = spread(1200)[0]
CLOSE = 1e-12  # of the same trees: json rounds its numbers to some 16 digits


def margins(model: Any) -> Array:
    found: Array = model.predict(FEATURES, prediction_type="RawFormulaVal")
    return found


def focal_probability(z: Array, gamma: float = 2.0, alpha: float = 0.25) -> Array:
    """The probability of label 1 for which the expected focal loss is least at a margin."""

    def slope(x: Array) -> Array:
        p = 1 / (1 + np.exp(-x))
        q = 1 - p
        return q**gamma * (q - gamma * p * np.log(p))

    up, down = alpha * slope(z), (1 - alpha) * slope(-z)
    return down / (up + down)


@pytest.fixture(scope="module")
def of_link() -> dict[str, Any]:
    """A model of each link, and the same from its file, its copy and its pickle."""
    return {
        link: kind(objective=objective, **PARAMS, iterations=8).fit(FEATURES, y)
        for link, (kind, objective, y) in OF_LINK.items()
    }


@pytest.mark.parametrize("form", ["cbm", "json", "blob"])
def test_a_file_tells_the_link(form: str, of_link: dict[str, Any], tmp_path: Path) -> None:
    def load(model: Any) -> Any:
        if form == "blob":
            return model.load_model(blob=path.with_suffix(".cbm").read_bytes())
        return model.load_model(path.with_suffix(f".{form}"), format=form)

    for link, model in of_link.items():
        path = tmp_path / link
        for kind in ("cbm", "json"):
            model.save_model(path.with_suffix(f".{kind}"), format=kind)
        kind, z = type(model), margins(model)
        loaded, number = load(kind()), load(CatBoostRegressor())
        np.testing.assert_allclose(margins(loaded), z, rtol=CLOSE, atol=CLOSE)
        expected = np.exp(z) if link == "log" else z
        np.testing.assert_allclose(number.predict(FEATURES), expected, rtol=CLOSE, atol=CLOSE)
        if link == "logit":
            p = 1 / (1 + np.exp(-z))
            np.testing.assert_allclose(loaded.predict_proba(FEATURES)[:, 1], p, rtol=1e-9)
        if link == "log":
            np.testing.assert_allclose(loaded.predict(FEATURES), expected, rtol=CLOSE)
            with pytest.raises(ValueError, match="misread .* logs of a positive mean"):
                load(CatBoostClassifier()).predict_proba(FEATURES)
        if link != "score":
            continue
        for ask in (
            loaded.predict, loaded.predict_proba, loaded.predict_log_proba, loaded.staged_predict,
            loaded.copy().predict, pickle.loads(pickle.dumps(loaded)).predict_proba,
            partial(loaded.score, y=OF_LINK["score"][2]),
        ):  # fmt: skip
            remedy = r"CatBoostClassifier\(objective=model.objective_\), or into CatBoostRegressor"
            with pytest.raises(ValueError, match=remedy):
                ask(FEATURES)
        read = load(CatBoostClassifier(objective=model.objective_))
        assert read.objective_ == model.objective_
        for one in (read, read.copy(), pickle.loads(pickle.dumps(read))):
            found = one.predict_proba(FEATURES)[:, 1]
            np.testing.assert_allclose(found, focal_probability(z), rtol=1e-9)
            np.testing.assert_array_equal(one.predict(FEATURES), model.predict(FEATURES))


def test_files_of_earlier_versions_are_read_by_the_given_objective(of_link, tmp_path) -> None:
    model = of_link["score"].copy()
    del model.get_metadata()["gbdt_objectives_link"]
    model.save_model(tmp_path / "model")
    read = CatBoostClassifier(objective=SCORE).load_model(tmp_path / "model")
    found = read.predict_proba(FEATURES)[:, 1]
    np.testing.assert_allclose(found, focal_probability(margins(model)), rtol=1e-9)


def test_a_model_that_cannot_be_loaded_leaves_the_one_before(of_link, tmp_path) -> None:
    model = of_link["score"].copy()
    with pytest.raises(catboost.CatBoostError):
        model.load_model(tmp_path / "missing")
    np.testing.assert_array_equal(
        model.predict_proba(FEATURES), of_link["score"].predict_proba(FEATURES)
    )


def test_what_goes_on_from_a_file_knows_its_link(of_link, tmp_path) -> None:
    for link, model in of_link.items():
        model.save_model(tmp_path / link)
    pool, params = catboost.Pool(FEATURES, OF_LINK["logit"][2]), {**PARAMS}
    for link in ("score", "log"):
        with pytest.warns(UserWarning, match="train on with a model of the same link"):
            train(params, pool, 2, objective=WEIGHTED, init_model=tmp_path / link)
        loaded = catboost.CatBoost().load_model(tmp_path / link)
        with pytest.raises(ValueError, match="neither in label units nor log-odds"):
            shift_intercept(loaded, delta=0.5)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        train(params, pool, 2, objective=WEIGHTED, init_model=tmp_path / "logit")


@pytest.mark.parametrize("link", ["logit", "score"])
def test_probability_threshold(link: str, of_link: dict[str, Any], tmp_path: Path) -> None:
    y, model = OF_LINK[link][2], of_link[link].copy()
    p = model.predict_proba(FEATURES)[:, 1]
    assert model.get_probability_threshold() == 0.5
    limit = float(np.quantile(p, 0.4))  # no p of a row, but between two
    model.set_probability_threshold(limit)
    assert model.get_probability_threshold() == pytest.approx(limit)
    model.save_model(tmp_path / "model")
    loaded = CatBoostClassifier(objective=OF_LINK[link][1]).load_model(tmp_path / "model")
    for one in (model, loaded, pickle.loads(pickle.dumps(model))):
        np.testing.assert_array_equal(one.predict(FEATURES), p > limit)
        *_, last = one.staged_predict(FEATURES)
        np.testing.assert_array_equal(np.ravel(last), p > limit)
        assert one.score(FEATURES, y) == pytest.approx(np.mean((p > limit) == y))
    model.set_probability_threshold(None)
    np.testing.assert_array_equal(model.predict(FEATURES), p > 0.5)


def test_probability_threshold_of_three_classes_is_refused() -> None:
    y = np.digitize(FEATURES[:, 0], [0.3, 0.6])
    objective = go.ordinal_logit_objective(3, thresholds=(-1.0, 1.0))
    model = CatBoostClassifier(objective=objective, **PARAMS, iterations=3).fit(FEATURES, y)
    with pytest.raises(ValueError, match="for two classes, here are 3: read predict_proba"):
        model.set_probability_threshold(0.3)


Answers = dict[str, Any]


def mean_log_loss(y: Array, z: Array) -> float:
    return float(np.mean(np.logaddexp(0, z) - y * z))


def mean_poisson(y: Array, z: Array) -> float:
    return float(np.mean(np.exp(z) - y * z))


def last_of(metrics: dict[str, list[float]]) -> float:
    ((*_, found),) = metrics.values()
    return float(found)


def measured_by(name: str) -> Any:
    return lambda m, pool: last_of(m.eval_metrics(pool, [name]))


def aggregated_by(name: str) -> Any:
    def ask(model: Any, pool: Any) -> float:
        calcer = model.create_metric_calcer([name])
        calcer.add(pool)
        return float(calcer.eval_metrics().get_result(name)[-1])

    return ask


def shap(m: Any, pool: Any, **more: Any) -> Array:
    asked = pool.slice(list(range(100)))
    return np.asarray(m.get_feature_importance(asked, type="ShapValues", **more)).sum(axis=1)


def probability(m: Any) -> Array:
    return np.asarray(m.objective_.class_probability(margins(m)))


def staged(name: str) -> Any:
    def ask(model: Any, pool: Any) -> Array:
        *_, last = getattr(model, name)(pool)
        return np.asarray(last)

    return ask


REFUSES = re.compile("CatBoost's (metrics|prediction_type|model_output)=.* would misread .*: .*")
METHODS: dict[str, tuple[Any, Answers]] = {
    # what is asked, and by link what is right; a pattern where it is refused
    "eval_metrics Logloss": (measured_by("Logloss"), {
        "logit": lambda m, y: mean_log_loss(y, margins(m)), "score": REFUSES, "log": REFUSES}),
    "eval_metrics Accuracy": (measured_by("Accuracy"), {
        "logit": lambda m, y: np.mean(m.predict(FEATURES) == y), "score": REFUSES,
        "log": REFUSES}),
    "eval_metrics AUC": (measured_by("AUC:hints=skip_train~false"), {
        "logit": lambda m, y: roc_auc_score(y, margins(m)),
        "score": lambda m, y: roc_auc_score(y, margins(m))}),
    "eval_metrics RMSE": (measured_by("RMSE"), {"score": REFUSES, "log": REFUSES}),
    "eval_metrics Poisson": (measured_by("Poisson"), {
        "score": REFUSES, "log": lambda m, y: mean_poisson(y, margins(m))}),
    "create_metric_calcer": (aggregated_by("Logloss"), {
        "logit": lambda m, y: mean_log_loss(y, margins(m)), "score": REFUSES, "log": REFUSES}),
    "SHAP": (shap, dict.fromkeys(OF_LINK, lambda m, y: margins(m)[:100])),
    "SHAP of probabilities": (
        lambda m, pool: shap(m, pool, model_output="Probability", reference_data=pool),
        {"logit": lambda m, y: probability(m)[:100, 1], "score": REFUSES, "log": REFUSES}),
    **{f"predict {name}": (
        lambda m, pool, name=name: m.predict(pool, prediction_type=name),
        {"logit": right, "score": right, "log": REFUSES}
    ) for name, right in {
        "Class": lambda m, y: m.classes_[probability(m).argmax(axis=1)],
        "Probability": lambda m, y: probability(m),
        "LogProbability": lambda m, y: np.log(probability(m)),
    }.items()},
    "predict Exponent": (
        lambda m, pool: m.predict(pool, prediction_type="Exponent"),
        dict.fromkeys(OF_LINK, lambda m, y: np.exp(margins(m)))),
    "staged_predict_proba": (staged("staged_predict_proba"), dict.fromkeys(
        ("logit", "score"), lambda m, y: probability(m))),
    "staged_predict_log_proba": (staged("staged_predict_log_proba"), dict.fromkeys(
        ("logit", "score"), lambda m, y: np.log(probability(m)))),
    "predict_log_proba": (lambda m, pool: m.predict_log_proba(pool), dict.fromkeys(
        ("logit", "score"), lambda m, y: np.log(probability(m)))),
    "shrink": (
        lambda m, pool: cut(m, 5).predict(pool, prediction_type="RawFormulaVal"),
        dict.fromkeys(OF_LINK, lambda m, y: m.predict(
            FEATURES, prediction_type="RawFormulaVal", ntree_end=5))),
    "shrink, then predict": (lambda m, pool: cut(m, 5).predict(pool), {
        "log": lambda m, y: np.exp(margins(cut(m, 5)))}),
    "shrink, then predict_proba": (lambda m, pool: cut(m, 5).predict_proba(pool), dict.fromkeys(
        ("logit", "score"), lambda m, y: m.objective_.class_probability(margins(cut(m, 5))))),
    "sum_models": (
        lambda m, pool: catboost.sum_models([m, cut(m, 5)], weights=[0.5, 0.5]).predict(pool),
        dict.fromkeys(OF_LINK, lambda m, y: (margins(m) + margins(cut(m, 5))) / 2)),
    "calc_leaf_indexes": (
        lambda m, pool: [m.get_leaf_values().reshape(8, -1)[tree, leaf].sum() for leaf in
                         m.calc_leaf_indexes(pool)[:20] for tree in [range(8)]],
        dict.fromkeys(OF_LINK, lambda m, y: margins(m)[:20])),
}  # fmt: skip


def cut(model: Any, rounds: int) -> Any:
    """A copy of the model of so many rounds."""
    found = model.copy()
    found.shrink(rounds)
    return found


@pytest.mark.parametrize("name", METHODS)
def test_catboosts_own_methods_are_right_or_refused(
    name: str, of_link: dict[str, Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)  # eval_metrics leaves files
    ask, answers = METHODS[name]
    for link, right in answers.items():
        model, y = of_link[link], OF_LINK[link][2]
        pool = catboost.Pool(FEATURES, y)
        if isinstance(right, re.Pattern):
            with pytest.raises(ValueError, match=right):
                ask(model, pool)
            continue
        # margins of float32 labels, sums of 1,200 rows, a transform each
        np.testing.assert_allclose(ask(model, pool), right(model, y), rtol=1e-6, atol=1e-9)


def test_a_sum_of_models_keeps_their_link_in_its_file(of_link, tmp_path) -> None:
    for link in OF_LINK:
        whole = catboost.sum_models([of_link[link], cut(of_link[link], 5)], weights=[0.5, 0.5])
        whole.save_model(tmp_path / "model")
        z = whole.predict(FEATURES)
        if link == "log":
            loaded = CatBoostRegressor().load_model(tmp_path / "model")
            np.testing.assert_allclose(loaded.predict(FEATURES), np.exp(z), rtol=CLOSE)
            continue
        loaded = CatBoostClassifier().load_model(tmp_path / "model")
        if link == "score":
            with pytest.raises(ValueError, match="load it into CatBoostClassifier"):
                loaded.predict_proba(FEATURES)
            loaded = CatBoostClassifier(objective=SCORE).load_model(tmp_path / "model")
        p = SCORE.class_probability(z)[:, 1] if link == "score" else 1 / (1 + np.exp(-z))
        np.testing.assert_allclose(loaded.predict_proba(FEATURES)[:, 1], p, rtol=1e-9)
    mixed = catboost.sum_models([of_link["logit"], of_link["score"]])
    mixed.save_model(tmp_path / "model")
    loaded = CatBoostClassifier().load_model(tmp_path / "model")
    with pytest.raises(ValueError, match="objective that this package does not know"):
        loaded.predict_proba(FEATURES)


def test_a_trained_model_becomes_an_estimator_of_its_link_or_none() -> None:
    found = {}
    for link, (_, objective, y) in OF_LINK.items():
        found[link] = train(PARAMS, catboost.Pool(FEATURES, y), 4, objective=objective)
    z = {link: model.predict(FEATURES) for link, model in found.items()}
    p = catboost.to_classifier(found["logit"]).predict_proba(FEATURES)[:, 1]
    np.testing.assert_allclose(p, 1 / (1 + np.exp(-z["logit"])), rtol=1e-9)
    mean = catboost.to_regressor(found["log"]).predict(FEATURES)
    np.testing.assert_allclose(mean, np.exp(z["log"]), rtol=CLOSE)
    number = catboost.to_regressor(found["score"]).predict(FEATURES)
    np.testing.assert_array_equal(number, z["score"])
    for link in ("score", "log"):
        with pytest.raises(catboost.CatBoostError, match="Invalid loss_function"):
            catboost.to_classifier(found[link])


def test_what_does_not_call_fit_says_what_does() -> None:
    X, y = FEATURES, OF_LINK["logit"][2]
    model = CatBoostClassifier(objective=WEIGHTED, **PARAMS, iterations=3)
    for search in (
        lambda: model.select_features(X, y, features_for_select="0-2", num_features_to_select=2),
        lambda: model.grid_search({"depth": [1, 2]}, X, y),
        lambda: model.randomized_search({"depth": [1, 2]}, X, y, n_iter=2),
    ):
        with pytest.raises(TypeError, match="GridSearchCV, RandomizedSearchCV or RFE of scikit"):
            search()
    assert RFE(model, n_features_to_select=1).fit(X, y).support_.tolist() == [True, False, False]


class Seen:
    """A callback of CatBoost's, which notes the metric, and acts from a round on."""

    def __init__(self, name: str, act: Any = lambda: True, rounds: int = 99) -> None:
        self.name, self.act, self.rounds, self.values = name, act, rounds, []

    def after_iteration(self, info: Any) -> bool:
        self.values.append(info.metrics["validation"][self.name][-1])
        return True if info.iteration < self.rounds else bool(self.act())


def test_callbacks_see_every_round_and_the_model_is_complete() -> None:
    y = OF_LINK["logit"][2]
    half = slice(0, 600), slice(600, 1200)
    given: dict[str, Any] = {"eval_set": (FEATURES[half[1]], y[half[1]]), "use_best_model": False}

    def fitted(callback: Seen | None, rounds: int = 8) -> Any:
        model = CatBoostClassifier(
            objective=WEIGHTED, eval_metric=METRIC, **PARAMS, iterations=rounds
        )
        callbacks = None if callback is None else [callback]
        return model.fit(FEATURES[half[0]], y[half[0]], callbacks=callbacks, **given)

    seen = Seen(METRIC.name)
    model = fitted(seen)
    p = [one[:, 1] for one in model.staged_predict_proba(FEATURES[half[1]])]
    expected = [METRIC(y[half[1]], np.log(q / (1 - q))) for q in p]
    np.testing.assert_allclose(seen.values, expected, rtol=1e-9)
    stopped = fitted(Seen(METRIC.name, lambda: False, 3))
    assert stopped.tree_count_ == 3
    again = fitted(None, 3)
    np.testing.assert_array_equal(stopped.predict_proba(FEATURES), again.predict_proba(FEATURES))


def test_a_fit_that_fails_leaves_the_model_before(of_link) -> None:
    def fails() -> None:
        raise RuntimeError("enough")

    for link, (_, _, y) in OF_LINK.items():
        model = of_link[link].copy()
        half = (FEATURES[:600], y[:600])
        given = {"eval_set": half, "use_best_model": False}
        with pytest.raises(catboost.CatBoostError, match="enough"):
            model.fit(1 - FEATURES, y, callbacks=[Seen("Unmeasured", fails, 3)], **given)
        np.testing.assert_array_equal(margins(model), margins(of_link[link]))
        np.testing.assert_array_equal(
            model.predict(FEATURES), of_link[link].predict(FEATURES), err_msg=link
        )


@pytest.mark.slow
@pytest.mark.parametrize("by", ["estimator", "fit", "train"])
def test_snapshots_go_on_with_the_same_objective_only(by: str, tmp_path: Path) -> None:
    y = OF_LINK["logit"][2]
    params = {**PARAMS, "allow_writing_files": True, "train_dir": str(tmp_path)}
    saving: dict[str, Any] = {"save_snapshot": True, "snapshot_interval": 0}
    if by != "estimator":
        saving |= {"snapshot_file": "mine"}

    def trained(objective: go.Objective, rounds: int, **more: Any) -> Array:
        if by == "train":
            pool = catboost.Pool(FEATURES, y)
            model: Any = train(params, pool, rounds, objective=objective, **more)
            return np.asarray(model.predict(FEATURES))
        own, of_fit = (more, {}) if by == "estimator" else ({}, more)
        model = CatBoostClassifier(objective=objective, **params, iterations=rounds, **own)
        return margins(model.fit(FEATURES, y, **of_fit))

    expected = {objective: trained(objective, 8) for objective in (SCORE, WEIGHTED)}
    trained(SCORE, 4, **saving)  # and then the machine fails
    name = "mine" if by != "estimator" else "experiment.cbsnapshot"
    assert [file.stem for file in tmp_path.glob(f"{name}.*")] == [name]
    for objective in (SCORE, WEIGHTED):
        np.testing.assert_allclose(
            trained(objective, 8, **saving), expected[objective], rtol=1e-9, atol=1e-9
        )


def test_nothing_is_written_unless_it_is_asked_for(tmp_path: Path, monkeypatch) -> None:
    monkeypatch.chdir(tmp_path)
    X = np.random.default_rng(0).normal(size=(80, 2))
    y = (X[:, 0] > 0).astype(int)
    few: dict[str, Any] = {"iterations": 2, "verbose": 0, "thread_count": 1}
    for objective in (None, go.offset_logloss_objective(0.5)):
        model = CatBoostClassifier(**few, objective=objective).fit(X, y)
        assert "allow_writing_files" not in model.get_params()
    train({"verbose": 0}, catboost.Pool(X, y), 2, objective=go.offset_logloss_objective(0.5))
    assert not [*tmp_path.iterdir()]
    CatBoostClassifier(**few, train_dir="mine").fit(X, y)
    CatBoostRegressor(**few, allow_writing_files=True).fit(X, y)
    assert {path.name for path in tmp_path.iterdir()} == {"mine", "catboost_info"}
