"""
Why scores of squared error do not round well
=============================================

A model trained on squared error predicts the mean grade of rows that look alike, which is nearer
to the middle than the grades themselves. Rounded scores therefore hardly ever give the outer
grades. A model trained on :func:`~gbdt_objectives.qwk_objective` finds the same order of rows, but
its scores spread as far as the labels, so they can be rounded directly. Thresholds make up for
the difference: with them both models are equally good in this example.
"""

import lightgbm as lgb
import matplotlib.pyplot as plt
import numpy as np

from gbdt_objectives import (
    apply_thresholds,
    optimize_thresholds,
    quadratic_weighted_kappa,
    qwk_objective,
)
from gbdt_objectives.adapters.lightgbm import train

rng = np.random.default_rng(0)
X = rng.random((9000, 8))
y = np.digitize(X[:, :4].sum(1) + rng.normal(0, 0.5, 9000), [1.2, 1.6, 2.0, 2.4, 2.8]) + 1
data = lgb.Dataset(X[:6000], y[:6000], free_raw_data=False)
X_test, y_test = X[6000:], y[6000:]
small = {"num_leaves": 7, "verbose": -1}
scores = {
    "squared error": lgb.train({**small, "objective": "regression"}, data, 80).predict(X_test),
    "QWK objective": train(small, data, 80, objective=qwk_objective()).predict(X_test),
}

# %%
# The dotted lines show where rounding cuts. Thresholds are placed on one half of the test rows and
# judged on the other half.

halves = slice(0, 1500), slice(1500, 3000)


def cut(score):
    """Grades by thresholds of the other half."""
    return np.concatenate([
        apply_thresholds(score[own], optimize_thresholds(y_test[other], score[other]))
        for own, other in (halves, halves[::-1])
    ])  # fmt: skip


figure, axes = plt.subplots(
    1, 2, figsize=(8.4, 3.8), sharex=True, sharey=True, layout="constrained"
)
bins = np.linspace(*np.quantile(list(scores.values()), [0.001, 0.999]), 60)
colors = plt.get_cmap("viridis")(np.linspace(0, 0.88, 6))
for axis, (name, score) in zip(axes, scores.items(), strict=True):
    grades = np.rint(score).clip(1, 6).astype(int)
    rounded, placed = (
        quadratic_weighted_kappa(y_test, found, labels=range(1, 7))
        for found in (grades, cut(score))
    )
    axis.hist([score[y_test == k] for k in range(1, 7)], bins, stacked=True, color=colors,
              label=[f"grade {k}" for k in range(1, 7)])  # fmt: skip
    for half in np.arange(1.5, 6):
        axis.axvline(half, color="black", lw=1, ls=":")
    axis.set_title(
        f"{name}\nQWK {rounded:.3f} rounded, {placed:.3f} with thresholds", fontsize="medium"
    )
    axis.set_xlabel("score on the test rows")
    axis.spines[["top", "right"]].set_visible(False)
axes[0].set_ylabel("rows")
axes[1].legend(fontsize="small", reverse=True)
plt.show()
