"""Calibrators: a score in, the probability of the positive class out.

Conventions of this file
------------------------
``score``: shape (n,) or (n, 1), higher for label 1; out-of-fold scores of the model, or
scores of rows it was not trained on. ``y``: labels 0 and 1, both occurring.
``sample_weight``: shape (n,), >= 0; w means the same as w copies of the row.
"""

from __future__ import annotations

import json
import math
import warnings
from dataclasses import replace
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import expit, logit
from sklearn.base import BaseEstimator
from sklearn.linear_model import LogisticRegression
from sklearn.utils.validation import check_is_fitted

from gbdt_objectives import _checks
from gbdt_objectives._checks import Array
from gbdt_objectives.calibration.hull import hull_of
from gbdt_objectives.calibration.intercept import intercept_shift
from gbdt_objectives.calibration.leaves import smoothing_prior
from gbdt_objectives.calibration.rows import Rows, score_rows
from gbdt_objectives.estimators import _json
from gbdt_objectives.estimators.threshold_classifier import one_score

INPUT_SPACES = ("probability", "margin")
HULL_FORMAT = "gbdt_objectives.ROCConvexHullCalibrator/1"
INTERCEPT_FORMAT = "gbdt_objectives.InterceptCalibrator/1"
LOGIT_FORMAT = "gbdt_objectives.LogitCalibrator/1"


class ROCConvexHullCalibrator(BaseEstimator):  # type: ignore[misc]
    """Calibrator by the ROC curve's convex hull, which is isotonic regression.

    The probability is constant on each segment of the hull, between the lowest and the
    highest score that ``fit`` saw in it, ::

        p = (n_1 + m pi_1) / (n_0 + n_1 + m)

    n_i the weight of label i in the segment; linear from one segment to the next; and
    that of the first or the last segment beyond them all. With ``m=0`` it is
    scikit-learn's ``IsotonicRegression(out_of_bounds="clip")``.

    Parameters
    ----------
    m : float >= 0
        How many rows the prior is worth: 0 no smoothing, 2 Laplace's correction if the
        prior is uniform.
    prior : array-like of shape (2,), "base_rate" or None
        pi, of labels 0 and 1. "base_rate": their shares of the rows in ``fit``, for rare
        events. None: 1/2 each.
    pooling : {"hull", "violators"}
        As in ``roc_convex_hull``; makes a difference to smoothing only.
    monotone : bool
        Smoothing can reverse the order of segments. True: the nearest rising
        probabilities instead.

    Attributes
    ----------
    scores_, probabilities_ : ndarray of shape (S,)
        The ends of the segments, rising, and the probability at each.

    Notes
    -----
    Hundreds of positives are needed for the hull not to follow chance, and it sends
    scores beyond those of all positives to exactly 0 unless smoothed: for few rows use
    ``LogitCalibrator``.

    References
    ----------
    Zadrozny & Elkan (2002), "Transforming classifier scores into accurate multiclass
    probability estimates", KDD; Fawcett & Niculescu-Mizil (2007), "PAV and the ROC convex
    hull", Machine Learning 68.

    Examples
    --------
    >>> import numpy as np
    >>> from gbdt_objectives import ROCConvexHullCalibrator
    >>> y = [1, 1, 0, 1, 1, 0, 1, 1, 0, 0]
    >>> score = np.arange(10, 0, -1)
    >>> calibrator = ROCConvexHullCalibrator(m=2).fit(score, y)
    >>> calibrator.predict([10, 5, 1])
    array([0.75 , 0.625, 0.25 ])
    >>> loaded = ROCConvexHullCalibrator.from_json(calibrator.to_json())
    >>> loaded.predict([10, 5, 1])
    array([0.75 , 0.625, 0.25 ])
    """

    def __init__(
        self,
        *,
        m: float = 0,
        prior: ArrayLike | Literal["base_rate"] | None = None,
        pooling: Literal["hull", "violators"] = "hull",
        monotone: bool = False,
    ) -> None:
        self.m = m
        self.prior = prior
        self.pooling = pooling
        self.monotone = monotone

    def fit(
        self, score: ArrayLike, y: ArrayLike, sample_weight: ArrayLike | None = None
    ) -> ROCConvexHullCalibrator:
        """Find the hull and the probability of each segment.

        Parameters
        ----------
        score : array-like of shape (n,) or (n, 1)
            On any scale.
        y : array-like of shape (n,)
            Labels 0 and 1.
        sample_weight : array-like of shape (n,), optional

        Returns
        -------
        ROCConvexHullCalibrator
            Itself.

        Raises
        ------
        ValueError, TypeError
            One class only, NaN, lengths that differ, bad weights, a negative ``m``, a
            prior that does not sum to 1.
        """
        hull = hull_of(score_rows("y", given(y), one_score(score), sample_weight), self.pooling)
        pi = smoothing_prior(self.prior, np.array([hull.negative.sum(), hull.positive.sum()]))
        p = hull.probability(m=self.m, prior=pi, monotone=self.monotone)
        ends = np.column_stack([hull.low, hull.high]).astype(np.float64).ravel()
        self.scores_, first = np.unique(ends, return_index=True)
        self.probabilities_ = np.repeat(p, 2)[first]
        return self

    def predict(self, score: ArrayLike) -> Array:
        """The probability of label 1 at each score.

        Parameters
        ----------
        score : array-like of shape (n,) or (n, 1)

        Returns
        -------
        ndarray of shape (n,)
            float64.
        """
        check_is_fitted(self, "probabilities_")
        p: Array = np.interp(one_score(score), self.scores_, self.probabilities_)
        return p

    def to_json(self) -> str:
        """The fitted map as JSON, readable without this package.

        Returns
        -------
        str
        """
        check_is_fitted(self, "probabilities_")
        return json.dumps(
            {
                "format": HULL_FORMAT,
                "m": float(self.m),
                "prior": _json.written_prior(self.prior),
                "pooling": self.pooling,
                "monotone": bool(self.monotone),
                "scores": self.scores_.tolist(),
                "probabilities": self.probabilities_.tolist(),
            },
            allow_nan=False,
        )

    @classmethod
    def from_json(cls, text: str) -> ROCConvexHullCalibrator:
        """A fitted calibrator from what :meth:`to_json` wrote.

        Parameters
        ----------
        text : str

        Returns
        -------
        ROCConvexHullCalibrator

        Raises
        ------
        ValueError
            Text that is truncated, no JSON, or not of this format.
        TypeError
            If it is no text.
        """
        keys = {"format", "m", "prior", "pooling", "monotone", "scores", "probabilities"}
        data = _json.read(text, HULL_FORMAT, keys)
        m, prior = _json.smoothing(data["m"], data["prior"], 2)
        pooling: Any = _checks.choice("pooling", data["pooling"], ("hull", "violators"))
        monotone = _json.flag("monotone", data["monotone"])
        calibrator = cls(m=m, prior=prior, pooling=pooling, monotone=monotone)
        scores = _json.finite_numbers("scores", data["scores"])
        probabilities = _json.finite_numbers("probabilities", data["probabilities"])
        _checks.same_length("probabilities", probabilities, "scores", len(scores))
        if (scores[1:] <= scores[:-1]).any():
            raise ValueError("scores must rise: the text was changed")
        _checks.in_unit_interval("probabilities", probabilities)
        if (m == 0 or monotone) and (probabilities[1:] < probabilities[:-1]).any():
            raise ValueError(
                "probabilities must not fall with m = 0 or if monotone: the text was changed"
            )
        calibrator.scores_, calibrator.probabilities_ = scores, probabilities
        return calibrator

    def __sklearn_tags__(self) -> Any:
        return of_one_score(super().__sklearn_tags__())


class InterceptCalibrator(BaseEstimator):  # type: ignore[misc]
    """Calibrator that adds one number to the log-odds, so that the mean is right.

    ::

        p = sigmoid(z + b),   b such that the mean of p is the mean of y

    For a model that ranks and spreads well but whose level is off: the prior moved, or
    negatives were dropped at an unknown rate. The ranking stays, so do probabilities of
    exactly 0 and 1.

    Parameters
    ----------
    input_space : {"probability", "margin"}
        What ``score`` is: probabilities in [0, 1], or log-odds z.

    Attributes
    ----------
    shift_ : float
        b, in log-odds; to put it into a booster for good: ``shift_intercept``.

    Examples
    --------
    >>> from gbdt_objectives import InterceptCalibrator
    >>> calibrator = InterceptCalibrator().fit([0.5, 0.5, 0.8, 0.8], [0, 0, 0, 1])
    >>> calibrator.predict([0.5, 0.8]).round(4)
    array([0.1287, 0.3713])
    >>> round(calibrator.shift_, 4)
    -1.9128
    """

    def __init__(self, *, input_space: Literal["probability", "margin"] = "probability") -> None:
        self.input_space = input_space

    def fit(
        self, score: ArrayLike, y: ArrayLike, sample_weight: ArrayLike | None = None
    ) -> InterceptCalibrator:
        """Find the shift.

        Parameters
        ----------
        score : array-like of shape (n,) or (n, 1)
            In ``input_space``.
        y : array-like of shape (n,)
            Labels 0 and 1.
        sample_weight : array-like of shape (n,), optional

        Returns
        -------
        InterceptCalibrator
            Itself.

        Raises
        ------
        ValueError, TypeError
            One class only, NaN, probabilities outside [0, 1], so many of exactly 0 or 1
            that no shift reaches the mean, lengths that differ, bad weights.
        """
        rows = log_odds_rows(score, y, sample_weight, self.input_space)
        self.shift_ = intercept_shift(rows.y, rows.p, rows.w)
        return self

    def predict(self, score: ArrayLike) -> Array:
        """The probability of label 1 at each score.

        Parameters
        ----------
        score : array-like of shape (n,) or (n, 1)
            In ``input_space``.

        Returns
        -------
        ndarray of shape (n,)
            float64.
        """
        check_is_fitted(self, "shift_")
        p: Array = expit(log_odds(one_score(score), self.input_space) + self.shift_)
        return p

    def to_json(self) -> str:
        """The fitted shift as JSON, readable without this package.

        Returns
        -------
        str
        """
        check_is_fitted(self, "shift_")
        data = {"format": INTERCEPT_FORMAT, "input_space": self.input_space, "shift": self.shift_}
        return json.dumps(data, allow_nan=False)

    @classmethod
    def from_json(cls, text: str) -> InterceptCalibrator:
        """A fitted calibrator from what :meth:`to_json` wrote.

        Parameters
        ----------
        text : str

        Returns
        -------
        InterceptCalibrator

        Raises
        ------
        ValueError
            Text that is truncated, no JSON, or not of this format.
        TypeError
            If it is no text.
        """
        data = _json.read(text, INTERCEPT_FORMAT, {"format", "input_space", "shift"})
        space: Any = _checks.choice("input_space", data["input_space"], INPUT_SPACES)
        calibrator = cls(input_space=space)
        calibrator.shift_ = _json.finite_number("shift", data["shift"])
        return calibrator

    def __sklearn_tags__(self) -> Any:
        return of_one_score(super().__sklearn_tags__())


class LogitCalibrator(BaseEstimator):  # type: ignore[misc]
    """Calibrator by logistic regression on the log-odds: Platt's, two parameters.

    ::

        p = sigmoid(a z + b),   a, b of greatest likelihood, without penalty

    For a model whose level and confidence are off (a < 1: it was too sure of itself).
    A calibrated model gives a = 1, b = 0, which Platt's form on probabilities instead of
    their log-odds cannot. Probabilities of exactly 0 and 1 stay; in ``fit`` they must be
    right, and then tell nothing.

    Parameters
    ----------
    input_space : {"probability", "margin"}
        What ``score`` is: probabilities in [0, 1], or log-odds z or any other score.

    Attributes
    ----------
    slope_, intercept_ : float
        a and b.

    References
    ----------
    Platt (1999), "Probabilistic outputs for support vector machines", Advances in Large
    Margin Classifiers; Cox (1958), Biometrika 45, for the test of a = 1, b = 0.

    Examples
    --------
    >>> import numpy as np
    >>> from gbdt_objectives import LogitCalibrator
    >>> score = np.repeat([0.1, 0.9], 10)
    >>> y = np.repeat([0, 1, 0, 1], [7, 3, 3, 7])
    >>> calibrator = LogitCalibrator().fit(score, y)
    >>> calibrator.predict([0.1, 0.5, 0.9]).round(4)
    array([0.3, 0.5, 0.7])
    >>> round(calibrator.slope_, 4)
    0.3856
    """

    def __init__(self, *, input_space: Literal["probability", "margin"] = "probability") -> None:
        self.input_space = input_space

    def fit(
        self, score: ArrayLike, y: ArrayLike, sample_weight: ArrayLike | None = None
    ) -> LogitCalibrator:
        """Find slope and intercept.

        Parameters
        ----------
        score : array-like of shape (n,) or (n, 1)
            In ``input_space``.
        y : array-like of shape (n,)
            Labels 0 and 1.
        sample_weight : array-like of shape (n,), optional

        Returns
        -------
        LogitCalibrator
            Itself.

        Raises
        ------
        ValueError, TypeError
            One class only, all scores equal, scores that separate the classes perfectly,
            NaN, probabilities outside [0, 1], or of exactly 0 or 1 and wrong, lengths
            that differ, bad weights.
        """
        rows = log_odds_rows(score, y, sample_weight, self.input_space)
        y, z, w = uncertain(rows)
        check_overlap(z[y == 0], z[y == 1])
        unit = float(np.abs(z).max())  # of which squares neither overflow nor vanish
        slope, intercept = logistic_line(z / unit, y, w)
        self.slope_, self.intercept_ = slope / unit, intercept
        if self.slope_ <= 0:
            warnings.warn(
                f"the fitted slope is {self.slope_:.3g}: the score does not rise with the label, "
                "or not beyond chance",
                UserWarning,
                stacklevel=2,
            )
        return self

    def predict(self, score: ArrayLike) -> Array:
        """The probability of label 1 at each score.

        Parameters
        ----------
        score : array-like of shape (n,) or (n, 1)
            In ``input_space``.

        Returns
        -------
        ndarray of shape (n,)
            float64.
        """
        check_is_fitted(self, "slope_")
        z = log_odds(one_score(score), self.input_space)
        finite = np.isfinite(z)
        z[finite] = self.slope_ * z[finite] + self.intercept_
        p: Array = expit(z)
        return p

    def to_json(self) -> str:
        """The fitted slope and intercept as JSON, readable without this package.

        Returns
        -------
        str
        """
        check_is_fitted(self, "slope_")
        return json.dumps(
            {
                "format": LOGIT_FORMAT,
                "input_space": self.input_space,
                "slope": self.slope_,
                "intercept": self.intercept_,
            },
            allow_nan=False,
        )

    @classmethod
    def from_json(cls, text: str) -> LogitCalibrator:
        """A fitted calibrator from what :meth:`to_json` wrote.

        Parameters
        ----------
        text : str

        Returns
        -------
        LogitCalibrator

        Raises
        ------
        ValueError
            Text that is truncated, no JSON, or not of this format.
        TypeError
            If it is no text.
        """
        data = _json.read(text, LOGIT_FORMAT, {"format", "input_space", "slope", "intercept"})
        space: Any = _checks.choice("input_space", data["input_space"], INPUT_SPACES)
        calibrator = cls(input_space=space)
        calibrator.slope_ = _json.finite_number("slope", data["slope"])
        calibrator.intercept_ = _json.finite_number("intercept", data["intercept"])
        return calibrator

    def __sklearn_tags__(self) -> Any:
        return of_one_score(super().__sklearn_tags__())


def given(y: ArrayLike | None) -> ArrayLike:
    if y is None:
        raise ValueError("a calibrator requires y to be passed, but the target y is None")
    return y


def log_odds(score: Array, input_space: str) -> Array:
    """z of probabilities or of margins, a new float64 array."""
    _checks.choice("input_space", input_space, INPUT_SPACES)
    if input_space == "margin":
        return score.astype(np.float64)
    z: Array = logit(_checks.probabilities("score", score))
    return z


def log_odds_rows(
    score: ArrayLike, y: ArrayLike, sample_weight: ArrayLike | None, input_space: str
) -> Rows:
    """Rows of both labels, with log-odds, perhaps infinite, for ``p``."""
    rows = score_rows("y", given(y), one_score(score), sample_weight)
    return replace(rows, p=log_odds(rows.p, input_space))


def uncertain(rows: Rows) -> tuple[Array, Array, Array]:
    """y, z, w of finite log-odds; the infinite ones must be right."""
    wrong = np.isinf(rows.p) & ((rows.p > 0) != (rows.y == 1))
    if wrong.any():
        first = int(np.flatnonzero(wrong)[0])
        raise ValueError(
            f"score is exactly {expit(rows.p[first]):g} for {int(wrong.sum())} rows of label "
            f"{rows.y[first]:g}: log-odds cannot calibrate what was certain and wrong; use "
            "ROCConvexHullCalibrator, which takes it as any score, or fit on margins"
        )
    finite = np.isfinite(rows.p)
    return rows.y[finite], rows.p[finite], rows.w[finite]


def check_overlap(negative: Array, positive: Array) -> None:
    """Raise unless the likelihood has a maximum."""
    if len(negative) and len(positive):
        if negative.max() > positive.min() and positive.max() > negative.min():
            return
        if negative.max() == negative.min() == positive.max() == positive.min():
            raise ValueError(
                f"score is {positive[0]:g} (log-odds) in all rows: no slope can be fitted, use "
                "InterceptCalibrator"
            )
    raise ValueError(
        "score separates the labels perfectly: the likelihood has no maximum, and the slope would "
        "be infinite; are these the rows the model was trained on? Use held-out scores, or "
        "ROCConvexHullCalibrator with m > 0"
    )


def logistic_line(z: Array, y: Array, w: Array) -> tuple[float, float]:
    """Slope and intercept of greatest likelihood."""
    center = float(np.average(z, weights=w))
    spread = math.sqrt(np.average((z - center) ** 2, weights=w))
    u = (z - center) / spread
    model = LogisticRegression(C=np.inf, solver="newton-cholesky", tol=1e-12)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # that it stops where float64 ends, judged here:
        model.fit(u[:, None], y, w)
    a, b = float(model.coef_[0, 0]), float(model.intercept_[0])
    error = w * (expit(a * u + b) - y)
    gradient = max(abs(error.sum()), abs(error @ u)) / w.sum()
    if gradient > 1e-6:
        raise ValueError(
            f"the likelihood has no maximum that could be found (gradient {gradient:.2g}): some "
            "scores or weights are far larger than the rest, use ROCConvexHullCalibrator"
        )
    return a / spread, b - a / spread * center


def of_one_score(tags: Any) -> Any:
    """Tags of an estimator of one score and labels 0 and 1."""
    from sklearn.utils import ClassifierTags

    tags.input_tags.one_d_array = True
    tags.target_tags.required = True
    tags.classifier_tags = ClassifierTags(multi_class=False)  # it is none, but has two labels
    return tags
