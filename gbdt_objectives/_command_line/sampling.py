"""Commands around training on a sample of the negatives: draw it, and correct the model."""

from __future__ import annotations

from types import SimpleNamespace

import click
import numpy as np

import gbdt_objectives as go
from gbdt_objectives._command_line import files, options
from gbdt_objectives._command_line.options import option
from gbdt_objectives._command_line.reports import columns_as_text, tell, told


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
    table = options.read(o, others=not o.keep)
    y = options.labels_01(table, o)
    if o.key is None:
        rows = go.negative_downsample(y, o.negative_keep_rate, random_state=o.random_state)
    else:
        rows = go.priors.negative_downsample_by_key(
            y, table.columns[o.key], o.negative_keep_rate, random_state=o.random_state
        )
    kept, rate = y[rows], float(go.priors.measured_keep_rates(y, y[rows])[0])
    files.write_table(o.output, table, o.keep or table.names, rows=rows)
    events = int(np.count_nonzero(y))
    report = {"rows": len(y), "events": events, "kept_rows": len(kept), "negative_keep_rate": rate}
    text = columns_as_text({
        "label": [0, 1], "rows": [str(len(y) - events), str(events)],
        "kept": [str(len(kept) - events), str(events)], "rate": [f"{rate:.6g}", "1"],
    })  # fmt: skip
    tell(report, text, o.style)
    told(o.output, f"{len(kept)} rows")


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
    from gbdt_objectives.adapters._files import check_model_paths, read_model, write_model

    delta = options.read_shift(o)
    check_model_paths(o.model, o.output)
    write_model(go.shift_intercept(read_model(o.model), delta), o.output)
    value = float(delta)
    report = {"model": o.model, "output": o.output, "shift": value, "odds_factor": np.exp(value)}
    text = f"log-odds {value:+.6g}, odds times {np.exp(value):.6g}"
    tell(report, text, o.style)
    told(o.output, "the corrected model")
