"""Studies in small write all their results; without their files they say so."""

from __future__ import annotations

import re
from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
import pytest

from experiments import _common
from experiments.all import STUDIES
from experiments.calibrators import __main__ as calibrators
from experiments.ordinal_packages import __main__ as ordinal_packages
from experiments.performance_coverage import __main__ as performance_coverage
from experiments.segment_calibrator import __main__ as segment_calibrator
from tests.cases import each

pytestmark = pytest.mark.slow
ROOT = Path(__file__).parents[2]


class Quick(NamedTuple):
    """A study, the rows of its tables (None: not counted), columns of the first that are finite, a
    part of what it prints, what else holds of the first table, and a peer that is missing."""

    study: str
    rows: dict[str, int | None]
    finite: tuple[str, ...] = ()
    says: str = ""
    holds: Callable[[pd.DataFrame], bool] = lambda table: True
    patch: tuple[str, Any] | None = None


METRICS = [one["metrics"] for one in _common.read_json(performance_coverage.CONFIG)["settings"]]
ARMS = 4 + (segment_calibrator.SegmentedCalibrator is not None)
AS_IS = segment_calibrator.AS_IS
KAPPAS = ("common", "shifts", "separate plug-in", "separate exact", "true shifts")


def no_package(name: str) -> None:
    raise ImportError(name)


QUICK = [
    Quick(
        "averaged_probabilities",
        {"cells": 2 * 2 * 5, "summary": None, "rules": None},
        ("log_loss", "slope", "expected", "realised"),
    ),
    Quick(
        "averaged_models",
        {"cells": 2 * 2, "summary": None},  # boosters, folds and bags
        ("log_loss_before", "log_loss_after", "mean_ratio_after"),
        "averages that are calibrated have a lower log loss",
    ),
    Quick(
        "bag_averages",
        {"cells": 2 * 4 * 5, "summary": None},  # folds, models, one bag, two averages of 5 and 10
        ("logloss",),
        "averaged probabilities never lose to one bag",
    ),
    Quick(
        "calibration_coverage",
        # populations and rates, models, six segments and one error, and two more errors
        # and of users, with groups and without, six segments and one error
        {"summary": 4 * (3 * 7 + 2) + 2 * 2 * 7},
        says="within 0.02 of nominal",
    ),
    Quick(
        "action_costs",
        {"cells": None, "summary": None},  # with empulse, or without
        ("cost",),
        "costs by row",
    ),
    Quick(
        "calibrators",
        {"comparison": 4, "summary": None, "chosen": None},
        says="without SplineCalib: pip install 'gbdt_objectives[peers]'",
        patch=("PEERS", calibrators.PEERS | {"SplineCalib": ("no_such_package", None)}),
    ),
    Quick(
        "comparison_level",
        {"summary": 10 * 6},
        ("error",),
        holds=lambda table: (table.error > 0).all(),
    ),
    Quick(
        "constraint_coverage",
        {"summary": 25 * 2 + 4 * 3},  # cells of two ways, and with groups three
        ("violated", "none"),
        "violated in at most 0.119",
    ),
    Quick(
        "decision_rules",
        {"cells": 2 * 3 * 5, "differences": 3 * 4, "counts": 3 * 4},  # halves, metrics, ways
        ("value",),
        "class_weight: better in",
    ),
    Quick("decisions", {"cells": 2 * 2 * 3, "differences": None}, ("decide", "thresholds")),
    Quick(
        "delayed_labels",
        {"summary": 4 * 2 * 7, "cells": None, "comparison": None},  # delays, boosters, methods
        ("excess",),
        "the objective with estimated delays has a lower log loss",
        lambda table: (table.excess[table.method == "complete labels"] == 0).all(),
    ),
    Quick(
        "early_stopping",
        {"cells": 2 * 3, "differences": 2 * 3, "summary": 2 * 3, "costs": 2 * 3},  # boosters, arms
        ("qwk", "log_loss", "oof_qwk", "rounds"),
    ),
    Quick(
        "few_events",
        {"summary": 6 * 6, "comparison": None, "kept": None},  # distortions, calibrators
        ("excess",),
        "shrinking better with few events",
    ),
    Quick(
        "five_bags",
        {"cells": 2 * 4, "summary": 2 * 3, "times": 2 * 2, "behind": None},  # boosters, arms
        ("log_loss", "average_precision", "mean_ratio"),
        "five bags are the default by the rule",
    ),
    Quick(
        "focal",
        {"cells": 2 * 2 * 6, "summary": None},  # folds, models, methods
        ("auc", "average_precision", "sigma", "class_probability", "calibrated"),
        "sigma of a focal margin is a worse probability",
    ),
    Quick(
        "linear_member",
        {"cells": 3, "differences": 2 * 2, "summary": 2 * 2, "times": 2},  # arms; boosters and both
        ("log_loss", "average_precision", "seconds"),
        "a linear member beside trees is recommended",
    ),
    Quick(
        "monitor",
        {"alarms": 9, "medians": 2, "days": 3 * 2, "early": 2 * 3},  # runs, days; ways, runs
        ("alarms",),
        "the monitor keeps its level",
        patch=("find_spec", lambda name: None),
    ),
    Quick(
        "ordinal_packages",
        {"cells": 2 * 3, "summary": None},
        ordinal_packages.MEASURES,
        "without ogboost: pip install 'gbdt_objectives[peers]'",
        lambda table: table.problem.isna().all(),
        ("find_spec", lambda name: None),
    ),
    Quick(
        "ordinal_probabilities",
        {"cells": 2 * 2 * 5, "differences": None},
        ("log_loss", "ranked_probability_score"),
    ),
    Quick(
        "peers",
        {"cells": None, "summary": None, "versions": 11},  # with the packages, or without
        ("value",),
        "without MAPIE",
        patch=("import_module", no_package),
    ),
    Quick(
        "performance_coverage",
        {"summary": sum(map(len, METRICS))},
        says="within 0.03 of nominal",
    ),
    Quick(
        "precision_start",
        {"summary": 5 * 2 * 3 * 2},  # bounds, positives, rates, recalls
        ("violated_after", "none_after", "reached_after"),
        "violated in at most 0.13 of draws",
    ),
    Quick(
        "prior_uncertainty",
        {"summary": 3 * 3 * 2},  # models, priors, ways
        says="held-out rows, and true probabilities",
    ),
    Quick(
        "qwk_default",
        {"cells": 2 * 2 * 2 * 6, "differences": None, "seconds": None},  # files, draws, boosters
        ("qwk", "seconds"),
    ),
    Quick(
        "qwk_draws",
        {"cells": 4 * 4, "summary": None},  # draws, methods
        says="within two standard deviations of one test draw",
    ),
    Quick(
        "segment_calibrator",
        {"summary": len(segment_calibrator.CASES) * ARMS, "draws": None},
        ("loss",),
        "repair_segments is not in this version",
        lambda table: (
            table.query("moved == 'nothing' and method == @AS_IS").loss.abs() < 1e-9
        ).all(),
    ),
    Quick("segment_thresholds", {"draws": 3 * 2 * 2, "simulated": None}, KAPPAS),  # effects, sizes
]


ELSEWHERE = {"migration", "qwk_synthetic"}
"""What test_migration.py runs as it is, and what the README's command runs."""


def test_each_study_runs_in_small_once() -> None:
    """Here, elsewhere or in .ci/run, which starts a process for each."""
    run = (ROOT / ".ci/run").read_text(encoding="utf-8")
    found = re.search(r"experiments\.all --quick --only \\\n *(.+)\n", run)
    assert found is not None
    by_process = set(found[1].split())
    here = {quick.study for quick in QUICK}
    assert not here & by_process
    assert here | ELSEWHERE | by_process == {s.module for s in STUDIES if s.quick is not None}


@each("study", sorted({study.module for study in STUDIES}))
def test_each_study_is_a_command(study: str) -> None:
    path = ROOT / "experiments" / study.replace(".", "/")
    path = path / "__main__.py" if path.is_dir() else path.with_suffix(".py")
    end = '\nif __name__ == "__main__":\n    sys.exit(main())\n'
    assert path.read_text(encoding="utf-8").endswith(end)


@pytest.mark.ci
@pytest.mark.parametrize("quick", QUICK, ids=[quick.study for quick in QUICK])
def test_quick_run_writes_everything(quick: Quick, tmp_path, capsys, monkeypatch) -> None:
    experiment = import_module(f"experiments.{quick.study}.__main__")
    if quick.patch:
        monkeypatch.setattr(experiment, *quick.patch)
    assert experiment.main(["--quick", "--output", str(tmp_path)]) == 0
    assert quick.says in capsys.readouterr().out
    written = {path.name for path in tmp_path.iterdir()}
    assert written == {*(f"{name}.csv" for name in quick.rows), "table.md", "environment.json"}
    tables = {name: pd.read_csv(tmp_path / f"{name}.csv") for name in quick.rows}
    assert {name: rows and len(tables[name]) for name, rows in quick.rows.items()} == quick.rows
    first = next(iter(tables.values()))
    assert np.isfinite(first[list(quick.finite)]).all(axis=None)
    assert quick.holds(first)


@pytest.mark.parametrize(
    ("study", "arguments", "said"),
    [
        ("action_costs.__main__", [], "lending-club.csv.gz' not found"),
        ("averaged_models.__main__", [], "mammography.csv' not found"),
        ("bag_averages.__main__", [], "mammography.csv' not found"),
        ("curvature.__main__", [], "mammography.csv' not found"),
        ("five_bags.__main__", [], "mammography.csv' not found"),
        ("focal.__main__", [], "mammography.csv' not found"),
        ("ordinal_benchmark.__main__", [], "winequality-white.csv' not found"),
        ("ordinal_data.ordinal_logit", [], "winequality-white.csv' not found"),
        ("negative_downsampling.__main__", ["files"],
         "mammography.csv' not found: give the folder that holds it .* or leave the folder out for "
         "simulated rows"),
    ],
)  # fmt: skip
def test_missing_files_are_an_error_without_a_traceback(
    study, arguments, said, tmp_path, capsys
) -> None:
    experiment = import_module(f"experiments.{study}")
    assert experiment.main([*arguments, str(tmp_path), "--output", str(tmp_path / "out")]) == 2
    assert re.search(said, capsys.readouterr().err)
