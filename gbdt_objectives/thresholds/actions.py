"""The action of each row that costs least, given class probabilities: costs by row, a capacity.

``costs``: [true class, action], (K, A), or of each row, (n, K, A). ``E``: expected costs, (n, A).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike

from gbdt_objectives import _checks
from gbdt_objectives._checks import Array, check_order, shown
from gbdt_objectives._public import public
from gbdt_objectives._rows.rows import freeze
from gbdt_objectives._steps.steps import SavedAsJSON, read_number_or_none, read_numbers
from gbdt_objectives.thresholds.qwk import LAST_DIGITS
from gbdt_objectives.thresholds.rows import Thresholds, write_labels

Bound = tuple[int, int] | None  # which action is bounded, and how many rows of a group may take it


def read_costs(costs: Any, actions: Any, order: Array, rows: int | None) -> tuple[Array, Array]:
    """Checked costs, (K, A) or, where there are rows, (n, K, A), and the actions."""
    K, own = len(order), _checks.column_names(costs)
    C: Array = _checks.real_array("costs", costs).astype(np.float64)
    names = order if actions is None else read_actions(actions)
    index = named(costs.index if hasattr(costs, "iloc") else [], order)
    columns = named(own or [], names)
    if C.shape == (K, K):  # of classes, perhaps, which a frame may name once
        index = index or (columns if are_same(columns, order) else [])
        columns = columns or (index if actions is None else [])
    if actions is None and (columns or C.shape[-1:] != (K,)):
        if own is None:
            raise ValueError(
                f"actions are missing, and costs of shape {C.shape} are not of the {K} classes: "
                "pass actions=['pass', 'review', 'block'], one for each place on the last axis"
            )
        names = read_actions(columns or own)
    A = len(names)
    shapes = [(K, A)] if rows is None else [(K, A), (rows, K, A)]
    if C.shape not in shapes:
        remedy = ""
        if C.shape in [(*shape[:-2], A, K) for shape in shapes]:
            remedy = ": pass numpy.swapaxes(costs, -1, -2)"
        elif rows is None and C.shape[1:] == (K, A):
            remedy = ": a rule whose costs differ by row has costs=None, apply is given them"
        raise ValueError(
            f"costs must be {' or '.join(map(str, shapes))}, [true class, action], with a row for "
            f"each of {shown(order.tolist())} and a column for each of {shown(names.tolist())}, "
            f"found shape {C.shape}{remedy}"
        )
    if index:
        C = C[named_at("rows", index, order)]
    if columns:
        C = C[:, named_at("columns", columns, names)]
    _checks.finite("costs", C, "where an action is ruled out write a cost above all others")
    return C, names


def read_actions(actions: Any) -> Array:
    names = _checks.as_array("actions", actions)
    listed = names.tolist() if names.ndim == 1 else []
    if len({*listed}) < max(2, len(listed)) or _checks.where_missing(names).any():
        raise ValueError(f"actions must be two names or more, each once, found {shown(actions)}")
    return names


def are_same(names: Sequence[Any], wanted: Array) -> bool:
    return {*_checks.class_keys(names)} == {*_checks.class_keys(wanted.tolist())}


def named(names: Sequence[Any], wanted: Array) -> list[Any]:
    """Names of a frame, if they are not numbers that only count."""
    is_count = _checks.class_keys(names) == [*range(len(names))]
    return [] if is_count and not are_same(names, wanted) else list(names)


def named_at(what: str, names: list[Any], wanted: Array) -> list[int]:
    """Where a frame of costs has what is wanted."""
    if not are_same(names, wanted):
        raise ValueError(
            f"costs must have {what} named {shown(wanted.tolist())}, found {shown(names)}: "
            "rows are the true classes, in the words of labels=, and columns the actions"
        )
    found = _checks.class_keys(names)
    return [found.index(key) for key in _checks.class_keys(wanted.tolist())]


def read_capacity(capacity: Any, groups: Any, actions: Array, rows: int) -> tuple[Bound, Array]:
    """What is bounded, and the group of each row."""
    group = np.zeros(rows, np.intp) if groups is None else _checks.group_numbers(groups, rows)
    if capacity is None:
        if groups is not None:
            raise ValueError("groups are what a capacity is for: pass capacity={'review': 20}, too")
        return None, group
    bounded, known = list(capacity) if isinstance(capacity, Mapping) else [], actions.tolist()
    if len(bounded) != 1 or bounded[0] not in known:
        raise ValueError(
            f"capacity must bound one of the actions {shown(known)}, found {shown(capacity)}: for "
            f"instance {{{known[-1]!r}: 20}}; of several, let scipy.optimize.linprog find the best"
        )
    most = _checks.whole_number(f"capacity[{bounded[0]!r}]", capacity[bounded[0]], 0)
    return (known.index(bounded[0]), most), group


def read_columns(probability: ArrayLike, labels: Array) -> Array:
    """Checked probabilities for a rule of these classes."""
    P = _checks.probabilities("probability", probability)
    if P.shape[1:] != labels.shape:
        raise ValueError(
            f"probability must be (n, {len(labels)}), a column for each of "
            f"{shown(labels.tolist())}, found shape {P.shape}"
        )
    return P


def expected_costs(P: Array, C: Array) -> Array:
    return np.asarray(np.einsum("nk,nka->na", P, C) if C.ndim == 3 else P @ C)


def cheapest(E: Array, bound: Bound, group: Array) -> Array:
    """The actions of least total cost, as positions (n,): within a capacity, the rows of a group
    that save most by the bounded action take it, and any others the best of those left."""
    chosen: Array = E.argmin(axis=1)
    if bound is None:
        return chosen
    action, most = bound
    rows = np.flatnonzero(chosen == action)
    rows = rows[np.lexsort((-savings(E[rows], action), group[rows]))]  # of ties the first rows
    over = rows[np.arange(len(rows)) - np.searchsorted(group[rows], group[rows]) >= most]
    left = E[over]
    left[:, action] = np.inf
    chosen[over] = left.argmin(axis=1)
    return chosen


def savings(E: Array, action: int) -> Array:
    """How much less an action costs than the best other."""
    return np.asarray(np.delete(E, action, axis=1).min(axis=1) - E[:, action])


def price_of(E: Array, action: int, most: int) -> float:
    """The least price of an action at which so many rows take it at most, midway to the next."""
    if np.count_nonzero(E.argmin(axis=1) == action) <= most:
        return 0.0
    saved = savings(E, action)
    s = np.sort(saved)[::-1]
    # by less, rounding may move savings; costs that rule out an action leave the lesser small
    lesser = np.minimum(np.abs(E[:, action]), np.abs(saved + E[:, action])).max()
    unit = LAST_DIGITS * max(lesser, s[most]) or LAST_DIGITS
    above = s[s > s[most] + unit]
    return float(s[most] + ((above[-1] - s[most]) / 2 if len(above) else unit))


def read_matrix(key: str, value: Any) -> Array | None:
    """Equal lists of numbers, or null."""
    rows = [read_numbers(key, row) for row in value] if isinstance(value, list) else []
    if value is not None and len({*map(len, rows)}) != 1:
        raise ValueError(f"{key} must be equal lists of numbers, found {shown(value)}")
    return np.array(rows) if rows else None


@public
@dataclass(frozen=True, eq=False)
class ActionRule(SavedAsJSON):
    """A rule of least cost, as :func:`optimize_actions` returns it.

    ::

        action of a row = argmin_a sum_k p_k C_ka + price_a

    It decides on each row alone, so that the capacity behind a price holds in the mean of many
    groups, not in each. Ties go to the first action. What does not fit raises ValueError.

    Parameters
    ----------
    costs : array-like of shape (K, A), or None
        C, [true class, action], finite, in any unit; None if ``apply`` is given those of each row.
    actions, labels : array-like of shape (A,), (K,)
        What ``apply`` returns, and the class of each column of probabilities.
    prices : array-like of shape (A,), optional
        In the unit of the costs; None means 0.
    exceeded : float, optional
        In which share of the groups that the price was found on more rows take the action.

    Examples
    --------
    >>> from gbdt_objectives.thresholds import ActionRule
    >>> rule = ActionRule([[0, 2, 9], [50, 3, 1]], ["pass", "review", "block"], [0, 1])
    >>> ActionRule.from_json(rule.to_json()).apply([[0.99, 0.01], [0.9, 0.1], [0.1, 0.9]]).tolist()
    ['pass', 'review', 'block']
    """

    costs: Any
    actions: Any
    labels: Any
    prices: Any = None
    exceeded: float | None = None

    _saved: ClassVar = {
        **dict.fromkeys(("action_dtype", "actions", "dtype", "labels"), lambda key, value: value),
        "costs": read_matrix, "prices": read_numbers, "exceeded": read_number_or_none,
    }  # fmt: skip
    _steps: ClassVar = ()

    def __post_init__(self) -> None:
        order, names = check_order(self.labels, ordinal=False), read_actions(self.actions)
        costs = None if self.costs is None else read_costs(self.costs, names, order, None)[0]
        prices = np.zeros(len(names)) if self.prices is None else self.prices
        prices = np.array(_checks.vector("prices", prices), np.float64)
        _checks.same_length("prices", prices, "actions", len(names))
        freeze(self, labels=order.copy(), actions=names.copy(), costs=costs, prices=prices)

    def apply(self, probability: ArrayLike, costs: ArrayLike | None = None) -> Array:
        """The action of each row, (n,), given its probabilities (n, K), and its costs (n, K, A) if
        the rule has none."""
        P, C = read_columns(probability, self.labels), self.costs
        if (costs is None) == (C is None):
            remedy = "pass costs=, of each row" if C is None else "leave costs out"
            raise ValueError(f"costs are either the rule's own or those of each row: {remedy}")
        if C is None:
            C, _ = read_costs(costs, self.actions, self.labels, len(P))
        return np.asarray(self.actions[(expected_costs(P, C) + self.prices).argmin(axis=1)])

    @property
    def _scores(self) -> dict[str, Any]:
        """From probabilities to scores, of which the greatest wins."""
        return {"formula": "less_costs", "costs": self.costs, "prices": self.prices}

    def _values(self) -> list[Any]:
        written = (
            write_labels(getattr(self, of), f"{of} must be all integers, all numbers")
            for of in ("actions", "labels")
        )
        return [*(x for pair in written for x in pair), self.costs, self.prices, self.exceeded]

    @classmethod
    def _restore(cls, data: dict[str, Any]) -> ActionRule:
        for of, dtype in (("actions", "action_dtype"), ("labels", "dtype")):
            data[of] = Thresholds._read_labels(data[of], data.pop(dtype), of)
        return cls(**data)
