"""Folders that were exported here, served where only numpy and one booster are installed.

python .ci/served.py LIBRARY PYTHON: PYTHON is the interpreter of a bare environment, with numpy and
LIBRARY, lightgbm or xgboost. Exits 1 if predict.py predicts something else there.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

import numpy as np

import gbdt_objectives as go
from gbdt_objectives import serving
from gbdt_objectives.estimators import VennAbersCalibrator

ROWS = 2_000
TOLERANCE = {"lightgbm": 1e-9, "xgboost": 1e-6}  # XGBoost adds up its trees in float32
COLOURS = ["amber", "blue", "Grün"]

COMPARE = """
import importlib.util, pathlib, runpy, sys
import numpy as np

root, tolerance = pathlib.Path(sys.argv[1]), float(sys.argv[2])
strangers = [name for name in ("gbdt_objectives", "pandas") if importlib.util.find_spec(name)]
wrong = [f"{name} is installed, so this is no bare environment" for name in strangers]
for folder in sorted(path for path in root.iterdir() if path.is_dir()):
    held = np.load(root / (folder.name + ".npz"))
    names = held["names"].tolist()
    X = dict(zip(names, held["X"].T)) if names else held["X"]
    model = runpy.run_path(str(folder / "predict.py"))["Model"](folder)
    for method in sorted(set(held) - {"X", "names"}):
        found, wanted = getattr(model, method)(X), held[method]
        is_number = wanted.dtype.kind == "f"
        same = np.isclose(found, wanted, tolerance, tolerance) if is_number else found == wanted
        gap = f", at most {np.abs(found - wanted).max():.1e} apart" if is_number else ""
        print(f"{folder.name}: {method} of {len(wanted)} rows{gap}")
        if found.shape != wanted.shape or not same.all():
            wrong.append(f"{folder.name}: {method} differs")
sys.exit("\\n".join(wrong) or None)
"""
"""What the bare environment runs."""


def features(n: int, seed: int, categories: bool) -> Any:
    import pandas as pd

    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 3))
    X[rng.random(n) < 0.1, 1] = np.nan
    if not categories:
        return X
    codes = np.where(rng.random(n) < 0.1, -1, rng.integers(0, 3, n))
    colour = pd.Categorical.from_codes(codes, COLOURS)
    return pd.DataFrame(X, columns=["size", "weight", "age"]).assign(colour=colour)


def models(library: str) -> dict[str, Any]:
    """Unfitted models of each kind, each with its classes and whether it is given categories."""
    common: dict[str, Any] = {"n_estimators": 20, "n_jobs": 1, "random_state": 0}
    if library == "lightgbm":
        from lightgbm import LGBMClassifier as Classifier, LGBMRegressor as Regressor

        common |= {"num_leaves": 8, "verbose": -1}
    else:
        from xgboost import XGBClassifier as Classifier, XGBRegressor as Regressor

        common |= {"max_depth": 3, "enable_categorical": True}
    regressor, classifier = Regressor(**common), Classifier(**common)
    bags = go.DownsampledClassifier(classifier, negative_keep_rate=0.3, n_bags=3, random_state=0)
    words = ["low", "mid", "high", "top"]
    return {
        "qwk": (go.QWKClassifier(regressor, cv=3, labels=words), words, True),
        "qwk_10": (go.QWKClassifier(regressor, cv=3, ensemble=False), range(10), False),
        "downsampled": (bags, [0, 1], True),
        "calibrated": (go.CalibratedClassifier(classifier, cv=3), [0, 1], False),
        "venn_abers": (go.CalibratedClassifier(bags, VennAbersCalibrator(), cv=3), [0, 1], True),
        "regressor": (regressor, [0.0, 1.0, 5.0], False),
        "classifier": (classifier, [0, 1], True),
        "classifier_3": (classifier, [0, 1, 2], True),
    }


def write(root: Path, library: str) -> None:
    from sklearn.base import clone

    for name, (unfitted, labels, categories) in models(library).items():
        X, new = features(1_000, 1, categories), features(ROWS, 2, categories)
        first = X["size"].to_numpy() if categories else X[:, 0]
        s = first + np.random.default_rng(3).normal(size=len(first))
        cuts = np.quantile(s, np.linspace(0, 1, len(labels) + 1)[1:-1])
        model = clone(unfitted).fit(X, np.asarray(labels)[np.digitize(s, cuts)])
        serving.export(model, root / name, X)
        held = {"predict": np.asarray(model.predict(new))}
        if held["predict"].dtype.kind == "O":
            held["predict"] = held["predict"].astype(str)
        if hasattr(model, "predict_proba"):
            held["predict_proba"] = model.predict_proba(new)
        cells = np.asarray(new)
        if categories:
            cells = new.astype(object).where(new.notna(), "nan").to_numpy().astype(str)
        names = list(new.columns) if categories else []
        np.savez(root / f"{name}.npz", X=cells, names=np.array(names, str), **held)


def main(library: str, python: str) -> int:
    with tempfile.TemporaryDirectory() as root:
        write(Path(root), library)
        command = [python, "-I", "-c", COMPARE, root, str(TOLERANCE[library])]
        return subprocess.run(command, cwd=root).returncode


if __name__ == "__main__":
    if len(sys.argv) != 3 or sys.argv[1] not in TOLERANCE:
        sys.exit(__doc__)
    sys.exit(main(*sys.argv[1:]))
