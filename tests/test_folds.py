"""Splits that cannot be those of some rows are refused."""

from __future__ import annotations

import numpy as np
import pytest

from gbdt_objectives import cross_validate_thresholds
from gbdt_objectives._checks.tables import held_out_once
from tests.cases import refused


def test_splits_given_as_masks_are_refused():
    y = np.arange(6) % 2
    mask = np.arange(6) < 3
    with pytest.raises(ValueError, match="splits as masks: give row numbers"):
        cross_validate_thresholds(y, y + 0.1, cv=[(mask, ~mask), (~mask, mask)])


@refused(
    ([([-3, -2, -1], [3, 4, 5]), ([3, 4, 5], [0, 1, 2])], "row numbers outside 0 to 5"),
    ([([0, 1, 2], [3, 4, 6]), ([3, 4, 5], [0, 1, 2])], "row numbers outside 0 to 5"),
    ([([0, 1], [2, 3, 4, 5]), ([2, 3], [0, 1]), ([0, 1], [])], "holds out no row"),
)
def test_unusable_row_numbers_are_refused(splits) -> None:
    y = np.arange(6) % 2
    cv = [tuple(np.array(part, int) for part in split) for split in splits]
    cross_validate_thresholds(y, y + 0.1, cv=cv)


def test_more_folds_than_rows_of_any_class() -> None:
    y = np.array([0, 0, 0, 1, 1])
    for group in (None, np.arange(5)):
        with pytest.raises(ValueError, match="^cv = 4 folds need at least 4 rows of a class"):
            held_out_once(y, 4, group, random_state=0)
        assert len(held_out_once(y, 3, group, random_state=0)) == 3
