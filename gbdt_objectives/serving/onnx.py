"""A fitted model as one ONNX graph: trees, their sum, and the steps of its plan as operators.

Symbols: v values of n rows, (n,), or (n, K) of K margins or probabilities. All operators compute in
float64, trees too. The formulas are those of ``_steps``, called with values of the graph.
"""

from __future__ import annotations

import json
import tempfile
import warnings
from collections.abc import Iterable, Sequence
from functools import reduce
from importlib.util import find_spec
from itertools import count
from os import PathLike
from pathlib import Path
from types import FunctionType, SimpleNamespace
from typing import Any

import numpy as np
from numpy.lib.mixins import NDArrayOperatorsMixin
from sklearn.base import is_classifier

import gbdt_objectives
from gbdt_objectives import _checks
from gbdt_objectives._checks import Array, column_names, shown, warn
from gbdt_objectives._public import public
from gbdt_objectives._registry import library_of, load, name_of
from gbdt_objectives._steps import formulas
from gbdt_objectives._steps.steps import Step
from gbdt_objectives.adapters._models import Trees
from gbdt_objectives.estimators._base import last_step
from gbdt_objectives.serving import objects
from gbdt_objectives.serving.folder import expected, explain_border, near_ties, new_path, whole
from gbdt_objectives.serving.plans import Plan, of_library, of_model, with_extras
from gbdt_objectives.thresholds import Thresholds

OPSETS = {"": 18, "ai.onnx.ml": 5}  # 5 is the first with TreeEnsemble, whose numbers may be float64
IR_VERSION = 9  # without it onnx writes its newest, which older runtimes refuse
ROWS = 10_000  # how many rows of X the graph is tried on
OTHERS = 1e-4  # how near what skl2onnx converted must be: some operators have float32 only


@public
def export_onnx(
    model: Any, path: str | PathLike[str], X: Any = None, *, thresholds: Any = None,
    shift: Any = None, calibrator: Any = None, dtype: str = "float32", overwrite: bool = False,
) -> None:  # fmt: skip
    """Write a fitted model as one ONNX graph: boosters, mean, stretch, thresholds or calibrator.

    Use it where the service runs ONNX graphs; a folder by :func:`export` needs Python. The graph
    has one input, ``X`` of shape (n, features), in which NaN is a missing value and a category is
    its number, and up to three outputs: ``label`` (n,), what ``predict`` returns of a classifier;
    ``score`` (n,), and ``probabilities`` (n, classes), both float64. It needs onnxruntime 1.23 or
    another runtime with TreeEnsemble of ai.onnx.ml 5. Its metadata hold the names and categories of
    the features, as JSON under "features".

    Parameters
    ----------
    model : fitted estimator or trained booster
        What :func:`export` takes, and models with other members, as far as skl2onnx converts them.
    path : path
        The file, which must not exist, unless ``overwrite``.
    X : array-like or DataFrame of shape (n, features), optional
        Rows as ``fit`` saw them, on up to 10,000 of which the graph is compared with the model.
        Models with categories need it, and members that are not boosters.
    thresholds, shift, calibrator : optional
        What belongs to the model, as in :class:`ServedModel`.
    dtype : {"float32", "float64"}
        The type of the input. Under "float32" a row within 6e-8 of a split of LightGBM may take its
        other branch; XGBoost rounds to float32 in any case.
    overwrite : bool
        Whether to replace a file of that name, once the new graph has been compared.

    Returns
    -------
    None

    Raises
    ------
    ImportError
        Without onnx; without skl2onnx if a member is not a booster.
    TypeError, ValueError
        What :func:`export` raises; a model that ONNX has no operator for; a graph that would
        predict another class, or a number that differs by more than 1e-9 (LightGBM), 1e-6 (XGBoost)
        or 1e-4 (other members), unless margins that differ by no more explain it.

    Warns
    -----
    UserWarning
        Without onnxruntime or X: nothing is compared. How many rows near a threshold change class.

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
    replaces = _checks.flag("overwrite", overwrite)
    strange = (lambda file: "" if file.is_file() else "it is no file") if replaces else None
    new_path("path", path, strange)
    model = with_extras(model, thresholds, shift, calibrator)
    plan, X = of_model(model), objects.as_frame(X)
    features = features_of_graph(model, plan, X)
    graph = build(plan, features, dtype)
    if X is None:
        warnings.warn("X is not given, so the graph was not compared with the model: pass rows "
                      "that fit saw", UserWarning, stacklevel=2)  # fmt: skip
    else:
        compare(model, plan, features, dtype, graph, X)
    with whole("path", path, strange) as file:
        file.write_bytes(graph)


def import_onnx(name: str) -> Any:
    try:
        return load(name)
    except ImportError as error:
        raise ImportError(
            f"{name} is needed to write ONNX: pip install 'gbdt_objectives[onnx]' or {name}"
        ) from error


def features_of_graph(model: Any, plan: Plan, X: Any) -> list[dict[str, Any]]:
    others = [part.model for part in plan.parts if name_of(part.model) is None]
    if not others:
        return objects.read_features(model, plan, X)
    if X is None:
        raise ValueError(f"{type(others[0]).__name__} must be tried on rows that fit saw: pass X")
    if np.ndim(X) != 2:
        raise ValueError(f"X must have two dimensions, found shape {np.shape(X)}")
    names = column_names(X) or range(np.shape(X)[1])
    if {getattr(kind, "kind", "O") for kind in getattr(X, "dtypes", [])} - set("biuf"):
        raise ValueError(
            "X has columns that are no numbers, but members are not boosters: make them numbers"
        )
    return [{"name": name, "dtype": "float64"} for name in names]


def tensor(X: Any, features: list[dict[str, Any]], dtype: str) -> Array:
    """Rows as the graph takes them: a category is its number, -1 if it is new, NaN if missing."""
    if not any("categories" in feature for feature in features):
        rows = np.asarray(objects.cells(X, features), dtype)
        return rows.reshape(len(rows), -1)
    columns = [
        codes(X.iloc[:, k], feature["categories"])
        if "categories" in feature
        else objects.column_of(X.iloc[:, k], feature)
        for k, feature in enumerate(features)
    ]
    return np.column_stack(columns).astype(dtype)


def codes(column: Any, categories: list[Any]) -> list[float]:
    known = {value: code for code, value in enumerate(categories)}
    values = column.astype(object).where(column.notna(), None).tolist()
    return [np.nan if value is None else known.get(value, -1) for value in values]


def as_graph_reads(X: Any, dtype: str) -> Any:
    """X with the numbers that the graph is given, in its own dtypes."""
    if hasattr(X, "tocsr"):
        X = X.toarray()
    if not hasattr(X, "iloc"):
        X = np.asarray(X)
        return X.astype(dtype).astype(X.dtype)
    kinds = [(name, kind) for name, kind in X.dtypes.items() if getattr(kind, "kind", "O") in "iuf"]
    return X.astype({name: dtype for name, _ in kinds}).astype(dict(kinds))


OPERATORS = {
    "add": "Add", "subtract": "Sub", "multiply": "Mul", "divide": "Div", "negative": "Neg",
    "less_equal": "LessOrEqual", "greater_equal": "GreaterOrEqual", "minimum": "Min",
    "maximum": "Max", "absolute": "Abs", "exp": "Exp", "log": "Log", "isinf": "IsInf",
    "matmul": "MatMul",
}  # fmt: skip
"""The operators of numpy's functions."""


def search(values: Iterable[float], side: str) -> Trees:
    """A tree that finds a place among rising values as numpy.searchsorted does."""
    x = [float(value) for value in values]
    found = Trees(np.zeros(1), is_float32=False)
    nodes: dict[Any, Any] = {}
    waiting = [(0, len(x))]
    while waiting:
        low, high = waiting.pop()
        if low == high:
            nodes[low, high] = float(low)
            continue
        middle = (low + high) // 2
        below, above = (low, middle), (middle + 1, high)
        nodes[low, high] = (
            0,
            Trees.LT if side == "right" else Trees.LEQ,
            x[middle],
            False,
            (below, above),
        )
        waiting += [below, above]
    found.add(0, nodes, (0, len(x)))
    return found


def tensor_type(dtype: Any) -> int:
    from onnx import helper

    return helper.np_dtype_to_tensor_dtype(np.dtype(dtype))


def tensor_of(values: Any, dtype: Any = np.float64, name: str | None = None) -> Any:
    from onnx import numpy_helper

    return numpy_helper.from_array(np.asarray(values, dtype), name)


class Value(NDArrayOperatorsMixin):
    """A value of a graph, with which formulas compute as with an array."""

    def __init__(self, g: Graph, name: str) -> None:
        self.g, self.name = g, name

    def __array_ufunc__(self, ufunc: Any, method: str, *inputs: Any) -> Value:
        return self.g(OPERATORS[ufunc.__name__], *inputs)

    def __getitem__(self, key: Any) -> Value:
        """(n,) as (n, 1), the only part that formulas ask for."""
        return self.g("Unsqueeze", self, self.g.integers(1))

    def view(self, dtype: Any) -> Value:
        """Numbers 0 and 1 of what is true."""
        return self.g.cast(self)


class Graph:
    """Nodes and constants with a name of its own for each value, and the features of its rows."""

    def __init__(self, features: Sequence[dict[str, Any]] = ()) -> None:
        self.nodes: list[Any] = []
        self.constants: dict[str, Any] = {}
        self.names = map("v{}".format, count(1))
        self.features = features
        self.X = Value(self, "X")
        self.rows = self.cast(self.X)

    def const(self, value: Any, dtype: Any = np.float64) -> Value:
        name = next(self.names)
        self.constants[name] = tensor_of(value, dtype, name)
        return Value(self, name)

    def integers(self, *values: int) -> Value:
        return self.const(values, np.int64)

    def __call__(self, operator: str, *inputs: Any, domain: str = "", **attributes: Any) -> Value:
        """What an operator makes of values and numbers."""
        from onnx import helper

        names = [(v if isinstance(v, Value) else self.const(v)).name for v in inputs]
        name = next(self.names)
        node = helper.make_node(operator, names, [name], name, domain=domain, **attributes)
        self.nodes.append(node)
        return Value(self, name)

    def cast(self, v: Value, dtype: Any = np.float64) -> Value:
        return self("Cast", v, to=tensor_type(dtype))

    def flat(self, v: Value) -> Value:
        """(n, 1) as (n,)."""
        return self("Squeeze", v, self.integers(1))

    def trees(self, v: Value, found: Trees) -> Value:
        """The margins (n, K) of trees that read the columns of v, float64 (n, d)."""
        if not found.roots:  # each tree is one leaf: a tree of zeros says how many rows there are
            zeros: dict[Any, Any] = {0: (0, Trees.LEQ, 0.0, False, (1, 2)), 1: 0.0, 2: 0.0}
            found.add(0, zeros, 0)
        attributes: dict[str, Any] = {
            "n_targets": len(found.base), "post_transform": 0, "aggregate_function": 1,  # sum
            "tree_roots": found.roots, "nodes_featureids": found.features,
            "nodes_modes": tensor_of(found.modes, np.uint8),
            "nodes_splits": tensor_of(found.values),
            "nodes_missing_value_tracks_true": [int(yes) for yes in found.missing_is_true],
            "leaf_targetids": found.targets, "leaf_weights": tensor_of(found.leaves),
        }  # fmt: skip
        for k, name in enumerate(("true", "false")):
            attributes[f"nodes_{name}nodeids"] = [pair[k][0] for pair in found.children]
            attributes[f"nodes_{name}leafs"] = [int(pair[k][1]) for pair in found.children]
        if found.sets:
            ended = [value for values in found.sets for value in (*values, np.nan)]
            attributes["membership_values"] = tensor_of(ended)
        sums = self("TreeEnsemble", v, domain="ai.onnx.ml", **attributes)
        return sums + found.base if found.base.any() else sums

    def place(self, v: Value, values: Sequence[float], side: str = "right") -> Value:
        """numpy.searchsorted(values, v, side), by a tree: int64 (n,)."""
        return self.cast(self.flat(self.trees(v[:, None], search(values, side))), np.int64)

    def take(self, values: Any, at: Value, dtype: Any = np.float64) -> Value:
        return self("Gather", self.const(values, dtype), at)


def build(plan: Plan, features: list[dict[str, Any]], dtype: str, nudge: float = 0.0) -> bytes:
    """The graph of a plan. ``nudge`` moves all margins, relative to what they are computed to."""
    from onnx import checker, helper

    g = Graph(features)
    each = [steps_of(margins(g, own.model, nudge), own.steps) * own.weight for own in plan.parts]
    v = steps_of(reduce(np.add, each) if each else g.flat(g.rows), plan.score)
    outputs: dict[str, tuple[Value, Any, list[Any]]] = {}
    if plan.is_score:
        outputs["score"] = (v, float, ["n"])
    if plan.classes is not None and plan.probability is not None:
        p = steps_of(v, plan.probability)
        if plan.is_score and not plan.makes_columns:
            p = g("Concat", 1.0 - p[:, None], p[:, None], axis=1)
        outputs["probabilities"] = (p, float, ["n", len(plan.classes)])
    classes = plan.classes if plan.thresholds is None else plan.thresholds.labels
    classes = getattr(plan.thresholds, "actions", classes)
    if isinstance(plan.thresholds, Thresholds):
        at = g.place(v, np.asarray(plan.thresholds, float).tolist())
    elif plan.probability is not None:
        rule = plan.thresholds
        q = p if rule is None else steps_of(p, (*rule._steps, rule._scores))
        at = g("ArgMax", q, axis=1, keepdims=0)
    if plan.thresholds is not None or plan.probability is not None:
        outputs["label"] = (*labels(g, classes, at), ["n"])
    infos = []
    for name, (value, kind, shape) in outputs.items():
        g.nodes.append(helper.make_node("Identity", [value.name], [name], name))
        infos.append(helper.make_tensor_value_info(name, tensor_type(kind), shape))
    given = helper.make_tensor_value_info("X", tensor_type(dtype), ["n", len(features)])
    graph = helper.make_graph(g.nodes, "model", [given], infos, list(g.constants.values()))
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
    values = np.asarray(classes)
    dtype = {"i": np.int64, "u": np.int64, "f": float, "b": bool}.get(values.dtype.kind, object)
    held = [str(value) for value in values.tolist()] if dtype is object else values
    return g.take(held, at, dtype), dtype


def margins(g: Graph, model: Any, nudge: float) -> Value:
    """What a booster's trees, or the member that skl2onnx converts, give: (n,) or (n, K)."""
    last = last_step(model)
    if name_of(last) is None:
        f, eps = converted(g, model), OTHERS
    else:
        Z = g.X if last is model else converted(g, model[:-1])
        f, eps = boosted(g, last, Z), of_library(last).tolerance
        eps = eps if last is model else OTHERS
    return f + (abs(f) + 1.0) * (nudge * eps) if nudge else f


def boosted(g: Graph, model: Any, v: Value) -> Value:
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
    f = g.trees(v, found)
    return g.flat(f) if len(found.base) == 1 else f


def converted(g: Graph, model: Any) -> Value:
    """The output of an estimator or transformer of scikit-learn, converted by skl2onnx."""
    from onnx import compose

    found, dtype = convert(model, len(g.features))
    own = compose.add_prefix(found, next(g.names) + "_").graph
    source = g.cast(g.X, dtype)
    for node in own.node:
        node.input[:] = [source.name if k == own.input[0].name else k for k in node.input]
    g.nodes += own.node
    g.constants |= {constant.name: constant for constant in own.initializer}
    f = g.cast(Value(g, own.output[-1].name))
    if hasattr(model, "transform") and not hasattr(model, "predict"):
        return f
    if not is_classifier(model):
        return g("Reshape", f, g.integers(-1))
    return f if len(model.classes_) > 2 else g.flat(g("Gather", f, g.integers(1), axis=1))


def convert(model: Any, d: int) -> tuple[Any, Any]:
    """A model of its own, and the dtype of its input: some operators have float32 only."""
    skl2onnx = import_onnx("skl2onnx")
    from onnx import checker, helper
    from skl2onnx.common.data_types import DoubleTensorType, FloatTensorType

    last = last_step(model)
    options = {id(last): {"zipmap": False}} if is_classifier(model) else None
    failure: Exception | None = None
    for kind, dtype in ((DoubleTensorType, np.float64), (FloatTensorType, np.float32)):
        try:
            own = skl2onnx.convert_sklearn(
                model, initial_types=[("X", kind([None, d]))], target_opset=OPSETS, options=options
            )
            del own.opset_import[:]
            own.opset_import.extend(helper.make_opsetid(*item) for item in OPSETS.items())
            checker.check_model(own)  # no operator that the newer set has no more
            if find_spec("onnxruntime"):
                session(own.SerializeToString())
            return own, dtype
        except Exception as error:
            failure = error
    raise ValueError(
        f"the {type(last).__name__} that the model holds has no ONNX graph: use LightGBM, XGBoost "
        f"or an estimator that skl2onnx converts for ai.onnx.ml {OPSETS['ai.onnx.ml']}. skl2onnx "
        f"or onnxruntime says: {failure}"
    ) from failure


def log1p(x: Value) -> Value:
    """log(1 + x) to the last digits, also of small x: log(u) x / (u - 1), u = 1 + x rounded."""
    g, u = x.g, 1 + x
    same = g("Equal", u, 1.0)
    ratio = x / g("Where", same, 1.0, u - 1)
    return g("Where", same, x, np.log(u) * g("Where", np.isinf(u), 1.0, ratio))


def take_entries(values: Any, at: Value, axis: int = 0, mode: str = "raise") -> Any:
    if axis == 1:
        return [take_entries(row, at) for row in values]
    last = at.g.const(len(values) - 1, np.int64)
    return at.g.take(values, at.g("Min", at.g.cast(at, np.int64), last))


def interp(s: Value, x: Any, y: Any) -> Any:
    x, y = np.array(x, float), np.array(y, float)
    slope = np.divide(np.diff(y), np.diff(x), out=np.zeros(len(x) - 1), where=np.diff(x) > 0)
    s = s.g("Clip", s, x[0], x[-1])
    at = s.g.place(s, x)
    origin, value, rise = (s.g.take(line, at) for line in ([x[0], *x], [y[0], *y], [0, *slope, 0]))
    return (s - origin) * rise + value


FUNCTIONS = {
    "log1p": log1p, "take": take_entries, "interp": interp,
    "searchsorted": lambda values, v: v.g.place(v, values, "left"),
    "where": lambda *given: given[0].g("Where", *given),
    "clip": lambda *given: given[0].g("Clip", *given),
    "hstack": lambda given: given[0].g("Concat", *given, axis=1),
    "ones_like": lambda x: np.exp(x * 0.0),
    "polyval": lambda coefficients, x: reduce(lambda sum_, c: sum_ * x + c, coefficients),
}  # fmt: skip
"""What formulas ask of numpy besides operators."""

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
        v = TRACED[formula](v, **numbers)
    return v


def segment_shift(
    s: Any, column: Any, segments: Any, shifts: Any, handle_unknown: str, **rest: Any
) -> Any:
    g = s.g
    if handle_unknown == "error":
        raise ValueError("an ONNX graph cannot refuse a row: fit it with handle_unknown='common'")
    names = [feature["name"] for feature in g.features]
    k = names.index(column) if isinstance(column, str) else range(len(names))[column]
    known = g.features[k].get("categories")
    places = [float(value if known is None else known.index(value)) for value in segments]
    value = g("Gather", g.rows, g.integers(k), axis=1)
    return s + g.flat(g("MatMul", g.cast(g("Equal", value, places)), np.reshape(shifts, (-1, 1))))


TRACED["segment_shift"] = segment_shift


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
    rows = as_graph_reads(objects.draw_rows(X, ROWS), dtype)
    given = tensor(rows, features, dtype)
    try:
        runs = [run(graph, given)]
    except Exception as error:
        raise ValueError(f"onnxruntime does not run the graph, so nothing was written: {error}"
                         ) from error  # fmt: skip
    method = "label" if "label" in runs[0] else "score"
    names = {"predict": method, "predict_proba": "probabilities", "predict_score": "score"}
    expects = {names[key]: value for key, value in expected(model, plan, rows).items()}
    libraries = [library_of(part.model) for part in plan.parts]
    tolerance = max([OTHERS if own is None else own.tolerance for own in libraries], default=1e-9)
    if not all(agreeing(name, want, runs, tolerance).all() for name, want in expects.items()):
        runs += [run(build(plan, features, dtype, nudge), given) for nudge in (-1.0, 1.0)]
    for name, want in expects.items():
        bad = ~agreeing(name, want, runs, tolerance)
        if bad.any():
            row, found = int(np.argmax(bad)), runs[0][name]
            raise ValueError(
                f"the graph would give the {name} {shown(found[row])} for row {row} of those drawn "
                f"from X, where the model gives {shown(want[row])}, and so for {bad.sum()} of "
                f"{len(bad)} rows: nothing was written; export a folder with serving.export"
            )
    others = np.count_nonzero(runs[0][method].astype(expects[method].dtype) != expects[method])
    if method == "label" and others:
        warn(f"the graph gives {others} of {len(rows)} rows of X another class than the model: "
             f"{explain_border(tolerance)}, or export a folder with serving.export")  # fmt: skip


def agreeing(name: str, want: Array, runs: list[dict[str, Array]], tolerance: float) -> Array:
    """The rows that the graph predicts as the model does. Runs with other margins within their
    tolerance explain a difference: near a threshold, or where a calibrator is steep."""
    values = np.stack([found[name] for found in runs])
    if name == "label":
        same = (values.astype(want.dtype) == want).any(axis=0)
        if "probabilities" in runs[0] and "score" not in runs[0]:
            same |= near_ties(runs[0]["probabilities"], tolerance)
        return np.asarray(same)
    near = np.isclose(values, want, rtol=tolerance, atol=tolerance, equal_nan=True).any(axis=0)
    near |= (values.min(axis=0) <= want) & (want <= values.max(axis=0))
    return np.asarray(near.reshape(len(want), -1).all(axis=1))
