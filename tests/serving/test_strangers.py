"""A calibrator that is added needs its own file, a formula and a name: nothing else knows it."""

from __future__ import annotations

import runpy

import numpy as np
from lightgbm import LGBMClassifier

from gbdt_objectives import CalibratedClassifier, estimators
from gbdt_objectives.serving import load, objects
from tests.strangers.histogram import HistogramCalibrator


def test_a_strangers_calibrator_is_saved_served_and_read(monkeypatch, tmp_path) -> None:
    home = f"{estimators.__name__}.histogram"  # where it would be
    monkeypatch.setattr(HistogramCalibrator, "__module__", home)
    monkeypatch.setitem(objects.VALUES, HistogramCalibrator.__name__, HistogramCalibrator)
    rng = np.random.default_rng(0)
    X = rng.random((400, 2))
    y = (rng.random(400) < X[:, 0]).astype(int)
    booster = LGBMClassifier(n_estimators=5, verbose=-1, n_jobs=1)
    model = CalibratedClassifier(booster, HistogramCalibrator(), cv=2).fit(X, y)
    calibrator = model.calibrator_
    expected = np.interp([0.3, 0.6], calibrator.scores_, calibrator.probabilities_)
    np.testing.assert_allclose(calibrator.predict([0.3, 0.6]), expected, rtol=1e-15)
    again = HistogramCalibrator.from_json(calibrator.to_json())
    np.testing.assert_allclose(again.predict([0.3, 0.6]), expected, rtol=1e-15)

    model.export(tmp_path / "m", X)
    wanted = model.predict_proba(X)[:, 1]
    assert isinstance(load(tmp_path / "m").calibrator_, HistogramCalibrator)
    np.testing.assert_allclose(load(tmp_path / "m").predict_proba(X)[:, 1], wanted, rtol=1e-12)
    script = runpy.run_path(str(tmp_path / "m" / "predict.py"))
    served = script["Model"](tmp_path / "m").predict_proba(X)[:, 1]
    np.testing.assert_allclose(served, wanted, rtol=1e-12)
