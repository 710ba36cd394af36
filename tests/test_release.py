"""What hatch_build.py makes of the README for a package page, and what the workflows run."""

from __future__ import annotations

import re
import runpy
from pathlib import Path

import pytest

import gbdt_objectives

ROOT = Path(__file__).parents[1]
ADDRESS = "https://example.org/somebody/something"


@pytest.fixture
def hook(monkeypatch):
    pytest.importorskip("hatchling")
    monkeypatch.syspath_prepend(str(ROOT))
    from hatch_build import ReleaseMetadata

    return lambda repository: ReleaseMetadata(str(ROOT), {"repository": repository})


def targets(text: str) -> list[tuple[str, str]]:
    return re.findall(r"(!?)\[[^\]]*\]\(([^)\s]+)\)", text)


def test_a_release_leads_to_its_files(hook) -> None:
    metadata = {"version": "1.2.0"}
    hook(ADDRESS + "/").update(metadata)
    text = metadata["readme"]["text"]
    links = targets(text)
    assert len(links) == len(targets((ROOT / "README.md").read_text())) > 20
    for picture, target in links:
        start = f"{ADDRESS}/{'raw' if picture else 'blob'}/v1.2.0/"
        assert target.startswith(start)
        assert (ROOT / target.removeprefix(start).split("#")[0]).is_file()
    assert any(picture for picture, _ in links)
    for target in re.findall(r'srcset="([^"]*)"', text):  # for phones
        assert target.startswith(f"{ADDRESS}/raw/v1.2.0/")
        assert (ROOT / target.removeprefix(f"{ADDRESS}/raw/v1.2.0/")).is_file()
    assert metadata["urls"]["Repository"] == ADDRESS
    # only the links were touched
    short = text.replace(f"{ADDRESS}/raw/v1.2.0/", "").replace(f"{ADDRESS}/blob/v1.2.0/", "")
    assert short == (ROOT / "README.md").read_text()


def test_links_with_an_address_stay(hook) -> None:
    from hatch_build import absolute_links

    text = "[a](https://a.org/b) [b](#here) ![c](https://a.org/d.png) [e](mailto:f@a.org)"
    text += '<source srcset="https://a.org/d.png">'
    assert absolute_links(text, ADDRESS, "v1") == text


@pytest.mark.parametrize("version", ["1.2.0.dev0", "1.2.0rc1"])
def test_without_an_address_no_release_is_built(hook, version) -> None:
    metadata = {"version": version}
    hook("").update(metadata)
    assert metadata["readme"]["text"] == (ROOT / "README.md").read_text()
    assert "urls" not in metadata
    with pytest.raises(ValueError, match=r"version 1\.2\.0 is a release.*set repository"):
        hook("").update({"version": "1.2.0"})


WORKFLOWS = sorted((ROOT / ".github").glob("workflows/*.y*ml"))
PINNED = re.compile(r"[\w.-]+/[\w./-]+@[0-9a-f]{40} +# v\d+\.\d+\.\d+")


@pytest.mark.parametrize("path", WORKFLOWS, ids=lambda path: path.name)
def test_a_workflow_runs_what_was_reviewed(path: Path) -> None:
    """A tag can be moved, a hash cannot; and no title or branch name of a stranger becomes code."""
    text = path.read_text("utf-8")
    used = re.findall(r"^[ -]*uses:(.*)$", text, re.MULTILINE)
    assert len(used) == text.count("uses:") > 0
    assert [line for line in used if not PINNED.fullmatch(line.strip())] == []
    assert re.findall(r"^permissions:\n((?:  .*\n)+)", text, re.MULTILINE) == ["  contents: read\n"]
    assert text.count("permissions:") == 1
    assert "${{" not in text
    assert "pull_request_target" not in text


def test_there_is_a_workflow() -> None:
    assert WORKFLOWS


def test_the_menu_of_versions_leads_to_the_newest_release() -> None:
    menu = runpy.run_path(str(ROOT / ".ci/site.py"))["menu"]
    versions = menu(["0.9.0", "static", "0.10.0", "1.0.0rc1"], ADDRESS + "/")
    assert [entry["version"] for entry in versions] == ["1.0.0rc1", "0.10.0", "0.9.0"]
    assert [entry["preferred"] for entry in versions] == [False, True, False]
    assert versions[1]["url"] == f"{ADDRESS}/0.10.0/"
    (candidate,) = menu(["0.1.0rc1"], ADDRESS)
    assert candidate["preferred"], "while there is no release"


def test_the_conda_recipe_says_what_pyproject_says() -> None:
    recipe = (ROOT / "recipe/recipe.yaml").read_text(encoding="utf-8")
    project = (ROOT / "pyproject.toml").read_text(encoding="utf-8")
    assert f'version: "{gbdt_objectives.__version__}"' in recipe
    python = re.search(r'requires-python = ">=([\d.]+)"', project)
    assert python is not None
    assert f'python_min: "{python[1]}"' in recipe
    needed = re.search(r"^dependencies = \[(.*)\]$", project, re.M)
    run = re.search(r"  run:\n(.*?)  run_constraints", recipe, re.S)
    assert needed is not None
    assert run is not None
    listed = [name.replace(" ", "") for name in re.findall(r"- (\S+ >=[\d.]+)", run[1])]
    assert listed == re.findall(r'"(\S+)"', needed[1])
    for package in ("xgboost", "lightgbm", "click"):
        floor = re.search(rf'"{package}(>=[\d.]+)"', project)
        assert floor is not None
        assert f"{package} {floor[1]}" in recipe
    (script,) = re.findall(r"- (gbdt-objectives = .+)", recipe)
    assert script.replace(" = ", ' = "') + '"' in project
