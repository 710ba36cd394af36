"""Small data sets on which both boosters really train."""

from __future__ import annotations

import multiprocessing
import os
import re
from collections.abc import Iterator
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

if TYPE_CHECKING:
    from tests.workers import Workers

# Before jax is imported: in tests nearly all of its time is compiling, for what runs once.
os.environ.setdefault(
    "XLA_FLAGS", "--xla_backend_optimization_level=0 --xla_llvm_disable_expensive_passes=true"
)

# Before Dask is imported: see tests/workers.py.
if "forkserver" in multiprocessing.get_all_start_methods():
    os.environ["DASK_DISTRIBUTED__WORKER__MULTIPROCESSING_METHOD"] = "forkserver"

if find_spec("hypothesis"):  # not where the engines are tested
    from hypothesis import settings

    # The machine may be busy: no deadline. Every run tries the same examples, unless it is asked
    # for more and other ones, by --hypothesis-profile=thorough.
    settings.register_profile("same", max_examples=50, deadline=None, derandomize=True)
    settings.register_profile("thorough", max_examples=1000, deadline=None, print_blob=True)
    settings.load_profile("same")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Test files say themselves what is slow; docstrings that start a cluster cannot."""
    for item in items:
        if re.search("gbdt_objectives/(distributed|experimental)/dask", item.path.as_posix()):
            item.add_marker(pytest.mark.slow)


@pytest.fixture(scope="session")
def pair() -> Iterator[Workers]:
    """Two processes of XGBoost's collective, for all tests of the group "workers"."""
    from tests.workers import Workers

    pool = Workers(2)
    yield pool
    pool.close()


CALM = {
    "distributed.scheduler.work-stealing": False,
    "distributed.worker.profile.enabled": False,
    "distributed.admin.system-monitor.interval": "10s",
    "distributed.admin.tick.interval": "1s",
}
"""Processes of Dask keep what they are given. They do not watch themselves 100 times a second,
which would take 8 % of a core until the session ends."""


@pytest.fixture(scope="session")
def cluster() -> Iterator[Any]:
    """Three processes of Dask, for all tests of the group "dask". They keep the rows that a test
    gives them, however busy they are."""
    distributed = pytest.importorskip("distributed")
    import dask

    from tests.workers import prepared

    prepared()
    with (
        dask.config.set(CALM),
        distributed.LocalCluster(
            n_workers=3,
            threads_per_worker=1,
            dashboard_address=None,
            memory_limit=None,
            silence_logs=60,
        ) as started,
    ):
        yield started


@pytest.fixture(scope="session")
def ordinal() -> tuple[np.ndarray, ...]:
    """X, integer labels 1..4 and weights: 600 rows that a small model can learn."""
    rng = np.random.default_rng(3)
    X = rng.random((600, 4))
    y = np.digitize(X[:, :2].sum(1) + 0.2 * rng.normal(size=600), [0.7, 1.0, 1.3]) + 1
    return shared(X, y, rng.integers(1, 4, 600).astype(float))


@pytest.fixture(scope="session")
def rare() -> tuple[np.ndarray, ...]:
    """X, labels 0 and 1 (about one in eight positive) and weights."""
    rng = np.random.default_rng(4)
    X = rng.random((800, 4))
    y = (rng.random(800) < 1 / (1 + np.exp(-8 * (X[:, 0] - 0.85)))).astype(int)
    return shared(X, y, rng.integers(1, 4, 800).astype(float))


def shared(*arrays: np.ndarray) -> tuple[np.ndarray, ...]:
    """Arrays of the whole session, which no test may write into."""
    for array in arrays:
        array.flags.writeable = False
    return arrays
