"""The oldest boosters that are supported, and errors for older ones."""

from __future__ import annotations

import re
import sys
from types import ModuleType

from gbdt_objectives import _registry

FLOORS = {row.name: row.floor for row in (*_registry.BY_NAME.values(), _registry.CATBOOST)}

_accepted: dict[str, ModuleType] = {}  # the libraries that check_loaded() has seen


def check_installed(library: str) -> None:
    """Raise ImportError if ``library`` is missing or older than its floor."""
    try:
        module = _registry.load(library)
    except ImportError as error:
        if error.name != library:
            raise  # it is there, and lacks something itself
        raise ImportError(
            f"{library} is not installed: pip install 'gbdt_objectives[{library}]' or {library}",
            name=library,
        ) from error
    _check(library, module)


def check_loaded() -> None:
    """Raise ImportError if a booster is loaded that is too old; objectives ask in every round."""
    for library in FLOORS:
        module = sys.modules.get(library)
        if module is not None and _accepted.get(library) is not module:
            _check(library, module)
            if hasattr(module, "__version__"):  # else it is being imported
                _accepted[library] = module


def _check(library: str, module: ModuleType) -> None:
    found, floor = getattr(module, "__version__", None), FLOORS[library]
    if isinstance(found, str) and _key(found) < _key(floor):
        raise ImportError(
            f"{library} {found} is installed, but gbdt_objectives needs {floor} or newer: "
            f"pip install --upgrade 'gbdt_objectives[{library}]'",
            name=library,
        )


def _key(version: str) -> tuple[list[int], bool]:
    """A key that sorts 2.9 < 2.10rc1, 2.10-dev < 2.10 = 2.10.0+cuda = 2.10.0.post1 < 2.10.1."""
    parts = re.match(r"\d+(?:\.\d+)*", version)
    if parts is None:  # it counts as new
        return [sys.maxsize], True
    numbers = [int(part) for part in parts[0].split(".")]
    final = re.match(r"[-_.]?(a|b|c|rc|pre|dev)", version[parts.end() :], re.IGNORECASE) is None
    return numbers + [0] * (4 - len(numbers)), final
