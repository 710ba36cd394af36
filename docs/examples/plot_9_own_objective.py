"""
What a check of an objective compares
=====================================

:func:`~gbdt_objectives.check_objective` compares the gradient of an objective with finite
differences of its loss, and its hessian with those of the gradient. In the first picture they
agree. In the second the hessian is half of what it should be, so each leaf steps twice as far as it
should; boosters train with it and say nothing.
"""

import matplotlib.pyplot as plt
import numpy as np
from scipy.special import expit


def poisson(y, margin):
    """Gradient and hessian of the loss exp(margin) - y margin."""
    return np.exp(margin) - y, np.exp(margin)


def pasted(y, margin):
    """Of log loss, with a factor that does not belong there."""
    p = expit(margin)
    return p - y, p * (1 - p) / 2


losses = {
    "Poisson, a count of 2": (poisson, lambda f: np.exp(f) - 2 * f, 2, (-1.5, 1.6)),
    "log loss pasted, label 1": (pasted, lambda f: np.logaddexp(0, f) - f, 1, (-5, 5)),
}

# %%

h = 1e-4
figure, axes = plt.subplots(1, 2, figsize=(8.4, 3.8), layout="constrained")
for axis, (name, (function, loss, y, (low, high))) in zip(axes, losses.items(), strict=True):
    margin, places = np.linspace(low, high, 200), np.linspace(low, high, 13)
    for line, label in zip(function(y, margin), ("gradient", "hessian"), strict=True):
        axis.plot(margin, line, label=label)
    slopes = (
        (loss(places + h) - loss(places - h)) / (2 * h),
        (function(y, places + h)[0] - function(y, places - h)[0]) / (2 * h),
    )
    for k, slope in enumerate(slopes):
        axis.plot(places, slope, "o", mfc="none", color=f"C{k}")
    axis.set_title(name, fontsize="medium")
    axis.set_xlabel("margin")
    axis.spines[["top", "right"]].set_visible(False)
axes[0].plot([], [], "o", mfc="none", color="black", label="finite differences")
axes[0].legend(fontsize="small")
plt.show()
