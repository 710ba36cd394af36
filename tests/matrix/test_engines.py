"""Whatever asks a loss while several workers train gets everybody's sums, or all workers raise.

On one process, on two workers of XGBoost's collective and on Dask; Spark by hand only, as it takes
minutes to start: tests/engines.
"""

from __future__ import annotations

import pytest

from tests.matrix.entries import CASES, ENTRIES, ask, ask_all
from tests.matrix.tables import REMEDY, right_or_refused
from tests.workers import Failed, Workers

pytestmark = [pytest.mark.slow, pytest.mark.xdist_group("workers")]

CELLS = [
    (entry, where)
    for entry in ENTRIES
    for where in ("objective", "metric")
    if where == "objective" or entry in ("gradient_hessian", "mean_loss", "metric")
]
RIGHT = [name for name, case in CASES.items() if case.right]


@pytest.mark.parametrize("name", CASES)
def test_in_one_process(name: str) -> None:
    for cell in CELLS:
        error = right_or_refused(lambda cell=cell: ask(0, 1, name, *cell))
        assert error is not None, cell
        assert error <= CASES[name].tolerance, cell


@pytest.mark.parametrize("name", RIGHT)
def test_on_two_workers(pair: Workers, name: str) -> None:
    for errors in pair.run(ask_all, name, CELLS, deadline=300, timeout=120):
        assert not isinstance(errors, Failed), errors.trace
        assert len(errors) == len(CELLS)
        for cell, error in zip(CELLS, errors, strict=True):
            assert error <= CASES[name].tolerance, cell


@pytest.mark.parametrize(("entry", "where"), CELLS)
@pytest.mark.parametrize("name", [name for name in CASES if name not in RIGHT])
def test_on_two_workers_it_is_right_or_refused(
    pair: Workers, name: str, entry: str, where: str
) -> None:
    results = pair.run(ask, name, entry, where)
    failed = [result for result in results if isinstance(result, Failed)]
    if not failed:
        assert max(results) <= CASES[name].tolerance
        return
    assert len(failed) == len(results), "some workers only"
    for result in failed:
        assert result.kind in ("ValueError", "TypeError"), result.trace
        assert REMEDY.search(result.text), result.text
