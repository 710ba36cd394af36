"""Commands on probabilities: sample negatives, correct for that, calibrate, and check them."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import click
import numpy as np

import gbdt_objectives as go
from gbdt_objectives import _checks
from gbdt_objectives._checks import Array
from gbdt_objectives._command_line import files, options
from gbdt_objectives._command_line.files import FileTable, InputError
from gbdt_objectives._command_line.options import ScoredTable, option

CALIBRATORS = {
    "intercept": "InterceptCalibrator", "logit": "LogitCalibrator", "beta": "BetaCalibrator",
    "spline": "SplineCalibrator", "venn-abers": "VennAbersCalibrator",
    "hull": "ROCConvexHullCalibrator",
}  # fmt: skip
MOST_SEGMENTS = 20  # in a table, those with the most evidence
OF_ROWS = {"weight": "weight", "mean_prediction": "probability", "mean_outcome": "frequency"}
OF_SEGMENTS = {
    "column": "column", "segment": "segment", **OF_ROWS, "ratio": "ratio", "low": "low",
    "high": "high", "rest_ratio": "rest_ratio", "p_value": "rest_p_value",
}  # fmt: skip
"""Keys of the report, and the names of their values in ``SegmentRatios``."""


@options.command(
    options.FILE, options.LABEL_01,
    option("--negative-keep-rate", "RATE", "0.1: keep one in ten of label 0.", type=float,
        required=True),
    option("--key", "COLUMN", "Keep or drop rows of one key together, the same ones every time."),
    option("--random-state", "SEED", "Another number keeps other rows.", default=0), options.KEEP,
    options.FORMAT, options.output("Where to write the rows that are kept.", required=True),
)  # fmt: skip
def sample(o: SimpleNamespace) -> None:
    """Every row of label 1 and some of label 0, to train on.

    The rows stay in their order. Correct what a model trained on them predicts by the measured
    rate, with the command shift or correct. With --key a row's fate depends on its key alone: the
    same users are kept next month, and on other machines.

    \b
    Example:
      python -m gbdt_objectives sample test.csv --label y --negative-keep-rate 0.1 -o kept.csv
    """
    files.check_ending(o.output, "CSV", *files.TABLES)
    table = options.read_options(o, others=not o.keep)
    y = options.labels_01(table, o)
    if o.key is None:
        rows = go.negative_downsample(y, o.negative_keep_rate, random_state=o.random_state)
    else:
        rows = go.priors.negative_downsample_by_key(
            y, table.columns[o.key], o.negative_keep_rate, random_state=o.random_state
        )
    kept, rate = y[rows], float(go.priors.measured_keep_rates(y, y[rows])[0])
    files.write_file(o.output, table, o.keep or table.names, rows=rows)
    events = int(np.count_nonzero(y))
    report = {"rows": len(y), "events": events, "kept_rows": len(kept), "negative_keep_rate": rate}
    text = files.columns_as_text({
        "label": [0, 1], "rows": [str(len(y) - events), str(events)],
        "kept": [str(len(kept) - events), str(events)], "rate": [f"{rate:.6g}", "1"],
    })  # fmt: skip
    files.say(report, text, o.style)
    files.told(o.output, f"{len(kept)} rows")


@options.command(
    click.argument("model"), options.SHIFT, options.FORMAT,
    options.output("Where to write the corrected model.", required=True),
)  # fmt: skip
def shift(o: SimpleNamespace) -> None:
    """Correct a saved model for what it was trained on, for good.

    MODEL is what XGBoost saved as .json or .ubj, or LightGBM as .txt, with margins that are
    log-odds. Give the rates at which rows were kept, or the share of label 1 in the training data
    and where the model is used. The new file predicts true probabilities wherever it is loaded.

    \b
    Example:
      python -m gbdt_objectives shift model.txt --negative-keep-rate 0.1 -o served.txt
    """
    delta = options.shift_of_options(o)
    files.check_model_paths(o.model, o.output)
    known: dict[str, Any] = {"shift": delta}
    if o.positive_keep_rate is o.train_prior is None:
        known = {"negative_keep_rate": o.negative_keep_rate}  # which a model is told once
    files.write_model(go.shift_intercept(files.read_model(o.model), **known), o.output)
    value = float(delta)
    report = {"model": o.model, "output": o.output, "shift": value, "odds_factor": np.exp(value)}
    files.say(report, f"log-odds {value:+.6g}, odds times {np.exp(value):.6g}", o.style)
    files.told(o.output, "the corrected model")


@options.command(
    options.FILE, options.SCORE, options.SHIFT, options.INPUT_SPACE, options.NEW_COLUMN,
    options.OUTPUT,
)  # fmt: skip
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
    _checks.choice("input_space", o.input_space, ("probability", "margin"))
    shift = options.shift_of_options(o)
    table = options.read_with_others(o)
    s = files.numbers(table, "--score", o.score)
    correction = go.priors.correct_margin if o.input_space == "margin" else go.correct_probability
    corrected = correction(s, shift)
    options.write_with(o, table, corrected)
    click.echo(f"mean {o.input_space} {s.mean():.4g}, corrected {corrected.mean():.4g}", err=True)


@options.command(
    options.FILE, options.LABEL_01, options.SCORE, options.WEIGHT,
    option("--method", f"[auto|{'|'.join(CALIBRATORS)}]",
        "auto: the best in cross-validated log loss.  [the spline, shrunk]"),
    option("--segment", "COLUMN", "Shift the map by segment; new ones get none.", "segments"),
    options.RATES, options.INPUT_SPACE, options.CV, options.GROUPS, options.FORMAT, options.OUTPUT,
)  # fmt: skip
def calibrate(o: SimpleNamespace) -> None:
    """A map from scores to the probability of label 1.

    Fitted to rows that the model was not trained on. The report is of probabilities as they are
    in the file, and calibrated by maps fitted without the row's fold. Without --method the map is a
    spline that few events leave nearly as it is. With --segment it is shifted in each segment, such
    as a country, as far as there is evidence. If only some rows of label 0 were kept, say at what
    rate: map and report are then for all rows. Write the map with -o for the command apply.

    \b
    Example:
      python -m gbdt_objectives calibrate oof.csv --label y --score p -o calibrator.json
    """
    files.check_ending(o.output, "JSON, not a table", ".json")
    if o.method is not None:
        _checks.choice("method", o.method, ("auto", *CALIBRATORS))
    _checks.choice("input_space", o.input_space, ("probability", "margin"))
    if o.segments is not None and o.input_space == "margin":
        raise InputError("--segment is for probabilities: leave --input-space margin out")
    if o.method == "auto" and o.input_space == "margin":
        raise InputError(
            "--method auto compares calibrators of probabilities: with --input-space margin name "
            "one, for instance --method spline"
        )
    _checks.generator(o.random_state)
    table = options.read_options(o)
    rows = options.read_scored_table(table, o)
    files.doing(f"fitting the map to {table.rows} rows")
    segments = None if o.segments is None else files.as_words(table.columns[o.segments], "bM")
    calibrator, log_loss = fit_map(o, rows, segments)
    judged = {"as it is": rows.score} if o.input_space == "probability" else {}
    files.doing(f"judging it by {o.cv} folds")
    judged["calibrated"] = held_out_probabilities(o, rows, calibrator, segments)
    quality = {name: quality_of(rows, p, o.random_state) for name, p in judged.items()}
    method = type(calibrator).__name__
    report = {"rows": table.rows, "method": method, "log_loss": log_loss, "quality": quality}
    text = [f"{method} of {table.rows} rows, judged by {o.cv} folds"]
    if log_loss:
        losses = {"calibrator": list(log_loss), "log loss": list(log_loss.values())}
        text += [files.columns_as_text(losses), ""]
    measures = {name: list(of.values()) for name, of in quality.items()}
    text.append(files.columns_as_text({"": list(quality["calibrated"]), **measures}))
    files.say(report, "\n".join(text), o.style)
    files.save(calibrator, o.output)


def fit_map(o: SimpleNamespace, rows: ScoredTable, segments: Any) -> tuple[Any, dict[str, float]]:
    """The calibrator, fitted to all rows, and the log loss of each that was compared."""
    from gbdt_objectives.calibration.calibrator_choice import fit_default

    y, s, w, g, rates, _ = rows
    calibrator, losses = None, dict[str, float]()
    if o.method == "auto":
        choice = go.calibration.choose_calibrator(
            y, s, w, cv=o.cv, random_state=o.random_state, groups=g, verbose=files.is_watched(),
            **rates,
        )  # fmt: skip
        calibrator, losses = choice.calibrator, choice.log_loss
    elif o.method is not None:
        calibrator = getattr(go.calibration, CALIBRATORS[o.method])()
        if "input_space" in calibrator.get_params():
            calibrator.set_params(input_space=o.input_space)
    if segments is not None:
        by_segment = go.calibration.SegmentCalibrator(calibrator, handle_unknown="common")
        return by_segment.fit(s, y, w, segments=segments, groups=g, **rates), losses
    if calibrator is None:
        return fit_default(s, y, w, input_space=o.input_space, **rates), losses
    return calibrator.fit(s, y, w, **rates), losses


def held_out_probabilities(
    o: SimpleNamespace, rows: ScoredTable, calibrator: Any, segments: Any
) -> Array:
    """What maps like the calibrator predict, each for the fold that it was not fitted to."""
    from sklearn.base import clone

    from gbdt_objectives._checks.tables import held_out_once

    y, s, _, g, *_ = rows
    owner = None if g is None else _checks.group_numbers(g, len(y))
    by_segment = {} if segments is None else {"segments": segments, "groups": g}
    held_out = np.empty(len(y))
    for train, test in held_out_once(y, o.cv, owner, random_state=o.random_state):
        known = {
            name: given[train] if np.ndim(given) else given
            for name, given in (rows.sampled | by_segment).items()
        }
        own = {} if segments is None else {"segments": segments[test]}
        held_out[test] = clone(calibrator).fit(s[train], y[train], **known).predict(s[test], **own)
    return held_out


def quality_of(rows: ScoredTable, p: Array, seed: int) -> dict[str, float]:
    """How well probabilities are calibrated, and how much they tell, in all rows."""
    test = go.calibration.calibration_error_test(
        rows.y, p, groups=rows.groups, random_state=seed, **rows.sampled
    )
    return {
        "calibration_ratio": go.calibration.calibration_ratio(rows.y, p, **rows.sampled),
        "calibration_error": test.error, "error_by_chance": test.null_error,
        "p_value": test.p_value, "normalized_entropy": rows.entropy(p),
    }  # fmt: skip


@options.command(
    options.FILE, options.LABEL_01, options.PROBABILITY,
    option("--segment", "COLUMN", "Repeat it for several columns.", "segments", multiple=True),
    options.OWNERS, options.WEIGHT_OR_COUNTS, options.RATES,
    option("--alarm", "LEVEL", "Exit code 1 if an adjusted p-value is below.", type=float),
    options.RANDOM_STATE, options.FORMAT,
    options.output("Where to write the report: .json, or its table as .csv or .parquet."),
)  # fmt: skip
def calibration(o: SimpleNamespace) -> None:
    """Whether probabilities still hold, overall and by segment.

    The ratio is mean prediction over mean outcome, with limits of 95 %; rest is the ratio of all
    rows outside the segment. Three hypotheses are tested: that the ratio of all rows is 1, that
    the calibration error is chance, and that a segment has the ratio of the rest. Adjusted
    p-values (Holm) allow for all tests of the report, so that --alarm 0.01 raises a false alarm in
    one report of a hundred at most. Segments with the most evidence come first.

    \b
    Example:
      python -m gbdt_objectives calibration test.csv --label y --score p --alarm 0.01
    """
    if o.output is not None and not o.output.endswith((".json", ".csv", ".tsv", ".parquet")):
        raise InputError(
            f"--output {o.output} must end in .json for the report, or in .csv, .tsv or .parquet "
            "for its table"
        )
    if o.alarm is not None and not 0 < o.alarm < 1:
        raise InputError(
            f"--alarm must be above 0 and below 1, found {o.alarm:g}: 0.01 raises a false alarm in "
            "one report of a hundred"
        )
    _checks.generator(o.random_state)
    table = options.read_options(o)
    rows, columns = (
        options.read_scored_table(table, o),
        {name: table.columns[name] for name in o.segments},
    )
    rows = rows._replace(counts=options.read_counts(table, o))
    files.doing(f"testing {table.rows} rows")
    checked = check_of(rows, columns, o.alarm, o.random_state)
    report = {"rows": rows.number(), "events": rows.number(rows.y == 1), **checked}
    alarms = alarms_of(report, o.alarm)
    report["alarm"] = o.alarm and {"level": o.alarm, "raised": bool(alarms), "reasons": alarms}
    files.say(report, calibration_as_text(report), o.style)
    write_report(o, report)
    if alarms:
        more = len(alarms) - 1
        others = f", and {more} more test{'s' if more > 1 else ''}" if more else ""
        click.echo(f"Alarm: {alarms[0]}, below --alarm {o.alarm:g}{others}", err=True)
        click.get_current_context().exit(1)


def check_of(
    rows: ScoredTable, columns: Mapping[str, Array], alarm: float | None, seed: int
) -> dict[str, Any]:
    """Ratio, calibration error and segments, with p-values adjusted for all tests together."""
    from gbdt_objectives.calibration.segments import holm

    y, p = rows.y, rows.score
    known = {"groups": rows.groups, "counts": rows.counts, **rows.sampled}
    ratio_of = go.calibration.calibration_ratio_by_segment
    every = ratio_of(y, p, "prediction", n_bins=1, **known)
    found = ratio_of(y, p, columns, **known).by_evidence() if columns else None
    rest_p = np.empty(0) if found is None else found.rest_p_value
    tests = 2 + int(np.count_nonzero(~np.isnan(rest_p)))
    # as many samples as let an error that none of them reaches be seen at this level
    n = 2000 if alarm is None else math.ceil(min(max(2 * tests / alarm, 2000), 20_000))
    error = go.calibration.calibration_error_test(y, p, n_resamples=n, random_state=seed, **known)
    adjusted = holm(np.r_[every.p_value, error.p_value, rest_p])
    return {
        **{key: getattr(every, name)[0] for key, name in OF_ROWS.items()},
        "ratio": {
            "value": every.ratio[0], "low": every.low[0], "high": every.high[0],
            "p_value": every.p_value[0], "p_value_adjusted": adjusted[0],
        },
        "calibration_error": {
            "value": error.error, "low": error.interval[0], "high": error.interval[1],
            "by_chance": error.null_error, "p_value": error.p_value,
            "p_value_adjusted": adjusted[1],
        },
        "normalized_entropy": rows.entropy(p) if len(np.unique(y)) > 1 else math.nan,
        "tests": tests,
        "segments": [
            {key: getattr(found, name)[k] for key, name in OF_SEGMENTS.items()}
            | {"p_value_adjusted": adjusted[2 + k]} for k in range(len(rest_p))
        ],
    }  # fmt: skip


def alarms_of(report: Mapping[str, Any], level: float | None) -> list[str]:
    """A line about each test whose adjusted p-value is below the level."""
    if level is None:
        return []
    ratio, error = report["ratio"], report["calibration_error"]
    chance = f"{error['by_chance']:.4g} by chance"
    tested = {
        f"the ratio of all rows is {ratio['value']:.4g}": ratio,
        f"the calibration error is {error['value']:.4g}, {chance}": error,
    }
    for one in report["segments"]:
        place = f"--segment {one['column']} has the ratio {one['ratio']:.4g} in"
        tested[f"{place} {files.word(one['segment'])}, {one['rest_ratio']:.4g} in the rest"] = one
    adjusted = {what: of["p_value_adjusted"] for what, of in tested.items()}
    raised = sorted((what for what in adjusted if adjusted[what] < level), key=adjusted.__getitem__)
    return [f"{what}: adjusted p-value {adjusted[what]:.3g}" for what in raised]


def calibration_as_text(report: Mapping[str, Any]) -> str:
    def texts(rows: Iterable[Mapping[str, Any]], key: str, digits: int = 4) -> list[str]:
        return ["" if (x := row.get(key)) is None else f"{x:.{digits}g}" for row in rows]

    error, segments = report["calibration_error"], report["segments"]
    lines: dict[str, dict[str, float]] = {
        "mean prediction": {"value": report["mean_prediction"]},
        "mean outcome": {"value": report["mean_outcome"]},
        "ratio": report["ratio"], "calibration error": error,
        "error by chance": {"value": error["by_chance"]},
        "normalized entropy": {"value": report["normalized_entropy"]},
    }  # fmt: skip
    measures = {"all rows": list(lines)} | {
        head: texts(lines.values(), key) for head, key in {
            "": "value", "low": "low", "high": "high", "p-value": "p_value",
            "adjusted": "p_value_adjusted",
        }.items()
    }  # fmt: skip
    head = f"{report['rows']} rows, {report['events']} with label 1"
    told = [head, files.columns_as_text(measures)]
    if segments:
        shown = segments[:MOST_SEGMENTS]
        names, values = ([files.word(one[key]) for one in shown] for key in ("column", "segment"))
        several = len({one["column"] for one in segments}) > 1
        table = {"column": names, "segment": values} if several else {names[0]: values}
        table["weight"] = texts(shown, "weight", digits=6)
        for key in ("ratio", "low", "high"):
            table[key] = texts(shown, key)
        table["rest"] = texts(shown, "rest_ratio")
        table["adjusted"] = texts(shown, "p_value_adjusted")
        told += ["", files.columns_as_text(table)]
        if len(segments) > len(shown):
            told.append(f"... {len(segments) - len(shown)} more with less evidence ...")
    return "\n".join(told)


def write_report(o: SimpleNamespace, report: Mapping[str, Any]) -> None:
    """The report as JSON, or a row for all rows and one for each segment."""
    if o.output is None:
        return
    if o.output.endswith(".json"):
        Path(o.output).write_text(files.as_json(report) + "\n", encoding="utf-8")
        files.told(o.output, "the report")
        return
    every = {"column": "", "segment": "", **report, **report["ratio"], "rest_ratio": math.nan}
    rows = [every | {"ratio": report["ratio"]["value"]}, *report["segments"]]
    words, numbers = ("column", "segment"), [*list(OF_SEGMENTS)[2:], "p_value_adjusted"]
    texts = {name: np.array([files.word(row[name]) for row in rows], object) for name in words}
    values = {name: np.array([row[name] for row in rows], float) for name in numbers}
    files.write_file(o.output, FileTable(texts), words, values)
    files.told(o.output, f"{len(rows)} rows")


@options.command(
    options.FILE, options.PROBABILITY,
    option("--action", "NAME=COST,COST", "Its costs if label 0 and if label 1 is true, numbers or "
        "columns. Give each action.", "actions", multiple=True, required=True),
    option("--capacity", "NAME=N", "How many rows of a group may get this action."),
    option("--groups", "COLUMN", "The day, say, that the capacity is for.  [all rows are one]"),
    options.NEW_COLUMN, options.OUTPUT,
)  # fmt: skip
def decide(o: SimpleNamespace) -> None:
    """The action of each row that costs least, by its probability.

    Costs are numbers, or columns where they differ between rows. With --capacity the rows that
    save most get the action. The file with the new column goes to -o, or to standard output.

    \b
    Example:
      python -m gbdt_objectives decide test.csv --score p --action pass=0,amount \\
        --action review=2,2 --capacity review=20 --groups day -o decided.csv
    """
    split = [given.partition("=") for given in o.actions]
    pairs = {name: [read_cost(cost) for cost in pair.split(",")] for name, _, pair in split}
    if len(pairs) < len(split) or "" in pairs or any(len(pair) != 2 for pair in pairs.values()):
        raise InputError(
            f"--action must be NAME=COST,COST, each name once, found {', '.join(o.actions)}: for "
            "instance review=2,2, the costs if label 0 and if label 1 is true"
        )
    action, _, most = (o.capacity or "").partition("=")
    if o.capacity is not None and not (most.isascii() and most.isdigit()):
        raise InputError(f"--capacity must be NAME=N, found {o.capacity}: for instance review=20")
    o.costs = dict.fromkeys(c for pair in pairs.values() for c in pair if isinstance(c, str))
    table = options.read_with_others(o)
    p, C = files.numbers(table, "--score", o.score), np.empty((table.rows, 2, len(pairs)))
    _checks.in_unit_interval("probability", p)
    for (k, a), cost in np.ndenumerate(np.array([*pairs.values()], object).T):
        C[:, k, a] = files.numbers(table, "--action", cost) if isinstance(cost, str) else cost
    found = go.decide(
        np.column_stack([1 - p, p]), costs=C, actions=list(pairs),
        capacity=None if o.capacity is None else {action: int(most)},
        groups=None if o.groups is None else table.columns[o.groups],
    )  # fmt: skip
    options.write_with(o, table, found)
    click.echo(", ".join(f"{name} {(found == name).sum()}" for name in pairs), err=True)


def read_cost(text: str) -> float | str:
    """A number, or the name of a column."""
    try:
        return float(files.parse_number(text))
    except ValueError:
        return text


ARRIVED = ("arrived", "arrived_before", "arrived_at_sampling")


@options.command(
    options.FILE, options.LABEL_01, options.PROBABILITY,
    option("--state", "PATH", "What the last look wrote; without it, this is the first."),
    option("--level", "LEVEL", "False alarms of a right model, in all looks.  [0.05]", type=float),
    options.RATES,
    option("--arrived", "COLUMN", "Chance that the label of a 1 has arrived at the row's age."),
    option("--arrived-before", "COLUMN", "The same at the last look; 0 for a new row."),
    option("--arrived-at-sampling", "COLUMN", "The same when rows of label 0 were dropped."),
    options.FORMAT, options.output("Where to write the state for the next look.", required=True),
)  # fmt: skip
def monitor(o: SimpleNamespace) -> None:
    """Whether probabilities still hold, looked at every day.

    Give the new rows of a day, and the state that the last look wrote. However many looks there
    are, a model without fault raises an alarm with the probability --level at most. Where label 1
    arrives late, a row may come again until it does, with --arrived and --arrived-before.

    \b
    Example:
      python -m gbdt_objectives monitor test.csv --label y --score p -o day1.json
    """
    files.check_ending(o.output, "JSON, not a table", ".json")
    known = {name: value for name in ("level", "negative_keep_rate")
             if (value := getattr(o, name)) is not None}  # fmt: skip
    if o.state is None:
        found = go.calibration.CalibrationMonitor(**known)
    else:
        try:
            found = go.calibration.CalibrationMonitor.from_json(files.read_text(o.state))
        except ValueError as error:
            raise InputError(f"--state {o.state}: {error}") from None
        for name, value in known.items():
            if value != (own := getattr(found, name)):
                flag = f"--{name.replace('_', '-')}"
                raise InputError(f"{flag} is {value}, but {own} in {o.state}: leave it out")
    is_now = o.arrived is not None and o.arrived_at_sampling == o.arrived
    o.arrived_at_sampling = None if is_now else o.arrived_at_sampling  # a column is read once
    table = options.read_options(o)
    rate = {} if o.keep_rate is None else options.read_sampling(table, o)
    columns = {name: files.numbers(table, f"--{name.replace('_', '-')}", column)
               for name in ARRIVED if (column := getattr(o, name)) is not None}  # fmt: skip
    columns |= {"arrived_at_sampling": columns["arrived"]} if is_now else {}
    y, p = options.labels_01(table, o), files.numbers(table, "--score", o.score)
    found.update(y, p, **rate, **columns)
    report = {
        "looks": len(found.log_evidence), "rows": len(y), "events": int(y.sum()),
        "evidence": found.evidence, "shift": found.shift, "slope": found.slope,
        "alarm": {"level": found.level, "raised": found.alarm},
    }  # fmt: skip
    shown = {key: str(value) if isinstance(value, int) else value
             for key, value in report.items() if key != "alarm"}  # fmt: skip
    files.say(report, files.columns_as_text(shown), o.style)
    files.save(found, o.output)
    if found.alarm:
        click.echo(f"Alarm: the evidence has reached {1 / found.level:g}", err=True)
        click.get_current_context().exit(1)


COMMANDS = (sample, shift, correct, calibrate, calibration, monitor, decide)
