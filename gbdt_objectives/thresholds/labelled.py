"""Thresholds that know the classes they separate."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from gbdt_objectives import _checks
from gbdt_objectives._checks import Array, check_order, shown
from gbdt_objectives._marked import MarkedArray, mark_of, plain, same_mark


class Thresholds(MarkedArray):
    """Thresholds with the classes that they separate: an ndarray of shape (K-1,).

    What ``optimize_thresholds`` returns, for ``apply_thresholds``. Copies, pickles and
    element-wise arithmetic that rises (``thresholds.round(2)``, ``2 * thresholds + 0.1``) keep
    the labels. ``-thresholds``, slices, means over folds, lists and anything of another shape
    are plain arrays, for which ``apply_thresholds`` asks for the labels.

    Parameters
    ----------
    thresholds : array-like of shape (K-1,)
        Sorted.
    labels : array-like of shape (K,)
        All classes in ascending order.

    Examples
    --------
    >>> from gbdt_objectives.thresholds import Thresholds, apply_thresholds
    >>> thresholds = Thresholds([0.5, 1.5], ["low", "mid", "high"])
    >>> thresholds + 0.25
    array([0.75, 1.75])
    >>> apply_thresholds([0.6, 2.0], thresholds + 0.25).tolist()
    ['low', 'high']
    """

    def __new__(cls, thresholds: ArrayLike, labels: ArrayLike | None) -> Thresholds:
        if labels is not None:
            labels = _checks.as_array("labels", labels).copy()
            labels.flags.writeable = False
        cuts = _checks.as_array("thresholds", thresholds)
        found: Thresholds = super().__new__(cls, cuts, labels)
        return found

    def __array_ufunc__(self, ufunc: Any, method: str, *inputs: Any, **kwargs: Any) -> Any:
        result = super().__array_ufunc__(ufunc, method, *inputs, **kwargs)
        return result if keeps_order(ufunc.__name__, inputs) else plain(result)

    @property
    def labels(self) -> Array | None:
        """All classes in ascending order, (K,); None of an array of another shape."""
        labels: Array | None = self.mark
        return labels


RISING = {"add", "positive", "rint", "floor", "ceil", "trunc", "exp", "log", "log1p", "expm1",
          "maximum", "minimum", "clip", "sqrt", "tanh", "expit"}  # fmt: skip
"""Functions of numpy and scipy under which higher thresholds stay higher."""


def keeps_order(name: str, inputs: tuple[Any, ...]) -> bool:
    """Whether a function of thresholds separates the same classes of the function of scores."""
    if name in RISING:
        return True
    first = inputs[0]
    if name == "subtract":
        return isinstance(first, Thresholds)
    factors = [value for value in inputs if not isinstance(value, Thresholds)]
    if name == "multiply" or (name in ("divide", "true_divide") and isinstance(first, Thresholds)):
        return len(factors) == 1 and bool(np.all(np.asarray(factors[0]) > 0))
    return False


def threshold_labels(thresholds: ArrayLike, labels: ArrayLike | None, K: int) -> Array:
    """The K classes that thresholds separate: those they carry, or those given."""
    carried = mark_of(thresholds)
    if labels is None:
        if carried is None:
            raise ValueError(
                f"labels are missing, and thresholds {shown(thresholds)} carry none, as those of "
                f"optimize_thresholds do: pass labels=[...], all {K} classes in ascending order, "
                f"or labels=range({K}) for class positions"
            )
        return carried
    order = check_order(labels)
    if len(order) != K:
        raise ValueError(
            f"labels must be {K} classes for {K - 1} thresholds, found {len(order)}: "
            f"{shown(order.tolist())}"
        )
    if carried is not None and not same_mark(order, carried):
        raise ValueError(
            f"labels are {shown(order.tolist())}, but thresholds were placed between the classes "
            f"{shown(carried.tolist())}: leave labels out, or if they are other names of the same "
            "classes pass np.asarray(thresholds)"
        )
    return order
