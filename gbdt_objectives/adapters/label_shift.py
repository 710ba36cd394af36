"""Training on shifted labels, for boosters that cannot be given a start."""

from __future__ import annotations

from dataclasses import dataclass

from numpy.typing import ArrayLike

from gbdt_objectives import _checks
from gbdt_objectives._checks import Array


@dataclass(frozen=True)
class LabelShift:
    """Shift labels so that boosting starts at their centre, and shift predictions back.

    What published notebooks do, for boosters or interfaces that start at 0; ``train`` of
    :mod:`gbdt_objectives.adapters` needs no shift.

    Parameters
    ----------
    offset : float
        Subtracted from labels and added to predictions, e.g. the mean label.

    Raises
    ------
    TypeError, ValueError
        If ``offset`` is not a finite number.

    Examples
    --------
    >>> from gbdt_objectives import LabelShift
    >>> shift = LabelShift(1.5)
    >>> shift.shift([0, 1, 2, 3])
    array([-1.5, -0.5,  0.5,  1.5])
    >>> shift.unshift([-1.5, 1.5])
    array([0., 3.])
    """

    offset: float

    def __post_init__(self) -> None:
        _checks.number("offset", self.offset)

    def shift(self, y: ArrayLike) -> Array:
        """y - offset, the labels to train on, shape (n,)."""
        return _checks.vector("y", y) - self.offset

    def unshift(self, prediction: ArrayLike) -> Array:
        """prediction + offset, in the units of the unshifted labels, shape (n,)."""
        return _checks.vector("prediction", prediction) + self.offset
