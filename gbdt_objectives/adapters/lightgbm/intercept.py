"""The intercept of a LightGBM model, in training and after, and what its parameters did to it."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from dataclasses import replace
from pathlib import Path
from typing import Any

import lightgbm as lgb
import numpy as np
from numpy.typing import ArrayLike
from scipy.special import logit

from gbdt_objectives import _checks
from gbdt_objectives._checks import Array, Layout, column_names, shown, warn
from gbdt_objectives._checks.tables import plain_names
from gbdt_objectives._links import CHANGED, IDENTITY, LOG, LOGIT, OPAQUE, SOFTMAX, UNDECLARED, Link
from gbdt_objectives.adapters import _arguments, _train
from gbdt_objectives.objectives import Objective

LOGISTIC_OBJECTIVES = ("binary", "cross_entropy")
CUSTOM = "custom"  # what LightGBM's parameters call an objective that is not its own


def shift_intercept(booster: lgb.Booster, delta: ArrayLike, mark: str = "") -> lgb.Booster:
    """A shifted copy, with the shift in its leaves, in its text: for linear trees LightGBM (4.7)
    ignores set_leaf_output."""
    _arguments.check_booster(booster, lgb.Booster, "booster_")
    sigmoid = _sigmoid(booster)
    if booster.num_trees() == 0:
        raise ValueError("the booster has no tree: there is no leaf to hold the intercept")
    raw = _arguments.read_shift(delta, booster.num_model_per_iteration()) / sigmoid
    text = add_to_leaves(booster.model_to_string(num_iteration=-1), raw)
    moved = lgb.Booster(model_str=marked(text, mark) if mark else text)
    moved.best_iteration, moved.best_score = booster.best_iteration, booster.best_score
    moved.params = dict(booster.params)  # which old versions do not read from a text
    before = _first_margin(booster)
    tolerance = 1e-9 * (1 + np.abs(before) + np.abs(raw))
    _arguments.check_moved(_first_margin(moved), before + raw, tolerance)
    return moved


def marked(text: str, mark: str) -> str:
    """The text of a model with what corrects its log-odds among its parameters, where LightGBM
    keeps it; it warns of what it does not know, but not without a value."""
    text = re.sub(rf"(?m)^\[{_train.MARK} .*\n", "", text)
    return text.replace("\nparameters:\n", f"\nparameters:\n[{_train.MARK} {mark}: ]\n", 1)


def mark_of(booster: lgb.Booster) -> str | None:
    found = re.search(rf"(?m)^\[{_train.MARK} (.*): \]$", booster.model_to_string(num_iteration=1))
    return found and found[1]


def margins_of(booster: lgb.Booster) -> tuple[str, Link]:
    name, *_ = read_objective(booster)
    return name, UNDECLARED if name == CUSTOM else OF_LIGHTGBM.get(name, OPAQUE)


def read_odds(booster: lgb.Booster, y: ArrayLike | None) -> float:
    """The factor by which its parameters multiplied the odds of label 1."""
    _arguments.check_booster(booster, lgb.Booster, "booster_")
    parameters = _read_parameters(booster)
    objective = parameters["objective"]
    if objective not in (*LOGISTIC_OBJECTIVES, CUSTOM):
        _arguments.refuse_objective(objective, _arguments.NO_LOG_ODDS)
    if objective != "binary":
        return 1.0
    odds = float(parameters["scale_pos_weight"])
    if parameters["is_unbalance"] == "1":
        odds *= _negatives_per_positive(y)
    if parameters["data_sample_strategy"] == "bagging" and parameters["bagging_freq"] != "0":
        odds *= float(parameters["pos_bagging_fraction"])
        odds /= float(parameters["neg_bagging_fraction"])
    learned = float(parameters["learning_rate"]) * booster.current_iteration()
    # LightGBM starts at the share of label 1 without weights, and few rounds leave it near there
    if odds != 1 and learned < 4 and parameters["boost_from_average"] == "1":
        warn(
            f"learning_rate times rounds is {learned:.3g}: after so few the model has not yet come "
            "to the odds of its parameters, and the shift that is read from them is too large: "
            "pass rows of the population, imbalance_shift(booster, X, y)"
        )
    return odds


def add_to_leaves(text: str, raw: Array) -> str:
    """The text of a model as LightGBM writes it, with raw scores added to intercepts, (K,)."""
    K = len(raw)
    first, last = text.index("\nTree=0\n") + 1, text.index("\nend of trees\n") + 1
    head, rest = text[:first], text[last:]
    # LightGBM (4.7) cannot read its own models if they were trained on columns given by name
    rest = re.sub(r"(?m)^\[(categorical_feature|ignore_column): name:.*\]$", r"[\1: ]", rest)
    # an average needs it in all trees, a sum in the first of each output
    after = -1 if "\naverage_output\n" in head else text.find(f"\nTree={K}\n", first)
    end = last if after < 0 else after + 1
    trees = re.split(r"(?m)^(?=Tree=\d+$)", text[first:end])[1:]
    edited = [_add_to_tree(tree, float(raw[t % K])) for t, tree in enumerate(trees)]
    sizes = " ".join(str(len(tree)) for tree in edited)  # a wrong one aborts the process
    head = re.sub(rf"(?m)^tree_sizes=\d+( \d+){{{len(edited) - 1}}}", f"tree_sizes={sizes}", head)
    return "".join([head, *edited, text[end:last], rest])


def _add_to_tree(tree: str, delta: float) -> str:
    """Add to all leaves of a tree, as LightGBM itself does to the tree that holds its average.
    Linear trees have leaf_const too, and use leaf_value where a feature is missing. refit
    multiplies new leaves by the tree's shrinkage, which does not apply to an intercept."""
    if delta == 0:
        return tree

    def added(line: re.Match[str]) -> str:
        digits = "g" if line[1] == "internal_value=" else ".17g"
        return line[1] + " ".join(format(float(v) + delta, digits) for v in line[2].split())

    tree = re.sub(r"(?m)^((?:leaf_value|leaf_const|internal_value)=)(.*)$", added, tree)
    return re.sub(r"(?m)^shrinkage=.*$", "shrinkage=1", tree)


def _of_copy(name: str) -> Callable[..., Any]:
    return lambda self, *args, **kwargs: getattr(self.complete(), name)(*args, **kwargs)


class Booster(lgb.Booster):
    """A booster in training: its trees lack the intercept, and its objective has no name. What is
    read of it has both. ``lightgbm.train`` ends with ``model_from_string(model_to_string())``."""

    __module__, __qualname__ = lgb.Booster.__module__, lgb.Booster.__qualname__  # MLflow reads them
    save_model, predict = _of_copy("save_model"), _of_copy("predict")
    dump_model, refit = _of_copy("dump_model"), _of_copy("refit")
    lower_bound, upper_bound = _of_copy("lower_bound"), _of_copy("upper_bound")
    get_leaf_output = _of_copy("get_leaf_output")
    _started: _train.StartedObjective

    def complete(self, num_iteration: int | None = -1) -> lgb.Booster:
        copy = lgb.Booster(model_str=self.model_to_string(num_iteration))
        copy.best_iteration, copy.best_score = self.best_iteration, self.best_score
        copy.params = dict(self.params)  # which old versions do not read from a text
        return _named(copy, self._started.objective)

    def model_to_string(
        self, num_iteration: int | None = None, start_iteration: int = 0, *args: Any, **kwargs: Any
    ) -> str:  # fmt: skip
        text = super().model_to_string(num_iteration, start_iteration, *args, **kwargs)
        objective, link = self._started.objective, self._started.objective.link
        text = text.replace("\nfeature_names=", f"\nobjective={link.lightgbm}\nfeature_names=", 1)
        trees, mark, rest = text.rpartition("\nparameters:\n")
        rest = re.sub(r"(?m)^\[objective: .*\]$", f"[objective: {link.refits}]", rest)
        text = trees + mark + rest
        if rate := _train.corrected_rate(objective):
            text = marked(text, f"{rate:.6g}")
        if start_iteration > 0 or not self.num_trees():
            return text
        return add_to_leaves(text, np.broadcast_to(self._started.lacks, objective.outputs))

    def model_from_string(self, model_str: str) -> lgb.Booster:
        self.__class__ = lgb.Booster  # type: ignore[assignment]
        self._Booster__set_objective_to_none = False  # or it would refuse to refit
        return _named(self.model_from_string(model_str), self.__dict__.pop("_started").objective)

    def __deepcopy__(self, *memo: Any) -> lgb.Booster:
        return self.complete()

    def __reduce_ex__(self, protocol: Any) -> Any:
        return object.__new__, (lgb.Booster,), self.complete().__getstate__()

    def set_leaf_output(self, tree_id: int, leaf_id: int, value: float) -> lgb.Booster:
        lacks = np.ravel(self._started.lacks)[tree_id : tree_id + 1].sum()
        return super().set_leaf_output(tree_id, leaf_id, value - lacks)

    def reset_parameter(self, params: dict[str, Any]) -> lgb.Booster:
        return _named(super().reset_parameter(params), self._started.objective)

    def _Booster__inner_eval(self, data_name: str, data_idx: int, feval: Any) -> Any:
        """Metrics see what the objective adds to margins, too."""
        shift, evaluate = self._started.shift, super()._Booster__inner_eval  # type: ignore[misc]
        if np.any(shift):
            each = feval if isinstance(feval, list) else [feval]
            feval = [one and _train.shift_metric(one, lambda data: shift) for one in each]
        return evaluate(data_name=data_name, data_idx=data_idx, feval=feval)


InTraining = Booster


def _named(booster: lgb.Booster, objective: Objective) -> lgb.Booster:
    """The booster, which says what it was trained on."""
    booster.params["objective"] = objective.link.refits
    return booster


def columns_in_order(model: Any, X: Any) -> Any:
    """Rows of a table with the model's columns in its order: LightGBM reads them by position."""
    booster = getattr(model, "_Booster", model)  # None in an estimator that is not fitted
    if booster is None or column_names(X) is None:
        return X
    return arranged(getattr(model, "_columns", None) or booster.feature_name(), X)


def predict_log_odds(booster: lgb.Booster, X: Any, sample_weight: ArrayLike | None) -> Array:
    """(n,) log-odds, as ``predict`` uses them; the raw score of a custom objective."""
    _arguments.check_booster(booster, lgb.Booster, "booster_")
    if isinstance(X, lgb.Dataset | str | Path):
        raise TypeError(
            f"X must be features, found a {type(X).__name__}: LightGBM predicts on arrays and "
            "DataFrames only, pass what the Dataset was made of"
        )
    X, (name, *_) = columns_in_order(booster, X), read_objective(booster)
    if name not in (*LOGISTIC_OBJECTIVES, CUSTOM):
        _arguments.refuse_objective(name, _arguments.NO_LOG_ODDS)
    if averages(booster):
        z = logit(np.asarray(booster.predict(X), np.float64))
    else:
        z = np.asarray(booster.predict(X, raw_score=True), np.float64) * _sigmoid(booster)
    return _checks.vector("the margin", z)


def _head_of(booster: lgb.Booster) -> str:
    """The text of a model before its trees."""
    return booster.model_to_string(num_iteration=1).split("\n\n", 1)[0]


def averages(booster: lgb.Booster) -> bool:
    """Whether predictions are means of the trees, as in a forest, but margins their sums."""
    return "average_output" in _head_of(booster).split("\n")


def read_objective(booster: lgb.Booster) -> list[str]:
    """Name and settings of a model's objective; "custom" if it is not LightGBM's own."""
    found = re.search(r"(?m)^objective=(.*)$", _head_of(booster))
    return [CUSTOM] if found is None else found[1].split()


def declared_link(booster: lgb.Booster) -> Link | None:
    """The link of a model's objective, if its file names one; "changed" by another scale."""
    name, *words = found = read_objective(booster)
    if "sqrt" in words or any(w.startswith("sigmoid:") and w != "sigmoid:1" for w in words):
        return replace(CHANGED, margins=f"those of {' '.join(found)!r}")
    return OF_LIGHTGBM.get(name)


def _sigmoid(booster: lgb.Booster) -> float:
    """Log-odds per raw score; raises if a shift of the raw score would not mean anything."""
    name, *settings = found = read_objective(booster)
    if name == CUSTOM:  # only the user knows what a margin is
        return 1.0
    if name == "multiclassova":
        raise ValueError(
            "the booster's objective is 'multiclassova', one model for each class against the "
            "rest, for which a change of class rates is not a constant shift: train 'multiclass'"
        )
    link = OPAQUE if "sqrt" in settings else OF_LIGHTGBM.get(name, OPAQUE)
    _arguments.check_shiftable(" ".join(found), link)
    return float(dict(setting.split(":") for setting in settings).get("sigmoid", 1))


OF_LIGHTGBM = {
    **dict.fromkeys(("regression", "regression_l1", "huber", "fair", "quantile", "mape"), IDENTITY),
    "binary": LOGIT, "cross_entropy": LOGIT, "multiclass": SOFTMAX,
    "poisson": LOG, "gamma": LOG, "tweedie": LOG,
}  # fmt: skip
"""The link of what models of LightGBM's objectives predict."""


def _first_margin(booster: lgb.Booster) -> Array:
    """Raw scores, (2, K), after the first round of a row of missing values and a row of zeros."""
    rows = np.repeat([[np.nan], [0.0]], booster.num_feature(), axis=1)
    score = booster.predict(rows, raw_score=True, num_iteration=1)
    return np.asarray(score, np.float64).reshape(2, -1)


def _read_parameters(booster: lgb.Booster) -> dict[str, str]:
    text = booster.model_to_string(num_iteration=1)
    block = text.partition("\nparameters:\n")[2].partition("\nend of parameters")[0]
    if not block:
        raise ValueError("the booster's model holds no parameters: how it was trained is unknown")
    return dict(re.findall(r"(?m)^\[(\w+): (.*)\]$", block))


def _negatives_per_positive(y: ArrayLike | None) -> float:
    if y is None:
        raise ValueError(
            "the booster was trained with is_unbalance, and its model does not hold the numbers "
            "of positives and negatives: pass the training labels, imbalance_shift(booster, y=y)"
        )
    labels = _checks.vector("y", y)
    _checks.binary_labels("y", labels)
    positives = int((labels == 1).sum())
    if not 0 < positives < len(labels):
        raise ValueError(
            f"y has one class only, found {positives} positives in {len(labels)} rows: pass all "
            "the training labels"
        )
    return (len(labels) - positives) / positives


def arranged(own: Iterable[Any] | None, X: Any, name: str = "X") -> Any:
    """A table with these columns in this order; as it is if it has none of them."""
    given, own = column_names(X) or [], plain_names(own)
    found = dict(zip(plain_names(given), given, strict=True))
    lacks = [column for column in own if column not in found]
    if given and len(lacks) == len(own):
        Layout(name=name, columns=given, trained_on=own, of="the training rows")
    if list(found) == own or len(lacks) == len(own):
        return X
    if lacks:
        raise ValueError(f"{name} lacks the model's columns {shown(lacks)}: pass all, by name")
    names = [found[column] for column in own]
    return X[names] if hasattr(X, "iloc") else X.select(names)
