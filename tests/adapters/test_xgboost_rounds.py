"""XGBoost: a model is complete in every round: what a callback saves predicts as a training of so
many rounds does, and XGBoost's own metrics read what it predicts."""

from __future__ import annotations

import copy
import pickle
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import cache, wraps
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import xgboost as xgb
from scipy.special import expit, gammaln, softmax
from sklearn.metrics import log_loss, roc_auc_score

import gbdt_objectives as go
from gbdt_objectives import metrics, serving
from gbdt_objectives._registry import library
from gbdt_objectives.adapters import xgboost as ours
from gbdt_objectives.adapters._train import MARK
from gbdt_objectives.adapters.xgboost import _train
from gbdt_objectives.adapters.xgboost.parameters import holds_starts, holds_vectors
from tests.adapters.classes import Softmax
from tests.cases import refused
from tests.matrix.tables import of_classes, of_classes_loss, poisson, poisson_loss
from tests.serving.models import served

Array = np.ndarray[Any, Any]
pytestmark = pytest.mark.filterwarnings(
    "ignore:early stopping keeps", "ignore:.*is deprecated:UserWarning"  # gblinear and dart, in 3.4
)  # fmt: skip

N, ROUNDS = 240, 5
TRAIN, TEST = slice(0, 160), slice(160, N)
RNG = np.random.default_rng(53)
X = RNG.normal(size=(N, 4))
SCORE = X[:, 0] + 0.7 * X[:, 1] + RNG.normal(0, 0.6, N)
CLASSES, EVENTS = np.digitize(SCORE, [-0.5, 0.5]), (SCORE > 0.8).astype(int)
COUNTS = RNG.poisson(np.exp(1 + 0.5 * SCORE))
CLOSE = {"rtol": 1e-6, "atol": 1e-6}
"""XGBoost adds up its trees in float32."""

LOG = go.objective(poisson, loss=poisson_loss, link="log")
LOGITS = go.objective(of_classes, loss=of_classes_loss, link="softmax", outputs=3)
CORRECTED = go.offset_logloss_objective(0.3)


@dataclass(frozen=True)
class Kind:
    """An objective, its labels, a metric of its margins, and what its models predict."""

    name: str
    objective: go.Objective
    y: Array
    metric: go.Metric
    inverse: Callable[[Array], Array] = field(default=lambda margin: margin)

    @property
    def estimator(self) -> Any:
        return ours.XGBRegressor if self.objective.n_classes is None else ours.XGBClassifier


def of_loss(name: str, objective: go.Objective, y: Array, inverse: Any = None) -> Kind:
    kind = Kind(name, objective, y, metrics.loss_metric(objective))
    return kind if inverse is None else replace(kind, inverse=inverse)


KINDS = [
    Kind("score", go.qwk_objective(), CLASSES + 20, go.extended_qwk_metric()),
    of_loss("log", LOG, COUNTS, np.exp),
    Kind("logit", CORRECTED, EVENTS, go.weighted_logloss_metric(0.3), expit),
    of_loss("softmax", LOGITS, CLASSES, lambda margin: softmax(margin, axis=1)),
    of_loss("outputs", Softmax(n_classes=3), CLASSES),
]
BOOSTERS: dict[str, dict[str, Any]] = {
    "gbtree": {"subsample": 0.7},
    "dart": {"booster": "dart", "rate_drop": 0.5, "skip_drop": 0.0},
    "gblinear": {"booster": "gblinear", "updater": "coord_descent"},
    "vector": {"multi_strategy": "multi_output_tree"},
}
CELLS = [
    (kind, name, stops)
    for kind in KINDS for name in BOOSTERS for stops in (False, True)
    if holds_starts(BOOSTERS[name]) or kind.objective.outputs == 1
    if name != "vector" or (kind.objective.outputs > 1 and holds_vectors({}))
    if not (stops and name in ("dart", "gblinear"))  # which is refused
]  # fmt: skip
cells = pytest.mark.parametrize(
    ("kind", "booster", "stops"), CELLS,
    ids=[f"{kind.name}-{name}" + "-stops" * stops for kind, name, stops in CELLS],
)  # fmt: skip


needs_starts = pytest.mark.skipif(not holds_starts({}), reason="XGBoost 3.1")


def params_of(booster: str) -> dict[str, Any]:
    depth = {} if booster == "gblinear" else {"max_depth": 2}
    return {"learning_rate": 0.3, "nthread": 1, "seed": 3, **depth, **BOOSTERS[booster]}


def matrix(kind: Kind, rows: Any = TRAIN) -> xgb.DMatrix:
    return xgb.DMatrix(X[rows], kind.y[rows], nthread=1)


class Saves(xgb.callback.TrainingCallback):
    """Keeps a model in all the ways that there are, before the first round and after each."""

    def __init__(self, folder: Path, *, slices: bool = True) -> None:
        super().__init__()
        self.folder, self.slices = folder, slices
        self.kept: list[tuple[int, Any]] = []

    def before_training(self, model: Any) -> Any:
        self.save(model, 0)
        return model

    def after_iteration(self, model: Any, epoch: int, evals_log: Any) -> bool:
        self.save(model, epoch + 1)
        return False

    def save(self, model: Any, rounds: int) -> None:
        """Nothing is read before training is over: a booster that is read and predicts draws from
        the random numbers of all (XGBoost 3.2)."""
        for booster in [fold.bst for fold in getattr(model, "cvfolds", [])] or [model]:
            path = self.folder / f"{rounds}.json"
            booster.save_model(path)
            kept = [booster.save_raw(), path, pickle.dumps(booster), copy.deepcopy(booster)]
            kept += [booster[:rounds]] if rounds and self.slices else []
            self.kept += [(rounds, one) for one in kept]


def read(kept: Any) -> xgb.Booster:
    """What was kept, by XGBoost itself."""
    if isinstance(kept, bytes):
        return pickle.loads(kept)
    raw = kept.save_raw() if isinstance(kept, xgb.Booster) else kept
    return xgb.Booster(model_file=raw)


def predicted(model: xgb.Booster, **given: Any) -> Array:
    return model.predict(xgb.DMatrix(X[TEST]), **given)


@cache
def trained(kind: str, booster: str, rounds: int) -> Array:
    """What a training of so many rounds predicts."""
    of = next(one for one in KINDS if one.name == kind)
    return predicted(ours.train(params_of(booster), matrix(of), rounds, objective=of.objective))


def check(saves: Saves, kind: Kind, booster: str, final: Any = None) -> None:
    """Each model that was kept is a training of so many rounds; ``final`` was returned."""
    assert len({rounds for rounds, _ in saves.kept}) > 3
    for rounds, kept in saves.kept:
        p = predicted(read(kept))
        if not rounds:
            start = np.array(kind.objective.measured(kind.y[TRAIN]).intercept)
            start = kind.inverse(start[np.newaxis] if start.ndim else start)
            np.testing.assert_allclose(p, np.broadcast_to(start, p.shape), **CLOSE)
            continue
        np.testing.assert_allclose(p, trained(kind.name, booster, rounds), **CLOSE)
        if booster != "dart" and final is not None and rounds <= final.num_boosted_rounds():
            cut = final if booster == "gblinear" else final[:rounds]
            if booster != "gblinear" or rounds == ROUNDS:
                np.testing.assert_allclose(p, predicted(cut), **CLOSE)


@pytest.mark.slow
@cells
def test_train(kind: Kind, booster: str, stops: bool, tmp_path: Path) -> None:
    saves = Saves(tmp_path, slices=booster != "gblinear")
    stop = {} if not stops else {
        "metric": kind.metric, "evals": [(matrix(kind, TEST), "v")], "early_stopping_rounds": 2
    }  # fmt: skip
    model = ours.train(
        params_of(booster), matrix(kind), ROUNDS, objective=kind.objective, callbacks=[saves],
        **stop,
    )  # fmt: skip
    check(saves, kind, booster, model)
    margin = model.predict(xgb.DMatrix(X[TEST]), output_margin=True)
    np.testing.assert_allclose(predicted(model), kind.inverse(margin), **CLOSE)


@pytest.mark.slow
@cells
def test_fit(kind: Kind, booster: str, stops: bool, tmp_path: Path) -> None:
    saves = Saves(tmp_path, slices=booster != "gblinear")
    stop = {} if not stops else {"eval_metric": kind.metric, "early_stopping_rounds": 2}
    model = kind.estimator(
        objective=kind.objective, n_estimators=ROUNDS, callbacks=[saves], **stop,
        **params_of(booster),
    )  # fmt: skip
    given = {"eval_set": [(X[TEST], kind.y[TEST])], "verbose": False} if stops else {}
    model.fit(X[TRAIN], kind.y[TRAIN], **given)
    check(saves, kind, booster, model.get_booster())
    assert model.callbacks == [saves]


@pytest.mark.slow
@cells
def test_cv(kind: Kind, booster: str, stops: bool, tmp_path: Path) -> None:
    saves = Saves(tmp_path, slices=booster != "gblinear")
    rows = np.arange(N)
    ours.cv(
        params_of(booster), matrix(kind, slice(None)), ROUNDS, objective=kind.objective,
        metric=kind.metric, folds=[(rows[TRAIN], rows[TEST])], callbacks=[saves],
        early_stopping_rounds=2 if stops else None,
    )  # fmt: skip
    check(saves, kind, booster)


def test_members_of_our_classifiers(tmp_path: Path) -> None:
    saving = xgb.callback.TrainingCheckPoint(tmp_path, interval=1)
    member = ours.XGBRegressor(objective=LOG, n_estimators=4, max_depth=2, callbacks=[saving])
    model = go.QWKClassifier(member, cv=2).fit(X, CLASSES + 1)
    last = model.estimators_[-1].get_booster()  # the one that wrote last
    saved = [xgb.Booster(model_file=path) for path in tmp_path.iterdir()]
    assert len(saved) == 3
    for booster in saved:
        cut = last[: booster.num_boosted_rounds()]
        np.testing.assert_allclose(predicted(booster), predicted(cut), **CLOSE)


# --- XGBoost's own metrics


def mean_loss(y: Array, p: Array) -> float:
    return float(np.mean(p - y * np.log(p) + gammaln(y + 1)))


OWN: list[tuple[str, str, Callable[[Array, Array], float]]] = [
    ("log", "rmse", lambda y, p: float(np.sqrt(np.mean((y - p) ** 2)))),
    ("log", "mae", lambda y, p: float(np.abs(y - p).mean())),
    ("log", "poisson-nloglik", mean_loss),
    ("softmax", "mlogloss", log_loss),
    ("softmax", "merror", lambda y, p: float(np.mean(y != p.argmax(axis=1)))),
    ("logit", "logloss", log_loss),
    ("logit", "error", lambda y, p: float(np.mean(y != (p > 0.5)))),
    ("logit", "auc", roc_auc_score),
]


@pytest.mark.parametrize(("name", "metric", "reference"), OWN, ids=lambda value: str(value)[:9])
def test_xgboosts_own_metrics_read_what_the_model_predicts(
    name: str, metric: str, reference: Callable[[Array, Array], float]
) -> None:
    """In every round, and early stopping knows their direction."""
    kind = next(kind for kind in KINDS if kind.name == name)
    held_out = {"eval_set": [(X[TEST], kind.y[TEST])], "verbose": False}
    own = {"objective": kind.objective, "eval_metric": metric, "max_depth": 2, "n_jobs": 1}
    model = kind.estimator(n_estimators=25, learning_rate=0.5, **own)
    (history,) = model.fit(X[TRAIN], kind.y[TRAIN], **held_out).evals_result().values()
    ranges = [{"iteration_range": (0, k + 1)} for k in range(25)]
    expected = [reference(kind.y[TEST], predicted(model.get_booster(), **upto)) for upto in ranges]
    np.testing.assert_allclose(history[metric], expected, rtol=2e-6)  # sums of float32
    stopped = kind.estimator(
        n_estimators=25, learning_rate=0.5, early_stopping_rounds=4, **own
    ).fit(X[TRAIN], kind.y[TRAIN], **held_out)  # fmt: skip
    best = (np.argmax if metric == "auc" else np.argmin)(expected[: stopped.best_iteration + 5])
    assert stopped.best_iteration == best < 20


MEANS = r"XGBoost's own, which would misread logs of a positive mean.*loss_metric\(objective\)"
PROBABILITIES = r"misread margins of a softmax.*pass class_logloss_metric\(\)"


@refused(
    *(("log", metric, MEANS) for metric in ("logloss", ["rmse", "error@0.3"], "merror", "auc")),
    *(("softmax", metric, PROBABILITIES) for metric in ("rmse", "logloss", "ndcg")),
    ("outputs", "mlogloss", r"misread scores that only .*pass loss_metric\(objective\)"),
)  # fmt: skip
def test_a_metric_that_reads_something_else_is_refused(name: str, metric: Any) -> None:
    fit_once(name, metric)


def fit_once(name: str, metric: Any) -> Any:
    kind = next(kind for kind in KINDS if kind.name == name)
    model = kind.estimator(objective=kind.objective, eval_metric=metric, n_estimators=1)
    return model.fit(X, kind.y, eval_set=[(X, kind.y)], verbose=False)


def test_the_metrics_that_messages_name_instead() -> None:
    for name in ("log", "outputs"):
        kind = next(kind for kind in KINDS if kind.name == name)
        assert fit_once(name, metrics.loss_metric(kind.objective)).evals_result()
    assert fit_once("softmax", metrics.class_logloss_metric(3)).evals_result()


def test_the_default_metric_of_a_link_is_that_of_its_name() -> None:
    (values,) = fit_once("log", None).evals_result()["validation_0"].items()
    p = ours.XGBRegressor(objective=LOG, n_estimators=1).fit(X, COUNTS).predict(X)
    assert values == ("poisson-nloglik", [pytest.approx(mean_loss(COUNTS, p), rel=1e-6)])


def test_functions_get_margins_and_metrics_of_ours_too() -> None:
    """The name of a model in training says nothing of what they get."""
    seen: list[Array] = []

    def ranks(y_true: Array, f: Array) -> float:  # of their order alone, which may be measured
        seen.append(f)
        return float(np.corrcoef(y_true.argsort(), f.argsort())[0, 1])

    own = {"objective": LOG, "n_estimators": 3, "max_depth": 2}
    held_out = {"eval_set": [(X[TEST], COUNTS[TEST])], "verbose": False}
    model = ours.XGBRegressor(eval_metric=ranks, **own).fit(X[TRAIN], COUNTS[TRAIN], **held_out)
    margin = model.predict(X[TEST], output_margin=True)
    np.testing.assert_allclose(seen[-1], margin, **CLOSE)
    metric = metrics.loss_metric(LOG)
    model = ours.XGBRegressor(eval_metric=metric, **own).fit(X[TRAIN], COUNTS[TRAIN], **held_out)
    found = model.evals_result()["validation_0"][metric.name][-1]
    assert found == pytest.approx(metric(COUNTS[TEST], margin), rel=1e-6)


# --- going on from a model, and reading it


def vector(rounds: int = 4, **params: Any) -> xgb.Booster:
    """A model that starts at a vector."""
    return ours.train({**params_of("gbtree"), **params}, matrix(KINDS[3]), rounds, objective=LOGITS)


def margins(model: xgb.Booster, rows: Any = TEST) -> Array:
    return model.predict(xgb.DMatrix(X[rows]), output_margin=True)


@pytest.mark.parametrize("strategy", ["one_output_per_tree", "multi_output_tree"])
def test_training_goes_on_from_what_a_callback_saved(strategy: str, tmp_path: Path) -> None:
    if not holds_vectors({}) and strategy == "multi_output_tree":
        pytest.skip("XGBoost 3.2")
    params = {"max_depth": 2, "nthread": 1, "multi_strategy": strategy}
    for kind in KINDS:
        saves = Saves(tmp_path)
        given: dict[str, Any] = {"objective": kind.objective}
        whole = ours.train(params, matrix(kind), 6, **given, callbacks=[saves])
        if not holds_starts({}) and kind.objective.outputs > 1:
            continue
        for kept in [k for rounds, k in saves.kept if rounds == 3 and isinstance(k, bytearray)]:
            again = ours.train(params, matrix(kind), 3, **given, xgb_model=read(kept))
            # gradients of margins that were added up in another order
            np.testing.assert_allclose(margins(again), margins(whole), rtol=1e-4, atol=1e-5)
            model = kind.estimator(**given, n_estimators=3, **params)
            model.fit(X[TRAIN], kind.y[TRAIN], xgb_model=read(kept))
            np.testing.assert_allclose(predicted(model.get_booster()), predicted(again), **CLOSE)


@pytest.mark.filterwarnings("ignore:base_margin is .* in all rows")  # leaves get it afterwards
def test_a_model_with_its_intercepts_in_leaves_is_read(tmp_path: Path) -> None:
    """As versions before this one made it, and as XGBoost before 3.1 and gblinear need it."""
    c = np.array(LOGITS.measured(CLASSES[TRAIN]).intercept)
    data = xgb.DMatrix(X[TRAIN], CLASSES[TRAIN], base_margin=np.tile(c, (160, 1)), nthread=1)
    named = {"objective": "multi:softprob", "num_class": 3, "base_score": 0.0}
    bare = xgb.train(
        {**params_of("gbtree"), **named, "disable_default_eval_metric": 1}, data, 3,
        obj=go.objective(of_classes, link="undeclared", outputs=3),
    )  # fmt: skip
    earlier = bare.copy()
    _train.add_to_leaves(earlier, c)
    np.testing.assert_allclose(margins(earlier), margins(bare) + c, **CLOSE)
    np.testing.assert_allclose(margins(earlier), margins(vector(3)), rtol=1e-5, atol=1e-5)
    went_on = ours.train(
        params_of("gbtree"), matrix(KINDS[3]), 2, objective=LOGITS, xgb_model=earlier
    )
    few = {"output_margin": True, "iteration_range": (0, 3)}
    np.testing.assert_allclose(predicted(went_on, **few), margins(earlier), **CLOSE)


@needs_starts
def test_a_vector_is_read_wherever_a_model_is(tmp_path: Path) -> None:
    model = vector()
    delta = np.array([0.5, -1.0, 2.0])
    shifted = go.shift_intercept(model, delta=delta)
    np.testing.assert_allclose(margins(shifted), margins(model) + delta, **CLOSE)
    saved = xgb.Booster(model_file=shifted.save_raw())
    np.testing.assert_allclose(margins(saved), margins(shifted), **CLOSE)
    contributions = predicted(model, pred_contribs=True)
    np.testing.assert_allclose(contributions.sum(axis=2), margins(model), rtol=1e-5, atol=1e-5)
    assert _train.leaves(model, X).shape == (N, 12)
    trees = library("xgboost").trees(model)
    start = LOGITS.measured(CLASSES[TRAIN]).intercept
    np.testing.assert_allclose(trees.base, start, **CLOSE)
    for name, one in {"as_trained": model, "shifted": shifted}.items():
        serving.export(one, tmp_path / name, X)
        for read_by in (serving.load, served):
            p = read_by(tmp_path / name).predict_proba(X[TEST])
            np.testing.assert_allclose(p, predicted(one), **CLOSE)


@pytest.mark.slow
@needs_starts
def test_other_libraries_read_a_vector(tmp_path: Path) -> None:
    model = vector()
    treelite = pytest.importorskip("treelite")
    model.save_model(tmp_path / "model.json")
    other = treelite.frontend.load_xgboost_model(tmp_path / "model.json")
    found = treelite.gtil.predict(other, X[TEST].astype(np.float32))
    np.testing.assert_allclose(found.reshape(-1, 3), predicted(model), rtol=1e-5)
    onnxmltools = pytest.importorskip("onnxmltools")
    runtime = pytest.importorskip("onnxruntime")
    types = pytest.importorskip("onnxmltools.convert.common.data_types")
    graph = onnxmltools.convert_xgboost(
        model, initial_types=[("X", types.FloatTensorType([None, 4]))]
    )
    session = runtime.InferenceSession(graph.SerializeToString())
    p = session.run(None, {"X": X[TEST].astype(np.float32)})[1]
    np.testing.assert_allclose(p, predicted(model), rtol=1e-5)
    shap = pytest.importorskip("shap")
    values = shap.TreeExplainer(model)
    sums = values.shap_values(X[TEST]).sum(axis=1) + values.expected_value
    np.testing.assert_allclose(sums, margins(model), rtol=1e-5, atol=1e-5)


# --- what is not in a base_score


def test_gblinear_of_several_outputs_takes_no_checkpoint(tmp_path: Path) -> None:
    """Its models have the intercepts after training only, as those of XGBoost before 3.1."""
    saving = xgb.callback.TrainingCheckPoint(tmp_path, interval=1)
    linear = params_of("gblinear")
    asked = "TrainingCheckPoint, whose models would lack the intercepts.*leave it out"
    with pytest.raises(ValueError, match=asked):
        ours.train(linear, matrix(KINDS[3]), 2, objective=LOGITS, callbacks=[saving])
    with pytest.raises(ValueError, match=asked):
        ours.XGBClassifier(objective=LOGITS, callbacks=[saving], **linear).fit(X, CLASSES)
    model = ours.train(linear, matrix(KINDS[3]), 3, objective=LOGITS)
    fitted = ours.XGBClassifier(objective=LOGITS, n_estimators=3, **linear)
    fitted.fit(X[TRAIN], CLASSES[TRAIN])
    np.testing.assert_allclose(fitted.predict_proba(X[TEST]), predicted(model), rtol=1e-5)
    flat = ours.train({**linear, "learning_rate": 1e-9}, matrix(KINDS[3]), 1, objective=LOGITS)
    start = LOGITS.measured(CLASSES[TRAIN]).intercept
    np.testing.assert_allclose(margins(flat), np.tile(start, (80, 1)), rtol=1e-5)


# --- the rate for which a model corrects


def test_the_rate_is_in_every_model_that_leaves_training(monkeypatch: Any) -> None:
    """With the number of its rounds, and before xgboost.train returns, as MLflow sees it."""
    left: list[tuple[str, int]] = []

    class Keeps(xgb.callback.TrainingCallback):
        def after_iteration(self, model: Any, epoch: int, evals_log: Any) -> bool:
            keep(model)
            return False

    def keep(model: Any) -> Any:
        left.append((model.attr(MARK), model.num_boosted_rounds()))
        return model

    own = xgb.train
    for room in (xgb, xgb.sklearn):
        monkeypatch.setattr(room, "train", wraps(own)(lambda *a, **k: keep(own(*a, **k))))
    kind = KINDS[2]
    stops = xgb.callback.EarlyStopping(rounds=2, save_best=True)
    evals = {"metric": kind.metric, "evals": [(matrix(kind, TEST), "v")]}
    ours.train(
        {"eta": 1.0}, matrix(kind), 30, objective=CORRECTED, callbacks=[Keeps(), stops], **evals
    )
    held_out = [(X[TEST], EVENTS[TEST])]
    for metric in (kind.metric, "logloss"):
        ours.XGBClassifier(
            objective=CORRECTED, n_estimators=30, learning_rate=1.0, eval_metric=metric,
            callbacks=[Keeps(), xgb.callback.EarlyStopping(rounds=2, save_best=True)],
        ).fit(X[TRAIN], EVENTS[TRAIN], eval_set=held_out, verbose=False)  # fmt: skip
    assert len(left) > 12
    for mark, rounds in left:
        assert mark == f"0.3 {rounds}"
    went_on = ours.train(
        {}, matrix(kind), 1, objective=go.weighted_logloss_objective(1),
        xgb_model=ours.train({}, matrix(kind), 1, objective=CORRECTED), callbacks=[Keeps()],
    )  # fmt: skip
    assert went_on.attr(MARK) is None


class Keeps(xgb.callback.EarlyStopping):
    """A user's early stopping."""


@pytest.mark.parametrize(
    ("way", "booster"),
    [*((way, "gbtree") for way in ("train", "own class", "QWKClassifier", "export")),
     ("export", "dart")],
)  # fmt: skip
def test_a_model_that_stopped_early_knows_its_categories(
    way: str, booster: str, tmp_path: Path
) -> None:
    """Also where those of new rows are in another order; XGBoost's slices (3.2) lose them."""
    pd = pytest.importorskip("pandas")
    if not hasattr(xgb.Booster, "get_categories"):
        pytest.skip("XGBoost before 3.1 numbers the categories of the rows that it is given")
    rng = np.random.default_rng(0)
    word = rng.choice(["a", "b", "c"], 600)
    y = (word == "b") * 2 + (rng.random(600) > 0.5) + 1
    rows = pd.DataFrame({"x": rng.random(600), "word": pd.Categorical(word, ["a", "b", "c"])})
    others = rows.assign(word=rows["word"].cat.set_categories(["c", "b", "a"]))
    params = {"max_depth": 2, "booster": booster, "nthread": 1}
    kwargs = {"n_estimators": 40, "enable_categorical": True, **params}
    old = slice(0, 400)
    if way == "QWKClassifier":
        model = go.QWKClassifier(xgb.XGBRegressor(**kwargs)).fit(rows[old], y[old])
        predict = model.predict_score
    elif way == "export":
        one = xgb.XGBRegressor(early_stopping_rounds=3, **kwargs)
        one.fit(rows[old], y[old], eval_set=[(rows[400:], y[400:])], verbose=False)
        serving.export(one, tmp_path / "model", rows[old])
        predict = serving.load(tmp_path / "model").predict
    else:
        metric = go.qwk_metric()
        stop = ours.early_stopping(metric, 3) if way == "train" else Keeps(rounds=3, save_best=True)
        data, held_out = (
            xgb.DMatrix(rows[part], y[part], enable_categorical=True)
            for part in (old, slice(400, None))
        )
        trained = ours.train(
            params, data, 40, objective=go.qwk_objective(y[old]), metric=metric,
            evals=[(held_out, "held_out")], callbacks=[stop],
        )  # fmt: skip
        assert trained.num_boosted_rounds() == int(trained.attr("best_iteration")) + 1 < 40
        predict = lambda X: trained.predict(xgb.DMatrix(X, enable_categorical=True))  # noqa: E731
    assert np.ptp(predict(rows)) > 1
    np.testing.assert_allclose(predict(others), predict(rows), rtol=1e-6)
    new = rows[:9].assign(word=pd.Categorical(["d"] * 9, ["a", "b", "c", "d"]))
    with pytest.raises(xgb.core.XGBoostError, match="not in the training set"):
        predict(new)
