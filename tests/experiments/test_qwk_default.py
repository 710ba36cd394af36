"""The study of QWKClassifier's defaults: its rows, its rule, and the committed results."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from experiments import _common
from experiments.qwk_default import __main__ as experiment
from gbdt_objectives import QWKClassifier

pytestmark = pytest.mark.slow

SETTINGS = _common.read_json(experiment.HERE / "config.json")


@pytest.mark.parametrize("name", SETTINGS["simulated"])
def test_simulated_rows_are_what_their_name_says(name) -> None:
    how = SETTINGS["simulated"][name]
    X, y = experiment.simulate(how, 40_000, np.random.default_rng(0))
    if how["kind"] == "rules":
        rows = pd.DataFrame(X).assign(y=y)
        assert (rows.groupby(list(range(6))).y.nunique() == 1).all()  # no noise
        return
    np.testing.assert_allclose(np.cumsum(np.bincount(y) / len(y))[:-1], how["cut_at"], atol=1e-4)
    if how["kind"] == "linear":
        by_class = np.corrcoef(X[:, :3].sum(1), y)[0, 1]
        assert 0.85 * how["correlation"] < by_class < how["correlation"]


@pytest.mark.parametrize(
    ("gains", "seconds", "default"),
    [((0.1, 0.1, -0.1), (1.0, 2.0), "qwk"), ((0.1, 0.1, -0.1), (2.0, 1.0), "None"),
     ((-0.1, -0.1, 0.1), (2.0, 1.0), "qwk")],
)  # fmt: skip
def test_the_rule(gains, seconds, default) -> None:
    lines = [
        {"file": str(k), "fold": fold, "test_share": 0.25, "booster": "LightGBM",
         "parameters": "as they come", "objective": objective, "stopped": False,
         "qwk": 0.5 + (objective == "None") * (gain + 0.001 * fold), "seconds": second}
        for k, gain in enumerate(gains)
        for fold in range(3)
        for objective, second in zip(("qwk", "None"), seconds, strict=True)
    ]  # fmt: skip
    cells = pd.DataFrame(lines)
    stopped = cells.assign(stopped=True, parameters="300 rounds", qwk=0.5)
    both = pd.concat([cells, stopped, stopped.assign(stopped=False)])
    compared = experiment.differences(both, "300 rounds")
    own = compared[(compared.compared == "None minus qwk") & (compared.booster == "both")]
    np.testing.assert_allclose(own.gain, [(gain + 0.001) / 2 for gain in gains], atol=1e-12)
    found = experiment.decide(compared, experiment.seconds(cells, "300 rounds"))
    assert found.endswith(f"the default is {default}")


def test_the_default_is_what_the_rule_says() -> None:
    compared, seconds = (
        pd.read_csv(experiment.RESULTS / f"{name}.csv", keep_default_na=False)
        for name in ("differences", "seconds")
    )
    assert experiment.decide(compared, seconds).endswith("the default is None")
    assert QWKClassifier(None).objective is None
