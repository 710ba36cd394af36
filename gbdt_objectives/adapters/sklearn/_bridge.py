"""What we use of scikit-learn's private API: the same names from 1.2 to 1.9, tested one by one.

The library's fit asks the estimator's ``_get_loss`` for a ``BaseLoss``, which gets all rows at
once, ``_encode_y`` (and from 1.7 ``_encode_y_val``) for labels as numbers, and
``_check_early_stopping_loss`` after each round. A fit of ours answers instead. Then ``_loss`` is
scikit-learn's own of the same link, so that its own code predicts.
"""

from __future__ import annotations

from copy import copy
from typing import Any

import numpy as np
from sklearn._loss import loss as losses
from sklearn.ensemble import HistGradientBoostingRegressor

from gbdt_objectives._checks import Array
from gbdt_objectives._links import IDENTITY, LOG, LOGIT, OPAQUE, Link
from gbdt_objectives.adapters._train import StartedObjective

HOOKS = ("_get_loss", "_encode_y", "_check_early_stopping_loss", "_raw_predict")
for _name in HOOKS:
    getattr(HistGradientBoostingRegressor, _name)  # raises here, where a fit of ours asks for it

OWN = {LOG.name: losses.HalfPoissonLoss, LOGIT.name: losses.HalfBinomialLoss}
LINKS = {"IdentityLink": IDENTITY, "LogLink": LOG, "LogitLink": LOGIT}
"""By scikit-learn's classes of links."""


def own_loss(link: Link, outputs: int) -> losses.BaseLoss:
    """scikit-learn's loss of this link, by which its own code predicts."""
    if link.takes_several:
        return losses.HalfMultinomialLoss(n_classes=outputs)
    return OWN.get(link.name, losses.HalfSquaredError)()


class ObjectiveLoss(losses.BaseLoss):  # type: ignore[misc]
    """An objective as scikit-learn's loss."""

    def __init__(self, started: StartedObjective, is_weighted: bool) -> None:
        objective = started.objective
        link = own_loss(objective.link, objective.outputs).link
        super().__init__(closs=None, link=link, n_classes=objective.outputs)
        self.started, self.is_multiclass = started, objective.outputs > 1
        declared = objective.hessian_kind == "constant" and not objective.equations.whole
        self.constant_hessian = declared and not is_weighted
        if objective.n_classes is not None:  # by which scikit-learn knows to stratify
            self.predict_proba = lambda f: self.started.objective.class_probability(margin_of(f))

    def fit_intercept_only(self, y_true: Array, sample_weight: Array | None = None) -> Array:
        self.started.objective = self.started.objective.measured(y_true, sample_weight)
        return np.asarray(StartedObjective.margin_of(self.started.objective), np.float64)

    def gradient(
        self, y_true: Array, raw_prediction: Array, sample_weight: Array | None,
        gradient_out: Array, n_threads: int = 1,
    ) -> None:  # fmt: skip
        gradient_out[...], _ = self.started(y_true, margin_of(raw_prediction), sample_weight)

    def gradient_hessian(
        self, y_true: Array, raw_prediction: Array, sample_weight: Array | None,
        gradient_out: Array, hessian_out: Array, n_threads: int = 1,
    ) -> None:  # fmt: skip
        found = self.started(y_true, margin_of(raw_prediction), sample_weight)
        gradient_out[...], hessian_out[...] = found


def margin_of(raw: Array) -> Array:
    """Margins (n,) or (n, K) of scikit-learn's, always (n, K)."""
    return raw[:, 0] if raw.shape[1] == 1 else raw


def predict_of_margins(estimator: Any, raw: Array) -> Array:
    """What the loss of a fit predicts of its margins: the probability of label 1 of two."""
    loss = estimator._loss
    if not hasattr(loss, "predict_proba"):
        return np.asarray(loss.link.inverse(margin_of(raw)))
    p: Array = loss.predict_proba(raw)
    return p[:, 1] if p.shape[1] == 2 else p


def margins_of(model: Any) -> tuple[str, Link]:
    """The loss of a fitted model, and what its margins are."""
    if (objective := getattr(model, "objective_", None)) is not None:
        return repr(objective), objective.link
    loss, link = model._loss, LINKS.get(type(model._loss.link).__name__, OPAQUE)
    several = isinstance(loss, losses.HalfMultinomialLoss)
    return type(loss).__name__, Link.softmax(loss.n_classes) if several else link


def add_to_margins(model: Any, delta: Array) -> Any:
    """A copy whose margins, of K outputs, are larger by this, (K,)."""
    moved = copy(model)
    moved._baseline_prediction = model._baseline_prediction + delta
    moved._predictors = list(model._predictors)
    return moved


def keep_rounds(model: Any, rounds: int) -> None:
    del model._predictors[rounds:]
    model.train_score_ = model.train_score_[: rounds + 1]
    model.validation_score_ = model.validation_score_[: rounds + 1]
