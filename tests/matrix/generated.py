"""A generated matrix: each public callable, its parameters of rows or classes, and all twists.

No cell is written by hand. ``recipes.py`` says what is given where nothing is wrong, by the names
of parameters; ``twists.py`` what is done to one argument, and what must then hold. A new public
callable has cells as soon as ``recipes.py`` knows the names of its parameters, and fails before.

A cell is RIGHT (the right answer) or TOLD (refused, or warned of, by the package), or it falls:

- SILENT: another answer, without a word;
- BARE: an error of a library or of Python, whose words are not about the argument; but what a
  library's own data set refuses, when it is made, is no call of ours;
- REFUSED: the same values in another form, which are refused.

A cell that is silent and stays so is MEANT: ``MEANT`` of ``recipes.py`` has a sentence for it.

``falls.csv`` lists the cells that fall today and ``right.csv`` those that are RIGHT; all others are
TOLD. ``python -m tests.matrix.generated [WORD ...]`` prints the cells that fall (``-v``: all) whose
names hold one of the words, and counts; ``--write`` writes both lists anew, as they are here.
"""

from __future__ import annotations

import csv
import inspect
import json
import linecache
import re
import sys
import warnings
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field, fields, is_dataclass
from fnmatch import fnmatchcase, translate
from functools import cache
from importlib import import_module
from importlib.metadata import version
from importlib.util import find_spec
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import lightgbm as lgb
import numpy as np
import xgboost as xgb
from sklearn.exceptions import NotFittedError
from sklearn.utils.validation import check_is_fitted

from gbdt_objectives._names import ROOMS
from tests.matrix import recipes
from tests.matrix.recipes import FEATURES, SPREAD, Spread, Task
from tests.matrix.twists import TWISTS, Tried, Twist

PACKAGE = "gbdt_objectives"
LIBRARIES = {f"adapters.{name}": name for name in ("xgboost", "lightgbm", "sklearn", "catboost")}
"""Rooms in a room, and what they need."""
PACKAGES = {**LIBRARIES, "plotting": "matplotlib", "evaluation.report": "matplotlib",
            "serving.export_onnx": "onnx"}  # fmt: skip
"""What cells need, by the beginning of their names."""
VERSIONS = {"numpy": "2.4", "pandas": "3.0", "scikit-learn": "1.9", "xgboost": "3.2",
            "lightgbm": "4.7"}  # fmt: skip
"""With which the lists were written. Older ones read some arguments in other ways."""
FALLS, RIGHT = (Path(__file__).parent / f"{name}.csv" for name in ("falls", "right"))

# --- public callables


@dataclass(frozen=True, eq=False)
class Entry:
    """A public callable."""

    name: str
    room: str
    function: Callable[..., Any]
    made_by: str
    """The function, or the class, that makes what a method is called on."""
    owner: Callable[[Task, Mapping[str, Any]], Any] | None = None
    """That which makes it, of a task and further arguments."""

    def __repr__(self) -> str:
        return self.name

    @property
    def method(self) -> str:
        return self.name.rpartition(".")[2]

    @property
    def key(self) -> str:
        """Its name in the tables of recipes."""
        return self.made_by if self.method == self.made_by else f"{self.made_by}.{self.method}"

    @property
    def trains(self) -> bool:
        """Whether it takes a library's data set."""
        return self.room in recipes.DATA and self.method in ("train", "cv")

    def spread(self) -> Mapping[str, Spread]:
        if self.trains:
            return recipes.data_of(self.room)
        if "a" in signature(self.function):
            return recipes.BOOSTERS_CALL
        return {name: row for name, row in SPREAD.items() if name in signature(self.function)}

    def kind(self, parameter: str) -> str:
        """The kind of twists that a parameter has, if it has any."""
        of_one = recipes.KIND_OF_ONE.get(self.key, {})
        return of_one.get(parameter, recipes.KIND.get(parameter, ""))

    def parameters(self) -> dict[str, bool]:
        """All parameters, columns in the place of what holds them; and whether it needs each."""
        found, spread = dict[str, bool](), self.spread()
        for name, p in signature(self.function).items():
            needed = p.default is p.empty
            if name in spread:
                for column in spread[name].columns:
                    found.setdefault(column, needed and column in ("X", "y", "y_true", "margin"))
            elif p.kind not in (p.VAR_KEYWORD, p.VAR_POSITIONAL):
                found[name] = needed
        return found

    def cells(self) -> list[str]:
        """The parameters that are twisted."""
        if lacks(self.name) or reason(self.name):
            return []
        names = [name for name in self.parameters() if self.kind(name)]
        return [name for name in names if not reason(f"{self.name}({name}=)")]

    def unknown(self) -> list[str]:
        """Parameters of which nobody has said what they are."""
        if reason(self.name) or not is_ours(self.function):
            return []
        known = {*recipes.PLAIN, *recipes.KIND, *recipes.KIND_OF_ONE.get(self.key, ())}
        return [name for name in self.parameters() if name not in known]


def reason(name: str) -> str | None:
    """Why a callable or a parameter has no cells."""
    return next((why for key, why in recipes.NOT_TRIED.items() if fnmatchcase(name, key)), None)


MEANT = re.compile("|".join(map(translate, recipes.MEANT)))


def is_meant(key: Key) -> bool:
    """Whether a sentence says why this cell is silent."""
    return MEANT.match(name_of(key)) is not None


@cache
def signature(function: Callable[..., Any]) -> dict[str, inspect.Parameter]:
    try:
        found = inspect.signature(function).parameters
    except (TypeError, ValueError):  # written in C
        return {}
    return {name: p for name, p in found.items() if name not in ("self", "cls")}


def is_ours(thing: Any) -> bool:
    return (getattr(thing, "__module__", None) or "").startswith(PACKAGE)


@cache
def public() -> list[tuple[str, str, Any]]:
    """(room, name, thing) of all functions and classes that are public, once each."""
    found: dict[int, tuple[str, str, Any]] = {}
    inner = {room.rpartition(".")[2] for room in LIBRARIES}
    for room in (*ROOMS, *LIBRARIES, ""):
        if room in recipes.ROOMS_NOT_TRIED or not is_here(LIBRARIES.get(room, "numpy")):
            continue
        module = import_module(f"{PACKAGE}.{room}".rstrip("."))
        for name in {*module.__all__} - {*ROOMS, *inner}:
            if f"{room}.{name}" not in recipes.ROOMS_NOT_TRIED:
                thing = getattr(module, name)
                is_error = inspect.isclass(thing) and issubclass(thing, BaseException)
                if callable(thing) and not is_error:
                    found.setdefault(id(thing), (room, name, thing))
    return sorted(found.values(), key=lambda row: row[:2])


@cache
def entries() -> list[Entry]:
    """All public callables: functions, classes, and methods of what these make."""
    found, made = list[Entry](), [made_by(thing) for _, _, thing in public()]
    for room, name, thing in public():
        if not inspect.isclass(thing):
            found.append(Entry(f"{room}.{name}", room, thing, name))
            kind = made_by(thing)
            for row in recipes.VARIANTS.get(name, [{}]) if kind is not None else []:
                words = (f"{key}={getattr(x, '__name__', x)!r}" for key, x in row.items())
                label = f"{name}({', '.join(words)})"
                found += methods(room, label, kind, maker(thing, row), name)
            continue
        if not name.startswith(tuple(recipes.TREES)):  # whose parameters are the library's
            found.append(Entry(f"{room}.{name}", room, thing, name))
        of_function = any(kind is not None and issubclass(kind, thing) for kind in made)
        found += methods(room, name, thing, None if of_function else maker(thing, {}), name)
    return found


def made_by(thing: Any) -> Any:
    """The class of the package that a function's annotation says it returns; no estimators."""
    if inspect.isclass(thing):
        return None
    named = inspect.signature(thing).return_annotation
    kind = inspect.unwrap(thing).__globals__.get(named)
    is_made = inspect.isclass(kind) and is_ours(kind) and not hasattr(kind, "fit")
    return kind if is_made else None


def methods(room: str, label: str, kind: Any, owner: Any, made_by: str) -> Iterator[Entry]:
    """The methods of a class: those of objects that ``owner`` makes, and those that need none,
    which belong to the class itself."""
    hooks = {name for base in kind.__mro__ for name in recipes.HOOKS.get(base.__name__, "").split()}
    for name in dir(kind):
        own, function = inspect.getattr_static(kind, name), getattr(kind, name, None)
        if isinstance(own, property) or inspect.isclass(function) or not callable(function):
            continue
        if name in hooks or (name.startswith("_") and name != "__call__"):
            continue
        if not is_ours(function) and name not in recipes.LIBRARIES_OWN:
            continue
        needs_none = isinstance(own, staticmethod | classmethod)
        if needs_none and "(" not in label:
            yield Entry(f"{room}.{label}.{name}", room, function, made_by)
        if not needs_none and owner is not None:
            yield Entry(f"{room}.{label}.{name}", room, function, made_by, owner)


def maker(thing: Any, row: Mapping[str, Any]) -> Callable[[Task, Mapping[str, Any]], Any]:
    def make(task: Task, others: Mapping[str, Any]) -> Any:
        if thing.__name__ in recipes.OBJECTS:
            return recipes.OBJECTS[thing.__name__](task)
        parameters = signature(thing)
        given = {**values_of(thing.__name__, task), **row, **others}
        names = {name for name, p in parameters.items() if p.default is p.empty and name in given}
        names |= {*recipes.SMALL, *row, *others} & {*parameters}
        return thing(**{name: given[name] for name in names} | recipes.of_library(thing, task))

    return make


def values_of(key: str, task: Task) -> dict[str, Any]:
    """What arguments are at one callable."""
    own = recipes.OWN.get(key, {})
    called = {name: x(task) if inspect.isfunction(x) else x for name, x in own.items()}
    return {**recipes.values(task), **called}


# --- calls


@dataclass(frozen=True, eq=False)
class Base:
    """A call where nothing is wrong, and its answer."""

    task: Task
    others: Mapping[str, Any]
    """Further arguments of what a method is called on."""
    given: dict[str, Any]
    answer: Any
    said: frozenset[str]


@dataclass
class Caller:
    """Calls one entry, and keeps what its calls share: bases, and what a method is called on."""

    entry: Entry
    bases: dict[frozenset[str], Base | str] = field(default_factory=dict)
    owners: dict[tuple[str, str], Any] = field(default_factory=dict)

    def base(self, parameter: str) -> Base | str:
        """The first call with this argument that is right; if there is none, what was said."""
        entry, needs = self.entry, recipes.NEEDS
        parameters = entry.parameters()
        also = {*needs.get(parameter, ()), *needs.get(entry.key, ()), *recipes.SMALL,
                *needs.get(f"{entry.key}.{parameter}", ())}  # fmt: skip
        names = {name for name, needed in parameters.items() if needed or name == parameter}
        wanted = frozenset(names | also & {*parameters})
        if wanted not in self.bases:
            self.bases[wanted] = self.first_that_is_right(wanted)
        return self.bases[wanted]

    def first_that_is_right(self, wanted: frozenset[str]) -> Base | str:
        entry, why = self.entry, "no recipe of "
        has_rows = entry.owner is None or "(" not in entry.name
        rows = recipes.VARIANTS.get(entry.made_by, [{}]) if has_rows else [{}]
        for task in recipes.tasks_of(entry.name):
            values = values_of(entry.key, task)
            if missing := sorted(wanted - values.keys()):
                return why + ", ".join(missing)
            for row in rows:
                others, more = (row, {}) if entry.owner is not None else ({}, row)
                given = {name: values[name] for name in sorted(wanted)} | more
                with hearing() as said:
                    try:
                        answer = self.call(task, others, given)
                    except Exception as error:
                        text = " ".join(f"{task}: {type(error).__name__}: {error}".split())
                        why = text if why.startswith("no recipe") else f"{why} | {text}"
                        continue
                return Base(task, others, given, answer, frozenset(said))
        return why

    def call(self, task: Task, others: Mapping[str, Any], given: Mapping[str, Any]) -> Any:
        """The numbers of the answer."""
        entry, function, arguments = self.entry, self.entry.function, dict(given)
        for name, held in entry.spread().items():
            columns = {column: given[column] for column in held.columns if column in given}
            arguments = {key: value for key, value in arguments.items() if key not in columns}
            arguments |= {name: held.make(**columns)} if columns else {}
        measured: dict[str, Any] = {}
        if entry.trains:
            evaluates = "evals" in arguments or entry.method == "cv"
            arguments |= recipes.of_training(entry.room, task, evaluates=evaluates)
            arguments |= recipes.recording(entry.room, measured) if "evals" in arguments else {}
        if entry.owner is not None:
            function = getattr(self.owner(task, others), entry.method)
        if written := {"folder", "path"} & arguments.keys():
            with TemporaryDirectory() as folder, recipes.undrawn():
                function(**arguments | {name: Path(folder) / given[name] for name in written})
                return contents(Path(folder))
        if entry.room == "plotting":
            with recipes.undrawn():
                return numbers(function(**arguments), task)
        found = function(**arguments)
        if inspect.isclass(entry.function) and hasattr(found, "fit"):
            found = found.fit(**recipes.to_fit(found, task))
        return numbers([found, measured] if measured else found, task)

    def is_refused_before(self, given: Mapping[str, Any]) -> bool:
        """Whether a library itself refuses the user's data set, which is no call of ours."""
        for held in self.entry.spread().values() if self.entry.trains else ():
            try:
                made = held.make(**{name: given[name] for name in held.columns if name in given})
                for data in [row[0] for row in made] if isinstance(made, list) else [made]:
                    getattr(data, "construct", bool)()
            except Exception:
                return True
        return False

    def owner(self, task: Task, others: Mapping[str, Any]) -> Any:
        """What a method is called on: all calls share one, but ``fit`` and ``update`` change it."""
        make = self.entry.owner
        assert make is not None
        if self.entry.method in ("fit", "update"):
            return make(task, others)
        key = task.name, repr(others)
        if key not in self.owners:
            made = make(task, others)
            fit = getattr(made, "fit", None)
            self.owners[key] = made if fit is None else fit(**recipes.to_fit(made, task))
        return self.owners[key]


def contents(folder: Path) -> dict[str, Any]:
    """Numbers and words of the files in a folder."""
    found: dict[str, Any] = {}
    for path in sorted(folder.rglob("*")):
        if path.is_file():
            text = path.read_bytes().decode("utf-8", "replace")
            found[str(path.relative_to(folder))] = split(text)
    return found


NUMBER = re.compile(r"-?\d+(?:\.\d+)?(?:e[-+]?\d+)?")


def split(text: str) -> list[Any]:
    return [NUMBER.sub("#", text), np.array([float(found) for found in NUMBER.findall(text)])]


def numbers(value: Any, task: Task, depth: int = 0) -> Any:
    """What of an answer is compared: numbers, words, and what a model predicts."""
    if value is None or isinstance(value, str | bool) or depth > 5:
        return value if depth <= 5 else None
    if isinstance(value, int | float | np.number | np.bool_):
        return float(value)
    if isinstance(value, np.ndarray):
        return value.astype(float) if value.dtype.kind in "biuf" else value.astype(str)
    if isinstance(value, Mapping):
        return {key_of(key): numbers(one, task, depth + 1) for key, one in value.items()}
    if isinstance(value, list | tuple) or hasattr(value, "__next__"):
        return [numbers(one, task, depth + 1) for one in value]
    if isinstance(value, lgb.Booster):
        return value.predict(FEATURES)
    if isinstance(value, xgb.Booster):
        return value.predict(xgb.DMatrix(FEATURES))
    if type(value).__module__.startswith("catboost"):
        return value.predict(FEATURES, prediction_type="RawFormulaVal")
    if hasattr(value, "to_numpy"):
        return numbers(value.to_numpy(), task, depth + 1)
    for ways in (("predict_score", "predict"), ("predict_proba",), ("predict",), ("apply",)):
        if all(hasattr(value, way) for way in ways):
            if hasattr(value, "fit") and not is_fitted(value):
                return repr(value)
            return [*(predicted(getattr(value, way), task) for way in ways), *evaluations(value)]
    if hasattr(value, "to_json"):
        document = json.loads(value.to_json())
        document.pop("sha256", None)  # of the last bits, too
        return numbers(document, task, depth + 1)
    if is_dataclass(value):
        return {one.name: numbers(getattr(value, one.name, None), task, depth + 1)
                for one in fields(value)}  # fmt: skip
    if type(value).__name__ == "BoundObjective":
        return numbers(value(task.margin.astype(np.float32)), task, depth + 1)
    if callable(value):
        return None
    held = vars(value) if hasattr(value, "__dict__") else {}
    return {key: numbers(one, task, depth + 1) for key, one in held.items() if key[0] != "_"}


def is_fitted(model: Any) -> bool:
    with suppress(NotFittedError):
        check_is_fitted(model)
        return True
    return False


def predicted(predict: Callable[..., Any], task: Task) -> Any:
    kinds = inspect.Parameter
    needed = [name for name, p in signature(predict.__func__).items() if p.default is p.empty
              and p.kind not in (kinds.VAR_KEYWORD, kinds.VAR_POSITIONAL)]  # fmt: skip
    return numbers(predict(**{name: recipes.values(task)[name] for name in needed}), task)


def key_of(key: Any) -> str:
    return str(float(key)) if isinstance(key, int | float | np.number | np.bool_) else str(key)


def evaluations(model: Any) -> list[Any]:
    """What a model says of evaluation sets."""
    found = []
    with suppress(Exception):
        found.append(numbers(model.evals_result(), recipes.TASKS[0]))
    for name in ("evals_result_", "validation_score_"):
        with suppress(Exception):
            found.append(numbers(getattr(model, name), recipes.TASKS[0]))
    return found


CLOSE = 1e-5
"""Relative: XGBoost's numbers are float32, and sums in another order differ in last digits."""


def same(a: Any, b: Any) -> bool:
    if isinstance(a, np.ndarray) and isinstance(b, np.ndarray):
        if a.shape != b.shape or a.dtype.kind != b.dtype.kind:
            return False
        if a.dtype.kind != "f":
            return bool((a == b).all())
        return bool(np.allclose(a, b, rtol=CLOSE, atol=CLOSE / 100, equal_nan=True))
    if isinstance(a, float) and isinstance(b, float):
        return bool(np.isclose(a, b, rtol=CLOSE, atol=CLOSE / 100, equal_nan=True))
    if isinstance(a, list) and isinstance(b, list):
        return len(a) == len(b) and all(map(same, a, b))
    if isinstance(a, dict) and isinstance(b, dict):
        return a.keys() == b.keys() and all(same(a[key], b[key]) for key in a)
    return type(a) is type(b) and bool(a == b)


@contextmanager
def hearing() -> Iterator[set[str]]:
    """The warnings of this package that users would see."""
    said, ours, warn = set[str](), set[str](), warnings.warn

    def heard(message: Any, *args: Any, **options: Any) -> None:
        if str(sys._getframe(1).f_globals.get("__name__")).startswith(PACKAGE):
            ours.add(str(message))
        options["stacklevel"] = options.get("stacklevel", 1) + 1
        warn(message, *args, **options)

    with warnings.catch_warnings(record=True) as seen:
        warnings.simplefilter("always")
        warnings.warn = heard  # type: ignore[assignment]
        try:
            yield said
        finally:
            warnings.warn = warn
            said |= ours & {str(one.message) for one in seen}


# --- cells

FALLING = ("SILENT", "BARE", "REFUSED")
Key = tuple[str, str, str]
"""Callable, parameter and twist."""


@dataclass(frozen=True)
class Cell:
    key: Key
    task: str
    verdict: str
    text: str

    @property
    def name(self) -> str:
        return name_of(self.key)

    def __str__(self) -> str:
        return f"{self.name} [{self.task}]: {self.verdict} {self.text}".strip()


def name_of(key: Key) -> str:
    function, parameter, twist = key
    return f"{function}({parameter}=) x {twist}"


@cache
def is_here(package: str) -> bool:
    return find_spec(package) is not None


def lacks(name: str) -> bool:
    """Whether a callable needs a package that is not here."""
    return not all(is_here(PACKAGES[start]) for start in PACKAGES if name.startswith(start))


@cache
def is_absent(key: Key) -> bool:
    """Whether a cell needs a package that is not here."""
    twists = {twist.name: twist.needs for twist in TWISTS}
    return lacks(key[0]) or not is_here(twists.get(key[2], "numpy"))


def is_old() -> bool:
    def numbers_of(text: str) -> list[int]:
        return [int(found) for found in re.findall(r"\d+", text)[:2]]

    return any(numbers_of(version(name)) < numbers_of(oldest) for name, oldest in VERSIONS.items())


def cells_of(entry: Entry) -> tuple[list[Cell], list[str]]:
    """Its cells, and its parameters without a call that is right, each with what was said."""
    caller, found, without = Caller(entry), list[Cell](), list[str]()
    for parameter in entry.cells():
        base = caller.base(parameter)
        if isinstance(base, str):
            without.append(f"{entry}({parameter}=): {base}")
            continue
        tried = Tried(entry.name, frozenset(entry.parameters()), parameter, base.given, base.task)
        for twist in TWISTS:
            if entry.kind(parameter) in twist.of and is_here(twist.needs):
                verdict = verdict_of(caller, base, tried, twist)
                if verdict is not None:
                    key = entry.name, parameter, twist.name
                    if verdict[0] == "SILENT" and is_meant(key):
                        verdict = "MEANT", verdict[1]
                    found.append(Cell(key, base.task.name, *verdict))
    return found, without


def verdict_of(caller: Caller, base: Base, tried: Tried, twist: Twist) -> tuple[str, str] | None:
    changed, right = twist.change(tried), base.answer
    if changed is None:
        return None
    with hearing() as said:
        if changed.truth is not None:
            try:
                right = caller.call(base.task, base.others, changed.truth)
            except Exception:  # it needs what the truth is without
                return None
        try:
            found = caller.call(base.task, base.others, changed.given)
        except Exception as error:
            text = " ".join(f"{type(error).__name__}: {error}".split())
            if is_told(error):
                return "REFUSED" if twist.must == "right" else "TOLD", text
            by_library = twist.said_by_library and re.search(twist.said_by_library, text)
            if by_library or caller.is_refused_before(changed.given):
                return "TOLD", text
            return "BARE", text
    if twist.must != "told" and same(found, right):
        return "RIGHT", ""
    warned = sorted(said - base.said)
    return ("TOLD", f"warned: {warned[0]}") if warned else ("SILENT", f"found {brief(found)}")


def is_told(error: Exception) -> bool:
    """Whether our own ``raise`` says it, in words that are not another error's."""
    trace = error.__traceback__
    assert trace is not None
    while trace.tb_next is not None:
        trace = trace.tb_next
    frame, cause = trace.tb_frame, error.__cause__
    line = linecache.getline(frame.f_code.co_filename, trace.tb_lineno).strip()
    is_raised = str(frame.f_globals.get("__name__")).startswith(PACKAGE) and line[:5] == "raise"
    return is_raised and (cause is None or str(cause) != str(error))


def brief(answer: Any) -> str:
    while isinstance(answer, list | dict) and answer:
        answer = next(iter(answer.values() if isinstance(answer, dict) else answer))
    return str(answer.ravel()[:4] if isinstance(answer, np.ndarray) else answer)[:60]


# --- what is known


def rows_of(path: Path, columns: int) -> list[list[str]]:
    """The rows below the header, without what a merge has left there."""
    with path.open(newline="") as file:
        return [row for row in csv.reader(file) if len(row) == columns][1:]


@dataclass
class Record:
    """The verdicts that are committed: of cells that fall, and which cells are RIGHT."""

    falls: dict[Key, str]
    right: set[Key]

    @staticmethod
    def read() -> Record:
        falls = {(row[0], row[1], row[2]): row[3] for row in rows_of(FALLS, 4)}
        right = {(row[0], row[1], twist) for row in rows_of(RIGHT, 3)
                 for twist in row[2].split("; ")}  # fmt: skip
        return Record(falls, right)

    def write(self) -> None:
        by_parameter: dict[tuple[str, str], list[str]] = {}
        for function, parameter, twist in sorted(self.right):
            by_parameter.setdefault((function, parameter), []).append(twist)
        tables = {
            FALLS: [("callable", "parameter", "twist", "verdict"),
                    *((*key, verdict) for key, verdict in sorted(self.falls.items()))],
            RIGHT: [("callable", "parameter", "twists"),
                    *((*key, "; ".join(twists)) for key, twists in by_parameter.items())],
        }  # fmt: skip
        for path, rows in tables.items():
            with path.open("w", newline="") as file:
                csv.writer(file, lineterminator="\n").writerows(rows)

    def of(self, entry: Entry) -> dict[Key, str]:
        """What is known of the cells of an entry that can be tried here."""
        right = {key: "RIGHT" for key in self.right if key[0] == entry.name}
        falls = {key: verdict for key, verdict in self.falls.items() if key[0] == entry.name}
        return {key: verdict for key, verdict in (right | falls).items() if not is_absent(key)}


def changes(entry: Entry, record: Record) -> list[str]:
    """A sentence on each cell of an entry that is not as it is known, or has no base."""
    cells, without = cells_of(entry)
    known = record.of(entry)
    said = [f"no call is right, {one}" for one in without]
    for cell in cells:
        was = known.pop(cell.key, None) or ("MEANT" if is_meant(cell.key) else "TOLD")
        if cell.verdict == was:
            continue
        if was == "MEANT":
            said.append(f"it is silent no longer, take it off MEANT: {cell}")
            continue
        if cell.verdict in FALLING:
            said.append(f"it falls, and was {was}: {cell}")
        elif was == "RIGHT":
            said.append(f"RIGHT is lost: {cell}")
        elif was in FALLING:
            said.append(f"it is mended, take it off falls.csv: {cell}, was {was}")
        else:
            said.append(f"it is right now, put it on right.csv: {cell}")
    return said + [f"{was} is tried no longer: {name_of(key)}" for key, was in known.items()]


def main() -> int:
    words = [word for word in sys.argv[1:] if not word.startswith("-")]
    record, found, counts = Record.read(), list[Cell](), Counter[str]()
    for entry in entries():
        cells, without = cells_of(entry)
        for cell in cells:
            counts[cell.verdict] += 1
            is_shown = "-v" in sys.argv or cell.verdict in FALLING
            if is_shown and (not words or any(word in cell.name for word in words)):
                print(str(cell)[:240])
        for one in without:
            print(f"no call is right, {one}")
        found += cells
    print(f"{len(entries())} callables, {sum(counts.values())} cells: {dict(counts)}")
    if "--write" in sys.argv:
        record.falls = {key: verdict for key, verdict in record.falls.items() if is_absent(key)}
        record.right = {key for key in record.right if is_absent(key)}
        record.falls |= {cell.key: cell.verdict for cell in found if cell.verdict in FALLING}
        record.right |= {cell.key for cell in found if cell.verdict == "RIGHT"}
        record.write()
    return 0


if __name__ == "__main__":
    sys.exit(main())
