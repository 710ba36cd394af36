"""python -m tests.fuzz --examples N --seed S: exit 1 if the package and a reference differ."""

from __future__ import annotations

import argparse
import secrets
import sys
import time
from importlib import import_module

import numpy as np

from tests.fuzz.generators import Draw
from tests.fuzz.harness import SPOILED, Check, Failure, Tally, smallest, spoil, try_example
from tests.fuzz.table import EXEMPT, TABLE

ROOMS = ("metrics", "thresholds", "priors", "calibration", "objectives", "evaluation")
MOST = 5
"""Failures of one kind and function that are made small and shown."""


def missing() -> list[str]:
    """Public names of the rooms that have neither a row of the table nor a reason to have none."""
    known = {name for check in TABLE for name in (check.name, *check.covers)} | set(EXEMPT)
    public = (
        f"{room}.{name}"
        for room in ROOMS
        for name in import_module(f"gbdt_objectives.{room}").__all__
    )
    return sorted(set(public) - known)


def run(
    examples: int | None, seed: int, *, seconds: float | None = None, first: int = 0,
    table: tuple[Check, ...] | None = None, only: str = "",
) -> tuple[list[Failure], Tally]:  # fmt: skip
    """Try examples ``first``, ``first`` + 1, ... of a seed; each depends on its number alone."""
    table = TABLE if table is None else table
    share = np.cumsum([check.share for check in table])
    failures: list[Failure] = []
    tally, seen, begin = Tally(), dict[tuple[str, str], int](), time.monotonic()
    example = first
    while examples is None or example < first + examples:
        if seconds is not None and time.monotonic() - begin > seconds:
            break
        draw = Draw(seed, example)
        check = table[int(np.searchsorted(share, draw.uniform(0, share[-1]), side="right"))]
        if check.name.startswith(only):
            start = time.monotonic()
            arguments, spoiled = check.draw(draw), None
            spoils = draw.chance(SPOILED)
            if spoils and (wrong := spoil(check, arguments, draw)):
                arguments, spoiled = wrong
            kind, what = try_example(check, arguments, spoiled)
            if what is None:
                tally.add(kind, check.name)
            else:
                seen[check.name, kind] = seen.get((check.name, kind), 0) + 1
                if seen[check.name, kind] <= MOST:
                    if spoiled is None:
                        arguments, less = smallest(check, arguments, kind)
                        what = less or what
                    failures.append(Failure(kind, check, arguments, *what, seed, example))
            tally.seconds[check.name] = (
                tally.seconds.get(check.name, 0.0) + time.monotonic() - start
            )
        example += 1
    return failures, tally


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.fuzz", description=__doc__)
    parser.add_argument("--examples", type=int, help="how many; 1000 if --seconds is not given")
    parser.add_argument("--seconds", type=float, help="stop after so many")
    parser.add_argument("--seed", type=int, help="a fresh one is drawn and printed without")
    parser.add_argument("--first", type=int, default=0, help="the number of the first example")
    parser.add_argument("--only", default="", help="functions whose name begins so")
    given = parser.parse_args(arguments)
    seed = secrets.randbelow(10**6) if given.seed is None else given.seed
    print(f"seed {seed}", flush=True)
    if names := missing():
        print(f"no reference, and no reason to have none: {', '.join(names)}")
        return 1
    examples = 1000 if given.examples is None and given.seconds is None else given.examples
    begin = time.monotonic()
    failures, tally = run(examples, seed, seconds=given.seconds, first=given.first, only=given.only)
    print(f"{'function':45} {'compared':>8} {'refused':>8} {'unclear':>8} {'ms':>6}")
    for name in sorted(tally.seconds):
        counts = [kind.get(name, 0) for kind in (tally.compared, tally.refused, tally.unclear)]
        each = 1000 * tally.seconds[name] / max(sum(counts), 1)
        print(f"{name:45} {counts[0]:8} {counts[1]:8} {counts[2]:8} {each:6.1f}")
    sums = [sum(kind.values()) for kind in (tally.compared, tally.refused, tally.unclear)]
    print(
        f"{sums[0]} compared, {sums[1]} refused by both, {sums[2]} unclear, {len(failures)} "
        f"failures in {time.monotonic() - begin:.0f} s"
    )
    print("\n\n".join(map(str, failures)))  # last, where a log that is cut still has them
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
