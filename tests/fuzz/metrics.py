"""The room of metrics in fractions: each by its textbook definition, one row at a time."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import numpy as np
from mpmath import mp

from gbdt_objectives import metrics
from gbdt_objectives.metrics.classes import NAMED
from tests.fuzz.exact import EPS, counted, fraction, fractions, mean, real, softplus, weights_of
from tests.fuzz.generators import Array, Draw
from tests.fuzz.harness import Arguments, Near, Outside, Unclear

NAMES = tuple(NAMED)
ROW_SHARES = {
    "precision": ([(1, 1)], [(0, 1), (1, 1)]), "recall": ([(1, 1)], [(1, 0), (1, 1)]),
    "false_positive_rate": ([(0, 1)], [(0, 0), (0, 1)]),
    "alert_rate": ([(0, 1), (1, 1)], [(0, 0), (0, 1), (1, 0), (1, 1)]),
}  # fmt: skip
"""Of two classes: which rows, true and predicted, of which others."""
TWO = ("f1", "f_beta", "youden", *ROW_SHARES)
DOWN = ("mae", "cost", "false_positive_rate", "alert_rate")
"""Metrics of which smaller is better."""

Counts = list[list[Fraction]]


def of_rows(draw: Draw, y: Array, p: Array, **options: Any) -> Arguments:
    """Labels and predictions with weights, and the other arguments."""
    return {"y_true": y, "y_pred": p, "sample_weight": draw.weights(len(y)), **options}


def confusion(y: list[int], p: list[int], w: list[Fraction], K: int) -> Counts:
    C = [[Fraction(0)] * K for _ in range(K)]
    for i, j, v in zip(y, p, w, strict=True):
        C[i][j] += v
    return C


def cost_of(metric: str, parameter: Any, K: int) -> list[list[Fraction]]:
    distance = {
        "qwk": lambda d: d * d, "linear": abs, "mae": abs, "kappa": bool, "accuracy": bool,
    }.get(metric)  # fmt: skip
    if distance is None:
        return [fractions(row) for row in parameter]
    return [[Fraction(int(distance(i - j))) for j in range(K)] for i in range(K)]


def class_value(metric: str, parameter: Any, C: Counts) -> tuple[Any, Any]:
    """The metric of exact counts and how well it is conditioned: an error of the value where every
    sum is off by its rounding, 1e-13 of its terms. None if it is 0/0."""
    K, n = len(C), sum(map(sum, C))
    true, predicted = [sum(row) for row in C], [sum(column) for column in zip(*C, strict=True)]
    pairs = [(i, j) for i in range(K) for j in range(K)]
    if metric in ("accuracy", "mae", "cost"):
        c = cost_of(metric, parameter, K)
        value = sum(C[i][j] * c[i][j] for i, j in pairs) / n
        size = sum(C[i][j] * abs(c[i][j]) for i, j in pairs) / n
        return (1 - value if metric == "accuracy" else value), 1e-13 * (1 + size)
    if metric in ("qwk", "linear", "kappa", "kappa_cost"):
        c = cost_of(metric, parameter, K)
        O = sum(C[i][j] * c[i][j] for i, j in pairs)
        E = sum(true[i] * predicted[j] * c[i][j] for i, j in pairs) / n
        if E == 0:
            return None, 0
        # QWK: the means of classes round by EPS of the range, and count with all the weight
        rounded = (2 * EPS * K) ** 2 * n / E if metric == "qwk" else 0
        # the expected cost of each class, a mean of the weight 1, loses what the least float does
        lost = n * Fraction(1, 2**1074) / E
        relative = 1e-13 * K + real(4 * lost)
        return 1 - O / E, relative * (1 + abs(real(O / E))) + 8 * real(rounded)
    if metric in ROW_SHARES:
        above, below = (sum(C[i][j] for i, j in pairs) for pairs in ROW_SHARES[metric])
        return (above / below, 1e-13) if below else (None, 0)
    some = [t for t in true if t]
    if metric in ("macro_recall", "youden") and max(some) > min(some) * 10**300:
        raise Unclear  # the quotient is more than a float holds
    if metric == "macro_recall":
        recalls = [C[k][k] / true[k] for k in range(K) if true[k]]
        return sum(recalls) / len(recalls), 1e-13 * K
    if metric == "youden":
        if not all(true):
            return None, 0
        return C[1][1] / true[1] + C[0][0] / true[0] - 1, 1e-13
    if metric in ("f1", "f_beta"):
        b2 = fraction(1 if metric == "f1" else parameter) ** 2
        below = (1 + b2) * C[1][1] + b2 * C[1][0] + C[0][1]
        return ((1 + b2) * C[1][1] / below, 1e-13) if below else (None, 0)
    if metric == "macro_f1":
        sizes = [t + p for t, p in zip(true, predicted, strict=True)]
        f1 = [2 * C[k][k] / sizes[k] for k in range(K) if sizes[k]]
        return sum(f1) / len(f1), 1e-13 * K
    if metric == "g_mean":
        if min(some) * 10**150 < n:  # the share is 0, or its product with others
            raise Unclear
        product = math.prod(C[k][k] / true[k] for k in range(K) if true[k])
        value = mp.root(real(product), len(some))
        return value, 1e-13 * K
    if metric != "matthews":
        raise NotImplementedError(f"metric {metric!r} has no reference: write it above this line")
    if sum(t > 0 for t in true) < 2:
        return None, 0
    if sum(p > 0 for p in predicted) < 2:
        return Fraction(0), 0
    covariance = sum(C[k][k] * n - true[k] * predicted[k] for k in range(K)) / n**2
    t = sum(x * (n - x) for x in true) / n**2
    p = sum(x * (n - x) for x in predicted) / n**2
    if min(t, p) < 1e-11:  # 1 - t is a difference of two numbers near 1
        raise Unclear
    root = mp.sqrt(real(t * p))
    return real(covariance) / root, 1e-14 * K / root + 1e-14 * K * real(1 / t + 1 / p)


def read_classes(
    metric: str, label_range: Any, thresholds: Any, y_true: Array, y_pred: Array,
    sample_weight: Any, labels: Any,
) -> tuple[list[int], list[int], list[Fraction], int]:  # fmt: skip
    """Positions of true and predicted classes of the rows that count, and K."""
    n = len(y_true)
    rows, w = counted(sample_weight, n), weights_of(sample_weight, n)
    if labels is not None:
        if thresholds is not None:
            raise Outside("labels")
        order = list(labels)
        y, p = ([order.index(x) for x in values.tolist()] for values in (y_true, y_pred))
        return [y[i] for i in rows], [p[i] for i in rows], [w[i] for i in rows], len(order)
    scores = y_pred.dtype.kind not in "biu" or thresholds is not None
    y, p = fractions(y_true), fractions(y_pred)
    if label_range is None and y_pred.dtype.kind == "f" and y_true.dtype.kind in "iuf":
        beyond = any(s < min(y) or s > max(y) for s in p)
        if beyond and all(s.denominator == 1 for s in p):
            raise Outside("y_pred")
    some = [y[i] for i in rows] + ([] if scores else [p[i] for i in rows])
    low, high = (min(some), max(some)) if label_range is None else map(Fraction, label_range)
    if min(some) < low or max(some) > high:
        raise Outside("label_range")
    K = int(high - low) + 1
    if thresholds is not None:
        cuts = fractions_or_inf(thresholds)
        p = [low + sum(t <= s for t in cuts) for s in p]
    elif scores:  # the nearest label, halves upwards
        p = [min(max(Fraction(math.floor(s + Fraction(1, 2))), low), high) for s in p]
    return (
        [int(y[i] - low) for i in rows], [int(p[i] - low) for i in rows], [w[i] for i in rows], K,
    )  # fmt: skip


def fractions_or_inf(values: Any) -> list[Any]:
    return [x if math.isinf(x) else fraction(x) for x in np.asarray(values, float).tolist()]


def make_metric(metric: str, parameter: Any, label_range: Any, thresholds: Any) -> Any:
    if metric == "cost":
        made = metrics.cost_metric(parameter)
    elif metric == "kappa_cost":
        made = metrics.kappa_cost_metric(parameter)
    elif metric == "f_beta":
        made = metrics.f_beta_metric(parameter)
    elif metric == "qwk":
        return metrics.qwk_metric(label_range, thresholds=thresholds)
    else:
        return metrics.threshold_metric(metric, label_range, thresholds=thresholds)
    if label_range is None:
        return made
    return metrics.threshold_metric(made, label_range, thresholds=thresholds)


def class_metric(
    metric: str, parameter: Any, label_range: Any, thresholds: Any, y_true: Any, y_pred: Any,
    sample_weight: Any, labels: Any, loss: bool,
) -> float:  # fmt: skip
    made = make_metric(metric, parameter, label_range, thresholds)
    if loss and labels is None:
        return made.loss(y_true, y_pred, sample_weight)
    if labels is not None:
        return made(y_true, y_pred, sample_weight, labels)
    return made(y_true, y_pred, sample_weight)


def class_metric_reference(
    metric: str, parameter: Any, label_range: Any, thresholds: Any, y_true: Any, y_pred: Any,
    sample_weight: Any, labels: Any, loss: bool,
) -> Near:  # fmt: skip
    y, p, w, K = read_classes(
        metric, label_range, thresholds, y_true, y_pred, sample_weight, labels
    )
    if metric in TWO and K != 2:
        raise Outside("metric")
    if metric in ("cost", "kappa_cost") and len(parameter) != K:
        raise Outside("cost")
    C = confusion(y, p, w, K)
    if metric == "kappa_cost":
        true, c = [sum(row) for row in C], cost_of(metric, parameter, K)
        expected = [sum(true[i] * c[i][j] for i in range(K)) for j in range(K)]
        if not min(expected) and sum(t > 0 for t in true) > 1:
            raise Outside("cost")
    value, error = class_value(metric, parameter, C)
    if value is None:
        return Near(math.nan)
    return Near(1 - value if loss and labels is None and metric not in DOWN else value, error)


def draw_class_metric(draw: Draw, metric: str, parameter: Any = None, K: int = 0) -> Arguments:
    n = draw.rows()
    K = K or (2 if metric in TWO and draw.chance(0.9) else draw.classes())
    y, first = draw.labels(n, K)
    label_range: Any = (first, first + K - 1) if draw.chance(0.5) else None
    thresholds = labels = None
    p = (draw.positions(n, K) + first).astype(
        draw.of(["i8", "i4", "?"][: 2 + (K == 2 and not first)])
    )
    kind = draw.below(4)
    if kind == 1:  # scores in label units, with halves and what is next to them
        p = y + draw.of([0.0, 0.5, 2.0]) * draw.rng.normal(size=n)
        half = np.floor(p) + 0.5
        p = np.where(draw.rng.random(n) < 0.3, np.nextafter(half, draw.of([-9, 9, 0.5])), p)
        p = p.astype(np.float32) if draw.chance(0.3) else p
    elif kind == 2 and label_range is not None:
        p = draw.scores(n)
        thresholds = np.sort(draw.rng.choice(np.append(p, [0.0, np.inf, -np.inf]), K - 1))
    elif kind == 3:
        labels, label_range = draw.names(K), None
        y, p = (np.array(labels)[draw.positions(n, K)] for _ in range(2))
    return of_rows(
        draw, y, p, metric=metric, parameter=parameter, label_range=label_range,
        thresholds=thresholds, labels=labels, loss=draw.chance(0.2),
    )  # fmt: skip


def draw_matrix(draw: Draw, K: int, kappa: bool) -> list[list[float]]:
    c = draw.rng.integers(0 if kappa else -3, 5, (K, K)) * draw.of([1.0, 0.1, 1e3])
    if kappa:
        np.fill_diagonal(c, 0)
    return c.tolist()


def draw_threshold_metric(draw: Draw) -> Arguments:
    return draw_class_metric(draw, draw.of(NAMES))


def draw_qwk_metric(draw: Draw) -> Arguments:
    return draw_class_metric(draw, "qwk")


def draw_cost_metric(draw: Draw) -> Arguments:
    K = draw.classes(6)
    return draw_class_metric(draw, "cost", draw_matrix(draw, K, False), K)


def draw_kappa_cost_metric(draw: Draw) -> Arguments:
    K = draw.classes(6)
    return draw_class_metric(draw, "kappa_cost", draw_matrix(draw, K, True), K)


def draw_f_beta_metric(draw: Draw) -> Arguments:
    return draw_class_metric(draw, "f_beta", draw.of([1.0, 2, 0.5, 1e-3, 30.0]))


# quadratic_weighted_kappa


def draw_kappa(draw: Draw) -> Arguments:
    n, K = draw.rows(), draw.classes()
    (y, first), labels = draw.labels(n, K), None
    p = (draw.positions(n, K) + first).astype(y.dtype)
    if draw.chance(0.3):
        labels = draw.names(K)
        y, p = (np.array(labels)[draw.positions(n, K)] for _ in range(2))
    return of_rows(draw, y, p, labels=labels)


def kappa(y_true: Any, y_pred: Any, labels: Any, sample_weight: Any) -> float:
    return metrics.quadratic_weighted_kappa(
        y_true, y_pred, labels=labels, sample_weight=sample_weight
    )


def kappa_reference(y_true: Any, y_pred: Any, labels: Any, sample_weight: Any) -> Near:
    if labels is None:  # a missing class changes nothing
        y_pred = y_pred.astype(np.int64)
    y, p, w, K = read_classes("qwk", None, None, y_true, y_pred, sample_weight, labels)
    value, error = class_value("qwk", None, confusion(y, p, w, K))
    return Near(math.nan) if value is None else Near(value, error)


# metrics of scores


def moments(y: list[Fraction], w: list[Fraction]) -> tuple[Fraction, Fraction]:
    a = mean(y, w)
    return a, mean([(v - a) ** 2 for v in y], w)


def check_spread(y: list[Fraction], w: list[Fraction], b: Fraction) -> None:
    """The variance must be more than rounding: 1e-12 of the mean square above the lowest label."""
    second = mean([(v - min(y)) ** 2 for v in y], w)
    if b == 0 or b < second * Fraction(1, 10**14):
        raise Outside("y_true|prior|label")
    if b < second * Fraction(1, 10**9):
        raise Unclear


def draw_extended(draw: Draw) -> Arguments:
    n = draw.rows(least=2)
    y, _ = draw.labels(n, draw.classes())
    given = draw.of([None, None, "train", "prior", "numbers"])
    how: Any = None
    if given == "train":
        how = draw.labels(draw.rows(least=2), 3)[0]
    elif given == "prior":
        how = {0: 0.25, 2: 0.5, 5: 0.25}
    elif given == "numbers":
        how = (draw.uniform(-1, 3), draw.uniform(0.1, 3))
    return of_rows(draw, y, y + draw.scores(n, far=20), given=given, how=how)


def extended(y_true: Any, y_pred: Any, sample_weight: Any, given: Any, how: Any) -> float:
    if given is None:
        made = metrics.extended_qwk_metric()
    elif given == "train":
        made = metrics.extended_qwk_metric(how)
    elif given == "prior":
        made = metrics.extended_qwk_metric(target_prior=how)
    else:
        made = metrics.extended_qwk_metric(mean=how[0], variance=how[1])
    return made(y_true, y_pred, sample_weight)


def extended_reference(y_true: Any, y_pred: Any, sample_weight: Any, given: Any, how: Any) -> Near:
    rows = counted(sample_weight, len(y_true))
    y, p = ([fractions(values)[i] for i in rows] for values in (y_true, y_pred))
    w = [weights_of(sample_weight, len(y_true))[i] for i in rows]
    measured, of = y, w
    if given == "train":
        measured, of = fractions(how), [Fraction(1)] * len(how)
    elif given == "prior":
        measured, of = fractions(how), fractions(how.values())
    a, b = moments(measured, of)
    if given == "numbers":
        a, b = fractions(how)
    else:
        check_spread(measured, of, b)
    F = mean([(u - v) ** 2 for u, v in zip(p, y, strict=True)], w)
    D = mean([(u - a) ** 2 for u in p], w)
    single = all(values.dtype == np.float32 for values in (y_true, y_pred))
    # p - y and p - a round by a share of p, and their squares by that times the square of p; b is
    # a difference of mean squares above the lowest label
    size = mean([u * u + v * v for u, v in zip(p, y, strict=True)], w) + a * a
    second = mean([(v - min(measured)) ** 2 for v in measured], of)
    unit = 2e-6 if single else 4e-15
    rel = unit * (real(size) ** 0.5 * real(F + D) ** 0.5 + real(F + D) + real(second))
    rel += (unit * real(size) ** 0.5) ** 2
    G = real(D + b)
    if rel > 0.01 * G:
        raise Unclear
    return Near(1 - F / (D + b), 2 * rel / G * (1 + real(F) / G) + 1e-14)


def draw_squared(draw: Draw) -> Arguments:
    n = draw.rows()
    return of_rows(draw, draw.labels(n, draw.classes())[0], draw.scores(n, far=20))


def squared(y_true: Any, y_pred: Any, sample_weight: Any) -> float:
    return metrics.squared_error_metric()(y_true, y_pred, sample_weight)


def squared_reference(y_true: Any, y_pred: Any, sample_weight: Any) -> Near:
    y, p, w = fractions(y_true), fractions(y_pred), weights_of(sample_weight, len(y_true))
    value = mean([(u - v) ** 2 for u, v in zip(p, y, strict=True)], w)
    terms = mean([(abs(u) + abs(v)) ** 2 for u, v in zip(p, y, strict=True)], w)
    single = y_true.dtype == y_pred.dtype == np.float32
    return Near(value, (1e-6 if single else 1e-14) * real(terms) + 1e-300)


def draw_logloss(draw: Draw) -> Arguments:
    n = draw.rows()
    space = draw.of(["margin", "probability"])
    p = draw.margins(n) if space == "margin" else draw.probabilities(n)
    rate = draw.rate()
    y = draw.soft(n) if rate == 1 and draw.chance(0.6) else draw.binary(n)
    return of_rows(draw, y, p, negative_keep_rate=rate, input_space=space)


def logloss(
    negative_keep_rate: float, input_space: Any, y_true: Any, y_pred: Any, sample_weight: Any
) -> float:
    made = metrics.weighted_logloss_metric(negative_keep_rate, input_space=input_space)
    return made(y_true, y_pred, sample_weight)


def minus_log(y: Any, p: Any, margin: bool) -> Any:
    """-log of the probability of the label, inf where that is 0."""
    if margin:
        return softplus(-real(p) if y else real(p))
    q = fraction(p) if y else 1 - fraction(p)
    return -mp.log(real(q)) if q else mp.inf


def weighted_mean(values: list[Any], w: list[Any]) -> Any:
    """A mean in which rows of weight 0 do not count, be they infinite."""
    terms = [real(v) * x for x, v in zip(w, values, strict=True) if x]
    return sum(terms) / real(sum(w))


def check_swapped(name: str, shares: list[Any], predictions: Any, sample_weight: Any) -> None:
    """Predictions are not 0 and 1, as labels are, beside labels between these, in all rows or in
    those that count."""
    some = counted(sample_weight, len(shares))
    for rows in (range(len(shares)), some):
        values = {float(predictions[i]) for i in rows}
        if values == {0.0, 1.0} and any(0 < shares[i] < 1 for i in rows):
            raise Unclear if len(rows) > len(some) else Outside(name)


def logloss_reference(
    negative_keep_rate: float, input_space: Any, y_true: Any, y_pred: Any, sample_weight: Any
) -> Near:
    r, w = fraction(negative_keep_rate), weights_of(sample_weight, len(y_true))
    shares = fractions(y_true)
    of_margins = input_space == "margin"
    check_swapped("y_pred", shares, y_pred, sample_weight)
    v = [x if y else x / r for x, y in zip(w, shares, strict=True)]
    losses = [
        sum(real(share) * minus_log(k, p, of_margins) for k, share in ((1, y), (0, 1 - y)) if share)
        for y, p in zip(shares, y_pred, strict=True)
    ]
    value = weighted_mean(losses, v)
    single = y_pred.dtype == np.float32 and y_true.dtype == np.float32
    # all terms are positive; the loss of a probability near 1 is that of a rounded 1 - p
    return Near(value, (3e-6 if single else 1e-13) * value + 1e-300)


def draw_class_probability(draw: Draw) -> Arguments:
    n, K = draw.rows(), draw.classes()
    space = draw.of(["margin", "probability"])
    p = draw.margins((n, K)) if space == "margin" else draw.probability_rows(n, K)
    y = draw.positions(n, K).astype(draw.of(["i8", "f8", "u1"]))
    return of_rows(draw, y, p, n_classes=draw.of([None, K]), input_space=space)


def read_class_probability(
    input_space: str, y_true: Any, y_pred: Any
) -> tuple[list[list[Any]], list[int]]:
    """Probabilities of each row in 50 digits, as logs of margins would have them, and labels."""
    if input_space == "probability":
        return [[real(p) for p in row] for row in y_pred], [int(y) for y in y_true]
    looks = y_pred.min() >= 0 and y_pred.max() <= 1 and y_pred.shape[1] > 2
    if looks and np.allclose(y_pred.sum(axis=1), 1, rtol=0, atol=1e-5):
        raise Outside("y_pred")
    found = []
    for row in y_pred:
        top = max(map(real, row))
        e = [mp.exp(real(z) - top) for z in row]
        found.append([x / sum(e) for x in e])
    return found, [int(y) for y in y_true]


def class_logloss(
    n_classes: Any, input_space: Any, y_true: Any, y_pred: Any, sample_weight: Any
) -> float:
    made = metrics.class_logloss_metric(n_classes, input_space=input_space)
    return made(y_true, y_pred, sample_weight)


def class_logloss_reference(
    n_classes: Any, input_space: Any, y_true: Any, y_pred: Any, sample_weight: Any
) -> Near:
    P, y = read_class_probability(input_space, y_true, y_pred)
    losses = []
    for row, k in zip(P, y, strict=True):
        others = sum(q for j, q in enumerate(row) if j != k)
        if input_space == "margin":  # without the loss of 1 - p
            losses.append(mp.log1p(others / row[k]))
        else:
            losses.append(-mp.log(row[k]) if row[k] else mp.inf)
    value = weighted_mean(losses, weights_of(sample_weight, len(y)))
    margins = max(abs(float(z)) for z in np.ravel(y_pred)) if input_space == "margin" else 0.0
    eps = 2e-6 if y_pred.dtype == np.float32 else 1e-14
    if mp.isinf(value):
        return Near(value)
    return Near(value, eps * (value + margins + 1))  # log softmax is a difference of margins


def ranked(n_classes: Any, input_space: Any, y_true: Any, y_pred: Any, sample_weight: Any) -> float:
    made = metrics.ranked_probability_score_metric(n_classes, input_space=input_space)
    return made(y_true, y_pred, sample_weight)


def ranked_reference(
    n_classes: Any, input_space: Any, y_true: Any, y_pred: Any, sample_weight: Any
) -> Near:
    P, y = read_class_probability(input_space, y_true, y_pred)
    losses = [
        sum((sum(row[: j + 1]) - (k <= j)) ** 2 for j in range(len(row) - 1))
        for row, k in zip(P, y, strict=True)
    ]
    value = weighted_mean(losses, weights_of(sample_weight, len(y)))
    # 1 - P rounds by EPS; softmax of margins of thousands by EPS of these
    far = max(abs(float(z)) for z in np.ravel(y_pred)) if input_space == "margin" else 0.0
    eps = 1e-6 if y_pred.dtype == np.float32 else 1e-14
    return Near(value, eps * len(P[0]) * (1 + min(far, 100)) * (value**0.5 + value + eps))
