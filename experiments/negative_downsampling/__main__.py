"""Rare events on fewer negatives: what each correction costs, and what weights and rates do.

Run from the repository root: ``python -m experiments.negative_downsampling files FOLDER``, where
FOLDER holds the CSV files that config.json names (without it: simulated rows only), or
``python -m experiments.negative_downsampling published``; both with ``[--quick]``.
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
from experiments._common import InputError
from experiments.negative_downsampling import (
    configuration as config,
    files,
    files_report,
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
    summary = simulated.summary_frame(cells)
    differences = simulated.differences_frame(cells, rates)
    save(cells, folder / "simulated.csv")
    save(bins, folder / "reliability.csv")
    save(summary, folder / "simulated_summary.csv")
    save(differences, folder / "simulated_differences.csv")
    report.draw_reliability(bins, settings.main_keep_rate, folder / "reliability.png")
    report.draw_cost(cells, rates, folder / "cost.png")
    tables = report.summary_table(summary, settings.main_keep_rate)
    return tables + "\n\n" + report.differences_table(differences), simulated.acceptance(
        cells, settings
    )


def write_weighting(
    folder: Path, settings: Configuration, cells: pd.DataFrame
) -> tuple[str, Checks]:
    """The same for King and Zeng's case."""
    summary = weighting.summary_frame(cells)
    save(cells, folder / "weighting.csv")
    save(summary, folder / "weighting_summary.csv")
    report.draw_weighting(summary, folder / "weighting.png")
    return report.weighting_table(summary), weighting.acceptance(summary, settings)


def run_published(folder: Path, *, quick: bool) -> bool:
    """The published comparison and King and Zeng's case; whether all checks hold."""
    settings = config.read("quick" if quick else "full")
    with threadpool_limits(settings.training.threads):
        table, checks = write_simulated(folder, settings, *simulated.run_all(settings))
        other, more = write_weighting(folder, settings, weighting.run_all(settings))
    said = [f"- {'HOLDS' if holds else 'FAILS'}: {text}" for text, holds in checks + more]
    write_table(folder, [table, other, "\n".join(said)])
    write_environment(folder, config.CONFIG, settings.seed, quick=quick)
    holds = all(held for _, held in checks + more)
    print(f"acceptance: {'HOLDS' if holds else 'FAILS'}" + (", not judged" if quick else ""))
    return holds or quick


def run_files(folder: Path, data: Path | None, *, quick: bool) -> bool:
    """The four files and simulated rows, which are reported, not judged."""
    settings = files.read(quick=quick)
    with threadpool_limits(settings["training"]["threads"]):
        cells, by_row = files.run_all(data, settings)
    save(cells, folder / "methods.csv")
    save(by_row, folder / "by_row.csv")
    write_files(folder, settings, cells, by_row)
    write_environment(folder, files.CONFIG, settings["seed"], quick=quick)
    return True


def write_files(
    folder: Path, settings: files.Settings, cells: pd.DataFrame, by_row: pd.DataFrame
) -> None:
    """Differences, pictures and tables."""
    tables = []
    for name, title, frame, rate, pairs, drawn, shared in (
        ("methods", "Weigh, correct or bag, tuned alike", cells, "keep_rate", files.DIFFERENCES,
         files_report.METHOD_PAIRS, (files.ALL_ROWS, files.TUNED_ALL)),
        ("by_row", "Negatives kept at rates by row, or at one rate", by_row, "per_positive",
         [(files.PILOT, files.UNIFORM)], files_report.RATE_PAIRS, ()),
    ):  # fmt: skip
        differences = files.differences(frame, rate, pairs, settings, shared)
        save(differences, folder / f"{name}_differences.csv")
        files_report.draw(differences, rate, drawn, title, folder / f"{name}.png")
        tables += [
            files_report.means_table(files.summary(frame, rate), rate),
            files_report.differences_table(differences, rate),
        ]
    write_table(folder, tables)


def write_table(folder: Path, parts: Sequence[str]) -> None:
    """table.md, printed as well."""
    text = "\n\n".join(parts) + "\n"
    (folder / "table.md").write_text(text, encoding="utf-8")
    print(text)


def write_environment(folder: Path, path: Path, seed: int, *, quick: bool) -> None:
    """environment.json, with the configuration and its hash."""
    record = {"scale": "quick" if quick else "full", **_common.configuration_record(path)}
    _common.write_environment(folder, {"all": seed}, record)


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(
        prog="python -m experiments.negative_downsampling", description=__doc__.splitlines()[0]
    )
    parser.add_argument("part", choices=("files", "published"), help="which of the two studies")
    parser.add_argument(
        "folder", type=Path, nargs="?", metavar="FOLDER", help="of the CSV files, for files"
    )
    parser.add_argument("--quick", action="store_true", help="few rows and seeds: says little")
    parser.add_argument(
        "--output", type=Path, metavar="DIR",
        help="default: results/; a new temporary folder for a part of the study",
    )  # fmt: skip
    options = parser.parse_args(arguments)
    folder = options.output
    if folder is None:
        partial = options.quick or (options.part == "files" and options.folder is None)
        folder = (
            Path(tempfile.mkdtemp(prefix="negative_downsampling_"))
            if partial
            else RESULTS / options.part
        )
    began = time.perf_counter()
    try:
        with _common.results_folder(folder) as results:
            if options.part == "published":
                holds = run_published(results, quick=options.quick)
            else:
                holds = run_files(results, options.folder, quick=options.quick)
    except InputError as error:
        print(f"error: {error}", file=sys.stderr)
        return 2
    print(f"{time.perf_counter() - began:.0f} s; results in {folder}")
    return 0 if holds else 1


if __name__ == "__main__":
    sys.exit(main())
