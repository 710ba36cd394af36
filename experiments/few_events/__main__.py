"""Calibrators on few events, and on kept negatives: what shrinking and offsets are worth.

Run from the repository root: ``python -m experiments.few_events [--quick]``.
"""

from __future__ import annotations

import sys
import warnings
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from scipy.special import expit, ndtri, rel_entr
from sklearn.base import clone
from tqdm import tqdm

from experiments import _common
from experiments._common import Array
from gbdt_objectives.calibration import (
    BetaCalibrator,
    InterceptCalibrator,
    LogitCalibrator,
    ROCConvexHullCalibrator,
    SplineCalibrator,
    TemperatureCalibrator,
    VennAbersCalibrator,
)

HERE = Path(__file__).parent
CONFIG, RESULTS = HERE / "config.json", HERE / "results"
AS_IS, PLAIN, SHRUNK, TEMPERATURE = "as it is", "spline", "spline, shrink", "temperature"

CALIBRATORS: dict[str, Any] = {
    "intercept": InterceptCalibrator(),
    "logit": LogitCalibrator(),
    PLAIN: SplineCalibrator(),
    SHRUNK: SplineCalibrator(shrink=True),
}

KEPT: dict[str, Any] = {
    "logit": LogitCalibrator(),
    "spline": SplineCalibrator(),
    "beta": BetaCalibrator(),
    "Venn-Abers": VennAbersCalibrator(),
    "hull, m=2": ROCConvexHullCalibrator(m=2, prior="base_rate"),
}

DISTORTIONS: dict[str, Callable[[Array, float], Array]] = {
    "right": lambda z, _: z,
    "overconfident": lambda z, mean: mean + 1.6 * (z - mean),
    "underconfident": lambda z, mean: mean + 0.6 * (z - mean),
    "shifted by 1": lambda z, _: z + 1,
    "shifted by 4": lambda z, _: z + 4,
    "bent": lambda z, mean: mean + np.where(z > mean, 2.0, 0.7) * (z - mean),
}
"""The model's log-odds where the true ones are z; 4 is the shift of ``scale_pos_weight=55``."""


def excess(truth: Array, p: Array, certain: float) -> float:
    """Mean Kullback-Leibler divergence; probabilities of 0 and 1 moved by ``certain``."""
    p = np.clip(p, certain, 1 - certain)
    return float((rel_entr(truth, p) + rel_entr(1 - truth, 1 - p)).mean())


def by_temperature(p: Array, y: Array, new: Array) -> Array:
    """Temperature scaling; probabilities as they are where it refuses to fit."""
    try:
        fitted = TemperatureCalibrator().fit(np.column_stack([1 - p, p]), y)
    except ValueError:
        return new
    found: Array = fitted.predict(np.column_stack([1 - new, new]))[:, 1]
    return found


def few_events(settings: dict[str, Any]) -> pd.DataFrame:
    """The excess log loss, e-3, a line per cell, draw, distortion and calibrator."""
    lines = []
    u = ndtri((np.arange(settings["test_points"]) + 0.5) / settings["test_points"])
    for cell in settings["cells"]:
        n, mean = cell["rows"], cell["mean"]
        z_new = mean + settings["spread"] * u
        most = settings["most_events_of_few"] if n == settings["few_rows"] else n
        for k in tqdm(range(cell["draws"])):
            rng = np.random.default_rng([settings["seed"], n, int(-10 * mean), k])
            y = np.zeros(n, int)
            while not 2 <= y.sum() <= most:
                z = rng.normal(mean, settings["spread"], n)
                y = (rng.random(n) < expit(z)).astype(int)
            for name in settings["distortions"]:
                p, new = (expit(DISTORTIONS[name](values, mean)) for values in (z, z_new))
                found = {AS_IS: new, TEMPERATURE: by_temperature(p, y, new)}
                found |= {key: clone(c).fit(p, y).predict(new) for key, c in CALIBRATORS.items()}
                for key, q in found.items():
                    loss = 1e3 * excess(expit(z_new), q, settings["certain"])
                    lines.append((n, mean, k, name, key, loss))
    columns = ["rows", "mean", "draw", "distortion", "calibrator", "excess"]
    return pd.DataFrame(lines, columns=columns)


def compare(cells: pd.DataFrame, settings: dict[str, Any]) -> pd.DataFrame:
    """Shrunk less plain spline; it holds if no worse beyond errors, or, with few, better."""
    lines = []
    for (n, mean, name), own in cells.groupby(["rows", "mean", "distortion"], sort=False):
        wide = own.pivot(index="draw", columns="calibrator", values="excess")
        difference, error = _common.mean_and_error(wide[SHRUNK] - wide[PLAIN])
        bound = settings["errors"] * error
        few = n == settings["few_rows"] and name in settings["gated_at_few"]
        holds = difference < -bound if few else difference <= bound
        lines.append((n, mean, name, difference, error, "better" if few else "no worse", holds))
    columns = ["rows", "mean", "distortion", "difference", "error", "rule", "holds"]
    return pd.DataFrame(lines, columns=columns)


def kept_negatives(settings: dict[str, Any]) -> pd.DataFrame:
    """The excess log loss, e-5, of fits on all rows, on kept ones with weights, with the rate."""
    own, lines = settings["kept"], []
    n, mean, rate = own["rows"], own["mean"], own["rate"]
    for k in tqdm(range(own["draws"])):
        rng = np.random.default_rng([own["seed"], k])
        z = rng.normal(mean, own["spread"], 2 * n)
        p = expit(mean + 1 + own["slope"] * (z - mean - 1))
        new, truth, p, y = p[n:], expit(z[n:]), p[:n], (rng.random(n) < expit(z[:n])).astype(int)
        rows = (y == 1) | (rng.random(n) < rate)
        weight = np.where(y[rows] == 1, 1, 1 / rate)
        for name, one in KEPT.items():
            fits = {
                "all rows": clone(one).fit(p, y),
                "weights": clone(one).fit(p[rows], y[rows], weight),
                "rate": clone(one).fit(p[rows], y[rows], negative_keep_rate=rate),
            }
            losses = [
                1e5 * excess(truth, f.predict(new), settings["certain"]) for f in fits.values()
            ]
            lines.append((k, name, *losses))
    return pd.DataFrame(lines, columns=["draw", "calibrator", "all rows", "weights", "rate"])


def summarize_kept(cells: pd.DataFrame) -> pd.DataFrame:
    """Means, and weights less rate with its error; it holds if that is above 0 beyond two errors.

    Only for the logit, the spline and Venn-Abers: hulls and beta maps vary too much to be told.
    """
    lines = []
    for name, own in cells.groupby("calibrator", sort=False):
        difference, error = _common.mean_and_error(own["weights"] - own["rate"])
        means = [own[column].mean() for column in ("all rows", "weights", "rate")]
        lines.append((name, *means, difference, error, difference > 2 * error))
    columns = ["calibrator", "all rows", "weights", "rate", "difference", "error", "holds"]
    return pd.DataFrame(lines, columns=columns)


def tables(summary: pd.DataFrame, comparison: pd.DataFrame, kept: pd.DataFrame) -> str:
    keys = list(summary.groupby(["rows", "mean", "distortion"], sort=False).groups)
    names = list(summary.calibrator.drop_duplicates())
    cell = summary.set_index(["rows", "mean", "distortion", "calibrator"]).excess
    difference = comparison.set_index(["rows", "mean", "distortion"])
    lines = [
        [f"{n:,}", f"{100 * expit(mean):.1f}", name,
         *(f"{cell[n, mean, name, key]:.2f}" for key in names),
         _common.plus_minus(*difference.loc[(n, mean, name), ["difference", "error"]], 3),
         "yes" if difference.loc[(n, mean, name), "holds"] else "no"]
        for n, mean, name in keys
    ]  # fmt: skip
    header = ["rows", "median %", "model", *names, "shrunk less plain", "holds"]
    of_kept = [
        [row[0], *(f"{value:.1f}" for value in row[1:4]), _common.plus_minus(*row[4:6], 1),
         "yes" if row[6] else "no"]
        for row in kept.itertuples(index=False)
    ]  # fmt: skip
    kept_header = ["", "all rows", "weights 1/r", "`negative_keep_rate`", "difference", "holds"]
    first = _common.markdown_table(header, lines)
    return f"{first}\n\n{_common.markdown_table(kept_header, of_kept)}"


def study(_: Path | None, settings: dict[str, Any]) -> _common.Findings:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of slopes that do not rise
        cells, kept = few_events(settings), summarize_kept(kept_negatives(settings))
    comparison = compare(cells, settings)
    groups = cells.groupby(["rows", "mean", "distortion", "calibrator"], sort=False)
    summary = groups.excess.mean().reset_index()
    gated = kept[kept.calibrator.isin(["logit", "spline", "Venn-Abers"])]
    return _common.Findings(
        {"summary": summary.round(5), "comparison": comparison.round(5), "kept": kept.round(5)},
        tables(summary, comparison, kept),
        "shrinking better with few events and no worse with many, rates better than weights",
        bool(comparison.holds.all() and gated.holds.all()),
    )


QUICK = {
    "cells": [{"rows": 200, "mean": -4.8, "draws": 3}],
    "kept": {
        "rows": 8000,
        "mean": -5,
        "spread": 1.2,
        "slope": 1.8,
        "rate": 0.1,
        "seed": 1,
        "draws": 2,
    },
}


def main(arguments: Sequence[str] | None = None) -> int:
    return _common.run_study(HERE, __doc__, study, arguments, quick=QUICK)


if __name__ == "__main__":
    sys.exit(main())
