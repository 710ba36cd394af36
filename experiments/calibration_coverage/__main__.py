"""Coverage of calibration ratios by segment and of calibration errors, and levels of their tests.

Run from the repository root: ``python -m experiments.calibration_coverage [--quick]``.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
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
from gbdt_objectives.calibration import (
    calibration_error_test,
    calibration_ratio_by_segment,
    reliability_bins,
)

HERE = Path(__file__).parent
CONFIG, RESULTS = HERE / "config.json", HERE / "results"
TRUE = "true probabilities"
TOGETHER, ALONE = "true probabilities, groups=user", "true probabilities, no groups"
RIGHT = (TRUE, TOGETHER, ALONE)
RATIO, ERROR, NULL = "ratio", "error", "error, labels drawn from the model"


def draw(rows: int, population: str, settings: dict[str, Any], rng: np.random.Generator) -> Any:
    """Features, segments that a model does not see, and the true probability of label 1."""
    X = rng.normal(size=(rows, 5))
    segment = rng.choice(len(settings["segment_shares"]), rows, p=settings["segment_shares"])
    margin = settings["populations"][population]["intercept"] + X[:, 0] + 0.8 * X[:, 1] * X[:, 2]
    margin += 0.6 * np.abs(X[:, 3]) + np.array(settings["segment_effects"])[segment]
    return X, segment, expit(margin)


class Pool:
    """A population, from which rows are drawn with replacement, and what is true of it."""

    def __init__(self, name: str, settings: dict[str, Any], rng: np.random.Generator) -> None:
        X, _, pi = draw(settings["populations"][name]["train_rows"], name, settings, rng)
        y = (rng.random(len(X)) < pi).astype(int)
        kinds = {
            "LightGBM": LGBMClassifier(n_jobs=1, verbose=-1),
            "XGBoost": XGBClassifier(n_jobs=1),
        }
        X_pool, self.segment, self.pi = draw(settings["pool_rows"], name, settings, rng)
        self.p = {TRUE: self.pi}
        for model, parameters in settings["models"].items():
            fitted = kinds[model].set_params(**parameters).fit(X, y)
            self.p[model] = fitted.predict_proba(X_pool)[:, 1].astype(float)
        self.sorted, self.excess = {}, {}
        for model, p in self.p.items():
            order = np.argsort(p)
            self.sorted[model] = p[order]
            self.excess[model] = np.concatenate(([0.0], np.cumsum((p - self.pi)[order])))

    def ratios(self, model: str) -> Array:
        """Mean prediction over mean probability in each segment."""
        return np.bincount(self.segment, self.p[model]) / np.bincount(self.segment, self.pi)

    def error(self, model: str, ends: Array) -> float:
        """The calibration error in the bins that end at ``ends``, the last one open."""
        last = np.searchsorted(self.sorted[model], ends, side="right")
        at = np.concatenate(([0], last, [len(self.pi)]))
        return float(np.abs(np.diff(self.excess[model][at])).sum()) / len(self.pi)


def bin_ends(y: Array, p: Array, w: Array, n_bins: int) -> Array:
    """The highest prediction in each bin but the last."""
    order = np.argsort(p)
    weight = reliability_bins(y, p, n_bins=n_bins, sample_weight=w).weight
    rows = np.searchsorted(np.cumsum(w[order]), np.cumsum(weight)[:-1] * (1 - 1e-12))
    ends: Array = p[order][rows]
    return ends


def one_draw(
    pool: Pool, rows: int, rate: float, settings: dict[str, Any], rng: np.random.Generator
) -> Iterator[dict[str, Any]]:
    """What the reports say of one sample, each negative kept at the rate."""
    level, share = settings["confidence_level"], settings["segment_shares"]
    options = {"confidence_level": level, "negative_keep_rate": rate}
    test = options | {"n_bins": settings["n_bins"], "n_resamples": settings["n_resamples"]}
    drawn, uniform, kept = rng.integers(len(pool.pi), size=rows), rng.random(rows), rng.random(rows)
    for model, of_pool in pool.p.items():
        labels = {ERROR: (uniform < pool.pi[drawn]).astype(int)}
        if model != TRUE:
            labels[NULL] = (uniform < of_pool[drawn]).astype(int)
        for what, y_all in labels.items():
            chosen = (y_all == 1) | (kept < rate)
            y, p, segment = y_all[chosen], of_pool[drawn][chosen], pool.segment[drawn][chosen]
            found = calibration_error_test(y, p, random_state=rng, **test)
            truth = 0.0
            if what == ERROR and model != TRUE:
                ends = bin_ends(y, p, np.where(y == 1, 1.0, 1 / rate), settings["n_bins"])
                truth = pool.error(model, ends)
            yield {"model": model, "what": what, "truth": truth, "found": found.error,
                   "null": found.null_error, "low": found.interval[0],
                   "high": found.interval[1], "p_value": found.p_value}  # fmt: skip
            if what == NULL:
                continue
            ratios = calibration_ratio_by_segment(y, p, segment, **options)
            true_ratios = pool.ratios(model)
            for k, ratio, low, high, p_value in zip(
                ratios.segment, ratios.ratio, ratios.low, ratios.high, ratios.p_value, strict=True
            ):
                yield {"model": model, "what": RATIO, "segment": share[k],
                       "truth": true_ratios[k], "found": ratio, "low": low, "high": high,
                       "p_value": p_value}  # fmt: skip


def one_draw_of_users(
    rows: int, settings: dict[str, Any], rng: np.random.Generator
) -> Iterator[dict[str, Any]]:
    """What the reports say of right probabilities, where an effect of each user is in its rows."""
    own, shares = settings["users"], settings["segment_shares"]
    n, shape = own["number"], own["effect_shape"]
    margin = own["intercept"] + own["user_spread"] * rng.normal(size=(n, 1))
    p = expit(margin + own["row_spread"] * rng.normal(size=(n, rows)))
    hazard = shape * ((1 - p) ** (-1 / shape) - 1)  # 1 - E exp(-effect hazard) = p
    y = rng.random(p.shape) < 1 - np.exp(-rng.gamma(shape, 1 / shape, (n, 1)) * hazard)
    y, p, user = y.ravel().astype(int), p.ravel(), np.repeat(np.arange(n), rows)
    segment = np.searchsorted(np.cumsum(shares)[:-1], (user + 0.5) / n)
    level, resamples = settings["confidence_level"], rng.integers(2**32)
    for model, groups in ((ALONE, None), (TOGETHER, user)):
        options: dict[str, Any] = {"confidence_level": level, "groups": groups}
        found = calibration_error_test(
            y, p, n_bins=settings["n_bins"], n_resamples=settings["n_resamples"],
            random_state=int(resamples), **options,
        )  # fmt: skip
        yield {"model": model, "what": ERROR, "truth": 0.0, "found": found.error,
               "null": found.null_error, "low": found.interval[0], "high": found.interval[1],
               "p_value": found.p_value, "events": y.sum()}  # fmt: skip
        ratios = calibration_ratio_by_segment(y, p, segment, **options)
        for k, ratio, low, high, p_value in zip(
            ratios.segment, ratios.ratio, ratios.low, ratios.high, ratios.p_value, strict=True
        ):
            yield {"model": model, "what": RATIO, "segment": shares[k], "truth": 1.0,
                   "found": ratio, "low": low, "high": high, "p_value": p_value,
                   "events": y.sum() * shares[k]}  # fmt: skip


def run_all(settings: dict[str, Any]) -> pd.DataFrame:
    """One line per population, rate, draw, model and figure."""
    rng, lines = np.random.default_rng(settings["seed"]), []
    for name, population in settings["populations"].items():
        pool = Pool(name, settings, rng)
        for rate in population["keep_rates"]:
            for _ in tqdm(range(settings["draws"]), desc=f"{name}, {rate}"):
                for line in one_draw(pool, population["rows"], rate, settings, rng):
                    events = population["rows"] * pool.pi.mean() * line.get("segment", 1)
                    lines.append({"population": name, "rate": rate, "events": events} | line)
    for rows in settings["users"]["rows"]:
        name = f"users of {rows} rows"
        for _ in tqdm(range(settings["draws"]), desc=name):
            for line in one_draw_of_users(rows, settings, rng):
                lines.append({"population": name, "rate": 1.0} | line)
    return pd.DataFrame(lines)


def summarize(cells: pd.DataFrame, settings: dict[str, Any]) -> pd.DataFrame:
    """Means over the draws, and whether coverage is as it should be, or the level of the test of an
    error that is 0."""
    alpha = 1 - settings["confidence_level"]
    keys = ["what", "population", "rate", "model", "segment"]
    lines = []
    for key, own in cells.groupby(keys, sort=False, dropna=False):
        line = dict(zip(keys, key, strict=True))
        right = line["model"] in RIGHT or line["what"] == NULL
        coverage = float(((own.low <= own.truth) & (own.truth <= own.high)).mean())
        rejected = float((own.p_value < alpha).mean())
        by_level = right and line["what"] != RATIO  # the truth is 0, where intervals begin
        found, wanted = (rejected, alpha) if by_level else (coverage, 1 - alpha)
        lines.append(line | {
            "events": own.events.mean(),
            "truth": own.truth.mean(),
            "found": own.found[np.isfinite(own.found)].mean(),
            "null": own.null.mean(),
            "below": float((own.truth < own.low).mean()),
            "above": float((own.truth > own.high).mean()),
            "coverage": coverage,
            "rejected": rejected,
            "holds": round(abs(found - wanted), 9) <= settings["within"],
        })  # fmt: skip
    return pd.DataFrame(lines)


def table(summary: pd.DataFrame) -> str:
    """Coverage and rejections."""
    header = ["figure", "population", "negatives kept", "model", "segment", "events", "truth",
              "mean found", "by chance", "truth below", "truth above", "coverage",
              "rejected", "holds"]  # fmt: skip
    rows = [
        [row.what, row.population, f"{row.rate:g}", row.model,
         "" if np.isnan(row.segment) else f"{row.segment:g}", f"{row.events:.0f}",
         f"{row.truth:.4f}", f"{row.found:.4f}", "" if np.isnan(row.null) else f"{row.null:.4f}",
         f"{row.below:.3f}", f"{row.above:.3f}", f"{row.coverage:.3f}", f"{row.rejected:.3f}",
         "yes" if row.holds else "no"]
        for row in summary.itertuples()
    ]  # fmt: skip
    return _common.markdown_table(header, rows)


def study(_: Path | None, settings: dict[str, Any]) -> _common.Findings:
    """Coverage and levels, which are reported, not judged."""
    summary = summarize(run_all(settings), settings)
    claimed = summary[summary.model != ALONE]
    held = f"within {settings['within']:g} of nominal: {claimed.holds.sum()} of {len(claimed)}"
    return _common.Findings({"summary": summary.round(5)}, table(summary), held)


def main(arguments: Sequence[str] | None = None) -> int:
    quick = {"draws": 3, "pool_rows": 20_000}
    return _common.run_study(HERE, __doc__, study, arguments, quick=quick)


if __name__ == "__main__":
    sys.exit(main())
