"""The features that a served model is given: their names, dtypes and categories; and some rows."""

from __future__ import annotations

import numbers
from collections.abc import Callable
from typing import Any

import numpy as np

from gbdt_objectives import _checks
from gbdt_objectives._checks import Array, column_names, shown
from gbdt_objectives.estimators._base import Wrapping
from gbdt_objectives.serving.plans import Plan

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


def check_features(features: list[Feature], plan: Plan) -> None:
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
