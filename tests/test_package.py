"""The rules of the house: who imports whom, what is public, what documentation it has."""

from __future__ import annotations

import ast
import importlib
import inspect
import re
import subprocess
import sys
import warnings
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from types import ModuleType
from typing import Any

import gbdt_objectives as go
from gbdt_objectives._names import ROOMS
from gbdt_objectives._registry import EVERY
from tests.cases import each

PACKAGE = Path(go.__file__).parent
MATHS = {"objectives", "metrics", "thresholds", "priors", "calibration"}
BOOSTERS = {*EVERY, "dask", "pyspark"} - {"sklearn"}


def test_import_loads_nothing_heavy_and_dask_for_dask_collections_only() -> None:
    heavy = ["xgboost", "lightgbm", "scipy", "sklearn", "matplotlib", "pandas", "dask"]
    code = (
        "import sys, gbdt_objectives as go; go.qwk_objective; go.qwk_metric; go.shift_intercept\n"
        "go.qwk_objective([0, 1])([0, 1], [0.4, 0.5])\n"
        f"print([name for name in {heavy} if name in sys.modules])\n"
        "import numpy as np\n"
        "y, p = np.array([0, 1] * 9), np.linspace(0.1, 0.9, 18)\n"
        "go.calibration.calibration_ratio_by_segment(y, p, y)\n"
        "go.calibration.reliability_bins(y, p)\n"
        "go.optimize_thresholds(y, p), go.quadratic_weighted_kappa(y, y), go.qwk_objective(y)\n"
        "go.objectives.kappa_objective('absolute', y), go.priors.measured_keep_rates(y, y)\n"
        "print([name for name in ('dask', 'distributed') if name in sys.modules])\n"
        "go.adapters.lightgbm.train, go.adapters.xgboost.XGBRegressor\n"  # rooms are attributes
        "go.distributed.WorkersDisagree"
    )
    out = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True)
    assert out.stdout.split() == ["[]", "[]"]


@cache
def nodes(path: Path) -> list[ast.AST]:
    return list(ast.walk(ast.parse(path.read_text())))


def imports(path: Path) -> set[str]:
    """Every module imported anywhere in a file, inside functions too."""
    found: set[str] = set()
    for node in nodes(path):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path}: relative import"
            found.add(node.module or "")
            found |= {f"{node.module}.{alias.name}" for alias in node.names}
    return found


MODULES = sorted(PACKAGE.rglob("*.py"))


@each("path", MODULES, ids=lambda p: str(p.relative_to(PACKAGE)))
def test_maths_knows_no_booster(path: Path) -> None:
    place = path.relative_to(PACKAGE)
    room = place.parts[0]
    for name in imports(path):
        if room not in {"adapters", "distributed", "experimental"} and place != Path(
            "_rows/workers.py"
        ):
            assert name.split(".")[0] not in BOOSTERS, f"{path} imports {name}"
        if room in MATHS:
            ours = name.split(".")[1] if name.startswith("gbdt_objectives.") else None
            if ours in MATHS - {room}:  # another room's public names only, not its insides
                inside = (PACKAGE / ours / f"{name.split('.')[-1]}.py").exists()
                is_public = name.count(".") < 2 or (name.count(".") == 2 and not inside)
                assert is_public, (
                    f"{path} imports {name}, the inside of another room: maths uses the public "
                    f"names of gbdt_objectives.{ours} only, such as its factories"
                )


FLOORS = (
    ("_registry", "_names", "_public", "_steps.formulas", "_rows.workers"),
    ("_links",),
    ("_checks",),
    ("_rows",),
    ("_steps",),
    ("objectives",),
    ("metrics",),
    ("thresholds", "priors", "calibration", "datasets"),
    ("adapters",),
    ("estimators",),
    ("serving",),
    ("evaluation", "distributed", "plotting", "checking", "experimental", "_command_line"),
)
"""The house, from the ground up: no import goes up, inside functions neither, but for those that
``_registry.load`` makes by name (a library's adapter, export, sums over partitions)."""


def floor(module: str) -> int:
    """The floor of a module: that of the longest name that it begins with."""
    names = [(len(name), k) for k, floor in enumerate(FLOORS) for name in floor
             if f"{module}.".startswith(f"gbdt_objectives.{name}.")]  # fmt: skip
    return max(names)[1]


def module_of(path: Path) -> str:
    parts = ("gbdt_objectives", *path.relative_to(PACKAGE).with_suffix("").parts)
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


@each("path", MODULES, ids=lambda p: str(p.relative_to(PACKAGE)))
def test_no_import_goes_up(path: Path) -> None:
    module, all_of_ours = module_of(path), set(map(module_of, MODULES))
    if path.parent == PACKAGE and path.stem in ("__init__", "__main__"):
        return
    found = imports(path) & all_of_ours
    for name in found - {child.rpartition(".")[0] for child in found}:  # packages of modules
        is_type = (module, name) == (
            "gbdt_objectives._registry",
            "gbdt_objectives.adapters._models",
        )
        assert is_type or floor(name) <= floor(module), f"{module} imports {name}, a floor above"


OTHER_THINGS = {
    "_links.py": {"softmax"}, "objectives/logloss.py": {"softplus"},  # of arrays of any library
    "_command_line/commands.py": {"apply"}, "calibration/monitor.py": {"shift"},
    "_command_line/probabilities.py": {"calibrate", "shift"},
    "thresholds/rows.py": {"apply"}, "thresholds/segments.py": {"apply"},
    "thresholds/decisions.py": {"apply"}, "thresholds/actions.py": {"apply"},
}  # fmt: skip
"""Functions that have the name of a formula, and are none."""


def test_a_formula_is_defined_once() -> None:
    def names(path: Path) -> set[str]:
        return {node.name for node in nodes(path) if isinstance(node, ast.FunctionDef)}

    ground = PACKAGE / "_steps" / "formulas.py"
    assert {name.split(".")[0] for name in imports(ground)} == {"__future__", "typing", "numpy"}
    for path in set(MODULES) - {ground}:
        place = path.relative_to(PACKAGE).as_posix()
        assert names(path) & names(ground) == OTHER_THINGS.get(place, set()), place


WORDS = set(EVERY)
HOMES = {("adapters", name) for name in EVERY}


@each("path", MODULES, ids=lambda p: str(p.relative_to(PACKAGE)))
def test_only_the_registry_imports_by_a_computed_name(path: Path) -> None:
    names = {node.id for node in nodes(path) if isinstance(node, ast.Name)}
    assert path.name == "_registry.py" or not names & {"import_module", "__import__"}


def test_libraries_are_named_in_their_folders() -> None:
    """Elsewhere nothing is compared with a library's name, and few files write one."""
    named: dict[str, int] = {}
    for path in MODULES:
        place = path.relative_to(PACKAGE)
        if str(place) == "_registry.py" or place.parts[:2] in HOMES:
            continue
        for node in nodes(path):
            if isinstance(node, ast.Constant) and node.value in WORDS:
                named[str(place)] = named.get(str(place), 0) + 1
            if isinstance(node, ast.Compare) and str(place) != "checking/probe.py":
                sides = [node.left, *node.comparators]
                values = {side.value for side in sides if isinstance(side, ast.Constant)}
                assert not values & WORDS, f"{place}:{node.lineno}"
    assert sum(named.values()) <= 11, named
    assert len(named) <= 5, named


def test_public_names_are_importable_and_listed_once() -> None:
    stub = (PACKAGE / "__init__.pyi").read_text()
    listed = [
        (node.module, alias.name)
        for node in ast.parse(stub).body
        if isinstance(node, ast.ImportFrom)
        for alias in node.names
    ]
    rooms = [name for module, name in listed if module == "gbdt_objectives"]
    names = [name for module, name in listed if module != "gbdt_objectives"]
    assert sorted(names) == sorted(set(names)) == go.__all__
    assert sorted(rooms) == sorted(ROOMS)
    assert dir(go) == sorted([*names, *rooms, "__version__"])
    for module, name in listed:
        assert getattr(go, name) is not None
        assert module == "gbdt_objectives" or name in importlib.import_module(module).__all__
    assert (PACKAGE / "py.typed").exists()


def room(name: str) -> ModuleType:
    return importlib.import_module(f"gbdt_objectives.{name}")


@each("name", ROOMS)
def test_a_room_shows_its_public_names_only(name: str) -> None:
    assert dir(room(name)) == sorted(room(name).__all__)
    assert all(name[0] != "_" for name in dir(room(name)))


def public() -> list[Any]:
    modules = [room(name) for name in ROOMS]
    modules += [room(f"adapters.{name}") for name in EVERY if find_spec(name)]
    if find_spec("dask"):
        modules += [room("distributed.dask"), room("experimental.dask")]
    things = [getattr(module, name) for module in modules for name in module.__all__ if name not in
              {"dask", "spark", *EVERY}]  # fmt: skip
    things = [thing for thing in things if inspect.isfunction(thing) or inspect.isclass(thing)]
    return list(dict.fromkeys(things))


def test_public_names_are_documented() -> None:
    each("thing", public(), ids=lambda t: f"{t.__module__}.{t.__name__}")(is_documented)()


def is_documented(thing: Any) -> None:
    doc = inspect.getdoc(thing) or ""
    first = doc.split("\n")[0]
    assert first.endswith("."), f"one line of purpose, found {first!r}"
    assert doc.split("\n")[1:2] in ([""], []), "the purpose is one line"
    if inspect.isfunction(thing):
        sections = ["Returns", "Examples"]
        sections += ["Parameters"] if inspect.signature(thing).parameters else []
        for section in sections:
            assert f"\n{section}\n{'-' * len(section)}\n" in doc, f"no section {section}"
        assert ">>>" in doc


def test_a_warning_points_at_the_users_line() -> None:
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        go.quadratic_weighted_kappa([1, 1], [1, 1])
        go.qwk_metric()([1, 1], [1, 1])
        go.optimize_thresholds([0, 1, 0, 1], [0.5] * 4)
        go.cross_validate_thresholds([0, 1, 0, 1] * 5, [0.5] * 20)
    files = {str(warning.message)[:12]: warning.filename for warning in told}
    assert files == {"y_true and y": __file__, "every row ge": __file__}


FUNCTIONS = [
    thing
    for name in set(ROOMS) - {"checking", "distributed"}
    for thing in vars(room(name)).values()
    if inspect.isfunction(thing) and thing.__name__ in room(name).__all__
]


@each("function", FUNCTIONS, ids=lambda f: f.__name__)
def test_what_does_it_take(function: Any) -> None:
    """Help names each argument, with a word on what it is."""
    text = str(inspect.getdoc(function))
    section = text.partition("\nParameters\n")[2].partition("\nReturns\n")[0]
    named: dict[str, str] = {}
    for names, words in re.findall(r"(?m)^(\w[\w, ]*?)(?: : .*)?\n((?: {4}.*\n|\n)+)", section):
        named |= dict.fromkeys(names.split(", "), words.strip())
    assert set(inspect.signature(function).parameters) <= set(named)
    assert all(named.values())


def words(node: ast.AST) -> int:
    """The words of a string; what stands in braces is one."""
    if isinstance(node, ast.JoinedStr):
        node = ast.Constant("".join(getattr(part, "value", "") if isinstance(part, ast.Constant)
                                    else "{}" for part in node.values))  # fmt: skip
    value = getattr(node, "value", None)
    return len(value.split()) if isinstance(value, str) else 0


@each("path", MODULES, ids=lambda p: str(p.relative_to(PACKAGE)))
def test_a_message_has_at_most_sixty_words(path: Path) -> None:
    """An f-string counts as a whole, with a word for each value; what is added to it, apart."""
    for node in nodes(path):
        is_warning = isinstance(node, ast.Call) and ast.unparse(node.func).split(".")[-1] == "warn"
        if isinstance(node, ast.Raise) or is_warning:
            longest = max(map(words, ast.walk(node)), default=0)
            assert longest <= 60, f"line {node.lineno} says {longest} words: shorten it"
