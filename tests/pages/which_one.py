"""Sentences of docs/which_one.md, with figures from the results."""

from __future__ import annotations

from collections.abc import Iterable

import pandas as pd

from experiments._common import corrected_error, mean_and_error
from experiments.threshold_study import rare
from tests.pages.cited import ALL, Page, plus_minus, results, settings, short, word

WHICH_ONE = Page(
    "docs/which_one.md",
    parts=("docs/which_one_figures.md",),
    sections=(ALL,),
    exempt={
        "exceeds two of the larger standard errors": "what clearly means",
        "(Nadeau and Bengio, 2003)": "a year",
        "one to three kept negatives per positive": "settings of by-row rates, of 1, 3 and 10",
    },
)
TEST_SHARE = 0.25
"""Test rows over training rows of five folds."""
BOOSTERS = ["XGBoost", "LightGBM"]


def signed(mean: float, error: float, digits: int = 4) -> str:
    return plus_minus(mean, error, digits, "+")


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


@WHICH_ONE.check
def rounded(page: Page) -> None:
    gains = []
    for file in ("winequality-white", "skill", "californiahousing"):
        folds = results("ordinal_data", f"{file}/folds")
        kappa = folds.pivot(index=["booster", "repeat", "fold"], columns="objective").qwk_rounded
        gap = kappa["extended QWK"] - kappa["squared error"]
        gains.append([signed(*mean_and_error(gap[booster].to_numpy())) for booster in BOOSTERS])
    (white, light), skill, houses = gains
    page.says(
        f"the objective gains {white} (XGBoost) and {light} (LightGBM) on winequality-white, "
        f"{' and '.join(skill)} on skill, and on californiahousing {' and '.join(houses)} ("
    )


@WHICH_ONE.check
def squared_error_with_thresholds(page: Page) -> None:
    folds = results("ordinal_data", "ordinal-logit/folds")
    pairs = paired(folds, "method", "qwk", "qwk")
    page.says(
        "*With plug-in thresholds on both*, squared error is better than the objective by two "
        f"standard errors in {count(pairs)} of {len(pairs)} comparisons "
        f"({word(folds.file.nunique())} data sets, two boosters), clearly in {count(pairs, 2)}, "
        f"and worse in {word(count(pairs, sign=-1))}: from {signed(*min(pairs)[:2])} to "
        f"{signed(*max(pairs)[:2])} ("
    )
    folds = results("threshold_study", "folds")
    pairs = paired(folds, "objective", "plugin", "rounding")
    page.says(
        f"better in {count(pairs)} of {len(pairs)} ({word(folds.file.nunique())} data sets, two "
        f"boosters), clearly in {count(pairs, 2)}, by {plus_minus(*min(pairs)[:2])} to "
        f"{plus_minus(*max(pairs)[:2])} ("
    )


NAMES = {
    "linear, 200 rows": "a linear signal in 200 rows",
    "linear, 500 rows": "a linear signal in 500 rows",
    "rare, 5 and 1 %": "simulated grades of 5 and 1 %",
    "rules, no noise": "rules without noise",
}
"""What pages call the simulated data sets."""


@WHICH_ONE.check
def defaults_of_qwk_classifier(page: Page) -> None:
    table = results("qwk_default", "differences")
    own = table[table.booster == "both"].set_index(["compared", "file"])
    objective = own.loc["None minus qwk"]
    better = objective.index[objective.verdict == "better"]
    worse = objective[objective.verdict == "worse"].sort_values("gain")
    lost = [
        f"{plus_minus(-row.gain, row.se_corrected) if k == 0 else f'{-row.gain:.4f}'} on "
        f"{NAMES.get(row.Index, row.Index)}"
        for k, row in enumerate(worse.itertuples())
    ]
    seconds = results("qwk_default", "seconds").ratio
    page.says(
        f'`objective=None` is better than `"qwk"` by two standard errors on '
        f"{len(better)} of {len(objective)} data sets "
        f"({', '.join(NAMES.get(file, file) for file in better)}) and worse on {len(worse)} "
        f"(by {', by '.join(lost)}), and training needs "
        f"{seconds.min():.2f} to {seconds.max():.2f} of the processor time."
    )
    stopped = own.loc["None, stopped minus not"]
    more, less = verdicts(stopped.verdict)
    of = settings("qwk_default")
    few, some = (
        plus_minus(*stopped.loc[f"linear, {rows} rows", ["gain", "se_corrected"]])
        for rows in (200, 500)
    )
    page.holds(
        set(stopped.gain.nlargest(2).index) == {"linear, 200 rows", "linear, 500 rows"},
        "stopping gains most on few rows with a linear signal",
    )
    page.says(
        f"*Early stopping* ({of['stopped']}, {of['early_stopping_rounds']} without a gain) is "
        f"better than all rounds by two standard errors on {more} of {len(stopped)} data sets, "
        f"worse on {less}, and gains {stopped.gain.mean():.4f} in the mean. It gains most on few "
        f"rows with a linear signal ({few} at 200, {some} at 500)"
    )
    means = results("early_stopping", "summary").query("booster == 'both'").set_index("arm")
    auto, each = (
        plus_minus(*means.loc[arm, ["qwk", "qwk_se"]]) for arm in ("auto", "20 in each fold")
    )
    page.says(
        "At the boosters' default 100 rounds, the default, one number of rounds for all folds, "
        f"gains {auto} over {means.of.iloc[0]} data sets, and a stop in each fold {each} ("
    )


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


@WHICH_ONE.check
def benchmark(page: Page) -> None:
    table = benchmark_gains()
    gains = table[table.arm == "QWKClassifier"]
    own = gains[gains.other == "QWKClassifier, QWK objective"]
    more, less = verdicts(own.verdict)
    files = table.file.nunique()
    page.says(
        f'on {word(files)} such data sets `objective=None` is better than `"qwk"` by two standard '
        f"errors on {more} and worse on {less}."
    )
    found = blend_over(table)
    light, xgb, cat = (found[name] for name in ("LightGBM", "XGBoost", "CatBoost"))
    better, worse = against_best_member()
    page.says(
        f"three boosters and ridge regression, are better than LightGBM alone on {light[0]} of "
        f"{files} data sets, than XGBoost on {xgb[0]}, than CatBoost on {cat[0]}, and worse on "
        f"{light[1]}, {xgb[1]} and {cat[1]} (same benchmark). Against the best member, chosen on "
        f"the test rows, the blend is better on {word(better)} and worse on {worse}."
    )
    gains = gains.set_index(["file", "other"])
    car = gains.loc[("car", "multi-class, argmax")]
    linear = gains.loc[("linear, 500 rows", "mord LogisticAT")]
    summary = results("ordinal_benchmark", "summary")
    kappa = summary.set_index(["file", "arm"]).qwk
    ridge, mord = (
        kappa["linear, 500 rows", arm] for arm in ("QWKClassifier, ridge", "mord LogisticAT")
    )
    page.says(
        f"on car, multi-class boosting is {plus_minus(-car.gain, car.se)} better than",
        "in 500 rows with a linear signal ordinal logistic regression is "
        f"{plus_minus(-linear.gain, linear.se)} better than boosters. `QWKClassifier` on ridge "
        f"regression reaches a kappa of {ridge:.3f} there; ordinal logistic regression {mord:.3f}.",
    )
    mae = summary[(summary.booster == "all") & (summary.file == "winequality-white")]
    mae = mae.set_index("arm").mae
    page.says(
        f"can cost absolute error: {mae['QWKClassifier']:.3f} instead of "
        f"{mae['refitted, rounded']:.3f} with plain rounding on winequality-white."
    )


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


@WHICH_ONE.check
def thresholds(page: Page) -> None:
    table = results("threshold_study", "simulated_summary").rename(columns={"rows": "size_"})
    largest = table[table.size_ == table.size_.max()].set_index("family")
    bent = (
        signed(*largest.loc[family, ["plugin_minus_exact", "plugin_minus_exact_se"]])
        for family in (
            "4 equal classes, 0.5; score exp(2m)",
            ".05 .2 .3 .25 .12 .08, 0.5; score cubed",
        )
    )
    calibrated = table[~table.family.str.contains("score")]
    many = calibrated[calibrated.size_ >= 10_000]
    best = calibrated[["rounding", "nelder-mead", "exact"]].max(axis=1)
    page.holds((calibrated.plugin >= best - 1e-4).all(), "plug-in is the best on calibrated scores")
    exponential, cubed = bent
    page.says(
        f"On calibrated scores plug-in is the best at every number of rows, and exact comes "
        f"within {(many.plugin - many.exact).max():.4f} of it from 10,000 rows on.",
        f"plug-in minus exact at {table.size_.max():,} rows is {exponential} (score exp(2m)) and "
        f"{cubed} (cubed).",
    )
    lost, rows = curved_losses()
    families = settings("threshold_study")["families"]
    smallest = short(100 * min(min(one["prior"]) for one in families))
    weakest = min(one["correlation"] for one in families)
    page.says(
        "they are worse than any of plug-in, exact and Nelder-Mead by two standard errors "
        f"in {lost} of {rows} settings. The simulated ones have classes of {smallest} % or more "
        f"and correlations of {weakest:g} or more."
    )
    real = results("threshold_study", "differences")
    own = real[(real.method == "plugin") & (real.other == "nelder-mead")]
    own = own[(own.file == "winequality-white") & (own.objective == "squared error")]
    first, second = own.set_index("booster").loc[BOOSTERS, ["difference", "se"]].to_numpy()
    page.says(
        f"loses {plus_minus(*first)} and {plus_minus(*second)} to plug-in on winequality-white."
    )


def rare_losses(first: str, other: str) -> pd.DataFrame:
    """The rows with rare classes on which the first is worse than the other by two errors."""
    summary = results("threshold_study", "rare/summary")
    return summary[rare.worse(summary, first, other, rare.read())]


@WHICH_ONE.check
def rare_classes(page: Page) -> None:
    names = {"plugin": "plug-in", "exact": "exact", "nelder-mead": "NM", "rounding": "rounding"}
    summary = results("threshold_study", "rare/summary")
    for first in ("curved", "plugin", "exact"):
        cells = ["" if first == other else str(len(rare_losses(first, other))) for other in names]
        page.says(
            f"| {' | '.join([names.get(first, first), *cells, f'{summary[first].mean():.4f}'])} |"
        )
    methods = rare.read()["methods"]
    page.holds(
        all(
            any(len(rare_losses(first, other)) for other in methods if other != first)
            for first in methods
        ),
        "no method is best everywhere",
    )
    of = rare.read()
    ends = [min(prior[0], prior[-1]) for prior in of["priors"].values()]
    page.says(
        f"(outer classes of {100 * min(ends):g} to {100 * max(ends):g} %, correlations "
        f"of {min(of['correlations']):g} to {max(of['correlations']):g}) no method is "
        "best everywhere.",
        f"in how many of [{len(summary)} settings]",
    )
    lost = rare_losses("curved", "exact")
    page.says(
        f"lose to exact in few settings ({(lost['rows'] == 300).sum()} of the {len(lost)} have 300 "
        f"rows) "
        f"and by {-lost.curved_minus_exact.min():.4f} at most."
    )


@WHICH_ONE.check
def probabilities_and_decisions(page: Page) -> None:
    table = results("ordinal_probabilities", "differences")
    own = {name: of.verdict for name, of in table[table.measure == "log_loss"].groupby("method")}
    curve, logit = verdicts(own["curve of squared error"]), verdicts(own["ordinal logit"])
    page.says(
        "| log loss of `predict_proba`, squared error, with [multi-class boosting]"
        "(../experiments/ordinal_probabilities/README.md) | "
        f"{curve[0]} | {curve[1]} | {len(own['ordinal logit'])} |",
        "| log loss of `ordinal_logit_objective`, with multi-class boosting | "
        f"{logit[0]} | {logit[1]} | {len(own['ordinal logit'])} |",
    )
    column = results("decisions", "differences").verdict_corrected
    better, worse = verdicts(column)
    page.says(
        "| `decide`, with [exact thresholds](../experiments/decisions/README.md) | "
        f"{better} | {worse} | {len(column)} |"
    )


def by_row_gains() -> list[str]:
    """In how many comparisons rates by row are better, at 1, 3 and 10 negatives per positive."""
    table = results("negative_downsampling", "files/by_row_differences")
    assert sorted(set(table.per_positive)) == [1, 3, 10]
    return [f"in {verdicts(of.verdict)[0]} of {len(of)}" for _, of in table.groupby("per_positive")]


@WHICH_ONE.check
def folds(page: Page) -> None:
    found = results("averaged_models").query("models == 'folds'").set_index("booster")
    lgb, xgb = found.loc["LightGBM"], found.loc["XGBoost"]
    page.says(
        f"its log loss is lower than that of one model on all rows by {-lgb.percent:.1f} % "
        f"(LightGBM) and {-xgb.percent:.1f} % (XGBoost), and average precision is higher by "
        f"{lgb.ap:.4f} ± {lgb.ap_error:.4f} and {xgb.ap:.4f} ± {xgb.ap_error:.4f} ("
    )


def low_to_high(values: Iterable[float], digits: int = 0) -> str:
    low, high = min(values), max(values)
    return f"{low:.{digits}f} to {high:.{digits}f}"


@WHICH_ONE.check
def all_rows(page: Page) -> None:
    found = results("five_bags").set_index(["other", "rate"]).percent
    low, high = sorted(settings("five_bags")["rates"])
    calibrated = found.loc["all rows, calibrated"]
    page.says(
        f"On {results('five_bags', 'cells')['data'].nunique()} data sets five bags at rates of "
        f"{low:g} and {high:g} had {low_to_high(-found.loc['all rows'])} % less log loss than a "
        f"booster on all rows with its default parameters. Against all rows with "
        f"`CalibratedClassifier` they had {low_to_high(calibrated[low], 1)} % more at {low:g}, and "
        f"{low_to_high(calibrated[high], 1)} % more at {high:g} ("
    )


@WHICH_ONE.check
def linear_member(page: Page) -> None:
    own = results("linear_member").query("arm == 'trees and linear' and booster == 'both'").iloc[0]
    page.says(
        f"lowers the log loss of trees alone by {-own.log_loss:.1f} ± {own.log_loss_se:.1f} %, on "
        f"{own.better} of {own.files} data sets, and raises it on {own.worse} ("
    )


@WHICH_ONE.check
def rare_events(page: Page) -> None:
    table = results("negative_downsampling", "files/methods_differences")
    weighed = table[(table["first"] == "weighted, tuned") & (table.second == "corrected, tuned")]
    bags = table[(table["first"] == "corrected, tuned, 5 bags")
                 & (table.second == "corrected, tuned")].verdict  # fmt: skip
    by_row = results("negative_downsampling", "files/by_row_differences")
    one, three, ten = (of.verdict for _, of in by_row.groupby("per_positive"))
    for first, second, column in (
        ("weights, a tenth of the negatives, both tuned", "correction",
         weighed[weighed.keep_rate == 0.1].verdict),
        ("weights, a fiftieth, both tuned", "correction",
         weighed[weighed.keep_rate == 0.02].verdict),
        ("five bags", "one sample", bags),
        ("rates by row, one negative per positive", "one rate", one),
        ("rates by row, three", "one rate", three),
        ("rates by row, ten", "one rate", ten),
    ):  # fmt: skip
        better, worse = verdicts(column)
        page.says(f"| {first} | {second} | {better} | {worse} | {len(column)} |")
    table = results("negative_downsampling", "published/weighting_summary")
    curve = table[table.model == "curve missing"].set_index("rows")
    few, many = (
        plus_minus(curve.difference[rows], curve.difference_se[rows], digits)
        for rows, digits in ((20_000, 4), (2_000_000, 5))
    )
    terms = (table[table.model == "terms missing"].verdict == "better").any()
    page.says(
        f"weighted minus corrected is {few} in log loss with 20,000 rows before sampling, and "
        f"{many} with 2,000,000. Where other terms are missing, weighting "
        f"{'wins at some' if terms else 'does not win at any'} size."
    )


def bounded_against(second: str = "exact", first: str = "bounded") -> tuple[int, int, int]:
    """At large weights: better, of how many, worse."""
    found = results("curvature", "counts")
    own = found[(found.kind == "weighted") & (found.weight > 1)]
    own = own[(own["first"] == first) & (own.second == second)]
    return own.better.sum(), own[["better", "level", "worse"]].to_numpy().sum(), own.worse.sum()


@WHICH_ONE.check
def bounded_hessians_and_focal_loss(page: Page) -> None:
    better, total, worse = bounded_against()
    page.says(f"| bounded hessian, large weights | exact hessian | {better} | {worse} | {total} |")
    focal = results("focal")
    focal = focal[focal.method.str.startswith("focal")]
    ahead = focal.average_precision_difference > 2 * focal.average_precision_error
    page.says(
        "average precision was better by two standard errors in "
        f"{ahead.sum()} of {len(focal)} comparisons ("
    )


@WHICH_ONE.check
def published_data(page: Page) -> None:
    of = results("qwk_synthetic").set_index(["booster", "objective"]).loc["XGBoost"]
    page.says(
        f"squared error and extended QWK come to {of.qwk_thresholds['squared error']:.4f} and "
        f"{of.qwk_thresholds['extended QWK']:.4f} with thresholds (XGBoost), under a ceiling of "
        f"{of.ceiling.iloc[0]:.4f}."
    )
