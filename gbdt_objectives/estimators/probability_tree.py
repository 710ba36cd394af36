"""Class proportions in the leaves of trees: one tree, a forest, a booster."""

from __future__ import annotations

import inspect
import json
from dataclasses import dataclass
from importlib import import_module
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.tree import DecisionTreeClassifier
from sklearn.utils import check_array
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted, column_or_1d

from gbdt_objectives import _checks
from gbdt_objectives._checks import Array, positions
from gbdt_objectives._library import library_of
from gbdt_objectives.calibration.leaves import leaf_probabilities, smoothing_prior
from gbdt_objectives.estimators import _json
from gbdt_objectives.estimators._rows import check_features, labelled_rows
from gbdt_objectives.estimators._splits import Splits, check_splits, splits_of

FORMAT = "gbdt_objectives.ProbabilityEstimationTree/1"
ARRAYS = ("feature", "threshold", "missing_left", "left", "right")
KEYS = {"format", "m", "prior", "classes", "n_features", "feature_names", "allow_nan", *ARRAYS}
KEYS |= {"probabilities"}
FINITE = (
    "ensure_all_finite"
    if "ensure_all_finite" in inspect.signature(check_array).parameters
    else "force_all_finite"  # scikit-learn < 1.6
)


@dataclass(frozen=True, eq=False)
class LeafProbability:
    """Trees that predict their leaves' class proportions; made by :func:`leaf_probability`.

    Attributes
    ----------
    model : object
        The fitted trees.
    classes_ : ndarray of shape (K,)
    probabilities : tuple of ndarray of shape (L_t + 1, K)
        For each tree, p of each leaf by its number, and last of a leaf without rows.
    """

    model: Any
    classes_: Array
    probabilities: tuple[Array, ...]

    def predict_proba(self, X: Any) -> Array:
        """The mean over trees of the class proportions of the row's leaf.

        Parameters
        ----------
        X : array-like of shape (n, features)
            Whatever the model takes.

        Returns
        -------
        ndarray of shape (n, K)
            float64, a column per class, in the order of ``classes_``.
        """
        leaf = leaf_indices(self.model, X)
        total = np.zeros((len(leaf), len(self.classes_)))
        for column, p in zip(leaf.T, self.probabilities, strict=True):
            total += p[np.minimum(column, len(p) - 1)]
        return total / len(self.probabilities)


def leaf_probability(
    model: Any,
    X: Any,
    y: ArrayLike,
    *,
    m: float | None = None,
    prior: ArrayLike | Literal["base_rate"] | None = None,
    sample_weight: ArrayLike | None = None,
) -> LeafProbability:
    """Smoothed class proportions of the leaves of fitted trees, counted on given rows.

    For each tree, and averaged over trees to predict::

        p_k = (n_k + m pi_k) / (|leaf| + m)

    n_k the weight of class k in the leaf. Splits remain as they are. Count on rows the
    trees were not trained on, if they were grown until leaves are pure; for a single
    tree the training rows do well with smoothing.

    Meant for trees that each predict the class: one tree, a random forest, a booster of
    few rounds. Later trees of a booster correct earlier ones, and say little on their
    own: their average is too close to the base rate. For such models give the leaves to
    a logistic regression, see :func:`leaf_indices`, or calibrate.

    Parameters
    ----------
    model : fitted model
        As in :func:`leaf_indices`, with one output or several.
    X : array-like of shape (n, features)
        Whatever the model takes.
    y : array-like of shape (n,)
        Classes, two or more occurring; those of ``model.classes_``, if it has them.
    m : float >= 0, optional
        How many rows the prior is worth. None: K, which with the uniform prior is
        Laplace's correction. 0: no smoothing.
    prior : array-like of shape (K,), "base_rate" or None
        pi. "base_rate": the shares of the classes in y, for rare events, then with
        m such that m pi is 5 to 10 rows of the rare class. None: 1/K each. A leaf without
        rows gets pi.
    sample_weight : array-like of shape (n,), optional
        w means the same as w copies of the row.

    Returns
    -------
    LeafProbability
        With ``predict_proba(X)`` and ``classes_``.

    Raises
    ------
    ValueError
        One class only, a class that the model does not know, a model of several kinds of
        classes, a negative ``m``, a prior
        that does not sum to 1, lengths that differ, bad weights.
    TypeError
        If the model has no leaves.

    References
    ----------
    Provost & Domingos (2003), "Tree induction for probability-based ranking", Machine
    Learning 52; Zadrozny & Elkan (2001), "Obtaining calibrated probability estimates from
    decision trees and naive Bayesian classifiers", ICML, for the choice of m.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.ensemble import RandomForestClassifier
    >>> from gbdt_objectives import leaf_probability
    >>> X = np.arange(8.0)[:, None]
    >>> y = np.array([0, 0, 0, 0, 1, 1, 1, 1])
    >>> forest = RandomForestClassifier(2, bootstrap=False, random_state=0).fit(X, y)
    >>> forest.predict_proba([[0.0]])
    array([[1., 0.]])
    >>> leaf_probability(forest, X, y).predict_proba([[0.0]])
    array([[0.83333333, 0.16666667]])
    """
    _checks.not_masked("y", y)
    target = column_or_1d(y)
    check_classification_targets(target)
    w = _checks.weights("sample_weight", sample_weight, len(target))
    occurring = np.unique(target if w is None else target[w > 0])
    if len(occurring) < 2:
        counting = "" if w is None else " of weight above 0"
        raise ValueError(
            f"y has rows{counting} of one class only, found {_checks.shown(occurring.tolist())}: "
            "there must be two or more"
        )
    leaf = leaf_indices(model, X)
    _checks.same_length("X", leaf, "the labels", len(target))
    known = getattr(model, "classes_", np.unique(target))
    if isinstance(known, list):
        raise ValueError(
            f"model predicts {len(known)} kinds of classes, but y is one: fit one for each"
        )
    classes = np.asarray(known)
    position = positions("y", target, classes).astype(np.intp)
    K = len(classes)
    pi = smoothing_prior(prior, np.bincount(position, w, minlength=K))
    probabilities = leaf_probabilities(leaf, position, w, K if m is None else m, pi)
    return LeafProbability(model, classes, probabilities)


def leaf_indices(model: Any, X: Any) -> Array:
    """The leaf of each row in each tree of a fitted model.

    One-hot encoded, they are features for a logistic regression, which then weighs each
    leaf of a booster anew: fit it on rows the booster was not trained on.

    Parameters
    ----------
    model : fitted model
        Tree, forest or gradient boosting of scikit-learn with ``apply``; XGBClassifier,
        XGBRegressor, LGBMClassifier, LGBMRegressor; xgboost.Booster, lightgbm.Booster.
    X : array-like of shape (n, features)
        Whatever the model takes; for xgboost.Booster a DMatrix or what makes one.

    Returns
    -------
    ndarray of shape (n, T)
        Numbers of leaves (of nodes, in scikit-learn and XGBoost); T trees, several a
        round for several outputs, up to the best round after early stopping.

    Raises
    ------
    TypeError
        If the model has no leaves.

    References
    ----------
    He et al. (2014), "Practical lessons from predicting clicks on ads at Facebook",
    section 3.1.

    Examples
    --------
    >>> import numpy as np, lightgbm as lgb
    >>> from sklearn.linear_model import LogisticRegression
    >>> from sklearn.preprocessing import OneHotEncoder
    >>> from gbdt_objectives import leaf_indices
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(4000, 3))
    >>> y = (rng.random(4000) < 1 / (1 + np.exp(2 - X[:, 0]))).astype(int)
    >>> model = lgb.LGBMClassifier(n_estimators=10, num_leaves=8, n_jobs=1, verbose=-1)
    >>> model = model.fit(X[:2000], y[:2000])
    >>> leaf_indices(model, X).shape
    (4000, 10)
    >>> encoder = OneHotEncoder(handle_unknown="ignore")
    >>> hybrid = LogisticRegression(C=0.1)
    >>> hybrid = hybrid.fit(encoder.fit_transform(leaf_indices(model, X[2000:])), y[2000:])
    >>> p = hybrid.predict_proba(encoder.transform(leaf_indices(model, X[:3])))
    """
    if isinstance(model, type) or not hasattr(model, "predict"):
        raise TypeError(f"model must be fitted trees, found {_checks.shown(model)}")
    _checks.not_masked("X", X)
    library = library_of(model)
    if library == "lightgbm":
        leaf = model.predict(X, pred_leaf=True)
    elif library == "xgboost" and not hasattr(model, "apply"):
        leaf = import_module("gbdt_objectives.adapters.xgboost.intercept").leaves(model, X)
    elif hasattr(model, "apply"):
        leaf = model.apply(X)
    else:
        raise TypeError(
            "model must be fitted trees: with apply, of LightGBM or of XGBoost, found "
            f"{type(model).__name__}"
        )
    leaf = np.asarray(leaf)
    return leaf.reshape(len(leaf), -1).astype(np.intp)


def takes_missing_values(tree: DecisionTreeClassifier) -> bool:
    """Whether scikit-learn's tree of these parameters does."""
    try:
        from sklearn.utils import get_tags
    except ImportError:  # scikit-learn < 1.6
        takes = tree._get_tags()["allow_nan"]
    else:
        takes = get_tags(tree).input_tags.allow_nan
    return bool(takes) and tree.monotonic_cst is None


class ProbabilityEstimationTree(ClassifierMixin, BaseEstimator):  # type: ignore[misc]
    """Tree that predicts smoothed class proportions of its leaves.

    Those of :func:`leaf_probability`, counted on the training rows. Unpruned trees rank
    best, but their small leaves claim 0 and 1; smoothing draws those to the prior.

    Parameters
    ----------
    tree : DecisionTreeClassifier, optional
        Unfitted, with any parameters. Its ``class_weight`` changes the splits, not the
        counts. None: ``DecisionTreeClassifier()``, which does not prune.
    m, prior
        As in :func:`leaf_probability`; ``prior`` in the order of ``classes_``.

    Attributes
    ----------
    classes_ : ndarray of shape (K,)
        Sorted.
    tree_ : DecisionTreeClassifier
        Fitted; not after :meth:`from_json`.
    probabilities_ : ndarray of shape (L, K)
        p of each leaf, from left to right in a tree grown depth first.
    n_features_in_, feature_names_in_
        As everywhere in scikit-learn.

    References
    ----------
    Provost & Domingos (2003), "Tree induction for probability-based ranking", Machine
    Learning 52; Zadrozny & Elkan (2001), "Obtaining calibrated probability estimates from
    decision trees and naive Bayesian classifiers", ICML, for the choice of m.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.tree import DecisionTreeClassifier
    >>> from gbdt_objectives import ProbabilityEstimationTree
    >>> X = np.repeat([[0.0], [1.0]], [60, 15], axis=0)
    >>> y = np.repeat([1, 0, 1, 0], [20, 40, 10, 5])
    >>> pet = ProbabilityEstimationTree(m=10, prior=[0.7, 0.3]).fit(X, y)
    >>> pet.predict_proba([[0.0], [1.0]]).round(4)
    array([[0.6714, 0.3286],
           [0.48  , 0.52  ]])
    >>> loaded = ProbabilityEstimationTree.from_json(pet.to_json())
    >>> loaded.predict_proba([[0.0], [1.0]]).round(4)
    array([[0.6714, 0.3286],
           [0.48  , 0.52  ]])
    """

    classes_: Array
    tree_: Any
    probabilities_: Array
    _splits: Splits
    _allow_nan: bool

    def __init__(
        self,
        tree: Any = None,
        *,
        m: float | None = None,
        prior: ArrayLike | Literal["base_rate"] | None = None,
    ) -> None:
        self.tree = tree
        self.m = m
        self.prior = prior

    def fit(
        self, X: Any, y: ArrayLike, sample_weight: ArrayLike | None = None
    ) -> ProbabilityEstimationTree:
        """Grow the tree and count its leaves.

        Parameters
        ----------
        X : array-like, sparse matrix or DataFrame of shape (n, features)
            Whatever the tree takes.
        y : array-like of shape (n,)
            Classes.
        sample_weight : array-like of shape (n,), optional
            For the splits and the counts.

        Returns
        -------
        ProbabilityEstimationTree
            Itself.

        Raises
        ------
        ValueError, TypeError
            One class only, a negative ``m``, a prior that does not sum to 1 or has
            another number of classes, and what the tree raises.
        """
        tree = DecisionTreeClassifier() if self.tree is None else self.tree
        if not isinstance(tree, DecisionTreeClassifier):
            raise TypeError(f"tree must be a DecisionTreeClassifier(), found {_checks.shown(tree)}")
        X, target = labelled_rows(self, X, y)
        tree = clone(tree).fit(X, target, sample_weight=sample_weight)
        found = leaf_probability(
            tree, X, target, m=self.m, prior=self.prior, sample_weight=sample_weight
        )
        check_features(self, X, reset=True)
        self._splits, nodes = splits_of(tree.tree_)
        self._allow_nan = takes_missing_values(tree)
        (p,) = found.probabilities
        self.probabilities_ = p[np.minimum(nodes, len(p) - 1)]
        self.tree_, self.classes_ = tree, tree.classes_
        return self

    def predict_proba(self, X: Any) -> Array:
        """Probability of each class.

        Parameters
        ----------
        X : array-like, sparse matrix or DataFrame of shape (n, features)

        Returns
        -------
        ndarray of shape (n, K)
            float64, a column per class, in the order of ``classes_``.
        """
        check_is_fitted(self, "probabilities_")
        check_features(self, X, reset=False)
        nan = "allow-nan" if self._allow_nan and not hasattr(X, "tocsr") else True
        X = check_array(X, accept_sparse="csr", dtype=np.float32, **{FINITE: nan})
        p: Array = self.probabilities_[self._splits.leaf(X)]
        return p

    def predict(self, X: Any) -> Array:
        """The most probable class of each row.

        Parameters
        ----------
        X : array-like, sparse matrix or DataFrame of shape (n, features)

        Returns
        -------
        ndarray of shape (n,)
        """
        probability = self.predict_proba(X)
        label: Array = self.classes_[probability.argmax(axis=1)]
        return label

    def to_json(self) -> str:
        """The fitted tree as JSON, readable without this package.

        A split is a row of ``feature``, ``threshold``, ``missing_left``, ``left`` and
        ``right``: numbers >= 0 are splits, -1 the first row of ``probabilities``, -2 the
        second. Split 0 is the root, if there is one. Left goes what is <= the threshold as
        a float32. ``tree`` is not kept.

        Returns
        -------
        str

        Raises
        ------
        ValueError
            Classes that are neither numbers nor strings nor bools.
        """
        check_is_fitted(self, "probabilities_")
        classes = self.classes_.tolist()
        if {type(label) for label in classes} not in ({bool}, {int}, {float}, {str}):
            raise ValueError(
                "classes must be all integers, numbers, strings or bools to be written as JSON, "
                f"found {classes}"
            )
        names = getattr(self, "feature_names_in_", None)
        return json.dumps(
            {
                "format": FORMAT,
                "m": self.m if self.m is None else float(self.m),
                "prior": _json.written_prior(self.prior),
                "classes": classes,
                "n_features": self.n_features_in_,
                "feature_names": None if names is None else names.tolist(),
                "allow_nan": self._allow_nan,
                **{name: getattr(self._splits, name).tolist() for name in ARRAYS},
                "probabilities": self.probabilities_.tolist(),
            },
            allow_nan=False,
        )

    @classmethod
    def from_json(cls, text: str) -> ProbabilityEstimationTree:
        """A fitted tree from what :meth:`to_json` wrote.

        Parameters
        ----------
        text : str

        Returns
        -------
        ProbabilityEstimationTree
            Without ``tree`` and ``tree_``: it predicts, and ``fit`` grows a default tree.

        Raises
        ------
        ValueError
            Text that is truncated, no JSON, or not of this format.
        TypeError
            If it is no text.
        """
        data = _json.read(text, FORMAT, KEYS)
        classes = _json.classes("classes", data["classes"])
        K = len(classes)
        m, prior = _json.smoothing(K if data["m"] is None else data["m"], data["prior"], K)
        n_features = _json.whole_numbers("n_features", [data["n_features"]])[0]
        splits = Splits(
            feature=_json.whole_numbers("feature", data["feature"]),
            threshold=_json.finite_numbers("threshold", data["threshold"], at_least=0),
            missing_left=_json.flags("missing_left", data["missing_left"]),
            left=_json.whole_numbers("left", data["left"]),
            right=_json.whole_numbers("right", data["right"]),
        )
        check_splits(splits, n_features)
        tree = cls(m=None if data["m"] is None else m, prior=prior)
        tree.probabilities_ = _json.table("probabilities", data["probabilities"])
        if tree.probabilities_.shape != (len(splits.left) + 1, K):
            raise ValueError(
                f"probabilities must have shape {(len(splits.left) + 1, K)}, found "
                f"{tree.probabilities_.shape}: the text was changed"
            )
        _checks.probabilities("probabilities", tree.probabilities_)
        names = data["feature_names"]
        if names is not None:
            if not isinstance(names, list) or not all(isinstance(name, str) for name in names):
                raise ValueError(
                    f"feature_names must be a list of strings, found {_checks.shown(names)}"
                )
            if len(names) != n_features:
                raise ValueError(f"feature_names has {len(names)} names of {n_features} features")
            tree.feature_names_in_ = np.array(names, object)
        tree.n_features_in_, tree.classes_, tree._splits = int(n_features), classes, splits
        tree._allow_nan = _json.flag("allow_nan", data["allow_nan"])
        return tree

    def __sklearn_tags__(self) -> Any:
        from sklearn.utils import get_tags

        tags = super().__sklearn_tags__()
        tree = DecisionTreeClassifier() if self.tree is None else self.tree
        if isinstance(tree, type) or not hasattr(tree, "__sklearn_tags__"):
            return tags
        inner = get_tags(tree)
        tags.input_tags.sparse = inner.input_tags.sparse
        tags.input_tags.allow_nan = inner.input_tags.allow_nan
        return tags
