"""What the drop-in estimators of all libraries have in common."""

from __future__ import annotations

import difflib
import math
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, suppress
from functools import wraps
from inspect import Parameter, getattr_static, signature
from types import MethodType
from typing import Any, TypeVar

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import ClassifierMixin
from sklearn.utils.class_weight import compute_sample_weight
from sklearn.utils.metaestimators import available_if
from sklearn.utils.multiclass import check_classification_targets

from gbdt_objectives import _checks
from gbdt_objectives._checks import Array, Layout, Training, warn
from gbdt_objectives._checks.spellings import counterpart, say_nearest
from gbdt_objectives._checks.tables import column_names, flat_labels
from gbdt_objectives._registry import Exported, Named, kind_of, library_of
from gbdt_objectives._rows import workers as _workers
from gbdt_objectives.adapters import _arguments
from gbdt_objectives.adapters._train import StartedObjective
from gbdt_objectives.metrics import Metric, __all__ as names_of_metrics
from gbdt_objectives.metrics.base import RenderedMetric
from gbdt_objectives.objectives import Objective, __all__ as names_of_objectives

Estimator = TypeVar("Estimator", bound=Any)
METRICS = (Metric, RenderedMetric)

OBJECTIVES = ("objective", "loss_function")  # what libraries call the objective of an estimator

OTHERS = ("_other_params", "kwargs")
"""Where LightGBM's and XGBoost's estimators keep parameters that their signature does not name."""

OF_MARGINS = (
    "decision_function", "staged_decision_function", "staged_predict", "staged_predict_proba",
)  # fmt: skip
"""What libraries themselves make of margins."""

NOT_PREDICTIONS = ("output_margin", "raw_score", "pred_leaf", "pred_contrib")
"""Arguments of predict that ask for something else."""


FAR = 10  # standard deviations of labels, from which a function's start is far from their centre


class Fitting:
    """One fit of an estimator as one of ours. A subclass says what differs in its library.

    ``objective`` is one of ours or None; ``metrics`` is ``eval_metric``, with a Metric for each of
    ours, ``metric`` the first of these; ``given`` holds the arguments of fit by name,
    ``parameters`` what to set on the estimator while the library's own fit runs.
    """

    library: Named
    model: Any  # the library's class whose fit and predict know nothing about classes
    fitted: str  # the attribute of an estimator for its fitted objective
    evaluation_set = "evaluation set {}"  # what messages call one, a format of its number
    row_starts: tuple[str, str]  # the arguments of fit that start each row, and of evaluation sets
    objectives: tuple[str, ...] = ("objective",)  # the names under which it takes one
    starts_at = 0.0  # where a function starts that is no objective of ours
    asked_of_rows: tuple[str, ...] = ()  # its methods that read X by position
    metrics_in_fit = False  # whether eval_metric is an argument of fit, not of the estimator
    check: Callable[[], None]
    """Refuse what the library would ignore or misread; say the rest in its parameters."""
    start: Callable[[Objective, Array, Array | None], StartedObjective]
    """The objective as the library calls it; ``parameters`` say where boosting starts."""
    around: Callable[[], AbstractContextManager[None]]  # before and after the library's own fit
    finish: Callable[[Any, Objective, float | Array], Any]  # the model, under the name of the link

    def __init__(self, estimator: Any, library_fit: Any, *args: Any, **kwargs: Any) -> None:
        self.estimator, self.library_fit = estimator, library_fit
        self.is_classifier = self.classifies(estimator)
        self.role = "Classifier" if self.is_classifier else "Regressor"
        in_fit = self.metrics_in_fit
        check_places(estimator, in_fit, self.objectives)
        self.training = Training(
            library=self.library, estimator=estimator, role=self.role, **trained_on(estimator)
        )
        own = self.training.objective
        args, kwargs = _by_keyword(library_fit, args, kwargs)
        self.objective, self.given = read_arguments(own, library_fit, *args, **kwargs)
        self.columns = column_names(self.given["X"])
        change_sets(self.given, lambda X, y: (
            self.arrange(self.columns, X, "X of an evaluation set"),
            flat_labels(y) if own is None else unwrap_integers(flat_labels(y)),
        ))  # fmt: skip
        asked = (
            self.given.get("eval_metric", []) if in_fit else first_given(estimator, "eval_metric")
        )
        every = asked if isinstance(asked, list | tuple | set) else [asked]
        self.metrics = [read_metric(one) for one in every]
        self.metric = next((one for one in self.metrics if isinstance(one, Metric)), None)
        self.is_ours = self.objective is not None or self.metric is not None
        self.parameters: dict[str, Any] = {}
        self.classes: Array | None = None
        for metric in self.metrics:
            if isinstance(metric, Metric):
                self.training.part(metric=metric)
        weighted = "sample_weight" in self.given or getattr(estimator, "class_weight", None)
        self.training.know(others=self.metrics, labels=self.labels_of, weighted=bool(weighted))
        self.check()

    def fit(self) -> Any:
        objective, estimator = self.objective, self.estimator
        if objective is None:
            self.tell_start(first_given(estimator, *OBJECTIVES))
            self.run()
            return estimator
        rows = {"X": self.given["X"], "y": self.given["y"]} | dict(objective.equations.named)
        Layout(name="", rows=rows)
        with _workers.together(objective):
            if self.encodes(objective):
                classes = self.classes = self.find_classes(objective)
                self.given["y"] = class_positions("y", self.given["y"], classes)
                self.set_evaluation_sets([
                    (X, class_positions(f"y of {name}", y, classes))
                    for name, (X, y) in self.evaluation_sets().items()
                ])  # fmt: skip
                self.library_fit = MethodType(self.model.fit, estimator)
            y, w = self.labels_weights()
            started = self.start(objective, y, w)
            # the rows as the user starts them, for margins after training
            asked = {name: v for name, v in self.given.items() if name in ("X", self.row_starts[0])}
            intercept: float | Array = 0.0
            if started.shifts:  # boosting starts at 0: each row gets the intercept
                measured = self.measure(started.objective, y, w)
                intercept = StartedObjective.margin_of(measured)
                started = StartedObjective(measured, intercept, self.training, lacks=intercept)
                if np.any(intercept):  # in each row, for all metrics to see it
                    labels = [self.given["y"], *(y for _, y in self.evaluation_sets().values())]
                    first, *others = (self.start_of_rows(measured, y) for y in labels)
                    self.given |= zip(self.row_starts, (first, others or None), strict=True)
            _workers.agree()
        self.hand_over(started)
        self.run()
        self.complete(objective, intercept)
        setattr(estimator, self.fitted, started.objective)  # which stays if the next line fails
        setattr(estimator, self.fitted, self.fit_to_margins(started.objective, y, w, asked))
        return estimator

    def tell_start(self, own: Any) -> None:
        """Warn if a function, not asked as it may count its calls, starts far from the labels."""
        starts = {self.row_starts[0], "init_model", "xgb_model"} & self.given.keys()
        lazy = hasattr(self.given["y"], "__dask_graph__")
        if not callable(own) or starts or lazy or isinstance(self.estimator, ClassifierMixin):
            return
        facts: dict[str, Any] = {}
        with suppress(Exception):  # the library says what is wrong with the labels
            (y, w), given = self.labels_weights(), first_given(self.estimator, "base_score")
            center = float(np.average(y, weights=w))
            spread = math.sqrt(np.average((y - center) ** 2, weights=w))
            start = self.starts_at if given is None else float(given)
            facts = {"start": start, "intercept": center, "tolerance": FAR * spread}
        self.training.know(**facts)

    @staticmethod
    def encodes(objective: Objective) -> bool:
        """Whether the library is given positions of classes, of which it then knows nothing."""
        return bool(objective.link.is_read_by_objective)

    def hand_over(self, started: StartedObjective) -> None:
        """Give the objective to the library's own fit."""
        self.parameters["objective"] = started
        self.parameters |= _arguments.several_outputs(started.objective)

    def complete(self, objective: Objective, intercept: float | Array) -> None:
        self.estimator._Booster = self.finish(self.estimator._Booster, objective, intercept)

    def run(self) -> None:
        with self.around(), self.set_temporarily(self.estimator, self.parameters):
            self.library_fit(**self.given)
        self.estimator._columns = self.columns

    def labels_weights(self) -> tuple[Array, Array | None]:
        """Labels, 0 and 1 for a classifier, and weights as the objective gets them."""
        y, w = flat_labels(np.asarray(self.given["y"])), self.given.get("sample_weight")
        w = None if w is None else np.asarray(w)
        of_class = getattr(self.estimator, "class_weight", None)
        of_class = self.parameters.get("class_weight", of_class)
        if of_class is not None:
            by_class = compute_sample_weight(of_class, y)
            w = by_class if w is None else w * by_class
        if self.is_classifier and self.classes is None:
            y = self.positions(y)
        return y, w

    def measure(self, objective: Objective, y: Any, w: Any) -> Objective:
        return objective.measured(y, w)

    @staticmethod
    def start_of_rows(measured: Objective, y: Any) -> Any:
        return StartedObjective.rows_of(measured, len(y))

    def positions(self, y: Array) -> Array:
        """Labels as positions of classes that the library gets by name: two, unless it says so."""
        classes, position = np.unique(y, return_inverse=True)
        check_two_classes(classes)
        return position.reshape(y.shape)

    def evaluation_sets(self) -> dict[str, tuple[Any, Any]]:
        """Features and labels, by the name that messages give them."""
        pairs = self.given.get("eval_set", ())
        if "eval_X" in self.given:  # LightGBM >= 4.7
            X, y = self.given["eval_X"], self.given["eval_y"]
            pairs = zip(X, y, strict=True) if isinstance(X, tuple) else [(X, y)]
        pairs = [(one, one.get_label()) if hasattr(one, "get_label") else one for one in pairs]
        return {self.evaluation_set.format(k): (X, y) for k, (X, y) in enumerate(pairs)}

    def set_evaluation_sets(self, pairs: list[tuple[Any, Any]]) -> None:
        """Replace the evaluation sets by these, if there are any."""
        if pairs:
            self.given.pop("eval_set", None)
            self.given |= evaluation_arguments(self.library_fit, pairs)

    def stops_on_sets(self, prefix: str, *looks_at: str | None) -> None:
        """Say on which evaluation sets, by the library's names of them, fit stops early."""
        sets = [(X, f"{prefix}_{k}") for k, (X, _) in enumerate(self.evaluation_sets().values())]
        self.training.know(sets=sets, data=self.given["X"], looks_at=looks_at)

    def labels_of(self, k: int | None) -> Any:
        """The labels of an evaluation set, or of the training rows."""
        return self.given["y"] if k is None else list(self.evaluation_sets().values())[k][1]

    def fit_to_margins(
        self, objective: Objective, y: Array, w: Array | None, asked: dict[str, Any]
    ) -> Objective:
        """The objective after training, with what it fits to the margins of the training rows."""
        if objective.fits_margins:  # else there is no need to predict all rows
            final = self.margin(self.estimator, **asked)
            with _workers.together(objective):
                objective = objective.fitted(y, final, w)
                _workers.agree()
        # a model needs no values of the rows
        return objective.without_rows() if row_names(objective) else objective

    @classmethod
    def class_probability(
        cls, estimator: Any, library_predict: Any, *args: Any, **kwargs: Any
    ) -> Any:
        """What the fitted objective finds in margins; None if the library does, or is not asked."""
        objective = getattr(estimator, cls.fitted, None)
        if not cls.reads(objective):
            return None
        given = name_arguments(library_predict, *args, **kwargs)
        if any(given.get(name) for name in NOT_PREDICTIONS):
            return None
        return cls.read_margin(objective, cls.margin(estimator, **given))

    @classmethod
    def margin(cls, estimator: Any, **given: Any) -> Any:
        """What an estimator predicts, as margins; ``given`` are the arguments of its predict."""
        return cls.model.predict(estimator, **{**given, cls.library.margin_flag: True})

    @classmethod
    def held_out(
        cls, estimator: Any, weigh: Callable[[Any], Mapping[str, Any]], X: Any, y: Array,
        w: Array | None,
    ) -> dict[str, Any]:  # fmt: skip
        """The arguments of fit for one evaluation set; ``weigh`` has those for its weights."""
        given = evaluation_arguments(estimator.fit, [(X, y)])
        return given if w is None else {**given, **weigh(w)}

    @staticmethod
    def classifies(estimator: Any) -> bool:
        return isinstance(estimator, ClassifierMixin)

    @staticmethod
    @contextmanager
    def set_temporarily(estimator: Any, parameters: dict[str, Any]) -> Iterator[None]:
        before = {name: dict(v) if name in OTHERS else v for name, v in vars(estimator).items()}
        booster = vars(estimator).pop("_Booster", None)  # of an earlier fit: XGBoost would set it
        try:
            estimator.set_params(**parameters)
        finally:
            if booster is not None:
                estimator._Booster = booster
        try:
            yield
        finally:
            for name in (*parameters, *OTHERS):
                if name in before:
                    setattr(estimator, name, before[name])
                elif name in vars(estimator):
                    delattr(estimator, name)

    @staticmethod
    def read_margin(objective: Any, margin: Any) -> Any:
        return objective.class_probability(margin)

    @staticmethod
    def arrange(own: Sequence[Any] | None, X: Any, name: str = "X") -> Any:
        """Rows with these columns in this order, where the library does not look at names."""
        Layout(columns=column_names(X), trained_on=own, name=name, of="the training rows")
        return X

    @classmethod
    def by_name(cls, model: Any, X: Any) -> Any:
        """Rows with the model's columns in its order."""
        return cls.arrange(vars(model).get("_columns"), X)

    @staticmethod
    def most_probable(estimator: Any, p: Any) -> Any:
        return estimator.classes_[p.argmax(axis=1)]

    @staticmethod
    def reads(fitted: object) -> bool:
        """Whether a classifier asks this fitted objective for probabilities, not the library."""
        return isinstance(fitted, Objective) and fitted.link.is_read_by_objective

    @classmethod
    def margins_decide(cls, estimator: Any) -> bool:
        """True if margins are decisions as scikit-learn reads them, (n,) of two classes, (n, K)."""
        objective = getattr(estimator, cls.fitted, None)
        if isinstance(objective, Objective) and objective.link.is_of_objective:
            raise AttributeError(
                f"only {objective!r} itself reads its margins: use predict or predict_proba"
            )
        return True

    def find_classes(self, objective: Objective) -> Array:
        """The classes that a score is trained on, in their order: any two, or 0 to K-1."""
        if objective.n_classes is not None and objective.n_classes > 2:
            return np.arange(objective.n_classes)
        target = flat_labels(np.asarray(self.given["y"]))
        if target.dtype.kind == "f":
            _checks.finite("y", target)
        check_classification_targets(target)  # no fractions
        classes = np.unique(target)
        check_two_classes(classes)
        return classes


def drop_in(fitting: type[Fitting]) -> Callable[[type[Estimator]], type[Estimator]]:
    """Make a subclass of a library's estimator one of ours, by methods with its signatures."""

    def extend(kind: type[Estimator]) -> type[Estimator]:
        library: Any = kind.__base__

        @wraps(library.fit)
        def fit(self: Any, *args: Any, **kwargs: Any) -> Any:
            return fitting(self, super(kind, self).fit, *args, **kwargs).fit()

        def asking(name: str, answer: Callable[[Any, Any], Any] | None) -> Any:
            @wraps(getattr(library, name))
            def ask(self: Any, X: Any, *args: Any, **kwargs: Any) -> Any:
                X, of_library = fitting.by_name(self, X), getattr(super(kind, self), name)
                names = signature(of_library).parameters if kwargs else {}
                for word in kwargs.keys() - names:  # which LightGBM takes, and ignores
                    if said := counterpart(f"{kind.__name__}.{name}", word, names):
                        raise TypeError(f"{kind.__name__}.{name} has no argument {word!r}: {said}")
                p = answer and fitting.class_probability(self, of_library, X, *args, **kwargs)
                return of_library(X, *args, **kwargs) if p is None else answer(self, p)  # type: ignore[misc]

            return available_if(fitting.margins_decide)(ask) if name in OF_MARGINS else ask

        kind.fit, kind.export = fit, Exported.export
        request_rows(kind)
        answers = {"predict": fitting.most_probable, "predict_proba": lambda self, p: p}
        answers = answers if issubclass(kind, ClassifierMixin) else {}
        for name in {*answers, *fitting.asked_of_rows}:
            if hasattr(library, name):
                setattr(kind, name, asking(name, answers.get(name)))
        return kind

    return extend


def evaluation_arguments(library_fit: Any, pairs: list[tuple[Any, Any]]) -> dict[str, Any]:
    """Evaluation sets as arguments of fit: LightGBM 4.7 and newer warn of eval_set."""
    if "eval_X" in signature(library_fit).parameters:
        return {"eval_X": tuple(X for X, _ in pairs), "eval_y": tuple(y for _, y in pairs)}
    if "X_val" in signature(library_fit).parameters:
        return dict(zip(("X_val", "y_val"), *pairs, strict=True))
    return {"eval_set": pairs}


def _by_keyword(
    library_fit: Any, args: tuple[Any, ...], kwargs: dict[str, Any]
) -> tuple[tuple[Any, ...], dict[str, Any]]:
    """Name the arguments that XGBoost takes by position, too, and warn as it does."""
    call = signature(library_fit).parameters
    names = [n for n in list(call)[2 : len(args)] if call[n].kind is Parameter.KEYWORD_ONLY]
    if not names or len(args) > len(names) + 2 or kwargs.keys() & set(names):
        return args, kwargs
    warnings.warn(f"Pass `{', '.join(names)}` as keyword args.", FutureWarning, stacklevel=4)
    return args[:2], {**dict(zip(names, args[2:], strict=True)), **kwargs}


def name_arguments(fit: Any, *args: Any, **kwargs: Any) -> dict[str, Any]:
    """The arguments of an estimator's fit by name, without those that are None."""
    call = signature(fit)
    rest = [n for n, p in call.parameters.items() if p.kind is Parameter.VAR_KEYWORD]
    for name in () if rest else [name for name in kwargs if name not in call.parameters]:
        estimator, of_rows = fit.__self__, ""
        if getattr(first_given(estimator, *OBJECTIVES), "whole", False):
            of_rows = f"; values by row are named, objective(function, rows=[{name!r}])"
        kind, called = type(estimator).__name__, f"{type(estimator).__name__}.{fit.__name__}"
        own = {key for base in type(estimator).__mro__[:-1] for key in signature(base).parameters}
        said = counterpart(called, name, call.parameters)
        if not said and name in own:
            said = f"a parameter goes to the estimator, {kind}({name}=...)"
        elif not said and (instead := counterpart(kind, name, own)):
            said = f"where the estimator is made {instead}"
        said = f": {said}" if said else f"; {say_nearest(called, name, call.parameters)}"
        raise TypeError(f"{called}() has no argument {name!r}{said}{of_rows}")
    found = call.bind(*args, **kwargs).arguments
    for name in rest:
        found |= found.pop(name, {})
    return {name: v for name, v in found.items() if v is not None or name in ("X", "y")}


def change_sets(given: dict[str, Any], change: Callable[[Any, Any], tuple[Any, Any]]) -> None:
    """Change features and labels of each evaluation set, in whatever form fit gets them."""
    for names in (("eval_X", "eval_y"), ("X_val", "y_val")):
        if given.keys() >= {*names}:
            both = [given[name] for name in names]
            if isinstance(both[0], tuple):
                both = [*zip(*map(change, *both), strict=True)]
            else:
                both = [*change(*both)]
            given |= zip(names, both, strict=True)
    sets = given.get("eval_set")
    if isinstance(sets, tuple) and len(sets) == 2 and not isinstance(sets[0], tuple):
        given["eval_set"] = change(*sets)
    elif isinstance(sets, list | tuple):  # of pairs, or of data sets of the library
        each = (change(*one) if _arguments.is_pair(one) else one for one in sets)
        given["eval_set"] = type(sets)(each)


def unwrap_integers(y: Any) -> Any:
    """Labels of dtype object that are integers, as integers; any others as they are."""
    if getattr(getattr(y, "dtype", None), "kind", None) != "O":
        return y
    plain = np.array(np.asarray(y).tolist())
    return plain if plain.dtype.kind in "iu" else y


def read_arguments(
    objective: Objective | None, fit: Any, *args: Any, **kwargs: Any
) -> tuple[Objective | None, dict[str, Any]]:
    """The objective with what fit got for its rows, and the other arguments of fit by name."""
    names = row_names(objective)
    for name in names:
        if name in signature(fit).parameters:
            raise ValueError(
                f"rows of {objective!r} names {name!r}, which is an argument of fit(): rename it"
            )
    rows = {name: v for name in names if (v := kwargs.pop(name, None)) is not None}
    given = name_arguments(fit, *args, **kwargs)
    if "y" in given:
        given["y"] = flat_labels(given["y"])
    if objective is None:
        return None, given
    if rows and objective.rows is not None:
        raise ValueError(
            f"fit() got {', '.join(rows)}, but the objective has it already: make it with the "
            "names only, objective.without_rows()"
        )
    if not hasattr(given["X"], "get_label"):  # as CatBoost's data sets have
        _checks.is_given(fit.__self__, given.get("y"))  # type: ignore[arg-type]
    given["y"] = unwrap_integers(given.get("y"))
    return objective.with_rows(rows) if rows else objective, given


def request_rows(kind: type[Estimator]) -> None:
    """Let scikit-learn's metadata routing know what the objective's rows name."""
    if not hasattr(kind, "set_fit_request"):  # scikit-learn 1.2 has no metadata routing
        return
    generated, routing_of = getattr_static(kind, "set_fit_request"), kind.get_metadata_routing

    def set_fit_request(self: Any, **requests: Any) -> Any:
        """Choose what metadata routing passes on to ``fit``, as scikit-learn does."""
        names = [*generated.keys, *row_names(self.objective)]
        return type(generated)("fit", names).__get__(self, type(self))(**requests)

    def get_metadata_routing(self: Any) -> Any:
        """What metadata routing passes on to ``fit``, in scikit-learn's form."""
        routing = routing_of(self)
        for name in row_names(self.objective):
            if name not in routing.fit.requests:
                routing.fit.add_request(param=name, alias=True)
        return routing

    kind.set_fit_request = set_fit_request
    kind.get_metadata_routing = get_metadata_routing


def row_names(objective: object) -> tuple[str, ...]:
    """The names of what fit gets for each row, unlike offsets, for which users have no name."""
    named = objective.named if isinstance(objective, Objective) else ()
    users = all(values is None or values.is_of_user for _, values in named)
    return tuple(name for name, _ in named) if users else ()


def first_given(estimator: Any, *names: str) -> Any:
    """The parameter of an estimator that has one of these names; None if it has no value."""
    given = estimator.get_params(deep=False)
    return next((given[name] for name in names if given.get(name) is not None), None)


def check_places(estimator: Any, metrics_in_fit: bool, objectives: tuple[str, ...]) -> None:
    """Raise for an objective, its part, or a metric under a parameter that libraries ignore."""
    metrics = "" if metrics_in_fit else "eval_metric"
    where = "pass it to fit, eval_metric=" if metrics_in_fit else "write eval_metric="
    for name, value in estimator.get_params(deep=False).items():
        if name.startswith("objective__"):  # which the libraries ignore
            raise ValueError(
                f"{name} is no parameter, as objectives do not change: search over whole ones, "
                '{"objective": [focal_objective(1), focal_objective(2)]}'
            )
        for one in value if isinstance(value, list | tuple) else [value]:
            if isinstance(one, Objective) and name not in (*objectives, metrics):
                raise TypeError(f"{name} is an objective, {one!r}: write objective=")
            if isinstance(one, METRICS) and name != metrics:
                raise TypeError(f"{name} is a metric, {one!r}: {where}")


def trained_on(estimator: Any) -> dict[str, Any]:
    """The facts of what an estimator is trained on: one of ours, a function, or its library's."""
    own = first_given(estimator, *OBJECTIVES)
    _checks.check_called("objective", own)
    check_name(estimator)
    if isinstance(own, Objective):
        return {"objective": own, "link": own.link}
    return {"objective": None, "function" if callable(own) else "built_in": own}


def check_name(estimator: object) -> None:
    """Raise for an objective's name that its library lacks, or warn if a classifier changes it."""
    kind, objective = kind_of(estimator), getattr(estimator, "objective", None)
    found = None if kind is None else library_of(estimator)
    if kind is None or found is None or not isinstance(objective, str):
        return
    if objective in (*found.correctable, *found.classifies):
        return
    if not found.knows_objective(objective):
        raise ValueError(
            f"objective={objective!r} is a name that {found.title} does not know: "
            f"{sounding_like(objective, 'objective')}"
        )
    if kind.endswith("Classifier"):
        warn(
            f"objective={objective!r} is not known to predict classes: with two, predict_proba of "
            f"{kind} may be no probabilities, with more {found.title} trains another objective; "
            f"leave objective out, or use {found.prefix}Regressor"
        )


def read_metric(value: object) -> Any:
    """A Metric if it is one of ours, rendered or not."""
    _checks.check_called("eval_metric", value)
    if isinstance(value, Objective):
        raise TypeError(
            f"eval_metric is an objective, {value!r}: write objective= of the estimator"
        )
    return value.metric if isinstance(value, RenderedMetric) else value


def class_positions(name: str, y: ArrayLike, classes: Array) -> Array:
    remedy = f"encode the classes, in their order, as 0 to {len(classes) - 1}"
    target = flat_labels(np.asarray(y))
    if np.shape(target) == (0,):  # of a worker without rows
        return np.empty(0, np.intp)
    return _checks.positions(name, target, classes, "the classes", remedy).astype(np.intp)


def sounding_like(name: str, what: str) -> str:
    """What to write for the name of a metric or an objective that the library does not know."""
    names, linear = names_of_metrics, "threshold_metric('kappa')"
    if what == "objective":
        names, linear = names_of_objectives, "kappa_objective(...)"
    sounds = {fit.removesuffix(f"_{what}"): f"{fit}(...)" for fit in names if fit.endswith(what)}
    sounds |= dict.fromkeys(("quadratic_kappa", "quadratic_weighted_kappa"), f"qwk_{what}(...)")
    both = f"qwk_{what}(...), which is quadratic, or {linear}"
    sounds |= dict.fromkeys(("kappa", "cohen_kappa", "cohen_kappa_score"), both)
    own = name.lower().removesuffix("_loss").removesuffix(f"_{what}")
    near = difflib.get_close_matches(own, sounds, 1, 0.75)
    if near:
        return f"pass {sounds[near[0]]} of gbdt_objectives, not its name"
    return f"correct the name, or pass one of gbdt_objectives.{what}s"


def check_two_classes(classes: Array) -> None:
    if len(classes) != 2:
        raise ValueError(
            f"y has {len(classes)} classes, {_checks.shown(classes.tolist())}, but the "
            "objective is for two: leave objective out, or merge classes"
            + "; labels between 0 and 1 are for XGBRegressor and LGBMRegressor"
            * bool(classes.dtype.kind == "f" and classes.min() >= 0 and classes.max() <= 1)
        )
