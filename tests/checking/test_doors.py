"""check_objective: what a margin is declared to be is what models predict, at every door."""

from __future__ import annotations

import re
import subprocess
import sys
from dataclasses import dataclass, replace

import numpy as np
import pytest
from scipy.special import expit

import gbdt_objectives as go
from gbdt_objectives import check_objective
from gbdt_objectives._checks.arrays import BINARY, REAL
from gbdt_objectives._links import IDENTITY, LOG, LOGIT, Link
from gbdt_objectives.checking import ObjectiveError
from gbdt_objectives.checking.checks import CHECKS
from gbdt_objectives.checking.probe import make_probe, tried
from gbdt_objectives.objectives import Loss
from tests.adapters.classes import SoftmaxLoss
from tests.cases import each
from tests.strangers import poisson


@dataclass(frozen=True, kw_only=True)
class PoissonLoss(poisson.PoissonLoss):
    link: Link = LOG


@dataclass(frozen=True, kw_only=True)
class LogisticLoss(Loss):
    labels = BINARY
    hessian = "exact"
    link: Link = LOGIT

    def row_loss(self, y, f, xp):
        return np.logaddexp(0, (1 - 2 * y) * f)

    def gradient_hessian(self, y, f, totals, xp):
        p = expit(f)
        return p - y, p * (1 - p)


@dataclass(frozen=True, kw_only=True)
class SquaredLoss(Loss):
    labels = REAL
    hessian = "constant"
    link: Link = IDENTITY

    def row_loss(self, y, f, xp):
        return (f - y) ** 2 / 2

    def gradient_hessian(self, y, f, totals, xp):
        return f - y, 1.0


class ClassLoss(SoftmaxLoss):
    link = IDENTITY


def read_logits(f):
    return np.column_stack([expit(-f), expit(f)])


def read_doubled_logits(f):
    return read_logits(2 * f)


def doubled(f):
    return 2 * f


def counts(y, f, w=None):
    v = np.ones_like(f) if w is None else w
    return v * (np.exp(f) - y), v * np.exp(f)


def finding(obj, check, **options):
    try:
        report = check_objective(obj, **options)
    except ObjectiveError as error:
        report = error.report
    return next(found for found in report.findings if found.check == check)


MARGINS = {"margins": (-6, 6)}


@pytest.mark.slow
@each(
    "loss",
    [
        PoissonLoss(),
        LogisticLoss(),
        LogisticLoss(link=Link.score(read_logits, 2)),
        SquaredLoss(),
        SoftmaxLoss(),
    ],
)
def test_a_right_link_passes(loss) -> None:
    report = check_objective(loss, **MARGINS)
    found = {f.check: f.status for f in report.findings}
    assert found["link"] == found["predictions"] == "passed"
    assert report.name.startswith(f"{type(loss).__name__.removesuffix('Loss')}Objective(")


@each(
    ("obj", "remedy"),
    [
        (PoissonLoss(link=IDENTITY), "link='log' in objective.*link = LOG in a Loss"),
        (go.objective(counts, link="identity"), "predict as .*identity.*link='log' in objective"),
        (LogisticLoss(link=IDENTITY), "link = LOGIT in a Loss"),
        (LogisticLoss(link=Link.score(read_doubled_logits, 2)), "link = LOGIT in a Loss"),
        (SquaredLoss(link=LOG), "link = IDENTITY in a Loss"),
        (ClassLoss(), r"link = Link.softmax\(K\) in a Loss"),
        (PoissonLoss(link=Link.score(doubled, None)), r"link = Link.score\(reader, n_classes\)"),
    ],
)
def test_a_wrong_link_is_named(obj, remedy) -> None:
    assert re.search(remedy, failure(obj, "link"))


def failure(obj, check) -> str:
    probe = make_probe(obj, None, None, None, None, (-6, 6), None, None)
    found = tried(check, CHECKS[check], probe)
    assert found.status == "FAILED"
    return found.message


def test_a_function_without_link_is_told_which_fits() -> None:
    found = finding(go.objective(counts), "link", **MARGINS)
    assert found.status == "note"
    assert "declare link='log' in objective()" in found.message
    assert check_objective(go.objective(counts, link="log"), **MARGINS).passed


def test_a_loss_that_corrects_on_purpose_gets_a_note() -> None:
    found = finding(go.offset_logloss_objective(0.1), "link")
    assert (found.status, "corrects for sampling" in found.message) == ("note", True)


def test_a_transform_that_no_library_knows_is_found() -> None:
    link = replace(IDENTITY, name="doubled", inverse=doubled)
    message = failure(SquaredLoss(link=link), "predictions")
    assert message.startswith("adapters.xgboost.train predicts ")


def test_a_door_that_raises_is_named() -> None:
    assert "adapters." in failure(PoissonLoss(link=Link.score(doubled, None)), "predictions")


def test_of_a_bare_function_no_door_is_known() -> None:
    for check in ("link", "predictions", "workers"):
        assert finding(counts, check).status == "not tested"


@pytest.mark.slow
def test_without_boosters_the_rest_is_checked() -> None:
    code = (
        "import sys; sys.modules['xgboost'] = sys.modules['lightgbm'] = None\n"
        "import gbdt_objectives as go\n"
        "print(go.check_objective(go.qwk_objective([0, 1, 2])))"
    )
    out = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True)
    line = next(line for line in out.stdout.splitlines() if "predictions" in line)
    assert "not tested" in line
    for library in ("xgboost", "lightgbm"):
        assert f"pip install 'gbdt_objectives[{library}]'" in line


def squared_columns(y, f, w=None):
    v = np.ones(len(y)) if w is None else w
    return v[:, None] * (f - y[:, None]), v[:, None] * np.ones_like(f)


def test_several_outputs_in_label_units_pass() -> None:
    made = go.objective(squared_columns, outputs=3, link="identity")
    assert finding(made, "predictions").status == "passed"
    undeclared = finding(go.objective(squared_columns), "predictions", n_classes=3)
    assert undeclared.status == "not tested"
    assert "outputs=3" in undeclared.message
