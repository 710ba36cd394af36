"""A bill of materials of a wheel: what its extras install, as CycloneDX.

``python .ci/bom.py dist/*.whl dist/bom.cdx.json`` makes two environments of its own, one for the
wheel and one for cyclonedx-py, so it needs pip and nothing else. The file names packages, their
versions, licences and who needs whom. It has no links and no paths.
"""

from __future__ import annotations

import json
import re
import subprocess
import sys
import tempfile
import venv
from pathlib import Path
from typing import Any

EXTRAS = "all,array-api,autodiff,catboost,cli,dask,onnx,plot"
TOOL = "cyclonedx-bom>=7.5,<8"
PLACES = re.compile(r"\w+://|[\"@](?:/|~/|[A-Z]:\\)|localhost|site-packages")
"""What a path, an address or the name of a machine would bring in."""


def environment(folder: Path, *requirements: str) -> Path:
    venv.create(folder, with_pip=True)
    python = folder / ("Scripts" if sys.platform == "win32" else "bin") / "python"
    subprocess.run([python, "-m", "pip", "install", "--quiet", *requirements], check=True)
    return python


def without_links(value: Any) -> Any:
    """The bill without addresses, the packages' own ones too."""
    if isinstance(value, dict):
        left_out = ("externalReferences", "$schema", "tools", "description", "properties")
        return {k: without_links(v) for k, v in value.items() if k not in left_out}
    return [without_links(item) for item in value] if isinstance(value, list) else value


def bill(wheel: Path, folder: Path) -> dict[str, Any]:
    target = environment(folder / "target", f"{wheel.resolve()}[{EXTRAS}]")
    subprocess.run([target, "-m", "pip", "uninstall", "--quiet", "--yes", "setuptools"], check=True)
    command = [environment(folder / "tool", TOOL), "-m", "cyclonedx_py", "environment"]
    project = Path(__file__).parents[1] / "pyproject.toml"
    options = ["--short-PURLs", "--output-reproducible", "--mc-type", "library"]
    done = subprocess.run(
        [*command, *options, "--pyproject", project, target], check=True, capture_output=True
    )
    found: dict[str, Any] = without_links(json.loads(done.stdout))
    version = wheel.name.split("-")[1]
    found["metadata"]["component"] |= {
        "version": version, "purl": f"pkg:pypi/gbdt-objectives@{version}"
    }  # fmt: skip
    return found


def main(wheel: str, output: str) -> None:
    with tempfile.TemporaryDirectory() as folder:
        text = json.dumps(bill(Path(wheel), Path(folder)), indent=1) + "\n"
    named = {component["name"] for component in json.loads(text)["components"]}
    missing = {"numpy", "scipy", "scikit-learn", "xgboost", "lightgbm", "dask", "onnx"} - named
    places = PLACES.findall(text)
    if missing or places:
        sys.exit(f"no bill of materials: it lacks {sorted(missing)}, and holds {places[:5]}")
    Path(output).write_text(text, encoding="utf-8")
    print(f"{output}: {len(named)} packages")


if __name__ == "__main__":
    main(*sys.argv[1:])
