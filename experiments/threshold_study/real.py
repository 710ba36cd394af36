"""Real data: thresholds fitted on inner out-of-fold scores, judged on outer test folds."""

from __future__ import annotations

import warnings
from collections.abc import Sequence

import numpy as np
import pandas as pd
from sklearn.model_selection import RepeatedStratifiedKFold
from tqdm import tqdm

from experiments import _common
from experiments._common import METHODS as MODELS, Array, Fit, Task
from experiments.threshold_study.configuration import Acceptance, Configuration
from experiments.threshold_study.decide import decide


def make_task(y: Array, configuration: Configuration) -> Task:
    scale = configuration.scale
    return Task(
        label_range=(int(y.min()), int(y.max())),
        rounds=scale.rounds(len(y)),
        patience=1,
        xgboost={
            "learning_rate": scale.learning_rate, "max_depth": scale.max_depth, "nthread": 1
        },
        lightgbm={"learning_rate": scale.learning_rate, "num_threads": 1},
    )  # fmt: skip


def run_fold(
    fit: Fit,
    X: Array,
    y: Array,
    train: Array,
    test: Array,
    task: Task,
    settings: Configuration,
) -> dict[str, float]:
    """Test QWK of every method on the scores of one model."""
    rounds = task.rounds
    out_of_fold = _common.out_of_fold(
        fit, X[train], y[train], task, rounds, folds=settings.scale.inner_folds, seed=settings.seed
    )
    score = fit(X[train], y[train], task, rounds, None).predict(X[test])
    outside = np.mean((score < task.label_range[0]) | (score > task.label_range[1]))
    found = decide(settings.methods, y[train], out_of_fold, y[test], score, task.label_range)
    return {**found, "outside": float(outside)}


def run_file(name: str, X: Array, y: Array, configuration: Configuration) -> pd.DataFrame:
    """One line a repeat, fold and model; "outside" is the share of scores out of the range."""
    scale, task = configuration.scale, make_task(y, configuration)
    outer = RepeatedStratifiedKFold(
        n_splits=scale.outer_folds, n_repeats=scale.outer_repeats, random_state=configuration.seed
    )
    lines = []
    with warnings.catch_warnings(), tqdm(
        total=scale.outer_folds * scale.outer_repeats * len(MODELS), unit="model"
    ) as bar:  # fmt: skip
        warnings.filterwarnings("ignore", message="The least populated class")
        for i, (train, test) in enumerate(outer.split(X, y)):
            for (booster, objective), fit in MODELS.items():
                bar.set_description(f"{name}: {booster}, {objective}")
                place = {"file": name, "booster": booster, "objective": objective}
                place |= {"repeat": i // scale.outer_folds, "fold": i % scale.outer_folds}
                rows = {"train_rows": len(train), "test_rows": len(test)}
                found = run_fold(fit, X, y, train, test, task, configuration)
                lines.append(place | rows | found)
                bar.update()
    return pd.DataFrame(lines)


def summary_frame(folds: pd.DataFrame, methods: tuple[str, ...]) -> pd.DataFrame:
    """Mean test QWK and standard error of every model and method."""
    lines = []
    for place, own in folds.groupby(["file", "booster", "objective"], sort=False):
        line = dict(zip(("file", "booster", "objective"), place, strict=True))
        for method in methods:
            line[method], line[f"{method}_se"] = _common.mean_and_error(own[method])
        line["outside"] = own["outside"].mean()
        lines.append(line)
    return pd.DataFrame(lines)


def differences_frame(folds: pd.DataFrame, pairs: Sequence[tuple[str, str]]) -> pd.DataFrame:
    """Differences of methods, paired over folds; standard errors plain and corrected."""
    lines = []
    for place, own in folds.groupby(["file", "booster", "objective"], sort=False):
        test_share = float((own.test_rows / own.train_rows).mean())
        for method, other in pairs:
            difference = (own[method] - own[other]).to_numpy()
            mean, error = _common.mean_and_error(difference)
            corrected = _common.corrected_error(difference, test_share)
            lines.append(
                dict(zip(("file", "booster", "objective"), place, strict=True))
                | {
                    "method": method,
                    "other": other,
                    "difference": mean,
                    "se": error,
                    "se_corrected": corrected,
                    "verdict": _common.verdict(mean, error),
                    "verdict_corrected": _common.verdict(mean, corrected),
                    "folds_better": int((difference > 0).sum()),
                    "folds": len(difference),
                }
            )
    return pd.DataFrame(lines)


def acceptance(differences: pd.DataFrame, rule: Acceptance) -> tuple[list[str], bool | None]:
    """What to say of each file and model, and whether the rule holds.

    None if a file of the rule is missing. Plug-in minus Nelder-Mead, plain standard errors:
    never worse by more than one in any file, booster and objective; and, on each
    booster's squared-error scores, better by more than two on at least two files.
    """
    judged = (differences.method == "plugin") & (differences.other == "nelder-mead")
    own = differences[judged & differences.file.isin(rule.files)]
    ratio = own.difference / own.se
    lines = []
    for row, z in zip(own.itertuples(), ratio, strict=True):
        word = "neither"
        if z < -rule.never_worse_by_standard_errors:
            word = f"WORSE by more than {rule.never_worse_by_standard_errors:g}"
        elif z > rule.better_by_standard_errors:
            word = f"better by more than {rule.better_by_standard_errors:g}"
        lines.append(
            f"{row.file}, {row.booster}, {row.objective}: {row.difference:+.4f} ± {row.se:.4f} "
            f"({z:+.1f} standard errors): {word}"
        )
    if set(own.file) != set(rule.files):
        return lines, None
    worse = ratio < -rule.never_worse_by_standard_errors
    lines.append(f"worse by more than one standard error: {worse.sum()} of {len(own)}")
    holds = not worse.any()
    better = ratio > rule.better_by_standard_errors
    for objective in own.objective.unique():
        for booster in own.booster.unique():
            count = int(better[(own.booster == booster) & (own.objective == objective)].sum())
            counts = objective == rule.better_judged_on
            said = f"at least {rule.better_on_files} needed" if counts else "not judged"
            lines.append(
                f"{booster}, {objective}: better by more than two standard errors on {count} of "
                f"{len(rule.files)} data sets ({said})"
            )
            holds = holds and (not counts or count >= rule.better_on_files)
    return lines, bool(holds)


def rows_of(y: Array) -> dict[str, object]:
    """For environment.json."""
    return {"rows": len(y), "label_range": [int(y.min()), int(y.max())],
            "classes": len(np.unique(y))}  # fmt: skip
