"""The fast tests of the maths as other processors would compute them: python .ci/processors.py

They are two other kernels of OpenBLAS, of those that this machine has, the second with numpy
without its wide loops. Then comes --last-bits, which stands for all other machines, on some of the
tests. Its seed is always the same, so that a change is red for what it changes; fresh ones are for
runs by hand (--last-bits=fresh). Each is printed. Any failure fails it.
"""

from __future__ import annotations

import os
import subprocess
import sys

ROOMS = (
    "objectives", "metrics", "thresholds", "priors", "calibration", "evaluation", "estimators",
    "experimental",
)  # fmt: skip
DISTURBED = ("objectives", "metrics", "thresholds", "experimental")
"""Those that run with disturbed last bits too, which takes four times as long."""

CORE_TYPES = ("Haswell", "SkylakeX", "Nehalem", "Sandybridge", "Prescott")
"""From the most to the least common; Zen has Haswell's."""

OF_BLAS = """
import numpy as np, threadpoolctl
np.ones((300, 300)) @ np.ones((300, 300))  # ends here where the machine has no such instructions
print(*{found["architecture"] for found in threadpoolctl.threadpool_info()
        if found["internal_api"] == "openblas"})
"""
OF_NUMPY = """
try:
    from numpy._core import _multiarray_umath as umath
except ImportError:  # numpy 1
    from numpy.core import _multiarray_umath as umath
print(*[name for name in umath.__cpu_dispatch__ if umath.__cpu_features__[name]])
"""


def asked(script: str, **environment: str) -> str:
    """What a process of this environment prints, "" if it fails."""
    found = subprocess.run(
        [sys.executable, "-c", script], env=os.environ | environment, capture_output=True, text=True
    )
    return found.stdout.strip() if found.returncode == 0 else ""


def others() -> list[tuple[str, dict[str, str]]]:
    """Other processors, and the environment in which this one is as they."""
    seen, found = {asked(OF_BLAS), ""}, []
    for name in CORE_TYPES:
        kernel = asked(OF_BLAS, OPENBLAS_CORETYPE=name)
        if kernel not in seen and len(found) < 2:
            seen.add(kernel)
            found.append((f"OpenBLAS of {kernel}", {"OPENBLAS_CORETYPE": name}))
    if wide := asked(OF_NUMPY):  # one run with both: what fails there is looked at by hand
        name, kernel = found.pop() if len(found) == 2 else ("", {})
        name = f"{name} and numpy without {wide}".removeprefix(" and ")
        found.append((name, kernel | {"NPY_DISABLE_CPU_FEATURES": wide}))
    return found


def main(arguments: list[str]) -> int:
    tests = arguments or [f"tests/{room}" for room in ROOMS]
    command = [
        sys.executable,
        "-m",
        "pytest",
        "-q",
        "-p",
        "no:cacheprovider",
        "-m",
        "not slow and not ci",
    ]
    failed = []
    print(f"this one: OpenBLAS of {asked(OF_BLAS) or 'another name'}", flush=True)
    runs = [(name, environment, []) for name, environment in others()]
    runs.append(("last bits", {}, ["--last-bits=179225"]))
    for name, environment, options in runs:
        if options and not arguments:
            tests = [f"tests/{room}" for room in DISTURBED]
        given = "".join(f'{key}="{value}" ' for key, value in environment.items())
        print(f"--- {name}: {given}pytest {' '.join([*options, *tests])}", flush=True)
        if subprocess.run([*command, *options, *tests], env=os.environ | environment).returncode:
            failed.append(name)
    if failed:
        print(f"failed: {', '.join(failed)}")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
