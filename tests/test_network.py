"""Nothing of the package asks the network, neither when it is imported nor when it runs.

Training on several machines is left out: workers speak with each other.
"""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("lightgbm")
pytest.importorskip("xgboost")
pytestmark = pytest.mark.slow

WATCHED = """
import json, pkgutil, sys

EVENTS = ("socket.connect", "socket.getaddrinfo", "socket.gethostbyname", "socket.gethostbyaddr",
          "socket.sendto", "socket.sendmsg", "socket.bind", "urllib.Request", "http.client.connect",
          "ftplib.connect", "smtplib.connect")
events = []

def watch(event, arguments):
    if event in EVENTS:
        events.append(f"{event} {arguments!r}"[:200])

sys.addaudithook(watch)
"""

USE = """
import gbdt_objectives
from importlib import import_module

names, missing = ["gbdt_objectives"], []
for found in pkgutil.walk_packages(gbdt_objectives.__path__, "gbdt_objectives."):
    if found.name.endswith("__main__"):
        continue
    try:
        import_module(found.name)
    except ImportError as error:  # an engine that is not installed
        missing.append(f"{found.name}: {error}")
    names.append(found.name)

import matplotlib
matplotlib.use("Agg")
import numpy as np, lightgbm, xgboost
from click.testing import CliRunner
import gbdt_objectives as go
from gbdt_objectives import serving
from gbdt_objectives._command_line.commands import cli
from gbdt_objectives.adapters import lightgbm as of_lightgbm, xgboost as of_xgboost
from gbdt_objectives.calibration import LogitCalibrator
from gbdt_objectives.plotting import ReliabilityDisplay

rng = np.random.default_rng(0)
X = rng.normal(size=(200, 3))
y = np.digitize(X[:, 0] + rng.normal(size=200), [-0.5, 0.5]) + 1
z = (y > 2).astype(int)
objective = go.qwk_objective()
done = []
of_lightgbm.train({"verbose": -1, "num_threads": 1}, lightgbm.Dataset(X, y), 3,
                  objective=objective)
of_xgboost.train({"nthread": 1}, xgboost.DMatrix(X, y), 3, objective=objective)
done.append("train")
model = go.QWKClassifier(lightgbm.LGBMRegressor(n_estimators=3, n_jobs=1, verbose=-1), cv=2)
model.fit(X, y)
thresholds = go.optimize_thresholds(y, X[:, 0])
type(thresholds).from_json(thresholds.to_json())
done.append("thresholds")
p = go.correct_probability(np.full(200, 0.3), negative_keep_rate=0.5)
p = 1 / (1 + np.exp(-X[:, 0]))
LogitCalibrator().fit(p, z).predict(p)
done.append("calibration")
serving.export(model, "model", X)
serving.load("model").predict(X)
done.append("serving")
with open("a.csv", "w") as file:
    file.writelines(["y,p,q\\n", *(f"{a},{b},{a}\\n" for a, b in zip(z, p))])
for command in ("thresholds a.csv --label y --score p --metric f1",
                "calibration a.csv --label y --score p",
                "kappa a.csv --label y --prediction q", "--help", "--version"):
    assert CliRunner().invoke(cli, command.split()).exit_code in (0, 1), command
done.append("commands")
ReliabilityDisplay.from_predictions(z, p).figure_.savefig("a.png")
done.append("plotting")
print(json.dumps([events, {"names": names, "missing": missing, "done": done}]))
"""

ASKS = """
import socket
try:
    socket.create_connection(("127.0.0.1", 9), timeout=0.1)
except OSError:
    pass
print(json.dumps([events, None]))
"""


def events_of(source: str, folder: Path) -> tuple[list[str], object]:
    """What a fresh process asked the network for, and what it printed."""
    path = folder / "watched.py"
    path.write_text(WATCHED + source, "utf-8")
    command = [sys.executable, str(path)]
    done = subprocess.run(command, capture_output=True, text=True, cwd=folder, check=False)
    assert done.returncode == 0, done.stderr
    events, rest = json.loads(done.stdout.splitlines()[-1])
    return events, rest


def test_no_module_and_nothing_that_runs_asks_the_network(tmp_path: Path) -> None:
    events, found = events_of(USE, tmp_path)
    assert events == []
    assert isinstance(found, dict)
    assert len(found["names"]) > 100
    engines = ("spark", "dask", "ray", "onnx", "autodiff", "_command_line", "catboost")
    assert [name for name in found["missing"] if not any(e in name for e in engines)] == []
    uses = ["train", "thresholds", "calibration", "serving", "commands", "plotting"]
    assert found["done"] == uses


def test_what_asks_is_seen(tmp_path: Path) -> None:
    events, _ = events_of(ASKS, tmp_path)
    assert any(event.startswith("socket.connect ") for event in events)
