"""Everything that README.md and the guide in docs/ show runs, as a reader would paste it."""

from __future__ import annotations

import re
import shutil
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import pytest

import gbdt_objectives as go

pytestmark = pytest.mark.slow

ROOT = Path(__file__).parents[1]
README = ROOT / "README.md"
PAGES = [
    README,
    *sorted((ROOT / "docs").glob("*.md")),
    *sorted((ROOT / "docs").glob("[mt]*/*.md")),
]
TOOLS = ("dask", "distributed", "duckdb", "mlflow", "optuna", "pyarrow", "treelite", "ydf")
MISSING = [name for name in TOOLS if not find_spec(name)]
"""Those that are missing here."""


def name(page: Path) -> str:
    return page.relative_to(ROOT).with_suffix("").as_posix()


def marks(page: Path, block: str) -> list[pytest.MarkDecorator]:
    missing = [name for name in MISSING if f"import {name}" in block]
    beside = [] if page == README else [pytest.mark.ci]
    if "import mlflow" in block:  # which calls what its own libraries call old
        beside.append(pytest.mark.filterwarnings("ignore::DeprecationWarning"))
    return [*beside, *(pytest.mark.skip(reason=f"needs {name}") for name in missing)]


BLOCKS = [
    pytest.param(block, id=f"{name(page)}-{k}", marks=marks(page, block))
    for page in PAGES
    for k, block in enumerate(
        re.findall(r"^```python\n(.*?)^```", page.read_text(), flags=re.M | re.S)
    )
]


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("block", BLOCKS)
def test_each_python_block_runs_alone(block, tmp_path, monkeypatch, capsys) -> None:
    monkeypatch.chdir(tmp_path)  # what a block saves is saved there
    if "notebooks/data" in block:  # to be run in the folder of a clone
        (tmp_path / "notebooks").mkdir()
        shutil.copytree(ROOT / "notebooks" / "data", tmp_path / "notebooks" / "data")
    namespace: dict[str, object] = {}
    exec(compile(block, "block", "exec"), namespace)
    if "grades" in namespace:  # labels, not positions or scores
        assert set(np.unique(namespace["grades"])) <= {1, 2, 3, 4, 5, 6}
        assert namespace["grades"].dtype.kind == "i"
    for said in re.findall(r"^print\(.* # QWK on new rows: (\S+)$", block, flags=re.M):
        # a booster of another version may move a few rows of 1000
        assert float(capsys.readouterr().out) == pytest.approx(float(said), abs=0.003)


def test_blocks_predict_labels() -> None:
    blocks = [block.values[0] for block in BLOCKS]
    assert len(blocks) >= 8
    assert sum("grades = " in block for block in blocks) >= 4


@pytest.mark.parametrize("page", PAGES, ids=name)
def test_links_and_pictures_exist(page) -> None:
    links = re.findall(r"\]\(([^)#]+?)(?:#([^)]*))?\)", page.read_text())
    local = [(page.parent / target, heading) for target, heading in links if "://" not in target]
    assert local or page != README
    for target, heading in local:
        assert target.exists(), f"{page.name} links to {target}"
        if heading:
            headings = re.findall(r"(?m)^#+ (.*)$", target.read_text())
            assert heading in [h.lower().replace(" ", "-") for h in headings]


def test_the_readme_is_short() -> None:
    assert len(README.read_text().splitlines()) < 120


def test_two_commands_of_one_line() -> None:
    for name in ("experiment", "tests"):
        found = re.findall(
            rf"^<!-- command: {name} -->\n```bash\n([^\n]+)\n```", README.read_text(), flags=re.M
        )
        assert len(found) == 1
        assert "pip install" in found[0]


def test_the_reference_names_all_that_is_public() -> None:
    listed = re.findall(r"(?m)^   ((?:\w+\.)*)(\w+)$", (ROOT / "docs/api/index.rst").read_text())
    named = {name for _, name in listed}
    assert set(go.__all__) - named - {"__version__"} == set()
    assert named >= {"DaskXGBRegressor", "spark_regressor", "LGBMRegressor", "XGBClassifier", "cv"}
