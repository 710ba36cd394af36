"""Objective: what a loss must offer, and how the boosters call it.

Conventions of this folder
--------------------------
n rows. ``y_true``: labels, shape (n,). ``margin``: untransformed scores, shape
(n,). ``sample_weight``: shape (n,), >= 0, or None for all ones; a weight of w
means the same as w copies of the row, also inside sums over all rows.
``gradient``, ``hessian``: first derivative and diagonal of the second, one a
row, shaped like the margin. ``loss``: the total over rows, not the mean.
"""

from __future__ import annotations

import inspect
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar, Literal, TypeVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from gbdt_objectives import _checks
from gbdt_objectives._blocks import blocks

Array = NDArray[Any]
Self = TypeVar("Self", bound="Objective")
HessianKind = Literal["exact", "constant", "upper_bound", "undeclared"]


@dataclass(frozen=True, kw_only=True)
class Objective:
    """A loss that boosters can train on: the base of every objective here.

    An instance *is* the booster's ``obj=`` or ``objective=`` argument, the same
    one for the native and the scikit-learn interface of XGBoost and LightGBM.
    It is frozen, so it can be pickled, cloned, compared and shared.

    A loss implements ``loss``, ``_rows`` and, if its gradient couples rows,
    ``_sums``; everything else is inherited.

    Attributes
    ----------
    intercept : float or None
        Where boosting should start, in margin units. None: not known before
        :meth:`measured` has seen the labels, or the loss has no such place.
    hessian_kind : {"exact", "constant", "upper_bound", "undeclared"}
        What the returned hessian is, relative to the loss's second derivative.
    link : {"identity", "logit"}
        What a margin is: the prediction itself, or the log-odds of label 1.
    """

    hessian_kind: ClassVar[HessianKind]
    link: ClassVar[Literal["identity", "logit"]] = "identity"

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
        y, f, w = self._checked(y_true, margin, sample_weight)
        ready = self._ready(y, w)
        ready._warn_of_far_start(f)
        return ready._gradient_hessian(y, f, w, np.dtype(np.float32))

    def __deepcopy__(self: Self, memo: dict[int, Any]) -> Self:
        return self  # immutable; LightGBM and sklearn.clone copy the callables they are given

    def _checked(
        self, y_true: ArrayLike, margin: ArrayLike, sample_weight: ArrayLike | None
    ) -> tuple[Array, Array, Array | None]:
        """Arrays of matching shape. What must be read row by row is checked in the row-wise code,
        while the rows are in the processor's cache."""
        y, f = _checks.real_array("y_true", y_true), _checks.real_array("margin", margin)
        if f.size == 0:
            raise ValueError("margin is empty: there must be at least one row")
        if f.ndim != 1:
            hint = ": remove num_class and train with one output" if f.ndim == 2 else ""
            raise ValueError(
                f"{type(self).__name__} takes one margin a row, found shape {f.shape}{hint}"
            )
        if y.ndim != 1:
            raise ValueError(f"y_true must be one-dimensional, found shape {y.shape}")
        _checks.same_length("y_true", y, "the margins", len(f))
        if sample_weight is None:
            return y, f, None
        w = _checks.real_array("sample_weight", sample_weight)
        if w.ndim != 1:
            raise ValueError(f"sample_weight must be one-dimensional, found shape {w.shape}")
        _checks.same_length("sample_weight", w, "the labels", len(y))
        if not w.min() >= 0 or not np.isfinite(w.max()) or not w.any():
            _checks.weights("sample_weight", w, len(y))
        return y, f, w

    def _gradient_hessian(
        self, y: Array, f: Array, w: Array | None, dtype: np.dtype[Any]
    ) -> tuple[Array, Array]:
        """The row-wise part, block by block into fresh arrays, after the sums if there are any."""
        gradient, hessian = np.empty((2, len(f)), dtype)  # two contiguous rows: one allocation
        totals = self._totals(y, f, w, gradient, hessian)
        for rows in blocks(gradient):
            w_block = None if w is None else w[rows]
            self._rows(y[rows], f[rows], w_block, totals, gradient[rows], hessian[rows])
        return gradient, hessian

    def _ready(self: Self, y: Array, w: Array | None) -> Self:
        """This objective with all that its gradient needs."""
        return self

    def _totals(self, y: Array, f: Array, w: Array | None, gradient: Array, hessian: Array) -> Any:
        """What the row-wise part needs to know of all rows together: nothing, for most losses.

        ``gradient`` and ``hessian`` are free to use: what is left there, ``_rows`` finds there.
        """
        return None

    def _rows(
        self, y: Array, f: Array, w: Array | None, totals: Any, gradient: Array, hessian: Array
    ) -> None:
        """Write gradient and hessian of a block of rows."""
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
                f"this objective can fail to learn: pass base_score={intercept:g} to XGBoost or "
                f"init_score={intercept:g} for every row to LightGBM, or use train() of "
                "gbdt_objectives.adapters, which starts there and keeps the intercept in the model",
                UserWarning,
                stacklevel=3,
            )


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

    def _checked(
        self, y_true: ArrayLike, margin: ArrayLike, sample_weight: ArrayLike | None
    ) -> tuple[Array, Array, Array | None]:
        # a user's function may take (n, K) margins; all else is as for every objective
        f = _checks.real_array("margin", margin)
        y, _, w = super()._checked(y_true, f if f.ndim != 2 else f[:, 0], sample_weight)
        _checks.finite("y_true", y)
        _checks.finite("margin", f)
        return y, f, w

    def _gradient_hessian(
        self, y: Array, f: Array, w: Array | None, dtype: np.dtype[Any]
    ) -> tuple[Array, Array]:
        f = f.view()  # the booster's own buffer: the function may read it, not write to it
        f.flags.writeable = False
        name = getattr(self.function, "__name__", "function")
        returned = self.function(y, f, w)
        if not isinstance(returned, tuple) or len(returned) != 2:
            raise TypeError(
                f"{name} must return a tuple (gradient, hessian), found {type(returned).__name__}"
            )
        arrays = []
        for part, values in zip(("gradient", "hessian"), returned, strict=True):
            array = _checks.real_array(f"the {part} returned by {name}", values)
            if array.shape != f.shape:
                raise ValueError(
                    f"the {part} returned by {name} must have the margin's shape {f.shape}, "
                    f"found {array.shape}"
                )
            _checks.finite(f"the {part} returned by {name}", array)
            arrays.append(np.array(array, dtype, order="C"))
        gradient, hessian = arrays
        if hessian.min() < 0 or not hessian.any():
            raise ValueError(
                f"the hessian returned by {name} must be >= 0 and not 0 everywhere, found a "
                f"minimum of {hessian.min():g} and a maximum of {hessian.max():g}: boosters then "
                "build no tree and say nothing; use an upper bound or a constant instead"
            )
        return gradient, hessian


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
