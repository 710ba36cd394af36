"""Objective: what a loss must offer, and how the boosters call it.

In the code: y labels, f margins, w weights; gradient and hessian are shaped like the margins, (n,)
or, with K outputs, (n, K). Rows are worked on one block at a time, while
they are in the processor's cache; :class:`Objective` checks each block of labels and margins
before the loss sees it.
"""

from __future__ import annotations

import inspect
import math
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Literal, TypeVar
from weakref import WeakKeyDictionary

import numpy as np
from numpy.typing import ArrayLike

from gbdt_objectives import _callers, _checks, _versions, _workers
from gbdt_objectives._blocks import block_rows, blocks, dot
from gbdt_objectives._checks import Array
from gbdt_objectives._devices import to_host
from gbdt_objectives.objectives.device import Device, DeviceArray, device_of
from gbdt_objectives.objectives.domain import REAL, Domain
from gbdt_objectives.objectives.row_values import RowValues, read_row_values

FLOAT32, FLOAT64 = np.dtype(np.float32), np.dtype(np.float64)
Self = TypeVar("Self", bound="Objective")
Constants = tuple[Any, ...]
Sums = tuple[float, ...]
HessianKind = Literal["exact", "constant", "upper_bound", "bounded", "undeclared"]
Link = Literal["identity", "logit", "score"]
Start = float | Array
"""What is added to every margin: one number, or one for each output, (K,)."""
FEW_ROWS = 1000
"""Of which a user's function is tried on parts."""

Block = tuple[slice, Constants, Array, Array]
"""A stretch of rows: where it is, its constants, and where gradient and hessian go."""
Bound = Callable[[Array], tuple[Array, Array]]


@dataclass(frozen=True, kw_only=True)
class Objective:
    """A loss that boosters can train on: the base of every objective here.

    An instance *is* the booster's ``obj=`` or ``objective=`` argument, the same
    one for the native and the scikit-learn interface of XGBoost and LightGBM.
    It is frozen, so it can be pickled, cloned, compared and shared.

    A loss declares ``hessian_kind`` and ``label_domain``, and ``link`` if its margin is the
    log-odds. It implements ``_row_loss`` and ``_row_gradient_hessian``, and ``_label_statistics``
    and ``_from_label_statistics`` if it has an intercept. A loss that couples rows implements
    ``_loss``, ``_sums``, ``_totals`` and ``_write`` instead. Checks, weights, blocks and precision
    are inherited. With K ``outputs``, margins, gradients and hessians of a row are K numbers:
    (n, K) instead of (n,).

    Attributes
    ----------
    intercept : float, tuple of K floats or None
        Where boosting should start, in margin units; a tuple if there are several outputs. None
        if :meth:`measured` has not seen the labels yet, or if the loss has no such value.
    outputs : int
        How many margins a row has: 1, of shape (n,), or K, of shape (n, K).
    rows : int or None
        How many training rows it is for, if it holds a value of each; None for any.
    is_by_row : bool
        Whether it is for certain rows, of which it holds values or is still to be given them.
    hessian_kind : {"exact", "constant", "upper_bound", "bounded", "undeclared"}
        What the returned hessian is: the second derivative of the loss, the weight of the
        row, nowhere below the second derivative, so large that -sum g / sum h of a leaf never
        passes the leaf's optimum, or anything.
    scale_free : bool
        Whether the gradient is that of the loss only up to a positive factor, the same for all
        rows of a call.
    label_domain, margin_domain : Domain
        The labels and margins that the loss is defined for; all others are refused.
    link : {"identity", "logit", "score"}
        What a margin is: the prediction itself, the log-odds of label 1, or a score that only
        :meth:`class_probability` of this objective turns into probabilities.
    n_classes : int or None
        How many classes :meth:`class_probability` has, labels 0 to n_classes - 1; None if the
        labels are numbers.
    couples_rows : bool
        Whether the gradient of a row depends on the other rows.
    sums_reveal_nan : bool
        Whether the sums over coupled rows are NaN if a margin is: then bound calls, all but
        the first, look at the margins no more (an infinite one that is clipped passes).
    takes_device_arrays : bool
        Whether labels, margins and weights may be on a device, as CuPy's on a GPU: then gradient
        and hessian are computed there, and are arrays of the same library.
    """

    margin_domain: ClassVar[Domain] = REAL
    link: ClassVar[Link] = "identity"
    sums_reveal_nan: ClassVar[bool] = False
    takes_device_arrays: ClassVar[bool] = False

    def __init_subclass__(cls) -> None:
        base = Objective
        if cls.hessian_kind is base.hessian_kind or cls.label_domain is base.label_domain:
            raise TypeError(f"{cls.__name__} must declare hessian_kind and label_domain")

    @property
    def hessian_kind(self) -> HessianKind:
        raise NotImplementedError

    @property
    def label_domain(self) -> Domain:
        raise NotImplementedError

    @property
    def scale_free(self) -> bool:
        return False

    @property
    def couples_rows(self) -> bool:
        return False

    @property
    def intercept(self) -> float | tuple[float, ...] | None:
        return None

    @property
    def outputs(self) -> int:
        return 1

    @property
    def rows(self) -> int | None:
        return None

    @property
    def is_by_row(self) -> bool:
        return self.rows is not None

    @property
    def n_classes(self) -> int | None:
        return 2 if self.link == "logit" else None

    @property
    def start_tolerance(self) -> float | None:
        """How far from ``intercept`` boosting may start; None if it does not matter."""
        return None

    def take(self: Self, positions: ArrayLike) -> Self:
        """The objective for some of its training rows: itself if it belongs to none.

        Parameters
        ----------
        positions : array-like of shape (m,)
            Whole numbers from 0 to ``rows`` - 1, in the order of the rows to train on.
        """
        return self

    def check_rows(self, n: int, of: str) -> None:
        """Raise unless it can be for n training rows; ``of`` is what has them."""

    def measured(self: Self, y_true: ArrayLike, sample_weight: ArrayLike | None = None) -> Self:
        """The same objective, with what depends on the training labels filled in.

        While several workers train together, on the labels of all of them.
        """
        own = self._statistics(*self._read_labels(y_true, sample_weight))
        return self.from_label_statistics(_workers.all_gather(own))

    def label_statistics(self, y_true: ArrayLike, sample_weight: ArrayLike | None = None) -> Array:
        """What :meth:`measured` needs of some of the training rows, perhaps none, float64 (k,)."""
        with _workers.some_rows():
            return self._statistics(*self._read_labels(y_true, sample_weight))

    def _statistics(self, y: Array, w: Array | None) -> Array:
        device = self._device_of(y)
        if device is not None:
            device.check(self.label_domain, "y_true", y)
            return np.array(self._device_label_statistics(device, y, w))
        for rows in blocks(y):
            self._check_labels(y, rows)
        return np.asarray(self._label_statistics(y, w), np.float64)

    def from_label_statistics(self: Self, parts: ArrayLike) -> Self:
        """The objective measured on all rows, from the statistics of each part of them, (m, k)."""
        table = np.asarray(parts, np.float64)
        if table.ndim != 2 or not len(table):
            raise ValueError(
                f"parts must be (m, k), the label_statistics of each of m parts, found shape "
                f"{table.shape}: pass a list of them, [label_statistics(y, w), ...]"
            )
        return self._from_label_statistics(table)

    def fitted(
        self: Self, y_true: ArrayLike, margin: ArrayLike, sample_weight: ArrayLike | None = None
    ) -> Self:
        """The same objective after training, with what it fits to the final margins held fixed."""
        return self

    def class_probability(self, margin: ArrayLike) -> Array:
        """The probability of each class at a margin.

        Parameters
        ----------
        margin : array-like of shape (n,), or (n, K) for K outputs

        Returns
        -------
        ndarray of shape (n, n_classes)
            float64; each row sums to 1.
        """
        from scipy.special import expit

        if self.link != "logit":
            raise TypeError(f"{type(self).__name__} has no classes: its margin is a prediction")
        z = _checks.vector("margin", margin).astype(np.float64)
        return np.column_stack([expit(-z), expit(z)])

    def loss(
        self, y_true: ArrayLike, margin: ArrayLike, sample_weight: ArrayLike | None = None
    ) -> float:
        """Total loss over the rows: what the gradient differentiates."""
        y, f, w = self._read(y_true, margin, sample_weight)
        ready = self._measure_if_needed(y, w)
        device = self._device_of(f)
        if device is not None:
            return ready._device_losses(device, y, f, w)[0]
        return ready._loss(y, f, w)

    def mean_loss(
        self, y_true: ArrayLike, margin: ArrayLike, sample_weight: ArrayLike | None = None
    ) -> float:
        """The total loss over the sum of the weights; of the rows of all workers in training."""
        y, f, w = self._read(y_true, margin, sample_weight)
        ready = self._measure_if_needed(y, w)
        device = self._device_of(f)
        if device is None:
            return ready._mean_loss(y, f, w)
        own = ready._device_losses(device, y, f, w)
        total, n = own if self.couples_rows else _workers.all_sum(own, last=True).tolist()
        return total / n

    def gradient_hessian(
        self, y_true: ArrayLike, margin: ArrayLike, sample_weight: ArrayLike | None = None
    ) -> tuple[Array, Array]:
        """Gradient and hessian of every row, in the precision of ``margin``."""
        y, f, w = self._read(y_true, margin, sample_weight)
        return self._measure_if_needed(y, w)._bind_rows(y, w, 0.0, f.dtype, lasting=False)(f)

    def __call__(
        self, a: Any, b: Any, sample_weight: ArrayLike | None = None
    ) -> tuple[Array, Array]:
        """Gradient and hessian, float32, for either form in which boosters call.

        ``(margin, dataset)`` from ``xgboost.train`` and ``lightgbm.train``,
        ``(y_true, margin, sample_weight)`` from the scikit-learn interfaces.
        The second argument decides: a dataset has ``get_label``. Arrays on a device give
        arrays on that device, if the objective takes them (``takes_device_arrays``).
        """
        if hasattr(b, "get_label"):
            margin, (y_true, sample_weight) = a, _checks.label_weight(b)
        elif hasattr(a, "get_label"):
            raise TypeError(
                f"{type(self).__name__} was called with (dataset, margin): swap the two, "
                "native boosters call an objective with (margin, dataset)"
            )
        else:
            y_true, margin = a, b
        self._check_caller()
        booster = _callers.trained_booster() if _workers.workers() else None
        with nullcontext() if booster is None else _workers.together(self):
            y, f, w = self._read(y_true, margin, sample_weight)
            if _workers.several() and margin is a and not self._is_complete:
                ready = self._measured_once(booster, b, y, w)
            else:
                ready = self._measure_if_needed(y, w)
            ready._warn_of_far_start(f)
            computed = ready._bind_rows(y, w, 0.0, FLOAT32, lasting=False)(f)
            if not self.couples_rows:
                _workers.agree()
        return computed

    def bind(
        self, y_true: ArrayLike, sample_weight: ArrayLike | None = None, *, start: ArrayLike = 0.0
    ) -> BoundObjective:
        """This objective with the labels and weights that it is trained on.

        They are checked, converted and measured once, and buffers are reused.

        Parameters
        ----------
        y_true : array-like of shape (n,)
            If it is on a device, and the objective takes such arrays, margins are sent there.
        sample_weight : array-like of shape (n,), optional
        start : float, or array-like of shape (K,) for K outputs
            Added to every margin, so that a booster that starts at 0 trains as if it
            started there.

        Returns
        -------
        BoundObjective
            ``bound(margin)`` returns gradient and hessian, float32.
        """
        y, w = self._read_labels(y_true, sample_weight)
        added = self._read_start(start)
        ready = self._measure_if_needed(y, w)
        compute = ready._bind_rows(y, w, added, FLOAT32, lasting=True)
        return BoundObjective(ready, y.shape[0], compute, self._device_of(y))

    def __deepcopy__(self: Self, memo: dict[int, Any]) -> Self:
        return self  # immutable; LightGBM and sklearn.clone copy the callables they are given

    # What a loss implements; labels and margins were checked.

    def _row_loss(self, y: Array, f: Array) -> Array:
        """The loss of each row, without its weight."""
        raise NotImplementedError(f"{type(self).__name__} has no loss, only a gradient")

    def _row_gradient_hessian(self, y: Array, f: Array) -> tuple[Array | float, Array | float]:
        """Gradient and hessian of each row, without its weight."""
        raise NotImplementedError

    def _label_statistics(self, y: Array, w: Array | None) -> ArrayLike:
        """What the intercept, and all else that depends on the training labels, needs of these."""
        return ()

    def _from_label_statistics(self: Self, parts: Array) -> Self:
        """This objective with what follows from the statistics of all parts of the rows, (m, k)."""
        return self

    @property
    def _is_complete(self) -> bool:
        """Whether loss and gradient are known before the training labels are measured."""
        return True

    # What a loss that couples rows implements instead.

    def _loss(self, y: Array, f: Array, w: Array | None) -> float:
        total = 0.0
        for rows in blocks(f):
            margin = self._check_margins(f, f[rows])
            losses = self._row_loss(self._check_labels(y, rows), margin)
            total += float(losses.sum(dtype=np.float64)) if w is None else dot(losses, w[rows])
        return total

    def _mean_loss(self, y: Array, f: Array, w: Array | None) -> float:
        n = len(y) if w is None else w.sum(dtype=np.float64)
        total, weight = _workers.all_sum([self._loss(y, f, w), n], last=True)
        return float(total / weight)

    def _sums(self, constants: Constants, f: Array, kept: Array) -> Sums:
        """Additive sums over a block. What is left in ``kept``, which may hold ``f``
        itself, is what ``_write`` finds in place of the margin."""
        raise NotImplementedError

    def _totals(self, sums: Sums) -> Any:
        """What ``_write`` needs of the rows of all workers, from the sums of this one's."""
        raise NotImplementedError

    # What a loss may implement for speed only.

    def _constants(self, y: Array, w: Array | None, hessian: Array, lasting: bool) -> Constants:
        """What the loss needs of a block of labels and weights, in the hessian's precision.

        ``hessian`` is the block's own. If ``lasting``, the constants serve many calls, and what
        is written there stays; if not, it is spare memory until ``_write`` fills it.
        """
        return _read_only(y.astype(hessian.dtype)), w

    def _write(
        self, constants: Constants, f: Array, totals: Any, gradient: Array, hessian: Array
    ) -> None:
        """Write gradient and hessian of a block; ``f`` may be the gradient's own memory."""
        y, w = constants
        row_gradient, row_hessian = self._row_gradient_hessian(y, _read_only(f))
        if np.shape(row_gradient) != f.shape or np.shape(row_hessian) not in ((), f.shape):
            raise ValueError(
                f"{type(self).__name__} must give a gradient per row and a hessian per row or one "
                f"number, found shapes {np.shape(row_gradient)} and {np.shape(row_hessian)} for "
                f"{len(f)} rows"
            )
        hessian[:] = row_hessian  # first: f, or a view of it, may be returned
        gradient[:] = row_gradient
        g, h = gradient.ravel(), hessian.ravel()
        if not (np.isfinite(g).all() and np.isfinite(h).all()):
            for part, values in (("gradient", gradient), ("hessian", hessian)):
                _checks.finite(f"the {part} of {type(self).__name__}", values)
        if w is not None:
            v = w if f.ndim == 1 else w[:, np.newaxis]
            gradient *= v
            hessian *= v

    # What a loss that takes arrays on a device implements for them.

    def _device_label_statistics(
        self, device: Device, y: DeviceArray, w: DeviceArray | None
    ) -> tuple[float, ...]:
        """As ``_label_statistics``."""
        raise NotImplementedError

    def _device_loss(
        self, device: Device, y: DeviceArray, f: DeviceArray, w: DeviceArray | None
    ) -> float:
        """As ``_loss``; labels, margins and weights are of one dtype."""
        raise NotImplementedError

    def _device_gradient_hessian(
        self, device: Device, y: DeviceArray, f: DeviceArray, w: DeviceArray | None
    ) -> tuple[DeviceArray, DeviceArray]:
        """New arrays, with the weights."""
        raise NotImplementedError

    def _bind_on_device(
        self, device: Device, y: DeviceArray, w: DeviceArray | None, start: Any, dtype: Any
    ) -> Bound:
        """As ``_bind``; ``start`` may be a number for each row."""
        device.check(self.label_domain, "y_true", y)
        y, w = device.cast(y, dtype), None if w is None else device.cast(w, dtype)

        def gradient_hessian(f: DeviceArray) -> tuple[DeviceArray, DeviceArray]:
            z = device.cast(f + start, dtype)
            device.check(self.margin_domain, "margin", f)
            device.check(self.margin_domain, "margin", z)
            return self._device_gradient_hessian(device, y, z, w)

        return gradient_hessian

    def _device_losses(
        self, device: Device, y: DeviceArray, f: DeviceArray, w: DeviceArray | None
    ) -> tuple[float, float]:
        """The total loss, and the sum of the weights."""
        device.check(self.label_domain, "y_true", y)
        device.check(self.margin_domain, "margin", f)
        y, w = device.cast(y, f.dtype), None if w is None else device.cast(w, f.dtype)
        return self._device_loss(device, y, f, w), device.count(f, w)

    # What every loss inherits.

    def _device_of(self, *arrays: Any) -> Device | None:
        """Where those of the arrays are that are on a device; those of others are refused."""
        return device_of(*arrays) if self.takes_device_arrays else None

    def _bind_rows(
        self, y: Any, w: Any, start: Start, dtype: np.dtype[Any], lasting: bool
    ) -> Bound:
        """``_bind`` where the labels are."""
        if isinstance(y, np.ndarray):
            return self._bind(y, w, start, dtype, lasting)
        device = self._device_of(y)
        assert device is not None
        return self._bind_on_device(device, y, w, start, dtype)

    def _measure_if_needed(self: Self, y: Array, w: Array | None) -> Self:
        return self if self._is_complete else self.measured(y, w)

    def _measured_once(self: Self, booster: Any, dataset: Any, y: Array, w: Array | None) -> Self:
        """Measured with the other workers in the first call of a training only."""
        device = self._device_of(y)
        add = np.sum if device is None else device.sum
        seen = id(dataset), y.shape[0], float(add(y)), 0.0 if w is None else float(add(w))
        found = _measured.get(booster)
        if found is None or found[0] != self:
            found = _measured[booster] = self, self.measured(y, w), seen
        ready: Self = found[1]
        if seen != found[2]:
            raise ValueError(
                "the training data, or its labels or weights, have changed since an objective was "
                "measured on them: train a new booster, or make the objective from the labels of "
                "all rows"
            )
        return ready

    def _check_caller(self) -> None:
        """Raise where the caller would make something else of this objective."""
        _versions.check_loaded()
        reduces = getattr(self, "reduce", None) is not None or _workers.workers()
        _callers.refuse_objective(type(self).__name__, self.link, reduces=reduces)

    def _read(
        self, y_true: ArrayLike, margin: ArrayLike, sample_weight: ArrayLike | None
    ) -> tuple[Array, Array, Array | None]:
        """Arrays of matching shape; labels and margins are checked later, block by block."""
        device = self._device_of(y_true, margin, sample_weight)
        read = _checks.real_array if device is None else device.real_array
        y, f = read("y_true", y_true), read("margin", margin)
        if 0 in f.shape:
            if not _workers.several():
                raise ValueError("margin is empty: there must be at least one row")
            reshape = np.reshape if device is None else device.xp.reshape
            f = reshape(f, self._margin_shape(0))  # XGBoost does not keep it
        self._check_margin_shape(f)
        if y.ndim == 1:
            _checks.same_length("y_true", y, "the margins", f.shape[0])
        y, w = self._read_labels(y, sample_weight)
        return y, f, w

    def _check_margin_shape(self, f: Array) -> None:
        if f.shape == self._margin_shape(f.shape[0] if f.ndim else 0):
            return
        K = self.outputs
        if K > 1:
            raise ValueError(
                f"{type(self).__name__} takes {K} margins per row, shape (n, {K}), found shape "
                f"{f.shape}: train with num_class={K}, or make the objective for another number "
                "of classes"
            )
        hint = ": remove num_class and train with one output" if f.ndim == 2 else ""
        raise ValueError(
            f"{type(self).__name__} takes one margin per row, found shape {f.shape}{hint}"
        )

    def _margin_shape(self, n: int) -> tuple[int, ...]:
        """Of n rows."""
        K = self.outputs
        return (n,) if K == 1 else (n, K)

    def _read_start(self, start: ArrayLike) -> Start:
        K = self.outputs
        if K == 1 or np.ndim(start) == 0:
            return _checks.number("start", start)
        added = _checks.vector("start", start).astype(np.float64)
        if len(added) != K:
            raise ValueError(
                f"start must be one number, or one for each of the {K} outputs, found {len(added)}"
            )
        return added

    def _read_labels(
        self, y_true: ArrayLike, sample_weight: ArrayLike | None
    ) -> tuple[Array, Array | None]:
        device = self._device_of(y_true, sample_weight)
        read = _checks.real_array if device is None else device.real_array
        y = read("y_true", y_true)
        if y.ndim != 1:
            raise ValueError(f"y_true must be one-dimensional, found shape {y.shape}")
        n = y.shape[0]
        if n == 0 and not _workers.several():
            raise ValueError("y_true is empty: there must be at least one row")
        self.check_rows(n, "y_true")
        if sample_weight is None:
            return y, None
        w = read("sample_weight", sample_weight)
        # the quick look; what is wrong is found and said by the slow one
        least, most = math.inf, 0.0
        if w.shape == y.shape and n > 0:
            least, most = (w.min(), w.max()) if device is None else device.extremes(w)
        if not (least >= 0 and _checks.LEAST_WEIGHT <= float(most) <= _checks.LARGEST_WEIGHT):
            _checks.weights("sample_weight", to_host(w), n)
        return y, w

    def _check_labels(self, y: Array, rows: slice) -> Array:
        """A block of labels."""
        if not self.label_domain.contains(y[rows]):
            self.label_domain.check("y_true", y)
        return y[rows]

    def _check_margins(self, f: Array, block: Array) -> Array:
        """A block of margins f, perhaps converted."""
        if not self.margin_domain.contains(block if block.ndim == 1 else block.ravel()):
            self.margin_domain.check("margin", f)
            self.margin_domain.check("margin", block)
        return block

    def _bind(
        self, y: Array, w: Array | None, start: Start, dtype: np.dtype[Any], lasting: bool
    ) -> Bound:
        """A function from margins to gradient and hessian; unless ``lasting``, for one call only,
        which prepares the blocks in its first pass over them."""
        shape = self._margin_shape(len(y))
        gradient, hessian = np.empty((2, *shape), dtype)  # both contiguous: one allocation
        prepared: Iterable[Block] = self._prepare(y, w, gradient, hessian, lasting)
        if lasting:
            prepared = list(prepared)
        strict = True

        def gradient_hessian(f: Array) -> tuple[Array, Array]:
            nonlocal strict
            self._fill(prepared, f, start, strict)
            strict = not self.sums_reveal_nan
            return gradient, hessian

        return gradient_hessian

    def _prepare(
        self, y: Array, w: Array | None, gradient: Array, hessian: Array, lasting: bool
    ) -> Iterator[Block]:
        for rows in blocks(gradient):
            labels, weights = self._check_labels(y, rows), None if w is None else w[rows]
            constants = self._constants(labels, weights, hessian[rows], lasting)
            yield rows, constants, gradient[rows], hessian[rows]

    def _fill(self, prepared: Iterable[Block], f: Array, start: Start, strict: bool) -> None:
        """Write gradient and hessian of all blocks, in two passes if rows are coupled; unless
        ``strict``, only the sums tell whether coupled margins are finite."""
        if not self.couples_rows:
            for rows, constants, gradient, hessian in prepared:
                margin = self._check_margins(f, convert(f[rows], start, gradient))
                self._write(constants, margin, None, gradient, hessian)
            return
        seen, parts = [], []
        for block in prepared:
            rows, constants, gradient, _ = block
            margin = convert(f[rows], start, gradient)
            if strict:
                self._check_margins(f, margin)
            parts.append(self._sums(constants, margin, gradient))
            seen.append(block)
        sums = add_sums(parts or [self._sums_of_no_rows(f.dtype)])
        if not math.isfinite(sum(sums)):
            self.margin_domain.check("margin", f)
        totals = self._totals(sums)
        for _, constants, gradient, hessian in seen:
            self._write(constants, gradient, totals, gradient, hessian)

    def _sum_blocks(self, y: Array, f: Array, w: Array | None) -> Sums:
        """The sums over all rows of this worker."""
        shape = self._margin_shape(min(len(f), block_rows(f)))
        kept, spare = np.empty(shape, f.dtype), np.empty(shape, f.dtype)
        sums = []
        for rows in blocks(f):
            margin = self._check_margins(f, f[rows])
            labels, weights = self._check_labels(y, rows), None if w is None else w[rows]
            constants = self._constants(labels, weights, spare[: len(margin)], lasting=False)
            sums.append(self._sums(constants, margin, kept[: len(margin)]))
        return add_sums(sums or [self._sums_of_no_rows(f.dtype)])

    def _sums_of_no_rows(self, dtype: np.dtype[Any]) -> Sums:
        """Zeros, as many as there are sums: those of a worker without rows."""
        none = np.empty(self._margin_shape(0), dtype)
        constants = self._constants(np.empty(0), None, none, lasting=False)
        return self._sums(constants, none, none.copy())

    def _warn_of_far_start(self, f: Array) -> None:
        """In their first call boosters pass their own start in every row: 0, 0.5 or base_score."""
        intercept, tolerance = self.intercept, self.start_tolerance
        if intercept is None or tolerance is None or isinstance(intercept, tuple):
            return
        if not f.shape[0]:
            return
        device = None if isinstance(f, np.ndarray) else self._device_of(f)
        if device is not None:
            f = np.array(device.extremes(f))
        start = float(f[0])
        glance = f[:: max(1, len(f) // 16)]  # settles all calls but the first, at no cost
        if not (glance == start).all():
            return
        if abs(start - intercept) > tolerance and (f == start).all():
            warnings.warn(
                f"boosting starts at {start:g}, far from the labels' centre {intercept:g}, where "
                "this objective can fail to learn: import train, cv or the estimator from "
                "gbdt_objectives.adapters.xgboost or .lightgbm, which start there and keep the "
                f"intercept in the model (in XGBoost base_score={intercept:g} does so too; "
                "LightGBM's init_score would be missing from the predictions)",
                UserWarning,
                stacklevel=3,
            )


_measured: WeakKeyDictionary[Any, tuple[Any, Any, Any]] = WeakKeyDictionary()
"""The objective as measured by several workers for a booster, whose data then was this."""


class BoundObjective:
    """An objective bound to its data, as ``train`` passes it on; see :meth:`Objective.bind`.

    Attributes
    ----------
    objective : Objective
        The objective, measured on the data.
    """

    def __init__(
        self, objective: Objective, rows: int, compute: Bound, device: Device | None
    ) -> None:
        self.objective = objective
        self._shape = objective._margin_shape(rows)
        self._compute = compute
        self._device = device

    def __call__(self, margin: Array, data: object = None) -> tuple[Array, Array]:
        """Gradient and hessian, float32; the next call overwrites the same arrays.

        If the labels are on a device, so are gradient and hessian, in new arrays.
        """
        if self._device is not None:
            margin = self._device.real_array("margin", margin)
        elif type(margin) is not np.ndarray or margin.dtype.char not in "fd":
            margin = _checks.real_array("margin", margin)
        if self._shape[0] == 0 and 0 in margin.shape:  # XGBoost does not keep the shape
            return self._compute(np.empty(self._shape, np.float32))
        if margin.shape != self._shape:
            self.objective._check_margin_shape(margin)
            _checks.same_length("margin", margin, "the labels", self._shape[0])
        return self._compute(margin)


def add_sums(parts: Sequence[Sums]) -> Sums:
    """The sums over all blocks."""
    return parts[0] if len(parts) == 1 else tuple(map(sum, zip(*parts, strict=True)))


def convert(f: Array, start: Start, out: Array) -> Array:
    """f + start in the precision of ``out`` and, if rows have several margins, in its order;
    without a copy if it can be."""
    moved = start if f.ndim == 1 else np.any(start) or not f.flags.c_contiguous
    if moved or f.dtype != out.dtype:
        f = np.add(f, start, out=out, casting="same_kind")
    return f


GradientFunction = Callable[..., tuple[Array, Array]]
LossFunction = Callable[..., float]
"""Of (y_true, margin, sample_weight), and of the values of the rows by name."""


@dataclass(frozen=True, kw_only=True)
class FunctionObjective(Objective):
    """A user's own gradient function as an :class:`Objective`; see :func:`objective`."""

    label_domain = REAL
    function: GradientFunction
    loss_function: LossFunction | None = None
    intercept: float | None = None
    hessian_kind: HessianKind = "undeclared"
    row_values: tuple[tuple[str, RowValues | None], ...] = ()

    @property
    def row_names(self) -> tuple[str, ...]:
        """What the function gets of each row, by name."""
        return tuple(name for name, _ in self.row_values)

    @property
    def rows(self) -> int | None:
        return next((len(values) for _, values in self.row_values if values is not None), None)

    @property
    def is_by_row(self) -> bool:
        return bool(self.row_values)

    def take(self, positions: ArrayLike) -> FunctionObjective:
        taken = ((name, v if v is None else v.take(positions)) for name, v in self.row_values)
        return replace(self, row_values=tuple(taken))

    def with_rows(self, rows: Mapping[str, ArrayLike]) -> FunctionObjective:
        """The same objective with these values of its training rows; see :func:`objective`."""
        if set(rows) != set(self.row_names):
            raise ValueError(
                f"{self._name} needs of each row {list(self.row_names)}, found {list(rows)}: give "
                "these, all of them"
            )
        read = {name: read_row_values(name, rows[name]) for name in self.row_names}
        if len({len(values) for values in read.values()}) > 1:
            raise ValueError(
                "the values of the rows must be of the same rows, found "
                + ", ".join(f"{name} of {len(values)}" for name, values in read.items())
            )
        return replace(self, row_values=tuple(read.items()))

    def without_rows(self) -> FunctionObjective:
        """The same objective with the names of its rows' values only."""
        return replace(self, row_values=tuple((name, None) for name in self.row_names))

    @property
    def _keywords(self) -> dict[str, Array]:
        return {name: values.values for name, values in self.row_values if values is not None}

    def check_rows(self, n: int, of: str) -> None:
        if not self.row_names or self.rows == n:
            return
        name = self.row_names[0]
        if self.rows is None:
            raise ValueError(
                f"{self._name} needs {name} of each row, which objective() has by name only: with "
                f"a drop-in estimator fit(X, y, {name}={name}); elsewhere make it with the values, "
                f"rows={{{name!r}: {name}}}"
            )
        raise ValueError(
            f"{of} has {n} rows, but {name} has {self.rows}: the objective needs it of each "
            "training row, in their order. Where scikit-learn holds rows out, name it, "
            f"objective(function, rows=[{name!r}]), and pass it to fit, which splits it: "
            f"GridSearchCV(...).fit(X, y, {name}={name}), cross_val_score(..., "
            f"params={{{name!r}: {name}}}). Elsewhere objective.take(positions) is for some of the "
            "rows, and cv() takes them itself"
        )

    def _loss(self, y: Array, f: Array, w: Array | None) -> float:
        if self.loss_function is None:
            raise NotImplementedError(f"{self._name} has no loss: pass loss= to objective()")
        self.label_domain.check("y_true", y)
        self.margin_domain.check("margin", f)
        if not len(f):  # of a worker without rows
            return 0.0
        return float(self.loss_function(y, f, w, **self._keywords))

    def _check_caller(self) -> None:
        _versions.check_loaded()
        # only the user knows what its margin is
        _callers.refuse_objective(self._name, None, reduces=_workers.workers())

    @property
    def _name(self) -> str:
        return getattr(self.function, "__name__", "function")

    def _check_margin_shape(self, f: Array) -> None:
        if f.ndim not in (1, 2):
            raise ValueError(f"margin must have shape (n,) or (n, K), found {f.shape}")

    def _bind(
        self, y: Array, w: Array | None, start: Start, dtype: np.dtype[Any], lasting: bool
    ) -> Bound:
        self.label_domain.check("y_true", y)
        y, w = _read_only(y), None if w is None else _read_only(w)  # the booster's own memory
        moved = isinstance(start, np.ndarray) or start
        looked = False

        def gradient_hessian(f: Array) -> tuple[Array, Array]:
            nonlocal looked
            f = f + start if moved else f
            if _workers.several() and not looked:
                self._check_alone(y, f, w)
                looked = True
            return self._call(y, f, w, dtype)

        return gradient_hessian

    def _call(
        self, y: Array, f: Array, w: Array | None, dtype: np.dtype[Any]
    ) -> tuple[Array, Array]:
        self.margin_domain.check("margin", f)
        several = _workers.several()
        if several and not len(f):
            return np.empty_like(f, dtype), np.empty_like(f, dtype)
        returned = self.function(y, _read_only(f), w, **self._keywords)
        if not isinstance(returned, tuple) or len(returned) != 2:
            raise TypeError(
                f"{self._name} must return a tuple (gradient, hessian), found "
                f"{type(returned).__name__}"
            )
        gradient, hessian = (
            self._check_result(f"the {part} returned by {self._name}", values, f.shape, dtype)
            for part, values in zip(("gradient", "hessian"), returned, strict=True)
        )
        nothing = not several and not hessian.any()  # of several, others may have rows that count
        if hessian.min() < 0 or nothing:
            raise ValueError(
                f"the hessian returned by {self._name} must be >= 0 and not 0 everywhere, found a "
                f"minimum of {hessian.min():g} and a maximum of {hessian.max():g}: boosters would "
                "silently build no trees; use an upper bound or a constant instead"
            )
        return gradient, hessian

    def _check_alone(self, y: Array, f: Array, w: Array | None) -> None:
        """Raise if the gradient of a row depends on other rows, of which a worker sees its own
        only; a look at a few, each without the other half."""
        n = min(len(f), FEW_ROWS)
        parts = []
        for rows in (slice(0, n), slice(0, n // 2)):
            of_rows = {name: values[rows] for name, values in self._keywords.items()}
            weights = None if w is None else w[rows]
            try:
                returned = self.function(y[rows], f[rows], weights, **of_rows)[0]
                parts.append(np.asarray(returned, np.float64))
            except Exception:  # it may hold arrays of all its rows; its own call says what is wrong
                return
        whole, half = parts[0][: n // 2], parts[1]
        if whole.shape == half.shape and not np.allclose(whole, half, rtol=1e-3, equal_nan=True):
            raise ValueError(
                f"the gradient of {self._name} for a row depends on other rows, but each worker "
                "would see its own only: write it as ratio_objective(...), or as a subclass of "
                "Objective with _sums and _totals, or train on one machine"
            )

    def _check_result(
        self, name: str, values: ArrayLike, shape: tuple[int, ...], dtype: np.dtype[Any]
    ) -> Array:
        array = _checks.real_array(name, values)
        if array.shape != shape:
            raise ValueError(f"{name} must have the margin's shape {shape}, found {array.shape}")
        _checks.finite(name, array)
        with np.errstate(over="ignore"):
            converted = np.array(array, dtype, order="C")
        if not np.isfinite(converted).all():
            raise ValueError(
                f"{name} goes up to {np.abs(array).max():g}, more than boosters' float32 holds: "
                "divide the loss by a constant"
            )
        return converted


def _read_only(array: Array) -> Array:
    view = array.view()
    view.flags.writeable = False
    return view


def objective(
    function: GradientFunction,
    *,
    loss: LossFunction | None = None,
    intercept: float | None = None,
    rows: Mapping[str, ArrayLike] | Sequence[str] | None = None,
) -> FunctionObjective:
    """Wrap your own gradient function, with the checks of the built-in objectives.

    Parameters
    ----------
    function : callable
        ``function(y_true, margin, sample_weight) -> (gradient, hessian)``. Labels of
        shape (n,), margins and results of shape (n,) or (n, K), ``sample_weight`` of
        shape (n,) or None. The function applies the weights: boosters do not apply them
        to custom gradients. Defined at module level it can be pickled; a lambda cannot.
    loss : callable, optional
        ``loss(y_true, margin, sample_weight) -> float``, the total that ``function``
        differentiates.
    intercept : float, optional
        Where ``train`` starts boosting, in margin units; 0 if None.
    rows : mapping or list of str, optional
        What else the function, and the loss, need of each training row: costs, offsets, groups.
        ``{"cost": cost}``, with numbers of shape (n, ...) in the order of the training rows, is
        for ``train`` and ``cv``, which splits it, and for a ``fit`` on all rows.
        ``["cost"]`` names what the drop-in estimators get as ``fit(X, y, cost=cost)``, which
        scikit-learn's cross-validation splits. Both are passed on by keyword,
        ``function(y_true, margin, sample_weight, cost=cost)``.

    Returns
    -------
    FunctionObjective
        Usable as ``obj=`` and ``objective=`` in all four booster interfaces.

    Raises
    ------
    TypeError
        If ``function`` or ``loss`` cannot be called with these arguments, or ``rows`` does not
        hold numbers: encode groups as whole numbers.
    ValueError
        If values in ``rows`` are not finite or not of the same number of rows. While training,
        if there are not as many training rows, a gradient is not finite or of another shape, or
        a hessian is negative or zero everywhere.

    Notes
    -----
    ``rows`` are bound to the training rows by position, and copied. Another number of rows is
    refused; another order, or as many other rows, cannot be noticed, except that pandas objects
    given to ``fit`` must have the index of X. Evaluation sets need none: their metric does not
    see it.

    Examples
    --------
    >>> import numpy as np
    >>> from gbdt_objectives import objective
    >>> def squared_error(y_true, margin, sample_weight):
    ...     w = np.ones_like(margin) if sample_weight is None else sample_weight
    ...     return w * (margin - y_true), w
    >>> gradient, hessian = objective(squared_error)(np.array([1.0, 2.0]), np.zeros(2))
    >>> gradient
    array([-1., -2.], dtype=float32)

    With a cost for each row:

    >>> def costly_error(y_true, margin, sample_weight, cost):
    ...     w = cost if sample_weight is None else cost * sample_weight
    ...     return w * (margin - y_true), w
    >>> obj = objective(costly_error, rows={"cost": [1, 10]})
    >>> obj(np.array([1.0, 2.0]), np.zeros(2))[0]
    array([ -1., -20.], dtype=float32)
    >>> obj.take([1])(np.array([2.0]), np.zeros(1))[0]
    array([-20.], dtype=float32)
    """
    if not callable(function):
        raise TypeError(f"function must be callable, found {type(function).__name__}")
    if isinstance(function, Objective):
        raise TypeError(f"function is already an objective, {function!r}: pass it as it is")
    names = _read_row_names(rows)
    _check_signature("function", function, names)
    if loss is not None:
        if not callable(loss):
            raise TypeError(f"loss must be callable or None, found {type(loss).__name__}")
        if names:
            _check_signature("loss", loss, names)
    if intercept is not None:
        intercept = _checks.number("intercept", intercept)
    named = tuple((name, None) for name in names)
    made = FunctionObjective(
        function=function, loss_function=loss, intercept=intercept, row_values=named
    )
    return made.with_rows(rows) if isinstance(rows, Mapping) else made


def _read_row_names(rows: object) -> list[str]:
    if rows is None:
        return []
    names = list(rows) if isinstance(rows, Mapping | list | tuple) else []
    if not names or not all(isinstance(name, str) for name in names):
        raise TypeError(
            'rows must be a dict of arrays, {"cost": cost}, or a list of names, ["cost"], found '
            f"{_checks.shown(rows)}: of a DataFrame dict(frame)"
        )
    if len(set(names)) < len(names):
        raise ValueError(f"the names in rows must differ, found {_checks.shown(names)}")
    return names


def _check_signature(what: str, function: Callable[..., Any], names: Sequence[str]) -> None:
    """Raise unless it takes (y_true, margin, sample_weight) and the values of rows by name."""
    signature = inspect.signature(function)
    try:
        signature.bind(None, None, None, **dict.fromkeys(names))
    except TypeError as error:
        hint = (
            "multiply gradient and hessian by sample_weight when it is not None (boosters do not)"
            if what == "function"
            else "multiply each row's loss by sample_weight when it is not None"
        )
        raise TypeError(
            f"{what} must take ({', '.join(['y_true', 'margin', 'sample_weight', *names])}), found "
            f"{signature}, {error}: add the missing parameters, and {hint}; what else it needs of "
            'each row is named in rows={"cost": cost}'
        ) from None
