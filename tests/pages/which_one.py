"""What docs/which_one.md advises is what the results say, and sums that other pages need, too."""

from __future__ import annotations

import pandas as pd

from experiments._common import corrected_error, mean_and_error
from experiments.threshold_study import rare
from tests.pages.cited import ALL, Page, results

WHICH_ONE = Page(
    "docs/which_one.md",
    sections=(ALL,),
    exempt={
        "five models": "the default of n_bags",
        "| the same, and one booster": "what is served",
        "ten or more": "negatives per positive, at which rates by row hardly help",
    },
)
TEST_SHARE = 0.25
"""Test rows over training rows of five folds."""


def paired(folds: pd.DataFrame, key: str, ours: str, theirs: str) -> list[tuple[float, ...]]:
    """Squared error's column less extended QWK's by file and booster: mean and both errors."""
    found = []
    for _, own in folds.groupby(["file", "booster"]):
        table = own.set_index(["repeat", "fold", key])
        first = table[ours].xs("squared error", level=2)
        values = (first - table[theirs].xs("extended QWK", level=2)).to_numpy()
        found.append((*mean_and_error(values), corrected_error(values, TEST_SHARE)))
    return found


def count(pairs: list[tuple[float, ...]], error: int = 1, sign: int = 1) -> int:
    return sum(sign * pair[0] > 2 * pair[error] for pair in pairs)


def verdicts(column: pd.Series) -> tuple[int, int]:
    """How often better, and how often worse."""
    return (column == "better").sum(), (column == "worse").sum()


def thresholds_on_both() -> list[tuple[float, ...]]:
    return paired(results("ordinal_data", "ordinal-logit/folds"), "method", "qwk", "qwk")


def thresholds_or_rounded() -> list[tuple[float, ...]]:
    return paired(results("threshold_study", "folds"), "objective", "plugin", "rounding")


def benchmark_gains() -> pd.DataFrame:
    table = results("ordinal_benchmark", "gains")
    return table[table.metric == "qwk"]


def blend_over(gains: pd.DataFrame) -> dict[str, tuple[int, int]]:
    """The blend against QWKClassifier on one booster: on how many files better, worse."""
    blend = gains[(gains.arm == "blend") & (gains.other == "QWKClassifier")]
    return {name: verdicts(own.verdict) for name, own in blend.groupby("other_booster")}


def against_best_member() -> tuple[int, int]:
    """Blends better and worse by two errors than the member with the best test kappa of a file."""
    summary = results("ordinal_benchmark", "summary")
    members = summary[
        (summary.arm == "QWKClassifier") & (summary.booster != "all")
        | (summary.arm == "QWKClassifier, ridge")
    ]
    gains = benchmark_gains()
    blend = gains[gains.arm == "blend"].set_index(["file", "other", "other_booster"]).verdict
    best = members.loc[members.groupby("file").qwk.idxmax()]
    return verdicts(pd.Series([blend[row.file, row.arm, row.booster] for row in best.itertuples()]))


def curved_losses() -> tuple[int, int]:
    """How many rows of the threshold study curved loses to any other by two errors; of how many."""
    table = results("threshold_study", "simulated_summary")
    real = results("threshold_study", "differences")
    others = ("plugin", "exact", "nelder-mead")
    pairs = [(row[f"curved_minus_{other}"], row[f"curved_minus_{other}_se"])
             for _, row in table.iterrows() for other in others]  # fmt: skip
    own = real[(real.method == "curved") & real.other.isin(others)]
    pairs += list(zip(own.difference, own.se, strict=True))
    return count(pairs, sign=-1), len(pairs) // len(others)


def rare_losses(first: str, other: str) -> pd.DataFrame:
    """The rows with rare classes on which the first is worse than the other by two errors."""
    summary = results("threshold_study", "rare/summary")
    return summary[rare.worse(summary, first, other, rare.read())]


def bounded_against(second: str = "exact", first: str = "bounded") -> tuple[int, int, int]:
    """At large weights: better, of how many, worse."""
    found = results("curvature", "counts")
    own = found[(found.kind == "weighted") & (found.weight > 1)]
    own = own[(own["first"] == first) & (own.second == second)]
    return own.better.sum(), own[["better", "level", "worse"]].to_numpy().sum(), own.worse.sum()


@WHICH_ONE.check
def objective_or_thresholds(page: Page) -> None:
    both, rounded = thresholds_on_both(), thresholds_or_rounded()
    page.holds(count(both, sign=-1) == 0, "with thresholds on both squared error never loses")
    page.holds(count(rounded) == len(rounded), "thresholds are better than a rounded objective")
    table = results("qwk_default", "differences").query("booster == 'both'")
    own = table[table.compared == "None minus qwk"].set_index("file")
    page.holds(own.gain.idxmin() == "rare, 5 and 1 %", "the objective gains most on rare grades")
    page.holds((results("qwk_default", "seconds").ratio < 1).all(), "squared error trains faster")
    of = results("qwk_synthetic").pivot_table("qwk_thresholds", "booster", "objective")
    gap = of["extended QWK"] - of["squared error"]
    page.holds((gap.abs() < 0.001).all(), "the objective does not order rows better")


@WHICH_ONE.check
def thresholds(page: Page) -> None:
    page.holds(curved_losses()[0] == 0, "curved thresholds never lose clearly")
    lost = {other: len(rare_losses("curved", other)) for other in ("exact", "plugin")}
    back = {other: len(rare_losses(other, "curved")) for other in lost}
    page.holds(
        all(lost[other] < back[other] / 5 for other in lost), "curved wins with rare classes"
    )
    table = results("threshold_study", "simulated_summary")
    calibrated = table[~table.family.str.contains("score")]
    best = calibrated[["rounding", "nelder-mead", "exact"]].max(axis=1)
    page.holds((calibrated.plugin >= best - 1e-4).all(), "plug-in is best on calibrated scores")


@WHICH_ONE.check
def benchmark(page: Page) -> None:
    page.holds(against_best_member()[0] == 0, "a blend is not better than its best member")
    table = benchmark_gains()
    gains = table[table.arm == "QWKClassifier"].set_index(["file", "other"]).verdict
    page.holds(gains["car", "multi-class, argmax"] == "worse", "multi-class is better on rules")
    page.holds(
        gains["linear, 500 rows", "mord LogisticAT"] == "worse", "a linear signal needs no booster"
    )
    summary = results("ordinal_benchmark", "summary").set_index(["file", "arm", "booster"])
    kappa = summary.qwk.xs("linear, 500 rows")
    ridge = kappa["QWKClassifier, ridge"].iloc[0]
    page.holds(ridge > kappa["mord LogisticAT"].iloc[0], "ridge is better there")
    mae = summary.mae.xs("all", level="booster").xs("winequality-white")
    page.holds(mae["QWKClassifier"] > mae["refitted, rounded"], "thresholds for QWK cost distance")


@WHICH_ONE.check
def probabilities_and_decisions(page: Page) -> None:
    table = results("ordinal_probabilities", "differences")
    own = table[(table.measure == "log_loss") & (table.method == "curve of squared error")]
    better, worse = verdicts(own.verdict)
    page.holds(better > 4 * worse, "predict_proba is mostly better than multi-class boosting")
    page.holds(set(own.file[own.verdict == "worse"]) == {"car"}, "but not on rules without noise")
    _, worse = verdicts(results("decisions", "differences").verdict_corrected)
    page.holds(worse == 0, "decide is as good as exact thresholds")


@WHICH_ONE.check
def sampling(page: Page) -> None:
    found = results("five_bags").set_index("other").percent
    page.holds((found[["one bag", "all rows"]] < 0).all(), "five bags are better than one")
    page.holds((found["all rows, calibrated"] > 0).all(), "calibrated, all rows are better")
    table = results("negative_downsampling", "files/methods_differences")
    own = table[(table["first"] == "weighted, tuned") & (table.second == "corrected, tuned")]
    better, worse = verdicts(own.verdict)
    page.holds(better == 0 < worse, "weights are never better")
    table = results("negative_downsampling", "published/weighting_summary").query("rows > 1e6")
    won = set(table.model[table.verdict == "better"])
    page.holds(won == {"curve missing"}, "weights win with many rows and a model without the curve")
    by_row = results("negative_downsampling", "files/by_row_differences")
    one, three, ten = (verdicts(of.verdict) for _, of in by_row.groupby("per_positive"))
    page.holds(min(one[0], three[0]) > ten[0] > one[1] + three[1], "rates by row help with few")


@WHICH_ONE.check
def calibrated_averages_hessians_and_focal_loss(page: Page) -> None:
    own = results("averaged_models").query("models == 'folds'")
    page.holds((own.percent < 0).all(), "the average of the folds lowers the log loss")
    own = results("linear_member").query("arm == 'trees and linear' and booster == 'both'").iloc[0]
    page.holds(own.better > 0.8 * own.files, "a linear member lowers it on most data sets")
    better, of, worse = bounded_against()
    page.holds(worse == 0 and better > of / 2, "bounded hessians help with large weights")
    focal = results("focal")
    focal = focal[focal.method.str.startswith("focal")]
    for name in ("auc", "average_precision"):
        ahead = focal[f"{name}_difference"] > 2 * focal[f"{name}_error"]
        page.holds(not ahead.any(), f"the focal loss ranks no better by {name}")
