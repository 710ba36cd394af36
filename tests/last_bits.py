"""The package as another processor, or another order of rows, would compute it.

``pytest --last-bits=SEED`` disturbs the last bits of what the package computes and no standard
fixes. `+ - * /` and square roots are fixed, so they stay as they are. Disturbed are

- exp, log and their like of numpy, ``math`` and ``scipy.special``, and powers: by one unit in the
  last place, up, down or not at all;
- sums, means and products of vectors and matrices, be they functions, methods or ``@``: by a few
  roundings of the sum of the absolute terms, as another order or another kernel of BLAS would;
- numpy's linear algebra: its input by one unit in the last place, as its backward error.

The same values always give the same result. A sum stays as it is if it is exact in every order:
its terms are whole numbers, or multiples of one power of two, and none needs more than 53 bits. So
does a result of few bits, such as exp(0): there every library is exact.

It works on the source of ``gbdt_objectives`` while it is imported, so that methods of arrays and
operators are disturbed too. Left out is what is computed

- within scipy (optimizers, splines, distributions), scikit-learn, jax and the boosters;
- on devices, and by functions that tests pass to the package;
- in order, where no processor differs: cumulative sums, bincount, add.at, Python's sum();
- as a product of many factors, or a sum by np.add.reduce;
- in other processes, such as commands, which are as on this machine; those that tests/workers.py
  starts are as the test's own.
"""

from __future__ import annotations

import ast
import builtins
import copy
import functools
import os
import sys
import zlib
from collections.abc import Callable
from importlib.abc import MetaPathFinder
from importlib.machinery import ModuleSpec, PathFinder, SourceFileLoader
from types import ModuleType
from typing import Any

import numpy as np

PACKAGE = "gbdt_objectives"
INHERITED = "TESTS_LAST_BITS"
"""The environment variable that hands the seed to processes whose first import is this module."""

OF_ELEMENTS = frozenset({
    "exp", "exp2", "expm1", "log", "log2", "log10", "log1p", "logaddexp", "logaddexp2", "power",
    "float_power", "sin", "cos", "tan", "arcsin", "arccos", "arctan", "arctan2", "sinh", "cosh",
    "tanh", "arcsinh", "arccosh", "arctanh", "cbrt", "pow", "gamma", "lgamma", "erf", "erfc",
    "expit", "logit", "log_expit", "entr", "rel_entr", "kl_div", "xlogy", "xlog1py", "gammaln",
    "ndtr", "ndtri", "log_ndtr", "betainc", "betaincinv", "chdtrc", "chdtri", "chndtrinc",
    "softmax", "log_softmax", "logsumexp", "softplus",
})  # fmt: skip
OF_MODULES = ("numpy", "math", "scipy.special")

SUMS = frozenset({"sum", "mean", "average", "std", "var", "reduceat"})
PRODUCTS = frozenset({"dot", "vdot", "inner", "matmul", "tensordot", "einsum", "cov"})
ALGEBRA = frozenset({
    "solve", "inv", "pinv", "lstsq", "cholesky", "eigh", "eigvalsh", "slogdet", "det", "svd",
})  # fmt: skip
NAMES = OF_ELEMENTS | SUMS | PRODUCTS | ALGEBRA

ROUNDINGS = 4.0
"""The most that a sum is moved, in roundings of the sum of its absolute terms."""

FEW_BITS = {np.dtype(np.float64): 30, np.dtype(np.float32): 12}
"""A result whose last bits, so many, are 0, is exact: that of a fraction is so by an accident of
one in a billion, or in four thousand."""

FLOATS = tuple(FEW_BITS)
NONE = 10_000
"""The exponent of the last bit of a 0, which has none."""

Array = np.ndarray[Any, Any]
seed: int | None = None


# numbers from bits


def mixed(bits: Any) -> Any:
    """The finalizer of splitmix64: all bits of each number depend on all of it."""
    with np.errstate(over="ignore"):
        x = np.asarray(bits, np.uint64)
        x = (x ^ (x >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
        x = (x ^ (x >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
        return x ^ (x >> np.uint64(31))


def key(name: str) -> np.uint64:
    return np.uint64(zlib.crc32(f"{seed} {name}".encode()) * 0x9E3779B97F4A7C15 % 2**64)


def bits_of(values: Any) -> Array:
    return np.ascontiguousarray(values, np.float64).view(np.uint64)


def from_minus_one_to_one(bits: Any, name: str) -> Array:
    with np.errstate(over="ignore"):
        draws = mixed(mixed(bits) + key(name))
    return (draws >> np.uint64(11)).astype(np.float64) * 2.0**-52 - 1.0


# elements


def moved(name: str, found: Any) -> Any:
    """A result, each number of it a unit in the last place up, down or as it is."""
    values = np.asarray(found)
    if values.dtype not in FLOATS:
        return found
    whole = values.dtype.newbyteorder("=")
    bits = np.abs(values.astype(whole)).view(f"u{whole.itemsize}")
    exact = (bits & ((1 << FEW_BITS[whole]) - 1) == 0) | ~np.isfinite(values)
    with np.errstate(over="ignore"):  # of whole numbers, which is meant
        draws = mixed(bits.astype(np.uint64) + key(name))
        step = (draws >> np.uint64(33)) % np.uint64(3)  # 0, 1 and 2: down, as it is, up
        other = (bits + step.astype(bits.dtype) - bits.dtype.type(1)).view(whole)
    new = np.where(exact | ~np.isfinite(other), values, np.copysign(other, values))
    if isinstance(found, np.ndarray):
        return new.astype(values.dtype, copy=False)
    return values.dtype.type(new) if isinstance(found, np.generic) else float(new)


class Elements:
    """A function of elements, whose results are moved; all else is as it was."""

    def __init__(self, name: str, original: Any) -> None:
        self.name, self.original = name, original

    def __call__(self, *arguments: Any, **options: Any) -> Any:
        found = self.original(*arguments, **options)
        if not isinstance(found, float | np.floating | np.ndarray):
            return found  # of arrays that are not numpy's
        new = moved(self.name, found)
        if self.name in ("logaddexp", "logaddexp2"):  # no library is below the larger one
            new = np.maximum(new, np.maximum(*arguments[:2]))
        given = arguments[getattr(self.original, "nin", 9) :]
        out = given[0] if given else options.get("out")
        out = out[0] if isinstance(out, tuple) else out
        if out is None:
            return new
        np.copyto(out, new, where=options.get("where", True))
        return found

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        found = getattr(self.original, name)
        return Elements(f"{self.name}.{name}", found) if name == "reduce" else found

    def __repr__(self) -> str:
        return repr(self.original)

    def __reduce__(self) -> Any:
        return copy.copy, (self.original,)  # elsewhere it is the function itself

    def __deepcopy__(self, memo: Any) -> Elements:
        return self

    def __eq__(self, other: object) -> bool:
        return other is self.original or (
            isinstance(other, Elements) and other.original is self.original
        )

    def __hash__(self) -> int:
        return hash(self.original)


# sums


def last_bit(values: Any) -> Array:
    """The exponent of the last bit of each number, ``NONE`` of 0."""
    x = np.asarray(values, np.float64)
    with np.errstate(invalid="ignore"):
        mantissa, exponent = np.frexp(np.where(np.isfinite(x), x, 0.0))
    whole = np.abs(np.ldexp(mantissa, 53)).astype(np.int64)
    return np.where(whole == 0, NONE, exponent - 54 + np.frexp((whole & -whole).astype(float))[1])


def is_exact(size: Any, last: Any, digits: int = 53) -> Array:
    """Whether a sum of terms of this sum of absolute values is the same in every order."""
    last = np.minimum(last, 900)
    with np.errstate(over="ignore", under="ignore"):
        return np.asarray(np.asarray(size, np.float64) <= np.ldexp(1.0, last + digits))


def near(name: str, found: Any, size: Any, fixed: Any, terms: Any, bits: Any) -> Any:
    """A sum, moved by some roundings of ``size`` where it is not ``fixed``."""
    values = np.asarray(found)
    if values.dtype not in FLOATS:
        return found
    unit = np.finfo(values.dtype).eps / 2
    most = np.minimum(ROUNDINGS, np.maximum(np.asarray(terms) - 1, 0))
    with np.errstate(invalid="ignore", over="ignore", under="ignore"):
        shift = most * unit * np.asarray(size, np.float64) * from_minus_one_to_one(bits, name)
        new = (values + shift).astype(values.dtype)
    new = np.where(fixed | ~np.isfinite(values) | ~np.isfinite(new), values, new)
    if isinstance(found, np.ndarray):
        return new.reshape(values.shape)
    return values.dtype.type(new)


def in_places(x: Array, axis: Any) -> Array:
    """Bits of the numbers of each sum, of which each knows its place."""
    with np.errstate(over="ignore"):
        place = np.arange(x.shape[axis], dtype=np.uint64) if isinstance(axis, int) else np.uint64(0)
        if isinstance(axis, int):
            place = place.reshape([-1 if k == axis % x.ndim else 1 for k in range(x.ndim)])
        return mixed(bits_of(x).reshape(x.shape) + place * np.uint64(0x9E3779B97F4A7C15))


def summed(name: str, original: Callable[..., Any], x: Array, *given: Any, **options: Any) -> Any:
    """sum, mean, std and var of an array."""
    found = original(x, *given, **options)
    if np.asarray(found).dtype not in FLOATS or x.size == 0 or "out" in options:
        return found
    axis = given[0] if given else options.get("axis")
    over = {"axis": axis, "keepdims": bool(options.get("keepdims", False))}
    terms = np.asarray(x, np.float64)
    if options.get("where") is not None and options["where"] is not np._NoValue:
        terms = np.where(options["where"], terms, 0.0)
    if axis is None:
        terms, over["axis"] = terms.reshape(-1), 0
    elif isinstance(axis, np.integer):
        over["axis"] = int(axis)
    size = np.sum(np.abs(terms), axis=over["axis"], keepdims=over["keepdims"])
    number = np.sum(terms != 0, axis=over["axis"], keepdims=over["keepdims"])
    last = np.min(last_bit(terms), axis=over["axis"], keepdims=over["keepdims"])
    with np.errstate(over="ignore"):
        bits = np.sum(in_places(terms, over["axis"]), axis=over["axis"], keepdims=over["keepdims"])
    digits = 24 if np.asarray(found).dtype == np.float32 else 53
    fixed = is_exact(size, last, digits) | (number < 3)
    if name in (
        "std",
        "var",
    ):  # all terms are positive, and the mean's own error is of second order
        return near(name, found, np.abs(found), np.asarray(found) == 0, number, bits)
    if name == "mean":
        size = size / (terms.size / max(np.size(found), 1))
    shape = np.shape(found)
    size, fixed, number, bits = (
        np.reshape(part, shape) if np.size(part) == np.size(found) else part
        for part in (size, fixed, number, bits)
    )
    return near(name, found, size, fixed, number, bits)


def average(original: Callable[..., Any], x: Any, axis: Any = None, weights: Any = None,
            **options: Any) -> Any:  # fmt: skip
    """np.average: the two sums are moved, each with the last bits of its own."""
    found = original(x, axis, weights, **options)
    if isinstance(found, tuple):
        return found
    if weights is None:
        return summed("mean", lambda a, **o: found, np.asarray(x, float), axis=axis)
    x, w = np.asarray(x, float), np.asarray(weights, float)
    if w.shape != x.shape:
        w = np.broadcast_to(w.reshape([-1 if k == (axis or 0) % x.ndim else 1
                                       for k in range(x.ndim)]), x.shape)  # fmt: skip
    with np.errstate(all="ignore"):
        above = summed("sum", np.sum, x * w, axis=axis)
        below = summed("sum", np.sum, w, axis=axis)
        new = np.asarray(above / below)
    return new if isinstance(found, np.ndarray) else type(found)(new)


def stretches(original: Any, x: Array, first: Any, *given: Any, **options: Any) -> Any:
    """np.add.reduceat."""
    found = original(x, first, *given, **options)
    if np.asarray(found).dtype not in FLOATS or not np.size(found):
        return found
    x = np.asarray(x, np.float64)
    along = options | dict(zip(("axis",), given, strict=False))
    size, number = (np.add.reduceat(v, first, **along) for v in (np.abs(x), (x != 0).astype(int)))
    last = np.minimum.reduceat(last_bit(x), first, **along)
    with np.errstate(over="ignore"):
        bits = np.add.reduceat(mixed(bits_of(x).reshape(x.shape)), first, **along)
    return near("sum", found, size, is_exact(size, last) | (number < 3), number, bits)


# products


def along(x: Array, axis: int) -> Array:
    with np.errstate(over="ignore"):
        return np.sum(in_places(x, axis), axis=axis)


def product(name: str, original: Callable[..., Any], *operands: Any, **options: Any) -> Any:
    """A sum of products of elements of two or more arrays, such as a matrix product."""
    found = original(*operands, **options)
    if "out" in options or np.asarray(found).dtype not in FLOATS or not np.size(found):
        return found
    words = [x for x in operands if isinstance(x, str)]
    rest = list(operands[1:]) if words else list(operands[:2])
    other = () if words else operands[2:]
    arrays = [np.asarray(x, np.float64) for x in rest]
    if not all(x.size for x in arrays):
        return found
    with np.errstate(all="ignore"):
        size = original(*words, *map(np.abs, arrays), *other, **options)
        number = original(*words, *[(x != 0).astype(float) for x in arrays], *other, **options)
    last = sum(np.minimum(np.min(last_bit(x)), 400) for x in arrays)
    with np.errstate(over="ignore"):
        bits = bits_of(found).reshape(np.shape(found)) + bits_of(size).reshape(np.shape(found))
        if (
            name in ("matmul", "dot", "vdot")
            and len(arrays) == 2
            and max(x.ndim for x in arrays) <= 2
        ):
            a, b = arrays
            own = [along(a, -1) if a.ndim else 0, along(b, -2 if b.ndim == 2 else -1)]
            bits = own[0][..., None] + own[1] if a.ndim == b.ndim == 2 else own[0] + own[1]
    least = 3 if len(arrays) == 1 else 2  # a product and a sum may be rounded as one
    digits = 24 if np.asarray(found).dtype == np.float32 else 53
    fixed = is_exact(size, last, digits) | (np.asarray(number) < least)
    if np.all(fixed):
        return found  # of einsum, it may be a view
    return near("product", found, size, fixed, number, bits)


def covariance(original: Any, *given: Any, **options: Any) -> Any:
    """np.cov: its deviations are fixed, their products are sums of terms up to the diagonal's."""
    found = original(*given, **options)
    size = np.sqrt(np.outer(np.diag(found), np.diag(found))) if np.ndim(found) == 2 else found
    return near("cov", found, size, False, 9, bits_of(found).reshape(np.shape(found)))


def algebra(name: str, original: Any, *matrices: Any, **options: Any) -> Any:
    return original(
        *(moved(name, x) if isinstance(x, np.ndarray) else x for x in matrices), **options
    )


# what the package's source is made to call


def of(value: Any, name: str) -> Any:
    """The attribute of a value, disturbed if it is a function that is."""
    found = getattr(value, name)
    if name not in NAMES or seed is None:
        return found
    if isinstance(value, np.ndarray):
        if value.dtype in FLOATS and type(value) is np.ndarray and hasattr(np, name):
            whole = getattr(np, name)
            if name in SUMS:
                return functools.partial(summed, name, whole, value)
            return functools.partial(product, name, whole, value)
        return found
    if isinstance(value, np.ufunc):
        if value is np.add and name == "reduceat":
            return functools.partial(stretches, found)
        return found
    if isinstance(value, ModuleType):
        return of_module(value.__name__, name, found)
    return found


def of_module(module: str, name: str, found: Any) -> Any:
    if module in OF_MODULES and name in OF_ELEMENTS:
        return Elements(name, found)
    if module == "numpy.linalg" and name in ALGEBRA:
        return functools.partial(algebra, name, found)
    if module != "numpy":
        return found
    if name in ("sum", "mean", "std", "var"):

        def of_numbers(x: Any, *given: Any, **options: Any) -> Any:
            x = np.asarray(x) if isinstance(x, list | tuple | np.ndarray) else x
            if isinstance(x, np.ndarray) and x.dtype in FLOATS:
                return summed(name, found, x, *given, **options)
            return found(x, *given, **options)

        return of_numbers
    if name == "average":
        return functools.partial(average, found)
    if name == "cov":
        return functools.partial(covariance, found)
    if name in PRODUCTS:
        return functools.partial(product, name, found)
    return found


def matmul(a: Any, b: Any) -> Any:
    if type(a) is np.ndarray and type(b) is np.ndarray:
        return product("matmul", np.matmul, a, b)
    return a @ b


def power(a: Any, b: Any) -> Any:
    found = a**b
    if isinstance(b, int | float) and b in (-1, 0, 0.5, 1, 2):  # a product, a quotient or a root
        return found
    return moved("power", found) if isinstance(found, float | np.floating | np.ndarray) else found


class Rewritten(ast.NodeTransformer):
    """Source that asks this module for its functions."""

    def called(self, function: str, node: ast.AST, *arguments: ast.expr) -> ast.expr:
        name = ast.Name(f"__last_bits_{function}__", ast.Load())
        return ast.copy_location(ast.Call(name, list(arguments), []), node)

    def visit_Attribute(self, node: ast.Attribute) -> ast.AST:
        self.generic_visit(node)
        if node.attr not in NAMES or not isinstance(node.ctx, ast.Load):
            return node
        return self.called("of", node, node.value, ast.Constant(node.attr))

    def visit_BinOp(self, node: ast.BinOp) -> ast.AST:
        self.generic_visit(node)
        function = {ast.MatMult: "matmul", ast.Pow: "power"}.get(type(node.op))
        return self.called(function, node, node.left, node.right) if function else node

    def visit_Call(self, node: ast.Call) -> ast.AST:
        self.generic_visit(node)
        if isinstance(node.func, ast.Name) and node.func.id == "getattr" and len(node.args) == 2:
            return self.called("of", node, *node.args)
        return node

    def visit_ImportFrom(self, node: ast.ImportFrom) -> Any:
        if node.level or node.module not in OF_MODULES:
            return node
        after: list[ast.stmt] = []
        for alias in node.names:
            if alias.name in NAMES:
                own = alias.asname or alias.name
                found = self.called(
                    "of_module", node, ast.Constant(node.module), ast.Constant(alias.name),
                    ast.Name(own, ast.Load()),
                )  # fmt: skip
                after.append(
                    ast.copy_location(ast.Assign([ast.Name(own, ast.Store())], found), node)
                )
        return [node, *after]


def rewritten(source: str | bytes, path: str = "<rewritten>") -> Any:
    tree = Rewritten().visit(ast.parse(source, path))
    return compile(ast.fix_missing_locations(tree), path, "exec", dont_inherit=True)


class Loader(SourceFileLoader):
    """Compiles rewritten source, and leaves no compiled file."""

    def get_code(self, fullname: str) -> Any:
        path = self.get_filename(fullname)
        return rewritten(self.get_data(path), path)


class Finder(MetaPathFinder):
    def find_spec(self, fullname: str, path: Any, target: Any = None) -> ModuleSpec | None:
        if fullname.partition(".")[0] != PACKAGE:
            return None
        spec = PathFinder.find_spec(fullname, path, target)
        if spec is not None and type(spec.loader) is SourceFileLoader:
            spec.loader = Loader(spec.loader.name, spec.loader.path)
        return spec


def install(chosen: int) -> None:
    """From now on the package is imported disturbed."""
    global seed
    loaded = [name for name in sys.modules if name.partition(".")[0] == PACKAGE]
    assert not loaded, f"loaded before its last bits can be disturbed: {loaded}"
    seed, os.environ[INHERITED] = chosen, str(chosen)
    for function in (of, of_module, matmul, power):
        setattr(builtins, f"__last_bits_{function.__name__}__", function)
    sys.meta_path.insert(0, Finder())


if seed is None and os.environ.get(INHERITED):
    install(int(os.environ[INHERITED]))
