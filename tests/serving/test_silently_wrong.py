"""What once was exported, or served, as something else than the model, and without a word."""

from __future__ import annotations

import re
import warnings
from pathlib import Path
from typing import Any

import lightgbm as lgb
import numpy as np
import pandas as pd
import pytest
import xgboost as xgb

import gbdt_objectives as go
from gbdt_objectives import serving
from gbdt_objectives.adapters.lightgbm import LGBMClassifier, LGBMRegressor
from gbdt_objectives.adapters.xgboost import estimators as xgboost_library
from gbdt_objectives.calibration import LogitCalibrator, VennAbersCalibrator
from gbdt_objectives.thresholds import Thresholds
from tests.serving.models import served

rng = np.random.default_rng(0)
X = rng.normal(size=(400, 3))
Y = (rng.random(400) < 1 / (1 + np.exp(-X[:, 0]))).astype(int)
SMALL: dict[str, Any] = {"n_estimators": 5, "verbose": -1, "n_jobs": 1}


def test_a_new_category_is_missing_for_lightgbm(tmp_path: Path) -> None:
    place = pd.Categorical(rng.choice(["low", "mid", "high"], 400), ["low", "mid", "high"], True)
    table = pd.DataFrame({"place": place, "x": X[:, 0]})
    table.loc[::5, "place"] = np.nan
    model = LGBMRegressor(**SMALL, min_child_samples=2).fit(table, Y + (table.place == "mid") * 3)
    model.export(tmp_path / "m", table)
    new = pd.DataFrame({"place": pd.Categorical(["never", "mid"]), "x": [0.1, 0.1]})
    missing = new.assign(place=pd.Categorical([np.nan, "mid"], dtype=table.place.dtype))
    expected = model.predict(new)
    assert expected[0] == model.predict(missing)[0]
    np.testing.assert_allclose(served(tmp_path / "m").predict(new), expected, rtol=1e-9)


class Table:
    """A table of another library, such as polars: columns by name, no ``keys``."""

    def __init__(self, columns: dict[str, Any]) -> None:
        self.of, self.columns = columns, list(columns)

    def __getitem__(self, name: str) -> Any:
        return self.of[name]

    def __array__(self, dtype: Any = None, copy: Any = None) -> Any:
        return np.column_stack(list(self.of.values())).astype(dtype or float)


def test_columns_of_any_table_are_found_by_name(tmp_path: Path) -> None:
    frame = pd.DataFrame(X, columns=["a", "b", "c"])
    model = LGBMRegressor(**SMALL).fit(frame, Y)
    model.export(tmp_path / "m", frame)
    turned = Table({name: frame[name].to_numpy() for name in ("c", "a", "b")})
    expected = model.predict(frame)
    np.testing.assert_allclose(served(tmp_path / "m").predict(turned), expected, rtol=1e-9)


@pytest.mark.parametrize("objective", ["poisson", "regression"])
def test_calibrators_of_margins_get_margins(tmp_path: Path, objective: str) -> None:
    booster = lgb.train({"objective": objective, "verbose": -1}, lgb.Dataset(X, Y), 5)
    margin = booster.predict(X, raw_score=True)
    calibrator = LogitCalibrator(input_space="margin").fit(margin, Y)
    serving.export(booster, tmp_path / "m", calibrator=calibrator)  # without X, to compare with
    found = served(tmp_path / "m").predict_proba(X)[:, 1]
    np.testing.assert_allclose(found, calibrator.predict(margin), rtol=1e-9)


def test_scores_of_the_calibrators_rows_have_their_places_in_its_table(tmp_path: Path) -> None:
    """Venn-Abers jumps at them: they are found although a sigmoid differs in its last bit."""
    model = xgb.XGBClassifier(n_estimators=5, n_jobs=1).fit(X, Y)
    calibrator = VennAbersCalibrator()
    classifier = go.CalibratedClassifier(model, calibrator, cv="prefit").fit(X, Y)
    classifier.export(tmp_path / "m")
    found = served(tmp_path / "m").predict_proba(X)
    np.testing.assert_allclose(found, classifier.predict_proba(X), rtol=0, atol=1e-6)


def test_an_older_xgboost_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """XGBoost 2.1 reads a file of 3.2 without a word, and predicts something else."""
    serving.export(xgb.XGBClassifier(n_estimators=3, n_jobs=1).fit(X, Y), tmp_path / "m", X)
    monkeypatch.setattr(xgb, "__version__", "2.0.9")
    with pytest.raises(ImportError, match="update xgboost"):
        serving.load(tmp_path / "m")
    with pytest.raises(ImportError, match="since"):
        served(tmp_path / "m")


def test_names_with_spaces_are_lightgbms_names(tmp_path: Path) -> None:
    frame = pd.DataFrame(X, columns=["one way", "or another", "third"])
    model = LGBMClassifier(**SMALL).fit(frame, Y)
    model.export(tmp_path / "m", frame)
    found = served(tmp_path / "m").predict_proba(frame)
    np.testing.assert_allclose(found, model.predict_proba(frame), rtol=1e-12)  # float64 in both
    loaded = serving.load(tmp_path / "m")
    assert loaded.n_features_ == loaded.n_features_in_ == 3
    assert loaded.n_classes_ == 2


@pytest.mark.filterwarnings("ignore:early stopping keeps")
def test_rounds_are_those_that_the_model_predicts_with(tmp_path: Path) -> None:
    """An estimator that stopped early predicts up to its best round, a plain booster with all."""
    early = xgb.XGBRegressor(n_estimators=60, early_stopping_rounds=3, n_jobs=1, learning_rate=1.0)
    early.fit(X[:200], X[:200, 0] + X[:200, 1], eval_set=[(X[200:], rng.normal(size=200))])
    rounds, best = early.get_booster().num_boosted_rounds(), early.best_iteration + 1
    assert best < rounds
    for name, model, kept in (("e", early, best), ("b", early.get_booster(), rounds)):
        serving.export(model, tmp_path / name)
        (file,) = (tmp_path / name).glob("*.ubj")
        assert xgb.Booster(model_file=file).num_boosted_rounds() == kept


def test_words_in_another_order_are_not_the_models(tmp_path: Path) -> None:
    """XGBoost 3.2 cuts off letters other than ASCII; what is left tells the order."""
    own = ["Grün", "blau", "öde"]
    letters = np.frombuffer("".join(own).encode(), np.uint8).astype(int).tolist()
    for starts in ([0, 4, 8, 11], [0, 5, 9, 13]):
        stored = {"offsets": starts, "values": letters[: starts[-1]]}
        assert xgboost_library.decode(stored, own) == own
        for other in (["blau", "Grün", "öde"], ["Grün", "blau", "üde"], ["Grun", "blau", "öde"]):
            with pytest.raises(ValueError, match="the model was trained on others, or in another"):
                xgboost_library.decode(stored, other)


def test_xgboost_says_which_column_is_a_category_and_where() -> None:
    table = pd.DataFrame({"x": X[:, 0], "place": pd.Categorical(np.where(X[:, 1] > 0, "a", "b"))})
    of_categories = xgb.XGBRegressor(n_estimators=2, enable_categorical=True).fit(table, Y)
    of_numbers = xgb.XGBRegressor(n_estimators=2).fit(X[:, :2], Y)
    with pytest.raises(ValueError, match="feature 1 is categorical in the model, but not so in X"):
        xgboost_library.categories_of(of_categories, [None, None])
    with pytest.raises(ValueError, match="feature 1 is not categorical in the model"):
        xgboost_library.categories_of(of_numbers, [None, ["a", "b"]])


@pytest.mark.parametrize(
    ("kind", "objective"),
    [(xgb.XGBClassifier, "binary:logistic"), (xgb.XGBRegressor, "count:poisson")],
)
def test_the_margin_of_an_estimator_is_not_its_prediction(kind: Any, objective: str) -> None:
    model = kind(n_estimators=3, objective=objective).fit(X, Y)
    of_booster = model.get_booster().predict(xgb.DMatrix(X), output_margin=True)
    np.testing.assert_allclose(xgboost_library.margin(model, X), of_booster, rtol=1e-6)
    assert np.abs(xgboost_library.margin(model, X) - model.predict(X)).max() > 0.5


def test_a_shift_of_one_number_for_classes_that_are_words_warns(tmp_path: Path) -> None:
    """The order of words does not say which of them is the event."""
    words, one = np.where(X[:, 0] > 1, "bad", "good"), go.log_odds_shift(negative_keep_rate=0.1)
    model = LGBMClassifier(**SMALL).fit(X, words)
    with pytest.warns(UserWarning, match="one number, for 'good'.*'bad': rate"):
        serving.ServedModel(model, shift=one)
    with pytest.warns(UserWarning, match="one number"):
        serving.export(model, tmp_path / "a", X, shift=one)
    with warnings.catch_warnings():
        warnings.simplefilter("error", UserWarning)
        rates = {"bad": 1, "good": 0.1}
        named = serving.ServedModel(model, shift=go.log_odds_shift(class_keep_rates=rates))
        serving.ServedModel(LGBMClassifier(**SMALL).fit(X, words == "good"), shift=one)
    assert named.predict_proba(X)[:, 0].mean() < model.predict_proba(X)[:, 0].mean()


# positives are not rare here
@pytest.mark.filterwarnings("ignore:negative_keep_rate drops rows of")
def test_an_average_of_averages_has_no_folder(tmp_path: Path) -> None:
    """Sums of probabilities, and then of their log-odds: the folder knows one sum."""
    member = lgb.LGBMClassifier(**SMALL)
    bags = go.DownsampledClassifier(member, 0.5, n_bags=2, calibrate=False, random_state=0)
    model = go.CalibratedClassifier(bags, LogitCalibrator(), cv=2).fit(X, Y)
    with pytest.raises(ValueError, match="averages themselves, .* pass ensemble=False, or"):
        model.export(tmp_path / "m", X)
    model.set_params(ensemble=False).fit(X, Y).export(tmp_path / "m", X)


def test_classes_that_the_order_of_sums_decides_are_counted(tmp_path: Path) -> None:
    """A threshold at a score of many rows, which the folder adds up in another order."""
    draw = np.random.default_rng(13)
    whole = draw.integers(0, 3, size=(300, 4)).astype(float)
    y = (draw.random(300) < 1 / (1 + np.exp(4.2 - 1.2 * whole[:, 0] - whole[:, 1]))).astype(int)
    model = go.CalibratedClassifier(lgb.LGBMClassifier(**SMALL, num_leaves=4), cv=3).fit(whole, y)
    serving.export(model, tmp_path / "plain", whole)
    p, found = model.predict_proba(whole)[:, 1], served(tmp_path / "plain").predict_score(whole)
    t = Thresholds([p[found < p][0]], [0, 1])
    changed = np.count_nonzero((p >= t[0]) != (found >= t[0]))
    assert changed > 1
    np.testing.assert_allclose(found, p, rtol=1e-12)
    with pytest.raises(ValueError, match=f"and so for {changed} of 300") as error:
        serving.export(model, tmp_path / "f", whole, thresholds=t, check_rows=300)
    assert "differ by less than 1e-09, as sums in another order do, but lie at" in str(error.value)
    assert "categories" not in str(error.value)
    remedy = re.search(r"Thresholds\(np.asarray\(t\) \+ \S+ t\.labels\)", str(error.value))
    assert remedy is not None
    serving.export(model, tmp_path / "f", whole, thresholds=eval(remedy[0]))
    assert (served(tmp_path / "f").predict(whole) == (p > t[0])).all()
