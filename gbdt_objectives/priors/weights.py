"""Row weights that make training data stand for another class prior."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike

from gbdt_objectives import _checks
from gbdt_objectives._checks import Array, shown
from gbdt_objectives._parts import map_parts
from gbdt_objectives.priors.sampling import count_labels
from gbdt_objectives.priors.shift import read_prior


def prior_weights(
    y: ArrayLike,
    target_prior: float | Mapping[Any, float],
    *,
    normalize: Literal["mean", "positive"] = "mean",
) -> Array:
    """Row weights that make the labels as frequent as where the model will be used.

    With s_k the fraction of label k in ``y`` and tau_k its probability there::

        w_k = tau_k / s_k                     "mean": the weights average to 1
        w_k = (tau_k / s_k) / (tau_1 / s_1)   "positive": label 1 weighs 1

    If negatives were kept at the rate r, a negative weighs 1/r times a positive.
    The alternative, usually no worse, is to correct afterwards (:func:`correct_probability`).

    Boosters compare sums of weighted hessians with fixed numbers (``min_child_weight``, ``lambda``,
    ``min_sum_hessian_in_leaf``). For rare events "mean" makes hessians small and so regularises far
    more: lower these parameters with it, by tau/s. "positive" hardly changes their strength.
    ``docs/theory/log_odds.md`` has the figures.

    A Dask Series or Array is taken too: its weights are one like it, computed lazily.

    Parameters
    ----------
    y : array-like of shape (n,)
        Labels of the training data; 0 and 1 with a float ``target_prior`` or
        ``normalize="positive"``, otherwise of any type.
    target_prior : float, or mapping of label to probability
        tau: the probability of label 1, or of every label, where the model is used.
    normalize : {"mean", "positive"}
        What is 1: the mean weight, or the weight of label 1.

    Returns
    -------
    ndarray of shape (n,)
        float64, all above 0.

    Raises
    ------
    ValueError
        Probabilities that do not sum to 1; 0 for a label that occurs, or above 0 for one
        that does not; a label without a probability.

    References
    ----------
    King & Zeng (2001), Political Analysis 9(2), section 4.2.

    Examples
    --------
    >>> from gbdt_objectives.priors import prior_weights
    >>> prior_weights([0, 0, 1, 1], 0.1)
    array([1.8, 1.8, 0.2, 0.2])
    >>> prior_weights([0, 0, 1, 1], 0.1, normalize="positive")
    array([9., 9., 1., 1.])
    """
    _checks.choice("normalize", normalize, ("mean", "positive"))
    counts = count_labels("y", y)
    weight = label_weights(list(counts), np.array([*counts.values()]), target_prior, normalize)
    of_label = dict(zip(counts, weight.tolist(), strict=True))
    weights: Array = map_parts(partial(weights_of_rows, of_label), {"y": y}, np.float64)
    return weights


def weights_of_rows(of_label: Mapping[Any, float], y: ArrayLike) -> Array:
    labels = np.asarray(y)
    return np.fromiter(map(of_label.__getitem__, labels.tolist()), np.float64, len(labels))


def label_weights(
    order: list[Any], counts: Array, target_prior: float | Mapping[Any, float], normalize: str
) -> Array:
    """The weight of each of the labels, (K,), given how many rows each has."""
    if not isinstance(target_prior, Mapping):
        check_zero_one("with a float target_prior", order)
        tau = read_prior("target_prior", _checks.number("target_prior", target_prior))
    else:
        tau = _checks.prior_of_labels("target_prior", target_prior, order, counts > 0, "y")
    if not tau.all():
        raise ValueError(
            "target_prior must be above 0 for labels that occur in y, found 0 for "
            f"{shown(order[int(tau.argmin())])}: drop these rows instead of giving them a weight "
            "of 0"
        )
    w: Array = tau / (counts / counts.sum())
    if normalize == "positive":
        check_zero_one("with normalize='positive'", order)
        w /= w[1]
    return w


def check_zero_one(when: str, labels: list[Any]) -> None:
    """Raise unless the labels are 0 and 1, both."""
    if labels != [0, 1]:
        raise ValueError(
            f"y must hold the labels 0 and 1 {when}, both of them, found {shown(labels)}"
        )
