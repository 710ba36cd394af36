"""Actions of least cost: all of them for all rows, in fractions."""

from __future__ import annotations

import itertools
from collections import Counter
from fractions import Fraction
from typing import Any

from gbdt_objectives import thresholds
from tests.fuzz.exact import fractions
from tests.fuzz.generators import Draw
from tests.fuzz.harness import Arguments, Holds


def draw_actions(draw: Draw) -> Arguments:
    K, A, n = draw.of([2, 3]), draw.of([2, 3]), draw.between(1, 6)
    shape = (K, A) if draw.chance(0.4) else (n, K, A)
    far = draw.of([1.0, 1.0, 1e-9, 1e12])
    return {
        "probability": draw.probability_rows(n, K, zeros=False),
        "costs": far * (draw.rng.integers(-3, 4, shape) + draw.of([0.0, 0.25])),
        "bounded": draw.below(A), "most": draw.of([None, 0, 1, 2, 9]),
        "groups": draw.rng.integers(0, 3, n) if draw.chance(0.6) else None,
    }  # fmt: skip


def actions(probability: Any, costs: Any, bounded: int, most: Any, groups: Any) -> Any:
    names = [f"a{k}" for k in range(costs.shape[-1])]
    known = {} if most is None else {"capacity": {names[bounded]: most}, "groups": groups}
    return thresholds.decide(probability, costs=costs, actions=names, **known)


def costs_of_actions(probability: Any, costs: Any) -> list[list[Fraction]]:
    """The expected costs of each row and action, exactly."""
    by_row = costs if costs.ndim == 3 else [costs] * len(probability)
    return [
        [sum(p * x for p, x in zip(fractions(row), fractions(C[:, a]), strict=True))
         for a in range(C.shape[1])]
        for row, C in zip(probability, by_row, strict=True)
    ]  # fmt: skip


def actions_reference(probability: Any, costs: Any, bounded: int, most: Any, groups: Any) -> Any:
    E, n, A = costs_of_actions(probability, costs), len(probability), costs.shape[-1]
    owner = [0] * n if groups is None else groups.tolist()

    def keeps(chosen: Any) -> bool:
        taken = Counter(g for g, a in zip(owner, chosen, strict=True) if a == bounded)
        return most is None or all(count <= most for count in taken.values())

    def total(chosen: Any) -> Fraction:
        return sum((row[a] for row, a in zip(E, chosen, strict=True)), Fraction(0))

    best = min(total(one) for one in itertools.product(range(A), repeat=n) if keeps(one))
    near = 1e-12 * max(abs(float(x)) for row in E for x in (*row, Fraction(1, 10**30))) * n

    def right(found: Any) -> bool:
        chosen = [int(name[1:]) for name in found.tolist()]
        return keeps(chosen) and float(total(chosen) - best) <= near

    return Holds(f"no other actions cost less than {float(best)!r}", right)


def draw_priced(draw: Draw) -> Arguments:
    given = draw_actions(draw)
    n = len(given["probability"])
    return {**given, "most": draw.between(1, 3), "groups": draw.rng.integers(0, 3, n)}


def priced(probability: Any, costs: Any, bounded: int, most: Any, groups: Any) -> Any:
    names = list(range(costs.shape[-1]))
    rule = thresholds.optimize_actions(
        probability, costs, actions=names, capacity={bounded: most}, groups=groups
    )
    own = {"costs": costs} if costs.ndim == 3 else {}
    found = type(rule).from_json(rule.to_json()).apply(probability, **own)
    return found.tolist(), rule.prices.tolist(), rule.exceeded


def priced_reference(probability: Any, costs: Any, bounded: int, most: Any, groups: Any) -> Any:
    E = costs_of_actions(probability, costs)
    budget, owner = most * len(set(groups.tolist())), groups.tolist()
    saves = [min(x for a, x in enumerate(row) if a != bounded) - row[bounded] for row in E]
    near = 1e-11 * max(abs(float(x)) for row in E for x in (*row, Fraction(1, 10**30)))

    def right(found: Any) -> bool:
        chosen, prices, exceeded = found
        price = prices[bounded]
        priced = [[float(x) + prices[a] for a, x in enumerate(row)] for row in E]
        least = all(row[a] <= min(row) + near for row, a in zip(priced, chosen, strict=True))
        taken = Counter(g for g, a in zip(owner, chosen, strict=True) if a == bounded)
        over = sum(count > most for count in taken.values()) / len(set(owner))
        others = [float(s) for s, a in zip(saves, chosen, strict=True) if a != bounded]
        needed = price == 0 or sum(float(s) >= max(others) - near for s in saves) > budget
        only = all(price == 0 for a, price in enumerate(prices) if a != bounded)
        kept = sum(taken.values()) <= budget and abs(over - exceeded) < 1e-9
        return least and kept and needed and only and price >= 0

    return Holds("the least price at which the capacity holds in the mean", right)
