"""A loss that is added as CONTRIBUTING.md says keeps the contract; a broken one does not."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import pytest

from gbdt_objectives._blocks import dot
from gbdt_objectives._workers import all_sum
from gbdt_objectives.objectives.base import Objective
from gbdt_objectives.objectives.domain import BINARY, REAL, Interval, Values
from tests.adapters.classes import Softmax
from tests.contract import ObjectiveCase
from tests.objectives import checks

pytestmark = pytest.mark.filterwarnings("ignore:boosting starts at")


@dataclass(frozen=True, kw_only=True)
class Focal(Objective):
    """-q^gamma log p, with p the probability of the right label, q = 1-p, s = (2y-1) z.

    Its second derivative is below 0 for confident mistakes; (1 + gamma)/2 |gradient| is bounded.
    """

    hessian_kind = "bounded"
    label_domain = BINARY
    link = "logit"
    gamma: float = 2.0

    def _row_loss(self, y, z):
        s = (2 * y - 1) * z
        return np.exp(-self.gamma * np.logaddexp(0, s)) * np.logaddexp(0, -s)

    def _row_gradient_hessian(self, y, z):
        s, c = (2 * y - 1) * z, self.gamma
        log_p = -np.logaddexp(0, -s)
        p, q = np.exp(log_p), np.exp(-np.logaddexp(0, s))
        gradient = (2 * y - 1) * q**c * (c * p * log_p - q)
        return gradient, (1 + c) / 2 * np.abs(gradient)


@dataclass(frozen=True, kw_only=True)
class LogCosh(Objective):
    """log cosh (f-y), whose second derivative is at most 1."""

    hessian_kind = "upper_bound"
    label_domain = Interval(low=0)
    shift: float = 0.0

    def _row_loss(self, y, f):
        r = np.abs(f - y)
        return r + np.log1p(np.exp(-2 * r))

    def _row_gradient_hessian(self, y, f):
        return np.tanh(f - y), 1.0


@dataclass(frozen=True, kw_only=True)
class LogSquaredError(Objective):
    """n/2 log S, S = sum w (f-y)^2: a loss that couples rows."""

    hessian_kind = "upper_bound"
    label_domain = REAL
    couples_rows = True
    shift: float = 0.0

    def _loss(self, y, f, w):
        n, S = self._totals(self._sum_blocks(y, f, w))
        return n / 2 * np.log(S)

    def _sums(self, constants, f, kept):
        y, w = constants
        r = np.subtract(f, y, out=kept)
        return (len(r), dot(r, r)) if w is None else (float(w.sum()), dot(r, w * r))

    def _totals(self, sums):
        return all_sum(sums, last=True)

    def _write(self, constants, f, totals, gradient, hessian):
        _, w = constants
        n, S = totals
        v = n / S if w is None else n / S * w
        np.multiply(f, v, out=gradient, casting="same_kind")
        hessian[:] = v


FOCAL = ObjectiveCase("focal", Focal(), (0, 1), (-30, 30), (-1.0, 0.5, 2.0))
LOG_COSH = ObjectiveCase("log-cosh", LogCosh(), (0.0, 1.0, 2.0, 3.0), (-40, 40), (-1.0, -0.01))

SOFTMAX = ObjectiveCase("softmax", Softmax(), (0.0, 1.0, 2.0), (-20, 20), (-1.0, 0.5, 3.0))
COUPLED = ObjectiveCase("log-squared-error", LogSquaredError(), (0.0, 1.0, 3.0), (-4, 4), ())


@pytest.mark.parametrize("case", [FOCAL, LOG_COSH, SOFTMAX, COUPLED], ids=repr)
@pytest.mark.parametrize("check", checks.CHECKS, ids=lambda check: check.__name__)
def test_a_loss_of_a_few_lines_keeps_the_contract(check, case) -> None:
    check(case)


class AnyLabel(Focal):
    label_domain = REAL


class LabelsBetween(Focal):
    label_domain = Interval(0, 1)


class ThreeLabels(Focal):
    label_domain = Values((0, 1, 2))


class NoWeights(Focal):
    def _write(self, constants, f, totals, gradient, hessian) -> None:
        y, _ = constants
        super()._write((y, None), f, totals, gradient, hessian)


class OtherGradient(Focal):
    def _row_gradient_hessian(self, y, z):
        p = np.exp(-np.logaddexp(0, -z))
        return p - y, p * (1 - p)


class OtherHessian(Focal):
    def _row_gradient_hessian(self, y, z):
        p = np.exp(-np.logaddexp(0, -z))
        return super()._row_gradient_hessian(y, z)[0], p * (1 - p)


class UnweightedClasses(Softmax):
    def _write(self, constants, f, totals, gradient, hessian) -> None:
        super()._write((constants[0], None), f, totals, gradient, hessian)


class MixedClasses(Softmax):
    def _row_gradient_hessian(self, y, f):
        gradient, hessian = super()._row_gradient_hessian(y, f)
        return gradient.ravel(order="F").reshape(f.shape), hessian


class ReadsMarginsInMemoryOrder(Softmax):
    def _bind(self, y, w, start, dtype, lasting):
        bound = super()._bind(y, w, start, dtype, lasting)
        return lambda f: bound(f.ravel(order="K").reshape(f.shape))


class TooLongSteps(Softmax):
    hessian_kind = "bounded"

    def _row_gradient_hessian(self, y, f):
        gradient, _ = super()._row_gradient_hessian(y, f)
        return gradient, 0.4 * np.abs(gradient)


class TooSmallBound(LogCosh):
    def _row_gradient_hessian(self, y, f):
        return np.tanh(f - y), 0.5


class UnweightedSums(LogSquaredError):
    def _sums(self, constants, f, kept):
        return super()._sums((constants[0], None), f, kept)


class HidesNaN(LogSquaredError):
    sums_reveal_nan = True

    def _sums(self, constants, f, kept):
        n, _ = super()._sums(constants, f, kept)
        return n, float(np.nansum(kept**2))


class NotExact(LogCosh):
    hessian_kind = "exact"


class NotConstant(Focal):
    hessian_kind = "constant"


class NotDeclared(Focal):
    hessian_kind = "undeclared"


class NotStable(LogCosh):
    def _row_loss(self, y, f):
        return np.log(np.cosh(f - y))


class Unchecked(Focal):
    def _check_labels(self, y, rows):
        return y[rows]


class WritesToMargin(LogCosh):
    def _row_gradient_hessian(self, y, f):
        f -= y
        return np.tanh(f), 1.0


@pytest.mark.parametrize(
    ("broken", "case", "check"),
    [
        (AnyLabel, FOCAL, checks.check_refuses_bad_input),
        (LabelsBetween, FOCAL, checks.check_refuses_bad_input),
        (ThreeLabels, FOCAL, checks.check_refuses_bad_input),
        (Unchecked, FOCAL, checks.check_refuses_bad_input),
        (Unchecked, FOCAL, checks.check_training_refuses_bad_input),
        (AnyLabel, FOCAL, checks.check_training_refuses_bad_input),
        (NoWeights, FOCAL, checks.check_what_boosters_assume),
        (NoWeights, FOCAL, checks.check_weight_is_repetition_to_the_last_digits),
        (NoWeights, FOCAL, checks.check_zero_weight_is_absence),
        (OtherGradient, FOCAL, checks.check_what_boosters_assume),
        (OtherHessian, FOCAL, checks.check_what_boosters_assume),
        (UnweightedClasses, SOFTMAX, checks.check_what_boosters_assume),
        (UnweightedClasses, SOFTMAX, checks.check_weight_is_repetition_to_the_last_digits),
        (UnweightedClasses, SOFTMAX, checks.check_zero_weight_is_absence),
        (MixedClasses, SOFTMAX, checks.check_what_boosters_assume),
        (MixedClasses, SOFTMAX, checks.check_factor_of_the_gradient),
        (ReadsMarginsInMemoryOrder, SOFTMAX, checks.check_what_boosters_assume),
        (TooLongSteps, SOFTMAX, checks.check_what_boosters_assume),
        (TooSmallBound, LOG_COSH, checks.check_what_boosters_assume),
        (NotExact, LOG_COSH, checks.check_what_boosters_assume),
        (NotConstant, FOCAL, checks.check_what_boosters_assume),
        (NotDeclared, FOCAL, checks.check_what_boosters_assume),
        (NotStable, LOG_COSH, checks.check_all_labels_of_its_domain_are_finite_in_both_tails),
        (UnweightedSums, COUPLED, checks.check_what_boosters_assume),
        (UnweightedSums, COUPLED, checks.check_factor_of_the_gradient),
        (HidesNaN, COUPLED, checks.check_bound_to_its_data_it_is_the_same),
        (WritesToMargin, LOG_COSH, checks.check_what_boosters_assume),
    ],
)
def test_a_broken_one_fails(broken, case, check) -> None:
    failures = (AssertionError, pytest.fail.Exception, ValueError, RuntimeWarning)
    with pytest.raises(failures):
        check(replace(case, objective=broken()))


def test_a_domain_is_declared_for_any_label_that_the_row_of_the_table_refuses() -> None:
    with pytest.raises(AssertionError):
        checks.check_refuses_bad_input(replace(FOCAL, refused=()))


def test_nothing_is_trained_without_a_declaration() -> None:
    with pytest.raises(TypeError, match="NoDomain must declare hessian_kind and label_domain"):

        class NoDomain(Objective):
            hessian_kind = "exact"

    with pytest.raises(TypeError, match="NoKind must declare hessian_kind and label_domain"):

        class NoKind(Objective):
            label_domain = BINARY


@pytest.mark.parametrize("bad", [float("nan"), float("inf")])
def test_a_loss_without_checks_never_sees_what_is_not_finite(bad: float) -> None:
    for call in (Focal(), Focal().gradient_hessian, Focal().loss):
        with pytest.raises(ValueError, match=r"y_true must be 0 \(negative\) or 1 \(positive\)"):
            call([0, bad], [0, 0])
        with pytest.raises(ValueError, match="margin must be finite"):
            call([0, 1], [0, bad])


@pytest.mark.parametrize(
    ("domain", "good", "bad", "message"),
    [
        (REAL, [-1e200, 0.5], np.inf, "y_true must be finite, found inf at row 1"),
        (Interval(0, 3), [0, 3], 3.5, "y_true must be >= 0 and <= 3, found 3.5 at row 1"),
        (Interval(high=0), [-1e200, 0], 1, "y_true must be <= 0, found 1.0 at row 1"),
        (Interval(low=0), [0, 5], np.inf, "y_true must be finite, found inf at row 1"),
        (Values((1, 2, 4)), [1, 4], 3, r"one of \(1, 2, 4\), found 3.0 at row 1"),
        (Values((1, 2, 4)), [1, 4], np.nan, r"one of \(1, 2, 4\), found nan at row 1"),
        (BINARY, [0, 1], 2, r"0 \(negative\) or 1 \(positive\), found 2.0 at row 1"),
    ],
)
def test_domains(domain, good, bad, message) -> None:
    domain.check("y_true", np.array(good, float))
    wrong = np.array([good[0], bad], float)
    assert not domain.contains(wrong)
    assert domain.contains(np.array(good, float)) or max(np.abs(good)) > 1e150
    with pytest.raises(ValueError, match=message):
        domain.check("y_true", wrong)


@dataclass(frozen=True, kw_only=True)
class Cubic(Objective):
    """f^3/6 - y f, whose hessian is the margin itself."""

    hessian_kind = "exact"
    label_domain = REAL
    margin_domain = Interval(0.0)

    def _row_loss(self, y, f):
        return f**3 / 6 - y * f

    def _row_gradient_hessian(self, y, f):
        return f**2 / 2 - y, f


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_the_margin_may_be_returned_as_the_hessian(dtype) -> None:
    """Its memory is the gradient's, which was written first."""
    margin = np.array([1, 2, 3], dtype)
    _, hessian = Cubic()(np.ones(3), margin)
    np.testing.assert_array_equal(hessian, [1, 2, 3])
    _, hessian = Cubic().bind(np.ones(3), start=1.0)(margin - 1)
    np.testing.assert_array_equal(hessian, [1, 2, 3])


@pytest.mark.parametrize(
    ("returned", "message"),
    [
        (lambda y, f: ((f - y) * np.nan, f), "the gradient of Bad must be finite, found nan"),
        (lambda y, f: (f - y, f * np.inf), "the hessian of Bad must be finite, found inf"),
        (lambda y, f: ((f - y).sum(), f), r"gradient per row .* found shapes \(\) and \(3,\)"),
        (lambda y, f: (f - y, f[:2]), r"found shapes \(3,\) and \(2,\) for 3 rows"),
    ],
)
def test_what_a_loss_returns_is_checked(returned, message) -> None:
    class Bad(Cubic):
        def _row_gradient_hessian(self, y, f):
            return returned(y, f)

    with pytest.raises(ValueError, match=message):
        Bad()(np.zeros(3), np.array([1.0, 2.0, 3.0]))
