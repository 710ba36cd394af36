"""The best classes or actions, given class probabilities: of all rows, and by a rule for new."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike

from gbdt_objectives import _checks
from gbdt_objectives._checks import Array, check_order, shown, warn
from gbdt_objectives._public import public
from gbdt_objectives._rows.rows import BLOCK_BYTES, blocks, freeze
from gbdt_objectives._steps.formulas import affine
from gbdt_objectives._steps.steps import (
    SavedAsJSON,
    Step,
    evaluate,
    read_number,
    read_number_or_none,
    read_numbers,
)
from gbdt_objectives.metrics import ClassMetric, RatioMetric, ShareMetric
from gbdt_objectives.thresholds import actions as of_actions
from gbdt_objectives.thresholds.actions import ActionRule
from gbdt_objectives.thresholds.methods import (
    MetricArgument,
    resolve_labels,
    resolve_metric,
    row_losses,
)
from gbdt_objectives.thresholds.qwk import LAST_DIGITS, least_ratio
from gbdt_objectives.thresholds.rows import Thresholds, write_labels

Decidable = RatioMetric | ShareMetric

STARTS = (0.0, 0.5, 1.0, 2.0)  # classes weigh prior^-power: 0 is accuracy, 1 balanced accuracy
FULL_STEPS, STEPS = 2, 60  # of the fixed point from each start
SETTLED = 1e-3  # shares this near to their fixed point: their value differs by the square of it
FOLDS = 5  # how many times rows are held out to measure the gain


@public
def decide(
    probability: ArrayLike, metric: MetricArgument | None = None, *,
    costs: ArrayLike | None = None, actions: ArrayLike | None = None,
    capacity: Mapping[Any, int] | None = None, groups: ArrayLike | None = None,
    labels: ArrayLike | None = None, sample_weight: ArrayLike | None = None,
) -> Array:  # fmt: skip
    """The class or action of each row that is best for a metric or costs, given probabilities.

    Use it where a model predicts the probability of each class; for a model of one score use
    :func:`optimize_thresholds`. With C the costs of the metric, [true, predicted], or ``costs``,
    which may differ between rows i, the class or action of row i is ::

        argmin_c sum_j P_ij C_jc                  costs, a mean cost, accuracy, ...
        argmin_c sum_j P_ij (F_jc - R G_jc)       a ratio: kappas, F-beta
        argmax_k a_k P_ik - c_k                   macro F1, G-mean, Matthews' coefficient

    where R = sum F / sum G of all rows is iterated until it stops falling (Dinkelbach), and a and c
    are the slopes of the metric at the expected counts of these very classes: a fixed point,
    searched from four starts. No other classes have a better metric of their expected confusion
    counts, which are close to the counts where there are many rows; only for Matthews' coefficient,
    which has local optima, the best is not always found.

    Parameters
    ----------
    probability : array-like of shape (n, K)
        Calibrated, a column per class in ascending order.
    metric : str or Metric, optional
        As in ``optimize_thresholds``, but no functions. None: "qwk", unless costs are given.
    costs : array-like of shape (K, A) or (n, K, A), optional
        ``costs[..., k, a]``: that of action a where class k is true, in any unit; a gain is
        negative. A frame that names its rows and columns is read by these.
    actions : array-like of shape (A,), optional
        The actions of ``costs``. None: the classes, or the columns of a frame.
    capacity : mapping of one action to int, optional
        How many rows of each group may take it: those that save most, and of equal ones the first.
        No other actions of these rows cost less.
    groups : array-like of shape (n,), optional
        The day, say, that a row counts for in ``capacity``. None: all rows are one group.
    labels : array-like of shape (K,), optional
        The classes in ascending order. None: those of the metric's ``label_range``, else 0..K-1.
    sample_weight : array-like of shape (n,), optional
        w means the same as w copies of the row.

    Returns
    -------
    ndarray of shape (n,)
        Labels or actions. Except for costs without capacity they depend on the other rows: decide
        on all at once, or by a rule of :func:`optimize_decisions` or :func:`optimize_actions`.

    Raises
    ------
    ValueError, TypeError
        Probabilities that are none, rows that do not sum to 1, labels that are not K, a metric that
        is a function or of another number of classes; costs that are not finite or of another
        shape; a capacity of several actions, or that is no whole number.

    References
    ----------
    Elkan (2001), "The foundations of cost-sensitive learning", IJCAI, for costs; Dinkelbach (1967),
    Management Science 13(7), for the ratio.

    Examples
    --------
    >>> import numpy as np
    >>> from gbdt_objectives import decide
    >>> from gbdt_objectives.metrics import cost_metric
    >>> P = np.array([[0.6, 0.3, 0.1], [0.4, 0.3, 0.3], [0.1, 0.2, 0.7]])
    >>> decide(P, "accuracy")
    array([0, 0, 2])
    >>> decide(P)
    array([0, 1, 2])
    >>> decide(P, cost_metric([[0, 1, 1], [1, 0, 1], [4, 4, 0]]), labels=["a", "b", "c"]).tolist()
    ['a', 'c', 'c']
    >>> costs = [[0, 2, 9], [50, 3, 1], [50, 3, 1]]
    >>> decide(P, costs=costs, actions=["pass", "ask", "stop"], capacity={"ask": 1}).tolist()
    ['ask', 'stop', 'stop']
    """
    if costs is not None:
        if metric is not None:
            raise ValueError("metric and costs are both given, and costs are it: leave metric out")
        if capacity is not None and sample_weight is not None:
            raise ValueError("capacity counts rows, without sample_weight: write copies out")
        E, bound, group, rule = read_priced(
            probability, costs, actions, labels, capacity, groups, sample_weight
        )
        return np.asarray(rule.actions[of_actions.cheapest(E, bound, group)])
    for name, value in {"actions": actions, "capacity": capacity, "groups": groups}.items():
        if value is not None:
            raise ValueError(f"{name} need costs: pass costs=[[...]], [true class, action], too")
    metric = "qwk" if metric is None else metric
    P, order, w, target = read_class_columns(probability, labels, sample_weight, metric)
    if isinstance(target, ShareMetric):
        return order[choose(P, *best_shares(P, w, target))]
    return order[best_ratio(P, w, target)]


def read_class_columns(
    probability: ArrayLike, labels: ArrayLike | None, sample_weight: ArrayLike | None,
    metric: MetricArgument,
) -> tuple[Array, Array, Array | None, Decidable]:  # fmt: skip
    """Checked probabilities (n, K), the class of each column, the weights and the metric."""
    target = resolve_decidable(metric)
    P = _checks.probabilities("probability", probability)
    if P.ndim == 1:
        raise ValueError(
            f"probability must be (n, K), a column per class, found shape {P.shape}: for two "
            "classes pass numpy.column_stack([1 - p, p])"
        )
    K = P.shape[1]
    order = resolve_labels(labels, target, name="put columns of probability in order too: labels=")
    names = _checks.column_names(probability)
    if order is None and names is not None and _checks.class_keys(names) != list(range(K)):
        warn(
            f"probability has columns named {shown(names)}, but without labels= the classes "
            f"are 0 to {K - 1}: pass labels=[...], the class of each column"
        )
    target = target._of_labels(names if order is None else order)
    order = np.arange(K) if order is None else order
    if len(order) != K:
        raise ValueError(
            f"labels must be {K} classes for {K} columns of probability, found {len(order)}: "
            f"{shown(order.tolist())}"
        )
    return P, order, _checks.weights("sample_weight", sample_weight, len(P)), target


def read_priced(
    probability: Any, costs: Any, actions: Any, labels: Any, capacity: Any, groups: Any,
    sample_weight: Any = None,
) -> tuple[Array, of_actions.Bound, Array, ActionRule]:  # fmt: skip
    """Expected costs (n, A), what is bounded, the group of each row, and a rule without a price."""
    P, order, *_ = read_class_columns(probability, labels, sample_weight, "accuracy")
    C, names = of_actions.read_costs(costs, actions, order, len(P))
    bound, group = of_actions.read_capacity(capacity, groups, names, len(P))
    rule = ActionRule(None if C.ndim == 3 else C, names, order)
    return of_actions.expected_costs(P, C), bound, group, rule


@public
def optimize_actions(
    probability: ArrayLike, costs: ArrayLike, *, actions: ArrayLike | None = None,
    labels: ArrayLike | None = None, capacity: Mapping[Any, int] | None = None,
    groups: ArrayLike | None = None,
) -> ActionRule:  # fmt: skip
    """The rule of least cost for rows that come one by one, with the price of a capacity.

    Use it where :func:`decide` cannot wait for the other rows of the day. The price of the bounded
    action, which is added to its costs, is the least at which no more of these rows take it than
    the capacity says, in the mean of the groups. Busy groups exceed it: ``exceeded`` says how
    often. Rows that save the same all take the action, or none does.

    Parameters
    ----------
    probability : array-like of shape (n, K)
        Of all rows of many groups, such as those of the last months. Sampled rows are too few.
    costs : array-like of shape (K, A) or (n, K, A)
        As in ``decide``. Those of each row are not kept: ``apply`` is given the new ones.
    actions, labels, capacity, groups : optional
        As in ``decide``, but a capacity is at least 1, and needs groups.

    Returns
    -------
    ActionRule
        Its ``apply`` takes probabilities.

    Raises
    ------
    ValueError, TypeError
        What ``decide`` refuses; a capacity without groups.

    Examples
    --------
    >>> import numpy as np
    >>> from gbdt_objectives.thresholds import optimize_actions
    >>> p, day = np.array([0.1, 0.2, 0.06, 0.12, 0.3, 0.02]), [1, 1, 1, 2, 2, 2]
    >>> P, costs = np.column_stack([1 - p, p]), {"pass": [0, 50], "review": [2, 3]}
    >>> rule = optimize_actions(P, np.array([*costs.values()]).T, actions=[*costs],
    ...                         capacity={"review": 1}, groups=day)
    >>> rule.apply(P).tolist(), rule.exceeded
    (['pass', 'review', 'pass', 'pass', 'review', 'pass'], 0.0)
    """
    if capacity is not None and groups is None:
        raise ValueError(
            "capacity of a rule needs groups, of how many rows is it? Pass the day of each row, "
            "or decide on all rows of a day at once"
        )
    E, bound, group, rule = read_priced(probability, costs, actions, labels, capacity, groups)
    if bound is None:
        return rule
    action, most = bound
    if most == 0:
        raise ValueError("capacity must be at least 1: leave an action out that nobody may take")
    prices = np.zeros(E.shape[1])
    prices[action] = of_actions.price_of(E, action, most * (int(group.max()) + 1))
    taken = np.bincount(group, (E + prices).argmin(axis=1) == action)
    return replace(rule, prices=prices, exceeded=float(np.mean(taken > most)))


def best_ratio(P: Array, w: Array | None, target: RatioMetric) -> Array:
    """The decisions of the best ratio of expected counts, as positions (n,)."""
    return least_ratio(
        P.sum(axis=0) if w is None else w @ P, target,
        solve=lambda costs: (P @ costs).argmin(axis=1),
        counts=lambda chosen: expected_counts(P, w, chosen), single=lambda k: np.full(len(P), k),
    )  # fmt: skip


def expected_counts(P: Array, w: Array | None, chosen: Array) -> Array:
    """Weights [true, predicted] that are expected of decisions."""
    decided = np.eye(P.shape[1])[chosen]
    return np.asarray(P.T @ (decided if w is None else decided * w[:, None]))


def choose(P: Array, a: Array, c: Array) -> Array:
    """The positions of the greatest a_k P_ik - c_k, (n,)."""
    return np.asarray(affine(P, a, c).argmax(axis=1))


def choose_by_column(columns: Array, a: Array, c: Array) -> Array:
    """The same of many rows, (K, n): a class at a time takes a quarter of the time."""
    chosen = np.empty(columns.shape[1], np.intp)
    for rows in blocks(chosen, BLOCK_BYTES // len(columns)):
        p = columns[:, rows]
        best, at = a[0] * p[0] - c[0], np.zeros(p.shape[1], np.min_scalar_type(len(columns)))
        for k in range(1, len(columns)):
            own = a[k] * p[k] - c[k]
            at = np.maximum(at, (own > best) * at.dtype.type(k))
            best = np.maximum(best, own)
        chosen[rows] = at
    return chosen


def best_shares(P: Array, w: Array | None, target: ShareMetric) -> tuple[Array, Array]:
    """The a and c of the best decisions found. A step goes from expected shares to the slopes
    there, to decisions by these, and on to their shares. Full steps come first, shorter ones follow
    (Frank and Wolfe): the shares on the way are averages, so only those of decisions are judged."""
    n, K = P.shape
    v = np.full(n, 1 / n) if w is None else w / w.sum()
    true = v @ P
    occurs = true > 0
    best, found = -np.inf, (np.ones(K), np.zeros(K))
    columns, rows = np.ascontiguousarray(P.T), np.arange(n)

    def judge(a: Array, c: Array) -> Array:
        nonlocal best, found
        chosen = choose_by_column(columns, a, c)
        hit = np.bincount(chosen, v * columns.take(chosen * n + rows), K)
        predicted = np.bincount(chosen, v, K)
        value = float(target.of_shares(hit, predicted, true))
        if value > best + LAST_DIGITS:
            best, found = value, (a, c)
        return np.stack([hit, predicted])

    for power in STARTS:
        at = judge(np.where(occurs, true, np.inf) ** -power, np.where(occurs, 0.0, 1.0))
        for step in range(STEPS):
            hit, predicted = at[:, occurs]
            slopes = target.slopes(hit, predicted, true[occurs])
            a, c = np.zeros(K), np.full(K, slopes[1].max() + 1)  # worse than any class that occurs
            a[occurs], c[occurs] = slopes
            new = judge(a, c)
            if np.abs(new - at).max() < SETTLED:
                break
            at = at + (1 if step < FULL_STEPS else 2 / (step + 2)) * (new - at)
    return found


def resolve_decidable(metric: MetricArgument) -> Decidable:
    """The metric argument, if it is known which decisions are best for it."""
    target = resolve_metric(metric)
    if not isinstance(target, ClassMetric):
        raise ValueError(
            "metric is a function, whose costs are unknown: pass a metric of "
            "gbdt_objectives.metrics, such as 'mae' or cost_metric(matrix)"
        )
    if not isinstance(target, Decidable):
        raise ValueError(
            f"metric {target.name!r} is neither a RatioMetric nor a ShareMetric, and nothing else "
            "says which decisions are best: pass one that is, such as 'kappa' or 'macro_f1'"
        )
    return target


@public
@dataclass(frozen=True, eq=False)
class DecisionRule(SavedAsJSON):
    """A rule that decides from a model's probabilities, as :func:`optimize_decisions` returns it.

    ::

        q_k proportional to p_k^(1/T) exp(b_k),   class of a row = argmax_k a_k q_k - c_k

    The temperature T and the biases b hold calibration and prior correction, so ``apply`` takes the
    probabilities as the model predicts them. Ties go to the first. Numbers that are not finite or
    not K, and labels that are repeated, raise ValueError.

    Parameters
    ----------
    weights, costs, biases, labels : array-like of shape (K,)
        a, c and b, finite; no biases are 0. The class of each column.
    temperature : float
        T > 0; 1 if the rule does not calibrate.
    gain, gain_error : float, optional
        How much better the metric is than of the most probable classes, and its error, or None.

    Examples
    --------
    >>> from gbdt_objectives.thresholds import DecisionRule
    >>> rule = DecisionRule([1, 3], [0, 0], ["calm", "storm"])
    >>> DecisionRule.from_json(rule.to_json()).apply([[0.8, 0.2], [0.7, 0.3]]).tolist()
    ['calm', 'storm']
    """

    weights: Any
    costs: Any
    labels: Any
    temperature: float = 1.0
    biases: Any = None
    gain: float | None = None
    gain_error: float | None = None

    _saved: ClassVar = {
        **dict.fromkeys(("dtype", "labels"), lambda key, value: value),
        **dict.fromkeys(("weights", "costs"), read_numbers),
        "temperature": read_number,
        "biases": read_numbers,
        **dict.fromkeys(("gain", "gain_error"), read_number_or_none),
    }

    def __post_init__(self) -> None:
        labels = check_order(self.labels, ordinal=False).copy()
        T = _checks.number("temperature", self.temperature)
        if not T > 0:
            raise ValueError(f"temperature must be above 0, found {T:g}")
        given = {
            "weights": self.weights, "costs": self.costs,
            "biases": np.zeros(len(labels)) if self.biases is None else self.biases,
        }  # fmt: skip
        for name, value in given.items():
            numbers = np.array(_checks.vector(name, value), np.float64)
            _checks.same_length(name, numbers, "labels", len(labels))
            freeze(self, **{name: numbers})
        freeze(self, labels=labels, temperature=T)

    def apply(self, probability: ArrayLike) -> Array:
        """The class of each row, (n,), given the model's probabilities (n, K)."""
        P = of_actions.read_columns(probability, self.labels)
        return np.asarray(self.labels[self._positions(P)])

    def _positions(self, P: Array) -> Array:
        return choose(evaluate(P, *self._steps), self.weights, self.costs)

    @property
    def _scores(self) -> Step:
        """From the probabilities that the rule weighs to scores, of which the greatest wins."""
        return {"formula": "affine", "weights": self.weights, "costs": self.costs}

    @property
    def _steps(self) -> tuple[Step, ...]:
        """From the model's probabilities to those that the rule weighs."""
        T, b = self.temperature, self.biases
        step = {"formula": "temperature", "temperature": T, "biases": b}
        return () if T == 1 and not b.any() else (step,)

    def _values(self) -> list[Any]:
        labels = write_labels(self.labels, "labels must be all integers, all numbers")
        return [
            *labels, self.weights, self.costs, self.temperature, self.biases, self.gain,
            self.gain_error,
        ]  # fmt: skip

    @classmethod
    def _restore(cls, data: dict[str, Any]) -> DecisionRule:
        return cls(labels=Thresholds._read_labels(data.pop("labels"), data.pop("dtype")), **data)


@public
def optimize_decisions(
    probability: ArrayLike, metric: str | ClassMetric, *, y_true: ArrayLike | None = None,
    labels: ArrayLike | None = None, target_prior: Mapping[Any, float] | None = None,
    sample_weight: ArrayLike | None = None,
) -> DecisionRule:  # fmt: skip
    """The rule that decides best for a metric, for classes without order.

    Use it where new rows come one by one; :func:`decide` is for rows that are all there.

    ::

        class of a row = argmax_k a_k q_k - c_k      q: its probabilities, calibrated and corrected

        "macro_f1"          a_k = 2 / (t_k + m_k)    c_k = 2 hit_k / (t_k + m_k)^2
        "g_mean"            a_k = 1 / hit_k          c_k = 0
        "macro_recall"      a_k = 1 / t_k            c_k = 0
        "kappa"             a_k = 1                  c_k = (1 - kappa) t_k
        "matthews"          a_k = 1                  c_k = t_k - m_k (hit - sum t m) / (1 - sum m^2)

    where t, m and hit are the expected shares of the rows that are of the class, get it, and get it
    rightly, by the decisions that :func:`decide` finds for these rows.

    Parameters
    ----------
    probability : array-like of shape (n, K)
        A column per class, out-of-fold or of rows that are held out.
    metric : str or Metric
        "macro_f1", "g_mean", "macro_recall", "kappa", "matthews" or "accuracy"; any that
        :func:`decide` takes for two classes, or for three if its costs are symmetric.
    y_true : array-like of shape (n,), optional
        The class of each row. :class:`TemperatureCalibrator` then calibrates the probabilities, and
        ``gain`` is measured: five times, rows are held out from both, as if rows were independent.
        Those rules are fitted on fewer rows than this one, which may gain more.
    labels : array-like of shape (K,), optional
        The class of each column. None: 0..K-1.
    target_prior : mapping of label to probability, optional
        The label distribution where the rule, and ``gain``, are for, if it differs from that of
        these rows: the rule corrects the probabilities.
    sample_weight : array-like of shape (n,), optional
        w means the same as w copies of the row; in the error of ``gain`` a row counts as one.

    Returns
    -------
    DecisionRule
        Its ``apply`` takes the model's own probabilities.

    Raises
    ------
    ValueError, TypeError
        Probabilities that are none; a metric that weighs each pair of classes, such as "qwk" of
        four; a class with fewer than two rows in ``y_true``; a prior that is not above 0 for each
        class that occurs; what :class:`TemperatureCalibrator` refuses.

    References
    ----------
    Koyejo et al. (2014), "Consistent binary classification with generalized performance metrics",
    NeurIPS; Narasimhan et al. (2015), "Consistent multiclass algorithms for complex performance
    measures", ICML, for several classes and the steps.

    Examples
    --------
    >>> import numpy as np
    >>> from gbdt_objectives.thresholds import optimize_decisions
    >>> P = np.array([[0.8, 0.2], [0.7, 0.3], [0.6, 0.4], [0.9, 0.1]])
    >>> rule = optimize_decisions(P, "macro_f1", labels=["calm", "storm"])
    >>> rule.apply(P).tolist()
    ['calm', 'calm', 'storm', 'calm']
    """
    P, order, w, target = read_class_columns(probability, labels, sample_weight, metric)
    v = np.ones(len(P)) if w is None else w
    if y_true is None:
        return fit_rule(P, None, v, order, target, target_prior)
    _checks.same_length("y_true", _checks.as_array("y_true", y_true), "probability", len(P))
    y = _checks.positions("y_true", y_true, order).astype(np.intp)
    P, y, v = P[v > 0], y[v > 0], v[v > 0]
    rows = np.bincount(y, minlength=len(order))
    if rows.min() < 2:
        raise ValueError(
            f"y_true has {rows.min()} rows of class {shown(order[rows.argmin()])}: its bias needs "
            "at least two; leave y_true out, or give rows of all classes"
        )
    rule = fit_rule(P, y, v, order, target, target_prior)
    gain, error = measure_gain(P, y, v, order, target, target_prior)
    return replace(rule, gain=gain, gain_error=error)


def fit_rule(
    P: Array, y: Array | None, w: Array, order: Array, target: Decidable,
    target_prior: Mapping[Any, float] | None,
) -> DecisionRule:  # fmt: skip
    """The rule of rows of any weight; ``y`` are positions."""
    K = len(order)
    rule = DecisionRule(np.ones(K), np.zeros(K), order)
    if y is not None:
        from gbdt_objectives.calibration import TemperatureCalibrator

        calibrator = TemperatureCalibrator(labels=order).fit(P, order[y], w)
        rule = replace(rule, temperature=calibrator.temperature_, biases=calibrator.bias_)
    q = evaluate(P, *rule._steps)
    if target_prior is not None:
        ratio = prior_ratio(target_prior, order, w @ q / w.sum())
        rule = replace(rule, biases=rule.biases + np.log(ratio))
        w = w * (q @ ratio)
        q = evaluate(P, *rule._steps)
    if isinstance(target, RatioMetric):
        C = expected_counts(q, w, best_ratio(q, w, target))
        F, G = target.ratio_costs(C.sum(axis=1))
        a, c = affine_costs(F - (F * C).sum() / (G * C).sum() * G, target)
    else:
        a, c = best_shares(q, w, target)
    return replace(rule, weights=a, costs=c)


def prior_ratio(target_prior: Any, order: Array, train: Array) -> Array:
    """The target probability of each class over that in these rows; 1 where both are 0."""
    rows = "probability"
    tau = _checks.prior_of_labels("target_prior", target_prior, order.tolist(), train > 0, rows)
    never = (tau == 0) & (train > 0)
    if never.any():
        raise ValueError(
            f"target_prior must be above 0 for every class, found 0 for {shown(order[never][0])}: "
            "no rule leaves out a class that the model predicts; drop its column, and divide the "
            "others by their sum"
        )
    return np.asarray(np.where(train > 0, tau / np.where(train > 0, train, 1), 1))


def affine_costs(costs: Array, target: RatioMetric) -> tuple[Array, Array]:
    """a and c, of costs [true, predicted] = u_true + c_predicted, less a_k where class k is hit."""
    K = len(costs)
    u, c = np.append(costs[0, 1], costs[1:, 0]), np.zeros(K)
    if K > 2:
        r = int(costs.sum(axis=1).argmin())  # u_r = 0
        missed = [next(k for k in range(K) if k not in (j, r)) for j in range(K)]
        u = costs[np.arange(K), missed] - costs[r, missed]
        c, j = costs[r].copy(), (r + 1) % K
        c[r] = costs[j, r] - u[j]
    a = u + c - costs.diagonal()
    if not np.allclose(u[:, None] + c - np.diag(a), costs, rtol=0, atol=1e-9 * np.ptp(costs)):
        raise ValueError(
            f"metric {target.name!r} weighs each pair of classes, which a rule of one weight and "
            "one cost of each class does not hold: use decide(probability, metric)"
        )
    return a, c - c.min()


def measure_gain(
    P: Array, y: Array, w: Array, order: Array, target: Decidable,
    target_prior: Mapping[Any, float] | None,
) -> tuple[float, float]:  # fmt: skip
    """The gain of rules over the most probable classes on held-out rows, and its error."""
    from sklearn.model_selection import StratifiedKFold

    K = len(order)
    splits = min(FOLDS, int(np.bincount(y).min()))
    found = np.empty(len(y), np.intp)
    for train, held in StratifiedKFold(splits, shuffle=True, random_state=0).split(P, y):
        rule = fit_rule(P[train], y[train], w[train], order, target, target_prior)
        found[held] = rule._positions(P[held])
    plain = P
    if target_prior is not None:
        plain = P * prior_ratio(target_prior, order, w @ P / w.sum())
        w = w * prior_ratio(target_prior, order, np.bincount(y, w) / w.sum())[y]
    value = np.zeros(2)
    g = np.zeros(len(y))
    for k, (chosen, sign) in enumerate(((found, 1), (plain.argmax(axis=1), -1))):
        C = np.bincount(y * K + chosen, w, minlength=K * K).reshape(K, K)
        value[k] = target.of_counts(C)
        g += sign * row_losses(target.of_counts, C)[y, chosen]
    direction = 1 if target.greater_is_better else -1
    return direction * float(value[0] - value[1]), float(np.sqrt((w * g) @ (w * g)) / w.sum())
