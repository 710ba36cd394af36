"""Coverage of an estimated prior's interval, and the level of the test of a shift.

Run from the repository root: ``python -m experiments.prior_uncertainty [--quick]``.
"""

from __future__ import annotations

import sys
import warnings
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from lightgbm import LGBMClassifier
from scipy.special import expit
from tqdm import tqdm
from xgboost import XGBClassifier

from experiments import _common
from experiments._common import Array
from gbdt_objectives.priors import prior_shift_test

HERE = Path(__file__).parent
CONFIG, RESULTS = HERE / "config.json", HERE / "results"
TRUE = "true probabilities"
WAYS = ("held-out rows", "face value")

Model = Callable[[Array], Array]


def posterior(X: Array) -> Array:
    """The true probability of label 1, a quarter on average."""
    return expit(-1.9 + X[:, 0] + 0.8 * X[:, 1] * X[:, 2] + 0.6 * np.abs(X[:, 3]))


def draw(rows: int, prior: float | None, rng: np.random.Generator) -> tuple[Array, Array]:
    """Rows of the training population, or of one in which only the prior differs."""
    X = rng.normal(size=(rows if prior is None else 15 * rows, 5))
    y = (rng.random(len(X)) < posterior(X)).astype(int)
    if prior is None:
        return X, y
    positives = rng.binomial(rows, prior)
    chosen = np.concatenate(
        [np.flatnonzero(y == 1)[:positives], np.flatnonzero(y == 0)[: rows - positives]]
    )
    return X[chosen], y[chosen]


def trained_models(settings: dict[str, Any], rng: np.random.Generator) -> dict[str, Model]:
    """Features to probabilities, by name."""
    X, y = draw(settings["train_rows"], None, rng)
    kinds = {"LightGBM": LGBMClassifier(n_jobs=1, verbose=-1), "XGBoost": XGBClassifier(n_jobs=1)}
    found: dict[str, Model] = {TRUE: posterior}
    for name, parameters in settings["models"].items():
        model = kinds[name].set_params(**parameters).fit(X, y)
        found[name] = lambda X, model=model: model.predict_proba(X)[:, 1].astype(float)
    return found


def run_all(settings: dict[str, Any]) -> pd.DataFrame:
    """One line per model, prior, way and draw."""
    rng = np.random.default_rng(settings["seed"])
    base = float(posterior(rng.normal(size=(2_000_000, 5))).mean())
    models = trained_models(settings, rng)
    level, lines = settings["confidence_level"], []
    for k in tqdm(range(settings["draws"])):
        X_held, y_held = draw(settings["held_out_rows"], None, rng)
        for prior in settings["priors"]:
            truth = base if prior == "unchanged" else prior
            X_new, _ = draw(settings["new_rows"], None if prior == "unchanged" else prior, rng)
            for name, model in models.items():
                held, new = model(X_held), model(X_new)
                known = {"train_prior": base}, {"out_of_fold": (y_held, held)}
                for way, how in zip(WAYS, reversed(known), strict=True):
                    test = prior_shift_test(new, confidence_level=level, **how)
                    low, high = test.estimate.interval
                    lines.append({
                        "model": name,
                        "prior": prior,
                        "way": way,
                        "draw": k,
                        "estimate": test.estimate.prior,
                        "error": test.estimate.standard_error,
                        "covered": bool(low <= truth <= high),
                        "rejected": bool(test.p_value < settings["significance"]),
                    })  # fmt: skip
    return pd.DataFrame(lines)


def summarize(cells: pd.DataFrame, settings: dict[str, Any]) -> pd.DataFrame:
    """Means over the draws, and whether they are as they should be."""
    lines = []
    for (model, prior, way), own in cells.groupby(["model", "prior", "way"], sort=False):
        coverage, rejected = own.covered.mean(), own.rejected.mean()
        low, high = settings["level_between"]
        within = abs(coverage - settings["confidence_level"]) <= settings["coverage_within"]
        level = prior != "unchanged" or low <= rejected <= high
        lines.append({
            "model": model,
            "prior": prior,
            "way": way,
            "estimate": own.estimate.mean(),
            "deviation": own.estimate.std(),
            "standard_error": own.error.mean(),
            "coverage": coverage,
            "rejected": rejected,
            "holds": bool(within and level),
        })  # fmt: skip
    return pd.DataFrame(lines)


def table(summary: pd.DataFrame) -> str:
    """Estimates, coverage and rejections."""
    header = ["model", "prior", "by", "mean estimate", "deviation", "mean standard error"]
    rows = [
        [row.model, str(row.prior), row.way, f"{row.estimate:.4f}", f"{row.deviation:.4f}",
         f"{row.standard_error:.4f}", f"{row.coverage:.3f}", f"{row.rejected:.3f}",
         "yes" if row.holds else "no"]
        for row in summary.itertuples()
    ]  # fmt: skip
    return _common.markdown_table([*header, "coverage", "rejected", "holds"], rows)


def study(_: Path | None, settings: dict[str, Any]) -> _common.Findings:
    """Coverage and levels, judged with held-out rows and with true probabilities."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # collapse, of probabilities at face value
        summary = summarize(run_all(settings), settings)
    own = summary[(summary.way == WAYS[0]) | (summary.model == TRUE)]
    return _common.Findings(
        {"summary": summary.round(5)},
        table(summary),
        "held-out rows, and true probabilities",
        bool(own.holds.all()),
    )


def main(arguments: Sequence[str] | None = None) -> int:
    return _common.run_study(HERE, __doc__, study, arguments, quick={"draws": 20})


if __name__ == "__main__":
    sys.exit(main())
