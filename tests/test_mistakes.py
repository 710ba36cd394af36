"""A room guards all that it exports: no function asks for it, and nothing else of them changes."""

from __future__ import annotations

import ast
import copy
import gc
import inspect
import pickle
import re
import sys
import warnings
from collections.abc import Callable, Iterator
from functools import partial
from importlib import import_module
from types import FunctionType, ModuleType
from typing import Any

import numpy as np
import pandas as pd
import pytest

import gbdt_objectives as go
from gbdt_objectives._mistakes import GUARDED, order_of, room
from gbdt_objectives._names import ARGUMENTS, ROOMS
from gbdt_objectives.adapters import lightgbm, xgboost
from gbdt_objectives.objectives import kappa_objective
from tests.cases import each

INSIDE = """
def _judge(y):
    if not set(map(float, y)) <= {0, 1, 2}:
        raise ValueError("labels must be 0 to 2.")
    return "fine"

def judge(y_true, score):
    return _judge(y_true)

def price(cost):
    return cost

class Judge:
    def __init__(self, cost=1):
        self.cost = cost

    @classmethod
    def of(cls, y, X):
        return _judge(y)

    @staticmethod
    def at(score, y_true):
        return judge(y_true, score)

    def fit(self, X, y):
        return _judge(y)

    def _fit(self, X, y):
        return _judge(y)
"""

Y, SCORE = [0, 1, 2], [0.5, 1.5, 2.5]


@pytest.fixture
def new(monkeypatch) -> ModuleType:
    """A module that took a function before the room that exports it was loaded."""
    name = "gbdt_objectives.new"
    modules = {key: ModuleType(key) for key in (name, f"{name}.inside", f"{name}.sibling")}
    for key, module in modules.items():
        monkeypatch.setitem(sys.modules, key, module)
    this_room, inside, sibling = modules.values()
    exec(INSIDE, vars(inside))
    for module in (this_room, sibling):
        vars(module).update({key: vars(inside)[key] for key in ("judge", "price", "Judge")})
    rows = {"*": {"weights": "sample_weight", "cost": "fee"}, "judge": {"labels": "y_true"},
            "Judge.fit": {"target": "say y"}}  # fmt: skip
    for key, remedies in rows.items():
        monkeypatch.setitem(ARGUMENTS, key, remedies)
    room(name, ["judge", "price", "Judge"])
    assert this_room.judge is inside.judge is sibling.judge
    return sibling


def test_labels_and_others_are_in_order_without_a_decorator(new) -> None:
    for function, first, second in (
        (partial(new.judge), "y_true", "score"),
        (new.Judge.of, "y", "X"),
        (new.Judge().fit, "X", "y"),
    ):
        right = {first: Y, second: SCORE} if first[0] == "y" else {first: SCORE, second: Y}
        one, two = right.values()
        assert function(one, two) == function(**right) == "fine"
        swapped = rf"^labels must be 0 to 2; are they swapped\? {first} comes before {second}$"
        with pytest.raises(ValueError, match=swapped):
            function(two, one)
        with pytest.raises(ValueError, match=f"^{first} and {second} have the same index"):
            function(pd.Series(one), pd.Series(two, index=[2, 1, 0]))
        with pytest.raises(ValueError, match="0 to 2.$"):  # not swapped
            function(**right | {"y" if "y" in right else "y_true": [3, 4, 5]})
    with pytest.raises(ValueError, match=r"^labels must be 0 to 2; are they swapped\? .* score$"):
        new.Judge.at(Y, SCORE)  # said once, where it was found


def test_remedies_are_those_of_the_table(new) -> None:
    for call, said in (
        (partial(new.judge, labels=Y), "judge has no argument 'labels': write y_true="),
        (partial(new.judge, weights=Y), "judge has no argument 'weights': write sample_weight="),
        (partial(new.Judge().fit, target=Y), "Judge.fit has no argument 'target': say y"),
        (partial(new.Judge, weights=Y), "Judge has no argument 'weights': write sample_weight="),
    ):
        with pytest.raises(TypeError, match=f"^{said}$"):
            call()
    assert new.price(cost=2) == new.Judge(cost=2).cost == 2  # their own
    assert new.Judge._fit not in GUARDED


def public() -> Iterator[tuple[ModuleType, str, Any]]:
    for name in ROOMS:
        module = import_module(f"gbdt_objectives.{name}")
        for key in set(module.__all__) & set(vars(module)):
            yield module, key, vars(module)[key]


def callables() -> Iterator[Any]:
    """Exported functions, and methods of exported classes that are written here."""
    for _, _, thing in public():
        if isinstance(thing, type):
            for name in dir(thing):
                member = inspect.getattr_static(thing, name)
                member = getattr(member, "__func__", member)
                is_ours = str(getattr(member, "__module__", "")).startswith("gbdt_objectives.")
                if (name[0] != "_" or name in ("__init__", "__call__")) and is_ours:
                    yield member
        else:
            yield thing


def test_all_that_takes_labels_and_others_is_in_order() -> None:
    found = [f for f in callables() if isinstance(f, FunctionType)
             and order_of(list(inspect.signature(f).parameters))]  # fmt: skip
    assert len(found) > 40
    assert not {f.__qualname__ for f in found if f not in GUARDED}


_ROWS = np.random.default_rng(0)
FRAME = pd.DataFrame(_ROWS.random((200, 2)), columns=["a", "b"])
LABELS = pd.Series((FRAME.a + _ROWS.normal(0, 0.1, 200) > 0.5).astype(int))
TURNED = _ROWS.permutation(200)
P = FRAME.a.clip(0.01, 0.99)


def turned(column: Any) -> Any:
    return column.iloc[TURNED]


MATCHED: dict[str, Callable[[], Any]] = {
    "fit": lambda: xgboost.XGBRegressor(n_estimators=2).fit(FRAME, turned(LABELS)),
    "fit, weights": lambda: lightgbm.LGBMClassifier().fit(FRAME, LABELS, turned(FRAME.a)),
    "fit, evaluation set": lambda: lightgbm.LGBMRegressor().fit(
        FRAME, LABELS, eval_set=[(FRAME, LABELS), (FRAME, turned(LABELS))]),
    "score": lambda: go.ThresholdClassifier().fit(P, LABELS).score(P, turned(LABELS)),
    "score, weights": lambda: go.ThresholdClassifier().fit(P, LABELS).score(
        P, LABELS, sample_weight=turned(P)),
    "segments by name": lambda: go.calibration.calibration_ratio_by_segment(
        LABELS, P, {"s": turned(LABELS)}),
    "segments": lambda: go.calibration.SegmentStatistics.of(LABELS, P, turned(LABELS)),
    "sampling by key": lambda: go.priors.negative_downsample_by_key(
        LABELS, turned(pd.Series(range(200))), 0.3),
    "a pair": lambda: go.priors.estimate_prior(P, out_of_fold=(LABELS, turned(P))),
    "a metric": lambda: go.quadratic_weighted_kappa(LABELS, turned(LABELS)),
}  # fmt: skip


@each("door", list(MATCHED))
def test_rows_of_pandas_are_matched_by_position_at_no_door(door: str) -> None:
    with pytest.raises(ValueError, match=r"the same index in another order, .*pass .*\.loc\["):
        MATCHED[door]()


COLUMNS = pd.DataFrame({"p_good": 1 - P, "p_bad": P})
SWITCHED = COLUMNS.set_axis([1, 0], axis=1)
WORDS = np.where(LABELS == 1, "bad", "good")
TWO = ["bad", "good"]
COSTS = pd.DataFrame([[0, 1], [5, 0]], index=TWO[::-1], columns=TWO[::-1])

NAMED: dict[str, tuple[Callable[[Any], Any], Any]] = {
    "entropy": (lambda P: go.calibration.normalized_entropy(WORDS, P, labels=TWO), COLUMNS),
    "Brier score": (lambda P: go.calibration.brier_score(LABELS, P), SWITCHED),
    "refinement": (lambda P: go.calibration.calibration_refinement(LABELS, P), SWITCHED),
    "rates by class": (lambda P: go.correct_probability(
        P, class_keep_rates={"good": 0.1, "bad": 1}), COLUMNS),
    "a rate": (lambda P: go.priors.correct_margin(P, negative_keep_rate=0.1), SWITCHED),
    "a decision": (lambda P: go.decide(P), SWITCHED),
    "a decision of a range": (lambda P: go.decide(P, go.qwk_metric((3, 4))),
                              COLUMNS.set_axis([4, 3], axis=1)),
    "a metric": (lambda P: go.metrics.class_logloss_metric(input_space="probability")(LABELS, P),
                 SWITCHED),
    "fit": (lambda P: go.estimators.TemperatureCalibrator(labels=TWO).fit(P, WORDS), COLUMNS),
    "predict": (lambda P: go.estimators.TemperatureCalibrator().fit(
        COLUMNS.to_numpy(), LABELS).predict(P), SWITCHED),
    "a pair": (lambda P: go.priors.estimate_prior(SWITCHED.to_numpy(), out_of_fold=(LABELS, P)),
               SWITCHED),
    "costs": (lambda P: go.metrics.cost_metric(P), COSTS[["bad", "good"]]),
    "costs of positions": (lambda P: go.metrics.kappa_cost_metric(P),
                           COSTS.set_axis([0, 1], axis=1).set_axis([0, 1], axis=0).loc[[1, 0]]),
    "costs of a range": (lambda P: kappa_objective(P, label_range=(3, 4)),
                         COSTS.set_axis([3, 4], axis=1).set_axis([3, 4], axis=0)[[4, 3]]),
    "a prior": (lambda P: go.log_odds_shift(train_prior=P, target_prior=[0.2, 0.3, 0.5]),
                pd.Series([1, 2, 2, 0, 0, 0]).value_counts(normalize=True)),
}  # fmt: skip


@each("door", list(NAMED))
def test_columns_that_are_named_as_classes_are_in_their_order_at_every_door(door: str) -> None:
    call, values = NAMED[door]
    with pytest.raises(
        ValueError, match=r"would be read as that of the classes.*pass .*\[\["
    ) as of:
        call(values)
    right = re.search(r"pass [a-z_0-9\[\]]+?(\.loc)?\[(\[.*?\])\]", str(of.value))
    assert right is not None
    places = values.loc if right[1] else values
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        call(places[ast.literal_eval(right[2])])  # the remedy


def test_a_decision_asks_for_the_classes_that_columns_are_named_for() -> None:
    one_up = COLUMNS.set_axis([1, 2], axis=1)
    with pytest.warns(
        UserWarning, match=r"columns named \[1, 2\], but without labels= the classes"
    ):
        go.decide(one_up)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert set(go.decide(one_up, labels=[1, 2])) <= {1, 2}
        go.decide(COLUMNS.set_axis(["p0", "p1"], axis=1))


def test_every_row_of_the_table_is_in_force() -> None:
    guarded = {f.__qualname__.removesuffix(".__init__"): f for f in callables() if f in GUARDED}
    assert set(ARGUMENTS) <= {"*", *guarded}
    for name, remedies in ARGUMENTS.items():
        assert name == "*" or not set(remedies) & set(inspect.signature(guarded[name]).parameters)


def test_nobody_in_the_package_holds_an_unguarded_function() -> None:
    """Such as a table, a default or a partial that was made before the room was loaded."""
    assert len(GUARDED) > 40
    for guard in GUARDED:
        holders = gc.get_referrers(guard.__wrapped__)
        holders = [h for h in holders if isinstance(h, (dict, list, tuple, set, type, partial))]
        assert holders == [vars(guard)], guard


def test_functions_are_found_again_by_name() -> None:
    for module, name, thing in public():
        if isinstance(thing, FunctionType):
            assert thing.__module__.startswith(module.__name__)  # its room is loaded before it
            assert vars(sys.modules[thing.__module__])[name] is thing
            assert pickle.loads(pickle.dumps(thing)) is copy.copy(thing) is thing
            assert inspect.unwrap(thing).__doc__ == thing.__doc__


def test_a_room_is_loaded_twice_and_guarded_once(new) -> None:
    judge, fit = new.judge, new.Judge.fit
    room("gbdt_objectives.new", ["judge", "Judge"])
    assert (new.judge, new.Judge.fit) == (judge, fit)


def test_a_subclass_has_its_own_init_and_inherits_fit() -> None:
    class Own(go.QWKClassifier):
        def __init__(self, thresholds: Any = None) -> None:
            super().__init__(None)
            self.thresholds = thresholds

    assert Own(thresholds=3).get_params(deep=False) == {"thresholds": 3}
    assert Own.fit is go.QWKClassifier.fit in GUARDED
    with pytest.raises(TypeError, match="^QWKClassifier has no argument 'segments'"):
        type("Inherits", (go.QWKClassifier,), {})(segments=0)
