"""Sentences of README.md, the guide and its theory, with figures from the results."""

from __future__ import annotations

import re
from statistics import NormalDist

import numpy as np
import pandas as pd
from scipy.special import expit

from benchmarks import all as benchmarks
from experiments.calibrators.__main__ import PEERS
from experiments.delayed_labels import __main__ as delayed_labels
from experiments.migration.__main__ import TITLES
from experiments.ordinal_benchmark import report
from experiments.segment_calibrator import __main__ as segment_calibrator
from tests.pages import alternatives, outputs, which_one
from tests.pages.cited import (
    Page,
    benchmark,
    plus_minus,
    results,
    settings,
    table,
    word,
)
from tests.pages.which_one import bounded_against, verdicts

BOOSTERS = ("XGBoost", "LightGBM")


def span(values: pd.Series | list[float], digits: int = 2) -> str:
    """From the least to the greatest; one figure if these are shown alike."""
    low, high = (f"{value:.{digits}f}" for value in (min(values), max(values)))
    return low if low == high else f"{low} to {high}"


# README.md and docs/thresholds.md


def recipes() -> tuple[int, int, int, list[str]]:
    """On how many files QWKClassifier is ahead of all recipes, of how many, behind, on which."""
    lines, _ = report.against_recipes(
        results("ordinal_benchmark"), results("ordinal_benchmark", "gains"),
        settings("ordinal_benchmark"),
    )  # fmt: skip
    behind = [line.split(": ")[0] for line in lines if line.endswith(": WORSE")]
    return sum(line.endswith(": first") for line in lines), len(lines), len(behind), behind


def number_of_recipes() -> int:
    """How many arms of the benchmark are none of ours."""
    found = results("ordinal_benchmark", "gains").other.unique()
    return len(set(found) - set(settings("ordinal_benchmark")["ours"]))


README = Page("README.md")


@README.check
def readme(page: Page) -> None:
    ahead, files, behind, _ = recipes()
    page.says(
        f"against {word(number_of_recipes())} common recipes (best on {word(ahead)} of "
        f"{word(files)} data sets, beaten on {word(behind)})"
    )
    less = -results("five_bags").query("other == 'one bag'").percent
    page.says(f"five bags have {less.min():.0f} to {less.max():.0f} % less log loss than one")
    shown = "".join(shown for _, shown in outputs.blocks(outputs.ROOT / "docs/pitfalls.md"))
    (lost, found), (worst, least, best, most), (events, predicted) = (
        re.search(pattern, shown).groups()
        for pattern in (
            r"from 0.5: kappa (\S+)\nfrom the mean: kappa (\S+)",
            r"minimised: round (\d+), kappa (\S+)\nmaximised: round (\d+), kappa (\S+)",
            r"events (\S+), predicted (\S+)\n",
        )
    )
    page.says(
        f"its kappa after 100 rounds is {lost}; with the right start it is {found}.",
        f"It keeps round {worst}, with a kappa of {least}, where round {best} has {most}.",
        f"predicts {float(predicted):.1%} events where {float(events):.1%} happen.".replace(
            "%", " %"
        ),
    )


START = Page("docs/start.md")


@START.check
def start(page: Page) -> None:
    less = -results("five_bags").query("other == 'one bag'").percent
    page.says(
        "The second route trains five models on samples. They have "
        f"{less.min():.0f} to {less.max():.0f} % less log loss than one"
    )


STUDIES = Page(
    "docs/studies.md",
    exempt={
        "and exact, plug-in and curved thresholds": "kinds of thresholds",
        "two equally good estimators": "what is compared",
        "compares four ways to train": "as negatives, waiting, the age as a feature, the objective",
        "compares two ways to begin": "the old start and the new one",
        "Five samples or one": "the question",
        "with one sample and with all rows": "what is compared",
    },
)


@STUDIES.check
def studies(page: Page) -> None:
    ahead, files, behind, _ = recipes()
    page.says(
        f"compares `QWKClassifier` with {word(number_of_recipes())} common recipes. It is best on "
        f"{word(ahead)} of {word(files)} data sets, and beaten on {word(behind)}.",
        f"how often {word(results('comparison_level').test.nunique())} tests call",
        f"their choice by cross-validation, and {word(number_of_peers())} other packages.",
        f"scores of the {word(results('migration', 'cells').pair.nunique())} pairs of",
    )
    found = results("negative_downsampling", "files/methods_differences").data.unique()
    page.says(f"on {word(len(set(found) - {'simulated'}))} data sets.")
    page.holds(results("qwk_draws").draws.eq(60).all(), "the models were tried on sixty draws")
    page.says("[sixty test draws]")


@STUDIES.check
def objective_or_thresholds(page: Page) -> None:
    both, rounded = which_one.thresholds_on_both(), which_one.thresholds_or_rounded()
    lost = word(which_one.count(both, sign=-1))
    page.says(
        "With plug-in thresholds on both, squared error is better by two standard errors in "
        f"{which_one.count(both)} of {len(both)} comparisons, and worse in {lost}.",
        "Plug-in thresholds on squared error are better than the rounded objective in "
        f"{which_one.count(rounded)} of {len(rounded)} comparisons.",
    )
    summary = results("ordinal_benchmark", "summary")
    kappa = summary[summary.file == "linear, 500 rows"].set_index("arm").qwk
    page.says(
        "With a linear signal in 500 rows, its kappa on ridge regression is "
        f"{kappa['QWKClassifier, ridge']:.3f}, and that of ordinal logistic regression "
        f"{kappa['mord LogisticAT']:.3f}."
    )


@STUDIES.check
def all_rows(page: Page) -> None:
    found = results("five_bags").set_index("other").percent
    calibrated, data = found["all rows, calibrated"], results("five_bags", "cells")["data"]
    page.says(
        f"On {data.nunique()} data sets its log loss is {span(-found['all rows'], 0)} % lower than "
        f"that of a booster on all rows, and {span(calibrated, 1)} % higher than that of "
        "`CalibratedClassifier` on all rows."
    )


def number_of_peers() -> int:
    """How many calibrators of the study are other packages'."""
    peers = {"betacal", "venn-abers", "scikit-learn isotonic", "SplineCalib"}
    return len(peers & set(results("calibrators").calibrator))


THRESHOLDS = Page(
    "docs/thresholds.md",
    exempt={
        "for two classes": "a definition",
        "none is below 0": "what the weights may be",
        "leave out two folds": "what the estimate does",
        "the difference of two estimators": "what is compared",
        "that the two are equal": "of a pair",
        "an interval without 0": "no difference",
        "one with 0 is no evidence": "no difference",
        "The default of 10 repeats trains 150 models of each; `n_repeats=2` trains 30": "settings",
    },
)


@THRESHOLDS.check
def thresholds(page: Page) -> None:
    lost, rows = which_one.curved_losses()
    rare = [len(which_one.rare_losses("curved", o)) for o in ("exact", "plugin", "nelder-mead")]
    page.says(
        f"In {rows} comparisons of",
        f"curved ones were {'never' if lost == 0 else 'sometimes'} worse by two standard errors "
        "than exact, plug-in or Nelder-Mead.",
        f"In {len(results('threshold_study', 'rare/summary'))} more, with [rare classes and weak "
        "scores]",
        f"they were that much worse than exact in {rare[0]}, plug-in in {rare[1]} and "
        f"Nelder-Mead in {rare[2]}.",
    )
    found = results("early_stopping", "differences").query("arm == 'auto' and booster == 'both'")
    page.says(
        f"On the study's {len(found)} data sets this adds {found.qwk.mean():.3f} of kappa to 100 "
        f"rounds in the mean of both, and none loses more than {-found.qwk.min():.3f} ("
    )
    ahead, files, behind, which = recipes()
    kinds = {
        "car": "one without noise",
        "linear, 500 rows": "one with a linear signal in 500 rows",
    }
    page.says(
        f"In kappa it is better than all of them on {word(ahead)} of {word(files)} data sets, and "
        f"worse on {word(behind)}: {', and '.join(kinds.get(file, file) for file in which)}."
    )


@THRESHOLDS.check
def blends(page: Page) -> None:
    gains = which_one.benchmark_gains()
    found = which_one.blend_over(gains)
    blend = gains[gains.arm == "blend"].groupby("other").verdict
    ridge = verdicts(blend.get_group("QWKClassifier, ridge"))
    equal = verdicts(blend.get_group("blend, equal weights"))
    light, xgb, cat = (found[name] for name in ("LightGBM", "XGBoost", "CatBoost"))
    own = light, xgb, cat, ridge, equal
    page.says(
        "a blend of three boosters and ridge regression",
        f"| on {gains.file.nunique()} data sets the blend is | LightGBM | XGBoost | CatBoost | "
        "ridge | equal weights |",
        f"| better by two standard errors | {' | '.join(str(better) for better, _ in own)} |",
        f"| worse by two standard errors | {' | '.join(str(worse) for _, worse in own)} |",
    )


@THRESHOLDS.check
def segments(page: Page) -> None:
    made, real = (results("segment_thresholds", name) for name in ("simulated", "real"))
    both = pd.concat([made, real])
    worse = (both.shifts < -2 * both["shifts se"]).sum()
    middle = made[(made.effects == 0.3) & (made.confounded == 0)].shifts
    weak = made[(made.effects == 0.1) & (made["rows"] == 1000)].shifts.max()
    name = "shifts over separate exact"
    exact = (made[name] > 2 * made[f"{name} se"]).sum()
    page.says(
        f"shifts are {'never' if worse == 0 else 'sometimes'} worse by two standard errors than "
        f"common thresholds, in {len(both)} comparisons. Ignoring a site difference of 0.3 grades "
        f"costs {span(middle, 3)} kappa, and one of 0.1 grades at most {weak:.4f} in 1,000 rows. "
        "Separate exact thresholds are worse than shifts in "
        f"{'all ' * int(exact == len(made))}{exact} simulated comparisons."
    )
    has = real["segment is a feature"] == "yes"
    best, without = real[has].loc[real[has].shifts.idxmax()], real[~has]
    page.says(
        f"on {word(real.file.str.split(',').str[0].nunique())} real data sets shifts then gained "
        f"{plus_minus(best.shifts, best['shifts se'])} at most; without, up to "
        f"{without.shifts.max():.4f}, and the feature was worth more."
    )
    common = real.set_index(["file", "segment is a feature"]).common
    most = without.loc[without.shifts.idxmax()]
    worth = common[most.file, "yes"] - common[most.file, "no"]
    page.holds(worth > most.shifts, "the segment as a feature is worth more than shifts")


@THRESHOLDS.check
def differences(page: Page) -> None:
    pair = results("performance_coverage").query("models == 'linear - tree'").iloc[0]
    column = results("decisions", "differences").verdict_corrected
    better, worse = verdicts(column)
    page.holds(worse == 0 and better < len(column) / 4, "decide is as good as exact thresholds")
    page.says(
        "its 90 % interval contained the expected difference in "
        f"{100 * pair.covers_expected:.1f} % of draws.",
        "as good as exact thresholds on the score in [our study]",
    )


# docs/decide.md


DECIDE = Page("docs/decide.md", exempt={"On ordered classes the two": "of a pair"})


@DECIDE.check
def decisions(page: Page) -> None:
    column = results("decisions", "differences").verdict_corrected
    level = (column == "within two standard errors").sum()
    page.says(
        f"On ordered classes the two are {'about' if level > 0.9 * len(column) else 'not'} equally "
        "good ("
    )


@DECIDE.check
def action_costs(page: Page) -> None:
    found = results("action_costs").set_index(["way", "data"])
    row, cut = (found.cost[way] for way in ("decide, costs by row", "one cut"))
    percent, own = 100 * (1 - row / cut), found.loc["decide, costs by row"]
    clear = (own.less_than_cut > 2 * own.error_cut).sum()
    page.says(
        f"On {word(len(own))} data sets, costs of each row cost {percent.min():.0f} to "
        f"{percent.max():.0f} % less than one cut. Only {word(clear)} of the differences is clear"
    )
    page.holds((own.less_than_peer.abs() < 2 * own.error_peer).all(), "empulse is as good")


# docs/nominal.md


NOMINAL = Page("docs/nominal.md", exempt={"two numbers for each class": "a and c"})


@NOMINAL.check
def decision_rules(page: Page) -> None:
    own, compared = results("decision_rules", "counts"), results("decision_rules", "differences")
    cells, files = compared.groupby("way").size(), set(compared.file) - {"simulated"}
    better, worse = (own.groupby("way")[name].sum() for name in ("better", "worse"))
    mean = own[own.metric == "macro_f1"].set_index("way")["mean"]
    rule, weighed = "rule", "class_weight"
    page.says(
        f"On {word(len(files))} data sets and simulated rows the rule",
        f"in {better[rule]} of {cells[rule]} comparisons, and clearly worse in {worse[rule]}.",
        f"was clearly better in {better[weighed]}, worse in {worse[weighed]}.",
        f"mean gain in macro F1 was {mean[rule]:.3f} by the rule and {mean[weighed]:.3f} by class",
    )
    fails = not (worse[rule] < worse[weighed] and better[rule] >= better[weighed])
    page.holds(fails, "the claim fails")


# docs/ordinal_probabilities.md, own_objective.md


CONSTRAINTS = Page("docs/constraints.md")


@CONSTRAINTS.check
def bounds_on_new_rows(page: Page) -> None:
    found = results("constraint_coverage")
    found = found[(found.metric == "precision") & (found.weights == "none") & (found.kept == 1)]
    page.says("with positives in one row of ten")
    for bound in (0.5, 0.8):
        for size in (50, 200, 1000):
            rows = f"{size} positives, base rate 0.1"
            own = found[(found.bound == bound) & (found.rows == rows)].set_index("way")
            here, new = own.loc["on these rows"], own.loc["confidence level"]
            page.says(
                f"| precision at least {bound} | {size} | {here.violated:.3f} | "
                f"{new.violated:.3f} | {new.none:.3f} | {new.reached:.3f} |"
            )


@CONSTRAINTS.check
def start_of_the_tests(page: Page) -> None:
    of, found = settings("precision_start"), results("precision_start")
    bounds, recalls = of["bounds"], of["best_recalls"]
    page.says(
        f"one positive in {1 / of['base_rate']:.0f} (",
        f"mean over bounds of {min(bounds)} to {max(bounds)} and a best recall of "
        f"{min(recalls)} or {max(recalls)})",
        "if there was no threshold",
    )
    means = found.groupby(["positives", "kept"]).mean(numeric_only=True)
    for size, kept in ((50, 1), (200, 1), (2000, 1), (200, 0.05), (2000, 0.05)):
        own = means.loc[size, kept]
        none, reached = own.none_after + 1e-9, own.reached_after + 1e-9  # .0555 as in table.md
        page.says(f"| {size} | {kept} | {none:.3f} | {reached:.3f} |")
    page.says(
        f"With 50 positives `first_test={of['least_false']}` leaves "
        f"{means.loc[50, 1].none_before:.3f} without a threshold."
    )


ORDINAL = Page(
    "docs/ordinal_probabilities.md",
    exempt={
        "gets the probability 0": "a definition",
        "With two classes it is not log loss": "a definition",
    },
)


@ORDINAL.check
def ordinal_logit(page: Page) -> None:
    found = results("ordinal_probabilities", "differences")
    own = found[(found.measure == "log_loss") & (found.method == "ordinal logit")]
    better, worse = verdicts(own.verdict)
    page.says(
        f"its log loss was clearly lower than that of multi-class boosting in {better} of "
        f"{len(own)} comparisons and clearly higher in {worse}, above all where the "
        "classes are not points on one scale ("
    )
    page.holds(own.file[own.difference.idxmax()] == "car", "the ordinal logit loses most on rules")


OWN = Page("docs/own_objective.md")


@OWN.check
def differentiated(page: Page) -> None:
    ratio = {}
    for hessian in ("exact", "constant"):
        of = benchmark("objective")
        ours, jax = of.numbers(f"loss differentiated, hessian {hessian}, 1,000,000 rows:")[:2]
        ratio[hessian] = f"{jax / ours:.0f}"
    page.says(
        f"At 1,000,000 rows a call for the logistic loss takes {ratio['constant']} times "
        f"(constant) to {ratio['exact']} times (exact) as long as our own objective's ("
    )


# docs/rare_events.md


RARE = Page(
    "docs/rare_events.md",
    parts=("docs/resampled.md",),
    exempt={
        "that predicts exactly 0 and 1": "of forests",
        "Do not weigh the kept negatives by 1/r": "a formula",
    },
)


@RARE.check
def rates_by_row(page: Page) -> None:
    one, three, ten = which_one.by_row_gains()
    page.says(
        f"the logloss was lower, by two standard errors, {one} comparisons at one negative per "
        f"positive (where the mean prediction was too high), {three} at three and {ten} at ten."
    )


@RARE.check
def five_bags(page: Page) -> None:
    found = results("five_bags").query("other == 'one bag'")
    cells, of = results("five_bags", "cells"), settings("five_bags")
    page.says(f"against `n_bags=1` on {cells['data'].nunique()} data sets ([study]")
    for row in found.itertuples():
        page.says(
            f"| {row.booster} | {row.rate:g} | {row.percent:+.1f} % | {row.ap:+.3f} | "
            f"{row.ratio_other:.2f} | {row.ratio:.2f} ({row.ratio_low:.2f} to "
            f"{row.ratio_high:.2f}) | {row.fits_timed:.1f} |"
        )
    page.holds(results("five_bags", "behind").empty, "no data set is behind")
    (worst,) = found[found.worst_percent > 0].itertuples()
    events = cells[cells["data"] == worst.worst].events.unique()
    page.says(
        f"Only {worst.worst}, with {events.item()} events, did with {worst.booster} at "
        f"{worst.rate:g}, by {worst.worst_percent:.1f} %. "
        f"The time is that of fitting {of['timed']:,} rows"
    )


@RARE.check
def bags_that_calibrate_themselves(page: Page) -> None:
    found = results("averaged_models").query("models == 'bags'").set_index(["booster", "number"])
    five = found.loc[("LightGBM", 5)].set_index("rate")
    files = five.better + five.worse
    assert set(files) == {15}
    page.says(
        f"With five bags of LightGBM on fifteen data sets, the log loss was lower by "
        f"{-five.percent[0.05]:.0f} % at a rate of 0.05 and by {-five.percent[0.02]:.0f} % at 0.02"
        f", and worse on {'some' if five.worse.any() else 'none'}"
    )
    ten = found.loc[("XGBoost", 10)]
    page.says(f"ten bags of XGBoost got worse on {word(ten.worse.max())} data sets with few events")


@RARE.check
def bags(page: Page) -> None:
    found = results("bag_averages")
    own = found[(found.bags == 5) & found.model.isin(BOOSTERS)]
    mean = own.groupby("average").mean_ratio.mean()
    page.says(
        f"its mean is lower for rare events ({mean.log_odds:.2f} with five bags, where that of "
        f"probabilities is {mean.probability:.2f}; [study]"
    )
    several = found[(found.bags > 1) & (found.average == "log_odds")]
    losers = set(several.model[several.loses])
    page.holds(
        "forest of 20" in losers and not losers & set(BOOSTERS),
        "log-odds lose to one bag with forests only",
    )
    both = own.set_index(["data", "model", "average"])
    apart = both.difference.xs("log_odds", level=2) - both.difference.xs("probability", level=2)
    page.holds(
        (apart.abs() < both.error.xs("probability", level=2)).all(),
        "the averages are level in log loss for boosters",
    )


@RARE.check
def kept_negatives(page: Page) -> None:
    of = settings("few_events")["kept"]
    normal = NormalDist(of["mean"], of["spread"]).quantiles(10_000)
    events = 100 * expit(normal).mean()
    page.says(
        "an overconfident model, and negatives kept at "
        f"{of['rate']} of {of['rows']:,} rows ([the study]",
        f"in e-5, with {events:.1f} % events,",
        "| | all rows | weights 1/r |",
    )
    names = {
        "logit": "LogitCalibrator", "spline": "SplineCalibrator", "beta": "BetaCalibrator",
        "Venn-Abers": "VennAbersCalibrator",
        "ROC hull": 'ROCConvexHullCalibrator(m=2, prior="base_rate")',
    }  # fmt: skip
    kept = results("few_events", "kept").set_index("calibrator")
    for row, name in zip(kept.index, names.values(), strict=True):
        cells = " | ".join(f"{kept.loc[row, way]:.1f}" for way in ("all rows", "weights", "rate"))
        page.says(f"| `{name}` | {cells} |")


@RARE.check
def weights(page: Page) -> None:
    better, of, worse = bounded_against()
    page.says(
        f'At the boosters\' defaults and rates of 0.1 and 0.01, `hessian="bounded"` was better in '
        f"{better} of {of} comparisons and worse in {word(worse)}. `max_delta_step=1` did as well, "
        "and with that tuned the two mostly do not differ clearly."
    )
    found = results("curvature", "counts")
    rates = set(found.weight[found.kind == "weighted"])
    page.holds(rates == {1, 10, 100}, "the rates of large weights are .1 and .01")
    ahead, of, behind = bounded_against("exact, max_delta_step 1")
    page.holds(ahead + behind <= of / 4, "max_delta_step=1 did as well as the bounded hessian")
    ahead, of, behind = bounded_against("exact, tuned", "bounded, tuned")
    page.holds(ahead + behind <= of / 4, "tuned, bounded and exact are mostly level")


@RARE.check
def sampling(page: Page) -> None:
    found = results("negative_downsampling", "files/methods_differences")
    own = found[(found["first"] == "weighted, tuned") & (found.second == "corrected, tuned")]
    tenth, fiftieth = (own[own.keep_rate == rate].verdict for rate in (0.1, 0.02))
    level, lose = verdicts(tenth)[1] <= len(tenth) / 4, verdicts(fiftieth)[1] > len(fiftieth) / 2
    one = found[(found["first"] == "corrected, tuned") & (found.second == "all rows, tuned")]
    auc = one[one.keep_rate == 0.02].auc
    page.says(
        f"weights are {'about as good as' if level else 'worse than'} a correction at a tenth of "
        f"the negatives and {'lose' if lose else 'do not lose'} at a fiftieth, where one sample "
        "also ranks a little worse than all rows."
    )
    page.holds(-0.02 < auc.mean() < 0, "one sample ranks a little worse than all rows")


# docs/probabilities.md


PROBABILITIES = Page(
    "docs/probabilities.md",
    parts=("docs/moved_segments.md",),
    exempt={
        "expected calibration error is above 0": "a definition",
        "in 25 fits": "five calibrators on five folds, which tests of choose_calibrator count",
        "where one in twenty was kept": "the rate of the study, .05, checked with the coverage",
    },
)


@PROBABILITIES.check
def calibrators(page: Page) -> None:
    found = results("few_events", "comparison")
    page.holds(found.holds.all(), "the shrunk spline loses nothing where events are many")
    page.says(f"With few events, say two to {word(settings('few_events')['most_events_of_few'])},")
    page.says(f"compared with {word(number_of_peers())} other packages.")


@PROBABILITIES.check
def linear_member(page: Page) -> None:
    found = results("linear_member").query("booster == 'both'").set_index("arm")
    own = found.loc["trees and linear"]
    page.says(
        f"On {own.files} data sets such a list had {-own.log_loss:.1f} ± {own.log_loss_se:.1f} % "
        f"less log loss than trees alone ({own.better} better, {own.worse} worse), and an average "
        f"precision higher by {own.average_precision:.3f} ± {own.average_precision_se:.3f},"
    )
    each = results("linear_member", "differences").query("booster == 'both' and arm == 'linear'")
    page.holds((each.log_loss > 40).sum() > 4, "a linear model alone was often far behind")


@PROBABILITIES.check
def limits(page: Page) -> None:
    found = results("calibration_coverage")
    found = found[~found.model.str.endswith("no groups")]  # where the rows of users are named
    few = found[(found.what == "error") & (found.rate == 0.05)].coverage
    page.holds(found.coverage.drop(few.index).min() > 0.92, "other limits hold as promised")
    page.says(
        "about as often as promised, but for the interval of the calibration error where few "
        f"negatives were kept ({few.min():.2f} instead of 0.95"
    )


@PROBABILITIES.check
def focal(page: Page) -> None:
    own = results("focal")
    own = own[own.method.str.startswith("focal")]
    ranks = sum(
        (own[f"{name}_difference"] > 2 * own[f"{name}_error"]).sum()
        for name in ("auc", "average_precision")
    )
    page.says(
        f"the focal loss ranked {'no better' if ranks == 0 else 'better'} than plain log loss."
    )


@PROBABILITIES.check
def moved_segments(page: Page) -> None:
    found = results("segment_calibrator")
    own = found[(found.data == segment_calibrator.SIMULATED)].set_index(["method", "moved"])
    less = own["less ours"][segment_calibrator.REPAIR]
    page.says(f"better by {less.mean():.2f} thousandths of log loss on average, and never clearly")
    page.says(f"Where nothing moved, it costs {-less['nothing']:.2f} more.")
    trees = found[found.method == segment_calibrator.REPAIR]
    moved = trees[trees.moved.isin(segment_calibrator.CASES[1:3])]
    page.holds(
        (moved["less ours"] > -2 * moved["less ours se"]).all(),
        "it is never clearly worse than trees where segments moved",
    )


# docs/delayed_labels.md


DELAYED = Page(
    "docs/delayed_labels.md",
    sections=("What the study found",),
    exempt={"The last two columns break the assumption": "longer by a feature, longer lately"},
)


@DELAYED.check
def delays(page: Page) -> None:
    of = settings("delayed_labels")
    rng = np.random.default_rng(0)
    rows = delayed_labels.draw(rng, 200_000, of["delays"]["exponential"], of)
    positives = 100 * rows.p.mean()  # a standard error of .01
    page.says(
        f"{of['rows']:,} rows of up to {of['oldest']} days, {positives:.1f} % positives in the "
        f"end, and labels that arrive within {of['window']} days.",
        f"thousandths, with LightGBM, over {of['draws']} draws (",
    )
    summary = results("delayed_labels")
    mean = summary.set_index(["booster", "method", "delays"]).sort_index()
    rows = {
        "unseen labels as negatives": "as negatives",
        **{f"rows of {days} days or more": f"waiting {days} days" for days in of["waits"]},
        "the age as a feature": "age as a feature",
        "the objective, F known": "objective, F known",
        "**the objective, F estimated**": "objective, F estimated",
    }
    for name, method in rows.items():
        cells = mean.loc["LightGBM", method].loc[list(of["delays"])]
        shown = [plus_minus(*cell, 2) for cell in cells[["excess", "error"]].to_numpy()]
        page.says(f"| {name} | {' | '.join(shown)} |")
    own = mean.loc["LightGBM"]
    estimated, known = (
        f"{own.excess[f'objective, F {how}', 'longer by a feature']:.2f}"
        for how in ("estimated", "known")
    )
    low = 1 - mean.ratio.xs("objective, F estimated", level="method").xs("longer lately", level=1)
    times = of["delays"]["longer by a feature"]["ratio"], of["delays"]["longer lately"]["ratio"]
    page.says(
        f"Where delays are {word(times[0])} times as long in one half of the rows, by a feature, "
        f"one F for all has an excess of {estimated} instead of {known}. Where they became "
        f"{'twice' if times[1] == 2 else times[1]} as long lately, predictions are "
        f"{span(100 * low, 0)} % too low."
    )
    found = results("delayed_labels", "comparison")
    waits = found[found.method.str.startswith("waiting")]
    page.says(
        "In both the log loss of the objective is "
        f"{'still' if waits.holds.all() else 'not always'} better than that of waiting."
    )
    age = found[found.method == "age as a feature"]
    level = age[~age.holds]
    page.says(
        f"Of {word(len(age))} comparisons with the objective it is worse in "
        f"{word(age.holds.sum())}, and not clearly different in {word(len(level))}, with "
        f"{' and '.join(level.booster)}."
    )


# docs/large_data.md, docs/deploy.md, docs/scaling.md


LARGE = Page("docs/large_data.md")


@LARGE.check
def chunks(page: Page) -> None:
    of = benchmark("large_data")
    (seconds,) = of.numbers("processor time of the sums in chunks")
    peak = of.figure("peak beyond what was there before, MB")
    page.says(
        f"50,000,000 scores of six classes, in chunks of 500,000, took {seconds:.0f} s of "
        f"processor time and {peak:.0f} MB beyond what the process held before ("
    )
    of.after("50,000,000 rows in chunks / making them")


DEPLOY = Page("docs/deploy.md")


@DEPLOY.check
def served(page: Page) -> None:
    of = benchmark("serving")
    timed = [line for line in of.lines if "/ its boosters" in line]
    models = [line for line in timed if not re.search(r", [\d,]+ rows?, ", line)]
    ratios = [of.after(line).figure(line.split("  ")[0].strip()) for line in models]
    page.says(
        f"The prediction of a million rows took {span(ratios)} times as long as that of the "
        "boosters alone ("
    )


SCALING = Page("docs/scaling.md", sections=("Measured", "1,000,000,000 rows on 100 workers"))
SIZES = [10**k for k in range(4, 9)]


def figure(ratio: float) -> str:
    return f"{ratio:.0f}" if ratio >= 10 else f"{ratio:.1f}"


def scaling_table() -> str:
    """Times the limit at each number of rows, and bytes a row at the most."""
    text = (benchmarks.RESULTS / "scaling.txt").read_text(encoding="utf-8")
    times: dict[str, dict[int, str]] = {}
    memory: dict[str, str] = {}
    for what, found, goal, _ in benchmarks.figures(text):
        rows, _, name = what.partition(" rows: ")
        step, _, limit = name.partition(" / ")
        if limit:
            times.setdefault(f"| {step} | {limit} |", {})[int(rows.replace(",", ""))] = found
        elif rows == f"{SIZES[-1]:,}":
            memory[name.partition(", bytes")[0]] = f"{float(found):.0f} | {goal} |"
    head = [f"10^{len(str(n)) - 1}" for n in SIZES]
    lines = [
        f"| step | limit | {' | '.join(head)} | bytes a row | promised |",
        f"|---|---|{'---|' * len(head)}---|---|",
    ]
    for name, found in times.items():
        cells = " | ".join(figure(float(found[n])) for n in SIZES)
        lines.append(f"{name} {cells} | {memory[name.split(' | ')[0].strip('| ')]}")
    return "\n".join(lines)


@SCALING.check
def one_machine(page: Page) -> None:
    page.shows(scaling_table())


@SCALING.check
def rounds(page: Page) -> None:
    """h and g of one worker, in ns a row of 10 features; what follows for more."""
    of = benchmark("distributed")
    measured = {}
    for world in (1, 2, 4):
        own = of.after(f"{world} worker")
        plain, qwk = own.numbers("a round:")[:2]
        processor = own.figure("the same in processor time of a worker")
        message = own.numbers("32 numbers: median")[0] if world > 1 else 0.0
        measured[world] = plain, qwk, message, processor
    plain, qwk, _, _ = measured[1]
    g = round(qwk - plain)  # ms for a million rows: ns a row
    numpy = benchmark("objective").numbers("bound gradient, 1,000,000 rows:")[0]
    page.says(
        f"on one worker, g is {g} ns: {numpy:.0f} are our numpy on one thread,",
        f"seconds_per_row={g}e-9):",
    )
    missing = []
    for world, (plain, qwk, message, processor) in measured.items():
        ours = plain + g / min(world, 2) + message
        if world > 1:
            missing.append(qwk - ours)
        name = "4, on two cores" if world == 4 else str(world)
        bare = f"{message:.2f} ms" if message else ""
        row = f"| {name} | {bare} | {plain:.0f} ms | {qwk:.0f} ms | {ours:.0f} ms |"
        page.says(f"{row} {processor:.2f} |")
    guarded = of.after("2 workers").figure(
        "ms of a guarded message: a metric of a row, less the same without workers"
    )
    (metric, *_) = of.after("2 workers").numbers("metric of a row: median")
    page.says(
        f"The model's QWK is the measured squared error, {g} ns for each row of the two cores, and "
        f"one message. It is {span(missing, 0)} ms short with several workers,",
        f"took {metric:.2f} ms on two workers, with {metric - guarded:.2f} ms without.",
        "measures the terms for 1, 2 and 4 workers of one machine:",
    )
    histograms = measured[1][0] * 100 / 16 / 1000
    latency, volume = 7 * 198 * 50e-6, 2 * 13e6 / 1e9
    objective, messages = 1e7 * g * 1e-9, 2 * 99 * 50e-6
    theirs, added = histograms + latency + volume, objective + messages
    page.says(
        f"| XGBoost's histograms, 16 threads | {histograms:.2f} | {measured[1][0]:.0f} ms for 10^6 "
        "rows x 10 features on one thread, times 100, by 16 |",
        f"| its messages: latency, bytes | {latency:.2f}, {volume:.2f} | 7 x 198 x 50 us; 2 x 13 "
        "MB at 1 GB/s |",
        f"| an objective in Python, one thread | {objective:.2f} | 10^7 x {g} ns |",
        f"| our messages, objective and one evaluation set | {messages:.2f} | 2 x 99 x 50 us |",
        f"The prediction is {theirs:.2f} s a round of XGBoost's own and {added:.2f} s of ours, "
        f"{100 * added / theirs:.0f} %.",
        f"At 500 us, on a slow or shared network, the messages take {10 * latency:.1f} s of "
        f"XGBoost and {10 * messages:.1f} s of ours;",
        f"50e-6), 2)) # {added:.2f} s",
    )


SCALING.exempt = {
    "These are 100 features, depth 6, 50 us of latency and 1 GB/s.": "given",
    "A worker has 10,000,000 rows.": "given",
    "nothing here was run on 100 machines": "given",
    "With 64 threads a worker h shrinks and g does not: our share of a round doubles or": "given",
    "at 1,000 workers the ring has ten times the steps. The ratio of the two stays.": "follows",
    "On GPUs h falls by another factor of ten": "an expectation, of no measurement of ours",
    "Sums of 10^9 rows in float64 have relative errors of about 10^-13": "of the type",
    "an all-reduce of 32 numbers, many times": "what to measure",
    "| workers, 10^6 rows x 10 | all-reduce of 32 numbers |": "what is measured",
    "its workers share two cores": "the machine",
}

# docs/theory


PERFORMANCE = Page(
    "docs/theory/performance.md",
    exempt={
        "for the two models that are trained": "of a pair",
    },
)


@PERFORMANCE.check
def coverage(page: Page) -> None:
    percent = 100 * results("performance_coverage")[["coverage", "naive_coverage"]]
    ours, naive = (span(percent[name].dropna(), 0) for name in percent)
    page.says(
        f"intervals of 90 % covered in {ours} %, those with the naive error in {naive} %. They are "
        "too wide where features are many for the rows."
    )
    found = results("performance_coverage")
    many = found[(found.features == found.features.max())]
    page.holds((many.coverage > 0.93).all(), "intervals are too wide where features are many")
    held = results("comparison_level")
    held = held[held.equal]
    levels = held.groupby("test").holds.agg(["sum", "size"])
    page.holds((levels["sum"] < levels["size"]).all(), "no test keeps its level everywhere")
    page.says(
        f"none of {word(len(levels))} tests with the losses and fold scores of the nested run kept "
        f"its level for it in all of {word(levels['size'].iloc[0])} settings ("
    )
    at = {test: own["at_0.1"] for test, own in held.groupby("test")}
    nested, naive = (span(at[test]) for test in ("nested", "naive"))
    low, high = at["corrected t"].min(), at["corrected t"].max()
    page.says(
        f"it called one better in {nested} of draws at 0.10. The naive error, {naive}, and the "
        f"corrected t-test over folds, {low:.3f} to {high:.2f}, are no better."
    )


LOG_ODDS = Page("docs/theory/log_odds.md", exempt={
    "That of two classes": "a definition", "near 0, too": "a definition",
    "within 0 and 1": "a definition",
})  # fmt: skip


@LOG_ODDS.check
def priors(page: Page) -> None:
    found = results("prior_uncertainty")
    near = found[(found.way == "held-out rows") & (found.prior == "0.05")].coverage
    covers = "as it should" if ((near - 0.9).abs() < 0.02).all() else "not as it should"
    page.says(f"near 0, too, it covers [{covers}](")
    own = results("negative_downsampling", "files/methods_differences")
    own = own[(own["first"] == "weighted, tuned") & (own.second == "corrected, tuned")]
    few = own[own.keep_rate == own.keep_rate.min()].verdict
    page.says(
        f"That {'costs' if verdicts(few)[1] > len(few) / 2 else 'does not cost'} where few "
        "negatives are kept ([measured]"
    )


LEAVES = Page("docs/theory/leaf_steps.md")


@LEAVES.check
def leaves(page: Page) -> None:
    found = results("curvature", "counts")
    plain = found[(found.kind == "weighted") & (found.weight == 1) & (found["first"] == "bounded")]
    plain = plain[plain.second.isin(["exact", "exact, max_delta_step 1"])]
    word_ = "neither" if plain.better.sum() < plain.worse.sum() else "one"
    page.says(f"Which of them helps where, and that {word_} is a better default without weights,")


CALIBRATION = Page(
    "docs/theory/calibration.md",
    exempt={"one segment in twenty is beyond its 95 % limits": "what 95 % means"},
)


@CALIBRATION.check
def calibration(page: Page) -> None:
    page.says("[how often all these limits hold]")


QWK = Page("docs/theory/qwk.md")


@QWK.check
def averages(page: Page) -> None:
    gains = which_one.benchmark_gains()
    own = gains[(gains.arm == "QWKClassifier") & (gains.other == "folds averaged, Nelder-Mead")]
    more, less = verdicts(own.verdict)
    page.says(
        "are worse by two standard errors than these with curved thresholds on "
        f"{word(more)} of {word(len(own))} data sets, and better on {word(less)} ("
    )


THEORY_THRESHOLDS = Page(
    "docs/theory/thresholds.md",
    exempt={"the plug-in rule has three and does not": "parameters of the rule"},
)


@THEORY_THRESHOLDS.check
def common(page: Page) -> None:
    found = results("segment_thresholds", "simulated")
    found = found[found.effects == 0]
    least = found.loc[found["stay common"].idxmin()]
    rest = found["stay common"].drop(least.name).min()
    page.says(
        f"Without effects, thresholds stay common in {100 * least['stay common']:.0f} % of draws "
        f"with {least.segments} {least.sizes} segments of {least['rows']:,} rows together, and in "
        f"{100 * rest:.0f} % or more of others ([study]"
    )


# docs/migration.md: experiments/migration/page.py writes its tables, which are shown here


MIGRATION = Page(
    "docs/migration.md",
    parts=(*(f"docs/migration/{pair}.md" for pair in TITLES), "docs/alternatives.md"),
    exempt={
        "so it should be 1": "a definition",
        "with grades from 1 to 6 and no weights": "how the old code is called",
        "takes five more trainings": "cv=5",
        "trains five models": "the default of n_bags",
        "a probability of exactly 0": "a definition",
        "0.13.1": "a version",
        "more than two standard errors count": "the rule of the study",
    },
)


def paired(pair: str, first: str, second: str) -> tuple[float, float]:
    """Mean and error over draws of the first way's score less the second's, of the plain case."""
    cells = results("migration", "cells")
    own = cells[(cells.pair == pair) & cells.case.isna()].set_index(["way", "draw"]).score
    gap = own[first] - own[second]
    return gap.mean(), gap.sem()


@MIGRATION.check
def packages(page: Page) -> None:
    counts, _ = table("ordinal_packages").split("\n\n")
    files = results("ordinal_packages").file.nunique()
    for line in counts.splitlines():
        of = rf"- than (.*): log loss better in (\d) of {files}, worse in (\d); "
        of += rf"kappa better in (\d) of {files}, worse in (\d)"
        found = re.fullmatch(of, line)
        assert found is not None, line
        page.says(f"| {' | '.join(found.groups())} |")
    page.says(f"on how many of {word(files)} data sets `QWKClassifier` is better or worse")
    measured = set(PEERS) & set(results("calibrators").calibrator)
    page.says(f"[{word(len(measured))} calibrators of others]")


for check in (alternatives.versions, alternatives.costs, alternatives.measured):
    MIGRATION.check(check)


@MIGRATION.check
def migration(page: Page) -> None:
    _, broken, _ = table("migration").split("\n\n")
    page.shows(broken)
    of = settings("migration")
    cells = results("migration", "cells")
    plain = cells[cells.case.isna()]
    page.says(f"is a standard error over {word(of['draws'])} draws.")
    ordinal = list(plain.pair[plain.unit == "kappa"].unique())
    ahead = [pair for pair in ordinal if (lambda m, e: m > 2 * e)(*paired(pair, "after", "before"))]
    page.says(
        f"{word(len(ahead))} of the {word(len(ordinal))} ordinal pairs are still better afterwards "
        "by more than two standard errors."
    )
    seconds = plain.groupby(["pair", "way"]).seconds.mean().unstack()
    mean, error = paired("downsampling", "all rows, no sampling", "after")
    page.says(f"(All rows were worse by {plus_minus(mean, error)} here,")
    mean, error = paired("under_sampler", "after", "all rows, no sampling")
    page.says(f"a model of all rows was better by {plus_minus(mean, error)}.")
    mean, _ = paired("voting", "rounding, no thresholds", "after")
    page.says(f"can be rounded, and loses {-mean:.3f} (")
    mean, error = paired("calibrated", "after", "before")
    page.holds(mean < -2 * error, "our calibration has a lower log loss")
    mean, _ = paired("calibrated", "sigmoid, `ensemble=False`", "after")
    page.says(f"the loss is higher by {mean:.4f} than ours.")
    mean, _ = paired("lgbm_folds", "`QWKClassifier`", "after")
    half = seconds.loc["lgbm_folds", "`QWKClassifier`"] / seconds.before["lgbm_folds"]
    page.holds(0.4 < half < 0.6, "QWKClassifier takes half the seconds")
    page.says(f"{round(mean, 3)} better still, in half the seconds of the pasted block")
    share = seconds.after["tuned_threshold"] / seconds.before["tuned_threshold"]
    page.holds(share < 0.5, "our threshold takes less than half of the seconds")
    page.says("There is no gain in F1.", "in less than half of the seconds.")
    found = results("ordinal_probabilities", "differences")
    found = found[(found.file == "car") & (found.measure == "log_loss")]
    page.holds((found.verdict == "worse").any(), "multi-class boosting is better on rules")
    page.says(
        "the boosters' own multi-class objective, which has the better probabilities ([study]"
    )
