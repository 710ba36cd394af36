"""Every kind of objective through train, cv and the drop-in estimators: the same promises."""

from __future__ import annotations

import pickle
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import joblib
import numpy as np
import pytest
import xgboost as xgb
from scipy.special import expit, softmax
from sklearn.base import clone
from sklearn.metrics import accuracy_score

import gbdt_objectives as go
from gbdt_objectives.experimental import delayed_logloss_objective
from gbdt_objectives.metrics import squared_error_metric
from tests.adapters import library
from tests.adapters.classes import MeanLoss, Scaled, Softmax, Steps
from tests.adapters.library import Library
from tests.contract import costly_error, costly_error_loss, squared_error
from tests.matrix.tables import (
    logistic,
    logistic_loss,
    of_classes,
    of_classes_loss,
    poisson,
    poisson_loss,
)
from tests.strangers.poisson import poisson_objective

Array = np.ndarray[Any, Any]
pytestmark = pytest.mark.filterwarnings("ignore:The argument 'eval_set' is deprecated")
TRAIN, TEST = slice(0, 400), slice(400, 600)
ROUNDS = 6
XGB, LGB = (
    replace(lib, estimator={**lib.estimator, "n_estimators": ROUNDS})
    for lib in (library.XGB, library.LGB)
)
both = pytest.mark.parametrize("lib", [XGB, LGB], ids=repr)
LARGE = 0.5
"""Steps with which a model is soon past its best round."""
CLOSE = 1e-5
"""Of margins: those of XGBoost are sums in float32, LightGBM's gradients are."""


def same(margin: Array) -> Array:
    return margin


def of_two(y: Array) -> Array:
    return (y > 2).astype(int)


def of_four(y: Array) -> Array:
    return y - 1


@dataclass(frozen=True)
class Kind:
    """An objective, its labels made of grades 1 to 4, and what its model predicts."""

    name: str
    objective: go.Objective
    labels: Callable[[Array], Array]
    metric: go.Metric
    inverse: Callable[[Array], Array] = same
    of_rows: Callable[[Array], go.Objective] | None = None
    """Where it has a value of each row."""

    def __repr__(self) -> str:
        return self.name

    @property
    def K(self) -> int | None:
        return self.objective.n_classes

    def on(self, rows: Any = slice(None)) -> go.Objective:
        """The objective for these rows of 600."""
        return self.objective if self.of_rows is None else self.of_rows(np.arange(600)[rows])

    def proba(self, natural: Array) -> Array:
        """What a classifier makes of what the booster predicts."""
        return np.column_stack([1 - natural, natural]) if natural.ndim == 1 else natural


def rates_of(rows: Array) -> go.Objective:
    return go.offset_logloss_objective(0.3 + 0.6 * (rows % 2))


def arrived_of(rows: Array) -> go.Objective:
    return delayed_logloss_objective(0.4 + 0.1 * (rows % 7))


def costs_of(rows: Array) -> go.Objective:
    values = {"cost": 0.5 + rows % 5, "group": rows % 2}
    return go.objective(costly_error, loss=costly_error_loss, rows=values)


def own(function: Any, loss: Any, link: str, **given: Any) -> dict[str, Any]:
    objective = go.objective(function, loss=loss, link=link, **given)
    return {"objective": objective, "metric": go.loss_metric(objective)}


def loss_of(objective: go.Objective) -> dict[str, Any]:
    return {"objective": objective, "metric": MeanLoss(objective=objective)}


EQUATIONS = poisson_objective()
KINDS = [
    Kind("score", go.qwk_objective(), same, go.extended_qwk_metric()),
    Kind("function", go.objective(squared_error), same, squared_error_metric()),
    Kind("function-by-row", costs_of(np.arange(600)), same, squared_error_metric(),
         of_rows=costs_of),
    Kind("log", **own(poisson, poisson_loss, "log"), labels=same, inverse=np.exp),
    Kind("log-equations", EQUATIONS, same, go.loss_metric(EQUATIONS), np.exp),
    Kind("sampled", go.offset_logloss_objective(0.5), of_two, go.weighted_logloss_metric(0.5),
         expit),
    Kind("sampled-by-row", rates_of(np.arange(600)), of_two, go.weighted_logloss_metric(1), expit,
         rates_of),
    Kind("delayed", arrived_of(np.arange(600)), of_two, go.weighted_logloss_metric(1), expit,
         arrived_of),
    Kind("weighted", go.weighted_logloss_objective(0.5), of_two, go.weighted_logloss_metric(0.5),
         expit),
    Kind("logit", **own(logistic, logistic_loss, "logit"), labels=of_two, inverse=expit),
    Kind("softmax", **own(of_classes, of_classes_loss, "softmax", outputs=4), labels=of_four,
         inverse=lambda margin: softmax(margin, axis=1)),
    *(Kind(name, **loss_of(objective), labels=labels) for name, objective, labels in (
        ("own-of-two", Scaled(), of_two), ("own-of-outputs", Softmax(n_classes=4), of_four),
        ("own-in-order", Steps(n_classes=4), of_four))),
]  # fmt: skip
kinds = pytest.mark.parametrize("kind", KINDS, ids=repr)
UNWEIGHTED = ("score", "sampled", "softmax", "own-in-order")
with_and_without_weights = pytest.mark.parametrize(
    ("kind", "is_weighted"),
    [(kind, w) for kind in KINDS for w in (True, False) if w or kind.name in UNWEIGHTED],
    ids=lambda value: "" if value is True else str(value),
)


def rows(kind: Kind, ordinal: Any, is_weighted: bool = True) -> tuple[Array, Array, Array | None]:
    X, y, w = ordinal
    return X, kind.labels(y), w if is_weighted else None


def natural_of(kind: Kind, model: Any, X: Array, **given: Any) -> Array:
    return model.predict(X, **given) if kind.K is None else model.predict_proba(X, **given)


def start_of(kind: Kind, y: Array, w: Array | None) -> Array:
    """The intercept in each row."""
    return np.tile(kind.on().measured(y, w).intercept, (len(y), 1)).squeeze()


def of_libraries_training(
    lib: Library, kind: Kind, X: Array, y: Array, w: Array | None, start: Array
) -> Array:
    """Margins of its own train(), from a start in each row."""
    objective = kind.on().measured(y, w)

    def gradient(margin: Array, data: Any) -> tuple[Array, Array]:
        return objective(y, margin, w)

    params = {"num_class": objective.outputs} if objective.outputs > 1 else {}
    if lib is XGB:
        params |= {"base_score": 0, "disable_default_eval_metric": 1}
    data = lib.data(X, y, w, start)
    return margin_from(lib, lib.plain(gradient, data, ROUNDS, **params), X, data, start)


def margin_from(lib: Library, booster: Any, X: Array, data: Any, start: Array) -> Array:
    if lib is XGB:
        return booster.predict(data, output_margin=True)
    return booster.predict(X, raw_score=True) + start


@both
@with_and_without_weights
def test_train_is_the_librarys_from_a_start_in_each_row(
    lib: Library, kind: Kind, is_weighted: bool, ordinal
) -> None:
    X, y, w = rows(kind, ordinal, is_weighted)
    booster = lib.train(lib.params, lib.data(X, y, w), ROUNDS, objective=kind.objective)
    margin, natural = (lib.predict(booster, X, raw=raw) for raw in (True, False))
    expected = of_libraries_training(lib, kind, X, y, w, start_of(kind, y, w))
    # XGBoost's margins are float32; LightGBM's gradients, of margins that differ by 1e-16, are
    within = 1e-13 if lib is LGB and kind.name == "score" else 1e-6
    np.testing.assert_allclose(margin, expected, atol=4e-6 if lib is XGB else within)
    np.testing.assert_allclose(natural, kind.inverse(margin), rtol=1e-5 if lib is XGB else 1e-12)
    np.testing.assert_allclose(lib.contributions(booster, X).sum(axis=-1), margin, atol=1e-5)
    again = pickle.loads(pickle.dumps(booster))
    np.testing.assert_array_equal(lib.predict(again, X), natural)


@both
@kinds
@pytest.mark.filterwarnings("ignore:.*differs by row")
def test_a_start_per_row_is_where_training_starts(lib: Library, kind: Kind, ordinal) -> None:
    """The model holds the trees alone; of XGBoost, also in the estimator."""
    X, y, w = rows(kind, ordinal)
    start = start_of(kind, y, w)
    start = start + np.random.default_rng(0).normal(0, 0.3, start.shape)
    data = lib.data(X, y, w, start)
    booster = lib.train(lib.params, data, ROUNDS, objective=kind.objective)
    margin = margin_from(lib, booster, X, data, start)
    expected = of_libraries_training(lib, kind, X, y, w, start)
    np.testing.assert_allclose(margin, expected, atol=4e-6)
    if lib is XGB:
        model = lib.make(kind.K is not None, objective=kind.objective)
        model.fit(X, y, sample_weight=w, base_margin=start)
        found = model.predict(X, output_margin=True, base_margin=start)
        np.testing.assert_allclose(found, margin, atol=CLOSE)
        natural = natural_of(kind, model, X, base_margin=start)
        if kind.K is None:
            right = kind.inverse(found)
        elif kind.inverse is same:
            right = model.objective_.fitted(y, found, w).class_probability(found)
        else:
            right = kind.proba(kind.inverse(found))
        np.testing.assert_allclose(natural, right, rtol=1e-5, atol=1e-6)


@pytest.mark.slow
@both
@kinds
def test_a_saved_model_predicts_natural_units_without_this_package(
    lib: Library, kind: Kind, ordinal, tmp_path
) -> None:
    X, y, _ = rows(kind, ordinal)
    booster = lib.train(lib.params, lib.data(X, y), ROUNDS, objective=kind.objective)
    found = lib.fresh_prediction(lib.save(booster, tmp_path), X)
    np.testing.assert_array_equal(found, lib.predict(booster, X))


@both
@kinds
def test_a_step_of_nothing_leaves_the_start(lib: Library, kind: Kind, ordinal) -> None:
    """In train, in an estimator, and in what is measured of the first round."""
    X, y, w = rows(kind, ordinal)
    intercept = kind.on(TRAIN).measured(y[TRAIN], w[TRAIN]).intercept
    tiny = {"learning_rate": 1e-9}
    data = lib.data(X[TRAIN], y[TRAIN], w[TRAIN])
    booster = lib.train({**lib.params, **tiny}, data, 1, objective=kind.on(TRAIN))
    model = lib.make(kind.K is not None, objective=kind.on(TRAIN), n_estimators=2, **tiny)
    sets = [(X[:50].copy(), y[:50]), (X[TEST], y[TEST])]
    # the extended QWK of all constants is 0
    metric = squared_error_metric() if kind.name == "score" else kind.metric
    lib.fit(model, X[TRAIN], y[TRAIN], sets, metric, sample_weight=w[TRAIN])
    for one in (booster, lib.booster(model)):
        margin = lib.predict(one, X, raw=True)
        np.testing.assert_allclose(margin, np.broadcast_to(intercept, margin.shape), atol=2e-6)
    for (_, labels), values in zip(sets, lib.history(model).values(), strict=True):
        start = np.tile(intercept, (len(labels), 1)).squeeze()
        assert values[metric.name][0] == pytest.approx(metric(labels, start), rel=1e-5)


@pytest.mark.slow
@both
@kinds
def test_early_stopping_keeps_the_best_round_of_the_last_set(
    lib: Library, kind: Kind, ordinal
) -> None:
    """In the metric's direction, of margins; no other metric is measured."""
    X, y, w = rows(kind, ordinal)
    metric, record = kind.metric, {}
    data = lib.data(X[TRAIN], y[TRAIN], w[TRAIN])
    evals = [(data, "train"), (lib.data(X[TEST], y[TEST], w[TEST], reference=data), "held_out")]
    booster = lib.train(
        {**lib.params, "learning_rate": LARGE}, data, 60, objective=kind.on(TRAIN), metric=metric,
        evals=evals, early_stopping_rounds=4, **lib.recording(record),
    )  # fmt: skip
    for name in ("train", "held_out"):
        assert list(record[name]) == [metric.name]
    values, kept = record["held_out"][metric.name], lib.rounds(booster)
    assert kept == int((np.argmax if metric.greater_is_better else np.argmin)(values)) + 1
    assert 2 < kept == len(values) - 4 < 56
    assert booster.best_iteration + (lib is XGB) == kept
    for k in (1, kept // 2, kept):
        margin = lib.predict(booster, X[TEST], raw=True, rounds=k)
        # XGBoost's margins are float32
        assert metric(y[TEST], margin, w[TEST]) == pytest.approx(values[k - 1], rel=1e-6)
    model = lib.make(kind.K is not None, objective=kind.on(TRAIN), n_estimators=60,
                     learning_rate=LARGE, early_stopping_rounds=4)  # fmt: skip
    weights = {"sample_weight_eval_set" if lib is XGB else "eval_sample_weight": [w[TEST]]}
    held_out = [(X[TEST], y[TEST])]
    lib.fit(model, X[TRAIN], y[TRAIN], held_out, metric, sample_weight=w[TRAIN], **weights)
    assert lib.rounds(lib.booster(model)) == kept
    (found,) = lib.history(model).values()
    np.testing.assert_allclose(found[metric.name], values, rtol=1e-5)


@pytest.mark.slow
@both
@kinds
@pytest.mark.filterwarnings("error:boosting starts")
def test_cv_is_a_loop_of_train(lib: Library, kind: Kind, ordinal) -> None:
    """An objective is measured on the training rows of each fold, and rows' values are split."""
    X, y, w = rows(kind, ordinal)
    parts = np.array_split(np.random.default_rng(0).permutation(600), 3)
    folds = [(np.setdiff1d(np.arange(600), part), np.sort(part)) for part in parts]
    whole = lib.data(X, y, w)
    more = {} if lib is XGB else {"return_cvbooster": True}

    def part(at: Array) -> Any:
        """The rows, binned as cv bins them."""
        return whole.slice(at) if lib is XGB else lib.data(X[at], y[at], w[at], reference=whole)

    history = lib.cv(whole, 4, objective=kind.on(), metric=kind.metric, folds=folds, **more)
    values = []
    for k, (train, test) in enumerate(folds):
        record: dict[str, Any] = {}
        booster = lib.train(
            lib.params, part(train), 4, objective=kind.on(train), metric=kind.metric,
            evals=[(part(test), "v")], **lib.recording(record),
        )  # fmt: skip
        values.append(record["v"][kind.metric.name])
        if lib is LGB:
            ours, expected = history["cvbooster"].boosters[k], booster.predict(X)
            np.testing.assert_allclose(ours.predict(X), expected, rtol=1e-12)
    means = lib.mean.format(kind.metric.name)
    deviations = means.removesuffix("mean") + ("std" if lib is XGB else "stdv")
    np.testing.assert_allclose(history[means], np.mean(values, axis=0), rtol=1e-12)
    np.testing.assert_allclose(history[deviations], np.std(values, axis=0), rtol=1e-9, atol=1e-15)


@pytest.mark.slow
@both
@kinds
def test_training_goes_on_from_every_form_of_a_model(
    lib: Library, kind: Kind, ordinal, tmp_path
) -> None:
    X, y, w = rows(kind, ordinal)
    half, whole = (
        lib.make(kind.K is not None, objective=kind.objective, n_estimators=n)
        .fit(X, y, sample_weight=w) for n in (3, 6)
    )  # fmt: skip
    booster = lib.booster(half)
    path = lib.save(booster, tmp_path)
    forms = [booster]
    if kind.name in ("score", "softmax"):  # of an identity, and of a link with several outputs
        forms += [half, path, str(path)]
        if lib is XGB:
            forms += [bytes(booster.save_raw("json")), booster.save_raw("json")]
    expected = lib.predict(lib.booster(whole), X, raw=True)
    for form in forms:
        given = {"objective": kind.objective, lib.earlier: form}
        more = lib.train(lib.params, lib.data(X, y, w), 3, **given)
        assert lib.rounds(more) == 6
        # LightGBM resumes from float64 predictions, of which sums differ in the last digits
        np.testing.assert_allclose(lib.predict(more, X, raw=True), expected, atol=CLOSE)
    for form in (half, booster)[: len(forms)]:
        model = clone(half).fit(X, y, sample_weight=w, **{lib.earlier: form})
        found = lib.predict(lib.booster(model), X, raw=True)
        np.testing.assert_allclose(found, expected, atol=CLOSE)
        natural, right = (natural_of(kind, one, X) for one in (model, whole))
        np.testing.assert_allclose(natural, right, rtol=1e-4, atol=1e-4)


@both
@with_and_without_weights
@pytest.mark.filterwarnings("error")
def test_an_estimator_is_train_with_the_same_parameters(
    lib: Library, kind: Kind, is_weighted: bool, ordinal
) -> None:
    X, y, w = rows(kind, ordinal, is_weighted)
    objective = kind.objective
    model = lib.make(kind.K is not None, objective=objective).fit(X, y, sample_weight=w)
    booster = lib.train(lib.params, lib.data(X, y, w), ROUNDS, objective=objective)
    margin, natural = (lib.predict(booster, X, raw=raw) for raw in (True, False))
    found = model.predict(X, **{lib.margin: True})
    np.testing.assert_allclose(found, margin, atol=CLOSE if lib is XGB else 1e-12)
    assert model.objective is objective
    if kind.K is None:
        np.testing.assert_allclose(model.predict(X), natural, rtol=1e-5, atol=CLOSE)
        return
    if kind.inverse is same:  # thresholds, intercept: fitted to float32 margins
        fitted = objective.measured(y, w).fitted(y, found, w)
        for name, value in vars(fitted.equations).items():
            np.testing.assert_allclose(getattr(model.objective_, name), value, rtol=1e-5)
        natural = model.objective_.class_probability(found)
    p = model.predict_proba(X)
    assert p.shape == (600, kind.K)
    np.testing.assert_allclose(p, kind.proba(natural), atol=1e-6 if lib is XGB else 1e-12)
    np.testing.assert_allclose(p.sum(axis=1), 1, rtol=1e-6)
    np.testing.assert_array_equal(model.classes_, np.arange(kind.K))
    assert model.n_classes_ == kind.K
    np.testing.assert_array_equal(model.predict(X), p.argmax(axis=1))
    assert model.score(X, y) == accuracy_score(y, model.predict(X)) > 0.6


@both
@kinds
def test_copies_and_files_of_an_estimator_predict_the_same(
    lib: Library, kind: Kind, ordinal, tmp_path
) -> None:
    X, y, _ = rows(kind, ordinal)
    model = lib.make(kind.K is not None, objective=kind.objective).fit(X, y)
    right = natural_of(kind, model, X)
    joblib.dump(model, tmp_path / "model.joblib")
    copies = [pickle.loads(pickle.dumps(model)), joblib.load(tmp_path / "model.joblib")]
    for again in (*copies, clone(model).fit(X, y)):
        np.testing.assert_array_equal(natural_of(kind, again, X), right)
        assert again.objective == kind.objective
    if kind.inverse is same and kind.K is not None:  # of which no file has the probabilities
        return
    plain = lib.own.Booster(model_file=lib.save(lib.booster(model), tmp_path))
    found = lib.predict(plain, X)
    found = found if kind.K is None else kind.proba(found)
    np.testing.assert_allclose(found, right, rtol=1e-6)
    if lib is XGB:  # the library's own estimator reads it, and so does ours
        model.save_model(tmp_path / "model.ubj")
        for is_plain in (True, False):
            reader = lib.make(kind.K is not None, is_plain)
            reader.load_model(tmp_path / "model.ubj")
            np.testing.assert_allclose(natural_of(kind, reader, X), right, rtol=1e-6)
            np.testing.assert_array_equal(reader.predict(X), model.predict(X))


@pytest.mark.slow
@both
@kinds
def test_refits_leave_nothing_behind(lib: Library, kind: Kind, ordinal) -> None:
    """From one objective to another, after stopping early, and after a fit that fails."""
    X, y, _ = rows(kind, ordinal)
    model = lib.make(kind.K is not None, objective=kind.objective)
    before = model.get_params()
    first = natural_of(kind, model.fit(X, y), X)
    with pytest.raises((ValueError, TypeError)):
        model.fit(X, np.where(np.arange(600) == 9, np.nan, y))
    with pytest.raises((ValueError, xgb.core.XGBoostError)):
        model.fit(X[:50], y)  # the library's own error
    np.testing.assert_array_equal(natural_of(kind, model, X), first)
    assert model.get_params() == before
    model.set_params(objective=kind.on(TRAIN), early_stopping_rounds=2, n_estimators=40)
    lib.fit(model, X[TRAIN], y[TRAIN], [(X[TEST], y[TEST])], kind.metric)
    model.set_params(early_stopping_rounds=None, n_estimators=ROUNDS)
    model.set_params(**({"eval_metric": None} if lib is XGB else {}))
    built_in = "binary:logistic" if kind.K else "reg:squarederror"
    other = go.weighted_logloss_objective(1) if kind.K else go.qwk_objective()
    model.set_params(objective=other).fit(X, (y > y.min()).astype(int) if kind.K else y)
    model.set_params(objective=built_in if lib is XGB else None).fit(X, y)
    plain = lib.make(kind.K is not None, plain=True).fit(X, y)
    np.testing.assert_array_equal(natural_of(kind, model, X), natural_of(kind, plain, X))
    np.testing.assert_array_equal(model.predict(X), plain.predict(X))
    model.set_params(objective=kind.objective).fit(X, y)
    np.testing.assert_array_equal(natural_of(kind, model, X), first)
