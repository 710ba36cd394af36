"""Ray, two workers: the recipe of docs/distributed.md gives the model of one machine."""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import Any

import numpy as np
import pandas as pd
import pytest
import xgboost as xgb
from scipy.special import softmax

import gbdt_objectives as go
from gbdt_objectives.adapters.xgboost import early_stopping, train
from tests.engines.conftest import FEATURES

os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
os.environ.setdefault("RAY_TRAIN_V2_ENABLED", "1")
pytest.importorskip("ray", reason="pip install 'ray[data,train]'")

import ray
import ray.data
import ray.train
from ray.train.xgboost import RayTrainReportCallback, XGBoostTrainer

pytestmark = pytest.mark.slow

PARAMS = {"max_depth": 3, "nthread": 1}
ROUNDS = 60


def matrix_of(rows: pd.DataFrame) -> xgb.DMatrix:
    return xgb.DMatrix(rows[FEATURES], rows["label"], weight=rows["weight"])


def loop() -> None:
    shards = [ray.train.get_dataset_shard(name) for name in ("train", "held_out")]
    data, held_out = (matrix_of(shard.materialize().to_pandas()) for shard in shards)
    with pytest.raises(go.distributed.WorkersDisagree, match="the workers do not train the same"):
        train(PARAMS, data, 2, objective=go.qwk_objective(data.get_label()))
    metric = go.extended_qwk_metric()
    train(
        PARAMS, data, ROUNDS, objective=go.qwk_objective(), metric=metric,
        evals=[(held_out, "held_out")],
        callbacks=[early_stopping(metric, 5), RayTrainReportCallback()],
    )  # fmt: skip
    assert len(np.unique(data.get_label())) < 4  # the shard does not have them all


def of_classes(y: Any, margin: Any, weight: Any) -> Any:
    p, w = softmax(margin, axis=1), weight[:, np.newaxis]
    return w * (p - np.eye(4)[y.astype(int)]), w * (2 * p * (1 - p) + 1e-6)


def several() -> go.Objective:
    return go.objective(of_classes, link="softmax", outputs=4)


def loop_of_several() -> None:
    data = matrix_of(ray.train.get_dataset_shard("train").materialize().to_pandas())
    saving = RayTrainReportCallback(frequency=3, checkpoint_at_end=False)
    train(PARAMS, data, 5, objective=several(), callbacks=[saving])


@pytest.fixture(scope="module", autouse=True)
def _started() -> Iterator[None]:
    ray.init(num_cpus=2, include_dashboard=False, logging_level="ERROR")
    yield
    ray.shutdown()


def test_a_checkpoint_of_several_outputs_is_a_training_of_so_many_rounds(rows, tmp_path) -> None:
    half = len(rows) // 2
    result = XGBoostTrainer(
        loop_of_several,
        scaling_config=ray.train.ScalingConfig(num_workers=2, resources_per_worker={"CPU": 0.5}),
        run_config=ray.train.RunConfig(storage_path=str(tmp_path)),
        datasets={"train": ray.data.from_pandas([rows[:half], rows[half:]])},
    ).fit()
    booster = RayTrainReportCallback.get_model(result.checkpoint)
    assert booster.num_boosted_rounds() == 3
    alone = train(PARAMS, matrix_of(rows), 3, objective=several())
    np.testing.assert_allclose(
        booster.predict(matrix_of(rows)), alone.predict(matrix_of(rows)), rtol=1e-5
    )


def test_the_model_of_one_machine(rows, tmp_path) -> None:
    parts = {"train": rows[~rows.held_out], "held_out": rows[rows.held_out]}
    result = XGBoostTrainer(
        loop,
        scaling_config=ray.train.ScalingConfig(num_workers=2, resources_per_worker={"CPU": 0.5}),
        run_config=ray.train.RunConfig(storage_path=str(tmp_path)),
        datasets={
            name: ray.data.from_pandas([frame[: len(frame) // 2], frame[len(frame) // 2 :]])
            for name, frame in parts.items()
        },
    ).fit()
    booster = RayTrainReportCallback.get_model(result.checkpoint)
    data, held_out = (matrix_of(parts[name]) for name in ("train", "held_out"))
    alone = train(
        PARAMS, data, ROUNDS, objective=go.qwk_objective(), metric=go.extended_qwk_metric(),
        evals=[(held_out, "held_out")], early_stopping_rounds=5,
    )  # fmt: skip
    assert booster.num_boosted_rounds() == alone.num_boosted_rounds() < ROUNDS - 5
    assert booster.get_dump() == alone.get_dump()
    np.testing.assert_array_equal(booster.predict(held_out), alone.predict(held_out))
