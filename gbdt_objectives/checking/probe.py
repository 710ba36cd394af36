"""A probe: an objective in one form of call, and the rows it is tried on; what checks find.

Symbols: y labels, f margins, w weights, g gradient, h hessian, per row (n,) or (n, K).
"""

from __future__ import annotations

import inspect
import math
import textwrap
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from functools import partial
from types import SimpleNamespace
from typing import Any, Literal, get_args

import numpy as np
from numpy.typing import ArrayLike

from gbdt_objectives import _checks
from gbdt_objectives._checks import Array, shown
from gbdt_objectives._checks.arrays import Values
from gbdt_objectives._links import UNDECLARED
from gbdt_objectives._public import public
from gbdt_objectives._rows.rows import FLOAT64, Rows, Shown
from gbdt_objectives._rows.workers import some_rows
from gbdt_objectives.objectives import Objective
from gbdt_objectives.objectives.function import LossFunction
from gbdt_objectives.objectives.loss import HessianKind, Loss

Api = Literal["xgboost", "lightgbm", "sklearn"]
Both = tuple[Array, Array]
Call = Callable[[Array, Array, "Array | None"], Any]
ROWS = 60  # number of rows that are tried: few enough to perturb one at a time
LONGEST_ERROR = 300  # most characters that are shown of an error that the objective raises
OTHER_LABELS = (-100.0, -10.0, -1.5, 2.5, 10.0, 100.0)  # tried, too, if the objective names none

OTHER_MARGINS = np.array([0, 0.5, 1, 2, 5, 10, 20, 50, 100, 200])
"""Margins between which, and between whose negatives, the best one of these labels is sought."""

TAILS = np.array([-100.0, -80.0, -40.0, -17.0, 17.0, 40.0, 80.0, 100.0])
"""Margins of the tails that a link can take; in float32 1 - p(17) is 0 and exp(100) infinite."""


def is_users_function(obj: Any) -> bool:
    """Whether obj is a function of the user's own, so that only its calls are known."""
    return not isinstance(obj, Objective) or obj.whole


def stand_in(y: Array, w: Array | None, api: Api) -> SimpleNamespace:
    """A stand-in for a DMatrix or Dataset, which tells an objective labels and weights."""
    if w is None and api == "xgboost":
        w = np.empty(0, np.float32)
    n = partial(len, y)
    return SimpleNamespace(get_label=lambda: y, get_weight=lambda: w, num_row=n, num_data=n)


@dataclass(frozen=True)
class Probe:
    """An objective, called as (y, f, w), and the rows that it is tried on. ``form`` calls a user's
    function so, and is None for an Objective; ``knows_labels``: all labels that exist are tried."""

    target: Any
    api: Api | None
    name: str
    form: Call | None
    takes_weights: bool
    loss: Callable[[Array, Array, Array | None], float] | None
    kind: HessianKind
    knows_labels: bool
    y: Array
    f: Array
    w: Array
    tails: Array

    def call(self, y: Array, f: Array, w: Array | None) -> Any:
        """What a booster is given."""
        return self.target(y, f, w) if self.form is None else self.form(y, f, w)

    def exact(self, y: Array, f: Array, w: Array | None) -> Any:
        """What it computes in float64."""
        return self.target.gradient_hessian(y, f, w) if self.form is None else self.form(y, f, w)

    def objective(self, unless: str) -> Objective:
        """The Objective, of which a check asks more than gradients; skipped for a bare callable."""
        if not isinstance(self.target, Objective):
            raise Skipped(unless)
        return self.target

    @property
    def by_row(self) -> bool:
        return self.form is None and self.target.rows is not None

    @property
    def scale_free(self) -> bool:
        """Whether the gradient is the loss's up to a factor."""
        return self.form is None and self.target.scale_free

    def of(self, positions: Array) -> Probe:
        """The probe with its objective for the rows at these positions, if it belongs to rows."""
        return replace(self, target=self.target.take(positions)) if self.by_row else self

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
        moved[::2] += 0.1 * (np.median(moved) - moved[::2])  # inwards: margins may be limited
        at_rest = slice(1, None, 2)  # several: the gradient of one may be 0 whatever the others
        before, after = self.both(self.f)[0][at_rest], self.both(moved)[0][at_rest]
        return not np.allclose(after, before, rtol=1e-6, atol=0)

    def on_other_labels(self, margins: tuple[float, float] | None) -> Probe | None:
        """The probe with real labels, negative and far ones, and margins between their best ones. A
        label counts if it has a best margin: functions not written for it are not blamed. None if
        none counts, if the objective declares a few labels or a range, or if it has several margins
        or couples rows, where a label alone says little."""
        domain = None if is_users_function(self.target) else self.target.label_domain
        if isinstance(domain, Values) or self.f.ndim > 1 or self.couples_rows:
            return None
        if domain is not None and math.isfinite(domain.low) and math.isfinite(domain.high):
            return None
        grid = np.union1d(-OTHER_MARGINS, OTHER_MARGINS)
        if margins is not None:
            grid = np.linspace(*margins, len(grid))
        found = {y: ends for y in OTHER_LABELS if (ends := self.margins_around_best(y, grid))}
        if not found:
            return None
        low, high = min(a for a, _ in found.values()), max(b for _, b in found.values())
        rng = np.random.default_rng(3)
        y, f = rng.permutation(np.resize(list(found), ROWS)), rng.uniform(low, high, ROWS)
        y[::10], f[::10] = self.y[::10], self.f[::10]  # objective() refuses hessians all of 0
        return replace(self, y=y, f=f)

    def margins_around_best(self, labels: float | Array, grid: Array) -> tuple[float, float] | None:
        """Neighbours in the grid between which the gradients of rows with these labels sum to 0."""
        below: list[float] = []
        above: list[float] = []
        y, f = self.y.copy(), self.f.copy()
        half = slice(ROWS // 2)  # the others stay: objective() refuses hessians that are all 0
        y[half] = labels
        for margin in grid:
            f[half] = margin
            try:
                slope = float(self.both(f, None, y)[0][half].sum())
                number = 0.0 if self.loss is None else float(self.loss(y, f, None))
            except Exception:  # refused there
                continue
            if math.isfinite(slope + number) and slope:
                (below if slope < 0 else above).append(float(margin))
        return (max(below), min(above)) if below and above and max(below) < min(above) else None


Status = Literal["passed", "FAILED", "note", "not tested"]


class Failure(Exception):
    """Raised by a check."""


class Skipped(Exception):
    """Raised by a check that cannot be made."""


@dataclass(frozen=True)
class Finding:
    """The finding of one check; ``message`` says what is wrong and what it does to training."""

    check: str
    status: Status
    message: str


@public
@dataclass(frozen=True, repr=False)
class ObjectiveReport(Shown):
    """What :func:`check_objective` found; prints as a table.

    Attributes
    ----------
    name, findings : str, tuple of Finding
        Name of the objective. The findings of the checks, in the order in which these ran.
    """

    name: str
    findings: tuple[Finding, ...]

    @property
    def passed(self) -> bool:
        return all(finding.status != "FAILED" for finding in self.findings)

    def __repr__(self) -> str:
        width = max(len(finding.check) for finding in self.findings)
        lines = [f"  {f.check:<{width}}  {f.status:<10}  {f.message}" for f in self.findings]
        return "\n".join([f"{self.name}: {self._verdict}", *(line.rstrip() for line in lines)])

    def _shown(self) -> tuple[str, dict[str, list[str]]]:
        columns = {key: [vars(f)[key] for f in self.findings] for key in vars(self.findings[0])}
        return f"{self.name}: {self._verdict}", columns

    @property
    def _verdict(self) -> str:
        failed = sum(f.status == "FAILED" for f in self.findings)
        return f"{failed} of {len(self.findings)} checks failed" if failed else "all checks passed"


@public
class ObjectiveError(ValueError):
    """An objective that boosters would train wrongly on; ``report`` has all findings."""

    def __init__(self, report: ObjectiveReport) -> None:
        super().__init__(str(report))
        self.report = report


def tried(name: str, check: Callable[[Probe], str | None], probe: Probe) -> Finding:
    """What a check finds, whatever the objective raises."""
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
        may_have_columns = is_users_function(probe.target) and probe.f.ndim == 1
        may_have_columns &= not what.endswith("return its .sum()")
        hint = "; if it takes margins (n, K), pass n_classes=K" if may_have_columns else ""
        return Finding(name, "FAILED", f"the objective raised {what}{hint}")
    return Finding(name, "note" if note else "passed", note or "")


def make_probe(
    obj: Any, y_true: ArrayLike | None, loss: LossFunction | None, sample_weight: ArrayLike | None,
    hessian_kind: HessianKind | None, margins: tuple[float, float] | None, n_classes: int | None,
    api: Api | None,
) -> Probe:  # fmt: skip
    if isinstance(obj, Loss):
        obj = Objective(obj)
    _check_arguments(obj, loss, hessian_kind, api)
    ours = isinstance(obj, Objective)
    K = _columns(obj, n_classes)
    rng = np.random.default_rng(0)
    labels = _labels(obj, y_true, K)
    y = rng.permutation(np.resize(labels, ROWS)).astype(np.float64)
    if ours and obj.rows is not None:
        if loss is not None:
            raise ValueError(
                "loss is given, but would not know which rows of the objective are tried: give it "
                "to objective(function, loss=loss, rows=...)"
            )
        order = rng.permutation(obj.rows)
        if y_true is not None:  # one row of each label, then random ones
            given = _checks.vector("y_true", y_true)
            obj.check_rows(len(given), "y_true")
            one_of_each = rng.permutation(spread(np.unique(given[order], return_index=True)[1]))
            order = order[np.concatenate([one_of_each, np.arange(len(order))])]
            y = given.astype(np.float64)[np.resize(order, ROWS)]
        obj = obj.take(np.resize(order, ROWS))
    elif ours:
        obj.check_rows(ROWS, "y_true")
    weights = _read_weights(sample_weight)
    low, high, tails = _margins(obj, margins, labels, K)
    f = rng.uniform(low, high, (ROWS,) if K is None else (ROWS, K))
    form, takes_weights = (None, True) if ours else as_sklearn(obj, api, y, f)
    if loss is None and ours and obj.equations.has_loss:
        loss = obj.loss
    name = repr(obj) if ours else getattr(obj, "__qualname__", None) or type(obj).__name__
    return Probe(
        target=obj, api=api, name=name if len(name) <= 100 else f"{name[:97]}...", form=form,
        takes_weights=takes_weights, loss=loss,
        kind=hessian_kind or (obj.hessian_kind if ours else "undeclared"),
        knows_labels=y_true is not None or (ours and isinstance(obj.label_domain, Values)),
        y=y, f=f, w=rng.permutation(np.resize(weights, ROWS)), tails=tails,
    )  # fmt: skip


def _check_arguments(
    obj: Any, loss: object, hessian_kind: HessianKind | None, api: Api | None
) -> None:
    if not callable(obj) or isinstance(obj, type):
        raise TypeError(f"obj must be an objective or another callable, found {shown(obj)}")
    _checks.check_called("obj", obj)
    if hasattr(getattr(obj, "metric", obj), "greater_is_better"):
        raise TypeError(
            f"obj is a metric, {shown(obj)}: pass an objective, such as qwk_objective()"
        )
    if loss is not None and not callable(loss):
        raise TypeError(f"loss must be callable or None, found {shown(loss)}")
    if hessian_kind is not None:
        _checks.choice("hessian_kind", hessian_kind, get_args(HessianKind))
    if api is not None:
        _checks.choice("api", api, get_args(Api))


def _columns(obj: Any, n_classes: int | None) -> int | None:
    """K, if margins are (n, K)."""
    K = None if n_classes is None else _checks.whole_number("n_classes", n_classes, 2)
    if not isinstance(obj, Objective) or obj.outputs == 1:
        return K
    if K not in (None, obj.outputs):
        raise ValueError(f"n_classes is {K}, but obj has {obj.outputs} outputs: leave it out")
    return int(obj.outputs)


def _read_weights(sample_weight: ArrayLike | None) -> Array:
    """What weights are drawn from."""
    if sample_weight is None:
        return np.array([1.0, 2.0, 3.0])
    weights = _checks.vector("sample_weight", sample_weight).astype(np.float64)
    if (weights < 1).any() or (weights % 1 != 0).any():
        raise ValueError(
            "sample_weight must hold whole numbers above 0, which are compared with copies of "
            f"the rows, found {shown(weights)}: leave it out for 1, 2 and 3"
        )
    return weights


def _margins(
    obj: Any, margins: tuple[float, float] | None, labels: Array, K: int | None
) -> tuple[float, float, Array]:
    """Between which margins are drawn, and those of the tails."""
    link = obj.link if isinstance(obj, Objective) else UNDECLARED
    binary = bool(np.isin(labels, (0, 1)).all()) or K is not None
    low, high = float(labels.min()), float(labels.max())
    in_label_units = not is_users_function(obj) and link.is_label_unit
    if margins is not None:
        low, high = _checks.label_range("margins", margins)
    elif binary and not in_label_units:
        low, high = -6.0, 6.0
    elif link.is_transformed:  # around the best margins of labels that have one
        best = link.forward(labels[(labels > link.lowest) & (labels < link.highest)])
        low, high = (best.min() - 1, best.max() + 1) if best.size else (-6.0, 6.0)
    if margins is not None or in_label_units:
        return low, high, np.array([low, high])
    with np.errstate(over="ignore"):  # models predict in float32
        predicted = TAILS if K else link.inverse(TAILS.astype(np.float32))
    return low, high, TAILS[np.isfinite(predicted)]


def _labels(obj: Any, y_true: ArrayLike | None, K: int | None) -> Array:
    if y_true is not None:
        return spread(np.unique(_checks.vector("y_true", y_true).astype(np.float64)))
    if is_users_function(obj):
        return np.arange(2.0 if K is None else K)
    domain = obj.label_domain
    if isinstance(domain, Values):
        return np.array(domain.values, np.float64)
    low, high = domain.low, domain.high
    if not math.isfinite(low):
        low = high - 3.0 if math.isfinite(high) else 0.0
    if not math.isfinite(high):
        high = low + 3.0
    labels = np.linspace(low, high, 4)
    if domain.low_is_open or domain.high_is_open:
        labels = (labels[:-1] + labels[1:]) / 2
    return labels


def spread(values: Array) -> Array:
    """Values in their order, as many as there are rows: both ends, and evenly between them."""
    at = np.linspace(0, len(values) - 1, min(ROWS, len(values))).round().astype(int)
    return np.asarray(values[at])


def as_sklearn(obj: Any, api: Api | None, y: Array, f: Array) -> tuple[Call, bool]:
    """A bare callable as a function of (y, f, w), and whether it is told the weights."""
    if api not in (None, "sklearn"):
        return _native(obj, api), True
    names, may_be_native = _parameters(obj)
    failures = []
    if api is None and may_be_native:
        for library in get_args(Api)[:2]:
            error = _error_of(_native(obj, library), y, f)
            if error is None:
                return _native(obj, library), True
            failures.append(error)
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

    error = _error_of(sklearn, y, f) if count == 2 and api is None else None
    if error is not None:
        raise TypeError(
            "obj can be called neither as (margin, data), with data.get_label() and "
            f"data.get_weight(), nor as (y_true, margin): {failures[0]}; {error}; pass api= if its "
            "form is known"
        )
    return sklearn, count > 2


def _native(obj: Any, api: Api) -> Call:
    return lambda y, f, w: obj(f, stand_in(y, w, api))


def _parameters(obj: Any) -> tuple[list[str], bool]:
    """The names of the parameters that may be given by position, and whether two are enough."""
    try:
        parameters = list(inspect.signature(obj).parameters.values())
    except ValueError:  # a builtin without signature
        parameters = []
    if not parameters or any(p.kind is p.VAR_POSITIONAL for p in parameters):
        return ["margin", "data"], True
    named = [p for p in parameters if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)]
    return [p.name for p in named], all(p.default is not p.empty for p in named[2:])


def _error_of(call: Call, y: Array, f: Array) -> str | None:
    """What a call raises, if anything."""
    try:
        call(y.copy(), f.copy(), None)
    except Exception as error:
        return f"{type(error).__name__}: {shown(str(error))}"
    return None


Found = tuple[float, Array, Array]  # mean loss, gradient of the rows at hand, and intercept
PARTS = np.split(np.arange(ROWS), [ROWS // 3])  # the rows of each worker, in parts of unlike size
CLOSE = 1e-6  # relative tolerance of sums, which are float64

COUPLED = (
    "the gradient of a row depends on other rows: several workers refuse to train on it; for them "
    "write it as ratio_objective(...), or as a Loss with totals"
)


def check_workers(probe: Probe) -> str | None:
    """Each worker's mean loss, gradient and intercept are those of one machine with all rows."""
    target = probe.objective("a function knows its own rows only: a Loss adds up all workers'")
    if target.whole:  # each worker adds the loss of its rows, and refuses coupled gradients
        return COUPLED if probe.couples_rows else None
    expected, whole, start = _computed(target, target._read_rows(probe.y, probe.f, probe.w))
    (found, first, own_start), (_, second, _) = _of_two(probe)
    if not np.isclose(found, expected, rtol=CLOSE, atol=CLOSE):
        raise Failure(
            f"the mean loss of two workers is {found:.4g}, where one machine with their rows finds "
            f"{expected:.4g}: value must give the loss and the weight of all workers' rows, "
            "counted once; add up with rows.sum(terms)"
        )
    if np.abs(np.concatenate([first, second]) - whole).max() > CLOSE * np.abs(whole).max():
        raise Failure(
            "the gradient of two workers is not that of one machine with their rows: measured and "
            "totals must be of all workers' rows; add up with rows.sum(terms)"
        )
    if not np.allclose(own_start, start, rtol=CLOSE, atol=CLOSE, equal_nan=True):
        raise Failure(
            f"the intercept of one of two workers is {shown(own_start.tolist())}, where one "
            f"machine with their rows starts at {shown(start.tolist())}: measured must be of "
            "all workers' rows; add up with rows.sum(terms)"
        )
    return None


def _computed(objective: Objective, rows: Rows) -> Found:
    loss = objective.measured_on(replace(rows, f=None)).equations
    total, n = loss.value(rows) if loss.has_loss else (0.0, 1.0)
    return total / n, loss._compute(rows, FLOAT64)[0], np.array(loss.intercept, np.float64)


class Question(BaseException):
    """Raised for a sum that is not known yet, of which ``own`` is this worker's part; no Exception,
    so that a loss that handles its own errors does not handle it."""

    def __init__(self, own: Array) -> None:
        self.own = own


@dataclass(frozen=True, eq=False)
class RowsOfWorker(Rows):
    """Rows of one of several workers; ``known`` holds what all workers sent, message by message."""

    known: Iterator[Array] = field(default_factory=lambda: iter(()))

    def total(self, own: Any) -> Array:
        return np.asarray(self._said_by_all(own).sum(axis=0))

    def parts(self, statistics: Callable[[Rows], Any]) -> Array:
        return self._said_by_all(statistics(self))

    def _said_by_all(self, own: Any) -> Array:
        said = next(self.known, None)
        if said is None:
            raise Question(np.asarray(own, np.float64))
        return said


def _of_two(probe: Probe) -> list[Found]:
    """The finding of each of two workers, run again from the start with each sum that is known."""
    known: list[Array] = []
    while True:
        asked, found = [], []
        for at in PARTS:
            objective = probe.target.take(at)
            with some_rows():
                rows = objective._read_rows(probe.y[at], probe.f[at], probe.w[at])
                of_worker = RowsOfWorker(**vars(rows), known=iter(known))
                try:
                    found.append(_computed(objective, of_worker))
                except Question as more:
                    asked.append(more.own)
        if not asked:
            return found
        if found or asked[0].shape != asked[1].shape:
            raise Failure(
                "one of two workers asks for sums that the other does not ask for: each would "
                "wait for ever; call rows.sum as often, whatever the labels are"
            )
        known.append(np.stack(asked))
