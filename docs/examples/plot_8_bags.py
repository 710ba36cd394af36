"""
Samples that calibrate each other
=================================

Boosters that are trained on few negatives are overconfident, and the correction of the prior does
not repair that. :class:`~gbdt_objectives.DownsampledClassifier` draws five samples, each of which
leaves out a fifth of the events. A calibrator is fitted to what the models predict for rows that
they did not see, and no other model is trained. The legend shows the mean prediction divided by the
mean outcome; 1 is best.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.ensemble import HistGradientBoostingClassifier

from gbdt_objectives import DownsampledClassifier
from gbdt_objectives.plotting import ReliabilityDisplay


def events(n: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Features and labels, about one in a hundred of them 1."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, 6))
    margin = -5.6 + X[:, 0] + 0.8 * X[:, 1] * X[:, 2] + 0.6 * np.abs(X[:, 3])
    return X, (rng.random(n) < 1 / (1 + np.exp(-margin))).astype(int)


X, y = events(40_000, seed=1)
X_test, y_test = events(100_000, seed=2)
booster = HistGradientBoostingClassifier(random_state=0)
predicted = {
    name: DownsampledClassifier(booster, 0.02, n_bags=5, calibrate=calibrate, random_state=0)
    .fit(X, y)
    .predict_proba(X_test)[:, 1]
    for name, calibrate in {"five samples": False, "five samples, calibrated": True}.items()
}

# %%
# Each point is a bin with as many events as the others. Its bar shows the confidence limits of the
# frequency of events.

display = ReliabilityDisplay.from_predictions(y_test, predicted, strategy="events", scale="log")
display.figure_.set_size_inches(7.2, 4.8)
plt.show()
