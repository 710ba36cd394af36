"""Training: where boosting starts, and the steps of train and cv that all libraries share."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, MutableMapping, Sequence
from dataclasses import dataclass
from typing import Any
from weakref import WeakKeyDictionary

import numpy as np
from numpy.typing import ArrayLike

from gbdt_objectives import _checks
from gbdt_objectives._checks import Array, Stack, Training, to_host, warn
from gbdt_objectives._checks.arrays import Seen
from gbdt_objectives._checks.tables import listed
from gbdt_objectives._registry import BY_NAME
from gbdt_objectives._rows import workers as _workers
from gbdt_objectives._rows.rows import Rows
from gbdt_objectives.adapters._arguments import Request
from gbdt_objectives.adapters._models import Library, OpenLibrary, TrainingLibrary
from gbdt_objectives.objectives.base import BoundObjective, Objective

MARK = "corrects_sampling"  # where a model says what corrects its log-odds
MEASURED = 1.25  # the most by which a rate that was measured may differ from the one meant


def corrected_rate(objective: object) -> float | None:
    """The rate of kept negatives for which an objective corrects, nan for one of each row."""
    loss = getattr(objective, "equations", None)
    kept = getattr(loss, "keep_rate", None)
    if loss is None or kept is None:
        return None
    rate: float = math.nan if loss.named else kept(None)
    return None if rate == 1 else rate


def corrections(model: Any, library: Library) -> list[str]:
    """What corrects log-odds of a fitted model: rates at which classes were kept, for one row of
    the first, by its objective or a shift; after "*" what a shift multiplied their odds by."""
    if mark := library.mark_of(model):
        return mark.split(",")
    rate = corrected_rate(getattr(model, library.fitting.fitted, None))
    return [] if rate is None else [f"{rate:.6g}"]


def is_allowed_for(shift: Any, model: Any, library: Library | None, own_shift: Any) -> bool:
    """Whether the log-odds of a fitted model have a shift in them, or its estimator's own."""
    if own_shift is not None:
        return is_repeated(shift, mark_of_shift(own_shift))
    return library is not None and any(is_repeated(shift, m) for m in corrections(model, library))


def mark_of_shift(shift: Any) -> str:
    d = np.append(0.0, shift)[-max(2, np.size(shift)) :]
    return ":".join(f"{odds:.6g}" for odds in np.exp(d[1:] - d[0]).tolist())


def is_repeated(shift: Any, correction: str) -> bool:
    """Whether a shift does what was done: what was done by a rate may have been measured."""
    ours, own = (
        np.log(np.array(text.lstrip("*").split(":"), float))
        for text in (mark_of_shift(shift), correction)
    )
    near = 1e-5 if correction[0] == "*" else math.log(MEASURED) * min(1, np.abs(own).max())
    return ours.shape == own.shape and bool(np.abs(ours - own).max() < near)


def starts_of_sets(name: str, starts: Mapping[str, Array | None]) -> dict[str, Any]:
    """The facts of a plain call's starts of rows, of the training set first; None: it has none."""
    own = next(iter(starts.values()))
    has = {its: one is not None for its, one in starts.items()}
    facts: dict[str, Any] = {"row_start": name, "sets_with_start": has}
    if own is not None and len(own) and len(set(ends_of(own))) == 1:
        facts["lost_start"] = own[0]
    return facts


def ends_of(starts: Array) -> tuple[float, float]:
    """The ends of the starts of all workers' rows; of several outputs, above the first row's."""
    starts = starts - starts[:1] if starts.ndim > 1 else starts
    ends = (float(starts.min()), float(starts.max())) if len(starts) else (np.inf, -np.inf)
    everybodys = _workers.all_gather(ends)
    return float(everybodys[:, 0].min()), float(everybodys[:, 1].max())


class StartedObjective:
    """The objective of one training, bound to its data and measured in the first round.

    The first margins must be ``start`` (None when continuing an earlier model): a lost start raises
    instead of training a different model. ``shifts``: whether the intercept is added to every
    margin, as ``shift``, for a booster that starts at 0 and gets the intercept after training.
    ``given`` names the user's argument that says where to start. ``training`` is what is known of
    the training so far. ``lacks`` is what the booster's trees lack of its margins: the shift, or
    where the library was told to start each row. ``anew`` is what to bind again where a callback
    has changed labels or weights, as a plain call does; None if none can.
    """

    def __init__(
        self, objective: Objective, start: float | Array | None, training: Training, *,
        shifts: bool = False, given: str = "", lacks: float | Array = 0.0,
    ) -> None:  # fmt: skip
        self.objective, self.start, self.given = objective, start, given
        self.training, self.shifts, self.lacks = training, shifts, lacks
        self.shift: float | Array = 0.0
        self.anew: Objective | None = None
        self._bound: BoundObjective | None = None
        self._calls = 0

    def __call__(
        self, a: Any, b: Any, sample_weight: ArrayLike | None = None
    ) -> tuple[Array, Array]:
        native = hasattr(b, "get_label")
        margin = a if native else b
        self._calls += 1
        with _workers.together(self.objective, self._calls):
            known, again = self._bound, self.anew
            if known is not None and again is None:
                return known(margin)
            y, w = _checks.label_weight(b) if native else (a, sample_weight)
            if known is not None and again is not None:
                return (known if known.is_of(y, w) else self._bind(again, y, w))(margin)
            training = self.training.part(
                name=self.objective.equations.name, engine=_workers.engine(),
                start_by=self.given or None,
                alone=None if _workers.workers() else Stack.here().free_network(),
            )  # fmt: skip
            self._check_start(np.asarray(to_host(margin)))
            if self.shifts:
                self.objective = self.objective.measured(y, w)
                self.shift = self.lacks = StartedObjective.margin_of(self.objective)
            bound = self._bind(self.objective, y, w)
            found = bound(margin)
            Objective._begin(training, self.objective.equations, bound.rows, margin, found[0])
            return found

    def _bind(self, objective: Objective, y: Any, w: Any) -> BoundObjective:
        bound = self._bound = objective.bind(y, w, start=self.shift)
        if self.anew is not None:
            bound.seen = Seen.of(y, w)
        self.objective = bound.objective
        return bound

    def of(self, data: Any) -> StartedObjective:
        """The started objective of a data set: a cross-validation has one for each fold."""
        return self

    def __deepcopy__(self, memo: dict[int, Any]) -> StartedObjective:
        return self  # LightGBM deep-copies its parameters; what this measures is read afterwards

    def _check_start(self, margin: Array) -> None:
        if self.start is None or margin.size == 0:  # a worker may have no rows
            return
        self.objective._check_margin_shape(margin)
        expected = np.broadcast_to(np.asarray(self.start, np.float64), margin.shape)
        # in float32, or as a logistic base_score, it is good to 4e-4 of log-odds
        wrong = np.abs(margin - expected) > 1e-3 * (1 + np.abs(expected))
        if wrong.any():
            row = int(np.argwhere(wrong)[0][0])
            found, should = (_checks.shown(a[row].tolist()) for a in (margin, expected))
            raise lost_start(
                f"boosting starts at a margin of {found} in row {row} instead of {should}"
            )

    @staticmethod
    def margin_of(objective: Objective) -> float | Array:
        """Margin at which boosting starts: the objective's intercept, (K,) for K outputs, or 0."""
        intercept = objective.intercept or 0.0
        return np.array(intercept) if isinstance(intercept, tuple) else intercept

    @staticmethod
    def rows_of(objective: Objective, rows: int) -> Array:
        """Margin at which boosting starts in each row, (n,) or (n, K)."""
        start = StartedObjective.margin_of(objective)
        return np.full(rows if objective.outputs == 1 else (rows, objective.outputs), start)

    @staticmethod
    def read_starts(
        name: str, values: Any, outputs: int, rows: int | None = None, order: Any = "C"
    ) -> Array:
        """The start of each row, (n,) or (n, K), from what may be flat, in this order."""
        if outputs == 1:
            starts = _checks.vector(name, values)
            _checks.same_length(name, starts, "the labels", len(starts) if rows is None else rows)
            return starts
        given = _checks.real_array(name, values)
        _checks.finite(name, given.ravel())
        n = given.size // outputs if rows is None else rows
        if given.size != n * outputs or (given.ndim > 1 and given.shape[1] != outputs):
            raise ValueError(
                f"{name} must have shape ({'n' if rows is None else n}, {outputs}), a start for "
                f"each output of the objective, found {given.shape}"
            )
        return given.reshape((n, outputs), order=order)


def lost_start(found: str) -> RuntimeError:
    return RuntimeError(
        f"{found}: the start was lost. LightGBM drops the init_score of a subset that it builds, "
        "or rebuilds when params differ from the Dataset's: set it on the whole Dataset, and give "
        "both the same params. Do not train with init_model on this Dataset at the same time"
    )


def shift_metric(
    rendered: Callable[..., Any], shift: Callable[[Any], float | Array]
) -> Callable[..., Any]:
    """A rendered metric that sees a booster's margins plus what the objective adds to them."""

    def measure(margin: Array, data: Any, sample_weight: None = None) -> Any:
        return rendered(margin + shift(data) if len(margin) else margin, data)  # flat without rows

    return measure


def train(library: TrainingLibrary, request: Request) -> Any:
    datasets = request.check(library, library.data)
    params, objective, evals = request.params, request.objective, request.evals
    with library.hold(request, list(datasets.values())) as own:
        with _workers.together(objective):
            y, *ys = [library.labels(dataset, name) for name, dataset in datasets.items()]
            callbacks = library.find_callbacks(request, lambda k: y if k is None else ys[k])
            started, start = library.place(request, objective, params, datasets)
            started.anew = objective if may_change_data(callbacks) else None
            _workers.agree()
        stop = request.metric, [name for _, name in evals], request.early_stopping_rounds
        with _workers.together((*stop, request.num_boost_round)):
            _workers.agree()
        booster = library.run(request, [*own, *callbacks], started, start)
    return library.finish(booster, objective, started.shift)


def may_change_data(callbacks: Sequence[Any]) -> bool:
    """Whether one of them is of the user's: those of the libraries leave the data alone."""
    known = (*BY_NAME, "gbdt_objectives")
    return any(type(one).__module__.partition(".")[0] not in known for one in callbacks)


def cv(library: OpenLibrary, request: Request) -> Any:
    request.check(library, library.data)
    if isinstance(folds := request.others.get("folds"), Iterable) and not hasattr(folds, "split"):
        request.others["folds"] = listed("folds", folds)
    with library.hold(request, [request.data]) as own:
        library.labels(request.data, "data")
        callbacks = library.find_callbacks(request, lambda k: None)
        folds = StartedFolds(library, request, callbacks)
        history = library.run(request, [*own, *callbacks], folds, {})
    if "cvbooster" in history:
        trained = history["cvbooster"]
        trained.boosters = [
            library.finish(booster, request.objective, fold.shift)
            for booster, fold in zip(trained.boosters, folds.folds, strict=True)
        ]
    return history


class StartedFolds:
    """The objectives of a cross-validation by fold; ``start``, its fpreproc, calls the user's."""

    def __init__(self, library: OpenLibrary, request: Request, callbacks: Sequence[Any]) -> None:
        self._of: MutableMapping[Any, StartedObjective] = WeakKeyDictionary()
        self._library, self._request, self._callbacks = library, request, callbacks
        self._own = request.others.pop("fpreproc", None)
        if request.objective.rows is not None:
            self._rows = library.fold_rows(request)
        request.others["fpreproc"] = self.start
        self.folds: list[StartedObjective] = []

    def start(self, train: Any, test: Any, params: dict[str, Any]) -> Any:
        """Data and parameters of a fold."""
        objective, given = self._request.objective, params
        of_fold = objective if objective.rows is None else objective.take(self._rows(train))
        if self._own is not None:
            fold = train
            train, test, given = self._own(train, test, dict(params))
            changed = {name: v for name, v in given.items() if params.get(name) is not v}
            self._library.check(self._request, changed, self._callbacks)
            if objective.rows is not None and train is not fold:
                raise ValueError(
                    f"fpreproc returned other training data than it got, but {objective!r} "
                    "is for rows in their order: change the data before cv()"
                )
        datasets = {"train": train, "test": test}
        started, start = self._library.place(self._request, of_fold, given, datasets)
        started.anew = of_fold if may_change_data(self._callbacks) else None
        self.folds.append(started)
        self._of[train] = self._of[test] = started
        return train, test, {**given, **start}

    def __call__(self, margin: Array, data: Any) -> tuple[Array, Array]:
        return self._of[data](margin, data)

    def __deepcopy__(self, memo: dict[int, Any]) -> StartedFolds:
        return self

    def of(self, data: Any) -> StartedObjective:
        return self._of[data]


def warn_if_few(best_round: int, seen: int, name: str) -> None:
    """Warn if the best of many rounds, from 0, is among the first few: mostly on a plateau."""
    if best_round < 3 <= seen // 3:
        warn(
            f"early stopping keeps {best_round + 1} of {seen} rounds: {name} was best there. If "
            "the model is not finished, stop on a metric that changes in every round, such as "
            "loss_metric(objective), or lower the learning rate"
        )


@dataclass(frozen=True, eq=False)
class RowsOfParts(Rows):
    """Labels that lie in parts; ``run(function)`` is the vector ``function(rows)`` of each part."""

    y: Any = None
    run: Callable[[Callable[[Rows], Any]], Sequence[Any]] | None = None

    def sum(self, terms: Any, *, narrow: bool = False) -> Array:
        return np.asarray(self.parts(lambda rows: rows.own_sum(terms, narrow=narrow)).sum(axis=0))

    def parts(self, statistics: Callable[[Rows], Any]) -> Array:
        assert self.run is not None
        return np.asarray(self.run(statistics), np.float64)
