"""One shift per class in log-odds: what sampling or new priors do, and how to undo it."""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from functools import wraps
from typing import Any, ClassVar, ParamSpec, TypeVar

import numpy as np
from numpy.typing import ArrayLike

from gbdt_objectives import _checks
from gbdt_objectives._checks import Array, shown
from gbdt_objectives._public import public
from gbdt_objectives._rows.rows import ArrayValue, freeze
from gbdt_objectives._steps.steps import (
    SavedAsJSON,
    correct_positives,
    read_number,
    read_number_or_none,
    read_numbers,
)

P = ParamSpec("P")
R = TypeVar("R")
ByClass = ArrayLike | Mapping[Any, float]

DESCRIPTION = (
    "negative_keep_rate", "positive_keep_rate", "class_keep_rates", "train_prior", "target_prior",
)  # fmt: skip
"""The arguments that describe a shift."""
LARGEST_SHIFT, LARGEST_FLOAT32_SHIFT = 700.0, 80.0  # whose exp is a float64, a float32


def read_shift_values(key: str, value: Any) -> Any:
    return (read_numbers if isinstance(value, list) else read_number)(key, value)


@public
@dataclass(frozen=True, eq=False, repr=False)
class LogOddsShift(ArrayValue, SavedAsJSON):
    """A shift in log-odds, as :func:`log_odds_shift` returns it.

    numpy reads it as an array, and ``float(shift)`` is the number. What is computed from it is a
    plain number or array, which the corrections take by name: ``shift=-shift``.

    Parameters
    ----------
    values : float or array-like of shape (K,)
        What is added to the margin of label 1, or of each class.
    standard_error : float, optional
        Standard error for independent rows, if the shift was inferred from rows.

    Examples
    --------
    >>> from gbdt_objectives import log_odds_shift
    >>> f"{log_odds_shift(negative_keep_rate=0.1):.3f}"
    '-2.303'
    >>> LogOddsShift.from_json(LogOddsShift(-2.5).to_json())
    LogOddsShift(-2.5)
    """

    values: Any
    standard_error: float | None = None

    _saved: ClassVar = {
        "values": read_shift_values,
        "standard_error": read_number_or_none,
    }

    def __post_init__(self) -> None:
        if np.ndim(self.values) == 0:
            freeze(self, values=np.array(_checks.number("values", ArrayValue._plain(self.values))))
            return
        shifts = _checks.vector("values", self.values)
        if len(shifts) < 2:
            raise ValueError(
                f"values must be a number or one of each class, found {shown(self.values)}: the "
                "shift of two classes is the number of label 1"
            )
        freeze(self, values=np.array(shifts))

    @classmethod
    def _restore(cls, data: dict[str, Any]) -> LogOddsShift:
        return cls(data["values"], data["standard_error"])

    def __float__(self) -> float:
        return float(self.values)

    def __bool__(self) -> bool:
        return bool(self.values)

    def __format__(self, spec: str) -> str:
        return format(self.tolist(), spec)

    def __repr__(self) -> str:
        return f"LogOddsShift({self.tolist()})"


def shift_by_name(correct: Callable[P, R]) -> Callable[P, R]:
    """Refuse a second positional argument that is not known to be a shift."""

    @wraps(correct)
    def checked(*args: P.args, **kwargs: P.kwargs) -> R:
        if len(args) > 1 and args[1] is not None and not isinstance(args[1], LogOddsShift):
            raise TypeError(
                "shift must be what log_odds_shift returned, or be given by name, found "
                f"{shown(args[1])}: a sampling rate is negative_keep_rate=..., those of several "
                "classes class_keep_rates=..., any other shift in log-odds is shift=..."
            )
        return correct(*args, **kwargs)

    return checked


@public
def log_odds_shift(
    *, negative_keep_rate: float | None = None, positive_keep_rate: float | None = None,
    class_keep_rates: ByClass | None = None,
    train_prior: ByClass | None = None, target_prior: ByClass | None = None,
) -> Any:  # fmt: skip
    """What to add to a model's log-odds for a population other than the training data.

    Use it for the number itself, as for :func:`shift_intercept`: corrections work it out. Give
    exactly one description of the difference::

        rates                d   = log(beta/alpha)                         float
        rates, K classes     d_k = log(1/rate_k), up to a constant         (K,)
        priors               d   = log(tau/(1-tau)) - log(s/(1-s))         float
        priors, K classes    d_k = log(target_k/train_k), up to a constant (K,)

    Parameters
    ----------
    negative_keep_rate : float in (0, 1], optional
        beta, the fraction of rows with label 0 that was kept. 1 if only ``positive_keep_rate`` is
        given. For copies of negatives use ``class_keep_rates``.
    positive_keep_rate : float > 0, optional
        alpha, the fraction of rows with label 1 that was kept, or above 1 the number of copies of
        each (oversampling). 1 if only ``negative_keep_rate`` is given.
    class_keep_rates : array-like of shape (K,) or mapping of label to rate, optional
        The rate of each class, above 0, in the order of the model's columns. A mapping, such as the
        result of :func:`measured_keep_rates`, or a Series is read in ascending order of its labels.
    train_prior, target_prior : float, array-like of shape (K,) or mapping of label, optional
        s and tau: P of label 1, or of each class, in the sample trained on, and in use.

    Returns
    -------
    LogOddsShift
        One number, negative when positives are rarer than in training, or (K,) numbers.

    Raises
    ------
    ValueError, TypeError
        None or more than one description, or one by position; a rate that is not above 0; priors
        that do not sum to 1, contain a 0 or differ in the number of classes.

    References
    ----------
    King & Zeng (2001), Political Analysis 9(2), section 4.1; Elkan (2001), "The foundations of
    cost-sensitive learning", theorem 2; Saerens et al. (2002), equation 2.4.

    Examples
    --------
    >>> from gbdt_objectives import correct_probability, log_odds_shift
    >>> shift = log_odds_shift(train_prior=[1 / 3, 1 / 3, 1 / 3], target_prior=[0.7, 0.2, 0.1])
    >>> correct_probability([[0.5, 0.3, 0.2]], shift).round(4)
    array([[0.814 , 0.1395, 0.0465]])
    """
    given = {
        "negative_keep_rate or positive_keep_rate": (negative_keep_rate, positive_keep_rate),
        "class_keep_rates": (class_keep_rates,),
        "train_prior and target_prior": (train_prior, target_prior),
    }
    found = [name for name, values in given.items() if any(v is not None for v in values)]
    if len(found) != 1:
        raise ValueError(
            f"exactly one description of the shift is needed, found {len(found)}"
            f"{': ' if found else ''}{'; '.join(found)}: give {', or '.join(given)}"
        )
    if class_keep_rates is not None:
        return LogOddsShift(-np.log(read_sampling_rates("class_keep_rates", class_keep_rates)))
    if train_prior is None and target_prior is None:
        alpha = rate_or_one("positive_keep_rate", positive_keep_rate)
        beta = rate_or_one("negative_keep_rate", negative_keep_rate)
        if beta > 1:
            raise ValueError(
                f"negative_keep_rate must be at most 1, found {beta:g}: it is the fraction that "
                f"was kept, 1/{beta:g} for one in {beta:g}; if each negative was copied, pass "
                f"class_keep_rates=[{beta:g}, 1]"
            )
        return LogOddsShift(math.log(beta) - math.log(alpha))
    if train_prior is None or target_prior is None:
        missing = "train_prior" if train_prior is None else "target_prior"
        raise ValueError(f"{missing} is missing: a shift between priors needs both")
    named = _checks.by_class("train_prior", train_prior)
    order = [*named] if isinstance(named, Mapping) else None
    target_prior = _checks.by_class("target_prior", target_prior, order)
    old, new = read_prior("train_prior", named), read_prior("target_prior", target_prior)
    if is_of_classes(named) != is_of_classes(target_prior) or len(old) != len(new):
        raise ValueError(
            f"train_prior is {shown(train_prior)}, but target_prior {shown(target_prior)}: give "
            "both of label 1, or both of K classes"
        )
    d = np.log(new) - np.log(old)
    return LogOddsShift(d if is_of_classes(named) else d[1] - d[0])


@public
@shift_by_name
def correct_probability(
    probability: ArrayLike, shift: ArrayLike | None = None, *,
    negative_keep_rate: float | None = None, positive_keep_rate: float | None = None,
    class_keep_rates: ByClass | None = None,
    train_prior: ByClass | None = None, target_prior: ByClass | None = None,
) -> Array:  # fmt: skip
    """Probabilities in the population, from a model trained on sampled or reweighted rows.

    Use it on the predictions of a model that was trained on a sample without a correction.
    :func:`shift_intercept` corrects the model itself.

    ::

        p   = p_s / (p_s + (1-p_s) exp(-d))          (n,)
        p_k = p_sk exp(d_k) / sum_j p_sj exp(d_j)    (n, K)

    Probabilities of 0 and 1 stay. For (n,) no rows change their order, not by rounding either.

    Parameters
    ----------
    probability : array-like of shape (n,) or (n, K), or float
        p_s in [0, 1], of label 1 or of each class; rows of (n, K) sum to 1 to 1e-4.
    shift : float or array-like of shape (K,), optional
        d in log-odds, from :func:`log_odds_shift`; a float for (n,) or (n, 2), whose second column
        is label 1. At most 700 apart. Other numbers by name, ``shift=-2.3``: they could be rates.
    negative_keep_rate, positive_keep_rate, class_keep_rates, train_prior, target_prior : optional
        Sampling rates or priors, instead of ``shift``: as in :func:`log_odds_shift`.

    Returns
    -------
    ndarray
        Shaped like ``probability``, float32 if that is, otherwise float64.

    Raises
    ------
    ValueError, TypeError
        Probabilities outside [0, 1] or whose rows do not sum to 1, a shift for another number of
        classes, no or more than one description of it, or a number by position.

    References
    ----------
    Dal Pozzolo et al. (2015), "Calibrating probability with undersampling for unbalanced
    classification", equation 4; Saerens et al. (2002), equation 2.4.

    Examples
    --------
    >>> from gbdt_objectives import correct_probability, log_odds_shift
    >>> shift = log_odds_shift(negative_keep_rate=0.1)
    >>> correct_probability([0.0, 0.5, 0.8, 1.0], shift)
    array([0.        , 0.09090909, 0.28571429, 1.        ])
    """
    d = resolve_shift(
        shift, negative_keep_rate, positive_keep_rate, class_keep_rates, train_prior, target_prior
    )
    _checks.not_classes("probability", probability)
    p, d = align_shift("probability", probability, d)
    span = np.ptp(d)
    if span > LARGEST_SHIFT:
        raise ValueError(
            f"shift must be at most {LARGEST_SHIFT:g}, found {span:g}: use correct_margin instead"
        )
    dtype = p.dtype
    if span > LARGEST_FLOAT32_SHIFT:
        p = p.astype(np.float64)
    if p.ndim == 2:
        _checks.in_unit_interval("probability", p)
        _checks.rows_sum_to_one("probability", p)
        q = p * np.exp(d - d.max()).astype(p.dtype)
        q /= np.einsum("ij->i", q)[:, np.newaxis]
    else:
        q = correct_positives(p.reshape(-1), d[1] - d[0])
    corrected: Array = q.reshape(p.shape).astype(dtype, copy=False)[()]
    return corrected


@public
@shift_by_name
def correct_margin(
    margin: ArrayLike, shift: ArrayLike | None = None, *, negative_keep_rate: float | None = None,
    positive_keep_rate: float | None = None,
    class_keep_rates: ByClass | None = None,
    train_prior: ByClass | None = None, target_prior: ByClass | None = None,
) -> Array:  # fmt: skip
    """Margins in the population, from a model trained on sampled or reweighted rows.

    Use it where margins (log-odds) are at hand; :func:`correct_probability` takes probabilities.

    ::

        z = z_s + d

    This is exact where probabilities round to 0 or 1.

    Parameters
    ----------
    margin : array-like of shape (n,) or (n, K), or float
        z_s, finite: log-odds of label 1, or log-probabilities up to a constant per row.
    shift, negative_keep_rate, positive_keep_rate, class_keep_rates, train_prior, target_prior
        As in :func:`correct_probability`, with its errors; d may be any finite number.

    Returns
    -------
    ndarray
        Shaped like ``margin``, float32 if that is, otherwise float64.

    Examples
    --------
    >>> from gbdt_objectives import log_odds_shift
    >>> from gbdt_objectives.priors import correct_margin
    >>> correct_margin([-700.0, 0.0, 700.0], log_odds_shift(negative_keep_rate=0.1)).round(3)
    array([-702.303,   -2.303,  697.697])
    """
    d = resolve_shift(
        shift, negative_keep_rate, positive_keep_rate, class_keep_rates, train_prior, target_prior
    )
    z, d = align_shift("margin", margin, d)
    _checks.finite("margin", z)
    _checks.not_probabilities("margin", z)
    if z.ndim < 2:
        d = d[1] - d[0]
    result: Array = z + d.astype(z.dtype)
    return result


@public
@shift_by_name
def correct_threshold(
    threshold: ArrayLike, shift: ArrayLike | None = None, *,
    negative_keep_rate: float | None = None, positive_keep_rate: float | None = None,
    class_keep_rates: ByClass | None = None,
    train_prior: ByClass | None = None, target_prior: ByClass | None = None,
) -> Array:  # fmt: skip
    """The threshold on the model's probability for one on the corrected probability.

    Use it where decisions are all that is needed: the model and its predictions stay as they are.

    ::

        logit t_s = logit t - d

        correct_probability(p_s, d) >= t   exactly where   p_s >= t_s,  but for rounding

    Negate the shift for the way back.

    Parameters
    ----------
    threshold : float or array-like of shape (m,)
        t in [0, 1], for probabilities in the population.
    shift, negative_keep_rate, positive_keep_rate, class_keep_rates, train_prior, target_prior
        As in :func:`correct_probability`, with its errors, for two classes.

    Returns
    -------
    float or ndarray of shape (m,)
        t_s, for the probabilities that the model predicts.

    Examples
    --------
    >>> from gbdt_objectives.priors import correct_threshold
    >>> print(correct_threshold(0.5, negative_keep_rate=0.1).round(4))
    0.9091
    """
    d = resolve_shift(
        shift, negative_keep_rate, positive_keep_rate, class_keep_rates, train_prior, target_prior
    )
    t = _checks.fractions("threshold", threshold)
    if isinstance(d, LogOddsShift) and np.shape(d) == (2,):
        d = np.diff(d)[0]
    if np.ndim(d):
        raise ValueError(
            f"shift must be one number for a threshold, found {shown(d)}: no single threshold "
            "decides between more than two classes, correct the probabilities"
        )
    return correct_probability(t, shift=-_checks.number("shift", d))


def resolve_shift(shift: Any, *description: Any) -> Any:
    """The shift given, or the one described by the arguments of :func:`log_odds_shift`."""
    found = {name: v for name, v in zip(DESCRIPTION, description, strict=True) if v is not None}
    if (shift is None) != bool(found):
        said = f"shift and {', '.join(found)}: leave one out"
        if shift is None:
            said = f"none: pass the shift of log_odds_shift, or by name {', '.join(DESCRIPTION)}"
        raise ValueError(f"exactly one description of the shift is needed, found {said}")
    d = log_odds_shift(**found) if shift is None else shift
    return ArrayValue._plain(d) if np.ndim(d) == 0 else d


def read_sampling_rate(name: str, value: object) -> float:
    """A sampling rate above 0, above 1 for replication."""
    found = _checks.number(name, value)
    if not found > 0:
        raise ValueError(
            f"{name} must be above 0, found {found!r}: no model can learn a class without rows, "
            "and no shift corrects it; 0.02 if one row in fifty was kept, 3 for three copies"
        )
    return found


def rate_or_one(name: str, value: object) -> float:
    if isinstance(value, Mapping):
        raise TypeError(f"{name} must be a number, found {shown(value)}: write class_keep_rates=")
    return 1.0 if value is None else read_sampling_rate(name, value)


def read_sampling_rates(name: str, values: ByClass) -> Array:
    """The rates of K classes, float64 (K,); those of a mapping in ascending order of labels."""
    found = _checks.by_class(name, values)
    if not isinstance(found, Mapping):
        found = dict(enumerate(_checks.vector(name, found).astype(np.float64).tolist()))
    rates = [read_sampling_rate(f"{name}[{shown(label)}]", rate) for label, rate in found.items()]
    if len(rates) < 2:
        raise ValueError(
            f"{name} must have a rate for each of two classes or more, found {shown(values)}"
        )
    check_no_counts(name, values, rates)
    return np.array(rates)


def check_no_counts(name: str, given: Any, rates: Collection[float]) -> None:
    """Raise for rates that are above 1 for all classes, as numbers of rows are."""
    if min(rates) > 1:
        raise ValueError(
            f"{name} are above 1 for all classes, found {shown(given)}: a rate is the share of a "
            "class's rows that is kept, so divide numbers of rows by those before sampling; if "
            "all classes were copied, divide by the least"
        )


def is_of_classes(prior: Any) -> bool:
    """Whether it has a probability of each class, not of label 1 alone."""
    return isinstance(prior, Mapping) or np.ndim(prior) > 0


def read_prior(name: str, value: ByClass) -> Array:
    """Class probabilities (K,), all above 0; (1-p, p) from a float p."""
    if not is_of_classes(value):
        p = _checks.number(name, value)
        if not 0 < p < 1:
            raise ValueError(
                f"{name} must be above 0 and below 1, found {p!r}: both labels must occur"
            )
        return np.array([1 - p, p])
    pi = _checks.distribution(name, value)
    if len(pi) < 2:
        raise ValueError(f"{name} has one class: give the probability of each, or of label 1")
    if not pi.all():
        raise ValueError(
            f"{name} must be above 0 for every class, found 0.0 for class {int(pi.argmin())}: no "
            "shift stands for a class that never occurs; drop its column first"
        )
    return pi


def align_shift(name: str, values: ArrayLike, shift: Any) -> tuple[Array, Array]:
    """Probabilities or margins, not yet checked for their values, and the shift as (K,)."""
    array = _checks.real_array(name, values)
    if array.ndim > 2 or array.size == 0:
        raise ValueError(f"{name} must be (n,) or (n, K) and not empty, found {array.shape}")
    K = array.shape[1] if array.ndim == 2 else 2
    if np.ndim(shift) == 0:
        if K != 2:
            raise ValueError(f"{name} has {K} columns, but shift is one number: give one for each")
        return array, np.array([0.0, _checks.number("shift", shift)])
    d = _checks.vector("shift", shift).astype(np.float64)
    if len(d) != K or (array.ndim < 2 and not isinstance(shift, LogOddsShift)):
        raise ValueError(
            f"{name} has shape {array.shape}, but shift has {len(d)} classes: a column of {name} "
            "and a shift for each class, or (n,) and one number"
        )
    return array, d
