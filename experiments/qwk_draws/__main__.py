"""How far one test draw moves the published table: the same models on sixty test draws.

Run from the repository root: ``python -m experiments.qwk_draws [--quick]``.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from tqdm import tqdm

from experiments import _common
from experiments._common import Array, Findings
from experiments.qwk_synthetic.__main__ import (
    LABEL_RANGE,
    METHODS,
    PUBLISHED,
    Method,
    make_rows,
    on_label_scale,
    seeds_of,
)

HERE = Path(__file__).parent
QUICK = {"rows": 5000, "rounds": 30, "patience": 5, "test_draws": 4}
OURS = tuple(method for method in METHODS if "shifted" not in method.way)
DECISIONS = {"rounded": 0, "thresholds": 1}
"""Columns of a test draw, and their place in PUBLISHED."""
MOST_DEVIATIONS = 2
"""Of one draw, that a published figure may lie from ours."""


def cells_frame(settings: Mapping[str, Any]) -> pd.DataFrame:
    """One line a test draw and method: models and cuts of the first repetition's draws."""
    seeds, rows = seeds_of(0), settings["rows"]
    X, y = make_rows(seeds["train"], rows)
    validation = make_rows(seeds["validation"], rows)
    line = on_label_scale(X.sum(axis=1), y)
    best = _common.fit_thresholds(y, line(X.sum(axis=1)), LABEL_RANGE, "exact")
    models = [trained(method, X, y, validation, settings) for method in OURS]
    lines = []
    for draw in tqdm(range(settings["test_draws"]), unit="draw"):
        seed = settings["first_test_seed"] + draw
        X_test, y_test = make_rows(seed, rows)
        ceiling = _common.cut_qwk(y_test, line(X_test.sum(axis=1)), LABEL_RANGE, best)
        for method, (model, thresholds) in zip(OURS, models, strict=True):
            score = model.predict(X_test)
            lines.append(
                {
                    "seed_test": seed,
                    "booster": method.booster,
                    "objective": method.objective,
                    "rounded": _common.rounded_qwk(y_test, score, LABEL_RANGE),
                    "thresholds": _common.cut_qwk(y_test, score, LABEL_RANGE, thresholds),
                    "ceiling": ceiling,
                }
            )
    return pd.DataFrame(lines)


def trained(
    method: Method,
    X: Array,
    y: Array,
    validation: tuple[Array, Array],
    settings: Mapping[str, Any],
) -> tuple[_common.Fitted, Array]:
    """The model, and thresholds fitted to its out-of-fold scores, as in ``qwk_synthetic``."""
    task = _common.task(LABEL_RANGE, settings["rounds"], settings["patience"], threads=1)
    model = method.fit(X, y, task, task.rounds, validation)
    out_of_fold = _common.out_of_fold(method.fit, X, y, task, model.rounds)
    return model, _common.fit_thresholds(y, out_of_fold, LABEL_RANGE)


def summary_frame(cells: pd.DataFrame) -> pd.DataFrame:
    """One line a cell of the published table: its spread over draws, and the published figure."""
    lines = []
    for method in OURS:
        own = cells[(cells.booster == method.booster) & (cells.objective == method.objective)]
        for decision, place in DECISIONS.items():
            value = own[decision].to_numpy()
            published = PUBLISHED[method.booster, method.objective][place]
            deviation = value.std(ddof=1)
            lines.append(
                {
                    "booster": method.booster,
                    "objective": method.objective,
                    "decision": decision,
                    "published": published,
                    "ours": value.mean(),
                    "deviation": deviation,
                    "published_less_ours": published - value.mean(),
                    "in_deviations": (published - value.mean()) / deviation,
                    "draws_above_published": int((value >= published).sum()),
                    "draws": len(value),
                    "correlation_with_ceiling": np.corrcoef(value, own.ceiling)[0, 1],
                    "deviation_of_gap": (own.ceiling.to_numpy() - value).std(ddof=1),
                }
            )
    return pd.DataFrame(lines)


def table(summary: pd.DataFrame, ceiling: Array) -> str:
    """The cells of the published table, and the ceiling."""
    header = ["booster, objective", "decision", "published", "mean of draws", "deviation of a draw"]
    header += ["published less mean", "in deviations", "draws at or above it"]
    header += ["correlation with the ceiling", "deviation of ceiling less cell"]
    rows = [
        [
            f"{row.booster}, {row.objective}",
            row.decision,
            f"{row.published:.4f}",
            f"{row.ours:.4f}",
            f"{row.deviation:.4f}",
            f"{row.published_less_ours:+.4f}",
            f"{row.in_deviations:+.1f}",
            f"{row.draws_above_published} of {row.draws}",
            f"{row.correlation_with_ceiling:.3f}",
            f"{row.deviation_of_gap:.4f}",
        ]
        for row in summary.itertuples()
    ]
    spread = [f"{ceiling.mean():.4f}", f"{ceiling.std(ddof=1):.4f}"]
    rows.append(["ceiling: best cut of the sum", "", "", *spread, *[""] * 5])
    return _common.markdown_table(header, rows)


def study(folder: Path | None, settings: dict[str, Any]) -> Findings:
    cells = cells_frame(settings)
    summary = summary_frame(cells)
    ceiling = cells.drop_duplicates("seed_test").ceiling.to_numpy()
    return Findings(
        {"cells": cells.round(6), "summary": summary.round(6)},
        table(summary, ceiling),
        "every published cell is within two standard deviations of one test draw of ours",
        bool((summary.in_deviations.abs() <= MOST_DEVIATIONS).all()),
    )


def main(arguments: Sequence[str] | None = None) -> int:
    return _common.run_study(HERE, __doc__ or "", study, arguments, quick=QUICK)


if __name__ == "__main__":
    sys.exit(main())
