"""Execute the notebooks and compare what they print with the outputs that are committed.

``python .ci/notebooks.py [--write] [NOTEBOOK ...]``, from anywhere: fails on an error, on anything
that goes to stderr, as warnings do, and on outputs other than those committed. Words must be equal,
numbers within a tenth or .02, as other versions of the boosters train slightly other models.
Pictures are not compared. ``--write`` commits to what was found instead.
"""

from __future__ import annotations

import argparse
import os
import re
import sys
import time
from pathlib import Path
from typing import Any

FOLDER = Path(__file__).resolve().parents[1] / "notebooks"
ADDRESS = re.compile(r"\b0x[0-9a-f]+")
NUMBER = re.compile(r"\d[\d,]*(?:\.\d*)?(?:e[-+]?\d+)?")
RELATIVE, ABSOLUTE = 0.1, 0.02
NOISE = re.compile(r"^\[[\d:]+\] Task \[xgboost\.dask-\d+\].* got rank \d+\n?", re.MULTILINE)
"""What XGBoost tells each worker on stderr, whatever its verbosity."""


def printed(cell: dict[str, Any]) -> str:
    """What a code cell shows as text; a stream may have come in several parts."""
    parts = []
    for output in cell["outputs"]:
        shown = output.get("text") or output.get("data", {}).get("text/plain", "")
        parts.append("".join(shown))
    return ADDRESS.sub("0x", " ".join("".join(parts).split()))


def complaints(notebook: dict[str, Any]) -> list[str]:
    """Cells that failed, that were not run in order from the top, or that wrote to stderr."""
    found = []
    code = [cell for cell in notebook["cells"] if cell["cell_type"] == "code"]
    for k, cell in enumerate(code, 1):
        if cell["execution_count"] != k:
            found.append(f"code cell {k} was run as number {cell['execution_count']}")
        for output in cell["outputs"]:
            if output["output_type"] == "error":
                found.append(f"code cell {k} raised {output['ename']}: {output['evalue']}")
            if output.get("name") == "stderr":
                found.append(f"code cell {k} wrote to stderr: {''.join(output['text'])}")
    return found


def drop_noise(notebook: dict[str, Any]) -> None:
    """Take NOISE out of stderr, and outputs that are nothing else."""
    for cell in notebook["cells"]:
        for output in cell.get("outputs", []):
            if output.get("name") == "stderr":
                output["text"] = NOISE.sub("", output["text"]).strip("\n")
        if cell["cell_type"] == "code":
            cell["outputs"] = [o for o in cell["outputs"] if o.get("text") != ""]


def same(committed: str, found: str) -> bool:
    """Equal words, and numbers within the tolerance."""
    if NUMBER.sub("#", committed) != NUMBER.sub("#", found):
        return False
    pairs = zip(NUMBER.findall(committed), NUMBER.findall(found), strict=True)
    numbers = ((float(a.replace(",", "")), float(b.replace(",", ""))) for a, b in pairs)
    return all(abs(a - b) <= max(RELATIVE * abs(a), ABSOLUTE) for a, b in numbers)


def differences(committed: dict[str, Any], found: dict[str, Any]) -> list[str]:
    """Cells whose text is not the committed one; both notebooks have the same cells."""
    pairs = zip(committed["cells"], found["cells"], strict=True)
    texts = [(printed(a), printed(b)) for a, b in pairs if a["cell_type"] == "code"]
    return [
        f"code cell {k}: committed {a!r}, found {b!r}"
        for k, (a, b) in enumerate(texts, 1)
        if not same(a, b)
    ]


def main() -> int:
    import nbformat
    from nbclient import NotebookClient

    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("notebooks", nargs="*", type=Path, default=sorted(FOLDER.glob("*.ipynb")))
    parser.add_argument("--write", action="store_true", help="keep the outputs that were found")
    arguments = parser.parse_args()
    os.environ.pop("MPLBACKEND", None)  # kernels show pictures inline
    failed = False
    for path in arguments.notebooks:
        start = time.monotonic()
        committed = nbformat.read(path, as_version=4)
        notebook = nbformat.read(path, as_version=4)
        client = NotebookClient(
            notebook,
            timeout=1200,  # a deadline for what hangs
            allow_errors=True,
            record_timing=False,
            resources={"metadata": {"path": str(FOLDER)}},
        )
        client.execute()
        drop_noise(notebook)
        found = complaints(notebook)
        if arguments.write:
            notebook.metadata.language_info = {"name": "python"}  # without the version at hand
            nbformat.write(notebook, path)
        else:
            found += differences(committed, notebook)
        print(f"{path.name}: {time.monotonic() - start:.0f} s", *found, sep="\n  ", flush=True)
        failed |= bool(found)
    if failed and not arguments.write:
        print("if the new outputs are right, commit what .ci/notebooks.py --write makes")
    return int(failed)


if __name__ == "__main__":
    sys.exit(main())
