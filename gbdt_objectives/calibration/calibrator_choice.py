"""The default calibrator, and the choice of one by cross-validated log loss."""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import expit, logit, xlog1py, xlogy
from sklearn.base import clone
from sklearn.utils.validation import has_fit_parameter

from gbdt_objectives import _checks
from gbdt_objectives._checks import Array, RandomState, Sampling
from gbdt_objectives._checks.tables import Split, held_out_once
from gbdt_objectives._public import public
from gbdt_objectives._rows.rows import Table
from gbdt_objectives.calibration import calibrators, rows as _rows
from gbdt_objectives.calibration.calibrators import Calibrator, InterceptCalibrator, LogitCalibrator
from gbdt_objectives.calibration.hull import area
from gbdt_objectives.calibration.rows import LabelledRows
from gbdt_objectives.calibration.spline_calibrator import SplineCalibrator
from gbdt_objectives.calibration.temperature_calibrator import class_offset
from gbdt_objectives.calibration.venn_abers_calibrator import VennAbersCalibrator

CANDIDATES: tuple[Calibrator, ...] = (
    SplineCalibrator(shrink=True), LogitCalibrator(), calibrators.BetaCalibrator(),
    VennAbersCalibrator(), calibrators.ROCConvexHullCalibrator(m=2, prior="base_rate"),
)  # fmt: skip
"""The first is chosen unless another is better beyond chance."""

CLEARLY = 3.0  # standard errors by which another must be better


@public
@dataclass(frozen=True)
class CalibratorChoice(Table):
    """Result of :func:`choose_calibrator`.

    Attributes
    ----------
    calibrator : calibrator
        The chosen one, not fitted.
    log_loss : dict
        The cross-validated log loss of each candidate, by class; inf if it failed or was certain.
    """

    calibrator: Calibrator
    log_loss: dict[str, float]

    def _shown(self) -> tuple[str, dict[str, Any]]:
        return f"CalibratorChoice: {type(self.calibrator).__name__}", self._columns()

    def _columns(self) -> dict[str, Any]:
        return {"calibrator": list(self.log_loss), "log_loss": list(self.log_loss.values())}


def fit_default(
    score: Array, y: Array, w: Array | None, *,
    input_space: Literal["probability", "margin"] = "probability", **rates: Any,
) -> Calibrator:  # fmt: skip
    """The shrunk spline; for a single score a shift, for certain and wrong ones Venn-Abers."""
    shift = [InterceptCalibrator(input_space=input_space)] * _rows.is_one_score(score)
    try:
        return SplineCalibrator(input_space=input_space, shrink=True).fit(score, y, w, **rates)
    except ValueError as refused:
        for calibrator in (*shift, VennAbersCalibrator()):
            with suppress(ValueError):
                return calibrator.fit(score, y, w, **rates)
        raise refused from None


@public
def choose_calibrator(
    y_true: ArrayLike, score: ArrayLike, sample_weight: ArrayLike | None = None, *, cv: Any = 5,
    random_state: RandomState = 0, negative_keep_rate: float | None = None,
    keep_rate: ArrayLike | None = None, class_keep_rates: Mapping[Any, float] | None = None,
    groups: ArrayLike | None = None, verbose: bool | int = False,
) -> CalibratorChoice:  # fmt: skip
    """Compare calibrators of probabilities by cross-validated log loss, and choose one.

    Use it where events are many enough to tell calibrators apart. The choice is
    ``SplineCalibrator(shrink=True)``, unless the log loss of another calibrator is lower by more
    than three standard errors of the paired difference on held-out rows: then the best of those.
    The others are ``LogitCalibrator``, ``BetaCalibrator``, ``VennAbersCalibrator`` and
    ``ROCConvexHullCalibrator(m=2, prior="base_rate")``.

    Parameters
    ----------
    y_true, score : array-like of shape (n,)
        Labels 0 and 1, each in two rows or more, and probabilities of label 1 in the full
        population, of rows the model was not trained on.
    sample_weight : array-like of shape (n,), optional
        Weights >= 0, in the fits and in the loss. In the folds and in the standard error a row
        counts as one. Weights count rows: divide amounts of money by their mean.
    cv : int or splitter
        The number of stratified, shuffled folds, or a splitter that holds each row out once.
    random_state : int, numpy Generator or RandomState, or None
        Seed for shuffling the folds.
    negative_keep_rate, keep_rate, class_keep_rates : optional
        How the rows were sampled, as in ``LogitCalibrator.fit``: pass it there, too. The log loss
        is that of the kept rows, and inf for candidates that need one rate where rates differ.
    groups : array-like of shape (n,), optional
        Whose row it is, where outcomes of one user, session or document may depend on each other:
        rows of one are held out together, and count together in the standard error.
    verbose : bool or int
        Whether to show progress over the five by tqdm, ``pip install 'gbdt_objectives[progress]'``.

    Returns
    -------
    CalibratorChoice

    Examples
    --------
    >>> import numpy as np
    >>> from gbdt_objectives.calibration import choose_calibrator
    >>> rng = np.random.default_rng(0)
    >>> p = rng.beta(1, 3, 20_000)
    >>> y = (rng.random(20_000) < p**2 / (p**2 + 1 - p)).astype(int)
    >>> choose_calibrator(y, p).calibrator
    SplineCalibrator(shrink=True)
    """
    rows = LabelledRows.of_scores("y_true", y_true, _checks.one_score(score), sample_weight)
    offset = _rows.sampling_offset(negative_keep_rate, keep_rate, class_keep_rates, rows)
    LogitCalibrator()._log_odds(rows.p)  # are they probabilities?
    calibrators.warn_if_falling(area(*_rows.group_ties(rows)[1:]))
    if int(np.bincount(rows.y.astype(np.int64)).min()) < 2:
        raise ValueError(
            "y_true has a single row of one label: name a calibrator, such as InterceptCalibrator()"
        )
    _checks.generator(random_state)
    group = rows.owners(groups)
    splits = held_out_once(rows.y, cv, group, random_state=random_state)
    named = {type(one).__name__: one for one in CANDIDATES}
    each = _checks.show_progress(verbose, named.items(), len(named), "calibrators", "calibrator")
    held_out = {name: held_out_losses(one, rows, splits, offset) for name, one in each}
    W = float(rows.w.sum())
    mean = {name: float(rows.w @ loss) / W for name, loss in held_out.items()}
    first, *others = named
    better = [n for n in others if clearly_less(held_out[n], held_out[first], rows.w, group)]
    return CalibratorChoice(clone(named[min(better or [first], key=mean.__getitem__)]), mean)


def clearly_less(loss: Array, other: Array, w: Array, group: Array | None) -> bool:
    """Whether the mean loss is lower by more than ``CLEARLY`` standard errors of the difference."""
    if not np.isfinite(loss).all():
        return False
    if not np.isfinite(other).all():
        return True
    mean, error = LabelledRows.mean_and_error(loss - other, w, group)
    return mean < -CLEARLY * error


def held_out_losses(
    candidate: Calibrator, rows: _rows.LabelledRows, splits: list[Split],
    offset: calibrators.Offset = 0.0,
) -> Array:  # fmt: skip
    """The log loss of each row in the sample, inf in all rows where a fit is refused."""
    losses = np.empty(len(rows.y))
    o = np.broadcast_to(offset, len(rows.y))
    for train, test in splits:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UserWarning)  # of slopes that do not rise
            try:
                fitted = clone(candidate).fit(
                    rows.p[train], rows.y[train], rows.w[train], keep_rate=np.exp(-o[train])
                )
            except ValueError:
                return np.full(len(rows.y), np.inf)
        p, y = fitted.predict(rows.p[test]), rows.y[test]
        p = expit(logit(p) + o[test]) if o[test].any() else p
        losses[test] = -xlogy(y, p) - xlog1py(1 - y, -p)
    return losses


def takes_columns(calibrator: Any) -> bool:
    """Whether it reads the probability of each class, be it of two."""
    return getattr(calibrator, "_takes_columns", False)


def check_rates(
    rows: tuple[Array, Array | None], classes: Array, calibrator: Any, **rates: Any
) -> dict[str, Any]:
    """The rate that is given, if any, checked before anything is trained."""
    given = {name: rate for name, rate in rates.items() if rate is not None}
    for name in given:
        if not isinstance(calibrator, str | None) and not has_fit_parameter(calibrator, name):
            raise ValueError(
                f"{name} is given, but {type(calibrator).__name__} does not accept it: use a "
                "calibrator of this package, or weigh the rows, sample_weight="
                "numpy.where(y == 1, 1, 1 / rate)"
            )
    if len(classes) == 2 and given.keys() - {"class_keep_rates"}:
        first, second = classes.tolist()
        Sampling(
            name=", ".join(given), classes=[first, second],
            to_name=f"pass class_keep_rates={{{first!r}: rate, {second!r}: 1}} to say so, or fit "
            f"y == {second!r}; if {first!r} is the event fit y == {first!r}",
        )  # fmt: skip
    position, w = rows
    labels = position.astype(np.float64)
    own = LabelledRows.weighed(labels, labels, w, "y")
    if "keep_rate" in given and np.ndim(given["keep_rate"]):
        given["keep_rate"] = np.asarray(given["keep_rate"])
        if np.ndim(given["keep_rate"]) == 1 and len(given["keep_rate"]) != len(position):
            raise ValueError(
                f"keep_rate has {len(given['keep_rate'])} rows, but the labels have "
                f"{len(position)}: pass the rate of each row of eval_set, or, without it, of X"
            )
    if takes_columns(calibrator):
        class_offset(**rates | given, rows=own, classes=classes)
    elif len(classes) == 2 and set(given) == {"class_keep_rates"}:
        _rows.negative_rate(given["class_keep_rates"], classes.tolist())
    if "class_keep_rates" in given:
        found = _rows.read_class_rates(given["class_keep_rates"], classes.tolist())
        given["class_keep_rates"] = dict(enumerate(found.tolist()))
    if len(classes) == 2 and not takes_columns(calibrator):
        offset = _rows.sampling_offset(**rates | given, rows=own)
        if getattr(calibrator, "_takes_one_rate", False):
            calibrators.one_shift(calibrator, offset)
    return given
