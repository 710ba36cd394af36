"""What the caller's frame gives away, without the libraries themselves."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import gbdt_objectives as go
from tests.cases import each

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


Y, MARGIN = np.array([0.0, 1, 2]), np.array([0.5, 1.0, 1.5])
ENTRIES: dict[str, Callable[[go.Objective], Callable[..., Any]]] = {
    "itself": lambda o: o,
    "gradient_hessian": lambda o: o.gradient_hessian,
    "bind": lambda o: lambda y, f: o.bind(y)(f),
    "measured": lambda o: lambda y, f: o.measured(y),
    "mean_loss": lambda o: o.mean_loss,
}


def function(y: Any, p: Any, w: Any) -> Any:
    return p - y, np.ones_like(p)


@each("entry", ENTRIES)
def test_distributed_lightgbm_is_refused_unless_the_user_sums_over_workers(entry: str) -> None:
    library: dict[str, Any] = {"__name__": "lightgbm.basic"}
    exec(BOOSTER, library)
    booster, ask = library["Booster"], ENTRIES[entry]
    objectives = [go.qwk_objective(Y), go.qwk_objective()]
    objectives += [go.objective(function)] if entry == "itself" else []
    for objective in objectives:
        booster(False).update(ask(objective), Y, MARGIN)
        many = booster(True)
        with pytest.raises(ValueError, match="distributed LightGBM.*within lightgbm"):
            many.update(ask(objective), Y, MARGIN)
        assert not many._network, "or the next training could lose its network"
    reduced = booster(True).update(ask(go.qwk_objective(Y, reduce=same)), Y, MARGIN)
    if entry == "itself":
        np.testing.assert_array_equal(reduced, go.qwk_objective(Y)(Y, MARGIN))
