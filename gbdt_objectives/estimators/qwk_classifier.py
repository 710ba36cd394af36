"""QWKClassifier: any regressors in, ordered classes out."""

from __future__ import annotations

import numbers
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import KW_ONLY, dataclass, replace
from functools import partial
from typing import Any, Literal, NamedTuple

import numpy as np
from joblib import effective_n_jobs
from numpy.typing import ArrayLike
from sklearn.base import ClassifierMixin
from sklearn.pipeline import Pipeline
from sklearn.utils.parallel import Parallel, delayed
from sklearn.utils.validation import check_is_fitted

from gbdt_objectives import _checks, metrics
from gbdt_objectives._checks import Array, check_order, group_numbers, positions, shown, warn
from gbdt_objectives._checks.tables import Split
from gbdt_objectives._public import public
from gbdt_objectives._registry import library_in_role
from gbdt_objectives._steps import formulas
from gbdt_objectives.calibration.ordinal import LaterCurve
from gbdt_objectives.estimators import _base, _members
from gbdt_objectives.estimators._base import Data, FitRows, find_stretch, last_step, rows_to_stretch
from gbdt_objectives.estimators._members import Members, Stop, library_inside
from gbdt_objectives.metrics.loss import default_metric
from gbdt_objectives.objectives import Objective, qwk_objective
from gbdt_objectives.thresholds import Thresholds, methods
from gbdt_objectives.thresholds.qwk import score_rises
from gbdt_objectives.thresholds.rows import (
    ScoredRows,
    are_rising_numbers,
)
from gbdt_objectives.thresholds.segments import SegmentShift, fit_segment_shift

CHANCE, STOPPED_BY_CHANCE = 2.5, 3.0
"""Standard deviations that the rank correlation of out-of-fold scores must exceed; more if folds
stop early on the rows that they hold out."""
FEW_LEAVES = 10  # of the fewest rows: with more training rows a constant has another reason


class Folds(NamedTuple):
    """The models of each fold, and out-of-fold scores, (n, M)."""

    models: list[list[Any]]
    scores: Array
    some: Array  # rows for each fold, (r,)
    of_some: Array  # the fold's scores of them, (r, M)


@public
@dataclass(eq=False, repr=False)
class QWKClassifier(_base.Wrapping, ClassifierMixin, _members.Composed):  # type: ignore[misc]
    """Classifier of ordered labels: a regressor for each fold, and thresholds on their mean score.

    Use it where quadratic weighted kappa judges ordered labels. ``fit`` trains the regressor on
    class positions 0..K-1, once per fold, places thresholds on the out-of-fold scores, and averages
    the folds' models or refits on all rows. Averages vary less than scores of one model, so they
    are stretched about their mean (``docs/theory/qwk.md``).

    Parameters
    ----------
    estimator : regressor or list of (str, regressor)
        Any of scikit-learn's, XGBRegressor, LGBMRegressor, CatBoostRegressor, or a Pipeline that
        ends in one. Several are a list with names, ``[("lgb", LGBMRegressor()), ("xgb",
        XGBRegressor())]``, share the folds, and have one score, the weighted mean. Its
        ``class_weight``, "balanced" or {label: weight}, multiplies ``sample_weight`` of ``fit``.
    weights : array-like of shape (M,), optional
        Weights >= 0 of several regressors. None: those of least squared error of the out-of-fold
        scores' weighted sum plus a constant for each fold.
    objective : None, "qwk" or Objective
        None: the regressor's own. "qwk" (``qwk_objective``) or another objective of this package,
        for LGBMRegressor and XGBRegressor: it is measured on each fold's training rows.
    method : {"curved", "plugin", "exact", "nelder-mead", "rounding"}
        Algorithm that places the thresholds; see ``optimize_thresholds``.
    cv : int, splitter or iterable of splits
        An int: that many stratified folds, shuffled; group folds if ``fit`` gets ``groups``. Pass a
        splitter for rows ordered in time, such as TimeSeriesSplit. It must hold out each row
        equally often or never; the out-of-fold score is the mean over repeats.
    ensemble : bool
        True: average the folds' models. False: refit one model on all rows.
    labels : array-like of shape (K,), optional
        All classes in order, lowest first, of any type. None: the integers from min to max of y,
        some of which may be missing, or the order of an ordered pandas Categorical.
    target_prior : mapping of label to probability, optional
        Label distribution where the thresholds will be used, if it differs from that of y.
    segment : str or int, optional
        Column of X, its name or number, with the site, source or prompt of each row, where these
        grade differently at equal scores (``fit_segment_shift``). The regressor gets it, too.
    handle_unknown : {"error", "common"}
        Whether rows of a segment that ``fit`` did not see are refused, or keep common thresholds.
    early_stopping_rounds : "auto", int or None
        When LGBMRegressor and XGBRegressor stop, judged by the loss of the rows held out (squared
        error with ``objective=None``), or by the metric of this package that is the regressor's
        ``eval_metric``. "auto": all folds, and a refit, keep the number of rounds, at most
        ``n_estimators``, of least mean loss, 20 rounds after which they stop. The folds are trained
        in threads, all in memory. A regressor with an objective or a metric of its own, or one that
        a number would refuse, trains all its rounds. An int: each fold stops when its own loss has
        not improved for this many rounds, and a refit uses the mean of their best rounds; the
        out-of-fold scores are slightly optimistic. None: all rounds are trained.
    random_state : int, RandomState or None
        Seed for shuffling the folds. Used only when ``cv`` is an integer.
    n_jobs : int, optional
        Number of folds trained at a time, in processes of joblib; in threads if they stop together.
    verbose : bool or int
        Whether to show progress over folds by tqdm, ``pip install 'gbdt_objectives[progress]'``.

    Attributes
    ----------
    classes_ : ndarray of shape (K,)
        The classes in order, lowest first.
    thresholds_, label_thresholds_ : ndarray of shape (K-1,)
        Thresholds in units of class positions, or of ``target``; the same in units of the labels,
        if these are rising numbers and there is no target.
    weights_ : ndarray of shape (M,)
        Weight of each regressor's score, of sum 1; 0 where one adds nothing.
    estimators_, estimator_ : list of regressor, regressor
        One model per fold (``ensemble=True``), or that of all rows; of several regressors lists.
    feature_importances_ : ndarray of shape (features,)
        Mean of the models' importances, if they have any; not of several regressors.
    probability_curve_ : callable
        Class probabilities (n, K) of scores (n,), fitted when it is first called or pickled.
    oof_score_, member_oof_scores_ : ndarray of shape (n,), dict of str to ndarray of shape (n,)
        Out-of-fold scores, shifted by segment; those of each regressor. NaN: never held out.
    stretch_, center_ : float
        Averages are stretched by ``stretch_`` (else 1) about ``center_``, the mean score.
    segment_shift_ : SegmentShift
        What is added to the scores of each segment, with ``segment``.
    best_iterations_ : list of int or of dict
        Rounds of each fold's model that stops early; of several regressors by name.
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
    weights: ArrayLike | None = None
    objective: Literal["qwk"] | Objective | None = None
    method: str = "curved"
    cv: Any = 5
    ensemble: bool = True
    labels: ArrayLike | None = None
    target_prior: Mapping[Any, float] | None = None
    segment: str | int | None = None
    handle_unknown: Literal["error", "common"] = "error"
    early_stopping_rounds: int | Literal["auto"] | None = "auto"
    random_state: int | np.random.RandomState | None = 0
    n_jobs: int | None = None
    verbose: bool | int = False

    _kind = _members.REGRESSORS

    def fit(
        self, X: Any, y: ArrayLike, sample_weight: ArrayLike | None = None,
        groups: ArrayLike | None = None, target: ArrayLike | None = None,
    ) -> QWKClassifier:  # fmt: skip
        """Fit the folds' models and the thresholds (and a final model); return the classifier.

        Parameters
        ----------
        X, y : array-like or DataFrame of shape (n, features), array-like of shape (n,)
            Whatever the regressor accepts, and the classes. With ``target`` some may be missing
            (None, NaN): thresholds are placed on the others.
        sample_weight, groups : array-like of shape (n,), optional
            Weights >= 0, for regressor, objective and thresholds; groups that no split separates.
        target : array-like of shape (n,), optional
            The finer number that y was cut from, such as a total of points, or its logarithm if it
            has a long tail: the regressor learns it instead of the class positions.

        Raises
        ------
        ValueError, TypeError
            Parameters that do not fit together, labels without an order, bad weights, a target that
            does not rise with the class, regressors that cannot be cloned, splits that hold out
            rows unequally often, and what the regressor raises.
        """
        members, beta = self._read_parameters()
        members, rows = self._read_rows(members, X, y, sample_weight, groups, target)
        splits, times = self._read_splits(rows)
        w, K, segment = rows.w, len(rows.classes), self._segments(rows.X)
        scored = np.unique(np.concatenate([test for _, test in splits]))
        held = scored[rows.position[scored] >= 0]
        held_out, w_held = rows.position[held], _base.take(w, held)
        _base.check_held_out_classes("cv", rows.classes, held_out, w_held)
        weight = ScoredRows.weights_of_prior(self.target_prior, rows.classes, held_out, w_held)
        stops = _members.those_that_stop(members, self, rows.classes, rows.y, target is not None)
        folds = self._fit_folds(members, stops, rows, splits, times, scored)
        if beta is None:
            beta = _members.blend_weights(rows.y, folds.scores, w, [test for _, test in splits])
        oof, stretch, few = folds.scores @ beta, 1.0, folds.some
        if self.ensemble:
            stretch = find_stretch(oof[few], folds.of_some @ beta, _base.take(w, few))
        center = float(np.average(oof[scored], weights=_base.take(w, scored)))
        found = self._fit_models(members, stops, rows, folds)
        if segment is not None:
            shift = found["segment_shift_"] = fit_segment_shift(
                held_out, oof[held], segment[held], labels=np.arange(K), sample_weight=weight,
                handle_unknown=self.handle_unknown,
            )  # fmt: skip
            known_or_not = replace(shift, handle_unknown="common")  # rows of weight 0, or without y
            oof[scored] = known_or_not.apply(oof[scored], segment[scored])
        placed = ScoredRows.sort(oof[held], held_out, weight, np.arange(K))
        thresholds = Thresholds(self._place_thresholds(placed), rows.classes)
        if target is None and are_rising_numbers(rows.classes):
            found["label_thresholds_"] = label_thresholds(thresholds)
        of_placed = placed.position, placed.score, placed.weight
        _base.keep(self, rows.X, found | {
            "thresholds_": thresholds, "classes_": thresholds.labels, "oof_score_": oof,
            "stretch_": stretch, "center_": center, "weights_": beta,
            "probability_curve_": LaterCurve(*of_placed, K, stretch, len(folds.models)),
        })  # fmt: skip
        return self

    def _read_parameters(self) -> tuple[Members, Array | None]:
        """The regressors, and their weights if they are given; all parameters are checked."""
        members = self._read_members()
        beta = _members.read_weights(self.weights, members)
        _checks.choice("method", self.method, tuple(methods.METHODS))
        known = isinstance(self.segment, str | numbers.Integral | None)
        if isinstance(self.segment, bool) or not known:
            raise TypeError(
                "segment must be the name or number of a column of X, found "
                f"{type(self.segment).__name__} {shown(self.segment)}: make it a column of X"
            )
        _checks.choice("handle_unknown", self.handle_unknown, ("error", "common"))
        if self.segment is None and self.handle_unknown != "error":
            raise ValueError(
                f"handle_unknown={self.handle_unknown!r} is for segments, but segment is None: "
                "name the column of X that holds them"
            )
        _checks.flag("ensemble", self.ensemble)
        _checks.is_loud("verbose", self.verbose)
        _members.check_trainable(members, self.objective)
        _members.check_early_stopping(members, self.early_stopping_rounds, self.objective)
        return members, beta

    def _read_rows(
        self, members: Members, X: Any, y: ArrayLike, sample_weight: Any, groups: Any, target: Any
    ) -> tuple[Members, FitRows]:
        """The rows, and the regressors without the class_weight that is in the rows' weights."""
        X, given = FitRows.read_X_and_y(self, X, y)
        if len(given) < 2:
            raise ValueError("found n_samples=1: there must be rows of at least two classes")
        w = FitRows.check_weights(sample_weight, len(given), *(last_step(m) for _, m in members))
        classes, position = self._read_labels(y, given, target)
        members, w = _members.take_class_weight(members, classes, position, w)
        goal = position if target is None else self._read_target(target, position, w)
        if target is not None:
            _members.warn_of_skew(members, goal)
        by_number = self.early_stopping_rounds not in (None, "auto")
        _members.check_labels_of_members(
            members, self, classes, goal, target is not None, by_number
        )
        segment = self._segments(X)
        if segment is not None:
            SegmentShift._read_segments(segment, len(given), "the labels")
        group = None if groups is None else group_numbers(groups, len(goal))
        return members, FitRows(X, goal, w, classes, position, group)

    def _read_splits(self, rows: FitRows) -> tuple[list[Split], int]:
        """The folds, and how often they hold each row out."""
        how = self.cv, rows.group, self.random_state
        splits, times = _base.held_out_equally_often(rows.position, *how)
        if times > 1 and not self.ensemble:
            raise ValueError(
                f"cv holds each row out {times} times, but ensemble=False keeps one model, whose "
                "scores vary more than their mean: use ensemble=True, or folds without repeats"
            )
        for k, (train, _) in enumerate(splits):
            if rows.w is not None and not rows.w[train].any():
                raise ValueError(
                    f"split {k} of cv trains on rows of weight 0 only: leave rows of weight 0 out, "
                    "or use other folds"
                )
        return splits, times

    def _read_labels(self, y: ArrayLike, given: Array, target: Any) -> tuple[Array, Array]:
        """The classes, and each row's position, -1 where a target stands for it."""
        known = ~_checks.where_missing(given)
        if not known.all():
            if target is None:
                raise ValueError(
                    f"Input y contains NaN: found {given[known.argmin()]} at row {known.argmin()}, "
                    "leave such rows out, or pass target=, a finer number that is known there"
                )
            given = np.array(given[known].tolist())
        if not len(given):
            raise ValueError("y is missing in all rows: thresholds need some rows with classes")
        labels = self.labels
        classes = FitRows.ordered_classes(y, given) if labels is None else check_order(labels)
        position = np.full(len(known), -1, np.int64)
        position[known] = positions("y", given, classes)
        return classes, position

    def _read_target(self, target: ArrayLike, position: Array, w: Array | None) -> Array:
        goal = _checks.vector("target", target).astype(np.float64)
        _checks.same_length("target", goal, "the labels", len(position))
        if self.objective is not None:
            raise ValueError(
                f"objective {shown(self.objective)} is for the classes, but the regressor is to "
                "learn target: pass objective=None, and to the regressor an objective of its own"
            )
        if self.method == "rounding":
            raise ValueError(
                "method='rounding' reads scores as class positions, but they have the unit of "
                "target: use another method"
            )
        known = (position >= 0) & (True if w is None else w > 0)
        if (
            len(np.unique(position[known])) > 1
            and not np.cov(goal[known], position[known], aweights=_base.take(w, known))[0, 1] > 0
        ):
            raise ValueError(
                "target does not rise with the class: it must be the number that y was cut from; "
                "if high numbers are low classes, pass -target"
            )
        return goal

    def _segments(self, X: Any) -> Any:
        """The column of X with the segment of each row, if there are segments."""
        return None if self.segment is None else _members.segment_column(X, self.segment)

    def _fit_folds(
        self, members: Members, stops: Sequence[bool], rows: FitRows, splits: Sequence[Split],
        times: int, held: Array,
    ) -> Folds:  # fmt: skip
        """``times``: how many out-of-fold scores of a row there are, whose mean is wanted."""
        some = rows_to_stretch(held if self.ensemble else held[:0], len(splits))
        fit, number, w = partial(self._fit_fold, members, rows), self.early_stopping_rounds, rows.w
        folds: Iterable[Any]
        if number == "auto" and any(stops):
            weights = [len(test) if w is None else w[test].sum() for _, test in splits]
            step = _members.FoldThreads(weights, effective_n_jobs(self.n_jobs))
            folds = step.run(fit, list(zip(splits, some, step.stops(stops), strict=True)))
        else:
            each = [Stop(int(number)) if stop and number else None for stop in stops]
            run = Parallel(n_jobs=self.n_jobs, return_as="generator")
            folds = run(delayed(fit)(*fold, each) for fold in zip(splits, some, strict=True))
        models, scores = list[list[Any]](), list[Array]()
        oof = np.full((len(rows.y), len(members)), np.nan)
        oof[held] = 0
        folds = _checks.show_progress(self.verbose, folds, len(splits), "QWKClassifier", "fold")
        constant = np.zeros(len(members), int)  # folds in which a member could not split
        for (_, test), (of_fold, held_out, own) in zip(splits, folds, strict=True):
            models.append(of_fold)
            constant += len(test) > 1 and np.ptp(held_out, axis=0) == 0
            oof[test] += held_out / times
            scores.append(own)
        for (_, estimator), k in zip(members, constant.tolist(), strict=True):
            if k:
                self._tell_leaf_rows(estimator, rows, splits[0][0], f"{k} of {len(splits)} folds")
        return Folds(models, oof, np.concatenate(some), np.concatenate(scores))

    def _tell_leaf_rows(self, estimator: Any, rows: FitRows, train: Array, where: str) -> None:
        """Warn of a model that cannot split its few rows, if smaller leaves let it."""
        library, model = library_inside(estimator), _base.fresh(estimator)
        least = getattr(last_step(model), library.leaf_rows, None) if library is not None else None
        if library is None or not isinstance(least, int) or not len(train) < FEW_LEAVES * least:
            return
        fewer, K, data = max(1, least // 4), len(rows.classes), rows.take(train)
        last_step(model).set_params(**{library.leaf_rows: fewer})
        if np.ptp(self._model_score(self._fit_model(model, data, K), data[0], K)) > 0:
            warn(
                f"estimator {type(last_step(model)).__name__} predicts one number for all rows in "
                f"{where}: each leaf must have {library.leaf_rows}={least} of {len(train)} "
                f"training rows; pass it {library.leaf_rows}={fewer}, with which it splits them"
            )

    def _fit_models(
        self, members: Members, stops: Sequence[bool], rows: FitRows, folds: Folds
    ) -> dict[str, Any]:
        """The attributes that hold models, and what is known of each regressor."""
        several, found = isinstance(self.estimator, list), dict[str, Any]()
        if several:
            names = [name for name, _ in members]
            found["member_oof_scores_"] = dict(zip(names, folds.scores.T, strict=True))
        each = list(zip(members, stops, strict=True))
        rounds = [
            {
                name: library.count_rounds(last_step(model))
                for ((name, _), stop), model in zip(each, of_fold, strict=True)
                if stop and (library := library_inside(model))
            }
            for of_fold in folds.models
        ]
        if any(stops):
            found["best_iterations_"] = rounds if several else [r["estimator"] for r in rounds]
        if self.ensemble:
            found["estimators_"] = folds.models if several else [m for (m,) in folds.models]
            return found
        final = []
        for j, ((name, estimator), stop) in enumerate(each):
            model = _base.fresh(estimator)
            if stop and (library := library_inside(model)) is not None:
                best = round(float(np.mean([of_fold[name] for of_fold in rounds])))
                trained = [last_step(of_fold[j]) for of_fold in folds.models]
                _base.fix_rounds(last_step(model), library, max(1, best), trained)
            final.append(self._fit_model(model, rows.data, len(rows.classes)))
        found["estimator_"] = final if several else final[0]
        return found

    def _place_thresholds(self, rows: ScoredRows) -> Array:
        """Thresholds of the out-of-fold scores; warns where these say little of the class."""
        cuts = methods.fit_thresholds(self.method, rows, metrics.qwk_metric())
        limit = CHANCE if self.early_stopping_rounds in (None, "auto") else STOPPED_BY_CHANCE
        if not score_rises(rows.label_curve):
            warn(
                "the out-of-fold scores do not rise with the class: the regressor has learnt "
                "nothing that holds on new rows"
            )
        elif not methods.warn_if_chance(cuts, rows, limit):
            methods.warn_if_useless(self.method, cuts, rows, metrics.qwk_metric())
        return cuts

    def _fit_fold(
        self, members: Members, rows: FitRows, split: Split, some: Array,
        stops: Sequence[Stop | None],
    ) -> tuple[list[Any], Array, Array]:  # fmt: skip
        """The fold's models, their scores of the rows held out, and of some rows."""
        train, test = split
        held_out = rows.take(test) if any(stops) else None
        to_train, K, models = rows.take(train), len(rows.classes), list[Any]()
        for (_, estimator), stop in zip(members, stops, strict=True):
            models.append(self._fit_model(_base.fresh(estimator), to_train, K, held_out, stop))
            if stop is not None:
                stop.end()

        def score(X: Any) -> Array:
            return np.asarray(np.column_stack([self._model_score(m, X, K) for m in models]))

        of_test, of_some = _base.score_both(score, rows.X, test, some)
        return models, of_test, of_some

    def _fit_model(
        self, model: Any, data: Data, K: int, held_out: Data | None = None, stop: Stop | None = None
    ) -> Any:
        """The regressor, fitted on class positions or the target; it predicts in their units."""
        X, goal, w = data
        if isinstance(model, Pipeline):
            *_, (name, last) = model.steps
            before = model[:-1]
            X = before.fit_transform(X, goal.astype(np.float64)) if len(before) else X
            if held_out is not None and stop is not None and len(before):
                held_out = before.transform(held_out[0]), *held_out[1:]
            fitted = self._fit_model(last, (X, goal, w), K, held_out, stop)
            model.steps = [*before.steps, (name, fitted)]
            return model
        library = library_inside(model)
        if library is None:
            try:
                return _base.train(model, (X, goal.astype(np.float64), w))
            except ValueError as error:
                if re.search(r"\by\b", str(error)) is None:
                    raise
                remedy = "It learns class positions from 0: pass target=, numbers that it takes"
                raise ValueError(f"{error} {remedy}, to fit") from error
        objective = self.objective
        if objective is not None:
            if objective == "qwk":
                objective = qwk_objective(label_range=(0, K - 1))
            objective = objective.measured(goal, w)
        written, metric = _base.find_metric(model)
        if isinstance(metric, metrics.Metric):
            if stop is not None or library.own_stopping:  # else it splits off rows itself
                model.set_params(**{written: None})  # fit gets it
        elif stop is not None:
            metric = default_metric(objective)
        if stop is None:
            return _base.fit(model, library, objective, data, metric, None, None)
        metric = stop.watched(metric)
        return _base.fit(model, library, objective, data, metric, held_out, stop.patience)

    def _model_score(self, model: Any, X: Any, K: int) -> Array:
        """One model's scores; clipped to 0..K-1 if its objective clips them."""
        library = library_in_role(model, "Regressor")
        predicted = model.predict(X) if library is None else library.predict_rows(model, X)
        score = np.asarray(predicted, np.float64)
        if score.ndim == 2 and (score.shape[1] == 1 or score.shape == (0, 0)):  # of XGBoost 3.4
            score = score.ravel()
        if score.ndim != 1 or np.count_nonzero(np.isfinite(score)) < len(score):
            found = f"shape {score.shape}" if score.ndim != 1 else "nan or inf for a row"
            raise ValueError(
                f"estimator {type(last_step(model)).__name__} predicts {found}: it must predict "
                "one number for each row, so use another loss or another regressor"
            )
        return score.clip(0, K - 1) if _members.clips(model) else score

    def _blend(self, models: Any, X: Any) -> Array:
        """The weighted mean of the scores of one fold's models, or of the final ones."""
        K = len(self.classes_)
        if not isinstance(models, list):
            return self._model_score(models, X, K)
        used = [(model, b) for model, b in zip(models, self.weights_, strict=True) if b > 0]
        return np.asarray(sum([b * self._model_score(model, X, K) for model, b in used]))

    def predict_score(self, X: Any) -> Array:
        """Return the continuous score of each row, float64 (n,), on the scale of ``thresholds_``.

        The unit is class positions, 0..K-1, or that of ``target``. With a QWK objective that clips,
        each model's scores are clipped to that range.
        """
        if "thresholds_" not in vars(self):  # scikit-learn would look at tags
            check_is_fitted(self, "thresholds_")
        _base.check_features(self, X, reset=False)
        if not hasattr(self, "estimators_"):
            score = self._blend(self.estimator_, X)
        else:
            scores = [self._blend(models, X) for models in self.estimators_]
            score = np.add.reduce(scores, axis=0) / len(scores)  # numpy.mean takes 20 us a row
            score = formulas.stretch(score, self.stretch_, self.center_)
        shift = vars(self).get("segment_shift_")
        if (shift is None) != (self.segment is None):
            raise ValueError(f"segment={self.segment!r} is not that of fit: fit again")
        return score if shift is None else shift.apply(score, self._segments(X))

    @property
    def feature_importances_(self) -> Array:
        """Mean of the models' feature importances, of shape (features,)."""
        check_is_fitted(self, "thresholds_")
        if isinstance(self.estimator, list):
            raise AttributeError(
                "feature_importances_ of several regressors have no common unit: see those of "
                "each in estimators_ (with ensemble=False in estimator_)"
            )
        models = getattr(self, "estimators_", None) or [self.estimator_]
        return np.asarray(np.mean([last_step(m).feature_importances_ for m in models], axis=0))

    def predict_proba(self, X: Any) -> Array:
        """Return the probability of each class, float64 (n, K), from a curve of the score.

        P(y <= k) = sigmoid(theta_k - b f(score)) (proportional odds), where f is fitted to the
        out-of-fold scores, a natural spline in the score's normal quantile with the number of knots
        of least BIC. A warning says where scores do not rise with the class, and so each row
        gets the same probabilities. A mean of models says more about the class than one, so b > 1
        makes the curve steeper for it (``docs/theory/qwk.md``). :meth:`predict` gives the classes
        best for QWK, not the most probable ones. Columns are in the order of ``classes_``, 0
        without rows.
        """
        score = self.predict_score(X)  # which says if it is not fitted
        p = np.asarray(self.probability_curve_(score))
        if getattr(self.probability_curve_, "is_flat", False):
            warn(
                "predict_proba gives each row the same probabilities, the shares of the classes: "
                "the out-of-fold scores do not tell classes apart by more than chance, so train on "
                "more rows or better features"
            )
        return p

    def predict(self, X: Any) -> Array:
        """Return the class of each row of ``X``, of shape (n,)."""
        score = _checks.vector("score", self.predict_score(X))
        return Thresholds._with_labels(self.thresholds_, self.classes_)._classes_of(score)

    def score(self, X: Any, y: ArrayLike, sample_weight: ArrayLike | None = None) -> float:
        """Return the quadratic weighted kappa of the predicted classes, a float.

        Integers in ``y`` need not have occurred in ``fit`` if ``labels`` is None.
        """
        classes = self.classes_
        consecutive = classes.dtype.kind in "iu" and bool((np.diff(classes) == 1).all())
        labels = None if self.labels is None and consecutive else classes
        return metrics.quadratic_weighted_kappa(
            y, self.predict(X), labels=labels, sample_weight=sample_weight
        )


def label_thresholds(thresholds: Thresholds) -> Thresholds:
    """Thresholds between class positions in label units, linear between neighbours and beyond."""
    t, at = thresholds.values, thresholds.labels.astype(np.float64)
    k = np.floor(t).clip(0, len(at) - 2).astype(int)
    return Thresholds(at[k] + (t - k) * (at[k + 1] - at[k]), thresholds.labels)
