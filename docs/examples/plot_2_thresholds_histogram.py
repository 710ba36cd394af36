"""
Where the thresholds lie
========================

The picture shows the scores of held-out rows, stacked by label. The lines are the thresholds of
:func:`~gbdt_objectives.optimize_thresholds`, with the predicted class between two of them. Without
thresholds, rounding would cut at the half-integers.
"""

import lightgbm as lgb
import matplotlib.pyplot as plt
import numpy as np

from gbdt_objectives.plotting import ThresholdDisplay

rng = np.random.default_rng(0)
X = rng.random((9000, 8))
y = np.digitize(X[:, :4].sum(1) + rng.normal(0, 0.5, 9000), [1.2, 1.6, 2.0, 2.4, 2.8]) + 1
model = lgb.LGBMRegressor(n_estimators=80, num_leaves=7, verbose=-1).fit(X[:6000], y[:6000])

display = ThresholdDisplay.from_predictions(y[6000:], model.predict(X[6000:]), method="plugin")
display.figure_.set_size_inches(7.2, 4.4)
print(display.thresholds.round(2))
plt.show()
