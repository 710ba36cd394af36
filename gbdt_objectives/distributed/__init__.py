"""Many machines: an engine a module, on top of the adapters."""

from gbdt_objectives._checks.mistakes import room
from gbdt_objectives._rows.workers import WorkersDisagree

__all__ = ["WorkersDisagree", "dask", "spark"]

__getattr__, __dir__ = room(__name__, __all__, ("dask", "spark"))
