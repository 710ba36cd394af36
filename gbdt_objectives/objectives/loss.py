"""A loss: equations, and what they are asked on the way to an :class:`Objective`."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from inspect import signature
from typing import Any, Literal, TypeVar, cast

import numpy as np
from numpy.typing import ArrayLike

from gbdt_objectives import _checks
from gbdt_objectives._checks import Array, Training, to_host
from gbdt_objectives._checks.arrays import REAL, Domain, Interval
from gbdt_objectives._checks.guards import ONE_WAY
from gbdt_objectives._checks.tables import index_of
from gbdt_objectives._links import IDENTITY
from gbdt_objectives._public import public
from gbdt_objectives._rows import workers as _workers
from gbdt_objectives._rows.rows import EXPRESSION_BYTES, HOST, Rows, RowValues

FLOAT32 = np.dtype(np.float32)
HessianKind = Literal["exact", "constant", "upper_bound", "bounded", "undeclared"]
HOOKS = {  # the methods that a loss may write, and the arguments that each gets by position
    "measured": ("rows",), "totals": ("rows",), "value": ("rows",),
    "row_loss": ("y", "f", "xp"), "gradient_hessian": ("y", "f", "totals", "xp"),
}  # fmt: skip
Named = tuple[tuple[str, RowValues | None], ...]
Self = TypeVar("Self", bound="Loss")
Start = float | Array  # what is added to every margin, or one number for each output, (K,)
Both = tuple[Any, Any]  # gradient and hessian
Writer = Callable[[Array], None]  # writes both, at the margins that it gets


@public
@dataclass(frozen=True, kw_only=True)
class Loss:
    """The equations of a loss: what :func:`objective` makes an :class:`Objective` of.

    A row-wise loss declares ``labels``, ``link`` and ``hessian``, and writes ``row_loss`` and
    ``gradient_hessian``. A loss whose gradient needs sums over all rows writes ``totals`` and
    ``value`` too. A loss that depends on the training labels, if only in its intercept, writes
    ``measured``. ``xp`` has the functions of the arrays' library, numpy's or those of the array API
    standard; equations that use these alone work on devices too.

    Attributes
    ----------
    labels, link : Domain, Link
        The labels that the loss is defined for; all others are refused. What a margin means.
    hessian : {"exact", "constant", "upper_bound", "bounded", "undeclared"}
        "exact" is the second derivative of the loss, "constant" is 1, "upper_bound" is nowhere
        below the second derivative, "bounded" is so large that the step of a leaf, -sum g / sum h,
        never passes the leaf's optimum, and "undeclared" is anything.
    outputs : int
        How many margins a row has: 1, of shape (n,), or K, of shape (n, K).
    intercept, start_tolerance : float, tuple of K floats or None
        Where boosting should start, in margin units, and how far from it it may start.
    needs_labels, fits_margins : bool
        Whether loss and gradient are known only once the training labels are measured, and whether
        ``measured`` fits something to the margins of rows that have them.
    couples_rows : bool
        Whether the gradient of a row depends on the other rows.
    scale_free : bool
        Whether the gradient is that of the loss only up to one positive factor.
    named : tuple of (str, RowValues or None)
        Values of each training row, which the equations get by name.
    reduce : callable or None
        A user's own function that sums a float64 array over workers.
    keep_rate : callable or None
        ``keep_rate(rows)``, the rate of kept negatives for which the loss corrects.
    whole, takes_device_arrays : bool
        Whether ``gradient_hessian`` takes all rows at once, and applies their ``sample_weight``;
        whether the equations are written in ``xp`` alone.
    """

    # Any, as a subclass may declare them as attributes, fields or properties
    labels = hessian = intercept = start_tolerance = reduce = keep_rate = cast(Any, None)
    link, outputs, named = cast(Any, IDENTITY), cast(Any, 1), cast(Any, ())
    needs_labels = scale_free = fits_margins = cast(Any, False)
    whole = False
    takes_device_arrays = True

    def __init_subclass__(cls) -> None:
        if cls.hessian is Loss.hessian or cls.labels is Loss.labels:
            raise TypeError(f"{cls.__name__} must declare hessian and labels")
        if isinstance(cls.link, str):
            raise TypeError(
                f"{cls.__name__} declares link = {cls.link!r}, a string: write link = LOG or the "
                "like, from gbdt_objectives.objectives"
            )
        for hook, names in HOOKS.items():
            try:
                signature(getattr(cls, hook)).bind_partial(None, *names)
            except TypeError as error:
                raise TypeError(
                    f"{cls.__name__}.{hook} must take (self, {', '.join(names)}): {error}"
                ) from None

    @property
    def couples_rows(self) -> bool:
        return type(self).totals is not Loss.totals

    @property
    def name(self) -> str:
        """The name that messages use."""
        return shown_name(type(self))

    def measured(self: Self, rows: Rows) -> Self:
        """The loss with what follows from all workers' labels, and what it fits to margins."""
        return self

    def row_loss(self, y: Any, f: Any, xp: Any) -> Any:
        """The loss of each row, without its weight."""
        raise NotImplementedError(
            f"{self.name} has no loss, only a gradient: pass loss= to objective(), or stop on "
            "another metric"
        )

    def gradient_hessian(self, y: Any, f: Any, totals: Any, xp: Any) -> Both:
        """Gradient and hessian of each row, without its weight; the hessian may be one number."""
        raise NotImplementedError(f"{self.name} has no gradient: write gradient_hessian")

    def totals(self, rows: Rows) -> Any:
        """The sums over the rows of all workers that the gradient needs."""
        return None

    def value(self, rows: Rows) -> tuple[float, float]:
        """Total loss and total weight of the rows of all workers."""

        def terms(y: Any, f: Any, xp: Any, **named: Any) -> tuple[Any, float]:
            losses = self.row_loss(y, f, xp, **named)
            if getattr(losses, "shape", ()) != y.shape:
                raise ValueError(
                    f"row_loss of {self.name} must give the loss of each row, shape {y.shape}, "
                    f"found {_checks.shown(losses)}: leave sums and means to value()"
                )
            return losses, 1.0

        total, n = rows.sum(terms)
        return float(total), float(n)

    def writer(self, rows: Rows, start: Start, gradient: Array, hessian: Array) -> Writer | None:
        """A faster way for bound objectives: a function that writes gradient and hessian, with the
        weights, at margins f + start into the memory given. None: ``gradient_hessian`` is used."""
        return None

    def read_named(self, name: str, values: ArrayLike) -> RowValues:
        """Read and check what a user gives as the values ``name`` of the training rows."""
        return read_row_values(name, values)

    @property
    def has_loss(self) -> bool:
        kind = type(self)
        return kind.row_loss is not Loss.row_loss or kind.value is not Loss.value

    def _compute(self, rows: Rows, dtype: Any, memory: Both | None = None) -> Both:
        """Gradient and hessian, weighted, from the totals of all workers and the equations."""
        totals = None
        if self.couples_rows:
            with _workers.summing(self.name):
                totals = self.totals(rows)
        if rows.place is not HOST:  # all rows at once, in new arrays on their device
            (part,) = rows.stretches(dtype)
            g, h = self.gradient_hessian(part.y, part.f, totals, part.xp, **part.named)
            if isinstance(h, int | float):
                h = part.xp.full_like(g, h)
            if part.w is not None:
                w = part.w if g.ndim == 1 else part.w[:, None]
                g, h = g * w, h * w
            return part.place.cast(g, dtype), part.place.cast(h, dtype)
        gradient, hessian = np.empty((2, *rows.f.shape), dtype) if memory is None else memory
        first = 0
        for part in rows.stretches(dtype, EXPRESSION_BYTES):
            at = slice(first, first := first + len(part))
            if len(part):
                named = {**part.named, "sample_weight": part.w} if self.whole else part.named
                g, h = self.gradient_hessian(part.y, part.f, totals, part.xp, **named)
                write_derivative("gradient", self, g, part, gradient[at])
                write_derivative("hessian", self, h, part, hessian[at])
        return gradient, hessian


def shown_name(kind: type[Loss]) -> str:
    """The name of objectives of a loss: QWKObjective for QWKLoss."""
    return f"{kind.__name__.removesuffix('Loss')}Objective"


def margin_shape(loss: Loss, n: int) -> tuple[int, ...]:
    return (n,) if loss.outputs == 1 else (n, loss.outputs)


def read_outputs(name: str, value: ArrayLike, K: int) -> Any:
    """A number if K is 1, or else K numbers, float64."""
    if K == 1:
        return _checks.number(name, value)
    numbers = _checks.vector(name, value).astype(np.float64)
    if len(numbers) != K:
        raise ValueError(f"{name} must hold {K} numbers, one an output, found {len(numbers)}")
    return numbers


def write_derivative(what: str, loss: Loss, values: Any, part: Rows, out: Array) -> None:
    """Write gradient or hessian of each margin, times the weights."""
    shape = np.shape(values)
    if shape != out.shape and (shape or what == "gradient"):
        raise ValueError(
            f"{loss.name} must give a gradient for each margin, and a hessian for each or one "
            f"number, shape {out.shape}, found a {what} of shape {shape}"
        )
    with np.errstate(over="ignore"):
        if part.w is None or loss.whole:
            out[...] = values
        else:
            w = part.w if out.ndim == 1 else part.w[:, np.newaxis]
            np.multiply(values, w, out=out, casting="same_kind")
    if not np.isfinite(out).all():
        _checks.finite(f"the {what} of {loss.name}", np.broadcast_to(values, out.shape))
        raise ValueError(
            f"the {what} of {loss.name} goes up to {np.abs(values).max():g}, more than boosters' "
            f"{out.dtype} holds: divide the loss by a constant"
        )


def read_start(
    training: Training, loss: Loss, rows: Rows, f: Any, gradient: Any
) -> dict[str, float | None]:
    """Where boosting starts, if all rows start alike. A loss that does not say how far from its
    intercept that may be is asked by its gradients: nearly all point one way."""
    n, alone = len(rows), not _workers.together_now()
    if alone and rows.place is HOST and (f[:: max(1, n // 16)] != f.flat[0]).any():
        return {}  # nearly all calls by hand, at no cost
    low, high = rows.place.extremes(f) if n else (np.inf, -np.inf)
    g = np.asarray(to_host(gradient), np.float64).reshape(n, -1 if n else loss.outputs)
    everybodys = _workers.all_gather([low, high, np.abs(g).sum(), *g.sum(axis=0)])
    start = float(everybodys[:, 0].min()) + 0.0  # not -0
    if start != everybodys[:, 1].max():
        return {}
    size, *sums = everybodys[:, 2:].sum(axis=0).tolist()
    intercept, tolerance, pull = loss.intercept, loss.start_tolerance, 0.0
    if tolerance is None and size and (training.library or training.start_by):
        pull = float(np.abs(sums).sum()) / size
        if intercept is None and pull >= ONE_WAY:
            intercept = loss.measured(replace(rows, f=None)).intercept
    best = None if isinstance(intercept, tuple) else intercept
    return {"intercept": best, "tolerance": tolerance, "start": start, "pull": pull}


def check_labels(rows: Rows, domain: Domain) -> None:
    """Raise for a label outside the domain; outside a range only if its row has weight."""
    if rows.place.contains(domain, rows.y):
        return
    y, w = to_host(rows.y), to_host(rows.w)
    if w is not None and isinstance(domain, Interval):
        _checks.finite("y_true", y)
        y = np.where(w > 0, y, float(np.clip([-1e30, 1e30], domain.low, domain.high).mean()))
    domain.check("y_true", y)


def check_margins(rows: Rows) -> None:
    if not rows.place.contains(REAL, rows.f):
        _checks.finite("margin", to_host(rows.f))


def read_row_values(name: str, values: ArrayLike) -> RowValues:
    """Read finite numbers with a first axis of at least one row; integers stay integers."""
    array = _checks.as_array(name, values)
    if array.dtype.kind not in "biuf":
        raise TypeError(
            f"{name} must hold numbers, found dtype {array.dtype}: encode groups as whole numbers, "
            "for instance numpy.unique(groups, return_inverse=True)[1]"
        )
    if array.size == 0 or array.ndim == 0:
        raise ValueError(
            f"{name} must be an array with values for each row, found shape {array.shape}"
        )
    if array.dtype.kind == "f":
        array = _checks.real_array(name, array)
        _checks.finite(name, array)
    array = array.astype(array.dtype.newbyteorder("="), copy=False)
    return RowValues(array, index_of(values))
