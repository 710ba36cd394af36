"""Every table of a study's README is that of its results, and so are figures of its prose; the
results are of the committed configuration."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import pytest

from experiments import _common
from tests.pages.cited import results, settings

FOLDER = Path(__file__).parents[2] / "experiments"
ELSEWHERE = {
    "few_events": {(".0", ".5"), (".8", ".6")},  # the first run, which the second replaced
    "linear_member": {("2.3", "1.3")},  # the first run
    "threshold_study": {(".0501", ".0022"), (".0172", ".0015")},  # of the first version of the rule
}  # fmt: skip
"""What no table has, and why."""


Rows = list[list[str]]
"""A table without its line of dashes, cell by cell; the first row is the header."""


def tables(markdown: str) -> Iterator[Rows]:
    """Those outside of code."""
    rows: Rows = []
    for line in [*re.sub(r"```.*?```", "", markdown, flags=re.DOTALL).splitlines(), ""]:
        text = line.strip()
        if text.startswith("|"):
            if not set(text) <= set("|-: "):
                rows.append([cell.strip() for cell in text[1:-1].split("|")])
        elif rows:
            yield rows
            rows = []


def committed(study: Path) -> list[Rows]:
    """The tables that the study wrote."""
    found = sorted(study.rglob("results/**/*.md"))
    return [table for path in found for table in tables(path.read_text(encoding="utf-8"))]


def shows(table: Rows, written: Rows) -> bool:
    """Whether it has the same header, and rows of the other in their order."""
    rest = iter(written)
    return table[0] == written[0] and all(row in rest for row in table)


def bare(value: float, digits: int = 3) -> str:
    """Rounded; "" for none."""
    return "" if np.isnan(value) else f"{value:.{digits}f}"


def pair(mean: float, error: float, digits: int) -> str:
    return f"{mean:+.{digits}f} ± {error:.{digits}f}"


def bags() -> Rows:
    """Ten bags less one, a column a data set."""
    found = results("bag_averages").query("bags == 10")
    names = {"probability": "probabilities", "log_odds": "log-odds"}
    rows = [["model", "average of", *found.data.unique()]]
    for (model, average), own in found.groupby(["model", "average"], sort=False):
        cells = [pair(row.difference, row.error, 2) for row in own.itertuples()]
        rows.append([model, names[average], *cells])
    return rows


def coverage() -> Rows:
    """The range of the segments, the calibration error, and the test of right probabilities."""
    of = settings("calibration_coverage")
    rows = [["population", "negatives kept", "model", "ratio", "error", "rejected"]]
    found = results("calibration_coverage").groupby(["population", "rate", "model"], sort=False)
    for (population, rate, model), own in found:
        what = own.set_index("what")
        if population in of["populations"]:
            size = of["populations"][population]["rows"]
            events = 100 * what.events["error"] / size
            name = f"{population} ({events:.0f} %), {size:,} rows"
        else:
            name = f"{of['users']['number']:,} {population}"
        fitted = "error, labels drawn from the model" in what.index
        right = "error, labels drawn from the model" if fitted else "error"
        ratio = what.coverage["ratio"]
        rows.append([
            name, "all" if rate == 1 else f"{rate:g}", model,
            f"{bare(ratio.min())} to {bare(ratio.max())}",
            bare(what.coverage["error"]) if fitted else "", bare(what.rejected[right]),
        ])  # fmt: skip
    return rows


def focal_losses() -> Rows:
    rows = [["data", "model", "method", "sigma", "class_probability", "calibrated"]]
    for row in results("focal").query("data == 'mammography'").itertuples():
        cells = [row.data, row.model, row.method, f"{row.sigma:.1f}"]
        for name in ("class_probability", "calibrated"):
            less = pair(getattr(row, f"{name}_difference"), getattr(row, f"{name}_error"), 1)
            own = f"{getattr(row, name):.1f}"
            cells.append(own if row.method == "logloss" else f"{own} ({less})")
        rows.append(cells)
    return rows


def focal_ranking() -> Rows:
    found = results("focal").query("method != 'logloss'")
    columns = found[["data", "model"]].drop_duplicates().itertuples(index=False)
    rows = [["method", *(f"{data}, {model}" for data, model in columns)]]
    for method, own in found.groupby("method", sort=False):
        at = zip(own.average_precision_difference, own.average_precision_error, strict=True)
        rows.append([method, *(pair(*cell, 1) for cell in at)])
    return rows


def blends() -> Rows:
    """The blend over QWKClassifier on one member."""
    gains = results("ordinal_benchmark", "gains").query("metric == 'qwk' and arm == 'blend'")
    rows = [["blend against", "better on", "worse on", "mean gain"]]
    for member in ("LightGBM", "XGBoost", "CatBoost", "ridge regression"):
        boosted = (gains.other == "QWKClassifier") & (gains.other_booster == member)
        ridge = gains.other == "QWKClassifier, ridge"
        own = gains[ridge if member == "ridge regression" else boosted]
        better, worse = ((own.verdict == verdict).sum() for verdict in ("better", "worse"))
        rows.append([member, f"{better}", f"{worse}", f"{own.gain.mean():+.4f}"])
    return rows


def performance() -> Rows:
    """Errors are of table.md, which the study wrote from more digits than summary.csv has."""
    (table,) = committed(FOLDER / "performance_coverage")
    rows = [["model", "rows", "metric", "naive error covers", "covers",
             "covers the expected performance", "error / true root mean square"]]  # fmt: skip
    for cells in table[1:]:
        row = dict(zip(table[0], cells, strict=True))
        covers = (row["naive coverage"], row["coverage"], row["of expected"])
        rows.append([
            f"{row['model']}, {row['features']} features", row["rows"], row["metric"],
            *covers, f"{row['error']} / {row['rmse']}",
        ])  # fmt: skip
    return rows


def priors() -> Rows:
    """Without true probabilities, and at face value only where the prior is unchanged."""
    (table,) = committed(FOLDER / "prior_uncertainty")
    true = results("prior_uncertainty").query("model == 'true probabilities'").estimate.iloc[0]
    rows = [table[0][:-1]]
    for model, prior, way, *cells, _ in table[1:]:
        if model != "true probabilities" and (way == "held-out rows" or prior == "unchanged"):
            name = f"unchanged ({bare(true)})" if prior == "unchanged" else bare(float(prior), 2)
            shown = ["1" if cell == "1.000" else cell for cell in cells]
            rows.append([model, re.sub(r"0$", "", name), way, *shown])
    return rows


COMPUTED: dict[str, list[Callable[[], Rows]]] = {
    "bag_averages": [bags],
    "calibration_coverage": [coverage],
    "focal": [focal_losses, focal_ranking],
    "ordinal_benchmark": [blends],
    "performance_coverage": [performance],
    "prior_uncertainty": [priors],
}
"""Tables that a README has in another form than the study wrote."""
WITHOUT_RESULTS: dict[str, dict[str, str]] = {}
"""First header of a table that no committed result has, and why, by study: none so far."""

READMES = sorted(FOLDER.glob("*/README.md"))
EACH = pytest.mark.parametrize("readme", READMES, ids=lambda path: path.parent.name)


@EACH
def test_tables_are_those_of_the_results(readme: Path) -> None:
    study = readme.parent
    written = committed(study)
    computed = [table() for table in COMPUTED.get(study.name, [])]
    exempt = dict(WITHOUT_RESULTS.get(study.name, {}))
    shown = list(tables(readme.read_text(encoding="utf-8")))
    assert shown, "a study shows its results"
    for table in shown:
        if table in computed:
            computed.remove(table)
        elif not (any(shows(table, of) for of in written) or exempt.pop(table[0][0], None)):
            alike = [row for of in [*computed, *written] if of[0] == table[0] for row in of]
            wrong = [row for row in table if row not in alike]
            names = {row[0] for row in wrong}
            instead = [row for row in alike if row not in table and row[0] in names][:4]
            what = f"{wrong}, the results have {instead}" if wrong else "rows in another order"
            pytest.fail(f"{study.name}/README.md shows {what}")
    assert not computed, "a table that the README no longer shows"
    assert not exempt, "a table that the README no longer shows needs no exemption"


def figures(text: str) -> set[tuple[str, str]]:
    """Pairs of a number and its error, without sign and leading zero."""
    found = re.findall(r"(\d*\.\d+) ± (\d*\.\d+)", text.replace("\\", ""))
    return {(value.lstrip("0"), error.lstrip("0")) for value, error in found}


@EACH
def test_figures_with_errors_are_in_a_table(readme: Path) -> None:
    text = re.sub(r"```.*?```", "", readme.read_text(encoding="utf-8"), flags=re.DOTALL)
    lines = text.splitlines()
    prose = " ".join(line for line in lines if not line.startswith("|"))
    tables = [line for line in lines if line.startswith("|")]
    tables += [path.read_text(encoding="utf-8") for path in readme.parent.rglob("results/**/*.md")]
    missing = figures(prose) - figures(" ".join(tables))
    assert missing == ELSEWHERE.get(readme.parent.name, set())


IN_PART = {
    "bag_averages", "calibration_coverage", "constraint_coverage", "curvature", "focal",
    "negative_downsampling/files",
    "negative_downsampling/published", "ordinal_data/skill-no-clip",
    "ordinal_data/winequality-white-no-clip", "ordinal_probabilities", "performance_coverage",
    "prior_uncertainty", "threshold_study", "threshold_study/rare",
}  # fmt: skip
"""Tables of results that a README shows in part or in another form."""


def name_of(file: Path) -> str:
    """The study and the part of it whose results these are."""
    study, _, *part = file.parent.relative_to(FOLDER).parts
    return "/".join([study, *part])


@pytest.mark.parametrize("table", sorted(FOLDER.glob("*/results/**/table.md")), ids=name_of)
def test_tables_and_verdicts_of_the_results_are_in_the_readme(table: Path) -> None:
    lines = table.read_text(encoding="utf-8").splitlines()
    shown = ("- ",) if name_of(table) in IN_PART else ("- ", "|")
    wanted = {line for line in lines if line.startswith(shown)}
    if name_of(table) == "threshold_study/rare":  # its verdict is a paragraph
        wanted.clear()
    readme = FOLDER / name_of(table).partition("/")[0] / "README.md"
    assert sorted(wanted - set(readme.read_text(encoding="utf-8").splitlines())) == []


@pytest.mark.parametrize(
    "record", sorted(FOLDER.glob("*/results/**/environment.json")), ids=name_of
)
def test_results_are_of_the_committed_configuration(record: Path) -> None:
    found = _common.read_json(record)["settings"]
    if name_of(record) == "ordinal_data/ordinal-logit":
        assert found == settings("ordinal_data", "ordinal_logit")
    elif name_of(record).partition("/")[0] not in ("ordinal_data", "qwk_synthetic"):
        study, _, part = name_of(record).partition("/")
        own, usual = (FOLDER / study / f"{name}.json" for name in (part or "config", "config"))
        wanted = _common.configuration_record(own if own.exists() else usual)
        assert {name: found[name] for name in wanted} == wanted
        assert found.get("scale") == "full" or found["quick"] is False
