"""Segments that moved, repaired inside a trained model: small trees on segment features, appended.

Symbols: y labels 0 and 1, w weights, z the model's log-odds in the population, o = -log r what the
log-odds in a sample are above them, W the sum of w; (n,) all but W.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import expit, log_expit
from sklearn.utils import _safe_indexing

from gbdt_objectives import _checks
from gbdt_objectives._checks import Array, RandomState, column_names, shown
from gbdt_objectives._checks.tables import Split, held_out_once
from gbdt_objectives._public import public
from gbdt_objectives._registry import load
from gbdt_objectives._rows.rows import write_table
from gbdt_objectives.adapters import library_of_booster
from gbdt_objectives.adapters._models import OpenLibrary
from gbdt_objectives.calibration.calibrators import (
    InterceptCalibrator,
    LogitCalibrator,
)
from gbdt_objectives.calibration.rows import (
    LabelledRows,
    sampling_offset,
)
from gbdt_objectives.serving.objects import as_frame

NewTrees = list[tuple[Array, list[int]]]
"""The values of the leaves of each tree, and the columns that it splits on."""

LEARNING_RATE, DEPTH, L2, LEAST_HESSIAN = 0.2, 3, 5.0, 1.0
"""Of the trees that are appended."""

EACH_CATEGORY = 100_000
"""Below so many categories a split takes one of them out; splits of sorted categories overfit."""

LEAST_OF_A_LABEL = 20
"""Segments with a lower weight of a label have no logit of their own in the comparison, as in
experiments/segment_repair."""

NO_PROBABILITY = "whose prediction is not the probability of label 1 from log-odds: "
TRAIN_BINARY = "train a log-loss objective of this package, or the library's own binary one"


@public
@dataclass(frozen=True, eq=False, repr=False)
class SegmentRepair:
    """A repaired model, and what was found; made by :func:`repair_segments`.

    Attributes
    ----------
    booster : xgboost.Booster or lightgbm.Booster
        The given rounds, and behind them the appended trees.
    n_trees : int
        How many trees were appended.
    shift : float
        What was added to all margins, so that the mean probability of the rows is their mean label.
        0 if nothing was found: then there is no tree either, and the model predicts as before.
    segment_features : tuple of str or int
        The features on which these trees may split.
    log_loss : dict of str to float
        The out-of-fold log loss of the rows: of the model "as is"; with a "global logit", one
        slope and intercept for all rows; with "logits by segment", a slope and an intercept for
        each combination of segment features with a weight of at least 20 rows of each label,
        elsewhere the global one; and "repaired".
    gain, standard_error : float
        By how much trees and shift lower the out-of-fold log loss at the number of trees where it
        is least, and the standard error. Something is found if the first exceeds the second.
    """

    booster: Any
    n_trees: int
    shift: float
    segment_features: tuple[str | int, ...]
    log_loss: dict[str, float]
    gain: float
    standard_error: float

    def __repr__(self) -> str:
        features = ", ".join(map(str, self.segment_features))
        found = f"nothing found in {features}"
        if self.shift:
            found = f"{self.n_trees} trees on {features}, and a shift of {self.shift:+.2g}"
        gain = f"gain {self.gain:.2g} +- {self.standard_error:.2g}"
        names, losses = np.array([*self.log_loss]), np.array([*self.log_loss.values()])
        return f"SegmentRepair: {found} ({gain})\n{write_table(model=names, log_loss=losses)}"


@public
def repair_segments(
    booster: Any,
    X: Any,
    y: ArrayLike,
    segment_features: Sequence[str | int],
    *,
    sample_weight: ArrayLike | None = None,
    negative_keep_rate: float | None = None,
    keep_rate: ArrayLike | None = None,
    class_keep_rates: Mapping[Any, float] | None = None,
    groups: ArrayLike | None = None,
    max_trees: int = 100,
    cv: Any = 5,
    random_state: RandomState = 0,
) -> SegmentRepair:
    """Correct the probabilities of segments that moved, by small trees appended to the model.

    Use it where :func:`calibration_ratio_by_segment` finds segments that are off, and a new
    training has to wait.

    Trees of at most eight leaves, which split on ``segment_features`` only, are trained on held-out
    rows, starting at the model's own margin::

        loss  sum w log(1 + exp(-(2y-1) (z + o + f(segment features)))),  o = -log(keep rate)

    with an L2 penalty of 5 and a learning rate of .2. A shift of all margins then puts the level
    right. As many trees are appended as have the lowest out-of-fold log loss, or none if it is not
    lower than that of the model by more than one standard error. Where the global logit's is lower
    than "repaired", the model is too certain or uncertain everywhere: take ``LogitCalibrator``.

    Parameters
    ----------
    booster : xgboost.Booster or lightgbm.Booster
        A model of log-odds that predicts the probability of label 1: trained on a log-loss
        objective of this package, on ``binary:logistic`` or ``reg:logistic`` of XGBoost, or on
        ``binary`` or ``cross_entropy`` of LightGBM, without a start of each row (``base_margin``,
        ``init_score``). It is not changed. An estimator has it as ``get_booster()`` (XGBoost) or
        ``booster_`` (LightGBM). If it stopped early, the rounds up to the best one are taken.
    X : array-like, sparse matrix or DataFrame of shape (n, features)
        All features, missing values as NaN, of rows on which the model was not trained: this cannot
        be checked, and on training rows a model looks better than it is.
    y : array-like of shape (n,)
        Labels 0 and 1.
    segment_features : sequence of str or int
        Names of features, or their positions. Categories and missing values are as in the model.
    sample_weight : array-like of shape (n,), optional
        Weights >= 0; w means w copies of the row, except in folds and the standard error.
    negative_keep_rate, keep_rate, class_keep_rates : optional
        How these rows were sampled, as in ``LogitCalibrator.fit``, where the model predicts for the
        full population.
    groups : array-like of shape (n,), optional
        User, session or document of each row: its rows are held out together and count as one.
    max_trees : int
        The most trees that are appended.
    cv : int or splitter
        The number of stratified, shuffled folds, or a splitter that holds each row out once.
    random_state : int, numpy Generator or RandomState, optional
        Seed for shuffling the folds.

    Returns
    -------
    SegmentRepair
        With ``booster``.

    Raises
    ------
    TypeError, ValueError
        If it is no booster of log-odds of label 1, or trees cannot be appended to it (``dart`` and
        ``gblinear`` of XGBoost, ``num_parallel_tree``, ``rf`` of LightGBM, several outputs);
        columns that are not the model's; labels other than 0 and 1, one of them missing in the rows
        or in the training part of a fold; bad weights, rates, groups or folds.
    RuntimeError
        If a tree split on another feature, or the model's own rounds changed.

    References
    ----------
    Hebert-Johnson, Kim, Reingold & Rothblum (2018), "Multicalibration: calibration for the
    (computationally-identifiable) masses", ICML, for the aim; the trees are those of the booster.

    Examples
    --------
    >>> import numpy as np, xgboost as xgb
    >>> from gbdt_objectives.experimental import repair_segments
    >>> rng = np.random.default_rng(0)
    >>> X = np.column_stack([rng.random(8_000), rng.integers(0, 3, 8_000)])
    >>> old = rng.random(8_000) < 0.1 + 0.3 * X[:, 0]
    >>> new = rng.random(8_000) < 0.1 + 0.3 * X[:, 0] + 0.3 * (X[:, 1] == 2)
    >>> params = {"objective": "binary:logistic", "max_depth": 2, "nthread": 1}
    >>> booster = xgb.train(params, xgb.DMatrix(X, old), 20)
    >>> repair = repair_segments(booster, X, new, [1])
    >>> for name, model in {"as is": booster, "repaired": repair.booster}.items():
    ...     p, segments = model.predict(xgb.DMatrix(X)), [X[:, 1] == k for k in range(3)]
    ...     print(name, [f"{p[own].mean() / new[own].mean():.1f}" for own in segments])
    as is ['1.0', '0.9', '0.4']
    repaired ['1.0', '1.0', '1.0']
    """
    library = library_of_booster(booster)
    boost = load(f"{__name__}_{library.name}")
    model = boost.complete(booster)
    X, names = named_features(X, library, model)
    columns = read_segment_features(segment_features, names, X.shape[1])
    _checks.whole_number("max_trees", max_trees, 1)
    labels = _checks.vector("y", y)
    _checks.same_length("y", labels, "X", X.shape[0])
    X = boost.as_trained(model, X)
    rows = LabelledRows.of_scores("y", labels, library.margin(model, X), sample_weight)
    offset = sampling_offset(negative_keep_rate, keep_rate, class_keep_rates, rows)
    owner = rows.owners(groups)
    if not isinstance(rows.kept, slice):
        X = _safe_indexing(X, np.flatnonzero(rows.kept))
    splits = read_folds(rows.y, cv, owner, random_state)
    o = np.broadcast_to(offset, rows.y.shape)
    held = HeldOut(library, boost, model, X, columns, rows.y, rows.p, o, rows.w)
    n_trees, repaired = try_trees(held, splits, max_trees)
    as_is = held.loss(held.z)
    gain, error = LabelledRows.mean_and_error(as_is - repaired, held.w, owner)
    moved = gain > error
    one, segments = np.zeros(len(held.y), int), segment_numbers(X, columns)
    losses = {
        "as is": as_is,
        "global logit": held.loss(logit_margins(held, splits, one)),
        "logits by segment": held.loss(logit_margins(held, splits, segments)),
        "repaired": repaired if moved else as_is,
    }
    result, d = held.repaired(n_trees) if moved else (model, 0.0)
    return SegmentRepair(
        booster=result, n_trees=boost.count_trees(result) - boost.count_trees(model), shift=d,
        segment_features=tuple(segment_features), gain=gain, standard_error=error,
        log_loss={name: float(held.w @ loss / held.w.sum()) for name, loss in losses.items()},
    )  # fmt: skip


@dataclass(frozen=True, eq=False)
class HeldOut:
    """Rows of weight above 0 on which the model was not trained, in the symbols above."""

    library: OpenLibrary
    boost: Any  # the module of what repairs ask of this library
    model: Any
    X: Any
    columns: list[int]  # on which trees may split
    y: Array
    z: Array
    o: Array
    w: Array

    def loss(self, m: Array, at: Any = slice(None)) -> Array:
        """The loss of each of these rows at the margins m."""
        loss: Array = -log_expit((2 * self.y[at] - 1) * (m + self.o[at]))
        return loss

    def grow(self, at: Array, n_trees: int) -> Any:
        """The model with so many trees that are trained on these rows."""
        rates = np.exp(-self.o[at]) if self.o.any() else None
        part = self.X if len(at) == len(self.y) else _safe_indexing(self.X, at)
        return self.boost.grow(
            self.model, part, self.y[at], self.w[at], rates, self.columns, n_trees
        )

    def added(self, grown: Any, at: Array) -> Iterator[Array]:
        """What each appended tree adds to the margins of these rows."""
        first = self.boost.count_trees(self.model)
        if trees := self.boost.new_trees(grown, first):
            found = self.boost.new_leaves(grown, _safe_indexing(self.X, at), first)
            leaves = np.asarray(found, np.intp).reshape(len(at), -1)
            for t, (values, _) in enumerate(trees):
                yield values[leaves[:, t]]

    def repaired(self, n_trees: int) -> tuple[Any, float]:
        """The model with so many trees and the shift that then fits all rows, and this shift."""
        grown = self.grow(np.arange(len(self.y)), n_trees) if n_trees else self.model
        d = InterceptCalibrator._find_shift(
            self.y, self.library.margin(grown, self.X) + self.o, self.w
        )
        return self.library.shift_intercept(self.boost.without_odds(grown), d), d


@dataclass(frozen=True, eq=False)
class Trial:
    """Trees that were grown on the rows of training of a fold, for the others."""

    held: HeldOut
    grown: Any
    train: Array
    test: Array

    def margins(self) -> Iterator[Array]:
        """The margins of the other rows with 0, 1, 2, ... trees and the shift that then fits the
        rows of training; where there are no more trees, with all of them."""
        held, n = self.held, len(self.train)
        both = np.concatenate([self.train, self.test])
        y, w = held.y[self.train], held.w[self.train]
        z, s = held.z[both], (held.z + held.o)[self.train]
        f = np.zeros(len(both))
        d = InterceptCalibrator._find_shift(y, s, w)
        steps = held.added(self.grown, both)
        while True:
            yield z[n:] + f[n:] + d
            f = f + next(steps, 0.0)
            # one step of Newton's method: a tree moves d by little
            p = expit(s + f[:n] + d)
            d += (w @ (y - p)) / (w @ (p * (1 - p)))


def try_trees(held: HeldOut, splits: list[Split], max_trees: int) -> tuple[int, Array]:
    """The number of trees with the lowest out-of-fold loss, and the loss of each row with them."""
    trials, total = [], np.zeros(max_trees + 1)
    for train, test in splits:
        trial = Trial(held, held.grow(train, max_trees), train, test)
        margins = islice(trial.margins(), max_trees + 1)
        total += [held.w[test] @ held.loss(m, test) for m in margins]
        trials.append(trial)
    best = int(np.argmin(total))
    loss = np.empty(len(held.y))
    for trial in trials:
        m = next(islice(trial.margins(), best, None))
        loss[trial.test] = held.loss(m, trial.test)
    return best, loss


def read_folds(y: Array, cv: Any, owner: Array | None, random_state: RandomState) -> list[Split]:
    """Splits that hold each row out once, with both labels in each training part."""
    _checks.generator(random_state)
    splits = held_out_once(y.astype(np.int64), cv, owner, random_state=random_state)
    for train, _ in splits:
        if np.ptp(y[train]) == 0:
            raise ValueError(
                f"y has label {y[train[0]]:g} only in the training part of a fold: pass more "
                "rows of the other label, or use fewer folds"
            )
    return splits


def named_features(X: Any, library: OpenLibrary, model: Any) -> tuple[Any, list[str] | None]:
    """X with as many columns as the model, and their names, which must be the model's."""
    of_model, d = library.names_of(model), library.count_features(model)
    _checks.not_lazy("X", X)
    if hasattr(X, "get_label"):
        raise TypeError(
            f"X must be features, found a {type(X).__name__}: pass the array or DataFrame that it "
            "was made of"
        )
    X = as_frame(X) if hasattr(X, "shape") else np.asarray(X)
    if len(X.shape) != 2:
        raise ValueError(f"X must be features, (n, features), found shape {tuple(X.shape)}")
    if hasattr(X, "tocsr"):
        X = X.tocsr()  # which has rows
    given = column_names(X)
    found = None if given is None else list(map(str, given))
    if of_model is not None:
        if found is None:
            raise ValueError(
                f"X is an array, but the model was trained on columns named {shown(of_model)}: "
                "pass a DataFrame of these columns, in this order"
            )
        as_in_lightgbm = [name.replace(" ", "_") for name in found]
        if of_model not in (found, as_in_lightgbm):
            wrong = f"has the columns {shown(found)} where the model has {shown(of_model)}"
            if missing := [name for name in of_model if name not in found]:
                wrong = f"lacks the model's {shown(missing)}"
            raise ValueError(
                f"X {wrong}: pass the columns that the model was trained on, in their order"
            )
    if X.shape[1] != d:
        raise ValueError(
            f"X has {X.shape[1]} columns, but the model {d} features: pass all of them"
        )
    return X, found or of_model


def read_segment_features(given: Any, names: list[str] | None, d: int) -> list[int]:
    """Positions of features that are given by names or positions."""
    if isinstance(given, str) or not isinstance(given, Sequence | np.ndarray):
        raise TypeError(
            f"segment_features must be a list of names or positions, found {shown(given)}: for one "
            'feature write ["country"]'
        )
    if len(given) == 0:
        raise ValueError(
            "segment_features is empty: name at least one feature that tells the segments apart"
        )
    columns = []
    for feature in given:
        if isinstance(feature, str):
            if feature not in (names or ()):
                there = f"which are {shown(names)}" if names else "which have no names"
                instead = "name some of these" if names else "give positions, from 0"
                raise ValueError(
                    f"segment_features holds {feature!r}, which is not among the model's features, "
                    f"{there}: {instead}"
                )
            columns.append(names.index(feature))  # type: ignore[union-attr]
            continue
        position = _checks.whole_number("a position in segment_features", feature, 0)
        if position >= d:
            raise ValueError(
                f"segment_features holds position {position}, but the model has {d} features: "
                f"positions go from 0 to {d - 1}"
            )
        columns.append(position)
    if len(set(columns)) < len(columns):
        raise ValueError(f"segment_features names a feature twice, found {shown(list(given))}")
    return columns


def segment_numbers(X: Any, columns: list[int]) -> Array:
    """The combination of these columns' values in each row, as numbers 0..; missing is a value."""
    codes = []
    for k in columns:
        if hasattr(X, "iloc"):
            codes.append(X.iloc[:, k].astype("category").cat.codes.to_numpy())
        else:
            column = X[:, [k]].toarray() if hasattr(X, "toarray") else X[:, k]
            codes.append(np.unique(column, return_inverse=True)[1].ravel())
    found: Array = np.unique(np.column_stack(codes), axis=0, return_inverse=True)[1].ravel()
    return found


def logit_margins(held: HeldOut, splits: list[Split], g: Array) -> Array:
    """The margins of held-out rows by a logit of each segment 0, 1, ... of g, or of all rows where
    a segment has too few."""

    def fit(at: Array) -> tuple[float, ...] | None:
        y, z, w = held.y[at], held.z[at], held.w[at]
        if min(w @ y, w @ (1 - y)) < LEAST_OF_A_LABEL or z[y == 0].max() <= z[y == 1].min():
            return None
        return LogitCalibrator._fit_logistic([z], y, w, offset=held.o[at])

    m = np.empty(len(held.y))
    segments = np.split(np.argsort(g, kind="stable"), np.cumsum(np.bincount(g))[:-1])
    for train, test in splits:
        side = np.zeros(len(m), np.int8)
        side[train], side[test] = 1, 2
        every = fit(train) or (1.0, 0.0)
        for own in segments:
            slope, intercept = fit(own[side[own] == 1]) or every
            other = own[side[own] == 2]
            m[other] = slope * held.z[other] + intercept
    return m


def check_grown(before: Any, after: Any, trees: NewTrees, columns: list[int]) -> None:
    """Raise if trees split on other columns, or the margin of the model's own rounds changed."""
    others = {k for _, split_on in trees for k in split_on} - set(columns)
    if others:
        raise RuntimeError(
            f"the appended trees split on columns {sorted(others)}, which are no segment features: "
            "trees cannot be kept to them with this version of the booster"
        )
    if not (np.abs(after - before) <= 1e-4 * (1 + np.abs(before))).all():
        raise RuntimeError(
            "the model's own rounds predict other margins after training than before: trees cannot "
            "be appended with this version of the booster"
        )
