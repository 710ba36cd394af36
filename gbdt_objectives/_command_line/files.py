"""Columns of CSV and Parquet files, read strictly, where nothing is guessed; models in files."""

from __future__ import annotations

import csv
import io
import json
import math
import os
import re
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext, suppress
from dataclasses import dataclass
from importlib.util import find_spec
from itertools import chain
from pathlib import Path
from typing import Any, TextIO

import click
import numpy as np

from gbdt_objectives import _registry
from gbdt_objectives._checks import Array, shown
from gbdt_objectives._steps.steps import LONGEST

Wanted = Sequence[tuple[str, str]]
"""Pairs of an option and the column that it names, as ("--score", "p")."""

NO_FILE = "{path} does not exist: give the path of a file, from {folder}"
TABLES = (".csv", ".tsv", ".parquet")
LARGEST_WHOLE = 2.0**53  # up to it a float64 holds every whole number


class InputError(click.ClickException, ValueError):
    """Input that cannot be right, said in one line in terms of files and options."""

    exit_code = 2


@dataclass(frozen=True)
class FileTable:
    """Columns of n rows by name: text of a CSV file, whatever they are of a Parquet file."""

    columns: dict[str, Array]
    arrow: Any = None  # all that was read of a Parquet file; its columns are those of options

    @property
    def rows(self) -> int:
        return len(next(iter(self.columns.values())))

    @property
    def names(self) -> list[str]:
        return list(self.columns) if self.arrow is None else list(self.arrow.column_names)


def read_table(
    path: str, delimiter: str | None, wanted: Wanted, *, others: bool = False
) -> FileTable:
    """The wanted columns of a file, and the others on request; only those to keep may be empty."""
    used: dict[str, str] = {}
    for option, name in wanted:
        if option != "--keep" and name in used:
            raise InputError(f"{used[name]} and {option} are both {name!r}: give two columns")
        used.setdefault(name, option)
    if path.endswith(".parquet"):
        table = _read_parquet(path, wanted, used, others)
    else:
        table = _read_csv(path, delimiter, used, others)
    if table.rows == 0:
        raise InputError(f"{path} has no rows below its header: give a file with at least one")
    for option, name in wanted:
        if option == "--keep" or table.columns[name].dtype.kind != "O":
            continue
        column = table.columns[name]
        missing = [row for row, value in enumerate(column) if value is None or value == ""]
        if missing:
            remedy = "fill such rows in, or remove them"
            if option == "--segment":
                remedy = f"name them, COALESCE({name}, 'missing') or fillna('missing')"
            raise InputError(
                f"{option} {name} is empty at row {missing[0]} ({len(missing)} such of "
                f"{table.rows}): {remedy}"
            )
    return table


def numbers(
    table: FileTable, option: str, name: str, hint: str = "correct or remove the row"
) -> Array:
    column = table.columns[name]
    if table.arrow is None and all(value.lower() in ("true", "false") for value in column):
        column = np.array([value.lower() == "true" for value in column])
    if column.dtype.kind == "b":
        return column.astype(np.int64)
    if column.dtype.kind in "iuf":
        return column
    if column.dtype.kind in "mM":
        raise InputError(f"{option} {name} must hold numbers, found {column[0]} at row 0: {hint}")
    found = np.empty(len(column))
    for row, value in enumerate(column):
        try:
            found[row] = parse_number(value)
        except (TypeError, ValueError):
            if re.fullmatch(r"[-+]?[\d.]*([,'\s][\d.]+)+", str(value)):
                hint = "decimal commas are not read, write a decimal point, and thousands closed up"
            raise InputError(
                f"{option} {name} must hold numbers, found {shown(value)} at row {row}: {hint}"
            ) from None
    return found


def parse_number(text: Any, kind: type = float) -> Any:
    """A number as files hold it: Python would also read 1_0 as 10, and the digits of any script."""
    if isinstance(text, str) and ("_" in text or not text.isascii()):
        raise ValueError(f"found {text!r}")
    return kind(text)


def classes(table: FileTable, option: str, name: str, labels: list[Any] | None) -> Array:
    """A column of classes, of the type of the labels; whole numbers if there are none."""
    if labels and isinstance(labels[0], str):
        return table.columns[name]
    y = numbers(table, option, name, "if classes are words, name them, --labels low,mid,high")
    if y.dtype.kind == "f" and (np.abs(y) < LARGEST_WHOLE).all() and (y == np.rint(y)).all():
        return y.astype(np.int64)
    return y


def read_labels(text: str | None) -> list[Any] | None:
    """ "1,2,3" as numbers, "low,mid,high" as words."""
    if text is None:
        return None
    words = [word.strip() for word in next(csv.reader([text]), [])]
    for kind in (int, float):
        with suppress(ValueError):
            return [parse_number(word, kind) for word in words]
    return words


def read_text(path: str) -> str:
    """A file of JSON, or as much of it as is needed to see that it is too long."""
    with _open(path) as file:
        return file.read(LONGEST + 1)


def check_output(path: str | None, force: bool) -> None:
    """Raise before the work is done, if its result could not be written."""
    if path is None:
        return
    if path == "-":
        raise InputError("--output - is no file: name one, or leave it out for standard output")
    if Path(path).is_dir():
        raise InputError(f"--output {path} is a folder: add the name of a file")
    if path.endswith(".parquet"):
        _pyarrow()
    if Path(path).exists() and not force:
        raise InputError(f"--output {path} exists: give another name, or --force to replace it")
    if not Path(path).absolute().parent.is_dir():
        raise InputError(f"--output {path} is in a folder that does not exist: make it first")
    place = path if Path(path).exists() else Path(path).absolute().parent
    if not os.access(place, os.W_OK):
        raise InputError(f"--output {path} cannot be written, {place} is read-only: name another")


def check_ending(path: str | None, holds: str, *endings: str) -> None:
    """Raise for a name of something else than what is to be written."""
    if path is not None and Path(path).suffix not in ("", ".txt", *endings):
        names = " or ".join(endings)
        raise InputError(f"--output {path} would hold {holds}: give a name that ends in {names}")


def write_file(
    path: str | None, table: FileTable, names: Sequence[str],
    new: Mapping[str, Array] | None = None, *, rows: Array | None = None,
) -> None:  # fmt: skip
    """Rows of columns of a table, and new columns, to a file or, if it is None, standard output."""
    new, names = new or {}, list(dict.fromkeys(names))
    at = slice(None) if rows is None else rows
    kept = None if table.arrow is None else table.arrow.select(names)
    if kept is not None and rows is not None:
        kept = kept.take(rows)
    if path is not None and path.endswith(".parquet"):
        pyarrow = _pyarrow()
        if kept is None:
            kept = pyarrow.table({name: table.columns[name][at] for name in names})
        for name, values in new.items():
            kept = kept.append_column(name, pyarrow.array(values))
        pyarrow.parquet.write_table(kept, path)
        return
    if kept is None:
        columns = {name: table.columns[name][at].tolist() for name in names}
    else:
        columns = {name: _python_values(kept.column(name)) for name in names}
    columns |= {name: values.tolist() for name, values in new.items()}
    delimiter = "\t" if path is not None and path.endswith(".tsv") else ","
    with (
        nullcontext(sys.stdout) if path is None else open(path, "w", encoding="utf-8", newline="")
    ) as file:
        writer = csv.writer(file, delimiter=delimiter, lineterminator="\n")
        writer.writerow(columns)
        writer.writerows(zip(*columns.values(), strict=True))


def _python_values(column: Any) -> list[Any]:
    """Values of a column of Arrow; times in nanoseconds, which Python does not have, as text."""
    if str(column.type).startswith(("timestamp[ns", "time64[ns", "duration[ns")):
        column = column.cast("string")
    return list(column.to_pylist())


@contextmanager
def _open(path: str) -> Iterator[TextIO]:
    """A file of text, or standard input for "-"; errors name it."""
    try:
        if path == "-":
            yield io.TextIOWrapper(sys.stdin.buffer, encoding="utf-8-sig", newline="")
            return
        with open(path, encoding="utf-8-sig", newline="") as file:
            yield file
    except FileNotFoundError:
        raise InputError(NO_FILE.format(path=path, folder=os.getcwd())) from None
    except OSError as error:
        raise InputError(
            f"{path} cannot be read: {error.strerror}; give the path of a file that you may read"
        ) from None
    except UnicodeDecodeError as error:
        raise InputError(
            f"{path} is not text in UTF-8 ({error.reason} at byte {error.start}): give a CSV file "
            "in UTF-8, neither compressed nor of Excel, or one that ends in .parquet"
        ) from None


def _read_csv(path: str, delimiter: str | None, used: Mapping[str, str], others: bool) -> FileTable:
    if delimiter is not None and len(delimiter) != 1:
        raise InputError(
            f"--delimiter must be one character, found {delimiter!r}: for instance ; or, a tab, "
            "$'\\t'"
        )
    csv.field_size_limit(2**31 - 1)  # essays may be longer than the module's own limit
    with _open(path) as file:
        first = file.readline()
        said = re.fullmatch(r'("?)sep=(.)\1\s*', first)  # as Excel writes it
        if first.strip().strip('"').startswith("sep=") and not said:
            found = shown(first.strip())
            raise InputError(f"{path} begins with {found}: write one character after sep=, as ;")
        separator = delimiter or (said[2] if said else "\t" if path.endswith(".tsv") else ",")
        reader = csv.reader(filter(None, chain([first], file)), delimiter=separator, strict=True)
        if said:
            next(reader)
        try:
            header = next(reader, [])
            if not header:
                found = "starts with a blank line" if reader.line_num > bool(said) else "is empty"
                which = "the line below sep=" if said else "its first line"
                raise InputError(f"{path} {found}: {which} must name the columns")
            other = next((f": give --delimiter ${c!r}" for c in ",;\t|" if c in header[0]), "")
            _check_names(path, header, used, others, f", separated by {separator!r}{other}")
            places = [k for k, name in enumerate(header) if others or name in used]
            columns: list[list[str]] = [[] for _ in places]
            for values in _full_rows(path, reader, len(header), separator):
                for column, k in zip(columns, places, strict=True):
                    column.append(values[k])
        except csv.Error as error:
            raise InputError(
                f"{path} is no CSV file, line {reader.line_num}: {error}; give a table in which "
                "quotes stand around whole values, or a file that ends in .parquet"
            ) from None
    names = [header[k] for k in places]
    return FileTable({name: np.array(c, object) for name, c in zip(names, columns, strict=True)})


def _full_rows(path: str, reader: Any, fields: int, separator: str) -> Iterator[list[str]]:
    """The rows below the header, all of the same length; blank lines only at the end."""
    blank = None
    for values in reader:
        if not values:
            blank = blank or reader.line_num
            continue
        if blank is not None:
            raise InputError(f"{path} has a blank line, line {blank}, before others: remove it")
        if len(values) != fields:
            raise InputError(
                f"{path} has {len(values)} values in line {reader.line_num}, but {fields} columns: "
                "every row needs a value, if an empty one, for each column of the first line, and "
                f"one with {separator!r} in it needs quotes"
            )
        yield values


def _read_parquet(path: str, wanted: Wanted, used: Mapping[str, str], others: bool) -> FileTable:
    pyarrow = _pyarrow()
    if Path(path).is_dir():
        raise InputError(f"{path} is a folder: give one of the Parquet files in it, or join them")
    try:
        schema = pyarrow.parquet.read_schema(path)
        _check_names(path, schema.names, used, others)
        names = schema.names if others else list(used)
        arrow = pyarrow.parquet.read_table(path, columns=names).select(names)
    except FileNotFoundError:
        raise InputError(NO_FILE.format(path=path, folder=os.getcwd())) from None
    except (OSError, pyarrow.ArrowException) as error:
        raise InputError(f"{path} is no Parquet file: {' '.join(str(error).split())}") from None
    columns = {  # objects with None where a value is missing, so that integers stay integers
        name: np.array(c.to_pylist(), object) if c.null_count else np.asarray(c)
        for name in dict.fromkeys(name for option, name in wanted if option != "--keep")
        for c in [arrow.column(name)]
    }
    return FileTable(columns, arrow)


def _pyarrow() -> Any:
    try:
        import pyarrow
        import pyarrow.parquet
    except ImportError as error:
        raise ImportError("Parquet files need pyarrow: pip install pyarrow") from error
    return pyarrow


def _check_names(
    path: str, header: list[str], used: Mapping[str, str], others: bool, separated: str = ""
) -> None:
    for name, option in used.items():
        if name not in header:
            plain = [n if n == n.strip() and n.isprintable() else repr(n) for n in header[:20]]
            one = "name one column only; " if set(name.split(",")) <= set(header) else ""
            raise InputError(
                f"{option} {name} is no column of {path}: {one}it has {', '.join(plain)}"
                f"{f' and {len(header) - 20} more' if len(header) > 20 else ''}{separated}"
            )
    for name in [*used, *(header if others else [])]:
        if header.count(name) > 1:
            raise InputError(f"{path} has several columns {name!r}: give each a name of its own")


def check_model_paths(model: str, output: str) -> None:
    """Raise if no library could read the one and write the other."""
    endings = [Path(path).suffix for path in (model, output)]
    if endings[0] not in _registry.LIBRARY_OF:
        raise ValueError(
            f"{model} must end in .json or .ubj (XGBoost) or .txt (LightGBM): save the "
            "model by save_model under such a name"
        )
    library = _registry.LIBRARY_OF[endings[0]]
    own = [ending for ending, name in _registry.LIBRARY_OF.items() if name == library]
    if endings[1] not in own:
        raise ValueError(
            f"output must end in {' or '.join(own)} for a model of {library}, found {output!r}"
        )
    if not Path(model).is_file():
        raise ValueError(f"{model} does not exist: give the path of a file, from {os.getcwd()}")


def read_model(path: str) -> Any:
    """The booster in a file."""
    library = _registry.LIBRARY_OF[Path(path).suffix]
    try:
        _registry.load(library)
    except ImportError as error:
        raise ImportError(f"{path} needs {library}: pip install {library}") from error
    with open(path, "rb"):  # where it cannot be, the system says why
        pass
    try:
        return _registry.library(library).open_booster(path)
    except Exception as error:
        if type(error) is ValueError:  # not of the library's own kinds, in many lines
            raise
        raise ValueError(f"{path} is no model of {library}: save it with save_model") from error


def write_model(booster: Any, path: str) -> None:
    """The whole booster: later rounds than the best, if there are any, stay."""
    _registry.library(_registry.LIBRARY_OF[Path(path).suffix]).write_all(booster, path)


WIDTH = 80  # columns of a terminal
WIDEST, SHORTEST = 30, 8  # characters of a word in a table


def say(report: Mapping[str, Any], text: str, style: str) -> None:
    click.echo(as_json(report) if style == "json" else text)


def as_json(report: Mapping[str, Any]) -> str:
    return json.dumps(json_value(report), indent=2, allow_nan=False)


def json_value(value: Any) -> Any:
    """The value in JSON's types: nan is null, infinite numbers are "-inf" and "inf"."""
    if isinstance(value, Mapping):
        return {key: json_value(item) for key, item in value.items()}
    if isinstance(value, np.datetime64 | np.timedelta64):
        return word(value)
    if hasattr(value, "tolist"):
        value = value.tolist()
    if isinstance(value, list | tuple):
        return [json_value(item) for item in value]
    if isinstance(value, float) and not math.isfinite(value):
        return None if math.isnan(value) else str(value)
    known = value is None or isinstance(value, str | bool | int | float)
    return value if known else str(value)  # of a date


def word(value: Any) -> str:
    """The value on one line; times without zeros at the end."""
    if isinstance(value, np.datetime64):
        return str(np.datetime_as_string(value, "auto"))
    return " ".join(str(value).split())


def as_words(column: Any, kinds: str) -> Any:
    """A column as words if it is of these kinds, such as "b" for booleans, else as it is."""
    if getattr(column, "dtype", np.dtype("O")).kind not in kinds:
        return column
    return np.array([word(value) for value in np.asarray(column)])


def columns_as_text(columns: Mapping[str, Any]) -> str:
    """A table no wider than a terminal: words and names are shortened as far as they must be."""
    from gbdt_objectives._rows.rows import write_table

    arrays = {name: np.atleast_1d(values) for name, values in columns.items()}
    text = ""
    for least, longest in [(8, WIDEST), *((0, n) for n in range(WIDEST, SHORTEST - 1, -1))]:
        shortened = {
            short(name, longest): np.array([
                short(value, longest) if isinstance(value, str) else value for value in values
            ], object)
            for name, values in arrays.items()
        }  # fmt: skip
        lines = [line.rstrip() for line in write_table(least, **shortened).splitlines()]
        text = "\n".join(lines)
        if max(map(len, lines)) <= WIDTH:
            break
    return text


def short(text: str, longest: int) -> str:
    """The text, or its beginning and its end: names that differ often do so at the end."""
    if len(text) <= longest:
        return text
    end = (longest - 3) // 2
    return f"{text[: longest - 3 - end]}...{text[len(text) - end :]}"


def cut(line: str) -> str:
    """A line whose last cell is a list, as far as it fits."""
    return line if len(line) <= WIDTH else f"{line[: WIDTH - 3].rpartition(' ')[0]} ..."


def save(estimator: Any, output: str | None) -> None:
    if output is not None:
        Path(output).write_text(estimator.to_json() + "\n", encoding="utf-8")
        told(output, type(estimator).__name__)


def doing(step: str) -> None:
    """Say on a terminal what takes a while now; a file or pipe of errors gets no such lines."""
    if sys.stderr.isatty():
        click.echo(f"{step} ...", err=True)


def is_watched() -> bool:
    """Whether a progress bar has a terminal to be on, and tqdm, which draws it, is there."""
    return sys.stderr.isatty() and find_spec("tqdm") is not None


def told(output: str | None, what: str) -> None:
    if output is not None:
        click.echo(f"wrote {output} ({what})", err=True)
