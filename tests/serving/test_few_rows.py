"""Few rows, as a service asks for them: boosters are asked themselves, and say the same."""

from __future__ import annotations

import pickle
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import lightgbm as lgb
import numpy as np
import pandas as pd
import pytest
import scipy.sparse
import xgboost as xgb
from sklearn.exceptions import NotFittedError

from gbdt_objectives import QWKClassifier, apply_thresholds, serving
from gbdt_objectives.thresholds import Thresholds

SMALL: dict[str, Any] = {
    "lightgbm": lgb.LGBMRegressor(n_estimators=12, num_leaves=8, n_jobs=1, verbose=-1),
    "xgboost": xgb.XGBRegressor(n_estimators=12, max_depth=3, n_jobs=1),
}
PREDICT: dict[str, Any] = {
    "lightgbm": lgb.LGBMModel.predict, "xgboost": xgb.XGBModel.predict,
}  # fmt: skip
"""The libraries' own, asked of any estimator of theirs."""
MODELS = [(library, kind) for library in SMALL for kind in ("fitted", "pickled", "loaded")]
EACH_MODEL = pytest.mark.parametrize(("library", "kind"), MODELS)
EACH_LIBRARY = pytest.mark.parametrize("library", list(SMALL))


def rows(n: int, seed: int) -> np.ndarray:
    X = np.random.default_rng(seed).normal(size=(n, 4))
    X[::5, 1], X[3:4, 2] = np.nan, 0.0
    return X


NEW = rows(130, 1)


@cache
def saved(library: str, named: bool = False) -> dict[str, bytes]:
    """The same model fitted, pickled and loaded from a folder, each to be unpickled anew."""
    X = rows(300, 0)
    y = np.digitize(X[:, 0] + 0.5 * X[:, 2], [-0.7, 0.2, 1.1])
    table: Any = pd.DataFrame(X, columns=list("abcd")) if named else X
    fitted = QWKClassifier(SMALL[library], random_state=0).fit(table, y)
    with TemporaryDirectory() as place:
        serving.export(fitted, Path(place) / "model", table)
        loaded = serving.load(Path(place) / "model")
    again = pickle.loads(pickle.dumps(fitted))
    models = {"fitted": fitted, "pickled": again, "loaded": loaded}
    return {kind: pickle.dumps(model) for kind, model in models.items()}


def model_of(library: str, kind: str = "loaded", named: bool = False) -> Any:
    return pickle.loads(saved(library, named)[kind])


def score_by_estimators(library: str, model: Any, X: Any) -> np.ndarray:
    each = [np.asarray(PREDICT[library](one, X), float) for one in model.estimators_]
    return model.center_ + model.stretch_ * (np.mean(each, axis=0) - model.center_)


def assert_same(library: str, model: Any, X: Any) -> None:
    """The score is what the library's estimators say, but for rounding of the stretch."""
    right = score_by_estimators(library, model, X)
    np.testing.assert_allclose(model.predict_score(X), right, rtol=1e-12)
    np.testing.assert_array_equal(model.predict(X), apply_thresholds(right, model.thresholds_))


@EACH_MODEL
@pytest.mark.parametrize("n", [1, 7, 100, 101])
def test_few_rows_are_predicted_as_the_estimators_do(library, kind, n) -> None:
    model = model_of(library, kind)
    for X in (NEW[:n], np.asfortranarray(NEW[:n]), NEW[:n].astype(np.float32), NEW[n - 1 : n]):
        assert_same(library, model, X)
    one_by_one = [model.predict_score(NEW[k : k + 1])[0] for k in range(n)]
    np.testing.assert_allclose(one_by_one, model.predict_score(NEW[:n]), rtol=1e-12)


@pytest.mark.parametrize(
    ("library", "changed"),
    [
        ("lightgbm", {"verbose": 1}), ("lightgbm", {"n_jobs": 2}), ("lightgbm", {"n_jobs": None}),
        ("lightgbm", {"pred_early_stop": True}), ("lightgbm", {"zero_as_missing": True}),
        ("xgboost", {"missing": 0.0}), ("xgboost", {"n_jobs": 2}), ("xgboost", {"verbosity": 0}),
    ],
)  # fmt: skip
@pytest.mark.parametrize("kind", ["fitted", "loaded"])
def test_parameters_that_are_set_later_count(library, changed, kind) -> None:
    model = model_of(library, kind)
    X = NEW[3:4] if library == "lightgbm" else np.nan_to_num(NEW[3:4])
    before = model.predict_score(X)
    for one in model.estimators_:
        one.set_params(**changed)
    assert_same(library, model, X)
    if "missing" in changed:
        assert abs(model.predict_score(X) - before)[0] > 1e-6


@EACH_LIBRARY
def test_early_stopping_is_in_what_few_rows_get(library) -> None:
    X, y = rows(300, 0), np.digitize(rows(300, 0)[:, 0], [-0.7, 0.2, 1.1])
    many = SMALL[library].__class__(**{**SMALL[library].get_params(), "n_estimators": 400})
    model = QWKClassifier(many, random_state=0, early_stopping_rounds=5).fit(X, y)
    assert max(model.best_iterations_) < 400
    assert_same(library, model, NEW[:1])


@EACH_MODEL
def test_models_and_thresholds_that_are_changed_count(library, kind) -> None:
    model = model_of(library, kind)
    model.predict(NEW[:1])
    model.estimators_ = model.estimators_[:2]
    assert_same(library, model, NEW[:1])
    model.estimators_[0] = model_of(library).estimators_[4]
    assert_same(library, model, NEW[:1])
    model.thresholds_ = Thresholds([-9, -8, -7], model.classes_)
    assert model.predict(NEW[:1]) == model.classes_[3]
    model.thresholds_ = np.array([-9, -8, 9])  # plain numbers between the model's classes
    assert model.predict(NEW[:1]) == model.classes_[2]


class Doubled(lgb.LGBMRegressor):
    """A user's own, which predicts something else than its booster."""

    def predict(self, X: Any, *args: Any, **kwargs: Any) -> Any:
        return 2 * super().predict(X, *args, **kwargs)


def test_a_predict_of_the_users_own_is_asked() -> None:
    model = model_of("lightgbm")
    right = 2 * model.estimators_[0].predict(NEW[:1])
    for one in model.estimators_:
        one.predict = lambda X, of=model.estimators_[0]: 2 * lgb.LGBMModel.predict(of, X)
    wanted = model.center_ + model.stretch_ * (right - model.center_)
    np.testing.assert_allclose(model.predict_score(NEW[:1]), wanted, rtol=1e-12)
    X, y = rows(300, 0), np.digitize(rows(300, 0)[:, 0], [-0.7, 0.2, 1.1])
    own = QWKClassifier(Doubled(**SMALL["lightgbm"].get_params()), objective=None).fit(X, y)
    found = np.mean([2 * one.booster_.predict(NEW[:1]) for one in own.estimators_], axis=0)
    wanted = own.center_ + own.stretch_ * (found - own.center_)
    np.testing.assert_allclose(own.predict_score(NEW[:1]), wanted, rtol=1e-12)


class FirstRounds(xgb.XGBRegressor):
    """A user's own, which changes what the inherited ``predict`` reads."""

    @property
    def best_iteration(self) -> int:
        return 2


def of_users(X: Any, y: Any, estimator: Any) -> Any:
    return QWKClassifier(estimator, objective=None, random_state=0).fit(X, y)


def test_what_an_inherited_predict_reads_may_be_the_users_own() -> None:
    X, y = rows(300, 0), np.digitize(rows(300, 0)[:, 0], [-0.7, 0.2, 1.1])
    model = of_users(X, y, FirstRounds(**SMALL["xgboost"].get_params()))
    assert_same("xgboost", model, NEW[:1])
    boosters = [one.get_booster() for one in model.estimators_]
    first = np.mean([one.inplace_predict(NEW[:1], iteration_range=(0, 3)) for one in boosters])
    wanted = model.center_ + model.stretch_ * (first - model.center_)
    np.testing.assert_allclose(model.predict_score(NEW[:1]), [wanted], rtol=1e-6)  # float32


@EACH_LIBRARY
def test_a_method_of_the_library_that_is_replaced_is_asked(library, monkeypatch) -> None:
    X, y = rows(300, 0), np.digitize(rows(300, 0)[:, 0], [-0.7, 0.2, 1.1])
    model, own = of_users(X, y, SMALL[library]), PREDICT[library]
    before = score_by_estimators(library, model, NEW[:1]) - model.center_
    kind = xgb.XGBModel if library == "xgboost" else lgb.LGBMModel
    monkeypatch.setattr(kind, "predict", lambda self, X, **given: own(self, X, **given) + 1)
    found = model.predict_score(NEW[:1]) - model.center_
    np.testing.assert_allclose(found, before + model.stretch_, rtol=1e-6)  # float32


@EACH_MODEL
def test_one_row_is_checked(library, kind) -> None:
    model = model_of(library, kind)
    for wrong in (NEW[:1, :3], np.hstack([NEW[:1], NEW[:1]])):
        with pytest.raises(ValueError, match="features"):
            model.predict(wrong)
    with pytest.raises(ValueError, match="two-dimensional"):
        model.predict(NEW[0])
    with pytest.raises(TypeError, match="masked"):
        model.predict(np.ma.masked_array(NEW[:1], np.isnan(NEW[:1])))
    with pytest.raises((ValueError, TypeError)):
        model.predict(np.array([["a", "b", "c", "d"]], object))
    with pytest.raises(ValueError, match=r"at least one row|minimum of 1|0 sample"):
        model.predict(NEW[:0])
    row = NEW[1:2]  # without NaN and 0, which XGBoost takes for missing in sparse rows
    right = model.predict_score(row)
    for X in (row.tolist(), row.astype(object), row.astype(">f8"), scipy.sparse.csr_matrix(row)):
        np.testing.assert_allclose(model.predict_score(X), right, rtol=1e-12)
    with pytest.raises(NotFittedError):
        QWKClassifier(SMALL[library]).predict(NEW[:1])


@EACH_MODEL
def test_one_row_of_a_table_has_its_names(library, kind) -> None:
    model = model_of(library, kind, named=True)
    table = pd.DataFrame(NEW[:1], columns=list("abcd"))
    assert_same(library, model, table)
    with pytest.raises(ValueError, match="feature names"):
        model.predict(table[list("dcba")])
    with pytest.raises(ValueError, match="feature names"):
        model.predict(table.rename(columns={"a": "z"}))
    with pytest.warns(UserWarning, match="feature names"):
        found = model.predict_score(NEW[:1])
    np.testing.assert_allclose(found, model.predict_score(table), rtol=1e-12)


@EACH_LIBRARY
def test_a_model_that_predicts_no_number_is_named(library) -> None:
    model = model_of(library)
    model.estimators_[1].predict = lambda X: np.full(len(X), np.inf)
    with pytest.raises(ValueError, match=r"estimator \w+ predicts nan or inf for a row"):
        model.predict(NEW[:1])


@EACH_MODEL
def test_threads_share_a_model(library, kind) -> None:
    """Nothing is changed or kept, so that eight threads of a server may ask one model."""
    model = model_of(library, kind)
    right, state = model.predict_score(NEW), pickle.dumps(model)
    classes = model.predict(NEW)

    def ask(k: int) -> bool:
        found = [model.predict_score(NEW[i : i + 1])[0] for i in range(k, len(NEW), 8)]
        labels = [model.predict(NEW[i : i + 1])[0] for i in range(k, len(NEW), 8)]
        same = np.allclose(found, right[k::8], rtol=1e-12)  # the order of the mean's terms
        return bool(same and (labels == classes[k::8]).all())

    with ThreadPoolExecutor(8) as pool:
        assert all(pool.map(ask, range(8)))
    assert pickle.dumps(model) == state
