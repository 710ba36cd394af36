"""Models in files: which library wrote them, read and written by their names' endings."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

from gbdt_objectives import _registry

LIBRARY_OF = {ending: row.name for row in _registry.BY_NAME.values() for ending in row.endings}


def check_model_paths(model: str, output: str) -> None:
    """Raise if no library could read the one and write the other."""
    endings = [Path(path).suffix for path in (model, output)]
    if endings[0] not in LIBRARY_OF:
        raise ValueError(
            f"{model} must end in .json or .ubj (XGBoost) or .txt (LightGBM): save the "
            "model by save_model under such a name"
        )
    library = LIBRARY_OF[endings[0]]
    own = [ending for ending, name in LIBRARY_OF.items() if name == library]
    if endings[1] not in own:
        raise ValueError(
            f"output must end in {' or '.join(own)} for a model of {library}, found {output!r}"
        )
    if not Path(model).is_file():
        raise ValueError(f"{model} does not exist: give the path of a file, from {os.getcwd()}")


def read_model(path: str) -> Any:
    """The booster in a file."""
    library = LIBRARY_OF[Path(path).suffix]
    try:
        _registry.load(library)
    except ImportError as error:
        raise ImportError(f"{path} needs {library}: pip install {library}") from error
    with open(path, "rb"):  # where it cannot be, the system says why
        pass
    try:
        return _registry.library(library).open_booster(path)
    except Exception as error:
        if type(error) is ValueError:  # not of the library's own kinds, in many lines
            raise
        raise ValueError(
            f"{path} cannot be read as a model of {library}: save it with save_model"
        ) from error


def write_model(booster: Any, path: str) -> None:
    """The whole booster: later rounds than the best, if there are any, stay."""
    _registry.library(LIBRARY_OF[Path(path).suffix]).write_all(booster, path)
