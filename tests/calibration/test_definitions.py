"""The room by its definitions in fractions, those of the fuzz; tests of ratios by segment and of
the calibration error's test have definitions of their own."""

from __future__ import annotations

import pytest

from tests.fuzz import __main__ as command
from tests.fuzz.table import TABLE

OWN = [
    check for check in TABLE
    if check.name.startswith("calibration.") and not check.name.endswith(("_by_segment", "_test"))
]  # fmt: skip


@pytest.mark.slow
@pytest.mark.parametrize("check", OWN, ids=lambda check: check.name)
def test_is_its_definition(check) -> None:
    failures, tally = command.run(25, seed=1, table=(check,))
    assert not failures, "\n".join(map(str, failures))
    assert tally.compared[check.name] > 9
