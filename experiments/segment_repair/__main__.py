"""Segments that moved: trees inside the model beside a global logit and logits by segment.

Run from the repository root: ``python -m experiments.segment_repair [--quick]``.
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
from scipy.special import expit, rel_entr
from tqdm import tqdm

from experiments import _common
from experiments._common import Array, Findings
from gbdt_objectives.calibration import LogitCalibrator
from gbdt_objectives.experimental import repair_segments

try:  # a peer, not among the requirements
    from mcgrad.methods import MCGrad
except ImportError:
    MCGrad = None

HERE = Path(__file__).parent
CONFIG, RESULTS = HERE / "config.json", HERE / "results"
QUICK = {
    "draws": 2, "rows": 1000, "fresh_rows": 1000, "trained_rows": 1000, "rounds": 5,
    "countries": 12,
}  # fmt: skip

SEGMENTS = ["country", "device"]
AS_IS, LOGIT, LOGITS, OURS, PEER = (
    "as is", "global logit", "logits by segment", "repair_segments", "mcgrad",
)  # fmt: skip
ARMS = [AS_IS, LOGIT, LOGITS, OURS, PEER]
CASES = ["nothing", "some segments", "many segments", "level", "slope"]
"""What moved."""


def make(rng: np.random.Generator, n: int, settings: dict[str, Any]) -> tuple[pd.DataFrame, Array]:
    """Four numbers, a country (its share falls as 1/k) and a device; log-odds of old rows."""
    G = settings["countries"]
    share = 1 / np.arange(1, G + 1)
    country = rng.choice(G, n, p=share / share.sum())
    device = rng.choice(len(settings["devices"]), n, p=settings["devices"])
    X = pd.DataFrame(rng.normal(size=(n, 4)), columns=list("abcd"))
    z = -2.3 + 0.8 * X.a + 0.6 * X.b * (X.c > 0) + 0.3 * (country % 3) - 0.3 * (device == 2)
    X["country"] = pd.Categorical.from_codes(country, [f"c{k:02d}" for k in range(G)])
    X["device"] = pd.Categorical.from_codes(device, ["phone", "desk", "other"])
    return X, z.to_numpy()


def train(library: str, X: pd.DataFrame, y: Array, settings: dict[str, Any]) -> Any:
    if library == "XGBoost":
        data = xgb.DMatrix(X, y, enable_categorical=True)
        return xgb.train(settings["xgboost"], data, settings["rounds"])
    return lgb.train(settings["lightgbm"], lgb.Dataset(X, y), settings["rounds"])


def margin(booster: Any, X: pd.DataFrame) -> Array:
    if isinstance(booster, xgb.Booster):
        found = booster.predict(xgb.DMatrix(X, enable_categorical=True), output_margin=True)
    else:
        found = booster.predict(X, raw_score=True)
    return np.asarray(found, float)


def movement(case: str, rng: np.random.Generator, settings: dict[str, Any]) -> Callable[..., Array]:
    """(rows, the model's log-odds) to the true log-odds."""
    of_country = np.zeros(settings["countries"])
    if case == "some segments":
        for k, by in settings["moves"].items():
            of_country[int(k)] = by
    if case == "many segments":
        of_country = rng.normal(0, settings["sd_of_many"], settings["countries"])
    level = settings["level"] if case == "level" else 0.0
    slope = settings["slope"] if case == "slope" else 1.0
    in_one = settings["move_of_device_1_in_country_0"] if case == "some segments" else 0.0

    def moved(X: pd.DataFrame, z: Array) -> Array:
        country, device = (X[name].cat.codes.to_numpy() for name in SEGMENTS)
        centre = -2.0
        t = centre + slope * (z - centre) + of_country[country] + level
        return np.asarray(t + in_one * ((country == 0) & (device == 1)))

    return moved


def cells(X: pd.DataFrame) -> Array:
    country, device = (X[name].cat.codes.to_numpy() for name in SEGMENTS)
    return np.asarray(country * 10 + device)


def logits_by_segment(
    z: Array, y: Array, segment: Array, z_new: Array, new: Array, least: int
) -> Array:
    p = LogitCalibrator(input_space="margin").fit(z, y).predict(z_new)
    for g in np.unique(segment):
        own, there = segment == g, new == g
        if there.any() and min(y[own].sum(), (1 - y[own]).sum()) >= least:
            p[there] = (
                LogitCalibrator(input_space="margin").fit(z[own], y[own]).predict(z_new[there])
            )
    return p


def by_mcgrad(X: pd.DataFrame, z: Array, y: Array, new: pd.DataFrame, z_new: Array) -> Array:
    def frame(rows: pd.DataFrame, z: Array) -> pd.DataFrame:
        return rows[SEGMENTS].astype(str).assign(p=expit(z))

    names = {"prediction_column_name": "p", "categorical_feature_column_names": SEGMENTS}
    model = MCGrad()
    model.fit(df_train=frame(X, z).assign(y=y), label_column_name="y", **names)
    return np.asarray(model.predict(df=frame(new, z_new), **names), float)


def excess(t: Array, p: Array) -> float:
    """Mean Kullback-Leibler divergence from the truth, e-3: the log loss above the least one."""
    q = expit(t)
    return 1e3 * float((rel_entr(q, p) + rel_entr(1 - q, 1 - p)).mean())


def segment_errors(X: pd.DataFrame, t: Array, p: Array) -> Array:
    """|log(mean probability / mean true probability)| of each country."""
    country = X["country"].cat.codes.to_numpy()
    sums = [np.bincount(country, values) for values in (p, expit(t))]
    there = np.bincount(country) > 0
    return np.asarray(np.abs(np.log(sums[0][there] / sums[1][there])))


def run(settings: dict[str, Any]) -> pd.DataFrame:
    """A line per booster, case, draw and method."""
    lines = []
    for draw in tqdm(range(settings["draws"])):
        rng = np.random.default_rng([settings["seed"], draw])
        old, z_old = make(rng, settings["trained_rows"], settings)
        y_old = (rng.random(len(old)) < expit(z_old)).astype(int)
        held, _ = make(rng, settings["rows"], settings)
        fresh, _ = make(rng, settings["fresh_rows"], settings)
        u = rng.random(len(held))
        for library in ("LightGBM", "XGBoost"):
            booster = train(library, old, y_old, settings)
            z, z_new = margin(booster, held), margin(booster, fresh)
            for case in CASES:
                rule = movement(case, np.random.default_rng([settings["seed"], draw, 1]), settings)
                y, t = (u < expit(rule(held, z))).astype(int), rule(fresh, z_new)
                repair = repair_segments(booster, held, y, SEGMENTS)
                logit = LogitCalibrator(input_space="margin").fit(z, y)
                found = {
                    AS_IS: expit(z_new),
                    LOGIT: logit.predict(z_new),
                    LOGITS: logits_by_segment(
                        z, y, cells(held), z_new, cells(fresh), settings["least_of_a_label"]
                    ),
                    OURS: expit(margin(repair.booster, fresh)),
                }
                if MCGrad is not None:
                    found[PEER] = by_mcgrad(held, z, y, fresh, z_new)
                moved = [int(k) for k in settings["moves"]] + [0]
                for name, p in found.items():
                    errors = segment_errors(fresh, t, p)
                    stay = np.delete(errors, moved).mean() if case == "some segments" else np.nan
                    trees = repair.n_trees if name == OURS else -1
                    changed = repair.shift != 0 if name == OURS else p is not found[AS_IS]
                    measured = excess(t, p), errors.mean(), stay
                    lines.append((library, case, draw, name, *measured, trees, changed))
    columns = [
        "booster", "moved", "draw", "method", "excess", "segment error", "others", "trees",
        "changed",
    ]  # fmt: skip
    return pd.DataFrame(lines, columns=columns)


def summarize(draws: pd.DataFrame) -> pd.DataFrame:
    """Means, and by what ours is better than each method, with the paired difference's error."""
    lines = []
    for (library, case), own in draws.groupby(["booster", "moved"], sort=False):
        wide = own.pivot(index="draw", columns="method")
        for name in own.method.unique():
            line: dict[str, Any] = {"booster": library, "moved": case, "method": name}
            for measure in ("excess", "segment error"):
                line[measure], line[f"{measure} se"] = _common.mean_and_error(wide[measure][name])
                line[f"{measure} less ours"], line[f"{measure} less ours se"] = (
                    _common.mean_and_error(wide[measure][name] - wide[measure][OURS])
                )
            line["others"] = wide["others"][name].mean()
            line["trees"] = wide["trees"][name].mean()
            line["changed"] = int(wide["changed"][name].sum())
            lines.append(line)
    return pd.DataFrame(lines)


def judge(found: pd.DataFrame) -> tuple[str, bool]:
    """What the rule of config.json says."""
    at = found.set_index(["moved", "method"])
    changed = at.loc[[("nothing", OURS)], "changed"]

    def better(case: str, other: str, measure: str) -> bool:
        own = at.loc[[(case, other)]]
        return bool((own[f"{measure} less ours"] > 2 * own[f"{measure} less ours se"]).all())

    logit = better("nothing", LOGIT, "excess") and all(
        better(case, LOGIT, measure)
        for case in CASES[1:3]
        for measure in ("excess", "segment error")
    )
    logits = better("some segments", LOGITS, "excess")
    return (
        f"where nothing moved {' and '.join(map(str, changed))} models are changed; better than the"
        f" global logit where nothing or segments moved: {logit}; better than logits by segment "
        f"where some moved: {logits}",
        bool((changed <= 5).all()) and logit and logits,
    )


def table(found: pd.DataFrame) -> str:
    rows = [
        [line["booster"], line["moved"], line["method"],
         _common.plus_minus(line["excess"], line["excess se"], 2),
         "" if line["method"] == OURS else _common.plus_minus(
             line["excess less ours"], line["excess less ours se"], 2
         ),
         _common.plus_minus(line["segment error"], line["segment error se"], 3),
         "" if np.isnan(line["others"]) else f"{line['others']:.3f}",
         f"{line['changed']}" if line["method"] == OURS else "",
         f"{line['trees']:.0f}" if line["method"] == OURS else ""]
        for _, line in found.iterrows()
    ]  # fmt: skip
    header = ["booster", "moved", "method", "excess log loss, e-3", "less ours", "segment error"]
    return _common.markdown_table([*header, "countries that stay", "changed", "trees"], rows)


def study(_: Path | None, settings: dict[str, Any]) -> Findings:
    with warnings.catch_warnings():  # of slopes that do not rise, and mcgrad's own
        warnings.simplefilter("ignore")
        draws = run(settings)
    found = summarize(draws)
    claim, holds = judge(found)
    return Findings(
        {"draws": draws.round(6), "summary": found.round(6)}, table(found), claim, holds
    )


def main(arguments: Sequence[str] | None = None) -> int:
    return _common.run_study(HERE, __doc__, study, arguments, quick=QUICK)


if __name__ == "__main__":
    sys.exit(main())
