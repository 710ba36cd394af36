"""How often CalibrationMonitor alarms: at right probabilities, and how soon after a drift.

Run from the repository root: ``python -m experiments.monitor [--quick]``. Its peer, probcal, is
run where it is installed (``pip install probcal``).
"""

from __future__ import annotations

import copy
import math
import sys
from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from scipy.special import expit

from experiments import _common
from gbdt_objectives.calibration import CalibrationMonitor, calibration_ratio_by_segment
from gbdt_objectives.experimental import delay_distribution

HERE = Path(__file__).parent
CONFIG, RESULTS = HERE / "config.json", HERE / "results"
CLAIM = "the monitor keeps its level, and finds every drift, by the rule of config.json"
QUICK = {
    "looks": 6, "delay": {"mean": 2.0, "final": 5},
    "right": {"runs": 4, "others": 2, "final": {"1": 100}, "late": {"0.1": 50}},
    "estimated": {"runs": 4, "labels": 300, "rate": 0.05},
    "broken": {"runs": 4, "shock": 0.2}, "p_values": {"runs": 4, "rows": 200},
    "drift": {
        "runs": 3, "peer_runs": 1, "rows": 2000, "sizes": [0.5], "days": [0, 3], "within": 60,
    },
    "early": {"runs": 3, "rows": 1000, "rate": 0.1, "size": 0.8, "day": 3, "within": 20},
}  # fmt: skip
WORKERS = 3
PEER = "probcal"
ONCE = 10  # days, the age of rows that are looked at once
FINAL = "right probabilities, final labels"
LATE = {
    "right, late labels; negatives dropped by the label seen first": {},
    "right, late labels; negatives dropped by the final label": {"by_final": True},
    f"right, late labels looked at once, at {ONCE} days": {"once": True},
}
Array = np.ndarray[Any, Any]


def drawn(rng: np.random.Generator, n: int, settings: Any, shift: float = 0.0) -> Any:
    """Predicted probabilities, and labels whose log-odds are higher by the shift."""
    z = rng.normal(*settings["log_odds"], n)
    return expit(z), rng.random(n) < expit(z + shift)


def kept(rng: np.random.Generator, y: Array, rate: float) -> Array:
    return y | (rng.random(len(y)) < rate)


def first_alarm(looks: Iterator[bool]) -> float:
    """The look at which the first alarm is raised, counted from 0; inf for none."""
    return next((k for k, alarm in enumerate(looks) if alarm), math.inf)


def final_looks(
    rng: np.random.Generator, rows: int, rate: float, settings: Any, shock: float = 0.0
) -> Iterator[bool]:
    """Alarms of final labels; a shock moves the log-odds of a whole day."""
    monitor = CalibrationMonitor(settings["level"], rate)
    for _ in range(settings["looks"]):
        p, y = drawn(rng, rows, settings, shock * rng.normal())
        own = kept(rng, y, rate)
        yield monitor.update(y[own], p[own]).alarm


def age_of_arrival(rng: np.random.Generator, n: int, settings: Any) -> Array:
    """Whole days until the label of a positive is seen, none later than the last."""
    of = settings["delay"]
    most = -math.expm1(-of["final"] / of["mean"])
    return np.ceil(-of["mean"] * np.log1p(-most * rng.random(n))).clip(1, of["final"]).astype(int)


def arrived_by(settings: Any) -> Array:
    """F at the ages 0, 1, ..., final."""
    of = settings["delay"]
    F = -np.expm1(-np.arange(of["final"] + 1) / of["mean"])
    return F / F[-1]


def estimated(rng: np.random.Generator, settings: Any) -> Array:
    """F at these ages, from labels that have arrived in the past."""
    of, n = settings["delay"], 2 * settings["estimated"]["labels"]
    age, delay = rng.integers(1, 3 * of["final"], n), age_of_arrival(rng, n, settings)
    seen = delay <= age
    found = delay_distribution(age[seen], delay[seen], horizon=float(of["final"]))
    return found(np.arange(of["final"] + 1))


def late_looks(
    rng: np.random.Generator, rows: int, rate: float, settings: Any, *, by_final: bool = False,
    once: bool = False, anew: bool = False, estimate: bool = False, looks: int | None = None,
    drift: tuple[int, float] = (0, 0.0),
) -> Iterator[bool]:  # fmt: skip
    """Alarms of late labels: each look has the rows of all ages whose label had not arrived.

    ``once``: rows are looked at at the age of ten days only. ``anew``: rows are looked at again
    without saying so. ``drift``: from which day on log-odds are higher, by how much.
    """
    F, final = arrived_by(settings), settings["delay"]["final"]
    believed = estimated(rng, settings) if estimate else F
    last = min(ONCE, final) if once else final
    monitor = CalibrationMonitor(settings["level"], rate)
    p = np.empty(0)
    age = arrival = np.empty(0, int)
    for day in range(settings["looks"] if looks is None else looks):
        new_p, y = drawn(rng, rows, settings, drift[1] if day >= drift[0] else 0.0)
        new_arrival = np.where(y, age_of_arrival(rng, rows, settings), final + 1)
        own = kept(rng, y if by_final else new_arrival <= 1, rate)
        p, arrival = np.r_[p, new_p[own]], np.r_[arrival, new_arrival[own]]
        age = np.r_[age + 1, np.ones(np.count_nonzero(own), int)]
        there = age <= last
        if not (once or anew):
            there &= arrival >= age
        p, arrival, age = p[there], arrival[there], age[there]
        at = age == last if once else age > 0
        if at.any():
            monitor.update(
                arrival[at] <= age[at], p[at], arrived=believed[age[at]],
                arrived_before=0.0 if once or anew else believed[age[at] - 1],
                arrived_at_sampling=1.0 if by_final else float(believed[1]),
            )  # fmt: skip
        yield monitor.alarm


def p_values(rng: np.random.Generator, settings: Any, *, cumulative: bool) -> Iterator[bool]:
    """Whether the p-value of the ratio of a day, or of all days so far, is below the level."""
    days = []
    for _ in range(settings["looks"]):
        days = [*days, drawn(rng, settings["p_values"]["rows"], settings)] if cumulative else [
            drawn(rng, settings["p_values"]["rows"], settings)
        ]  # fmt: skip
        p, y = (np.concatenate(column) for column in zip(*days, strict=True))
        found = calibration_ratio_by_segment(y, p, "prediction", n_bins=1)
        yield bool(found.p_value[0] < settings["level"])


def cells(settings: Any) -> list[tuple[str, float, bool, int, dict[str, Any]]]:
    """What is looked at, the rate, whether it decides, how many runs, and the looks of a run."""
    right, found = settings["right"], []
    for word, rows in right["final"].items():
        found.append((FINAL, float(word), True, right["runs"], looks_of("final", int(rows))))
    for word, rows in right["late"].items():
        for what, known in LATE.items():
            dropped = float(word) < 1
            if not known or (known.get("once") and not dropped) or word == min(right["late"]):
                of = looks_of("late", int(rows), **known)
                runs = right["others" if known else "runs"]
                found.append((what, float(word), True, runs, of))
    of, broken, tested = settings["estimated"], settings["broken"], settings["p_values"]
    rows = right["late"].get(f"{of['rate']}", 100)
    late = looks_of("late", rows, estimate=True)
    found.append((f"F estimated from {of['labels']:,} labels", of["rate"], False, of["runs"], late))
    shock = looks_of("final", next(iter(right["final"].values())), shock=broken["shock"])
    runs = broken["runs"]
    found.append((f"shocks of whole days, sd {broken['shock']:g}", 1.0, False, runs, shock))
    anew = looks_of("late", next(iter(right["late"].values())), anew=True)
    found.append(("rows judged anew each day", 1.0, False, runs, anew))
    for what, cumulative in (("p-value of the day", False), ("p-value of all days", True)):
        looks = looks_of("p", 0, cumulative=cumulative)
        found.append((f"{what} below {settings['level']:g}", 1.0, False, tested["runs"], looks))
    return found


def looks_of(kind: str, rows: int, **known: Any) -> dict[str, Any]:
    return {"kind": kind, "rows": rows, **known}


def one_run(task: tuple[dict[str, Any], float, list[int], Any]) -> float:
    how, rate, seed, settings = task
    rng, kind, rows = np.random.default_rng(seed), how["kind"], how["rows"]
    known = {key: value for key, value in how.items() if key not in ("kind", "rows")}
    if kind == "p":
        return first_alarm(p_values(rng, settings, **known))
    looks = final_looks if kind == "final" else late_looks
    return first_alarm(looks(rng, rows, rate, settings, **known))


def false_alarms(settings: Any) -> pd.DataFrame:
    """The share of runs with an alarm, a line for each cell."""
    lines = []
    with ProcessPoolExecutor(WORKERS) as pool:
        for k, (what, rate, decides, runs, how) in enumerate(cells(settings)):
            tasks = [(how, rate, [settings["seed"], k, run], settings) for run in range(runs)]
            found = np.array(list(pool.map(one_run, tasks, chunksize=10)))
            alarms = float(np.isfinite(found).mean())
            lines.append({
                "what": what, "rate": rate, "decides": decides, "runs": runs, "alarms": alarms,
                "error": math.sqrt(alarms * (1 - alarms) / runs),
            })  # fmt: skip
            print(lines[-1], file=sys.stderr, flush=True)
    return pd.DataFrame(lines)


class Ours:
    def __init__(self, level: float) -> None:
        self.monitor = CalibrationMonitor(level)

    def look(self, y: Array, p: Array) -> bool:
        return self.monitor.update(y, p).alarm


class Peer:
    """probcal, whose confidence sequence, which does not decide, is made short."""

    def __init__(self, level: float) -> None:
        from probcal.monitor import CalibrationMonitor as Monitor

        self.monitor = Monitor(alpha=level, delta_ci_grid=(-3.0, 3.0, 3))

    def look(self, y: Array, p: Array) -> bool:
        return bool(self.monitor.update(y.astype(float), p).alarm)


def one_path(task: tuple[str, int, Any]) -> list[dict[str, Any]]:
    """Days from each drift to the alarm, on days of the same rows for both monitors."""
    name, run, settings = task
    of, lines = settings["drift"], []
    monitor = {"ours": Ours, PEER: Peer}[name](settings["level"])
    alarmed = False
    for day in range(max(of["days"]) + 1):
        if day in of["days"]:
            for size in of["sizes"]:
                own = copy.deepcopy(monitor)
                days: float = math.nan if alarmed else math.inf
                for k in range(0 if alarmed else of["within"]):
                    rng = np.random.default_rng([settings["seed"], run, day, k])
                    p, y = drawn(rng, of["rows"], settings, size)
                    if own.look(y, p):
                        days = k + 1
                        break
                lines.append({
                    "monitor": name, "run": run, "size": size, "day": day, "days": days
                })  # fmt: skip
        p, y = drawn(np.random.default_rng([settings["seed"], run, day]), of["rows"], settings)
        alarmed |= monitor.look(y, p)
    return lines


def drifts(settings: Any) -> pd.DataFrame:
    of = settings["drift"]
    tasks = [("ours", run, settings) for run in range(of["runs"])]
    if find_spec(PEER):
        tasks += [(PEER, run, settings) for run in range(of["peer_runs"])]
    else:
        print(f"without {PEER}: pip install {PEER}", file=sys.stderr)
    with ProcessPoolExecutor(WORKERS) as pool:
        return pd.DataFrame([line for path in pool.map(one_path, tasks) for line in path])


def one_early(task: tuple[bool, int, Any]) -> float:
    """Days from a drift to the alarm, by labels that arrive, or by those that are final."""
    wait, run, settings = task
    of, final = settings["early"], settings["delay"]["final"]
    rng = np.random.default_rng([settings["seed"], 7, run])
    looks, drift = of["day"] + of["within"], (of["day"], of["size"])
    if not wait:
        alarm = first_alarm(
            late_looks(rng, of["rows"], of["rate"], settings, looks=looks, drift=drift)
        )
        return alarm - of["day"] + 1
    monitor = CalibrationMonitor(settings["level"], of["rate"])
    for day in range(looks - final):
        p, y = drawn(rng, of["rows"], settings, of["size"] if day >= of["day"] else 0.0)
        own = kept(rng, y, of["rate"])
        if monitor.update(y[own], p[own]).alarm:
            return day - of["day"] + final if day >= of["day"] else math.nan
    return math.inf


def early(settings: Any) -> pd.DataFrame:
    lines = []
    with ProcessPoolExecutor(WORKERS) as pool:
        for wait in (False, True):
            runs = range(settings["early"]["runs"])
            found = list(pool.map(one_early, [(wait, run, settings) for run in runs]))
            lines += [
                {"wait": wait, "run": run, "days": x} for run, x in zip(runs, found, strict=True)
            ]
    return pd.DataFrame(lines)


def medians(found: pd.DataFrame, keys: list[str]) -> pd.DataFrame:
    """The median day of runs without an alarm before the drift, and how many had one."""
    lines = []
    for key, own in found.groupby(keys, sort=False):
        before = own.days.isna() | (own.days < 1)
        days = float(np.median(own.days[~before])) if (~before).any() else math.nan
        lines.append({
            **dict(zip(keys, key, strict=True)), "runs": len(own), "before": int(before.sum()),
            "median": days,
        })  # fmt: skip
    return pd.DataFrame(lines)


def table(alarms: pd.DataFrame, days: pd.DataFrame, soon: pd.DataFrame, settings: Any) -> str:
    of, peer = settings["early"], days[days.monitor == PEER].set_index(["size", "day"])["median"]
    rows = [
        [row.what, f"{row.rate:g}", f"{row.runs:,}",
         _common.plus_minus(100 * row.alarms, 100 * row.error, 1), "", ""]
        for row in alarms.itertuples()
    ]  # fmt: skip
    for row in days[days.monitor == "ours"].itertuples():
        other = peer.get((row.size, row.day), math.nan)
        what = f"a drift of {row.size:g} from day {row.day}"
        other = "" if math.isnan(other) else found_after(other, settings["drift"]["within"])
        own = found_after(row.median, settings["drift"]["within"])
        rows.append([what, "1", f"{row.runs}", "", own, other])
    for row in soon.itertuples():
        what = f"a drift of {of['size']:g}, {'final labels' if row.wait else 'labels as they come'}"
        days_ = found_after(row.median, of["within"])
        rows.append([what, f"{of['rate']:g}", f"{row.runs}", "", days_, ""])
    header = ["what is looked at", "rate", "runs", "runs with an alarm, %", "median day", PEER]
    return _common.markdown_table(header, rows)


def found_after(days: float, within: int) -> str:
    return f"{days:g}" if math.isfinite(days) else f"not within {within}"


def study(folder: Path | None, settings: dict[str, Any]) -> _common.Findings:
    alarms, arriving, paths = false_alarms(settings), early(settings), drifts(settings)
    days, soon = medians(paths, ["monitor", "size", "day"]), medians(arriving, ["wait"])
    level = (alarms.alarms[alarms.decides] <= settings["most_alarms"]).all()
    power = np.isfinite(days["median"][days.monitor == "ours"]).all()
    figures = {
        "alarms": alarms.round(4), "medians": days, "days": paths, "early": arriving,
    }  # fmt: skip
    text = table(alarms, days, soon, settings)
    return _common.Findings(figures, text, CLAIM, bool(level and power))


def main(arguments: Sequence[str] | None = None) -> int:
    return _common.run_study(HERE, __doc__, study, arguments, quick=QUICK)


if __name__ == "__main__":
    sys.exit(main())
