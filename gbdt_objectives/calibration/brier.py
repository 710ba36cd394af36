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
    y_true, probability, labels, sample_weight
        The rows, as in :func:`expected_calibration_error`.
    scale_by_half : bool
        False: without the 1/2, as scikit-learn for K classes.

    Returns
    -------
    float
        In [0, 1], or [0, 2] without the 1/2. Smaller is better; its expectation is
        least for the true probabilities.

    Raises
    ------
    ValueError
        Rows that :func:`expected_calibration_error` refuses.

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
