"""Five bags or one: the rule, and the committed results beside the default."""

from __future__ import annotations

import pandas as pd
import pytest

from experiments._common import read_json
from experiments.five_bags import __main__ as experiment
from gbdt_objectives import DownsampledClassifier

pytestmark = pytest.mark.slow
SETTINGS = read_json(experiment.CONFIG)


def test_the_default_is_that_which_the_rule_chooses() -> None:
    cells, times, summary, behind = (
        pd.read_csv(experiment.RESULTS / f"{name}.csv")
        for name in ("cells", "times", "summary", "behind")
    )
    compared = experiment.compare(cells)
    lost = experiment.behind(compared, SETTINGS)
    again = experiment.summarize(compared, times, SETTINGS)
    pd.testing.assert_frame_equal(again.round(2), summary.round(2), atol=0.02)  # of rounded cells
    assert lost.index.tolist() == behind["data"].tolist() == []
    assert experiment.holds(again, lost, SETTINGS)
    assert DownsampledClassifier(None, 0.1).n_bags == 5


def test_the_rule_looks_at_each_part() -> None:
    def judged(changes, ap=0.01, fits=5.5):
        lines = [
            {"data": k, "draw": 0, "booster": "b", "rate": rate, "arm": arm, "events": 9,
             "log_loss": loss, "average_precision": precision, "mean_ratio": 1.0, "seconds": 1.0}
            for k, change in enumerate(changes)
            for arm, rate, loss, precision in [
                (experiment.ALL, 1.0, 0.1, 0.5), (experiment.CALIBRATED, 1.0, 0.1, 0.5),
                (experiment.ONE, 0.1, 0.1, 0.5),
                (experiment.FIVE, 0.1, 0.1 * (1 + change), 0.5 + ap),
            ]
        ]  # fmt: skip
        times = pd.DataFrame({
            "booster": "b", "rate": 0.1, "arm": [experiment.ONE, experiment.FIVE],
            "seconds": [1.0, fits],
        })  # fmt: skip
        compared = experiment.compare(pd.DataFrame(lines))
        lost = experiment.behind(compared, SETTINGS)
        summary = experiment.summarize(compared, times, SETTINGS)
        return experiment.holds(summary, lost, SETTINGS), lost.index.tolist()

    ahead = [-0.2, -0.21, -0.19, -0.2, -0.22]
    assert judged(ahead) == (True, [])
    assert judged([*ahead, 0.004, 0.02, 0.02]) == (True, [6, 7])
    assert judged([*ahead, *ahead, 0.02, 0.02, 0.02])[0] is False
    assert judged([-0.01, -0.02, 0.001, 0.004])[0] is False
    assert judged(ahead, ap=-0.01)[0] is False
    assert judged(ahead, fits=6.1)[0] is False
