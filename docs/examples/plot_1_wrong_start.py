"""
What a wrong start costs
========================

An objective of quadratic weighted kappa is trained on grades of 20 to 24, with the same trees but
from other starts. Far from the grades its gradient hardly moves the scores: the further away
boosting starts, the more rounds are lost. From 0.5, where XGBoost starts a custom objective, all
300 are. :func:`~gbdt_objectives.adapters.xgboost.train` starts at the objective's intercept.
"""

import matplotlib.pyplot as plt
import numpy as np
import xgboost as xgb
from sklearn.datasets import make_friedman1

from gbdt_objectives import quadratic_weighted_kappa, qwk_objective
from gbdt_objectives.adapters.xgboost import train

X, score = make_friedman1(2000, noise=2, random_state=0)
y = np.digitize(score, [8, 12, 16, 20]) + 20  # grades 20 to 24
data, new = xgb.DMatrix(X[:1000], y[:1000]), xgb.DMatrix(X[1000:])


def pasted(p, data):
    """The objective as it is passed around."""
    y, a, b = data.get_label(), 22.0, 1.4
    f, g = 0.5 * np.sum((p - y) ** 2), 0.5 * np.sum((p - a) ** 2 + b)
    return len(y) * ((p - y) / g - f * (p - a) / g**2), np.ones(len(y))


def kappa(booster, n):
    """Of new rows, after n rounds."""
    grades = booster.predict(new, iteration_range=(0, n)).round().clip(20, 24)
    return quadratic_weighted_kappa(y[1000:], grades, labels=range(20, 25))


params = {"max_depth": 3}
boosters = {"the intercept": train(params, data, 300, objective=qwk_objective())}
for start in (20, 18, 0.5):
    boosters[f"{start:g}"] = xgb.train({**params, "base_score": start}, data, 300, obj=pasted)

# %%

rounds = [*range(1, 50), *range(50, 301, 5)]
figure, axis = plt.subplots(figsize=(7.2, 4.2), layout="constrained")
for (name, booster), style in zip(boosters.items(), ("-", "--", "-.", ":"), strict=True):
    axis.plot(rounds, [kappa(booster, n) for n in rounds], style, lw=2, label=name)
axis.set(xlabel="round", ylabel="QWK on new rows")
axis.legend(title="start", loc="center right")
axis.spines[["top", "right"]].set_visible(False)
plt.show()
