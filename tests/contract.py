"""Every objective and metric, listed once: the tables that drive the contract tests.

To add an objective or a metric, add a row here; all of its tests then exist. A metric that has a
name (``NAMED`` of ``gbdt_objectives/metrics/classes.py``) has its row already.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from importlib.util import find_spec
from typing import Any

import numpy as np
from scipy.special import softmax

import gbdt_objectives as go
from gbdt_objectives._checks.arrays import REAL
from gbdt_objectives._rows.rows import Rows
from gbdt_objectives._rows.workers import some_rows
from gbdt_objectives.adapters._train import RowsOfParts
from gbdt_objectives.calibration.calibrators import Calibrator, LogOddsCalibrator
from gbdt_objectives.metrics.classes import NAMED

Array = np.ndarray[Any, Any]


def squared_error(y_true: Array, margin: Array, sample_weight: Array | None) -> tuple[Array, Array]:
    """A user's own gradient function."""
    w = np.ones_like(margin) if sample_weight is None else sample_weight
    return w * (margin - y_true), w


def softmax_gradient(
    y_true: Array, margin: Array, sample_weight: Array | None
) -> tuple[Array, Array]:
    """Of -log p of K margins."""
    w = np.ones((len(margin), 1)) if sample_weight is None else sample_weight[:, np.newaxis]
    p = softmax(margin, axis=1)
    return w * (p - np.eye(margin.shape[1])[y_true.astype(int)]), w * (p * (1 - p) + 1e-6)


def squared_error_loss(y_true: Array, margin: Array, sample_weight: Array | None) -> float:
    w = np.ones_like(margin) if sample_weight is None else sample_weight
    return float(0.5 * (w * (margin - y_true) ** 2).sum())


def pseudo_huber_loss(y_true: Any, margin: Any, sample_weight: Any) -> Any:
    """A user's own loss, for jax to differentiate."""
    import jax.numpy as jnp

    losses = jnp.sqrt(1 + (margin - y_true) ** 2)
    return (losses if sample_weight is None else sample_weight * losses).sum()


def log_squared_error_loss(y_true: Any, margin: Any, sample_weight: Any) -> Any:
    """n/2 log S, S = sum w (f-y)^2: one that couples rows."""
    import jax.numpy as jnp

    w = jnp.ones_like(margin) if sample_weight is None else sample_weight
    return w.sum() / 2 * jnp.log((w * (margin - y_true) ** 2).sum())


def costly_error(
    y_true: Array, margin: Array, sample_weight: Array | None, *, cost: Array, group: Array
) -> tuple[Array, Array]:
    """A user's own, with a cost and a group of each row."""
    w = cost if sample_weight is None else cost * sample_weight
    return w * (margin - y_true - group), w


def costly_error_loss(
    y_true: Array, margin: Array, sample_weight: Array | None, *, cost: Array, group: Array
) -> float:
    w = cost if sample_weight is None else cost * sample_weight
    return float(0.5 * (w * (margin - y_true - group) ** 2).sum())


def named(name: str, function: Any) -> Any:
    """A function whose messages have this name."""
    function.__name__ = name
    return function


def measured_in_parts(objective: go.Objective, parts: list[tuple[Any, Any]]) -> go.Objective:
    """The objective measured on the labels and weights of parts that lie elsewhere."""

    def run(function: Callable[[Rows], Any]) -> list[Any]:
        with some_rows():
            return [function(objective._read_labels(y, w)) for y, w in parts]

    return objective.measured_on(RowsOfParts(run=run))


def with_fields(objective: go.Objective, **fields: Any) -> go.Objective:
    """The objective of a loss with other fields."""
    return go.Objective(replace(objective.equations, **fields))


def ones(y: Array, p: Array, w: Array) -> float:
    return 1.0


COST = [[0, 1, 3, 4], [1, 0, 2, 4], [2, 1, 0, 1], [5, 4, 1, 0]]
"""What it costs to predict one class of four where another is true."""

CALIBRATORS: dict[str, type[Any]] = {
    name: kind
    for name in go.calibration.__all__
    if isinstance(kind := getattr(go.calibration, name), type) and issubclass(kind, Calibrator)
}
"""Every calibrator of one score, by the name of its class."""

LOG_ODDS = [kind for kind in CALIBRATORS.values() if issubclass(kind, LogOddsCalibrator)]
"""Those that map log-odds, which are given as such or as probabilities."""

OTHER = (-1.0, 0.5, 2.0)
"""Labels that are neither 0 nor 1."""
SOFT = (0.0, 1.0, 0.25, 0.9)
"""Labels of which some are probabilities."""


def mean_expected_disagreement(a: float, b: float) -> Callable[[Array, Array, Array], float]:
    """G/n, by which the residual scale multiplies the gradient of the loss."""
    return lambda y, p, w: float(0.5 * np.average((p - a) ** 2 + b, weights=w))


def measured_expected_disagreement(y: Array, p: Array, w: Array) -> float:
    a = np.average(y, weights=w)
    return mean_expected_disagreement(a, np.average((y - a) ** 2, weights=w))(y, p, w)


def expected_disagreement(objective: go.Objective) -> Callable[[Array, Array, Array], float]:
    """u G/n, by which the residual scale of any kappa multiplies the gradient of the loss."""

    def factor(y: Array, p: Array, w: Array) -> float:
        loss: Any = objective.measured(y, w).equations
        n, _, G = loss.totals(Rows(y, p, w))
        return float(loss.unit * G / n)

    return factor


def log_cosh(y: Array, p: Array) -> tuple[Array, Array]:
    """A cost that is smooth everywhere."""
    r = p - y
    return np.logaddexp(r, -r) - np.log(2.0), np.tanh(r)


def distance_from_one(y: Array, p: Array) -> tuple[Array, Array]:
    """A denominator of a user's own."""
    return 1 + (p - 1) ** 2, 2 * (p - 1)


@dataclass(frozen=True)
class ObjectiveCase:
    name: str
    objective: go.Objective
    labels: tuple[float, ...]  # what the labels are drawn from
    margins: tuple[float, float]  # where the loss is differentiable, both tails included
    refused: tuple[float, ...]  # labels that make no sense, besides NaN and inf
    gradient_over_loss: Callable[[Array, Array, Array], float] = ones
    of_positions: Callable[[Array], go.Objective] | None = None  # where it belongs to its rows

    def __repr__(self) -> str:
        return self.name

    def on(self, rows: int | Array) -> go.Objective:
        """The objective for the first n rows, or for those at these positions."""
        if self.of_positions is None:
            return self.objective
        return self.of_positions(np.arange(rows) if isinstance(rows, int) else rows)

    def rows(self, n: int, seed: int = 0) -> tuple[Array, Array, Array]:
        """Labels, margins and weights, float64; every label and, n/3 times each, every weight of 1,
        2 and 3 occurs."""
        rng = np.random.default_rng(seed)
        y = rng.permutation(np.resize(np.array(self.labels, float), n))
        f = rng.uniform(*self.margins, n if self.outputs == 1 else (n, self.outputs))
        return y, f, rng.permutation(np.resize([1.0, 2.0, 3.0], n))

    @property
    def outputs(self) -> int:
        return self.objective.outputs

    def repeated(self, values: Any) -> Array:
        """A value for each row as margins: the same in all outputs, (n,) or (n, K)."""
        array = np.asarray(values, float)
        return array if self.outputs == 1 else np.stack([array] * self.outputs, axis=-1)


def qwk_case(
    name: str, labels: tuple[float, ...], margins: tuple[float, float], **options: Any
) -> ObjectiveCase:
    objective = go.qwk_objective(list(labels), **options)
    residual = options.get("scale", "residual") == "residual"
    factor = mean_expected_disagreement(objective.mean, objective.variance) if residual else ones
    refused = (labels[0] - 1, labels[-1] + 0.5)
    return ObjectiveCase(name, objective, labels, margins, refused, factor)


def kappa_case(
    name: str, cost: Any, labels: tuple[float, ...], margins: tuple[float, float], **options: Any
) -> ObjectiveCase:
    """``options["measured"]``: False if the labels are left to the training data."""
    given = list(labels) if options.pop("measured", True) else None
    objective = go.objectives.kappa_objective(cost, given, **options)
    residual = options.get("scale", "residual") == "residual"
    refused = (labels[0] - 1, labels[-1] + 0.5) if objective.label_domain != REAL else ()
    factor = expected_disagreement(objective) if residual else ones
    return ObjectiveCase(name, objective, labels, margins, refused, factor)


def labels_between(low: int, high: int) -> tuple[float, ...]:
    return tuple(float(label) for label in range(low, high + 1))


def offsets_by_row(positions: Array) -> go.Objective:
    """Rates .01 to 1, another one in each of seven rows."""
    return go.offset_logloss_objective(10.0 ** -((positions % 7) / 3))


def arrived_by_row(positions: Array) -> go.Objective:
    """From all labels arrived to one in 64, another share in each of seven rows."""
    return go.experimental.delayed_logloss_objective(2.0 ** -(positions % 7))


def costs_by_row(positions: Array) -> go.Objective:
    rows = {"cost": 0.5 + positions % 5, "group": positions % 3}
    return go.objective(costly_error, loss=costly_error_loss, intercept=1.5, rows=rows)


def ordinal_logit_case(name: str, n_classes: int, **options: Any) -> ObjectiveCase:
    objective = go.ordinal_logit_objective(n_classes, **options)
    labels = labels_between(0, n_classes - 1)
    return ObjectiveCase(name, objective, labels, (-8, 8), (-1.0, 0.5, float(n_classes)))


OBJECTIVES = [
    qwk_case("qwk", labels_between(0, 3), (0, 3)),
    qwk_case("qwk-unclipped", labels_between(0, 3), (-40, 40), clip=False),
    qwk_case("qwk-kappa", labels_between(0, 3), (0, 3), scale="kappa"),
    qwk_case("qwk-kappa-unclipped", labels_between(0, 3), (-40, 40), scale="kappa", clip=False),
    qwk_case("qwk-from-1", labels_between(1, 6), (1, 6)),
    qwk_case("qwk-wide", labels_between(0, 60), (0, 60)),
    qwk_case("qwk-far", labels_between(1000, 1003), (1000, 1003)),
    qwk_case("qwk-prior", labels_between(0, 3), (0, 3),
             target_prior={0: 0.4, 1: 0.3, 2: 0.2, 3: 0.1}),
    ObjectiveCase("qwk-unmeasured", go.qwk_objective(), labels_between(0, 3), (0, 3), (),
                  measured_expected_disagreement),
    kappa_case("kappa-squared", "squared", labels_between(0, 3), (0, 3)),
    kappa_case("kappa-absolute", "absolute", labels_between(0, 3), (0, 3)),
    kappa_case("kappa-absolute-kappa", "absolute", labels_between(1, 6), (1, 6), scale="kappa"),
    kappa_case("kappa-unmeasured", "absolute", labels_between(0, 3), (0, 3), measured=False),
    kappa_case("kappa-matrix", COST, labels_between(0, 3), (0, 3)),
    kappa_case("kappa-matrix-from-1", COST, labels_between(1, 4), (1, 4), label_range=(1, 4)),
    kappa_case("kappa-matrix-unmeasured", COST, labels_between(0, 3), (0, 3), measured=False),
    kappa_case("kappa-function", log_cosh, labels_between(0, 3), (-9, 9), clip=False),
    ObjectiveCase("ratio", go.objectives.ratio_objective(log_cosh, distance_from_one, intercept=1.0,
                                                         scale="loss"),
                  labels_between(0, 3), (-9, 9), ()),
    ObjectiveCase("focal", go.focal_objective(2.0), (0, 1), (-30, 30), OTHER),
    ObjectiveCase("focal-alpha", go.focal_objective(0.5, alpha=0.25), (0, 1), (-30, 30), OTHER),
    ObjectiveCase("focal-0", go.focal_objective(0), (0, 1), (-30, 30), OTHER),
    ObjectiveCase("focal-3-classes", go.focal_objective(2.0, n_classes=3), labels_between(0, 2),
                  (-30, 30), (-1.0, 0.5, 3.0)),
    ObjectiveCase("focal-4-classes-alpha",
                  go.focal_objective(1.0, alpha=(0.2, 0.5, 1.0, 3.0), n_classes=4),
                  labels_between(0, 3), (-30, 30), (-1.0, 0.5, 4.0)),
    ObjectiveCase("weighted-logloss", go.weighted_logloss_objective(0.1), (0, 1), (-30, 30), OTHER),
    ObjectiveCase("weighted-logloss-bounded", go.weighted_logloss_objective(0.1, hessian="bounded"),
                  (0, 1), (-30, 30), OTHER),
    ObjectiveCase("soft-logloss", go.weighted_logloss_objective(1), SOFT, (-30, 30), (-1.0, 2.0)),
    ObjectiveCase("soft-logloss-bounded", go.offset_logloss_objective(1, hessian="bounded"), SOFT,
                  (-30, 30), (-1.0, 2.0)),
    ObjectiveCase("offset-logloss", go.offset_logloss_objective(0.02), (0, 1), (-30, 30), OTHER),
    ObjectiveCase("offset-logloss-by-row", offsets_by_row(np.arange(600)), (0, 1), (-30, 30), OTHER,
                  of_positions=offsets_by_row),
    ObjectiveCase("delayed-logloss", arrived_by_row(np.arange(600)), (0, 1), (-30, 30), OTHER,
                  of_positions=arrived_by_row),
    ordinal_logit_case("ordinal-logit", 4),
    ordinal_logit_case("ordinal-logit-7", 7),
    ordinal_logit_case("ordinal-logit-fixed", 4, thresholds="fixed"),
    ordinal_logit_case("ordinal-logit-given", 4, thresholds=[-3.0, 1.0, 2.5]),
    ObjectiveCase("user-function",
                  go.objective(squared_error, loss=squared_error_loss, intercept=1.5),
                  labels_between(0, 3), (-40, 40), ()),
    ObjectiveCase("user-function-rows", costs_by_row(np.arange(600)), labels_between(0, 3),
                  (-40, 40), (), of_positions=costs_by_row),
]  # fmt: skip
if find_spec("jax"):
    OBJECTIVES += [
        ObjectiveCase("user-loss", go.objective_from_loss(pseudo_huber_loss, intercept=1.5),
                      labels_between(0, 3), (-40, 40), ()),
        ObjectiveCase("user-loss-coupled",
                      go.objective_from_loss(log_squared_error_loss, hessian="constant",
                                             intercept=1.5),
                      labels_between(0, 3), (-40, 40), ()),
    ]  # fmt: skip


OPTIONS = (
    "qwk-unclipped", "qwk-kappa", "qwk-from-1", "qwk-wide", "qwk-far", "qwk-prior",
    "kappa-squared", "kappa-absolute-kappa", "kappa-unmeasured", "kappa-matrix",
    "kappa-matrix-from-1", "focal", "focal-0", "focal-3-classes", "weighted-logloss",
    "ordinal-logit-7", "ordinal-logit-fixed",
)  # fmt: skip
"""Names of cases whose options change numbers, but nothing in how a loss is trained: another case
of the loss is."""


@dataclass(frozen=True)
class MetricCase:
    name: str
    metric: go.Metric
    labels: tuple[float, ...]
    predictions: tuple[float, float]
    columns: int | None = None  # predictions (n, K)

    def __repr__(self) -> str:
        return self.name

    def rows(self, n: int, seed: int = 0) -> tuple[Array, Array, Array]:
        rng = np.random.default_rng(seed)
        y = rng.permutation(np.resize(self.labels, n))
        shape = n if self.columns is None else (n, self.columns)
        p = rng.uniform(*self.predictions, shape)
        if self.columns and self.metric.input_space == "probability":
            p /= p.sum(axis=1, keepdims=True)
        return y, p, rng.integers(1, 4, n).astype(float)

    def truth(self, y: Array) -> Array:
        """The best predictions."""
        probability = self.metric.input_space == "probability"
        if self.columns:
            certain = np.eye(self.columns)[y.astype(int)]
            return certain if probability else 9.5 * certain
        if self.labels != (0, 1):
            return y
        return np.where(y == 1, 0.999, 0.001) if probability else np.where(y == 1, 9.5, -9.5)


def takes_several(metric: go.metrics.ClassMetric) -> bool:
    """Whether it judges more than two classes: those that do not raise."""
    try:
        metric.of_counts(np.eye(3))
    except ValueError:
        return False
    return True


SEVERAL = [name for name, metric in NAMED.items() if takes_several(metric)]
"""Names of metrics of any number of classes; the others are for two."""


def named_case(name: str) -> MetricCase:
    """The row of a metric that has a name: nothing more is needed for one that is added."""
    if name in SEVERAL:
        metric = go.metrics.threshold_metric(name, (0, 3))
        return MetricCase(name, metric, labels_between(0, 3), (-1, 4))
    return MetricCase(name, go.metrics.threshold_metric(name), (0, 1), (-1, 2))


METRICS = [
    *map(named_case, NAMED),
    MetricCase("qwk-measured", go.qwk_metric(), labels_between(1, 6), (0, 7)),
    MetricCase("qwk-cut", go.qwk_metric((1, 4), thresholds=[1.2, 2.2, 3.7]), labels_between(1, 4),
               (0, 5)),
    MetricCase("accuracy-measured", go.metrics.threshold_metric("accuracy"), labels_between(1, 6),
               (0, 7)),
    MetricCase("mae-cut", go.metrics.threshold_metric("mae", (1, 4), thresholds=[1.2, 2.2, 3.7]),
               labels_between(1, 4), (0, 5)),
    MetricCase("linear-loss", go.metrics.threshold_metric("linear").loss, labels_between(0, 3),
               (-1, 4)),
    MetricCase("f-beta", go.metrics.f_beta_metric(2), (0, 1), (-1, 2)),
    MetricCase("f-beta-cut",
               go.metrics.threshold_metric(go.metrics.f_beta_metric(1), (0, 1), thresholds=[-0.4]),
               (0, 1), (-3, 3)),
    MetricCase("cost", go.metrics.cost_metric(COST), labels_between(0, 3), (-1, 4)),
    MetricCase("kappa-cost", go.metrics.kappa_cost_metric(COST), labels_between(0, 3), (-1, 4)),
    MetricCase("extended-qwk", go.extended_qwk_metric([0, 1, 2, 3]), labels_between(0, 3), (-1, 4)),
    MetricCase("extended-qwk-measured", go.extended_qwk_metric(), labels_between(0, 60), (0, 60)),
    MetricCase("qwk-loss", go.qwk_metric((0, 3)).loss, labels_between(0, 3), (-1, 4)),
    MetricCase("extended-qwk-loss", go.extended_qwk_metric().loss, labels_between(1, 6), (0, 7)),
    MetricCase("weighted-logloss", go.weighted_logloss_metric(0.1), (0, 1), (-30, 30)),
    MetricCase("weighted-logloss-probability",
               go.weighted_logloss_metric(0.1, input_space="probability"), (0, 1), (0, 1)),
    *(
        MetricCase(f"{metric.name}-{space}", metric, labels_between(0, 3), predictions, 4)
        for make in (go.metrics.class_logloss_metric, go.metrics.ranked_probability_score_metric)
        for space, predictions in (("margin", (-30, 30)), ("probability", (0, 1)))
        for metric in [make(4, input_space=space)]  # type: ignore[arg-type]
    ),
    MetricCase("loss-qwk", go.loss_metric(go.qwk_objective([0, 1, 2, 3], clip=False)),
               labels_between(0, 3), (-1, 4)),
    MetricCase("loss-unmeasured", go.loss_metric(go.qwk_objective()), labels_between(1, 6), (0, 7)),
    MetricCase("soft-logloss", go.weighted_logloss_metric(1), SOFT, (-30, 30)),
    MetricCase("soft-logloss-probability", go.weighted_logloss_metric(1, input_space="probability"),
               SOFT, (0, 1)),
    MetricCase("loss-logloss", go.loss_metric(go.offset_logloss_objective(0.1)), (0, 1), (-30, 30)),
    MetricCase("loss-function",
               go.loss_metric(go.objective(squared_error, loss=squared_error_loss)),
               labels_between(0, 3), (-40, 40)),
    MetricCase("squared-error", go.metrics.squared_error_metric(), labels_between(0, 3), (-40, 40)),
]  # fmt: skip


def without_row(base: type, room: str, tried: Iterable[Any]) -> list[str]:
    """The classes of a room below ``base`` of which the table has no value: those that only serve
    as bases of others have none."""
    classes = list(base.__subclasses__())
    for kind in classes:  # grows
        classes += kind.__subclasses__()
    homes = (f"gbdt_objectives.{room}.", "gbdt_objectives.experimental.")
    ours = [kind for kind in classes if kind.__module__.startswith(homes)]
    bases = {base for kind in ours for base in kind.__mro__[1:]}
    return [kind.__name__ for kind in ours if kind not in bases | {type(one) for one in tried}]
