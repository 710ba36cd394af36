"""No window, and no figure left open, of these tests or of what ran before in the process."""

from __future__ import annotations

import matplotlib as mpl

mpl.use("Agg")
import matplotlib.pyplot as plt
import pytest


@pytest.fixture(autouse=True)
def _closed():
    plt.close("all")
    yield
    plt.close("all")
