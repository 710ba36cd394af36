"""QWKClassifier: any regressor in, ordered classes out."""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from dataclasses import KW_ONLY, dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator, ClassifierMixin, clone, is_classifier
from sklearn.pipeline import Pipeline
from sklearn.utils import _safe_indexing
from sklearn.utils.parallel import Parallel, delayed
from sklearn.utils.validation import check_is_fitted

from gbdt_objectives import _checks, _mistakes, metrics
from gbdt_objectives._boosters import booster_kind, users_level
from gbdt_objectives._checks import Array, check_order, group_numbers, positions
from gbdt_objectives._folds import Split, held_out_equally_often
from gbdt_objectives.adapters import _wrapped
from gbdt_objectives.adapters._wrapped import Data
from gbdt_objectives.calibration.ordinal import LaterCurve
from gbdt_objectives.estimators import _base
from gbdt_objectives.objectives import Objective, qwk_objective
from gbdt_objectives.thresholds import Thresholds, apply_thresholds
from gbdt_objectives.thresholds.methods import METHODS, fit_thresholds, warn_if_useless
from gbdt_objectives.thresholds.qwk import score_rises
from gbdt_objectives.thresholds.rows import (
    are_rising_numbers,
    sort_rows,
    weights_of_prior,
)

STRETCH_ROWS = 2_000  # number of rows that each model scores for the stretch: others than the next


@_mistakes.arguments(thresholds="the algorithm that places them is method=")
@dataclass(eq=False, repr=False)
class QWKClassifier(_base.Wrapping, ClassifierMixin, BaseEstimator):  # type: ignore[misc]
    """Classifier of ordered labels: a regressor for each fold, and thresholds on their mean score.

    ``fit`` trains the regressor on class positions 0..K-1, once per fold, places thresholds on the
    out-of-fold scores o, and averages the folds' models or refits on all rows. Averages a of
    several models vary less than scores of one, so they are stretched about their mean by the
    square root of var(o) / cov(o, a); ``docs/theory/qwk.md`` says why.

    Parameters
    ----------
    estimator : regressor
        Any of scikit-learn's, XGBRegressor, LGBMRegressor, or a Pipeline that ends in one, whose
        steps are fitted in each fold. X is passed on unchanged.
    objective : None, "qwk" or Objective
        None: the regressor's own, which is squared error unless it says another. "qwk", for
        LGBMRegressor and XGBRegressor: ``qwk_objective``, which takes longer and is level with it
        after thresholds. It, or another objective of this package, is measured on each fold's
        training labels and weights and started at its best constant, part of the model.
    method : {"curved", "plugin", "exact", "nelder-mead", "rounding"}
        Algorithm that places the thresholds; see ``optimize_thresholds``.
    cv : int, splitter or iterable of splits
        An int: that many stratified folds, shuffled; group folds if ``fit`` gets ``groups``. Pass a
        splitter for rows ordered in time, such as TimeSeriesSplit. It must hold out each row
        equally often or never: thresholds are placed on the rows held out. With repeated folds a
        row's out-of-fold score is the mean of its repeats.
    ensemble : bool
        True: average the folds' models. False: refit one model on all rows.
    labels : array-like of shape (K,), optional
        All classes in order, lowest first, of any type. None: the integers from min to max of y,
        some of which may be missing, or the order of an ordered pandas Categorical.
    target_prior : mapping of label to probability, optional
        Label distribution where the thresholds will be used, if it differs from that of y. The
        thresholds are placed on rows reweighted to it; the regressor is trained on the rows as
        they are (to reweight both, pass ``prior_weights(y, target_prior)`` to ``fit`` instead).
    early_stopping_rounds : int, optional
        LGBMRegressor and XGBRegressor: stop each fold when the loss of its held-out rows has not
        improved for this many rounds (squared error with ``objective=None``); a refit uses the
        mean of their best rounds. It makes the out-of-fold scores slightly optimistic.
    random_state : int, RandomState or None
        Seed for shuffling the folds. Used only when ``cv`` is an integer.
    n_jobs : int, optional
        Number of folds trained at the same time, each with the booster's own threads.
    verbose : bool
        Whether to show a progress bar over the folds (needs tqdm).

    Attributes
    ----------
    classes_ : ndarray of shape (K,)
        The classes in order, lowest first.
    thresholds_, label_thresholds_ : ndarray of shape (K-1,)
        Thresholds in units of class positions, for ``predict_score`` and ``apply_thresholds``; the
        same in units of the labels, if these are rising numbers.
    estimators_, estimator_ : list of regressor, regressor
        One model per fold (``ensemble=True``), or the one fitted on all rows.
    feature_importances_ : ndarray of shape (features,)
        Mean of the models' importances, if they have any.
    probability_curve_ : callable
        Class probabilities (n, K) of what ``predict_score`` returns (n,), fitted when it is first
        called or pickled.
    oof_score_ : ndarray of shape (n,)
        Out-of-fold scores, for ``cross_validate_thresholds``. Rows never held out have nan, which
        it refuses: leave them out.
    stretch_, center_ : float
        Averaged scores are stretched by ``stretch_`` (1 without ensemble) about ``center_``, the
        mean out-of-fold score.
    best_iterations_ : list of int
        Rounds of each fold's model, with early stopping.
    n_features_in_, feature_names_in_

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.linear_model import Ridge
    >>> from gbdt_objectives import QWKClassifier
    >>> X = np.random.default_rng(0).normal(size=(300, 3))
    >>> y = np.array(["low", "mid", "high"])[np.digitize(X[:, 0], [-1, 1])]
    >>> classifier = QWKClassifier(Ridge(), labels=["low", "mid", "high"]).fit(X, y)
    >>> classifier.predict([[-3, 0, 0], [0, 0, 0], [3, 0, 0]]).tolist()
    ['low', 'mid', 'high']
    """

    estimator: Any
    _: KW_ONLY
    objective: Literal["qwk"] | Objective | None = None
    method: str = "curved"
    cv: Any = 5
    ensemble: bool = True
    labels: ArrayLike | None = None
    target_prior: Mapping[Any, float] | None = None
    early_stopping_rounds: int | None = None
    random_state: int | np.random.RandomState | None = 0
    n_jobs: int | None = None
    verbose: bool = False

    @_mistakes.in_order
    def fit(
        self,
        X: Any,
        y: ArrayLike,
        sample_weight: ArrayLike | None = None,
        groups: ArrayLike | None = None,
    ) -> QWKClassifier:
        """Fit the folds' models and the thresholds (and a final model); return the classifier.

        Parameters
        ----------
        X, y : array-like or DataFrame of shape (n, features), array-like of shape (n,)
            Whatever the regressor accepts, and the classes.
        sample_weight : array-like of shape (n,), optional
            Weights >= 0 for the regressor, the objective, early stopping and the thresholds, for
            which w is w copies of the row.
        groups : array-like of shape (n,), optional
            Rows of one group stay on one side of each split.

        Raises
        ------
        ValueError, TypeError
            Parameters that do not fit together, labels without an order, bad weights,
            splits that hold out some rows more often than others, and what the regressor raises.
        """
        self._check_parameters()
        X, target = _base.check_rows(self, X, y)
        if len(target) < 2:
            raise ValueError("found n_samples=1: there must be rows of at least two classes")
        given = self.labels
        classes = _base.ordered_classes(y, target) if given is None else check_order(given)
        position = positions("y", target, classes).astype(np.int64)
        w = _base.check_weights(sample_weight, len(target), last_step(self.estimator))
        group = None if groups is None else group_numbers(groups, len(target))
        splits, times = held_out_equally_often(
            position, self.cv, group, shuffle=True, random_state=self.random_state
        )
        if times > 1 and not self.ensemble:
            raise ValueError(
                f"cv holds each row out {times} times, but ensemble=False keeps one model, whose "
                "scores are spread more than their mean: use ensemble=True, or folds without "
                "repeats"
            )

        data = X, position, w
        held = np.unique(np.concatenate([test for _, test in splits]))
        models, oof, stretch = self._fit_folds(data, len(classes), splits, times, held)
        held_out, w = position[held], _base.take(w, held)
        _base.check_held_out_classes("cv", classes, held_out, w)
        weight = weights_of_prior(self.target_prior, classes, held_out, w)
        rows = sort_rows(oof[held], held_out, weight, np.arange(len(classes)))
        useful = score_rises(rows.label_curve)
        if not useful:
            warnings.warn(
                "the out-of-fold scores do not rise with the class: the regressor has learnt "
                "nothing that holds on new rows",
                UserWarning,
                stacklevel=users_level(),
            )
        cuts = fit_thresholds(self.method, rows, metrics.qwk_metric())
        if useful:
            warn_if_useless(self.method, cuts, rows, metrics.qwk_metric())
        found: dict[str, Any] = {}
        if are_rising_numbers(classes):
            found["label_thresholds_"] = Thresholds(positions_to_labels(cuts, classes), classes)
        if self.early_stopping_rounds is not None:
            found["best_iterations_"] = [_wrapped.count_rounds(last_step(m)) for m in models]
        if self.ensemble:
            found["estimators_"] = models
        else:
            final = clone(self.estimator)
            if self.early_stopping_rounds is not None:
                best = round(float(np.mean(found["best_iterations_"])))
                last_step(final).set_params(n_estimators=max(1, best))
            found["estimator_"] = self._fit_model(final, data, len(classes))
        _base.check_features(self, X, reset=True)
        for name in ("estimator_", "estimators_", "label_thresholds_", "best_iterations_"):
            self.__dict__.pop(name, None)  # of an earlier fit
        self.__dict__.update(found)
        self.classes_, self.thresholds_ = classes, Thresholds(cuts, classes)
        self.oof_score_, self.stretch_ = oof, stretch
        self.center_ = float(np.average(oof[held], weights=w))
        self.probability_curve_ = LaterCurve(
            rows.position, rows.score, rows.weight, len(classes), stretch, len(models)
        )
        return self

    def _check_parameters(self) -> None:
        if isinstance(self.estimator, type) or not hasattr(self.estimator, "predict"):
            raise TypeError(
                f"estimator must be a regressor such as LGBMRegressor(), found {self.estimator!r}"
            )
        if is_classifier(self.estimator):
            raise TypeError(
                f"estimator must be a regressor, found the classifier {self.estimator!r}: "
                "thresholds need one continuous score, use its regressor"
            )
        _checks.choice("method", self.method, tuple(METHODS))
        _checks.flag("ensemble", self.ensemble)
        _checks.flag("verbose", self.verbose)
        check_trainable(last_step(self.estimator), self.objective)
        check_early_stopping(last_step(self.estimator), self.early_stopping_rounds)

    def _fit_folds(
        self, data: Data, K: int, splits: Sequence[Split], times: int, held: Array
    ) -> tuple[list[Any], Array, float]:
        """The models, the out-of-fold scores (means of ``times`` each), and the stretch."""
        few = min(len(held), STRETCH_ROWS) if self.ensemble else 0
        rng = np.random.default_rng(0)
        some = [rng.choice(held, few, replace=False) for _ in splits]
        folds = Parallel(n_jobs=self.n_jobs, return_as="generator")(
            delayed(self._fit_fold)(data, K, *each) for each in zip(splits, some, strict=True)
        )
        models, scores = list[Any](), list[Array]()
        oof = np.full(len(data[1]), np.nan)
        oof[held] = 0
        if self.verbose:
            folds = _base.show_progress(folds, len(splits), "QWKClassifier", "fold")
        for (_, test), (model, held_out, own) in zip(splits, folds, strict=True):
            models.append(model)
            oof[test] += held_out / times
            scores.append(own)
        rows, score = np.concatenate(some), np.concatenate(scores)
        stretch = _stretch(oof[rows], score, _base.take(data[2], rows)) if self.ensemble else 1.0
        return models, oof, stretch

    def _fit_fold(self, data: Data, K: int, split: Split, some: Array) -> tuple[Any, Array, Array]:
        """The fold's model, its scores of the rows held out, and of some rows."""
        train, test = split
        stops = self.early_stopping_rounds is not None
        held_out = _base.take_rows(data, test) if stops else None
        model = self._fit_model(clone(self.estimator), _base.take_rows(data, train), K, held_out)
        rows = np.union1d(test, some)
        score = self._model_score(model, _safe_indexing(data[0], rows), K)
        return model, score[np.searchsorted(rows, test)], score[np.searchsorted(rows, some)]

    def _fit_model(self, model: Any, data: Data, K: int, held_out: Data | None = None) -> Any:
        """The regressor, fitted on class positions; it predicts in their units."""
        X, position, w = data
        if isinstance(model, Pipeline):
            *_, (name, last) = model.steps
            before = model[:-1]
            X = before.fit_transform(X, position.astype(np.float64)) if len(before) else X
            if held_out is not None and len(before):
                held_out = before.transform(held_out[0]), *held_out[1:]
            fitted = self._fit_model(last, (X, position, w), K, held_out)
            model.steps = [*before.steps, (name, fitted)]
            return model
        kind = booster_kind(model, "Regressor")
        if kind is None:
            return model.fit(X, position.astype(np.float64), **_base.weight_argument(w))
        objective = self.objective
        if objective is not None:
            if objective == "qwk":
                objective = qwk_objective(label_range=(0, K - 1))
            given = getattr(objective, "label_range", None)
            if given not in (None, (0, K - 1)):
                raise ValueError(
                    f"objective has label_range {given}, but QWKClassifier trains on class "
                    f"positions 0 to {K - 1}: pass objective='qwk', or make the objective without "
                    "labels (centre and spread are of positions, too)"
                )
            objective = objective.measured(position, w)
        metric: metrics.Metric = metrics.squared_error_metric()
        if objective is not None and held_out is not None:
            metric = metrics.loss_metric(objective)
        stopping = self.early_stopping_rounds
        return _wrapped.fit(model, kind, objective, data, metric, held_out, stopping)

    def _model_score(self, model: Any, X: Any, K: int) -> Array:
        """One model's scores; clipped to 0..K-1 if its objective clips them."""
        clips = self.objective == "qwk" or getattr(self.objective, "clip", False)
        score = np.asarray(model.predict(X), np.float64)
        if score.ndim == 2 and score.shape[1] == 1:
            score = score[:, 0]
        return score.clip(0, K - 1) if clips else score

    def predict_score(self, X: Any) -> Array:
        """Return the continuous score of each row, float64 (n,), on the scale of ``thresholds_``.

        The unit is class positions, 0..K-1. With a QWK objective that clips, each model's scores
        are clipped to that range: beyond the labels training does not constrain them. ``X`` has the
        features that ``fit`` saw.
        """
        check_is_fitted(self, "thresholds_")
        _base.check_features(self, X, reset=False)
        if not hasattr(self, "estimators_"):
            return self._model_score(self.estimator_, X, len(self.classes_))
        K = len(self.classes_)
        average = np.mean([self._model_score(model, X, K) for model in self.estimators_], axis=0)
        score: Array = self.center_ + self.stretch_ * (average - self.center_)
        return score

    @property
    def feature_importances_(self) -> Array:
        """Mean of the models' feature importances, of shape (features,)."""
        check_is_fitted(self, "thresholds_")
        models = getattr(self, "estimators_", None) or [self.estimator_]
        importances: Array = np.mean([last_step(m).feature_importances_ for m in models], axis=0)
        return importances

    def predict_proba(self, X: Any) -> Array:
        """Return the probability of each class, float64 (n, K), from a curve of the score.

        P(y <= k) = sigmoid(theta_k - b f(score)) (proportional odds), where f is fitted to the
        out-of-fold scores, a natural spline in the score's normal quantile with the number of knots
        of least BIC. These are scores of single models. A mean of several says more about the
        class, so b > 1 makes the curve steeper for it (``docs/theory/qwk.md``); with
        ``ensemble=False`` b is 1. :meth:`predict` gives the
        classes best for QWK, not the most probable ones; ``decide(probability, metric)`` gives
        those best for other metrics. Columns are in the order of ``classes_``; that of a class
        without rows is 0.
        """
        score = self.predict_score(X)
        return self.probability_curve_(score)

    def predict(self, X: Any) -> Array:
        """Return the class of each row of ``X``, of shape (n,)."""
        return apply_thresholds(self.predict_score(X), self.thresholds_, self.classes_)

    def score(self, X: Any, y: ArrayLike, sample_weight: ArrayLike | None = None) -> float:
        """Return the quadratic weighted kappa of the predicted classes, a float.

        Integers in ``y`` need not have occurred in ``fit`` if ``labels`` is None.
        """
        classes = self.classes_
        consecutive = classes.dtype.kind in "iu" and bool((np.diff(classes) == 1).all())
        labels = None if self.labels is None and consecutive else classes
        predicted = self.predict(X)
        return metrics.quadratic_weighted_kappa(
            y, predicted, labels=labels, sample_weight=sample_weight
        )


def last_step(estimator: Any) -> Any:
    """What a Pipeline ends in, any other estimator itself."""
    while isinstance(estimator, Pipeline):
        estimator = estimator.steps[-1][1]
    return estimator


def positions_to_labels(t: Array, labels: Array) -> Array:
    """Class positions in label units, linear between neighbours and beyond the last ones."""
    at = labels.astype(np.float64)
    inside = t.clip(0, len(at) - 1)
    found: Array = np.interp(inside, np.arange(len(at)), at)
    found += np.where(t < 0, (t - inside) * (at[1] - at[0]), 0)
    found += np.where(t > len(at) - 1, (t - inside) * (at[-1] - at[-2]), 0)
    return found


def check_trainable(estimator: Any, objective: object) -> None:
    own = estimator.get_params().get("objective") if objective is None else objective
    if isinstance(own, Objective) and own.is_by_row:
        raise ValueError(
            f"objective {own!r} is for training rows in their order, but QWKClassifier trains on "
            "folds of them: score the rows with cross_val_predict(regressor, X, y, "
            "params={'cost': cost}), of a drop-in estimator on objective(function, "
            "rows=['cost']), and fit a ThresholdClassifier to the scores"
        )
    if objective is None:
        return
    if objective != "qwk" and not isinstance(objective, Objective):
        raise TypeError(
            f"objective must be 'qwk', an objective such as qwk_objective(), or None, found "
            f"{objective!r}"
        )
    kind = booster_kind(estimator, "Regressor")
    if kind is None:
        raise ValueError(
            f"objective={objective!r} needs an LGBMRegressor or XGBRegressor, found "
            f"{type(estimator).__name__}, which cannot be given an objective: pass objective=None "
            "to train it on its own"
        )
    _wrapped.refuse_parameters(
        estimator.get_params(),
        ("objective",),
        _wrapped.DEFAULTS["Regressor"][kind],
        f"but QWKClassifier objective={objective!r}: leave the first out, or pass objective=None",
    )
    if isinstance(objective, Objective) and not objective.link.is_label_unit:
        raise ValueError(
            f"objective {objective!r} has the link {objective.link.name!r}: scores must be in "
            "units of the class positions; for its own classes use LGBMClassifier or "
            "XGBClassifier of gbdt_objectives.adapters"
        )


def check_early_stopping(estimator: Any, stopping_rounds: object) -> None:
    """Raise if the regressor cannot be stopped early, or would do so on its own terms."""
    kind = booster_kind(estimator, "Regressor")
    if kind is not None:
        parameters = estimator.get_params()
        _wrapped.refuse_parameters(
            parameters,
            _wrapped.OWN_STOPPING,
            (),
            "which gets no held-out rows and (in XGBoost) minimises kappa: pass "
            "early_stopping_rounds= to QWKClassifier",
        )
    if stopping_rounds is None:
        return
    _checks.whole_number("early_stopping_rounds", stopping_rounds, 1)
    if kind is None:
        raise ValueError(
            "early_stopping_rounds is for LGBMRegressor and XGBRegressor, found "
            f"{type(estimator).__name__}: use the regressor's own early stopping"
        )
    _wrapped.check_best_round(parameters)


def _stretch(oof: Array, score: Array, w: Array | None) -> float:
    """sd(oof) / sd(average on new rows), at least 1; ``score`` is of each model on its rows."""
    o = oof - np.average(oof, weights=w)
    variance = float(np.average(o * o, weights=w))
    covariance = float(np.average(o * score, weights=w))
    if variance == 0 or covariance <= 0:  # nothing learnt: warned of when placing thresholds
        return 1.0
    return max(1.0, float(np.sqrt(variance / covariance)))
