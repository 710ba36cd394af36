"""The commands: each reads its input, calls a public function, and reports or writes the result."""

from __future__ import annotations

import math
import os
import re
import sys
from collections.abc import Collection, Mapping
from importlib.util import module_from_spec, spec_from_file_location
from operator import attrgetter
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import click
import numpy as np

import gbdt_objectives as go
from gbdt_objectives import __version__, _checks, _registry
from gbdt_objectives._checks import Array
from gbdt_objectives._command_line import files, options, probabilities
from gbdt_objectives._command_line.files import InputError, columns_as_text, cut, doing, save, say
from gbdt_objectives._command_line.options import Commands, option

MOST_METRICS = 7  # side by side
SAVED = {
    **dict.fromkeys((*probabilities.CALIBRATORS.values(), "SegmentCalibrator"), "calibration"),
    "LogOddsShift": "priors",
    **dict.fromkeys(("Thresholds", "SegmentShift"), "thresholds"),
    "ThresholdClassifier": "estimators",
}  # fmt: skip
"""What a file may hold, of --output of these commands or of to_json(), and the module of each."""


@options.command(
    options.FILE, options.LABEL, options.SCORE, options.WEIGHT_OR_COUNTS, options.RATES,
    options.LABELS, option("--method", "[plugin|curved|exact|nelder-mead|rounding]",
        "Repeat it to compare several.  [plugin for qwk, else exact]", multiple=True),
    option("--metric", options.METRICS, "What the thresholds are to be best at.", default="qwk"),
    options.CV, options.GROUPS,
    click.option("--interval", is_flag=True, help="Add an interval of 90 % for new rows."),
    option("--constraint", "METRIC=BOUND", "precision=0.9: at least that, alert_rate=0.002: at "
        "most; repeat it for more.", "constraints", multiple=True),
    option("--confidence-level", "LEVEL", "At which new rows keep the constraints.", type=float),
    option("--first-test", "N", "False alerts that a precision's first test allows.", type=int),
    options.FORMAT, options.OUTPUT,
)  # fmt: skip
def thresholds(o: SimpleNamespace) -> None:
    """Thresholds that turn a score into ordered classes.

    Fitted to out-of-fold scores, and judged by cross-validation: "score" is the metric of rows
    that the thresholds were not fitted on. Of several methods the first is chosen, unless another
    is better by more than a standard error. If only some rows of label 0 were kept, say at what
    rate: thresholds and score are then for all rows. Write them with -o for the command apply.

    With --constraint it is the best of all cuts between two classes that keep it, without
    cross-validation. For a --confidence-level give rows that are new to the model.

    \b
    Example:
      python -m gbdt_objectives thresholds oof.csv --label y --score p -o thresholds.json
    """
    files.check_ending(o.output, "JSON, not a table", ".json")
    table = options.read_options(o)
    order = files.read_labels(o.labels)
    y = files.classes(table, "--label", o.y_true, order)
    s = files.numbers(table, "--score", o.score)
    g = None if o.groups is None else table.columns[o.groups]
    if o.constraints:
        classifier, report = limited(table, o, y, s, order, g)
        typed = [f"{report['thresholds'].item():.9g}"]  # with the same alerts
        columns = {"rows": report["rows"], "threshold": typed, **report["in_sample"]}
        say(report, columns_as_text(columns), o.style)
        save(classifier, o.output)
        return
    for name in ("confidence_level", "first_test"):
        if getattr(o, name) is not None:
            flag = f"--{name.replace('_', '-')}"
            raise InputError(f"{flag} is for what --constraint promises: give both")
    if o.counts is not None:
        raise InputError("--counts is for --constraint: for folds write the rows out")
    w = options.weights_of_all(table, o, y)
    doing(f"cross-validating thresholds of {table.rows} rows, {o.cv} folds")
    found = go.cross_validate_thresholds(
        y, s, method=o.method or None, cv=o.cv, groups=g, labels=order, sample_weight=w,
        metric=o.metric, n_bootstrap=0, random_state=o.random_state, verbose=files.is_watched(),
    )  # fmt: skip
    classifier = go.ThresholdClassifier(found.best, labels=order, metric=o.metric).fit(s, y, w)
    report = {"rows": table.rows, "metric": o.metric, **report_of(found)}
    if o.interval:
        doing("estimating the interval, 2 repeats of nested cross-validation")
        report["interval"] = go.evaluation.estimate_performance(
            classifier, s[:, np.newaxis], y, o.metric, cv=o.cv, n_repeats=2, labels=order,
            sample_weight=w, groups=g, random_state=o.random_state, verbose=files.is_watched(),
        ).interval  # fmt: skip
    say(report, thresholds_as_text(report, found, o.cv), o.style)
    save(classifier, o.output)


def limited(
    table: files.FileTable, o: SimpleNamespace, y: Array, s: Array, order: Any, g: Array | None
) -> tuple[Any, dict[str, Any]]:
    """The classifier whose threshold keeps the constraints, and how good it is on these rows."""
    if o.interval or len(o.method) > 1:
        other = "--interval" if o.interval else "all but one --method"
        raise InputError(f"--constraint looks at every cut, once: leave {other} out")
    bounds = {}
    for given in o.constraints:
        name, _, bound = given.partition("=")
        try:
            bounds[name] = float(bound)
            if not name.isidentifier():
                raise ValueError
        except ValueError:
            raise InputError(
                f"--constraint must be METRIC=BOUND, found {given!r}: for instance precision=0.9"
            ) from None
    alone = o.negative_keep_rate is not None  # a rate of each row is a weight
    w = options.weight_column(table, o) if alone else options.weights_of_all(table, o, y)
    doing(f"trying every cut of {table.rows} rows")
    how: dict[str, Any] = {
        "method": next(iter(o.method), None), "labels": order, "metric": o.metric,
        "constraints": bounds, "negative_keep_rate": o.negative_keep_rate,
        "confidence_level": o.confidence_level, "first_test": o.first_test,
    }  # fmt: skip
    classifier, g = go.ThresholdClassifier(**how), None if o.confidence_level is None else g
    whole, n = options.weights_of_all(table, o, y), options.read_counts(table, o)
    if n is None:
        classifier.fit(s, y, w, g)
    else:
        found = go.optimize_thresholds(y, s, sample_weight=w, counts=n, groups=g, **how)
        classifier._set(found, "exact")
        whole = n if whole is None else whole * n
    p = classifier.predict(s)
    return classifier, {
        "rows": table.rows if n is None else int(n.sum()), "metric": o.metric,
        "method": classifier.thresholds_method_,
        "labels": classifier.classes_, "thresholds": classifier.thresholds_.values,
        "in_sample": {
            name: go.metrics.threshold_metric(name)(y, p, whole, classifier.classes_)
            for name in (o.metric, *bounds)
        },
    }  # fmt: skip


def report_of(found: Any) -> dict[str, Any]:
    """The method that cross-validation chose, and all that were compared."""
    best = found.methods.index(found.best)
    return {
        "method": found.best,
        "score": found.score[best], "in_sample_score": found.in_sample_score[best],
        "labels": found.labels, "thresholds": found.thresholds[best],
        "compared": {
            name: {"score": found.score[k], "fold_score": found.fold_score[k]}
            for k, name in enumerate(found.methods)
        },
    }  # fmt: skip


def thresholds_as_text(report: Mapping[str, Any], found: Any, cv: int) -> str:
    cuts = {"class": found.labels, "from score": np.append(-math.inf, report["thresholds"])}
    text = [
        f"{report['metric']} of {report['rows']} rows, by {cv} folds",
        *map(cut, repr(found).splitlines()), "", f"{found.best}:", columns_as_text(cuts),
    ]  # fmt: skip
    if "interval" in report:
        low, high = report["interval"]
        text.append(f"\n{report['metric']} of new rows, interval of 90 %: {low:.4g} to {high:.4g}")
    return "\n".join(text)


@options.command(
    click.argument("saved"), options.FILE, options.SCORE,
    option("--segment", "COLUMN", "Of saved shifts by segment, or a calibrator's.", "segments"),
    options.NEW_COLUMN, options.OUTPUT,
)  # fmt: skip
def apply(o: SimpleNamespace) -> None:
    """Add classes, probabilities or moved scores to a file.

    SAVED is what the command thresholds or calibrate wrote with -o, or to_json() of thresholds, of
    a calibrator, of a shift of log-odds, which corrects probabilities, or of shifts by segment. The
    file with the new column goes to -o, or to standard output.

    \b
    Example:
      python -m gbdt_objectives apply thresholds.json test.csv --score p \\
        --keep id --column grade -o submission.csv
    """
    fitted = read_saved(o.saved)
    table = options.read_with_others(o)
    score = files.numbers(table, "--score", o.score)
    options.write_with(o, table, applied(fitted, score, o, table))


@options.command(
    options.FILE, options.LABEL, option("--prediction", "COLUMN", "Predicted classes.", "y_pred"),
    option("--score", "COLUMN", "Or scores, to be cut by --thresholds."),
    option("--thresholds", "PATH", "What the command thresholds wrote."),
    options.WEIGHT_OR_NUMBER, options.RATES, options.LABELS,
    option("--metric", options.METRICS, "Repeat it for several.", default=("qwk",), multiple=True),
    options.FORMAT,
)  # fmt: skip
def kappa(o: SimpleNamespace) -> None:
    """Quadratic weighted kappa, or another metric, of predicted classes.

    If only some rows of label 0 were kept, say at what rate: the metric is then that of all rows.

    \b
    Examples:
      python -m gbdt_objectives kappa test.csv --label y --prediction grade
      python -m gbdt_objectives kappa test.csv --label y --score p --thresholds thresholds.json
    """
    if (o.y_pred is None) == (o.score is None) or (o.score is None) != (o.thresholds is None):
        raise InputError("give either --prediction, or --score and --thresholds together")
    table = options.read_options(o)
    order = files.read_labels(o.labels)
    if o.score is not None and o.thresholds is not None:
        classifier = read_saved(o.thresholds, ("ThresholdClassifier",))
        if order is not None and order != classifier.classes_.tolist():
            raise InputError(
                f"--labels are {order}, but {o.thresholds} has the classes "
                f"{classifier.classes_.tolist()}: leave --labels out"
            )
        order = classifier.classes_.tolist()
        p = classifier.predict(files.numbers(table, "--score", o.score))
    else:
        p = files.classes(table, "--prediction", str(o.y_pred), order)
    y = files.classes(table, "--label", o.y_true, order)
    if order is None:
        y, p = _checks.whole_numbers("y_true", y), _checks.whole_numbers("y_pred", p)
    w = options.weights_of_all(table, o, y)
    values = {name: go.metrics.threshold_metric(name)(y, p, w, order) for name in o.metric}
    text = columns_as_text(values)
    if len(values) > MOST_METRICS:
        text = columns_as_text({"metric": list(values), "value": list(values.values())})
    say({"rows": table.rows, **values}, text, o.style)


class Given:
    """A model whose probability of label 1 is what it is given."""

    classes_ = np.arange(2)

    def predict_proba(self, p: Array) -> Array:
        return np.column_stack([1 - p, p])


@options.command(
    options.FILE, options.LABEL,
    option("--score", "COLUMN", "Predicted probability of label 1.", required=True),
    option("--thresholds", "PATH", "What the command thresholds wrote, for ordered classes."),
    option("--threshold", "P", "Alerts are rows of at least this probability.", type=float),
    option("--segment", "COLUMN", "Repeat it for several columns.", "segments", multiple=True),
    options.OWNERS, options.WEIGHT_OR_COUNTS, options.RATES,
    option("--title", "TEXT", "Heading of the page, for instance the month.", default="Report"),
    options.output("Where to write the page, .html.", required=True),
)  # fmt: skip
def report(o: SimpleNamespace) -> None:
    """A page to look at: how a model does on new rows.

    One file of HTML with pictures, which loads nothing. Of a probability it shows the reliability,
    the ratio of mean prediction to mean outcome by --segment, and the alerts from --threshold; with
    --thresholds, of ordered classes, kappa with its limits, scores, and the confusion matrix. The
    limits are those of 95 %.

    \b
    Examples:
      python -m gbdt_objectives report test.csv --label y --score p --threshold 0.3 -o p.html
      python -m gbdt_objectives report test.csv --label y --score p \\
        --thresholds thresholds.json -o grades.html
    """
    if not o.output.endswith(".html"):
        raise InputError(f"--output {o.output} must be a page: give a name that ends in .html")
    table = options.read_options(o)
    known: dict[str, Any]
    if o.thresholds is None:
        model, y = Given(), options.labels_01(table, o)
        known = {
            "sample_weight": options.weight_column(table, o),
            **options.read_sampling(table, o),
        }
    else:
        model = read_saved(o.thresholds, ("ThresholdClassifier",))
        y = files.classes(table, "--label", o.y_true, model.classes_.tolist())
        known = {"sample_weight": options.weights_of_all(table, o, y)}
    segments = {name: table.columns[name] for name in o.segments} or None
    doing(f"drawing the report of {table.rows} rows")
    go.evaluation.report(
        model, files.numbers(table, "--score", o.score), y, o.output, title=o.title,
        segments=segments, counts=options.read_counts(table, o),
        groups=options.read_groups(table, o), threshold=o.threshold, **known,
    )  # fmt: skip
    files.told(o.output, "the report")


@options.command(
    click.argument("objective"),
    option("--loss", "MODULE:NAME", "The total that the gradient differentiates."),
    option("--labels", "A,B,...", "Labels to draw from."),
    option("--margins", "LOW HIGH", "Where the loss is differentiable.", nargs=2, type=float),
    option("--hessian-kind", options.HESSIAN_KINDS, "What the hessian should be."),
    option("--n-classes", "K", "For margins of K classes, (n, K).", type=int),
    option("--api", "[xgboost|lightgbm|sklearn]", "How it is called.  [found by trying]"),
)  # fmt: skip
def check(o: SimpleNamespace) -> None:
    """Test a custom objective for what XGBoost and LightGBM assume of it.

    OBJECTIVE is module:name or file.py:name; modules in the current folder are found. Exit code 1
    means that a check failed.

    \b
    Example:
      python -m gbdt_objectives check mylosses:squared --labels 1,2,3
    """
    from gbdt_objectives.checking import ObjectiveError, check_objective

    sys.path.insert(0, os.getcwd())
    try:
        report = check_objective(
            find(o.objective), files.read_labels(o.labels), loss=o.loss and find(o.loss),
            hessian_kind=o.hessian_kind, margins=o.margins, n_classes=o.n_classes, api=o.api,
        )  # fmt: skip
    except ObjectiveError as error:
        click.echo(error.report)
        click.get_current_context().exit(1)
    click.echo(report)


def find(path: str) -> Any:
    """The object that ``module:name``, ``module:name.attribute`` or ``file.py:name`` names."""
    module, _, name = path.rpartition(":")
    if not (module and name):
        raise InputError(f"found {path!r}: write module:name, for instance mylosses:focal")
    try:
        return attrgetter(name)(load(module) if module.endswith(".py") else _registry.load(module))
    except InputError:
        raise
    except Exception as error:  # whatever a module does when it is imported
        raise InputError(
            f"{path} cannot be loaded, {type(error).__name__}: {error}; give module:name of what "
            "Python imports without an error"
        ) from error


def load(path: str) -> ModuleType:
    """The module of a file, as ``./mylosses.py``."""
    spec = spec_from_file_location(Path(path).stem, path)
    if spec is None or spec.loader is None or not Path(path).is_file():
        raise InputError(files.NO_FILE.format(path=path, folder=os.getcwd()))
    module = module_from_spec(spec)
    sys.modules.setdefault(spec.name, module)  # so that its objects can be pickled
    spec.loader.exec_module(module)
    return module


def applied(fitted: Any, score: Array, o: SimpleNamespace, table: files.FileTable) -> Array:
    """What a saved thing makes of scores."""
    shifts = getattr(fitted, "segment_shift_", fitted)  # of a calibrator
    by_segment = isinstance(shifts, go.thresholds.SegmentShift)
    if by_segment and o.segments is None:
        raise InputError(f"{o.saved} holds shifts by segment: name their column with --segment")
    if not by_segment and o.segments is not None:
        raise InputError(
            f"--segment is for shifts, but {o.saved} holds a {type(fitted).__name__}: leave it out"
        )
    if by_segment:
        is_number = shifts.segments.dtype.kind in "iuf"
        if is_number:
            segments = files.numbers(table, "--segment", o.segments)
        else:
            segments = files.as_words(table.columns[o.segments], "biuM")
        if shifts is not fitted:
            return np.asarray(fitted.predict(score, segments=segments))
        return np.asarray(fitted.apply(score, segments))
    if isinstance(fitted, go.priors.LogOddsShift):
        return go.correct_probability(score, fitted)
    return np.asarray(fitted.apply(score) if hasattr(fitted, "apply") else fitted.predict(score))


def read_saved(path: str, kinds: Collection[str] = SAVED) -> Any:
    text = files.read_text(path)
    found = re.search(r'"format":\s*"gbdt_objectives\.(\w+)/', text)
    kind = found[1] if found else None
    if kind is None or kind not in kinds:
        raise InputError(
            f"{path} holds no {' or '.join(kinds) if len(kinds) == 1 else 'saved estimator'}"
            f"{f', but a {kind}' if kind else ''}: give the file that the command thresholds"
            f"{'' if len(kinds) == 1 else ' or calibrate'} wrote with -o"
        )
    try:
        return getattr(getattr(go, SAVED[kind]), kind).from_json(text)
    except ValueError as error:
        raise InputError(f"{path}: {error}") from None


@click.group(cls=Commands, commands=(
    thresholds, apply, kappa, report, check, *probabilities.COMMANDS,
))  # fmt: skip
@click.version_option(__version__, prog_name="gbdt_objectives")
def cli() -> None:
    """Thresholds and true probabilities for scores in a file, and checks of objectives.

    FILE is CSV, with the names of its columns in the first line, or Parquet, if it ends in
    .parquet; - is standard input. Rows are counted from 0, after the first line. Exit code 2 and
    one line on standard error mean that the input was refused, 1 that calibration or monitor raised
    an alarm, or check found a fault.
    """
