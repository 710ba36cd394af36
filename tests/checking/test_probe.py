"""The findings of a check print, pickle and raise."""

from __future__ import annotations

import contextlib
import pickle

import pytest

from gbdt_objectives import check_objective
from gbdt_objectives.checking import ObjectiveError
from gbdt_objectives.checking.probe import Failure, Skipped
from tests.checking.test_checks import logistic, logistic_loss, wrong_sign


def test_the_report_prints_and_pickles() -> None:
    report = check_objective(logistic, loss=logistic_loss)
    assert str(report).startswith("logistic: all checks passed\n  returned arrays")
    assert "<table>" in report._repr_html_()
    with pytest.raises(ObjectiveError) as raised:
        check_objective(wrong_sign, loss=logistic_loss)
    assert "3 of 17 checks failed" in str(raised.value)
    assert pickle.loads(pickle.dumps(raised.value.report)) == raised.value.report


@pytest.mark.parametrize("kind", [Failure, Skipped])
def test_what_a_check_raises_can_be_raised_again(kind) -> None:
    """A frozen exception cannot: a context manager on its way sets its traceback."""

    @contextlib.contextmanager
    def passing_on():
        yield

    with pytest.raises(kind, match="why"), passing_on():
        raise kind("why")
