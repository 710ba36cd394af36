"""The contract of every exportable model: the folder, and what is loaded, predict as the model."""

from __future__ import annotations

import ast
import csv
import json
import shutil
import subprocess
import sys
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from gbdt_objectives import Objective, QWKClassifier, ThresholdClassifier, serving
from gbdt_objectives._registry import name_of
from gbdt_objectives._steps.steps import seal
from gbdt_objectives.serving import ServedModel
from tests.contract import CALIBRATORS
from tests.serving.models import (
    CASES,
    NEW_ROWS,
    Case,
    Fitted,
    predict_booster,
    run_script,
    served,
)

METHODS = ("predict", "predict_proba", "predict_score")
EACH = pytest.mark.parametrize(
    "case",
    [
        pytest.param(
            case, id=case.name,
            marks=[pytest.mark.xdist_group(case.name), *[pytest.mark.slow] * (k % 3 != 0)],
        )
        for k, case in enumerate(CASES)
    ],
)  # fmt: skip
"""One in three is fast; the tests of a case share its folder."""


FOLDERS: dict[str, Path] = {}


@pytest.fixture
def folder(case: Case, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of a case, written once."""
    if case.name not in FOLDERS:
        fitted, FOLDERS[case.name] = case.fit(), tmp_path_factory.mktemp("case") / "model"
        serving.export(fitted.model, FOLDERS[case.name], fitted.X, **fitted.extras)
    return FOLDERS[case.name]


def tolerance(document: dict[str, Any]) -> float:
    """XGBoost adds up its trees in float32, LightGBM in float64."""
    uses = {booster["library"] for booster in document["boosters"]}
    return 1e-6 if uses & {"xgboost", "gblinear"} else 1e-9


def model_of(fitted: Fitted) -> Any:
    """What the folder stands for: the model, with what belongs to it."""
    is_booster = not hasattr(fitted.model, "get_params")
    return ServedModel(fitted.model, **fitted.extras) if is_booster else fitted.model


@cache
def of_model(case: Case) -> dict[str, Any]:
    """What the model of a case predicts for new rows."""
    fitted = case.fit()
    return expected(model_of(fitted), fitted.new)


def expected(model: Any, X: Any) -> dict[str, Any]:
    """What a model predicts, by method, as far as it has them."""
    found = {"predict": np.asarray(model.predict(X))}
    if isinstance(model, ThresholdClassifier):
        return {**found, "predict_score": np.asarray(X)}
    has_classes = getattr(model, "classes_", None) is not None
    if has_classes or getattr(model, "calibrator", None) is not None:
        found["predict_proba"] = np.asarray(model.predict_proba(X))
    if isinstance(model, QWKClassifier):
        found["predict_score"] = model.predict_score(X)
    elif "predict_proba" not in found:
        is_ours = hasattr(model, "predict_score")
        found["predict_score"] = model.predict_score(X) if is_ours else found["predict"]
    elif found["predict_proba"].shape[1] == 2:
        found["predict_score"] = found["predict_proba"][:, 1]
    return found


def forms(X: Any) -> Iterator[tuple[str, Any]]:
    """The same rows in every form that predict.py takes."""
    if np.ndim(X) == 1:
        yield from {"scores": X, "named": {"score": X}, "column": X[:, None]}.items()
    elif hasattr(X, "iloc"):
        yield "frame", X
        yield "dict", {name: X[name].tolist() for name in X.columns[::-1]}
        yield "cells", np.array([*map(list, cells(X))])
        if not any(dtype == "category" for dtype in X.dtypes):
            yield "array", X.to_numpy(float)
    else:
        yield "array", X
        yield "list", X.tolist()
        yield "dict", {k: X[:, k] for k in reversed(range(X.shape[1]))}


def cells(X: Any) -> Iterator[list[str]]:
    """The rows as text, as a table in a file has them; "nan" where a value is missing."""
    rows = X.astype(object).to_numpy() if hasattr(X, "iloc") else np.asarray(X, object)
    for row in rows.reshape(len(X), -1):
        yield [str(int(v)) if isinstance(v, bool) else "nan" if v != v else str(v) for v in row]


def write_csv(path: Path, X: Any) -> None:
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        names = X.columns if hasattr(X, "iloc") else range(np.ndim(X) if np.ndim(X) == 1 else 4)
        writer.writerow(["score"] if np.ndim(X) == 1 else names)
        writer.writerows(["" if v == "nan" else v for v in row] for row in cells(X))


def close(found: Any, wanted: Any, t: float, note: str) -> None:
    wanted = np.asarray(wanted)
    assert np.shape(found) == wanted.shape, note
    if wanted.dtype.kind == "f":
        np.testing.assert_allclose(found, wanted, t, t, err_msg=note)
    else:
        assert np.asarray(found).astype(wanted.dtype).tolist() == wanted.tolist(), note


@pytest.mark.slow
@EACH
def test_the_folder_predicts_as_the_model(case: Case, folder: Path) -> None:
    fitted = case.fit()
    document = json.loads((folder / "model.json").read_text("utf-8"))
    t, wanted = tolerance(document), of_model(case)
    assert len(wanted["predict"]) == NEW_ROWS > len(np.load(folder / "check.npz")["X"]) == 100
    assert {"predict_proba", "predict_score"} & set(wanted)

    model = served(folder)
    for form, X in forms(fitted.new):
        for method, values in wanted.items():
            close(getattr(model, method)(X), values, t, f"{method} of {form}")
    of_csv(folder, fitted.new, wanted, t)
    is_auditable(folder, document)
    assert run_script(folder, "--check") == (0, "")
    changed_is_noticed(folder, document)


def of_csv(folder: Path, X: Any, wanted: dict[str, Any], t: float) -> None:
    path = folder.parent / "data.csv"
    write_csv(path, X)
    status, out = run_script(folder, str(path))
    assert status == 0
    header, *rows = csv.reader(out.splitlines())
    assert [row[0] for row in rows] == list(map(str, wanted["predict"].tolist())) or np.allclose(
        [float(row[0]) for row in rows], wanted["predict"], t, t
    )
    numbers = np.array([row[1:] for row in rows], float)
    other = wanted.get("predict_proba", wanted.get("predict_score"))
    close(numbers, np.reshape(other, (len(X), -1)), t, "numbers of the table")
    assert len(header) == 1 + numbers.shape[1]


def is_auditable(folder: Path, document: dict[str, Any]) -> None:
    source = (folder / "predict.py").read_text("utf-8")
    assert len(source.splitlines()) <= 85
    assert max(map(len, source.splitlines())) <= 100
    nodes = list(ast.walk(ast.parse(source)))
    assert not any(isinstance(node, ast.ImportFrom) for node in nodes)
    modules = [name.name for node in nodes if isinstance(node, ast.Import) for name in node.names]
    libraries = {one["library"].replace("gblinear", "xgboost") for one in document["boosters"]}
    imported = {name.split(".")[0] for name in modules}
    assert imported - sys.stdlib_module_names == {"numpy", *libraries}
    assert {"model.json", *document["files"]} == {path.name for path in folder.iterdir()}
    assert not any(path.read_bytes().startswith(b"\x80") for path in folder.iterdir())  # a pickle


def changed_is_noticed(folder: Path, document: dict[str, Any]) -> None:
    """--check fails once a booster, or a threshold, is another one; what it was comes back."""
    path = folder / "model.json"
    original = path.read_bytes()
    path.write_text(json.dumps({**document, "tolerance": 0.5}), "utf-8")
    assert run_script(folder, "--check") == ("not as exported: ['model.json']", "")
    if document["thresholds"] is not None:
        known = [name for name in ("prices", "costs") if name in document["thresholds"]]
        name, first = (known[0], -9) if known else ("thresholds", "-inf")
        count = len(document["thresholds"][name])
        others = [9 if known else first] * (count - 1)
        changed = {**document["thresholds"], name: [first, *others]}
        path.write_text(json.dumps({**document, "thresholds": changed}), "utf-8")
        assert run_script(folder, "--check") == ("not as exported: ['model.json']", "")
        sealed = {**document, "thresholds": changed}
        path.write_text(json.dumps({**sealed, "sha256": seal(sealed)}), "utf-8")
        status, _ = run_script(folder, "--check")
        assert "predict" in str(status)
    path.write_bytes(original)
    if document["boosters"]:
        name = document["boosters"][0]["file"]
        held = (folder / name).read_bytes()
        (folder / name).write_bytes(held + b"\n")
        status, _ = run_script(folder, "--check")
        assert name in str(status)
        (folder / name).write_bytes(held)


@pytest.mark.slow
@EACH
def test_what_is_loaded_is_the_model_again(case: Case, folder: Path, tmp_path: Path) -> None:
    fitted = case.fit()
    model = model_of(fitted)
    loaded = serving.load(folder)
    if name_of(model) is None or type(model).__module__.startswith("gbdt_objectives"):
        assert type(loaded) is type(model)
    else:  # the estimator of gbdt_objectives.adapters
        assert isinstance(loaded, type(model))
    found = expected(loaded, fitted.new)
    for method, values in of_model(case).items():
        if not trained_on_a_function(fitted.model):
            assert found[method].dtype == values.dtype, method
            np.testing.assert_array_equal(found[method], values, method)
        else:  # by its library's own sigmoid or softmax, of which XGBoost's is float32
            t = 1e-6 if name_of(model) == "xgboost" else 1e-14
            close(found[method], values, t, method)
    for name in ("classes_", "thresholds_", "n_features_in_", "feature_names_in_"):
        if getattr(model, name, None) is not None:
            np.testing.assert_array_equal(getattr(loaded, name), getattr(model, name), name)

    again = tmp_path / "again"
    serving.export(loaded, again, fitted.X)
    first, second = (
        json.loads((path / "model.json").read_text("utf-8")) for path in (folder, again)
    )
    for name in ("score", "probability", "classes", "thresholds", "features", "boosters"):
        assert first[name] == second[name], name
    assert served(again).predict(fitted.new).tolist() == served(folder).predict(fitted.new).tolist()


def trained_on_a_function(model: Any) -> bool:
    """Whether it holds an objective that JSON cannot hold."""
    models = getattr(model, "estimators_", [model])
    return any(isinstance(getattr(each, "_objective", None), Objective) for each in models) or (
        isinstance(getattr(model, "objective_", None), Objective)
    )


LIBRARIES_OWN = [c for c in CASES if "booster-plain" in c.name]


@pytest.mark.parametrize("case", LIBRARIES_OWN, ids=lambda case: case.name)
def test_a_plain_booster_is_served_as_its_library_predicts(case: Case, folder: Path) -> None:
    fitted = case.fit()
    model, library = served(folder), str(name_of(fitted.model))
    own = predict_booster(library, fitted.model, fitted.new, margin=False)
    t = {"lightgbm": 1e-9, "xgboost": 1e-6}[library]  # as in test_the_folder_predicts...
    found = model.predict_proba if np.ndim(own) == 2 else model.predict_score
    close(found(fitted.new), own.astype(float), t, "probabilities or scores")


def test_the_table_has_every_kind() -> None:
    """K from 2 to 10, 1 to 5 bags, every calibrator, both libraries."""
    names = [case.name for case in CASES]
    assert len(names) == len(set(names))
    for short in ("lgb", "xgb"):
        mine = [name for name in names if name.startswith(short)]
        assert all(any(f"-qwk-{K}-" in name for name in mine) for K in range(2, 11))
        assert all(any(f"-log_odds-{bags}-" in name for name in mine) for bags in range(1, 6))
        assert all(any(f"-cal-{name}-" in one for one in mine) for name in CALIBRATORS)


@pytest.mark.slow
@pytest.mark.parametrize(
    "case",
    [case for case in CASES if case.name in ("lgb-qwk-3-categories", "xgb-cal-default-booster")],
    ids=lambda case: case.name,
)
def test_the_script_runs_by_itself(case: Case, folder: Path, tmp_path: Path) -> None:
    """In a process without this package, from another folder."""
    fitted, folder = case.fit(), shutil.copytree(folder, tmp_path / "model")
    write_csv(tmp_path / "data.csv", fitted.new)

    def run(*arguments: str) -> subprocess.CompletedProcess[str]:
        command = [sys.executable, "-I", str(folder / "predict.py"), *arguments]
        return subprocess.run(
            command, cwd=tmp_path, capture_output=True, text=True, encoding="utf-8"
        )

    out = run(str(tmp_path / "data.csv"))
    predicted = [row[0] for row in csv.reader(out.stdout.splitlines())][1:]
    assert predicted == list(map(str, fitted.model.predict(fitted.new).tolist()))
    if case.name.startswith("xgb"):  # a process takes seconds, and the code is the same
        assert run("--check").returncode == 0
    (folder / "check.npz").unlink()
    assert run_script(folder, "--check")[0] not in (None, 0)
