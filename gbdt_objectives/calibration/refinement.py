"""The Brier score or the log loss in parts: how well calibrated, how well told apart.

Symbols: g is a group of rows, W_g its weight and W that of all, p and c are a row's probabilities
and class, P_g their mean and q_g the class frequencies in the group, q those of all rows.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike

from gbdt_objectives import _checks
from gbdt_objectives._checks import Array, distinct_groups, number_values
from gbdt_objectives._rows.html import Table
from gbdt_objectives._rows.places import blocks, dot
from gbdt_objectives._rows.values import write_table
from gbdt_objectives.calibration import rows as _rows
from gbdt_objectives.calibration.hull import find_segment_ends


@dataclass(frozen=True)
class CalibrationRefinement(Table):
    """The half Brier score or the log loss in parts; made by :func:`calibration_refinement`.

    Every part is a mean over rows.

    Attributes
    ----------
    calibration : float
        Calibration loss: the error due to group means that are off.
    refinement : float
        Refinement loss: what remains if each group is given its own class frequencies.
    within : float
        What differing predictions within groups add, < 0 if they are informative, 0 if equal.
    uncertainty : float
        Refinement loss with all rows in one group.
    """

    calibration: float
    refinement: float
    within: float
    uncertainty: float

    def __str__(self) -> str:
        return write_table(**self._columns())

    def _columns(self) -> dict[str, Array]:
        names = ["total", *vars(self), "miscalibration", "discrimination"]
        return {name: np.array([getattr(self, name)]) for name in names}

    @property
    def total(self) -> float:
        """The loss: calibration + refinement + within."""
        return self.calibration + self.refinement + self.within

    @property
    def miscalibration(self) -> float:
        """What giving each group its own frequencies would save: calibration + within."""
        return self.calibration + self.within

    @property
    def discrimination(self) -> float:
        """What the groups tell about the class: uncertainty - refinement.

        total = miscalibration - discrimination + uncertainty.
        """
        return self.uncertainty - self.refinement


def calibration_refinement(
    y_true: ArrayLike, probability: ArrayLike, *,
    partition: Literal["prediction", "isotonic"] | ArrayLike = "prediction",
    loss: Literal["brier_score", "log_loss"] = "brier_score", labels: ArrayLike | None = None,
    sample_weight: ArrayLike | None = None,
) -> CalibrationRefinement:  # fmt: skip
    """A loss of probabilities, split into calibration loss and refinement loss.

    Use it to see how much of the loss a calibrator could remove: the calibration loss, at most.

    ::

                      brier_score                               log_loss
        calibration   sum_g W_g/W  1/2 sum_i (P_gi - q_gi)^2    sum_g W_g/W sum_i q_gi log q_gi/P_gi
        refinement    sum_g W_g/W  1/2 sum_i q_gi (1 - q_gi)    sum_g W_g/W sum_i -q_gi log q_gi
        within        mean of 1/2 sum_i d_i (d_i - 2 I[c = i])  mean of log P_gc/p_c
        uncertainty                1/2 sum_i q_i (1 - q_i)      sum_i -q_i log q_i

    with d = p - P_g. The first three add up to ``brier_score``, or to the mean of -log p_c, which
    is inf where a class occurs whose probability was 0. Better probabilities for the same groups
    can lower the first; only a better ranking or finer groups the second.

    Parameters
    ----------
    y_true, probability, labels, sample_weight
        The rows, as in :func:`expected_calibration_error`, with its errors.
    partition : {"prediction", "isotonic"} or array-like of shape (n,)
        How rows are grouped. "prediction": by equal prediction; it warns if most rows differ.
        "isotonic": the segments of the isotonic fit, for continuous predictions (n,);
        ``miscalibration`` and ``discrimination`` are then those of CORP, both >= 0. An array: the
        group of each row, of any type, for instance its leaf.
    loss : {"brier_score", "log_loss"}
        The halved Brier score, or the log loss in nats, which notices rare events better.

    Returns
    -------
    CalibrationRefinement

    References
    ----------
    Murphy (1973), Journal of Applied Meteorology 12(4); Stephenson, Coelho & Jolliffe (2008),
    Weather and Forecasting 23(4), for the parts within groups; Bröcker (2009), QJRMS 135, for other
    losses; Dimitriadis, Gneiting & Jordan (2021), PNAS 118(8), for isotonic segments (CORP).

    Examples
    --------
    >>> from gbdt_objectives.calibration import calibration_refinement
    >>> print(calibration_refinement([0, 1, 0, 1], [0.1, 0.3, 0.6, 0.7], partition="isotonic"))
       total  calibration  refinement    within  uncertainty  miscalibration  discrimination
      0.2375      0.02625       0.125   0.08625         0.25          0.1125           0.125
    """
    _checks.choice("loss", loss, ("brier_score", "log_loss"))
    rows = _rows.probability_rows(y_true, probability, labels, sample_weight)
    if isinstance(partition, str):
        _checks.choice("partition", partition, ("prediction", "isotonic"))
        if rows.p.ndim == 1:
            p, positive, negative = _rows.group_ties(rows)
            warn_if_continuous(partition, len(p), rows)
            del rows
            g = None
            if partition == "isotonic":
                ends = find_segment_ends(positive, negative)
                g = np.repeat(np.arange(len(ends) - 1), np.diff(ends))
            negative += positive
            return split(loss, [(positive, p)], negative, g)
        if partition == "isotonic":
            what = "partition='isotonic' is for probability (n,), of label 1"
            raise ValueError(f"{what}: {_rows.ONE_CLASS}")
        g = number_equal_rows(rows.p)
        warn_if_continuous(partition, int(g.max()) + 1, rows)
    else:
        g = distinct_groups(partition, rows.given, "partition")[1]
        if len(rows.y) < rows.given:
            g = number_values(g[rows.kept])[1]
    if rows.p.ndim == 1:
        return split(loss, [(rows.w * rows.y, rows.p)], rows.w, g)
    return split(loss, ((rows.w * (rows.y == k), p) for k, p in enumerate(rows.p.T)), rows.w, g)


def warn_if_continuous(partition: object, groups: int, rows: _rows.LabelledRows) -> None:
    n = len(rows.y) if rows.w is None else rows.w.sum()  # which may be counts
    if partition == "prediction" and 50 <= n < 2 * groups:
        _checks.warn(
            f"{n:g} rows have {groups} different predictions, so calibration is mostly chance: "
            "pass partition='isotonic', for one class at a time, or the group of each row"
        )


def split(
    loss: str, columns: Iterable[tuple[Array, Array]], total: Array, g: Array | None
) -> CalibrationRefinement:
    """The parts, from weight and probability of classes, the weight of all, and rows' groups."""
    parts = []
    for positive, p in columns:
        parts.append(class_terms(loss, positive, p, total, g))
    unit = 0.5 if loss == "brier_score" and len(parts) > 1 else 1.0
    if loss == "log_loss" and len(parts) == 1:
        parts.append(class_terms(loss, total - positive, 1 - p, total, g))
    return CalibrationRefinement(*(unit * np.sum(parts, axis=0)).tolist())


def class_terms(loss: str, positive: Array, p: Array, total: Array, g: Array | None) -> list[float]:
    """What a class, which has the weight ``positive`` out of ``total``, adds to the four parts."""
    from scipy.special import entr, rel_entr

    sums = total, positive, p
    if g is not None:
        W_g, A_g, B_g = _rows.sums_by(
            g, int(g.max()) + 1, lambda at: (total[at], positive[at], total[at] * p[at])
        )
        sums = W_g, A_g, B_g / W_g
    W = float(total.sum())
    q = float(positive.sum()) / W
    calibration = refinement = within = 0.0
    for at in blocks(sums[0]):
        W_g, A_g, P_g = (x[at] for x in sums)
        q_g = A_g / W_g
        if loss == "brier_score":
            gap, spread = (P_g - q_g) ** 2, q_g * (1 - q_g)
        else:
            gap, spread = rel_entr(q_g, P_g), entr(q_g)
        calibration += dot(W_g, gap)
        refinement += dot(W_g, spread)
    for at in blocks(total) if g is not None else []:
        own, mean = p[at], sums[2][g[at]]  # type: ignore[index]
        if loss == "brier_score":
            d = own - mean
            within += dot(d, total[at] * d - 2 * positive[at])
        else:
            some = (positive[at] > 0) & (mean > 0)  # where P_g is 0 calibration is inf
            with np.errstate(divide="ignore"):
                within += dot(positive[at][some], np.log(mean[some] / own[some]))
    uncertainty = q * (1 - q) if loss == "brier_score" else float(entr(q))
    return [calibration / W, refinement / W, within / W, uncertainty]


def number_equal_rows(p: Array) -> Array:
    """Numbers from 0, equal where rows are equal: those of a random combination of columns."""
    key = np.zeros(len(p))
    for k, c in enumerate(np.random.default_rng(0).uniform(1, 2, (p.shape[1],))):
        key += c * p[:, k]
    g = number_values(key)[1]
    one = np.empty(g.max() + 1, np.intp)
    one[g] = np.arange(len(g))
    if (p != p[one[g]]).any():  # different rows of the same number
        g = np.unique(p, axis=0, return_inverse=True)[1].ravel()
    return g
