"""Training on shifted labels is training from the centre."""

from __future__ import annotations

import lightgbm as lgb
import numpy as np
import pytest

import gbdt_objectives as go
from gbdt_objectives.adapters.lightgbm import train


def test_shifted_labels_give_the_model_with_the_intercept_inside(ordinal) -> None:
    X, y, _ = ordinal
    shift = go.LabelShift(float(y.mean()))
    params = {"num_leaves": 7, "verbose": -1, "seed": 0}
    obj = go.qwk_objective(shift.shift(y))
    published_way = lgb.train({**params, "objective": obj}, lgb.Dataset(X, shift.shift(y)), 30)
    ours = train(params, lgb.Dataset(X, y), 30, objective=go.qwk_objective(y))
    # labels are float32 in LightGBM, and shifted ones are rounded
    np.testing.assert_allclose(shift.unshift(published_way.predict(X)), ours.predict(X), atol=1e-5)


def test_is_a_frozen_value() -> None:
    assert go.LabelShift(1.5) == go.LabelShift(1.5)
    assert repr(go.LabelShift(1.5)) == "LabelShift(offset=1.5)"
    np.testing.assert_array_equal(go.LabelShift(2).unshift(go.LabelShift(2).shift([1, 6])), [1, 6])


@pytest.mark.parametrize("bad", [float("nan"), float("inf"), "1", None])
def test_bad_offset(bad) -> None:
    with pytest.raises((ValueError, TypeError), match="offset must be"):
        go.LabelShift(bad)


def test_bad_labels() -> None:
    with pytest.raises(ValueError, match="y must be finite, found nan at row 1"):
        go.LabelShift(1.0).shift([0, float("nan")])
    with pytest.raises(ValueError, match="prediction must be one-dimensional"):
        go.LabelShift(1.0).unshift([[0.0]])
