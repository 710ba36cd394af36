"""The lists of names in the help, which is by hand where its source is slow to import."""

from __future__ import annotations

from typing import get_args

import pytest

from gbdt_objectives._command_line.commands import cli
from gbdt_objectives._command_line.probabilities import CALIBRATORS
from gbdt_objectives.checking.probe import Api
from gbdt_objectives.metrics.classes import NAMED
from gbdt_objectives.objectives.base import HessianKind
from gbdt_objectives.thresholds.methods import METHODS
from tests import contract

LISTS = {
    "--metric": list(NAMED), "--method": list(METHODS), "--api": list(get_args(Api)),
    "--hessian-kind": list(get_args(HessianKind)),
}  # fmt: skip


@pytest.mark.parametrize("name", cli.commands)
def test_help_lists_what_there_is(name: str) -> None:
    lists = {**LISTS, "--method": ["auto", *CALIBRATORS]} if name == "calibrate" else LISTS
    for parameter in cli.commands[name].params:
        option = parameter.opts[-1]
        if option in lists:
            assert parameter.metavar == f"[{'|'.join(lists[option])}]", option


def test_every_calibrator_can_be_asked_for() -> None:
    missing = contract.CALIBRATORS.keys() - CALIBRATORS.values()
    assert not missing, f"CALIBRATORS of _command_line/probabilities.py lacks {missing}"
