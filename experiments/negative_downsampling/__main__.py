"""Rare events on fewer negatives: what each correction costs, over keep rates and seeds.

Run from the repository root:
``python -m experiments.negative_downsampling [FILE.csv --target COLUMN] [--quick]``.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

import pandas as pd
from threadpoolctl import threadpool_limits

from experiments import _common
from experiments._common import Array, InputError
from experiments.negative_downsampling import (
    compare,
    configuration as config,
    real,
    report,
    simulated,
    weighting,
)
from experiments.negative_downsampling.configuration import Configuration

RESULTS = Path(__file__).parent / "results"

Checks = list[tuple[str, bool]]


def save(frame: pd.DataFrame, path: Path) -> None:
    """CSV with seven significant digits."""
    frame.to_csv(path, index=False, float_format="%.7g")


def write_simulated(
    folder: Path, settings: Configuration, cells: pd.DataFrame, bins: pd.DataFrame
) -> tuple[str, Checks]:
    """CSVs and pictures; returns the tables and the checks."""
    rates = settings.scale.keep_rates
    summary = compare.summary_frame(cells)
    differences = compare.differences_frame(cells, rates)
    save(cells, folder / "simulated.csv")
    save(bins, folder / "reliability.csv")
    save(summary, folder / "simulated_summary.csv")
    save(differences, folder / "simulated_differences.csv")
    report.draw_reliability(bins, settings.main_keep_rate, folder / "reliability.png")
    report.draw_cost(cells, rates, folder / "cost.png")
    tables = report.summary_table(summary, settings.main_keep_rate)
    tables += "\n\n" + report.differences_table(differences, "seeds")
    return tables, simulated.acceptance(cells, settings)


def write_weighting(
    folder: Path, settings: Configuration, cells: pd.DataFrame
) -> tuple[str, Checks]:
    """The same for King and Zeng's case."""
    summary = weighting.summary_frame(cells)
    save(cells, folder / "weighting.csv")
    save(summary, folder / "weighting_summary.csv")
    report.draw_weighting(summary, folder / "weighting.png")
    return report.weighting_table(summary), weighting.acceptance(summary, settings)


def write_file(folder: Path, settings: Configuration, cells: pd.DataFrame) -> str:
    """The same for a file, which is not judged."""
    test_share = float((cells.test_rows / cells.train_rows).mean())
    summary = compare.summary_frame(cells)
    differences = compare.differences_frame(cells, settings.scale.file_keep_rates, test_share)
    save(cells, folder / "file.csv")
    save(summary, folder / "file_summary.csv")
    save(differences, folder / "file_differences.csv")
    report.draw_file(cells, differences, folder / "file.png")
    tables = report.summary_table(summary)
    return tables + "\n\n" + report.differences_table(differences, "folds")


def write_environment(
    folder: Path, settings: Configuration, quick: bool, data: dict[str, object]
) -> None:
    """environment.json, with the configuration and its hash."""
    _common.write_environment(
        folder,
        seeds={"all": settings.seed},
        settings={
            "scale": "quick" if quick else "full",
            **_common.configuration_record(config.CONFIG),
            "data": data,
        },
    )


def run(folder: Path, settings: Configuration, file: tuple[str, Array, Array] | None) -> Checks:
    """All that there is to run, and table.md."""
    with threadpool_limits(settings.training.threads):
        table, checks = write_simulated(folder, settings, *simulated.run_all(settings))
        tables = [table]
        table, more = write_weighting(folder, settings, weighting.run_all(settings))
        tables.append(table)
        if file is not None:
            tables.append(write_file(folder, settings, real.run_file(*file, settings)))
    checks += more
    said = [f"- {'HOLDS' if holds else 'FAILS'}: {text}" for text, holds in checks]
    text = "\n\n".join([*tables, "\n".join(said)]) + "\n"
    (folder / "table.md").write_text(text, encoding="utf-8")
    print(text)
    return checks


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(
        prog="python -m experiments.negative_downsampling", description=__doc__.splitlines()[0]
    )
    parser.add_argument(
        "file", type=Path, nargs="?", metavar="FILE", help="CSV file; none: simulations only"
    )
    parser.add_argument(
        "--target", metavar="COLUMN", help="two labels, of which the rarer is the event"
    )
    parser.add_argument(
        "--no-header", action="store_true", help="--target is the number of a column, from 1"
    )
    parser.add_argument("--quick", action="store_true", help="few rows and seeds: says little")
    parser.add_argument(
        "--output", type=Path, metavar="DIR",
        help="default: results/, with --quick a new temporary folder",
    )  # fmt: skip
    options = parser.parse_args(arguments)
    file, data = None, {}
    try:
        if not (options.file or options.quick or options.output):
            raise InputError(
                "FILE is missing: name a CSV file, or give --output DIR for simulations alone"
            )
        if options.file is not None:
            if options.target is None:
                raise InputError("--target is missing: name the column that holds the labels")
            X, y = real.load(options.file, options.target, header=not options.no_header)
            file = options.file.stem, X, y
            data = {options.file.stem: {"rows": len(y), "positives": int(y.sum())}}
    except InputError as error:
        print(f"error: {error}", file=sys.stderr)
        return 2
    settings = config.read("quick" if options.quick else "full")
    folder = options.output
    if folder is None:
        folder = (
            Path(tempfile.mkdtemp(prefix="negative_downsampling_")) if options.quick else RESULTS
        )
    folder.mkdir(parents=True, exist_ok=True)

    began = time.perf_counter()
    checks = run(folder, settings, file)
    write_environment(folder, settings, options.quick, data)
    holds = all(held for _, held in checks)
    print(f"{time.perf_counter() - began:.0f} s; results in {folder}")
    print(
        f"acceptance: {'HOLDS' if holds else 'FAILS'}" + (", not judged" if options.quick else "")
    )
    return 1 if not holds and not options.quick else 0


if __name__ == "__main__":
    sys.exit(main())
