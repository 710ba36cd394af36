"""Rows: labels, margins, weights and named values of rows, wherever they are.

Symbols: y labels, f margins, w weights, xp the functions of the arrays' library. Sums are over
all rows: those at hand, of all workers that train together, or an engine's partitions.

An array is a single part. The partitions of Dask collections are measured where they are, and their
sums merged as a tree.

On the host long vectors are worked on a stretch at a time: in cache, on one thread.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from html import escape
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np
from numpy.lib.mixins import NDArrayOperatorsMixin
from numpy.typing import ArrayLike

from gbdt_objectives import _checks
from gbdt_objectives._checks import Array, is_dask, shown
from gbdt_objectives._checks.arrays import Domain, Interval
from gbdt_objectives._public import each_round, public
from gbdt_objectives._registry import load
from gbdt_objectives._rows import workers as _workers

if TYPE_CHECKING:
    from pandas import DataFrame


DeviceArray = Any  # an array of any library but numpy
BLOCK_BYTES = 1 << 20  # large enough for numpy to be busy, small enough for the cache
EXPRESSION_BYTES = 1 << 18  # larger new arrays come page by page: twice to three times as slow

STRETCH = 8192
"""Number of rows of a BLAS call. Above 10,000 OpenBLAS wakes its other threads, which then spin for
a while and take the cores from the booster: LightGBM's rounds took 2.8 times as long, as
benchmarks/README.md says."""


def blocks(array: Array, size: int = BLOCK_BYTES) -> list[slice]:
    """Slices of rows, of at most ``size`` bytes each, that cover an array."""
    n, rows = len(array), max(1, size // (array.itemsize * math.prod(array.shape[1:])))
    return [slice(start, min(start + rows, n)) for start in range(0, n, rows)]


CHUNK = 16 * STRETCH  # rows that are converted at a time, to be still in the cache afterwards


def dot(u: Array, v: Array) -> float:
    """sum u v in float64, so that neither the order of rows nor their split over workers shows."""
    if len(u) <= STRETCH:
        a = u.astype(np.float64, copy=False)
        return float(np.vdot(a, a if v is u else v.astype(np.float64, copy=False)))
    same = v is u
    spare = np.empty((2 - same, CHUNK)) if u.dtype != np.float64 or v.dtype != np.float64 else None
    total = 0.0
    with np.errstate(over="ignore", invalid="ignore"):
        for start in range(0, len(u), CHUNK):
            a, b = u[start : start + CHUNK], v[start : start + CHUNK]
            if spare is not None:
                np.copyto(spare[0, : len(a)], a)
                a = spare[0, : len(a)]
                if not same:
                    np.copyto(spare[1, : len(a)], b)
                b = spare[-1, : len(a)]
            n = len(a) // STRETCH * STRETCH
            stretches = np.matmul(a[:n].reshape(-1, 1, STRETCH), b[:n].reshape(-1, STRETCH, 1))
            total += float(stretches.sum()) + float(np.vdot(a[n:], b[n:]))
    return total


def from_zero(values: Array) -> Array:
    """Cumulative sums with the empty sum first, float64 (d+1,)."""
    return np.append(0.0, np.cumsum(values, dtype=np.float64))


@dataclass(frozen=True)
class Host:
    """The host's memory, whose arrays are numpy's."""

    xp: Any = np

    def real_array(self, name: str, values: Any) -> Any:
        return _checks.real_array(name, values)

    def cast(self, values: Any, dtype: Any) -> Any:
        """The values in this precision, without a copy if possible."""
        return values.astype(dtype, copy=False)

    def sum(self, terms: Any, w: Any) -> float:
        """sum w terms, in float64; w None is 1 in all rows."""
        return float(terms.sum(dtype=np.float64)) if w is None else dot(terms, w)

    def extremes(self, values: Any) -> tuple[float, float]:
        """The least and the largest value, both NaN if one is."""
        return float(values.min()), float(values.max())

    def contains(self, domain: Domain, values: Any) -> bool:
        """A quick look, a block at a time, which may say False when in doubt."""
        return all(domain.contains(values[at].ravel()) for at in blocks(values))

    def slices(self, values: Any, size: int) -> list[slice]:
        """Slices of at most ``size`` bytes to work on; at least one, be it of no rows."""
        return blocks(values, size) or [slice(0, 0)]


@dataclass(frozen=True)
class Device:
    """A device and the functions ``xp`` of the library of its arrays, of the array API standard.

    Sums are computed in float64, and their values go to the host. The device finds that something
    is wrong with an array; the checks of the host say what.
    """

    xp: Any
    place: Any

    def real_array(self, name: str, values: Any) -> DeviceArray:
        """Real numbers on this device; what is on the host is sent there."""
        xp = self.xp
        if not _checks.on_device(values):
            own = np.require(_checks.real_array(name, values), requirements=["C", "W"])
            return xp.asarray(own, device=self.place)
        if Rows.place_of(values) != self:
            raise TypeError(
                f"{name} is a {type(values).__name__} on {getattr(values, 'device', 'a device')}, "
                f"but the labels are on {self.place}: put all on one device, in one library"
            )
        if values.dtype in (xp.float32, xp.float64):
            return values
        if xp.isdtype(values.dtype, ("bool", "integral", "real floating")):
            return xp.astype(values, xp.float64)
        raise _checks.not_real(name, values)

    def cast(self, values: DeviceArray, dtype: Any) -> DeviceArray:
        """The values in float32 or float64, given as a dtype of either library."""
        wanted = getattr(self.xp, dtype.name) if isinstance(dtype, np.dtype) else dtype
        return self.xp.astype(values, wanted, copy=False)

    def sum(self, terms: DeviceArray, w: DeviceArray | None) -> float:
        xp = self.xp
        terms = xp.astype(terms, xp.float64)
        total = xp.sum(terms if w is None else terms * xp.astype(w, xp.float64))
        if total.dtype != xp.float64:
            raise TypeError(
                f"sums over rows need float64, but {xp.__name__} made {total.dtype} of it: allow "
                'float64, in jax by jax.config.update("jax_enable_x64", True)'
            )
        return float(total)

    def extremes(self, values: DeviceArray) -> tuple[float, float]:
        return float(self.xp.min(values)), float(self.xp.max(values))

    def contains(self, domain: Domain, values: DeviceArray) -> bool:
        """Whether all values are in the domain."""
        if 0 in values.shape:
            return True
        if isinstance(domain, Interval):
            return domain.spans(*self.extremes(values))
        found = values == domain.values[0]
        for value in domain.values[1:]:
            found = found | (values == value)
        return bool(self.xp.all(found))

    def slices(self, values: DeviceArray, size: int) -> list[Any]:
        """One slice of all rows."""
        return [...]


Place = Host | Device
HOST = Host()


LONGEST = 20  # rows of a table that are printed; of a longer one the first and the last
LONGEST_WORD = 30  # characters of a cell that are printed


class ArrayValue(NDArrayOperatorsMixin):
    """A frozen value that numpy reads as an array; what is computed from it is a plain array."""

    values: Any

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> Array:
        return np.array(self.values, dtype)

    def __array_ufunc__(self, ufunc: Any, method: str, *inputs: Any, **kwargs: Any) -> Any:
        return getattr(ufunc, method)(*map(ArrayValue._plain, inputs), **kwargs)

    def tolist(self) -> Any:
        return self.values.tolist()

    @staticmethod
    def _plain(value: Any) -> Any:
        """The array or number of a value, anything else as it is."""
        return value.values[()] if isinstance(value, ArrayValue) else value

    @staticmethod
    def _carried_labels(values: Any) -> Array | None:
        return getattr(values, "labels", None) if isinstance(values, ArrayValue) else None


def freeze(owner: object, **values: Any) -> None:
    """Set attributes of a frozen value; arrays cannot be written to from then on."""
    for name, value in values.items():
        if isinstance(value, np.ndarray):
            value.flags.writeable = False
        object.__setattr__(owner, name, value)


def same_labels(a: Any, b: Any) -> bool:
    return bool(np.asarray(a).tolist() == np.asarray(b).tolist())


class RowValues:
    """Numbers of each training row, shape (n, ...), in a copy that cannot be written to.

    It is a value: it compares, hashes, prints and pickles as one.
    """

    values: Array
    index: Any = None  # the labels of the rows, if they came from pandas; no part of the value
    is_of_user = True  # whether users know these values by the name that the equations have

    def __init__(self, values: Array, index: Any = None) -> None:
        own = np.array(values, order="C")
        if own.dtype.kind == "f":
            own += 0.0  # without -0, which hashes otherwise
        freeze(self, values=own, index=index)

    def __setattr__(self, name: str, value: object) -> None:
        raise AttributeError("RowValues cannot be changed: make new ones")

    def __len__(self) -> int:
        return len(self.values)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, RowValues) or self.values.dtype != other.values.dtype:
            return False
        return np.array_equal(self.values, other.values)

    def __hash__(self) -> int:
        return hash((self.values.shape, self.values.dtype, self.values.tobytes()))

    def __repr__(self) -> str:
        low, high = self.values.min(), self.values.max()
        return f"{type(self).__name__}({len(self)} rows, {low:.4g} to {high:.4g})"

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (np.array(self.values), self.index)  # numpy forgets what is read-only

    def called(self, name: str) -> str:
        """The name of these values in messages."""
        return name

    def remedy(self, name: str) -> str:
        """The remedy for another number of rows, in messages."""
        return (
            "its value for each training row, in their order. Where scikit-learn holds rows out, "
            f"name it, objective(function, rows=[{name!r}]), and pass it to fit, which splits it: "
            f"GridSearchCV(...).fit(X, y, {name}={name}), cross_val_score(..., "
            f"params={{{name!r}: {name}}}). Elsewhere objective.take(positions) is for some of the "
            "rows, and cv() takes them itself"
        )

    def check_labels(self, y: Array) -> None:
        """Raise for labels of these rows that cannot be."""

    def take(self, positions: ArrayLike) -> RowValues:
        """The values of the rows at these positions, in their order."""
        at = np.asarray(positions)
        if at.ndim != 1 or at.size == 0 or at.dtype.kind not in "iu":
            raise TypeError(
                f"positions must be whole numbers, at least one, found dtype {at.dtype} and shape "
                f"{at.shape}: pass numpy.flatnonzero(mask) for a mask"
            )
        if at.min() < 0 or at.max() >= len(self):
            raise ValueError(
                f"positions must be from 0 to {len(self) - 1}, one of {len(self)} rows each, found "
                f"{at.min()} to {at.max()}"
            )
        return type(self)(self.values[at], None if self.index is None else self.index[at])


def write_table(least: int = 8, /, **columns: Array) -> str:
    """Columns of words, and of numbers in four digits, under their names, at least so wide."""
    n = len(next(iter(columns.values())))
    shown = printed_rows(n)
    cells = [[name, *map(cell_text, np.asarray(column)[shown])] for name, column in columns.items()]
    padded = [[cell.rjust(max(least, *map(len, column))) for cell in column] for column in cells]
    lines = list(map("  ".join, zip(*padded, strict=True)))
    if n > LONGEST:
        lines.insert(1 + LONGEST // 2, f"... {n - LONGEST} more ...")
    return "\n".join(lines)


def printed_rows(n: int) -> Array:
    """Which of n rows are printed."""
    return np.arange(n) if n <= LONGEST else np.r_[: LONGEST // 2, n - LONGEST // 2 : n]


def cell_text(value: Any) -> str:
    if not isinstance(value, str):
        return f"{value:.4g}"
    return value if len(value) <= LONGEST_WORD else f"{value[: LONGEST_WORD - 3]}..."


FLOAT32, FLOAT64 = np.dtype(np.float32), np.dtype(np.float64)
Terms = Callable[..., Sequence[Any]]
"""``terms(y, f, xp, **named)`` returns what is added up over rows; a number counts once a row."""


@public
@dataclass(frozen=True, eq=False)
class Rows:
    """Labels y (n,), margins f (n,) or (n, K), weights w (n,) or None, and named values of rows.

    ``f`` is None where only labels matter. ``whole`` says that they must not be cut into stretches.
    """

    y: Any
    f: Any = None
    w: Any = None
    named: Mapping[str, Any] = field(default_factory=dict)
    place: Place = HOST
    reduce: _workers.Reduce | None = None
    whole: bool = False
    memo: dict[Any, Any] = field(default_factory=dict)
    """Values that a loss derives from labels and weights, kept while only the margins change."""

    @property
    def xp(self) -> Any:
        return self.place.xp

    def __len__(self) -> int:
        return int(self.y.shape[0])

    @each_round
    def sum(self, terms: Terms, *, narrow: bool = False) -> Array:
        """The sums of w times each of the terms over all workers' rows, float64.

        On several workers each must call it, in the same order. ``narrow``: terms of rows that are
        float32 may be so too, where none overflows or cancels; they are added up in float64.
        """
        return self.total(self.own_sum(terms, narrow=narrow))

    @each_round
    def total(self, own: Any) -> Array:
        """The sum of all workers' own sums, a float64 vector."""
        return _workers.all_sum(own, reduce=self.reduce)

    @each_round
    def own_sum(self, terms: Terms, *, narrow: bool = False) -> Array:
        """The sums over the rows at hand."""
        given = (self.y, self.f) if self.w is None else (self.y, self.f, self.w)
        narrow = narrow and self.place is HOST and all(a.dtype == FLOAT32 for a in given)
        parts = self.stretches(FLOAT32 if narrow else FLOAT64, EXPRESSION_BYTES)
        return sum(np.array(part._sums(terms)) for part in parts)  # type: ignore[return-value]

    def parts(self, statistics: Callable[[Rows], Any]) -> Array:
        """The vectors that ``statistics`` makes of the parts of all workers' rows, (parts, k)."""
        return _workers.all_gather(statistics(self))

    @each_round
    def count(self, w: Any) -> float:
        return float(len(self)) if w is None else self.place.sum(w, None)

    def _sums(self, terms: Terms) -> list[float]:
        found = terms(self.y, self.f, self.xp, **self.named)
        if not isinstance(found, tuple | list):
            raise TypeError(
                f"terms of Rows.sum must give a tuple, found {_checks.shown(found)}: write (term,)"
            )
        counts = [isinstance(term, int | float) for term in found]
        n = self.count(self.w) if any(counts) else 0.0
        of_rows = partial(self.place.sum, w=self.w)
        return [t * n if counted else of_rows(t) for t, counted in zip(found, counts, strict=True)]

    @each_round
    def stretches(self, dtype: Any, size: int = BLOCK_BYTES) -> Iterator[Rows]:
        """The rows in stretches, at least one, of at most ``size`` bytes, all in one precision."""
        if self.whole:
            yield self
            return
        cast = self.place.cast
        for at in self.place.slices(self.y if self.f is None else self.f, size):
            yield replace(
                self,
                y=Rows.read_only(cast(self.y[at], dtype)),
                f=None if self.f is None else Rows.read_only(cast(self.f[at], dtype)),
                w=None if self.w is None else cast(self.w[at], dtype),
                named={name: cast(values[at], dtype) for name, values in self.named.items()},
            )

    @staticmethod
    @each_round
    def read_only(array: Any) -> Any:
        """A view that cannot be written to; arrays on a device are returned as they are."""
        if isinstance(array, np.ndarray):
            array = array.view()
            array.flags.writeable = False
        return array

    @staticmethod
    @each_round
    def place_of(*values: Any) -> Place:
        """The place of those arrays that are on a device; the host's memory if none is."""
        found = [array for array in values if _checks.on_device(array)]
        if not found:
            return HOST
        try:
            import array_api_compat as compat
        except ImportError as error:
            raise ImportError(
                "arrays on a device need array-api-compat: pip install 'gbdt_objectives[array-api]'"
            ) from error
        try:
            xp = compat.array_namespace(*found)
        except TypeError as error:
            kinds = ", ".join(f"{type(array).__module__}.{type(array).__name__}" for array in found)
            raise TypeError(
                f"arrays on a device must be of one library that has the array API, such as CuPy "
                f"and PyTorch, found {kinds}: convert them, or pass copies in the host's memory"
            ) from error
        places = [compat.device(array) for array in found]
        if any(place != places[0] for place in places):
            raise TypeError(
                f"labels, margins and weights are on different devices, {places}: put all on one"
            )
        return Device(xp, places[0])


PARTITIONS = "gbdt_objectives.distributed.dask._train"
T = TypeVar("T")


def any_dask(columns: Mapping[str, Any]) -> bool:
    return any(map(is_dask, columns.values()))


def total(of: Callable[..., T], columns: Mapping[str, Any]) -> T:
    """The sum of ``of(**columns)`` over all parts of the rows; None, and one rate for all rows, are
    passed on as they are. Partitions without rows are left out; those whose rows all have no weight
    are not. ``of`` and what it returns travel between machines."""
    if not any_dask(columns):
        return of(**columns)
    found: T = load(PARTITIONS).sum_over_partitions(*_of_columns(of, columns))
    return found


def vectors(of: Callable[..., Sequence[float] | Array], columns: Mapping[str, Any]) -> Array:
    """The vectors ``of(**columns)`` of all parts of the rows, (parts, k); see :func:`total`."""
    return np.array(total(partial(_listed, of), columns))


def _listed(of: Callable[..., T], **columns: Any) -> list[T]:
    return [of(**columns)]


def map_parts(function: Callable[..., Any], columns: Mapping[str, Any], dtype: Any) -> Any:
    """``function(**columns)``, a value of each row: of Dask columns lazily, like the first."""
    if not any_dask(columns):
        return function(**columns)
    return load(PARTITIONS).map_rows(*_of_columns(function, columns), dtype)


def _of_columns(
    of: Callable[..., T], columns: Mapping[str, Any]
) -> tuple[Callable[..., T], dict[str, Any]]:
    """The function that has what is no column already, None and one rate, and the columns."""
    same = {
        name: given
        for name, given in columns.items()
        if given is None or (name.endswith("rate") and not is_dask(given) and np.ndim(given) == 0)
    }
    return partial(of, **same), {name: columns[name] for name in columns if name not in same}


def check_column(name: str, column: Any) -> None:
    """Raise for a Dask collection that is no single column, or of unknown categories."""
    if is_dask(column):
        load(PARTITIONS).check_dask_column(name, column, {name: column})


class Shown:
    """Mixin of results that notebooks show as a table: ``_shown`` is its title and columns."""

    _shown: Callable[[], tuple[str, Mapping[str, Any]]]

    def _repr_html_(self) -> str:
        title, columns = self._shown()
        n = len(next(iter(columns.values())))
        at = printed_rows(n)
        some = {name: np.asarray(column, object)[at] for name, column in columns.items()}
        left_out = n - len(at)
        return self._as_html(f"{title}, {left_out} rows left out" if left_out else title, some)

    @staticmethod
    def _facts(values: Mapping[str, Any]) -> dict[str, list[str]]:
        """The columns of a table with a row of each named value."""
        return {"": list(values), "value": [shown(value) for value in values.values()]}

    @staticmethod
    def _as_html(title: str, columns: Mapping[str, Any]) -> str:
        """A table under its title, if any: words in full, numbers in four digits or whole."""
        head = "".join(f"<th>{escape(name)}</th>" for name in columns)
        lines = zip(*(np.asarray(column, object) for column in columns.values()), strict=True)
        rows = "".join(f"<tr>{''.join(map(_cell, line))}</tr>" for line in lines)
        caption = title and f"<caption style='text-align:left'><b>{escape(title)}</b></caption>"
        return f"<table>{caption}<thead><tr>{head}</tr></thead><tbody>{rows}</tbody></table>"


class Table(Shown):
    """Mixin of results that have a row of each class, segment, bin or method: ``_columns``."""

    def _shown(self) -> tuple[str, Mapping[str, Any]]:
        return type(self).__name__, self._columns()

    def _columns(self) -> Mapping[str, Any]:
        return vars(self)

    def __repr__(self) -> str:
        title, columns = self._shown()
        return f"{title}\n{write_table(**columns)}"

    def to_frame(self) -> DataFrame:
        """The table as a pandas DataFrame, with all columns, rows and digits."""
        try:
            from pandas import DataFrame
        except ImportError as error:
            raise ImportError("to_frame() needs pandas: pip install pandas") from error
        return DataFrame(self._columns())


def _cell(value: Any) -> str:
    if not isinstance(value, int | float | np.integer | np.floating):
        return f"<td style='text-align:left'>{escape(str(value))}</td>"
    if math.isnan(value):
        return "<td></td>"
    whole = math.isinf(value) or value == int(value)
    return f"<td style='text-align:right'>{value:{'.0f' if whole else '.4g'}}</td>"
