"""CalibrationMonitor against products that are written out, and against its promise."""

from __future__ import annotations

import json
import pickle
import warnings
from fractions import Fraction

import numpy as np
import pytest
from scipy.special import expit, logit

from gbdt_objectives.calibration import CalibrationMonitor
from gbdt_objectives.calibration.monitor import BETS, SHIFT, SLOPE, log_ratios
from tests.cases import each, refused


def day(rng, n=200, shift=0.0, low=1, high=19):
    p = rng.beta(low, high, n)
    return (rng.random(n) < expit(logit(p) + shift)).astype(int), p


def chances(p, rate, F, F1, Fs):
    """P(y = 1) and P(y = 0) of a row that was kept and had no label at F1, by what can happen."""
    cases = [  # the chance that a label arrives in this stretch, and whether it does so by F
        (p * max(min(F, Fs) - F1, 0), 1, 1),
        (p * max(F - max(F1, Fs), 0), rate, 1),
        (p * max(Fs - F, 0), 1, 0),
        (p * (1 - max(F, Fs)) + 1 - p, rate, 0),
    ]
    every = sum(chance * kept for chance, kept, _ in cases)
    return [sum(c * kept for c, kept, y in cases if y == own) / every for own in (1, 0)]


@each("F, F1, Fs", [
    ((1, 1), (0, 1), (1, 1)), ((3, 5), (0, 1), (3, 5)), ((3, 5), (0, 1), (1, 1)),
    ((3, 5), (1, 5), (1, 1)), ((3, 5), (1, 5), (1, 10)), ((4, 5), (2, 5), (3, 5)),
])  # fmt: skip
@each("rate", [Fraction(1), Fraction(1, 20)])
def test_bets_are_fair_and_are_ratios_of_what_can_happen(F, F1, Fs, rate) -> None:
    """Exact fractions; over both labels a ratio has the mean 1 under the first probability."""
    F, F1, Fs = (Fraction(*x) for x in (F, F1, Fs))
    p = 0.3
    columns = [np.array([float(x)]) for x in (p, rate, F, F1, Fs)]
    found = np.array([log_ratios(np.array([y]), *columns) for y in (True, False)])
    own = [float(x) for x in chances(Fraction(p), rate, F, F1, Fs)]
    np.testing.assert_allclose(own @ np.exp(found), 1, rtol=1e-12)
    for k in np.flatnonzero(SHIFT):
        other = Fraction(float(expit(logit(p) + SHIFT[k])))
        wanted = np.log(np.array([float(x) for x in chances(other, rate, F, F1, Fs)]) / own)
        np.testing.assert_allclose(found[:, k], wanted, rtol=1e-11)


def test_known_forms_of_the_chance() -> None:
    """The three formulas of the guide, each against the general one."""
    p, F, F1, r = Fraction(1, 10), Fraction(1, 2), Fraction(1, 4), Fraction(1, 20)
    assert chances(p, 1, F, F1, 1)[0] == p * (F - F1) / (1 - p * F1)
    assert chances(p, r, F, 0, F)[0] == p * F / (p * F + (1 - p * F) * r)
    assert chances(p, r, F, 0, 1)[0] == p * F / (p + (1 - p) * r)
    assert chances(p, r, F, F1, F1)[0] == p * (F - F1) / (1 - p * F1)


def test_the_centre_of_rare_events_is_the_mean_weighted_by_p() -> None:
    """log L = sum_i (slope - 1)(z_i - centre) + shift of two events, but for shares of p."""
    p, one = np.array([1e-13, 3e-13]), np.ones(2)
    z = logit(p)
    wanted = 2 * SHIFT + (SLOPE - 1) * (z - (z[0] + 3 * z[1]) / 4).sum()
    found = log_ratios(one == 1, p, one, one, 0 * one, one)
    np.testing.assert_allclose(found, wanted, rtol=1e-10, atol=1e-10)


def test_evidence_is_the_mixture_over_starts_and_bets() -> None:
    rng = np.random.default_rng(0)
    monitor, L = CalibrationMonitor(), []
    for t in range(1, 8):
        y, p = day(rng, shift=0.1 * t)
        ones = np.ones(len(p))
        L.append(np.exp(log_ratios(y == 1, p, ones, ones, 0 * ones, ones)))
        monitor.update(y, p)
        begun = sum(np.prod(L[k:], axis=0) / ((k + 1) * (k + 2)) for k in range(t))
        assert monitor.evidence == pytest.approx(1 / (t + 1) + begun.mean(), rel=1e-12)
    assert monitor.shift == pytest.approx(begun @ SHIFT / begun.sum(), rel=1e-12)
    assert monitor.log_evidence[-1] == pytest.approx(np.log(monitor.evidence), rel=1e-12)


def test_alarms_stay_and_say_what_moved() -> None:
    rng, monitor = np.random.default_rng(1), CalibrationMonitor()
    assert (monitor.evidence, monitor.alarm, monitor.shift, monitor.slope) == (1, False, 0, 1)
    while not monitor.update(*day(rng, 2000, -0.4)).alarm:
        pass
    assert monitor.shift == pytest.approx(-0.4, abs=0.1)  # 100 events a day: 0.1 by chance
    for _ in range(200):
        monitor.update(*day(rng, 500))
    assert monitor.evidence < 20
    assert monitor.alarm
    steep = CalibrationMonitor()
    for _ in range(20):
        p = rng.beta(2, 2, 500)
        steep.update(rng.random(500) < expit(1.5 * logit(p)), p)
    assert steep.alarm
    assert steep.slope == pytest.approx(1.5, abs=0.1)


@each("rate", [None, 0.1])
def test_right_probabilities_rarely_alarm(rate) -> None:
    """Of 150 runs at level .05 more than 16 alarm with probability .002 if each may in .05."""
    alarms = 0
    for run in range(150):
        rng, monitor = np.random.default_rng(run), CalibrationMonitor(0.05, rate)
        for _ in range(15):
            y, p = day(rng, 100 if rate is None else 400)
            kept = (y == 1) | (rng.random(len(y)) < (rate or 1))
            monitor.update(y[kept], p[kept])
        alarms += monitor.alarm
    assert alarms <= 16


def test_without_the_rate_a_right_model_alarms() -> None:
    rng, monitor = np.random.default_rng(0), CalibrationMonitor()
    y, p = day(rng, 4000)
    kept = (y == 1) | (rng.random(len(y)) < 0.1)
    assert monitor.update(y[kept], p[kept]).alarm
    by_row = CalibrationMonitor().update(y[kept], p[kept], keep_rate=np.full(kept.sum(), 0.1))
    one = CalibrationMonitor(0.05, 0.1).update(y[kept], p[kept])
    assert not one.alarm
    assert one.evidence == pytest.approx(by_row.evidence, rel=1e-12)


def test_a_shift_is_found_after_quiet_months() -> None:
    """A bet from the first day on has lost e^-60 by then, and would not be found."""
    rng, monitor = np.random.default_rng(2), CalibrationMonitor()
    for _ in range(200):
        monitor.update(*day(rng, 500))
    days = 0
    while not monitor.alarm:
        monitor.update(*day(rng, 2000, 0.5))
        days += 1
    assert days <= 4


def test_json_goes_on_as_if_nothing_had_been() -> None:
    rng = np.random.default_rng(3)
    monitor = CalibrationMonitor(0.01, 0.2)
    again = CalibrationMonitor.from_json(monitor.to_json())
    for _ in range(3):
        y, p = day(rng)
        F = rng.uniform(0.2, 1, len(p))
        late = {"arrived": F, "arrived_before": F / 2, "arrived_at_sampling": F}
        monitor.update(y, p, **late)
        again = CalibrationMonitor.from_json(again.update(y, p, **late).to_json())
        assert again.to_json() == monitor.to_json() == pickle.loads(pickle.dumps(again)).to_json()
    text = json.loads(monitor.to_json())
    text["log_bets"][0] += 1.0
    with pytest.raises(ValueError, match="sha256"):
        CalibrationMonitor.from_json(json.dumps(text))
    wrong = [("log_bets", [0.0]), ("log_evidence", ["nan"]), ("log_evidence", 1.0), ("level", 2.0),
             ("negative_keep_rate", 0.0), ("seen_events", [None])]  # fmt: skip
    for key, value in wrong:
        with pytest.raises(ValueError, match=key):
            CalibrationMonitor.from_json(json.dumps(text | {key: value, "sha256": None}))


def test_certain_probabilities_that_are_wrong_are_told_and_stay() -> None:
    monitor, p = CalibrationMonitor(), np.array([0.0, 0.2, 1.0])
    assert monitor.update([0, 1, 1], p).evidence < 20
    with pytest.warns(UserWarning, match="probability is 0 at row 0, where y_true is 1"):
        monitor.update([1, 0, 1], p)
    assert monitor.alarm
    assert monitor.evidence == np.inf
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert monitor.update([0, 0, 1], p).evidence == np.inf
    assert CalibrationMonitor.from_json(monitor.to_json()).evidence == np.inf
    with pytest.warns(UserWarning, match="probability is 1 at row 2, where y_true is 0"):
        CalibrationMonitor().update([0, 0, 0], p)


def test_rows_that_could_not_have_a_label_say_nothing() -> None:
    p = np.array([0.1, 0.0, 1.0, 0.4])
    monitor = CalibrationMonitor().update([0, 0, 0, 0], p, arrived=0.0)
    assert monitor.evidence == pytest.approx(1)
    monitor.update([0, 0, 0, 0], p, arrived=0.5, arrived_before=[0.5, 0, 0, 0.5])
    assert monitor.evidence == pytest.approx(1), "0 and 1 are as before, whatever is bet"


@each("p", [5e-324, 1e-300, 1e-16, 1 - 2.0**-53, 0.5])
@each("y", [0, 1])
@each("how", [{}, {"arrived": 0.3, "arrived_before": 0.1}])
def test_tails_are_finite(p, y, how) -> None:
    monitor = CalibrationMonitor()
    for _ in range(3):
        monitor.update([y], [p], **how)
    assert np.isfinite(monitor.log_bets).all()
    assert np.isfinite(monitor.log_evidence).all()


def test_much_evidence_is_infinite_only_as_a_number() -> None:
    y, p = np.ones(5000, int), np.full(5000, 0.01)
    monitor = CalibrationMonitor().update(y, p)
    assert monitor.evidence == np.inf
    assert np.isfinite(monitor.log_evidence).all()


LATE = {"arrived": np.full(4, 0.5)}


@each("given, says", [
    ({"y_true": [0, 1, 2, 0]}, "y_true"), ({"probability": [0.1, 0.2, 0.3, 1.1]}, "probability"),
    ({"probability": [0.1, np.nan, 0.3, 0.2]}, "probability"), ({"y_true": [0, 1]}, "labels"),
    ({"arrived": np.full(3, 0.5)}, "arrived"), ({"arrived": [True] * 4}, "True and False"),
    ({"arrived": np.array([0.5, 0.5, 2, 0.5])}, "arrived"), ({"arrived": len}, "call it"),
    ({"arrived": np.array([0.0, 0.5, 0.5, 0.5])}, "arrived must be above 0 where y_true is 1"),
    ({"arrived_before": 0.1}, "without arrived"),
    ({**LATE, "arrived_before": 0.6}, "must not be below arrived_before"),
    ({**LATE, "arrived_before": 0.5}, "above it where y_true is 1.*whose label had arrived by"),
    ({"keep_rate": [0.5, 0.5, 0.5, 0.0]}, "keep_rate"), ({"keep_rate": 0.5}, "keep_rate"),
    ({"sample_weight": np.ones(4)}, "sample_weight"),
])  # fmt: skip
def test_bad_input_is_refused_and_changes_nothing(given, says) -> None:
    monitor = CalibrationMonitor()
    before = monitor.to_json()
    columns = {"y_true": [1, 0, 1, 0], "probability": [0.1, 0.2, 0.3, 0.4], **given}
    with pytest.raises((ValueError, TypeError), match=says):
        monitor.update(**columns)
    assert monitor.to_json() == before


@refused(
    ({"level": 0.0}, "level must be in"), ({"level": 1.0}, "level must be in"),
    ({"level": "0.05"}, "level must be a number", TypeError),
    ({"negative_keep_rate": 0.0}, "negative_keep_rate must be in"),
    ({"negative_keep_rate": 1.5}, "negative_keep_rate must be in"),
    ({"negative_keep_rate": [0.1]}, "negative_keep_rate must be a number", TypeError),
)  # fmt: skip
def test_bad_parameters_are_refused(how) -> None:
    CalibrationMonitor(**how)


def test_when_negatives_were_dropped_must_be_said() -> None:
    y, p = day(np.random.default_rng(0))
    with pytest.raises(ValueError, match="arrived_at_sampling is missing"):
        CalibrationMonitor(0.05, 0.1).update(y, p, arrived=0.5)
    CalibrationMonitor(0.05, 0.1).update(y, p, arrived=1.0)
    with pytest.raises(ValueError, match="arrived_at_sampling is missing"):
        CalibrationMonitor(0.05, 0.1).update(y, p, arrived=1.0, arrived_before=0.5)


def test_rates_that_follow_the_label_are_refused() -> None:
    y, p = day(np.random.default_rng(0), 2000)
    with pytest.raises(ValueError, match="keep_rate is 1 in every row with label 1"):
        CalibrationMonitor().update(y, p, keep_rate=np.where(y == 1, 1.0, 0.1))
    CalibrationMonitor().update(y, p, keep_rate=np.where((y == 1) | (p > 0.2), 1.0, 0.1))
    CalibrationMonitor().update([1, 1], [0.1, 0.2], keep_rate=[1.0, 1.0])


def test_rows_of_the_last_look_are_refused() -> None:
    rng = np.random.default_rng(0)
    y, p = day(rng, 500)
    for again in (slice(None), rng.permutation(500), np.r_[np.arange(500), np.arange(50)]):
        monitor = CalibrationMonitor().update(y, p)
        with pytest.raises(ValueError, match="rows are those of the last look"):
            monitor.update(y[again], p[again])
        monitor.update(*day(rng, 500))
    waiting = CalibrationMonitor().update(0 * y, p, arrived=0.3)
    with pytest.raises(ValueError, match="arrived_before="):
        waiting.update(0 * y[10:], p[10:], arrived=0.4)
    waiting.update(0 * y, p, arrived=0.4, arrived_before=0.3)


def test_other_rows_of_the_same_probabilities_are_let_be() -> None:
    """Simulations keep p, and models of few leaves have few of them."""
    rng = np.random.default_rng(0)
    p, few = rng.uniform(size=500), rng.choice([0.02, 0.1, 0.3], 500)
    for own in (p, few, p / 20):
        for low, high in ((1, 1), (0.3, 0.3), (0.3, 0.6)):
            monitor = CalibrationMonitor()
            for _ in range(20):
                F = rng.uniform(low, high, 500)
                monitor.update((rng.random(500) < own * F).astype(int), own, arrived=F)


def test_the_number_of_bets_is_that_of_saved_monitors() -> None:
    assert BETS == 20
