"""Extended quadratic weighted kappa: the metric as a differentiable loss.

Symbols, as in the equations: p margin (a score in label units), y label, w weight,
a centre, b spread, F and G half the observed and half the expected squared
disagreement, R = F/G, n the sum of the weights.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike

from gbdt_objectives import _checks
from gbdt_objectives._blocks import block_rows, blocks, dot
from gbdt_objectives._checks import Array
from gbdt_objectives._workers import Reduce, all_sum
from gbdt_objectives.objectives.base import FLOAT64, Block, Constants, Objective, Sums
from gbdt_objectives.objectives.coupled import (
    check_complete,
    check_prior_covers,
    check_reduce,
    check_weights_have_labels,
    constant_labels,
    range_of_labels,
)
from gbdt_objectives.objectives.device import Device, DeviceArray
from gbdt_objectives.objectives.domain import REAL, Domain, MeasuredRange


@dataclass(frozen=True, kw_only=True)
class QWKObjective(Objective):
    """Extended QWK loss; made by :func:`qwk_objective`, which explains it."""

    hessian_kind = "constant"
    couples_rows = True
    sums_reveal_nan = True
    takes_device_arrays = True
    center: float | None = None
    spread: float | None = None
    label_range: tuple[float, float] | None = None
    scale: Literal["residual", "kappa"] = "residual"
    clip: bool = True
    reduce: Reduce | None = None

    @property
    def label_domain(self) -> Domain:
        return REAL if self.label_range is None else MeasuredRange(*self.label_range)

    @property
    def intercept(self) -> float | None:
        return self.center

    @property
    def scale_free(self) -> bool:
        return self.scale == "residual"

    @property
    def start_tolerance(self) -> float | None:
        return None if self.spread is None else 0.5 * math.sqrt(self.spread)

    def sums(
        self, y_true: ArrayLike, margin: ArrayLike, sample_weight: ArrayLike | None = None
    ) -> Array:
        """The additive part: float64 (n, F, sum w (p-a)^2 / 2), to be summed over workers."""
        y, p, w = self._read(y_true, margin, sample_weight)
        ready = self._measure_if_needed(y, w)
        device = self._device_of(p)
        if device is not None:
            return np.array(ready._device_sums(device, *ready._device_centered(device, y, p), w))
        return np.array(ready._sum_blocks(y, p, w))

    @property
    def _needs_range(self) -> bool:
        return self.clip and self.label_range is None

    @property
    def _is_complete(self) -> bool:
        return self.center is not None and self.spread is not None and not self._needs_range

    def _label_statistics(self, y: Array, w: Array | None) -> ArrayLike:
        """Lowest and highest label, n, sum w d and sum w d^2 of d = y - lowest."""
        if self._is_complete or not len(y):
            return math.inf, -math.inf, 0.0, 0.0, 0.0
        low, high = float(y.min()), float(y.max())
        return low, high, *moments(y, w, low)

    def _from_label_statistics(self, parts: Array) -> QWKObjective:
        """With centre, spread and label range where they are not given."""
        if self._is_complete:
            return self
        low, high = float(parts[:, 0].min()), float(parts[:, 1].max())
        a, b = _mean_variance("y_true", low, *_from_origin(parts[parts[:, 2] > 0], low))
        return replace(
            self,
            center=a if self.center is None else self.center,
            spread=b if self.spread is None else self.spread,
            label_range=(low, high) if self._needs_range else self.label_range,
        )

    def _loss(self, y: Array, p: Array, w: Array | None) -> float:
        """n F/G, with p clipped to the label range if ``clip``."""
        n, F, G = self._totals(self._sum_blocks(y, p, w))
        return n * F / G

    def _mean_loss(self, y: Array, p: Array, w: Array | None) -> float:
        _, F, G = self._totals(self._sum_blocks(y, p, w))
        return F / G

    def _prepare(
        self, y: Array, w: Array | None, gradient: Array, hessian: Array, lasting: bool
    ) -> Iterator[Block]:
        """With memory that all blocks share."""
        spare = np.empty((3, min(len(y), block_rows(gradient))))
        for rows, constants, g, h in super()._prepare(y, w, gradient, hessian, lasting):
            yield rows, (*constants, spare[:, : len(g)]), g, h

    def _constants(self, y: Array, w: Array | None, hessian: Array, lasting: bool) -> Constants:
        """c = y - a, in the hessian's memory unless ``lasting``, and then in float64, with its
        sums; a; the range of p, if it is clipped; w. Numbers as arrays, which numpy reads twice as
        fast."""
        assert self.center is not None
        dtype = hessian.dtype
        a = np.array(self.center, dtype)
        bounds = self.label_range if self.clip else None
        w = None if w is None else w.astype(dtype, copy=False)
        out = None if lasting else hessian
        c = np.subtract(y, a, out=out, dtype=dtype, casting="same_kind")
        known = None
        if lasting:
            hessian[:] = 1 if w is None else w
            exact = c.astype(np.float64)
            known = exact, label_sums(exact, w, np.empty(len(c)))
        return c, known, a, tuple(np.array(bound, dtype) for bound in bounds or ()), w

    def _sums(self, constants: Constants, f: Array, kept: Array) -> Sums:
        """n, F and D = sum w t^2 / 2; t = p - a, with p clipped, is kept.

        In float64, so that neither the order of rows nor their split over workers shows, and
        F = D - sum w t c + sum w c^2 / 2, which spares the vector t - c.
        """
        c, known, a, p_range, w, *spare = constants
        u, v, exact = spare[0] if spare else np.empty((3, len(f)))
        t, p = kept, f
        if p_range:
            p = f.clip(*p_range, out=t)
        np.subtract(p, a, out=t)
        if known:
            exact, (n, c2) = known
        else:
            exact[:] = c
            n, c2 = label_sums(exact, w, v)
        u[:] = t
        if w is None:
            v = u
        else:
            np.multiply(w, u, out=v)
        D = 0.5 * dot(u, v)
        return n, D - dot(v, exact) + 0.5 * c2, D

    def _totals(self, sums: Sums) -> tuple[float, float, float]:
        """n, F, G over all rows of all workers."""
        n, F, D = all_sum(sums, reduce=self.reduce, last=True).tolist()
        F = max(F, 0.0)  # rounding may leave less of perfect predictions
        assert self.spread is not None
        G = D + 0.5 * n * self.spread
        if not math.isfinite(F + G):
            raise ValueError(
                f"margin, y_true and sample_weight are too large together, F = {F:g} and G = {G:g} "
                "overflow: lower the learning rate, or divide the labels or weights by a constant"
            )
        return n, F, G

    def _write(
        self, constants: Constants, f: Array, totals: Any, gradient: Array, hessian: Array
    ) -> None:
        n, F, G = totals
        c, known, _, _, w, *_ = constants
        np.multiply(f, np.array(1 - F / G, f.dtype), out=gradient)
        gradient -= c  # (p-y) - R (p-a) = (1-R) (p-a) - (y-a)
        if self.scale == "kappa":
            gradient *= n / G
        if w is not None:
            gradient *= w
        if not known:
            hessian[:] = 1 if w is None else w

    def _device_label_statistics(
        self, device: Device, y: DeviceArray, w: DeviceArray | None
    ) -> tuple[float, ...]:
        if self._is_complete or not y.shape[0]:
            return math.inf, -math.inf, 0.0, 0.0, 0.0
        low, high = device.extremes(y)
        d = device.cast(y, FLOAT64) - low
        return low, high, device.count(d, w), device.sum(d, w), device.sum(d, d, w)

    def _device_centered(
        self, device: Device, y: DeviceArray, p: DeviceArray
    ) -> tuple[DeviceArray, DeviceArray]:
        """y - a and p - a, with p clipped."""
        if self.clip:
            assert self.label_range is not None
            p = device.xp.clip(p, *self.label_range)
        return y - self.center, p - self.center

    def _device_sums(
        self, device: Device, y: DeviceArray, t: DeviceArray, w: DeviceArray | None
    ) -> Sums:
        """n, F and sum w (p-a)^2 / 2, of centred y and t."""
        r = t - y
        return device.count(r, w), 0.5 * device.sum(r, r, w), 0.5 * device.sum(t, t, w)

    def _device_loss(
        self, device: Device, y: DeviceArray, f: DeviceArray, w: DeviceArray | None
    ) -> float:
        y, t = self._device_centered(device, y, f)
        n, F, G = self._totals(self._device_sums(device, y, t, w))
        return n * F / G

    def _device_gradient_hessian(
        self, device: Device, y: DeviceArray, f: DeviceArray, w: DeviceArray | None
    ) -> tuple[DeviceArray, DeviceArray]:
        y, t = self._device_centered(device, y, f)
        n, F, G = self._totals(self._device_sums(device, y, t, w))
        gradient = (1 - F / G) * t - y
        if self.scale == "kappa":
            gradient = gradient * (n / G)
        if w is None:
            return gradient, device.xp.ones_like(gradient)
        return w * gradient, device.xp.asarray(w, copy=True)


def qwk_objective(
    labels: ArrayLike | None = None,
    *,
    sample_weight: ArrayLike | None = None,
    target_prior: Mapping[float, float] | None = None,
    center: float | None = None,
    spread: float | None = None,
    label_range: tuple[float, float] | None = None,
    scale: Literal["residual", "kappa"] = "residual",
    clip: bool = True,
    reduce: Reduce | None = None,
) -> QWKObjective:
    """Train on quadratic weighted kappa, extended to continuous predictions.

    ::

        kappa~ = 1 - F/G,   F = 1/2 sum w (p-y)^2,   G = 1/2 sum w ((p-a)^2 + b)

        loss      n F/G,   n = sum w
        gradient  w ((p-y) - R (p-a)),  R = F/G        scale="residual"
                  that times n/G                       scale="kappa", as published
        hessian   w

    with a the mean and b the variance of the labels (``center``, ``spread``). For
    integer p, kappa~ is the metric itself. The function is not convex, so the
    hessian is a constant, not the second derivative, and the start matters: begin
    at ``center`` (``train`` of the adapters does; a bare booster starts at 0 or 0.5).

    Parameters
    ----------
    labels : array-like of shape (n,), optional
        The training labels, any finite numbers. They give what is not given below:
        ``center`` = weighted mean, ``spread`` = weighted variance, ``label_range`` =
        (min, max). None: taken from the training data, of all workers if there are several.
    sample_weight : array-like of shape (n,), optional
        Weights of ``labels``; pass them if the booster gets weights.
    target_prior : mapping of label to probability, optional
        The label distribution where the model will be used, if it differs from
        training. Changes ``center`` and ``spread`` only, as published.
    center, spread : float, optional
        a and b, in label units and squared label units; they win over ``labels``.
    label_range : (float, float), optional
        Lowest and highest label. Labels outside it are refused.
    scale : {"residual", "kappa"}
        "residual" has the units of a residual, as in squared error: learning rates
        carry over, and multiplying labels and scores by a constant changes nothing.
        Its gradient is that of the loss times G/n. "kappa" is the published form.
    clip : bool
        Evaluate at p clipped to ``label_range``, as published: rows beyond the range
        get the gradient of its edge.
    reduce : callable, optional
        Sums a float64 array over workers, for a library of your own; then all that is measured
        on labels must be given. None is right on one machine and under XGBoost's collective.

    Returns
    -------
    QWKObjective
        Usable as ``obj=`` and ``objective=`` in all four booster interfaces.

    Raises
    ------
    ValueError
        Labels that are empty, not finite, constant or outside ``label_range``; a
        ``target_prior`` that does not sum to 1 or misses a label; a ``center`` outside
        the range or a ``spread`` that no distribution on the range can have.
    TypeError
        Arguments of the wrong kind.

    References
    ----------
    rsakata, "[Kaggle] DSB2019: QWKをGBDTで直接最適化する", Zenn, 2020-11-09, which introduced
    this objective. Lin (1989), Biometrics 45, for the concordance correlation
    coefficient, which kappa~ is when a and b are the sample's mean and variance.
    Nedel'ko (2018), "On the maximization of quadratic weighted kappa", Bulletin of
    Irkutsk State University, Series Mathematics 23, 36-45: the optimum is the linear
    map of E[y|x] that makes means and variances equal.

    Examples
    --------
    >>> from gbdt_objectives import qwk_objective
    >>> obj = qwk_objective([0, 1, 2, 3, 3])
    >>> obj.intercept, obj.label_range
    (1.8, (0.0, 3.0))
    >>> gradient, hessian = obj([0, 1, 2, 3, 3], [0.5, 1.5, 1.5, 2.5, 2.0])
    >>> gradient.round(2)
    array([ 0.78,  0.57, -0.43, -0.65, -1.04], dtype=float32)
    """
    scale = _checks.choice("scale", scale, ("residual", "kappa"))  # type: ignore[assignment]
    clip = _checks.flag("clip", clip)
    if label_range is not None:
        label_range = _checks.label_range("label_range", label_range)
    check_reduce(reduce)
    if center is not None:
        center = _checks.number("center", center)
    if spread is not None:
        spread = _checks.number("spread", spread)
        if spread <= 0:
            raise ValueError(f"spread must be > 0, found {spread!r}: it is the labels' variance")
    check_weights_have_labels(labels, sample_weight)
    if target_prior is not None:
        if center is not None and spread is not None:
            raise ValueError("target_prior, center and spread are all given: leave one of them out")
        prior_labels, prior = _checks.prior("target_prior", target_prior)
        a, b = _mean_variance(
            "target_prior", prior_labels[0], *moments(prior_labels, prior, prior_labels[0])
        )
        center, spread = a if center is None else center, b if spread is None else spread
    if labels is not None:
        y = _checks.vector("labels", labels)
        w = _checks.weights("sample_weight", sample_weight, len(y))
        label_range = range_of_labels(y, label_range)
        if target_prior is not None:
            check_prior_covers(y, prior_labels)
        if center is None or spread is None:
            a, b = _mean_variance("labels", label_range[0], *moments(y, w, label_range[0]))
            center, spread = a if center is None else center, b if spread is None else spread
    if target_prior is not None and label_range is not None:
        _checks.in_label_range("a label of target_prior", prior_labels[prior > 0], label_range)
    _check_moments(center, spread, label_range)
    made = QWKObjective(
        center=center,
        spread=spread,
        label_range=label_range,
        scale=scale,
        clip=clip,
        reduce=reduce,
    )
    if reduce is not None:
        check_complete(made, "qwk_objective")
    return made


def label_sums(c: Array, w: Array | None, spare: Array) -> tuple[float, float]:
    """n and sum w c^2; c in float64."""
    if w is None:
        return float(len(c)), dot(c, c)
    np.multiply(w, c, out=spare)
    return float(w.sum(dtype=np.float64)), dot(spare, c)


def moments(y: Array, w: Array | None, origin: float) -> tuple[float, float, float]:
    """Additive, of d = y - origin: n, sum w d, sum w d^2; exact for integers."""
    n = s1 = s2 = 0.0
    for rows in blocks(y):
        d = np.subtract(y[rows], origin, dtype=np.float64)
        if w is None:
            n, s1, s2 = n + len(d), s1 + float(d.sum()), s2 + dot(d, d)
        else:
            v = w[rows].astype(np.float64)
            n, s1, s2 = n + float(v.sum()), s1 + dot(v, d), s2 + dot(v, d * d)
    return n, s1, s2


def _from_origin(parts: Array, origin: float) -> tuple[float, float, float]:
    """n, sum w d and sum w d^2 of all parts (low, high, n, ...), each from its own origin low."""
    low, _, n, s1, s2 = parts.T
    up = low - origin
    return float(n.sum()), float((s1 + n * up).sum()), float((s2 + up * (2 * s1 + n * up)).sum())


def _mean_variance(name: str, origin: float, n: float, s1: float, s2: float) -> tuple[float, float]:
    """Of labels with these moments around ``origin``."""
    if n == 0:
        raise ValueError(f"the weights of all rows of {name} are 0: at least one row must count")
    mean, variance = origin + s1 / n, s2 / n - (s1 / n) ** 2
    if not variance > 1e-12 * s2 / n:  # more than rounding
        raise constant_labels(name, mean)
    return mean, variance


def _check_moments(
    center: float | None, spread: float | None, label_range: tuple[float, float] | None
) -> None:
    """Raise unless low <= mean <= high and variance <= (high - mean) (mean - low)."""
    if label_range is None or center is None:
        return
    low, high = label_range
    if not low <= center <= high:
        raise ValueError(
            f"center {center:g} lies outside label_range {label_range}: it is the mean label, "
            "in the units of the labels"
        )
    most = (high - center) * (center - low)
    if spread is not None and spread > most * (1 + 1e-6):
        raise ValueError(
            f"spread {spread:g} is impossible: labels in {label_range} with mean {center:g} have a "
            f"variance of at most {most:g}; spread is the variance, and center comes first"
        )
