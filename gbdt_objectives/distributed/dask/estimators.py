"""XGBoost's Dask estimators, with objectives and metrics of this package."""

from __future__ import annotations

from functools import partial
from typing import Any

import dask
import dask.array
import distributed
import numpy as np
from xgboost import dask as xgb_dask

from gbdt_objectives._checks import Array
from gbdt_objectives._public import attributes, public
from gbdt_objectives.adapters._arguments import documented
from gbdt_objectives.adapters._estimators import drop_in
from gbdt_objectives.adapters._train import StartedObjective
from gbdt_objectives.adapters.xgboost import estimators
from gbdt_objectives.adapters.xgboost._train import start_at
from gbdt_objectives.distributed.dask import _train
from gbdt_objectives.objectives import Objective


class _Fitting(estimators.Fitting):
    model = xgb_dask.DaskXGBClassifier
    encodes = staticmethod(lambda objective: False)
    client: distributed.Client
    timeout: int

    def fit(self) -> Any:
        estimator = self.estimator
        if not self.is_ours:
            return super().fit()
        if self.objective is not None:
            _train.check_not_by_row(self.objective)
        client = self.client = _train.find_client(estimator.client)
        _persist(client, self.given)
        config = getattr(estimator, "coll_cfg", None)
        self.timeout = getattr(config, "timeout", None) or _train.TIMEOUT
        with _train.explained_errors(client, set(client.nthreads()), self.timeout) as interruptible:
            callbacks = self.parameters.get("callbacks", estimator.callbacks) or ()
            self.parameters["callbacks"] = [interruptible, *callbacks]
            return super().fit()

    def labels_weights(self) -> tuple[Any, Any]:
        return self.given["y"], self.given.get("sample_weight")

    def start(self, objective: Objective, y: Any, w: Any) -> StartedObjective:
        earlier = self.continues(objective)
        started, begin = start_at(
            self.measure(objective, y, w), vars(self.estimator), self.training, earlier=earlier,
            base_margin=self.given.get("base_margin"),
        )  # fmt: skip
        self.parameters |= begin
        return started

    def measure(self, objective: Objective, y: Any, w: Any) -> Objective:
        """The objective measured on the labels of all partitions, where they are."""
        if objective is not self.objective:  # start has measured it
            return objective
        columns = {"data": y, "label": y} | ({} if w is None else {"weight": w})
        parts = {name: self.client.futures_of(column) for name, column in columns.items()}
        if len({len(futures) for futures in parts.values()}) > 1:
            raise ValueError(
                f"sample_weight has {len(parts['weight'])} partitions, but y has "
                f"{len(parts['label'])}: repartition one like the other"
            )
        rows = [dict(zip(parts, part, strict=True)) for part in zip(*parts.values(), strict=True)]
        distributed.wait([future for futures in parts.values() for future in futures])
        run = partial(_train.inspect_parts, self.client, self.timeout, rows, "y")
        return _train.measured_on_parts(objective, run(partial(_train.tell, objective)), run)

    @staticmethod
    def start_of_rows(measured: Objective, y: Any) -> Any:
        """The start of each row, a Dask array (n, K) in the partitions of y."""
        labels = y if isinstance(y, dask.array.Array) else y.to_dask_array()
        labels = labels[:, 0] if labels.ndim == 2 else labels
        return labels.map_blocks(
            lambda block: StartedObjective.rows_of(measured, len(block)), new_axis=1,
            chunks=(labels.chunks[0], (measured.outputs,)), meta=np.empty((0, 0)),
        )  # fmt: skip

    def hand_over(self, started: StartedObjective) -> None:
        super().hand_over(started)
        if self.reads(started.objective):
            self.classes = self.find_classes(started.objective)
            self.library_fit = partial(_fit_margins, self.estimator)

    def fit_to_margins(self, objective: Objective, y: Any, w: Any, asked: Any) -> Objective:
        if not objective.fits_margins:
            return objective
        names = ("missing", "enable_categorical", "feature_types")
        own = {name: getattr(self.estimator, name) for name in names}
        own["base_margin"] = asked.get("base_margin")
        data = xgb_dask.DaskDMatrix(self.client, asked["X"], y, weight=w, **own)
        booster = self.estimator.get_booster()
        return _train.fitted_objective(self.client, objective, booster, data, timeout=self.timeout)

    @staticmethod
    def read_margin(objective: Any, margin: Any) -> Any:
        K = objective.n_classes

        def probability(block: Array) -> Array:
            return objective.class_probability(block) if len(block) else np.empty((0, K))

        return margin.map_blocks(
            probability, new_axis=[1] if margin.ndim == 1 else None,
            chunks=(margin.chunks[0], (K,)), meta=np.empty((0, 0)),
        )  # fmt: skip

    @staticmethod
    def most_probable(estimator: Any, p: Any) -> Any:
        return p.map_blocks(partial(np.argmax, axis=1), drop_axis=1, dtype=np.intp)


def _persist(client: distributed.Client, given: dict[str, Any]) -> None:
    """Compute all collections at once: labels are measured, and XGBoost reads them again."""
    single = ("X", "y", "sample_weight", "base_margin")
    lists = ("eval_set", "sample_weight_eval_set", "base_margin_eval_set")
    named = [(name, given[name]) for name in single if name in given]
    for name in lists:
        for k, entry in enumerate(given.get(name, ())):
            values = entry if isinstance(entry, list | tuple) else [entry]
            named += [(f"{name}[{k}]", value) for value in values if value is not None]
    for name, value in named:
        if not dask.is_dask_collection(value):
            raise TypeError(
                f"{name} must be a Dask array, series or data frame, found {type(value).__name__}: "
                "dask.array.from_array(...) makes one; adapters.xgboost has estimators for arrays"
            )
    found = {id(value): value for _, value in named}
    kept = dict(zip(found, client.persist(list(found.values())), strict=True))

    def replace(value: Any) -> Any:
        if isinstance(value, list | tuple):
            return type(value)(map(replace, value))
        return kept.get(id(value), value)

    given |= {name: replace(given[name]) for name in (*single, *lists) if name in given}


def _fit_margins(estimator: Any, **given: Any) -> None:
    """Train a regressor with the estimator's parameters and take over its model: XGBoost's
    classifier would train on an objective and a number of classes of its own."""
    regressor = xgb_dask.DaskXGBRegressor(**estimator.get_params())
    regressor.client = estimator.client
    regressor.fit(**given)
    for name in ("_Booster", "evals_result_"):
        if name in vars(regressor):
            setattr(estimator, name, getattr(regressor, name))


DASK = """

It does on the rows of a Dask cluster what :class:`gbdt_objectives.adapters.xgboost.{kind}` does on
one machine: the model, the best round and ``evals_result()`` are the same.

Parameters
----------
objective : str, callable or Objective
    An Objective must {must}, and must not hold values of its training rows.
**kwargs
    Parameters of ``xgboost.dask.Dask{kind}``. ``coll_cfg=Config(timeout=60)`` of
    ``xgboost.collective`` (XGBoost 3.0) says how many seconds workers wait for one another.

Examples
--------
>>> import dask.array as da, numpy as np
>>> from distributed import Client
>>> from gbdt_objectives import {objective}
>>> from gbdt_objectives.distributed.dask import Dask{kind}
>>> rng = np.random.default_rng(0)
>>> X = rng.random((500, 3)); y = np.digitize(X[:, 0], [0.3, 0.6])
>>> with Client(n_workers=1, threads_per_worker=1, processes=False,
...             dashboard_address=":0") as client:
...     model = Dask{kind}(objective={objective}({K}), max_depth=2, n_estimators=20)
...     model = model.fit(da.from_array(X, (250, 3)), da.from_array(y, 250))
...     p = model.predict(da.from_array([[0.1, 0.5, 0.5], [0.9, 0.5, 0.5]])).compute()
>>> p.round().astype(int).tolist()
[0, 2]
"""


@public
@drop_in(_Fitting)
@documented(DASK, kind="XGBRegressor", must="predict numbers", objective="qwk_objective", K="")
class DaskXGBRegressor(xgb_dask.DaskXGBRegressor):
    """``xgboost.dask.DaskXGBRegressor`` for objectives and metrics of this package."""


@public
@estimators.saves_scores
@drop_in(_Fitting)
@documented(
    DASK, kind="XGBClassifier", must="have class probabilities",
    objective="ordinal_logit_objective", K="3",
)  # fmt: skip
class DaskXGBClassifier(xgb_dask.DaskXGBClassifier):
    """``xgboost.dask.DaskXGBClassifier`` for objectives and metrics of this package."""


__getattr__, __dir__ = attributes(__name__, ["DaskXGBClassifier", "DaskXGBRegressor"])
