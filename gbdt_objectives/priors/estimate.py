"""The class prior where a model is used, estimated and tested from its predictions alone.

Symbols: P_ik is the model's probability of class k for row i, pi0 its training prior, pi the new
prior, r_ik = P_ik/pi0_k, f_i = sum_k r_ik pi_k, L = sum_i log f_i the gain in log-likelihood over
pi0, and u_i = (r_ik - r_iK)/f_i for k < K; the sum of u is the gradient of L.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from gbdt_objectives import _checks
from gbdt_objectives._checks import Array, shown, warn
from gbdt_objectives._public import public
from gbdt_objectives.priors.shift import ByClass, is_of_classes, read_prior

DAMPED_FROM = 20  # the number of iterations after which matching moments takes half steps
SIGNIFICANCE, POWER = 0.05, 0.8  # of a shift that can be detected
COLLAPSED_ROWS = 0.01  # a class of which fewer are expected in the whole sample has collapsed
OfRows = ArrayLike | tuple[ArrayLike | None, ArrayLike | None] | None  # a pair with out_of_fold


@public
@dataclass(frozen=True, kw_only=True, eq=False)
class PriorEstimate:
    """A prior found by :func:`estimate_prior`, and how certain it is.

    Parameters
    ----------
    prior, standard_error : float or ndarray of shape (K,)
        Probability of label 1, or each class, a ``target_prior``; and its standard error.
    interval : ndarray of shape (2,) or (2, K)
        The confidence interval, in [0, 1]: of two classes, what a test does not reject.
    train_prior : float or ndarray of shape (K,)
        The prior it was compared with: as given, or the class frequencies of the held-out rows.
    n_iter, converged : int, bool
        Number of iterations; whether the last changed no class by more than ``tol`` of itself.
    collapsed : bool
        Whether a class went to 0: fewer than 0.01 rows of the whole sample are expected in it.
    """

    prior: float | Array
    standard_error: float | Array
    interval: Array
    train_prior: float | Array
    n_iter: int
    converged: bool
    collapsed: bool


@public
@dataclass(frozen=True, kw_only=True, eq=False)
class PriorShiftTest:
    """Result of :func:`prior_shift_test`.

    Parameters
    ----------
    statistic, degrees_of_freedom : float, int
        Approximately chi-squared if the prior has not moved, with K-1 degrees of freedom.
    p_value : float
        Probability of a statistic at least this large if the prior is that of training.
    detectable : ndarray of shape (2,) or (2, K)
        The next priors below and above ``estimate.train_prior`` that this test, with as many rows
        and the same model, finds with probability 0.8 at a significance of 0.05; of a class, if the
        others keep their proportions. nan where even 0 or 1 would be missed. A large ``p_value``
        says nothing about priors in between.
    estimate : PriorEstimate
        The prior that explains the rows best.
    """

    statistic: float
    degrees_of_freedom: int
    p_value: float
    detectable: Array
    estimate: PriorEstimate


@public
def estimate_prior(
    probability: ArrayLike, train_prior: ByClass | None = None, *,
    out_of_fold: tuple[ArrayLike, ArrayLike] | None = None, groups: OfRows = None,
    counts: OfRows = None, confidence_level: float = 0.95, tol: float = 1e-6,
    max_iter: int = 10_000,
) -> PriorEstimate:  # fmt: skip
    """Class prior of unlabelled rows, from a model's probabilities for them.

    Use it where class frequencies have changed since training and no new labels are there yet. It
    assumes that only the prior differs from training. With ``train_prior`` the prior pi of greatest
    likelihood is found, which takes the probabilities at face value: those of an uncalibrated model
    bias it. With ``out_of_fold`` the probabilities need not be calibrated; pi then solves ::

        mean of u over the unlabelled rows = sum_k pi_k (mean of u over held-out rows of class k)

    ``docs/theory/log_odds.md`` explains both, and the intervals.

    Parameters
    ----------
    probability : array-like of shape (n,) or (n, K)
        Uncorrected probabilities of label 1, or of each class, of unlabelled rows where it is used.
    train_prior : float or array-like of shape (K,), optional
        Probability of label 1, or of each class, in the training data after sampling.
    out_of_fold : (y, probability), optional
        Labels, 0..K-1, and the model's probabilities for rows from the training distribution that
        it was not trained on, shaped like ``probability``.
    groups : array-like of shape (n,), optional
        Whose row it is, of any type, where rows of one user, session or document are alike: without
        it the interval is then too narrow. For some 30 groups or more. With ``out_of_fold`` a pair,
        of the unlabelled and of the held-out rows, either of which may be None.
    counts : array-like of shape (n,), optional
        How many identical rows a row stands for, as of a GROUP BY. With ``out_of_fold`` a pair.
    confidence_level : float in (0, 1)
        Confidence level of the interval.
    tol, max_iter : float > 0, int
        Iterations stop when no class changes by more than ``tol`` of itself, or are so many.

    Returns
    -------
    PriorEstimate

    Warns
    -----
    UserWarning
        A class collapsed, or the iterations did not converge.

    Raises
    ------
    ValueError
        Bad probabilities or priors; neither or both of ``train_prior`` and ``out_of_fold``; fewer
        than two held-out rows of a class, equal predictions for all, fewer groups than classes.

    References
    ----------
    Saerens, Latinne & Decaestecker (2002), Neural Computation 14(1), section 2.2; Lipton, Wang &
    Smola (2018), "Detecting and correcting for label shift with black box predictors", ICML.

    Examples
    --------
    >>> from gbdt_objectives.priors import estimate_prior
    >>> estimate = estimate_prior([0.9, 0.8, 0.3, 0.6, 0.2] * 20, 0.5)
    >>> round(estimate.prior, 4), estimate.interval.round(2)
    (0.7032, array([0.52, 0.89]))
    """
    return find_prior(
        probability, train_prior, out_of_fold, groups, counts, confidence_level, tol, max_iter
    )[1]


@public
def prior_shift_test(
    probability: ArrayLike, train_prior: ByClass | None = None, *,
    out_of_fold: tuple[ArrayLike, ArrayLike] | None = None, groups: OfRows = None,
    counts: OfRows = None, confidence_level: float = 0.95, tol: float = 1e-6,
    max_iter: int = 10_000,
) -> PriorShiftTest:  # fmt: skip
    """Test of whether the prior differs from training.

    Use it before a correction, to see whether there is anything to correct.

    ::

        statistic = 2 sum_i log f_i          with train_prior: the likelihood ratio
                    d' C^-1 d                with out_of_fold

    Here f_i is the likelihood of row i under the estimated prior over that under the training
    prior, d the mean of u (see :func:`estimate_prior`) over the unlabelled rows minus that over the
    held-out rows, and C the covariance of d. With many rows, a model whose mean is slightly off
    looks like a shift to the likelihood ratio, so prefer ``out_of_fold``. With ``groups`` the
    statistic of ``train_prior`` is d' C^-1 d as well, with d the sum of u, and C that of the outer
    products of the sums of u over each group.

    A shift that is not found may be there: ``detectable`` says how large it would have to be, the
    next prior at which ::

        D' C^-1 D = q

    with D and C what is expected of d and its covariance at that prior, and q, 7.85 for two
    classes, the noncentrality at which chi-squared with K-1 degrees of freedom exceeds its 0.95
    quantile with probability 0.8. Four times the rows halve the shift. A model that is not
    calibrated finds less.

    Parameters
    ----------
    probability, train_prior, out_of_fold, groups, counts, confidence_level, tol, max_iter
        The arguments of :func:`estimate_prior`, with its warnings and errors.

    Returns
    -------
    PriorShiftTest

    References
    ----------
    Saerens, Latinne & Decaestecker (2002), Neural Computation 14(1), section 3.

    Examples
    --------
    >>> from gbdt_objectives.priors import prior_shift_test
    >>> test = prior_shift_test([0.9, 0.8, 0.3, 0.6, 0.2] * 20, 0.5)
    >>> round(test.statistic, 2), round(test.p_value, 3)
    (4.84, 0.028)
    >>> test.detectable.round(2)  # of a hundred rows
    array([0.26, 0.76])
    """
    from scipy.special import chdtrc

    found, estimate = find_prior(
        probability, train_prior, out_of_fold, groups, counts, confidence_level, tol, max_iter
    )
    degrees = len(found.pi0) - 1
    detectable = detectable_priors(found.expected, found.pi0)
    return PriorShiftTest(
        statistic=found.statistic, degrees_of_freedom=degrees,
        p_value=float(chdtrc(degrees, found.statistic)), estimate=estimate,
        detectable=detectable[:, 1] if np.ndim(estimate.prior) == 0 else detectable,
    )  # fmt: skip


def find_prior(
    probability: ArrayLike, train_prior: ByClass | None,
    out_of_fold: tuple[ArrayLike, ArrayLike] | None, groups: OfRows, counts: OfRows,
    confidence_level: float, tol: float, max_iter: int,
) -> tuple[Found, PriorEstimate]:  # fmt: skip
    """What was found, and the estimate that is made of it."""
    level = _checks.confidence_level("confidence_level", confidence_level, usual=0.95)
    tol = _checks.number("tol", tol)
    if not tol > 0:
        raise ValueError(f"tol must be above 0, found {tol}")
    max_iter = _checks.whole_number("max_iter", max_iter, 1)
    if (train_prior is None) == (out_of_fold is None):
        raise ValueError(
            "exactly one of train_prior and out_of_fold is needed, found "
            + ("none" if train_prior is None else "both: the labels of out_of_fold are the prior")
        )
    if out_of_fold is None:
        assert train_prior is not None
        pi0 = read_prior("train_prior", train_prior)
        P = probability_columns("probability", probability, len(pi0))
        (rows,) = read_predictions([P / pi0], groups, counts)
        found = likelihood_estimate(rows, pi0, tol, max_iter)
        of_label_1 = not is_of_classes(train_prior)
    else:
        moments = read_moments(probability, out_of_fold, groups, counts)
        rows, found = moments.rows, match_moments(moments, tol, max_iter)
        of_label_1 = np.ndim(probability) == 1
    return found, made_of(found, rows.n, level, tol, of_label_1)


def made_of(found: Found, n: int, level: float, tol: float, of_label_1: bool) -> PriorEstimate:
    """The estimate from n rows, of label 1 alone or of each class, with a warning if it is none."""
    from scipy.special import ndtri

    pi = found.pi
    collapsed = bool(n * pi.min() <= COLLAPSED_ROWS * (1 + tol))
    if collapsed:
        warn(
            f"the prior of class {int(pi.argmin())} collapsed to 0 ({pi.min():.2g}), which usually "
            "means that the probabilities are not calibrated: do not correct with this prior; pass "
            "out_of_fold if you did not, use a better model or more rows"
        )
    elif not found.converged:
        said = f"no convergence in {found.n_iter} iterations to {tol:g} of each class"
        warn(f"{said}: raise max_iter or tol")
    error = np.sqrt(np.append(np.diag(found.covariance), found.covariance.sum()))
    z = float(ndtri((1 + level) / 2))
    if len(pi) == 2:
        low, high = invert_test(found.moment, float(pi[1]), float(error[1]), COLLAPSED_ROWS / n, z)
        interval = np.array([[1 - high, low], [1 - low, high]])
    else:
        interval = np.array([np.maximum(pi - z * error, 0), np.minimum(pi + z * error, 1)])

    def shown_as(values: Array) -> float | Array:
        return float(values[1]) if of_label_1 else values

    return PriorEstimate(
        prior=shown_as(pi), standard_error=shown_as(error), train_prior=shown_as(found.pi0),
        interval=interval[:, 1] if of_label_1 else interval,
        n_iter=found.n_iter, converged=found.converged, collapsed=collapsed,
    )  # fmt: skip


def detectable_priors(expected: Moment, pi0: Array) -> Array:
    """The priors of each class below and above pi0 that are found with POWER, (2, K), or nan."""
    from scipy.optimize import brentq
    from scipy.special import chdtri, chndtrinc

    degrees = len(pi0) - 1
    needed = float(chndtrinc(chdtri(degrees, SIGNIFICANCE), degrees, 1 - POWER))
    found = np.full((2, len(pi0)), np.nan)
    for k, own in enumerate(pi0):
        others = np.where(np.arange(len(pi0)) == k, 0, pi0) / (1 - own)

        def excess(prior: float, k: int = k, others: Array = others) -> float:
            pi = (1 - prior) * others
            pi[k] = prior
            d, C = expected(pi)
            if not np.isfinite(C).all():  # no row can be of some class
                return -needed
            return float(d @ np.linalg.pinv(C, hermitian=True) @ d) - needed

        for side, edge in enumerate((0.0, 1.0)):
            if excess(edge) >= 0:
                found[side, k] = brentq(excess, own, edge, xtol=1e-9 * own)
    return found


Moment = Callable[[Array], tuple[Array, Array]]
"""Maps a prior (K,) to what is 0 at the estimate, (K-1,), and the covariance of that."""


class Found(NamedTuple):
    """What a method finds: a prior (K,), that of training, the covariance of its first K-1 classes,
    its equation, and what is expected of the test's d at any prior, with its covariance."""

    pi: Array
    pi0: Array
    covariance: Array
    n_iter: int
    converged: bool
    statistic: float
    moment: Moment
    expected: Moment


def invert_test(
    moment: Moment, estimate: float, error: float, least: float, z: float
) -> tuple[float, float]:
    """Ends of the interval: where the moment is first z errors away from 0, as near 0 and 1 noise
    brings it back. If the prior at the edge is rejected, the ends are z errors away."""
    from scipy.optimize import brentq

    def excess(p: float) -> float:
        m, C = moment(np.array([1 - p, p]))
        return abs(float(m[0])) - z * math.sqrt(C[0, 0])

    start = min(max(estimate, least), 1 - least)
    if excess(start) > 0:
        return max(start - z * error, 0.0), min(start + z * error, 1.0)
    ends = []
    for limit, edge, sign in ((0.0, least, -1), (1.0, 1 - least, 1)):
        inner, outer, step = start, start, z * error
        while outer != edge and excess(outer) <= 0:
            inner, outer, step = outer, start + sign * step, 1.2 * step
            if not least < outer < 1 - least:
                outer = edge
        crosses = excess(outer) > 0
        ends.append(float(brentq(excess, inner, outer, xtol=1e-9 * error)) if crosses else limit)
    return ends[0], ends[1]


def mixture(
    means: Array, squares: Array, pi0: Array, n: int, held_out: Array, effect: Array
) -> Moment:
    """What is expected of d, from the mean and the mean square of u in n rows by class. ``effect``:
    A, (K-1, K-1), if covariances C of rows are A C A' with their groups."""

    def expected(prior: Array) -> tuple[Array, Array]:
        mean = prior @ means
        spread = np.tensordot(prior, squares, 1) - np.outer(mean, mean)
        return mean - pi0 @ means, effect @ (spread / n + held_out) @ effect.T

    return expected


def group_effect(together: Array, alone: Array) -> Array:
    """A with A C A' = together for C = alone."""
    return np.linalg.cholesky(together) @ np.linalg.inv(np.linalg.cholesky(alone))


@dataclass(frozen=True, eq=False)
class Predictions:
    """Rows of r, (n, K), each ``c`` identical ones; ``owner`` numbers their groups."""

    r: Array
    c: Array
    owner: Array | None

    @cached_property
    def n(self) -> int:
        """How many rows there are, copies included."""
        return int(self.c.sum())

    def alone(self) -> Predictions:
        return replace(self, owner=None)

    def score(self, pi: Array) -> Array:
        """The gradient u of each row's log-likelihood, (n, K-1)."""
        return np.asarray((self.r[:, :-1] - self.r[:, -1:]) / (self.r @ pi)[:, np.newaxis])

    def mean(self, u: Array) -> Array:
        return np.asarray(self.c @ u / self.n)

    def squares(self, u: Array) -> Array:
        """The sum of u u' over the rows, or of the outer products of the sums of u over groups."""
        if self.owner is None:
            return np.asarray((u.T * self.c) @ u)
        sums = np.column_stack([np.bincount(self.owner, self.c * x) for x in u.T])
        return np.asarray(sums.T @ sums)

    def covariance_of_sum(self, u: Array) -> Array:
        """The covariance of the sum of u over rows, or groups of rows, that are independent."""
        units = self.n
        if self.owner is not None:
            units = int(np.count_nonzero(np.bincount(self.owner, self.c)))
        return units / max(units - 1, 1) * self.squares(u - self.mean(u))

    def covariance_of_mean(self, u: Array) -> Array:
        return self.covariance_of_sum(u) / self.n**2


def likelihood_estimate(rows: Predictions, pi0: Array, tol: float, max_iter: int) -> Found:
    """The prior of greatest likelihood; the observed information gives its covariance."""
    find = root if len(pi0) == 2 else maximize_expectation
    pi, n_iter, converged = find(rows, pi0, tol, max_iter)
    r, c, u = rows.r, rows.c, rows.score(pi)
    every = np.sqrt(c)[:, np.newaxis] * u  # of the singular values of all copies
    if np.linalg.matrix_rank(every, tol=1e-9 * math.sqrt(rows.n)) < u.shape[1]:
        raise ValueError(
            "probability does not tell all classes apart, its columns are in the same proportion "
            "in all rows: the prior cannot be estimated; use a better model"
        )
    gain = max(2 * float(c @ np.log(r @ pi)), 0.0)  # below 0 by rounding only
    covariance = np.linalg.pinv(rows.alone().squares(u))
    effect = np.eye(u.shape[1])

    def moment(prior: Array) -> tuple[Array, Array]:
        v = rows.score(prior)
        return c @ v, rows.squares(v)

    u0 = rows.score(pi0)
    if rows.owner is not None:
        covariance = covariance @ moment(pi)[1] @ covariance
        d, C = moment(pi0)
        gain = float(d @ np.linalg.solve(C, d))
        effect = group_effect(C, rows.alone().squares(u0))
    of_class = r * (c / (r @ pi))[:, np.newaxis]  # posterior over prior, c times
    there = of_class.sum(axis=0)
    of_class = np.divide(of_class, there, out=np.full_like(of_class, np.nan), where=there > 0)
    squares = np.array([(u0.T * weight) @ u0 for weight in of_class.T])
    expected = mixture(of_class.T @ u0, squares, pi0, rows.n, np.zeros_like(effect), effect)
    return Found(pi, pi0, covariance, n_iter, converged, gain, moment, expected)


def root(rows: Predictions, pi0: Array, tol: float, max_iter: int) -> tuple[Array, int, bool]:
    """The prior at which the derivative of L is 0, for two classes that have not collapsed."""
    from scipy.optimize import brentq
    from scipy.special import expit, logit

    least = COLLAPSED_ROWS / rows.n

    def slope(z: float) -> float:
        return -float(rows.mean(rows.score(np.array([expit(-z), expit(z)])))[0])

    low, high = float(logit(least)), float(-logit(least))
    if slope(low) <= 0:
        return np.array([1 - least, least]), 0, False
    if slope(high) >= 0:
        return np.array([least, 1 - least]), 0, False
    z, how = brentq(
        slope, low, high, xtol=tol, rtol=1e-15, maxiter=max_iter, full_output=True, disp=False
    )
    return np.array([expit(-z), expit(z)]), how.iterations, how.converged


def maximize_expectation(
    rows: Predictions, pi0: Array, tol: float, max_iter: int
) -> tuple[Array, int, bool]:
    """Iterate pi_k <- mean over rows of r_k pi_k / f."""
    n, pi, change, n_iter = rows.n, pi0, np.inf, 0
    while change > tol and n * pi.min() > COLLAPSED_ROWS and n_iter < max_iter:
        m = (rows.c / (rows.r @ pi)) @ rows.r / n
        pi, change, n_iter = pi * m, np.abs(m - 1).max(), n_iter + 1
    return pi, n_iter, bool(change <= tol)


@dataclass(frozen=True, eq=False)
class Moments:
    """mean u = sum_k pi_k m_k, where m_k is the mean of u over held-out rows of class k."""

    rows: Predictions
    held_out: Predictions
    label: Array
    pi0: Array

    @cached_property
    def of_class(self) -> list[Predictions]:
        """The held-out rows of each class, without groups."""
        there = [self.label == k for k in range(len(self.pi0))]
        return [Predictions(self.held_out.r[at], self.held_out.c[at], None) for at in there]

    def by_class(self, prior: Array) -> tuple[list[tuple[Predictions, Array]], Array]:
        """The held-out rows of each class and their u, and its means m, (K, K-1)."""
        found = [(own, own.score(prior)) for own in self.of_class]
        return found, np.array([own.mean(u) for own, u in found])

    def moment(self, prior: Array) -> tuple[Array, Array]:
        """The difference of both sides, which is 0 at the estimate, and its covariance."""
        u, (of_class, m) = self.rows.score(prior), self.by_class(prior)
        noise = self.rows.covariance_of_mean(u)
        if self.held_out.owner is None:
            for p, (own, v) in zip(prior, of_class, strict=True):
                noise += p**2 * own.covariance_of_mean(v)
        else:
            each = self.held_out.score(prior) - m[self.label]
            share = (prior / np.bincount(self.label, self.held_out.c))[self.label, None]
            noise += self.held_out.covariance_of_sum(each * share)
        return self.rows.mean(u) - prior @ m, noise

    def step(self, prior: Array) -> tuple[Array, Array]:
        """The prior that solves the equation at these u, and how the right side moves with it."""
        of_class, m = self.by_class(prior)
        jacobian = (m[:-1] - m[-1]).T
        largest = max(float(np.abs(v).max()) for _, v in of_class)
        if np.linalg.matrix_rank(jacobian, tol=1e-9 * largest) < len(m) - 1:
            raise ValueError(
                "the predictions of out_of_fold do not tell the classes apart: their means are "
                "equal, so that the prior cannot be estimated; use a better model"
            )
        first = np.linalg.solve(jacobian, self.rows.mean(self.rows.score(prior)) - m[-1])
        new = np.maximum(np.append(first, 1 - first.sum()), COLLAPSED_ROWS / self.rows.n)
        return new / new.sum(), jacobian


def match_moments(moments: Moments, tol: float, max_iter: int) -> Found:
    """The prior that solves the equation of the moments."""
    pi0 = pi = moments.pi0
    change, n_iter = np.inf, 0
    while change > tol and n_iter < max_iter:
        new, jacobian = moments.step(pi)
        change, n_iter = np.abs(new / pi - 1).max(), n_iter + 1
        pi = new if n_iter < DAMPED_FROM else 0.5 * (pi + new)  # plain steps can go in circles
    inverse = np.linalg.inv(jacobian)
    covariance = inverse @ moments.moment(pi)[1] @ inverse.T
    if not np.diag(covariance).min() > 1e-24:  # rounding leaves 1e-35
        raise ValueError(
            "probability is equal in all rows, and that of out_of_fold in all rows of a class: "
            "their chance is unknown; pass probabilities, not decisions, or more rows"
        )
    sides = [(rows, rows.score(pi0)) for rows in (moments.rows, moments.held_out)]
    d = np.subtract(*(rows.mean(u) for rows, u in sides))
    C = np.sum([rows.covariance_of_mean(u) for rows, u in sides], axis=0)
    alone = [rows.alone().covariance_of_mean(u) for rows, u in sides]
    of_class, means = moments.by_class(pi0)
    squares = np.array([own.squares(v) / own.n for own, v in of_class])
    effect = group_effect(C, np.sum(alone, axis=0))
    statistic, converged = float(d @ np.linalg.solve(C, d)), bool(change <= tol)
    expected = mixture(means, squares, pi0, moments.rows.n, alone[1], effect)
    return Found(pi, pi0, covariance, n_iter, converged, statistic, moments.moment, expected)


def read_predictions(r: list[Array], groups: OfRows, counts: OfRows) -> list[Predictions]:
    """Unlabelled and held-out rows, each with at least as many groups as classes."""
    n = [len(own) for own in r]
    found = []
    named = of_rows("counts", counts, n), of_rows("groups", groups, n)
    for own, (name, c), (whose, owner) in zip(r, *named, strict=True):
        c = _checks.counts(name, c, len(own))
        c = np.ones(len(own)) if c is None else c.astype(np.float64)
        if owner is not None:
            owner = _checks.group_numbers(owner, len(own), whose)
            _checks.check_groups(whose, owner[c > 0], own.shape[1], int(c.sum()))
        found.append(Predictions(own, c, owner))
    return found


def of_rows(name: str, given: Any, n: list[int]) -> list[tuple[str, Any]]:
    """What is given of n unlabelled and, if there are any, of held-out rows, by its name."""
    if len(n) == 1:
        if isinstance(given, tuple) and len(given) != n[0]:
            found = f"found {shown(given)}: a pair is for out_of_fold"
            raise TypeError(f"{name} must be of the n = {n[0]} rows, (n,), {found}")
        return [(name, given)]
    both = (None, None) if given is None else given
    if not isinstance(both, tuple) or len(both) != 2:
        raise TypeError(
            f"{name} must be a pair (of probability, of out_of_fold), each (n,) or None, found "
            f"{shown(given)}"
        )
    names = (f"the {name} of probability", f"the {name} of out_of_fold")
    return list(zip(names, both, strict=True))


def read_moments(
    probability: ArrayLike, out_of_fold: tuple[ArrayLike, ArrayLike], groups: OfRows, counts: OfRows
) -> Moments:
    """The unlabelled and the held-out rows, and the held-out labels."""
    if not isinstance(out_of_fold, tuple) or len(out_of_fold) != 2:
        raise TypeError("out_of_fold must be a pair (y, probability), in this order")
    y, of_held_out = out_of_fold
    P = probability_columns("probability", probability)
    K = P.shape[1]
    name = "the probability of out_of_fold"
    P_held_out = probability_columns(name, of_held_out, K)
    label = _checks.vector("the labels of out_of_fold", y)
    _checks.same_length(name, P_held_out, "the labels", len(label))
    rows, held_out = read_predictions([P, P_held_out], groups, counts)
    if rows.n < 2:
        raise ValueError("probability has 1 row: at least two are needed, their spread is used")
    found, at = np.unique(label, return_inverse=True)
    there = np.bincount(at, held_out.c).astype(np.int64)
    if not np.array_equal(found, np.arange(K)) or there.min() < 2:
        raise ValueError(
            f"the labels of out_of_fold must be the columns 0..{K - 1}, each at least twice, found "
            f"{shown(dict(zip(found.tolist(), there.tolist(), strict=True)))} (label: rows)"
        )
    pi0 = there / held_out.n
    rows, held_out = (replace(own, r=own.r / pi0) for own in (rows, held_out))
    return Moments(rows, held_out, label.astype(np.intp), pi0)


def probability_columns(name: str, values: ArrayLike, K: int | None = None) -> Array:
    """Probabilities of each class, float64 (n, K); (1-p, p) from (n,)."""
    p = _checks.probabilities(name, values)
    if p.ndim == 1:
        p = np.column_stack([1 - p, p])
    if K is not None and p.shape[1] != K:
        raise ValueError(f"{name} has {p.shape[1]} classes, but there must be {K}")
    return p
