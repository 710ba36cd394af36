"""Sums over the workers of a distributed training, one guarded message at a time.

A worker that left out a sum, or that trains another objective, would make the others add up what
does not belong together. So every message says what it is for, and errors travel in it. Nothing is
sent but within :func:`together`, which is entered where a booster calls us on every worker alike.
"""

from __future__ import annotations

import dataclasses
import math
import sys
import threading
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from functools import partial
from types import FunctionType, MethodType
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from gbdt_objectives import _registry
from gbdt_objectives._public import public

Array = NDArray[Any]
Reduce = Callable[[Array], Array]
HEAD = 4  # 1, the fingerprint h, h^2, and whether there was an error: summed, who takes part
ROOM = 28  # values in the first message, in all versions, which must read each other's to refuse
TEXT = 1000  # number of bytes that a worker may say about an error
MOST_HELD = 1000  # most elements of a list that describes an objective; a longer one may be of rows
SCALARS = (bool, int, float, str)

__all__ = ["WorkersDisagree"]


@public
class WorkersDisagree(ValueError):
    """Workers of one training have different objectives or metrics, or call them in another order.

    Each of them raises it.

    Examples
    --------
    >>> from gbdt_objectives.distributed import WorkersDisagree
    >>> issubclass(WorkersDisagree, ValueError)
    True
    """


class Call:
    """One call of an objective or metric, which all workers make at the same time."""

    def __init__(
        self, subject: object, count: int, libraries: tuple[str, ...] = ("gbdt_objectives",)
    ) -> None:
        versions = [f"{name} {sys.modules[name].__version__}" for name in libraries]
        self.subject = f"{describe(subject)} of {' and '.join(versions)}"
        self.count = count
        self.messages = 0
        self.awaited = True  # whether other workers still wait for a message of this call

    def fingerprint(self, length: int) -> int:
        self.messages += 1
        text = f"{self.subject} call {self.count} message {self.messages} of {length}"
        return zlib.crc32(text.encode()) & 0xFFFFF  # so small that sums of squares are exact


class _Here(threading.local):
    call: Call | None = None
    some_rows = False


_here = _Here()  # XGBoost's communicator belongs to a thread as well


def workers() -> bool:
    """Whether XGBoost's collective joins several workers; who trains with it has imported it."""
    xgboost = sys.modules.get(_registry.XGBOOST.name)
    collective = getattr(xgboost, "collective", None)  # it may still be in the making
    return collective is not None and bool(collective.is_distributed())


def several() -> bool:
    """Whether the rows at hand are some of all: others may have what this part lacks."""
    return _here.call is not None or _here.some_rows


@contextmanager
def some_rows() -> Iterator[None]:
    """Declare the rows at hand to be some of all, of which none need be there or count."""
    outer, _here.some_rows = _here.some_rows, True
    try:
        yield
    finally:
        _here.some_rows = outer


@contextmanager
def together(subject: object, count: int = 0) -> Iterator[None]:
    """What every worker does at the same time, with the same ``subject``, an objective or metric,
    after ``count`` calls of this training. An error within is raised on all of them."""
    if not workers():
        yield
        return
    # numpy and Python may differ: they see the rows of one worker, whose sums all others get
    outer, call = _here.call, Call(subject, count, ("gbdt_objectives", _registry.XGBOOST.name))
    _here.call = call
    try:
        yield
        if call.awaited:
            agree()
    except Exception as error:
        if not call.awaited:
            raise
        try:
            _send(np.empty(0), call, _collective_sum, error)
        except Exception as sent:
            if sent.__cause__ is error:
                raise sent from error
        raise  # the others are gone
    finally:
        _here.call = outer


def together_now() -> bool:
    return _here.call is not None


def tells() -> bool:
    """Whether this worker is the one that tells the user what all of them find."""
    if _here.call is None:
        return True
    from xgboost import collective

    return bool(collective.get_rank() == 0)


def engine() -> str:
    """The engine on one of whose workers this runs, "" for none. None is ever imported."""
    dask, spark, ray = (sys.modules.get(name) for name in ("distributed", "pyspark", "ray"))
    if dask is not None:
        with suppress(ValueError):  # no task of Dask
            return "Dask" if dask.get_worker() else ""
    if spark is not None and spark.TaskContext.get() is not None:
        return "Spark"
    if ray is not None and ray.is_initialized() and ray.get_runtime_context().get_actor_id():
        return "Ray"
    return ""


@contextmanager
def summing(name: str) -> Iterator[None]:
    """Enclose the last sums of a call, which there must be; workers go on alone afterwards."""
    call = _here.call
    before = call and call.messages
    yield
    if call is None:
        return
    if call.messages == before:
        raise TypeError(
            f"{name} was not summed over the workers, each of which would go on with the rows of "
            "its own: add up with rows.sum(terms), or use one machine"
        )
    settle()


def all_sum(values: ArrayLike, *, reduce: Reduce | None = None, last: bool = False) -> Array:
    """The sum of float64 ``values`` over all workers, each of which sends those of its own rows.

    ``reduce`` sums over workers; None is XGBoost's collective within :func:`together`, and no sum
    elsewhere. After the ``last`` message of a call workers go on alone.
    """
    own = np.asarray(values, np.float64)
    call = _here.call
    if reduce is None and call is None:
        return own
    total = _send(own.ravel(), call or Call(None, 0), reduce or _collective_sum)
    if last:
        settle()
    return total.reshape(own.shape)


def all_gather(values: ArrayLike) -> Array:
    """The float64 ``values`` (k,) of every worker, as (workers, k)."""
    own = np.asarray(values, np.float64)
    return own[np.newaxis] if _here.call is None else all_sum(_flatten(own))


def _flatten(own: Array) -> Array:
    """A row for each worker, of zeros but for its own."""
    from xgboost import collective

    table = np.zeros((collective.get_world_size(), len(own)))
    table[collective.get_rank()] = own
    return table


def gather_text(text: str) -> list[str]:
    return _read_text(all_gather(_as_bytes(text)))


def _as_bytes(text: str) -> Array:
    said = text.encode(errors="replace")[:TEXT].ljust(TEXT, b"\0")
    return np.frombuffer(said, np.uint8).astype(np.float64)


def _read_text(rows: Array) -> list[str]:
    return [bytes(row).rstrip(b"\0").decode(errors="ignore") for row in rows.astype(np.uint8)]


def settle() -> None:
    """Note that the last message of a call was sent: from here on workers go on alone."""
    if _here.call is not None:
        _here.call.awaited = False


def agree() -> None:
    """Send the last message of a call that has no sums: all workers have come this far."""
    all_sum(np.empty(0))


def _send(own: Array, call: Call, reduce: Reduce, error: Exception | None = None) -> Array:
    """The sum of the values, if all workers send them; an error on all workers otherwise."""
    h = call.fingerprint(len(own))
    first = np.zeros(HEAD + ROOM)
    first[:HEAD] = 1, h, h * h, error is not None
    first[HEAD : HEAD + len(own)] = own[:ROOM]
    try:
        total = np.asarray(reduce(first))
    except Exception:
        call.awaited = False  # nobody can be told any more
        raise
    n, sum_h, sum_hh, failed = total[:HEAD]
    if failed:
        call.awaited = False
        raise error_of_a_worker(error, reduce)
    # n sum h^2 = (sum h)^2 only if all h are equal (Cauchy-Schwarz): one sum compares all workers
    if not (math.isfinite(n) and int(n) * int(sum_hh) == int(sum_h) ** 2 and sum_h == n * h):
        call.awaited = False
        raise disagreement(call, len(own), reduce)
    if len(own) <= ROOM:
        return total[HEAD : HEAD + len(own)]
    return np.concatenate([total[HEAD:], np.asarray(reduce(own[ROOM:].copy()))])


KINDS = {kind.__name__: kind for kind in (TypeError, ValueError, RuntimeError)}  # raised on all


def error_of_a_worker(own: Exception | None, reduce: Reduce) -> Exception:
    """The error of the first worker that has one, the same on all."""
    text = "" if own is None else f"{said_of(own)} ({name_of_worker()})"
    for said in filter(None, _exchange(text, reduce)):
        kind, _, message = said.partition(": ")
        error = KINDS[kind](message)
        error.__cause__ = own
        return error
    return own or ValueError("another worker failed: its log says why")


def said_of(error: Exception) -> str:
    """The kind of error that all workers raise, and its text, which names an unknown kind."""
    text = str(error)[:800]
    kind = next((kind for kind, known in KINDS.items() if isinstance(error, known)), None)
    if kind is None:
        kind, text = "RuntimeError", f"{type(error).__name__}{': ' if text else ''}{text}"
    return f"{kind}: {text}"


def name_of_worker() -> str:
    """The name of this worker, with its address in Dask, which is never imported."""
    from xgboost import collective

    name = f"worker {collective.get_rank()}"
    if engine() != "Dask":
        return name
    return f"{name}, {sys.modules['distributed'].get_worker().address}"


def disagreement(call: Call, length: int, reduce: Reduce) -> WorkersDisagree:
    where = f"call {call.count}, message {call.messages} of {length} numbers"
    said = _exchange(f"{call.subject} in {where}", reduce)
    found = [f"worker {said.index(text)} has {text}" for text in dict.fromkeys(said)]
    return WorkersDisagree(
        f"the workers do not train the same: {'; '.join(found[:2]) or where}. Make objective and "
        "metric once, from the labels of all rows, and send them to all workers, or make them "
        "without labels, as qwk_objective(), and install the same versions on all workers"
    )


def _exchange(text: str, reduce: Reduce) -> list[str]:
    """The text of each worker; nothing where a user's ``reduce`` cannot tell who is who."""
    if reduce is not _collective_sum:
        return []
    return _read_text(reduce(_flatten(_as_bytes(text)).ravel()).reshape(-1, TEXT))


def _collective_sum(values: Array) -> Array:
    from xgboost import collective
    from xgboost.core import XGBoostError

    own = np.ascontiguousarray(values, np.float64)
    try:
        return np.asarray(collective.allreduce(own, collective.Op.SUM))
    except XGBoostError as error:
        raise RuntimeError(
            "the sums of all workers could not be had, as another worker failed, left or hung: "
            "the first error in the workers' logs says why; then train again"
        ) from error


def describe(subject: object, depth: int = 6) -> str:
    """A description that is the same for an objective or metric on every worker, whatever rows it
    holds; of a user's function the numbers that it holds. ``depth`` ends what holds itself."""
    if isinstance(subject, np.generic) or (isinstance(subject, np.ndarray) and not subject.ndim):
        return repr(subject.item())
    if subject is None or isinstance(subject, SCALARS):
        return repr(subject)
    if depth == 0:
        return type(subject).__name__
    inner = partial(describe, depth=depth - 1)
    if dataclasses.is_dataclass(subject) and not isinstance(subject, type):
        if hasattr(subject, "equations"):
            name, fields = repr(subject).partition("(")[0], inner(subject.equations)
            return f"{name}({fields.partition('(')[2]}"
        names = (field.name for field in dataclasses.fields(subject) if field.name != "reduce")
        values = (f"{name}={inner(getattr(subject, name))}" for name in names)
        return f"{type(subject).__name__}({', '.join(values)})"
    if isinstance(subject, tuple | list) and len(subject) <= MOST_HELD:
        return f"({', '.join(map(inner, subject))})"
    if isinstance(subject, dict) and len(subject) <= MOST_HELD:
        return f"{{{', '.join(f'{key!r}: {inner(value)}' for key, value in subject.items())}}}"
    if isinstance(subject, partial):
        return f"partial({inner(subject.func)}, {inner(subject.args)}, {inner(subject.keywords)})"
    if isinstance(subject, MethodType):
        return f"{inner(subject.__self__)}.{subject.__name__}"
    if isinstance(subject, FunctionType):
        held = ", ".join(f"{name}={inner(value)}" for name, value in held_by(subject).items())
        return f"{subject.__qualname__}({held})"
    if callable(subject) and not hasattr(subject, "__qualname__"):
        return f"{type(subject).__name__}({inner(getattr(subject, '__dict__', None))})"
    return str(getattr(subject, "__qualname__", type(subject).__name__))


def held_by(function: FunctionType) -> dict[str, Any]:
    """The values that a function reads: its defaults, what it encloses, and globals."""
    held = dict(enumerate(function.__defaults__ or ())) | (function.__kwdefaults__ or {})
    for name, cell in zip(function.__code__.co_freevars, function.__closure__ or (), strict=True):
        with suppress(ValueError):  # a cell that is still empty
            held[name] = cell.cell_contents
    for name in function.__code__.co_names:
        value = function.__globals__.get(name)
        if isinstance(value, (*SCALARS, np.generic, np.ndarray, tuple, list, dict)):
            held[name] = value
    return {str(name): value for name, value in held.items()}
