"""Objectives made of a loss alone, which jax differentiates: y labels, f margins, w weights.

jax is imported when it is needed, not before. It computes in float64 and on the processor whatever
the user has set, and its settings stay the user's.
"""

from __future__ import annotations

import math
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike

from gbdt_objectives import _checks
from gbdt_objectives._checks import Array, check_takes, shown
from gbdt_objectives._links import UNDECLARED, Link, read_link
from gbdt_objectives._public import public
from gbdt_objectives._registry import load
from gbdt_objectives.objectives.base import Objective
from gbdt_objectives.objectives.function import FunctionLoss, LossFunction, own_intercept
from gbdt_objectives.objectives.ratio import word_of

HessianFunction = Callable[[Array, Array, "Array | None"], Array]
Hessian = Literal["exact", "constant"] | HessianFunction
BoundKind = Literal["upper_bound", "bounded"]

ROUNDING, COUPLING = 1e-12, 1e-9
"""Shares of the largest derivative: by which a second derivative may be negative through rounding,
as that of log(1 + exp(z)) is at 40, and below which those between two rows count as none."""

BOUNDS = (
    'pass hessian="constant", or as hessian= a function that returns an upper bound of the second '
    "derivative of each row"
)


@dataclass(frozen=True)
class TotalLoss:
    """A loss written in jax.numpy, called with numpy arrays."""

    loss: LossFunction

    def __call__(self, y: Array, f: Array, w: Array | None) -> float:
        return float(_evaluate(self.loss, 0, y, f, w)[0])


@dataclass(frozen=True)
class LossDerivatives:
    """Gradient and hessian of a loss written in jax.numpy, called with numpy arrays."""

    loss: LossFunction
    hessian: Hessian

    @property
    def __name__(self) -> str:
        return word_of(self.loss)

    def __call__(self, y: Array, f: Array, w: Array | None) -> tuple[Array, Array]:
        value, g, *second = _evaluate(self.loss, 2 if self.hessian == "exact" else 1, y, f, w)
        name = word_of(self.loss)
        if not math.isfinite(value):
            raise ValueError(
                f"{name} is {value} at margins from {f.min():.4g} to {f.max():.4g}: write it so "
                "that it is finite there, as jnp.logaddexp(0, margin) is for "
                "jnp.log(1 + jnp.exp(margin))"
            )
        if not np.isfinite(g).all():
            row = int(np.argwhere(~np.isfinite(g))[0][0])
            raise ValueError(
                f"{name} is finite, but its gradient is {shown(g[row])} at row {row}, with label "
                f"{y[row]:g} and margin {shown(f[row])}: jnp.where differentiates both of its "
                "branches, so replace what is not finite in the other branch before it is computed"
            )
        if self.hessian == "constant":
            weights = np.ones(len(f)) if w is None else w
            return g, np.broadcast_to(weights.reshape(-1, *(1,) * (f.ndim - 1)), f.shape)
        if self.hessian == "exact":
            return g, _checked_diagonal(name, y, f, g, *second)
        with _float64():
            return g, self.hessian(y, f, w)


def _checked_diagonal(name: str, y: Array, f: Array, g: Array, h: Array, coupling: Array) -> Array:
    """The second derivatives h, which must be those of the rows alone and not negative."""
    size = float(max(np.abs(h).max(), np.abs(g).max()))
    if coupling > COUPLING * size:
        raise ValueError(
            f"hessian='exact' needs a loss that is a sum over rows, but in {name} rows depend on "
            f"each other, and the second derivatives of n rows would take n passes: {BOUNDS}"
        )
    if h.min() < -ROUNDING * size:
        at = np.unravel_index(int(h.argmin()), h.shape)
        raise ValueError(
            f"the second derivative of {name} is {h[at]:.4g} at row {at[0]}, with label "
            f"{y[at[0]]:g} and margin {f[at]:.4g}: the loss is not convex, and leaves of such rows "
            f"would step uphill: {BOUNDS}"
        )
    return np.maximum(h, 0)


def _evaluate(loss: LossFunction, order: int, y: Array, f: Array, w: Array | None) -> list[Array]:
    """The results of :func:`_compiled` for this ``order`` (0, 1 or 2), as arrays."""
    if _first_process() != os.getpid():
        raise RuntimeError(
            "jax was used before this process was forked, and would hang in it: start processes "
            "with spawn or joblib's default backend, or use the objective in forked ones only"
        )
    y, f = np.asarray(y, np.float64), np.asarray(f, np.float64)
    w = None if w is None else np.asarray(w, np.float64)
    seen, kind = _seen(loss), (f.shape, w is not None)
    with _float64():
        if kind not in seen:
            _check_traced(loss, f.shape, w is not None)
            _check_total(loss, y, f, w)
            seen.add(kind)
        directions = [np.random.default_rng(0).uniform(1, 2, len(f))] if order == 2 else []
        return [np.asarray(part) for part in _compiled(loss, order)(y, f, w, *directions)]


@lru_cache(maxsize=128)
def _seen(loss: LossFunction) -> set[tuple[tuple[int, ...], bool]]:
    """The shapes of margins, without or with weights, for which the loss has been checked."""
    return set()


@lru_cache(maxsize=1)
def _first_process() -> int:
    """The process that used jax first."""
    return os.getpid()


def _import_jax() -> Any:
    try:
        import jax
    except ImportError as error:
        raise ImportError(
            "jax is needed to differentiate a loss: pip install 'gbdt_objectives[autodiff]' or jax"
        ) from error
    return jax


@contextmanager
def _float64() -> Iterator[None]:
    """Let jax compute in float64 on the processor, in this thread."""
    jax = _import_jax()
    home = jax if hasattr(jax, "enable_x64") else load("jax.experimental")  # before 0.8
    with home.enable_x64(True), jax.default_device(jax.local_devices(backend="cpu")[0]):
        yield


@lru_cache(maxsize=128)
def _compiled(loss: LossFunction, order: int) -> Any:
    """A function of (y, f, w), compiled for each shape, that returns (loss,) for order 0 and (loss,
    gradient) for order 1. For order 2 it takes v of shape (n,) besides, and returns (loss,
    gradient, diagonal of the hessian, coupling of rows)."""
    import jax
    import jax.numpy as jnp

    def second(y: Any, f: Any, w: Any, v: Any) -> Any:
        """H 1, the diagonal of the hessian H, and H v, which is v times that unless rows couple."""

        def total(F: Any) -> Any:
            return loss(y, F.reshape(f.shape), w)

        def column(unit: Any) -> Any:
            directions = jnp.stack([jnp.ones_like(v), v])
            h, Hv = jax.vmap(lambda u: push(u[:, np.newaxis] * unit)[1] @ unit)(directions)
            return h, jnp.abs(Hv - v * h).max()

        F = f.reshape(len(f), -1)
        (value, gradient), push = jax.linearize(jax.value_and_grad(total), F)
        h, coupling = jax.lax.map(column, jnp.eye(F.shape[1]))
        return value, gradient.reshape(f.shape), h.T.reshape(f.shape), coupling.max()

    if order == 2:
        return jax.jit(second)
    if order == 1:
        return jax.jit(jax.value_and_grad(loss, argnums=1))
    return jax.jit(lambda y, f, w: (loss(y, f, w),))


def _check_traced(loss: LossFunction, shape: tuple[int, ...], weighted: bool) -> None:
    """Raise unless jax can trace the loss to one number that depends on its arguments."""
    import jax

    name, n = word_of(loss), shape[:1]
    shapes = [n, shape, n if weighted else None]
    y, f, w = (None if s is None else jax.ShapeDtypeStruct(s, np.float64) for s in shapes)
    try:
        traced, returned = jax.make_jaxpr(loss, return_shape=True)(y, f, w)
    except (jax.errors.JAXTypeError, jax.errors.JAXIndexError) as error:
        raise TypeError(
            f"jax cannot trace {name}: {str(error).splitlines()[0].rstrip('.')}. Write it in "
            "jax.numpy alone: jnp.exp for np.exp, jnp.where for if and for boolean indices, no "
            "float() and no .item()"
        ) from error
    if not isinstance(returned, jax.ShapeDtypeStruct):
        raise TypeError(
            f"{name} must return one number, the total over the rows, found {shown(returned)}"
        )
    if returned.shape != ():
        raise ValueError(
            f"{name} must return one number, the total over the rows, found an array of shape "
            f"{returned.shape}: multiply by the weights, then add .sum()"
        )
    if not np.issubdtype(returned.dtype, np.floating):
        raise TypeError(f"{name} must return a float, found {returned.dtype}: it has no derivative")
    live = {id(variable) for variable in traced.jaxpr.outvars}
    for step in reversed(traced.jaxpr.eqns):
        if any(id(variable) in live for variable in step.outvars):
            live.update(id(variable) for variable in step.invars)
    used = [id(variable) in live for variable in traced.jaxpr.invars]
    if not used[1]:
        raise ValueError(f"{name} does not depend on the margin: there is nothing to learn")
    if not all(used[2:]):
        raise ValueError(
            f"{name} ignores sample_weight, and boosters do not apply weights to a custom "
            "objective: multiply the loss of each row by sample_weight when it is not None"
        )


def _check_total(loss: LossFunction, y: Array, f: Array, w: Array | None) -> None:
    """Raise if every row twice has the same loss as every row once, as a mean has."""
    twice = [None if v is None else np.concatenate([v, v]) for v in (y, f, w)]
    try:
        once, both = (float(_compiled(loss, 0)(*rows)[0]) for rows in ((y, f, w), twice))
    except (TypeError, ValueError):  # it holds a value of each row, of which there are not so many
        return
    if once != 0 and math.isclose(once, both, rel_tol=1e-9):
        raise ValueError(
            f"{word_of(loss)} is {once:.6g} for these rows and for each of them twice, so a mean, "
            "not the total over the rows: gradients and hessians that shrink with the number of "
            "rows train nothing at boosters' defaults. Use .sum(), or multiply by the number of "
            "rows, which is the sum of the weights"
        )


@public
def objective_from_loss(
    loss: LossFunction, *, hessian: Hessian = "exact", hessian_kind: BoundKind | None = None,
    link: str | Link | None = None, outputs: int | None = None, intercept: ArrayLike | None = None,
) -> Objective:  # fmt: skip
    """Train on your own loss, written in jax.numpy: gradient and hessian by differentiation.

    Everything is computed in float64 on the processor, whatever jax is set to, and compiled once
    for each number of rows. Needs jax: ``pip install 'gbdt_objectives[autodiff]'``.

    Parameters
    ----------
    loss : callable
        ``loss(y_true, margin, sample_weight) -> scalar``, the *total* over the rows, in operations
        that jax can trace; arguments as in :func:`objective`, float64. The loss applies the
        weights. Rows may depend on each other, as in a correlation. It must be a pure function:
        numbers that it reads from elsewhere are those of the first call, and arrays that jax.numpy
        makes outside of it are float32. Where it has no derivative, jax chooses one (0 of ``abs``).
    hessian : {"exact", "constant"} or callable
        "exact" is the second derivative by each margin; it needs a loss that is a sum over rows,
        and convex in each margin. "constant" is the weight of the row, for any loss. A function
        ``hessian(y_true, margin, sample_weight) -> array``, in numpy or jax.numpy, gives a bound of
        your own, shaped like the margin and with the weights.
    hessian_kind : {"upper_bound", "bounded"}, optional
        What bound a callable ``hessian`` is: "upper_bound", also if None, is nowhere below the
        second derivative; "bounded" is so large that no step of a leaf passes the leaf's optimum.
    link, outputs, intercept
        As in :func:`objective`.

    Returns
    -------
    Objective

    Raises
    ------
    ImportError, RuntimeError
        If jax is not installed; in a process that was forked after jax was used: it would hang.
    ValueError, TypeError
        A ``loss`` that is not callable with three arguments, or not hashable; while training, one
        that jax cannot trace, that is no finite number or ignores the margin or the weights; a
        gradient that is not finite; hessian="exact" where it is negative or rows are coupled.

    Examples
    --------
    >>> import jax.numpy as jnp
    >>> from gbdt_objectives import objective_from_loss
    >>> def log_cosh(y_true, margin, sample_weight):
    ...     error = margin - y_true
    ...     losses = jnp.logaddexp(error, -error)
    ...     return (losses if sample_weight is None else sample_weight * losses).sum()
    >>> gradient, hessian = objective_from_loss(log_cosh)([1.0, 2.0], [0.0, 2.5])
    >>> gradient.round(3), hessian.round(3)
    (array([-0.762,  0.462], dtype=float32), array([0.42 , 0.786], dtype=float32))
    """
    if isinstance(loss, Objective) or not callable(loss):
        raise TypeError(f"loss must be a function, found {shown(loss)}")
    check_takes("loss", loss, "y_true, margin, sample_weight", lambda found, _: (
        f"loss must take (y_true, margin, sample_weight), found {found}: add the missing "
        "parameters, and multiply the loss of each row by sample_weight when it is not None "
        "(boosters do not)"
    ))  # fmt: skip
    try:
        hash(loss)
    except TypeError:
        raise TypeError(
            f"loss must be hashable, found {shown(loss)}: make its class a frozen dataclass"
        ) from None
    if not callable(hessian):
        _checks.choice("hessian", hessian, ("exact", "constant"))
        if hessian_kind is not None:
            raise ValueError(
                f"hessian_kind says what a function given as hessian= returns, but hessian is "
                f"{hessian!r}: leave hessian_kind out"
            )
    elif hessian_kind is not None:
        _checks.choice("hessian_kind", hessian_kind, ("upper_bound", "bounded"))
    K = 1 if outputs is None else _checks.whole_number("outputs", outputs, 1)
    declared = UNDECLARED if link is None else read_link("link", link, K)
    _import_jax()
    return Objective(FunctionLoss(
        function=LossDerivatives(loss, hessian), loss_function=TotalLoss(loss), link=declared,
        outputs=K, intercept=own_intercept(intercept, K),
        hessian=(hessian_kind or "upper_bound") if callable(hessian) else hessian,
    ))  # fmt: skip
