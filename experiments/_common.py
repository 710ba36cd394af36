"""What the experiments share: four ways to train, thresholds, tables and the record of a run.

Symbols: X features (n, d), y integer labels (n,), score a prediction in label units (n,).
"""

from __future__ import annotations

import argparse
import datetime
import hashlib
import json
import os
import platform
import shutil
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from importlib.metadata import version
from pathlib import Path
from typing import Any, Literal

import lightgbm as lgb
import numpy as np
import pandas as pd
import xgboost as xgb
from numpy.typing import NDArray
from sklearn.model_selection import StratifiedKFold
from threadpoolctl import threadpool_limits

from gbdt_objectives import (
    apply_thresholds,
    optimize_thresholds,
    quadratic_weighted_kappa,
    qwk_metric,
    qwk_objective,
)
from gbdt_objectives.adapters import lightgbm as lightgbm_adapter, xgboost as xgboost_adapter
from gbdt_objectives.priors import resample_classes

Array = NDArray[Any]
ThresholdMethod = Literal["nelder-mead", "exact", "plugin", "curved"]

BLUE, ORANGE = "#0072B2", "#D55E00"
"""Extended QWK and squared error in every picture (Okabe-Ito, colour-blind safe)."""
COLORS = {"squared error": ORANGE, "extended QWK": BLUE}

MOST_CLASSES = 50
LEAST_ROWS = 100
LEAST_IN_SECOND_CLASS = 10
"""What a data file must have at least and at most."""

BEGAN = time.monotonic()  # of the process, nearly: a study is one
RECORD = "environment.json"
LIBRARIES = ("gbdt_objectives", "xgboost", "lightgbm", "numpy", "scipy", "scikit-learn", "pandas")


@dataclass(frozen=True)
class Task:
    """What all models of one comparison have in common.

    ``rounds`` is the most that early stopping may use; ``patience`` how many rounds
    without improvement end it; ``clip`` is that of ``qwk_objective``.
    """

    label_range: tuple[int, int]
    rounds: int
    patience: int
    xgboost: Mapping[str, Any] = field(default_factory=dict)
    lightgbm: Mapping[str, Any] = field(default_factory=dict)
    clip: bool = True


@dataclass(frozen=True)
class Fitted:
    """A trained model: features to scores in label units, and the rounds it holds."""

    predict: Callable[[Array], Array]
    rounds: int


Validation = tuple[Array, Array] | None
Fit = Callable[[Array, Array, Task, int, Validation], Fitted]
"""(X, y, task, rounds, validation) to a model; with validation it stops early."""


def xgboost_squared_error(
    X: Array, y: Array, task: Task, rounds: int, validation: Validation = None
) -> Fitted:
    """XGBoost's own squared error, starting at the mean label, stopping on its own rmse."""
    evals = [] if validation is None else [(xgb.DMatrix(*validation), "validation")]
    stop = xgb.callback.EarlyStopping(rounds=task.patience, save_best=True)
    booster = xgb.train(
        {**task.xgboost, "objective": "reg:squarederror", "base_score": float(y.mean())},
        xgb.DMatrix(X, y),
        rounds,
        evals=evals,
        callbacks=[stop] if evals else None,
        verbose_eval=False,
    )
    return Fitted(lambda X: booster.predict(xgb.DMatrix(X)), booster.num_boosted_rounds())


def xgboost_qwk(
    X: Array, y: Array, task: Task, rounds: int, validation: Validation = None
) -> Fitted:
    """XGBoost on extended QWK, stopping on the QWK of rounded scores."""
    booster = xgboost_adapter.train(
        task.xgboost,
        xgb.DMatrix(X, y),
        rounds,
        objective=qwk_objective(y, label_range=task.label_range, clip=task.clip),
        **_stopping(task, None if validation is None else xgb.DMatrix(*validation)),
    )
    return Fitted(lambda X: booster.predict(xgb.DMatrix(X)), booster.num_boosted_rounds())


def lightgbm_squared_error(
    X: Array, y: Array, task: Task, rounds: int, validation: Validation = None
) -> Fitted:
    """LightGBM's own squared error, stopping on its own l2."""
    data = lgb.Dataset(X, y)
    stopping: dict[str, Any] = {}
    if validation is not None:
        stopping["valid_sets"] = [lgb.Dataset(*validation, reference=data)]
        stopping["callbacks"] = [lgb.early_stopping(task.patience, verbose=False)]
    params = {"verbose": -1, **task.lightgbm, "objective": "regression"}
    booster = lgb.train(params, data, rounds, **stopping)
    return Fitted(booster.predict, booster.best_iteration if stopping else booster.num_trees())


def lightgbm_qwk(
    X: Array, y: Array, task: Task, rounds: int, validation: Validation = None
) -> Fitted:
    """LightGBM on extended QWK with the intercept in the model, stopping on rounded QWK."""
    data = lgb.Dataset(X, y)
    booster = lightgbm_adapter.train(
        {"verbose": -1, **task.lightgbm},
        data,
        rounds,
        objective=qwk_objective(y, label_range=task.label_range, clip=task.clip),
        **_stopping(task, None if validation is None else lgb.Dataset(*validation, reference=data)),
    )
    return Fitted(booster.predict, booster.num_trees())


def lightgbm_qwk_shifted(
    X: Array, y: Array, task: Task, rounds: int, validation: Validation = None
) -> Fitted:
    """LightGBM on extended QWK as published: labels shifted to their centre, scores back."""
    low, high = task.label_range
    center = (low + high) / 2
    metric = qwk_metric(task.label_range)

    def rounded_qwk_of_shifted(margin: Array, data: lgb.Dataset) -> tuple[str, float, bool]:
        value = metric(data.get_label() + center, margin + center)
        return metric.name, value, metric.greater_is_better

    shifted_range = (float(low - center), float(high - center))
    objective = qwk_objective(y - center, label_range=shifted_range, clip=task.clip)
    data = lgb.Dataset(X, y - center)
    stopping: dict[str, Any] = {}
    if validation is not None:
        X_valid, y_valid = validation
        stopping["valid_sets"] = [lgb.Dataset(X_valid, y_valid - center, reference=data)]
        stopping["feval"] = rounded_qwk_of_shifted
        stopping["callbacks"] = [lgb.early_stopping(task.patience, verbose=False)]
    params = {"verbose": -1, "metric": "None", **task.lightgbm, "objective": objective}
    booster = lgb.train(params, data, rounds, **stopping)
    return Fitted(
        lambda X: booster.predict(X) + center,
        booster.best_iteration if stopping else booster.num_trees(),
    )


def _stopping(task: Task, validation: xgb.DMatrix | lgb.Dataset | None) -> dict[str, Any]:
    if validation is None:
        return {}
    return {
        "metric": qwk_metric(task.label_range),
        "evals": [(validation, "validation")],
        "early_stopping_rounds": task.patience,
    }


METHODS: dict[tuple[str, str], Fit] = {
    ("XGBoost", "squared error"): xgboost_squared_error,
    ("XGBoost", "extended QWK"): xgboost_qwk,
    ("LightGBM", "squared error"): lightgbm_squared_error,
    ("LightGBM", "extended QWK"): lightgbm_qwk,
}


def out_of_fold(
    fit: Fit, X: Array, y: Array, task: Task, rounds: int, *, folds: int = 5, seed: int = 0
) -> Array:
    """The score of each row from the model that has not seen it."""
    score = np.empty(len(y))
    splits = StratifiedKFold(folds, shuffle=True, random_state=seed)
    for train, held_out in splits.split(X, y):
        score[held_out] = fit(X[train], y[train], task, rounds, None).predict(X[held_out])
    return score


def fit_thresholds(
    y: Array, score: Array, label_range: tuple[int, int], method: ThresholdMethod = "nelder-mead"
) -> Array:
    """The K-1 thresholds by one method; Nelder-Mead once from the half-integers, as usual."""
    return optimize_thresholds(y, score, method=method, labels=classes(label_range), n_starts=1)


def classes(label_range: tuple[int, int]) -> Array:
    """All integers from the lowest label to the highest."""
    return np.arange(label_range[0], label_range[1] + 1)


def rounded_qwk(y: Array, score: Array, label_range: tuple[int, int]) -> float:
    """QWK of scores rounded to the nearest label."""
    return qwk_metric(label_range)(y, score)


def cut_qwk(y: Array, score: Array, label_range: tuple[int, int], thresholds: Array) -> float:
    """QWK of scores cut at thresholds, which may be infinite."""
    labels = classes(label_range)
    return quadratic_weighted_kappa(y, apply_thresholds(score, thresholds, labels), labels=labels)


def mean_and_error(values: Sequence[float]) -> tuple[float, float]:
    """Mean, and its standard error (nan for a single value)."""
    array = np.asarray(values, dtype=float)
    if len(array) < 2:
        return float(array.mean()), float("nan")
    return float(array.mean()), float(array.std(ddof=1) / np.sqrt(len(array)))


def corrected_error(differences: Array, test_share: float) -> float:
    """Standard error of a mean over folds that share training rows.

    Nadeau and Bengio (2003): sqrt((1/J + n_test/n_train) variance), J folds.
    """
    J = len(differences)
    return float(np.sqrt((1 / J + test_share) * np.var(differences, ddof=1)))


def verdict(mean: float, error: float) -> str:
    """Whether a difference exceeds two standard errors, and for whom."""
    if abs(mean) <= 2 * error:
        return "within two standard errors"
    return "better" if mean > 0 else "worse"


def plus_minus(mean: float, error: float, digits: int = 4) -> str:
    """ "0.6339 ± 0.0004", without the second part if there is no error to give."""
    if np.isnan(error):
        return f"{mean:.{digits}f}"
    return f"{mean:.{digits}f} ± {error:.{digits}f}"


def markdown_table(header: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """An aligned Markdown table, readable on a terminal as well."""
    widths = [max(len(line[i]) for line in (header, *rows)) for i in range(len(header))]
    lines = [header, ["-" * width for width in widths], *rows]
    return "\n".join(
        "| "
        + " | ".join(cell.ljust(width) for cell, width in zip(line, widths, strict=True))
        + " |"
        for line in lines
    )


class InputError(ValueError):
    """The file cannot be used; the message says why and what to do."""


def load(path: Path, target: str) -> tuple[Array, Array]:
    """Features (n, d) and ordered integer labels (n,) of a CSV file."""
    if not path.is_file():
        raise InputError(f"file {str(path)!r} not found: give the path of a CSV file with a header")
    try:
        frame = pd.read_csv(path)
    except (pd.errors.ParserError, pd.errors.EmptyDataError, UnicodeDecodeError) as error:
        raise InputError(f"file {str(path)!r} is not a CSV file with a header: {error}") from error
    if target not in frame.columns:
        raise InputError(
            f"--target: no column {target!r} in the file, which has {', '.join(frame.columns)}: "
            "name one of these"
        )
    return features(frame.drop(columns=target)), labels(frame[target])


def rare_events(path: Path, how: Mapping[str, Any], seed: int) -> tuple[Array, Array]:
    """Features (n, d) and labels, 1 for the event, of a CSV file of a study of rare events.

    ``how``: ``header``, with which the label is the first column, otherwise the last; ``event``,
    a label, a list of labels or "highest"; perhaps ``drop``, positions of columns that are no
    features, and ``events_kept``, a fraction.
    """
    if not path.is_file():
        raise InputError(
            f"file {str(path)!r} not found: give the folder that holds it (it is not part of the "
            "project, see the README for its source), or leave the folder out for simulated rows"
        )
    frame = pd.read_csv(path, header=0 if how["header"] else None)
    frame = frame.drop(columns=frame.columns[list(how.get("drop", ()))])
    label, X = (frame.iloc[:, 0], frame.iloc[:, 1:]) if how["header"] else (
        frame.iloc[:, -1], frame.iloc[:, :-1]
    )  # fmt: skip
    event = label.max() if how["event"] == "highest" else how["event"]
    events = [str(one) for one in (event if isinstance(event, list) else [event])]
    y = label.astype(str).isin(events).to_numpy().astype(int)
    rows = resample_classes(y, {0: 1.0, 1: how.get("events_kept", 1.0)}, random_state=seed)
    return X.to_numpy(dtype=float)[rows], y[rows]


def splits(y: Array, settings: Mapping[str, Any]) -> Iterator[tuple[int, Array, Array]]:
    """Draw, training rows and test rows: a file with few rows keeps a third for the test."""
    n = min(settings["train_rows"], 2 * len(y) // 3)
    for draw in range(settings["draws"]):
        order = np.random.default_rng([settings["seed"], draw]).permutation(len(y))
        yield draw, order[:n], order[n : n + settings["test_rows"]]


def labels(column: pd.Series) -> Array:
    """Ordered integer classes, or an error that says what is wrong with them."""
    name = f"--target {column.name!r}"
    if column.isna().any():
        raise InputError(f"{name}: {int(column.isna().sum())} labels are missing: drop these rows")
    if not pd.api.types.is_numeric_dtype(column) or pd.api.types.is_bool_dtype(column):
        raise InputError(
            f"{name}: labels must be integers, found {column.iloc[0]!r}: "
            "encode the classes as 0, 1, 2, ... in ascending order"
        )
    fractions = column[column != column.round()]
    if len(fractions):
        raise InputError(
            f"{name}: labels must be integers, found {fractions.iloc[0]} in row "
            f"{fractions.index[0]}: round or bin them into ordered classes"
        )
    counts = column.value_counts()
    if len(column) < LEAST_ROWS:
        raise InputError(
            f"{name}: {len(column)} rows are too few for nested cross-validation: "
            f"at least {LEAST_ROWS} are needed"
        )
    if len(counts) == 1:
        raise InputError(
            f"{name}: all labels are {column.iloc[0]}: at least two classes are needed"
        )
    if len(counts) > MOST_CLASSES or column.max() - column.min() >= MOST_CLASSES:
        raise InputError(
            f"{name}: {len(counts)} different labels between {column.min():g} and "
            f"{column.max():g}: bin them into at most {MOST_CLASSES} consecutive classes"
        )
    if counts.iloc[1] < LEAST_IN_SECOND_CLASS:
        raise InputError(
            f"{name}: all but {len(column) - counts.iloc[0]} rows have the label "
            f"{counts.index[0]}: at least two classes need {LEAST_IN_SECOND_CLASS} rows"
        )
    return column.to_numpy().astype(np.int64)


def features(frame: pd.DataFrame) -> Array:
    """Numbers, missing values allowed, or an error that names the column."""
    if frame.shape[1] == 0:
        raise InputError("the file has no column besides --target: there is nothing to learn from")
    for name, column in frame.items():
        if not pd.api.types.is_numeric_dtype(column):
            example = column.dropna().iloc[0] if column.notna().any() else "nothing"
            raise InputError(
                f"column {name!r} is not numeric, found {example!r}: encode or drop it first"
            )
        if np.isinf(column.to_numpy(dtype=float)).any():
            raise InputError(f"column {name!r} holds infinite values: leave them empty or drop it")
    return frame.to_numpy(dtype=float)


def write_environment(folder: Path, seeds: Mapping[str, Any], settings: Mapping[str, Any]) -> None:
    """environment.json: when it ran, and what is needed to run it again; no path, no host name."""
    record = {
        "date": datetime.date.today().isoformat(),
        "seconds": round(time.monotonic() - BEGAN),
        "python": platform.python_version(),
        "libraries": {name: version(name) for name in LIBRARIES},
        "platform": {
            "system": platform.system(),
            "machine": platform.machine(),
            "cpu_count": os.cpu_count(),
        },
        "seeds": dict(seeds),
        "settings": dict(settings),
    }
    text = json.dumps(record, indent=2, ensure_ascii=False)
    (folder / RECORD).write_text(text + "\n", encoding="utf-8")


@contextmanager
def results_folder(folder: Path) -> Iterator[Path]:
    """A folder to write to, whose files go to ``folder`` unless every figure there is the same.

    So a run that confirms the committed results leaves them as they are, pictures included,
    adds the raw results that are not committed, and renews the record of the environment.
    """
    with tempfile.TemporaryDirectory() as temporary:
        new = Path(temporary)
        yield new
        folder.mkdir(parents=True, exist_ok=True)
        files = sorted(new.iterdir())
        missing = [file for file in files if not (folder / file.name).exists()]
        known = [file for file in files if file not in missing]
        if all(_same_figures(file, folder / file.name) for file in known):
            files = [*missing, *(file for file in known if file.name == RECORD)]
        for file in files:
            shutil.copy(file, folder / file.name)


def _same_figures(new: Path, old: Path) -> bool:
    if new.name == RECORD:
        return all(read_json(new)[part] == read_json(old)[part] for part in ("seeds", "settings"))
    return new.suffix == ".png" or new.read_text("utf-8") == old.read_text("utf-8")


def read_json(path: Path) -> dict[str, Any]:
    """A file with one JSON object."""
    raw: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    return raw


def configuration_record(path: Path) -> dict[str, Any]:
    """A configuration as it stands, and its SHA-256, whatever the line endings and spaces."""
    raw = read_json(path)
    digest = hashlib.sha256(json.dumps(raw, sort_keys=True).encode()).hexdigest()
    return {"configuration_sha256": digest, "configuration": raw}


@dataclass(frozen=True)
class Findings:
    """Figures by the name of their CSV file, tables in Markdown, and what became of the claim.

    ``holds`` is None where nothing is judged; ``claim`` then says what was found.
    """

    figures: Mapping[str, pd.DataFrame]
    table: str
    claim: str
    holds: bool | None = None

    @property
    def verdict(self) -> str:
        """The claim, and whether it holds."""
        return self.claim + {True: ": HOLDS", False: ": FAILS", None: ""}[self.holds]


def run_study(
    here: Path,
    purpose: str,
    study: Callable[[Path | None, dict[str, Any]], Findings],
    arguments: Sequence[str] | None,
    *,
    quick: Mapping[str, Any],
    reads_files: bool = False,
) -> int:
    """The command of an experiment: its study of config.json, on one thread, into results/.

    ``purpose`` is the module's docstring; ``study`` is given the folder of data files, or None,
    and the settings, of which ``seed`` is one; with --quick those of ``quick`` replace them.
    Returns the exit status: 1 if the claim fails, 2 if a file cannot be used.
    """
    name = f"experiments.{here.name}"
    parser = argparse.ArgumentParser(prog=f"python -m {name}", description=purpose.splitlines()[0])
    parser.set_defaults(folder=None)
    if reads_files:
        parser.add_argument(
            "folder", type=Path, nargs="?", metavar="FOLDER", help="of the CSV files"
        )
    parser.add_argument("--quick", action="store_true", help="a small part of it: says little")
    parser.add_argument("--output", type=Path, metavar="DIR", help="default: results/")
    options = parser.parse_args(arguments)
    settings = read_json(here / "config.json") | (quick if options.quick else {})
    output = options.output
    if output is None:
        partial = options.quick or (reads_files and options.folder is None)
        output = Path(tempfile.mkdtemp(prefix=f"{here.name}_")) if partial else here / "results"
    try:
        with threadpool_limits(1):
            found = study(options.folder, settings)
    except InputError as error:
        print(f"error: {error}", file=sys.stderr)
        return 2
    with results_folder(output) as results:
        for file, frame in found.figures.items():
            frame.to_csv(results / f"{file}.csv", index=False)
        (results / "table.md").write_text(found.table + "\n", encoding="utf-8")
        record = configuration_record(here / "config.json") | {"quick": options.quick}
        write_environment(results, {"all": settings["seed"]}, record)
    print(f"{found.table}\nresults in {output}\n{found.verdict}")
    return 1 if found.holds is False and not options.quick else 0


def task(label_range: tuple[int, int], rounds: int, patience: int, threads: int) -> Task:
    """The settings of the published experiment, on so many threads."""
    return Task(
        label_range=label_range,
        rounds=rounds,
        patience=patience,
        xgboost={"learning_rate": 0.1, "max_depth": 5, "nthread": threads},
        lightgbm={"learning_rate": 0.1, "num_threads": threads},
    )


def add_threads(parser: argparse.ArgumentParser) -> None:
    """--threads, 1 unless given: boosters that fight for cores can be 20 times slower."""
    parser.add_argument(
        "--threads", type=positive_integer, default=1, metavar="N", help="per model; default 1"
    )


def positive_integer(text: str) -> int:
    """For argparse: a whole number of at least 1."""
    if not text.isdigit() or int(text) < 1:
        raise argparse.ArgumentTypeError(f"must be a whole number of at least 1, found {text!r}")
    return int(text)
