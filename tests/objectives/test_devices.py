"""Arrays on a device: the same numbers as numpy's, from and to the device, or a refusal.

Proved without one: array-api-strict has a device of its own whose arrays numpy refuses to read, as
it does CuPy's, and knows nothing but the array API standard. What its arrays say of their memory is
the processor's, so that alone is replaced by what CuPy's say; so it is with arrays of PyTorch and
jax, whose functions are the same on the processor as on a GPU.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import pytest

import gbdt_objectives as go
from gbdt_objectives import _checks
from gbdt_objectives._rows import rows as _places
from gbdt_objectives.objectives.function import _float64
from tests.cases import each

pytest.importorskip("numpy", "2", reason="with numpy 1 array-api-strict cannot move arrays")
strict = pytest.importorskip("array_api_strict")
pytest.importorskip("array_api_compat")
DEVICE = strict.Device("device1")


def send(values: Any, place: Any = DEVICE) -> Any:
    return strict.asarray(np.asarray(values), device=place)


def received(values: Any) -> np.ndarray:
    assert values.device == DEVICE
    return np.asarray(values.to_device(strict.Device("CPU_DEVICE")))


@pytest.fixture(autouse=True)
def memory_of_a_device(monkeypatch) -> None:
    kind = type(send([0.0]))
    monkeypatch.setattr(kind, "__dlpack_device__", lambda x: (1 + (x.device == DEVICE), 0))


@dataclass(frozen=True)
class Library:
    """An array library, its arrays on a device."""

    xp: Any
    send: Callable[[Any], Any]
    received: Callable[[Any], np.ndarray]


@pytest.fixture(params=["strict", "torch"])
def library(request, monkeypatch) -> Library:
    if request.param == "strict":
        return Library(strict, send, received)
    torch = pytest.importorskip("torch")
    monkeypatch.setattr(torch.Tensor, "__dlpack_device__", lambda _: (2, 0))
    return Library(torch, torch.asarray, torch.Tensor.numpy)


N = 3000
RATES = np.where(np.arange(N) % 3, 0.1, 0.6)
GRADES, EVENTS = (-1.0, 0.5, 1.0, 3.0), (0.0, 1.0)
TAKEN = {
    "qwk": (go.qwk_objective(GRADES), GRADES),
    "qwk, kappa": (go.qwk_objective(GRADES, scale="kappa"), GRADES),
    "qwk, not clipped": (go.qwk_objective(GRADES, clip=False), GRADES),
    "qwk, no labels": (go.qwk_objective(), GRADES),
    "weighted": (go.weighted_logloss_objective(0.1), EVENTS),
    "weighted, bounded": (go.weighted_logloss_objective(0.1, hessian="bounded"), EVENTS),
    "offset": (go.offset_logloss_objective(0.1), EVENTS),
    "offset by row": (go.offset_logloss_objective(RATES), EVENTS),
    "delayed": (go.experimental.delayed_logloss_objective(np.minimum(RATES + 0.4, 1)), EVENTS),
    "focal": (go.focal_objective(2.0), EVENTS),
    "focal, alpha": (go.focal_objective(0.5, alpha=0.25), EVENTS),
}
REFUSED = {
    "kappa": go.objectives.kappa_objective("absolute", GRADES),
    "ratio": go.objectives.kappa_objective("squared", GRADES),
    "ordinal": go.ordinal_logit_objective(4),
    "own": go.objective(lambda y, f, w: (f - y, np.ones_like(f))),
}
BOUND = {"float32": 3e-6, "float64": 1e-13}
"""Some roundings: exp, log and the order of float64 sums differ between libraries, and numpy's path
rounds products of float32 weights that are summed. Measured: 1e-7 and 1e-15, mostly 0."""


@dataclass
class Matrix:
    """A DMatrix whose labels and weights are on the device."""

    y: Any
    w: Any

    def get_label(self) -> Any:
        return self.y

    def get_weight(self) -> Any:
        return self.w


def rows(labels: tuple[float, ...], dtype: str) -> tuple[Any, Any, Any]:
    """Labels, margins, also far beyond the labels and in both tails, and weights, some 0."""
    rng = np.random.default_rng(0)
    y = rng.permutation(np.resize(labels, N))
    f = rng.normal(0.5, 3, N)
    f[:40] *= 40  # where a logistic probability is no float32
    w = rng.uniform(0, 3, N)
    w[::7] = 0
    return tuple(values.astype(dtype) for values in (y, f, w))


def assert_close(found: Any, expected: Any, name: str, dtype: str, f: Any = 0.0) -> None:
    """Each row; in QWK, where residuals cancel, relative to the largest one. A tail of focal loss
    is the exp of up to (1 + gamma) f: an exponent rounds by eps of itself, and its exp by that."""
    bound, tiny = BOUND[dtype], np.finfo(dtype).smallest_normal  # below, digits are lost
    least = bound * np.abs(expected).max() if name.startswith("qwk") else tiny
    if name.startswith("focal"):
        bound = bound + 3 * np.finfo(dtype).eps * np.abs(f)
    off = np.abs(np.asarray(found, float) - expected)
    assert (off <= bound * np.abs(expected) + least).all(), f"off by up to {off.max():g}"


@each("dtype", BOUND)
@each("weighted", [False, True], ids=["", "weights"])
@each("name", TAKEN)
@pytest.mark.filterwarnings("ignore:boosting starts")
def test_as_numpy(name, weighted, dtype, library) -> None:
    objective, labels = TAKEN[name]
    y, f, w = rows(labels, dtype)
    w = w if weighted else None
    there = [None if values is None else library.send(values) for values in (y, f, w)]
    pairs = [(objective.gradient_hessian(*there), objective.gradient_hessian(y, f, w), dtype)]
    pairs.append((objective(*there), objective(y, f, w), "float32"))
    pairs.append((objective.bind(there[0], there[2])(there[1]), objective(y, f, w), "float32"))
    for found, expected, kind in pairs:
        for ours, numpys in zip(found, expected, strict=True):
            assert ours.dtype == getattr(library.xp, kind)
            assert ours.shape == (N,)
            assert_close(library.received(ours), numpys, name, kind, f)
    for what in ("loss", "mean_loss"):
        found, expected = getattr(objective, what)(*there), getattr(objective, what)(y, f, w)
        assert type(found) is float
        assert found == pytest.approx(expected, rel=BOUND[dtype])
    measured = objective.measured(there[0], there[2])
    assert measured.intercept == pytest.approx(objective.measured(y, w).intercept, rel=1e-12)
    f[7] = np.nan
    with pytest.raises(ValueError, match="margin must be finite, found nan at row 7"):
        objective(there[0], library.send(f))


@each("dtype", BOUND)
def test_several_margins_a_row(dtype) -> None:
    objective = go.focal_objective(1.5, alpha=(0.2, 0.5, 1), n_classes=3)
    y, f, w = rows((0.0, 1.0, 2.0), dtype)
    f = np.stack([f, -f, f[::-1]], axis=1)
    there, here = (send(y), send(f), send(w)), objective.gradient_hessian(y, f, w)
    for ours, numpys in zip(objective.gradient_hessian(*there), here, strict=True):
        assert_close(received(ours), numpys, "focal", dtype, np.ptp(f, axis=1, keepdims=True))
    assert objective.loss(*there) == pytest.approx(objective.loss(y, f, w), rel=BOUND[dtype])


@each("name", TAKEN)
def test_called_with_a_dataset_whose_labels_are_there(name) -> None:
    objective, labels = TAKEN[name]
    y, f, w = rows(labels, "float32")
    for weights, given in ((None, None), (None, send(np.zeros(0, np.float32))), (w, send(w))):
        data = Matrix(send(y), given)
        for margin in (f, send(f)):  # today's XGBoost hands margins out in the host's memory
            for ours, numpys in zip(objective(margin, data), objective(y, f, weights), strict=True):
                assert_close(received(ours), numpys, name, "float32", f)


@each("name", TAKEN)
def test_bound_to_labels_there(name) -> None:
    """Margins are sent there; a start is added; the user's own arrays are not handed out."""
    objective, labels = TAKEN[name]
    y, f, w = rows(labels, "float64")
    weights = send(w.astype(np.float32))
    there, here = objective.bind(send(y), weights, start=0.5), objective.bind(y, w, start=0.5)
    narrow = f.astype(np.float32)
    pairs = [(f, f), (narrow, narrow), (send(narrow), narrow), (f.tolist(), f), (f[::-1], f[::-1])]
    for margin, read in pairs:
        for ours, numpys in zip(there(margin), here(read), strict=True):
            assert ours is not weights
            assert ours.dtype == strict.float32
            assert_close(received(ours), numpys, name, "float32", read)
    with pytest.raises(ValueError, match=rf"margin has 2 rows, but the labels have {N}"):
        there(send([0.0, 1.0]))


def test_whole_numbers_are_labels_as_well() -> None:
    objective = go.qwk_objective([0, 1, 2])
    y, f = np.array([0, 1, 2, 2]), np.array([0, 1, 1, 5])
    found = objective(send(y), send(f))[0]
    assert_close(received(found), objective(y, f)[0], "qwk", "float32")
    events = go.focal_objective(1.0)
    found = events(send(y > 0), send(f))[0]
    assert_close(received(found), events(y > 0, f)[0], "focal", "float32")


BAD = {
    "a label that is NaN": (lambda y, f, w: (np.where(f == f[5], np.nan, y), f, w)),
    "a label out of range": (lambda y, f, w: (np.where(f == f[5], 7, y), f, w)),
    "a margin that is NaN": (lambda y, f, w: (y, np.where(f == f[5], np.nan, f), w)),
    "an infinite margin": (lambda y, f, w: (y, np.where(f == f[5], np.inf, f), w)),
    "a negative weight": (lambda y, f, w: (y, f, np.where(f == f[5], -1, w))),
    "a weight that is NaN": (lambda y, f, w: (y, f, np.where(f == f[5], np.nan, w))),
    "a huge weight": (lambda y, f, w: (y, f, np.where(f == f[5], 1e35, w))),
    "no weight but 0": (lambda y, f, w: (y, f, 0 * w)),
    "fewer margins": (lambda y, f, w: (y, f[1:], w)),
    "fewer weights": (lambda y, f, w: (y, f, w[1:])),
    "two margins a row": (lambda y, f, w: (y, np.stack([f, f], 1), w)),
    "labels of two axes": (lambda y, f, w: (y[:, np.newaxis], f, w)),
    "no rows": (lambda y, f, w: (y[:0], f[:0], w[:0])),
    "complex margins": (lambda y, f, w: (y, f + 0j, w)),
}


@each("name", ["qwk", "weighted", "offset by row", "focal"])
@each("bad", BAD)
def test_errors_as_on_numpy(name, bad) -> None:
    objective, labels = TAKEN[name]
    given = BAD[bad](*rows(labels, "float64"))
    with pytest.raises((TypeError, ValueError)) as expected:
        objective(*given)
    with pytest.raises(type(expected.value)) as found:
        objective(*map(send, given))
    assert str(found.value).replace("array_api_strict.", "") == str(expected.value)
    y, f, w = given
    if bad in ("an infinite margin", "a margin that is NaN"):  # in every call, not the first only
        bound = objective.bind(send(y), send(w))
        bound(np.ones(N))
        with pytest.raises(ValueError, match="margin must be finite"):
            bound(send(f))
        with pytest.raises(ValueError, match="margin must be finite"):
            objective.loss(send(y), send(f), send(w))


def test_a_far_start_warns() -> None:
    y = send(rows(GRADES, "float64")[0])
    with pytest.warns(UserWarning, match="boosting starts at -9, far from"):
        go.qwk_objective(GRADES)(y, send(np.full(N, -9.0)))


def test_what_two_places_hold_is_refused() -> None:
    y, f, _ = rows(GRADES, "float64")
    objective = go.qwk_objective(GRADES)
    other = strict.Device("device2")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(type(send(y)), "__dlpack_device__", lambda x: (2, 0))
        with pytest.raises(TypeError, match="on different devices"):
            objective(send(y), send(f, other))
        with pytest.raises(TypeError, match="put all on one device"):
            objective.bind(send(y))(send(f, other))


@each("name", REFUSED)
def test_refused_where_numpy_is_needed(name) -> None:
    objective = REFUSED[name]
    y, f = np.resize([0.0, 1.0, 2.0], 12), np.zeros((12, 3) if objective.outputs == 3 else 12)
    remedy = "is on a device, found a array_api_strict.Array, but .* numpy.asarray"
    for call in (
        lambda: objective(send(y), send(f)),
        lambda: objective(send(y), f),
        lambda: objective(y, send(f)),
        lambda: objective(f, Matrix(send(y), None)),
        lambda: objective.bind(send(y)),
        lambda: objective.bind(y)(send(f)),
        lambda: objective.measured(send(y)),
        lambda: objective.loss(send(y), send(f)),
    ):
        with pytest.raises(TypeError, match=remedy):
            call()


def test_refused_everywhere_else() -> None:
    y, f = np.resize([0, 1, 2], 12), np.linspace(0, 2, 12)
    for call in (
        lambda: go.qwk_objective(send(y)),
        lambda: go.offset_logloss_objective(send(np.full(12, 0.5))),
        lambda: go.extended_qwk_metric()(send(y), f),
        lambda: go.extended_qwk_metric()(y, send(f)),
        lambda: go.quadratic_weighted_kappa(send(y), y),
        lambda: go.optimize_thresholds(send(y), f),
        lambda: go.apply_thresholds(send(f), [0.5]),
        lambda: go.correct_probability(send(f / 2), negative_keep_rate=0.1),
        lambda: go.calibration.brier_score(y > 0, send(f / 2)),
        lambda: go.negative_downsample(send(y > 0), 0.5),
    ):
        with pytest.raises(TypeError, match="is on a device, found a array_api_strict.Array"):
            call()


def test_metrics_copy_what_a_booster_hands_out() -> None:
    y, f, w = rows(GRADES, "float32")
    metric = go.extended_qwk_metric(GRADES)
    here = metric.xgboost(f, Matrix(y, w))
    assert metric.xgboost(send(f), Matrix(send(y), send(w))) == here
    assert metric.xgboost(f, Matrix(send(y), send(w))) == here


def test_what_numpy_can_read_is_numpys(monkeypatch) -> None:
    """Arrays of other libraries in the host's memory: gradients are what boosters take."""
    monkeypatch.setattr(_places, "Device", None)  # which would be an error
    y, f, w = rows(GRADES, "float32")
    host = [send(values, strict.Device("CPU_DEVICE")) for values in (y, f, w)]
    objective = go.qwk_objective(GRADES)
    for ours, numpys in zip(objective(*host), objective(y, f, w), strict=True):
        assert type(ours) is np.ndarray
        np.testing.assert_array_equal(ours, numpys)


def test_a_missing_array_api_compat_names_the_command(monkeypatch) -> None:
    monkeypatch.setitem(__import__("sys").modules, "array_api_compat", None)
    with pytest.raises(ImportError, match=r"pip install 'gbdt_objectives\[array-api\]'"):
        go.qwk_objective(GRADES)(send(GRADES), send(np.zeros(4)))


def test_libraries_without_the_array_api_are_refused() -> None:
    class Column:
        """As of cuDF: on a device, and no array."""

        __cuda_array_interface__: ClassVar[dict[str, Any]] = {}

    with pytest.raises(TypeError, match="one library that has the array API, such as CuPy"):
        go.qwk_objective(GRADES)(Column(), np.zeros(4))
    with pytest.raises(TypeError, match="is on a device, found a"):
        go.extended_qwk_metric()(Column(), np.zeros(4))


def test_what_cupy_and_torch_users_pass_instead() -> None:
    for library, remedy in (("cupy", "cupy.asnumpy(y_true)"), ("torch", "y_true.cpu()")):
        array = type("ndarray", (), {"__module__": library, "__dlpack_device__": lambda x: (2, 0)})
        with pytest.raises(TypeError, match=re.escape(f"pass {remedy}")):
            _checks.refuse_device("y_true", array())
    for library, copy in (("cupy", "get"), ("cudf", "to_numpy")):
        there = {"__module__": library, "__dlpack_device__": lambda x: (2, 0), copy: lambda x: 5}
        assert _checks.to_host(type("array", (), there)()) == 5


@pytest.mark.slow
def test_jax_has_float64_only_if_it_is_allowed(monkeypatch) -> None:
    jax = pytest.importorskip("jax.numpy")
    monkeypatch.setattr(type(jax.asarray([0.0])), "__dlpack_device__", lambda _: (2, 0))
    objective, (y, f, w) = go.qwk_objective(GRADES), rows(GRADES, "float64")
    with _float64():
        there = objective(*map(jax.asarray, (y, f, w)))
    for ours, numpys in zip(there, objective(y, f, w), strict=True):
        assert ours.dtype == jax.float32
        assert_close(np.asarray(ours), numpys, "qwk", "float32")
    with (
        pytest.warns(UserWarning, match="float64"),  # jax's own
        pytest.raises(TypeError, match="sums over rows need float64, but jax.numpy made float32"),
    ):
        objective(jax.asarray(y), jax.asarray(f))
