"""Ordinal logit beside squared error, extended QWK and multi-class boosting: QWK and log loss.

Run from the repository root: ``python -m experiments.ordinal_data.ordinal_logit DIRECTORY``.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import lightgbm as lgb
import numpy as np
import pandas as pd
import xgboost as xgb
from joblib import Parallel, delayed
from scipy.optimize import minimize_scalar
from scipy.special import softmax
from sklearn.metrics import log_loss
from sklearn.model_selection import RepeatedStratifiedKFold, StratifiedKFold
from threadpoolctl import threadpool_limits

from experiments import _common
from experiments._common import Array, InputError, Validation
from gbdt_objectives import ordinal_logit_objective

HERE = Path(__file__).parent
CONFIGURATION = HERE / "ordinal_logit.json"
RESULTS = HERE / "results" / "ordinal-logit"
QUICK = {"outer_folds": 3, "outer_repeats": 1, "rounds": 60, "patience": 5}

BOOSTERS = ("XGBoost", "LightGBM")
OURS = "ordinal logit"
METHODS = (OURS, "ordinal logit, fixed", "squared error", "extended QWK", "multi-class")
OTHERS = METHODS[1:]
SCORES = {
    "qwk": ("QWK", True),
    "log_loss": ("log loss", False),
    "log_loss_refitted": ("log loss, refitted", False),
}
"""Columns, their names, and whether more is better."""


@dataclass(frozen=True)
class Model:
    """A trained model: features to a score, to probabilities if it has any; its rounds.

    The score is a margin, (n, K) for several classes, or a label.
    """

    score: Callable[[Array], Array]
    probability: Callable[[Array], Array] | None
    rounds: int


class TrainingThresholds:
    """Log loss of an evaluation set, with thresholds fitted to the margins of the training rows,
    which are evaluated first."""

    def __init__(self, objective: Any, train: Any) -> None:
        self.objective, self.train, self.fitted = objective, train, objective

    def __call__(self, margin: Array, data: Any) -> tuple[str, float]:
        y = data.get_label()
        if data is self.train:
            self.fitted = self.objective.fitted(y, margin)
        return "log_loss", self.fitted.loss(y, margin.astype(float)) / len(y)


def xgboost_model(
    params: Mapping[str, Any], X: Array, y: Array, task: _common.Task, rounds: int,
    validation: Validation, objective: Any = None,
) -> tuple[xgb.Booster, int]:  # fmt: skip
    data = xgb.DMatrix(X, y)
    stopping: dict[str, Any] = {}
    if validation is not None:
        stopping["evals"] = [(data, "train"), (xgb.DMatrix(*validation), "validation")]
        stopping["callbacks"] = [xgb.callback.EarlyStopping(rounds=task.patience, save_best=True)]
        if objective is not None:
            stopping["custom_metric"] = TrainingThresholds(objective, data)
            params = {**params, "disable_default_eval_metric": 1}
    booster = xgb.train(
        {**task.xgboost, **params}, data, rounds, obj=objective, verbose_eval=False, **stopping
    )
    return booster, booster.num_boosted_rounds()


def lightgbm_model(
    params: Mapping[str, Any], X: Array, y: Array, task: _common.Task, rounds: int,
    validation: Validation, objective: Any = None,
) -> tuple[lgb.Booster, int]:  # fmt: skip
    data = lgb.Dataset(X, y)
    stopping: dict[str, Any] = {}
    if validation is not None:
        stopping["valid_sets"] = [data, lgb.Dataset(*validation, reference=data)]
        stopping["valid_names"] = ["train", "validation"]
        stopping["callbacks"] = [lgb.early_stopping(task.patience, verbose=False)]
        if objective is not None:
            metric = TrainingThresholds(objective, data)
            stopping["feval"] = lambda margin, rows: (*metric(margin, rows), False)
            params = {**params, "metric": "None"}
    if objective is not None:
        params = {**params, "objective": objective}
    booster = lgb.train({"verbose": -1, **task.lightgbm, **params}, data, rounds, **stopping)
    return booster, booster.best_iteration if stopping else booster.current_iteration()


def fit(
    booster: str, method: str, X: Array, y: Array, task: _common.Task, rounds: int,
    validation: Validation = None,
) -> Model:  # fmt: skip
    """A model of one method; with validation it stops early, on the loss of its own kind."""
    K = task.label_range[1] + 1
    if (booster, method) in _common.METHODS:
        found = _common.METHODS[booster, method](X, y, task, rounds, validation)
        return Model(found.predict, None, found.rounds)
    train: Any = xgboost_model if booster == "XGBoost" else lightgbm_model
    if method == "multi-class":
        name = "multi:softprob" if booster == "XGBoost" else "multiclass"
        model, n = train({"objective": name, "num_class": K}, X, y, task, rounds, validation)
        return Model(lambda X: margins(model, X), lambda X: softmax(margins(model, X), axis=1), n)
    how = "fixed" if method.endswith("fixed") else "refit"
    objective = ordinal_logit_objective(K, thresholds=how).measured(y)
    params = {"base_score": 0} if booster == "XGBoost" else {}
    model, n = train(params, X, y, task, rounds, validation, objective)
    fitted = objective.fitted(y, margins(model, X))
    return Model(
        lambda X: margins(model, X), lambda X: fitted.class_probability(margins(model, X)), n
    )


def margins(model: Any, X: Array) -> Array:
    found: Array
    if isinstance(model, xgb.Booster):
        found = model.predict(xgb.DMatrix(X), output_margin=True)
    else:
        found = model.predict(X, raw_score=True)
    return found.astype(float)


def cumulative_logit(y: Array, score: Array, K: int) -> Callable[[Array], Array]:
    """Proportional odds in one score, slope and thresholds of least loss: score to (n, K)."""
    objective, mean, spread = ordinal_logit_objective(K), score.mean(), score.std()
    z = (score - mean) / spread
    log_slope = minimize_scalar(
        lambda t: objective.loss(y, np.exp(t) * z), bounds=(-3, 5), method="bounded"
    ).x
    slope = np.exp(log_slope)
    fitted = objective.fitted(y, slope * z)
    return lambda score: fitted.class_probability(slope * (score - mean) / spread)


def temperature(y: Array, margin: Array, K: int) -> Callable[[Array], Array]:
    """softmax of the margins times a slope of least loss: the same for several classes."""

    def loss(t: float) -> float:
        return log_loss(y, softmax(np.exp(t) * margin, axis=1), labels=np.arange(K))

    slope = np.exp(minimize_scalar(loss, bounds=(-3, 3), method="bounded").x)
    return lambda margin: softmax(slope * margin, axis=1)


def run_fold(
    booster: str, method: str, X: Array, y: Array, train: Array, test: Array, task: _common.Task,
    folds: int, seed: int,
) -> dict[str, float]:  # fmt: skip
    """Rounds from an inner split, thresholds and slopes from inner out-of-fold scores."""
    K = task.label_range[1] + 1
    labels = np.arange(K)
    X_train, y_train = X[train], y[train]
    inner = list(StratifiedKFold(folds, shuffle=True, random_state=seed).split(X_train, y_train))
    rest, held_out = inner[0]
    validation = X_train[held_out], y_train[held_out]
    stopped = fit(booster, method, X_train[rest], y_train[rest], task, task.rounds, validation)
    model = fit(booster, method, X_train, y_train, task, stopped.rounds)
    scores: list[Array] = [np.empty(0)] * len(train)
    expected = np.empty(len(train))
    for rest, held_out in inner:
        own = fit(booster, method, X_train[rest], y_train[rest], task, stopped.rounds)
        found = own.score(X_train[held_out])
        expected[held_out] = found if own.probability is None else (
            own.probability(X_train[held_out]) @ labels
        )  # fmt: skip
        for row, score in zip(held_out, found, strict=True):
            scores[row] = score
    out_of_fold = np.array(scores, float)
    score = model.score(X[test]).astype(float)
    refit = temperature if out_of_fold.ndim == 2 else cumulative_logit
    refitted = refit(y_train, out_of_fold, K)(score)
    direct = None if model.probability is None else model.probability(X[test])
    thresholds = _common.fit_thresholds(y_train, expected, task.label_range, "plugin")
    of_test = score if direct is None else direct @ labels
    return {
        "rounds": stopped.rounds,
        "qwk": _common.cut_qwk(y[test], of_test, task.label_range, thresholds),
        "log_loss": np.nan if direct is None else log_loss(y[test], direct, labels=labels),
        "log_loss_refitted": log_loss(y[test], refitted, labels=labels),
    }


def lines_of_fold(
    place: dict[str, Any], X: Array, y: Array, train: Array, test: Array,
    configuration: Mapping[str, Any],
) -> list[dict[str, Any]]:  # fmt: skip
    """Every method on one outer fold, in the order of the tables."""
    task = _common.Task(
        label_range=(0, int(y.max())),
        rounds=configuration["rounds"],
        patience=configuration["patience"],
        xgboost=configuration["xgboost"],
        lightgbm=configuration["lightgbm"],
    )
    lines = []
    with threadpool_limits(1), warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="The least populated class")
        for booster in BOOSTERS:
            for method in METHODS:
                result = run_fold(
                    booster, method, X, y, train, test, task, configuration["inner_folds"],
                    configuration["seed"],
                )  # fmt: skip
                rows = {"train_rows": len(train), "test_rows": len(test)}
                lines.append({**place, "booster": booster, "method": method} | rows | result)
    return lines


def read(folder: Path, name: str, configuration: Mapping[str, Any]) -> tuple[Array, Array]:
    """Features and labels 0 to K-1, perhaps of a part of the rows."""
    X, y = _common.load(folder / f"{name}.csv", configuration["target"])
    rows, seed = configuration["files"][name], configuration["seed"]
    if rows is not None:
        rows = np.random.default_rng(seed).permutation(len(y))[:rows]
        X, y = X[rows], y[rows]
    return X, y - y.min()


def run_all(folder: Path, configuration: Mapping[str, Any], jobs: int) -> pd.DataFrame:
    """One line a file, repeat, fold, booster and method."""
    tasks = []
    for name in configuration["files"]:
        X, y = read(folder, name, configuration)
        outer = RepeatedStratifiedKFold(
            n_splits=configuration["outer_folds"],
            n_repeats=configuration["outer_repeats"],
            random_state=configuration["seed"],
        )
        for i, (train, test) in enumerate(outer.split(X, y)):
            place = {
                "file": name,
                "repeat": i // configuration["outer_folds"],
                "fold": i % configuration["outer_folds"],
            }
            tasks.append(delayed(lines_of_fold)(place, X, y, train, test, configuration))
    found = Parallel(n_jobs=jobs, verbose=1)(tasks)
    return pd.DataFrame([line for lines in found for line in lines])


def summary_frame(folds: pd.DataFrame) -> pd.DataFrame:
    """Mean and standard error over folds of every file and method."""
    lines = []
    for (name, booster, method), own in folds.groupby(["file", "booster", "method"], sort=False):
        line = {"file": name, "booster": booster, "method": method, "rounds": own.rounds.mean()}
        for score in SCORES:
            line[score], line[f"{score}_se"] = _common.mean_and_error(own[score])
        lines.append(line)
    return pd.DataFrame(lines)


def differences_frame(folds: pd.DataFrame) -> pd.DataFrame:
    """Ordinal logit minus each other method, paired by fold."""
    lines = []
    for (name, booster), own in folds.groupby(["file", "booster"], sort=False):
        share = float((own.test_rows / own.train_rows).mean())
        table = own.set_index(["repeat", "fold", "method"])
        for other in OTHERS:
            for score, (_, greater) in SCORES.items():
                ours, theirs = (table[score].xs(m, level=2) for m in (OURS, other))
                if theirs.isna().all():  # no probabilities of its own: its refitted ones
                    theirs = table["log_loss_refitted"].xs(other, level=2)
                values = (ours - theirs).to_numpy()
                mean, error = _common.mean_and_error(values)
                corrected = _common.corrected_error(values, share)
                sign = 1 if greater else -1
                lines.append(
                    {
                        "file": name,
                        "booster": booster,
                        "other": other,
                        "score": score,
                        "difference": mean,
                        "se": error,
                        "se_corrected": corrected,
                        "verdict": _common.verdict(sign * mean, error),
                        "verdict_corrected": _common.verdict(sign * mean, corrected),
                        "folds_better": int((sign * values > 0).sum()),
                        "folds": len(values),
                    }
                )
    return pd.DataFrame(lines)


def summary_table(summary: pd.DataFrame) -> str:
    rows = [
        [row.file, row.booster, row.method]
        + [
            "" if np.isnan(getattr(row, score))
            else _common.plus_minus(getattr(row, score), getattr(row, f"{score}_se"))
            for score in SCORES
        ]
        + [f"{row.rounds:.0f}"]
        for row in summary.itertuples()
    ]  # fmt: skip
    header = ["file", "booster", "method", *(name for name, _ in SCORES.values()), "rounds"]
    return _common.markdown_table(header, rows)


def differences_table(differences: pd.DataFrame) -> str:
    """One line a file, booster and other method; a verdict that the corrected error takes back
    stands in brackets."""
    rows = []
    groups = differences.groupby(["file", "booster", "other"], sort=False)
    for (name, booster, other), own in groups:
        cells = []
        for row in own.itertuples():
            word = "" if row.verdict.startswith("within") else row.verdict
            if word and row.verdict_corrected != row.verdict:
                word = f"({word})"
            cells.append(f"{row.difference:+.4f} ± {row.se:.4f} {word}".strip())
        rows.append([name, booster, other, *cells])
    return _common.markdown_table(
        ["file", "booster", "ordinal logit minus", *(name for name, _ in SCORES.values())], rows
    )


def write(folder: Path, configuration: Mapping[str, Any], folds: pd.DataFrame) -> str:
    """CSV files, tables and environment; returns the tables."""
    summary, differences = summary_frame(folds), differences_frame(folds)
    for name, frame in (("folds", folds), ("summary", summary), ("differences", differences)):
        frame.round(6).to_csv(folder / f"{name}.csv", index=False)
    text = f"{summary_table(summary)}\n\n{differences_table(differences)}\n"
    (folder / "table.md").write_text(text, encoding="utf-8")
    _common.write_environment(
        folder,
        seeds={"outer_folds": configuration["seed"], "inner_folds": configuration["seed"]},
        settings=dict(configuration),
    )
    return text


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(
        prog="python -m experiments.ordinal_data.ordinal_logit", description=__doc__
    )
    parser.add_argument("folder", type=Path, help="where the CSV files of ordinal_logit.json are")
    parser.add_argument("--quick", action="store_true", help="few folds and rounds: says little")
    parser.add_argument("--jobs", type=_common.positive_integer, default=1, metavar="N")
    parser.add_argument("--output", type=Path, metavar="DIR")
    options = parser.parse_args(arguments)
    configuration = _common.read_json(CONFIGURATION) | (QUICK if options.quick else {})
    folder = options.output
    if folder is None:
        folder = Path(tempfile.mkdtemp(prefix="ordinal_logit_")) if options.quick else RESULTS
    began = time.perf_counter()
    try:
        folds = run_all(options.folder, configuration, options.jobs)
    except InputError as error:
        print(f"error: {error}", file=sys.stderr)
        return 2
    with _common.results_folder(folder) as results:
        print(write(results, configuration, folds))
    print(f"{time.perf_counter() - began:.0f} s; results in {folder}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
