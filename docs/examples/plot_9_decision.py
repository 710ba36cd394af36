"""
Decisions by cost, as confusion matrices
========================================

A fraud that is let through costs 50, and a false alarm costs 1. The probabilities are those of a
model that was trained on a tenth of the other rows, and corrected. At one half nothing is stopped.
Where costs decide, :func:`~gbdt_objectives.decide` stops each row whose probability of fraud is
above 1/51. The threshold on uncorrected probabilities stops far too many.
"""

import lightgbm as lgb
import matplotlib.pyplot as plt
import numpy as np
from sklearn.metrics import ConfusionMatrixDisplay

from gbdt_objectives import correct_probability, decide, negative_downsample
from gbdt_objectives.metrics import cost_metric

rng = np.random.default_rng(0)
X = rng.normal(size=(60_000, 4))
fraud = (rng.random(60_000) < 1 / (1 + np.exp(5 - 1.5 * X[:, 0] - X[:, 1]))).astype(int)
train = negative_downsample(fraud[:30_000], 0.1, random_state=0)
model = lgb.LGBMClassifier(n_estimators=50, num_leaves=4, n_jobs=1, verbose=-1)
uncorrected = model.fit(X[train], fraud[train]).predict_proba(X[30_000:])[:, 1]
p = correct_probability(uncorrected, negative_keep_rate=0.1)

cost = cost_metric([[0, 1], [50, 0]])  # [true, predicted]
actions = {
    "at one half": (p >= 0.5).astype(int),
    "by cost": decide(np.column_stack([1 - p, p]), cost),
    "by cost, uncorrected": decide(np.column_stack([1 - uncorrected, uncorrected]), cost),
}

# %%
# The numbers are shares of all honest payments, and of all frauds.

figure, axes = plt.subplots(1, 3, figsize=(9.2, 3.9), sharey=True, layout="constrained")
for axis, (name, action) in zip(axes, actions.items(), strict=True):
    ConfusionMatrixDisplay.from_predictions(
        fraud[30_000:], action, display_labels=["honest", "fraud"], normalize="true",
        values_format=".1%", cmap="Blues", im_kw={"vmin": 0, "vmax": 1}, colorbar=False, ax=axis,
    )  # fmt: skip
    axis.set_title(f"{name}\nmean cost {cost(fraud[30_000:], action):.2f}", fontsize="medium")
    axis.set(xlabel="decision", ylabel="")
    axis.set_xticklabels(["let through", "stop"])
    axis.tick_params(left=False)
axes[0].set_ylabel("truth")
plt.show()
