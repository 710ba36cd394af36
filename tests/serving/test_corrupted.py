"""Folders that are not what ``export`` wrote are refused by name, and none is executed."""

from __future__ import annotations

import copy
import hashlib
import json
import math
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import gbdt_objectives as go
from gbdt_objectives import serving
from gbdt_objectives.calibration import LogitCalibrator, VennAbersCalibrator
from gbdt_objectives.serving.folder import FORMAT, KEYS, VERSION, seal
from tests.serving.models import (
    TWO,
    WORDS,
    Fitted,
    blend,
    booster,
    calibrated,
    qwk,
    score_thresholds,
    served,
)

MODELS: dict[str, Callable[[], Fitted]] = {
    "blend": lambda: blend(
        "categories", WORDS[:3], segment="site", handle_unknown="common",
        weights=[1, 2],
    ),
    "calibrated": lambda: calibrated(
        "xgboost", "array", [0, 1], VennAbersCalibrator(), "downsampled"
    ),
    "served": lambda: booster(
        "lightgbm", "categories", [0, 1], go.weighted_logloss_objective(0.5), LogitCalibrator(),
        TWO, go.log_odds_shift(negative_keep_rate=0.2),
    ),
    "qwk": lambda: qwk("lightgbm", "array", [1, 2, 3, 4], objective="qwk"),
    "thresholds": lambda: score_thresholds(["a", "b", "c"]),
}  # fmt: skip


@pytest.fixture(scope="module")
def folders(tmp_path_factory: pytest.TempPathFactory) -> dict[str, tuple[Path, Any, Any]]:
    """Folder, rows, and what the loaded model predicts for them, of a model of each kind."""
    found = {}
    for name, make in MODELS.items():
        fitted, folder = make(), tmp_path_factory.mktemp(name) / "model"
        serving.export(fitted.model, folder, fitted.X, **fitted.extras)
        X = fitted.new[:100]
        found[name] = folder, X, predictions(serving.load(folder), X)
    return found


def predictions(model: Any, X: Any) -> list[Any]:
    classes = getattr(model, "classes_", None)
    proba = model.predict_proba(X).tolist() if hasattr(model, "predict_proba") else None
    classes = None if classes is None else np.asarray(classes).tolist()
    return [model.predict(X).tolist(), classes, proba]


def read(folder: Path) -> dict[str, Any]:
    document: dict[str, Any] = json.loads((folder / "model.json").read_text("utf-8"))
    return document


def write(folder: Path, document: dict[str, Any]) -> None:
    """model.json with the hashes made right, as somebody would who changes a folder on purpose."""
    if isinstance(document.get("files"), dict):
        for name in document["files"]:
            if isinstance(name, str) and (folder / name).is_file():
                digest = hashlib.sha256((folder / name).read_bytes()).hexdigest()
                document["files"][name] = digest
    if "sha256" in document:
        document["sha256"] = seal(document)
    (folder / "model.json").write_text(json.dumps(document), "utf-8")


def attempt(folder: Path) -> tuple[str, Any]:
    """The message with which ``load`` refuses a folder, "" if it loads, and the model."""
    try:
        return "", serving.load(folder)
    except (ValueError, TypeError) as error:
        if type(error) not in (ValueError, TypeError):  # of a library
            raise AssertionError(f"{error!r}") from error
        return str(error), None
    except ImportError as error:
        assert "update xgboost" in str(error)  # noqa: PT017, as other errors fail all the same
        return f"{error}: model.json", None


def refusal(folder: Path) -> str:
    return attempt(folder)[0]


# Files that were damaged on the way.


def damages(name: str, other: str) -> dict[str, Callable[[Path], Any]]:
    def change(function: Callable[[bytes], bytes]) -> Callable[[Path], Any]:
        return lambda folder: (folder / name).write_bytes(function((folder / name).read_bytes()))

    def flip(part: int) -> Callable[[Path], Any]:
        return change(lambda held: flipped(held, (len(held) - 1) * part // 3))

    return {
        "missing": lambda folder: (folder / name).unlink(),
        "a folder": lambda folder: ((folder / name).unlink(), (folder / name).mkdir()),
        "empty": change(lambda held: b""),
        "truncated": change(lambda held: held[: len(held) * 2 // 3]),
        "longer": change(lambda held: held + b"\n "),
        **{f"flipped {part}": flip(part) for part in range(4)},
        "swapped": lambda folder: swap(folder / name, folder / other),
    }


def flipped(held: bytes, at: int) -> bytes:
    return held[:at] + bytes([held[at] ^ 1]) + held[at + 1 :]


def swap(first: Path, second: Path) -> None:
    held = first.read_bytes()
    first.write_bytes(second.read_bytes())
    second.write_bytes(held)


@pytest.mark.slow
@pytest.mark.parametrize("kind", MODELS)
def test_a_damaged_file_is_named(folders: Any, kind: str, tmp_path: Path) -> None:
    original, _, _ = folders[kind]
    names = sorted(path.name for path in original.iterdir())
    assert len(names) >= 3
    for name, other in zip(names, [*names[1:], names[0]], strict=True):
        for damage, spoil in damages(name, other).items():
            if (name, damage) == ("model.json", "longer"):
                continue  # white space
            folder = copied(original, tmp_path, f"{name}-{damage}")
            spoil(folder)
            message = refusal(folder)
            assert name in message or other in message, f"{name} {damage}: {message!r}"


def test_what_is_no_folder(tmp_path: Path) -> None:
    for folder in (tmp_path, tmp_path / "nowhere"):
        with pytest.raises(ValueError, match="has no model.json: give the folder that export"):
            serving.load(folder)


# model.json that was written by something else.


TEXTS: dict[str, tuple[Callable[[str], Any], str]] = {
    "not JSON": (lambda text: "model: 1", "not complete JSON"),
    "cut": (lambda text: text[:-40], "not complete JSON"),
    "trailing": (lambda text: text + "}", "not complete JSON"),
    "not UTF-8": (lambda text: text.replace("gbdt", "g\xe9bdt", 1).encode("latin-1"), "UTF-8"),
    "UTF-16": (lambda text: text.encode("utf-16"), "UTF-8"),
    "NaN": (lambda text: text.replace('"outputs": ', '"outputs": NaN, "x": ', 1), "NaN"),
    "Infinity": (lambda text: text.replace('"tolerance": ', '"tolerance": -Infinity, "x": ', 1),
                 "Infinity"),
    "a key twice": (lambda text: text.replace('"kind": ', '"kind": "a", "kind": ', 1), "twice"),
    "nested": (lambda text: "[" * 200_000 + "]" * 200_000, "nested too deeply"),
    "a list": (lambda text: f"[{text}]", "holds no object"),
    "a word": (lambda text: '"model"', "holds no object"),
    "null": (lambda text: "null", "holds no object"),
    "other format": (lambda text: text.replace(FORMAT, "onnx.model"), "onnx.model"),
    "newer format": (lambda text: text.replace(f"{FORMAT}/{VERSION}", f"{FORMAT}/{VERSION + 1}"),
                     "newer version"),
    "much newer": (lambda text: text.replace(f"{FORMAT}/{VERSION}", f"{FORMAT}/{'9' * 5000}"),
                   "format"),
    "older format": (lambda text: text.replace(f"{FORMAT}/{VERSION}", f"{FORMAT}/0"),
                     "never released"),
    "no version": (lambda text: text.replace(f"{FORMAT}/{VERSION}", FORMAT), "format"),
    "odd version": (lambda text: text.replace(f"{FORMAT}/{VERSION}", f"{FORMAT}/\u0661"), "format"),
    "superscript": (lambda text: text.replace(f"{FORMAT}/{VERSION}", f"{FORMAT}/\u00b2"), "format"),
    "a long number": (lambda text: text.replace('"outputs": ', f'"outputs": {"9" * 5000}, "x": '),
                      "model.json"),
    "changed": (lambda text: text.replace('"outputs": 1', '"outputs": 2'), "sha256 differs"),
}  # fmt: skip


@pytest.mark.parametrize("name", TEXTS)
def test_text_that_is_no_description(folders: Any, name: str, tmp_path: Path) -> None:
    folder = copied(folders["served"][0], tmp_path)
    spoil, words = TEXTS[name]
    text = (folder / "model.json").read_text("utf-8")
    spoilt = spoil(text)
    assert spoilt != text
    path = folder / "model.json"
    path.write_bytes(spoilt if isinstance(spoilt, bytes) else spoilt.encode())
    message = refusal(folder)
    assert words in message, message
    assert "model.json" in message, message


def copied(original: Path, tmp_path: Path, name: str = "copy") -> Path:
    return Path(shutil.copytree(original, tmp_path / name))


# model.json with a right seal.

FREE = ("versions", "tolerance")
"""Nothing that is loaded depends on them."""

OTHERS = (None, True, 5, -1.5, "x", "../x", [], [1], ["x"], {}, {"x": 1}, [[]], [{}])


@pytest.mark.slow
@pytest.mark.parametrize("kind", MODELS)
def test_values_of_wrong_types(folders: Any, kind: str, tmp_path: Path) -> None:
    """Each key of model.json, missing and with every second value of other types: two or three of
    the kinds of models have each."""
    original, X, wanted = folders[kind]
    folder, document = copied(original, tmp_path), read(original)
    for k, key in enumerate(KEYS, list(MODELS).index(kind)):
        write(folder, {name: value for name, value in document.items() if name != key})
        assert key in refusal(folder)
        for value in OTHERS[k % 2 :: 2]:
            if value != document[key] and key not in ("sha256", *FREE):
                write(folder, {**copy.deepcopy(document), key: value})
                harmless(folder, X, wanted, f"{key}={value!r}")
    write(folder, {**document, "more": 1})
    assert "more" in refusal(folder)


def harmless(folder: Path, X: Any, wanted: Any, note: str) -> None:
    """Raise unless a changed folder is refused by name, or load and predict.py agree about it."""
    message, model = attempt(folder)
    if message:
        assert "model.json" in message, f"{note}: {message}"
        return
    if "parameters" in note:  # what the library makes of them when it trains again
        return
    found = predictions(model, X)
    if found != wanted:
        own = served(folder)
        assert found[0] == own.predict(X).tolist(), f"{note}: another model is loaded"
        if hasattr(own, "predict_proba"):
            np.testing.assert_allclose(found[2], own.predict_proba(X), 1e-6, 1e-6, err_msg=note)


def places(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """The paths to all values, of lists to the first and the last item."""
    if path:
        yield path
    if isinstance(value, dict):
        for key, item in value.items():
            yield from places(item, (*path, key))
    elif isinstance(value, list):
        for k in sorted({0, len(value) - 1} & set(range(len(value)))):
            yield from places(value[k], (*path, k))


def changes(value: Any) -> Iterator[Any]:
    yield from (None, "x", [], {}, [[1]], -7, 1.5)
    if isinstance(value, list) and value:
        yield value[:-1]
        yield [*value, value[-1]]
        yield value[::-1]
    if isinstance(value, dict) and value:
        yield {**value, "more": 1}
        yield {key: value[key] for key in list(value)[1:]}
    if isinstance(value, int | float):
        yield from (value + 1, -value, 1e100, str(value))


CHANGED = 96
"""Changes of each model that are tried, of up to 2,800: each loads all of its boosters. Those of
``python -m tests.readers`` are many more."""


def tampered(document: Any) -> Iterator[tuple[str, Any]]:
    """What is changed, and the changed document."""
    found = []
    for path in places(document):
        if path[0] in ("sha256", "files", *FREE):
            continue
        held = document
        for key in path:
            held = held[key]
        found += [(path, value) for value in changes(held) if value != held]
    for path, value in found[1 :: math.ceil(len(found) / CHANGED)]:
        changed = copy.deepcopy(document)
        at(*path, value=value)(changed)
        yield f"{path}={value!r}"[:200], changed


@pytest.mark.filterwarnings("ignore:Booster has allowed for the rate")  # a changed shift may
@pytest.mark.slow
@pytest.mark.parametrize("kind", MODELS)
def test_each_value_that_was_changed(folders: Any, kind: str, tmp_path: Path) -> None:
    original, X, wanted = folders[kind]
    folder, failed = copied(original, tmp_path), []
    for note, changed in tampered(read(original)):
        write(folder, changed)
        try:
            harmless(folder, X, wanted, note)
        except Exception as error:
            failed.append(f"{note}: {type(error).__name__} {error}"[:300])
    assert not failed, f"{len(failed)}\n" + "\n".join(failed)


def at(*path: Any, value: Any) -> Callable[[dict[str, Any]], Any]:
    """Set the value at a path; a function is given the present one."""

    def change(document: Any) -> None:
        for key in path[:-1]:
            document = document[key]
        document[path[-1]] = value(document[path[-1]]) if callable(value) else value

    return change


def both(*changes: Callable[[dict[str, Any]], Any]) -> Callable[[dict[str, Any]], Any]:
    return lambda document: [change(document) for change in changes]


FILE_AT = ("model", "folds", 0, 0, "file")
CONTRADICTIONS: dict[str, tuple[str, Callable[[dict[str, Any]], Any], str]] = {
    "unsorted thresholds": ("qwk", at("thresholds", "thresholds", value=lambda t: t[::-1]),
                            "must be sorted"),
    "repeated labels": ("qwk", at("thresholds", "labels", value=[1, 1, 2, 3]), "labels"),
    "labels of another type": ("qwk", at("thresholds", "labels", value=list("abcd")), "labels"),
    "fewer labels": ("qwk", at("thresholds", "labels", value=[1, 2, 3]), "labels must be 4"),
    "one threshold more": ("served", both(
        at("thresholds", "thresholds", value=[0.1, 0.2]),
        at("model", "thresholds", "thresholds", value=[0.1, 0.2])), "labels must be 3"),
    "thresholds of two kinds": ("served", at("thresholds", "thresholds", value=[0.9]),
                                "it contradicts itself: thresholds"),
    "classes": ("served", at("classes", "labels", value=[1, 0]), "contradicts itself: classes"),
    "outputs": ("served", at("outputs", value=3), "contradicts itself: outputs"),
    "kind": ("served", at("kind", value="QWKClassifier"), "contradicts itself: kind"),
    "a step less": ("served", at("score", value=lambda steps: steps[1:]), "itself: score"),
    "another formula": ("served", at("score", 0, "formula", value="exp"), "itself: score"),
    "another shift": ("served", at("model", "shift", "shift", value=0.5), "model.json"),
    "another slope": ("served", at("model", "calibrator", "slope", value=3.0), "itself: score"),
    "a weight": ("blend", at("boosters", 0, "weight", value=0.9), "itself: boosters"),
    "a booster less": ("blend", at("boosters", value=lambda each: each[1:]), "model.json"),
    "boosters in another order": ("blend", at("boosters", value=lambda each: each[::-1]),
                                  "model.json"),
    "a booster twice": ("blend", at("model", "folds", 1, 0, "file", value="booster_0.txt"),
                        "name other files"),
    "of the other library": ("blend", at("boosters", 0, "library", value="xgboost"),
                             "itself: boosters"),
    "an unknown class": ("qwk", at("model", "class", value="Ridge"),
                         "class 'Ridge' is none that can be restored"),
    "a class to import": ("qwk", at("model", "folds", 0, 0, "class", value="os.system"),
                          "'os.system' is none that can be restored"),
    "an unknown library": ("served", at("model", "model", "library", value="os"), "library 'os'"),
    "an unknown calibrator": (
        "served", at("model", "calibrator", "format", value="gbdt_objectives.Objective/1"),
        "is none of this package"),
    "an unknown objective": ("qwk", at("model", "folds", 0, 0, "objective", "name", value="exec"),
                             "objective 'exec'"),
    "more threads than there are": (
        "qwk", at("model", "folds", 0, 0, "parameters", "n_jobs", value=10**9),
        "n_jobs must be None or a whole number of at most 1024 threads, found 1000000000"),
    "threads as a word": ("blend", at("model", "parameters", "n_jobs", value="many"),
                          "of at most 1024 threads, found 'many'"),
    "a path up": ("qwk", at(*FILE_AT, value="../booster_0.txt"), "../booster_0.txt"),
    "a path from the root": ("qwk", at(*FILE_AT, value="/etc/passwd"), "/etc/passwd"),
    "a path in files": ("qwk", at("files", value=lambda f: {**f, "../booster_0.txt": "0"}),
                        "../booster"),
    "a name that is never written": ("qwk", at("files", value=lambda f: {**f, "x.pkl": "0"}),
                                     "x.pkl"),
    "no hash of predict.py": (
        "qwk", lambda document: document["files"].pop("predict.py"), "predict.py"),
    "fewer features": ("qwk", at("features", value=lambda each: each[1:]), "features"),
    "renamed feature": ("served", at("features", 0, "name", value="other"), "features"),
    "features in another order": ("served", at("features", value=lambda each: each[::-1]),
                                  "features"),
    "categories in another order": (
        "served", at("features", 4, "categories", value=lambda c: c[::-1]), "features"),
    "a category less": ("blend", at("features", 4, "categories", value=lambda c: c[1:]),
                        "categories"),
    "new categories pass": ("blend", at("features", 4, "unknown", value="missing"), "features"),
    "a segment more": ("blend", at("score", 1, "segments", value=["a", "b", "c"]), "segments"),
    "curve": ("qwk", at("probability", 0, "x", value=lambda x: x[::-1]), "sorted"),
    "a shorter curve": ("qwk", at("probability", 0, "x", value=lambda x: x[1:]), "as many"),
    "number of features": ("qwk", at("model", "n_features_in", value=3), "n_features_in"),
}  # fmt: skip


@pytest.mark.parametrize("name", CONTRADICTIONS)
def test_a_sealed_contradiction_is_named(folders: Any, name: str, tmp_path: Path) -> None:
    kind, change, words = CONTRADICTIONS[name]
    folder = copied(folders[kind][0], tmp_path)
    document = read(folder)
    change(document)
    write(folder, document)
    message = refusal(folder)
    assert words in message, message
    assert "model.json" in message, message


@pytest.mark.parametrize("kind", ["blend", "served", "calibrated"])
def test_a_sealed_booster_that_is_none(folders: Any, kind: str, tmp_path: Path) -> None:
    """Its hash is right, but the library cannot read it."""
    original = folders[kind][0]
    name = read(original)["boosters"][0]["file"]
    held = (original / name).read_bytes()
    spoilt = {"empty": b"", "cut": held[: len(held) // 3], "words": b"tree\n", "zero": b"\x00" * 9}
    for damage, content in spoilt.items():
        folder = copied(original, tmp_path, damage)
        (folder / name).write_bytes(content)
        write(folder, read(folder))
        assert "model.json" in refusal(folder), damage


# Nothing of a folder is executed.

WATCHED = """
import json, os, sys
from gbdt_objectives import serving

folders = list(map(os.path.realpath, sys.argv[1:]))
for folder in folders[::2]:
    serving.load(folder)  # imports what it needs
events = []

def watch(event, arguments):
    if event.split(".")[0] in ("pickle", "compile", "exec", "import", "subprocess", "os", "ctypes"):
        events.append((event, list(map(str, arguments))[:2]))

sys.addaudithook(watch)
for folder in folders[1::2]:
    serving.load(folder)
watch = events.clear  # what follows is none of it
print(json.dumps(list(events)))
"""
"""The audit events of ``load``, after folders of the same kinds were loaded."""

FORBIDDEN = (
    "pickle.find_class", "compile", "exec", "import", "subprocess.Popen", "os.system", "os.exec",
    "os.posix_spawn", "os.fork", "os.putenv", "os.remove", "os.rename", "os.mkdir",
)  # fmt: skip


@pytest.mark.slow
def test_nothing_is_executed(folders: Any, tmp_path: Path) -> None:
    """Neither is predict.py read as code, nor anything unpickled."""
    pairs, trace = [], tmp_path / "trace"
    source = f"open({str(trace)!r}, 'w').close()\nraise RuntimeError('it was executed')\n"
    for kind, (original, _, _) in folders.items():
        folder = copied(original, tmp_path, kind)
        for name in ("predict.py", "sitecustomize.py", "numpy.py", "__init__.py", "__main__.py"):
            (folder / name).write_text(source, "utf-8")
        write(folder, read(folder))
        pairs += [str(original), str(folder)]
    command = [sys.executable, "-c", WATCHED, *pairs]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    events = json.loads(done.stdout)

    assert not [event for event in events if event[0] in FORBIDDEN]
    assert not trace.exists()


def each_number(tree: Any, change: Callable[[float], float]) -> Any:
    if isinstance(tree, dict):
        return {name: each_number(value, change) for name, value in tree.items()}
    if isinstance(tree, list):
        return [each_number(value, change) for value in tree]
    return change(tree) if isinstance(tree, float) else tree


def test_a_machine_with_another_logarithm_loads_it(folders: Any, tmp_path: Path) -> None:
    folder, document = copied(folders["served"][0], tmp_path), read(folders["served"][0])
    steps = document["score"]
    for change in (np.nextafter, lambda x, up: x * (1 - 1e-12)):
        document["score"] = each_number(steps, lambda x: float(change(x, 9.0)))  # noqa: B023
        assert document["score"] != steps
        write(folder, document)
        assert refusal(folder) == ""
    document["score"] = each_number(steps, lambda x: x * (1 + 1e-6))
    write(folder, document)
    assert "it contradicts itself: score" in refusal(folder)
