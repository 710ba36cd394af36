"""A fitted model as one ONNX graph: trees, their sum, and the steps of its plan as operators.

Symbols: v values of n rows, (n,), or (n, K) of K margins or probabilities, float64. All operators
compute in float64: trees too, which TreeEnsemble of ai.onnx.ml 5 can. The formulas are those of
``_steps``, called with values of the graph.
"""

from __future__ import annotations

import json
import tempfile
import warnings
from collections.abc import Sequence
from functools import reduce
from importlib.util import find_spec
from os import PathLike
from pathlib import Path
from types import FunctionType, SimpleNamespace
from typing import Any
from uuid import uuid4

import numpy as np
from numpy.lib.mixins import NDArrayOperatorsMixin

import gbdt_objectives
from gbdt_objectives import _checks
from gbdt_objectives._checks import Array, shown
from gbdt_objectives._registry import library_of, load, name_of
from gbdt_objectives._steps import formulas
from gbdt_objectives._steps.steps import Step
from gbdt_objectives.adapters._trees import LEQ, Trees
from gbdt_objectives.adapters._wrapped import last_step
from gbdt_objectives.serving import features as _features
from gbdt_objectives.serving.folder import expected, new_path
from gbdt_objectives.serving.model import of_library, with_extras
from gbdt_objectives.serving.plans import Plan, of_model
from gbdt_objectives.serving.trees import search

OPSETS = {"": 18, "ai.onnx.ml": 5}
IR_VERSION = 9
ROWS = 10_000
"""How many rows of X the graph is tried on."""

OTHERS = 1e-4
"""How near the predictions of what skl2onnx converted must be: some of its operators have
float32 only."""


def export_onnx(
    model: Any,
    path: str | PathLike[str],
    X: Any = None,
    *,
    thresholds: Any = None,
    shift: Any = None,
    calibrator: Any = None,
    dtype: str = "float32",
) -> None:
    """Write a fitted model as one ONNX graph: boosters, mean, stretch, thresholds or calibrator.

    Use it where the service runs ONNX graphs; a folder by :func:`export` needs Python.

    The graph has one input, ``X`` of shape (n, features), in which NaN is a missing value and a
    category is its number, and up to three outputs: ``label`` (n,), what ``predict`` returns of a
    classifier; ``score`` (n,), and ``probabilities`` (n, classes), both float64. It needs
    onnxruntime 1.23 or another runtime with TreeEnsemble of ai.onnx.ml 5. Its metadata hold the
    names and categories of the features, as JSON under "features".

    Parameters
    ----------
    model : fitted estimator or trained booster
        What :func:`export` takes, and models whose members are other estimators of scikit-learn or
        Pipelines, as far as skl2onnx converts them.
    path : path
        Of the file, which must not exist.
    X : array-like or DataFrame of shape (n, features), optional
        Rows as ``fit`` saw them, on up to 10,000 of which the graph is compared with the model.
        Models with categories need it, and members that are not boosters.
    thresholds, shift, calibrator : optional
        What belongs to the model, as in :class:`ServedModel`.
    dtype : {"float32", "float64"}
        Of the input. Under "float32" a float64 feature is rounded before LightGBM's trees see it,
        so a row within 6e-8 of a split may take its other branch; XGBoost rounds in any case.

    Returns
    -------
    None

    Raises
    ------
    ImportError
        Without onnx; without skl2onnx if a member is not a booster.
    TypeError, ValueError
        What :func:`export` raises; a model that ONNX has no operator for, with what to do; a graph
        that would predict otherwise: a number that differs by more than 1e-9 (LightGBM), 1e-6
        (XGBoost) or 1e-4 (other members), absolute and relative, or another class, unless margins
        that differ by no more explain it. X is rounded to ``dtype`` for this.

    Warns
    -----
    UserWarning
        If onnxruntime is not installed, or X not given, so that nothing could be compared.

    Examples
    --------
    >>> import lightgbm as lgb, numpy as np, onnxruntime, tempfile
    >>> from gbdt_objectives import QWKClassifier, serving
    >>> X = np.random.default_rng(0).random((200, 2)).astype("float32")
    >>> y = np.digitize(X[:, 0], [0.3, 0.6])
    >>> model = QWKClassifier(lgb.LGBMRegressor(n_estimators=5, verbose=-1)).fit(X, y)
    >>> path = tempfile.mkdtemp() + "/model.onnx"
    >>> serving.export_onnx(model, path, X)
    >>> (label,) = onnxruntime.InferenceSession(path).run(["label"], {"X": X})
    >>> bool((label == model.predict(X)).all())
    True
    """
    import_onnx("onnx")
    dtype = _checks.choice("dtype", dtype, ("float32", "float64"))
    target = new_path("path", path)
    model = with_extras(model, thresholds, shift, calibrator)
    plan = of_model(model)
    features = read_features(model, plan, X)
    graph = build(plan, features, dtype)
    if X is None:
        warnings.warn("X is not given, so the graph was not compared with the model: pass rows "
                      "that fit saw", UserWarning, stacklevel=2)  # fmt: skip
    else:
        compare(model, plan, features, dtype, graph, X)
    write(target, graph)


def write(target: Path, graph: bytes) -> None:
    """Write a file whole, or leave none."""
    temporary = target.with_name(f".{target.name}-{uuid4().hex}")
    try:
        temporary.write_bytes(graph)
        new_path("path", target)  # somebody else may have written it meanwhile
        temporary.rename(target)
    finally:
        temporary.unlink(missing_ok=True)


def import_onnx(name: str) -> Any:
    try:
        return load(name)
    except ImportError as error:
        raise ImportError(
            f"{name} is needed to write ONNX: pip install 'gbdt_objectives[onnx]'"
        ) from error


# The input.


def read_features(model: Any, plan: Plan, X: Any) -> list[dict[str, Any]]:
    others = [part.model for part in plan.parts if name_of(part.model) is None]
    if not others:
        return _features.read_features(model, plan, X)
    if X is None:
        raise ValueError(
            f"the model holds a {type(others[0]).__name__}, whose conversion must be tried on rows "
            "that fit saw: pass X"
        )
    if np.ndim(X) != 2:
        raise ValueError(f"X must have two dimensions, found shape {np.shape(X)}")
    names = list(getattr(X, "columns", range(np.shape(X)[1])))
    kinds = [getattr(kind, "kind", "O") for kind in getattr(X, "dtypes", [])]
    if set(kinds) - set("biuf"):
        raise ValueError(
            "X has columns that are no numbers, and the model holds members that are not boosters: "
            "make them numbers before fit"
        )
    return [{"name": name, "dtype": "float64"} for name in names]


def tensor(X: Any, features: list[dict[str, Any]], dtype: str) -> Array:
    """Rows as the graph takes them: a category is its number, -1 if it is new, NaN if missing."""
    if not features or not any("categories" in feature for feature in features):
        rows = np.asarray(_features.cells(X, features), dtype)
        return rows.reshape(len(rows), -1)
    columns = []
    for k, feature in enumerate(features):
        column = X.iloc[:, k]
        if "categories" in feature:
            known = {value: code for code, value in enumerate(feature["categories"])}
            values = column.astype(object).where(column.notna(), None).tolist()
            codes = [np.nan if value is None else known.get(value, -1) for value in values]
            columns.append(np.array(codes, float))
        else:
            columns.append(np.asarray(column.astype("float64").to_numpy(), float))
    return np.column_stack(columns).astype(dtype)


def rounded(X: Any, dtype: str) -> Any:
    """X with the numbers that the graph is given, in its own dtypes."""
    if hasattr(X, "tocsr"):
        X = X.toarray()
    if not hasattr(X, "iloc"):
        X = np.asarray(X)
        return X.astype(dtype).astype(X.dtype)
    kinds = [(name, kind) for name, kind in X.dtypes.items() if getattr(kind, "kind", "O") in "iuf"]
    return X.astype({name: dtype for name, _ in kinds}).astype(dict(kinds))


# The graph.


OPERATORS = {
    "add": "Add", "subtract": "Sub", "multiply": "Mul", "divide": "Div", "negative": "Neg",
    "less_equal": "LessOrEqual", "greater_equal": "GreaterOrEqual", "minimum": "Min",
    "maximum": "Max", "absolute": "Abs", "exp": "Exp", "log": "Log", "isinf": "IsInf",
}  # fmt: skip
"""The operators of numpy's functions of single numbers."""


class Value(NDArrayOperatorsMixin):
    """A value of a graph, with which formulas compute as with an array."""

    def __init__(self, g: Graph, name: str) -> None:
        self.g, self.name = g, name

    def __array_ufunc__(self, ufunc: Any, method: str, *inputs: Any) -> Value:
        return self.g(OPERATORS[ufunc.__name__], *inputs)

    def __getitem__(self, key: Any) -> Value:
        """(n,) as (n, 1), the only part that formulas ask for."""
        return self.g.column(self)

    def view(self, dtype: Any) -> Value:
        """Numbers 0 and 1 of what is true."""
        return self.g.cast(self)


Input = Value | str
"""A value, or the name of one."""


class Graph:
    """Nodes and constants with a name of its own for each value, and the features of its rows."""

    def __init__(self, features: Sequence[dict[str, Any]] = ()) -> None:
        self.nodes: list[Any] = []
        self.constants: dict[str, Any] = {}
        self.count = 0
        self.features = features
        self.rows = self.cast("X")

    def name(self) -> str:
        self.count += 1
        return f"v{self.count}"

    def const(self, value: Any, dtype: Any = np.float64) -> Value:
        from onnx import numpy_helper

        name = self.name()
        self.constants[name] = numpy_helper.from_array(np.asarray(value, dtype), name)
        return Value(self, name)

    def integers(self, *values: int) -> Value:
        return self.const(values, np.int64)

    def __call__(self, operator: str, *inputs: Any, domain: str = "", **attributes: Any) -> Value:
        """What an operator makes of values, their names and numbers."""
        from onnx import helper

        given = [v if isinstance(v, Value | str) else self.const(v) for v in inputs]
        names, name = [v if isinstance(v, str) else v.name for v in given], self.name()
        self.nodes.append(
            helper.make_node(operator, names, [name], name, domain=domain, **attributes)
        )
        return Value(self, name)

    def cast(self, v: Input, dtype: Any = np.float64) -> Value:
        from onnx import helper

        return self("Cast", v, to=helper.np_dtype_to_tensor_dtype(np.dtype(dtype)))

    def column(self, v: Value) -> Value:
        """(n,) as (n, 1)."""
        return self("Unsqueeze", v, self.integers(1))

    def flat(self, v: Value) -> Value:
        """(n, 1) as (n,)."""
        return self("Squeeze", v, self.integers(1))

    def trees(self, v: Value, found: Trees, K: int = 1) -> Value:
        """The margins (n, K) of trees that read the columns of v, float64 (n, d)."""
        from onnx import numpy_helper

        if not found.roots:  # each tree is one leaf: a tree of zeros says how many rows there are
            zeros: dict[Any, Any] = {0: (0, LEQ, 0.0, False, (1, 2)), 1: 0.0, 2: 0.0}
            found.add(0, zeros, 0)

        def own(values: Any, dtype: Any = np.float64) -> Any:
            return numpy_helper.from_array(np.asarray(values, dtype))

        attributes: dict[str, Any] = {
            "n_targets": K,
            "aggregate_function": 1,  # sum
            "post_transform": 0,
            "tree_roots": found.roots,
            "nodes_featureids": found.features,
            "nodes_modes": own(found.modes, np.uint8),
            "nodes_splits": own(found.values),
            "nodes_missing_value_tracks_true": [int(yes) for yes in found.missing_is_true],
            "leaf_targetids": found.targets,
            "leaf_weights": own(found.leaves),
        }
        for k, name in enumerate(("true", "false")):
            attributes[f"nodes_{name}nodeids"] = [pair[k][0] for pair in found.children]
            attributes[f"nodes_{name}leafs"] = [int(pair[k][1]) for pair in found.children]
        if found.sets:
            ended = [[*values, np.nan] for values in found.sets]
            attributes["membership_values"] = own([value for values in ended for value in values])
        sums = self("TreeEnsemble", v, domain="ai.onnx.ml", **attributes)
        return sums + found.base if found.base.any() else sums

    def place(self, v: Value, values: Sequence[float], side: str = "right") -> Value:
        """numpy.searchsorted(values, v, side), by a tree: int64 (n,)."""
        found = self.trees(self.column(v), search(values, side))
        return self.cast(self.flat(found), np.int64)

    def take(self, values: Any, at: Value, dtype: Any = np.float64) -> Value:
        return self("Gather", self.const(values, dtype), at)


def build(plan: Plan, features: list[dict[str, Any]], dtype: str, nudge: float = 0.0) -> bytes:
    """The graph of a plan. ``nudge`` moves all margins, relative to what they are computed to."""
    from onnx import TensorProto, checker, helper

    g = Graph(features)
    d = len(features)
    each = [
        steps_of(margins(g, part.model, d, nudge), part.steps) * part.weight for part in plan.parts
    ]
    v = steps_of(reduce(np.add, each) if each else g.flat(g.rows), plan.score)
    outputs: dict[str, tuple[Value, Any, list[Any]]] = {}
    if plan.is_score:
        outputs["score"] = (v, TensorProto.DOUBLE, ["n"])
    if plan.probability is not None:
        p = steps_of(v, plan.probability)
        if plan.is_score and not plan.makes_columns:
            p = g("Concat", 1.0 - g.column(p), g.column(p), axis=1)
        K = len(plan.classes) if plan.classes is not None else 2
        outputs["probabilities"] = (p, TensorProto.DOUBLE, ["n", K])
    if plan.thresholds is not None:
        at = g.place(v, np.asarray(plan.thresholds, float).tolist())
        outputs["label"] = (*labels(g, plan.thresholds.labels, at), ["n"])
    elif plan.probability is not None:
        at = g("ArgMax", outputs["probabilities"][0], axis=1, keepdims=0)
        outputs["label"] = (*labels(g, plan.classes, at), ["n"])
    infos = []
    for name, (value, kind, dims) in outputs.items():
        g.nodes.append(helper.make_node("Identity", [value.name], [name], name))
        infos.append(helper.make_tensor_value_info(name, kind, dims))
    kind = TensorProto.FLOAT if dtype == "float32" else TensorProto.DOUBLE
    graph = helper.make_graph(
        g.nodes, "model", [helper.make_tensor_value_info("X", kind, ["n", d])], infos,
        initializer=list(g.constants.values()),
    )  # fmt: skip
    model = helper.make_model(
        graph, ir_version=IR_VERSION, producer_name="gbdt_objectives",
        producer_version=gbdt_objectives.__version__,
        opset_imports=[helper.make_opsetid(*item) for item in OPSETS.items()],
    )  # fmt: skip
    helper.set_model_props(model, {"features": json.dumps(features, ensure_ascii=False)})
    checker.check_model(model)
    return bytes(model.SerializeToString())


def labels(g: Graph, classes: Any, at: Value) -> tuple[Value, Any]:
    """The class at each place, and its type: words, whole numbers, or other numbers."""
    from onnx import TensorProto

    values = np.asarray(classes)
    dtype, kind = {
        "i": (np.int64, TensorProto.INT64), "u": (np.int64, TensorProto.INT64),
        "f": (np.float64, TensorProto.DOUBLE), "b": (bool, TensorProto.BOOL),
    }.get(values.dtype.kind, (object, TensorProto.STRING))  # fmt: skip
    held = [str(value) for value in values.tolist()] if dtype is object else values
    return g.take(held, at, dtype), kind


# The members.


def margins(g: Graph, model: Any, d: int, nudge: float) -> Value:
    """What a booster's trees, or the member that skl2onnx converts, give: (n,) or (n, K)."""
    last = last_step(model)
    if name_of(last) is None:
        f, eps = converted(g, model, "X", d), OTHERS
    else:
        Z: Input = "X" if last is model else converted(g, model[:-1], "X", d)
        f, eps = boosted(g, last, Z), of_library(last).tolerance
        eps = eps if last is model else OTHERS
    return f + (abs(f) + 1.0) * (nudge * eps) if nudge else f


def boosted(g: Graph, model: Any, v: Input) -> Value:
    library = of_library(model)
    missing = float(library.reader(model).get("missing", "nan"))
    if not np.isnan(missing):
        raise ValueError(
            f"the model has missing={missing!r}, but in ONNX only NaN is missing: train with "
            "missing=nan, with NaN where a value is missing"
        )
    with tempfile.TemporaryDirectory() as folder:  # the rounds that it predicts with
        file = str(Path(folder, f"booster{library.endings[-1]}"))
        library.write(model, file)
        found = library.trees(library.open_booster(file))
    v = g.cast(g.cast(v, np.float32)) if found.is_float32 else g.cast(v)
    K = len(found.base)
    f = g.trees(v, found, K)
    return g.flat(f) if K == 1 else f


def converted(g: Graph, model: Any, v: Input, d: int) -> Value:
    """The output of an estimator or transformer of scikit-learn, converted by skl2onnx."""
    from onnx import compose
    from sklearn.base import is_classifier

    own, is_double = convert(model, d)
    prefix = g.name() + "_"
    own = compose.add_prefix(own, prefix)
    inputs = {own.graph.input[0].name}
    source = g.cast(v, np.float64 if is_double else np.float32)
    for node in own.graph.node:
        for k, name in enumerate(node.input):
            if name in inputs:
                node.input[k] = source.name
        g.nodes.append(node)
    for constant in own.graph.initializer:
        g.constants[constant.name] = constant
    outputs = [output.name for output in own.graph.output]
    f = g.cast(outputs[-1])
    if hasattr(model, "transform") and not hasattr(model, "predict"):
        return f
    if not is_classifier(model):
        return g("Reshape", f, g.integers(-1))
    if len(model.classes_) > 2:
        return f
    return g.flat(g("Gather", f, g.integers(1), axis=1))


def convert(model: Any, d: int) -> tuple[Any, bool]:
    """A model of its own, and whether its input is float64: some operators have float32 only."""
    skl2onnx = import_onnx("skl2onnx")
    from onnx import checker, helper
    from skl2onnx.common.data_types import DoubleTensorType, FloatTensorType
    from sklearn.base import is_classifier

    last = last_step(model)
    options = {id(last): {"zipmap": False}} if is_classifier(model) else None
    failure: Exception | None = None
    for kind in (DoubleTensorType, FloatTensorType):
        try:
            own = skl2onnx.convert_sklearn(
                model, initial_types=[("X", kind([None, d]))], target_opset=OPSETS, options=options
            )
            del own.opset_import[:]
            own.opset_import.extend(helper.make_opsetid(*item) for item in OPSETS.items())
            checker.check_model(own)  # no operator that the newer set has no more
            if find_spec("onnxruntime"):
                session(own.SerializeToString())
            return own, kind is DoubleTensorType
        except Exception as error:
            failure = error
    raise ValueError(
        f"the {type(last).__name__} that the model holds has no ONNX graph: use LightGBM, XGBoost "
        f"or an estimator that skl2onnx converts for ai.onnx.ml {OPSETS['ai.onnx.ml']}. skl2onnx "
        f"or onnxruntime says: {failure}"
    ) from failure


# The steps: formulas, called on values of the graph.


def log1p(x: Value) -> Value:
    """log(1 + x) to the last digits, also of small x: log(u) x / (u - 1), u = 1 + x rounded."""
    g, u = x.g, 1 + x
    same = g("Equal", u, 1.0)
    ratio = x / g("Where", same, 1.0, u - 1)
    return g("Where", same, x, np.log(u) * g("Where", np.isinf(u), 1.0, ratio))


def take(values: Any, at: Value, axis: int = 0, mode: str = "raise") -> Any:
    if axis == 1:
        return [take(row, at) for row in values]
    last = at.g.const(len(values) - 1, np.int64)
    return at.g.take(values, at.g("Min", at.g.cast(at, np.int64), last))


def interp(s: Value, x: Any, y: Any) -> Any:
    x, y = np.array(x, float), np.array(y, float)
    wide = np.diff(x) > 0
    slope = np.divide(np.diff(y), np.diff(x), out=np.zeros(len(x) - 1), where=wide)
    s = s.g("Clip", s, x[0], x[-1])
    at = s.g.place(s, x)
    origin, value, rise = (s.g.take(line, at) for line in ([x[0], *x], [y[0], *y], [0, *slope, 0]))
    return (s - origin) * rise + value


FUNCTIONS = {
    "log1p": log1p, "take": take, "interp": interp,
    "searchsorted": lambda values, v: v.g.place(v, values, "left"),
    "where": lambda *given: given[0].g("Where", *given),
    "clip": lambda *given: given[0].g("Clip", *given),
    "hstack": lambda given: given[0].g("Concat", *given, axis=1),
    "ones_like": lambda x: np.exp(x * 0.0),
    "polyval": lambda coefficients, x: reduce(lambda sum_, c: sum_ * x + c, coefficients),
}  # fmt: skip
"""What formulas ask of numpy beside operators."""

TRACED: dict[str, Any] = {"np": SimpleNamespace(**{**vars(np), **FUNCTIONS})}
"""The formulas, which take values of a graph."""

TRACED |= {
    name: FunctionType(formula.__code__, TRACED, name, formula.__defaults__)
    for name, formula in vars(formulas).items()
    if isinstance(formula, FunctionType) and name != "apply"
}
TRACED["softmax"] = lambda z: z.g("Softmax", z, axis=1)


def steps_of(v: Any, steps: Sequence[Step]) -> Any:
    for step in steps:
        formula, numbers = step["formula"], {k: step[k] for k in step if k != "formula"}
        is_of_rows = formula == "segment_shift"
        v = segment_shift(v, step) if is_of_rows else TRACED[formula](v, **numbers)
    return v


def segment_shift(s: Any, step: Step) -> Any:
    g = s.g
    if step["handle_unknown"] == "error":
        raise ValueError(
            "the model has handle_unknown='error', but an ONNX graph cannot refuse a row: fit it "
            "with handle_unknown='common'"
        )
    names = [feature["name"] for feature in g.features]
    column = step["column"]
    k = names.index(column) if isinstance(column, str) else range(len(names))[column]
    known = g.features[k].get("categories")
    segments = [value if known is None else known.index(value) for value in step["segments"]]
    value = g("Gather", g.rows, g.integers(k), axis=1)
    same = g.cast(g("Equal", value, [float(segment) for segment in segments]))
    return s + g.flat(g("MatMul", same, np.reshape(step["shifts"], (-1, 1))))


# The comparison with the model.


def session(graph: bytes) -> Any:
    import onnxruntime

    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1
    options.log_severity_level = 4
    return onnxruntime.InferenceSession(graph, options, providers=["CPUExecutionProvider"])


def run(graph: bytes, X: Array) -> dict[str, Array]:
    opened = session(graph)
    names = [output.name for output in opened.get_outputs()]
    return dict(zip(names, opened.run(names, {"X": X}), strict=True))


def compare(
    model: Any, plan: Plan, features: list[dict[str, Any]], dtype: str, graph: bytes, X: Any
) -> None:
    """Raise unless the graph predicts what the model does for rows of X."""
    if not find_spec("onnxruntime"):
        warnings.warn("onnxruntime is not installed, so the graph was not compared with the model: "
                      "pip install onnxruntime", UserWarning, stacklevel=3)  # fmt: skip
        return
    rows = rounded(_features.draw_rows(X, ROWS), dtype)
    given = tensor(rows, features, dtype)
    try:
        found = run(graph, given)
    except Exception as error:
        raise ValueError(f"onnxruntime does not run the graph, so nothing was written: {error}"
                         ) from error  # fmt: skip
    method = "label" if "label" in found else "score"
    names = {"predict": method, "predict_proba": "probabilities", "predict_score": "score"}
    expects = {names[key]: value for key, value in expected(model, plan, rows).items()}
    libraries = [library_of(part.model) for part in plan.parts]
    tolerance = max([OTHERS if own is None else own.tolerance for own in libraries], default=1e-9)
    wrong = differing(found, expects, tolerance)
    if not any(bad.any() for bad in wrong.values()):
        return
    near = [run(build(plan, features, dtype, nudge), given) for nudge in (-1.0, 1.0)]
    for name, bad in wrong.items():
        want = expects[name]
        bad &= ~explained(name, want, found, near, tolerance)
        if bad.any():
            row = int(np.argmax(bad))
            raise ValueError(
                f"the graph would give the {name} {shown(found[name][row])} for row {row} of those "
                f"drawn from X, where the model gives {shown(want[row])}, and so for {bad.sum()} "
                f"of {len(bad)} rows: nothing was written; export a folder with serving.export"
            )


def differing(
    found: dict[str, Array], expects: dict[str, Array], tolerance: float
) -> dict[str, Array]:
    """The rows, by output, whose numbers are not within the tolerance, or whose class differs."""
    wrong = {}
    for name, want in expects.items():
        if name == "label":
            wrong[name] = found[name].astype(want.dtype) != want
        else:
            near = np.isclose(found[name], want, rtol=tolerance, atol=tolerance, equal_nan=True)
            wrong[name] = ~near.reshape(len(want), -1).all(axis=1)
    return wrong


def explained(
    name: str, want: Array, found: dict[str, Array], near: list[dict[str, Array]], tolerance: float
) -> Array:
    """The rows whose difference follows from margins within their tolerance: beside a threshold,
    between two classes that are equally probable, or where a calibrator is steep."""
    if name == "label":
        same = [other[name].astype(want.dtype) == want for other in near]
        if "probabilities" in found and "score" not in found:
            p = np.sort(found["probabilities"], axis=1)
            same.append(p[:, -1] - p[:, -2] <= tolerance)
        return np.asarray(np.stack(same).any(axis=0))
    values = np.stack([found[name], *(other[name] for other in near)])
    slack = tolerance * (1 + np.abs(want))
    inside = (values.min(axis=0) - slack <= want) & (want <= values.max(axis=0) + slack)
    return np.asarray(inside.reshape(len(want), -1).all(axis=1))
