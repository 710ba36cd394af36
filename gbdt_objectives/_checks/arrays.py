"""Checks of arrays: their kind, dtype, shape, values and weights; and how a message shows them.

What is on a device, such as an array of CuPy or PyTorch on a GPU, is worked on there
(_rows/rows.py) or refused: only :func:`to_host` copies it.

Domains are what labels may be: ``contains(values)`` is a quick look at a block, which may say False
when in doubt; ``check(name, values)`` raises ValueError if a value is not in the domain.
"""

from __future__ import annotations

import ctypes
import math
import reprlib
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from decimal import Decimal
from numbers import Real
from typing import Any, ClassVar, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from gbdt_objectives import _checks
from gbdt_objectives._public import each_round, public
from gbdt_objectives._rows.workers import several

Array = NDArray[Any]

LARGEST_WEIGHT = 1e30  # the gradient of such a row, up to labels of 1e8, is still a float32
LEAST_WEIGHT = 1e-100  # of the largest weight: products of two are still a float64
LONGEST_SHOWN = 120  # characters of a user's value in a message
HOST = (1, 3)  # DLPack's kinds of host memory: the processor's, and what is pinned for a GPU
DECIMALS = "it holds Decimal numbers, convert them with numpy.asarray(..., float)"
COPIES = {"cudf": "{}.to_numpy()", "cupy": "cupy.asnumpy({})", "torch": "{}.cpu()"}
"""How users copy an array of a library to the host."""
QUERIES = {
    ("polars.lazyframe", "LazyFrame"): "call .collect()",
    ("polars.expr", "Expr"): "pass the column itself",
    **{("pyspark.sql", kind): "call .toPandas()" for kind in ("DataFrame", "Column")},
}
"""What users do for the rows of what is yet to be computed, by module and class."""

_SHORT = reprlib.Repr()
_SHORT.maxlist = _SHORT.maxtuple = _SHORT.maxdict = _SHORT.maxset = 6
_SHORT.maxstring = _SHORT.maxother = _SHORT.maxlong = 60


def shown(value: Any) -> str:
    """A user's value for a message: its repr, or the beginning of it and how much there is."""
    if isinstance(value, np.generic) and value.dtype.kind in "biufUS":
        value = value.item()
    try:
        size = int(np.size(value)) if hasattr(value, "shape") else 0
        if size > 6 or hasattr(value, "toarray"):
            text = f"{type(value).__name__} of shape {tuple(value.shape)}"
            if not isinstance(value, np.ndarray):
                return text
            return f"{text}, {_SHORT.repr(value.ravel()[:7].tolist())}"[:LONGEST_SHOWN]
        text = repr(value)
        if len(text) > LONGEST_SHOWN:
            text = _SHORT.repr(value)
            if isinstance(value, list | tuple | dict | set | frozenset):
                text = f"{text[: LONGEST_SHOWN - 20]} ({len(value)} in all)"
    except Exception:  # a repr that fails must not hide the message
        return f"a {type(value).__name__}"
    text = " ".join(text.split())
    return text if len(text) <= LONGEST_SHOWN else f"{text[: LONGEST_SHOWN - 3]}..."


def is_dask(values: object) -> bool:
    """Whether it is a Dask collection; dask is not imported for the answer."""
    modules = (f"{base.__module__}." for base in type(values).__mro__)
    return any(module.startswith(("dask.", "dask_expr.")) for module in modules)


def not_lazy(name: str, values: object) -> None:
    """Raise if its rows are elsewhere, or not there yet."""
    call = QUERIES.get((".".join(type(values).__module__.split(".")[:2]), type(values).__name__))
    if call:
        raise TypeError(
            f"{name} is a {type(values).__name__}, which holds no rows yet: {call} of its data "
            "frame, as long as that fits; docs/large_data.md shows sums over partitions"
        )
    if is_dask(values):
        raise TypeError(
            f"{name} is a Dask {type(values).__name__}, but what it is passed to needs the rows on "
            "this machine: if it treats each row alone map it over the partitions, otherwise pass "
            ".compute(), as long as that fits; docs/large_data.md lists what takes Dask collections"
        )


def on_device(values: object) -> bool:
    """Whether it is an array that is not in the host's memory."""
    if values is None or isinstance(values, np.ndarray):
        return False
    place = getattr(values, "__dlpack_device__", None)
    if place is not None:
        return place()[0] not in HOST
    return hasattr(values, "__cuda_array_interface__")


def refuse_device(name: str, values: object) -> None:
    """Raise for an array on a device, which numpy could not read, or would copy unasked."""
    if on_device(values):
        library = library_name(values)
        raise TypeError(
            f"{name} is on a device, found a {library}.{type(values).__name__}, but is needed in "
            f"the host's memory: pass {COPIES.get(library, 'numpy.asarray({})').format(name)}"
        )


def to_host(values: Any) -> Any:
    """A numpy copy of an array on a device; anything else as it is."""
    if not on_device(values):
        return values
    library = library_name(values)
    if library == "cupy":
        return values.get()
    if library == "torch":
        return values.detach().cpu().numpy()
    if hasattr(values, "to_numpy"):  # cuDF's
        return values.to_numpy()
    if hasattr(values, "__array_namespace__"):
        default = values.__array_namespace__().__array_namespace_info__().default_device()
        values = values.to_device(default)
    return np.asarray(values)


def library_name(values: object) -> str:
    return type(values).__module__.partition(".")[0]


def in_memory(name: str, values: object) -> None:
    """Raise if numpy would unmask it, gather it from elsewhere, or leave it out of a gradient."""
    if isinstance(values, np.ma.MaskedArray):  # of which boosters, too, would take all elements
        hidden = int(np.ma.getmaskarray(values).sum())
        raise TypeError(
            f"{name} is a masked array, with {hidden} of {values.size} elements masked: leave "
            "these rows out of all arguments (.compressed()) or fill them (.filled(value)); if "
            "none is masked pass its .data"
        )
    not_lazy(name, values)
    refuse_device(name, values)
    if getattr(values, "requires_grad", False) is True:
        raise TypeError(f"{name} is a tensor that requires grad: pass {name}.detach()")


def as_array(name: str, values: ArrayLike) -> Array:
    """What a user calls an array, of any type and shape, as one."""
    if type(values) is np.ndarray:  # nearly always, and in every round
        return values
    in_memory(name, values)
    if hasattr(values, "toarray"):
        raise TypeError(f"{name} is a sparse matrix: pass a dense array, {name}.toarray()")
    return np.asarray(values)


def column_names(X: Any) -> list[Any] | None:
    """The names of a table's columns; None without."""
    if getattr(X, "ndim", 2) != 2:  # Dask's Series has columns, too
        return None
    for name in ("column_names", "columns"):  # the columns of an Arrow table are arrays
        if not callable(getattr(type(X), name, print)):  # a Series would look it up in its rows
            return list(getattr(X, name))
    return None


def is_column_of_numbers(X: Any) -> bool:
    """Whether features are no table, but numbers; of texts a pipeline may make a table."""
    if isinstance(X, list | tuple):
        first = X[0] if X else None
    elif len(getattr(X, "shape", (0, 0))) < 2:
        first = next(iter(np.asarray(X).ravel()[:1].tolist()), 0.0)
    else:
        return False
    return isinstance(first, Real)


def not_flat(name: str, shape: tuple[int, ...], also: str = "") -> ValueError:
    """The error for an array of another shape than (n,)."""
    remedy = {
        0: ": pass a list, of one number too",
        2: f": pass one column, such as numpy.asarray({name})[:, 0]; of a probability for each of "
        "K classes, decide(probability, metric) or argmax(axis=1) makes one label for each row",
    }.get(len(shape), "")
    return ValueError(f"{name} must be one-dimensional{also}, found shape {shape}{remedy}")


def vector(name: str, values: ArrayLike) -> Array:
    """A non-empty one-dimensional array of finite real numbers (floats keep their dtype)."""
    array = real_array(name, values)
    if array.ndim != 1:
        raise not_flat(name, array.shape)
    if array.size == 0 and not several():
        raise ValueError(f"{name} is empty: there must be at least one row")
    finite(name, array)
    return array


def one_score(score: ArrayLike) -> Array:
    """Scores of shape (n,) or (n, 1), checked, as (n,)."""
    array = as_array("score", score)
    if array.ndim == 2 and array.shape[1] == 1:
        array = array[:, 0]
    if array.ndim != 1:
        raise ValueError(
            f"score must have shape (n,) or (n, 1), found {array.shape}: one score per row, "
            "not features; of predict_proba pass the column [:, 1]"
        )
    if array.dtype.kind == "O":
        for value in array:
            if not isinstance(value, Real):
                found = f"{type(value).__name__} {shown(value)}"
                raise TypeError(f"score must hold real numbers, found {found}: convert it")
        array = array.astype(np.float64)
    return vector("score", array)


def real_array(name: str, values: ArrayLike) -> Array:
    """Numbers of any shape as a float array; not yet checked for NaN."""
    array = as_array(name, values)
    if hasattr(values, "get_label"):
        raise TypeError(
            f"{name} must be an array, found a {type(values).__name__}: "
            "are the arguments swapped? Pass the labels, e.g. data.get_label()"
        )
    if array.dtype.kind in "biu":
        return array.astype(np.float64)
    if array.dtype.kind != "f":
        raise not_real(name, array)
    if not array.dtype.isnative or array.dtype.itemsize not in (4, 8):
        return array.astype(np.float64)
    return array


def not_real(name: str, array: Any) -> TypeError:
    missing = "convert it first (missing values and strings are not labels or scores)"
    remedy = DECIMALS if holds_decimals(array) else missing
    return TypeError(f"{name} must hold real numbers, found dtype {array.dtype}: {remedy}")


def holds_decimals(array: Any) -> bool:
    return array.dtype == object and any(isinstance(v, Decimal) for v in array.ravel().tolist())


def square(name: str, matrix: ArrayLike) -> Array:
    """Numbers of each pair of K classes, float64 (K, K); not yet checked for NaN."""
    array: Array = real_array(name, matrix).astype(np.float64)
    if array.ndim != 2 or array.shape[0] != array.shape[1] or len(array) < 2:
        raise ValueError(
            f"{name} must have shape (K, K) with K >= 2 classes, found shape {array.shape}"
        )
    return array


def finite(name: str, array: Array, remedy: str = "remove or repair these rows first") -> None:
    """Raise if any element is NaN or infinite."""
    good = np.isfinite(array)
    if np.count_nonzero(good) < good.size:
        bad = ~good
        at = tuple(np.argwhere(bad)[0].tolist())
        where = "".join(f", column {k}" if j else f" at row {k}" for j, k in enumerate(at))
        raise ValueError(
            f"{name} must be finite, found {array[at]}{where} ({int(bad.sum())} such of "
            f"{array.size}): {remedy}"
        )


def each(name: str, values: Array, right: Array, rule: str, remedy: str) -> None:
    """Raise for the first row whose value is not right."""
    if np.count_nonzero(right) < right.size:
        at = tuple(np.argwhere(~right)[0].tolist())
        raise ValueError(f"{name} {rule}, found {values[at]} at row {at[0]}: {remedy}")


def weights(name: str, values: ArrayLike | None, rows: int) -> Array | None:
    """None, or one finite weight >= 0 a row, not all of them zero."""
    if values is None:
        return None
    array = vector(name, values)
    same_length(name, array, "the labels", rows)
    if not array.size:  # of a worker without rows
        return array
    each(name, array, array >= 0, "must not be negative", "leave such rows out")
    each(
        name, array, array <= LARGEST_WEIGHT, f"must be at most {LARGEST_WEIGHT:g}",
        "the gradients of boosters are float32; divide the weights by their mean",
    )  # fmt: skip
    if not several():  # other workers may have rows that count
        some_weight(name, float(array.max()), rows)
    return array


def some_weight(name: str, largest: float, rows: int) -> None:
    """Raise if the largest of all weights is zero, or as good as."""
    if largest == 0:
        raise ValueError(f"{name} is 0 in all {rows} rows: at least one row must count")
    if largest < LEAST_WEIGHT:
        raise ValueError(
            f"{name} is at most {largest:g}: products of such weights are lost in rounding; "
            "divide the weights by their mean"
        )


def label_weight(dataset: Any) -> tuple[Any, Any]:
    """Labels and weights of a DMatrix or Dataset; no weights is None in both libraries."""
    if getattr(dataset, "_handle", None):  # of a Dataset get_label would miss a later set_field
        label, weight = dataset.get_field("label"), dataset.get_field("weight")
    else:
        label, weight = dataset.get_label(), dataset.get_weight()
    return label, None if weight is None or 0 in np.shape(weight) else weight


class Seen(NamedTuple):
    """Copies of labels and weights, which ``set_label`` may change."""

    y: Any
    w: Any  # or None

    @staticmethod
    def of(y: Any, w: Any) -> Seen:
        return Seen(*(None if v is None else Seen.copied(np.asarray(to_host(v))) for v in (y, w)))

    @staticmethod
    def copied(values: Array) -> Array:
        """float32 is in a bytearray: Python compares its bits with other memory in one pass."""
        if values.dtype != np.float32:
            return values.copy()
        return np.ndarray(values.shape, values.dtype, bytearray(values.tobytes()))

    def is_held(self, find: Callable[[bytes], tuple[int, int | None]]) -> bool:
        """Whether a library holds these, bit by bit. ``find(field)`` says how many float32 it holds
        and where; a missing function of its C interface is no answer."""
        with suppress(AttributeError, TypeError, ctypes.ArgumentError):
            for values, field in zip(self, (b"label", b"weight"), strict=True):
                n, address = find(field)
                size = 0 if values is None else values.size
                if n != size or (n and values.dtype != np.float32):
                    return False
                if n and values.base != (ctypes.c_char * values.nbytes).from_address(address):
                    return False
            return True
        return False


def same_length(name: str, array: Array, other: str, rows: int) -> None:
    found = array.shape[0]
    if found != rows:
        raise ValueError(f"{name} has {found} rows, but {other} have {rows}: they must match")


def have_fractions(y: Any) -> bool:
    """Whether labels, perhaps of Dask, are no whole numbers."""
    y = y if hasattr(y, "__dask_graph__") else np.asarray(to_host(y))
    found: Any = getattr(getattr(y, "dtype", None), "kind", "") == "f" and (y != y // 1).any()
    return bool(found.compute() if hasattr(found, "compute") else found)


def are_equal(a: Any, b: Any) -> bool:
    """Whether both are labels in memory, equally many and equal."""
    if a is None or b is None or hasattr(a, "__dask_graph__"):
        return False
    first, second = np.ravel(to_host(a)), np.ravel(to_host(b))
    return len(first) > 0 and np.array_equal(first, second)


def binary_labels(name: str, y: Array, of_soft: str = "") -> None:
    """Labels 0 and 1; ``of_soft`` is what to do about labels between them."""
    right = y == 0
    right |= y == 1
    if right.all():
        return
    remedy = "encode the rare event as 1 and everything else as 0"
    if of_soft and ((y >= 0) & (y <= 1)).all():
        remedy = of_soft
    each(name, y, right, "must be 0 (negative) or 1 (positive)", remedy)


def not_swapped(name: str, p: Any, y: Any) -> None:
    """Refuse predictions (n,) that are 0 and 1, as labels are, beside labels between these."""
    if p.ndim > 1 or not p.shape[0] or float(p[0]) not in (0, 1):  # nearly all, at no cost
        return
    p, y = to_host(p), to_host(y)
    if np.ptp(p) and np.isin(p, (0, 1)).all() and ((y > 0) & (y < 1)).any():
        raise ValueError(
            f"{name} is 0 or 1 in every row, as labels are, beside labels between 0 and 1: pass "
            "the margins or probabilities that the model predicts"
        )


@public
@dataclass(frozen=True)
class Interval:
    """The finite numbers from ``low`` to ``high``, each included unless it is open.

    Those above 0 are ``Interval(low=0, low_is_open=True)``.
    """

    low: float = -math.inf
    high: float = math.inf
    low_is_open: bool = False
    high_is_open: bool = False

    def __post_init__(self) -> None:
        for name, end in (("low", self.low), ("high", self.high)):
            with np.errstate(over="ignore"):
                rounded = float(np.float32(end))
            if rounded != end and abs(end - rounded) <= np.spacing(abs(rounded)):
                raise ValueError(
                    f"{name} is {end!r}, which is {rounded:g} in float32, as labels often are: "
                    f"write {name}={rounded:g}, {name}_is_open=True if {rounded:g} is no label"
                )

    @each_round
    def contains(self, values: Array) -> bool:
        if self.low == -math.inf and self.high == math.inf:
            return bool(np.isfinite(values).all())
        return not values.size or self.spans(float(values.min()), float(values.max()))

    @each_round
    def spans(self, low: float, high: float) -> bool:
        """Whether all numbers from low to high are in it."""
        above = self.low < low if self.low_is_open else self.low <= low
        below = high < self.high if self.high_is_open else high <= self.high
        return above and below and math.isfinite(low + high)

    @each_round
    def check(self, name: str, values: Array) -> None:
        _checks.finite(name, values)
        right = values > self.low if self.low_is_open else values >= self.low
        right &= values < self.high if self.high_is_open else values <= self.high
        low, high = "above" if self.low_is_open else ">=", "below" if self.high_is_open else "<="
        ends = ((low, self.low), (high, self.high))
        must = " and ".join(f"{sign} {end:g}" for sign, end in ends if math.isfinite(end))
        remedy = "correct these rows or leave them out"
        if (self.low, self.high) == (0, 1):
            remedy += ", or encode the two classes as 0 and 1, or divide percentages by 100"
        _checks.each(name, values, right, f"must be {must}", remedy)


@public
@dataclass(frozen=True)
class Values:
    """A few numbers, such as the classes 0, 1 and 2."""

    values: tuple[float, ...]
    of_soft: ClassVar[str] = (
        "write each row twice, with label 1 and weight y, and with label 0 and weight 1 - y"
    )

    @each_round
    def contains(self, values: Array) -> bool:
        return bool(self._find(values).all())

    def check(self, name: str, values: Array) -> None:
        if self.values == (0, 1):
            return _checks.binary_labels(name, values, self.of_soft)
        rule = f"must be one of {_checks.shown(self.values)}"
        _checks.each(name, values, self._find(values), rule, "encode the classes as these numbers")

    def _find(self, values: Array) -> Array:
        found: Array = np.isin(values, self.values)
        return found


@public
@dataclass(frozen=True)
class Classes(Values):
    """The classes 0 to K-1."""

    def __init__(self, n_classes: int) -> None:
        super().__init__(tuple(map(float, range(n_classes))))

    def check(self, name: str, values: Array) -> None:
        remedy = "subtract the lowest label, encode classes by their rank, or raise n_classes"
        rule = f"must hold classes 0 to {len(self.values) - 1}"
        _checks.each(name, values, self._find(values), rule, remedy)

    def _find(self, values: Array) -> Array:
        found: Array = (values == np.rint(values)) & (values >= 0) & (values <= self.values[-1])
        return found


Domain = Interval | Values

REAL = Interval()
"""Every finite number."""
SOFT = Interval(0.0, 1.0)
"""The labels 0 and 1 and, between them, soft labels: probabilities of 1."""
BINARY = Values((0.0, 1.0))
"""The labels 0, negative, and 1, positive."""
