"""Train XGBoost and LightGBM on the metric you are judged by.

A model has an objective to train on, an intercept inside it, and a decision at the end. The names
that most people need are here; the others are in the modules ``objectives``, ``metrics`` and so on.
"""

from __future__ import annotations

import ast
from pkgutil import get_data
from typing import Any

from gbdt_objectives import _registry

__version__ = "0.1.0rc2"

_imports = [
    (node.module, alias.name)
    for node in ast.parse(get_data(__name__, "__init__.pyi") or b"").body
    if isinstance(node, ast.ImportFrom)
    for alias in node.names
]
_homes = {name: module for module, name in _imports if module and module != __name__}
"""The module of each public name."""

_rooms = [name for module, name in _imports if module == __name__]

__all__ = sorted(_homes)


def __getattr__(name: str) -> Any:
    if name in _homes:
        return getattr(_registry.load(_homes[name]), name)
    if name in _rooms:
        return _registry.load(f"{__name__}.{name}")
    from gbdt_objectives._names import missing

    raise missing(__name__, name)


def __dir__() -> list[str]:
    return sorted([*_homes, *_rooms, "__version__"])
