"""Segments that moved: the rule, and the committed results beside the README."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from scipy.special import expit

from experiments._common import read_json
from experiments.segment_calibrator import __main__ as experiment

pytestmark = pytest.mark.slow
CONFIG = read_json(experiment.CONFIG)
FILES = [*CONFIG["files"]]


def test_measures() -> None:
    t = np.array([-1.0, 0.5, 2.0])
    assert experiment.excess(t, expit(t)) == pytest.approx(0, abs=1e-12)
    q, p = expit(t), np.full(3, 0.5)
    by_hand = np.mean(q * np.log(q / p) + (1 - q) * np.log((1 - q) / (1 - p)))
    assert experiment.excess(t, p) == pytest.approx(1e3 * by_hand)
    assert experiment.log_loss(np.array([0, 1]), np.array([0.5, 0.25])) == pytest.approx(
        1e3 * np.log(8) / 2
    )


def draws(worse: float, data: str, moved: str) -> pd.DataFrame:
    """Trees lose by one everywhere, but in one place they are better."""
    lines = []
    for name in (experiment.SIMULATED, *FILES):
        for case in experiment.CASES[: 2 if name in FILES else None]:
            for draw in range(6):
                less = -worse if (name, case) == (data, moved) else 1.0
                noise = 0.1 * (draw % 3)
                lines.append((name, case, draw, experiment.OURS, 1.0 + noise, 1.0))
                lines.append((name, case, draw, experiment.REPAIR, 1.0 + less + 1.01 * noise, 1.0))
    columns = ["data", "moved", "draw", "method", "loss", "seconds"]
    return pd.DataFrame(lines, columns=columns)


def test_the_rule() -> None:
    def holds(*case) -> bool | None:
        return experiment.judge(experiment.summarize(draws(*case), FILES), FILES)[1]

    assert holds(0.0, "", "")
    assert not holds(0.1, experiment.SIMULATED, "some segments")  # beyond two errors
    assert not holds(0.1, FILES[0], "some segments")
    assert not holds(0.1, FILES[0], "nothing")
    assert holds(0.1, experiment.SIMULATED, "nothing")
    assert not holds(0.3, experiment.SIMULATED, "nothing")
    assert holds(0.3, experiment.SIMULATED, "level")
    assert not holds(9.0, experiment.SIMULATED, "level")  # the mean over the moves
    gone = experiment.summarize(draws(0.0, "", "").query("method == @experiment.OURS"), FILES)
    assert experiment.judge(gone, FILES)[1] is None


def test_readme_says_what_the_results_say() -> None:
    readme = (experiment.HERE / "README.md").read_text(encoding="utf-8")
    found = pd.read_csv(experiment.RESULTS / "summary.csv")
    lines = pd.read_csv(experiment.RESULTS / "draws.csv")
    pd.testing.assert_frame_equal(
        experiment.summarize(lines, FILES).round(3), found.round(3), check_dtype=False, atol=2e-3
    )
    assert lines.draw.nunique() == CONFIG["draws"]
    claim, holds = experiment.judge(found, FILES)
    assert claim in " ".join(readme.split())
    assert ("**It holds.**" if holds else "**It fails.**") in readme
