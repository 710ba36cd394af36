"""Time and memory from 10,000 to 100,000,000 rows, each beside a limit that it cannot pass.

    python -m benchmarks.scaling [--quick]

The limit of a step is what it must do at least: copy a column of float64, draw a random number for
each row, or sort. Both in turns on one thread. Goals are for 1,000,000 rows or more. Memory is the
peak beyond the arguments, the result included, in bytes a row. Also drawn, as results/scaling.png.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

import gbdt_objectives as go
from benchmarks._timing import in_turns, peak_bytes, quick_run, report
from gbdt_objectives.calibration import SplineCalibrator, calibration_error_test

CUTS = [-1.2, -0.4, 0.4, 1.2]
PICTURE = Path(__file__).parent / "results" / "scaling.png"
Call = Callable[[], Any]


class Step(NamedTuple):
    """A step of the path, its limit, and what is promised: times the limit, bytes a row."""

    name: str
    run: Call
    limit: str
    times: float | None = None
    bytes_a_row: float | None = None


class Found(NamedTuple):
    """Of one step at one number of rows."""

    rows: int
    seconds: float
    limit_seconds: float


def ordered(n: int) -> tuple[list[Step], dict[str, Call]]:
    """Steps of ordered labels, on columns that exist only while they are measured."""
    rng = np.random.default_rng(0)
    score = rng.standard_normal(n)
    y = np.searchsorted(CUTS, score + 0.7 * rng.standard_normal(n))
    classes = np.searchsorted(CUTS, score)
    bound = go.qwk_objective(y).bind(y)
    margin = score.astype(np.float32)
    steps = [
        Step("objective: bound QWK gradient", lambda: bound(margin), "copy"),
        Step("metric: QWK", lambda: go.quadratic_weighted_kappa(y, classes), "copy"),
        Step("thresholds: plug-in", lambda: go.optimize_thresholds(y, score), "sort"),
        Step("thresholds: exact", lambda: go.optimize_thresholds(y, score, method="exact"),
             "sort", 5, 150),
    ]  # fmt: skip
    return steps, {"copy": score.copy, "sort": lambda: np.argsort(score)}


def rare(n: int) -> tuple[list[Step], dict[str, Call]]:
    """Steps of rare events, likewise."""
    rng = np.random.default_rng(0)
    p = 1 / (1 + np.exp(4 - rng.standard_normal(n)))
    y = (rng.random(n) < p).astype(int)
    shift = go.log_odds_shift(negative_keep_rate=0.1)
    spline = SplineCalibrator(shrink=True).fit(p[:20_000], y[:20_000])
    steps = [
        Step("sampling: negatives at 5 %",
             lambda: go.negative_downsample(y, 0.05, random_state=0), "draw", 2.5),
        Step("correction of probabilities", lambda: go.correct_probability(p, shift),
             "copy", None, 8.1),
        Step("calibration: spline, predict", lambda: spline.predict(p), "copy", None, 24),
        Step("calibration: test of the error",
             lambda: calibration_error_test(y, p, random_state=0), "sort", 6, 48),
    ]  # fmt: skip
    return steps, {
        "copy": p.copy, "sort": lambda: np.argsort(p), "draw": lambda: rng.random(n)
    }  # fmt: skip


def measured(n: int) -> Iterator[tuple[Step, Found]]:
    """Each step at n rows."""
    turns, calls = (5, 5) if n < 10**7 else (1, 1 if n > 10**7 else 3)
    for kind in (ordered, rare):
        steps, limits = kind(n)
        for step in steps:
            seconds = in_turns({"step": step.run, "limit": limits[step.limit]}, turns, calls)
            promised = n >= 10**6
            report(f"  {step.name} / {step.limit}", seconds["step"] / seconds["limit"],
                   step.times if promised else None)  # fmt: skip
            report(f"  {step.name}, bytes a row", peak_bytes(step.run) / n,
                   step.bytes_a_row if promised else None)  # fmt: skip
            yield step, Found(n, seconds["step"], seconds["limit"])


def draw(found: dict[Step, list[Found]]) -> None:
    """Seconds over rows, a panel for each step, with its limit as a broken line."""
    import matplotlib.pyplot as plt

    figure, panels = plt.subplots(2, 4, figsize=(13, 6), sharex=True, sharey=True)
    for (step, cells), panel in zip(found.items(), panels.flat, strict=True):
        rows, seconds, limit = zip(*cells, strict=True)
        panel.loglog(rows, seconds, "o-", label="seconds")
        panel.loglog(rows, limit, "k--", label=f"limit: {step.limit}")
        panel.set_title(step.name, fontsize=11)
        panel.legend(frameon=False)
    for panel in panels[1]:
        panel.set_xlabel("rows")
    for panel in panels[:, 0]:
        panel.set_ylabel("seconds, one thread")
    figure.tight_layout()
    figure.savefig(PICTURE, dpi=110, metadata={"Software": None})


def main() -> None:
    quick = quick_run(__doc__, "numpy", "scikit-learn")
    found: dict[str, list[Found]] = {}
    steps: dict[str, Step] = {}
    for n in (10_000, 100_000) if quick else (10**4, 10**5, 10**6, 10**7, 10**8):
        print(f"{n:,} rows")
        for step, one in measured(n):
            steps.setdefault(step.name, step)
            found.setdefault(step.name, []).append(one)
    if not quick:
        draw({steps[name]: cells for name, cells in found.items()})


if __name__ == "__main__":
    main()
