"""The folder of a served model: written, read, and compared with what it should hold."""

from __future__ import annotations

import ast
import hashlib
import inspect
import json
import math
import re
import runpy
import shutil
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from importlib.resources import files as resources
from os import PathLike
from pathlib import Path
from typing import Any
from uuid import uuid4

import numpy as np

import gbdt_objectives
from gbdt_objectives import _checks
from gbdt_objectives._checks import Array, shown
from gbdt_objectives._public import public
from gbdt_objectives._registry import LIBRARY_OF, library, name_of
from gbdt_objectives._steps import formulas
from gbdt_objectives._steps.steps import LONGEST, check_size, parse, seal
from gbdt_objectives.serving import objects
from gbdt_objectives.serving.plans import Plan, not_served, of_model, what_is, with_extras
from gbdt_objectives.thresholds import Thresholds

VERSION = 1
FORMAT = "gbdt_objectives.model"
COMPARED = 100  # how many rows of X are compared where none are to be written
KEYS = (
    "format", "kind", "versions", "features", "boosters", "score", "probability", "classes",
    "outputs", "thresholds", "tolerance", "model", "files", "sha256",
)  # fmt: skip
Strange = Callable[[Path], str]
FILE = re.compile(r"booster_\d+\.(txt|ubj)|predict\.py|check\.npz")


@public
def export(
    model: Any, folder: str | PathLike[str], X: Any = None, *, thresholds: Any = None,
    shift: Any = None, calibrator: Any = None, check_rows: int = 100, overwrite: bool = False,
) -> None:  # fmt: skip
    """Write a folder that serves a fitted model without this package.

    Use it to take a model into production. The folder has the boosters in their own formats,
    ``model.json`` with all other numbers, and ``predict.py``, at most 85 lines on numpy and the
    boosters: ``Model(folder).predict(X)``, ``predict_proba``, ``predict_score``; ``python
    predict.py data.csv > out.csv``; ``python predict.py --check``, which compares the rows in
    ``check.npz``. See ``docs/deploy.md``.

    Parameters
    ----------
    model : fitted estimator or trained booster
        QWKClassifier, ThresholdClassifier, DownsampledClassifier, CalibratedClassifier, an
        estimator of ``gbdt_objectives.adapters`` or of the libraries, a Booster, or a ServedModel.
    folder : path
        It must not exist, unless ``overwrite``.
    X : array-like or DataFrame of shape (n, features), optional
        Rows as ``fit`` saw them. Their dtypes and categories are written, and the folder is
        compared with the model on some of them. Models with categories need it.
    thresholds, shift, calibrator : optional
        What belongs to the model, as in :class:`ServedModel`.
    check_rows : int
        How many rows of X, with predictions, ``check.npz`` gets; 0 for data that must not leave.
    overwrite : bool
        Whether to replace a folder of ``export`` alone, once the new one has been compared.

    Returns
    -------
    None

    Raises
    ------
    TypeError, ValueError
        A model that is not fitted, holds what is no booster, or has no formula; a folder that
        exists; X that is not as ``fit`` saw it; a folder that would predict otherwise.

    Examples
    --------
    >>> import lightgbm as lgb, numpy as np, tempfile
    >>> from gbdt_objectives import QWKClassifier, serving
    >>> X = np.random.default_rng(0).random((200, 2))
    >>> y = np.digitize(X[:, 0], [0.3, 0.6])
    >>> model = QWKClassifier(lgb.LGBMRegressor(n_estimators=5, verbose=-1)).fit(X, y)
    >>> folder = tempfile.mkdtemp() + "/model"
    >>> serving.export(model, folder, X)
    >>> bool((serving.load(folder).predict(X) == model.predict(X)).all())
    True
    """
    model = with_extras(model, thresholds, shift, calibrator)
    check_rows = _checks.whole_number("check_rows", check_rows, 0)
    strange = strange_in if _checks.flag("overwrite", overwrite) else None
    if new_path("folder", folder, strange).suffix.lower() == ".onnx":
        raise ValueError(
            f"folder {folder} is a file's name: write it by export_onnx(model, path, X)"
        )
    plan, X = of_model(model), objects.as_frame(X)
    check_boosters(model, plan)
    features = objects.read_features(model, plan, X)
    with whole("folder", folder, strange) as temporary:
        temporary.mkdir()
        write_folder(temporary, model, plan, features, X, check_rows)


def check_boosters(model: Any, plan: Plan) -> None:
    """Raise if a model, or a part of it, is more than a booster: no file of a library holds it."""
    for other in (part.model for part in plan.parts if name_of(part.model) is None):
        if other is model:
            raise TypeError(not_served(model))
        raise TypeError(
            f"the model holds {what_is(other)}, and a served model holds boosters only: use "
            "LGBMRegressor, XGBRegressor or their classifiers, and do the steps before them "
            "outside; or write all of it as ONNX, export_onnx(model, path, X)"
        )


def strange_in(folder: Path) -> str:
    """What there is at a path that export did not write; "" if it is a folder of export."""
    document = folder / "model.json"
    if not (document.is_file() and f'"{FORMAT}/'.encode() in document.read_bytes()[:100]):
        return "it has no model.json of export"
    known = ("model.json", "__pycache__")  # the latter of whoever imports predict.py
    names = sorted(path.name for path in folder.iterdir() if path.name not in known)
    return next((f"it holds {name!r}, too" for name in names if not FILE.fullmatch(name)), "")


@contextmanager
def whole(name: str, path: Any, strange: Strange | None = None) -> Iterator[Path]:
    """Make a place to write a file or folder, which gets its path once all of it is written."""
    target = Path(path)
    temporary, old = (target.with_name(f".{target.name}-{uuid4().hex}") for _ in range(2))
    try:
        yield temporary
        new_path(name, path, strange)  # somebody else may have written it meanwhile
        if target.is_dir():
            target.rename(old)
        temporary.replace(target)
    except BaseException:  # an interrupt, too, leaves no half of a folder
        if old.exists() and not target.exists():
            old.rename(target)
        shutil.rmtree(temporary, ignore_errors=True)
        if temporary.is_file():
            temporary.unlink()
        raise
    shutil.rmtree(old, ignore_errors=True)


def new_path(name: str, path: Any, strange: Strange | None = None) -> Path:
    """Check that nothing is at this path, or nothing that ``strange`` finds; and of its folder."""
    if not isinstance(path, str | PathLike):
        raise TypeError(
            f"{name} must be a path, found {type(path).__name__}: write the model, the path, X"
        )
    target = Path(path)
    if target.exists() and strange is None:
        raise ValueError(
            f"{name} {path} exists: pass overwrite=True to replace a model, or give a new name"
        )
    found = strange(target) if strange and target.exists() else ""
    if found := "it is a link" if target.is_symlink() else found:
        raise ValueError(f"{name} {path} is not replaced, {found}: give a new name, or delete it")
    if not target.absolute().parent.is_dir():
        raise ValueError(f"folder {target.absolute().parent} does not exist: make it first")
    return target


def write_folder(
    folder: Path, model: Any, plan: Plan, features: list[Any], X: Any, check_rows: int
) -> None:
    files = {}
    for k, part in enumerate(plan.parts):
        files[id(part.model)] = f"booster_{k}{part.library.endings[-1]}"
        part.library.write(part.model, str(folder / files[id(part.model)]))
    document = model_document(model, plan, features, files)
    (folder / "predict.py").write_text(source_of(document, plan), encoding="utf-8")
    held: dict[str, Array] = {}
    if X is not None:
        rows = objects.draw_rows(X, check_rows or COMPARED)
        held["X"] = objects.cells(rows, features)
        held |= expected(model, plan, rows)
    if check_rows and held:
        np.savez_compressed(folder / "check.npz", **held)  # type: ignore[arg-type]
    names = sorted(path.name for path in folder.iterdir())
    document["files"] = {name: digest(folder / name) for name in names}
    document["sha256"] = seal(document)
    text = json.dumps(document, indent=1, allow_nan=False, ensure_ascii=False)
    check_size(text, "model.json")
    (folder / "model.json").write_text(text + "\n", encoding="utf-8")
    compare_served(folder, plan, held, document["tolerance"])


def model_document(
    model: Any, plan: Plan, features: list[Any], files: dict[int, str]
) -> dict[str, Any]:
    """model.json without the hashes."""
    tree = objects.model_tree(model, files)
    boosters = [
        {
            "file": files[id(part.model)], **part.library.reader(part.model),
            # the oldest version that reads the file right, where older ones misread it
            **({"since": release(part.library.name)} if part.library.misreads_newer else {}),
            "weight": part.weight, "steps": [*map(objects.written_step, part.steps)],
        }
        for part in plan.parts
    ]  # fmt: skip
    libraries = sorted({part.library for part in plan.parts}, key=lambda one: one.name)
    return {
        "format": f"{FORMAT}/{VERSION}", "kind": tree["class"],
        "versions": {
            "gbdt_objectives": gbdt_objectives.__version__, "numpy": np.__version__,
            "python": ".".join(map(str, sys.version_info[:3])),
            **{one.name: sys.modules[one.name].__version__ for one in libraries},
        },
        "features": features, "boosters": boosters,
        **objects.plan_tree(plan, [feature["name"] for feature in features]),
        "tolerance": max([one.tolerance for one in libraries], default=1e-9), "model": tree,
    }  # fmt: skip


def release(library: str) -> list[int]:
    """Major and minor version of a library that is loaded."""
    return [int(part) for part in sys.modules[library].__version__.split(".")[:2]]


def check_versions(document: dict[str, Any]) -> None:
    for booster in document["boosters"]:
        if "since" not in booster:
            continue
        name = LIBRARY_OF[Path(booster["file"]).suffix]
        library(name)  # which loads it
        if release(name) < booster["since"]:
            written = ".".join(map(str, booster["since"]))
            raise ImportError(
                f"{booster['file']} was written by {name} {written}, which an older one, here "
                f"{sys.modules[name].__version__}, misreads: update {name}"
            )


def digest(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()


def source_of(document: dict[str, Any], plan: Plan) -> str:
    """predict.py: the parts of the template that this model needs."""
    wanted = needed(document, plan)
    template = (resources("gbdt_objectives.serving") / "predict.template").read_text("utf-8")
    lines, included = list[str](), True
    for line in template.splitlines():
        if line == "#? formulas":
            lines += formulas_of(wanted | {"apply"})
        elif line.startswith("#?"):
            names = line[2:].split()
            included = not names or bool(wanted & set(names))
        elif included:
            lines.append(line)
    source = "\n".join(lines) + "\n"
    score = "predict_score" if plan.is_score else "predict_classes"
    table = "pandas.read_parquet(path)" if "named" in wanted else "pd.read_parquet(path).to_numpy()"
    source = source.replace("@score@", score).replace("@parquet@", table)
    return source.replace("@t@", f"{document['tolerance']:g}")


def formulas_of(wanted: set[str]) -> list[str]:
    """The source of formulas, and of what they call, without types."""
    module = ast.parse(inspect.getsource(formulas))
    known = {node.name: node for node in module.body if isinstance(node, ast.FunctionDef)}
    names, found = set[str](), wanted & known.keys()
    while found:
        names |= found
        nodes = [node for name in found for node in ast.walk(known[name])]
        found = ({node.id for node in nodes if isinstance(node, ast.Name)} & known.keys()) - names
    return [line for name in known if name in names for line in plain_source(known[name])]


def plain_source(function: ast.FunctionDef) -> list[str]:
    remark, function.returns = ast.get_docstring(function), None
    function.body = function.body[1:] if remark else function.body
    for node in ast.walk(function):
        if isinstance(node, ast.arg):
            node.annotation = None
    *lines, last = ast.unparse(function).splitlines()
    if remark:
        lines[0] += f"  # {remark}"
    elif len(function.body) == 1:
        last = f"{lines.pop()} {last.strip()}"
    return [*lines, last]


def needed(document: dict[str, Any], plan: Plan) -> set[str]:
    """The parts of the template: what the boosters and steps are called, and what is asked."""
    boosters = document["boosters"]
    steps = [*plan.score, *(plan.probability or ())]
    steps += [step for part in plan.parts for step in part.steps]
    names = {step["formula"] for step in steps} | {step["map"] for step in steps if "map" in step}
    names |= {booster["library"] for booster in boosters}
    decides, is_score = plan.thresholds is not None, plan.probability is None
    rule = None if isinstance(plan.thresholds, Thresholds) else plan.thresholds
    names |= {step["formula"] for step in (*rule._steps, rule._scores)} if rule else set()
    columns = plan.makes_columns or not plan.is_score
    codes = "segment_shift" in names or any("categories" in one for one in document["features"])
    named = isinstance(document["features"][0]["name"], str)
    parts = {
        "boosters": boosters, "scores": not boosters,
        "plain": "segment_shift" not in names, "codes": codes, "numbers": boosters and not codes,
        "named": named, "unnamed": not named, "score": is_score, "proba": not is_score,
        "columns": columns, "positive": not (columns or is_score),
        "thresholds": decides and not rule, "rule": rule, "calibrated": rule and rule._steps,
        "argmax": not (decides or is_score), "number": is_score and not decides,
    }  # fmt: skip
    return names | {name for name, is_part in parts.items() if is_part}


def expected(model: Any, plan: Plan, rows: Any) -> dict[str, Array]:
    """What the fitted model predicts for rows, by method of the served one."""
    if not plan.parts:
        rows = np.asarray(rows, np.float64).reshape(-1)
    found = {"predict": np.asarray(model.predict(rows))}
    if plan.probability is not None:
        found["predict_proba"] = np.asarray(model.predict_proba(rows), np.float64)
    if plan.is_score and hasattr(model, "predict_score"):
        found["predict_score"] = np.asarray(model.predict_score(rows), np.float64)
    if found["predict"].dtype.kind == "O":
        found["predict"] = found["predict"].astype(str)
    return found


def compare_served(folder: Path, plan: Plan, held: dict[str, Array], tolerance: float) -> None:
    """Raise unless the folder predicts what the model does."""
    served = runpy.run_path(str(folder / "predict.py"))["Model"](folder)
    for name, value in held.items():
        if name == "X":
            continue
        found = np.asarray(getattr(served, name)(held["X"]))
        if value.dtype.kind == "f":
            same = np.isclose(found, value, rtol=tolerance, atol=tolerance)
        else:
            same = found.astype(value.dtype) == value
        if not same.all():
            row = int(np.argwhere(~same)[0][0])
            why = "are the categories of X in another order than fit saw, is X sparse, or is a "
            why += "method of the model replaced?"
            if name == "predict" and on_a_border(plan, held, tolerance)[~same].all():
                why = explain_border(tolerance)
            raise ValueError(
                f"the exported model would predict {shown(found[row])} for row {row} of those "
                f"drawn from X, where {name} of the model gives {shown(value[row])}, and so for "
                f"{np.count_nonzero(~same)} of {same.size}: nothing was written; {why}"
            )


def on_a_border(plan: Plan, held: dict[str, Array], tolerance: float) -> Array:
    """Whether differences of scores within the tolerance decide the class of a row."""
    s, cuts = held.get("predict_score"), plan.thresholds
    if isinstance(cuts, Thresholds) and s is not None:
        return np.asarray(np.isclose(s[:, None], cuts.values, tolerance, tolerance).any(axis=1))
    if cuts is None and "predict_proba" in held:
        return near_ties(held["predict_proba"], tolerance)
    return np.zeros(len(held["predict"]), bool)


def near_ties(P: Array, tolerance: float) -> Array:
    """The rows whose two most probable classes are as probable."""
    p = np.sort(P, axis=1)
    return np.asarray(p[:, -1] - p[:, -2] <= tolerance)


def explain_border(tolerance: float) -> str:
    """Why the class of a row on a border differs, and what helps."""
    return (
        f"their scores differ by less than {tolerance:g}, as sums in another order do, but lie at "
        "a threshold or between two classes: move thresholds, "
        f"Thresholds(np.asarray(t) + {2 * tolerance:g}, t.labels)"
    )


@public
def load(folder: str | PathLike[str]) -> Any:
    """Read a fitted model from a folder that :func:`export` wrote.

    Use it to go on with an exported model in this package.

    Parameters
    ----------
    folder : path
        Of all the files that were written.

    Returns
    -------
    estimator or ServedModel
        Of the class that was exported, fitted, with the same predictions. Parameters that JSON
        cannot hold, such as functions, have their defaults; there are no out-of-fold scores.

    Raises
    ------
    ValueError
        A missing or changed file, a format of a newer version, or a ``model.json`` that is not what
        :func:`export` wrote. Nothing of the folder is executed.
    ImportError
        A booster that is not installed, or an XGBoost older than the one that wrote the file.

    Examples
    --------
    >>> import tempfile
    >>> from gbdt_objectives import ThresholdClassifier, serving
    >>> score = [0.1, 0.4, 0.3, 0.6, 0.7, 0.9]
    >>> model = ThresholdClassifier().fit(score, [1, 1, 2, 2, 3, 3])
    >>> folder = tempfile.mkdtemp() + "/model"
    >>> serving.export(model, folder)
    >>> serving.load(folder).predict([0.2, 0.6, 0.9]).tolist()
    [1, 2, 3]
    """
    if not isinstance(folder, str | PathLike):
        raise TypeError(f"folder must be a path, that of export, found {type(folder).__name__}")
    folder = Path(folder)
    document = read_document(folder)
    try:
        check_files(document, folder)
        check_versions(document)
        model = objects.restore(document["model"], document, folder)
        check_same(model, document)
    except ImportError:  # of a booster
        raise
    except Exception as error:  # libraries raise errors of their own for what they cannot read
        kind = "" if isinstance(error, ValueError) else f"{type(error).__name__} "
        raise ValueError(
            f"{folder / 'model.json'} and its files are not what export wrote: {kind}{error}"
        ) from error
    return model


def read_document(folder: Path) -> dict[str, Any]:
    path = folder / "model.json"
    if not path.is_file():
        raise ValueError(f"{folder} has no model.json: give the folder that export wrote")
    try:
        with path.open(encoding="utf-8") as file:
            document = parse(file.read(LONGEST + 1), writer="export")
    except UnicodeDecodeError as error:
        raise ValueError(f"{path} is not text in UTF-8: was it changed? {error}") from error
    except ValueError as error:
        raise ValueError(f"{path} cannot be read: {error}") from error
    if not isinstance(document, dict):
        raise ValueError(f"{path} holds no object: was it changed?")
    found = re.fullmatch(rf"{re.escape(FORMAT)}/([0-9]{{1,9}})", str(document.get("format")))
    if found is None:
        name = shown(document.get("format"))
        raise ValueError(f"{path} has the format {name}, not {FORMAT}/N")
    version = int(found[1])
    if version > VERSION:
        raise ValueError(
            f"{path} has the format {document['format']!r}, of a newer version of gbdt_objectives "
            f"than {gbdt_objectives.__version__}, which reads up to {FORMAT}/{VERSION}: update it"
        )
    if version < VERSION:
        raise ValueError(f"{path} has the format {document['format']!r}, which was never released")
    if set(document) != set(KEYS):
        wrong = sorted(set(document) ^ set(KEYS))
        raise ValueError(f"{path} lacks or adds the keys {wrong}: was it changed?")
    if document["sha256"] != seal(document):
        raise ValueError(
            f"{path} was changed after it was exported, its sha256 differs: load an unchanged "
            "folder, change the model, and export it again"
        )
    return document


def check_files(document: dict[str, Any], folder: Path) -> None:
    names = document["files"]
    if not isinstance(names, dict):
        raise ValueError(f"files must map names to hashes, found {shown(names)}")
    others = [name for name in names if not FILE.fullmatch(name)]
    if others:
        raise ValueError(f"files has names that export does not write, {shown(others)}")
    used = [booster["file"] for booster in document["boosters"]]
    missing = sorted({*used, *files_in(document["model"]), "predict.py"} - set(names))
    if missing:
        raise ValueError(f"files has no sha256 of {missing}")
    for name, known in names.items():
        if not (folder / name).is_file():
            raise ValueError(f"{folder} has no file {name!r}, which model.json lists: copy all")
        if digest(folder / name) != known:
            raise ValueError(
                f"file {name!r} of {folder} is not the one that was exported, its sha256 differs: "
                "copy it again, or export the model again"
            )


def files_in(tree: Any) -> list[Any]:
    """The files that the tree of a model names, in its order."""
    found, parts = [], [tree]
    while parts:
        part = parts.pop()
        if isinstance(part, dict):
            found += [part["file"]] if "file" in part else []
            parts += reversed(part.values())
        elif isinstance(part, list):
            parts += reversed(part)
    return found


def alike(computed: Any, written: Any) -> bool:
    """Whether two JSON values are the same, numbers but for digits in which machines differ."""
    if computed == written:
        return True
    if isinstance(computed, float) and isinstance(written, float):
        return math.isclose(computed, written, rel_tol=1e-9, abs_tol=1e-12)
    if isinstance(computed, dict) and isinstance(written, dict):
        return computed.keys() == written.keys() and all(
            alike(value, written[name]) for name, value in computed.items()
        )
    if isinstance(computed, list) and isinstance(written, list):
        return len(computed) == len(written) and all(map(alike, computed, written))
    return False


def check_same(model: Any, document: dict[str, Any]) -> None:
    """Raise unless the restored model computes what the document says."""
    plan = of_model(model)
    pairs = zip(plan.parts, document["boosters"], strict=True)
    files = {id(part.model): booster["file"] for part, booster in pairs}
    again = json.loads(json.dumps(model_document(model, plan, document["features"], files)))
    for booster, given in zip(again["boosters"], document["boosters"], strict=True):
        booster |= {"since": given["since"]} if "since" in booster else {}  # not of this version
    for key in ("boosters", "score", "probability", "classes", "outputs", "thresholds", "kind"):
        if not alike(again[key], document[key]):
            raise ValueError(
                f"it contradicts itself: {key} is {shown(document[key])}, not {shown(again[key])}"
            )
    if files_in(again["model"]) != files_in(document["model"]):
        raise ValueError("it contradicts itself: boosters and model name other files")
    objects.check_saved_features(document["features"], plan)
