"""The old place of ``gbdt_objectives.experimental.dask``."""

from gbdt_objectives._public import attributes

__getattr__, __dir__ = attributes(__name__, [])
