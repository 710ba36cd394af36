"""Honest estimates: what thresholds score on rows they were not fitted on."""

from __future__ import annotations

import math
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from gbdt_objectives import _checks
from gbdt_objectives._checks import Array, RandomState, group_numbers, shown
from gbdt_objectives._checks.tables import held_out_once
from gbdt_objectives._public import public
from gbdt_objectives._rows.rows import Rows, Table
from gbdt_objectives.metrics import ClassMetric
from gbdt_objectives.thresholds import methods
from gbdt_objectives.thresholds.methods import MetricArgument, Target
from gbdt_objectives.thresholds.rows import ScoredRows


@public
@dataclass(frozen=True, eq=False, repr=False)
class ThresholdCrossValidation(Table):
    """Result of :func:`cross_validate_thresholds`, for m methods, F folds and K classes.

    Attributes
    ----------
    methods : tuple of str
        The methods in the order given; :attr:`best` prefers the first.
    labels, greater_is_better : ndarray of shape (K,), bool
        All classes in ascending order. Direction of the scores.
    score, fold_score : ndarray of shape (m,), (m, F)
        The metric over all rows, by thresholds fitted without each, and over each fold's.
    in_sample_score : ndarray of shape (m,)
        The metric of the rows the thresholds were fitted on: too good, for contrast only.
    thresholds : ndarray of shape (m, K-1)
        Thresholds fitted on all rows; for ``apply_thresholds`` with ``labels``.
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
        return np.asarray(self.fold_score.std(axis=1, ddof=1))

    def difference(self, method: str, other: str) -> tuple[float, float]:
        """How much better one of ``methods`` is than another: mean over the folds, and its error.

        It is paired, and positive if ``method`` is better, whatever the metric's direction. The
        error treats folds as independent, which is not quite true (training rows overlap).
        """
        named = {"method": method, "other": other}.items()
        i, j = (self.methods.index(_checks.choice(*pair, self.methods)) for pair in named)
        better = (self.fold_score[i] - self.fold_score[j]) * (1 if self.greater_is_better else -1)
        return float(better.mean()), float(better.std(ddof=1) / math.sqrt(len(better)))

    @property
    def best(self) -> str:
        """The first method, unless others are better by over one standard error: then the best."""

        def gain(method: str) -> float:
            mean, error = self.difference(method, self.methods[0])
            return mean if mean > error else 0.0

        return max(self.methods, key=gain)

    def __repr__(self) -> str:
        rows = [("method", "score", "fold mean +- sd", "in-sample", "thresholds")]
        for i, method in enumerate(self.methods):
            mean = f"{self.fold_score[i].mean():.4g} +- {self.spread[i]:.2g}"
            score, in_sample = f"{self.score[i]:.4g}", f"{self.in_sample_score[i]:.4g}"
            rows.append((method, score, mean, in_sample, _list_numbers(self.thresholds[i], 40)))
        return "\n".join(f"{a:<11}  {b:>9}  {c:>20}  {d:>9}  {e}" for a, b, c, d, e in rows)

    def _shown(self) -> tuple[str, dict[str, Any]]:
        return f"Cross-validated thresholds, best: {self.best}", self._columns()

    def _columns(self) -> dict[str, Any]:
        return {
            "method": list(self.methods), "score": self.score,
            "fold_mean": self.fold_score.mean(axis=1), "fold_sd": self.spread,
            "in_sample_score": self.in_sample_score,
            **{f"threshold_{k + 1}": cut for k, cut in enumerate(self.thresholds.T)},
        }  # fmt: skip


def _list_numbers(numbers: Array, width: int) -> str:
    text = " ".join(f"{x:.4g}" for x in numbers)
    return text if len(text) <= width else text[: width - 3].rpartition(" ")[0] + " ..."


@public
def cross_validate_thresholds(
    y_true: ArrayLike, score: ArrayLike, *, method: str | Sequence[str] | None = None, cv: Any = 5,
    groups: ArrayLike | None = None, labels: ArrayLike | None = None,
    sample_weight: ArrayLike | None = None, target_prior: Mapping[Any, float] | None = None,
    metric: MetricArgument = "qwk", n_bootstrap: int = 200, confidence_level: float = 0.9,
    random_state: RandomState = None, verbose: bool | int = False,
) -> ThresholdCrossValidation:  # fmt: skip
    """How good thresholds are on new rows, how certain they are, which method is best.

    Thresholds look better than they are on the rows they were fitted on. Here each fold's rows are
    classified by thresholds fitted on the other folds.

    Parameters
    ----------
    y_true, score : array-like of shape (n,)
        Classes, and out-of-fold scores of the model, rising with the class.
    method : str or sequence of str, optional
        As in ``optimize_thresholds``. Several are compared on the same folds and resamples.
    cv : int, splitter or iterable of splits
        An int: stratified, shuffled folds, of ``groups`` if given. Each row is held out once.
    groups : array-like of shape (n,), optional
        Rows of one group stay on one side of each split, and are resampled together.
    labels : array-like of shape (K,), optional
        All classes in order; None as in ``optimize_thresholds``.
    sample_weight : array-like of shape (n,), optional
        Weights >= 0, for placing and for scoring.
    target_prior : mapping of label to probability, optional
        Label distribution where the thresholds will be used, to which all rows are reweighted.
    metric : str, metric of classes or function
        What the thresholds are to be best at, as in ``optimize_thresholds``.
    n_bootstrap : int
        Number of resamples for the intervals of the thresholds; 0 for none. They take most of the
        time. Resamples of a single class are drawn again.
    confidence_level, random_state : float in (0, 1), int, Generator or RandomState, optional
        Probability of the (percentile) intervals. Seed for shuffling the folds and for resampling.
    verbose : bool or int
        Whether to show progress over folds, then resamples, as in ``estimate_performance``.

    Returns
    -------
    ThresholdCrossValidation

    Raises
    ------
    ValueError
        What ``optimize_thresholds`` refuses; unknown or repeated methods; rows that are not held
        out exactly once; a group on both sides of a split; a fold whose score is 0/0. On a fold or
        resample where scores do not rise with the class "plugin" puts every row into one class.

    References
    ----------
    Breiman, Friedman, Olshen & Stone (1984), for the rule of one standard error.

    Examples
    --------
    >>> import numpy as np
    >>> from gbdt_objectives import cross_validate_thresholds
    >>> rng = np.random.default_rng(0)
    >>> latent = rng.normal(size=500)
    >>> y = np.digitize(latent + rng.normal(size=500), [-1, 0, 2])
    >>> result = cross_validate_thresholds(y, latent, method=["plugin", "exact"], random_state=0)
    >>> result.best, result.fold_score.shape
    ('plugin', (2, 5))
    """
    target = methods.resolve_metric(metric)
    names = (method,) if method is None or isinstance(method, str) else tuple(method)
    chosen = tuple(methods.resolve_method(name, target) for name in names)
    if not chosen or len(set(chosen)) < len(chosen):
        raise ValueError(f"method must name different methods, found {shown(method)}")
    n_bootstrap = _checks.whole_number("n_bootstrap", n_bootstrap, 0)
    level = _checks.confidence_level("confidence_level", confidence_level, usual=0.9)
    rng = _checks.generator(random_state)
    s, position, w, order = ScoredRows.read_columns(
        y_true, score, methods.resolve_labels(labels, target), sample_weight, target_prior
    )
    y = position.astype(np.int64)
    target = methods.of_labels(target, order)
    rows = _Rows(target, order, y, s, w, ScoredRows.sort(s, position, w, order, keep_order=True))
    group = None if groups is None else group_numbers(groups, len(y))
    splits = held_out_once(y, cv, group, random_state=random_state)
    found = [methods.find_thresholds(name, rows.by_score, target).values for name in chosen]
    folds = _checks.show_progress(verbose, splits, len(splits), "thresholds", "fold")
    held_out = [rows.judge_fold(f, train, test, chosen) for f, (train, test) in enumerate(folds)]
    predicted = np.empty((len(chosen), len(y)), np.int64)
    for (_, test), (classes, _) in zip(splits, held_out, strict=True):
        predicted[:, test] = classes
    unit = np.arange(len(y)) if group is None else group
    bar = n_bootstrap and verbose, range(n_bootstrap), n_bootstrap, "intervals", "resample"
    fits = rows.resampled_fits(chosen, _checks.show_progress(*bar), unit, rng)
    return ThresholdCrossValidation(
        methods=chosen, labels=order, greater_is_better=is_greater_better(target),
        score=np.array([rows.score(p) for p in predicted]),
        fold_score=np.transpose([scores for _, scores in held_out]),
        in_sample_score=np.array([rows.score(rows.classes(cuts)) for cuts in found]),
        thresholds=np.stack(found), interval=percentiles(fits, level) if n_bootstrap else None,
    )  # fmt: skip


ALL = slice(None)


@dataclass(frozen=True, eq=False)
class _Rows:
    """The rows that thresholds are fitted to and judged by: (n,) as given, and sorted by score."""

    metric: Target
    labels: Array
    y: Array
    s: Array
    w: Array | None
    by_score: ScoredRows

    def classes(self, cuts: Array, at: Any = ALL) -> Array:
        return np.asarray(np.searchsorted(cuts, self.s[at], side="right"))

    def score(self, predicted: Array, at: Any = ALL) -> float:
        w = None if self.w is None else self.w[at]
        return score_classes(self.metric, self.labels, self.y[at], predicted, w)

    def judge_fold(
        self, f: int, train: Array, test: Array, chosen: Sequence[str]
    ) -> tuple[list[Array], list[float]]:
        """Classes of the rows that fold ``f`` holds out, and their score, by each method."""
        for side, part in (("training", train), ("held-out", test)):
            if self.w is not None and not self.w[part].any():
                found = f"sample_weight is 0 in all {side} rows of fold {f}"
                raise ValueError(f"{found}: use fewer folds, or a splitter that shuffles")
        rows = self.by_score
        times = np.bincount(train, minlength=len(self.y))[rows.order]  # a split may repeat rows
        at = np.repeat(np.arange(len(times)), times)
        fold = rows.take(at, None if rows.weight is None else rows.weight[at])
        fits = (methods.fit_thresholds(name, fold, self.metric) for name in chosen)
        predicted = [self.classes(cuts, test) for cuts in fits]
        scores = [self.score(p, test) for p in predicted]
        if np.isnan(scores).any():
            held = self.labels[np.unique(self.y[test])].tolist()
            raise ValueError(
                f"the score of fold {f} is nan, its {len(test)} held-out rows hold the "
                f"classes {shown(held)}: use fewer folds or a stratified splitter"
            )
        return predicted, scores

    def resampled_fits(self, chosen: Sequence[str], draws: Any, unit: Array, rng: Any) -> Array:
        """Thresholds of each method on bootstrap resamples of units, (draws, m, K-1)."""
        own, units = unit[self.by_score.order], int(unit.max()) + 1
        resamples = (draw_resample(rng, self.by_score, own, units) for _ in draws)
        return np.array(
            [[methods.fit_thresholds(c, r, self.metric) for c in chosen] for r in resamples]
        )


def percentiles(fits: Array, level: float) -> Array:
    """Lower and upper ends, (m, 2, K-1): order statistics, since cuts may be infinite."""
    draws, n = np.sort(fits, axis=0), len(fits)
    outside = math.floor(n * (1 - level) / 2 + 1e-9)  # 200 (1 - 0.9)/2 is 9.999 in floats
    return np.stack([draws[outside], draws[n - 1 - outside]], axis=1)


def is_greater_better(metric: Target) -> bool:
    return not isinstance(metric, ClassMetric) or metric.greater_is_better


def score_classes(
    metric: Target, labels: Array, y: Array, predicted: Array, weight: Array | None
) -> float:
    """The metric of class positions; nan where it is undefined, without a warning."""
    if not isinstance(metric, ClassMetric):
        return float(metric(labels[y], labels[predicted], weight))
    from sklearn.exceptions import UndefinedMetricWarning

    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UndefinedMetricWarning)
        return metric.of_classes(Rows(y, predicted, weight), 0, len(labels) - 1)


def draw_resample(
    rng: np.random.Generator | np.random.RandomState, rows: ScoredRows, unit: Array, units: int
) -> ScoredRows:
    """A bootstrap resample of the units (rows or groups) that rows belong to."""
    for _ in range(1000):
        times = np.bincount(rng.choice(units, size=units), minlength=units)[unit]
        resample = rows.reweighted(times)
        y = resample.position
        if len(y) >= len(rows.labels) and y.min() < y.max():
            return resample
    wanted = f"two classes and {len(rows.labels)} rows"
    raise ValueError(f"no resample of {units} rows or groups holds {wanted}: pass n_bootstrap=0")
