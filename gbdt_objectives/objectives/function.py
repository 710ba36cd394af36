"""A user's own gradient function, or loss, as an objective."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from gbdt_objectives import _checks
from gbdt_objectives._checks import Array, Training, check_takes
from gbdt_objectives._checks.arrays import Classes, Domain, Interval
from gbdt_objectives._checks.guards import ONE_WAY
from gbdt_objectives._links import UNDECLARED, Link, read_link
from gbdt_objectives._public import public
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
        if S is 0 everywhere. Under a softmax the centred log-priors. None if there is none."""
        if loss.link.takes_several:
            *W, n = rows.sum(
                lambda y, f, xp, **named: [*(y == k for k in range(loss.outputs)), 1.0]
            )
            z = np.log(np.maximum(W, FLAT * n))
            return tuple((z - z.mean()).tolist())
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
