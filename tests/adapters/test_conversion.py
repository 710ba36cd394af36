"""Our models in other hands: ONNX, treelite, and LightGBM's own refit.

The packages are in the extra ``test``; where one is missing, its tests are skipped.
"""

from __future__ import annotations

import json
import pickle
from functools import cache
from typing import Any

import lightgbm as lgb
import numpy as np
import pytest
import xgboost as xgb
from scipy.special import logit

import gbdt_objectives as go
from tests.adapters.library import LGB, XGB, Library, both
from tests.adapters.test_natural_units import (
    CLASSES,
    COUNTS,
    EVENTS,
    LOG,
    LOGIT,
    SOFTMAX,
    X as LINK_ROWS,
)
from tests.contract import squared_error

pytestmark = pytest.mark.slow

ROUNDS = 25
SMALL = 1e-5
"""Relative, for float32: an ONNX score is a float32 sum of ROUNDS leaves."""

losses = pytest.mark.parametrize("loss", ["qwk", "logloss"])
ways = pytest.mark.parametrize("way", ["train", "estimator"])


@cache
def rows() -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Features, grades of 11 to 14, far from 0 so that a lost intercept cannot be overlooked, and
    rare events. The features are multiples of 1/64, and so are, or lie midway, the thresholds of
    LightGBM's trees: float32 holds them all, and a row cannot go another way in a converted tree
    because its threshold was rounded."""
    rng = np.random.default_rng(0)
    X = (rng.integers(0, 64, (1200, 4)) / 64).astype(np.float32)
    y = np.digitize(X[:, :2].sum(1) + rng.normal(0, 0.2, len(X)), [0.7, 1.0, 1.3]) + 11
    event = (rng.random(len(X)) < 1 / (1 + np.exp(-8 * (X[:, 0] - 0.85)))).astype(int)
    return X, y, event


def held_out(loss: str) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    X, y, event = rows()
    target = y if loss == "qwk" else event
    return X[:800], target[:800], X[800:], target[800:]


def trained(lib: Library, loss: str, way: str) -> Any:
    """A booster of ours, stopped early."""
    return _trained(lib.name, loss, way)


@cache
def _trained(library: str, loss: str, way: str) -> Any:
    lib = {"xgboost": XGB, "lightgbm": LGB}[library]
    X, y, X_held_out, y_held_out = held_out(loss)
    objective = go.qwk_objective() if loss == "qwk" else go.offset_logloss_objective(0.5)
    metric = go.extended_qwk_metric() if loss == "qwk" else go.weighted_logloss_metric(0.5)
    if way == "train":
        data = lib.data(X, y)
        return lib.train(
            lib.params, data, ROUNDS, objective=objective, metric=metric,
            evals=[(lib.data(X_held_out, y_held_out, reference=data), "held_out")],
            early_stopping_rounds=10,
        )  # fmt: skip
    model = lib.make(loss == "logloss", objective=objective, n_estimators=ROUNDS,
                     early_stopping_rounds=10)  # fmt: skip
    return lib.booster(lib.fit(model, X, y, [(X_held_out, y_held_out)], metric))


def models(lib: Library, loss: str, way: str) -> list[Any]:
    """As trained, and with its intercept shifted, twice."""
    booster = trained(lib, loss, way)
    moved = lib.shift_intercept(booster, delta=-2.25)
    return [booster, moved, lib.shift_intercept(moved, delta=5.5)]


def in_onnx(lib: Library, booster: Any, X: np.ndarray) -> np.ndarray:
    """What onnxruntime predicts: labels, or the probability of 1 (of each class, if several)."""
    convert = pytest.importorskip("onnxmltools").convert
    runtime = pytest.importorskip("onnxruntime")
    from onnxmltools.convert.common.data_types import FloatTensorType

    features = [("X", FloatTensorType([None, X.shape[1]]))]
    if lib is XGB:
        model = convert.convert_xgboost(booster, initial_types=features)
    else:
        model = convert.convert_lightgbm(booster, initial_types=features, zipmap=False)
    options = runtime.SessionOptions()
    options.log_severity_level = 3  # it warns of the shape of the labels' output
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    session = runtime.InferenceSession(
        model.SerializeToString(), options, providers=["CPUExecutionProvider"]
    )
    found = session.run(None, {"X": X})[-1]
    return found if found.shape[1] > 2 else found[:, -1]


def in_treelite(lib: Library, booster: Any, X: np.ndarray) -> np.ndarray:
    treelite = pytest.importorskip("treelite")
    read = treelite.frontend.from_xgboost if lib is XGB else treelite.frontend.from_lightgbm
    return treelite.gtil.predict(read(booster), X, nthread=1).squeeze()


converters = pytest.mark.parametrize("converted", [in_onnx, in_treelite])


@both
@losses
@ways
@converters
def test_the_intercept_and_a_shift_survive(converted, lib: Library, loss: str, way: str) -> None:
    X = rows()[0]
    for booster in models(lib, loss, way):
        expected = lib.predict(booster, X)
        found = converted(lib, booster, X)
        if loss == "logloss" and converted is in_onnx:
            # onnxruntime takes 1 - sigmoid(-z) for a negative z: small probabilities are good
            # to a rounding of 1 in float32, whoever's model it is (see below)
            np.testing.assert_allclose(found, expected, rtol=0, atol=3e-7)
            likely = expected > 0.1
            assert likely.any()
            expected, found = expected[likely], found[likely]
        np.testing.assert_allclose(found, expected, rtol=SMALL)


@both
@pytest.mark.parametrize(
    ("objective", "y"),
    [(LOG, COUNTS), (LOGIT, EVENTS), (SOFTMAX, CLASSES)],
    ids=["log", "logit", "softmax"],
)
@converters
def test_links_of_functions_survive(converted, lib: Library, objective, y) -> None:
    X = LINK_ROWS.astype(np.float32)
    booster = lib.train(lib.params, lib.data(X, y), 8, objective=objective)
    # means of up to 8, exponentials of sums of float32
    np.testing.assert_allclose(converted(lib, booster, X), lib.predict(booster, X), atol=1e-5)


@both
def test_a_rare_event_model_can_be_shifted_as_far_as_needed(lib: Library) -> None:
    """Beyond the limits of XGBoost's base_score, so that it goes into leaves."""
    X = rows()[0]
    moved = lib.shift_intercept(trained(lib, "logloss", "train"), delta=-15.0)
    expected = lib.predict(moved, X)
    assert expected.max() < 1e-5
    # a float32 margin of -20 is good to 2e-6, summed over ROUNDS leaves
    np.testing.assert_allclose(in_treelite(lib, moved, X), expected, rtol=3e-5)
    np.testing.assert_allclose(in_onnx(lib, moved, X), expected, rtol=0, atol=3e-7)


@both
@converters
def test_a_shift_of_several_classes_survives(converted, lib: Library) -> None:
    X, y, _ = rows()
    name = "multi:softprob" if lib is XGB else "multiclass"
    booster = lib.built_in({"objective": name, "num_class": 4}, lib.data(X, y - 11), 5)
    moved = lib.shift_intercept(booster, delta=[1.0, -2.0, 0.0, 0.5])
    assert np.abs(lib.predict(moved, X) - lib.predict(booster, X)).max() > 0.1
    for model in (booster, moved):
        np.testing.assert_allclose(converted(lib, model, X), lib.predict(model, X), atol=5e-7)


@pytest.mark.skipif(
    tuple(map(int, xgb.__version__.split(".")[:2])) < (3, 1), reason="base_score was a scalar"
)
def test_xgboosts_vector_of_base_scores_is_read() -> None:
    """One tree that learns next to nothing: all that is left is the intercept."""
    X, y, _ = rows()
    booster = XGB.train({"eta": 1e-9}, xgb.DMatrix(X, y), 1, objective=go.qwk_objective())
    model = json.loads(booster.save_config())["learner"]["learner_model_param"]
    assert model["base_score"].startswith("[")
    for converted in (in_onnx, in_treelite):
        np.testing.assert_allclose(converted(XGB, booster, X), y.mean(), rtol=SMALL)


@both
def test_onnxmltools_takes_boosters_but_nobodys_subclass_of_an_estimator(lib: Library) -> None:
    """It looks estimators up by their exact type: hand it get_booster() or booster_."""
    convert = pytest.importorskip("onnxmltools").convert
    from onnxmltools.convert.common.data_types import FloatTensorType

    class Plain(xgb.XGBRegressor if lib is XGB else lgb.LGBMRegressor):  # type: ignore[misc]
        pass

    X, y, _ = rows()
    function = convert.convert_xgboost if lib is XGB else convert.convert_lightgbm
    quiet = {} if lib is XGB else {"verbose": -1}
    for estimator in (Plain(n_estimators=2, **quiet), lib.make(n_estimators=2)):
        with pytest.raises(ValueError, match="No proper operator name"):
            function(estimator.fit(X, y), initial_types=[("X", FloatTensorType([None, 4]))])


# LightGBM's refit: the same trees, leaves fitted anew


def objective_lines(booster: lgb.Booster) -> list[str]:
    lines = booster.model_to_string().split("\n")
    return [line for line in lines if line.startswith(("objective=", "[objective:"))]


def shrinkages(booster: lgb.Booster) -> list[float]:
    lines = booster.model_to_string().split("\n")
    return [float(line.split("=")[1]) for line in lines if line.startswith("shrinkage=")]


@losses
@ways
def test_lightgbm_models_name_an_objective(loss: str, way: str) -> None:
    expected = {
        "qwk": ["objective=regression", "[objective: regression]"],
        "logloss": ["objective=binary sigmoid:1", "[objective: binary]"],
    }[loss]
    booster = trained(LGB, loss, way)
    for model in (booster, pickle.loads(pickle.dumps(booster)),
                  LGB.shift_intercept(booster, delta=1.0)):  # fmt: skip
        assert objective_lines(model) == expected
        assert model.params["objective"] == expected[1][len("[objective: ") : -1]
        assert model.best_iteration == booster.best_iteration == booster.num_trees()


def both_ways(loss: str) -> tuple[lgb.Booster, lgb.Booster, np.ndarray, np.ndarray]:
    """Our model and that of LightGBM's own objective, of the same loss from the same start."""
    X, grade, event = rows()
    if loss == "squared error":
        y = grade.astype(float)
        objective, name = go.objective(squared_error, intercept=y.mean()), "regression"
    else:
        y, objective, name = event, go.weighted_logloss_objective(1), "binary"
    ours = LGB.train(LGB.params, lgb.Dataset(X, y), 15, objective=objective)
    plain = LGB.built_in({"objective": name}, lgb.Dataset(X, y), 15)
    return ours, plain, X, y


@pytest.mark.parametrize("loss", ["squared error", "logloss"])
@pytest.mark.parametrize("decay", [0.0, 0.5, 0.9])
def test_refit_is_that_of_the_built_in_objective(loss: str, decay: float) -> None:
    ours, plain, X, y = both_ways(loss)
    # float32 gradients of ours and of LightGBM differ in a rounding
    np.testing.assert_allclose(ours.predict(X), plain.predict(X), atol=1e-6)
    assert shrinkages(ours) == shrinkages(plain) == [1.0, *[0.1] * 14]
    rng = np.random.default_rng(1)
    for rows_of_refit in (np.arange(len(y)), rng.integers(0, len(y), len(y))):
        Z, target = X[rows_of_refit], y[rows_of_refit]
        again = [model.refit(Z, target, decay_rate=decay) for model in (ours, plain)]
        np.testing.assert_allclose(again[0].predict(X), again[1].predict(X), atol=1e-6)
        assert np.abs(again[0].predict(X) - ours.predict(X)).max() > 1e-3  # it did something


def test_refit_keeps_the_intercept_of_a_qwk_model() -> None:
    """LightGBM refits it to squared error, whose mean prediction is QWK's centre too. A tree
    that lost its intercept by a tenth (1.2, at the default decay of 0.9) would be seen."""
    X, y, _, _ = held_out("qwk")
    for way in ("train", "estimator"):
        booster = trained(LGB, "qwk", way)
        before = go.quadratic_weighted_kappa(y, np.rint(booster.predict(X)).clip(11, 14))
        for model in (booster, pickle.loads(pickle.dumps(booster))):
            again = model.refit(X, y)
            assert again.predict(X).mean() == pytest.approx(y.mean(), abs=0.01)
            np.testing.assert_allclose(again.predict(X), booster.predict(X), atol=0.3)
            grades = np.rint(again.predict(X)).clip(11, 14)
            assert go.quadratic_weighted_kappa(y, grades) > before - 0.02
    # leaves fitted to other labels, and nothing kept: it goes there
    elsewhere = booster.refit(X, y + 5, decay_rate=0.0)
    assert elsewhere.predict(X).mean() == pytest.approx(y.mean() + 5, abs=1e-3)


def test_refit_of_a_logloss_model_is_plain_logloss() -> None:
    """Rows to refit on are those of the full population: the rate is no part of the model."""
    X, event, _, _ = held_out("logloss")
    for way in ("train", "estimator"):
        booster = trained(LGB, "logloss", way)  # of a population with twice the negatives
        shares = [
            model.predict(X).mean()
            for model in (booster, booster.refit(X, event), booster.refit(X, event, decay_rate=0.0))
        ]
        assert shares == sorted(shares)
        # a Newton step a leaf and round, times the learning rate: not yet converged
        assert shares[2] == pytest.approx(event.mean(), rel=0.1)


def test_a_shifted_model_can_be_refitted() -> None:
    """The tree with the intercept is fitted as a whole, not times the learning rate."""
    X, y, _ = rows()
    plain = lgb.train(
        {**LGB.params, "objective": "regression", "boost_from_average": False},
        lgb.Dataset(X, y - y.mean()), 15,
    )  # fmt: skip
    assert shrinkages(plain) == [0.1] * 15
    moved = LGB.shift_intercept(plain, delta=float(y.mean()))
    assert shrinkages(moved) == [1.0, *[0.1] * 14]
    assert (
        shrinkages(LGB.shift_intercept(plain, delta=0.0)) == [0.1] * 15
    )  # no intercept, no change
    np.testing.assert_allclose(moved.refit(X, y).predict(X), moved.predict(X), atol=0.2)


def test_models_of_cross_validation_are_complete_too() -> None:
    X, y, _ = rows()
    history = LGB.cv(lgb.Dataset(X, y), 5, objective=go.qwk_objective(),
                     metric=go.extended_qwk_metric(), nfold=2, return_cvbooster=True)  # fmt: skip
    for booster in history["cvbooster"].boosters:
        assert booster.params["objective"] == "regression"
        again = booster.refit(X, y)
        np.testing.assert_allclose(again.predict(X).mean(), y.mean(), atol=0.02)
        np.testing.assert_allclose(in_onnx(LGB, booster, X), booster.predict(X), rtol=SMALL)


def test_small_probabilities_by_treelite_have_all_their_digits() -> None:
    """What a serving system wants of a model of rare events: log-odds, not just 1 - p."""
    X = rows()[0]
    booster = LGB.shift_intercept(trained(LGB, "logloss", "train"), delta=-10.0)
    found = in_treelite(LGB, booster, X.astype(np.float64))
    np.testing.assert_allclose(logit(found), booster.predict(X, raw_score=True), rtol=1e-9)


def test_onnx_has_the_margins_of_rare_events_though_not_their_probabilities() -> None:
    """As docs/onnx.md says: the logistic function of ONNX Runtime is good to 3e-7, whatever
    the probability; without it a node's last column has the margin."""
    convert = pytest.importorskip("onnxmltools").convert
    runtime = pytest.importorskip("onnxruntime")
    from onnxmltools.convert.common.data_types import FloatTensorType

    X, _, event = rows()
    booster = xgb.train({"objective": "binary:logistic", "nthread": 1}, xgb.DMatrix(X, event), 5)
    served = XGB.shift_intercept(booster, negative_keep_rate=1e-4)
    model = convert.convert_xgboost(
        served, initial_types=[("X", FloatTensorType([None, X.shape[1]]))]
    )

    def predicted() -> np.ndarray:
        providers = ["CPUExecutionProvider"]
        session = runtime.InferenceSession(model.SerializeToString(), providers=providers)
        return session.run(None, {"X": X})[-1][:, -1]

    p = served.predict(xgb.DMatrix(X))
    assert np.abs(predicted() / p - 1).max() > 1e-3
    np.testing.assert_allclose(predicted(), p, rtol=0, atol=3e-7)
    (node,) = (n for n in model.graph.node if n.op_type == "TreeEnsembleClassifier")
    next(a for a in node.attribute if a.name == "post_transform").s = b"NONE"
    margin = served.predict(xgb.DMatrix(X), output_margin=True)
    np.testing.assert_allclose(predicted(), margin, rtol=1e-5)


def test_a_saved_file_converts_like_the_booster(tmp_path) -> None:
    treelite = pytest.importorskip("treelite")
    X = rows()[0]
    for lib, name in ((XGB, "model.json"), (LGB, "model.txt")):
        booster = trained(lib, "qwk", "train")
        booster.save_model(tmp_path / name)
        if lib is XGB:
            model = treelite.frontend.load_xgboost_model(str(tmp_path / name), format_choice="json")
        else:
            model = treelite.frontend.load_lightgbm_model(str(tmp_path / name))
        np.testing.assert_allclose(
            treelite.gtil.predict(model, X, nthread=1).ravel(), lib.predict(booster, X), rtol=SMALL
        )
