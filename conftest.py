"""Examples must not show what one version of a booster says on the side, and need their extras."""

import os
from importlib.metadata import version
from importlib.util import find_spec
from typing import Any

# Before a booster is imported: -n has the cores, and threads that wait for each other shall sleep.
# LightGBM's estimators start as many as there are cores whatever OMP_NUM_THREADS says.
os.environ.setdefault("OMP_NUM_THREADS", "1")
os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")

EXTRAS = {
    "click": "gbdt_objectives/_command_line/commands.py",
    "dask": "gbdt_objectives/distributed/dask",
    "jax": "gbdt_objectives/objectives/autodiff.py",
    "pyspark": "gbdt_objectives/distributed/spark.py",
}
collect_ignore = [path for extra, path in EXTRAS.items() if not find_spec(extra)]


class Silent:
    def info(self, message: str) -> None: ...

    warning = info


if version("lightgbm").startswith(
    ("4.2.", "4.3.", "4.4.")
):  # talks under a custom objective, whatever verbosity=
    import lightgbm

    lightgbm.register_logger(Silent())


def pytest_configure(config: Any) -> None:
    """With -n, tests of a group run in one process, which alone starts what they share."""
    if getattr(config.option, "dist", "no") == "load":
        config.option.dist = "loadgroup"
