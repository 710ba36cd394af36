"""A Loss holds equations; an Objective, made of a loss, is what boosters call.

Symbols: y labels, f margins, w weights; gradient and hessian are shaped like the margins, (n,) or,
with K outputs, (n, K). A loss sees labels and margins that were checked, never weights, blocks,
devices or workers: :class:`Objective` reads, checks and multiplies, :class:`Rows` adds up.
"""

from __future__ import annotations

import threading
from collections.abc import Mapping
from contextlib import AbstractContextManager, nullcontext
from dataclasses import FrozenInstanceError, dataclass, fields, replace
from typing import Any, get_args
from weakref import WeakKeyDictionary

import numpy as np
from numpy.typing import ArrayLike

from gbdt_objectives import _checks, _registry
from gbdt_objectives._checks import Array, Layout, Stack, Training, to_host
from gbdt_objectives._checks.arrays import SOFT, Domain, Seen
from gbdt_objectives._checks.asked import may_undo, objective_called
from gbdt_objectives._checks.calls import check_classes
from gbdt_objectives._checks.spellings import CATBOOST
from gbdt_objectives._links import Link
from gbdt_objectives._public import TOLD, NoAttribute, each_round, public
from gbdt_objectives._rows import workers as _workers
from gbdt_objectives._rows.rows import (
    HOST,
    Place,
    Rows,
    Shown,
)
from gbdt_objectives.objectives.loss import (
    FLOAT32,
    Both,
    HessianKind,
    Loss,
    Named,
    Start,
    Writer,
    check_labels,
    check_margins,
    margin_shape,
    read_outputs,
    read_start,
    shown_name,
)

OTHER_NAMES = {"hessian_kind": "hessian", "label_domain": "labels"}  # of attributes, in the loss


@public
@dataclass(frozen=True, repr=False)
class Objective(Shown):
    """What boosters train on, made of a loss: the ``obj=`` or ``objective=`` argument.

    An instance is the same for the native and the scikit-learn interface of XGBoost and LightGBM.
    It is frozen, can be pickled, cloned and compared, checks arguments and applies weights.

    Parameters
    ----------
    equations : Loss
        The loss, whose parameters and declarations are attributes here too: see :class:`Loss`,
        where ``hessian_kind`` is ``hessian``, and ``label_domain`` is ``labels``.

    Attributes
    ----------
    intercept : float, tuple of K floats or None
        Where boosting should start, in margin units. None before :meth:`measured`, or without any.
    rows : int or None
        Number of training rows that it is for, if it holds a value of each; None for any.
    is_by_row : bool
        Whether it is for certain rows, whose values it holds or is still to be given.
    n_classes : int or None
        How many classes :meth:`class_probability` has; None if the labels are numbers.
    """

    equations: Loss

    def __post_init__(self) -> None:
        loss = self.equations
        if not isinstance(loss, Loss):
            raise TypeError(
                f"equations must be a Loss, found {_checks.shown(loss)}: make an "
                "instance of your class, or wrap a gradient function, objective(function)"
            )
        name, intercept = loss.name, loss.intercept
        if not isinstance(loss.labels, Domain):
            raise TypeError(
                f"labels of {name} must be a Domain, found {_checks.shown(loss.labels)}: write "
                "REAL, BINARY, Interval(low, high) or Classes(K), from gbdt_objectives.objectives"
            )
        if not isinstance(loss.link, Link):
            raise TypeError(f"link of {name} must be a Link, found {_checks.shown(loss.link)}")
        _checks.choice(f"hessian of {name}", loss.hessian, get_args(HessianKind))
        _checks.whole_number(f"outputs of {name}", loss.outputs, 1)
        check_outputs_of_link(loss.link, loss.outputs)
        held = intercept if isinstance(intercept, tuple) else (intercept,)
        if intercept is not None and len(held) != loss.outputs:
            raise ValueError(
                f"intercept of {name} must hold {loss.outputs} numbers, one an output, found "
                f"{_checks.shown(intercept)}"
            )

    def __repr__(self) -> str:
        kind = type(self.equations)
        return f"{shown_name(kind)}{repr(self.equations).removeprefix(kind.__qualname__)}"

    def _shown(self) -> tuple[str, dict[str, list[str]]]:
        loss = self.equations
        own = {field.name: getattr(loss, field.name) for field in fields(loss) if field.repr}
        known = {"link": self.link, "hessian_kind": self.hessian_kind, "labels": self.label_domain}
        return shown_name(type(loss)), Shown._facts(known | own)

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_") or name == "equations":
            raise AttributeError(name)
        try:
            return getattr(self.equations, OTHER_NAMES.get(name, name))
        except AttributeError:
            raise NoAttribute(name=name, obj=self) from None

    def __deepcopy__(self, memo: dict[int, Any]) -> Objective:
        return self  # immutable; LightGBM and sklearn.clone copy the callables they are given

    @property
    def n_classes(self) -> int | None:
        link: Link = self.equations.link
        return link.n_classes

    @property
    def rows(self) -> int | None:
        return next((len(values) for _, values in self.equations.named if values is not None), None)

    @property
    def is_by_row(self) -> bool:
        return bool(self.equations.named)

    def take(self, positions: ArrayLike) -> Objective:
        """The objective for training rows at these positions, (m,); itself without any."""
        taken = ((name, v and v.take(positions)) for name, v in self.equations.named)
        return self._naming(tuple(taken)) if self.is_by_row else self

    def with_rows(self, rows: Mapping[str, ArrayLike]) -> Objective:
        """A copy of the objective with these values of its training rows; see :func:`objective`."""
        names = [name for name, _ in self.equations.named]
        if set(rows) != set(names):
            raise ValueError(
                f"{self.equations.name} needs of each row {names}, found {list(rows)}: give all of "
                "these, and no others"
            )
        read = {name: self.equations.read_named(name, rows[name]) for name in names}
        if len({len(values) for values in read.values()}) > 1:
            raise ValueError(
                "the values in rows must be for the same rows, found "
                + ", ".join(f"{name} for {len(values)}" for name, values in read.items())
            )
        return self._naming(tuple(read.items()))

    def without_rows(self) -> Objective:
        """A copy of the objective with only the names of its rows' values."""
        return self._naming(tuple((name, None) for name, _ in self.equations.named))

    def _naming(self, named: Named) -> Objective:
        return Objective(replace(self.equations, named=named))  # type: ignore[call-arg]

    @each_round
    def check_rows(self, n: int, of: str) -> None:
        """Raise unless the objective can be for n training rows; ``of`` names what has them."""
        for name, values in self.equations.named:
            if values is None:
                raise ValueError(
                    f"{self.equations.name} needs {name} of each row, but has only its name: call "
                    f"fit(X, y, {name}={name}) of a drop-in estimator; elsewhere give it the "
                    f"values, objective.with_rows({{{name!r}: {name}}})"
                )
            if len(values) != n:
                raise ValueError(
                    f"{of} has {n} rows, but {values.called(name)} has {len(values)}: the "
                    f"objective needs {values.remedy(name)}"
                )

    def measured(self, y_true: ArrayLike, sample_weight: ArrayLike | None = None) -> Objective:
        """A copy with what depends on the training labels, of all workers, filled in."""
        with self._together():
            rows = self._read_labels(y_true, sample_weight)
            found = self.measured_on(rows)
        Training(loss=found.equations, rows=rows)
        return found

    def measured_on(self, rows: Rows) -> Objective:
        """A copy with what depends on labels filled in, from rows that an engine reads."""
        found = self.equations.measured(rows)
        return self if found is self.equations else Objective(found)

    def fitted(
        self, y_true: ArrayLike, margin: ArrayLike, sample_weight: ArrayLike | None = None
    ) -> Objective:
        """A copy for use after training, which holds fixed what it fits to the final margins."""
        with self._together():
            rows = by_hand(self, self._read_rows(y_true, margin, sample_weight))
            loss = self._for(rows)
            return Objective(loss.measured(rows) if loss.fits_margins else loss)

    def class_probability(self, margin: ArrayLike) -> Array:
        """Class probabilities, float64 (n, n_classes), at margins (n,), or (n, K) of K outputs."""
        link: Link = self.equations.link
        if link.n_classes is None and not link.is_of_objective:
            raise TypeError(f"{self!r} has no classes: its margins are {link.margins}")
        if self.equations.outputs == 1:
            f = _checks.vector("margin", margin)
        else:
            f = _checks.real_array("margin", margin)
            self._check_margin_shape(f)
            _checks.finite("margin", f)
        return link.class_probability(f.astype(np.float64))

    def loss(
        self, y_true: ArrayLike, margin: ArrayLike, sample_weight: ArrayLike | None = None
    ) -> float:
        """Total loss over the rows: what the gradient differentiates."""
        return self._value(y_true, margin, sample_weight)[0]

    def mean_loss(
        self, y_true: ArrayLike, margin: ArrayLike, sample_weight: ArrayLike | None = None
    ) -> float:
        """The total loss over the sum of the weights; in training, over the rows of all workers."""
        total, n = self._value(y_true, margin, sample_weight)
        return total / n

    def _value(self, y: Any, f: Any, w: Any, *, asks: bool = True) -> tuple[float, float]:
        with self._together():
            rows = self._read_rows(y, f, w)
            if getattr(rows.f, "shape", ())[1:] == (1,):  # a table, beside labels (n,)
                rows = replace(rows, f=rows.f[:, 0])
            loss = self._for(by_hand(self, rows) if asks else rows)
            with _workers.summing(loss.name):
                return loss.value(rows)

    def gradient_hessian(
        self, y_true: ArrayLike, margin: ArrayLike, sample_weight: ArrayLike | None = None
    ) -> Both:
        """Gradient and hessian of every row, in the precision of ``margin``."""
        with self._together():
            rows = by_hand(self, self._read_rows(y_true, margin, sample_weight))
            return self._for(rows)._compute(rows, rows.f.dtype)

    @each_round
    def __call__(self, a: Any, b: Any, sample_weight: ArrayLike | None = None) -> Both:
        """Gradient and hessian, float32, for either form in which boosters call.

        ``(margin, dataset)`` from ``xgboost.train`` and ``lightgbm.train``, ``(y_true, margin,
        sample_weight)`` from the scikit-learn interfaces: a dataset has ``get_label``. Arrays on a
        device give arrays on that device, if the objective takes them (``takes_device_arrays``).
        """
        if hasattr(a, "get_label"):
            raise TypeError(
                f"{self.equations.name} was called with (dataset, margin): swap the two, "
                "native boosters call an objective with (margin, dataset)"
            )
        native = hasattr(b, "get_label")
        y, f, w = (None, a, None) if native else (a, b, sample_weight)
        library, booster, called = Stack.trained_by()
        data = b if native else None
        began = booster is not None and _trains.get(booster) == self  # all guards were asked
        if began and type(f) is np.ndarray and not _workers.workers():
            bound = self._still_bound(library, booster, data)
            if bound is not None:
                return bound(f) if called is self else bound.fresh(f)
        stack = Stack.here()
        if began:
            return self._compute(booster, data, y, f, w, stack)
        _registry.check_loaded()
        if booster is None and not type(a) is type(b) is np.ndarray:
            rows = {"y_true": y, "margin": f, "sample_weight": w, **dict(self.equations.named)}
            Layout(name="", rows=rows)
            check_classes({"self": self, "y_true": y, "margin": f})
        owner = stack.cross_validation() or booster
        token = TOLD.set(told_by(owner))
        try:
            training = objective_called(self, library, booster, owner, stack)
            found = self._compute(booster, data, y, f, w, stack, training)
        finally:
            TOLD.reset(token)
        if booster is not None:
            _trains[booster] = self
        return found

    def _compute(
        self, booster: Any, data: Any, y: Any, f: Any, w: Any, stack: Stack,
        training: Training | None = None,
    ) -> Both:  # fmt: skip
        """Gradient and hessian of a call, which may be the first of a ``training``."""
        with self._together(stack):
            if data is not None:
                y, w = _checks.label_weight(data)
            # on several workers all must measure at the same time, in the first round
            owner = booster if data is None or _workers.together_now() else data
            if owner is not None and isinstance(f, np.ndarray) and not _checks.on_device(y):
                bound = self._bound_to(owner, y, w)
                found = bound.fresh(f)
                rows, loss = bound.rows, bound.objective.equations
            else:
                rows = self._read_rows(y, f, w)
                loss, f = self._for(rows), rows.f
                found = loss._compute(rows, FLOAT32)
            if training is not None:
                Objective._begin(training, loss, rows, f, found[0])
            return found

    def _still_bound(self, library: str, booster: Any, data: Any) -> BoundObjective | None:
        """This objective bound to data that have not changed since; None where that is in doubt."""
        known, bound = (None, None) if data is None else _bound.get(data, (None, None))
        still_has = _registry.library(library).still_has
        return bound if bound and known == self and still_has(booster, data, bound.seen) else None

    def _bound_to(self, owner: Any, y: Any, w: Any) -> BoundObjective:
        """This objective bound to labels and weights, anew where its owner's are others now."""
        known, bound = _bound.get(owner, (None, None))
        if bound is None or known != self or not bound.is_of(y, w):
            bound = self.bind(y, w)
            bound.seen = Seen.of(y, w)
            _bound[owner] = self, bound
        return bound

    def bind(
        self, y_true: ArrayLike, sample_weight: ArrayLike | None = None, *, start: ArrayLike = 0.0
    ) -> BoundObjective:
        """This objective with the labels and weights that it is trained on, checked and measured
        once.

        Parameters
        ----------
        y_true, sample_weight : array-like of shape (n,)
            If on a device, and the objective takes such arrays, margins are sent there.
        start : float, or array-like of shape (K,) for K outputs
            Added to every margin, so that a booster that starts at 0 trains as if it started there.

        Returns
        -------
        BoundObjective
            ``bound(margin)`` returns gradient and hessian, float32, in buffers that are reused.
        """
        with self._together():
            rows = by_hand(self, self._read_labels(y_true, sample_weight))
            loss = self._for(rows)
        K = 1 if np.ndim(start) == 0 else loss.outputs
        return BoundObjective(Objective(loss), rows, read_outputs("start", start, K))

    def _set_attribute(self, name: str, value: Any) -> None:
        if name == "_jited":  # with which CatBoost marks what it is to call
            raise TypeError(CATBOOST)
        raise FrozenInstanceError(f"cannot assign to field {name!r}")

    def _for(self, rows: Rows) -> Loss:
        """The loss, measured on the rows if it still must be."""
        loss = self.equations
        return loss.measured(replace(rows, f=None)) if loss.needs_labels else loss

    def _together(self, stack: Stack | None = None) -> AbstractContextManager[None]:
        """Join the other workers, if a booster that several train is what calls."""
        if not _workers.workers():
            if self.equations.reduce is None:
                alone = (stack or Stack.here()).free_network()
                if alone is not None:
                    Training(name=self.equations.name, alone=alone)
            return nullcontext()
        if _workers.together_now() or not (stack or Stack.here()).is_called():
            return nullcontext()
        return _workers.together(self)

    def _read_rows(self, y_true: Any, margin: Any, sample_weight: Any) -> Rows:
        """Read labels, margins and weights, and check them."""
        place = place_for(self, y_true, margin, sample_weight)
        y, f = place.real_array("y_true", y_true), place.real_array("margin", margin)
        if 0 in f.shape:
            if not _workers.several():
                raise ValueError("margin is empty: there must be at least one row")
            f = place.xp.reshape(f, margin_shape(self.equations, 0))  # XGBoost 3.4 says (0, 0)
        self._check_margin_shape(f)
        if y.ndim == 1:
            _checks.same_length("y_true", y, "the margins", f.shape[0])
        rows = checked_rows(self, place, y, f, sample_weight)
        check_margins(rows)
        return rows

    def _read_labels(self, y_true: Any, sample_weight: Any) -> Rows:
        """Read labels and weights, and check them."""
        place = place_for(self, y_true, sample_weight)
        return checked_rows(self, place, place.real_array("y_true", y_true), None, sample_weight)

    def _check_margin_shape(self, f: Any) -> None:
        """Raise unless there are as many margins in a row as the loss has outputs."""
        loss = self.equations
        K = loss.outputs
        if loss.whole and K == 1:  # a function may take any
            if f.ndim not in (1, 2):
                raise ValueError(f"margin must have shape (n,) or (n, K), found {f.shape}")
            return
        if f.shape == margin_shape(loss, f.shape[0] if f.ndim else 0):
            return
        if K > 1:
            raise ValueError(
                f"{loss.name} takes {K} margins per row, shape (n, {K}), found shape {f.shape}: "
                f"train with num_class={K}, or make the objective for another number of classes"
            )
        hint = ": remove num_class and train with one output" if f.ndim == 2 else ""
        raise ValueError(f"{loss.name} takes one margin per row, found shape {f.shape}{hint}")

    @staticmethod
    def _begin(training: Training, loss: Loss, rows: Rows, f: Any, gradient: Any) -> None:
        """A training begins: its guards learn of its rows, its loss, measured on those of all
        workers, and where it starts, here only. A call by hand is one of one round."""
        # else it is where the objective wants it, or what a user's function makes of that
        is_given = training.start_by is not None and not training.blended
        start = read_start(training, loss, rows, f, gradient) if is_given else {}
        training.know(loss=loss, rows=rows, **start)


class Written(threading.local):
    """What a bound objective writes gradient and hessian into; each thread has its own."""

    memory: Both | None = None
    write: Writer | None = None

    def __init__(self, loss: Loss, rows: Rows, start: Start, shape: tuple[int, ...]) -> None:
        if rows.place is HOST and not loss.whole:
            gradient, hessian = np.empty((2, *shape), FLOAT32)
            self.memory = gradient, hessian
            self.write = loss.writer(rows, start, gradient, hessian)


class BoundObjective:
    """An ``objective`` bound to the ``rows`` that it was measured on; threads may share it."""

    seen: Seen  # set where labels and weights may change

    def __init__(self, objective: Objective, rows: Rows, start: Start) -> None:
        self.objective = objective
        loss = objective.equations
        self.rows, self._start = rows, start
        self._moves = bool(np.any(start))
        self._shape = margin_shape(loss, len(rows))
        self._written = Written(loss, rows, start, self._shape)

    @each_round
    def __call__(self, margin: Array, data: object = None) -> Both:
        """Gradient and hessian, float32; the next call of this thread overwrites the same arrays.
        If the labels are on a device, so are gradient and hessian, in new arrays."""
        place = self.rows.place
        if place is not HOST or type(margin) is not np.ndarray or margin.dtype.char not in "fd":
            margin = place.real_array("margin", margin)
        if self._shape[0] == 0 and 0 in margin.shape:  # (0, 0) is what XGBoost 3.4 says
            margin = np.empty(self._shape, np.float32)
        if margin.shape != self._shape:
            self.objective._check_margin_shape(margin)
            _checks.same_length("margin", margin, "the labels", self._shape[0])
        if _workers.workers():
            with self.objective._together():
                return self._compute(margin)
        return self._compute(margin)

    def is_of(self, y: Any, w: Any) -> bool:
        """Whether labels and weights are as it has seen them, as on several workers they must."""
        now = map(to_host, (y, w))
        same = all(a is b or np.array_equal(a, b) for a, b in zip(self.seen, now, strict=True))
        if not same and _workers.together_now():  # the others may not measure now
            raise ValueError(
                "the training data, or its labels or weights, have changed since an objective was "
                "measured on them: train a new booster, or make the objective from the labels of "
                "all rows"
            )
        return same

    @each_round
    def fresh(self, margin: Array) -> Both:
        """Gradient and hessian in arrays that no other call overwrites."""
        found = self(margin)
        if found is not self._written.memory:
            return found
        gradient, hessian = np.array(found)  # one block of memory, which costs half of two
        return gradient, hessian

    def __deepcopy__(self, memo: dict[int, Any]) -> BoundObjective:
        return self  # LightGBM deep-copies its parameters, among them this and its rows

    def _compute(self, margin: Any) -> Both:
        write, memory = self._written.write, self._written.memory
        if write is not None and memory is not None:
            write(margin)
            return memory
        rows = replace(self.rows, f=margin + self._start if self._moves else margin)
        check_margins(rows)
        return self.objective.equations._compute(rows, FLOAT32, memory)


def check_outputs_of_link(link: Link, outputs: int) -> None:
    """Raise if a row cannot have this number of margins under the link."""
    takes_several = link.takes_several
    if takes_several and outputs == 1:
        raise ValueError(
            f"link={link.name!r} is for K margins a row, found one: pass outputs=K, the number of "
            'classes, or link="logit" for two classes'
        )
    if takes_several and link.n_classes not in (None, outputs):
        raise ValueError(
            f"link={link.name!r} is for {link.n_classes} classes, found outputs={outputs}: they "
            "must be the same"
        )
    if outputs > 1 and not takes_several and link.is_transformed:
        raise ValueError(
            f"link={link.name!r} is for one margin a row, found outputs={outputs}: leave outputs "
            'out, or pass link="softmax" or "identity"'
        )


def checked_rows(objective: Objective, place: Place, y: Any, f: Any, sample_weight: Any) -> Rows:
    """Rows of labels and margins that are arrays already; everything but the margins is checked."""
    loss = objective.equations
    if y.ndim != 1:
        raise _checks.not_flat("y_true", y.shape)
    n = y.shape[0]
    if n == 0 and not _workers.several():
        raise ValueError("y_true is empty: there must be at least one row")
    objective.check_rows(n, "y_true")
    w = None if sample_weight is None else place.real_array("sample_weight", sample_weight)
    if w is not None:
        least, most = place.extremes(w) if w.shape == y.shape and n > 0 else (-1.0, 0.0)
        if not (least >= 0 and _checks.LEAST_WEIGHT <= most <= _checks.LARGEST_WEIGHT):
            _checks.weights("sample_weight", to_host(w), n)  # says what is wrong, if anything
    named = {name: values for name, values in loss.named if values is not None}
    rows = Rows(
        y=y, f=f, w=w, place=place, reduce=loss.reduce, whole=loss.whole,
        named={
            name: values.values if loss.whole else place.real_array(name, values.values)
            for name, values in named.items()
        },
    )  # fmt: skip
    check_labels(rows, domain := loss.labels)
    if domain == SOFT and f is not None:
        _checks.not_swapped("margin", f, y)
    for values in named.values():
        values.check_labels(to_host(y))
    return rows


def by_hand(objective: Objective, rows: Rows) -> Rows:
    """The rows of a call by hand, whose weights are asked about beside one rate of all rows."""
    loss, w = objective.equations, rows.w
    asks = loss.keep_rate is not None and not loss.named and type(w) is np.ndarray and len(w)
    if asks and may_undo(w, rows.y, loss.keep_rate(rows)):
        Training(loss=loss, rows=rows)
    return rows


def place_for(objective: Objective, *arrays: Any) -> Place:
    """The place of the arrays; those on a device are refused if the equations cannot take them."""
    return Rows.place_of(*arrays) if objective.equations.takes_device_arrays else HOST


_bound: WeakKeyDictionary[Any, tuple[Objective, BoundObjective]] = WeakKeyDictionary()
"""By data set or booster: the objective, and the one bound to what it last saw of the data."""


_trains: WeakKeyDictionary[Any, Objective] = WeakKeyDictionary()  # by booster, once it has called


_told_by: WeakKeyDictionary[Any, set[str]] = WeakKeyDictionary()


def told_by(training: object) -> set[str]:
    """What a training has told, unless a call of ours stands above, which tells each warning once:
    a library may reset the filters by which Python does so, and folds differ in the numbers."""
    told = TOLD.get()
    if told is None:
        told = set() if training is None else _told_by.setdefault(training, set())
    return told
