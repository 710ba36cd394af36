"""What an engine that is not installed says."""

from __future__ import annotations

import subprocess
import sys

import pytest

pytestmark = pytest.mark.slow


CODE = """
import sys
for library in ("pandas", "pyarrow", "pyspark", "xgboost"):  # each in turn is not there
    names = [name for name in sys.modules if name.split(".")[0] == library]
    there = {name: sys.modules.pop(name) for name in names}
    sys.modules[library] = None
    try:
        import gbdt_objectives.distributed.spark
    except ImportError as error:
        print(library, error)
    del sys.modules[library]
    sys.modules |= there
"""


def test_it_names_the_command() -> None:
    out = subprocess.run([sys.executable, "-c", CODE], capture_output=True, text=True)
    assert out.returncode == 0, out.stderr
    said = [line.split(maxsplit=1) for line in out.stdout.splitlines()]
    assert [library for library, _ in said] == ["pandas", "pyarrow", "pyspark", "xgboost"]
    for library, text in said:
        assert text.startswith(library)
        assert "is not installed: pip install 'gbdt_objectives[spark]'" in text
