"""python -m tests.soak [PART...] [--quick]

Runs the parts, by default all, and writes what they found into tests/soak/results.json, each part
when it ends: what broke off is gone on with by naming the parts that are left. Exit 1 if a promise
is broken. --quick takes a minute and writes nothing. --table prints the tables of
tests/soak/README.md.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import subprocess
import sys
import time
from datetime import datetime, timezone
from importlib import import_module
from importlib.metadata import version
from typing import Any

from tests.soak.results import PARTS, PATH, details, read, summary

# before a booster is imported
os.environ.setdefault("OMP_NUM_THREADS", "1")
os.environ.setdefault("LOKY_MAX_CPU_COUNT", "2")

LIBRARIES = ("xgboost", "lightgbm", "scikit-learn", "numpy", "scipy", "distributed")


def main() -> int:
    parser = argparse.ArgumentParser(description="Long runs, many threads, killed workers")
    parser.add_argument("parts", metavar="PART", nargs="*", help=", ".join(PARTS))
    parser.add_argument("--quick", action="store_true", help="each part in seconds")
    parser.add_argument("--table", action="store_true", help="print the results as tables")
    asked = parser.parse_args()
    if unknown := set(asked.parts) - set(PARTS):
        parser.error(f"there is no part {sorted(unknown)}; there are {', '.join(PARTS)}")
    if asked.table:
        print(summary(read()), details(read()), sep="\n\n")
        return 0
    parts = asked.parts or PARTS
    if len(parts) == 1:
        return run(parts[0], asked.quick)
    option = ["--quick"] if asked.quick else []
    # each in a process of its own, whose memory tells of this part only
    ended = [
        subprocess.run([sys.executable, "-m", "tests.soak", part, *option]).returncode
        for part in parts
    ]
    return int(any(ended))


def run(part: str, quick: bool) -> int:
    began = time.monotonic()
    figures = []
    for figure in import_module(f"tests.soak.{part}").run(quick):
        print(f"{part}: {figure}", flush=True)
        figures.append(figure)
    seconds = time.monotonic() - began
    promised = [figure for figure in figures if figure.most is not None]
    broken = [figure for figure in promised if not figure.kept]
    print(
        f"{part}: {len(promised) - len(broken)} of {len(promised)} promises kept, {seconds:.0f} s",
        flush=True,
    )
    if not quick:
        found = {
            "date": datetime.now(timezone.utc).strftime("%Y-%m-%d"),
            "environment": environment(),
            "seconds": round(seconds),
            "figures": [
                {"what": f.what, "found": float(f"{f.found:.4g}"), "unit": f.unit, "most": f.most}
                for f in figures
            ],
        }
        PATH.write_text(json.dumps({**read(), part: found}, indent=1) + "\n", encoding="utf-8")
    return int(bool(broken))


def environment() -> dict[str, Any]:
    return {
        "python": platform.python_version(), "system": platform.system(),
        "machine": platform.machine(), "cores": os.cpu_count(),
        **{name: version(name) for name in LIBRARIES},
    }  # fmt: skip


if __name__ == "__main__":
    sys.exit(main())
