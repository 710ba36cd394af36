"""The room of objectives: losses in 50 digits, and their derivatives by differences in more."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import reduce
from itertools import pairwise
from typing import Any

import numpy as np
from mpmath import mp
from scipy.interpolate import PchipInterpolator

from gbdt_objectives import experimental, metrics, objectives
from gbdt_objectives.objectives import Objective
from tests.fuzz.exact import counted, real, sigmoid, softplus, weights_of
from tests.fuzz.generators import Array, Draw
from tests.fuzz.harness import Arguments, Holds, Near, Outside, Same, Unclear
from tests.fuzz.metrics import check_swapped

Row = Callable[[int, Any], Any]
"""The loss of a row at a margin, or at K margins, without its weight."""


def precision(f: Array) -> tuple[float, float]:
    """The rounding of results in the margins' type, and the least number of it that counts."""
    return (4e-7, 1e-30) if f.dtype == np.float32 else (1e-15, 1e-280)


def everything(made: Objective, y: Any, f: Any, w: Any) -> dict[str, Any]:
    """All that an objective says of rows."""
    gradient, hessian = made.gradient_hessian(y, f, w)
    bound = [np.array(part) for part in made.bind(y, w)(f)]
    mean = None if made.is_by_row else metrics.loss_metric(made)(y, f, w)
    return {
        "loss": made.loss(y, f, w), "gradient": gradient.ravel(), "hessian": hessian.ravel(),
        "bound": [part.ravel() for part in bound], "mean": mean,
        "called": [np.array(part).ravel() for part in made(y, f, w)],
    }  # fmt: skip


def row_reference(
    f: Array, w: Any, row: Row, hessian: Callable[[int, Any, Any], Any] | None = None, *,
    by_row: bool = False,
) -> dict[str, Any]:  # fmt: skip
    """What an objective must say of the margins ``f`` and weights ``w``, by the loss of one row.

    It is all that the reference of a loss of single rows needs. ``row(i, z)`` is the loss of row i
    at the margin z, without its weight: write it with functions of ``mp``, and read labels and
    parameters with ``real``. ``hessian(i, z, slope)`` is the hessian that the loss declares, for
    one that is not the second derivative. ``by_row`` says that the objective holds values of its
    rows. The package's side is :func:`everything`.

    How far the package may be off follows from the loss: margins round, and so do terms of the
    gradient that cancel, which are as large as the second derivative, or as the gradient itself.
    """
    eps, least = precision(f)
    v = [real(x) for x in weights_of(w, len(f))]
    z = [real(x) for x in f]
    losses, slopes, bends = (
        [v[i] * mp.diff(lambda t, i=i: row(i, t), x, k) for i, x in enumerate(z)] for k in range(3)
    )
    h = (
        bends
        if hessian is None
        else [
            v[i] * hessian(i, x, slopes[i] / v[i] if v[i] else mp.mpf(0)) for i, x in enumerate(z)
        ]
    )
    terms = [abs(g) + abs(b) for g, b in zip(slopes, bends, strict=True)]
    far = [10 + abs(x) for x in z]
    return near_all(
        sum(losses), slopes, h, sum(v), far, eps, least, max(v), losses, by_row, terms,
        sum(map(abs, losses)) + sum(terms),
    )  # fmt: skip


def expected(
    f: Array, w: Any, row: Row, hessian: Callable[[int, Any, Any], Any], *, by_row: bool = False,
    slack: Any = 10.0, terms: Callable[[int, Any], Any] | None = None,
) -> dict[str, Any]:  # fmt: skip
    """:func:`row_reference` of a loss whose rounding is known better: a margin that rounds by
    ``slack`` more than its own size, and ``terms``, the sum of the absolute terms of a row's
    gradient, where they may cancel."""
    eps, least = precision(f)
    v = [real(x) for x in weights_of(w, len(f))]
    losses, g, h, sizes = [], [], [], []
    for i, z in enumerate(map(real, f)):
        losses.append(v[i] * row(i, z))
        slope = mp.diff(lambda t, i=i: row(i, t), z)
        g.append(v[i] * slope)
        sizes.append(v[i] * (abs(slope) if terms is None else terms(i, z)))
        h.append(v[i] * hessian(i, z, slope))
    total = sum(losses)
    far = [own + abs(real(z)) for own, z in zip(np.broadcast_to(slack, len(f)), f, strict=True)]
    return near_all(total, g, h, sum(v), far, eps, least, max(v), losses, by_row, sizes)


def near_all(
    total: Any, g: list[Any], h: list[Any], n: Any, far: list[Any], eps: float, least: float,
    heaviest: Any, floor: list[Any], by_row: bool = False, terms: list[Any] | None = None,
    size: Any = None,
) -> dict[str, Any]:  # fmt: skip
    """A margin rounds by EPS of itself when an offset is added, and exp makes that relative.
    ``floor``: losses of which differences of 50 digits are taken. ``terms``: the sums of the
    absolute terms of the gradients, these themselves where nothing cancels; ``size``: that of the
    terms of the total."""
    size = abs(total) if size is None else size
    top, sizes = max(far), g if terms is None else terms

    def near(values: list[Any], sizes: list[Any], eps: float, least: float) -> list[Near]:
        return [
            Near(x, 2 * eps * r * abs(size) + least * (1 + heaviest) + mp.mpf(10) ** -40 * own)
            for x, size, r, own in zip(values, sizes, far, floor, strict=True)
        ]

    single = [near(g, sizes, 4e-7, 1e-30), near(h, h, 4e-7, 1e-30)]
    return {
        "loss": Near(total, 20 * 1e-15 * top * size + 1e-280 * (1 + heaviest) if eps < 1e-10
                     else 4e-6 * top * size + 1e-30),
        "gradient": near(g, sizes, eps, least), "hessian": near(h, h, eps, least),
        "bound": single, "called": single,
        "mean": Same(None) if by_row else Near(
            total / n, (4e-6 if eps > 1e-10 else 2e-14) * top * size / n + least
        ),
    }  # fmt: skip


def of_rows(draw: Draw, y: Array, f: Array, **options: Any) -> Arguments:
    """Labels and margins with weights, and the other arguments."""
    return {"y_true": y, "margin": f, "sample_weight": draw.calm_weights(len(y)), **options}


def draw_binary(draw: Draw, far: float = 1e5, **options: Any) -> Arguments:
    n = draw.between(1, 10)
    given = of_rows(draw, draw.binary(n), draw.margins(n, far), **options)
    if given["sample_weight"] is not None and draw.chance(0.3):
        given["sample_weight"] = given["sample_weight"] * draw.of([1e-15, 1e12])
    return given


# logistic losses


def draw_logloss(draw: Draw) -> Arguments:
    rate, hessian = draw.of([1.0, 0.1, 1e-6, draw.uniform(0.01, 1)]), draw.of(["exact", "bounded"])
    given = draw_binary(draw, rate=rate, hessian=hessian, offset=False)
    if rate == 1 and draw.chance(0.6):
        given["y_true"] = draw.soft(len(given["y_true"]))
    return given


def draw_offset(draw: Draw) -> Arguments:
    given = draw_logloss(draw)
    n = len(given["y_true"])
    if set(given["y_true"].tolist()) <= {0, 1} and draw.chance(0.6):
        given["rate"] = draw.rng.choice([1.0, 0.5, 0.1, 1e-6], n)
    return given | {"offset": True}


def logloss(
    y_true: Any, margin: Any, sample_weight: Any, rate: Any, hessian: Any, offset: bool
) -> Any:
    factory = (
        objectives.offset_logloss_objective if offset else objectives.weighted_logloss_objective
    )
    made = factory(rate, hessian=hessian)
    found = everything(made, y_true, margin, sample_weight)
    y = y_true[counted(sample_weight, len(y_true))].astype(float)
    both = 0 < y.mean() < 1
    found["intercept"] = made.measured(y_true, sample_weight).intercept if both else None
    return found


def logloss_reference(
    y_true: Any, margin: Any, sample_weight: Any, rate: Any, hessian: Any, offset: bool
) -> Any:
    n = len(y_true)
    y, r = [real(v) for v in y_true], [real(x) for x in np.broadcast_to(rate, n)]
    by_row = offset and np.ndim(rate) and min(r) < 1 and any(y)
    if by_row and not any(k and x < 1 for k, x in zip(y, r, strict=True)):
        raise Outside("negative_keep_rate")
    check_swapped("margin", y, margin, sample_weight)

    def row(i: int, z: Any) -> Any:
        """The mean of the losses of both labels: a soft one is y of label 1, 1-y of label 0."""
        c = 1 if offset else 1 / r[i]
        s = z - mp.log(r[i]) if offset else z
        return (y[i] and y[i] * softplus(-s)) + (y[i] < 1 and c * (1 - y[i]) * softplus(s))

    def sizes(i: int, z: Any) -> Any:
        c = 1 if offset else 1 / r[i]
        s = z - mp.log(r[i]) if offset else z
        return y[i] * sigmoid(-s) + c * (1 - y[i]) * sigmoid(s)

    def second(i: int, z: Any, slope: Any) -> Any:
        return sizes(i, z) / 2 if hessian == "bounded" else mp.diff(lambda t: row(i, t), z, 2)

    found = expected(
        margin, sample_weight, row, second, by_row=bool(np.ndim(rate)), slack=40, terms=sizes
    )
    v = [real(x) for x in weights_of(sample_weight, n)]

    def level(b: Any) -> bool:
        if b is None:
            ys = [y[i] for i in counted(sample_weight, n)]
            return max(ys) == 0 or min(ys) == 1
        slopes = [v[i] * mp.diff(lambda t, i=i: row(i, t), real(b)) for i in range(n)]
        all_of_them = sum(v[i] * sizes(i, real(b)) for i in range(n))
        near = 1e-9 if y_true.dtype != np.float32 else 2e-7  # 1 - y of float32 is rounded
        return bool(abs(sum(slopes)) <= near * all_of_them)

    found["intercept"] = Holds("the constant margin of least loss, if both labels occur", level)
    return found


# focal loss


def draw_focal(draw: Draw) -> Arguments:
    K = draw.of([2, 2, 3, 5])
    n = draw.between(1, 8 if K == 2 else 4)
    alpha: Any = draw.of([None, 0.25, 0.9]) if K == 2 else draw.of([None, [0.5] * (K - 1) + [2.0]])
    return of_rows(
        draw, draw.positions(n, K), draw.margins(n if K == 2 else (n, K), 700.0),
        gamma=draw.of([0.0, 0.5, 2.0, 5]), alpha=alpha, K=K,
    )  # fmt: skip


def focal(y_true: Any, margin: Any, sample_weight: Any, gamma: Any, alpha: Any, K: int) -> Any:
    made = objectives.focal_objective(gamma, alpha=alpha, n_classes=K)
    found = everything(made, y_true, margin, sample_weight)
    found["probability"] = made.class_probability(margin)
    several = len({int(y_true[i]) for i in counted(sample_weight, len(y_true))}) == K
    found["intercept"] = made.measured(y_true, sample_weight).intercept if several else None
    return found


def focal_row(gamma: Any, alpha: Any, K: int) -> Callable[[int, list[Any]], Any]:
    """c q^g (-log p) of a label at log-odds or K margins, without a difference of close numbers."""

    def loss(y: int, z: list[Any]) -> Any:
        if K == 2:
            others = -z[0] if y else z[0]
            c = 1 if alpha is None else (real(alpha) if y else 1 - real(alpha))
        else:
            top = max(z)
            rest = sum(mp.exp(x - top) for k, x in enumerate(z) if k != y)
            others = mp.log(rest) + top - z[y]
            c = 1 if alpha is None else real(alpha[y])
        return c * sigmoid(others) ** real(gamma) * softplus(others)

    return loss


def focal_reference(
    y_true: Any, margin: Any, sample_weight: Any, gamma: Any, alpha: Any, K: int
) -> Any:
    loss, n, g = focal_row(gamma, alpha, K), len(y_true), real(gamma)
    y = [int(v) for v in y_true]
    eps, least = precision(margin)
    w = [real(x) for x in weights_of(sample_weight, n)]
    Z = [[real(x) for x in np.atleast_1d(row)] for row in margin]

    def slope(i: int, k: int, label: int) -> Any:
        return mp.diff(lambda t: loss(label, [*Z[i][:k], t, *Z[i][k + 1 :]]), Z[i][k])

    slopes = [w[i] * slope(i, k, y[i]) for i in range(n) for k in range(len(Z[i]))]
    factor = (1 + g) / 2 if K == 2 else 1 + g
    total = sum(w[i] * loss(y[i], Z[i]) for i in range(n))
    far = [(20 + max(map(abs, Z[i]))) * (2 + g) for i in range(n) for _ in Z[i]]
    found = near_all(
        total, slopes, [factor * abs(s) for s in slopes], sum(w), far, eps, least, max(w),
        [w[i] * loss(y[i], Z[i]) for i in range(n) for _ in Z[i]],
    )  # fmt: skip

    def is_best(P: Any) -> bool:
        """No other margin has less expected loss where classes have these probabilities."""
        for i in range(n):
            for k in range(len(Z[i])):
                terms = [real(P[i][label]) * slope(i, k, label) for label in range(K)]
                rounding = 1e-9 * sum(map(abs, terms)) * (1 + max(map(abs, Z[i])))
                noise = sum(loss(label, Z[i]) for label in range(K)) * mp.mpf(10) ** -38
                if abs(sum(terms)) > rounding + noise + 1e-290:
                    return False
        return True

    found["probability"] = Holds("the expected loss is least at these margins", is_best)

    def level(b: Any) -> bool:
        if b is None:
            return len({y[i] for i in counted(sample_weight, n)}) < K
        z = [real(x) for x in np.atleast_1d(b)]
        for k in range(len(z)):
            terms = [
                w[i] * mp.diff(lambda t, i=i, k=k: loss(y[i], [*z[:k], t, *z[k + 1 :]]), z[k])
                for i in range(n)
            ]
            if abs(sum(terms)) > 1e-6 * sum(map(abs, terms)):
                return False
        return True

    found["intercept"] = Holds("the constant margins of least loss", level)
    return found


# labels that are still arriving


def draw_delayed(draw: Draw) -> Arguments:
    given = draw_binary(draw, 700.0)
    n = len(given["y_true"])
    F = np.where(draw.rng.random(n) < 0.3, draw.rng.choice([0.0, 1.0, 1e-9], n), draw.rng.random(n))
    if draw.chance(0.9):
        F = np.where((given["y_true"] == 1) & (F == 0), 0.5, F)
    return given | {"arrived": F}


def delayed(y_true: Any, margin: Any, sample_weight: Any, arrived: Any) -> Any:
    made = experimental.delayed_logloss_objective(arrived)
    return everything(made, y_true, margin, sample_weight)


def delayed_reference(y_true: Any, margin: Any, sample_weight: Any, arrived: Any) -> Any:
    y, F = [int(v) for v in y_true], [real(x) for x in arrived]
    if any(k and not p for k, p in zip(y, F, strict=True)):
        raise Outside("arrived")

    def row(i: int, z: Any) -> Any:
        if y[i]:
            return softplus(-z) - mp.log(F[i])
        return mp.log1p(F[i] * sigmoid(z) / (sigmoid(-z) + (1 - F[i]) * sigmoid(z)))

    def bound(i: int, z: Any, slope: Any) -> Any:
        p, n = sigmoid(z), sigmoid(-z)
        found = p * n if y[i] else F[i] * p * n**2 / (n + (1 - F[i]) * p)
        assert found >= mp.diff(lambda t: row(i, t), z, 2) - mp.mpf(10) ** -40
        return found

    lost = [40 + (1 / (1 - x) if x < 1 else 0) for x in arrived]  # by F in float32, of 1 - F
    return expected(margin, sample_weight, row, bound, by_row=True, slack=lost)


# proportional odds


def draw_ordinal(draw: Draw) -> Arguments:
    n, K = draw.between(2, 8), draw.of([2, 3, 5])
    how: Any = draw.of(["refit", "fixed", "numbers"])
    if how == "numbers":
        how = np.sort(draw.rng.normal(size=K - 1) * 3) + 0.01 * np.arange(K - 1)
    far = 1e5 if not isinstance(how, str) else 30.0
    f = draw.margins(n, far)
    if isinstance(how, str):
        f = np.clip(f, -30, 30)
    return of_rows(draw, draw.positions(n, K), f, K=K, thresholds=how)


def ordinal(y_true: Any, margin: Any, sample_weight: Any, K: int, thresholds: Any) -> Any:
    made = objectives.ordinal_logit_objective(K, thresholds=thresholds)
    found = everything(made, y_true, margin, sample_weight)
    fitted = made.fitted(y_true, margin, sample_weight)
    if isinstance(thresholds, str) and thresholds == "fixed":
        fitted = made.measured(y_true, sample_weight)
    return {"thresholds": fitted.thresholds, "everything": found,
            "probability": fitted.class_probability(margin)}  # fmt: skip


def ordinal_reference(y_true: Any, margin: Any, sample_weight: Any, K: int, thresholds: Any) -> Any:
    y, n = [int(v) for v in y_true], len(y_true)
    some, w = counted(sample_weight, n), [real(x) for x in weights_of(sample_weight, n)]
    present = {y[i] for i in some}
    if isinstance(thresholds, str) and len(present) < 2:
        raise Outside("y_true")

    def between(l: Any, u: Any, f: Any) -> Any:
        """P(l < latent <= u) without a difference of numbers near 1."""
        if mp.isinf(l) or mp.isinf(u):
            return (sigmoid(u - f) if mp.isinf(l) else sigmoid(f - l)) if l != -u else mp.mpf(1)
        if l > f:
            return sigmoid(f - l) - sigmoid(f - u)
        return sigmoid(u - f) - sigmoid(l - f)

    def of(theta: list[Any]) -> dict[str, Any]:
        ends = [mp.ninf, *theta, mp.inf]

        def row(i: int, z: Any) -> Any:
            if y[i] in (0, K - 1):  # without the logarithm of a number near 1
                return softplus(z - theta[0]) if y[i] == 0 else softplus(theta[-1] - z)
            p = between(ends[y[i]], ends[y[i] + 1], z)
            return -mp.log(p) if p > 0 else mp.inf

        def second(i: int, z: Any, slope: Any) -> Any:
            return mp.diff(lambda t: row(i, t), z, 2)

        def both(i: int, z: Any) -> Any:
            """(1 - F_u) + F_l, of which the gradient is the difference."""
            return sigmoid(z - ends[y[i] + 1]) + sigmoid(ends[y[i]] - z)

        return expected(margin, sample_weight, row, second, slack=60, terms=both)

    def least(found: Any) -> bool:
        """Thresholds of least loss at these margins, and all else follows from them."""
        theta = [real(x) if math.isfinite(x) else mp.mpf(x) for x in found["thresholds"]]
        inner = [t for t in theta if not mp.isinf(t)]
        if any(b < a for a, b in pairwise(theta)):
            return False
        for k, t in enumerate(theta):
            # an absent class has the thresholds of its neighbours: the two move together
            if mp.isinf(t) or theta.count(t) > 1:
                continue

            def loss(x: Any, k: int = k) -> Any:
                ends = [mp.ninf, *theta[:k], x, *theta[k + 1 :], mp.inf]
                return sum(
                    -w[i] * mp.log(between(ends[y[i]], ends[y[i] + 1], real(margin[i])))
                    for i in some
                )

            if abs(mp.diff(loss, t)) > 1e-6 * sum(w):
                return False
        return len(inner) >= len(present) - 1

    def adds_up(P: Any) -> bool:
        return bool(np.allclose(P.sum(axis=1), 1, atol=1e-12) and (P >= 0).all())

    rest: dict[str, Any] = {"probability": Holds("rows of probabilities", adds_up)}
    if isinstance(thresholds, str) and thresholds == "refit":
        from tests.fuzz.harness import difference

        def consistent(found: Any) -> bool:
            if not least(found) or not adds_up(found["probability"]):
                return False
            if len(present) < K:  # the loss of rows of weight 0 of an absent class is infinite
                return True
            expects = of([real(x) for x in found["thresholds"]])
            single = margin.dtype == np.float32  # in which the loss is flat for longer
            total = expects["loss"].value
            loose = {"loss": Near(total, 1e-6 * total + (1e-6 if single else 1e-9) * sum(w))}
            eps = 2e-4 if single else 2e-5
            for name in ("gradient", "hessian"):
                loose[name] = [Near(x.value, eps * max(map(float, w))) for x in expects[name]]
            return difference(found["everything"], loose) is None

        return Holds("thresholds of least loss, and gradients at them", consistent)
    if isinstance(thresholds, str):
        W = [sum(w[i] for i in range(n) if y[i] == k) for k in range(K)]
        if len(present) < K:
            raise Unclear
        theta = [mp.log(sum(W[:k]) / sum(W[k:])) for k in range(1, K)]
        if margin.dtype == np.float32 or any(b - a < 1e-3 for a, b in pairwise(theta)):
            raise Unclear
        return {"thresholds": [Near(t, 1e-13 * (1 + abs(t))) for t in theta],
                "everything": of(theta), **rest}  # fmt: skip
    theta = [real(x) for x in thresholds]
    near = any(b - a < 1e-3 for a, b in pairwise(theta))
    if margin.dtype == np.float32 or near:  # thresholds that round in float32
        raise Unclear
    return {"everything": of(theta), **rest}


# kappas


def draw_qwk(draw: Draw) -> Arguments:
    n = draw.between(2, 10)
    y, _ = draw.labels(n, draw.of([2, 4, 6]))
    return of_rows(
        draw, y, y + draw.of([0.1, 1.0, 5.0]) * draw.rng.normal(size=n),
        scale=draw.of(["residual", "kappa"]), clip=draw.chance(0.5), given=draw.chance(0.5),
    )  # fmt: skip


def qwk(y_true: Any, margin: Any, sample_weight: Any, scale: Any, clip: bool, given: bool) -> Any:
    y, w = (y_true, sample_weight) if given else (None, None)
    made = objectives.qwk_objective(y, sample_weight=w, scale=scale, clip=clip)
    found = everything(made, y_true, margin, sample_weight)
    found["intercept"] = made.measured(y_true, sample_weight).intercept
    return found


def kappa_sums(
    c: Callable[[Any, Any], Any], g: Callable[[Any], Any], y: list[Any], w: list[Any]
) -> Callable[[list[Any]], Any]:
    """n F/G of margins, F = sum w c(y, p), G = sum w g(p)."""

    def total(p: list[Any]) -> Any:
        F = sum(v * c(t, x) for v, t, x in zip(w, y, p, strict=True))
        return sum(w) * F / sum(v * g(x) for v, x in zip(w, p, strict=True))

    return total


def ratio_expected(
    total: Callable[[list[Any]], Any], G: Any, p: list[Any], w: list[Any], unit: Any, y: list[Any],
    eps: float = 1e-14,
) -> dict[str, Any]:  # fmt: skip
    """All of a coupled loss; ``unit`` multiplies its gradient, one margin at a time."""
    g = [unit * mp.diff(lambda t, i=i: total([*p[:i], t, *p[i + 1 :]]), x) for i, x in enumerate(p)]
    n, loss = sum(w), total(p)
    size = max(map(abs, [*p, *y])) + 1
    R = loss / n

    def near(values: list[Any], eps: float) -> list[Near]:
        scale = abs(unit) * n / G * size * (1 + R)
        return [Near(x, 40 * eps * v * scale) for x, v in zip(values, w, strict=True)]

    single = [near(g, 1.2e-7), [Near(v, 1e-6 * v) for v in w]]
    return {
        "loss": Near(loss, 40 * eps * (loss + n * size**2 * n / G)), "gradient": near(g, eps),
        "hessian": [Near(v, 1e-6 * v) for v in w], "bound": single, "called": single,
        "mean": Near(R, 40 * eps * (R + size**2 * n / G)),
    }  # fmt: skip


def qwk_reference(
    y_true: Any, margin: Any, sample_weight: Any, scale: Any, clip: bool, given: bool
) -> Any:
    n = len(y_true)
    y, w = [real(v) for v in y_true], [real(x) for x in weights_of(sample_weight, n)]
    some = counted(sample_weight, n)
    own = [y[i] for i in some]
    if len(set(own)) < 2:
        raise Outside("y_true")
    low, high = min(own), max(own)
    if (clip or given) and (min(y) < low or max(y) > high):
        raise Unclear  # rows of weight 0 beyond the range
    a = sum(v * t for v, t in zip(w, y, strict=True)) / sum(w)
    b = sum(v * (t - a) ** 2 for v, t in zip(w, y, strict=True)) / sum(w)
    p = [min(max(real(f), low), high) if clip else real(f) for f in margin]
    total = kappa_sums(lambda t, x: (x - t) ** 2 / 2, lambda x: ((x - a) ** 2 + b) / 2, y, w)
    G = sum(v * ((x - a) ** 2 + b) / 2 for v, x in zip(w, p, strict=True))
    unit = G / sum(w) if scale == "residual" else mp.mpf(1)
    found = ratio_expected(total, G, p, w, unit, y)
    found["intercept"] = Near(a, 1e-13 * (1 + abs(a)))
    return found


def draw_kappa(draw: Draw) -> Arguments:
    n, K = draw.between(2, 10), draw.of([3, 4])
    y = draw.positions(n, K)
    y[0] = 0
    matrix = (draw.rng.integers(1, 5, (K, K)) * (1 - np.eye(K))).tolist()
    return of_rows(
        draw, y, draw.rng.uniform(0.01, K - 1.01, n), scale=draw.of(["residual", "kappa"]),
        cost=draw.of(["squared", "absolute", matrix]), K=K,
    )  # fmt: skip


def kappa(y_true: Any, margin: Any, sample_weight: Any, scale: Any, cost: Any, K: int) -> Any:
    made = objectives.kappa_objective(
        cost, y_true, sample_weight=sample_weight, label_range=(0, K - 1), scale=scale
    )
    found = everything(made, y_true, margin, sample_weight)
    found["intercept"] = made.intercept
    return found


def kappa_reference(
    y_true: Any, margin: Any, sample_weight: Any, scale: Any, cost: Any, K: int
) -> Any:
    n = len(y_true)
    w = [real(x) for x in weights_of(sample_weight, n)]
    y, p = [int(v) for v in y_true], [real(f) for f in margin]
    pi = [sum(v for v, k in zip(w, y, strict=True) if k == j) / sum(w) for j in range(K)]
    if sum(x > 0 for x in pi) < 2:
        raise Outside("y_true")
    if any(abs(x - round(x)) < 1e-9 for x in p):
        raise Unclear
    if isinstance(cost, str):

        def c(j: Any, x: Any) -> Any:
            return (x - j) ** 2 / 2 if cost == "squared" else abs(x - j)
    else:
        curves = [PchipInterpolator(np.arange(K), row) for row in np.array(cost)]

        def c(j: Any, x: Any) -> Any:
            """The cubic piece, as scipy's own coefficients have it."""
            k = min(int(mp.floor(x)), K - 2)
            coefficients, t = curves[int(j)].c[:, k], x - k
            return reduce(lambda total, v: total * t + real(v), coefficients, mp.mpf(0))

    def g(x: Any) -> Any:
        return sum(q * c(j, x) for j, q in enumerate(pi) if q)

    total = kappa_sums(c, g, y, w)
    G = sum(v * g(x) for v, x in zip(w, p, strict=True))

    def best(found: Any) -> bool:
        x = real(found)
        return bool(all(g(x) <= g(mp.mpf(t)) * (1 + 1e-9) for t in np.linspace(0, K - 1, 25)))

    expects: dict[str, Any] = {"intercept": Holds("the constant of least expected cost", best)}
    if scale == "kappa":
        return ratio_expected(total, G, p, w, mp.mpf(1), y) | expects
    mu = sum(q * j for j, q in enumerate(pi))
    var = sum(q * (j - mu) ** 2 for j, q in enumerate(pi))
    if not isinstance(cost, str) or cost == "absolute":  # the unit is that of the best constant
        expects["loss"] = Near(total(p), 1e-12 * total(p))
        return expects
    unit = var / 2 / g(mu) * G / sum(w)
    return ratio_expected(total, G, p, w, unit, y) | expects


def cosh_cost(y: Array, p: Array) -> tuple[Array, Array]:
    r = p - y
    return np.logaddexp(r, -r) - np.log(2.0), np.tanh(r)


def bowl(y: Array, p: Array) -> tuple[Array, Array]:
    return 1 + (p - 1) ** 2, 2 * (p - 1)


def draw_ratio(draw: Draw) -> Arguments:
    n = draw.between(1, 10)
    f = draw.of([1.0, 5.0]) * draw.rng.normal(size=n)
    return of_rows(draw, draw.labels(n, 4)[0], f, scale=draw.of(["residual", "loss"]))


def ratio(y_true: Any, margin: Any, sample_weight: Any, scale: Any) -> Any:
    made = objectives.ratio_objective(cosh_cost, bowl, scale=scale)
    return everything(made, y_true, margin, sample_weight)


def ratio_reference(y_true: Any, margin: Any, sample_weight: Any, scale: Any) -> Any:
    w = [real(x) for x in weights_of(sample_weight, len(y_true))]
    y, p = [real(v) for v in y_true], [real(f) for f in margin]
    total = kappa_sums(lambda t, x: mp.log(mp.cosh(x - t)), lambda x: 1 + (x - 1) ** 2, y, w)
    G = sum(v * (1 + (x - 1) ** 2) for v, x in zip(w, p, strict=True))
    unit = G / sum(w) if scale == "residual" else mp.mpf(1)
    return ratio_expected(total, G, p, w, unit, y)


# users' own


def own_gradient(y: Array, f: Array, w: Array | None, cost: Array) -> tuple[Array, Array]:
    v = cost if w is None else cost * w
    return v * (f - y), v


def own_loss(y: Array, f: Array, w: Array | None, cost: Array) -> float:
    v = cost if w is None else cost * w
    return float(0.5 * (v * (f - y) ** 2).sum())


def draw_own(draw: Draw) -> Arguments:
    n = draw.between(1, 10)
    cost = draw.rng.uniform(0.5, 3, n)
    return of_rows(draw, draw.labels(n, 4)[0], draw.margins(n, 1e3), cost=cost)


def own(y_true: Any, margin: Any, sample_weight: Any, cost: Any) -> Any:
    made = objectives.objective(own_gradient, loss=own_loss, rows={"cost": cost})
    return everything(made, y_true, margin, sample_weight)


def own_reference(y_true: Any, margin: Any, sample_weight: Any, cost: Any) -> Any:
    y, c = [real(v) for v in y_true], [real(x) for x in cost]

    def row(i: int, z: Any) -> Any:
        return c[i] * (z - y[i]) ** 2 / 2

    return row_reference(margin, sample_weight, row, by_row=True)


def jax_loss(y: Any, f: Any, w: Any) -> Any:
    import jax.numpy as jnp

    losses = jnp.sqrt(1 + (f - y) ** 2)
    return (losses if w is None else w * losses).sum()


def draw_traced(draw: Draw) -> Arguments:
    n = draw.of([1, 5])  # each number of rows is compiled
    return of_rows(draw, draw.labels(n, 4)[0], draw.margins(n, 100.0).astype(float))


def traced(y_true: Any, margin: Any, sample_weight: Any) -> Any:
    return everything(objectives.objective_from_loss(jax_loss), y_true, margin, sample_weight)


def traced_reference(y_true: Any, margin: Any, sample_weight: Any) -> Any:
    y = [real(v) for v in y_true]

    def row(i: int, z: Any) -> Any:
        return mp.sqrt(1 + (z - y[i]) ** 2)

    found = expected(
        margin, sample_weight, row, lambda i, z, slope: mp.diff(lambda t: row(i, t), z, 2),
        slack=1e4,
    )  # fmt: skip
    del found["bound"], found["called"]
    return found
