"""One ONNX graph predicts what the fitted model does, or is not written."""

from __future__ import annotations

import json
import warnings
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from importlib import import_module
from typing import Any

import lightgbm as lgb
import numpy as np
import pandas as pd
import pytest
import xgboost as xgb
from sklearn.base import clone
from sklearn.ensemble import RandomForestRegressor
from sklearn.impute import SimpleImputer
from sklearn.isotonic import IsotonicRegression
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from gbdt_objectives import (
    CalibratedClassifier,
    DownsampledClassifier,
    QWKClassifier,
    ThresholdClassifier,
    calibration,
    focal_objective,
    log_odds_shift,
    objective as make_objective,
    ordinal_logit_objective,
    qwk_objective,
    serving,
)
from gbdt_objectives._steps import formulas
from gbdt_objectives.adapters import lightgbm as on_lgb, xgboost as on_xgb
from gbdt_objectives.adapters.xgboost.parameters import holds_vectors
from gbdt_objectives.priors import LogOddsShift
from gbdt_objectives.thresholds import Thresholds
from tests.cases import each
from tests.contract import CALIBRATORS
from tests.matrix.tables import of_classes

onnx = pytest.importorskip("onnx")
onnxruntime = pytest.importorskip("onnxruntime")
pytest.importorskip("skl2onnx")
graphs = import_module("gbdt_objectives.serving.onnx")

rng = np.random.default_rng(0)
X = rng.normal(size=(400, 4))
X[rng.random(X.shape) < 0.1] = np.nan
latent = np.nan_to_num(X[:, 0] + 0.5 * X[:, 1] * X[:, 2])
grade = np.digitize(latent + rng.normal(0, 0.3, 400), [-0.7, 0, 0.7])
event = (latent + rng.normal(0, 0.3, 400) > 0.8).astype(int)
words = np.array(["bad", "fair", "good", "top"])[grade]
filled = np.nan_to_num(X)

SMALL = {"n_estimators": 8, "n_jobs": 1}
LGB = {**SMALL, "verbose": -1, "min_child_samples": 5}
XGB = {**SMALL, "max_depth": 3}
QUIET = {"verbose": -1, "num_threads": 1, "min_data_in_leaf": 5}


lgb_regressor, xgb_regressor = partial(lgb.LGBMRegressor, **LGB), partial(xgb.XGBRegressor, **XGB)


def classifiers(**parameters: Any) -> tuple[Any, Any]:
    return on_lgb.LGBMClassifier(**LGB, **parameters), on_xgb.XGBClassifier(**XGB, **parameters)


def booster(k: int, objective: str, y: Any) -> Any:
    if k == 0:
        return lgb.train({"objective": objective, **QUIET}, lgb.Dataset(X, y), 8)
    return xgb.train({"objective": objective, "nthread": 1}, xgb.DMatrix(X, y), 8)


Made = tuple[Any, dict[str, Any]]
"""A fitted model, with what belongs to it."""


def fitted(model: Any, y: Any, rows: Any = X, **given: Any) -> Made:
    return clone(model).fit(rows, y, **given), {}


def calibrated(name: str, own: Any, y: Any) -> Made:
    return fitted(CalibratedClassifier(own, calibrator=getattr(calibration, name)(), cv=2), y)


def shifted(k: int) -> Made:
    logit = booster(k, ("binary", "binary:logistic")[k], event)
    return logit, {"shift": log_odds_shift(negative_keep_rate=0.01)}


def decided(k: int, **extras: Any) -> Made:
    return booster(k, ("regression", "reg:squarederror")[k], latent), extras


def models() -> dict[str, Callable[[], Made]]:
    """Models by name, which are trained when they are asked for; most of both libraries."""
    pairs: dict[str, tuple[Any, Any]] = {
        "ordinal": classifiers(objective=ordinal_logit_objective(4)),
        "focal": classifiers(objective=focal_objective(2)),
        "two classes": (lgb.LGBMClassifier(**LGB), xgb.XGBClassifier(**XGB)),
        "K classes": (lgb.LGBMClassifier(**LGB), xgb.XGBClassifier(**XGB)),
        "poisson": (lgb_regressor(objective="poisson"),
                    xgb_regressor(objective="count:poisson")),
        "dart": (lgb_regressor(boosting_type="dart"),
                 xgb.XGBRegressor(booster="dart", rate_drop=0.5, **XGB)),
        "forest": (lgb_regressor(boosting_type="goss"),
                   xgb_regressor(num_parallel_tree=3)),
    }  # fmt: skip
    labels = {"two classes": event, "focal": event, "ordinal": grade, "K classes": grade}
    found: dict[str, Callable[[], Made]] = {}
    for name, pair in pairs.items():
        for k, own in enumerate(pair):
            found[f"{name} {k}"] = partial(fitted, own, labels.get(name, grade))
    for k in (0, 1):
        plain = (lgb.LGBMClassifier(**LGB), xgb.XGBClassifier(**XGB))[k]
        for average in ("probability", "log_odds"):
            bags = DownsampledClassifier(
                plain, negative_keep_rate=0.5, n_bags=2, average=average, calibrate=False
            )
            found[f"bags {average} {k}"] = partial(fitted, bags, event)
        for name in (*CALIBRATORS, "TemperatureCalibrator"):
            found[f"{name} {k}"] = partial(calibrated, name, plain, event)
        found[f"temperature {k}"] = partial(calibrated, "TemperatureCalibrator", plain, grade)
        found[f"shift {k}"] = partial(shifted, k)
        cut = Thresholds([-0.5, 0.5], [0.5, 1, 7])
        found[f"thresholds {k}"] = partial(decided, k, thresholds=cut)
        isotonic = IsotonicRegression(out_of_bounds="clip").fit(latent, event)
        found[f"isotonic {k}"] = partial(decided, k, calibrator=isotonic)
        own = (lgb_regressor(), xgb_regressor())[k]
        found[f"qwk {k}"] = partial(fitted, QWKClassifier(own, cv=2), grade + 3)
    lightgbm = lgb.LGBMClassifier(**LGB)
    found["Venn-Abers 0"] = partial(calibrated, "VennAbersCalibrator", lightgbm, event)
    in_range = on_lgb.LGBMRegressor(objective=qwk_objective(label_range=(0, 3)), **LGB)
    ranged = QWKClassifier(in_range, cv=2)
    found["range"] = partial(fitted, ranged, grade)
    both = [("l", lgb_regressor()), ("x", xgb_regressor())]
    blend = QWKClassifier(both, cv=2, labels=["bad", "fair", "good", "top"], ensemble=False)
    found["blend"] = partial(fitted, blend, words)
    found["one leaf"] = partial(fitted, lgb_regressor(min_split_gain=1e9), grade)
    stopped = xgb.XGBRegressor(n_estimators=30, early_stopping_rounds=2, learning_rate=1.0)
    evaluated = {"eval_set": [(X[:50], grade[::-1][:50])], "verbose": 0}
    found["stopped"] = partial(fitted, stopped, grade, **evaluated)
    found["scores"] = partial(fitted, ThresholdClassifier(), grade, latent)
    return found


MODELS = models()


def written(model: Any, path: Any, rows: Any = X, **extras: Any) -> Any:
    """The outputs of the graph, by name, for rows."""
    file = path / "model.onnx"
    file.unlink(missing_ok=True)
    serving.export_onnx(model, file, rows, **extras)
    return onnxruntime.InferenceSession(str(file))


def outputs(session: Any, rows: Any) -> dict[str, Any]:
    names = [output.name for output in session.get_outputs()]
    return dict(zip(names, session.run(names, {"X": rows}), strict=True))


@pytest.mark.filterwarnings("ignore:labels=.* follow the alphabet")  # these are in order
@pytest.mark.slow
@each("name", MODELS)
def test_a_graph_predicts_what_the_model_does(name, tmp_path):
    model, extras = MODELS[name]()
    given = latent[:, None] if name == "scores" else X
    found = outputs(written(model, tmp_path, given, dtype="float64", **extras), given)
    own = model if hasattr(model, "predict_proba") and not extras else None
    rows = given[:, 0] if name == "scores" else given
    served = own or (serving.ServedModel(model, **extras) if extras else model)
    want = np.asarray(served.predict(rows))
    is_float32 = not name.endswith("0")  # XGBoost adds up its trees in float32
    near = {"rtol": 2e-5, "atol": 2e-6} if is_float32 else {"rtol": 1e-12, "atol": 1e-14}
    if "label" in found:
        assert (found["label"] == want).all()
    else:
        np.testing.assert_allclose(found["score"], want, **near)
    if "probabilities" in found:
        p = served.predict_proba(rows)
        # a hull and a curve of few points multiply the rounding of margins by their slopes
        is_steep = is_float32 and any(word in name for word in ("Hull", "isot", "qwk", "blend"))
        steep = {"rtol": 1e-3, "atol": 1e-4} if is_steep else near
        np.testing.assert_allclose(found["probabilities"], p, **steep)
    kinds = {"label", "probabilities"} if hasattr(served, "classes_") else set()
    assert name == "scores" or kinds <= {*found} or served.classes_ is None


def test_no_root_has_a_leaf_and_a_node_of_one_number(tmp_path):
    """onnxruntime 1.23, the last for Python 3.10, takes such a root for a leaf."""
    rows = np.random.default_rng(0).random((200, 2))
    model = lgb.LGBMRegressor(n_estimators=20, verbose=-1, n_jobs=1).fit(rows, rows[:, 0] > 0.3)
    serving.export_onnx(model, tmp_path / "model.onnx", rows)
    (node,) = (
        n for n in onnx.load(tmp_path / "model.onnx").graph.node if n.op_type == "TreeEnsemble"
    )
    found = {a.name: onnx.helper.get_attribute_value(a) for a in node.attribute}
    yes, no = (np.array(found[f"nodes_{name}nodeids"]) for name in ("true", "false"))
    roots = np.array(found["tree_roots"])
    assert len(roots) == 20
    assert (yes != no)[roots].all()


def test_small_probabilities_keep_their_digits(tmp_path):
    model = serving.ServedModel(booster(0, "binary", event), shift=LogOddsShift(-19.0))
    p = outputs(written(model, tmp_path, dtype="float64"), X)["score"]
    assert p.max() < 1e-6
    np.testing.assert_allclose(p, model.predict_score(X), rtol=1e-13, atol=0)


def test_a_float32_input_is_the_rounded_table(tmp_path):
    model = lgb_regressor().fit(X, grade)
    session = written(model, tmp_path)
    assert session.get_inputs()[0].type == "tensor(float)"
    found = outputs(session, X.astype(np.float32))["score"]
    np.testing.assert_allclose(found, model.predict(X.astype(np.float32).astype(float)), rtol=1e-13)


@pytest.mark.slow
@pytest.mark.skipif(not holds_vectors({}), reason="XGBoost 3.2")
def test_vector_leaves_are_a_tree_for_each_class(tmp_path):
    """Of one kind, of both in one model, and of a single split or none."""
    data = xgb.DMatrix(X, grade, nthread=1)
    objective = make_objective(of_classes, link="softmax", outputs=4)
    vector = {"multi_strategy": "multi_output_tree", "nthread": 1, "max_depth": 4}
    scalar = {**vector, "multi_strategy": "one_output_per_tree"}
    train = partial(on_xgb.train, data=data, num_boost_round=5, objective=objective)
    models = {
        "vector": train(vector), "vector, then numbers": train(scalar, xgb_model=train(vector)),
        "numbers, then vector": train(vector, xgb_model=train(scalar)),
        "forest": train({**vector, "num_parallel_tree": 3, "subsample": 0.5}),
        "one split": train({**vector, "max_depth": 1}), "no split": train({**vector, "gamma": 1e6}),
    }  # fmt: skip
    for name, model in models.items():
        (tmp_path / name).mkdir()
        found = outputs(written(model, tmp_path / name, dtype="float64"), X)
        p = model.predict(data)  # XGBoost adds up its trees in float32
        np.testing.assert_allclose(found["probabilities"], p, rtol=2e-5, atol=2e-6, err_msg=name)
        assert name == "no split" or np.ptp(p, axis=0).min() > 0.05


# Categories and segments.


@each("own", [lgb_regressor(min_data_per_group=5, cat_smooth=1, max_cat_to_onehot=1),
              xgb_regressor(enable_categorical=True, max_cat_to_onehot=1)])  # fmt: skip
def test_a_category_is_its_number(own, tmp_path):
    cells = rng.choice(list("abcdefgh"), 400).astype(object)
    cells[::17] = None
    rows = pd.DataFrame(filled, columns=list("abcd")).assign(place=pd.Categorical(cells))
    codes = rows["place"].cat.codes.to_numpy().astype(float)
    model = own.fit(rows, latent + codes % 3)
    session = written(model, tmp_path, rows)
    given = np.column_stack([filled, np.where(codes < 0, np.nan, codes)]).astype(np.float32)
    assert abs(np.diff(model.predict(rows))).max() > 0.1
    want = model.predict(rows.astype({name: "float32" for name in "abcd"}))
    np.testing.assert_allclose(outputs(session, given)["score"], want, atol=2e-6)
    features = json.loads(session.get_modelmeta().custom_metadata_map["features"])
    assert features[4]["categories"] == list("abcdefgh")


@pytest.mark.slow
@each("kind", ["number", "word"])
def test_segments_are_shifted(kind, tmp_path):
    segment = np.arange(400) % 3
    y = np.clip(grade + (segment == 2), 0, 3)
    if kind == "number":
        rows: Any = np.column_stack([filled, segment * 10.0])
        new, column = rows.copy(), -1
        new[:, -1] = 7
    else:
        named = pd.Categorical(np.array(["x", "y", "z"])[segment])
        rows = pd.DataFrame(filled, columns=list("abcd")).assign(place=named)
        new, column = rows.assign(place=pd.Categorical(["x"] * 400, list("xyz"))), "place"
    model = QWKClassifier(lgb_regressor(), cv=2, segment=column, handle_unknown="common")
    model.fit(rows, y)
    model.segment_shift_ = replace(model.segment_shift_, shifts=(0.3, -0.2, 0.1))
    session = written(model, tmp_path, rows, dtype="float64")
    codes = np.zeros(400) if kind == "word" else new[:, -1]
    found = outputs(session, np.column_stack([filled, codes]))
    np.testing.assert_allclose(found["score"], model.predict_score(new), rtol=1e-12)
    model.set_params(handle_unknown="error").fit(rows, y)
    with pytest.raises(ValueError, match=r"cannot refuse a row: fit it with handle_unknown='comm"):
        written(model, tmp_path, rows)


# Members that are not boosters.


def test_other_members_are_converted(tmp_path):
    linear = np.digitize(filled @ [1.0, 0.5, 0.2, 0.1], [-0.7, 0, 0.7])
    ridge = make_pipeline(SimpleImputer(), StandardScaler(), Ridge())
    scaled = make_pipeline(StandardScaler(), lgb_regressor())
    mixed = QWKClassifier([("ridge", ridge), ("scaled", scaled)], cv=2).fit(X, linear)
    assert (mixed.weights_ > 0).all()
    logistic = DownsampledClassifier(
        make_pipeline(StandardScaler(), LogisticRegression()), negative_keep_rate=0.5, n_bags=2
    )
    several = LogisticRegression().fit(filled, grade)
    for model, rows in ((mixed, X), (logistic.fit(filled, event), filled), (several, filled)):
        with pytest.raises(TypeError, match=r"export_onnx\(model, path, X\)"):
            serving.export(model, tmp_path / "folder", rows)
        found = outputs(written(model, tmp_path, rows, dtype="float64"), rows)
        p = model.predict_proba(rows)
        np.testing.assert_allclose(found["probabilities"], p, rtol=1e-4, atol=1e-4)
        assert (found["label"] == model.predict(rows)).mean() > 0.99
        with pytest.raises(ValueError, match="must be tried on rows that fit saw: pass X"):
            written(model, tmp_path, None)


# Refusals.


def test_what_has_no_graph_is_refused(tmp_path):
    forest = QWKClassifier(RandomForestRegressor(5, random_state=0), cv=2)
    no_operator = "=True, which ONNX has no operator for"
    for words, model in {
        "missing=-1.0, but in ONNX only NaN is missing: train with": xgb_regressor(missing=-1.0),
        "gblinear', which has no trees: export a folder": xgb.XGBRegressor(booster="gblinear"),
        f"linear_tree{no_operator}": lgb_regressor(linear_tree=True),
        f"zero_as_missing{no_operator}": lgb_regressor(zero_as_missing=True),
        "RandomForestRegressor that the model holds has no ONNX graph: use LightGBM": forest,
    }.items():
        with pytest.raises(ValueError, match=words):
            written(model.fit(np.where(filled > 1, 0, filled), grade), tmp_path, filled)
        assert not list(tmp_path.iterdir())
    with pytest.raises(TypeError, match="no booster"):
        written("model", tmp_path)
    model = lgb_regressor().fit(X, grade)
    with pytest.raises(ValueError, match="path .* exists: pass overwrite=True"):
        serving.export_onnx(model, tmp_path, X)
    with pytest.raises(ValueError, match="dtype must be"):
        written(model, tmp_path, dtype="float16")


@pytest.mark.parametrize("name", ["two classes 0", "two classes 1", "thresholds 0", "K classes 1"])
def test_a_wrong_graph_is_not_written(name, tmp_path, monkeypatch):
    model, extras = MODELS[name]()
    own = graphs.of_library

    def off(model: Any) -> Any:
        library = own(model)

        def moved(booster: Any) -> Any:
            found = library.trees(booster)
            found.base[0] += 1e-3
            return found

        return replace(library, trees=moved)

    monkeypatch.setattr(graphs, "of_library", off)
    with pytest.raises(ValueError, match=r"the graph would give .* nothing was written; export a"):
        written(model, tmp_path, **extras)
    assert not list(tmp_path.iterdir())


def test_classes_that_float32_decides_are_counted(tmp_path):
    """A threshold at a score of many rows, which the graph adds up in float64."""
    rows = np.random.default_rng(0).integers(0, 3, size=(300, 4)).astype("float32")
    y = (rows.sum(axis=1) + np.random.default_rng(1).normal(size=300) > 5).astype(int)
    model = xgb.XGBClassifier(n_estimators=10, max_depth=2, n_jobs=1).fit(rows, y)
    p = serving.ServedModel(model).predict_score(rows)
    q = outputs(written(model, tmp_path, rows), rows)["probabilities"][:, 1]
    t = Thresholds([p[q < p][0]], [0, 1])
    changed = np.count_nonzero((p >= t[0]) != (q >= t[0]))
    assert changed > 1
    with pytest.warns(UserWarning, match=f"gives {changed} of 300 rows of X another class") as told:
        written(model, tmp_path, rows, thresholds=t)
    text = str(told[0].message)
    assert "less than 1e-06" in text
    remedy = eval(text[text.index("Thresholds(np") : text.index(", or export a folder")])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        found = outputs(written(model, tmp_path, rows, thresholds=remedy), rows)["label"]
    assert (found == (p > t[0])).all()
    serving.export(model, tmp_path / "folder", rows, thresholds=t, check_rows=300)


def test_what_was_not_compared_says_so(tmp_path, monkeypatch):
    model = lgb_regressor().fit(X, grade)
    with pytest.warns(UserWarning, match="X is not given, so the graph was not compared"):
        written(model, tmp_path, None)
    monkeypatch.setattr(graphs, "find_spec", lambda name: None)
    with pytest.warns(UserWarning, match="onnxruntime is not installed"):
        written(model, tmp_path)


def test_a_value_is_missing_that_never_was_in_training(tmp_path):
    """LightGBM then takes it for 0, on either side of a threshold."""
    for sign in (-1, 1):
        model = lgb_regressor().fit(sign * (filled + 0.3), grade)
        rows = np.where(rng.random(X.shape) < 0.3, np.nan, sign * (filled + 0.3))
        found = outputs(written(model, tmp_path, sign * (filled + 0.3), dtype="float64"), rows)
        np.testing.assert_allclose(found["score"], model.predict(rows), rtol=1e-13)


# Operators, against numpy and the formulas of predict.py.


def computed(build: Any, v: Any) -> Any:
    """What the operators that ``build`` adds to a graph make of v."""
    from onnx import TensorProto, helper

    g, double = graphs.Graph(), TensorProto.DOUBLE
    out = build(g).name
    graph = helper.make_graph(
        g.nodes, "g", [helper.make_tensor_value_info("X", double, [None] * v.ndim)],
        [helper.make_tensor_value_info(out, double, None)], initializer=list(g.constants.values()),
    )  # fmt: skip
    opsets = [helper.make_opsetid(*item) for item in graphs.OPSETS.items()]
    model = helper.make_model(graph, opset_imports=opsets, ir_version=graphs.IR_VERSION)
    (found,) = graphs.run(model.SerializeToString(), v).values()
    return found


Z = np.array([-800, -60, -40, -20, -1, -1e-9, 0, 1e-9, 0.3, 2, 20, 40, 60, 800])
P = np.array([0, 1e-300, 1e-12, 1e-7, 0.3, 0.5, 0.9, 1 - 1e-9, 1])
KNOTS = {
    "knots": [-3.0, 0.0, 2.0],
    "origins": [-3.0, -3.0, 0.0, 2.0],
    "coefficients": [[0, 0.1, -0.2, 0], [0, 0.3, 0.1, 0], [1, 2, 1, 0.5], [-3, 0, 0.2, 1]],
}
CORNERS = {"x": [0.0, 0.2, 0.2, 0.7], "y": [0.1, 0.3, 0.4, 0.9]}
PLACES = {"x": [1e-7, 0.3, 0.9], "at": [0.1, 0.2, 0.3], "between": [0.0, 0.15, 0.25, 0.35]}
BETA = {"map": "beta", "a": 1.3, "b": 0.7, "c": 0.2}


@each("step, v", [
    ({"formula": "clip", "low": 0, "high": 3}, Z),
    ({"formula": "shift", "log_odds": 0.7}, Z),
    ({"formula": "stretch", "stretch": 1.2, "center": 1.5}, Z),
    ({"formula": "exp"}, Z[1:-1]),
    ({"formula": "sigmoid"}, Z),
    ({"formula": "softmax"}, np.column_stack([Z, -Z, Z / 2])),
    ({"formula": "ordinal", "thresholds": ["-inf", -1.0, 0.5], "apart": [1.0, 0.78, 1.0]}, Z),
    ({"formula": "focal", "gamma": 2.0, "log_class_odds": 0.4}, Z),
    ({"formula": "focal", "gamma": 0.5, "log_class_odds": 0.0}, Z),
    ({"formula": "interpolate", **CORNERS}, np.array([-np.inf, -1, 0, 0.1, 0.2, 0.5, 0.7, np.inf])),
    ({"formula": "table", **PLACES}, P),
    ({"formula": "temperature", "temperature": 2.5, "biases": [0.1, -0.4]},
     np.column_stack([P, 1 - P])),
    ({"formula": "calibrate", "input_space": "probability", **BETA}, P),
    ({"formula": "calibrate", "input_space": "margin", **BETA}, Z),
    ({"formula": "calibrate", "input_space": "probability", "map": "line", "slope": 0.8,
      "intercept": -0.1}, P),
    ({"formula": "calibrate", "input_space": "margin", "map": "cubic", **KNOTS}, Z[3:-3]),
])  # fmt: skip
def test_a_step_is_the_formula_of_predict(step, v):
    found = computed(lambda g: graphs.steps_of(graphs.Value(g, "X"), [step]), v)
    want = formulas.apply(v, **step)
    # exp of a number near 700 carries its rounding
    np.testing.assert_allclose(found, want, rtol=1e-12, atol=1e-305)


@pytest.mark.parametrize("error", [OSError("no space left on device"), KeyboardInterrupt()])
def test_a_graph_is_written_whole_or_not_at_all(error, tmp_path, monkeypatch) -> None:
    model = lgb_regressor().fit(X, grade)
    write = type(tmp_path).write_bytes

    def half(path, data):
        write(path, data[: len(data) // 2])
        raise error

    with monkeypatch.context() as broken:
        broken.setattr(type(tmp_path), "write_bytes", half)
        with pytest.raises(type(error)):
            serving.export_onnx(model, tmp_path / "model.onnx", X)
    assert not list(tmp_path.iterdir())

    def meanwhile(path: Any, data: bytes) -> None:
        write(path, data)
        write(tmp_path / "model.onnx", b"theirs")

    with monkeypatch.context() as busy:
        busy.setattr(type(tmp_path), "write_bytes", meanwhile)
        with pytest.raises(ValueError, match="model.onnx exists: pass overwrite=True"):
            serving.export_onnx(model, tmp_path / "model.onnx", X)
    assert (tmp_path / "model.onnx").read_bytes() == b"theirs"
    (tmp_path / "model.onnx").unlink()
    serving.export_onnx(model, tmp_path / "model.onnx", X)
    assert [path.name for path in tmp_path.iterdir()] == ["model.onnx"]
    size = (tmp_path / "model.onnx").stat().st_size
    serving.export_onnx(lgb_regressor(n_estimators=2).fit(X, grade), tmp_path / "model.onnx", X,
                        overwrite=True)  # fmt: skip
    assert [path.name for path in tmp_path.iterdir()] == ["model.onnx"]
    assert 0 < (tmp_path / "model.onnx").stat().st_size < size
    with pytest.raises(ValueError, match="not replaced, it is no file: give a new name"):
        serving.export_onnx(model, tmp_path, X, overwrite=True)
