"""A stranger's booster trains our objectives, once its row is in the registry."""

from __future__ import annotations

import warnings
from collections.abc import Iterator

import numpy as np
import pytest
from sklearn.base import clone

import gbdt_objectives as go
from gbdt_objectives import _registry
from gbdt_objectives._checks.asked import Training, guard
from tests.strangers import stumps
from tests.strangers.many_grades import NEEDS, grades_are_few
from tests.strangers.poisson import poisson_objective
from tests.strangers.stumps_adapter import LIBRARY, STUMPS, StumpsClassifier, StumpsRegressor

RNG = np.random.default_rng(0)
X = RNG.random((600, 3))
GRADES = np.digitize(X[:, 0] + RNG.normal(0, 0.1, 600), [0.25, 0.5, 0.75])
COUNTS = RNG.poisson(np.exp(1 + X[:, 0]))
EVENTS = np.where(RNG.random(600) < X[:, 0], "yes", "no")
W = RNG.integers(1, 4, 600)


@pytest.fixture(autouse=True)
def registered() -> Iterator[None]:
    assert _registry.kind_of(stumps.StumpsRegressor()) is None  # what was said is not remembered
    _registry.register(STUMPS)
    yield
    del _registry.EVERY[STUMPS.name]
    for name in STUMPS.estimators:
        del _registry.KINDS[name]
    _registry.row_of.cache_clear()
    _registry.name_of_kind.cache_clear()


def test_the_registry_finds_it() -> None:
    for model in (StumpsRegressor(), stumps.StumpsClassifier()):
        assert _registry.library_of_model(StumpsRegressor()) is LIBRARY
        assert _registry.kind_of(model) == type(model).__name__
    assert _registry.library_in_role(stumps.StumpsRegressor(), "Regressor") is LIBRARY


@pytest.mark.parametrize(
    ("objective", "y"),
    [(go.qwk_objective(), GRADES), (poisson_objective(), COUNTS)],
    ids=["identity", "log"],
)
def test_it_predicts_in_natural_units(objective: go.Objective, y: np.ndarray) -> None:
    model = StumpsRegressor(objective=objective).fit(X, y, sample_weight=W)
    margin = model.predict(X, raw_score=True)
    np.testing.assert_allclose(model.predict(X), objective.link.inverse(margin), rtol=1e-12)
    constant = clone(model).set_params(n_estimators=0).fit(X, y, sample_weight=W)
    assert constant.predict(X).mean() == pytest.approx(np.average(y, weights=W), rel=1e-9)
    losses = [
        objective.measured(y, W).mean_loss(y, m.predict(X, raw_score=True))
        for m in (constant, model)
    ]
    assert losses[1] < losses[0]
    assert (model.objective, model.start) == (objective, 0.0)  # as the user gave them


@pytest.mark.parametrize("objective", [go.weighted_logloss_objective(1.0), go.focal_objective(2.0)])
def test_its_classifier_reads_margins_by_the_objective(objective: go.Objective) -> None:
    model = StumpsClassifier(objective=objective).fit(X, EVENTS)
    assert model.classes_.tolist() == ["no", "yes"]
    p = model.predict_proba(X)
    np.testing.assert_allclose(p, objective.class_probability(model.predict(X, raw_score=True)))
    assert p[:, 1].mean() == pytest.approx((EVENTS == "yes").mean(), abs=0.03)
    np.testing.assert_array_equal(model.predict(X), model.classes_[p.argmax(axis=1)])


@pytest.mark.parametrize(
    "objective",
    [go.qwk_objective([0, 1, 2]), poisson_objective(), go.weighted_logloss_objective(0.5)],
    ids=["identity", "log", "logit"],
)
def test_check_objective_trains_with_it(objective: go.Objective, monkeypatch) -> None:
    trained = []
    monkeypatch.setattr(stumps.Stumps, "boost", counted(stumps.Stumps.boost, trained))
    go.check_objective(objective)
    assert trained


def counted(function, calls):
    def count(*args, **kwargs):
        calls.append(1)
        return function(*args, **kwargs)

    return count


def test_our_classifiers_wrap_it() -> None:
    member = stumps.StumpsRegressor(n_estimators=20)
    for objective in (None, "qwk"):
        model = go.QWKClassifier(member, cv=2, objective=objective).fit(X, GRADES)
        assert model.score(X, GRADES) > 0.7


def test_its_margins_can_be_shifted() -> None:
    model = StumpsRegressor(objective=go.qwk_objective()).fit(X, GRADES)
    moved = go.shift_intercept(model, delta=0.25)
    np.testing.assert_allclose(moved.predict(X), model.predict(X) + 0.25)


def test_guards_are_asked(monkeypatch) -> None:
    for y, words in ((np.where(GRADES == 3, np.nan, GRADES), "finite"), (-1 - COUNTS, "y_true")):
        with pytest.raises(ValueError, match=words):
            StumpsRegressor(objective=poisson_objective()).fit(X, y)
    three = go.focal_objective(2.0, n_classes=4)
    with pytest.raises(ValueError, match="Stumps trains one margin"):
        StumpsClassifier(objective=three).fit(X, GRADES)
    monkeypatch.setattr(Training, "guards", [*Training.guards])
    monkeypatch.setattr(Training, "_of", {})
    guard(Training, *NEEDS)(grades_are_few)
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        StumpsRegressor(objective=go.qwk_objective()).fit(X, np.arange(600) // 4)
    assert [str(one.message)[:25] for one in told] == ["the labels have 150 value"]
