"""What a margin means, kept through every door: training, prediction, saving, training on."""

from __future__ import annotations

import pickle
from dataclasses import dataclass, replace
from typing import Any

import lightgbm as lgb
import numpy as np
import pytest
import xgboost as xgb
from scipy.special import expit, softmax
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import gbdt_objectives as go
from gbdt_objectives.adapters import lightgbm as ours_lgb, xgboost as ours_xgb
from gbdt_objectives.metrics import loss_metric
from gbdt_objectives.objectives import LOG as LOG_LINK, Interval, Loss
from tests.adapters.library import LGB, XGB, Library, both
from tests.cases import each

N = 600
ROUNDS = 12
CLOSE = 2e-5
"""Of margins: base_score and leaves are float32."""


def weights(margin, w):
    one = np.ones(len(margin)) if w is None else w
    return one if margin.ndim == 1 else one[:, None]


def poisson(y_true, margin, sample_weight):
    w, mean = weights(margin, sample_weight), np.exp(margin)
    return w * (mean - y_true), w * mean


def poisson_loss(y_true, margin, sample_weight):
    return float(np.sum(weights(margin, sample_weight) * (np.exp(margin) - y_true * margin)))


def logistic(y_true, margin, sample_weight):
    w, p = weights(margin, sample_weight), expit(margin)
    return w * (p - y_true), w * p * (1 - p)


def logistic_loss(y_true, margin, sample_weight):
    loss = np.logaddexp(0, margin) - y_true * margin
    return float(np.sum(weights(margin, sample_weight) * loss))


def multinomial(y_true, margin, sample_weight):
    w, p = weights(margin, sample_weight), softmax(margin, axis=1)
    return w * (p - np.eye(margin.shape[1])[y_true.astype(int)]), w * 2 * p * (1 - p)


def multinomial_loss(y_true, margin, sample_weight):
    p = softmax(margin.astype(float), axis=1)[np.arange(len(margin)), y_true.astype(int)]
    w = 1 if sample_weight is None else sample_weight
    return float(-np.sum(w * np.log(p)))


def squared(y_true, margin, sample_weight):
    w = weights(margin, sample_weight)
    return w * (margin - y_true), w


def squared_loss(y_true, margin, sample_weight):
    return float(np.sum(weights(margin, sample_weight) * (margin - y_true) ** 2 / 2))


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
    multinomial, loss=multinomial_loss, link="softmax", outputs=3, intercept=[0.1, 0.2, -0.3]
)


@dataclass(frozen=True, kw_only=True)
class PoissonLoss(Loss):
    """exp(f) - y f, measured."""

    labels = Interval(0.0)
    link = LOG_LINK
    hessian = "exact"
    intercept: float | None = None

    def row_loss(self, y, f, xp):
        return xp.exp(f) - y * f

    def gradient_hessian(self, y, f, totals, xp):
        return xp.exp(f) - y, xp.exp(f)

    def measured(self, rows):
        total, n = rows.sum(lambda y, f, xp: (y, 1.0))
        return replace(self, intercept=float(np.log(total / n)))


SQUARED = go.objective(squared, loss=squared_loss, link="identity")
CASES = {
    "log": (LOG, COUNTS, np.exp),
    "logit": (LOGIT, EVENTS, expit),
    "softmax": (SOFTMAX, CLASSES, lambda margin: softmax(margin, axis=1)),
}
every_link = pytest.mark.parametrize("link", list(CASES))
classified = pytest.mark.parametrize("link", ["logit", "softmax"])


def make(lib: Library, classifier: bool, **parameters):
    adapter = ours_xgb if lib is XGB else ours_lgb
    prefix, kind = ("XGB" if lib is XGB else "LGBM"), "Classifier" if classifier else "Regressor"
    params = {"n_estimators": ROUNDS, "n_jobs": 1} | (
        {"max_depth": 3} if lib is XGB else {"num_leaves": 7, "verbose": -1}
    )
    return getattr(adapter, prefix + kind)(**{**params, **parameters})


def booster_of(model):
    return model.get_booster() if isinstance(model, xgb.XGBModel) else model.booster_


def boosted(gradient, y, start, lib: Library, **params):
    """Margins after training on the library's own call of a gradient, from a start per row."""

    def plain(margin, data):
        g, h = gradient(y, margin.astype(float), None)
        return g.astype(np.float32), h.astype(np.float32)

    if lib is XGB:
        data = xgb.DMatrix(X_TRAIN, y, base_margin=start)
        classes = {"num_class": start.shape[1]} if start.ndim == 2 else {}
        params = {**lib.params, **classes, "base_score": 0.0, **params}
        trained = xgb.train(params, data, ROUNDS, obj=plain)
        K = start.shape[1:] or (1,)
        every = xgb.DMatrix(X, base_margin=np.broadcast_to(start[0], (N, *K)).squeeze())
        return trained.predict(every, output_margin=True)
    data = lgb.Dataset(X_TRAIN, y, init_score=start)
    classes = {"num_class": start.shape[1]} if start.ndim == 2 else {}
    params = {**lib.params, **classes, "objective": plain}
    return lgb.train(params, data, ROUNDS).predict(X, raw_score=True) + start[0]


def expected(link: str, lib: Library):
    objective, y, inverse = CASES[link]
    start = np.broadcast_to(objective.intercept, (400, *np.shape(objective.intercept)))
    gradient = objective.equations.function
    if lib is XGB and link == "log":
        return inverse(boosted(gradient, y[TRAIN], start, lib, max_delta_step=0))
    return inverse(boosted(gradient, y[TRAIN], start, lib))


@pytest.mark.slow
@both
@every_link
def test_train_predicts_in_natural_units(lib: Library, link: str, tmp_path) -> None:
    objective, y, inverse = CASES[link]
    booster = lib.train(lib.params, lib.data(X_TRAIN, y[TRAIN]), ROUNDS, objective=objective)
    margin = lib.predict(booster, X, raw=True)
    found = lib.predict(booster, X)
    np.testing.assert_allclose(found, inverse(margin), rtol=1e-5)
    np.testing.assert_allclose(found, expected(link, lib), rtol=2e-4)  # twelve rounds of float32
    path = tmp_path / "model.txt" if lib is LGB else tmp_path / "model.ubj"
    booster.save_model(path)
    np.testing.assert_array_equal(lib.fresh_prediction(path, X), found)
    np.testing.assert_array_equal(lib.predict(pickle.loads(pickle.dumps(booster)), X), found)


@pytest.mark.slow
@both
@pytest.mark.parametrize("weighted", [False, True])
def test_a_regressor_predicts_means(lib: Library, weighted: bool, tmp_path) -> None:
    w = RNG.integers(1, 4, 400) if weighted else None
    model = make(lib, False, objective=LOG).fit(X_TRAIN, COUNTS[TRAIN], sample_weight=w)
    data = lib.data(X_TRAIN, COUNTS[TRAIN], w)
    trained = lib.train(lib.params, data, ROUNDS, objective=LOG)
    found = model.predict(X)
    np.testing.assert_allclose(found, lib.predict(trained, X), rtol=CLOSE)
    path = tmp_path / "model.txt" if lib is LGB else tmp_path / "model.ubj"
    booster_of(model).save_model(path)
    np.testing.assert_array_equal(lib.fresh_prediction(path, X), found)
    np.testing.assert_array_equal(pickle.loads(pickle.dumps(model)).predict(X), found)
    if lib is XGB:
        model.save_model(path)
        plain = xgb.XGBRegressor()
        plain.load_model(path)
        np.testing.assert_array_equal(plain.predict(X), found)
        np.testing.assert_allclose(np.exp(model.predict(X, output_margin=True)), found, rtol=1e-6)


@both
def test_a_loss_is_its_function_through_all_doors(lib: Library) -> None:
    objective, data = go.objective(PoissonLoss()), lib.data(X_TRAIN, COUNTS[TRAIN])
    evals = [(lib.data(X[TEST], COUNTS[TEST], reference=data), "v")]
    one, other = (
        lib.train(
            lib.params, data, 50, objective=its, metric=loss_metric(its), evals=evals,
            early_stopping_rounds=5,
        )
        for its in (objective, LOG)
    )  # fmt: skip
    assert lib.rounds(one) == lib.rounds(other)
    expected = lib.predict(other, X)
    np.testing.assert_allclose(lib.predict(one, X), expected, rtol=CLOSE)
    rounds = lib.rounds(one)
    model = make(lib, False, objective=objective, n_estimators=rounds)
    np.testing.assert_allclose(model.fit(X_TRAIN, COUNTS[TRAIN]).predict(X), expected, rtol=1e-4)


@both
@classified
def test_a_classifier_predicts_probabilities(lib: Library, link: str) -> None:
    objective, y, _ = CASES[link]
    model = make(lib, True, objective=objective).fit(X_TRAIN, y[TRAIN])
    trained = lib.train(lib.params, lib.data(X_TRAIN, y[TRAIN]), ROUNDS, objective=objective)
    p = lib.predict(trained, X)
    p = np.column_stack([1 - p, p]) if link == "logit" else p
    found = model.predict_proba(X)
    np.testing.assert_allclose(found, p, atol=CLOSE)
    np.testing.assert_array_equal(model.predict(X), found.argmax(axis=1))
    np.testing.assert_array_equal(model.classes_, np.arange(p.shape[1]))
    np.testing.assert_array_equal(pickle.loads(pickle.dumps(model)).predict_proba(X), found)
    assert model.score(X[TEST], y[TEST]) > 0.6


@classified
def test_a_saved_classifier_is_one_of_xgboost(link: str, tmp_path) -> None:
    objective, y, _ = CASES[link]
    model = make(XGB, True, objective=objective).fit(X_TRAIN, y[TRAIN])
    path = tmp_path / "model.ubj"
    model.save_model(path)
    for reader in (xgb.XGBClassifier(), ours_xgb.XGBClassifier()):
        reader.load_model(path)
        np.testing.assert_allclose(reader.predict_proba(X), model.predict_proba(X), atol=1e-6)
        np.testing.assert_array_equal(reader.predict(X), model.predict(X))


@both
def test_a_class_that_does_not_occur_keeps_its_column(lib: Library) -> None:
    rows = np.flatnonzero(CLASSES[TRAIN] != 1)
    model = make(lib, True, objective=SOFTMAX).fit(X[rows], CLASSES[rows])
    p = model.predict_proba(X)
    assert p.shape == (N, 3)
    np.testing.assert_array_equal(model.classes_, [0, 1, 2])
    np.testing.assert_allclose(p.sum(axis=1), 1, rtol=1e-6)


@both
@every_link
def test_kinds_that_cannot_hold_the_link_are_refused(lib: Library, link: str) -> None:
    objective, y, _ = CASES[link]
    wrong, right = ("Classifier", "Regressor") if link == "log" else ("Regressor", "Classifier")
    with pytest.raises(TypeError, match=f"use (XGB|LGBM){right}") as error:
        make(lib, wrong == "Classifier", objective=objective).fit(X, y)
    if link == "log":
        assert "logs of a positive mean" in str(error.value)
        assert "apply_thresholds" not in str(error.value)


@both
def test_metrics_of_other_margins_are_refused_with_the_right_one(lib: Library) -> None:
    data = lib.data(X, COUNTS)
    evals = [(lib.data(X[TEST], COUNTS[TEST], reference=data), "v")]
    message = r"logs of a positive mean.*pass loss_metric\(objective\)"
    with pytest.raises(ValueError, match=message):
        lib.train({}, data, 3, objective=LOG, metric=go.extended_qwk_metric(), evals=evals)
    with pytest.raises(ValueError, match=message):
        _fit_with(lib, "rmse" if lib is XGB else "l2")


def _fit_with(lib: Library, metric, **parameters):
    sets = {"eval_set": [(X[TEST], COUNTS[TEST])]}
    if lib is XGB:
        model = make(lib, False, objective=LOG, eval_metric=metric, **parameters)
        return model.fit(X_TRAIN, COUNTS[TRAIN], verbose=False, **sets)
    model = make(lib, False, objective=LOG, **parameters)
    return model.fit(X_TRAIN, COUNTS[TRAIN], eval_metric=metric, **sets)


@both
def test_evaluation_and_early_stopping_see_margins(lib: Library) -> None:
    metric = loss_metric(LOG)
    data = lib.data(X_TRAIN, COUNTS[TRAIN])
    evals = [(lib.data(X[TEST], COUNTS[TEST], reference=data), "v")]
    params = {**lib.params, "learning_rate": 0.5}
    history: dict = {}
    more = (
        {"evals_result": history} if lib is XGB
        else {"callbacks": [lgb.record_evaluation(history)]}
    )  # fmt: skip
    booster = lib.train(
        params, data, 100, objective=LOG, metric=metric, evals=evals, early_stopping_rounds=5,
        **more,
    )  # fmt: skip
    losses = [
        metric(COUNTS[TEST], lib.predict(booster, X[TEST], raw=True, rounds=k + 1).astype(float))
        for k in range(lib.rounds(booster))
    ]
    kept = history["v"]["loss"][: len(losses)]
    np.testing.assert_allclose(kept, losses, rtol=1e-5)
    assert min(history["v"]["loss"]) == history["v"]["loss"][len(losses) - 1]
    model = _fit_with(lib, metric, n_estimators=100, learning_rate=0.5, early_stopping_rounds=5)
    assert lib.rounds(booster_of(model)) == len(losses)
    np.testing.assert_allclose(model.predict(X), lib.predict(booster, X), rtol=1e-4)


@both
def test_cross_validation_is_training_on_each_fold(lib: Library) -> None:
    metric, folds = loss_metric(LOG), [(np.arange(400), np.arange(400, N))]
    adapter = ours_xgb if lib is XGB else ours_lgb
    more = {"as_pandas": False} if lib is XGB else {"stratified": False}
    found = adapter.cv(
        lib.params, lib.data(X, COUNTS), ROUNDS, objective=LOG, metric=metric, folds=folds, **more
    )
    (values,) = (v for name, v in found.items() if "loss-mean" in name and "train" not in name)
    booster = lib.train(lib.params, lib.data(X_TRAIN, COUNTS[TRAIN]), ROUNDS, objective=LOG)
    margin = lib.predict(booster, X[TEST], raw=True).astype(float)
    # folds are binned with all rows, so that only the size of the numbers is the same
    assert values[-1] == pytest.approx(metric(COUNTS[TEST], margin), rel=0.02)


def test_base_score_is_a_mean() -> None:
    """In natural units, as XGBoost reads it under the name count:poisson."""
    slow = {"learning_rate": 1e-9, "base_score": 2.5}
    booster = ours_xgb.train(slow, XGB.data(X, COUNTS), 1, objective=LOG)
    model = make(XGB, False, objective=LOG, **slow).fit(X, COUNTS)
    for found in (XGB.predict(booster, X), model.predict(X)):
        np.testing.assert_allclose(found, 2.5, rtol=1e-6)
    assert model.base_score == 2.5
    for wrong in (0.0, -1.0):
        with pytest.raises(ValueError, match="base_score must be above 0"):
            make(XGB, False, objective=LOG, base_score=wrong).fit(X, COUNTS)
    far = go.objective(poisson, link="log", intercept=-200)
    with pytest.raises(ValueError, match="cannot start at -200 logs of a positive mean"):
        ours_xgb.train({}, XGB.data(X, COUNTS), 1, objective=far)


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


# Training on from an earlier model.

EARLIER = {
    "binary:logistic": (EVENTS, "binary"),
    "count:poisson": (COUNTS, "poisson"),
    "reg:squarederror": (COUNTS, "regression"),
    "reg:logistic": (EVENTS, "cross_entropy"),
}
NEXT = {
    "identity": (go.qwk_objective(), CLASSES, False),
    "own identity": (SQUARED, COUNTS, False),
    "undeclared": (go.objective(squared), COUNTS, False),
    "log": (LOG, COUNTS, False),
    "logit": (go.weighted_logloss_objective(1), EVENTS, True),
    "score": (go.focal_objective(2), EVENTS, True),
}
SLOW = {"learning_rate": 1e-9}


def earlier_model(lib: Library, name: str, rounds: int = 5):
    y, lightgbm = EARLIER[name]
    params = {"objective": name if lib is XGB else lightgbm}
    return lib.built_in(params, lib.data(X, y), rounds)


@pytest.mark.slow
@both
@each("earlier", list(EARLIER))
@each("following", list(NEXT))
def test_training_goes_on_at_the_margins_of_any_model(
    lib: Library, earlier: str, following: str, tmp_path
) -> None:
    objective, y, classifier = NEXT[following]
    first = earlier_model(lib, earlier)
    margin = lib.predict(first, X, raw=True)
    argument = "xgb_model" if lib is XGB else "init_model"
    again = lib.train(
        {**lib.params, **SLOW}, lib.data(X, y), 1, objective=objective, **{argument: first}
    )
    model = make(lib, classifier, objective=objective, n_estimators=1, **SLOW)
    model.fit(X, y, **{argument: first})
    for booster in (again, booster_of(model)):
        np.testing.assert_allclose(lib.predict(booster, X, raw=True), margin, atol=CLOSE)
        assert lib.rounds(booster) == 6
        np.testing.assert_allclose(
            lib.predict(booster, X), objective.link.inverse(margin), rtol=CLOSE, atol=CLOSE
        )
    np.testing.assert_array_equal(lib.predict(first, X, raw=True), margin)  # itself unchanged
    path = tmp_path / "model.txt" if lib is LGB else tmp_path / "model.ubj"
    again.save_model(path)
    plain = (xgb if lib is XGB else lgb).Booster(model_file=path)
    np.testing.assert_array_equal(lib.predict(plain, X), lib.predict(again, X))


@both
def test_training_on_is_training_from_its_margins(lib: Library) -> None:
    """More than a start: the rounds that follow are those of a start per row."""
    first = earlier_model(lib, "binary:logistic")
    margin = lib.predict(first, X, raw=True)
    objective = go.focal_objective(2)
    argument = "xgb_model" if lib is XGB else "init_model"
    again = lib.train(lib.params, lib.data(X, EVENTS), 10, objective=objective, **{argument: first})
    data = lib.data(X, EVENTS, start=margin)
    apart = lib.train(lib.params, data, 10, objective=objective)
    added = (
        apart.predict(data, output_margin=True) if lib is XGB
        else apart.predict(X, raw_score=True) + margin
    )  # fmt: skip
    # a gain close to another may fall on its other side, and its leaf then differs
    difference = np.abs(lib.predict(again, X, raw=True) - added)
    assert np.median(difference) < CLOSE


def test_outputs_keep_a_vector_of_starts() -> None:
    first = XGB.built_in({"objective": "multi:softprob", "num_class": 3}, XGB.data(X, CLASSES), 3)
    margin = XGB.predict(first, X, raw=True)
    for objective in (SOFTMAX, go.objective(multinomial, outputs=3)):
        again = XGB.train(
            {**XGB.params, **SLOW}, XGB.data(X, CLASSES), 1, objective=objective, xgb_model=first
        )
        np.testing.assert_allclose(XGB.predict(again, X, raw=True), margin, atol=CLOSE)
    model = make(XGB, True, objective=SOFTMAX, n_estimators=1, **SLOW)
    model.fit(X, CLASSES, xgb_model=first)
    np.testing.assert_allclose(model.predict_proba(X), softmax(margin, axis=1), atol=CLOSE)


@pytest.mark.slow
@both
@every_link
def test_our_own_models_go_on_in_every_form(lib: Library, link: str, tmp_path) -> None:
    objective, y, _ = CASES[link]
    classifier, argument = link != "log", "xgb_model" if lib is XGB else "init_model"
    first = make(lib, classifier, objective=objective, n_estimators=6).fit(X, y)
    whole = make(lib, classifier, objective=objective, n_estimators=ROUNDS).fit(X, y)
    booster, path = booster_of(first), tmp_path / "model.json"
    booster.save_model(path)
    forms = [first, booster, path, str(path)]
    forms += [bytes(booster.save_raw("json")), booster.save_raw("json")] if lib is XGB else []
    for earlier in forms:
        again = lib.train(lib.params, lib.data(X, y), 6, objective=objective, **{argument: earlier})
        found = lib.predict(again, X, raw=True)
        # splits of nearly equal gain may differ where margins were rounded
        assert np.median(np.abs(found - lib.predict(booster_of(whole), X, raw=True))) < 1e-4
    again = make(lib, classifier, objective=objective, n_estimators=6)
    again.fit(X, y, **{argument: first})
    found = lib.predict(booster_of(again), X, raw=True)
    assert np.median(np.abs(found - lib.predict(booster_of(whole), X, raw=True))) < 1e-4
    if link == "log":
        np.testing.assert_allclose(again.predict(X), np.exp(found), rtol=1e-6)


NOT_MODELS = [
    {}, False, 3, b"tree", [lgb.Booster], make_pipeline(StandardScaler()), xgb.XGBRegressor(),
    xgb.Booster(),
]  # fmt: skip


def fit_ways(lib: Library, objective: Any, y: Any, earlier: Any) -> dict[str, Any]:
    """Training on from an earlier model, wherever a library takes one."""
    given = {"xgb_model" if lib is XGB else "init_model": earlier}
    made = make(lib, objective.n_classes is not None, objective=objective, n_estimators=1)
    ways: dict[str, Any] = {
        "train": lambda: lib.train(lib.params, lib.data(X, y), 1, objective=objective, **given),
        "fit": lambda: made.fit(X, y, **given),
    }
    if lib is LGB:
        ways["cv"] = lambda: ours_lgb.cv(
            lib.params, lib.data(X, y), 1, objective=objective, metric=loss_metric(objective),
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
    one, name = earlier_model(lib, "count:poisson"), "xgb_model" if lib is XGB else "init_model"
    for objective, y, model, outputs in ((LOG, COUNTS, several, 3), (SOFTMAX, CLASSES, one, 1)):
        for way in fit_ways(lib, objective, y, model).values():
            message = f"{name} has {outputs} outputs, but .* has {objective.outputs}: train on with"
            with pytest.raises(ValueError, match=message):
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
        make(XGB, False, objective=LOG).fit(X, COUNTS, xgb_model=first)


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
    objective = go.objective(multinomial, outputs=3, link=link)
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
    first = earlier_model(lib, "count:poisson", rounds=7)
    argument = "xgb_model" if lib is XGB else "init_model"
    data = lib.data(X_TRAIN, COUNTS[TRAIN])
    evals = [(lib.data(X[TEST], COUNTS[TEST], reference=data), "v")]
    again = lib.train(
        {**lib.params, "learning_rate": 0.5}, data, 100, objective=SQUARED,
        metric=loss_metric(SQUARED), evals=evals, early_stopping_rounds=5, **{argument: first},
    )  # fmt: skip
    assert 7 < lib.rounds(again) < 107
    np.testing.assert_allclose(
        lib.predict(again, X, raw=True, rounds=7), lib.predict(first, X, raw=True), atol=CLOSE
    )
