"""Objective: what a loss must offer, and how the boosters call it.

Conventions of this folder
--------------------------
n rows. ``y_true``: labels, shape (n,). ``margin``: untransformed scores, shape
(n,). ``sample_weight``: shape (n,), >= 0, or None for all ones; a weight of w
means the same as w copies of the row, also inside sums over all rows.
``gradient``, ``hessian``: first derivative and diagonal of the second, one a
row, shaped like the margin. ``loss``: the total over rows, not the mean.

Rows are worked on a block at a time, twice if the gradient couples rows: first ``_sums``
adds up what all of them must share, then ``_rows`` writes gradient and hessian. Both are
given the block's *constants*, all that the loss needs of labels and weights, checked and
in the precision of the margin; an objective that is bound to its data has them ready.
"""

from __future__ import annotations

import inspect
import math
import warnings
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Any, ClassVar, Literal, NamedTuple, TypeVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from gbdt_objectives import _callers, _checks, _versions
from gbdt_objectives._blocks import blocks, dot

Array = NDArray[Any]
Self = TypeVar("Self", bound="Objective")
Constants = tuple[Any, ...]
Sums = tuple[float, ...]
HessianKind = Literal["exact", "constant", "upper_bound", "undeclared"]


class Block(NamedTuple):
    """A stretch of rows: where it is, its constants, and where its results go."""

    rows: slice
    constants: Constants
    gradient: Array
    hessian: Array


@dataclass(frozen=True, kw_only=True)
class Objective:
    """A loss that boosters can train on: the base of every objective here.

    An instance *is* the booster's ``obj=`` or ``objective=`` argument, the same
    one for the native and the scikit-learn interface of XGBoost and LightGBM.
    It is frozen, so it can be pickled, cloned, compared and shared.

    A loss implements ``loss``, ``_constants``, ``_rows`` and, if its gradient couples
    rows, ``_sums`` and ``_totals``; everything else is inherited.

    Attributes
    ----------
    intercept : float or None
        Where boosting should start, in margin units. None: not known before
        :meth:`measured` has seen the labels, or the loss has no such place.
    hessian_kind : {"exact", "constant", "upper_bound", "undeclared"}
        What the returned hessian is, relative to the loss's second derivative. A
        "constant" one is the weight of the row.
    link : {"identity", "logit"}
        What a margin is: the prediction itself, or the log-odds of label 1.
    """

    hessian_kind: ClassVar[HessianKind]
    link: ClassVar[Literal["identity", "logit"]] = "identity"
    couples_rows: ClassVar[bool] = False

    @property
    def intercept(self) -> float | None:
        return None

    @property
    def start_tolerance(self) -> float | None:
        """How far from ``intercept`` boosting may start; None if it does not matter."""
        return None

    def measured(self: Self, y_true: ArrayLike, sample_weight: ArrayLike | None = None) -> Self:
        """The same objective with all that it takes from the training labels filled in."""
        return self

    def loss(
        self, y_true: ArrayLike, margin: ArrayLike, sample_weight: ArrayLike | None = None
    ) -> float:
        """Total loss over the rows: what the gradient differentiates."""
        raise NotImplementedError(f"{type(self).__name__} has no loss, only a gradient")

    def gradient_hessian(
        self, y_true: ArrayLike, margin: ArrayLike, sample_weight: ArrayLike | None = None
    ) -> tuple[Array, Array]:
        """Gradient and hessian of every row, in the precision of ``margin``."""
        y, f, w = self._checked(y_true, margin, sample_weight)
        return self._ready(y, w)._gradient_hessian(y, f, w, f.dtype)

    def __call__(
        self, a: Any, b: Any, sample_weight: ArrayLike | None = None
    ) -> tuple[Array, Array]:
        """Gradient and hessian, float32, called in either form that boosters use.

        ``(margin, dataset)`` from ``xgboost.train`` and ``lightgbm.train``,
        ``(y_true, margin, sample_weight)`` from the scikit-learn interfaces.
        The second argument decides: a dataset has ``get_label``.
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
        y, f, w = self._checked(y_true, margin, sample_weight)
        ready = self._ready(y, w)
        ready._warn_of_far_start(f)
        return ready._gradient_hessian(y, f, w, np.dtype(np.float32))

    def bind(
        self, y_true: ArrayLike, sample_weight: ArrayLike | None = None, *, start: float = 0.0
    ) -> BoundObjective:
        """This objective with the labels and weights that it is trained on.

        They are read, checked and converted once, what is taken from them is measured
        once, and buffers are reused.

        Parameters
        ----------
        y_true : array-like of shape (n,)
        sample_weight : array-like of shape (n,), optional
        start : float
            What is added to every margin: a booster that starts at 0 is trained as if
            it started there.

        Returns
        -------
        BoundObjective
            ``bound(margin)`` is the objective's gradient and hessian, float32.
        """
        y, w = self._checked_labels(y_true, sample_weight)
        start = _checks.number("start", start)
        ready = self._ready(y, w)
        return BoundObjective(ready, len(y), ready._bound(y, w, start))

    def __deepcopy__(self: Self, memo: dict[int, Any]) -> Self:
        return self  # immutable; LightGBM and sklearn.clone copy the callables they are given

    def _ready(self: Self, y: Array, w: Array | None) -> Self:
        """This objective with all that its gradient takes from the training labels."""
        return self

    def _check_caller(self) -> None:
        """Raise where the caller would make something else of this objective."""
        _versions.check_loaded()
        _callers.refuse_objective(type(self).__name__, self.link)

    def _checked(
        self, y_true: ArrayLike, margin: ArrayLike, sample_weight: ArrayLike | None
    ) -> tuple[Array, Array, Array | None]:
        """Arrays of matching shape. What must be read row by row is checked in the row-wise code,
        while the rows are in the processor's cache."""
        y, f = _checks.real_array("y_true", y_true), _checks.real_array("margin", margin)
        if f.size == 0:
            raise ValueError("margin is empty: there must be at least one row")
        self._check_margin_shape(f)
        if y.ndim == 1:
            _checks.same_length("y_true", y, "the margins", len(f))
        y, w = self._checked_labels(y, sample_weight)
        return y, f, w

    def _check_margin_shape(self, f: Array) -> None:
        if f.ndim != 1:
            hint = ": remove num_class and train with one output" if f.ndim == 2 else ""
            raise ValueError(
                f"{type(self).__name__} takes one margin a row, found shape {f.shape}{hint}"
            )

    def _checked_labels(
        self, y_true: ArrayLike, sample_weight: ArrayLike | None
    ) -> tuple[Array, Array | None]:
        y = _checks.real_array("y_true", y_true)
        if y.ndim != 1:
            raise ValueError(f"y_true must be one-dimensional, found shape {y.shape}")
        if y.size == 0:
            raise ValueError("y_true is empty: there must be at least one row")
        if sample_weight is None:
            return y, None
        w = _checks.real_array("sample_weight", sample_weight)
        # the quick look; what is wrong is found and said by the slow one
        if w.shape != y.shape or not 0 < w.max() <= _checks.LARGEST_WEIGHT or not w.min() >= 0:
            _checks.weights("sample_weight", w, len(y))
        return y, w

    def _gradient_hessian(
        self, y: Array, f: Array, w: Array | None, dtype: np.dtype[Any]
    ) -> tuple[Array, Array]:
        """Into fresh arrays; the blocks' constants are made in the first pass over them."""
        gradient, hessian = np.empty((2, len(f)), dtype)  # two contiguous rows: one allocation
        constant, made = self.hessian_kind == "constant", list[Block]()

        def each() -> Iterator[Block]:
            if not made:
                for rows in blocks(gradient):
                    v = None if w is None else w[rows]
                    constants = self._constants(y[rows], v, dtype, hessian[rows])
                    block = Block(rows, constants, gradient[rows], hessian[rows])
                    if self.couples_rows:  # there will be a second pass
                        made.append(block)
                    yield block
                return
            for block in made:
                yield block
                if constant:
                    block.hessian[:] = 1 if w is None else w[block.rows]

        self._evaluate(each, f, 0.0)
        return gradient, hessian

    def _bound(
        self, y: Array, w: Array | None, start: float
    ) -> Callable[[Array], tuple[Array, Array]]:
        """Margins to gradient and hessian, with all that labels and weights give ready."""
        dtype = np.dtype(np.float32)
        gradient, hessian = np.ones((2, len(y)), dtype)
        if w is not None:
            hessian[:] = w
        ready = [
            Block(
                rows,
                self._constants(y[rows], None if w is None else w[rows], dtype),
                gradient[rows],
                hessian[rows],
            )
            for rows in blocks(gradient)
        ]

        def gradient_hessian(f: Array) -> tuple[Array, Array]:
            self._evaluate(lambda: ready, f, start, strict=False)
            return gradient, hessian

        return gradient_hessian

    def _evaluate(
        self, each: Callable[[], Iterable[Block]], f: Array, start: float, strict: bool = True
    ) -> None:
        """Fill gradient and hessian of all blocks.

        Sums tell of NaN as well: if not ``strict``, nothing else looks at the margins, and
        an infinite one that is clipped is what it is clipped to.
        """
        if not self.couples_rows:
            for rows, constants, gradient, hessian in each():
                margin = _margin(f[rows], start, gradient)
                check_finite(margin)
                self._rows(constants, margin, None, gradient, hessian)
            return
        parts = []
        for rows, constants, gradient, _ in each():
            margin = _margin(f[rows], start, gradient)
            if strict:
                check_finite(margin)
            parts.append(self._sums(constants, margin, gradient))
        sums = parts[0] if len(parts) == 1 else added(parts)
        if not math.isfinite(sum(sums)):
            _checks.finite("margin", f)
        totals = self._totals(sums)
        for _, constants, gradient, hessian in each():
            self._rows(constants, gradient, totals, gradient, hessian)

    def _constants(
        self, y: Array, w: Array | None, dtype: np.dtype[Any], spare: Array | None = None
    ) -> Constants:
        """What the loss needs of a block of labels and weights; raises for wrong labels.

        ``spare`` is memory for one of its arrays, until ``_rows`` writes the hessian there.
        """
        raise NotImplementedError

    def _sums(self, constants: Constants, f: Array, kept: Array) -> Sums:
        """Additive sums over a block. What is left in ``kept``, which may hold ``f``
        itself, is what ``_rows`` finds in place of the margin."""
        raise NotImplementedError

    def _totals(self, sums: Sums) -> Any:
        """What ``_rows`` needs to know of all rows, from the sums of this worker's."""
        raise NotImplementedError

    def _rows(
        self, constants: Constants, f: Array, totals: Any, gradient: Array, hessian: Array
    ) -> None:
        """Write gradient and hessian of a block; ``f`` may be the gradient's own memory. A
        constant hessian is there already."""
        raise NotImplementedError

    def _warn_of_far_start(self, f: Array) -> None:
        """Boosters call first with every margin at their own start: 0, 0.5 or base_score."""
        intercept, tolerance = self.intercept, self.start_tolerance
        if intercept is None or tolerance is None:
            return
        start = float(f[0])
        glance = f[:: max(1, len(f) // 16)]  # tells in all calls but the first, at no cost
        if not (glance == start).all():
            return
        if abs(start - intercept) > tolerance and (f == start).all():
            warnings.warn(
                f"boosting starts at {start:g}, far from the labels' centre {intercept:g}, where "
                "this objective can fail to learn: import train, cv or the estimator from "
                "gbdt_objectives.adapters.xgboost or .lightgbm, which start there and keep the "
                f"intercept in the model (in XGBoost base_score={intercept:g} does, too; "
                "LightGBM's init_score would be missing from the predictions)",
                UserWarning,
                stacklevel=3,
            )


class BoundObjective:
    """An objective with its data, as trainers hand it to a booster; see :meth:`Objective.bind`.

    Attributes
    ----------
    objective : Objective
        With all that its gradient takes from the data filled in.
    """

    def __init__(
        self, objective: Objective, rows: int, compute: Callable[[Array], tuple[Array, Array]]
    ) -> None:
        self.objective = objective
        self._shape = (rows,)
        self._compute = compute

    def __call__(self, margin: Array, data: object = None) -> tuple[Array, Array]:
        """Gradient and hessian, float32; the same arrays are filled again by the next call."""
        if type(margin) is not np.ndarray or margin.dtype.char not in "fd":
            margin = _checks.real_array("margin", margin)
        if margin.shape != self._shape:
            self.objective._check_margin_shape(margin)
            _checks.same_length("margin", margin, "the labels", *self._shape)
        return self._compute(margin)


def added(parts: Iterable[Sums]) -> Sums:
    """The sums over all blocks."""
    return tuple(map(sum, zip(*parts, strict=True)))


def _margin(f: Array, start: float, out: Array) -> Array:
    """f + start in the precision of ``out``, without a copy if it can be."""
    if start or f.dtype != out.dtype:
        f = np.add(f, start, out=out, casting="same_kind")
    return f


def check_finite(f: Array) -> None:
    """Raise if a margin of a block is NaN or infinite; cheap where none is."""
    if not math.isfinite(dot(f, f)):
        _checks.finite("margin", f)


GradientFunction = Callable[[Array, Array, "Array | None"], tuple[Array, Array]]
LossFunction = Callable[[Array, Array, "Array | None"], float]


@dataclass(frozen=True, kw_only=True)
class FunctionObjective(Objective):
    """A user's own gradient function as an :class:`Objective`; see :func:`objective`."""

    hessian_kind: ClassVar[HessianKind] = "undeclared"
    function: GradientFunction
    loss_function: LossFunction | None = None
    intercept: float | None = None

    def loss(
        self, y_true: ArrayLike, margin: ArrayLike, sample_weight: ArrayLike | None = None
    ) -> float:
        if self.loss_function is None:
            return super().loss(y_true, margin, sample_weight)
        y, f, w = self._checked(y_true, margin, sample_weight)
        return float(self.loss_function(y, f, w))

    def _check_caller(self) -> None:
        _versions.check_loaded()
        _callers.refuse_objective(self._name, None)  # what its margin means is the user's knowledge

    @property
    def _name(self) -> str:
        return getattr(self.function, "__name__", "function")

    def _check_margin_shape(self, f: Array) -> None:
        if f.ndim not in (1, 2):
            raise ValueError(f"margin must have shape (n,) or (n, K), found {f.shape}")

    def _gradient_hessian(
        self, y: Array, f: Array, w: Array | None, dtype: np.dtype[Any]
    ) -> tuple[Array, Array]:
        return self._called(_read_only(y), f, None if w is None else _read_only(w), dtype)

    def _bound(
        self, y: Array, w: Array | None, start: float
    ) -> Callable[[Array], tuple[Array, Array]]:
        y, w = _read_only(y), None if w is None else _read_only(w)
        dtype = np.dtype(np.float32)
        return lambda f: self._called(y, f + start if start else f, w, dtype)

    def _called(
        self, y: Array, f: Array, w: Array | None, dtype: np.dtype[Any]
    ) -> tuple[Array, Array]:
        """The function's gradient and hessian; what it reads is the booster's own memory."""
        _checks.finite("y_true", y)
        _checks.finite("margin", f)
        returned = self.function(y, _read_only(f), w)
        if not isinstance(returned, tuple) or len(returned) != 2:
            raise TypeError(
                f"{self._name} must return a tuple (gradient, hessian), found "
                f"{type(returned).__name__}"
            )
        gradient, hessian = (
            self._converted(f"the {part} returned by {self._name}", values, f.shape, dtype)
            for part, values in zip(("gradient", "hessian"), returned, strict=True)
        )
        if hessian.min() < 0 or not hessian.any():
            raise ValueError(
                f"the hessian returned by {self._name} must be >= 0 and not 0 everywhere, found a "
                f"minimum of {hessian.min():g} and a maximum of {hessian.max():g}: boosters then "
                "build no tree and say nothing; use an upper bound or a constant instead"
            )
        return gradient, hessian

    def _converted(
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
) -> FunctionObjective:
    """Wrap your own gradient function, with the checks of the built-in objectives.

    Parameters
    ----------
    function : callable
        ``function(y_true, margin, sample_weight) -> (gradient, hessian)``. Labels of
        shape (n,), margins and results of shape (n,) or (n, K), ``sample_weight`` of
        shape (n,) or None. Weights are the function's business: boosters do not apply
        them to custom gradients. Defined at module level it pickles; a lambda does not.
    loss : callable, optional
        ``loss(y_true, margin, sample_weight) -> float``, the total that ``function``
        differentiates.
    intercept : float, optional
        Where ``train`` starts boosting, in margin units; None starts at 0.

    Returns
    -------
    FunctionObjective
        Usable as ``obj=`` and ``objective=`` in all four booster interfaces.

    Raises
    ------
    TypeError
        If ``function`` is not callable with three arguments.
    ValueError
        While training, if a gradient is not finite or of another shape, or a hessian
        is negative or zero everywhere.

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
    """
    if not callable(function):
        raise TypeError(f"function must be callable, found {type(function).__name__}")
    if isinstance(function, Objective):
        raise TypeError(f"function is already an objective, {function!r}: use it as it is")
    try:
        inspect.signature(function).bind(None, None, None)
    except TypeError:
        raise TypeError(
            f"function must take (y_true, margin, sample_weight), found "
            f"{inspect.signature(function)}: add the missing parameters, and multiply gradient "
            "and hessian by sample_weight when it is not None (boosters do not)"
        ) from None
    if loss is not None and not callable(loss):
        raise TypeError(f"loss must be callable or None, found {type(loss).__name__}")
    if intercept is not None:
        intercept = _checks.number("intercept", intercept)
    return FunctionObjective(function=function, loss_function=loss, intercept=intercept)
