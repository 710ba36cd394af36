"""The value of a library: whole, found by name or by what belongs to it, and imported late."""

from __future__ import annotations

import dataclasses
import subprocess
import sys
from importlib import import_module
from inspect import signature
from typing import Any

import lightgbm as lgb
import numpy as np
import pytest
import xgboost as xgb

from gbdt_objectives import _registry
from gbdt_objectives.adapters._models import Library
from tests.cases import each

LIBRARIES = [_registry.library(name) for name in _registry.NAMES]
X, Y = np.arange(400.0)[:, np.newaxis], np.arange(400) // 50 % 2

MODELS: list[tuple[Any, str | None]] = [
    (xgb.XGBRegressor(), "xgboost"), (xgb.XGBRFClassifier(), "xgboost"),
    (xgb.DMatrix(X, Y), "xgboost"), (lgb.LGBMClassifier(), "lightgbm"),
    (lgb.Dataset(X, Y), "lightgbm"), (object(), None), ("xgboost", None), (None, None),
]  # fmt: skip


@each("library", LIBRARIES, ids=lambda one: one.name)
def test_a_library_is_whole_and_frozen(library: Library) -> None:
    with pytest.raises(dataclasses.FrozenInstanceError):
        library.name = "other"  # type: ignore[misc]
    row = _registry.BY_NAME[library.name]
    for field in dataclasses.fields(library):
        value, kind = getattr(library, field.name), str(field.type)
        assert value is not None
        if kind.startswith("Callable"):
            signature(value)  # raises for what cannot be called
        if hasattr(row, field.name):
            assert value == getattr(row, field.name)
    package = import_module(library.name)
    for name, kind in library.kinds.items():
        assert issubclass(kind, getattr(package, name))
        assert name in row.estimators


@each(("thing", "name"), MODELS, ids=lambda value: type(value).__name__)
def test_what_belongs_to_a_library_tells_it(thing: Any, name: str | None) -> None:
    found = _registry.library_of(thing)
    assert _registry.name_of(thing) == name
    assert found is (None if name is None else _registry.library(name))


def test_an_estimator_tells_its_kind_and_role_also_of_a_subclass() -> None:
    class Mine(lgb.LGBMRegressor):
        pass

    class LGBMRegressor:  # of nobody
        pass

    assert _registry.kind_of(Mine()) == "LGBMRegressor"
    assert _registry.kind_of(xgb.XGBRFClassifier()) == "XGBClassifier"
    assert _registry.kind_of(LGBMRegressor()) is None
    assert _registry.library_in_role(Mine(), "Classifier") is None
    assert _registry.library_in_role(Mine(), "Regressor") is _registry.library("lightgbm")


def test_naming_a_library_imports_none() -> None:
    code = (
        "import sys; from gbdt_objectives import _registry; "
        "_registry.name_of(1), _registry.kind_of(1), _registry.library_of(1); "
        "print([name for name in (*_registry.NAMES, 'scipy', 'sklearn') if name in sys.modules])"
    )
    out = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True)
    assert out.stdout.strip() == "[]"


@each("library", LIBRARIES, ids=lambda one: one.name)
def test_a_model_as_data(library: Library) -> None:
    """What a file of a model holds, by the functions that serving calls."""
    kind = library.kinds[f"{library.prefix}Regressor"]
    model = kind(n_estimators=5, max_depth=2, n_jobs=1, verbosity=library.small["verbosity"])
    model.fit(X, Y)
    booster = getattr(model, "booster_", None) or model.get_booster()
    assert (library.count_outputs(model), library.count_features(model)) == (1, 1)
    assert library.leaves(model, X).shape[1] == 5
    link = library.link_of(model)
    natural = link.inverse(library.margin(model, X))
    # XGBoost adds up and predicts in float32
    np.testing.assert_allclose(natural, model.predict(X), rtol=1e-6, atol=1e-6)
    assert np.unique(library.trees(booster).leaves).size > 1  # it learnt something
    moved = library.shift_intercept(booster, 1.5)
    np.testing.assert_allclose(
        library.margin(moved, X), library.margin(booster, X) + 1.5, rtol=1e-6, atol=1e-6
    )
