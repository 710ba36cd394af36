"""Other packages for ordered classes beside ours: log loss, kappa and seconds, with equal trees.

Run from the repository root: ``python -m experiments.ordinal_packages FOLDER [--quick]``, where
FOLDER holds the CSV files that config.json names; without it, simulated rows only. Packages that
are not installed are named and left out.
"""

from __future__ import annotations

import sys
import time
import warnings
from collections.abc import Callable, Mapping, Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import lightgbm as lgb
import numpy as np
import pandas as pd
from sklearn.model_selection import StratifiedKFold
from sklearn.tree import DecisionTreeRegressor
from tqdm import tqdm

from experiments import _common
from experiments._common import Findings
from experiments.ordinal_probabilities.__main__ import SMALLEST, data_sets
from gbdt_objectives import QWKClassifier, ordinal_logit_objective, quadratic_weighted_kappa
from gbdt_objectives.adapters.lightgbm import LGBMClassifier
from gbdt_objectives.adapters.xgboost import XGBClassifier
from gbdt_objectives.metrics import class_logloss_metric

HERE = Path(__file__).parent
RESULTS = HERE / "results"
OURS = "QWKClassifier"
MEASURES = {"log_loss": -1, "kappa": 1}
"""With the sign of what is better."""
QUICK = {"folds": 2, "trees": 10, "data": {}, "simulated": {"rows": 300, "grades": 4}}


def qwk_classifier(K: int, s: Mapping[str, Any]) -> Any:
    regressor = lgb.LGBMRegressor(**of_lightgbm(s))
    return QWKClassifier(regressor, labels=list(range(K)), early_stopping_rounds=None)


def ordinal_logit_lightgbm(K: int, s: Mapping[str, Any]) -> Any:
    return LGBMClassifier(objective=ordinal_logit_objective(K), **of_lightgbm(s))


def ordinal_logit_xgboost(K: int, s: Mapping[str, Any]) -> Any:
    return XGBClassifier(objective=ordinal_logit_objective(K), **of_xgboost(s))


def ogboost(K: int, s: Mapping[str, Any]) -> Any:
    from ogboost import GradientBoostingOrdinal

    return GradientBoostingOrdinal(
        DecisionTreeRegressor(max_depth=s["max_depth"]), n_estimators=s["trees"],
        learning_rate=s["learning_rate"], random_state=s["seed"],
    )  # fmt: skip


def ordboost(K: int, s: Mapping[str, Any]) -> Any:
    from ordboost import OrdBoostClassifier

    return OrdBoostClassifier(
        learning_rate=s["learning_rate"], max_iter=s["trees"], max_depth=s["max_depth"], n_jobs=1,
        random_state=s["seed"],
    )  # fmt: skip


def xgbordinal(K: int, s: Mapping[str, Any]) -> Any:
    from xgbordinal.xgbordinal import XGBOrdinal

    return XGBOrdinal(**of_xgboost(s))


def of_lightgbm(s: Mapping[str, Any]) -> dict[str, Any]:
    rounds = {"n_estimators": s["trees"], "learning_rate": s["learning_rate"]}
    return {
        **rounds, "max_depth": s["max_depth"], "num_leaves": 2 ** s["max_depth"], "n_jobs": 1,
        "verbose": -1,
    }  # fmt: skip


def of_xgboost(s: Mapping[str, Any]) -> dict[str, Any]:
    rounds = {"n_estimators": s["trees"], "learning_rate": s["learning_rate"]}
    return {**rounds, "max_depth": s["max_depth"], "n_jobs": 1}


METHODS: dict[str, Callable[[int, Mapping[str, Any]], Any]] = {
    OURS: qwk_classifier,
    "ordinal logit, LightGBM": ordinal_logit_lightgbm,
    "ordinal logit, XGBoost": ordinal_logit_xgboost,
    "ogboost": ogboost,
    "ordboost": ordboost,
    "xgbordinal": xgbordinal,
}


def installed() -> list[str]:
    """The methods whose package is there; says which are not."""
    missing = [name for name in ("ogboost", "ordboost", "xgbordinal") if not find_spec(name)]
    for name in missing:
        print(f"without {name}: pip install 'gbdt_objectives[peers]'")
    return [name for name in METHODS if name not in missing]


def cells(folder: Path | None, settings: dict[str, Any]) -> pd.DataFrame:
    """One line a file, fold and method; ``problem`` says why there are no figures."""
    loss = class_logloss_metric(input_space="probability")
    folds = StratifiedKFold(settings["folds"], shuffle=True, random_state=settings["seed"])
    sets, names, lines = list(data_sets(folder, settings)), installed(), []
    for file, X, y in tqdm(sets):
        K = int(y.max()) + 1
        for fold, (train, test) in enumerate(folds.split(X, y)):
            for name in names:
                place = {"file": file, "fold": fold, "method": name,
                         "train_rows": len(train), "test_rows": len(test)}  # fmt: skip
                model, began = METHODS[name](K, settings), time.perf_counter()
                try:
                    model.fit(X[train], y[train])
                    seconds = time.perf_counter() - began
                    P = np.maximum(model.predict_proba(X[test]), SMALLEST)  # some give 0
                    found = {
                        "log_loss": loss(y[test], P / P.sum(axis=1, keepdims=True)),
                        "kappa": quadratic_weighted_kappa(
                            y[test], model.predict(X[test]), labels=range(K)
                        ),
                        "seconds": seconds, "problem": "",
                    }  # fmt: skip
                except Exception as error:  # of the package: it is a result
                    found = {"problem": f"{type(error).__name__}: {error}".split("\n")[0][:90]}
                lines.append(place | found)
    return pd.DataFrame(lines)


def summary(cells: pd.DataFrame) -> pd.DataFrame:
    """Means over folds, and ours less each method with the corrected error, paired."""
    lines = []
    for (file, method), own in cells.groupby(["file", "method"], sort=False):
        line = {"file": file, "method": method, "seconds": own.seconds.mean()}
        ours = cells[(cells.file == file) & (cells.method == OURS)].set_index("fold")
        share = float((own.test_rows / own.train_rows).mean())
        for measure, sign in MEASURES.items():
            line[measure] = own[measure].mean(skipna=False)
            gap = (ours[measure] - own.set_index("fold")[measure]).to_numpy()
            error = _common.corrected_error(gap, share)
            line |= {f"{measure}_gap": gap.mean(), f"{measure}_error": error}
            line[f"{measure}_verdict"] = (
                "" if method == OURS or np.isnan(error) else _common.verdict(
                    sign * gap.mean(), error)
            )  # fmt: skip
        lines.append(line)
    return pd.DataFrame(lines)


def table(summary: pd.DataFrame) -> str:
    def gap(row: Any, measure: str) -> list[str]:
        mean, error = (getattr(row, f"{measure}_{what}") for what in ("gap", "error"))
        if row.method == OURS or np.isnan(mean):
            return [""]
        return [f"{mean:+.4f} ± {error:.4f}, {getattr(row, f'{measure}_verdict')}"]

    rows = [
        [
            row.file, row.method, f"{row.log_loss:.4f}", *gap(row, "log_loss"), f"{row.kappa:.4f}",
            *gap(row, "kappa"), f"{row.seconds:.2g}",
        ]
        for row in summary.itertuples()
    ]  # fmt: skip
    header = ["file", "method", "log loss", "ours less it", "kappa", "ours less it", "seconds"]
    return _common.markdown_table(header, rows)


def counts(summary: pd.DataFrame) -> str:
    """How often QWKClassifier is better or worse than each method."""
    lines = []
    for method, own in summary[summary.method != OURS].groupby("method", sort=False):
        said = []
        for measure in MEASURES:
            better, worse = (
                int((own[f"{measure}_verdict"] == v).sum()) for v in ("better", "worse")
            )
            said.append(
                f"{measure.replace('_', ' ')} better in {better} of {len(own)}, worse in {worse}"
            )
        lines.append(f"- than {method}: {'; '.join(said)}")
    return "\n".join(lines)


def study(folder: Path | None, settings: dict[str, Any]) -> Findings:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of the packages
        found = cells(folder, settings)
    found = found.reindex(columns=[*found.columns.difference(["problem"], sort=False), "problem"])
    compared = summary(found)
    figures = {"cells": found.round(6), "summary": compared.round(6)}
    return Findings(figures, f"{counts(compared)}\n\n{table(compared)}", "no claim is judged", None)


def main(arguments: Sequence[str] | None = None) -> int:
    return _common.run_study(HERE, __doc__, study, arguments, quick=QUICK, reads_files=True)


if __name__ == "__main__":
    sys.exit(main())
