"""objective_from_loss: derivatives are right, what is wrong is refused, jax's settings stay."""

from __future__ import annotations

import pickle
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any

import lightgbm as lgb
import numpy as np
import pytest
import xgboost as xgb
from scipy.special import expit, softmax
from sklearn.model_selection import GridSearchCV

import gbdt_objectives as go
from gbdt_objectives.adapters import xgboost as by_xgboost
from gbdt_objectives.objectives import function
from tests.cases import each, refusals_of
from tests.contract import log_squared_error_loss, named, pseudo_huber_loss
from tests.objectives.checks import central_difference

pytestmark = pytest.mark.slow

jax = pytest.importorskip("jax")
jnp = jax.numpy

# Losses


def total(losses, w):
    return (losses if w is None else w * losses).sum()


def logistic(y, z, w):
    return total(jnp.logaddexp(0, (1 - 2 * y) * z), w)


def naive_logistic(y, z, w):
    """Its second derivative is below 0 by rounding, in one tail."""
    return total(jnp.log1p(jnp.exp((1 - 2 * y) * z)), w)


def poisson(y, f, w):
    return total(jnp.exp(f) - y * f, w)


def cross_entropy(y, z, w):
    return -total(jax.nn.log_softmax(z, axis=1)[jnp.arange(len(y)), y.astype(int)], w)


def cauchy(y, f, w):
    """Not convex."""
    return total(jnp.log1p((f - y) ** 2), w)


def ones(y, f, w):
    v = np.ones(len(f)) if w is None else w
    return v if f.ndim == 1 else np.repeat(v[:, None], f.shape[1], axis=1)


def quarter(y, z, w):
    return 0.25 * ones(y, z, w)


def half_of_the_error(y, z, w):
    """In jax.numpy, of which arrays come as well."""
    return jnp.abs(jax.nn.sigmoid(z) - y) / 2 * ones(y, z, w)


N = 300  # rows of nearly every test: each loss is compiled again for each number of rows


def rows(n=N):
    rng = np.random.default_rng(0)
    return rng.integers(0, 2, n), rng.uniform(-8, 8, n), rng.uniform(0.5, 3, n)


# The derivatives


@each(
    ("loss", "exact"),
    [
        (logistic, lambda y, f: (expit(f) - y, expit(f) * expit(-f))),
        (poisson, lambda y, f: (np.exp(f) - y, np.exp(f))),
        (
            pseudo_huber_loss,
            lambda y, f: ((f - y) / np.hypot(1, f - y), np.hypot(1, f - y) ** -3.0),
        ),
    ],
)
def test_derivatives_are_the_formulas(loss, exact) -> None:
    y, f, w = rows()
    obj = go.objective_from_loss(loss)
    for weight, v in ((None, 1.0), (w, w)):
        found = obj.gradient_hessian(y, f, weight)
        for array, right in zip(found, exact(y, f), strict=True):
            assert array.dtype == np.float64
            # a few roundings of float64; in 1 - p some more
            np.testing.assert_allclose(array, v * right, rtol=1e-11, atol=1e-14)


def test_several_margins_a_row() -> None:
    rng = np.random.default_rng(1)
    n = 60  # those of the checker
    y, z, w = rng.integers(0, 3, n), rng.normal(0, 3, (n, 3)), rng.uniform(0.5, 3, n)
    p = softmax(z, axis=1)
    for hessian, expected in {"exact": p * (1 - p), quarter: np.full((n, 3), 0.25)}.items():
        obj = go.objective_from_loss(cross_entropy, hessian=hessian)
        for weight in (None, w):
            v = ones(y, z, weight)
            g, h = obj.gradient_hessian(y, np.asfortranarray(z), weight)
            np.testing.assert_allclose(g, v * (p - np.eye(3)[y]), rtol=1e-12, atol=1e-14)
            np.testing.assert_allclose(h, v * expected, rtol=1e-12, atol=1e-14)


def test_rows_that_are_coupled() -> None:
    y, f, w = rows(40)
    obj = go.objective_from_loss(log_squared_error_loss, hessian="constant")
    for weight in (None, w):
        v = np.ones(40) if weight is None else weight
        gradient, hessian = obj.gradient_hessian(y, f, weight)
        formula = v.sum() * v * (f - y) / (v * (f - y) ** 2).sum()
        np.testing.assert_allclose(gradient, formula, rtol=1e-13)
        np.testing.assert_array_equal(hessian, v)
        numeric = central_difference(lambda f, u=weight: obj.loss(y, f, u), f, 1e-5)
        # truncation, step^2, and rounding, eps loss / step
        np.testing.assert_allclose(gradient, numeric, rtol=0, atol=1e-8)


def test_a_hessian_of_ones_own_is_what_it_is_declared_to_be() -> None:
    """The checker, to which it is as any other, tells whether that is so."""
    y, z, w = rows()
    for kind in (None, "upper_bound", "bounded"):
        obj = go.objective_from_loss(logistic, hessian=half_of_the_error, hessian_kind=kind)
        assert obj.hessian_kind == (kind or "upper_bound")
        hessian = obj.gradient_hessian(y, z, w)[1]
        np.testing.assert_allclose(hessian, w * np.abs(expit(z) - y) / 2, rtol=1e-11)


def weights_ignored(y, z, w):
    return logistic(y, z, None)


def shape_of_weights_used(y, z, w):
    return logistic(y, z, None if w is None else jnp.ones_like(w))


def sum_of_weights_forgotten(y, z, w):
    n = len(y) if w is None else w.sum()
    return logistic(y, z, None) if n is not None else n


@each("loss", [shape_of_weights_used, sum_of_weights_forgotten])
def test_weights_that_do_not_reach_the_loss_are_noticed(loss) -> None:
    with pytest.raises(ValueError, match=f"{loss.__name__} ignores sample_weight"):
        go.objective_from_loss(loss)(*rows())


def test_a_second_derivative_that_rounding_makes_negative_is_0() -> None:
    y, z = np.zeros(1000), np.linspace(-100, 100, 1000)
    by_jax = function._evaluate(naive_logistic, 2, y, z, None)[2]
    assert by_jax.min() < 0
    _, hessian = go.objective_from_loss(naive_logistic).gradient_hessian(y, z)
    assert hessian.min() == 0
    np.testing.assert_allclose(hessian, expit(z) * expit(-z), rtol=0, atol=1e-15)


def nearly_a_sum(y, f, w):
    """Adds 1e-6 times the product of the margins of two rows, those of label 1."""
    of_two = y * f
    return (f**2).sum() + 1e-6 * (of_two.sum() ** 2 - (of_two**2).sum()) / 2


def test_one_coupled_pair_of_rows_is_found() -> None:
    obj, (_, f, _), y = go.objective_from_loss(nearly_a_sum), rows(), np.zeros(N)
    obj(y, f)  # no pair
    for pair in [(0, 1), (7, N - 1), (N - 2, N - 1)]:
        y = np.isin(np.arange(N), pair)
        with pytest.raises(ValueError, match="in nearly_a_sum rows depend on each other"):
            obj(y, f)


COSTS = np.random.default_rng(2).uniform(1, 5, N)


def with_costs(y, z, w):
    """A value of each of N rows from elsewhere."""
    return total(COSTS * jnp.logaddexp(0, (1 - 2 * y) * z), w)


def test_values_of_rows_may_come_from_elsewhere() -> None:
    y, z, _ = rows()
    costly, plain = go.objective_from_loss(with_costs), go.objective_from_loss(logistic)
    for weight, v in ((None, COSTS), (COSTS, COSTS**2)):
        found, expected = costly.gradient_hessian(y, z, weight), plain.gradient_hessian(y, z, v)
        np.testing.assert_allclose(found, expected, rtol=1e-13)


# What is refused, when it is made and through both boosters' training


@dataclass
class NotHashable:
    gamma: float = 1.0

    def __call__(self, y, f, w):
        return total(self.gamma * (f - y) ** 2, w)


@dataclass(frozen=True)
class Power:
    """Visible parameters, as those of our own objectives."""

    power: float

    def __call__(self, y, f, w):
        return total(jnp.abs(f - y) ** self.power, w)


test_bad_arguments = refusals_of(
    lambda loss, options: go.objective_from_loss(loss, **options),
    (3, {}, "loss must be a function, found 3", TypeError),
    (go.objective(lambda y, f, w: (f, f)), {}, "loss must be a function, found", TypeError),
    (go.qwk_objective(), {}, "loss must be a function, found", TypeError),
    (lambda y, f: f, {}, r"must take \(y_true, margin, sample_weight\), found \(y,", TypeError),
    (NotHashable(), {}, "make its class a frozen dataclass", TypeError),
    (logistic, {"hessian": "diagonal"}, "hessian must be one of 'exact', 'const"),
    (logistic, {"hessian": 0.25}, "hessian must be one of .* found 0.25"),
    (logistic, {"hessian_kind": "upper_bound"}, "but hessian is 'exact': leave"),
    (logistic, {"hessian": quarter, "hessian_kind": "exact"}, "hessian_kind must"),
    (logistic, {"intercept": np.nan}, "intercept must be finite"),
    (logistic, {"intercept": "0"}, "intercept must be a number", TypeError),
)


def absolute(y, f, w):
    return total(jnp.abs(f - y), w)


def in_place(y, f, w):
    f -= y
    f[0] = 0
    return total(f**2, w)


WRONG: list[tuple[Any, dict[str, Any], type[Exception], str]] = [
    (named("each_row", lambda y, z, w: jnp.logaddexp(0, (1 - 2 * y) * z)), {}, ValueError,
     rf"each_row must return one number, .* array of shape \({N},\): "),
    (named("nothing", lambda y, f, w: None), {}, TypeError,
     "nothing must return one number, .* found None"),
    (named("two", lambda y, f, w: (total((f - y) ** 2, w), 1.0)), {}, TypeError,
     "two must return one number, .* found "),
    (named("whole", lambda y, f, w: (f > y).sum()), {}, TypeError,
     "whole must return a float, found int"),
    (named("mean", lambda y, f, w: jnp.average((f - y) ** 2, weights=w)), {}, ValueError,
     "mean is .* and for each of them twice, so a mean, not the total"),
    (named("ratio", lambda y, f, w: ((f - y) ** 2).sum() / ((f - 1) ** 2 + 1).sum()),
     {"hessian": "constant"}, ValueError, "ratio is .* multiply by the number of rows"),
    (named("of_numpy", lambda y, z, w: total(np.log(1 + np.exp((1 - 2 * y) * z)), w)), {},
     TypeError, "jax cannot trace of_numpy: .* jnp.exp for np.exp"),
    (named("of_scipy", lambda y, z, w: total((expit(z) - y) ** 2, w)), {}, TypeError,
     "jax cannot trace of_scipy: .* Write it in jax.numpy alone"),
    (named("with_if", lambda y, f, w: total(f**2, w) if f[0] > 0 else total(-f, w)), {}, TypeError,
     "jax cannot trace with_if: .* jnp.where for if"),
    (named("of_some_rows", lambda y, f, w: (f[y == 1] ** 2).sum()), {}, TypeError,
     "jax cannot trace of_some_rows: .* boolean indices"),
    (named("as_float", lambda y, f, w: float(total((f - y) ** 2, w))), {}, TypeError,
     r"jax cannot trace as_float: .* no float\(\)"),
    (in_place, {}, TypeError, "immutable"),
    (named("no_margin", lambda y, f, w: total(y**2, w)), {}, ValueError,
     "no_margin does not depend on the margin"),
    (named("not_finite", lambda y, f, w: total(jnp.log(f - 1e6), w)), {}, ValueError,
     "not_finite is nan at margins from .* jnp.logaddexp"),
    (named("steep", lambda y, f, w: total(jnp.where(f > 1e6, jnp.sqrt(f - 1e6), f**2), w)), {},
     ValueError, "steep is finite, but its gradient is nan at row 0, .* jnp.where"),
    (cauchy, {}, ValueError, "derivative of cauchy is -.* not convex, .* hessian=\"constant\""),
    (log_squared_error_loss, {}, ValueError,
     "in log_squared_error_loss rows depend .* hessian=\"constant\""),
    (absolute, {}, ValueError, "by absolute must be >= 0 and not 0 everywhere, .* a constant"),
    (logistic, {"hessian": lambda y, f, w: np.ones(2)}, ValueError,
     "returned by logistic must have the margin's"),
    (logistic, {"hessian": lambda y, f, w: -ones(y, f, w)}, ValueError,
     "returned by logistic must be >= 0"),
    (logistic, {"hessian": lambda y, f, w: np.nan * ones(y, f, w)}, ValueError,
     "returned by logistic must be finite"),
]  # fmt: skip

X = np.random.default_rng(3).random((N, 3))
Y = 3.0 * (X[:, 0] > 0.4)


@each(  # through both boosters' training: tests/objectives/test_base.py
    ("loss", "options", "error", "message"),
    WRONG,
    ids=[f"{wrong[0].__name__}-{k}" for k, wrong in enumerate(WRONG)],
)
def test_what_a_loss_returns_is_checked(loss, options, error, message) -> None:
    with pytest.raises(error, match=message):
        go.objective_from_loss(loss, **options)(Y, np.full(N, 0.5))


def train_with_xgboost(obj, w=None):
    data = xgb.DMatrix(X, Y, weight=w)
    return by_xgboost.train({"max_depth": 2}, data, 3, objective=obj).predict(data)


def fit_lightgbm(obj, w=None):
    estimator = lgb.LGBMRegressor(n_estimators=3, objective=obj, verbose=-1)
    return estimator.fit(X, Y, sample_weight=w).predict(X)


TRAININGS = [train_with_xgboost, fit_lightgbm]  # all doors: tests/objectives/test_contract.py


@pytest.mark.parametrize("train", TRAININGS)
def test_training_refuses_a_loss_that_ignores_the_weights(train) -> None:
    obj = go.objective_from_loss(weights_ignored)
    train(obj)  # there are none
    with pytest.raises(ValueError, match="weights_ignored ignores sample_weight, and boosters"):
        train(obj, np.full(N, 2.0))


@pytest.mark.filterwarnings("ignore:boosting starts at")  # the libraries start at 0
@pytest.mark.parametrize(
    ("train", "loss"),
    [
        *zip(
            [*TRAININGS, *TRAININGS],
            [cauchy, absolute, log_squared_error_loss, Power(1.5)],
            strict=True,
        )
    ],
)
def test_the_remedy_trains(train, loss, capfd) -> None:
    found = train(go.objective_from_loss(loss, hessian="constant", intercept=0.5))
    assert np.corrcoef(found, Y)[0, 1] > 0.9
    assert capfd.readouterr() == ("", "")


# It is a value, in one process and in several


def test_it_is_a_value() -> None:
    obj = go.objective_from_loss(Power(1.5), hessian=quarter, intercept=2)
    again = pickle.loads(pickle.dumps(obj))
    assert again == obj == go.objective_from_loss(Power(1.5), hessian=quarter, intercept=2)
    assert obj != go.objective_from_loss(Power(1.4), hessian=quarter, intercept=2)
    assert obj != go.objective_from_loss(Power(1.5), hessian="constant", intercept=2)
    assert "Power(power=1.5)" in repr(obj)
    assert "quarter" in repr(obj)
    with pytest.raises((pickle.PicklingError, AttributeError)):
        pickle.dumps(go.objective_from_loss(lambda y, f, w: f.sum()))


def test_equal_parameters_give_equal_gradients() -> None:
    found = {}
    for power in (1.2, 1.6):
        obj = go.objective_from_loss(Power(power), hessian="constant")
        found[power] = obj(Y, np.zeros(N))[0]
        again = pickle.loads(pickle.dumps(obj))
        np.testing.assert_array_equal(again(Y, np.zeros(N))[0], found[power])
    assert np.abs(found[1.2] - found[1.6]).max() > 0.01  # the compiled functions are not mixed up


@pytest.mark.xdist_group("two_processes")
def test_grid_search_in_two_processes() -> None:
    objectives = [
        go.objective_from_loss(Power(1.5), hessian="constant"),
        go.objective_from_loss(pseudo_huber_loss),
    ]
    objectives[0](Y, np.zeros(N))  # jax runs here as well
    # of one library: what is the other's is tried without jax in test_contract.py
    estimator = xgb.XGBRegressor(n_estimators=5, n_jobs=1)
    search = GridSearchCV(estimator, {"objective": objectives}, cv=2, n_jobs=2)
    search.fit(X, Y)
    again = GridSearchCV(estimator, {"objective": objectives}, cv=2, n_jobs=1).fit(X, Y)
    scores = search.cv_results_["mean_test_score"]
    np.testing.assert_array_equal(scores, again.cv_results_["mean_test_score"])
    assert len(set(scores)) == 2
    saved = pickle.loads(pickle.dumps(search.best_estimator_))
    np.testing.assert_array_equal(saved.predict(X), search.best_estimator_.predict(X))


def run(code: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=300)


FORK = """
import os, warnings
warnings.simplefilter("ignore")  # jax warns of forks
import jax.numpy as jnp
import gbdt_objectives as go
obj = go.objective_from_loss(lambda y, f, w: ((f - y) ** 2).sum())
for used in (False, True):
    if used:
        obj([0, 1], [0.5, 0.5])
    child = os.fork()
    if not child:
        try:
            print("gradient", *obj([0, 1], [0.5, 0.5])[0], flush=True)
        except RuntimeError as error:
            print(error, flush=True)
        os._exit(0)
    os.waitpid(child, 0)
"""


@pytest.mark.skipif(sys.platform != "linux", reason="elsewhere processes are spawned")
def test_a_forked_process_is_refused_instead_of_hanging() -> None:
    ran = run(FORK)
    assert ran.returncode == 0, ran.stderr
    before, after = ran.stdout.splitlines()
    assert before == "gradient 1.0 -1.0"
    assert "before this process was forked, and would hang in it: start processes with" in after


# jax is optional, and its settings stay the user's


def test_without_jax_the_command_is_named() -> None:
    ran = run(
        "import sys; sys.modules['jax'] = None\n"
        "import gbdt_objectives as go\n"
        "print(go.qwk_objective([0, 1])([0, 1], [0.5, 0.5])[0])\n"
        "go.objective_from_loss(lambda y, f, w: f.sum())"
    )
    assert ran.returncode == 1
    assert ran.stdout
    assert "ImportError: jax is needed to differentiate a loss: pip install" in ran.stderr
    assert "'gbdt_objectives[autodiff]'" in ran.stderr


def test_without_jax_a_saved_objective_names_the_command(monkeypatch) -> None:
    obj = pickle.loads(pickle.dumps(go.objective_from_loss(logistic)))
    monkeypatch.setitem(sys.modules, "jax", None)
    with pytest.raises(ImportError, match="pip install 'gbdt_objectives.autodiff.'"):
        obj([0, 1], [0.5, 0.5])


def test_float64_is_for_the_call_only() -> None:
    obj, (y, z, _) = go.objective_from_loss(logistic), rows()
    before = jax.config.jax_enable_x64
    try:
        for setting in (False, True):
            jax.config.update("jax_enable_x64", setting)
            dtype = np.float64 if setting else np.float32
            gradient, _ = obj.gradient_hessian(y, z)
            np.testing.assert_allclose(gradient, expit(z) - y, rtol=1e-12)
            assert jnp.ones(3).dtype == dtype
            with pytest.raises(TypeError, match="cannot trace"):
                go.objective_from_loss(lambda y, f, w: np.exp(f).sum())(y, z)
            assert jnp.ones(3).dtype == dtype
            obj.loss(y, z)
            assert jnp.ones(3).dtype == dtype
            assert jax.config.jax_enable_x64 == setting
    finally:
        jax.config.update("jax_enable_x64", before)


@pytest.mark.skipif(not hasattr(jax, "enable_x64"), reason="it is where it was before jax 0.8")
def test_float64_where_older_versions_of_jax_have_it(monkeypatch) -> None:
    from jax import experimental

    monkeypatch.setattr(experimental, "enable_x64", jax.enable_x64, raising=False)
    monkeypatch.delattr(jax, "enable_x64")
    y, z, _ = rows()
    gradient, _ = go.objective_from_loss(logistic).gradient_hessian(y, z)
    np.testing.assert_allclose(gradient, expit(z) - y, rtol=1e-12)


def test_threads_do_not_disturb_each_other() -> None:
    obj, (y, z, _) = go.objective_from_loss(logistic), rows()
    expected = obj.gradient_hessian(y, z)

    def ours(_):
        return all(map(np.array_equal, obj.gradient_hessian(y, z), expected))

    def the_users(_):
        return jnp.ones(3).dtype == np.float32

    with ThreadPoolExecutor(4) as pool:
        results = [pool.submit(job, k) for k in range(50) for job in (ours, the_users)]
        assert all(result.result() for result in results)


def test_it_is_compiled_once_for_each_shape() -> None:
    traced = []

    def counted(y, f, w):
        traced.append(f.shape)
        return total((f - y) ** 2, w)

    y, f, w = rows()
    bound = go.objective_from_loss(counted).bind(y)
    bound(f)
    first = len(traced)
    for _ in range(5):
        bound(f)
        go.objective_from_loss(counted)(y, f)  # another object, the same loss
    assert len(traced) == first
    go.objective_from_loss(counted)(y, f, w)
    assert len(traced) > first


def test_on_the_processor_whatever_the_default_device() -> None:
    """Two processors stand for an accelerator and the processor."""
    code = """
import os
os.environ["XLA_FLAGS"] = "--xla_force_host_platform_device_count=2"
import jax, jax.numpy as jnp
import gbdt_objectives as go
jax.config.update("jax_default_device", jax.devices()[1])
def loss(y, f, w):
    places.append(jax.config.jax_default_device)
    return ((f - y) ** 2).sum()
places = []
go.objective_from_loss(loss)([0, 1], [0.5, 0.5])
assert jnp.ones(3).devices() == {jax.devices()[1]}
assert places and all(place == jax.devices()[0] for place in places), places
"""
    ran = run(code)
    assert ran.returncode == 0, ran.stderr


def test_any_labels_and_memory_of_the_boosters() -> None:
    y, z, w = rows()
    obj = go.objective_from_loss(logistic)
    expected = obj.gradient_hessian(y, z, w)
    z.flags.writeable = False
    for labels in (y.astype(bool), y.astype(np.int8), y.astype(np.float32), y.tolist()):
        for array, right in zip(obj.gradient_hessian(labels, z, w), expected, strict=True):
            np.testing.assert_array_equal(array, right)
    assert obj(y, z, w)[0].flags.writeable


def test_the_loss_sees_float64_alone_and_declares_its_outputs() -> None:
    seen = set()

    def recording(y, f, w):
        seen.update(str(v.dtype) for v in (y, f, w))
        return total(jnp.logaddexp(0, (1 - 2 * y[:, None]) * f).sum(axis=1), w)

    y = np.array([0, 1, 1])
    found = go.objective_from_loss(recording, outputs=2, intercept=[0, 1])
    assert (found.outputs, found.intercept) == (2, (0.0, 1.0))
    found.gradient_hessian(y, np.zeros((3, 2), np.float32), y.astype(np.float32) + 1)
    found.loss(y, np.zeros((3, 2), np.float32), y.astype(np.float32) + 1)
    assert seen == {"float64"}
    with pytest.raises(ValueError, match="takes 2 margins per row"):
        found.gradient_hessian(y, np.zeros((3, 3)))
