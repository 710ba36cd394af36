"""Rows sampled by label, the rates that result, and weights that stand for another prior."""

from __future__ import annotations

import math
import numbers
from collections import Counter
from collections.abc import Mapping
from functools import partial
from hashlib import blake2b
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from gbdt_objectives import _checks
from gbdt_objectives._checks import Array, RandomState, Sampling, is_dask, shown
from gbdt_objectives._public import public
from gbdt_objectives._rows.rows import blocks, map_parts, total
from gbdt_objectives.priors.shift import check_no_counts, read_prior, read_sampling_rate

BLOCK = 131_072  # rows handled at a time: their random numbers, 1 MB, stay in the cache
INCREMENT = np.uint64(0x9E3779B97F4A7C15)  # of SplitMix64
RATE = "negative_keep_rate"
CHUNK = f"for a chunk of a larger log write {RATE}={{0: rate}}"
IN_ORDER = "First the labels before sampling, then those after"
Rate = float | ArrayLike | Mapping[Any, Any]


@public
def negative_downsample(
    y: ArrayLike, negative_keep_rate: Rate, *, random_state: RandomState = None
) -> NDArray[np.int64]:
    """Positions of the rows of a sample with every positive and only some negatives.

    Use it before training, where there are more negatives than you have time or memory for. Each
    row with label 0 is kept with probability ``negative_keep_rate``, independently of all others;
    :func:`measured_keep_rates` gives the fraction that was kept. With the same seed, lower rates
    keep a subset of what higher ones keep.

    Parameters
    ----------
    y : array-like of shape (n,)
        Labels 0 and 1, both occurring unless the rate is {0: rate}.
    negative_keep_rate : float in (0, 1], or array-like of shape (n,), or {0: rate}
        Probability of keeping a negative; one for all, or one for each row, as
        :func:`pilot_keep_rates` makes them. No shift can undo rates by row: train on them with
        ``offset_logloss_objective(rates[rows])``. ``{0: rate}`` says that negatives are meant also
        where they are few, as in a chunk of a larger log, which may be without one of the labels.
    random_state : int, numpy Generator or RandomState, optional
        An int gives the same rows each time; None gives other rows each time.

    Returns
    -------
    ndarray of int64
        Row positions in ascending order, for ``X[rows]``, in pandas ``X.iloc[rows]``.

    Raises
    ------
    ValueError
        A bad rate, labels other than 0 and 1, a label that does not occur or is not in the sample;
        negatives that are fewer than one in five rows and not named (below one half it warns).

    Examples
    --------
    >>> import numpy as np
    >>> from gbdt_objectives import negative_downsample
    >>> y = (np.arange(100_000) % 1000 == 0).astype(int)
    >>> rows = negative_downsample(y, 0.02, random_state=0)
    >>> int(y[rows].sum()), len(rows)
    (100, 2044)
    """
    if is_dask(y):
        raise TypeError(
            f"y is a Dask {type(y).__name__}, whose rows have no positions: write "
            "mask = negative_downsample_by_key(y, key, negative_keep_rate), then frame[mask]"
        )
    labels = check_zero_one_labels(y)
    kept = _checks.one_rate_or_many(RATE, of_negatives(negative_keep_rate), len(labels))
    hint = "encode the rare event as 1 and everything else as 0"
    part = isinstance(negative_keep_rate, Mapping)
    rows = sample_rows(labels, {0: kept, 1: 1.0}, random_state, hint, CHUNK, part=part)
    check_thins_negatives(labels, negative_keep_rate)
    return rows


def of_negatives(rate: Rate) -> Any:
    """The rate that is given, or that of label 0, if it names it."""
    if isinstance(rate, Mapping) and [*rate] != [0]:
        raise ValueError(
            f"{RATE} must be {{0: rate}}, found {shown(rate)}: use resample_classes for others"
        )
    return rate[0] if isinstance(rate, Mapping) else rate


def check_thins_negatives(labels: Array, rate: Rate) -> None:
    """Ask whether labels 0 are the frequent ones, if the rate drops any and does not name them."""
    P = int(np.count_nonzero(labels))
    N = len(labels) - P
    rates: Any = rate
    if not isinstance(rate, Mapping) and np.min(rates) < 1:
        mean = float(np.asarray(rates, float).mean())
        Sampling(
            name=RATE, thinned=0, rows_of=(N, P), kept=mean * N, rate=mean,
            to_name=f"pass 1 - y, or {RATE}={{0: rate}} if it is meant, as in a chunk of a log",
        )  # fmt: skip


@public
def negative_downsample_by_key(
    y: ArrayLike, key: ArrayLike, negative_keep_rate: Rate, *, random_state: int = 0
) -> NDArray[np.int64]:
    """Positions of every positive and of the negatives whose key's hash is low.

    Use it where files or machines must agree on the sample, or new rows of a key share its fate.

    ::

        kept where y = 1 or hash(key, random_state) < negative_keep_rate,   hash in [0, 1)

    Negatives that share a key, such as a user's id, are kept or dropped together, on every machine
    and every time. Lower rates keep a subset of what higher ones keep. The hash, SplitMix64 over
    the integer or over BLAKE2b of the string, is part of the interface and will not change. For
    Dask Series or Arrays the result is a column of booleans like ``y``, computed lazily, for
    ``frame[kept]``; :func:`measured_keep_rates` then sees whether both labels occur and are kept.

    Parameters
    ----------
    y, negative_keep_rate
        The labels and rates, as in :func:`negative_downsample`, with its errors.
    key : array-like of shape (n,)
        Integers, strings or bytes, none missing, no floats; a word such as NA is refused if all
        others hold a digit. Integers are hashed by value; the string "5" is another key than 5.
    random_state : int >= 0
        Part of the hash, so no generator. Another number gives another, independent sample.

    Returns
    -------
    ndarray of int64
        Row positions in ascending order (``.iloc`` in pandas).

    References
    ----------
    Steele, Lea & Flood (2014), "Fast splittable pseudorandom number generators", OOPSLA.

    Examples
    --------
    >>> import numpy as np
    >>> from gbdt_objectives.priors import negative_downsample_by_key
    >>> user = np.arange(100_000)
    >>> y = (user % 1000 == 0).astype(int)
    >>> rows = negative_downsample_by_key(y, user, 0.02)
    >>> int(y[rows].sum()), len(rows)
    (100, 2124)
    """
    seed = _checks.whole_number("random_state", random_state, 0)
    rate = of_negatives(negative_keep_rate)
    if np.ndim(rate) == 0:
        _checks.keep_rate(RATE, rate)
    part = isinstance(negative_keep_rate, Mapping)
    if part and not is_dask(y) and np.shape(y) == np.shape(key) == (0,):
        return np.empty(0, np.int64)
    kept: Any = map_parts(partial(kept_by_key, seed), {"y": y, "key": key, RATE: rate}, bool)
    if is_dask(kept):
        return kept  # type: ignore[no-any-return]
    labels = check_zero_one_labels(y)
    for label in (0, 1):
        if not part and not (labels == label).any():
            raise ValueError(f"y has no row of the label {label}: every label must occur; {CHUNK}")
    if not part and not kept[labels == 0].any():
        raise ValueError("y has negatives, of which the sample has none: raise its rate")
    check_thins_negatives(labels, negative_keep_rate)
    return np.flatnonzero(kept)


def kept_by_key(
    seed: int, y: ArrayLike, key: ArrayLike, negative_keep_rate: ArrayLike
) -> NDArray[np.bool_]:
    """Which rows of a part are kept; a part may be without one of the labels."""
    labels = check_zero_one_labels(y, also="; y comes first, the key second")
    uniform = uniform_of_key(key, seed)
    _checks.same_length("key", uniform, "the labels", len(labels))
    _checks.not_spelled_missing("key", np.asarray(key), "keys")
    rates = _checks.one_rate_or_many(RATE, negative_keep_rate, len(labels))
    _checks.binary_labels("y", labels)
    return np.asarray((labels == 1) | (uniform < rates))


def uniform_of_key(key: ArrayLike, seed: int) -> Array:
    """A number in [0, 1) for each key, float64 (n,), that depends on it and the seed alone.

    ::

        integer   k mod 2^64, two's complement
        string    the 8-byte BLAKE2b digest (RFC 7693) of its UTF-8 bytes, little-endian
        bytes     the 8-byte BLAKE2b digest of the bytes, little-endian
        uniform   (mix(mix(k + INCREMENT) ^ mix(seed)) >> 11) / 2^53
    """
    start = mix(np.array([seed & (2**64 - 1)], np.uint64))
    return (mix(mix(key_bits(key) + INCREMENT) ^ start) >> np.uint64(11)) * 2.0**-53


def mix(z: Array) -> Array:
    """SplitMix64's output function, as in Vigna's splitmix64.c: a permutation of 64 bits."""
    z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return np.asarray(z ^ (z >> np.uint64(31)))


def key_bits(key: ArrayLike) -> Array:
    """Integers, strings or bytes as uint64 (n,)."""
    values = _checks.as_array("key", key)
    if values.ndim != 1:
        raise ValueError(
            f"key must be one-dimensional, found shape {values.shape}: join columns into one string"
        )
    if values.dtype.kind in "iu":
        bits: Array = values.astype(np.int64 if values.dtype.kind == "i" else np.uint64)
        return bits.view(np.uint64)
    if values.dtype.kind not in "OUST":
        raise TypeError(
            f"key must hold integers or strings, found dtype {values.dtype}: convert it with "
            ".astype(str), or whole numbers without missing ones with .astype('int64')"
        )
    return np.fromiter(map(bits_of_object, values.tolist()), np.uint64, len(values))


def bits_of_object(key: Any) -> int:
    if isinstance(key, str | bytes):
        given = key.encode("utf-8", "surrogatepass") if isinstance(key, str) else key
        return int.from_bytes(blake2b(given, digest_size=8).digest(), "little")
    if isinstance(key, numbers.Integral) and not isinstance(key, bool):
        number = int(key)
        if not -(2**63) <= number < 2**64:
            raise ValueError(f"key must be integers of 64 bits, found {number}: make them strings")
        return number & (2**64 - 1)
    raise TypeError(
        f"key must hold integers or strings, none missing, found {shown(key)}: give rows without a "
        "key one of their own, and convert others with .astype(str)"
    )


@public
def pilot_keep_rates(
    y_true: ArrayLike, probability: ArrayLike, negative_keep_rate: float | Mapping[Any, float], *,
    floor: float | None = None,
) -> Array:  # fmt: skip
    """Rates at which to keep negatives, higher where a pilot model finds an event likelier.

    Use it where one to three negatives per positive are kept and a model knows the hard ones.

    ::

        rate_i = min(1, max(floor, c p_i)),   c such that the mean rate of the negatives
                                              is negative_keep_rate

    As many negatives are kept, on average, as at the one rate, but more of those that are hard to
    tell from events. Sample with :func:`negative_downsample` and train with
    ``offset_logloss_objective(rates[rows])``; the model needs no rates in use.

    Parameters
    ----------
    y_true : array-like of shape (n,)
        Labels 0 and 1, both occurring.
    probability : array-like of shape (n,)
        The pilot's probability of label 1, for every row, out of fold (``cross_val_predict``): a
        pilot trained on these rows makes the final model biased. Only ratios count; correct those
        of a pilot that was itself trained on a sample (:func:`correct_probability`).
    negative_keep_rate : float in (0, 1], or {0: rate}
        The mean rate over the negatives: k P / N for k negatives per positive.
    floor : float in (0, 1], optional
        The lowest rate, which limits weights, 1/rate. None: a tenth of ``negative_keep_rate``.

    Returns
    -------
    ndarray of shape (n,)
        float64, in [floor, 1]; positives have that of a negative in their place.

    Raises
    ------
    ValueError
        A floor above the mean rate, too few rows to reach it, arguments outside their ranges.

    References
    ----------
    Wang, Zhang & Wang (2021), "Nonuniform negative sampling and log odds correction with rare
    events data", arXiv 2110.13048.

    Examples
    --------
    >>> from gbdt_objectives.priors import pilot_keep_rates
    >>> y = [0, 0, 0, 0, 0, 1]
    >>> pilot_keep_rates(y, [0.01, 0.01, 0.01, 0.02, 0.1, 0.1], 0.3).round(3)
    array([0.1, 0.1, 0.1, 0.2, 1. , 1. ])
    """
    mean = _checks.keep_rate(RATE, of_negatives(negative_keep_rate))
    least = mean / 10 if floor is None else _checks.keep_rate("floor", floor)
    labels = check_zero_one_labels(y_true, "y_true")
    _checks.binary_labels("y_true", labels)
    _checks.not_classes("probability", probability)
    p = _checks.vector("probability", probability).astype(np.float64)
    _checks.same_length("probability", p, "the labels", len(labels))
    _checks.in_unit_interval("probability", p)
    if least > mean:
        raise ValueError(
            f"floor is {least:g}, above negative_keep_rate {mean:g}, the mean rate: lower the floor"
        )
    negatives = p[labels == 0]
    if len(negatives) in (0, len(p)):
        raise ValueError(f"y_true has the label {int(len(negatives) == 0)} only: both must occur")
    check_thins_negatives(labels, negative_keep_rate)
    if least == mean:
        return np.full(len(p), mean)
    return np.clip(find_multiplier(negatives, mean, least) * p, least, 1.0)


def find_multiplier(p: Array, mean: float, floor: float) -> float:
    """The c with mean(min(1, max(floor, c p))) = ``mean``."""
    from scipy.optimize import brentq

    log_p = np.log(p[p > 0])
    zeros = len(p) - len(log_p)

    def excess(log_c: float) -> float:
        rates = np.exp(np.minimum(log_c + log_p, 0)).clip(floor)
        return (float(rates.sum()) + zeros * floor) / len(p) - mean

    low, high = math.log(floor) - 1, 1 - float(log_p.min(initial=0))  # all at the floor, or at 1
    if excess(high) < 0:
        raise ValueError(
            f"probability is 0 in {zeros} of {len(p)} negatives, which get the floor, {floor:g}: "
            f"the mean rate is at most {excess(high) + mean:g}, below {mean:g}; raise the floor"
        )
    if excess(low) >= 0:  # only rounding sets the floor apart from the mean
        return math.exp(low)
    return float(np.exp(brentq(excess, low, high, xtol=1e-13)))


@public
def resample_classes(
    y: ArrayLike, class_keep_rates: Mapping[Any, float], *, random_state: RandomState = None
) -> NDArray[np.int64]:
    """Positions of the rows of a sample in which each label has its own rate.

    A row whose label has the rate r is taken floor(r) times, and once more with the probability
    left, independently of all others. Prefer to drop rows of the other class or to weight: boosters
    memorise copies, and corrected probabilities are then too low.

    Parameters
    ----------
    y : array-like of shape (n,)
        Labels of any type.
    class_keep_rates : mapping of label to float > 0
        A rate for every label that occurs and no other: 0.02 keeps one row in fifty, 1 keeps all,
        2.5 makes two or three copies of each. A label without a row in the sample is refused.
    random_state : int, numpy Generator or RandomState, optional
        An int gives the same rows each time; None gives other rows each time.

    Returns
    -------
    ndarray of int64
        Row positions in ascending order (``.iloc`` in pandas), repeated for copies.

    Examples
    --------
    >>> from gbdt_objectives.priors import resample_classes
    >>> resample_classes(["a", "b", "a", "b"], {"a": 1, "b": 3}, random_state=0)
    array([0, 1, 1, 1, 2, 3, 3, 3])
    """
    class_keep_rates = _checks.by_name("class_keep_rates", class_keep_rates)
    if not isinstance(class_keep_rates, Mapping) or not class_keep_rates:
        raise TypeError(
            f"class_keep_rates must be a mapping {{label: rate}}, found {shown(class_keep_rates)}"
        )
    rates = {
        label: read_sampling_rate(f"class_keep_rates[{shown(label)}]", rate)
        for label, rate in class_keep_rates.items()
    }
    check_no_counts("class_keep_rates", class_keep_rates, rates.values())
    return sample_rows(
        labels_of_one_type("y", y), rates, random_state, "give every label a rate, 1 to keep it"
    )


@public
def measured_keep_rates(y_full: ArrayLike, y_sampled: ArrayLike) -> dict[Any, float]:
    """The fraction of each label's rows that is in a sample.

    Use it to correct for a sample that another program drew, or at a rate only roughly known.

    ::

        rate_k = (rows of label k in the sample) / (rows of label k before)

    With these rates a shift leads back to the class odds of the very rows that were sampled. Dask
    Series or Arrays are taken too, each with partitions of its own.

    Parameters
    ----------
    y_full, y_sampled : array-like of shape (n,), (m,)
        Labels before and after sampling, of any type and the same kinds; more after replication.

    Returns
    -------
    dict
        Label to rate, in ascending order of labels, the order of a model's columns: pass it as
        ``class_keep_rates`` to :func:`log_odds_shift` or to a correction.

    Examples
    --------
    >>> from gbdt_objectives import correct_probability
    >>> from gbdt_objectives.priors import measured_keep_rates
    >>> rates = measured_keep_rates([0, 0, 0, 0, 1], [0, 1])
    >>> rates
    {0: 0.25, 1: 1.0}
    >>> correct_probability([0.5, 0.8], class_keep_rates=rates)
    array([0.2, 0.5])
    """
    full = count_labels("y_full", y_full, finite=True)
    sampled = count_labels("y_sampled", y_sampled, finite=True)
    new = [label for label in sampled if label not in full]
    if new:
        raise ValueError(
            f"y_sampled holds the label {shown(new[0])}, which is not in y_full: are the arguments "
            f"swapped? {IN_ORDER}"
        )
    gone = [label for label in full if label not in sampled]
    if gone:
        raise ValueError(
            f"y_sampled has no row of the label {shown(gone[0])}, y_full has {full[gone[0]]}: no "
            "shift brings back a class without rows; keep some of them, or drop it from y_full"
        )
    rates = {label: sampled[label] / count for label, count in full.items()}
    most = max(sampled, key=sampled.__getitem__)
    others = [rate for label, rate in rates.items() if label != most]
    if min(rates.values()) >= 1 and rates[most] > max([1.0, *others]):
        raise ValueError(
            f"y_sampled has {sampled[most]} rows of {shown(most)}, its most frequent label, y_full "
            f"{full[most]}: are the arguments swapped? {IN_ORDER}; if that label was copied on "
            "purpose, write class_keep_rates={...} by hand"
        )
    return rates


def sample_rows(
    y: Array, rates: Mapping[Any, float | Array], random_state: RandomState, hint: str,
    chunk: str = "", *, part: bool = False,
) -> NDArray[np.int64]:  # fmt: skip
    """Take floor(r) copies of each row, and one more if its uniform number is below r - floor(r),
    with r the rate of its label, a number or (n,). ``hint``: about a label without a rate;
    ``chunk``: about one without rows, which a ``part`` of the rows may have."""
    rng = _checks.generator(random_state)
    seen, taken = dict.fromkeys(rates, 0), dict.fromkeys(rates, 0)
    sample = []
    for at in blocks(y, BLOCK * y.itemsize):
        uniform = rng.random(len(y[at]))
        rows = []
        for label, rate in rates.items():
            r, whole = (rate[at], 0) if isinstance(rate, np.ndarray) else (rate, math.floor(rate))
            there = y[at] == label
            copies = [np.flatnonzero(there)] * whole
            copies.append(np.flatnonzero(there & (uniform < r - whole)))
            seen[label] += int(np.count_nonzero(there))
            taken[label] += sum(map(len, copies))
            rows += copies
        sample.append(np.sort(np.concatenate(rows)) + at.start)
    if sum(seen.values()) < len(y):
        row = int(np.flatnonzero(np.all([y != label for label in rates], axis=0))[0])
        found = f"found {shown(y[row])} at row {row}"
        raise ValueError(f"y must hold the labels {shown(list(rates))}, {found}: {hint}")
    for label, count in seen.items():
        if taken[label] == 0 and not part:
            raise ValueError(
                f"y has {count} rows of the label {shown(label)}, of which the sample has none: "
                + ("raise its rate" if count else f"every label must occur; {chunk}".rstrip("; "))
            )
    return np.concatenate(sample)


def check_zero_one_labels(y: ArrayLike, name: str = "y", also: str = "") -> Array:
    labels = labels_of_one_type(name, y)
    if labels.dtype.kind not in "biuf":
        raise TypeError(
            f"{name} must be 0 (negative) or 1 (positive), found dtype {labels.dtype}, such as "
            f"{shown(labels[0])}: write ({name} == label).astype(int), label that of the positives"
            f"{also}"
        )
    return labels


def labels_of_one_type(name: str, values: ArrayLike) -> Array:
    y = _checks.as_array(name, values)
    if y.ndim != 1 or y.size == 0:
        raise _checks.not_flat(name, y.shape, " and not empty")
    if y.dtype.kind == "O" and len({type(label) for label in y}) > 1:
        types = sorted({type(label).__name__ for label in y})
        raise TypeError(f"{name} must hold labels of one type, found {', '.join(types)}")
    return y


def count_labels(name: str, values: ArrayLike, *, finite: bool = False) -> dict[Any, int]:
    """How many rows each label has, sorted by label."""
    counts = total(partial(count_part, name, finite), {name: values})
    kinds = {type(label) for label in counts}
    if kinds & {str, bytes} and len(kinds) > 1:
        labels_of_one_type(name, np.array([*counts], object))  # which says that types are mixed
    return {label: counts[label] for label in sorted(counts)}


def count_part(name: str, finite: bool, **column: ArrayLike) -> Counter[Any]:
    labels = labels_of_one_type(name, column[name])
    if finite and labels.dtype.kind == "f":
        _checks.finite(name, labels)
    found, counts = np.unique(labels, return_counts=True)
    return Counter(dict(zip(found.tolist(), counts.tolist(), strict=True)))


@public
def prior_weights(
    y: ArrayLike, target_prior: float | Mapping[Any, float], *,
    normalize: Literal["mean", "positive"] = "mean",
) -> Array:  # fmt: skip
    """Row weights that make the labels as frequent as where the model will be used.

    Use it where you know how frequent the classes are in use, and the training rows differ.

    With s_k the fraction of label k in ``y`` and tau_k its probability there::

        w_k = tau_k / s_k                     "mean": the weights average to 1
        w_k = (tau_k / s_k) / (tau_1 / s_1)   "positive": label 1 weighs 1

    If negatives were kept at the rate r, a negative weighs 1/r times a positive. The alternative,
    usually no worse, is to correct afterwards (:func:`correct_probability`).

    For rare events "mean" makes weighted hessians small, and boosters regularise far more: lower
    ``min_child_weight``, ``lambda`` or ``min_sum_hessian_in_leaf`` with it, by tau/s, or use
    "positive" (``docs/theory/log_odds.md``). Of Dask, weights are lazy, too.

    Parameters
    ----------
    y : array-like of shape (n,)
        Labels of the training data; 0 and 1 with a float ``target_prior`` or
        ``normalize="positive"``, otherwise of any type.
    target_prior : float, or mapping of label to probability
        tau: the probability of label 1, or of every label, where the model is used.
    normalize : {"mean", "positive"}
        What is 1: the mean weight, or the weight of label 1.

    Returns
    -------
    ndarray of shape (n,)
        float64, all above 0.

    Raises
    ------
    ValueError
        Probabilities that do not sum to 1, or are 0 for a label that occurs, or not for another.

    References
    ----------
    King & Zeng (2001), Political Analysis 9(2), section 4.2.

    Examples
    --------
    >>> from gbdt_objectives.priors import prior_weights
    >>> prior_weights([0, 0, 1, 1], 0.1)
    array([1.8, 1.8, 0.2, 0.2])
    """
    _checks.choice("normalize", normalize, ("mean", "positive"))
    counts = count_labels("y", y)
    order, n = list(counts), np.array([*counts.values()])
    target_prior = _checks.by_name("target_prior", target_prior)
    if not isinstance(target_prior, Mapping):
        check_zero_one("with a float target_prior", order)
        tau = read_prior("target_prior", _checks.number("target_prior", target_prior))
    else:
        tau = _checks.prior_of_labels("target_prior", target_prior, order, n > 0, "y")
    if not tau.all():
        raise ValueError(
            "target_prior must be above 0 for labels that occur in y, found 0 for "
            f"{shown(order[int(tau.argmin())])}: drop these rows instead"
        )
    w = tau / (n / n.sum())
    if normalize == "positive":
        check_zero_one("with normalize='positive'", order)
        w /= w[1]
    of_label = dict(zip(order, w.tolist(), strict=True))
    weights: Array = map_parts(partial(weights_of_rows, of_label), {"y": y}, np.float64)
    return weights


def weights_of_rows(of_label: Mapping[Any, float], y: ArrayLike) -> Array:
    labels = np.asarray(y)
    return np.fromiter(map(of_label.__getitem__, labels.tolist()), np.float64, len(labels))


def check_zero_one(when: str, labels: list[Any]) -> None:
    """Raise unless the labels are 0 and 1, both."""
    if labels != [0, 1]:
        raise ValueError(
            f"y must hold the labels 0 and 1 {when}, both of them, found {shown(labels)}"
        )
