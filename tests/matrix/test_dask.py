"""The matrix on Dask: entry points inside a user's own objective, and doors."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import numpy as np
import pytest
import xgboost as xgb

from tests.distributed import faults
from tests.matrix.entries import CASES, ENTRIES, FEATURE, PARAMS, ROUNDS, F, W, compare
from tests.matrix.tables import (
    ROUNDS as TO_THE_END,
    ROWS,
    WEIGHT,
    XGB,
    XGB_SKLEARN,
    Found,
    Row,
    X,
    natural_of_booster,
    right_or_refused,
)

distributed = pytest.importorskip("distributed")
pytest.importorskip("pyarrow")

import dask.array as da  # noqa: E402
from xgboost import dask as xgb_dask  # noqa: E402

from gbdt_objectives.distributed import dask as ours  # noqa: E402

pytestmark = [pytest.mark.slow, pytest.mark.xdist_group("dask")]


@pytest.fixture(scope="module")
def client(cluster: Any) -> Iterator[Any]:
    with distributed.Client(cluster) as joined:
        joined.wait_for_workers(2, timeout=faults.DEADLINE)
        yield joined


def halves(client: Any, *arrays: Any) -> list[Any]:
    """Dask arrays of two chunks, one on each of two workers."""
    workers = sorted(client.nthreads())[:2]
    found = []
    for values in arrays:
        parts = [
            client.scatter(part, workers=[worker], hash=False)
            for part, worker in zip(np.array_split(np.asarray(values), 2), workers, strict=True)
        ]
        shape = (len(values) // 2, *np.shape(values)[1:])
        found.append(
            da.concatenate([da.from_delayed(p, shape, np.asarray(values).dtype) for p in parts])
        )
    return found


@pytest.mark.parametrize("name", CASES)
def test_every_entry_point_sums_over_the_workers(client, name: str) -> None:
    case = CASES[name]
    x, y, w, f = halves(client, FEATURE, case.y, W, F)
    data = xgb_dask.DaskDMatrix(client, x, y, weight=w, base_margin=f)
    own = partial(compare, name, list(ENTRIES))
    trained = right_or_refused(lambda: xgb_dask.train(client, PARAMS, data, ROUNDS, obj=own))
    assert trained is not None or not case.right, "refused"


# --- doors


def our_train(client: Any, row: Row, x: Any, y: Any, w: Any) -> Found:
    data = xgb_dask.DaskDMatrix(client, x, y, weight=w)
    booster = ours.train(client, XGB, data, TO_THE_END, objective=row.objective)
    return natural_of_booster(row, booster.predict(xgb.DMatrix(X)))


def train(client: Any, row: Row, x: Any, y: Any, w: Any) -> Found:
    data = xgb_dask.DaskDMatrix(client, x, y, weight=w)
    params = {**XGB, **({"num_class": 3} if row.objective.outputs > 1 else {})}
    booster = xgb_dask.train(client, params, data, TO_THE_END, obj=row.objective)["booster"]
    return Found(margin=booster.predict(xgb.DMatrix(X), output_margin=True))


def estimator(kind: Any) -> Callable[..., Found]:
    def enter(client: Any, row: Row, x: Any, y: Any, w: Any) -> Found:
        model = kind(objective=row.objective, **XGB_SKLEARN)
        model.client = client
        model.fit(x, y.astype(int) if row.n_classes else y, sample_weight=w)
        if not row.objective.link.is_declared or (
            row.n_classes and not hasattr(model, "predict_proba")
        ):
            return Found(margin=model.predict(x, output_margin=True).compute())
        asked = model.predict_proba if hasattr(model, "predict_proba") else model.predict
        return Found(natural=asked(x).compute())

    return enter


DOORS = {
    "our-train": (our_train, lambda row: True),
    "our-regressor": (estimator(ours.DaskXGBRegressor), lambda row: row.n_classes is None),
    "our-classifier": (estimator(ours.DaskXGBClassifier), lambda row: row.n_classes is not None),
    "train": (train, lambda row: row.objective.outputs == 1),
    "regressor": (estimator(xgb_dask.DaskXGBRegressor), lambda row: False),
    "classifier": (estimator(xgb_dask.DaskXGBClassifier), lambda row: False),
}


KNOWN = {("regressor", "log"): "on a worker nothing tells a regressor from a training by itself"}
"""Cells that cannot be told, with the reason."""

CELLS = [
    pytest.param(door, row, id=f"{row}-{door}", marks=[
        pytest.mark.xfail(strict=True, reason=KNOWN[door, row.name])
    ] if (door, row.name) in KNOWN else [])
    for door in DOORS
    for row in ROWS
    if row.name not in ("identity", "logit-function", "undeclared")  # like others, for the time
]  # fmt: skip


@pytest.mark.parametrize(("door", "row"), CELLS)
def test_an_objective_predicts_what_it_aims_at_or_is_refused(client, door: str, row: Row) -> None:
    enter, right = DOORS[door]
    arrays = halves(client, X, row.y, WEIGHT)
    found = right_or_refused(lambda: enter(client, row, *arrays))
    if found is None:
        assert not right(row), "refused"
    else:
        found.check(row)
