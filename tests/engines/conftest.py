"""Engines that are large to install, each in a lane of its own: .ci/engines."""

from __future__ import annotations

import faulthandler
from collections.abc import Iterator

import numpy as np
import pandas as pd
import pytest

DEADLINE = 1500
"""Seconds after which a module that hangs is ended, with the stacks of all its threads."""

FEATURES = ["a", "b", "c", "d"]


@pytest.fixture(scope="module", autouse=True)
def _deadline() -> Iterator[None]:
    faulthandler.dump_traceback_later(DEADLINE, exit=True)
    yield
    faulthandler.cancel_dump_traceback_later()


@pytest.fixture(scope="session")
def rows() -> pd.DataFrame:
    """Sorted by label; features of few values, whose bins do not depend on the partitions."""
    rng = np.random.default_rng(0)
    X = rng.integers(0, 12, (1500, len(FEATURES))).astype(float)
    label = np.digitize(X[:, :2].sum(1) + rng.normal(0, 2, 1500), [7, 11, 15]).astype(float)
    frame = pd.DataFrame(X, columns=FEATURES)
    frame["label"], frame["held_out"] = label, rng.random(1500) < 0.3
    frame["weight"] = rng.integers(1, 4, 1500).astype(float)
    return frame.sort_values("label", kind="stable", ignore_index=True)
