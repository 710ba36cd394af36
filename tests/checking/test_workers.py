"""check_objective: what several workers find together is what one machine finds."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import pytest

import gbdt_objectives as go
from gbdt_objectives import check_objective
from gbdt_objectives._checks.domain import REAL
from gbdt_objectives.checking import ObjectiveError
from gbdt_objectives.objectives import Loss
from tests.checking.test_doors import finding


@dataclass(frozen=True, kw_only=True)
class RMSELoss(Loss):
    """n sqrt(S/n), S = sum w (f-y)^2: it couples rows."""

    labels = REAL
    hessian = "upper_bound"

    def totals(self, rows):
        return rows.sum(lambda y, f, xp: (1.0, (f - y) ** 2)).tolist()

    def value(self, rows):
        n, S = self.totals(rows)
        return n * np.sqrt(S / n), n

    def gradient_hessian(self, y, f, totals, xp):
        n, S = totals
        return (f - y) / np.sqrt(S / n), 1 / np.sqrt(S / n)


class OwnValue(RMSELoss):
    """As on one machine: its own rows."""

    def value(self, rows):
        n, S = rows.own_sum(lambda y, f, xp: (1.0, (f - y) ** 2)).tolist()
        return n * np.sqrt(S / n), n


class TwiceSummed(RMSELoss):
    """Everybody's loss, added up again: multiplied by the number of workers."""

    def value(self, rows):
        total, n = super().value(rows)
        (total,) = rows.total([total])
        return float(total), n


class RootsAdded(RMSELoss):
    """Each worker's root: not the root of everybody's."""

    def value(self, rows):
        n, S = rows.own_sum(lambda y, f, xp: (1.0, (f - y) ** 2)).tolist()
        total, n = rows.total([n * np.sqrt(S / n), n]).tolist()
        return total, n


class OwnTotals(RMSELoss):
    def totals(self, rows):
        return rows.own_sum(lambda y, f, xp: (1.0, (f - y) ** 2)).tolist()

    def value(self, rows):
        n, S = RMSELoss.totals(self, rows)
        return n * np.sqrt(S / n), n


@dataclass(frozen=True, kw_only=True)
class OwnMean(RMSELoss):
    """Its gradient pulls to the mean label of the worker's rows."""

    mean: float | None = None

    @property
    def needs_labels(self):
        return self.mean is None

    def measured(self, rows):
        return replace(self, mean=float(rows.y.mean())) if self.mean is None else self

    def gradient_hessian(self, y, f, totals, xp):
        g, h = super().gradient_hessian(y, f, totals, xp)
        return g + (f - self.mean) / 100, h + 0.01


class SumsAsItLikes(RMSELoss):
    """Asks for a sum more if it has few rows, for which the others never wait."""

    def value(self, rows):
        if len(rows) < 30:
            self.totals(rows)
        return super().value(rows)


def test_what_adds_up_everybodys_rows_passes() -> None:
    assert finding(RMSELoss(), "workers").status == "passed"
    assert check_objective(RMSELoss(), margins=(-5, 5)).passed


@pytest.mark.parametrize(
    ("loss", "message"),
    [
        (OwnValue(), "the mean loss of two workers is .* add up with rows.sum"),
        (TwiceSummed(), "the mean loss of two workers is .* counted once"),
        (RootsAdded(), "the mean loss of two workers is .* add up with rows.sum"),
        (OwnTotals(), "the gradient of two workers is not .* add up with rows.sum"),
        (OwnMean(), "the gradient of two workers is not .* measured and totals"),
        (SumsAsItLikes(), "sums that the other does not ask for"),
    ],
    ids=lambda value: type(value).__name__ if isinstance(value, Loss) else "",
)
def test_what_adds_up_its_own_rows_is_found(loss, message) -> None:
    with pytest.raises(ObjectiveError, match=f"workers +FAILED +.*{message}"):
        check_objective(loss)


def coupled(y, f, w=None):
    v = np.ones_like(f) if w is None else w
    scale = v.sum() / (v * (f - y) ** 2).sum()
    return scale * v * (f - y), scale * v


def test_a_coupled_function_gets_a_note() -> None:
    found = finding(go.objective(coupled), "workers", hessian_kind="upper_bound")
    assert found.status == "note"
    assert "several workers refuse to train on it" in found.message
