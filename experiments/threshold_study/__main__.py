"""Rounding, Nelder-Mead, exact, plug-in and curved thresholds: simulated scores and real data.

Run from the repository root:
``python -m experiments.threshold_study FILE.csv ... --target COLUMN [--quick]``.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from pathlib import Path

import pandas as pd
from threadpoolctl import threadpool_limits

from experiments import _common
from experiments._common import Array, InputError
from experiments.threshold_study import configuration as config, curved, real, report, simulated
from experiments.threshold_study.configuration import Configuration

RESULTS = Path(__file__).parent / "results"

Data = Mapping[str, tuple[Array, Array]]


def read_files(paths: Sequence[Path], target: str | None) -> dict[str, tuple[Array, Array]]:
    """Features and labels of every file by its name without ending."""
    if paths and target is None:
        raise InputError("--target is missing: name the column that holds the ordered labels")
    names = [path.stem for path in paths]
    if len(set(names)) < len(names):
        raise InputError(f"two files have the same name, found {names}: rename one")
    return {path.stem: _common.load(path, str(target)) for path in paths}


def write_simulated(
    folder: Path, settings: Configuration, cells: pd.DataFrame
) -> tuple[str, pd.DataFrame]:
    """CSVs and picture; returns the table and the summary."""
    summary = simulated.summary_frame(cells, settings.methods, settings.pairs)
    cells.round(6).to_csv(folder / "simulated.csv", index=False)
    summary.round(6).to_csv(folder / "simulated_summary.csv", index=False)
    report.draw_simulated(summary, settings.methods, folder / "simulated.png")
    return report.simulated_table(summary, settings.methods, settings.pairs), summary


def write_real(
    folder: Path, settings: Configuration, folds: pd.DataFrame, simulations: pd.DataFrame
) -> tuple[str, str, bool | None]:
    """CSVs and picture; returns the tables, the lines of both acceptances and whether they hold."""
    summary = real.summary_frame(folds, settings.methods)
    differences = real.differences_frame(folds, settings.pairs)
    folds.round(6).to_csv(folder / "folds.csv", index=False)
    summary.round(6).to_csv(folder / "real_summary.csv", index=False)
    differences.round(6).to_csv(folder / "differences.csv", index=False)
    report.draw_real(folds, differences, folder / "real.png")
    lines, holds = real.acceptance(differences, settings.acceptance)
    more, curved_holds = curved.acceptance(simulations, differences, settings)
    lines += more
    if holds is not None:
        holds = holds and curved_holds
    text = f"{report.real_table(summary, settings.methods)}\n\n"
    return text + report.differences_table(differences), "\n".join(lines), holds


def write_environment(folder: Path, settings: Configuration, quick: bool, data: Data) -> None:
    """environment.json, with the configuration and its hash."""
    _common.write_environment(
        folder,
        seeds={"all": settings.seed},
        settings={
            "scale": "quick" if quick else "full",
            **_common.configuration_record(config.CONFIG),
            "data": {name: real.rows_of(y) for name, (_, y) in data.items()},
        },
    )


def run(folder: Path, settings: Configuration, data: Data) -> bool | None:
    """All that there is to run, and table.md; returns whether the acceptance holds."""
    acceptance, holds = "", None
    with threadpool_limits(1):
        table, simulations = write_simulated(folder, settings, simulated.run_all(settings))
        tables = [table]
        if data:
            folds = pd.concat(
                [real.run_file(name, X, y, settings) for name, (X, y) in data.items()]
            )
            table, acceptance, holds = write_real(folder, settings, folds, simulations)
            tables.append(table)
    if acceptance:
        tables.append("\n".join(f"- {line}" for line in acceptance.splitlines()))
    text = "\n\n".join(tables) + "\n"
    (folder / "table.md").write_text(text, encoding="utf-8")
    print(text)
    return holds


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(
        prog="python -m experiments.threshold_study", description=__doc__.splitlines()[0]
    )
    parser.add_argument(
        "files", type=Path, nargs="*", metavar="FILE", help="CSV files; none: simulations only"
    )
    parser.add_argument("--target", metavar="COLUMN", help="ordered integer labels, of every file")
    parser.add_argument("--quick", action="store_true", help="few rows and folds: says little")
    parser.add_argument(
        "--output", type=Path, metavar="DIR",
        help="default: results/, with --quick a new temporary folder",
    )  # fmt: skip
    options = parser.parse_args(arguments)
    try:
        if not (options.files or options.quick or options.output):
            raise InputError(
                "FILE is missing: name the CSV files, or give --output DIR for simulations alone"
            )
        data = read_files(options.files, options.target)
    except InputError as error:
        print(f"error: {error}", file=sys.stderr)
        return 2
    settings = config.read("quick" if options.quick else "full")
    folder = options.output
    if folder is None:
        folder = Path(tempfile.mkdtemp(prefix="threshold_study_")) if options.quick else RESULTS

    began = time.perf_counter()
    with _common.results_folder(folder) as results:
        holds = run(results, settings, data)
        write_environment(results, settings, options.quick, data)
    print(f"{time.perf_counter() - began:.0f} s; results in {folder}")
    if holds is None:
        print(f"acceptance: not judged, it needs the files {', '.join(settings.acceptance.files)}")
        return 0
    print(f"acceptance: {'HOLDS' if holds else 'FAILS'}")
    return 1 if not holds and not options.quick else 0


if __name__ == "__main__":
    sys.exit(main())
