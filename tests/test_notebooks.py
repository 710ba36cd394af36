"""The committed notebooks are what was run: in order, without errors or warnings, of public names.

``.ci/notebooks.py`` runs them and compares their outputs; these tests read them, and test it.
"""

from __future__ import annotations

import ast
import copy
import importlib
import importlib.util
import json
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
SPEC = importlib.util.spec_from_file_location("ci_notebooks", ROOT / ".ci/notebooks.py")
assert SPEC is not None
assert SPEC.loader is not None
ci = importlib.util.module_from_spec(SPEC)
SPEC.loader.exec_module(ci)

PATHS = sorted((ROOT / "notebooks").glob("*.ipynb"))
every_notebook = pytest.mark.parametrize("path", PATHS, ids=lambda path: path.stem)


def read(path: Path) -> dict:
    """As nbformat does: what is a list of lines in the file is one text."""
    notebook = json.loads(path.read_text())
    for cell in notebook["cells"]:
        cell["source"] = "".join(cell["source"])
    return notebook


def code(path: Path) -> list[str]:
    """The code cells, without IPython's magic lines."""
    cells = [cell["source"] for cell in read(path)["cells"] if cell["cell_type"] == "code"]
    return [re.sub(r"(?m)^(\s*)[%!].*$", r"\1pass", source) for source in cells]


@every_notebook
def test_it_was_run_in_order_without_errors_or_warnings(path) -> None:
    assert ci.complaints(read(path)) == []


@every_notebook
def test_it_shows_something_and_no_paths_or_addresses(path) -> None:
    cells = [cell for cell in read(path)["cells"] if cell["cell_type"] == "code"]
    shown = " ".join(ci.printed(cell) for cell in cells)
    assert len(shown) > 100
    assert not re.search(r"/(home|root|tmp|usr)/|site-packages", shown)
    assert path.stat().st_size < 1_000_000


def is_public(module: str, name: str) -> bool:
    """A name that a module lists, or a module without an underscore."""
    try:
        listed = getattr(importlib.import_module(module), "__all__", ())
        return name in listed or (
            not name.startswith("_") and importlib.util.find_spec(f"{module}.{name}") is not None
        )
    except ImportError:
        pytest.skip(f"{module} needs an extra")


def test_what_is_public() -> None:
    assert is_public("gbdt_objectives", "qwk_objective")
    assert is_public("gbdt_objectives.adapters", "xgboost")
    assert not is_public("gbdt_objectives", "_checks")
    assert not is_public("gbdt_objectives.thresholds.methods", "METHODS")


@every_notebook
def test_it_uses_public_names_only(path) -> None:
    for source in code(path):
        for node in ast.walk(ast.parse(source)):
            if isinstance(node, ast.Import):
                names = [alias.name for alias in node.names]
                assert not any(name.startswith("gbdt_objectives.") for name in names)
            if isinstance(node, ast.ImportFrom) and node.module.startswith("gbdt_objectives"):
                for alias in node.names:
                    assert is_public(node.module, alias.name), (node.module, alias.name)


@every_notebook
def test_its_first_cell_installs_once_from_the_clone_or_the_index(path) -> None:
    (first,) = [cell["source"] for cell in read(path)["cells"] if cell["cell_type"] == "code"][:1]
    expected = (
        "import importlib.util\nfrom pathlib import Path\n\n"
        'clone = Path("..")  # elsewhere: the folder of a clone; without one, the package index\n'
        'if importlib.util.find_spec("gbdt_objectives") is None:\n'
        '    source = clone if (clone / "pyproject.toml").exists() else "gbdt_objectives"\n'
        '    %pip install -q "{source}[EXTRAS]"'
    )
    assert re.sub(r"\[[a-z,]+\]", "[EXTRAS]", first) == expected


@every_notebook
def test_its_links_exist(path) -> None:
    text = "\n".join(c["source"] for c in read(path)["cells"] if c["cell_type"] == "markdown")
    for target in re.findall(r"\]\(([^)#]+?)(?:#[^)]*)?\)", text):
        assert "://" in target or (path.parent / target).exists(), target


def edited(text: str, count: int | None = 1, name: str = "stdout") -> dict:
    output = {"output_type": "stream", "name": name, "text": text}
    cell = {"cell_type": "code", "execution_count": count, "outputs": [output]}
    return {"cells": [{"cell_type": "markdown", "source": "# Title"}, cell]}


@pytest.mark.parametrize(
    ("found", "is_same"),
    [
        ("QWK  0.641, 1,234 rows\n", True),  # other spaces
        ("QWK 0.655, 1,340 rows", True),  # within .02, and within a tenth
        ("QWK 0.561, 1,234 rows", False),
        ("QWK 0.641, 1,434 rows", False),
        ("MAE 0.641, 1,234 rows", False),
        ("QWK 0.641, 1,234 rows, warned", False),
    ],
)
def test_outputs_are_compared(found: str, is_same: bool) -> None:
    committed = edited("QWK 0.641, 1,234 rows")
    assert (ci.differences(committed, edited(found)) == []) is is_same
    assert ci.differences(committed, copy.deepcopy(committed)) == []


def test_complaints() -> None:
    assert ci.complaints(edited("fine")) == []
    assert ci.complaints(edited("fine", count=2)) == ["code cell 1 was run as number 2"]
    assert ci.complaints(edited("fine", count=None)) == ["code cell 1 was run as number None"]
    assert ci.complaints(edited("careful", name="stderr")) == [
        "code cell 1 wrote to stderr: careful"
    ]
    failed = edited("")
    failed["cells"][1]["outputs"] = [{"output_type": "error", "ename": "E", "evalue": "why"}]
    assert ci.complaints(failed) == ["code cell 1 raised E: why"]


def test_noise_of_workers_is_dropped() -> None:
    rank = "[11:53:1{0}] Task [xgboost.dask-{0}]:inproc://1.2.3.4/5 got rank {0}\n"
    ranks = rank.format(0) + rank.format(1)
    noisy, warned = edited(ranks, name="stderr"), edited(ranks + "careful", name="stderr")
    for notebook in (noisy, warned):
        ci.drop_noise(notebook)
    assert ci.complaints(noisy) == []
    assert ci.complaints(warned) == ["code cell 1 wrote to stderr: careful"]


def test_addresses_do_not_count() -> None:
    committed, found = edited("<function f at 0x7fd47c0e8040>"), edited("<function f at 0x7a>")
    assert ci.differences(committed, found) == []
    assert ci.printed(edited("<Figure size 800x650>")["cells"][1]) == "<Figure size 800x650>"
