"""The commands: each reads its input, calls a public function, and reports or writes the result."""

from __future__ import annotations

import json
import math
import os
import re
import sys
import warnings
from collections.abc import Callable, Mapping
from functools import wraps
from importlib import import_module
from importlib.util import module_from_spec, spec_from_file_location
from operator import attrgetter
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import click
import numpy as np

import gbdt_objectives as go
from gbdt_objectives import __version__, _checks
from gbdt_objectives._checks import Array
from gbdt_objectives._command_line import files
from gbdt_objectives._command_line.files import InputError, Table
from gbdt_objectives._mistakes import SWAPPED

CALIBRATORS = {
    "intercept": "InterceptCalibrator",
    "logit": "LogitCalibrator",
    "beta": "BetaCalibrator",
    "spline": "SplineCalibrator",
    "venn-abers": "VennAbersCalibrator",
    "hull": "ROCConvexHullCalibrator",
}
SAVED = ("ThresholdClassifier", *CALIBRATORS.values())  # what a file that --output wrote may hold

COLUMNS = {
    "y_true": ("y_true", "y"),
    "y_pred": ("y_pred",),
    "score": ("score", "probability", "margin"),
    "sample_weight": ("sample_weight",),
    "groups": ("groups",),
    "keep_rate": ("keep_rate",),
}
"""Parameters that name a column, and what the functions behind them call its values."""


class Refused(click.ClickException):
    exit_code = 2


def in_options(message: str, context: click.Context) -> str:
    """A message about arguments of a function as one line about options of the command."""
    options: dict[str, tuple[str, str]] = {}
    metavars: dict[str, str] = {}
    for parameter in context.command.params:
        option, name = parameter.opts[-1], str(parameter.name)
        column = context.params.get(name) if name in COLUMNS else None
        if option.startswith("--"):
            for word in COLUMNS.get(name, (name,)):
                options[word] = option, "" if column is None else f" {column}"
                metavars[word] = str(parameter.metavar)

    def written(found: re.Match[str]) -> str:
        word, name, value = found[0], found["name"], found["value"]
        if name is None:
            return "".join(options.get(word, (word,)))
        items = (item.strip(" '\"") for item in value.strip("[]").split(","))
        text = metavars[name] if value == "[...]" else ",".join(items)
        return f"{options[name][0]} {text}"

    words = "|".join(options)
    message = " ".join(message.split()).replace("pass -score", "give a column of -score")
    as_argument = rf"(?<![\w-])(?P<name>{words})=(?P<value>\[[^]]*\]|'[^']*'|[^\s,:;]+)"
    return re.sub(rf"{as_argument}|^(?:{words})\b|\b[a-z]+_\w+\b", written, message)


def refuse_in_one_line(command: Callable[[SimpleNamespace], None]) -> Callable[..., None]:
    """Errors of input as one line and exit code 2, warnings as one line each."""

    @wraps(command)
    def run(**options: Any) -> None:
        context = click.get_current_context()
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always", UserWarning)
            try:
                command(SimpleNamespace(**options))
            except BrokenPipeError:
                raise  # of `| head`: click ends in silence
            except InputError as error:
                raise Refused(str(error)) from error
            except (ImportError, OSError, TypeError, ValueError) as error:
                said, _, _ = str(error).partition(SWAPPED)  # options have no order
                raise Refused(in_options(said, context)) from error
        told = [str(w.message) for w in caught if issubclass(w.category, UserWarning)]
        for text in dict.fromkeys(told):
            click.echo(f"Warning: {in_options(text, context)}", err=True)

    return run


def options_of(*options: Callable[..., Any]) -> Callable[..., Any]:
    def decorate(command: Any) -> Any:
        for one in reversed(options):
            command = one(command)
        return command

    return decorate


def option(
    name: str, metavar: str | None, help: str, to: str | None = None, **more: Any
) -> Callable[..., Any]:
    """An option of one value, whose default, if it has one, is shown in the help."""
    names = [name] if to is None else [name, to]
    more = {"show_default": "default" in more, **more}
    return click.option(*names, metavar=metavar, help=help, **more)


METRICS = "[qwk|linear|kappa|accuracy|mae|macro_recall|matthews|f1|youden]"
HESSIAN_KINDS = "[exact|constant|upper_bound|bounded|undeclared]"
FILE = options_of(
    click.argument("file"),
    option("--delimiter", "CHARACTER", "It separates values.  [comma; tab in .tsv]"),
)
LABEL = option("--label", "COLUMN", "True classes.", "y_true", required=True)
LABEL_01 = option("--label", "COLUMN", "0 or 1.", "y_true", required=True)
SCORE = option("--score", "COLUMN", "What the model predicts.", required=True)
WEIGHT = option("--weight", "COLUMN", "How many rows each row stands for.", "sample_weight")
LABELS = option("--labels", "A,B,...", "All classes, lowest first; words need it.  [min to max]")
CV = options_of(
    option("--cv", "FOLDS", "Cross-validation.", default=5),
    option("--random-state", "SEED", "Seed of the folds.", default=0),
)
INPUT_SPACE = option(
    "--input-space", "[probability|margin]", "A margin is in log-odds.", default="probability"
)
TABLE_OR_JSON = click.Choice(["table", "json"])
FORMAT = option("--format", None, "How to report.", "style", type=TABLE_OR_JSON, default="table")
OUTPUT = options_of(
    click.option("-o", "--output", metavar="PATH", help="Where to write the result."),
    click.option("--force", is_flag=True, help="Replace the file of that name."),
)
NEW_COLUMN = options_of(
    option("--column", "NAME", "Name of the new column.", default="prediction"),
    option("--keep", "COLUMN", "Copy it; repeat it for more.  [all columns]", multiple=True),
)


@click.group()
@click.version_option(__version__, prog_name="gbdt_objectives")
def cli() -> None:
    """Thresholds and true probabilities for scores in a file, and checks of objectives.

    FILE is CSV, with the names of its columns in the first line, or Parquet, if it ends in
    .parquet; - is standard input. Rows are counted from 0, after the first line. Exit code 2 and
    one line on standard error mean that the input was refused.
    """


@cli.command()
@FILE
@LABEL
@SCORE
@WEIGHT
@LABELS
@option(
    "--method", "[plugin|curved|exact|nelder-mead|rounding]",
    "Repeat it to compare several.  [plugin for qwk, else exact]", multiple=True,
)  # fmt: skip
@option("--metric", METRICS, "What the thresholds are to be best at.", default="qwk")
@CV
@option("--groups", "COLUMN", "Rows of one group stay in one fold.")
@click.option("--interval", is_flag=True, help="Add an interval of 90 % for new rows.")
@FORMAT
@OUTPUT
@refuse_in_one_line
def thresholds(o: SimpleNamespace) -> None:
    """Thresholds that turn a score into ordered classes.

    Fitted to out-of-fold scores, and judged by cross-validation: "score" is the metric of rows
    that the thresholds were not fitted on. Of several methods the first is chosen, unless another
    is better by more than a standard error. Write them with -o for the command apply.

    \b
    Example:
      python -m gbdt_objectives thresholds oof.csv --label y --score p -o thresholds.json
    """
    files.check_output(o.output, o.force)
    table = read(o, label=o.y_true, score=o.score, weight=o.sample_weight, groups=o.groups)
    order = files.read_labels(o.labels)
    y = files.classes(table, "--label", o.y_true, order)
    s = files.numbers(table, "--score", o.score)
    w = weights(table, o.sample_weight)
    g = None if o.groups is None else table.columns[o.groups]
    found = go.cross_validate_thresholds(
        y, s, method=o.method or None, cv=o.cv, groups=g, labels=order, sample_weight=w,
        metric=o.metric, n_bootstrap=0, random_state=o.random_state,
    )  # fmt: skip
    best = found.methods.index(found.best)
    classifier = go.ThresholdClassifier(found.best, labels=order, metric=o.metric).fit(s, y, w)
    report: dict[str, Any] = {
        "rows": table.rows,
        "metric": o.metric,
        "method": found.best,
        "score": found.score[best],
        "in_sample_score": found.in_sample_score[best],
        "labels": found.labels,
        "thresholds": found.thresholds[best],
        "compared": {
            name: {"score": found.score[k], "fold_score": found.fold_score[k]}
            for k, name in enumerate(found.methods)
        },
    }
    if o.interval:
        report["interval"] = go.evaluation.estimate_performance(
            classifier, s[:, np.newaxis], y, o.metric, cv=o.cv, n_repeats=2, labels=order,
            sample_weight=w, groups=g, random_state=o.random_state,
        ).interval  # fmt: skip
    text = [
        f"{o.metric} of {table.rows} rows, by {o.cv} folds",
        repr(found),
        "",
        f"{found.best}:",
        columns_as_text(
            {"class": found.labels, "from score": np.append(-math.inf, found.thresholds[best])}
        ),
    ]
    if o.interval:
        low, high = report["interval"]
        text.append(f"\n{o.metric} of new rows, interval of 90 %: {low:.4g} to {high:.4g}")
    tell(report, "\n".join(text), o.style)
    save(classifier, o.output)


@cli.command()
@click.argument("saved")
@FILE
@SCORE
@NEW_COLUMN
@OUTPUT
@refuse_in_one_line
def apply(o: SimpleNamespace) -> None:
    """Add classes or probabilities to a file.

    SAVED is what the command thresholds or calibrate wrote with -o, or to_json() of one of these
    estimators. The file with the new column goes to -o, or to standard output.

    \b
    Example:
      python -m gbdt_objectives apply thresholds.json test.csv --score p \\
        --keep id --column grade -o submission.csv
    """
    files.check_output(o.output, o.force)
    fitted = read_saved(o.saved)
    table = read_with_others(o)
    write_with(o, table, fitted.predict(files.numbers(table, "--score", o.score)))


@cli.command()
@FILE
@LABEL
@option("--prediction", "COLUMN", "Predicted classes.", "y_pred")
@option("--score", "COLUMN", "Or scores, to be cut by --thresholds.")
@option("--thresholds", "PATH", "What the command thresholds wrote.")
@WEIGHT
@LABELS
@option("--metric", METRICS, "Repeat it for several.", default=("qwk",), multiple=True)
@FORMAT
@refuse_in_one_line
def kappa(o: SimpleNamespace) -> None:
    """Quadratic weighted kappa, or another metric, of predicted classes.

    \b
    Examples:
      python -m gbdt_objectives kappa test.csv --label y --prediction grade
      python -m gbdt_objectives kappa test.csv --label y --score p --thresholds thresholds.json
    """
    if (o.y_pred is None) == (o.score is None) or (o.score is None) != (o.thresholds is None):
        raise InputError(
            "give either --prediction, predicted classes, or --score and --thresholds together"
        )
    table = read(o, label=o.y_true, prediction=o.y_pred, score=o.score, weight=o.sample_weight)
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
    w = weights(table, o.sample_weight)
    values = {name: go.metrics.threshold_metric(name)(y, p, w, order) for name in o.metric}
    tell({"rows": table.rows, **values}, columns_as_text(values), o.style)


@cli.command()
@FILE
@SCORE
@option("--negative-keep-rate", "RATE", "0.1: one in ten of label 0 was kept.", type=float)
@option("--positive-keep-rate", "RATE", "0.1: one in ten of label 1 was kept.", type=float)
@option("--train-prior", "SHARE", "Share of label 1 in training.", type=float)
@option("--target-prior", "SHARE", "Share of label 1 where the model is used.", type=float)
@INPUT_SPACE
@NEW_COLUMN
@OUTPUT
@refuse_in_one_line
def correct(o: SimpleNamespace) -> None:
    """True probabilities from a model trained on a sample of the negatives.

    Give the rates at which rows were kept, or the share of label 1 in the training data and where
    the model is used. Margins stay margins. The file with the new column goes to -o, or to
    standard output.

    \b
    Example:
      python -m gbdt_objectives correct test.csv --score p --negative-keep-rate 0.1 \\
        --column probability -o corrected.csv
    """
    files.check_output(o.output, o.force)
    _checks.choice("input_space", o.input_space, ("probability", "margin"))
    rates, priors = (o.negative_keep_rate, o.positive_keep_rate), (o.train_prior, o.target_prior)
    if (rates == (None, None)) == (priors == (None, None)):
        raise InputError(
            "give either --negative-keep-rate, --positive-keep-rate or both, or --train-prior and "
            "--target-prior"
        )
    shift = go.log_odds_shift(
        negative_keep_rate=o.negative_keep_rate,
        positive_keep_rate=o.positive_keep_rate,
        train_prior=o.train_prior,
        target_prior=o.target_prior,
    )
    table = read_with_others(o)
    s = files.numbers(table, "--score", o.score)
    correction = go.priors.correct_margin if o.input_space == "margin" else go.correct_probability
    corrected = correction(s, shift)
    write_with(o, table, corrected)
    click.echo(f"mean {o.input_space} {s.mean():.4g}, corrected {corrected.mean():.4g}", err=True)


@cli.command()
@FILE
@LABEL_01
@SCORE
@WEIGHT
@option(
    "--method", f"[auto|{'|'.join(CALIBRATORS)}]",
    "auto: the best in cross-validated log loss.  [the spline, shrunk]",
)  # fmt: skip
@option("--negative-keep-rate", "RATE", "0.1: one in ten of label 0 was kept.", type=float)
@option("--keep-rate-column", "COLUMN", "Or the rate at which each row was kept.", "keep_rate")
@INPUT_SPACE
@CV
@FORMAT
@OUTPUT
@refuse_in_one_line
def calibrate(o: SimpleNamespace) -> None:
    """A map from scores to the probability of label 1.

    Fitted to rows that the model was not trained on. The report is of probabilities as they are
    in the file, and calibrated by maps fitted without the row's fold. Without --method the map is a
    spline that few events leave nearly as it is. If only some rows of label 0 were kept, say at
    what rate: map and report are then for all rows. Write the map with -o for the command apply.

    \b
    Example:
      python -m gbdt_objectives calibrate oof.csv --label y --score p -o calibrator.json
    """
    from sklearn.model_selection import cross_val_predict

    from gbdt_objectives._folds import held_out_once
    from gbdt_objectives.estimators.calibrator_choice import fit_default

    files.check_output(o.output, o.force)
    if o.method is not None:
        _checks.choice("method", o.method, ("auto", *CALIBRATORS))
    _checks.choice("input_space", o.input_space, ("probability", "margin"))
    if o.method == "auto" and o.input_space == "margin":
        raise InputError(
            "--method auto compares calibrators of probabilities: with --input-space margin name "
            "one, for instance --method spline"
        )
    if o.negative_keep_rate is not None and o.keep_rate is not None:
        raise InputError(
            "--negative-keep-rate and --keep-rate-column are both given: leave one out"
        )
    table = read(
        o, **{"label": o.y_true, "score": o.score, "weight": o.sample_weight,
              "keep-rate-column": o.keep_rate}
    )  # fmt: skip
    y = files.numbers(table, "--label", o.y_true, "write 1 for the event and 0 for everything else")
    s = files.numbers(table, "--score", o.score)
    w = weights(table, o.sample_weight)
    rates: dict[str, Any] = {"negative_keep_rate": o.negative_keep_rate}
    if o.keep_rate is not None:
        rates = {"keep_rate": files.numbers(table, "--keep-rate-column", o.keep_rate)}
    log_loss = {}
    if o.method == "auto":
        choice = go.estimators.choose_calibrator(
            y, s, w, cv=o.cv, random_state=o.random_state, **rates
        )
        calibrator, log_loss = choice.calibrator.fit(s, y, w, **rates), choice.log_loss
    elif o.method is None:
        calibrator = fit_default(s, y, w, input_space=o.input_space, **rates)
    else:
        calibrator = getattr(go.estimators, CALIBRATORS[o.method])()
        if "input_space" in calibrator.get_params():
            calibrator.set_params(input_space=o.input_space)
        calibrator.fit(s, y, w, **rates)
    held_out = cross_val_predict(
        calibrator, s[:, np.newaxis], y,
        cv=held_out_once(y, o.cv, None, shuffle=True, random_state=o.random_state),
        params=rates if w is None else {**rates, "sample_weight": w},
    )  # fmt: skip
    (rate,) = rates.values()
    judged = {"as it is": s} if o.input_space == "probability" else {}
    judged["calibrated"] = held_out
    quality = {name: quality_of(y, p, w, rate, o.random_state) for name, p in judged.items()}
    report = {
        "rows": table.rows,
        "method": type(calibrator).__name__,
        "log_loss": log_loss,
        "quality": quality,
    }
    text = [f"{type(calibrator).__name__} of {table.rows} rows, judged by {o.cv} folds"]
    if log_loss:
        losses = {"calibrator": list(log_loss), "log loss": list(log_loss.values())}
        text += [columns_as_text(losses), ""]
    measures = {name: list(of.values()) for name, of in quality.items()}
    text.append(columns_as_text({"": list(quality["calibrated"]), **measures}))
    tell(report, "\n".join(text), o.style)
    save(calibrator, o.output)


@cli.command()
@click.argument("objective")
@option("--loss", "MODULE:NAME", "The total that the gradient differentiates.")
@option("--labels", "A,B,...", "Labels to draw from.")
@option("--margins", "LOW HIGH", "Where the loss is differentiable.", nargs=2, type=float)
@option("--hessian-kind", HESSIAN_KINDS, "What the hessian should be.")
@option("--n-classes", "K", "For margins of K classes, (n, K).", type=int)
@option("--api", "[xgboost|lightgbm|sklearn]", "How it is called.  [found by trying]")
@refuse_in_one_line
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
        return attrgetter(name)(load(module) if module.endswith(".py") else import_module(module))
    except AttributeError as error:
        raise InputError(str(error)) from error


def load(path: str) -> ModuleType:
    """The module of a file, as ``./mylosses.py``."""
    spec = spec_from_file_location(Path(path).stem, path)
    if spec is None or spec.loader is None or not Path(path).is_file():
        raise InputError(files.NO_FILE.format(path=path, folder=os.getcwd()))
    module = module_from_spec(spec)
    sys.modules.setdefault(spec.name, module)  # so that its objects can be pickled
    spec.loader.exec_module(module)
    return module


def quality_of(
    y: Array, p: Array, w: Array | None, rate: Any, random_state: int
) -> dict[str, float]:
    """How well probabilities are calibrated, and how much they tell, if negatives were kept at the
    rate."""
    test = go.calibration.calibration_error_test(
        y, p, sample_weight=w, negative_keep_rate=rate, random_state=random_state
    )
    if rate is not None:  # each negative stands for those that were not kept
        w = (1.0 if w is None else w) * np.where(y == 0, 1 / rate, 1.0)
    return {
        "calibration_ratio": go.calibration.calibration_ratio(y, p, sample_weight=w),
        "calibration_error": test.error,
        "error_by_chance": test.null_error,
        "p_value": test.p_value,
        "normalized_entropy": go.calibration.normalized_entropy(y, p, sample_weight=w),
    }


def read(o: SimpleNamespace, **options: str | None) -> Table:
    """The columns that the options name, of those that are given."""
    wanted = [(f"--{option}", name) for option, name in options.items() if name is not None]
    return files.read_table(o.file, o.delimiter, wanted)


def weights(table: Table, name: str | None) -> Array | None:
    return None if name is None else files.numbers(table, "--weight", name)


def read_with_others(o: SimpleNamespace) -> Table:
    """The score, and the columns that are to be copied."""
    wanted = [("--score", o.score), *(("--keep", name) for name in dict.fromkeys(o.keep))]
    table = files.read_table(o.file, o.delimiter, wanted, others=not o.keep)
    if o.column in (o.keep or table.columns):
        raise InputError(f"--column {o.column} is in {o.file} already: give another name")
    return table


def write_with(o: SimpleNamespace, table: Table, values: Array) -> None:
    kept = {name: table.columns[name] for name in o.keep or table.columns}
    files.write_table(o.output, {**kept, o.column: values})
    told(o.output, f"{table.rows} rows")


def read_saved(path: str, kinds: tuple[str, ...] = SAVED) -> Any:
    text = files.read_text(path)
    found = re.search(r'"format":\s*"gbdt_objectives\.(\w+)/', text)
    kind = found[1] if found else None
    if kind not in kinds:
        raise InputError(
            f"{path} holds no {' or '.join(kinds) if len(kinds) == 1 else 'saved estimator'}"
            f"{f', but a {kind}' if kind else ''}: give the file that the command thresholds"
            f"{'' if len(kinds) == 1 else ' or calibrate'} wrote with -o"
        )
    try:
        return getattr(go.estimators, kind).from_json(text)
    except ValueError as error:
        raise InputError(f"{path}: {error}") from None


def save(estimator: Any, output: str | None) -> None:
    if output is not None:
        with open(output, "w", encoding="utf-8") as file:
            file.write(estimator.to_json() + "\n")
        told(output, type(estimator).__name__)


def told(output: str | None, what: str) -> None:
    if output is not None:
        click.echo(f"wrote {output} ({what})", err=True)


def tell(report: Mapping[str, Any], text: str, style: str) -> None:
    if style == "json":
        text = json.dumps(plain(report), indent=2, allow_nan=False)
    click.echo(text)


def plain(value: Any) -> Any:
    """The value in JSON's types: nan is null, infinite numbers are "-inf" and "inf"."""
    if isinstance(value, Mapping):
        return {key: plain(item) for key, item in value.items()}
    if hasattr(value, "tolist"):
        value = value.tolist()
    if isinstance(value, list | tuple):
        return [plain(item) for item in value]
    if isinstance(value, float) and not math.isfinite(value):
        return None if math.isnan(value) else str(value)
    return value


def columns_as_text(columns: Mapping[str, Any]) -> str:
    from gbdt_objectives._values import table

    return table(**{name: np.atleast_1d(values) for name, values in columns.items()})
