"""Calibrators on three distortions and two sizes: ours, their choice by cross-validation, peers.

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
from gbdt_objectives.estimators import (
    BetaCalibrator,
    InterceptCalibrator,
    LogitCalibrator,
    ROCConvexHullCalibrator,
    SplineCalibrator,
    VennAbersCalibrator,
    choose_calibrator,
)

HERE = Path(__file__).parent
CONFIG, RESULTS = HERE / "config.json", HERE / "results"
AUTO = "auto"

OURS: dict[str, Any] = {
    "logit": LogitCalibrator(),
    "beta": BetaCalibrator(),
    "spline": SplineCalibrator(),
    "Venn-Abers": VennAbersCalibrator(),
    "isotonic m=2": ROCConvexHullCalibrator(m=2, prior="base_rate"),
    "isotonic": ROCConvexHullCalibrator(),
    "intercept": InterceptCalibrator(),
}
CANDIDATES = ("logit", "beta", "spline", "Venn-Abers", "isotonic m=2")

Predict = Callable[[Array], Array]

DISTORTIONS: dict[str, Callable[[Array], Array]] = {
    "none": lambda z: z,
    "asymmetric": lambda z: -1.9 * np.logaddexp(0, -z) + 0.5 * np.logaddexp(0, z) + 0.3,
    "bent": lambda z: np.where(z > 0, 0.5 * z, 1.3 * z) + 0.5 * np.tanh(3 * (z + 1)),
}
"""True log-odds of the model's; "asymmetric" is a beta map, "bent" is none."""


def distort(z: Array, distortion: str) -> Array:
    """The model's probability where the true log-odds are z."""
    grid = np.linspace(-40, 40, 160_001)
    return expit(np.interp(z, DISTORTIONS[distortion](grid), grid))


def peer_betacal(p: Array, y: Array) -> Predict:
    return import_module("betacal").BetaCalibration("abm").fit(p, y).predict


def peer_venn_abers(p: Array, y: Array) -> Predict:
    package = import_module("venn_abers").VennAbers()
    package.fit(np.column_stack([1 - p, p]), y)
    return lambda new: package.predict_proba(np.column_stack([1 - new, new]))[0][:, 1]


def peer_isotonic(p: Array, y: Array) -> Predict:
    return IsotonicRegression(out_of_bounds="clip").fit(p, y).predict


def peer_spline(p: Array, y: Array) -> Predict:
    spline = import_module("splinecalib").SplineCalib()
    spline.fit(p.copy(), y)  # it writes into what it is given
    return lambda new: spline.calibrate(new.copy())


PEERS: dict[str, tuple[str, Callable[[Array, Array], Predict]]] = {
    "betacal": ("betacal", peer_betacal),
    "venn-abers": ("venn_abers", peer_venn_abers),
    "scikit-learn isotonic": ("sklearn", peer_isotonic),
    "SplineCalib": ("splinecalib", peer_spline),
}


def installed_peers() -> dict[str, Callable[[Array, Array], Predict]]:
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


def run_all(settings: dict[str, Any]) -> pd.DataFrame:
    """One line per distortion, size, draw and calibrator."""
    own, lines, peers = settings["log_odds"], [], installed_peers()
    points = settings["test_points"]
    new = own["mean"] + own["deviation"] * ndtri((np.arange(points) + 0.5) / points)
    truth = expit(new)
    cells = [(int(n), k) for n, draws in settings["draws"].items() for k in range(draws)]
    for n, k in tqdm(cells):
        rng = np.random.default_rng([settings["seed"], n, k])
        z = rng.normal(own["mean"], own["deviation"], n)
        y = (rng.random(n) < expit(z)).astype(int)
        for distortion in settings["distortions"]:
            p, p_new = distort(z, distortion), distort(new, distortion)
            predictions = {name: one.fit(p, y).predict(p_new) for name, one in OURS.items()}
            chosen = choose_calibrator(y, p, random_state=k).calibrator
            predictions[AUTO] = chosen.fit(p, y).predict(p_new)
            predictions |= {name: fit(p, y)(p_new) for name, fit in peers.items()}
            lines += [
                {
                    "distortion": distortion,
                    "rows": n,
                    "draw": k,
                    "calibrator": name,
                    "excess": excess(truth, found, settings["certain"]),
                    "chosen": type(chosen).__name__ if name == AUTO else "",
                }
                for name, found in predictions.items()
            ]
    return pd.DataFrame(lines)


def compare(cells: pd.DataFrame) -> pd.DataFrame:
    """Per distortion and size: our best, the best peer, auto, and paired differences."""
    lines = []
    for (distortion, n), own in cells.groupby(["distortion", "rows"], sort=False):
        wide = own.pivot(index="draw", columns="calibrator", values="excess")
        mean = wide.mean()
        best = mean[list(CANDIDATES)].idxmin()
        peer = mean[[name for name in PEERS if name in wide]].idxmin()
        second = mean[list(CANDIDATES)].sort_values().index[1]
        against_peer = _common.mean_and_error(wide[best] - wide[peer])
        against_second = _common.mean_and_error(wide[AUTO] - wide[second])
        lines.append({
            "distortion": distortion,
            "rows": n,
            "best": best,
            "best_peer": peer,
            "difference": against_peer[0],
            "difference_error": against_peer[1],
            "best_holds": against_peer[0] <= against_peer[1],
            "second": second,
            "auto_difference": against_second[0],
            "auto_error": against_second[1],
            "auto_holds": against_second[0] <= against_second[1],
        })  # fmt: skip
    return pd.DataFrame(lines)


def means(cells: pd.DataFrame) -> pd.DataFrame:
    """Mean excess and its standard error, per distortion, size and calibrator."""
    groups = cells.groupby(["distortion", "rows", "calibrator"], sort=False).excess
    return groups.agg(["mean", "sem"]).reset_index()


def table(summary: pd.DataFrame) -> str:
    """A line per calibrator, a column per distortion and size."""
    columns = summary[["distortion", "rows"]].drop_duplicates().itertuples(index=False)
    keys = [tuple(column) for column in columns]
    cell = {
        (row.distortion, row.rows, row.calibrator): _common.plus_minus(row.mean, row.sem, 2)
        for row in summary.itertuples(index=False)
    }
    names = list(summary.calibrator.drop_duplicates())
    header = ["", *(f"{distortion}, {n:,}" for distortion, n in keys)]
    return _common.markdown_table(
        header, [[name, *(cell[(*key, name)] for key in keys)] for name in names]
    )


def comparison_table(comparison: pd.DataFrame) -> str:
    """Ours against the best peer, and auto against the second best of its candidates."""
    header = ["distortion", "rows", "our best", "best peer", "difference", "holds"]
    rows = [
        [row.distortion, f"{row.rows:,}", row.best, row.best_peer,
         _common.plus_minus(row.difference, row.difference_error, 3),
         "yes" if row.best_holds else "no", row.second,
         _common.plus_minus(row.auto_difference, row.auto_error, 3),
         "yes" if row.auto_holds else "no"]
        for row in comparison.itertuples()
    ]  # fmt: skip
    return _common.markdown_table(
        [*header, "second best candidate", "auto less that", "auto holds"], rows
    )


def study(_: Path | None, settings: dict[str, Any]) -> _common.Findings:
    """Means, comparisons, and what the choice by cross-validation was."""
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")  # of peers' optimisers
        cells = run_all(settings)
    summary, comparison = means(cells), compare(cells)
    chosen = cells[cells.calibrator == AUTO].groupby(["distortion", "rows"], sort=False).chosen
    return _common.Findings(
        {
            "summary": summary.round(5),
            "comparison": comparison.round(5),
            "chosen": chosen.value_counts().rename("draws").reset_index(),
        },
        f"{table(summary)}\n\n{comparison_table(comparison)}",
        "ours best or level, auto no worse than the second best",
        bool(comparison.best_holds.all() and comparison.auto_holds.all()),
    )


def main(arguments: Sequence[str] | None = None) -> int:
    return _common.run_study(HERE, __doc__, study, arguments, quick={"draws": {"500": 2}})


if __name__ == "__main__":
    sys.exit(main())
