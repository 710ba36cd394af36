"""The study of packages for ordered classes: its differences, and committed results."""

from __future__ import annotations

import pandas as pd
import pytest

from experiments.ordinal_packages import __main__ as experiment

pytestmark = pytest.mark.slow


def test_a_package_that_fails_is_a_result(monkeypatch) -> None:
    def broken(K, settings):
        raise_later = type("Broken", (), {"fit": lambda self, X, y: 1 / 0})
        return raise_later()

    monkeypatch.setattr(experiment, "METHODS", {"ours": broken})
    settings = {"seed": 0, "folds": 2, "simulated": {"rows": 60, "grades": 3}}
    found = experiment.cells(None, settings)
    assert found.problem.str.startswith("ZeroDivisionError").all()


def test_differences_are_ours_less_theirs() -> None:
    place = {"file": "f", "train_rows": 20, "test_rows": 10, "seconds": 1.0}
    lines = [
        {**place, "fold": fold, "method": method, "log_loss": loss + fold, "kappa": kappa + fold}
        for fold in range(3)
        for method, loss, kappa in ((experiment.OURS, 1.0, 0.5), ("other", 1.25, 0.625))
    ]
    found = experiment.summary(pd.DataFrame(lines)).set_index("method").loc["other"]
    assert found.log_loss_gap == pytest.approx(-0.25)
    assert found.log_loss_verdict == "better"
    assert found.kappa_gap == pytest.approx(-0.125)
    assert found.kappa_verdict == "worse"
