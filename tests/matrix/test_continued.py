"""Training that continues an earlier model starts at its margins, or is refused.

The earlier model is anybody's, of any transform. One round of a tiny step follows, so that the
margins of the two models must be the same.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache, partial
from typing import Any

import lightgbm as lgb
import numpy as np
import pytest
import xgboost as xgb

from gbdt_objectives.adapters import lightgbm as our_lightgbm, xgboost as our_xgboost
from tests.matrix.tables import (
    BY_NAME,
    LGB,
    ROWS,
    SKLEARN,
    WEIGHT,
    XGB,
    Array,
    Row,
    X,
    dataset,
    estimator_of,
    matrix,
    poisson,
    right_or_refused,
    several,
)  # fmt: skip

EARLIER = {
    "identity": ("reg:squarederror", "regression"),
    "logit": ("binary:logistic", "binary"),
    "log": ("count:poisson", "poisson"),
    "softmax": ("multi:softprob", "multiclass"),
    "custom": (None, None),
}
"""The transform of the earlier model: the names of the libraries' own objectives."""

SAME = 2e-5
"""Of margins: XGBoost keeps them in float32, and LightGBM's start in the leaves of a tree."""

TINY = 1e-9


@dataclass(frozen=True, eq=False)
class Way:
    """How to continue: the margins of the new model, given an earlier booster."""

    library: str
    name: str
    go_on: Callable[[Row, Any], Array]
    ours: bool

    def __repr__(self) -> str:
        return f"{self.library}-{self.name}"


@cache
def earlier(library: str, transform: str) -> Any:
    """A model of a few rounds."""
    row = BY_NAME["logit" if transform == "custom" else transform]
    name = EARLIER[transform][library == "lightgbm"]
    K = several(row)
    if library == "xgboost":
        step = {**XGB, "eta": 0.3, **K}
        if name is None:
            return xgb.train(step, matrix(row), 4, obj=of_library(poisson))
        return xgb.train({**step, "objective": name}, matrix(row), 4)
    step = {**LGB, "learning_rate": 0.3, **K, "objective": name or of_library(poisson)}
    return lgb.train(step, dataset(row), 4)


def of_library(function: Any) -> Any:
    """As the libraries call their users' functions."""
    return lambda f, data: function(data.get_label(), f, data.get_weight())


def margins(booster: Any) -> Array:
    if isinstance(booster, xgb.Booster):
        return booster.predict(xgb.DMatrix(X), output_margin=True)
    return booster.predict(X, raw_score=True)


def natural(booster: Any) -> Array:
    return booster.predict(xgb.DMatrix(X) if isinstance(booster, xgb.Booster) else X)


def starting_at(library: str, model: Any) -> dict[str, Any]:
    return {"xgb_model" if library == "xgboost" else "init_model": model}


def train(library: str, row: Row, model: Any) -> Any:
    given = {"objective": row.objective, **starting_at(library, model)}
    if library == "xgboost":
        return our_xgboost.train({**XGB, "eta": TINY}, matrix(row), 1, **given)
    return our_lightgbm.train({**LGB, "learning_rate": TINY}, dataset(row), 1, **given)


def native(library: str, row: Row, model: Any) -> Any:
    if library == "xgboost":
        params = {**XGB, "eta": TINY, **several(row)}
        return xgb.train(params, matrix(row), 1, obj=row.objective, xgb_model=model)
    params = {**LGB, "learning_rate": TINY, "objective": row.objective, **several(row)}
    return lgb.train(params, dataset(row), 1, init_model=model)


def estimator(library: str, row: Row, model: Any) -> Any:
    steps = SKLEARN[library] | {"learning_rate": TINY, "n_estimators": 1}
    found = estimator_of(library, row)(objective=row.objective, **steps)
    y = row.y if row.n_classes is None else row.y.astype(int)
    found.fit(X, y, sample_weight=WEIGHT, **starting_at(library, model))
    return found.get_booster() if library == "xgboost" else found.booster_


WAYS = [
    Way(library, go_on.__name__, partial(go_on, library), go_on is not native)
    for library in ("xgboost", "lightgbm")
    for go_on in (train, native, estimator)
]


def is_the_librarys(row: Row, way: Way, transform: str) -> bool:
    """Whether XGBoost itself adds trees of several outputs to a model of one, whatever trains."""
    single = way.name == "native" and way.library == "xgboost" and transform != "softmax"
    return single and row.objective.outputs > 1


# each link is trained on in each other one
@pytest.mark.filterwarnings("ignore:.*has margins that are")
@pytest.mark.parametrize("transform", EARLIER)
@pytest.mark.parametrize("row", ROWS, ids=repr)
def test_a_continued_training_starts_where_the_earlier_model_ended(row, transform) -> None:
    wrong = {}
    for way in WAYS:
        if not is_the_librarys(row, way, transform):
            try:
                check(row, transform, way)
            except AssertionError as error:
                wrong[repr(way)] = error
    assert not wrong


def check(row: Row, transform: str, way: Way) -> None:
    model = earlier(way.library, transform)
    before = margins(model)
    found = right_or_refused(lambda: way.go_on(row, model))
    if found is None:
        assert row.name != transform or not way.ours, "refused, though of the same link"
        return
    np.testing.assert_allclose(margins(found), before, rtol=SAME, atol=SAME)
    if way.ours and row.objective.link.is_declared and not row.objective.link.is_of_objective:
        expected = row.inverse(before)
        if expected.ndim == 2 and np.ndim(natural(found)) == 1:
            expected = expected[:, 1]
        np.testing.assert_allclose(natural(found), expected, rtol=10 * SAME)
    np.testing.assert_array_equal(margins(model), before)
