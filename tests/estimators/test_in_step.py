"""Folds in step: one number of rounds for all of them, that of least mean loss."""

from __future__ import annotations

import signal
import threading
import time
from concurrent.futures import CancelledError
from functools import partial

import lightgbm as lgb
import numpy as np
import pytest
import sklearn
import xgboost as xgb
from sklearn.base import BaseEstimator, RegressorMixin, clone
from sklearn.ensemble import HistGradientBoostingRegressor
from sklearn.linear_model import Ridge
from sklearn.metrics import cohen_kappa_score, mean_squared_error
from sklearn.model_selection import KFold, RepeatedStratifiedKFold, TimeSeriesSplit
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer, StandardScaler

from gbdt_objectives import (
    QWKClassifier,
    extended_qwk_metric,
    objective as user_objective,
    qwk_metric,
    qwk_objective,
)
from gbdt_objectives.adapters import sklearn as drop_in
from gbdt_objectives.estimators import _members
from tests.cases import each

ROUNDS = 70
# subsamples and columns are drawn anew each round: a model cut to some rounds has drawn as many
LGBM = partial(
    lgb.LGBMRegressor, n_estimators=ROUNDS, learning_rate=0.4, num_leaves=6, subsample=0.7,
    subsample_freq=1, colsample_bytree=0.7, n_jobs=1, verbose=-1,
)  # fmt: skip
XGB = partial(
    xgb.XGBRegressor, n_estimators=ROUNDS, learning_rate=0.4, max_depth=3, subsample=0.7,
    colsample_bytree=0.7, n_jobs=1,
)  # fmt: skip
BOOSTERS = pytest.mark.parametrize("booster", [LGBM, XGB], ids=["lgb", "xgb"])


def histogram(n_estimators=ROUNDS, **parameters):
    return drop_in.HistGradientBoostingRegressor(
        max_iter=n_estimators, learning_rate=0.4, max_leaf_nodes=6, max_bins=31,
        early_stopping=False, random_state=0, **parameters,
    )  # fmt: skip


def made(n, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 4))
    latent = X[:, 0] + np.sin(2 * X[:, 1]) + 1.5 * rng.normal(size=n)
    return X, np.digitize(latent, [-1, 0.3, 1.2]), rng.uniform(0.5, 2, n)


@pytest.fixture(scope="module")
def data():
    return made(500)


def by_round(model, X, rounds=ROUNDS):
    """The predictions after each round."""
    if isinstance(model, HistGradientBoostingRegressor):
        return [f.copy() for f in model.staged_predict(X)]
    name = "num_iteration" if isinstance(model, lgb.LGBMModel) else "iteration_range"
    ends = [k if name == "num_iteration" else (0, k) for k in range(1, rounds + 1)]
    return [model.predict(X, **{name: end}) for end in ends]


def best_round(curves, weights, patience=20):
    """The first round of the least mean, when no later one of ``patience`` is better."""
    mean = np.average(curves, axis=0, weights=weights)
    best = 0
    for k in range(1, len(mean)):
        if mean[k] < mean[best]:
            best = k
        elif k - best >= patience:
            break
    return best + 1, k + 1


def squared_error(model, y, f, w):
    return mean_squared_error(y, f, sample_weight=w)


def qwk_loss(model, y, f, w):
    """About the training rows' moments, which the objective holds."""
    loss = extended_qwk_metric(mean=model.objective.mean, variance=model.objective.variance).loss
    return loss(y, f.clip(0, 3), w)


def one_less_kappa(model, y, f, w):
    return 1 - cohen_kappa_score(y, np.rint(f).clip(0, 3), weights="quadratic", sample_weight=w)


@pytest.mark.slow
@pytest.mark.parametrize("booster", [LGBM, XGB, histogram], ids=["lgb", "xgb", "hist"])
@pytest.mark.parametrize(
    ("objective", "cv"),
    [(None, KFold(3)), ("metric", TimeSeriesSplit(3)),
     ("qwk", RepeatedStratifiedKFold(n_splits=2, n_repeats=2, random_state=0))],
)  # fmt: skip
def test_all_folds_keep_the_round_of_least_mean_loss(data, booster, objective, cv) -> None:
    """Found by hand from models that train all rounds; equal to models trained with that many."""
    X, y, w = data
    measure = {None: squared_error, "qwk": qwk_loss, "metric": one_less_kappa}[objective]
    how = {"objective": "qwk" if objective == "qwk" else None, "cv": list(cv.split(X, y))}
    metric = {"eval_metric": qwk_metric()} if objective == "metric" else {}
    found = QWKClassifier(booster(**metric), **how).fit(X, y, w)
    free = QWKClassifier(booster(), early_stopping_rounds=None, **how).fit(X, y, w)
    curves = [
        [measure(model, y[test], f, w[test]) for f in by_round(model, X[test])]
        for model, (_, test) in zip(free.estimators_, how["cv"], strict=True)
    ]
    best, seen = best_round(curves, [w[test].sum() for _, test in how["cv"]])
    assert found.best_iterations_ == [best] * len(how["cv"])
    assert 1 < best < seen
    assert seen < ROUNDS  # it need not train the others
    assert any(np.argmin(curve[:seen]) + 1 != best for curve in curves)  # else it proves nothing
    same = QWKClassifier(booster(n_estimators=best), early_stopping_rounds=None, **how)
    same.fit(X, y, w)
    for one, other in zip(found.estimators_, same.estimators_, strict=True):
        np.testing.assert_allclose(one.predict(X), other.predict(X), rtol=0, atol=1e-7)
    np.testing.assert_allclose(found.oof_score_, same.oof_score_, rtol=0, atol=1e-7)
    if objective != "qwk":  # whose folds repeat, so that no single model is like them
        refit = clone(found).set_params(ensemble=False).fit(X, y, w)
        asked = refit.estimator_.get_params()
        assert asked.get("n_estimators", asked.get("max_iter")) == best
        all_rows = clone(same).set_params(ensemble=False).fit(X, y, w)
        np.testing.assert_allclose(refit.predict_score(X), all_rows.predict_score(X), atol=1e-7)


@BOOSTERS
def test_never_more_rounds_than_the_regressor_has(data, booster) -> None:
    X, y, _ = data
    found = QWKClassifier(booster(n_estimators=6, learning_rate=0.01), cv=3).fit(X, y)
    assert found.best_iterations_ == [6] * 3
    free = clone(found).set_params(early_stopping_rounds=None).fit(X, y)
    np.testing.assert_array_equal(found.predict_score(X), free.predict_score(X))


@BOOSTERS
def test_rows_may_be_lists(data, booster) -> None:
    X, y, _ = data
    of_lists = QWKClassifier(booster(), cv=3).fit(X.tolist(), y.tolist())
    of_arrays = QWKClassifier(booster(), cv=3).fit(X, y)
    np.testing.assert_array_equal(of_lists.oof_score_, of_arrays.oof_score_)


@pytest.mark.slow
def test_each_of_several_regressors_has_its_own_number(data) -> None:
    X, y, w = data
    members = [
        ("lgb", LGBM()), ("ridge", Ridge()), ("dart", LGBM(boosting_type="dart", n_estimators=9)),
        ("xgb", make_pipeline(StandardScaler(), XGB(learning_rate=0.2))),
    ]  # fmt: skip
    found = QWKClassifier(members, cv=3).fit(X, y, w)
    alone = {name: QWKClassifier(each, cv=3).fit(X, y, w) for name, each in members}
    for name, own in alone.items():
        np.testing.assert_array_equal(found.member_oof_scores_[name], own.oof_score_)
    rounds = {name: alone[name].best_iterations_[0] for name in ("lgb", "xgb")}
    assert found.best_iterations_ == [rounds] * 3
    assert len(set(rounds.values())) == 2
    refit = clone(found).set_params(ensemble=False).fit(X, y, w)
    lgbm, _, dart, piped = refit.estimator_
    assert (lgbm.n_estimators, piped[-1].n_estimators) == tuple(rounds.values())
    assert dart.n_estimators == 9


def residual(y, p, w):
    v = np.ones_like(p) if w is None else w
    return v * (p - y), v


def pinball(y, p):
    return np.where(p > y, 0.1, -0.9), np.ones_like(p)


# some of the losses are of no use here
@pytest.mark.filterwarnings("ignore:the out-of-fold scores do not rise")
@pytest.mark.filterwarnings("ignore:(?s).* are not used")  # gblinear has no trees
@pytest.mark.slow
@each(
    ("estimator", "options"),
    [
        (LGBM(boosting_type="dart"), {}), (XGB(booster="gblinear"), {}),
        (XGB(booster="dart", objective=None), {"objective": "qwk"}),
        (XGB(eval_metric="mae"), {}), (LGBM(metric="None"), {}), (XGB(eval_metric=max), {}),
        (XGB(eval_metric=qwk_metric((1, 4))), {}), (LGBM(early_stopping_min_delta=0.1), {}),
        (LGBM(), {"objective": user_objective(residual)}),  # without a loss
        # scores that squared error would misjudge: it stops after 1 round
        (LGBM(objective="quantile"), {}), (XGB(objective="rank:pairwise"), {}),
        (LGBM(objective=pinball), {}), (LGBM(objective=qwk_objective()), {}),
        (xgb.XGBRFRegressor(n_estimators=10, n_jobs=1), {}),
        (HistGradientBoostingRegressor(max_iter=10, early_stopping=True, random_state=0), {}),
        (HistGradientBoostingRegressor(max_iter=10, scoring="r2"), {}),
        (Ridge(), {}),
    ],
)  # fmt: skip
def test_what_cannot_stop_or_has_a_loss_of_its_own_trains_as_it_is(
    data, estimator, options
) -> None:
    X, y, _ = data
    found = QWKClassifier(estimator, cv=2, **options).fit(X, y)
    free = clone(found).set_params(early_stopping_rounds=None).fit(X, y)
    assert not hasattr(found, "best_iterations_")
    np.testing.assert_array_equal(found.predict_score(X), free.predict_score(X))


@pytest.mark.slow
@BOOSTERS
def test_a_fold_whose_rows_have_no_weight_does_not_count(data, booster) -> None:
    X, y, w = data
    folds = list(KFold(3).split(X))
    w = w.copy()
    w[folds[0][1]] = 0
    found = QWKClassifier(booster(), cv=folds).fit(X, y, w)
    free = clone(found).set_params(early_stopping_rounds=None).fit(X, y, w)
    curves = [
        [squared_error(model, y[test], f, w[test]) for f in by_round(model, X[test])]
        for model, (_, test) in list(zip(free.estimators_, folds, strict=True))[1:]
    ]
    best, _ = best_round(curves, [w[test].sum() for _, test in folds[1:]])
    assert found.best_iterations_ == [best] * 3


# --- threads --------------------------------------------------------------------------------


class Watched(RegressorMixin, BaseEstimator):
    """It fits a line, and knows how many do so at once, and in how many threads."""

    at_once = most = 0
    threads: set[int] = set()  # noqa: RUF012
    lock = threading.Lock()

    def fit(self, X, y):
        with self.lock:
            Watched.at_once += 1
            Watched.most = max(Watched.most, Watched.at_once)
            Watched.threads.add(threading.get_ident())
        time.sleep(0.02)
        self.line_ = Ridge().fit(X, y)
        with self.lock:
            Watched.at_once -= 1
        return self

    def predict(self, X):
        return self.line_.predict(X)


@pytest.mark.slow
@pytest.mark.parametrize(("n_jobs", "at_once"), [(None, 1), (2, 2)])
def test_so_many_folds_run_at_a_time(data, n_jobs, at_once) -> None:
    X, y, _ = data
    Watched.most, Watched.threads = 0, set()
    members = [("watched", Watched()), ("lgb", LGBM()), ("again", Watched())]
    found = QWKClassifier(members, cv=4, n_jobs=n_jobs).fit(X, y)
    assert (Watched.most, len(Watched.threads)) == (at_once, 4)
    alone = QWKClassifier(LGBM(), cv=4).fit(X, y)
    np.testing.assert_array_equal(found.member_oof_scores_["lgb"], alone.oof_score_)


class FailsInLast(lgb.LGBMRegressor):
    """It trains, but for the fold whose last row for training is this one."""

    def fit(self, X, y, **given):
        if X[-1, 0] == self.get_params()["last"]:
            raise ArithmeticError("in this fold only")
        return super().fit(X, y, **given)


def test_an_error_in_one_fold_ends_all_of_them(data) -> None:
    X, y, _ = data
    folds = list(KFold(3).split(X))
    endless = FailsInLast(n_estimators=10**6, learning_rate=1e-9, n_jobs=1, verbose=-1)
    endless.set_params(last=X[folds[2][0][-1], 0])  # in the others it is that of the last fold
    before = threading.active_count()
    with pytest.raises(ArithmeticError, match="in this fold only"):
        QWKClassifier(endless, cv=folds).fit(X, y)
    assert threading.active_count() == before


def test_an_interrupt_ends_all_folds(data, monkeypatch) -> None:
    """It reaches the thread that waits for them."""
    X, y, _ = data
    real, rounds = _members.Rounds.mean, []

    def mean(self, fold, value):
        rounds.append(fold)
        if len(rounds) == 30:
            signal.pthread_kill(threading.main_thread().ident, signal.SIGINT)
        return real(self, fold, value)

    monkeypatch.setattr(_members.Rounds, "mean", mean)
    before = threading.active_count()
    endless = LGBM(n_estimators=10**6, learning_rate=1e-9)
    own = signal.signal(signal.SIGINT, signal.default_int_handler)  # a shell's "&" ignores it
    try:
        with pytest.raises(KeyboardInterrupt):
            QWKClassifier(endless, cv=3).fit(X, y)
    finally:
        signal.signal(signal.SIGINT, own)
    assert threading.active_count() == before


def test_an_interrupt_while_threads_start_ends_those_that_did(data, monkeypatch) -> None:
    X, y, _ = data
    submit = _members.ThreadPoolExecutor.submit

    def two_only(pool, run, function, fold):
        if fold == 2:
            time.sleep(0.3)  # the others train, and one of them waits for this one
            raise KeyboardInterrupt
        return submit(pool, run, function, fold)

    monkeypatch.setattr(_members.ThreadPoolExecutor, "submit", two_only)
    before = threading.active_count()
    with pytest.raises(KeyboardInterrupt):
        QWKClassifier(LGBM(n_estimators=10**6, learning_rate=1e-9), cv=4).fit(X, y)
    assert threading.active_count() == before


def test_who_comes_after_an_error_does_not_wait() -> None:
    folds = _members.FoldThreads([1.0, 1.0], n_jobs=1)
    ((stop,), _) = folds.stops([True])
    folds.fail(ArithmeticError())
    with pytest.raises(CancelledError):
        stop.rounds.mean(0, 0.5)


class Ends(xgb.callback.TrainingCallback):
    """A user's callback that ends one training of those that it is asked about."""

    trainings = 0

    def before_training(self, model):
        Ends.trainings += 1
        self.ends = Ends.trainings == 2
        return model

    def after_iteration(self, model, epoch, evals_log):
        return self.ends and epoch == 4


def test_a_fold_that_a_users_callback_ends_leaves_the_others_alone(data) -> None:
    X, y, _ = data
    Ends.trainings = 0
    found = QWKClassifier(XGB(callbacks=[Ends()], learning_rate=0.2), cv=3).fit(X, y)
    rounds = sorted(found.best_iterations_)
    assert rounds[0] <= 5 < rounds[1] == rounds[2]


def test_settings_of_scikit_learn_reach_the_folds(data) -> None:
    pytest.importorskip("pandas")
    X, y, _ = data
    kinds = set()

    def look(X):
        kinds.add(type(X).__name__)
        return X

    piped = make_pipeline(StandardScaler(), FunctionTransformer(look), LGBM())
    with sklearn.config_context(transform_output="pandas"):
        QWKClassifier(piped, cv=3).fit(X, y)
    assert kinds == {"DataFrame"}


@each(
    ("value", "said", "error"),
    [("Auto", "must be one of 'auto', found 'Auto'", ValueError),
     ("20", "must be one of", ValueError), (2.5, "a whole number >= 1", TypeError)],
)  # fmt: skip
def test_other_words_are_refused(data, value, said, error) -> None:
    X, y, _ = data
    with pytest.raises(error, match=said):
        QWKClassifier(LGBM(), early_stopping_rounds=value).fit(X, y)
