"""What --last-bits disturbs, what it leaves as it is, and that the package's source obeys it."""

from __future__ import annotations

import copy
import os
import pickle
import subprocess
import sys
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests import last_bits

SOURCE = """
import math
import numpy as np
from scipy.special import expit as sigma

def dot(u, v):
    return np.vdot(u, v)

def product(A, b):
    return A @ b

def total(x, **options):
    return x.sum(**options)

def mean(x):
    return np.mean(x)

def average(x, w):
    return np.average(x, weights=w)

def pieces(x):
    return np.add.reduceat(x, [0, 7])

def exp(x, xp=np, **options):
    return xp.exp(x, **options)

def softplus(x):
    return np.logaddexp(0, x)

def log(x):
    return math.log(x)

def logistic(x):
    return sigma(x)

def cube(x):
    return x**3

def solved(A, b):
    return np.linalg.solve(A, b)

def fixed(x):
    return np.sqrt(x), x * x, x / 3, x**2, np.cumsum(x)
"""


@pytest.fixture(autouse=True)
def seeded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(last_bits, "seed", 5)
    for function in (last_bits.of, last_bits.of_module, last_bits.matmul, last_bits.power):
        name = f"__last_bits_{function.__name__}__"
        monkeypatch.setattr("builtins." + name, function, raising=False)


@cache
def names(source: str = SOURCE) -> dict[str, Any]:
    found: dict[str, Any] = {}
    exec(last_bits.rewritten(source), found)
    return found


@cache
def plain() -> dict[str, Any]:
    found: dict[str, Any] = {}
    exec(SOURCE, found)
    return found


RNG = np.random.default_rng(0)
X, W = RNG.normal(size=400), RNG.uniform(1, 2, 400)
A = RNG.normal(size=(60, 60))

CALLS = {
    "dot": [(X, W)], "product": [(A, X[:60]), (A, A + 1), (X, W)], "total": [(X,), (A,)],
    "mean": [(X,)], "average": [(X, W)], "pieces": [(X,)], "exp": [(X,), (X.astype("f4"),)],
    "softplus": [(X,)], "logistic": [(X,)], "cube": [(X,)], "solved": [(A, X[:60])],
}  # fmt: skip


def calls() -> Iterator[tuple[str, Any]]:
    return ((name, given) for name, all_given in CALLS.items() for given in all_given)


def terms(name: str, given: Any) -> Any:
    """The sum of the absolute terms of a result."""
    size = [np.abs(x) for x in given]
    if name == "solved":
        return np.linalg.cond(A) * np.abs(np.linalg.solve(*given)).max()
    if name in ("exp", "softplus", "logistic"):
        return np.abs(plain()[name](*given))
    return plain()[name](*size)


@pytest.mark.parametrize("seed", range(3))
def test_what_is_not_fixed_moves_by_some_roundings_of_its_terms(monkeypatch, seed) -> None:
    monkeypatch.setattr(last_bits, "seed", seed)
    for name, given in calls():
        found, exact = names()[name](*given), plain()[name](*given)
        assert type(found) is type(exact), name
        assert np.asarray(found).dtype == np.asarray(exact).dtype, name
        if seed == 0:
            assert np.any(found != exact), name
        off = np.abs(found - exact) / (np.finfo(np.asarray(exact).dtype).eps * terms(name, given))
        assert np.max(off) <= 4, name


def test_the_same_values_give_the_same_and_another_seed_another(monkeypatch) -> None:
    first = [names()[name](*given) for name, given in calls()]
    again = [names()[name](*(x.copy(order="K") for x in given)) for name, given in calls()]
    monkeypatch.setattr(last_bits, "seed", 6)
    other = [names()[name](*given) for name, given in calls()]
    for a, b, c in zip(first, again, other, strict=True):
        np.testing.assert_array_equal(a, b)
        assert np.any(a != c)


def test_a_function_of_elements_is_so() -> None:
    for name in ("exp", "softplus", "logistic"):
        whole = names()[name](X)
        np.testing.assert_array_equal([names()[name](X[k : k + 1])[0] for k in range(400)], whole)


def test_rows_of_a_sum_are_as_each_alone() -> None:
    found = names()["total"](A, axis=1, keepdims=True)
    np.testing.assert_array_equal(found[:, 0], [names()["total"](row) for row in A])


def test_another_order_of_rows_is_another_sum() -> None:
    reverse = [names()["dot"](X[::-1], W[::-1]), names()["total"](X[::-1])]
    assert reverse != [names()["dot"](X, W), names()["total"](X)]


@pytest.mark.parametrize("unit", [1.0, 0.25, 3.0, 2.0**-40])
def test_sums_that_are_exact_in_every_order_stay(unit) -> None:
    x, y = unit * RNG.integers(-9, 99, 500), RNG.integers(0, 3, 500).astype(float)
    assert names()["dot"](x, y) == x @ y
    assert names()["total"](x) == x.sum()
    assert names()["mean"](x) == x.mean()
    np.testing.assert_array_equal(names()["pieces"](x), np.add.reduceat(x, [0, 7]))
    np.testing.assert_array_equal(names()["product"](np.eye(400), X), X)


@pytest.mark.parametrize(
    ("name", "x", "value"),
    [
        ("exp", 0.0, 1.0), ("exp", -np.inf, 0.0), ("log", 1.0, 0.0), ("logistic", 0.0, 0.5),
        ("logistic", 800.0, 1.0), ("cube", 2.0, 8.0), ("cube", -0.5, -0.125),
    ],
)  # fmt: skip
def test_exact_values_stay(monkeypatch, name, x, value) -> None:
    for seed in range(20):
        monkeypatch.setattr(last_bits, "seed", seed)
        assert names()[name](x) == value


def test_what_is_fixed_stays() -> None:
    for found, exact in zip(names()["fixed"](np.abs(X)), plain()["fixed"](np.abs(X)), strict=True):
        np.testing.assert_array_equal(found, exact)


def test_a_soft_maximum_is_no_less_than_the_maximum(monkeypatch) -> None:
    for seed in range(20):
        monkeypatch.setattr(last_bits, "seed", seed)
        assert (names()["softplus"](50 * X) >= np.maximum(50 * X, 0)).all()


def test_results_are_written_where_they_are_wanted() -> None:
    out, where = np.full(400, 7.0), X > 0
    found = names()["exp"](X, out=out, where=where)
    assert found is out
    np.testing.assert_array_equal(out[where], names()["exp"](X)[where])
    assert (out[~where] == 7).all()


def test_functions_are_still_values() -> None:
    exp = names("import numpy as np\nexp = np.exp")["exp"]
    assert pickle.loads(pickle.dumps(exp)) is np.exp
    assert copy.deepcopy(exp) is exp
    assert exp == np.exp
    assert exp.nin == 1


def test_other_objects_keep_their_own_methods() -> None:
    source = "def both(x): return x.sum(1), x @ 2, x.mean"

    class Own:
        mean = 3

        def sum(self, k):
            return k + 1

        def __matmul__(self, k):
            return k + 2

    assert names(source)["both"](Own()) == (2, 4, 3)


SCRIPT = """
from tests import last_bits
last_bits.install(int(sys.argv[1]))
import numpy as np
from gbdt_objectives import _links, metrics
from gbdt_objectives._rows import rows as _places
x = np.linspace(0.1, 3, 50)
print(_places.dot(x, x) != np.vdot(x, x), np.any(_links.LOG.inverse(x) != np.exp(x)))
print(repr(metrics.weighted_logloss_metric(0.3)([0, 1] * 25, x)))
"""


@pytest.mark.slow
def test_the_package_is_disturbed_where_it_is_asked_for() -> None:
    def printed(seed: int) -> str:
        command = [sys.executable, "-c", "import sys\n" + SCRIPT, str(seed)]
        root = Path(__file__).parents[1]
        environment = {k: v for k, v in os.environ.items() if k != last_bits.INHERITED}
        found = subprocess.run(
            command, cwd=root, env=environment, capture_output=True, text=True, check=True
        )
        return found.stdout

    found = [printed(seed) for seed in (1, 1, 2)]
    assert found[0].startswith("True True")
    assert found[0] == found[1] != found[2]


def test_a_package_that_is_loaded_cannot_be_disturbed() -> None:
    import gbdt_objectives  # noqa: F401

    with pytest.raises(AssertionError, match="loaded before"):
        last_bits.install(1)
