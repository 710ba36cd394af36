"""
Score, threshold, start value and label on one line
===================================================

Scores are numbers on the scale of the grades. Thresholds cut the line into grades. Boosting begins
at the start value, and each tree moves the score of an essay towards its label.
"""

import matplotlib.pyplot as plt
import numpy as np

thresholds, start, score, label = np.arange(1.5, 6), 3.5, 3.4, 4

figure, axis = plt.subplots(figsize=(8.4, 2.6), layout="constrained")
axis.plot([0.6, 6.4], [0, 0], color="0.6", zorder=0)
axis.vlines(thresholds, -0.35, 0.35, color="tab:blue", linestyle="--")
axis.annotate("thresholds", (1.5, 0.36), ha="center", va="bottom", color="tab:blue")
for grade in range(1, 7):
    axis.annotate(f"grade {grade}", (grade, -0.42), ha="center", va="top")
axis.plot(start, 0, "s", color="tab:green")
axis.annotate("start value 3.5", (start, 0.02), (2.65, 0.62), color="tab:green",
              arrowprops={"arrowstyle": "-", "color": "tab:green"})  # fmt: skip
axis.plot(score, 0, "o", color="tab:red")
axis.annotate("score of essay 17: 3.4", (score, -0.03), (score, -0.95), color="tab:red",
              ha="center", arrowprops={"arrowstyle": "-", "color": "tab:red"})  # fmt: skip
axis.annotate("", (label, 0), (score, 0), arrowprops={"arrowstyle": "->", "color": "tab:red"})
axis.plot(label, 0, "*", color="black", markersize=11)
axis.annotate("its label: 4", (label, 0.03), (4.1, 0.62), arrowprops={"arrowstyle": "-"})
axis.set(xlim=(0.5, 6.5), ylim=(-1.15, 0.95))
axis.axis("off")
plt.show()
