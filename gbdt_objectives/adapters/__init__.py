"""Where objectives and metrics meet a booster: ``adapters.xgboost``, ``.lightgbm``, ``.catboost``.

The first two have ``train``, ``cv``, ``shift_intercept`` and ``imbalance_shift``, and drop-in
replacements of the library's estimators; ``catboost`` has no ``cv``, ``sklearn`` only estimators.

Conventions
-----------
Start: boosting starts at the objective's intercept, and the model holds it. An objective made
without labels, such as ``qwk_objective()``, is measured on the training rows of each fit and fold.
A start per row, XGBoost's ``base_margin`` or LightGBM's ``init_score``, replaces the intercept in
``train``: all data sets need one, and the model's own intercept is then 0. One number in all rows
is XGBoost's intercept, and is refused in LightGBM.

Stop: early stopping looks at the given metric on the last evaluation set, in the metric's own
direction, and the model holds the rounds up to the best one only. A metric of classes, such as
``qwk_metric()``, does not move while all rows are in one class; such rounds at the beginning do
not count. A best round among the first few gives a warning.

Predict: a booster predicts in natural units, also after saving and loading without this package:
label units for an identity link, the mean for "log", the probability of label 1 for "logit" and
of each class for "softmax". With the link "score", as of ``focal_objective(2)``, it predicts the
margin (the untransformed score), (n,) or for K outputs (n, K), and
``objective.class_probability(margin)`` gives the probabilities. An objective that fits
thresholds, as ``ordinal_logit_objective(K)`` does, needs ``objective = objective.fitted(y,
booster.predict(training_rows))`` before. The classifiers do both: their ``objective_`` is fitted.

Go on: training from an earlier model, XGBoost's ``xgb_model`` or LightGBM's ``init_model`` (a
booster, fitted estimator or path), starts at its margins, which now mean what the objective says.

Outputs: an objective with K outputs sets ``num_class``. Its K intercepts are in the first K trees.

Values by row, such as ``objective(function, rows={"cost": cost})``, belong to the training rows, in
their order. ``cv`` splits them. Where scikit-learn splits, name them,
``objective(function, rows=["cost"])``, and give them to ``fit``.

CatBoost trains objectives whose rows are independent and have one margin: it passes blocks of 1,000
rows, and does not say which. All others are refused. In its own early stopping, rounds at the
beginning that do not move count.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any, TypeVar

from numpy.typing import ArrayLike

from gbdt_objectives import _checks
from gbdt_objectives._checks import Model, shown
from gbdt_objectives._public import attributes, public
from gbdt_objectives._registry import BY_NAME, EVERY, library_of, library_of_model
from gbdt_objectives._rows.rows import ArrayValue

if TYPE_CHECKING:
    from gbdt_objectives.adapters import (
        catboost as catboost,
        lightgbm as lightgbm,
        sklearn as sklearn,
        xgboost as xgboost,
    )
    from gbdt_objectives.adapters._models import OpenLibrary
    from gbdt_objectives.priors import LogOddsShift

__all__ = ["imbalance_shift", "shift_intercept", *EVERY]

BoosterT = TypeVar("BoosterT")


@public
def shift_intercept(
    booster: BoosterT, shift: LogOddsShift | None = None, *, delta: ArrayLike | None = None,
    negative_keep_rate: float | None = None,
    class_keep_rates: ArrayLike | Mapping[Any, float] | None = None,
) -> BoosterT:  # fmt: skip
    """A copy of a trained booster with a constant added to every margin, saved in the model.

    It corrects a trained model once: the shift survives saving, loading and pickling.
    ``docs/adapters.md`` says where in the model it is, with a mark: a rate raises for a model that
    was corrected by a rate, or trained here with ``offset_logloss_objective`` or
    ``weighted_logloss_objective``, and a ``shift`` that was made before. ``delta`` never does.

    Parameters
    ----------
    booster : xgboost.Booster, lightgbm.Booster, CatBoost's model, HistGradientBoosting's estimator
        Trained, with an identity, logistic or softmax link. An estimator has it as
        ``get_booster()`` (XGBoost) or ``booster_`` (LightGBM).
    shift : LogOddsShift, optional
        What ``log_odds_shift`` or :func:`imbalance_shift` returned, no number.
    delta : float, or array of shape (K,) for K outputs, optional
        Instead of ``shift``, in margin units: label units, or log-odds (softmax: up to a constant).
    negative_keep_rate, class_keep_rates : optional
        Instead of ``shift``: sampling rates, as in ``log_odds_shift``.

    Returns
    -------
    Booster
        A booster of the same library.

    Raises
    ------
    TypeError, ValueError
        If it is not a booster, there is not exactly one description of the shift, with one number
        per output, no leaf can hold it, or margins are neither in label units nor log-odds.
    RuntimeError
        If the edited model does not predict what it should.

    Examples
    --------
    >>> import numpy as np, xgboost as xgb
    >>> from gbdt_objectives import shift_intercept
    >>> data = xgb.DMatrix(np.eye(3), label=[1.0, 2.0, 3.0])
    >>> booster = xgb.train({"base_score": 2.0}, data, 1)
    >>> (shift_intercept(booster, delta=-2).predict(data) - booster.predict(data)).round(4)
    array([-2., -2., -2.], dtype=float32)
    """
    from gbdt_objectives.adapters._train import corrections, is_repeated, mark_of_shift
    from gbdt_objectives.priors import LogOddsShift, log_odds_shift

    given = {
        "shift": shift, "delta": delta, "negative_keep_rate": negative_keep_rate,
        "class_keep_rates": class_keep_rates,
    }  # fmt: skip
    named = [name for name, value in given.items() if value is not None]
    if len(named) != 1:
        raise TypeError(
            f"exactly one of {', '.join(given)} is needed, found {', '.join(named) or 'none'}: "
            "pass the result of log_odds_shift, or a number by its name"
        )
    if shift is not None and not isinstance(shift, LogOddsShift):
        raise TypeError(
            f"shift must be what log_odds_shift or imbalance_shift returned, found {shown(shift)}: "
            "a sampling rate is negative_keep_rate=..., any other number is delta=..."
        )
    if delta is not None:
        d = delta if isinstance(delta, LogOddsShift) else ArrayValue._plain(delta)
    elif shift is not None:
        d = shift
    else:
        classes = getattr(booster, "classes_", None)
        rates = _checks.by_class("class_keep_rates", class_keep_rates, classes)
        rates = [*rates.values()] if isinstance(rates, Mapping) else rates
        d = log_odds_shift(negative_keep_rate=negative_keep_rate, class_keep_rates=rates)
    library = library_of_model(booster)
    if library is None:
        raise no_booster(booster, EVERY)
    marks = corrections(booster, library)
    if delta is None and d.standard_error is None and (own := mark_of_shift(d)).strip("1:"):
        by_rate = shift is None
        for mark in marks:  # of what was done, perhaps by a model that knows its rate
            if (by_rate and mark[0] != "*") or is_repeated(d, mark):
                rate = "each row" if mark == "nan" else mark.lstrip("*").replace(":", ", ")
                raise ValueError(
                    "the booster is corrected already, by its objective or a shift, for negatives "
                    f"kept at a rate of {rate}: a shift would correct twice. Leave the booster as "
                    f"it is; if its rows were thinned once more, pass delta={d!r} to "
                    "shift_intercept"
                )
        marks.append("*"[by_rate:] + own)
    moved: BoosterT = library.shift_intercept(booster, d, ",".join(marks))
    if delta is None or isinstance(delta, LogOddsShift):
        name, link = library.margins_of(booster)
        Model(name=f"the objective {name!r}", shift_by=named[0], link=link)
    return moved


@public
def imbalance_shift(
    booster: Any, X: Any = None, y: ArrayLike | None = None, *,
    sample_weight: ArrayLike | None = None, counts: ArrayLike | None = None,
) -> LogOddsShift:  # fmt: skip
    """What to add to a model's log-odds to undo what was done against imbalance.

    Without X the shift is read from the booster's parameters, which multiply the odds of the
    positive class. With X and y, a sample of the population, it is the d with
    sum w sigmoid(z + d) = sum w y, where z are the model's log-odds and w the weights.
    ``docs/resampled.md`` says which of the two to use, and what each assumes.

    Parameters
    ----------
    booster : xgboost.Booster or lightgbm.Booster; with X also a fitted classifier
        Without X it was trained on the library's own binary objective. With X its margin is
        log-odds, or it is a classifier of two classes with ``predict_proba``.
    X : array-like, sparse matrix, DataFrame or DMatrix of shape (n, features), optional
        Rows of the population: not trained on, weighted nor downsampled; or a DMatrix.
    y : array-like of shape (n,), optional
        With X: its labels, 0 and 1 or those of the classifier. Without X: the training labels, 0
        and 1, which only ``is_unbalance`` needs.
    sample_weight, counts : array-like of shape (n,), optional
        How many rows of the population each row of X stands for; in the standard error a row with
        a weight counts as one, a row with a count (a whole number >= 0) as so many.

    Returns
    -------
    LogOddsShift
        In log-odds, for :func:`shift_intercept` or ``correct_margin``. An inferred one has a
        ``standard_error``, sqrt(sum w^2 (y - p)^2) / sum w p (1 - p), for independent rows.

    Raises
    ------
    TypeError, ValueError
        If it is not a booster, nor with X a classifier; if the model has no log-odds of a positive
        class, or its positives had no weight; if ``y`` is missing where needed, or has one class.

    See Also
    --------
    InterceptCalibrator : the same shift for log-odds or probabilities from any model.

    References
    ----------
    Elkan (2001), "The foundations of cost-sensitive learning", theorem 1, for that of parameters.

    Examples
    --------
    >>> import numpy as np, xgboost as xgb
    >>> from gbdt_objectives import shift_intercept
    >>> from gbdt_objectives.adapters import imbalance_shift
    >>> params = {"objective": "binary:logistic", "scale_pos_weight": 3, "base_score": 0.5}
    >>> data = xgb.DMatrix(np.zeros((4, 1)), label=[0, 0, 0, 1])
    >>> booster = xgb.train(params, data, 20)
    >>> shift_intercept(booster, imbalance_shift(booster)).predict(data).round(3)[0].item()
    0.25
    """
    from gbdt_objectives.adapters import _models
    from gbdt_objectives.priors import LogOddsShift

    if hasattr(booster, "predict_proba") and not isinstance(booster, type):
        return _models.infer_of_classifier(booster, X, y, sample_weight, counts)
    library = library_of_booster(booster)
    if X is None:
        _models.check_training_labels(y, sample_weight=sample_weight, counts=counts)
        return LogOddsShift(-math.log(library.read_odds(booster, y)))
    _models.check_sample(X, y)
    z = library.predict_log_odds(booster, X, sample_weight)
    return _models.infer_shift(y, z, sample_weight, counts)


def library_of_booster(booster: object) -> OpenLibrary:
    library = library_of(booster)
    if library is None:
        is_known = library_of_model(booster) is not None  # as of CatBoost's train
        raise no_booster(booster, BY_NAME, OF_LOG_ODDS if is_known else WITHIN)
    return library


WITHIN = "of a pipeline pass the last step, model[-1]; of an estimator around others each of theirs"
"""Where the booster is, of what holds one."""

OF_LOG_ODDS = (
    "of log-odds z, InterceptCalibrator(input_space='margin').fit(z, y).shift_ is the delta of "
    "shift_intercept"
)
"""What to do where the model's own log-odds cannot be read."""


def no_booster(found: object, names: Iterable[str], remedy: str = WITHIN) -> TypeError:
    return TypeError(
        f"booster must be a Booster of {' or '.join(names)}, found "
        f"{type(found).__module__}.{type(found).__name__}: {remedy}"
    )


__getattr__, __dir__ = attributes(__name__, __all__, tuple(EVERY))
