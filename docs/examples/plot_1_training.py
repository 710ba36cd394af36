"""
Kappa while training, and the round that is kept
================================================

On the training rows kappa goes on rising, and on held-out rows it stops. ``train`` stops when the
held-out rows have not got better for 50 rounds, and keeps the best of them. LightGBM's own
``record_evaluation`` and ``plot_metric`` draw the curves.
"""

import lightgbm as lgb
import matplotlib.pyplot as plt
import numpy as np

from gbdt_objectives import qwk_metric, qwk_objective
from gbdt_objectives.adapters.lightgbm import train

rng = np.random.default_rng(0)
X = rng.random((4000, 8))
y = np.digitize(X[:, :4].sum(1) + rng.normal(0, 0.3, 4000), [1.2, 1.6, 2.0, 2.4, 2.8]) + 1
rows = lgb.Dataset(X[:2000], y[:2000])
held_out = lgb.Dataset(X[2000:], y[2000:], reference=rows)

history = {}
booster = train(
    {"learning_rate": 0.03, "verbose": -1}, rows, 500,
    objective=qwk_objective(), metric=qwk_metric(),
    evals=[(rows, "training rows"), (held_out, "held-out rows")],
    early_stopping_rounds=50, callbacks=[lgb.record_evaluation(history)],
)  # fmt: skip

# %%
# The dotted line marks the round that is kept.

(metric,) = history["held-out rows"]
best = booster.current_iteration()
figure, axis = plt.subplots(figsize=(7.2, 4.2), layout="constrained")
lgb.plot_metric(
    history, metric, ax=axis, title=None, xlabel="round", ylabel="QWK", ylim=(0, 1), grid=False
)
axis.legend(loc="center")
axis.axvline(best - 1, color="black", lw=1, ls=":")
kappa = history["held-out rows"][metric][best - 1]
axis.text(best - 4, 0.1, f"kept: {best} rounds, QWK {kappa:.3f}", ha="right")
axis.spines[["top", "right"]].set_visible(False)
plt.show()
