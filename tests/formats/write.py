"""Writes what a version saves, with a given seed: ``python -m tests.formats.write FOLDER``."""

from __future__ import annotations

import json
import sys
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import lightgbm as lgb
import numpy as np
import xgboost as xgb

import gbdt_objectives as go
from gbdt_objectives import serving
from gbdt_objectives.adapters import lightgbm as lightgbm_adapter
from gbdt_objectives.calibration import (
    BetaCalibrator,
    CalibrationMonitor,
    InterceptCalibrator,
    LogitCalibrator,
    ROCConvexHullCalibrator,
    SegmentCalibrator,
    SplineCalibrator,
    TemperatureCalibrator,
    VennAbersCalibrator,
)
from gbdt_objectives.experimental import DelayDistribution
from gbdt_objectives.priors import LogOddsShift
from gbdt_objectives.thresholds import ActionRule, DecisionRule, SegmentShift, Thresholds

LGB: dict[str, Any] = {"n_estimators": 3, "num_leaves": 4, "n_jobs": 1, "verbose": -1}
XGB: dict[str, Any] = {"n_estimators": 3, "max_depth": 2, "n_jobs": 1}
ROWS, HELD = 300, 20
WORDS = np.array(["low", "mid", "high"])


def rows(n: int, seed: int) -> tuple[Any, Any]:
    """X with a missing value now and then, and the number that its labels are cut from."""
    rng = np.random.default_rng(seed)
    X = np.round(rng.normal(size=(n, 3)), 3)
    X[rng.random(n) < 0.1, 1] = np.nan
    return X, X[:, 0] + 0.5 * rng.normal(size=n)


def blend() -> Any:
    X, s = rows(ROWS, 0)
    members = [("lgb", lgb.LGBMRegressor(**LGB)), ("xgb", xgb.XGBRegressor(**XGB))]
    model = go.QWKClassifier(members, weights=[1, 1], cv=2, labels=WORDS)
    return model.fit(X, WORDS[np.digitize(s, [-0.5, 0.7])])


def classifier(model: Any) -> Any:
    X, s = rows(ROWS, 1)
    return model.fit(X, (s > 0.6).astype(int))


def downsampled(calibrate: bool) -> Any:
    model = xgb.XGBClassifier(**XGB)
    return classifier(
        go.DownsampledClassifier(
            model, negative_keep_rate=0.5, n_bags=2, calibrate=calibrate, random_state=0
        )
    )


def calibrated(ensemble: bool) -> Any:
    model = lgb.LGBMClassifier(**LGB)
    return classifier(go.CalibratedClassifier(model, SplineCalibrator(), cv=2, ensemble=ensemble))


def served() -> Any:
    X, s = rows(ROWS, 1)
    params = {"num_leaves": 4, "verbose": -1, "num_threads": 1}
    objective = go.weighted_logloss_objective(0.5)
    data = lgb.Dataset(X, (s > 0.6).astype(int))
    booster = lightgbm_adapter.train(params, data, 3, objective=objective)
    thresholds = Thresholds([0.4], ["reject", "accept"])
    return serving.ServedModel(booster, thresholds=thresholds, shift=LogOddsShift(-0.5))


MODELS: dict[str, Callable[[], Any]] = {
    "qwk_blend": blend,
    "downsampled": lambda: downsampled(calibrate=False),
    "downsampled_calibrated": lambda: downsampled(calibrate=True),
    "calibrated": lambda: calibrated(ensemble=False),
    "calibrated_ensemble": lambda: calibrated(ensemble=True),
    "estimator": lambda: classifier(xgb.XGBClassifier(**XGB)),
    "served": served,
}


def of_probability(calibrator: Any) -> Any:
    rng = np.random.default_rng(2)
    p = np.round(rng.random(60), 2)
    return calibrator.fit(p, (rng.random(60) < p**2).astype(int))


def temperature() -> Any:
    rng = np.random.default_rng(3)
    p = rng.dirichlet(np.ones(3), 80)
    return TemperatureCalibrator().fit(p, [rng.choice(3, p=each) for each in p])


def segment_calibrator() -> Any:
    rng = np.random.default_rng(4)
    p, site = np.round(rng.random(400), 2), rng.choice(["east", "west"], 400)
    y = (rng.random(400) < p ** np.where(site == "west", 2, 1)).astype(int)
    return SegmentCalibrator(LogitCalibrator(), handle_unknown="common").fit(p, y, segments=site)


def threshold_classifier() -> Any:
    s = np.linspace(0, 3, 30)
    return go.ThresholdClassifier(labels=WORDS.tolist()).fit(s, WORDS[np.digitize(s, [1.1, 2.2])])


def monitor() -> Any:
    rng, found = np.random.default_rng(4), CalibrationMonitor(0.01, 0.5)
    for F in (0.5, 1.0):
        p = np.round(rng.random(40), 3)
        found.update((rng.random(40) < p / 2).astype(int), p, arrived=F, arrived_at_sampling=F)
    return found


CALIBRATORS = (
    InterceptCalibrator, LogitCalibrator, BetaCalibrator, SplineCalibrator,
    ROCConvexHullCalibrator, VennAbersCalibrator,
)  # fmt: skip
VALUES: dict[str, Callable[[], Any]] = {
    "Thresholds": lambda: Thresholds([-np.inf, 0.5], WORDS),
    "DecisionRule": lambda: DecisionRule(
        [1.0, 2.0, 1.5], [0.0, 0.25, 0.1], WORDS, 1.25, [0.2, -0.3, 0.1], 0.03, 0.01
    ),
    "ActionRule": lambda: ActionRule(
        [[0.0, 2.5], [1.0, 2.0], [50.0, 3.0]], ["pass", "review"], WORDS, [0.0, 0.5], 0.25
    ),
    "SegmentShift": lambda: SegmentShift(["east", "west"], [0.25, -0.25], shrinkage=4.0),
    "LogOddsShift": lambda: LogOddsShift([0.0, 0.5, -1.5]),
    "DelayDistribution": lambda: DelayDistribution(
        delay=[0, 3], probability=[0.75, 1], standard_error=[0.05, 0], horizon=7
    ),
    "CalibrationMonitor": monitor,
    "ThresholdClassifier": threshold_classifier,
    "TemperatureCalibrator": temperature,
    "SegmentCalibrator": segment_calibrator,
    **{kind.__name__: lambda kind=kind: of_probability(kind()) for kind in CALIBRATORS},
}  # fmt: skip


def answers(name: str, value: Any) -> Any:
    """What is asked of a value that was read, as plain numbers and words."""
    at = np.linspace(0.02, 0.98, 9)
    if name == "SegmentCalibrator":
        return value.predict(at, segments=["east", "west", "new"] * 3).tolist()
    if name == "SegmentShift":
        return value.apply(at, ["east", "west", "east"] * 3).tolist()
    if name == "CalibrationMonitor":
        return [value.evidence, value.shift, value.slope, value.alarm]
    if name == "LogOddsShift":
        return np.asarray(value).tolist()
    if name == "DelayDistribution":
        return value(np.arange(8)).tolist()
    if name == "Thresholds":
        return value.apply(at).tolist()
    if name in ("ActionRule", "DecisionRule", "TemperatureCalibrator"):
        p = np.column_stack([at / 2, at / 2, 1 - at])
        return (value.predict if name == "TemperatureCalibrator" else value.apply)(p).tolist()
    return value.predict(3 * at if name == "ThresholdClassifier" else at).tolist()


def predictions(model: Any) -> dict[str, Any]:
    X, _ = rows(HELD, 9)
    return {"predict": model.predict(X).tolist(), "predict_proba": model.predict_proba(X).tolist()}


def write(folder: Path) -> None:
    folder.mkdir(parents=True)
    expected: dict[str, Any] = {}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # what tiny models are warned of
        for name, make in MODELS.items():
            model = make()
            serving.export(model, folder / name, rows(ROWS, 1)[0], check_rows=5)
            expected[name] = predictions(model)
        for name, make in VALUES.items():
            value = make()
            text = json.dumps(json.loads(value.to_json()), indent=1) + "\n"
            (folder / f"{name}.json").write_text(text, "utf-8")
            expected[name] = answers(name, value)
    text = json.dumps(expected, indent=1) + "\n"
    (folder / "expected.json").write_text(text, "utf-8")


if __name__ == "__main__":
    write(Path(sys.argv[1]))
