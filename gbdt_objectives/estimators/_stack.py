"""Several classifiers in one CalibratedClassifier: their log-odds, put together.

The blend has the log-odds c + sum over members j of beta_j z_j, where c and beta >= 0 are those of
a logistic regression of the labels on the members' out-of-fold log-odds.

Symbols: n rows, M members, z their log-odds (n, M), beta the weight of each (M,), c the intercept.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from gbdt_objectives._checks import Array, shown, warn
from gbdt_objectives._steps.formulas import sigmoid
from gbdt_objectives.adapters._models import predict_probability
from gbdt_objectives.calibration import rows as _rows
from gbdt_objectives.calibration.calibrators import finite_targets, fit_logistic
from gbdt_objectives.calibration.temperature_calibrator import class_offset
from gbdt_objectives.estimators import _base
from gbdt_objectives.estimators._members import Kind, Members

CLASSIFIERS = Kind(
    "classifier", _base.check_classifier, 1,
    "write pairs, [('trees', LGBMClassifier()), ('linear', make_pipeline(StandardScaler(), "
    "LogisticRegression()))]",
)  # fmt: skip

LARGEST = 745.0
"""Log-odds beyond it are those of probabilities that float64 rounds to 0."""


class Blend(NamedTuple):
    """How members are put together; of a single one its own probabilities are."""

    weights: Array
    intercept: float
    limits: Array  # within which log-odds of each member count: of some that were certain, finite

    def probability(self, models: Sequence[Any], X: Any) -> Array:
        """(n, 2), or (n, K) of a single member; those of weight 0 are not asked."""
        if len(models) == 1:
            return predict_probability(models[0], X)
        used = [
            beta * odds_of(model, X).clip(-limit, limit)
            for model, beta, limit in zip(models, self.weights, self.limits, strict=True)
            if beta > 0
        ]
        return both_columns(sum(used) + self.intercept)

    def put_together(self, score: Array) -> Array:
        """The same, of what :func:`score` gives."""
        if len(self.weights) == 1:
            return score
        z = score.clip(-self.limits, self.limits)
        return both_columns(z @ self.weights + self.intercept)


def both_columns(z: Array) -> Array:
    with np.errstate(over="ignore"):
        return np.column_stack([sigmoid(-z), sigmoid(z)])


def odds_of(model: Any, X: Any) -> Array:
    """(n,), infinite where the model is certain."""
    with np.errstate(divide="ignore"):
        return _base.second_log_odds(predict_probability(model, X))


def score(models: Sequence[Any], X: Any) -> Array:
    """What is put together: log-odds of the models (n, M), of one its probabilities (n, K)."""
    if len(models) == 1:
        return predict_probability(models[0], X)
    return np.column_stack([odds_of(model, X) for model in models])


def fit_blend(
    members: Members, z: Array, position: Array, w: Array | None, rates: Mapping[str, Any]
) -> Blend:
    """The blend of greatest likelihood of rows held out, in the population that rates are of."""
    M = len(members)
    if M == 1:
        return Blend(np.ones(1), 0.0, np.full(1, LARGEST))
    limits = np.array([find_limit(own) for own in z.T])
    own = _rows.weigh_rows(position.astype(np.float64), z.clip(-limits, limits), w, "y")
    own.p[:, [_rows.is_one_score(each) for each in own.p.T]] = 0.0  # whose rounding says nothing
    _rows.check_both_labels("y", own)
    named = dict.fromkeys(("negative_keep_rate", "keep_rate", "class_keep_rates")) | dict(rates)
    sampling = class_offset(**named, rows=own, classes=np.arange(2))
    offset = sampling[..., 1] - sampling[..., 0]
    *beta, c = fit_logistic([*own.p.T], own.y, own.w, rising=True, offset=offset)
    targets = finite_targets(own.y, own.p @ beta, own.w) if any(beta) else own.y
    if targets is not own.y:  # it separates the labels: no likelihood is the greatest
        *beta, c = fit_logistic([*own.p.T], targets, own.w, rising=True, offset=offset)
    if not any(beta):
        warn(
            "the out-of-fold log-odds of no member rise with the label: the members have learnt "
            "nothing that holds on new rows, and count alike"
        )
        return Blend(np.full(M, 1 / M), 0.0, limits)
    unused = [name for (name, _), each in zip(members, beta, strict=True) if each == 0]
    if unused:
        warn(
            f"weights_ is 0 for {shown(unused)}, which adds nothing to the others on rows held "
            "out: predictions do without it, and without it in the list fit takes less time"
        )
    return Blend(np.array(beta), c, limits)


def find_limit(z: Array) -> float:
    """The greatest log-odds of a member that is certain of some rows, as forests are: certainty
    counts no more than what comes next to it. 1 of one that is always certain."""
    known = np.abs(z[np.isfinite(z)])
    if len(known) == len(z):
        return LARGEST
    return float(known.max()) if known.any() else 1.0


def check_two_classes(estimator: Any, classes: Array) -> None:
    if isinstance(estimator, list) and len(classes) > 2:
        raise ValueError(
            "several classifiers are put together by log-odds, of two classes, found the classes "
            f"{shown(classes.tolist())}: pass one classifier, or fit y == label"
        )


def common_classes(members: Members) -> Array:
    """The classes of members that are fitted."""
    first, *others = [np.asarray(model.classes_) for _, model in members]
    for (name, _), own in zip(members[1:], others, strict=True):
        if own.tolist() != first.tolist():
            raise ValueError(
                f"estimator {name!r} has the classes {shown(own.tolist())}, but the first has "
                f"{shown(first.tolist())}: fit all on the same labels"
            )
    return first
