"""
Why exact thresholds are exact
==============================

Sort the rows by score and add up their labels. The best thresholds for quadratic weighted kappa
lie on the lower convex hull of that curve, where lines of given slopes touch it. The hull is an
isotonic regression, so the global optimum costs one sort and one pass over the rows
(:doc:`/docs/theory/thresholds`). The example has few rows, to make the curve visible.
"""

import matplotlib.pyplot as plt
import numpy as np

from gbdt_objectives.plotting import ThresholdDisplay

rng = np.random.default_rng(0)
signal = rng.standard_normal(150)
latent = 0.7 * signal + np.sqrt(1 - 0.7**2) * rng.standard_normal(150)
y = 1 + np.searchsorted([-1.2, -0.3, 0.6, 1.4], latent)

display = ThresholdDisplay.from_predictions(y, 2.8 + 0.75 * signal, method="exact", kind="hull")
display.figure_.set_size_inches(7.2, 4.4)
plt.show()
