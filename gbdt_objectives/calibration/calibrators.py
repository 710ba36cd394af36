"""Calibrators: a score in, the probability of the positive class out.

Newton's method finds them: for a convex loss of a few parameters, some of which are bounded below.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import KW_ONLY, dataclass
from functools import partial
from typing import TYPE_CHECKING, Any, ClassVar, Literal

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted

from gbdt_objectives import _checks
from gbdt_objectives._checks import Array, warn
from gbdt_objectives._public import public
from gbdt_objectives._rows.rows import BLOCK_BYTES, blocks, dot
from gbdt_objectives._steps import formulas
from gbdt_objectives._steps.steps import (
    SavedAsJSON,
    Step,
    correct_positives,
    evaluate,
    read_flag,
    read_number,
    read_numbers,
    read_one_of,
    read_range,
)
from gbdt_objectives.calibration import rows as _rows
from gbdt_objectives.calibration.hull import area, find_hull, resolve_prior
from gbdt_objectives.calibration.rows import ROUND_OFF, LabelledRows, group_ties, is_one_score

if TYPE_CHECKING:
    from typing_extensions import Self


Loss = Callable[[Array], tuple[float, Array, Array]]
"""Parameters to a weighted mean of losses, its gradient and its hessian."""

STEPS = 200  # at most; a maximum that was not reached is refused
SMALL = 1e-11  # relative fall of the loss that rounding may hide
NEARLY_FLAT = 1e-6  # a gradient that is enough where single rows are too far off or too light
FLAT = 1e-12  # a gradient at which no more digits are to be gained, for features of spread 1
COARSE = 16  # of many rows, one in so many gives the start: the maximum is the same, and unique
SANE = 30.0  # larger parameters, for spread 1, come from rows that the start nearly separates
LARGEST = 1e15  # log-odds beyond it have hardly a fraction left that a shift could change


def minimize_convex(loss: Loss, starts: list[Array], lowest: Array) -> Array:
    """The parameters >= ``lowest`` of least loss, from the best of the ``starts``. Steps minimise
    the quadratic model, halved until the loss falls, or as rounding hides that the gradient."""
    found = [(*loss(theta), theta) for theta in starts]
    value, gradient, hessian, theta = min(found, key=lambda one: one[0])
    slope = free_gradient(gradient, theta, lowest)
    for _ in range(STEPS):
        step = quadratic_minimum(gradient, hessian, lowest - theta)
        last_digits = -(gradient @ step) <= SMALL * abs(value)
        new = loss(theta + step)
        while new[0] > value and not last_digits and step.any():
            step = step / 2
            new = loss(theta + step)
        new_slope = free_gradient(new[1], theta + step, lowest)
        if last_digits and new_slope >= slope:
            return theta
        theta, slope, (value, gradient, hessian) = theta + step, new_slope, new
        if last_digits and slope < FLAT:
            return theta
    if slope < NEARLY_FLAT:
        return theta
    raise ValueError(
        f"the likelihood has no maximum that could be found (gradient {slope:.2g}): some scores or "
        "weights are far larger than the rest"
    )


def free_gradient(gradient: Array, theta: Array, lowest: Array) -> float:
    """The largest element of the gradient that is not up against a bound."""
    return float(np.abs(np.where((theta <= lowest) & (gradient > 0), 0, gradient)).max())


def quadratic_minimum(gradient: Array, hessian: Array, lowest: Array) -> Array:
    """The minimum x >= ``lowest`` of g x + x H x / 2; H may be singular by rounding."""
    from scipy.optimize import lsq_linear

    L = np.linalg.cholesky(hessian + (1e-14 * np.trace(hessian) + 1e-300) * np.eye(len(gradient)))
    x: Array = -np.linalg.solve(L.T, np.linalg.solve(L, gradient))
    if (x < lowest).any():
        x = lsq_linear(L.T, L.T @ x, bounds=(lowest, np.inf), method="bvls", tol=1e-15).x
        x = np.where(x < lowest, lowest, x)
    return x


def logistic_loss(X: Array, target: Array, w: Array, offset: float | Array = 0.0) -> Loss:
    """Mean log loss of sigmoid(theta X + offset), X (d, n); targets in [0, 1], weights of sum 1."""
    o = np.broadcast_to(offset, target.shape) if np.any(offset) else None

    def loss(theta: Array) -> tuple[float, Array, Array]:
        value, gradient, hessian = 0.0, np.zeros(len(X)), np.zeros((len(X), len(X)))
        for rows in blocks(target, BLOCK_BYTES // len(X)):
            x, t, share = X[:, rows], target[rows], w[rows]
            m = theta @ x
            if o is not None:
                m += o[rows]
            e = np.exp(-np.abs(m))
            value += float(share @ (np.maximum(m, 0) - t * m + np.log1p(e)))
            r = 1 / (1 + e)
            gradient += x @ (share * (np.where(m > 0, r, e * r) - t))
            hessian += (x * (share * e * r * r)) @ x.T
        return value, gradient, hessian

    return loss


def penalized(loss: Loss, D: Array, t: float | Array = 0.0) -> Loss:
    """Add |D theta - t|^2 / 2 to the loss."""
    P = D.T @ D

    def total(theta: Array) -> tuple[float, Array, Array]:
        value, gradient, hessian = loss(theta)
        rough = D @ theta - t
        return value + float(rough @ rough) / 2, gradient + rough @ D, hessian + P

    return total


def mean_offset(offset: float | Array, share: Array) -> float:
    return float(share @ np.broadcast_to(offset, share.shape))


Offset = float | Array  # of log-odds in the sample; (n,) if rates differ by row
INPUT_SPACES = ("probability", "margin")


class Calibrator(SavedAsJSON, BaseEstimator):  # type: ignore[misc]
    """Base class of the maps from one score to the probability of label 1."""

    _fit: Callable[[LabelledRows, Offset], None]
    score_range_: tuple[float, float] | None = None  # of margins
    _step: Callable[[], Step]  # the formula and its numbers, by which served models predict too
    _takes_one_rate: ClassVar[bool] = False  # and refuses rates of sampling that differ by row

    def fit(
        self, score: ArrayLike, y: ArrayLike, sample_weight: ArrayLike | None = None, *,
        negative_keep_rate: float | None = None, keep_rate: ArrayLike | None = None,
        class_keep_rates: Mapping[Any, float] | None = None,
    ) -> Self:  # fmt: skip
        """Fit on scores of rows the model was not trained on, such as out-of-fold scores.

        If only some negatives were kept, at the rate r, a row's log-odds in the sample are those in
        the full population less log r. The map is fitted to the rows as they are, with that offset,
        and ``predict`` is for the full population. Weights of 1/r count few negatives as many.

        Parameters
        ----------
        score : array-like of shape (n,) or (n, 1)
            One score of each kept row, higher for label 1. A probability is the model's prediction
            for the full population, as ``predict`` will get it.
        y, sample_weight : array-like of shape (n,)
            Labels 0 and 1 of the kept rows, both occurring; if given, weights >= 0, where w means w
            copies of a row. They must not count the rates as well.
        negative_keep_rate, keep_rate, class_keep_rates : optional
            How the rows were sampled, as in :func:`calibration_ratio`.

        Raises
        ------
        ValueError, TypeError
            What the class refuses, one class only, bad arguments or parameters.
        """
        _checks.is_given(self, y)
        rows = LabelledRows.of_scores("y", y, _checks.one_score(score), sample_weight)
        offset = _rows.sampling_offset(negative_keep_rate, keep_rate, class_keep_rates, rows)
        self._fit(rows, offset)
        is_margin = getattr(self, "input_space", "") == "margin"
        self.score_range_ = _checks.unit_range(rows.p) if is_margin else None
        return self

    def _score_range(self) -> tuple[float, float] | None:
        """The lowest and the highest score of ``fit``, if they say in what unit scores are."""
        known = getattr(self, "scores_", np.empty(0)).tolist()
        return (known[0], known[-1]) if known else self.score_range_

    def _read(self, score: ArrayLike) -> Array:
        check_is_fitted(self)
        s = _checks.one_score(score)
        _checks.in_unit_of(self._score_range(), f"this {type(self).__name__} is", s)
        return s

    def predict(self, score: ArrayLike) -> Array:
        """Return the probability of label 1 at each ``score`` on the scale of ``fit``, (n,)."""
        return evaluate(self._checked(self._read(score)), self._step())

    def _checked(self, score: Array) -> Array:
        """The score, if it is what the map reads."""
        return score

    def __sklearn_tags__(self) -> Any:
        from sklearn.utils import ClassifierTags

        tags = super().__sklearn_tags__()
        tags.input_tags.one_d_array = True
        tags.target_tags.required = True
        tags.classifier_tags = ClassifierTags(multi_class=False)  # it is none, but has two labels
        return tags


class LogOddsCalibrator(Calibrator):
    """Base class of maps of log-odds, given as they are or as probabilities; infinite ones stay."""

    _map: Callable[[], Step]  # of finite log-odds: its name and numbers

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        read_space = read_one_of(*INPUT_SPACES)
        cls._saved = {"input_space": read_space, **cls._saved, "score_range": read_range}
        cls._left_out = {**cls._left_out, "score_range": None}

    def __init__(self, *, input_space: Literal["probability", "margin"] = "probability") -> None:
        self.input_space = input_space

    def _step(self) -> Step:
        return {"formula": "calibrate", "input_space": self.input_space, **self._map()}

    def _checked(self, score: Array) -> Array:
        _checks.choice("input_space", self.input_space, INPUT_SPACES)
        if self.input_space == "margin":
            return score.astype(np.float64, copy=False)
        return _checks.probabilities("score", score)

    def inverse(self, probability: ArrayLike) -> Array:
        """Return the score at which ``predict`` gives each probability, on the scale of ``fit``.

        It makes a cut on scores, in SQL for instance, of a cut on calibrated probabilities: ``score
        >= inverse(0.02)`` is ``predict(score) >= 0.02`` but for rounding, if the map rises.

        Parameters
        ----------
        probability : float or array-like of shape (m,)
            In [0, 1]; 0 and 1 are those of the scores 0 and 1, or of infinite log-odds.

        Raises
        ------
        ValueError
            A probability that no score has, or many, because the map is flat there.
        """
        check_is_fitted(self)
        if not np.size(probability):
            found = np.shape(probability)
            raise ValueError(f"probability must be a number or (m,), m > 0, found shape {found}")
        p = _checks.fractions("probability", probability).astype(np.float64)
        numbers = {**self._map()}
        curve = partial(formulas.apply, formula=numbers.pop("map"), **numbers)
        wanted = formulas.apply(p, "log_odds")
        z = np.array([place_on(curve, each) for each in wanted.ravel().tolist()]).reshape(p.shape)
        return z if self.input_space == "margin" else formulas.apply(z, "sigmoid")

    def _finite_rows(
        self, rows: LabelledRows, offset: Offset
    ) -> tuple[Array, Array, Array, Offset]:
        """y, z, w, offset of the rows of finite log-odds; others must agree with their labels."""
        z = self._log_odds(rows.p)
        wrong = np.isinf(z) & ((z > 0) != (rows.y == 1))
        if wrong.any():
            first = int(np.flatnonzero(wrong)[0])
            raise ValueError(
                f"score is exactly {rows.p[first]:g} for {int(wrong.sum())} rows of label "
                f"{rows.y[first]:g}: log-odds cannot calibrate what was certain and wrong; use "
                "ROCConvexHullCalibrator, which accepts any score, or fit on margins"
            )
        finite = np.isfinite(z)
        if finite.any() and is_one_score(z[finite], 1 if self.input_space[0] == "p" else None):
            z[finite] = z[finite][0]
        own = offset[finite] if isinstance(offset, np.ndarray) else offset
        return rows.y[finite], z[finite], rows.w[finite], own

    def _log_odds(self, score: Array) -> Array:
        """The log-odds z as a new array, infinite for probabilities of exactly 0 and 1."""
        given = self._checked(score)
        is_margin = self.input_space == "margin"
        return given.copy() if is_margin else evaluate(given, {"formula": "log_odds"})


def place_on(curve: Callable[[Array], Array], wanted: float) -> float:
    """The log-odds at which a monotone curve has the value that is wanted."""
    from scipy.optimize import brentq

    def above(z: float) -> float:
        return float(curve(np.array([z]))[0]) - wanted

    if math.isinf(wanted):
        return wanted
    end = 1.0
    while above(-end) * above(end) > 0 and end < LARGEST:
        end *= 2
    z, near = math.nan, math.nan
    if above(-end) * above(end) <= 0:
        z = float(brentq(above, -end, end, xtol=1e-300, rtol=1e-15, maxiter=5000))
        near = 1e-6 * max(abs(z), 1.0)
    if math.isnan(z) or above(z - near) == above(z + near):
        p, *ends = formulas.apply(np.append(wanted, curve(np.array([-end, end]))), "sigmoid")
        low, high = sorted(ends)
        raise ValueError(
            f"probability {p:.6g} is that of "
            f"{'no score' if math.isnan(z) else 'many scores'}: the map goes from {low:.6g} to "
            f"{high:.6g}, and may be flat between; look at predict of the scores near the cut"
        )
    return z


def read_not_negative(key: str, value: object) -> float:
    number = read_number(key, value)
    if number < 0:
        raise ValueError(f"{key} must not be negative, found {number:g}")
    return number


def read_rising(key: str, values: object) -> Array:
    found = read_numbers(key, values)
    if (found[1:] <= found[:-1]).any():
        raise ValueError(f"{key} must rise: the text was changed")
    return found


def read_probabilities(key: str, values: object) -> Array:
    found = read_numbers(key, values)
    _checks.in_unit_interval(key, found)
    return found


def read_smoothing_prior(key: str, prior: Any) -> Any:
    if prior is not None and not isinstance(prior, str):
        prior = read_numbers(key, prior).tolist()
    resolve_prior(prior, np.ones(2))
    return prior


@public
@dataclass(eq=False, repr=False)
class ROCConvexHullCalibrator(Calibrator):
    """Calibrator by the ROC curve's convex hull, which is isotonic regression.

    Use it where segments of equal probability are wanted; not with few events. The probability is
    constant on each segment of the hull, from the lowest to the highest score that ``fit`` saw in
    it, ::

        p = (n_1 + m pi_1) / (n_0 + n_1 + m)

    where n_i is the weight of label i in the segment. It is linear between segments, and constant
    beyond the first and the last. With fewer than hundreds of positives the hull follows chance,
    and, not smoothed, maps scores below all of them to exactly 0: use ``LogitCalibrator``. Where
    only some negatives were kept, n_i, m and pi are of the rows that were, and p is then corrected
    by ``correct_probability``. Rates that differ by row are refused.

    Parameters
    ----------
    m : float >= 0
        How many rows the prior is worth: 0 is no smoothing, 2 with a uniform prior is Laplace's.
    prior : array-like of shape (2,), "base_rate" or None
        The prior pi of labels 0 and 1. "base_rate": their shares in ``fit``. None: 1/2 each.
    monotone : bool
        Smoothing can reverse the order of segments. True: take the nearest rising probabilities.

    Attributes
    ----------
    scores_, probabilities_ : ndarray of shape (S,)
        The ends of the segments, in ascending order, and the probability at each.

    References
    ----------
    Zadrozny & Elkan (2002), "Transforming classifier scores into accurate multiclass probability
    estimates", KDD; Fawcett & Niculescu-Mizil (2007), Machine Learning 68.

    Examples
    --------
    >>> import numpy as np
    >>> from gbdt_objectives.calibration import ROCConvexHullCalibrator
    >>> y = [1, 1, 0, 1, 1, 0, 1, 1, 0, 0]
    >>> calibrator = ROCConvexHullCalibrator(m=2).fit(np.arange(10, 0, -1), y)
    >>> ROCConvexHullCalibrator.from_json(calibrator.to_json()).predict([10, 5, 1])
    array([0.75 , 0.625, 0.25 ])
    """

    _: KW_ONLY
    m: float = 0
    prior: ArrayLike | Literal["base_rate"] | None = None
    monotone: bool = False

    _takes_one_rate = True
    _saved: ClassVar = {
        "m": read_not_negative, "prior": read_smoothing_prior, "monotone": read_flag,
        "scores": read_rising, "probabilities": read_probabilities,
    }  # fmt: skip

    def _fit(self, rows: LabelledRows, offset: Offset) -> None:
        d = one_shift(self, offset)
        hull = find_hull(rows)
        warn_if_falling(hull.auc)
        pi = resolve_prior(self.prior, np.array([hull.negative.sum(), hull.positive.sum()]))
        p = hull.probability(m=self.m, prior=pi, monotone=self.monotone)
        p = correct_positives(p, d) if d else p
        ends = np.column_stack([hull.low, hull.high]).astype(np.float64).ravel()
        self.scores_, first = np.unique(ends, return_index=True)
        self.probabilities_ = np.repeat(p, 2)[first]

    def _step(self) -> Step:
        return {"formula": "interpolate", "x": self.scores_, "y": self.probabilities_}

    @classmethod
    def _restore(cls, data: dict[str, Any]) -> Self:
        scores, p = data["scores"], data["probabilities"]
        _checks.same_length("probabilities", p, "scores", len(scores))
        if (data["m"] == 0 or data["monotone"]) and (p[1:] < p[:-1]).any():
            raise ValueError(
                "probabilities must not fall with m = 0 or if monotone: the text was changed"
            )
        return super()._restore(data)


@public
class InterceptCalibrator(LogOddsCalibrator):
    """Calibrator that adds one number to the log-odds, so that the mean is right.

    Use it where only the level is off, or there are few events.

    ::

        p = sigmoid(z + b),   b such that the mean of p is the mean of y

    With negatives kept at the rate r_i, the mean of sigmoid(z_i + b - log r_i) over the kept rows
    is the mean of y. The ranking does not change, nor do probabilities of exactly 0 and 1. ``fit``
    refuses probabilities outside [0, 1], and so many of 0 or 1 that no shift is enough.

    Parameters
    ----------
    input_space : {"probability", "margin"}
        What ``score`` is: probabilities in [0, 1], or log-odds z.

    Attributes
    ----------
    shift_ : float
        The number b, in log-odds; ``shift_intercept`` makes it part of a booster.

    Examples
    --------
    >>> from gbdt_objectives.calibration import InterceptCalibrator
    >>> calibrator = InterceptCalibrator().fit([0.5, 0.5, 0.8, 0.8], [0, 0, 0, 1])
    >>> calibrator.predict([0.5, 0.8]).round(4), round(calibrator.shift_, 4)
    (array([0.1287, 0.3713]), -1.9128)
    """

    _saved: ClassVar = {"shift": read_number}

    def _fit(self, rows: LabelledRows, offset: Offset) -> None:
        z = self._log_odds(rows.p)
        if self.input_space == "margin":
            _checks.not_probabilities("score", z)
        warn_if_falling(area(*group_ties(rows)[1:]))
        self.shift_ = InterceptCalibrator._find_shift(rows.y, z + offset, rows.w)

    def _map(self) -> Step:
        return {"map": "line", "slope": 1.0, "intercept": self.shift_}

    @staticmethod
    def _find_shift(y: Array, z: Array, w: Array) -> float:
        """The shift b with sum w sigmoid(z + b) = sum w y, ``z`` log-odds, ``y`` labels, ``w > 0``.
        Infinite log-odds stay: P of label 1 and N of label 0, finite, make up for them."""
        from scipy.optimize import brentq
        from scipy.special import expit, logit

        finite = np.isfinite(z)
        W = w.sum()
        errors = float(w[(z == -np.inf) & (y == 1)].sum() - w[(z == np.inf) & (y == 0)].sum())
        z, y, w = z[finite], y[finite], w[finite]
        P, N = dot(w, y) + errors, dot(w, 1 - y) - errors
        if not (P > 0 and N > 0):
            raise ValueError(
                "no shift brings the mean probability to the mean of y: probabilities of exactly 0 "
                f"and 1 stay, and the others, {w.sum() / W:.3g} of the weight, would have to give "
                f"{P / W:.3g} of it; fit on more rows, or calibrate a model that is less certain"
            )
        if np.abs(z).max() > LARGEST:
            raise ValueError(
                f"score must be log-odds of at most {LARGEST:g}, found {z[np.abs(z).argmax()]:g}: "
                "for a score on another scale use LogitCalibrator"
            )
        q = P / (P + N)
        w = w / (P + N)
        b = float(logit(q))
        low, high = b - float(z.max()) - 1, b - float(z.min()) + 1
        return float(
            brentq(lambda b: dot(w, expit(z + b)) - q, low, high, xtol=1e-14, maxiter=5000)
        )


@public
class LogitCalibrator(LogOddsCalibrator):
    """Calibrator by logistic regression on the log-odds, Platt's with two parameters.

    Use it where level and confidence are off (a < 1: the model was overconfident).

    ::

        p = sigmoid(a z + b),   a, b of greatest likelihood, without penalty

    A calibrated model gives a = 1, b = 0. Probabilities of exactly 0 and 1 do not change and have
    no influence. Scores that separate the labels perfectly, or except for ties, have no greatest
    likelihood. They are fitted to Platt's targets, (N_1 + 1)/(N_1 + 2) for label 1 and 1/(N_0 + 2)
    for label 0, where N_i is the weight of label i. ``fit`` refuses probabilities that are outside
    [0, 1], exactly 0 or 1 and wrong, or exactly 0 or 1 for all rows of one label; and scores that
    are all equal. It warns if a <= 0.

    Parameters
    ----------
    input_space : {"probability", "margin"}
        What ``score`` is: probabilities in [0, 1], or log-odds z or any other score.

    Attributes
    ----------
    slope_, intercept_ : float
        The numbers a and b.

    References
    ----------
    Platt (1999), "Probabilistic outputs for support vector machines", Advances in Large Margin
    Classifiers; Cox (1958), Biometrika 45, for the test of a = 1, b = 0.

    Examples
    --------
    >>> import numpy as np
    >>> from gbdt_objectives.calibration import LogitCalibrator
    >>> y = np.repeat([0, 1, 0, 1], [7, 3, 3, 7])
    >>> calibrator = LogitCalibrator().fit(np.repeat([0.1, 0.9], 10), y)
    >>> calibrator.predict([0.1, 0.5, 0.9]).round(4), round(calibrator.slope_, 4)
    (array([0.3, 0.5, 0.7]), 0.3856)
    """

    _saved: ClassVar = {"slope": read_number, "intercept": read_number}

    def _fit(self, rows: LabelledRows, offset: Offset) -> None:
        y, z, w, offset = self._finite_rows(rows, offset)
        self.slope_, self.intercept_ = LogitCalibrator._fit_logistic(
            [z], finite_targets(y, z, w), w, offset=offset
        )
        if self.slope_ <= 0:
            warn_of_no_rise(f"the fitted slope is {self.slope_:.3g}")

    def _map(self) -> Step:
        return {"map": "line", "slope": self.slope_, "intercept": self.intercept_}

    @staticmethod
    def _fit_logistic(
        features: Sequence[Array], target: Array, w: Array, *, rising: bool = False,
        offset: float | Array = 0.0,
    ) -> tuple[float, ...]:  # fmt: skip
        """The slope of each feature, none below 0 if ``rising``, and the intercept, of greatest
        likelihood; targets in [0, 1], and ``offset``, a number or (n,), added to the log-odds."""
        share = w / w.sum()
        mean = float(share @ target)
        n, d = len(target), len(features)
        X, units, centers = np.ones((d + 1, n)), np.ones(d), np.zeros(d)
        for k, u in enumerate(features):
            largest = np.abs(u).max() or 1  # so that squares neither overflow nor vanish
            x = u / largest
            center = share @ x
            x -= center
            spread = np.sqrt(share @ (x * x)) or 1
            X[k], units[k], centers[k] = x / spread, largest * spread, center / spread
        lowest = np.append(np.full(d, 0 if rising else -np.inf), -np.inf)
        starts = [np.append(np.zeros(d), np.log(mean / (1 - mean)) - mean_offset(offset, share))]
        if n > 10_000 * COARSE:
            some = slice(None, None, COARSE)
            x, part = np.ascontiguousarray(X[:, some]), share[some] / share[some].sum()
            with suppress(ValueError):  # of too few rows of a label
                own = np.broadcast_to(offset, n)[some]
                coarse = minimize_convex(logistic_loss(x, target[some], part, own), starts, lowest)
                starts = [coarse] if np.abs(coarse).max() < SANE else starts
        *slopes, c = minimize_convex(logistic_loss(X, target, share, offset), starts, lowest)
        return *map(float, slopes / units), float(c - slopes @ centers)


@public
class BetaCalibrator(LogOddsCalibrator):
    """Calibrator by logistic regression on ln p and ln(1 - p): a beta map, three parameters.

    Use it where the model errs more near 0 than near 1, or the other way round.

    ::

        logit p' = a ln p - b ln(1 - p) + c,   a, b >= 0, c of greatest likelihood

    With a = b it is :class:`LogitCalibrator`, which treats probabilities of exactly 0 and 1, and
    scores that separate the labels, in the same way. ``fit`` refuses what :class:`LogitCalibrator`
    refuses, and fewer than three different scores, which do not tell a from b. It warns if a = b =
    0. Beyond the scores of ``fit`` the formula goes on: rare events alone do not tell b.

    Parameters
    ----------
    input_space : {"probability", "margin"}
        What ``score`` is: probabilities in [0, 1], or log-odds.

    Attributes
    ----------
    a_, b_, c_ : float
        The numbers of the map.

    References
    ----------
    Kull, Silva Filho & Flach (2017), "Beta calibration: a well-founded and easily implemented
    improvement on logistic calibration for binary classifiers", AISTATS.

    Examples
    --------
    >>> import numpy as np
    >>> from gbdt_objectives.calibration import BetaCalibrator
    >>> y = np.repeat([0, 1, 0, 1, 0, 1], [9, 1, 7, 3, 3, 7])
    >>> calibrator = BetaCalibrator().fit(np.repeat([0.1, 0.5, 0.9], 10), y)
    >>> calibrator.predict([0.1, 0.5, 0.7, 0.9]).round(4)
    array([0.1   , 0.3   , 0.4425, 0.7   ])
    """

    _saved: ClassVar = {"a": read_not_negative, "b": read_not_negative, "c": read_number}

    def _fit(self, rows: LabelledRows, offset: Offset) -> None:
        y, z, w, offset = self._finite_rows(rows, offset)
        target = finite_targets(y, z, w, rising=True)
        if not ((z > z.min()) & (z < z.max())).any():
            raise ValueError(
                "score has fewer than three different values besides 0 and 1: use LogitCalibrator"
            )
        features = -formulas.softplus(-z), formulas.softplus(z)
        self.a_, self.b_, self.c_ = LogitCalibrator._fit_logistic(
            features, target, w, rising=True, offset=offset
        )
        if self.a_ == self.b_ == 0:
            warn_of_no_rise("the fitted map is constant, a = b = 0")

    def _map(self) -> Step:
        return {"map": "beta", "a": self.a_, "b": self.b_, "c": self.c_}


def one_shift(calibrator: Calibrator, offset: Offset) -> float:
    """What turns log-odds in the sample into those in the population, if it is one number."""
    if isinstance(offset, np.ndarray):
        rates = np.exp(-offset)
        raise ValueError(
            f"keep_rate differs by row, found {rates.min():.4g} to {rates.max():.4g}, and "
            f"{type(calibrator).__name__} can correct for one rate only: use SplineCalibrator, or "
            "leave keep_rate out and pass sample_weight=numpy.where(y == 1, 1, 1 / keep_rate)"
        )
    return -offset


def warn_of_no_rise(found: str) -> None:
    warn(f"{found}: the score does not rise with the label, or not beyond chance")


def warn_if_falling(auc: float) -> None:
    if auc < 0.5 - ROUND_OFF:
        warn_of_no_rise(f"the area under the ROC curve is {auc:.3g}")


def overlap(negative: Array, positive: Array) -> bool:
    """Whether the likelihood has a maximum: the scores do not separate the labels."""
    if not len(negative) or not len(positive):
        raise ValueError(
            "score is exactly 0 or 1 for all rows of one label: no slope can be fitted, use "
            "ROCConvexHullCalibrator with m > 0"
        )
    if negative.max() == negative.min() == positive.max() == positive.min():
        found = f"score is {positive[0]:g} (log-odds) in all rows"
        raise ValueError(f"{found}: no slope can be fitted, use InterceptCalibrator")
    return bool(negative.max() > positive.min() and positive.max() > negative.min())


def finite_targets(y: Array, z: Array, w: Array, *, rising: bool = False) -> Array:
    """y, or Platt's targets where a map, or one that is ``rising``, could separate the labels."""
    negative, positive = z[y == 0], z[y == 1]
    if overlap(negative, positive) or (rising and positive.max() <= negative.min()):
        return y
    N_1, N_0 = float(w[y == 1].sum()), float(w[y == 0].sum())
    _rows.check_weights_count_rows(min(N_1, N_0), ", and the score separates the labels")
    return np.where(y == 1, (N_1 + 1) / (N_1 + 2), 1 / (N_0 + 2))
