"""An objective's own mean loss as a metric: against the metrics that say the same."""

from __future__ import annotations

import lightgbm as lgb
import numpy as np
import pytest
import xgboost as xgb
from scipy.special import expit, log_softmax
from sklearn.metrics import log_loss

import gbdt_objectives as go
from gbdt_objectives.adapters import lightgbm, xgboost
from gbdt_objectives.metrics import Metric
from gbdt_objectives.objectives import LOGIT
from tests.cases import refusals
from tests.contract import softmax_gradient, squared_error, squared_error_loss


def rows(n=300, seed=0):
    rng = np.random.default_rng(seed)
    return rng.integers(0, 4, n).astype(float), rng.uniform(-1, 4, n), rng.exponential(size=n)


def test_is_the_metric_that_belongs_to_the_objective():
    y, f, w = rows()
    for weight in (None, w):
        measured = go.qwk_objective(y, clip=False)
        kappa = go.extended_qwk_metric(y)
        assert go.loss_metric(measured)(y, f, weight) == pytest.approx(1 - kappa(y, f, weight))
        own = go.loss_metric(go.qwk_objective(clip=False))
        assert own(y, f, weight) == pytest.approx(1 - go.extended_qwk_metric()(y, f, weight))
        binary = (y > 1).astype(int)
        offset = go.loss_metric(go.offset_logloss_objective(0.1))
        expected = log_loss(binary, expit(f - np.log(0.1)), sample_weight=weight)
        assert offset(binary, f, weight) == pytest.approx(expected)


def test_an_objective_without_labels_measures_the_rows_that_are_scored():
    train, scored = np.resize([0.0, 1, 2], 60), np.resize([0.0, 2], 40)
    margin = np.linspace(-1, 3, 40)
    by_scored = go.loss_metric(go.qwk_objective())(scored, margin)
    by_train = go.loss_metric(go.qwk_objective().measured(train))(scored, margin)
    assert by_scored == go.loss_metric(go.qwk_objective(scored))(scored, margin)
    assert by_train == go.loss_metric(go.qwk_objective(train))(scored, margin) != by_scored
    with pytest.raises(ValueError, match="label"):
        go.loss_metric(go.qwk_objective(train))(scored + 1, margin)
    with pytest.raises(ValueError, match="single class"):
        go.loss_metric(go.qwk_objective())(np.ones(40), margin)
    far = go.loss_metric(go.qwk_objective())([0, 2, 9], [0.1, 1.8, 5], [1, 1, 0])
    near = go.loss_metric(go.qwk_objective())([0, 2], [0.1, 1.8])
    assert far == pytest.approx(near, rel=1e-14)  # nor its label; sums of three rows or two


def softmax_loss(y, f, w):
    losses = -log_softmax(f, axis=1)[np.arange(len(y)), y.astype(int)]
    return float(losses.sum() if w is None else w @ losses)


def test_several_outputs():
    rng = np.random.default_rng(0)
    y, f, w = rng.integers(0, 3, 200), rng.normal(size=(200, 3)), rng.exponential(size=200)
    objective = go.objective(softmax_gradient, loss=softmax_loss)
    for order in "CF":
        found = go.loss_metric(objective)(y, np.asarray(f, order=order), w)
        assert found == pytest.approx(go.metrics.class_logloss_metric(3)(y, f, w))
    with pytest.raises(ValueError, match="takes one margin per row"):
        go.loss_metric(go.weighted_logloss_objective(1))(y > 1, f)
    with pytest.raises(ValueError, match=r"found shape \(200, 1\): pass y_pred.ravel"):
        go.loss_metric(objective)(y, f[:, :1])  # f - y would be (200, 200)


def costly(y, f, w, *, cost):
    return cost * (f - y), cost


def costly_loss(y, f, w, *, cost):
    return float(cost @ (f - y) ** 2 / 2)


@pytest.mark.filterwarnings("ignore:boosting starts at")  # the function has no start of its own
@pytest.mark.parametrize(
    "objective",
    [
        go.qwk_objective(),
        go.objective(squared_error, loss=squared_error_loss, intercept=1.0),
    ],
    ids=["qwk", "function"],
)
def test_training_stops_on_what_it_trains(objective, ordinal, rare):
    X, y, w = rare if objective.link == LOGIT else ordinal
    train, stop = slice(0, 350), slice(350, None)
    metric = go.loss_metric(objective)
    settings = {"objective": objective, "metric": metric, "early_stopping_rounds": 20}
    data = [xgb.DMatrix(X[part], y[part], weight=w[part]) for part in (train, stop)]
    history: dict = {}
    booster = xgboost.train(
        {"max_depth": 3, "eta": 0.1}, data[0], 500, evals=[(data[1], "v")], evals_result=history,
        verbose_eval=False, **settings,
    )  # fmt: skip
    losses = history["v"]["loss"]
    assert booster.num_boosted_rounds() == np.argmin(losses) + 1 < len(losses) < 500
    margin = booster.predict(data[1], output_margin=True)
    assert metric(y[stop], margin, w[stop]) == pytest.approx(min(losses), abs=1e-6)
    dataset = lgb.Dataset(X[train], y[train], weight=w[train])
    held_out = lgb.Dataset(X[stop], y[stop], weight=w[stop], reference=dataset)
    record: dict = {}
    model = lightgbm.train(
        {"verbose": -1}, dataset, 500, evals=[(held_out, "v")],
        callbacks=[lgb.record_evaluation(record)], **settings,
    )  # fmt: skip
    losses = record["v"]["loss"]
    assert model.num_trees() == np.argmin(losses) + 1 < len(losses) < 500
    margin = model.predict(X[stop], raw_score=True)
    # LightGBM holds labels and weights as float32, the margin of the best round is exact
    assert metric(y[stop], margin, w[stop]) == pytest.approx(min(losses), rel=1e-6)


def test_probabilities_of_0_and_1_are_probabilities():
    metric = go.weighted_logloss_metric(1, input_space="probability")
    assert metric([0, 1, 1], [0.0, 1.0, 0.5]) == pytest.approx(np.log(2) / 3)


test_refusals = refusals(
    (lambda: go.loss_metric(go.objective(squared_error)),
     "has no loss, only a gradient: pass loss= to objective"),
    (lambda: go.loss_metric(go.offset_logloss_objective(np.array([0.1, 1.0]))),
     "values of the training rows.*weighted_logloss_metric"),
    (lambda: go.loss_metric(go.objective(costly, loss=costly_loss, rows=["cost"])),
     "values of the training rows"),
    *((lambda wrong=wrong: go.loss_metric(wrong),
       "objective must be an objective, found .*call the", TypeError)
      for wrong in (go.qwk_objective, "binary:logistic", squared_error,
                    go.metrics.squared_error_metric())),
)  # fmt: skip


def test_the_name_of_a_metric_has_no_spaces() -> None:
    """XGBoost splits what it reports, and would say "not enough values to unpack"."""
    with pytest.raises(ValueError, match="name of Cost is 'my cost', .*: write 'my_cost'"):
        type("Cost", (Metric,), {"name": "my cost"})
