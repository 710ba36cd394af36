"""DownsampledClassifier: trained on fewer negatives, true probabilities out.

A pair is a row and a bag that did not see it. With the weights of their classes, pairs are held-out
rows of the population, on which the calibrator is fitted.
"""

from __future__ import annotations

import numbers
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import KW_ONLY, dataclass
from functools import partial
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike
from sklearn.utils import _safe_indexing
from sklearn.utils.validation import has_fit_parameter

from gbdt_objectives import _checks
from gbdt_objectives._checks import Array, Member, RandomState, Sampling
from gbdt_objectives._checks.tables import held_out_once
from gbdt_objectives._public import public
from gbdt_objectives._registry import library_in_role
from gbdt_objectives.adapters._arguments import refuse_parameters
from gbdt_objectives.adapters._estimators import OBJECTIVES
from gbdt_objectives.adapters._models import predict_probability
from gbdt_objectives.calibration.calibrator_choice import fit_default
from gbdt_objectives.calibration.calibrators import InterceptCalibrator, LogitCalibrator
from gbdt_objectives.estimators import _base
from gbdt_objectives.estimators._base import Data, FitRows, geometric_mean, second_log_odds
from gbdt_objectives.metrics import weighted_logloss_metric
from gbdt_objectives.objectives import Objective
from gbdt_objectives.objectives.logloss import LoglossLoss
from gbdt_objectives.priors import correct_probability, log_odds_shift, resample_classes

ROWS = 2_000  # most rows of a class that each bag scores, besides those for the stretch
SHARED = 1_000  # rows that all bags score, for the stretch, but those that they saw
FEW = 50  # with fewer positives the shrunk spline stays too near to bags that predict too much
SAME = 1e-6  # range of log-odds of bags that could not split, as LightGBM's of fewer than 40 rows


class NotCalibrated(ValueError):
    """Why bags cannot be calibrated on the rows that they leave out, and what to do."""


def mean_weights(data: FitRows, rows: Array) -> Array:
    """Weights in units of their mean: calibrators read them as counts of rows."""
    return np.ones(len(rows)) if data.w is None else data.w[rows] / data.w.mean()


def pools(pool: Array, whole: Array, bags: int, rng: Any) -> Iterator[Array]:
    """The rows that each bag may see: all but a fold of its own of those of the whole class."""
    fold = np.full(len(pool), -1)
    fold[whole] = rng.permutation(np.arange(whole.sum()) % bags)
    return (pool[fold != b] for b in range(bags))


def fit_left_out(
    bags: Sequence[Callable[[Any], Array]], samples: Sequence[Array], data: FitRows, pool: Array,
    thinned: int, seeds: Sequence[int],
) -> dict[str, Any]:  # fmt: skip
    """The calibrator of the stretched mean of the bags' log-odds, its stretch and its center.
    ``bags`` give corrected probabilities (n, 2); ``samples`` are the rows that each saw, all from
    the pool; ``thinned`` is the label, of 0 and 1, that they have fewer of."""
    counting = pool if data.w is None else pool[data.w[pool] > 0]
    rng = np.random.default_rng(seeds[0])
    common = draw_some(counting[data.y[counting] == thinned], SHARED, rng)
    z = np.full((len(common), len(bags)), np.nan)
    found = list[tuple[Array, Array]]()
    for b, (predict, sample, seed) in enumerate(zip(bags, samples, seeds, strict=True)):
        seen = np.zeros(len(data.y), bool)
        seen[sample] = True
        shared = ~seen[common]
        seen[common] = True  # they come first
        others, rng = counting[~seen[counting]], np.random.default_rng(seed)
        own = [draw_some(others[data.y[others] == label], ROWS, rng) for label in (0, 1)]
        rows = np.concatenate([common[shared], *own])
        p = predict(_safe_indexing(data.X, rows))
        if not p.all():
            raise NotCalibrated(
                "calibrate=True needs log-odds, but estimator predicts probabilities of exactly 0 "
                "or 1, which have none: pass calibrate=False"
            )
        z[shared, b] = second_log_odds(p[: shared.sum()])
        found.append((rows, p))
    rows, p = map(np.concatenate, zip(*found, strict=True))
    stretch = _base.stretch_of_bags(z, mean_weights(data, common))
    if stretch is None or len(np.unique(data.y[rows])) < 2:
        raise NotCalibrated(
            "calibrate=True needs rows that two bags leave out, but they keep nearly all: pass a "
            "lower negative_keep_rate, or calibrate=False"
        )
    calibrator, w = fit_pairs(rows, p, data, counting)
    return {"calibrator_": calibrator, "stretch_": stretch, "center_": _base.find_center(p, w)}


def draw_some(rows: Array, most: int, rng: np.random.Generator) -> Array:
    return rng.choice(rows, min(most, len(rows)), replace=False)


def fit_pairs(rows: Array, p: Array, data: FitRows, pool: Array) -> tuple[Any, Array]:
    """The calibrator, and the weights with which pairs stand for the population. Pairs of label 1
    get the weight of all its rows. Where those of label 0 have less than all, the calibrator is
    told the rate, which is nearer to the truth than heavy rows."""
    y, w = data.y[rows], mean_weights(data, rows)
    whole, own = np.bincount(data.y[pool], mean_weights(data, pool)), np.bincount(y, w)
    rate = min(1.0, own[0] / whole[0])
    v = w * np.where(y == 1, whole[1] / own[1], min(1.0, whole[0] / own[0]))
    fit: Callable[..., Any] = fit_default
    if np.ptp(second_log_odds(p)) < SAME:
        fit = InterceptCalibrator().fit
    elif np.bincount(data.y[pool]).min() < FEW:
        fit = LogitCalibrator().fit
    return fit(p[:, 1], y, v, class_keep_rates={0: rate, 1: 1.0}), np.where(y == 1, v, v / rate)


CORRECTIONS = ("prior", "offset", "weight")
AVERAGES = ("probability", "log_odds")
HELD_OUT_FOLDS = 5  # one fold of this many is held out of the sampled rows for early stopping


@public
@dataclass(eq=False, repr=False)
class DownsampledClassifier(_base.ProbabilityClassifier):
    """Classifier trained on fewer negatives that predicts true probabilities.

    Use it where positives are rare, and training on all negatives takes too long. ``fit`` keeps
    each class's rows at its rate, trains a clone of the classifier on the rows that are left,
    ``n_bags`` times on independent samples ("bags"), and corrects for the rows that were dropped by
    the rates measured in each sample. The bags are averaged by ::

        p_k = mean over bags of p_bk exp(d_bk) / sum_j p_bj exp(d_bj)    "probability"
        p_k proportional to exp(d_k) prod_b p_bk^(1/B)                   "log_odds"

    where p_bk is the probability of class k by bag b of B, d_b the shift of its log-odds, and d the
    mean of the d_b (``correction="prior"``; otherwise they are 0). Several bags of two classes are
    calibrated besides: boosters that are trained on few negatives are too sure, so that corrected
    probabilities are up to several times too high. Then the log-odds z_b + d_b are averaged ::

        p = calibrator(sigmoid(c + s (mean over bags of (z_b + d_b) - c)))

    with the stretch s >= 1, as the average varies less than a bag, which the calibrator was fitted
    on (``docs/rare_events.md``). ``predict`` decides at a true probability of 1/2, which rare
    events seldom reach: compare ``predict_proba`` with a threshold of your own.

    Parameters
    ----------
    estimator : classifier
        With ``predict_proba``. X is passed on unchanged, y as class positions 0..K-1. Where its
        ``random_state`` is None, each bag sets its own. It must not weigh or resample the classes
        itself (``class_weight``, ``scale_pos_weight``, ``sampling_strategy``).
    negative_keep_rate : float, mapping or Series
        Two classes: the fraction of negatives, the rows of ``classes_[0]``, that is kept, in
        (0, 1]; they should be more frequent, also after sampling, and must be a fifth of the rows
        or more. Any number of classes: {label: rate}; a class that is not named is kept whole.
    correction : {"prior", "offset", "weight"} or None
        "prior": train on the sample, then shift the log-odds. "offset": LGBMClassifier and
        XGBClassifier, two classes; train on ``offset_logloss_objective``, whose margin is the
        log-odds before sampling, so that early stopping sees the full population. "weight": each
        kept row weighs 1/rate. None: predict the sample's probabilities.
    n_bags : int
        Number of samples and models, at least 1. One is not calibrated, and worse: on 18 data sets
        five bags had 22 to 37 % less log loss than one at rates of 0.2 and 0.05 and 0.02 to 0.05
        more average precision; their mean prediction was 1.01 to 1.04 times the truth, that of one
        1.12 to 2.19 times (``experiments/five_bags``). One is five times as fast to fit and to
        serve. Use it where one booster must be served, and inside ``CalibratedClassifier``, which
        calibrates anyway and cannot export averages of averages.
    average : {"probability", "log_odds"}
        How bags that are not calibrated are averaged. "probability" keeps the mean prediction
        right; "log_odds" makes it too low for rare events, and is far worse than one bag for
        forests, which predict 0 and 1 (``experiments/bag_averages``).
    calibrate : bool or "auto"
        True: calibrate the bags on rows that they leave out, a fold of 1/n_bags of the class that
        is not sampled, by ``SplineCalibrator(shrink=True)``, with fewer than 50 rows of a class
        ``LogitCalibrator()``, if bags could not split ``InterceptCalibrator()``. "auto": True with
        two classes, each of at least n_bags rows that weigh, several bags, a correction, a rate
        below 1, no ``groups``, and no probability of exactly 0 or 1. False: correct only.
    cv : splitter, iterable of splits or None
        For early stopping, on the rows that its last split holds out; its training rows are sampled
        from and corrected to, other rows are not used. ``TimeSeriesSplit(5)`` stops on the last
        sixth of rows in time. None: see ``fit``.
    random_state : int, RandomState, Generator or None
        Seed for drawing the samples.
    verbose : bool or int
        Whether to show progress over bags by tqdm, ``pip install 'gbdt_objectives[progress]'``.

    Attributes
    ----------
    classes_ : ndarray of shape (K,)
        The sorted classes; of two, the negative first.
    estimators_, keep_rates_ : list of classifier, ndarray of shape (n_bags, K)
        One model per bag, as trained: their own predictions are not corrected. The measured rates.
    calibrator_, stretch_, center_ : calibrator, float, float
        The fitted calibrator, and the s and c of the average, if the bags are calibrated.
    shift_ : float, or ndarray of shape (K,) for K > 2
        Mean over the bags of what is added to the log-odds; 0 unless ``correction="prior"``.
    n_features_in_, feature_names_in_

    References
    ----------
    King & Zeng (2001), Political Analysis 9(2), sections 4.1 and 4.2.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.linear_model import LogisticRegression
    >>> from gbdt_objectives import DownsampledClassifier
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(100_000, 2))
    >>> y = (rng.random(100_000) < 1 / (1 + np.exp(5 - X[:, 0]))).astype(int)
    >>> classifier = DownsampledClassifier(LogisticRegression(), 0.05, random_state=0).fit(X, y)
    >>> round(float(y.mean()), 3), round(float(classifier.predict_proba(X)[:, 1].mean()), 3)
    (0.011, 0.011)
    """

    estimator: Any
    negative_keep_rate: float | Mapping[Any, float]
    _: KW_ONLY
    correction: Literal["prior", "offset", "weight"] | None = "prior"
    n_bags: int = 5
    average: Literal["probability", "log_odds"] = "probability"
    calibrate: bool | Literal["auto"] = "auto"
    cv: Any = None
    random_state: RandomState = None
    verbose: bool | int = False

    def fit(
        self, X: Any, y: ArrayLike, sample_weight: ArrayLike | None = None,
        groups: ArrayLike | None = None, *, eval_set: Any = None, eval_sample_weight: Any = None,
        **others: Any,
    ) -> DownsampledClassifier:  # fmt: skip
        """Draw the samples, train a model on each, and return the classifier itself.

        A booster with ``early_stopping_rounds`` (which needs ``correction="offset"``) stops on the
        log loss in the full population: of ``eval_set``, of the rows that ``cv`` holds out, or else
        of a different fifth of each bag's sample, weighted back. It is not retrained on these rows.

        Parameters
        ----------
        X, y : array-like, sparse matrix or DataFrame of shape (n, features), array-like (n,)
            Whatever the estimator accepts, and the classes.
        sample_weight : array-like of shape (n,), optional
            Weights for the estimator and the measured rates; they do not change what is sampled.
        groups : array-like of shape (n,), optional
            For early stopping: rows of one group are held out together.
        eval_set, eval_sample_weight : [(X_val, y_val)], [array-like of shape (n_val,)], optional
            Rows for early stopping, neither sampled nor trained on, and their weights, which stand
            for the full population. A pipeline does not transform them: use ``cv``.
        **others
            Refused, with a message that says what to write instead.

        Raises
        ------
        ValueError, TypeError
            Arguments that do not fit together or to the labels, one class only, a class that
            sampling leaves empty, rows to stop on of one or of unknown classes, bad weights, and
            what the estimator raises.
        """
        _base.check_names(self, others)
        n_bags, loud = self._check_parameters()
        self._check_ways_to_stop(groups, eval_set)
        rows = self._read_rows(X, y, sample_weight, groups)
        rates = self._rates(rows)
        held_out = _base.read_eval_set(self, X, rows.classes, eval_set, eval_sample_weight)
        pool = np.arange(len(rows.y))
        if self.cv is not None:
            pool, held_out = self._hold_out(rows)
        counts = np.full(len(pool), True) if rows.w is None else rows.w[pool] > 0
        calibrates = self._calibrates(rows, rates, rows.y[pool[counts]])
        rng = _checks.generator(self.random_state)
        seeds = (np.iinfo(np.int32).max * rng.random(n_bags)).astype(np.int64).tolist()
        thinned = int(np.argmin([*rates.values()]))
        if rows.w is not None and len(rates) == 2:
            Sampling(weights=rows.w, positive=rows.y != thinned, rate=min(rates.values()))
        whole = counts & (rows.y[pool] != thinned) & calibrates
        samples = [
            own[resample_classes(rows.classes[rows.y[own]], rates, random_state=seed)]
            for own, seed in zip(pools(pool, whole, n_bags, rng), seeds, strict=True)
        ]
        kept = np.array([_measure_rates(rows, pool, sample) for sample in samples])
        bags = list(zip(samples, kept, seeds, strict=True))
        models = self._fit_bags(rows, held_out, bags, loud)
        shifts = np.array([_shift(r) for r in kept], np.float64)
        if self.correction != "prior":
            shifts = np.zeros_like(shifts)
        found = {
            "estimators_": models, "classes_": rows.classes, "keep_rates_": kept,
            "shift_": np.mean(shifts, axis=0)[()],
        }  # fmt: skip
        if calibrates:
            corrects = [partial(corrected, *bag) for bag in zip(models, shifts, strict=True)]
            tolerated = [NotCalibrated] if self.calibrate == "auto" else []
            with suppress(*tolerated):
                found |= fit_left_out(corrects, samples, rows, pool, thinned, seeds)
        _base.keep(self, rows.X, found)
        return self

    def _probability(self, X: Any) -> Array:
        """The probability of each class in the population that ``fit`` was given."""
        bags = zip(self.estimators_, self._bag_shifts, strict=True)
        if hasattr(self, "calibrator_"):
            each = [corrected(*bag, X) for bag in bags]
            mean = geometric_mean(each, self.stretch_, self.center_)
            p = self.calibrator_.predict(mean[:, 1])
            return np.column_stack([1 - p, p])
        if _checks.choice("average", self.average, AVERAGES) == "log_odds":
            each = [predict_probability(model, X) for model in self.estimators_]
            return shifted(geometric_mean(each), self.shift_)
        return np.asarray(np.mean([corrected(*bag, X) for bag in bags], axis=0))

    @property
    def _bag_shifts(self) -> list[Any]:
        """What corrects the log-odds of each bag, whatever ``correction`` has become since fit."""
        corrects = np.any(self.shift_)
        return [_shift(rates) if corrects else 0.0 for rates in self.keep_rates_]

    def _check_parameters(self) -> tuple[int, bool]:
        """Check the parameters and return the number of bags, and whether to show progress."""
        _base.check_classifier(self.estimator)
        if self.correction is not None:
            _checks.choice("correction", self.correction, CORRECTIONS)
            _base.check_correctable(self.estimator)
            _base.check_learns(self.estimator)
        if self.correction == "offset":
            check_takes_offset(self.estimator)
        if self.correction == "weight" and not has_fit_parameter(self.estimator, "sample_weight"):
            raise ValueError(
                f"correction='weight' needs sample_weight, but {type(self.estimator).__name__} "
                "does not accept it: pass correction='prior', or make this a pipeline's last step"
            )
        check_stops_on_rows(self.estimator, self.correction)
        _checks.choice("average", self.average, AVERAGES)
        if isinstance(self.cv, numbers.Integral | str):
            raise TypeError(
                f"cv must be a splitter or a list of splits, found {self.cv!r}: TimeSeriesSplit(5) "
                "stops on the last rows, and without cv each bag stops on a fifth of its own sample"
            )
        _checks.flag_or_auto("calibrate", self.calibrate)
        loud = _checks.is_loud("verbose", self.verbose)
        return _checks.whole_number("n_bags", self.n_bags, 1), loud

    def _read_rows(
        self, X: Any, y: ArrayLike, sample_weight: ArrayLike | None, groups: ArrayLike | None
    ) -> FitRows:
        """The rows, whose class positions are learnt."""
        rows = _base.read_rows(self, X, y, groups)
        classes = rows.classes.tolist()
        if self.correction == "offset" and len(classes) > 2:
            raise ValueError(
                "Only binary classification is supported by correction='offset', found the classes "
                f"{classes}: pass correction='prior'"
            )
        Member(
            name="estimator", classes=classes, parameters=_base.all_parameters(self.estimator),
        )  # fmt: skip
        _base.check_told_classes(self.estimator, [*range(len(classes))])
        w = FitRows.check_weights(sample_weight, len(rows.y), self.estimator)
        return rows._replace(y=rows.position, w=w)

    def _calibrates(self, rows: FitRows, rates: Mapping[Any, float], counting: Array) -> bool:
        """Whether bags are calibrated; raises where they were to be, and cannot. ``counting`` are
        the labels, of 0 and 1, of rows with a weight that bags may see."""
        wanted = _checks.flag_or_auto("calibrate", self.calibrate)
        if wanted is False:
            return False
        K = len(rates)
        counts = np.bincount(counting, minlength=K)
        needs = {
            "several bags, found n_bags=1: pass n_bags=5, or calibrate=False": self.n_bags < 2,
            f"two classes, found {K}: pass calibrate=False, and calibrate by "
            "CalibratedClassifier(classifier, TemperatureCalibrator())": K > 2,
            "probabilities of the population, but correction=None asks for the sample's: pass "
            "correction='prior', or calibrate=False": self.correction is None,
            "single rows to leave out, but groups stay together: pass calibrate=False, and "
            "calibrate by CalibratedClassifier(classifier).fit(X, y, groups=groups)":
                rows.group is not None,
            "rows that bags leave out, but negative_keep_rate keeps all: pass a lower one, or "
            "calibrate=False": min(rates.values()) == 1,
            f"rows of each class in every bag, found {counts.min()} of one class and "
            f"n_bags={self.n_bags}: pass fewer bags, or calibrate=False":
                counts.min() < max(2, self.n_bags),
        }  # fmt: skip
        missing = next((need for need, is_missing in needs.items() if is_missing), None)
        if missing is not None and wanted:
            raise ValueError(f"calibrate=True needs {missing}")
        return missing is None

    def _rates(self, rows: FitRows) -> dict[Any, float]:
        """The rate of each class, in their order."""
        given = _checks.by_name("negative_keep_rate", self.negative_keep_rate)
        labels, count = rows.classes.tolist(), np.bincount(rows.y)
        if isinstance(given, Mapping):
            if not given or any(label not in labels for label in given):
                raise ValueError(
                    f"negative_keep_rate must map labels of y, {labels}, to their rates, found "
                    f"{dict(given)!r}"
                )
            return {
                label: _checks.keep_rate(f"negative_keep_rate[{label!r}]", given.get(label, 1.0))
                for label in labels
            }
        rate = _checks.keep_rate("negative_keep_rate", given)
        if len(labels) > 2:
            raise ValueError(
                "Only binary classification is supported by a single negative_keep_rate, found "
                f"the classes {labels}: pass a mapping {{label: rate}}"
            )
        if rate < 1:
            Sampling(
                name="negative_keep_rate", thinned=labels[0], rows_of=tuple(count.tolist()),
                kept=rate * count[0], rate=rate,
                to_name="pass the name of the class that is meant too, "
                f"negative_keep_rate={{{labels[1]!r}: {rate}}} or {{{labels[0]!r}: {rate}}}",
            )  # fmt: skip
        return {labels[0]: rate, labels[1]: 1.0}

    def _check_ways_to_stop(self, groups: ArrayLike | None, eval_set: Any) -> None:
        """Raise for arguments that nothing would use."""
        ways = {"groups": groups, "eval_set": eval_set, "cv": self.cv}
        given = [name for name, value in ways.items() if value is not None]
        if given and _base.find_stopping_rounds(self.estimator) is None:
            library = library_in_role(self.estimator, "Classifier")
            remedy = "set it, or " if library is not None and library.own_stopping else ""
            raise ValueError(
                f"{given[0]} is for early stopping, but estimator has no early_stopping_rounds: "
                f"{remedy}leave this out (sampling depends on the label only)"
            )
        if eval_set is not None and len(given) > 1:
            other = next(name for name in given if name != "eval_set")
            raise ValueError(f"eval_set and {other} both say which rows to stop on: leave one out")

    def _hold_out(self, rows: FitRows) -> tuple[Array, Data]:
        """The rows that ``cv`` trains on, and those that it holds out."""
        pool, held = _base.last_split(rows.y, self.cv, rows.group)
        missing = np.setdiff1d(rows.y, rows.y[pool])
        if len(missing):
            raise ValueError(
                f"cv leaves no row of class {rows.classes.tolist()[missing[0]]!r} to train on: "
                "hold out fewer rows"
            )
        held_out = rows.take(held)
        _base.check_held_out_classes("cv", rows.classes, *held_out[1:])
        return pool, held_out

    def _fit_bags(
        self, rows: FitRows, held_out: Any, bags: Sequence[tuple[Any, ...]], loud: bool
    ) -> list[Any]:
        trained: Iterable[Any] = (self._fit_bag(rows, held_out, *bag) for bag in bags)
        return list(_checks.show_progress(loud, trained, len(bags), type(self).__name__, "bag"))

    def _fit_bag(
        self, rows: FitRows, held_out: Data | None, sample: Array, kept: Array, seed: int
    ) -> Any:
        model = _base.fresh(self.estimator)
        unset = [name for name, value in model.get_params().items() if value is None]
        model.set_params(**{k: seed for k in unset if k.split("__")[-1] == "random_state"})
        if _base.find_stopping_rounds(model) is not None and held_out is None:
            y, group = rows.y[sample], _base.take(rows.group, sample)
            (train, held), *_ = held_out_once(y, HELD_OUT_FOLDS, group, random_state=seed)
            held_out = _weigh_back(rows.take(sample[held]), kept)
            sample = sample[train]
            if not np.bincount(rows.y[sample], _base.take(rows.w, sample), len(kept)).all():
                raise ValueError(
                    "early stopping holds out a fifth of each bag's rows, which leaves none of a "
                    "class to train on: pass eval_set=, or fix n_estimators"
                )
        sampled = rows.take(sample)
        if self.correction == "offset":
            return fit_offset(model, _shift(kept), sampled, held_out)
        weighs = self.correction == "weight"
        return _base.train(model, _weigh_back(sampled, kept) if weighs else sampled)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        if isinstance(self.negative_keep_rate, numbers.Real) or self.correction == "offset":
            tags.classifier_tags.multi_class = False
        return tags


def check_stops_on_rows(estimator: Any, correction: str | None) -> None:
    """Raise if the classifier would stop early on no rows, or on another loss than it is given."""
    library = library_in_role(estimator, "Classifier")
    if library is None or _base.find_stopping_rounds(estimator) is None:
        return
    if correction != "offset":
        raise ValueError(
            f"estimator stops early, but with correction={correction!r} it would be measured on "
            "the downsampled population: pass correction='offset', or fix n_estimators"
        )
    parameters = estimator.get_params()
    refuse_parameters(
        parameters, ("eval_metric", *library.aliases.get("metric", ())), (),
        "but early stopping is on the logloss of the full population: leave it out",
    )  # fmt: skip
    _base.check_best_round(parameters)


def check_takes_offset(estimator: Any) -> None:
    library = library_in_role(estimator, "Classifier")
    if library is None:
        raise ValueError(
            "correction='offset' is for LGBMClassifier and XGBClassifier, found "
            f"{type(estimator).__name__}, which cannot be given an objective: pass "
            "correction='prior', which is the same in theory"
        )
    library.check_offset(estimator)
    refuse_parameters(
        estimator.get_params(), OBJECTIVES, library.defaults["Classifier"],
        "but correction='offset' sets its own: leave objective out, or pass correction='prior'",
    )  # fmt: skip


def fit_offset(estimator: Any, shift: float, data: Data, held_out: Data | None) -> Any:
    """The booster, trained so that its margin is the log-odds before sampling."""
    negative, positive = np.bincount(data[1], data[2])
    best = float(np.log(positive / negative) + shift)
    objective = Objective(LoglossLoss(offset=-shift, intercept=best))
    library = library_in_role(estimator, "Classifier")
    stopping_rounds = _base.find_stopping_rounds(estimator)
    assert library is not None
    given = estimator.get_params()
    if given.get("base_score") is None:
        library.check_start(best)
    estimator.set_params(**dict.fromkeys(set(library.own_stopping) & set(given)))
    metric = weighted_logloss_metric(1.0)
    return _base.fit(estimator, library, objective, data, metric, held_out, stopping_rounds)


def corrected(model: Any, d: Any, X: Any) -> Array:
    """The probabilities of a bag, whose log-odds d shifts."""
    return shifted(predict_probability(model, X), d)


def shifted(p: Array, d: Any) -> Array:
    return correct_probability(p, shift=d) if np.any(d) else p


def _shift(kept: Array) -> Any:
    """The shift of log-odds: a float for two classes, (K,) for more."""
    if len(kept) == 2:
        return log_odds_shift(negative_keep_rate=kept[0], positive_keep_rate=kept[1])
    return log_odds_shift(class_keep_rates=kept)


def _measure_rates(rows: FitRows, pool: Array, sample: Array) -> Array:
    """The fraction of each class's rows in the pool, or of their weight, that is in the sample."""
    full = np.bincount(rows.y[pool], _base.take(rows.w, pool))
    kept = np.bincount(rows.y[sample], _base.take(rows.w, sample), minlength=len(full))
    if not kept.all():
        k = int(np.argmin(kept))
        raise ValueError(
            f"the sampled rows of class {rows.classes.tolist()[k]!r} have a total weight of 0, "
            f"before sampling {full[k]:g}: keep this class at a higher rate"
        )
    return kept / full


def _weigh_back(data: Data, kept: Array) -> Data:
    """Rows of a sample, with weights that make them stand for all they were drawn from."""
    X, y, w = data
    back = 1 / kept[y]
    return X, y, back if w is None else back * w
