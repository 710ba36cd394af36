"""One test draw's error: its figures, and the committed results beside both READMEs."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from experiments.qwk_draws import __main__ as experiment

pytestmark = pytest.mark.slow

README = (experiment.HERE / "README.md").read_text(encoding="utf-8")


def test_summary_of_known_cells() -> None:
    ceiling = np.array([0.63, 0.64, 0.65])
    cells = pd.concat(
        pd.DataFrame(
            {"seed_test": range(3), "booster": method.booster, "objective": method.objective,
             "rounded": ceiling - 0.01, "thresholds": 0.66 - (ceiling - 0.63), "ceiling": ceiling}
        )
        for method in experiment.OURS
    )  # fmt: skip
    first, second = experiment.summary_frame(cells).iloc[:2].itertuples()
    assert (first.decision, second.decision) == ("rounded", "thresholds")
    np.testing.assert_allclose([first.deviation, second.deviation], 0.01)
    np.testing.assert_allclose([first.in_deviations, second.in_deviations], [-4.94, -1.65])
    np.testing.assert_allclose(
        [first.correlation_with_ceiling, second.correlation_with_ceiling], [1, -1]
    )
    assert (first.draws_above_published, second.draws_above_published) == (3, 3)


def test_readmes_say_what_the_results_say() -> None:
    results = experiment.HERE / "results"
    summary = pd.read_csv(results / "summary.csv")
    assert (summary.in_deviations.abs() <= experiment.MOST_DEVIATIONS).all()
    low = summary[summary.published > 0.6]
    assert len(low) == 6
    other = (experiment.HERE.parent / "qwk_synthetic" / "README.md").read_text(encoding="utf-8")
    assert "Six cells are" in other
    gaps = f"{low.deviation_of_gap.min():.4f} to {low.deviation_of_gap.max():.4f}"
    assert gaps in " ".join(README.split())
