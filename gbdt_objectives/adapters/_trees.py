"""The trees of a booster's own file, as the arrays of ONNX's operator TreeEnsemble."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from gbdt_objectives._checks import Array

LEQ, LT, MEMBER = 0, 1, 6
"""The tests of a node, by the operator's numbers: x <= value, x < value, x in a set."""

Child = tuple[int, bool]  # the place of a node, or of a leaf where the second is True


@dataclass(eq=False)
class Trees:
    """Margins are ``base`` and the sums of leaves, (n, K). All numbers are exact in float64."""

    base: Array
    is_float32: bool  # whether the booster compares features as float32
    roots: list[int] = field(default_factory=list)
    features: list[int] = field(default_factory=list)
    modes: list[int] = field(default_factory=list)
    values: list[float] = field(default_factory=list)
    sets: list[list[float]] = field(default_factory=list)
    missing_is_true: list[bool] = field(default_factory=list)
    children: list[tuple[Child, Child]] = field(default_factory=list)
    targets: list[int] = field(default_factory=list)
    leaves: list[float] = field(default_factory=list)

    def add(self, target: int, nodes: dict[Any, Any], root: Any) -> None:
        """A tree: of each key a leaf's number or (feature, mode, value, missing_is_true, keys)."""
        if isinstance(nodes[root], float):
            self.base[target] += nodes[root]
            return
        inner = [key for key, node in nodes.items() if not isinstance(node, float)]
        places = enumerate(inner, len(self.features))
        found: dict[Any, Child] = {key: (place, False) for place, key in places}
        for key, node in nodes.items():
            if isinstance(node, float):
                found[key] = (len(self.leaves), True)
                self.targets.append(target)
                self.leaves.append(node)
        for key in inner:
            feature, mode, value, missing_is_true, (yes, no) = nodes[key]
            self.features.append(feature)
            self.modes.append(mode)
            self.values.append(0.0 if mode == MEMBER else value)
            if mode == MEMBER:
                self.sets.append(value)
            self.missing_is_true.append(missing_is_true)
            self.children.append((found[yes], found[no]))
        self.roots.append(found[root][0])
