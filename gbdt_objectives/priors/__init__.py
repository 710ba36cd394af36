"""Priors: sampling by label, and the shift in log-odds that undoes it."""

from gbdt_objectives.priors.log_odds import LogOddsShift, LogOddsShifts
from gbdt_objectives.priors.sampling import measured_keep_rates, negative_downsample, resample
from gbdt_objectives.priors.shift import (
    correct_margin,
    correct_probability,
    correct_threshold,
    log_odds_shift,
)
from gbdt_objectives.priors.unknown import (
    PriorEstimate,
    PriorShiftTest,
    estimate_prior,
    prior_shift_test,
)
from gbdt_objectives.priors.weights import prior_weights

__all__ = [
    "LogOddsShift",
    "LogOddsShifts",
    "PriorEstimate",
    "PriorShiftTest",
    "correct_margin",
    "correct_probability",
    "correct_threshold",
    "estimate_prior",
    "log_odds_shift",
    "measured_keep_rates",
    "negative_downsample",
    "prior_shift_test",
    "prior_weights",
    "resample",
]
