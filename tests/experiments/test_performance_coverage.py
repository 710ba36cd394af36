"""Coverage of performance estimates: its figures, and the committed results."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from experiments.performance_coverage import __main__ as experiment

pytestmark = pytest.mark.slow


def test_summary_counts_what_is_covered() -> None:
    shared = {"setting": 0, "models": "tree", "features": 5, "rows": 9, "metric": "qwk"}
    lines = [
        shared | {"n_repeats": 2, "truth": truth, "estimate": 0.5, "error": 0.1, "low": 0.4,
                  "high": 0.6, "corrected": 0.45, "naive_error": 0.05, "naive_low": 0.4,
                  "naive_high": 0.5}
        for truth in (0.3, 0.45, 0.55, 0.65)
    ]  # fmt: skip
    (row,) = experiment.summarize(pd.DataFrame(lines), 0.03, 0.5).itertuples()
    assert (row.coverage, row.naive_coverage, row.covers_expected) == (0.5, 0.25, 1)
    assert (row.below, row.above, row.holds) == (0.25, 0.25, True)
    assert row.bias == pytest.approx(0.0125)
    assert row.rmse == pytest.approx(np.sqrt((0.2**2 + 2 * 0.05**2 + 0.15**2) / 4))


def test_readme_says_what_the_results_say() -> None:
    summary = pd.read_csv(experiment.RESULTS / "summary.csv")
    readme = (experiment.HERE / "README.md").read_text(encoding="utf-8")
    words = " ".join(readme.split())
    assert f"**{summary.holds.sum()} of {len(summary)} hold" in words
    percent = (100 * summary[["coverage", "naive_coverage"]]).round().agg(["min", "max"])
    ours, naive = (f"{low:.0f} to {high:.0f} %" for low, high in percent.T.to_numpy())
    assert f"cover in {ours}, where intervals with the naive error cover in {naive}." in words
