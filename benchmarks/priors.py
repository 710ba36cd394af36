"""Speed and memory of prior correction and sampling, as ratios measured in one run.

    python -m benchmarks.priors [--quick]

Against: one numpy.exp over the same array, drawing a uniform for each row, training on all rows.
"""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable
from typing import Any

import lightgbm as lgb
import numpy as np
import xgboost as xgb

import gbdt_objectives as go
from benchmarks._timing import in_turns, peak_bytes, quick_run, report
from experiments.negative_downsampling import configuration, population

Array = np.ndarray[Any, Any]


def correction(quick: bool) -> None:
    n = 1_000_000 if quick else 10_000_000
    p = np.random.default_rng(0).random(n, dtype=np.float32)
    shift = go.log_odds_shift(negative_keep_rate=0.02)
    seconds = in_turns(
        {"ours": lambda: go.correct_probability(p, shift), "exp": lambda: np.exp(p)},
        turns=3 if quick else 9,
    )
    print(f"correct_probability, {n:,} float32: ours {1e3 * seconds['ours']:.1f} ms, "
          f"numpy.exp {1e3 * seconds['exp']:.1f} ms")  # fmt: skip
    report("  times numpy.exp over the same array", seconds["ours"] / seconds["exp"], 1.5)
    extra = peak_bytes(lambda: go.correct_probability(p, shift)) / p.nbytes
    report("  peak extra memory, vectors of n, the result included", round(extra, 2), 1)


def sampling(quick: bool) -> None:
    n = 1_000_000 if quick else 10_000_000
    rng = np.random.default_rng(0)
    y = (rng.random(n) < 0.005).astype(np.int64)
    rates = rng.choice([0.002, 0.02, 0.2], n)
    seconds = in_turns(
        {
            "ours": lambda: go.negative_downsample(y, 0.02, random_state=rng),
            "by row": lambda: go.negative_downsample(y, rates, random_state=rng),
            "resample": lambda: go.priors.resample_classes(y, {0: 0.02, 1: 2}, random_state=rng),
            "uniforms": lambda: rng.random(n),
        },
        turns=2 if quick else 5,
    )
    print(f"negative_downsample, {n:,} labels at 2 %: ours {1e3 * seconds['ours']:.0f} ms, "
          f"uniforms {1e3 * seconds['uniforms']:.0f} ms")  # fmt: skip
    report("  times drawing the uniforms", seconds["ours"] / seconds["uniforms"], 2.5)
    report("  the same with a rate for each row", seconds["by row"] / seconds["uniforms"], 4)
    report("  the same for resample, positives twice", seconds["resample"] / seconds["uniforms"],
           2.5)  # fmt: skip
    extra = peak_bytes(lambda: go.negative_downsample(y, 0.02, random_state=0))
    print(f"  peak extra memory {extra / 1e6:.1f} MB, the sample's indices included")


def gradient(quick: bool) -> None:
    """Bound to their data, as training calls them."""
    n = 100_000 if quick else 1_000_000
    rng = np.random.default_rng(0)
    y, z = (rng.random(n) < 0.3).astype(np.float32), rng.normal(-3, 2, n).astype(np.float32)
    one = go.offset_logloss_objective(0.02).bind(y)
    by_row = go.offset_logloss_objective(rng.choice([0.002, 0.02, 0.2], n)).bind(y)
    seconds = in_turns(
        {"one": lambda: one(z), "by row": lambda: by_row(z)}, turns=3 if quick else 25
    )
    print(f"offset gradient, {n:,} rows: one rate {1e3 * seconds['one']:.2f} ms, "
          f"by row {1e3 * seconds['by row']:.2f} ms")  # fmt: skip
    report("  rates by row, times one rate", seconds["by row"] / seconds["one"], 1.5)


def train_xgboost(X: Array, y: Array, rounds: int) -> xgb.Booster:
    params = {"objective": "binary:logistic", "learning_rate": 0.1, "max_depth": 3}
    return xgb.train(params, xgb.DMatrix(X, y), rounds)


def train_lightgbm(X: Array, y: Array, rounds: int) -> lgb.Booster:
    params = {"objective": "binary", "learning_rate": 0.1, "max_depth": 3, "num_leaves": 8}
    return lgb.train({**params, "verbose": -1}, lgb.Dataset(X, y), rounds)


def train_downsampled(train: Callable[..., Any], X: Array, y: Array, rounds: int) -> Any:
    """Sampling, training, and the correction put into the model."""
    rows = go.negative_downsample(y, 0.02, random_state=0)
    rate = go.priors.measured_keep_rates(y, y[rows])[0]
    model = train(X[rows], y[rows], rounds)
    return go.shift_intercept(model, go.log_odds_shift(negative_keep_rate=rate))


def training(quick: bool) -> None:
    """The population of experiments/negative_downsampling and its depth and learning rate."""
    n, rounds, turns = (100_000, 20, 1) if quick else (1_000_000, 200, 5)
    rng = np.random.default_rng(0)
    rare = configuration.read().population
    X, y, _ = population.draw(n, rare, rng)
    X_test, y_test, _ = population.draw(200_000, rare, rng)
    metric = go.weighted_logloss_metric(1, input_space="probability")
    for name, train, predict in (
        ("XGBoost", train_xgboost, lambda model: model.predict(xgb.DMatrix(X_test))),
        ("LightGBM", train_lightgbm, lambda model: model.predict(X_test)),
    ):
        ways = {
            "all rows": lambda train=train: train(X, y, rounds),
            "downsampled": lambda train=train: train_downsampled(train, X, y, rounds),
        }
        seconds: dict[str, list[float]] = {way: [] for way in ways}
        logloss = {}
        for _ in range(turns):
            for way, fit in ways.items():
                start = time.perf_counter()
                model = fit()
                seconds[way].append(time.perf_counter() - start)
                logloss[way] = metric(y_test, predict(model))
        each = ", ".join(f"{way} {statistics.median(s):.2f} s" for way, s in seconds.items())
        print(f"{name}, {n:,} x 10 and 200,000 test rows, {rounds} rounds, keep rate 0.02: {each}")
        ratios = [a / b for a, b in zip(*seconds.values(), strict=True)]
        report("  times faster than all rows, sampling and correction included",
               statistics.median(ratios), 8, at_least=True)  # fmt: skip
        report("  logloss e-3 above that of all rows",
               1e3 * (logloss["downsampled"] - logloss["all rows"]), 0.5)  # fmt: skip


def main() -> None:
    quick = quick_run(__doc__, "numpy", "xgboost", "lightgbm")
    correction(quick)
    sampling(quick)
    gradient(quick)
    training(quick)


if __name__ == "__main__":
    main()
