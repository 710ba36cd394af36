"""Whatever is wrong is said in one line, in the words of the command line, with exit code 2."""

from __future__ import annotations

import re
import sys
from pathlib import Path

import numpy as np
import pytest

import gbdt_objectives as go
from tests.cases import each
from tests.commands import refused, run, write

pytestmark = pytest.mark.slow

CHECK = "calibration log.csv --label y --score p"
CALIBRATE = "calibrate log.csv --label y --score p"
THRESHOLDS = "thresholds log.csv --label y --score p"
KAPPA = "kappa log.csv --label y --prediction grade"
SAMPLE = "sample log.csv --label y --negative-keep-rate 0.5 -o new.csv"
SHIFT = "shift model.txt -o new.txt"


@pytest.fixture
def log(tmp_path, monkeypatch) -> None:
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(0)
    p = rng.beta(1, 4, 200).round(5)
    y = (rng.random(200) < p).astype(int)
    columns = {
        "y": y, "p": p, "grade": 1 + (p > 0.2), "text": np.where(p > 0.2, "a", "b"),
        "zero": np.zeros(200, int), "one": np.ones(200, int), "neg": -p, "two": np.full(200, 2),
        "by": np.where(y == 1, 1.0, 0.5), "land": np.where(p > 0.2, "AT", "DE"),
    }  # fmt: skip
    write("log.csv", columns)
    write("gap.csv", {**columns, "land": np.where(p > 0.9, "AT", "")})
    Path("empty.csv").write_text("")
    Path("header.csv").write_text("y,p\n")
    Path("folder").mkdir()
    grades = go.ThresholdClassifier().fit(p, columns["grade"]).to_json()
    Path("grades.json").write_text(grades)
    Path("other.json").write_text('{"thresholds": [1, 2]}')
    Path("map.json").write_text(go.calibration.LogitCalibrator().fit(p, y).to_json())
    Path("nan.csv").write_text("p\nnan\n")
    Path("odd.csv").write_text("y,p,q\n1,1,1\n2,1_0,2\n2,3,\u0663\n", encoding="utf-8")
    Path("binary.csv").write_bytes(b"\x1f\x8b\x00")
    Path("broken.py").write_text("def focal(:\n")


RATE_COMMANDS = (CHECK, CALIBRATE, THRESHOLDS, KAPPA)
LABEL_COMMANDS = ("calibration", "calibrate", "thresholds")
BAD_RATES = {
    "--negative-keep-rate 0": "--negative-keep-rate must be in (0, 1], found 0.0: it is the",
    "--negative-keep-rate 2": "--negative-keep-rate must be in (0, 1], found 2.0: it is the",
    "--negative-keep-rate nan": "--negative-keep-rate must be finite, found nan",
    "--negative-keep-rate x": "Invalid value for '--negative-keep-rate': 'x' is no number: see cli",
    "--negative-keep-rate 0.1 --keep-rate-column p":
        "--negative-keep-rate and --keep-rate-column are both given: leave one out",
    "--keep-rate-column text": "--keep-rate-column text must hold numbers, found '",
    "--keep-rate-column zero": "--keep-rate-column zero must be in (0, 1], found 0.0 at row 0",
    "--keep-rate-column two": "--keep-rate-column two must be in (0, 1], found 2.0 at row 0",
    "--keep-rate-column no": "--keep-rate-column no is no column of log.csv: it has y, p",
    "--weight neg": "--weight neg must not be negative, found -0.",
    "--weight zero": "--weight zero is 0 in all 200 rows: at least one row must count",
}  # fmt: skip
NONSENSE = [
    *((f"{command} {option}", said) for command in RATE_COMMANDS
      for option, said in BAD_RATES.items()),
    *((f"{command} {file} --label y --score p", said) for command in LABEL_COMMANDS
      for file, said in {
          "empty.csv": "empty.csv is empty: its first line must name the columns",
          "header.csv": "header.csv has no rows below its header",
          "folder": "folder cannot be read: Is a directory",
          "none.csv": "none.csv does not exist: give the path of a file, from ",
      }.items()),
    *((f"{command} log.csv --label y --score p -o folder --force",
       "--output folder is a folder: add the name of a file") for command in LABEL_COMMANDS),
    *((f"{command} log.csv --label text --score p",
       "--label text must hold numbers, found '") for command in LABEL_COMMANDS),
    *((f"{command} log.csv --label y --score text",
       "--score text must hold numbers, found '") for command in LABEL_COMMANDS),
    *((f"{command} log.csv --label y --score p --groups no",
       "--groups no is no column of log.csv") for command in LABEL_COMMANDS),
    *((f"{command} log.csv --label y --score p --random-state -1",
       "--random-state must not be negative, found -1") for command in LABEL_COMMANDS),
    *((f"{command} log.csv --label y --score p --groups one",
       "--cv = 5 folds need at least 5 groups, found 1: use fewer folds")
      for command in ("calibrate", "thresholds")),
    *((f"{command} --keep-rate-column by",
       "--keep-rate-column by is 1 in every row with label 1, but not in every other: rates must "
       "not follow the label. Give a positive the rate at which a negative in its place would be "
       "kept, or, for one rate, --negative-keep-rate") for command in (CHECK, CALIBRATE)),
    *((f"{command} log.csv --label zero --score p",
       "--label zero holds the single class 0") for command in ("calibrate", "thresholds")),
    *((f"{command} log.csv --label grade --score p",
       "--label grade must be 0 (negative) or 1 (positive), found ")
      for command in ("calibrate", "calibration")),
    (f"{CHECK} --segment no", "--segment no is no column of log.csv: it has y, p, grade"),
    (f"{CHECK} --segment p", "--score and --segment are both 'p': give two columns"),
    ("calibration gap.csv --label y --score p --segment land", "--segment land is empty at row "),
    (f"{CHECK} --alarm 0", "--alarm must be above 0 and below 1, found 0: 0.01 raises"),
    (f"{CHECK} --alarm 1", "--alarm must be above 0 and below 1, found 1: 0.01 raises"),
    *((f"{command} -o out.{ending}",
       f"--output out.{ending} would hold CSV: give a name that ends in .csv or .tsv or .parquet")
      for command in ("apply grades.json log.csv --score p", SAMPLE.removesuffix(" -o new.csv"),
                      "correct log.csv --score p --negative-keep-rate 0.1")
      for ending in ("xlsx", "json", "csv.gz", "PARQUET")),
    (f"{CHECK} -o report.txt", "--output report.txt must end in .json for the report, or in .csv"),
    ("calibration log.csv --label y --score neg", "--score neg must be in [0, 1], found -0."),
    ("calibrate log.csv --label y --score neg", "--score neg must be in [0, 1], found -0."),
    (f"{CALIBRATE} -o map.csv", "--output map.csv would hold JSON, not a table: give a name that"),
    (f"{THRESHOLDS} -o t.parquet", "--output t.parquet would hold JSON, not a table: give a name"),
    (f"{THRESHOLDS} -o t.pkl", "--output t.pkl would hold JSON, not a table: give a name that"),
    (f"{THRESHOLDS} -o -", "--output - is no file: name one, or leave it out for standard output"),
    ("thresholds log.csv --label grade --score p --metric f1 --labels 1,2,3",
     "--metric f_beta_metric(1) is for two classes, found 3: choose another metric, or say which "
     "two there are, --labels negative,positive"),
    ("thresholds binary.csv --label y --score p", "binary.csv is not text in UTF-8"),
    ("thresholds odd.csv --label y --score p", "--score p must hold numbers, found '1_0' at row"),
    ("thresholds odd.csv --label y --score q", "--score q must hold numbers, found '\u0663' at"),
    ("thresholds log.csv --label p --score y", "--label p must hold classes, found 0."),
    (f"{THRESHOLDS} --weight p", "--score and --weight are both 'p'"),
    (f"{THRESHOLDS} --method best", "--method must be one of 'plug"),
    (f"{THRESHOLDS} --metric auc", "--metric must be one of 'qwk'"),
    (f"{THRESHOLDS} --metric mcc", "--metric 'mcc' has another name"),
    (f"{THRESHOLDS} --metric mae --method plugin",
     "--method plugin is for --metric qwk only, found 'mae': pass --method exact"),
    (f"{THRESHOLDS} --labels 1,2", "--label y holds 0 at row"),
    (f"{THRESHOLDS} --labels a,b", "--label y holds '"),
    (f"{THRESHOLDS} --labels 0,1_0", "--label y holds '1' at"),
    (f"{THRESHOLDS} --labels 1,1", "--labels must be different"),
    (f"{THRESHOLDS} --labels ''", "--labels must list at least two"),
    (f"{THRESHOLDS} --cv 1", "--cv must be at least 2 folds"),
    (f"{THRESHOLDS} --cv 2 --interval", "--cv must be a whole number"),
    (f"{THRESHOLDS} --delimiter ::", "--delimiter must be one character, found '::'"),
    (f"{THRESHOLDS} -o no/a.json", "--output no/a.json is in a"),
    ("apply log.csv grades.json --score p", "log.csv holds no saved estimator: give the file"),
    ("apply other.json log.csv --score p", "other.json holds no saved estimator: give"),
    ("apply grades.json log.csv --score q", "--score q is no column of log.csv: it has y, p"),
    ("apply grades.json nan.csv --score p", "--score p must be finite, found nan at row 0"),
    ("apply grades.json log.csv --score p --column y", "--column y is in log.csv already"),
    ("kappa log.csv --label y", "give either --prediction, or --score"),
    ("kappa log.csv --label y --score p", "give either --prediction"),
    ("kappa log.csv --label y --prediction p", "--prediction p must hold classes, found 0."),
    ("kappa log.csv --label y --prediction p --metric mae", "--prediction p must hold classes"),
    ("kappa log.csv --label y --score p --thresholds map.json", "map.json holds no ThresholdClass"),
    (f"{CALIBRATE} --method x", "--method must be one of 'auto'"),
    (f"{CALIBRATE} --input-space margin --method auto",
     "--method auto compares calibrators of probabilities"),
    (f"{CALIBRATE} --cv 1", "--cv must be at least 2 folds"),
    ("correct nan.csv --score p --negative-keep-rate 0.1",
     "--score p must be in [0, 1], found nan at row 0: remove or repair such rows first"),
    ("correct log.csv --score p --negative-keep-rate 0.1 --target-prior 0.1",
     "give either --negative-keep-rate"),
    ("correct log.csv --score p --negative-keep-rate 0.1 --input-space logit",
     "--input-space must be one of 'probability', 'margin', found 'logit'"),
    ("check ./none.py:focal", "./none.py does not exist: give the path of a file"),
    ("check ./broken.py:focal", "./broken.py:focal cannot be loaded, SyntaxError: "),
    ("check ./os.py:focal", "./os.py does not exist: give the path of a file"),
    ("check os:focal", "os:focal cannot be loaded, AttributeError: module 'os' has no attr"),
    ("check nowhere:focal", "nowhere:focal cannot be loaded, ModuleNotFoundError: No module"),
    (f"{THRESHOLDS} --cv x", "Invalid value for '--cv': 'x' is no number: see cli thresholds"),
    ("thresholds log.csv --label y", "Missing option '--score': see cli thresholds --help"),
    ("thresholds log.csv --label grade --score p --negative-keep-rate 0.5",
     "--negative-keep-rate is for labels 0 and 1, but --label grade holds "),
    ("kappa log.csv --label text --labels a,b --score p --thresholds grades.json",
     "--labels are ['a', 'b'], but grades.json has the classes [1, 2]: leave --labels out"),
    ("kappa log.csv --label grade --score p --thresholds grades.json --keep-rate-column by",
     "--keep-rate-column is for labels 0 and 1, but --label grade holds "),
    ("kappa log.csv --label text --prediction grade --labels a,b",
     "--prediction grade holds '1' at row 0, which is not in --labels ['a', 'b']: list every class "
     "in --labels"),
    (SAMPLE.replace("0.5", "0"), "--negative-keep-rate must be in (0, 1], found 0.0"),
    (SAMPLE.replace("0.5", "1e-9"),
     "--label y has 154 rows of the label 0, of which the sample has none: raise --negative-"),
    (f"{SAMPLE.replace('0.5', '1e-9')} --key land",
     "--label y has negatives, of which the sample has none: raise --negative-keep-rate"),
    (SAMPLE.replace("label y", "label one"), "--label one has 0 rows of the label 0"),
    (SAMPLE.replace("label y", "label text"), "--label text must hold numbers, found '"),
    (SAMPLE.replace("label y", "label two"), "--label two must hold the labels [0, 1], found 2"),
    (SAMPLE.replace("new.csv", "log.csv"), "--output log.csv exists: give another name, or --f"),
    (SAMPLE.replace(" -o new.csv", ""), "Missing option '-o' / '--output': see cli sample --help"),
    (f"{SAMPLE} --key no", "--key no is no column of log.csv"),
    (f"{SAMPLE} --keep no", "--keep no is no column of log.csv"),
    (f"{SAMPLE} --random-state -1", "--random-state must "),
    (SHIFT, "give either --negative-keep-rate, --positive-keep-rate or both, or --train-prior"),
    (f"{SHIFT} --negative-keep-rate 0", "--negative-keep-rate must be above 0, found 0.0"),
    (f"{SHIFT} --negative-keep-rate 3",
     "--negative-keep-rate must be at most 1, found 3: it is the fraction that was kept, 1/3 for "
     "one in 3; if each negative was copied, give --train-prior and --target-prior"),
    (f"{SHIFT} --train-prior 0.1", "--target-prior is missing: a shift between priors needs both"),
    (f"{SHIFT} --negative-keep-rate 0.1", "model.txt does not exist: give the path of a file"),
    ("shift log.csv --negative-keep-rate 0.1 -o new.csv",
     "log.csv must end in .json or .ubj (XGBoost) or .txt (LightGBM): save the model by "),
    ("shift model.txt --negative-keep-rate 0.1 -o new.json",
     "--output must end in .txt for a model of lightgbm, found 'new.json'"),
    ("shift grades.json --negative-keep-rate 0.1 -o new.txt",
     "--output must end in .json or .ubj for a model of xgboost, found 'new.txt'"),
    ("correct log.csv --score neg --negative-keep-rate 0.1",
     "--score neg must be in [0, 1], found -0."),
    ("correct log.csv --score two --negative-keep-rate 0.1", "--score two must be in [0, 1], found "
     "2.0 at row 0: give --input-space margin for margins, percentages a division by 100"),
    ("--nonsense kappa", "No such option"),
    ("nonsense", "No such command 'nonsense': see cli --help"),
    (f"{CHECK} --nonsense", "No such option"),
    ("thresholds log.csv --y-true y", "No such option '--y-true': write --label"),
    ("thresholds log.csv --sample-weight w", "No such option '--sample-weight': write --weight"),
    ("thresholds log.csv --user g", "No such option '--user'; the nearest are --groups, --"),
    ("thresholds log.csv --separator ;", "No such option '--separator': write --delimiter"),
    ("calibrate log.csv --margin", "No such option '--margin'; the nearest are --input-space, "),
    ("calibration log.csv --by g", "No such option '--by'; the nearest are --segment, "),
    ("correct log.csv --new-prior 0.1", "No such option '--new-prior': write --target-prior"),
    ("sample log.csv --n 100", "No such option '--n'; the nearest are --negative-keep-rate, "),
]  # fmt: skip


PYTHONS = re.compile(
    r"\b[a-z]+_[a-z_]+=|\w\(\)|numpy|\bpass [a-z]+_|\.astype|np\.|[a-z]+_keep_rate"
)


@each(("command", "said"), NONSENSE, ids=str)
def test_nonsense(log, command, said) -> None:
    line = refused(command)
    assert line.startswith(said)
    assert not PYTHONS.search(line), line


def test_saved_files_that_are_damaged(log) -> None:
    """The remedy is Python's to_json()."""
    saved = Path("grades.json").read_text()
    for text, said in {
        saved[:-9]: "text is not complete JSON",
        saved.replace("Classifier/2", "Classifier/0"): "text is JSON of another format",
    }.items():
        Path("damaged.json").write_text(text)
        line = refused("apply damaged.json log.csv --score p")
        assert line.startswith(f"damaged.json: {said}")


def test_models_that_cannot_be_shifted(log) -> None:
    lgb, xgb = pytest.importorskip("lightgbm"), pytest.importorskip("xgboost")
    rng = np.random.default_rng(0)
    X, y = rng.random((90, 2)), np.arange(90) % 3
    quiet = {"verbose": -1, "num_leaves": 3}
    counts = lgb.train({"objective": "poisson", **quiet}, lgb.Dataset(X, y), 2)
    counts.save_model("counts.txt")
    softmax = {"objective": "multi:softprob", "num_class": 3, "max_depth": 1}
    xgb.train(softmax, xgb.DMatrix(X, y), 2).save_model("three.json")
    Path("cut.txt").write_text(Path("counts.txt").read_text()[:300])
    Path("word.txt").write_text("hello")
    Path("binary.ubj").write_bytes(b"\x00\x01")
    for model, said in {
        "counts.txt": "the booster's objective is 'poisson', whose margin is neither in label",
        "three.json": "the booster has 3 outputs: a shift is for models of one output, for label 1",
        "cut.txt": "cut.txt is no model of LightGBM: save it with save_model",
        "word.txt": "word.txt is no model of LightGBM: save it with save_model",
        "binary.ubj": "binary.ubj is no model of xgboost: save it with save_model",
        "grades.json": "grades.json is no model of xgboost: save it with save_model",
    }.items():
        output = f"new{Path(model).suffix}"
        line = refused(f"shift {model} --negative-keep-rate 0.1 -o {output}")
        assert line.startswith(said)


def test_segments_without_a_name_get_one(log) -> None:
    line = refused("report gap.csv --label y --score p --segment land -o a.html")
    assert line.endswith("of 200): name them, COALESCE(land, 'missing') or fillna('missing')")


@each("yes, no", [("true", "false"), ("TRUE", "FALSE"), ("True", "False")])
def test_booleans_as_databases_write_them(log, yes, no) -> None:
    lines = Path("log.csv").read_text().splitlines()
    words = [f"{yes if line[0] == '1' else no}{line[1:]}" for line in lines[1:]]
    Path("words.csv").write_text("\n".join([lines[0], *words]) + "\n")
    assert run(CHECK.replace("log", "words")).stdout == run(CHECK).stdout
    assert run(THRESHOLDS.replace("log", "words")).stdout == run(THRESHOLDS).stdout
    Path("mixed.csv").write_text(f"y,p\n{yes},0.1\n0,0.2\n{no},0.3\n")
    line = refused(CHECK.replace("log", "mixed"))
    assert line.startswith(f"--label y must hold numbers, found '{yes}' at row 0: write 1 for")


def test_parquet_that_is_none(log) -> None:
    pa, pq = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")
    Path("text.parquet").write_text("y,p\n1,2\n")
    Path("nothing.parquet").write_text("")
    Path("parts.parquet").mkdir()
    columns = {"y": [0, 1], "p": [0.1, 0.2], "gap": [None, "AT"], "nan": [float("nan"), 1.0],
               "when": np.array(["2026-01-01", "2026-01-02"], "datetime64[D]")}  # fmt: skip
    pq.write_table(pa.table(columns), "two.parquet")
    pq.write_table(pa.table(columns).slice(0, 0), "none.parquet")
    for arguments, said in {
        "text.parquet --label y --score p": "text.parquet is no Parquet file: ",
        "nothing.parquet --label y --score p": "nothing.parquet is no Parquet file: ",
        "parts.parquet --label y --score p": "parts.parquet is a folder: give one of the Parquet",
        "none.parquet --label y --score p": "none.parquet has no rows below its header",
        "missing.parquet --label y --score p": "missing.parquet does not exist: give the path",
        "two.parquet --label y --score p2": "--score p2 is no column of two.parquet: it has y, p, ",
        "two.parquet --label y --score when":
            "--score when must hold numbers, found 2026-01-01 at row 0",
        "two.parquet --label y --score p --segment gap": "--segment gap is empty at row 0 (1 such",
        "two.parquet --label y --score p --segment nan":
            "--segment nan must be finite, found nan at row 0",
    }.items():  # fmt: skip
        assert refused(f"calibration {arguments}").startswith(said)
    for key, said in {"nan": "dtype float64", "when": "dtype datetime64[D]"}.items():
        command = f"sample two.parquet --label y --negative-keep-rate 0.5 --key {key} -o new.csv"
        assert refused(command) == (
            f"--key {key} must hold integers or strings, found {said}: write it as text, or as "
            "whole numbers"
        )


def test_without_a_command_the_help_is_shown() -> None:
    result = run("")
    assert "Commands:" in result.output
    assert "calibration" in result.output


@each("name", ["calibrate", "calibration", "kappa", "report", "thresholds"])
def test_a_weight_is_no_count(name) -> None:
    text = " ".join(run(f"{name} --help").stdout.split())
    assert "--weight COLUMN How important each row is" in text
    assert ("rows of a GROUP BY need --counts" in text) == (" --counts COLUMN " in text)
    assert (" --counts " in text) == (name not in ("calibrate", "kappa"))


def test_help_names_no_booster(log, monkeypatch) -> None:
    for library in ("lightgbm", "xgboost"):
        monkeypatch.setitem(sys.modules, library, None)
    assert run(CHECK).exit_code == 0
    assert run(SAMPLE).exit_code == 0


TWICE = [
    f"{THRESHOLDS} --score grade", f"{CHECK} --score p", f"{KAPPA} --label grade",
    f"{SAMPLE} --negative-keep-rate 0.1", f"{CALIBRATE} -o a.json --output b.json",
]  # fmt: skip


@each("command", TWICE)
def test_an_option_for_one_value_that_is_given_twice(log, command: str) -> None:
    line = refused(command)
    assert re.match("--(score|label|negative-keep-rate|output) is given twice, give it once", line)
    assert "--help" in line


def test_options_that_may_be_repeated(log) -> None:
    for command in (f"{THRESHOLDS} --method exact --method plugin", f"{THRESHOLDS} --cv 3",
                    f"{CALIBRATE} --method logit -o c.json --force --force"):  # fmt: skip
        assert run(command).exit_code == 0


def test_warnings_are_said_in_options(log) -> None:
    y = np.arange(90) % 3 // 2
    write("rare.csv", {"y": 1 - y, "p": y})
    for command, said in {
        "sample rare.csv --label y --negative-keep-rate 0.5 -o new.csv":
            "swap labels 0 and 1, unless --negative-keep-rate is meant",
        "calibration rare.csv --label y --score p": "give a column of probabilities, unless",
    }.items():  # fmt: skip
        result = run(command)
        assert result.exit_code == 0
        assert said in result.stderr
        assert not PYTHONS.search(result.stderr)


def test_decimal_commas_and_other_separators(log) -> None:
    Path("comma.csv").write_text("y;p\n0;2,1257\n1;1.234,5\n")
    line = refused("thresholds comma.csv --delimiter ; --label y --score p")
    assert "'2,1257' at row 0: decimal commas are not read, write a decimal point" in line
    Path("comma.tsv").write_text("y,p\n0,1\n")
    line = refused("thresholds comma.tsv --label y --score p")
    assert line.endswith("it has y,p, separated by '\\t': give --delimiter $','")
    for name, shown in ((";", "$';'"), ("\t", r"$'\t'")):
        Path("other.csv").write_text(f"y{name}p\n0{name}1\n")
        line = refused("thresholds other.csv --label y --score p")
        assert line.endswith(f"separated by ',': give --delimiter {shown}")
