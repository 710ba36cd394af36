"""Check that models predict, through every door, what the link makes of their margins.

A door is an API that trains and predicts. Symbols: y labels, f margins, p predictions.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from gbdt_objectives import _registry
from gbdt_objectives._checks import Array
from gbdt_objectives._links import IDENTITY, LOG, LOGIT, Link
from gbdt_objectives.adapters._models import CannotTrain
from gbdt_objectives.checking.probe import OTHER_MARGINS, ROWS, Failure, Probe, Skipped

ROUNDS = 3
CLOSE = 1e-3  # between a prediction and the label that it should be: gradients may be float32
FLOAT32 = 1e-4  # between two doors: XGBoost adds up and transforms in float32
STEPS = 200  # number of half steps of Newton's method towards the best margins of several outputs
SHARES = (0.2, 0.6)  # of label 1, whose best margin is looked for where a label alone has none
SILENT = "a function says nothing of its margins: objective(function, link=...) does"


def check_link(probe: Probe) -> str | None:
    """At the best margin of rows that are all alike, the link predicts their label."""
    link = probe.objective(SILENT).link
    if link.is_of_objective and None in (link.n_classes, link.reader):
        raise Failure(
            "its link is a score, but nobody can read it: declare link = Link.score(reader, "
            "n_classes), with the function that turns margins into the probability of each class, "
            "(n, n_classes), or IDENTITY, LOG or LOGIT if that is what a margin is"
        )
    if probe.by_row or probe.couples_rows:  # there a label alone has no best margin
        return None
    if probe.f.ndim > 1:
        known, named = [Link.softmax(probe.f.shape[1])], ["Link.softmax(K)"]
        what, (y, f) = "the shares of the classes", _of_shares(probe)
    elif link.n_classes in (None, 2):
        known, named = [IDENTITY, LOG, LOGIT], ["IDENTITY", "LOG", "LOGIT"]
        what, (y, f) = "the mean label", _of_labels(probe)
    else:  # a score of several classes
        return None
    if y.size < 2 or _fits(link, y, f):
        return None
    found = f"where {what} is {_last(y)}, the best margin is {_last(f)}"
    predicted = f"which models predict as {_last(_prediction(link, f))}"
    k = next((k for k, other in enumerate(known) if _fits(other, y, f)), None)
    if k is None:
        corrects = "that is right if the loss corrects for sampling or weights, or fits no mean"
        return f"{found}, {predicted}: {corrects}" if link.is_declared else None
    remedy = (
        f"margins are {known[k].margins}, so declare link={known[k].name!r} in objective(), or "
        f"link = {named[k]} in a Loss"
    )
    if not link.is_declared:
        return f"{found}, {predicted}: {remedy}"
    raise Failure(f"{found}, {predicted}, as it declares {link!r}: {remedy}")


def _last(values: Array) -> str:
    return ", ".join(f"{value:.4g}" for value in np.atleast_1d(values[-1]))


def _of_labels(probe: Probe) -> tuple[Array, Array]:
    """Mean labels, and the margins at which rows of that label, or share of 1, lose least."""
    labels = np.unique(probe.y)
    around = labels[0] - 1, labels[-1] + 1, *labels[:-1] + 0.5
    grid = np.unique([*-OTHER_MARGINS, *OTHER_MARGINS, *around])
    half = np.arange(ROWS // 2)
    alone = [np.full(len(half), label) for label in np.union1d(labels, (2.5, 10.0))]
    mixed = [(half < share * len(half)).astype(float) for share in SHARES]
    for trials in alone, mixed:
        found = [(y.mean(), f) for y in trials if (f := _best_margin(probe, y, grid)) is not None]
        if found:
            means, best = np.array(found).T
            return means, best
    return np.empty(0), np.empty(0)


def _best_margin(probe: Probe, labels: Array, grid: Array) -> float | None:
    """The margin at which the gradients of the first rows, with these labels, sum to 0."""
    from scipy.optimize import brentq

    around = probe.margins_around_best(labels, grid)
    if around is None:
        return None
    y, f, half = probe.y.copy(), probe.f.copy(), slice(len(labels))
    y[half] = labels

    def slope(margin: float) -> float:
        f[half] = margin
        return float(probe.both(f, None, y)[0][half].sum())

    return float(brentq(slope, *around, xtol=CLOSE / 1000))


def _of_shares(probe: Probe) -> tuple[Array, Array]:
    """Shares of the K classes, (1, K), and the margins at which all rows together lose least."""
    K = probe.f.shape[1]
    y = np.floor(K * ((np.arange(ROWS) + 0.5) / ROWS) ** 2)  # fewer and fewer of each class
    f = np.zeros((1, K))
    try:
        for _ in range(STEPS):
            g, h = (part.sum(axis=0) for part in probe.both(np.repeat(f, ROWS, axis=0), None, y))
            f = f - 0.5 * g / h
    except Exception:  # refused there
        return np.empty(0), np.empty(0)
    return np.bincount(y.astype(int), minlength=K)[np.newaxis] / ROWS, f


def _prediction(link: Link, f: Array) -> Array:
    """The predictions of models; for two classes the probability of 1."""
    if not link.is_of_objective:
        return link.inverse(f)
    p = link.class_probability(f)
    return p[:, 1] if f.ndim == 1 else p


def _fits(link: Link, y: Array, f: Array) -> bool:
    with np.errstate(over="ignore"):
        return np.allclose(_prediction(link, f), y, rtol=CLOSE, atol=CLOSE)


def check_predictions(probe: Probe) -> None:
    """``train`` and the drop-in estimator of each library predict what the link says."""
    target = probe.objective(SILENT)
    if probe.f.ndim > 1 and target.outputs == 1:
        K = probe.f.shape[1]
        raise Skipped(f"no library would train {K} margins a row: objective(function, outputs={K})")
    missing = {}
    for name in _registry.EVERY:
        try:
            library = _registry.any_library(name)
        except ImportError as error:
            missing[name] = str(error)
        else:
            _check_doors(probe, library)
    if {*_registry.BY_NAME} <= {*missing}:
        raise Skipped("; ".join(missing.values()))


def _check_doors(probe: Probe, library: Any) -> None:
    """Train a few rounds on the labels with one library, and compare predictions with the link."""
    target, y = probe.target, probe.y
    X = np.column_stack([y, np.arange(ROWS)])  # LightGBM refuses rows that are all alike
    link = target.link
    kind = "Regressor" if link.n_classes is None else "Classifier"
    name = library.prefix + kind

    def trained() -> tuple[Any, Any, Any]:
        adapter, data = f"gbdt_objectives.adapters.{library.name}", library.data(X, y)
        booster = _registry.load(adapter).train(library.small, data, ROUNDS, objective=target)
        rows = library.predicts_on(X)
        margin = booster.predict(rows, **{library.margin_flag: True})
        return margin, booster.predict(rows), link.inverse

    def fitted() -> tuple[Any, Any, Any]:
        estimator = library.kinds[name](
            objective=target, **library.fixed_rounds(ROUNDS), **library.small
        ).fit(X, y.astype(int) if kind == "Classifier" else y)
        predict = estimator.predict_proba if kind == "Classifier" else estimator.predict
        reader = estimator.objective_.class_probability if kind == "Classifier" else link.inverse
        return library.fitting.margin(estimator, X=X), predict(X), reader

    own = {"train": trained} if library.name in _registry.BY_NAME else {}
    for last, run in {**own, name: fitted}.items():
        door = f"adapters.{library.name}.{last}"
        try:
            f, p, reader = run()
        except CannotTrain:
            continue
        except Exception as error:
            raise Failure(f"{door} raises {type(error).__name__}: {error}") from error
        _check_prediction(door, link, np.asarray(p), np.asarray(reader(np.asarray(f, np.float64))))


def _check_prediction(door: str, link: Link, p: Array, expected: Array) -> None:
    if p.shape != expected.shape:
        raise Failure(f"{door} predicts shape {p.shape}, not {expected.shape}")
    outside = ~((p >= link.lowest) & (p <= link.highest))
    if outside.any():
        raise Failure(
            f"{door} predicts {p[outside][0]:.4g}, outside of the range of {link!r}, from "
            f"{link.lowest:g} to {link.highest:g}"
        )
    off = np.abs(p - expected) - FLOAT32 * np.maximum(1, np.abs(expected))
    if off.max() > 0:
        row = np.unravel_index(int(off.argmax()), off.shape)
        raise Failure(
            f"{door} predicts {p[row]:.4g} where {link!r} makes {expected[row]:.4g} of the margin: "
            "name the library's objective that transforms margins as the link does"
        )
