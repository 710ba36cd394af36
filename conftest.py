"""Examples must not show what one version of a booster says on the side, and need their extras."""

import os
from importlib.metadata import version
from importlib.util import find_spec

os.environ.setdefault("OMP_NUM_THREADS", "1")  # before a booster is imported: -n has the cores

collect_ignore = [] if find_spec("jax") else ["gbdt_objectives/objectives/autodiff.py"]
collect_ignore += [] if find_spec("dask") else ["gbdt_objectives/distributed/dask"]


class Silent:
    def info(self, message: str) -> None: ...

    warning = info


if version("lightgbm").startswith("4.4."):  # talks under a custom objective, whatever verbosity=
    import lightgbm

    lightgbm.register_logger(Silent())
