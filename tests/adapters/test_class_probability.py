"""Objectives whose class probabilities only they know: in train, cv and the drop-in classifiers."""

from __future__ import annotations

import lightgbm as lgb
import numpy as np
import pytest
import xgboost as xgb
from sklearn.calibration import CalibratedClassifierCV
from sklearn.metrics import log_loss
from sklearn.model_selection import GridSearchCV, cross_val_predict
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import gbdt_objectives as go
from gbdt_objectives.objectives import Objective
from tests.adapters.classes import MeanLoss, Scaled, Softmax, SoftmaxLoss, Steps, StepsLoss
from tests.adapters.library import LGB, XGB, Library, both
from tests.adapters.test_contract import CLOSE, KINDS, Kind
from tests.cases import refused

pytestmark = [
    pytest.mark.slow,
    pytest.mark.filterwarnings("ignore:The argument 'eval_set' is deprecated"),
    pytest.mark.filterwarnings("ignore:early stopping keeps"),
]
TRAIN, TEST = slice(0, 400), slice(400, 600)
OBJECTIVES = [Scaled(), Softmax(n_classes=4), Steps(n_classes=4)]
SOFTMAX, STEPS, QWK = *OBJECTIVES[1:], go.qwk_objective()
every = pytest.mark.parametrize("objective", OBJECTIVES, ids=lambda o: type(o).__name__)
pairs = pytest.mark.parametrize(
    ("lib", "objective"), [(LGB, SOFTMAX), (XGB, SOFTMAX), (LGB, OBJECTIVES[0]), (XGB, STEPS)]
)
"""Each library and each objective, where a case trains ten models."""


def labels(objective, y):
    """0..3 of four classes, 0 and 1 of two."""
    return y - 1 if objective.n_classes == 4 else (y > 2).astype(int)


def margins(lib: Library, model, X):
    return model.predict(X, **{lib.margin: True})


@pairs
def test_searched_and_cross_validated(lib: Library, objective, ordinal) -> None:
    X, y, _ = ordinal
    y = labels(objective, y)
    model = lib.make(True, objective=objective)
    oof = cross_val_predict(
        make_pipeline(StandardScaler(), model), X, y, cv=2, method="predict_proba"
    )
    assert oof.shape == (600, objective.n_classes)
    np.testing.assert_allclose(oof.sum(axis=1), 1, rtol=1e-12)
    assert (oof.argmax(axis=1) == y).mean() > np.bincount(y).max() / 600 + 0.1
    grid = {"objective": [objective], "learning_rate": [1e-6, 0.3]}
    search = GridSearchCV(model, grid, cv=2, scoring="neg_log_loss").fit(X, y)
    assert search.best_params_["learning_rate"] == 0.3
    assert np.isfinite(search.cv_results_["mean_test_score"]).all()


@both
@every
def test_probabilities_of_the_first_rounds(lib: Library, objective, ordinal) -> None:
    """By the argument of the library."""
    X, y, _ = ordinal
    model = lib.make(True, objective=objective).fit(X[TRAIN], labels(objective, y)[TRAIN])
    few = {"iteration_range": (0, 2)} if lib is XGB else {"num_iteration": 2}
    p = model.predict_proba(X[TEST], **few)
    first = lib.predict(lib.booster(model), X[TEST], rounds=2)
    np.testing.assert_allclose(p, model.objective_.class_probability(first), rtol=1e-6)
    np.testing.assert_array_equal(model.predict(X[TEST], **few), p.argmax(axis=1))


@both
def test_a_users_own_metric_would_see_the_margins_of_all_outputs(lib: Library, ordinal) -> None:
    X, y, _ = ordinal

    def mean_loss(y_true, margin):
        value = SOFTMAX.loss(y_true, margin) / len(y_true)
        return value if lib is XGB else ("mean_loss", value, False)

    model = lib.make(True, objective=SOFTMAX)
    held_out = [(X[TEST], y[TEST] - 1)]
    with pytest.raises(ValueError, match="is a function, which would get .*pass loss_metric"):
        lib.fit(model, X[TRAIN], y[TRAIN] - 1, held_out, mean_loss)
    lib.fit(model, X[TRAIN], y[TRAIN] - 1, held_out, go.loss_metric(SOFTMAX))  # what it says
    (seen,) = lib.history(model).values()
    (found,) = seen.values()
    margin = margins(lib, model, X[TEST])
    assert SOFTMAX.loss(y[TEST] - 1, margin) / 200 == pytest.approx(found[-1], abs=1e-6)  # %f


@both
@pytest.mark.parametrize("kind", [kind for kind in KINDS if kind.K == 4], ids=repr)
def test_a_class_absent_from_the_rows_keeps_its_place(lib: Library, kind: Kind, ordinal) -> None:
    X, y, _ = ordinal
    some = y != 3
    model = lib.make(True, objective=kind.objective).fit(X[some], y[some] - 1)
    assert model.classes_.tolist() == [0, 1, 2, 3]
    p = model.predict_proba(X)
    assert p.shape == (600, 4)
    assert p[:, 2].mean() < p[:, [0, 1, 3]].mean(axis=0).min()
    assert (model.predict(X[some]) == y[some] - 1).mean() > 0.5
    # what is held out may hold it
    lib.fit(model, X[some], y[some] - 1, [(X, y - 1)], kind.metric)


@both
def test_labels_must_be_0_to_K_minus_1_in_order(lib: Library, ordinal) -> None:
    X, y, _ = ordinal
    words = np.array(["low", "mid", "high", "top"])[y - 1]
    for objective in OBJECTIVES[1:]:
        model = lib.make(True, objective=objective)
        for given, error, message in (
            (y, ValueError, r"y holds 4 at row .*\[0, 1, 2, 3\]: encode"),
            (y - 2, ValueError, "y holds -1 at row"),
            (np.where(np.arange(600) == 3, 0.5, y - 1), ValueError, "y holds 0.5 at row 3"),
            (np.where(np.arange(600) == 3, np.nan, y - 1), ValueError, "nan at row 3"),
            (words, TypeError, "y has dtype <U4, .*: encode .* as 0 to 3"),
        ):
            with pytest.raises(error, match=message):
                model.fit(X, given)
        with pytest.raises(ValueError, match=r"y of .*set.*0.* holds 4 at row"):
            lib.fit(model, X, y - 1, [(X, y)], MeanLoss(objective=objective))
    for given in ((y - 1).astype(float), (y - 1).astype(np.int8), (y - 1).tolist()):
        model = lib.make(True, objective=SOFTMAX, n_estimators=2).fit(X, given)
        assert model.predict(X).dtype.kind == "i"


def test_any_two_labels_in_lightgbm(rare) -> None:
    X, y, _ = rare
    names = np.array(["no", "yes"])[y]
    numbers = LGB.make(True, objective=Scaled(), class_weight={0: 1, 1: 3}).fit(X, y)
    model = LGB.make(True, objective=Scaled(), class_weight={"no": 1, "yes": 3})
    metric = MeanLoss(objective=Scaled())
    LGB.fit(model, X, names, [(X[:99], names[:99])], metric, eval_class_weight=[{"yes": 2}])
    assert model.classes_.tolist() == ["no", "yes"]
    np.testing.assert_array_equal(model.predict_proba(X), numbers.predict_proba(X))
    np.testing.assert_array_equal(model.predict(X), np.array(["no", "yes"])[numbers.predict(X)])
    assert model.score(X, names) == numbers.score(X, y)
    assert model.class_weight == {"no": 1, "yes": 3}
    with pytest.raises(ValueError, match="class_weight has the label 'perhaps'"):
        LGB.make(True, objective=Scaled(), class_weight={"perhaps": 3}).fit(X, names)
    with pytest.raises(ValueError, match="y has 1 classes"):
        model.fit(X, np.full(len(y), "no"))
    with pytest.raises(ValueError, match="y of evaluation set 0 holds 'maybe' at row 0"):
        LGB.fit(model, X, names, [(X[:2], ["maybe", "no"])], metric)


@refused(
    (LGB, lambda y: np.where(y == 1, 1.5, 0.5), "Unknown label type"),
    (LGB, lambda y: np.where(y == 1, 1.5, np.nan), "y must be finite, found nan"),
    (XGB, lambda y: np.array(["no", "yes"])[y], r"y has dtype <U3, .*\[0, 1\]: encode", TypeError),
    (XGB, lambda y: y + 1, "y holds 2 at row"),
)
def test_what_are_no_two_classes(rare, lib, given) -> None:
    lib.make(True, objective=Scaled()).fit(rare[0], given(rare[1]))


@both
@every
def test_the_librarys_own_classifiers_are_refused(lib: Library, objective, ordinal) -> None:
    X, y, _ = ordinal
    model = lib.make(True, plain=True, objective=objective)
    for labelled in ((y > 2).astype(int), y - 1):
        with pytest.raises(TypeError, match=rf"import \w+Classifier from .*adapters.{lib.name}"):
            model.fit(X, labelled)


@both
@every
def test_scikit_learn_calibrates_no_margins(lib: Library, objective, ordinal) -> None:
    """It prefers LightGBM's decision_function, one column for all classes of an ordinal score."""
    X, y, _ = ordinal
    y = labels(objective, y)
    model = lib.make(True, objective=objective)
    p = CalibratedClassifierCV(model, cv=3).fit(X[TRAIN], y[TRAIN]).predict_proba(X[TEST])
    guess = np.tile(np.bincount(y[TRAIN]) / len(y[TRAIN]), (len(X[TEST]), 1))
    assert log_loss(y[TEST], p) < 0.9 * log_loss(y[TEST], guess)
    assert not hasattr(model.fit(X, y), "decision_function")


@both
def test_a_search_is_over_whole_objectives(lib: Library, rare) -> None:
    X, y, _ = rare
    given = {"cv": 2, "scoring": "neg_log_loss", "error_score": "raise"}
    model = lib.make(True, objective=go.focal_objective(2))
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
    y, mine = labels(objective, y), MeanLoss(objective=objective)
    data = lib.data(X, y)
    own = ["logloss", "mlogloss", "rmse"] if lib is XGB else ["binary_logloss", "auc", "l2"]
    for metric in (
        go.extended_qwk_metric(), go.metrics.squared_error_metric(), go.weighted_logloss_metric(1),
        go.weighted_logloss_metric(1, input_space="probability"), go.metrics.class_logloss_metric(),
        go.metrics.ranked_probability_score_metric(), go.loss_metric(go.qwk_objective()),
        go.loss_metric(go.weighted_logloss_objective(1)), go.loss_metric(go.focal_objective(2)),
        *own, [mine, own[0]],
    ):  # fmt: skip
        with pytest.raises(ValueError, match=r"loss_metric\(objective\)"):
            lib.fit(lib.make(True, objective=objective), X, y, [(X, y)], metric)
        if isinstance(metric, go.Metric):
            with pytest.raises(ValueError, match=r"pass loss_metric\(objective\)"):
                lib.train({}, data, 2, objective=objective, metric=metric, evals=[(data, "v")])
    nothing = lib.fit(lib.make(True, objective=objective), X, y, [(X, y)])
    if lib is LGB:
        assert not any(lib.history(nothing).values())
    else:
        with pytest.raises(xgb.core.XGBoostError, match="No evaluation result"):
            nothing.evals_result()
        stops = lib.make(True, objective=objective, early_stopping_rounds=3)
        with pytest.raises(ValueError, match="early stopping needs a metric of the objective's"):
            lib.fit(stops, X, y, [(X[:99].copy(), y[:99])])


@both
def test_the_loss_of_an_objective_is_refused_where_margins_are_others(lib: Library, ordinal):
    X, y, _ = ordinal
    matrix, binary = lib.data(X, y), lib.data(X, (y > 2).astype(int))
    kappa, logistic = go.qwk_objective(), go.weighted_logloss_objective(1)
    trained = {"params": lib.params, "num_boost_round": 2}
    for data, objective, others in (
        (matrix, kappa, (logistic, go.ordinal_logit_objective(5), go.focal_objective(2))),
        (binary, logistic, (kappa, go.ordinal_logit_objective(2), go.focal_objective(2))),
    ):
        given = trained | {"data": data, "objective": objective, "evals": [(data, "v")]}
        lib.train(**given, metric=go.loss_metric(objective))
        for other in others:
            with pytest.raises(ValueError, match="metric 'loss' takes .* but .* trains .*: pass"):
                lib.train(**given, metric=go.loss_metric(other))


@both
def test_num_class_is_that_of_the_objective(lib: Library, ordinal) -> None:
    X, y, _ = ordinal
    y = y - 1
    data = lib.data(X, y)
    free, said = (lib.make(True, objective=SOFTMAX, **K).fit(X, y) for K in ({}, {"num_class": 4}))
    np.testing.assert_array_equal(free.predict_proba(X), said.predict_proba(X))
    assert said.get_params()["num_class"] == 4
    assert "num_class" not in free.get_params()
    lib.train({**lib.params, "num_class": 4}, data, 3, objective=SOFTMAX)
    refused = [("num_class", K, SOFTMAX, "has 4 outputs") for K in (1, 3, 5, 0)]
    refused += [("num_class", 4, objective, "one margin per row") for objective in (STEPS, QWK)]
    refused += [("num_classes", 3, SOFTMAX, "")] * (lib is LGB)
    for name, K, objective, why in refused:
        wrong, given = {name: K}, {"objective": objective}
        kind = lib.kind(objective is not QWK)
        for call in (
            lambda wrong=wrong, given=given: lib.train(wrong, data, 3, **given),
            lambda wrong=wrong, given=given: lib.cv(
                data, 3, wrong, metric=go.loss_metric(given["objective"]), **given),
            lambda wrong=wrong, given=given, kind=kind: kind(**given, **wrong).fit(X, y),
        ):  # fmt: skip
            with pytest.raises(ValueError, match=rf"{name}'\] = {K} is refused.*{why}"):
                call()
    if lib is XGB:
        with pytest.raises(ValueError, match="base_score is given, .*has 4 outputs"):
            lib.make(True, objective=SOFTMAX, base_score=0.5).fit(X, y)
    else:
        with pytest.raises(ValueError, match="init_score is given"):
            lib.make(True, objective=SOFTMAX).fit(X, y, init_score=np.zeros((600, 4)))


@both
def test_a_start_per_row_of_several_outputs(lib: Library, ordinal) -> None:
    """By rows and columns, or in the flat order of the library."""
    X, y, w = ordinal
    start = np.random.default_rng(0).normal(size=(600, 4))
    flat = start.ravel(order="C" if lib is XGB else "F")
    found = []
    for given in (start, flat):
        matrix = lib.data(X, y - 1, w, given)
        with pytest.warns(UserWarning, match="differs by row"):
            booster = lib.train(lib.params, matrix, 5, objective=SOFTMAX)
        found.append(booster.predict(matrix) if lib is XGB else booster.predict(X) + start)
    np.testing.assert_array_equal(*found)
    assert SOFTMAX.loss(y - 1, found[0], w) < SOFTMAX.loss(y - 1, start, w)
    with pytest.raises(ValueError, match=r"must have shape .*, 4\), a start for each output"):
        lib.train({}, lib.data(X, y - 1, w, start[:, :3]), 2, objective=SOFTMAX)


@both
def test_dart_linear_trees_and_forests_hold_the_intercepts(lib: Library, ordinal) -> None:
    X, y, w = ordinal
    if lib is XGB:
        forest = {"num_parallel_tree": 2, "subsample": 0.5}
        options = [{"booster": "dart", "rate_drop": 0.5}, forest]
    else:
        options = [{"boosting": "dart", "drop_rate": 0.5}, {"linear_tree": True}]
    intercept = np.array(SOFTMAX.measured(y - 1, w).intercept)
    for option in options:
        matrix = lib.data(X, y - 1, w)
        booster = lib.train({**lib.params, **option}, matrix, 6, objective=SOFTMAX)
        # what the trees add to the intercept sums to about 0 over the rows of each class
        margin = lib.predict(booster, X)
        assert SOFTMAX.loss(y - 1, margin, w) < SOFTMAX.loss(y - 1, np.tile(intercept, (600, 1)), w)
        flat = lib.train(
            {**lib.params, **option, "learning_rate": 1e-7}, lib.data(X, y - 1, w), 6,
            objective=SOFTMAX,
        )  # fmt: skip
        np.testing.assert_allclose(lib.predict(flat, X), np.tile(intercept, (600, 1)), atol=1e-4)


def test_what_would_lack_the_intercepts_of_several_outputs_is_refused_in_xgboost(
    ordinal, tmp_path
) -> None:
    X, y, _ = ordinal
    matrix = XGB.data(X, y - 1)
    vectors = {"multi_strategy": "multi_output_tree", "booster": "gblinear"}
    with pytest.raises(ValueError, match=r"multi_strategy'\].*needs XGBoost 3.2 and booster='gbt"):
        XGB.train(vectors, matrix, 2, objective=SOFTMAX)
    XGB.train({"multi_strategy": "one_output_per_tree"}, matrix, 2, objective=SOFTMAX)
    with pytest.raises(ValueError, match="base_score is given, .*has 4 outputs.*leave it out"):
        XGB.train({"base_score": 0.5}, matrix, 2, objective=SOFTMAX)
    checkpoint = xgb.callback.TrainingCheckPoint(str(tmp_path), interval=99)
    linear = {"booster": "gblinear"}  # which has no starts of several outputs, in any version
    with pytest.raises(ValueError, match="TrainingCheckPoint, whose models would lack"):
        XGB.train(linear, matrix, 2, objective=SOFTMAX, callbacks=[checkpoint])
    XGB.train({}, matrix, 2, objective=STEPS, callbacks=[checkpoint])


@both
def test_several_outputs_without_an_intercept_start_at_0(lib: Library, ordinal) -> None:
    class AtZero(SoftmaxLoss):
        def measured(self, rows):
            return self

    X, y, _ = ordinal
    objective = go.Objective(AtZero(n_classes=4))
    flat = lib.make(True, objective=objective, learning_rate=1e-7).fit(X, y - 1)
    np.testing.assert_allclose(flat.predict_proba(X), 0.25, atol=1e-5)
    trained = lib.train(lib.params, lib.data(X, y - 1), 12, objective=objective)
    model = lib.make(True, objective=objective).fit(X, y - 1)
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
    model = lib.make(True, objective=go.Objective(Unfit(n_classes=4)))
    with pytest.raises(ValueError, match="no thresholds"):
        model.fit(X, y - 1)
    with pytest.raises(ValueError, match="thresholds are not fitted"):
        model.predict_proba(X)


@pytest.mark.parametrize("objective", OBJECTIVES, ids=lambda o: type(o).__name__)
def test_a_saved_xgboost_model_gives_no_wrong_probabilities(objective, ordinal, tmp_path) -> None:
    X, y, _ = ordinal
    model = XGB.make(True, objective=objective).fit(X, labels(objective, y))
    p, path = model.predict_proba(X), tmp_path / "model.ubj"
    model.save_model(path)
    ours = XGB.make(True, objective=model.objective_)
    ours.load_model(path)
    np.testing.assert_array_equal(ours.predict_proba(X), p)
    np.testing.assert_array_equal(ours.predict(X), model.predict(X))
    assert ours.classes_.tolist() == model.classes_.tolist()
    with pytest.raises(TypeError, match=r"XGBClassifier\(objective=...\).load_model"):
        XGB.make(True).load_model(path)
    with pytest.raises(TypeError, match="different type"):
        xgb.XGBClassifier().load_model(path)
    margin = xgb.XGBRegressor()
    margin.load_model(path)
    np.testing.assert_array_equal(margin.predict(X), margins(XGB, model, X))


@both
def test_the_wrappers_see_probabilities(lib: Library, rare) -> None:
    """Never the logistic function of a score."""
    X, y, _ = rare
    a, b = np.arange(800) < 500, np.arange(800) >= 500
    model = lib.make(True, objective=Scaled()).fit(X[a], y[a])
    p = model.predict_proba(X[b])[:, 1]
    calibrated = go.CalibratedClassifier(model, go.calibration.LogitCalibrator(), cv="prefit").fit(
        X[b], y[b]
    )
    np.testing.assert_allclose(calibrated.oof_probability_, p, rtol=1e-12)
    refitted = go.CalibratedClassifier(lib.make(True, objective=Scaled()), cv=3).fit(X, y)
    assert np.abs(refitted.predict_proba(X)[:, 1].mean() - y.mean()) < 0.02
    shift = go.adapters.imbalance_shift(model, X[b], y[b])
    logistic = lib.make(True, objective=go.weighted_logloss_objective(1)).fit(X[a], y[a])
    # the same trees but for the scale of gradients, hessians and XGBoost's reg_lambda
    assert shift == pytest.approx(go.adapters.imbalance_shift(logistic, X[b], y[b]), abs=0.2)

    inner = lib.make(True, objective=Scaled())
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
    model = lib.make(True, objective=objective).fit(X[TRAIN], y[TRAIN] - 1)
    calibrated = go.CalibratedClassifier(model, go.calibration.TemperatureCalibrator(), cv="prefit")
    calibrated.fit(X[TEST], y[TEST] - 1)
    np.testing.assert_array_equal(calibrated.oof_probability_, model.predict_proba(X[TEST]))


@both
def test_the_classifier_of_kappa_refuses_scores(lib: Library, ordinal) -> None:
    X, y, _ = ordinal
    for objective in OBJECTIVES:
        with pytest.raises(ValueError, match="link 'score'.*for its own classes use LGBM"):
            go.QWKClassifier(lib.make(), objective=objective).fit(X, y)


def test_contributions_and_leaves_of_lightgbm_pass_through(ordinal) -> None:
    X, y, _ = ordinal
    for objective in OBJECTIVES:
        model = LGB.make(True, objective=objective).fit(X, labels(objective, y))
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
        lib.make(True, plain=plain, **settings, **more).fit(X[rows], y[rows])
        for plain, more in ((False, {"objective": objective}), (True, {}))
    )
    p, q = ours.predict_proba(X[new]), theirs.predict_proba(X[new])
    # as a model of another loss after as many rounds: 0.046 above at most, of 0.27 and 0.8
    assert log_loss(y[new], p) < log_loss(y[new], q) + 0.06
    rates = np.bincount(y[rows]) / 2000
    np.testing.assert_allclose(p.mean(axis=0), rates, atol=0.05)  # of other rows: 0.03 at most


@both
@every
def test_nothing_takes_a_score_for_log_odds_or_labels(lib: Library, objective, ordinal) -> None:
    """Neither a shift of log-odds nor LightGBM's refit, which would minimise squared error."""
    X, y, _ = ordinal
    y = labels(objective, y)
    booster = lib.train(lib.params, lib.data(X, y), 5, objective=objective)
    rows = X if lib is LGB else xgb.DMatrix(X)
    with pytest.raises(ValueError, match="no log-odds of a positive class"):
        go.adapters.imbalance_shift(booster, rows, (y > 0).astype(int))
    if lib is LGB:
        with pytest.raises(lgb.basic.LightGBMError, match="No objective function"):
            booster.refit(X, y)
    delta = 1.0 if objective.outputs == 1 else np.arange(4.0)
    moved = go.shift_intercept(booster, delta=delta)
    shift = lib.predict(moved, X) - lib.predict(booster, X)
    np.testing.assert_allclose(shift, np.broadcast_to(delta, shift.shape), atol=1e-5)
