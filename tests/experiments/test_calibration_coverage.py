"""Coverage of calibration ratios and errors: its truth, and the committed results."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from experiments import _common
from experiments.calibration_coverage import __main__ as experiment

pytestmark = pytest.mark.slow


def test_the_error_of_a_population_is_that_of_its_bins() -> None:
    settings = _common.read_json(experiment.CONFIG) | {"pool_rows": 5000}
    pool = experiment.Pool("moderate", settings, np.random.default_rng(0))
    p = pool.p["LightGBM"]
    ends = experiment.bin_ends(pool.pi > 0.3, p, np.ones(5000), 7)
    b = np.searchsorted(ends, p)
    assert len(np.unique(b)) == 7
    gaps = [np.sum(p[b == k] - pool.pi[b == k]) for k in range(7)]
    assert pool.error("LightGBM", ends) == pytest.approx(np.abs(gaps).sum() / 5000)


def test_readme_says_what_the_results_say() -> None:
    summary = pd.read_csv(experiment.RESULTS / "summary.csv")
    readme = (experiment.HERE / "README.md").read_text(encoding="utf-8")
    words = " ".join(readme.split())
    alone = summary[summary.model == experiment.ALONE]
    claimed = summary[summary.model != experiment.ALONE]
    assert f"**{claimed.holds.sum()} of {len(claimed)} figures hold." in words
    ratio, error = (claimed[claimed.what == what] for what in (experiment.RATIO, experiment.ERROR))
    assert (ratio.holds.sum(), len(ratio)) == (75, 84)
    lost = ratio[~ratio.holds].coverage
    assert ((lost > 0.95).sum(), lost.max(), (lost < 0.95).sum()) == (6, 0.984, 3)
    assert (lost.min(), lost[lost < 0.95].max()) == (0.923, 0.927)
    many = ratio[ratio.events >= 20]
    off = sorted(many[~many.holds].coverage)
    assert (len(many), off) == (54, [0.923, 0.927, 0.973, 0.974])
    fitted = error[~error.model.isin(experiment.RIGHT)]
    assert (fitted.holds.sum(), len(fitted)) == (5, 8)
    assert sorted(fitted[~fitted.holds].coverage) == [0.894, 0.902, 0.923]
    level = claimed[claimed.truth == 0]
    assert (level.holds.sum(), len(level)) == (14, 14)
    assert (level.rejected.min(), level.rejected.max()) == (0.039, 0.07)
    limits = [
        own[own.what == experiment.RATIO]
        for own in (alone, summary[summary.model == experiment.TOGETHER])
    ]
    assert [(own.coverage.min(), own.coverage.max()) for own in limits] == [
        (0.611, 0.876),
        (0.933, 0.954),
    ]
    assert alone.rejected.max() == 0.389
