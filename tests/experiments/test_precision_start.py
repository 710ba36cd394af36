"""Where the tests of a precision start: the study's own sequence, and the committed results."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from experiments import _common
from experiments.precision_start import __main__ as experiment
from gbdt_objectives import optimize_thresholds

pytestmark = pytest.mark.slow
SETTINGS = _common.read_json(experiment.CONFIG)


@pytest.mark.parametrize(("bound", "rate"), [(0.15, 1.0), (0.5, 1.0), (0.8, 1.0), (0.3, 0.2)])
def test_the_sequence_is_that_of_the_package(bound, rate) -> None:
    """The same alerts from both starts, and the usual one is the new one."""
    found = 0
    usual = experiment.first_test(bound, rate, SETTINGS)
    d, _ = experiment.separation(bound, 0.5, 0.05)
    for seed in range(8):
        rng = np.random.default_rng(seed)
        y = np.repeat([1, 0], [200, round(3800 * rate)])
        score = rng.normal(size=len(y)) + d * y
        order = np.argsort(-score)
        false = np.append(0, np.cumsum(y[order] == 0))
        for start, first in ((usual, None), (2, 2)):
            j, m = experiment.tests(bound, rate, start, len(y), 0.1)
            expected = experiment.place(false, score[order], j, m)
            options = {
                "metric": "recall", "constraints": {"precision": bound}, "confidence_level": 0.9,
                "negative_keep_rate": rate, "first_test": first,
            }  # fmt: skip
            if expected is None:
                with pytest.raises(ValueError, match="cannot be kept"):
                    optimize_thresholds(y, score, **options)
                continue
            found += 1
            t = float(optimize_thresholds(y, score, **options))
            assert ((score >= t) == (score > expected)).all()
    assert found >= 4


@pytest.mark.parametrize(("bound", "recall"), [(0.1, 0.2), (0.5, 0.5), (0.9, 0.5)])
def test_the_best_threshold_reaches_the_bound(bound, recall) -> None:
    d, t = experiment.separation(bound, recall, 0.05)
    rng = np.random.default_rng(0)
    y = rng.random(2_000_000) < 0.05
    alert = rng.normal(size=len(y)) + d * y > t
    assert y[alert].mean() == pytest.approx(bound, abs=0.02)
    assert alert[y].mean() == pytest.approx(recall, abs=0.01)


def test_readme_says_what_the_results_say() -> None:
    found = pd.read_csv(experiment.RESULTS / "summary.csv")
    words = " ".join((experiment.HERE / "README.md").read_text(encoding="utf-8").split())
    assert len(found) == 120
    most, mean = found.violated_after.max(), found.violated_after.mean()
    none, reached = (
        [found[f"{what}_{way}"].mean() for way in (experiment.BEFORE, experiment.AFTER)]
        for what in ("none", "reached")
    )
    low = found[found.bound == 0.1]
    clear = found[found.gain.abs() > np.maximum(0.02, 2 * found.error)]
    falls = clear[clear.gain < 0]
    few, more = (falls[falls.positives == n] for n in (50, 200))
    assert len(few) + len(more) == len(falls)
    for said in (
        f"violated in at most {most:.3f}, and in {mean:.3f} in the mean",
        f"without a threshold falls from {none[0]:.3f} to {none[1]:.3f}, and the recall rises from "
        f"{reached[0]:.3f} to {reached[1]:.3f} of the best",
        f"rises in {len(clear) - len(falls)} cells**, most at a bound of 0.1 "
        f"({low.reached_before.mean():.3f} before, {low.reached_after.mean():.3f} after), and "
        f"falls in {len(falls)}",
        f"it falls in {len(few)} cells**, by up to {-few.gain.min():.3f} "
        f"(bound {few.bound[few.gain.idxmin()]})",
        f"it falls in {len(more)}, by up to {-more.gain.min():.3f}, at bounds of "
        f"{more.bound.min()} to {more.bound.max()}",
    ):
        assert said in words, said
    same = found[found.bound == 0.9]
    assert (same.none_before == same.none_after).all()
