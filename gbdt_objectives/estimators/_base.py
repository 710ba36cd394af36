"""What the estimators here share: their scikit-learn side, and the rows they are fitted on.

Symbols: o (n,) out-of-fold scores; p (n, K) probabilities; l their logarithms, up to a constant in
each row; c the center, (K,), or the log-odds of the second of two classes; s >= 1 the stretch.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from inspect import Parameter, signature
from numbers import Real
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.pipeline import Pipeline
from sklearn.utils import _safe_indexing, indexable
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted, column_or_1d, has_fit_parameter

from gbdt_objectives import _checks
from gbdt_objectives._checks import Array, Layout, Member, RandomState, positions, shown
from gbdt_objectives._checks.spellings import counterpart, unexpected
from gbdt_objectives._checks.tables import Split, read_splits
from gbdt_objectives._registry import Exported, library_in_role
from gbdt_objectives._steps import formulas
from gbdt_objectives.adapters._arguments import refuse_parameters
from gbdt_objectives.adapters._estimators import METRICS, check_name
from gbdt_objectives.adapters._models import Library
from gbdt_objectives.adapters._train import MEASURED, corrected_rate
from gbdt_objectives.metrics import Metric
from gbdt_objectives.objectives import Objective
from gbdt_objectives.objectives.ratio import RatioLoss
from gbdt_objectives.thresholds.rows import consecutive_labels

Data = tuple[Any, Array, "Array | None"]  # X, y and weights of some rows

METRIC = ("metric", "eval_metric")  # the main names of what is measured


def last_step(estimator: Any) -> Any:
    while isinstance(estimator, Pipeline):
        estimator = estimator.steps[-1][1]
    return estimator


def all_parameters(estimator: Any) -> list[tuple[str, str, Any]]:
    """Names as written, main names and values, also of parts, and of what a search tries."""
    given = estimator.get_params()
    mains: dict[str, str] = {}
    for part in (estimator, *given.values()):
        if hasattr(part, "get_params") and (library := library_in_role(part, "")):
            mains |= {own: main for main, names in library.aliases.items() for own in names}
    found = [(written, written.split("__")[-1], value) for written, value in given.items()]
    for written, name, value in list(found):
        for grid in value if isinstance(value, list) else [value]:
            if name in ("param_grid", "param_distributions") and isinstance(grid, Mapping):
                found += [
                    (f"{written}: {own}", own.split("__")[-1], one)
                    for own, tried in grid.items()
                    for one in (tried if isinstance(tried, list | tuple) else [tried])
                ]
    return [(written, mains.get(name, name), value) for written, name, value in found]


def check_correctable(estimator: Any) -> None:
    """Raise if its parameters, or those of its parts, tell that a correction would be wrong."""
    for part in (estimator, *estimator.get_params().values()):
        library = library_in_role(getattr(part, "estimator", part), "Classifier")  # also a search
        if library is not None:
            for written, name, value in all_parameters(part):
                if name == "objective":
                    check_log_odds(written, value, library)
    Member(
        name="estimator", parameters=all_parameters(estimator),
        weighing="which moves the log-odds by itself, so that the corrected probabilities would be "
        "wrong: leave it out, or pass correction=None",
    )  # fmt: skip


def check_log_odds(name: str, value: Any, library: Library) -> None:
    """Raise unless ``name`` holds an objective of probabilities of the rows it is trained on."""
    own = library.functions_are_log_odds and callable(value)
    if isinstance(value, Objective):  # a ratio is least at decisions, which are no log-odds
        own = value.n_classes is not None and not isinstance(value.equations, RatioLoss)
    if corrected_rate(value) is not None:
        why = "which already corrects for sampling"
    elif not (own or value in library.correctable):
        why = "whose predictions are not log-odds and cannot be corrected"
    else:
        return
    raise ValueError(
        f"estimator has {name}={value!r}, {why}: leave it out, or pass correction=None"
    )


def check_rate_of_objective(
    estimator: Any, rates: Mapping[str, Any], positive: Array, w: Array | None
) -> None:
    """Raise if it trains for rows sampled at one rate, and what calibrates them is told another."""
    booster = last_step(estimator)
    if library_in_role(booster, "Classifier") is None or "keep_rate" in rates:
        return
    by_class = [*rates.get("class_keep_rates", {}).values()]
    told = [by_class[0] / by_class[-1] if by_class else rates.get("negative_keep_rate", 1.0)]
    if w is not None:  # which may be 1 / rate themselves
        told.append(told[0] * w[positive].mean() / w[~positive].mean())
    for written, name, value in all_parameters(booster):
        rate = corrected_rate(value) if name == "objective" else None
        if rate is not None and not any(1 / MEASURED < one / rate < MEASURED for one in told):
            own = f"negative_keep_rate={rate:.6g}"
            raise ValueError(
                f"estimator has {written}={value!r}, for rows that were sampled, but fit is "
                f"given {dict(rates) or 'no rate'}: pass "
                f"{'keep_rate=, of each row' if math.isnan(rate) else own} to fit too, so that it "
                "calibrates to the full population"
            )


def find_stopping_rounds(estimator: Any) -> int | None:
    """The rounds after which a booster stops early; None if it does not."""
    library = library_in_role(estimator, "Classifier")
    if library is None:
        return None
    for name in library.own_stopping:
        rounds = estimator.get_params().get(name)
        if rounds is not None and (library.zero_rounds_stop or _checks.number(name, rounds) > 0):
            return _checks.whole_number(name, rounds, 1)
    return None


def fix_rounds(estimator: Any, library: Library, rounds: int, models: Sequence[Any]) -> None:
    """Let it train so many, in steps like those of the models that found it, without measuring."""
    given = estimator.get_params()
    estimator.set_params(**library.same_steps(estimator, models))
    for name, value in library.fixed_rounds(rounds).items():
        names = next((every for every in library.aliases.values() if name in every), (name,))
        own = [one for one in names if given.get(one) is not None] or [name]
        estimator.set_params(**dict.fromkeys(own, value))
    written, metric = find_metric(estimator)
    if isinstance(metric, Metric):
        estimator.set_params(**{written: None})  # which it has no rows to measure on


def find_metric(estimator: Any) -> tuple[str, Any]:
    """The parameter that says what to measure, and that, one of ours as a Metric."""
    for written, name, value in all_parameters(estimator):
        if name in METRIC and value is not None:
            one = value[0] if isinstance(value, list | tuple) and len(value) == 1 else value
            return written, one.metric if isinstance(one, METRICS[1:]) else one
    return "", None


def check_best_round(parameters: dict[str, Any]) -> None:
    """Raise if a model that stops early could not be cut back to its best round."""
    cut_back = (None, "gbtree", "gbdt", "gbrt", "goss", "Plain", "Ordered")  # the last of CatBoost
    for name in ("booster", "boosting_type", "boosting", "boost"):
        if parameters.get(name) not in cut_back:
            raise ValueError(
                f"early stopping is not supported with {name}={parameters[name]!r}: leave one out"
            )
    refuse_parameters(
        parameters, ("early_stopping_min_delta",), (0,),
        "but early stopping here counts any improvement: leave it out",
    )  # fmt: skip


def fit(
    estimator: Any, library: Library, objective: Objective | None, data: Data,
    metric: Metric | None, held_out: Data | None, stopping_rounds: int | None,
) -> Any:  # fmt: skip
    """A booster's estimator, fitted on the objective as one of ours, with rows to stop on."""
    is_ours = objective is not None or metric is not None
    estimator = library.own_class(estimator) if is_ours else estimator
    if objective is not None:
        estimator.set_params(objective=objective)
    fitting = library.fitting
    given: dict[str, Any] = dict(zip(("X", "y", "sample_weight"), data, strict=True))
    parameters: dict[str, Any] = {}
    if held_out is not None and stopping_rounds is not None:
        X, y, weight = held_out
        X = X if hasattr(X, "shape") else np.asarray(X)  # LightGBM reads lists for training only
        given |= fitting.held_out(estimator, library.weigh_held_out, X, y, weight)
        given |= library.quiet_fit
        parameters |= library.stops_after(stopping_rounds)
        (given if fitting.metrics_in_fit else parameters)["eval_metric"] = metric
    on_its_own = not is_ours and not hasattr(estimator, "objective")
    with fitting.set_temporarily(estimator, parameters):
        if on_its_own or isinstance(estimator, tuple(library.kinds.values())):
            return estimator.fit(**given)
        return fitting(estimator, estimator.fit, **given).fit()


class Wrapping(Exported):
    """Mixin that passes X on as it is to the estimator it wraps, and so accepts the same X."""

    estimator: Any

    @property
    def _wrapped(self) -> Any:
        return self.estimator

    def __sklearn_tags__(self) -> Any:
        from sklearn.utils import get_tags

        tags = super().__sklearn_tags__()  # type: ignore[misc]
        given = self._wrapped if isinstance(self._wrapped, list) else [self._wrapped]
        wrapped = [each[-1] if isinstance(each, tuple | list) and each else each for each in given]
        inner = [
            get_tags(each)
            for each in wrapped
            if hasattr(each, "__sklearn_tags__") and not isinstance(each, type)
        ]
        if not inner or len(inner) < len(wrapped):
            return tags
        for name in ("sparse", "allow_nan", "categorical"):
            setattr(tags.input_tags, name, all(getattr(each.input_tags, name) for each in inner))
        if tags.classifier_tags and inner[0].classifier_tags:
            tags.classifier_tags.multi_class = inner[0].classifier_tags.multi_class
        return tags


class ProbabilityClassifier(Wrapping, ClassifierMixin, BaseEstimator):  # type: ignore[misc]
    """Base class of classifiers that predict the most probable class."""

    classes_: Array
    _probability: Callable[[Any], Array]

    def predict_proba(self, X: Any) -> Array:
        """Return the probability of each class, float64 (n, K), in the order of ``classes_``.

        ``X`` is an array-like, sparse matrix or DataFrame with the features that ``fit`` saw.
        """
        check_is_fitted(self)
        check_features(self, X, reset=False)
        return self._probability(X)

    def predict(self, X: Any) -> Array:
        """Return the most probable class of each row of ``X``, of shape (n,)."""
        position = self.predict_proba(X).argmax(axis=1)  # first: it says if this is not fitted
        return np.asarray(self.classes_[position])


class FitRows(NamedTuple):
    """The rows of fit; ``y`` is what the estimator learns, ``position`` -1 for no known class."""

    X: Any
    y: Array
    w: Array | None
    classes: Array
    position: Array
    group: Array | None

    @property
    def data(self) -> Data:
        return self.X, self.y, self.w

    def take(self, rows: Array) -> Data:
        return _safe_indexing(self.X, rows), self.y[rows], take(self.w, rows)

    @staticmethod
    def read_X_and_y(estimator: Any, X: Any, y: ArrayLike) -> tuple[Any, Array]:
        """X, made to be indexed by row, and y of the same length; the estimator is not changed."""
        _checks.is_given(estimator, y)
        if hasattr(X, "get_label"):  # a library's own data, such as CatBoost's Pool
            raise TypeError(
                f"X is a {type(X).__name__}, of which no rows can be taken: pass the features "
                "themselves, an array or DataFrame"
            )
        check_two_dimensional(X)
        _checks.in_memory("y", y)
        rows, target = indexable(X, column_or_1d(y, warn=True))
        if target.dtype.kind == "O" and all(isinstance(value, Real) for value in target.tolist()):
            target = np.array(target.tolist())  # numbers of a file that had gaps
        if len(target) == 0:
            raise ValueError("y is empty: there must be at least one row")
        return rows, target

    @staticmethod
    def check_weights(
        sample_weight: ArrayLike | None, rows: int, *fitted: Any, name: str = "sample_weight"
    ) -> Array | None:
        """The weights, checked, if everything that is fitted with them accepts them."""
        if sample_weight is None:
            return None
        for thing in fitted:
            if not has_fit_parameter(thing, "sample_weight"):
                raise ValueError(
                    f"{name} is given, but {type(thing).__name__} does not accept it: leave it "
                    "out or use another; of a pipeline, make this the last step"
                )
            inner = last_step(thing)
            asked = getattr(inner, "_metadata_request", None)
            if (wants := asked and asked.fit.requests.get("sample_weight")) not in (None, True):
                raise ValueError(
                    f"{name} is given, but {type(inner).__name__} has "
                    f"set_fit_request(sample_weight={wants!r}): set it to True, or leave {name} out"
                )
        if not _checks.as_array(name, sample_weight).any():
            raise ValueError(f"{name} is zero in all rows: at least one row must count")
        return _checks.weights(name, sample_weight, rows)

    @staticmethod
    def check_several_classes(classes: Array, rows: str = "rows") -> None:
        if len(classes) < 2:
            raise ValueError(
                f"y has {rows} of one class only, found {shown(classes.tolist())}: pass two or more"
            )

    @staticmethod
    def ordered_classes(y: ArrayLike, target: ArrayLike, ordinal: bool = True) -> Array:
        """The ordered classes that y carries, else the integers from min to max of its values."""
        order = _checks.category_order("y", y, ordinal=ordinal)
        if order is not None:
            return order
        values = _checks.as_array("y", target)
        try:
            check_classification_targets(values)
        except ValueError as error:
            hint = f"If they are classes, {_checks.INTEGER_HINT}"
            if values.dtype.kind == "O":
                hint = f"y has dtype object: {_checks.kind_hint(values)}"
            raise ValueError(f"{error} {hint}") from None
        return consecutive_labels(values, ordinal)


def read_rows(
    estimator: Any, X: Any, y: ArrayLike, groups: ArrayLike | None, classes: Array | None = None
) -> FitRows:
    """Rows of ``classes``, or of those that occur in y, without weights yet."""
    X, target = FitRows.read_X_and_y(estimator, X, y)
    if (missing := _checks.where_missing(target)).any():
        found = f"found {target[missing.argmax()]} at row {missing.argmax()}"
        raise ValueError(f"Input y contains NaN: {found}, leave such rows out")
    check_classification_targets(target)
    classes = np.unique(target) if classes is None else np.asarray(classes)
    FitRows.check_several_classes(classes)
    group = None if groups is None else _checks.group_numbers(groups, len(target))
    position = positions("y", target, classes).astype(np.int64)
    return FitRows(X, target, None, classes, position, group)


def fresh(estimator: Any) -> Any:
    """A clone; what refuses to be cloned, as CatBoost does with lists, with the remedy."""
    try:
        return clone(estimator)
    except RuntimeError as error:
        lists = [
            f"{name}={value!r}"
            for name, value in last_step(estimator).get_params(deep=False).items()
            if hasattr(value, "__len__") and not isinstance(value, str | tuple)
        ]
        remedy = f"give a tuple for each list, {', '.join(lists)}, or, where it takes none, its "
        remedy += "text form, monotone_constraints='(1,0)': "
        raise ValueError(
            f"estimator {type(last_step(estimator)).__name__} cannot be cloned, but clones "
            f"are trained: {remedy if lists else ''}{error}"
        ) from error


def train(model: Any, data: Data) -> Any:
    """The model, fitted; weights are given only where there are some: not all accept them. Those of
    a pipeline go to its last step."""
    X, y, w = data
    path, step = "", model
    while isinstance(step, Pipeline):
        name, step = step.steps[-1]
        path += f"{name}__"
    return model.fit(X, y, **{path + name: value for name, value in weight_argument(w).items()})


def score_both(predict: Callable[[Any], Array], X: Any, *parts: Array) -> list[Array]:
    """What is predicted for each of two parts of the rows of X, each row asked once."""
    rows = np.unique(np.concatenate(parts))
    found = predict(_safe_indexing(X, rows))
    return [found[np.searchsorted(rows, part)] for part in parts]


def check_classifier(estimator: Any, name: str = "estimator") -> None:
    if isinstance(estimator, type) or not hasattr(estimator, "predict_proba"):
        raise TypeError(
            f"{name} must be a classifier with predict_proba, such as LGBMClassifier(), found "
            f"{shown(estimator)}"
        )
    check_name(last_step(estimator))


def check_learns(estimator: Any) -> None:
    """Raise if it predicts what a part does that is fitted already, and that fit leaves so."""
    step = last_step(estimator)
    parts = [part for _, part in step.estimators] if hasattr(step, "voting") else [step]
    for part in parts:
        part = last_step(part.estimator if hasattr(part, "refit") else part)  # of a search
        if hasattr(part, "fit") and fresh(part) is part:
            raise ValueError(
                f"estimator holds a {type(part).__name__}, which is fitted already and learns "
                "nothing from the samples, for which its probabilities would be corrected: pass "
                "the model in it; or, if that was fitted to a sample, leave this class out, and "
                "pass its probabilities to correct_probability"
            )


def check_told_classes(estimator: Any, classes: list[Any]) -> None:
    """Raise if a parameter has other classes, or another order, than columns are read in here."""
    K = len(classes)
    for name, value in estimator.get_params().items():
        if isinstance(value, Objective) and K > 2 and value.n_classes not in (None, K):
            raise ValueError(
                f"estimator has {name}={value!r} for {value.n_classes} classes, but y has rows of "
                f"{K}: make it for those"
            )
        if name.split("__")[-1] == "class_names" and value is not None and list(value) != classes:
            raise ValueError(
                f"estimator has {name}={shown(value)}, but is trained on the classes "
                f"{shown(classes)} in this order: leave it out"
            )


def check_two_dimensional(X: Any) -> None:
    """Refuse what no estimator takes: the first step of a pipeline may read texts, or pictures."""
    if X is None:
        raise ValueError("X is None: pass the features, of shape (n, features)")
    _checks.in_memory("X", X)
    if _checks.is_column_of_numbers(X):
        raise ValueError(
            "X must be two-dimensional, found one column of numbers. Reshape your data: "
            "X.reshape(-1, 1) for one feature, X.reshape(1, -1) for one row"
        )


def check_features(estimator: Any, X: Any, *, reset: bool) -> None:
    """n_features_in_ and feature_names_in_; the wrapped estimator validates the rest."""
    known = vars(estimator)
    is_as_in_training = type(X) is np.ndarray and X.shape[1:] == (known.get("n_features_in_"),)
    has_names = "feature_names_in_" in known or known.get("_columns") is not None
    if is_as_in_training and not has_names and not reset:
        return  # scikit-learn would look at tags, 30 us a row
    check_two_dimensional(X)
    try:
        from sklearn.utils.validation import validate_data
    except ImportError:  # scikit-learn 1.5, the last that XGBoost 2.1.0 works with
        estimator._check_feature_names(X, reset=reset)
        estimator._check_n_features(X, reset=reset)
    else:
        validate_data(estimator, X, reset=reset, skip_check_array=True)
    given, own = _checks.column_names(X), getattr(estimator, "feature_names_in_", None)
    if reset:
        estimator._columns = given  # of any type: scikit-learn keeps names that are strings
    own = getattr(estimator, "_columns", own)
    Layout(name="X", columns=given, trained_on=own, of="the training rows")


def keep(estimator: Any, X: Any, found: Mapping[str, Any]) -> None:
    """Set what fit has found, without what only an earlier fit did, and the features of X."""
    check_features(estimator, X, reset=True)
    for name in [name for name in vars(estimator) if name.endswith("_")]:
        if name not in ("n_features_in_", "feature_names_in_"):
            delattr(estimator, name)
    vars(estimator).update(found)


def take(w: Array | None, rows: Array) -> Array | None:
    return None if w is None else w[rows]


def weight_argument(w: Array | None) -> dict[str, Any]:
    return {} if w is None else {"sample_weight": w}


def check_names(estimator: Any, others: Mapping[str, Any]) -> None:
    """Raise for an argument that fit does not have, and say how it is written here."""
    called, kinds = f"{type(estimator).__name__}.fit", signature(estimator.fit).parameters.values()
    known = [p.name for p in kinds if p.kind is not Parameter.VAR_KEYWORD]
    for name in others:
        instead = counterpart(called, name, known)
        said = f"{called}() got {name}=: {instead}" if instead else ""
        raise TypeError(
            said
            or f"{unexpected(called, called, name, known)}; a parameter belongs to the estimator"
        )


def read_eval_set(
    estimator: Any, X: Any, classes: Array, eval_set: Any, eval_sample_weight: Any, *fitted: Any
) -> Data | None:
    """Validation rows, their class positions and weights, checked; None if there are none."""
    if eval_set is None:
        if eval_sample_weight is not None:
            raise ValueError("eval_sample_weight is given without eval_set, whose rows it weighs")
        return None
    X_given, y_given = _only_pair(eval_set)
    if X_given is X:
        raise ValueError("eval_set holds the training rows: pass rows that it is not trained on")
    try:
        X_val, target = FitRows.read_X_and_y(estimator, X_given, y_given)
        unfitted = clone(estimator)
        check_features(unfitted, X, reset=True)
        check_features(unfitted, X_val, reset=False)
        position = _known_positions(target, classes)
    except (TypeError, ValueError) as error:
        kind = TypeError if isinstance(error, TypeError) else ValueError
        raise kind(f"eval_set: {error}") from error
    weight = eval_sample_weight
    if isinstance(weight, list | tuple) and len(weight) == 1:  # [w], in which w may be None
        weight = weight[0] if weight[0] is None or np.ndim(weight[0]) > 0 else weight
    w = FitRows.check_weights(weight, len(target), *fitted, name="eval_sample_weight")
    check_held_out_classes("eval_set", classes, position, w)
    return X_val, position, w


def check_held_out_classes(name: str, classes: Array, position: Array, w: Array | None) -> None:
    """Raise if all rows held out, that count, are of one class."""
    found = np.unique(position if w is None else position[w > 0])
    if len(found) < 2:
        raise ValueError(
            f"{name} holds out rows of one class only, found {shown(classes[found].tolist())}: "
            "hold out more rows, there must be some of two classes"
        )


def _only_pair(eval_set: Any) -> tuple[Any, Any]:
    """The X and y in [(X, y)] or (X, y)."""
    pairs = [eval_set] if isinstance(eval_set, tuple) else eval_set
    if isinstance(pairs, list) and len(pairs) == 1:
        pair = pairs[0]
        if isinstance(pair, list | tuple) and len(pair) == 2 and not isinstance(pair[0], tuple):
            return pair[0], pair[1]
        if isinstance(pair, tuple) and len(pair) == 3:
            raise ValueError(
                "eval_set must be one pair, [(X, y)]: weights are eval_sample_weight=[w_val]"
            )
    raise ValueError(
        f"eval_set must be one pair, [(X_val, y_val)], found {type(eval_set).__name__}"
        f"{f' of {len(eval_set)}' if isinstance(eval_set, list | tuple) else ''}: pass the rows "
        "held out only, not those trained on"
    )


def _known_positions(target: Array, classes: Array) -> Array:
    """Class positions of labels that must occur in the training rows."""
    if (target.dtype.kind in "biuf") == (classes.dtype.kind in "biuf"):
        unknown = ~np.isin(target, classes)
        if unknown.any():
            row = int(unknown.argmax())
            raise ValueError(
                f"it has label {shown(target[row])} at row {row}, which does not occur in y, "
                f"{shown(classes.tolist())}: leave such rows out, or train on some"
            )
    return positions("y", target, classes).astype(np.int64)


def held_out_equally_often(
    y: Array, cv: Any, group: Array | None, random_state: RandomState
) -> tuple[list[Split], int]:
    """Splits (train, test) that hold out each row equally often or never, and how often."""
    splits, times = read_splits(y, cv, group, random_state, least=2)
    held = np.flatnonzero(times)
    rows = held[times[held].argmin()], held[times[held].argmax()]
    if times[rows[0]] != times[rows[1]]:
        raise ValueError(
            f"cv must hold out equally often all rows that it holds out, but row {rows[0]} is held "
            f"out {times[rows[0]]} times and row {rows[1]} {times[rows[1]]} times: use KFold, "
            "StratifiedKFold, their group and repeated versions, or TimeSeriesSplit"
        )
    return splits, int(times[rows[0]])


def held_out_at_most_once(y: Array, cv: Any, group: Array | None) -> tuple[list[Split], Array]:
    """Splits (train, test), which may leave rows out of all tests, and the rows they hold out."""
    splits, times = read_splits(y, cv, group)
    if times.max() > 1:
        row = int(np.flatnonzero(times > 1)[0])
        raise ValueError(
            f"cv must hold no row out more than once, but row {row} is held out {times[row]} "
            "times: use KFold, StratifiedKFold or their group versions, TimeSeriesSplit, or a "
            "single split such as ShuffleSplit(1)"
        )
    return splits, np.flatnonzero(times)


def last_split(y: Array, cv: Any, group: Array | None) -> Split:
    """The last (train, test) of a splitter: TimeSeriesSplit holds out the latest rows in it."""
    return read_splits(y, cv, group)[0][-1]


STRETCH_ROWS = 2_000  # number of rows that each model scores for the stretch


def rows_to_stretch(rows: Array, models: int) -> list[Array]:
    """Some of the rows for each model, others than the next, that it scores for the stretch."""
    rng, few = np.random.default_rng(0), min(len(rows), STRETCH_ROWS)
    return [rng.choice(rows, few, replace=False) for _ in range(models)]


def find_stretch(o: Array, score: Array, w: Array | None) -> float:
    """sd(o) / sd(average on new rows), at least 1; ``score`` is of each model on its rows."""
    variance, covariance = np.cov(o, score, aweights=w, ddof=0)[0]
    if variance == 0 or covariance <= 0:  # nothing learnt: warned of when placing thresholds
        return 1.0
    return max(1.0, float(np.sqrt(variance / covariance)))


def stretch_of_classes(p: Array, of_each: Array, w: Array | None) -> float:
    """The stretch of l; p is out-of-fold, ``of_each`` that of each model on its rows."""
    o, each = centered(p), centered(of_each)
    o -= np.average(o, axis=0, weights=w)  # the classes' own means are no spread
    return find_stretch(o.ravel(), each.ravel(), None if w is None else w.repeat(len(o.T)))


def geometric_mean(
    probabilities: Sequence[Array], stretch: float = 1.0, center: Any = 0.0
) -> Array:
    """softmax(c + s (mean over b of l_b - c)), (n, K); zeros act as tiny numbers do."""
    if len(probabilities) == 1 and stretch == 1:
        return probabilities[0]
    p = np.stack(probabilities)
    ruled_out = (p == 0).sum(axis=0)
    log_mean = np.log(np.where(p == 0, 1, p)).mean(axis=0)
    log_mean[ruled_out > ruled_out.min(axis=1, keepdims=True)] = -np.inf
    c = np.append(0.0, center) if np.ndim(center) == 0 else center
    return formulas.softmax(log_mean if stretch == 1 else formulas.stretch(log_mean, stretch, c))


def second_log_odds(p: Array) -> Array:
    """Log-odds of the second of two classes, (n,)."""
    return np.log(p[:, 1]) - np.log(p[:, 0])


def find_center(p: Array, w: Array | None) -> Any:
    """The mean of l: a float for two classes, (K,) with the sum 0 for more."""
    c = np.average(centered(p), axis=0, weights=w)
    return float(c[1] - c[0]) if len(c) == 2 else c


def stretch_of_bags(z: Array, w: Array) -> float | None:
    """sd of one bag over that of the mean of B bags, at least 1: sqrt(v / (v/B + (1 - 1/B) c)). z
    (n, B) are log-odds, NaN where the bag saw the row; v is the mean variance of a bag's, and c the
    mean covariance of two bags' on rows that both did not see. None without such rows."""
    held = np.isfinite(z)
    share = held * w[:, None]
    both = share.T @ held
    B, others = len(both), ~np.eye(len(both), dtype=bool) & (both > 0)
    if not others.any() or not both.diagonal().all():
        return None
    mean = np.where(held, z, 0.0) * w[:, None]
    x = np.where(held, z - mean.sum(axis=0) / share.sum(axis=0), 0.0)
    products = (x * w[:, None]).T @ x
    v = (products.diagonal() / both.diagonal()).mean()
    c = (products[others] / both[others]).mean()
    return max(1.0, float(np.sqrt(v / (v / B + (1 - 1 / B) * c)))) if c > 0 else 1.0


def centered(p: Array) -> Array:
    """The l whose rows sum to 0."""
    z = np.log(p)
    z -= z.mean(axis=1, keepdims=True)
    return z
