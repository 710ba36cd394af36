"""choose_calibrator: its losses by hand, and what it chooses."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.special import expit, logit
from sklearn.metrics import log_loss
from sklearn.model_selection import StratifiedKFold

from gbdt_objectives.calibration import SplineCalibrator, VennAbersCalibrator, choose_calibrator
from gbdt_objectives.calibration.calibrator_choice import clearly_less
from tests.cases import refusals_of


def rows(n, distort, seed=0):
    rng = np.random.default_rng(seed)
    z = rng.normal(-1, 1.5, n)
    return expit(z), (rng.random(n) < expit(distort(z))).astype(int)


@pytest.mark.parametrize("weighted", [False, True])
def test_losses_are_cross_validated(weighted) -> None:
    p, y = rows(500, lambda z: z)
    w = np.random.default_rng(1).integers(1, 4, 500) if weighted else None
    choice = choose_calibrator(y, p, w, random_state=7)
    held_out = np.empty(500)
    for train, test in StratifiedKFold(5, shuffle=True, random_state=7).split(p, y):
        fitted = VennAbersCalibrator().fit(p[train], y[train], None if w is None else w[train])
        held_out[test] = fitted.predict(p[test])
    expected = log_loss(y, held_out, sample_weight=w)
    assert choice.log_loss["VennAbersCalibrator"] == pytest.approx(expected, rel=1e-12)
    assert type(choice.calibrator).__name__ in choice.log_loss
    assert not hasattr(choice.calibrator, "n_features_in_")
    again = choose_calibrator(y, p[:, None], w, random_state=np.random.RandomState(7))
    assert again.log_loss == pytest.approx(choice.log_loss)
    choose_calibrator(y, p, w, random_state=np.random.default_rng(7))


def test_progress_is_shown_on_request_and_changes_nothing(capsys) -> None:
    p, y = rows(500, lambda z: z)
    alone = choose_calibrator(y, p)
    assert capsys.readouterr().err == ""
    assert choose_calibrator(y, p, verbose=True).log_loss == pytest.approx(alone.log_loss)
    assert "5/5" in capsys.readouterr().err


@pytest.mark.slow
def test_the_spline_unless_another_is_clearly_better() -> None:
    p, y = rows(5000, lambda z: 0.5 * z + 1)
    chosen = choose_calibrator(y, p).calibrator
    assert isinstance(chosen, SplineCalibrator)
    assert chosen.shrink
    p, y = rows(5000, lambda z: np.where(np.sin(12 * z) > 0, 2.0, -2.0) + 3 * np.floor(z))
    choice = choose_calibrator(y, p)
    assert not isinstance(choice.calibrator, SplineCalibrator)  # a staircase
    name = min(choice.log_loss, key=choice.log_loss.get)
    assert name == type(choice.calibrator).__name__


def test_three_standard_errors() -> None:
    rng = np.random.default_rng(0)
    other, gap = rng.random(1000), rng.normal(size=1000)
    error = gap.std() / np.sqrt(1000)
    for distance, expected in ((2.9, False), (3.1, True)):
        loss = other + gap - gap.mean() - distance * error
        assert clearly_less(loss, other, np.ones(1000), None) == expected
        assert clearly_less(loss, other, np.full(1000, 2.0), None) == expected  # no more rows
        own = np.arange(1000)
        assert clearly_less(loss, other, np.ones(1000), own) == expected
        copies = [np.repeat(values, 9) for values in (loss, other, np.ones(1000))]
        assert clearly_less(*copies, None)  # as if nine times as many
        assert clearly_less(*copies, np.repeat(own, 9)) == expected
    assert not clearly_less(np.full(2, np.inf), np.full(2, np.inf), np.ones(2), None)
    assert clearly_less(np.ones(2), np.full(2, np.inf), np.ones(2), None)


def test_certain_and_wrong_leaves_what_knows_the_order_only() -> None:
    p, y = rows(500, lambda z: z)
    p[:20], y[:20] = 1, [0, 1] * 10
    choice = choose_calibrator(y, p)
    assert [name for name, loss in choice.log_loss.items() if np.isfinite(loss)] == [
        "VennAbersCalibrator",
        "ROCConvexHullCalibrator",
    ]
    assert not isinstance(choice.calibrator, SplineCalibrator)


test_bad_input = refusals_of(
    lambda p, y, w: choose_calibrator(y, p, w),
    ([0.1, 0.2, 0.3], [0, 0, 1], None, "single row of one label.*name a calib"),
    ([0.1, 0.2, 0.3, 0.4], [0, 0, 1, 1], [1, 1, 1, 0], "single row of one label"),
    ([0.1, 0.2], [1, 1], None, "single class 1"),
    ([-2.0, 3.0, 0.1, 0.2], [0, 1, 1, 0], None, "score must be in .0, 1."),
    ([0.1, 0.2], None, None, "y_true must hold real numbers", TypeError),
    ([0, 1], [0.1, 0.2], None, "are they swapped. y_true comes before score"),
    ([0.1, 0.2, 0.3, 0.4], [0, 0, 1, 1], None, "cv = 5 folds need at least 5 rows"),
    (["a", "b"], [0, 1], None, "real numbers", TypeError),
)


def test_rare_labels_and_bad_parameters() -> None:
    p, y = rows(300, lambda z: z - 4)
    assert 2 <= y.sum() < 10
    choice = choose_calibrator(y, p)
    assert min(choice.log_loss.values()) < 0.2
    with pytest.raises(ValueError, match="cv must be at least 2"):
        choose_calibrator(y, p, cv=1)
    with pytest.raises(TypeError, match="random_state"):
        choose_calibrator(y, p, random_state="0")
    assert logit(choice.calibrator.fit(p, y).predict([0.1]))[0] < -1
