"""Fitted models as JSON trees with their plans, and the objects again.

Names of classes are looked up in tables: nothing that a file says is imported or evaluated.
"""

from __future__ import annotations

import json
import math
import numbers
from collections.abc import Callable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.base import is_classifier
from sklearn.isotonic import IsotonicRegression

from gbdt_objectives import _checks, calibration, thresholds
from gbdt_objectives._checks import Array, column_names, shown
from gbdt_objectives._registry import BY_NAME, ESTIMATORS, kind_of, library, name_of
from gbdt_objectives._steps.steps import SavedAsJSON, plain, read_flag, read_numbers
from gbdt_objectives.calibration.ordinal import OrdinalCurve
from gbdt_objectives.estimators import (
    CalibratedClassifier,
    DownsampledClassifier,
    QWKClassifier,
    ThresholdClassifier,
)
from gbdt_objectives.estimators._base import Wrapping
from gbdt_objectives.estimators.qwk_classifier import label_thresholds
from gbdt_objectives.objectives import Objective, focal_objective, qwk_objective
from gbdt_objectives.objectives.ordinal_logit import OrdinalLogitLoss
from gbdt_objectives.priors import LogOddsShift
from gbdt_objectives.serving.plans import (
    Plan,
    ServedModel,
    find_objective,
    models_of,
    of_library,
    of_model,
    reading,
)
from gbdt_objectives.thresholds import SegmentShift, Thresholds
from gbdt_objectives.thresholds.rows import are_rising_numbers

Feature = dict[str, Any]
SCORE: list[Feature] = [{"name": "score", "dtype": "float64"}]  # of a model without boosters


def read_features(model: Any, plan: Plan, X: Any) -> list[Feature]:
    """Name, dtype and categories of each feature, of X where it is given."""
    if X is not None and not np.shape(X)[0]:
        raise ValueError("X is empty, so nothing can be compared: pass some rows, or leave X out")
    if not plan.parts:
        return [dict(SCORE[0])]
    first, library = plan.parts[0].model, plan.parts[0].library
    d, own, same_names = library.count_features(first), library.names_of(first), library.same_names
    if isinstance(model, Wrapping):  # names as fit saw them: LightGBM changes some
        own, same_names = getattr(model, "feature_names_in_", None), list.__eq__
    if X is None:
        for part in plan.parts:
            part.library.categories_of(part.model, [None] * d)
        names = range(d) if own is None else own
        return [{"name": name, "dtype": "float64"} for name in names]
    _checks.in_memory("X", X)
    if getattr(X, "ndim", 2) != 2 or np.shape(X)[1:] != (d,):
        raise ValueError(f"X must have the {d} features of the model, found shape {np.shape(X)}")
    if not hasattr(X, "iloc"):
        if own is not None:
            raise ValueError(
                f"X must be a DataFrame with the columns {shown(own)}, found {type(X).__name__}"
            )
        dtype = str(getattr(X, "dtype", "float64"))
        return [{"name": k, "dtype": dtype} for k in range(d)]
    return read_columns(plan, X, own, same_names)


def read_columns(
    plan: Plan, X: Any, own: Any, same_names: Callable[[list[str], list[str]], bool]
) -> list[Feature]:
    """The features of a DataFrame; ``own`` are the names that the model knows, if any."""
    given: list[Any] = column_names(X) or []
    if not all(isinstance(name, str) for name in given) or len(set(given)) < X.shape[1]:
        raise ValueError(f"the columns of X must have different strings as names, found {given}")
    if own is not None and not same_names(list(own), given):
        raise ValueError(
            f"X has the columns {shown(given)}, but the model was trained on {shown(list(own))}: "
            "pass them in its order"
        )
    if own is None:
        raise ValueError("X is a DataFrame, but the model was trained on an array: pass an array")
    known = [getattr(dtype, "categories", None) for dtype in X.dtypes]
    categories = [None if values is None else list(values) for values in known]
    found = [part.library.categories_of(part.model, categories) for part in plan.parts]
    if any(other != found[0] for other in found):
        raise ValueError("the boosters number categories differently: train all on the same dtypes")
    return [feature_of(*each, plan) for each in zip(given, X.dtypes, found[0], strict=True)]


def check_saved_features(features: list[Feature], plan: Plan) -> None:
    """Raise unless the features of model.json are those of the boosters in it."""
    names = [feature["name"] for feature in features]
    categories = [feature.get("categories") for feature in features]
    wanted: list[Any] = []
    for part in plan.parts:
        library = part.library
        own, d = library.names_of(part.model), library.count_features(part.model)
        if d != len(names):
            raise ValueError(f"features lists {len(names)}, but a booster has {d}")
        if not library.same_names(list(own), names) if own is not None else names != [*range(d)]:
            raise ValueError(f"features has other names than a booster, {shown(names)}")
        wanted.append(library.categories_of(part.model, categories))
    if not plan.parts and features != SCORE:
        raise ValueError(f"features must be {SCORE}, found {shown(features)}")
    for k, (feature, values) in enumerate(zip(features, categories, strict=True)):
        expected: Feature = {"name": feature["name"], "dtype": feature["dtype"]}
        if values is not None:
            expected = feature_of(str(feature["name"]), None, wanted[0][k], plan)
        if feature != expected or not isinstance(feature["dtype"], str):
            raise ValueError(f"features has {shown(feature)}, but the boosters {shown(expected)}")


def feature_of(name: str, dtype: Any, categories: list[Any] | None, plan: Plan) -> Feature:
    if categories is None:
        if getattr(dtype, "kind", "O") not in "biuf":
            raise ValueError(
                f"X has the column {name!r} of dtype {dtype}: make it numbers, or a category"
            )
        return {"name": name, "dtype": str(dtype)}
    values, text = plain_values(name, categories)
    refuses = any(part.library.refuses_new for part in plan.parts)
    return {
        "name": name, "dtype": "category", "categories": values, "text": text,
        "unknown": "error" if refuses else "missing",
    }  # fmt: skip


def plain_values(name: str, values: list[Any]) -> tuple[list[Any], bool]:
    """Categories or segments as JSON holds them, and whether they are words."""
    plain = [value.item() if hasattr(value, "item") else value for value in values]
    if all(isinstance(value, str) for value in plain):
        if {"", "nan"} & set(plain):
            raise ValueError(
                f"column {name!r} has the category '' or 'nan', which a table of text does not "
                "tell from a missing value: rename it"
            )
        return plain, True
    if all(isinstance(value, numbers.Real) for value in plain):
        if any(value != float(value) for value in plain):
            raise ValueError(
                f"column {name!r} has whole numbers beyond 2**53 as categories, {shown(plain)}, "
                "which tables of numbers round: make them strings before fit"
            )
        return plain, False
    raise ValueError(
        f"column {name!r} has categories that are neither all words nor all numbers, "
        f"{shown(plain)}: convert them first"
    )


def as_frame(X: Any) -> Any:
    """A table of polars or Arrow as one of pandas; anything else as it is."""
    return X.to_pandas() if hasattr(X, "to_pandas") and not hasattr(X, "iloc") else X


def draw_rows(X: Any, n: int) -> Any:
    """At most n rows of X, at equal distances."""
    from sklearn.utils import _safe_indexing

    X = X if hasattr(X, "shape") else np.asarray(X)
    total = X.shape[0]
    return _safe_indexing(X, np.unique(np.linspace(0, total - 1, min(n, total)).astype(int)))


def cells(X: Any, features: list[Feature]) -> Array:
    """Rows as an array that any numpy reads: numbers, or text if a column holds words."""
    if hasattr(X, "tocsr"):
        return np.asarray(X.toarray(), np.float64)
    if not hasattr(X, "iloc"):
        return np.asarray(X, np.float64)
    columns = [column_of(X.iloc[:, k], feature) for k, feature in enumerate(features)]
    if not any(feature.get("text") for feature in features):
        return np.column_stack(columns)
    return np.column_stack([[str(value) for value in column.tolist()] for column in columns])


def column_of(column: Any, feature: Feature) -> Array:
    if not feature.get("text"):
        return np.asarray(column.astype("float64").to_numpy(), np.float64)
    return np.asarray(column.astype(object).where(column.notna(), "nan"), object)


Tree = dict[str, Any]

CLASSIFIERS = QWKClassifier, ThresholdClassifier, DownsampledClassifier, CalibratedClassifier
OURS = {kind.__name__: kind for kind in CLASSIFIERS}
VALUES: dict[str, Any] = {
    kind.__name__: kind
    for kind in (*vars(thresholds).values(), LogOddsShift, *vars(calibration).values())
    if isinstance(kind, type) and issubclass(kind, SavedAsJSON)
}
"""What thresholds, shifts and calibrators are read from JSON by."""
ISOTONIC = "sklearn.IsotonicRegression"
THREADS = {"n_jobs", "nthread", "nthreads", "num_thread", "num_threads"}
MOST_THREADS = 1024
SEGMENT_KEYS = ("format", *SegmentShift._saved)


def write_classes(classes: Array) -> Tree:
    labels = classes.tolist()
    kinds = {type(label) for label in labels}
    if classes.dtype.kind in "mM" or len(kinds) > 1 or not kinds <= {int, float, str, bool}:
        raise ValueError(
            "the classes must be all numbers or all strings to be written as JSON, found "
            f"{shown(labels)}: train on such labels"
        )
    return {"dtype": classes.dtype.str.lstrip("<>=|"), "labels": labels}


def read_classes(value: Any) -> Array:
    if value["dtype"] == "b1":
        return np.array([read_flag("classes", label) for label in value["labels"]])
    return Thresholds._read_labels(value["labels"], value["dtype"], "classes")


def as_dict(thing: Any) -> Tree | None:
    """The one JSON form of a threshold, shift or calibrator."""
    if thing is None:
        return None
    if isinstance(thing, IsotonicRegression):
        x, y = np.asarray(thing.X_thresholds_), np.asarray(thing.y_thresholds_)
        return {"format": ISOTONIC, "x": x.tolist(), "y": y.tolist(), "dtype": str(x.dtype)}
    document: Tree = thing._document()  # the folder has a checksum of all
    return document


def from_dict(value: Tree | None) -> Any:
    if value is None:
        return None
    name = value["format"].split(".")[-1].split("/")[0]
    if value["format"] == ISOTONIC:
        x, y = (np.array(read_numbers(key, value[key]), value["dtype"]) for key in ("x", "y"))
        return IsotonicRegression(out_of_bounds="clip", increasing=bool(y[0] <= y[-1])).fit(x, y)
    if name not in VALUES:
        raise ValueError(f"format {value['format']!r} is none of this package")
    return VALUES[name].from_json(json.dumps(value))


def json_parameters(estimator: Any) -> Tree:
    """The parameters that JSON can hold; splitters, functions and objectives are left out."""
    given = estimator.get_params(deep=False)
    labels = given.get("labels")
    if labels is not None:
        given["labels"] = np.asarray(labels).tolist()
    given.pop("estimator", None)
    found: Tree = {}
    for name, value in given.items():
        is_number = type(value) is float and math.isfinite(value)
        if value is None or is_number or type(value) in (bool, int, str):  # as most are
            found[name] = value
        else:
            with suppress(TypeError):
                found[name] = plain_json(value)
    return check_threads(found)


def check_threads(parameters: Tree) -> Tree:
    """Refuse numbers of threads that no machine has: some libraries would start them all."""
    for name in THREADS & parameters.keys():
        n = parameters[name]
        if n is not None and not (isinstance(n, int) and abs(n) <= MOST_THREADS):
            raise ValueError(
                f"{name} must be None or a whole number of at most {MOST_THREADS} threads, found "
                f"{shown(n)}: give the estimator another by set_params({name}=...)"
            )
    return parameters


def plain_json(value: Any) -> Any:
    """A plain value; a mapping as its pairs, as keys of JSON are strings; TypeError for others."""
    value = value.item() if isinstance(value, np.generic) else value
    if isinstance(value, Mapping):
        return {"pairs": [[plain_json(key), plain_json(item)] for key, item in value.items()]}
    if isinstance(value, list | tuple):
        return [plain_json(item) for item in value]
    if isinstance(value, float) and not math.isfinite(value):
        raise TypeError("JSON has no infinite numbers")
    if not isinstance(value, str | int | float | None):
        raise TypeError(f"JSON has no {type(value).__name__}")
    return value


def from_json(parameters: Tree) -> Tree:
    return check_threads({
        name: dict(value["pairs"]) if isinstance(value, dict) else value
        for name, value in parameters.items()
    })  # fmt: skip


def unfitted(estimator: Any) -> Tree | None:
    """What is known of the estimator that a model was made of, or of several with names."""
    if isinstance(estimator, list):
        return {"several": [[name, unfitted(own)] for name, own in estimator]}
    kind = kind_of(estimator)
    if kind is not None:
        return {"class": kind, "parameters": json_parameters(estimator)}
    if type(estimator) in OURS.values() and hasattr(estimator, "estimator"):
        inside = unfitted(estimator.estimator)
        name = type(estimator).__name__
        return {"class": name, "parameters": json_parameters(estimator), "estimator": inside}
    return None


def make(tree: Tree | None) -> Any:
    if tree is None:
        return None
    if "several" in tree:
        return [(name, make(own)) for name, own in tree["several"]]
    if tree["class"] in ESTIMATORS:
        kind = library(ESTIMATORS[tree["class"]]).kinds[tree["class"]]
        return kind(**from_json(tree["parameters"]))
    return OURS[tree["class"]](estimator=make(tree["estimator"]), **from_json(tree["parameters"]))


def model_tree(model: Any, files: Mapping[int, str]) -> Tree:
    """The tree of a fitted model; ``files`` has the names of boosters' files by id."""
    name = type(model).__name__
    if name in FIELDS:
        of_both = {"estimator": unfitted(model.estimator), "classes": write_classes(model.classes_)}
        return {"class": name, **of_estimator(model), **of_both} | {
            key: write(getattr(model, attribute), files)
            for key, (attribute, write, _) in FIELDS[name].items()
            if hasattr(model, attribute)
        }
    if name in TREES:
        return {"class": name, **TREES[name](model, files)}
    file = files[id(model)]
    kind = kind_of(model)
    if kind is None:
        return {"class": "Booster", "library": name_of(model), "file": file}
    classes = write_classes(np.asarray(model.classes_)) if is_classifier(model) else None
    return {
        "class": kind, "parameters": json_parameters(model), "file": file, "classes": classes,
        "objective": write_objective(model), "names": of_library(model).names_of(model),
    }  # fmt: skip


def write_served_model(model: ServedModel, files: Mapping[int, str]) -> Tree:
    extras = {key: as_dict(getattr(model, key)) for key in ("thresholds", "shift", "calibrator")}
    return {"model": model_tree(model.model, files), **extras}


def write_qwk_classifier(model: QWKClassifier, files: Mapping[int, str]) -> Tree:
    several = isinstance(model.estimator, list)
    members = model.estimator if several else [("estimator", model.estimator)]
    return {
        **of_estimator(model), "several": several, "ensemble": hasattr(model, "estimators_"),
        "weights": model.weights_.tolist(), "names": [name for name, _ in members],
        "members": [unfitted(member) for _, member in members],
        "stretch": written_number(model.stretch_), "center": written_number(model.center_),
        "in_label_units": hasattr(model, "label_thresholds_"),
        "folds": write_model(models_of(model), files),
    }  # fmt: skip


TREES: dict[str, Callable[[Any, Mapping[int, str]], Tree]] = {
    "ThresholdClassifier": lambda model, files: {"json": as_dict(model)},
    "ServedModel": write_served_model, "QWKClassifier": write_qwk_classifier,
}  # fmt: skip


def of_estimator(model: Any) -> Tree:
    names = getattr(model, "feature_names_in_", None)
    return {
        "parameters": json_parameters(model), "n_features_in": int(model.n_features_in_),
        "feature_names_in": None if names is None else list(names),
    }  # fmt: skip


def write_objective(model: Any) -> Tree | None:
    """What the fitted objective adds to what the booster says: a range, or how it is read."""
    label_range = getattr(model.objective, "label_range", None)
    if getattr(model.objective, "clip", False) and label_range is not None:
        return {"name": "qwk", "label_range": [float(limit) for limit in label_range]}
    objective = find_objective(model)
    if objective is None or not is_classifier(model) or not objective.link.is_of_objective:
        return None
    loss: Any = objective.equations
    step = written_step(reading(objective))
    if step["formula"] == "focal":
        return {"name": "focal", "gamma": step["gamma"], "alpha": loss.alpha}
    return {"name": "ordinal_logit", "thresholds": step["thresholds"]}


def restore_objective(value: Tree | None) -> Objective | None:
    if value is None:
        return None
    if value["name"] == "qwk":
        return qwk_objective(label_range=tuple(value["label_range"]))
    if value["name"] == "focal":
        return focal_objective(value["gamma"], alpha=value["alpha"])
    if value["name"] == "ordinal_logit":
        theta = tuple(map(float, value["thresholds"]))
        return Objective(OrdinalLogitLoss(n_classes=len(theta) + 1, thresholds=theta))
    raise ValueError(f"objective {value['name']!r} is none of this package")


def restore(tree: Tree, plan: Tree, folder: Path) -> Any:
    """The fitted model; ``plan`` has the curve, the thresholds and the shifts of segments."""
    name = tree["class"]
    if name == "ThresholdClassifier":
        return ThresholdClassifier.from_json(json.dumps(tree["json"]))
    if name == "ServedModel":
        extras = {key: from_dict(tree[key]) for key in ("thresholds", "shift", "calibrator")}
        return ServedModel(restore(tree["model"], plan, folder), **extras)
    if name == "Booster":
        if tree["library"] not in BY_NAME:
            raise ValueError(f"library {tree['library']!r} is none of {', '.join(BY_NAME)}")
        return library(tree["library"]).open_booster(str(folder / tree["file"]))
    if name in ESTIMATORS:
        classes = None if tree["classes"] is None else read_classes(tree["classes"])
        return library(ESTIMATORS[name]).restore(
            name, str(folder / tree["file"]), from_json(tree["parameters"]), classes,
            restore_objective(tree["objective"]), tree["names"],
        )  # fmt: skip
    if name not in OURS:
        raise ValueError(f"class {name!r} is none that can be restored")
    if name == "QWKClassifier":
        model = restore_qwk_classifier(tree, plan, folder)
    else:
        model = OURS[name](estimator=make(tree["estimator"]), **from_json(tree["parameters"]))
        model.classes_ = read_classes(tree["classes"])
        for key, (attribute, _, read) in FIELDS[name].items():
            if key in tree:
                setattr(model, attribute, read(tree[key], plan, folder))
    restore_features(model, tree, plan["features"])
    return model


def written_number(value: Any, files: Any = None) -> Any:
    """A number, or one of each class."""
    return np.asarray(value, np.float64).tolist()


def read_scalar(value: Any, *place: Any) -> Any:
    return np.array(value, np.float64)[()]


def write_model(model: Any, files: Mapping[int, str]) -> Any:
    """A model, or several; None for one of weight 0, which has no file."""
    if isinstance(model, list):
        return [write_model(each, files) for each in model]
    if id(model) in files:  # as of most
        return model_tree(model, files)
    parts = () if model is None else of_model(model).parts
    return model_tree(model, files) if any(id(part.model) in files for part in parts) else None


def restore_model(tree: Any, plan: Tree, folder: Path) -> Any:
    if isinstance(tree, list):
        return [each and restore_model(each, plan, folder) for each in tree]
    return restore(tree, plan, folder)


SHARED = {
    "calibrator": ("calibrator_", lambda own, _: as_dict(own), lambda tree, *_: from_dict(tree)),
    "stretch": ("stretch_", written_number, read_scalar),
    "center": ("center_", written_number, read_scalar),
}  # fmt: skip
FIELDS: dict[str, dict[str, tuple[str, Callable[..., Any], Callable[..., Any]]]] = {
    "DownsampledClassifier": {
        "keep_rates": ("keep_rates_", written_number, read_scalar),
        "shift": ("shift_", written_number, read_scalar),
        "bags": ("estimators_", write_model, restore_model), **SHARED,
    },
    "CalibratedClassifier": {
        "fitted": ("estimator_", write_model, restore_model),
        "folds": ("estimators_", write_model, restore_model), **SHARED,
        "weights": ("weights_", written_number, read_scalar),
        "intercept": ("intercept_", written_number, read_scalar),
        "limits": ("limits_", written_number, read_scalar),
    },
}  # fmt: skip
"""Of classifiers around one estimator: each key, its attribute, and how that is written and read.
A key is left out where the fitted model lacks the attribute."""


def restore_features(model: Any, tree: Tree, features: list[Tree]) -> None:
    """Set the number and names of the features, which are those of the boosters."""
    d, names = tree["n_features_in"], tree["feature_names_in"]
    if type(d) is not int or d != len(features):
        raise ValueError(f"n_features_in is {shown(d)}, but there are {len(features)} features")
    model.n_features_in_ = d
    if names is None:
        return
    given = [feature["name"] for feature in features]
    words = all(isinstance(name, str) for name in (*names, *given))
    own, others = ([str(name).replace(" ", "_") for name in each] for each in (names, given))
    if not words or own != others:  # LightGBM writes spaces as underscores
        raise ValueError(f"feature_names_in is {shown(names)}, but features has {shown(given)}")
    model.feature_names_in_ = np.array(names, object)


def restore_qwk_classifier(tree: Tree, plan: Tree, folder: Path) -> QWKClassifier:
    members = [make(member) for member in tree["members"]]
    several = tree["several"]
    estimator = list(zip(tree["names"], members, strict=True)) if several else members[0]
    model = QWKClassifier(estimator, **from_json(tree["parameters"]))
    thresholds = from_dict(plan["thresholds"])
    model.classes_, model.thresholds_ = thresholds.labels, thresholds
    if tree["in_label_units"] and are_rising_numbers(model.classes_):
        model.label_thresholds_ = label_thresholds(thresholds)
    folds = restore_model(tree["folds"], plan, folder)
    models = folds if several else [fold[0] for fold in folds]
    if tree["ensemble"]:
        model.estimators_ = models
    else:
        model.estimator_ = models[0]
    model.weights_ = read_numbers("weights", tree["weights"])
    model.stretch_, model.center_ = read_scalar(tree["stretch"]), read_scalar(tree["center"])
    for step in plan["score"]:
        if step["formula"] == "segment_shift":
            model.segment_shift_ = from_dict({key: step[key] for key in SEGMENT_KEYS})
    if (model.segment is None) == hasattr(model, "segment_shift_"):
        raise ValueError(f"segment is {shown(model.segment)}, but score has other steps")
    curve, cumulative = plan["probability"]
    theta = tuple(map(float, cumulative["thresholds"]))
    loss = OrdinalLogitLoss(n_classes=len(theta) + 1, thresholds=theta)
    x, y = (read_numbers(key, curve[key]) for key in ("x", "y"))
    if len(x) != len(y) or (np.diff(x) < 0).any():
        raise ValueError("the probability's curve must have sorted numbers x, and as many y")
    fitted: Any = OrdinalCurve(({"formula": "interpolate", "x": x, "y": y}, loss.step()))
    model.probability_curve_ = fitted
    return model


def plan_tree(plan: Plan, names: list[Any]) -> Tree:
    """The plan as JSON; ``names`` are the features'."""
    classes = plan.classes
    if plan.thresholds is not None and classes is None:
        classes = plan.thresholds.labels
    return {
        "score": [named(step, names) for step in map(written_step, plan.score)],
        "probability": None if plan.probability is None else [*map(written_step, plan.probability)],
        "classes": None if classes is None else write_classes(np.asarray(classes)),
        "outputs": plan.outputs,
        "thresholds": as_dict(plan.thresholds),
    }


def written_step(step: Tree) -> Tree:
    """A step as JSON: lists for arrays, words for infinite numbers, no numbers for one machine."""
    step = dict(step)
    if "unit" in step:  # whose powers may overflow
        powers = step.pop("unit") ** np.arange(3, -1, -1.0)[:, None]
        step["coefficients"] = step["coefficients"] / powers
    step.pop("rounding", None)
    return {key: plain(value) for key, value in step.items()}


def named(step: Tree, names: list[Any]) -> Tree:
    """A step on segments with its column's name, and what ``codes`` asks for."""
    if step["formula"] != "segment_shift":
        return step
    column = step["column"]
    name = column if isinstance(column, str) else names[column]
    values, text = plain_values(str(name), step["segments"])
    return {
        **step, "name": name, "categories": values, "text": text,
        "unknown": step["handle_unknown"],
    }  # fmt: skip
