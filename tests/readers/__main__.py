"""``python -m tests.readers --mutations N --seed S``: counts by format, exit code 1 for a fault."""

from __future__ import annotations

import argparse
import os
import signal
import sys
import tempfile
import time
import warnings
from collections import Counter
from pathlib import Path
from random import Random
from typing import Any

from tests.readers.formats import Format, formats
from tests.readers.mutations import mutated
from tests.readers.watch import WATCH

try:
    import resource
except ImportError:  # Windows
    resource = None  # type: ignore[assignment]

SECONDS = 5.0
MEGABYTES = 200


def peak() -> int:
    """The most memory that the process has had, in kilobytes."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss if resource else 0


def set_alarm(seconds: float) -> None:
    """Of computing: other processes take none of it, and pytest-timeout has the other clock."""
    if hasattr(signal, "setitimer"):
        signal.signal(signal.SIGVTALRM, late)
        signal.setitimer(signal.ITIMER_VIRTUAL, seconds)


def late(*_: Any) -> None:
    raise TimeoutError(f"no answer after {SECONDS:g} s")


def attempt(one: Format, data: bytes) -> tuple[str, str]:
    """What the reader did, "read", "refused" or "fault", and the words of a fault."""
    before = peak()
    WATCH.seen.clear()
    set_alarm(SECONDS)
    try:
        with WATCH.set(True), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            found = one.read(data)
    except Exception as error:
        return "fault", f"{type(error).__name__}: {str(error)[:300]}"
    finally:
        set_alarm(0)
    if WATCH.seen:
        return "fault", f"it does {WATCH.seen[0]}"
    if peak() - before > MEGABYTES * 1024:
        return "fault", f"it takes {(peak() - before) // 1024} MB"
    return ("read" if found else "refused"), ""


def fuzz(mutations: int, seed: int, folder: Path, keep: Path | None = None) -> dict[str, Counter]:
    """Counts by format; of faults, which it prints, the files go to ``keep``."""
    counts = {}
    found = formats(folder)
    shares = sum(one.share for one in found)
    for one in found:
        one.read(one.data)  # imports what it needs
        if attempt(one, one.data) != ("read", ""):
            raise AssertionError(f"{one.name}: the right file is not read")
        count = counts[one.name] = Counter()
        for k in range(max(1, round(mutations * one.share / shares))):
            data = mutated(one.data, Random(f"{seed} {one.name} {k}"), one.kind)
            result, words = attempt(one, data)
            count[result] += 1
            if result == "fault":
                print(f"{one.name}, number {k} of seed {seed}: {words}", flush=True)
                if keep is not None:
                    keep.mkdir(exist_ok=True)
                    (keep / f"{one.name}-{seed}-{k}".replace(" ", "_")).write_bytes(data)
    return counts


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m tests.readers")
    parser.add_argument("--mutations", type=int, default=16_000)
    parser.add_argument("--seed", type=int, default=int(time.time()))
    parser.add_argument("--keep", type=Path, help="folder for the files of faults")
    options = parser.parse_args()
    start = time.perf_counter()
    print(f"seed {options.seed}", flush=True)
    keep = options.keep and options.keep.absolute()
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        counts = fuzz(options.mutations, options.seed, Path(folder), keep)
        os.chdir("/")
    total: Counter = sum(counts.values(), Counter())
    print(f"{'format':28} {'mutations':>9} {'refused':>9} {'read':>9} {'fault':>9}")
    for name, count in [*counts.items(), ("all", total)]:
        cells = (count.total(), count["refused"], count["read"], count["fault"])
        print(f"{name:28} " + " ".join(f"{cell:9d}" for cell in cells))
    print(f"{time.perf_counter() - start:.0f} s, peak {peak() // 1024} MB")
    sys.exit(int(total["fault"] > 0))


if __name__ == "__main__":
    main()
