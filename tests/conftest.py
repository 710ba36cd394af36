"""Small data sets on which both boosters really train."""

from __future__ import annotations

import os
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import pytest

# Before the boosters are imported: xdist gives each core a process already, and threads of several
# processes that wait for each other in a spin cost a quarter of all processor time.
os.environ.setdefault("OMP_NUM_THREADS", "1")

if find_spec("hypothesis"):  # not where the engines are tested
    from hypothesis import settings

    # The machine may be busy: no deadline. Every run tries the same examples, unless it is asked
    # for more and other ones, by --hypothesis-profile=thorough.
    settings.register_profile("same", max_examples=50, deadline=None, derandomize=True)
    settings.register_profile("thorough", max_examples=1000, deadline=None, print_blob=True)
    settings.load_profile("same")

SLOW = (
    "adapters/test_class_probability.py",
    "adapters/test_conversion.py",
    "adapters/test_imbalance.py",
    "adapters/test_import_line.py",
    "adapters/test_intercept.py",
    "adapters/test_parameters.py",
    "adapters/test_scores.py",
    "calibration/test_error_test.py",
    "calibration/test_hull.py",
    "calibration/test_refinement.py",
    "distributed",
    "engines",
    "gbdt_objectives/distributed/dask",
    "matrix/test_dask.py",
    "matrix/test_engines.py",
    "estimators/test_calibrated_classifier.py",
    "estimators/test_downsampled_classifier.py",
    "estimators/test_qwk_classifier.py",
    "estimators/test_venn_abers_calibrator.py",
    "experiments",
    "objectives/test_added.py",
    "objectives/test_autodiff.py",
    "objectives/test_kappa.py",
    "objectives/test_same_model.py",
    "plotting",
    "priors/test_estimate.py",
    "test_command_line.py",
    "test_readme.py",
    "test_workers.py",
    "test_wrapped_objective.py",
    "thresholds/test_exact.py",
)
"""Folders and files that the inner loop, pytest -m "not slow", leaves out; it is to stay below two
minutes on two cores."""


SLOW_CASES = ("check_estimator", "check_four_interfaces", "jax", "user-loss")
"""What the names of other tests that it leaves out hold."""


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        place = item.path.relative_to(Path(__file__).parents[1]).as_posix().removeprefix("tests/")
        if place.startswith(SLOW) or any(case in item.name for case in SLOW_CASES):
            item.add_marker(pytest.mark.slow)


@pytest.fixture(scope="session")
def ordinal() -> tuple[np.ndarray, ...]:
    """X, integer labels 1..4 and weights: 600 rows that a small model can learn."""
    rng = np.random.default_rng(3)
    X = rng.random((600, 4))
    y = np.digitize(X[:, :2].sum(1) + 0.2 * rng.normal(size=600), [0.7, 1.0, 1.3]) + 1
    return shared(X, y, rng.integers(1, 4, 600).astype(float))


@pytest.fixture(scope="session")
def rare() -> tuple[np.ndarray, ...]:
    """X, labels 0 and 1 (about one in eight positive) and weights."""
    rng = np.random.default_rng(4)
    X = rng.random((800, 4))
    y = (rng.random(800) < 1 / (1 + np.exp(-8 * (X[:, 0] - 0.85)))).astype(int)
    return shared(X, y, rng.integers(1, 4, 800).astype(float))


def shared(*arrays: np.ndarray) -> tuple[np.ndarray, ...]:
    """Arrays of the whole session, which no test may write into."""
    for array in arrays:
        array.flags.writeable = False
    return arrays
