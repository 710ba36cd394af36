"""The drop-in classifiers on objectives whose class probabilities only they know."""

from __future__ import annotations

import pickle

import lightgbm as lgb
import numpy as np
import pytest
import xgboost as xgb
from sklearn.base import clone
from sklearn.calibration import CalibratedClassifierCV
from sklearn.metrics import accuracy_score, log_loss
from sklearn.model_selection import GridSearchCV, cross_val_predict
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import gbdt_objectives as go
from gbdt_objectives.objectives import Objective
from tests.adapters.classes import MeanLoss, Scaled, Softmax, SoftmaxLoss, Steps, StepsLoss
from tests.adapters.library import LGB, XGB, Library, both
from tests.adapters.test_estimators import booster, fit, history, make
from tests.adapters.test_predicted_scores import OBJECTIVES, every, labels

pytestmark = [
    pytest.mark.slow,
    pytest.mark.filterwarnings("ignore:The argument 'eval_set' is deprecated"),
    pytest.mark.filterwarnings("ignore:early stopping keeps"),
]
TRAIN, TEST = slice(0, 400), slice(400, 600)
SOFTMAX = Softmax(n_classes=4)
MARGIN = {"xgboost": "output_margin", "lightgbm": "raw_score"}
pairs = pytest.mark.parametrize(
    ("lib", "objective"),
    [(LGB, OBJECTIVES[0]), (XGB, OBJECTIVES[1]), (LGB, OBJECTIVES[1]), (XGB, OBJECTIVES[2])],
    ids=lambda value: getattr(value, "name", type(value).__name__),
)
"""Each library and each objective, where a case trains ten models."""

CLOSE = 1e-5
"""Of margins: those of XGBoost are sums in float32, LightGBM's gradients are."""


def margins(lib: Library, model, X):
    return model.predict(X, **{MARGIN[lib.name]: True})


@both
@every
def test_probabilities_are_those_of_the_objective_fitted_to_the_training_rows(
    lib: Library, objective, ordinal
) -> None:
    X, y, w = ordinal
    y = labels(objective, y)
    model = make(lib, True, objective=objective).fit(X[TRAIN], y[TRAIN], sample_weight=w[TRAIN])
    trained = lib.train(
        lib.params, lib.data(X[TRAIN], y[TRAIN], w[TRAIN]), 12, objective=objective
    )  # the parameters of ``make``
    margin = margins(lib, model, X)
    np.testing.assert_allclose(margin, lib.predict(trained, X), atol=CLOSE)
    measured = objective.measured(y[TRAIN], w[TRAIN])
    fitted = measured.fitted(y[TRAIN], margin[TRAIN], w[TRAIN])
    assert type(model.objective_.equations) is type(objective.equations)
    for name, value in vars(fitted.equations).items():  # thresholds, intercept: of float32 margins
        np.testing.assert_allclose(getattr(model.objective_, name), value, rtol=1e-5)
    p = model.predict_proba(X[TEST])
    K = objective.n_classes
    assert p.shape == (200, K)
    assert p.dtype == np.float64
    # margins of some rows and a part of those of all may be laid out, and rounded, differently
    np.testing.assert_allclose(p, model.objective_.class_probability(margin[TEST]), rtol=1e-12)
    np.testing.assert_array_equal(model.classes_, np.arange(K))
    assert model.n_classes_ == K
    predicted = model.predict(X[TEST])
    np.testing.assert_array_equal(predicted, p.argmax(axis=1))
    assert model.score(X[TEST], y[TEST]) == accuracy_score(y[TEST], predicted)
    guess = np.bincount(y[TRAIN], w[TRAIN], minlength=K) / w[TRAIN].sum()
    known, learnt = (
        log_loss(y[TEST], q, labels=np.arange(K), sample_weight=w[TEST])
        for q in (np.tile(guess, (200, 1)), p)
    )
    assert learnt < known - 0.1


@pairs
def test_pickled_cloned_searched_and_cross_validated(lib: Library, objective, ordinal) -> None:
    X, y, _ = ordinal
    y = labels(objective, y)
    model = make(lib, True, objective=objective).fit(X, y)
    p = model.predict_proba(X)
    np.testing.assert_array_equal(pickle.loads(pickle.dumps(model)).predict_proba(X), p)
    again = clone(model)
    assert again.objective is objective
    np.testing.assert_array_equal(again.fit(X, y).predict_proba(X), p)
    oof = cross_val_predict(
        make_pipeline(StandardScaler(), again), X, y, cv=2, method="predict_proba"
    )
    assert oof.shape == p.shape
    np.testing.assert_allclose(oof.sum(axis=1), 1, rtol=1e-12)
    assert (oof.argmax(axis=1) == y).mean() > np.bincount(y).max() / 600 + 0.1
    grid = {"objective": [objective], "learning_rate": [1e-6, 0.3]}
    search = GridSearchCV(again, grid, cv=2, scoring="neg_log_loss").fit(X, y)
    assert search.best_params_["learning_rate"] == 0.3
    assert np.isfinite(search.cv_results_["mean_test_score"]).all()


@both
@every
def test_early_stopping_on_a_metric_of_the_scores(lib: Library, objective, ordinal) -> None:
    X, y, _ = ordinal
    y, metric = labels(objective, y), MeanLoss(objective=objective)
    model = make(
        lib, True, objective=objective, n_estimators=60, learning_rate=0.5, early_stopping_rounds=5
    )
    fit(lib, model, X[TRAIN], y[TRAIN], [(X[TEST], y[TEST])], metric)
    (seen,) = history(lib, model).values()
    assert list(seen) == ["mean_loss"]
    values = seen["mean_loss"]
    kept = lib.rounds(booster(lib, model))
    assert kept == np.argmin(values) + 1 < 55
    margin = margins(lib, model, X[TEST])
    assert metric(y[TEST], margin) == pytest.approx(min(values), rel=1e-6)  # float32
    # fewer rounds, by the argument of the library
    few = {"iteration_range": (0, 2)} if lib is XGB else {"num_iteration": 2}
    p = model.predict_proba(X[TEST], **few)
    first = lib.predict(booster(lib, model), X[TEST], rounds=2)
    np.testing.assert_allclose(p, model.objective_.class_probability(first), rtol=1e-6)
    np.testing.assert_array_equal(model.predict(X[TEST], **few), p.argmax(axis=1))


@both
def test_a_users_own_metric_would_see_the_margins_of_all_outputs(lib: Library, ordinal) -> None:
    X, y, _ = ordinal

    def mean_loss(y_true, margin):
        value = SOFTMAX.loss(y_true, margin) / len(y_true)
        return value if lib is XGB else ("mean_loss", value, False)

    model = make(lib, True, objective=SOFTMAX)
    held_out = [(X[TEST], y[TEST] - 1)]
    with pytest.raises(ValueError, match="is a function, which would get .*pass loss_metric"):
        fit(lib, model, X[TRAIN], y[TRAIN] - 1, held_out, mean_loss)
    fit(lib, model, X[TRAIN], y[TRAIN] - 1, held_out, go.loss_metric(SOFTMAX))  # what it says
    (seen,) = history(lib, model).values()
    (found,) = seen.values()
    margin = margins(lib, model, X[TEST])
    assert SOFTMAX.loss(y[TEST] - 1, margin) / 200 == pytest.approx(found[-1], abs=1e-6)  # %f


@both
@pytest.mark.parametrize("objective", OBJECTIVES[1:], ids=lambda o: type(o).__name__)
def test_a_class_absent_from_the_rows_keeps_its_place(lib: Library, objective, ordinal) -> None:
    X, y, _ = ordinal
    some = y != 3
    model = make(lib, True, objective=objective).fit(X[some], y[some] - 1)
    assert model.classes_.tolist() == [0, 1, 2, 3]
    p = model.predict_proba(X)
    assert p.shape == (600, 4)
    assert p[:, 2].mean() < p[:, [0, 1, 3]].mean(axis=0).min()
    assert (model.predict(X[some]) == y[some] - 1).mean() > 0.5
    # what is held out may hold it
    fit(
        lib, make(lib, True, objective=objective), X[some], y[some] - 1, [(X, y - 1)],
        MeanLoss(objective=objective),
    )  # fmt: skip


@both
def test_labels_must_be_0_to_K_minus_1_in_order(lib: Library, ordinal) -> None:
    X, y, _ = ordinal
    for objective in OBJECTIVES[1:]:
        model = make(lib, True, objective=objective)
        with pytest.raises(ValueError, match=r"y holds 4 at row .*\[0, 1, 2, 3\]: encode"):
            model.fit(X, y)
        with pytest.raises(ValueError, match="y holds -1 at row"):
            model.fit(X, y - 2)
        with pytest.raises(ValueError, match="y holds 0.5 at row 3"):
            model.fit(X, np.where(np.arange(600) == 3, 0.5, y - 1))
        with pytest.raises(ValueError, match="y holds nan at row 3"):
            model.fit(X, np.where(np.arange(600) == 3, np.nan, y - 1))
        with pytest.raises(TypeError, match="y has dtype <U4, .*: encode .* as 0 to 3"):
            model.fit(X, np.array(["low", "mid", "high", "top"])[y - 1])
        with pytest.raises(ValueError, match=r"y of .*set.*0.* holds 4 at row"):
            fit(lib, model, X, y - 1, [(X, y)], MeanLoss(objective=objective))
    for given in ((y - 1).astype(float), (y - 1).astype(np.int8), (y - 1).tolist()):
        model = make(lib, True, objective=SOFTMAX, n_estimators=2).fit(X, given)
        assert model.predict(X).dtype.kind == "i"


def test_any_two_labels_in_lightgbm(rare) -> None:
    X, y, _ = rare
    names = np.array(["no", "yes"])[y]
    numbers = make(LGB, True, objective=Scaled(), class_weight={0: 1, 1: 3}).fit(X, y)
    model = make(LGB, True, objective=Scaled(), class_weight={"no": 1, "yes": 3})
    metric = MeanLoss(objective=Scaled())
    fit(LGB, model, X, names, [(X[:99], names[:99])], metric, eval_class_weight=[{"yes": 2}])
    assert model.classes_.tolist() == ["no", "yes"]
    np.testing.assert_array_equal(model.predict_proba(X), numbers.predict_proba(X))
    np.testing.assert_array_equal(model.predict(X), np.array(["no", "yes"])[numbers.predict(X)])
    assert model.score(X, names) == numbers.score(X, y)
    assert model.class_weight == {"no": 1, "yes": 3}
    with pytest.raises(ValueError, match="class_weight has the label 'perhaps'"):
        make(LGB, True, objective=Scaled(), class_weight={"perhaps": 3}).fit(X, names)
    with pytest.raises(ValueError, match="y has 1 classes"):
        model.fit(X, np.full(len(y), "no"))
    with pytest.raises(ValueError, match="y of evaluation set 0 holds 'maybe' at row 0"):
        fit(LGB, model, X, names, [(X[:2], ["maybe", "no"])], metric)


@pytest.mark.parametrize("objective", OBJECTIVES, ids=lambda o: type(o).__name__)
@pytest.mark.parametrize("balanced", [False, True], ids=["", "balanced"])
def test_class_weight_of_lightgbm_is_a_weight(objective, balanced, ordinal) -> None:
    X, y, w = ordinal
    y = labels(objective, y)
    count = np.bincount(y)
    rates = 600 / (len(count) * count) if balanced else np.arange(1, len(count) + 1)
    by_class = "balanced" if balanced else dict(enumerate(rates.tolist()))
    one = make(LGB, True, objective=objective, class_weight=by_class).fit(X, y, sample_weight=w)
    other = make(LGB, True, objective=objective).fit(X, y, sample_weight=w * rates[y])
    # the weights are products of float32 numbers, or of float64
    np.testing.assert_allclose(one.predict_proba(X), other.predict_proba(X), atol=1e-5)
    plain = make(LGB, True, objective=objective).fit(X, y, sample_weight=w)
    assert np.abs(plain.predict_proba(X) - other.predict_proba(X)).max() > 0.01


@pytest.mark.parametrize("low", [0.5, float("nan")])
def test_fractions_and_nan_are_no_two_classes(low, rare) -> None:
    X, y, _ = rare
    model = make(LGB, True, objective=Scaled())
    with pytest.raises(ValueError, match="Unknown label type|y must be finite, found nan"):
        model.fit(X, np.where(y == 1, 1.5, low))


def test_xgboost_knows_no_labels_but_0_to_K_minus_1(rare) -> None:
    X, y, _ = rare
    model = make(XGB, True, objective=Scaled())
    with pytest.raises(TypeError, match=r"y has dtype <U3, .*\[0, 1\]: encode"):
        model.fit(X, np.array(["no", "yes"])[y])
    with pytest.raises(ValueError, match="y holds 2 at row"):
        model.fit(X, y + 1)


@both
def test_regressors_are_refused_with_the_classifier(lib: Library, ordinal) -> None:
    X, y, _ = ordinal
    flag = MARGIN[lib.name]
    for objective in OBJECTIVES:
        with pytest.raises(TypeError, match=f"use (LGBM|XGB)Classifier.*with {flag}=True margins"):
            make(lib, objective=objective).fit(X, labels(objective, y))


@both
@every
def test_the_librarys_own_classifiers_are_refused(lib: Library, objective, ordinal) -> None:
    X, y, _ = ordinal
    model = make(lib, True, plain=True, objective=objective)
    for labelled in ((y > 2).astype(int), y - 1):
        with pytest.raises(TypeError, match=rf"import \w+Classifier from .*adapters.{lib.name}"):
            model.fit(X, labelled)


@both
@every
def test_scikit_learn_calibrates_no_margins(lib: Library, objective, ordinal) -> None:
    """It prefers LightGBM's decision_function, one column for all classes of an ordinal score."""
    X, y, _ = ordinal
    y = labels(objective, y)
    model = make(lib, True, objective=objective)
    p = CalibratedClassifierCV(model, cv=3).fit(X[TRAIN], y[TRAIN]).predict_proba(X[TEST])
    guess = np.tile(np.bincount(y[TRAIN]) / len(y[TRAIN]), (len(X[TEST]), 1))
    assert log_loss(y[TEST], p) < 0.9 * log_loss(y[TEST], guess)
    assert not hasattr(model.fit(X, y), "decision_function")
    if lib is LGB and hasattr(lgb.LGBMClassifier, "decision_function"):
        logistic = make(lib, True, objective=go.weighted_logloss_objective(1))
        logistic.fit(X, ordinal[1] > 2)
        np.testing.assert_array_equal(logistic.decision_function(X), margins(lib, logistic, X))


@both
def test_a_search_is_over_whole_objectives(lib: Library, rare) -> None:
    X, y, _ = rare
    given = {"cv": 2, "scoring": "neg_log_loss", "error_score": "raise"}
    model = make(lib, True, objective=go.focal_objective(2))
    ignored = GridSearchCV(model, {"objective__gamma": [0.0, 2.0]}, **given)
    with pytest.raises(ValueError, match="objective__gamma is no parameter"):
        ignored.fit(X[:200], y[:200])
    objectives = [go.focal_objective(9, alpha=0.01), go.focal_objective(0)]
    search = GridSearchCV(model, {"objective": objectives}, **given).fit(X[:200], y[:200])
    assert search.best_params_ == {"objective": objectives[1]}


@both
@every
def test_metrics_that_would_misread_a_score_are_refused(lib: Library, objective, ordinal) -> None:
    X, y, _ = ordinal
    y = labels(objective, y)
    own = ["logloss", "mlogloss", "rmse"] if lib is XGB else ["binary_logloss", "auc", "l2"]
    metrics = [
        *own, [MeanLoss(objective=objective), own[0]],
        go.weighted_logloss_metric(1), go.extended_qwk_metric(),
        go.weighted_logloss_metric(1, input_space="probability"),
    ]  # fmt: skip
    for metric in metrics:
        with pytest.raises(ValueError, match=r"loss_metric\(objective\)"):
            fit(lib, make(lib, True, objective=objective), X, y, [(X, y)], metric)
    nothing = fit(lib, make(lib, True, objective=objective), X, y, [(X, y)])
    if lib is LGB:
        assert not any(history(lib, nothing).values())
    else:
        with pytest.raises(xgb.core.XGBoostError, match="No evaluation result"):
            nothing.evals_result()
        stops = make(lib, True, objective=objective, early_stopping_rounds=3)
        with pytest.raises(ValueError, match="early stopping needs a metric of the objective's"):
            fit(lib, stops, X, y, [(X[:99].copy(), y[:99])])


@both
def test_num_class_and_a_start_that_disagree_are_refused(lib: Library, ordinal) -> None:
    X, y, _ = ordinal
    y = y - 1
    free = make(lib, True, objective=SOFTMAX).fit(X, y)
    said = make(lib, True, objective=SOFTMAX, num_class=4).fit(X, y)
    np.testing.assert_array_equal(free.predict_proba(X), said.predict_proba(X))
    assert said.get_params()["num_class"] == 4
    assert "num_class" not in free.get_params()
    with pytest.raises(ValueError, match=r"num_class'\] = 3 is refused.*has 4 outputs"):
        make(lib, True, objective=SOFTMAX, num_class=3).fit(X, y)
    with pytest.raises(ValueError, match=r"num_class'\] = 4 is refused.*one margin per row"):
        make(lib, True, objective=Steps(n_classes=4), num_class=4).fit(X, y)
    if lib is XGB:
        with pytest.raises(ValueError, match="base_score is given, .*has 4 outputs"):
            make(lib, True, objective=SOFTMAX, base_score=0.5).fit(X, y)
    else:
        with pytest.raises(ValueError, match="init_score is given"):
            make(lib, True, objective=SOFTMAX).fit(X, y, init_score=np.zeros((600, 4)))


@pairs
def test_fits_in_turn_leave_nothing_behind(lib: Library, objective, ordinal) -> None:
    """From one objective to another, to the library's own, and after a fit that fails."""
    X, y, _ = ordinal
    y = labels(objective, y)
    model = make(lib, True, objective=objective)
    before = model.get_params()
    first = model.fit(X, y).predict_proba(X)
    with pytest.raises((ValueError, TypeError)):
        model.fit(X, np.where(np.arange(600) == 9, 17, y))
    with pytest.raises((ValueError, xgb.core.XGBoostError)):
        model.fit(X[:50], y)  # the library's own error
    np.testing.assert_array_equal(model.predict_proba(X), first)
    np.testing.assert_array_equal(model.predict(X), first.argmax(axis=1))
    assert model.get_params() == before
    for other in OBJECTIVES:
        model.set_params(objective=other).fit(X, labels(other, ordinal[1]))
        assert model.predict_proba(X).shape == (600, other.n_classes)
    own = "binary:logistic" if lib is XGB else None
    plain = make(lib, True, plain=True).fit(X, ordinal[1] - 1)
    for between in (False, True):
        if between:
            logistic = go.weighted_logloss_objective(1)
            model.set_params(objective=logistic).fit(X, (y > 0).astype(int))
            assert model.predict_proba(X).shape == (600, 2)
        model.set_params(objective=own).fit(X, ordinal[1] - 1)
        np.testing.assert_array_equal(model.predict_proba(X), plain.predict_proba(X))
        np.testing.assert_array_equal(model.predict(X), plain.predict(X))
        model.set_params(objective=objective).fit(X, y)
        np.testing.assert_array_equal(model.predict_proba(X), first)


@both
def test_several_outputs_without_an_intercept_start_at_0(lib: Library, ordinal) -> None:
    class AtZero(SoftmaxLoss):
        def measured(self, rows):
            return self

    X, y, _ = ordinal
    objective = go.Objective(AtZero(n_classes=4))
    flat = make(lib, True, objective=objective, learning_rate=1e-7).fit(X, y - 1)
    np.testing.assert_allclose(flat.predict_proba(X), 0.25, atol=1e-5)
    trained = lib.train(lib.params, lib.data(X, y - 1), 12, objective=objective)
    model = make(lib, True, objective=objective).fit(X, y - 1)
    np.testing.assert_allclose(margins(lib, model, X), lib.predict(trained, X), atol=CLOSE)


@both
def test_thresholds_that_cannot_be_fitted_leave_no_wrong_probabilities(
    lib: Library, ordinal
) -> None:
    class Unfit(StepsLoss):
        def measured(self, rows):
            if rows.f is None:
                return super().measured(rows)
            raise ValueError("no thresholds")

    X, y, _ = ordinal
    model = make(lib, True, objective=go.Objective(Unfit(n_classes=4)))
    with pytest.raises(ValueError, match="no thresholds"):
        model.fit(X, y - 1)
    with pytest.raises(ValueError, match="thresholds are not fitted"):
        model.predict_proba(X)


@both
@every
def test_training_goes_on_from_a_model(lib: Library, objective, ordinal) -> None:
    X, y, _ = ordinal
    y = labels(objective, y)
    first = make(lib, True, objective=objective, n_estimators=6).fit(X, y)
    more = {"xgb_model": first} if lib is XGB else {"init_model": first}
    second = make(lib, True, objective=objective, n_estimators=6).fit(X, y, **more)
    whole = make(lib, True, objective=objective, n_estimators=12).fit(X, y)
    np.testing.assert_allclose(margins(lib, second, X), margins(lib, whole, X), atol=CLOSE)
    np.testing.assert_allclose(second.predict_proba(X), whole.predict_proba(X), atol=1e-4)


@pytest.mark.parametrize("objective", OBJECTIVES, ids=lambda o: type(o).__name__)
def test_base_margin_of_xgboost(objective: Objective, ordinal) -> None:
    X, y, _ = ordinal
    y = labels(objective, y)
    shape = (600,) if objective.outputs == 1 else (600, 4)
    start = np.random.default_rng(0).normal(size=shape)
    model = make(XGB, True, objective=objective).fit(X, y, base_margin=start)
    margin = model.predict(X, output_margin=True, base_margin=start)
    data = xgb.DMatrix(X, y, base_margin=start)
    trained = XGB.train(XGB.params, data, 12, objective=objective)
    np.testing.assert_allclose(margin, trained.predict(data), atol=CLOSE)
    fitted = model.objective_.fitted(y, margin)
    np.testing.assert_allclose(
        model.predict_proba(X, base_margin=start), fitted.class_probability(margin), rtol=1e-6
    )
    with pytest.raises(ValueError, match="base_margin is set on X but not on eval_set"):
        fit(XGB, model, X, y, [(X[:9], y[:9])], MeanLoss(objective=objective), base_margin=start)


@pytest.mark.parametrize("objective", OBJECTIVES, ids=lambda o: type(o).__name__)
def test_a_saved_xgboost_model_gives_no_wrong_probabilities(objective, ordinal, tmp_path) -> None:
    X, y, _ = ordinal
    model = make(XGB, True, objective=objective).fit(X, labels(objective, y))
    p, path = model.predict_proba(X), tmp_path / "model.ubj"
    model.save_model(path)
    ours = make(XGB, True, objective=model.objective_)
    ours.load_model(path)
    np.testing.assert_array_equal(ours.predict_proba(X), p)
    np.testing.assert_array_equal(ours.predict(X), model.predict(X))
    assert ours.classes_.tolist() == model.classes_.tolist()
    with pytest.raises(TypeError, match=r"XGBClassifier\(objective=...\).load_model"):
        make(XGB, True).load_model(path)
    with pytest.raises(TypeError, match="different type"):
        xgb.XGBClassifier().load_model(path)
    margin = xgb.XGBRegressor()
    margin.load_model(path)
    np.testing.assert_array_equal(margin.predict(X), margins(XGB, model, X))
    logistic = make(XGB, True, objective=go.weighted_logloss_objective(1)).fit(X, ordinal[1] > 2)
    logistic.save_model(path)
    read = make(XGB, True)
    read.load_model(path)
    np.testing.assert_array_equal(read.predict_proba(X), logistic.predict_proba(X))


@both
def test_the_wrappers_see_probabilities(lib: Library, rare) -> None:
    """Never the logistic function of a score."""
    X, y, _ = rare
    a, b = np.arange(800) < 500, np.arange(800) >= 500
    model = make(lib, True, objective=Scaled()).fit(X[a], y[a])
    p = model.predict_proba(X[b])[:, 1]
    calibrated = go.CalibratedClassifier(model, go.calibration.LogitCalibrator(), cv="prefit").fit(
        X[b], y[b]
    )
    np.testing.assert_allclose(calibrated.oof_probability_, p, rtol=1e-12)
    refitted = go.CalibratedClassifier(make(lib, True, objective=Scaled()), cv=3).fit(X, y)
    assert np.abs(refitted.predict_proba(X)[:, 1].mean() - y.mean()) < 0.02
    shift = go.adapters.imbalance_shift(model, X[b], y[b])
    logistic = make(lib, True, objective=go.weighted_logloss_objective(1)).fit(X[a], y[a])
    # the same trees but for the scale of gradients, hessians and XGBoost's reg_lambda
    assert shift == pytest.approx(go.adapters.imbalance_shift(logistic, X[b], y[b]), abs=0.2)

    inner = make(lib, True, objective=Scaled())
    for correction in ("prior", "weight"):
        sampled = go.DownsampledClassifier(inner, 0.3, correction=correction, random_state=0).fit(
            X, y
        )
        assert sampled.predict_proba(X)[:, 1].mean() == pytest.approx(y.mean(), abs=0.03)
    uncorrected = go.DownsampledClassifier(inner, 0.3, correction=None, random_state=0).fit(X, y)
    assert uncorrected.predict_proba(X)[:, 1].mean() > y.mean() + 0.05
    with pytest.raises(ValueError, match="correction='offset' sets its own"):
        go.DownsampledClassifier(inner, 0.3, correction="offset").fit(X, y)


@both
@pytest.mark.parametrize("objective", OBJECTIVES[1:], ids=lambda o: type(o).__name__)
def test_calibration_of_several_classes_sees_probabilities(
    lib: Library, objective, ordinal
) -> None:
    """Those of the objective as fitted to the training rows."""
    X, y, _ = ordinal
    model = make(lib, True, objective=objective).fit(X[TRAIN], y[TRAIN] - 1)
    calibrated = go.CalibratedClassifier(model, go.calibration.TemperatureCalibrator(), cv="prefit")
    calibrated.fit(X[TEST], y[TEST] - 1)
    np.testing.assert_array_equal(calibrated.oof_probability_, model.predict_proba(X[TEST]))


@both
def test_the_classifier_of_kappa_refuses_scores(lib: Library, ordinal) -> None:
    X, y, _ = ordinal
    for objective in OBJECTIVES:
        with pytest.raises(ValueError, match="link 'score'.*for its own classes use LGBM"):
            go.QWKClassifier(make(lib), objective=objective).fit(X, y)


def test_contributions_and_leaves_of_lightgbm_pass_through(ordinal) -> None:
    X, y, _ = ordinal
    for objective in OBJECTIVES:
        model = make(LGB, True, objective=objective).fit(X, labels(objective, y))
        for flag in ("pred_leaf", "pred_contrib", "raw_score"):
            expected = model.booster_.predict(X, **{flag: True})
            for method in (model.predict, model.predict_proba):
                np.testing.assert_array_equal(method(X, **{flag: True}), expected)
        reloaded = lgb.Booster(model_str=model.booster_.model_to_string())
        np.testing.assert_array_equal(reloaded.predict(X), margins(LGB, model, X))


@both
@pytest.mark.parametrize(
    "objective",
    [
        go.focal_objective(2, alpha=0.25),
        go.focal_objective(2, n_classes=4),
        go.ordinal_logit_objective(4),
    ],
    ids=["focal", "focal-4", "ordinal-logit"],
)
def test_probabilities_of_the_catalogue_are_near_those_of_the_library(
    lib: Library, objective: Objective
) -> None:
    rng = np.random.default_rng(3)
    X = rng.random((3000, 4))
    y = np.digitize(X[:, :2].sum(1) + 0.2 * rng.normal(size=3000), [0.7, 1.0, 1.3])
    y = (y > 2).astype(int) if objective.n_classes == 2 else y
    rows, new = slice(0, 2000), slice(2000, 3000)
    settings = {"n_estimators": 40, "learning_rate": 0.1}
    ours, theirs = (
        make(lib, True, plain=plain, **settings, **more).fit(X[rows], y[rows])
        for plain, more in ((False, {"objective": objective}), (True, {}))
    )
    p, q = ours.predict_proba(X[new]), theirs.predict_proba(X[new])
    # as a model of another loss after as many rounds: 0.046 above at most, of 0.27 and 0.8
    assert log_loss(y[new], p) < log_loss(y[new], q) + 0.06
    rates = np.bincount(y[rows]) / 2000
    np.testing.assert_allclose(p.mean(axis=0), rates, atol=0.05)  # of other rows: 0.03 at most
