"""Four workers of Dask, as unlike as can be: one without rows, one with a row of large weight,
one with a single class, and one with the rest.

By hand, in two minutes: python -m pytest -m ci tests/distributed/test_four_dask_workers.py
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import gbdt_objectives as go
from gbdt_objectives.adapters.xgboost import train

distributed = pytest.importorskip("distributed")
dask = pytest.importorskip("dask")
pytest.importorskip("pyarrow")

from gbdt_objectives.distributed import dask as ours  # noqa: E402
from tests.distributed import (  # noqa: E402
    faults,
    test_partitions as partitions,
    test_train as layouts,
)
from tests.experimental import test_dask as lightgbm  # noqa: E402

pytestmark = [pytest.mark.slow, pytest.mark.ci, pytest.mark.xdist_group("four workers of dask")]

N = layouts.N
FIRST = int(np.count_nonzero(layouts.Y == 0))
W = np.where(np.arange(N) == 0, 1024.0, layouts.W)
PARTS = [slice(0, 0), slice(0, 1), slice(1, FIRST), slice(FIRST, N)]
"""No rows, one row of large weight, the rest of its class, all others."""

LAYOUTS = {
    "most rows last": [*enumerate(PARTS)],
    "most rows first": [*enumerate(PARTS[::-1])],
    "many partitions": [
        *enumerate(PARTS[:3]),
        *[(3, np.arange(FIRST + k, N, 5)) for k in range(5)],
    ],
}
"""(worker, rows) of each partition."""


@pytest.fixture(scope="module")
def client() -> Iterator[Any]:
    from tests.workers import prepared

    prepared()
    with (
        dask.config.set({"distributed.scheduler.work-stealing": False}),
        distributed.LocalCluster(
            n_workers=4, threads_per_worker=1, dashboard_address=None, memory_limit=None,
            silence_logs=60,
        ) as cluster,
        distributed.Client(cluster) as joined,
    ):  # fmt: skip
        joined.wait_for_workers(4, timeout=faults.DEADLINE)
        yield joined


@pytest.mark.parametrize("name", layouts.OBJECTIVES)
@pytest.mark.parametrize("layout", LAYOUTS)
def test_xgboost_trains_the_model_of_one_machine(client: Any, layout: str, name: str) -> None:
    objective, metric, y = layouts.OBJECTIVES[name]
    parts = LAYOUTS[layout]
    options = {"objective": objective, "metric": metric or go.loss_metric(objective)}
    history: dict[str, Any] = {}
    theirs: dict[str, Any] = {}
    own = layouts.alone(y, W)
    one = train(layouts.PARAMETERS, own, 6, evals=[(own, "v")], evals_result=history, **options)
    data = layouts.matrix(client, parts, y, W)
    many = faults.within(
        lambda: ours.train(
            client, layouts.PARAMETERS, data, 6, evals=[(data, "v")], evals_result=theirs, **options
        )
    )
    if name == "refitted thresholds":  # whose search starts at other samples, and ends within 1e-7
        np.testing.assert_allclose(many.predict(own), one.predict(own), rtol=0, atol=1e-5)
        return
    assert many.get_dump(with_stats=True) == one.get_dump(with_stats=True)
    assert layouts.base_score(many) == layouts.base_score(one)
    layouts.assert_same_values(theirs, history)


@pytest.mark.parametrize("cuts", [[0, 100, 300], [300, 400, 400], [100, 300, 700]])
def test_lightgbm_trains_the_model_of_one_machine(client: Any, cuts: list[int]) -> None:
    """LightGBM refuses a worker with one row, and takes the bins of a feature from the rows of one
    worker, which must have all of its values."""
    rng = np.random.default_rng(0)
    X = rng.integers(0, 3, (1500, 4)).astype(float)
    y = np.digitize(X[:, :2].sum(1) + rng.normal(0, 2, 1500), [1, 2, 3]).astype(float)
    order = np.argsort(y, kind="stable")
    rows = X[order], y[order], np.where(np.arange(1500) == cuts[0], 64.0, 1.0)
    model = lightgbm.fit_on(client, cuts, rows, go.qwk_objective())
    lightgbm.check_same(model, rows[0], lightgbm.of_one_machine(rows, go.qwk_objective()))


@pytest.mark.parametrize("case", partitions.CASES)
def test_sums_of_partitions_are_those_of_one_machine(client: Any, case: str) -> None:
    columns = partitions.sample()
    columns["weight"][41:300] = 0  # a partition that weighs nothing
    found = partitions.CASES[case](partitions.collected(partitions.in_turn(case), columns))
    partitions.assert_same(found, partitions.CASES[case](columns))
