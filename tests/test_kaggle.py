"""docs/kaggle.md: the wheel is installed without a network, and what its notebook shows runs."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from sklearn.metrics import cohen_kappa_score

from tests.pages.outputs import blocks, copy_data

pytestmark = pytest.mark.ci

ROOT = Path(__file__).parents[1]
PAGE = (ROOT / "docs/kaggle.md").read_text(encoding="utf-8")


def side(sign: str) -> str:
    """One of the two programs of the diff."""
    (diff,) = re.findall(r"^<!-- diff -->\n```diff\n(.*?)^```", PAGE, flags=re.M | re.S)
    lines = diff.splitlines()
    assert {line[:1] for line in lines} == {" ", "-", "+"}
    return "\n".join(line[1:] for line in lines if line[0] in (" ", sign))


@pytest.fixture
def competition(tmp_path: Path, monkeypatch) -> tuple[Path, pd.Series]:
    """A folder with the files that the page makes, and the hidden labels."""
    ((block, _),) = blocks(ROOT / "docs/kaggle.md")
    copy_data(block, tmp_path)
    monkeypatch.chdir(tmp_path)
    namespace: dict[str, Any] = {}
    exec(block, namespace)
    table = namespace["table"].set_index("id")["league"]
    test = pd.read_csv("test.csv")
    assert "league" not in test
    assert len(table) == len(pd.read_csv("train.csv")) + len(test)
    return tmp_path, table.loc[test["id"]]


@pytest.mark.slow
def test_the_page_runs_as_written(competition) -> None:
    folder, hidden = competition
    wheel, install = re.findall(r"^(?:python -m |!)(pip .*gbdt.*)$", PAGE, flags=re.M)[:3:2]
    wheels, packages = folder / "gbdt-objectives", folder / "packages"
    build = wheel.replace("gbdt-objectives", str(wheels)).split()
    offline = {**os.environ, "PIP_NO_BUILD_ISOLATION": "0", "PIP_NO_INDEX": "1"}
    subprocess.run([sys.executable, "-m", *build], check=True, cwd=ROOT, env=offline)
    there = install.replace("/kaggle/input/gbdt-objectives", str(wheels)).split()
    given = [sys.executable, "-m", *there, "--quiet", "--target", str(packages)]
    subprocess.run(given, check=True, cwd=folder)

    kappa = {}
    for sign in "-+":
        environment = {**os.environ, "PYTHONPATH": str(packages), "OMP_NUM_THREADS": "1"}
        program = side(sign) + (
            "\nimport gbdt_objectives\nassert 'packages' in gbdt_objectives.__file__"
            * (sign == "+")
        )
        done = [sys.executable, "-W", "error", "-c", program]
        subprocess.run(done, check=True, cwd=folder, env=environment)
        found = pd.read_csv(folder / "submission.csv").set_index("id")["league"]
        assert (found.index == hidden.index).all()
        kappa[sign] = cohen_kappa_score(hidden, found, weights="quadratic")
    assert kappa["+"] > kappa["-"] - 0.01  # level, on rows that neither has seen
    assert kappa["+"] > 0.7


@pytest.mark.slow
def test_what_follows_runs_and_the_folder_makes_the_same_submission(competition) -> None:
    folder, _ = competition
    environment = {
        **os.environ,
        "PYTHONPATH": str(ROOT),
        "OMP_NUM_THREADS": "1",
        "MPLBACKEND": "Agg",
    }
    calls = re.findall(r"`((?:lgb\.|cross_validate_|model\.export)[^`]*)`", PAGE)
    assert len(calls) == 3
    imports = "from gbdt_objectives import cross_validate_thresholds"
    program = "\n".join([side("+"), imports, *calls])
    done = [sys.executable, "-W", "error", "-c", program]
    subprocess.run(done, check=True, cwd=folder, env=environment)
    wanted = (folder / "submission.csv").rename(folder / "wanted.csv")

    (cell,) = re.findall(r"^<!-- cell -->\n```text\n(.*?)^```", PAGE, flags=re.M | re.S)
    for there, here in (("name-of-the-competition", ""), ("model", "model")):
        cell = cell.replace(f"/kaggle/input/{there}", str(folder / here))
    ((line, command),) = re.findall(r"(?m)^(!python (.*))$", cell)
    shell = f'subprocess.run(f"{{sys.executable}} {command}", shell=True, check=True)'
    program = "import subprocess, sys\n" + cell.replace(line, shell)
    subprocess.run([sys.executable, "-W", "error", "-c", program], check=True, cwd=folder)
    pd.testing.assert_frame_equal(pd.read_csv(folder / "submission.csv"), pd.read_csv(wanted))


def test_the_versions_are_those_of_pyproject() -> None:
    said = (ROOT / "pyproject.toml").read_text(encoding="utf-8")
    for title, floor in re.findall(r"^\| ([\w-]+)[^|]* \| ([\d.]+) \|", PAGE, flags=re.M):
        assert f'"{title.lower()}>={floor}"' in said
