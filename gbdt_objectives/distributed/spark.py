"""XGBoost on Spark: its own estimators of ``pyspark.ml``, trained on an Objective.

They refuse a function as ``objective=``, and pass an undocumented ``obj=`` on to ``xgboost.train``
on each worker; ``docs/distributed.md`` says what that alone would miss.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from difflib import get_close_matches
from typing import Any

import numpy as np

from gbdt_objectives.adapters.xgboost.estimators import LIBRARY

try:
    import pandas as pd
    import pyarrow  # noqa: F401  # by which Spark moves rows to Python
    import xgboost as xgb
    from pyspark.sql.functions import col
    from xgboost.spark import SparkXGBClassifier, SparkXGBRegressor
except ImportError as error:
    raise ImportError(
        f"{error.name} is not installed: pip install 'gbdt_objectives[spark]'", name=error.name
    ) from error

from gbdt_objectives import _checks
from gbdt_objectives._checks import Training
from gbdt_objectives._checks.spellings import each_word
from gbdt_objectives._links import LOGIT
from gbdt_objectives._public import attributes, public
from gbdt_objectives._registry import XGBOOST
from gbdt_objectives._rows.rows import Rows
from gbdt_objectives._rows.workers import some_rows
from gbdt_objectives.adapters import _arguments
from gbdt_objectives.adapters._train import RowsOfParts, StartedObjective
from gbdt_objectives.adapters.xgboost import parameters
from gbdt_objectives.adapters.xgboost._train import continues, start_at
from gbdt_objectives.adapters.xgboost.estimators import OWN
from gbdt_objectives.metrics import Metric
from gbdt_objectives.objectives import Objective

__all__ = ["spark_classifier", "spark_regressor"]

INSTEAD = each_word({
    "write objective=": "obj fobj", "leave it out": "disable_default_eval_metric",
    "write metric=, a Metric such as qwk_metric()": "custom_metric feval eval_metric",
    "leave it out: the metric knows its direction": "maximize",
    "write n_estimators=": "num_boost_round num_round num_rounds num_iterations num_trees "
    "iterations",
    "write early_stopping_rounds=": "early_stopping early_stopping_round",
    "write features_col=, the name of a column of vectors or a list of columns": "features X",
    "write label_col=, the name of a column": "label labels target y",
    "write validation_indicator_col=, the name of a column of booleans": "eval_set evals",
    "write weight_col=, the name of a column": "sample_weight weight weights",
    "write base_margin_col=, the name of a column": "base_margin",
    "leave it out: spark.task.cpus says how many threads a task has": "n_jobs nthread num_threads",
    "write device='cuda'": "use_gpu", "write verbose=": "verbose_eval",
    "write the parameters themselves as arguments, **params": "params kwargs",
})  # fmt: skip
"""Arguments that have another name here, and what to write."""


class _Trained:
    """XGBoost's estimator, ``plain``, and what it is trained on."""

    plain: Any
    uid: str
    _copyValues: Any

    def __init__(
        self, objective: Objective, metric: Metric | None, given: Mapping[str, Any]
    ) -> None:
        super().__init__(**given)
        self.trained_on, self.metric = objective, metric
        _check_parameters(self)

    def _fit(self, dataset: Any) -> Any:
        """Fit XGBoost's ``plain`` estimator with our parameters, and leave only them."""
        _check_parameters(self)
        plain, metric = self.plain(), self.metric
        self._copyValues(plain)
        started, start = _start(self, dataset)
        training: dict[str, Any] = {"obj": started, "disable_default_eval_metric": 1, **start}
        callbacks, exact = _get(self, "callbacks") or [], None
        if metric is not None:
            callbacks = LIBRARY.direct(callbacks, metric)
            rounds = _get(self, "early_stopping_rounds")
            if rounds is not None:
                callbacks.append(parameters.early_stopping(metric, rounds, data_name="validation"))
                plain.clear(plain.early_stopping_rounds)
            training["custom_metric"] = exact = parameters.Exact(metric, callbacks, self.trained_on)
        complete = exact or parameters.Complete(callbacks, self.trained_on)
        plain.setParams(**training, callbacks=[complete])
        with _errors_of_workers():
            model = plain.fit(dataset)
        model.clear(model.callbacks)
        model._resetUid(self.uid)
        return self._copyValues(model)

    def write(self) -> Any:
        raise TypeError(
            "an estimator with an objective of gbdt_objectives cannot be saved, as Spark writes "
            "its parameters as JSON: save the fitted model, model.save(path) or "
            "model.get_booster().save_model(file), and make the estimator again where you train"
        )


class _Regressor(_Trained, SparkXGBRegressor):
    plain = SparkXGBRegressor


class _Classifier(_Trained, SparkXGBClassifier):
    plain = SparkXGBClassifier


@public
def spark_regressor(
    objective: Objective = _arguments.ABSENT, metric: Metric | None = None, **kwargs: Any
) -> SparkXGBRegressor:
    """XGBoost's Spark estimator for an objective in label units, such as ``qwk_objective()``.

    It trains the same model as one machine, whatever the partitions: the start, all sums, the
    metric and early stopping are those of the rows of all workers.

    Parameters
    ----------
    objective : Objective
        Made from all labels, or without labels, as ``qwk_objective()``: then each ``fit`` measures
        the training rows of its DataFrame, in one more Spark job over two columns.
    metric : Metric, optional
        For instance ``extended_qwk_metric()``, measured in each round on the training rows and on
        those of ``validation_indicator_col``. No other metric is evaluated.
    **kwargs
        As for ``xgboost.spark.SparkXGBRegressor``: ``num_workers``, ``weight_col``,
        ``validation_indicator_col``, ``early_stopping_rounds``, ``coll_cfg``, XGBoost's parameters.
        What XGBoost would silently ignore under a custom objective is refused.

    Returns
    -------
    xgboost.spark.SparkXGBRegressor
        For ``fit``, pipelines and cross-validation of ``pyspark.ml``. It cannot be saved, but what
        ``fit`` returns can: it is XGBoost's own model.

    Raises
    ------
    TypeError, ValueError
        Arguments of the wrong kind, refused parameters, objectives that Spark cannot train.

    Examples
    --------
    >>> from gbdt_objectives import extended_qwk_metric, qwk_objective
    >>> from gbdt_objectives.distributed.spark import spark_regressor
    >>> estimator = spark_regressor(
    ...     qwk_objective(), extended_qwk_metric(), num_workers=2, max_depth=3,
    ...     validation_indicator_col="held_out", early_stopping_rounds=20)
    >>> estimator.getOrDefault("max_depth")  # then model = estimator.fit(df)
    3
    """
    _refuse_arguments("spark_regressor", objective, metric, kwargs)
    if objective.link == LOGIT:
        raise TypeError(
            f"{objective!r} trains log-odds of label 1: write spark_classifier(objective, ...)"
        )
    if objective.link.is_transformed:
        raise TypeError(
            f"{objective!r} trains {objective.link.margins}, which Spark's models would return as "
            "predictions: use adapters.xgboost.XGBRegressor, or distributed.dask.DaskXGBRegressor"
        )
    return _Regressor(objective, metric, kwargs)


@public
def spark_classifier(
    objective: Objective = _arguments.ABSENT, metric: Metric | None = None, **kwargs: Any
) -> SparkXGBClassifier:
    """XGBoost's Spark estimator for an objective of log-odds, as ``offset_logloss_objective(r)``.

    It does for labels 0 and 1 what :func:`spark_regressor` does, and raises the same. The column of
    probabilities has those that the objective aims at, and that of raw predictions the log-odds.

    Parameters
    ----------
    objective : Objective
        With the link "logit": ``weighted_logloss_objective``, ``offset_logloss_objective``.
    metric : Metric, optional
        Of log-odds, such as ``weighted_logloss_metric(0.1)``.
    **kwargs
        As for ``xgboost.spark.SparkXGBClassifier``.

    Returns
    -------
    xgboost.spark.SparkXGBClassifier

    Examples
    --------
    >>> from gbdt_objectives import offset_logloss_objective
    >>> from gbdt_objectives.distributed.spark import spark_classifier
    >>> estimator = spark_classifier(offset_logloss_objective(0.1), num_workers=2, max_depth=3)
    >>> estimator.getOrDefault("num_workers")  # then model = estimator.fit(df)
    2
    """
    _refuse_arguments("spark_classifier", objective, metric, kwargs)
    if objective.link != LOGIT:
        raise TypeError(
            f"{objective!r} trains {objective.link.margins}, no log-odds: write "
            "spark_regressor(objective, ...), and turn scores into classes with apply_thresholds"
        )
    return _Classifier(objective, metric, kwargs)


def _refuse_arguments(
    function: str, objective: object, metric: object, kwargs: Mapping[str, Any]
) -> None:
    """Raise for an objective or metric that Spark cannot train on, and for misspelt arguments."""
    for name, instead in INSTEAD.items():
        if name in kwargs:
            raise TypeError(f"{function}() got {name}=: {instead}")
    _arguments.check_is_objective(objective)
    assert isinstance(objective, Objective)
    if metric is not None:
        _arguments.check_is_metric(metric)
        Training(objective=objective, metric=metric)
    if objective.is_by_row:
        raise ValueError(
            f"{objective!r} has a value of its own for each training row, but Spark keeps no order "
            "of rows: call adapters.xgboost.train on one machine, or on each worker for its rows"
        )
    if objective.outputs > 1 or objective.link.is_of_objective:
        raise ValueError(
            f"{objective!r} trains scores that only it turns into probabilities, which Spark's "
            "models cannot: use XGBClassifier of gbdt_objectives.adapters.xgboost on one machine"
        )


def _check_parameters(estimator: Any) -> None:
    """Raise for what XGBoost would silently ignore or misread, whenever it was set."""
    objective, metric = estimator.trained_on, estimator.metric
    rounds = _get(estimator, "early_stopping_rounds")
    stops_early = rounds is not None or parameters.any_stops_early(
        _get(estimator, "callbacks") or ()
    )
    found = {name: _get(estimator, name) for name in xgb.XGBRegressor().get_params()}
    found |= estimator.getOrDefault("arbitrary_params_dict")
    for name in sorted(found.keys() & INSTEAD.keys()):
        if found[name] is not None:
            raise TypeError(f"{name} is set: {INSTEAD[name]}")
    _check_known(estimator)
    found = {name: value for name, value in found.items() if name not in OWN}
    parameters.check(found, objective, stops_early=stops_early)
    held_out = _get(estimator, "validationIndicatorCol")
    if stops_early and not (metric and held_out):
        raise ValueError(
            "early stopping needs metric= to stop on and validation_indicator_col=, a column that "
            "is true for held-out rows"
        )
    if held_out and metric is None:
        raise ValueError("validation_indicator_col is given but metric is None: pass metric=")
    if rounds is not None:
        _checks.whole_number("early_stopping_rounds", rounds, 1)


def _check_known(estimator: Any) -> None:
    """Raise for what neither Spark's estimator nor XGBoost knows: only workers' logs would say."""
    known = parameters.TABLE.known
    names = {_spelt(param.name) for param in estimator.params}
    for name, value in estimator.getOrDefault("arbitrary_params_dict").items():
        if value is None or name in known or parameters.in_xgboost(name):
            continue
        near = get_close_matches(_spelt(name), sorted(names | known), 1, 0.75)
        raise TypeError(
            f"{name} is set, but neither Spark's estimator nor XGBoost has such a parameter: "
            + (f"did you mean {near[0]}=?" if near else "leave it out")
        )


def _spelt(name: str) -> str:
    """A name of Spark's as Python writes it, num_workers for numWorkers."""
    return re.sub("([A-Z])", r"_\1", name).lower()


def _get(estimator: Any, name: str) -> Any:
    """A parameter of Spark; None if it is neither set nor has a default."""
    is_known = estimator.hasParam(name) and estimator.isDefined(name)
    return estimator.getOrDefault(name) if is_known else None


def _start(estimator: Any, dataset: Any) -> tuple[StartedObjective, dict[str, Any]]:
    """The objective, and the parameters with which boosting starts where it should."""
    objective, base_score = estimator.trained_on, _get(estimator, "base_score")
    earlier = {"xgb_model": _get(estimator, "xgb_model")}
    training = Training(library=XGBOOST, objective=objective, link=objective.link)
    if continues({"base_score": base_score}, earlier, objective, training):
        return StartedObjective(objective, None, training), earlier
    in_rows = _get(estimator, "base_margin_col") or None
    measured = objective if in_rows else _measured(objective, estimator, dataset)
    started, begin = start_at(
        measured, {"base_score": base_score}, training, base_margin=in_rows,
        its_name="base_margin_col", ends=(0.0, 0.0),  # models add the column themselves
    )  # fmt: skip
    if started.given:  # the workers warn where nobody looks
        loss, start = measured.equations, float(np.asarray(started.start))
        training.know(
            start_by=started.given, start=start, intercept=measured.intercept,
            tolerance=loss.start_tolerance,
        )  # fmt: skip
    return started, begin


def _measured(objective: Objective, estimator: Any, dataset: Any) -> Objective:
    """The objective measured on all training rows of a DataFrame, by statistics that add up."""
    if not objective.needs_labels and objective.intercept is not None:
        return objective
    held_out, weight = (_get(estimator, name) for name in ("validationIndicatorCol", "weightCol"))
    rows = dataset.filter(~col(held_out)) if held_out else dataset
    columns = [col(estimator.getOrDefault("labelCol")).cast("float").alias("y")]  # as a DMatrix
    columns += [col(weight).cast("float").alias("w")] if weight else []
    classes = isinstance(estimator, SparkXGBClassifier)  # which counts them

    def run(function: Callable[[Rows], Any]) -> list[Any]:
        def told(batches: Iterator[pd.DataFrame]) -> Iterator[pd.DataFrame]:
            for batch in batches:
                if len(batch):
                    y, w = (batch[name].to_numpy() if name in batch else None for name in "yw")
                    with some_rows():
                        found = function(objective._read_labels(y, w))
                    if classes:
                        _checks.binary_labels("y_true", np.asarray(y), "use DaskXGBRegressor")
                    yield pd.DataFrame({"vector": [np.asarray(found, np.float64).tolist()]})

        with _errors_of_workers():
            parts = rows.select(*columns).mapInPandas(told, "vector array<double>").collect()
        if not parts:
            raise ValueError("the DataFrame has no training rows: there must be at least one")
        return [part.vector for part in parts]

    return objective.measured_on(RowsOfParts(run=run))


@contextmanager
def _errors_of_workers() -> Iterator[None]:
    """Errors of Python on a worker, which Spark wraps in its own, raised as on one machine."""
    try:
        yield
    except Exception as error:
        said = re.search(r"^.*?(Traceback \(most recent call last\):\n.*)", str(error), re.DOTALL)
        if said is None:  # Spark's own, or raised here
            raise
        trace = re.split(r"\n\s*(?:at [\w.$]+\(|SQLSTATE: )", said[1])[0].rstrip()  # Java's follows
        raise error_of(trace) from RuntimeError(f"on a worker\n\n{trace}")


def error_of(trace: str) -> Exception:
    """The error that a traceback ends with; RuntimeError where its type cannot be made here."""
    last = trace[trace.rindex("Traceback (most recent") :]
    found = re.search(r"\n([A-Za-z_][\w.]*)(?:: (.*))?\Z", last, re.DOTALL)
    if found is None:
        return RuntimeError(last)
    module, _, name = found[1].rpartition(".")
    kind = getattr(sys.modules.get(module or "builtins"), name, None)
    if isinstance(kind, type) and issubclass(kind, Exception):
        with suppress(TypeError):
            return kind(found[2] or "")
    return RuntimeError(f"{found[1]}: {found[2] or ''}")


__getattr__, __dir__ = attributes(__name__, __all__)
