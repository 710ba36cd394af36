"""Results in notebooks: the numbers that the objects have, all text escaped; and their frames."""

from __future__ import annotations

import subprocess
import sys
from typing import Any

import numpy as np
import pytest
from sklearn.dummy import DummyClassifier

import gbdt_objectives as go
from gbdt_objectives import calibration, metrics
from gbdt_objectives.evaluation import compare_performance
from tests.cases import each
from tests.read_html import Read, only_table

EVIL = "<script>alert('x')</script> & \"more\""
RNG = np.random.default_rng(0)
P = RNG.beta(1, 4, 600)
Y = (RNG.random(600) < P).astype(int)
LATENT = RNG.normal(size=300)
GRADE = np.digitize(LATENT + 0.6 * RNG.normal(size=300), [-1, 0, 1])

THRESHOLDS = go.thresholds.Thresholds([-np.inf, 0.125, 1234.0], ["low", EVIL, "high", "top"])
RATIOS = calibration.calibration_ratio_by_segment(Y, P, np.array(["a", EVIL, "b"])[Y + (P > 0.3)])
BINS = calibration.reliability_bins(Y, P, n_bins=4)
FOLDS = go.cross_validate_thresholds(
    GRADE, LATENT, method=["plugin", "exact"], n_bootstrap=0, random_state=0
)
COMPARED = compare_performance(
    DummyClassifier(strategy="stratified", random_state=0), DummyClassifier(),
    LATENT[:, None], GRADE, "accuracy", n_repeats=2,
)  # fmt: skip
CHOICE = calibration.choose_calibrator(Y, P)
ERROR = calibration.calibration_error_test(Y, P, n_resamples=100, random_state=0)
PARTS = calibration.calibration_refinement(Y, P, partition="isotonic")
HULL = calibration.roc_convex_hull(Y, P)


def evil_name(y_true, margin, sample_weight):
    w = np.ones_like(margin) if sample_weight is None else sample_weight
    return w * (margin - y_true), w


evil_name.__name__ = evil_name.__qualname__ = EVIL
OBJECTIVE = go.objective(evil_name)
SHOWN = [
    THRESHOLDS, RATIOS, BINS, FOLDS, COMPARED, COMPARED.first, OBJECTIVE, go.qwk_objective(GRADE),
    go.focal_objective(2.0, n_classes=3), go.qwk_metric(), go.loss_metric(go.focal_objective(2.0)),
    metrics.cost_metric([[0, 1], [9, 0]]), go.qwk_metric().loss,
    go.check_objective(go.focal_objective(2.0)), CHOICE, ERROR, PARTS, HULL,
]  # fmt: skip


@each("result", SHOWN, ids=lambda result: type(result).__name__)
def test_one_table_in_the_colours_of_the_notebook(result: Any) -> None:
    html = result._repr_html_()
    title, rows = only_table(html)
    assert title
    assert rows
    found = Read(html)
    assert set(found.tags) <= {"table", "caption", "b", "thead", "tbody", "tr", "th", "td"}
    assert all(value.startswith("text-align") for _, value in found.attributes)


def numbers(rows: list[dict[str, str]], name: str) -> list[float]:
    return [float(row[name] or "nan") for row in rows]


def test_the_numbers_are_those_of_the_objects() -> None:
    close = {"rtol": 5e-4}  # four digits are shown
    _, rows = only_table(THRESHOLDS._repr_html_())
    assert [row["label"] for row in rows] == THRESHOLDS.labels.tolist()
    assert numbers(rows, "low") == [-np.inf, *THRESHOLDS.tolist()]
    assert numbers(rows, "high") == [*THRESHOLDS.tolist(), np.inf]
    _, rows = only_table(RATIOS._repr_html_())
    by_evidence = RATIOS.by_evidence()
    assert [row["segment"] for row in rows] == by_evidence.segment.tolist()
    for name in ("weight", "ratio", "low", "high"):
        np.testing.assert_allclose(numbers(rows, name), getattr(by_evidence, name), **close)
    np.testing.assert_allclose(numbers(rows, "holm"), by_evidence.rest_p_value_holm, **close)
    _, rows = only_table(BINS._repr_html_())
    for name in ("weight", "probability", "frequency"):
        np.testing.assert_allclose(numbers(rows, name), getattr(BINS, name), **close)
    title, rows = only_table(FOLDS._repr_html_())
    assert FOLDS.best in title
    np.testing.assert_allclose(numbers(rows, "score"), FOLDS.score, **close)
    for k in range(3):
        cuts = numbers(rows, f"threshold_{k + 1}")
        np.testing.assert_allclose(cuts, FOLDS.thresholds[:, k], **close)
    _, rows = only_table(COMPARED._repr_html_())
    parts = [COMPARED.first.estimate, COMPARED.second.estimate, COMPARED.difference]
    np.testing.assert_allclose(numbers(rows, "estimate"), parts, **close)
    ends = [COMPARED.first.interval, COMPARED.second.interval, COMPARED.interval]
    shown = np.column_stack([numbers(rows, "90 % from"), numbers(rows, "to")])
    np.testing.assert_allclose(shown, ends, **close)
    _, (row,) = only_table(COMPARED.first._repr_html_())
    assert float(row["naive error"]) == pytest.approx(COMPARED.first.naive_error, rel=5e-4)


def test_objectives_and_metrics_name_their_parameters() -> None:
    def facts(result: Any) -> dict[str, str]:
        return {row[""]: row["value"] for row in only_table(result._repr_html_())[1]}

    found = facts(go.focal_objective(1.5, n_classes=3))
    assert found["gamma"] == "1.5"
    assert found["n_classes"] == "3"
    assert "score" in found["link"]
    assert facts(metrics.f_beta_metric(2))["beta"] == "2.0"
    assert facts(go.qwk_metric().loss)["greater_is_better"] == "False"
    assert "<script>alert(" in Read(OBJECTIVE._repr_html_()).text


def test_of_many_rows_the_first_and_the_last_are_shown() -> None:
    segments = np.arange(600) // 10
    many = calibration.calibration_ratio_by_segment(Y, P, segments)
    title, rows = only_table(many._repr_html_())
    assert "40 rows left out" in title
    by_evidence = many.by_evidence()
    expected = np.r_[by_evidence.segment[:10], by_evidence.segment[-10:]]
    assert [int(row["segment"]) for row in rows] == expected.tolist()


def test_frames_hold_everything() -> None:
    frame = RATIOS.to_frame()
    assert list(frame) == list(vars(RATIOS))
    for name, values in vars(RATIOS.by_evidence()).items():  # as they are printed
        np.testing.assert_array_equal(frame[name], values)
    by_prediction = calibration.calibration_ratio_by_segment(Y, P, "prediction", n_bins=4)
    assert by_prediction.to_frame().segment.tolist() == by_prediction.segment.tolist()
    assert BINS.to_frame().weight.tolist() == BINS.weight.tolist()
    frame = THRESHOLDS.to_frame().set_index("label")
    assert frame.low[EVIL] == -np.inf
    assert frame.high[EVIL] == 0.125
    frame = FOLDS.to_frame().set_index("method")
    assert frame.in_sample_score["exact"] == FOLDS.in_sample_score[1]
    assert frame.threshold_3["plugin"] == FOLDS.thresholds[0, 2]
    assert frame.fold_sd["exact"] == FOLDS.spread[1]
    frame = CHOICE.to_frame().set_index("calibrator")
    assert frame.log_loss.to_dict() == CHOICE.log_loss
    (row,) = ERROR.to_frame().to_dict("records")
    assert row.pop("low") == ERROR.interval[0]
    assert row.pop("high") == ERROR.interval[1]
    assert row == {name: getattr(ERROR, name) for name in ("error", "null_error", "p_value")}
    (row,) = PARTS.to_frame().to_dict("records")
    assert row == {name: getattr(PARTS, name) for name in row}
    assert set(row) == {*vars(PARTS), "total", "miscalibration", "discrimination"}
    frame = HULL.to_frame()
    assert frame.low.tolist() == HULL.low.tolist()
    assert frame.probability.tolist() == HULL.probability().tolist()
    frame = COMPARED.to_frame().set_index("")
    assert frame.estimate["gain of the first"] == COMPARED.difference
    assert frame.to.tolist() == [x.interval[1] for x in (COMPARED.first, COMPARED.second, COMPARED)]
    numbered = go.thresholds.Thresholds([0.5], [1, 2]).to_frame()
    assert numbered.label.tolist() == [1, 2]


def test_without_pandas_the_frame_says_what_to_install() -> None:
    code = (
        "import sys\nfrom gbdt_objectives.thresholds import Thresholds\n"
        "cuts = Thresholds([0.5], [0, 1])\n"
        "assert 'pandas' not in sys.modules\nsys.modules['pandas'] = None\n"
        "try:\n    cuts.to_frame()\nexcept ImportError as error:\n    print(error)\n"
        "assert '<table>' in cuts._repr_html_()"
    )
    out = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True)
    assert out.stdout.strip() == "to_frame() needs pandas: pip install pandas"
