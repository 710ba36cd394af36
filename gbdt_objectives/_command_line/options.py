"""Options that several commands have, what is read with them, and messages in their words."""

from __future__ import annotations

import re
import warnings
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from functools import wraps
from types import SimpleNamespace
from typing import Any, NamedTuple, get_args

import click
import numpy as np

import gbdt_objectives as go
from gbdt_objectives import _checks
from gbdt_objectives._checks import Array, Sampling, shown
from gbdt_objectives._checks.calls import SWAPPED
from gbdt_objectives._checks.spellings import counterpart, nearest
from gbdt_objectives._command_line import files
from gbdt_objectives._command_line.files import FileTable, InputError, doing, told
from gbdt_objectives.metrics.classes import NAMED
from gbdt_objectives.objectives.loss import HessianKind

FEWEST_GROUPS = 30  # limits of fewer are too narrow: docs/theory/calibration.md, rows in groups
COLUMNS = {
    "y_true": ("y_true", "y"), "score": ("score", "probability", "margin"),
    **{k: (k,) for k in ("y_pred", "sample_weight", "counts", "groups", "keep_rate", "key")},
    **{k: (k,) for k in ("arrived", "arrived_before", "arrived_at_sampling")},
    "segments": ("segments",),
}  # fmt: skip
"""Parameters that name a column, and what the functions behind them call its values."""

PHRASES = {
    "pass -score": "give a column of -score",
    r"one rate, negative_keep_rate=; .*": "one rate, --negative-keep-rate",
    ", as pilot_keep_rates does": "", r", rows = numpy\.repeat\(.*": "",
    "margins need the logistic function or softmax first": "give --input-space margin for margins",
    r"pass predict_proba\(X\).* instead of predict\(X\)": "give a column of probabilities",
    r"pass capacity=.*, too": "give --capacity", r": for instance \{.*": ": give one of them",
    " and no such weights": ", and leave --weight out", "not in labels": "not in --labels",
    r"sorted\(labels.*?\), ": "", "every class in labels": "every class in --labels",
    "raise its rate": "raise --negative-keep-rate", r" or label_range=.* of threshold_metric": "",
    r"pass 1 - y, or .* it is meant": "swap labels 0 and 1, unless --negative-keep-rate is meant",
    r"convert it with .astype\(str\), or .*": "write it as text, or as whole numbers",
    r"pass class_keep_rates=.*": "give --train-prior and --target-prior",
    r"delta must have shape .*": "a shift is for models of one output, for label 1",
}  # fmt: skip
"""What functions call things that are no arguments of a command, and what they are called here."""


@contextmanager
def usage_in_one_line() -> Iterator[None]:
    try:
        yield
    except click.exceptions.NoArgsIsHelpError:
        raise
    except click.UsageError as error:
        said = " ".join(error.format_message().split()).rstrip(".")
        said = re.sub(r"not a valid (float|integer)$", "no number", said)
        where = "" if error.ctx is None else f": see {error.ctx.command_path} --help"
        if isinstance(error, click.NoSuchOption):
            instead, near = option_for(error)
            said, where = (
                f"No such option {error.option_name!r}",
                (f": {instead}" if instead else f"; the nearest are {near}{where}"),
            )
        raise InputError(f"{said}{where}") from error


def option_for(error: click.NoSuchOption) -> tuple[str, str]:
    """What to write for an option of other tools, or "", and the options that are nearest."""
    word, command = error.option_name.lstrip("-").replace("-", "_"), error.ctx.command  # type: ignore[union-attr]
    options = {str(p.name): p.opts[-1] for p in command.params if p.opts[-1].startswith("--")}
    name = str(command.name)
    said = f"write {word}=" if word in options else counterpart(name, word, options)
    said = re.sub(r"(\w+)='?(\w*)'?", lambda at: f"{options[at[1]]} {at[2]}".strip(), said)
    return said, ", ".join(options[one] for one in nearest(name, word, options))


class Commands(click.Group):
    """A group that refuses bad usage in one line, too."""

    @usage_in_one_line()
    def make_context(self, *args: Any, **more: Any) -> click.Context:
        return super().make_context(*args, **more)

    def resolve_command(self, context: click.Context, args: list[str]) -> Any:
        """Refuse an option for one value that is given twice: click would use the last."""
        name, command, rest = super().resolve_command(context, args)
        assert command is not None
        own = click.Context(command, info_name=name, parent=context)
        *_, order = command.make_parser(own).parse_args(args=list(rest))
        for one in order:
            if order.count(one) > 1 and not (one.multiple or getattr(one, "is_flag", False)):
                raise click.UsageError(f"{one.opts[-1]} is given twice, give it once", own)
        return name, command, rest

    @usage_in_one_line()
    def invoke(self, context: click.Context) -> Any:
        return super().invoke(context)


def in_options(message: str, context: click.Context) -> str:
    """A message about arguments of a function as one line about options of the command."""
    options: dict[str, tuple[str, str]] = {}
    metavars: dict[str, str] = {}
    for parameter in context.command.params:
        option, name = parameter.opts[-1], str(parameter.name)
        column = context.params.get(name) if name in COLUMNS else None
        if option.startswith("--"):
            for word in COLUMNS.get(name, (name,)):
                options[word] = option, f" {column}" if isinstance(column, str) else ""
                metavars[word] = str(parameter.metavar)

    def written(found: re.Match[str]) -> str:
        word, name, value = found[0], found["name"], found["value"]
        if name is None:
            return "".join(options.get(word, (word,)))
        items = (item.strip(" '\"") for item in value.strip("[]").split(","))
        text = metavars[name] if value == "[...]" else ",".join(items)
        return f"{options[name][0]} {text}"

    words = "|".join(options)
    message = " ".join(message.split())
    for phrase, instead in PHRASES.items():
        named = re.search(r"--[a-z-]+", instead)
        if named is None or any(named[0] in one.opts for one in context.command.params):
            message = re.sub(phrase, instead, message)
    message = re.sub(r"^segments\[(['\"])(.*?)\1\]", lambda found: f"--segment {found[2]}", message)
    as_argument = rf"(?<![\w-])(?P<name>{words})=(?P<value>\[[^]]*\]|'[^']*'|[^\s,:;]+)"
    return re.sub(rf"{as_argument}|^(?:{words})\b|\b[a-z]+_\w+\b", written, message)


def refuse_in_one_line(command: Callable[[SimpleNamespace], None]) -> Callable[..., None]:
    """Errors of input, first of the output, as one line with exit code 2, warnings as one each."""

    @wraps(command)
    def run(**options: Any) -> None:
        context = click.get_current_context()
        left: click.exceptions.Exit | None = None
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always", UserWarning)
            try:
                if "output" in options:
                    files.check_output(options["output"], options["force"])
                command(SimpleNamespace(**options))
            except click.exceptions.Exit as exit:
                left = exit
            except (InputError, BrokenPipeError):
                raise  # click ends in one line, and at `| head` in silence
            except (ImportError, OSError, TypeError, ValueError) as error:
                said, _, _ = str(error).partition(SWAPPED)  # options have no order
                raise InputError(in_options(said, context)) from error
        told = [str(w.message) for w in caught if issubclass(w.category, UserWarning)]
        for text in dict.fromkeys(told):
            click.echo(f"Warning: {in_options(text, context)}", err=True)
        if left is not None:
            raise left

    return run


def options_of(*options: Callable[..., Any]) -> Callable[..., Any]:
    """All of these decorators as one."""

    def decorate(command: Any) -> Any:
        for one in reversed(options):
            command = one(command)
        return command

    return decorate


def command(*options: Callable[..., Any]) -> Callable[..., click.Command]:
    """Make a command with these options of a function, whose errors of input are one line."""
    return options_of(click.command(), *options, refuse_in_one_line)


def option(
    name: str, metavar: str | None, help: str, to: str | None = None, **more: Any
) -> Callable[..., Any]:
    """An option of one value, whose default, if it has one, is shown in the help."""
    names = [name] if to is None else [name, to]
    more = {"show_default": "default" in more, **more}
    return click.option(*names, metavar=metavar, help=help, **more)


METRICS = f"[{'|'.join(NAMED)}]"
HESSIAN_KINDS = f"[{'|'.join(get_args(HessianKind))}]"
FILE = options_of(
    click.argument("file"),
    option("--delimiter", "CHARACTER", "It separates values.  [comma; tab in .tsv]"),
)
LABEL = option("--label", "COLUMN", "True classes.", "y_true", required=True)
LABEL_01 = option("--label", "COLUMN", "0 or 1.", "y_true", required=True)
SCORE = option("--score", "COLUMN", "What the model predicts.", required=True)
PROBABILITY = option("--score", "COLUMN", "Predicted probability of label 1.", required=True)
WEIGHT, WEIGHT_OR_NUMBER, WEIGHT_BESIDE_COUNTS = (
    option("--weight", "COLUMN", f"How important each row is{more}.", "sample_weight")
    for more in ("", ", or how many rows it stands for", "; rows of a GROUP BY need --counts")
)
COUNTS = option("--counts", "COLUMN", "How many identical rows it is, as of a GROUP BY.", "counts")
WEIGHT_OR_COUNTS = options_of(WEIGHT_BESIDE_COUNTS, COUNTS)
LABELS = option("--labels", "A,B,...", "All classes, lowest first; words need it.  [min to max]")
GROUPS = option("--groups", "COLUMN", "Whose row it is; rows of one group stay in one fold.")
OWNERS = option("--groups", "COLUMN", "Whose row it is; outcomes of one group may depend.")
NEGATIVE_KEEP_RATE = option(
    "--negative-keep-rate", "RATE", "0.1: one in ten of label 0 was kept.", type=float
)
RATES = options_of(
    NEGATIVE_KEEP_RATE,
    option("--keep-rate-column", "COLUMN", "Or the rate at which each row was kept.", "keep_rate"),
)
SHIFT = options_of(
    NEGATIVE_KEEP_RATE,
    option("--positive-keep-rate", "RATE", "0.1: one in ten of label 1 was kept.", type=float),
    option("--train-prior", "SHARE", "Share of label 1 in training.", type=float),
    option("--target-prior", "SHARE", "Share of label 1 where the model is used.", type=float),
)
RANDOM_STATE = option("--random-state", "SEED", "Seed of what is drawn.", default=0)
CV = options_of(
    option("--cv", "FOLDS", "Cross-validation.", default=5),
    option("--random-state", "SEED", "Seed of the folds.", default=0),
)
INPUT_SPACE = option(
    "--input-space", "[probability|margin]", "A margin is in log-odds.", default="probability"
)
TABLE_OR_JSON = click.Choice(["table", "json"])
FORMAT = option("--format", None, "How to report.", "style", type=TABLE_OR_JSON, default="table")


def output(help: str = "Where to write the result.", **more: Any) -> Callable[..., Any]:
    return options_of(
        click.option("-o", "--output", metavar="PATH", help=help, **more),
        click.option("--force", is_flag=True, help="Replace the file of that name."),
    )


OUTPUT = output()
KEEP = option("--keep", "COLUMN", "Copy it; repeat it for more.  [all columns]", multiple=True)
NEW_COLUMN = options_of(
    option("--column", "NAME", "Name of the new column.", default="prediction"), KEEP
)


def read_options(o: SimpleNamespace, *, others: bool = False) -> FileTable:
    """The columns that the options name, of those that are given, and on request the others."""
    if "keep_rate" in vars(o) and o.negative_keep_rate is not None:
        if o.keep_rate is not None:
            both = "--negative-keep-rate and --keep-rate-column"
            raise InputError(f"{both} are both given: leave one out")
        _checks.keep_rate("negative_keep_rate", o.negative_keep_rate)
    wanted = []
    for parameter in click.get_current_context().command.params:
        name = str(parameter.name)
        if name in COLUMNS or name == "keep":
            given = getattr(o, name)
            given = [given] if isinstance(given, str) else given or ()
            wanted += [(parameter.opts[-1], column) for column in dict.fromkeys(given)]
    wanted += [("--action", column) for column in vars(o).get("costs", ())]
    doing(f"reading {o.file}")
    return files.read_table(o.file, o.delimiter, wanted, others=others)


def weight_column(table: FileTable, o: SimpleNamespace) -> Array | None:
    name = o.sample_weight
    return None if name is None else files.numbers(table, "--weight", name)


def read_counts(table: FileTable, o: SimpleNamespace) -> Array | None:
    return None if o.counts is None else files.numbers(table, "--counts", o.counts)


def labels_01(table: FileTable, o: SimpleNamespace) -> Array:
    hint = "write 1 for the event and 0 for everything else"
    return files.numbers(table, "--label", o.y_true, hint)


def read_sampling(table: FileTable, o: SimpleNamespace) -> dict[str, Any]:
    """How the rows were sampled, as functions take it."""
    if o.keep_rate is not None:
        column = files.numbers(table, "--keep-rate-column", o.keep_rate)
        return {"keep_rate": _checks.keep_rates("keep_rate", column)}
    return {} if o.negative_keep_rate is None else {"negative_keep_rate": o.negative_keep_rate}


class ScoredTable(NamedTuple):
    """Rows of labels 0 and 1 and a score, and what else is known of them."""

    y: Array
    score: Array
    weight: Array | None
    groups: Array | None
    rates: dict[str, Any]  # how they were sampled, as functions take it
    counts: Array | None = None  # how many identical rows each is

    @property
    def sampled(self) -> dict[str, Any]:
        return {"sample_weight": self.weight, **self.rates}

    def number(self, where: Array | bool = True) -> int:
        """How many rows there are, copies included: all, or those where this is true."""
        c = np.ones(len(self.y)) if self.counts is None else self.counts
        return int(np.sum(c * where))

    def entropy(self, p: Array) -> float:
        """The normalized entropy of probabilities in all rows."""
        w = standing_weights(self.y, self.weight, self.rates)
        if self.counts is not None:
            w = self.counts if w is None else w * self.counts
        return go.calibration.normalized_entropy(self.y, p, sample_weight=w)


def read_scored_table(table: FileTable, o: SimpleNamespace) -> ScoredTable:
    y, score = labels_01(table, o), files.numbers(table, "--score", o.score)
    return ScoredTable(
        y, score, weight_column(table, o), read_groups(table, o), read_sampling(table, o)
    )


def read_groups(table: FileTable, o: SimpleNamespace) -> Array | None:
    if o.groups is None:
        return None
    groups = table.columns[o.groups]
    found = int(_checks.group_numbers(groups, table.rows).max()) + 1
    if found < FEWEST_GROUPS:
        warnings.warn(
            f"groups holds {found} different value{'s' if found > 1 else ''}: limits and p-values "
            f"need some {FEWEST_GROUPS}, and may mislead",
            stacklevel=2,
        )
    return groups


def standing_weights(y: Array, w: Array | None, rates: Mapping[str, Any]) -> Array | None:
    """Weights in which each negative stands for those that were not kept."""
    from gbdt_objectives.calibration.rows import LabelledRows

    if not rates:
        return w
    (rate,) = rates.values()
    if w is not None:
        Sampling(weights=w, positive=y == 1, rate=rate)
    return LabelledRows.stand_for(y, 1.0 if w is None else w, rate)


def weights_of_all(table: FileTable, o: SimpleNamespace, y: Array) -> Array | None:
    """Weights for the rows that were there before the sampling, which labels 0 and 1 need."""
    rates = read_sampling(table, o)
    right = (y == 0) | (y == 1)
    if rates and not right.all():
        row = int(np.argmin(right))
        given = "--keep-rate-column" if o.negative_keep_rate is None else "--negative-keep-rate"
        raise InputError(
            f"{given} is for labels 0 and 1, but --label {o.y_true} holds {shown(y[row])} at row "
            f"{row}: give --weight, a column of how many rows each stands for"
        )
    return standing_weights(y, weight_column(table, o), rates)


def shift_of_options(o: SimpleNamespace) -> Any:
    """The shift of the log-odds that the options of ``SHIFT`` describe."""
    rates, priors = (o.negative_keep_rate, o.positive_keep_rate), (o.train_prior, o.target_prior)
    if (rates == (None, None)) == (priors == (None, None)):
        raise InputError(
            "give either --negative-keep-rate, --positive-keep-rate or both, or --train-prior and "
            "--target-prior"
        )
    return go.log_odds_shift(
        negative_keep_rate=o.negative_keep_rate, positive_keep_rate=o.positive_keep_rate,
        train_prior=o.train_prior, target_prior=o.target_prior,
    )  # fmt: skip


def read_with_others(o: SimpleNamespace) -> FileTable:
    """The score, and the columns that are to be copied."""
    files.check_ending(o.output, "CSV", *files.TABLES)
    table = read_options(o, others=not o.keep)
    if o.column in (o.keep or table.names):
        raise InputError(f"--column {o.column} is in {o.file} already: give another name")
    return table


def write_with(o: SimpleNamespace, table: FileTable, values: Array) -> None:
    files.write_file(o.output, table, o.keep or table.names, {o.column: values})
    told(o.output, f"{table.rows} rows")
