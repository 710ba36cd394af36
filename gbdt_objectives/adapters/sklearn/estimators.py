"""scikit-learn's HistGradientBoosting, with objectives and metrics of this package, and as a
value."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from inspect import Parameter, signature
from typing import Any

import numpy as np
import sklearn
from numpy.typing import ArrayLike
from sklearn import ensemble
from sklearn.utils.validation import check_is_fitted

from gbdt_objectives._checks import Array, Earlier, Member
from gbdt_objectives._public import public
from gbdt_objectives._registry import SKLEARN
from gbdt_objectives.adapters import _arguments, _estimators
from gbdt_objectives.adapters._arguments import CLASSIFIER, QWK, REGRESSOR, documented, words_of
from gbdt_objectives.adapters._models import CannotTrain, Library
from gbdt_objectives.adapters._train import MARK, StartedObjective, warn_if_few
from gbdt_objectives.objectives import Objective

LOSSES = {"Regressor": "squared_error", "Classifier": "log_loss"}  # which ours replace
LINKS = {"log_loss": ("logit", "softmax"), "poisson": ("log",), "gamma": ("log",)}
"""The links of a loss's margins; of all other losses the identity."""

OWN = ("objective", "eval_metric")  # parameters that scikit-learn's estimators do not have

WORDS = words_of(
    SKLEARN, title="scikit-learn", place="the model", objective="Objective, optional",
    stopping="``early_stopping=True`` or more than 10,000 rows",
    held_out="the rows that ``fit`` splits\noff or gets as ``X_val`` and ``y_val`` (from "
    "scikit-learn 1.7)",
    stops="early_stopping=True", fit="X, y", max="max_iter",
    progress="``verbose=2``\n    prints each round.",
)  # fmt: skip


def bridge() -> Any:
    """The module that uses private names of scikit-learn; raises where there are others."""
    try:
        from gbdt_objectives.adapters.sklearn import _bridge
    except (ImportError, AttributeError) as error:
        raise _other_version(str(error)) from error
    return _bridge


def _other_version(why: str) -> ImportError:
    return ImportError(
        f"scikit-learn {sklearn.__version__} has changed what objectives use of its private names, "
        f"{why}: install one of 1.2 to 1.9, pip install 'scikit-learn<1.10'"
    )


class Fitting(_estimators.Fitting):
    library = SKLEARN
    model = ensemble.HistGradientBoostingRegressor
    fitted = "objective_"
    row_starts = "", ""
    asked_of_rows = "predict", *_estimators.OF_MARGINS
    started: StartedObjective
    loss: Any = None  # as which scikit-learn was given the objective
    best: int | None = None  # the best round

    def __init__(self, estimator: Any, library_fit: Any, *args: Any, **kwargs: Any) -> None:
        held_out = {"X_val", "y_val", "sample_weight_val", "eval_set"}
        for name in held_out & {*kwargs} - {*signature(library_fit).parameters}:
            raise TypeError(
                f"fit() has no argument {name!r} in scikit-learn {sklearn.__version__}: rows held "
                "out are X_val= and y_val= from 1.7 on; early_stopping=True splits off rows itself"
            )
        super().__init__(estimator, library_fit, *args, **kwargs)

    encodes = staticmethod(lambda objective: objective.n_classes is not None)
    reads = staticmethod(lambda fitted: isinstance(fitted, Objective) and Fitting.encodes(fitted))

    @classmethod
    def margin(cls, estimator: Any, **given: Any) -> Any:
        return ensemble.HistGradientBoostingClassifier.decision_function(estimator, given["X"])

    def check(self) -> None:
        estimator, objective, given = self.estimator, self.objective, self.estimator.objective
        if estimator.warm_start and hasattr(estimator, "_loss"):
            self.arrange(vars(estimator).get("_columns"), self.given["X"])
        if given is not None and objective is None:
            raise TypeError(
                f"objective must be an objective such as qwk_objective(), found {given!r}: a "
                "function is objective(function), and a name of scikit-learn's is loss="
            )
        metrics = [one for one in self.metrics if one is not None]
        if len(metrics) > 1 or (metrics and self.metric is None):
            raise TypeError(
                f"eval_metric must be one metric such as extended_qwk_metric(), found "
                f"{estimator.eval_metric!r}: a name or function of scikit-learn's is scoring="
            )
        before = vars(estimator).get(self.fitted)
        if (
            objective is None and estimator.warm_start and before is not None
            and before.link.name not in LINKS.get(estimator.loss, ("identity",))
        ):  # fmt: skip
            raise ValueError(
                f"warm_start=True goes on from a fit of objective={before!r}, whose margins "
                f"loss={estimator.loss!r} would misread: keep objective, or pass warm_start=False"
            )
        if self.is_ours:
            self.check_objective()
            self.check_stopping()
            bridge()

    def check_objective(self) -> None:
        """Raise for what an objective or a metric of ours does not go with."""
        estimator, objective, given = self.estimator, self.objective, self.estimator.objective
        if objective is not None and estimator.loss != LOSSES[self.role]:
            raise ValueError(f"loss={estimator.loss!r} and objective={given!r}: leave one out")
        if objective is not None and objective.outputs > 1 and not self.is_classifier:
            raise CannotTrain(
                f"objective={given!r} has {objective.outputs} outputs, but scikit-learn's "
                "regressor predicts one number for each row: use XGBRegressor or LGBMRegressor"
            )
        score = objective is not None and objective.link.is_of_objective
        if estimator.scoring != "loss" and (self.metric is not None or score):
            raise ValueError(
                f"scoring={estimator.scoring!r} is given, but early stopping looks at eval_metric"
                f"{', and would misread scores' * score}: leave scoring out"
            )

    def check_stopping(self) -> None:
        """Raise unless early stopping is on for a metric, and has the values that it needs."""
        estimator, objective, given = self.estimator, self.objective, self.estimator.objective
        rows = len(self.given["y"])
        stops = rows > 10_000 if estimator.early_stopping == "auto" else estimator.early_stopping
        if self.metric is not None and not stops:
            raise ValueError(
                f"eval_metric={self.metric!r} is measured for early stopping only, which is off "
                f"for early_stopping={estimator.early_stopping!r} and {rows} rows: pass "
                "early_stopping=True, or leave eval_metric out"
            )
        lacks_values = estimator.validation_fraction is not None
        if "X_val" in self.given:
            lacks_values = self.metric is None
        if stops and objective is not None and objective.is_by_row and lacks_values:
            raise ValueError(
                f"early stopping measures {given!r} on rows whose values it does not have: pass "
                "early_stopping=False, or eval_metric=, and X_val and y_val to fit (scikit-learn "
                "1.7 or newer)"
            )

    def evaluation_sets(self) -> dict[str, tuple[Any, Any]]:
        X, y = (self.given.get(name) for name in ("X_val", "y_val"))
        return {} if y is None else {"y_val": (X, y)}

    def find_classes(self, objective: Objective) -> Array:
        classes = super().find_classes(objective)
        weight = ("class_weight", "class_weight", self.estimator.class_weight)
        Member(name=type(self.estimator).__name__, classes=classes.tolist(), parameters=[weight])
        return classes

    def start(self, objective: Objective, y: Array, w: Array | None) -> StartedObjective:
        estimator = self.estimator
        if estimator.warm_start and hasattr(estimator, "_loss"):
            self.training.know(earlier=Earlier(
                "the fit before, from which warm_start=True goes on,",
                estimator.n_trees_per_iteration_, bridge().margins_of(estimator)[1],
            ))  # fmt: skip
        return StartedObjective(objective, None, self.training)

    def hand_over(self, started: StartedObjective) -> None:
        self.started = started

    @contextmanager
    def around(self) -> Iterator[None]:
        """Answer scikit-learn's fit while it runs; a fit that fails leaves the one before."""
        estimator, objective = self.estimator, self.objective
        before = vars(estimator).copy()
        ours = vars(estimator).pop(self.fitted, None) is not None or self.is_ours
        answers: dict[str, Any] = {}
        before |= {"_predictors": [*before["_predictors"]]} if "_predictors" in before else {}
        if self.is_ours:
            answers["_check_early_stopping_loss"] = self.look
        if objective is not None:
            answers["_get_loss"] = self.make_loss
        if self.classes is not None:
            answers |= dict.fromkeys(("_encode_y", "_encode_y_val"), self.encode)
        vars(estimator).update(answers)
        try:
            yield
            self.keep_best()
        except BaseException:  # an interrupt, too, must not leave half a fit
            if ours:
                vars(estimator).clear()
                vars(estimator).update(before)
            raise
        finally:
            for name in answers:
                vars(estimator).pop(name, None)

    def make_loss(self, sample_weight: Array | None) -> Any:
        self.loss = bridge().ObjectiveLoss(self.started, sample_weight is not None)
        return self.loss

    def encode(self, y: Array) -> Array:
        assert self.objective is not None
        self.estimator.classes_ = self.classes
        self.estimator.n_trees_per_iteration_ = self.objective.outputs
        return np.asarray(y, np.float64)

    def look(
        self, raw_predictions: Array, y_train: Array, sample_weight_train: Array | None,
        raw_predictions_val: Array, y_val: Array | None, sample_weight_val: Array | None,
        n_threads: int = 1,
    ) -> bool:  # fmt: skip
        """Measure a round, and say whether it is the last."""
        estimator = self.estimator
        scores: list[float] = estimator.train_score_
        stops = y_val is None  # on the rows that it is trained on
        scores.append(self.score(y_train, raw_predictions, sample_weight_train, stops))
        if y_val is not None:
            scores = estimator.validation_score_
            scores.append(self.score(y_val, raw_predictions_val, sample_weight_val, stops=True))
        self.best, still = best_round(scores, estimator.tol)
        return bool(len(scores) - 1 - max(self.best, still) >= estimator.n_iter_no_change)

    def score(self, y: Array, raw: Array, w: Array | None, stops: bool) -> float:
        """The metric, or without one the mean loss, of which greater is better."""
        if self.metric is None:
            loss: float = self.started.objective.mean_loss(y, bridge().margin_of(raw), w)
            return -loss
        is_ours = self.objective is not None
        f = bridge().margin_of(raw) if is_ours else bridge().predict_of_margins(self.estimator, raw)
        value: float = (self.metric._of_everybody if stops else self.metric.score)(y, f, w)
        return value if self.metric.greater_is_better else -value

    def keep_best(self) -> None:
        """The rounds up to the best one, where training looked for it."""
        estimator = self.estimator
        if self.is_ours and estimator.do_early_stopping_ and estimator.scoring == "loss":
            if self.best is None and not estimator.warm_start:  # which may have no more to train
                raise _other_version("_check_early_stopping_loss is not called")
            kept = estimator.n_iter_ if self.best is None else max(self.best, 1)
            name = "the loss" if self.metric is None else self.metric.name
            warn_if_few(kept - 1, estimator.n_iter_, name)
            bridge().keep_rounds(estimator, kept)
        if self.objective is not None:
            if estimator._loss is not self.loss:
                raise _other_version("_get_loss is not called")
            # scikit-learn's own code predicts, by its loss of the same link
            estimator._loss = bridge().own_loss(self.objective.link, self.objective.outputs)

    def complete(self, objective: Objective, intercept: float | Array) -> None:
        """scikit-learn has put the intercept into the model."""


def best_round(scores: Sequence[float], tol: float) -> tuple[int, int]:
    """The round of the best score, and the last one before the first move: those do not count."""
    best = 0
    for k, score in enumerate(scores):
        best = k if score > scores[best] + tol else best
    return best, next((k for k, score in enumerate(scores) if score != scores[0]), len(scores)) - 1


def extended(kind: type[_estimators.Estimator]) -> type[_estimators.Estimator]:
    """Give a subclass of one of scikit-learn's estimators our parameters and methods."""
    library: Any = kind.__base__
    call = signature(library.__init__)

    def __init__(
        self: Any, *args: Any, objective: Any = None, eval_metric: Any = None, **kwargs: Any
    ) -> None:
        library.__init__(self, *args, **kwargs)
        self.objective, self.eval_metric = objective, eval_metric

    own = [Parameter(name, Parameter.KEYWORD_ONLY, default=None) for name in OWN]
    __init__.__signature__ = call.replace(parameters=[*call.parameters.values(), *own])  # type: ignore[attr-defined]
    kind.__init__ = __init__

    def to_sklearn(self: Any) -> Any:
        """Return scikit-learn's own estimator with the same trees; its pickle does not need ours.

        Raises AttributeError if only the objective can read the margins, link "score".
        """
        check_is_fitted(self)
        Fitting.margins_decide(self)
        plain = library.__new__(library)
        vars(plain).update(vars(self))
        for name in (*OWN, "objective_"):
            vars(plain).pop(name, None)
        return plain

    kind.to_sklearn = to_sklearn
    return _estimators.drop_in(Fitting)(kind)


@public
@extended
@documented(
    REGRESSOR + QWK, WORDS, parameters="eval_metric=extended_qwk_metric(), random_state=0",
    arguments="", own="""
A metric reads the margins of the objective or, without one, the predictions of ``loss``; without a
metric early stopping looks at the loss. ``loss`` stays at its default if there is an objective, and
``scoring`` if there is a metric. A pickle needs this package; ``to_sklearn()`` returns an estimator
whose pickle does not.""",
)  # fmt: skip
class HistGradientBoostingRegressor(ensemble.HistGradientBoostingRegressor):  # type: ignore[misc]
    """scikit-learn's ``HistGradientBoostingRegressor`` with objectives and metrics of ours."""


@public
@extended
@documented(CLASSIFIER, WORDS, parameters="max_leaf_nodes=2", own="""
``class_weight`` is for the positions of classes.""",
)  # fmt: skip
class HistGradientBoostingClassifier(ensemble.HistGradientBoostingClassifier):  # type: ignore[misc]
    """scikit-learn's ``HistGradientBoostingClassifier`` with objectives and metrics of ours."""


KINDS = {name: globals()[name] for name in SKLEARN.estimators}


def own_class(estimator: Any) -> Any:
    """One of scikit-learn's as one of ours; one of ours, or of a subclass, as it is."""
    if hasattr(estimator, "eval_metric"):
        return estimator
    kind = KINDS.get(type(estimator).__name__)
    if kind is None:
        raise TypeError(
            f"estimator is a {type(estimator).__name__}, a subclass of scikit-learn's class that "
            "takes no objective: make it one of the class in gbdt_objectives.adapters.sklearn"
        )
    return kind(**estimator.get_params(deep=False))


def check_stopping(estimator: Any) -> None:
    if "X_val" not in signature(estimator.fit).parameters:
        raise ValueError(
            "early_stopping_rounds needs an estimator that is given the rows held out, which "
            f"{type(estimator).__name__} takes from scikit-learn 1.7 on: leave it out, and pass "
            "early_stopping=True to the estimator, which splits off rows itself"
        )
    if estimator.early_stopping is True:
        raise ValueError(
            "estimator has early_stopping=True, on rows that it splits off itself, and "
            "early_stopping_rounds is given: leave one of the two out"
        )
    if estimator.scoring != "loss":
        raise ValueError(
            f"estimator has scoring={estimator.scoring!r}, but early_stopping_rounds looks at the "
            "loss, or at a metric of gbdt_objectives: leave one of the two out"
        )


def shift_intercept(model: Any, delta: ArrayLike, mark: str = "") -> Any:
    """A copy of a fitted estimator, shifted."""
    check_is_fitted(model)
    _arguments.check_shiftable(*bridge().margins_of(model))
    d = _arguments.read_shift(delta, model.n_trees_per_iteration_)
    moved = bridge().add_to_margins(model, d)
    setattr(moved, MARK, {last_fit(moved): mark})  # another fit leaves it there
    return moved


def last_fit(model: Any) -> str:
    return f"{getattr(model, 'n_iter_', 0)} {getattr(model, '_baseline_prediction', None)}"


LIBRARY = Library(
    **vars(SKLEARN), kinds=KINDS, fitting=Fitting, aliases={"objective": ("loss",)},
    defaults={role: (None, loss) for role, loss in LOSSES.items()},
    takes={"gamma": (1e-300, np.inf), "poisson": (0.0, np.inf)},
    correctable=(None, "log_loss"), knows_objective=lambda name: False,
    small={"max_depth": 2, "min_samples_leaf": 5}, own_stopping=(),
    check_stopping=check_stopping, own_class=own_class,
    stops_after=lambda rounds: {"early_stopping": True, "n_iter_no_change": rounds, "tol": 0.0},
    fixed_rounds=lambda rounds: {"max_iter": rounds, "early_stopping": False},
    weigh_held_out=lambda w: {"sample_weight_val": w},
    count_rounds=lambda estimator: int(estimator.n_iter_),
    margins_of=lambda model: bridge().margins_of(model), shift_intercept=shift_intercept,
    mark_of=lambda model: getattr(model, MARK, {}).get(last_fit(model)),
)  # fmt: skip
