"""Examples must not show what one version of a booster says on the side, and need their extras."""

import gc
import getpass
import os
import re
import secrets
import sys
import tempfile
from collections.abc import Iterator
from importlib.metadata import version
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest

# Before a booster is imported: -n has the cores, and threads that wait for each other shall sleep.
# LightGBM's estimators do not read OMP_NUM_THREADS, but ask joblib for the cores.
os.environ.setdefault("OMP_NUM_THREADS", "1")
os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")
os.environ.setdefault("LOKY_MAX_CPU_COUNT", "1")

if sys.dont_write_bytecode:  # so nothing lies beside the sources; but many processes import them
    folder = Path(tempfile.gettempdir()) / f"gbdt_objectives-compiled-{getpass.getuser()}"
    os.environ["PYTHONPYCACHEPREFIX"] = sys.pycache_prefix = str(folder)
    os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
    sys.dont_write_bytecode = False

EXTRAS = {
    "catboost": "gbdt_objectives/adapters/catboost",
    "click": "gbdt_objectives/_command_line",
    "dask": "gbdt_objectives/distributed/dask gbdt_objectives/experimental/dask.py",
    "onnxruntime": "gbdt_objectives/serving/onnx.py",
    "jax": "gbdt_objectives/objectives/function.py",
    "pyspark": "gbdt_objectives/distributed/spark.py",
}
collect_ignore_glob = [
    "tests/formats/[0-9]*/*/predict.py",  # scripts of exported folders
    "tests/soak/*",  # long runs, by hand
]
collect_ignore = [
    path for extra, paths in EXTRAS.items() if not find_spec(extra) for path in paths.split()
]


NO_WARNING = r"error:(?!'\w+' (argument is )?deprecated):UserWarning"
"""Of users, but what pyparsing says of calls by the oldest matplotlib."""


class Silent:
    def info(self, message: str) -> None: ...

    warning = info


if version("lightgbm").startswith(
    ("4.2.", "4.3.", "4.4.")
):  # talks under a custom objective, whatever verbosity=
    import lightgbm

    lightgbm.register_logger(Silent())


def pytest_addoption(parser: Any) -> None:
    parser.addoption(
        "--last-bits",
        metavar="SEED",
        help="compute as another processor would: tests/last_bits.py; 'fresh' draws a seed",
    )


def pytest_terminal_summary(terminalreporter: Any, config: Any) -> None:
    if config.option.last_bits is not None:
        terminalreporter.write_line(f"last bits: disturbed, --last-bits={config.option.last_bits}")


def pytest_configure(config: Any) -> None:
    """With -n, tests of a group run in one process, which alone starts what they share."""
    if config.option.last_bits is not None:
        from tests import last_bits

        if config.option.last_bits == "fresh":  # before -n hands it to its processes
            config.option.last_bits = str(secrets.randbelow(10**6))
        if last_bits.seed is None:
            last_bits.install(int(config.option.last_bits))
    if os.environ.get("WARNINGS_ARE_ERRORS"):  # the lines of pyproject.toml come later, and so hold
        config.getini("filterwarnings").insert(0, "error")
    if getattr(config.option, "dist", "no") == "load":
        config.option.dist = "loadgroup"
        config.option.loadscopereorder = False  # see slowest_first


@pytest.hookimpl(wrapper=True, optionalhook=True)
def pytest_xdist_auto_num_workers(config: Any) -> Iterator[None]:
    """One process more than -n auto would start: one of them mostly waits for the clusters, and for
    the scripts, that its tests have started."""
    found = yield
    asked = os.environ.get("PYTEST_XDIST_AUTO_NUM_WORKERS")
    return found if asked or config.option.markexpr == "not slow" else found + 1


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: Any, log: Any) -> Any:
    """With -n, tests of a file run in one process too, unless they are in a group: what they share
    is made once, and pytest-xdist takes a third of the time to hand them out."""
    if config.option.dist != "loadgroup":
        return None
    from xdist.scheduler import LoadGroupScheduling

    class OfFiles(LoadGroupScheduling):
        def _split_scope(self, nodeid: str) -> str:
            group: str = super()._split_scope(nodeid)
            return nodeid.partition("::")[0] if group == nodeid else group

    return OfFiles(config, log)


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Iterator[None]:
    """Modules and tests stay to the end, so that no search for garbage looks at them."""
    gc.disable()
    try:
        return (yield)
    finally:
        gc.freeze()
        gc.enable()


def slowest_first(items: list[Any]) -> list[Any]:
    """Groups and files with many slow tests before others, so that no process works alone at the
    end. Both have their tests in one place."""
    found: dict[str, list[Any]] = {}
    for item in items:
        group = item.get_closest_marker("xdist_group")
        found.setdefault(group.args[0] if group else item.nodeid.partition("::")[0], []).append(
            item
        )

    def length(tests: list[Any]) -> tuple[int, int]:
        return sum(test.get_closest_marker("slow") is not None for test in tests), len(tests)

    return [item for tests in sorted(found.values(), key=length, reverse=True) for item in tests]


def pytest_collection_modifyitems(config: Any, items: list[Any]) -> None:
    """Let no example warn. Leave out what disturbed last bits would break by what it claims, and
    name the group of a test at the end of its id, where pytest-xdist looks for it.

    Its own processes do so only if --dist is an argument, and from pytest 9.2 on not even then
    (pytest-dev/pytest-xdist#1386).
    """
    for item in items:
        if isinstance(item, pytest.DoctestItem):
            item.add_marker(pytest.mark.filterwarnings(NO_WARNING))
    if config.option.last_bits is not None:
        for item in items:
            for mark in item.iter_markers("one_route"):
                item.add_marker(pytest.mark.skip(reason=f"one route: {mark.args[0]}"))
    if not hasattr(config, "workerinput"):
        return
    items[:] = slowest_first(items)
    for item in items:
        for mark in item.iter_markers("xdist_group"):
            if not item.nodeid.endswith(f"@{mark.args[0]}"):
                name = f"{item.nodeid}@{mark.args[0]}"
                if hasattr(item, "_id"):
                    item._id = type(item._id).parse(name)
                else:  # pytest before 9.2
                    item._nodeid = name


SLOW_AS_A_WHOLE = re.compile(r"^pytestmark = (\[\s*)?pytest\.mark\.slow\b", re.MULTILINE)


def pytest_ignore_collect(collection_path: Path, config: Any) -> bool | None:
    """The inner loop does not import files of which it runs nothing: half of the time before the
    first test."""
    if config.option.markexpr != "not slow" or collection_path.suffix != ".py":
        return None
    if "gbdt_objectives/distributed/dask" in collection_path.as_posix():
        return True  # tests/conftest.py marks them
    return bool(SLOW_AS_A_WHOLE.search(collection_path.read_text(encoding="utf-8"))) or None
