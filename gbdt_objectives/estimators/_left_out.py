"""Bags that are calibrated on the rows that they leave out.

A pair is a row and a bag that did not see it. With the weights of their classes, pairs are held-out
rows of the population, on which the calibrator is fitted.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np
from sklearn.utils import _safe_indexing

from gbdt_objectives._checks import Array
from gbdt_objectives.calibration.calibrator_choice import fit_default
from gbdt_objectives.calibration.calibrators import InterceptCalibrator, LogitCalibrator
from gbdt_objectives.estimators import _averages
from gbdt_objectives.estimators._base import FitRows

ROWS = 2_000  # most rows of a class that each bag scores, besides those for the stretch
SHARED = 1_000  # rows that all bags score, for the stretch, but those that they saw
FEW = 50  # with fewer positives the shrunk spline stays too near to bags that predict too much
SAME = 1e-6  # log-odds within it are those of bags that could not split


class NotCalibrated(ValueError):
    """Why bags cannot be calibrated on the rows that they leave out, and what to do."""


def weights(data: FitRows, rows: Array) -> Array:
    """Weights in units of their mean: calibrators read them as counts of rows."""
    return np.ones(len(rows)) if data.w is None else data.w[rows] / data.w.mean()


def pools(pool: Array, whole: Array, bags: int, rng: Any) -> Iterator[Array]:
    """The rows that each bag may see: all but a fold of its own of those of the whole class."""
    fold = np.full(len(pool), -1)
    fold[whole] = rng.permutation(np.arange(whole.sum()) % bags)
    return (pool[fold != b] for b in range(bags))


def fit_left_out(
    bags: Sequence[Callable[[Any], Array]], samples: Sequence[Array], data: FitRows, pool: Array,
    thinned: int, seeds: Sequence[int],
) -> dict[str, Any]:  # fmt: skip
    """The calibrator of the stretched mean of the bags' log-odds, its stretch and its center.
    ``bags`` give corrected probabilities (n, 2); ``samples`` are the rows that each saw, all from
    the pool; ``thinned`` is the label, of 0 and 1, that they have fewer of."""
    counting = pool if data.w is None else pool[data.w[pool] > 0]
    rng = np.random.default_rng(seeds[0])
    common = draw_some(counting[data.y[counting] == thinned], SHARED, rng)
    z = np.full((len(common), len(bags)), np.nan)
    found = list[tuple[Array, Array]]()
    for b, (predict, sample, seed) in enumerate(zip(bags, samples, seeds, strict=True)):
        seen = np.zeros(len(data.y), bool)
        seen[sample] = True
        shared = ~seen[common]
        seen[common] = True  # they come first
        others, rng = counting[~seen[counting]], np.random.default_rng(seed)
        own = [draw_some(others[data.y[others] == label], ROWS, rng) for label in (0, 1)]
        rows = np.concatenate([common[shared], *own])
        p = predict(_safe_indexing(data.X, rows))
        if not p.all():
            raise NotCalibrated(
                "calibrate=True needs log-odds, but estimator predicts probabilities of exactly 0 "
                "or 1, which have none: pass calibrate=False"
            )
        z[shared, b] = _averages.second_log_odds(p[: shared.sum()])
        found.append((rows, p))
    rows, p = map(np.concatenate, zip(*found, strict=True))
    stretch = _averages.stretch_of_bags(z, weights(data, common))
    if stretch is None or len(np.unique(data.y[rows])) < 2:
        raise NotCalibrated(
            "calibrate=True needs rows that two bags leave out, but they keep nearly all: pass a "
            "lower negative_keep_rate, or calibrate=False"
        )
    calibrator, w = fit_pairs(rows, p, data, counting)
    return {"calibrator_": calibrator, "stretch_": stretch, "center_": _averages.find_center(p, w)}


def draw_some(rows: Array, most: int, rng: np.random.Generator) -> Array:
    return rng.choice(rows, min(most, len(rows)), replace=False)


def fit_pairs(rows: Array, p: Array, data: FitRows, pool: Array) -> tuple[Any, Array]:
    """The calibrator, and the weights with which pairs stand for the population. Pairs of label 1
    get the weight of all its rows. Where those of label 0 have less than all, the calibrator is
    told the rate, which is nearer to the truth than heavy rows."""
    y, w = data.y[rows], weights(data, rows)
    whole, own = np.bincount(data.y[pool], weights(data, pool)), np.bincount(y, w)
    rate = min(1.0, own[0] / whole[0])
    v = w * np.where(y == 1, whole[1] / own[1], min(1.0, whole[0] / own[0]))
    fit: Callable[..., Any] = fit_default
    if np.ptp(_averages.second_log_odds(p)) < SAME:
        fit = InterceptCalibrator().fit
    elif np.bincount(data.y[pool]).min() < FEW:
        fit = LogitCalibrator().fit
    return fit(p[:, 1], y, v, class_keep_rates={0: rate, 1: 1.0}), np.where(y == 1, v, v / rate)
