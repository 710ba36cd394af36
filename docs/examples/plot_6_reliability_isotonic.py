"""
Reliability without bins, with a band for calibrated predictions
================================================================

With ``strategy="isotonic"`` there are no bins to choose. The curve is the isotonic fit of the
labels to the predictions. The band shows where the curve lies if the predictions are calibrated:
where it leaves the band, they are not. In this example the probabilities are too extreme after the
correction for downsampling, and within the band after calibration.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.ensemble import HistGradientBoostingClassifier

from gbdt_objectives import correct_probability, negative_downsample
from gbdt_objectives.calibration import LogitCalibrator
from gbdt_objectives.plotting import ReliabilityDisplay


def events(n: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Features and labels, about one in a hundred of them 1."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, 6))
    margin = -5.6 + X[:, 0] + 0.8 * X[:, 1] * X[:, 2] + 0.6 * np.abs(X[:, 3])
    return X, (rng.random(n) < 1 / (1 + np.exp(-margin))).astype(int)


kept = 0.02
X, y = events(100_000, seed=1)
rows = negative_downsample(y, kept, random_state=0)
model = HistGradientBoostingClassifier(max_iter=80, random_state=0).fit(X[rows], y[rows])

X_held_out, y_held_out = events(100_000, seed=2)
X_test, y_test = events(100_000, seed=3)
raw, raw_held_out = (model.predict_proba(Z)[:, 1] for Z in (X_test, X_held_out))
corrected = correct_probability(raw, negative_keep_rate=kept)
held_out = correct_probability(raw_held_out, negative_keep_rate=kept)
calibrated = LogitCalibrator().fit(held_out, y_held_out).predict(corrected)

# %%

models = {"corrected": corrected, "corrected, calibrated": calibrated}
display = ReliabilityDisplay.from_predictions(y_test, models, strategy="isotonic", scale="log")
display.figure_.set_size_inches(7.2, 4.8)
plt.show()
