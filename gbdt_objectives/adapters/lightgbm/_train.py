"""LightGBM: train on an Objective, with the intercept inside the model."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterator, Mapping, MutableMapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from threading import RLock
from typing import Any

import lightgbm as lgb
import numpy as np

from gbdt_objectives import _checks
from gbdt_objectives._checks import Array
from gbdt_objectives.adapters import _arguments
from gbdt_objectives.adapters._estimators import whole_numbers
from gbdt_objectives.adapters._start import StartedObjective, lost_start, shift_metric
from gbdt_objectives.adapters.lightgbm import parameters
from gbdt_objectives.adapters.lightgbm.intercept import add_to_leaves
from gbdt_objectives.adapters.lightgbm.stopping import StopEarly, any_stops_early, direct_callbacks
from gbdt_objectives.metrics import Metric
from gbdt_objectives.objectives import Objective
from gbdt_objectives.objectives.base import Start


def train(
    params: Mapping[str, Any],
    data: lgb.Dataset,
    num_boost_round: int = 100,
    *,
    objective: Objective = _arguments.ABSENT,
    metric: Metric | None = None,
    evals: Sequence[tuple[lgb.Dataset, str]] = (),
    early_stopping_rounds: int | None = None,
    **kwargs: Any,
) -> lgb.Booster:
    """Drop-in for ``lightgbm.train`` that starts, stops and predicts correctly.

    Boosting starts at the objective's intercept, which ends up in the leaves of the first
    tree, and stops on ``metric`` in its own direction. :mod:`gbdt_objectives.adapters` has the
    conventions, and how to train on negatives kept at rates that differ by row.

    Parameters
    ----------
    params : mapping
        LightGBM's parameters. What LightGBM would silently ignore or misinterpret is
        refused, as is ``boosting="rf"``.
    data : lightgbm.Dataset
        Training data with labels. If it has an ``init_score``, training starts there
        and the model's own intercept is 0; then all ``evals`` need one.
        Threads may share it, if their ``params`` agree on how it is binned.
    num_boost_round : int
        Maximum number of rounds.
    objective : Objective
        E.g. ``qwk_objective(y)``.
    metric : Metric, optional
        E.g. ``extended_qwk_metric()``; needs ``evals``. No other metric is evaluated.
    evals : sequence of (Dataset, str)
        What to evaluate ``metric`` on.
    early_stopping_rounds : int, optional
        Stop on the last of ``evals`` after this many rounds without improvement, and keep
        the rounds up to the best one only; needs ``metric``.
    **kwargs
        Passed to ``lightgbm.train``: ``callbacks``, ``init_model``, of any objective: its margins
        are kept.

    Returns
    -------
    lightgbm.Booster
        A plain booster. ``predict`` gives natural units: the label's for an identity link, the mean
        for a log link, the probability of label 1 for logloss (``raw_score=True`` for margins),
        also after saving and loading without this package. Of a link "score" it gives the margin,
        (n,) or (n, K), for ``objective.class_probability``. Predict from the first iteration on:
        ``start_iteration`` > 0 leaves the intercept out.
        Its objective is called ``regression``, ``poisson``, ``binary`` or ``multiclass``, so that
        converters accept it and ``refit`` works: on squared error, or on plain logloss without the
        objective's rate. Of a link "score" there is neither: LightGBM would refit on the squared
        error of the score, and refuses.

    Raises
    ------
    TypeError, ValueError
        Arguments of the wrong kind, contradictory starts, refused parameters, and
        whatever the objective finds wrong with the data.

    Examples
    --------
    >>> import lightgbm as lgb, numpy as np
    >>> from gbdt_objectives import qwk_objective
    >>> from gbdt_objectives.adapters.lightgbm import train
    >>> rng = np.random.default_rng(0)
    >>> X = rng.random((500, 3)); y = np.digitize(X[:, 0], [0.3, 0.6]) + 1
    >>> params = {"num_leaves": 4, "verbose": -1}
    >>> booster = train(params, lgb.Dataset(X, y), 50, objective=qwk_objective(y))
    >>> booster.predict([[0.1, 0.5, 0.5], [0.9, 0.5, 0.5]]).round()
    array([1., 3.])
    """
    datasets = _arguments.check_arguments(
        "train", lgb.Dataset, params, data, num_boost_round, objective, metric, evals,
        early_stopping_rounds, kwargs, parameters.INSTEAD,
    )  # fmt: skip
    if kwargs.pop("keep_training_booster", False):
        raise ValueError(
            "keep_training_booster=True is refused: training ends when the intercept is written "
            "into the model; leave it out, and train on with init_model="
        )
    callbacks = list(kwargs.pop("callbacks", None) or [])
    if metric is not None:
        callbacks = direct_callbacks(callbacks, metric)
        if early_stopping_rounds is not None:
            callbacks.append(StopEarly(metric, early_stopping_rounds))
    stops_early = any_stops_early(callbacks)
    parameters.check(
        params,
        objective,
        stops_early=stops_early,
        from_file=any(d.data is None or in_file(d) for d in datasets.values()),
    )
    if stops_early:

        def labels(k: int | None) -> Any:
            return _current(data if k is None else evals[k][0], "label")

        _arguments.check_held_out(evals, data, labels)
    if any(name == "training" and dataset is not data for dataset, name in evals):
        raise ValueError(
            "the name 'training' in evals is LightGBM's own for the training data, on which it "
            "never stops early: give held-out data another name"
        )
    check_whole(objective, data)
    with one_at_a_time() as first_round:
        for name, dataset in datasets.items():
            check_label(dataset, name)
        K = objective.outputs
        own_start = {name: init_score(dataset, K) for name, dataset in datasets.items()}
        has_score = {name: score is not None for name, score in own_start.items()}
        _arguments.check_same_starts("init_score", has_score)
        continues = find_earlier(kwargs) is not None
        started = start_objective(objective, own_start["data"], continues)

        def shift(evaluated: lgb.Dataset) -> Start:
            if has_score["data"] and evaluated.get_field("init_score") is None:
                raise lost_start("boosting starts at 0 on an evaluation set that has an init_score")
            return started.shift

        every = list(datasets.values())
        with explain_errors(), without_traces(every, kwargs.get("init_model"), K):
            booster = lgb.train(
                {
                    **params,
                    **_arguments.several_outputs(objective),
                    "objective": started,
                    "metric": "None",
                },
                data,
                num_boost_round,
                feval=None if metric is None else shift_metric(metric.lightgbm, shift),
                valid_sets=[dataset for dataset, _ in evals] or None,
                valid_names=[name for _, name in evals] or None,
                callbacks=[first_round, *callbacks],
                keep_training_booster=True,  # else it would be written and read back twice
                **kwargs,
            )
    return finish(booster, objective, started.shift)


def find_earlier(kwargs: MutableMapping[str, Any]) -> Any:
    """The earlier model that training goes on from; a fitted estimator is replaced by its booster,
    which is what LightGBM's own train takes."""
    model = kwargs.get("init_model")
    if isinstance(model, lgb.LGBMModel):
        model = kwargs["init_model"] = model.booster_
    return model


_construction = RLock()


def _renew_construction() -> None:
    global _construction
    _construction = RLock()


if hasattr(os, "register_at_fork"):  # a child has none of the threads that could release it
    os.register_at_fork(after_in_child=_renew_construction)


@contextmanager
def one_at_a_time() -> Iterator[Callable[[Any], None]]:
    """One thread at a time until the callback that this yields is called, in the first round.

    Before that LightGBM constructs the data, and two threads that share a Dataset would free
    what the other is about to read.
    """
    lock, held = _construction, True

    def first_round(env: Any) -> None:
        nonlocal held
        if held:
            held = False
            lock.release()

    first_round.before_iteration = True  # type: ignore[attr-defined]
    first_round.order = -(10**6)  # type: ignore[attr-defined]  # before what the user has
    lock.acquire()
    try:
        yield first_round
    finally:
        first_round(None)


def start_objective(objective: Objective, score: Array | None, continues: bool) -> StartedObjective:
    """The objective of a training with this init_score, or from an earlier model."""
    if continues:
        return StartedObjective(objective, None)
    if score is not None:
        return StartedObjective(objective, score)
    return StartedObjective(objective, 0.0, shifts=True)


def finish(booster: lgb.Booster, objective: Objective, intercept: Start) -> lgb.Booster:
    """A complete model: the best rounds only, the intercept, and the name of LightGBM's objective
    with the same prediction transform, without which it could not be converted.

    It is a new booster: one that was trained on a custom objective keeps "none" in its
    parameters, and refuses to refit, whatever model is loaded into it.
    """
    transform, name = objective.link.lightgbm, objective.link.refits
    text = booster.model_to_string()  # to the best iteration, if training stopped early
    head, trees = text.split("\n\n", 1)
    lines = [line for line in head.split("\n") if not line.startswith("objective=")]
    trees, mark, rest = trees.rpartition("\nparameters:\n")
    rest = re.sub(r"(?m)^\[objective: .*\]$", f"[objective: {name}]", rest)
    text = "\n".join([*lines, f"objective={transform}"]) + "\n\n" + trees + mark + rest
    intercepts = np.broadcast_to(intercept, objective.outputs)
    complete = lgb.Booster(model_str=add_to_leaves(text, intercepts))
    complete.best_iteration, complete.best_score = booster.best_iteration, booster.best_score
    complete.params = {**booster.params, "objective": name}  # old versions read none from a text
    return complete


def _field(dataset: lgb.Dataset, name: str) -> Any:
    """A field as the user gave it, or as the constructed dataset holds it."""
    value = getattr(dataset, name)
    return dataset.get_field(name) if value is None and _constructed(dataset) else value


def _current(dataset: lgb.Dataset, name: str) -> Any:
    """A field that set_field may have changed since, which the attribute does not know."""
    return dataset.get_field(name) if _constructed(dataset) else getattr(dataset, name)


def _constructed(dataset: lgb.Dataset) -> bool:
    return bool(dataset._handle)  # a null pointer if it could not be constructed


def in_file(dataset: lgb.Dataset) -> bool:
    return isinstance(dataset.data, str | Path)


def check_label(dataset: lgb.Dataset, name: str) -> None:
    """Check labels and weights in memory: constructed, a Dataset has 0 for NaN and for none."""
    label, weight = _current(dataset, "label"), _current(dataset, "weight")
    if weight is not None:
        _checks.finite(f"the weight of {name}", np.asarray(weight, float))
    in_memory = dataset.used_indices is None and not in_file(dataset)
    if label is not None:
        _checks.vector(f"the label of {name}", whole_numbers(np.asarray(label)).ravel())
    elif in_memory:
        raise ValueError(f"{name} has no labels: pass label= to the Dataset")


def check_whole(objective: Objective, data: lgb.Dataset) -> None:
    """Raise for an objective with values by row and a subset, whose rows LightGBM has sorted."""
    if objective.rows is not None and data.used_indices is not None:
        raise ValueError(
            f"data is a subset of a Dataset, whose rows LightGBM sorts, but {objective!r} is for "
            "rows in their order: make a Dataset of these rows, lightgbm.Dataset(X[rows], "
            "label=y[rows])"
        )


def init_score(dataset: lgb.Dataset, outputs: int) -> Array | None:
    """The user's own, (n,) or (n, K): not what an earlier init_model left there, nor the zeros to
    which LightGBM resets that. A start of 0 in every row is the same as none."""
    if getattr(dataset, "_predictor", None) is not None:
        return None
    waits = dataset.used_indices is not None and not _constructed(dataset)
    if waits and dataset.init_score is None:
        whole = init_score(dataset.reference, outputs)  # type: ignore[arg-type]  # a subset has one
        return None if whole is None else whole[dataset.used_indices]
    score = _field(dataset, "init_score")
    if score is None or not np.any(score):
        return None
    if outputs == 1:
        return _checks.vector("init_score", np.asarray(score))
    values = _checks.real_array("init_score", np.asarray(score))
    _checks.finite("init_score", values.ravel())
    if values.size % outputs or (values.ndim > 1 and values.shape[1] != outputs):
        raise ValueError(
            f"init_score must have shape (n, {outputs}), a start for each output of the objective, "
            f"found {values.shape}"
        )
    return values.reshape((-1, outputs), order="F")  # if it is flat, one output after the other


@contextmanager
def explain_errors() -> Iterator[None]:
    """Rewrite LightGBM's failed internal check in the user's terms."""
    try:
        yield
    except lgb.basic.LightGBMError as error:
        if "num_features" not in str(error):
            raise
        raise ValueError(
            "no feature can be split: all are constant, or there are fewer than "
            "2 * min_data_in_leaf rows (40 by default): add rows, use fewer folds or lower "
            "min_data_in_leaf (min_child_samples)"
        ) from error


@contextmanager
def without_traces(
    datasets: Sequence[lgb.Dataset], init_model: object, outputs: int
) -> Iterator[None]:
    """Remove the predictions of ``init_model`` that LightGBM leaves on data as init_score."""
    had = [init_score(dataset, outputs) for dataset in datasets] if init_model is not None else []
    try:
        yield
    finally:
        for dataset, score in zip(datasets, had, strict=False):
            dataset._predictor = None
            dataset.init_score = score
            if _constructed(dataset):
                dataset.set_field("init_score", score)
