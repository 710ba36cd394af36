"""Serving: a fitted model as a folder that predicts without this package, and back.

Conventions of this room
------------------------
``X``: rows like those that the model was fitted on, (n, features). ``folder``: a path. What is
written is data: boosters in their own formats, ``model.json``, and ``predict.py``, which needs
numpy and the boosters only. Nothing of a folder is executed when it is loaded.
"""

from __future__ import annotations

from os import PathLike
from typing import Any

from gbdt_objectives._checks.mistakes import room
from gbdt_objectives.serving import folder as _folder
from gbdt_objectives.serving.model import ServedModel, with_extras
from gbdt_objectives.serving.onnx import export_onnx

__all__ = ["ServedModel", "export", "export_onnx", "load"]


def export(
    model: Any,
    folder: str | PathLike[str],
    X: Any = None,
    *,
    thresholds: Any = None,
    shift: Any = None,
    calibrator: Any = None,
    check_rows: int = 100,
) -> None:
    """Write a folder that serves a fitted model without this package.

    Use it to take a model into production.

    The folder has the boosters in their own formats, ``model.json`` with all other numbers, and
    ``predict.py``, at most 80 lines on numpy and the boosters: ``Model(folder).predict(X)``,
    ``predict_proba``, ``predict_score``; ``python predict.py data.csv > out.csv``; ``python
    predict.py --check``, which compares the rows in ``check.npz``. ``docs/deploy.md`` has the
    schema and the formulas.

    Parameters
    ----------
    model : fitted estimator or trained booster
        QWKClassifier, ThresholdClassifier, DownsampledClassifier, CalibratedClassifier, an
        estimator of ``gbdt_objectives.adapters`` or of the libraries, a Booster, or a ServedModel.
    folder : path
        It must not exist.
    X : array-like or DataFrame of shape (n, features), optional
        Rows as ``fit`` saw them. Their dtypes and categories are written, and the folder is
        compared with the model on some of them. Models with categories need it.
    thresholds, shift, calibrator : optional
        What belongs to the model, as in :class:`ServedModel`.
    check_rows : int
        How many rows of X to write to ``check.npz``, with what the model predicts for them. 0
        writes none, for data that must not leave.

    Returns
    -------
    None

    Raises
    ------
    TypeError, ValueError
        A model that is not fitted, holds what is no booster, or has a link, an objective or a
        calibrator without a formula; a folder that exists; X that is not as ``fit`` saw it; a
        folder that would predict otherwise.

    Examples
    --------
    >>> import lightgbm as lgb, numpy as np, tempfile
    >>> from gbdt_objectives import QWKClassifier, serving
    >>> X = np.random.default_rng(0).random((200, 2))
    >>> y = np.digitize(X[:, 0], [0.3, 0.6])
    >>> model = QWKClassifier(lgb.LGBMRegressor(n_estimators=5, verbose=-1)).fit(X, y)
    >>> folder = tempfile.mkdtemp() + "/model"
    >>> serving.export(model, folder, X)
    >>> bool((serving.load(folder).predict(X) == model.predict(X)).all())
    True
    """
    served = with_extras(model, thresholds, shift, calibrator)
    _folder.export(served, folder, X, check_rows)


def load(folder: str | PathLike[str]) -> Any:
    """Read a fitted model from a folder that :func:`export` wrote.

    Use it to go on with an exported model in this package.

    Parameters
    ----------
    folder : path
        Of all the files that were written.

    Returns
    -------
    estimator or ServedModel
        Of the class that was exported, fitted, with the same predictions. Parameters that JSON
        cannot hold, such as splitters and functions, have their defaults; out-of-fold scores are
        not there.

    Raises
    ------
    ValueError
        A missing or changed file, a format of a newer version, or a ``model.json`` that is not what
        :func:`export` wrote; the message says which. Nothing of the folder is executed.
    ImportError
        A booster that is not installed, or an XGBoost older than the one that wrote the file.

    Examples
    --------
    >>> import tempfile
    >>> from gbdt_objectives import ThresholdClassifier, serving
    >>> score = [0.1, 0.4, 0.3, 0.6, 0.7, 0.9]
    >>> model = ThresholdClassifier().fit(score, [1, 1, 2, 2, 3, 3])
    >>> folder = tempfile.mkdtemp() + "/model"
    >>> serving.export(model, folder)
    >>> serving.load(folder).predict([0.2, 0.6, 0.9]).tolist()
    [1, 2, 3]
    """
    return _folder.load(folder)


__getattr__, __dir__ = room(__name__, __all__)
