"""
The convex hull of the ROC curve as a calibrator
================================================

Any ranking has an ROC curve, and the slopes of its convex hull are the odds of its rows. They give
a calibrated probability for each score, which
:class:`~gbdt_objectives.calibration.ROCConvexHullCalibrator` predicts. The left picture shows the
curve and the hull, the right one the map from score to probability. Fit the calibrator on rows
that the model has not seen. With few positives the steps are coarse, and smoothing (``m=``) or
another calibrator is better.
"""

import lightgbm as lgb
import matplotlib.pyplot as plt
import numpy as np

from gbdt_objectives.plotting import ROCHullDisplay

rng = np.random.default_rng(0)
X = rng.standard_normal((3000, 6))
margin = -2 + X[:, 0] + 0.8 * X[:, 1] * X[:, 2] + 0.6 * np.abs(X[:, 3])
y = (rng.random(3000) < 1 / (1 + np.exp(-margin))).astype(int)
model = lgb.LGBMClassifier(n_estimators=60, num_leaves=7, verbose=-1).fit(X[:2000], y[:2000])
score = model.predict(X[2000:], raw_score=True)  # log-odds

figure, axes = plt.subplots(1, 2, figsize=(8.4, 4.2), layout="constrained")
for axis, kind in zip(axes, ("curve", "map"), strict=True):
    ROCHullDisplay.from_predictions(y[2000:], score, kind=kind, ax=axis)
plt.show()
