"""repair_segments: what is repaired, what stays, and what is refused, on real boosters."""

from __future__ import annotations

from functools import partial

import lightgbm as lgb
import numpy as np
import pandas as pd
import pytest
import xgboost as xgb
from scipy.sparse import csr_matrix
from scipy.special import expit, log_expit
from sklearn.model_selection import KFold

from gbdt_objectives import offset_logloss_objective, shift_intercept
from gbdt_objectives.adapters import (
    imbalance_shift,
    lightgbm as lightgbm_adapter,
    xgboost as xgboost_adapter,
)
from gbdt_objectives.calibration import LogitCalibrator
from gbdt_objectives.calibration.calibrator_choice import held_out_losses
from gbdt_objectives.calibration.calibrators import InterceptCalibrator
from gbdt_objectives.calibration.rows import LabelledRows
from gbdt_objectives.experimental import repair_lightgbm, repair_segments, repair_xgboost
from gbdt_objectives.experimental.repair import check_grown
from tests.adapters.library import LGB, XGB, Library, both
from tests.cases import each, refused

pytestmark = pytest.mark.slow

BINARY = {"xgboost": {"objective": "binary:logistic"}, "lightgbm": {"objective": "binary"}}
REPAIR = {"xgboost": repair_xgboost, "lightgbm": repair_lightgbm}
SITES = np.arange(6.0)
in_three_folds = partial(repair_segments, cv=3)


def rows_of(n: int, seed: int) -> np.ndarray:
    """Two features, a site of 0 to 5, sometimes missing, and a device of 0 or 1."""
    rng = np.random.default_rng(seed)
    site = rng.choice([*SITES, np.nan], n, p=[0.3, 0.2, 0.15, 0.15, 0.1, 0.05, 0.05])
    return np.column_stack([rng.normal(size=(n, 2)), site, rng.integers(0, 2, n)])


def draw(z: np.ndarray, seed: int) -> np.ndarray:
    return (np.random.default_rng([seed, 99]).random(len(z)) < expit(z)).astype(int)


def trained(lib: Library, X: np.ndarray, rounds: int = 30, **params):
    y = draw(-1 + X[:, 0] + 0.3 * np.nan_to_num(X[:, 2], nan=1.0), 0)
    return lib.built_in({**BINARY[lib.name], **params}, lib.data(X, y), rounds)


@pytest.fixture(scope="module")
def models() -> dict[str, object]:
    return {lib.name: trained(lib, rows_of(4_000, 1)) for lib in (XGB, LGB)}


def moved(lib: Library, booster, X: np.ndarray, seed: int = 3) -> tuple[np.ndarray, np.ndarray]:
    """Labels of rows of which site 2 has log-odds 1.5 higher than the model, and these log-odds."""
    z = lib.predict(booster, X, raw=True) + 1.5 * (X[:, 2] == 2)
    return draw(z, seed), z


def splits_of(lib: Library, booster, first: int) -> set[str]:
    trees = booster.trees_to_dataframe()
    if lib is XGB:
        return set(trees.Feature[trees.Tree >= first]) - {"Leaf"}
    return set(trees.split_feature[trees.tree_index >= first].dropna())


@both
def test_the_segment_is_repaired_and_others_stay(lib, models, tmp_path) -> None:
    booster, X, fresh = models[lib.name], rows_of(8_000, 2), rows_of(8_000, 4)
    y, _ = moved(lib, booster, X)
    before = lib.predict(booster, fresh)
    repair = repair_segments(booster, X, y, [2, 3])
    assert repair.n_trees > 0
    assert lib.rounds(repair.booster) == lib.rounds(booster) + repair.n_trees
    np.testing.assert_array_equal(lib.predict(booster, fresh), before)  # the given one

    change = lib.predict(repair.booster, fresh, raw=True) - lib.predict(booster, fresh, raw=True)
    there = fresh[:, 2] == 2
    # 1,200 rows of site 2: a standard error of .07, and shrinkage of the same size
    assert change[there].mean() == pytest.approx(1.5, abs=0.3)
    for site in (0, 1, 3, 4):  # 800 rows or more: a standard error of .1 at most
        assert abs(change[fresh[:, 2] == site].mean()) < 0.25
    # nothing but the segment features moves a margin
    first = {}
    for key, value in zip(map(tuple, np.nan_to_num(fresh[:, 2:], nan=-1)), change, strict=True):
        assert value == pytest.approx(first.setdefault(key, value), abs=1e-5)

    names = splits_of(lib, repair.booster, lib.rounds(booster))
    assert names <= ({"f2", "f3"} if lib is XGB else {"Column_2", "Column_3"})
    path = tmp_path / f"model.{'json' if lib is XGB else 'txt'}"
    repair.booster.save_model(str(path))
    alone = lib.fresh_prediction(path, fresh)
    np.testing.assert_array_equal(alone, lib.predict(repair.booster, fresh))


@both
def test_losses_are_out_of_fold(lib, models) -> None:
    booster, X = models[lib.name], rows_of(3_000, 2)
    y, _ = moved(lib, booster, X)
    splits = list(KFold(3, shuffle=True, random_state=1).split(X))
    repair = repair_segments(booster, X, y, [2], cv=splits, max_trees=15)
    z = np.asarray(lib.predict(booster, X, raw=True), float)
    found = repair.log_loss
    as_is = -log_expit((2 * y - 1) * z)
    assert found["as is"] == pytest.approx(as_is.mean())
    logit = LogitCalibrator(input_space="margin")
    expected = held_out_losses(logit, LabelledRows.of_scores("y", y, z, None), splits)
    assert found["global logit"] == pytest.approx(expected.mean())
    sites = np.nan_to_num(X[:, 2], nan=-1)
    assert 20 < y[sites == -1].sum() < (sites == -1).sum() - 20  # a segment, too
    for site in np.unique(sites):
        for train, test in splits:
            own, there = train[sites[train] == site], test[sites[test] == site]
            if 20 <= y[own].sum() <= len(own) - 20:
                p = logit.fit(z[own], y[own]).predict(z[there])
                expected[there] = -np.log(np.where(y[there] == 1, p, 1 - p))
    assert found["logits by segment"] == pytest.approx(expected.mean())

    by_hand = np.empty((16, len(y)))
    for train, test in splits:
        grown = REPAIR[lib.name].grow(
            booster, X[train], y[train], np.ones(len(train)), None, [2], 15
        )
        for k in range(16):
            f, own = (
                lib.predict(grown, X[side], raw=True, rounds=lib.rounds(booster) + k)
                for side in (test, train)
            )
            d = InterceptCalibrator._find_shift(
                y[train], np.asarray(own, float), np.ones(len(train))
            )
            by_hand[k, test] = -log_expit((2 * y[test] - 1) * (f + d))
    best = by_hand.mean(1).argmin()
    assert repair.n_trees == best > 0
    # the shift is one Newton step behind, and margins of XGBoost are float32
    assert found["repaired"] == pytest.approx(by_hand[best].mean(), abs=3e-5)
    gain = as_is - by_hand[best]
    assert repair.gain == pytest.approx(gain.mean(), abs=3e-5)
    assert repair.standard_error == pytest.approx(gain.std() / np.sqrt(len(y)), rel=1e-2)
    start = f"SegmentRepair: {best} trees on 2, and a shift of {repair.shift:+.2g} (gain "
    assert repr(repair).startswith(start)
    assert lib.predict(repair.booster, X).mean() == pytest.approx(y.mean(), rel=1e-5)


@both
def test_nothing_is_found_where_probabilities_are_right(lib, models) -> None:
    booster = models[lib.name]
    found = 0
    for seed in range(12):
        X = rows_of(1_500, 100 + seed)
        y = draw(lib.predict(booster, X, raw=True), seed)
        repair = in_three_folds(booster, X, y, [2, 3], max_trees=10)
        found += repair.shift != 0
        if not repair.shift:
            assert repair.n_trees == 0
            same = lib.predict(repair.booster, X)
            np.testing.assert_array_equal(same, lib.predict(booster, X))
            assert repair.log_loss["repaired"] == repair.log_loss["as is"]
            assert repr(repair).startswith("SegmentRepair: nothing found in 2, 3 (gain ")
    assert found <= 4  # it is one in ten: more than 4 of 12 have a probability of .004


@both
def test_a_weight_is_so_many_copies(lib, models) -> None:
    booster, X = models[lib.name], rows_of(2_000, 2)
    y, _ = moved(lib, booster, X)
    w = np.random.default_rng(0).integers(0, 4, len(y))
    copies = np.repeat(np.arange(len(y)), w)
    folds = np.random.default_rng(1).integers(0, 3, len(y))

    def splits(fold):
        return [(np.flatnonzero(fold != k), np.flatnonzero(fold == k)) for k in range(3)]

    how = {"segment_features": [2, 3], "max_trees": 20}
    counted = folds[w > 0]  # rows of weight 0 are left out before
    a = repair_segments(booster, X, y, sample_weight=w, cv=splits(counted), **how)
    b = repair_segments(booster, X[copies], y[copies], cv=splits(folds[copies]), **how)
    assert a.n_trees == b.n_trees > 0
    assert a.log_loss == pytest.approx(b.log_loss, rel=1e-4)
    # histograms of float32 gradients, summed in another order
    p, q = (lib.predict(one.booster, X) for one in (a, b))
    np.testing.assert_allclose(p, q, rtol=1e-4)


@both
@pytest.mark.parametrize("by_row", [False, True])
def test_kept_negatives(lib, models, by_row) -> None:
    """Fits on a part of the negatives, with their rate, are for the full population."""
    booster, X = models[lib.name], rows_of(30_000, 2)
    booster = shift_intercept(booster, delta=-2.0)
    y, z = moved(lib, booster, X)
    rate = np.where(X[:, 3] == 1, 0.1, 0.3) if by_row else np.full(len(y), 0.2)
    kept = (y == 1) | (np.random.default_rng(5).random(len(y)) < rate)
    given = {"keep_rate": rate[kept]} if by_row else {"negative_keep_rate": 0.2}
    repair = in_three_folds(booster, X[kept], y[kept], [2, 3], max_trees=40, **given)
    p = lib.predict(repair.booster, X)
    for site, tolerance in ((0, 0.1), (1, 0.1), (2, 0.1)):  # 300 events or more: errors of 5 %
        own = X[:, 2] == site
        assert p[own].mean() == pytest.approx(expit(z[own]).mean(), rel=tolerance)
    assert p[X[:, 3] == 0].mean() == pytest.approx(expit(z[X[:, 3] == 0]).mean(), rel=0.1)


def frame(X: np.ndarray, categories: str = "abcdef") -> pd.DataFrame:
    words = pd.Series(["abcdef"[int(s)] if s == s else None for s in X[:, 2]])
    return pd.DataFrame({
        "x": X[:, 0], "u": X[:, 1], "site": pd.Categorical(words, categories=list(categories)),
        "device": X[:, 3],
    })  # fmt: skip


def predict_frame(booster, table: pd.DataFrame, **raw) -> np.ndarray:
    if isinstance(booster, xgb.Booster):
        return booster.predict(xgb.DMatrix(table, enable_categorical=True), **raw)
    return booster.predict(table)


@both
@pytest.mark.filterwarnings("error")
def test_categories_are_those_of_the_model(lib) -> None:
    X, Z = rows_of(4_000, 1), rows_of(5_000, 2)
    y = draw(-1 + X[:, 0] + np.isin(X[:, 2], [1, 4]), 0)
    if lib is XGB:
        data = xgb.DMatrix(frame(X), y, enable_categorical=True)
    else:
        data = lgb.Dataset(frame(X), y)
    booster = lib.built_in(BINARY[lib.name], data, 20)
    p = predict_frame(booster, frame(Z))
    new = draw(np.log(p / (1 - p)) + 1.5 * (Z[:, 2] == 2), 3)
    repair = in_three_folds(booster, frame(Z), new, ["site", "device"], max_trees=20)
    assert repair.segment_features == ("site", "device")
    q = predict_frame(repair.booster, frame(Z))
    own = Z[:, 2] == 2
    assert new[own].mean() / p[own].mean() > 1.4
    assert q[own].mean() == pytest.approx(new[own].mean(), rel=0.1)
    assert splits_of(lib, repair.booster, 20) <= {"site", "device"}
    if lib is LGB or hasattr(booster, "get_categories"):  # older XGBoost trusts the numbers
        other = in_three_folds(booster, frame(Z, "fedcba"), new, ["site", "device"], max_trees=20)
        np.testing.assert_array_equal(predict_frame(other.booster, frame(Z)), q)
        np.testing.assert_array_equal(predict_frame(repair.booster, frame(Z, "fedcba")), q)


def test_categories_that_are_numbers_in_lightgbm() -> None:
    X, Z = (np.nan_to_num(rows_of(4_000, seed), nan=6.0) for seed in (1, 2))
    y = draw(-1 + X[:, 0] + np.isin(X[:, 2], [1, 4]), 0)
    booster = LGB.built_in(BINARY["lightgbm"], lgb.Dataset(X, y, categorical_feature=[2]), 20)
    new, _ = moved(LGB, booster, Z)
    repair = in_three_folds(booster, Z, new, [2], max_trees=5)
    trees = repair.booster.trees_to_dataframe()
    assert set(trees.decision_type[trees.tree_index >= 20].dropna()) == {"=="}


@both
def test_sparse_columns(lib, models) -> None:
    booster, X = models[lib.name], np.nan_to_num(rows_of(3_000, 2), nan=6.0)
    y, _ = moved(lib, booster, X)
    repair = in_three_folds(booster, csr_matrix(X), y, [2], max_trees=10)
    assert repair.n_trees > 0
    assert repair.log_loss["repaired"] < repair.log_loss["as is"]


@both
def test_a_model_that_stopped_early_is_repaired_behind_its_best_round(lib) -> None:
    X, held = rows_of(2_000, 1), rows_of(1_000, 9)
    y, z = (draw(-1 + rows[:, 0], 0) for rows in (X, held))
    if lib is XGB:
        booster = xgb.train(
            {**XGB.params, **BINARY["xgboost"], "learning_rate": 0.5}, xgb.DMatrix(X, y), 60,
            evals=[(xgb.DMatrix(held, z), "held_out")], early_stopping_rounds=5, verbose_eval=False,
        )  # fmt: skip
        best = booster.best_iteration + 1
        assert best < booster.num_boosted_rounds()
    else:
        data = lgb.Dataset(X, y)
        booster = lgb.train(
            {**LGB.params, **BINARY["lightgbm"], "learning_rate": 0.5}, data, 60,
            valid_sets=[lgb.Dataset(held, z, reference=data)],
            callbacks=[lgb.early_stopping(5, verbose=False)], keep_training_booster=True,
        )  # fmt: skip
        best = booster.best_iteration
        assert best < booster.num_trees()
    Z = rows_of(4_000, 2)
    p = lib.predict(booster, Z, rounds=best)
    right = in_three_folds(booster, Z, draw(np.log(p / (1 - p)), 5), [2, 3], max_trees=5)
    if not right.shift:
        np.testing.assert_array_equal(lib.predict(right.booster, Z), p)
    repair = in_three_folds(
        booster, Z, draw(np.log(p / (1 - p)) + 1.5 * (Z[:, 2] == 2), 5), [2], max_trees=5
    )
    assert lib.rounds(repair.booster) == best + repair.n_trees
    before = shift_intercept(repair.booster, delta=-repair.shift)
    np.testing.assert_allclose(lib.predict(before, Z, rounds=best), p, rtol=1e-5)


@both
def test_levels_are_repaired_and_slopes_are_for_a_logit(lib, models) -> None:
    booster, X = models[lib.name], rows_of(8_000, 2)
    z = lib.predict(booster, X, raw=True)
    level = in_three_folds(booster, X, y := draw(z + 0.7, 3), [2, 3], max_trees=40)
    p = lib.predict(level.booster, X)
    assert p.mean() == pytest.approx(y.mean(), rel=0.02)
    slope = in_three_folds(booster, X, draw(2 * z, 3), [3], max_trees=10)
    assert min(slope.log_loss, key=slope.log_loss.get) in ("global logit", "logits by segment")
    assert slope.log_loss["global logit"] < slope.log_loss["repaired"] - 0.005


@pytest.mark.filterwarnings("ignore:learning_rate times rounds is")  # few rounds are enough here
@both
def test_parameters_against_imbalance_are_not_undone_twice(lib, tmp_path) -> None:
    """They are off in the level, which the trees repair: nothing is left for a shift."""
    booster, X = trained(lib, rows_of(4_000, 1), scale_pos_weight=5), rows_of(6_000, 2)
    y = draw(-1 + X[:, 0] + 0.3 * np.nan_to_num(X[:, 2], nan=1.0), 7)
    assert float(imbalance_shift(booster)) == pytest.approx(-np.log(5))
    repair = in_three_folds(booster, X, y, [2, 3], max_trees=40)
    assert lib.predict(repair.booster, X).mean() == pytest.approx(y.mean(), rel=0.05)
    assert float(imbalance_shift(repair.booster)) == 0
    path = str(tmp_path / f"model.{'json' if lib is XGB else 'txt'}")
    repair.booster.save_model(path)
    loaded = xgb.Booster(model_file=path) if lib is XGB else lgb.Booster(model_file=path)
    assert float(imbalance_shift(loaded)) == 0


@both
@pytest.mark.filterwarnings("ignore:The groups parameter is ignored by KFold")
def test_rows_of_one_owner_count_as_one(lib, models) -> None:
    booster, X = models[lib.name], rows_of(1_000, 2)
    y, _ = moved(lib, booster, X)
    four, owner = np.tile(X, (4, 1)), np.tile(np.arange(1_000), 4)
    how = {"segment_features": [2], "max_trees": 8}
    single = in_three_folds(booster, X, y, **how)
    alone, together = (
        in_three_folds(booster, four, np.tile(y, 4), groups=groups, **how)
        for groups in (None, owner)
    )
    assert alone.standard_error == pytest.approx(single.standard_error / 2, rel=0.2)
    assert together.standard_error == pytest.approx(single.standard_error, rel=0.2)
    with pytest.raises(ValueError, match="both sides of a split"):
        repair_segments(booster, four, np.tile(y, 4), groups=owner, cv=KFold(3), **how)


@both
def test_boosters_of_the_adapters(lib, models) -> None:
    """An objective of this package, and the drop-in estimators, whose booster it takes."""
    X, Z = rows_of(3_000, 1), rows_of(4_000, 2)
    y = draw(-1 + X[:, 0], 0)
    objective = offset_logloss_objective(0.5)
    booster = lib.train(lib.params, lib.data(X, y), 10, objective=objective)
    if lib is XGB:
        model = xgboost_adapter.XGBClassifier(objective=objective, n_estimators=10, n_jobs=1)
        own = model.fit(X, y).get_booster()
    else:
        model = lightgbm_adapter.LGBMClassifier(
            objective=objective, n_estimators=10, n_jobs=1, verbose=-1
        )
        own = model.fit(X, y).booster_
    for one in (booster, own):
        new, z = moved(lib, one, Z)
        repair = in_three_folds(one, Z, new, [2], max_trees=20)
        there = Z[:, 2] == 2
        p = lib.predict(repair.booster, Z)
        assert p[there].mean() == pytest.approx(expit(z[there]).mean(), rel=0.1)
    with pytest.raises(TypeError, match=r"from an estimator take (get_booster\(\)|booster_)"):
        in_three_folds(model, Z, new, [2])


@pytest.mark.parametrize("params", [{"boosting": "dart"}, {"linear_tree": True}], ids=str)
def test_other_boosters_of_lightgbm_that_are_sums(params) -> None:
    X, Z = rows_of(3_000, 1), rows_of(5_000, 2)
    booster = trained(LGB, X, 15, **params)
    y, z = moved(LGB, booster, Z)
    repair = in_three_folds(booster, Z, y, [2], max_trees=20)
    there = Z[:, 2] == 2
    assert LGB.predict(repair.booster, Z)[there].mean() == pytest.approx(
        expit(z[there]).mean(), rel=0.1
    )


@pytest.mark.filterwarnings("ignore:.*are not used:UserWarning")
@refused(
    (XGB, {"booster": "dart", "rate_drop": 0.5, "one_drop": 1},
     "dart, .*train it with booster='gbtree'"),
    (XGB, {"booster": "gblinear", "max_depth": None}, "gblinear, .*train it with booster='gbtree'"),
    (XGB, {"num_parallel_tree": 2}, "2 trees a round .*num_parallel_tree=1"),
    (XGB, {"objective": "reg:squarederror"}, "'reg:squarederror', .*: train a log-loss objective"),
    (XGB, {"objective": "binary:logitraw"}, "'binary:logitraw', .* after booster.set_param"),
    (XGB, {"objective": "multi:softprob", "num_class": 2},
     "'multi:softprob', .*: train a log-loss"),
    (LGB, {"boosting": "rf", "bagging_freq": 1, "bagging_fraction": 0.5}, "averages .*'gbdt'"),
    (LGB, {"objective": "regression"}, "'regression', .*: train a log-loss objective"),
    (LGB, {"objective": "multiclass", "num_class": 2}, "'multiclass', .*: train a log-loss"),
    (LGB, {"sigmoid": 2.0}, "sigmoid=2, .*train it with sigmoid=1"),
    (LGB, {"objective": lambda f, data: (f - data.get_label(), np.ones(len(f)))}, "'custom', "),
)  # fmt: skip
def test_models_that_are_refused(lib, params) -> None:
    X = np.nan_to_num(rows_of(500, 1), nan=1.0)
    booster = lib.built_in({**BINARY[lib.name], **params}, lib.data(X, draw(X[:, 0], 0)), 3)
    repair_segments(booster, X, draw(X[:, 0], 1), [2])


X, Y = rows_of(200, 1), draw(np.zeros(200), 1)
NAMED = pd.DataFrame(X, columns=["x", "u", "site", "device"])
ONE = np.r_[1, np.zeros(199)]


@refused(
    ({"booster": "model.json"}, "booster must be a Booster .* found builtins.str", TypeError),
    ({"X": X[:, :3]}, "X has 3 columns, but the model 4 features"),
    ({"X": X[:, 0]}, r"X must be features, \(n, features\), found shape \(200,\)"),
    ({"X": xgb.DMatrix(X)}, "X must be features, found a DMatrix: pass the array", TypeError),
    ({"X": X[:50]}, "y has 200 rows, but X have 50|y has 200 rows"),
    ({"y": Y + 1}, "y must be 0 .negative. or 1 .positive."),
    ({"y": np.r_[np.nan, Y[1:]]}, "y .*nan"),
    ({"y": 0 * Y}, "y holds the single class 0"),
    ({"y": ONE}, "y has label 0 only in the training part of a fold: pass more"),
    ({"segment_features": "site"}, r'list of names or positions.* write \["country"\]', TypeError),
    ({"segment_features": 2}, "list of names or positions, found 2", TypeError),
    ({"segment_features": []}, "segment_features is empty: name at least one"),
    ({"segment_features": [2, 2]}, "names a feature twice, found"),
    ({"segment_features": [4]}, "position 4, but the model has 4 features: .* 0 to 3"),
    ({"segment_features": [-1]}, "a position in segment_features must be .* >= 0"),
    ({"segment_features": [True]}, "a position in segment_features", TypeError),
    ({"segment_features": ["site"]}, "'site', .*have no names: give positions"),
    ({"segment_features": ["town"], "X": NAMED}, "'town', .*'site'.*: name some of"),
    ({"max_trees": 0}, "max_trees must be a whole number >= 1, found 0|max_trees"),
    ({"sample_weight": -Y}, "sample_weight"),
    ({"negative_keep_rate": 2.0}, "negative_keep_rate must be in"),
    ({"keep_rate": 0.5}, "keep_rate must be a rate of each row", TypeError),
    ({"groups": Y[:10]}, "groups has 10 rows"),
    ({"cv": 1}, "cv must be at least 2 folds"),
    ({"random_state": "x"}, "random_state", TypeError),
)  # fmt: skip
def test_arguments_that_are_refused(models, given) -> None:
    arguments = {"booster": models[LGB.name], "X": X, "y": Y, "segment_features": [2], **given}
    repair_segments(**arguments)


@both
def test_columns_are_checked_by_name(lib) -> None:
    data = xgb.DMatrix(NAMED, Y) if lib is XGB else lgb.Dataset(NAMED, Y)
    booster = lib.built_in(BINARY[lib.name], data, 3)
    names = list(NAMED.columns)
    with pytest.raises(ValueError, match="X is an array, but the model was trained on columns"):
        repair_segments(booster, X, Y, [2])
    with pytest.raises(ValueError, match=r"X has the columns \['u', .*in their order"):
        repair_segments(booster, NAMED[[names[1], names[0], *names[2:]]], Y, ["site"])
    with pytest.raises(ValueError, match=r"X lacks the model's \['site'\]: pass the columns"):
        repair_segments(booster, NAMED.drop(columns="site"), Y, ["site"])
    assert repair_segments(booster, NAMED, Y, names, max_trees=2).segment_features == tuple(names)


def test_categories_that_the_model_does_not_have_are_refused_by_lightgbm(models) -> None:
    X, y = rows_of(500, 1), draw(np.zeros(500), 0)
    booster = LGB.built_in(BINARY["lightgbm"], lgb.Dataset(frame(X), y), 3)
    table = frame(X)
    table["device"] = table["device"].astype("category")
    with pytest.raises(ValueError, match="categorical columns .* but the model was trained with 1"):
        repair_segments(booster, table, y, ["site"])


def test_a_booster_that_does_not_do_what_it_should_is_noticed() -> None:
    with pytest.raises(
        RuntimeError, match=r"split on columns \[0\], which are no segment features"
    ):
        check_grown(np.zeros(2), np.zeros(2), [(np.ones(1), [0, 2])], [2])
    with pytest.raises(RuntimeError, match="other margins after training than before"):
        check_grown(np.zeros(2), np.ones(2), [(np.ones(1), [2])], [2])


@pytest.mark.filterwarnings("ignore:learning_rate times rounds is")  # few rounds are enough here
@each("against", [
    {"scale_pos_weight": 5}, {"is_unbalance": True},
    {"scale_pos_weight": 3.0, "pos_bagging_fraction": 0.9, "neg_bagging_fraction": 0.5,
     "bagging_freq": 1},
])  # fmt: skip
def test_what_was_done_against_imbalance_is_declared_undone(against) -> None:
    X = rows_of(1_000, 7)
    y = draw(-1 + X[:, 0], 0)
    booster = LGB.built_in({**BINARY["lightgbm"], **against}, lgb.Dataset(X, y), 5)
    assert abs(float(imbalance_shift(booster, y=y))) > 0.1
    assert imbalance_shift(repair_lightgbm.without_odds(booster)) == 0


def test_frames_without_categories_stay_as_they_are(models) -> None:
    frame = pd.DataFrame(rows_of(5, 2))
    assert repair_lightgbm.as_trained(models["lightgbm"], frame) is frame
