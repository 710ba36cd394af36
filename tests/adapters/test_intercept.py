"""shift_intercept: every model it takes, in every form it is saved in, and every refusal."""

from __future__ import annotations

import json
import pickle
import warnings
from dataclasses import dataclass
from functools import cache
from typing import Any

import lightgbm as lgb
import numpy as np
import pandas as pd
import pytest
import xgboost as xgb
from scipy.special import expit, softmax
from sklearn.pipeline import make_pipeline

import gbdt_objectives as go
from gbdt_objectives.adapters import _arguments, imbalance_shift
from gbdt_objectives.adapters.lightgbm import intercept as _lightgbm_intercept
from gbdt_objectives.adapters.xgboost import _train as _xgboost_intercept, parameters
from tests.adapters.library import LGB, XGB, Library, both

pytestmark = pytest.mark.slow

PER_CLASS = (1.5, 0.0, -2.0)
SOFTPROB = {"objective": "multi:softprob", "num_class": 3}
MULTICLASS = {"objective": "multiclass", "num_class": 3}
DART = {"booster": "dart", "rate_drop": 0.5}
DROPOUT = {
    "rate_drop": {"rate_drop": 0.5},
    "one_drop": {"one_drop": 1},
    "skip_drop": {"one_drop": 1, "skip_drop": 0.3},
    "dropout in a boosted forest": {"rate_drop": 0.5, "num_parallel_tree": 2},
}
BAGGING = {"bagging_freq": 1, "bagging_fraction": 0.5}
RNG = np.random.default_rng(5)
X = RNG.random((500, 4))
X[RNG.random(X.shape) < 0.1] = np.nan  # linear trees treat them apart


@dataclass(frozen=True)
class Model:
    """A kind of model; ``margin`` is a margin per raw score."""

    name: str
    lib: Library
    params: dict[str, Any]
    delta: Any = -3.0
    labels: str = "binary"
    link: str = "logit"
    margin: float = 1.0
    rounds: int = 8

    def __str__(self) -> str:
        return f"{self.lib}: {self.name}"

    def train(self):
        """The booster, which no test may change."""
        return trained(str(self))

    def expected(self, raw):
        """The prediction, from the raw scores of the model before the shift."""
        z = self.margin * raw + self.delta
        link = {"logit": expit, "softmax": lambda z: softmax(z, axis=1),
                "identity": lambda z: z, "argmax": lambda z: z.argmax(1)}  # fmt: skip
        return link[self.link](z)


def labels(X):
    rng = np.random.default_rng(2)
    score = np.nan_to_num(X[:, 0]) + 0.3 * rng.normal(size=len(X))
    binary = (score > 0.6).astype(int)
    return {
        "binary": binary,
        "classes": np.digitize(score, [0.3, 0.7]),
        "number": 10 * score,
        "two": np.column_stack([binary, score > 0.3]).astype(int),
    }


@cache
def trained(name: str) -> Any:
    (model,) = (one for one in MODELS if str(one) == name)
    data = model.lib.data(X, labels(X)[model.labels])
    return model.lib.built_in(model.params, data, model.rounds)


LOGISTIC = {"objective": "binary:logistic"}
CLASSES = {"delta": PER_CLASS, "labels": "classes", "link": "softmax"}
NUMBER = {"delta": 7.0, "labels": "number", "link": "identity"}
MODELS = [
    Model("logistic", XGB, LOGISTIC),
    Model("logistic, beyond base_score's least", XGB, LOGISTIC, -20.0),
    Model("logistic, beyond base_score's most", XGB, LOGISTIC, 20.0),
    Model("logistic, where base_score is coarse", XGB, LOGISTIC, 11.0),
    Model("logistic, dart", XGB, {**LOGISTIC, **DART}),
    Model("logistic, dart, in the leaves", XGB, {**LOGISTIC, **DART}, -20.0),
    Model("logistic, boosted forest", XGB, {**LOGISTIC, "num_parallel_tree": 3, "subsample": 0.5},
          -20.0),
    Model("logistic, pruned", XGB, {**LOGISTIC, "gamma": 1.0, "tree_method": "exact"}, -20.0),
    Model("logistic, leafwise", XGB, {**LOGISTIC, "grow_policy": "lossguide"}, -20.0),
    Model("logistic, one leaf", XGB, {**LOGISTIC, "gamma": 1e9}, -20.0),
    Model("reg:logistic", XGB, {"objective": "reg:logistic"}, -20.0),
    Model("logitraw", XGB, {"objective": "binary:logitraw"}, link="identity"),
    Model("two labels", XGB, LOGISTIC, (-20.0, 1.0), "two"),
    Model("softprob", XGB, SOFTPROB, **CLASSES),
    Model("softprob, dart", XGB, {**SOFTPROB, **DART}, **CLASSES),
    *(  # drops trees from XGBoost 3.3 on, without dart; ignored before
        Model(f"{name}, in the leaves", XGB, {**LOGISTIC, **params}, -20.0)
        for name, params in DROPOUT.items()
    ),
    Model("softprob, dropout", XGB, {**SOFTPROB, "rate_drop": 0.5, "one_drop": 1}, **CLASSES),
    Model("softprob, boosted forest", XGB, {**SOFTPROB, "num_parallel_tree": 2}, **CLASSES),
    Model("softmax", XGB, {**SOFTPROB, "objective": "multi:softmax"}, PER_CLASS, "classes",
          "argmax"),
    Model("squared error", XGB, {}, **NUMBER),
    Model("absolute error", XGB, {"objective": "reg:absoluteerror"}, **NUMBER),
    Model("linear", XGB, {"booster": "gblinear"}, **NUMBER),
    Model("binary, linear, far", XGB, {**LOGISTIC, "booster": "gblinear"}, -20.0),
    Model("binary", LGB, {"objective": "binary"}),
    Model("binary, far", LGB, {"objective": "binary"}, -40.0),
    Model("binary, sigmoid", LGB, {"objective": "binary", "sigmoid": 2.5}, margin=2.5),
    Model("cross entropy", LGB, {"objective": "cross_entropy"}),
    Model("binary, bagging by class", LGB, {"objective": "binary", "neg_bagging_fraction": 0.3,
                                            "bagging_freq": 1}),
    Model("binary, unbalance", LGB, {"objective": "binary", "is_unbalance": True}),
    Model("binary, goss", LGB, {"objective": "binary", "boosting": "goss"}),
    Model("binary, dart", LGB, {"objective": "binary", "boosting": "dart", "drop_rate": 0.5}),
    Model("binary, forest", LGB, {"objective": "binary", "boosting": "rf", **BAGGING},
          margin=1 / 8),
    Model("binary, linear trees", LGB, {"objective": "binary", "linear_tree": True}),
    Model("binary, one leaf", LGB, {"objective": "binary", "min_gain_to_split": 1e9}),
    Model("multi-class", LGB, MULTICLASS, **CLASSES),
    Model("multi-class, forest", LGB, {**MULTICLASS, "boosting": "rf", **BAGGING}, margin=1 / 8,
          **CLASSES),
    Model("regression", LGB, {"objective": "regression"}, **NUMBER),
    Model("regression, linear trees", LGB, {"linear_tree": True}, **NUMBER),
    Model("quantile", LGB, {"objective": "quantile"}, **NUMBER),
]  # fmt: skip
unused = pytest.mark.filterwarnings(
    "ignore:(?s).*(max_depth|_drop).*not used",  # by gblinear; by gbtree before XGBoost 3.3
    "ignore:(?s).*is deprecated",  # dart and gblinear, from XGBoost 3.3 on
)
every = pytest.mark.parametrize("model", MODELS, ids=str)

# of a probability or of 10: XGBoost's margins are float32
TOLERANCE = {"xgboost": {"atol": 1e-6, "rtol": 1e-6}, "lightgbm": {"atol": 1e-12, "rtol": 1e-12}}


@every
@unused
def test_the_plain_library_predicts_shifted_from_every_saved_form(model: Model, tmp_path):
    lib = model.lib
    booster = model.train()
    raw = lib.predict(booster, X, raw=True).astype(np.float64)
    moved = lib.shift_intercept(booster, delta=model.delta)
    forms = {"itself": moved, "pickle": pickle.loads(pickle.dumps(moved))}
    for suffix in ("json", "ubj") if lib is XGB else ("txt",):
        file = tmp_path / f"model.{suffix}"
        moved.save_model(file)
        forms[suffix] = type(booster)(model_file=file)
    expected = model.expected(raw)
    for form in forms.values():
        np.testing.assert_allclose(lib.predict(form, X), expected, **TOLERANCE[lib.name])
    np.testing.assert_array_equal(lib.predict(booster, X, raw=True), raw)  # moved is a copy
    assert np.abs(lib.predict(booster, X) - expected).max() > 0.1  # a shift that can be seen


@pytest.mark.parametrize(  # LightGBM has no SHAP values for linear trees
    "model", [m for m in MODELS if "linear trees" not in m.name], ids=str
)
@unused
def test_only_the_bias_of_shap_values_moves(model: Model):
    lib = model.lib
    booster = model.train()
    moved = lib.shift_intercept(booster, delta=model.delta)
    difference = lib.contributions(moved, X) - lib.contributions(booster, X)
    atol = 1e-5 if lib is XGB else 1e-12  # float32: five roundings of 20
    np.testing.assert_allclose(difference[..., :-1], 0, atol=atol)
    bias = np.broadcast_to(np.divide(model.delta, model.margin), difference[..., -1].shape)
    np.testing.assert_allclose(difference[..., -1], bias, atol=atol)


@pytest.mark.parametrize("delta", [-3.0, -20.0])
def test_approximate_contributions_and_interactions(delta: float):
    """They use the expectations of inner nodes, which must move with the leaves."""
    booster = MODELS[0].train()
    moved = XGB.shift_intercept(booster, delta=delta)
    kinds = ({"pred_contribs": True, "approx_contribs": True}, {"pred_interactions": True})
    for kind in kinds:
        before, after = (b.predict(xgb.DMatrix(X), **kind) for b in (booster, moved))
        difference = (after - before).reshape(len(X), -1)
        np.testing.assert_allclose(difference[:, :-1], 0, atol=1e-5)  # as above
        np.testing.assert_allclose(difference[:, -1], delta, atol=1e-5)


@both
def test_shifts_add_up_and_undo_each_other(lib: Library):
    model = next(m for m in MODELS if m.lib is lib)
    booster = model.train()
    raw = lib.predict(booster, X, raw=True)
    atol = 1e-5 if lib is XGB else 1e-12  # float32: a few roundings of 25
    for first, second in ((1.25, -1.25), (-20, 20), (-9, -9), (25, -25)):
        moved = lib.shift_intercept(lib.shift_intercept(booster, delta=first), delta=second)
        np.testing.assert_allclose(
            lib.predict(moved, X, raw=True), raw + (first + second), atol=atol
        )


@both
def test_our_own_models(lib: Library, ordinal, rare):
    X, y, _ = ordinal
    qwk = lib.train(lib.params, lib.data(X, y), 12, objective=go.qwk_objective(y))
    Z, t, _ = rare
    logit = lib.train(lib.params, lib.data(Z, t), 12, objective=go.offset_logloss_objective(0.5))
    # float32 margins of up to 20
    tolerance = {"atol": 1e-5 if lib is XGB else 1e-12}
    for booster, rows, link in ((qwk, X, lambda z: z), (logit, Z, expit)):
        raw = lib.predict(booster, rows, raw=True).astype(np.float64)
        for delta in (1.25, -17.5):
            for function in (lib.shift_intercept, go.shift_intercept):
                moved = function(booster, delta=delta)
                assert type(moved) is type(booster)
                np.testing.assert_allclose(lib.predict(moved, rows), link(raw + delta), **tolerance)


@both
def test_early_stopped_models_keep_their_best_iteration(lib: Library, ordinal):
    X, y, _ = ordinal
    data = lib.data(X[:300], y[:300])
    held_out = lib.data(X[300:], y[300:], reference=data)
    booster = lib.train(
        lib.params, data, 200, objective=go.qwk_objective(y),
        metric=go.metrics.squared_error_metric(),
        evals=[(held_out, "v")], early_stopping_rounds=5,
    )  # fmt: skip
    moved = lib.shift_intercept(booster, delta=2.0)
    assert lib.rounds(moved) == lib.rounds(booster) < 200
    assert moved.best_iteration == booster.best_iteration
    np.testing.assert_allclose(lib.predict(moved, X), lib.predict(booster, X) + 2, rtol=1e-6)
    # and a model that keeps rounds after its best one
    if lib is XGB:
        params = {**lib.params, "objective": "binary:logistic", "eval_metric": "logloss"}
        plain = xgb.train(params, xgb.DMatrix(X[:300], y[:300] > 2), 200, verbose_eval=False,
                          evals=[(xgb.DMatrix(X[300:], y[300:] > 2), "v")],
                          early_stopping_rounds=5)  # fmt: skip
    else:
        plain = lgb.train(
            {**lib.params, "objective": "binary"}, lgb.Dataset(X[:300], y[:300] > 2), 200,
            valid_sets=[lgb.Dataset(X[300:], y[300:] > 2)],
            callbacks=[lgb.early_stopping(5, verbose=False)], keep_training_booster=True,
        )  # fmt: skip
    moved = lib.shift_intercept(plain, delta=-20.0)
    assert lib.rounds(moved) == lib.rounds(plain) > plain.best_iteration + 1
    assert moved.best_iteration == plain.best_iteration
    if lib is XGB:
        assert moved.best_score == plain.best_score
    raw = [lib.predict(b, X, raw=True) for b in (plain, moved)]
    np.testing.assert_allclose(raw[1], raw[0] - 20, rtol=1e-6)


@both
def test_names_and_categories_of_features_stay(lib: Library):
    y = labels(X)["binary"]
    frame = pd.DataFrame(X, columns=list("abcd"))
    colours = np.random.default_rng(0).choice(["red", "green", "blue"], len(X))
    frame["e"] = pd.Categorical(np.where(y == 1, colours, "green"))
    if lib is XGB:
        data = xgb.DMatrix(frame, y, enable_categorical=True)
        booster = xgb.train({**lib.params, "objective": "binary:logistic"}, data, 5)
        moved = lib.shift_intercept(booster, delta=-20.0)
        assert moved.feature_names == booster.feature_names == [*"abcde"]
        assert moved.feature_types == booster.feature_types
        before, after = (b.predict(data, output_margin=True) for b in (booster, moved))
    else:
        booster = lgb.train({**lib.params, "objective": "binary"}, lgb.Dataset(frame, y), 5)
        moved = lib.shift_intercept(booster, delta=-20.0)
        assert moved.feature_name() == booster.feature_name() == [*"abcde"]
        before, after = (b.predict(frame, raw_score=True) for b in (booster, moved))
    np.testing.assert_allclose(after, before - 20, rtol=1e-6)


@both
def test_training_can_go_on_from_a_shifted_model(lib: Library):
    model = next(m for m in MODELS if m.lib is lib)
    data = lib.data(X, labels(X)["binary"])
    moved = lib.shift_intercept(model.train(), delta=-3.0)
    more = lib.own.train({**lib.params, **model.params}, data, 2, **{lib.earlier: moved})
    start = lib.predict(more, X, raw=True, rounds=model.rounds)
    np.testing.assert_allclose(start, lib.predict(moved, X, raw=True), atol=1e-5)  # float32
    assert lib.predict(more, X).mean() > lib.predict(moved, X).mean()  # it climbs back


def test_slices_of_an_xgboost_model_keep_a_shift_of_base_score():
    booster = MODELS[0].train()
    moved = XGB.shift_intercept(booster, delta=-3.0)
    before, after = (XGB.predict(b[3:6], X, raw=True) for b in (booster, moved))
    np.testing.assert_allclose(after, before - 3, atol=4e-6)


def test_copies_of_an_xgboost_model_keep_its_settings():
    booster = xgb.train({**XGB.params, **LOGISTIC, "nthread": 1},
                        xgb.DMatrix(X, labels(X)["binary"]), 3)  # fmt: skip
    assert '"nthread":"1"' in XGB.shift_intercept(booster, delta=-20.0).save_config()


@both
def test_misuse(lib: Library):
    with pytest.raises(TypeError, match="must be a"):
        lib.shift_intercept("model", delta=1)
    with pytest.raises(TypeError, match="Booster of"):
        go.shift_intercept(np.ones(3), delta=1)
    y = labels(X)["number"]
    estimator = lib.make(plain=True).fit(X, y)
    with pytest.raises(TypeError, match="from an estimator take"):
        go.shift_intercept(estimator, delta=1)
    with pytest.raises(TypeError, match=r"Pipeline: of a pipeline pass the last step, model\[-1\]"):
        go.shift_intercept(make_pipeline(estimator), delta=1)
    booster = lib.booster(estimator)
    for delta in (np.nan, np.inf, "1", True, [1.0], [1.0, 2.0]):
        kind = ValueError if isinstance(delta, float) else TypeError
        with pytest.raises(kind, match="delta must be"):
            lib.shift_intercept(booster, delta=delta)
    several = next(m for m in MODELS if m.lib is lib and m.link == "softmax").train()
    for delta in (1, [1.0, 2.0], [[1.0, 2.0, 3.0]]):
        with pytest.raises(ValueError, match=r"3 outputs: delta must have shape \(3,\)"):
            lib.shift_intercept(several, delta=delta)
    with pytest.raises(ValueError, match="delta must be finite, found nan at row 1"):
        lib.shift_intercept(several, delta=[0, np.nan, 0])
    with pytest.raises(TypeError, match="delta must hold real numbers"):
        lib.shift_intercept(several, delta=["a", "b", "c"])


@unused
def test_what_xgboost_cannot_represent():
    y = labels(X)
    poisson = xgb.train({"objective": "count:poisson"}, xgb.DMatrix(X, y["classes"]), 2)
    with pytest.raises(ValueError, match="'count:poisson', whose margin is neither in label units"):
        XGB.shift_intercept(poisson, delta=1)
    untrained = xgb.train(LOGISTIC, xgb.DMatrix(X, y["binary"]), 0)
    with pytest.raises(ValueError, match="no tree"):
        XGB.shift_intercept(untrained, delta=1)
    # a logistic base_score ends at 1e-6, and these leaves are not written
    vector = {"multi_strategy": "multi_output_tree", "tree_method": "hist"}
    two = xgb.DMatrix(X, y["two"])
    logistic = xgb.train({**vector, "objective": "binary:logistic"}, two, 2)
    with pytest.raises(ValueError, match="vector leaves.*multi_strategy='one_output_per_tree'"):
        XGB.shift_intercept(logistic, delta=[20, -20])


@pytest.mark.skipif(not parameters.holds_vectors({}), reason="XGBoost 3.2")
@pytest.mark.parametrize("objective", ["multi:softprob", "reg:squarederror", "binary:logistic"])
@pytest.mark.parametrize("strategy", ["one_output_per_tree", "multi_output_tree"])
def test_each_output_moves_by_its_own_number(strategy, objective):
    y = labels(X)
    params = {"objective": objective, "multi_strategy": strategy, "nthread": 1, "max_depth": 3}
    label, delta = y["two"], [1.5, -2.0]
    if objective == "multi:softprob":
        label, delta, params["num_class"] = y["classes"], [1.5, -2.0, 0.0], 3
    booster = xgb.train(params, xgb.DMatrix(X, label), 4)

    def margins(model):
        return model.predict(xgb.DMatrix(X), output_margin=True)

    before = margins(booster)
    moved = XGB.shift_intercept(booster, delta=delta)
    saved = xgb.Booster(model_file=moved.save_raw())
    for model in (moved, saved, pickle.loads(pickle.dumps(moved))):
        # a logistic base_score is a float32 probability
        np.testing.assert_allclose(margins(model), before + delta, rtol=2e-6, atol=5e-6)
    trees = [json.loads(model.save_raw("json"))["learner"]["gradient_booster"]["model"]["trees"]
             for model in (booster, moved)]  # fmt: skip
    assert trees[0] == trees[1]  # the start alone holds it
    np.testing.assert_array_equal(margins(booster), before)


def test_what_lightgbm_cannot_represent():
    y = labels(X)
    quiet = {"verbose": -1}
    for params, reason in (
        ({"objective": "poisson"}, "'poisson', whose margin is neither in label units"),
        ({"objective": "regression", "reg_sqrt": True}, "'regression sqrt', whose margin"),
        ({"objective": "cross_entropy_lambda"}, "'cross_entropy_lambda', whose margin"),
        ({"objective": "multiclassova", "num_class": 3}, "'multiclassova', one model for each"),
    ):
        label = y["classes"] if "num_class" in params else y["binary"]
        booster = lgb.train({**quiet, **params}, lgb.Dataset(X, label), 2)
        with pytest.raises(ValueError, match=reason):
            LGB.shift_intercept(booster, delta=[1, 2, 3] if "num_class" in params else 1)
    empty = lgb.Booster(params=quiet, train_set=lgb.Dataset(X, y["binary"]))
    with pytest.raises(ValueError, match="no tree"):
        LGB.shift_intercept(empty, delta=1)


@both
def test_an_edit_that_does_not_take_is_noticed(lib: Library, monkeypatch):
    """As a version of the booster might do that ignores what is edited."""
    if lib is XGB:
        monkeypatch.setattr(_xgboost_intercept, "add_to_leaves", lambda booster, shift: None)
    else:
        monkeypatch.setattr(_lightgbm_intercept, "_add_to_tree", lambda tree, delta: tree)
    booster = next(m for m in MODELS if m.lib is lib).train()
    with pytest.raises(RuntimeError, match=r"predicts margins .* instead of"):
        lib.shift_intercept(booster, delta=-20.0)
    with pytest.raises(RuntimeError, match="nan"):
        _arguments.check_moved(np.array([np.nan]), np.zeros(1), np.ones(1))


def test_inner_nodes_of_lightgbm_move_with_the_leaves():
    """They are what plots of a tree show."""
    X = np.random.default_rng(0).random((300, 3))
    booster = lgb.train({"verbose": -1}, lgb.Dataset(X, X[:, 0]), 2)
    trees = [b.dump_model()["tree_info"] for b in (booster, go.shift_intercept(booster, delta=5.0))]
    first, second = ([tree["tree_structure"]["internal_value"] for tree in info] for info in trees)
    assert second == pytest.approx([first[0] + 5.0, first[1]], rel=1e-6)  # dumped in few digits


def test_a_shift_beyond_float32_is_refused(rare):
    X, y, _ = rare
    booster = xgb.train({}, xgb.DMatrix(X, y), 1)
    with pytest.raises(ValueError, match="beyond XGBoost's float32"):
        go.shift_intercept(booster, delta=1e39)


@both
@pytest.mark.parametrize("outputs", [1, 2])
def test_a_shift_of_log_odds_in_every_spelling(lib: Library, outputs: int):
    """What log_odds_shift returned, or rates by name, for a booster of two classes."""
    y, rate = labels(X)["binary"], 0.1
    names = {"xgboost": ("binary:logistic", "multi:softprob"), "lightgbm": ("binary", "multiclass")}
    params = {
        "objective": names[lib.name][outputs - 1],
        **({"num_class": 2} if outputs == 2 else {}),
    }
    booster = lib.built_in(params, lib.data(X, y), 5)
    delta = np.log(rate)
    by_number = lib.shift_intercept(booster, delta=delta if outputs == 1 else [0, delta])
    for spelling in (
        {"shift": go.log_odds_shift(negative_keep_rate=rate)},
        {"shift": go.log_odds_shift(class_keep_rates=[rate, 1])},
        {"negative_keep_rate": rate},
        {"class_keep_rates": {0: rate, 1: 1.0}},
        {"class_keep_rates": {0: rate / 2, 1: 0.5}},  # one in ten of them, too
        {"shift": go.log_odds_shift(class_keep_rates={0: rate / 2, 1: 0.5})},
    ):
        found = lib.predict(lib.shift_intercept(booster, **spelling), X)
        np.testing.assert_allclose(found, lib.predict(by_number, X), rtol=1e-4)  # XGBoost's float32


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((0.02,), r"found 0.02: a sampling rate is negative_keep_rate=..., any other number is de"),
        ((-2.3,), r"shift must be what log_odds_shift or imbalance_shift returned, found -2.3"),
        (
            (),
            "exactly one of shift, delta, negative_keep_rate, class_keep_rates is needed, found n",
        ),
    ],
)
def test_numbers_without_a_name_are_refused(arguments, message):
    booster = xgb.train({}, xgb.DMatrix(X, labels(X)["number"]), 1)
    with pytest.raises(TypeError, match=message):
        go.shift_intercept(booster, *arguments)
    with pytest.raises(TypeError, match="found delta, negative_keep_rate"):
        go.shift_intercept(booster, delta=1.0, negative_keep_rate=0.5)


def squares(margin, data):
    return margin - data.get_label(), np.ones(len(margin))


@both
def test_a_custom_objective_is_shifted_in_its_own_units(lib: Library) -> None:
    X = np.random.default_rng(2).normal(size=(300, 2))

    data, y = lib.data(X, X[:, 0]), X[:, 0]
    booster = lib.plain(squares, data, 3)
    moved = lib.shift_intercept(booster, delta=0.75)
    gained = lib.predict(moved, X, raw=True) - lib.predict(booster, X, raw=True)
    np.testing.assert_allclose(gained, 0.75, atol=1e-6)  # float32 in XGBoost
    if lib is XGB:  # whose model names its default objective, and not that it had another
        with pytest.raises(ValueError, match="has no log-odds of a positive class"):
            imbalance_shift(booster, X, (y > 0).astype(int))
        return
    shift = imbalance_shift(booster, X, (y > 0).astype(int))
    p = expit(lib.predict(booster, X, raw=True).astype(float) + shift)
    assert p.mean() == pytest.approx((y > 0).mean(), abs=1e-6)


def test_leaves_are_those_up_to_the_best_round() -> None:
    X = np.random.default_rng(3).normal(size=(200, 2))
    booster = xgb.train({"max_depth": 2}, xgb.DMatrix(X, X[:, 0]), 6)
    whole = booster.predict(xgb.DMatrix(X), pred_leaf=True)
    np.testing.assert_array_equal(_xgboost_intercept.leaves(booster, X), whole)
    booster.set_attr(best_iteration="2")
    np.testing.assert_array_equal(_xgboost_intercept.leaves(booster, X), whole[:, :3])


@both
def test_a_rate_is_for_log_odds(lib: Library) -> None:
    X = np.random.default_rng(5).normal(size=(300, 2))
    data, rate = lib.data(X, X[:, 0]), go.log_odds_shift(negative_keep_rate=0.1)
    name = "reg:absoluteerror" if lib is XGB else "regression"
    numbers = lib.built_in({"objective": name}, data, 3)
    for given in ({"negative_keep_rate": 0.1}, {"shift": rate}, {"delta": rate}):
        with pytest.raises(ValueError, match=f"{min(given)} moves log-odds, but .*'{name}' has sc"):
            go.shift_intercept(numbers, **given)
    go.shift_intercept(numbers, delta=-0.5)

    own = lib.plain(squares, data, 3)
    with pytest.warns(UserWarning, match="does not say whether its margins are") as told:
        go.shift_intercept(own, rate)
    assert told[0].filename == __file__
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        go.shift_intercept(own, delta=float(rate))
