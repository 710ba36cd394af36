"""
How much each threshold matters
===============================

Each curve shows quadratic weighted kappa as one threshold moves between its neighbours while the
others stay in place. A flat top means that the threshold could lie a little further left or right.
On few rows, chance decides where it lies within the top. Therefore thresholds with one parameter
(``method="plugin"``) often do better on new rows than the exact optimum of the rows at hand.

The curves have many small peaks, and a search such as Nelder-Mead stops at one of them.
"""

import lightgbm as lgb
import matplotlib.pyplot as plt
import numpy as np

from gbdt_objectives.plotting import ThresholdDisplay

rng = np.random.default_rng(0)
X = rng.random((9000, 8))
y = np.digitize(X[:, :4].sum(1) + rng.normal(0, 0.5, 9000), [1.2, 1.6, 2.0, 2.4, 2.8]) + 1
model = lgb.LGBMRegressor(n_estimators=80, num_leaves=7, verbose=-1).fit(X[:6000], y[:6000])

display = ThresholdDisplay.from_predictions(
    y[6000:], model.predict(X[6000:]), method="exact", kind="profile"
)
display.figure_.set_size_inches(7.2, 4.4)
plt.show()
