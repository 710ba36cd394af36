"""One loss, three ways: a gradient function, the loss alone, and ours have the same gradients."""

from __future__ import annotations

import functools

import numpy as np
import pytest
from scipy.special import expit

import gbdt_objectives as go
from gbdt_objectives.objectives import LOGIT

pytestmark = pytest.mark.slow

jax = pytest.importorskip("jax")
jnp = jax.numpy

RATE = 0.1
MEAN, VARIANCE, LOW, HIGH = 2.5, 1.25, 1.0, 4.0
"""Of the labels 1 to 4, in equal numbers."""


def ones(y, w):
    return np.ones(len(y)) if w is None else w


def weighted_gradient(y, z, w, *, bounded=False):
    p, c = expit(z), ones(y, w) * np.where(y == 1, 1, 1 / RATE)
    return c * (p - y), c * (np.abs(p - y) / 2 if bounded else p * (1 - p))


bounded_gradient = functools.partial(weighted_gradient, bounded=True)


def weighted_loss(y, z, w):
    c = jnp.where(y == 1, 1, 1 / RATE)
    return ((c if w is None else c * w) * jnp.logaddexp(0, (1 - 2 * y) * z)).sum()


def half_of_the_error(y, z, w):
    return bounded_gradient(y, z, w)[1]


def offset_gradient(y, z, w):
    p = expit(z - np.log(RATE))
    return ones(y, w) * (p - y), ones(y, w) * p * (1 - p)


def offset_loss(y, z, w):
    losses = jnp.logaddexp(0, (1 - 2 * y) * (z - np.log(RATE)))
    return (losses if w is None else losses * w).sum()


def qwk_parts(y, p, w):
    v = ones(y, w) if w is None else w
    F = 0.5 * (v * (p - y) ** 2).sum()
    return v, v.sum(), F, 0.5 * (v * ((p - MEAN) ** 2 + VARIANCE)).sum()


def kappa_gradient(y, p, w):
    """The published form."""
    v, n, F, G = qwk_parts(y, p, w)
    return v * n * ((p - y) / G - F * (p - MEAN) / G**2), v


def kappa_loss(y, p, w):
    _, n, F, G = qwk_parts(y, p, w)
    return n * F / G


def residual_gradient(y, p, w):
    p = np.clip(p, LOW, HIGH)
    v, _, F, G = qwk_parts(y, p, w)
    return v * ((p - y) - F / G * (p - MEAN)), v


def residual_loss(y, p, w):
    """Its gradient is taken at the clipped margin, and is the loss's times G/n."""
    p = p + jax.lax.stop_gradient(jnp.clip(p, LOW, HIGH) - p)
    _, _, F, G = qwk_parts(y, p, w)
    return jax.lax.stop_gradient(G) * F / G


def qwk(**options):
    return go.qwk_objective(mean=MEAN, variance=VARIANCE, label_range=(LOW, HIGH), **options)


CASES = {
    "weighted": (go.weighted_logloss_objective(RATE), weighted_gradient, weighted_loss, "exact"),
    "bounded": (go.weighted_logloss_objective(RATE, hessian="bounded"), bounded_gradient,
         weighted_loss, half_of_the_error),
    "offset": (go.offset_logloss_objective(RATE), offset_gradient, offset_loss, "exact"),
    "qwk-kappa": (qwk(scale="kappa", clip=False), kappa_gradient, kappa_loss, "constant"),
    "qwk-residual": (qwk(), residual_gradient, residual_loss, "constant"),
}  # fmt: skip


@pytest.mark.parametrize("name", CASES)
def test_same_gradient_in_float64(name) -> None:
    ours, function, loss, hessian = CASES[name]
    rng = np.random.default_rng(5)
    binary = ours.link == LOGIT
    n = 600
    y = rng.integers(0, 2, n) if binary else rng.integers(1, 5, n)
    f = rng.uniform(-30, 30, n) if binary else rng.uniform(0, 5, n)
    others = go.objective(function), go.objective_from_loss(loss, hessian=hessian)
    for w in (None, rng.uniform(0.1, 5, n)):
        expected = ours.gradient_hessian(y, f, w)
        for other in others:
            for found, right in zip(other.gradient_hessian(y, f, w), expected, strict=True):
                # roundings of float64 in 1 - p, and in the margin of which it is the exponential
                np.testing.assert_allclose(found, right, rtol=1e-12, atol=1e-13 * right.max())
