"""What ``help`` says in every library: written once, with the words of each."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any, TypeVar

from gbdt_objectives._registry import Named

Documented = TypeVar("Documented", bound=Callable[..., Any])


def words_of(library: Named, **words: str) -> dict[str, str]:
    """The words of a library for these texts: its names, and those that differ from most."""
    names = {"library": library.name, "title": library.title, "kind": library.prefix}
    margins = f", and margins with\n``{library.asks_margins}``" * bool(library.asks_margins)
    return {**USUAL, **names, "margin": library.asks_margins, "margins": margins, **words}


USUAL = {
    # in what is said
    "instance": "``qwk_objective(y)``.",
    "place": "the leaves of the first tree", "held_out": "the last evaluation set", "of_fit": "",
    "trains": "``qwk_objective()``", "objective": "str, callable or Objective", "own": "",
    "of_rows": """
    ``fit`` takes what ``objective(function, rows=["cost"])``, or ``named`` of your own ``Loss``,
    names as further arguments, ``cost=``.""",
    "scores": "``focal_objective(2)`` or\n``ordinal_logit_objective(5)``",
    "labels": "Labels of two classes may be any, of K they are 0 to K-1",
    "raises": """
Raises
------
TypeError, ValueError
    Arguments of the wrong kind, contradictory starts, refused parameters, and whatever the
    objective finds wrong with the data.
""",
    # in examples
    "stops": "early_stopping_rounds=10", "max": "n_estimators",
    "fit": "X[:400], y[:400], eval_set=[(X[400:], y[400:])],\n...     ",
}  # fmt: skip


STARTS = """. If it has {start}, training starts there
    and the model's own intercept is 0; then all ``evals`` need one."""

TRAIN = """

Boosting starts at the objective's intercept, which goes into {place},
and stops on ``metric`` in its own direction; :mod:`gbdt_objectives.adapters` has the conventions.
{theirs} of ``{library}.train``
are ``data``, ``objective`` and ``metric`` here.

Parameters
----------
params : mapping
    {title}'s parameters. What {title} would silently ignore or misread is refused, as is
    {refused}
data : {data}
    Training data with labels{starts}
num_boost_round : int
    Maximum number of rounds.
objective : Objective
    For instance {instance}
metric : Metric, optional
    For instance ``extended_qwk_metric()`` or ``loss_metric(objective)``; needs ``evals``. No
    other metric is evaluated.
evals : sequence of ({data}, str)
    What to evaluate ``metric`` on, with a name for each.
early_stopping_rounds : int, optional
    Stop on the last of ``evals`` after this many rounds without improvement, and keep the
    rounds up to the best one only; needs ``metric``.
**kwargs
    Passed to ``{library}.train``: {kwargs}
"""

BOOSTER = """
Returns
-------
{library}.Booster
    A plain booster. ``predict`` gives natural units: the label's for an identity link, the mean
    for a log link, the probability of label 1 for logloss; with the link "score" it gives
    margins, for ``objective.class_probability``. ``{margin}`` always gives margins.{booster}
{raises}
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

An objective made without labels, such as ``qwk_objective()``, is measured on the training rows of
each fold. One with values of its own for each row of ``data`` is split with them.

Parameters
----------
params, data, num_boost_round, objective
    They mean the same as in :func:`train`, which raises the same errors.
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

REGRESSOR = """

With an ``objective`` such as {trains}, measured in each ``fit``
unless it is already, boosting starts at its intercept, which goes into {place}.
With a ``Metric`` such as ``extended_qwk_metric()`` as ``eval_metric``{of_fit}, early stopping
(by {stopping})
looks at this metric alone, unless it names one of {title}'s own, on {held_out}
and in the metric's own direction, and the model holds the best rounds only. Without either it is
{title}'s own estimator.{own}

Parameters
----------
objective : {objective}
    An Objective must predict numbers, link "identity", "log" or none declared; for probabilities
    use :class:`{kind}Classifier`.
    What {title} would silently ignore under it is refused.{of_rows}
**kwargs
    Parameters of {title}'s own ``{kind}Regressor``. {progress}
"""

QWK = """
Examples
--------
>>> import numpy as np
>>> from gbdt_objectives import extended_qwk_metric, qwk_objective
>>> from gbdt_objectives.adapters.{library} import {kind}Regressor
>>> rng = np.random.default_rng(0)
>>> X = rng.random((500, 3)); y = np.digitize(X[:, 0], [0.3, 0.6]) + 1
>>> model = {kind}Regressor(objective=qwk_objective(), {stops},
...     {parameters})
>>> model = model.fit({fit}{arguments})
>>> model.predict([[0.1, 0.5, 0.5], [0.9, 0.5, 0.5]]).round().tolist()
[1.0, 3.0]
"""

CLASSIFIER = """

With an ``objective`` such as ``offset_logloss_objective(0.1)`` boosting starts at the log-odds of
the labels, which go into {place}, and ``predict_proba`` gives the
probabilities that the objective aims at. ``eval_metric`` does what
:class:`{kind}Regressor` says. Without either it is {title}'s own estimator.

An objective with the link "score", such as {scores}, turns its margins
into probabilities itself: as ``objective_``, fitted to the training rows.
{labels}, and a class that does not occur keeps its
column. ``predict`` gives the most probable class{margins}.
A metric for early stopping is ``loss_metric(objective)``.{own}

Parameters
----------
objective : {objective}
    An Objective must have class probabilities; for label units use :class:`{kind}Regressor`.
    What {title} would silently ignore under it is refused.
**kwargs
    Parameters of {title}'s own ``{kind}Classifier``. {progress}

Examples
--------
>>> import numpy as np
>>> from gbdt_objectives import offset_logloss_objective
>>> from gbdt_objectives.adapters.{library} import {kind}Classifier
>>> rng = np.random.default_rng(0)
>>> X = rng.random((5000, 2)); y = (rng.random(5000) < 0.1 * X[:, 0]).astype(int)
>>> keep = (y == 1) | (rng.random(5000) < 0.1)  # a tenth of the negatives
>>> model = {kind}Classifier(objective=offset_logloss_objective(0.1), {max}=50,
...     {parameters}).fit(X[keep], y[keep])
>>> bool(abs(model.predict_proba(X)[:, 1].mean() / y.mean() - 1) < 0.1)
True
"""


def documented(
    text: str, words: Mapping[str, str] = MappingProxyType({}), /, **more: str
) -> Callable[[Documented], Documented]:
    """Add one of these texts to the docstring of a function or class, which says its purpose."""

    def document(thing: Documented) -> Documented:
        thing.__doc__ = f"{thing.__doc__}{text.format(**{**words, **more})}"
        return thing

    return document
