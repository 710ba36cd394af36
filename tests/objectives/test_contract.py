"""Every objective of the table in tests/contract.py keeps the contract."""

from __future__ import annotations

from collections.abc import Callable

import lightgbm as lgb
import numpy as np
import pytest
import xgboost as xgb
from sklearn.model_selection import GridSearchCV

import gbdt_objectives as go
from gbdt_objectives.objectives import Loss
from tests.contract import OBJECTIVES, OPTIONS, ObjectiveCase, without_row
from tests.objectives import checks

pytestmark = pytest.mark.filterwarnings("ignore:boosting starts at")


OF_EQUATIONS = [check for check in checks.CHECKS if check not in checks.OF_TRAINING]


def test_every_loss_has_a_row() -> None:
    missing = without_row(Loss, "objectives", [case.objective.equations for case in OBJECTIVES])
    assert not missing, f"OBJECTIVES in tests/contract.py has no row of {', '.join(missing)}"


@pytest.mark.parametrize("case", [checks.marked(case) for case in OBJECTIVES])
def test_equations_keep_the_contract(case: ObjectiveCase) -> None:
    for check in OF_EQUATIONS:
        check(case)


# any metric serves
@pytest.mark.filterwarnings("ignore:metric 'squared_error' takes scores in label units")
@pytest.mark.parametrize(
    ("check", "case"),
    [
        checks.cell(check, case)
        for check in checks.OF_TRAINING
        for case in OBJECTIVES
        if case.name not in OPTIONS
    ],
)
def test_training_keeps_the_contract(
    check: Callable[[ObjectiveCase], None], case: ObjectiveCase
) -> None:
    check(case)


@pytest.mark.slow
@pytest.mark.parametrize(
    "case", [case for case in OBJECTIVES if case.name in ("qwk", "weighted-logloss")], ids=repr
)
def test_bound_to_more_than_one_block_of_its_real_size(case: ObjectiveCase, monkeypatch) -> None:
    """Of the two losses that write into given memory."""
    monkeypatch.setattr(checks, "LONG", 300_000)
    checks.check_bound_to_its_data_it_is_the_same.__wrapped__(case)


def test_objectives_of_the_table_differ() -> None:
    distinct = {case.objective for case in OBJECTIVES}
    assert len(distinct) == len(OBJECTIVES)


@pytest.mark.slow
@pytest.mark.xdist_group("two_processes")
def test_grid_search_over_objectives_in_two_processes(ordinal) -> None:
    X, y, _ = ordinal
    objectives = [
        go.qwk_objective(y, scale="residual"),
        go.qwk_objective(y, scale="kappa"),
        go.qwk_objective(y, clip=False),
    ]
    for estimator in (
        xgb.XGBRegressor(n_estimators=8, n_jobs=1),
        lgb.LGBMRegressor(n_estimators=8, n_jobs=1, verbose=-1),
    ):
        search = GridSearchCV(estimator, {"objective": objectives}, n_jobs=2, cv=2)
        search.fit(X, y)
        assert search.best_params_["objective"] in objectives
        assert np.isfinite(search.cv_results_["mean_test_score"]).all()
