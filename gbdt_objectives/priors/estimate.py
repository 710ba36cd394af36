"""An unknown deployment prior, estimated and tested from predictions alone.

Symbols: P_ik probability of class k for row i from the model, pi0 its training prior, pi
the new prior, r_ik = P_ik/pi0_k, f_i = sum_k r_ik pi_k, L = sum_i log f_i the gain in
log-likelihood over pi0.
"""

from __future__ import annotations

import warnings
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from gbdt_objectives import _checks
from gbdt_objectives._checks import Array, shown
from gbdt_objectives.priors.shift import read_prior

COLLAPSED_ROWS = 0.01
"""A class has collapsed if fewer rows than this are expected of it in the whole sample."""


@dataclass(frozen=True, kw_only=True, eq=False)
class PriorEstimate:
    """A prior found by :func:`estimate_prior`, and how it was found.

    Parameters
    ----------
    prior : float or ndarray of shape (K,)
        Probability of label 1, or of each class: ``target_prior`` of
        :func:`log_odds_shift`.
    history : ndarray of shape (n_iter + 1, K)
        The prior after each iteration, starting with the training prior.
    converged : bool
        Whether the last iteration changed no class by more than ``tol`` of itself.
    collapsed : bool
        Whether a class went to 0: fewer than 0.01 rows of the whole sample are expected of it.
    log_likelihood_gain : float
        L, over the training prior; twice it is the statistic of :func:`prior_shift_test`.
    """

    prior: float | Array
    history: Array
    converged: bool
    collapsed: bool
    log_likelihood_gain: float

    @property
    def n_iter(self) -> int:
        """Number of iterations."""
        return len(self.history) - 1


@dataclass(frozen=True, kw_only=True, eq=False)
class PriorShiftTest:
    """Result of :func:`prior_shift_test`.

    Parameters
    ----------
    statistic : float
        Twice the gain in log-likelihood.
    degrees_of_freedom : int
        K-1.
    p_value : float
        Probability of a statistic at least this large if the prior is that of training.
    estimate : PriorEstimate
        The prior that explains the rows best.
    """

    statistic: float
    degrees_of_freedom: int
    p_value: float
    estimate: PriorEstimate


def estimate_prior(
    probability: ArrayLike,
    train_prior: ArrayLike,
    *,
    out_of_fold: tuple[ArrayLike, ArrayLike] | None = None,
    tol: float = 1e-6,
    max_iter: int = 10_000,
) -> PriorEstimate:
    """Class prior of unlabelled rows, from a model's probabilities for them.

    Maximises the likelihood L over pi by expectation maximisation, from pi0::

        pi_k <- mean over rows of P_ik (pi_k/pi0_k) / sum_j P_ij (pi_j/pi0_j)

    It assumes that only the prior differs from training, and takes the probabilities at
    face value: those of a model that separates poorly or is not calibrated can send the
    prior of a rare class to 0. ``out_of_fold`` calibrates them first, by a temperature and
    a bias per class fitted to labelled rows that were not trained on::

        P_k  proportional to  P_k^a exp(b_k)

    Parameters
    ----------
    probability : array-like of shape (n,) or (n, K)
        Of label 1 or of each class, not corrected, for unlabelled rows from where the
        model is used.
    train_prior : float or array-like of shape (K,)
        Probability of label 1, or of each class, in the training data (after sampling).
    out_of_fold : (y, probability), optional
        Labels, 0..K-1, and the model's probabilities for rows from the training
        distribution that it was not trained on, shaped like ``probability``.
    tol : float > 0
        Stops when no class changes by more than this fraction of itself.
    max_iter : int
        Maximum number of iterations.

    Returns
    -------
    PriorEstimate
        ``prior``, and ``history``, ``n_iter``, ``converged``, ``collapsed``.

    Warns
    -----
    UserWarning
        A class collapsed, or the iterations did not converge.

    Raises
    ------
    ValueError
        Probabilities outside [0, 1] or for another number of classes than the prior; a
        prior that does not sum to 1 or contains a 0; probabilities of 0 or 1 in
        ``out_of_fold``, or a class without a row there.

    References
    ----------
    Saerens, Latinne & Decaestecker (2002), Neural Computation 14(1), section 2.2;
    Alexandari, Kundaje & Shrikumar (2020), "Maximum likelihood with bias-corrected
    calibration is hard-to-beat at label shift adaptation", ICML, for calibrating first.

    Examples
    --------
    >>> from gbdt_objectives import estimate_prior
    >>> estimate = estimate_prior([0.9, 0.8, 0.3, 0.6, 0.2], 0.5)
    >>> round(estimate.prior, 4), estimate.n_iter
    (0.7032, 43)
    """
    return maximize_likelihood(probability, train_prior, out_of_fold, tol, max_iter)


def prior_shift_test(
    probability: ArrayLike,
    train_prior: ArrayLike,
    *,
    out_of_fold: tuple[ArrayLike, ArrayLike] | None = None,
    tol: float = 1e-6,
    max_iter: int = 10_000,
) -> PriorShiftTest:
    """Likelihood-ratio test of whether the prior differs from training.

    ::

        statistic = 2 sum_i log f_i,  chi-squared with K-1 degrees of freedom if it does not

    with the prior of :func:`estimate_prior`. It takes the probabilities at face value: with
    many rows, a model whose mean is slightly off looks like a shift; ``out_of_fold`` helps.

    Parameters
    ----------
    probability, train_prior, out_of_fold, tol, max_iter
        As in :func:`estimate_prior`.

    Returns
    -------
    PriorShiftTest
        ``statistic``, ``degrees_of_freedom``, ``p_value`` and the ``estimate``.

    Warns
    -----
    UserWarning
        As in :func:`estimate_prior`.

    Raises
    ------
    ValueError
        As in :func:`estimate_prior`.

    References
    ----------
    Saerens, Latinne & Decaestecker (2002), Neural Computation 14(1), section 3.

    Examples
    --------
    >>> from gbdt_objectives import prior_shift_test
    >>> test = prior_shift_test([0.9, 0.8, 0.3, 0.6, 0.2] * 20, 0.5)
    >>> round(test.statistic, 2), round(test.p_value, 3)
    (4.84, 0.028)
    """
    found = maximize_likelihood(probability, train_prior, out_of_fold, tol, max_iter)
    from scipy.stats import chi2

    statistic = max(2 * found.log_likelihood_gain, 0.0)  # below 0 by rounding only
    K = found.history.shape[1]
    return PriorShiftTest(
        statistic=statistic,
        degrees_of_freedom=K - 1,
        p_value=float(chi2.sf(statistic, K - 1)),
        estimate=found,
    )


def maximize_likelihood(
    probability: ArrayLike,
    train_prior: ArrayLike,
    out_of_fold: tuple[ArrayLike, ArrayLike] | None,
    tol: float,
    max_iter: int,
) -> PriorEstimate:
    """Expectation maximisation; warnings point at the caller of the public function."""
    tol = _checks.number("tol", tol)
    if not tol > 0:
        raise ValueError(f"tol must be above 0, found {tol}")
    max_iter = _checks.whole_number("max_iter", max_iter, 1)
    pi0 = read_prior("train_prior", train_prior)
    P = probability_columns("probability", probability, len(pi0))
    if out_of_fold is not None:
        if not isinstance(out_of_fold, tuple) or len(out_of_fold) != 2:
            raise TypeError("out_of_fold must be a pair (y, probability), in this order")
        P = calibrate(P, *out_of_fold)
    r = P / pi0
    n, pi = len(P), pi0
    history, change, collapsed = [pi0], np.inf, False
    while change > tol and not collapsed and len(history) <= max_iter:
        m = (1 / (r @ pi)) @ r / n
        pi = pi * m
        history.append(pi)
        change = np.abs(m - 1).max()
        collapsed = bool(n * pi.min() < COLLAPSED_ROWS)
    message = None
    if collapsed:
        message = (
            f"the prior of class {int(pi.argmin())} collapsed to 0 ({pi.min():.2g} after "
            f"{len(history) - 1} iterations): these probabilities are best explained without the "
            "class, which usually means that they are not calibrated; pass out_of_fold, use a "
            "better model or more rows, and do not correct with this prior"
        )
    elif change > tol:
        message = (
            f"no convergence in {max_iter} iterations, the last one changed a class by "
            f"{change:.2g} of itself: raise max_iter or tol"
        )
    if message is not None:
        warnings.warn(message, UserWarning, stacklevel=3)
    return PriorEstimate(
        prior=float(pi[1]) if np.ndim(train_prior) == 0 else pi,
        history=np.array(history),
        converged=bool(change <= tol),
        collapsed=collapsed,
        log_likelihood_gain=float(np.log(r @ pi).sum()),
    )


def probability_columns(name: str, values: ArrayLike, K: int) -> Array:
    """Probabilities of each class, float64 (n, K); (1-p, p) from (n,)."""
    p = _checks.probabilities(name, values)
    if p.ndim == 1:
        p = np.column_stack([1 - p, p])
    if p.shape[1] != K:
        raise ValueError(f"{name} has {p.shape[1]} classes, but train_prior has {K}")
    return p


def calibrate(P: Array, y: ArrayLike, probability: ArrayLike) -> Array:
    """P^a exp(b), normalised, with the a and b of least logloss on labelled rows."""
    from scipy.optimize import minimize
    from scipy.special import log_softmax, softmax

    K = P.shape[1]
    name = "the probability of out_of_fold"
    log_p = log_probability(name, probability_columns(name, probability, K))
    label = _checks.vector("the labels of out_of_fold", y)
    _checks.same_length(name, log_p, "the labels", len(label))
    if not np.array_equal(np.unique(label), np.arange(K)):
        raise ValueError(
            f"the labels of out_of_fold must be the columns 0..{K - 1}, each at least once, found "
            f"{shown(np.unique(label).tolist())}"
        )
    target = np.eye(K)[label.astype(int)]

    def logloss(ab: Array) -> tuple[float, Array]:
        z = ab[0] * log_p + np.append(0.0, ab[1:])
        residual = softmax(z, axis=1) - target
        gradient = np.append((residual * log_p).sum(), residual[:, 1:].sum(axis=0))
        return -(log_softmax(z, axis=1) * target).sum() / len(z), gradient / len(z)

    ab = minimize(logloss, np.append(1.0, np.zeros(K - 1)), jac=True, options={"gtol": 1e-8}).x
    z = ab[0] * log_probability("probability", P) + np.append(0.0, ab[1:])
    result: Array = softmax(z, axis=1)
    return result


def log_probability(name: str, P: Array) -> Array:
    """log P; raises if a probability is 0."""
    if P.min() <= 0:
        row = int(np.argmin(P)) // P.shape[1]
        raise ValueError(
            f"{name} is 0 or 1 at row {row}, and calibration needs logarithms: clip them, e.g. to "
            "[1e-7, 1 - 1e-7]"
        )
    result: Array = np.log(P)
    return result
