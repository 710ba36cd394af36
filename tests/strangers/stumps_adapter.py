"""A booster that the package does not know, ``stumps.py``: what its folder of ``adapters`` holds.

``register(STUMPS)`` stands for a row of ``EVERY`` in ``gbdt_objectives/_registry.py``.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from gbdt_objectives._links import IDENTITY
from gbdt_objectives._registry import Named
from gbdt_objectives.adapters import _arguments, _estimators
from gbdt_objectives.adapters._models import CannotTrain, Library
from gbdt_objectives.adapters._train import StartedObjective
from tests.strangers import stumps

STUMPS = Named(
    name="stumps", package=stumps.__name__, alias="stumps", title="Stumps", floor="0",
    prefix="Stumps", margin_flag="raw_score", home=__name__,
    cannot_serve="its trees are not read here: pickle the estimator",
)  # fmt: skip


class Fitting(_estimators.Fitting):
    """One fit: what is refused, where boosting starts, and what the model is afterwards."""

    library = STUMPS
    model = stumps.StumpsRegressor
    fitted = "objective_"
    row_starts = "", ""  # it takes none

    encodes = staticmethod(lambda objective: objective.n_classes is not None)

    @classmethod
    def reads(cls, fitted: Any) -> bool:
        return fitted is not None and cls.encodes(fitted)

    def check(self) -> None:
        if self.objective is not None and self.objective.outputs > 1:
            raise CannotTrain(
                f"{self.objective!r} has {self.objective.outputs} outputs, but Stumps trains one "
                "margin for each row: use XGBoost or LightGBM"
            )

    def start(self, objective: Any, y: Any, w: Any) -> StartedObjective:
        measured = objective.measured_on(objective._read_labels(y, w))
        self.parameters["start"] = StartedObjective.margin_of(measured)
        return StartedObjective(measured, self.parameters["start"], self.training)

    def hand_over(self, started: StartedObjective) -> None:
        super().hand_over(started)
        link = started.objective.link
        self.parameters["transform"] = link.inverse if link.is_transformed else None

    @contextmanager
    def around(self) -> Iterator[None]:
        yield
        if self.classes is not None:
            self.estimator.classes_ = self.classes

    def complete(self, objective: Any, intercept: Any) -> None:
        """The start is in the model already."""


@_estimators.drop_in(Fitting)
class StumpsRegressor(stumps.StumpsRegressor):
    """``stumps.StumpsRegressor`` for objectives of this package."""


@_estimators.drop_in(Fitting)
class StumpsClassifier(stumps.StumpsClassifier):
    """``stumps.StumpsClassifier`` for objectives of this package."""


KINDS = {kind.__name__: kind for kind in (StumpsRegressor, StumpsClassifier)}


def margins_of(model: Any) -> tuple[str, Any]:
    objective = getattr(model, "objective_", None)
    return ("squared_error", IDENTITY) if objective is None else (repr(objective), objective.link)


def check_stopping(estimator: Any) -> None:
    raise ValueError("Stumps trains all rounds: leave early_stopping_rounds out")


def shift_intercept(model: Any, delta: Any, mark: str = "") -> Any:
    moved = type(model)(**model.get_params())
    start = model.start_ + _arguments.read_shift(delta, 1)[0]
    vars(moved).update(vars(model), start_=start, mark_=mark)
    return moved


LIBRARY = Library(
    **vars(STUMPS), kinds=KINDS, fitting=Fitting, aliases={},
    defaults={"Regressor": (None,), "Classifier": (None,)}, knows_objective=lambda name: False,
    takes={}, correctable=(), own_stopping=(), check_stopping=check_stopping,
    small={"max_depth": 2},
    own_class=lambda estimator: KINDS[type(estimator).__name__](**estimator.get_params()),
    count_rounds=lambda estimator: len(estimator.trees_),
    margins_of=margins_of, shift_intercept=shift_intercept,
    mark_of=lambda model: getattr(model, "mark_", None),
)  # fmt: skip
