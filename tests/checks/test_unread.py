"""Columns that only a library reads: what is told of them, and what is left to the library."""

from __future__ import annotations

import re
import runpy
import warnings
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import lightgbm as lgb
import numpy as np
import pandas as pd
import pytest
from sklearn.feature_extraction.text import CountVectorizer
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import cross_val_score
from sklearn.pipeline import make_pipeline

from gbdt_objectives import CalibratedClassifier, QWKClassifier
from gbdt_objectives._checks.tables import check_known_labels
from gbdt_objectives.adapters.lightgbm import LGBMClassifier, LGBMRegressor, train
from gbdt_objectives.adapters.sklearn import HistGradientBoostingRegressor
from gbdt_objectives.adapters.xgboost import XGBClassifier, XGBRegressor
from gbdt_objectives.objectives import weighted_logloss_objective
from gbdt_objectives.serving import load
from tests.cases import each

rng = np.random.default_rng(0)
N = 80
X = pd.DataFrame(rng.normal(size=(N, 2)), columns=["a", "b"])
y = (X["a"] + rng.normal(size=N) > 0).astype(int).to_numpy()
GAP = np.where(np.arange(N) == 3, np.nan, 1.0)
SMALL: dict[str, Any] = {"n_estimators": 3, "n_jobs": 1}


def lightgbm(kind: Any = LGBMClassifier) -> Any:
    return kind(**SMALL, num_leaves=3, verbose=-1)


FITTED = [lightgbm().fit(X, y), XGBClassifier(**SMALL).fit(X, y)]


@each(("given", "said"), [
    ({"y": y[:-1]}, "y has 79 rows, but X has 80: they must match"),
    ({"y": y.astype(float) * GAP}, "y must be finite, found nan at row 3"),
    ({"y": np.array(["n", "y"])[y]}, r"y has dtype <U1, but the classes of the model are \[0, 1\]"),
    ({"y": np.array(["n", "y"], object)[y]}, "y has dtype object, but the classes of"),
    ({"y": np.eye(2)[y]}, "y must be one-dimensional, found shape"),
    ({"y": 1.0}, "y has 1 rows, but X has 80"),
    ({"y": y, "sample_weight": GAP}, "sample_weight must be finite, found nan at row 3"),
    ({"y": y, "sample_weight": -np.ones(N)}, "sample_weight must not be negative"),
    ({"y": y, "sample_weight": np.zeros(N)}, "sample_weight is 0 in all 80 rows"),
    ({"y": y, "sample_weight": np.ones((N, 2))}, "sample_weight has 160 rows|one-dimensional"),
    ({"X": X.iloc[:0], "y": y[:0]}, "is empty: there must be at least one row"),
])  # fmt: skip
def test_a_score_says_what_it_cannot_read(given: dict[str, Any], said: str) -> None:
    for model in FITTED:
        with pytest.raises((ValueError, TypeError), match=said):
            model.score(**{"X": X, **given})


def test_a_score_of_other_classes_is_told() -> None:
    for model in FITTED:
        with pytest.warns(UserWarning, match=r"y holds \[2\], but the classes of the model are"):
            assert model.score(X, y + 1) < 1


def test_a_model_without_classes_is_scored() -> None:
    """CatBoost gives regressors an empty list of them."""
    for none in (np.array([], object), [], np.array([])):
        check_known_labels({"self": SimpleNamespace(classes_=none), "y": y})
        check_known_labels({"self": SimpleNamespace(classes_=none), "y": y.astype(str)})
    check_known_labels({"self": SimpleNamespace(), "y": y})
    with pytest.raises(TypeError, match="but the classes of the model are"):
        check_known_labels({"self": SimpleNamespace(classes_=np.array(["n"], object)), "y": y})


def test_a_model_that_is_fitted_again_learns_other_classes() -> None:
    for model in (lightgbm(), XGBClassifier(**SMALL)):
        model.fit(X, y)
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            model.fit(X, y + np.arange(N) % 2)
        assert model.classes_.tolist() == [0, 1, 2]


@each("labels", [y, y.tolist(), pd.Series(y), y.astype(float), y.astype(bool), y.reshape(-1, 1)])
def test_a_score_of_any_form_of_its_labels_says_nothing(labels: Any) -> None:
    for model in FITTED:
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            assert model.score(X, labels) == pytest.approx(model.score(X, y))


@each(("name", "values", "said"), [
    ("sample_weight_eval_set", GAP, r"sample_weight_eval_set\[0\] must be finite"),
    ("sample_weight_eval_set", np.array([]), r"sample_weight_eval_set\[0\] is empty"),
    ("base_margin_eval_set", np.ones(N - 1), r"base_margin_eval_set\[0\] has 79 rows, but"),
    ("eval_set", (X, y[:-1]), r"eval_set\[0\]\[1\] has 79 rows, but eval_set\[0\]\[0\] has 80"),
    ("eval_set", (X, y * GAP), r"eval_set\[0\]\[1\] must be finite, found nan at row 3"),
    ("eval_set", (X.to_numpy(), y), r"eval_set\[0\]\[0\] has no names of columns, but the model"),
])  # fmt: skip
def test_evaluation_sets_are_read(name: str, values: Any, said: str) -> None:
    given = {"eval_set": [(X, y)], name: [values]}
    with pytest.raises((ValueError, TypeError), match=said):
        XGBRegressor(**SMALL).fit(X, y, **given)


def test_the_remedy_of_columns_without_names_works() -> None:
    held_out = pd.DataFrame(X.to_numpy(), columns=["a", "b"])
    assert XGBRegressor(**SMALL).fit(X, y, eval_set=[(held_out, y)], verbose=False).n_features_in_


@each(("name", "values"), [("eval_sample_weight", GAP), ("eval_init_score", np.full(N, np.inf))])
def test_evaluation_sets_of_lightgbm_are_read(name: str, values: Any) -> None:
    with pytest.raises(ValueError, match=rf"{name}\[0\] must"):
        lightgbm(LGBMRegressor).fit(X, y, eval_set=[(X, y)], **{name: [values]})


@each(("name", "values", "said"), [
    ("X_val", np.ones(N), r"X_val must be two-dimensional, found shape \(80,\)"),
    ("sample_weight_val", GAP, "sample_weight_val must be finite"),
    ("y_val", y[:0], "y_val is empty"),
])  # fmt: skip
def test_evaluation_rows_of_scikit_learn_are_read(name: str, values: Any, said: str) -> None:
    model = HistGradientBoostingRegressor(max_iter=3, early_stopping=True)
    with pytest.raises(ValueError, match=said):
        model.fit(X, y, **{"X_val": X.to_numpy(), "y_val": y, name: values})


@each("margin", [np.full(N, np.nan), np.full(N, np.inf), []])
def test_margins_of_a_prediction_are_read(margin: Any) -> None:
    with pytest.raises(ValueError, match="base_margin (must|is empty)"):
        FITTED[1].predict(X, base_margin=margin)


@each(("field", "values", "said"), [
    ("weight", [], "the weight of data is empty, which libraries take for none"),
    ("init_score", [], "the init_score of data is empty"),
    ("init_score", GAP, "the init_score of data must be finite, found nan at row 3"),
])  # fmt: skip
def test_columns_of_a_dataset_are_read(field: str, values: Any, said: str) -> None:
    data = lgb.Dataset(X, y, **{field: np.asarray(values, float)})
    with pytest.raises(ValueError, match=said):
        train({"verbose": -1}, data, 2, objective=weighted_logloss_objective(1))


@pytest.mark.filterwarnings("ignore:X does not have valid feature names")
def test_what_a_library_says_of_something_else_stays() -> None:
    """The columns are right, so the error is the library's own."""
    with pytest.raises(ValueError, match="1 features"):
        FITTED[0].score(X.to_numpy()[:, :1], y)

    class Broken(LogisticRegression):
        def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Any:
            raise RuntimeError("mine")

    with pytest.raises(RuntimeError, match="mine"):
        CalibratedClassifier(Broken(), cv=2).fit(X, y)


def test_rows_that_a_pipeline_reads_are_not_asked() -> None:
    texts = [f"word{k % 7} of{k % 3}" for k in range(N)]
    model = make_pipeline(CountVectorizer(), LogisticRegression())
    assert len(cross_val_score(model, texts, y, cv=2)) == 2
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert 0 <= CalibratedClassifier(model, cv=2).fit(texts, y).score(texts, y) <= 1


def forms(X: pd.DataFrame) -> dict[str, Any]:
    """Rows with a category in forms which no booster reads."""
    words = X.astype({"c": str})
    return {
        "records": X.to_dict("records"), "dict": X.to_dict("list"), "text": words,
        "objects": X.astype(object).to_numpy(), "lists": X.astype(object).to_numpy().tolist(),
        "arrow": pytest.importorskip("pyarrow").Table.from_pandas(words),
    }  # fmt: skip


@pytest.mark.filterwarnings("ignore:X does not have valid feature names")
@pytest.mark.parametrize("form", ["records", "dict", "text", "objects", "lists", "arrow"])
def test_rows_in_another_form_are_told_what_to_make_of_them(form: str, tmp_path: Path) -> None:
    X_train = X.assign(c=pd.Categorical(np.where(np.arange(N) % 3, "u", "v")))
    estimator = lightgbm(LGBMRegressor).set_params(min_child_samples=5, n_estimators=10)
    model = QWKClassifier(estimator, cv=2).fit(X_train, y)
    model.export(tmp_path / "model", X_train)
    given, wanted = forms(X_train)[form], model.predict(X_train)
    assert len(set(wanted)) == 2
    for loaded in (model, load(tmp_path / "model")):
        with pytest.raises((ValueError, TypeError), match="DataFrame") as told:
            loaded.predict(given)
        if form in ("records", "dict"):
            typed = re.search(r"pass (pandas\.\S+(?:, \S+)*\]\])", str(told.value))
            assert typed is not None
            given_again = eval(typed[1], {"pandas": pd, "X": given})
            with pytest.raises(ValueError, match=r"text in its columns \['c'\].*astype") as told:
                loaded.predict(given_again)
        else:
            assert "text in its columns" in str(told.value)
            rows = given.to_pandas() if form == "arrow" else given
            given_again = pd.DataFrame(rows, columns=X_train.columns)
        again = given_again.astype(X_train.dtypes)
        np.testing.assert_array_equal(loaded.predict(again), wanted)
    program = runpy.run_path(str(tmp_path / "model" / "predict.py"))
    np.testing.assert_array_equal(program["Model"](tmp_path / "model").predict(given), wanted)


def test_columns_of_one_name_leave_the_librarys_error_to_be_read() -> None:
    words = pd.DataFrame({"a": ["u"] * N})
    twice = pd.concat([X, words], axis=1)
    assert twice.columns.tolist() == ["a", "b", "a"]
    with pytest.raises(ValueError, match="text in its columns.*the library says: "):
        lightgbm(LGBMRegressor).fit(twice, y)
