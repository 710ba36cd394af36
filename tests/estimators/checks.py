"""scikit-learn's own checks of an estimator."""

from __future__ import annotations

import re
import warnings
from collections.abc import Collection, Mapping
from contextlib import suppress
from typing import Any
from unittest import SkipTest

import pytest
import sklearn
from sklearn.utils import estimator_checks
from sklearn.utils.fixes import parse_version

COPIES = (
    "check_sample_weight_equivalence_on_dense_data",
    "check_sample_weight_equivalence_on_sparse_data",
)
TAGS = pytest.mark.skipif(
    parse_version(sklearn.__version__) < parse_version("1.6"),
    reason="check_estimator cannot be told of expected failures",
)


def check_all(estimator: Any, expected: Mapping[str, str] = {}) -> list[str]:
    """The names of those that ran: all but those that are expected to fail, each with a reason.
    ``check_estimator`` would run these, too, whatever comes of it."""
    return check_some(estimator, expected)


def check_some(estimator: Any, left_out: Collection[str], only: str = "") -> list[str]:
    """The names of those that ran: all whose name matches a pattern, less some."""
    ran = []
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for one, check in estimator_checks.estimator_checks_generator(estimator):
            name = getattr(check, "func", check).__name__
            if name not in left_out and re.search(only, name):
                with suppress(SkipTest):
                    check(one)
                    ran.append(name)
    return ran
