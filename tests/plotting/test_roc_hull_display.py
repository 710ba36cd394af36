"""ROCHullDisplay: what is drawn, what is refused."""

from __future__ import annotations

import matplotlib.pyplot as plt
import numpy as np
import pytest
from sklearn.metrics import auc, roc_auc_score

from gbdt_objectives.calibration import ROCConvexHullCalibrator, roc_convex_hull
from gbdt_objectives.plotting import ROCHullDisplay
from tests.cases import refused

pytestmark = pytest.mark.slow

KINDS = ("curve", "map")
DESCENDING = [1, 1, 0, 1, 1, 0, 1, 1, 0, 0]  # labels of the worked example, best score first


@pytest.fixture
def rows() -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(0)
    y = rng.integers(0, 2, 500)
    return y, (y + rng.standard_normal(500)).round(1)


def curve_and_hull(display: ROCHullDisplay):
    curve, hull, _ = display.ax_.get_lines()
    return *curve.get_data(), *hull.get_data()


def test_worked_example() -> None:
    display = ROCHullDisplay.from_predictions(DESCENDING, np.arange(10, 0, -1))
    x, y, hull_x, hull_y = curve_and_hull(display)
    assert list(zip(hull_x, hull_y, strict=True)) == [(0, 0), (0, 2 / 6), (0.5, 1), (1, 1)]
    assert auc(x, y) == pytest.approx(18 / 24, rel=1e-15)
    assert auc(hull_x, hull_y) == pytest.approx(20 / 24, rel=1e-15)
    texts = [text.get_text() for text in display.ax_.get_legend().get_texts()]
    assert texts == ["ROC curve, AUC 0.7500", "convex hull, AUC 0.8333", "chance, AUC 0.5"]
    display.figure_.canvas.draw()


@pytest.mark.parametrize("weighted", [False, True])
def test_curve_has_its_area_and_lies_below_the_hull(rows, weighted) -> None:
    y, score = rows
    w = np.random.default_rng(1).uniform(0, 2, 500) if weighted else None
    display = ROCHullDisplay.from_predictions(y, score, sample_weight=w)
    x, height, hull_x, hull_y = curve_and_hull(display)
    expected = roc_auc_score(y, score, sample_weight=w)
    # sums of some hundred terms
    assert auc(x, height) == pytest.approx(expected, rel=1e-12)
    assert display.hull.auc == pytest.approx(expected, rel=1e-12)
    assert (height <= np.interp(x, hull_x, hull_y) + 1e-12).all()
    for corner in zip(hull_x, hull_y, strict=True):
        assert np.hypot(x - corner[0], height - corner[1]).min() < 1e-12


def test_map_is_that_of_the_calibrator(rows) -> None:
    y, score = rows
    ax = ROCHullDisplay.from_predictions(y, score, kind="map").ax_
    x, p = ax.get_lines()[0].get_data()
    at = np.linspace(score.min(), score.max(), 1001)
    expected = ROCConvexHullCalibrator().fit(score, y).predict(at)
    np.testing.assert_allclose(np.interp(at, x, p), expected, rtol=0, atol=1e-12)
    assert ax.get_xlabel() == "score"


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_many_rows_are_drawn_with_few_points_and_all_corners(dtype) -> None:
    rng = np.random.default_rng(0)
    y = rng.integers(0, 2, 50_000)
    score = (y + rng.standard_normal(50_000)).astype(dtype)
    display = ROCHullDisplay.from_predictions(y, score)
    x, height, hull_x, hull_y = curve_and_hull(display)
    assert len(x) < 2500
    drawn = set(zip(x, height, strict=True))
    # both divide the same whole numbers
    assert set(zip(hull_x, hull_y, strict=True)) <= drawn
    assert len(hull_x) == len(roc_convex_hull(y, score).fpr)


@pytest.mark.parametrize("kind", KINDS)
def test_extremes_can_be_drawn(kind) -> None:
    for score in ([0, 0, 1, 1], [1, 1, 0, 0], [0, 0, 0, 0]):  # perfect, inverted, constant
        display = ROCHullDisplay.from_predictions([0, 0, 1, 1], score, kind=kind)
        display.figure_.canvas.draw()


@refused(
    ({"kind": "hull"}, "kind must be one of 'curve', 'map'"),
    ({"y_true": [1, 1, 1, 1]}, "y_true holds the single class 1"),
    ({"sample_weight": [-1, 1, 1, 1]}, "sample_weight must not be negative"),
)  # fmt: skip
def test_bad_arguments_are_refused(arguments) -> None:
    rows = {"y_true": [0, 1, 0, 1], "score": [0.1, 0.2, 0.3, 0.4]}
    try:
        ROCHullDisplay.from_predictions(**{**rows, **arguments})
    finally:
        assert plt.get_fignums() == []
