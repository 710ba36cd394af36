"""train and cv on scores that only their objective turns into probabilities, of one output or K."""

from __future__ import annotations

import lightgbm as lgb
import numpy as np
import pytest
import xgboost as xgb

import gbdt_objectives as go
from gbdt_objectives.adapters import lightgbm as lightgbm_adapter, xgboost as xgboost_adapter
from tests.adapters.classes import MeanLoss, Scaled, Softmax, Steps
from tests.adapters.library import LGB, XGB, Library, both

pytestmark = [pytest.mark.slow, pytest.mark.filterwarnings("ignore:early stopping keeps")]
TRAIN, TEST = slice(0, 400), slice(400, 600)
OBJECTIVES = [Scaled(), Softmax(n_classes=4), Steps(n_classes=4)]
SOFTMAX = Softmax(n_classes=4)
every = pytest.mark.parametrize("objective", OBJECTIVES, ids=lambda o: type(o).__name__)

FLOAT32 = 2e-6
"""Absolute, of XGBoost's margins below 4: a few roundings of sums of some 20 leaves."""


def labels(objective, y):
    """0..3 of four classes, 0 and 1 of two."""
    return y - 1 if objective.n_classes == 4 else (y > 2).astype(int)


def tolerance(lib: Library) -> float:
    return FLOAT32 if lib is XGB else 1e-6  # float32 gradients, of margins that differ by 1e-16


def data(lib: Library, X, y, w=None, start=None, reference=None):
    return lib.data(X, y, w, start, reference)


def plain(lib: Library, objective, X, y, w, rounds):
    """Margins of the library's own training from the intercept in each row."""
    measured = objective.measured(y, w)
    start = np.tile(measured.intercept, (len(y), 1)).reshape(len(y), -1).squeeze()
    params = {"num_class": objective.outputs} if objective.outputs > 1 else {}
    matrix = lib.data(X, y, w, start)
    if lib is XGB:
        params |= {**lib.params, "base_score": 0, "disable_default_eval_metric": 1}
        params["objective"] = "reg:squarederror"
        return xgb.train(params, matrix, rounds, obj=measured).predict(matrix)
    booster = lgb.train({**lib.params, **params, "objective": measured}, matrix, rounds)
    return booster.predict(X) + start


@both
@every
@pytest.mark.parametrize("weighted", [False, True], ids=["", "weighted"])
def test_predictions_are_margins_with_the_intercept(
    lib: Library, objective, weighted: bool, ordinal, tmp_path
) -> None:
    """As the library's own training from base_margin or init_score, and anywhere after saving."""
    X, y, w = ordinal
    y, weight = labels(objective, y), w if weighted else None
    booster = lib.train(lib.params, lib.data(X, y, weight), 12, objective=objective)
    margin = lib.predict(booster, X)
    assert margin.shape == ((600,) if objective.outputs == 1 else (600, 4))
    reference = plain(lib, objective, X, y, weight, 12)
    np.testing.assert_allclose(margin, reference, atol=tolerance(lib))
    np.testing.assert_array_equal(lib.predict(booster, X, raw=True), margin)
    path = tmp_path / "model.json"
    booster.save_model(str(path))
    np.testing.assert_allclose(lib.fresh_prediction(path, X), margin, atol=tolerance(lib))
    contributions = lib.contributions(booster, X).sum(axis=-1)
    np.testing.assert_allclose(contributions, margin, atol=1e-5)  # float32 sums of features
    fitted = objective.fitted(y, margin, weight)
    p = fitted.class_probability(margin)
    assert p.shape == (600, objective.n_classes)
    np.testing.assert_allclose(p.mean(axis=0), np.bincount(y, weight) / np.sum(
        np.ones(600) if weight is None else weight), atol=0.1)  # fmt: skip  # it has learnt rates
    guess = np.bincount(y).max() / 600
    assert (p.argmax(axis=1) == y).mean() > guess + 0.1


@both
@every
def test_one_round_that_learns_nothing_predicts_the_intercept(
    lib: Library, objective, ordinal
) -> None:
    X, y, w = ordinal
    y = labels(objective, y)
    constant = lib.data(np.ones((600, 1)), y, w)
    params = {**lib.params, "learning_rate": 1e-6}
    if lib is LGB:  # refuses data without a feature to split
        constant = lib.data(X, y, w)
    booster = lib.train(params, constant, 1, objective=objective)
    margin = lib.predict(booster, np.ones((600, 1)) if lib is XGB else X)
    intercept = objective.measured(y, w).intercept
    np.testing.assert_allclose(margin, np.broadcast_to(intercept, margin.shape), atol=1e-4)


@both
@every
def test_the_metric_sees_the_margins_that_the_model_predicts(
    lib: Library, objective, ordinal
) -> None:
    X, y, w = ordinal
    y, metric = labels(objective, y), MeanLoss(objective=objective)
    matrix = lib.data(X[TRAIN], y[TRAIN], w[TRAIN])
    held_out = lib.data(X[TEST], y[TEST], w[TEST], reference=matrix if lib is LGB else None)
    seen: dict = {}
    more = {"evals_result": seen} if lib is XGB else {"callbacks": [lgb.record_evaluation(seen)]}
    booster = lib.train(
        {**lib.params, "learning_rate": 0.5}, matrix, 40, objective=objective, metric=metric,
        evals=[(held_out, "held_out")], early_stopping_rounds=5, **more,
    )  # fmt: skip
    values = seen["held_out"]["mean_loss"]
    kept = lib.rounds(booster)
    assert kept == np.argmin(values) + 1 < 35
    assert len(values) == kept + 5
    for rounds in (1, kept):
        margin = lib.predict(booster, X[TEST], rounds=rounds)
        # XGBoost's margins are float32
        assert metric(y[TEST], margin, w[TEST]) == pytest.approx(values[rounds - 1], rel=1e-6)


@both
@every
def test_cross_validation_is_training_on_each_fold(lib: Library, objective, ordinal) -> None:
    X, y, w = ordinal
    y, metric = labels(objective, y), MeanLoss(objective=objective)
    rows = np.random.default_rng(0).permutation(600).reshape(3, 200)
    folds = [(np.sort(np.delete(rows, k, axis=0).ravel()), np.sort(rows[k])) for k in range(3)]
    if lib is XGB:
        whole = lib.data(X, y, w)
        parts = [(whole.slice(a), whole.slice(b)) for a, b in folds]
        history = xgboost_adapter.cv(
            lib.params, whole, 8, objective=objective, metric=metric, folds=folds, as_pandas=False
        )
        found = np.array(history["test-mean_loss-mean"])
    else:
        whole = lgb.Dataset(X, y, weight=w, free_raw_data=False, params={"verbose": -1})
        history = lightgbm_adapter.cv(
            lib.params, whole, 8, objective=objective, metric=metric, folds=folds,
            return_cvbooster=True,
        )  # fmt: skip
        found = np.array(history["valid mean_loss-mean"])
        parts = [(whole.subset(a), whole.subset(b)) for a, b in folds]
    values = []
    for k, ((matrix, _), (_, test)) in enumerate(zip(parts, folds, strict=True)):
        booster = lib.train(lib.params, matrix, 8, objective=objective)
        by_round = [lib.predict(booster, X[test], rounds=r) for r in range(1, 9)]
        values.append([metric(y[test], margin, w[test]) for margin in by_round])
        if lib is LGB:
            ours = history["cvbooster"].boosters[k].predict(X[test])
            np.testing.assert_allclose(ours, by_round[-1], rtol=1e-12)
    np.testing.assert_allclose(found, np.mean(values, axis=0), rtol=1e-6)  # float32 margins


@both
@every
def test_training_goes_on_from_a_model(lib: Library, objective, ordinal) -> None:
    X, y, w = ordinal
    y = labels(objective, y)
    first = lib.train(lib.params, lib.data(X, y, w), 5, objective=objective)
    name = "xgb_model" if lib is XGB else "init_model"
    second = lib.train(lib.params, lib.data(X, y, w), 5, objective=objective, **{name: first})
    whole = lib.train(lib.params, lib.data(X, y, w), 10, objective=objective)
    # the margins of the first model are summed in another order, in float32 in XGBoost
    np.testing.assert_allclose(lib.predict(second, X), lib.predict(whole, X), atol=1e-5)


@both
def test_a_start_per_row_of_several_outputs(lib: Library, ordinal) -> None:
    """By rows and columns, or in the flat order of the library."""
    X, y, w = ordinal
    start = np.random.default_rng(0).normal(size=(600, 4))
    flat = start.ravel(order="C" if lib is XGB else "F")
    found = []
    for given in (start, flat):
        matrix = lib.data(X, y - 1, w, given)
        booster = lib.train(lib.params, matrix, 5, objective=SOFTMAX)
        found.append(booster.predict(matrix) if lib is XGB else booster.predict(X) + start)
    np.testing.assert_array_equal(*found)
    measured = SOFTMAX.measured(y - 1, w)
    margin = found[0]
    assert measured.loss(y - 1, margin, w) < measured.loss(y - 1, start, w)
    if lib is LGB:
        params = {**lib.params, "objective": SOFTMAX, "num_class": 4}
        theirs = lgb.train(params, lib.data(X, y - 1, w, start), 5)
        np.testing.assert_allclose(margin, theirs.predict(X) + start, rtol=1e-12)
    held_out = [(lib.data(X[TEST], y[TEST] - 1), "held_out")]
    metric = MeanLoss(objective=SOFTMAX)
    with pytest.raises(ValueError, match="is set on data but not on evals 'held_out'"):
        lib.train({}, lib.data(X, y - 1, w, start), 2, objective=SOFTMAX, metric=metric,
                  evals=held_out)  # fmt: skip
    with pytest.raises(ValueError, match=r"must have shape .*, 4\), a start for each output"):
        lib.train({}, lib.data(X, y - 1, w, start[:, :3]), 2, objective=SOFTMAX)


@both
def test_a_class_that_does_not_occur_keeps_its_column(lib: Library, ordinal) -> None:
    X, y, _ = ordinal
    some = y != 3
    booster = lib.train(lib.params, lib.data(X[some], y[some] - 1), 10, objective=SOFTMAX)
    p = SOFTMAX.class_probability(lib.predict(booster, X))
    assert p.shape == (600, 4)
    assert p[:, 2].max() < 0.02 < p[:, [0, 1, 3]].mean(axis=0).min()


@both
def test_num_class_is_that_of_the_objective(lib: Library, ordinal) -> None:
    X, y, _ = ordinal
    matrix = lib.data(X, y - 1)
    params = lib.params
    free = lib.train(params, matrix, 3, objective=SOFTMAX)
    said = lib.train({**params, "num_class": 4}, matrix, 3, objective=SOFTMAX)
    np.testing.assert_array_equal(lib.predict(free, X), lib.predict(said, X))
    cv = (xgboost_adapter if lib is XGB else lightgbm_adapter).cv
    for K in (1, 3, 5, 0):
        with pytest.raises(ValueError, match=rf"num_class'\] = {K} is refused.* has 4 outputs"):
            lib.train({**params, "num_class": K}, matrix, 3, objective=SOFTMAX)
        with pytest.raises(ValueError, match=rf"num_class'\] = {K} is refused.* has 4 outputs"):
            cv({**params, "num_class": K}, matrix, 3, objective=SOFTMAX,
               metric=MeanLoss(objective=SOFTMAX))  # fmt: skip
    for objective in (Steps(n_classes=4), go.qwk_objective()):
        with pytest.raises(ValueError, match=r"num_class'\] = 4 is refused.*one margin per row"):
            lib.train({**params, "num_class": 4}, matrix, 3, objective=objective)
    if lib is LGB:
        with pytest.raises(ValueError, match=r"num_classes'\] = 3 is refused"):
            lib.train({**params, "num_classes": 3}, matrix, 3, objective=SOFTMAX)
    name = "xgb_model" if lib is XGB else "init_model"
    other = lib.train(params, matrix, 3, objective=Softmax(n_classes=5))
    one = lib.train(params, matrix, 3, objective=Steps(n_classes=4))
    for earlier in (other, one):
        with pytest.raises(ValueError, match=f"{name} has . outputs, but .* has 4"):
            lib.train(params, lib.data(X, y - 1), 3, objective=SOFTMAX, **{name: earlier})


@both
def test_dart_linear_trees_and_forests_hold_the_intercepts(lib: Library, ordinal) -> None:
    X, y, w = ordinal
    if lib is XGB:
        forest = {"num_parallel_tree": 2, "subsample": 0.5}
        options = [{"booster": "dart", "rate_drop": 0.5}, forest]
    else:
        options = [{"boosting": "dart", "drop_rate": 0.5}, {"linear_tree": True}]
    intercept = np.array(SOFTMAX.measured(y - 1, w).intercept)
    for option in options:
        matrix = lib.data(X, y - 1, w)
        booster = lib.train({**lib.params, **option}, matrix, 6, objective=SOFTMAX)
        # what the trees add to the intercept sums to about 0 over the rows of each class
        margin = lib.predict(booster, X)
        assert SOFTMAX.loss(y - 1, margin, w) < SOFTMAX.loss(y - 1, np.tile(intercept, (600, 1)), w)
        flat = lib.train(
            {**lib.params, **option, "learning_rate": 1e-7}, lib.data(X, y - 1, w), 6,
            objective=SOFTMAX,
        )  # fmt: skip
        np.testing.assert_allclose(lib.predict(flat, X), np.tile(intercept, (600, 1)), atol=1e-4)


def test_what_would_lack_the_intercepts_of_several_outputs_is_refused_in_xgboost(ordinal) -> None:
    X, y, _ = ordinal
    matrix = XGB.data(X, y - 1)
    with pytest.raises(ValueError, match=r"multi_strategy'\].*trees of one output each"):
        XGB.train({"multi_strategy": "multi_output_tree"}, matrix, 2, objective=SOFTMAX)
    XGB.train({"multi_strategy": "one_output_per_tree"}, matrix, 2, objective=SOFTMAX)
    with pytest.raises(ValueError, match="base_score is given, .*has 4 outputs.*leave it out"):
        XGB.train({"base_score": 0.5}, matrix, 2, objective=SOFTMAX)
    checkpoint = xgb.callback.TrainingCheckPoint(".", interval=99)
    with pytest.raises(ValueError, match="TrainingCheckPoint, whose models would lack"):
        XGB.train({}, matrix, 2, objective=SOFTMAX, callbacks=[checkpoint])
    XGB.train({}, matrix, 2, objective=Steps(n_classes=4), callbacks=[checkpoint])


def test_base_score_of_a_score_is_a_margin_in_xgboost(ordinal) -> None:
    X, y, _ = ordinal
    matrix = XGB.data(X, y - 1)
    params = {**XGB.params, "learning_rate": 1e-7, "base_score": 0.7}
    booster = XGB.train(params, matrix, 1, objective=Steps(n_classes=4))
    np.testing.assert_allclose(booster.predict(matrix), 0.7, atol=1e-5)


@both
@every
def test_metrics_of_other_margins_are_refused(lib: Library, objective, ordinal) -> None:
    X, y, _ = ordinal
    matrix = lib.data(X, labels(objective, y))
    for metric in (
        go.extended_qwk_metric(), go.metrics.squared_error_metric(), go.weighted_logloss_metric(1),
        go.weighted_logloss_metric(1, input_space="probability"), go.metrics.class_logloss_metric(),
        go.metrics.ranked_probability_score_metric(), go.loss_metric(go.qwk_objective()),
        go.loss_metric(go.weighted_logloss_objective(1)), go.loss_metric(go.focal_objective(2)),
    ):  # fmt: skip
        with pytest.raises(ValueError, match=r"pass loss_metric\(objective\)"):
            lib.train({}, matrix, 2, objective=objective, metric=metric, evals=[(matrix, "v")])


@both
def test_the_loss_of_an_objective_is_refused_where_margins_are_others(lib: Library, ordinal):
    X, y, _ = ordinal
    matrix, binary = lib.data(X, y), lib.data(X, (y > 2).astype(int))
    kappa, logistic = go.qwk_objective(), go.weighted_logloss_objective(1)
    trained = {"params": lib.params, "num_boost_round": 2}
    for data, objective, others in (
        (matrix, kappa, (logistic, go.ordinal_logit_objective(5), go.focal_objective(2))),
        (binary, logistic, (kappa, go.ordinal_logit_objective(2), go.focal_objective(2))),
    ):
        given = trained | {"data": data, "objective": objective, "evals": [(data, "v")]}
        lib.train(**given, metric=go.loss_metric(objective))
        for other in others:
            with pytest.raises(ValueError, match="metric 'loss' takes .* but .* trains .*: pass"):
                lib.train(**given, metric=go.loss_metric(other))


@both
@every
def test_labels_that_are_no_classes_are_refused(lib: Library, objective, ordinal) -> None:
    X, y, _ = ordinal
    for bad in (-1, 4, 0.5):
        wrong = labels(objective, y).astype(float)
        wrong[7] = bad
        with pytest.raises(ValueError, match=f"y_true must be .*found {float(bad)} at row 7"):
            lib.train(lib.params, lib.data(X, wrong), 2, objective=objective)


@both
@every
def test_nothing_takes_a_score_for_log_odds_or_labels(lib: Library, objective, ordinal) -> None:
    """Neither a shift of log-odds nor LightGBM's refit, which would minimise squared error."""
    X, y, _ = ordinal
    y = labels(objective, y)
    booster = lib.train(lib.params, lib.data(X, y), 5, objective=objective)
    rows = X if lib is LGB else xgb.DMatrix(X)
    with pytest.raises(ValueError, match="no log-odds of a positive class"):
        go.adapters.imbalance_shift(booster, rows, (y > 0).astype(int))
    if lib is LGB:
        with pytest.raises(lgb.basic.LightGBMError, match="No objective function"):
            booster.refit(X, y)
    delta = 1.0 if objective.outputs == 1 else np.arange(4.0)
    moved = go.shift_intercept(booster, delta=delta)
    shift = lib.predict(moved, X) - lib.predict(booster, X)
    np.testing.assert_allclose(shift, np.broadcast_to(delta, shift.shape), atol=1e-5)
