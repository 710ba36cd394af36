"""A stranger's calibrator keeps the contract of ours; tests/serving/test_strangers.py serves it."""

from __future__ import annotations

import pytest

from tests.calibration import checks
from tests.strangers.histogram import HistogramCalibrator


@pytest.mark.filterwarnings("ignore:the rate drops rows of")  # the rate is of either class
@pytest.mark.parametrize("check", checks.CHECKS)
def test_it_keeps_the_contract(check) -> None:
    check(HistogramCalibrator())
