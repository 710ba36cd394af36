"""The shift that a model's log-odds need, inferred from a sample of its population.

Each is made in its own folder, ``library.py``; ``_registry.library(name)`` finds it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any
from weakref import WeakKeyDictionary

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import expit
from sklearn.utils.validation import check_is_fitted

from gbdt_objectives import _checks
from gbdt_objectives._checks import Array
from gbdt_objectives._links import LOGIT
from gbdt_objectives._registry import Named, library_in_role
from gbdt_objectives._rows.rows import dot
from gbdt_objectives.calibration.calibrators import InterceptCalibrator
from gbdt_objectives.calibration.rows import LabelledRows
from gbdt_objectives.priors import LogOddsShift

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

    from gbdt_objectives._checks import Array
    from gbdt_objectives._links import Link
    from gbdt_objectives.adapters._arguments import Request
    from gbdt_objectives.adapters._estimators import Fitting
    from gbdt_objectives.metrics import Metric
    from gbdt_objectives.objectives import Objective


SPELLING = "write imbalance_shift(model, X, y), or imbalance_shift(booster, y=training_labels)"


def check_training_labels(y: ArrayLike | None, **of_sample: ArrayLike | None) -> None:
    """Raise for arguments that are meant as a sample, but have no features."""
    for name, given in of_sample.items():
        if given is not None:
            raise ValueError(f"{name} is for a sample, but X is missing: {SPELLING}")
    if y is None:
        return
    if hasattr(y, "get_label") or np.ndim(y) == 2:
        raise TypeError(f"y must be labels, (n,), found {_checks.shown(y)}: {SPELLING}")
    _checks.binary_labels("y", _checks.vector("y", y))


def check_sample(X: Any, y: ArrayLike | None) -> None:
    """Raise unless there are labels, and X is not swapped with them."""
    if _checks.is_column_of_numbers(X):
        raise TypeError(f"X must be features, (n, features), found {_checks.shown(X)}: {SPELLING}")
    if y is None:
        raise ValueError(f"X is given without y, the labels of its rows: {SPELLING}")


def infer_of_classifier(
    model: Any, X: Any, y: ArrayLike | None, w: ArrayLike | None, counts: ArrayLike | None
) -> LogOddsShift:
    """The shift of any fitted classifier of two classes."""
    if X is None:
        kind = type(model)
        own = (
            "from an estimator take get_booster() or booster_, whose parameters say nothing of "
            "class_weight and sample_weight; or "
        ) * (hasattr(kind, "get_booster") or hasattr(kind, "booster_"))
        raise TypeError(
            f"booster must be a Booster if X is missing, found {kind.__name__}: {own}pass a "
            "sample of the population, imbalance_shift(model, X, y)"
        )
    check_sample(X, y)
    check_is_fitted(model)
    classes = np.asarray(model.classes_)
    if len(classes) != 2:
        raise ValueError(
            f"the model has the classes {_checks.shown(classes.tolist())}: only two have one shift"
        )
    p = predict_probability(model, X)
    with np.errstate(divide="ignore"):
        z = np.log(p[:, 1]) - np.log(p[:, 0])
    return infer_shift(_checks.positions("y", np.asarray(y), classes), z, w, counts)


def infer_shift(
    y: ArrayLike | None, z: Array, sample_weight: ArrayLike | None, counts: ArrayLike | None
) -> LogOddsShift:
    """d with sum w sigmoid(z + d) = sum w y, z log-odds (n,)."""
    assert y is not None
    labels = _checks.vector("y", y).astype(np.float64)
    _checks.binary_labels("y", labels)
    rows = LabelledRows.weighed(labels, z, sample_weight, "X", counts)
    share = dot(rows.weight, rows.y) / rows.weight.sum()
    if not 0 < share < 1:
        raise ValueError(
            f"y has rows of one class only, {share:g} of the weight positive: pass a sample of the "
            "population with rows of both"
        )
    d = InterceptCalibrator._find_shift(rows.y, rows.p, rows.weight)
    p = expit(rows.p + d)
    variance = dot(rows.weight * rows.w, (rows.y - p) ** 2)
    return LogOddsShift(d, float(np.divide(np.sqrt(variance), dot(rows.weight, p * (1 - p)))))


def predict_probability(model: Any, X: Any) -> Array:
    """(n, K) in float64; from the margin where a float32 probability would round to 1."""
    library, objective = library_in_role(model, "Classifier"), getattr(model, "objective", None)
    X = X if library is None else library.fitting.by_name(model, X)
    link = LOGIT if objective == "binary:logistic" else getattr(objective, "link", None)
    if library is not None and link is not None and LOGIT.name == link.name:
        margin = _checks.vector("margin", library.fitting.margin(model, X=X))
        return link.class_probability(margin.astype(np.float64))
    p = np.asarray(model.predict_proba(X), np.float64)
    name = f"predict_proba of {type(model).__name__}"
    if objective is not None:
        name += f" with objective={objective!r}"
    if p.ndim != 2:
        raise ValueError(f"{name} must be (n, K), a column per class, found shape {p.shape}")
    return _checks.probabilities(name, p)


Child = tuple[int, bool]  # the place of a node, or of a leaf where the second is True


@dataclass(eq=False)
class Trees:
    """Margins are ``base`` and the sums of leaves, (n, K). All numbers are exact in float64."""

    # the tests of a node, by the operator's numbers: x <= value, x < value, x in a set
    LEQ, LT, MEMBER = 0, 1, 6

    base: Array
    is_float32: bool  # whether the booster compares features as float32
    roots: list[int] = field(default_factory=list)
    features: list[int] = field(default_factory=list)
    modes: list[int] = field(default_factory=list)
    values: list[float] = field(default_factory=list)
    sets: list[list[float]] = field(default_factory=list)
    missing_is_true: list[bool] = field(default_factory=list)
    children: list[tuple[Child, Child]] = field(default_factory=list)
    targets: list[int] = field(default_factory=list)
    leaves: list[float] = field(default_factory=list)

    def add(self, target: int, nodes: dict[Any, Any], root: Any) -> None:
        """A tree: of each key a leaf's number or (feature, mode, value, missing_is_true, keys)."""
        if isinstance(nodes[root], float):
            self.base[target] += nodes[root]
            return
        inner = [key for key, node in nodes.items() if not isinstance(node, float)]
        places = enumerate(inner, len(self.features))
        found: dict[Any, Child] = {key: (place, False) for place, key in places}
        # leaves below the root come last, so no node has their numbers: ONNX Runtime 1.23 takes a
        # root whose children have one number for a leaf (microsoft/onnxruntime#24679)
        for key, node in sorted(nodes.items(), key=lambda item: item[0] in nodes[root][-1]):
            if isinstance(node, float):
                found[key] = (len(self.leaves), True)
                self.targets.append(target)
                self.leaves.append(node)
        for key in inner:
            feature, mode, value, missing_is_true, (yes, no) = nodes[key]
            self.features.append(feature)
            self.modes.append(mode)
            self.values.append(0.0 if mode == Trees.MEMBER else value)
            if mode == Trees.MEMBER:
                self.sets.append(value)
            self.missing_is_true.append(missing_is_true)
            self.children.append((found[yes], found[no]))
        self.roots.append(found[root][0])


@dataclass(frozen=True, kw_only=True, eq=False)
class Library(Named):
    """A library by its names, functions and tables, and a sentence, ``cannot_...``, for each thing
    that it cannot do. A model is a booster, or an estimator of it."""

    # Estimators, ours and those that ours wrap.
    kinds: Mapping[str, type]  # its drop-in estimators by name
    fitting: type[Fitting]
    aliases: Mapping[str, tuple[str, ...]]  # all names of a parameter that has more than one
    defaults: Mapping[str, tuple[str | None, ...]]
    """What ``objective`` may be, by role, when ours replaces it."""
    knows_objective: Callable[[str], bool]  # whether it has one of this name: it is asked
    classifies: tuple[str, ...] = ()  # what else a classifier's may be, for predictions of classes
    takes: Mapping[str, tuple[float, float]]
    """The least and the greatest label of its objectives that do not take every number."""
    correctable: tuple[str | None, ...]  # a classifier's objectives whose log-odds can be shifted
    functions_are_log_odds: bool = False  # whether it takes margins of a function for log-odds
    own_stopping: tuple[str, ...] = (
        "early_stopping_rounds", "early_stopping_round", "early_stopping", "n_iter_no_change",
    )  # fmt: skip
    """Parameters that give an estimator early stopping on rows that fit is given."""
    zero_rounds_stop: bool = False  # whether early stopping after 0 rounds or fewer is on
    check_stopping: Callable[[Any], None] = lambda estimator: None
    """Raise for an estimator that cannot stop on rows of ours."""
    stops_after: Callable[[int], Mapping[str, Any]] = lambda k: {"early_stopping_rounds": k}
    """Parameters with which an estimator stops after so many rounds without improvement."""
    fixed_rounds: Callable[[int], Mapping[str, Any]] = lambda rounds: {"n_estimators": rounds}
    same_steps: Callable[[Any, Sequence[Any]], Mapping[str, Any]] = lambda estimator, models: {}
    """Parameters that it would choose by the number of rounds, as these models chose them."""
    weigh_held_out: Callable[[Any], Mapping[str, Any]] = lambda w: {}
    """Arguments of fit for the weights of rows held out."""
    own_class: Callable[[Any], Any] = lambda estimator: estimator
    """An estimator as one that takes an objective."""
    quiet_fit: Mapping[str, Any] = field(default_factory=dict)  # arguments to print no rounds
    check_offset: Callable[[Any], None] = lambda estimator: None
    """Raise for an estimator whose parameters do not go with an offset objective."""
    check_start: Callable[[float], None] = lambda log_odds: None
    """Raise if training cannot start at these log-odds."""
    predict_rows: Callable[[Any, Any], Any] = lambda model, X: model.predict(X)
    """What an estimator predicts; perhaps by asking its booster, which is quicker."""
    count_rounds: Callable[[Any], int]  # with which an estimator predicts, after early stopping
    small: Mapping[str, Any]  # parameters of small trees, on one thread, without printing
    stops: Any = ()
    """Its callbacks that stop early; ``data`` names the set that they look at, None the last."""

    # The intercept.
    margins_of: Callable[[Any], tuple[str, Link]]
    """A booster's objective and its margins; undeclared ones where its file cannot tell."""
    shift_intercept: Callable[..., Any]  # (model, shift, mark) -> a marked copy
    mark_of: Callable[[Any], str | None]
    """What corrects the log-odds of a model already, as :func:`_train.corrections` reads it."""


@dataclass(frozen=True, kw_only=True, eq=False)
class TrainingLibrary(Library):
    """A library that trains by a function, ours under the name of its own."""

    data: type  # its class of data sets
    instead: Mapping[str, str]  # other libraries' arguments of train, and what to write
    parses_names: bool = False  # whether it parses the names of evaluation sets out of a report
    stop: Callable[[Metric, int, Mapping[str, Any]], Any]
    """(metric, rounds, parameters) -> a callback of ours that stops after so many rounds."""
    direct: Callable[[Sequence[Any], Metric], list[Any]] = lambda callbacks, metric: [*callbacks]
    """The user's callbacks, with early stopping on the metric."""
    check: Callable[[Request, Mapping[str, Any], Sequence[Any]], None]
    """Raise for parameters that the library would ignore, or that do not fit the callbacks."""
    layout_of: Callable[[Any], dict[str, Any]] = lambda dataset: {"columns": None, "rows": {}}
    """The facts of a data set's layout, where the library matches by position."""
    labels: Callable[[Any, str], Array | None]
    """Labels of a data set of this name, checked; None if they are not in memory."""
    hold: Callable[[Request, Sequence[Any]], AbstractContextManager[list[Any]]] = (
        lambda request, datasets: nullcontext([])
    )
    """Hold the data while the library trains; gives callbacks that it needs for that."""
    place: Callable[..., tuple[Any, dict[str, Any]]]
    """(request, objective, params, data sets) -> the started objective, with its ``shift``, of a
    training on the first data set, and the parameters with which boosting starts there."""
    run: Callable[..., Any]
    """(request, callbacks, started objective, parameters of the start) -> a booster or history."""
    finish: Callable[[Any, Objective, float | Array], Any]
    """A complete model: with what the objective added to each margin."""
    predicts_on: Callable[[Any], Any] = lambda X: X  # what a booster takes for rows of features

    def find_callbacks(self, request: Request, labels: Callable[[int | None], Any]) -> list[Any]:
        """The user's callbacks, and early stopping on the metric; the parameters are checked.
        ``labels`` returns the labels of evals[k], or of the training data (None)."""
        metric, rounds = request.metric, request.early_stopping_rounds
        callbacks = list(request.others.pop("callbacks", None) or ())
        if metric is not None:
            callbacks = self.direct(callbacks, metric)
            if rounds is not None:
                callbacks.append(self.stop(metric, rounds, request.params))
        self.check(request, request.params, callbacks)
        if request.function == "train":
            looks_at = [one.data for one in callbacks if isinstance(one, self.stops)]
            request.training.know(
                sets=request.evals, data=request.data, labels=labels, looks_at=looks_at
            )
        return callbacks


@dataclass(frozen=True, kw_only=True, eq=False)
class OpenLibrary(TrainingLibrary):
    """A library whose boosters call objectives by themselves, and are data that we read."""

    fold_rows: Callable[[Request], Callable[[Any], Array]]  # the rows of the data of cv

    # Calls: what a booster, and whoever calls us, gives away.
    trained_as: Callable[[Any], tuple[str, Link | None]] = lambda booster: ("", None)
    """The library's objective by whose name a booster predicts under ours, and its transform."""
    start_is_told: Callable[[Any], bool] = lambda booster: False  # where to start, by the user
    evaluated_as: Callable[[Mapping[str, Any], Link | None], Link | None]
    """(locals of the frame that evaluates, link that a metric reads) -> the link by which it made
    the predictions; None if they are margins, or what the metric reads."""
    still_has: Callable[[Any, Any, Any], bool] = lambda booster, data, seen: False
    """Whether data have these labels and weights, by their memory; False where in doubt."""
    measured: Callable[[Mapping[str, Any]], Sequence[str]] = lambda seen: ()  # names, so far
    read_call: Callable[[Mapping[str, Any], Mapping[str, Any], str], dict[str, Any]]
    """(locals of train or cv, of a fit above, the booster's objective) -> facts of a training."""
    note: Callable[[tuple[str, bool, str | None], float, Any], None] = lambda *given: None
    """Let early stopping know what a metric of ours said, if it does not itself."""

    # What parameters did to the intercept.
    read_odds: Callable[[Any, ArrayLike | None], float]
    """The factor by which a booster's parameters multiplied the odds of label 1."""
    predict_log_odds: Callable[[Any, Any, ArrayLike | None], Array]

    # A trained model as data.
    tolerance: float  # how near a served prediction is
    refuses_new: bool  # whether it raises for a category that training did not have
    misreads_newer: bool  # whether it reads files of later versions, and predicts something else
    reader: Callable[[Any], dict[str, Any]]
    """How a served model reads the file: its library, and what it must be told."""
    link_of: Callable[[Any], Link]
    """What the margins of the file are; raises for a transform that no link names."""
    count_outputs: Callable[[Any], int]
    count_features: Callable[[Any], int]
    names_of: Callable[[Any], list[str] | None]  # of the features
    same_names: Callable[[list[str], list[str]], bool]  # of the model, and of columns
    categories_of: Callable[[Any, list[list[Any] | None]], list[list[Any] | None]]
    """The categories of each feature in the model's order; the second argument are those of X."""
    margin: Callable[[Any, Any], Array]  # from the rounds that the model predicts with, float64
    write: Callable[[Any, str], object]  # the rounds that it predicts with, into a file
    write_all: Callable[[Any, str], object]  # all rounds
    open_booster: Callable[[str], Any]
    restore: Callable[..., Any]
    """(kind, path, parameters, classes, objective, names) -> an estimator around a file's model."""
    trees: Callable[[Any], Trees]  # of a booster, as arrays
    leaves: Callable[[Any, Any], Array]  # (model, X) -> the leaf of each row in each tree


PLAIN = {np.dtype(np.float64), np.dtype(np.float32)}


def is_plain_table(X: Any) -> bool:
    """Whether an estimator would pass these rows on to its booster as they are."""
    return type(X) is np.ndarray and X.ndim == 2 and X.dtype in PLAIN and len(X) > 0


def predicts_by(model: Any, own: Mapping[type, Any]) -> bool:
    """Whether an estimator is of one of these classes, which still have these ``predict``; one of
    the user's may change what the method reads."""
    kind = type(model)
    return kind in own and kind.predict is own[kind] and "predict" not in vars(model)


class CannotTrain(ValueError):
    """An objective that a library cannot train, with the reason and the remedy."""


_known: WeakKeyDictionary[Any, str] = WeakKeyDictionary()


def read_once(read: Callable[[Any], str], booster: Any) -> str:
    """What a booster says of its objective, which does not change while it trains."""
    if booster not in _known:
        _known[booster] = read(booster)
    return _known[booster]
