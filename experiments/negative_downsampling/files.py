"""Four files and simulated rows: correct or weight, both tuned alike, and rates by row.

Symbols: w the measured rate at which negatives were kept, k negatives per positive.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from scipy.special import expit
from sklearn.metrics import log_loss, roc_auc_score
from sklearn.model_selection import RepeatedStratifiedKFold, StratifiedKFold
from tqdm import tqdm

from experiments import _common
from experiments._common import Array
from experiments.negative_downsampling import configuration, models, population
from experiments.negative_downsampling.configuration import Training
from experiments.negative_downsampling.methods import Data
from experiments.negative_downsampling.models import Recipe, Rows
from gbdt_objectives import log_odds_shift, negative_downsample, offset_logloss_objective
from gbdt_objectives.priors import correct_margin, measured_keep_rates, pilot_keep_rates

CONFIG = Path(__file__).parent / "config.json"
SIMULATED = "simulated"

ALL_ROWS = "all rows"
UNCORRECTED = "uncorrected"
CORRECTED = "corrected"
OFFSET = "offset in training"
WEIGHTED = "weighted 1/w"
SCALED = "weighted, mean 1"
TUNED_ALL = "all rows, tuned"
TUNED = "corrected, tuned"
TUNED_BAGS = "corrected, tuned, 5 bags"
TUNED_WEIGHTED = "weighted, tuned"
UNIFORM = "one rate"
PILOT = "rates by row"

DIFFERENCES = (
    (UNCORRECTED, CORRECTED),
    (OFFSET, CORRECTED),
    (WEIGHTED, CORRECTED),
    (SCALED, CORRECTED),
    (TUNED, CORRECTED),
    (TUNED_WEIGHTED, TUNED),
    (TUNED, TUNED_ALL),
    (TUNED_BAGS, TUNED),
    (TUNED_BAGS, TUNED_ALL),
)
"""What is subtracted: the first's figures minus the second's."""

Settings = dict[str, Any]
Cell = dict[str, Any]


def read(*, quick: bool = False) -> Settings:
    """config.json, which was fixed before any result existed."""
    settings = _common.read_json(CONFIG)
    small = settings.pop("quick")
    return settings | small if quick else settings


# Rows


def splits(name: str, X: Array, y: Array, settings: Settings) -> Iterator[tuple[int, Data]]:
    """Repeated folds of a file; a part of each fold's training rows is held out to choose on."""
    seed = settings["seed"]
    outer = RepeatedStratifiedKFold(
        n_splits=settings["folds"], n_repeats=settings["repeats"], random_state=seed
    )
    inner = StratifiedKFold(settings["validation_folds"], shuffle=True, random_state=seed)
    for fold, (train, test) in enumerate(tqdm(list(outer.split(X, y)), desc=name)):
        fit, held_out = (train[part] for part in next(inner.split(X[train], y[train])))
        yield fold, Data((X[fit], y[fit]), (X[held_out], y[held_out]), (X[test], y[test]))


def draws(settings: Settings) -> Iterator[tuple[int, Data]]:
    """The simulated population of the published comparison, fresh rows in each draw."""
    own = settings[SIMULATED]
    rare = replace(configuration.read().population, prior=own["prior"])
    for draw in tqdm(range(own["draws"]), desc=SIMULATED):
        rng = np.random.default_rng([settings["seed"], 77, draw])
        parts = [
            population.draw(own[f"{part}_rows"], rare, rng)[:2]
            for part in ("train", "validation", "test")
        ]
        yield draw, Data(*parts)


def data_sets(folder: Path | None, settings: Settings) -> Iterator[tuple[str, int, Data]]:
    """Name, fold and rows; every file is read before anything is trained."""
    names = settings["data"] if folder is not None else {}
    files = {
        name: _common.rare_events(folder / f"{name}.csv", how, settings["seed"])
        for name, how in names.items()
        if folder is not None
    }
    for name, (X, y) in files.items():
        for fold, data in splits(name, X, y, settings):
            yield name, fold, data
    for draw, data in draws(settings):
        yield SIMULATED, draw, data


# One model


@dataclass(frozen=True)
class Chosen:
    """A model and what it took: its margins are the population's log-odds, if corrected."""

    margin: Callable[[Array], Array]
    recipe: Recipe
    rounds: int
    held_out_logloss: float


def train(booster: str, sample: Rows, data: Data, recipe: Recipe, training: Training) -> Chosen:
    """Rounds chosen on the held-out rows, after the correction."""
    rounds, margin = models.train(
        booster, sample, recipe, training, training.most_rounds, data.held_out
    )

    def corrected(X: Array) -> Array:
        return np.asarray(correct_margin(margin(X), shift=recipe.shift))

    X, y = data.held_out
    return Chosen(corrected, recipe, rounds, log_loss(y, expit(corrected(X))))


def candidates(booster: str, kind: str, settings: Settings) -> list[dict[str, float]]:
    """Parameters to try for "weighted" or "unweighted" training, the booster's own first."""
    own = settings["regularisation"][booster]
    return [
        {**dict(zip(own["parameters"], values, strict=True)), "max_delta_step": step}
        for step in settings["max_delta_step"]
        for values in own[kind]
    ]


def best(found: Sequence[Chosen]) -> Chosen:
    """The least logloss on the held-out rows."""
    return min(found, key=lambda model: model.held_out_logloss)


def cell(method: str, y: Array, margin: Array, parameters: object = "") -> Cell:
    """What is measured on the test rows."""
    p = expit(margin)
    return {
        "method": method,
        "logloss": log_loss(y, p),
        "auc": roc_auc_score(y, margin),
        "mean_ratio": p.mean() / y.mean(),
        "chosen": str(parameters),
    }


# The comparison


def compare_methods(
    booster: str, data: Data, settings: Settings, stream: Sequence[int]
) -> Iterator[Cell]:
    """Every method at every keep rate that leaves enough negatives."""
    training = Training(**settings["training"])
    (X, y), (X_test, y_test) = data.train, data.test
    plain = candidates(booster, "unweighted", settings)

    def tune(sample: Rows, recipes: Sequence[Recipe]) -> list[Chosen]:
        return [train(booster, sample, data, recipe, training) for recipe in recipes]

    def judge(method: str, model: Chosen) -> Cell:
        return cell(method, y_test, model.margin(X_test), dict(model.recipe.parameters))

    tried = tune(data.train, [Recipe(parameters=p) for p in plain])
    for method, model in ((ALL_ROWS, tried[0]), (TUNED_ALL, best(tried))):
        yield {"keep_rate": 1.0} | judge(method, model)
    for rate in settings["keep_rates"]:
        if rate * (y == 0).sum() < settings["least_negatives"]:
            continue
        found = []
        bags = [
            negative_downsample(y, rate, random_state=np.random.default_rng([*stream, bag]))
            for bag in range(settings["bags"])
        ]
        samples = [(X[rows], y[rows]) for rows in bags]
        kept = [measured_keep_rates(y, own)[0] for _, own in samples]
        shifts = [log_odds_shift(negative_keep_rate=w) for w in kept]
        sample, w = samples[0], kept[0]

        tried = tune(sample, [Recipe(shift=shifts[0], parameters=p) for p in plain])
        chosen = best(tried)
        found += [judge(CORRECTED, tried[0]), judge(TUNED, chosen)]
        found.append(cell(UNCORRECTED, y_test, tried[0].margin(X_test) - float(shifts[0])))
        others = [
            train(booster, own, data, replace(chosen.recipe, shift=shift), training)
            for own, shift in zip(samples[1:], shifts[1:], strict=True)
        ]
        p = np.mean([expit(model.margin(X_test)) for model in (chosen, *others)], axis=0)
        found.append(cell(TUNED_BAGS, y_test, np.log(p) - np.log1p(-p)))

        offset = Recipe(offset_logloss_objective(w), parameters=plain[0])
        found.append(judge(OFFSET, train(booster, sample, data, offset, training)))

        weight = np.where(sample[1] == 1, 1.0, 1 / w)
        scales = {"1/w": weight, "mean 1": weight / weight.mean()}
        recipes = {
            scale: [
                Recipe(weight=scales[scale], parameters=p)
                for p in candidates(booster, "weighted", settings)
            ]
            for scale in settings["weight_scales"]
        }
        by_scale = {scale: tune(sample, own) for scale, own in recipes.items()}
        found += [judge(WEIGHTED, by_scale["1/w"][0]), judge(SCALED, by_scale["mean 1"][0])]
        chosen = best([model for own in by_scale.values() for model in own])
        line = judge(TUNED_WEIGHTED, chosen)
        scale = next(s for s, own in by_scale.items() if any(m is chosen for m in own))
        found.append(line | {"chosen": f"{scale} {line['chosen']}"})
        yield from ({"keep_rate": rate} | line for line in found)


def pilot_probability(
    booster: str, rows: Rows, settings: Settings, rng: np.random.Generator
) -> Array:
    """Of each row, by a small model that was trained on a sample of the other rows."""
    own, training = settings["by_row"], Training(**settings["training"])
    X, y = rows
    p = np.empty(len(y))
    folds = StratifiedKFold(own["pilot_folds"], shuffle=True, random_state=settings["seed"])
    for others, rated in folds.split(X, y):
        events = y[others].sum()
        rate = min(1.0, own["pilot_negatives_per_positive"] * events / (len(others) - events))
        sample = others[negative_downsample(y[others], rate, random_state=rng)]
        w = measured_keep_rates(y[others], y[sample])[0]
        _, margin = models.train(
            booster, (X[sample], y[sample]), Recipe(), training, own["pilot_rounds"], None
        )
        p[rated] = expit(correct_margin(margin(X[rated]), negative_keep_rate=w))
    return p


def compare_rates(
    booster: str, data: Data, settings: Settings, stream: Sequence[int]
) -> Iterator[Cell]:
    """As many negatives kept at one rate and at rates by row, both with the offset."""
    training, own = Training(**settings["training"]), settings["by_row"]
    (X, y), (X_test, y_test) = data.train, data.test
    p = pilot_probability(booster, data.train, settings, np.random.default_rng([*stream, 1000]))
    for k in own["negatives_per_positive"]:
        if k * y.sum() < settings["least_negatives"]:
            continue
        mean = k * y.sum() / (y == 0).sum()
        rates = pilot_keep_rates(y, p, mean, floor=own["floor_of_mean_rate"] * mean)
        for number in range(own["samples"]):
            seed = [*stream, 2000 + number]
            rows = negative_downsample(y, mean, random_state=np.random.default_rng(seed))
            objective = offset_logloss_objective(measured_keep_rates(y, y[rows])[0])
            chosen = negative_downsample(y, rates, random_state=np.random.default_rng(seed))
            for method, at, obj in (
                (UNIFORM, rows, objective),
                (PILOT, chosen, offset_logloss_objective(rates[chosen])),
            ):
                model = train(booster, (X[at], y[at]), data, Recipe(obj), training)
                yield {"per_positive": k, "sample": number} | cell(
                    method, y_test, model.margin(X_test)
                )


def run_all(folder: Path | None, settings: Settings) -> tuple[pd.DataFrame, pd.DataFrame]:
    """One line a data set, fold, booster, rate and method; and the same for rates by row."""
    cells, by_row = [], []
    for name, fold, data in data_sets(folder, settings):
        for booster in settings["boosters"]:
            place = {"data": name, "booster": booster, "fold": fold}
            stream = [settings["seed"], fold]
            cells += [place | line for line in compare_methods(booster, data, settings, stream)]
            by_row += [place | line for line in compare_rates(booster, data, settings, stream)]
    return pd.DataFrame(cells), pd.DataFrame(by_row)


# Means and paired differences


def test_share(name: str, settings: Settings) -> float:
    """n_test / n_train of Nadeau and Bengio's error; 0 for draws that share no rows."""
    return 0.0 if name == SIMULATED else 1 / (settings["folds"] - 1)


def differences(
    cells: pd.DataFrame,
    rate: str,
    pairs: Sequence[tuple[str, str]],
    settings: Settings,
    shared: Sequence[str] = (),
) -> pd.DataFrame:
    """Paired over folds: logloss, also in percent of the second's, AUC and the mean ratio.

    ``shared``: methods without a rate.
    """
    figures = ["logloss", "auc", "mean_ratio"]
    lines = []
    for (name, booster), own in cells.groupby(["data", "booster"], sort=False):
        without = own[own.method.isin(shared)]
        for value, group in own[~own.method.isin(shared)].groupby(rate, sort=False):
            table = (
                pd.concat([group, without])
                .groupby(["method", "fold"])[figures].mean().unstack("fold")
            )  # fmt: skip
            for first, second in pairs:
                line: Cell = {"data": name, "booster": booster, rate: value}
                line |= {"first": first, "second": second}
                found = {
                    f: (table.loc[first, f] - table.loc[second, f]).to_numpy() for f in figures
                }
                found["percent"] = 100 * found["logloss"] / table.loc[second, "logloss"].mean()
                for figure, values in found.items():
                    line[figure] = values.mean()
                    line[f"{figure}_se"] = _common.corrected_error(
                        values, test_share(name, settings)
                    )
                line["verdict"] = _common.verdict(-line["logloss"], line["logloss_se"])
                line["folds"] = len(values)
                lines.append(line)
    return pd.DataFrame(lines)


def summary(cells: pd.DataFrame, rate: str) -> pd.DataFrame:
    """Means over folds."""
    place = ["data", "booster", rate, "method"]
    return cells.groupby(place, sort=False)[["logloss", "auc", "mean_ratio"]].mean().reset_index()
