"""Every kind of exported model, served where only numpy and one booster are installed.

python .ci/served.py LIBRARY PYTHON: PYTHON is the interpreter of a bare environment, with numpy and
LIBRARY, lightgbm or xgboost. Exits 1 if predict.py predicts something else there than the fitted
model does here, for the table of tests/serving/models.py.
"""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
import tempfile
import warnings
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).parents[1]))

from gbdt_objectives import serving
from tests.serving.models import CASES
from tests.serving.test_contract import cells, expected, model_of, tolerance

LIBRARIES = ("lightgbm", "xgboost")
FEWEST = 70  # models of one library

COMPARE = """
import importlib.util, pathlib, runpy, sys
import numpy as np

root, largest = pathlib.Path(sys.argv[1]), {}
strangers = [name for name in ("gbdt_objectives", "pandas") if importlib.util.find_spec(name)]
wrong = [f"{name} is installed, so this is no bare environment" for name in strangers]
for folder in sorted(path for path in root.iterdir() if path.is_dir()):
    held = np.load(root / (folder.name + ".npz"))
    names, tolerance = held["names"].tolist(), float(held["tolerance"])
    X = dict(zip(names, held["X"].T)) if names else held["X"]
    model = runpy.run_path(str(folder / "predict.py"))["Model"](folder)
    for method in sorted(set(held) - {"X", "names", "tolerance"}):
        found, wanted = getattr(model, method)(X), held[method]
        is_number = wanted.dtype.kind == "f"
        same = np.isclose(found, wanted, tolerance, tolerance) if is_number else found == wanted
        if is_number:
            largest[method] = max(largest.get(method, 0), np.abs(found - wanted).max())
        if found.shape != wanted.shape or not same.all():
            wrong.append(f"{folder.name}: {method} differs")
print(f"{sum(path.is_dir() for path in root.iterdir())} models, largest differences", largest)
sys.exit("\\n".join(wrong) or None)
"""
"""What the bare environment runs."""


def write(root: Path, library: str) -> int:
    """A folder of each model that needs no other library, and what it predicts for new rows."""
    written = 0
    for case in CASES:
        fitted, folder = case.fit(), root / case.name
        serving.export(fitted.model, folder, fitted.X, **fitted.extras)
        document = json.loads((folder / "model.json").read_text("utf-8"))
        needs = {
            booster["library"].replace("gblinear", "xgboost") for booster in document["boosters"]
        }
        if needs - {library}:
            shutil.rmtree(folder)
            continue
        held = expected(model_of(fitted), fitted.new)
        if held["predict"].dtype.kind == "O":
            held["predict"] = held["predict"].astype(str)
        names = [feature["name"] for feature in document["features"]]
        named = names if isinstance(names[0], str) else []
        X = np.array([*cells(fitted.new)])
        t = tolerance(document)
        np.savez(root / f"{case.name}.npz", X=X, names=np.array(named, str), tolerance=t, **held)
        written += 1
    return written


def main(library: str, python: str) -> int:
    warnings.simplefilter("ignore")  # of models that learn nothing
    with tempfile.TemporaryDirectory() as parent:
        root = Path(parent) / "served"
        root.mkdir()
        if write(root, library) < FEWEST:
            return 1
        return subprocess.run([python, "-I", "-c", COMPARE, str(root)], cwd=root).returncode


if __name__ == "__main__":
    if len(sys.argv) != 3 or sys.argv[1] not in LIBRARIES:
        sys.exit(__doc__)
    sys.exit(main(*sys.argv[1:]))
