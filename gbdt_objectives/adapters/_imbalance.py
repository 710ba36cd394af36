"""The shift that a model's log-odds need, inferred from a sample of its population."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import expit
from sklearn.utils.validation import check_is_fitted

from gbdt_objectives import _checks
from gbdt_objectives._checks import Array
from gbdt_objectives._links import LOGIT
from gbdt_objectives._registry import library_in_role
from gbdt_objectives._rows.rows import dot
from gbdt_objectives.calibration.calibrators import find_shift
from gbdt_objectives.calibration.rows import weigh_rows
from gbdt_objectives.priors import LogOddsShift

SPELLING = "write imbalance_shift(model, X, y), or imbalance_shift(booster, y=training_labels)"


def check_training_labels(y: ArrayLike | None, **of_sample: ArrayLike | None) -> None:
    """Raise for arguments that are meant as a sample, but have no features."""
    for name, given in of_sample.items():
        if given is not None:
            raise ValueError(f"{name} is for a sample, but X is missing: {SPELLING}")
    if y is None:
        return
    if hasattr(y, "get_label") or np.ndim(y) == 2:
        raise TypeError(f"y must be labels, (n,), found {_checks.shown(y)}: {SPELLING}")
    _checks.binary_labels("y", _checks.vector("y", y))


def check_sample(X: Any, y: ArrayLike | None) -> None:
    """Raise unless there are labels, and X is not swapped with them."""
    if _checks.is_column_of_numbers(X):
        raise TypeError(f"X must be features, (n, features), found {_checks.shown(X)}: {SPELLING}")
    if y is None:
        raise ValueError(f"X is given without y, the labels of its rows: {SPELLING}")


def infer_of_classifier(
    model: Any, X: Any, y: ArrayLike | None, w: ArrayLike | None, counts: ArrayLike | None
) -> LogOddsShift:
    """The shift of any fitted classifier of two classes."""
    if X is None:
        kind = type(model)
        own = (
            "from an estimator take get_booster() or booster_, whose parameters say nothing of "
            "class_weight and sample_weight; or "
        ) * (hasattr(kind, "get_booster") or hasattr(kind, "booster_"))
        raise TypeError(
            f"booster must be a Booster if X is missing, found {kind.__name__}: {own}pass a "
            "sample of the population, imbalance_shift(model, X, y)"
        )
    check_sample(X, y)
    check_is_fitted(model)
    classes = np.asarray(model.classes_)
    if len(classes) != 2:
        raise ValueError(
            f"the model has the classes {_checks.shown(classes.tolist())}: only two have one shift"
        )
    p = predict_probability(model, X)
    with np.errstate(divide="ignore"):
        z = np.log(p[:, 1]) - np.log(p[:, 0])
    return infer_shift(_checks.positions("y", np.asarray(y), classes), z, w, counts)


def infer_shift(
    y: ArrayLike | None, z: Array, sample_weight: ArrayLike | None, counts: ArrayLike | None
) -> LogOddsShift:
    """d with sum w sigmoid(z + d) = sum w y, z log-odds (n,)."""
    assert y is not None
    labels = _checks.vector("y", y).astype(np.float64)
    _checks.binary_labels("y", labels)
    rows = weigh_rows(labels, z, sample_weight, "X", counts)
    share = dot(rows.weight, rows.y) / rows.weight.sum()
    if not 0 < share < 1:
        raise ValueError(
            f"y has rows of one class only, {share:g} of the weight positive: pass a sample of the "
            "population with rows of both"
        )
    d = find_shift(rows.y, rows.p, rows.weight)
    p = expit(rows.p + d)
    variance = dot(rows.weight * rows.w, (rows.y - p) ** 2)
    return LogOddsShift(d, float(np.divide(np.sqrt(variance), dot(rows.weight, p * (1 - p)))))


def predict_probability(model: Any, X: Any) -> Array:
    """(n, K) in float64; from the margin where a float32 probability would round to 1."""
    library, objective = library_in_role(model, "Classifier"), getattr(model, "objective", None)
    X = X if library is None else library.fitting.by_name(model, X)
    link = LOGIT if objective == "binary:logistic" else getattr(objective, "link", None)
    if library is not None and link is not None and LOGIT.name == link.name:
        margin = _checks.vector("margin", library.fitting.margin(model, X=X))
        return link.class_probability(margin.astype(np.float64))
    p = np.asarray(model.predict_proba(X), np.float64)
    name = f"predict_proba of {type(model).__name__}"
    if objective is not None:
        name += f" with objective={objective!r}"
    if p.ndim != 2:
        raise ValueError(f"{name} must be (n, K), a column per class, found shape {p.shape}")
    return _checks.probabilities(name, p)


LEQ, LT, MEMBER = 0, 1, 6
"""The tests of a node, by the operator's numbers: x <= value, x < value, x in a set."""

Child = tuple[int, bool]  # the place of a node, or of a leaf where the second is True


@dataclass(eq=False)
class Trees:
    """Margins are ``base`` and the sums of leaves, (n, K). All numbers are exact in float64."""

    base: Array
    is_float32: bool  # whether the booster compares features as float32
    roots: list[int] = field(default_factory=list)
    features: list[int] = field(default_factory=list)
    modes: list[int] = field(default_factory=list)
    values: list[float] = field(default_factory=list)
    sets: list[list[float]] = field(default_factory=list)
    missing_is_true: list[bool] = field(default_factory=list)
    children: list[tuple[Child, Child]] = field(default_factory=list)
    targets: list[int] = field(default_factory=list)
    leaves: list[float] = field(default_factory=list)

    def add(self, target: int, nodes: dict[Any, Any], root: Any) -> None:
        """A tree: of each key a leaf's number or (feature, mode, value, missing_is_true, keys)."""
        if isinstance(nodes[root], float):
            self.base[target] += nodes[root]
            return
        inner = [key for key, node in nodes.items() if not isinstance(node, float)]
        places = enumerate(inner, len(self.features))
        found: dict[Any, Child] = {key: (place, False) for place, key in places}
        for key, node in nodes.items():
            if isinstance(node, float):
                found[key] = (len(self.leaves), True)
                self.targets.append(target)
                self.leaves.append(node)
        for key in inner:
            feature, mode, value, missing_is_true, (yes, no) = nodes[key]
            self.features.append(feature)
            self.modes.append(mode)
            self.values.append(0.0 if mode == MEMBER else value)
            if mode == MEMBER:
                self.sets.append(value)
            self.missing_is_true.append(missing_is_true)
            self.children.append((found[yes], found[no]))
        self.roots.append(found[root][0])
