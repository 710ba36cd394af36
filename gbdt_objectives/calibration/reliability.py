"""Reliability as a curve: bins or the isotonic fit, with limits of what is observed.

Symbols: y, p, w, r and v of a row as in ``segments.py``. W is a bin's weight, p and pi are its mean
predicted and true probability. Given the rows, sum v (y - p) is sum k (y - s) with
k = w (p + (1-p) r)/r and s = p/(p + (1-p) r), the probability that a kept row is positive.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import expit, logit

from gbdt_objectives import _checks
from gbdt_objectives._checks import Array, RandomState
from gbdt_objectives._public import public
from gbdt_objectives._rows.rows import Table, blocks, dot
from gbdt_objectives._steps.steps import isotonic
from gbdt_objectives.calibration import bins as _bins, rows as _rows
from gbdt_objectives.calibration.bins import ReliabilityBins, Strategy, bin_numbers, predicted_class
from gbdt_objectives.calibration.calibrators import logistic_loss, minimize_convex, penalized
from gbdt_objectives.calibration.rows import LabelledRows
from gbdt_objectives.priors import correct_probability

MOST_GROUPED_BINS = 1000  # every two have a covariance
MOST_SHIFT, SHIFT_HALVINGS = 40.0, 50  # of log-odds, and how often the range is halved
LEAST_P = 1e-12  # where log-odds end
MOST_CELLS = 4096  # of log-odds, or of logarithms of rates, on either side of 0
CELL = 0.35  # log-odds, and logarithms of rates, between which rows are similar
HALVINGS = 10  # how often the range in which an end of the confidence interval lies is halved


@public
@dataclass(frozen=True, kw_only=True, eq=False)
class CalibrationErrorTest(Table):
    """Result of :func:`calibration_error_test`.

    Parameters
    ----------
    error : float
        :func:`expected_calibration_error` of the rows.
    null_error : float
        Its mean if the probabilities are right: the error that chance alone makes.
    p_value : float
        Probability of an error at least this large if the probabilities are right.
    interval : ndarray of shape (2,)
        Lower and upper end of the confidence interval of the error in the population, in the same
        bins. With few negatives read 95 % as 90 % (``experiments/calibration_coverage``).
    """

    error: float
    null_error: float
    p_value: float
    interval: Array

    def _columns(self) -> dict[str, Any]:
        ends = dict(zip(("low", "high"), self.interval, strict=True))
        return {name: [x] for name, x in (vars(self) | ends).items() if name != "interval"}


@public
def calibration_error_test(
    y_true: ArrayLike, probability: ArrayLike, *, n_bins: int = 15, strategy: Strategy = "quantile",
    labels: ArrayLike | None = None, negative_keep_rate: float | None = None,
    keep_rate: ArrayLike | None = None, class_keep_rates: Mapping[Any, float] | None = None,
    sample_weight: ArrayLike | None = None, counts: ArrayLike | None = None,
    groups: ArrayLike | None = None, confidence_level: float = 0.95, n_resamples: int = 2000,
    random_state: RandomState = None,
) -> CalibrationErrorTest:  # fmt: skip
    """The expected calibration error, and the error that chance alone makes.

    Use it rather than the error alone, which is above 0 for perfect probabilities too.

    ::

        ECE = sum_b W_b/W |mean p_b - mean y_b|

    is above 0 even for perfect probabilities. Labels drawn from the probabilities, many times, say
    by how much. The interval holds the errors in the population that the same simulation does not
    reject at half of 1 - confidence_level on either side (``docs/theory/calibration.md``).

    Parameters
    ----------
    y_true, probability, n_bins, strategy, labels
        As in :func:`expected_calibration_error`, with its errors; of the full population.
    negative_keep_rate, keep_rate, class_keep_rates : optional
        How the rows were sampled, as in :func:`calibration_ratio`; for (n,) only.
    sample_weight, counts, groups, confidence_level
        As in :func:`calibration_ratio_by_segment`. Weights must not follow the label.
    n_resamples : int
        How many samples are simulated, at least 100.
    random_state : int, numpy Generator or RandomState, optional
        An int gives the same result each time.

    Returns
    -------
    CalibrationErrorTest

    References
    ----------
    Bröcker & Smith (2007), Weather and Forecasting 22(3); Vaicenavicius et al. (2019), AISTATS.

    Examples
    --------
    >>> import numpy as np
    >>> from gbdt_objectives.calibration import calibration_error_test
    >>> rng = np.random.default_rng(0)
    >>> p = rng.beta(1, 49, 2_000)
    >>> test = calibration_error_test(rng.random(2_000) < p, p, random_state=0)
    >>> round(test.error, 4), round(test.null_error, 4), round(test.p_value, 2)
    (0.0083, 0.0086, 0.54)
    >>> test.interval.round(4)
    array([0.    , 0.0098])
    """
    level = _checks.confidence_level("confidence_level", confidence_level, usual=0.95)
    n_resamples = _checks.whole_number("n_resamples", n_resamples, 100)
    seed = int.from_bytes(_checks.generator(random_state).bytes(8), "little")
    rows = _rows.probability_rows(y_true, probability, labels, sample_weight, counts)
    rate = _rows.read_rates(negative_keep_rate, keep_rate, class_keep_rates)
    if rows.p.ndim == 2:
        _rows.check_label_1_sampled(rate)
    own = predicted_class(rows)
    if rows.p.ndim == 1:
        refuse_weights_by_label(own)
    own = replace(own, rate=_rows.row_rates(rate, own))
    if isinstance(own.rate, np.ndarray):
        _checks.rates_by_row_alone("keep_rate", own.rate < 1, own.y == 1, "negative_keep_rate=")
    b = bin_numbers(own.standing(), n_bins, strategy)
    if groups is not None and b.max() >= MOST_GROUPED_BINS:
        raise ValueError(
            f"n_bins must be at most {MOST_GROUPED_BINS:,} with groups, found {n_bins}: 15 is usual"
        )
    bins = sum_bins(own, b, own.owners(groups))
    error = bins.error(bins.d)
    null = bins.simulate(np.zeros_like(bins.d), 1.0, n_resamples, seed)
    sampled = bins if np.all(own.rate == 1) else sampled_bins(bins, own, b)
    return CalibrationErrorTest(
        error=error, null_error=float(null.mean()),
        p_value=float((1 + np.count_nonzero(null >= bins.rounded_down(error))) / (1 + n_resamples)),
        interval=np.array(find_interval(sampled, null, (1 - level) / 2, seed)),
    )  # fmt: skip


def refuse_weights_by_label(rows: LabelledRows) -> None:
    """Raise for one weight for each label, which no drawn label would keep."""
    one, zero = rows.w[rows.y == 1], rows.w[rows.y != 1]
    if len(one) and len(zero) and np.ptp(one) == 0 == np.ptp(zero) and one[0] != zero[0]:
        rate, such = one[0] / zero[0], "For dropped negatives pass "
        if rate > 1:
            rate, such = 1 / rate, "For dropped positives pass 1 - y_true, 1 - probability, "
        raise ValueError(
            f"sample_weight follows the label, found {one[0]:g} for label 1 and {zero[0]:g} for "
            f"label 0: the test draws labels anew. {such}negative_keep_rate={rate:.4g} and no such "
            "weights; leave out weights that only balanced the training"
        )


@dataclass(frozen=True, eq=False)
class BinSums:
    """Bins of weight ``W``, mean prediction ``p`` and gap ``d`` = p - mean outcome. If the true
    mean is pi, the gap's chance is that of ``e (X - mean)``, X binomial of mean ``m`` pi and
    variance m pi (1 - q), q = pi + ``x`` (1 - pi). ``phi`` is how much more outcomes vary.
    ``pairs``, (B, k), times k standard normal numbers is what rows of one group add to sums."""

    W: Array
    p: Array
    d: Array
    e: Array
    m: Array
    x: Array
    pairs: Array
    phi: float = 1.0

    def error(self, gap: Array) -> float:
        return dot(self.W, np.abs(gap)) / float(self.W.sum())

    def rounded_down(self, error: float) -> float:
        """The error less what sums may have rounded, of itself and of predictions and outcomes."""
        return error * (1 - 1e-9) - 1e-14 * dot(self.W, self.p) / float(self.W.sum())

    population_error = error  # in a population whose gaps are ``gap``

    def variance(self, pi: Array) -> Array:
        """The variance of the weighted sum of outcomes in each bin."""
        return np.asarray(self.e**2 * self.m * pi * (1 - self.x) * (1 - pi))

    def simulate(self, gap: Array, phi: float, n_resamples: int, seed: int) -> Array:
        """Errors in samples of a population whose gaps are ``gap``, (n_resamples,)."""
        pi = self.p - gap
        mean, q = self.m * pi, pi + self.x * (1 - pi)
        trials = np.maximum(np.rint(mean / np.where(q > 0, q, 1)), 1)
        share = np.minimum(mean / trials, 1)
        rng, errors = np.random.default_rng(seed), np.zeros(n_resamples)
        unit = math.sqrt(phi) * self.e
        added = self.pairs @ rng.standard_normal((self.pairs.shape[1], n_resamples))
        for b, (n, s) in enumerate(zip(trials.astype(np.int64), share, strict=True)):
            X = rng.binomial(n, s, n_resamples)
            errors += np.abs(unit[b] * (X - n * s) + added[b] - self.W[b] * gap[b])
        return errors / float(self.W.sum())


@dataclass(frozen=True, kw_only=True, eq=False)
class SampledBins(BinSums):
    """Bins of rows whose negatives were kept at rates, for populations far from the predictions. A
    bin's few kept negatives of high prediction stand for many rows each, so its gap is skew: cells
    of similar rows are drawn, with a true probability of log-odds ``z`` and one shift a bin. Cells
    have their ``bin``, mean prediction ``cell_p``, ``rate``, ``weight`` and mean ``unit``."""

    bin: Array
    cell_p: Array
    rate: Array
    weight: Array
    unit: Array
    z: Array

    def stand(self, pi: Array) -> Array:
        """The weight of the rows that cells stand for, where pi is the true probability."""
        return np.asarray(self.weight / (pi + (1 - pi) * self.rate))

    def probability(self, gap: Array) -> Array:
        """The true probability of each cell, if bins have these gaps."""
        low, high = np.full(len(gap), -MOST_SHIFT), np.full(len(gap), MOST_SHIFT)
        for _ in range(SHIFT_HALVINGS):
            middle = (low + high) / 2
            pi = expit(self.z + middle[self.bin])
            excess = np.bincount(self.bin, self.stand(pi) * (self.cell_p - pi - gap[self.bin]))
            low, high = np.where(excess > 0, middle, low), np.where(excess > 0, high, middle)
        return np.asarray(expit(self.z + ((low + high) / 2)[self.bin]))

    def population_error(self, gap: Array) -> float:
        pi = self.probability(gap)
        n = self.stand(pi)
        return float(np.abs(np.bincount(self.bin, n * (self.cell_p - pi))).sum() / n.sum())

    def simulate(self, gap: Array, phi: float, n_resamples: int, seed: int) -> Array:
        pi = self.probability(gap)
        rng = np.random.default_rng(seed)
        added = self.pairs @ rng.standard_normal((self.pairs.shape[1], n_resamples))
        W, D = np.zeros(n_resamples), added
        cells = zip(self.bin, self.cell_p, self.unit, self.rate, self.stand(pi), pi, strict=True)
        for b, p, unit, rate, rows, true in cells:
            positive = unit * rng.poisson(rows * true / unit, n_resamples)
            negative = unit / rate * rng.poisson(rows * (1 - true) * rate / unit, n_resamples)
            W += positive + negative
            D[b] += p * negative - (1 - p) * positive
        return np.asarray(np.abs(D).sum(axis=0) / np.where(W > 0, W, 1.0))


def sampled_bins(bins: BinSums, rows: LabelledRows, b: Array) -> SampledBins:
    """The bins of rows of which negatives were dropped."""
    unit, key = rows.unit, np.empty(len(b), np.int64)
    for at in blocks(b):
        _, p, _, rate, _ = rows.part(at)
        near = b[at]
        for x in (odds_of(p), np.log(rate)):
            near = near * 2 * MOST_CELLS + np.floor(x / CELL).astype(np.int64) + MOST_CELLS
        key[at] = near
    cell = _checks.number_values(key)[1]

    def terms(at: slice) -> list[Array]:
        y, p, w, rate, _ = rows.part(at, unit)
        n = w / (p + (1 - p) * rate)
        return [n, n * p, n * rate, w, w * y, w * w, b[at], np.ones(len(p))]

    N, P, R, W, A, W2, B, rows_there = rows.sums(cell, int(cell.max()) + 1, terms)
    odds = odds_of(P / N)
    slope, intercept = fit_slope(odds, np.log(R / N), W, A)
    return SampledBins(
        **vars(bins), bin=(B / rows_there).round().astype(np.intp), cell_p=P / N,
        rate=R / N, weight=W, unit=W2 / W, z=intercept + slope * odds,
    )  # fmt: skip


def odds_of(p: Array) -> Array:
    return np.asarray(logit(np.clip(p, LEAST_P, 1 - LEAST_P)))


def fit_slope(z: Array, log_rate: Array, W: Array, positive: Array) -> tuple[float, float]:
    """Slope and intercept of the true log-odds on the predicted ones, from kept rows. A prior of
    N(1, 1/4) on the slope and N(0, 25) on the intercept stand in for missing events."""
    centre = float(np.average(z, weights=W))
    X = np.stack([z - centre, np.ones(len(z))])
    start = np.array([1.0, centre])
    D = np.diag(np.sqrt(np.array([4.0, 0.04]) / W.sum()))
    loss = penalized(logistic_loss(X, positive / W, W / W.sum(), -log_rate), D, D @ start)
    theta = minimize_convex(loss, [start], np.full(2, -np.inf))
    slope = max(float(theta[0]), 0.0)
    return slope, float(theta[1]) - slope * centre


def sum_bins(rows: LabelledRows, b: Array, owner: Array | None = None) -> BinSums:
    """Sum up rows in the bins 0 to max(b), none empty; ``owner`` numbers each row's group."""
    unit = rows.unit

    def terms(at: slice) -> list[Array]:
        y, p, w, rate, v = rows.part(at, unit)
        ks = w * p / rate
        return [v, v * p, v * y, ks, ks * (w * (1 - p) + ks), ks**2, w, w * w]

    W, P, A, K, K2, S2, w, w2 = rows.sums(b, int(b.max()) + 1, terms)
    mean_p, mean_y = P / W, A / W
    e = np.where(K > 0, K2, w2) / np.where(K > 0, K, w)
    m = np.where(K > 0, K / np.where(K > 0, mean_p, 1), W) / e
    x = np.clip((S2 / np.where(K > 0, K2, 1) - mean_p) / np.where(mean_p < 1, 1 - mean_p, 1), 0, 1)

    def residual(at: slice) -> Array:
        y, p, _, _, v = rows.part(at, unit)
        return np.asarray(v * (y - p - (mean_y - mean_p)[b[at]]))

    pairs = np.zeros((len(W), 0))
    if owner is not None:
        pairs = pair_root(rows, residual(slice(None)), b, owner)
    bins = BinSums(W=W, p=mean_p, d=mean_p - mean_y, e=e, m=m, x=x, pairs=pairs)
    expected = float(bins.variance(mean_y).sum())
    if expected == 0:
        return bins
    observed = sum(float(np.sum(rows.copies(residual(at) ** 2, at))) for at in blocks(b))
    return replace(bins, phi=max(1.0, observed / expected))


def pair_root(rows: LabelledRows, residual: Array, b: Array, owner: Array) -> Array:
    """A root, (B, k), of the covariance that pairs of rows of one group add to sums in bins,
    estimated by the products of their residuals. Directions in which it is negative are left out,
    the others shortened to the same trace."""
    sums, alone = group_sums(rows, residual, b, owner)
    size, direction = np.linalg.eigh((sums.T @ sums).toarray() - np.diag(alone))
    if size.sum() < 1e-9 * float(rows.copies(residual) @ residual):  # sums round
        return np.zeros((len(alone), 0))
    kept = size > 0
    return np.asarray(direction[:, kept] * np.sqrt(size[kept] * (size.sum() / size[kept].sum())))


def group_sums(rows: LabelledRows, residual: Array, b: Array, owner: Array) -> tuple[Any, Array]:
    """Residuals summed by group and bin, sparse (groups, B), and variances of single rows, (B,)."""
    B = int(b.max()) + 1
    sums = _rows.sums_of_groups(rows.copies(residual), owner, b, B)
    groups, there = np.bincount(sums.indices, minlength=B), np.bincount(b, rows.c, minlength=B)
    lost, lost_alone = (n / np.maximum(n - 1, 1) for n in (groups, there))
    sums.data *= np.sqrt(lost)[sums.indices]
    return sums, np.bincount(b, rows.copies(residual**2), minlength=B) * lost_alone


def design_effect(rows: LabelledRows, residual: Array, b: Array, owner: Array) -> Array:
    """How many times the variance in each bin is that of rows on their own, at least 1."""
    sums, alone = group_sums(rows, residual, b, owner)
    together = np.bincount(sums.indices, sums.data**2, minlength=len(alone))
    found: Array = np.divide(together, alone, out=np.ones(len(alone)), where=alone > 0)
    return np.maximum(found, 1.0)


def find_interval(bins: BinSums, null: Array, tail: float, seed: int) -> tuple[float, float]:
    """Ends of the errors in the population for which the error found is not beyond a tail."""
    error = bins.error(bins.d)
    low = bins.rounded_down(error)
    high = max(error, float(np.median(null))) * (1 + 1e-9) + 1e-12
    least = 1 / (bins.m + 2)  # certain predictions are as uncertain as m rows can tell
    p = np.where(bins.p * (1 - bins.p) == 0, np.clip(bins.p, least, 1 - least), bins.p)
    s = np.sqrt(bins.variance(p) + (bins.pairs**2).sum(axis=1)) / bins.W
    step = np.sqrt(s * np.maximum(np.abs(bins.d), 0.1 * s))

    upward = (bins.d < 0) | ((bins.d == 0) & (bins.p < 0.5))

    def gaps(c: float) -> Array:
        size = np.maximum(np.abs(bins.d) - c * step, 0)
        return np.asarray(bins.p - np.clip(bins.p - np.where(upward, -size, size), 0, 1))

    def simulate(c: float) -> Array:
        return bins.simulate(gaps(c), bins.phi, len(null), seed)

    def reaches(c: float) -> bool:
        return bool(np.mean(simulate(c) >= low) > tail)

    def stays(c: float) -> bool:
        return bool(np.mean(simulate(c) <= high) > tail)

    def solve(c: float, accepted: float, accepts: Callable[[float], bool]) -> float:
        """The error at the border between c, which is not accepted, and one that is."""
        for _ in range(HALVINGS):
            middle = (c + accepted) / 2
            if accepts(middle):
                accepted = middle
            else:
                c = middle
        return bins.population_error(gaps(accepted))

    none = float(np.max(np.abs(bins.d[step > 0]) / step[step > 0], initial=0.0))
    lowest = solve(none, 0.0, reaches) if np.mean(null >= low) <= tail else 0.0
    most = -1.0
    while stays(most) and most > -1e9:
        most *= 2
    return lowest, max(lowest, solve(most, none, stays))


GROUPS = 1000  # of rows of similar prediction, for the isotonic fit, if more predictions differ
SIMULATED = 1000  # samples behind a consistency band


@public
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

    @staticmethod
    def _of(
        y_true: ArrayLike, probability: ArrayLike, n_bins: int,
        strategy: Strategy | Literal["isotonic"], level: float, sample_weight: ArrayLike | None,
        groups: ArrayLike | None = None, rate: float | ArrayLike = 1.0,
        counts: ArrayLike | None = None,
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
            bins=found, low=low, high=high, ratio=_bins.calibration_ratio(y, p, sample_weight=w),
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
