"""check_objective: what several workers find together is what one machine finds."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import pytest

import gbdt_objectives as go
from gbdt_objectives import check_objective
from gbdt_objectives.checking import ObjectiveError
from tests.cases import each
from tests.checking.test_doors import finding
from tests.strangers.rmse import RMSELoss


def squares(y, f, xp):
    return 1.0, (f - y) ** 2


class OwnValue(RMSELoss):
    """As on one machine: its own rows."""

    def value(self, rows):
        n, S = rows.own_sum(squares).tolist()
        return n * np.sqrt(S / n), n


class TwiceSummed(RMSELoss):
    """Everybody's loss, added up again: multiplied by the number of workers."""

    def value(self, rows):
        total, n = super().value(rows)
        (total,) = rows.total([total])
        return float(total), n


class RootsAdded(OwnValue):
    """Each worker's root: not the root of everybody's."""

    def value(self, rows):
        total, n = rows.total(super().value(rows)).tolist()
        return total, n


class OwnTotals(RMSELoss):
    def totals(self, rows):
        n, S = rows.own_sum(squares).tolist()
        return n, np.sqrt(S / n)

    def value(self, rows):
        n, R = RMSELoss.totals(self, rows)
        return n * R, n


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
    assert check_objective(RMSELoss(), margins=(-5, 5)).passed


@pytest.mark.slow
@each(
    ("loss", "message"),
    [
        (OwnValue(), "the mean loss of two workers is .* add up with rows.sum"),
        (TwiceSummed(), "the mean loss of two workers is .* counted once"),
        (RootsAdded(), "the mean loss of two workers is .* add up with rows.sum"),
        (OwnTotals(), "the gradient of two workers is not .* add up with rows.sum"),
        (OwnMean(), "the gradient of two workers is not .* measured and totals"),
        (SumsAsItLikes(), "sums that the other does not ask for"),
    ],
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
