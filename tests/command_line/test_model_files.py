"""Models in files, by their names' endings."""

from __future__ import annotations

import lightgbm as lgb
import numpy as np
import pytest
import xgboost as xgb

from gbdt_objectives._command_line import files
from tests.cases import refusals_of

X = np.random.default_rng(0).normal(size=(200, 2))
Y = X[:, 0]


test_names_are_checked_before_the_work = refusals_of(
    files.check_model_paths,
    ("m.pkl", "out.json", r"m\.pkl must end in \.json or \.ubj .XGBoost. or \.txt"),
    ("m.json", "out.pkl", r"output must end in \.json or \.ubj for a model of xgboost"),
    ("m.json", "out.txt", r"output must end in \.json or \.ubj for a model of xgboost"),
    ("m.txt", "out.ubj", r"output must end in \.txt for a model of lightgbm"),
    ("m.txt", "out.txt", r"m\.txt does not exist: give the path"),
)


@pytest.mark.parametrize("ending", [".json", ".ubj"])
def test_models_of_xgboost(ending, tmp_path) -> None:
    path, copy = (str(tmp_path / f"{name}{ending}") for name in ("model", "copy"))
    booster = xgb.train({"max_depth": 2}, xgb.DMatrix(X, Y), 4)
    booster.save_model(path)
    files.check_model_paths(path, copy)
    files.write_model(files.read_model(path), copy)
    data = xgb.DMatrix(X)
    np.testing.assert_array_equal(files.read_model(copy).predict(data), booster.predict(data))


def test_models_of_lightgbm_keep_rounds_after_the_best(tmp_path) -> None:
    path = str(tmp_path / "model.txt")
    booster = lgb.train({"verbose": -1}, lgb.Dataset(X, Y), 6)
    booster.best_iteration = 2
    files.write_model(booster, path)
    files.check_model_paths(path, path)
    assert files.read_model(path).current_iteration() == 6


@pytest.mark.parametrize(
    "lost", [("tree\n", "three\n"), ("\nnum_class=", "\nclasses="), ("\nend of", "\nend_of")]
)
def test_a_text_that_is_no_model_of_lightgbm(lost, tmp_path) -> None:
    path = tmp_path / "model.txt"
    text = lgb.train({"verbose": -1}, lgb.Dataset(X, Y), 2).model_to_string()
    path.write_text(text.replace(*lost))
    with pytest.raises(ValueError, match="is no model of LightGBM: save it with save_model"):
        files.read_model(str(path))


def test_a_file_that_is_no_model_of_xgboost(tmp_path) -> None:
    path = tmp_path / "model.json"
    path.write_text("{}")
    with pytest.raises(ValueError, match="is no model of xgboost"):
        files.read_model(str(path))


def test_a_library_that_is_missing_is_named(monkeypatch) -> None:
    def missing(name: str) -> None:
        raise ImportError(name)

    monkeypatch.setattr(files._registry, "load", missing)
    with pytest.raises(ImportError, match=r"m\.txt needs lightgbm: pip install lightgbm"):
        files.read_model("m.txt")
