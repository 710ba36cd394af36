"""Serving: a fitted model as a folder that predicts without this package, and back.

What is written is data: boosters in their own formats, ``model.json``, and ``predict.py``, which
needs numpy and the boosters only. Nothing of a folder is executed when it is loaded.
"""

from __future__ import annotations

from gbdt_objectives._public import attributes
from gbdt_objectives.serving.folder import export, load
from gbdt_objectives.serving.onnx import export_onnx
from gbdt_objectives.serving.plans import ServedModel

__all__ = ["ServedModel", "export", "export_onnx", "load"]


__getattr__, __dir__ = attributes(__name__, __all__)
