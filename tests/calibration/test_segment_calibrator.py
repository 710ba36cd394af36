"""SegmentCalibrator: a common map and shrunken shifts; tests/fuzz has a slow reference."""

from __future__ import annotations

import json
import pickle
from functools import partial
from typing import Any

import lightgbm as lgb
import numpy as np
import pandas as pd
import pytest
from scipy.special import expit, logit
from sklearn.base import clone

import gbdt_objectives as go
from gbdt_objectives import serving
from gbdt_objectives.calibration import (
    InterceptCalibrator,
    LogitCalibrator,
    ROCConvexHullCalibrator,
    SegmentCalibrator,
    TemperatureCalibrator,
)
from tests.cases import each

MOVES = {"AT": 0.0, "DE": 0.9, "FR": 0.0, "IT": -0.8, "LI": 0.0}
LANDS = [*MOVES]


def rows(n: int, seed: int = 0, moves=MOVES):
    """Probabilities, labels and lands; LI is small."""
    rng = np.random.default_rng(seed)
    z = rng.normal(-1.5, 1, n)
    land = rng.choice(LANDS, n, p=[0.4, 0.3, 0.2, 0.09, 0.01])
    move = np.array([moves[one] for one in land])
    return expit(z), (rng.random(n) < expit(z + move)).astype(int), land


P, Y, LAND = rows(4000)
BY_LEVEL = SegmentCalibrator(InterceptCalibrator())


def total(calibrator: SegmentCalibrator) -> np.ndarray:
    """What is added to the log-odds of each land where the common map is a shift."""
    return calibrator.calibrator_.shift_ + calibrator.shift_ + calibrator.segment_shift_.shifts


def test_segments_that_moved_are_found_and_others_stay() -> None:
    p, y, land = rows(60_000, seed=1)
    fitted = clone(BY_LEVEL).fit(p, y, segments=land)
    found = dict(zip(LANDS, total(fitted), strict=True))
    for name in ("AT", "DE", "FR", "IT"):  # 5,400 rows or more: an error of 0.04
        assert found[name] == pytest.approx(MOVES[name], abs=0.12)
    own = land == "LI"  # which is drawn towards the others that stay
    alone = InterceptCalibrator().fit(p[own], y[own]).shift_
    assert abs(found["LI"]) < abs(alone)


def test_nothing_is_made_of_chance() -> None:
    costs = []
    for seed in range(10):
        p, y, land = rows(4000, seed=seed, moves=dict.fromkeys(LANDS, 0.0))
        d = clone(BY_LEVEL).fit(p, y, segments=land).segment_shift_.shifts
        alone = [
            InterceptCalibrator().fit(p[land == k], y[land == k]).shift_
            for k in LANDS
            if len(set(y[land == k])) > 1
        ]
        costs.append(np.abs(d).max() / np.abs(alone).max())
    assert np.median(costs) < 0.2


def test_the_mean_probability_is_the_mean_label() -> None:
    for calibrator in (SegmentCalibrator(), BY_LEVEL, SegmentCalibrator(LogitCalibrator())):
        fitted = clone(calibrator).fit(P, Y, segments=LAND)
        # the last step is below 1e-9
        assert fitted.predict(P, segments=LAND).mean() == pytest.approx(Y.mean(), abs=1e-8)


def test_a_weight_is_copies_of_the_row() -> None:
    w = np.random.default_rng(3).integers(0, 4, len(Y))
    weighted = SegmentCalibrator().fit(P, Y, w, segments=LAND)
    copies = SegmentCalibrator().fit(
        *(np.repeat(x, w) for x in (P, Y)), segments=np.repeat(LAND, w)
    )
    np.testing.assert_allclose(
        weighted.predict(P, segments=LAND), copies.predict(P, segments=LAND), rtol=1e-6
    )


def test_a_segment_without_rows_of_weight_is_unknown() -> None:
    w = (LAND != "LI").astype(float)
    with pytest.raises(ValueError, match="segments holds 'LI', first at row"):
        clone(BY_LEVEL).fit(P, Y, w, segments=LAND).predict(P, segments=LAND)


def test_rows_that_one_user_repeats_count_once() -> None:
    plain = clone(BY_LEVEL).fit(P, Y, segments=LAND)
    user = np.arange(len(Y))
    alone = clone(BY_LEVEL).fit(P, Y, segments=LAND, groups=user)
    np.testing.assert_allclose(total(alone), total(plain), atol=1e-8)  # steps below 1e-9
    five = [np.repeat(x, 5) for x in (P, Y, LAND, user)]
    repeated = clone(BY_LEVEL).fit(*five[:2], segments=five[2], groups=five[3])
    np.testing.assert_allclose(total(repeated), total(plain), atol=1e-8)
    without = clone(BY_LEVEL).fit(*five[:2], segments=five[2])
    assert np.abs(total(without) - total(plain)).max() > 0.01


def test_kept_negatives_give_what_all_rows_do() -> None:
    p, y, land = rows(60_000, seed=4)
    every = clone(BY_LEVEL).fit(p, y, segments=land)
    kept = (y == 1) | (np.random.default_rng(5).random(len(y)) < 0.4)
    some = p[kept], y[kept]
    found = [
        clone(BY_LEVEL).fit(*some, segments=land[kept], **rate)
        for rate in (
            {"negative_keep_rate": 0.4}, {"class_keep_rates": {0: 0.4, 1: 1}},
            {"keep_rate": np.full(kept.sum(), 0.4)},
        )
    ]  # fmt: skip
    # standard errors of the largest four are below 0.04, that of LI is 0.15
    np.testing.assert_allclose(total(found[0])[:4], total(every)[:4], atol=0.1)
    for other in found[1:]:
        np.testing.assert_allclose(total(other), total(found[0]), atol=1e-8)
    ignored = clone(BY_LEVEL).fit(*some, segments=land[kept])
    assert (total(ignored) - total(every) > 0.6).all()  # log(1 / 0.4) is 0.92


def test_one_label_in_a_segment() -> None:
    p, y, land = P.copy(), Y.copy(), LAND.copy()
    land[:40], y[:40] = "MT", 0
    shifts = clone(BY_LEVEL).fit(p, y, segments=land).segment_shift_
    at = dict(zip(shifts.segments.tolist(), shifts.shifts, strict=True))
    assert -6 < at["MT"] < min(at["AT"], at["FR"])


def test_certain_probabilities_stay() -> None:
    p = np.append(P, [0.0, 0.0, 1.0, 1.0])
    y, land = np.append(Y, [0, 0, 1, 1]), np.append(LAND, ["AT", "DE", "AT", "DE"])
    fitted = SegmentCalibrator(LogitCalibrator()).fit(p, y, segments=land)
    assert fitted.predict([0.0, 1.0], segments=["DE", "DE"]).tolist() == [0, 1]
    hull = SegmentCalibrator(ROCConvexHullCalibrator()).fit(p, y, segments=land)
    found = hull.predict(p, segments=land)
    assert np.isfinite(found).all()
    assert found.mean() == pytest.approx(y.mean(), abs=1e-8)


def test_a_segment_of_certain_rows_is_known() -> None:
    """Its rows tell nothing of a shift, and change nothing of others."""
    p, y = np.append(P, [0.0, 1.0]), np.append(Y, [0, 1])
    land, user = np.append(LAND, ["SM", "SM"]), np.arange(len(p))
    plain = clone(BY_LEVEL).fit(P, Y, segments=LAND)
    for groups in (None, user):
        fitted = clone(BY_LEVEL).fit(p, y, segments=land, groups=groups)
        found = dict(zip(fitted.segment_shift_.segments, fitted.segment_shift_.shifts, strict=True))
        assert found.pop("SM") == 0
        # steps below 1e-9; the common shift is found with all rows
        np.testing.assert_allclose([*found.values()], plain.segment_shift_.shifts, atol=1e-8)
        assert fitted.predict([0.0, 1.0], segments=["SM", "SM"]).tolist() == [0, 1]


def test_rows_that_are_all_certain_stay() -> None:
    """A hull tells them apart, so nothing is left to shift."""
    p, land = np.linspace(0.01, 0.99, 40), np.tile(["AT", "DE"], 20)
    y = (p > 0.5).astype(int)
    for groups in (None, np.arange(40) // 2):
        fitted = SegmentCalibrator(ROCConvexHullCalibrator())
        fitted.fit(p, y, segments=land, groups=groups)
        assert fitted.predict(p, segments=land).tolist() == y.tolist()


def test_new_segments() -> None:
    strict = clone(BY_LEVEL).fit(P, Y, segments=LAND)
    with pytest.raises(ValueError, match="segments holds 'XX', first at row 1, .*'common'"):
        strict.predict([0.1, 0.2], segments=["AT", "XX"])
    common = clone(BY_LEVEL).set_params(handle_unknown="common").fit(P, Y, segments=LAND)
    level = common.calibrator_.shift_ + common.shift_
    expected = expit(logit([0.1]) + level)
    np.testing.assert_allclose(common.predict([0.1], segments=["XX"]), expected, rtol=1e-12)
    alone = clone(common).fit(P, Y, segments=["AT"] * len(Y))  # as in a fold of few segments
    assert alone.segment_shift_.shifts.tolist() == [0]
    plain = InterceptCalibrator().fit(P, Y).predict(P)
    np.testing.assert_allclose(alone.predict(P, segments=LAND), plain, rtol=1e-9)
    with pytest.raises(TypeError, match="segments are int, .*convert"):
        common.predict([0.1], segments=[3])


@each("kind", ["list", "categories", "numbers", "polars"])
def test_columns_of_any_kind(kind: str) -> None:
    number = np.searchsorted(LANDS, LAND)
    made = {
        "list": lambda: LAND.tolist(), "categories": lambda: pd.Categorical(LAND, [*LANDS, "XX"]),
        "numbers": lambda: number,
        "polars": lambda: pytest.importorskip("polars").Series(LAND.tolist()),
    }[kind]()  # fmt: skip
    plain = clone(BY_LEVEL).fit(P, Y, segments=LAND)
    np.testing.assert_allclose(
        total(clone(BY_LEVEL).fit(P, Y, segments=made)), total(plain), rtol=1e-9
    )


FIT = partial(SegmentCalibrator().fit, P, Y)
HOLES = [None if k == 7 else one for k, one in enumerate(LAND)]
REFUSED = {
    "swapped": (lambda: SegmentCalibrator().fit(Y, P, segments=LAND), "y must be"),
    "another length": (lambda: FIT(segments=LAND[1:]), "segments has 3999 rows"),
    "missing": (lambda: FIT(segments=HOLES), "segments must not be missing, .*row 7: .*a value"),
    "nan": (lambda: FIT(segments=np.where(Y == 1, np.nan, 1.0)), "segments must be finite"),
    "fractions": (lambda: FIT(segments=P), "segments must be words or whole numbers, found 0"),
    "single": (lambda: FIT(segments=np.zeros(len(Y), int)), r"the single segment \[0\]"),
    "a frame": (lambda: FIT(segments=pd.DataFrame({"a": LAND, "b": LAND})), "segments"),
    "one label": (lambda: SegmentCalibrator().fit(P, 0 * Y, segments=LAND), "single class 0"),
    "columns": (
        lambda: SegmentCalibrator().fit(np.c_[1 - P, P], Y, segments=LAND),
        r"probability must be \(n,\)",
    ),
    "margins": (
        lambda: SegmentCalibrator().fit(logit(P), Y, segments=LAND), r"probability must be in \[0"
    ),
    "not fitted": (lambda: SegmentCalibrator().predict(P, segments=LAND), "not fitted"),
    "new rows of another length": (
        lambda: clone(BY_LEVEL).fit(P, Y, segments=LAND).predict(P, segments=LAND[1:]),
        "segments has 3999 rows",
    ),
    "no segments": (lambda: FIT(), "segments"),
    "unknown": (
        lambda: SegmentCalibrator(handle_unknown="global").fit(P, Y, segments=LAND),
        "handle_unknown must be",
    ),
    "a class": (
        lambda: SegmentCalibrator(LogitCalibrator).fit(P, Y, segments=LAND), "pass an instance"
    ),
    "of margins": (
        lambda: SegmentCalibrator(LogitCalibrator(input_space="margin")).fit(P, Y, segments=LAND),
        "calibrator must be of probabilities",
    ),
    "of classes": (
        lambda: SegmentCalibrator(TemperatureCalibrator()).fit(P, Y, segments=LAND),
        "calibrator must be",
    ),
    "segment": (
        lambda: SegmentCalibrator(segment=LAND).fit(P, Y, segments=LAND), "name or number of"
    ),
}  # fmt: skip


@each("case", REFUSED)
def test_refused(case: str) -> None:
    call, says = REFUSED[case]
    with pytest.raises((ValueError, TypeError), match=says):
        call()


def test_json_and_pickle() -> None:
    fitted = SegmentCalibrator(LogitCalibrator(), segment="land", handle_unknown="common")
    fitted.fit(P, Y, segments=LAND)
    expected = fitted.predict(P, segments=LAND)
    for again in (
        SegmentCalibrator.from_json(fitted.to_json()),
        pickle.loads(pickle.dumps(fitted)),
    ):
        assert again.get_params()["segment"] == "land"
        assert again.handle_unknown == "common"
        assert isinstance(again.calibrator, LogitCalibrator)
        np.testing.assert_array_equal(again.predict(P, segments=LAND), expected)
    saved = json.loads(fitted.to_json())
    for change in (
        {"shift": 1.0}, {"shift": "1"}, {"calibrator": {}}, {"calibrator": None},
        {"calibrator": {"format": "gbdt_objectives.SegmentShift/1"}}, {"segment_shift": []},
        {"segment": [1]},
    ):  # fmt: skip
        with pytest.raises((ValueError, TypeError)):
            SegmentCalibrator.from_json(json.dumps(saved | change))


def features(n: int, seed: int):
    """A number and the land, and labels that follow both."""
    p, y, land = rows(n, seed)
    return pd.DataFrame({"z": logit(p), "land": pd.Categorical(land, LANDS)}), y


def booster_of_numbers() -> tuple[Any, pd.DataFrame, np.ndarray]:
    """LightGBM that may not split on the land, but has it as a feature."""
    X, y = features(3000, 6)
    params = {"verbose": -1, "num_leaves": 4, "num_threads": 1, "interaction_constraints": [[0]]}
    return lgb.LGBMClassifier(n_estimators=20, **params), X, y


def test_part_of_a_model(tmp_path) -> None:
    model, X, y = booster_of_numbers()
    by_land = SegmentCalibrator(LogitCalibrator(), segment="land", handle_unknown="common")
    whole = go.CalibratedClassifier(model, by_land, cv=3).fit(X, y)
    land = X.land.to_numpy()
    again = clone(by_land).fit(whole.oof_probability_, y, segments=land)
    np.testing.assert_allclose(
        whole.calibrator_.segment_shift_.shifts, again.segment_shift_.shifts, atol=1e-9
    )
    groups = np.arange(len(y)) // 2
    grouped = go.CalibratedClassifier(model, by_land, cv=3).fit(X, y, groups=groups)
    again = clone(by_land).fit(grouped.oof_probability_, y, segments=land, groups=groups)
    np.testing.assert_allclose(
        grouped.calibrator_.segment_shift_.shifts, again.segment_shift_.shifts, atol=1e-9
    )
    fitted = model.fit(X, y)
    p = fitted.predict_proba(X)[:, 1]
    alone = clone(by_land).fit(p, y, segments=land)
    names = X.columns.to_numpy().astype(str)
    for segment in (names[1], np.int64(1)):
        of_numpy = go.CalibratedClassifier(model, clone(by_land).set_params(segment=segment), cv=3)
        found = of_numpy.fit(X, y).calibrator_
        np.testing.assert_array_equal(
            found.segment_shift_.shifts, whole.calibrator_.segment_shift_.shifts
        )
        assert SegmentCalibrator.from_json(found.to_json()).segment == segment
    with pytest.raises(TypeError, match="found True"):
        go.CalibratedClassifier(model, SegmentCalibrator(segment=True)).fit(X, y)
    for name, served in {
        "whole": whole, "parts": serving.ServedModel(fitted, calibrator=alone)
    }.items():  # fmt: skip
        serving.export(served, tmp_path / name, X)  # which compares predict.py with the model
        assert len((tmp_path / name / "predict.py").read_text("utf-8").splitlines()) <= 85
        read = serving.load(tmp_path / name)
        np.testing.assert_allclose(read.predict_proba(X), served.predict_proba(X), rtol=1e-9)
    expected = alone.predict(p, segments=land)
    found = serving.ServedModel(fitted, calibrator=alone).predict_proba(X)[:, 1]
    np.testing.assert_allclose(found, expected, rtol=1e-12)


def test_part_of_a_model_refused(tmp_path) -> None:
    model, X, y = booster_of_numbers()
    with pytest.raises(ValueError, match=r'write .*SegmentCalibrator\(segment="country"\)'):
        go.CalibratedClassifier(model, SegmentCalibrator()).fit(X, y)
    with pytest.raises(ValueError, match="segment='site' is no column of X"):
        go.CalibratedClassifier(model, SegmentCalibrator(segment="site")).fit(X, y)
    three = np.arange(len(y)) % 3
    with pytest.raises(ValueError, match="use TemperatureCalibrator"):
        go.CalibratedClassifier(model, SegmentCalibrator(segment="land")).fit(X, three)
    fitted = model.fit(X, y)
    alone = SegmentCalibrator().fit(fitted.predict_proba(X)[:, 1], y, segments=X.land)
    with pytest.raises(ValueError, match=r"SegmentCalibrator\(segment="):
        serving.ServedModel(fitted, calibrator=alone).predict_proba(X)
    with pytest.raises(ValueError, match=r"SegmentCalibrator\(segment="):
        serving.export(fitted, tmp_path / "model", X, calibrator=alone)


def test_a_graph(tmp_path) -> None:
    runtime = pytest.importorskip("onnxruntime")
    model, X, y = booster_of_numbers()
    fitted = model.fit(X, y)
    p = fitted.predict_proba(X)[:, 1]
    strict = SegmentCalibrator(segment="land").fit(p, y, segments=X.land)
    with pytest.raises(ValueError, match="cannot refuse a row: .*handle_unknown='common'"):
        serving.export_onnx(
            serving.ServedModel(fitted, calibrator=strict), tmp_path / "strict.onnx", X
        )
    common = clone(strict).set_params(handle_unknown="common").fit(p, y, segments=X.land)
    served = serving.ServedModel(fitted, calibrator=common)
    serving.export_onnx(served, tmp_path / "model.onnx", X)  # which compares it with the model
    assert runtime.InferenceSession(tmp_path / "model.onnx").get_inputs()


def test_the_old_name_says_what_takes_its_place() -> None:
    for name in ("repair_segments", "SegmentRepair"):
        with pytest.raises(AttributeError, match=r"calibration\.SegmentCalibrator"):
            getattr(go.experimental, name)
