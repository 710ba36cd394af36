"""Everything that README.md shows runs, in order, as a reader would paste it."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest

ROOT = Path(__file__).parents[1]
README = ROOT / "README.md"
BLOCKS = re.findall(r"^```python\n(.*?)^```", README.read_text(), flags=re.M | re.S)


@pytest.mark.filterwarnings("error")
@pytest.mark.filterwarnings("ignore:The argument 'eval_set' is deprecated")  # LightGBM 4.7
@pytest.mark.parametrize("block", BLOCKS, ids=[str(k) for k in range(len(BLOCKS))])
def test_each_python_block_runs_alone(block, tmp_path, monkeypatch) -> None:
    monkeypatch.chdir(tmp_path)  # what a block saves is saved there
    namespace: dict[str, object] = {}
    exec(compile(block, "README.md", "exec"), namespace)
    if "grades" in namespace:  # labels, not positions or scores
        assert set(np.unique(namespace["grades"])) <= {1, 2, 3, 4, 5, 6}
        assert namespace["grades"].dtype.kind == "i"


def test_blocks_predict_labels() -> None:
    assert len(BLOCKS) >= 8
    assert sum("grades = " in block for block in BLOCKS) >= 4


def test_links_and_pictures_exist() -> None:
    targets = re.findall(r"\]\(([^)#]+?)(?:#[^)]*)?\)", README.read_text())
    local = [target for target in targets if "://" not in target]
    assert local
    missing = [target for target in local if not (ROOT / target).exists()]
    assert missing == []


def test_two_commands_of_one_line() -> None:
    for name in ("experiment", "tests"):
        found = re.findall(
            rf"^<!-- command: {name} -->\n```bash\n([^\n]+)\n```", README.read_text(), flags=re.M
        )
        assert len(found) == 1
        assert "pip install" in found[0]
