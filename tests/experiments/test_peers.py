"""The study of other packages: its sums, its verdicts, and what it does without a package."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from experiments._common import read_json
from experiments.peers import __main__ as experiment

SETTINGS = read_json(experiment.CONFIG)


def test_the_committed_results_are_those_of_the_cells() -> None:
    cells, summary = (
        pd.read_csv(experiment.RESULTS / f"{name}.csv") for name in ("cells", "summary")
    )
    again = experiment.summarize(cells)
    pd.testing.assert_frame_equal(again, summary, atol=1e-5)  # of cells rounded to six digits
    drawn = cells.groupby(["task", "way", "figure"]).draw.nunique().reset_index()
    assert (drawn.draw == drawn.task.map(lambda name: SETTINGS[name]["draws"])).all()
    ran = pd.read_csv(experiment.RESULTS / "versions.csv")
    assert set(ran.package) == set(experiment.INSTALL)
    assert ran.version.notna().all()  # each one ran
    peers = {way.split(",")[0] for way in cells.way} - {experiment.OURS, "nothing undone"}
    assert peers == set(experiment.INSTALL)


def test_a_gain_is_that_of_the_better_direction() -> None:
    cells = pd.DataFrame([
        {"task": task, "draw": draw, "way": way, "figure": figure, "value": value, "seconds": 1.0}
        for task, figure in (("segments", "excess log loss, e-3"), ("macro", "macro F1"))
        for way, values in ((experiment.OURS, (1.0, 2.0)), ("peer", (3.0, 5.0)))
        for draw, value in enumerate(values)
    ])  # fmt: skip
    own = experiment.summarize(cells).query("way == 'peer'").set_index("task")
    assert own.gain.to_dict() == pytest.approx({"segments": -2.5, "macro": 2.5})
    assert own.error.to_numpy() == pytest.approx([0.5, 0.5])  # sd .5 sqrt 2, over sqrt 2


@pytest.mark.parametrize(
    ("gain", "error", "said"),
    [(0.3, 0.1, "better than ours"), (-0.3, 0.1, "worse than ours"), (0.3, 0.2, "no clear"),
     (0.0, 0.0, "no clear"), (np.nan, np.nan, "")],
)  # fmt: skip
def test_a_verdict_needs_two_errors(gain: float, error: float, said: str) -> None:
    assert experiment.verdict(gain, error).startswith(said)


@pytest.mark.filterwarnings("ignore:every row gets the class")
def test_tied_scores_have_a_best_cut_that_ours_finds() -> None:
    for draw in range(20):
        ways = experiment.ties(np.random.default_rng(draw), SETTINGS["ties"])
        assert not any(ways[experiment.OURS]().values())


def test_without_packages_the_rest_is_run(monkeypatch) -> None:
    def none(name: str) -> None:
        raise ImportError(name)

    monkeypatch.setattr(experiment, "import_module", none)
    missing: set[str] = set()
    small = {name: experiment.QUICK[name] | {"draws": 1} for name in experiment.TASKS}
    cells = experiment.run_all(small | {"seed": 0}, missing)
    assert missing >= set(experiment.INSTALL) - {"betacal", "venn-abers"}  # of another study
    assert {"ours", "nothing undone"} <= set(cells.way)
    assert np.isfinite(cells.value).all()
