"""Other packages on their own ground, beside ours: monitoring, segments, cuts, bounds, calibrators.

Run from the repository root: ``python -m experiments.peers [--quick]``. Packages that are not
installed are left out, and the study says which.
"""

from __future__ import annotations

import sys
import time
import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from importlib import import_module
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

import lightgbm as lgb
import numpy as np
import pandas as pd
from scipy.special import expit, softmax
from sklearn.metrics import accuracy_score, f1_score
from tqdm import tqdm

from experiments import _common
from experiments._common import Array, Findings
from experiments.calibrators.__main__ import distort, excess, peer_betacal, peer_venn_abers
from gbdt_objectives import CalibratedClassifier, apply_thresholds, decide, optimize_thresholds
from gbdt_objectives.calibration import (
    BetaCalibrator,
    InterceptCalibrator,
    SplineCalibrator,
    calibration_ratio_by_segment,
)
from gbdt_objectives.thresholds import optimize_decisions

HERE = Path(__file__).parent
CONFIG, RESULTS = HERE / "config.json", HERE / "results"
OURS = "ours"
CERTAIN = 1e-15
FRESH = 20_000  # rows to test on, where config.json does not say
INSTALL = {
    "probcal": "probcal",
    "optimal-cutoffs": "optimal-classification-cutoffs",
    "MAPIE": "mapie",
    "crepes": "crepes",
    "netcal": "netcal",
    "probmetrics": "probmetrics",
    "mcgrad": "mcgrad",
    "betacal": "betacal",
    "venn-abers": "venn-abers",
    "imbalanced-calibrate": "imbalanced-calibrate",
    "imbcal": "imbcal",
}
"""The distribution of each package, by the name that the tables have."""

Figures = dict[str, float]
Way = Callable[[], Figures]
Draw = Callable[[np.random.Generator, Mapping[str, Any]], dict[str, Way]]


@dataclass(frozen=True)
class Task:
    """What is compared: a draw gives each way its figures; +1 where more is better, -1 less."""

    draw: Draw
    better: Mapping[str, int]


def drawn(rng: np.random.Generator, p: Array) -> Array:
    return (rng.random(len(p)) < p).astype(int)


def monitor(rng: np.random.Generator, of: Mapping[str, Any]) -> dict[str, Way]:
    """Days of a right model, and of one whose events become more frequent from a day on."""
    shape = (of["days"], of["rows"])
    z = rng.normal(of["mean"], 1.0, shape)
    late = np.arange(of["days"])[:, None] >= of["from"]
    days = {
        name: (rng.random(shape) < expit(z + of["drift"] * moved)).astype(int)
        for name, moved in (("right", np.zeros_like(late)), ("drift", late))
    }
    p, one = expit(z), np.zeros(of["rows"])

    def limits(level: float) -> Callable[[Array], int]:
        def first(y: Array) -> int:
            for day in range(len(y)):
                found = calibration_ratio_by_segment(y[day], p[day], one, confidence_level=level)
                if found.p_value[0] < 1 - level:
                    return day
            return len(y)

        return first

    def sequential(y: Array) -> int:
        watch = import_module("probcal.monitor").CalibrationMonitor(alpha=of["level"])
        for day in range(len(y)):
            if watch.update(y[day], p[day]).alarm:
                return day
        return len(y)

    def figures(first: Callable[[Array], int]) -> Way:
        def way() -> Figures:
            right, drift = first(days["right"]), first(days["drift"])
            return {
                "false alarm in some day": float(right < of["days"]),
                "days from the drift to the alarm": float(max(drift - of["from"], 0)),
            }

        return way

    return {
        OURS: figures(limits(1 - of["level"] / of["days"])),
        "ours, 0.05 each day": figures(limits(1 - of["level"])),
        "probcal": figures(sequential),
    }


def segments(rng: np.random.Generator, of: Mapping[str, Any]) -> dict[str, Way]:
    """Log-odds that are off by a constant of each segment; excess on the same rows' truth."""
    n = of["rows"]
    segment = rng.integers(0, of["segments"], n)
    shift = rng.normal(0, of["deviation"], of["segments"])[segment]
    z = rng.normal(of["mean"], 1.0, n)
    p, truth = expit(z), expit(z + shift)
    y = drawn(rng, truth)

    def alone() -> Figures:
        new = np.empty(n)
        for s in range(of["segments"]):
            rows = segment == s
            new[rows] = InterceptCalibrator().fit(p[rows], y[rows]).predict(p[rows])
        return {"excess log loss, e-3": excess(truth, new, CERTAIN)}

    def peer() -> Figures:
        fitted = import_module("probcal").SegmentedCalibrator().fit(p, y, segments=segment)
        new = fitted.predict_proba(p, segments=segment)
        return {"excess log loss, e-3": excess(truth, np.asarray(new), CERTAIN)}

    def together() -> Figures:
        new = SplineCalibrator(shrink=True).fit(p, y).predict(p)
        return {"excess log loss, e-3": excess(truth, new, CERTAIN)}

    return {OURS: alone, "ours, one map": together, "probcal": peer}


def ties(rng: np.random.Generator, of: Mapping[str, Any]) -> dict[str, Way]:
    """Whether a cut of few rows with equal scores is below the best of brute force."""
    y = np.zeros(of["rows"], int)
    while y.min() == y.max():
        s, y = (
            rng.integers(0, of["values"], of["rows"]) / of["values"],
            drawn(rng, np.full(of["rows"], 0.5)),
        )
    scores: dict[str, Callable[[Array, Array], float]] = {"f1": f1, "accuracy": accuracy_score}

    def figures(cut: Callable[[str], Array]) -> Figures:
        found = {}
        for metric, value in scores.items():
            best = max(value(y, (s >= at).astype(int)) for at in [*s, np.inf])
            low = value(y, cut(metric)) < best - 1e-9
            found[f"{metric} below the best"] = float(low)
        return found

    def ours(metric: str) -> Array:
        return np.asarray(apply_thresholds(s, optimize_thresholds(y, s, metric=metric)))

    def peer(metric: str) -> Array:
        module = import_module("optimal_cutoffs")
        return np.asarray(module.optimize_thresholds(y, s, metric=metric).predict(s))

    return {OURS: lambda: figures(ours), "optimal-cutoffs": lambda: figures(peer)}


def f1(y: Array, predicted: Array) -> float:
    return float(f1_score(y, predicted, zero_division=0))


def classes_of(rng: np.random.Generator, n: int, K: int) -> tuple[Array, Array]:
    """True probabilities of unequal classes, and labels."""
    P = softmax(rng.normal(size=(n, K)) * 1.2 - 0.6 * np.arange(K), axis=1)
    return P, (rng.random(n)[:, None] > P.cumsum(axis=1)).sum(axis=1).clip(0, K - 1)


def macro(rng: np.random.Generator, of: Mapping[str, Any]) -> dict[str, Way]:
    """Macro F1 of new rows, with true probabilities of classes without order."""
    (P, y), (new, labels) = (
        classes_of(rng, n, of["classes"]) for n in (of["rows"], of.get("test_rows", FRESH))
    )

    def ours() -> Array:
        return optimize_decisions(P, "macro_f1", y_true=y).apply(new)

    def peer() -> Array:
        module = import_module("optimal_cutoffs")
        task = module.Task.MULTICLASS
        found = module.optimize_thresholds(y, P, metric="f1", task=task, method="coord_ascent")
        return np.asarray(found.predict(new))

    def figures(way: Callable[[], Array]) -> Way:
        return lambda: {"macro F1": float(f1_score(labels, way(), average="macro"))}

    return {OURS: figures(ours), "optimal-cutoffs": figures(peer)}


def actions(rng: np.random.Generator, of: Mapping[str, Any]) -> dict[str, Way]:
    """Expected cost of actions, with one cost matrix (K, A)."""
    P, _ = classes_of(rng, of["rows"], of["classes"])
    C = rng.random((of["classes"], of["actions"]))

    def figures(choose: Callable[[], Array]) -> Way:
        return lambda: {"expected cost": float((P @ C)[np.arange(len(P)), choose()].mean())}

    def peer() -> Array:
        return np.asarray(import_module("optimal_cutoffs").optimize_decisions(P, C).predict(P))

    names = np.arange(of["actions"])
    return {
        OURS: figures(lambda: decide(P, costs=C, actions=names)),
        "optimal-cutoffs": figures(peer),
    }


def bound(rng: np.random.Generator, of: Mapping[str, Any]) -> dict[str, Way]:
    """A precision promised with a confidence: broken, without a cut, and the recall."""
    p, new = (expit(rng.normal(of["mean"], of["deviation"], of[n])) for n in ("rows", "test_rows"))
    y = drawn(rng, p)

    def figures(chosen: Array | None) -> Figures:
        broken, recall = False, 0.0
        if chosen is not None and chosen.any():
            broken = bool(new[chosen].mean() < of["precision"])
            recall = float(new[chosen].sum() / new.sum())
        return {
            "precision below the promise": float(broken),
            "no cut": float(chosen is None or not chosen.any()),
            "recall, 0 without a cut": recall,
        }

    def ours() -> Figures:
        try:
            cut = optimize_thresholds(
                y, p, metric="recall", constraints={"precision": of["precision"]},
                confidence_level=of["level"],
            )  # fmt: skip
        except ValueError:
            return figures(None)
        return figures(np.asarray(apply_thresholds(new, cut)) == 1)

    def peer() -> Figures:
        control = import_module("mapie.risk_control").BinaryClassificationController(
            lambda X: np.column_stack([1 - X[:, 0], X[:, 0]]), "precision", of["precision"],
            confidence_level=of["level"],
        )  # fmt: skip
        control.calibrate(p[:, None], y)
        if control.best_predict_param is None:
            return figures(None)
        return figures(np.asarray(control.predict(new[:, None])).ravel() == 1)

    return {OURS: ours, "MAPIE": peer}


def sets(rng: np.random.Generator, of: Mapping[str, Any]) -> dict[str, Way]:
    """Sets of classes that hold the truth at a level, from true probabilities."""
    (P, y), (new, labels) = (
        classes_of(rng, n, of["classes"]) for n in (of["rows"], of.get("test_rows", FRESH))
    )

    def figures(found: Array) -> Figures:
        held = found[np.arange(len(labels)), labels].mean()
        least = min(found[labels == k, k].mean() for k in range(of["classes"]))
        return {
            "share of sets with the truth": float(held),
            "the same, worst class": float(least),
            "classes in a set": float(found.sum(axis=1).mean()),
        }

    def mapie() -> Figures:
        module = import_module("mapie.classification")
        model = module.SplitConformalClassifier(
            Given(of["classes"]), confidence_level=of["level"], prefit=True
        )
        return figures(model.conformalize(P, y).predict_set(new)[1][:, :, 0])

    def crepes(by_class: bool) -> Figures:
        model = import_module("crepes").WrapClassifier(Given(of["classes"]))
        model.calibrate(P, y, class_cond=by_class, seed=0)
        found = model.predict_set(new, labels=False, confidence=of["level"], seed=0)
        return figures(np.asarray(found).astype(bool))

    return {
        "MAPIE": mapie,
        "crepes": lambda: crepes(False),
        "crepes, by class": lambda: crepes(True),
    }


def micro(rng: np.random.Generator, of: Mapping[str, Any]) -> dict[str, Way]:
    """Micro F1 of several labels, one cut each, from true probabilities."""
    shape = (of["rows"], of["labels"])
    P, new = (
        expit(rng.normal(-1.5, 1.5, n)) for n in (shape, (of.get("test_rows", FRESH), of["labels"]))
    )
    Y, labels = (drawn(rng, p.ravel()).reshape(p.shape) for p in (P, new))

    def peer() -> Figures:
        module = import_module("optimal_cutoffs")
        found = module.optimize_thresholds(
            Y, P, metric="f1", task=module.Task.MULTILABEL, average=module.Average.MICRO
        )
        return {"micro F1": float(f1_score(labels, found.predict(new), average="micro"))}

    return {"optimal-cutoffs": peer}


def calibrators(rng: np.random.Generator, of: Mapping[str, Any]) -> dict[str, Way]:
    """The asymmetric distortion of the study of calibrators, which a beta map straightens."""
    z, new_z = (rng.normal(of["mean"], 1.5, of[n]) for n in ("rows", "test_rows"))
    p, new = (expit(distort(x, "asymmetric")) for x in (z, new_z))
    y, truth = drawn(rng, expit(z)), expit(new_z)

    def figures(fit: Callable[[], Array]) -> Way:
        return lambda: {"excess log loss, e-3": excess(truth, np.asarray(fit()), CERTAIN)}

    def probmetrics() -> Array:
        fitted = import_module("probmetrics.calibrators").get_calibrator("svs")
        fitted.fit(two(p), y)
        return np.asarray(fitted.predict_proba(two(new)))[:, 1]

    def netcal() -> Array:
        fitted = import_module("netcal.scaling").BetaCalibration()
        fitted.fit(p, y)
        return np.asarray(fitted.transform(new)).ravel()

    def mcgrad() -> Array:
        model = import_module("mcgrad.methods").MCGrad()
        rows, names = pd.DataFrame({"p": p, "all": "a", "y": y}), ["all"]
        model.fit(rows, "p", "y", categorical_feature_column_names=names)
        later = pd.DataFrame({"p": new, "all": "a"})
        return np.asarray(model.predict(later, "p", categorical_feature_column_names=names), float)

    def probcal() -> Array:
        return np.asarray(import_module("probcal").BetaCalibrator().fit(p, y).predict_proba(new))

    return {
        OURS: figures(lambda: BetaCalibrator().fit(p, y).predict(new)),
        "ours, default": figures(lambda: SplineCalibrator(shrink=True).fit(p, y).predict(new)),
        "probcal": figures(probcal),
        "probmetrics": figures(probmetrics),
        "netcal": figures(netcal),
        "mcgrad": figures(mcgrad),
        "betacal": figures(lambda: peer_betacal(p, y, None)(new)),
        "venn-abers": figures(lambda: peer_venn_abers(p, y, None)(new)),
    }


def imbalance(rng: np.random.Generator, of: Mapping[str, Any]) -> dict[str, Way]:
    """LightGBM with balanced class weights on rare events, as probabilities."""
    X, new = rng.normal(size=(2, of["rows"], 5))

    def truth(rows: Array) -> Array:
        return expit(of["mean"] + rows[:, 0] + 0.7 * rows[:, 1] * (rows[:, 2] > 0))

    y = drawn(rng, truth(X))
    plain = {"n_estimators": 50, "num_leaves": 8, "n_jobs": 1, "verbose": -1, "random_state": 0}
    balanced = lgb.LGBMClassifier(**plain, class_weight="balanced")

    def figures(model: Callable[[], Any]) -> Way:
        def way() -> Figures:
            P = model().fit(X, y).predict_proba(new)
            return {"excess log loss, e-3": excess(truth(new), P[:, 1], CERTAIN)}

        return way

    def peer() -> Any:
        return import_module("imbcalibrate").PriorCalibratedClassifier(balanced)

    def imbcal() -> Any:
        model = import_module("imbcal").ImbalanceCalibratedClassifier
        return model(lgb.LGBMClassifier(**plain), random_state=0)

    return {
        OURS: figures(lambda: CalibratedClassifier(lgb.LGBMClassifier(**plain))),
        "nothing undone": figures(lambda: balanced),
        "imbalanced-calibrate": figures(peer),
        "imbcal": figures(imbcal),
    }


def two(p: Array) -> Array:
    return np.column_stack([1 - p, p])


class Given:
    """A fitted classifier, as others want it, whose features are its probabilities."""

    def __init__(self, n_classes: int) -> None:
        self.n_classes = n_classes
        self.classes_ = np.arange(n_classes)

    def fit(self, X: Array, y: Array) -> Given:
        return self

    def predict_proba(self, X: Array) -> Array:
        return np.asarray(X)

    def predict(self, X: Array) -> Array:
        return np.asarray(X).argmax(axis=1)

    def __sklearn_is_fitted__(self) -> bool:
        return True


LOSS = {"excess log loss, e-3": -1}
TASKS = {
    "monitor": Task(
        monitor, {"false alarm in some day": -1, "days from the drift to the alarm": -1}
    ),
    "segments": Task(segments, LOSS),
    "ties": Task(ties, {"f1 below the best": -1, "accuracy below the best": -1}),
    "macro": Task(macro, {"macro F1": 1}),
    "actions": Task(actions, {"expected cost": -1}),
    "bound": Task(
        bound, {"precision below the promise": -1, "no cut": -1, "recall, 0 without a cut": 1}
    ),
    "sets": Task(sets, {}),
    "micro": Task(micro, {}),
    "calibrators": Task(calibrators, LOSS),
    "imbalance": Task(imbalance, LOSS),
}


def run_all(settings: Mapping[str, Any], missing: set[str]) -> pd.DataFrame:
    """One line a task, draw, way and figure; names of packages that cannot be imported go into
    ``missing``."""
    lines = []
    with warnings.catch_warnings(), tqdm(total=sum(settings[t]["draws"] for t in TASKS)) as bar:
        warnings.simplefilter("ignore")
        for number, (name, task) in enumerate(TASKS.items()):
            for draw in range(settings[name]["draws"]):
                rng = np.random.default_rng([settings["seed"], number, draw])
                for way, figures in task.draw(rng, settings[name]).items():
                    began = time.process_time()
                    try:
                        found = figures()
                    except ImportError:
                        missing.add(way.split(",")[0])
                        continue
                    seconds = time.process_time() - began
                    lines += [
                        {"task": name, "draw": draw, "way": way, "figure": figure, "value": value,
                         "seconds": seconds}
                        for figure, value in found.items()
                    ]  # fmt: skip
                bar.update()
    return pd.DataFrame(lines)


def summarize(cells: pd.DataFrame) -> pd.DataFrame:
    """Means, and of a way that is compared its gain over ours: positive where it is better."""
    lines = []
    for (task, figure, way), own in cells.groupby(["task", "figure", "way"], sort=False):
        ours = cells[(cells.task == task) & (cells.figure == figure) & (cells.way == OURS)]
        line = {"task": task, "figure": figure, "way": way, "value": own.value.mean(),
                "seconds": own.seconds.median(), "gain": np.nan, "error": np.nan}  # fmt: skip
        sign = TASKS[task].better.get(figure, 0)
        if len(ours) and sign and way != OURS:
            gain = sign * (own.set_index("draw").value - ours.set_index("draw").value)
            line["gain"], line["error"] = _common.mean_and_error(gain.round(12).tolist())
        lines.append(line)
    return pd.DataFrame(lines)


def verdict(gain: float, error: float) -> str:
    if np.isnan(gain):
        return ""
    if abs(gain) <= 2 * error or gain == 0:
        return "no clear difference"
    return "better than ours" if gain > 0 else "worse than ours"


def table_of(summary: pd.DataFrame) -> str:
    rows = []
    for row in summary.itertuples():
        shown = "" if np.isnan(row.gain) else _common.plus_minus(row.gain, row.error)
        result = "" if row.way.startswith(OURS) else verdict(row.gain, row.error)
        rows.append([row.task, row.figure, row.way, f"{row.value:.4g}", shown, result,
                     f"{row.seconds:.2g}"])  # fmt: skip
    header = ["task", "figure", "package", "mean", "gain over ours", "verdict", "seconds"]
    return _common.markdown_table(header, rows)


def quick(settings: Mapping[str, Any]) -> dict[str, Any]:
    """Two small draws of each task."""
    small = {"draws": 2, "rows": 500, "test_rows": 1000, "days": 10, "from": 4, "segments": 4}
    return {
        name: {"test_rows": small["test_rows"]}
        | {key: min(value, small.get(key, value)) for key, value in settings[name].items()}
        for name in TASKS
    }


QUICK = quick(_common.read_json(CONFIG))


def versions(missing: set[str]) -> pd.DataFrame:
    """Of the packages that ran."""
    lines = []
    for name, distribution in INSTALL.items():
        try:
            found = version(distribution)
        except PackageNotFoundError:
            missing.add(name)
            found = ""
        lines.append({"package": name, "version": "" if name in missing else found})
    return pd.DataFrame(lines)


def study(folder: Path | None, settings: dict[str, Any]) -> Findings:
    missing: set[str] = set()
    cells = run_all(settings, missing)
    summary = summarize(cells)
    ran = versions(missing)
    claim = "each verdict is that of the rule of config.json"
    if missing:
        claim = f"without {', '.join(sorted(missing))}: pip install the packages of the README"
    figures = {"summary": summary.round(6), "cells": cells.round(6), "versions": ran}
    return Findings(figures, table_of(summary), claim)


def main(arguments: Sequence[str] | None = None) -> int:
    return _common.run_study(HERE, str(__doc__), study, arguments, quick=QUICK)


if __name__ == "__main__":
    sys.exit(main())
