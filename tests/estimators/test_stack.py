"""Several classifiers in one CalibratedClassifier."""

from __future__ import annotations

import pickle
import warnings
from functools import partial

import lightgbm as lgb
import numpy as np
import pandas as pd
import pytest
import xgboost as xgb
from hypothesis import given, strategies as st
from scipy.optimize import minimize
from scipy.sparse import csr_matrix
from scipy.special import expit, logit
from sklearn.base import clone
from sklearn.compose import make_column_selector, make_column_transformer
from sklearn.dummy import DummyClassifier
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.metrics import log_loss
from sklearn.model_selection import GridSearchCV, GroupKFold, StratifiedKFold, TimeSeriesSplit
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler
from sklearn.tree import DecisionTreeClassifier
from sklearn.utils import get_tags

from gbdt_objectives import CalibratedClassifier, offset_logloss_objective, serving
from gbdt_objectives.adapters import lightgbm as lightgbm_adapter
from gbdt_objectives.calibration import LogitCalibrator, TemperatureCalibrator
from gbdt_objectives.estimators import _base
from gbdt_objectives.estimators._stack import fit_blend
from tests.cases import each, refusals, refused
from tests.estimators.checks import COPIES, TAGS, check_all

pytestmark = pytest.mark.slow

XGB = partial(xgb.XGBClassifier, n_estimators=20, max_depth=3, n_jobs=1)
LGBM = partial(lgb.LGBMClassifier, n_estimators=20, n_jobs=1, verbose=-1)
TREE = DecisionTreeClassifier(max_depth=3, min_samples_leaf=20, random_state=0)


def linear():
    return make_pipeline(StandardScaler(), LogisticRegression())


def both(trees=LGBM):
    return [("trees", trees()), ("linear", linear())]


def made(n, seed=0):
    """A line and a bend; a quarter are ones."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 4))
    margin = X[:, 0] + X[:, 2] + 2 * np.abs(X[:, 1]) - 3.2
    return X, (rng.random(n) < expit(margin)).astype(int)


@pytest.fixture(scope="module")
def data():
    return made(1200)


@pytest.fixture(scope="module")
def new():
    return made(5000, seed=1)


@pytest.fixture(scope="module")
def stack(data):
    return CalibratedClassifier(both()).fit(*data)


# --- the weights ------------------------------------------------------------------------------


def named(M):
    return [(f"member {j}", None) for j in range(M)]


def likelihood(z, y, w, offset):
    def loss(theta):
        m = z @ theta[:-1] + theta[-1] + offset
        return float(w @ (np.logaddexp(0, m) - y * m)) / w.sum()

    return loss


@given(st.integers(0, 2**32 - 1), st.integers(2, 4), st.sampled_from([1.0, 0.2]))
def test_the_blend_is_the_logistic_regression_with_weights_from_0(seed, M, rate) -> None:
    """By another minimiser, SLSQP; weights are copies, units of members do not count."""
    rng = np.random.default_rng(seed)
    z, w = rng.normal(size=(150, M)) + 1, rng.integers(0, 4, 150)
    y = (rng.random(150) < expit(z @ rng.normal(size=M) - 1)).astype(int)
    if len(set(y[w > 0])) < 2:
        return
    unit = 10.0 ** rng.integers(-3, 1, M)
    rates = {} if rate == 1 else {"negative_keep_rate": rate}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        found = fit_blend(named(M), z * unit, y, w.astype(float), rates)
        copies = np.repeat(np.arange(150), w)
        same = fit_blend(named(M), z[copies] * unit, y[copies], None, rates)
    loss = likelihood(z, y, w, -np.log(rate))
    best = minimize(loss, np.append(np.ones(M), 0.0), method="SLSQP", tol=1e-12,
                    bounds=[(0, None)] * M + [(None, None)])  # fmt: skip
    np.testing.assert_allclose(found["weights_"], same["weights_"], rtol=1e-6, atol=1e-9)
    if best.x[:-1].max() < 1e-6:
        np.testing.assert_array_equal(found["weights_"], np.full(M, 1 / M))
        return
    own = np.append(found["weights_"] * unit, found["intercept_"])
    assert loss(own) <= best.fun + 1e-9
    np.testing.assert_allclose(own, best.x, atol=2e-3)
    assert (found["weights_"] >= 0).all()


@each("rate", [None, 0.1])
def test_no_grid_has_a_better_blend(data, stack, rate) -> None:
    X, y = data
    rates = {} if rate is None else {"negative_keep_rate": rate}
    folds = StratifiedKFold(5, shuffle=True, random_state=0).split(X, y)
    z = np.empty((len(y), 2))
    for fold, (_, test) in zip(stack.estimators_, folds, strict=True):
        z[test] = np.column_stack([logit(m.predict_proba(X[test])[:, 1]) for m in fold])
    found = CalibratedClassifier(both()).fit(X, y, **rates)
    loss = likelihood(z, y, np.ones(len(y)), 0 if rate is None else -np.log(rate))
    at = np.append(found.weights_, found.intercept_)
    steps = np.stack(np.meshgrid(*[np.linspace(-0.2, 0.2, 9)] * 3), axis=-1).reshape(-1, 3)
    assert min(loss(at + step) for step in steps) >= loss(at) - 1e-12


@pytest.fixture(scope="module")
def even(data):
    """Rows whose folds have the same share of ones."""
    X, y = data
    rows = np.r_[np.flatnonzero(y)[:250], np.flatnonzero(y == 0)[:800]]
    return X[rows], y[rows]


def test_members_that_say_the_same_and_one_that_says_nothing(even) -> None:
    X, y = even
    with pytest.warns(UserWarning, match=r"weights_ is 0 for \['mean'\]: leave out"):
        found = CalibratedClassifier([("mean", DummyClassifier()), ("linear", linear())]).fit(X, y)
    assert found.weights_[0] == 0 < found.weights_[1]
    for fold in found.estimators_:
        fold[0] = None  # it is not asked
    assert np.isfinite(found.predict_proba(X)).all()
    twice = CalibratedClassifier([("a", linear()), ("b", linear())]).fit(X, y)
    alone = CalibratedClassifier([("a", linear()), ("mean", DummyClassifier())])
    with pytest.warns(UserWarning, match="weights_ is 0"):
        alone.fit(X, y)
    assert twice.weights_.sum() == pytest.approx(alone.weights_[0], rel=1e-6)
    np.testing.assert_allclose(twice.predict_proba(X), alone.predict_proba(X), rtol=1e-6)


def test_members_that_have_learnt_nothing_count_alike() -> None:
    rng = np.random.default_rng(0)
    z, y = -rng.normal(size=(400, 2)), np.arange(400) % 2
    z[:, 0] -= y
    z[:, 1] -= y
    with pytest.warns(UserWarning, match="no member rise with the label: all count alike"):
        found = fit_blend(named(2), z, y, None, {})
    np.testing.assert_array_equal(found["weights_"], [0.5, 0.5])


def test_labels_that_members_separate() -> None:
    """No likelihood is the greatest: Platt's targets, as for LogitCalibrator."""
    X = np.repeat([[-1.0, 1.0], [1.0, -1.0]], 300, axis=0)
    X += np.random.default_rng(0).normal(size=X.shape) / 10
    y = (X[:, 0] > 0).astype(int)
    found = CalibratedClassifier([("tree", LGBM()), ("linear", linear())]).fit(X, y)
    p = found.predict_proba(X)[:, 1]
    assert np.isfinite(found.weights_).all()
    assert found.weights_.max() < 20
    assert ((p > 0.5) == y).all()


@pytest.mark.filterwarnings("ignore:predict_proba of .* is 0 or 1 in every row")  # on purpose
@each("certain", [RandomForestClassifier(20, random_state=0), KNeighborsClassifier(3),
                  DecisionTreeClassifier(random_state=0)])  # fmt: skip
def test_members_that_are_certain(data, new, certain) -> None:
    """They have no log-odds there: they get those next to certainty, or of either sign."""
    X, y = data
    alone, stacked = (
        CalibratedClassifier(own).fit(X, y).predict_proba(new[0])
        for own in (linear(), [("linear", linear()), ("certain", certain)])
    )
    assert log_loss(new[1], stacked) < log_loss(new[1], alone) - 0.005
    found = CalibratedClassifier([("linear", linear()), ("certain", certain)]).fit(X, y)
    expected = {RandomForestClassifier: logit(0.95), KNeighborsClassifier: np.log(2)}
    limit = expected.get(type(certain), 1.0)
    assert found.limits_.tolist() == pytest.approx([2 * np.log(2400), limit])


def test_outliers_of_a_line_do_not_stretch_the_average(data, new) -> None:
    """A row has log-odds of -97 in the fold that has not seen it, as in a file of the study."""
    X, y = data
    far = X.copy()
    far[np.flatnonzero(y == 0)[0], 0] = -200
    expected, found = (CalibratedClassifier(both()).fit(own, y) for own in (X, far))
    assert found.stretch_ == pytest.approx(expected.stretch_, abs=0.02)
    loss, before = (log_loss(new[1], own.predict_proba(new[0])) for own in (found, expected))
    assert loss < before + 0.01


# --- the path ---------------------------------------------------------------------------------


@each("trees", [XGB, LGBM])
@each("ensemble", [True, False])
@each("weighted", [True, False])
def test_the_path_written_out(data, new, trees, ensemble, weighted, monkeypatch) -> None:
    """Members on the same folds, the blend, the stretched mean of folds, then the calibrator."""
    monkeypatch.setattr(_base, "STRETCH_ROWS", 1200)  # all
    X, y = data
    w = np.random.default_rng(0).uniform(0.1, 3, len(y)) if weighted else None
    found = CalibratedClassifier(both(trees), LogitCalibrator(), cv=3, ensemble=ensemble)
    found.fit(X, y, w)
    z, of_new, of_each = np.empty((len(y), 2)), [], []

    def fitted(rows):
        own = None if w is None else w[rows]
        model = LogisticRegression().fit(scaler(rows).transform(X[rows]), y[rows], own)
        return trees().fit(X[rows], y[rows], sample_weight=own), make_pipeline(scaler(rows), model)

    def scaler(rows):
        return StandardScaler().fit(X[rows])

    def odds(models, X):
        return np.column_stack([logit(m.predict_proba(X).astype(float)[:, 1]) for m in models])

    for train, test in StratifiedKFold(3, shuffle=True, random_state=0).split(X, y):
        models = fitted(train)
        z[test] = odds(models, X[test])
        of_new.append(odds(models, new[0]))
        of_each.append(odds(models, X))
    beta, c = found.weights_, found.intercept_
    own = np.append(beta, c)
    v = np.ones(len(y)) if w is None else w
    loss = likelihood(z, y, v, 0)
    assert loss(own) <= minimize(loss, own, method="BFGS").fun + 1e-7
    o = z @ beta + c
    np.testing.assert_allclose(found.oof_probability_, expit(o), rtol=1e-4)
    calibrator = LogitCalibrator().fit(found.oof_probability_, y, w)
    if ensemble:
        center = np.average(o, weights=v)
        each = np.array(of_each) @ beta + c
        product = [v @ ((o - center) * (x - np.average(x, weights=v))) for x in (o, each.mean(0))]
        stretch = np.sqrt(product[0] / product[1])
        assert found.stretch_ == pytest.approx(max(1, stretch), rel=1e-3)
        mean = np.mean(of_new, axis=0) @ beta + c
        expected = expit(center + found.stretch_ * (mean - center))
    else:
        expected = expit(odds(fitted(np.arange(len(y))), new[0]) @ beta + c)
        assert [type(m).__name__ for m in found.estimator_][1] == "Pipeline"
    np.testing.assert_allclose(
        found.predict_proba(new[0])[:, 1], calibrator.predict(expected), rtol=1e-3
    )


@each("ensemble", [True, False])
@each("given", [{}, {"sample_weight": 1}, {"negative_keep_rate": 0.5}, {"groups": 1}])
def test_a_list_of_one_is_that_one(data, new, ensemble, given) -> None:
    X, y = data
    rng = np.random.default_rng(0)
    given = {name: value if name[0] == "n" else rng.integers(1, 99, len(y))
             for name, value in given.items()}  # fmt: skip
    one, listed = (
        CalibratedClassifier(model, ensemble=ensemble, cv=3).fit(X, y, **given)
        for model in (LGBM(), [("trees", LGBM())])
    )
    np.testing.assert_array_equal(one.predict_proba(new[0]), listed.predict_proba(new[0]))
    np.testing.assert_array_equal(one.oof_probability_, listed.oof_probability_)
    assert listed.weights_.tolist() == [1]
    assert not hasattr(one, "weights_")


@each("trees", [XGB, LGBM])
def test_trees_and_a_line_are_better_together(new, trees) -> None:
    """Over five samples ahead of either member, by two errors."""
    gains = []
    for seed in range(2, 7):
        X, y = made(800, seed)
        losses = [
            log_loss(new[1], CalibratedClassifier(own, cv=3).fit(X, y).predict_proba(new[0]))
            for own in (trees(), linear(), both(trees))
        ]
        gains.append(min(losses[:2]) - losses[2])
    assert np.mean(gains) > 2 * np.std(gains, ddof=1) / np.sqrt(len(gains))


@pytest.mark.filterwarnings("ignore:.* drops rows of 0, of which")  # the sample has fewer
def test_rates_are_those_of_the_population(new) -> None:
    """Members may be of the sample or corrected: the intercept is of the population."""
    X, y = made(30_000, seed=3)
    kept = (y == 1) | (np.random.default_rng(0).random(len(y)) < 0.1)
    corrected = lightgbm_adapter.LGBMClassifier(
        objective=offset_logloss_objective(0.1), n_estimators=20, n_jobs=1, verbose=-1
    )
    members = [("corrected", corrected), ("linear", linear())]
    for rates in (
        {"negative_keep_rate": 0.1}, {"class_keep_rates": {0: 0.1, 1: 1}},
        {"keep_rate": np.full(kept.sum(), 0.1)},
    ):  # fmt: skip
        found = CalibratedClassifier(members, cv=3).fit(X[kept], y[kept], **rates)
        assert found.predict_proba(new[0])[:, 1].mean() == pytest.approx(new[1].mean(), rel=0.06)
    with pytest.raises(ValueError, match=r"pass negative_keep_rate=0.1 to fit too"):
        CalibratedClassifier(members).fit(X[kept], y[kept])
    balanced = LogisticRegression(class_weight="balanced")
    found = CalibratedClassifier([("trees", LGBM()), ("linear", balanced)]).fit(X, y)
    assert found.predict_proba(new[0])[:, 1].mean() == pytest.approx(new[1].mean(), rel=0.06)


def test_rows_held_out_once_or_given(data, new) -> None:
    X, y = data
    rows = made(800, seed=4)
    group = np.arange(len(y)) // 6
    grouped = CalibratedClassifier(both()).fit(X, y, groups=group)
    splitter = CalibratedClassifier(both(), cv=list(GroupKFold(5).split(X, y, group))).fit(X, y)
    assert len(grouped.estimators_) == len(splitter.estimators_) == 5
    by_time = CalibratedClassifier(both(), cv=TimeSeriesSplit(3)).fit(X, y)
    assert len(by_time.estimator_) == 2
    assert np.isnan(by_time.oof_probability_[:300]).all()
    w = 1 + rows[1]
    given = CalibratedClassifier(both()).fit(X, y, eval_set=[rows], eval_sample_weight=[w])
    fitted = [(name, clone(own).fit(X, y)) for name, own in both()]
    prefit = CalibratedClassifier(fitted, cv="prefit").fit(*rows, w)
    np.testing.assert_array_equal(given.predict_proba(new[0]), prefit.predict_proba(new[0]))
    np.testing.assert_array_equal(given.weights_, prefit.weights_)
    assert prefit.estimator_[1] is fitted[1][1]
    columns = CalibratedClassifier(both(), TemperatureCalibrator(), cv=3).fit(X, y)
    assert columns.oof_probability_.shape == (1200, 2)


def test_frames_sparse_and_names(data) -> None:
    X, y = data
    frame = pd.DataFrame(X, columns=list("abcd")).assign(
        k=pd.Categorical(np.where(X[:, 0] > 0, "u", "v"))
    )
    columns = make_column_transformer(
        (StandardScaler(), make_column_selector(dtype_include="number")),
        (OneHotEncoder(), make_column_selector(dtype_include="category")),
    )
    members = [("trees", LGBM()), ("linear", make_pipeline(columns, LogisticRegression()))]
    labels = np.array(["no", "yes"])[y]
    found = CalibratedClassifier(members, cv=3).fit(frame, labels)
    assert found.feature_names_in_.tolist() == [*"abcd", "k"]
    assert set(found.predict(frame)) == {"no", "yes"}
    with pytest.raises(ValueError, match="feature names"):
        found.predict_proba(frame.rename(columns={"a": "z"}))
    line = ("linear", LogisticRegression())
    sparse = CalibratedClassifier([("trees", LGBM()), line], cv=3).fit(csr_matrix(X), y)
    assert sparse.predict_proba(csr_matrix(X)).shape == (1200, 2)
    assert get_tags(
        CalibratedClassifier([("trees", LGBM()), ("more", LGBM())])
    ).input_tags.allow_nan
    assert not get_tags(CalibratedClassifier([("trees", LGBM()), line])).input_tags.allow_nan


def test_clone_parameters_search_and_pickle(data, stack) -> None:
    X, y = data
    assert stack.get_params()["trees__n_estimators"] == 20
    assert "trees__n_estimators" not in stack.get_params(deep=False)
    changed = clone(stack).set_params(trees__n_estimators=3, linear=GaussianNB(), cv=2)
    assert (changed.estimator[0][1].n_estimators, changed.cv) == (3, 2)
    assert isinstance(changed.estimator[1][1], GaussianNB)
    assert stack.estimator[0][1].n_estimators == 20
    grid = {"trees__n_estimators": [1, 20]}
    search = GridSearchCV(CalibratedClassifier(both(), cv=2), grid, cv=2, scoring="neg_log_loss")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        assert search.fit(X, y).best_params_ == {"trees__n_estimators": 20}
    loaded = pickle.loads(pickle.dumps(stack))
    np.testing.assert_array_equal(loaded.predict_proba(X), stack.predict_proba(X))
    again = CalibratedClassifier(both()).fit(X, y)
    np.testing.assert_array_equal(again.predict_proba(X), stack.predict_proba(X))
    assert "linear" in repr(stack)
    assert "LogisticRegression" in stack._repr_html_()
    single = again.set_params(estimator=LGBM()).fit(X, y)
    assert {"weights_", "intercept_", "limits_"}.isdisjoint(vars(single))


@TAGS
def test_check_estimator() -> None:
    members = [("tree", TREE), ("linear", LogisticRegression())]
    reason = "copies of a row can be in different folds, a row of weight 2 is in one"
    check_all(CalibratedClassifier(members, LogitCalibrator(), cv=2), dict.fromkeys(COPIES, reason))


# --- what is served, and what is refused ------------------------------------------------------


def test_folders_hold_boosters_alone(even, stack, tmp_path) -> None:
    X, y = even
    found = CalibratedClassifier([("lgb", LGBM()), ("xgb", XGB())], cv=2).fit(X, y)
    serving.export(found, tmp_path / "boosters")
    loaded = serving.load(tmp_path / "boosters")
    np.testing.assert_allclose(loaded.predict_proba(X), found.predict_proba(X), rtol=1e-12)
    assert loaded.get_params()["xgb__max_depth"] == 3
    with pytest.raises(TypeError, match=r"holds a Pipeline, .*export_onnx\(model, path, X\)"):
        serving.export(stack, tmp_path / "linear")
    serving.export_onnx(stack, tmp_path / "linear.onnx", X)
    with pytest.warns(UserWarning, match="weights_ is 0"):
        unused = CalibratedClassifier([("lgb", LGBM()), ("mean", DummyClassifier())], cv=2).fit(
            X, y
        )
    serving.export(unused, tmp_path / "unused")  # which is not asked, and is in no file
    loaded = serving.load(tmp_path / "unused")
    np.testing.assert_allclose(loaded.predict_proba(X), unused.predict_proba(X), rtol=1e-12)


THREE = np.arange(300) % 3
ROWS = made(300, seed=5)
FITTED = [("a", LogisticRegression().fit(*ROWS)), ("b", LogisticRegression().fit(ROWS[0], THREE))]


@refused(
    ([("a", LGBM()), ("b", Ridge())], {}, "'b' must be a classifier with predict_proba", TypeError),
    ([("a", LGBM()), ("b", GaussianNB)], {}, "'b' must be a classifier with", TypeError),
    ([LGBM(), GaussianNB()], {}, r"no name with a classifier: write pairs, \[\('trees'", TypeError),
    ({"a": LGBM()}, {}, "a classifier or a list of several, found a dict", TypeError),
    ([], {}, "a list of 0"),
    ([("a", LGBM()), ("a", GaussianNB())], {}, "Names provided are not unique"),
    ([("cv", LGBM()), ("a", GaussianNB())], {}, "conflict with constructor arguments"),
    ([("a", LGBM()), ("b", "drop")], {}, "'b': 'drop': leave it out of the list"),
    ([("a", LGBM(early_stopping_rounds=3)), ("b", GaussianNB())], {},
     "estimator 'a' stops early, .* or fit it and pass cv='prefit'"),
    (FITTED, {"cv": "prefit"}, r"has the classes .*\[0, 1, 2\].*: fit all on the same"),
)  # fmt: skip
def test_what_is_refused(data, estimator, options) -> None:
    CalibratedClassifier(estimator, **options).fit(*data)


class Counted(GaussianNB):
    fits = 0

    def fit(self, X, y, sample_weight=None):
        Counted.fits += 1
        return super().fit(X, y, sample_weight)


def test_what_cannot_be_put_together_is_refused_before_the_fit(data) -> None:
    X, y = data
    members = [("bayes", Counted()), ("neighbours", KNeighborsClassifier())]
    three = CalibratedClassifier(members, TemperatureCalibrator())
    with pytest.raises(ValueError, match="supported by a list of .*: pass a single one, or fit"):
        three.fit(X, y + (X[:, 3] > 1))
    with pytest.raises(ValueError, match="KNeighborsClassifier does not accept it: leave it out"):
        CalibratedClassifier(members).fit(X, y, np.ones(len(y)))
    assert Counted.fits == 0


test_names_of_members = refusals(
    (lambda: CalibratedClassifier(both()).set_params(estimator__n_estimators=2),
     "is for a single classifier: of several write NAME__PARAMETER, .* names trees, linear"),
)  # fmt: skip
