"""A report: one page of HTML that shows how a fitted model does on new rows.

Symbols: C the (weighted) counts [true, predicted] of rows of K classes.
"""

from __future__ import annotations

import math
from base64 import b64encode
from collections.abc import Callable, Mapping
from functools import partial
from html import escape
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from sklearn.utils.validation import check_is_fitted

from gbdt_objectives import _checks
from gbdt_objectives._checks import Array, Sampling, group_numbers, positions, shown
from gbdt_objectives._checks.spellings import WRITE_OUT
from gbdt_objectives._public import public
from gbdt_objectives._registry import library_of
from gbdt_objectives._rows.rows import Shown
from gbdt_objectives.calibration import SegmentRatios, calibration_ratio_by_segment
from gbdt_objectives.estimators import QWKClassifier, ThresholdClassifier
from gbdt_objectives.estimators._base import FitRows
from gbdt_objectives.evaluation.performance import (
    metric_of_counts,
    normal_interval,
    variance_of_mean,
)
from gbdt_objectives.metrics import ClassMetric, qwk_metric
from gbdt_objectives.plotting import ReliabilityDisplay, ThresholdDisplay
from gbdt_objectives.plotting.reliability_display import svg
from gbdt_objectives.thresholds import methods

LEVEL = 0.95
MARKED = 0.01  # segments are, of an adjusted p-value below it
PAGE = """<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta http-equiv="Content-Security-Policy"
 content="default-src 'none'; img-src data:; style-src 'unsafe-inline'">
<title>{title}</title>
<style>
:root {{ color-scheme: light dark }}
body {{ font: 16px/1.5 system-ui, sans-serif; max-width: 60rem; margin: 2rem auto }}
body {{ padding: 0 1rem }}
img {{ max-width: 100%; background: white }}
h2 {{ font-size: 1.1rem; margin: 2rem 0 0 }} p {{ margin: 0.2rem 0 }}
div {{ overflow-x: auto; margin: 0.5rem 0 }}
table {{ border-collapse: collapse; font-variant-numeric: tabular-nums }}
th, td {{ padding: 0.2rem 0.8rem; border-bottom: 1px solid #8888 }}
</style>
</head>
<body>
<h1>{title}</h1>
{parts}
</body>
</html>
"""


@public
def report(
    model: Any, X: Any, y: ArrayLike, path: str | PathLike[str], *, title: str = "Report",
    sample_weight: ArrayLike | None = None, counts: ArrayLike | None = None,
    groups: ArrayLike | None = None, segments: ArrayLike | Mapping[Any, ArrayLike] | None = None,
    threshold: float | None = None, negative_keep_rate: float | None = None,
    keep_rate: ArrayLike | None = None,
) -> Path:  # fmt: skip
    """Write a page of HTML that shows how a fitted model does on new rows.

    Use it for the check of a model, each month or before it is served. The page is one file that
    loads nothing, and the same input gives the same page.

    - ``QWKClassifier`` and ``ThresholdClassifier``: quadratic weighted kappa, and the classifier's
      own metric of classes, with limits; the scores of each class with the thresholds; the share
      and the confusion matrix of the classes. Limits are estimate +- 1.96 sqrt(V) with the naive
      variance V of :func:`estimate_performance`; they may pass 1, and are left out if V is 0.
    - Other classifiers of two classes, whose second one, ``classes_[1]``, is label 1:
      :func:`calibration_ratio_by_segment` of all rows, of the ``segments``, and of the alerts from
      ``threshold``, with their share of label 1; a ``ReliabilityDisplay``. All limits are of 95 %.

    Parameters
    ----------
    model : fitted classifier
        One of those above.
    X : array-like or DataFrame of shape (n, features)
        Features of rows that the model was not trained on; scores for ``ThresholdClassifier``.
    y : array-like of shape (n,)
        Classes, of two at least.
    path : str or path
        Where to write the page, a name that ends in .html. A file of this name is replaced.
    title : str
        Heading of the page; the place for a month or a date.
    sample_weight, groups : array-like of shape (n,), optional
        Weights >= 0, and whose row it is: outcomes of one group may depend on each other.
    counts : array-like of shape (n,), optional
        How many identical rows each row stands for, for a model of probabilities.
    segments : array-like of shape (n,), mapping or data frame of such, optional
        The segment of each row, for a model of probabilities.
    threshold : float in [0, 1], optional
        Rows of at least this probability are alerts, for a model of probabilities.
    negative_keep_rate, keep_rate : optional
        How the rows were sampled, as in :func:`calibration_ratio`, for a model of probabilities.

    Returns
    -------
    Path
        That of the page.

    Raises
    ------
    ValueError, TypeError
        A model of another kind, a path of another ending, unknown or equal labels, options of
        another kind of model, and what the functions above refuse.

    Examples
    --------
    >>> import tempfile
    >>> import numpy as np
    >>> from gbdt_objectives import ThresholdClassifier
    >>> from gbdt_objectives.evaluation import report
    >>> rng = np.random.default_rng(0)
    >>> score = rng.normal(size=300)
    >>> y = np.digitize(score + 0.5 * rng.normal(size=300), [-1, 0, 1])
    >>> classifier = ThresholdClassifier().fit(score[:200], y[:200])
    >>> path = report(classifier, score[200:], y[200:], tempfile.mkdtemp() + "/grades.html")
    >>> "kappa" in path.read_text(encoding="utf-8")
    True
    """
    if not str(path).lower().endswith(".html"):
        raise ValueError(
            f"path {shown(path)} would hold a page of HTML: give a name that ends in .html"
        )
    if not Path(path).parent.is_dir():
        raise ValueError(f"path {shown(path)} is in a folder that does not exist: make it first")
    of_rows = X, y, sample_weight, groups
    others = {
        "segments": segments, "threshold": threshold, "negative_keep_rate": negative_keep_rate,
        "keep_rate": keep_rate,
    }  # fmt: skip
    if isinstance(model, QWKClassifier | ThresholdClassifier):
        if counts is not None:
            raise ValueError(
                f"counts is for a model of probabilities, but {type(model).__name__} places "
                f"ordered classes: {WRITE_OUT}"
            )
        if given := [name for name, value in others.items() if value is not None]:
            raise ValueError(
                f"{given[0]} is for a model of probabilities, but {type(model).__name__} places "
                "ordered classes: leave it out"
            )
        parts = _ordinal(model, *of_rows)
    else:
        parts = _probability(model, *of_rows, counts=counts, **others)
    page, whole = Path(path), "\n".join(parts)
    page.write_text(PAGE.format(title=escape(str(title)), parts=whole), encoding="utf-8")
    return page


def _ordinal(model: Any, X: Any, y: Any, sample_weight: Any, groups: Any) -> list[str]:
    check_is_fitted(model, "thresholds_")
    of_one_score = isinstance(model, ThresholdClassifier)
    score = _checks.one_score(X) if of_one_score else model.predict_score(X)
    labels, cuts = model.classes_, model.thresholds_
    true, w = _read_y(y, labels, len(score), sample_weight)
    predicted = positions("the prediction", cuts.apply(score), labels).astype(np.int64)
    unit = np.arange(len(true)) if groups is None else group_numbers(groups, len(true))
    K = len(labels)
    C = np.bincount(true * K + predicted, w, minlength=K * K).reshape(K, K)
    own = methods.of_labels(methods.resolve_metric(getattr(model, "metric", "qwk")), labels)
    judged = {m.name: m for m in (qwk_metric(), own) if isinstance(m, ClassMetric)}
    counts = w > 0
    of_group = _checks.check_groups("groups", unit[counts])
    of_row = true[counts], predicted[counts], w[counts], of_group
    found = [_bounds(partial(metric_of_counts, m, labels), C, *of_row) for m in judged.values()]
    value, low, high = zip(*found, strict=True)
    names, drawn = list(map(str, labels)), ThresholdDisplay.from_predictions
    return [
        _table("How good the classes are", "Each line is a metric of the predicted classes with "
            "its limits of 95 %, which are left out if all rows are right.", {
            "metric": ["quadratic weighted kappa", *list(judged)[1:]], "value": value,
            "95 % from": low, "to": high, "rows": [np.count_nonzero(counts)] * len(value),
        }),
        _picture(
            lambda ax: drawn(y, score, thresholds=cuts, sample_weight=sample_weight, ax=ax),
            "The scores of each class, and the thresholds", "The bars are the scores of the rows, "
            "coloured by their true class; a row gets the class in whose interval its score is.",
        ),
        _table("Classes: from which score, and how frequent", "A row gets the last class whose "
            "score it reaches; both shares are close where no class is predicted too often.", {
            "class": names, "from score": cuts._columns()["low"],
            "share of rows": C.sum(axis=1) / C.sum(), "share predicted": C.sum(axis=0) / C.sum(),
        }),
        _table(f"Confusion matrix: {'rows' if sample_weight is None else 'weight'}", "Each line is "
            "a true class, each column what was predicted; the diagonal is right.", {
            "true class": names,
            **{f"predicted {name}": column for name, column in zip(names, C.T, strict=True)},
        }),
    ]  # fmt: skip


def _bounds(
    value: Callable[[Array], float], C: Array, true: Array, predicted: Array, w: Array, unit: Array
) -> tuple[float, float, float]:
    """A metric of the counts, and its limits: none where every row is right, as V is 0 there."""
    if (true == predicted).all():
        return value(C), math.nan, math.nan
    V = variance_of_mean(methods.row_losses(value, C)[true, predicted], w, unit)
    return value(C), *normal_interval(value(C), math.sqrt(V), LEVEL)


def _probability(
    model: Any, X: Any, y: Any, sample_weight: Any, groups: Any, *, counts: Any, segments: Any,
    threshold: Any, **rates: Any,
) -> list[str]:  # fmt: skip
    if threshold is not None:
        _checks.in_unit_interval("threshold", np.array(_checks.number("threshold", threshold)))
    p = _two_probabilities(model, X)
    labels = getattr(model, "classes_", None)
    labels = np.arange(2) if labels is None else np.asarray(labels)
    copies = _checks.counts("counts", counts, len(p))
    copies = np.ones(len(p), np.int64) if copies is None else copies
    true, w = _read_y(y, labels, len(p), sample_weight, copies)
    rows, p = copies * (w > 0), p[:, 1]
    _ask_sampling([name for name, rate in rates.items() if rate is not None], labels)
    known = {"sample_weight": sample_weight, "counts": counts, "groups": groups, **rates}

    def ratios(by: Any, **bins: Any) -> SegmentRatios:
        return calibration_ratio_by_segment(true, p, by, **known, **bins)

    every, event = ratios("prediction", n_bins=1), str(labels[1])
    of_event = "" if event == "1" else f"; label 1 is {event}"
    parts = [
        _table(f"All rows: ratio is mean prediction / mean outcome{of_event}", "Predictions are "
            "too high on average if the ratio is above 1; the p-value, of the hypothesis that it "
            "is 1, is not adjusted.", {
            "rows": [rows.sum()], "label 1": [rows[true == 1].sum()],
            **_ratio_columns(every), "p of ratio = 1": every.p_value,
        }),
        _picture(
            lambda ax: ReliabilityDisplay.from_predictions(true, {"model": p}, ax=ax, **known),
            "Predicted against observed probability, with limits", "Each point is a bin of "
            "similar predictions with its limits of 95 %; predictions are too high where the point "
            "lies below the dashed diagonal.",
        ),
    ]  # fmt: skip
    if segments is not None:
        parts.append(_by_segment(ratios(segments).by_evidence()))
    if threshold is not None:
        both = ratios({"": np.where(p >= threshold, "alerts", "others")})
        parts.append(_of_alerts(both, threshold))
    return parts


def _two_probabilities(model: Any, X: Any) -> Array:
    """What a classifier of two classes predicts, (n, 2)."""
    predict = None if isinstance(model, type) else getattr(model, "predict_proba", None)
    library = library_of(model)
    X = X if library is None else library.fitting.by_name(model, X)
    p = np.empty(0) if predict is None else np.asarray(predict(X))
    if p.shape[1:] != (2,):
        shape = "" if predict is None else f" with probabilities of shape {p.shape}"
        raise TypeError(
            "model must be a fitted QWKClassifier, ThresholdClassifier or classifier of two "
            f"classes with predict_proba, found {shown(model)}{shape}: of a Pipeline pass its last "
            "step and what the others make of X, of a search its best_estimator_, of any other "
            "scores ThresholdClassifier().fit(oof_score, y), and new scores as X"
        )
    return p


def _ask_sampling(given: list[str], labels: Array) -> None:
    """Ask the guards about rates of this name, if there are any."""
    if given:
        first, second = labels.tolist()
        Sampling(
            name=", ".join(given), classes=[first, second],
            to_name=f"if {first!r} is the event, fit the model to y == {first!r}",
        )  # fmt: skip


def _by_segment(by: SegmentRatios) -> str:
    p_value = by.rest_p_value_holm
    return _table("By segment", "The ratio of each segment is compared with that of "
        "all other rows, the rest; the p-value, of the hypothesis that both are equal, is "
        f"adjusted (Holm) for the number of segments in this table, marked below {MARKED}.", {
        **{k: v for k, v in by._shown()[1].items() if k not in ("p_value", "holm")},
        "rest": by.rest_ratio, "adjusted p": p_value,
        f"below {MARKED}": np.where(p_value < MARKED, "\u25c0", ""),
    })  # fmt: skip


def _of_alerts(both: SegmentRatios, threshold: float) -> str:
    events = both.weight * both.frequency
    return _table(f"Alerts: rows of probability {threshold:g} or more", "Of the alerts, "
        "the mean outcome is the precision, and the share of label 1 is the recall.", {
        "": both.segment, "share of rows": both.weight / both.weight.sum(),
        "share of label 1": events / events.sum(), **_ratio_columns(both),
    })  # fmt: skip


def _ratio_columns(found: SegmentRatios) -> dict[str, Array]:
    return {
        "weight": found.weight, "mean prediction": found.probability,
        "mean outcome": found.frequency, "ratio": found.ratio,
        "95 % from": found.low, "to": found.high,
    }  # fmt: skip


def _read_y(y: Any, labels: Array, n: int, sample_weight: Any, c: Any = 1) -> tuple[Array, Array]:
    """Positions of the classes, and weights, of rows of two classes at least."""
    remedy = "give labels as fit saw them"
    true = positions("y", y, labels, "the model's classes", remedy).astype(np.int64)
    _checks.same_length("y", true, "the rows of X", n)
    w = FitRows.check_weights(sample_weight, n)
    w = np.ones(n) if w is None else np.asarray(w, np.float64)
    FitRows.check_several_classes(labels[np.unique(true[w * c > 0])], "rows of weight above 0")
    return true, w


def _part(title: str, how_to_read: str, body: str) -> str:
    return f"<h2>{escape(title)}</h2><p>{escape(how_to_read)}</p><div>{body}</div>"


def _table(title: str, how_to_read: str, columns: Mapping[str, Any]) -> str:
    return _part(title, how_to_read, Shown._as_html("", columns))


def _picture(draw: Callable[[Any], Any], title: str, how_to_read: str) -> str:
    """What is drawn, within the page; the title says it to those who cannot see it."""
    data = b64encode(svg(draw)).decode()
    img = f"<img alt='{escape(title)}' src='data:image/svg+xml;base64,{data}'>"
    return _part(title, how_to_read, img)
