"""Where objectives and metrics meet a booster: ``adapters.xgboost`` and ``adapters.lightgbm``.

Both have ``train``, ``cv``, ``shift_intercept`` and ``imbalance_shift``, with the same arguments
and meaning, and the library's estimators, made drop-in.

Conventions
-----------
Start: boosting starts at the objective's intercept, evaluation sets too, and the intercept is
inside the model. An objective that was made without labels, such as ``qwk_objective()``, is
measured on the training rows, per fit and per fold. In ``train`` a start per row, XGBoost's
``base_margin`` or LightGBM's ``init_score``, replaces the intercept: all data sets need one, and
the model's own intercept is then 0.

Stop: early stopping is on the given metric, on the last evaluation set, in the metric's own
direction, and the model holds the rounds up to the best one only. A metric of classes, such as
``qwk_metric()``, does not move while all rows are in one class; such rounds at the beginning use
up no patience, and a best round among the first few gives a warning.

Predict: in natural units, the label's for an identity link and the probability of label 1 for
logloss, also after saving and loading without this package.

Refuse: what the library would silently ignore or misinterpret under a custom objective.

Negatives kept at rates that differ by row: after ``rows = negative_downsample(y, rates)`` train
on ``data`` of these rows with ``offset_logloss_objective(rates[rows])``. The model predicts the
population's probabilities without knowing the rates. ``evals`` are measured as the population:
leave their rows as they are, or, if these were sampled too, give their negatives weights of 1/r;
the metric is ``weighted_logloss_metric(1)``. ``cv`` refuses rates by row, which belong to rows in
their order, while folds hold some of them.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any, TypeVar

from numpy.typing import ArrayLike

from gbdt_objectives._library import library_of
from gbdt_objectives.adapters.label_shift import LabelShift

if TYPE_CHECKING:
    import lightgbm as lgb
    import xgboost as xgb

    from gbdt_objectives.adapters import lightgbm, xgboost

__all__ = ["LabelShift", "imbalance_shift", "lightgbm", "shift_intercept", "xgboost"]

BoosterT = TypeVar("BoosterT")


def shift_intercept(booster: BoosterT, delta: ArrayLike) -> BoosterT:
    """A copy of a trained booster whose every margin is larger by ``delta``, for good.

    The shift is inside the saved model: it survives saving, loading and pickling. The result
    is checked by predicting; of the SHAP values only the bias moves. What cannot be
    represented is refused. ``adapters.xgboost.shift_intercept`` and
    ``adapters.lightgbm.shift_intercept`` say where in the model it is.

    Parameters
    ----------
    booster : xgboost.Booster or lightgbm.Booster
        Trained: identity, logistic or softmax link. That of an estimator is
        ``get_booster()`` (XGBoost) or ``booster_`` (LightGBM).
    delta : float, or array of shape (K,) for K outputs
        In margin units: label units, or log-odds (for softmax up to a constant), for instance
        from ``log_odds_shift`` or :func:`imbalance_shift`.

    Returns
    -------
    Booster
        Of the same kind.

    Raises
    ------
    TypeError
        If it is not a booster, or ``delta`` is not a number for a model with one output.
    ValueError
        If ``delta`` does not have one element per output, or the shift cannot be represented:
        the margin is neither in label units nor log-odds (counts, survival, ranking), or there
        is no leaf where one is needed.
    RuntimeError
        If the edited model does not predict what it should.

    Examples
    --------
    >>> import numpy as np, xgboost as xgb
    >>> from gbdt_objectives import shift_intercept
    >>> data = xgb.DMatrix(np.eye(3), label=[1.0, 2.0, 3.0])
    >>> booster = xgb.train({"base_score": 2.0}, data, 1)
    >>> (shift_intercept(booster, -2).predict(data) - booster.predict(data)).round(4)
    array([-2., -2., -2.], dtype=float32)
    """
    moved: BoosterT = _find_adapter(booster).shift_intercept(booster, delta)
    return moved


def imbalance_shift(booster: xgb.Booster | lgb.Booster, y: ArrayLike | None = None) -> float:
    """What to add to a model's log-odds to undo its parameters against imbalance.

    They multiply the odds of the positive class by a constant::

        scale_pos_weight                          c      shift  -log c
        is_unbalance (LightGBM)                          shift  -log(negatives / positives)
        neg_, pos_bagging_fraction (LightGBM)     b, a   shift  log(b / a)

    Exact for a model that has converged, whose trees have learnt the weights. It reads the
    parameters, not the intercept: after shifting, the result is the same again.

    Parameters
    ----------
    booster : xgboost.Booster or lightgbm.Booster
        Trained on the library's own binary objective; also after saving and loading. Custom
        objectives ignore these parameters.
    y : array-like of shape (n,), optional
        The training labels, 0 and 1; needed for ``is_unbalance`` only, which weights the
        classes by their counts: the model does not store them.

    Returns
    -------
    float
        In log-odds, for :func:`shift_intercept` or ``correct_margin``.

    Raises
    ------
    TypeError
        If it is not a booster.
    ValueError
        If the model has no log-odds of a positive class, its positives had no weight, or ``y``
        is needed and missing, or has one class only.

    References
    ----------
    Elkan (2001), "The foundations of cost-sensitive learning", theorem 1.

    Examples
    --------
    >>> import numpy as np, xgboost as xgb
    >>> from gbdt_objectives import imbalance_shift, shift_intercept
    >>> params = {"objective": "binary:logistic", "scale_pos_weight": 3, "base_score": 0.5}
    >>> data = xgb.DMatrix(np.zeros((4, 1)), label=[0, 0, 0, 1])
    >>> booster = xgb.train(params, data, 20)
    >>> booster.predict(data).round(3)[0].item()
    0.5
    >>> shift_intercept(booster, imbalance_shift(booster)).predict(data).round(3)[0].item()
    0.25
    """
    shift: float = _find_adapter(booster).imbalance_shift(booster, y)
    return shift


def _find_adapter(booster: object) -> Any:
    library = library_of(booster)
    if library is None:
        raise TypeError(
            "booster must be a Booster of xgboost or lightgbm, found "
            f"{type(booster).__module__}.{type(booster).__name__}"
        )
    return import_module(f"{__name__}.{library}")


def __getattr__(name: str) -> Any:
    if name in ("lightgbm", "xgboost"):
        return import_module(f"{__name__}.{name}")
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
