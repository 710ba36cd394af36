"""Splits that hold each row out once, or at most once, and the last of several splits."""

from __future__ import annotations

import warnings
from collections.abc import Iterable
from typing import Any

import numpy as np

from gbdt_objectives._checks import Array, RandomState, shown

Split = tuple[Array, Array]  # row numbers to train on and to hold out


def held_out_once(y: Array, cv: Any, group: Array | None, random_state: RandomState) -> list[Split]:
    """Splits (train, test) in which each row is held out exactly once; y has class positions."""
    splits, times = read_splits(y, cv, group, random_state, least=2)
    if (times != 1).any():
        row = int(np.flatnonzero(times != 1)[0])
        raise ValueError(
            f"cv must hold each row out exactly once, but row {row} is held out {times[row]} "
            "times: use KFold, StratifiedKFold or their group versions"
        )
    return splits


def read_splits(
    y: Array, cv: Any, group: Array | None, random_state: RandomState = 0, least: int = 1
) -> tuple[list[Split], Array]:
    """Splits, each of which holds out rows that it does not train on; how often each row is."""
    with warnings.catch_warnings():  # rare classes are usual, and the label list is fixed
        warnings.filterwarnings("ignore", "The least populated class", UserWarning)
        given = listed("cv", _given(y, cv, group, random_state))
        splits = [_read_split(split) for split in given]
    if len(splits) < least:
        raise ValueError(f"cv gives {len(splits)} split: there must be at least two folds")
    times = np.zeros(len(y), np.int64)
    for split in splits:
        _check_split(split, len(y), group)
        np.add.at(times, split[1], 1)
    return splits, times


def listed(name: str, splits: Iterable[Any]) -> list[Any]:
    """The splits of whatever gives them, of which there must be some."""
    found = list(splits)
    if not found:
        raise ValueError(f"{name} gives 0 splits: was it an iterator, now used up? Give a list")
    return found


def _given(y: Array, cv: Any, group: Array | None, random_state: RandomState) -> Iterable[Any]:
    """What ``cv`` gives, be it a number of folds, which are drawn, a splitter or splits."""
    if cv is None:
        raise ValueError("cv is None: give a number of folds, a splitter or a list of splits")
    if isinstance(cv, type):
        raise TypeError(f"cv is the class {cv.__name__}: make a splitter, {cv.__name__}(...)")
    if isinstance(cv, int | np.integer) and not isinstance(cv, bool):
        cv = _folds(y, int(cv), group, random_state)
    elif isinstance(cv, Iterable) and not hasattr(cv, "split"):
        return cv
    from sklearn.model_selection import check_cv

    splitter = check_cv(cv, y, classifier=True)
    given: Iterable[Any] = splitter.split(np.zeros((len(y), 1)), y, group)
    return given


def _check_split(split: Split, n: int, group: Array | None) -> None:
    """Raise if it has no rows on a side, rows that are not there, or some on both sides."""
    train, test = split
    if not len(test):
        raise ValueError("cv gives a split that holds out no row")
    if not len(train):
        raise ValueError("cv gives a split that leaves no row to train on")
    rows = np.concatenate(split)
    if rows.min() < 0 or rows.max() >= n:
        raise ValueError(f"cv gives row numbers outside 0 to {n - 1}")
    if np.isin(train, test).any():
        raise ValueError("cv gives a split with rows on both sides: they would be in-sample")
    if group is not None and len(both := np.intersect1d(group[train], group[test])):
        raise ValueError(
            f"cv puts group number {both[0]} on both sides of a split: use a splitter "
            "that heeds groups, such as GroupKFold"
        )


def _folds(y: Array, cv: int, group: Array | None, random_state: RandomState) -> Any:
    from sklearn.model_selection import StratifiedGroupKFold, StratifiedKFold

    if cv < 2:
        raise ValueError(f"cv must be at least 2 folds, found {cv}")
    need, remedy = f"cv = {cv} folds need at least {cv}", "use fewer folds or more rows"
    groups = cv if group is None else len(np.unique(group))
    if groups < cv:
        raise ValueError(f"{need} groups, found {groups}: use fewer folds")
    if group is None and len(y) < cv:
        raise ValueError(f"{need} rows, found n_samples={len(y)}: {remedy}")
    most = int(np.unique(y, return_counts=True)[1].max())
    if most < cv:
        raise ValueError(f"{need} rows of a class, found at most {most}: {remedy}")
    kind = StratifiedKFold if group is None else StratifiedGroupKFold
    if isinstance(random_state, np.random.Generator):  # which scikit-learn does not take
        random_state = int(random_state.integers(2**31))
    return kind(cv, shuffle=True, random_state=random_state)


def _read_split(split: Any) -> Split:
    if not isinstance(split, list | tuple) or len(split) != 2:
        raise ValueError(
            "cv must give pairs of row numbers, (train, held_out), a single one as "
            f"[(train, held_out)], found {shown(split)}"
        )
    train, test = (np.asarray(rows) for rows in split)
    for rows in (train, test):
        if rows.dtype == bool:
            raise ValueError("cv gives splits as masks: give row numbers, np.flatnonzero(mask)")
        if rows.ndim != 1 or (rows.size and rows.dtype.kind not in "iu"):
            raise ValueError(f"cv must give row numbers, (n,), found {shown(rows)}")
    return train, test
