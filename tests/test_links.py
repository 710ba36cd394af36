"""Links: values that know what a margin means."""

from __future__ import annotations

import copy
import pickle

import numpy as np
import pytest
from scipy.special import expit

import gbdt_objectives as go
from gbdt_objectives._links import BY_NAME, Link, read_link
from gbdt_objectives.adapters.lightgbm import LGBMClassifier
from gbdt_objectives.adapters.xgboost import XGBClassifier
from tests.cases import each
from tests.contract import softmax_gradient, squared_error


def inverse(margin):
    return -np.expm1(-np.exp(margin))


LINKS = [*BY_NAME.values(), Link.softmax(4), Link("cloglog", "a link of one's own", inverse)]


@each("link", LINKS, ids=repr)
def test_a_link_is_a_value(link: Link) -> None:
    for same in (pickle.loads(pickle.dumps(link)), copy.copy(link), copy.deepcopy(link)):
        assert same == link
        assert hash(same) == hash(link)
    assert link == link.name  # as objective.link == "logit" is written
    assert [link == other for other in LINKS].count(True) == 1


@each("name", ["identity", "log", "logit"])
def test_forward_is_the_way_back(name: str) -> None:
    link = read_link("link", name)
    margin = np.linspace(-5, 5, 21)
    prediction = link.inverse(margin)
    assert (prediction > link.lowest).all()
    assert (prediction < link.highest).all()
    # logit of a probability near 1 loses what 1 - p lost: 1e-16 / .0067
    np.testing.assert_allclose(link.forward(prediction), margin, atol=1e-12)


def test_objectives_of_any_link_are_values() -> None:
    def of(link):
        return go.objective(squared_error, link=link)

    for link in ("log", "logit", LINKS[-1]):
        assert pickle.loads(pickle.dumps(of(link))) == of(link)
    assert of("log") != of("logit")


def test_unknown_names_are_refused() -> None:
    for word in ("probit", "score"):
        with pytest.raises(
            ValueError,
            match=r"one of 'identity', 'log', 'logit', 'softmax', 'undeclared', or a Link, such as "
            rf"Link.score\(reader, n_classes\), found '{word}'",
        ):
            go.objective(squared_error, link=word)


def read_halves(margin):
    p = expit(2 * margin)
    return np.column_stack([1 - p, p])


def halves(y_true, margin, sample_weight):
    p, w = expit(2 * margin), 1.0 if sample_weight is None else sample_weight
    return 2 * w * (p - y_true), 4 * w * p * (1 - p)


@pytest.mark.parametrize("kind", [XGBClassifier, LGBMClassifier])
def test_own_objectives_take_every_link_by_its_public_name(kind) -> None:
    X = np.random.default_rng(0).random((300, 2))
    y = np.digitize(X[:, 0], [0.4, 0.7])
    two = go.objective(halves, link=Link.score(read_halves, 2))
    model = kind(objective=two, n_estimators=5).fit(X, y > 0)
    name = "output_margin" if kind is XGBClassifier else "raw_score"
    margin = np.asarray(model.predict(X, **{name: True}), float)
    np.testing.assert_allclose(model.predict_proba(X), read_halves(margin), rtol=1e-5)
    three = go.objective(softmax_gradient, link=Link.softmax(3), outputs=3)
    p = kind(objective=three, n_estimators=5).fit(X, y).predict_proba(X)
    np.testing.assert_allclose(p.sum(axis=1), 1, rtol=1e-5)
    assert (p.argmax(axis=1) == y).mean() > 0.9
    unknown = go.objective(halves, link="undeclared")
    assert unknown.link == go.objectives.UNDECLARED
    with pytest.raises(TypeError, match="declare its link"):
        kind(objective=unknown).fit(X, y > 0)
