"""Segments that moved: the rule, and the committed results beside the README."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from scipy.special import expit

from experiments._common import read_json
from experiments.segment_repair import __main__ as experiment

pytestmark = pytest.mark.slow


def test_measures() -> None:
    t = np.array([-1.0, 0.5, 2.0])
    assert experiment.excess(t, expit(t)) == pytest.approx(0, abs=1e-12)
    q, p = expit(t), np.full(3, 0.5)
    by_hand = np.mean(q * np.log(q / p) + (1 - q) * np.log((1 - q) / (1 - p)))
    assert experiment.excess(t, p) == pytest.approx(1e3 * by_hand)
    X = pd.DataFrame({"country": pd.Categorical(["a", "a", "b"])})
    expected = [abs(np.log(1 / q[:2].sum())), abs(np.log(0.5 / q[2]))]
    np.testing.assert_allclose(experiment.segment_errors(X, t, p), expected)


def test_the_rule_counts_errors() -> None:
    columns = ["booster", "moved", "draw", "method", "excess", "segment error", "others", "trees"]
    lines = []
    for case in experiment.CASES:
        for method in (experiment.AS_IS, experiment.LOGIT, experiment.LOGITS, experiment.OURS):
            worse = 0.0 if method == experiment.OURS else 1.0
            for draw in range(6):
                value = worse + 0.1 * (draw % 3) * worse
                lines.append(("XGBoost", case, draw, method, value, value, 0.0, 1))
    draws = pd.DataFrame(lines, columns=columns).assign(changed=False)
    assert experiment.judge(experiment.summarize(draws))[1]
    often = draws.assign(changed=(draws.method == experiment.OURS))
    assert not experiment.judge(experiment.summarize(often))[1]  # 6 of 6 changed
    tied = draws.copy()
    some = (draws.moved == "many segments") & (draws.method == experiment.LOGIT)
    tied.loc[some, "segment error"] = [-1.0, 1.0, -1.0, 1.0, -1.0, 1.1]
    assert not experiment.judge(experiment.summarize(tied))[1]


def test_readme_says_what_the_results_say() -> None:
    readme = (experiment.HERE / "README.md").read_text(encoding="utf-8")
    found = pd.read_csv(experiment.RESULTS / "summary.csv")
    draws = pd.read_csv(experiment.RESULTS / "draws.csv")
    pd.testing.assert_frame_equal(
        experiment.summarize(draws).round(3), found.round(3), check_dtype=False, atol=2e-3
    )
    assert draws.draw.nunique() == read_json(experiment.CONFIG)["draws"]
    claim, holds = experiment.judge(found)
    assert claim in " ".join(readme.split())
    assert ("**It holds.**" if holds else "**It fails.**") in readme
