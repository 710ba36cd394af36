"""A user's own gradient function, or loss, as an objective: of a loss alone jax finds the gradient.

jax is imported when it is needed, not before. It computes in float64 and on the processor whatever
the user has set, and its settings stay the user's.
"""

from __future__ import annotations

import math
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from functools import lru_cache
from itertools import pairwise
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike

from gbdt_objectives import _checks
from gbdt_objectives._checks import Array, Training, check_takes, shown
from gbdt_objectives._checks.arrays import Classes, Domain, Interval
from gbdt_objectives._checks.guards import ONE_WAY
from gbdt_objectives._links import UNDECLARED, Link, read_link
from gbdt_objectives._public import public
from gbdt_objectives._registry import load
from gbdt_objectives._rows import workers as _workers
from gbdt_objectives._rows.rows import Rows
from gbdt_objectives.objectives.base import Objective
from gbdt_objectives.objectives.loss import (
    Both,
    HessianKind,
    Loss,
    Named,
    margin_shape,
    read_outputs,
)
from gbdt_objectives.objectives.ratio import word_of

GradientFunction = Callable[..., tuple[Any, Any]]
LossFunction = Callable[..., float]
"""A function of (y_true, margin, sample_weight), and of the values of the rows by name."""

FEW_ROWS = 1000  # on which a user's function is tried in parts
FLAT, STRAIGHT, ROUNDS = 1e-9, 1e-4, 6  # S / A that is 0, and up to which S is a straight line
STEPS = np.array([0.0, *(k * 2.0**n for k in (1, -1) for n in (-14, *range(-1, 6)))])


@dataclass(frozen=True, kw_only=True)
class FunctionLoss(Loss):
    """A user's own gradient function; see :func:`objective`."""

    whole = True
    takes_device_arrays = False
    function: GradientFunction
    loss_function: LossFunction | None = None
    intercept: float | tuple[float, ...] | None = None
    hessian: HessianKind = "undeclared"
    link: Link = UNDECLARED
    outputs: int = 1
    named: Named = ()

    @property
    def labels(self) -> Domain:
        """Those that the link can predict, as classes or in the mean."""
        link = self.link
        return Classes(self.outputs) if link.takes_several else Interval(link.lowest, link.highest)

    @property
    def name(self) -> str:
        return getattr(self.function, "__name__", "function")

    @property
    def has_loss(self) -> bool:
        return self.loss_function is not None

    def measured(self, rows: Rows) -> FunctionLoss:
        """Find the start, or warn if the one given is far from where that would be."""
        if self.intercept is None or self.outputs > 1:
            found = replace(self, intercept=self.intercept or FunctionLoss._find_start(self, rows))
            check_weights_count(found, rows)
            return found
        check_weights_count(self, rows)
        own, k = float(np.asarray(self.intercept)), 10.0  # one output has one number
        if self.link.is_label_unit:
            n, squares = rows.sum(lambda y, f, xp, **named: (1.0, (y - own) ** 2))
            k *= float(squares / n) ** 0.5 or 1.0
        points = points_at([own - k, own, own + k], self.function, rows)
        refuse_uphill(self, points)
        for c, S, A in points[points[:, 0] == own].tolist():
            best: Any = FunctionLoss._find_start(self, rows) if abs(S) >= ONE_WAY * A > 0 else None
            if best is not None and abs(c - best) > 1e-3 * (1 + abs(best)):
                Training(
                    link=self.link, start=c, start_by="intercept", intercept=best, pull=abs(S) / A
                )
        return self

    def value(self, rows: Rows) -> tuple[float, float]:
        own = 0.0
        if self.loss_function is None:
            self.row_loss(None, None, None)  # raises
        elif len(rows):
            found = self.loss_function(rows.y, rows.f, rows.w, **rows.named)
            if math.prod(np.shape(found)) != 1:  # a tensor's size is a method
                raise ValueError(f"loss returned shape {np.shape(found)}: return its .sum()")
            own = float(found)
        total, n = rows.total([own, rows.count(rows.w)]).tolist()
        return total, n

    def gradient_hessian(
        self, y: Any, f: Any, totals: Any, xp: Any, *, sample_weight: Any = None, **named: Any
    ) -> Both:
        """Gradient and hessian as the function returns them, checked."""
        gradient, hessian = self.of_part(y, f, sample_weight, **named)
        if not hessian.any() and not _workers.several():  # others may have rows that count
            raise self._bad(hessian)
        return gradient, hessian

    def of_part(self, y: Any, f: Any, sample_weight: Any, **named: Any) -> tuple[Array, Array]:
        """Gradient and hessian of some of the rows, whose hessians may all be 0."""
        y, f = Rows.read_only(y), Rows.read_only(f)  # the booster's own memory
        w = None if sample_weight is None else Rows.read_only(sample_weight)
        if _workers.together_now():
            self._check_alone(y, f, w, named)
        returned = self.function(y, f, w, **named)
        if not isinstance(returned, tuple | list) or len(returned) != 2:
            raise TypeError(
                f"{self.name} must return a tuple (gradient, hessian), found "
                f"{type(returned).__name__}"
            )
        told = f"returned by {self.name}"
        gradient = read_result(f"the gradient {told}", returned[0], f)
        hessian = read_result(f"the hessian {told}", returned[1], f, ())
        if hessian.min() < 0:
            raise self._bad(hessian)
        return gradient, hessian

    def _bad(self, hessian: Array) -> ValueError:
        return ValueError(
            f"the hessian returned by {self.name} must be >= 0 and not 0 everywhere, found a "
            f"minimum of {hessian.min():g} and a maximum of {hessian.max():g}: boosters would "
            "silently build no trees; use an upper bound or a constant instead"
        )

    def _check_alone(self, y: Array, f: Array, w: Array | None, named: Mapping[str, Any]) -> None:
        """Raise if a row's gradient depends on others: few rows are tried without half of these."""
        n = min(len(f), FEW_ROWS)
        parts = []
        for rows in (slice(0, n), slice(0, n // 2)):
            of_rows = {name: values[rows] for name, values in named.items()}
            weights = None if w is None else w[rows]
            try:
                returned = self.function(y[rows], f[rows], weights, **of_rows)[0]
                parts.append(np.asarray(returned, np.float64))
            except Exception:  # it may hold arrays of all its rows; its own call says what is wrong
                return
        whole, half = parts[0][: n // 2], parts[1]
        if whole.shape == half.shape and not np.allclose(whole, half, rtol=1e-3, equal_nan=True):
            raise ValueError(
                f"the gradient of {self.name} for a row depends on other rows, but each worker "
                "would see its own only: write it as ratio_objective(...), or as a Loss with "
                "totals, or train on one machine"
            )

    @staticmethod
    def _find_start(loss: FunctionLoss, rows: Rows) -> float | tuple[float, ...] | None:
        """The constant c at which S(c), the sum of all workers' gradients, rises through 0; of
        several, that of least loss, or else nearest to the image of the labels' mean, which it is
        if S is 0 everywhere. Under a softmax see start_of_classes. None if there is none."""
        if loss.link.takes_several:
            *W, n = rows.sum(
                lambda y, f, xp, **named: [*(y == k for k in range(loss.outputs)), 1.0]
            )
            z = np.log(np.maximum(W, FLAT * n))
            return tuple(start_of_classes(loss, rows, z - z.mean()).tolist())
        if loss.outputs > 1:
            return None
        n, total, squares = rows.sum(lambda y, f, xp, **named: (1.0, y, y * y))
        with np.errstate(all="ignore"):
            m = float(loss.link.forward(total / n))
        c = m + STEPS
        if loss.link.is_label_unit:  # or a log, or log-odds, where the link is not declared
            c = np.append(m + (abs(squares / n - m * m) ** 0.5 or 1.0) * STEPS, STEPS)
        points = points_at(c, loss.function, rows)
        refuse_uphill(loss, points)
        if not np.isfinite(m) or (np.abs(points[:, 1]) <= STRAIGHT * points[:, 2]).all():
            return m if np.isfinite(m) and len(points) else None
        for left in range(ROUNDS, -1, -1):
            c, S, A = rises(points)
            steep = (np.abs(S) > STRAIGHT * A).any(axis=-1)
            if not (left and steep.any()):
                break
            c = np.unique(np.linspace(c[steep, 0], c[steep, 1], 8)[1:-1])
            points = np.unique([*points, *points_at(c, loss.function, rows)], axis=0)
        zeros = (c[..., 0] - S[..., 0] * np.ptp(c, axis=-1) / np.ptp(S, axis=-1)).mean(axis=-1)
        far = dict(zip(zeros.tolist(), np.abs(zeros - m), strict=True))
        if len(far) > 1 and loss.loss_function is not None:
            far = dict(points_at(zeros, loss.loss_function, rows)[:, :2].tolist()) or far
        return min(far, key=lambda zero: far[zero], default=None)


def start_of_classes(loss: FunctionLoss, rows: Rows, priors: Array) -> Array:
    """The centred margins at which the gradients of each class sum to 0: the log-priors, unless the
    loss weights classes. The log-priors also if no such margins are found."""

    def sums(c: Array) -> Array:  # (2, K): S of each class and A, of all workers
        def of_part(part: Rows) -> Array:
            if not len(part):
                return np.zeros(2 * len(c))
            y, w = (
                None if v is None else Rows.read_only(np.asarray(_checks.to_host(v), np.float64))
                for v in (part.y, part.w)
            )
            own = np.full((2, len(c)), np.nan)
            with suppress(Exception), np.errstate(all="ignore"):  # its own call says what is wrong
                g = np.float64(loss.function(y, np.tile(c, (len(part), 1)), w, **part.named)[0])
                own[...] = g.sum(axis=0), np.abs(g).sum(axis=0)
            return own.ravel()

        return np.asarray(rows.parts(of_part).sum(axis=0).reshape(2, -1))

    S, A = sums(priors)
    if not np.isfinite(S).all() or (np.abs(S) <= STRAIGHT * A.max()).all():
        return priors
    from scipy.optimize import root

    unit = A.max()
    found = root(lambda c: sums(c)[0] / unit + c.mean(), priors).x
    S, A = sums(found)
    return found - found.mean() if (np.abs(S) <= STRAIGHT * A.max()).all() else priors


def refuse_uphill(loss: FunctionLoss, points: Array) -> None:
    """Raise if S(c) falls all the way from where nearly all gradients point down to up."""
    S, A = points[:, 1], points[:, 2]
    ends = len(S) > 2 and S[0] >= ONE_WAY * A[0] > 0 and S[-1] <= -ONE_WAY * A[-1] < 0
    if ends and (np.diff(S) <= 0).all():
        raise ValueError(
            f"the gradient of {loss.name} falls as the margin rises, from {S[0]:.4g} to "
            f"{S[-1]:.4g} in all, so that boosters would go away from the labels: write that of "
            "the loss, as f - y of squared error, not that of minus the loss"
        )


def check_weights_count(loss: FunctionLoss, rows: Rows) -> None:
    """Raise if the function gives the same for other weights, which no booster applies."""

    def answers(part: Rows) -> list[float]:
        w = None if part.w is None else np.asarray(_checks.to_host(part.w), np.float64)
        if w is None or not len(part) or np.ptp(w) == 0:
            return [0.0, 0.0]
        y, f = Rows.read_only(_checks.to_host(part.y)), np.empty(margin_shape(loss, len(part)))
        f[...] = 0.0 if loss.intercept is None else loss.intercept
        with suppress(Exception), np.errstate(all="ignore"):  # its own call says what is wrong
            both = [loss.function(y, f, Rows.read_only(v), **part.named) for v in (w, w + 1.0)]
            (g, h), (g_other, h_other) = ([np.float64(v) for v in one] for one in both)
            same = np.array_equal(g, g_other) and np.array_equal(h, h_other)
            return [1.0, float(same and bool(g.any()))]
        return [0.0, 0.0]

    asked, same = rows.parts(answers).sum(axis=0)
    if asked and same == asked:
        raise ValueError(
            f"rows have weights, but {loss.name} answers the same for others, and they would not "
            "count: write it so that both are times sample_weight where that is not None"
        )


def rises(points: Array) -> Array:
    """The two points around the first and the last zero of S where it rises, (3, rises, 2, 2)."""
    pairs = pairwise(np.flatnonzero(points[:, 1]))
    ends = [[(i, i + 1), (j - 1, j)] for i, j in pairs if points[i, 1] < 0 < points[j, 1]]
    return np.asarray(points.T[:, np.array(ends, int).reshape(-1, 2, 2)])


def points_at(c: Any, function: Callable[..., Any], rows: Rows) -> Array:
    """Points (c, S, A), A = sum |g|, at those constants where the function gives finite numbers."""

    def sums(part: Rows) -> Array:
        y, w = (
            None if v is None else Rows.read_only(v.astype(np.float64)) for v in (part.y, part.w)
        )
        own = np.full((2, len(c)), np.nan if len(part) else 0.0)
        for k in range(len(c) if len(part) else 0):
            with suppress(Exception), np.errstate(all="ignore"):  # its own call says what is wrong
                given = function(y, np.full(len(part), c[k]), w, **part.named)
                g = np.float64(given[0] if isinstance(given, tuple | list) else given)
                own[:, k] = g.sum(), np.abs(g).sum()
        return own.ravel()

    S, A = rows.parts(sums).sum(axis=0).reshape(2, -1)
    points = np.column_stack([c, np.where(np.abs(S) <= FLAT * A, 0.0, S), A])
    return np.asarray(np.unique(points[np.isfinite(S)], axis=0))


def read_result(what: str, values: Any, f: Array, *shapes: tuple[int, ...]) -> Array:
    """Read what a function returned: finite numbers of the shape of f, or of another of these."""
    array = _checks.real_array(what, values)
    if array.shape not in (f.shape, *shapes):
        raise ValueError(f"{what} must have the margin's shape {f.shape}, found {array.shape}")
    bad = ~np.isfinite(np.broadcast_to(array, f.shape))
    at = f"computed at margin {f[bad][0]:g}: correct the function there" if bad.any() else ""
    _checks.finite(what, np.broadcast_to(array, f.shape), at)
    return array


@public
def objective(
    function: GradientFunction | Loss, *, loss: LossFunction | None = None,
    link: str | Link | None = None, outputs: int | None = None, intercept: ArrayLike | None = None,
    rows: Mapping[str, ArrayLike] | Sequence[str] | None = None,
) -> Objective:  # fmt: skip
    """Make an objective of your own gradient function or :class:`Loss`, with all the checks.

    Use it for a gradient of your own, instead of passing the function to the booster.

    Parameters
    ----------
    function : callable or Loss
        ``function(y_true, margin, sample_weight) -> (gradient, hessian)``: labels (n,), margins and
        results (n,) or (n, K), ``sample_weight`` (n,) or None. The function applies the weights, as
        boosters do not. The hessian may be one number for all rows. Lambdas cannot be pickled.
    loss : callable, optional
        ``loss(y_true, margin, sample_weight) -> float``, the total that ``function``
        differentiates.
    link : {"identity", "log", "logit", "softmax", "undeclared"} or Link, optional
        What a margin is: the prediction, its log, the log-odds of label 1, or one of K logits; see
        :class:`Link`. Models of ``train`` and of the drop-in estimators then predict in natural
        units, classifiers by "logit" and "softmax" probabilities. None: margins.
    outputs : int, optional
        K, if a row has several margins, (n, K); needed for "softmax".
    intercept : float or K floats, optional
        Where ``train`` starts, in margin units. None: where the weighted gradients sum to 0, or, if
        they do everywhere, at the image of the mean label; "softmax": centred log-priors; else 0.
    rows : mapping or list of str, optional
        Other values of each training row, such as costs, offsets or groups, which the function and
        the loss get by keyword: ``function(y_true, margin, sample_weight, cost=cost)``. ``{"cost":
        cost}``, of shape (n, ...), is for ``train``, ``cv`` and a ``fit`` on all rows; ``["cost"]``
        names what drop-in estimators get as ``fit(X, y, cost=cost)``, which scikit-learn's
        cross-validation splits. Values belong to rows by position: another order is not noticed,
        but pandas objects given to ``fit`` must have X's index. Evaluation sets need none.

    Returns
    -------
    Objective

    Raises
    ------
    ValueError, TypeError
        If ``function`` or ``loss`` cannot be called with these arguments, or ``rows`` does not hold
        finite numbers for the training rows; while training, if a gradient is not finite or of
        another shape, or a hessian is negative or zero everywhere.

    Examples
    --------
    >>> import numpy as np
    >>> from gbdt_objectives import objective
    >>> def squared_error(y_true, margin, sample_weight, cost):
    ...     w = cost if sample_weight is None else cost * sample_weight
    ...     return w * (margin - y_true), w
    >>> obj = objective(squared_error, rows={"cost": [1, 10]})
    >>> obj([1.0, 2.0], np.zeros(2))[0], obj.take([1])([2.0], np.zeros(1))[0]
    (array([ -1., -20.], dtype=float32), array([-20.], dtype=float32))
    """
    if isinstance(function, Objective):
        raise TypeError(f"function is already an objective, {function!r}: pass it as it is")
    if isinstance(function, Loss):
        options = dict(loss=loss, link=link, outputs=outputs, intercept=intercept, rows=rows)
        given = [name for name, value in options.items() if value is not None]
        if given:
            raise TypeError(f"{given[0]} is given, but {function!r} declares it: leave it out")
        return Objective(function)
    _checks.check_called("function", function)
    if isinstance(function, type) or not callable(function):
        hint = ": make an instance of it" if isinstance(function, type) else ""
        raise TypeError(f"function must be callable, found {type(function).__name__}{hint}")
    names = _read_row_names(rows)
    _check_signature("function", function, names)
    if loss is not None:
        if not callable(loss):
            raise TypeError(f"loss must be callable or None, found {type(loss).__name__}")
        _check_signature("loss", loss, names)
    K = 1 if outputs is None else _checks.whole_number("outputs", outputs, 1)
    found = Objective(FunctionLoss(
        function=function, loss_function=loss,
        link=UNDECLARED if link is None else read_link("link", link, K), outputs=K,
        intercept=own_intercept(intercept, K), named=tuple((name, None) for name in names),
    ))  # fmt: skip
    return found.with_rows(rows) if isinstance(rows, Mapping) else found


def own_intercept(intercept: ArrayLike | None, outputs: int) -> float | tuple[float, ...] | None:
    if intercept is None:
        return None
    found = read_outputs("intercept", intercept, outputs)
    return found if outputs == 1 else tuple(found.tolist())


def _read_row_names(rows: object) -> list[str]:
    if rows is None:
        return []
    names = list(rows) if isinstance(rows, Mapping | list | tuple) else []
    if not names or not all(isinstance(name, str) for name in names):
        raise TypeError(
            'rows must be a dict of arrays, {"cost": cost}, or a list of names, ["cost"], found '
            f"{_checks.shown(rows)}: pass dict(frame) for a DataFrame"
        )
    if len(set(names)) < len(names):
        raise ValueError(f"the names in rows must differ, found {_checks.shown(names)}")
    return names


def _check_signature(what: str, function: Callable[..., Any], names: Sequence[str]) -> None:
    """Raise unless it takes (y_true, margin, sample_weight) and the values of rows by name."""
    called = "y_true, margin, sample_weight"
    hint = (
        "multiply gradient and hessian by sample_weight when it is not None (boosters do not)"
        if what == "function"
        else "multiply each row's loss by sample_weight when it is not None"
    )
    check_takes(what, function, called, by_name=names, must=lambda found, error: (
        f"{what} must take ({', '.join([called, *names])}), found {found}, {error}: add the "
        f"missing parameters, and {hint}; what else it needs of each row is named in "
        'rows={"cost": cost}'
    ))  # fmt: skip


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
