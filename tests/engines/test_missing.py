"""What an engine that is not installed says."""

from __future__ import annotations

import subprocess
import sys

import pytest

pytestmark = pytest.mark.slow


@pytest.mark.parametrize("library", ["pandas", "pyarrow", "pyspark", "xgboost"])
def test_it_names_the_command(library: str) -> None:
    code = f"import sys; sys.modules[{library!r}] = None\nimport gbdt_objectives.distributed.spark"
    out = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert out.returncode == 1
    assert "is not installed: pip install 'gbdt_objectives[spark]'" in out.stderr
