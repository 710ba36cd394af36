"""A small boosting library, as its authors publish it: it knows nothing of this package.

``objective(y_true, margin, sample_weight)`` returns gradient and hessian, as XGBoost's does.
"""

from __future__ import annotations

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin
from sklearn.tree import DecisionTreeRegressor


def squared_error(y, margin, sample_weight):
    w = np.ones(len(y)) if sample_weight is None else sample_weight
    return w * (margin - y), w


class Stumps(BaseEstimator):
    def __init__(
        self, n_estimators=50, learning_rate=0.3, max_depth=2, start=0.0, objective=None,
        transform=None,
    ):  # fmt: skip
        self.n_estimators, self.learning_rate, self.max_depth = (
            n_estimators, learning_rate, max_depth,
        )  # fmt: skip
        self.start, self.objective, self.transform = start, objective, transform

    def boost(self, X, y, sample_weight):
        X, y = np.asarray(X, float), np.asarray(y, float)
        objective = self.objective or squared_error
        self.start_, self.transform_, self.trees_ = self.start, self.transform, []
        margin = np.full(len(y), self.start_)
        for _ in range(self.n_estimators):
            g, h = objective(y, margin, sample_weight)
            h = np.maximum(h, 1e-6)
            tree = DecisionTreeRegressor(max_depth=self.max_depth, random_state=0)
            self.trees_.append(tree.fit(X, -g / h, h))
            margin = margin + self.learning_rate * tree.predict(X)
        return self

    def margin(self, X):
        X = np.asarray(X, float)
        found = np.full(len(X), self.start_)
        for tree in self.trees_:
            found += self.learning_rate * tree.predict(X)
        return found


class StumpsRegressor(RegressorMixin, Stumps):
    def fit(self, X, y, sample_weight=None):
        return self.boost(X, y, sample_weight)

    def predict(self, X, raw_score=False):
        margin = self.margin(X)
        return margin if raw_score or self.transform_ is None else self.transform_(margin)


class StumpsClassifier(ClassifierMixin, Stumps):
    """Of two classes, by squared error on 0 and 1 unless an objective is given."""

    def fit(self, X, y, sample_weight=None):
        self.classes_, position = np.unique(y, return_inverse=True)
        return self.boost(X, position, sample_weight)

    def predict(self, X, raw_score=False):
        if raw_score:
            return self.margin(X)
        return self.classes_[self.predict_proba(X).argmax(axis=1)]

    def predict_proba(self, X):
        p = self.margin(X).clip(0, 1)
        return np.column_stack([1 - p, p])
