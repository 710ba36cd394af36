"""Labels that have not arrived: what training on them costs, and what the objective saves.

Run from the repository root: ``python -m experiments.delayed_labels [--quick]``.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import lightgbm as lgb
import numpy as np
import pandas as pd
import xgboost as xgb
from scipy.special import expit
from scipy.stats import norm
from tqdm import tqdm

from experiments import _common
from experiments._common import Array
from gbdt_objectives import Objective, weighted_logloss_objective
from gbdt_objectives.adapters import lightgbm as lightgbm_adapter, xgboost as xgboost_adapter
from gbdt_objectives.experimental import delay_distribution, delayed_logloss_objective

HERE = Path(__file__).parent
CONFIG, RESULTS = HERE / "config.json", HERE / "results"

COMPLETE, NAIVE, FEATURE = "complete labels", "as negatives", "age as a feature"
KNOWN, ESTIMATED = "objective, F known", "objective, F estimated"
Predict = Callable[[Array], Array]


@dataclass(frozen=True)
class Rows:
    """Features, final probabilities and labels, ages, delays, and F of each row at its age."""

    X: Array
    p: Array
    final: Array
    age: Array
    delay: Array
    arrived: Array

    @property
    def seen(self) -> Array:
        """The label as it is now."""
        return self.final & (self.delay <= self.age)


def distribution(t: Array, scale: Array, law: dict[str, Any]) -> Array:
    """The probability of a delay of at most t days, without the window."""
    if law["kind"] == "exponential":
        return -np.expm1(-t / (law["mean"] * scale))
    with np.errstate(divide="ignore"):
        found: Array = norm.cdf(np.log(t / (law["median"] * scale)) / law["sigma"])
    return found


def quantile(u: Array, scale: Array, law: dict[str, Any]) -> Array:
    """Its inverse."""
    if law["kind"] == "exponential":
        found: Array = -law["mean"] * scale * np.log1p(-u)
    else:
        found = law["median"] * scale * np.exp(law["sigma"] * norm.ppf(u))
    return found


def draw(rng: np.random.Generator, n: int, law: dict[str, Any], settings: dict[str, Any]) -> Rows:
    """n rows. A label arrives within the window or never. Where delays depend on a feature, or on
    the age, their scale is ``ratio`` times as large in one half of the rows as in the other."""
    X = rng.random((n, 6))
    p = expit(2.5 * X[:, 0] + np.sin(6 * X[:, 1]) + 1.5 * X[:, 2] * X[:, 3] - 5.2)
    age = rng.uniform(0, settings["oldest"], n)
    longer = {
        None: np.zeros(n, bool), "feature": X[:, 0] > 0.5, "age": age < settings["oldest"] / 2
    }[law["depend_on"]]  # fmt: skip
    scale = np.where(longer, law["ratio"] ** 0.5, law["ratio"] ** -0.5)
    within = distribution(np.full(n, float(settings["window"])), scale, law)
    delay = quantile(rng.random(n) * within, scale, law)
    arrived = distribution(np.minimum(age, settings["window"]), scale, law) / within
    return Rows(X, p, rng.random(n) < p, age, delay, arrived)


def fit(
    booster: str, X: Array, y: Array, objective: Objective, settings: dict[str, Any]
) -> Predict:
    """A model of either library, whose predictions are probabilities."""
    parameters, rounds = settings["boosters"][booster], settings["rounds"]
    if booster == "XGBoost":
        model = xgboost_adapter.train(
            {**parameters, "nthread": 1}, xgb.DMatrix(X, y), rounds, objective=objective
        )
        return lambda new: np.asarray(model.predict(xgb.DMatrix(new)))
    fitted = lightgbm_adapter.train(
        {**parameters, "num_threads": 1}, lgb.Dataset(X, y.astype(float)), rounds,
        objective=objective,
    )  # fmt: skip
    return lambda new: np.asarray(fitted.predict(new))


def methods(rows: Rows, settings: dict[str, Any]) -> Iterator[tuple[str, Callable[..., Predict]]]:
    """Each way to train, as a function of the booster."""
    X, seen, age = rows.X, rows.seen, rows.age
    plain = weighted_logloss_objective(1)
    oldest = settings["oldest"]

    def on(*given: Any) -> Callable[[str], Predict]:
        return lambda booster: fit(booster, *given, settings)

    def with_age(booster: str) -> Predict:
        predict = fit(booster, np.column_stack([X, age]), seen, plain, settings)
        return lambda new: predict(np.column_stack([new, np.full(len(new), oldest)]))

    yield COMPLETE, on(X, rows.final, plain)
    yield NAIVE, on(X, seen, plain)
    for wait in settings["waits"]:
        old = age >= wait
        yield f"waiting {wait} days", on(X[old], seen[old], plain)
    yield FEATURE, with_age
    F = delay_distribution(age[seen], rows.delay[seen], horizon=settings["window"])
    yield KNOWN, on(X, seen, delayed_logloss_objective(rows.arrived))
    yield ESTIMATED, on(X, seen, delayed_logloss_objective(F(age)))


def log_loss(truth: Array, p: Array) -> float:
    """The expected log loss of p where the final probabilities are ``truth``."""
    p = p.astype(np.float64)
    return float(-(truth * np.log(p) + (1 - truth) * np.log1p(-p)).mean())


def cells(settings: dict[str, Any]) -> pd.DataFrame:
    """Excess log loss over complete labels, e-3, and mean prediction over mean truth, a line per
    law of delays, draw, booster and method."""
    lines = []
    for i, (name, law) in enumerate(settings["delays"].items()):
        for k in tqdm(range(settings["draws"]), desc=name):
            rng = np.random.default_rng([settings["seed"], i, k])
            rows = draw(rng, settings["rows"], law, settings)
            new = draw(rng, settings["new_rows"], law, settings)
            for booster in settings["boosters"]:
                found = {method: train(booster)(new.X) for method, train in methods(rows, settings)}
                base = log_loss(new.p, found[COMPLETE])
                for method, p in found.items():
                    excess = 1e3 * (log_loss(new.p, p) - base)
                    lines.append((name, k, booster, method, excess, p.mean() / new.p.mean()))
    return pd.DataFrame(lines, columns=["delays", "draw", "booster", "method", "excess", "ratio"])


def summarize(found: pd.DataFrame) -> pd.DataFrame:
    """Means over draws with their standard errors."""
    lines = [
        (*key, *_common.mean_and_error(own.excess), own.ratio.mean())
        for key, own in found.groupby(["delays", "booster", "method"], sort=False)
    ]
    return pd.DataFrame(lines, columns=["delays", "booster", "method", "excess", "error", "ratio"])


def compare(found: pd.DataFrame, settings: dict[str, Any]) -> pd.DataFrame:
    """The excess of each other way less that of the objective with F estimated, on the same draws.
    It holds if that is above 0 by so many standard errors."""
    lines = []
    for (delays, booster), own in found.groupby(["delays", "booster"], sort=False):
        wide = own.pivot(index="draw", columns="method", values="excess")
        for method in (NAIVE, *(f"waiting {wait} days" for wait in settings["waits"]), FEATURE):
            mean, error = _common.mean_and_error(wide[method] - wide[ESTIMATED])
            gated = delays in settings["assumed"] and method != FEATURE
            lines.append(
                (delays, booster, method, mean, error, gated, mean > settings["errors"] * error)
            )
    columns = ["delays", "booster", "method", "difference", "error", "gated", "holds"]
    return pd.DataFrame(lines, columns=columns)


def table(summary: pd.DataFrame, comparison: pd.DataFrame) -> str:
    """Excess and mean prediction over truth by method, and the differences to the objective."""
    columns = list(summary.groupby(["delays", "booster"], sort=False).groups)
    of = summary.set_index(["delays", "booster", "method"])
    lines = [
        [method,
         *(f"{_common.plus_minus(*of.loc[(*c, method), ['excess', 'error']], 2)} "
           f"({of.loc[(*c, method), 'ratio']:.2f})" for c in columns)]
        for method in summary.method.drop_duplicates()
    ]  # fmt: skip
    header = ["", *(f"{delays}, {booster}" for delays, booster in columns)]
    differences = [
        [row.delays, row.booster, row.method, _common.plus_minus(row.difference, row.error, 2),
         "yes" if row.holds else "no", "" if row.gated else "not of the claim"]
        for row in comparison.itertuples()
    ]  # fmt: skip
    second = ["delays", "booster", "instead", "costs more by", "beyond two errors", ""]
    return (
        f"{_common.markdown_table(header, lines)}\n\n{_common.markdown_table(second, differences)}"
    )


def study(_: Path | None, settings: dict[str, Any]) -> _common.Findings:
    found = cells(settings)
    summary, comparison = summarize(found), compare(found, settings)
    return _common.Findings(
        {"cells": found.round(5), "summary": summary.round(5), "comparison": comparison.round(5)},
        table(summary, comparison),
        "the objective with estimated delays has a lower log loss than unseen labels as negatives "
        "and than waiting",
        bool(comparison.holds[comparison.gated].all()),
    )


QUICK = {"draws": 2, "rows": 3000, "new_rows": 2000, "rounds": 10}


def main(arguments: Sequence[str] | None = None) -> int:
    return _common.run_study(HERE, __doc__, study, arguments, quick=QUICK)


if __name__ == "__main__":
    sys.exit(main())
