"""Objectives whose margins only they can turn into class probabilities, in a few lines each."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from scipy.special import expit, logit, softmax

from gbdt_objectives._checks.arrays import BINARY, Values
from gbdt_objectives._links import Link
from gbdt_objectives.metrics.base import Metric
from gbdt_objectives.objectives import Loss, Objective
from gbdt_objectives.objectives.logloss import class_totals


@dataclass(frozen=True, kw_only=True)
class ScaledLoss(Loss):
    """Logistic loss of ``scale`` * margin, whose logistic function is no probability of label 1."""

    hessian = "exact"
    labels = BINARY

    @property
    def link(self):
        return Link.score(self.probability, 2)

    scale: float = 3.0
    intercept: float | None = None

    def row_loss(self, y, f, xp):
        return np.logaddexp(0, self.scale * f) - y * self.scale * f

    def gradient_hessian(self, y, f, totals, xp):
        p = expit(self.scale * f)
        return self.scale * (p - y), self.scale**2 * p * (1 - p)

    def measured(self, rows):
        if self.intercept is not None:
            return self
        negative, positive = class_totals(rows, 2)
        mean = positive / (negative + positive)
        return replace(self, intercept=float(logit(mean) / self.scale))

    def probability(self, margin):
        z = self.scale * np.asarray(margin, np.float64)
        return np.column_stack([expit(-z), expit(z)])


@dataclass(frozen=True, kw_only=True)
class SoftmaxLoss(Loss):
    """-log softmax(f)_y, K outputs; of a class that does not occur, half a row is counted."""

    hessian = "upper_bound"
    n_classes: int = 3
    intercept: tuple[float, ...] | None = None

    @property
    def outputs(self):
        return self.n_classes

    @property
    def link(self):
        return Link.score(self.probability, self.n_classes)

    @property
    def labels(self):
        return Values(tuple(float(k) for k in range(self.n_classes)))

    def row_loss(self, y, f, xp):
        p = softmax(f, axis=1)
        return -np.log(np.take_along_axis(p, y.astype(int)[:, None], axis=1)[:, 0])

    def gradient_hessian(self, y, f, totals, xp):
        p = softmax(f, axis=1)
        return p - np.eye(self.n_classes)[y.astype(int)], 2 * p * (1 - p)

    def measured(self, rows):
        if self.intercept is not None:
            return self
        count = np.array(class_totals(rows, self.n_classes))
        intercept = np.log(np.maximum(count, 0.5) / count.sum())
        return replace(self, intercept=tuple(intercept.tolist()))

    def probability(self, margin):
        return softmax(np.asarray(margin, np.float64), axis=1)


@dataclass(frozen=True, kw_only=True)
class StepsLoss(Loss):
    """A latent score for ordered classes, which needs the thresholds fitted after training.

    (f - c)^2 / 2 about the class's centre c = y - (K-1)/2.
    """

    hessian = "constant"
    n_classes: int = 3
    intercept: float | None = None
    thresholds: tuple[float, ...] | None = None

    @property
    def link(self):
        return Link.score(self.probability, self.n_classes)

    @property
    def labels(self):
        return Values(tuple(float(k) for k in range(self.n_classes)))

    def row_loss(self, y, f, xp):
        return (f - y + (self.n_classes - 1) / 2) ** 2 / 2

    def gradient_hessian(self, y, f, totals, xp):
        return f - y + (self.n_classes - 1) / 2, 1.0

    fits_margins = True

    def measured(self, rows):
        """The centre, and thresholds at which as much weight is below as is of lower classes."""
        if rows.f is None:
            total, n = rows.sum(lambda y, f, xp: (y, 1.0))
            return replace(self, intercept=float(total / n) - (self.n_classes - 1) / 2)
        y_true, margin = rows.y, rows.f
        order = np.argsort(margin)
        w = np.ones(len(order)) if rows.w is None else rows.w
        below = np.cumsum(w[order]) / np.sum(w)
        shares = [np.sum(w[y_true < k]) / np.sum(w) for k in range(1, self.n_classes)]
        at = np.searchsorted(below, shares).clip(max=len(order) - 1)
        return replace(self, thresholds=tuple(np.asarray(margin, float)[order[at]].tolist()))

    def probability(self, margin):
        if self.thresholds is None:
            raise ValueError("thresholds are not fitted")
        f = np.asarray(margin, np.float64)[:, None]
        above = expit(4 * (f - np.array(self.thresholds)))
        return -np.diff(above, axis=1, prepend=1, append=0)


@dataclass(frozen=True, kw_only=True)
class MeanLoss(Metric):
    """The mean loss of an objective."""

    name = "mean_loss"
    greater_is_better = False
    objective: Objective

    def score(self, y_true, y_pred, sample_weight):
        total = self.objective.loss(y_true, y_pred, sample_weight)
        return total / float(len(y_true) if sample_weight is None else np.sum(sample_weight))


def Scaled(**fields):
    return Objective(ScaledLoss(**fields))


def Softmax(**fields):
    return Objective(SoftmaxLoss(**fields))


def Steps(**fields):
    return Objective(StepsLoss(**fields))
