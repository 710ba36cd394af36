"""Speed of the ROC hull, calibrators, the decomposition, ECE and ratios, as ratios to a sort.

    python -m benchmarks.calibration [--quick]

All of them begin with a sort of the same scores; the ratio says what the rest costs.
Predicting is compared with a search of the same scores among the ends of the segments.
"""

from __future__ import annotations

import time

import numpy as np

from benchmarks._timing import in_turns, peak_bytes, quick_run, report
from gbdt_objectives.calibration import (
    BetaCalibrator,
    LogitCalibrator,
    ROCConvexHullCalibrator,
    SplineCalibrator,
    VennAbersCalibrator,
    calibration_error_test,
    calibration_ratio_by_segment,
    calibration_refinement,
    expected_calibration_error,
    roc_convex_hull,
)


def data(n: int) -> tuple[np.ndarray, np.ndarray]:
    """Labels of 14 % positives, and their true probabilities: a long and busy hull."""
    rng = np.random.default_rng(0)
    probability = 1 / (1 + np.exp(2.2 - rng.standard_normal(n)))
    return (rng.random(n) < probability).astype(np.int64), probability


def main() -> None:
    quick = quick_run(__doc__, "numpy", "scikit-learn")
    n, turns = (100_000, 2) if quick else (1_000_000, 9)
    y, p = data(n)
    rng = np.random.default_rng(1)
    w = rng.exponential(size=n)
    leaf, segment = rng.integers(0, 1000, n), rng.integers(0, 20, n)
    y3, p3 = rng.integers(0, 3, n), rng.dirichlet([1, 1, 1], n)
    roc_convex_hull(y[:1000], p[:1000])  # imports
    goals = {
        "hull": lambda: roc_convex_hull(y, p),
        "hull, weights": lambda: roc_convex_hull(y, p, sample_weight=w),
        "hull, 1,000 different scores": lambda: roc_convex_hull(y, p.round(3)),
        "calibrator, fit": lambda: ROCConvexHullCalibrator().fit(p, y),
        "calibrator, fit, Laplace, monotone, weights": lambda: ROCConvexHullCalibrator(
            m=2, monotone=True
        ).fit(p, y, w),
        "Venn-Abers, fit": lambda: VennAbersCalibrator().fit(p, y),
        "Venn-Abers, fit, weights": lambda: VennAbersCalibrator().fit(p, y, w),
        "beta, fit": lambda: BetaCalibrator().fit(p, y),
        "beta, fit, weights": lambda: BetaCalibrator().fit(p, y, w),
        "decomposition, equal predictions": lambda: calibration_refinement(y, p),
        "decomposition, isotonic": lambda: calibration_refinement(y, p, partition="isotonic"),
        "decomposition, isotonic, weights": lambda: calibration_refinement(
            y, p, partition="isotonic", sample_weight=w
        ),
        "decomposition, isotonic, log loss": lambda: calibration_refinement(
            y, p, partition="isotonic", loss="log_loss"
        ),
        "decomposition, 1,000 leaves": lambda: calibration_refinement(y, p, partition=leaf),
        "ECE, equal mass": lambda: expected_calibration_error(y, p),
        "ECE, equal mass, weights": lambda: expected_calibration_error(y, p, sample_weight=w),
        "ECE, equal width": lambda: expected_calibration_error(y, p, strategy="uniform"),
        "ECE, its null level and interval": lambda: calibration_error_test(y, p, random_state=0),
        "intervals for 20 segments, weights, kept negatives": lambda: calibration_ratio_by_segment(
            y, p, segment, sample_weight=w, negative_keep_rate=0.5
        ),
        "intervals for 20 bins": lambda: calibration_ratio_by_segment(
            y, p, "prediction", n_bins=20
        ),
        "ECE, three classes": lambda: expected_calibration_error(y3, p3),
        "decomposition, equal predictions of three classes": lambda: calibration_refinement(y3, p3),
    }
    seconds = in_turns({"sort": lambda: np.argsort(p), **goals}, turns)
    sort = seconds["sort"]
    print(f"{n:,} rows; numpy.argsort {sort * 1e3:.1f} ms")
    for name in goals:
        own = name.startswith(("Venn", "beta"))
        report(f"{name} / argsort", seconds[name] / sort, 8 if own else 6)
    names = segment.astype(str).astype(object)
    goals = {
        "intervals for 20 segments": lambda: calibration_ratio_by_segment(y, p, segment),
        "intervals for 20 segments, names": lambda: calibration_ratio_by_segment(y, p, names),
    }
    seconds = in_turns({"sort": lambda: np.argsort(p), **goals}, turns)
    for name in goals:
        report(f"{name} / argsort", seconds[name] / seconds["sort"], 3)
    many = 200_000 if quick else 10_000_000
    y_many, p_many = data(many)
    ways = {
        "sort": lambda: np.argsort(p_many),
        "ECE": lambda: expected_calibration_error(y_many, p_many, strategy="uniform"),
    }
    seconds = in_turns(ways, 1)
    report(f"ECE, equal width, {many:,} rows / argsort", seconds["ECE"] / seconds["sort"], 1)
    hull, venn = ROCConvexHullCalibrator().fit(p, y), VennAbersCalibrator().fit(p, y)
    beta = BetaCalibrator().fit(p, y)
    distinct = np.unique(p)
    ways = {
        "hull": lambda: hull.predict(p),
        "among its ends": lambda: np.searchsorted(hull.scores_, p),
        "Venn-Abers": lambda: venn.predict(p),
        "among its steps": lambda: np.searchsorted(venn.scores_, p),
        "beta": lambda: beta.predict(p),
        "among all": lambda: np.searchsorted(distinct, p),
    }
    seconds = in_turns(ways, turns)
    for name, search, among, goal in (
        ("hull", "among its ends", len(hull.scores_), 1.5),
        ("Venn-Abers", "among its steps", len(venn.scores_), 2),
        ("beta", "among all", len(distinct), 2),
    ):
        ratio = seconds[name] / seconds[search]
        report(f"{name}, predict / searchsorted among {among:,}", ratio, goal)
    spline(quick)
    memory(quick)


def memory(quick: bool) -> None:
    """Of the reports, in columns of 8 bytes a row beside the arguments."""
    n = 200_000 if quick else 10_000_000
    y, p = data(n)
    rng = np.random.default_rng(1)
    segment, user = rng.integers(0, 20, n), rng.integers(0, n // 5, n)
    kept = {"negative_keep_rate": 0.5}
    test = {"n_resamples": 100, "random_state": 0}
    columns = 8 * n
    for name, call in (
        ("20 segments", lambda: calibration_ratio_by_segment(y, p, segment)),
        ("20 bins", lambda: calibration_ratio_by_segment(y, p, "prediction", n_bins=20)),
        ("error test", lambda: calibration_error_test(y, p, **test)),
        ("decomposition", lambda: calibration_refinement(y, p)),
        (
            "decomposition, isotonic",
            lambda: calibration_refinement(y, p, partition="isotonic"),
        ),
        (
            "20 segments, kept negatives",
            lambda: calibration_ratio_by_segment(y, p, segment, **kept),
        ),
        (
            "error test, kept negatives",
            lambda: calibration_error_test(y, p, **kept, **test),
        ),
        (
            "20 segments, groups",
            lambda: calibration_ratio_by_segment(y, p, segment, groups=user),
        ),
        (
            "error test, groups",
            lambda: calibration_error_test(y, p, **test, groups=user),
        ),
    ):  # fmt: skip
        report(f"{name}, {n:,} rows, columns of memory", peak_bytes(call) / columns, 6)


def spline(quick: bool) -> None:
    """Of the spline, in processor time: what it adds to a search, and to the logit's fit."""
    n, turns = (200_000, 2) if quick else (10_000_000, 3)
    y, p = data(n)
    fitted = SplineCalibrator(shrink=True).fit(p[:20_000], y[:20_000])
    knots = 1 / (1 + np.exp(-fitted.knots_))
    ways = {
        "predict": lambda: fitted.predict(p),
        "search": lambda: np.searchsorted(knots, p),
    }
    seconds = in_turns(ways, turns, 2, time.process_time)
    ratio = seconds["predict"] / seconds["search"]
    report(f"spline, predict / searchsorted among its {len(knots)} knots, {n:,} rows", ratio, 2)
    report("  its peak, bytes a row", peak_bytes(lambda: fitted.predict(p)) / n, 24)
    for rows in (2_000, 16_000) if quick else (2_000, 16_000, 1_000_000):
        fits = {
            "spline": lambda rows=rows: SplineCalibrator(shrink=True).fit(p[:rows], y[:rows]),
            "logit": lambda rows=rows: LogitCalibrator().fit(p[:rows], y[:rows]),
        }
        seconds = in_turns(fits, turns, 3, time.process_time)
        ratio = seconds["spline"] / seconds["logit"]
        report(f"spline, shrunk, fit / logit, fit, {rows:,} rows", ratio)


if __name__ == "__main__":
    main()
