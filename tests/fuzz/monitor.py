"""The monitor of probabilities, written out with 50 digits: every start and every bet by itself."""

from __future__ import annotations

from typing import Any

import numpy as np
from mpmath import mp

from gbdt_objectives.calibration import CalibrationMonitor
from tests.fuzz.exact import real, sigmoid
from tests.fuzz.generators import Draw
from tests.fuzz.harness import Arguments, Near, Outside, Same

SIZES, STRETCHES = (0.05, 0.1, 0.2, 0.4, 0.8, 1.6), (0.1, 0.2, 0.4, 0.8)
BETS = [(mp.mpf(sign * size), mp.mpf(1)) for sign in (1, -1) for size in SIZES] + [
    (mp.mpf(0), mp.exp(sign * mp.mpf(size))) for sign in (1, -1) for size in STRETCHES
]
ROWS = ("y_true", "probability")


def draw(draw: Draw) -> Arguments:
    """Up to four looks at the same rows of all; each takes some, in turn."""
    n = draw.between(1, 24)
    p = np.clip(draw.probabilities(n, edges=False), 1e-9, 1 - 1e-9)
    y = draw.binary(n)
    given: Arguments = {"y_true": y, "probability": p, "looks": draw.between(1, 4), "rate": None}
    if draw.chance(0.5):
        given["rate"] = draw.of([1.0, 0.5, 0.05, draw.uniform(0.01, 1)])
    F = F1 = Fs = None
    if draw.chance(0.6):
        F = np.where(draw.rng.random(n) < 0.3, draw.rng.choice([0.0, 1.0, 0.5], n),
                     draw.rng.random(n))  # fmt: skip
        if draw.chance(0.9):
            F = np.where((y == 1) & (F == 0), 0.5, F)
        F1 = F * draw.rng.choice([0.0, 0.5, 0.9], n) if draw.chance(0.6) else None
        Fs = draw.of([F, np.ones(n), F / 2, draw.rng.random(n)])
    return given | {"arrived": F, "before": F1, "sampled": Fs}


def monitor(
    y_true: Any, probability: Any, looks: int, rate: Any, arrived: Any, before: Any, sampled: Any
) -> Any:
    found, evidence = CalibrationMonitor(0.05, rate), []
    for k in range(min(looks, max(len(y_true), len(probability)))):
        at = slice(k, None, looks)
        late = {} if arrived is None else {
            "arrived": arrived[at], "arrived_at_sampling": sampled[at],
            "arrived_before": 0.0 if before is None else before[at],
        }  # fmt: skip
        found.update(y_true[at], probability[at], **late)
        evidence.append(found.log_evidence[-1])
    again = CalibrationMonitor.from_json(found.to_json())
    return {"evidence": evidence, "shift": found.shift, "again": again.to_json() == found.to_json()}


def reference(
    y_true: Any, probability: Any, looks: int, rate: Any, arrived: Any, before: Any, sampled: Any
) -> Any:
    n, r = len(y_true), real(1 if rate is None else rate)
    F = [real(x) for x in (np.ones(n) if arrived is None else arrived)]
    F1 = [real(x) for x in (np.zeros(n) if before is None else before)]
    Fs = [real(x) for x in (np.ones(n) if sampled is None else sampled)]
    if any(y and (f == 0 or f == g) for y, f, g in zip(y_true, F, F1, strict=True)):
        raise Outside("arrived")

    def stays(i: int, p: Any) -> Any:
        """The chance that the label of a kept row has still not arrived."""

        def mass(f: Any) -> Any:
            latest = max(f, Fs[i])
            return p * max(Fs[i] - f, 0) + r * (p * (1 - latest) + 1 - p)

        return mass(F[i]) / mass(F1[i])

    made: list[list[Any]] = []  # L of each bet at each look
    for k in range(min(looks, n)):
        rows = [i for i in range(k, n, looks) if F[i] > F1[i]]
        z = {i: mp.log(real(probability[i]) / (1 - real(probability[i]))) for i in rows}
        C = {i: stays(i, sigmoid(z[i])) for i in rows}
        weight = sum(C[i] * (1 - C[i]) for i in rows)
        centre = sum(C[i] * (1 - C[i]) * z[i] for i in rows) / weight if weight else 0
        L = []
        for shift, slope in BETS:
            value = mp.mpf(1)
            for i in rows:
                c = stays(i, sigmoid(centre + slope * (z[i] - centre) + shift))
                value *= (1 - c) / (1 - C[i]) if y_true[i] else c / C[i]
            L.append(value)
        made.append(L)
    evidence = []
    for t in range(1, len(made) + 1):
        begun = [mp.fsum(mp.fprod(made[s][b] for s in range(k, t)) / ((k + 1) * (k + 2))
                         for k in range(t)) for b in range(len(BETS))]  # fmt: skip
        evidence.append(mp.log(mp.fsum(begun) / len(BETS) + mp.mpf(1) / (t + 1)))
    total = mp.fsum(begun)
    shift = mp.fsum(M * bet[0] for M, bet in zip(begun, BETS, strict=True)) / total
    # rounding of p near 1 is that of 1 - p, and of F near F_1 that of their difference
    return {
        "evidence": [Near(x, 1e-9 * (1 + abs(x))) for x in evidence], "shift": Near(shift, 1e-8),
        "again": Same(True),
    }  # fmt: skip
