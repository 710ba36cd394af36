"""The splits of a tree as arrays, by which rows go down without scikit-learn."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from gbdt_objectives import _checks
from gbdt_objectives._checks import Array


@dataclass(frozen=True, eq=False)
class Splits:
    """S splits, numbered from parents to children, and S+1 leaves.

    At a split a row goes left if its value is at most the threshold, or if it is missing
    and ``missing_left``.

    Attributes
    ----------
    feature, threshold, missing_left : ndarray of shape (S,)
    left, right : ndarray of shape (S,)
        Split k is k, leaf l is -1 - l. Split 0 is the root; if there is none, leaf 0 is.
    """

    feature: Array
    threshold: Array
    missing_left: Array
    left: Array
    right: Array

    def leaf(self, X: Any) -> Array:
        """The number of each row's leaf; X float32, an array or sparse, missing is NaN."""
        at = np.full(X.shape[0], 0 if len(self.left) else -1)
        rows = np.flatnonzero(at >= 0)
        while len(rows):
            k = at[rows]
            x = np.asarray(X[rows, self.feature[k]]).ravel()
            left = np.where(np.isnan(x), self.missing_left[k], x <= self.threshold[k])
            at[rows] = np.where(left, self.left[k], self.right[k])
            rows = rows[at[rows] >= 0]
        return -1 - at


def splits_of(tree: Any) -> tuple[Splits, Array]:
    """Of scikit-learn's ``tree_``, and which of its nodes the leaves are."""
    inner = tree.children_left != tree.children_right  # both -1 in leaves
    number = np.where(inner, np.cumsum(inner) - 1, -np.cumsum(~inner))
    splits = Splits(
        feature=tree.feature[inner],
        # it splits the missing values from the rest by inf, which JSON has not
        threshold=np.minimum(tree.threshold[inner], np.finfo(np.float32).max),
        missing_left=tree.missing_go_to_left[inner].astype(bool),
        left=number[tree.children_left[inner]],
        right=number[tree.children_right[inner]],
    )
    return splits, np.flatnonzero(~inner)


def check_splits(splits: Splits, n_features: int) -> None:
    """Raise unless the splits are one tree."""
    S = len(splits.left)
    for name, column in vars(splits).items():
        _checks.same_length(name, column, "left", S)
    children = np.concatenate([splits.left, splits.right])
    parents = np.tile(np.arange(S), 2)
    expected = np.concatenate([np.arange(-1 - S, 0), np.arange(1, S)]) if S else children
    if (
        not np.array_equal(np.sort(children), expected)
        or ((children >= 0) & (children <= parents)).any()
    ):
        raise ValueError(
            "left and right must hold each leaf, -1 to -1 - S, and each split but the first once, "
            "after its parent: the text was changed"
        )
    if n_features < 1:
        raise ValueError(f"n_features must be at least 1, found {n_features}")
    if S and not (splits.feature.min() >= 0 and splits.feature.max() < n_features):
        raise ValueError(f"feature must be 0 to {n_features - 1}: the text was changed")
