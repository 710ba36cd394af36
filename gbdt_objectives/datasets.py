"""Simulated data sets for examples and tests: ordinal grades, and clicks that are rare.

Conventions of this room
------------------------
n rows. Each function returns ``(X, y)``, float64 features and labels, as those of
``sklearn.datasets`` do. The first features decide; the others are noise.
"""

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
    """Grades, most of them in the middle, that follow the sum of four features.

    ::

        s = x_0 + x_1 + x_2 + x_3 + noise * e,    x_j uniform in [0, 1), e standard normal
        y = labels[k] where k cuts are at most s, the cuts being 2 + 2.4 (i/K - 1/2) for i = 1..K-1

    Parameters
    ----------
    n_samples : int
        How many rows, at least 1.
    n_features : int
        At least 4, of which the first four count.
    labels : array-like of shape (K,)
        All classes in ascending order, at least 2.
    noise : float
        At least 0; without noise the features decide the grade.
    random_state : int, numpy Generator or RandomState, optional
        An int gives the same rows each time; None gives other rows each time.

    Returns
    -------
    (X, y) : ndarray of shape (n_samples, n_features), ndarray of shape (n_samples,)
        A label need not occur where rows are few.

    Raises
    ------
    TypeError, ValueError
        A number that is out of its range; labels in no order.

    Examples
    --------
    >>> import numpy as np
    >>> from gbdt_objectives.datasets import make_grades
    >>> X, y = make_grades(random_state=0)
    >>> X.shape, np.bincount(y)[1:].tolist()
    ((3000, 8), [313, 505, 669, 675, 520, 318])
    """
    n, m = read_shape(n_samples, n_features, 4)
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
    """Clicks, 1 in 150 rows, whose log-odds are linear in two features.

    ::

        P(y = 1) = 1 / (1 + exp(-(intercept + x_0 + x_1))),    x_j standard normal

    Parameters
    ----------
    n_samples : int
        How many rows, at least 1.
    n_features : int
        At least 2, of which the first two count.
    intercept : float
        The log-odds where all features are 0. Of -6 come clicks in 0.65 % of the rows, of -4 in 4 %
        and of -2 in 18 %.
    random_state : int, numpy Generator or RandomState, optional
        An int gives the same rows each time; None gives other rows each time.

    Returns
    -------
    (X, y) : ndarray of shape (n_samples, n_features), ndarray of shape (n_samples,)
        Labels 0 and 1, of which 1 need not occur where rows are few.

    Raises
    ------
    TypeError, ValueError
        A number that is out of its range.

    Examples
    --------
    >>> from gbdt_objectives.datasets import make_clicks
    >>> X, y = make_clicks(random_state=0)
    >>> X.shape, int(y.sum())
    ((60000, 5), 379)
    """
    n, m = read_shape(n_samples, n_features, 2)
    a = _checks.number("intercept", intercept)
    rng = _checks.generator(random_state)
    X = rng.normal(size=(n, m))
    return X, (rng.random(n) < expit(a + X[:, 0] + X[:, 1])).astype(np.int64)


def read_shape(n_samples: object, n_features: object, least: int) -> tuple[int, int]:
    """How many rows and features, of which at least those that count."""
    n = _checks.whole_number("n_samples", n_samples, 1)
    return n, _checks.whole_number("n_features", n_features, least)


__getattr__, __dir__ = attributes(__name__, __all__)
