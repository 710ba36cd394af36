"""Spark in local mode, two workers: the model of one machine, or an error."""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
import xgboost as xgb

import gbdt_objectives as go
from gbdt_objectives.adapters._train import MARK
from gbdt_objectives.adapters.xgboost import early_stopping, train
from tests.cases import refusals_of
from tests.engines.conftest import FEATURES

pytest.importorskip("pyspark", reason="pip install 'gbdt_objectives[spark]'")
if not (shutil.which("java") or os.environ.get("JAVA_HOME")):
    pytest.skip("Spark needs Java: apt-get install default-jre-headless", allow_module_level=True)

from pyspark.ml import Pipeline, PipelineModel
from pyspark.sql import SparkSession
from pyspark.sql.functions import lit
from xgboost.collective import Config
from xgboost.spark import SparkXGBClassifierModel, SparkXGBRegressor, SparkXGBRegressorModel

from gbdt_objectives.distributed.spark import error_of, spark_classifier, spark_regressor

pytestmark = pytest.mark.slow

ROUNDS = 60


def given() -> dict[str, Any]:
    """The arguments of every estimator."""
    return {
        "features_col": FEATURES, "num_workers": 2, "n_estimators": ROUNDS, "max_depth": 3,
        "coll_cfg": Config(timeout=60), "verbose": False,
    }  # fmt: skip


@pytest.fixture(scope="module")
def spark() -> Iterator[SparkSession]:
    os.environ["PYSPARK_PYTHON"] = sys.executable
    session = (
        SparkSession.builder.master("local[2]")
        .config("spark.ui.enabled", "false")
        .config("spark.driver.host", "127.0.0.1")
        .config("spark.driver.bindAddress", "127.0.0.1")
        .config("spark.sql.shuffle.partitions", "2")
        .config("spark.sql.execution.arrow.pyspark.enabled", "true")
        .getOrCreate()
    )
    session.sparkContext.setLogLevel("OFF")
    yield session
    session.stop()


def in_two(spark: SparkSession, frame: Any) -> Any:
    """A DataFrame of two partitions, its first and its second half."""
    types = {"held_out": "boolean"}
    schema = ", ".join(f"{name} {types.get(name, 'double')}" for name in frame)
    halves = spark.sparkContext.parallelize(frame.to_dict("records"), 2)
    df = spark.createDataFrame(halves, schema).cache()
    assert df.rdd.glom().map(len).collect() == [len(frame) // 2] * 2
    return df


def matrix(frame: Any) -> xgb.DMatrix:
    return xgb.DMatrix(frame[FEATURES], frame["label"], weight=frame["weight"])


def test_the_model_of_one_machine(spark, rows, tmp_path) -> None:
    df = in_two(spark, rows)
    estimator = spark_regressor(
        go.qwk_objective(), go.extended_qwk_metric(), weight_col="weight",
        validation_indicator_col="held_out", early_stopping_rounds=5, **given(),
    )  # fmt: skip
    model = Pipeline(stages=[estimator]).fit(df)
    held_out = matrix(rows[rows.held_out])
    alone = train(
        {"max_depth": 3}, matrix(rows[~rows.held_out]), ROUNDS, objective=go.qwk_objective(),
        metric=go.extended_qwk_metric(), evals=[(held_out, "v")], early_stopping_rounds=5,
    )  # fmt: skip
    booster = model.stages[0].get_booster()
    assert booster.get_dump() == alone.get_dump()
    assert booster.num_boosted_rounds() == alone.num_boosted_rounds() < ROUNDS - 5
    assert booster.best_iteration == alone.best_iteration
    assert booster.best_score == pytest.approx(alone.best_score, rel=1e-12)  # another order
    model.save(str(tmp_path / "model"))  # XGBoost's own, as an executor without us loads it
    back = PipelineModel.load(str(tmp_path / "model")).stages[0]
    assert type(back) is SparkXGBRegressorModel
    expected = alone.predict(xgb.DMatrix(rows[FEATURES]))
    for fitted in (model.stages[0], back):
        found = fitted.transform(df).toPandas().sort_values([*FEATURES, "label", "weight"])
        np.testing.assert_array_equal(
            found["prediction"].to_numpy(np.float32),
            expected[rows.sort_values([*FEATURES, "label", "weight"]).index],
        )
    summary = model.stages[0].training_summary.validation_objective_history
    assert summary["extended_qwk"][booster.best_iteration] == booster.best_score


def test_probabilities_of_one_machine(spark, rows, tmp_path) -> None:
    binary = rows.assign(label=(rows.label > 1).astype(float))
    df = in_two(spark, binary)  # one partition has positives only
    assert binary.label[len(rows) // 2 :].all()
    objective = go.offset_logloss_objective(0.5)
    (tmp_path / "saved").mkdir()
    saving = xgb.callback.TrainingCheckPoint(str(tmp_path / "saved"), interval=20)
    model = spark_classifier(objective, weight_col="weight", callbacks=[saving], **given()).fit(df)
    alone = train({"max_depth": 3}, matrix(binary), ROUNDS, objective=objective)
    mark = f"0.5 {ROUNDS}"  # the rate for which the model corrects
    assert model.get_booster().attr(MARK) == alone.attr(MARK) == mark
    assert len(list((tmp_path / "saved").iterdir())) >= 2
    for path in (tmp_path / "saved").iterdir():
        saved = xgb.Booster(model_file=str(path))
        few = train(
            {"max_depth": 3}, matrix(binary), saved.num_boosted_rounds(), objective=objective
        )
        expected = few.predict(xgb.DMatrix(rows[FEATURES]))
        np.testing.assert_allclose(saved.predict(xgb.DMatrix(rows[FEATURES])), expected, rtol=1e-6)
        assert saved.attr(MARK) == few.attr(MARK)
    model.write().save(str(tmp_path / "model"))
    back = SparkXGBClassifierModel.load(str(tmp_path / "model"))
    assert back.get_booster().get_dump() == alone.get_dump()
    found = back.transform(df).toPandas()
    probability = np.array([row.probability[1] for row in found.itertuples()])
    # Spark takes the logistic function of float32 log-odds
    np.testing.assert_allclose(probability, alone.predict(xgb.DMatrix(found[FEATURES])), rtol=1e-6)


def test_soft_labels_are_no_classes(spark, rows) -> None:
    """XGBoost's classifier on Spark counts labels, and would train as many classes."""
    df = in_two(spark, rows.assign(label=rows.label / 3))
    with pytest.raises(ValueError, match="must be 0 .*: use DaskXGBRegressor"):
        spark_classifier(go.weighted_logloss_objective(1), **given()).fit(df)


def test_a_partition_without_rows_and_one_without_weight(spark, rows) -> None:
    some = rows.assign(weight=np.where(rows.index < len(rows) // 2, 0.0, rows.weight))
    model = spark_regressor(go.qwk_objective(), weight_col="weight", **given())
    alone = train({"max_depth": 3}, matrix(some), ROUNDS, objective=go.qwk_objective()).get_dump()
    of_no_weight = in_two(spark, some)
    of_no_rows = spark.createDataFrame(some).repartition(2, lit(0))
    assert sorted(of_no_rows.rdd.glom().map(len).collect()) == [0, len(rows)]
    for df in (of_no_weight, of_no_rows):
        booster = model.fit(df).get_booster()
        booster.feature_names = FEATURES  # XGBoost loses them if its first worker has no rows
        assert booster.get_dump() == alone


def own_loss(y: Any, margin: Any, weight: Any) -> Any:
    raise OverflowError("too much\nin two lines")


def test_errors_of_any_kind_are_told_without_java(spark, rows) -> None:
    with pytest.raises(RuntimeError, match="^OverflowError: too much\nin two lines") as found:
        spark_regressor(go.objective(own_loss), base_score=1.0, **given()).fit(in_two(spark, rows))
    assert "Traceback" in str(found.value.__cause__)
    assert "org.apache" not in str(found.value) + str(found.value.__cause__)


def test_the_error_at_the_end_of_a_traceback() -> None:
    head = 'Traceback (most recent call last):\n  File "a.py", line 1, in f\n    g()\n'
    for text, kind, message in [
        ("OverflowError: too large", OverflowError, "too large"),
        ("ValueError", ValueError, ""),
        ("KeyError: 'a'\n\nDuring handling of ...:\n\n" + head + "TypeError: b: c\n\nd", TypeError,
         "b: c\n\nd"),
        ("xgboost.core.XGBoostError: e", xgb.core.XGBoostError, "e"),
        ("their.Own: f", RuntimeError, "their.Own: f"),
        ("UnicodeDecodeError: g", RuntimeError, "UnicodeDecodeError: g"),
    ]:  # fmt: skip
        found = error_of(head + text)
        assert (type(found), str(found)) == (kind, message)


def test_statistics_of_a_data_frame(spark, rows) -> None:
    """The recipe of docs/large_data.md."""
    page = (Path(__file__).parents[2] / "docs" / "large_data.md").read_text()
    recipe = page.split("```py\n")[1].split("```")[0]
    rng = np.random.default_rng(0)
    grade = rng.integers(1, 7, 3000)
    frame = pd.DataFrame({"grade": grade, "score": grade + rng.normal(size=3000).round(2)})
    frame["p"] = rng.beta(1, 9, 3000)
    frame["click"] = (rng.random(3000) < frame["p"]).astype(int)
    frame["country"] = rng.choice(["AT", "CH", "DE"], 3000)
    printed: list[Any] = []
    exec(recipe, {"df": spark.createDataFrame(frame).repartition(3), "print": printed.append})
    thresholds, ratios = printed
    np.testing.assert_allclose(  # sums in another order
        thresholds, go.optimize_thresholds(frame["grade"], frame["score"]), rtol=1e-10
    )
    expected = go.calibration.calibration_ratio_by_segment(
        frame["click"], frame["p"], frame["country"]
    )
    assert ratios.segment.tolist() == expected.segment.tolist()
    for name in ("weight", "ratio", "low", "high", "p_value"):
        np.testing.assert_allclose(getattr(ratios, name), getattr(expected, name), rtol=1e-10)


def of_the_shard(margin: Any, data: Any) -> Any:
    return go.qwk_objective(data.get_label())(margin, data)


def test_an_objective_of_the_shard_is_refused(spark, rows) -> None:
    df = in_two(spark, rows)
    with pytest.raises(Exception, match="WorkersDisagree: the workers do not train the same"):
        SparkXGBRegressor(obj=of_the_shard, base_score=1.5, **given()).fit(df)


def test_labels_are_refused_as_on_one_machine(spark, rows) -> None:
    wrong = spark.createDataFrame(rows.assign(label=rows.label.where(rows.index != 7, np.nan)))
    with pytest.raises(ValueError, match="y_true must be finite, found nan"):
        spark_regressor(go.qwk_objective(), **given()).fit(wrong)
    whole = go.qwk_objective([0, 1, 2])
    with pytest.raises(ValueError, match=r"y_true must lie in label_range \(0.0, 2.0\), found 3"):
        spark_regressor(whole, **given()).fit(in_two(spark, rows))
    with pytest.raises(ValueError, match="no training rows"):
        spark_regressor(
            go.qwk_objective(), go.extended_qwk_metric(), validation_indicator_col="held_out",
            **given(),
        ).fit(spark.createDataFrame(rows[rows.held_out]))  # fmt: skip


def test_starts(spark, rows) -> None:
    whole = go.qwk_objective(rows.label)
    df = in_two(spark, rows.assign(start=rows.label.mean()))
    few = {**given(), "n_estimators": 3}
    data = xgb.DMatrix(rows[FEATURES], rows.label)

    def alone(**kwargs: Any) -> xgb.Booster:
        params = {"max_depth": 3, **kwargs.pop("params", {})}
        return train(params, kwargs.pop("data", data), 3, objective=whole, **kwargs)

    of_one = alone()
    with pytest.warns(UserWarning, match="starts at 40, far from .*: leave base_score out"):
        spark_regressor(whole, base_score=40.0, **few).fit(df)
    own = spark_regressor(whole, base_score=2.0, **few).fit(df).get_booster()
    assert own.get_dump() == alone(params={"base_score": 2.0}).get_dump()
    on = spark_regressor(whole, xgb_model=of_one, **few).fit(df).get_booster()
    assert on.get_dump() == alone(xgb_model=of_one).get_dump()
    assert on.num_boosted_rounds() == 6
    with_margin = xgb.DMatrix(
        rows[FEATURES], rows.label, base_margin=np.full(len(rows), rows.label.mean())
    )
    margins = spark_regressor(whole, base_margin_col="start", **few).fit(df).get_booster()
    assert margins.get_dump() == alone(data=with_margin).get_dump()
    with pytest.raises(ValueError, match="base_score and base_margin_col are both given"):
        spark_regressor(whole, base_margin_col="start", base_score=1.0, **few).fit(df)


QWK = go.qwk_objective([0, 1, 2, 3])


METRIC = go.extended_qwk_metric()

test_refused = refusals_of(
    lambda arguments: spark_regressor(**{"objective": QWK, **arguments}),
    ({"objective": "reg:squarederror"}, "must be an objective such as", TypeError),
    ({"objective": go.offset_logloss_objective(0.5)}, "write spark_classifier", TypeError),
    ({"objective": go.ordinal_logit_objective(4)}, "XGBClassifier of"),
    ({"objective": go.focal_objective(2.0)}, "XGBClassifier of"),
    ({"objective": go.offset_logloss_objective([0.5, 0.1])},
     "a value of its own for each training row"),
    ({"metric": go.weighted_logloss_metric(0.5)}, "takes log-odds of label 1"),
    ({"metric": METRIC.xgboost}, "pass the metric itself", TypeError),
    ({"obj": QWK}, "got obj=: write objective=", TypeError),
    ({"eval_metric": "rmse"}, "got eval_metric=: write metric=", TypeError),
    ({"eval_set": []}, "write validation_indicator_col=", TypeError),
    ({"num_boost_round": 3}, "write n_estimators=", TypeError),
    ({"scale_pos_weight": 3}, "ignores it under a custom objective"),
    ({"max_dept": 3}, "max_dept is set, .* did you mean max_depth=", TypeError),
    ({"numWorkers": 2}, "numWorkers is set, .* did you mean num_workers=", TypeError),
    ({"workers": 2}, "did you mean num_workers=", TypeError),
    ({"budget": 2}, "budget is set, .*: leave it out", TypeError),
    ({"target": "grade"}, "label_col=", TypeError),
    ({"nthread": 2}, "spark.task.cpus", TypeError),
    ({"params": {"eta": 0.1}}, r"\*\*params", TypeError),
    ({"early_stopping_rounds": 5}, "needs metric= to stop on"),
    ({"early_stopping_rounds": 5, "metric": METRIC}, "validation_indicator_col="),
    ({"validation_indicator_col": "v"}, "metric is None"),
    ({"validation_indicator_col": "v", "metric": METRIC, "early_stopping_rounds": 0},
     "early_stopping_rounds must be"),
)  # fmt: skip


def test_the_classifier_refuses_scores() -> None:
    with pytest.raises(TypeError, match="write spark_regressor"):
        spark_classifier(QWK)


def test_what_is_set_later_is_checked_too() -> None:
    estimator = spark_regressor(QWK)
    estimator.setParams(scale_pos_weight=3)
    with pytest.raises(ValueError, match="ignores it under a custom objective"):
        estimator.fit(None)
    estimator = spark_regressor(QWK)
    estimator.setParams(eval_metric="rmse")
    with pytest.raises(TypeError, match="eval_metric is set: write metric="):
        estimator.fit(None)
    estimator = spark_regressor(QWK, eta=0.1, repartition_random_shuffle=True, **{"lambda": 2})
    estimator.setParams(numWorkers=2)
    with pytest.raises(TypeError, match="numWorkers is set"):
        estimator.fit(None)


def test_estimators_are_copied_but_not_saved() -> None:
    estimator = spark_regressor(QWK, go.extended_qwk_metric(), max_depth=2)
    assert isinstance(estimator, SparkXGBRegressor)
    copied = estimator.copy({estimator.max_depth: 4})
    assert copied.trained_on is QWK
    assert copied.getOrDefault("max_depth") == 4
    with pytest.raises(TypeError, match=r"save the fitted model, model.save\(path\) or"):
        estimator.write()
    with pytest.raises(TypeError, match="save the fitted model"):
        estimator.save("anywhere")


def test_users_stopping_callback_is_directed(spark, rows) -> None:
    df = in_two(spark, rows)
    metric = go.extended_qwk_metric()
    few = {**given(), "validation_indicator_col": "held_out", "weight_col": "weight"}
    ours, theirs = (
        spark_regressor(go.qwk_objective(), metric, callbacks=[stop], **few).fit(df)
        for stop in (
            early_stopping(metric, 3),
            xgb.callback.EarlyStopping(rounds=3, save_best=True),
        )
    )
    assert ours.get_booster().get_dump() == theirs.get_booster().get_dump()
    assert ours.get_booster().num_boosted_rounds() < ROUNDS - 3


def test_a_plain_call_far_from_the_best_constant_is_refused(spark, rows) -> None:
    """A warning would end in the log of a worker."""
    df = in_two(spark, rows.assign(label=rows["label"] + 40))
    options = {"label_col": "label", **given(), "n_estimators": 2}
    plain = SparkXGBRegressor(obj=go.qwk_objective(), **options)
    with pytest.raises(Exception, match="far from") as caught:
        plain.fit(df)
    assert ": pass base_score=4" in str(caught.value)
    SparkXGBRegressor(obj=go.qwk_objective(), base_score=41.0, **options).fit(df)
