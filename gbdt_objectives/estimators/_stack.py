"""Several classifiers in one CalibratedClassifier: c + z @ beta, by a logistic regression.

Symbols: n rows, M members, z their log-odds (n, M), beta >= 0 the weights (M,), c the intercept.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Any

import numpy as np

from gbdt_objectives._checks import Array, shown, warn
from gbdt_objectives._steps.formulas import sigmoid
from gbdt_objectives.adapters._models import predict_probability
from gbdt_objectives.calibration import rows as _rows
from gbdt_objectives.calibration.calibrators import LogitCalibrator, finite_targets
from gbdt_objectives.calibration.temperature_calibrator import class_offset
from gbdt_objectives.estimators import _base
from gbdt_objectives.estimators._members import Kind, Members

CLASSIFIERS = Kind(
    "classifier", _base.check_classifier, 1,
    "write pairs, [('trees', LGBMClassifier()), ('linear', make_pipeline(StandardScaler(), "
    "LogisticRegression()))]",
)  # fmt: skip

Blend = Mapping[str, Any]
"""The attributes weights_, intercept_ and limits_; none where there is no list of members."""


def probability(blend: Blend, models: Any, X: Any) -> Array:
    """(n, K) by the models of one fold, or of all rows."""
    return put_together(blend, score(models, X, blend.get("weights_")))


def score(models: Any, X: Any, weights: Array | None = None) -> Array:
    """What is put together: log-odds of the models (n, M), infinite where one is certain, 0 of one
    of weight 0, which is not asked; of a single one its probabilities (n, K)."""
    if not isinstance(models, list) or len(models) == 1:
        return predict_probability(models[0] if isinstance(models, list) else models, X)
    beta = np.ones(len(models)) if weights is None else weights
    used = [model if b > 0 else None for model, b in zip(models, beta, strict=True)]
    with np.errstate(divide="ignore"):
        z = [0.0 if m is None else _base.second_log_odds(predict_probability(m, X)) for m in used]
    return np.column_stack(np.broadcast_arrays(*z))


def put_together(blend: Blend, score: Array) -> Array:
    """The probabilities of each class."""
    if len(blend.get("weights_", [1])) == 1:
        return score
    z = score.clip(-blend["limits_"], blend["limits_"]) @ blend["weights_"] + blend["intercept_"]
    return np.column_stack([sigmoid(-z), sigmoid(z)])


def fit_blend(
    estimator: Any, z: Array, position: Array, w: Array | None, rates: Mapping[str, Any]
) -> Blend:
    """The blend of greatest likelihood of rows held out, in the population that rates are of."""
    if not isinstance(estimator, list):
        return {}
    limits = np.array([find_limit(own) for own in z.T[: len(estimator)]])
    if len(estimator) == 1:
        return {"weights_": np.ones(1), "intercept_": 0.0, "limits_": limits}
    own = _rows.LabelledRows.weighed(position.astype(np.float64), z.clip(-limits, limits), w, "y")
    own.p[:, [_rows.is_one_score(each) for each in own.p.T]] = 0.0  # whose rounding says nothing
    _rows.check_both_labels("y", own)
    named = dict.fromkeys(("negative_keep_rate", "keep_rate", "class_keep_rates")) | dict(rates)
    sampling = class_offset(**named, rows=own, classes=np.arange(2))
    offset = sampling[..., 1] - sampling[..., 0]
    fit = partial(LogitCalibrator._fit_logistic, [*own.p.T], rising=True, offset=offset)
    *beta, c = fit(own.y, own.w)
    targets = finite_targets(own.y, own.p @ beta, own.w) if any(beta) else own.y
    if targets is not own.y:  # it separates the labels: no likelihood is the greatest
        *beta, c = fit(targets, own.w)
    if not any(beta):
        warn("the out-of-fold log-odds of no member rise with the label: all count alike")
        beta, c = [1 / len(beta)] * len(beta), 0.0
    elif unused := [name for (name, _), each in zip(estimator, beta, strict=True) if not each]:
        warn(f"weights_ is 0 for {shown(unused)}: leave out of the list what adds nothing")
    return {"weights_": np.array(beta), "intercept_": c, "limits_": limits}


def find_limit(z: Array) -> float:
    """The greatest log-odds that count, 2 log 2n: an outlier of a linear member would be all that
    the stretch sees. Of a member that is certain of some rows, as forests are, the greatest of the
    others: certainty counts no more than what comes next to it. 1 if it always is."""
    known, limit = np.abs(z[np.isfinite(z)]), 2 * np.log(2 * len(z))
    if len(known) < len(z):
        limit = min(limit, known.max()) if known.any() else 1.0
    return float(limit)


def common_classes(members: Members) -> Array:
    """The classes of members that are fitted."""
    found = [np.asarray(model.classes_) for _, model in members]
    if len({tuple(each.tolist()) for each in found}) > 1:
        classes = shown([each.tolist() for each in found])
        raise ValueError(f"estimator has the classes {classes}: fit all on the same labels")
    return found[0]
