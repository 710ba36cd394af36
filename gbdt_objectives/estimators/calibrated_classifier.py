"""CalibratedClassifier: any classifier and any calibrator of this package, on held-out rows."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import KW_ONLY, dataclass
from functools import partial
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import clone, is_classifier
from sklearn.isotonic import IsotonicRegression
from sklearn.utils.validation import check_is_fitted

from gbdt_objectives import _checks
from gbdt_objectives._checks import Array
from gbdt_objectives._checks.tables import Split
from gbdt_objectives._names import where
from gbdt_objectives._public import public
from gbdt_objectives.calibration import SegmentCalibrator, calibrator_choice
from gbdt_objectives.calibration.calibrator_choice import check_rates, takes_columns
from gbdt_objectives.estimators import _base, _members, _stack
from gbdt_objectives.estimators._base import (
    Data,
    FitRows,
    find_center,
    geometric_mean,
    rows_to_stretch,
)

FOLDS = 5
Found = dict[str, Any]

ROUND_OFF = 1e-9
"""Weighted means of labels, as in scikit-learn's isotonic regression, can exceed 1 by this much."""


@public
@dataclass(eq=False, repr=False)
class CalibratedClassifier(_base.ProbabilityClassifier, _members.Composed):
    """Classifier whose probabilities are calibrated on held-out rows.

    Use it where probabilities are needed themselves, and all rows are needed for training too.
    ``fit`` trains the classifier once per fold, and fits one calibrator on the out-of-fold
    probabilities of all rows that are held out. It averages the folds' models, or trains the
    classifier again on all rows. The average has the log-odds ::

        z = c + s (mean over folds of z_b - c)

    They vary less than the log-odds z_b of one model, which the calibrator was fitted on, so they
    are stretched about their mean c by s >= 1 (of K classes, log-probabilities).

    Parameters
    ----------
    estimator : classifier or list of (str, classifier)
        With ``predict_proba``. X and y are passed on unchanged: XGBClassifier needs labels 0 and 1.
        Several, for two classes, are a list with names, ``[("trees", LGBMClassifier()), ("linear",
        LogisticRegression())]``, share the folds, and have one probability, by a logistic
        regression on their out-of-fold log-odds, with weights >= 0.
    calibrator : calibrator or "auto", optional
        None: for two classes, ``SplineCalibrator(shrink=True)``; where all probabilities are the
        same ``InterceptCalibrator()``, where some were certain and wrong ``VennAbersCalibrator()``.
        "auto": the one that ``choose_calibrator`` chooses by cross-validated log loss of the
        held-out rows, in random folds (of groups if ``fit`` gets them), after 25 fits. A calibrator
        of this package, or any object with ``fit(score, y, sample_weight)`` and ``predict(score)``,
        such as ``IsotonicRegression(out_of_bounds="clip")``, gets the probability of the positive
        class; ``SegmentCalibrator(segment="country")`` that column of X as well. For more than two
        classes ``TemperatureCalibrator`` or your own gets (n, K) probabilities and the positions of
        labels in ``classes_``.
    cv : int, splitter, iterable of splits or "prefit"
        An int: that many stratified folds, drawn by ``random_state=0``; group folds with
        ``groups``. Rows in the order of time: ``TimeSeriesSplit(5)``, or ``[(train, held_out)]``
        with the later rows held out. No row may be held out twice. "prefit": the estimator is
        already fitted, on other rows, and ``fit`` gets rows for the calibrator only.
    ensemble : bool or "auto"
        True: average the folds' models, which ranks better and predicts more slowly than one model.
        False: train one model on all rows. "auto": True if each row is held out once and no
        probability is exactly 0 or 1, which has no log-odds; otherwise False.
    verbose : bool or int
        Whether to show progress over folds, and of "auto" over calibrators, as QWKClassifier does.

    Attributes
    ----------
    classes_ : ndarray of shape (K,)
        The sorted classes; of two, the positive class last.
    estimators_ : list of classifier
        The folds' models, if they are averaged; of several classifiers a list for each fold.
    weights_, intercept_ : ndarray of shape (M,), float
        Of several classifiers: the sum of their log-odds times ``weights_``, and ``intercept_``,
        are the log-odds of one fold. A warning names those of weight 0, which are not asked.
    limits_ : ndarray of shape (M,)
        Log-odds of each classifier count up to this limit, 2 log(2n), or if it was certain of some
        held-out rows, as forests are, up to the largest that it gave otherwise.
    stretch_, center_ : float, float or ndarray of shape (K,) for K > 2
        The s and c of the average.
    estimator_ : classifier or list of classifier
        The model of all rows of X, if there is no average; ``estimator`` with ``cv="prefit"``.
    calibrator_, comparison_ : calibrator, CalibratorChoice
        The fitted calibrator. The log loss of all candidates; for "auto" only.
    oof_probability_ : ndarray of shape (n,), or (n, K) if the calibrator takes K columns
        What the calibrator was fitted on, of the rows or ``eval_set``; NaN where not held out.
    n_features_in_, feature_names_in_

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.naive_bayes import GaussianNB
    >>> from gbdt_objectives import CalibratedClassifier
    >>> from gbdt_objectives.calibration import LogitCalibrator
    >>> rng = np.random.default_rng(0)
    >>> x = rng.normal(size=4000)
    >>> y = (rng.random(4000) < 1 / (1 + np.exp(-x))).astype(int)
    >>> X = np.column_stack([x] * 5)  # naive Bayes counts each copy as new evidence
    >>> calibrated = CalibratedClassifier(GaussianNB(), LogitCalibrator()).fit(X, y)
    >>> round(calibrated.calibrator_.slope_, 2)
    0.2
    >>> from sklearn.linear_model import LogisticRegression
    >>> from sklearn.tree import DecisionTreeClassifier
    >>> X = rng.normal(size=(2000, 2))  # a line and a step
    >>> y = X[:, 0] + (X[:, 1] > 0) + rng.logistic(size=2000) > 1
    >>> members = [("tree", DecisionTreeClassifier(max_depth=3)), ("linear", LogisticRegression())]
    >>> (CalibratedClassifier(members).fit(X, y).weights_ > 0).tolist()
    [True, True]
    """

    estimator: Any
    calibrator: Any = None
    _: KW_ONLY
    cv: Any = FOLDS
    ensemble: bool | Literal["auto"] = "auto"
    verbose: bool | int = False

    _kind = _stack.CLASSIFIERS

    def fit(
        self, X: Any, y: ArrayLike, sample_weight: ArrayLike | None = None,
        groups: ArrayLike | None = None, *, eval_set: Any = None, eval_sample_weight: Any = None,
        negative_keep_rate: float | None = None, keep_rate: ArrayLike | None = None,
        class_keep_rates: Mapping[Any, float] | None = None, **others: Any,
    ) -> CalibratedClassifier:  # fmt: skip
        """Fit the folds' classifiers and the calibrator (and a final model); return the classifier.

        Parameters
        ----------
        X, y : array-like, sparse matrix or DataFrame of shape (n, features), array-like (n,)
            Whatever the estimator accepts; two classes, or several, as the calibrator accepts.
        sample_weight : array-like of shape (n,), optional
            Weights for the estimator and the calibrator: the probabilities become those of the
            population that the weights make. Against imbalance give ``class_weight`` or
            ``scale_pos_weight`` to the estimator instead. Divide amounts of money by their mean. A
            pipeline gives them to its last step.
        groups : array-like of shape (n,), optional
            Rows of one group stay on one side of each split.
        eval_set, eval_sample_weight : [(X_val, y_val)], [array-like of shape (n_val,)], optional
            Rows of the population the model will be used on, and their weights. The estimator is
            trained once, on X, y and ``sample_weight``, and the calibrator on these rows only;
            ``cv`` must be its default. A pipeline does not transform them: make it the estimator.
        negative_keep_rate : float in (0, 1], optional
            Rate at which negatives, of the first of two classes, were kept among the calibrator's
            rows: those of X, or of ``eval_set``. The calibrated probabilities are then those of the
            full population. Those of the estimator should be as well, for instance by
            ``offset_logloss_objective``: the default calibrator, which shrinks, corrects those of
            the sample only with many events. Of several estimators the intercept corrects them.
        keep_rate : array-like of shape (n,), optional
            Instead, the rate of each of these rows; a positive has that of a negative in its place.
        class_keep_rates : mapping, optional
            Instead, the rate of each class, by label, as ``measured_keep_rates`` gives it. Of two
            classes the positive one must have the rate 1; ``TemperatureCalibrator`` takes any.
        **others
            Refused, with a message that says what to write instead.

        Raises
        ------
        ValueError, TypeError
            Arguments that do not fit together or that the calibrator does not accept, bad weights
            or rates, a row that is held out twice, held-out rows of one class only, labels in
            ``eval_set`` that ``y`` does not have, and what estimator and calibrator raise.
        """
        _base.check_names(self, others)
        members = self._read_parameters()
        prefit = isinstance(self.cv, str)
        if eval_set is not None or prefit:
            self._check_without_folds(groups, eval_set)
        known = _stack.common_classes(members) if prefit else None
        rows = _base.read_rows(self, X, y, groups, known)
        check_number_of_classes(self.calibrator, rows.classes, isinstance(self.estimator, list))
        trained = [] if prefit else [model for _, model in members]
        for model in trained:
            _base.check_told_classes(model, rows.classes.tolist())
        named = [self.calibrator] if self._is_named else []
        val = _base.read_eval_set(self, X, rows.classes, eval_set, eval_sample_weight, *named)
        fitted = [_base.last_step(model) for model in trained] + (named if val is None else [])
        rows = rows._replace(w=FitRows.check_weights(sample_weight, len(rows.y), *fitted))
        labels, w = (rows.position, rows.w) if val is None else val[1:]
        segments = _members.segments_of(self.calibrator, rows.X if val is None else val[0])
        rates = check_rates(
            (labels, w), rows.classes, self.calibrator, negative_keep_rate=negative_keep_rate,
            keep_rate=keep_rate, class_keep_rates=class_keep_rates,
        )  # fmt: skip
        for model in trained if val is None else []:
            _base.check_rate_of_objective(model, rates, rows.position > 0, rows.w)
        found, p, held = self._train(rows, val, rates)
        held_out = p[held], labels[held], _base.take(w, held)
        rates |= {name: column[held] for name, column in segments.items()}
        found |= self._fit_calibrator(held_out, _base.take(rows.group, held), rates)
        _base.keep(self, rows.X, {**found, "oof_probability_": p, "classes_": rows.classes})
        return self

    def _train(
        self, rows: _base.FitRows, val: Data | None, rates: Found
    ) -> tuple[Found, Array, Any]:
        """The attributes that hold models, scores of the calibrator's rows, and those held out,
        to which ``rates`` is cut."""
        columns = len(rows.classes) > 2 or takes_columns(self.calibrator)
        prefit = isinstance(self.cv, str)
        if prefit or val is not None:
            model = self._models(None if prefit else rows.data)
            X, position, w = (rows.X, rows.position, rows.w) if val is None else val
            score = _stack.score(model, X)
            blend = _stack.fit_blend(self.estimator, score, position, w, rates)
            p = _stack.put_together(blend, score)
            return {"estimator_": model, **blend}, p if columns else p[:, 1], slice(None)
        splits, held = _base.held_out_at_most_once(rows.position, self.cv, rows.group)
        if "keep_rate" in rates:
            rates["keep_rate"] = rates["keep_rate"][held]
        w_held = _base.take(rows.w, held)
        _base.check_held_out_classes("cv", rows.classes, rows.position[held], w_held)
        for train, _ in splits:
            missing = np.setdiff1d(np.arange(len(rows.classes)), rows.position[train])
            if len(missing):
                absent = _checks.shown(rows.classes.tolist()[missing[0]])
                raise ValueError(
                    f"cv gives a split whose training rows have none of class {absent}: use fewer "
                    "or stratified folds, and if they are by time leave the first ones out"
                )
        found, p = self._fit_folds(rows, splits, held, rates)
        return found, p if columns else p[:, 1], held

    def _models(self, data: Data | None) -> Any:
        """The classifier, or all of several, trained on some rows, or as they are."""
        members = self._read_members()
        found = [m if data is None else _base.train(_base.fresh(m), data) for _, m in members]
        return found if isinstance(self.estimator, list) else found[0]

    def _fit_calibrator(
        self, rows: tuple[Array, Array, Array | None], group: Array | None, rates: dict[str, Any]
    ) -> dict[str, Any]:
        """The calibrator, fitted on rows that were held out, and what "auto" chose it from."""
        if self.calibrator is None:
            return {"calibrator_": calibrator_choice.fit_default(*rows, **rates)}
        given = rates | {"verbose": self.verbose}
        choice = None if self._is_named else choose_by_folds(*rows, group, given)
        calibrator = clone(self.calibrator if choice is None else choice.calibrator)
        owners = {"groups": group} if "segments" in rates and group is not None else {}
        calibrator.fit(*rows[:2], **_base.weight_argument(rows[2]), **rates, **owners)
        compared = {} if choice is None else {"comparison_": choice}
        return {"calibrator_": calibrator, **compared}

    @property
    def _is_named(self) -> bool:
        return self.calibrator is not None and not isinstance(self.calibrator, str)

    def _read_parameters(self) -> _members.Members:
        """The classifiers; all parameters are checked."""
        members = self._read_members()
        _checks.flag_or_auto("ensemble", self.ensemble)
        _checks.is_loud("verbose", self.verbose)
        calibrator = self.calibrator
        usable = hasattr(calibrator, "fit") and hasattr(calibrator, "predict")
        usable = usable and not isinstance(calibrator, type) and not is_classifier(calibrator)
        if not usable and (self._is_named or calibrator not in (None, "auto")):
            ours = where(calibrator) if isinstance(calibrator, str) else None
            raise TypeError(
                "calibrator must have fit and predict, and predict probabilities, as "
                'LogitCalibrator() ("sigmoid") and ROCConvexHullCalibrator() ("isotonic") do, or '
                f"be 'auto' or None, found {_checks.shown(calibrator)}"
                + (f": {ours}, pass an instance" if ours else "")
            )
        if getattr(calibrator, "labels", None) is not None:
            raise ValueError(
                f"calibrator has labels={_checks.shown(calibrator.labels)}, but is given class "
                "positions, in the order of classes_: leave labels out"
            )
        if getattr(calibrator, "input_space", "probability") != "probability":
            raise ValueError(
                f"calibrator has input_space={calibrator.input_space!r}, but is given "
                "probabilities: leave it out"
            )
        if isinstance(self.cv, str):
            _checks.choice("cv", self.cv, ("prefit",))
        for name, model in members:
            if isinstance(self.cv, str):
                check_is_fitted(model)
            elif _base.find_stopping_rounds(model) is not None:
                one = f"estimator {name!r}" if isinstance(self.estimator, list) else name
                raise ValueError(
                    f"{one} stops early, but is given no rows to stop on, since those held out are "
                    "the calibrator's: DownsampledClassifier(estimator, 1, correction='offset', "
                    "n_bags=1) holds out others, by its cv; or fit it and pass cv='prefit'"
                )
        return members

    def _check_without_folds(self, groups: ArrayLike | None, eval_set: Any) -> None:
        """Raise for what only folds use, with rows that are held out already."""
        prefit = isinstance(self.cv, str)
        way = "cv='prefit'" if prefit else "eval_set"
        if groups is not None:
            raise ValueError(f"groups are for folds, but {way} has none: leave them out")
        if _checks.flag_or_auto("ensemble", self.ensemble):
            raise ValueError(
                f"ensemble=True averages the models of folds, but {way} has none: leave it out"
            )
        if eval_set is not None and prefit:
            raise ValueError("eval_set is given, but cv='prefit' trains nothing: pass it as X, y")
        if eval_set is not None and not (isinstance(self.cv, int) and self.cv == FOLDS):
            raise ValueError(
                f"eval_set takes the place of folds, but cv = {_checks.shown(self.cv)} asks for "
                "some: leave one of the two out"
            )

    def _fit_folds(
        self, rows: _base.FitRows, splits: list[Split], held: Array, rates: Found
    ) -> tuple[Found, Array]:
        """The attributes that hold models; probabilities of held-out rows, else NaN."""
        w, n = rows.w, len(rows.y)
        ensemble = _checks.flag_or_auto("ensemble", self.ensemble)
        averages = len(held) == n if ensemble is None else ensemble
        counting = held if w is None else held[w[held] > 0]
        some = rows_to_stretch(counting if averages else held[:0], len(splits))
        members = len(self._read_members())
        score = np.full((n, members if members > 1 else len(rows.classes)), np.nan)
        models, of_some = list[Any](), list[Array]()
        both = zip(splits, some, strict=True)
        folds = _checks.show_progress(self.verbose, both, len(some), "CalibratedClassifier", "fold")
        for (train, test), few in folds:
            model = self._models(rows.take(train))
            score[test], own = _base.score_both(partial(_stack.score, model), rows.X, test, few)
            models += [model] * averages
            of_some.append(own)
        held_out = score[held], rows.position[held], _base.take(w, held)
        blend = _stack.fit_blend(self.estimator, *held_out, rates)
        p, each = (_stack.put_together(blend, o) for o in (score, np.concatenate(of_some)))
        few = np.concatenate(some)
        if averages and not (p[held].all() and each.all()):
            if ensemble:
                raise ValueError(
                    "ensemble=True averages log-odds, but estimator predicts probabilities of "
                    "exactly 0 or 1, which have none: pass ensemble=False"
                )
            averages = False
        if not averages:
            return {"estimator_": self._models(rows.data), **blend}, p
        stretch = _base.stretch_of_classes(p[few], each, _base.take(w, few))
        center = find_center(p[counting], _base.take(w, counting))
        return {"estimators_": models, "stretch_": stretch, "center_": center, **blend}, p

    def _probability(self, X: Any) -> Array:
        columns = len(self.classes_) > 2 or takes_columns(self.calibrator_)
        if hasattr(self, "estimators_"):
            each = [_stack.probability(vars(self), model, X) for model in self.estimators_]
            p = geometric_mean(each, self.stretch_, self.center_)
        else:
            p = _stack.probability(vars(self), self.estimator_, X)
        score = p if columns else p[:, 1]
        segments = _members.segments_of(self.calibrator_, X)
        found = self.calibrator_.predict(score, **segments)
        p = check_probabilities(self.calibrator_, found, score.shape)
        return p if columns else np.column_stack([1 - p, p])

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        if is_binary(self.calibrator) or isinstance(self.estimator, list):
            tags.classifier_tags.multi_class = False
        return tags


def choose_by_folds(
    score: Array, position: Array, w: Array | None, group: Array | None, given: dict[str, Any]
) -> calibrator_choice.CalibratorChoice:
    """The best calibrator, chosen by folds that keep groups together."""
    folds = FOLDS
    if group is not None:
        folds = min(FOLDS, len(np.unique(group if w is None else group[w > 0])))
    if folds < 2:
        raise ValueError(
            "the rows held out are of one group, within which calibrator='auto' cannot compare: "
            "name a calibrator, for instance LogitCalibrator()"
        )
    return calibrator_choice.choose_calibrator(position, score, w, cv=folds, groups=group, **given)


def is_binary(calibrator: Any) -> bool:
    """Whether the calibrator is known to accept the probability of one class only."""
    named = isinstance(calibrator, str | IsotonicRegression | SegmentCalibrator | None)
    known = named or hasattr(calibrator, "_step")
    return known and not takes_columns(calibrator)


def check_number_of_classes(calibrator: Any, classes: Array, several: bool) -> None:
    if len(classes) > 2 and (several or is_binary(calibrator)):
        name = repr(calibrator) if isinstance(calibrator, str) else type(calibrator).__name__
        name = "the default, SplineCalibrator(shrink=True)" if calibrator is None else name
        name = "a list of classifiers, put together by log-odds" if several else name
        use = "pass a single one" if several else "use TemperatureCalibrator()"
        raise ValueError(
            f"Only binary classification is supported by {name}, found the classes "
            f"{_checks.shown(classes.tolist())}: {use}, or fit y == label"
        )


def check_probabilities(calibrator: Any, predicted: ArrayLike, shape: tuple[int, ...]) -> Array:
    """What a calibrator predicted, (n,) or (n, K), in [0, 1] up to round-off."""
    p: Array = np.asarray(predicted, np.float64)
    name = f"{type(calibrator).__name__} must predict probabilities"
    if p.shape != shape:
        raise ValueError(
            f"{name} ({', '.join(['n', *map(str, shape[1:])])}), found shape {p.shape}"
        )
    wrong = ~((p >= -ROUND_OFF) & (p <= 1 + ROUND_OFF))
    if wrong.any():
        row = int(np.argwhere(wrong)[0][0])
        raise ValueError(
            f"{name}, found {p[wrong][0]} at row {row}: for scores beyond those it was fitted on "
            'IsotonicRegression needs out_of_bounds="clip"'
        )
    p = np.clip(p, 0, 1)
    if p.ndim == 2:
        _checks.rows_sum_to_one(f"what {type(calibrator).__name__} predicts", p)
    return p
