"""
Segments that moved
===================

A model is right overall, and off in three countries of twenty, since their events became more or
less frequent. :class:`~gbdt_objectives.calibration.SegmentCalibrator` shifts the log-odds where the
held-out rows show that a country has moved. Most of the others stay nearly as they are.
"""

import matplotlib.pyplot as plt
import numpy as np

from gbdt_objectives.calibration import SegmentCalibrator, calibration_ratio_by_segment

rng = np.random.default_rng(3)
share = 1 / np.arange(1, 21)  # the first country is twenty times as large as the last
moves = np.zeros(20)
moves[[2, 5, 11]] = 0.7, -0.7, 1.0


def days(n: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """The model's probability, the country and the outcome of rows."""
    country = rng.choice(20, n, p=share / share.sum())
    z = rng.normal(-2, 1, n)
    true = 1 / (1 + np.exp(-(z + moves[country])))
    return 1 / (1 + np.exp(-z)), country, (rng.random(n) < true).astype(int)


p, country, y = days(20_000)
calibrator = SegmentCalibrator().fit(p, y, segments=country)

# %%
# Mean prediction over mean outcome in many new rows; 1 is right. A bar shows 95 % limits.

p, country, y = days(200_000)
predicted = {"as it is": p, "SegmentCalibrator": calibrator.predict(p, segments=country)}
figure, axes = plt.subplots(figsize=(7.2, 4.4), layout="constrained")
for k, ((name, q), color) in enumerate(zip(predicted.items(), ("#D55E00", "#0072B2"), strict=True)):
    found = calibration_ratio_by_segment(y, q, country)
    bars = np.abs(np.stack([found.low, found.high]) - found.ratio)
    at = np.arange(20) + 0.3 * k
    axes.errorbar(at, found.ratio, bars, fmt="o", markersize=4, color=color, label=name)
axes.axhline(1, color="0.6", linewidth=1, zorder=0)
axes.set(yscale="log", xlabel="country, the largest first", ylabel="prediction / outcome")
axes.set_yticks([0.5, 1, 2], ["0.5", "1", "2"])
axes.minorticks_off()
axes.set_xticks(range(0, 20, 2))
axes.legend()
plt.show()
