"""Extended quadratic weighted kappa: the metric as a differentiable loss.

Symbols, as in the equations: p margin (a score in label units), y label, w weight, a mean and b
variance of the labels, F and G half the observed and half the expected squared disagreement, R =
F/G, n sum of w.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from gbdt_objectives import _checks
from gbdt_objectives._checks import Array
from gbdt_objectives._checks.arrays import REAL, Domain, Interval
from gbdt_objectives._public import public, set_renamed
from gbdt_objectives._rows import workers as _workers
from gbdt_objectives._rows.rows import STRETCH, Rows, dot, vectors
from gbdt_objectives.objectives.base import Objective
from gbdt_objectives.objectives.loss import Both, Loss, Start, Writer

LabelRange = tuple[float, float]
Totals = tuple[float, float, float]


@dataclass(frozen=True)
class MeasuredRange(Interval):
    """The range from the lowest to the highest label, as given or as measured."""

    def __post_init__(self) -> None:
        """Whatever labels there are."""

    def check(self, name: str, values: Array) -> None:
        _checks.finite(name, values)
        _checks.in_label_range(name, values, (self.low, self.high))


class RatioOfSums(Loss):
    """The loss n F/G, of sums over all workers' rows; made by factories with these arguments."""

    hessian = "constant"
    label_range: LabelRange | None
    scale: str
    clip: bool

    @property
    def labels(self) -> Domain:
        return REAL if self.label_range is None else MeasuredRange(*self.label_range)

    @property
    def scale_free(self) -> bool:
        return self.scale == "residual"

    @property
    def _needs_range(self) -> bool:
        return self.clip and self.label_range is None

    def clipped(self, p: Any, xp: Any) -> Any:
        return xp.clip(p, *self.label_range) if self.clip else p  # type: ignore[misc]

    def value(self, rows: Rows) -> tuple[float, float]:
        n, F, G = self.totals(rows)
        return n * F / G, n


def read_kappa_options(
    scale: Any, clip: Any, label_range: Any, reduce: Any, y_true: Any, sample_weight: Any
) -> tuple[Any, bool, LabelRange | None]:
    """The scale, clip and label range of a kappa; the other arguments are only checked."""
    scale = _checks.choice("scale", scale, ("residual", "kappa"))
    clip = _checks.flag("clip", clip)
    if label_range is not None:
        label_range = _checks.label_range("label_range", label_range)
    check_reduce(reduce)
    if y_true is None and sample_weight is not None:
        raise ValueError("sample_weight is given without y_true: it would be ignored")
    return scale, clip, label_range


def check_reduce(reduce: Callable[[Array], Array] | None) -> None:
    if reduce is not None and not callable(reduce):
        raise TypeError(f"reduce must be callable or None, found {type(reduce).__name__}")


def check_finite_sums(F: float, G: float) -> None:
    if not math.isfinite(F + G):
        raise ValueError(
            f"margin, y_true and sample_weight are too large together, F = {F:g} and G = {G:g} "
            "overflow: lower the learning rate, or divide the labels or weights by a constant"
        )


def checked_block(f: Array, at: slice) -> Array:
    """A block of margins (n,), checked while it is in the cache to be finite."""
    block = f[at]
    finite = np.isfinite(block)
    if not finite.size or not finite[finite.argmin()]:  # quicker than all()
        _checks.finite("margin", f)
    return block


def check_complete(loss: Loss, factory: str) -> None:
    """Raise if a loss with a reduce of its own would have to measure labels."""
    if loss.reduce is not None and loss.needs_labels:
        raise ValueError(
            "reduce is given, but not all that is measured on labels: with a reduce of your own "
            f"pass the labels of all workers, {factory}(y_true, reduce=reduce), or what they say, "
            "as target_prior and label_range"
        )


def measure_labels(
    measure: Callable[[Rows], Sequence[float] | Array], domain: Domain,
    label_range: LabelRange | None, prior_labels: Array | None, y_true: Any, sample_weight: Any,
) -> Sequence[float] | Array:  # fmt: skip
    """What is measured on rows that count; labels must be in the domain, range and prior."""
    if isinstance(y_true, tuple) and np.shape(y_true) == (2,):
        raise TypeError(
            f"y_true is {y_true}, which are labels of two rows: write label_range={y_true} for the "
            "lowest and the highest label"
        )
    y = _checks.vector("y_true", y_true)
    w = _checks.weights("sample_weight", sample_weight, len(y))
    rows = Rows(y) if w is None else Rows(y[w > 0], w=w[w > 0])
    if len(rows):
        domain.check("y_true", rows.y)
    if label_range is not None:
        _checks.in_label_range("y_true", rows.y, label_range)
    else:
        _checks.warn_of_code("y_true", rows.y)
    named = np.True_ if prior_labels is None else np.isin(rows.y, prior_labels)
    if not named.all():
        missing = float(rows.y[~named][0])
        raise ValueError(
            f"label {missing:g} occurs in y_true but not in target_prior: give its "
            "probability, 0 if it will never occur"
        )
    return measure(rows)


def range_between(low: Any, high: Any) -> LabelRange:
    """From the lowest to the highest label, if these differ."""
    if low == high:
        raise constant_labels("y_true", low)
    return float(low), float(high)


def constant_labels(name: str, label: float) -> ValueError:
    return ValueError(
        f"{name}: the labels of positive weight are constant, all {label:g}: kappa is undefined "
        "for a single class"
    )


@dataclass(frozen=True, kw_only=True)
class QWKLoss(RatioOfSums):
    """Extended QWK loss; made by :func:`qwk_objective`, which explains it."""

    mean: float | None = None
    variance: float | None = None
    label_range: tuple[float, float] | None = None
    scale: Literal["residual", "kappa"] = "residual"
    clip: bool = True
    reduce: Callable[[Array], Array] | None = None
    __setstate__ = set_renamed

    @property
    def intercept(self) -> float | None:
        return self.mean

    @property
    def start_tolerance(self) -> float | None:
        return None if self.variance is None else 0.5 * math.sqrt(self.variance)

    @property
    def needs_labels(self) -> bool:
        return self.mean is None or self.variance is None or self._needs_range

    def measured(self, rows: Rows) -> QWKLoss:
        """Fill in mean, variance and label range where they are not given."""
        if not self.needs_labels:
            return self
        found = LabelMoments.merged(rows.parts(LabelMoments.of))
        a, b = found.mean_variance("y_true")
        _checks.warn_of_code("y_true", rows.y, found.low, found.high)
        _checks.warn_of_other_labels(found.low, found.high, a, self.mean, self.variance)
        return replace(
            self,
            mean=a if self.mean is None else self.mean,
            variance=b if self.variance is None else self.variance,
            label_range=(found.low, found.high) if self._needs_range else self.label_range,
        )

    def terms(self, y: Any, p: Any, xp: Any) -> tuple[Any, ...]:
        """Terms that add up to n, 2F and 2D = sum w (p-a)^2."""
        p = self.clipped(p, xp)
        r, t = p - y, p - self.mean
        return 1.0, r * r, t * t

    def totals(self, rows: Rows) -> Totals:
        n, twice_F, twice_D = rows.sum(self.terms, narrow=True).tolist()
        return self.of_sums(n, twice_F / 2, twice_D / 2)

    def of_sums(self, n: float, F: float, D: float) -> Totals:
        F = max(F, 0.0)  # rounding may leave less of perfect predictions
        G = D + 0.5 * n * self.variance  # type: ignore[operator]
        check_finite_sums(F, G)
        return n, F, G

    def gradient_hessian(self, y: Any, p: Any, totals: Totals, xp: Any) -> Both:
        """Gradient (p-y) - R (p-a) = (1-R) (p-a) - (y-a)."""
        n, F, G = totals
        gradient = (1 - F / G) * (self.clipped(p, xp) - self.mean) - (y - self.mean)
        return gradient * (n / G) if self.scale == "kappa" else gradient, 1.0

    def writer(self, rows: Rows, start: Start, gradient: Array, hessian: Array) -> Writer:
        """Write in place what ``gradient_hessian`` says: y - a and its sums are computed once, and
        t is kept between the two passes. Sums are float64: neither the order of rows nor their
        split over workers shows. F = D - sum w t c + sum w c^2 / 2, c = y - a, spares the vector t
        - c."""
        dtype = gradient.dtype
        # arrays of one number, which numpy's loops take twice as fast as Python's floats
        a = np.array(self.mean - start, dtype)  # type: ignore[operator]
        bounds = [np.array(b - start, dtype) for b in self.label_range or ()] if self.clip else []
        hessian[:] = 1 if rows.w is None else rows.w
        blocks = []
        spare = np.empty((1 if rows.w is None else 2, len(next(rows.stretches(dtype)))))
        product = np.ndarray.dot if spare.shape[1] <= STRETCH else dot  # squares of float32 fit
        first, n, c2 = 0, 0.0, 0.0
        for part in rows.stretches(dtype):
            at = slice(first, first := first + len(part))
            c = part.y - np.array(self.mean, dtype)
            exact = c.astype(np.float64)
            weighted = exact if part.w is None else part.w * exact
            n += part.count(part.w)
            c2 += dot(weighted, exact)
            t, u, v = gradient[at], spare[0, : len(part)], spare[-1, : len(part)]
            blocks.append((at, c, exact, part.w, t, u, v))

        def write(f: Array) -> None:
            D = crossed = 0.0
            for at, _, exact, w, t, u, v in blocks:
                p = checked_block(f, at)
                if f.dtype == dtype:  # keywords, not needed, would take a while
                    p = p.clip(*bounds, t) if bounds else p  # type: ignore[call-overload]
                    np.subtract(p, a, t)
                else:
                    p = p.clip(*bounds, out=t, casting="same_kind") if bounds else p
                    np.subtract(p, a, out=t, casting="same_kind")
                np.copyto(u, t)
                if w is not None:
                    np.multiply(w, u, out=v)
                D += float(product(u, v))
                crossed += float(product(v, exact))
            D *= 0.5
            sums = [n, D - crossed + 0.5 * c2, D]
            if rows.reduce is not None or _workers.together_now():
                sums = _workers.all_sum(sums, reduce=rows.reduce, last=True).tolist()
            n_all, F, G = self.of_sums(*sums)
            rest = np.array(1 - F / G, dtype)
            for _, c, _, w, t, *_ in blocks:
                t *= rest
                t -= c
                if self.scale == "kappa":
                    t *= n_all / G
                if w is not None:
                    t *= w

        return write


@public
def qwk_objective(
    y_true: ArrayLike | None = None, *, sample_weight: ArrayLike | None = None,
    target_prior: Mapping[float, float] | None = None, mean: float | None = None,
    variance: float | None = None, label_range: tuple[float, float] | None = None,
    scale: Literal["residual", "kappa"] = "residual", clip: bool = True,
    reduce: Callable[[Array], Array] | None = None,
) -> Objective:  # fmt: skip
    """Train on quadratic weighted kappa, extended to continuous predictions.

    Use it where scores are rounded as they are, averaged with those of other models or shown as
    grades. With thresholds fitted afterwards, squared error is mostly as good.

    ::

        kappa~ = 1 - F/G,   F = 1/2 sum w (p-y)^2,   G = 1/2 sum w ((p-a)^2 + b)

        loss      n F/G,   n = sum w
        gradient  w ((p-y) - R (p-a)),  R = F/G        scale="residual"
                  that times n/G                       scale="kappa", as published
        hessian   w

    with a the ``mean`` and b the ``variance`` of the labels. For integer p, kappa~ is the metric
    itself. The function is not convex, so the hessian is a constant and the start matters: begin at
    ``mean``, as ``train`` of the adapters does (a bare booster starts at 0 or 0.5).
    ``docs/theory/qwk.md`` derives it.

    Parameters
    ----------
    y_true : array-like of shape (n,), optional
        The labels of the training rows, any finite numbers, also as a Dask Series or Array. They
        give ``mean``, ``variance`` and ``label_range``, (min, max), unless these are given. None:
        the training data of all workers do.
    sample_weight : array-like of shape (n,), optional
        Weights of these rows; pass them if the booster gets weights.
    target_prior : mapping of label to probability, optional
        The label distribution where the model will be used, if it differs from training: it changes
        ``mean`` and ``variance``. Without ``y_true`` its labels give ``label_range``.
    mean, variance : float, optional
        Of the labels, a and b: in label units and squared label units.
    label_range : (float, float), optional
        Lowest and highest label. Labels outside it are refused.
    scale : {"residual", "kappa"}
        "kappa" is the gradient of the loss, as published. "residual" is that times G/n, in the
        units of a residual, so learning rates of squared error carry over.
    clip : bool
        Whether p is clipped to ``label_range``, as published: rows beyond get the edge's gradient.
    reduce : callable, optional
        A function that sums a float64 array over workers, for a library of your own; it needs all
        that is measured on labels. None is right on one machine and under XGBoost's collective.

    Returns
    -------
    Objective

    Raises
    ------
    ValueError, TypeError
        Labels that are empty, not finite, constant or outside ``label_range``; a ``target_prior``
        that does not sum to 1 or misses a label; a ``mean`` or ``variance`` impossible in it.

    References
    ----------
    rsakata, "[Kaggle] DSB2019: QWKをGBDTで直接最適化する", Zenn, 2020-11-09, which introduced this
    objective. Lin (1989), Biometrics 45, for kappa~ as the concordance correlation coefficient.

    Examples
    --------
    >>> import numpy as np, xgboost as xgb
    >>> from gbdt_objectives import qwk_metric, qwk_objective
    >>> rng = np.random.default_rng(0)
    >>> X = rng.random((600, 3)); y = np.digitize(X[:, 0], [0.3, 0.6]) + 1
    >>> data, obj = xgb.DMatrix(X, y), qwk_objective(y)
    >>> params = {"max_depth": 2, "base_score": obj.intercept}
    >>> booster = xgb.train(params, data, 20, obj=obj, custom_metric=qwk_metric())
    >>> booster.predict(xgb.DMatrix([[0.1, 0.5, 0.5], [0.9, 0.5, 0.5]])).round()
    array([1., 3.], dtype=float32)
    """
    scale, clip, label_range = read_kappa_options(
        scale, clip, label_range, reduce, y_true, sample_weight
    )
    if mean is not None:
        mean = _checks.number("mean", mean)
    if variance is not None:
        variance = _checks.number("variance", variance)
        if variance <= 0:
            raise ValueError(f"variance must be > 0, found {variance!r}: it is that of the labels")
    a = b = prior_labels = None
    if target_prior is not None:
        if mean is not None and variance is not None:
            raise ValueError("target_prior, mean and variance are all given: leave one of them out")
        prior_labels, prior = _checks.prior("target_prior", target_prior)
        a, b = LabelMoments.of(Rows(prior_labels, w=prior)).mean_variance("target_prior")
        if y_true is None:
            label_range = label_range or range_between(*prior_labels[[0, -1]])
    if y_true is not None:
        measure = partial(measure_labels, LabelMoments.of, REAL, label_range, prior_labels)
        parts = vectors(measure, {"y_true": y_true, "sample_weight": sample_weight})
        found = LabelMoments.merged(parts)
        label_range = label_range or range_between(found.low, found.high)
        if target_prior is None and (mean is None or variance is None):
            a, b = found.mean_variance("y_true")
    mean, variance = a if mean is None else mean, b if variance is None else variance
    if prior_labels is not None and label_range is not None:
        _checks.in_label_range("a label of target_prior", prior_labels[prior > 0], label_range)
    _check_moments(mean, variance, label_range)
    loss = QWKLoss(
        mean=mean, variance=variance, label_range=label_range, scale=scale, clip=clip, reduce=reduce
    )
    check_complete(loss, "qwk_objective")
    return Objective(loss)


class LabelMoments(NamedTuple):
    """The lowest and highest label that count, sums of w, w d, w d^2, d = label - lowest."""

    low: float = math.inf
    high: float = -math.inf
    n: float = 0.0
    s1: float = 0.0
    s2: float = 0.0

    @staticmethod
    def of(rows: Rows) -> LabelMoments:
        """Measure the rows at hand."""
        counted = rows.y if rows.w is None else rows.y[rows.w > 0]
        if not counted.shape[0]:
            return LabelMoments()
        low, high = rows.place.extremes(counted)

        def terms(y: Any, f: Any, xp: Any, **named: Any) -> tuple[Any, ...]:
            d = y - low
            return 1.0, d, d * d

        return LabelMoments(low, high, *rows.own_sum(terms).tolist())

    @staticmethod
    def merged(parts: Array) -> LabelMoments:
        """Those of all parts of the rows, (parts, 5)."""
        lows, highs, n, s1, s2 = parts[parts[:, 2] > 0].T
        low = lows.min(initial=math.inf)
        h = lows - low
        sums = np.sum([n, s1 + h * n, s2 + h * (2 * s1 + h * n)], axis=1)
        return LabelMoments(float(low), float(highs.max(initial=-math.inf)), *sums.tolist())

    def mean_variance(self, name: str) -> tuple[float, float]:
        if not self.n:
            raise ValueError(f"all weights of {name} are 0: at least one row must count")
        first, second = self.s1 / self.n, self.s2 / self.n
        mean, variance = self.low + first, second - first**2
        if not variance > 1e-12 * second:  # more than rounding
            raise constant_labels(name, mean)
        return mean, variance


def _check_moments(
    mean: float | None, variance: float | None, label_range: tuple[float, float] | None
) -> None:
    """Raise unless low <= mean <= high and variance <= (high - mean) (mean - low)."""
    if label_range is None or mean is None:
        return
    low, high = label_range
    if not low <= mean <= high:
        raise ValueError(
            f"mean {mean:g} lies outside label_range {label_range}: it is that of the labels, "
            "in their units"
        )
    most = (high - mean) * (mean - low)
    if variance is not None and variance > most * (1 + 1e-6):
        raise ValueError(
            f"variance {variance:g} is impossible: that of labels in {label_range} with mean "
            f"{mean:g} is at most {most:g}"
        )
