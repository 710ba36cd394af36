"""One shift in log-odds that brings the mean probability to the mean outcome."""

from __future__ import annotations

import numpy as np

from gbdt_objectives._blocks import dot
from gbdt_objectives._checks import Array

LARGEST = 1e15
"""Log-odds beyond it have hardly a fraction left that a shift could change."""


def find_shift(y: Array, z: Array, w: Array) -> float:
    """The shift b with sum w sigmoid(z + b) = sum w y.

    ``y`` are labels 0 and 1, ``z`` log-odds, ``w > 0``. Infinite log-odds stay infinite: the
    finite ones must make up for their errors, and together give P of label 1, N of label 0.
    """
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
    return float(brentq(lambda b: dot(w, expit(z + b)) - q, low, high, xtol=1e-14, maxiter=5000))
