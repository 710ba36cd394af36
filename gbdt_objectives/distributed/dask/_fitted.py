"""What an objective fits to the final margins of the training rows of all workers."""

from __future__ import annotations

import base64
import pickle
from typing import Any

import distributed
import numpy as np
import xgboost as xgb
from xgboost import dask as xgb_dask

from gbdt_objectives import _checks, _workers
from gbdt_objectives._checks import Array
from gbdt_objectives.adapters import _arguments
from gbdt_objectives.adapters.xgboost._train import as_custom
from gbdt_objectives.distributed.dask import _train
from gbdt_objectives.objectives import Objective

ATTRIBUTE = "gbdt_objectives_fitted"


def fitted_objective(
    client: distributed.Client | None,
    objective: Objective,
    booster: xgb.Booster,
    data: xgb_dask.DaskDMatrix,
    *,
    timeout: int = _train.TIMEOUT,
) -> Objective:
    """``objective.fitted(y, margin)`` on the rows of a Dask cluster, without gathering them.

    An objective such as ``ordinal_logit_objective(K)`` fits thresholds to the margins of the
    training rows. After that its ``class_probability(margin)`` is that of the model. The drop-in
    ``DaskXGBClassifier`` does it by itself.

    Parameters
    ----------
    client, timeout
        They mean the same as in :func:`train`.
    objective : Objective
        The one that the booster was trained on.
    booster : xgboost.Booster
        What :func:`train` returned.
    data : xgboost.dask.DaskDMatrix
        The training data.

    Returns
    -------
    Objective
        The objective with what it fits held fixed; itself if it fits nothing.

    Raises
    ------
    TypeError, ValueError, RuntimeError
        Whatever :func:`train` raises.

    Examples
    --------
    >>> import dask.array as da, numpy as np
    >>> from distributed import Client
    >>> from xgboost.dask import DaskDMatrix
    >>> from gbdt_objectives import ordinal_logit_objective
    >>> from gbdt_objectives.distributed.dask import fitted_objective, train
    >>> rng = np.random.default_rng(0)
    >>> X = rng.random((500, 3)); y = np.digitize(X[:, 0], [0.3, 0.6])
    >>> objective = ordinal_logit_objective(3)
    >>> with Client(n_workers=1, threads_per_worker=1, processes=False,
    ...             dashboard_address=":0") as client:
    ...     data = DaskDMatrix(client, da.from_array(X, (250, 3)), da.from_array(y, 250))
    ...     booster = train(client, {"max_depth": 2}, data, 20, objective=objective)
    ...     objective = fitted_objective(client, objective, booster, data)
    >>> margin = booster.inplace_predict([[0.1, 0.5, 0.5], [0.9, 0.5, 0.5]])
    >>> objective.class_probability(margin).argmax(axis=1)
    array([0, 2])
    """
    client = _train.find_client(client)
    _arguments.check_is_objective(objective)
    _arguments.check_booster(booster, xgb.Booster, "get_booster()")
    _arguments.check_data("data", data, xgb_dask.DaskDMatrix)
    config = _train.find_config(timeout, None)
    if not objective.fits_margins:
        return objective
    fitting = Fitting(objective)
    with _train.explained(client, _train.workers_of(data), timeout) as interruptible:
        trained = xgb_dask.train(
            client, as_custom({"max_depth": 1}, objective), data, 1, obj=fitting,
            xgb_model=booster, callbacks=[interruptible, fitting], verbose_eval=False, **config,
        )  # fmt: skip
    attribute = trained["booster"].attr(ATTRIBUTE)
    fitted: Objective = pickle.loads(base64.b64decode(attribute))
    return fitted


class Fitting(xgb.callback.TrainingCallback):
    """Objective and callback of one more round, which starts at the model's own margins: the
    objective is fitted to them, and the callback brings it back."""

    def __init__(self, objective: Objective) -> None:
        super().__init__()
        self.objective = objective

    def __call__(self, margin: Array, data: Any) -> tuple[Array, Array]:
        y, w = _checks.label_weight(data)
        with _workers.together(self.objective):
            self.objective = self.objective.fitted(y, margin, w)
            _workers.agree()
        return np.zeros_like(margin), np.ones_like(margin)

    def after_iteration(self, model: Any, epoch: int, evals_log: Any) -> bool:
        found = base64.b64encode(pickle.dumps(self.objective)).decode()
        model.set_attr(**{ATTRIBUTE: found})
        return False
