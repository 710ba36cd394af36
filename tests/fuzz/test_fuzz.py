"""The fuzz itself: some examples of a fixed seed, and that it notices what is wrong."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
from mpmath import mp

from gbdt_objectives import metrics
from gbdt_objectives.metrics.classes import NAMED
from tests.contract import SEVERAL
from tests.fuzz import __main__ as command, harness
from tests.fuzz.exact import real
from tests.fuzz.generators import Draw
from tests.fuzz.metrics import DOWN, TWO, class_value
from tests.fuzz.objectives import everything, of_rows, row_reference
from tests.fuzz.table import TABLE
from tests.strangers.poisson import poisson_objective

KAPPA = next(check for check in TABLE if check.name == "metrics.quadratic_weighted_kappa")
QUICK = tuple(check for check in TABLE if check.name != "objectives.objective_from_loss")


def test_package_and_references_agree() -> None:
    failures, tally = command.run(150, seed=0, table=QUICK)
    assert not failures, "\n".join(map(str, failures))
    assert sum(tally.compared.values()) > 100


def test_an_example_depends_on_its_number_alone() -> None:
    one, other = (KAPPA.draw(Draw(3, 17)) for _ in range(2))
    assert repr(one) == repr(other)


def test_a_wrong_reference_is_noticed_and_made_small() -> None:
    def wrong(**arguments):
        near = KAPPA.reference(**arguments)
        return harness.Near(near.value + 1e-6, near.error)

    failures, _ = command.run(30, seed=0, table=(replace(KAPPA, reference=wrong),))
    assert {failure.kind for failure in failures} == {"the values differ"}
    assert all(len(failure.arguments["y_true"]) <= 2 for failure in failures)
    text = str(failures[0])
    assert "kappa(y_true=np.array([" in text
    assert f"--seed 0 --first {failures[0].example} --examples 1" in text


def test_a_wrong_package_is_noticed_and_the_command_fails(monkeypatch, capsys) -> None:
    def unweighted(y_true, y_pred, labels, sample_weight):
        return metrics.quadratic_weighted_kappa(y_true, y_pred, labels=labels)

    monkeypatch.setattr(command, "TABLE", (replace(KAPPA, call=unweighted),))
    monkeypatch.setattr(command, "missing", list)
    assert command.main(["--examples", "60", "--seed", "0"]) == 1
    printed = capsys.readouterr().out
    assert printed.startswith("seed 0\n")
    assert "an invalid input is accepted" in printed
    assert "the values differ" in printed


@pytest.mark.parametrize(
    ("expected", "call", "kind"),
    [
        (harness.Near(1.0, 1e-9), lambda x: 1.0 + 1e-8, "the values differ"),
        (harness.Near(np.nan), lambda x: 1.0, "the values differ"),
        (harness.Near(1.0), lambda x: [][0], "it crashes"),
        (harness.Near(1.0), lambda x: float("x"), "a valid input is refused"),
        (harness.Near(np.inf), lambda x: float(np.exp(np.float64(1e3))), "it crashes"),  # it warns
        (harness.Near(1.0), lambda x: 1.0, "compared"),
    ],
)
def test_every_kind_of_failure(expected, call, kind) -> None:
    check = harness.Check("x", lambda draw: {}, call, lambda x: expected)
    assert harness.try_example(check, {"x": 1}, None)[0] == kind


def test_a_refusal_must_be_one_of_the_same_argument() -> None:
    def refuses(x):
        raise harness.Outside("rate")

    def says(text):
        def call(x):
            raise ValueError(text)

        return harness.Check("x", lambda draw: {}, call, refuses)

    assert harness.try_example(says("rate must be above 0"), {"x": 1}, None)[0] == "refused"
    kind, _ = harness.try_example(says("y is wrong"), {"x": 1}, None)
    assert kind == "the refusal names another argument"


@pytest.mark.parametrize("name", NAMED)
def test_every_named_metric_has_a_reference(name: str) -> None:
    """With the right direction and number of classes, on counts that are all different."""
    counts = [[5, 2], [3, 11]]
    value, error = class_value(name, None, [[Fraction(n) for n in row] for row in counts])
    assert not harness.Near(value, error).wrong(NAMED[name].of_counts(np.array(counts, float)))
    assert (name in DOWN) is not NAMED[name].greater_is_better, "DOWN of tests/fuzz/metrics.py"
    assert (name in TWO) is (name not in SEVERAL), "TWO of tests/fuzz/metrics.py"


def draw_counts(draw: Draw) -> harness.Arguments:
    n = draw.between(1, 10)
    return of_rows(draw, draw.labels(n, 4)[0] + 3, np.clip(draw.margins(n, 30.0), -30, 30))


def poisson(y_true, margin, sample_weight):
    return everything(poisson_objective(), y_true, margin, sample_weight)


def poisson_reference(y_true, margin, sample_weight):
    y = [real(v) for v in y_true]
    return row_reference(margin, sample_weight, lambda i, f: mp.exp(f) - y[i] * f)


def test_a_stranger_s_reference_is_the_loss_of_a_row() -> None:
    names = ("y_true", "margin", "sample_weight")
    check = harness.Check("poisson", draw_counts, poisson, poisson_reference, names)
    failures, tally = command.run(150, seed=0, table=(check,))
    assert not failures, "\n".join(map(str, failures))
    assert tally.compared["poisson"] > 100

    def rounds_in_float32(**given):  # some digits less are noticed
        found = poisson(**given)
        return found | {"gradient": np.float32(found["gradient"])}

    failures, _ = command.run(20, seed=0, table=(replace(check, call=rounds_in_float32),))
    assert {failure.kind for failure in failures} == {"the values differ"}


def test_a_public_name_without_a_reference_fails_the_command(monkeypatch, capsys) -> None:
    assert not command.missing()
    monkeypatch.setattr(metrics, "__all__", [*metrics.__all__, "new_metric"])
    assert command.main(["--examples", "1", "--seed", "0"]) == 1
    assert "metrics.new_metric" in capsys.readouterr().out
