from collections import Counter
from functools import partial

import numpy as np
import scipy.optimize

N_CLASSES = 6
FIRST_CLASS = 1


def confusion_matrix(rater_a, rater_b, min_rating=None, max_rating=None):
    """Returns the confusion matrix between two raters."""
    assert len(rater_a) == len(rater_b)
    if min_rating is None:
        min_rating = min(min(rater_a), min(rater_b))
    if max_rating is None:
        max_rating = max(max(rater_a), max(rater_b))
    num_ratings = int(max_rating - min_rating + 1)
    conf_mat = [[0 for _ in range(num_ratings)] for _ in range(num_ratings)]
    for a, b in zip(rater_a, rater_b, strict=True):
        conf_mat[int(a - min_rating)][int(b - min_rating)] += 1
    return conf_mat


def histogram(ratings, min_rating=None, max_rating=None):
    """Returns the counts of each type of rating that a rater made."""
    if min_rating is None:
        min_rating = min(ratings)
    if max_rating is None:
        max_rating = max(ratings)
    hist = [0 for _ in range(int(max_rating - min_rating + 1))]
    for rating, count in Counter(ratings).items():
        hist[int(rating - min_rating)] += count
    return hist


def quadratic_weighted_kappa(y, y_pred):
    """1 is perfect agreement, 0 is agreement by chance."""
    rater_a = [int(v) for v in y]
    rater_b = [int(v) for v in y_pred]
    min_rating = min(min(rater_a), min(rater_b))
    max_rating = max(max(rater_a), max(rater_b))
    conf_mat = confusion_matrix(rater_a, rater_b, min_rating, max_rating)
    num_ratings = len(conf_mat)
    num_scored_items = float(len(rater_a))
    hist_a = histogram(rater_a, min_rating, max_rating)
    hist_b = histogram(rater_b, min_rating, max_rating)
    numerator = 0.0
    denominator = 0.0
    for i in range(num_ratings):
        for j in range(num_ratings):
            expected = hist_a[i] * hist_b[j] / num_scored_items
            d = (i - j) ** 2 / (num_ratings - 1) ** 2
            numerator += d * conf_mat[i][j] / num_scored_items
            denominator += d * expected / num_scored_items
    return 1.0 - numerator / denominator


class OptimizedRounder:
    """Finds the cut points between classes that maximise the kappa."""

    def __init__(self, initial=None):
        self.coef_ = None
        if initial is None:
            initial = [FIRST_CLASS + 0.5 + k for k in range(N_CLASSES - 1)]
        self.initial = initial

    def _digitize(self, X, coef):
        X_p = np.copy(X)
        for i, pred in enumerate(X_p):
            if pred < coef[0]:
                X_p[i] = FIRST_CLASS
            elif pred < coef[1]:
                X_p[i] = FIRST_CLASS + 1
            elif pred < coef[2]:
                X_p[i] = FIRST_CLASS + 2
            elif pred < coef[3]:
                X_p[i] = FIRST_CLASS + 3
            elif pred < coef[4]:
                X_p[i] = FIRST_CLASS + 4
            else:
                X_p[i] = FIRST_CLASS + 5
        return X_p.astype(int)

    def _kappa_loss(self, coef, X, y):
        return -quadratic_weighted_kappa(y, self._digitize(X, coef))

    def fit(self, X, y):
        loss_partial = partial(self._kappa_loss, X=X, y=y)
        result = scipy.optimize.minimize(loss_partial, self.initial, method="nelder-mead")
        self.coef_ = result["x"]
        return self

    def predict(self, X, coef=None):
        if coef is None:
            coef = self.coef_
        return self._digitize(X, coef)

    def coefficients(self):
        return self.coef_


def run(score, y, test_score):
    rounder = OptimizedRounder()
    rounder.fit(score, y)
    return rounder.predict(test_score)
