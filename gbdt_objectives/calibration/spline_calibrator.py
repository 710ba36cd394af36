"""Calibrator by a rising cubic spline in log-odds, as smooth as the rows say."""

from __future__ import annotations

from typing import Any, ClassVar, Literal

import numpy as np

from gbdt_objectives import _checks
from gbdt_objectives._checks import Array
from gbdt_objectives._public import public
from gbdt_objectives._rows.rows import from_zero
from gbdt_objectives._steps.steps import Step, read_flag, read_number, read_numbers
from gbdt_objectives.calibration import calibrators
from gbdt_objectives.calibration.calibrators import Loss, Offset, minimize_convex, penalized
from gbdt_objectives.calibration.rows import LabelledRows

KNOTS = 12  # the number of knots, the outer two included
GROUPS = 1024  # of neighbouring rows, on whose means a penalty is looked for: one from all rows
# differs by a 500th of what chance does (test_many_rows_are_fitted_as_few_are)
CLOSEST = 1e-4  # the least distance of knots, in standard deviations
ROUGHEST, SMOOTHEST = 1e-3, 1e4  # penalties, for all rows together, and for each: a straight line
LEVEL_DEVIATION, SLOPE_DEVIATION = 1.0, 0.5  # of the prior of ``shrink``: experiments/few_events


@public
class SplineCalibrator(calibrators.LogOddsCalibrator):
    """Calibrator by logistic regression on a smooth rising curve of the log-odds.

    Use it where you do not know how the model errs; with few events, with ``shrink=True``.

    ::

        logit p' = m(z),   m a cubic spline with slopes s_j >= 0, straight beyond its knots,
        sum_i w_i log loss_i + lambda sum_j (s_{j+1} - s_j)^2 / d_j   least

    where d_j is the distance of the places of two slopes, and lambda has the greatest marginal
    likelihood: the rows decide how much m bends, and with lambda large it is ``LogitCalibrator``,
    which treats probabilities of 0 and 1, and scores that separate the labels, so, too. Weights
    count rows: twice the weight lets m bend more. ``fit`` refuses what :class:`LogitCalibrator`
    refuses. It warns if all slopes are 0.

    Parameters
    ----------
    input_space : {"probability", "margin"}
        What ``score`` is: probabilities in [0, 1], or log-odds or any other score.
    shrink : bool
        Draw the map towards the score as it is, which is worth most with few events
        (``experiments/few_events``). The straight line nearest to m, a (z - c) + c + b with c the
        mean of z by information, v_i = w_i p_i (1 - p_i), then has the penalty
        ``b^2 / 2 + (a - 1)^2 / (2 0.5^2)``. The mean of p is no longer exactly that of y, scores
        may separate the labels, and margins must be log-odds.

    Attributes
    ----------
    knots_ : ndarray of shape (k,)
        The knots in log-odds, at equal weights of rows; 12, or fewer if there are few scores.
    slopes_ : ndarray of shape (k+1,)
        The slopes s_j: differences of coefficients over those of their places (Greville's).
    start_ : float
        The value of m at the first knot.

    References
    ----------
    Eilers & Marx (1996), "Flexible smoothing with B-splines and penalties", Statistical Science 11;
    Wood (2011), JRSS B 73, for the marginal likelihood; Lucena (2018), "Spline-based probability
    calibration", arXiv 1809.07751.

    Examples
    --------
    >>> import numpy as np
    >>> from gbdt_objectives.calibration import SplineCalibrator
    >>> z = np.random.default_rng(0).normal(-1, 1.5, 20_000)
    >>> y = (np.random.default_rng(1).random(20_000) < 1 / (1 + np.exp(-z))).astype(int)
    >>> score = 1 / (1 + np.exp(-z - 2 * np.tanh(z)))  # too sure in the middle
    >>> p = SplineCalibrator().fit(score[:10_000], y[:10_000]).predict(score[10_000:])
    >>> bool(np.abs(p - 1 / (1 + np.exp(-z[10_000:]))).max() < 0.05)
    True
    """

    _saved: ClassVar = {
        "shrink": read_flag, "knots": read_numbers, "slopes": read_numbers,
        "start": read_number,
    }  # fmt: skip
    _left_out: ClassVar = {"shrink": False}

    def __init__(
        self, *, input_space: Literal["probability", "margin"] = "probability", shrink: bool = False
    ) -> None:
        super().__init__(input_space=input_space)
        self.shrink = shrink

    def _fit(self, rows: LabelledRows, offset: Offset) -> None:
        y, z, w, offset = self._finite_rows(rows, offset)
        shrink = _checks.flag("shrink", self.shrink)
        if shrink:
            calibrators.overlap(z[y == 0], z[y == 1])  # refuses scores that tell nothing
        target = y if shrink else calibrators.finite_targets(y, z, w, rising=True)
        self.knots_, self.slopes_, self.start_ = fit_rising_spline(z, target, w, offset, shrink)
        if not self.slopes_.any():
            calibrators.warn_of_no_rise("the fitted map is constant")

    def _map(self) -> Step:
        origins, c, unit = pieces(self.knots_, self.slopes_, self.start_)
        numbers = {"origins": origins, "coefficients": c, "unit": unit}
        return {"map": "cubic", "knots": self.knots_, **numbers}

    @classmethod
    def _restore(cls, data: dict[str, Any]) -> SplineCalibrator:
        knots, slopes = data["knots"], data["slopes"]
        if len(knots) < 2 or (knots[1:] <= knots[:-1]).any():
            raise ValueError("knots must be two or more and rise: the text was changed")
        if len(slopes) != len(knots) + 1:
            raise ValueError(
                f"slopes must be one more than knots, {len(knots) + 1}, found {len(slopes)}"
            )
        if slopes.min() < 0:
            raise ValueError(f"slopes must not be negative, found {slopes.min():g}")
        return super()._restore(data)


def greville(knots: Array) -> Array:
    """Centres of the B-splines of degree 3, (k+2,)."""
    t = full_knots(knots)
    return (t[1:-3] + t[2:-2] + t[3:-1]) / 3


def full_knots(knots: Array) -> Array:
    return np.concatenate([[knots[0]] * 3, knots, [knots[-1]] * 3])


def slope_features(knots: Array, z: Array) -> Array:
    """What each slope adds to m(z), (k+1, n)."""
    from scipy.interpolate import BSpline

    if not len(z):
        return np.empty((len(knots) + 1, 0))
    B = BSpline.design_matrix(np.clip(z, knots[0], knots[-1]), full_knots(knots), 3).toarray().T
    H: Array = np.cumsum(B[:0:-1], axis=0)[::-1] * np.diff(greville(knots))[:, None]
    H[0] += np.minimum(z - knots[0], 0)
    H[-1] += np.maximum(z - knots[-1], 0)
    return H


def pieces(knots: Array, slopes: Array, start: float) -> tuple[Array, Array, float]:
    """Pieces of the spline: the place where each is 0, (k+1,), coefficients, (4, k+1), their unit.
    The outer two are the straight ends; between them m = sum_i c_i x^(3-i), x in units."""
    from scipy.interpolate import PPoly

    unit = 2.0 ** (np.frexp(np.abs(knots).max())[1] - 1)  # whose cubes do not overflow, and exact
    m = start + from_zero(slopes * np.diff(greville(knots)))
    inner = PPoly.from_spline((full_knots(knots / unit), m, 3)).c[:, 3:-3]
    ends = np.array([[0, 0], [0, 0], slopes[[0, -1]] * unit, m[[0, -1]]])
    return np.append(knots[0], knots), np.column_stack([ends[:, 0], inner, ends[:, 1]]), unit


def place_knots(z: Array, w: Array, least: float) -> Array:
    """Knots at equal weights of rows in order, fewer where they would be closer than ``least``."""
    below = from_zero(w)[1:]
    wanted = z[np.minimum(np.searchsorted(below, below[-1] * np.linspace(0, 1, KNOTS)), len(z) - 1)]
    knots = wanted[:1]
    for knot in wanted[1:]:
        if knot - knots[-1] > least:
            knots = np.append(knots, knot)
    return np.append(knots[:-1], wanted[-1]) if len(knots) > 1 else wanted[[0, -1]]


def fit_rising_spline(
    z: Array, target: Array, w: Array, offset: Offset = 0.0, shrink: bool = False
) -> tuple[Array, Array, float]:
    """The knots, slopes and start of greatest penalised likelihood, with the penalty of greatest
    marginal likelihood (Wood 2011): of many rows that of the means of groups of neighbours."""
    order = np.argsort(z)
    given, target, w = z[order], target[order], w[order]
    offset = offset[order] if isinstance(offset, np.ndarray) else offset
    unit = float(np.abs(z).max())
    z = given / unit  # whose squares neither overflow nor vanish
    W = w.sum()
    share = w / W
    mean = float(share @ target)
    spread = float(np.sqrt(share @ (z - share @ z) ** 2))
    knots = place_knots(z, w, CLOSEST * spread)
    many = len(z) > 4 * GROUPS
    means = group_means(z, target, share) if many else (z, target, share)
    X = np.append(slope_features(knots, means[0]) / spread, np.ones((1, len(means[0]))), axis=0)
    centers = X[:-1] @ means[2]
    X[:-1] -= centers[:, None]
    K = len(X)
    of_means = [(slice(None), X, np.eye(K))]
    parts = polynomials(knots, z, spread, centers) if many else of_means
    places = (greville(knots)[1:] + greville(knots)[:-1]) / 2 / spread
    D = np.diff(np.eye(K - 1, K), axis=0) / np.sqrt(np.diff(places))[:, None]
    loss = loss_of_parts(parts, target, share, offset)
    grouped = many and not isinstance(offset, np.ndarray)  # whose mean would not do
    searched = loss_of_parts(of_means, means[1], means[2], offset) if grouped else loss
    if shrink:
        prior = as_it_is(parts, given, w, offset)
        loss, searched = penalized(loss, *prior), penalized(searched, *prior)
    level = np.log(mean / (1 - mean)) - calibrators.mean_offset(offset, share)
    start, lowest = (np.append(np.zeros(K - 1), last) for last in (level, -np.inf))
    best, root = find_penalty(searched, D, W, start, lowest)
    if grouped:
        best = minimize_convex(penalized(loss, D * root), [best], lowest)
    start = best[-1] - best[:-1] @ centers
    return knots * unit, best[:-1] / spread / unit, float(start)


def find_penalty(
    loss: Loss, D: Array, W: float, start: Array, lowest: Array
) -> tuple[Array, float]:
    """The parameters at the penalty of greatest marginal likelihood, and the penalty's root, a row.
    ``loss`` is the mean of rows of weight W, and |D theta|^2 / 2 what the penalty multiplies."""
    from scipy.optimize import minimize_scalar

    best = start

    def score(log_penalty: float) -> float:
        """Minus twice the log marginal likelihood, for a penalty a row."""
        nonlocal best
        total = penalized(loss, D * np.exp(log_penalty / 2))
        best = minimize_convex(total, [best], lowest)
        value, _, hessian = total(best)
        _, log_determinant = np.linalg.slogdet(hessian)
        return float(2 * W * value + log_determinant - len(D) * log_penalty)

    bounds = np.log(min(ROUGHEST / W, SMOOTHEST)), np.log(SMOOTHEST)
    found = minimize_scalar(score, bounds=bounds, method="bounded", options={"xatol": 0.1})
    score(found.x)
    return best, float(np.exp(found.x / 2))


Part = tuple[slice, Array, Array]
"""Neighbouring rows, their features F, (d, n), and A, (d, K): the curve is (A theta) F there."""


def group_means(z: Array, target: Array, share: Array) -> tuple[Array, Array, Array]:
    """Means of z and the target in each group of neighbouring rows, and its sum of shares. Of many
    groups half of the limits are at equal distances in z: rows in tails weigh most in a slope."""
    starts = np.append(0, np.flatnonzero(z[1:] != z[:-1]) + 1)
    if len(starts) > GROUPS:
        places = np.linspace(z[0], z[-1], GROUPS // 2, endpoint=False)
        counts = np.linspace(0, len(z), GROUPS // 2, endpoint=False).astype(int)
        starts = np.unique(np.append(counts, np.searchsorted(z, places)))
    sums = np.add.reduceat(share, starts)
    own = np.maximum(sums, np.finfo(float).tiny)
    z, target = (np.add.reduceat(share * values, starts) / own for values in (z, target))
    return z, target, sums


def polynomials(knots: Array, z: Array, spread: float, centers: Array) -> list[Part]:
    """The rows, in order, between each two knots: features are the powers of one cubic."""
    of_slopes = [pieces(knots, slopes, 0.0) for slopes in np.eye(len(knots) + 1) / spread]
    origins, _, unit = of_slopes[0]
    c = np.stack([own for _, own, _ in of_slopes], axis=-1)  # (4, pieces, slopes)
    ends = np.searchsorted(z, knots)
    ends[-1] = len(z)
    parts = []
    for j in range(1, len(knots)):
        rows = slice(ends[j - 1], ends[j])
        x = (z[rows] - origins[j]) / unit
        A = np.append(c[:, j], np.zeros((4, 1)), axis=1)
        A[3] += np.append(-centers, 1)
        square = x * x
        parts.append((rows, np.stack([square * x, square, x, np.ones(len(x))]), A))
    return parts


def loss_of_parts(parts: list[Part], target: Array, share: Array, offset: Offset) -> Loss:
    """The mean log loss, of parameters that all parts share."""
    o = np.broadcast_to(offset, target.shape)
    losses = [
        calibrators.logistic_loss(F, target[rows], share[rows], o[rows]) for rows, F, _ in parts
    ]

    def loss(theta: Array) -> tuple[float, Array, Array]:
        value, gradient, hessian = 0.0, np.zeros(len(theta)), np.zeros((len(theta),) * 2)
        for own, (_, _, A) in zip(losses, parts, strict=True):
            v, g, H = own(A @ theta)
            value += v
            gradient += g @ A
            hessian += A.T @ H @ A
        return value, gradient, hessian

    return loss


def as_it_is(parts: list[Part], z: Array, w: Array, offset: Offset) -> tuple[Array, Array]:
    """D and t: |D theta - t|^2 / 2 is the penalty, a row, of the line nearest to m = theta X by
    squares weighted by information. Rows are in order, as in the parts."""
    m = np.abs(z + offset)
    v = w * np.exp(m.min() - m) / (1 + np.exp(-m)) ** 2  # w p (1 - p), up to a factor
    v /= v.sum()
    c = float(v @ z)
    x = z - c
    spread = float(v @ x**2)
    level, slope = (sum((F @ u[rows]) @ A for rows, F, A in parts) for u in (v, v * x))
    D = np.stack([level / LEVEL_DEVIATION, slope / spread / SLOPE_DEVIATION])
    t = np.array([c / LEVEL_DEVIATION, 1 / SLOPE_DEVIATION])
    root = np.sqrt(w.sum())
    return D / root, t / root
