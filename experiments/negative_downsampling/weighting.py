"""King and Zeng's case: a misspecified model and a lot of data, where weighting wins.

Logistic regression, linear in the features, trained on all positives and few negatives,
then corrected, or weighted. The log-odds of the population are linear too, or those of the
main comparison, or bend in a feature that the model has a slope for. Logloss is the expected
one under the true probabilities p of fresh rows, mean of -p log q - (1-p) log(1-q).
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pandas as pd
from sklearn.linear_model import LogisticRegression
from tqdm import tqdm

from experiments import _common
from experiments._common import Array
from experiments.negative_downsampling import population
from experiments.negative_downsampling.configuration import Configuration, Population
from gbdt_objectives import log_odds_shift, negative_downsample
from gbdt_objectives.priors import correct_margin, measured_keep_rates

METHODS = ("all rows", "corrected", "weighted")
RIGHT, TERMS, CURVE = "right", "terms missing", "curve missing"


def populations(configuration: Configuration) -> dict[str, Population]:
    """One in which a linear model is right, and two in which it is not."""
    bent = configuration.population
    straight = replace(bent, square=0.0, absolute=0.0, product=0.0, sine=0.0, step=0.0)
    curved = replace(straight, curve=configuration.curve_added_after_first_results)
    return {RIGHT: straight, TERMS: bent, CURVE: curved}


def expected_logloss(p: Array, margin: Array) -> float:
    """Mean of p log(1 + exp(-z)) + (1-p) log(1 + exp(z))."""
    return float(np.mean(p * np.logaddexp(0, -margin) + (1 - p) * np.logaddexp(0, margin)))


def run_repetition(
    X: Array, y: Array, X_test: Array, p_test: Array, rate: float, rng: np.random.Generator
) -> dict[str, float]:
    """Expected logloss of each method."""

    def margin(rows: Array, weight: Array | None = None) -> Array:
        model = LogisticRegression(C=np.inf, max_iter=1000, tol=1e-6)  # no penalty
        fitted = model.fit(X[rows], y[rows], sample_weight=weight)
        return np.asarray(fitted.decision_function(X_test))

    rows = negative_downsample(y, rate, random_state=rng)
    w = measured_keep_rates(y, y[rows])[0]
    shift = log_odds_shift(negative_keep_rate=w)
    margins = {
        "all rows": margin(np.arange(len(y))),
        "corrected": correct_margin(margin(rows), shift),
        "weighted": margin(rows, np.where(y[rows] == 1, 1.0, 1 / w)),
    }
    return {name: expected_logloss(p_test, z) for name, z in margins.items()}


def run_all(configuration: Configuration) -> pd.DataFrame:
    """One line a model, size and repetition."""
    scale = configuration.scale
    lines: list[dict[str, object]] = []
    cases = populations(configuration)
    steps = len(cases) * len(scale.weighting_sizes) * scale.weighting_repetitions
    with tqdm(total=steps, unit="fit") as bar:
        for name, case in cases.items():
            bar.set_description(f"weighting, {name} model")
            for n in scale.weighting_sizes:
                for repetition in range(scale.weighting_repetitions):
                    rng = np.random.default_rng([configuration.seed, n, repetition])
                    X_test, _, p_test = population.draw(scale.weighting_test_rows, case, rng)
                    X, y, _ = population.draw(n, case, rng)
                    found = run_repetition(X, y, X_test, p_test, scale.weighting_keep_rate, rng)
                    lines.append({"model": name, "rows": n, "repetition": repetition} | found)
                    bar.update()
    return pd.DataFrame(lines)


def summary_frame(cells: pd.DataFrame) -> pd.DataFrame:
    """Means and standard errors, and weighted minus corrected, paired."""
    lines = []
    for (model, n), own in cells.groupby(["model", "rows"], sort=False):
        line: dict[str, object] = {"model": model, "rows": n, "repetitions": len(own)}
        for method in METHODS:
            line[method], line[f"{method}_se"] = _common.mean_and_error(own[method])
        difference = own.weighted - own.corrected
        mean, error = _common.mean_and_error(difference)
        line |= {"difference": mean, "difference_se": error}
        line |= {"verdict": _common.verdict(-mean, error)}
        line |= {"repetitions_better": int((difference < 0).sum())}
        lines.append(line)
    return pd.DataFrame(lines)


def acceptance(summary: pd.DataFrame, configuration: Configuration) -> list[tuple[str, bool]]:
    """At the largest size weighting wins if the model is misspecified, and only then."""
    least = configuration.acceptance.better_by_standard_errors
    checks = []
    for row in summary[summary["rows"] == summary["rows"].max()].itertuples():
        z = -row.difference / row.difference_se
        text = (
            f"logistic regression, {row.model}, {row.rows:,} rows: weighted minus corrected "
            f"{row.difference:+.6f} ± {row.difference_se:.6f}, "
        )
        if row.model == RIGHT:
            checks.append((text + f"not better by {least:g} standard errors", bool(z <= least)))
        else:
            added = " (added after the first results)" if row.model == CURVE else ""
            text += f"better by at least {least:g} standard errors{added}"
            checks.append((text, bool(z > least)))
    return checks
