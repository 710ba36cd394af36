"""Slow and obvious: pooling in fractions, the hull by all chords, bins one row at a time."""

from __future__ import annotations

from fractions import Fraction
from itertools import pairwise

import numpy as np
from scipy.optimize import minimize_scalar

from gbdt_objectives import ordinal_logit_objective


def pools(y, score, w):
    """[lowest score, highest score, positives, total] of each distinct score, rising."""
    return [
        [
            s,
            s,
            sum(Fraction(v) for v, c, t in zip(w, y, score, strict=True) if t == s and c == 1),
            sum(Fraction(v) for v, t in zip(w, score, strict=True) if t == s),
        ]
        for s in sorted({t for t, v in zip(score, w, strict=True) if v > 0})
    ]


def pooled(y, score, w, equal_too):
    """Pool adjacent violators, left to right; neighbours of equal proportion too, or not."""
    found = []
    for pool in pools(y, score, w):
        found.append(pool)
        while len(found) > 1:
            (low, _, a, n), (_, high, b, m) = found[-2:]
            if a / n > b / m or (equal_too and a / n == b / m):
                found[-2:] = [[low, high, a + b, n + m]]
            else:
                break
    return found


def roc_points(y, score, w):
    """Every point of the ROC curve, in unnormalised weights, from (0, 0)."""
    points = [(Fraction(0), Fraction(0))]
    for _, _, positive, total in reversed(pools(y, score, w)):
        Q, P = points[-1]
        points.append((Q + total - positive, P + positive))
    return points


def upper_hull(points):
    """The points that lie strictly above every chord between two others that spans them."""

    def below(i, j, k):
        (x, u), (a, b), (z, v) = points[i], points[j], points[k]
        return (b - u) * (z - a) <= (v - b) * (a - x)

    n = len(points)
    return [
        points[j]
        for j in range(n)
        if not any(below(i, j, k) for i in range(j) for k in range(j + 1, n))
    ]


def area(points):
    """Area under a polygon of points, by trapezoids, as a share of the whole."""
    Q, P = points[-1]
    trapezoids = [(x - a) * (u + b) / 2 for (a, b), (x, u) in pairwise(points)]
    return sum(trapezoids) / (Q * P)


def expected_calibration_error(y, p, w, bin_of_row):
    """Sum over bins of weight share times |mean prediction - mean outcome|."""
    total = 0.0
    for b in sorted(set(bin_of_row)):
        rows = [i for i in range(len(y)) if bin_of_row[i] == b]
        W = sum(w[i] for i in rows)
        gap = sum(w[i] * p[i] for i in rows) / W - sum(w[i] * y[i] for i in rows) / W
        total += W / sum(w) * abs(gap)
    return total


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
