"""Formulas: what models compute from margins, scores and probabilities. Each stands here only.

A step of a model names one and has its numbers. ``predict.py`` of an exported folder has copies of
those that it needs, and an ONNX graph is traced from them: so a formula is a function of numpy, and
calls nothing but others of this file. Numbers may be lists, as JSON has them.

Symbols: n rows; f margins, z log-odds, p probabilities, s scores; each is (n,) or (n, K).
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[Any]
Numbers = Any

# fmt: off
# One line each, as far as possible: they are read as a table, here and in predict.py.


@np.errstate(divide="ignore", invalid="ignore", over="ignore")
def apply(v: Array, formula: str, **numbers: Numbers) -> Array:
    return np.asarray(globals()[formula](v, **numbers))

def clip(s: Array, low: float, high: float) -> Array: return np.clip(s, low, high)
def shift(z: Array, log_odds: Numbers) -> Array: return z + np.asarray(log_odds)
def stretch(s: Array, stretch: float, center: Numbers) -> Array:
    return center + stretch * (s - np.asarray(center))

def exp(f: Array) -> Array: return np.exp(f)
def log(p: Array) -> Array: return np.log(p)
def sigmoid(z: Array) -> Array: return 1 / (1 + np.exp(-z))
def log_odds(p: Array) -> Array: return np.log(p) - np.log1p(-p)
def softplus(z: Array) -> Array: return np.maximum(z, 0) + np.log1p(np.exp(-np.abs(z)))
def softmax(z: Array) -> Array:
    e = np.exp(z - z.max(axis=1, keepdims=True))
    return e / e.sum(axis=1, keepdims=True)

def ordinal(f: Array, thresholds: Numbers, apart: Numbers) -> Array:
    """of the lowest k classes together sigmoid(threshold_k - f)"""
    z, one = np.asarray(thresholds, float) - f[:, None], np.ones_like(f[:, None])
    return np.hstack([sigmoid(z), one]) * np.hstack([one, sigmoid(-z) * apart])

def focal(z: Array, gamma: float, log_class_odds: float) -> Array:
    return sigmoid(focal_log_odds(z, gamma, log_class_odds))

def focal_log_odds(z: Array, gamma: float, log_class_odds: float) -> Array:
    """of label 1"""
    return log_slope(z, gamma) - log_slope(-z, gamma) - log_class_odds

def log_slope(x: Array, gamma: float) -> Array:
    """log of the focal loss's slope at a label's margin -x"""
    e = np.clip(x, -700, 700)  # beyond, softplus(x) / exp(x) is 1 or 0
    return (gamma + 1) * (x - softplus(x)) + np.log1p(gamma * softplus(e) / np.exp(e))

def interpolate(s: Array, x: Numbers, y: Numbers) -> Array: return np.interp(s, x, y)
def table(s: Array, x: Numbers, at: Numbers, between: Numbers, rounding: float = 1e-12) -> Array:
    """"at" the places x, and "between" them"""
    k = np.searchsorted(x, s - rounding * np.abs(s))
    on = np.abs(np.take(x, k, mode="clip") - s) <= rounding * np.abs(s)
    return np.where(on, np.take(at, k, mode="clip"), np.take(between, k))

def temperature(p: Array, temperature: float, biases: Numbers) -> Array:
    return softmax(np.log(p) / temperature + np.array(biases))

def affine(p: Array, weights: Numbers, costs: Numbers) -> Array:
    return p * np.asarray(weights) - np.asarray(costs)

def less_costs(p: Array, costs: Numbers, prices: Numbers) -> Array:
    return -np.asarray(prices) - p @ np.asarray(costs, float)

def calibrate(p: Array, input_space: str, map: str, **numbers: Numbers) -> Array:
    """by a map of log-odds; infinite ones stay"""
    z = log_odds(p) if input_space == "probability" else p
    return sigmoid(np.where(np.isinf(z), z, globals()[map](z, **numbers)))

def line(z: Array, slope: float, intercept: float) -> Array: return slope * z + intercept
def beta(z: Array, a: float, b: float, c: float) -> Array:
    return c - a * softplus(-z) + b * softplus(z)

def cubic(
    z: Array, knots: Numbers, origins: Numbers, coefficients: Numbers, unit: float = 1.0
) -> Array:
    """a polynomial of each piece"""
    j = sum((z >= knot).view(np.int8) for knot in knots)
    return np.polyval(np.take(coefficients, j, axis=1), (z - np.take(origins, j)) / unit)
