"""
Looking every day
=================

On the left the model is right on every day, and the daily p-value of its calibration ratio is below
0.05 again and again. The evidence of :class:`~gbdt_objectives.calibration.CalibrationMonitor`
reaches 1/level with probability ``level`` at most, however long one looks. On the right the
log-odds move by 0.25 on day 60.
"""

import matplotlib.pyplot as plt
import numpy as np

from gbdt_objectives.calibration import CalibrationMonitor, calibration_ratio_by_segment

LEVEL, DAYS, DRIFT = 0.05, 90, 60
rng = np.random.default_rng(4)
figure, panels = plt.subplots(1, 2, figsize=(7.2, 3.6), sharey=True, layout="constrained")
for panel, title, size in zip(panels, ("a right model", "a drift of 0.25"), (0, 0.25), strict=True):
    monitor, p_values = CalibrationMonitor(level=LEVEL), []
    for day in range(DAYS):
        p = rng.beta(1, 19, 1_000)
        odds = p / (1 - p) * np.exp(size * (day >= DRIFT))
        y = (rng.random(1_000) < odds / (1 + odds)).astype(int)
        monitor.update(y, p)
        p_values += [calibration_ratio_by_segment(y, p, "prediction", n_bins=1).p_value[0]]
    days, one = np.arange(DAYS), 1 / np.maximum(p_values, 1e-6)
    panel.plot(days, np.exp(monitor.log_evidence), color="#0072B2", label="evidence")
    panel.plot(days, one, ".", color="0.6", markersize=4, label="1 / p-value of the day")
    below = one > 1 / LEVEL
    panel.plot(days[below], one[below], "x", color="#D55E00", markersize=6, label="below 0.05")
    panel.axhline(1 / LEVEL, color="black", linewidth=0.8, linestyle="--")
    panel.set(title=title, xlabel="day", yscale="log", ylim=(0.01, 1e5))
panels[0].set_ylabel("evidence against the model")
panels[0].legend(loc="upper left", fontsize="small")
plt.show()
