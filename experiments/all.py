"""All studies one after another, each in a process of its own, into its committed results.

What has a record (environment.json) of ``--since`` or later is left out, so that a run that was
stopped goes on with the same command. With --quick each is tried in small, into nowhere.
"""

from __future__ import annotations

import argparse
import datetime
import re
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, requires, version
from pathlib import Path

from experiments import _common

HERE = Path(__file__).parent
FILES = ("winequality-white", "skill", "californiahousing")  # of whole numbers in "response"
TARGET = ("--target", "response")


@dataclass(frozen=True)
class Study:
    """A command: ``python -m experiments.<module> <arguments>``, and where its record goes.

    {folder} in an argument is the folder of the CSV files; ``quick`` are those in small, None
    where another study's say it already.
    """

    module: str
    arguments: tuple[str, ...] = ()
    results: str = "results"
    quick: tuple[str, ...] | None = ()

    @property
    def name(self) -> str:
        return " ".join((self.module, *self.arguments)).replace("{folder}", "FOLDER")

    @property
    def record(self) -> Path:
        return HERE / self.module.split(".")[0] / self.results / _common.RECORD


def on_files(module: str) -> Study:
    return Study(module, ("{folder}",))


def ordinal_data(file: str, *options: str) -> Study:
    arguments = (f"{{folder}}/{file}.csv", *TARGET, *options)
    return Study("ordinal_data", arguments, f"results/{file}{''.join(options)[1:]}", None)


STUDIES = (
    Study("qwk_synthetic"),
    Study("qwk_draws"),
    *(ordinal_data(file) for file in FILES),
    *(ordinal_data(file, "--no-clip") for file in FILES),
    Study("ordinal_data.ordinal_logit", ("{folder}",), "results/ordinal-logit", None),
    on_files("ordinal_benchmark"),
    on_files("qwk_default"),
    on_files("early_stopping"),
    Study("threshold_study", (*(f"{{folder}}/{file}.csv" for file in FILES), *TARGET)),
    Study("threshold_study.rare", results="results/rare"),
    on_files("segment_thresholds"),
    on_files("ordinal_probabilities"),
    Study("ordinal_probabilities.few_rows", ("{folder}",), "results/few_rows", None),
    on_files("ordinal_packages"),
    on_files("averaged_probabilities"),
    on_files("decisions"),
    on_files("decision_rules"),
    on_files("action_costs"),
    Study("performance_coverage"),
    Study("comparison_level"),
    Study("negative_downsampling", ("published",), "results/published", ("published",)),
    Study("negative_downsampling", ("files", "{folder}"), "results/files", ("files",)),
    on_files("linear_member"),
    on_files("bag_averages"),
    on_files("averaged_models"),
    on_files("five_bags"),
    on_files("curvature"),
    Study("delayed_labels"),
    on_files("focal"),
    Study("prior_uncertainty"),
    Study("calibrators"),
    Study("few_events"),
    on_files("segment_calibrator"),
    Study("calibration_coverage"),
    Study("monitor"),
    Study("constraint_coverage"),
    Study("precision_start"),
    Study("migration"),
)


def date_of(record: Path) -> str:
    """The day of a committed run, "" where none is known."""
    return str(_common.read_json(record).get("date", "")) if record.exists() else ""


def missing_peers() -> list[str]:
    """Of the extra ``peers``, which some studies do without, what is not installed."""
    peers = (r for r in requires("gbdt_objectives") or () if re.search(r"extra == .peers", r))
    names = [re.split(r"[^\w.-]", requirement)[0] for requirement in peers]
    return [name for name in names if not is_installed(name)]


def is_installed(name: str) -> bool:
    try:
        return bool(version(name))
    except PackageNotFoundError:
        return False


def run(study: Study, arguments: Sequence[str], record: Path) -> str:
    """What the study printed; RuntimeError with all of it if it wrote no record of its run.

    Its status does not say: 1 is a claim that fails, which is a result.
    """
    command = [sys.executable, "-m", f"experiments.{study.module}", *arguments]
    began = time.time_ns()
    done = subprocess.run(command, cwd=HERE.parent, text=True, capture_output=True)
    if not record.exists() or record.stat().st_mtime_ns < began:
        raise RuntimeError(f"status {done.returncode}\n{done.stdout}{done.stderr}")
    return done.stdout


def in_full(study: Study, folder: Path) -> str:
    arguments = [a.replace("{folder}", str(folder.resolve())) for a in study.arguments]
    return run(study, arguments, study.record)


def in_small(study: Study) -> str:
    with tempfile.TemporaryDirectory() as nowhere:
        arguments = [*(study.quick or ()), "--quick", "--output", nowhere]
        return run(study, arguments, Path(nowhere) / _common.RECORD)


def _last_line(text: str) -> str:
    return text.strip().splitlines()[-1] if text.strip() else "nothing printed"


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(
        prog="python -m experiments.all", description=(__doc__ or "").splitlines()[0]
    )
    parser.add_argument("folder", type=Path, nargs="?", metavar="FOLDER", help="of the CSV files")
    parser.add_argument("--quick", action="store_true", help="each in small; needs no files")
    parser.add_argument(
        "--since", type=datetime.date.fromisoformat, metavar="DAY",
        help="leave out what has run on this day (2026-11-24) or later",
    )  # fmt: skip
    parser.add_argument(
        "--only", nargs="+", metavar="MODULE", help="these, as threshold_study.rare"
    )
    options = parser.parse_args(arguments)
    modules = {study.module for study in STUDIES}
    if unknown := set(options.only or ()) - modules:
        parser.error(f"--only: no study is named {', '.join(sorted(unknown))}: {sorted(modules)}")
    if not options.quick and (options.folder is None or not options.folder.is_dir()):
        parser.error(f"FOLDER must be that of the CSV files, found {options.folder}, or --quick")
    if not options.quick and (missing := missing_peers()):
        parser.error(f"without {', '.join(missing)} the results would lack them: pip install "
                     "'gbdt_objectives[peers]'")  # fmt: skip
    wanted = [study for study in STUDIES if study.module in (options.only or modules)]
    if options.quick:
        wanted = [study for study in wanted if study.quick is not None]
    if options.since:
        wanted = [study for study in wanted if date_of(study.record) < options.since.isoformat()]
    failed = False
    for study in wanted:
        began = time.perf_counter()
        try:
            last = _last_line(in_small(study) if options.quick else in_full(study, options.folder))
        except RuntimeError as error:
            failed, last = True, str(error)
        print(f"{study.name}: {time.perf_counter() - began:.0f} s: {last}", flush=True)
    return int(failed)


if __name__ == "__main__":
    sys.exit(main())
