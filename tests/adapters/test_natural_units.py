"""What a margin means where models are told, trained on, or of another kind."""

from __future__ import annotations

from typing import Any

import lightgbm as lgb
import numpy as np
import pytest
import xgboost as xgb
from scipy.special import expit
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import gbdt_objectives as go
from gbdt_objectives.adapters import xgboost as ours_xgb
from gbdt_objectives.metrics import loss_metric
from tests.adapters.library import LGB, XGB, Library, both
from tests.cases import each
from tests.matrix.tables import (
    logistic,
    logistic_loss,
    of_classes,
    of_classes_loss,
    poisson,
    poisson_loss,
    squared_error,
    squared_loss,
)

# Models are trained on in another unit, and from starts per row, on purpose.
pytestmark = pytest.mark.filterwarnings("ignore:.*has margins that are", "ignore:.*differs by row")

N = 600
CLOSE = 2e-5
"""Of margins: base_score and leaves are float32."""


RNG = np.random.default_rng(22)
X = RNG.random((N, 3))
X_TRAIN = X[:400].copy()  # LightGBM warns of a slice
COUNTS = RNG.poisson(np.exp(2 * X[:, 0]))
EVENTS = (RNG.random(N) < expit(4 * X[:, 0] - 2)).astype(int)
CLASSES = np.digitize(X[:, 0] + 0.2 * RNG.standard_normal(N), [0.3, 0.7])
TRAIN, TEST = slice(400), slice(400, None)

LOG = go.objective(
    poisson, loss=poisson_loss, link="log", intercept=float(np.log(COUNTS[TRAIN].mean()))
)
LOGIT = go.objective(logistic, loss=logistic_loss, link="logit", intercept=-0.5)
SOFTMAX = go.objective(
    of_classes, loss=of_classes_loss, link="softmax", outputs=3, intercept=[0.1, 0.2, -0.3]
)
SQUARED = go.objective(squared_error, loss=squared_loss, link="identity")
SLOW = {"learning_rate": 1e-9}


@pytest.mark.filterwarnings("ignore:boosting starts at -200")  # it is refused afterwards
def test_a_start_beyond_the_logs_that_xgboost_holds_is_refused() -> None:
    far = go.objective(poisson, link="log", intercept=-200)
    with pytest.raises(ValueError, match="cannot start at -200 logs of a positive mean"):
        ours_xgb.train({}, XGB.data(X, COUNTS), 1, objective=far)


@pytest.mark.filterwarnings("ignore:boosting starts at")  # it starts far away on purpose
def test_xgboost_limits_no_step_under_the_name_of_poisson() -> None:
    """Its own objective would set max_delta_step to .7; one that is given is kept."""
    data = XGB.data(X, 1000 * COUNTS)
    far = go.objective(poisson, link="log", intercept=0.0)
    params = {"learning_rate": 1.0, "max_depth": 1, "lambda": 0}
    free, same, limited = (
        ours_xgb.train({**params, **more}, data, 1, objective=far).predict(data, output_margin=True)
        for more in ({}, {"max_delta_step": None}, {"max_delta_step": 0.7})
    )
    assert free.max() > 100
    np.testing.assert_array_equal(same, free)
    assert limited.max() == pytest.approx(0.7)


# --- training on from an earlier model


def earlier_model(lib: Library, rounds: int = 5) -> Any:
    name = "count:poisson" if lib is XGB else "poisson"
    return lib.built_in({"objective": name}, lib.data(X, COUNTS), rounds)


@both
def test_training_on_is_training_from_its_margins(lib: Library) -> None:
    """More than a start: the rounds that follow are those of a start per row."""
    name = "binary:logistic" if lib is XGB else "binary"
    first = lib.built_in({"objective": name}, lib.data(X, EVENTS), 5)
    margin = lib.predict(first, X, raw=True)
    objective = go.focal_objective(2)
    given = {"objective": objective, lib.earlier: first}
    again = lib.train(lib.params, lib.data(X, EVENTS), 10, **given)
    data = lib.data(X, EVENTS, start=margin)
    apart = lib.train(lib.params, data, 10, objective=objective)
    added = (
        apart.predict(data, output_margin=True) if lib is XGB
        else apart.predict(X, raw_score=True) + margin
    )  # fmt: skip
    # a gain close to another may fall on its other side, and its leaf then differs
    difference = np.abs(lib.predict(again, X, raw=True) - added)
    assert np.median(difference) < CLOSE


NOT_MODELS = [
    {}, False, 3, b"tree", [lgb.Booster], make_pipeline(StandardScaler()), xgb.XGBRegressor(),
    xgb.Booster(),
]  # fmt: skip


def fit_ways(lib: Library, objective: Any, y: Any, earlier: Any) -> dict[str, Any]:
    """Training on from an earlier model, wherever a library takes one."""
    given = {lib.earlier: earlier}
    made = lib.make(objective.n_classes is not None, objective=objective, n_estimators=1)
    ways: dict[str, Any] = {
        "train": lambda: lib.train(lib.params, lib.data(X, y), 1, objective=objective, **given),
        "fit": lambda: made.fit(X, y, **given),
    }
    if lib is LGB:
        ways["cv"] = lambda: lib.cv(
            lib.data(X, y), 1, objective=objective, metric=loss_metric(objective),
            stratified=False, **given,
        )  # fmt: skip
    return ways


@each("model", NOT_MODELS, ids=lambda model: type(model).__name__)
def test_models_that_are_not_models_are_refused(model: Any) -> None:
    """LightGBM would ignore them, and the intercept with them."""
    for way in fit_ways(LGB, LOG, COUNTS, model).values():
        with pytest.raises(TypeError, match="init_model must be a Booster, a fitted .*path, found"):
            way()
    with pytest.raises(TypeError, match="xgb_model must be a Booster, a fitted estimator, a path"):
        ours_xgb.train({}, XGB.data(X, COUNTS), 1, objective=LOG, xgb_model=3)


@both
def test_models_of_other_outputs_are_refused(lib: Library) -> None:
    several = lib.built_in(
        {"objective": "multi:softprob" if lib is XGB else "multiclass", "num_class": 3},
        lib.data(X, CLASSES), 2,
    )  # fmt: skip
    one = earlier_model(lib)
    for objective, y, model, outputs in ((LOG, COUNTS, several, 3), (SOFTMAX, CLASSES, one, 1)):
        has = f"{lib.earlier} has {outputs} outputs, but .* has {objective.outputs}: train on with"
        for way in fit_ways(lib, objective, y, model).values():
            with pytest.raises(ValueError, match=has):
                way()


@pytest.mark.parametrize("name", ["rank:pairwise", "survival:cox"])
def test_units_that_are_not_known_are_refused(name: str) -> None:
    data = xgb.DMatrix(X, COUNTS + 1)
    if name.startswith("rank"):
        data.set_group([N])
    first = xgb.train({"objective": name}, data, 2)
    message = f"xgb_model was trained on '{name}'.*set_base_margin"
    with pytest.raises(ValueError, match=message):
        ours_xgb.train({}, XGB.data(X, COUNTS), 1, objective=LOG, xgb_model=first)
    with pytest.raises(ValueError, match=message):
        XGB.make(objective=LOG).fit(X, COUNTS, xgb_model=first)


TARGETS = np.column_stack([EVENTS, 1 - EVENTS, EVENTS])


@pytest.mark.parametrize("link", [None, "softmax"])
@pytest.mark.parametrize(
    ("params", "y"),
    [
        ({"objective": "reg:quantileerror", "quantile_alpha": [0.1, 0.5, 0.9]}, COUNTS),
        ({"objective": "reg:squarederror"}, TARGETS),
        ({"objective": "reg:absoluteerror"}, TARGETS),
        ({"objective": "binary:logistic"}, TARGETS),
    ],
    ids=lambda value: value["objective"] if isinstance(value, dict) else "",
)
def test_models_of_several_targets_are_refused(params: dict[str, Any], y, link) -> None:
    """XGBoost counts them apart from classes, which an objective's outputs are."""
    objective = go.objective(of_classes, outputs=3, link=link)
    first = xgb.train(params, XGB.data(X, y), 2)
    ways = fit_ways(XGB, objective, CLASSES, first)
    for name in ("train", "fit"):
        with pytest.raises(ValueError, match="xgb_model has 3 targets, not classes.*base_margin"):
            ways[name]()
    margin = XGB.predict(first, X, raw=True)  # the remedy
    data = XGB.data(X, CLASSES, start=margin)
    again = ours_xgb.train(SLOW, data, 1, objective=objective)
    np.testing.assert_allclose(again.predict(data, output_margin=True), margin, atol=CLOSE)


@pytest.mark.parametrize(("start", "objective"), [(20.0, LOGIT), (-30.0, LOGIT), (-150.0, LOG)])
def test_starts_that_the_new_unit_cannot_hold_are_refused(start, objective) -> None:
    first = xgb.train({"base_score": start, **SLOW}, XGB.data(X, COUNTS), 1)
    with pytest.raises(ValueError, match=f"xgb_model starts at a margin of {start:g}.*base_margin"):
        ours_xgb.train({}, XGB.data(X, EVENTS), 1, objective=objective, xgb_model=first)


@both
def test_early_stopping_counts_the_rounds_that_are_added(lib: Library) -> None:
    first = earlier_model(lib, rounds=7)
    data = lib.data(X_TRAIN, COUNTS[TRAIN])
    evals = [(lib.data(X[TEST], COUNTS[TEST], reference=data), "v")]
    again = lib.train(
        {**lib.params, "learning_rate": 0.5}, data, 100, objective=SQUARED,
        metric=loss_metric(SQUARED), evals=evals, early_stopping_rounds=5, **{lib.earlier: first},
    )  # fmt: skip
    assert 7 < lib.rounds(again) < 107
    np.testing.assert_allclose(
        lib.predict(again, X, raw=True, rounds=7), lib.predict(first, X, raw=True), atol=CLOSE
    )
