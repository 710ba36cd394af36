"""Costs of actions: brute force over the actions of all rows, capacities, the rule, its price."""

from __future__ import annotations

import itertools

import lightgbm as lgb
import numpy as np
import pandas as pd
import pytest

from gbdt_objectives import decide, serving
from gbdt_objectives.metrics import cost_metric
from gbdt_objectives.thresholds import ActionRule, optimize_actions
from tests.cases import each

NAMES = ["pass", "review", "block"]
COSTS = np.array([[0.0, 2, 9], [50, 3, 1]])
P = np.column_stack([1 - (p := np.array([0.01, 0.2, 0.15, 0.9])), p])


def cases(n_cases: int = 200):
    """Probabilities and costs by row of few rows, with ties and groups of unequal size."""
    for k in range(n_cases):
        rng = np.random.default_rng([31, k])
        n, K, A = int(rng.integers(1, 7)), int(rng.integers(2, 4)), int(rng.integers(2, 4))
        q = rng.integers(1, 5, (n, K)).astype(float)  # few different ones
        C = rng.integers(-2, 4, (n, K, A)).astype(float)
        if k % 2:
            q, C = q[rng.integers(0, n, n)], C[rng.integers(0, n, n)]
        group = rng.integers(0, 3, n)
        yield q / q.sum(axis=1, keepdims=True), C, group, int(rng.integers(0, A)), k % 4


def total(E, chosen) -> float:
    return float(E[np.arange(len(E)), chosen].sum())


def brute_force(E, group, action: int, most: int) -> float:
    """The least total of all actions that keep the capacity."""
    totals = (
        total(E, chosen)
        for chosen in map(np.array, itertools.product(range(E.shape[1]), repeat=len(E)))
        if np.bincount(group, chosen == action).max() <= most
    )
    return min(totals)


def test_no_other_actions_within_a_capacity_cost_less() -> None:
    bounded = 0
    for q, C, group, action, most in cases():
        E = np.stack([row @ own for row, own in zip(q, C, strict=True)])
        names = np.array(["a", "b", "c"][: C.shape[2]])
        found = decide(q, costs=C, actions=names, capacity={names[action]: most}, groups=group)
        chosen = np.searchsorted(names, found)
        assert np.bincount(group, chosen == action).max() <= most
        # sums of a few numbers below 4, in another order
        assert total(E, chosen) == pytest.approx(brute_force(E, group, action, most), abs=1e-12)
        free = np.searchsorted(names, decide(q, costs=C, actions=names))
        assert total(E, free) == pytest.approx(E.min(axis=1).sum(), abs=1e-12)
        bounded += np.bincount(group, free == action).max() > most
    assert bounded > 50  # in which the capacity matters


def test_no_other_actions_of_costs_by_class_cost_less() -> None:
    for q, C, group, action, most in cases(60):
        names = list(range(C.shape[2]))
        known = {"actions": names, "capacity": {action: most}, "groups": group}
        same = np.broadcast_to(C[0], C.shape)
        by_class = decide(q, costs=C[0], **known)
        E = q @ C[0]
        assert total(E, by_class) == pytest.approx(brute_force(E, group, action, most), abs=1e-12)
        assert total(E, decide(q, costs=same, **known)) == pytest.approx(
            total(E, by_class), abs=1e-12
        )


def test_costs_of_the_classes_are_those_of_the_metric() -> None:
    C = np.array([[0, 1, 1], [1, 0, 2], [4, 4, 0]])
    q = np.random.default_rng(0).dirichlet(np.ones(3), 50)
    labels = ["a", "b", "c"]
    assert (
        decide(q, costs=C, labels=labels).tolist()
        == decide(q, cost_metric(C), labels=labels).tolist()
    )


def test_of_equal_savings_the_first_rows_take_the_action() -> None:
    same = np.tile([0.5, 0.5], (4, 1))
    found = decide(same, costs=COSTS, actions=NAMES)
    assert found.tolist() == ["review"] * 4
    found = decide(
        same, costs=COSTS, actions=NAMES, capacity={"review": 1}, groups=["b", "a", "b", "a"]
    )
    assert found.tolist() == ["review", "review", "block", "block"]
    assert (
        decide(same, costs=COSTS, actions=NAMES, capacity={"review": 0}).tolist() == ["block"] * 4
    )
    assert (
        decide(same, costs=COSTS, actions=NAMES, capacity={"review": 9}).tolist() == ["review"] * 4
    )


def test_a_frame_is_read_by_its_names() -> None:
    labels = ["honest", "fraud"]
    frame = pd.DataFrame(COSTS, index=labels, columns=NAMES)
    want = decide(P, costs=COSTS, actions=NAMES).tolist()
    assert decide(P, costs=frame, labels=labels).tolist() == want
    turned = frame.loc[labels[::-1], NAMES[::-1]]
    assert decide(P, costs=turned, actions=NAMES, labels=labels).tolist() == want
    assert decide(P, costs=pd.DataFrame(COSTS), actions=NAMES).tolist() == want
    pair = frame[["pass", "block"]]
    with pytest.raises(
        ValueError, match=r"costs must have rows named \['honest', 'fraud'\], found"
    ):
        decide(P, costs=pair.T, labels=labels)


@each("labels", [["honest", "fraud"], ["b", "a"], [3, 1]])
def test_classes_that_a_frame_names_once_are_those_of_cost_metric(labels) -> None:
    q = np.random.default_rng(0).dirichlet(np.ones(2), 50)
    C, turned = np.array([[0.0, 1], [5, 0]]), labels[::-1]
    frames = [
        pd.DataFrame(C), pd.DataFrame(C, index=turned), pd.DataFrame(C, columns=turned),
        pd.DataFrame(C, index=turned, columns=labels), pd.DataFrame(C, index=[1, 0]),
    ]  # fmt: skip
    for frame in frames[:4]:
        want = decide(q, cost_metric(frame), labels=labels).tolist()
        assert decide(q, costs=frame, labels=labels).tolist() == want
        assert {*want} == {*labels}
    with pytest.raises(ValueError, match="costs must have rows named"):
        decide(q, costs=frames[4], labels=labels)


def days(n: int, seed: int):
    """Probabilities, costs by row, and days of unequal size."""
    rng = np.random.default_rng(seed)
    q, amount = rng.beta(1, 8, n), rng.lognormal(3, 1, n)
    C = np.zeros((n, 2, 3))
    C[:, 1, 0], C[:, 0, 2], C[:, :, 1] = amount, 9, 2
    return np.column_stack([1 - q, q]), C, rng.integers(0, 40, n) ** 2 // 40


def test_the_price_keeps_the_capacity_in_the_mean_and_says_how_often_it_is_exceeded() -> None:
    q, C, day = days(4000, 0)
    most = 12
    rule = optimize_actions(q, C, actions=NAMES, capacity={"review": most}, groups=day)
    groups = len(np.unique(day))
    taken = pd.Series(rule.apply(q, costs=C) == "review").groupby(day).sum()
    free = decide(q, costs=C, actions=NAMES)
    assert (free == "review").sum() > 1.2 * most * groups  # a capacity that matters
    assert most * groups - 1 <= taken.sum() <= most * groups  # no ties among random costs
    assert rule.exceeded == pytest.approx((taken > most).mean())
    assert rule.exceeded > 0.1
    new, new_C, new_day = days(20_000, 1)
    later = pd.Series(rule.apply(new, costs=new_C) == "review").groupby(new_day).sum()
    # five times the rows a day; binomial counts of 12 have a standard error of 0.3 in 40 days
    assert later.mean() / 5 == pytest.approx(most, abs=1)


def test_the_price_is_the_least_that_keeps_the_mean() -> None:
    q, C, day = days(300, 2)
    rule = optimize_actions(q, C, actions=NAMES, capacity={"review": 1}, groups=day)
    price = rule.prices[1]
    assert price > 0
    assert rule.prices[[0, 2]].tolist() == [0, 0]
    E = np.einsum("nk,nka->na", q, C)
    savings = np.sort(E[:, [0, 2]].min(axis=1) - E[:, 1])[::-1]
    budget = len(np.unique(day))
    assert savings[budget - 1] > price > savings[budget]
    wide = optimize_actions(q, C, actions=NAMES, capacity={"review": 300}, groups=day)
    assert wide.prices.tolist() == [0, 0, 0]
    assert wide.exceeded == 0


@each("ruled_out", [1e9, 1e12, 1e15])
def test_costs_that_rule_out_actions_leave_the_price(ruled_out) -> None:
    q, C, day = days(4000, 5)
    for action in (1, 2):
        plain, C[::3, :, action] = C.copy(), ruled_out
        known = {"actions": NAMES, "capacity": {"review": 8}, "groups": day}
        taken = (optimize_actions(q, C, **known).apply(q, costs=C) == "review").sum()
        budget = 8 * len(np.unique(day))
        assert budget - 1 <= taken <= budget
        assert (decide(q, costs=C, actions=NAMES) == "review").sum() > 1.2 * budget
        C = plain


def test_rows_that_save_the_same_take_the_action_together() -> None:
    same = np.tile([0.5, 0.5], (6, 1))
    rule = optimize_actions(
        same, COSTS, actions=NAMES, capacity={"review": 1}, groups=[1, 1, 1, 2, 2, 2]
    )
    assert rule.apply(same).tolist() == ["block"] * 6
    assert rule.exceeded == 0


def test_a_row_alone_gets_what_it_gets_among_others() -> None:
    q, C, day = days(200, 3)
    rule = optimize_actions(q, C[0], actions=NAMES, capacity={"review": 1}, groups=day)
    together = rule.apply(q).tolist()
    assert [rule.apply(q[k : k + 1])[0] for k in range(200)] == together
    assert len({*together}) > 1


@each(
    "rule",
    [
        ActionRule(COSTS, NAMES, [0, 1], [0, 1.5, 0], 0.25),
        ActionRule(None, [0, 1, 2], ["no", "yes"]),
        ActionRule(COSTS, [1.5, 2.5, 3.5], np.array(["a", "b"], object)),
    ],
)
def test_json(rule) -> None:
    again = ActionRule.from_json(rule.to_json())
    own = {} if rule.costs is not None else {"costs": np.tile(COSTS, (4, 1, 1))}
    assert again.apply(P, **own).tolist() == rule.apply(P, **own).tolist()
    assert (again.exceeded, again.prices.tolist()) == (rule.exceeded, rule.prices.tolist())
    assert again.to_json() == rule.to_json()


@each(
    ("change", "says"),
    [
        ({"costs": [[0, 1], [2]]}, "equal lists of numbers"),
        ({"costs": 3}, "equal lists of numbers"), ({"costs": [[0, 1]]}, r"costs must be \(2, 3\)"),
        ({"actions": ["pass"]}, "actions"), ({"prices": [1, 2]}, "prices"),
        ({"labels": [0, 1, 2]}, r"costs must be \(3, 3\)"),
    ],
)  # fmt: skip
def test_changed_json_is_refused(change, says) -> None:
    import json

    text = json.loads(ActionRule(COSTS, NAMES, [0, 1]).to_json()) | change | {"sha256": None}
    with pytest.raises(ValueError, match=says):
        ActionRule.from_json(json.dumps(text))


BY_ROW = np.tile(COSTS, (4, 1, 1))
REFUSED = [
    ({"costs": COSTS.T, "actions": NAMES}, r"found shape \(3, 2\): pass numpy.swapaxes"),
    ({"costs": BY_ROW.swapaxes(1, 2), "actions": NAMES}, "pass numpy.swapaxes"),
    ({"costs": BY_ROW[:3], "actions": NAMES}, r"or \(4, 2, 3\), .* found shape \(3, 2, 3\)$"),
    ({"costs": COSTS}, "actions are missing"),
    ({"costs": COSTS[0], "actions": NAMES}, r"found shape \(3,\)"),
    ({"costs": COSTS, "actions": ["a", "b"]}, r"\(2, 2\) or \(4, 2, 2\)"),
    ({"costs": COSTS, "actions": ["a", "b", "a"]}, "each once"),
    ({"costs": COSTS, "actions": ["a", "b", None]}, "actions must be"),
    ({"costs": [[0, np.nan, 1], [1, 1, 1]], "actions": NAMES}, "costs must be finite, found nan"),
    ({"costs": [[0, np.inf, 1], [1, 1, 1]], "actions": NAMES}, "write a cost above all others"),
    ({"costs": COSTS, "actions": NAMES, "metric": "mae"}, "leave metric out"),
    ({"costs": COSTS, "actions": NAMES, "groups": [1, 1, 2, 2]}, "pass capacity="),
    ({"costs": COSTS, "actions": NAMES, "capacity": 20}, "must bound one of the actions"),
    ({"costs": COSTS, "actions": NAMES, "capacity": {"ask": 2}}, "found {'ask': 2}"),
    ({"costs": COSTS, "actions": NAMES, "capacity": {"block": 1, "review": 2}}, "linprog"),
    ({"costs": COSTS, "actions": NAMES, "capacity": {"review": -1}}, "whole number >= 0"),
    ({"costs": COSTS, "actions": NAMES, "capacity": {"review": 2}, "groups": [1, 2]}, "groups"),
    ({"costs": COSTS, "actions": NAMES, "capacity": {"review": 2}, "sample_weight": [1, 1, 1, 2]},
     "write copies out"),
    ({"actions": NAMES}, "actions need costs"),
    ({"capacity": {"review": 2}}, "capacity need costs"),
]  # fmt: skip


@each(("given", "says"), REFUSED)
def test_what_decide_refuses(given, says) -> None:
    with pytest.raises(ValueError, match=says):
        decide(P, **given)


@each("most", [0.1, 20.0, True, "20", None])
def test_a_capacity_is_a_whole_number(most) -> None:
    with pytest.raises(TypeError, match=r"capacity\['review'\] must be a whole number"):
        decide(P, costs=COSTS, actions=NAMES, capacity={"review": most})


def test_what_a_rule_refuses() -> None:
    with pytest.raises(ValueError, match="capacity of a rule needs groups"):
        optimize_actions(P, COSTS, actions=NAMES, capacity={"review": 2})
    with pytest.raises(ValueError, match="leave an action out"):
        optimize_actions(P, COSTS, actions=NAMES, capacity={"review": 0}, groups=[1, 1, 2, 2])
    own, by_row = ActionRule(COSTS, NAMES, [0, 1]), ActionRule(None, NAMES, [0, 1])
    with pytest.raises(ValueError, match="leave costs out"):
        own.apply(P, costs=BY_ROW)
    with pytest.raises(ValueError, match="pass costs=, of each row"):
        by_row.apply(P)
    with pytest.raises(ValueError, match=r"probability must be \(n, 2\)"):
        own.apply(np.full((2, 3), 1 / 3))
    with pytest.raises(ValueError, match=r"costs must be \(2, 3\), .* has costs=None, apply is"):
        ActionRule(BY_ROW, NAMES, [0, 1])
    with pytest.raises(ValueError, match="prices"):
        ActionRule(COSTS, NAMES, [0, 1], [0, 1])


def test_a_rule_is_served_and_costs_of_rows_are_refused_before_the_export(tmp_path) -> None:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(300, 3))
    y = (rng.random(300) < 1 / (1 + np.exp(1 - 2 * X[:, 0]))).astype(int)
    model = lgb.LGBMClassifier(n_estimators=5, num_leaves=4, n_jobs=1, verbose=-1).fit(X, y)
    q = model.predict_proba(X)
    day = np.arange(300) // 50
    rule = optimize_actions(q, COSTS, actions=NAMES, capacity={"review": 20}, groups=day)
    serving.export(model, tmp_path / "model", X, thresholds=rule)
    served = serving.load(tmp_path / "model")
    assert served.predict(X).tolist() == rule.apply(q).tolist()
    assert len({*served.predict(X)}) > 1
    with pytest.raises(ValueError, match="thresholds are a rule whose costs come with each row"):
        serving.export(model, tmp_path / "other", X, thresholds=ActionRule(None, NAMES, [0, 1]))
    assert not (tmp_path / "other").exists()
    with pytest.raises(ValueError, match=r"a rule for the classes \[1, 0\], but the model has"):
        serving.ServedModel(model, thresholds=ActionRule(COSTS, NAMES, [1, 0]))
