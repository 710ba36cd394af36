"""An objective's own data by row: in train, cv, the estimators, and where scikit-learn splits.

The reference reads the cost of a row off its label, so that no split can take it from another row:
every model must be the same to the last digit.
"""

from __future__ import annotations

import pickle
from dataclasses import dataclass
from functools import partial
from typing import Any

import lightgbm as lgb
import numpy as np
import pandas as pd
import pytest
import sklearn
import xgboost as xgb
from scipy.special import expit
from sklearn.base import clone
from sklearn.ensemble import BaggingRegressor
from sklearn.model_selection import (
    GridSearchCV,
    KFold,
    RepeatedKFold,
    StratifiedKFold,
    cross_val_predict,
    cross_val_score,
)
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import gbdt_objectives as go
from gbdt_objectives.objectives import REAL, Loss
from tests.adapters.library import LGB, XGB, Library, both, needs_routing
from tests.cases import each

N = 600
RNG = np.random.default_rng(0)
X = RNG.random((N, 4))
Y = RNG.permutation(np.resize(np.arange(40.0), N))
RISING = np.argsort(X[:, 0])[::2]
Y[RISING] = np.sort(Y[RISING])  # of half of the rows X tells something
WEIGHT = RNG.integers(1, 4, N).astype(float)
COST_OF = np.random.default_rng(1).uniform(0.2, 5, 40)
COST = COST_OF[Y.astype(int)]
METRIC = go.metrics.squared_error_metric()


def costly(y_true, margin, sample_weight, cost):
    """Too low is dear."""
    w = np.where(margin < y_true, cost, 1)
    w = w if sample_weight is None else w * sample_weight
    return w * (margin - y_true), w


def costly_loss(y_true, margin, sample_weight, cost):
    gradient, _ = costly(y_true, margin, sample_weight, cost)
    return float((gradient * (margin - y_true)).sum() / 2)


def off_the_label(y_true, margin, sample_weight):
    return costly(y_true, margin, sample_weight, COST_OF[y_true.astype(int)])


REFERENCE = go.objective(off_the_label, intercept=15.0)
BOUND = go.objective(costly, intercept=15.0, rows={"cost": COST})
NAMED = go.objective(costly, intercept=15.0, rows=["cost"])


@dataclass(frozen=True, kw_only=True)
class CostlyLoss(Loss):
    """The same as equations."""

    labels = REAL
    hessian = "upper_bound"
    intercept = 15.0
    named: Any = (("cost", None),)

    def row_loss(self, y, f, xp, cost):
        return xp.where(f < y, cost, 1.0) * (f - y) ** 2 / 2

    def gradient_hessian(self, y, f, totals, xp, cost):
        w = xp.where(f < y, cost, 1.0)
        return w * (f - y), w


@dataclass(frozen=True, kw_only=True)
class OffTheLabelLoss(CostlyLoss):
    named: Any = ()

    def gradient_hessian(self, y, f, totals, xp):
        return super().gradient_hessian(y, f, totals, xp, COST_OF[y.astype(int)].astype(f.dtype))


OWN, OWN_REFERENCE = go.objective(CostlyLoss()), go.objective(OffTheLabelLoss())


def regressor(lib: Library, objective: Any, **given: Any) -> Any:
    given = {"objective": objective, **given}
    if lib is XGB:
        return XGB.kind()(n_estimators=8, max_depth=3, n_jobs=1, **given)
    return LGB.kind()(n_estimators=8, num_leaves=7, n_jobs=1, verbose=-1, **given)


def cross_validate(lib: Library, objective: Any, **given: Any) -> Any:
    return lib.cv(lib.data(X, Y, WEIGHT), 6, objective=objective, metric=METRIC, **given)


def test_the_reference_is_another_than_without_cost() -> None:
    """Else these tests could not fail."""
    plain = go.objective(partial(costly, cost=1), intercept=15.0)
    for lib in (XGB, LGB):
        models = [lib.train(lib.params, lib.data(X, Y), 8, objective=o) for o in (REFERENCE, plain)]
        found = [lib.predict(model, X) for model in models]
        assert np.abs(found[0] - found[1]).max() > 1


@pytest.mark.filterwarnings("ignore:boosting starts at")  # it starts at 0, which is enough here
@both
@pytest.mark.parametrize("weight", [None, WEIGHT], ids=["plain", "weighted"])
def test_training_on_all_rows(lib: Library, weight: Any) -> None:
    native = [lib.plain(objective, lib.data(X, Y, weight), 8) for objective in (REFERENCE, BOUND)]
    expected, found = (lib.predict(model, X, raw=True) for model in native)
    np.testing.assert_array_equal(found, expected)
    fits = [
        regressor(lib, REFERENCE).fit(X, Y, sample_weight=weight),
        regressor(lib, BOUND).fit(X, Y, sample_weight=weight),
        regressor(lib, NAMED).fit(X, Y, sample_weight=weight, cost=COST),
    ]
    expected, *others = (model.predict(X) for model in fits)
    for found in others:
        np.testing.assert_array_equal(found, expected)
    own = regressor(lib, OWN).fit(X, Y, sample_weight=weight, cost=COST)
    reference = regressor(lib, OWN_REFERENCE).fit(X, Y, sample_weight=weight)
    np.testing.assert_array_equal(own.predict(X), reference.predict(X))


@pytest.mark.filterwarnings(
    "ignore:The groups parameter is ignored by"
)  # each splitter is given groups
@pytest.mark.slow
@both
@pytest.mark.parametrize(
    "how",
    [
        {},
        {"nfold": 4, "seed": 3},
        {"shuffle": False, "stratified": False},
        {"stratified": True, "nfold": 3, "seed": 7},
        {"stratified": False, "nfold": 7},
        {"folds": [(np.arange(200, 600), np.arange(200)), (np.arange(300), np.arange(400, 600))]},
        {"folds": [([5, 3, *range(100, 400)], [1, 2])]},
        {"folds": KFold(3, shuffle=True, random_state=1)},
        {"folds": StratifiedKFold(3)},
        {"folds": RepeatedKFold(n_splits=2, n_repeats=2, random_state=0)},
        {"folds": [(np.sort(RNG.integers(0, N, N)), np.arange(50))]},  # a bootstrap: as many rows
        {"nfold": 3, "early_stopping_rounds": 2},
    ],
    ids=str,
)
def test_cv_splits_with_the_rows(lib: Library, how: dict[str, Any]) -> None:
    """The same folds as without rows, and in each the cost of its own rows."""
    expected, found = (cross_validate(lib, o, **how) for o in (REFERENCE, BOUND))
    assert found == expected
    if isinstance(how.get("folds"), list):  # or a generator
        assert cross_validate(lib, BOUND, folds=iter(how["folds"])) == expected


@pytest.mark.slow
@needs_routing
@pytest.mark.parametrize(
    ("lib", "routed", "objective", "reference"),
    [  # all pairs
        (XGB, False, NAMED, REFERENCE),
        (XGB, True, OWN, OWN_REFERENCE),
        (LGB, True, NAMED, REFERENCE),
        (LGB, False, OWN, OWN_REFERENCE),
    ],
)
def test_scikit_learn_splits_what_fit_gets(
    lib: Library, routed: bool, objective: Any, reference: Any
) -> None:
    reference, named = regressor(lib, reference), regressor(lib, objective)
    given: dict[str, Any] = {"params": {"cost": COST}}
    folds, grid = KFold(3, shuffle=True, random_state=2), {"learning_rate": [0.1, 0.3]}
    with sklearn.config_context(enable_metadata_routing=routed):
        for evaluate in (cross_val_score, cross_val_predict):
            np.testing.assert_array_equal(
                evaluate(named, X, Y, cv=folds, **given), evaluate(reference, X, Y, cv=folds)
            )
        expected = GridSearchCV(reference, grid, cv=folds).fit(X, Y)
        found = GridSearchCV(named, grid, cv=folds).fit(X, Y, cost=COST)
        for key in ("mean_test_score", "params"):
            assert list(found.cv_results_[key]) == list(expected.cv_results_[key])
        np.testing.assert_array_equal(found.predict(X), expected.predict(X))
        step = type(named).__name__.lower()
        pipeline = make_pipeline(StandardScaler(), clone(named))
        how = {"cost": COST} if routed else {f"{step}__cost": COST}
        found = cross_val_predict(pipeline, X, Y, cv=folds, params=how)
        expected = cross_val_predict(make_pipeline(StandardScaler(), reference), X, Y, cv=folds)
        np.testing.assert_array_equal(found, expected)


@pytest.mark.slow
@needs_routing
@pytest.mark.parametrize(
    ("lib", "objective", "reference"), [(XGB, NAMED, REFERENCE), (LGB, OWN, OWN_REFERENCE)]
)
def test_metadata_routing_takes_requests(lib: Library, objective: Any, reference: Any) -> None:
    folds = KFold(3)
    expected = cross_val_score(regressor(lib, reference), X, Y, cv=folds)
    model = regressor(lib, objective)
    own: Any = type("Own", (type(model),), {})(**model.get_params())
    with sklearn.config_context(enable_metadata_routing=True):
        for asked, name in (
            (model, "cost"),
            (own, "cost"),
            (clone(model).set_fit_request(cost=True), "cost"),
            (clone(model).set_fit_request(cost="dear"), "dear"),
        ):
            assert asked.get_metadata_routing().fit.requests["cost"] in (True, name)
            assert asked.get_metadata_routing().fit.requests["sample_weight"] is None
            found = cross_val_score(clone(asked), X, Y, cv=folds, params={name: COST})
            np.testing.assert_array_equal(found, expected)
        with pytest.raises(TypeError, match="Unexpected args: {'price'} in fit"):
            model.set_fit_request(price=True)
        # bagging draws with weights, or draws the rows of everything that it is given
        bag = BaggingRegressor(regressor(lib, objective), 2, random_state=0).fit(X, Y, cost=COST)
        same = BaggingRegressor(regressor(lib, reference), 2, random_state=0).fit(X, Y)
        np.testing.assert_array_equal(bag.predict(X), same.predict(X))
    with pytest.raises(RuntimeError, match="only available when metadata routing is enabled"):
        regressor(lib, objective).set_fit_request(cost=True)


def of_events(y_true, margin, sample_weight, cost):
    p = expit(margin)
    return cost * (p - y_true), cost * p * (1 - p)


@needs_routing
@both
def test_metadata_routing_takes_the_rows_of_a_classifier(lib: Library) -> None:
    objective = go.objective(of_events, link="logit", rows=["cost"])
    model = lib.make(True, objective=objective, n_estimators=3)
    given = {"params": {"cost": COST}}
    expected = cross_val_score(model, X, Y > 20, **given)
    with sklearn.config_context(enable_metadata_routing=True):
        np.testing.assert_array_equal(cross_val_score(model, X, Y > 20, **given), expected)


@needs_routing
@both
def test_pandas_rows_are_in_their_order(lib: Library) -> None:
    order = np.random.default_rng(5).permutation(N)
    frame, y = pd.DataFrame(X, index=order), pd.Series(Y, index=order)
    cost = pd.Series(COST, index=order)
    expected = regressor(lib, REFERENCE).fit(X, Y).predict(X)
    for objective, given in ((NAMED, {"cost": cost}), (NAMED, {"cost": cost.to_numpy()})):
        fitted = regressor(lib, objective).fit(frame, y, **given)
        np.testing.assert_array_equal(fitted.predict(frame), expected)
    rows = dict(pd.DataFrame({"cost": COST}, index=order))
    bound = regressor(lib, go.objective(costly, intercept=15.0, rows=rows)).fit(frame, y)
    np.testing.assert_array_equal(bound.predict(frame), expected)
    scores = cross_val_score(regressor(lib, NAMED), frame, y, params={"cost": cost})
    reference = cross_val_score(regressor(lib, REFERENCE), X, Y)
    np.testing.assert_array_equal(scores, reference)
    for other in (cost.sort_index(), cost.reset_index(drop=True)):
        with pytest.raises(ValueError, match=r"pass cost\.loc\[X\.index\], or cost\.to_numpy"):
            regressor(lib, NAMED).fit(frame, y, cost=other)


def distances(y_true, margin, sample_weight, group, target):
    """Rows of two columns, and groups that are whole numbers."""
    assert (group.dtype, group.shape) == (np.dtype("int8"), y_true.shape)
    assert target.shape == (len(y_true), 2)
    size = np.bincount(group, minlength=3)[group]
    return (2 * margin - target.sum(axis=1)) / size, 2 / size


@both
def test_several_values_of_any_shape(lib: Library) -> None:
    group = (Y % 3).astype(np.int8)
    rows = {"group": group, "target": np.column_stack([Y, Y + 2])}
    objective = go.objective(distances, intercept=15.0, rows=rows)
    params = {**lib.params, "min_child_weight": 0}
    if lib is LGB:
        params = {**lib.params, "min_sum_hessian_in_leaf": 0}

    def closure(y_true, margin, sample_weight):
        return distances(y_true, margin, sample_weight, **rows)

    models = [
        lib.train(params, lib.data(X, Y), 8, objective=o)
        for o in (objective, go.objective(closure, intercept=15.0))
    ]
    found, expected = (lib.predict(model, X) for model in models)
    np.testing.assert_array_equal(found, expected)
    assert np.ptp(found) > 5
    fitted = regressor(lib, go.objective(distances, rows=["group", "target"]))
    fitted.fit(X, Y, group=group, target=rows["target"])


@pytest.mark.parametrize("objective", [NAMED, OWN], ids=["function", "loss"])
@both
def test_a_fitted_model_does_not_hold_what_fit_got(lib: Library, objective: Any) -> None:
    model = regressor(lib, objective).fit(X, Y, cost=COST)
    again = pickle.loads(pickle.dumps(model))
    np.testing.assert_array_equal(again.predict(X), model.predict(X))
    assert COST.tobytes() not in pickle.dumps(model)
    assert model.get_params()["objective"] == model.objective_ == objective
    holds = regressor(lib, BOUND).fit(X, Y)  # as a parameter
    assert pickle.dumps(holds).count(COST.tobytes()) == 1
    with pytest.raises(ValueError, match="needs cost of each row"):
        model.fit(X, Y)


OTHER_LENGTH = "has 600 rows, but cost has 599: .*objective\\(function, rows=\\['cost'\\]\\)"
NO_VALUES = r"costly needs cost of each row.*with_rows\({'cost': cost}\)"


@both
@each(
    ("objective", "message"),
    [(go.objective(costly, rows={"cost": COST[:-1]}), OTHER_LENGTH), (NAMED, NO_VALUES)],
)
def test_rows_of_another_length_are_refused_in_training(lib: Library, objective, message) -> None:
    for call in (
        lambda: lib.train(lib.params, lib.data(X, Y), 2, objective=objective),
        lambda: cross_validate(lib, objective),
        lambda: regressor(lib, objective).fit(X, Y),
        lambda: lib.plain(objective, lib.data(X, Y), 2),
    ):
        with pytest.raises(ValueError, match=message):
            call()


@both
def test_bad_arguments_of_fit(lib: Library) -> None:
    model = regressor(lib, NAMED)
    for given, error, message in (
        ({"cost": COST, "price": COST}, TypeError, "fit.. has no argument 'price'"),
        ({"cost": None}, ValueError, NO_VALUES),
        ({"cost": np.where(Y > 38, np.nan, COST)}, ValueError, "cost must be finite, found nan"),
        ({"cost": ["a"] * N}, TypeError, "cost must hold numbers, found dtype <U1: encode groups"),
        ({"cost": COST[0]}, ValueError, "cost must be an array with values for each row"),
    ):
        with pytest.raises(error, match=message):
            model.fit(X, Y, **given)
    two = regressor(lib, go.objective(distances, rows=["group", "target"]))
    with pytest.raises(ValueError, match=r"needs of each row \['group', 'target'\], found \['gr"):
        two.fit(X, Y, group=COST)
    with pytest.raises(ValueError, match=r"the same rows, found group for 600, target for 599"):
        two.fit(X, Y, group=COST, target=COST[:-1])
    with pytest.raises(ValueError, match=r"fit.. got cost, but .* has it already.*without_rows"):
        regressor(lib, BOUND).fit(X, Y, cost=COST)
    model.set_params(objective=BOUND.without_rows()).fit(X, Y, cost=COST)  # the remedy

    def collides(y_true, margin, weight, eval_set):
        return margin - y_true, np.ones_like(margin)

    with pytest.raises(ValueError, match="names 'eval_set', which is an argument of fit"):
        regressor(lib, go.objective(collides, rows=["eval_set"])).fit(X, Y, eval_set=COST)
    with pytest.raises(TypeError, match=r"no argument 'cost'.*objective\(function, rows=\['cost'"):
        regressor(lib, REFERENCE).fit(X, Y, cost=COST)
    with pytest.raises(TypeError, match="fit.. has no argument 'cost'"):
        regressor(lib, None).fit(X, Y, cost=COST)


@needs_routing
@both
def test_what_only_trains_on_parts_is_refused(lib: Library) -> None:
    for objective in (BOUND, NAMED):
        for classifier in (
            go.QWKClassifier(regressor(lib, objective), objective=None),
            go.QWKClassifier(regressor(lib, None), objective=objective),
        ):
            with pytest.raises(ValueError, match="QWKClassifier trains on folds of them: score"):
                classifier.fit(X, Y.astype(int))
    # the remedy
    score = cross_val_predict(regressor(lib, NAMED), X, Y, params={"cost": COST})
    assert go.ThresholdClassifier().fit(score, Y.astype(int)).predict(score).max() > 20


@both
def test_fpreproc_may_not_change_the_rows(lib: Library) -> None:
    expected = cross_validate(lib, BOUND)
    same = cross_validate(lib, BOUND, fpreproc=lambda train, test, params: (train, test, params))
    assert same == expected
    other = lib.data(X[:400], Y[:400])
    with pytest.raises(ValueError, match="fpreproc returned other training data"):
        cross_validate(lib, BOUND, fpreproc=lambda train, test, params: (other, test, params))


def test_a_subset_whose_rows_lightgbm_sorts_is_refused() -> None:
    rows = np.random.default_rng(6).permutation(N)
    whole = lgb.Dataset(X, Y, free_raw_data=False)
    sorted_by_lightgbm = whole.subset(rows)
    objective = BOUND.take(rows)
    with pytest.raises(ValueError, match="data is a subset of a Dataset, whose rows LightGBM sort"):
        LGB.train(LGB.params, sorted_by_lightgbm, 2, objective=objective)
    with pytest.raises(ValueError, match="data is a subset of a Dataset, whose rows LightGBM sort"):
        LGB.cv(sorted_by_lightgbm, 2, objective=objective, metric=METRIC)
    models = [
        LGB.train(LGB.params, lgb.Dataset(X[rows], Y[rows]), 8, objective=o)
        for o in (objective, REFERENCE)
    ]
    np.testing.assert_array_equal(*(LGB.predict(model, X) for model in models))


def test_groups_that_xgboost_cannot_split_are_refused() -> None:
    data = xgb.DMatrix(X, Y, group=[300, 300])
    with pytest.raises(ValueError, match="data has query groups"):
        XGB.cv(data, 2, objective=BOUND, metric=METRIC)
    assert XGB.cv(data, 2, nfold=2, objective=REFERENCE, metric=METRIC)


@pytest.mark.filterwarnings("ignore:boosting starts at")  # it starts at 0, which is enough here
def test_several_outputs_in_the_native_interfaces() -> None:
    """Rows stand beside margins (n, K)."""
    truth = np.eye(3)[(Y % 3).astype(int)]

    def to_the_truth(y_true, margin, sample_weight, truth):
        assert margin.shape == truth.shape
        return margin - truth, np.ones_like(margin)

    objective = go.objective(to_the_truth, rows={"truth": truth})
    data = xgb.DMatrix(X, Y % 3)
    booster = xgb.train({"num_class": 3, "nthread": 1}, data, 3, obj=objective)
    assert booster.predict(data, output_margin=True).shape == (N, 3)
    params = {**LGB.params, "num_class": 3, "objective": objective}
    assert lgb.train(params, lgb.Dataset(X, Y % 3), 3).predict(X).shape == (N, 3)
