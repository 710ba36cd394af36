"""What conftest.py does for pytest-xdist."""

from __future__ import annotations

import os

import pytest


@pytest.mark.skipif("PYTEST_XDIST_WORKER" not in os.environ, reason="for -n only")
@pytest.mark.xdist_group("one_of_its_own")
def test_a_group_stands_where_pytest_xdist_looks_for_it(request: pytest.FixtureRequest) -> None:
    """Or its tests would run in any process, and each start the clusters and pools they share."""
    assert request.node.nodeid.endswith("@one_of_its_own")
