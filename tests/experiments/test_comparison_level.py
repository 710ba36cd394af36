"""The study of tests of a difference: its errors and p-values."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import ttest_1samp

from experiments.comparison_level import __main__ as experiment
from gbdt_objectives.evaluation.performance import nested_error

pytestmark = pytest.mark.slow


def test_errors_are_those_of_the_package() -> None:
    rng = np.random.default_rng(0)
    R, K, n = 3, 5, 200
    outer, inner = rng.integers(-1, 2, (R, n)) * 1.0, rng.integers(-1, 2, (R, K, n)) * 1.0
    fold = np.array([rng.permutation(np.arange(n) % K) for _ in range(R)])
    inner[np.arange(R)[:, None], fold, np.arange(n)] = np.nan
    found = experiment.statistics(outer, inner, fold)
    error, naive, _ = nested_error(outer, inner, fold, np.ones(n), np.arange(n))
    assert found["nested"][0] == pytest.approx(error)
    assert found["naive"][0] == pytest.approx(naive)
    of_folds = np.array([outer[0, fold[0] == k].mean() for k in range(K)])
    one, freedom = experiment.statistics(outer[:1].repeat(2, 0), inner[:2], fold[[0, 0]])[
        "corrected t"
    ]
    assert freedom == 2 * K - 1
    square = (1 / 10 + 1 / 4) * np.tile(of_folds, 2).var(ddof=1)  # Nadeau and Bengio (2003)
    assert one == pytest.approx(np.sqrt(square))


def test_p_values() -> None:
    values = np.random.default_rng(0).normal(0.3, 1, 8)
    error = values.std(ddof=1) / np.sqrt(8)
    expected = ttest_1samp(values, 0).pvalue
    assert experiment.p_value(values.mean(), error, 7) == pytest.approx(expected)
    assert experiment.p_value(1.959964, 1, np.inf) == pytest.approx(0.05)
    assert experiment.p_value(0.0, 0.0, np.inf) == 1
