"""The old place of ``gbdt_objectives.experimental.dask``."""

from gbdt_objectives._checks.mistakes import room

__getattr__, __dir__ = room(__name__, [])
