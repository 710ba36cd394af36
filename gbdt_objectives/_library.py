"""Which library an object belongs to, without importing either: the one place that says so."""

from __future__ import annotations

from typing import Literal

Library = Literal["lightgbm", "xgboost"]
ESTIMATORS: dict[str, tuple[Library, str]] = {
    "LGBMRegressor": ("lightgbm", "Regressor"), "LGBMClassifier": ("lightgbm", "Classifier"),
    "XGBRegressor": ("xgboost", "Regressor"), "XGBClassifier": ("xgboost", "Classifier"),
}  # fmt: skip

MARGIN_FLAG = {"lightgbm": "raw_score", "xgboost": "output_margin"}
"""The argument of an estimator's predict that asks for margins."""


def library_of(thing: object) -> Library | None:
    """The library of a booster or estimator, also of a subclass; None for anything else."""
    rooms = {base.__module__.split(".")[0] for base in type(thing).__mro__}
    if "lightgbm" in rooms:
        return "lightgbm"
    return "xgboost" if "xgboost" in rooms else None


def booster_kind(estimator: object, role: Literal["Regressor", "Classifier"]) -> Library | None:
    """The library of a booster's estimator with this role, also of a subclass, else None."""
    for base in type(estimator).__mro__:
        library, kind = ESTIMATORS.get(base.__name__, (None, None))
        if kind == role and base.__module__.split(".")[0] == library:
            return library
    return None
