"""DownsampledClassifier: trained on fewer negatives, true probabilities out."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import softmax
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.utils import _safe_indexing, check_random_state
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted, has_fit_parameter

from gbdt_objectives import _checks
from gbdt_objectives._checks import Array, group_numbers
from gbdt_objectives._folds import held_out_once
from gbdt_objectives._library import booster_kind
from gbdt_objectives.adapters._wrapped import (
    DEFAULTS,
    OWN_STOPPING,
    HeldOut,
    check_best_round,
    check_correctable,
    check_start,
    class_probability,
    fit,
    lightgbm_aliases,
    own_stopping,
)
from gbdt_objectives.estimators._rows import (
    accepted_weights,
    check_features,
    labelled_rows,
    take,
    weight_argument,
)
from gbdt_objectives.metrics import weighted_logloss_metric
from gbdt_objectives.objectives.logloss import LoglossObjective
from gbdt_objectives.priors import correct_probability, log_odds_shift, resample

CORRECTIONS = ("prior", "offset", "weight")
HELD_OUT_FOLDS = 5
"""One of so many parts of the sampled rows is held out for early stopping."""


class DownsampledClassifier(ClassifierMixin, BaseEstimator):  # type: ignore[misc]
    """Classifier trained on fewer negatives that predicts true probabilities.

    ``fit`` keeps each class's rows at its rate, by the label and by nothing else, trains
    a clone of the classifier on what is left, ``n_bags`` times on independent samples,
    and corrects for what it dropped. The correction uses the rates *measured* in each
    sample (of weights, if there are any), not the nominal ones: given the sample, they
    are exact, and the chance by which it holds a few negatives more or less cancels.

    Bags are averaged in log-odds: ::

        p_k proportional to exp(d_k) prod_b p_bk^(1/B)

    p_bk the probability of class k by bag b of B, d the mean of the bags' shifts
    (correction "prior", otherwise 0). A probability of exactly 0 counts as the limit of
    ever smaller ones: classes that fewest bags rule out share all, in proportion to the
    other bags' p_bk. So if as many bags say exactly 0 as exactly 1, they cancel.
    The average is better than a single bag in logloss and ranking, but a little low in the
    mean for rare events (measured: .91 of the truth with 5 bags): where sums of
    probabilities matter, add ``InterceptCalibrator`` on held-out rows.

    Parameters
    ----------
    estimator : classifier
        With ``predict_proba``. X goes to it as it is, missing values and categories
        too; y as class positions 0..K-1, so that XGBClassifier takes any labels. Where
        a ``random_state`` of it is None, each bag sets its own.
    negative_keep_rate : float or mapping
        Two classes: the fraction of negatives, the rows of ``classes_[0]``, that is
        kept, in (0, 1]. Labels that are no numbers come in alphabetical order, which
        says nothing of which is the negative: then it must be the more frequent. Any
        number of classes: {label: rate}; a class that is not named is kept whole.
    correction : {"prior", "offset", "weight"} or None
        "prior": train on the sample, then shift the log-odds.
        "offset": LGBMClassifier and XGBClassifier, two classes: train on
        ``offset_logloss_objective``, whose margin is the log-odds before sampling; the
        same model in theory, and early stopping sees the full population. A
        ``base_score`` of XGBClassifier is then a probability in the full population.
        "weight": each kept row weighs 1/rate; usually worse, and the scale of weights
        matters to boosters (``min_child_weight``, ``reg_lambda``).
        None: the sample's probabilities, for comparison.
    n_bags : int
        Number of samples and models.
    random_state : int, RandomState or None
        Seed of the samples.

    Attributes
    ----------
    classes_ : ndarray of shape (K,)
        Sorted; with two, the negative first.
    estimators_ : list of classifier
        One a bag, as trained: what they predict is not yet corrected.
    keep_rates_ : ndarray of shape (n_bags, K)
        Measured.
    shift_ : float, or ndarray of shape (K,) for K > 2
        What is added to the averaged log-odds, as from ``log_odds_shift``; 0 unless
        ``correction="prior"``.
    n_features_in_, feature_names_in_
        As everywhere in scikit-learn.

    Notes
    -----
    To serve a single booster without this package, put the correction into it:
    ``shift_intercept(classifier.estimators_[0].get_booster(), classifier.shift_)``, for
    LightGBM ``estimators_[0].booster_``. With "offset" it is there already. For two classes
    ``shift_`` is the positive's alone: a softmax with an output for each (``num_class=2``)
    takes ``[0, shift_]``.

    No correction here would undo what a classifier does to the classes by itself, by
    weights (``class_weight``, ``scale_pos_weight``), priors or resampling
    (imbalanced-learn's ``sampling_strategy``), nor make log-odds of an objective that has
    none. What can be recognised of this by its parameters is refused. To weigh in a
    pipeline, make ``DownsampledClassifier`` its last step.

    Early stopping of scikit-learn's own classifiers (``early_stopping``,
    ``n_iter_no_change``) is on thinned rows, without the correction; losses there come in
    nearly the same order as in the full population.

    References
    ----------
    King & Zeng (2001), Political Analysis 9(2), sections 4.1 and 4.2.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.linear_model import LogisticRegression
    >>> from gbdt_objectives import DownsampledClassifier
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(100_000, 2))
    >>> y = (rng.random(100_000) < 1 / (1 + np.exp(5 - X[:, 0]))).astype(int)
    >>> classifier = DownsampledClassifier(LogisticRegression(), 0.05, random_state=0).fit(X, y)
    >>> round(float(y.mean()), 3), round(float(classifier.predict_proba(X)[:, 1].mean()), 3)
    (0.011, 0.011)
    >>> uncorrected = classifier.estimators_[0].predict_proba(X)[:, 1]
    >>> round(float(uncorrected.mean()), 3)
    0.155
    """

    classes_: Array
    estimators_: list[Any]
    keep_rates_: Array
    shift_: float | Array

    def __init__(
        self,
        estimator: Any,
        negative_keep_rate: float | Mapping[Any, float],
        *,
        correction: Literal["prior", "offset", "weight"] | None = "prior",
        n_bags: int = 1,
        random_state: Any = None,
    ) -> None:
        self.estimator = estimator
        self.negative_keep_rate = negative_keep_rate
        self.correction = correction
        self.n_bags = n_bags
        self.random_state = random_state

    def fit(
        self,
        X: Any,
        y: ArrayLike,
        sample_weight: ArrayLike | None = None,
        groups: ArrayLike | None = None,
    ) -> DownsampledClassifier:
        """Draw the samples and train a model on each.

        If the estimator is a booster with ``early_stopping_rounds`` (which needs
        ``correction="offset"``), each bag holds out another fifth of its sample, and
        stops on its logloss, weighted back to the full population. The model keeps the
        best rounds; it is not trained again on all of the sample.

        Parameters
        ----------
        X : array-like, sparse matrix or DataFrame of shape (n, features)
            Whatever the estimator takes.
        y : array-like of shape (n,)
            Classes.
        sample_weight : array-like of shape (n,), optional
            For the estimator and the measured rates; does not change what is sampled.
        groups : array-like of shape (n,), optional
            For early stopping: rows of one group are held out together.

        Returns
        -------
        DownsampledClassifier
            Itself.

        Raises
        ------
        ValueError, TypeError
            Parameters that do not fit together or to the labels, a single class, a
            class of which sampling leaves nothing, bad weights, and what the estimator
            raises.
        """
        self._check_parameters()
        X, target = labelled_rows(self, X, y)
        check_classification_targets(target)
        classes = np.unique(target)
        if len(classes) < 2:
            raise ValueError(
                f"y has rows of one class only, found {classes.tolist()}: there must be two or more"
            )
        if self.correction == "offset" and len(classes) > 2:
            raise ValueError(
                "Only binary classification is supported by correction='offset', found the classes "
                f"{classes.tolist()}: pass correction='prior'"
            )
        position = np.searchsorted(classes, target)
        rates = self._rates(classes, np.bincount(position))
        w = accepted_weights(sample_weight, len(target), self.estimator)
        group = self._groups(groups, len(target))

        random = check_random_state(self.random_state)
        seeds = random.randint(np.iinfo(np.int32).max, size=int(self.n_bags)).tolist()
        samples = [resample(target, rates, random_state=seed) for seed in seeds]
        kept = np.array([_measured(classes, position, rows, w) for rows in samples])
        models = [
            self._fit_bag(X, position, w, group, rows, r, seed)
            for rows, r, seed in zip(samples, kept, seeds, strict=True)
        ]
        check_features(self, X, reset=True)
        self.estimators_, self.classes_, self.keep_rates_ = models, classes, kept
        shift = np.mean([_shift(r) for r in kept], axis=0)[()]
        self.shift_ = shift if self.correction == "prior" else np.zeros_like(shift)[()]
        return self

    def predict_proba(self, X: Any) -> Array:
        """Probability of each class in the population that ``fit`` was given.

        Parameters
        ----------
        X : array-like, sparse matrix or DataFrame of shape (n, features)

        Returns
        -------
        ndarray of shape (n, K)
            float64, a column per class, in the order of ``classes_``.
        """
        check_is_fitted(self, "estimators_")
        check_features(self, X, reset=False)
        p = geometric_mean([class_probability(model, X) for model in self.estimators_])
        return correct_probability(p, shift=self.shift_) if np.any(self.shift_) else p

    def predict(self, X: Any) -> Array:
        """The most probable class of each row.

        Of two classes that is the positive one above a true probability of 1/2, which
        rare events seldom reach: to decide at another threshold compare
        ``predict_proba`` with it, or use scikit-learn's ``FixedThresholdClassifier``.

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

    def _check_parameters(self) -> None:
        if isinstance(self.estimator, type) or not hasattr(self.estimator, "predict_proba"):
            raise TypeError(
                "estimator must be a classifier with predict_proba, such as LGBMClassifier(), "
                f"found {self.estimator!r}"
            )
        if self.correction is not None:
            _checks.choice("correction", self.correction, CORRECTIONS)
            check_correctable(self.estimator)
        if self.correction == "offset":
            check_offset(self.estimator)
        if self.correction == "weight" and not has_fit_parameter(self.estimator, "sample_weight"):
            raise ValueError(
                f"correction='weight' needs sample_weight, but {type(self.estimator).__name__} "
                "takes none: pass correction='prior', or make this the last step of the pipeline"
            )
        check_early_stopping(self.estimator, self.correction)
        _checks.whole_number("n_bags", self.n_bags, 1)

    def _rates(self, classes: Array, count: Array) -> dict[Any, float]:
        """The nominal rate of each label."""
        given, labels = self.negative_keep_rate, classes.tolist()
        if isinstance(given, Mapping):
            unknown = [label for label in given if label not in labels]
            if unknown or not given:
                raise ValueError(
                    f"negative_keep_rate must map labels of y, {labels}, to their rates, found "
                    f"{dict(given)!r}"
                )
            return {
                label: _checks.keep_rate(f"negative_keep_rate[{label!r}]", given.get(label, 1.0))
                for label in labels
            }
        rate = _checks.keep_rate("negative_keep_rate", given)
        if len(labels) > 2:
            raise ValueError(
                "Only binary classification is supported by a single negative_keep_rate, found "
                f"the classes {labels}: pass a mapping {{label: rate}}"
            )
        if rate < 1 and classes.dtype.kind not in "biuf" and count[0] < count[1]:
            raise ValueError(
                f"negative_keep_rate would thin {labels[0]!r}, the first in alphabetical order, "
                f"but {labels[1]!r} is more frequent, {count[1]} rows to {count[0]}: say which is "
                f"meant, negative_keep_rate={{{labels[1]!r}: {rate}}}"
            )
        return {labels[0]: rate, labels[1]: 1.0}

    def _groups(self, groups: ArrayLike | None, rows: int) -> Array | None:
        if groups is None:
            return None
        if own_stopping(self.estimator) is None:
            raise ValueError(
                "groups is for early stopping, but estimator has no early_stopping_rounds: leave "
                "it out (sampling depends on the label only)"
            )
        return group_numbers(groups, rows)

    def _fit_bag(
        self,
        X: Any,
        position: Array,
        w: Array | None,
        group: Array | None,
        rows: Array,
        kept: Array,
        seed: int,
    ) -> Any:
        model = clone(self.estimator)
        states = {
            name: seed
            for name, value in model.get_params().items()
            if value is None and name.split("__")[-1] == "random_state"
        }
        model.set_params(**states)
        held_out = None
        if own_stopping(model) is not None:
            rows, held = _split(position, group, rows, seed)
            back = _weighted_back(position, w, kept, held)
            held_out = (_safe_indexing(X, held), position[held], back)
        X_rows, y, v = _safe_indexing(X, rows), position[rows], take(w, rows)
        if self.correction == "offset":
            return fit_offset(model, _shift(kept), X_rows, y, v, held_out)
        if self.correction == "weight":
            v = _weighted_back(position, w, kept, rows)
        return model.fit(X_rows, y, **weight_argument(v))

    def __sklearn_tags__(self) -> Any:
        from sklearn.utils import get_tags

        tags = super().__sklearn_tags__()
        many = isinstance(self.negative_keep_rate, Mapping) and self.correction != "offset"
        tags.classifier_tags.multi_class = many
        if isinstance(self.estimator, type) or not hasattr(self.estimator, "__sklearn_tags__"):
            return tags
        inner = get_tags(self.estimator)
        if inner.classifier_tags is not None:
            tags.classifier_tags.multi_class = many and inner.classifier_tags.multi_class
        tags.input_tags.sparse = inner.input_tags.sparse
        tags.input_tags.allow_nan = inner.input_tags.allow_nan
        tags.input_tags.categorical = inner.input_tags.categorical
        return tags


def check_early_stopping(estimator: Any, correction: str | None) -> None:
    """Raise if the classifier would stop early on nothing, or on something else than told."""
    if own_stopping(estimator) is None:
        return
    if correction != "offset":
        raise ValueError(
            f"estimator stops early, but with correction={correction!r} it would be measured on "
            "the thinned population: pass correction='offset', or fix n_estimators"
        )
    parameters = estimator.get_params()
    for name in ("eval_metric", "metric"):
        if parameters.get(name) is not None:
            raise ValueError(
                f"estimator has {name}={parameters[name]!r}, but early stopping is on the logloss "
                "of the full population: leave it out"
            )
    check_best_round(parameters)


def check_offset(estimator: Any) -> None:
    """Raise unless the classifier can be trained on an offset logloss."""
    kind = booster_kind(estimator, "Classifier")
    if kind is None:
        raise ValueError(
            "correction='offset' is for LGBMClassifier and XGBClassifier, found "
            f"{type(estimator).__name__}, which cannot be given an objective: pass "
            "correction='prior', which is the same in theory"
        )
    parameters = estimator.get_params()
    if kind == "lightgbm":
        for name in lightgbm_aliases()["boosting"]:
            if parameters.get(name) in ("rf", "random_forest"):
                raise ValueError(
                    f"estimator has {name}={parameters[name]!r}, but LightGBM's random forests "
                    "take no objective of ours: pass correction='prior'"
                )
        if parameters.get("boost_from_average") not in (None, True):
            raise ValueError(
                f"estimator has boost_from_average={parameters['boost_from_average']!r}, but with "
                "correction='offset' boosting starts at the mean log-odds: leave it out"
            )
    if parameters["objective"] not in DEFAULTS["Classifier"][kind]:
        raise ValueError(
            f"estimator has objective={parameters['objective']!r}, and correction='offset' one of "
            "its own: leave the first out, or pass correction='prior'"
        )


def fit_offset(
    estimator: Any, shift: float, X: Any, y: Array, w: Array | None, held_out: HeldOut | None
) -> Any:
    """The booster, trained so that its margin is the log-odds before sampling.

    ``held_out``: rows, labels, and weights that make them stand for the full population.
    """
    objective = LoglossObjective(offset=-shift).measured(y, w)
    kind, stopping_rounds = booster_kind(estimator, "Classifier"), own_stopping(estimator)
    assert kind is not None
    assert objective.intercept is not None
    if estimator.get_params().get("base_score") is None:
        check_start(kind, objective.intercept)
    names = estimator.get_params()
    estimator.set_params(**{name: None for name in OWN_STOPPING if name in names})
    metric = weighted_logloss_metric(1.0)
    return fit(estimator, kind, objective, X, y, w, metric, held_out, stopping_rounds)


def geometric_mean(probabilities: Sequence[Array]) -> Array:
    """prod_b p_bk^(1/B), each row divided by its sum; zeros as the limit of small numbers."""
    if len(probabilities) == 1:
        return probabilities[0]
    p = np.stack(probabilities)
    ruled_out = (p == 0).sum(axis=0)
    log_mean = np.log(np.where(p == 0, 1, p)).mean(axis=0)
    log_mean[ruled_out > ruled_out.min(axis=1, keepdims=True)] = -np.inf
    mean: Array = softmax(log_mean, axis=1)
    return mean


def _shift(kept: Array) -> Any:
    """A float for two classes, (K,) for more."""
    if len(kept) == 2:
        return log_odds_shift(negative_keep_rate=kept[0], positive_keep_rate=kept[1])
    return log_odds_shift(class_keep_rates=kept)


def _measured(classes: Array, position: Array, rows: Array, w: Array | None) -> Array:
    """The fraction of each class's rows, or of their weight, that is in the sample."""
    full = np.bincount(position, w)
    kept = np.bincount(position[rows], take(w, rows), minlength=len(full))
    if not kept.all():
        k = int(np.argmin(kept))
        raise ValueError(
            f"the sampled rows of class {classes.tolist()[k]!r} have a total weight of 0, before "
            f"sampling {full[k]:g}: each class needs rows that count, keep it at a higher rate"
        )
    return kept / full


def _weighted_back(position: Array, w: Array | None, kept: Array, rows: Array) -> Array:
    """Weights with which the rows of a sample stand for all they were drawn from."""
    back: Array = 1 / kept[position[rows]]
    return back if w is None else back * w[rows]


def _split(position: Array, group: Array | None, rows: Array, seed: int) -> tuple[Array, Array]:
    """Rows of a sample to train on and to stop on."""
    g = take(group, rows)
    train, held = held_out_once(position[rows], HELD_OUT_FOLDS, g, shuffle=True, random_state=seed)[
        0
    ]
    return rows[train], rows[held]
