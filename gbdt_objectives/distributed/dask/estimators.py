"""XGBoost's Dask estimators, with objectives and metrics of this package."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import dask
import dask.array
import distributed
import numpy as np
from xgboost import dask as xgb_dask

from gbdt_objectives._checks import Array
from gbdt_objectives._checks.mistakes import room
from gbdt_objectives.adapters._docstrings import documented
from gbdt_objectives.adapters._estimators import drop_in
from gbdt_objectives.adapters._train import start_margin, start_of_rows
from gbdt_objectives.adapters.xgboost import estimators
from gbdt_objectives.adapters.xgboost._train import start_at
from gbdt_objectives.distributed.dask import _train
from gbdt_objectives.objectives import Objective
from gbdt_objectives.objectives.base import Start


class _Fitting(estimators.Fitting):
    model = xgb_dask.DaskXGBClassifier

    def fit(self) -> Any:
        if not self.is_ours:
            self.run()
            return self.estimator
        if self.objective is not None:
            _train.check_not_by_row(self.objective)
        client = _train.find_client(self.estimator.client)
        _persist(client, self.given)
        config = getattr(self.estimator, "coll_cfg", None)
        timeout = getattr(config, "timeout", None) or _train.TIMEOUT
        with _train.explained(client, set(client.nthreads()), timeout) as interruptible:
            callbacks = self.parameters.get("callbacks", self.estimator.callbacks) or ()
            self.parameters["callbacks"] = [interruptible, *callbacks]
            if self.objective is None:
                self.run()
            else:
                self.fit_on(client, self.objective, timeout)
        return self.estimator

    def fit_on(self, client: distributed.Client, objective: Objective, timeout: int) -> None:
        """Train on the objective measured on all labels, which the estimator then has."""
        estimator, given = self.estimator, self.given
        earlier, own_margin = self.continues(objective), given.get("base_margin")
        measured = _measure(client, objective, given["y"], given.get("sample_weight"))
        started, begin = start_at(
            measured, estimator.base_score, self.named(objective),
            earlier=earlier, base_margin=own_margin,
        )  # fmt: skip
        intercept: Start = 0.0
        if started.shifts:  # several outputs start at the intercept in each row
            intercept = started.start = start_margin(measured)
            started.shifts = False
            labels = [given["y"], *(y for _, y in given.get("eval_set", ()))]
            first, *others = (_start_of_rows(measured, y) for y in labels)
            given |= {"base_margin": first, "base_margin_eval_set": others or None}
        self.hand_over(started)
        self.parameters |= begin
        if self.reads(objective):
            self.classes = self.find_classes(objective)
            self.library_fit = _fit_margins(estimator)
        self.run()
        booster = estimator.get_booster()
        self.finish(booster, objective, intercept)
        estimator.objective_ = measured
        if objective.fits_margins:
            names = ("missing", "enable_categorical", "feature_types")
            data = xgb_dask.DaskDMatrix(
                client, given["X"], given["y"], weight=given.get("sample_weight"),
                base_margin=own_margin, **{name: getattr(estimator, name) for name in names},
            )  # fmt: skip
            estimator.objective_ = _train.fitted_objective(
                client, measured, booster, data, timeout=timeout
            )

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


def _measure(client: distributed.Client, objective: Objective, y: Any, weight: Any) -> Objective:
    """The objective measured on the labels of all partitions, where they are."""
    columns = {"data": y, "label": y} | ({} if weight is None else {"weight": weight})
    parts = {name: client.futures_of(column) for name, column in columns.items()}
    if len({len(futures) for futures in parts.values()}) > 1:
        raise ValueError(
            f"sample_weight has {len(parts['weight'])} partitions, but y has "
            f"{len(parts['label'])}: repartition one like the other"
        )
    rows = [dict(zip(parts, part, strict=True)) for part in zip(*parts.values(), strict=True)]
    run = partial(_train.inspect_parts, client, rows, "y")
    return _train.measured_on_parts(objective, run(partial(_train.tell, objective)), run)


def _start_of_rows(measured: Objective, y: Any) -> Any:
    """The start of each row, a Dask array (n, K) in the partitions of y."""
    labels = y if isinstance(y, dask.array.Array) else y.to_dask_array()
    if labels.ndim == 2:
        labels = labels[:, 0]
    return labels.map_blocks(
        lambda block: start_of_rows(measured, len(block)), new_axis=1,
        chunks=(labels.chunks[0], (measured.outputs,)), meta=np.empty((0, 0)),
    )  # fmt: skip


def _fit_margins(estimator: Any) -> Callable[..., Any]:
    """A fit that trains a regressor with the estimator's parameters and takes over its model:
    XGBoost's classifier would train on an objective and a number of classes of its own."""

    def fit(**given: Any) -> None:
        regressor = xgb_dask.DaskXGBRegressor(**estimator.get_params())
        regressor.client = estimator.client
        regressor.fit(**given)
        for name in ("_Booster", "evals_result_"):
            if name in vars(regressor):
                setattr(estimator, name, getattr(regressor, name))

    return fit


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


@drop_in(_Fitting)
@documented(DASK, kind="XGBRegressor", must="predict numbers", objective="qwk_objective", K="")
class DaskXGBRegressor(xgb_dask.DaskXGBRegressor):
    """``xgboost.dask.DaskXGBRegressor`` for objectives and metrics of this package."""


@estimators.saves_scores
@drop_in(_Fitting)
@documented(
    DASK, kind="XGBClassifier", must="have class probabilities",
    objective="ordinal_logit_objective", K="3",
)  # fmt: skip
class DaskXGBClassifier(xgb_dask.DaskXGBClassifier):
    """``xgboost.dask.DaskXGBClassifier`` for objectives and metrics of this package."""


__getattr__, __dir__ = room(__name__, ["DaskXGBClassifier", "DaskXGBRegressor"])
