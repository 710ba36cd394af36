"""docs/deploy.md and its details from top to bottom, and their commands without this package.

``test_readme.py`` runs each ```python block alone as well.
"""

from __future__ import annotations

import ast
import csv
import json
import os
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from gbdt_objectives._steps import formulas
from gbdt_objectives.serving.folder import KEYS

pytestmark = pytest.mark.slow

DOCS = Path(__file__).parents[1] / "docs"
PAGE = "\n".join((DOCS / f"{name}.md").read_text() for name in ("deploy", "served_folder"))
STEP = re.compile(r"^```(python|console)[^\n]*\n(.*?)^```", flags=re.M | re.S)
ABSENT = ("gbdt_objectives", "sklearn", "pandas", "xgboost")
"""What is not there where the page's commands run."""


@pytest.mark.ci
def test_the_page_runs_as_printed(tmp_path, monkeypatch) -> None:
    for name in ("lightgbm", "pandas"):
        pytest.importorskip(name)
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(tmp_path)
    (tmp_path / "bare").mkdir()
    blocked = "\n".join(f"sys.modules[{name!r}] = None" for name in ABSENT)
    (tmp_path / "bare" / "sitecustomize.py").write_text(f"import sys\n{blocked}\n")
    namespace: dict[str, object] = {}
    commands = 0
    for language, block in STEP.findall(PAGE):
        if language == "python":
            exec(block, namespace)
            continue
        for line in block.splitlines():
            command = line.removeprefix("$ python ").replace("> ", ">").split()
            output = [word[1:] for word in command if word[0] == ">"]
            out = subprocess.run(
                [sys.executable, *(word for word in command if word[0] != ">")],
                env=os.environ | {"PYTHONPATH": str(tmp_path / "bare")},
                capture_output=True, text=True, timeout=60,
            )  # fmt: skip
            assert (out.returncode, out.stderr) == (0, "")
            for name in output:
                Path(name).write_text(out.stdout)
            commands += 1
    assert commands == 2
    header, *rows = csv.reader(Path("graded.csv").read_text().splitlines())
    assert header == ["prediction", *"123456"]
    assert [int(row[0]) for row in rows] == np.asarray(namespace["grades"]).tolist()
    check_the_schema(json.loads(Path("essays/model.json").read_text()))


def check_the_schema(document: dict[str, object]) -> None:
    """The page's table has the keys that there are."""
    table = PAGE.partition("| key of `model.json` |")[2].partition("\n\n")[0]
    described = {re.split(r"[.\[]", name)[0] for name in re.findall(r"^\| `([^`]+)`", table, re.M)}
    assert described == set(document) == set(KEYS)


def test_every_formula_is_on_the_page() -> None:
    """But for those that stand inside others only."""
    source = ast.parse(Path(formulas.__file__).read_text())
    names = {node.name for node in source.body if isinstance(node, ast.FunctionDef)}
    rows = set(re.findall(r"^\| `(\w+)` \|", PAGE, re.M))
    inside = {"apply", "focal_log_odds", "log_odds", "log_slope", "softplus"}
    assert names - inside | {"segment_shift"} <= rows
