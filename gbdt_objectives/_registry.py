"""What can be said of each library before it is imported: the one file that imports by a computed
name, or upwards. All else is its ``Library``, made in its folder of ``adapters``."""

from __future__ import annotations

import re
import sys
from dataclasses import dataclass
from functools import cache
from importlib import import_module
from os import PathLike
from types import ModuleType
from typing import TYPE_CHECKING, Any, cast

if TYPE_CHECKING:
    from gbdt_objectives.adapters._models import Library, OpenLibrary


@dataclass(frozen=True)
class Named:
    """A library by its names, and what is said of it where it calls us."""

    name: str  # of its folder in adapters
    package: str  # where its classes are
    alias: str  # under which people import it
    title: str  # in sentences
    floor: str  # the oldest version: as in pyproject.toml, and in the lane "floors" of .ci/lanes
    prefix: str  # of its estimators' names
    margin_flag: str = ""  # the argument of predict that asks for margins if it is true
    margin_type: str = ""  # where there is none: the argument that does, with its value
    endings: tuple[str, ...] = ()  # of its models' files; the last is the one that exports write
    rendering: str = ""  # the form of a metric that it takes, and as which argument
    wants_triple: bool = False  # whether its estimators want (name, value, direction) of a metric
    takes_start: bool = False  # whether a number that it starts at stays in the model: base_score
    no_default: str = ""  # what turns off the metric that it measures where nobody names one
    adds_start: str = ""  # how predictions get a start that differs by row
    leaf_rows: str = ""  # the parameter of the fewest rows that a leaf may have, if that is many
    classifier_reads: tuple[int, ...] = ()  # for how many classes its own classifier reads margins
    classifier_misreads: str = ""  # what its own classifier does with all others
    cannot_train_alone: str = ""  # what one worker of several would do without sums over all
    cannot_stop_alone: str = ""  # and where it stops
    cannot_serve: str = ""  # why no folder holds its models, and what to do instead
    home: str = ""  # the module of its ``LIBRARY``, if that is not adapters/<name>/library.py

    @property
    def asks_margins(self) -> str:
        """What asks for margins, as it is written in a call of predict; empty if nothing does."""
        return self.margin_type or (self.margin_flag and f"{self.margin_flag}=True")

    @property
    def estimators(self) -> dict[str, str]:
        """The names of its estimators, and the role of each."""
        return {f"{self.prefix}{role}": role for role in ("Regressor", "Classifier")}


XGBOOST = Named(
    name="xgboost", package="xgboost", alias="xgb", title="XGBoost", floor="2.1",
    prefix="XGB", margin_flag="output_margin", endings=(".json", ".ubj"),
    rendering="metric.xgboost as custom_metric= or eval_metric=",
    takes_start=True, no_default="disable_default_eval_metric=True", classifier_reads=(2,),
    adds_start="give the rows to predict a base_margin too",
    classifier_misreads="would take the logistic function or softmax of a margin for the "
    "probability of",
)  # fmt: skip
LIGHTGBM = Named(
    name="lightgbm", package="lightgbm", alias="lgb", title="LightGBM", floor="4.2",
    prefix="LGBM", margin_flag="raw_score", endings=(".txt",),
    rendering="metric.lightgbm as feval= or eval_metric=", wants_triple=True,
    leaf_rows="min_child_samples", no_default='metric="None"',
    adds_start="add it to predict(X, raw_score=True)",
    classifier_misreads="returns raw scores as probabilities under a custom objective such as",
    cannot_train_alone="train a different model: train on one machine, with XGBoost, or on Dask "
    "within lightgbm() of gbdt_objectives.experimental.dask, passing its objective and callbacks",
    cannot_stop_alone="stop in another round: measure on one machine, or with XGBoost",
)  # fmt: skip

CATBOOST = Named(
    name="catboost", package="catboost", alias="cb", title="CatBoost", floor="1.2.8",
    prefix="CatBoost", margin_type="prediction_type='RawFormulaVal'",
    cannot_serve="its trees are not read here, but its own file predicts the same without this "
    "package: model.save_model(path), of each member of a classifier",
)  # fmt: skip
SKLEARN = Named(
    name="sklearn", package="sklearn.ensemble._hist_gradient_boosting", alias="sk",
    title="HistGradientBoosting", floor="1.2", prefix="HistGradientBoosting",
    leaf_rows="min_samples_leaf",
    cannot_serve="its trees are not read here: pickle the estimator, or, to predict without this "
    "package, scikit-learn's own estimator that its to_sklearn() returns",
)  # fmt: skip

BY_NAME = {row.name: row for row in (XGBOOST, LIGHTGBM)}
"""The libraries that call us by themselves, and whose models we read as data."""
NAMES = tuple(BY_NAME)
LIBRARY_OF = {ending: row.name for row in BY_NAME.values() for ending in row.endings}
"""Which library wrote a model in a file, by the ending of its name."""
EVERY = {**BY_NAME, **{row.name: row for row in (CATBOOST, SKLEARN)}}
"""All libraries whose estimators we know."""
KINDS = {kind: row for row in EVERY.values() for kind in row.estimators}
"""The libraries' estimators, and whose they are."""
ESTIMATORS = {kind: row.name for kind, row in KINDS.items() if row.name in BY_NAME}
"""Those whose models we read as data."""


def load(module: str) -> Any:
    """The module of this name."""
    return import_module(module)


@cache
def library(name: str) -> OpenLibrary:
    """:func:`any_library` of one of NAMES."""
    return cast("OpenLibrary", any_library(name))


@cache
def any_library(name: str) -> Library:
    """The value of a library of EVERY; raises ImportError if it is missing or too old."""
    home = EVERY[name].home or f"gbdt_objectives.adapters.{name}.estimators"
    found: Library = import_module(home).LIBRARY
    return found


def register(row: Named) -> None:
    """Add a library whose adapter stands outside of this package, in the module ``row.home``."""
    EVERY[row.name] = row
    KINDS.update(dict.fromkeys(row.estimators, row))
    row_of.cache_clear()
    name_of_kind.cache_clear()
    any_library.cache_clear()


def name_of(thing: Any) -> str | None:
    """Which of NAMES a booster or estimator is of, also of a subclass; None of anything else."""
    kind: Any = type(thing)
    row = row_of(kind)
    return row.name if row is not None and row.name in BY_NAME else None


@cache
def row_of(kind: type) -> Named | None:
    """The library of a class, also of a subclass of one of its classes; None if it has none."""
    found = (row for row in EVERY.values() if any(_is_in(row, base) for base in kind.__mro__))
    return next(found, None)


def _is_in(row: Named, kind: type) -> bool:
    return f"{kind.__module__}.".startswith(f"{row.package}.")


def library_of(thing: object) -> OpenLibrary | None:
    """The library of NAMES of a booster or estimator, also of a subclass; None otherwise."""
    name = name_of(thing)
    return None if name is None else library(name)


def library_of_model(model: object) -> Library | None:
    """The library, any of EVERY, of a model, also of a subclass; None of anything else."""
    kind: Any = type(model)
    row = row_of(kind)
    return None if row is None else any_library(row.name)


def kind_of(estimator: Any) -> str | None:
    """ "LGBMRegressor" and the like, also of a subclass; None if it is no booster's estimator."""
    kind: Any = type(estimator)
    return name_of_kind(kind)


@cache
def name_of_kind(kind: Any) -> str | None:
    for base in kind.__mro__:
        row = KINDS.get(base.__name__)
        if row is not None and _is_in(row, base):
            return str(base.__name__)
    return None


def library_in_role(estimator: object, role: str) -> Library | None:
    """The library of a booster's estimator with this role, also of a subclass, else None."""
    kind: Any = type(estimator)
    name = name_of_kind(kind)
    return None if name is None or not name.endswith(role) else any_library(KINDS[name].name)


class Exported:
    """Mixin of fitted models that a folder can serve without this package."""

    def export(
        self, folder: str | PathLike[str], X: Any = None, *, thresholds: Any = None,
        shift: Any = None, calibrator: Any = None, check_rows: int = 100, overwrite: bool = False,
    ) -> None:  # fmt: skip
        """Write a folder that serves the model without this package.

        Parameters, and what the folder holds, are those of ``gbdt_objectives.serving.export``;
        ``gbdt_objectives.serving.load`` reads it back.
        """
        load("gbdt_objectives.serving").export(
            self, folder, X, thresholds=thresholds, shift=shift, calibrator=calibrator,
            check_rows=check_rows, overwrite=overwrite,
        )  # fmt: skip


FLOORS = {row.name: row.floor for row in (*BY_NAME.values(), CATBOOST)}

_accepted: dict[str, ModuleType] = {}  # the libraries that check_loaded() has seen


def check_installed(library: str) -> None:
    """Raise ImportError if ``library`` is missing or older than its floor."""
    try:
        module = load(library)
    except ImportError as error:
        if error.name != library:
            raise  # it is there, and lacks something itself
        raise ImportError(
            f"{library} is not installed: pip install 'gbdt_objectives[{library}]' or {library}",
            name=library,
        ) from error
    _check_version(library, module)


def check_loaded() -> None:
    """Raise ImportError if a booster is loaded that is too old; objectives ask in every round."""
    for library in FLOORS:
        module = sys.modules.get(library)
        if module is not None and _accepted.get(library) is not module:
            _check_version(library, module)
            if hasattr(module, "__version__"):  # else it is being imported
                _accepted[library] = module


def _check_version(library: str, module: ModuleType) -> None:
    found, floor = getattr(module, "__version__", None), FLOORS[library]
    if isinstance(found, str) and _version_key(found) < _version_key(floor):
        raise ImportError(
            f"{library} {found} is installed, but gbdt_objectives needs {floor} or newer: "
            f"pip install --upgrade 'gbdt_objectives[{library}]'",
            name=library,
        )


def _version_key(version: str) -> tuple[list[int], bool]:
    """A key that sorts 2.9 < 2.10rc1, 2.10-dev < 2.10 = 2.10.0+cuda = 2.10.0.post1 < 2.10.1."""
    parts = re.match(r"\d+(?:\.\d+)*", version)
    if parts is None:  # it counts as new
        return [sys.maxsize], True
    numbers = [int(part) for part in parts[0].split(".")]
    final = re.match(r"[-_.]?(a|b|c|rc|pre|dev)", version[parts.end() :], re.IGNORECASE) is None
    return numbers + [0] * (4 - len(numbers)), final
