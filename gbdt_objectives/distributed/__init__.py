"""Many machines: an engine a module, on top of the adapters."""

from gbdt_objectives._public import attributes
from gbdt_objectives._rows.workers import WorkersDisagree

__all__ = ["WorkersDisagree", "dask", "spark"]

__getattr__, __dir__ = attributes(__name__, __all__, ("dask", "spark"))
