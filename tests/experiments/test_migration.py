"""Pasted code before and after: every pair runs, and the page says what was found."""

from __future__ import annotations

import re

import lightgbm as lgb
import numpy as np
import pandas as pd
import pytest
import xgboost as xgb
from sklearn.calibration import CalibratedClassifierCV
from sklearn.model_selection import TimeSeriesSplit, TunedThresholdClassifierCV
from sklearn.tree import DecisionTreeClassifier

from experiments.migration import __main__ as study, page
from gbdt_objectives import correct_probability

pytestmark = [pytest.mark.slow, pytest.mark.xdist_group("migration")]

ORDINAL = ("lgbm_folds", "lgb_train_feval", "xgb_early_stopping", "voting", "optimized_rounder")
TOLERANCE = 0.02
"""In kappa, of one draw of 800 training rows: ways that are worth the same stop at other rounds."""


@pytest.fixture(scope="module")
def quick(tmp_path_factory) -> pd.DataFrame:
    """The cells of a quick run: every pair and case, on few rows."""
    folder = tmp_path_factory.mktemp("migration")
    assert study.main(["--quick", "--output", str(folder)]) == 0
    assert {path.name for path in folder.iterdir()} == {
        "cells.csv", "table.md", "environment.json"
    }  # fmt: skip
    cells = pd.read_csv(folder / "cells.csv", keep_default_na=False)
    assert np.isfinite(cells.score).all()
    return cells


def committed() -> pd.DataFrame:
    return pd.read_csv(study.HERE / "results/cells.csv", keep_default_na=False)


def scores(cells: pd.DataFrame, pair: str, case: str = "") -> dict[str, float]:
    """Mean score of each way."""
    own = cells[(cells.pair == pair) & (cells.case == case)]
    assert len(own)
    return own.groupby("way").score.mean().to_dict()


@pytest.mark.ci
def test_every_file_is_a_side_of_a_pair(quick) -> None:
    names = {path.stem for path in page.PAIRS.glob("*.py")}
    assert names == {f"{pair}_{side}" for pair in study.TITLES for side in study.SIDES}
    assert list(quick.pair.unique()) == list(study.TITLES)


@pytest.mark.ci
@pytest.mark.parametrize("pair", ORDINAL)
def test_grades_are_as_good_after(quick, pair) -> None:
    found = scores(quick, pair)
    assert found["after"] >= found["before"] - TOLERANCE


@pytest.mark.ci
@pytest.mark.parametrize("cells", [None, committed], ids=["quick", "committed"])
def test_what_is_silently_wrong_before_is_right_after(quick, cells) -> None:
    found = quick if cells is None else cells()

    def way(side, pair, case):
        return scores(found, pair, case)[side]

    for pair, case, worst in (
        ("lgbm_folds", "grades from 0", 0.58),
        ("xgb_early_stopping", "without `maximize=True`", 0.4),
        ("optimized_rounder", "scores between 0 and 1", 0.0),
    ):
        assert way("before", pair, case) <= worst < 0.63 < way("after", pair, case)
        # the broken assumption changes nothing after
        assert way("after", pair, case) == pytest.approx(way("after", pair, ""), abs=TOLERANCE)
    for pair, case in (
        ("lgb_train_feval", "weights"),
        ("voting", "members on squared error"),
    ):
        assert way("after", pair, case) > way("before", pair, case)
    for pair, case in (
        ("downsampling", "the model alone, as it is served"),
        ("under_sampler", "read as a probability"),
        ("smote", "read as a probability"),
    ):
        assert way("before", pair, case) > 8 * way("after", pair, case)
        if cells is not None:  # the few clicks of a quick run say little
            assert way("after", pair, case) == pytest.approx(1, abs=0.1)
    drift = "rows by time, clicks rising"
    assert way("before", "calibrated", drift) < way("after", "calibrated", drift) < 1.2


@pytest.mark.ci
def test_probabilities_are_near_as_good_after(quick) -> None:
    for pair in ("downsampling", "calibrated"):
        found = scores(quick, pair)
        assert found["after"] == pytest.approx(found["before"], rel=0.05)
    for pair in ("under_sampler", "smote"):
        found = scores(quick, pair)
        assert found["after"] < 0.3 * found["before"]


def test_peers_are_as_the_page_says() -> None:
    X, y, X_test, _ = study.clicks(0, 8000, 20_000)
    tree = DecisionTreeClassifier(max_depth=4, random_state=0)
    small = lgb.LGBMClassifier(n_estimators=20, n_jobs=1, verbose=-1)
    isotonic = CalibratedClassifierCV(small, method="isotonic").fit(X, y)
    assert (isotonic.predict_proba(X_test)[:, 1] == 0).any()
    by_time = CalibratedClassifierCV(tree, cv=TimeSeriesSplit(3), ensemble=False)
    with pytest.raises(ValueError, match="partitions"):
        by_time.fit(X, y)
    with pytest.raises(ValueError, match="enable_metadata_routing"):
        TunedThresholdClassifierCV(tree).fit(X, y, sample_weight=np.ones(len(y)))

    first = xgb.XGBRegressor(
        objective=lambda y, margin: (margin - y, np.ones_like(y)), n_estimators=1, learning_rate=0
    )
    np.testing.assert_allclose(first.fit(X, y).predict(X_test), 0.5)


def test_nothing_is_done_by_hand_after() -> None:
    by_hand = r"\by(_\w+)?(\[[^\]]*\])? [-+] |[-+] a\b|\(1 - p\w*\)"  # shifts, a formula
    for pair in study.TITLES:
        after = (page.PAIRS / f"{pair}_after.py").read_text("utf-8")
        assert not re.search(by_hand, after), pair
    assert re.search(by_hand, (page.PAIRS / "lgbm_folds_before.py").read_text("utf-8"))


def test_lines() -> None:
    text = '"""One."""\n# Two\n\ndef f(x):\n    """Three."""\n    return x  # four\n'
    assert study.code_lines(text) == 2


def test_the_formula_by_name() -> None:
    """Who has a model already: correct_probability takes the place of p / (p + (1 - p) / w)."""
    p = np.random.default_rng(0).random(1000)
    sampler = study.module("downsampling", "before").DownSampler(0.05)
    np.testing.assert_allclose(
        correct_probability(p, negative_keep_rate=0.05), sampler.calibrate(p), rtol=1e-12
    )


def test_a_page_for_each_pair_shows_its_files() -> None:
    for pair, title in study.TITLES.items():
        text = (page.PAIRS / f"{pair}.md").read_text("utf-8")
        assert text.startswith(f"# {title}\n")
        shown = set(re.findall(r"^<!-- (\w+)\.py -->$", text, flags=re.M))
        names = {path.stem for path in page.PAIRS.glob(f"{pair}_*.py")}
        assert names - shown == {"optimized_rounder_before"} & names
        assert pair != "optimized_rounder" or "(optimized_rounder_before.py)" in text
    assert len(page.PAGES) == 1 + len(study.TITLES)


@pytest.mark.parametrize("shown", [*page.PAGES, page.README], ids=lambda path: path.stem)
def test_up_to_date(shown) -> None:
    text = shown.read_text("utf-8")
    assert page.updated(text) == text, "run python -m experiments.migration.page"
