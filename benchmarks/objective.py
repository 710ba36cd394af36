"""Speed and memory of objectives and the QWK metric, as ratios measured in one run.

    python -m benchmarks.objective [--quick]

Against: the published formula in numpy, a plain read and write of the same memory, two plain
passes in blocks, a custom objective that only returns squared-error gradients, the boosters' own
binary objective, scikit-learn's metrics; the focal loss against our logistic loss.
"""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable
from typing import Any

import lightgbm as lgb
import numpy as np
import scipy.special
import xgboost as xgb
from sklearn import metrics as sk

import gbdt_objectives as go
from benchmarks._timing import in_turns, peak_bytes, quick_run, report
from gbdt_objectives.adapters.lightgbm import train as lightgbm_train
from gbdt_objectives.adapters.xgboost import train as xgboost_train

Array = np.ndarray[Any, Any]


def rows(n: int) -> tuple[Array, Array]:
    """Labels 0..3 and scores, some beyond the range, float32 as boosters hand them out."""
    rng = np.random.default_rng(0)
    y = rng.integers(0, 4, n).astype(np.float32)
    return y, (0.5 * y + 0.75 + rng.normal(size=n)).astype(np.float32)


def published(y: Array, p: Array, a: float, b: float) -> tuple[Array, Array]:
    """The published formula, labels 0..3."""
    p = np.clip(p, 0, 3)
    f = 1 / 2 * np.sum((p - y) ** 2)
    g = 1 / 2 * np.sum((p - a) ** 2 + b)
    return ((p - y) / g - f * (p - a) / g**2) * len(y), np.ones(len(y))


def plain_read_and_write(y: Array, p: Array) -> Array:
    """Read score and label twice, write once: the least that a gradient needs."""
    for _ in range(2):
        y.sum()
        p.sum()
    return np.ones_like(p)


def gradients(quick: bool) -> None:
    for n in (100_000, 1_000_000) if quick else (100_000, 1_000_000, 10_000_000):
        y, p = rows(n)
        obj = go.qwk_objective(y)
        a, b = float(obj.mean), float(obj.variance)
        seconds = in_turns(
            {
                "ours": lambda y=y, p=p, obj=obj: obj(y, p),
                "published": lambda y=y, p=p, a=a, b=b: published(y, p, a, b),
                "plain": lambda y=y, p=p: plain_read_and_write(y, p),
            },
            turns=3 if n > 1_000_000 else 15,
        )
        milliseconds = ", ".join(f"{name} {1e3 * s:.2f} ms" for name, s in seconds.items())
        print(f"gradient, {n:,} rows: {milliseconds}")
        faster = {100_000: 1, 1_000_000: 6, 10_000_000: 1}[n]
        report("  times faster than the published formula",
               seconds["published"] / seconds["ours"], faster, at_least=True)  # fmt: skip
        if n == 10_000_000:
            report("  times a plain read of score and label twice plus one write",
                   seconds["ours"] / seconds["plain"], 2)  # fmt: skip
        wide = p.astype(float)  # as LightGBM hands them out
        for what, call in (
            ("float32 margins", lambda y=y, p=p, obj=obj: obj(y, p)),
            ("float64 margins", lambda y=y, p=wide, obj=obj: obj(y, p)),
            ("weights", lambda y=y, p=p, obj=obj: obj(y, p, y + 1)),
            ("labels not given", lambda y=y, p=p: go.qwk_objective()(y, p)),
        ):
            extra = y.nbytes if what == "weights" else 0  # y + 1 itself
            if n >= 1_000_000:
                report(f"  peak extra memory, float32 vectors of n, {what}",
                       (peak_bytes(call) - extra) / y.nbytes, 3)  # fmt: skip


def pasted(a: float, b: float) -> Callable[[Array, Any], tuple[Array, Array]]:
    """The published formula as notebooks pass it to xgb.train, with globals of the labels."""

    def objective(p: Array, data: Any) -> tuple[Array, Array]:
        return published(data.get_label(), p, a, b)

    return objective


def plain_calls(quick: bool) -> None:
    """``obj=`` of the boosters themselves: an objective that nobody bound to its data."""
    for n, limit, calls in ((1000, 2.2, 200), (100_000, 0.45, 5), (1_000_000, 0.45, 5)):
        y, p = rows(n)
        X, obj = np.arange(n, dtype=np.float32)[:, np.newaxis] % 7, go.qwk_objective(y)
        theirs = pasted(float(obj.mean), float(obj.variance))
        dataset = lgb.Dataset(X, y, params={"verbose": -1}).construct()
        for name, data, f in (
            ("DMatrix", xgb.DMatrix(X, y), p),
            ("Dataset", dataset, p.astype(np.float64)),
        ):
            functions: dict[str, Callable[[], Any]] = {
                "ours": lambda f=f, data=data, obj=obj: obj(f, data),
                "pasted": lambda f=f, data=data, theirs=theirs: theirs(f, data),
            }
            seconds = in_turns(functions, 2 if quick else 15, calls)
            micro = {name: 1e6 * s for name, s in seconds.items()}
            print(f"plain call, {n:,} rows, {name}: "
                  f"{micro['ours']:.0f} us, pasted formula {micro['pasted']:.0f} us")  # fmt: skip
            report("  times the published formula as notebooks paste it",
                   seconds["ours"] / seconds["pasted"], limit)  # fmt: skip


def plain_qwk(y: Array, p: Array, a: float, b: float) -> Array:
    """The gradient as one would write it: p clipped, two residuals, two dot products."""
    p = p.clip(0, 3)
    r, t = p - y, p - a
    R = r.dot(r) / (t.dot(t) + len(y) * b)
    return r - R * t


def two_plain_passes(y: Array, p: Array, out: Array, scratch: Array) -> Array:
    """Clip, subtract, two dot products; clip, scale, subtract: block by block, in cache."""
    block = len(scratch)
    for start in range(0, len(y), block):
        rows = slice(start, start + block)
        clipped = p[rows].clip(0, 3, out=out[rows])
        r = np.subtract(clipped, y[rows], out=scratch[: len(clipped)])
        for v in (r, clipped):  # short products: longer ones would wake BLAS's threads
            stretches = v[: len(v) // 8192 * 8192].reshape(-1, 1, 8192)
            np.matmul(stretches, stretches.transpose(0, 2, 1)).sum()
    for start in range(0, len(y), block):
        rows = slice(start, start + block)
        clipped = p[rows].clip(0, 3, out=out[rows])
        clipped *= 0.7
        clipped -= y[rows]
    return out


def bound(quick: bool) -> None:
    """Objectives bound to their data, as train() hands them to a booster."""
    y, p = rows(1000)
    obj = go.qwk_objective(y)
    call, a, b = obj.bind(y), float(obj.mean), float(obj.variance)
    repeat = range(200)
    seconds = in_turns(
        {
            "bound": lambda: [call(p) for _ in repeat],
            "plain": lambda: [plain_qwk(y, p, a, b) for _ in repeat],
        },
        turns=3 if quick else 25,
    )
    micro = {name: 1e6 * s / len(repeat) for name, s in seconds.items()}
    print(f"bound call, 1,000 rows: {micro['bound']:.1f} us, plain numpy {micro['plain']:.1f} us")
    report("  times plain numpy's QWK gradient", micro["bound"] / micro["plain"], 1.5)

    n = 100_000 if quick else 1_000_000
    y, p = rows(n)
    call, out, scratch = go.qwk_objective(y).bind(y), np.empty_like(p), np.empty(1 << 18, p.dtype)
    seconds = in_turns(
        {"bound": lambda: call(p), "plain": lambda: two_plain_passes(y, p, out, scratch)},
        turns=3 if quick else 25,
    )
    print(f"bound gradient, {n:,} rows: {1e3 * seconds['bound']:.2f} ms, "
          f"two plain passes {1e3 * seconds['plain']:.2f} ms")  # fmt: skip
    report("  times two plain passes", seconds["bound"] / seconds["plain"], 1.1)


def any_cost(quick: bool) -> None:
    """Weighted kappa with other costs against QWK, bound to their data."""
    n = 100_000 if quick else 1_000_000
    y, p = rows(n)
    distance = np.abs(np.subtract.outer(range(4), range(4)))
    objectives = {
        "qwk": go.qwk_objective(y),
        "squared": go.objectives.kappa_objective("squared", y),
        "absolute": go.objectives.kappa_objective("absolute", y),
        "matrix": go.objectives.kappa_objective(distance**1.5, y),
    }
    bounds = {name: obj.bind(y) for name, obj in objectives.items()}
    seconds = in_turns(
        {name: lambda call=call: call(p) for name, call in bounds.items()},
        turns=3 if quick else 15,
    )
    print(f"bound kappas of 4 classes, {n:,} rows: "
          + ", ".join(f"{name} {1e3 * s:.2f} ms" for name, s in seconds.items()))  # fmt: skip
    for name, limit in (("squared", None), ("absolute", 4), ("matrix", None)):
        ratio = seconds[name] / seconds["qwk"]
        report(f"  times the QWK objective: kappa_objective, {name} cost", ratio, limit)


def ordinal_logit(quick: bool) -> None:
    """Ordinal logit of five classes against the logistic objective, both bound."""
    n = 100_000 if quick else 1_000_000
    rng = np.random.default_rng(0)
    f = (2 * rng.normal(size=n)).astype(np.float32)
    y = np.digitize(f + rng.logistic(size=n), [-3, -1, 0, 2]).astype(np.float32)
    calls = {
        "logloss": go.offset_logloss_objective(1.0).bind(y > 1),
        "fixed": go.ordinal_logit_objective(5, thresholds="fixed").bind(y),
        "refit": go.ordinal_logit_objective(5).bind(y),
    }
    seconds = in_turns(
        {name: lambda call=call: call(f) for name, call in calls.items()}, turns=3 if quick else 25
    )
    print(f"bound ordinal logit, {n:,} rows, 5 classes: "
          + ", ".join(f"{name} {1e3 * s:.2f} ms" for name, s in seconds.items()))  # fmt: skip
    for name in ("fixed", "refit"):
        report(f"  times the bound logistic objective, thresholds {name}",
               seconds[name] / seconds["logloss"], 3)  # fmt: skip


class OneLine:
    """The shortest objective that people write."""

    def __init__(self, y: Array) -> None:
        self.y, self.hessian = y, np.ones(len(y), np.float32)

    def __call__(self, margin: Array, data: Any) -> tuple[Array, Array]:
        return margin - self.y, self.hessian

    def __deepcopy__(self, memo: object) -> OneLine:
        return self


def medians(runs: dict[str, Callable[[], Any]], turns: int) -> dict[str, float]:
    """Seconds of whole trainings: medians over turns, after one to warm up."""
    seconds: dict[str, list[float]] = {name: [] for name in runs}
    for turn in range(turns + 1):
        for name, run in runs.items():
            start = time.perf_counter()
            run()
            if turn:
                seconds[name].append(time.perf_counter() - start)
    return {name: statistics.median(values) for name, values in seconds.items()}


def small_training(quick: bool) -> None:
    """Many rounds of few rows, where the overhead of a call shows."""
    n, number, turns = 1000, 30 if quick else 300, 2 if quick else 15
    rng = np.random.default_rng(0)
    X = rng.random((n, 10), dtype=np.float32)
    y = np.digitize(X[:, :3].sum(1), [1.0, 1.5, 2.0]).astype(np.float32)
    matrix = xgb.QuantileDMatrix(X, y)
    dataset = lgb.Dataset(X, y, free_raw_data=False).construct()
    qwk, one, quiet, start = go.qwk_objective(y), OneLine(y), {"verbose": -1}, float(y.mean())
    started = lgb.Dataset(X, y, init_score=np.full(n, start), free_raw_data=False).construct()
    libraries: dict[str, dict[str, Callable[[], Any]]] = {
        "XGBoost": {
            "ours": lambda: xgboost_train({}, matrix, number, objective=qwk),
            "obj=": lambda: xgb.train({"base_score": start}, matrix, number, obj=qwk),
            "m - y": lambda: xgb.train({"base_score": start}, matrix, number, obj=one),
            "built-in": lambda: xgb.train({"base_score": start}, matrix, number),
        },
        "LightGBM": {
            "ours": lambda: lightgbm_train(quiet, dataset, number, objective=qwk),
            "obj=": lambda: lgb.train({**quiet, "objective": qwk}, started, number),
            "m - y": lambda: lgb.train({**quiet, "objective": one}, dataset, number),
            "built-in": lambda: lgb.train({**quiet, "objective": "regression"}, dataset, number),
        },
    }
    for name, runs in libraries.items():
        seconds = medians(runs, turns)
        print(f"{name}, {number} rounds of {n:,} rows: "
              + ", ".join(f"{which} {1e3 * s:.0f} ms" for which, s in seconds.items()))  # fmt: skip
        report("  times a one-line numpy objective", seconds["ours"] / seconds["m - y"], 1.15)
        report(
            "  a plain call of the library, obj=: times our train",
            seconds["obj="] / seconds["ours"],
            1.1,
        )


def logloss_training(quick: bool) -> None:
    """Logistic rounds against the boosters' own."""
    n, number, turns = (20_000, 5, 2) if quick else (200_000, 30, 15)
    rng = np.random.default_rng(0)
    X = rng.random((n, 10), dtype=np.float32)
    y = (rng.random(n) < 1 / (1 + np.exp(6 - 5 * X[:, 0] - 3 * X[:, 1]))).astype(np.float32)
    matrix = xgb.QuantileDMatrix(X, y)
    dataset = lgb.Dataset(X, y, free_raw_data=False).construct()
    logloss, quiet = go.offset_logloss_objective(1.0), {"verbose": -1}
    binary = {"objective": "binary:logistic", "base_score": float(y.mean())}
    libraries: dict[str, tuple[float, dict[str, Callable[[], Any]]]] = {
        "XGBoost": (1.2, {
            "ours": lambda: xgboost_train({}, matrix, number, objective=logloss),
            "built-in": lambda: xgb.train(binary, matrix, number),
        }),
        "LightGBM": (1.05, {
            "ours": lambda: lightgbm_train(quiet, dataset, number, objective=logloss),
            "built-in": lambda: lgb.train({**quiet, "objective": "binary"}, dataset, number),
        }),
    }  # fmt: skip
    for name, (limit, runs) in libraries.items():
        seconds = medians(runs, turns)
        print(f"{name}, logloss, {number} rounds of {n:,} rows: "
              + ", ".join(f"{which} {1e3 * s:.0f} ms" for which, s in seconds.items()))  # fmt: skip
        report("  times the built-in objective", seconds["ours"] / seconds["built-in"], limit)


def logistic_loss(y: Any, z: Any, w: Any) -> Any:
    import jax.numpy as jnp

    losses = jnp.logaddexp(0, (1 - 2 * y) * z)
    return (losses if w is None else w * losses).sum()


def differentiated(quick: bool) -> None:
    """objective_from_loss against our logistic objective, both bound; compiling apart."""
    n = 100_000 if quick else 1_000_000
    rng = np.random.default_rng(0)
    y, z = rng.integers(0, 2, n).astype(np.float32), rng.normal(0, 3, n).astype(np.float32)
    ours = go.weighted_logloss_objective(1.0).bind(y)
    for hessian in ("exact", "constant"):
        by_jax = go.objective_from_loss(logistic_loss, hessian=hessian).bind(y)
        start = time.perf_counter()
        by_jax(z)
        first = time.perf_counter() - start
        seconds = in_turns(
            {"ours": lambda: ours(z), "by jax": lambda call=by_jax: call(z)},
            turns=3 if quick else 25,
        )
        print(f"loss differentiated, hessian {hessian}, {n:,} rows: "
              + ", ".join(f"{name} {1e3 * s:.1f} ms" for name, s in seconds.items()))  # fmt: skip
        report("  times the bound logistic objective", seconds["by jax"] / seconds["ours"])
        report("  seconds of the first call, which checks and compiles", first)


class Timed:
    """An objective, and the seconds that its calls took."""

    def __init__(self, obj: Callable[..., Any]) -> None:
        self.obj, self.seconds = obj, 0.0

    def __call__(self, margin: Array, data: Any) -> Any:
        start = time.perf_counter()
        returned = self.obj(margin, data)
        self.seconds += time.perf_counter() - start
        return returned

    def __deepcopy__(self, memo: object) -> Timed:
        return self


class SquaredErrorToBuffer:
    """The cheapest custom objective there is: one subtraction into a buffer of its own."""

    def __init__(self, n: int) -> None:
        self.gradient, self.hessian = np.empty(n, np.float32), np.ones(n, np.float32)

    def __call__(self, margin: Array, data: Any) -> tuple[Array, Array]:
        np.subtract(margin, data.get_label(), out=self.gradient, casting="same_kind")
        return self.gradient, self.hessian

    def __deepcopy__(self, memo: object) -> SquaredErrorToBuffer:
        return self


class Replay:
    """Gradients recorded from an earlier run, copied to a buffer: the same trees, no maths."""

    def __init__(self, recorded: list[Array]) -> None:
        self.recorded, self.turn = recorded, 0
        self.gradient = np.empty_like(recorded[0])
        self.hessian = np.ones_like(recorded[0])

    def __call__(self, margin: Array, data: Any) -> tuple[Array, Array]:
        data.get_label()
        np.copyto(self.gradient, self.recorded[self.turn % len(self.recorded)])
        self.turn += 1
        return self.gradient, self.hessian

    def __deepcopy__(self, memo: object) -> Replay:
        return self


def training(quick: bool) -> None:
    """The data of experiments/qwk_synthetic, all ten features, at its learning rate."""
    n = 100_000 if quick else 1_000_000
    rounds, turns = (10, 2) if quick else (20, 15)
    X = np.random.default_rng(0).random((n, 10), dtype=np.float32)
    y = (X.mean(1).argsort().argsort() * 4 // n).astype(np.float32)
    cheapest, center = SquaredErrorToBuffer(n), float(y.mean())
    qwk = go.qwk_objective(y).bind(y)  # as train() does
    matrix, dataset = xgb.QuantileDMatrix(X, y), lgb.Dataset(X, y, init_score=np.full(n, center))
    dataset.construct()

    def train_xgboost(obj: Callable[..., Any]) -> None:
        xgb.train({"base_score": center, "learning_rate": 0.1}, matrix, rounds, obj=obj)

    def train_lightgbm(obj: Callable[..., Any]) -> None:
        lgb.train({"objective": obj, "verbose": -1, "learning_rate": 0.1}, dataset, rounds)

    for name, train in (("XGBoost", train_xgboost), ("LightGBM", train_lightgbm)):
        recorded: list[Array] = []

        def record(margin: Array, data: Any, recorded: list[Array] = recorded) -> Any:
            gradient, hessian = qwk(margin, data)
            recorded.append(gradient.copy())
            return gradient, hessian

        train(record)  # warms up, too
        objectives = {"qwk": qwk, "cheapest": cheapest, "replay": Replay(recorded)}
        seconds: dict[str, list[float]] = {which: [] for which in objectives}
        inside: dict[str, list[float]] = {which: [] for which in objectives}
        for _ in range(turns):
            for which, obj in objectives.items():
                timed = Timed(obj)
                start = time.perf_counter()
                train(timed)
                seconds[which].append((time.perf_counter() - start) / rounds)
                inside[which].append(timed.seconds / rounds)
        each = {which: statistics.median(values) for which, values in seconds.items()}
        print(f"{name} round, {n:,} x 10, medians of {turns} turns of {rounds} rounds: "
              + ", ".join(f"{which} {1e3 * s:.1f} ms" for which, s in each.items()))  # fmt: skip
        calls = {which: statistics.median(values) for which, values in inside.items()}
        print("  of which in the objective: "
              + ", ".join(f"{which} {1e3 * s:.2f} ms" for which, s in calls.items()))  # fmt: skip
        report("  round of the cheapest with our objective's time for its own, to a plain one",
               1 + (calls["qwk"] - calls["cheapest"]) / each["cheapest"], 1.05)  # fmt: skip
        for which, what in (
            ("cheapest", "a custom objective that only returns squared-error gradients"),
            ("replay", "recorded QWK gradients from a buffer (the same trees)"),
        ):
            ratios = [a / b for a, b in zip(seconds["qwk"], seconds[which], strict=True)]
            report(f"  times {what}", statistics.median(ratios), 1.05)


def focal(quick: bool) -> None:
    """Bound, float32 margins."""
    n = 100_000 if quick else 1_000_000
    rng = np.random.default_rng(0)
    z = rng.normal(scale=3, size=(n, 3)).astype(np.float32)
    binary = (z[:, 0] > 0).astype(np.float32)
    label = binary + (z[:, 1] > 0)
    margin = z[:, 2].copy()
    logloss = go.weighted_logloss_objective(1.0).bind(binary)
    two, three = (
        go.focal_objective(2.0).bind(binary),
        go.focal_objective(2.0, n_classes=3).bind(label),
    )
    positions = np.arange(n), label.astype(int)
    seconds = in_turns(
        {
            "logistic": lambda: logloss(margin),
            "focal": lambda: two(margin),
            "focal, 3 classes": lambda: three(z),
            "plain softmax": lambda: plain_softmax(z, positions),
        },
        turns=3 if quick else 25,
    )
    print(f"bound gradient, {n:,} rows: "
          + ", ".join(f"{name} {1e3 * s:.2f} ms" for name, s in seconds.items()))  # fmt: skip
    report("  times the bound logistic objective", seconds["focal"] / seconds["logistic"], 2.1)
    report("  times plain numpy's softmax gradient and hessian, 3 classes",
           seconds["focal, 3 classes"] / seconds["plain softmax"], 1)  # fmt: skip


def plain_softmax(z: Array, positions: tuple[Array, Array]) -> tuple[Array, Array]:
    """Gradient and hessian of softmax cross entropy as one would write them."""
    p = np.exp(z - z.max(axis=1, keepdims=True))
    p /= p.sum(axis=1, keepdims=True)
    hessian = p * (1 - p)
    p[positions] -= 1
    return p, hessian


def kappas(quick: bool) -> None:
    """QWK of classes, and of float32 scores as boosters hand them out, against scikit-learn's."""
    of_classes, of_scores = go.quadratic_weighted_kappa, go.qwk_metric((0, 3))
    for n in (1000, 100_000) if quick else (1000, 100_000, 1_000_000):
        label, score = rows(n)
        y, c = label.astype(int), score.round().clip(0, 3).astype(int)
        calls: dict[str, Callable[[], Any]] = {
            "classes": lambda y=y, c=c: of_classes(y, c),
            "scores": lambda y=label, p=score: of_scores(y, p),
            "scikit-learn": lambda y=y, c=c: sk.cohen_kappa_score(y, c, weights="quadratic"),
        }
        repeat = range(max(1, 20_000 // n))
        seconds = in_turns(
            {
                name: lambda call=call, repeat=repeat: [call() for _ in repeat]
                for name, call in calls.items()
            },
            turns=3 if quick else {1000: 25, 100_000: 15, 1_000_000: 5}[n],
        )
        print(f"QWK, {n:,} rows: " + ", ".join(
            f"{name} {1e3 * s / len(repeat):.3f} ms" for name, s in seconds.items()))  # fmt: skip
        report("  times faster than cohen_kappa_score",
               seconds["scikit-learn"] / seconds["classes"], 35, at_least=True)  # fmt: skip
        report("  times faster than cohen_kappa_score: qwk_metric on float32 scores",
               seconds["scikit-learn"] / seconds["scores"], 24, at_least=True)  # fmt: skip


def metrics(quick: bool) -> None:
    n = 100_000 if quick else 1_000_000
    y, p = rows(n)
    label, margin = (y > 1).astype(np.float32), p
    wide, metric = [v.astype(np.float64) for v in (label, margin)], go.weighted_logloss_metric(0.1)
    seconds = in_turns(
        {
            "float32": lambda: metric(label, margin),
            "float64": lambda: metric(*wide),
            "plain": lambda: float((wide[0] * wide[1]).sum()),
        },
        turns=3 if quick else 15,
    )
    print(f"weighted logloss, {n:,} rows: "
          + ", ".join(f"{name} {1e3 * s:.1f} ms" for name, s in seconds.items()))  # fmt: skip
    for name, booster, limit in (("float32", "XGBoost", 6), ("float64", "LightGBM", 8)):
        report(f"  times a plain sum of products, {name} margins as {booster} hands out",
               seconds[name] / seconds["plain"], limit)  # fmt: skip


def peers(quick: bool) -> None:
    """Metrics that scikit-learn has as well, on the same rows."""
    n = 100_000 if quick else 1_000_000
    y, p = rows(n)
    y, c = y.astype(int), p.round().clip(0, 3).astype(int)
    b, d = (y > 1).astype(int), (c > 1).astype(int)
    z = np.random.default_rng(1).normal(size=(n, 4))
    P = scipy.special.softmax(z, axis=1)
    named = {
        name: go.metrics.threshold_metric(name)
        for name in ("mae", "macro_recall", "matthews", "f1")
    }
    pairs: dict[str, tuple[Callable[[], Any], Callable[[], Any]]] = {
        "mean_absolute_error": (
            lambda: named["mae"](y, c),
            lambda: sk.mean_absolute_error(y, c),
        ),
        "balanced_accuracy_score": (
            lambda: named["macro_recall"](y, c),
            lambda: sk.balanced_accuracy_score(y, c),
        ),
        "matthews_corrcoef": (
            lambda: named["matthews"](y, c),
            lambda: sk.matthews_corrcoef(y, c),
        ),
        "fbeta_score": (lambda: named["f1"](b, d), lambda: sk.fbeta_score(b, d, beta=1)),
        "log_loss": (
            lambda: go.metrics.class_logloss_metric(input_space="probability")(y, P),
            lambda: sk.log_loss(y, P),
        ),
        "log_loss of a softmax": (
            lambda: go.metrics.class_logloss_metric()(y, z),
            lambda: sk.log_loss(y, scipy.special.softmax(z, axis=1)),
        ),
    }
    for name, (ours, theirs) in pairs.items():
        assert np.isclose(ours(), theirs())
        seconds = in_turns({"ours": ours, "theirs": theirs}, turns=1 if quick else 3)
        print(f"{name}, {n:,} rows: ours {1e3 * seconds['ours']:.1f} ms")
        report(f"  times faster than scikit-learn's {name}",
               seconds["theirs"] / seconds["ours"], 1, at_least=True)  # fmt: skip


def main() -> None:
    quick = quick_run(__doc__, "numpy", "xgboost", "lightgbm", "jax")
    gradients(quick)
    plain_calls(quick)
    bound(quick)
    any_cost(quick)
    focal(quick)
    ordinal_logit(quick)
    differentiated(quick)
    kappas(quick)
    metrics(quick)
    peers(quick)
    small_training(quick)
    logloss_training(quick)
    training(quick)


if __name__ == "__main__":
    main()
