"""Steps are evaluated in blocks of rows, which nobody sees."""

from __future__ import annotations

import tracemalloc

import numpy as np
import pytest
from scipy.special import expit

from gbdt_objectives._steps.steps import BLOCK_BYTES, evaluate

STRETCH = {"formula": "stretch", "stretch": 2.0, "center": 1.0}
ORDINAL = {"formula": "ordinal", "thresholds": [-1.0, 1.0], "apart": [1 - np.exp(-2), 1.0]}


def test_steps_follow_each_other() -> None:
    s = np.linspace(-3, 3, BLOCK_BYTES // 8 + 5)
    found = evaluate(s, STRETCH, ORDINAL)
    assert found.shape == (len(s), 3)
    f = 1 + 2 * (s - 1)
    np.testing.assert_allclose(found[:, 0], expit(-1 - f), rtol=1e-12)
    np.testing.assert_allclose(found.sum(axis=1), 1, rtol=1e-12)
    assert evaluate(s[:0], STRETCH, ORDINAL).shape == (0, 3)
    assert evaluate(s).tolist() == s.tolist()


@pytest.mark.one_route("counts the memory of the functions that --last-bits replaces")
def test_the_memory_is_that_of_the_result() -> None:
    s = np.linspace(-3, 3, 400_000)
    evaluate(s[:10], STRETCH, ORDINAL)
    tracemalloc.start()
    try:
        found = evaluate(s, STRETCH, ORDINAL)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak <= found.nbytes + 8 * len(s)
