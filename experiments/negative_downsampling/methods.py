"""Every method on the same sample of the same rows.

Symbols: w the measured rate at which negatives were kept, d = log w the shift.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from scipy.special import expit
from sklearn.isotonic import IsotonicRegression
from sklearn.metrics import brier_score_loss, log_loss, roc_auc_score

from experiments._common import Array
from experiments.negative_downsampling.configuration import Configuration
from experiments.negative_downsampling.models import Fitted, Recipe, Rows, fit
from gbdt_objectives import (
    correct_probability,
    log_odds_shift,
    negative_downsample,
    offset_logloss_objective,
    weighted_logloss_objective,
)
from gbdt_objectives.priors import correct_margin, measured_keep_rates

ALL_ROWS = "all rows"
UNCORRECTED = "uncorrected"
CORRECTED = "corrected"
OFFSET = "offset in training"
WEIGHTED = "weighted 1/w"
SCALED = "weighted, mean 1"
ISOTONIC = "corrected, isotonic"
FLOORED = "corrected, isotonic with floor"
BAGS = "corrected, 5 bags"
IN_SAMPLE = "isotonic in sample"
METHODS = (
    ALL_ROWS, UNCORRECTED, CORRECTED, OFFSET, WEIGHTED, SCALED, ISOTONIC, FLOORED, BAGS, IN_SAMPLE
)  # fmt: skip
"""As in the published table, and two more: the floor, and isotonic regression in sample."""

COMPARISONS = (
    (CORRECTED, ALL_ROWS),
    (UNCORRECTED, CORRECTED),
    (OFFSET, CORRECTED),
    (WEIGHTED, CORRECTED),
    (SCALED, CORRECTED),
    (SCALED, WEIGHTED),
    (ISOTONIC, CORRECTED),
    (FLOORED, CORRECTED),
    (IN_SAMPLE, CORRECTED),
    (BAGS, CORRECTED),
    (BAGS, ALL_ROWS),
)
"""What is subtracted: the first's logloss minus the second's."""


@dataclass(frozen=True)
class Data:
    """Rows to train on, to choose rounds on and to judge on, all of the full population."""

    train: Rows
    held_out: Rows
    test: Rows


@dataclass(frozen=True)
class Served:
    """Probabilities of the test rows, and what it took to get the model."""

    probability: Array
    rounds: float
    seconds: float
    seconds_choosing: float


def all_rows(booster: str, data: Data, configuration: Configuration) -> Served:
    """The model without sampling."""
    model = fit(booster, data.train, data.held_out, Recipe(), configuration.training)
    return _served(expit(model.margin(data.test[0])), model)


def samples(
    y: Array, rate: float, configuration: Configuration, stream: Sequence[int]
) -> list[Array]:
    """Rows of every bag; all boosters and methods see the same."""
    return [
        negative_downsample(y, rate, random_state=np.random.default_rng([*stream, bag]))
        for bag in range(configuration.bags)
    ]


def train_downsampled(
    booster: str, data: Data, bags: Sequence[Array], configuration: Configuration
) -> dict[str, Served]:
    """Every method but all rows; all but the bagged one train on the first bag."""
    X, y = data.train
    X_test = data.test[0]
    models, shifts = [], []
    for rows in bags:
        w = measured_keep_rates(y, y[rows])[0]
        shifts.append(log_odds_shift(negative_keep_rate=w))
        recipe = Recipe(shift=shifts[-1])
        sample = X[rows], y[rows]
        models.append(fit(booster, sample, data.held_out, recipe, configuration.training))
    margins = [m.margin(X_test) for m in models]
    model, shift, sample = models[0], shifts[0], (X[bags[0]], y[bags[0]])

    probability = expit(margins[0])
    corrected = correct_probability(probability, shift)
    served = {
        UNCORRECTED: _served(probability, model),
        CORRECTED: _served(corrected, model),
        BAGS: _served(expit(np.mean(list(map(correct_margin, margins, shifts)), axis=0)), *models),
    }

    held_out = correct_probability(expit(model.margin(data.held_out[0])), shift)
    floor = configuration.isotonic_floor
    for name, limits in ((ISOTONIC, {}), (FLOORED, {"y_min": floor, "y_max": 1 - floor})):
        isotonic = IsotonicRegression(out_of_bounds="clip", **limits)
        isotonic.fit(held_out, data.held_out[1])
        served[name] = _served(isotonic.predict(corrected), model)
    in_sample = IsotonicRegression(out_of_bounds="clip")
    in_sample.fit(expit(model.margin(sample[0])), sample[1])
    served[IN_SAMPLE] = _served(in_sample.predict(probability), model)

    w = measured_keep_rates(y, sample[1])[0]
    weight = np.where(sample[1] == 1, 1.0, 1 / w)
    recipes = {
        OFFSET: Recipe(objective=offset_logloss_objective(w)),
        WEIGHTED: Recipe(objective=weighted_logloss_objective(w)),
        SCALED: Recipe(weight=weight / weight.mean()),
    }
    for name, recipe in recipes.items():
        other = fit(booster, sample, data.held_out, recipe, configuration.training)
        served[name] = _served(expit(other.margin(X_test)), other)
    return served


def figures(y: Array, served: Served) -> dict[str, float]:
    """What is measured on the test rows; a probability of exactly 0 costs 36 nats if wrong."""
    p = served.probability
    return {
        "logloss": log_loss(y, p),
        "brier": brier_score_loss(y, p),
        "auc": roc_auc_score(y, p),
        "mean_ratio": p.mean() / y.mean(),
        "rounds": served.rounds,
        "seconds": served.seconds,
        "seconds_choosing": served.seconds_choosing,
    }


def lines(y: Array, found: Mapping[str, Served]) -> list[dict[str, object]]:
    """One line a method."""
    return [{"method": name, **figures(y, served)} for name, served in found.items()]


def _served(probability: Array, *models: Fitted) -> Served:
    return Served(
        probability,
        float(np.mean([m.rounds for m in models])),
        sum(m.seconds for m in models),
        sum(m.seconds_choosing for m in models),
    )
