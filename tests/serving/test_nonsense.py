"""What cannot be exported or served is refused, with a remedy, and leaves nothing behind."""

from __future__ import annotations

import re
import subprocess
import sys
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import lightgbm as lgb
import numpy as np
import pandas as pd
import pytest
import xgboost as xgb
from sklearn.ensemble import HistGradientBoostingRegressor
from sklearn.isotonic import IsotonicRegression
from sklearn.linear_model import Ridge
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import gbdt_objectives as go
from gbdt_objectives import serving
from gbdt_objectives.adapters import imbalance_shift, lightgbm as our_lightgbm
from gbdt_objectives.calibration import LogitCalibrator, SplineCalibrator
from gbdt_objectives.thresholds import DecisionRule, Thresholds, optimize_decisions
from tests.cases import each
from tests.serving.models import (
    ROWS,
    TWO,
    Fitted,
    booster,
    calibrated,
    estimator,
    features,
    qwk,
    run_script,
    served,
    single,
)


def classifier(library: str = "lightgbm", kind: str = "array", K: int = 2, **given: Any) -> Fitted:
    return single(library, kind, list(range(K)), "Classifier", **given)


def regressor(library: str = "lightgbm", **given: Any) -> Fitted:
    return single(library, "array", [0.0, 1.0, 2.0], "Regressor", **given)


def around(member: Any, kind: Any = go.QWKClassifier) -> Fitted:
    X = features("array", ROWS, 1)
    model = kind(member, cv=2).fit(X, np.digitize(X[:, 0], [-0.5, 0.5]))
    return Fitted(model, X, X)


class Halved(go.QWKClassifier):
    def predict_score(self, X: Any) -> Any:
        return super().predict_score(X) / 2


class Changed(LogitCalibrator):
    def predict(self, score: Any) -> Any:
        return super().predict(score) / 2


def changed(fitted: Fitted, **attributes: Any) -> Fitted:
    for name, value in attributes.items():
        setattr(fitted.model, name, value)
    return fitted


def search() -> Fitted:
    X = features("array", 60, 1)
    model = GridSearchCV(OUR_REGRESSOR, {"max_depth": [3]}, cv=2)
    return Fitted(model.fit(X, X[:, 0]), X, X)


def dates() -> Fitted:
    X = features("array", 60, 1)
    days = np.array(["2026-01-01", "2026-01-02"], "datetime64[D]")[(X[:, 0] > 0).astype(int)]
    return Fitted(our_lightgbm.LGBMClassifier(n_estimators=2, verbose=-1).fit(X, days), X, X)


def foreign(model: Any = None, **given: Any) -> Fitted:
    X = features("array", 60, 1)
    model = HistGradientBoostingRegressor(max_iter=2) if model is None else model
    return Fitted(model.fit(X, (X[:, 0] > 0).astype(int), **given), X, X)


def with_X(fitted: Fitted, change: Callable[[Any], Any]) -> Fitted:
    return Fitted(fitted.model, change(fitted.X), fitted.new, fitted.extras)


def extra(fitted: Fitted, **extras: Any) -> Fitted:
    return Fitted(fitted.model, fitted.X, fitted.new, extras)


def other_categories(X: Any) -> Any:
    return X.assign(colour=X["colour"].cat.rename_categories(["p", "q", "r", "s"]))


def unfitted(model: Any) -> Fitted:
    return Fitted(model, None, None)


P, Y = np.linspace(0.1, 0.9, 40), np.arange(40) % 3 // 2
ISOTONIC = IsotonicRegression(out_of_bounds="clip")
OUR_REGRESSOR = our_lightgbm.LGBMRegressor(n_estimators=2, verbose=-1, n_jobs=1)


def fitted_logit(kind: Any = LogitCalibrator, **given: Any) -> Any:
    return kind(**given).fit(P, Y)


CAT = "categories"
PREDICTING = {"pred_early_stop": True, "num_iteration_predict": 2, "start_iteration_predict": 1}
REFUSED: dict[str, tuple[Callable[[], Fitted], str]] = {
    "threads": (
        lambda: unfitted(classifier("xgboost").model.set_params(nthread=5000)),
        r"at most 1024 threads, found 5000: .* set_params\(nthread="),
    "unfitted classifier": (
        lambda: unfitted(estimator("lightgbm", "Classifier")), "not fitted|fit"),
    "unfitted XGBoost": (lambda: unfitted(estimator("xgboost", "Regressor")), "not fitted|fit"),
    "unfitted qwk": (lambda: unfitted(go.QWKClassifier(Ridge())), "not fitted"),
    "unfitted thresholds": (lambda: unfitted(go.ThresholdClassifier()), "not fitted"),
    "a class": (lambda: unfitted(lgb.LGBMClassifier), "pass|use"),
    "a word": (lambda: unfitted("model.txt"), "use LGBMRegressor"),
    "Ridge": (lambda: around(Ridge()), "holds Ridge.*export_onnx"),
    "Pipeline": (
        lambda: around(make_pipeline(StandardScaler(), estimator("lightgbm", "Regressor"))),
        "a Pipeline.*outside"),
    "another library": (foreign, "HistGradientBoostingRegressor cannot be served"),
    "ranker": (
        lambda: foreign(lgb.LGBMRanker(n_estimators=2, verbose=-1), group=[30, 30]),
        "LGBMRanker cannot be exported: pass"),
    "a column less": (lambda: with_X(classifier(), lambda X: X[:, 1:]), "X must have the 4"),
    "no rows": (lambda: with_X(classifier(), lambda X: X[:0]), "X is empty, so nothing"),
    "a frame without rows": (
        lambda: with_X(classifier(kind="frame"), lambda X: X.iloc[:0]), "or leave X out"),
    "one row": (lambda: with_X(classifier(), lambda X: X[0]), "X must have the 4"),
    "other columns": (
        lambda: with_X(classifier(kind="frame"), lambda X: X.rename(columns={"size": "a"})),
        "trained on"),
    "other order": (
        lambda: with_X(classifier(kind="frame"), lambda X: X[X.columns[::-1]]), "in its order"),
    "an array for a frame": (
        lambda: with_X(classifier(kind="frame"), lambda X: X.to_numpy(float)),
        "X must be a DataFrame"),
    "a frame for an array": (
        lambda: with_X(classifier(), lambda X: features("frame", ROWS, 1)), "pass an array"),
    "object columns": (
        lambda: with_X(classifier(kind="frame"), lambda X: X.assign(size=X["size"].astype(str))),
        "'size' of dtype"),
    "categories without X": (lambda: with_X(classifier(kind=CAT), lambda X: None), "pass X"),
    "no category": (
        lambda: with_X(classifier(kind=CAT), lambda X: X.assign(colour=1.0)), "pass X"),
    "a method": (lambda: around(OUR_REGRESSOR, Halved), "class of your own"),
    "a calibrator": (
        lambda: extra(classifier(), calibrator=fitted_logit(kind=Changed)), "your own"),
    "a calibrator of float32": (
        lambda: extra(classifier(), calibrator=ISOTONIC.fit(np.float32(P), Y)), "float32"),
    "a search": (lambda: search(), "best_estimator_"),
    "another decision": (
        lambda: unfitted(serving.ServedModel(around(OUR_REGRESSOR).model)), "export it alone"),
    "an array for thresholds": (
        lambda: changed(around(OUR_REGRESSOR), thresholds_=np.array([0.5, 1.5])), "thresholds_"),
    "a function for predict": (
        lambda: changed(around(OUR_REGRESSOR), predict=lambda X: 0), "replaced"),
    "dates": (dates, "numbers or all strings"),
    "a mean of trees": (
        lambda: classifier(ours=True, boosting_type="rf", subsample=0.5, subsample_freq=1),
        "boosting='rf'.*train with"),
    **{name: (lambda own={name: value}: classifier(**own), f"the model has {name}=.*train without")
       for name, value in PREDICTING.items()},
    "reg_sqrt": (lambda: regressor(reg_sqrt=True), "without reg_sqrt"),
    "sigmoid": (lambda: classifier(sigmoid=2.0), "without reg_sqrt and sigmoid"),
    "multiclassova": (lambda: classifier(K=3, objective="multiclassova"), "train on one of"),
    "hinge": (lambda: classifier("xgboost", objective="binary:hinge"), "train on one of"),
    "multi:softmax": (
        lambda: booster("xgboost", "array", [0, 1, 2], plain=True, objective="multi:softmax",
                        num_class=3), "train on one of"),
    "quantiles": (
        lambda: regressor("xgboost", objective="reg:quantileerror", quantile_alpha=[0.2, 0.8]),
        "a model for each"),
    "ranking": (
        lambda: regressor("xgboost", objective="rank:pairwise"), "train on one of"),
    "thresholds of 3 classes": (lambda: extra(classifier(K=3), thresholds=TWO), "leave them out"),
    "plain thresholds": (lambda: extra(regressor(), thresholds=[0.5]), "Thresholds\\(values"),
    "thresholds of a class": (
        lambda: extra(qwk("lightgbm", "array", [1, 2, 3]), thresholds=Thresholds([1], [0, 1])),
        "export it alone"),
    "shift of a classifier with thresholds": (
        lambda: extra(qwk("lightgbm", "array", [1, 2, 3]),
                      shift=go.log_odds_shift(negative_keep_rate=0.5)),
        "export it alone"),
    "shift of a regressor": (
        lambda: extra(regressor(), shift=go.log_odds_shift(negative_keep_rate=0.5)),
        "pass a classifier"),
    "a plain shift": (lambda: extra(classifier(), shift=0.5), "LogOddsShift\\(number\\)"),
    "calibrator, unfitted": (
        lambda: extra(classifier(), calibrator=LogitCalibrator()), "not fitted"),
    "calibrator, a class": (lambda: extra(classifier(), calibrator=SplineCalibrator), "pass what"),
    "calibrator of 3 classes": (
        lambda: extra(classifier(K=3), calibrator=fitted_logit()), "use TemperatureCalibrator"),
    "calibrator of another kind": (
        lambda: extra(classifier(), calibrator=Ridge().fit([[0.0], [1.0]], [0, 1])),
        "use one of gbdt_objectives.calibration"),
    "calibrator on margins of a calibrated model": (
        lambda: extra(calibrated("lightgbm", "array", [0, 1], None),
                      calibrator=fitted_logit(input_space="margin")),
        "which CalibratedClassifier does not have"),
}  # fmt: skip
if hasattr(xgb.Booster, "get_categories"):  # from 3.1 on XGBoost remembers them
    REFUSED["other categories"] = (
        lambda: with_X(classifier("xgboost", CAT), other_categories), "order",
    )  # fmt: skip


@pytest.mark.slow
@each("make, words", REFUSED.values(), ids=REFUSED)
def test_what_cannot_be_exported(make: Any, words: str, tmp_path: Path) -> None:
    fitted = make()
    with pytest.raises((TypeError, ValueError), match=f"(?s){words}"):
        serving.export(fitted.model, tmp_path / "model", fitted.X, **fitted.extras)
    assert not list(tmp_path.iterdir())


def test_folders_and_numbers_of_rows(tmp_path: Path) -> None:
    fitted = classifier()
    of_file = "is a file's name: write it by export_onnx"
    for folder, given, words in (
        *(("model", {"check_rows": rows}, "check_rows must be") for rows in (-1, 1.5, None)),
        ("model.onnx", {}, of_file), ("model.ONNX", {}, of_file),
        ("", {}, "exists: pass overwrite=True"), ("a/b", {}, "does not exist: make it first"),
    ):  # fmt: skip
        with pytest.raises((TypeError, ValueError), match=words):
            serving.export(fitted.model, tmp_path / folder, fitted.X, **given)
    assert not list(tmp_path.iterdir())


# What a served model is given.


@pytest.mark.parametrize("library", ["lightgbm", "xgboost"])
def test_rows_that_a_served_model_refuses(library: str, tmp_path: Path) -> None:
    fitted = classifier(library, CAT)
    serving.export(fitted.model, tmp_path / "model", fitted.X)
    model, new = served(tmp_path / "model"), fitted.new.iloc[:5]
    columns = {name: new[name].tolist() for name in new.columns}
    with pytest.raises(KeyError, match="size"):
        model.predict(new.drop(columns="size"))
    for width in (3, 8):
        with pytest.raises(ValueError, match="zip"):
            model.predict(np.zeros((5, width)))
    with pytest.raises(ValueError, match="convert string to float"):
        model.predict({**columns, "size": ["much"] * 5})
    unknown, missing = {**columns, "colour": ["pink"] * 5}, {**columns, "colour": [None] * 5}
    if library == "xgboost":
        with pytest.raises(ValueError, match="colour"):
            model.predict_proba(unknown)
    else:
        assert model.predict_proba(unknown).tolist() == model.predict_proba(missing).tolist()


def test_arrays_that_a_served_model_refuses(tmp_path: Path) -> None:
    fitted = regressor("xgboost")
    serving.export(fitted.model, tmp_path / "model", fitted.X)
    model = served(tmp_path / "model")
    for X in (np.zeros((5, 3)), np.zeros((5, 5)), np.zeros(4)):
        with pytest.raises(ValueError, match="X has other columns"):
            model.predict(X)
    with pytest.raises(ValueError, match="convert string to float"):
        model.predict([["a"] * 4])


@pytest.mark.slow
@pytest.mark.parametrize("handle", ["error", "common"])
def test_a_segment_that_fit_did_not_see(handle: str, tmp_path: Path) -> None:
    fitted = qwk("lightgbm", CAT, [1, 2, 3], segment="site", handle_unknown=handle)
    serving.export(fitted.model, tmp_path / "model", fitted.X)
    model = served(tmp_path / "model")
    new = {**fitted.new.to_dict("list"), "site": ["west"] * len(fitted.new)}
    if handle == "error":
        with pytest.raises(ValueError, match="site"):
            model.predict(new)
    else:
        assert len(model.predict(new)) == len(fitted.new)


def test_a_shift_of_what_are_no_log_odds() -> None:
    """At construction, before anything is predicted or exported."""
    shift, X = go.log_odds_shift(negative_keep_rate=0.1), np.arange(40.0)[:, np.newaxis]
    of = {
        name: lgb.train({"verbose": -1, "objective": name}, lgb.Dataset(X, X[:, 0] > 20), 2)
        for name in ("regression", "poisson", "binary")
    }
    for name in ("regression", "poisson"):
        with pytest.raises(ValueError, match=f"shift moves log-odds, but the objective '{name}'"):
            serving.ServedModel(of[name], shift=shift)
    with pytest.raises(ValueError, match="but LGBMRegressor has scores in label units"):
        serving.ServedModel(regressor().model, shift=shift)
    with pytest.warns(UserWarning, match="'reg:squarederror' does not say whether"):
        serving.ServedModel(xgb.train({}, xgb.DMatrix(X, X[:, 0]), 1), shift=shift)
    once = serving.ServedModel(of["binary"], shift=shift)
    with pytest.raises(TypeError, match="would count twice: make one of all"):
        serving.ServedModel(once, shift=shift)


def test_a_rate_that_is_counted_twice(tmp_path: Path) -> None:
    X, shift = features("array", 2000, 1), go.log_odds_shift(negative_keep_rate=0.2)
    y, few = (X[:, 0] > 1).astype(int), {"n_estimators": 2, "verbose": -1}
    offset = our_lightgbm.LGBMClassifier(objective=go.offset_logloss_objective(0.2), **few)
    plain = lgb.LGBMClassifier(**few)
    one, model = (go.DownsampledClassifier(plain, 0.2, n_bags=n, random_state=0) for n in (1, 5))
    for k, each_model in enumerate((offset, one, model)):
        each_model.fit(X, y)
        with pytest.warns(UserWarning, match="would count twice: leave shift out"):
            serving.export(each_model, tmp_path / f"{k}", shift=shift)
    for k in (1, 2):
        with pytest.warns(UserWarning, match="would count twice"):
            serving.load(tmp_path / f"{k}")
    raw = go.DownsampledClassifier(plain, 0.2, correction=None, random_state=0).fit(X, y)
    with warnings.catch_warnings():
        warnings.simplefilter("error", UserWarning)
        serving.ServedModel(raw, shift=shift)
        serving.ServedModel(plain.fit(X, y), shift=shift)
        serving.ServedModel(model, shift=go.log_odds_shift(train_prior=0.2, target_prior=0.1))


def test_folds_of_bags_say_the_number_to_pass(tmp_path: Path) -> None:
    X = features("array", 2000, 1)
    y, few = (X[:, 0] > 1).astype(int), lgb.LGBMClassifier(n_estimators=2, verbose=-1)
    bags = go.DownsampledClassifier(few, 0.5, random_state=0)
    folds = go.CalibratedClassifier(bags, LogitCalibrator(), cv=2).fit(X, y)
    with pytest.raises(ValueError, match="or to the classifier inside n_bags=1"):
        folds.export(tmp_path / "folds", X)
    folds.set_params(estimator__n_bags=1).fit(X, y).export(tmp_path / "folds", X)


def test_thresholds_of_the_other_class() -> None:
    X = features("array", 200, 1)
    model = lgb.LGBMClassifier(n_estimators=9, verbose=-1).fit(X, np.where(X[:, 0] > 0, "b", "a"))
    with pytest.raises(ValueError, match=r"high scores mean 'b', .* with labels=\['a', 'b'\]"):
        serving.ServedModel(model, thresholds=Thresholds([0.5], ["b", "a"]))
    booster_01 = lgb.train({"objective": "binary", "verbose": -1}, lgb.Dataset(X, X[:, 0] > 0), 2)
    with pytest.raises(ValueError, match="high scores mean 1"):
        serving.ServedModel(booster_01, thresholds=Thresholds([0.5], [1, 0]))
    named = serving.ServedModel(model, thresholds=Thresholds([0.5], ["no", "yes"]))
    assert ((named.predict(X) == "yes") == (model.predict(X) == "b")).all()


def test_rules_of_other_classes() -> None:
    X = features("array", 200, 1)
    y = np.digitize(X[:, 0], [-0.5, 0.5])
    model = lgb.LGBMClassifier(n_estimators=9, verbose=-1).fit(X, y)
    for labels, words in (([2, 1, 0], r"\[2, 1, 0\], but the model has \[0, 1, 2\]"),
                          (["a", "b"], r"\['a', 'b'\], but the model")):  # fmt: skip
        rule = DecisionRule(np.ones(len(labels)), np.zeros(len(labels)), labels)
        with pytest.raises(ValueError, match=words):
            serving.ServedModel(model, thresholds=rule)
    rule = DecisionRule([1, 2, 1], [0, 0, 0], ["low", "mid", "high"])
    with pytest.raises(ValueError, match="a rule for probabilities, but the model predicts numb"):
        serving.ServedModel(regressor().model, thresholds=rule)
    served = serving.ServedModel(model, thresholds=rule)
    assert served.predict(X).tolist() == rule.apply(model.predict_proba(X)).tolist()
    assert 0.5 < (served.predict(X) == rule.labels[model.predict(X)]).mean() < 1


def test_labels_that_mean_other_classes_of_the_model() -> None:
    """0, 1, 2 of a model of 1, 2, 3: the label 1 would be said where the model means 2."""
    X = features("array", 200, 1)
    y = np.digitize(X[:, 0], [-0.5, 0.5]) + 1
    few = {"n_estimators": 9, "verbose": -1}
    three, two = (
        lgb.LGBMClassifier(**few).fit(X, y),
        lgb.LGBMClassifier(**few).fit(X, (y > 1) + 1),
    )
    rule = optimize_decisions(three.predict_proba(X), "macro_f1")
    with pytest.raises(ValueError, match=r"\[0, 1, 2\], .*, with labels=\[1, 2, 3\]"):
        serving.ServedModel(three, thresholds=rule)
    with pytest.raises(ValueError, match=r"\[0, 1\], .* make them with labels=\[1, 2\]"):
        serving.ServedModel(two, thresholds=Thresholds([0.5], [0, 1]))
    bands = serving.ServedModel(two, thresholds=Thresholds([0.2, 0.5], [0, 1, 2]))
    assert set(bands.predict(X)) <= {0, 1, 2}


def test_columns_of_a_frame_are_read_by_name(tmp_path: Path) -> None:
    """LightGBM reads them by position; ``predict.py`` and XGBoost do not."""
    rng = np.random.default_rng(0)
    X = pd.DataFrame(rng.random((300, 3)), columns=["p", "q q", "r"])
    y = (X["p"] > 0.5).astype(int)
    new, params = X[["r", "p", "q q"]].assign(extra=1.0), {"verbose": -1, "n_jobs": 1}
    booster = lgb.train({**params, "objective": "binary"}, lgb.Dataset(X, y), 3)
    few = {**params, "n_estimators": 3}
    models = {
        "booster": serving.ServedModel(booster),
        "regressor": our_lightgbm.LGBMRegressor(objective=go.qwk_objective(), **few).fit(X, y),
        "classifier": our_lightgbm.LGBMClassifier(
            objective=go.weighted_logloss_objective(1.0), **few
        ).fit(X, y),
    }
    for name, model in models.items():
        serving.export(model, tmp_path / name, X)
        for one in (model, serving.load(tmp_path / name)):
            for method in ("predict", "predict_proba", "predict_score"):
                if hasattr(one, method):
                    found = getattr(one, method)
                    np.testing.assert_array_equal(found(new), found(X))
            with pytest.raises(
                ValueError, match=r"X lacks the model's columns \['q_q'\]: pass all"
            ):
                one.predict(X.drop(columns="q q").assign(b=1.0))
            unnamed = X.set_axis(range(3), axis=1)  # as today: nothing to read by
            np.testing.assert_array_equal(one.predict(unnamed), one.predict(X))
    for plain in (lgb.LGBMRegressor(**few).fit(X, y), lgb.LGBMClassifier(**few).fit(X, y)):
        one = serving.ServedModel(plain)
        np.testing.assert_array_equal(one.predict(new), one.predict(X))
    for model in (booster, plain):
        leaves = go.estimators.leaf_probability(model, X, y)
        np.testing.assert_array_equal(leaves.predict_proba(new), leaves.predict_proba(X))
    found = [float(imbalance_shift(booster, rows, y)) for rows in (X, new)]
    assert found[0] == found[1]


BAD_TABLES = {
    "header alone": ("size,night\n", "has no rows below its header"),
    "nothing": ("", r"line 1 must name each of \['night', 'size'\] once, found \[\]"),
    "NA": ("size,night\n1,True\nNA,False\n", "line 3, column size: could not .*'NA'; .* empty"),
    "a blank line": ("size,night\n1,True\n\n2,False\n", "line 3, column size: 0 values, not 2"),
    "a short line": ("size,night\n1,True\n2\n", "line 3, column night: 1 values, not 2; write"),
    "a long line": ("size,night\n1,True\n2,False,3\n", "line 3, column night: 3 values, not 2"),
    "no header": ("0.5,1\n0.7,0\n", r"line 1 must name .* once, found \['0.5', '1'\]"),
    "a column twice": ("size,night,size\n1,True,2\n", r"must name each of \['size'\] once"),
    "semicolons": ("size;night\n1;True\n", r"found \['size;night'\]"),
    "decimal commas": ('size,night\n"1,5",True\n', "line 2, column size: .*'1,5'; .* points"),
    "what Python alone reads": ("size,night\n1_0,True\n", "line 2, column size: .*'1_0'"),
    "digits of another script": ("size,night\n\u0663,True\n", "line 2, column size: could not"),
    "an open quote": ('size,night\n"1,True\n2,False\n', "line 3, .* unexpected end of data"),
    "two lines in a cell": ('note,size,night\n"a\nb",1,True\nc,x,True\n', "line 4, column size: "),
    "another encoding": ("size,night\n1,True\n".encode("utf-16"), "codec .*; write CSV in UTF-8"),
}


@pytest.fixture(scope="module")
def nights(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Any, Any]:
    """A folder, the rows of its model, and what it predicts for them."""
    X = pd.DataFrame({"size": np.arange(40.0), "night": np.arange(40) % 3 > 0})
    model = our_lightgbm.LGBMRegressor(n_estimators=2, verbose=-1).fit(X, X["size"])
    folder = tmp_path_factory.mktemp("nights") / "model"
    serving.export(model, folder, X)
    return folder, X, model.predict(X)


def predicted(out: str) -> list[float]:
    return [float(line.split(",")[0]) for line in out.splitlines()[1:]]


@each("text, words", BAD_TABLES.values(), ids=BAD_TABLES)
def test_a_table_that_is_none_is_refused_in_one_line(
    nights: Any, text: Any, words: str, tmp_path: Path
) -> None:
    path = tmp_path / "new.csv"
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    status, out = run_script(nights[0], str(path))
    assert out == ""
    assert re.search(words, status)
    assert str(path) in status
    assert "\n" not in status


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig"])
@pytest.mark.parametrize("columns", [["size", "night"], ["night", "size"]])
def test_cells_belong_to_the_names_above_them(
    nights: Any, columns: list[str], encoding: str, tmp_path: Path
) -> None:
    """Also where a mark of the byte order comes first."""
    folder, X, expected = nights
    path = tmp_path / "new.csv"
    X[columns].to_csv(path, index=False, encoding=encoding)  # with True and False
    status, out = run_script(folder, str(path))
    assert status == 0
    np.testing.assert_allclose(predicted(out), expected, rtol=1e-9)


def test_a_table_without_names_for_a_model_of_places(tmp_path: Path) -> None:
    X = np.random.default_rng(0).normal(size=(40, 3))
    model = our_lightgbm.LGBMRegressor(n_estimators=2, verbose=-1).fit(X, X[:, 0])
    serving.export(model, tmp_path / "model", X)
    path = tmp_path / "new.csv"
    np.savetxt(path, X, delimiter=",")
    status, out = run_script(tmp_path / "model", str(path))
    assert (out, f"{path}, line 1 must name 3 columns, found ['" in status) == ("", True)
    for names, right in (("a,b,c", True), ("0,1,2", True), ("0,2,1", False), (",5,nan", False),
                         ("0.1,True,-inf", False), ("a,a,a", True),
                         ("a,b", False), ("id,a,b,c", False), ("e1,e2,e3", True)):  # fmt: skip
        path.write_text(names + "\n" + ",".join("1" for _ in names.split(",")) + "\n")
        status, out = run_script(tmp_path / "model", str(path))
        assert (status == 0 and len(out.splitlines()) == 2) is right, names


def test_words_true_and_false_stay_words(tmp_path: Path) -> None:
    words = pd.Categorical(["True", "False"] * 30, categories=["False", "True"])
    X = pd.DataFrame({"word": words, "size": np.arange(60.0)})
    few = {"n_estimators": 9, "verbose": -1, "min_child_samples": 2}
    model = our_lightgbm.LGBMRegressor(**few).fit(X, np.arange(60) % 2)
    serving.export(model, tmp_path / "model", X)
    X.to_csv(tmp_path / "new.csv", index=False)
    _, out = run_script(tmp_path / "model", "--help")
    assert "The first line names, among any others, word, size." in out
    _, out = run_script(tmp_path / "model", str(tmp_path / "new.csv"))
    np.testing.assert_allclose(predicted(out), model.predict(X), rtol=1e-9)
    assert np.ptp(predicted(out)) > 0.1


@each("kind", ["categories", "array"])
def test_the_program_says_what_it_reads(kind: str, tmp_path: Path) -> None:
    """A new category by row, column and value; a Parquet file by the call that reads it."""
    fitted, folder = classifier("xgboost", kind), tmp_path / kind
    serving.export(fitted.model, folder, fitted.X)
    status, out = run_script(folder, "new.parquet")
    call = {"categories": "pandas.read_parquet(path)", "array": "pd.read_parquet(path).to_numpy()"}
    assert (status, out) == (f"call Model().predict({call[kind]})", "")
    _, out = run_script(folder, "--help")
    assert "It writes, as CSV too, prediction, and the probability of each class, [0, 1]." in out
    names = ", ".join(map(str, getattr(fitted.X, "columns", ())))
    assert f"The first line names{f', among any others, {names}.' if names else ' 4 col'}" in out
    if kind == "categories":
        X = fitted.X.astype({"colour": object})
        X.iloc[[1, 3], list(X.columns).index("colour")] = "violet"
        X.to_csv(tmp_path / "new.csv", index=False)
        status, out = run_script(folder, str(tmp_path / "new.csv"))
        known = fitted.X["colour"].cat.categories.tolist()
        words = f"new value of colour, violet: write one of {known}"
        assert status.endswith(f"new.csv: row 1, counted from 0, has a {words}")
        assert out == ""


def test_a_reader_that_stops_ends_the_program_in_silence(tmp_path: Path) -> None:
    serving.export(go.ThresholdClassifier().fit([0.1, 0.4, 0.6, 0.9], [1, 1, 2, 2]), tmp_path / "m")
    path = tmp_path / "new.csv"
    path.write_text("score\n" + "0.25\n" * 100_000)
    command = [sys.executable, str(tmp_path / "m" / "predict.py"), str(path)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as program:
        assert program.stdout is not None
        assert program.stderr is not None
        assert program.stdout.readline().strip() == b"prediction,score"
        program.stdout.close()
        assert program.stderr.read() == b""
    assert program.returncode == 1


def test_scores_that_are_none(tmp_path: Path) -> None:
    """The last class is none of a score that is missing, and a row has one score."""
    model = go.ThresholdClassifier().fit([0.1, 0.4, 0.6, 0.9], [1, 1, 2, 2])
    serving.export(model, tmp_path / "model")
    path = tmp_path / "new.csv"
    for text, words in {
        "score\nnan\n": "line 2, column score: found 'nan'; .* a finite score in each row",
        'score\n1\n""\n': "line 3, column score: found ''", "score\n-inf\n": "found '-inf'",
        "score,score\n1,0\n": r"line 1 must name each of \['score'\] once",
    }.items():  # fmt: skip
        path.write_text(text)
        status, out = run_script(tmp_path / "model", str(path))
        assert re.search(words, status)
        assert out == ""
    for X in ([np.nan], {"score": [0.1, np.inf]}):
        with pytest.raises(ValueError, match="scores must be finite"):
            served(tmp_path / "model").predict(X)


def test_calls_of_the_program_that_are_none(tmp_path: Path) -> None:
    fitted = regressor("lightgbm")
    folder = tmp_path / "model"
    serving.export(fitted.model, folder, fitted.X)
    for arguments, words in {
        (): "give one CSV file, found []: What model.json says", ("a", "b"): "found ['a', 'b']: ",
        ("--check", "x"): "give one CSV file", ("none.csv",): "No such file or directory: 'none.c",
        (str(folder),): "Is a directory",
    }.items():  # fmt: skip
        status, out = run_script(folder, *arguments)
        assert words in status
        assert "python predict.py data.csv" in status
        assert out + "".join(status.splitlines()) == status
    for word in ("-h", "--help"):
        status, out = run_script(folder, word)
        assert (status, "python predict.py data.csv" in out) == (None, True)
        assert f"The first line names {fitted.X.shape[1]} columns, in the order" in out
        assert "It writes, as CSV too, prediction, score: python predict.py data.csv >" in out
    (folder / "check.npz").write_bytes(b"")
    assert run_script(folder, "--check") == ("not as exported: ['check.npz']", "")
    (folder / "booster_0.txt").unlink()
    assert "copy the whole folder again: " in run_script(folder, "--check")[0]


def test_another_process_that_writes_the_same_folder(tmp_path: Path, monkeypatch) -> None:
    fitted, own = regressor("lightgbm"), serving.folder.write_folder

    def meanwhile(*given: Any) -> None:
        own(*given)
        (tmp_path / "model").mkdir()
        (tmp_path / "model" / "model.json").write_text("theirs")

    monkeypatch.setattr(serving.folder, "write_folder", meanwhile)
    with pytest.raises(ValueError, match="^folder .*model exists: pass overwrite=True"):
        serving.export(fitted.model, tmp_path / "model", fitted.X)
    assert [*tmp_path.iterdir()] == [tmp_path / "model"]
    assert (tmp_path / "model" / "model.json").read_text() == "theirs"
    with pytest.raises(TypeError, match="^folder must be a path, .* found Booster"):
        serving.load(fitted.model.booster_)


def grades(folder: Path, fitted: Fitted) -> list[float]:
    return serving.load(folder).predict(fitted.X).tolist()


def test_overwrite_replaces_a_model_and_nothing_else(tmp_path: Path) -> None:
    first, second = regressor("lightgbm"), regressor("lightgbm", n_estimators=9)
    folder = tmp_path / "model"
    serving.export(first.model, folder, first.X, overwrite=True)  # nothing is there yet
    old = grades(folder, first)
    (folder / "__pycache__").mkdir()  # of a service that imported predict.py
    serving.export(second.model, folder, second.X, check_rows=0, overwrite=True)
    assert grades(folder, second) == second.model.predict(second.X).tolist() != old
    assert [*tmp_path.iterdir()] == [folder]
    assert sorted(path.name for path in folder.iterdir()) == [
        "booster_0.txt", "model.json", "predict.py"
    ]  # fmt: skip
    again = go.ThresholdClassifier().fit([0.1, 0.4, 0.3, 0.6, 0.7, 0.9], [1, 1, 2, 2, 3, 3])
    again.export(folder, overwrite=True)
    assert serving.load(folder).predict([0.2, 0.6, 0.9]).tolist() == [1, 2, 3]


def test_overwrite_keeps_the_old_model_until_the_new_one_is_checked(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    fitted, folder = regressor("lightgbm"), tmp_path / "model"
    serving.export(fitted.model, folder, fitted.X)
    old = {path.name: path.read_bytes() for path in folder.iterdir()}
    own = type(folder).replace

    def differs(*given: Any) -> None:
        raise ValueError("the exported model would predict otherwise")

    def stopped(path: Path, target: Path) -> Path:
        if path.name.startswith("."):
            raise KeyboardInterrupt  # between the two renames
        return own(path, target)

    for place, name, broken in (
        (serving.folder, "compare_served", differs), (type(folder), "replace", stopped)
    ):  # fmt: skip
        with monkeypatch.context() as patch:
            patch.setattr(place, name, broken)
            with pytest.raises((ValueError, KeyboardInterrupt)):
                serving.export(fitted.model, folder, fitted.X, overwrite=True)
        assert {path.name: path.read_bytes() for path in folder.iterdir()} == old
        assert [*tmp_path.iterdir()] == [folder]


def test_overwrite_refuses_what_export_did_not_write(tmp_path: Path) -> None:
    fitted = regressor("lightgbm")
    mine, notes, file, link = (tmp_path / name for name in ("mine", "notes", "file", "link"))
    mine.mkdir()
    (mine / "model.json").write_text('{"format": "of another program"}')
    serving.export(fitted.model, notes, fitted.X)
    (notes / "notes.txt").write_text("keep me")
    file.write_text("keep me")
    serving.export(fitted.model, tmp_path / "model", fitted.X)
    link.symlink_to(tmp_path / "model")
    before = {path: path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()}
    for place, reason in (
        (mine, "it has no model.json of export"), (notes, "it holds 'notes.txt', too"),
        (file, "it has no model.json of export"), (link, "it is a link"),
    ):  # fmt: skip
        with pytest.raises(ValueError, match=f"is not replaced, {reason}: give a new name"):
            serving.export(fitted.model, place, fitted.X, overwrite=True)
    assert {path: path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()} == before
    with pytest.raises(TypeError, match="overwrite must be True or False"):
        serving.export(fitted.model, mine, fitted.X, overwrite="yes")  # type: ignore[arg-type]
