"""docs/kaggle.md: the wheel is installed without a network, and both sides of the diff run."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pandas as pd
import pytest
from sklearn.metrics import cohen_kappa_score

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
def competition(tmp_path: Path) -> tuple[Path, pd.Series]:
    """A folder with the files of the competition, and the hidden labels."""
    table = pd.read_csv(ROOT / "notebooks/data/skill.csv").sample(frac=1, random_state=0)
    table.insert(0, "id", range(len(table)))
    train, test = table[:2500], table[2500:]
    folder = tmp_path / "notebooks" / "data"
    folder.mkdir(parents=True)
    train.to_csv(folder / "train.csv", index=False)
    test.drop(columns="league").to_csv(folder / "test.csv", index=False)
    return tmp_path, test.set_index("id")["league"]


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


def test_the_versions_are_those_of_pyproject() -> None:
    said = (ROOT / "pyproject.toml").read_text(encoding="utf-8")
    for title, floor in re.findall(r"^\| ([\w-]+)[^|]* \| ([\d.]+) \|", PAGE, flags=re.M):
        assert f'"{title.lower()}>={floor}"' in said
