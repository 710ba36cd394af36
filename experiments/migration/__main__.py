"""Pasted code beside the same job done with this package: lines, seconds and scores of each pair.

Run from the repository root: ``python -m experiments.migration [--quick]``. The pairs are the files
``NAME_before.py`` and ``NAME_after.py`` of docs/migration, which docs/migration.md shows.
"""

from __future__ import annotations

import importlib
import sys
import time
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import lightgbm as lgb
import numpy as np
import pandas as pd
from scipy.special import expit
from sklearn.calibration import CalibratedClassifierCV
from sklearn.metrics import f1_score, log_loss
from sklearn.model_selection import StratifiedKFold, TimeSeriesSplit, cross_val_predict
from tqdm import tqdm

from experiments import _common
from experiments._common import Array
from gbdt_objectives import (
    QWKClassifier,
    apply_thresholds,
    optimize_thresholds,
    quadratic_weighted_kappa,
    qwk_objective,
)

HERE = Path(__file__).parent
PAIRS = HERE.parents[1] / "docs/migration"
QUICK = {
    "draws": 1,
    "graded": {"training_rows": 800, "test_rows": 3000},
    "clicks": {"training_rows": 8000, "test_rows": 8000},
}
SIDES = ("before", "after")
TITLES = {
    "lgbm_folds": "LGBMRegressor with folds",
    "lgb_train_feval": "lgb.train with feval",
    "xgb_early_stopping": "XGBRegressor with EarlyStopping",
    "voting": "VotingRegressor, rounded",
    "optimized_rounder": "OptimizedRounder",
    "downsampling": "A downsampling module",
    "under_sampler": "RandomUnderSampler",
    "smote": "SMOTE",
    "calibrated": "CalibratedClassifierCV",
    "tuned_threshold": "TunedThresholdClassifierCV",
}
"""Of the sections of docs/migration.md, by pair."""

GRADES = np.arange(1, 7)
SHARES = np.array([0.26, 0.27, 0.22, 0.14, 0.08, 0.03])
"""Of the grades: mean 2.6, variance 1.9; other than in the data set whose constants, 2.998 and
1.092, went from notebook to notebook."""


@dataclass(frozen=True)
class Case:
    """Ways to do one job on the same rows: "before", "after" and perhaps others by name.

    ``what`` says which assumption of the pasted code is broken, "" where none is.
    """

    pair: str
    what: str
    ways: Mapping[str, Callable[[], Any]]
    score: Callable[[Any], float]
    unit: str


def graded(seed: int, training_rows: int, test_rows: int) -> tuple[Array, Array, Array, Array]:
    """X, y, X_test, y_test: grades 1..6 that follow some of the features, with noise."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(training_rows + test_rows, 8))
    latent = X[:, 0] + X[:, 1] + X[:, 2] * (X[:, 3] > 0) + 1.2 * rng.normal(size=len(X))
    y = np.digitize(latent, np.quantile(latent, np.cumsum(SHARES)[:-1])) + 1
    return X[:training_rows], y[:training_rows], X[training_rows:], y[training_rows:]


def clicks(
    seed: int, training_rows: int, test_rows: int, *, trend: float = 0
) -> tuple[Array, Array, Array, Array]:
    """X, y, X_test, y_test: about 1.5 % clicks, their log-odds rising by ``trend``."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(training_rows + test_rows, 6))
    margin = X[:, 0] + X[:, 1] * (X[:, 2] > 0) - 5 + trend * np.linspace(0, 1, len(X))
    y = (rng.random(len(X)) < expit(margin)).astype(int)
    return X[:training_rows], y[:training_rows], X[training_rows:], y[training_rows:]


def kappa(y: Array, weight: Array | None, labels: Array, grades: Array) -> float:
    return quadratic_weighted_kappa(y, grades, labels=labels, sample_weight=weight)


def mean_to_true(y: Array, p: Array) -> float:
    return float(p.mean() / y.mean())


def module(pair: str, side: str) -> Any:
    return importlib.import_module(f"docs.migration.{pair}_{side}")


def both(pair: str, *arguments: Any, **named: Any) -> dict[str, Callable[[], Any]]:
    """``run`` of both sides, on the same rows."""
    return {side: partial(module(pair, side).run, *arguments, **named) for side in SIDES}


def ordinal_cases(seed: int, rows: Mapping[str, int]) -> Iterator[Case]:
    """Grades judged by quadratic weighted kappa."""
    X, y, X_test, y_test = graded(seed, **rows)
    score = partial(kappa, y_test, None, GRADES)

    model = lgb.LGBMRegressor(
        n_estimators=400, learning_rate=0.05, num_leaves=8, n_jobs=1, verbose=-1
    )
    folds = StratifiedKFold(5, shuffle=True, random_state=42)
    classifier = QWKClassifier(model, objective="qwk", cv=folds, early_stopping_rounds=50)
    ways = both("lgbm_folds", X, y, X_test)
    ways["`QWKClassifier`"] = lambda: classifier.fit(X, y).predict(X_test)
    yield Case("lgbm_folds", "", ways, score, "kappa")
    from_zero = partial(kappa, y_test - 1, None, GRADES - 1)
    yield Case(
        "lgbm_folds", "grades from 0", both("lgbm_folds", X, y - 1, X_test), from_zero, "kappa"
    )

    even, w = np.ones(len(y)), 1 / (6 * SHARES)
    ways = both("lgb_train_feval", X, y, X_test, even)
    yield Case("lgb_train_feval", "", ways, score, "kappa")
    weighted = partial(kappa, y_test, w[y_test - 1], GRADES)
    ways = both("lgb_train_feval", X, y, X_test, w[y - 1])
    yield Case("lgb_train_feval", "weights", ways, weighted, "weighted kappa")

    ways = both("xgb_early_stopping", X, y, X_test)
    yield Case("xgb_early_stopping", "", ways, score, "kappa")
    forgotten = {**ways, "before": partial(ways["before"], maximize=None)}
    yield Case("xgb_early_stopping", "without `maximize=True`", forgotten, score, "kappa")

    def rounded_votes() -> Array:
        votes = module("voting", "after").build(qwk_objective()).fit(X, y).predict(X_test)
        return np.rint(votes).clip(1, 6)

    ways = both("voting", X, y, X_test)
    yield Case("voting", "", {**ways, "rounding, no thresholds": rounded_votes}, score, "kappa")
    ways = both("voting", X, y, X_test, objective=None)
    yield Case("voting", "members on squared error", ways, score, "kappa")

    score_model = lgb.LGBMRegressor(n_estimators=60, num_leaves=8, n_jobs=1, verbose=-1)
    oof = cross_val_predict(score_model, X, y, cv=folds)
    served = score_model.fit(X, y).predict(X_test)
    ways = both("optimized_rounder", oof, y, served)
    ways['`method="exact"`'] = lambda: apply_thresholds(
        served, optimize_thresholds(y, oof, method="exact")
    )
    ways["rounding"] = lambda: np.rint(served).clip(1, 6)
    yield Case("optimized_rounder", "", ways, score, "kappa")
    ways = both("optimized_rounder", oof / 10, y, served / 10)
    yield Case("optimized_rounder", "scores between 0 and 1", ways, score, "kappa")


def rare_cases(seed: int, rows: Mapping[str, int]) -> Iterator[Case]:
    """Clicks: probabilities, and the decision."""
    X, y, X_test, y_test = clicks(seed, **rows)
    loss, ratio = partial(log_loss, y_test), partial(mean_to_true, y_test)
    plain = lgb.LGBMClassifier(n_estimators=60, num_leaves=6, n_jobs=1, verbose=-1)

    def no_sampling() -> Array:
        return plain.fit(X, y).predict_proba(X_test)[:, 1]

    ways = both("downsampling", X, y, X_test)
    yield Case("downsampling", "", {**ways, "all rows, no sampling": no_sampling}, loss, "log loss")
    before, after = (module("downsampling", side).train for side in SIDES)
    ways = {
        "before": lambda: before(X, y)[0].predict_proba(X_test)[:, 1],
        "after": lambda: after(X, y).predict_proba(X_test)[:, 1],
    }
    yield Case("downsampling", "the model alone, as it is served", ways, ratio, "mean / true")

    for pair in ("under_sampler", "smote"):
        ways = both(pair, X, y, X_test)
        yield Case(pair, "", {**ways, "all rows, no sampling": no_sampling}, loss, "log loss")
        yield Case(pair, "read as a probability", ways, ratio, "mean / true")

    deep = lgb.LGBMClassifier(n_estimators=60, n_jobs=1, verbose=-1)
    isotonic = CalibratedClassifierCV(deep, method="isotonic", cv=5)
    ways = both("calibrated", X, y, X_test)
    ways["isotonic, of scikit-learn"] = lambda: isotonic.fit(X, y).predict_proba(X_test)[:, 1]
    refit = CalibratedClassifierCV(deep, method="sigmoid", cv=5, ensemble=False)
    ways["sigmoid, `ensemble=False`"] = lambda: refit.fit(X, y).predict_proba(X_test)[:, 1]
    ways["not calibrated"] = lambda: deep.fit(X, y).predict_proba(X_test)[:, 1]
    yield Case("calibrated", "", ways, loss, "log loss")
    X_past, y_past, X_next, y_next = clicks(seed, **rows, trend=2)
    ways = both("calibrated", X_past, y_past, X_next, cv=TimeSeriesSplit(5))
    ratio = partial(mean_to_true, y_next)
    yield Case("calibrated", "rows by time, clicks rising", ways, ratio, "mean / true")

    ways = both("tuned_threshold", X, y, X_test)
    yield Case("tuned_threshold", "", ways, partial(f1_score, y_test), "F1")


def code_lines(text: str) -> int:
    """Lines that are neither blank, comment nor docstring, of which each has one line here."""
    lines = [line.strip() for line in text.splitlines()]
    return sum(bool(line) and not line.startswith(("#", '"""')) for line in lines)


def cases(seed: int, settings: Mapping[str, Any]) -> Iterator[Case]:
    yield from ordinal_cases(seed, settings["graded"])
    yield from rare_cases(seed, settings["clicks"])


def measure(seed: int, settings: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    """A line for each way of each case: its score and its seconds of the processor."""
    for case in cases(seed, settings):
        for way, job in case.ways.items():
            start = time.process_time()
            result = job()
            seconds = time.process_time() - start
            yield {
                "pair": case.pair,
                "case": case.what,
                "unit": case.unit,
                "way": way,
                "draw": seed,
                "score": case.score(result),
                "seconds": seconds,
            }


def plain_table(frame: pd.DataFrame) -> str:
    """Where the pasted code is right: lines, seconds, score."""
    rows = []
    for pair in frame.pair.unique():
        own = frame[(frame.pair == pair) & (frame.case == "")]
        score = own.pivot(index="draw", columns="way", values="score")
        seconds = own.groupby("way").seconds.mean()
        gain = (score.after - score.before).tolist()
        lines = {side: code_lines((PAIRS / f"{pair}_{side}.py").read_text()) for side in SIDES}
        rows.append([
            TITLES[pair],
            *(f"{lines[side]}" for side in SIDES),
            *(digits(seconds[side]) for side in SIDES),
            own.unit.iloc[0],
            *(f"{score[side].mean():.4f}" for side in SIDES),
            _common.plus_minus(*_common.mean_and_error(gain)),
        ])  # fmt: skip
    header = ["pair", "lines before", "after", "seconds before", "after", "score", "before",
              "after", "after - before"]  # fmt: skip
    return _common.markdown_table(header, rows)


def trap_table(frame: pd.DataFrame) -> str:
    """Where an assumption of the pasted code is broken, and nothing says so."""
    rows = []
    for (pair, case), own in frame[frame.case != ""].groupby(["pair", "case"], sort=False):
        score = own.pivot(index="draw", columns="way", values="score")
        shown = [
            _common.plus_minus(*_common.mean_and_error(score[side].tolist()), 3) for side in SIDES
        ]
        rows.append([TITLES[pair], case, own.unit.iloc[0], *shown])
    return _common.markdown_table(["pair", "what is different", "score", "before", "after"], rows)


def others_table(frame: pd.DataFrame) -> str:
    """Third ways to do the same jobs."""
    rows = []
    for (pair, way), own in frame[~frame.way.isin(SIDES)].groupby(["pair", "way"], sort=False):
        after = frame[(frame.pair == pair) & (frame.case == "") & (frame.way == "after")]
        gain = (own.set_index("draw").score - after.set_index("draw").score).tolist()
        rows.append([
            TITLES[pair],
            way,
            digits(own.seconds.mean()),
            own.unit.iloc[0],
            f"{own.score.mean():.4f}",
            _common.plus_minus(*_common.mean_and_error(gain)),
        ])  # fmt: skip
    header = ["pair", "another way", "seconds", "score", "its score", "minus that of `after`"]
    return _common.markdown_table(header, rows)


def digits(seconds: float) -> str:
    """Two significant digits."""
    return "< 0.001" if seconds < 0.001 else f"{seconds:.2g}" if seconds < 10 else f"{seconds:.0f}"


def study(folder: Path | None, settings: dict[str, Any]) -> _common.Findings:
    seeds = range(settings["seed"], settings["seed"] + settings["draws"])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        lines = [line for seed in tqdm(seeds) for line in measure(seed, settings)]
    frame = pd.DataFrame(lines)
    table = "\n\n".join(part(frame) for part in (plain_table, trap_table, others_table))
    return _common.Findings(
        {"cells": frame}, table, "lines, seconds and scores of each pair are in the tables"
    )


def main(arguments: Sequence[str] | None = None) -> int:
    return _common.run_study(HERE, __doc__ or "", study, arguments, quick=QUICK)


if __name__ == "__main__":
    sys.exit(main())
