"""Break the package on purpose, one place at a time, and see whether the fast tests notice.

``python -m tests.mutation gbdt_objectives/priors/*.py --sample 40`` tries 40 mutants of each file,
drawn with the seed ``--random-state``, on a copy of the repository in a temporary folder. It
updates the rows of these files in ``results.csv`` and ``survivors.csv``, beside this file. What
survives needs a test that kills it, or a reason in ``survivors.csv`` why nobody could tell it from
the original; without one the command fails.

The mutants are those of mutmut, less what fails wherever it runs (``x = None``, ``f(None)``) and
what no test should fix: annotations, ``__all__``, the texts and the arguments' names of errors,
``strict=`` of zip, ``copy=`` of casts, a warning's stack level, and its kind where that is the
default.
"""

from __future__ import annotations

import argparse
import csv
import difflib
import importlib
import importlib.metadata
import importlib.util
import multiprocessing
import os
import platform
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import redirect_stderr, redirect_stdout, suppress
from datetime import date
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import libcst as cst
import pytest
from libcst.metadata import MetadataWrapper, PositionProvider
from mutmut.mutation.mutators import mutation_operators, operator_arg_removal, operator_assignment

ROOT = Path(__file__).parents[2]
HERE = Path(__file__).parent
PACKAGE = "gbdt_objectives"
SLOWER = 5  # times as long as the tests take without a mutant, after which it counts as killed
OPTIONS = ["-x", "-q", "-p", "no:cacheprovider", "-p", "no:xdist", "-p", "no:timeout"]
FAST = ("-m", "not slow and not ci")
NOT_SEEN = ("strict", "copy", "stacklevel")
"""Arguments by name that guard what the lines above have made sure of, or show in no result."""
MORE_TESTS = {
    "adapters/__init__.py": "adapters/test_imbalance adapters/test_intercept "
    "adapters/test_class_probability",
    "adapters/_arguments.py": "adapters/test_train adapters/test_parameters "
    f"adapters/test_intercept adapters/test_silently_wrong {PACKAGE}/adapters",
    "adapters/_estimators.py": "adapters/test_contract adapters/test_silently_wrong",
    "_command_line/files.py": "command_line/test_options test_commands "
    "command_line/test_model_files",
    "adapters/_models.py": "adapters/test_conversion",
    "adapters/_train.py": "adapters/test_cv adapters/test_contract",
    "estimators/_base.py": "estimators/test_members estimators/test_downsampled_classifier "
    "estimators/test_calibrated_classifier",
    "adapters/estimators.py": "adapters/test_spellings adapters/test_parameters "
    "adapters/test_contract serving/test_silently_wrong serving/test_nonsense "
    "serving/test_contract",
    "adapters/intercept.py": "adapters/test_imbalance adapters/test_conversion "
    "estimators/test_downsampled_classifier",
    "adapters/parameters.py": "adapters/test_spellings adapters/test_cv adapters/test_estimators "
    "adapters/test_contract adapters/test_silently_wrong",
    "calibration/calibrators.py": "calibration/test_spline_calibrator",
    "calibration/reliability.py": "calibration/test_sampled_rows calibration/test_segments",
    "calibration/hull.py": "estimators/test_probability_tree",
    "_checks/tables.py": "checks/test_columns",
    "experimental/delay.py": "objectives/test_contract experimental/test_delayed",
    "objectives/function.py": "objectives/test_autodiff",
    "priors/shift.py": "checks/test_columns",
    "_rows/rows.py": "test_domain objectives/test_base objectives/test_qwk",
}
"""Of a module, in any library's folder: files in tests, or a folder with doctests."""


class Mutant(NamedTuple):
    line: int
    before: str
    after: str
    code: str


class Places(cst.CSTVisitor):
    """Every node that can be replaced, with what replaces it and its line."""

    METADATA_DEPENDENCIES = (PositionProvider,)

    def __init__(self) -> None:
        self.found: list[tuple[int, cst.CSTNode, cst.CSTNode]] = []

    def on_visit(self, node: cst.CSTNode) -> bool:
        if is_call_of(node, ("isinstance", "len")):  # fails wherever an argument is missing
            return False
        if (
            is_not_seen(node)
            or isinstance(node, (cst.Annotation, cst.Decorator, cst.ImportFrom, cst.Raise))
            or (isinstance(node, cst.Assign) and is_for_readers(node))
        ):
            return False
        if not (isinstance(node, cst.SimpleString) and " " in node.value):  # a sentence
            line = self.get_metadata(PositionProvider, node, None)
            self.found += [(line.start.line, node, new) for new in replacements(node)]
        return not is_check(node) or self.visit_but_name(node)

    def visit_but_name(self, check: cst.CSTNode) -> bool:
        """``_checks.number("alpha", alpha)``: the first argument is for the message."""
        assert isinstance(check, cst.Call)
        for argument in check.args[1:]:
            argument.visit(self)
        return False


def replacements(node: cst.CSTNode) -> Iterator[cst.CSTNode]:
    for kind, operator in mutation_operators:
        if isinstance(node, kind) and operator is not operator_assignment:
            for new in operator(node):
                if operator is operator_arg_removal:
                    removed = [argument for argument in node.args if argument not in new.args]
                    if len(new.args) == len(node.args) or any(map(is_not_seen, removed)):
                        continue
                if not (isinstance(node, cst.SimpleString) and "XX" not in new.value):
                    yield new


def is_not_seen(node: cst.CSTNode) -> bool:
    return isinstance(node, cst.Arg) and (
        (node.keyword is not None and node.keyword.value in NOT_SEEN)
        or (isinstance(node.value, cst.Name) and node.value.value == "UserWarning")
    )


def is_call_of(node: cst.CSTNode, names: tuple[str, ...]) -> bool:
    function = node.func if isinstance(node, cst.Call) else None
    return isinstance(function, cst.Name) and function.value in names


def is_check(node: cst.CSTNode) -> bool:
    function = node.func if isinstance(node, cst.Call) else None
    return (
        isinstance(function, cst.Attribute)
        and isinstance(function.value, cst.Name)
        and function.value.value == "_checks"
    )


def is_for_readers(assignment: cst.Assign) -> bool:
    """``__all__``, and names of types."""
    target, value = assignment.targets[0].target, assignment.value
    if is_call_of(value, ("TypeVar", "ParamSpec")):
        return True
    return (isinstance(target, cst.Name) and target.value == "__all__") or (
        isinstance(value, cst.Subscript)
        and isinstance(value.value, cst.Name)
        and value.value.value in ("Callable", "NDArray", "Literal")
    )


def drawn(source: str, sample: int | None, seed: str) -> tuple[int, list[Mutant]]:
    """How many mutants the source has, and ``sample`` of them, in the order of lines."""
    wrapper = MetadataWrapper(cst.parse_module(source), unsafe_skip_copy=True)
    places = Places()
    wrapper.visit(places)
    chosen, count = places.found, len(places.found)
    if sample is not None and sample < count:
        chosen = [chosen[i] for i in sorted(random.Random(seed).sample(range(count), sample))]
    return count, [mutant(wrapper.module, source, *place) for place in chosen]


def mutant(
    module: cst.Module, source: str, line: int, node: cst.CSTNode, new: cst.CSTNode
) -> Mutant:
    code = module.deep_replace(node, new).code  # type: ignore[union-attr]
    old_lines, new_lines = source.splitlines(), code.splitlines()
    changes = difflib.SequenceMatcher(None, old_lines, new_lines, autojunk=False).get_opcodes()
    _, i1, i2, j1, j2 = next(change for change in changes if change[0] != "equal")
    before, after = (" ".join(map(str.strip, s)) for s in (old_lines[i1:i2], new_lines[j1:j2]))
    return Mutant(i1 + 1, before, after, code)


Stages = list[tuple[str, ...]]


def stages(file: str) -> Stages:
    """Arguments of pytest: first the tests of the module, slow ones too, then the fast ones of its
    whole room."""
    inside = Path(file).relative_to(PACKAGE)
    if inside.as_posix() == "_rows/workers.py":
        return [("tests/test_workers.py", "-m", "")]  # all are slow
    room = Path("tests", inside.parts[0].lstrip("_"))
    own = room / f"test_{inside.stem.lstrip('_')}.py"
    mirror = [own.as_posix()] if own.exists() else []
    more = [
        name if name.startswith(PACKAGE) else f"tests/{name}.py"
        for name in MORE_TESTS.get(f"{inside.parts[0]}/{inside.name}", "").split()
    ]
    whole = [(room.as_posix(), *FAST)] if room.exists() else []
    return [(*mirror, *more, file, "-m", "not ci"), *whole]


def run_stages(stages: Stages, modules: Any = None) -> None:
    """In a process of its own: exit with pytest's code; 5, no tests, is as good as 0."""
    os.setsid()
    with open("pytest.log", "w") as log, redirect_stdout(log), redirect_stderr(log):
        for arguments in stages:
            code = int(pytest.main([*OPTIONS, *arguments]))
            if code not in (0, 5):
                break
    if modules is not None:
        modules.put([name for name in sys.modules if not is_ours(name)])
        modules.close()
        modules.join_thread()
    os._exit(0 if code == 5 else code)  # at once: joblib's workers would be waited for


def is_ours(name: str) -> bool:
    return name.partition(".")[0] in (PACKAGE, "tests", "conftest", "__main__", "__mp_main__")


def outcome(stages: Stages, limit: float) -> str:
    process = FORK.Process(target=run_stages, args=(stages,))
    process.start()
    process.join(limit)
    too_slow = process.is_alive()
    end(process)
    return "too slow" if too_slow else "survived" if process.exitcode == 0 else "killed"


def end(process: Any) -> None:
    """Kill the process, and what it has started."""
    with suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)
    process.join()


FORK = multiprocessing.get_context("fork")


@cache
def prepare(*stages: tuple[str, ...]) -> float:
    """Seconds of the tests without a mutant. Imports what they import of others, once for all."""
    started = time.perf_counter()
    modules = FORK.Queue()
    process = FORK.Process(target=run_stages, args=(list(stages), modules))
    process.start()
    names = modules.get()
    process.join()
    end(process)
    if process.exitcode != 0:
        raise SystemExit("the tests fail without a mutant:\n" + Path("pytest.log").read_text())
    seconds = time.perf_counter() - started
    for name in names:
        with suppress(Exception):
            importlib.import_module(name)
    return seconds


def try_file(file: str, sample: int | None, seed: int) -> tuple[dict[str, Any], list[Mutant]]:
    """The row of a file in the results, and its survivors. Runs in the copy."""
    path, arguments = Path(file), stages(file)
    source = path.read_text()
    count, mutants = drawn(source, sample, f"{seed} {file}")
    limit = 10 + SLOWER * sum(prepare(stage) for stage in arguments)
    Path(importlib.util.cache_from_source(file)).unlink(missing_ok=True)

    def result(code: str) -> str:
        path.write_text(code)
        return outcome(arguments, limit)

    started = time.perf_counter()
    try:
        write_bytecode(False)  # a mutant of the same second and size would be read from it
        if result(source + "\nraise RuntimeError\n") != "killed":
            raise SystemExit(f"the tests do not import {path.resolve()}")
        results = []
        for mutant in mutants:
            results.append(result(mutant.code))
            if results[-1] == "survived":
                print(f"{file}:{mutant.line}\n  - {mutant.before}\n  + {mutant.after}", flush=True)
    finally:
        path.write_text(source)
        write_bytecode(True)
    survivors = [m for m, found in zip(mutants, results, strict=True) if found == "survived"]
    row = {
        "file": file,
        "mutants": count,
        "tried": len(mutants),
        "killed": len(mutants) - len(survivors),
        "too_slow": results.count("too slow"),
        "share": f"{1 - len(survivors) / max(len(mutants), 1):.3f}",
        "seconds": round(time.perf_counter() - started),
        "seed": seed,
        "date": date.today().isoformat(),
        "environment": environment(),
    }
    print(", ".join(f"{key} {value}" for key, value in list(row.items())[:7]), flush=True)
    return row, survivors


def write_bytecode(write: bool) -> None:
    sys.dont_write_bytecode = not write
    os.environ["PYTHONDONTWRITEBYTECODE"] = "" if write else "1"  # of processes that tests start


def environment() -> str:
    names = ("mutmut", "numpy", "scikit-learn", "xgboost", "lightgbm")
    versions = [f"{name} {importlib.metadata.version(name)}" for name in names]
    return "; ".join([f"Python {platform.python_version()}", *versions])


def copied(folder: Path) -> None:
    """The repository as it stands, what git ignores left out."""
    listed = ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
    names = subprocess.run(listed, cwd=ROOT, check=True, capture_output=True, text=True).stdout
    for name in filter(None, names.split("\0")):
        if (ROOT / name).is_file():
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(ROOT / name, folder / name)


def enter(folder: Path) -> None:
    """Import package and tests from the folder, here and in processes started from here."""
    os.chdir(folder)
    os.environ["PYTHONPATH"] = str(folder)
    write_bytecode(True)
    sys.path = [str(folder), *(p for p in sys.path if p and Path(p).resolve() != ROOT)]
    for name in [name for name in sys.modules if name.partition(".")[0] == "tests"]:
        del sys.modules[name]


def read(path: Path) -> list[dict[str, str]]:
    if not path.exists():
        return []
    with path.open(newline="") as file:
        return list(csv.DictReader(file))


def write(path: Path, rows: list[dict[str, Any]]) -> None:
    with path.open("w", newline="") as file:
        writer = csv.DictWriter(file, list(rows[0]) if rows else ["file"], lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows)


def note(row: dict[str, Any], survivors: list[Mutant]) -> int:
    """Replace the rows of the file; how many survivors have no reason."""
    file, results, listed = row["file"], HERE / "results.csv", HERE / "survivors.csv"
    write(results, sorted([r for r in read(results) if r["file"] != file] + [row], key=by_file))
    known = {(r["before"], r["after"]): r["reason"] for r in read(listed) if r["file"] == file}
    new = [
        {
            "file": file,
            "line": m.line,
            "before": m.before,
            "after": m.after,
            "reason": known.get((m.before, m.after), ""),
        }
        for m in survivors
    ]
    write(listed, sorted([r for r in read(listed) if r["file"] != file] + new, key=by_file))
    return sum(not r["reason"] for r in new)


def by_file(row: dict[str, Any]) -> str:
    return row["file"]


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.mutation", description=__doc__)
    parser.add_argument("files", nargs="+", metavar="FILE", help=f"files of {PACKAGE}/")
    parser.add_argument("--sample", type=int, help="mutants of each file; all if left out")
    parser.add_argument("--random-state", type=int, default=0, help="seed of the sample")
    options = parser.parse_args()
    files = [Path(file).resolve().relative_to(ROOT).as_posix() for file in options.files]
    unexplained = 0
    with tempfile.TemporaryDirectory() as folder:
        copied(Path(folder))
        enter(Path(folder))
        for file in files:
            unexplained += note(*try_file(file, options.sample, options.random_state))
    if unexplained:
        print(f"{unexplained} survivors have no reason in {HERE.name}/survivors.csv")
    return int(unexplained > 0)


if __name__ == "__main__":
    sys.exit(main())
