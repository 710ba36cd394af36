"""A booster of LightGBM is a complete model in every round: what a callback reads of it, and keeps,
is to the last digit what a training of so many rounds returns."""

from __future__ import annotations

import copy
import json
import pickle
import re
from collections.abc import Callable
from functools import partial
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import lightgbm as lgb
import numpy as np
import pytest

import gbdt_objectives as go
from gbdt_objectives.adapters import lightgbm as adapter
from gbdt_objectives.adapters.lightgbm.intercept import mark_of
from gbdt_objectives.metrics import class_logloss_metric
from tests.adapters.classes import Softmax
from tests.adapters.library import LGB
from tests.cases import each
from tests.matrix.tables import of_classes, of_classes_loss, poisson, poisson_loss, squared_error

ROUNDS = 3


def plus(y: Any, amount: float) -> Any:
    return y + amount


def of_two(y: Any) -> Any:
    return (y > 2) * 1


CLASSES = partial(plus, amount=-1)
OBJECTIVES: dict[str, tuple[go.Objective, Callable[[Any], Any]]] = {
    "identity": (go.qwk_objective(), partial(plus, amount=20)),
    "log": (go.objective(poisson, loss=poisson_loss, link="log"), partial(plus, amount=20)),
    "logit": (go.offset_logloss_objective(0.1), of_two),
    "softmax": (
        go.objective(of_classes, loss=of_classes_loss, link="softmax", outputs=4), CLASSES,
    ),
    "four outputs that only the objective reads": (Softmax(n_classes=4), CLASSES),
}  # fmt: skip
BOOSTING: dict[str, dict[str, Any]] = {
    "gbdt": {},
    "dart": {"boosting": "dart", "skip_drop": 0.0, "drop_rate": 0.5},
    "linear trees": {"linear_tree": True},
    "goss": {"data_sample_strategy": "goss"},
    "samples": {"bagging_fraction": 0.5, "bagging_freq": 1, "feature_fraction": 0.5},
    "random": {"extra_trees": True, "use_quantized_grad": True},
}


def refitted(booster: Any, X: Any, folder: Path) -> Any:
    """Predictions after a refit on other labels, or what is said of it."""
    try:
        return booster.refit(X, (X[:, 1] > 0.4) * 1.0).predict(X).tolist()
    except (lgb.basic.LightGBMError, ValueError) as error:  # of one tree in old versions
        return str(error)


def file(booster: Any, X: Any, folder: Path) -> str:
    booster.save_model(folder / "model.txt")
    return (folder / "model.txt").read_bytes().decode()


READ: dict[str, Callable[[Any, Any, Path], Any]] = {
    "text": lambda b, X, folder: b.model_to_string(),
    "text of a round": lambda b, X, folder: b.model_to_string(num_iteration=1),
    "text of later rounds": lambda b, X, folder: b.model_to_string(-1, 1, "gain"),
    "file": file,
    "pickle": lambda b, X, folder: pickle.loads(pickle.dumps(b)).model_to_string(),
    "copy": lambda b, X, folder: copy.copy(b).model_to_string(),
    "deepcopy": lambda b, X, folder: copy.deepcopy(b).model_to_string(),
    "dump": lambda b, X, folder: json.dumps(b.dump_model()),
    "predictions": lambda b, X, folder: b.predict(X).tolist(),
    "margins": lambda b, X, folder: b.predict(X, raw_score=True).tolist(),
    "leaves": lambda b, X, folder: b.predict(X, pred_leaf=True).tolist(),
    "contributions": lambda b, X, folder: b.predict(X, pred_contrib=True).tolist(),
    "refit": refitted,
    "a leaf": lambda b, X, folder: b.get_leaf_output(0, 0),
    "bounds": lambda b, X, folder: (b.lower_bound(), b.upper_bound()),
    "objective": lambda b, X, folder: b.params["objective"],
    "rate": lambda b, X, folder: mark_of(b),
    "class": lambda b, X, folder: (b.__class__.__module__, type(b).__qualname__, type(b).__name__),
}
if find_spec("pandas"):
    READ["frame"] = lambda b, X, folder: b.trees_to_dataframe().to_json()
OF_LINEAR_TREES = READ.keys() - {"contributions"}  # of which LightGBM has none
SHORT = ("text", "predictions")


def read(booster: Any, X: Any, folder: Path, what: Any = READ) -> dict[str, Any]:
    """What there is to read, without how many rounds were asked for."""
    found = {name: READ[name](booster, X, folder) for name in what}
    asked = r"(?m)^\[num_iterations: .*\]$"
    return {
        name: re.sub(asked, "", one) if isinstance(one, str) else one for name, one in found.items()
    }


class Reader:
    """A callback that reads the boosters after each round, or before it."""

    def __init__(self, X: Any, folder: Path, what: Any = READ, before: bool = False) -> None:
        self.asked, self.before_iteration = (X, folder, what), before
        self.found: dict[int, list[dict[str, Any]]] = {}
        self.copies: dict[int, list[lgb.Booster]] = {}
        self.bare: dict[int, list[lgb.Booster]] = {}

    def __call__(self, env: Any) -> None:
        rounds = env.iteration + (not self.before_iteration)
        boosters = getattr(env.model, "boosters", [env.model])
        if rounds:
            self.found[rounds] = [read(booster, *self.asked) for booster in boosters]
            self.copies[rounds] = [pickle.loads(pickle.dumps(booster)) for booster in boosters]
            texts = [lgb.Booster.model_to_string(booster) for booster in boosters]
            self.bare[rounds] = [lgb.Booster(model_str=text) for text in texts]

    def check(self, trained: Callable[[int], list[lgb.Booster]]) -> None:
        """Compare with the boosters of trainings of so many rounds."""
        assert self.found
        for k, boosters in self.found.items():
            for own, reference in zip(boosters, trained(k), strict=True):
                wanted = read(reference, *self.asked)
                assert [name for name in wanted if own[name] != wanted[name]] == [], f"round {k}"

    def check_dart(self, outputs: int) -> None:
        """Under an objective in Python dart is one of two trainings, by chance: LightGBM reads what
        it has not initialised. Compare with LightGBM's answers for a copy, and with its own trees,
        the first of which get one number each."""
        for k, boosters in self.found.items():
            for own, whole, bare in zip(boosters, self.copies[k], self.bare[k], strict=True):
                assert own == read(whole, *self.asked), f"round {k}"
                margins = [b.predict(self.asked[0], raw_score=True) for b in (whole, bare)]
                added = [
                    whole.get_leaf_output(tree, 0) - bare.get_leaf_output(tree, 0)
                    for tree in range(outputs)
                ]
                assert np.max(np.abs(added)) > 0.05
                found = np.subtract(*margins).reshape(-1, outputs)
                np.testing.assert_allclose(found, np.broadcast_to(added, found.shape), atol=1e-12)


@pytest.fixture(scope="module")
def rows(ordinal: Any) -> tuple[Any, ...]:
    X, y, w = ordinal
    return X[:200], y[:200], w[:200]


@pytest.fixture(scope="module")
def held_out(ordinal: Any) -> tuple[Any, ...]:
    return tuple(one[200:300] for one in ordinal[:2])


def trainer(rows: Any, name: str = "log", kind: str = "gbdt") -> Callable[..., Any]:
    (X, y, w), (objective, labels) = rows, OBJECTIVES[name]

    def train(k: int = ROUNDS, held_out: Any = None, **given: Any) -> lgb.Booster:
        params = {**LGB.params, "learning_rate": 0.5, **BOOSTING[kind]}
        data = lgb.Dataset(X, labels(y), weight=w)
        if held_out is not None:
            given |= {
                "evals": [(lgb.Dataset(held_out[0], labels(held_out[1]), reference=data), "v")],
                "metric": go.loss_metric(objective), "early_stopping_rounds": 2,
            }  # fmt: skip
        return adapter.train(params, data, k, objective=objective, **given)

    return train


def test_the_independent_model_of_squared_error(rows, tmp_path) -> None:
    """LightGBM's own objective starts at the mean too, and has it in its first tree."""
    (X, y, w), kept = rows, {}
    params = {**LGB.params, "min_data_in_leaf": 1}
    adapter.train(
        params, lgb.Dataset(X, y + 20, weight=w), 20, objective=go.objective(squared_error),
        callbacks=[lambda env: kept.update({env.iteration + 1: env.model.model_to_string()})],
    )  # fmt: skip
    own = lgb.train({**params, "objective": "regression"}, lgb.Dataset(X, y + 20, weight=w), 20)
    for k, text in kept.items():
        found, wanted = lgb.Booster(model_str=text).predict(X), own.predict(X, num_iteration=k)
        np.testing.assert_allclose(found, wanted, rtol=1e-6)  # float32 labels and gradients


@each("name, kind", [("log", "gbdt"), ("softmax", "goss"), ("identity", "linear trees")])
def test_predictions_in_every_round(name: str, kind: str, rows, tmp_path) -> None:
    train, reader = trainer(rows, name, kind), Reader(rows[0], tmp_path, SHORT)
    train(callbacks=[reader])
    reader.check(lambda k: [train(k)])


@pytest.mark.slow
@each(
    "name, kind",
    [
        (name, kind)
        for name in OBJECTIVES
        for kind in BOOSTING
        if kind == "gbdt" or name in ("log", "softmax")
    ],
)
def test_everything_in_every_round(name: str, kind: str, rows, tmp_path) -> None:
    train, what = trainer(rows, name, kind), OF_LINEAR_TREES if kind == "linear trees" else READ
    after, before = Reader(rows[0], tmp_path, what), Reader(rows[0], tmp_path, SHORT, before=True)
    booster = train(callbacks=[after, before])
    assert read(booster, *after.asked) == after.found[ROUNDS][0]
    for k, found in before.found.items():
        assert found == [{name: after.found[k][0][name] for name in SHORT}]
    assert set(before.found) == set(after.found) - {ROUNDS}
    if kind == "dart":  # which rescales earlier trees
        after.check_dart(booster.num_model_per_iteration())
        return
    after.check(lambda k: [train(k)])
    for k, (found,) in after.found.items():
        cut = booster.model_to_string(num_iteration=k)
        assert found["text"] == re.sub(r"(?m)^\[num_iterations: .*\]$", "", cut)
        assert found["predictions"] == booster.predict(rows[0], num_iteration=k).tolist()


@pytest.mark.slow
@each("name, kind", [(name, kind) for name in ("log", "softmax") for kind in BOOSTING])
def test_with_early_stopping(name: str, kind: str, rows, held_out, tmp_path) -> None:
    if kind == "dart":
        return  # its best round cannot be cut out
    what = {*SHORT, "file", "pickle", "deepcopy", "refit"}
    train, reader = trainer(rows, name, kind), Reader(rows[0], tmp_path, what)
    booster = train(100, callbacks=[reader], held_out=held_out)
    assert booster.best_iteration < max(reader.found) < 100
    reader.found = {k: reader.found[k] for k in (1, booster.best_iteration, max(reader.found))}
    reader.check(lambda k: [train(k)])
    assert read(booster, *reader.asked) == reader.found[booster.best_iteration][0]


@pytest.mark.slow
@each(
    "name, kind",
    [
        ("log", "gbdt"),
        ("softmax", "dart"),
        ("identity", "linear trees"),
        ("logit", "goss"),
        ("four outputs that only the objective reads", "gbdt"),
    ],
)
def test_the_boosters_of_cv(name: str, kind: str, rows, tmp_path) -> None:
    (X, y, w), (objective, labels) = rows, OBJECTIVES[name]
    what = OF_LINEAR_TREES if kind == "linear trees" else READ

    def boosters(k: int, **given: Any) -> Any:
        return adapter.cv(
            {**LGB.params, **BOOSTING[kind]}, lgb.Dataset(X, labels(y), weight=w), k, nfold=2,
            objective=objective, metric=go.loss_metric(objective), stratified=False, seed=1,
            return_cvbooster=True, **given,
        )["cvbooster"]  # fmt: skip

    reader, whole = Reader(X, tmp_path, what), {}

    def keep(env: Any) -> None:
        whole[env.iteration + 1] = (
            json.loads(env.model.model_to_string())["boosters"],
            [b.model_to_string() for b in pickle.loads(pickle.dumps(env.model)).boosters],
        )

    returned = boosters(ROUNDS, callbacks=[reader, keep])
    if kind == "dart":
        reader.check_dart(returned.boosters[0].num_model_per_iteration())
    else:
        reader.check(lambda k: boosters(k).boosters)
    assert [read(booster, *reader.asked) for booster in returned.boosters] == reader.found[ROUNDS]
    for k, (of_text, of_pickle) in whole.items():
        own = [booster["text"] for booster in reader.found[k]]
        for texts in (of_text, of_pickle):
            assert [re.sub(r"(?m)^\[num_iterations: .*\]$", "", one) for one in texts] == own
    assert {type(booster) for booster in returned.boosters} == {lgb.Booster}


def regressor(**given: Any) -> Any:
    return adapter.LGBMRegressor(**{**LGB.estimator, "n_estimators": ROUNDS, **given})


def classifier(**given: Any) -> Any:
    return adapter.LGBMClassifier(**{**LGB.estimator, "n_estimators": ROUNDS, **given})


@pytest.mark.slow
@each("name, kind, make", [
    ("log", "gbdt", regressor), ("identity", "dart", regressor), ("log", "linear trees", regressor),
    ("logit", "gbdt", classifier), ("softmax", "dart", classifier), ("softmax", "goss", classifier),
    ("four outputs that only the objective reads", "gbdt", classifier),
])  # fmt: skip
@each("stops", [False, True])
def test_estimators(name: str, kind: str, make: Any, stops: bool, rows, held_out, tmp_path) -> None:
    if stops and kind == "dart":
        return
    (X, y, w), (objective, labels) = rows, OBJECTIVES[name]
    what = OF_LINEAR_TREES if kind == "linear trees" else READ
    reader, y = Reader(X, tmp_path, what), labels(y)

    def fit(k: int, **given: Any) -> Any:
        model = make(objective=objective, n_estimators=k, learning_rate=0.5, **BOOSTING[kind])
        return model.fit(X, y, sample_weight=w, **given)

    on, stop = {}, []
    if stops:
        on = {"eval_set": [(held_out[0], labels(held_out[1]))]}
        on["eval_metric"], stop = go.loss_metric(objective), [lgb.early_stopping(2, verbose=False)]
        reader.asked = (X, tmp_path, SHORT)
    model = fit(100 if stops else ROUNDS, callbacks=[reader, *stop], **on)
    best = model.best_iteration_ if stops else ROUNDS
    assert stops == (best < max(reader.found))
    reader.found = {k: reader.found[k] for k in {1, best, max(reader.found)}}
    if kind == "dart":
        reader.check_dart(model.booster_.num_model_per_iteration())
    else:
        reader.check(lambda k: [fit(k).booster_])
    assert read(model.booster_, *reader.asked) == reader.found[best][0]


class Watched(lgb.LGBMRegressor):
    """A subclass of LightGBM's estimator with a callback of its own."""

    found: dict[int, Any] = {}  # noqa: RUF012

    def fit(
        self, X: Any, y: Any, sample_weight: Any = None, callbacks: Any = (), **given: Any
    ) -> Any:
        def keep(env: Any) -> None:
            self.found[env.iteration + 1] = env.model.predict(X)

        return super().fit(X, y, sample_weight, callbacks=[*callbacks, keep], **given)


class Deaf(lgb.LGBMRegressor):
    """One that passes callbacks of its own only."""

    def fit(
        self, X: Any, y: Any, sample_weight: Any = None, callbacks: Any = (), **given: Any
    ) -> Any:
        return super().fit(X, y, sample_weight, callbacks=[lgb.log_evaluation(0)], **given)


def test_wrapped_estimators(rows) -> None:
    X, y, w = rows
    Watched.found.clear()
    fit = {"X": X, "y": y, "sample_weight": w}
    params = {**LGB.estimator, "n_estimators": ROUNDS}
    models = [
        go.QWKClassifier(
            kind(**params), objective="qwk", ensemble=False, early_stopping_rounds=None
        ).fit(**fit)
        for kind in (Watched, Deaf)
    ]
    found = [model.estimator_.predict(X) for model in models]
    np.testing.assert_array_equal(Watched.found[ROUNDS], found[0])
    np.testing.assert_array_equal(*found)
    assert abs(found[0].mean() - np.average(y - 1, weights=w)) < 0.1  # positions of the classes


@each("name", ["log", "logit", "softmax"])
def test_training_goes_on(name: str, rows, tmp_path) -> None:
    """From what a callback saved, and from the booster itself, inside the callback."""
    X, kept = rows[0], {}
    train = trainer(rows, name)
    objective, labels = OBJECTIVES[name]

    def keep(env: Any) -> None:
        if env.iteration == 4:
            kept["copy"] = copy.deepcopy(env.model)
            kept["file"] = tmp_path / f"{name}.txt"
            env.model.save_model(kept["file"])
            kept["on"] = train(5, init_model=env.model).predict(X)
            make = regressor if name == "log" else classifier
            model = make(objective=objective, n_estimators=5, learning_rate=0.5).fit(
                X, labels(rows[1]), sample_weight=rows[2], init_model=env.model
            )
            kept["estimator"] = model.booster_.predict(X)

    whole = train(10, callbacks=[keep]).predict(X)
    ways = [train(5, init_model=kept["copy"]), train(5, init_model=kept["file"])]
    for found in (kept["on"], kept["estimator"], *(booster.predict(X) for booster in ways)):
        np.testing.assert_array_equal(found, kept["on"])
        np.testing.assert_allclose(found, whole, rtol=1e-6)  # sums of leaves in another order


@each("name", ["log", "softmax"])
@each("error", [KeyboardInterrupt, ValueError])
def test_what_an_error_leaves_is_complete(name: str, error: type, rows, tmp_path) -> None:
    train, kept = trainer(rows, name), []

    def fails(env: Any) -> None:
        kept.append(env.model)
        if env.iteration == 1:
            raise error

    with pytest.raises(error):
        train(callbacks=[fails])
    asked = rows[0], tmp_path, {*SHORT, "pickle", "dump", "refit"}
    assert read(kept[0], *asked) == read(train(2), *asked)

    X, y, w = rows
    objective, labels = OBJECTIVES[name]
    del kept[:]
    with pytest.raises(error):
        adapter.cv(
            LGB.params, lgb.Dataset(X, labels(y), weight=w), 5, objective=objective, nfold=2,
            metric=go.loss_metric(objective), stratified=False, callbacks=[fails],
        )  # fmt: skip
    natural = [booster.predict(X) for booster in kept[0].boosters]
    expected = np.average(labels(y), weights=w) if name == "log" else 1 / 4
    assert all(abs(p.mean() / expected - 1) < 0.1 for p in natural)


def test_an_error_of_the_objective_leaves_a_complete_model(rows, tmp_path) -> None:
    X, y, w = rows
    kept: list[Any] = []

    def fails(y_true: Any, margin: Any, sample_weight: Any) -> Any:
        if len(kept) == 2:
            raise RuntimeError("on purpose")
        return squared_error(y_true, margin, sample_weight)

    def train(objective: Any, k: int, **given: Any) -> Any:
        data = lgb.Dataset(X, y + 20, weight=w)
        return adapter.train(LGB.params, data, k, objective=go.objective(objective), **given)

    with pytest.raises(RuntimeError, match="on purpose"):
        train(fails, 5, callbacks=[lambda env: kept.append(env.model)])
    rounds = kept[0].current_iteration()
    asked = X, tmp_path, SHORT
    assert read(kept[0], *asked) == read(train(squared_error, rounds), *asked)
    assert abs(kept[0].predict(X).mean() - y.mean() - 20) < 0.5


def test_before_the_first_round_there_is_no_tree(rows) -> None:
    found = []

    def look(env: Any) -> None:
        if env.iteration == 0:
            model = pickle.loads(pickle.dumps(env.model))
            found.append((model.num_trees(), env.model.dump_model()["tree_info"]))
            found.append(env.model.predict(rows[0], raw_score=True).tolist())

    look.before_iteration = True
    trainer(rows)(callbacks=[look])
    assert found == [(0, []), [0.0] * len(rows[0])]


def mean_error(margin: Any, data: Any) -> Any:
    return "mean_error", float(np.mean(margin - data.get_label())), False


@each("name", ["identity", "softmax"])
def test_metrics_that_a_callback_measures_get_whole_margins(name: str, rows) -> None:
    X, y, w = rows
    objective, labels = OBJECTIVES[name]
    metric, seen = go.loss_metric(objective), {}

    def margins(margin: Any, data: Any) -> Any:
        seen[len(margin)] = margin.copy()
        return "seen", 0.0, False

    def measure(env: Any) -> None:
        more = lgb.Dataset(X[:50], labels(y[:50]), reference=data)
        for found in (
            env.model.eval_valid([margins, metric.lightgbm]), env.model.eval_valid(metric),
            env.model.eval_train(margins), env.model.eval(more, "more", margins),
        ):  # fmt: skip
            values = [one[2] for one in found if one[1] == metric.name]
            assert values[:1] in ([], [env.evaluation_result_list[0][2]])
        assert env.model.eval_valid() == []
        for n, found in seen.items():
            wanted = env.model.predict({200: X, 100: X[:100], 50: X[:50]}[n], raw_score=True)
            np.testing.assert_allclose(found, wanted, rtol=1e-12, atol=1e-12)  # other sums

    data = lgb.Dataset(X, labels(y), weight=w)
    held_out = lgb.Dataset(X[:100], labels(y[:100]), weight=w[:100], reference=data)
    adapter.train(
        LGB.params, data, ROUNDS, objective=objective, metric=metric, evals=[(held_out, "v")],
        callbacks=[measure],
    )  # fmt: skip
    assert sorted(seen) == [50, 100, 200]


def test_our_metrics_know_that_they_get_margins(rows) -> None:
    """The model calls itself poisson, or multiclass, but LightGBM passes margins in training."""
    X, y, w = rows
    for name, metric in (
        ("log", go.loss_metric(OBJECTIVES["log"][0])),
        ("softmax", class_logloss_metric(4, input_space="margin")),
    ):
        objective, labels = OBJECTIVES[name]
        found: dict[str, Any] = {}
        data = lgb.Dataset(X, labels(y), weight=w)
        booster = adapter.train(
            LGB.params, data, ROUNDS, objective=objective, metric=metric, evals=[(data, "v")],
            callbacks=[lgb.record_evaluation(found), lambda env: env.model.model_to_string()],
        )  # fmt: skip
        wanted = metric(labels(y), booster.predict(X, raw_score=True), w)
        np.testing.assert_allclose(found["v"][metric.name][-1], wanted, rtol=1e-9)  # other sums


def test_the_rate_of_the_objective_is_on_every_copy(rows) -> None:
    found = []

    def look(env: Any) -> None:
        pickled = pickle.dumps(env.model)
        assert b"gbdt_objectives" not in pickled  # which LightGBM alone reads
        ways = (env.model, copy.copy(env.model), copy.deepcopy(env.model))
        found.extend([*ways, pickle.loads(pickled)])

    found.append(trainer(rows, "logit")(callbacks=[look]))
    assert {mark_of(booster) for booster in found} == {"0.1"}
    with pytest.raises(ValueError, match="kept at a rate of 0.1: a shift would correct twice"):
        go.shift_intercept(found[1], negative_keep_rate=0.1)


@pytest.mark.slow
def test_reading_does_not_change_the_training(rows, tmp_path) -> None:
    for kind in BOOSTING.keys() - {"dart"}:
        train = trainer(rows, "log", kind)
        what = OF_LINEAR_TREES if kind == "linear trees" else READ
        read_on = train(6, callbacks=[Reader(rows[0], tmp_path, what)])
        assert read_on.model_to_string() == train(6).model_to_string(), kind


def test_parameters_that_change_while_it_trains(rows) -> None:
    found = []
    steps = lgb.reset_parameter(learning_rate=[0.1, 0.2, 0.3])
    booster = trainer(rows)(
        callbacks=[steps, lambda env: found.append(copy.deepcopy(env.model).params)]
    )
    assert [one["learning_rate"] for one in found] == [0.1, 0.2, 0.3]
    assert {one["objective"] for one in found} == {booster.params["objective"]} == {"poisson"}


@each("name", ["identity", "softmax"])
def test_a_leaf_is_set_as_it_is_read(name: str, rows) -> None:
    def halve(env: Any) -> None:
        if env.iteration == 1:
            for tree in range(env.model.num_trees()):
                env.model.set_leaf_output(tree, 0, env.model.get_leaf_output(tree, 0) / 2)

    whole, halved = (trainer(rows, name)(2, callbacks=some) for some in ([], [halve]))
    for tree in range(whole.num_trees()):
        wanted = whole.get_leaf_output(tree, 0) / 2
        assert halved.get_leaf_output(tree, 0) == pytest.approx(wanted, abs=1e-12)


def test_the_remedies_of_what_is_refused(rows, tmp_path) -> None:
    """As they are typed: save env.model in a callback, train on with init_model=."""
    X, y, w = rows
    call = {"objective": go.qwk_objective()}
    with pytest.raises(ValueError, match="save env.model in a callback"):
        adapter.train({"snapshot_freq": 2}, lgb.Dataset(X, y + 20, weight=w), 4, **call)

    def snapshot(env: Any) -> None:
        if env.iteration % 2:
            env.model.save_model(tmp_path / f"{env.iteration + 1}.txt")

    train = trainer(rows, "identity")
    train(4, callbacks=[snapshot])
    for k in (2, 4):
        found = lgb.Booster(model_file=tmp_path / f"{k}.txt").predict(X)
        np.testing.assert_array_equal(found, train(k).predict(X))

    data = lgb.Dataset(X, y + 20, weight=w)
    with pytest.raises(ValueError, match="keep_training_booster=True is refused: .* init_model="):
        adapter.train(LGB.params, data, 4, keep_training_booster=True, **call)
    on = train(3, init_model=train(3))
    np.testing.assert_allclose(on.predict(X), train(6).predict(X), rtol=1e-6)  # other sums


@pytest.mark.slow
def test_contributions_of_shap(rows) -> None:
    shap = pytest.importorskip("shap")
    X, found = rows[0], []

    def explain(env: Any) -> None:
        explainer = shap.TreeExplainer(env.model)
        found.append((explainer.shap_values(X), explainer.expected_value))

    train = trainer(rows, "identity")
    train(callbacks=[explain])
    for k, (values, base) in enumerate(found):
        booster = train(k + 1)
        np.testing.assert_allclose(values.sum(1) + base, booster.predict(X), rtol=1e-9)
        wanted = shap.TreeExplainer(booster)
        np.testing.assert_array_equal(values, wanted.shap_values(X))
        assert base == wanted.expected_value
