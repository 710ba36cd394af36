"""Validation of arguments."""

import numpy as np
import pandas as pd
import pytest
from scipy.sparse import csr_matrix

from gbdt_objectives import _checks


class Broken:
    def __repr__(self):
        raise RuntimeError("no repr")


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (0.5, "0.5"),
        ("exact", "'exact'"),
        ([0, 1, 2], "[0, 1, 2]"),
        (np.array([0, 1]), "array([0, 1])"),
        (np.array([[0, 1], [2, 3]]), "array([[0, 1], [2, 3]])"),
        (list(range(100_000)), "[0, 1, 2, 3, 4, 5, ...] (100000 in all)"),
        (dict.fromkeys(range(100), 1), "{0: 1, 1: 1, 2: 1, 3: 1, 4: 1, 5: 1, ...} (100 in all)"),
        (np.arange(100_000), "ndarray of shape (100000,), [0, 1, 2, 3, 4, 5, ...]"),
        (np.zeros((50, 2)), "ndarray of shape (50, 2), [0.0, 0.0, 0.0, 0.0, 0.0, 0.0, ...]"),
        (pd.Series(range(100)), "Series of shape (100,)"),
        (pd.DataFrame({"a": range(100)}), "DataFrame of shape (100, 1)"),
        (csr_matrix(np.eye(3)), "csr_matrix of shape (3, 3)"),
        (Broken(), "a Broken"),
        (10**5000, "a int"),
    ],
    ids=lambda value: type(value).__name__,
)
def test_shown_is_a_short_repr(value, text):
    assert _checks.shown(value) == text


@pytest.mark.parametrize(
    "value",
    [
        "x" * 10_000,
        ["x" * 10_000] * 5,
        [list(range(1000))] * 1000,
        np.array(["x" * 10_000] * 10),
        np.array(["x" * 10_000] * 3),
        {"a": "x" * 1000},
        10**4000,
        b"x" * 1000,
    ],
)
def test_shown_is_never_long(value):
    assert len(_checks.shown(value)) <= 120
