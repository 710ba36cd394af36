"""Columns and rows that carry names are matched by these, or refused, at every door."""

from __future__ import annotations

import pickle
import re
import warnings
from collections.abc import Callable
from functools import partial
from inspect import signature
from typing import Any

import lightgbm as lgb
import numpy as np
import pandas as pd
import pytest
import xgboost as xgb
from sklearn.metrics import accuracy_score, cohen_kappa_score
from sklearn.model_selection import cross_val_score

import gbdt_objectives as go
from gbdt_objectives import serving
from gbdt_objectives._checks import tables
from gbdt_objectives.adapters import lightgbm as al, sklearn as ask, xgboost as ax
from gbdt_objectives.adapters.lightgbm.intercept import arranged
from tests.cases import each

rng = np.random.default_rng(0)
N = 300
X = rng.normal(size=(N, 4))
S = X[:, 0] + 0.7 * X[:, 1] + rng.normal(0, 0.5, N)
Y, B = np.digitize(S, [-1, 0, 1]), (S > 0).astype(int)
F = pd.DataFrame(X, columns=list("abcd"))
TURNED, ORDER = list("dcba"), rng.permutation(N)
OLD, NEW = slice(0, 200), slice(200, N)
"""The rows of training and of evaluation."""
L = {"n_estimators": 8, "num_leaves": 6, "n_jobs": 1, "verbose": -1, "min_child_samples": 5}
P = {"num_leaves": 6, "num_threads": 1, "verbose": -1, "min_data_in_leaf": 5}
G = {"n_estimators": 8, "max_depth": 3, "n_jobs": 1}
QWK, ODDS = go.qwk_objective(), go.weighted_logloss_objective(1.0)
METRIC = go.extended_qwk_metric()


def polars_frame(frame: pd.DataFrame) -> Any:
    polars = pytest.importorskip("polars")
    return polars.DataFrame({name: frame[name].to_numpy() for name in frame})


def arrow_table(frame: pd.DataFrame) -> Any:
    arrow = pytest.importorskip("pyarrow")
    return arrow.table({name: frame[name].to_numpy() for name in frame})


def numbered(frame: pd.DataFrame) -> pd.DataFrame:
    """Columns named by integers, which scikit-learn does not compare."""
    return frame.rename(columns=dict(zip("abcd", range(4), strict=True)))


TABLES = {"pandas": lambda frame: frame, "integers": numbered, "polars": polars_frame,
          "arrow": arrow_table}  # fmt: skip
MODELS: dict[str, Callable[[], Any]] = {
    "LGBMRegressor": lambda: al.LGBMRegressor(objective=QWK, **L),
    "LGBMRegressor, its own": lambda: al.LGBMRegressor(**L),
    "LGBMClassifier": lambda: al.LGBMClassifier(objective=ODDS, **L),
    "XGBRegressor": lambda: ax.XGBRegressor(objective=QWK, **G),
    "XGBClassifier": lambda: ax.XGBClassifier(objective=ODDS, **G),
    "HistGradientBoostingRegressor": lambda: ask.HistGradientBoostingRegressor(
        objective=QWK, max_iter=8),
    "HistGradientBoostingClassifier": lambda: ask.HistGradientBoostingClassifier(
        objective=ODDS, max_iter=8),
    "QWKClassifier": lambda: go.QWKClassifier(lgb.LGBMRegressor(**L), cv=2),
    "CalibratedClassifier": lambda: go.CalibratedClassifier(lgb.LGBMClassifier(**L), cv=2),
    "DownsampledClassifier": lambda: go.DownsampledClassifier(
        lgb.LGBMClassifier(**L), 0.9, random_state=0),
}  # fmt: skip
ASKED = "predict", "predict_proba", "decision_function", "apply", "staged_predict"
SAID = re.compile("order|feature_names mismatch|feature names should match")


def same_or_said(right: Callable[[], Any], turned: Callable[[], Any]) -> bool:
    """Whether columns in another order give what those in order do; else it is said."""
    wanted, said = right(), ""
    try:
        np.testing.assert_allclose(turned(), wanted, rtol=1e-6)
    except ValueError as error:
        said = str(error)
    assert not said or SAID.search(said), said
    return not said


def answered(method: Callable[[Any], Any], table: Any) -> Any:
    return np.array(list(method(table)), float)


def turned_columns(table: Any) -> Any:
    names = tables.column_names(table)
    assert names is not None
    return table[names[::-1]] if hasattr(table, "iloc") else table.select(names[::-1])


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:X does not have valid feature names")
@each("name, kind", [(name, kind) for name in MODELS for kind in TABLES])
def test_a_model_reads_columns_by_name_or_refuses_another_order(name: str, kind: str) -> None:
    table, y = TABLES[kind](F), Y if "Regressor" in name or "QWK" in name else B
    model = MODELS[name]().fit(table, y)
    for method in filter(lambda method: hasattr(model, method), ASKED):
        asked = partial(answered, getattr(model, method))
        matched = same_or_said(partial(asked, table), partial(asked, turned_columns(table)))
        assert matched == name.startswith("LGBM"), method


def fit_with(library: str, table: Any, held_out: Any, y: Any = Y) -> Any:
    """What an estimator measures on rows held out."""
    if library == "sklearn":
        kind = ask.HistGradientBoostingRegressor
        if "X_val" not in signature(kind.fit).parameters:
            pytest.skip("of scikit-learn 1.7")
        model = kind(objective=QWK, max_iter=8, early_stopping=True)
        return model.fit(table, Y[OLD], X_val=held_out, y_val=y[NEW]).validation_score_
    if library == "xgboost":
        model = ax.XGBRegressor(objective=QWK, eval_metric=METRIC, **G)
        model.fit(table, Y[OLD], eval_set=[(held_out, y[NEW])], verbose=False)
        return model.evals_result()["validation_0"]["extended_qwk"]
    names = signature(al.LGBMRegressor.fit).parameters
    given: dict[str, Any] = {"eval_set": [(held_out, y[NEW])]}
    if library == "eval_X":
        if "eval_X" not in names:
            pytest.skip("of LightGBM 4.7")
        given = {"eval_X": (held_out,), "eval_y": (y[NEW],)}
    elif library == "a pair":
        given = {"eval_set": (held_out, y[NEW])}
    objective = None if library == "its own" else QWK
    model = al.LGBMRegressor(objective=objective, **L)
    model.fit(table, Y[OLD], eval_metric=METRIC, **given)
    return model.evals_result_["valid_0"]["extended_qwk"]


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:.*eval_set:")
@each("library, kind", [(library, kind) for kind in TABLES for library in (
    "lightgbm", "its own", "a pair", "eval_X", "xgboost", "sklearn")])  # fmt: skip
def test_evaluation_sets_are_read_by_name_or_refused(library: str, kind: str) -> None:
    table, held_out = TABLES[kind](F[OLD]), TABLES[kind](F[NEW].reset_index(drop=True))
    matched = same_or_said(
        lambda: fit_with(library, table, held_out),
        lambda: fit_with(library, table, turned_columns(held_out)),
    )
    assert matched == (library not in ("xgboost", "sklearn"))


def test_an_estimator_of_lightgbms_own_has_evaluation_sets_in_order() -> None:
    model = lgb.LGBMRegressor(objective=go.qwk_objective([0, 3]), **L)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model.fit(F, Y, eval_set=[(F, Y)])
        with pytest.raises(ValueError, match=r"^eval_set\[0\]\[0\] has the columns of X in anoth"):
            model.fit(F, Y, eval_set=[(F[TURNED], Y)])


def test_a_table_of_other_columns_is_told() -> None:
    """By all that reads a model of LightGBM, which itself says nothing."""
    model, other = al.LGBMRegressor(objective=QWK, **L).fit(F, Y), F.add_suffix("_later")
    said = r"none of which is among those of the training rows, \['a', 'b', 'c', 'd'\], .*position"
    for table in (other, polars_frame(other), arrow_table(other)):
        with pytest.warns(UserWarning, match=said):
            model.predict(table)
    with pytest.warns(UserWarning, match=said):
        model.fit(F, Y, eval_set=[(other, Y)])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        wanted = model.predict(F)
        np.testing.assert_array_equal(model.predict(other.set_axis(list("abcd"), axis=1)), wanted)
        model.predict(numbered(F))
    of_array = al.LGBMRegressor(objective=QWK, **L).fit(X, Y)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        of_array.predict(other)


def test_a_report_reads_columns_by_name(tmp_path: Any) -> None:
    model = lgb.LGBMClassifier(**L).fit(F, B)
    pages = [go.evaluation.report(model, table, B, tmp_path / f"{k}.html").read_text("utf-8")
             for k, table in enumerate((F, F[TURNED]))]  # fmt: skip
    assert pages[0] == pages[1]


@pytest.mark.slow
@each("kind", TABLES)
def test_data_sets_of_lightgbm_have_their_columns_in_order(kind: str) -> None:
    """Of evals, and of the data of an earlier model; the remedy is typed."""
    table, held_out = TABLES[kind](F[OLD]), TABLES[kind](F[NEW])
    asked = {"objective": QWK, "metric": METRIC}

    def trained(data: Any, evals: Any, **given: Any) -> Any:
        sets = [(lgb.Dataset(evals, Y[NEW]), "v")]
        return al.train(P, lgb.Dataset(data, Y[OLD]), 3, evals=sets, **asked, **given)

    def remedied(error: Any, rows: Any) -> Any:
        names = eval(re.search(r"pass X\[(\[.*?\])\], of Arrow X.select", str(error.value))[1])
        return rows.select(names) if kind == "arrow" else rows[names]

    model = trained(table, held_out)
    turned = turned_columns(held_out)
    with pytest.raises(ValueError, match=r"^evals 'v' has the columns of data in another") as found:
        trained(table, turned)
    trained(table, remedied(found, turned))
    turned = turned_columns(table)
    for earlier in (model, al.LGBMRegressor(objective=QWK, **L).fit(table, Y[OLD])):
        again: list[Callable[[Any], Any]] = [
            lambda rows, e=earlier: al.train(
                P, lgb.Dataset(rows, Y[OLD]), 1, objective=QWK, init_model=e),
            lambda rows, e=earlier: al.LGBMRegressor(objective=QWK, **L).fit(
                rows, Y[OLD], init_model=e),
        ]  # fmt: skip
        for go_on in again:
            with pytest.raises(ValueError, match="^X has the columns of init_model in") as found:
                go_on(turned)
            go_on(remedied(found, turned))


@each("kind", TABLES)
def test_a_fit_that_goes_on_has_its_columns_in_order(kind: str) -> None:
    table = TABLES[kind](F)
    model = ask.HistGradientBoostingRegressor(objective=QWK, max_iter=4, warm_start=True)
    model.fit(table, Y).set_params(max_iter=5)
    with pytest.raises(ValueError, match="X has the columns of the training rows in another order"):
        model.fit(turned_columns(table), Y)
    model.fit(table, Y)


@pytest.mark.slow
@each("kind", ["pandas", "polars", "arrow"])
def test_served_models_and_folders_read_tables(kind: str, tmp_path: Any) -> None:
    table = TABLES[kind](F)
    booster = al.train(P, lgb.Dataset(table, Y), 8, objective=QWK)
    estimators = [al.LGBMRegressor(objective=QWK, **L).fit(table, Y), *(
        MODELS[name]().fit(table, Y) for name in ("XGBRegressor", "QWKClassifier"))]  # fmt: skip
    for k, model in enumerate([serving.ServedModel(booster), *estimators]):
        folder = tmp_path / f"{kind}{k}"
        serving.export(model, folder, table)
        loaded = serving.load(folder)
        np.testing.assert_allclose(loaded.predict(table), model.predict(table), rtol=1e-6)
        turned = partial(loaded.predict, turned_columns(table))
        matched = same_or_said(partial(model.predict, table), turned)
        assert matched == (k < 2)


def test_names_of_columns() -> None:
    assert tables.column_names(X) is None
    assert tables.column_names([[1]]) is None
    assert tables.column_names(F) == list("abcd")
    assert tables.column_names(numbered(F)) == [0, 1, 2, 3]
    for make in (polars_frame, arrow_table):
        assert tables.column_names(make(F)) == list("abcd")
    assert tables.in_order(["a b", 1], ["1", "a_b"]) == ["a_b", "1"]
    assert tables.in_order(["a", "b"], ["a", "b"]) is None
    assert tables.in_order(["a", "b"], ["c", "a"]) is None
    assert tables.in_order(None, ["a"]) is tables.in_order(["a"], None) is None
    assert arranged(["b", "a"], X) is X
    with pytest.raises(ValueError, match=r"X lacks the model's columns \['e'\]: pass all, by name"):
        arranged(["a", "e"], F)


def test_a_segment_or_a_class_is_a_column_of_any_table() -> None:
    two = pd.DataFrame({"s": Y > 1, "t": Y > 2}).astype(int)
    p = B * 0.6 + 0.2
    wanted = go.calibration.calibration_ratio_by_segment(B, p, two).ratio
    for make in (polars_frame, arrow_table):
        found = go.calibration.calibration_ratio_by_segment(B, p, make(two)).ratio
        np.testing.assert_allclose(found, wanted, rtol=1e-12)
        with pytest.raises(ValueError, match="would be read as that of the classes"):
            go.calibration.normalized_entropy(B, make(pd.DataFrame({"1": p, "0": 1 - p})))


# --- rows


def series(values: Any, order: Any = slice(None)) -> pd.Series:
    return pd.Series(np.asarray(values)).iloc[order]


def squares(y_true: Any, f: Any, w: Any, cost: Any) -> Any:
    return cost * (f - y_true), cost


SQUARED = go.objective(squares, link="identity", rows=["cost"])
SQUARE = go.objective(lambda y_true, f, w: (f - y_true, np.ones_like(f)), link="identity")
COST = np.where(Y > 1, 9.0, 0.1)
HALF = ORDER[ORDER < 100]
ROWS: dict[str, Callable[[Any], Any]] = {
    "label of a Dataset": lambda at: al.train(
        P, lgb.Dataset(F, series(Y, at)), 2, objective=QWK),
    "weight of a Dataset": lambda at: al.train(
        P, lgb.Dataset(F, series(Y), weight=series(COST, at)), 2, objective=QWK),
    "init_score of a Dataset": lambda at: al.train(
        P, lgb.Dataset(F, series(Y), init_score=series(S, at)), 2, objective=QWK),
    "label of a Dataset of cv": lambda at: al.cv(
        P, lgb.Dataset(F, series(Y, at)), 2, objective=QWK, metric=METRIC, stratified=False),
    "values of an objective": lambda at: al.LGBMRegressor(
        objective=SQUARED.with_rows({"cost": series(COST, at)}), **L).fit(F, series(Y)),
    "values of an objective, Dataset": lambda at: al.train(
        P, lgb.Dataset(F, Y), 2, objective=SQUARED.with_rows({"cost": series(COST, at)})),
    "values of an objective, in a process": lambda at: al.LGBMRegressor(objective=pickle.loads(
        pickle.dumps(SQUARED.with_rows({"cost": series(COST, at)}))), **L).fit(F, series(Y)),
    "values of fit": lambda at: ax.XGBRegressor(objective=SQUARED, **G).fit(
        F, series(Y), cost=series(COST, at)),
    "values of scikit-learn's fit": lambda at: ask.HistGradientBoostingRegressor(
        objective=SQUARED, max_iter=2).fit(F, series(Y), cost=series(COST, at)),
    "rates of an objective": lambda at: ax.XGBClassifier(objective=go.offset_logloss_objective(
        series(COST / 10, at)), **G).fit(F, series(B)),
    "base_margin": lambda at: ax.XGBRegressor(objective=QWK, **G).fit(
        F, series(Y), base_margin=series(np.full(N, 1.5), at)),
    "an objective by hand": lambda at: QWK(series(Y), series(S, at)),
    "values of an objective by hand": lambda at: SQUARED.with_rows({"cost": series(COST, at)})(
        series(Y), S),
    "fit of LightGBM's own": lambda at: lgb.LGBMRegressor(objective=QWK, **L).fit(
        F, series(Y, at)),
    "evaluation set of LightGBM's own": lambda at: lgb.LGBMRegressor(objective=QWK, **L).fit(
        F, series(Y), eval_set=[(F, series(Y, at))]),
    "fit of XGBoost's own": lambda at: xgb.XGBClassifier(objective=ODDS, **G).fit(
        F, series(B), sample_weight=series(COST, at)),
    "group": lambda at: go.QWKClassifier(lgb.LGBMRegressor(**L), cv=2).fit(
        F, series(Y), groups=series(np.arange(N) // 2, at)),
    "cross_validate": lambda at: go.cross_validate_thresholds(
        series(Y), series(S, at), cv=2, n_bootstrap=0),
}  # fmt: skip
for _name in MODELS:
    _y = Y if "Regressor" in _name or "QWK" in _name else B
    ROWS[f"score of {_name}"] = lambda at, name=_name, y=_y: MODELS[name]().fit(F, y).score(
        F, series(y, at))  # fmt: skip
HELD_OUT: dict[str, Callable[[Any], Any]] = {
    "weights, LightGBM": lambda at: al.LGBMRegressor(objective=QWK, **L).fit(
        F, series(Y), eval_set=[(F[OLD], series(Y)[OLD]), (F[:100], series(Y)[:100])],
        eval_sample_weight=[series(COST)[OLD], series(COST).loc[at]], eval_metric=METRIC),
    "weights, XGBoost": lambda at: ax.XGBRegressor(objective=QWK, eval_metric=METRIC, **G).fit(
        F, series(Y), eval_set=[(F[:100], series(Y)[:100])],
        sample_weight_eval_set=[series(COST).loc[at]], verbose=False),
    "start, LightGBM": lambda at: lgb_fit_start(series(np.full(N, 1.5)).loc[at]),
    "weights, DownsampledClassifier": lambda at: stopping().fit(
        F, series(B), eval_set=[(F[:100], series(B)[:100])],
        eval_sample_weight=series(COST).loc[at]),
}  # fmt: skip


def stopping() -> Any:
    booster = lgb.LGBMClassifier(early_stopping_rounds=3, **L)
    return go.DownsampledClassifier(booster, 0.9, random_state=0, correction="offset")


def lgb_fit_start(start: pd.Series) -> Any:
    return al.LGBMRegressor(**L).fit(
        F, series(Y), init_score=series(np.full(N, 1.5)), eval_set=[(F[:100], series(Y)[:100])],
        eval_init_score=[start],
    )  # fmt: skip


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")
@each("door", [*ROWS, *HELD_OUT])
def test_rows_labelled_in_another_order_are_refused(door: str) -> None:
    """And those in order are taken."""
    call, at, right = ROWS.get(door), ORDER, slice(None)
    if call is None:
        call, at, right = HELD_OUT[door], HALF, range(100)
    call(right)
    with pytest.raises(ValueError, match=r"the same index in another order, .*pass .*\.loc\["):
        call(at)


TWICE = np.arange(N) // 2
"""An index in which each label occurs twice, as of two tables that were put together."""


def test_an_index_that_occurs_twice() -> None:
    frame, y = F.set_axis(TWICE), pd.Series(Y, index=TWICE)
    turned = y.iloc[ORDER]
    model = al.LGBMRegressor(objective=QWK, **L)
    wanted = model.fit(F, Y).predict(F)
    np.testing.assert_allclose(model.fit(frame, y).predict(frame), wanted, rtol=1e-12)
    said = r"^X and y have the same index in another order, .*: pass y\.to_numpy\(\) if they are"
    with pytest.raises(ValueError, match=said):
        model.fit(frame, turned)
    model.fit(frame.iloc[ORDER], turned)
    model.fit(frame, turned.to_numpy())  # the remedy
    with pytest.raises(ValueError, match=r"y_true and y_pred have the same index"):
        go.quadratic_weighted_kappa(y, turned)


@pytest.mark.filterwarnings("error")
def test_indexes_that_say_nothing_of_the_order_are_right() -> None:
    """Those of other rows, of parts, or of evaluation sets, which have their own."""
    y = series(Y)
    part = pd.concat([y[:200], y[:100]])  # as often in all, not each
    other = pd.concat([y[:100], y[:200]]).iloc[ORDER]
    moved = series(Y, ORDER).reset_index(drop=True)
    named = y.set_axis(pd.MultiIndex.from_arrays([TWICE, np.arange(N) % 2]))
    dates = y.set_axis(pd.date_range("2020", periods=N))
    for one, two in (
        (y, y.rename(lambda k: k + 1)), (y, y.rename(lambda k: k + N)), (y, moved), (y, named),
        (y.rename(lambda k: k // 2), y.rename(lambda k: k // 3)), (y, dates), (named, named),
        (part, y.iloc[ORDER].set_axis(other.index[::-1] + 1)),
    ):  # fmt: skip
        go.quadratic_weighted_kappa(one, two)
    twin = F[:100].iloc[::-1]  # of other rows, numbered alike
    al.LGBMRegressor(objective=QWK, **L).fit(
        F[:100], y[:100], eval_X=(twin, twin.iloc[::-1]), eval_y=(y[99::-1], y[:100]),
    ) if "eval_X" in signature(al.LGBMRegressor.fit).parameters else None  # fmt: skip
    go.QWKClassifier(lgb.LGBMRegressor(**L), cv=2).fit(F, series(Y), sample_weight=COST)


def test_weights_of_an_evaluation_set_are_not_those_of_the_training_rows() -> None:
    """Though both are numbered alike, in different orders."""
    order = np.random.default_rng(1).permutation(100)
    held_out = F[200:].set_axis(order), series(B)[200:].set_axis(order)
    weights = series(COST)[200:].set_axis(order)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        stopping().fit(F[:100], series(B)[:100], eval_set=[held_out], eval_sample_weight=weights)


# --- labels (n, 1)

COLUMN_DOORS: dict[str, Callable[[Any], Any]] = {
    "kappa": lambda y: go.quadratic_weighted_kappa(y, Y),
    "a metric": lambda y: METRIC(y, S),
    "thresholds": lambda y: go.optimize_thresholds(y, S).values,
    "an objective": lambda y: QWK.measured(y).intercept,
    "a calibrator": lambda y: go.calibration.LogitCalibrator().fit(B * 0.6 + 0.2, y > 1).predict(
        [0.3]),
    "negative_downsample": lambda y: go.negative_downsample(y > 1, 0.99, random_state=0),
    "QWKClassifier": lambda y: go.QWKClassifier(lgb.LGBMRegressor(**L), cv=2).fit(F, y).predict(F),
    "score": lambda y: go.QWKClassifier(lgb.LGBMRegressor(**L), cv=2).fit(F, Y).score(F, y),
    "score, LightGBM": lambda y: al.LGBMRegressor(objective=QWK, **L).fit(F, Y).score(F, y),
    "score, ThresholdClassifier": lambda y: go.ThresholdClassifier().fit(S, y).score(S, y),
    "cross_val_score": lambda y: cross_val_score(
        go.QWKClassifier(lgb.LGBMRegressor(**L), cv=2), F, y, cv=2),
    "evaluation set, LightGBM": lambda y: fit_with("lightgbm", F[OLD], F[NEW], y),
    "evaluation set, its own": lambda y: fit_with("its own", F[OLD], F[NEW], y),
    "evaluation set, XGBoost": lambda y: fit_with("xgboost", F[OLD], F[NEW], y),
    "evaluation set, scikit-learn": lambda y: fit_with("sklearn", F[OLD], F[NEW], y),
    "evaluation set, LGBMClassifier": lambda y: al.LGBMClassifier(objective=ODDS, **L).fit(
        F[OLD], B[OLD], eval_set=[(F[NEW], y[NEW] > 1)], eval_metric=go.weighted_logloss_metric(1)
        ).evals_result_["valid_0"]["weighted_logloss"],
    **{f"fit, {name}": lambda y, name=name: MODELS[name]().fit(
        F, y > 1 if "Classifier" in name else y).predict(F)
       for name in MODELS if "QWK" not in name},
}  # fmt: skip


@pytest.mark.slow
@pytest.mark.filterwarnings(
    "error", "ignore:.*eval_set:", "ignore:.*keyword", "ignore:the fitted",
    "ignore:A column-vector",  # which scikit-learn wants of estimators
)  # fmt: skip
@each("door", COLUMN_DOORS)
def test_labels_may_be_a_column(door: str) -> None:
    """As scikit-learn takes them."""
    call = COLUMN_DOORS[door]
    wanted = call(Y)
    frame: Any = pd.DataFrame({"t": Y})
    for y in (Y[:, None], frame):
        np.testing.assert_allclose(np.asarray(call(y), float), np.asarray(wanted, float))


def test_labels_of_polars_and_arrow_may_be_a_column() -> None:
    wanted = cohen_kappa_score(Y, Y[::-1], weights="quadratic")
    for make in (polars_frame, arrow_table):
        found = go.quadratic_weighted_kappa(make(pd.DataFrame({"t": Y})), Y[::-1])
        assert found == pytest.approx(wanted, rel=1e-12)


@pytest.mark.slow
def test_columns_of_arrow_are_labels_and_weights() -> None:
    arrow = pytest.importorskip("pyarrow")
    for make in (arrow.array, lambda values: arrow.chunked_array([values])):
        for name in ("LGBMRegressor", "XGBRegressor", "HistGradientBoostingRegressor"):
            wanted = MODELS[name]().fit(X, Y, sample_weight=COST).predict(X)
            found = MODELS[name]().fit(X, make(Y), sample_weight=make(COST)).predict(X)
            np.testing.assert_allclose(found, wanted, rtol=1e-12)


def test_two_columns_of_labels_are_refused_with_the_remedy() -> None:
    for frame in (pd.DataFrame({"t": Y, "u": Y}), pd.DataFrame({1: Y, 2: Y}), np.c_[Y, Y],
                  *(make(pd.DataFrame({"t": Y, "u": Y})) for make in (polars_frame, arrow_table))
                  ):  # fmt: skip
        with pytest.raises(ValueError, match="pass one column, such as ") as found:
            go.quadratic_weighted_kappa(frame, Y)
        remedy = re.search(r"such as (.*?);", str(found.value))[1]
        assert go.quadratic_weighted_kappa(eval(remedy, {"y_true": frame, "numpy": np}), Y) == 1
    with pytest.raises(ValueError, match="1d array|one-dimensional"):
        al.LGBMRegressor(objective=QWK, **L).fit(F, np.c_[Y, Y])


# --- the other byte order


def other(values: Any) -> Any:
    """The same numbers, in the order of bytes that this machine does not have."""
    array = np.asarray(values)
    return array.astype(array.dtype.newbyteorder("S"))


def of_other(frame: pd.DataFrame) -> pd.DataFrame:
    return pd.DataFrame({name: other(frame[name]) for name in frame})


BYTES: dict[str, Callable[[Any, Any], Any]] = {
    **{f"fit, {name}": lambda a, f, name=name: MODELS[name]().fit(
        f(F), a(B if "Classifier" in name else Y), sample_weight=a(COST)).predict(F)
       for name in MODELS},
    **{f"predict, {name}": lambda a, f, name=name: MODELS[name]().fit(F, B).predict(f(F))
       for name in MODELS},
    "arrays": lambda a, f: ax.XGBRegressor(**G).fit(a(X), a(Y * 1.0)).predict(a(X)),
    "integers": lambda a, f: ax.XGBRegressor(**G).fit(a(np.rint(9 * X).astype(int)), Y).predict(X),
    "wrapped": lambda a, f: go.QWKClassifier(xgb.XGBRegressor(**G), cv=2).fit(a(X), a(Y)).predict(
        a(X)),
    "served": lambda a, f: serving.ServedModel(ax.train(
        {"nthread": 1}, xgb.DMatrix(X, Y), 3, objective=QWK)).predict(a(X)),
    "base_margin": lambda a, f: ax.XGBRegressor(objective=QWK, **G).fit(
        X, Y, base_margin=a(np.linspace(1, 2, N))).predict(X),
    "evaluation set": lambda a, f: fit_with("xgboost", f(F[OLD]), f(F[NEW]), a(Y)),
    "weights of one": lambda a, f: ax.XGBRegressor(objective=QWK, eval_metric=METRIC, **G).fit(
        F, Y, eval_set=[(F, Y)], sample_weight_eval_set=[a(COST)], verbose=False
        ).evals_result()["validation_0"]["extended_qwk"],
    "train": lambda a, f: al.train(P, lgb.Dataset(a(X), a(Y * 1.0), weight=a(COST)), 3,
                                   objective=QWK).predict(a(X)),
    "values of rows": lambda a, f: ax.XGBRegressor(
        objective=SQUARED.with_rows({"cost": a(COST)}), **G).fit(X, Y).predict(X),
    "kappa": lambda a, f: go.quadratic_weighted_kappa(a(Y), a(Y[::-1])),
}  # fmt: skip


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")
@each("door", BYTES)
def test_numbers_of_the_other_byte_order_are_read(door: str) -> None:
    same = np.asarray
    found, wanted = BYTES[door](other, of_other), BYTES[door](same, lambda frame: frame)
    np.testing.assert_allclose(np.asarray(found, float), np.asarray(wanted, float), rtol=1e-6)


def test_what_is_in_order_is_passed_on_as_it_is() -> None:
    given = F, X, [(F, Y)], {"a": Y}, "text", None, pd.Series(Y, dtype="category"), 3
    for value in given:
        assert tables.native(value) is value
    assert tables.read("score", Y[:, None]).shape == (N, 1)
    assert tables.read("y", Y[:, None]).shape == (N,)
    assert accuracy_score(tables.flat_labels(pd.DataFrame({"t": Y})), Y) == 1


# --- categories of an earlier model

WORDS = np.array(["u", "v", "w"])[Y % 3]
MEANS = np.array([0.0, 5.0, 1.0])[Y % 3] + 0.1 * X[:, 0]


def coded(categories: Any, rows: Any = slice(None)) -> pd.DataFrame:
    words = np.asarray(WORDS[rows])
    return pd.DataFrame({"x": X[rows, 0], "c": pd.Categorical(words, categories)})


def constructed(data: pd.DataFrame) -> lgb.Dataset:
    return lgb.Dataset(data, MEANS, params=P, free_raw_data=False).construct()


GO_ON: dict[str, Callable[[Any, Any], Any]] = {
    "train": lambda data, earlier: al.train(
        {**P, "learning_rate": 1e-9}, lgb.Dataset(data, MEANS), 1, init_model=earlier,
        objective=SQUARE),
    "train, constructed": lambda data, earlier: al.train(
        {**P, "learning_rate": 1e-9}, constructed(data), 1, init_model=earlier,
        objective=SQUARE),
    "estimator": lambda data, earlier: al.LGBMRegressor(
        objective=SQUARE, **{**L, "n_estimators": 1, "learning_rate": 1e-9}
        ).fit(data, MEANS, init_model=earlier),
    "plain": lambda data, earlier: lgb.train(
        {**P, "learning_rate": 1e-9, "objective": SQUARE},
        lgb.Dataset(data, MEANS), 1, init_model=earlier),
}  # fmt: skip


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:boosting starts at")
@each("door", GO_ON)
def test_categories_of_an_earlier_model_keep_their_numbers(door: str) -> None:
    """LightGBM numbers those of the data; its earlier trees would take one for another."""
    params, own = {**P, "min_data_per_group": 1}, coded(list("uvw"))
    earlier = lgb.train(params, lgb.Dataset(own, MEANS), 5)
    for right in (own, coded(list("uvwz")), own[WORDS != "w"].assign(
            c=lambda rows: rows.c.cat.remove_unused_categories())):  # fmt: skip
        if len(right) == N:
            found = GO_ON[door](right, earlier).predict(right)
            np.testing.assert_allclose(found, earlier.predict(own), atol=1e-6)
    for wrong in (coded(list("wuv")), coded(list("zuvw"))):
        with pytest.raises(ValueError, match=r"init_model was trained on the categories") as found:
            GO_ON[door](wrong, earlier)
        remedy = re.search(r"pass (X\.assign\(.*\))$", str(found.value))[1]
        again = eval(remedy, {"X": wrong})
        went_on = GO_ON[door](again, earlier).predict(again)
        np.testing.assert_allclose(went_on, earlier.predict(own), atol=1e-6)


# --- CatBoost, which takes columns by name itself


@pytest.mark.slow
def test_catboost(tmp_path: Any) -> None:
    pytest.importorskip("catboost")
    from gbdt_objectives.adapters import catboost as ac

    given = {"iterations": 8, "depth": 3, "verbose": 0, "allow_writing_files": False}

    def fit(y: Any = Y, rows: Any = F, **others: Any) -> Any:
        metric = go.metrics.squared_error_metric() if others else None
        model = ac.CatBoostRegressor(objective=SQUARE, eval_metric=metric, thread_count=1, **given)
        return model.fit(rows, y, **others)

    wanted = fit().predict(F)
    for y in (Y[:, None], pd.DataFrame({"t": Y}), other(Y), series(Y)):
        np.testing.assert_allclose(fit(y).predict(F[TURNED]), wanted, rtol=1e-9)
    for rows in (numbered(F), polars_frame(F)):
        model = fit(Y, rows)
        np.testing.assert_allclose(model.predict(turned_columns(rows)), wanted, rtol=1e-9)
    fit(Y, eval_set=[(F[NEW], series(Y)[NEW])])
    for wrong in (lambda: fit(series(Y, ORDER)), lambda: fit().score(F, series(Y, ORDER)),
                  lambda: fit(eval_set=[(F[:100], series(Y).loc[HALF])])):  # fmt: skip
        with pytest.raises(ValueError, match="the same index in another order"):
            wrong()
