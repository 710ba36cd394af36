"""Whatever asks a loss while several workers train gets everybody's sums, or all workers raise.

On one process, on two workers of XGBoost's collective and on Dask; Spark by hand only, as it takes
minutes to start: tests/engines.
"""

from __future__ import annotations

from typing import Any

import pytest

from tests.matrix.entries import CASES, ENTRIES, ask
from tests.matrix.tables import REMEDY, right_or_refused
from tests.workers import Failed, Workers

pytestmark = [pytest.mark.slow, pytest.mark.xdist_group("workers")]

CELLS = [
    pytest.param(name, entry, where, id=f"{name}-{entry}-in-the-{where}")
    for name in CASES
    for entry in ENTRIES
    for where in ("objective", "metric")
    if where == "objective" or entry in ("gradient_hessian", "mean_loss", "metric")
]


@pytest.mark.parametrize(("name", "entry", "where"), CELLS)
def test_in_one_process(name: str, entry: str, where: str) -> None:
    error = right_or_refused(lambda: ask(0, 1, name, entry, where))
    assert error is not None
    assert error <= CASES[name].tolerance


@pytest.mark.parametrize(("name", "entry", "where"), CELLS)
def test_on_two_workers(pair: Workers, name: str, entry: str, where: str) -> None:
    check(name, entry, where, pair.run(ask, name, entry, where))


def check(name: str, entry: str, where: str, results: list[Any]) -> None:
    failed = [result for result in results if isinstance(result, Failed)]
    if failed:
        assert len(failed) == len(results), "some workers only"
        for result in failed:
            assert result.kind in ("ValueError", "TypeError"), result.trace
            assert REMEDY.search(result.text), result.text
        assert not CASES[name].right, failed[0].text
        return
    assert max(results) <= CASES[name].tolerance
