"""The checks of an objective, which are functions of a probe, and their table.

A check returns None if the objective passed, or a note; it raises Failure, or Skipped. Symbols: y
labels, f margins, w weights, g gradient, h hessian, per row (n,) or (n, K).
"""

from __future__ import annotations

import copy
import itertools
import math
import pickle
from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np

from gbdt_objectives._checks import Array, shown
from gbdt_objectives._links import UNDECLARED
from gbdt_objectives._rows.rows import Rows
from gbdt_objectives.checking.doors import check_link, check_predictions
from gbdt_objectives.checking.probe import (
    ROWS,
    Failure,
    Finding,
    Probe,
    Skipped,
    as_sklearn,
    check_workers,
    tried,
)
from gbdt_objectives.objectives import Objective
from gbdt_objectives.objectives.function import FunctionLoss

PARTS = "gradient", "hessian"
LEAVES = 40  # number of random leaves whose steps are tried
NEGLIGIBLE = 1e-12  # share of the largest gradient, below which a gradient moves no leaf
PULL = 0.05  # |sum w g| / sum w |g| that an intercept may leave: one of smoothed shares is fine
LEAF_ROWS = 20  # rows of a small leaf: LightGBM's default min_data_in_leaf


def check_returned(probe: Probe) -> None:
    """Gradient and hessian are native float arrays of the margin's shape, finite."""
    returned = probe.call(probe.y.copy(), probe.f.copy(), None)
    if not isinstance(returned, tuple | list) or len(returned) != 2:
        raise Failure(f"must be a tuple (gradient, hessian), found {type(returned).__name__}")
    for part, values in zip(PARTS, returned, strict=True):
        if np.ndim(values) == 0:
            raise Failure(
                f"the {part} is a {type(values).__name__}, one number, but boosters need one for "
                "each row: make it with objective(function), or return np.full_like(margin, ...)"
            )
        if not isinstance(values, np.ndarray):
            raise Failure(f"the {part} is a {type(values).__name__}: XGBoost needs numpy arrays")
        if values.shape != probe.f.shape:
            hint = ""
            if values.size == probe.f.size:
                hint = ": flat and transposed arrays are read in another order by one library each"
            raise Failure(f"the {part} has shape {values.shape}, not {probe.f.shape}{hint}")
        if values.dtype.kind != "f" or values.dtype.itemsize not in (4, 8):
            raise Failure(f"the {part} is {values.dtype}, not float32 or float64: silently misread")
        if not values.dtype.isnative:
            raise Failure(f"the {part} is not in native byte order: silently misread")
        if not np.isfinite(values).all():
            raise Failure(
                f"the {part} is {values[~np.isfinite(values)][0]} in places: LightGBM then "
                "predicts 0 everywhere, XGBoost trains on"
            )


def check_inputs(probe: Probe) -> None:
    """Labels, margins and weights are neither written to nor kept."""
    inputs = [probe.y.copy(), probe.f.copy(), probe.w.copy()]
    gradient = probe.call(*inputs)[0]
    names = "labels", "margins", "weights"
    for name, before, after in zip(names, (probe.y, probe.f, probe.w), inputs, strict=True):
        if not np.array_equal(before, after):
            raise Failure(f"it writes into the {name}, which are the booster's own memory")
        if np.shares_memory(gradient, after) and name == "margins":
            raise Failure("the gradient is the margins' own memory, which LightGBM reuses")


def check_state(probe: Probe) -> None:
    """A call gives the same again, whatever was called in between."""
    first = [np.array(part) for part in probe.call(probe.y, probe.f, probe.w)]
    half = ROWS // 2
    probe.of(np.arange(half)).call(probe.y[:half], probe.f[half:].copy(), probe.w[:half])
    if not all(map(np.array_equal, first, probe.call(probe.y, probe.f, probe.w))):
        raise Failure(
            "two calls with the same rows differ: it keeps a state or is random, so folds and grid "
            "searches influence each other"
        )


def check_row_order(probe: Probe) -> None:
    """Permuted rows give permuted results."""
    order = np.random.default_rng(1).permutation(ROWS)
    w = probe.w if probe.takes_weights else None
    shuffled = probe.of(order).both(probe.f[order], None if w is None else w[order], probe.y[order])
    for part, a, b in zip(PARTS, probe.both(probe.f, w), shuffled, strict=True):
        if not np.allclose(a[order], b, rtol=1e-5, atol=1e-5 * np.abs(a).max()):
            raise Failure(
                f"the {part} of a row depends on where the row stands: with other data, in cv and "
                "in folds, rows get the gradients of others"
            )


def check_memory_order(probe: Probe) -> None:
    """(n, K) margins in Fortran order, as LightGBM passes them, give the same."""
    if probe.f.ndim == 1:
        raise Skipped("one margin per row")
    plain = probe.call(probe.y, np.ascontiguousarray(probe.f), None)
    if not all(map(np.array_equal, plain, probe.call(probe.y, np.asfortranarray(probe.f), None))):
        raise Failure(
            "margins in Fortran order, as LightGBM passes them, give other results than in C "
            "order: classes and rows are mixed up; do not ravel or reshape the margin"
        )


def check_gradient(probe: Probe) -> str | None:
    """The gradient is the derivative of the loss."""
    for w in _weights(probe):
        g = probe.both(probe.f, w)[0]
        if probe.loss is None:
            return _check_field(probe)
        numeric = np.empty_like(g)
        for at, up, down, step in _perturbed(probe.f, 1e-4):
            numeric[at] = (_loss(probe, up, w) - _loss(probe, down, w)) / step
        # truncation and rounding of the differences, 1e-8 of the largest; float32 gradients, 6e-8
        tolerance = 1e-5 if probe.float32 else 1e-6
        ratio = float((g * numeric).sum() / (numeric**2).sum())
        off = np.abs(g - (ratio if probe.scale_free else 1) * numeric)
        if off.max() <= tolerance * np.abs(g).max() and ratio > 0:
            continue
        weighted = "" if w is None else " with weights"
        if np.abs(g - ratio * numeric).max() <= tolerance * np.abs(g).max():
            if ratio < 0:
                raise Failure(
                    "it has the wrong sign, the loss falls along it: boosting climbs, every round "
                    "makes the model worse"
                )
            if np.isclose(ratio, ROWS):
                raise Failure("the loss is the mean over the rows: pass a loss that is their sum")
            raise Failure(
                f"it is {ratio:.4g} times the derivative of the loss{weighted}: leaves step "
                f"{ratio:.4g} times as far, a hidden learning rate"
            )
        row, where = _worst(off, probe)
        raise Failure(
            f"it is not the derivative of the loss{weighted}: {g[row]:.6g} instead of "
            f"{numeric[row]:.6g} {where}; the trees minimise something else"
        )
    return None


def _check_field(probe: Probe) -> str | None:
    """Without a loss: the derivatives of the gradient are symmetric."""
    if not probe.couples_rows:
        raise Skipped("there is no loss to compare with, and no row depends on another: pass loss=")
    if probe.f.ndim > 1:
        raise Skipped("there is no loss to compare with: pass loss=")
    step = 1e-2 if probe.float32 else 1e-5
    J = np.array([
        (probe.both(up)[0] - probe.both(down)[0]) / width
        for _, up, down, width in _perturbed(probe.f, step)
    ])  # fmt: skip
    if np.abs(J - J.T).max() > 1e-2 * np.abs(J).max():
        raise Failure(
            "its derivatives are not symmetric, so that it is the gradient of no loss: sums over "
            "rows are probably differentiated as if they were constants; pass loss= to see where"
        )
    return "symmetric, as gradients are; not compared with a loss: pass loss="


def check_hessian(probe: Probe) -> str | None:
    """The hessian is what it is declared to be."""
    h = probe.both(probe.f)[1]
    curvature = _curvature(probe)
    tolerance = _tolerance(probe, curvature)
    exact = bool(np.abs(h - curvature).max() <= tolerance)
    ratio = float((h * curvature).sum() / (curvature**2).sum()) if curvature.any() else math.nan
    if probe.kind == "exact" and not exact:
        raise Failure(_other_hessian(probe, h, curvature, ratio, tolerance))
    if probe.kind == "constant":
        for w in _weights(probe):
            expected = np.ones_like(probe.f) if w is None else _per_row(w, probe.f)
            if not np.allclose(probe.both(probe.f, w)[1], expected, rtol=1e-6, atol=0):
                raise Failure("it is declared constant, but is not the weight of each row")
    below = h < curvature - tolerance
    if probe.kind == "upper_bound" and below.any():
        row, where = _worst(curvature - h, probe)
        raise Failure(
            f"it is declared an upper bound, but {h[row]:.4g} is less than the second derivative, "
            f"{curvature[row]:.4g}, {where}"
        )
    if probe.kind != "undeclared":
        return None
    if exact:
        return "exact"
    if np.ptp(h) == 0 and h.flat[0] > 0:
        return f"constant, {h.flat[0]:g}"
    proportional = np.abs(h - ratio * curvature).max() <= tolerance * max(ratio, 1)
    if not below.any() and not proportional:
        return "an upper bound of the second derivative"
    dead = any(not h[probe.y == label].any() for label in np.unique(probe.y))
    if proportional or dead or not _steps_go_downhill(probe):
        raise Failure(_other_hessian(probe, h, curvature, ratio, tolerance))
    return (
        "neither the second derivative nor a bound of it, as Fisher's expected hessian is; the "
        f"whole steps of {LEAVES} leaves went downhill"
    )


def _steps_go_downhill(probe: Probe) -> bool:
    """Whether the loss falls along -G/H of each leaf, from there to the end of the step. Its change
    is the integral of the leaf's gradient, by Gauss-Legendre on stretches that halve to it."""
    nodes, shares = np.polynomial.legendre.leggauss(8)
    ends = np.append(0.5 ** np.arange(16), 0.0)
    for f, column, g, h in _leaves(probe):
        if h <= 0 or not math.isfinite(g / h):
            continue
        step, change, size = -g / h, 0.0, 0.0
        for end, start in itertools.pairwise(ends):
            for node, share in zip(nodes, shares, strict=True):
                at = f.copy()
                at[column] += step * (start + (end - start) * (node + 1) / 2)
                part = step * _slope(probe, at, column) * share * (end - start) / 2
                change, size = change + part, size + abs(part)
        if not change <= 1e-6 * size:  # error of the integral
            return False
    return True


def _tolerance(probe: Probe, curvature: Array) -> float:
    """The error of a difference of gradients."""
    return (2e-3 if probe.float32 else 1e-6) * max(float(np.abs(curvature).max()), 1e-300)


def _other_hessian(probe: Probe, h: Array, curvature: Array, ratio: float, tolerance: float) -> str:
    """Say what is wrong with a hessian that is not the second derivative."""
    if not h.any():
        return "it is 0 everywhere: boosters silently build no trees"
    near = abs(ratio - 1) < 0.01
    if not near and np.abs(h - ratio * curvature).max() <= tolerance * max(abs(ratio), 1):
        said = f"it is {ratio:.4g} times the second derivative:"
        if ratio < 0:
            return f"{said} the gradient or the hessian has the wrong sign"
        far = f"{said} every leaf steps too {'short' if ratio > 1 else 'far'}"
        if (h < curvature - tolerance).any():
            return f"{far}; multiply it by {1 / ratio:.4g}"
        return f"{far}; declare hessian_kind='upper_bound' if that is meant"
    for label in np.unique(probe.y):
        own = probe.y == label
        if not h[own].any() and curvature[own].any():
            return (
                f"it is 0 for every row of label {label:g}: their gradients count, their curvature "
                "does not, and leaves of such rows step without bound"
            )
    row, where = _worst(np.abs(h - curvature), probe)
    return (
        f"it is not the second derivative: {h[row]:.4g} instead of {curvature[row]:.4g} {where}; "
        "it belongs to another loss, and leaves step too far or too short"
    )


def _curvature(probe: Probe, w: Array | None = None) -> Array:
    """The diagonal of the second derivative, by differences of the gradient."""
    step = 1e-2 if probe.float32 else 1e-5
    if probe.f.ndim == 1 and not probe.couples_rows:
        up, down = probe.both(probe.f + step, w)[0], probe.both(probe.f - step, w)[0]
        return np.asarray((up - down) / (2 * step))
    result = np.empty_like(probe.f)
    for at, up, down, width in _perturbed(probe.f, step):
        result[at] = (probe.both(up, w)[0][at] - probe.both(down, w)[0][at]) / width
    return result


def check_sign(probe: Probe) -> None:
    """No hessian is below 0, none is 0 where the gradient is not, and not all are 0."""
    for w in _weights(probe):
        g, h = probe.both(probe.f, w)
        if h.min() < 0:
            row, where = _worst(-h, probe)
            raise Failure(
                f"a hessian is {h[row]:.4g}, {where}: leaves of such rows step uphill or are never "
                "built; use an upper bound"
            )
        if not h.any():
            raise Failure("all hessians are 0: boosters silently build no trees")
        stuck = (h == 0) & (np.abs(g) > NEGLIGIBLE * np.abs(g).max())
        if stuck.any():
            row, where = _worst(stuck, probe)
            raise Failure(
                f"the hessian is 0 where the gradient is {g[row]:.4g}, {where}: such rows do not "
                "slow a leaf's step, so XGBoost steps far past the optimum; return an upper bound "
                "of the second derivative, for Huber's loss "
                "weight * np.minimum(1, delta / np.abs(margin - y_true))"
            )


def check_leaf_step(probe: Probe) -> str | None:
    """-G/H of a leaf goes downhill and, if it is bounded, not past the optimum."""
    passed, unbuilt, growing = 0.0, 0, []
    for f, column, g, h in _leaves(probe):
        if h <= 0:
            unbuilt += 1
            continue
        step = -g / h
        if abs(g) <= 1e-9 * np.abs(probe.both(f)[0]).sum() or not math.isfinite(step):
            continue
        near = f.copy()
        near[column] += math.copysign(min(abs(step), 1e-2), step)
        growing.append(abs(float(probe.both(near)[0][column].sum())) > abs(g))
        tried = probe.loss is not None and abs(step) > 1e-6
        if tried and not _loss(probe, near, None) < _loss(probe, f, None):
            raise Failure(
                f"the step of a leaf at margin {f[column][0]:.4g}, {step:.4g}, goes uphill: "
                "training makes the loss worse"
            )
        end = f.copy()
        end[column] += step
        after = _slope(probe, end, column)
        if after * g < 0 or not math.isfinite(after):
            passed = max(passed, abs(after / g)) if math.isfinite(after) else math.inf
    if unbuilt == LEAVES:
        raise Failure("the hessians of all leaves sum to 0 or less: none is ever split")
    if growing and all(growing):
        raise Failure(
            "every step makes the leaf's gradient larger: it has the wrong sign, or labels and "
            "margins are swapped, so boosting climbs"
        )
    if passed > 1e-6 and probe.kind == "bounded":
        raise Failure(
            "it is declared bounded, but the step of a leaf passes the leaf's optimum: the "
            f"gradient there is {passed:.3g} of what it was, with the other sign"
        )
    if passed > 1:
        return (
            f"the steps of some leaves overshoot, to a gradient {passed:.3g} times as large, as "
            "exact hessians do where they are small: set max_delta_step, or use a bounded hessian"
        )
    return None


def _leaves(probe: Probe) -> Iterator[tuple[Array, Any, float, float]]:
    """Random leaves: margins that are the same in a leaf, where it is, and its sums G and H."""
    rng = np.random.default_rng(2)
    for _ in range(LEAVES):
        leaf = rng.random(ROWS) < rng.uniform(0.05, 0.6)
        leaf[rng.integers(ROWS)] = True
        f = probe.f.copy()
        f[leaf] = rng.choice(probe.f.ravel(), f.shape[1:])
        column = (leaf,) if f.ndim == 1 else (leaf, int(rng.integers(f.shape[1])))
        g, h = (float(part[column].sum()) for part in probe.both(f))
        yield f, column, g, h


def _slope(probe: Probe, f: Array, column: Any) -> float:
    """The sum G of a leaf's gradients; NaN where objective() refuses what is not finite."""
    try:
        return float(probe.both(f)[0][column].sum())
    except ValueError:
        return math.nan


def check_weights(probe: Probe) -> None:
    """A weight of w is w copies of the row, in sums as well."""
    if not probe.takes_weights:
        raise Failure(
            "it takes no sample_weight: LightGBM would train as if all weights were 1, XGBoost "
            "raises; add the parameter and multiply gradient and hessian by it"
        )
    y, f, w = probe.y, probe.f, probe.w
    weighted, plain, v = probe.both(f, w), probe.both(f), _per_row(w, f)
    at = np.repeat(np.arange(ROWS), w.astype(int))
    last = np.cumsum(w.astype(int)) - 1
    copies = [part[last] * v for part in probe.of(at).both(f[at], None, y[at])]
    for part, found, expected, one in zip(PARTS, weighted, copies, plain, strict=True):
        atol = 1e-6 * float(np.abs(expected).max())  # sums of float32
        equal = partial(np.allclose, found, rtol=1e-5, atol=atol)
        if equal(expected) or (part == "hessian" and _is_exact(probe, found, w)):
            continue
        if equal(one):
            raise Failure(
                f"weights do not reach the {part}: boosters do not apply them either, so they are "
                "silently ignored"
            )
        if equal(v * v * one):
            raise Failure(f"the {part} is multiplied by the weights twice: heavy rows count double")
        if equal(v * one):
            raise Failure(
                f"weights multiply the {part}, but are missing from the sums over rows that it is "
                "made of: a row of weight 2 is not two rows"
            )
        raise Failure(f"the {part} of a row of weight w is not that of w copies of the row")


def _is_exact(probe: Probe, h: Array, w: Array) -> bool:
    """Whether h is the diagonal of the second derivative with weights. If rows are coupled, that is
    not the sum over copies, which also has the terms between copies of one row."""
    if not probe.couples_rows:
        return False
    curvature = _curvature(probe, w)
    return bool(np.abs(h - curvature).max() <= _tolerance(probe, curvature))


def check_tails(probe: Probe) -> None:
    """In both tails gradient and hessian are finite in float32, and equal to those in float64."""
    each = np.arange(ROWS) if probe.by_row else np.unique(probe.y, return_index=True)[1]
    at, f = np.repeat(each, len(probe.tails)), np.tile(probe.tails, len(each))
    if probe.f.ndim == 2:
        tails, K = f, probe.f.shape[1]
        at, f = np.tile(at, K), np.concatenate([np.outer(tails, unit) for unit in np.eye(K)])
    in_tails = replace(probe.of(at), y=probe.y[at], f=f)
    middle, beyond = probe.both(probe.f), "pass margins= if none gets there"
    if not getattr(probe.target, "link", UNDECLARED).is_declared:
        beyond += ', or say that margins are logs, objective(function, link="log"), if they are'
    try:
        exact = in_tails.both(f)
        returned = in_tails.call(in_tails.y.astype(np.float32), f.astype(np.float32), None)
    except ValueError as error:  # objective() refuses what is not finite
        refused = str(error).split(": ")[0]
        raise Failure(f"at margins up to {np.abs(f).max():g} {refused}: {beyond}") from error
    for part, reference, usual, values in zip(PARTS, exact, middle, returned, strict=True):
        bad = ~np.isfinite(values) | ~np.isfinite(reference)
        if bad.any():
            row, where = _worst(bad, in_tails)
            raise Failure(
                f"the {part} is {values[row]:g} in float32 {where}: one such row, and LightGBM "
                "predicts 0 everywhere, XGBoost trains on; compute it from exp(-abs(margin)), or "
                f"{beyond}"
            )
        off = np.abs(values - reference)
        off -= 1e-3 * np.maximum(np.abs(reference), np.abs(usual).max())
        if off.max() > 0:
            row, where = _worst(off, in_tails)
            raise Failure(
                f"the {part} in float32 is {values[row]:.4g} instead of {reference[row]:.4g} "
                f"{where}: it loses all digits to cancellation"
            )
        if part == "hessian" and values.min() < 0:
            raise Failure(f"the hessian is {values.min():.4g} in a tail: steps go uphill there")


def check_copies(probe: Probe) -> None:
    """The objective can be pickled and deep-copied, and the copy computes the same."""
    try:
        again = pickle.loads(pickle.dumps(probe.target))
    except Exception as error:
        raise Failure(
            f"it does not pickle ({shown(str(error))}): a fitted scikit-learn model that holds it "
            "cannot be saved, nor a grid search run in several processes; define it at module "
            "level instead of inside a function"
        ) from None
    try:
        copies = [again, copy.deepcopy(probe.target)]
    except Exception as error:
        raise Failure(
            f"it cannot be deep-copied ({shown(str(error))}), which LightGBM and clone() do"
        ) from None
    straight = [np.array(part) for part in probe.call(probe.y, probe.f.copy(), None)]
    for other in copies:
        ours = isinstance(other, Objective)
        call = other if ours else as_sklearn(other, probe.api, probe.y, probe.f)[0]
        if not all(map(np.array_equal, call(probe.y, probe.f.copy(), None), straight)):
            raise Failure(
                "a copy of it computes something else, and folds, grid searches and saved models "
                "work with copies"
            )


def check_scale(probe: Probe) -> str | None:
    """Hessians are of the size that the boosters' defaults are made for."""
    target = probe.target
    start = target.measured(probe.y).intercept if isinstance(target, Objective) else None
    middle = np.median(probe.f) if start is None else np.array(start)
    mean = float(probe.both(np.zeros_like(probe.f) + middle)[1].mean())
    where = ", ".join(f"{z:.3g}" for z in middle.ravel())
    if mean * LEAF_ROWS >= 1:
        return None
    if mean <= 0:
        raise Failure(f"the hessians at margin {where} sum to 0: the first round does nothing")
    return (
        f"the mean hessian of a row is {mean:.3g} at margin {where}: XGBoost needs "
        f"{1 / mean:.3g} rows in a leaf at min_child_weight=1, and reg_lambda=1 halves the step of "
        f"such a leaf; LightGBM needs {1e-3 / mean:.3g} at min_sum_hessian_in_leaf=1e-3; lower "
        "these or multiply the loss"
    )


def check_intercept(probe: Probe) -> str | None:
    """Boosting starts where the weighted gradients sum to 0, on rows whose median is not their mean
    and whose weights grow with the labels; some row pulls a given start up, another down."""
    target = probe.objective(
        "a function does not say where boosting starts: objective(function) does"
    )
    if target.intercept is not None:
        return _check_given_intercept(probe, target)
    if probe.f.ndim > 1 and target.outputs == 1:
        return None  # check_predictions says that outputs= is missing
    many = ROWS * ((np.arange(ROWS) + 0.5) / ROWS) ** 2  # fewer and fewer of each label
    at = np.argsort(probe.y, kind="stable")[many.astype(int)]
    for w in (None, np.sort(probe.w)):
        measured = target.take(at).measured(probe.y[at], w)
        if not _is_best(measured, probe.y[at], w):
            weights = "" if w is None else " with weights"
            best = _best_constant(measured, Rows(probe.y[at], None, w))
            if measured.intercept is None:
                return f"it measures none: boosting starts at 0, but gradients sum to 0 at {best}"
            raise Failure(
                f"it measures the intercept {shown(measured.intercept)} on rows{weights} whose "
                f"gradients sum to 0 at {best}: make it a margin, {target.link.margins}, from sums "
                "of rows.sum(terms), which applies the weights"
            )
    return None


def _check_given_intercept(probe: Probe, target: Objective) -> str | None:
    c = target.intercept
    if not probe.knows_labels:
        return f"{shown(c)} is given, which is not compared with labels: pass y_true="
    g = probe.both(np.zeros_like(probe.f) + np.array(c))[0]
    if g.ndim > 1 or not ((g > 0).all() or (g < 0).all()):
        return None
    best = _best_constant(target, Rows(probe.y, None, None))
    message = (
        f"the intercept {c:.4g} is given, where the gradients of all labels point one way, and "
        f"these labels, each as often, would start at {best}"
    )
    if c == 0:
        return f"{message}: the first rounds do little but move all predictions"
    raise Failure(f"{message}: give a margin, {target.link.margins}, or leave intercept out")


def _is_best(objective: Objective, y: Array, w: Array | None) -> bool:
    """Whether the sum of each output's gradients rises through 0 at the intercept, or is small."""
    start = np.zeros(objective.outputs) if objective.intercept is None else objective.intercept
    c = np.atleast_1d(np.array(start, np.float64))
    for k, near in enumerate(1e-3 * (1 + np.abs(c))):
        ends = []
        for step in (-near, near):
            f = np.repeat(c[np.newaxis], len(y), axis=0)
            f[:, k] += step
            g = objective.gradient_hessian(y, f[:, 0] if len(c) == 1 else f, w)[0].reshape(f.shape)
            ends.append(g[:, k].sum() * len(c) / (np.abs(g).sum() or 1.0))
        if ends[0] > PULL or ends[1] < -PULL:
            return False
    return True


def _best_constant(objective: Objective, rows: Rows) -> str:
    if objective.outputs > 1:
        return "other margins"
    best = FunctionLoss._find_start(
        FunctionLoss(function=objective.gradient_hessian, link=objective.link), rows
    )
    return "no margin that was tried" if best is None else f"{best:.4g}"


CHECKS: dict[str, Callable[[Probe], str | None]] = {
    "inputs": check_inputs, "state": check_state, "order of rows": check_row_order,
    "memory order": check_memory_order, "gradient": check_gradient, "hessian": check_hessian,
    "sign of hessian": check_sign, "step of a leaf": check_leaf_step, "weights": check_weights,
    "tails": check_tails, "copies": check_copies, "scale": check_scale,
    "intercept": check_intercept, "workers": check_workers, "link": check_link,
    "predictions": check_predictions,
}  # fmt: skip
"""The checks by their name in the report, in the order in which they run."""

ON_OTHER_LABELS = ("gradient", "hessian", "sign of hessian")
"""Checks that are repeated on labels besides 0 and 1, if the objective does not say its labels."""


def on_all_labels(
    name: str, check: Callable[[Probe], str | None], probe: Probe, others: Probe | None
) -> Finding:
    finding = tried(name, check, probe)
    if finding.status == "FAILED" or others is None or name not in ON_OTHER_LABELS:
        return finding
    other = tried(name, check, others)
    if other.status != "FAILED":
        return finding
    return replace(other, message=f"{other.message}; pass y_true= if it is for certain labels only")


def _worst(values: Array, probe: Probe) -> tuple[Any, str]:
    """The position of the largest of the values, and the label and margin there."""
    row = np.unravel_index(int(values.argmax()), values.shape)
    return row, f"at y = {probe.y[row[0]]:g}, margin = {probe.f[row]:.4g}"


def _weights(probe: Probe) -> list[Array | None]:
    return [None, probe.w] if probe.takes_weights else [None]


def _per_row(w: Array, f: Array) -> Array:
    return np.asarray(w if f.ndim == 1 else np.repeat(w[:, np.newaxis], f.shape[1], axis=1))


def _perturbed(f: Array, step: float) -> Iterator[tuple[Any, Array, Array, float]]:
    """Each element, margins with it a step up and a step down, and the distance between."""
    for at in np.ndindex(f.shape):
        up, down = f.copy(), f.copy()
        up[at] += step
        down[at] -= step
        yield at, up, down, float(up[at] - down[at])


def _loss(probe: Probe, f: Array, w: Array | None) -> float:
    assert probe.loss is not None
    value = probe.loss(probe.y, f, w)
    if np.ndim(value) != 0:
        raise Failure(
            f"loss must return one number, found shape {np.shape(value)}: return its .sum()"
        )
    number = float(value)
    if not math.isfinite(number):
        raise Failure(f"loss is {number} at margins from {f.min():.3g} to {f.max():.3g}")
    return number
