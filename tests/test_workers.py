"""The default reduction under XGBoost's collective: real workers, one model."""

from __future__ import annotations

import subprocess
import sys

import numpy as np
import xgboost as xgb

import gbdt_objectives as go
from gbdt_objectives._workers import sum_over_workers
from gbdt_objectives.adapters.xgboost import train
from tests.contract import COST

WORKER = """
import sys
import numpy as np
import xgboost as xgb
from xgboost import collective
import gbdt_objectives as go
from gbdt_objectives.adapters.xgboost import train

host, port, rank, folder = sys.argv[1], int(sys.argv[2]), int(sys.argv[3]), sys.argv[4]
rows = np.load(f"{folder}/rows.npz")
mine = slice(0, 700) if rank == 0 else slice(700, None)  # sorted by label: as unlike as can be
X, y, w = rows["X"][mine], rows["y"][mine], rows["w"][mine]
with collective.CommunicatorContext(
    dmlc_tracker_uri=host, dmlc_tracker_port=port, dmlc_task_id=str(rank)
):
    data = xgb.DMatrix(X, y, weight=w)
    given = train({"max_depth": 3}, data, 10, objective=go.qwk_objective(
        center=float(rows["a"]), spread=float(rows["b"]), label_range=(0, 3)))
    measured = train({"max_depth": 3}, data, 10, objective=go.qwk_objective(label_range=(0, 3)))
    absolute = train({"max_depth": 3}, data, 10,
                     objective=go.kappa_objective("absolute", label_range=(0, 3)))
    matrix = train({"max_depth": 3}, data, 10, objective=go.kappa_objective(rows["cost"]))
    logloss = train({"max_depth": 3}, xgb.DMatrix(X, y > 1, weight=w), 10,
                    objective=go.offset_logloss_objective(0.5))
    refusals = []
    for wrong in (
        lambda: train({}, data, 2, objective=go.qwk_objective()),
        lambda: train({}, data, 2, objective=go.kappa_objective("absolute")),
        lambda: train({}, data, 2, objective=go.qwk_objective(label_range=(0, 3)),
                      metric=go.qwk_metric((0, 3)), evals=[(data, "v")]),
    ):
        try:
            wrong()
        except ValueError as error:
            refusals.append(str(error))
    assert "label_range is not given" in refusals[0], refusals
    assert "label_range=(lowest, highest) to kappa_objective" in refusals[1], refusals
    assert "metric is refused in distributed training" in refusals[2], refusals
    if rank == 0:
        for name in ("given", "measured", "absolute", "matrix", "logloss"):
            globals()[name].save_model(f"{folder}/{name}.ubj")
"""


def test_two_workers_train_the_model_of_one(tmp_path) -> None:
    rng = np.random.default_rng(0)
    X = rng.integers(0, 12, (1500, 4)).astype(float)  # few values: bins do not depend on sketches
    y = np.digitize(X[:, :2].sum(1) + rng.normal(0, 2, 1500), [7, 11, 15]).astype(float)
    order = np.argsort(y, kind="stable")
    X, y, w = X[order], y[order], rng.integers(1, 4, 1500).astype(float)
    whole = go.qwk_objective(y, sample_weight=w)
    np.savez(tmp_path / "rows.npz", X=X, y=y, w=w, a=whole.center, b=whole.spread, cost=COST)

    from xgboost.tracker import RabitTracker

    tracker = RabitTracker(host_ip="127.0.0.1", n_workers=2)
    tracker.start()
    arguments = tracker.worker_args()
    address = [str(arguments["dmlc_tracker_uri"]), str(arguments["dmlc_tracker_port"])]
    workers = [
        subprocess.Popen(
            [sys.executable, "-c", WORKER, *address, str(rank), str(tmp_path)],
            stderr=subprocess.PIPE,
            text=True,
        )
        for rank in range(2)
    ]
    for worker in workers:
        _, errors = worker.communicate(timeout=120)
        assert worker.returncode == 0, errors
    tracker.wait_for()

    data, binary = xgb.DMatrix(X, y, weight=w), xgb.DMatrix(X, y > 1, weight=w)
    alone = {
        "given": train({"max_depth": 3}, data, 10, objective=whole),
        "measured": train({"max_depth": 3}, data, 10, objective=whole),
        "absolute": train({"max_depth": 3}, data, 10, objective=go.kappa_objective("absolute")),
        "matrix": train({"max_depth": 3}, data, 10, objective=go.kappa_objective(COST)),
        "logloss": train({"max_depth": 3}, binary, 10, objective=go.offset_logloss_objective(0.5)),
    }
    for name, booster in alone.items():
        together = xgb.Booster(model_file=tmp_path / f"{name}.ubj").predict(data)
        # float32 margins, and histograms summed in another order
        np.testing.assert_allclose(together, booster.predict(data), atol=1e-5)


def test_identity_on_one_machine() -> None:
    values = np.array([1.0, 2.5])
    np.testing.assert_array_equal(sum_over_workers(values), values)
