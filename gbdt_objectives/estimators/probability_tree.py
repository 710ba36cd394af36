"""Class proportions in the leaves of trees: one tree, a forest, a booster."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass, field
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import clone
from sklearn.tree import DecisionTreeClassifier
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import column_or_1d

from gbdt_objectives import _checks
from gbdt_objectives._checks import Array, positions
from gbdt_objectives._public import public
from gbdt_objectives._registry import library_of
from gbdt_objectives.calibration.hull import empirical_probability, resolve_prior
from gbdt_objectives.estimators import _base
from gbdt_objectives.estimators._base import FitRows


@dataclass(frozen=True, eq=False)
class LeafProbability:
    """Trees that predict their leaves' class proportions; made by :func:`leaf_probability`.

    Attributes
    ----------
    model : object
        The fitted trees.
    classes_ : ndarray of shape (K,)
    probabilities : tuple of ndarray of shape (L_t + 1, K)
        For each tree, p of each leaf by its number; the last is for leaves without rows.
    """

    model: Any
    classes_: Array
    probabilities: tuple[Array, ...] = field(repr=False)

    def predict_proba(self, X: Any) -> Array:
        """Return the mean over trees of the class proportions of the row's leaf, float64 (n, K)."""
        leaf = _leaf_indices(self.model, X)
        total = np.zeros((len(leaf), len(self.classes_)))
        for column, p in zip(leaf.T, self.probabilities, strict=True):
            total += p[np.minimum(column, len(p) - 1)]
        return total / len(self.probabilities)


@public
def leaf_probability(
    model: Any, X: Any, y: ArrayLike, *, m: float | None = None,
    prior: ArrayLike | Literal["base_rate"] | None = None, sample_weight: ArrayLike | None = None,
) -> LeafProbability:  # fmt: skip
    """Smoothed class proportions of the leaves of fitted trees, counted on given rows.

    For each tree, and averaged over trees in ``predict_proba``::

        p_k = (n_k + m pi_k) / (|leaf| + m)

    where n_k is the weight of class k in the leaf. It is meant for trees that each predict the
    class: one tree, a random forest, a booster of few rounds. Of many rounds, the later trees only
    correct the earlier ones, and the average is too near to the base rate: calibrate such a
    booster, or fit a logistic regression on its leaves, one-hot encoded (He et al. 2014, "Practical
    lessons from predicting clicks on ads at Facebook", section 3.1), on other rows. Count on rows
    that the trees were not trained on if their leaves are pure.

    Parameters
    ----------
    model : fitted model
        Tree, forest or gradient boosting of scikit-learn with ``apply``; an estimator or booster of
        XGBoost or LightGBM; with one output or several.
    X : array-like of shape (n, features)
        Whatever the model accepts; for xgboost.Booster a DMatrix or what makes one.
    y : array-like of shape (n,)
        Classes, two or more occurring; those of ``model.classes_``, if it has them.
    m : float >= 0, optional
        How many rows the prior is worth. None: K, Laplace's if uniform. 0: no smoothing.
    prior : array-like of shape (K,), "base_rate" or None
        The prior pi. "base_rate": the shares of the classes in y, for rare events, with m such
        that m pi is 5 to 10 rows of the rare class. None: 1/K each. A leaf without rows gets pi.
    sample_weight : array-like of shape (n,), optional
        Weights >= 0; w means the same as w copies of the row.

    Returns
    -------
    LeafProbability

    Raises
    ------
    ValueError, TypeError
        One class only, a class that the model does not know, a model of several targets or
        without leaves, a negative ``m``, a prior that does not sum to 1, bad weights.

    References
    ----------
    Provost & Domingos (2003), "Tree induction for probability-based ranking", Machine
    Learning 52; Zadrozny & Elkan (2001), "Obtaining calibrated probability estimates from
    decision trees and naive Bayesian classifiers", ICML, for the choice of m.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.ensemble import RandomForestClassifier
    >>> from gbdt_objectives.estimators import leaf_probability
    >>> X = np.arange(8.0)[:, None]
    >>> y = np.array([0, 0, 0, 0, 1, 1, 1, 1])
    >>> forest = RandomForestClassifier(2, bootstrap=False, random_state=0).fit(X, y)
    >>> leaf_probability(forest, X, y).predict_proba([[0.0]]).round(4)
    array([[0.8333, 0.1667]])
    """
    _checks.in_memory("y", y)
    target = column_or_1d(y)
    check_classification_targets(target)
    w = _checks.weights("sample_weight", sample_weight, len(target))
    occurring = np.unique(target if w is None else target[w > 0])
    FitRows.check_several_classes(occurring, "rows" if w is None else "rows of weight above 0")
    leaf = _leaf_indices(model, X)
    _checks.same_length("X", leaf, "the labels", len(target))
    known = getattr(model, "classes_", np.unique(target))
    if isinstance(known, list):
        raise ValueError(
            f"model predicts {len(known)} kinds of classes, but y is only one: fit one model each"
        )
    classes = np.asarray(known)
    position = positions("y", target, classes).astype(np.intp)
    K = len(classes)
    pi = resolve_prior(prior, np.bincount(position, w, minlength=K), classes)
    probabilities = []
    for column in leaf.T:
        L = int(column.max()) + 1
        counts: Array = np.bincount(column * K + position, w, minlength=(L + 1) * K)
        counts = counts.reshape(L + 1, K).astype(np.float64)
        counts[~counts.any(axis=1)] = pi  # of leaves without rows; its m-estimate is pi for any m
        probabilities.append(empirical_probability(counts, m=K if m is None else m, prior=pi))
    return LeafProbability(model, classes, tuple(probabilities))


def _leaf_indices(model: Any, X: Any) -> Array:
    """The leaf of each row in each tree up to the best round of a fitted model, (n, T)."""
    if isinstance(model, type) or not hasattr(model, "predict"):
        raise TypeError(f"model must be fitted trees, found {_checks.shown(model)}")
    _checks.in_memory("X", X)
    library = library_of(model)
    if library is not None:
        leaf = library.leaves(model, X)
    elif hasattr(model, "apply"):
        leaf = model.apply(X)
    else:
        raise TypeError(
            "model must be fitted trees: with apply, of LightGBM or of XGBoost, found "
            f"{type(model).__name__}"
        )
    leaf = np.asarray(leaf)
    return leaf.reshape(len(leaf), -1).astype(np.intp)


@public
@dataclass(eq=False, repr=False)
class ProbabilityEstimationTree(_base.ProbabilityClassifier):
    """Tree that predicts smoothed class proportions of its leaves.

    Use it where one tree is to be read and its probabilities used. They are counted on the training
    rows, as in :func:`leaf_probability`. Unpruned trees rank best, but their small leaves claim 0
    and 1; smoothing moves these towards the prior.

    Parameters
    ----------
    tree : DecisionTreeClassifier, optional
        Unfitted, with any parameters. Its ``class_weight`` changes the splits, not the
        counts. None: ``DecisionTreeClassifier()``, which does not prune.
    m, prior
        The weight of the prior in rows, and the prior, as in :func:`leaf_probability`.

    Attributes
    ----------
    classes_, tree_ : ndarray of shape (K,), DecisionTreeClassifier
        The sorted classes. The fitted tree.
    probabilities_ : ndarray of shape (L, K)
        The p of each leaf, by the number that ``tree_.apply`` gives it.
    n_features_in_, feature_names_in_

    Examples
    --------
    >>> import numpy as np
    >>> from gbdt_objectives.estimators import ProbabilityEstimationTree
    >>> X = np.repeat([[0.0], [1.0]], [60, 15], axis=0)
    >>> y = np.repeat([1, 0, 1, 0], [20, 40, 10, 5])
    >>> pet = ProbabilityEstimationTree(m=10, prior=[0.7, 0.3]).fit(X, y)
    >>> pet.predict_proba([[0.0], [1.0]]).round(4)
    array([[0.6714, 0.3286],
           [0.48  , 0.52  ]])
    """

    tree: Any = None
    _: KW_ONLY
    m: float | None = None
    prior: ArrayLike | Literal["base_rate"] | None = None

    @property
    def _wrapped(self) -> Any:
        return DecisionTreeClassifier() if self.tree is None else self.tree

    def fit(
        self, X: Any, y: ArrayLike, sample_weight: ArrayLike | None = None
    ) -> ProbabilityEstimationTree:
        """Grow the tree and count its leaves; return the estimator itself.

        Parameters
        ----------
        X, y : array-like, sparse matrix or DataFrame of shape (n, features), array-like (n,)
            Whatever the tree accepts, and the classes.
        sample_weight : array-like of shape (n,), optional
            Weights >= 0, for the splits and the counts.

        Raises
        ------
        ValueError, TypeError
            What :func:`leaf_probability` and the tree raise.
        """
        tree = self._wrapped
        if not isinstance(tree, DecisionTreeClassifier):
            raise TypeError(f"tree must be a DecisionTreeClassifier(), found {_checks.shown(tree)}")
        X, target = FitRows.read_X_and_y(self, X, y)
        tree = clone(tree).fit(X, target, sample_weight=sample_weight)
        found = leaf_probability(
            tree, X, target, m=self.m, prior=self.prior, sample_weight=sample_weight
        )
        _base.check_features(self, X, reset=True)
        self.tree_, self.classes_, (self.probabilities_,) = tree, tree.classes_, found.probabilities
        return self

    def _probability(self, X: Any) -> Array:
        return np.asarray(self.probabilities_[self.tree_.apply(X)])
