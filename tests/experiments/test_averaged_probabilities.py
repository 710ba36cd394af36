"""The study of averaged probabilities: its rules, and committed results."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from experiments.averaged_probabilities import __main__ as experiment
from gbdt_objectives import decide

pytestmark = pytest.mark.slow


def drawn(n: int) -> tuple[np.ndarray, np.ndarray]:
    """Probabilities of three classes, and classes of them."""
    rng = np.random.default_rng(0)
    below = 1 / (1 + np.exp(1.5 * rng.normal(size=n)[:, None] - [-1, 1]))
    P = np.diff(np.c_[np.zeros(n), below, np.ones(n)], axis=1)
    return P, (rng.random(n)[:, None] > below).sum(axis=1)


def test_right_probabilities_have_slope_1_and_expect_what_is_realised() -> None:
    P, y = drawn(50_000)
    assert experiment.slope(y, P) == pytest.approx(1, abs=0.03)
    expected, realised = experiment.kappas(y, P)
    assert expected == pytest.approx(realised, abs=0.015)


def test_expected_kappa_counts_each_row_once_for_each_true_class() -> None:
    P, _ = drawn(40)
    c = decide(P, labels=range(3))
    O = np.array([[P[c == j, i].sum() for j in range(3)] for i in range(3)])
    W = (np.arange(3) - np.arange(3)[:, None]) ** 2
    kappa = 1 - (W * O).sum() / (W * np.outer(O.sum(axis=1), O.sum(axis=0)) / O.sum()).sum()
    assert experiment.kappas(c, P)[0] == pytest.approx(kappa)


def test_our_rule_is_the_best_of_the_results() -> None:
    rules = pd.read_csv(experiment.RESULTS / "rules.csv").set_index("rule")
    was, ours = rules.loc[experiment.WAS], rules.loc[experiment.OURS]
    assert ours.change < 0
    assert ours.worse == 0
    assert ours.distance < was.distance
