"""The room of evaluation: scores fold by fold, and the closed form of nested cross-validation."""

from __future__ import annotations

import math
from fractions import Fraction
from itertools import combinations
from typing import Any

import numpy as np
from mpmath import mp
from sklearn.base import BaseEstimator, ClassifierMixin

from gbdt_objectives import evaluation, thresholds
from tests.fuzz.exact import weights_of
from tests.fuzz.generators import Draw
from tests.fuzz.harness import Arguments, Holds, Near, Outside, Unclear
from tests.fuzz.metrics import class_value, confusion


def draw_folds(draw: Draw) -> Arguments:
    K, F = draw.of([2, 3]), draw.of([2, 3])
    n = draw.between(4 * F, 24)
    fold = draw.rng.permutation(np.arange(n) % F)
    return {
        "y_true": draw.rng.permutation(np.arange(n) % K), "score": draw.scores(n),
        "sample_weight": draw.of([None, draw.rng.integers(0, 4, n)]), "K": K, "fold": fold,
        "metric": draw.of(["accuracy", "mae", "macro_recall", "linear"]),
    }  # fmt: skip


def folds(y_true: Any, score: Any, sample_weight: Any, K: int, fold: Any, metric: str) -> Any:
    splits = [(np.flatnonzero(fold != k), np.flatnonzero(fold == k)) for k in np.unique(fold)]
    found = evaluation.cross_validate_thresholds(
        y_true, score, method=["exact", "rounding"], cv=splits, labels=range(K),
        sample_weight=sample_weight, metric=metric, n_bootstrap=0, random_state=0,
    )  # fmt: skip
    return {
        "score": found.score, "fold_score": found.fold_score, "in_sample": found.in_sample_score,
        "difference": found.difference("exact", "rounding"),
    }  # fmt: skip


def folds_reference(
    y_true: Any, score: Any, sample_weight: Any, K: int, fold: Any, metric: str
) -> Any:
    n = len(y_true)
    w = weights_of(sample_weight, n)

    def fitted(rows: Any) -> Any:
        v = None if sample_weight is None else sample_weight[rows]
        own = {int(y_true[i]) for i in rows if w[i] > 0}
        if len(own) < 2 or sum(w[i] > 0 for i in rows) < K:
            raise Outside("y_true|sample_weight|fold")
        return thresholds.optimize_thresholds(
            y_true[rows], score[rows], method="exact", metric=metric, labels=range(K),
            sample_weight=v,
        )  # fmt: skip

    def value(rows: Any, predicted: Any) -> Any:
        some = [i for i in rows if w[i] > 0]
        if not some:
            raise Outside("sample_weight")
        y, p = [int(y_true[i]) for i in some], [int(predicted[i]) for i in some]
        found, _ = class_value(metric, None, confusion(y, p, [w[i] for i in some], K))
        if found is None:
            raise Outside("fold")
        return found

    everywhere = np.arange(n)
    try:
        whole = fitted(everywhere)
    except ValueError as error:
        raise Unclear from error
    predicted = np.empty(n, int)
    rounded = np.searchsorted(np.arange(K - 1) + 0.5, score.astype(float), side="right")
    own, other = [], []
    for k in np.unique(fold):
        train, test = np.flatnonzero(fold != k), np.flatnonzero(fold == k)
        predicted[test] = fitted(train).apply(score[test])
        own.append(value(test, predicted))
        other.append(value(test, rounded))
    sign = -1 if metric == "mae" else 1
    gains = [sign * (a - b) for a, b in zip(own, other, strict=True)]
    mean = sum(gains) / len(gains)
    error = mp.sqrt(
        sum(mp.mpf(float(x - mean)) ** 2 for x in gains) / (len(gains) - 1) / len(gains)
    )
    return {
        "score": [Near(value(everywhere, p), 1e-12) for p in (predicted, rounded)],
        "fold_score": [[Near(x, 1e-12) for x in own], [Near(x, 1e-12) for x in other]],
        "in_sample": [
            Near(value(everywhere, whole.apply(score)), 1e-12),
            Near(value(everywhere, rounded), 1e-12),
        ],
        "difference": (Near(mean, 1e-12), Near(error, 1e-9)),
    }  # fmt: skip


LOG: list[tuple[Any, Any, Any]] = []
"""The rows that models of the running example were trained on and asked for, and their answers."""


class MostFrequent(ClassifierMixin, BaseEstimator):
    """The most frequent class among training rows of the same feature; columns: number, feature."""

    def __init__(self, feature: int = 1) -> None:
        self.feature = feature

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> MostFrequent:
        self.rows_, self.classes_ = X[:, 0].astype(int), np.unique(y)
        self.of_ = {
            x: np.bincount(y[X[:, self.feature] == x]).argmax() for x in set(X[:, self.feature])
        }
        self.common_ = np.bincount(y).argmax()
        return self

    def predict(self, X: Any) -> Any:
        found = np.array([self.of_.get(x, self.common_) for x in X[:, self.feature]])
        LOG.append((self.rows_, X[:, 0].astype(int), found))
        return found


def draw_nested(draw: Draw) -> Arguments:
    n, K = draw.between(12, 20), draw.of([3, 4])
    x = draw.rng.integers(0, 4, (n, 2))
    y = (x[:, 0] + draw.rng.integers(0, 2, n)) % 3
    y[: 2 * K] = np.arange(2 * K) % 2
    return {
        "X": np.column_stack([np.arange(n), x]).astype(float), "y": y,
        "sample_weight": draw.rng.uniform(0.5, 2, n) if draw.chance(0.5) else None, "K": K,
        "metric": draw.of(["accuracy", "mae"]), "level": draw.of([0.9, 0.5]),
        "random_state": draw.below(1000),
    }  # fmt: skip


def nested(
    X: Any, y: Any, sample_weight: Any, K: int, metric: str, level: float, random_state: int
) -> Any:
    LOG.clear()
    found = evaluation.compare_performance(
        MostFrequent(1), MostFrequent(2), X, y, metric, cv=K, n_repeats=2, labels=[0, 1, 2],
        sample_weight=sample_weight, confidence_level=level, random_state=random_state,
    )  # fmt: skip
    log = list(LOG)
    alone = evaluation.estimate_performance(
        MostFrequent(1), X, y, metric, cv=K, n_repeats=2, labels=[0, 1, 2],
        sample_weight=sample_weight, confidence_level=level, random_state=random_state,
    )  # fmt: skip
    return {"found": found, "alone": alone, "log": log}


def nested_reference(
    X: Any, y: Any, sample_weight: Any, K: int, metric: str, level: float, random_state: int
) -> Any:
    n = len(y)
    w, R, fits = weights_of(sample_weight, n), 2, K + K * (K - 1) // 2
    z = float(mp.sqrt(2) * mp.erfinv(level))

    def loss(i: int, p: int) -> Fraction:
        return Fraction(int(y[i] == p) if metric == "accuracy" else abs(int(y[i]) - int(p)))

    def mean(values: dict[int, Fraction], rows: Any) -> Fraction:
        return sum(w[i] * values[i] for i in rows) / sum(w[i] for i in rows)

    def losses(log: Any, r: int, which: int) -> tuple[Any, Any, Any]:
        """Of one repeat: the folds, losses without a row's fold, and without fold k as well."""
        own = log[(2 * r + which) * fits :][:fits]
        fold, outer = {}, {}
        inner: list[dict[int, Fraction]] = [{} for _ in range(K)]
        for k in range(K):
            for i, p in zip(*own[k][1:], strict=True):
                fold[i], outer[i] = k, loss(i, p)
        for (j, k), (train, test, found) in zip(combinations(range(K), 2), own[K:], strict=True):
            assert not {fold[i] for i in train} & {j, k}
            for i, p in zip(test, found, strict=True):
                inner[k if fold[i] == j else j][i] = loss(i, p)
        return fold, outer, inner

    def error(parts: list[tuple[Any, Any, Any]]) -> tuple[float, float, float, float]:
        naive, shifts, excess, scores = [], [], [], []
        for fold, outer, inner in parts:
            s = mean(outer, range(n))
            scores.append(s)
            naive.append(Fraction(n, n - 1) * sum((w[i] * (outer[i] - s)) ** 2 for i in range(n))
                         / sum(w) ** 2)  # fmt: skip
            for k in range(K):
                out = [i for i in range(n) if fold[i] == k]
                rest = [i for i in range(n) if fold[i] != k]
                e_out, e_cv, e_in = mean(outer, out), mean(outer, rest), mean(inner[k], rest)
                shifts.append(e_in - e_cv)
                excess.append((e_in - e_out) ** 2 - (e_cv - e_out) ** 2)
        V, d = sum(naive) / R, sum(shifts) / len(shifts)
        bias = Fraction(K - 2, K) * d
        centre = sum(scores) / R
        spread = sum((s - centre) ** 2 for s in scores) / (R - 1)
        square = V + Fraction(K - 1, K) * (sum(excess) / len(excess) - d**2) + bias**2
        square = min(max(square - (1 - Fraction(1, R)) * spread, V), K * V)
        return float(centre), math.sqrt(square), math.sqrt(V), float(bias)

    def right(found: Any) -> bool:
        both = [[losses(found["log"], r, which) for r in range(R)] for which in (0, 1)]
        compared, alone = found["found"], found["alone"]
        for parts, part in zip(
            [*both, both[0]], [compared.first, compared.second, alone], strict=True
        ):
            centre, e, naive, bias = error(parts)
            says = part.estimate, part.standard_error, part.naive_error, part.bias, *part.interval
            must = centre, e, naive, bias, centre - z * e, centre + z * e
            if not np.allclose(says, must, rtol=1e-7, atol=1e-9):
                return False
        sign = 1 if metric == "accuracy" else -1
        difference = [
            (a[0], {i: a[1][i] - b[1][i] for i in a[1]},
             [{i: u[i] - v[i] for i in u} for u, v in zip(a[2], b[2], strict=True)])
            for a, b in zip(*both, strict=True)
        ]  # fmt: skip
        centre, e, *_ = error(difference)
        says = compared.difference, compared.standard_error, *compared.interval
        must = sign * centre, e, sign * centre - z * e, sign * centre + z * e
        return bool(np.allclose(says, must, rtol=1e-7, atol=1e-9))

    return Holds("estimates, errors and intervals of the closed form", right)
