"""Everything that README.md shows runs, in order, as a reader would paste it."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
README = ROOT / "README.md"
BLOCKS = re.findall(r"^```python\n(.*?)^```", README.read_text(), flags=re.M | re.S)


@pytest.mark.filterwarnings("error")
def test_python_blocks_run(tmp_path, monkeypatch) -> None:
    monkeypatch.chdir(tmp_path)  # what a block saves is saved there
    assert len(BLOCKS) >= 3
    namespace: dict[str, object] = {}
    for block in BLOCKS:
        exec(compile(block, "README.md", "exec"), namespace)


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
