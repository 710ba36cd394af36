"""
Actions by cost and amount, and the reviews of a day
====================================================

A fraud that passes costs its own amount, a review costs 2, and an honest payment that is blocked
costs 9. :func:`~gbdt_objectives.decide` takes the action of least expected cost, which depends on
the probability and on the amount. A team can review 20 payments a day. The rule of
:func:`~gbdt_objectives.thresholds.optimize_actions` keeps that in the mean of the days, for rows
that come one by one.
"""

import matplotlib.pyplot as plt
import numpy as np

from gbdt_objectives import decide
from gbdt_objectives.thresholds import optimize_actions

actions = ["pass", "review", "block"]


def costs_of(amount):
    """[row, true class, action]"""
    costs = np.zeros((len(amount), 2, 3))
    costs[:, 1, 0], costs[:, :, 1], costs[:, 0, 2] = amount, 2, 9
    return costs


rng = np.random.default_rng(0)
p, amount = rng.beta(0.5, 8, 24_000), rng.lognormal(3.5, 1, 24_000)
day = rng.integers(0, 80, 24_000)
P, costs = np.column_stack([1 - p, p]), costs_of(amount)
capacity = {"review": 20}
rule = optimize_actions(P, costs, actions=actions, capacity=capacity, groups=day)
by_price = np.bincount(day, rule.apply(P, costs=costs) == "review")
kept = decide(P, costs=costs, actions=actions, capacity=capacity, groups=day)
by_day = np.bincount(day, kept == "review")

# %%
# The left panel has no capacity. In the right one a bar is the number of days with so many reviews.

figure, (left, right) = plt.subplots(1, 2, figsize=(9.2, 3.9), layout="constrained")
x, a = np.meshgrid(np.linspace(0.005, 0.995, 200), np.geomspace(1, 400, 200))
grid = np.column_stack([1 - x.ravel(), x.ravel()])
chosen = decide(grid, costs=costs_of(a.ravel()), actions=[0, 1, 2]).reshape(x.shape)
left.contourf(x, a, chosen, levels=[-0.5, 0.5, 1.5, 2.5], colors=["#dfeaf4", "#f6d9a8", "#d98c80"])
for text, at in zip(actions, [(0.12, 3), (0.4, 60), (0.85, 60)], strict=True):
    left.text(*at, text)
left.set(yscale="log", xlabel="probability of fraud", ylabel="amount", title="without a capacity")
bins = np.arange(by_price.min(), by_price.max() + 2) - 0.5
count, *_ = right.hist(by_price, bins, color="C0", label="by the price")
right.axvline(20, color="C3", label="the capacity, which decide keeps")
exceeded = f"by the price, {100 * rule.exceeded:.0f} % of days exceed it"
right.set(xlabel="reviews of a day", ylabel="days", title=exceeded, ylim=(0, 1.4 * count.max()))
right.legend(fontsize="small")
plt.show()
print(f"decide: {by_day.max():.0f} reviews a day at most")
