"""The configuration: read from config.json, which was fixed before any result existed."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from experiments import _common

CONFIG = Path(__file__).parent / "config.json"


@dataclass(frozen=True)
class Family:
    """Simulated rows: label frequencies, correlation of the signal with the latent, the score."""

    name: str
    prior: tuple[float, ...]
    correlation: float
    score: str

    @property
    def label_range(self) -> tuple[int, int]:
        return 0, len(self.prior) - 1


@dataclass(frozen=True)
class Scale:
    """How large a run is; ``sizes`` holds (rows to fit on, repetitions)."""

    sizes: tuple[tuple[int, int], ...]
    test_rows: int
    ceiling_points: int
    outer_folds: int
    outer_repeats: int
    inner_folds: int
    learning_rate: float
    max_depth: int
    rounds_small: int
    rounds_large: int
    large_from_rows: int

    def rounds(self, rows: int) -> int:
        """Boosting rounds for a file of so many rows."""
        return self.rounds_large if rows >= self.large_from_rows else self.rounds_small


@dataclass(frozen=True)
class Acceptance:
    """When plug-in is accepted against Nelder-Mead; units are plain standard errors."""

    never_worse_by_standard_errors: float
    better_by_standard_errors: float
    better_on_files: int
    better_judged_on: str
    files: tuple[str, ...]


@dataclass(frozen=True)
class CurvedAcceptance:
    """When curved thresholds are accepted: never worse than another method in any row, and better
    than one of them by family, on the mean over all sizes; units are plain standard errors."""

    never_worse_by_standard_errors: float
    better_by_standard_errors: float
    better_than: dict[str, str]


@dataclass(frozen=True)
class Configuration:
    """config.json, with one of its two scales."""

    seed: int
    methods: tuple[str, ...]
    pairs: tuple[tuple[str, str], ...]
    acceptance: Acceptance
    curved_acceptance: CurvedAcceptance
    scale: Scale
    families: tuple[Family, ...]


def read(scale: str = "full", path: Path = CONFIG) -> Configuration:
    """The configuration with the scale "full" or "quick"."""
    raw = _common.read_json(path)
    sizes = tuple((int(n), int(times)) for n, times in raw[scale]["sizes"].items())
    acceptance = raw["acceptance"]
    return Configuration(
        seed=raw["seed"],
        methods=tuple(raw["methods"]),
        pairs=tuple((method, other) for method, other in raw["pairs"]),
        curved_acceptance=CurvedAcceptance(**raw["curved_acceptance"]),
        acceptance=Acceptance(**(acceptance | {"files": tuple(acceptance["files"])})),
        scale=Scale(**(raw[scale] | {"sizes": sizes})),
        families=tuple(Family(**(f | {"prior": tuple(f["prior"])})) for f in raw["families"]),
    )
