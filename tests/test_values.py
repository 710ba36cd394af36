"""objective(function, rows=...): values of the training rows as part of a value."""

from __future__ import annotations

import pickle
import re

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, strategies as st

import gbdt_objectives as go
from gbdt_objectives._rows.rows import RowValues
from gbdt_objectives.objectives.function import FunctionLoss
from gbdt_objectives.objectives.loss import read_row_values
from tests.cases import refusals_of

COST = np.array([1.0, 2.0, 4.0, 0.5])


def costly(y_true, margin, sample_weight, cost):
    w = cost if sample_weight is None else cost * sample_weight
    return w * (margin - y_true), w


def costly_loss(y_true, margin, sample_weight, cost):
    gradient, _ = costly(y_true, margin, sample_weight, cost)
    return float((gradient * (margin - y_true)).sum() / 2)


OBJ = go.objective(costly, loss=costly_loss, rows={"cost": COST})


def test_they_reach_function_and_loss() -> None:
    y, f = np.arange(4.0), np.zeros(4)
    np.testing.assert_array_equal(OBJ.gradient_hessian(y, f), (-COST * y, COST))
    assert OBJ.loss(y, f) == (COST * y**2).sum() / 2
    assert OBJ.rows == 4
    assert go.objective(costly, rows=["cost"]).rows is None
    assert go.objective(costly, rows=["cost"]).with_rows({"cost": COST}) == go.objective(
        costly, rows={"cost": COST}
    )


def test_a_copy_that_nobody_writes_into() -> None:
    own = COST.copy()
    obj = go.objective(costly, rows={"cost": own})
    own[:] = 7
    np.testing.assert_array_equal(obj(np.zeros(4), np.zeros(4))[1], COST)
    np.testing.assert_array_equal(pickle.loads(pickle.dumps(obj))(COST, COST)[1], COST)

    def writes(y_true, margin, sample_weight, cost):
        cost *= 2
        return cost, cost

    for obj in (go.objective(writes, rows={"cost": COST}), pickle_rows(writes)):
        with pytest.raises(ValueError, match="read-only"):
            obj(np.zeros(4), np.zeros(4))


def pickle_rows(function):
    """An objective whose values were unpickled, where numpy forgets that they are read-only."""
    rows = pickle.loads(pickle.dumps(RowValues(COST)))
    return go.Objective(FunctionLoss(function=function, named=(("cost", rows),)))


@given(st.integers(1, 9), st.lists(st.integers(0, 8), min_size=1), st.sampled_from([(), (2,)]))
def test_taking_rows(n, positions, shape) -> None:
    values = np.random.default_rng(n).integers(0, 3, (n, *shape)).astype(float)
    at = np.array(positions) % n
    taken = RowValues(values).take(at)
    np.testing.assert_array_equal(taken.values, values[at])
    assert taken == RowValues(values[at])
    assert hash(taken) == hash(RowValues(values[at]))
    assert (taken == RowValues(values)) == np.array_equal(values[at], values)


def test_an_objective_of_some_of_its_rows() -> None:
    taken = OBJ.take([3, 1, 1])
    assert taken == go.objective(costly, loss=costly_loss, rows={"cost": COST[[3, 1, 1]]})
    for obj in (go.qwk_objective(), go.objective(costly, rows=["cost"]),
                go.offset_logloss_objective(0.5)):  # fmt: skip
        assert obj.take([3, 1]) == obj
    rates = np.array([0.5, 0.1, 0.2])
    assert go.offset_logloss_objective(rates).take([2, 0]) == go.offset_logloss_objective(
        rates[[2, 0]]
    )
    for positions, error, message in (
        ([4], ValueError, "positions must be from 0 to 3, .* found 4 to 4"),
        ([-1, 0], ValueError, "positions must be from 0 to 3"),
        ([True, False], TypeError, r"numpy\.flatnonzero\(mask\) for a mask"),
        ([], TypeError, "at least one"),
        ([0.0], TypeError, "positions must be whole numbers"),
        (2, TypeError, "positions must be whole numbers"),
    ):
        with pytest.raises(error, match=message):
            OBJ.take(positions)


def test_values_of_any_number_type() -> None:
    for values, dtype in (
        ([1, 2], np.int64),
        ([True, False], np.bool_),
        (np.array([1, 2], np.uint8), np.uint8),
        (np.array([1, 2], ">i4"), np.int32),
        (np.array([1, 2], ">f8"), np.float64),
        (np.array([1, 2], np.float32), np.float32),
        (np.array([1, 2], np.float16), np.float64),
        (pd.Series([1.5, 2]), np.float64),
        (pd.DataFrame({"a": [1, 2], "b": [1.5, 2]}), np.float64),
    ):
        found = read_row_values("cost", values).values
        assert found.dtype == dtype
        assert found.dtype.isnative
        np.testing.assert_array_equal(found, np.asarray(values))
    ints, floats = RowValues(np.array([1, 2])), RowValues(np.array([1.0, 2.0]))
    assert ints != floats  # a function may index by the first
    assert ints != "cost"
    assert repr(ints) == "RowValues(2 rows, 1 to 2)"


test_bad_rows = refusals_of(
    lambda rows: go.objective(costly, rows=rows),
    ({"cost": ["a", "b"]}, "cost must hold numbers, .* encode groups as whole numb", TypeError),
    ({"cost": pd.Series(["a"], dtype="category")}, "encode groups", TypeError),
    ({"cost": [1, None]}, "cost must hold numbers, found dtype object", TypeError),
    ({"cost": np.array(["2020-01-01"], "M8[D]")}, "cost must hold numbers", TypeError),
    ({"cost": [1j]}, "cost must hold numbers", TypeError),
    ({"cost": [1, np.nan]}, "cost must be finite, found nan at row 1"),
    ({"cost": [[1, 2], [3, np.inf]]}, "cost must be finite, found inf at row 1"),
    ({"cost": 3}, r"cost must be an array with values for each row, .* \(\)"),
    ({"cost": []}, r"values for each row, found shape \(0,\)"),
    ({"cost": np.ma.array([1, 2], mask=[0, 1])}, "cost is a masked array", TypeError),
    ({"price": COST}, r"function must take .*weight, price\), found .*missing", TypeError),
    ({"cost": COST, "more": COST}, "unexpected keyword argument 'more'", TypeError),
    ({"y_true": COST}, "multiple values for argument 'y_true'", TypeError),
    ({}, "rows must be a dict of arrays", TypeError),
    ([], "rows must be a dict of arrays", TypeError),
    ("cost", r"or a list of names, \[\"cost\"\], found 'cost'", TypeError),
    (pd.DataFrame({"cost": COST}), r"dict\(frame\) for a DataFrame", TypeError),
    ([COST], "rows must be a dict of arrays", TypeError),
    ({0: COST}, "rows must be a dict of arrays", TypeError),
    (["cost", "cost"], "the names in rows must differ"),
)


def test_rows_that_do_not_fit() -> None:
    def two(y_true, margin, sample_weight, *, cost, group):
        return margin, margin

    with pytest.raises(ValueError, match="for the same rows, found cost for 4, group for 3"):
        go.objective(two, rows={"cost": COST, "group": COST[:3]})
    with pytest.raises(TypeError, match=r"missing a required .*'cost'.*is named in rows={\"cost\""):
        go.objective(costly)
    with pytest.raises(TypeError, match="missing a required .*argument: 'cost'"):
        go.objective(two, rows={"group": COST})
    with pytest.raises(
        TypeError, match=re.escape("loss must take (y_true, margin, sample_weight, c")
    ):
        go.objective(costly, loss=lambda y, f, w: 0.0, rows={"cost": COST})
    for call in (OBJ, OBJ.gradient_hessian, OBJ.loss, lambda y, f: OBJ.bind(y)(f)):
        with pytest.raises(ValueError, match="y_true has 3 rows, but cost has 4"):
            call(np.zeros(3), np.zeros(3))
    with pytest.raises(ValueError, match="y_true has 3 rows, but cost has 4"):
        OBJ.measured(np.zeros(3))


def wrong_hessian(y_true, margin, sample_weight, cost):
    gradient, hessian = costly(y_true, margin, sample_weight, cost)
    return gradient, 2 * hessian


def without_weight(y_true, margin, sample_weight, cost):
    return costly(y_true, margin, None, cost)


def of_the_first_rows(y_true, margin, sample_weight, cost):
    return costly(y_true, margin, sample_weight, np.sort(cost))


@pytest.mark.slow
@pytest.mark.parametrize("y", [np.random.default_rng(1).normal(size=200), None])
def test_the_checker_finds_defects(y) -> None:
    rows = {"cost": np.random.default_rng(0).uniform(1, 5, 200)}
    go.check_objective(go.objective(costly, loss=costly_loss, rows=rows), y)
    for function, failed in (
        (wrong_hessian, "hessian"),
        (without_weight, "weights"),
        (of_the_first_rows, "order of rows"),
    ):
        obj = go.objective(function, loss=costly_loss, rows=rows)
        with pytest.raises(ValueError, match="checks failed") as refusal:
            go.check_objective(obj, y)
        findings = refusal.value.report.findings
        assert failed in [f.check for f in findings if f.status == "FAILED"]


def of_the_label(y_true, margin, sample_weight, of):
    assert (y_true == of).all()
    return margin - y_true, np.ones_like(margin)


def test_the_checker_keeps_labels_with_their_rows() -> None:
    y = np.random.default_rng(0).permutation(np.resize(np.arange(40.0), 1000))
    y[y < 39] = 0  # one label in forty
    report = None
    try:
        go.check_objective(go.objective(of_the_label, rows={"of": y}), y)
    except ValueError as error:
        report = error.report
    assert report is not None  # it ignores weights, with which it is not measured, and no more
    failed = [f.check for f in report.findings if f.status == "FAILED"]
    assert failed == ["weights", "intercept"]
    few = go.objective(costly, loss=costly_loss, rows={"cost": COST})
    assert go.check_objective(few, np.arange(4.0)).passed  # fewer than are tried


def wrong_for_1(y_true, margin, sample_weight, cost):
    gradient, hessian = costly(y_true, margin, sample_weight, cost)
    return np.where(y_true == 1, -gradient, gradient), hessian


def test_the_checker_tries_rare_labels() -> None:
    y = (np.arange(5000) == 1234).astype(float)
    obj = go.objective(wrong_for_1, loss=costly_loss, rows={"cost": np.ones(5000)})
    with pytest.raises(ValueError, match=r"gradient .*FAILED"):
        go.check_objective(obj, y)


def test_what_the_checker_cannot_try() -> None:
    with pytest.raises(ValueError, match="y_true has 3 rows, but cost has 4"):
        go.check_objective(OBJ, np.zeros(3))
    with pytest.raises(ValueError, match=r"give it to objective\(function, loss=loss, rows=\.\.\."):
        go.check_objective(OBJ, np.arange(4.0), loss=costly_loss)
    with pytest.raises(ValueError, match="costly needs cost of each row"):
        go.check_objective(go.objective(costly, rows=["cost"]))
