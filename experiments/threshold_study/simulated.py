"""Simulated scores: a normal latent variable cut into labels, seen through a correlated signal.

Symbols: latent z and signal x standard normal with correlation rho, label y the number of
cut points q_c at or below z, calibrated score m = E[y|x] = sum_c P(z >= q_c | x).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
import pandas as pd
from scipy.stats import norm
from tqdm import tqdm

from experiments import _common
from experiments._common import Array
from experiments.threshold_study.configuration import Configuration, Family
from experiments.threshold_study.decide import decide
from gbdt_objectives import optimize_thresholds

SCORES: dict[str, Callable[[Array, float], Array]] = {
    "calibrated": lambda m, mu: m,
    "halved": lambda m, mu: mu + (m - mu) / 2,
    "exp(m/2)": lambda m, mu: np.exp(m / 2),
    "exp(2m)": lambda m, mu: np.exp(2 * m),
    "cubed": lambda m, mu: mu + (m - mu) ** 3,
}
"""What is seen of the calibrated score m, mu its mean; all rise with it."""


def above(x: Array, family: Family) -> Array:
    """P(y >= c | x) for c = 1..K-1, (n, K-1)."""
    q = norm.ppf(np.cumsum(family.prior)[:-1])
    rho = family.correlation
    return norm.cdf((rho * x[:, None] - q) / np.sqrt(1 - rho**2))


def score(x: Array, family: Family) -> Array:
    """The score that the methods see."""
    mu = float(np.arange(len(family.prior)) @ family.prior)
    return SCORES[family.score](above(x, family).sum(axis=1), mu)


def draw(family: Family, rows: int, rng: np.random.Generator) -> tuple[Array, Array]:
    """Labels and scores of fresh rows."""
    x = rng.standard_normal(rows)
    rho = family.correlation
    z = rho * x + np.sqrt(1 - rho**2) * rng.standard_normal(rows)
    q = norm.ppf(np.cumsum(family.prior)[:-1])
    return np.searchsorted(q, z, side="right"), score(x, family)


def population_thresholds(family: Family, points: int) -> Array:
    """The best thresholds there are: exact, on the quantiles of x weighed by P(y = k | x)."""
    x = norm.ppf((np.arange(points) + 0.5) / points)
    P = -np.diff(above(x, family), axis=1, prepend=1.0, append=0.0)
    K = len(family.prior)
    return optimize_thresholds(
        np.tile(np.arange(K), points),
        np.repeat(score(x, family), K),
        method="exact",
        labels=np.arange(K),
        sample_weight=np.maximum(P, 0.0).ravel(),
    )


def run_repetition(
    family: Family, repetition: int, configuration: Configuration, best: Array, stream: int
) -> list[dict[str, object]]:
    """All sample sizes of one repetition, judged on one fresh test draw."""
    rng = np.random.default_rng([configuration.seed, stream, repetition])
    y_test, score_test = draw(family, configuration.scale.test_rows, rng)
    order = np.argsort(score_test)
    y_test, score_test = y_test[order], score_test[order]
    ceiling = _common.cut_qwk(y_test, score_test, family.label_range, best)
    lines: list[dict[str, object]] = []
    for n, repetitions in configuration.scale.sizes:
        if repetition >= repetitions:
            continue
        y, s = draw(family, n, rng)
        found = decide(configuration.methods, y, s, y_test, score_test, family.label_range)
        place = {"family": family.name, "rows": n, "repetition": repetition}
        lines.append({**place, **found, "ceiling": ceiling})
    return lines


def run_all(configuration: Configuration) -> pd.DataFrame:
    """One line a family, sample size and repetition: test QWK of every method."""
    most = max(repetitions for _, repetitions in configuration.scale.sizes)
    lines: list[dict[str, object]] = []
    with tqdm(total=most * len(configuration.families), unit="draw") as bar:
        for stream, family in enumerate(configuration.families):
            bar.set_description(family.name)
            best = population_thresholds(family, configuration.scale.ceiling_points)
            for repetition in range(most):
                lines += run_repetition(family, repetition, configuration, best, stream)
                bar.update()
    return pd.DataFrame(lines)


def summary_frame(
    cells: pd.DataFrame, methods: Sequence[str], pairs: Sequence[tuple[str, str]]
) -> pd.DataFrame:
    """Means and standard errors, and those of the paired differences."""
    lines = []
    for (family, n), own in cells.groupby(["family", "rows"], sort=False):
        line: dict[str, object] = {"family": family, "rows": n, "repetitions": len(own)}
        for method in (*methods, "ceiling"):
            line[method], line[f"{method}_se"] = _common.mean_and_error(own[method])
        for method, other in pairs:
            name = f"{method}_minus_{other}"
            line[name], line[f"{name}_se"] = _common.mean_and_error(own[method] - own[other])
        lines.append(line)
    return pd.DataFrame(lines)
