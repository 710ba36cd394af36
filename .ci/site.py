"""Add this version's site to a folder of all versions: ``python .ci/site.py FOLDER ADDRESS``.

ADDRESS is where FOLDER will be served. Each version has a folder of its own in it; the menu of
versions in the head of every page, old ones too, reads ``versions.json``, and ``index.html`` leads
to the newest release, or to the newest candidate while there is no release.
"""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

from packaging.version import InvalidVersion, Version

ROOT = Path(__file__).parent.parent


def menu(folders: list[str], address: str) -> list[dict[str, Any]]:
    """What the theme's version switcher reads, the newest version first."""
    versions = []
    for name in folders:
        try:
            versions.append(Version(name))
        except InvalidVersion:  # not a site of ours
            continue
    versions.sort(reverse=True)
    best = next((v for v in versions if not v.is_prerelease), versions[0])
    return [
        {
            "version": str(v),
            "name": f"{v} (newest)" if v == best else str(v),
            "url": f"{address.rstrip('/')}/{v}/",
            "preferred": v == best,
        }
        for v in versions
    ]


def main(folder: Path, address: str) -> None:
    from gbdt_objectives import __version__

    folder.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as work:
        build = [sys.executable, "-m", "sphinx", "--fail-on-warning", "--quiet", "-t", "versions"]
        subprocess.run([*build, "-d", f"{work}/doctrees", "-c", "docs", ".", f"{work}/site"],
                       cwd=ROOT, check=True)  # fmt: skip
        shutil.rmtree(folder / __version__, ignore_errors=True)
        shutil.copytree(f"{work}/site", folder / __version__)
    versions = menu([path.name for path in folder.iterdir() if path.is_dir()], address)
    (folder / "versions.json").write_text(json.dumps(versions, indent=1) + "\n", encoding="utf-8")
    best = next(entry["version"] for entry in versions if entry["preferred"])
    page = (ROOT / "docs/_root/index.html").read_text(encoding="utf-8")
    (folder / "index.html").write_text(
        page.replace("docs/index.html", f"{best}/docs/index.html"), encoding="utf-8"
    )


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2])
