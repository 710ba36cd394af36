"""The contract of an objective, tested for anybody's: what boosters assume and never check.

In the code: y labels, f margins, w weights, g gradient, h hessian, per row (n,) or (n, K).
"""

from __future__ import annotations

import copy
import inspect
import math
import pickle
import textwrap
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Any, Literal, get_args

import numpy as np
from numpy.typing import ArrayLike

from gbdt_objectives import _checks
from gbdt_objectives._checks import Array, shown
from gbdt_objectives._domain import Values
from gbdt_objectives.objectives.base import HessianKind, Objective
from gbdt_objectives.objectives.function import LossFunction

Api = Literal["xgboost", "lightgbm", "sklearn"]
Status = Literal["passed", "FAILED", "note", "not tested"]
Both = tuple[Array, Array]

ROWS = 60
"""Rows that are tried: few enough to perturb one at a time."""

TAILS = np.array([-100.0, -80.0, -40.0, -17.0, 17.0, 40.0, 80.0, 100.0])
"""Margins of the tails, unless they are given. A float32 1 - p is 0 from 17 on, and exp(100) is
infinite."""

LEAVES = 40
"""Random leaves whose steps are tried."""

LEAF_ROWS = 20
"""LightGBM's min_data_in_leaf, and a small leaf of XGBoost."""

LONGEST_ERROR = 300
"""Characters that are shown of what an objective raises."""


@dataclass(frozen=True)
class Finding:
    """What one check found; ``message`` says what is wrong and what it does to training."""

    check: str
    status: Status
    message: str


@dataclass(frozen=True, repr=False)
class ObjectiveReport:
    """What :func:`check_objective` found; prints as a table.

    Attributes
    ----------
    name : str
        Of the objective.
    findings : tuple of Finding
        One per check, in the order in which they ran.
    """

    name: str
    findings: tuple[Finding, ...]

    @property
    def passed(self) -> bool:
        """Whether no check failed."""
        return all(finding.status != "FAILED" for finding in self.findings)

    def __repr__(self) -> str:
        lines = [f"  {f.check:<{self._width}}  {f.status:<10}  {f.message}" for f in self.findings]
        return "\n".join([f"{self.name}: {self._verdict}", *(line.rstrip() for line in lines)])

    def _repr_html_(self) -> str:
        from html import escape

        rows = "".join(
            f"<tr><td>{f.check}</td><td>{f.status}</td>"
            f"<td style='text-align:left'>{escape(f.message)}</td></tr>"
            for f in self.findings
        )
        return f"<b>{escape(self.name)}</b>: {self._verdict}<table>{rows}</table>"

    @property
    def _width(self) -> int:
        return max(len(finding.check) for finding in self.findings)

    @property
    def _verdict(self) -> str:
        failed = sum(f.status == "FAILED" for f in self.findings)
        return f"{failed} of {len(self.findings)} checks failed" if failed else "all checks passed"


class ObjectiveError(ValueError):
    """An objective that boosters would train wrongly on; ``report`` has all findings."""

    def __init__(self, report: ObjectiveReport) -> None:
        super().__init__(str(report))
        self.report = report


def is_function(obj: Any) -> bool:
    """Whether it is a user's own function, of which only the author knows more."""
    return isinstance(obj, Objective) and obj.whole


class Failure(Exception):
    """Raised by a check."""


class Skipped(Exception):
    """Raised by a check that cannot be made."""


class Rows:
    """Stands for a DMatrix or Dataset, which tell an objective labels and weights."""

    def __init__(self, y: Array, w: Array | None, api: Api) -> None:
        empty = np.empty(0, np.float32) if api == "xgboost" else None
        self._label, self._weight = y, empty if w is None else w

    def get_label(self) -> Array:
        return self._label

    def get_weight(self) -> Array | None:
        return self._weight

    def num_row(self) -> int:
        return len(self._label)

    num_data = num_row


@dataclass(frozen=True)
class Probe:
    """An objective, called as (y, f, w), and the rows that it is tried on.

    ``exact`` gives what the objective computes in float64, ``call`` what a booster is given;
    ``loss`` is None if there is none. ``scale_free``: the gradient is the loss's up to a factor.
    """

    target: Any
    api: Api | None
    name: str
    call: Callable[[Array, Array, Array | None], Any]
    exact: Callable[[Array, Array, Array | None], Any]
    loss: Callable[[Array, Array, Array | None], float] | None
    kind: HessianKind
    scale_free: bool
    takes_weights: bool
    by_row: bool
    y: Array
    f: Array
    w: Array
    tails: Array

    def of(self, positions: Array) -> Probe:
        """The same with its objective for the rows at these positions, if it belongs to rows."""
        if not self.by_row:
            return self
        taken = self.target.take(positions)
        return replace(self, call=taken, exact=taken.gradient_hessian)

    def both(self, f: Array, w: Array | None = None, y: Array | None = None) -> Both:
        g, h = self.exact(self.y if y is None else y, f, w)
        return np.asarray(g, np.float64), np.asarray(h, np.float64)

    @property
    def float32(self) -> bool:
        """Whether gradients are computed, or returned, in float32 whatever the margin."""
        return bool(np.asarray(self.exact(self.y, self.f, None)[0]).dtype == np.float32)

    @property
    def couples_rows(self) -> bool:
        moved = self.f.copy()
        moved[1:] += 0.1
        return not np.allclose(self.both(moved)[0][0], self.both(self.f)[0][0], rtol=1e-6, atol=0)


def check_objective(
    obj: Any,
    y_true: ArrayLike | None = None,
    *,
    loss: LossFunction | None = None,
    sample_weight: ArrayLike | None = None,
    hessian_kind: HessianKind | None = None,
    margins: tuple[float, float] | None = None,
    n_classes: int | None = None,
    api: Api | None = None,
) -> ObjectiveReport:
    """Test a custom objective for what boosters assume of it and never check.

    - **gradient**: the derivative of the loss, by finite differences; without a loss, the
      symmetry of its own derivatives, if it couples rows.
    - **hessian**: what ``hessian_kind`` says, against the derivative of the gradient; never
      negative; and -sum g / sum h of a leaf, the step that a booster takes, goes downhill.
    - **weights**: applied, once, also in sums over rows: weight w equals w copies of a row.
    - **tails**: finite in float32, and equal to float64, at margins of up to +-100.
    - **calls**: shape, dtype and byte order of what is returned; inputs are left alone; no
      state between calls; the order of rows does not matter; pickling and deep copies.
    - **scale**: a note if hessians are small beside ``min_child_weight`` and the like.

    Parameters
    ----------
    obj : callable or Objective
        In any form that boosters call: ``(margin, DMatrix)``, ``(margin, Dataset)``,
        ``(y_true, margin)`` with or without ``sample_weight``, or an objective of this package.
    y_true : array-like of shape (n,), optional
        Labels to draw from. None: those of the objective's domain, else 0 and 1, or 0 to K-1.
        For an objective with values by row: the label of each of these rows, some of which are
        drawn with them.
    loss : callable, optional
        ``loss(y_true, margin, sample_weight) -> float``, the total that the gradient should
        differentiate; ``sample_weight`` is None or (n,). None: the objective's own.
    sample_weight : array-like of shape (n,), optional
        Whole numbers above 0 to draw weights from. None: 1, 2 and 3.
    hessian_kind : {"exact", "constant", "upper_bound", "bounded", "undeclared"}, optional
        What the hessian should be. "constant": the weight of the row. "bounded": no step of a
        leaf passes the leaf's optimum. None: what the objective declares; "undeclared" must turn
        out to be one of the first three.
    margins : (float, float), optional
        Where the loss is differentiable, both tails included. None: the range of the labels, or
        for labels 0 and 1 from -6 to 6, with tails as far as -100 and 100.
    n_classes : int, optional
        K, for callables with margins (n, K). None: one margin per row, or the objective's own
        ``outputs``.
    api : {"xgboost", "lightgbm", "sklearn"}, optional
        The form of a bare callable; found by trying if None.

    Returns
    -------
    ObjectiveReport
        Of an objective that passed; it prints as a table.

    Raises
    ------
    ObjectiveError
        A ValueError that says what is wrong and what it does to training; its ``report`` has
        all findings.
    TypeError, ValueError
        Not callable, a form that cannot be called, bad arguments.

    Examples
    --------
    >>> import numpy as np
    >>> from gbdt_objectives import check_objective, qwk_objective
    >>> check_objective(qwk_objective(range(5))).passed
    True
    >>> def pasted(margin, data):
    ...     return margin - data.get_label(), np.ones_like(margin)
    >>> try:
    ...     check_objective(pasted)
    ... except ValueError as error:
    ...     print([f.check for f in error.report.findings if f.status == "FAILED"])
    ['weights', 'copies']
    """
    probe = _probe(obj, y_true, loss, sample_weight, hessian_kind, margins, n_classes, api)
    findings = [_result("returned arrays", check_returned, probe)]
    if findings[0].status == "passed":
        findings += [_result(name, check, probe) for name, check in CHECKS.items()]
    report = ObjectiveReport(probe.name, tuple(findings))
    if not report.passed:
        raise ObjectiveError(report)
    return report


def _result(name: str, check: Callable[[Probe], str | None], probe: Probe) -> Finding:
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            note = check(probe)
    except Failure as failure:
        return Finding(name, "FAILED", str(failure))
    except Skipped as skipped:
        return Finding(name, "not tested", str(skipped))
    except Exception as error:
        what = f"{type(error).__name__}: {textwrap.shorten(str(error), LONGEST_ERROR)}"
        own = not isinstance(probe.target, Objective) or is_function(probe.target)
        hint = "; if it takes margins (n, K), pass n_classes=K" * (own and probe.f.ndim == 1)
        return Finding(name, "FAILED", f"the objective raised {what}{hint}")
    return Finding(name, "note" if note else "passed", note or "")


def _probe(
    obj: Any,
    y_true: ArrayLike | None,
    loss: LossFunction | None,
    sample_weight: ArrayLike | None,
    hessian_kind: HessianKind | None,
    margins: tuple[float, float] | None,
    n_classes: int | None,
    api: Api | None,
) -> Probe:
    if not callable(obj) or isinstance(obj, type):
        raise TypeError(f"obj must be an objective, a callable, found {shown(obj)}")
    _checks.check_called("obj", obj)
    if loss is not None and not callable(loss):
        raise TypeError(f"loss must be callable or None, found {shown(loss)}")
    if hessian_kind is not None:
        _checks.choice("hessian_kind", hessian_kind, get_args(HessianKind))
    if api is not None:
        _checks.choice("api", api, get_args(Api))
    K = None if n_classes is None else _checks.whole_number("n_classes", n_classes, 2)
    ours = isinstance(obj, Objective)
    by_row = ours and obj.rows is not None
    if ours and obj.outputs > 1:
        if K not in (None, obj.outputs):
            raise ValueError(
                f"n_classes is {K}, but obj has {obj.outputs} outputs: leave n_classes out"
            )
        K = obj.outputs
    rng = np.random.default_rng(0)
    labels = _labels(obj, y_true, K)
    y = rng.permutation(np.resize(labels, ROWS)).astype(np.float64)
    if by_row:
        if loss is not None:
            raise ValueError(
                "loss is given, but would not know which rows of the objective are tried: give it "
                "to objective(function, loss=loss, rows=...)"
            )
        order = _draw_rows(obj, y_true, rng)
        if y_true is not None:
            y = np.asarray(y_true, np.float64)[order]
        obj = obj.take(order)
    elif ours:
        obj.check_rows(ROWS, "y_true")
    weights = np.array([1.0, 2.0, 3.0])
    if sample_weight is not None:
        weights = _checks.vector("sample_weight", sample_weight).astype(np.float64)
        if (weights < 1).any() or (weights % 1 != 0).any():
            raise ValueError(
                "sample_weight must hold whole numbers above 0, which are compared with copies of "
                f"the rows, found {shown(weights)}: leave it out for 1, 2 and 3"
            )
    binary = bool(np.isin(labels, (0, 1)).all()) or K is not None
    if margins is not None:
        low, high = _checks.label_range("margins", margins)
        tails = np.array([low, high])
    elif ours and not is_function(obj) and obj.link.is_label_unit:
        low, high = float(labels.min()), float(labels.max())
        tails = np.array([low, high])
    else:
        low, high = (-6.0, 6.0) if binary else (float(labels.min()), float(labels.max()))
        tails = TAILS
    shape = (ROWS,) if K is None else (ROWS, K)
    f = rng.uniform(low, high, shape)
    if ours:
        call, exact, takes = obj, obj.gradient_hessian, True
        has_loss = obj.has_loss
        own = obj.loss if has_loss else None
        kind, name = obj.hessian_kind, repr(obj)
    else:
        call, takes = _sklearn_form(obj, api, y, f)
        exact, own, kind = call, None, "undeclared"
        name = getattr(obj, "__qualname__", None) or type(obj).__name__
    return Probe(
        target=obj,
        api=api,
        name=name if len(name) <= 100 else f"{name[:97]}...",
        call=call,
        exact=exact,
        loss=own if loss is None else loss,
        kind=kind if hessian_kind is None else hessian_kind,
        scale_free=ours and obj.scale_free,
        takes_weights=takes,
        by_row=by_row,
        y=y,
        f=f,
        w=rng.permutation(np.resize(weights, ROWS)),
        tails=tails,
    )


def _draw_rows(obj: Objective, y_true: ArrayLike | None, rng: np.random.Generator) -> Array:
    """Which of its rows are tried: of as many labels as there are, then at random."""
    order = rng.permutation(obj.rows or 0)
    if y_true is not None:
        y = _checks.vector("y_true", y_true)
        obj.check_rows(len(y), "y_true")
        one_of_each = rng.permutation(np.unique(y[order], return_index=True)[1])
        order = order[np.concatenate([one_of_each, np.arange(len(order))])]
    return np.resize(order, ROWS)


def _labels(obj: Any, y_true: ArrayLike | None, K: int | None) -> Array:
    """The distinct labels to try."""
    if y_true is not None:
        return np.unique(_checks.vector("y_true", y_true).astype(np.float64))
    if is_function(obj) or not isinstance(obj, Objective):
        return np.arange(2.0 if K is None else K)
    domain = obj.label_domain
    if isinstance(domain, Values):
        return np.array(domain.values, np.float64)
    if math.isfinite(domain.low + domain.high):
        return np.linspace(domain.low, domain.high, 4)
    if math.isfinite(domain.high):
        return domain.high - np.arange(4.0)
    return (domain.low if math.isfinite(domain.low) else 0.0) + np.arange(4.0)


def _sklearn_form(
    obj: Any, api: Api | None, y: Array, f: Array
) -> tuple[Callable[[Array, Array, Array | None], Any], bool]:
    """A bare callable as (y, f, w), and whether it is told the weights."""
    try:
        parameters = list(inspect.signature(obj).parameters.values())
    except ValueError:  # a builtin without signature
        parameters = []
    if not parameters or any(p.kind is p.VAR_POSITIONAL for p in parameters):
        names, may_be_native = ["margin", "data"], True
    else:
        named = [p for p in parameters if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)]
        names = [parameter.name for parameter in named]
        may_be_native = all(p.default is not p.empty for p in named[2:])

    def native(api: Api) -> Callable[[Array, Array, Array | None], Any]:
        return lambda y, f, w: obj(f, Rows(y, w, api))

    if api not in (None, "sklearn"):
        return native(api), True
    failures = []
    if api is None and may_be_native:
        for library in ("xgboost", "lightgbm"):
            try:
                native(library)(y.copy(), f.copy(), None)
            except Exception as error:
                failures.append(f"{type(error).__name__}: {shown(str(error))}")
            else:
                return native(library), True
    count = len(names)
    if count == 4 and "group" not in names[3]:
        raise TypeError(
            f"obj has a fourth parameter, {names[3]!r}: LightGBM passes query groups there; make "
            "it keyword-only"
        )
    if count < 2 or count > 4:
        raise TypeError(
            f"obj must take (y_true, margin[, sample_weight[, group]]) or (margin, data), found "
            f"{count} parameters"
        )

    def sklearn(y: Array, f: Array, w: Array | None) -> Any:
        return obj(y, f, *((w, None)[: count - 2]))

    if count == 2 and api is None:
        try:
            sklearn(y.copy(), f.copy(), None)
        except Exception as error:
            failures.append(f"{type(error).__name__}: {shown(str(error))}")
            raise TypeError(
                "obj can be called neither as (margin, data), with data.get_label() and "
                f"data.get_weight(), nor as (y_true, margin): {failures[0]}; {failures[-1]}; pass "
                "api= if its form is known"
            ) from None
    return sklearn, count > 2


# The checks: None if passed, a note, or Failure or Skipped raised.


def check_returned(probe: Probe) -> None:
    """Two native float arrays of the margin's shape, finite."""
    returned = probe.call(probe.y.copy(), probe.f.copy(), None)
    if not isinstance(returned, tuple) or len(returned) != 2:
        raise Failure(f"must be a tuple (gradient, hessian), found {type(returned).__name__}")
    for part, values in zip(("gradient", "hessian"), returned, strict=True):
        if not isinstance(values, np.ndarray):
            raise Failure(f"the {part} is a {type(values).__name__}: XGBoost needs numpy arrays")
        if values.shape != probe.f.shape:
            hint = ""
            if values.size == probe.f.size:
                hint = ": flat and transposed arrays are read in another order by one library each"
            raise Failure(f"the {part} has shape {values.shape}, not {probe.f.shape}{hint}")
        if values.dtype.kind != "f" or values.dtype.itemsize not in (4, 8):
            raise Failure(f"the {part} is {values.dtype}, not float32 or float64: silently misread")
        if not values.dtype.isnative:
            raise Failure(f"the {part} is not in native byte order: silently misread")
        if not np.isfinite(values).all():
            raise Failure(
                f"the {part} is {values[~np.isfinite(values)][0]} in places: LightGBM then "
                "predicts 0 everywhere, XGBoost trains on"
            )


def check_inputs(probe: Probe) -> None:
    """Labels, margins and weights are neither written to nor kept."""
    inputs = [probe.y.copy(), probe.f.copy(), probe.w.copy()]
    gradient = probe.call(*inputs)[0]
    names = "labels", "margins", "weights"
    for name, before, after in zip(names, (probe.y, probe.f, probe.w), inputs, strict=True):
        if not np.array_equal(before, after):
            raise Failure(f"it writes into the {name}, which are the booster's own memory")
        if np.shares_memory(gradient, after) and name == "margins":
            raise Failure("the gradient is the margins' own memory, which LightGBM reuses")


def check_state(probe: Probe) -> None:
    """The same call gives the same, whatever was called in between."""
    first = [np.array(part) for part in probe.call(probe.y, probe.f, probe.w)]
    half = ROWS // 2
    other = probe.of(np.arange(half))
    other.call(probe.y[:half], probe.f[half:].copy(), probe.w[:half])
    for old, new in zip(first, probe.call(probe.y, probe.f, probe.w), strict=True):
        if not np.array_equal(old, new):
            raise Failure(
                "two calls with the same rows differ: it keeps a state or is random, so folds and "
                "grid searches influence each other"
            )


def check_order(probe: Probe) -> None:
    """Permuted rows give permuted results."""
    order = np.random.default_rng(1).permutation(ROWS)
    w = probe.w if probe.takes_weights else None
    straight = probe.both(probe.f, w)
    shuffled = probe.of(order).exact(
        probe.y[order], probe.f[order], None if w is None else w[order]
    )
    for part, a, b in zip(("gradient", "hessian"), straight, shuffled, strict=True):
        if not np.allclose(a[order], b, rtol=1e-5, atol=1e-5 * np.abs(a).max()):
            raise Failure(
                f"the {part} of a row depends on where the row stands: with other data, in cv and "
                "in folds, rows get the gradients of others"
            )


def check_memory_order(probe: Probe) -> None:
    """(n, K) margins in Fortran order, as LightGBM passes them, give the same."""
    if probe.f.ndim == 1:
        raise Skipped("one margin per row")
    plain = probe.call(probe.y, np.ascontiguousarray(probe.f), None)
    fortran = probe.call(probe.y, np.asfortranarray(probe.f), None)
    for a, b in zip(plain, fortran, strict=True):
        if not np.array_equal(a, b):
            raise Failure(
                "margins in Fortran order, as LightGBM passes them, give other results than in C "
                "order: classes and rows are mixed up; do not ravel or reshape the margin"
            )


def check_gradient(probe: Probe) -> str | None:
    """The derivative of the loss."""
    for w in _weights(probe):
        g = probe.both(probe.f, w)[0]
        if probe.loss is None:
            return _check_field(probe, g)
        numeric = np.empty_like(g)
        for at, up, down, step in _perturbed(probe.f, 1e-4):
            numeric[at] = (_loss(probe, up, w) - _loss(probe, down, w)) / step
        # truncation and rounding of the differences, 1e-8 of the largest; float32 gradients, 6e-8
        tolerance = 1e-5 if probe.float32 else 1e-6
        ratio = float((g * numeric).sum() / (numeric**2).sum())
        off = np.abs(g - (ratio if probe.scale_free else 1) * numeric)
        if off.max() <= tolerance * np.abs(g).max() and ratio > 0:
            continue
        weighted = "" if w is None else " with weights"
        if np.abs(g - ratio * numeric).max() <= tolerance * np.abs(g).max():
            if ratio < 0:
                raise Failure(
                    "it has the wrong sign, the loss falls along it: boosting climbs, every round "
                    "makes the model worse"
                )
            raise Failure(
                f"it is {ratio:.4g} times the derivative of the loss{weighted}: leaves step "
                f"{ratio:.4g} times as far, a hidden learning rate"
            )
        row = np.unravel_index(int(off.argmax()), off.shape)
        raise Failure(
            f"it is not the derivative of the loss{weighted}: {g[row]:.6g} instead of "
            f"{numeric[row]:.6g} at y = {probe.y[row[0]]:g}, margin = {probe.f[row]:.4g}; the "
            "trees minimise something else"
        )
    return None


def _check_field(probe: Probe, g: Array) -> str | None:
    """Without a loss: derivatives of a gradient are symmetric."""
    if not probe.couples_rows:
        raise Skipped("there is no loss to compare with, and no row depends on another: pass loss=")
    if probe.f.ndim > 1:
        raise Skipped("there is no loss to compare with: pass loss=")
    step = 1e-2 if probe.float32 else 1e-5
    J = np.array([
        (probe.both(up)[0] - probe.both(down)[0]) / width
        for _, up, down, width in _perturbed(probe.f, step)
    ])  # fmt: skip
    if np.abs(J - J.T).max() > 1e-2 * np.abs(J).max():
        raise Failure(
            "its derivatives are not symmetric, so that it is the gradient of no loss: sums over "
            "rows are probably differentiated as if they were constants; pass loss= to see where"
        )
    return "symmetric, as gradients are; not compared with a loss: pass loss="


def check_hessian(probe: Probe) -> str | None:
    """What it is declared to be."""
    h = probe.both(probe.f)[1]
    curvature = _curvature(probe)
    size = max(float(np.abs(curvature).max()), 1e-300)
    tolerance = (2e-3 if probe.float32 else 1e-6) * size  # differences of the gradient
    exact = bool(np.abs(h - curvature).max() <= tolerance)
    ratio = float((h * curvature).sum() / (curvature**2).sum()) if curvature.any() else math.nan
    if probe.kind == "exact" and not exact:
        raise Failure(_other_hessian(probe, h, curvature, ratio, tolerance))
    if probe.kind == "constant":
        for w in _weights(probe):
            expected = np.ones_like(probe.f) if w is None else _per_row(w, probe.f)
            if not np.allclose(probe.both(probe.f, w)[1], expected, rtol=1e-6, atol=0):
                raise Failure("it is declared constant, but is not the weight of each row")
    below = h < curvature - tolerance
    if probe.kind == "upper_bound" and below.any():
        row = np.unravel_index(int((curvature - h).argmax()), h.shape)
        raise Failure(
            f"it is declared an upper bound, but {h[row]:.4g} is less than the second derivative, "
            f"{curvature[row]:.4g}, at y = {probe.y[row[0]]:g}, margin = {probe.f[row]:.4g}"
        )
    if probe.kind != "undeclared":
        return None
    if exact:
        return "exact"
    if np.ptp(h) == 0 and h.flat[0] > 0:
        return f"constant, {h.flat[0]:g}"
    proportional = np.abs(h - ratio * curvature).max() <= tolerance * max(ratio, 1)
    if below.any() or proportional:
        raise Failure(_other_hessian(probe, h, curvature, ratio, tolerance))
    return "an upper bound of the second derivative"


def _other_hessian(probe: Probe, h: Array, curvature: Array, ratio: float, tolerance: float) -> str:
    """What is wrong with a hessian that is not the second derivative."""
    if not h.any():
        return "it is 0 everywhere: boosters silently build no trees"
    if np.abs(h - ratio * curvature).max() <= tolerance * max(abs(ratio), 1):
        far = "short" if ratio > 1 else "far"
        return (
            f"it is {ratio:.4g} times the second derivative: every leaf steps too {far}; declare "
            "hessian_kind='upper_bound' if that is meant"
        )
    for label in np.unique(probe.y):
        own = probe.y == label
        if not h[own].any() and curvature[own].any():
            return (
                f"it is 0 for every row of label {label:g}: their gradients count, their curvature "
                "does not, and leaves of such rows step without bound"
            )
    row = np.unravel_index(int(np.abs(h - curvature).argmax()), h.shape)
    return (
        f"it is not the second derivative: {h[row]:.4g} instead of {curvature[row]:.4g} at "
        f"y = {probe.y[row[0]]:g}, margin = {probe.f[row]:.4g}; it belongs to another loss, and "
        "leaves step too far or too short"
    )


def _curvature(probe: Probe) -> Array:
    """The diagonal of the second derivative, by differences of the gradient."""
    step = 1e-2 if probe.float32 else 1e-5
    if probe.f.ndim == 1 and not probe.couples_rows:
        up, down = probe.both(probe.f + step)[0], probe.both(probe.f - step)[0]
        result: Array = (up - down) / (2 * step)
        return result
    result = np.empty_like(probe.f)
    for at, up, down, width in _perturbed(probe.f, step):
        result[at] = (probe.both(up)[0][at] - probe.both(down)[0][at]) / width
    return result


def check_sign(probe: Probe) -> None:
    """No hessian is below 0, and not all are 0."""
    for w in _weights(probe):
        _, h = probe.both(probe.f, w)
        if h.min() < 0:
            row = np.unravel_index(int(h.argmin()), h.shape)
            raise Failure(
                f"a hessian is {h[row]:.4g}, at y = {probe.y[row[0]]:g}, margin = "
                f"{probe.f[row]:.4g}: leaves of such rows step uphill or are never built; use an "
                "upper bound"
            )
        if not h.any():
            raise Failure("all hessians are 0: boosters silently build no trees")


def check_leaf_step(probe: Probe) -> str | None:
    """-G/H of a leaf goes downhill and, if it is bounded, not past the optimum."""
    rng, passed, unbuilt, growing = np.random.default_rng(2), 0.0, 0, []
    for _ in range(LEAVES):
        leaf = rng.random(ROWS) < rng.uniform(0.05, 0.6)
        leaf[rng.integers(ROWS)] = True
        f = probe.f.copy()
        f[leaf] = rng.choice(probe.f.ravel(), f.shape[1:])
        column = (leaf,) if f.ndim == 1 else (leaf, int(rng.integers(f.shape[1])))
        g, h = (part[column].sum() for part in probe.both(f))
        if h <= 0:
            unbuilt += 1
            continue
        step = -float(g / h)
        if abs(g) <= 1e-9 * np.abs(probe.both(f)[0]).sum() or not math.isfinite(step):
            continue
        near = f.copy()
        near[column] += math.copysign(min(abs(step), 1e-2), step)
        growing.append(abs(float(probe.both(near)[0][column].sum())) > abs(g))
        if probe.loss is not None and abs(step) > 1e-6:
            check_downhill(probe, f, near, step, float(f[column][0]))
        end = f.copy()
        end[column] += step
        after = float(probe.both(end)[0][column].sum())
        if after * g < 0:
            passed = max(passed, abs(after / g))
    if unbuilt == LEAVES:
        raise Failure("the hessians of all leaves sum to 0 or less: none is ever split")
    if growing and all(growing):
        raise Failure(
            "every step makes the leaf's gradient larger: it has the wrong sign, boosting climbs"
        )
    if passed > 1e-6 and probe.kind == "bounded":
        raise Failure(
            "it is declared bounded, but the step of a leaf passes the leaf's optimum: the "
            f"gradient there is {passed:.3g} of what it was, with the other sign"
        )
    if passed > 1:
        return (
            f"the steps of some leaves overshoot, to a gradient {passed:.3g} times as large, as "
            "exact hessians do where they are small; max_delta_step, or a bounded hessian, protects"
        )
    return None


def check_downhill(probe: Probe, f: Array, near: Array, step: float, margin: float) -> None:
    if not _loss(probe, near, None) < _loss(probe, f, None):
        raise Failure(
            f"the step of a leaf at margin {margin:.4g}, {step:.4g}, goes uphill: training makes "
            "the loss worse"
        )


def check_weights(probe: Probe) -> None:
    """A weight of w is w copies of the row, in sums as well."""
    if not probe.takes_weights:
        raise Failure(
            "it takes no sample_weight: LightGBM would train as if all weights were 1, XGBoost "
            "raises; add the parameter and multiply gradient and hessian by it"
        )
    y, f, w = probe.y, probe.f, probe.w
    weighted, plain = probe.both(f, w), probe.both(f)
    at = np.repeat(np.arange(ROWS), w.astype(int))
    last = np.cumsum(w.astype(int)) - 1
    copies = [part[last] * _per_row(w, f) for part in probe.of(at).both(f[at], None, y[at])]
    for part, found, expected, one in zip(
        ("gradient", "hessian"), weighted, copies, plain, strict=True
    ):
        atol = 1e-6 * float(np.abs(expected).max())  # sums of float32

        def equal(other: Array, found: Array = found, atol: float = atol) -> bool:
            return np.allclose(found, other, rtol=1e-5, atol=atol)

        v = _per_row(w, f)
        if equal(expected):
            continue
        if equal(one):
            raise Failure(
                f"weights do not reach the {part}: boosters do not apply them either, so they are "
                "silently ignored"
            )
        if equal(v * v * one):
            raise Failure(f"the {part} is multiplied by the weights twice: heavy rows count double")
        if equal(v * one):
            raise Failure(
                f"weights multiply the {part}, but are missing from the sums over rows that it is "
                "made of: a row of weight 2 is not two rows"
            )
        raise Failure(f"the {part} of a row of weight w is not that of w copies of the row")


def check_tails(probe: Probe) -> None:
    """Finite in float32 in both tails, and what float64 gives."""
    each = np.arange(ROWS) if probe.by_row else np.unique(probe.y, return_index=True)[1]
    at, tails = np.repeat(each, len(probe.tails)), np.tile(probe.tails, len(each))
    if probe.f.ndim == 2:
        K = probe.f.shape[1]
        at = np.tile(at, K)
        f = np.zeros((len(at), K))
        f[np.arange(len(at)), np.repeat(np.arange(K), len(tails))] = np.tile(tails, K)
    else:
        f = tails
    y, in_tails = probe.y[at], probe.of(at)
    exact, middle = in_tails.both(f, None, y), probe.both(probe.f)
    returned = in_tails.call(y.astype(np.float32), f.astype(np.float32), None)
    for part, reference, usual, values in zip(
        ("gradient", "hessian"), exact, middle, returned, strict=True
    ):
        bad = ~np.isfinite(values) | ~np.isfinite(reference)
        if bad.any():
            row = np.unravel_index(int(bad.argmax()), f.shape)
            raise Failure(
                f"the {part} is {values[row]:g} in float32 at y = {y[row[0]]:g}, margin = "
                f"{f[row]:g}: one such row, and LightGBM predicts 0 everywhere, XGBoost trains on; "
                "compute it from exp(-abs(margin)), or pass margins= if none gets there"
            )
        off = np.abs(values - reference)
        off -= 1e-3 * np.maximum(np.abs(reference), np.abs(usual).max())
        if off.max() > 0:
            row = np.unravel_index(int(off.argmax()), f.shape)
            raise Failure(
                f"the {part} in float32 is {values[row]:.4g} instead of {reference[row]:.4g} at "
                f"y = {y[row[0]]:g}, margin = {f[row]:g}: it loses all digits to cancellation"
            )
        if part == "hessian" and values.min() < 0:
            raise Failure(f"the hessian is {values.min():.4g} in a tail: steps go uphill there")


def check_copies(probe: Probe) -> None:
    """It pickles and can be deep-copied, and the copy computes the same."""
    try:
        again = pickle.loads(pickle.dumps(probe.target))
    except Exception as error:
        raise Failure(
            f"it does not pickle ({shown(str(error))}): a fitted scikit-learn model that holds it "
            "cannot be saved, nor a grid search run in several processes; define it at module "
            "level instead of inside a function"
        ) from None
    try:
        copies = [again, copy.deepcopy(probe.target)]
    except Exception as error:
        raise Failure(
            f"it cannot be deep-copied ({shown(str(error))}), which LightGBM and clone() do"
        ) from None
    straight = [np.array(part) for part in probe.call(probe.y, probe.f.copy(), None)]
    for other in copies:
        call = other
        if not isinstance(other, Objective):
            call, _ = _sklearn_form(other, probe.api, probe.y, probe.f)
        if not all(map(np.array_equal, call(probe.y, probe.f.copy(), None), straight)):
            raise Failure(
                "a copy of it computes something else, and folds, grid searches and saved models "
                "work with copies"
            )


def check_scale(probe: Probe) -> str | None:
    """Hessians of the size that the boosters' defaults are made for."""
    target = probe.target
    start = target.measured(probe.y).intercept if isinstance(target, Objective) else None
    middle = np.median(probe.f) if start is None else np.array(start)
    mean = float(probe.both(np.zeros_like(probe.f) + middle)[1].mean())
    where = ", ".join(f"{z:.3g}" for z in middle.ravel())
    if mean * LEAF_ROWS >= 1:
        return None
    if mean <= 0:
        raise Failure(f"the hessians at margin {where} sum to 0: the first round does nothing")
    return (
        f"the mean hessian of a row is {mean:.3g} at margin {where}: XGBoost needs "
        f"{1 / mean:.3g} rows in a leaf at min_child_weight=1, and reg_lambda=1 halves the step of "
        f"such a leaf; LightGBM needs {1e-3 / mean:.3g} at min_sum_hessian_in_leaf=1e-3; lower "
        "these or multiply the loss"
    )


CHECKS: dict[str, Callable[[Probe], str | None]] = {
    "inputs": check_inputs,
    "state": check_state,
    "order of rows": check_order,
    "memory order": check_memory_order,
    "gradient": check_gradient,
    "hessian": check_hessian,
    "sign of hessian": check_sign,
    "step of a leaf": check_leaf_step,
    "weights": check_weights,
    "tails": check_tails,
    "copies": check_copies,
    "scale": check_scale,
}


def _weights(probe: Probe) -> list[Array | None]:
    return [None, probe.w] if probe.takes_weights else [None]


def _per_row(w: Array, f: Array) -> Array:
    """Weights in the shape of the margin."""
    result: Array = w if f.ndim == 1 else np.repeat(w[:, np.newaxis], f.shape[1], axis=1)
    return result


def _perturbed(f: Array, step: float) -> Iterator[tuple[Any, Array, Array, float]]:
    """Each element, margins with it a step up and a step down, and the distance between."""
    for at in np.ndindex(f.shape):
        up, down = f.copy(), f.copy()
        up[at] += step
        down[at] -= step
        yield at, up, down, float(up[at] - down[at])


def _loss(probe: Probe, f: Array, w: Array | None) -> float:
    assert probe.loss is not None
    value = probe.loss(probe.y, f, w)
    if np.ndim(value) != 0:
        raise Failure(f"loss must return one number, found an array of shape {np.shape(value)}")
    number = float(value)
    if not math.isfinite(number):
        raise Failure(f"loss is {number} at margins from {f.min():.3g} to {f.max():.3g}")
    return number
