"""A loss that is added as CONTRIBUTING.md says keeps the contract; a broken one does not."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import pytest

from gbdt_objectives._checks.arrays import BINARY, REAL, Interval, Values
from gbdt_objectives._links import LOGIT
from gbdt_objectives.objectives import Loss, Objective
from tests.adapters.classes import SoftmaxLoss
from tests.cases import each
from tests.contract import ObjectiveCase
from tests.objectives import checks

pytestmark = [pytest.mark.slow, pytest.mark.filterwarnings("ignore:boosting starts at")]


@dataclass(frozen=True, kw_only=True)
class Focal(Loss):
    """-q^gamma log p, with p the probability of the right label, q = 1-p, s = (2y-1) z.

    Its second derivative is below 0 for confident mistakes; (1 + gamma)/2 |gradient| is bounded.
    """

    hessian = "bounded"
    labels = BINARY
    link = LOGIT
    gamma: float = 2.0

    def row_loss(self, y, z, xp):
        s = (2 * y - 1) * z
        return np.exp(-self.gamma * np.logaddexp(0, s)) * np.logaddexp(0, -s)

    def gradient_hessian(self, y, z, totals, xp):
        s, c = (2 * y - 1) * z, self.gamma
        log_p = -np.logaddexp(0, -s)
        p, q = np.exp(log_p), np.exp(-np.logaddexp(0, s))
        gradient = (2 * y - 1) * q**c * (c * p * log_p - q)
        return gradient, (1 + c) / 2 * np.abs(gradient)


@dataclass(frozen=True, kw_only=True)
class LogCosh(Loss):
    """log cosh (f-y), whose second derivative is at most 1."""

    hessian = "upper_bound"
    labels = Interval(low=0)
    shift: float = 0.0

    def row_loss(self, y, f, xp):
        r = np.abs(f - y)
        return r + np.log1p(np.exp(-2 * r))

    def gradient_hessian(self, y, f, totals, xp):
        return np.tanh(f - y), 1.0


@dataclass(frozen=True, kw_only=True)
class LogSquaredError(Loss):
    """n/2 log S, S = sum w (f-y)^2: a loss that couples rows."""

    hessian = "upper_bound"
    labels = REAL
    shift: float = 0.0

    def totals(self, rows):
        return rows.sum(lambda y, f, xp: (1.0, (f - y) ** 2)).tolist()

    def value(self, rows):
        n, S = self.totals(rows)
        return n / 2 * np.log(S), n

    def gradient_hessian(self, y, f, totals, xp):
        n, S = totals
        return n / S * (f - y), n / S


FOCAL = ObjectiveCase("focal", Objective(Focal()), (0, 1), (-30, 30), (-1.0, 0.5, 2.0))
LOG_COSH = ObjectiveCase(
    "log-cosh", Objective(LogCosh()), (0.0, 1.0, 2.0, 3.0), (-40, 40), (-1.0, -0.01)
)
SOFTMAX = ObjectiveCase(
    "softmax", Objective(SoftmaxLoss()), (0.0, 1.0, 2.0), (-20, 20), (-1.0, 0.5, 3.0)
)
COUPLED = ObjectiveCase(
    "log-squared-error", Objective(LogSquaredError()), (0.0, 1.0, 3.0), (-4, 4), ()
)


class AnyLabel(Focal):
    labels = REAL


class LabelsBetween(Focal):
    labels = Interval(0, 1)


class ThreeLabels(Focal):
    labels = Values((0, 1, 2))


class NoWeights(Focal):
    whole = True  # so that it should apply them itself

    def gradient_hessian(self, y, z, totals, xp, sample_weight=None):
        return super().gradient_hessian(y, z, totals, xp)


class OtherGradient(Focal):
    def gradient_hessian(self, y, z, totals, xp):
        p = np.exp(-np.logaddexp(0, -z))
        return p - y, p * (1 - p)


class UnweightedClasses(SoftmaxLoss):
    whole = True

    def gradient_hessian(self, y, f, totals, xp, sample_weight=None):
        return super().gradient_hessian(y, f, totals, xp)


class OtherFactor(LogSquaredError):
    scale_free = True

    def gradient_hessian(self, y, f, totals, xp):
        return tuple(2 * part for part in super().gradient_hessian(y, f, totals, xp))


class HidesNaN(LogSquaredError):
    def writer(self, rows, start, gradient, hessian):
        def write(f):
            kept = np.nan_to_num(f + start)
            n, S = self.totals(replace(rows, f=kept))
            w = 1 if rows.w is None else rows.w
            gradient[:], hessian[:] = w * n / S * (kept - rows.y), w * n / S

        return write


class OtherWriter(LogSquaredError):
    def writer(self, rows, start, gradient, hessian):
        def write(f):
            gradient[:], hessian[:] = f - rows.y, 1

        return write


class NotStable(LogCosh):
    def row_loss(self, y, f, xp):
        return np.log(np.cosh(f - y))


BROKEN = [
    (AnyLabel, FOCAL, checks.check_refuses_bad_input),
    (LabelsBetween, FOCAL, checks.check_refuses_bad_input),
    (ThreeLabels, FOCAL, checks.check_refuses_bad_input),
    (AnyLabel, FOCAL, checks.check_training_refuses_bad_input),
    (NoWeights, FOCAL, checks.check_weight_is_repetition_to_the_last_digits),
    (NoWeights, FOCAL, checks.check_zero_weight_is_absence),
    (OtherGradient, FOCAL, checks.check_what_boosters_assume),
    (UnweightedClasses, SOFTMAX, checks.check_weight_is_repetition_to_the_last_digits),
    (UnweightedClasses, SOFTMAX, checks.check_zero_weight_is_absence),
    (NotStable, LOG_COSH, checks.check_all_labels_of_its_domain_are_finite_in_both_tails),
    (OtherFactor, COUPLED, checks.check_factor_of_the_gradient),
    (HidesNaN, COUPLED, checks.check_bound_to_its_data_it_is_the_same),
    (OtherWriter, COUPLED, checks.check_bound_to_its_data_it_is_the_same),
]
"""A loss that is wrong, the right one, and a check that finds it. Of what ``check_objective`` finds
there is one: tests/checking has all."""


@pytest.mark.parametrize(("broken", "case", "check"), BROKEN)
def test_a_broken_one_fails(broken, case, check) -> None:
    failures = (AssertionError, pytest.fail.Exception, ValueError, RuntimeWarning)
    with pytest.raises(failures):
        check(replace(case, objective=Objective(broken())))


def right_ones() -> list:
    """All of the contract for the loss of several margins; of the others what finds their broken
    ones: two strangers' losses of one margin keep all of it in test_strangers.py."""
    cells = [(check, SOFTMAX) for check in checks.CHECKS]
    cells += dict.fromkeys((check, case) for _, case, check in BROKEN if case is not SOFTMAX)
    return [checks.cell(check, case) for check, case in cells]


@pytest.mark.parametrize(("check", "case"), right_ones())
def test_a_loss_of_a_few_lines_keeps_the_contract(check, case) -> None:
    check(case)


def test_a_domain_is_declared_for_any_label_that_the_row_of_the_table_refuses() -> None:
    with pytest.raises(AssertionError):
        checks.check_refuses_bad_input(replace(FOCAL, refused=()))


@each("wrong", [Focal, np.exp, None])
def test_an_objective_is_made_of_an_instance(wrong) -> None:
    with pytest.raises(TypeError, match="equations must be a Loss, found .*: make an instance of"):
        Objective(wrong)
