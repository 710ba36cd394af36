"""What the caller's frame gives away, without the libraries themselves."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import gbdt_objectives as go

BOOSTER = """
class Booster:
    def __init__(self, network):
        self._network = network

    def free_network(self):
        self._network = False

    def update(self, objective, y, margin):
        return objective(y, margin)
"""


def same(sums: np.ndarray) -> np.ndarray:
    return sums


def test_distributed_lightgbm_is_refused_unless_the_user_sums_over_workers() -> None:
    library: dict[str, object] = {"__name__": "lightgbm.basic"}
    exec(BOOSTER, library)
    y, margin = np.array([0.0, 1, 2]), np.array([0.5, 1.0, 1.5])
    booster: Any = library["Booster"]
    here = booster(False)
    expected = go.qwk_objective(y)(y, margin)
    for objective in (go.qwk_objective(y), go.objective(lambda y, p, w: (p - y, np.ones_like(p)))):
        here.update(objective, y, margin)
        many = booster(True)
        with pytest.raises(ValueError, match="distributed LightGBM.*within lightgbm"):
            many.update(objective, y, margin)
        assert not many._network, "or the next training could lose its network"
    reduced = booster(True).update(go.qwk_objective(y, reduce=same), y, margin)
    np.testing.assert_array_equal(reduced, expected)
