"""The command that the smaller experiments share."""

from __future__ import annotations

import json

import pandas as pd
import pytest

from experiments import _common
from experiments._common import Findings, InputError

pytestmark = pytest.mark.slow


@pytest.fixture
def here(tmp_path):
    """An experiment of which only the configuration exists."""
    folder = tmp_path / "curves"
    folder.mkdir()
    (folder / "config.json").write_text('{"seed": 3, "draws": 9}', encoding="utf-8")
    return folder


def study(_, settings) -> Findings:
    draws = pd.DataFrame({"draws": [settings["draws"]]})
    return Findings({"cells": draws}, "| a |", "few draws", settings["draws"] < 5)


def run(here, *arguments, study=study, **options) -> int:
    return _common.run_study(
        here, "Curves.\n\nMore.", study, arguments, quick={"draws": 2}, **options
    )


def test_a_run_writes_beside_its_configuration_and_fails_with_its_claim(here, capsys) -> None:
    assert run(here) == 1
    assert capsys.readouterr().out == f"| a |\nresults in {here / 'results'}\nfew draws: FAILS\n"
    results = here / "results"
    assert {path.name for path in results.iterdir()} == {
        "cells.csv",
        "table.md",
        "environment.json",
    }
    assert pd.read_csv(results / "cells.csv").draws.item() == 9
    record = json.loads((results / "environment.json").read_text(encoding="utf-8"))
    assert record["seeds"] == {"all": 3}
    assert record["settings"]["configuration"] == {"seed": 3, "draws": 9}


def test_a_quick_run_judges_nothing_and_leaves_the_results_alone(here, capsys) -> None:
    assert run(here, "--quick") == 0
    assert "few draws: HOLDS" in capsys.readouterr().out
    assert not (here / "results").exists()
    failing = lambda folder, settings: Findings({}, "", "never", False)  # noqa: E731
    assert run(here, "--quick", study=failing) == 0
    assert run(here, "--output", str(here / "other"), study=failing) == 1
    assert (here / "other/table.md").exists()


def test_nothing_claimed_is_no_failure(here, capsys) -> None:
    found = Findings({}, "", "3 of 4")
    assert run(here, study=lambda folder, settings: found) == 0
    assert capsys.readouterr().out.endswith("\n3 of 4\n")


def test_files_that_cannot_be_used_are_an_error_without_a_traceback(here, capsys) -> None:
    def refuse(folder, settings):
        raise InputError(f"no file in {folder}")

    assert run(here, "data", study=refuse, reads_files=True) == 2
    assert capsys.readouterr().err == "error: no file in data\n"
    assert run(here, reads_files=True) == 1  # without the files a part, elsewhere
    assert not (here / "results").exists()


def test_an_experiment_without_files_takes_no_folder(here) -> None:
    with pytest.raises(SystemExit):
        run(here, "data")


def test_a_run_that_confirms_the_results_adds_only_what_is_not_committed(here) -> None:
    run(here)
    results = here / "results"
    before = (results / "table.md").stat().st_mtime_ns
    (results / "cells.csv").unlink()
    run(here)
    assert pd.read_csv(results / "cells.csv").draws.item() == 9
    assert (results / "table.md").stat().st_mtime_ns == before
    other = lambda folder, settings: Findings({}, "| b |", "other", True)  # noqa: E731
    run(here, study=other)
    assert (results / "table.md").read_text(encoding="utf-8") == "| b |\n"
