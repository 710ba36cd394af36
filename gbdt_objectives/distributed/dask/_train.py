"""XGBoost on Dask: train on an Objective, the same model as on one machine."""

from __future__ import annotations

import base64
import operator
import pickle
import sys
import time
import uuid
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import replace
from functools import partial, reduce
from typing import Any, NamedTuple, TypeVar

import dask
import dask.array
import distributed
import numpy as np
import xgboost as xgb
from scipy.sparse import csr_matrix
from xgboost import dask as xgb_dask

from gbdt_objectives import _checks
from gbdt_objectives._checks import Array, Training, is_dask
from gbdt_objectives._public import attributes, public
from gbdt_objectives._registry import XGBOOST
from gbdt_objectives._rows import workers as _workers
from gbdt_objectives._rows.rows import Rows
from gbdt_objectives._rows.workers import some_rows
from gbdt_objectives.adapters import _arguments
from gbdt_objectives.adapters._arguments import ABSENT, Request
from gbdt_objectives.adapters._train import (
    RowsOfParts,
    StartedObjective,
)
from gbdt_objectives.adapters.xgboost import _train as on_one_machine
from gbdt_objectives.adapters.xgboost.estimators import LIBRARY
from gbdt_objectives.metrics import Metric
from gbdt_objectives.objectives import Objective

TIMEOUT = 300  # seconds

GRACE = 1.0  # seconds in which Dask notices that a worker is gone, and others that they stop


@public
def train(
    client: distributed.Client | None, params: Mapping[str, Any], data: xgb_dask.DaskDMatrix,
    num_boost_round: int = 100, *, objective: Objective = ABSENT, metric: Metric | None = None,
    evals: Sequence[tuple[xgb_dask.DaskDMatrix, str]] = (),
    early_stopping_rounds: int | None = None, timeout: int = TIMEOUT, **kwargs: Any,
) -> xgb.Booster:  # fmt: skip
    """``adapters.xgboost.train`` on a Dask cluster: the same model, whatever holds the rows.

    Only sums travel. The model, the best round and the values of the metric are those of one
    machine with the same bins, which quantile sketches of many different values do not quite give.

    Parameters
    ----------
    client : distributed.Client or None
        None is the current one. It must not be asynchronous.
    params, num_boost_round, metric, early_stopping_rounds
        They mean the same as in :func:`gbdt_objectives.adapters.xgboost.train`.
    data : xgboost.dask.DaskDMatrix
        With labels; a DaskQuantileDMatrix is one.
    objective : Objective
        For instance ``qwk_objective()``, measured on all labels; without values of training rows.
    evals : sequence of (DaskDMatrix, str)
        What to evaluate ``metric`` on; may be on other workers than ``data``.
    timeout : int
        Seconds after which workers give up another one that does not answer: more than the
        slowest needs for a round, and to make its matrix. XGBoost before 3.0 has its own.
    **kwargs
        Passed to ``xgboost.dask.train``: ``callbacks`` (copied to each worker), ``xgb_model``,
        ``verbose_eval`` (True prints each round on a worker), ``coll_cfg``, ``evals_result``.

    Returns
    -------
    xgboost.Booster
        On this machine; ``xgboost.dask.predict(client, booster, data)`` predicts where rows are.

    Raises
    ------
    TypeError, ValueError
        Whatever one machine raises. The message names the partition, or the worker in training.
    RuntimeError
        If a worker was lost or did not answer in time.

    Examples
    --------
    >>> import dask.array as da, numpy as np
    >>> from distributed import Client
    >>> from xgboost.dask import DaskDMatrix
    >>> from gbdt_objectives import qwk_objective
    >>> from gbdt_objectives.distributed.dask import train
    >>> rng = np.random.default_rng(0)
    >>> X = rng.random((500, 3)); y = np.digitize(X[:, 0], [0.3, 0.6]) + 1
    >>> with Client(n_workers=1, threads_per_worker=1, processes=False,
    ...             dashboard_address=":0") as client:
    ...     data = DaskDMatrix(client, da.from_array(X, (250, 3)), da.from_array(y, 250))
    ...     booster = train(client, {"max_depth": 2}, data, 20, objective=qwk_objective())
    >>> booster.inplace_predict([[0.1, 0.5, 0.5], [0.9, 0.5, 0.5]]).round()
    array([1., 3.], dtype=float32)
    """
    client = find_client(client)
    request = Request(
        "train", params, data, num_boost_round, objective, metric, evals, early_stopping_rounds,
        kwargs,
    )  # fmt: skip
    matrices = request.check(LIBRARY, xgb_dask.DaskDMatrix)
    check_not_by_row(objective)
    kwargs |= find_config(timeout, kwargs.pop("coll_cfg", None))
    history = kwargs.pop("evals_result", None)
    callbacks = LIBRARY.find_callbacks(request, lambda k: None)
    earlier = on_one_machine.continues(params, kwargs, objective, request.training)
    needed = {address for matrix in matrices.values() for address in matrix.worker_map}
    with explained_errors(client, needed, timeout) as interruptible:
        measured, ends = measure(client, objective, matrices, request.training, timeout)
        started, begin = on_one_machine.start_at(
            measured, params, request.training,
            earlier=earlier, base_margin=ends, ends=ends or (-np.inf, np.inf),
        )  # fmt: skip
        if started.shifts:
            started.shift = StartedObjective.margin_of(measured)
        trained = LIBRARY.run(
            request, [interruptible, *callbacks], started, begin, partial(xgb_dask.train, client)
        )
    booster: xgb.Booster = trained["booster"]
    if history is not None:
        history.clear()
        history.update(trained["history"])
    booster = LIBRARY.finish(booster, objective, started.shift)
    booster.__class__ = Trained
    return booster


class Trained(xgb.Booster):
    """What :func:`train` returns, which is copied and pickled as XGBoost's own."""

    def __getitem__(self, key: Any) -> xgb.Booster:
        if isinstance(key, str):  # of the dict that xgboost.dask.train returns
            raise TypeError(
                f"train returns the booster itself: leave [{key!r}] out; evals_result=, a dict, is "
                "filled with the history"
            )
        return super().__getitem__(key)

    def __reduce__(self) -> Any:
        return object.__new__, (xgb.Booster,), self.__getstate__()


def find_client(client: distributed.Client | None) -> distributed.Client:
    client = distributed.get_client() if client is None else client
    check_client(client, "train(client, params, data, ...)")
    return client


def check_client(client: object, call: str) -> None:
    if not isinstance(client, distributed.Client):
        raise TypeError(
            f"client must be a distributed.Client, found {_checks.shown(client)}: write {call}"
        )
    if client.asynchronous:
        raise TypeError(
            "client is asynchronous, but training waits: pass Client(address), or call it by "
            "asyncio.to_thread with such a client"
        )


def check_not_by_row(objective: Objective) -> None:
    if objective.is_by_row:
        raise ValueError(
            f"{objective!r} is for training rows in their order, which partitions have not: give "
            "sample_weight, or one rate or offset for all rows; or train on one machine"
        )


def find_config(timeout: int, config: Any) -> dict[str, Any]:
    """The arguments of xgboost.dask.train that set the timeout of the collective."""
    _checks.whole_number("timeout", timeout, 1)
    if not hasattr(xgb.collective, "Config"):
        if timeout != TIMEOUT:
            raise ValueError(
                f"timeout={timeout} is not supported by XGBoost {xgb.__version__}, which has its "
                "own: leave it out, or upgrade to XGBoost 3.0"
            )
        return {}
    config = config or xgb.collective.Config()
    if config.timeout not in (None, timeout):
        raise ValueError(
            f"timeout is {timeout} and that of coll_cfg {config.timeout}: set timeout= only"
        )
    return {"coll_cfg": replace(config, timeout=timeout)}


class PartFacts(NamedTuple):
    rows: int
    ends: tuple[float, float] | None  # of its base_margin
    largest_weight: float | None


def measure(
    client: distributed.Client, objective: Objective, matrices: Mapping[str, xgb_dask.DaskDMatrix],
    training: Training, timeout: int,
) -> tuple[Objective, tuple[float, float] | None]:  # fmt: skip
    """The objective measured on the first matrix, and the ends of its base_margin, if any."""
    first, *others = matrices
    of_first = partial(inspect_matrix, client, timeout, matrices[first], first)
    parts = {first: of_first(partial(tell, objective))}
    for name in others:
        parts[name] = inspect_matrix(client, timeout, matrices[name], name, partial(tell, None))
    ends = {name: [part.ends for part in found if part.ends] for name, found in parts.items()}
    has = {name: bool(found) for name, found in ends.items()}
    training.know(row_start="base_margin", sets_with_start=has)
    found = (float(np.min(ends[first])), float(np.max(ends[first]))) if has[first] else None
    return measured_on_parts(objective, parts[first], of_first), found


def measured_on_parts(
    objective: Objective, parts: Sequence[PartFacts], run: Callable[[Callable[..., Any]], list[Any]]
) -> Objective:
    """The objective measured on all parts, whose matrices ``run(function)`` passes to it."""
    rows = sum(part.rows for part in parts)
    weights = [part.largest_weight for part in parts if part.largest_weight is not None]
    if not rows:
        objective.measured([])  # raises
    if weights:
        _checks.some_weight("sample_weight", max(weights), rows)
    everywhere = RowsOfParts(run=lambda function: run(partial(of_part, objective, function)))
    return objective.measured_on(everywhere)


def of_part(objective: Objective, function: Callable[[Rows], Any], matrix: xgb.DMatrix) -> Any:
    y, w = _checks.label_weight(matrix)
    with _workers.some_rows():
        return function(objective._read_labels(y, w))


def inspect_matrix(
    client: distributed.Client, timeout: int, matrix: xgb_dask.DaskDMatrix, name: str,
    tells: Callable[[xgb.DMatrix], Any],
) -> list[Any]:  # fmt: skip
    """What each of its partitions tells, on the worker that has it."""
    place = {part.key: address for address, parts in matrix.worker_map.items() for part in parts}
    parts = [part for parts in matrix.worker_map.values() for part in parts]
    parts.sort(key=lambda part: matrix.partition_order[part.key])
    return inspect_parts(client, timeout, parts, name, tells, place)


def inspect_parts(
    client: distributed.Client, timeout: int, parts: Sequence[Any], name: str,
    tells: Callable[[xgb.DMatrix], Any], place: Mapping[Any, str] | None = None,
) -> list[Any]:  # fmt: skip
    """What the partitions tell; the error of the first that has one, or a time-out's, is raised."""

    def submit(k: int, part: Any) -> Any:
        there = {"workers": [place[part.key]], "allow_other_workers": True} if place else {}
        named = f"partition {k} of {name}"
        return client.submit(inspect_part, part, named, tells, pure=False, **there)

    told, done = [submit(k, part) for k, part in enumerate(parts)], -1
    while done < (done := sum(future.done() for future in told)) < len(told):
        with suppress(distributed.TimeoutError):
            distributed.wait(told, timeout=timeout)
    if done < len(told):
        raise distributed.TimeoutError(f"a part of {name} did not answer for {timeout} s")
    found: list[Any] = client.gather(told)
    for part in found:
        if isinstance(part, Exception):
            raise part
    return found


def inspect_part(part: Mapping[str, Any], name: str, tells: Callable[[xgb.DMatrix], Any]) -> Any:
    """What a partition tells of its rows, or the error that one machine would raise for them."""
    try:
        rows, label = part["data"].shape[0], part.get("label")
        if getattr(getattr(label, "dtype", None), "kind", "") == "f":
            _checks.finite("y_true", np.asarray(label))  # XGBoost would say no row and no remedy
        matrix = xgb.DMatrix(
            csr_matrix((rows, 1), dtype=np.float32),  # for labels to be read as on one machine
            **{k: part[k] for k in ("label", "weight", "base_margin") if part.get(k) is not None},
        )
        if rows:
            LIBRARY.labels(matrix, "data")
        return tells(matrix)
    except (TypeError, ValueError) as error:
        kind = TypeError if isinstance(error, TypeError) else ValueError
        return kind(f"in {name}: {error}")


def tell(objective: Objective | None, matrix: xgb.DMatrix) -> PartFacts:
    """What a partition tells before anything is measured; an objective checks training rows."""
    rows = matrix.num_row()
    _, w = _checks.label_weight(matrix)
    margin = matrix.get_float_info("base_margin")
    if objective is not None:
        if margin.size:
            StartedObjective.read_starts("base_margin", margin, objective.outputs, rows)
        of_part(objective, len, matrix)
    ends = (float(margin.min()), float(margin.max())) if margin.size else None
    return PartFacts(rows, ends, None if w is None else float(np.max(w, initial=0)))


_interrupted: set[str] = set()  # on a worker: the trainings that nobody waits for any more


def interrupt(token: str) -> None:
    _interrupted.add(token)


class Interruptible(xgb.callback.TrainingCallback):
    """Ends a training that was interrupted at the client, on each worker before its next round."""

    def __init__(self) -> None:
        super().__init__()
        self.token = uuid.uuid4().hex

    def before_iteration(self, model: Any, epoch: int, evals_log: Any) -> bool:
        if self.token in _interrupted:
            raise RuntimeError("training was interrupted at the client")
        return False


@contextmanager
def explained_errors(
    client: distributed.Client, needed: set[str], timeout: int
) -> Iterator[Interruptible]:
    """Say which of the workers was lost or hangs, if an error comes from that."""
    interruptible = Interruptible()
    try:
        yield interruptible
    except KeyboardInterrupt:
        with suppress(Exception):
            client.run(interrupt, interruptible.token, on_error="ignore")
        raise
    except Exception as error:
        from_xgboost = isinstance(error, xgb.core.XGBoostError)
        usual = isinstance(error, TypeError | ValueError) and not from_xgboost
        lost, busy = set[str](), set[str]()
        with suppress(OSError):  # no scheduler to ask: the first error says more
            # "Failed to bootstrap the communication group": XGBoost's workers never met
            never = isinstance(error, distributed.TimeoutError) or "bootstrap" in str(error)
            lost, busy = find_lost(client, needed, 0.0 if usual else GRACE, at_all=never)
        if lost:
            raise RuntimeError(
                f"{these(lost)} lost in training: killed, or out of memory, as the log of Dask "
                "says. Train again, from a new DaskDMatrix: the old one has lost rows"
            ) from error
        if busy and not usual:
            raise RuntimeError(
                f"{these(busy)} still at work when the others gave up, which wait {timeout} s for "
                "an answer: if it hangs, restart it, "
                f"client.restart_workers({sorted(busy)}), and train again from a new DaskDMatrix; "
                "if it is slow, divide the rows more evenly or pass a longer timeout"
            ) from error
        raise


def these(addresses: set[str]) -> str:
    some, are = ("workers", "were") if len(addresses) > 1 else ("worker", "was")
    return f"{some} {', '.join(sorted(addresses))} {are}"


def find_lost(
    client: distributed.Client, needed: set[str], grace: float, *, at_all: bool = False
) -> tuple[set[str], set[str]]:
    """Which of the workers are gone, or still train after some time, or are at work ``at_all``."""
    until = time.monotonic() + grace
    while True:
        lost = needed - set(client.nthreads())
        if lost or time.monotonic() >= until:
            break
        time.sleep(0.05)
    stacks = {} if lost or not grace else client.call_stack()
    return lost, {
        address
        for address, tasks in stacks.items()
        if address in needed and any(at_all or XGBOOST.name in "".join(s) for s in tasks.values())
    }


ATTRIBUTE = "gbdt_objectives_fitted"


@public
def fitted_objective(
    client: distributed.Client | None, objective: Objective, booster: xgb.Booster,
    data: xgb_dask.DaskDMatrix, *, timeout: int = TIMEOUT,
) -> Objective:  # fmt: skip
    """``objective.fitted(y, margin)`` on the rows of a Dask cluster, without gathering them.

    The ``class_probability(margin)`` of an objective such as ``ordinal_logit_objective(K)`` needs
    it. ``DaskXGBClassifier`` does it by itself.

    Parameters
    ----------
    client, timeout
        They mean the same as in :func:`train`.
    objective, booster, data
        What :func:`train` got and returned.

    Returns
    -------
    Objective
        The objective with what it fits held fixed; itself if it fits nothing.

    Raises
    ------
    TypeError, ValueError, RuntimeError
        Whatever :func:`train` raises.

    Examples
    --------
    >>> from gbdt_objectives import ordinal_logit_objective
    >>> from gbdt_objectives.distributed.dask import fitted_objective, train
    >>> def train_on_all(client, params, data):
    ...     objective = ordinal_logit_objective(3)
    ...     booster = train(client, params, data, 20, objective=objective)
    ...     return booster, fitted_objective(client, objective, booster, data)
    """
    client = find_client(client)
    _arguments.check_is_objective(objective)
    _arguments.check_booster(booster, xgb.Booster, "get_booster()")
    _arguments.check_data("data", data, xgb_dask.DaskDMatrix)
    config = find_config(timeout, None)
    if not objective.fits_margins:
        return objective
    fitting = Fitting(objective)
    with explained_errors(client, set(data.worker_map), timeout) as interruptible:
        params = on_one_machine.as_custom({"max_depth": 1}, objective)
        trained = xgb_dask.train(
            client, params, data, 1, obj=fitting, xgb_model=booster,
            callbacks=[interruptible, fitting], verbose_eval=False, **config,
        )  # fmt: skip
    fitted: Objective = pickle.loads(base64.b64decode(trained["booster"].attr(ATTRIBUTE)))
    return fitted


class Fitting(xgb.callback.TrainingCallback):
    """Objective of one more round, fitted to the model's margins, and callback that returns it."""

    def __init__(self, objective: Objective) -> None:
        super().__init__()
        self.objective = objective

    def __call__(self, margin: Array, data: Any) -> tuple[Array, Array]:
        y, w = _checks.label_weight(data)
        with _workers.together(self.objective):
            self.objective = self.objective.fitted(y, margin, w)
            _workers.agree()
        return np.zeros_like(margin), np.ones_like(margin)

    def after_iteration(self, model: Any, epoch: int, evals_log: Any) -> bool:
        model.set_attr(**{ATTRIBUTE: base64.b64encode(pickle.dumps(self.objective)).decode()})
        return False


__getattr__, __dir__ = attributes(__name__, ["fitted_objective", "train"])


FAN_IN = 4  # statistics that one task merges, and holds at the same time

T = TypeVar("T")


class MeasuredPart(NamedTuple):
    """A statistic of some rows, how many these are, and the largest of their weights."""

    statistic: Any
    rows: int
    largest_weight: float | None


def sum_over_partitions(of: Callable[..., T], columns: Mapping[str, Any]) -> T:
    """The sum of ``of(**columns)`` over the partitions that have rows, whose weights may be 0."""
    parts = [
        dask.delayed(measure_part)(of, number, list(columns), part)
        for number, part in enumerate(pack(columns))
    ]
    while len(parts) > 1:
        groups = [parts[i : i + FAN_IN] for i in range(0, len(parts), FAN_IN)]
        parts = [dask.delayed(add_measured)(group) for group in groups]
    (found,) = dask.compute(parts[0])
    if found is None:
        raise ValueError(f"{next(iter(columns))} is empty: there must be at least one row")
    if found.largest_weight is not None:
        _checks.some_weight("sample_weight", found.largest_weight, found.rows)
    statistic: T = found.statistic
    return statistic


def measure_part(
    of: Callable[..., Any], partition: int, names: list[str], parts: tuple[Any, ...]
) -> MeasuredPart | None:
    """Measure one partition; None if it has no rows. Messages count rows within the partition."""
    columns = dict(zip(names, parts, strict=True))
    empty = [name for name, part in columns.items() if np.shape(part) == (0,)]
    if len(empty) == len(columns):
        return None
    try:
        if empty:
            raise ValueError(f"{empty[0]} is empty: there must be at least one row")
        with some_rows():  # others may have those that count
            found = of(**columns)
    except (TypeError, ValueError) as error:
        kind = TypeError if isinstance(error, TypeError) else ValueError
        raise kind(f"in partition {partition}: {error}") from None
    weight = columns.get("sample_weight")
    return MeasuredPart(found, len(parts[0]), None if weight is None else float(np.max(weight)))


def add_measured(parts: list[MeasuredPart | None]) -> MeasuredPart | None:
    found = [part for part in parts if part is not None]
    if not found:
        return None
    weights = [part.largest_weight for part in found if part.largest_weight is not None]
    return MeasuredPart(
        reduce(operator.add, [part.statistic for part in found]),
        sum(part.rows for part in found),
        max(weights, default=None),
    )


def pack(columns: Mapping[str, Any]) -> list[Any]:
    """The partitions as delayed tuples, one of each column."""
    first, *others = columns
    for name, column in columns.items():
        check_dask_column(name, column, columns)
    if not any(map(is_series, columns.values())):
        columns = align_chunks(columns)
    parts = {name: delayed_parts(column) for name, column in columns.items()}
    for name in others:
        if len(parts[name]) != len(parts[first]):
            raise ValueError(
                f"{name} has {len(parts[name])} partitions, but {first} has {len(parts[first])}: "
                "repartition one like the other, .persist() both if Dask joins small files, or of "
                "arrays call .compute_chunk_sizes()"
            )
    return [dask.delayed(tuple)(list(chunk)) for chunk in zip(*parts.values(), strict=True)]


def check_dask_column(name: str, column: Any, columns: Mapping[str, Any]) -> None:
    """Raise unless it is a Dask series or a Dask array (n,)."""
    if not is_dask(column):
        dask_name = next(name for name, other in columns.items() if is_dask(other))
        raise TypeError(
            f"{name} is a {type(column).__name__}, but {dask_name} a Dask collection: pass both as "
            "Dask collections, for instance dask.array.from_array(values, chunks), or compute both"
        )
    if not (is_series(column) or isinstance(column, dask.array.Array)):
        kind = type(column).__name__
        raise TypeError(f"{name} must be one column, a Dask Series or Array, found a Dask {kind}")
    if column.ndim != 1:
        raise _checks.not_flat(name, column.shape)
    if getattr(getattr(column, "cat", None), "known", True) is False:
        raise ValueError(f"{name} is of categories that Dask does not know: call .cat.as_known()")


def is_series(column: Any) -> bool:
    frames = sys.modules.get("dask.dataframe")
    return frames is not None and isinstance(column, frames.Series | frames.Index)


def align_chunks(columns: Mapping[str, Any]) -> dict[str, Any]:
    """Arrays of known chunks in those of the first."""
    first, *_ = columns
    found = dict(columns)
    for name, column in columns.items():
        rows = [column.shape[0], columns[first].shape[0]]
        if np.isnan(rows).any():
            continue
        if rows[0] != rows[1]:
            raise ValueError(f"{name} has {rows[0]} rows, {first} has {rows[1]}: they must match")
        found[name] = column.rechunk(columns[first].chunks)
    return found


def delayed_parts(column: Any) -> list[Any]:
    """Partitions of a column, optimized only to what is read, so that shared parts share keys."""
    column = column.simplify() if hasattr(column, "simplify") else column
    return list(np.ravel(np.array(column.to_delayed(optimize_graph=False), object)))


def map_rows(function: Callable[..., Any], columns: Mapping[str, Any], dtype: Any) -> Any:
    """``function(**columns)`` of each partition, lazily: a collection like the first column."""
    for name, column in columns.items():
        check_dask_column(name, column, columns)
    by_name = partial(function_of_parts, function, list(columns), np.dtype(dtype))
    if all(isinstance(column, dask.array.Array) for column in columns.values()):
        arrays = align_chunks(columns)
        return dask.array.map_blocks(by_name, *arrays.values(), meta=np.empty(0, dtype))
    if not is_series(next(iter(columns.values()))):
        raise TypeError(
            f"{', '.join(columns)} must be all Dask Series, or all Dask Arrays, found both: call "
            ".to_dask_array() of the series"
        )
    from dask.dataframe import map_partitions

    return map_partitions(
        partial(series_of_parts, by_name), *columns.values(), meta=(None, dtype),
        align_dataframes=False,
    )  # fmt: skip


def function_of_parts(
    function: Callable[..., Any], names: list[str], dtype: np.dtype[Any], *parts: Any
) -> Any:
    if all(len(part) == 0 for part in parts):
        return np.empty(0, dtype)
    return function(**dict(zip(names, parts, strict=True)))


def series_of_parts(by_name: Callable[..., Any], *parts: Any) -> Any:
    import pandas

    return pandas.Series(by_name(*parts), parts[0].index)
