"""HistGradientBoosting of scikit-learn: against losses written by hand, and against itself."""

from __future__ import annotations

import os
import pickle
import subprocess
import sys
from functools import partial
from inspect import signature
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy.special import expit, softmax
from sklearn import config_context, ensemble
from sklearn._loss.loss import HalfMultinomialLoss, HalfSquaredError
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV, cross_val_predict, train_test_split

import gbdt_objectives as go
from gbdt_objectives.adapters import imbalance_shift, shift_intercept
from gbdt_objectives.adapters.sklearn import (
    HistGradientBoostingClassifier,
    HistGradientBoostingRegressor,
    __name__ as ROOM,
    _bridge,
)
from gbdt_objectives.calibration import TemperatureCalibrator
from gbdt_objectives.metrics import squared_error_metric
from tests.adapters.library import fresh_prediction, needs_routing
from tests.cases import each
from tests.contract import OBJECTIVES, ObjectiveCase, costly_error, softmax_gradient
from tests.matrix.tables import poisson

Array = np.ndarray[Any, Any]
SMALL: dict[str, Any] = {"max_iter": 6, "max_leaf_nodes": 7, "max_bins": 31, "random_state": 0}
"""Of 255 bins, weighted quantiles would take most of the time."""
HAS_VAL = "X_val" in signature(ensemble.HistGradientBoostingRegressor.fit).parameters
pytestmark = pytest.mark.filterwarnings(
    "ignore:negative_keep_rate drops", "ignore:early stopping keeps"
)


@pytest.fixture(scope="module")
def grades() -> tuple[Array, Array, Array]:
    """Features, grades 0 to 3 that follow them, and weights."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(600, 4))
    y = np.digitize(X[:, 0] + X[:, 1] + rng.normal(0, 0.5, 600), [-1, 0, 1])
    return X, y, rng.integers(1, 4, 600).astype(float)


def ours(objective: go.Objective | None, **parameters: Any) -> Any:
    """Our estimator for this objective."""
    is_classifier = objective is not None and objective.n_classes is not None
    kind = HistGradientBoostingClassifier if is_classifier else HistGradientBoostingRegressor
    return kind(objective=objective, **{**SMALL, **parameters})


class ByHand(HalfSquaredError):
    """A loss over all rows at once, from a function of labels, margins and weights."""

    def __init__(self, function: Any, start: Any, base: Any = None) -> None:
        super().__init__()
        if base is not None:
            vars(self).update(vars(base))
            self.is_multiclass = True
        self.function, self.start, self.constant_hessian = function, start, False

    def fit_intercept_only(self, y_true: Array, sample_weight: Array | None = None) -> Array:
        return np.asarray(self.start, float)

    def gradient_hessian(
        self, y_true: Array, raw_prediction: Array, sample_weight: Array | None = None,
        gradient_out: Any = None, hessian_out: Any = None, n_threads: int = 1,
    ) -> None:  # fmt: skip
        f = raw_prediction if raw_prediction.shape[1] > 1 else raw_prediction[:, 0]
        gradient_out[...], hessian_out[...] = self.function(y_true, f, sample_weight)


def by_hand(function: Any, start: Any, X: Array, y: Array, w: Array | None, **parameters: Any):
    """Margins of scikit-learn's own estimator on such a loss."""
    K = np.size(start)
    base = None if K == 1 else HalfMultinomialLoss(n_classes=K)
    kind = ensemble.HistGradientBoostingRegressor
    if K > 1:
        kind = ensemble.HistGradientBoostingClassifier
    model = kind(loss=ByHand(function, start, base), **{**SMALL, **parameters})
    return model.fit(X, y, w)._raw_predict(X)


def margins(model: Any, X: Array) -> Array:
    return model._raw_predict(X)


@pytest.mark.slow
@pytest.mark.parametrize("is_weighted", [False, True])
@pytest.mark.parametrize(
    "case", [one for one in OBJECTIVES if not one.name.startswith("soft")], ids=repr
)
def test_an_objective_trains_what_its_gradient_trains(
    case: ObjectiveCase, is_weighted: bool, grades
) -> None:
    """From its start, with its weights. Gradients are float32, in which a start may be a label,
    where absolute errors have a corner: so are those of the other route."""
    X, _, w = grades
    order = np.argsort(np.argsort(X[:, 0] + X[:, 1]))
    y = np.sort(np.resize(np.array(case.labels, float), 600))[order]
    weight = w if is_weighted else None
    objective = case.on(600).measured(y, weight)
    start = 0.0 if objective.intercept is None else objective.intercept
    expected = by_hand(lambda y, f, w: objective(y, f, w), start, X, y, weight)
    model = ours(case.on(600)).fit(X, y, sample_weight=weight)
    np.testing.assert_allclose(model._baseline_prediction.ravel(), np.ravel(start), rtol=1e-12)
    scale = np.abs(expected).max()
    np.testing.assert_allclose(margins(model, X), expected, rtol=0, atol=1e-6 * scale)


def qwk_by_hand(y: Array, f: Array, w: Array | None) -> tuple[Array, Array]:
    """The gradient of log(squared error / expected disagreement), times the latter and n/2."""
    w = np.ones_like(f) if w is None else w
    a = np.average(y, weights=w)
    s2 = np.average((y - a) ** 2, weights=w)
    D, E = (w * (f - y) ** 2).sum(), (w * ((f - a) ** 2 + s2)).sum()
    return w * ((f - y) - D / E * (f - a)), w


@pytest.mark.parametrize("is_weighted", [False, True])
def test_a_loss_that_couples_rows_is_that_of_all_rows(is_weighted: bool, grades) -> None:
    X, y, w = grades
    weight = w if is_weighted else None
    start = np.average(y, weights=weight)
    expected = by_hand(qwk_by_hand, start, X, y, weight)
    model = ours(go.qwk_objective(clip=False)).fit(X, y, sample_weight=weight)
    # twelve sums of gradients in float32
    np.testing.assert_allclose(margins(model, X), expected, rtol=0, atol=1e-7)


LOGLOSS, GRADES = go.weighted_logloss_metric(1.0), go.qwk_metric()
STOPPED = [  # objective, its labels of grades, metric, the same in numpy: greater is better
    (go.qwk_objective(), lambda y: y, GRADES, lambda y, f: GRADES(y, f)),
    (go.qwk_objective(), lambda y: y, squared_error_metric(), lambda y, f: -np.mean((y - f) ** 2)),
    (go.weighted_logloss_objective(1.0), lambda y: y > 1, LOGLOSS,
     lambda y, f: -np.mean(np.logaddexp(0, np.where(y == 1, -f, f)))),
    (go.weighted_logloss_objective(1.0), lambda y: y > 1, None,
     lambda y, f: -np.mean(np.logaddexp(0, np.where(y == 1, -f, f)))),
    (None, lambda y: y, GRADES, lambda y, f: GRADES(y, f)),
]  # fmt: skip


@pytest.mark.slow
@pytest.mark.parametrize("way", ["own split", "training rows", "X_val"])
@pytest.mark.parametrize(("objective", "labels", "metric", "truth"), STOPPED)
def test_early_stopping_keeps_the_best_round(objective, labels, metric, truth, way, grades) -> None:
    """In the metric's direction, on the rows that the library holds out or is given; rounds before
    the first move of a metric of classes do not count."""
    X, y = grades[0], labels(grades[1]).astype(int)
    given: dict[str, Any] = {"learning_rate": 0.3, "max_iter": 60}
    stops = {"early_stopping": True, "n_iter_no_change": 4, "eval_metric": metric}
    train = held = np.arange(600)
    if way == "X_val":
        if not HAS_VAL:
            pytest.skip("scikit-learn 1.7 is the first whose fit takes X_val")
        train, held = np.split(np.arange(600), [450])
        model = ours(objective, **given, **stops)
        model.fit(X[train], y[train], X_val=X[held], y_val=y[held])
    elif way == "own split":
        model = ours(objective, **given, **stops).fit(X, y)
        train, held = train_test_split(
            np.arange(600), test_size=0.1, random_state=model._random_seed,
            stratify=None if objective is None or objective.n_classes is None else y,
        )  # fmt: skip
    else:
        model = ours(objective, **given, **stops, validation_fraction=None).fit(X, y)
    whole = ours(objective, **given, early_stopping=False).fit(X[train], y[train])
    stages = np.stack([raw[:, 0].copy() for raw in whole._staged_raw_predict(X[held])])
    start = np.full((1, len(held)), whole._baseline_prediction.item())
    scores = [truth(y[held], f) for f in np.vstack([start, stages])]
    moved = next(k for k, score in enumerate(scores) if score != scores[0]) - 1
    best, end = 0, 0
    for end, score in enumerate(scores):
        best = end if score > scores[best] + 1e-7 else best
        if end - max(best, moved) >= 4:
            break
    assert 2 < best <= end <= 60
    assert best < end or way == "training rows"
    assert model.n_iter_ == best
    history = model.train_score_ if way == "training rows" else model.validation_score_
    np.testing.assert_allclose(history, scores[: best + 1], rtol=1e-6)
    np.testing.assert_allclose(margins(model, X[held])[:, 0], stages[best - 1], rtol=1e-9)


def test_a_metric_of_probabilities_gets_those_of_the_own_loss(grades) -> None:
    """The log loss of probabilities is what scikit-learn itself measures."""
    X, y, _ = grades
    for labels, metric in (
        (y > 1, go.weighted_logloss_metric(1.0, input_space="probability")),
        (y, go.metrics.class_logloss_metric(input_space="probability")),
    ):
        given = {**SMALL, "early_stopping": True, "max_iter": 30}
        own = ensemble.HistGradientBoostingClassifier(**given).fit(X, labels)
        model = HistGradientBoostingClassifier(**given, eval_metric=metric).fit(X, labels)
        found, n = model.validation_score_, model.n_iter_ + 1
        np.testing.assert_allclose(found, own.validation_score_[:n], rtol=1e-6)
        assert n == own.validation_score_.argmax() + 1


KINDS = [
    ("identity", go.qwk_objective(), lambda y: y),
    ("log", go.objective(poisson, link="log"), lambda y: y),
    ("logit", go.offset_logloss_objective(0.5), lambda y: y > 1),
    ("softmax", go.objective(softmax_gradient, link="softmax", outputs=4), lambda y: y),
    ("score", go.focal_objective(2.0), lambda y: y > 1),
    ("scores", go.focal_objective(2.0, n_classes=5), lambda y: y),
    ("ordered", go.ordinal_logit_objective(5), lambda y: y),
]


def natural(model: Any, X: Array) -> Array:
    return model.predict_proba(X) if hasattr(model, "predict_proba") else model.predict(X)


@pytest.mark.slow
@pytest.mark.parametrize(("link", "objective", "labels"), KINDS, ids=[kind[0] for kind in KINDS])
def test_predictions_have_natural_units(link, objective, labels, grades, tmp_path) -> None:
    """Of the estimator, its copies, stages, and of scikit-learn's own, without this package."""
    X, y = grades[0], labels(grades[1]).astype(int)
    model = ours(objective).fit(X, y)
    f = margins(model, X).squeeze()
    makes = {"identity": lambda f: f, "log": np.exp, "softmax": partial(softmax, axis=1),
             "logit": lambda f: np.column_stack([expit(-f), expit(f)])}  # fmt: skip
    if link in makes:
        expected = makes[link](f)
    else:
        fitted = objective.measured(y).fitted(y, f)
        assert model.objective_ == fitted
        expected = fitted.class_probability(f)
        assert expected.shape == (600, 2 if link == "score" else 5)
    np.testing.assert_allclose(natural(model, X), expected, rtol=1e-9)
    if expected.ndim == 2:
        np.testing.assert_array_equal(model.predict(X), expected.argmax(axis=1))
        np.testing.assert_array_equal(model.classes_, np.arange(expected.shape[1]))
        assert model.score(X, y) > 0.6
    again = clone(model).fit(X, y)
    np.testing.assert_array_equal(natural(again, X), natural(model, X))
    copied = pickle.loads(pickle.dumps(model))
    np.testing.assert_array_equal(natural(copied, X), natural(model, X))
    if link not in makes:
        for name in ("decision_function", "staged_predict", "staged_predict_proba"):
            assert not hasattr(model, name)
        with pytest.raises(AttributeError, match="use predict or predict_proba"):
            model.to_sklearn()
        return
    *_, last = model.staged_predict(X)
    np.testing.assert_array_equal(last, model.predict(X))
    plain = model.to_sklearn()
    assert type(plain) is type(model).__base__
    (tmp_path / "model.pickle").write_bytes(pickle.dumps(plain))
    found = fresh_prediction("sklearn", tmp_path / "model.pickle", X)
    np.testing.assert_array_equal(found, natural(plain, X))
    np.testing.assert_allclose(natural(plain, X), natural(model, X), rtol=1e-12)


CALLS: list[int] = []


def nan_gradient(y: Array, f: Array, w: Any) -> tuple[Array, Array]:
    """Finite in the first two rounds."""
    CALLS.append(len(CALLS))
    return np.full(f.shape, np.nan) if len(CALLS) > 2 else f - y, np.ones(f.shape)


def test_rounds_before_a_metric_of_classes_moves_do_not_count(grades) -> None:
    """At a small step all rows are in one class for longer than the patience."""
    X, y = grades[0], np.maximum(grades[1] - 1, 0)
    stops = {"early_stopping": True, "n_iter_no_change": 3, "eval_metric": GRADES}
    model = ours(go.qwk_objective(), **stops, learning_rate=0.02, max_iter=60).fit(X, y)
    np.testing.assert_array_equal(model.validation_score_[:5], model.validation_score_[0])
    assert model.n_iter_ > 8


def test_a_fit_goes_on_or_is_forgotten_or_fails_whole(grades) -> None:
    """warm_start, another objective, and what a fit that fails leaves."""
    X, y, w = grades
    whole = ours(go.qwk_objective(), max_iter=20).fit(X, y, sample_weight=w)
    half = ours(go.qwk_objective(), max_iter=8, warm_start=True).fit(X, y, sample_weight=w)
    half.set_params(max_iter=20).fit(X, y, sample_weight=w)
    np.testing.assert_allclose(half.predict(X), whole.predict(X), rtol=1e-6)
    before, parameters = half.predict(X), half.get_params()
    half.set_params(max_iter=30)
    with pytest.raises(ValueError, match="gradient"):
        half.set_params(objective=go.objective(nan_gradient)).fit(X, y)
    np.testing.assert_array_equal(half.predict(X), before)
    half.set_params(**parameters)
    with pytest.warns(UserWarning, match="from which warm_start=True goes on"):
        half.set_params(objective=go.objective(poisson, link="log"), max_iter=21).fit(X, y)
    with pytest.raises(ValueError, match="warm_start=True goes on from a fit of objective="):
        half.set_params(objective=None, max_iter=14).fit(X, y)
    half.set_params(warm_start=False, max_iter=SMALL["max_iter"]).fit(X, y)
    own = ensemble.HistGradientBoostingRegressor(**SMALL).fit(X, y)
    np.testing.assert_array_equal(half.predict(X), own.predict(X))
    assert not hasattr(half, "objective_")
    assert not {"_get_loss", "_encode_y", "_check_early_stopping_loss"} & vars(half).keys()


@pytest.mark.parametrize("warm", [False, True])
def test_scikit_learns_own_fit_that_fails_leaves_the_model_of_ours(grades, warm) -> None:
    X, y, _ = grades
    positive = (y > 1).astype(int)
    for objective, labels in (
        (go.focal_objective(2), positive), (go.weighted_logloss_objective(1), positive),
        (go.objective(poisson, link="log"), y),
    ):  # fmt: skip
        model = ours(objective).fit(X, labels)
        predict = "predict" if objective.n_classes is None else "predict_proba"
        expected, before = getattr(model, predict)(X), model.objective_
        model.set_params(objective=None, warm_start=warm)
        with pytest.raises(ValueError, match=r"y has 599 rows|warm_start=True goes on"):
            model.fit(X, labels[1:])
        assert model.objective_ == before
        np.testing.assert_array_equal(getattr(model, predict)(X), expected)


def test_objectives_of_more_classes_than_there_are_rows_of_are_refused(grades) -> None:
    X, y, _ = grades
    estimator = HistGradientBoostingClassifier(objective=go.ordinal_logit_objective(6), **SMALL)
    for model in (
        go.CalibratedClassifier(estimator, TemperatureCalibrator()),
        go.DownsampledClassifier(estimator, negative_keep_rate={2: 0.5}, correction=None),
    ):
        with pytest.raises(ValueError, match="for 6 classes, but y has rows of 4"):
            model.fit(X, y)


def test_values_by_row_follow_their_rows(grades) -> None:
    """Through routing and folds; where rows are split off inside, they are refused."""
    X, y, _ = grades
    rows = {"cost": 0.5 + np.arange(600) % 5, "group": np.arange(600) % 3 * 1.0}
    objective = go.objective(costly_error, rows=list(rows))
    expected = by_hand(partial(costly_error, **rows), 1.5, X, y, None)[:, 0]
    model = ours(go.objective(costly_error, rows=list(rows), intercept=1.5)).fit(X, y, **rows)
    np.testing.assert_allclose(model.predict(X), expected, atol=1e-6)
    assert model.objective_.rows is None
    with pytest.raises(ValueError, match="whose values it does not have"):
        clone(model).set_params(early_stopping=True).fit(X, y, **rows)
    with pytest.raises(ValueError, match="needs cost of each row"):
        ours(objective).fit(X, y)
    if HAS_VAL:
        stops = {"early_stopping": True, "eval_metric": squared_error_metric()}
        clone(model).set_params(**stops).fit(X, y, **rows, X_val=X[:99], y_val=y[:99])


@pytest.mark.filterwarnings("ignore:boosting starts at 1, far from")  # the start is not the point
@needs_routing
def test_metadata_routing_splits_values_by_row(grades) -> None:
    X, y, _ = grades
    rows = {"cost": 0.5 + np.arange(600) % 5, "group": np.arange(600) % 3 * 1.0}
    model = ours(go.objective(costly_error, rows=list(rows), intercept=1.0))
    folds = [(np.arange(300), np.arange(300, 600)), (np.arange(300, 600), np.arange(300))]
    with config_context(enable_metadata_routing=True):
        found = cross_val_predict(
            model.set_fit_request(cost=True, group=True), X, y, cv=folds, params=rows
        )
    for train, test in folds:
        of_fold = {name: values[train] for name, values in rows.items()}
        expected = clone(model).fit(X[train], y[train], **of_fold).predict(X[test])
        np.testing.assert_array_equal(found[test], expected)


def test_what_scikit_learn_has_works_with_objectives(grades) -> None:
    """Searches over objectives, monotonic constraints, categories, class_weight, missing values."""
    X, y, w = grades
    given = {"objective": [go.qwk_objective(), None], "max_iter": [3, 12]}
    search = GridSearchCV(ours(None), given, cv=3).fit(X, y)
    assert search.best_params_["max_iter"] == 12
    words = np.random.default_rng(1).permutation(20)[(X[:, 0] * 3 + 10).astype(int)]
    C = np.column_stack([words, np.where(X[:, 1] > 1, np.nan, X[:, 1])])
    for given in ({"monotonic_cst": [0, -1]}, {"categorical_features": [0]}):
        expected = by_hand(qwk_by_hand, y.mean(), C, y, None, **given)
        model = ours(go.qwk_objective(clip=False), **given).fit(C, y)
        np.testing.assert_allclose(margins(model, C), expected, atol=1e-7)
    event = (y > 2).astype(int)
    logloss = go.weighted_logloss_objective(1.0)
    weighted = ours(logloss, class_weight={0: 1, 1: 5}).fit(X, event, sample_weight=w)
    plain = ensemble.HistGradientBoostingClassifier(**SMALL, class_weight={0: 1, 1: 5})
    expected = plain.fit(X, event, sample_weight=w).predict_proba(X)
    np.testing.assert_allclose(weighted.predict_proba(X), expected, atol=1e-6)
    words = np.array(["no", "yes"])[event]
    named = ours(logloss, class_weight={0: 1, 1: 5}).fit(X, words, sample_weight=w)
    np.testing.assert_array_equal(named.predict_proba(X), weighted.predict_proba(X))
    np.testing.assert_array_equal(named.predict(X), np.array(["no", "yes"])[weighted.predict(X)])


QWK, FOCAL = go.qwk_objective(), go.focal_objective(2.0)
REFUSED = [
    ({"objective": "qwk"}, {}, TypeError, "such as qwk_objective"),
    ({"objective": go.qwk_objective}, {}, TypeError, "objective"),
    ({"objective": squared_error_metric()}, {}, TypeError, "objective"),
    ({"objective": QWK, "loss": "poisson"}, {}, ValueError, "leave one out"),
    ({"objective": go.weighted_logloss_objective(1.0)}, {}, TypeError,
     "use HistGradientBoostingClassifier, whose predict_proba gives probabilities$"),
    ({"objective": go.objective(softmax_gradient, outputs=4)}, {}, ValueError, "4 outputs"),
    ({"eval_metric": "rmse"}, {}, TypeError, "scoring="),
    ({"eval_metric": [GRADES, squared_error_metric()]}, {}, TypeError, "one metric"),
    ({"eval_metric": GRADES}, {}, ValueError, "early_stopping=True"),
    ({"eval_metric": GRADES, "early_stopping": True, "scoring": "r2"}, {}, ValueError, "scoring"),
    ({"eval_metric": LOGLOSS, "early_stopping": True}, {}, ValueError, "probability"),
    ({"objective": QWK, "eval_metric": LOGLOSS}, {}, ValueError, "log-odds"),
    ({"objective": QWK}, {"eval_set": []}, TypeError, "X_val="),
]  # fmt: skip


@pytest.mark.parametrize(("parameters", "given", "error", "said"), REFUSED)
def test_what_would_be_misread_is_refused(parameters, given, error, said, grades) -> None:
    X, y, _ = grades
    with pytest.raises(error, match=said):
        HistGradientBoostingRegressor(**parameters).fit(X, y, **given)


def test_what_a_classifier_would_misread_is_refused(grades) -> None:
    X, y, _ = grades
    words = np.array(["a", "b"])[(y > 1).astype(int)]
    with pytest.raises(TypeError, match="HistGradientBoostingRegressor"):
        HistGradientBoostingClassifier(objective=QWK).fit(X, y)
    with pytest.raises(ValueError, match="class_weight.*positions"):
        HistGradientBoostingClassifier(objective=FOCAL, class_weight={"a": 1, "b": 5}).fit(X, words)
    with pytest.raises(ValueError, match="scoring"):
        HistGradientBoostingClassifier(objective=FOCAL, scoring="accuracy").fit(X, words)
    model = ours(FOCAL).fit(X, words)
    with pytest.raises(TypeError, match="cannot be served.*to_sklearn"):
        model.export("folder")
    with pytest.raises(ValueError, match="neither in label units nor log-odds"):
        shift_intercept(model, delta=1.0)


@pytest.mark.parametrize("hook", _bridge.HOOKS)
def test_a_version_without_a_private_name_is_named_when_fitting(hook, monkeypatch, grades) -> None:
    X, y, _ = grades
    for kind in ensemble.HistGradientBoostingRegressor.__mro__:
        if hook in vars(kind):
            monkeypatch.delattr(kind, hook)
    monkeypatch.delitem(sys.modules, _bridge.__name__)
    monkeypatch.delattr("gbdt_objectives.adapters.sklearn._bridge")
    with pytest.raises(ImportError, match=f"{hook}.*scikit-learn<1.10"):
        ours(QWK).fit(X, y)


def test_the_intercept_moves_in_the_model(grades) -> None:
    """Of scikit-learn's own estimators and ours, and the copy goes its own way."""
    X, y, _ = grades
    event = (y > 2).astype(int)
    kinds = HistGradientBoostingClassifier, ensemble.HistGradientBoostingClassifier
    for kind in (*kinds, HistGradientBoostingRegressor):
        for labels, delta in ((y, 0.5), (y, [1.0, 0.0, -2.0, 0.5]), (event, 0.5)):
            if (kind in kinds) != (labels is event or np.ndim(delta) == 1):
                continue
            model = kind(**SMALL).fit(X, labels)
            before = margins(model, X)
            moved = shift_intercept(model, delta=delta)
            np.testing.assert_allclose(margins(moved, X), before + np.array(delta), rtol=1e-12)
            moved.set_params(warm_start=True, max_iter=15).fit(X, labels)
            np.testing.assert_array_equal(margins(model, X), before)
    model = ours(go.weighted_logloss_objective(0.2)).fit(X, event)
    right = shift_intercept(model, imbalance_shift(model, X, event))
    assert right.predict_proba(X)[:, 1].mean() == pytest.approx(event.mean(), rel=1e-6)
    poisson = ensemble.HistGradientBoostingRegressor(loss="poisson", **SMALL).fit(X, y)
    with pytest.raises(ValueError, match="HalfPoissonLoss"):
        shift_intercept(poisson, delta=1.0)


@pytest.mark.slow
def test_our_classifiers_train_it_as_it_trains_itself(grades) -> None:
    """scikit-learn's own and ours, with the objective, the folds and the rounds of the classifier;
    what scikit-learn cannot stop on is said."""
    X, y, w = grades
    folds = [(np.arange(300), np.arange(300, 600)), (np.arange(300, 600), np.arange(300))]
    for inner in (ensemble.HistGradientBoostingRegressor(**SMALL), ours(None)):
        model = go.QWKClassifier(inner, objective="qwk", cv=folds).fit(X, y, sample_weight=w)
        assert model.score(X, y) > 0.7
        expected = np.empty(600)
        for train, test in folds:
            objective = go.qwk_objective(label_range=(0, 3)).measured(y[train], w[train])
            fold = ours(objective).fit(X[train], y[train], sample_weight=w[train])
            expected[test] = fold.predict(X[test]).clip(0, 3)
        np.testing.assert_allclose(model.oof_score_, expected, atol=1e-12)
    long = ensemble.HistGradientBoostingRegressor(
        **{**SMALL, "max_iter": 300, "learning_rate": 0.3}
    )
    stopped = go.QWKClassifier(long, objective="qwk", cv=folds, ensemble=False,
                               early_stopping_rounds=5)  # fmt: skip
    if not HAS_VAL:
        with pytest.raises(ValueError, match="early_stopping=True to the estimator"):
            stopped.fit(X, y)
    else:
        stopped.fit(X, y)
        assert all(1 < rounds < 100 for rounds in stopped.best_iterations_)
        mean = round(np.mean(stopped.best_iterations_))
        assert stopped.estimator_.n_iter_ == mean
        own = ours(None, **long.get_params(), eval_metric=GRADES)
        stopped_on_it = clone(stopped).set_params(estimator=own).fit(X, y)
        assert stopped_on_it.best_iterations_ != stopped.best_iterations_
        with pytest.raises(ValueError, match="leave one of the two out"):
            clone(stopped).set_params(estimator__early_stopping=True).fit(X, y)
    metric = go.extended_qwk_metric()
    for splitting in (long, ours(None, **long.get_params(), eval_metric=metric)):
        splitting.set_params(early_stopping=True)
        for objective in ("qwk", None):
            model = go.QWKClassifier(splitting, objective=objective, cv=folds).fit(X, y)
            assert all(each.n_iter_ < 100 for each in model.estimators_)
            if splitting is not long:  # its scores are kappas
                assert all(0.5 < each.validation_score_[-1] < 1 for each in model.estimators_)

    class Own(ensemble.HistGradientBoostingRegressor):
        pass

    go.QWKClassifier(Own(**SMALL), objective=None, cv=folds).fit(X, y)
    with pytest.raises(TypeError, match=r"make it one of the class in gbdt_objectives.adapters"):
        go.QWKClassifier(Own(**SMALL), objective="qwk", cv=folds).fit(X, y)


@pytest.mark.slow
@pytest.mark.parametrize("correction", ["offset", "prior", "weight"])
def test_probabilities_of_downsampled_rows_are_those_of_all(correction) -> None:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(20_000, 3))
    p = expit(X[:, 0] - 3)
    y = (rng.random(20_000) < p).astype(int)
    inner = ensemble.HistGradientBoostingClassifier(**{**SMALL, "max_iter": 30})
    given = {"correction": correction, "random_state": 0}
    model = go.DownsampledClassifier(inner, 0.1, **given).fit(X, y)
    found = model.predict_proba(X)[:, 1]
    # the standard error of the mean is 0.0016
    assert found.mean() == pytest.approx(y.mean(), abs=0.005)
    assert np.corrcoef(found, p)[0, 1] > 0.9
    with pytest.raises(ValueError, match="no early_stopping_rounds: leave this out"):
        model.fit(X, y, eval_set=[(X, y)])
    calibrated = go.CalibratedClassifier(inner, cv=2).fit(X, y)
    assert calibrated.predict_proba(X)[:, 1].mean() == pytest.approx(y.mean(), abs=0.002)


LOSSES = [
    ("Regressor", {}), ("Regressor", {"loss": "absolute_error"}),
    ("Regressor", {"loss": "poisson"}), ("Regressor", {"loss": "quantile", "quantile": 0.3}),
    ("Classifier", {}),
]  # fmt: skip


@each("kind, given", LOSSES)
def test_without_objective_it_is_scikit_learns_own(kind: str, given: dict, grades) -> None:
    X, y, w = grades
    X, y = X.copy(), y + 1
    X[np.random.default_rng(0).random(X.shape) < 0.2] = np.nan
    found, expected = (
        getattr(room, f"HistGradientBoosting{kind}")(**SMALL, **given).fit(X, y, w).predict(X)
        for room in (sys.modules[ROOM], ensemble)
    )
    np.testing.assert_array_equal(found, expected)


OF_ITS_LOSSES = (
    "poisson", "absolute_error", "missing_values_resilience", "missing_values_minmax_imputation",
)  # fmt: skip
"""How well it predicts, which takes half of the time. That the model is the same is above."""


SEED = """
import pytest

@pytest.fixture
def global_random_seed():
    return 42
"""
"""As in sklearn.conftest, which also lets each process have threads for all cores: they wait for
each other where -n has the cores."""


@pytest.mark.slow
def test_without_objective_it_passes_scikit_learns_own_tests(tmp_path) -> None:
    theirs = Path(ensemble.__file__).parent / "_hist_gradient_boosting/tests"
    text = (theirs / "test_gradient_boosting.py").read_text()
    assert "from sklearn.ensemble import" in text
    text = text.replace("from sklearn.ensemble import", f"from {ROOM} import")
    for name in OF_ITS_LOSSES:
        text = text.replace(f"def test_{name}(", f"def {name}(")
    (tmp_path / "test_theirs.py").write_text(text)
    (tmp_path / "conftest.py").write_text(SEED)
    run = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", str(tmp_path)],
        cwd=tmp_path, env={**os.environ, "PYTHONPATH": str(Path(go.__file__).parents[1])},
        capture_output=True, text=True,
    )  # fmt: skip
    assert run.returncode == 0, run.stdout[-9000:]
