"""Calibrators on many rows, few events and kept negatives: ours, the default, peers.

Run from the repository root: ``python -m experiments.calibrators [--quick]``.
"""

from __future__ import annotations

import sys
import warnings
from collections.abc import Callable, Sequence
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from scipy.special import expit, ndtri, rel_entr
from sklearn.isotonic import IsotonicRegression
from tqdm import tqdm

from experiments import _common
from experiments._common import Array
from gbdt_objectives import log_odds_shift
from gbdt_objectives.calibration import (
    BetaCalibrator,
    InterceptCalibrator,
    LogitCalibrator,
    ROCConvexHullCalibrator,
    SplineCalibrator,
    TemperatureCalibrator,
    VennAbersCalibrator,
    choose_calibrator,
)

HERE = Path(__file__).parent
CONFIG, RESULTS = HERE / "config.json", HERE / "results"
AUTO, DEFAULT, AS_IS, TEMPERATURE = "auto", "default", "as it is", "temperature"
CELL = ["rows", "of", "distortion"]

OURS: dict[str, Any] = {
    DEFAULT: SplineCalibrator(shrink=True),  # of CalibratedClassifier and the command line
    "logit": LogitCalibrator(),
    "beta": BetaCalibrator(),
    "spline": SplineCalibrator(),
    "Venn-Abers": VennAbersCalibrator(),
    "isotonic m=2": ROCConvexHullCalibrator(m=2, prior="base_rate"),
    "isotonic": ROCConvexHullCalibrator(),
    "intercept": InterceptCalibrator(),
}

Predict = Callable[[Array], Array]

DISTORTIONS: dict[str, Callable[[Array], Array]] = {
    "none": lambda z: z,
    "asymmetric": lambda z: -1.9 * np.logaddexp(0, -z) + 0.5 * np.logaddexp(0, z) + 0.3,
    "bent": lambda z: np.where(z > 0, 0.5 * z, 1.3 * z) + 0.5 * np.tanh(3 * (z + 1)),
}
"""True log-odds of the model's; "asymmetric" is a beta map, "bent" is none."""


def distort(z: Array, distortion: str, shift: float = 0.0) -> Array:
    """The model's log-odds where the true ones are z; the population lies ``shift`` higher."""
    grid = np.linspace(-40, 40, 160_001)
    return np.interp(z - shift, DISTORTIONS[distortion](grid), grid) + shift


def peer_betacal(p: Array, y: Array, w: Array | None) -> Predict:
    return import_module("betacal").BetaCalibration("abm").fit(p, y, w).predict


def peer_venn_abers(p: Array, y: Array, w: Array | None) -> Predict:
    package = import_module("venn_abers").VennAbers()
    package.fit(np.column_stack([1 - p, p]), y)
    return lambda new: package.predict_proba(np.column_stack([1 - new, new]))[0][:, 1]


def peer_isotonic(p: Array, y: Array, w: Array | None) -> Predict:
    return IsotonicRegression(out_of_bounds="clip").fit(p, y, w).predict


def peer_spline(p: Array, y: Array, w: Array | None) -> Predict:
    spline = import_module("splinecalib").SplineCalib()
    spline.fit(p.copy(), y)  # it writes into what it is given
    return lambda new: spline.calibrate(new.copy())


Peer = Callable[[Array, Array, Array | None], Predict]

PEERS: dict[str, tuple[str, Peer]] = {
    "betacal": ("betacal", peer_betacal),
    "venn-abers": ("venn_abers", peer_venn_abers),
    "scikit-learn isotonic": ("sklearn", peer_isotonic),
    "SplineCalib": ("splinecalib", peer_spline),
}
TAKE_WEIGHTS = ("betacal", "scikit-learn isotonic")


def installed_peers() -> dict[str, Peer]:
    """Those that can be imported; says which cannot."""
    found = {}
    for name, (module, fit) in PEERS.items():
        try:
            import_module(module)
        except ImportError:
            print(f"without {name}: pip install 'gbdt_objectives[peers]'")
        else:
            found[name] = fit
    return found


def excess(truth: Array, p: Array, certain: float) -> float:
    """Mean Kullback-Leibler divergence, e-3; probabilities of 0 and 1 moved by ``certain``."""
    p = np.clip(p, certain, 1 - certain)
    return float((rel_entr(truth, p) + rel_entr(1 - truth, 1 - p)).mean() * 1e3)


def by_temperature(p: Array, y: Array, new: Array, rate: dict[str, float]) -> Array:
    """Temperature scaling; probabilities as they are where it refuses to fit."""
    try:
        fitted = TemperatureCalibrator().fit(np.column_stack([1 - p, p]), y, **rate)
    except ValueError:
        return new
    found: Array = fitted.predict(np.column_stack([1 - new, new]))[:, 1]
    return found


def draw(rng: np.random.Generator, cell: dict[str, Any], deviation: float) -> tuple[Array, Array]:
    """True log-odds and labels with two events or more; of the negatives those kept."""
    y = np.zeros(1, int)
    while y.sum() < 2:
        z = rng.normal(cell["mean"], deviation, cell["rows"])
        y = (rng.random(cell["rows"]) < expit(z)).astype(int)
    if "rate" in cell:
        rows = (y == 1) | (rng.random(len(y)) < cell["rate"])
        z, y = z[rows], y[rows]
    return z, y


def run_all(settings: dict[str, Any]) -> pd.DataFrame:
    """One line per cell, distortion, draw and calibrator."""
    lines, peers = [], installed_peers()
    points, deviation = settings["test_points"], settings["deviation"]
    quantiles = deviation * ndtri((np.arange(points) + 0.5) / points)
    for cell in settings["cells"]:
        shift = cell["mean"] - settings["mean_of_distortions"]
        new, truth = cell["mean"] + quantiles, expit(cell["mean"] + quantiles)
        rate = {"negative_keep_rate": cell["rate"]} if "rate" in cell else {}
        to_population = log_odds_shift(**rate) if cell.get("scores") == "of the sample" else 0.0
        used = {name: fit for name, fit in peers.items() if not rate or name in TAKE_WEIGHTS}
        name_of = cell.get("scores", "all rows")
        for k in tqdm(range(cell["draws"]), f"{cell['rows']} {name_of}"):
            seed = [settings["seed"], cell["rows"], k]
            z, y = draw(np.random.default_rng(seed), cell, deviation)
            w = np.where(y == 1, 1, 1 / cell["rate"]) if rate else None
            for distortion in cell["distortions"]:
                p, p_new = (
                    expit(distort(v, distortion, shift) - float(to_population)) for v in (z, new)
                )
                found = {name: one.fit(p, y, **rate).predict(p_new) for name, one in OURS.items()}
                chosen = choose_calibrator(y, p, random_state=k, **rate).calibrator
                found[AUTO] = chosen.fit(p, y, **rate).predict(p_new)
                found[TEMPERATURE] = by_temperature(p, y, p_new, rate)
                found[AS_IS] = p_new
                found |= {name: fit(p, y, w)(p_new) for name, fit in used.items()}
                lines += [
                    {
                        "rows": cell["rows"],
                        "of": name_of,
                        "distortion": distortion,
                        "draw": k,
                        "calibrator": name,
                        "excess": excess(truth, predicted, settings["certain"]),
                        "chosen": type(chosen).__name__ if name == AUTO else "",
                        "events": y.sum(),
                    }
                    for name, predicted in found.items()
                ]
    return pd.DataFrame(lines)


def compare(cells: pd.DataFrame, errors: float) -> pd.DataFrame:
    """Per cell: the default less the best of all others, the best peer, "auto"; paired."""
    lines = []
    for key, own in cells.groupby(CELL, sort=False):
        wide = own.pivot(index="draw", columns="calibrator", values="excess")
        mean = wide.mean().drop([DEFAULT, AUTO])
        line = dict(zip(CELL, key, strict=True)) | {"events": own.events.mean()}
        others = {"best": mean.idxmin(), "peer": mean[[p for p in PEERS if p in wide]].idxmin()}
        for name, other in (others | {"auto": AUTO}).items():
            difference, error = _common.mean_and_error(wide[DEFAULT] - wide[other])
            line |= {name: other, f"{name}_difference": difference, f"{name}_error": error}
            line[f"{name}_holds"] = difference <= errors * error
        lines.append(line)
    return pd.DataFrame(lines)


def means(cells: pd.DataFrame) -> pd.DataFrame:
    """Mean excess and its standard error, per cell and calibrator."""
    groups = cells.groupby([*CELL, "calibrator"], sort=False).excess
    return groups.agg(["mean", "sem"]).reset_index()


def digits(of: str) -> int:
    """Decimals of an excess; of rare events it is small."""
    return 2 if of == "all rows" else 4


def table(summary: pd.DataFrame) -> str:
    """A line per calibrator, a column per cell."""
    keys = [tuple(key) for key in summary[CELL].drop_duplicates().itertuples(index=False)]
    cell = {
        (row.rows, row.of, row.distortion, row.calibrator): _common.plus_minus(
            row.mean, row.sem, digits(row.of)
        )
        for row in summary.itertuples(index=False)
    }
    names = list(summary.calibrator.drop_duplicates())
    header = [""]
    for n, of, name in keys:
        header.append(f"{name}, {n:,}" if of == "all rows" else f"{name}, scores {of}")
    rows = [[name, *(cell.get((*key, name), "") for key in keys)] for name in names]
    return _common.markdown_table(header, [row for row in rows if any(row[1:])])


def comparison_table(comparison: pd.DataFrame) -> str:
    """The default against the best other, the best peer and the choice by cross-validation."""
    rows = []
    for line in comparison.itertuples():
        row = [f"{line.rows:,}", line.of, line.distortion, f"{line.events:,.0f}"]
        for name in ("best", "peer", "auto"):
            values = getattr(line, f"{name}_difference"), getattr(line, f"{name}_error")
            row += [] if name == "auto" else [getattr(line, name)]
            row += [_common.plus_minus(*values, digits(line.of) + 1)]
            row += ["yes" if getattr(line, f"{name}_holds") else "no"]
        rows.append(row)
    header = ["rows", "scores", "distortion", "events", "best other", "default less it", "level"]
    header += ["best peer", "default less it", "level", "default less auto", "level"]
    return _common.markdown_table(header, rows)


def study(_: Path | None, settings: dict[str, Any]) -> _common.Findings:
    """Means, comparisons, and what the choice by cross-validation was."""
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")  # of peers' optimisers
        cells = run_all(settings)
    summary, comparison = means(cells), compare(cells, settings["errors"])
    chosen = cells[cells.calibrator == AUTO].groupby(CELL, sort=False).chosen
    tables = [table(own) for _, own in summary.groupby(["rows", "of"], sort=False)]
    return _common.Findings(
        {
            "summary": summary.round(6),
            "comparison": comparison.round(6),
            "chosen": chosen.value_counts(sort=False).rename("draws").reset_index(),
        },
        "\n\n".join([*tables, comparison_table(comparison)]),
        "the default is best or level in every row",
        bool(comparison.best_holds.all()),
    )


QUICK = {
    "cells": [
        {"rows": 500, "mean": -2.2, "draws": 2, "distortions": ["none", "asymmetric", "bent"]},
        {
            "rows": 20_000, "mean": -5.8, "draws": 2, "distortions": ["none"], "rate": 0.02,
            "scores": "of the sample",
        },
    ]
}  # fmt: skip


def main(arguments: Sequence[str] | None = None) -> int:
    return _common.run_study(HERE, __doc__, study, arguments, quick=QUICK)


if __name__ == "__main__":
    sys.exit(main())
