"""The configuration of the published comparison and of King and Zeng's case: published.json.

It was fixed before any result existed, but for the curve that says in its name that it was not.
"""

from __future__ import annotations

from dataclasses import dataclass, fields
from pathlib import Path

from experiments import _common

CONFIG = Path(__file__).parent / "published.json"


@dataclass(frozen=True)
class Population:
    """Log-odds of a row: prior and the size of each term; see ``population.log_odds``."""

    prior: float
    linear: float
    square: float = 0.0
    absolute: float = 0.0
    product: float = 0.0
    sine: float = 0.0
    step: float = 0.0
    curve: float = 0.0


@dataclass(frozen=True)
class Training:
    """What all models have in common."""

    learning_rate: float
    max_depth: int
    patience: int
    most_rounds: int
    threads: int


@dataclass(frozen=True)
class Scale:
    """How large a run is."""

    seeds: int
    train_rows: int
    test_rows: int
    validation_rows: int
    keep_rates: tuple[float, ...]
    weighting_sizes: tuple[int, ...]
    weighting_repetitions: int
    weighting_test_rows: int
    weighting_keep_rate: float


@dataclass(frozen=True)
class Acceptance:
    """What the comparison is held to; logloss in nats, errors are standard errors."""

    offset_equals_corrected_within: float
    uncorrected_times_others: float
    in_sample_isotonic_times_corrected: float
    better_by_standard_errors: float
    corrected_within_of_all_rows: float
    bags_worse_than_all_rows_at_most: float


@dataclass(frozen=True)
class Configuration:
    """published.json, with one of its two scales."""

    seed: int
    boosters: tuple[str, ...]
    main_keep_rate: float
    bags: int
    isotonic_floor: float
    training: Training
    population: Population
    curve_added_after_first_results: float
    acceptance: Acceptance
    scale: Scale


def read(scale: str = "full", path: Path = CONFIG) -> Configuration:
    """The configuration with the scale "full" or "quick"."""
    raw = _common.read_json(path)
    own = {field.name: raw[scale][field.name] for field in fields(Scale)}  # the rest: a former part
    sizes = {name: tuple(v) if isinstance(v, list) else v for name, v in own.items()}
    return Configuration(
        seed=raw["seed"],
        boosters=tuple(raw["boosters"]),
        main_keep_rate=raw["main_keep_rate"],
        bags=raw["bags"],
        isotonic_floor=raw["isotonic_floor"],
        training=Training(**raw["training"]),
        population=Population(**raw["population"]),
        curve_added_after_first_results=raw["curve_added_after_first_results"],
        acceptance=Acceptance(**raw["acceptance"]),
        scale=Scale(**sizes),
    )
