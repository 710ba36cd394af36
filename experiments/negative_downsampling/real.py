"""A file of one's own: the same methods in repeated stratified cross-validation."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
from sklearn.model_selection import RepeatedStratifiedKFold, StratifiedKFold
from tqdm import tqdm

from experiments import _common
from experiments._common import Array, InputError
from experiments.negative_downsampling import methods
from experiments.negative_downsampling.configuration import Configuration
from experiments.negative_downsampling.methods import ALL_ROWS, Data

LEAST_POSITIVES = 50


def load(path: Path, target: str, *, header: bool = True) -> tuple[Array, Array]:
    """Features (n, d) and labels (n,), 1 for the rarer of two values of the target column.

    Without a header, ``target`` is the number of the column, from 1.
    """
    if not path.is_file():
        raise InputError(f"file {str(path)!r} not found: give the path of a CSV file")
    try:
        frame = pd.read_csv(path, header=0 if header else None)
    except (pd.errors.ParserError, pd.errors.EmptyDataError, UnicodeDecodeError) as error:
        raise InputError(f"file {str(path)!r} is not a CSV file: {error}") from error
    if not header:
        frame.columns = [str(i) for i in range(1, frame.shape[1] + 1)]
    if target not in frame.columns:
        hint = "name one of these" if header else "give the number of one of these"
        raise InputError(
            f"--target: no column {target!r} in the file, which has {', '.join(frame.columns)}: "
            f"{hint}" + ("; or is it a file without a header, --no-header?" if header else "")
        )
    return _common.features(frame.drop(columns=target)), labels(frame[target])


def labels(column: pd.Series) -> Array:
    """1 where the column has its rarer value, otherwise 0."""
    name = f"--target {column.name!r}"
    if column.isna().any():
        raise InputError(f"{name}: {int(column.isna().sum())} labels are missing: drop these rows")
    counts = column.value_counts()
    if len(counts) != 2:
        raise InputError(
            f"{name}: two different labels are needed, found {len(counts)}: name another column, "
            "or make it one class against the rest"
        )
    if counts.iloc[0] == counts.iloc[1]:
        raise InputError(f"{name}: both labels are in half of the rows: neither is the rare one")
    if counts.iloc[1] < LEAST_POSITIVES:
        raise InputError(
            f"{name}: {counts.iloc[1]} rows with the rarer label are too few for nested "
            f"cross-validation: at least {LEAST_POSITIVES} are needed"
        )
    return (column == counts.index[1]).to_numpy().astype(np.int64)


def run_file(name: str, X: Array, y: Array, configuration: Configuration) -> pd.DataFrame:
    """One line a repeat, fold, booster, keep rate and method."""
    scale = configuration.scale
    outer = RepeatedStratifiedKFold(
        n_splits=scale.outer_folds, n_repeats=scale.outer_repeats, random_state=configuration.seed
    )
    inner = StratifiedKFold(scale.validation_folds, shuffle=True, random_state=configuration.seed)
    lines: list[dict[str, object]] = []
    steps = scale.outer_folds * scale.outer_repeats * len(configuration.boosters)
    with tqdm(total=steps, unit="fold") as bar:
        for fold, (train, test) in enumerate(outer.split(X, y)):
            fit, held_out = (train[part] for part in next(inner.split(X[train], y[train])))
            data = Data((X[fit], y[fit]), (X[held_out], y[held_out]), (X[test], y[test]))
            samples = {
                rate: methods.samples(data.train[1], rate, configuration, [1000 + fold, i])
                for i, rate in enumerate(scale.file_keep_rates)
            }
            rows = {"train_rows": len(train), "test_rows": len(test)}
            for booster in configuration.boosters:
                bar.set_description(f"{name}: {booster}")
                place = {"file": name, "seed": fold, "booster": booster, **rows}
                found = {ALL_ROWS: methods.all_rows(booster, data, configuration)}
                lines += [
                    place | {"keep_rate": 1.0} | line for line in methods.lines(y[test], found)
                ]
                for rate, bags in samples.items():
                    found = methods.train_downsampled(booster, data, bags, configuration)
                    lines += [
                        place | {"keep_rate": rate} | line for line in methods.lines(y[test], found)
                    ]
                bar.update()
    return pd.DataFrame(lines)
