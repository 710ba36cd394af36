"""Rows of users, errors one row at a time, a slope by its likelihood."""

from __future__ import annotations

import numpy as np
from scipy.optimize import minimize_scalar

from gbdt_objectives import ordinal_logit_objective
from gbdt_objectives.calibration.rows import LabelledRows


def users(rng, p):
    """Labels of right probabilities p, (users, rows), of one random effect for each user; p and the
    number of each row's user."""
    hazard = ((1 - p) ** -2 - 1) / 2  # 1 - E exp(-b hazard) = p for b of gamma(.5) and mean 1
    y = rng.random(p.shape) < 1 - np.exp(-rng.gamma(0.5, 2, (len(p), 1)) * hazard)
    return y.ravel().astype(int), p.ravel(), np.repeat(np.arange(len(p)), p.shape[1])


def without_counts(n):
    """n rows for functions of their residuals, which ask of the rows how often each is there."""
    return LabelledRows(*np.ones((3, n)), slice(None))


def half_squared_error(y, p):
    """1/2 sum_i (p_i - I[c = i])^2, one row and class at a time; p is (n, K)."""
    return np.array(
        [
            sum((value - (c == i)) ** 2 for i, value in enumerate(row)) / 2
            for c, row in zip(y, p, strict=True)
        ]
    )


def recalibration_slope(P, y):
    """What multiplies the log-odds in the likeliest proportional odds; 1 if they are right."""
    f = np.log1p(-P[:, 0]) - np.log(P[:, 0])
    objective = ordinal_logit_objective(P.shape[1])

    def loss(b):
        return objective.fitted(y, b * f).loss(y, b * f)

    return float(minimize_scalar(loss, bounds=(0.2, 5), method="bounded").x)
