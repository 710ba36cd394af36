"""The command decide, and the command apply with a rule for actions."""

from __future__ import annotations

import io

import numpy as np
import pandas as pd
import pytest

import gbdt_objectives as go
from tests.cases import each
from tests.commands import refused, run

N, ACTIONS = 60, "--action pass=0,amount --action review=2,2 --action block=9,0"


@pytest.fixture
def rows(tmp_path, monkeypatch) -> pd.DataFrame:
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({
        "p": rng.beta(1, 3, N).round(4), "amount": rng.lognormal(3, 1, N).round(2),
        "day": rng.choice(["mon", "tue"], N), "id": np.arange(N), "text": "a",
    })  # fmt: skip
    frame.to_csv("log.csv", index=False)
    return frame


def found(command: str) -> pd.DataFrame:
    result = run(command)
    assert result.exit_code == 0, result.output
    return pd.read_csv(io.StringIO(result.stdout))


def test_costs_in_columns_and_a_capacity_of_each_day(rows) -> None:
    P, costs = np.column_stack([1 - rows.p, rows.p]), np.zeros((N, 2, 3))
    costs[:, 1, 0], costs[:, :, 1], costs[:, 0, 2] = rows.amount, 2, 9
    known = {"costs": costs, "actions": ["pass", "review", "block"]}
    table = found(f"decide log.csv --score p {ACTIONS} --column action")
    assert table.action.tolist() == go.decide(P, **known).tolist()
    table = found(f"decide log.csv --score p {ACTIONS} --capacity review=3 --groups day --keep id")
    assert table.columns.tolist() == ["id", "prediction"]
    want = go.decide(P, **known, capacity={"review": 3}, groups=rows.day)
    assert table.prediction.tolist() == want.tolist()
    assert (want == "review").sum() == 6
    alone = found(f"decide log.csv --score p {ACTIONS} --capacity review=3")
    assert (alone.prediction == "review").sum() == 3


@each(
    ("given", "says"),
    [
        ("--action pass=0,amount", "--action must be two names or more, each once"),
        ("--action pass=0,1 --action pass=0,2", "each name once, found pass=0,1, pass=0,2"),
        ("--action pass=0 --action block=1,1", "--action must be NAME=COST,COST"),
        ("--action pass=0,no --action block=1,1", "--action no is no column of log.csv"),
        ("--action pass=0,text --action block=1,1", "--action text must hold numbers"),
        ("--action pass=0,nan --action block=1,1", "costs must be finite, found nan"),
        (f"{ACTIONS} --capacity review", "--capacity must be NAME=N, found review: for instance"),
        (f"{ACTIONS} --capacity review=2.5", "--capacity must be NAME=N, found review=2.5"),
        ("--action =0,1 --action block=1,1", "--action must be NAME=COST,COST"),
        (f"{ACTIONS} --capacity =2", "found {'': 2}: give one of them"),
        (f"{ACTIONS} --capacity ask=2", "found {'ask': 2}: give one of them"),
        (f"{ACTIONS} --groups day", "--groups day are what a capacity is for: give --capacity"),
    ],
)
def test_what_is_refused_in_one_line(rows, given, says) -> None:
    assert says in refused(f"decide log.csv --score p {given}")


def test_a_score_that_is_no_probability_is_refused(rows) -> None:
    assert "--score amount must be in [0, 1], found" in refused(
        f"decide log.csv --score amount {ACTIONS.replace('amount', '9')}"
    )
