"""Each format that the package reads: a right file, its reader, and a plain reading to compare."""

from __future__ import annotations

import io
import json
import math
import shutil
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from gbdt_objectives import serving
from gbdt_objectives._command_line import files
from gbdt_objectives.serving.folder import seal
from tests.commands import run
from tests.formats.test_formats import VERSIONS, kind_of
from tests.readers.watch import WATCH

NEWEST = Path(__file__).parents[1] / "formats" / VERSIONS[-1]
FOLDERS = ("served", "qwk_blend", "estimator")


@dataclass(frozen=True)
class Format:
    """``read`` returns "" for a file that is refused, a word for one that is taken as it is
    written, and raises for all that is neither. ``share``: of how many mutations it gets."""

    name: str
    kind: str
    data: bytes
    read: Callable[[bytes], str]
    share: int


class Difference(AssertionError):
    """What was read is not what stands in the file."""


# JSON.


def text_of(data: bytes) -> str:
    """As users read files: of what is no UTF-8 each byte is a letter."""
    try:
        return data.decode("utf-8", "surrogatepass")
    except UnicodeDecodeError:
        return data.decode("latin-1")


def plain(text: str) -> Any:
    """JSON by the standard library alone, with keys that are given once."""

    def pairs(found: list[tuple[str, Any]]) -> dict[str, Any]:
        if len(dict(found)) < len(found):
            raise Difference("a key that is given twice was accepted")
        return dict(found)

    return json.loads(text, object_pairs_hook=pairs)


def same(found: Any, wanted: Any) -> bool:
    """Equal; a number also if the file gives it as another float of the same value."""
    if isinstance(found, dict) and isinstance(wanted, dict):
        return found.keys() == wanted.keys() and all(same(found[k], wanted[k]) for k in found)
    if isinstance(found, list) and isinstance(wanted, list):
        return len(found) == len(wanted) and all(map(same, found, wanted))
    if isinstance(found, bool) or isinstance(wanted, bool):
        return found is wanted
    if isinstance(found, int | float) and isinstance(wanted, int | float):
        return float(found) == float(wanted) and math.isfinite(found)
    return type(found) is type(wanted) and found == wanted


def of_value(kind: Any, original: bytes) -> Callable[[bytes], str]:
    """What has a checksum is read as the ``original`` says, or is refused."""

    def read(data: bytes) -> str:
        text = text_of(data)
        try:
            value = kind.from_json(text)
        except (ValueError, TypeError) as error:
            return refusal(error)
        usual = kind._left_out
        found, wanted = usual | json.loads(value.to_json()), usual | plain(text)
        if wanted.get("sha256") is not None and not same(found, usual | json.loads(original)):
            raise Difference("a change was not noticed")
        for document in (found, wanted):
            document.pop("format")  # the older one is read too
            document.pop("sha256", None)
            for own in (document, document.get("segment_shift", {})):
                own.pop("dtype", None)  # another name of the same type
                if "segments" in own:  # each with its shift, in any order
                    pairs = zip(own.pop("segments"), own.pop("shifts"), strict=True)
                    own["pairs"] = sorted(map(list, pairs))
        if not same(found, wanted):
            raise Difference(f"{wanted} is read as {found}"[:300])
        return "read"

    return read


def refusal(error: Exception) -> str:
    """ "" for words that were written for whoever gave the file."""
    if type(error) not in (ValueError, TypeError, files.InputError) or not str(error):
        raise error
    return ""


# Folders of served models.


def of_folder(name: str, folder: Path, *, sealed: bool) -> Callable[[bytes], str]:
    """``sealed``: with right hashes, as somebody writes who changes a folder on purpose."""
    from tests.serving.test_corrupted import predictions, served

    shutil.copytree(NEWEST / name, folder)
    rows = np.random.default_rng(0).normal(size=(5, 3)).round(3)
    original = json.loads((folder / "model.json").read_text("utf-8"))
    usual = predictions(serving.load(folder), rows)

    def read(data: bytes) -> str:
        if sealed:
            try:
                document = json.loads(data)
                document["sha256"] = seal(document)
                data = json.dumps(document).encode()
            except (ValueError, TypeError, RecursionError, KeyError):
                pass
        (folder / "model.json").write_bytes(data)
        try:
            model = serving.load(folder)
        except ImportError as error:
            assert "update xgboost" in str(error)  # noqa: PT017, as other errors fail all the same
            return ""
        except (ValueError, TypeError) as error:
            return refusal(error)
        document = plain(data.decode("utf-8"))
        try:
            found = predictions(model, rows)
        except Exception as error:  # of parameters, which a library reads when it is used
            if type(error).__name__ in ("LightGBMError", "XGBoostError"):
                return ""
            raise
        if document == original and found != usual:
            raise Difference("the same model.json is read as another model")
        if found != usual:  # then predict.py, which reads model.json by itself, says so too
            with WATCH.set(False):  # it is run on purpose
                own = served(folder)
            if not close(found[0], own.predict(rows)):
                raise Difference("load and predict.py read different models")
            if found[2] is not None and not close(found[2], own.predict_proba(rows)):
                raise Difference("load and predict.py read different probabilities")
        return "read"

    return read


def close(found: Any, wanted: Any) -> bool:
    found, wanted = np.asarray(found), np.asarray(wanted)
    if found.dtype.kind == "f":  # float32 sums of trees, in another order
        return np.allclose(found, wanted, 1e-6, 1e-6)
    return found.tolist() == wanted.tolist()


# Tables.


def plain_rows(text: str, delimiter: str = ",") -> list[list[str]]:
    """CSV, letter by letter: a quote begins a quoted value only at its start."""
    rows: list[list[str]] = []
    row, cell, state, k = [], "", "start", 0
    while k < len(text):
        letter = text[k]
        k += 1
        if state == "quoted":
            if letter != '"':
                cell += letter
            elif text[k : k + 1] == '"':
                cell, k = cell + '"', k + 1
            else:
                state = "closed"
        elif letter == '"' and state == "start":
            state = "quoted"
        elif letter in ("\n", "\r"):
            k += text[k - 1 : k + 1] == "\r\n"
            rows.append([*row, cell] if row or cell or state != "start" else [])
            row, cell, state = [], "", "start"
        elif letter == delimiter:
            row, cell, state = [*row, cell], "", "start"
        elif state == "closed":
            raise Difference("letters behind a closing quote were accepted")
        else:
            cell, state = cell + letter, "open"
    if state == "quoted":
        raise Difference("a quote without an end was accepted")
    return [*rows, [*row, cell]] if row or cell or state != "start" else rows


def of_csv(path: Path) -> Callable[[bytes], str]:
    delimiter = "\t" if path.suffix == ".tsv" else ","
    wanted = [("--label", "y"), ("--score", "p")]

    def read(data: bytes) -> str:
        path.write_bytes(data)
        try:
            table = files.read_table(str(path), None, wanted, others=True)
            found = {name: column.tolist() for name, column in table.columns.items()}
        except ValueError as error:
            return refusal(error)
        header, *rows = plain_rows(data.decode("utf-8-sig"), delimiter)
        while rows and not rows[-1]:
            rows.pop()
        if list(found) != header or list(map(list, zip(*found.values(), strict=True))) != rows:
            raise Difference("the table is read as another one")
        try:
            score = files.numbers(table, "--score", "p")
        except ValueError as error:
            return refusal(error) or "text"
        at = header.index("p")
        if not np.array_equal(score, [float(row[at]) for row in rows], equal_nan=True):
            raise Difference("numbers are read as others")
        return "read"

    return read


def of_parquet(path: Path) -> Callable[[bytes], str]:
    import pyarrow.parquet

    def read(data: bytes) -> str:
        path.write_bytes(data)
        try:
            table = files.read_table(str(path), None, [("--label", "y"), ("--score", "p")])
            score = files.numbers(table, "--score", "p")
        except ValueError as error:
            return refusal(error)
        wanted = pyarrow.parquet.ParquetFile(io.BytesIO(data)).read(["p"])["p"].to_pylist()
        if not np.array_equal(score, np.array(wanted, float), equal_nan=True):
            raise Difference("numbers are read as others")
        return "read"

    return read


def of_command(command: str, path: Path) -> Callable[[bytes], str]:
    """A command that is given the file: exit code 0, or 2 and one line."""

    def read(data: bytes) -> str:
        path.write_bytes(data)
        result = run(command)
        if result.exception is not None and not isinstance(result.exception, SystemExit):
            raise result.exception
        lines = [line for line in result.stderr.split("\n") if line]
        if result.exit_code == 0:
            return "read"
        if result.exit_code != 2 or len(lines) != 1 or not lines[0].startswith("Error: "):
            raise Difference(f"exit code {result.exit_code}, {len(lines)} lines: {lines[:2]}")
        return ""

    return read


def formats(folder: Path) -> list[Format]:
    """Of which the files lie in an empty folder."""
    rng = np.random.default_rng(0)
    p = rng.random(20).round(3)
    y = (rng.random(20) < p).astype(int)
    lines = ["y,p,word", *(f'{a},{b},"a ""{a}"", b"' for a, b in zip(y, p, strict=True))]
    table = ("\n".join(lines) + "\n").encode()
    names = [path for path in sorted(NEWEST.glob("*.json")) if path.stem != "expected"]
    found = []
    for path in names:
        data, unsealed = path.read_bytes(), json.loads(path.read_bytes()) | {"sha256": None}
        reader = of_value(kind_of(path.stem), data)
        found.append(Format(f"{path.stem}-sealed", "json", data, reader, 10))
        data = json.dumps(unsealed, indent=1).encode()
        found.append(Format(path.stem, "json", data, reader, 35))
    for name in FOLDERS:
        data = (NEWEST / name / "model.json").read_bytes()
        for sealed in (False, True):
            target = folder / f"{name}{'-sealed' * sealed}"
            reader = of_folder(name, target, sealed=sealed)
            found.append(Format(target.name, "json", data, reader, 15))
    found.append(Format("csv", "csv", table, of_csv(folder / "a.csv"), 150))
    tabs = table.replace(b",", b"\t")
    found.append(Format("tsv", "csv", tabs, of_csv(folder / "a.tsv"), 50))
    try:
        import pyarrow as pa
        import pyarrow.parquet as pq
    except ImportError:
        pass
    else:
        buffer = io.BytesIO()
        pq.write_table(pa.table({"y": y, "p": p, "word": ["a"] * 20}), buffer)
        data = buffer.getvalue()
        found.append(Format("parquet", "parquet", data, of_parquet(folder / "a.parquet"), 150))
    saved, scores = folder / "saved.json", folder / "scores.csv"
    data = (NEWEST / "ThresholdClassifier.json").read_bytes()
    scores.write_bytes(table)
    (folder / "right.json").write_bytes(data)
    apply = f"apply '{saved}' '{scores}' --score p --keep y"
    found.append(Format("command apply, saved", "json", data, of_command(apply, saved), 40))
    for name, command in (
        ("apply, table", f"apply '{folder / 'right.json'}' '{folder / 'b.csv'}' --score p"),
        ("calibration", f"calibration '{folder / 'b.csv'}' --label y --score p --format json"),
    ):
        reader = of_command(command, folder / "b.csv")
        found.append(Format(f"command {name}", "csv", table, reader, 20))
    return found
