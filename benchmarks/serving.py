"""Cost of served models beyond their boosters' own prediction, as ratios measured in one run.

    python -m benchmarks.serving [--quick]

``Model(folder).predict`` of the written ``predict.py`` beside the prediction that the same boosters
make themselves, as their library has it, and one ``searchsorted``: five models on positions
(QWKClassifier), and three of log-odds (DownsampledClassifier with a threshold on the probability).
Both turn by turn in one process; the ratio is the median over pairs. XGBoost's own prediction is
``inplace_predict``. Time is processor time. Memory is the peak of each beyond the arguments,
without what the libraries allocate themselves.

For 1, 10 and 1,000 rows, as a service asks for them, ``predict`` of the QWKClassifier, of the
folder as ``serving.load`` reads it, of ``predict.py`` and of the ONNX graph in ONNX Runtime, on one
thread, over the same boosters.
"""

from __future__ import annotations

import runpy
import statistics
import tempfile
import time
from collections.abc import Callable
from functools import partial
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import lightgbm as lgb
import numpy as np
import xgboost as xgb

from benchmarks._timing import in_turns, peak_bytes, quick_run, report
from gbdt_objectives import DownsampledClassifier, QWKClassifier, serving
from gbdt_objectives.thresholds import Thresholds

SETTINGS: dict[str, dict[str, Any]] = {
    "LightGBM": {"n_estimators": 100, "n_jobs": 1, "verbose": -1},
    "XGBoost": {"n_estimators": 100, "n_jobs": 1},
}
REGRESSORS = {"LightGBM": lgb.LGBMRegressor, "XGBoost": xgb.XGBRegressor}
CLASSIFIERS = {"LightGBM": lgb.LGBMClassifier, "XGBoost": xgb.XGBClassifier}
CUTS = [-1.6, -0.7, 0.1, 0.8, 1.4]
FEW_ROWS = (1, 10, 1_000)
LIMITS = {"LightGBM": 2, "XGBoost": 1.5}  # of one row, over the boosters

Predict = Callable[[np.ndarray], Any]


def data(n: int, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """Ten features, and the latent number that three of them tell of."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, 10))
    return X, X[:, 0] + 0.5 * X[:, 1] * X[:, 2] + 0.7 * rng.standard_normal(n)


def grades(library: str, folder: Path, n: int) -> tuple[Any, np.ndarray]:
    """A QWKClassifier of five folds, also as a folder, and its thresholds."""
    X, latent = data(n)
    y = np.searchsorted(CUTS, latent / 1.3)
    model = QWKClassifier(REGRESSORS[library](**SETTINGS[library])).fit(X, y)
    serving.export(model, folder, X)
    return model, np.asarray(model.thresholds_)


def events(library: str, folder: Path, n: int) -> tuple[Any, np.ndarray]:
    """A DownsampledClassifier of three bags, also as a folder with one threshold, and that."""
    X, latent = data(n)
    y = (latent > 2).astype(int)
    base = CLASSIFIERS[library](**SETTINGS[library])
    model = DownsampledClassifier(base, 0.2, n_bags=3, random_state=0).fit(X, y)
    serving.export(model, folder, X, thresholds=Thresholds([0.1], [0, 1]))
    return model, np.array([0.1])


def own_prediction(library: str, folder: Path) -> list[Predict]:
    """``predict`` of each of the folder's boosters, as its library has it."""
    if library == "LightGBM":
        files = sorted(folder.glob("booster_*.txt"))
        return [lgb.Booster(model_file=str(file)).predict for file in files]
    return [xgb.Booster(model_file=str(f)).inplace_predict for f in sorted(folder.glob("*.ubj"))]


def boosters_alone(predict: list[Predict], cuts: np.ndarray, X: np.ndarray) -> np.ndarray:
    """Each booster's prediction, and the classes of the last."""
    for each in predict:
        p = each(X)
    return np.searchsorted(cuts, p, "right")


def pairs(functions: dict[str, Callable[[], Any]], turns: int) -> tuple[list[float], list[float]]:
    """Ratios of the first function to the second, in turns, and seconds of the second.

    In every other turn the second one goes first.
    """
    ratios, seconds = [], []
    for turn in range(turns):
        found = {}
        for name in list(functions) if turn % 2 else list(functions)[::-1]:
            start = time.process_time()
            functions[name]()
            found[name] = time.process_time() - start
        served, alone = found.values() if turn % 2 else list(found.values())[::-1]
        ratios.append(served / alone)
        seconds.append(alone)
    return ratios, seconds


def on_onnx_runtime(model: Any, folder: Path) -> Predict:
    """``predict`` of the model's graph, on one thread."""
    import onnxruntime

    options, path = onnxruntime.SessionOptions(), folder.with_suffix(".onnx")
    options.intra_op_num_threads = 1
    serving.export_onnx(model, path, data(100)[0])
    session = onnxruntime.InferenceSession(path, options)
    return lambda X: session.run(["label"], {"X": X.astype(np.float32)})


def few_rows(name: str, model: Any, folder: Path, alone: Predict, limit: float, turns: int) -> None:
    """Report what a call of few rows takes, over the boosters' own."""
    served = {
        "estimator": model.predict,
        "loaded folder": serving.load(folder).predict,
        "predict.py": runpy.run_path(str(folder / "predict.py"))["Model"](folder).predict,
    }
    if find_spec("onnxruntime") and find_spec("onnx"):
        served["ONNX Runtime"] = on_onnx_runtime(model, folder)
    for n in FEW_ROWS:
        X, _ = data(n, seed=1)
        ways = {what: lambda f=f, X=X: f(X) for what, f in {"alone": alone, **served}.items()}
        seconds = in_turns(ways, turns, calls=20, clock=time.process_time)
        rows = f"{n:,} row{'s' * (n > 1)}"
        print(f"{name}, {rows}: {1e6 * seconds['alone']:.0f} us of its boosters")
        for what in served:
            goal = limit if n == 1 and what in ("estimator", "loaded folder") else None
            ratio = seconds[what] / seconds["alone"]
            report(f"{name}, {rows}, {what} / its boosters", ratio, goal)


def main() -> None:
    quick = quick_run(__doc__, "numpy", "lightgbm", "xgboost")
    trained, n, turns = (2_000, 5_000, 1) if quick else (20_000, 1_000_000, 7)
    X, _ = data(n, seed=1)
    kinds = {
        "QWKClassifier of 5 folds": grades,
        "DownsampledClassifier of 3 bags, threshold": events,
    }
    for what, export in kinds.items():
        for library in SETTINGS:
            with tempfile.TemporaryDirectory() as place:
                folder = Path(place) / "model"
                model, cuts = export(library, folder, trained)
                served = runpy.run_path(str(folder / "predict.py"))["Model"](folder)
                alone = own_prediction(library, folder)
                own = partial(boosters_alone, alone, cuts)
                if export is grades:
                    few_rows(f"{what}, {library}", model, folder, own, LIMITS[library], 3 * turns)
            ways: dict[str, Callable[[], Any]] = {
                "served": lambda served=served: served.predict(X),
                "alone": lambda own=own: own(X),
            }
            ratios, seconds = pairs(ways, turns)
            name = f"{what}, {library}"
            report(f"{name} / its boosters", statistics.median(ratios), 1.05)
            print(
                f"{'  of pairs, least and greatest; seconds of the boosters':<78} "
                f"{min(ratios):7.3f} {max(ratios):.3f}; {statistics.median(seconds):.1f} s"
            )
            for which, way in ways.items():
                report(f"  peak memory, {which}, bytes a row", peak_bytes(way) / n)


if __name__ == "__main__":
    main()
