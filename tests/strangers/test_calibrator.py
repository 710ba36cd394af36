"""A stranger's calibrator keeps the contract of ours; tests/serving/test_strangers.py serves it."""

from __future__ import annotations

import pytest

from tests.calibration import checks
from tests.strangers.histogram import HistogramCalibrator


@pytest.mark.parametrize("check", checks.CHECKS)
def test_it_keeps_the_contract(check) -> None:
    check(HistogramCalibrator())
