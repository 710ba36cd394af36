"""The intercept of a trained LightGBM model, and what its parameters did to it."""

from __future__ import annotations

import math
import re

import lightgbm as lgb
import numpy as np
from numpy.typing import ArrayLike

from gbdt_objectives import _checks
from gbdt_objectives._checks import Array
from gbdt_objectives.adapters import _arguments
from gbdt_objectives.priors import LogOddsShift

IDENTITY = ("regression", "regression_l1", "huber", "fair", "quantile", "mape")
LOG_ODDS = ("binary", "cross_entropy")
SOFTMAX = ("multiclass",)
CUSTOM = ("custom", "none")


def shift_intercept(booster: lgb.Booster, delta: ArrayLike) -> lgb.Booster:
    """A copy of the booster whose every margin is larger by ``delta``, for good.

    Adds it to the leaves of each output's first tree (of every tree in a random forest,
    which averages them). The result is checked on two rows, and survives saving, loading
    and pickling; only the bias of the SHAP values moves.

    Parameters
    ----------
    booster : lightgbm.Booster
        Trained: regression, binary, cross entropy, multi-class or a custom objective.
    delta : float, or array of shape (K,) for K outputs
        In margin units: label units, or log-odds. For softmax, log-odds up to a constant.
        With the parameter ``sigmoid`` the log-odds are sigmoid * raw score, and the raw
        score moves by delta / sigmoid.

    Returns
    -------
    lightgbm.Booster

    Raises
    ------
    TypeError
        If it is not a Booster (from an estimator take ``booster_``), or ``delta`` is not
        a number where there is one output.
    ValueError
        If ``delta`` has not one element an output, or the shift cannot be represented:
        a margin that is neither label units nor log-odds (counts, ranking,
        ``reg_sqrt``), one-versus-all classes, or no tree at all.
    RuntimeError
        If the edited model does not predict what it should.

    Notes
    -----
    Lost when predicting with ``start_iteration`` > 0. The raw score and the SHAP values
    of a random forest are LightGBM's sums over the trees, and move by so many deltas.

    Examples
    --------
    >>> import lightgbm as lgb, numpy as np
    >>> from gbdt_objectives.adapters.lightgbm import shift_intercept
    >>> X = np.arange(100.0).reshape(-1, 1)
    >>> booster = lgb.train({"verbose": -1}, lgb.Dataset(X, X[:, 0]), 1)
    >>> moved = shift_intercept(booster, 10)
    >>> bool(np.allclose(moved.predict(X), booster.predict(X) + 10, rtol=1e-12))
    True
    """
    _check_booster(booster)
    text = booster.model_to_string(num_iteration=-1)
    sigmoid = _sigmoid(text)
    if booster.num_trees() == 0:
        raise ValueError("the booster has no tree: there is no leaf to hold the intercept")
    raw = _arguments.shift(delta, booster.num_model_per_iteration()) / sigmoid
    moved = lgb.Booster(model_str=add_to_leaves(text, raw))
    moved.best_iteration, moved.best_score = booster.best_iteration, booster.best_score
    moved.params = dict(booster.params)  # which old versions do not read from a text
    before = _first_margin(booster)
    tolerance = 1e-9 * (1 + np.abs(before) + np.abs(raw))
    _arguments.check_moved(_first_margin(moved), before + raw, tolerance)
    return moved


def imbalance_shift(booster: lgb.Booster, y: ArrayLike | None = None) -> float:
    """What to add to the log-odds to undo LightGBM's parameters against imbalance.

    ::

        shift = -log(scale_pos_weight)                               positives weighed more
                -log(negatives / positives)                          if is_unbalance
                +log(neg_bagging_fraction / pos_bagging_fraction)    if bagging_freq > 0

    Only the objective ``binary`` heeds them; under a custom one the shift is 0. Bagging
    fractions take effect as the trees learn them: LightGBM starts at the mean of all rows,
    so that after few rounds the shift is too large.

    Parameters
    ----------
    booster : lightgbm.Booster
        Trained; also after saving and loading.
    y : array-like of shape (n,), optional
        The training labels, 0 and 1. Needed for ``is_unbalance`` only, which weighs the
        classes by their counts; the model does not store them.

    Returns
    -------
    float
        In log-odds, for :func:`shift_intercept` or ``correct_margin``.

    Raises
    ------
    TypeError
        If it is not a Booster (from an estimator take ``booster_``).
    ValueError
        If the model has no log-odds of a positive class or no parameters, or ``y`` is
        needed and not given, or has one class only.

    Examples
    --------
    >>> import lightgbm as lgb, numpy as np
    >>> from gbdt_objectives.adapters.lightgbm import imbalance_shift
    >>> y = np.repeat([0, 1], [80, 20])
    >>> params = {"objective": "binary", "is_unbalance": True, "verbose": -1}
    >>> booster = lgb.train(params, lgb.Dataset(np.arange(100.0).reshape(-1, 1), y), 1)
    >>> round(imbalance_shift(booster, y), 4)
    -1.3863
    """
    _check_booster(booster)
    parameters = _parameters(booster)
    objective = parameters["objective"]
    if objective in CUSTOM:
        return LogOddsShift(0.0)
    if objective not in LOG_ODDS:
        raise _arguments.no_log_odds(objective)
    if objective != "binary":
        return LogOddsShift(0.0)
    odds = float(parameters["scale_pos_weight"])
    if parameters["is_unbalance"] == "1":
        odds *= _negatives_per_positive(y)
    bagging = parameters["data_sample_strategy"] == "bagging" and parameters["bagging_freq"] != "0"
    if bagging:
        odds *= float(parameters["pos_bagging_fraction"])
        odds /= float(parameters["neg_bagging_fraction"])
    return LogOddsShift(math.log(1 / odds))


def add_to_leaves(text: str, raw: Array) -> str:
    """The text of a model with ``raw`` (K,), in raw score units, added to its intercepts."""
    K = len(raw)
    first, last = text.index("\nTree=0\n") + 1, text.index("\nend of trees\n") + 1
    head, rest = text[:first], text[last:]
    # the sizes of the trees' texts are optional, and a wrong one aborts the process
    head = re.sub(r"(?m)^tree_sizes=.*\n", "", head)
    # LightGBM (4.7) cannot read its own models if they were trained on columns given by name
    rest = re.sub(r"(?m)^\[(categorical_feature|ignore_column): name:.*\]$", r"[\1: ]", rest)
    # an average needs it in all trees, a sum in the first of each output
    after = -1 if "\naverage_output\n" in head else text.find(f"\nTree={K}\n", first, last)
    end = last if after < 0 else after + 1
    trees = re.split(r"(?m)^(?=Tree=\d+$)", text[first:end])[1:]
    edited = [_add_to_tree(tree, float(raw[t % K])) for t, tree in enumerate(trees)]
    return "".join([head, *edited, text[end:last], rest])


def _add_to_tree(tree: str, delta: float) -> str:
    """What LightGBM does itself to the tree that holds its average.

    Linear trees have leaf_const too, and use leaf_value where a feature is missing. refit
    fits the tree's leaves anew times its shrinkage, which an intercept has not undergone.
    """
    if delta == 0:
        return tree

    def added(line: re.Match[str]) -> str:
        return line[1] + " ".join(repr(float(value) + delta) for value in line[2].split())

    tree = re.sub(r"(?m)^((?:leaf_value|leaf_const|internal_value)=)(.*)$", added, tree)
    return re.sub(r"(?m)^shrinkage=.*$", "shrinkage=1", tree)


def _check_booster(booster: object) -> None:
    if not isinstance(booster, lgb.Booster):
        raise TypeError(
            f"booster must be a lightgbm.Booster, found {type(booster).__name__}: "
            "from an estimator take booster_"
        )


def _sigmoid(text: str) -> float:
    """Log-odds per raw score; raises if a shift of the raw score has no such meaning."""
    found = re.search(r"(?m)^objective=(.*)$", text.split("\n\n", 1)[0])
    if found is None:  # custom: what a margin is, is the user's knowledge
        return 1.0
    name, *settings = found[1].split()
    if name == "multiclassova":
        raise ValueError(
            "the booster's objective is 'multiclassova', one model for each class against the "
            "rest, in which a change of class rates is no constant shift: train 'multiclass'"
        )
    if name not in (*IDENTITY, *LOG_ODDS, *SOFTMAX) or "sqrt" in settings:
        raise ValueError(
            f"the booster's objective is {found[1]!r}, whose margin is neither in label units nor "
            "log-odds: a shift of it has no such meaning"
        )
    given = dict(setting.split(":") for setting in settings)
    return float(given.get("sigmoid", 1))


def _first_margin(booster: lgb.Booster) -> Array:
    """Raw scores after the first round of a row of missing values and one of zeros, one row."""
    rows = np.repeat([[np.nan], [0.0]], booster.num_feature(), axis=1)
    score = booster.predict(rows, raw_score=True, num_iteration=1)
    return np.asarray(score, np.float64).reshape(2, -1)


def _parameters(booster: lgb.Booster) -> dict[str, str]:
    text = booster.model_to_string(num_iteration=1)
    block = text.partition("\nparameters:\n")[2].partition("\nend of parameters")[0]
    if not block:
        raise ValueError(
            "the booster's model holds no parameters: nothing tells how it was trained"
        )
    return dict(re.findall(r"(?m)^\[(\w+): (.*)\]$", block))


def _negatives_per_positive(y: ArrayLike | None) -> float:
    if y is None:
        raise ValueError(
            "the booster was trained with is_unbalance, and its model does not hold the numbers "
            "of positives and negatives: pass the training labels, imbalance_shift(booster, y)"
        )
    labels = _checks.vector("y", y)
    _checks.binary_labels("y", labels)
    positives = int((labels == 1).sum())
    if not 0 < positives < len(labels):
        raise ValueError(
            f"y has one class only, found {positives} positives in {len(labels)} rows: "
            "pass all the training labels"
        )
    return (len(labels) - positives) / positives
