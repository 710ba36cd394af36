"""
Clicks from a tenth of the other rows, uncorrected and corrected
================================================================

One row in 140 is a click, and a tenth of the other rows is kept. The same booster predicts too many
clicks if it is trained on these rows as they are. :class:`~gbdt_objectives.DownsampledClassifier`
samples, corrects, and calibrates its three samples on the rows that they left out. The legend shows
the mean prediction divided by the mean outcome; 1 is best.
"""

import lightgbm as lgb
import matplotlib.pyplot as plt
import numpy as np

from gbdt_objectives import DownsampledClassifier, negative_downsample
from gbdt_objectives.plotting import ReliabilityDisplay

rng = np.random.default_rng(0)
X = rng.normal(size=(200_000, 6))
p_true = 1 / (1 + np.exp(6 - X[:, 0] - X[:, 1] * X[:, 2]))
y = (rng.random(len(X)) < p_true).astype(int)
log, new = slice(0, 100_000), slice(100_000, None)

base = lgb.LGBMClassifier(n_estimators=100, num_leaves=8, learning_rate=0.05, n_jobs=1, verbose=-1)
rows = negative_downsample(y[log], 0.1, random_state=0)
uncorrected = base.fit(X[log][rows], y[log][rows]).predict_proba(X[new])[:, 1]
model = DownsampledClassifier(base, 0.1, n_bags=3, random_state=0).fit(X[log], y[log])
corrected = model.predict_proba(X[new])[:, 1]

# %%

models = {"uncorrected": uncorrected, "corrected": corrected}
display = ReliabilityDisplay.from_predictions(y[new], models, strategy="events", scale="log")
display.figure_.set_size_inches(7.2, 4.8)
plt.show()
