"""Simulated rows for examples: ``(X, y)``, float64 features and labels, as of sklearn.datasets."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import expit

from gbdt_objectives import _checks
from gbdt_objectives._checks import Array, RandomState
from gbdt_objectives._public import attributes, public

__all__ = ["make_clicks", "make_grades"]


@public
def make_grades(
    n_samples: int = 3000, *, n_features: int = 8, labels: ArrayLike = (1, 2, 3, 4, 5, 6),
    noise: float = 0.3, random_state: RandomState = None,
) -> tuple[Array, Array]:  # fmt: skip
    """Grades that follow the sum of four features, most of them in the middle.

    ::

        s = x_0 + x_1 + x_2 + x_3 + noise * e,    x_j uniform in [0, 1), e standard normal
        y = labels[k] where k cuts are at most s, the cuts being 2 + 2.4 (i/K - 1/2) for i = 1..K-1

    Parameters
    ----------
    n_samples, n_features : int
        At least 1 row and 4 features, of which the first four count.
    labels, noise : array-like of shape (K,), float
        All classes in ascending order, which few rows need not have. At least 0.
    random_state : int, numpy Generator or RandomState, optional
        An int gives the same rows each time. What is out of its range raises ValueError.

    Returns
    -------
    (X, y) : ndarray of shape (n_samples, n_features), ndarray of shape (n_samples,)

    Examples
    --------
    >>> from gbdt_objectives.datasets import make_grades
    >>> X, y = make_grades(random_state=0)
    >>> sorted(set(y.tolist()))
    [1, 2, 3, 4, 5, 6]
    """
    n = _checks.whole_number("n_samples", n_samples, 1)
    m = _checks.whole_number("n_features", n_features, 4)
    order, scale = _checks.check_order(labels), _checks.number("noise", noise)
    if scale < 0:
        raise ValueError(f"noise must be at least 0, found {scale:g}")
    rng, K = _checks.generator(random_state), len(order)
    X = rng.random((n, m))
    s = X[:, :4].sum(axis=1) + rng.normal(0, scale, n)
    return X, order[np.digitize(s, 2 + 2.4 * (np.arange(1, K) / K - 0.5))]


@public
def make_clicks(
    n_samples: int = 60_000, *, n_features: int = 5, intercept: float = -6.0,
    random_state: RandomState = None,
) -> tuple[Array, Array]:  # fmt: skip
    """Clicks, 1 in 150 rows: P(y = 1) = 1 / (1 + exp(-(intercept + x_0 + x_1))), x_j normal.

    Parameters
    ----------
    n_samples, n_features : int
        At least 1 row and 2 features, standard normal, of which the first two count.
    intercept : float
        In log-odds. Of -6 come clicks in 0.65 % of the rows, of -4 in 4 %, of -2 in 18 %.
    random_state : int, numpy Generator or RandomState, optional
        An int gives the same rows each time. What is out of its range raises ValueError.

    Returns
    -------
    (X, y) : ndarray of shape (n_samples, n_features), ndarray of shape (n_samples,)

    Examples
    --------
    >>> from gbdt_objectives.datasets import make_clicks
    >>> X, y = make_clicks(random_state=0)
    >>> int(y.sum())
    379
    """
    n = _checks.whole_number("n_samples", n_samples, 1)
    m = _checks.whole_number("n_features", n_features, 2)
    a, rng = _checks.number("intercept", intercept), _checks.generator(random_state)
    X = rng.normal(size=(n, m))
    return X, (rng.random(n) < expit(a + X[:, 0] + X[:, 1])).astype(np.int64)


__getattr__, __dir__ = attributes(__name__, __all__)
