"""Every kind of model that can be exported, listed once, with rows that its export has not seen."""

from __future__ import annotations

import io
import sys
import warnings
from collections.abc import Callable, Iterator
from contextlib import redirect_stdout
from dataclasses import dataclass, field
from functools import cache, partial
from pathlib import Path
from typing import Any

import lightgbm as lgb
import numpy as np
import pandas as pd
import xgboost as xgb
from scipy.special import softmax
from sklearn.base import clone
from sklearn.isotonic import IsotonicRegression

import gbdt_objectives as go
from gbdt_objectives.adapters import lightgbm as lightgbm_adapter, xgboost as xgboost_adapter
from gbdt_objectives.calibration import (
    LogitCalibrator,
    TemperatureCalibrator,
)
from gbdt_objectives.thresholds import ActionRule, DecisionRule, Thresholds
from tests.contract import CALIBRATORS

ROWS, NEW_ROWS = 400, 450
LIBRARIES = ("lightgbm", "xgboost")
COMMON: dict[str, dict[str, Any]] = {
    "lightgbm": {"n_estimators": 6, "num_leaves": 6, "n_jobs": 1, "verbose": -1},
    "xgboost": {"n_estimators": 6, "max_depth": 3, "n_jobs": 1, "enable_categorical": True},
}
PARAMS: dict[str, dict[str, Any]] = {
    "lightgbm": {"num_leaves": 6, "verbose": -1, "num_threads": 1},
    "xgboost": {"max_depth": 3, "nthread": 1},
}
COLOURS = ["amber", "blue", "crimson, dark", "Grün"]


@dataclass
class Fitted:
    """A fitted model, rows as fit saw them, and others."""

    model: Any
    X: Any
    new: Any
    extras: dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Case:
    name: str
    train: Callable[[], Fitted]

    @cache  # noqa: B019, as the table is there until the end
    def fit(self) -> Fitted:
        """The model, fitted once."""
        return self.train()


def features(kind: str, n: int, seed: int) -> Any:
    """X: "array", "missing" (an array with NaN), "frame" or "categories" (data frames)."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 4))
    if kind == "array":
        return X
    if kind == "float32":
        return X.astype(np.float32)
    X[rng.random(n) < 0.1, 1] = np.nan
    if kind == "missing":
        return X
    frame = pd.DataFrame({
        "size": X[:, 0], "weight": X[:, 1], "count": np.round(3 * X[:, 2]).astype(int),
        "is_new": X[:, 3] > 0,
    })  # fmt: skip
    if kind == "frame":
        return frame
    codes = np.digitize(X[:, 2], [-0.7, 0, 0.7])
    colour = pd.Categorical.from_codes(np.where(rng.random(n) < 0.1, -1, codes), COLOURS)
    grade = pd.Categorical.from_codes(rng.integers(0, 3, n), [10, 20, 40])
    site = pd.Categorical.from_codes(rng.integers(0, 2, n), ["north", "south"])
    return frame.assign(colour=colour, grade=grade, site=site)


def latent(X: Any, seed: int) -> np.ndarray:
    """A number that the features say something of."""
    columns = X.to_numpy() if not hasattr(X, "iloc") and hasattr(X, "to_numpy") else X
    first = columns["size"].to_numpy() if hasattr(X, "iloc") else np.asarray(X)[:, 0]
    if "colour" in getattr(X, "columns", ()):
        first = first + 0.7 * X["colour"].cat.codes.to_numpy()
    return first + 0.5 * np.random.default_rng(seed).normal(size=len(first))


def labels_of(X: Any, labels: Any, seed: int = 5) -> np.ndarray:
    """Labels in the order of the latent number, the first ones more frequent."""
    s, K = latent(X, seed), len(labels)
    cuts = np.quantile(s, np.linspace(0, 1, K + 1)[1:-1] ** 0.8)
    return np.asarray(labels)[np.digitize(s, cuts)]


def estimator(library: str, role: str, ours: bool = False, **parameters: Any) -> Any:
    """The library's own estimator, or the one of this package."""
    module: Any = {"lightgbm": lgb, "xgboost": xgb}[library]
    if ours:
        module = {"lightgbm": lightgbm_adapter, "xgboost": xgboost_adapter}[library]
    name = {"lightgbm": "LGBM", "xgboost": "XGB"}[library] + role
    return getattr(module, name)(**{**COMMON[library], "random_state": 1, **parameters})


def fitted(model: Any, kind: str, labels: Any, **given: Any) -> Fitted:
    X = features(kind, ROWS, 1)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # what tiny models are warned of is tested elsewhere
        model.fit(X, labels_of(X, labels), **{k: v(X) for k, v in given.items()})
    return Fitted(model, X, features(kind, NEW_ROWS, 2))


# The kinds of models: a function each, which fits one.


def qwk(library: str, kind: str, labels: Any, **parameters: Any) -> Fitted:
    given = {}
    if parameters.pop("groups", False):
        given["groups"] = lambda X: np.arange(ROWS) // 4
    if parameters.pop("target", False):
        given["target"] = lambda X: 10 * latent(X, 5)
    role = parameters.pop("role", "Regressor")
    member = estimator(library, role, **parameters.pop("member", {}))
    model = go.QWKClassifier(member, **{"cv": 3, "labels": labels, **parameters})
    return fitted(model, kind, labels, **given)


def blend(kind: str, labels: Any, names: Any = LIBRARIES, **parameters: Any) -> Fitted:
    members = [(f"m{k}", estimator(name, "Regressor")) for k, name in enumerate(names)]
    model = go.QWKClassifier(members, **{"cv": 3, "labels": labels, **parameters})
    return fitted(model, kind, labels)


def downsampled(library: str, kind: str, labels: Any, **parameters: Any) -> Fitted:
    rate = 0.5 if len(labels) == 2 else {labels[0]: 0.5, labels[1]: 0.8}
    if len(labels) == 2 and isinstance(labels[0], str):
        rate = {labels[0]: 0.5}
    member = estimator(library, "Classifier", **parameters.pop("member", {}))
    model = go.DownsampledClassifier(
        member, **{"negative_keep_rate": rate, "random_state": 3, "calibrate": False} | parameters
    )
    return fitted(model, kind, labels)


def calibrated(
    library: str, kind: str, labels: Any, calibrator: Any, inner: str = "booster", **of_member: Any
) -> Fitted:
    """An average of the folds' models, but for those that average bags' probabilities."""
    member = estimator(library, "Classifier", **of_member)
    if inner != "booster":
        member = go.DownsampledClassifier(
            member, negative_keep_rate=0.5, n_bags=2, random_state=3, calibrate=False,
            average="log_odds" if inner == "log_odds" else "probability",
        )  # fmt: skip
    ensemble = inner != "downsampled"
    model = go.CalibratedClassifier(member, calibrator, cv=3, ensemble=ensemble)
    return fitted(model, kind, labels)


def stack(kind: str, labels: Any, names: Any = LIBRARIES, **parameters: Any) -> Fitted:
    """Several classifiers, put together."""
    members = [(f"m{i}", estimator(name, "Classifier")) for i, name in enumerate(names)]
    return fitted(go.CalibratedClassifier(members, cv=3, **parameters), kind, labels)


def single(library: str, kind: str, labels: Any, role: str, **parameters: Any) -> Fitted:
    return fitted(estimator(library, role, **parameters), kind, labels)


def booster(
    library: str, kind: str, labels: Any, ours: Any = None, calibrator: Any = None,
    thresholds: Any = None, shift: Any = None, plain: bool = False, **parameters: Any,
) -> Fitted:  # fmt: skip
    """What ``train`` returns, and what belongs to it."""
    X = features(kind, ROWS, 1)
    y = labels_of(X, labels)
    if library == "lightgbm":
        data, module = lgb.Dataset(X, y), lightgbm_adapter
    else:
        data, module = xgb.DMatrix(X, y, enable_categorical=True), xgboost_adapter
    if plain:
        trained = {"lightgbm": lgb, "xgboost": xgb}[library].train(
            {**PARAMS[library], **parameters}, data, 6
        )
    else:
        trained = module.train({**PARAMS[library], **parameters}, data, 6, objective=ours)
    extras = {"thresholds": thresholds, "shift": shift}
    if calibrator is not None:
        margin = getattr(calibrator, "input_space", None) == "margin"
        score = predict_booster(library, trained, X, margin)
        rng = np.random.default_rng(7)
        positive = (rng.random(ROWS) < 0.1 + 0.7 * (y > y.min())).astype(int)
        extras["calibrator"] = clone(calibrator).fit(score.astype(float), positive)
    extras = {key: value for key, value in extras.items() if value is not None}
    return Fitted(trained, X, features(kind, NEW_ROWS, 2), extras)


def predict_booster(library: str, trained: Any, X: Any, margin: bool) -> Any:
    if library == "lightgbm":
        return trained.predict(X, raw_score=margin)
    return trained.predict(xgb.DMatrix(X, enable_categorical=True), output_margin=margin)


def score_thresholds(labels: Any) -> Fitted:
    rng = np.random.default_rng(0)
    s = rng.normal(size=ROWS)
    y = np.asarray(labels)[
        np.digitize(s + 0.3 * rng.normal(size=ROWS), np.linspace(-1, 1, len(labels) - 1))
    ]
    model = go.ThresholdClassifier(labels=labels).fit(s, y)
    return Fitted(model, s, rng.normal(size=NEW_ROWS))


# Objectives of users.


def log_mean(y_true: Any, margin: Any, sample_weight: Any) -> tuple[Any, Any]:
    """Of a Poisson count."""
    w = np.ones_like(margin) if sample_weight is None else sample_weight
    return w * (np.exp(margin) - y_true), w * np.exp(margin)


def multinomial(y_true: Any, margin: Any, sample_weight: Any) -> tuple[Any, Any]:
    p = softmax(margin, axis=1)
    w = np.ones(len(p)) if sample_weight is None else sample_weight
    hit = np.arange(p.shape[1]) == np.asarray(y_true)[:, None]
    return w[:, None] * (p - hit), w[:, None] * p * (1 - p)


LOG = go.objective(log_mean, link="log", intercept=0.3)
SOFTMAX = go.objective(multinomial, link="softmax", outputs=3, intercept=[0.1, 0.2, -0.3])

BINARY_CALIBRATORS: dict[str, Callable[[], Any]] = {
    "default": lambda: None, **CALIBRATORS, "temperature": TemperatureCalibrator,
    "isotonic": lambda: IsotonicRegression(out_of_bounds="clip"),
}  # fmt: skip
WORDS = ["low", "mid", "high", "top, it is", "über", "f", "g", "h", "i", "j"]
CORRECTIONS = ("prior", "offset", "weight", None)


def cases() -> Iterator[Case]:
    def case(name: str, fit: Callable[..., Fitted], *given: Any, **named: Any) -> Case:
        return Case(name, partial(fit, *given, **named))

    for library in LIBRARIES:
        lib = {"lightgbm": "lgb", "xgboost": "xgb"}[library]
        # K = 2..10, integers and words, all kinds of X
        kinds = ("array", "missing", "frame", "categories", "float32")
        for K in range(2, 11):
            labels = list(range(1, K + 1)) if K % 2 else WORDS[:K]
            kind = kinds[K % len(kinds)]
            yield case(f"{lib}-qwk-{K}-{kind}", qwk, library, kind, labels)
        three = ["a", "b", "c"]
        for name, parameters in QWK.items():
            yield case(f"{lib}-qwk-{name}", qwk, library, "categories", three, **parameters)
        yield case(f"{lib}-qwk-numbers", qwk, library, "array", [-1.5, 0.25, 7.0])
        for correction in CORRECTIONS:
            yield case(
                f"{lib}-down-{correction}", downsampled, library, "categories", [0, 1],
                correction=correction, n_bags=2,
            )  # fmt: skip
        for correction in ("prior", "offset"):
            yield case(
                f"{lib}-down-calibrated-{correction}", downsampled, library, "categories", [0, 1],
                correction=correction, n_bags=3, calibrate=True,
            )  # fmt: skip
        for average in ("probability", "log_odds"):
            for bags in range(1, 6):
                K = 2 if bags % 2 else 3
                labels = [[0, 1], ["no", "yes"]][bags > 2] if K == 2 else WORDS[:3]
                yield case(
                    f"{lib}-down-{average}-{bags}-{K}", downsampled, library,
                    kinds[bags % len(kinds)], labels if library == "lightgbm" else list(range(K)),
                    average=average, n_bags=bags,
                )  # fmt: skip
        for name, make in BINARY_CALIBRATORS.items():
            for inner in ("booster", "downsampled"):
                kind = "categories" if inner == "booster" else "missing"
                yield case(
                    f"{lib}-cal-{name}-{inner}", calibrated, library, kind, [0, 1], make(), inner
                )
        yield case(f"{lib}-cal-3", calibrated, library, "array", [0, 1, 2], TemperatureCalibrator())
        yield case(f"{lib}-cal-means", calibrated, library, "array", [0, 1], None, "log_odds")
        yield case(
            f"{lib}-cal-ordinal", calibrated, library, "array", [0, 1, 2], TemperatureCalibrator(),
            ours=True, objective=go.ordinal_logit_objective(3),
        )  # fmt: skip
        for name, (role, labels, parameters) in SINGLE.items():
            yield case(
                f"{lib}-{name}", single, library, "categories", labels, role,
                **(parameters(library) if callable(parameters) else parameters),
            )  # fmt: skip
        for name, parameters in BOOSTERS.items():
            parameters = dict(parameters)
            if "as_" in parameters:
                parameters |= PLAIN[library][parameters.pop("as_")]
            labels = parameters.pop("labels", [0, 1])
            kind = parameters.pop("kind", "categories")
            yield case(f"{lib}-booster-{name}", booster, library, kind, labels, **parameters)
    yield case("lgb-booleans", single, "lightgbm", "frame", [False, True], "Classifier")
    yield case("lgb-down-booleans", downsampled, "lightgbm", "frame", [False, True], n_bags=2)
    yield case("xgb-numbers", single, "xgboost", "missing", [0, 1], "Classifier", missing=-1.0)
    yield case("xgb-linear", single, "xgboost", "frame", [0, 1], "Classifier", booster="gblinear")
    yield case("xgb-dart", single, "xgboost", "frame", [0, 1, 2], "Classifier", booster="dart")
    yield case("blend-array", blend, "missing", [1, 2, 3, 4])
    yield case("blend-categories", blend, "categories", WORDS[:3])
    yield case("blend-all", blend, "categories", WORDS[:3], weights=[1, 3], ensemble=False)
    yield case("stack-frame", stack, "frame", [0, 1], calibrator=LogitCalibrator())
    yield case("stack-all", stack, "missing", [0, 1], ensemble=False)
    yield case("stack-one", stack, "array", ["no", "yes"], ("lightgbm",))
    yield case("blend-same", blend, "frame", [1, 2, 3], ("lightgbm", "lightgbm"))
    for labels in ([1, 2, 3], WORDS[:5], list(range(10)), [0.5, 1.5]):
        yield case(f"thresholds-{len(labels)}", score_thresholds, labels)


QWK: dict[str, dict[str, Any]] = {
    "groups": {"groups": True},
    "segment": {"segment": "grade", "handle_unknown": "common"},
    "segment-words": {"segment": "site"},
    "objective": {"objective": "qwk"},
    "one": {"ensemble": False},
    "one-objective": {"ensemble": False, "objective": "qwk"},
    "stopping": {"early_stopping_rounds": 2},
    "target": {"target": True},
    "classifier-free": {"method": "rounding"},
}
SINGLE: dict[str, tuple[str, Any, Any]] = {
    "identity": ("Regressor", [0.0, 1.0, 2.5], {}),
    "logit": ("Classifier", [0, 1], {}),
    "softmax": ("Classifier", [0, 1, 2], {}),
    "log": (
        "Regressor", [0, 1, 3],
        lambda library: {"objective": {"lightgbm": "poisson", "xgboost": "count:poisson"}[library]},
    ),
    "our-identity": ("Regressor", [0, 1, 2, 3], {"ours": True, "objective": go.qwk_objective()}),
    "our-log": ("Regressor", [0, 1, 3], {"ours": True, "objective": LOG}),
    "our-logit": (
        "Classifier", [0, 1], {"ours": True, "objective": go.weighted_logloss_objective(0.5)}
    ),
    "our-softmax": ("Classifier", [0, 1, 2], {"ours": True, "objective": SOFTMAX}),
    "our-ordinal": (
        "Classifier", [0, 1, 2, 3], {"ours": True, "objective": go.ordinal_logit_objective(4)}
    ),
    "our-focal": ("Classifier", [0, 1], {"ours": True, "objective": go.focal_objective(2.0)}),
    "our-plain": ("Classifier", [0, 1], {"ours": True}),
}  # fmt: skip
PLAIN: dict[str, dict[str, Any]] = {
    "lightgbm": {
        "logit": {"objective": "binary"}, "softmax": {"objective": "multiclass", "num_class": 3},
        "identity": {"objective": "regression"}, "log": {"objective": "tweedie"},
    },
    "xgboost": {
        "logit": {"objective": "binary:logistic"},
        "softmax": {"objective": "multi:softprob", "num_class": 3},
        "identity": {"objective": "reg:squarederror"}, "log": {"objective": "reg:tweedie"},
    },
}  # fmt: skip
TWO, FOUR = Thresholds([0.4], ["reject", "accept"]), Thresholds([0.6, 1.2, 2.0], WORDS[:4])
BOOSTERS: dict[str, dict[str, Any]] = {
    "logit": {"ours": go.weighted_logloss_objective(0.5)},
    "logit-all": {
        "ours": go.weighted_logloss_objective(0.5),
        "shift": go.log_odds_shift(negative_keep_rate=0.2),
        "calibrator": LogitCalibrator(), "thresholds": TWO,
    },
    "margin": {
        "ours": go.weighted_logloss_objective(0.5),
        "calibrator": LogitCalibrator(input_space="margin"),
    },
    "identity": {"ours": go.qwk_objective(), "labels": [0, 1, 2, 3], "thresholds": FOUR},
    "identity-calibrated": {
        "ours": go.qwk_objective(), "labels": [0, 1, 2, 3],
        "calibrator": LogitCalibrator(input_space="margin"), "kind": "array",
    },
    "isotonic": {
        "ours": go.qwk_objective(), "labels": [0, 1, 2, 3],
        "calibrator": IsotonicRegression(out_of_bounds="clip"), "kind": "missing",
    },
    "log": {"ours": LOG, "labels": [0, 1, 3], "thresholds": Thresholds([1.0], [0, 1])},
    "softmax": {
        "ours": SOFTMAX, "labels": [0, 1, 2],
        "shift": go.log_odds_shift(class_keep_rates=[0.1, 0.5, 1]),
    },
    "rule": {
        "ours": SOFTMAX, "labels": [0, 1, 2],
        "thresholds": DecisionRule([1, 2, 1.5], [0, 0.3, 0.1], WORDS[:3], 1.4, [0.2, -0.3, 0.1]),
    },
    "actions": {
        "ours": SOFTMAX, "labels": [0, 1, 2],
        "thresholds": ActionRule(
            [[0.1, 2], [1.5, 0.3], [0.7, 1.1]], ["wait", "act"], [0, 1, 2], [0, 0.05]
        ),
    },
    "rule-of-two": {
        "ours": go.weighted_logloss_objective(0.5), "kind": "array",
        "thresholds": DecisionRule([1, 2], [0, 0.1], [0, 1]),
    },
    "focal-score": {"ours": go.focal_objective(2.0), "thresholds": Thresholds([0.0], [0, 1])},
    **{
        f"plain-{link}": {"plain": True, "as_": link, "labels": labels, "kind": kind}
        for link, labels, kind in (
            ("logit", [0, 1], "array"), ("softmax", [0, 1, 2], "frame"),
            ("identity", [0, 1, 2.5], "float32"), ("log", [0, 1, 2], "categories"),
        )
    },
}  # fmt: skip
CASES = list(cases())


# What a folder does by itself.


@cache
def compiled(source: str) -> Any:
    """The code of a predict.py, compiled once."""
    return compile(source, "predict.py", "exec")


def run_path(path: Path, name: str = "predict") -> dict[str, Any]:
    """The names of a script that has run in a namespace of its own, as ``runpy.run_path``."""
    names = {"__name__": name, "__file__": str(path)}
    exec(compiled(path.read_text("utf-8")), names)
    return names


def served(folder: Path) -> Any:
    """The model of predict.py."""
    return run_path(folder / "predict.py")["Model"](folder)


def run_script(folder: Path, *arguments: str) -> tuple[Any, str]:
    """Exit status and output of ``python predict.py ARGUMENTS``, in this process."""
    out, before = io.StringIO(), sys.argv
    sys.argv = ["predict.py", *arguments]
    try:
        with redirect_stdout(out):
            run_path(folder / "predict.py", "__main__")
    except SystemExit as end:
        return end.code, out.getvalue()
    finally:
        sys.argv = before
    return 0, out.getvalue()
