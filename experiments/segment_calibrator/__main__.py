"""Segments that moved: SegmentCalibrator beside trees inside the model, a global logit and a peer.

Run from the repository root: ``python -m experiments.segment_calibrator [FOLDER] [--quick]``.
"""

from __future__ import annotations

import sys
import time
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from itertools import product
from pathlib import Path
from typing import Any, NamedTuple

import lightgbm as lgb
import numpy as np
import pandas as pd
from scipy.special import expit, rel_entr, xlog1py, xlogy
from tqdm import tqdm

from experiments import _common
from experiments._common import Array, Findings
from gbdt_objectives import experimental
from gbdt_objectives.calibration import InterceptCalibrator, LogitCalibrator, SegmentCalibrator

try:  # a peer, not among the requirements
    from probcal import SegmentedCalibrator
except ImportError:
    SegmentedCalibrator = None
repair_segments = getattr(experimental, "repair_segments", None)  # gone from later versions

HERE = Path(__file__).parent
CONFIG, RESULTS = HERE / "config.json", HERE / "results"
QUICK = {
    "draws": 2, "rows": 1000, "fresh_rows": 1000, "trained_rows": 1000, "rounds": 5,
    "countries": 12,
}  # fmt: skip

SEGMENTS = ["country", "device"]
AS_IS, LOGIT, ONE, OURS, REPAIR, PEER = (
    "as is", "global logit", "one column", "two columns", "repair_segments", "probcal",
)  # fmt: skip
ARMS = [AS_IS, LOGIT, ONE, OURS, REPAIR, PEER]
SIMULATED = "simulated"
CASES = ["nothing", "some segments", "many segments", "level", "slope"]
"""What moved; on files one of the first two."""


class Rows(NamedTuple):
    """Features, the segments among them, the model's probability, and labels or true log-odds."""

    X: pd.DataFrame
    columns: list[str]
    p: Array
    y: Array

    @property
    def one(self) -> Array:
        return self.X[self.columns[0]].astype(str).to_numpy()

    @property
    def both(self) -> Array:
        first, second = (self.X[name].astype(str) for name in self.columns)
        return (first + ", " + second).to_numpy()


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


def margin(booster: lgb.Booster, X: pd.DataFrame) -> Array:
    return np.asarray(booster.predict(X, raw_score=True), float)


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


def by_segment(held: Rows, new: Rows, two: bool) -> Array:
    """By the first column, and then by the second within it, with no other common map."""
    known: dict[str, Any] = {"handle_unknown": "common"}
    first = SegmentCalibrator(**known).fit(held.p, held.y, segments=held.one)
    p = first.predict(new.p, segments=new.one)
    if not two:
        return p
    within = SegmentCalibrator(InterceptCalibrator(), **known)
    within.fit(first.predict(held.p, segments=held.one), held.y, segments=held.both)
    return within.predict(p, segments=new.both)


def by_peer(held: Rows, new: Rows) -> Array:
    fitted = SegmentedCalibrator().fit(held.p, held.y, segments=held.one)
    return np.asarray(fitted.predict_proba(new.p, segments=new.one), float)


def repaired(booster: Any, held: Rows, new: Rows) -> Array:
    assert repair_segments is not None
    return expit(margin(repair_segments(booster, held.X, held.y, held.columns).booster, new.X))


def predictions(booster: Any, held: Rows, new: Rows) -> Iterator[tuple[str, Array, float]]:
    """Method, probabilities of the new rows, and its seconds of the processor."""
    arms: dict[str, Callable[[], Array]] = {
        AS_IS: lambda: new.p,
        LOGIT: lambda: LogitCalibrator().fit(held.p, held.y).predict(new.p),
        ONE: lambda: by_segment(held, new, two=False),
        OURS: lambda: by_segment(held, new, two=True),
    }
    if repair_segments is not None:
        arms[REPAIR] = lambda: repaired(booster, held, new)
    if SegmentedCalibrator is not None:
        arms[PEER] = lambda: by_peer(held, new)
    for name, arm in arms.items():
        began = time.process_time()
        p = arm()
        yield name, p, time.process_time() - began


def excess(t: Array, p: Array) -> float:
    """Mean Kullback-Leibler divergence from the truth, e-3: the log loss above the least one."""
    q = expit(t)
    return 1e3 * float((rel_entr(q, p) + rel_entr(1 - q, 1 - p)).mean())


def log_loss(y: Array, p: Array) -> float:
    """Mean log loss, e-3."""
    return -1e3 * float((xlogy(y, p) + xlog1py(1 - y, -p)).mean())


Line = tuple[Any, ...]
"""Data, what moved, draw, method, loss and seconds."""


def simulated(settings: dict[str, Any], draw: int) -> list[Line]:
    lines: list[Line] = []
    rng = np.random.default_rng([settings["seed"], draw])
    old, z_old = make(rng, settings["trained_rows"], settings)
    y_old = (rng.random(len(old)) < expit(z_old)).astype(int)
    held, _ = make(rng, settings["rows"], settings)
    fresh, _ = make(rng, settings["fresh_rows"], settings)
    u = rng.random(len(held))
    booster = lgb.train(settings["lightgbm"], lgb.Dataset(old, y_old), settings["rounds"])
    z, z_new = margin(booster, held), margin(booster, fresh)
    for case in CASES:
        rule = movement(case, np.random.default_rng([settings["seed"], draw, 1]), settings)
        y, t = (u < expit(rule(held, z))).astype(int), rule(fresh, z_new)
        rows = Rows(held, SEGMENTS, expit(z), y), Rows(fresh, SEGMENTS, expit(z_new), t)
        for name, p, seconds in predictions(booster, *rows):
            lines.append((SIMULATED, case, draw, name, excess(t, p), seconds))
    return lines


def read(path: Path, how: Mapping[str, Any]) -> tuple[pd.DataFrame, Array]:
    """Features, of which words are categories, and labels, 1 for the event."""
    if not path.is_file():
        raise _common.InputError(
            f"file {str(path)!r} not found: give the folder that holds it (it is not part of the "
            "project), or leave the folder out for simulated rows"
        )
    frame = pd.read_csv(path)
    y = frame.pop("response").isin(how["event"]).to_numpy().astype(int)
    for name in frame:
        if name in how["columns"] or not pd.api.types.is_numeric_dtype(frame[name]):
            frame[name] = frame[name].astype(object).fillna("unknown").astype(str)
            frame[name] = frame[name].astype("category")
    return frame, y


def on_file(folder: Path, number: int, settings: dict[str, Any], draw: int) -> list[Line]:
    """A half of the rows trains; a quarter is held out, and a quarter is new. Where segments moved,
    the training has lost some of the events of a third of the first column's values."""
    file, how = [*settings["files"].items()][number]
    lines: list[Line] = []
    X, y = read(folder / f"{file}.csv.gz", how)
    rng = np.random.default_rng([settings["seed"], draw, 2, number])
    old, held, new = np.split(rng.permutation(len(y)), [len(y) // 2, 3 * len(y) // 4])
    first = X[how["columns"][0]]
    categories = first.cat.categories
    moved = categories[rng.random(len(categories)) < settings["share_moved"]]
    lost = (y == 1) & first.isin(moved) & (rng.random(len(y)) > settings["events_kept"])
    for case, trained in ((CASES[0], old), (CASES[1], old[~lost[old]])):
        data = lgb.Dataset(X.iloc[trained], y[trained])
        booster = lgb.train(settings["lightgbm"], data, settings["rounds"])
        rows = (
            Rows(X.iloc[at], how["columns"], expit(margin(booster, X.iloc[at])), y[at])
            for at in (held, new)
        )
        for name, p, seconds in predictions(booster, *rows):
            lines.append((file, case, draw, name, log_loss(y[new], p), seconds))
    return lines


def run(folder: Path | None, settings: dict[str, Any]) -> list[Line]:
    """All draws, in two processes."""
    draws, files = range(settings["draws"]), range(len(settings["files"]) if folder else 0)
    with warnings.catch_warnings():  # of slopes that do not rise, and the peer's own
        warnings.simplefilter("ignore")
        with ProcessPoolExecutor(2) as pool:
            started = [
                pool.submit(on_file, folder or HERE, number, settings, draw)
                for draw, number in product(draws, files)
            ]
            started += [pool.submit(simulated, settings, draw) for draw in draws]
            return [line for found in tqdm(started) for line in found.result()]


def summarize(draws: pd.DataFrame, files: Sequence[str]) -> pd.DataFrame:
    """Means, and by what ours is better than each method, with the paired difference's error."""
    lines = []
    for (data, case), own in draws.groupby(["data", "moved"], sort=False):
        wide = own.pivot(index="draw", columns="method", values="loss")
        for name in own.method.unique():
            less = (wide[name] - wide[OURS]).to_numpy()
            error = _common.mean_and_error(less)[1]
            if data in files:
                error = _common.corrected_error(less, 1 / 3)
            lines.append({
                "data": data, "moved": case, "method": name, "loss": wide[name].mean(),
                "less ours": less.mean(), "less ours se": error,
                "seconds": own[own.method == name].seconds.median(),
            })  # fmt: skip
    return pd.DataFrame(lines)


def judge(found: pd.DataFrame, files: Sequence[str]) -> tuple[str, bool | None]:
    """What the rule of config.json says; nothing where repair_segments is gone."""
    own = found[found.method == REPAIR]
    if not len(own):
        return "repair_segments is not in this version, so nothing is judged", None
    on_file = own.data.isin(files)
    means = own[~on_file].groupby("data", sort=False)["less ours"].mean()
    worse = own["less ours"] < -2 * own["less ours se"]
    better = own["less ours"] > 2 * own["less ours se"]
    moved, nothing = own.moved.isin(CASES[1:3]), own.moved == CASES[0]
    cost = -float(own[nothing & ~on_file]["less ours"].min())
    (first,) = means
    still = worse & nothing & on_file
    holds = first > 0 and not (worse & moved).any() and cost <= 0.2 and not still.any()
    return (
        f"over the five moves SegmentCalibrator is better than repair_segments by {first:.2f} on "
        f"average; where segments moved it is clearly worse in {(worse & moved).sum()} and clearly "
        f"better in {(better & moved).sum()} of {moved.sum()} comparisons; where nothing moved it "
        f"costs at most {cost:.2f} more, and is clearly worse on {still.sum()} of "
        f"{(nothing & on_file).sum()} files",
        bool(holds),
    )


def table(found: pd.DataFrame) -> str:
    """The loss by two columns, and by how much that of each other method is higher."""
    arms = [arm for arm in ARMS if arm != OURS and arm in set(found.method)]
    rows = []
    for (data, case), own in found.groupby(["data", "moved"], sort=False):
        at = own.set_index("method")
        cells = [
            _common.plus_minus(at["less ours"][arm], at["less ours se"][arm], 2) for arm in arms
        ]
        rows.append([data, case, f"{at.loss[OURS]:.2f}", *cells])
    return _common.markdown_table(["data", "moved", OURS, *arms], rows)


def study(folder: Path | None, settings: dict[str, Any]) -> Findings:
    columns = ["data", "moved", "draw", "method", "loss", "seconds"]
    draws = pd.DataFrame(run(folder, settings), columns=columns)
    files = [*settings["files"]]
    found = summarize(draws, files)
    claim, holds = judge(found, files)
    figures = {"draws": draws.round(5), "summary": found.round(5)}
    return Findings(figures, table(found), claim, holds)


def main(arguments: Sequence[str] | None = None) -> int:
    return _common.run_study(HERE, __doc__, study, arguments, quick=QUICK, reads_files=True)


if __name__ == "__main__":
    sys.exit(main())
