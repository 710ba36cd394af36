"""imbalance_shift: what the boosters' parameters against imbalance do, by simulation."""

from __future__ import annotations

import pickle
import warnings
from functools import cache
from types import SimpleNamespace

import lightgbm as lgb
import numpy as np
import pandas as pd
import pytest
import xgboost as xgb
from scipy.sparse import csr_matrix
from scipy.special import expit, logit
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import LinearRegression, LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import gbdt_objectives as go
from gbdt_objectives.adapters import (
    imbalance_shift,
)
from tests.adapters.library import LGB, XGB, Library, both
from tests.cases import each, refused

pytestmark = pytest.mark.slow

BINARY = {"objective": "binary"}
BAGGED = {**BINARY, "neg_bagging_fraction": 0.05, "bagging_freq": 1}
CASES = [
    (XGB, {"objective": "binary:logistic", "scale_pos_weight": 20}, -np.log(20)),
    (XGB, {"objective": "binary:logitraw", "scale_pos_weight": 0.2}, np.log(5)),
    (XGB, {"objective": "reg:logistic", "scale_pos_weight": 20}, -np.log(20)),
    (LGB, {**BINARY, "scale_pos_weight": 20}, -np.log(20)),
    (LGB, {**BINARY, "scale_pos_weight": 20, "sigmoid": 2.0}, -np.log(20)),
    (LGB, {**BINARY, "unbalance": True}, None),
    (LGB, BAGGED, np.log(0.05)),
    (LGB, {**BINARY, "pos_bagging_fraction": 0.25, "bagging_freq": 2}, np.log(4)),
    (LGB, {**BAGGED, "scale_pos_weight": 3}, np.log(0.05 / 3)),
    (LGB, {**BAGGED, "bagging_freq": 0}, 0.0),
    (LGB, {**BAGGED, "boosting": "goss"}, 0.0),
    (LGB, {**BINARY, "scale_pos_weight": 20, "boosting": "goss"}, -np.log(20)),
    (LGB, {"objective": "cross_entropy", "scale_pos_weight": 20, "neg_bagging_fraction": 0.05,
           "bagging_freq": 1}, 0.0),
]  # fmt: skip
CASE_IDS = [f"{lib}-{'-'.join(map(str, params.values()))}" for lib, params, _ in CASES]


@pytest.fixture(scope="module")
def population():
    """X, y, true probabilities: 40,000 rows, 2.4 % positive."""
    rng = np.random.default_rng(8)
    X = rng.random((40_000, 2))
    p = expit(4 * X[:, 0] + np.sin(6 * X[:, 1]) - 6.5)
    return X, (rng.random(len(p)) < p).astype(int), p


@pytest.mark.parametrize(("lib", "params", "known"), CASES, ids=CASE_IDS)
def test_the_shift_undoes_the_parameters(lib: Library, params, known, population):
    X, y, p = population
    small = {"max_depth": 2} if lib is XGB else {"num_leaves": 4, "min_data_in_leaf": 400}
    booster = lib.built_in({**small, **params}, lib.data(X, y), 60)
    shift = go.adapters.imbalance_shift(booster, y=y)
    expected = -np.log((y == 0).sum() / y.sum()) if known is None else known
    assert shift == pytest.approx(expected, abs=1e-7)

    def mean_ratio(booster, rows):
        q = lib.predict(booster, X[rows])
        return (expit(q) if params["objective"] == "binary:logitraw" else q).mean() / p[rows].mean()

    moved = go.shift_intercept(booster, shift)
    # 950 positives and what bagging draws of the negatives: a noise of 3 % each
    assert mean_ratio(moved, slice(None)) == pytest.approx(1, rel=0.08)
    # not on average only: about 120 positives where they are rare
    assert mean_ratio(moved, X[:, 0] < 0.5) == pytest.approx(1, rel=0.25)
    if shift:
        assert abs(np.log(mean_ratio(booster, slice(None)))) > 0.8 * min(abs(shift), 2)


@pytest.mark.filterwarnings("ignore:learning_rate times rounds is")  # few rounds are enough here
@both
def test_read_from_a_saved_model(lib: Library, population, tmp_path):
    X, y, _ = population
    weighed = {"objective": "binary:logistic" if lib is XGB else "binary", "scale_pos_weight": 7}
    booster = lib.built_in(weighed, lib.data(X[:2000], y[:2000]), 3)
    file = tmp_path / "model.json"
    booster.save_model(file)
    loaded = type(booster)(model_file=file)
    for model in (booster, loaded, go.shift_intercept(loaded, delta=-20.0)):
        assert go.adapters.imbalance_shift(model) == pytest.approx(-np.log(7), abs=1e-7)  # float32
    assert lib.adapter.imbalance_shift(booster) == go.adapters.imbalance_shift(booster)


@both
def test_nothing_to_undo_in_our_models(lib: Library, rare):
    X, y, _ = rare
    booster = lib.train(lib.params, lib.data(X, y), 3, objective=go.offset_logloss_objective(0.1))
    assert go.adapters.imbalance_shift(booster) == 0.0
    if lib is LGB:  # which ignores its own parameters under a function
        objective = go.offset_logloss_objective(1)
        custom = lgb.train({**lib.params, **BAGGED, "objective": lambda f, d: objective(f, d)},
                           lgb.Dataset(X, y), 3)  # fmt: skip
        assert go.adapters.imbalance_shift(custom) == 0.0


@pytest.mark.filterwarnings("ignore:learning_rate times rounds is")  # few rounds are enough here
def test_is_unbalance_counts_rows_not_weights(rare):
    X, y, w = rare
    by_hand = {**BINARY, "scale_pos_weight": (y == 0).sum() / y.sum()}
    one, two = (
        LGB.built_in(params, lgb.Dataset(X, y, weight=w), 10)
        for params in ({**BINARY, "is_unbalance": True}, by_hand)
    )
    np.testing.assert_allclose(one.predict(X), two.predict(X), rtol=1e-12)
    # a model's text has its parameters to six digits
    assert go.adapters.imbalance_shift(one, y=y) == pytest.approx(
        go.adapters.imbalance_shift(two), abs=1e-5
    )


# --- inferred from a sample of the population -------------------------------------------------

LOGISTIC = {"xgboost": {"objective": "binary:logistic"}, "lightgbm": {"objective": "binary"}}
STUMPS = {"xgboost": {"max_depth": 1}, "lightgbm": {"num_leaves": 2, "min_data_in_leaf": 200}}


def additive(n, seed):
    """X, y, true log-odds that stumps can learn: 2.6 % positive."""
    rng = np.random.default_rng(seed)
    X = (rng.random((n, 2)) < [0.3, 0.5]).astype(float)
    z = 2 * X[:, 0] + X[:, 1] - 4.9
    return X, (rng.random(n) < expit(z)).astype(int), z


@pytest.fixture(scope="module")
def halves():
    """Rows to train on, and rows to infer from."""
    return additive(60_000, 1), additive(60_000, 2)


@both
def test_weights_given_per_row_are_undone(lib: Library, halves):
    (X, y, _), (X_new, y_new, z_new) = halves
    weighed = lib.data(X, y, np.where(y == 1, 20.0, 1.0))
    booster = lib.built_in({**LOGISTIC[lib.name], **STUMPS[lib.name]}, weighed, 60)
    assert go.adapters.imbalance_shift(booster) == 0  # its parameters do not tell
    shift = go.adapters.imbalance_shift(booster, X_new, y_new)
    # 1560 positives on each side: a relative error of 2.5 % each, so .036 together
    assert shift == pytest.approx(-np.log(20), abs=3 * 0.036)
    assert shift.standard_error == pytest.approx(1 / np.sqrt(y_new.sum()), rel=0.1)

    moved = go.shift_intercept(booster, shift)
    p = lib.predict(moved, X_new).astype(np.float64)
    assert p.mean() == pytest.approx(y_new.mean(), rel=1e-5)  # XGBoost's float32
    z = lib.predict(moved, X_new, raw=True)
    # the true log-odds of each of four kinds of rows, of which that with the fewest positives has
    # 155, an error of .08; XGBoost's lambda pulls less than that
    assert np.abs(z - z_new).max() < 3 * 0.08
    again = go.adapters.imbalance_shift(moved, X_new, y_new)
    assert again == pytest.approx(0, abs=1e-5)
    assert type(shift) is go.priors.LogOddsShift
    assert go.priors.correct_margin(z, again).shape == z.shape  # by position, as a shift is


@both
@pytest.mark.parametrize("kept", [0.1, 0.5])
def test_rows_left_out_are_undone(lib: Library, halves, kept):
    (X, y, _), (X_new, y_new, _) = halves
    rows = go.negative_downsample(y, kept, random_state=0)
    booster = lib.built_in(
        {**LOGISTIC[lib.name], **STUMPS[lib.name]}, lib.data(X[rows], y[rows]), 60
    )
    found = go.adapters.imbalance_shift(booster, X_new, y_new)
    assert found == pytest.approx(np.log(kept), abs=3 * 0.036)  # as above


def test_any_fitted_classifier(halves):
    (X, y, _), (X_new, y_new, _) = halves
    labels = np.array(["no", "yes"])
    small = {"n_estimators": 60, "n_jobs": 1, "learning_rate": 0.3}
    balanced = len(y) / 2 / np.bincount(y)
    models = [
        LogisticRegression(class_weight="balanced").fit(X, labels[y]),
        make_pipeline(StandardScaler(), LogisticRegression(class_weight="balanced")).fit(X, y),
        lgb.LGBMClassifier(num_leaves=2, class_weight="balanced", verbose=-1, **small).fit(X, y),
        xgb.XGBClassifier(max_depth=1, **small).fit(X, y, sample_weight=balanced[y]),
    ]
    for model in models:
        target = labels[y_new] if model is models[0] else y_new
        shift = go.adapters.imbalance_shift(model, X_new, target)
        assert shift == pytest.approx(-np.log(balanced[1] / balanced[0]), abs=3 * 0.036)
        p = go.correct_probability(model.predict_proba(X_new)[:, 1], shift=shift)
        assert p.mean() == pytest.approx(y_new.mean(), rel=1e-5)
    for model, booster in ((models[2], models[2].booster_), (models[3], models[3].get_booster())):
        of_booster = go.adapters.imbalance_shift(booster, X_new, y_new)
        assert of_booster == pytest.approx(
            go.adapters.imbalance_shift(model, X_new, y_new), abs=1e-6
        )
        adapter = (XGB if isinstance(booster, xgb.Booster) else LGB).adapter
        assert of_booster == adapter.imbalance_shift(booster, y=y_new, X=X_new)


@both
def test_it_is_that_of_the_intercept_calibrator(lib: Library, halves):
    """An independent way to the same number, of every kind of margin and with weights."""
    (X, y, _), (X_new, y_new, _) = halves
    w = np.random.default_rng(0).uniform(0, 3, len(y_new))
    kinds = {
        "xgboost": [{}, {"objective": "binary:logitraw"}, {"objective": "reg:logistic"}],
        "lightgbm": [{}, {"sigmoid": 2.0}, {"objective": "cross_entropy"},
              {"boosting": "rf", "bagging_freq": 1, "bagging_fraction": 0.5}],
    }  # fmt: skip
    for params in kinds[lib.name]:
        booster = lib.built_in(
            {**LOGISTIC[lib.name], **STUMPS[lib.name], "scale_pos_weight": 5, **params},
            lib.data(X, y),
            5,
        )
        p = lib.predict(booster, X_new).astype(np.float64)
        if params.get("objective") == "binary:logitraw":
            p = expit(p)
        expected = go.calibration.InterceptCalibrator().fit(p, y_new, w).shift_
        found = go.adapters.imbalance_shift(booster, X_new, y_new, sample_weight=w)
        assert found == pytest.approx(expected, abs=1e-5)  # float32
        p_moved = expit(logit(p) + found)
        assert (w * p_moved).sum() == pytest.approx((w * y_new).sum(), rel=1e-5)


def test_weight_is_repetition(halves):
    (X, y, _), (X_new, y_new, _) = halves
    model = LogisticRegression().fit(X, y)
    rows, w = slice(3000), np.random.default_rng(0).integers(0, 4, 3000)
    one = go.adapters.imbalance_shift(model, X_new[rows], y_new[rows], sample_weight=w)
    two = go.adapters.imbalance_shift(
        model, np.repeat(X_new[rows], w, axis=0), np.repeat(y_new[rows], w)
    )
    assert one == pytest.approx(two, rel=1e-9)  # sums in another order
    assert one.standard_error > two.standard_error  # in which a row counts as one


def test_the_standard_error_is_that_of_repeated_samples():
    """For a model that is right, and for one that is too sure of itself."""
    X, y, _ = additive(400_000, 3)
    for C in (np.inf, 1e-6):
        model = LogisticRegression(C=C, class_weight="balanced").fit(X[:50_000], y[:50_000])
        found = [
            go.adapters.imbalance_shift(model, X[rows], y[rows])
            for rows in np.arange(50_000, 400_000).reshape(350, 1000)
        ]
        # the standard deviation of 350 draws is known to 3.8 %; 26 positives in each make the
        # error itself vary and its distribution skew, which costs a few more
        assert np.mean([d.standard_error for d in found]) == pytest.approx(np.std(found), rel=0.12)


def test_what_the_docstring_warns_of():
    """Rows it was trained on mislead; a model too sure of itself gets another shift."""
    X, y, _ = additive(4000, 4)
    X_new, y_new, _ = additive(40_000, 5)
    noise = np.random.default_rng(0).random((44_000, 8))
    X, X_new = np.column_stack([X, noise[:4000]]), np.column_stack([X_new, noise[4000:]])
    model = lgb.LGBMClassifier(n_estimators=100, min_child_samples=1, verbose=-1, n_jobs=1)
    model.fit(X, y, sample_weight=np.where(y == 1, 20.0, 1.0))
    p = model.predict_proba(X_new)[:, 1]
    inside, outside = (
        go.adapters.imbalance_shift(model, *rows) for rows in ((X, y), (X_new, y_new))
    )
    assert go.correct_probability(p, shift=inside).mean() < 0.5 * y_new.mean()
    right = go.correct_probability(p, shift=outside).mean()
    assert right == pytest.approx(y_new.mean(), rel=1e-9)  # float64 round-off
    assert outside > -np.log(20) + 2


@both
def test_it_asks_what_predict_uses(lib: Library, halves):
    """Of a model that stopped early; XGBoost's native predict uses all rounds, others the best."""
    (X, y, _), (X_new, y_new, _) = halves
    X, y = X[:4000], y[:4000]
    w = np.where(y == 1, 20.0, 1.0)
    if lib is XGB:
        rows, stop = lib.data(X_new, y_new), {"early_stopping_rounds": 5, "verbose_eval": False}
        params = {**XGB.params, **LOGISTIC["xgboost"]}
        booster = xgb.train(params, lib.data(X, y, w), 100, evals=[(rows, "held_out")], **stop)
    else:
        train = lgb.Dataset(X, y, weight=w)
        booster = lgb.train(
            {**LGB.params, **LOGISTIC["lightgbm"]}, train, 100,
            valid_sets=[lgb.Dataset(X_new, y_new, reference=train)],
            callbacks=[lgb.early_stopping(5, verbose=False)],
        )  # fmt: skip
    p = lib.predict(booster, X_new)
    shift = go.adapters.imbalance_shift(booster, X_new, y_new)
    assert expit(logit(p) + shift).mean() == pytest.approx(y_new.mean(), rel=1e-4)


def test_a_dmatrix_brings_its_start(halves):
    (X, y, z), (X_new, y_new, z_new) = halves
    data = xgb.DMatrix(X, y, base_margin=z + np.log(20))
    booster = xgb.train({**LOGISTIC["xgboost"], "max_depth": 1}, data, 1)
    new = xgb.DMatrix(X_new, y_new, base_margin=z_new + np.log(20) + 1)
    found = go.adapters.imbalance_shift(booster, new, y_new)
    p = booster.predict(new)
    assert expit(logit(p) + found).mean() == pytest.approx(y_new.mean(), rel=1e-5)
    weighed = xgb.DMatrix(X_new, y_new, weight=np.ones(len(y_new)))
    with pytest.raises(ValueError, match="sample_weight=X.get_weight"):
        go.adapters.imbalance_shift(booster, weighed, y_new)
    go.adapters.imbalance_shift(booster, weighed, y_new, sample_weight=weighed.get_weight())


def test_frames_and_sparse(halves):
    (X, y, _), (X_new, y_new, _) = halves
    X, y, X_new, y_new = X[:5000], y[:5000], X_new[:5000], y_new[:5000]
    frame = pd.DataFrame(X, columns=list("ab")).assign(c=pd.Categorical(list("xyyxz") * 1000))
    new = frame.assign(a=X_new[:, 0], b=X_new[:, 1])
    for model in (
        lgb.LGBMClassifier(n_estimators=5, verbose=-1, n_jobs=1),
        xgb.XGBClassifier(n_estimators=5, enable_categorical=True, n_jobs=1),
    ):
        booster = model.fit(frame, y)
        booster = booster.booster_ if isinstance(model, lgb.LGBMClassifier) else model.get_booster()
        found = [go.adapters.imbalance_shift(m, new, pd.Series(y_new)) for m in (model, booster)]
        assert found[0] == pytest.approx(found[1], abs=1e-6)
    model = lgb.LGBMClassifier(n_estimators=5, verbose=-1, n_jobs=1).fit(X, y)
    dense = go.adapters.imbalance_shift(model, X_new, y_new)
    sparse = go.adapters.imbalance_shift(model, csr_matrix(X_new), y_new)
    assert sparse == pytest.approx(dense, abs=1e-6)


def test_pickled_shifts_keep_their_error(halves):
    (X, y, _), (X_new, y_new, _) = halves
    shift = go.adapters.imbalance_shift(LogisticRegression().fit(X, y), X_new, y_new)
    loaded = pickle.loads(pickle.dumps(shift))
    assert (loaded, loaded.standard_error) == (shift, shift.standard_error)


@both
def test_probabilities_that_float32_rounds_to_1_are_not_lost(lib: Library) -> None:
    """Classifiers of the adapters and of the library are asked for margins."""
    rng = np.random.default_rng(5)
    X = rng.integers(0, 2, (400, 1)).astype(float)
    y = (X[:, 0] == 1).astype(int)
    y[:2] = 1 - y[:2]
    ours = lib.kind(True)(objective=go.offset_logloss_objective(1.0), n_estimators=3, n_jobs=1)
    ours.fit(X, y)
    far = lib.shift_intercept(lib.booster(ours), delta=40.0)  # a probability of 1 - 1e-17
    margin = lib.predict(far, X, raw=True).astype(np.float64)
    ours._Booster = far
    shift = go.adapters.imbalance_shift(ours, X, y)
    assert expit(margin + shift).mean() == pytest.approx(y.mean(), rel=1e-5)


class OneColumn(LogisticRegression):
    objective = "of a user"

    def predict_proba(self, X):
        return super().predict_proba(X)[:, 1]


def test_few_rounds_of_lightgbm_have_not_come_to_their_odds(population):
    X, y, _ = population
    params = {"objective": "binary", "verbose": -1, "scale_pos_weight": 20, "num_threads": 1,
              "num_leaves": 4, "min_data_in_leaf": 400}  # fmt: skip
    few, many = (lgb.train({**params, "learning_rate": r}, lgb.Dataset(X, y), 20)
                 for r in (0.05, 0.25))  # fmt: skip
    with pytest.warns(
        UserWarning, match=r"rounds is 1: .*too large: pass rows .*\(booster, X, y\)"
    ):
        read = imbalance_shift(few)
    assert float(read) < float(imbalance_shift(few, X, y)) - 0.2
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert float(imbalance_shift(many)) == pytest.approx(
            float(imbalance_shift(many, X, y)), abs=0.15
        )


class Unnamed(OneColumn):
    objective = None


@cache
def models(name: str) -> SimpleNamespace:
    """What is refused, of a library."""
    lib = XGB if name == "xgboost" else LGB
    X = np.random.default_rng(4).random((300, 4))
    y = (X[:, 0] > 0.85).astype(int)
    kind = xgb.XGBClassifier if lib is XGB else lgb.LGBMClassifier
    unbalanced = LGB.built_in({**BINARY, "is_unbalance": True}, lgb.Dataset(X, y), 2)
    without_trees = {"objective": "binary:logistic", "scale_pos_weight": 0}
    return SimpleNamespace(
        X=X, y=y, one=np.ones(300), data=lib.data(X, y), unfitted=kind(n_estimators=2),
        booster=lib.built_in(LOGISTIC[lib.name], lib.data(X, y), 3),
        estimator=kind(n_estimators=2).fit(X, y),
        squares=lib.built_in({"scale_pos_weight": 5} if lib is XGB else {}, lib.data(X, y), 2),
        weight_0=xgb.train(without_trees, xgb.DMatrix(X, y), 2), unbalanced=unbalanced,
        bare=lgb.Booster(model_str=unbalanced.model_to_string().partition("\nparameters:\n")[0]),
        three=LogisticRegression().fit(X, np.arange(300) % 3),
    )  # fmt: skip


shift = imbalance_shift


@both
@refused(
    (lambda m: shift("model"), "Booster of xgboost or lightgbm", TypeError),
    (lambda m: shift(m.estimator), "from an estimator take", TypeError),
    (lambda m: shift(m.squares), "whose model has no log-odds of a positive class"),
    (lambda m: shift(m.weight_0), "scale_pos_weight = 0: no shift undoes that"),
    (lambda m: shift(m.unbalanced), r"the training labels, imbalance_shift\(booster, y=y"),
    (lambda m: shift(m.unbalanced, y=np.zeros(5)), "y has one class only, found 0 positives"),
    (lambda m: shift(m.unbalanced, y=[0, 1, 2]), r"y must be 0 \(negative\) or 1"),
    (lambda m: shift(m.bare, y=m.y), "holds no parameters"),
    (lambda m: shift(m.unfitted, m.X, m.y), "not fitted yet", NotFittedError),
    (lambda m: shift(m.booster, y=m.X), "y must be labels, .* write imbalance_shift", TypeError),
    (lambda m: shift(m.booster, y=m.data), "y must be labels, .* write imbalance_shift", TypeError),
    (lambda m: shift(m.booster, y=m.y, sample_weight=m.one),
     "sample_weight is for a sample, but X is missing"),
    (lambda m: shift(m.booster, m.X, m.y + 1), r"y must be 0 \(negative\) or 1"),
    (lambda m: shift(m.estimator, y=m.y),
     r"or pass a sample of the population, imbalance_shift\(", TypeError),
    (lambda m: shift(m.squares, m.X, m.y), "whose model has no log-odds of a positive class"),
    (lambda m: shift(LGB.built_in(BINARY, lgb.Dataset(m.X, m.y), 2), lgb.Dataset(m.X, m.y), m.y),
     "found a Dataset: LightGBM predicts on arrays", TypeError),
    (lambda m: shift(m.three, m.X, m.y), r"classes \[0, 1, 2\]: only two have one shift"),
    (lambda m: shift(LinearRegression().fit(m.X, m.y), m.X, m.y),
     "Booster of xgboost or lightgbm", TypeError),
    (lambda m: shift(OneColumn().fit(m.X, m.y), m.X, m.y),
     r"OneColumn with objective='of a user' must be \(n, K\)"),
    (lambda m: shift(Unnamed().fit(m.X, m.y), m.X, m.y),
     r"predict_proba of Unnamed must be \(n, K\)"),
)  # fmt: skip
def test_misuse(lib: Library, call) -> None:
    call(models(lib.name))


@both
@each("name", ["booster", "estimator"])
@refused(
    (lambda m: ((m.y, m.X), {}),
     r"X must be features.* found .*write imbalance_shift\(model, X, y", TypeError),
    (lambda m: ((m.y,), {}), "X must be features.* y=training_labels", TypeError),
    (lambda m: ((m.X,), {}), "X is given without y"),
    (lambda m: ((m.X, m.y[:5]), {}), "X has 300 rows, but the labels have 5"),
    (lambda m: ((m.X, 0 * m.y), {}), "one class only, 0 of the weight positive"),
    (lambda m: ((m.X, m.one), {}), "one class only, 1 of the weight positive"),
    (lambda m: ((m.X, m.y), {"sample_weight": m.y == 0}), "one class only, 0 of the weight"),
    (lambda m: ((m.X, m.y), {"sample_weight": -m.one}), "must not be negative"),
    (lambda m: ((m.X, m.y), {"sample_weight": [1]}), "sample_weight has 1 rows"),
)  # fmt: skip
def test_misuse_of_samples(lib: Library, name, given) -> None:
    m = models(lib.name)
    args, kwargs = given(m)
    shift(getattr(m, name), *args, **kwargs)
