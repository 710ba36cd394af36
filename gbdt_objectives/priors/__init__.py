"""Priors: sampling by label, and the shift in log-odds that undoes it.

Conventions
-----------
n rows, K classes. Probabilities and margins have shape (n,), for label 1, or (n, K), one column per
class; a single number is one row. Margins are log-odds, or for (n, K) log-probabilities up to a
constant per row. A shift is what is added to the margin of the model as it was trained: a float for
(n,), (K,) for (n, K). A float for (n, 2) means (0, shift), and the shifts (d_0, d_1) of two classes
mean d_1 - d_0 for (n,). The negative of a shift is its inverse, and two shifts in succession add
up. All of this holds only if rows were sampled by their label and by nothing else. Rates that
differ by row have no shift: train with them (``offset_logloss_objective``).

Symbols: p_s is the model's probability, p the corrected one, d the shift, alpha and beta the rates
at which positives and negatives were kept (or replicated, above 1), tau and s the probability of
label 1 where the model is used and where it was trained.
"""

from gbdt_objectives._public import attributes
from gbdt_objectives.priors.estimate import (
    PriorEstimate,
    PriorShiftTest,
    estimate_prior,
    prior_shift_test,
)
from gbdt_objectives.priors.sampling import (
    measured_keep_rates,
    negative_downsample,
    negative_downsample_by_key,
    pilot_keep_rates,
    prior_weights,
    resample_classes,
)
from gbdt_objectives.priors.shift import (
    LogOddsShift,
    correct_margin,
    correct_probability,
    correct_threshold,
    log_odds_shift,
)

__all__ = [
    "LogOddsShift", "PriorEstimate", "PriorShiftTest", "correct_margin", "correct_probability",
    "correct_threshold", "estimate_prior", "log_odds_shift", "measured_keep_rates",
    "negative_downsample", "negative_downsample_by_key", "pilot_keep_rates", "prior_shift_test",
    "prior_weights", "resample_classes",
]  # fmt: skip

__getattr__, __dir__ = attributes(__name__, __all__)
