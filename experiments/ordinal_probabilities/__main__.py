"""Class probabilities of ordered classes: curves of a score, ordinal logit, multi-class boosting.

Run from the repository root: ``python -m experiments.ordinal_probabilities FOLDER [--quick]``,
where FOLDER holds the CSV files that config.json names; without it, simulated rows only.
"""

from __future__ import annotations

import sys
import warnings
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import lightgbm as lgb
import numpy as np
import pandas as pd
import xgboost as xgb
from sklearn.base import clone
from sklearn.datasets import make_friedman1
from sklearn.model_selection import RepeatedStratifiedKFold, StratifiedKFold
from tqdm import tqdm

from experiments import _common
from experiments._common import Array, Findings
from gbdt_objectives import QWKClassifier, ordinal_logit_objective
from gbdt_objectives.adapters import lightgbm as lgb_adapter, xgboost as xgb_adapter
from gbdt_objectives.metrics import class_logloss_metric, ranked_probability_score_metric

HERE = Path(__file__).parent
RESULTS = HERE / "results"
RIVAL = {
    "curve of squared error": "multi-class, averaged",
    "curve of QWK": "multi-class, averaged",
    "ordinal logit": "multi-class",
}
"""What each of ours is compared with: means of five models with means of five."""

MEASURES = ("log_loss", "ranked_probability_score")
QUICK = {"folds": 2, "trees": 15, "simulated": {"rows": 400, "grades": 4}}
SMALLEST = 1e-6
"""Probabilities are raised to it: those of a class without training rows are 0."""


def models(booster: str, K: int, settings: dict[str, Any]) -> dict[str, Any]:
    """Classifiers by name, with the same trees."""
    common = {"n_estimators": settings["trees"], "learning_rate": settings["learning_rate"]}
    if booster == "LightGBM":
        library, adapter, prefix = lgb, lgb_adapter, "LGBM"
        common |= {"num_leaves": settings["num_leaves"], "n_jobs": 1, "verbose": -1}
    else:
        library, adapter, prefix = xgb, xgb_adapter, "XGB"
        common |= {"max_depth": settings["max_depth"], "n_jobs": 1}
    regressor = getattr(library, f"{prefix}Regressor")(**common)
    ours: dict[str, Any] = {"labels": list(range(K)), "early_stopping_rounds": None}
    return {
        "curve of squared error": QWKClassifier(regressor, objective=None, **ours),
        "curve of QWK": QWKClassifier(regressor, objective="qwk", **ours),
        "ordinal logit": getattr(adapter, f"{prefix}Classifier")(
            objective=ordinal_logit_objective(K), **common
        ),
        "multi-class": getattr(library, f"{prefix}Classifier")(**common),
        "multi-class, averaged": FoldAverage(getattr(library, f"{prefix}Classifier")(**common)),
    }


class FoldAverage:
    """The mean probability of five classifiers, each trained on four of five folds."""

    def __init__(self, classifier: Any) -> None:
        self.classifier = classifier

    def fit(self, X: Array, y: Array) -> FoldAverage:
        folds = StratifiedKFold(5, shuffle=True, random_state=0).split(X, y)
        self.fitted = [clone(self.classifier).fit(X[train], y[train]) for train, _ in folds]
        return self

    def predict_proba(self, X: Array) -> Array:
        return np.mean([classifier.predict_proba(X) for classifier in self.fitted], axis=0)


def data_sets(folder: Path | None, settings: dict[str, Any]) -> Iterator[tuple[str, Array, Array]]:
    """Name, features and classes 0 to K-1; large files are cut to the rows of config.json."""
    rng = np.random.default_rng(settings["seed"])
    if folder is not None:
        for name, rows in settings["data"].items():
            X, y = _common.load(folder / f"{name}.csv", "response")
            at = rng.permutation(len(y))[:rows]
            yield name, X[at], np.unique(y[at], return_inverse=True)[1]
    rows, K = settings["simulated"]["rows"], settings["simulated"]["grades"]
    X, target = make_friedman1(rows, noise=3.0, random_state=settings["seed"])
    yield "simulated", X, np.argsort(np.argsort(target)) * K // rows


def cells(folder: Path | None, settings: dict[str, Any]) -> pd.DataFrame:
    """One line a file, booster, fold and method."""
    lines = []
    sets = list(data_sets(folder, settings))
    folds = RepeatedStratifiedKFold(
        n_splits=settings["folds"], n_repeats=settings["repeats"], random_state=settings["seed"]
    )
    measures: dict[str, Callable[..., float]] = {
        "log_loss": class_logloss_metric(input_space="probability"),
        "ranked_probability_score": ranked_probability_score_metric(input_space="probability"),
    }
    with warnings.catch_warnings(), tqdm(total=len(sets) * 2 * folds.get_n_splits()) as bar:
        warnings.filterwarnings("ignore", message="The least populated class")
        for name, X, y in sets:
            K = int(y.max()) + 1
            for fold, (train, test) in enumerate(folds.split(X, y)):
                for booster in ("LightGBM", "XGBoost"):
                    for method, model in models(booster, K, settings).items():
                        P = model.fit(X[train], y[train]).predict_proba(X[test])
                        P = np.maximum(P, SMALLEST)
                        P /= P.sum(axis=1, keepdims=True)
                        place = {"file": name, "booster": booster, "fold": fold, "method": method}
                        rows = {"train_rows": len(train), "test_rows": len(test)}
                        found = {m: measure(y[test], P) for m, measure in measures.items()}
                        lines.append({**place, **rows, **found})
                    bar.update()
    return pd.DataFrame(lines)


def differences(cells: pd.DataFrame) -> pd.DataFrame:
    """Ours less multi-class boosting, paired over folds; standard errors plain and corrected."""
    lines = []
    for (file, booster), own in cells.groupby(["file", "booster"], sort=False):
        share = float((own.test_rows / own.train_rows).mean())
        for measure in MEASURES:
            by_method = own.pivot(index="fold", columns="method", values=measure)
            for method, rival in RIVAL.items():
                gap = (by_method[method] - by_method[rival]).to_numpy()
                mean, error = _common.mean_and_error(gap)
                corrected = _common.corrected_error(gap, share)
                lines.append({
                    "file": file, "booster": booster, "measure": measure, "method": method,
                    "rival": rival, "of_rival": by_method[rival].mean(), "difference": mean,
                    "se": error, "se_corrected": corrected,
                    "verdict": _common.verdict(-mean, corrected),
                })  # fmt: skip
    return pd.DataFrame(lines)


def table(differences: pd.DataFrame) -> str:
    """Rows of differences."""
    rows = [
        [
            row.file,
            row.booster,
            row.measure.replace("_", " "),
            row.method,
            f"{row.of_rival:.4f}",
            f"{row.difference:+.4f} ± {row.se:.4f}",
            f"{row.se_corrected:.4f}",
            row.verdict,
        ]
        for row in differences.itertuples()
    ]
    header = ["file", "booster", "measure", "method", "multi-class", "less multi-class"]
    return _common.markdown_table([*header, "corrected error", "with it"], rows)


def counts(differences: pd.DataFrame) -> str:
    """How often each method is better or worse, with corrected errors."""
    lines = []
    for (method, measure), own in differences.groupby(["method", "measure"], sort=False):
        better, worse = (int((own.verdict == word).sum()) for word in ("better", "worse"))
        lines.append(
            f"- {method}, {measure.replace('_', ' ')}: better than {RIVAL[method]} in {better} of "
            f"{len(own)}, worse in {worse}"
        )
    return "\n".join(lines)


def study(folder: Path | None, settings: dict[str, Any]) -> Findings:
    found = cells(folder, settings)
    compared = differences(found)
    figures = {"cells": found.round(6), "differences": compared.round(6)}
    return Findings(figures, f"{counts(compared)}\n\n{table(compared)}", "no claim is judged", None)


def main(arguments: Sequence[str] | None = None) -> int:
    return _common.run_study(HERE, __doc__, study, arguments, quick=QUICK, reads_files=True)


if __name__ == "__main__":
    sys.exit(main())
