"""Focal, weighted and plain log loss: what the committed results show."""

from __future__ import annotations

import pandas as pd
import pytest

from experiments.focal import __main__ as experiment

pytestmark = pytest.mark.slow


def focal_and_weighted() -> tuple[pd.DataFrame, pd.DataFrame]:
    summary = pd.read_csv(experiment.RESULTS / "summary.csv")
    parts = [summary[summary.method.str.startswith(word)] for word in ("focal", "weighted")]
    return parts[0], parts[1]


def significant(part: pd.DataFrame, measure: str, sign: int) -> int:
    """How many differ from plain log loss by more than two standard errors in this direction."""
    return int((sign * part[f"{measure}_difference"] > 2 * part[f"{measure}_error"]).sum())


def test_the_claim_and_the_findings() -> None:
    focal, weighted = focal_and_weighted()
    assert (len(focal), len(weighted)) == (12, 8)
    assert significant(focal, "sigma", 1) == 12
    ratio = focal.sigma_difference / focal.sigma_error
    assert (round(ratio.min()), round(ratio.max())) == (6, 67)
    for measure in ("auc", "average_precision"):
        assert significant(focal, measure, 1) == 0
    assert significant(focal, "auc", -1) == 0
    assert significant(focal, "average_precision", -1) == 1
    assert significant(focal, "class_probability", -1) == 0
    assert significant(focal, "class_probability", 1) == 2
    assert significant(focal, "calibrated", 1) + significant(focal, "calibrated", -1) == 0
    assert (focal.calibrated - focal.class_probability).abs().max() < 1.55
    counts = [significant(weighted, measure, sign) for measure, sign in (
        ("average_precision", -1), ("class_probability", 1), ("calibrated", 1)
    )]  # fmt: skip
    assert counts == [5, 6, 5]
