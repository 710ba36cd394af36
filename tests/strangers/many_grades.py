"""A guard that the package does not have: a warning of more than 100 grades under kappa.

It is this function, a row of ``WARNED`` in ``tests/checks/test_guards.py``, and a row of ``GUARDS``
in ``tests/matrix/guards.py``. ``tests/matrix/test_told_once.py`` shows that every door asks it.
"""

from __future__ import annotations

import numpy as np

from gbdt_objectives._checks import Training, to_host, warn

NEEDS = "loss", "rows"  # known in the first round, of every training


def grades_are_few(training: Training) -> None:
    """Kappa is for grades, of which there are not many."""
    if training.loss.name != "QWKObjective":
        return
    found = len(np.unique(to_host(training.rows.y)))
    if found > 100:
        warn(f"the labels have {found} values, more than grades have: train squared error instead")
