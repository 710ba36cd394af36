"""Reliability as a curve: bins or the isotonic fit, with limits of what is observed."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike

from gbdt_objectives import _checks
from gbdt_objectives._checks import Array
from gbdt_objectives._steps.steps import isotonic
from gbdt_objectives.calibration import bins as _bins, rows as _rows
from gbdt_objectives.calibration.bins import ReliabilityBins, Strategy, calibration_ratio
from gbdt_objectives.calibration.significance import design_effect
from gbdt_objectives.priors import correct_probability

GROUPS = 1000  # of rows of similar prediction, for the isotonic fit, if more predictions differ
SIMULATED = 1000  # samples behind a consistency band


@dataclass(frozen=True, eq=False)
class ReliabilityCurve:
    """What is shown of one model, in B bins.

    Attributes
    ----------
    bins : ReliabilityBins
        Weight, mean prediction and observed frequency of label 1 in each bin; with an isotonic fit,
        which is then the frequency, the bins are groups of similar predictions.
    low, high : ndarray of shape (B,)
        Confidence limits of the frequency among many more rows; with an isotonic fit, the limits of
        the fit that right probabilities would have.
    ratio : float
        The ``calibration_ratio``: mean prediction over mean outcome.
    probability, weight : ndarray of shape (n,)
        The predictions, and the weights of the rows or None.
    isotonic : bool
        Whether the curve is an isotonic fit, with a consistency band.
    """

    bins: ReliabilityBins
    low: Array
    high: Array
    ratio: float
    probability: Array = field(repr=False)
    weight: Array | None = field(repr=False)
    isotonic: bool = False


def curve_of(
    y_true: ArrayLike, probability: ArrayLike, n_bins: int,
    strategy: Strategy | Literal["isotonic"], level: float, sample_weight: ArrayLike | None,
    groups: ArrayLike | None = None, rate: float | ArrayLike = 1.0, counts: ArrayLike | None = None,
) -> ReliabilityCurve:  # fmt: skip
    plain = sample_weight is None and counts is None and np.ndim(rate) == 0 and rate == 1
    rows = _rows.label_1_rows(y_true, probability, sample_weight, rate, counts).standing()
    y, p, w = rows.y, rows.p, rows.weight
    _rows.check_both_labels("y_true", rows)
    w1, w0 = (float(np.average(rows.w[y == k], weights=w[y == k])) for k in (1, 0))
    if strategy == "isotonic":
        found = _fit(rows)
        limits = _band(found, w1, w0, level)
    else:
        _checks.choice("strategy", strategy, ("quantile", "uniform", "events", "isotonic"))
        found = _bins.reliability_bins(y, p, n_bins=n_bins, strategy=strategy, sample_weight=w)
        effect: Array | float = 1.0
        owner = rows.owners(groups)
        if owner is not None:
            b = _bins.bin_numbers(rows, n_bins, strategy)
            effect = design_effect(rows, rows.w * (y - found.frequency[b]), b, owner)
        limits = _interval(found, w1, w0, level, effect)
    low, high = (correct_probability(limit, shift=math.log(w1 / w0)) for limit in limits)
    return ReliabilityCurve(
        bins=found, low=low, high=high, ratio=calibration_ratio(y, p, sample_weight=w),
        probability=p, weight=None if plain else w, isotonic=strategy == "isotonic",
    )  # fmt: skip


def _fit(rows: _rows.LabelledRows) -> ReliabilityBins:
    """Groups of equal, or similar, prediction, with the isotonic fit as their frequency."""
    p, positive, negative = _rows.group_ties(rows)
    total = positive + negative
    first = np.arange(len(p))
    if len(p) > GROUPS:  # of equal weight and equal sum of predictions, half and half
        share = total / total.sum() + total * p / (total @ p or 1.0)
        ends = _bins.equal_share_ends(p, share, GROUPS)
        first = np.concatenate(([0], np.searchsorted(p, ends, side="right")))
    weight = np.add.reduceat(total, first)
    return ReliabilityBins(
        weight=weight,
        probability=np.add.reduceat(total * p, first) / weight,
        frequency=isotonic(np.add.reduceat(positive, first) / weight, weight),
    )


def _band(bins: ReliabilityBins, w1: float, w0: float, level: float) -> tuple[Array, Array]:
    """Limits of the isotonic fit if predictions are right; moved by log w1/w0 in log-odds."""
    counts = bins.weight * (bins.frequency / w1 + (1 - bins.frequency) / w0)
    trials = np.maximum(np.rint(counts), 1).astype(np.int64)
    p = correct_probability(bins.probability, shift=math.log(w0 / w1))
    drawn = np.random.default_rng(0).binomial(trials, p, (SIMULATED, len(p))) / trials
    apart = 2.0 * np.arange(SIMULATED)[:, None]  # which keeps the samples apart in a single fit
    fits = isotonic((drawn + apart).ravel(), np.tile(counts, SIMULATED))
    fits = np.clip(fits.reshape(drawn.shape) - apart, 0, 1)
    low, high = np.quantile(fits, [(1 - level) / 2, (1 + level) / 2], axis=0)
    return low, high


def _interval(
    bins: ReliabilityBins, w1: float, w0: float, level: float, effect: Array | float
) -> tuple[Array, Array]:
    """Jeffreys' limits of the frequency among rows that all weigh 1, and count 1/``effect``."""
    from scipy.stats import beta

    n1, n0 = bins.weight * bins.frequency / w1, bins.weight * (1 - bins.frequency) / w0
    n1, n0 = n1 / effect, n0 / effect
    tail = (1 - level) / 2
    low = np.where(n1 > 0, beta.ppf(tail, n1 + 0.5, n0 + 0.5), 0.0)
    return low, np.where(n0 > 0, beta.isf(tail, n1 + 0.5, n0 + 0.5), 1.0)
