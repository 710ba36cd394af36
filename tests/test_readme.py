"""Everything that README.md and the guide in docs/ show runs, as a reader would paste it."""

from __future__ import annotations

import re
import sys
from importlib.util import find_spec
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest

import gbdt_objectives as go
from tests.pages.outputs import PAGES, README, ROOT, Shown, blocks, chains, check, copy_data

pytestmark = pytest.mark.slow

TOOLS = ("dask", "distributed", "duckdb", "mlflow", "optuna", "pyarrow", "treelite", "ydf")
MISSING = [name for name in TOOLS if not find_spec(name)]
"""Those that are missing here."""


def name(page: Path) -> str:
    return page.relative_to(ROOT).with_suffix("").as_posix()


def marks(page: Path, chain: list[Shown]) -> list[pytest.MarkDecorator]:
    block = "".join(block for block, _ in chain)
    missing = [name for name in MISSING if f"import {name}" in block]
    beside = [] if page == README else [pytest.mark.ci]
    if "import mlflow" in block:  # which calls what its own libraries call old
        beside.append(pytest.mark.filterwarnings("ignore::DeprecationWarning"))
    return [*beside, *(pytest.mark.skip(reason=f"needs {name}") for name in missing)]


CHAINS = [
    pytest.param(chain, id=f"{name(page)}-{k}", marks=marks(page, chain))
    for page in PAGES
    for k, chain in enumerate(chains(page))
]


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("chain", CHAINS)
def test_each_python_block_runs_alone(chain, tmp_path, monkeypatch, capsys) -> None:
    """Or after those that it continues."""
    monkeypatch.chdir(tmp_path)  # what a block saves is saved there
    monkeypatch.syspath_prepend(tmp_path)  # and imported from there
    copy_data("".join(block for block, _ in chain), tmp_path)
    module = ModuleType("block")  # which pickles find, as they find a script
    monkeypatch.setitem(sys.modules, "block", module)
    namespace = vars(module)
    for block, shown in chain:
        exec(compile(block, "block", "exec"), namespace)
        check(capsys.readouterr().out, shown)
    sys.modules.pop("essays.predict", None)  # of docs/deploy.md; the folder goes
    if "grades" in namespace:  # labels, not positions or scores
        assert set(np.unique(namespace["grades"])) <= {1, 2, 3, 4, 5, 6}
        assert namespace["grades"].dtype.kind == "i"


def test_another_output_is_noticed() -> None:
    check("kappa  0.84 of 1,000 rows\n", "kappa 0.85 of 990 rows\n")
    for printed in ("kappa 0.92 of 1,000 rows", "QWK 0.84 of 1,000 rows", "kappa 0.84", ""):
        with pytest.raises(AssertionError):
            check(printed, "kappa 0.85 of 1000 rows")


def test_blocks_predict_labels() -> None:
    found = [block for page in PAGES for block, _ in blocks(page)]
    assert len(found) >= 8
    assert sum("grades = " in block for block in found) >= 4


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
