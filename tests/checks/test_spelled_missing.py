"""A missing value that is written as a word, among groups: told where it can be no name."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from sklearn.linear_model import LogisticRegression

from gbdt_objectives import CalibratedClassifier, cross_validate_thresholds
from gbdt_objectives.calibration import (
    calibration_error_test,
    calibration_ratio_by_segment,
    calibration_refinement,
)
from gbdt_objectives.evaluation import estimate_performance
from tests.cases import each

rng = np.random.default_rng(0)
N = 200
P = rng.uniform(0.1, 0.9, N)
Y = (rng.random(N) < P).astype(int)
IDS = np.arange(N) // 4
HOLES = np.arange(N) % 5 == 0

USES = {
    "calibration_error_test": lambda g: calibration_error_test(Y, P, groups=g),
    "cross_validate_thresholds": lambda g: cross_validate_thresholds(
        Y, P, groups=g, metric="f1", n_bootstrap=0, random_state=0
    ),
    "CalibratedClassifier": lambda g: CalibratedClassifier(LogisticRegression(), cv=2).fit(
        P[:, None], Y, groups=g
    ),
    "estimate_performance": lambda g: estimate_performance(
        LogisticRegression(), P[:, None], Y, "accuracy", cv=3, n_repeats=2, groups=g
    ),
}


def groups(word: str, own: str = "u{}") -> pd.Series:
    return pd.Series([word if hole else own.format(k) for k, hole in zip(IDS, HOLES, strict=True)])


@each("use", USES.values(), ids=USES)
@each("word", ["NA", "nan", "None", "NULL", ".", r"\N", "<NA>", ""])
def test_a_word_among_numbered_groups_is_told(use, word) -> None:
    with pytest.raises(ValueError, match="groups must not be missing, found .* of their own, or"):
        use(groups(word))


def test_the_remedies_work() -> None:
    given = groups("NA")
    own = given.where(~HOLES, [f"row {k}" for k in range(N)])
    for repaired in (own, given.replace("NA", "NA 0")):
        assert 0 <= calibration_error_test(Y, P, groups=repaired).p_value <= 1


def test_a_word_among_names_may_be_one() -> None:
    """Countries, with Namibia; and a segment, or a piece, of the rows without a value."""
    names = pd.Series(np.array(["NA", "EU", "SA", "none"])[IDS % 4])
    assert 0 <= calibration_error_test(Y, P, groups=names).p_value <= 1
    assert "NA" in calibration_ratio_by_segment(Y, P, groups("NA", "3")).segment
    assert calibration_refinement(Y, P, partition=groups("NA", "3")) is not None
