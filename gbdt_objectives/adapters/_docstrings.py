"""What ``help`` says of train and cv: written once, with the words of each library."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

F = TypeVar("F", bound=Callable[..., Any])

TRAIN = """

Boosting starts at the objective's intercept, which goes into {intercept},
and stops on ``metric`` in its own direction. :mod:`gbdt_objectives.adapters` has the conventions.

Parameters
----------
params : mapping
    {title}'s parameters. What {title} would silently ignore or misread is refused, as is
    {refused}
data : {data}
    Training data with labels. If it has {row_starts}, training starts there and
    the model's own intercept is 0; then all ``evals`` need one.{shared}
num_boost_round : int
    Maximum number of rounds.
objective : Objective
    For instance ``qwk_objective(y)``.
metric : Metric, optional
    For instance ``extended_qwk_metric()``; needs ``evals``. No other metric is evaluated.
evals : sequence of ({data}, str)
    What to evaluate ``metric`` on, with a name for each.
early_stopping_rounds : int, optional
    Stop on the last of ``evals`` after this many rounds without improvement, and keep the
    rounds up to the best one only; needs ``metric``.
**kwargs
    Passed to ``{library}.train``: {kwargs}

Returns
-------
{library}.Booster
    A plain booster. ``predict`` gives natural units: the label's for an identity link, the mean
    for a log link, the probability of label 1 for logloss; with the link "score" it gives
    margins, for ``objective.class_probability``. ``{margin}=True`` always gives margins.{booster}

Raises
------
TypeError, ValueError
    Arguments of the wrong kind, contradictory starts, refused parameters, and whatever the
    objective finds wrong with the data.

Examples
--------
>>> import {library}, numpy as np
>>> from gbdt_objectives import qwk_objective
>>> from gbdt_objectives.adapters.{library} import train
>>> rng = np.random.default_rng(0)
>>> X = rng.random((500, 3)); y = np.digitize(X[:, 0], [0.3, 0.6]) + 1
>>> params, data = {params}, {data}(X, y)
>>> booster = train(params, data, 50, objective=qwk_objective(y))
>>> booster.predict({rows}).round().tolist()
[1.0, 3.0]
"""

CV = """

Per fold, boosting starts at the objective's intercept, and an objective that was made without
labels, such as ``qwk_objective()``, is measured on the fold's training rows. One with values of
its own for each row of ``data`` is split with them.

Parameters
----------
params, data, num_boost_round, objective
    They mean the same as in :func:`train`.
metric : Metric
    What to measure on the held-out rows of each fold.
early_stopping_rounds : int, optional
    Stop after this many rounds in which the mean of ``metric`` over the folds has not improved.
**kwargs
    Passed to ``{library}.cv``: {kwargs}

Returns
-------
{history}
    The mean and standard deviation of the metric per round, in the form of ``{library}.cv``
    and in full precision.{boosters}

Raises
------
TypeError, ValueError
    Whatever :func:`train` raises.

Examples
--------
>>> import {library}, numpy as np
>>> from gbdt_objectives import extended_qwk_metric, qwk_objective
>>> from gbdt_objectives.adapters.{library} import cv
>>> rng = np.random.default_rng(0)
>>> X = rng.random((500, 3)); y = np.digitize(X[:, 0], [0.3, 0.6]) + 1
>>> params, data = {params}, {data}(X, y)
>>> history = cv(params, data, 20, objective=qwk_objective(), metric=extended_qwk_metric())
>>> bool(list(history["{column}extended_qwk-mean"])[-1] > 0.8)
True
"""


def documented(text: str, **words: str) -> Callable[[F], F]:
    """Add one of these texts to a function's docstring, which says its purpose."""

    def document(function: F) -> F:
        function.__doc__ = f"{function.__doc__}{text.format(**words)}"
        return function

    return document
