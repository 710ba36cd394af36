"""Probabilities of averaged models: how much steeper than the curve of single models' scores?

Run from the repository root: ``python -m experiments.averaged_probabilities FOLDER [--quick]``,
where FOLDER holds the CSV files that config.json names; without it, simulated rows only.

Symbols: f log-odds by the score of one model, b what multiplies them, s the stretch.
"""

from __future__ import annotations

import sys
import warnings
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import lightgbm as lgb
import numpy as np
import pandas as pd
import xgboost as xgb
from scipy.optimize import minimize_scalar
from sklearn.base import clone
from sklearn.model_selection import RepeatedStratifiedKFold
from sklearn.tree import DecisionTreeRegressor
from tqdm import tqdm

from experiments import _common
from experiments._common import Array, Findings
from experiments.ordinal_probabilities.__main__ import SMALLEST, data_sets
from gbdt_objectives import (
    QWKClassifier,
    decide,
    ordinal_logit_objective,
    quadratic_weighted_kappa,
    qwk_metric,
)
from gbdt_objectives.metrics import class_logloss_metric

HERE = Path(__file__).parent
RESULTS = HERE / "results"
WAS, OURS = "as it was", "predict_proba"
CLAIM = "steeper probabilities are better in the mean, worse nowhere, and nearer to calibration"
QUICK = {
    "folds": 2,
    "simulated": {"rows": 400, "grades": 4},
    "models": {
        "LightGBM": {"booster": "LightGBM", "n_estimators": 15},
        "one tree": {"booster": "tree"},
    },
}

Probability = Callable[[Array], Array]
"""Stretched means of scores (n,) to class probabilities (n, K)."""


def regressor(booster: str, **parameters: Any) -> Any:
    if booster == "tree":
        return DecisionTreeRegressor(random_state=0, **parameters)
    if booster == "LightGBM":
        return lgb.LGBMRegressor(n_jobs=1, verbose=-1, **parameters)
    return xgb.XGBRegressor(n_jobs=1, **parameters)


def log_odds(P: Array, k: int) -> Array:
    """Of a class from k on."""
    return np.log(P[:, k:].sum(axis=1)) - np.log(P[:, :k].sum(axis=1))


def rules(model: QWKClassifier, single: Probability, y: Array) -> dict[str, Probability]:
    """Ways from the curve of single models' scores to probabilities by the stretched mean."""
    K, s, center, o = len(model.classes_), model.stretch_, model.center_, model.oof_score_
    k = int(np.median(y)) or 1
    f = log_odds(single(o), k)
    v, noise = f.var(), np.pi**2 / 3
    left = max(1 - (s**2 - 1) * v / noise, 1 / len(model.estimators_))

    def times(b: float) -> Probability:
        steeper = ordinal_logit_objective(K).fitted(y, b * f)
        return lambda A: steeper.class_probability(b * log_odds(single(A), k))

    return {
        WAS: single,
        "score stretched twice": lambda A: single(center + s * (A - center)),
        "times the stretch": times(s),
        "latent variance": times(s / np.sqrt(left)),
        OURS: model.probability_curve_,
    }


def slope(y: Array, P: Array) -> float:
    """What multiplies the log-odds in their logistic regression on new rows; 1 if they are right.

    Thresholds are free.
    """
    K = P.shape[1]
    f = log_odds(P, int(np.median(y)) or 1)
    if np.ptp(f) < 1e-9:
        return 1.0

    def loss(log_b: float) -> float:
        fitted = ordinal_logit_objective(K).fitted(y, np.exp(log_b) * f)
        return float(fitted.loss(y, np.exp(log_b) * f))

    return float(np.exp(minimize_scalar(loss, bounds=(-2, 2), method="bounded").x))


def kappas(y: Array, P: Array) -> tuple[float, float]:
    """Of the classes that ``decide`` gives: as P expects it, and realised."""
    order = np.arange(P.shape[1])
    c = decide(P, qwk_metric((0, order[-1])), labels=order)
    shape = (len(c), len(order))
    true, given = (
        x.ravel() for x in np.broadcast_arrays(order, np.broadcast_to(c[:, None], shape))
    )
    expected = quadratic_weighted_kappa(true, given, labels=order, sample_weight=P.ravel())
    return expected, quadratic_weighted_kappa(y, c, labels=order)


def cells(folder: Path | None, settings: dict[str, Any]) -> pd.DataFrame:
    """One line a file, model, fold and rule."""
    lines = []
    sets = list(data_sets(folder, settings))
    models = settings["models"]
    folds = RepeatedStratifiedKFold(
        n_splits=settings["folds"], n_repeats=settings["repeats"], random_state=settings["seed"]
    )
    log_loss = class_logloss_metric(input_space="probability")
    with warnings.catch_warnings(), tqdm(total=len(sets) * len(models) * settings["folds"]) as bar:
        warnings.filterwarnings("ignore", message="The least populated class")
        for name, X, y in sets:
            K = int(y.max()) + 1
            for fold, (train, test) in enumerate(folds.split(X, y)):
                for label, how in models.items():
                    model = QWKClassifier(
                        regressor(**how), labels=range(K), early_stopping_rounds=None
                    )
                    refit = clone(model).set_params(ensemble=False)  # the same out-of-fold scores
                    model.fit(X[train], y[train])
                    single = refit.fit(X[train], y[train]).probability_curve_
                    A = model.predict_score(X[test])
                    for rule, probability in rules(model, single, y[train]).items():
                        P = np.maximum(probability(A), SMALLEST)
                        P /= P.sum(axis=1, keepdims=True)
                        expected, realised = kappas(y[test], P)
                        lines.append({
                            "file": name, "model": label, "fold": fold, "rule": rule,
                            "train_rows": len(train), "test_rows": len(test),
                            "stretch": model.stretch_, "log_loss": log_loss(y[test], P),
                            "slope": slope(y[test], P), "expected": expected,
                            "realised": realised,
                        })  # fmt: skip
                    bar.update()
    return pd.DataFrame(lines)


def summary(cells: pd.DataFrame) -> pd.DataFrame:
    """Means over folds, and how much log loss differs from the curve as it was, paired."""
    lines = []
    for (file, model), own in cells.groupby(["file", "model"], sort=False):
        share = float((own.test_rows / own.train_rows).mean())
        losses = own.pivot(index="fold", columns="rule", values="log_loss")
        for rule, at in own.groupby("rule", sort=False):
            change = (losses[rule] - losses[WAS]).to_numpy()
            means = at[["stretch", "log_loss", "slope", "expected", "realised"]].mean()
            lines.append({
                "file": file, "model": model, "rule": rule, **means, "change": change.mean(),
                "se_corrected": _common.corrected_error(change, share),
            })  # fmt: skip
    return pd.DataFrame(lines)


def by_rule(summary: pd.DataFrame) -> pd.DataFrame:
    """Each rule over all data and models."""
    lines = []
    for rule, own in summary.groupby("rule", sort=False):
        lines.append({
            "rule": rule, "log_loss": own.log_loss.mean(), "change": own.change.mean(),
            "better": int((own.change < -2 * own.se_corrected).sum()),
            "worse": int((own.change > 2 * own.se_corrected).sum()), "of": len(own),
            "distance": np.abs(np.log(own.slope)).mean(), "slope": own.slope.mean(),
            "too_low": (own.realised - own.expected).mean(),
            "realised": own.realised.mean(),
        })  # fmt: skip
    return pd.DataFrame(lines)


def tables(summary: pd.DataFrame, rules: pd.DataFrame) -> str:
    over_all = _common.markdown_table(
        ["rule", "log loss", "better, worse", "slope", "distance of log slope from 0",
         "realised kappa", "less expected"],
        [
            [
                row.rule, f"{row.log_loss:.4f}", f"{row.better}, {row.worse} of {row.of}",
                f"{row.slope:.3f}", f"{row.distance:.3f}", f"{row.realised:.4f}",
                f"{row.too_low:+.4f}",
            ]
            for row in rules.itertuples()
        ],
    )  # fmt: skip
    lines = []
    for (file, model), own in summary.groupby(["file", "model"], sort=False):
        rule = own.set_index("rule")
        was, ours = rule.loc[WAS], rule.loc[OURS]
        lines.append([
            file, model, f"{ours.stretch:.3f}", f"{was.log_loss:.4f}",
            f"{ours.change:+.4f} ± {ours.se_corrected:.4f}", f"{was.slope:.2f}",
            f"{ours.slope:.2f}", f"{was.expected:.3f}", f"{was.realised:.3f}",
            f"{ours.expected:.3f}", f"{ours.realised:.3f}",
        ])  # fmt: skip
    each = _common.markdown_table(
        ["file", "model", "stretch", "log loss", "change", "slope", "now", "expected kappa",
         "realised", "now expected", "realised"],
        lines,
    )  # fmt: skip
    return f"{over_all}\n\n{each}"


def study(folder: Path | None, settings: dict[str, Any]) -> Findings:
    found = cells(folder, settings)
    means = summary(found)
    rules = by_rule(means)
    was, ours = (rules.set_index("rule").loc[rule] for rule in (WAS, OURS))
    holds = bool(ours.change < 0 and ours.worse == 0 and ours.distance < was.distance)
    figures = {"cells": found.round(6), "summary": means.round(6), "rules": rules.round(6)}
    return Findings(figures, tables(means, rules), CLAIM, holds)


def main(arguments: Sequence[str] | None = None) -> int:
    return _common.run_study(HERE, __doc__, study, arguments, quick=QUICK, reads_files=True)


if __name__ == "__main__":
    sys.exit(main())
