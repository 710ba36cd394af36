"""Users get what ``@public`` makes of functions and classes, and nothing else of them changes."""

from __future__ import annotations

import ast
import copy
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
from sklearn.linear_model import LogisticRegression, Ridge
from xgboost import DMatrix

import gbdt_objectives as go
from gbdt_objectives import _public
from gbdt_objectives._checks import spellings
from gbdt_objectives._checks.calls import order_of
from gbdt_objectives._names import ROOMS
from gbdt_objectives._public import PUBLIC
from gbdt_objectives.adapters import lightgbm, sklearn, xgboost
from gbdt_objectives.evaluation import report
from gbdt_objectives.objectives import kappa_objective
from tests.cases import each

INSIDE = """
def _judge(y):
    if not set(map(float, y)) <= {0, 1, 2}:
        raise ValueError("labels must be 0 to 2.")
    return "fine"

@public
def judge(y_true, score):
    return _judge(y_true)

@public
def price(cost):
    return cost

@public
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
    """A module of the package with functions and a class that users call."""
    module = ModuleType("gbdt_objectives.new")
    module.public = _public.public  # type: ignore[attr-defined]
    exec(INSIDE, vars(module))
    monkeypatch.setitem(spellings.EVERYWHERE, "score", "points price sun?")
    monkeypatch.setitem(spellings.EVERYWHERE, "cost", "fee")
    monkeypatch.setitem(spellings.EVERYWHERE, "cost=1 - {}", "tax")
    monkeypatch.setitem(spellings.ONLY_AT, "Judge.fit Judge.of", {"write y": "target"})
    monkeypatch.setitem(spellings.ONLY_AT, "judge", {"leave it out: it rains": "hat"})
    return module


def test_labels_and_others_are_in_order(new) -> None:
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


def test_a_call_that_does_not_fit_is_answered_by_the_table(new) -> None:
    for call, said in (
        (partial(new.judge, Y, points=Y), "judge has no argument 'points': write score="),
        (partial(new.Judge, fee=1), "Judge has no argument 'fee': write cost="),
        (partial(new.price, tax=1), "price has no argument 'tax': write cost=1 - tax"),
        (partial(new.Judge().fit, target=Y), "Judge.fit has no argument 'target': write y"),
        (partial(new.Judge().fit, Y, cost=2),
         "Judge.fit has no argument 'cost': write it where the object is made, Judge(cost=...)"),
        (partial(new.judge, hat=1), "judge has no argument 'hat': leave it out: it rains"),
        (partial(new.judge, sun=1), "judge() got an unexpected keyword argument 'sun'; "
         "its arguments are score=, y_true="),
        (partial(new.price, xyz=1),
         "price() got an unexpected keyword argument 'xyz'; its arguments are cost="),
        (partial(new.price, 1, 2),
         "price takes cost by position, found 2 arguments: leave the rest out"),
        (partial(new.price, 1, cost=2), "price got cost twice, by position and by name"),
        (partial(new.judge, Y), "judge needs score="),
    ):  # fmt: skip
        with pytest.raises(TypeError, match=f"^{re.escape(said)}$"):
            call()
    assert new.price(cost=2) == new.Judge(cost=2).cost == 2  # their own
    assert new.Judge._fit not in PUBLIC


def test_what_objects_say_of_other_attributes(new) -> None:
    judge = new.Judge()
    with pytest.raises(AttributeError, match="^'Judge' object has no attribute 'scored': it has "):
        judge.scored  # noqa: B018
    assert not hasattr(judge, "_anything")
    assert copy.copy(judge).cost == pickle.loads(pickle.dumps(go.qwk_metric())).greater_is_better


def test_classes_of_an_estimator_that_is_not_fitted() -> None:
    for model in (
        go.QWKClassifier(Ridge()),
        go.CalibratedClassifier(LogisticRegression()),
    ):
        with pytest.raises(
            AttributeError, match=r"'classes_': it is not fitted, call fit\(\.\.\.\)"
        ):
            model.classes_  # noqa: B018


def test_models_paths_and_numbers_between_columns_are_in_order() -> None:
    tree, X, y = LogisticRegression(), np.zeros((4, 1)), [0, 1, 0, 1]
    for call, order in (
        (lambda: go.evaluation.estimate_performance(X, y, tree, "f1"), "estimator, X, y"),
        (lambda: go.estimators.leaf_probability(X, tree, y), "model, X, y"),
        (lambda: go.negative_downsample(0.1, y), "y, negative_keep_rate"),
        (lambda: go.priors.negative_downsample_by_key(y, 0.1, y), "y, key, negative_keep_rate"),
        (lambda: go.serving.export("folder", tree, X), "model, folder, X"),
    ):
        said = " comes before ".join(order.split(", "))
        with pytest.raises((TypeError, ValueError), match=rf"; are they swapped\? {said}$"):
            call()


@each("kind", [xgboost.XGBRegressor, lightgbm.LGBMClassifier, go.DownsampledClassifier])
def test_fit_of_estimators_asks_the_table_too(kind: Any) -> None:
    model = kind(LogisticRegression(), 0.5) if kind is go.DownsampledClassifier else kind()
    with pytest.raises(TypeError, match=r"fit\(\) .* argument 'weight'; .* are sample_weight="):
        model.fit(np.zeros((4, 1)), [0, 1, 0, 1], weight=[1] * 4)


def test_a_parameter_of_the_booster_is_no_argument() -> None:
    data = DMatrix(np.zeros((3, 1)), Y)
    with pytest.raises(TypeError, match=r"belongs into params, \{'eta': \.\.\.\}"):
        xgboost.train({}, data, 2, objective=go.qwk_objective(), eta=0.1)
    with pytest.raises(TypeError, match="unexpected keyword argument 'num_leaves'; its nearest"):
        xgboost.train({}, data, 2, objective=go.qwk_objective(), num_leaves=3)  # LightGBM's


ROWS = np.random.default_rng(0).normal(size=(90, 2))
EVENTS = (ROWS[:, 0] > 0).astype(int)
TREES: Any = {"n_estimators": 2, "num_leaves": 3, "verbose": -1, "n_jobs": 1}


@pytest.fixture(scope="module")
def fitted() -> dict[str, Any]:
    objective, few = go.focal_objective(2.0), {"n_estimators": 2, "max_depth": 2, "n_jobs": 1}
    models = {
        "lightgbm": lightgbm.LGBMClassifier(**TREES, objective=objective),
        "xgboost": xgboost.XGBClassifier(**few, objective=objective),
        "sklearn": sklearn.HistGradientBoostingClassifier(max_iter=2, objective=objective),
    }
    return {name: model.fit(ROWS, EVENTS) for name, model in models.items()}


@each(("library", "word", "said"), [
    ("lightgbm", {"output_margin": True}, "write raw_score="),
    ("lightgbm", {"ntree_limit": 1}, "write num_iteration="),
    ("lightgbm", {"iteration_range": (0, 1)}, r"write start_iteration=iteration_range\[0\], num_"),
    ("xgboost", {"raw_score": True}, r"write model.predict\(X, output_margin=True\)"),
    ("xgboost", {"num_iteration": 1}, r"write iteration_range=\(0, num_iteration\)"),
    ("sklearn", {"raw_score": True}, r"write model.decision_function\(X\)"),
    ("sklearn", {"iteration_range": (0, 1)}, r"write model.staged_predict_proba\(X\)"),
])  # fmt: skip
def test_what_other_libraries_call_arguments_of_predict(fitted, library, word, said) -> None:
    with pytest.raises(TypeError, match=f"has no argument '{next(iter(word))}'.*{said}"):
        fitted[library].predict_proba(ROWS, **word)


def test_remedies_for_arguments_of_predict_work(fitted) -> None:
    """The margins of one iteration, as each library has them; equal up to the type's digits."""
    lgb, xgb = fitted["lightgbm"], fitted["xgboost"]
    one = lgb.predict_proba(ROWS, raw_score=True, start_iteration=0, num_iteration=1)
    np.testing.assert_allclose(one, lgb.booster_.predict(ROWS, raw_score=True, num_iteration=1))
    margin = xgb.predict(ROWS, output_margin=True, iteration_range=(0, 1))
    wanted = xgb.get_booster().predict(DMatrix(ROWS), output_margin=True, iteration_range=(0, 1))
    np.testing.assert_allclose(margin, wanted, rtol=1e-6)
    of_log_odds, few = go.weighted_logloss_objective(0.5), {"max_iter": 2, "max_depth": 2}
    sk = sklearn.HistGradientBoostingClassifier(**few, objective=of_log_odds).fit(ROWS, EVENTS)
    assert len(list(sk.staged_predict_proba(ROWS))) == sk.n_iter_
    assert sk.decision_function(ROWS).shape == (90,)
    scores = sklearn.HistGradientBoostingRegressor(**few, objective=go.qwk_objective())
    *_, last = scores.fit(ROWS, EVENTS).staged_predict(ROWS)
    np.testing.assert_allclose(last, scores.predict(ROWS))


@each(("call", "said"), [
    (lambda: go.qwk_objective((0, 4)), r"^y_true is \(0, 4\), .* write label_range=\(0, 4\)"),
    (lambda: kappa_objective("squared", (0, 4)), r"write label_range=\(0, 4\)"),
    (lambda: go.check_objective(go.qwk_metric()), "^obj is a metric, .* such as qwk_objective"),
    (lambda: go.check_objective(go.qwk_metric().xgboost), "^obj is a metric, "),
    (lambda: go.decide(np.eye(2), "f1", negative_keep_rate=0.1),
     "leave it out if .*; write probability=correct_probability"
     r"\(probability, negative_keep_rate=negative_keep_rate"),
    (lambda: report(None, [], [], "a.html", name="March"), "write title=$"),
    (lambda: report(None, [], [], "a.html", n=[1]), "nearest arguments are negative_keep_rate="),
    (lambda: go.ThresholdClassifier(sample_weight=[1]), "pass it to fit, sample_weight=$"),
    (lambda: sklearn.HistGradientBoostingRegressor(metric="qwk"), "write eval_metric=$"),
    (lambda: sklearn.HistGradientBoostingRegressor(objective=go.qwk_objective()).fit(
        ROWS, EVENTS, early_stopping_rounds=5), "write early_stopping=True, n_iter_no_change="),
    (lambda: sklearn.HistGradientBoostingRegressor(objective=go.qwk_objective()).fit(
        ROWS, EVENTS, max_depth=2), r"goes to the estimator, HistGradient\w+\(max_depth=\.\.\.\)$"),
    (lambda: sklearn.HistGradientBoostingRegressor(objective=go.qwk_objective()).fit(
        ROWS, EVENTS, foreign=5), "has no argument 'foreign'; its nearest arguments are "),
    (lambda: xgboost.XGBRegressor(objective=go.qwk_objective()).fit(
        ROWS, EVENTS, callbacks=[]), r"goes to the estimator, XGBRegressor\(callbacks=\.\.\.\)$"),
])  # fmt: skip
def test_what_is_said_instead(call: Callable[[], Any], said: str) -> None:
    with pytest.raises(TypeError, match=said):
        call()


def test_what_is_said_instead_works() -> None:
    objective = go.qwk_objective(label_range=(0, 4))
    sklearn.HistGradientBoostingRegressor(
        objective=objective, early_stopping=True, n_iter_no_change=5, max_iter=2
    ).fit(ROWS, EVENTS)
    p = go.correct_probability(np.full((4, 2), 0.5), negative_keep_rate=0.1)
    np.testing.assert_allclose(p[:, 1], 1 / 11)  # odds of 1 to 10
    assert go.decide(p, "accuracy").tolist() == [0] * 4


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
    assert not {f.__qualname__ for f in found if f not in PUBLIC}


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
    "kappa": lambda: go.quadratic_weighted_kappa(LABELS, turned(LABELS)),
    "a metric": lambda: go.metrics.squared_error_metric()(LABELS, turned(P)),
    "thresholds": lambda: go.optimize_thresholds(LABELS, turned(P)),
    "Brier score": lambda: go.calibration.brier_score(LABELS, turned(P)),
    "a calibrator": lambda: go.calibration.LogitCalibrator().fit(P, turned(LABELS)),
    "score of scikit-learn": lambda: go.CalibratedClassifier(LogisticRegression(), cv=2).fit(
        FRAME, LABELS).score(FRAME, turned(LABELS)),
    "QWKClassifier": lambda: go.QWKClassifier(Ridge()).fit(FRAME, turned(LABELS)),
}  # fmt: skip


@each("door", list(MATCHED))
def test_rows_of_pandas_are_matched_by_position_at_no_door(door: str) -> None:
    with pytest.raises(ValueError, match=r"the same index in another order, .*pass .*\.loc\["):
        MATCHED[door]()


def test_an_index_that_tells_nothing_of_the_order_is_right() -> None:
    for y, p in (
        (LABELS, turned(P).reset_index(drop=True)),
        (LABELS, P.rename(lambda k: k + 1000)),
        (LABELS.rename(lambda k: k // 2), turned(P).rename(lambda k: k // 3)),
    ):
        go.calibration.brier_score(y, p)


def test_every_call_that_does_not_fit_is_answered() -> None:
    """Every exported callable, with an argument that nobody has and with too many."""
    for _, name, thing in public():
        if not isinstance(thing, (FunctionType, type)) or "Disagree" in name:
            continue
        kinds = {p.kind for p in inspect.signature(thing).parameters.values()}
        if kinds & {inspect.Parameter.VAR_KEYWORD, inspect.Parameter.VAR_POSITIONAL}:
            continue
        said = rf"^{name}\(\) got an unexpected keyword argument 'xyzzy'; its? (?:nearest|arg|has)"
        with pytest.raises(TypeError, match=said):
            thing(xyzzy=1)
        with pytest.raises(TypeError, match=f"^{name} takes .* by position, found 99 arguments"):
            thing(*[None] * 99)


COLUMNS = pd.DataFrame({"p_good": 1 - P, "p_bad": P})
SWITCHED = COLUMNS.set_axis([1, 0], axis=1)
WORDS = np.where(LABELS == 1, "bad", "good")
TWO = ["bad", "good"]

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
    "fit": (lambda P: go.calibration.TemperatureCalibrator(labels=TWO).fit(P, WORDS), COLUMNS),
    "predict": (lambda P: go.calibration.TemperatureCalibrator().fit(
        COLUMNS.to_numpy(), LABELS).predict(P), SWITCHED),
    "a pair": (lambda P: go.priors.estimate_prior(SWITCHED.to_numpy(), out_of_fold=(LABELS, P)),
               SWITCHED),
    "a prior beside columns": (lambda P: go.correct_probability(
        P, train_prior=pd.Series([0.3, 0.7], TWO), target_prior=[0.5, 0.5]), COLUMNS),
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


def test_all_that_users_call_is_decorated() -> None:
    def is_left(function: Any) -> bool:
        is_value = function.__name__ == "_same"  # a field of Link
        return is_value or function in PUBLIC or function in _public.EACH_ROUND

    left = [f for f in callables() if isinstance(f, FunctionType) and not is_left(f)]
    assert not [f"{f.__module__}.{f.__qualname__}" for f in left], "decorate them with @public"
    assert len(PUBLIC) > 40


def test_a_frame_of_the_decorator_is_hidden_in_tracebacks() -> None:
    with pytest.raises(ValueError, match="sample_weight") as error:
        go.quadratic_weighted_kappa([0, 1], [0, 1], sample_weight=[1])
    assert "checked" in [entry.name for entry in error.traceback]
    assert "checked" not in [entry.name for entry in error.traceback.filter(error)]


def test_engines_are_rooms_too() -> None:
    pytest.importorskip("distributed")
    from gbdt_objectives.distributed import dask
    from gbdt_objectives.experimental.dask import lightgbm as on_dask

    classes = dask.DaskXGBRegressor, dask.DaskXGBClassifier
    assert {dask.train, dask.fitted_objective, on_dask, *(kind.fit for kind in classes)} <= PUBLIC


def test_functions_are_found_again_by_name() -> None:
    for module, name, thing in public():
        if isinstance(thing, FunctionType):
            assert thing.__module__.startswith(module.__name__)
            assert vars(sys.modules[thing.__module__])[name] is thing
            assert pickle.loads(pickle.dumps(thing)) is copy.copy(thing) is thing
            assert inspect.unwrap(thing).__doc__ == thing.__doc__


def test_what_is_decorated_stays_as_it_is(new) -> None:
    assert _public.public(new.judge) is new.judge
    fit = new.Judge.fit
    assert _public.public(new.Judge).fit is fit


def test_a_subclass_has_its_own_init_and_inherits_fit() -> None:
    class Own(go.QWKClassifier):
        def __init__(self, thresholds: Any = None) -> None:
            super().__init__(None)
            self.thresholds = thresholds

    assert Own(thresholds=3).get_params(deep=False) == {"thresholds": 3}
    assert Own.fit is go.QWKClassifier.fit in PUBLIC
    with pytest.raises(TypeError, match="^Inherits has no argument 'n_folds': write cv="):
        type("Inherits", (go.QWKClassifier,), {})(n_folds=3)
