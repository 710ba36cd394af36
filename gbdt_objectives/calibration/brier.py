"""The Brier score."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from gbdt_objectives import _checks
from gbdt_objectives._blocks import dot
from gbdt_objectives._checks import Array
from gbdt_objectives._order import in_order
from gbdt_objectives.calibration.rows import LabelledRows, probability_rows


@in_order
def brier_score(
    y_true: ArrayLike,
    probability: ArrayLike,
    *,
    scale_by_half: bool = True,
    labels: ArrayLike | None = None,
    sample_weight: ArrayLike | None = None,
) -> float:
    """Brier score, halved: half of scikit-learn's for K > 2 classes, the same for two.

    It is the mean over rows of ::

        1/2 sum_i (p_i - I[c = i])^2        (p - y)^2 for two classes

    Parameters
    ----------
    y_true : array-like of shape (n,)
        Labels 0 and 1, or with (n, K) the classes in ``labels``.
    probability : array-like of shape (n,) or (n, K)
        Probability of label 1, or of each class.
    scale_by_half : bool
        False: without the 1/2, as scikit-learn for K classes.
    labels : array-like of shape (K,), optional
        The class of each column, of any type. None: 0 to K-1.
    sample_weight : array-like of shape (n,), optional
        Weights >= 0; w means w copies of the row.

    Returns
    -------
    float
        In [0, 1], or [0, 2] without the 1/2. Smaller is better; its expectation is
        least for the true probabilities.

    Raises
    ------
    ValueError
        Probabilities outside [0, 1], rows that do not sum to 1, labels of no column,
        lengths that differ, bad weights.

    References
    ----------
    Brier (1950), Monthly Weather Review 78(1), who does not halve.

    Examples
    --------
    >>> from gbdt_objectives.calibration import brier_score
    >>> round(brier_score([1, 0], [0.8, 0.5]), 4)
    0.145
    >>> round(brier_score(["b"], [[0.5, 0.3, 0.2]], labels=["a", "b", "c"]), 4)
    0.39
    """
    rows = probability_rows(y_true, probability, labels, sample_weight)
    return dot(rows.w, row_terms(rows, scale_by_half)) / float(rows.w.sum())


def row_terms(rows: LabelledRows, scale_by_half: bool) -> Array:
    if rows.p.ndim == 1:
        error = 2 * (rows.p - rows.y) ** 2
    else:
        d = rows.p.copy()
        d[np.arange(len(d)), rows.y] -= 1
        error = np.einsum("ij,ij->i", d, d)
    return error / 2 if _checks.flag("scale_by_half", scale_by_half) else error
