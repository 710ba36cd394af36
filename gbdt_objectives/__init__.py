"""Train XGBoost and LightGBM on the metric you are judged by.

The path: an objective to train on, an intercept inside the model, a decision at the end.
"""

from __future__ import annotations

import ast
from importlib import import_module
from pkgutil import get_data
from typing import Any

__version__ = "0.1.0.dev0"

_rooms = {
    alias.name: node.module
    for node in ast.parse(get_data(__name__, "__init__.pyi") or b"").body
    if isinstance(node, ast.ImportFrom) and node.module
    for alias in node.names
}
"""The room of each public name."""

__all__ = sorted(_rooms)


def __getattr__(name: str) -> Any:
    if name in _rooms:
        return getattr(import_module(_rooms[name]), name)
    from difflib import get_close_matches

    near = get_close_matches(name, _rooms, n=1)
    hint = f": did you mean {near[0]!r}?" if near else ""
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}{hint}")


def __dir__() -> list[str]:
    return sorted({*globals(), *_rooms})
