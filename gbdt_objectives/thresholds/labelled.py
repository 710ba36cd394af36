"""Thresholds that know the classes they separate."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike

from gbdt_objectives import _checks
from gbdt_objectives._checks import Array, check_order, check_thresholds, is_dask, shown
from gbdt_objectives._rows.html import Table
from gbdt_objectives._rows.parts import map_parts
from gbdt_objectives._rows.values import ArrayValue, carried_labels, freeze, same_labels
from gbdt_objectives._steps import json as _json


@dataclass(frozen=True, eq=False, repr=False)
class Thresholds(ArrayValue, Table, _json.SavedAsJSON):
    """Thresholds with the classes that they separate, as ``optimize_thresholds`` returns them.

    numpy reads them as an array of shape (K-1,): ``thresholds + 0.1``, ``thresholds[0]``. What is
    computed from them is a plain array, which may separate other classes: ``apply_thresholds`` asks
    for its labels. NaN, thresholds not sorted, and labels repeated or not K raise ValueError.

    Parameters
    ----------
    values, labels : array-like of shape (K-1,), array-like of shape (K,)
        Sorted, in score units; -inf and inf are allowed. All classes in ascending order.
    score_range : (float, float), optional
        The ends of the scores that they were placed on, to tell margins from probabilities.

    Examples
    --------
    >>> from gbdt_objectives.thresholds import Thresholds
    >>> thresholds = Thresholds([0.5, 1.5], ["low", "mid", "high"])
    >>> thresholds
    Thresholds([0.5, 1.5], labels=['low', 'mid', 'high'])
    >>> thresholds + 0.25
    array([0.75, 1.75])
    >>> Thresholds.from_json(thresholds.to_json()).apply([0.6, 2.0]).tolist()
    ['mid', 'high']
    """

    values: Any
    labels: Any
    score_range: Any = None

    def __post_init__(self) -> None:
        cuts, labels = check_thresholds("thresholds", self.values), check_order(self.labels).copy()
        if len(labels) != len(cuts) + 1:
            raise ValueError(
                f"labels must be {len(cuts) + 1} classes for {len(cuts)} thresholds, found "
                f"{len(labels)}: {shown(labels.tolist())}"
            )
        if (known := self.score_range) is not None:
            known = _json.read_range("score_range", np.asarray(known).tolist())
        freeze(self, values=np.array(cuts), labels=labels, score_range=known)

    def __repr__(self) -> str:
        return f"Thresholds({self.tolist()}, labels={self.labels.tolist()})"

    def _shown(self) -> tuple[str, dict[str, Any]]:
        of_class = self._columns() | {"label": [str(label) for label in self.labels]}
        return "Thresholds: low <= score < high", of_class

    def _columns(self) -> dict[str, Any]:
        ends = np.concatenate([[-np.inf], self.values, [np.inf]])
        return {"label": self.labels, "low": ends[:-1], "high": ends[1:]}

    def round(self, decimals: int = 0) -> Thresholds:
        """Thresholds of so many digits behind the point, which separate the same classes."""
        return replace(self, values=self.values.round(decimals))

    def apply(self, score: ArrayLike) -> Array:
        """The class of each score, (n,), as :func:`apply_thresholds`."""
        return apply_thresholds(score, self)

    def to_sql(self, score: str) -> str:
        """The class of each ``score``, a column as it stands in SQL, as an expression of SQL.

        NULL has the class NULL. Numbers have an exponent, so that a FLOAT is compared as a DOUBLE,
        and 0e0 makes numbers of a text column of SQLite. Leave out rows with NaN, which databases
        put above all numbers, and text that is no number, which is 0 in SQLite.

        >>> from gbdt_objectives.thresholds import Thresholds
        >>> print(Thresholds([0.5], ["no", "yes"]).to_sql("p"))
        CASE WHEN p IS NULL THEN NULL WHEN p + 0e0 < 5.0000000000000000e-01 THEN 'no' ELSE 'yes' END
        """
        if not isinstance(score, str) or not score.strip():
            raise TypeError(f"score must be the name of a column, found {shown(score)}")
        names = self.labels.tolist()
        if not any({*map(type, names)} <= kinds for kinds in ({int, float}, {str}, {bool})):
            kinds = "all numbers, all strings or all booleans in SQL"
            raise TypeError(f"labels must be {kinds}, found {shown(names)}: give such labels")
        words = [str(name).replace("'", "''") for name in names]
        names = [f"'{word}'" for word in words] if isinstance(names[0], str) else words
        parts = [
            f"WHEN {score} + 0e0 < {cut:.16e} THEN {name}"
            for before, cut, name in zip([-np.inf, *self.values], self.values, names, strict=False)
            if before < cut < np.inf
        ]
        last = names[np.count_nonzero(self.values < np.inf)]
        return f"CASE WHEN {score} IS NULL THEN NULL {' '.join([*parts, 'ELSE'])} {last} END"

    def __len__(self) -> int:
        return len(self.values)

    def __float__(self) -> float:
        """The threshold of two classes."""
        return float(self.values.item())

    def __iter__(self) -> Iterator[np.float64]:
        return iter(self.values)

    def __getitem__(self, key: Any) -> Any:
        return self.values[key]

    _saved: ClassVar = {
        **{key: lambda key, value: value for key in ("dtype", "labels", "thresholds")},
        "score_range": _json.read_range,
    }
    _left_out: ClassVar = {"score_range": None}

    def _values(self) -> list[Any]:
        labels = write_labels(self.labels, "labels must be all integers, all numbers")
        return [*labels, self.values, self.score_range]

    @classmethod
    def _restore(cls, data: dict[str, Any]) -> Thresholds:
        labels = read_labels(data["labels"], data["dtype"])
        return cls(read_cuts(data["thresholds"]), labels, data["score_range"])


def apply_thresholds(
    score: ArrayLike, thresholds: ArrayLike, labels: ArrayLike | None = None
) -> Array:
    """Ordered classes of scores of new rows, by the thresholds of :func:`optimize_thresholds`.

    ::

        class k where thresholds[k-1] <= score < thresholds[k]

    Parameters
    ----------
    score : array-like of shape (n,)
        Finite, in the units of the thresholds; a Dask Series or Array gives a lazy one.
    thresholds : array-like of shape (K-1,)
        Sorted; equal ones leave a class empty, -inf and +inf are allowed.
    labels : array-like of shape (K,), optional
        The classes in ascending order; ``range(K)`` for class positions. None: those that the
        thresholds of :func:`optimize_thresholds` carry; numbers that were computed carry none.

    Returns
    -------
    ndarray of shape (n,)
        ``labels[k]``.

    Raises
    ------
    ValueError
        Thresholds not sorted; labels missing, repeated, not K, or not the thresholds'; NaN.

    Examples
    --------
    >>> from gbdt_objectives.thresholds import apply_thresholds, optimize_thresholds
    >>> y, score = [1, 1, 2, 2, 3, 3], [0.1, 0.4, 0.3, 0.6, 0.7, 0.9]
    >>> apply_thresholds(score, optimize_thresholds(y, score))
    array([1, 1, 1, 2, 3, 3])
    >>> apply_thresholds([0.2, 0.5, 2.0], [0.5, 1.5], labels=range(3))
    array([0, 1, 2])
    """
    if is_dask(score):
        found = with_labels(thresholds, labels)
        of_part = partial(apply_thresholds, thresholds=found)
        return map_parts(of_part, {"score": score}, found.labels.dtype)  # type: ignore[no-any-return]
    s = _checks.vector("score", score)
    found = with_labels(thresholds, labels)
    _checks.in_unit_of(found.score_range, "these thresholds are", s)
    return np.asarray(found.labels[np.searchsorted(found.values, s, side="right")])


def with_labels(thresholds: ArrayLike, labels: ArrayLike | None) -> Thresholds:
    """Checked thresholds with the classes that they carry, or those that are given."""
    carried = carried_labels(thresholds)
    if isinstance(thresholds, Thresholds) and (labels is None or labels is carried):
        return thresholds
    if carried is None and labels is None:
        K = len(check_thresholds("thresholds", thresholds)) + 1
        raise ValueError(
            f"labels are missing, and thresholds {shown(thresholds)} carry none, as those of "
            f"optimize_thresholds do: pass labels=[...], all {K} classes in ascending order, "
            f"or labels=range({K}) for class positions"
        )
    known = getattr(thresholds, "score_range", None)
    found = Thresholds(thresholds, carried if labels is None else labels, known)
    if carried is not None and not same_labels(found.labels, carried):
        raise ValueError(
            f"labels are {shown(found.labels.tolist())}, but thresholds were placed between the "
            f"classes {shown(carried.tolist())}: leave labels out, or if they are other names of "
            "the same classes pass np.asarray(thresholds)"
        )
    return found


def write_labels(labels: Array, rule: str) -> tuple[str, list[Any]]:
    """The type and the values of labels in JSON. ``rule``: how messages begin."""
    values = labels.tolist()
    kinds = {type(value) for value in values}
    if len(kinds) > 1 or not kinds <= {int, float, str}:
        raise ValueError(f"{rule} or all strings to be written as JSON, found {shown(values)}")
    return labels.dtype.str.lstrip("<>=|"), values


def read_labels(values: object, dtype: object, name: str = "labels") -> Array:
    """Labels of JSON, of the type that was saved. ``name``: what messages call them."""
    kinds = {"i": int, "u": int, "f": float, "U": str, "O": str}
    if not isinstance(dtype, str) or not re.fullmatch(r"O|[OUfiu]\d+", dtype):
        raise ValueError(f"dtype must be one of an integer, float or string, found {shown(dtype)}")
    kind = kinds[dtype[0]]
    if dtype == "O" and isinstance(values, list) and values:
        kind = next((each for each in (int, float) if type(values[0]) is each), kind)
    if not isinstance(values, list) or not all(type(value) is kind for value in values):
        raise ValueError(f"{name} must be a list of {kind.__name__}, found {shown(values)}")
    try:
        if np.dtype(dtype).itemsize * len(values) > _json.LONGEST:
            raise ValueError(f"dtype {shown(dtype)} of {len(values)} {name} takes too much memory")
        labels = np.array(values, dtype)
    except (TypeError, OverflowError) as error:
        raise ValueError(
            f"{name} {shown(values)} do not fit dtype {shown(dtype)}: {error}"
        ) from None
    if labels.tolist() != values:
        raise ValueError(f"{name} {shown(values)} do not fit dtype {shown(dtype)}")
    return labels


def read_cuts(values: object) -> Array:
    """Thresholds of JSON, where infinite ones are strings."""
    if not isinstance(values, list):
        raise ValueError(f"thresholds must be a list of numbers, found {shown(values)}")
    for value in values:
        if not _json.is_finite_number(value) and value not in ("-inf", "inf"):
            raise ValueError(f'thresholds must be numbers, "-inf" or "inf", found {shown(value)}')
    return np.array([float(value) for value in values])
