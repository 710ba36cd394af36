"""Honest estimates: what thresholds score on rows they were not fitted on."""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from gbdt_objectives import _checks
from gbdt_objectives._checks import Array, group_numbers, ordered_labels, positions, shown
from gbdt_objectives._folds import held_out_once
from gbdt_objectives.thresholds.metrics import QWK, ThresholdMetric, threshold_metric
from gbdt_objectives.thresholds.optimize import checked_metric, optimize_thresholds
from gbdt_objectives.thresholds.rows import consecutive_labels

METHODS = ("plugin", "exact", "rounding", "nelder-mead")
"""The simplest comes first where it can be used."""


@dataclass(frozen=True, eq=False)
class ThresholdCrossValidation:
    """What :func:`cross_validate_thresholds` found; m methods, F folds, K classes.

    Attributes
    ----------
    methods : tuple of str
        In the order given; the first is the one that :attr:`best` prefers.
    labels : ndarray of shape (K,)
        All classes in order of grade.
    greater_is_better : bool
        Direction of the scores.
    score : ndarray of shape (m,)
        The metric over all rows, each classified by thresholds that have not seen it.
    fold_score : ndarray of shape (m, F)
        The metric of each fold's held-out rows.
    in_sample_score : ndarray of shape (m,)
        The metric on the rows the thresholds were fitted on, for contrast only: too good.
    thresholds : ndarray of shape (m, K-1)
        Fitted on all rows; for ``apply_thresholds`` with ``labels``.
    interval : ndarray of shape (m, 2, K-1) or None
        Lower and upper end of each threshold's bootstrap interval.
    """

    methods: tuple[str, ...]
    labels: Array
    greater_is_better: bool
    score: Array
    fold_score: Array
    in_sample_score: Array
    thresholds: Array
    interval: Array | None

    @property
    def spread(self) -> Array:
        """Standard deviation of the fold scores, (m,)."""
        spread: Array = self.fold_score.std(axis=1, ddof=1)
        return spread

    def difference(self, method: str, other: str) -> tuple[float, float]:
        """Mean over the folds of how much better ``method`` is than ``other``, and its error.

        Paired: both are scored on the same rows. Positive if ``method`` is better,
        whatever the metric's direction. The standard error takes folds as independent,
        which they are not quite (their training rows overlap).
        """
        i, j = (
            self.methods.index(_checks.choice(name, value, self.methods))
            for name, value in (("method", method), ("other", other))
        )
        better = self.fold_score[i] - self.fold_score[j]
        if not self.greater_is_better:
            better = -better
        return float(better.mean()), float(better.std(ddof=1) / math.sqrt(len(better)))

    @property
    def best(self) -> str:
        """The first method, unless another is better by more than one standard error.

        Among several such the one with the best mean over the folds.
        """
        first = self.methods[0]
        gains = {first: 0.0}
        for method in self.methods[1:]:
            gain, error = self.difference(method, first)
            if gain > error:
                gains[method] = gain
        return max(gains, key=lambda method: gains[method])


def cross_validate_thresholds(
    y_true: ArrayLike,
    score: ArrayLike,
    *,
    method: str | Sequence[str] = "plugin",
    cv: Any = 5,
    groups: ArrayLike | None = None,
    labels: ArrayLike | None = None,
    sample_weight: ArrayLike | None = None,
    metric: str | ThresholdMetric | Callable[..., Any] = "qwk",
    n_bootstrap: int = 200,
    confidence_level: float = 0.9,
    random_state: int | None = None,
) -> ThresholdCrossValidation:
    """What thresholds are worth on new rows, how certain they are, which method is best.

    Thresholds that are judged on the rows they were fitted on look better than they
    are. Here each fold's rows are classified by thresholds fitted on the other folds.

    Parameters
    ----------
    y_true : array-like of shape (n,)
        Classes.
    score : array-like of shape (n,)
        Out-of-fold scores of the model, rising with the class.
    method : str or sequence of str
        "plugin", "exact", "nelder-mead" as in ``optimize_thresholds``; "rounding": the
        nearest label, for labels that are rising numbers and scores in their units.
        Several are compared on the same folds and resamples.
    cv : int, splitter or iterable of splits
        An int: that many stratified folds, shuffled; stratified group folds if there
        are ``groups``. Every row must be held out exactly once.
    groups : array-like of shape (n,), optional
        Rows of one group stay on one side of each split, and are resampled together.
    labels, sample_weight, metric
        As in ``optimize_thresholds``.
    n_bootstrap : int
        Resamples for the intervals of the thresholds; 0 for none. Resamples without
        two classes or with fewer different rows than classes are drawn again.
    confidence_level : float
        Of the (percentile) intervals.
    random_state : int, optional
        Seed of the shuffling and resampling.

    Returns
    -------
    ThresholdCrossValidation
        ``score``, ``fold_score``, ``spread``, ``thresholds``, ``interval``,
        ``difference(method, other)``, ``best``.

    Raises
    ------
    ValueError
        As ``optimize_thresholds``; unknown methods or one given twice; rows that are
        not held out exactly once; a group on both sides of a split; a fold whose score
        is 0/0 (a single class). "plugin" needs scores that rise with the class over all
        rows; on a fold or resample where they do not, it puts every row into one class,
        its limit when the correlation goes to 0.

    References
    ----------
    Breiman, Friedman, Olshen, Stone (1984), Classification and Regression Trees, for the
    rule of one standard error.

    Examples
    --------
    >>> import numpy as np
    >>> from gbdt_objectives import cross_validate_thresholds
    >>> rng = np.random.default_rng(0)
    >>> latent = rng.normal(size=500)
    >>> y = np.digitize(latent + rng.normal(size=500), [-1, 0, 2])
    >>> result = cross_validate_thresholds(
    ...     y, latent, method=["plugin", "exact"], n_bootstrap=20, random_state=0
    ... )
    >>> result.fold_score.shape, result.interval.shape
    ((2, 5), (2, 2, 3))
    >>> result.best
    'plugin'
    """
    methods = (method,) if isinstance(method, str) else tuple(method)
    if not methods or len(set(methods)) < len(methods):
        raise ValueError(f"method must name different methods, found {shown(method)}")
    for name in methods:
        _checks.choice("method", name, METHODS)
        checked_metric(metric, "nelder-mead" if name == "rounding" else name)
    n_bootstrap = _checks.whole_number("n_bootstrap", n_bootstrap, 0)
    level = _checks.number("confidence_level", confidence_level)
    if not 0 < level < 1:
        raise ValueError(f"confidence_level must be in (0, 1), found {level}: for instance 0.9")
    order = consecutive_labels(y_true) if labels is None else ordered_labels(labels)
    if "rounding" in methods:
        rounding_thresholds(order)
    s = _checks.vector("score", score)
    y = positions("y_true", y_true, order).astype(np.int64)
    _checks.same_length("score", s, "the labels", len(y))
    w = _checks.weights("sample_weight", sample_weight, len(y))
    group = None if groups is None else group_numbers(groups, len(y))
    splits = held_out_once(y, cv, group, random_state=random_state, shuffle=True)

    def place(name: str, rows: Array, weight: Array | None) -> Array:
        return placed(name, order[y[rows]], s[rows], order, weight, metric)

    everything = np.arange(len(y))
    everywhere = np.stack([_fitted(name, order[y], s, order, w, metric) for name in methods])
    evaluate = _evaluator(metric, order)
    predicted = np.empty((len(methods), len(y)), np.int64)
    fold_score = np.empty((len(methods), len(splits)))
    for f, (train, test) in enumerate(splits):
        for side, rows in (("training", train), ("held-out", test)):
            if w is not None and not w[rows].any():
                raise ValueError(
                    f"sample_weight is 0 in all {side} rows of fold {f}: use fewer folds, or a "
                    "splitter that shuffles"
                )
        for i, name in enumerate(methods):
            cuts = place(name, train, _take(w, train))
            predicted[i, test] = np.searchsorted(cuts, s[test], side="right")
            value = evaluate(y[test], predicted[i, test], _take(w, test))
            if math.isnan(value):
                held = order[np.unique(y[test])].tolist()
                raise ValueError(
                    f"the score of fold {f} is nan, its {len(test)} held-out rows hold the "
                    f"classes {shown(held)}: use fewer folds or a stratified splitter"
                )
            fold_score[i, f] = value
    in_sample = [np.searchsorted(cuts, s, side="right") for cuts in everywhere]
    interval = None
    if n_bootstrap:
        rng = np.random.default_rng(random_state)
        draws = np.empty((n_bootstrap, len(methods), len(order) - 1))
        for b in range(n_bootstrap):
            weight = _resampled(rng, y, w, group, len(order))
            draws[b] = [place(name, everything, weight) for name in methods]
        draws.sort(axis=0)
        outside = math.floor(n_bootstrap * (1 - level) / 2)  # order statistics: cuts may be inf
        interval = np.stack([draws[outside], draws[n_bootstrap - 1 - outside]], axis=1)
    return ThresholdCrossValidation(
        methods=methods,
        labels=order,
        greater_is_better=not isinstance(metric, str | ThresholdMetric)
        or threshold_metric(metric).greater_is_better,
        score=np.array([evaluate(y, p, w) for p in predicted]),
        fold_score=fold_score,
        in_sample_score=np.array([evaluate(y, p, w) for p in in_sample]),
        thresholds=everywhere,
        interval=interval,
    )


def comparable_methods(
    metric: str | ThresholdMetric | Callable[..., Any], labels: Array
) -> tuple[str, ...]:
    """What "auto" chooses from, the preferred one first; Nelder-Mead where nothing is exact."""
    if not isinstance(metric, str | ThresholdMetric):
        methods: tuple[str, ...] = ("nelder-mead",)
    else:
        methods = ("plugin", "exact") if threshold_metric(metric) == QWK else ("exact",)
    return (*methods, "rounding") if _rising_numbers(labels) else methods


def rounding_thresholds(labels: Array) -> Array:
    """Midway between neighbouring labels, (K-1,)."""
    if not _rising_numbers(labels):
        raise ValueError(
            "method='rounding' needs labels that are rising numbers, found "
            f"{shown(labels.tolist())}: use another method"
        )
    numbers = labels.astype(np.float64)
    return 0.5 * (numbers[1:] + numbers[:-1])


def _rising_numbers(labels: Array) -> bool:
    return labels.dtype.kind in "iuf" and bool((labels[1:] > labels[:-1]).all())


def rises(score: Array, position: Array, weight: Array | None) -> bool:
    """Whether the (weighted) correlation of score and class position is positive."""
    if weight is not None:
        score, position, weight = (a[weight > 0] for a in (score, position, weight))
    if score.min() == score.max() or position.min() == position.max():
        return False
    u = score.astype(np.float64) / np.abs(score).max()
    u -= np.average(u, weights=weight)
    v = position - np.average(position, weights=weight)
    scale = math.sqrt(np.average(u * u, weights=weight) * np.average(v * v, weights=weight))
    return float(np.average(u * v, weights=weight)) > 1e-12 * scale


def placed(
    method: str,
    y: Array,
    score: Array,
    labels: Array,
    weight: Array | None,
    metric: str | ThresholdMetric | Callable[..., Any],
) -> Array:
    """Thresholds of one method, one class for all where the score does not rise ("plugin")."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "every row gets the class", UserWarning)
        if method == "plugin" and not rises(score, positions("y_true", y, labels), weight):
            score = np.zeros(len(y))
        return _fitted(method, y, score, labels, weight, metric)


def _fitted(
    method: str,
    y: Array,
    score: Array,
    labels: Array,
    weight: Array | None,
    metric: str | ThresholdMetric | Callable[..., Any],
) -> Array:
    if method == "rounding":
        return rounding_thresholds(labels)
    found = optimize_thresholds(
        y,
        score,
        method=method,  # type: ignore[arg-type]
        labels=labels,
        sample_weight=weight,
        metric=metric,
    )
    return np.asarray(found)  # the result holds the labels once


def _evaluator(
    metric: str | ThresholdMetric | Callable[..., Any], labels: Array
) -> Callable[[Array, Array, Array | None], float]:
    """The metric of class positions; nan where it is undefined, without a warning."""

    def evaluate(y: Array, predicted: Array, weight: Array | None) -> float:
        if weight is not None and not weight.any():
            raise ValueError("sample_weight is 0 in all held-out rows of a fold: use fewer folds")
        if not isinstance(metric, str | ThresholdMetric):
            return float(metric(labels[y], labels[predicted], weight))
        K = np.arange(len(labels))
        with warnings.catch_warnings():
            from sklearn.exceptions import UndefinedMetricWarning

            warnings.simplefilter("ignore", UndefinedMetricWarning)
            return threshold_metric(metric)(y, predicted, weight, labels=K)

    return evaluate


def _resampled(
    rng: np.random.Generator, y: Array, w: Array | None, group: Array | None, K: int
) -> Array:
    """Weights of a bootstrap resample of rows, or of groups."""
    number = np.arange(len(y)) if group is None else group
    units = int(number.max()) + 1
    for _ in range(1000):
        times = np.bincount(rng.integers(units, size=units), minlength=units)[number]
        weight = times.astype(np.float64) if w is None else times * w
        counted = y[weight > 0]
        if len(counted) >= K and counted.min() < counted.max():
            return weight
    raise ValueError(
        f"no resample of {units} {'rows' if group is None else 'groups'} holds two classes and "
        f"{K} rows: pass n_bootstrap=0"
    )


def _take(w: Array | None, rows: Array) -> Array | None:
    return None if w is None else w[rows]
