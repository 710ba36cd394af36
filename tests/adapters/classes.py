"""Objectives whose margins only they can turn into class probabilities, in a few lines each."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from scipy.special import expit, logit, softmax

from gbdt_objectives.metrics.base import Metric
from gbdt_objectives.objectives import Objective
from gbdt_objectives.objectives.domain import BINARY, Values


@dataclass(frozen=True, kw_only=True)
class Scaled(Objective):
    """Logistic loss of ``scale`` * margin, whose logistic function is no probability of label 1."""

    hessian_kind = "exact"
    label_domain = BINARY
    link = "score"
    n_classes = 2
    scale: float = 3.0
    intercept: float | None = None

    def _row_loss(self, y, f):
        return np.logaddexp(0, self.scale * f) - y * self.scale * f

    def _row_gradient_hessian(self, y, f):
        p = expit(self.scale * f)
        return self.scale * (p - y), self.scale**2 * p * (1 - p)

    def _label_statistics(self, y, w):
        return np.bincount(y.astype(int), w, minlength=2)

    def _from_label_statistics(self, parts):
        if self.intercept is not None:
            return self
        negative, positive = parts.sum(axis=0)
        mean = positive / (negative + positive)
        return replace(self, intercept=float(logit(mean) / self.scale))

    def class_probability(self, margin):
        z = self.scale * np.asarray(margin, np.float64)
        return np.column_stack([expit(-z), expit(z)])


@dataclass(frozen=True, kw_only=True)
class Softmax(Objective):
    """-log softmax(f)_y, K outputs; of a class that does not occur, half a row is counted."""

    hessian_kind = "upper_bound"
    link = "score"
    n_classes: int = 3
    intercept: tuple[float, ...] | None = None

    @property
    def outputs(self):
        return self.n_classes

    @property
    def label_domain(self):
        return Values(tuple(float(k) for k in range(self.n_classes)))

    def _row_loss(self, y, f):
        p = softmax(f, axis=1)
        return -np.log(np.take_along_axis(p, y.astype(int)[:, None], axis=1)[:, 0])

    def _row_gradient_hessian(self, y, f):
        p = softmax(f, axis=1)
        return p - np.eye(self.n_classes)[y.astype(int)], 2 * p * (1 - p)

    def _label_statistics(self, y, w):
        return np.bincount(y.astype(int), w, minlength=self.n_classes)

    def _from_label_statistics(self, parts):
        if self.intercept is not None:
            return self
        count = parts.sum(axis=0)
        intercept = np.log(np.maximum(count, 0.5) / count.sum())
        return replace(self, intercept=tuple(intercept.tolist()))

    def class_probability(self, margin):
        return softmax(np.asarray(margin, np.float64), axis=1)


@dataclass(frozen=True, kw_only=True)
class Steps(Objective):
    """A latent score for ordered classes, which needs the thresholds fitted after training.

    (f - c)^2 / 2 about the class's centre c = y - (K-1)/2.
    """

    hessian_kind = "constant"
    link = "score"
    n_classes: int = 3
    intercept: float | None = None
    thresholds: tuple[float, ...] | None = None

    @property
    def label_domain(self):
        return Values(tuple(float(k) for k in range(self.n_classes)))

    def _row_loss(self, y, f):
        return (f - y + (self.n_classes - 1) / 2) ** 2 / 2

    def _row_gradient_hessian(self, y, f):
        return f - y + (self.n_classes - 1) / 2, 1.0

    def _label_statistics(self, y, w):
        return np.sum(y if w is None else y * w), len(y) if w is None else np.sum(w)

    def _from_label_statistics(self, parts):
        total, n = parts.sum(axis=0)
        return replace(self, intercept=float(total / n) - (self.n_classes - 1) / 2)

    def fitted(self, y_true, margin, sample_weight=None):
        """Thresholds at which as much weight is below as is of lower classes."""
        order = np.argsort(margin)
        w = np.ones(len(order)) if sample_weight is None else np.asarray(sample_weight)
        below = np.cumsum(w[order]) / np.sum(w)
        shares = [np.sum(w[np.asarray(y_true) < k]) / np.sum(w) for k in range(1, self.n_classes)]
        at = np.searchsorted(below, shares).clip(max=len(order) - 1)
        return replace(self, thresholds=tuple(np.asarray(margin, float)[order[at]].tolist()))

    def class_probability(self, margin):
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
    objective: Objective = Scaled()

    def _check_and_score(self, y_true, y_pred, sample_weight):
        total = self.objective.loss(y_true, y_pred, sample_weight)
        return total / float(len(y_true) if sample_weight is None else np.sum(sample_weight))
