"""What every model that can be served has: ``export``."""

from __future__ import annotations

from os import PathLike
from typing import Any

from gbdt_objectives import _registry


class Exported:
    """Mixin of fitted models that a folder can serve without this package."""

    def export(
        self,
        folder: str | PathLike[str],
        X: Any = None,
        *,
        thresholds: Any = None,
        shift: Any = None,
        calibrator: Any = None,
        check_rows: int = 100,
    ) -> None:
        """Write a folder that serves the model without this package.

        Parameters, and what the folder holds, are those of ``gbdt_objectives.serving.export``;
        ``gbdt_objectives.serving.load`` reads it back.
        """
        _registry.export(
            self, folder, X, thresholds=thresholds, shift=shift, calibrator=calibrator,
            check_rows=check_rows,
        )  # fmt: skip
