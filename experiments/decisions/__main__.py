"""Which class: decide() on the probabilities of a score, or exact thresholds on the score?

Run from the repository root: ``python -m experiments.decisions FOLDER [--quick]``, where FOLDER
holds the CSV files that config.json names; without it, simulated rows only.
"""

from __future__ import annotations

import sys
import warnings
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from sklearn.model_selection import RepeatedStratifiedKFold
from tqdm import tqdm

from experiments import _common
from experiments._common import Findings
from experiments.ordinal_probabilities.__main__ import data_sets, models
from gbdt_objectives import Metric, apply_thresholds, decide, optimize_thresholds
from gbdt_objectives.metrics import cost_metric, threshold_metric

HERE = Path(__file__).parent
RESULTS = HERE / "results"
QUICK = {"folds": 2, "trees": 15, "simulated": {"rows": 400, "grades": 4}}


def metrics(K: int, too_low_costs: float) -> dict[str, Metric]:
    """Linear kappa, mean absolute error, and a cost that counts what is graded too low more."""
    distance = np.arange(K) - np.arange(K)[:, None]  # predicted less true
    cost = np.where(distance < 0, -too_low_costs * distance, distance)
    return {
        "linear kappa": threshold_metric("linear", (0, K - 1)),
        "mean absolute error": threshold_metric("mae", (0, K - 1)),
        "asymmetric cost": cost_metric(cost),
    }


def cells(folder: Path | None, settings: dict[str, Any]) -> pd.DataFrame:
    """One line a file, booster, fold and metric: its value by both ways of deciding."""
    lines = []
    sets = list(data_sets(folder, settings))
    folds = RepeatedStratifiedKFold(
        n_splits=settings["folds"], n_repeats=settings["repeats"], random_state=settings["seed"]
    )
    with warnings.catch_warnings(), tqdm(total=len(sets) * 2 * folds.get_n_splits()) as bar:
        warnings.filterwarnings("ignore", message="The least populated class")
        for name, X, y in sets:
            K = int(y.max()) + 1
            order = np.arange(K)
            for fold, (train, test) in enumerate(folds.split(X, y)):
                for booster in ("LightGBM", "XGBoost"):
                    model = models(booster, K, settings)["curve of squared error"]
                    model.fit(X[train], y[train])
                    P, score = model.predict_proba(X[test]), model.predict_score(X[test])
                    for metric, target in metrics(K, settings["too_low_costs"]).items():
                        thresholds = optimize_thresholds(
                            y[train], model.oof_score_, metric=target, labels=order
                        )
                        by_threshold = apply_thresholds(score, thresholds)
                        by_probability = decide(P, target, labels=order)
                        lines.append({
                            "file": name, "booster": booster, "fold": fold, "metric": metric,
                            "sign": 1 if target.greater_is_better else -1,
                            "train_rows": len(train), "test_rows": len(test),
                            "thresholds": target(y[test], by_threshold, labels=order),
                            "decide": target(y[test], by_probability, labels=order),
                        })  # fmt: skip
                    bar.update()
    return pd.DataFrame(lines)


def differences(cells: pd.DataFrame) -> pd.DataFrame:
    """How much better decide() is, paired over folds; standard errors plain and corrected."""
    lines = []
    for place, own in cells.groupby(["metric", "file", "booster"], sort=False):
        gain = (own.sign * (own.decide - own.thresholds)).to_numpy()
        mean, error = _common.mean_and_error(gain)
        corrected = _common.corrected_error(gain, float((own.test_rows / own.train_rows).mean()))
        lines.append(
            dict(zip(("metric", "file", "booster"), place, strict=True))
            | {
                "thresholds": own.thresholds.mean(),
                "decide": own.decide.mean(),
                "gain": mean,
                "se": error,
                "se_corrected": corrected,
                "verdict": _common.verdict(mean, error),
                "verdict_corrected": _common.verdict(mean, corrected),
            }
        )
    return pd.DataFrame(lines)


def table(differences: pd.DataFrame) -> str:
    rows = [
        [
            row.metric,
            row.file,
            row.booster,
            f"{row.thresholds:.4f}",
            f"{row.decide:.4f}",
            f"{row.gain:+.4f} ± {row.se:.4f}",
            row.verdict,
            f"{row.se_corrected:.4f}",
            row.verdict_corrected,
        ]
        for row in differences.itertuples()
    ]
    header = ["metric", "file", "booster", "thresholds", "decide", "decide better by", "it is"]
    return _common.markdown_table([*header, "corrected error", "with it"], rows)


def counts(differences: pd.DataFrame) -> str:
    """How often decide() is better or worse, with plain and with corrected errors."""
    lines = []
    for metric, own in differences.groupby("metric", sort=False):
        plain, corrected = (
            f"better in {(verdict == 'better').sum()}, worse in {(verdict == 'worse').sum()}"
            for verdict in (own.verdict, own.verdict_corrected)
        )
        lines.append(f"- {metric}, of {len(own)}: {plain}; with corrected errors {corrected}")
    return "\n".join(lines)


def study(folder: Path | None, settings: dict[str, Any]) -> Findings:
    found = cells(folder, settings)
    compared = differences(found)
    figures = {"cells": found.round(6), "differences": compared.round(6)}
    return Findings(figures, f"{counts(compared)}\n\n{table(compared)}", "no claim is judged")


def main(arguments: Sequence[str] | None = None) -> int:
    return _common.run_study(HERE, __doc__, study, arguments, quick=QUICK, reads_files=True)


if __name__ == "__main__":
    sys.exit(main())
