"""Links: values that know what a margin means."""

from __future__ import annotations

import copy
import pickle

import numpy as np
import pytest

import gbdt_objectives as go
from gbdt_objectives._links import BY_NAME, Link, read_link, softmax
from tests.cases import each


def inverse(margin):
    return -np.expm1(-np.exp(margin))


LINKS = [*BY_NAME.values(), softmax(4), Link("cloglog", "a link of one's own", inverse)]


@each("link", LINKS, ids=repr)
def test_a_link_is_a_value(link: Link) -> None:
    for same in (pickle.loads(pickle.dumps(link)), copy.copy(link), copy.deepcopy(link)):
        assert same == link
        assert hash(same) == hash(link)
    assert link == link.name  # as objective.link == "logit" is written
    assert [link == other for other in LINKS].count(True) == 1


@pytest.mark.parametrize("name", ["identity", "log", "logit"])
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


def squared_error(y_true, margin, sample_weight):
    return margin - y_true, 1.0


def test_unknown_names_and_shapes_are_refused() -> None:
    with pytest.raises(ValueError, match="link must be one of 'identity', 'log'.*found 'probit'"):
        go.objective(squared_error, link="probit")
    with pytest.raises(ValueError, match="is for K margins a row, found one: pass outputs=K"):
        go.objective(squared_error, link="softmax")
    with pytest.raises(ValueError, match="is for one margin a row, found outputs=3"):
        go.objective(squared_error, link="log", outputs=3)
