"""Sentences of README.md, the guide and its theory, with figures from the results."""

from __future__ import annotations

import re

import pandas as pd

from experiments.calibrators.__main__ import PEERS
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


# README.md


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
    page.says(f"Its five models have {less.min():.0f} to {less.max():.0f} % less log loss than one")
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


FIRST_CLICKS = Page("docs/first_clicks.md")


@FIRST_CLICKS.check
def first_clicks(page: Page) -> None:
    less = -results("five_bags").query("other == 'one bag'").percent
    page.says(f"Five models have {less.min():.0f} to {less.max():.0f} % less log loss than one")


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


# docs/thresholds.md


THRESHOLDS = Page("docs/thresholds.md")


@THRESHOLDS.check
def thresholds(page: Page) -> None:
    lost, rows = which_one.curved_losses()
    found = results("early_stopping", "differences").query("arm == 'auto' and booster == 'both'")
    page.says(
        f"This gains {found.qwk.mean():.3f} of QWK in the mean of {len(found)} data sets",
        f'In {rows} comparisons `"curved"` was {"never" if lost == 0 else "sometimes"} worse than '
        "another method by two standard errors",
    )
    rare = [len(which_one.rare_losses("curved", o)) for o in ("exact", "plugin", "nelder-mead")]
    page.holds(min(rare) > 0, "curved thresholds are not always best on rare grades")


# docs/blend.md


BLEND = Page("docs/blend.md")


@BLEND.check
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


# docs/segments.md


SEGMENTS = Page("docs/segments.md")


@SEGMENTS.check
def segments(page: Page) -> None:
    made, real = (results("segment_thresholds", name) for name in ("simulated", "real"))
    both = pd.concat([made, real])
    worse = (both.shifts < -2 * both["shifts se"]).sum()
    middle = made[(made.effects == 0.3) & (made.confounded == 0)].shifts
    weak = made[(made.effects == 0.1) & (made["rows"] == 1000)].shifts.max()
    name = "shifts over separate exact"
    exact = (made[name] > 2 * made[f"{name} se"]).sum()
    page.says(
        f"Ignoring a site difference of 0.3 grades costs {span(middle, 3)} of QWK, and one of 0.1 "
        f"grades at most {weak:.4f} in 1,000 rows",
        f"Shifts were {'never' if worse == 0 else 'sometimes'} worse than common thresholds by two "
        f"standard errors, in {len(both)} comparisons.",
        f"were worse than shifts in {'all ' * int(exact == len(made))}{exact} simulated "
        "comparisons",
    )
    has = real["segment is a feature"] == "yes"
    best, without = real[has].loc[real[has].shifts.idxmax()], real[~has]
    page.says(
        f"Shifts after that gained {plus_minus(best.shifts, best['shifts se'])} of QWK at most on "
        f"{word(real.file.str.split(',').str[0].nunique())} real data sets. Without the feature "
        f"they gained up to {without.shifts.max():.4f}, and the feature was worth more ("
    )
    common = real.set_index(["file", "segment is a feature"]).common
    most = without.loc[without.shifts.idxmax()]
    worth = common[most.file, "yes"] - common[most.file, "no"]
    page.holds(worth > most.shifts, "the segment as a feature is worth more than shifts")


# docs/other_kappas.md


OTHER_METRICS = Page("docs/other_kappas.md")


@OTHER_METRICS.check
def classes_or_thresholds(page: Page) -> None:
    column = results("decisions", "differences").verdict_corrected
    better, worse = verdicts(column)
    page.holds(worse == 0 and better < len(column) / 4, "decide is as good as exact thresholds")
    page.says("as good as exact thresholds on the score")


# docs/decide.md


DECIDE = Page("docs/decide.md")


@DECIDE.check
def action_costs(page: Page) -> None:
    found = results("action_costs").set_index(["way", "data"])
    row, cut = (found.cost[way] for way in ("decide, costs by row", "one cut"))
    percent, own = 100 * (1 - row / cut), found.loc["decide, costs by row"]
    clear = (own.less_than_cut > 2 * own.error_cut).sum()
    page.says(
        f"on {word(len(own))} data sets, costs of each row saved {percent.min():.0f} to "
        f"{percent.max():.0f} % compared with one threshold, on {word(clear)} of them clearly."
    )


# docs/nominal.md


NOMINAL = Page("docs/nominal.md")


@NOMINAL.check
def decision_rules(page: Page) -> None:
    own, compared = results("decision_rules", "counts"), results("decision_rules", "differences")
    cells, files = compared.groupby("way").size(), set(compared.file) - {"simulated"}
    better, worse = (own.groupby("way")[name].sum() for name in ("better", "worse"))
    mean = own[own.metric == "macro_f1"].set_index("way")["mean"]
    rule, weighed = "rule", "class_weight"
    page.says(
        f"On {word(len(files))} data sets and simulated rows the rule was clearly better than the "
        f"most probable class in {better[rule]} of {cells[rule]} comparisons, and clearly worse in "
        f"{word(worse[rule])}. It gained {mean[rule]:.3f} of macro F1 in the mean. Training with "
        f'`class_weight="balanced"` gained {mean[weighed]:.3f} (',
    )


# docs/constraints.md, ordinal_probabilities.md, own_objective.md


CONSTRAINTS = Page("docs/constraints.md")


@CONSTRAINTS.check
def bounds_on_new_rows(page: Page) -> None:
    found = results("constraint_coverage")
    found = found[(found.metric == "precision") & (found.weights == "none") & (found.kept == 1)]
    page.says("One row in ten was positive (")
    for bound in (0.5, 0.8):
        for size in (50, 1000) if bound == 0.5 else (50, 200, 1000):
            rows = f"{size} positives, base rate 0.1"
            own = found[(found.bound == bound) & (found.rows == rows)].set_index("way")
            here, new = own.loc["on these rows"], own.loc["confidence level"]
            page.says(
                f"| precision at least {bound} | {size} | {here.violated:.3f} | "
                f"{new.violated:.3f} | {new.none:.3f} | {new.reached:.3f} |"
            )


ORDINAL = Page("docs/ordinal_probabilities.md")


@ORDINAL.check
def ordinal_logit(page: Page) -> None:
    found = results("ordinal_probabilities", "differences")
    own = found[(found.measure == "log_loss") & (found.method == "ordinal logit")]
    better, worse = verdicts(own.verdict)
    page.says(
        f"Its log loss was clearly lower than that of multi-class boosting in {better} of "
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
        f"(constant) to {ratio['exact']} times (exact) as long as that of our own objective ("
    )


# docs/rare_events.md, docs/keep_rates.md, docs/resampled.md


RARE = Page("docs/rare_events.md")


@RARE.check
def five_samples(page: Page) -> None:
    found = results("five_bags").query("other == 'one bag'")
    cells, of = results("five_bags", "cells"), settings("five_bags")
    low, high = sorted(of["rates"])
    page.says(
        "Five samples take longer and predict better,",
        f"on {cells['data'].nunique()} data sets found:",
    )
    page.shows(
        f"""
| at keep rates of {low:g} and {high:g} | one sample | five samples |
| mean prediction / truth | {span(found.ratio_other)} | {span(found.ratio)} |
| log loss | | {span(-found.percent, 0)} % lower |
| time of a fit, {of["timed"]:,} rows | 1 | {span(found.fits_timed, 1)} |
"""
    )
    page.holds(results("five_bags", "behind").empty, "no data set is behind")


@RARE.check
def rates(page: Page) -> None:
    found = results("five_bags").query("other == 'all rows, calibrated'")
    page.holds((found.difference < 2 * found.error).all(), "the differences are not clear")
    page.says(
        "The [study of five samples](../experiments/five_bags/README.md) compares these with "
        "`CalibratedClassifier` on all rows. The mean differences are below two standard errors, "
        "but a lower rate costs more:",
        "| keep rate | mean log loss of five samples |",
    )
    for rate, own in found.groupby("rate"):
        page.says(f"| {rate:g} | {span(own.percent, 1)} % higher |")


@RARE.check
def weights(page: Page) -> None:
    found = results("negative_downsampling", "files/methods_differences")
    own = found[(found["first"] == "weighted, tuned") & (found.second == "corrected, tuned")]
    fiftieth = own[own.keep_rate == 0.02].verdict
    page.says(
        f"weights were {'never' if verdicts(own.verdict)[0] == 0 else 'sometimes'} clearly better. "
        f"They were clearly worse in {verdicts(fiftieth)[1]} of {len(fiftieth)} comparisons where "
        "one negative in fifty was kept."
    )
    better, of, worse = bounded_against()
    page.holds(better > of / 2 and worse == 0, "large weights need the bounded hessian")


KEEP_RATES = Page("docs/keep_rates.md", exempt={"With weights of 1/rate": "a formula"})


@KEEP_RATES.check
def rates_by_row(page: Page) -> None:
    found = results("negative_downsampling", "files/by_row_differences")
    page.says("| negatives per event | rates by row clearly better | comparisons |")
    for negatives, own in found.groupby("per_positive"):
        better, worse = verdicts(own.verdict)
        page.says(f"| {negatives} | {better} | {len(own)} |")
        page.holds(worse == 0, "rates by row are never clearly worse")
    page.holds(
        found[found.per_positive == 1].mean_ratio.mean() > 0, "predictions are too high at one"
    )


@KEEP_RATES.check
def kept_negatives(page: Page) -> None:
    kept = results("few_events", "kept")
    page.says(
        f"{word(len(kept))} calibrators were then {span(kept.weights / kept.rate, 1)} times as far "
        "from the truth."
    )


# docs/calibrators.md, linear_member.md, calibration_error.md, focal_loss.md, moved_segments.md


CALIBRATORS = Page("docs/calibrators.md")


@CALIBRATORS.check
def calibrators(page: Page) -> None:
    found = results("few_events", "comparison")
    page.holds(found.holds.all(), "the shrunk spline loses nothing where events are many")
    page.says(f"With few events, say two to {word(settings('few_events')['most_events_of_few'])},")
    page.says(f"compared with {word(number_of_peers())} other packages.")


LINEAR_MEMBER = Page("docs/linear_member.md")


@LINEAR_MEMBER.check
def linear_member(page: Page) -> None:
    found = results("linear_member").query("booster == 'both'").set_index("arm")
    own = found.loc["trees and linear"]
    page.says(
        f"On {own.files} data sets such a list had {-own.log_loss:.1f} ± {own.log_loss_se:.1f} % "
        f"less log loss than trees alone ({own.better} better, {own.worse} worse), and an average "
        f"precision higher by {own.average_precision:.3f} ± {own.average_precision_se:.3f},"
    )
    each = results("linear_member", "differences").query("booster == 'both' and arm == 'linear'")
    page.holds((each.log_loss > 40).sum() > 4, "a linear model alone was often far worse")


CALIBRATION_ERROR = Page("docs/calibration_error.md")


@CALIBRATION_ERROR.check
def limits(page: Page) -> None:
    found = results("calibration_coverage")
    found = found[~found.model.str.endswith("no groups")]  # where the rows of users are named
    few = found[(found.what == "error") & (found.rate == 0.05)].coverage
    page.holds(found.coverage.drop(few.index).min() > 0.92, "other limits hold as promised")
    page.says(
        "An exception is `interval` if one in twenty negatives was kept: it holds in "
        f"{few.min():.2f} of samples instead of 0.95."
    )


FOCAL = Page("docs/focal_loss.md")


@FOCAL.check
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


MOVED_SEGMENTS = Page("docs/moved_segments.md")


@MOVED_SEGMENTS.check
def moved_segments(page: Page) -> None:
    found = results("segment_calibrator")
    own = found[(found.data == segment_calibrator.SIMULATED)].set_index(["method", "moved"])
    less = own["less ours"][segment_calibrator.AS_IS, "nothing"]
    page.says(f"nothing had moved, it cost {-less:.2f} thousandths of log loss")


# docs/monitor.md


MONITOR = Page("docs/monitor.md")


@MONITOR.check
def looks(page: Page) -> None:
    found = results("monitor", "alarms").query("rate == 1").set_index("what").alarms
    of, medians = settings("monitor"), results("monitor", "medians")
    own = medians[(medians.monitor == "ours") & (medians["size"] == 0.25) & (medians.day == 90)]
    page.says(
        f"of right probabilities over {of['looks']} days, it raised an alarm in "
        f"{100 * found['right probabilities, final labels']:.1f} % of runs.",
        "Daily p-values were below 0.05 at least once in "
        f"{100 * found['p-value of the day below 0.05']:.0f} %. If the log-odds moved by 0.25 on "
        f"day 90, the median run found it within {own['median'].item():.0f} days.",
    )


# docs/delayed_labels.md


DELAYED = Page("docs/delayed_labels.md")


@DELAYED.check
def delays(page: Page) -> None:
    of, found = settings("delayed_labels"), results("delayed_labels", "comparison")
    others = found[found.method.str.startswith("waiting") | (found.method == "as negatives")]
    page.holds(others.holds.all(), "the objective is better than waiting and unseen negatives")
    mean = results("delayed_labels").set_index(["booster", "method", "delays"]).ratio
    low = 1 - mean.xs("objective, F estimated", level="method").xs("longer lately", level=1)
    times = of["delays"]["longer lately"]["ratio"]
    age = found[found.method == "age as a feature"]
    page.says(
        f"where delays had become {'twice' if times == 2 else times} as long lately, but "
        f"predictions were then {span(100 * low, 0)} % too low.",
        f"was clearly worse in {word(age.holds.sum())} of {word(len(age))} comparisons.",
    )


# docs/large_data.md, docs/deploy.md, docs/promises.md


LARGE = Page("docs/large_data.md")


@LARGE.check
def chunks(page: Page) -> None:
    of = benchmark("large_data")
    (seconds,) = of.numbers("processor time of the sums in chunks")
    peak = of.figure("peak beyond what was there before, MB")
    page.says(
        f"50,000,000 scores of six classes, in chunks of 500,000, took {seconds:.0f} s of "
        f"processor time and {peak:.0f} MB of extra memory ("
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


PROMISES = Page("docs/promises.md", sections=("What many machines cost",))


@PROMISES.check
def rounds(page: Page) -> None:
    """Rounds on 1, 2 and 4 workers; what an objective adds to one of them, in ns a row."""
    of = benchmark("distributed")
    for world in (1, 2, 4):
        own = of.after(f"{world} worker")
        plain, qwk = own.numbers("a round:")[:2]
        processor = own.figure("the same in processor time of a worker")
        page.says(f"| {world} | {plain:.0f} ms | {qwk:.0f} ms | {processor:.2f} |")
        if world == 1:
            page.says(f"adds {round(qwk - plain)} ns for each row of a worker")
    page.says("A round of 1,000,000 rows and 10 features took")
    page.says(
        f"At depth 6, with 100 features and 256 bins, these are {32 * 100 * 256 * 16e-6:.0f} MB."
    )


PROMISES.exempt = {
    "sends one message of 256 bytes": "32 numbers of float64",
    "from six grades on a second one of 8 K² bytes": "more than 28 counts, of float64",
    "workers on two cores": "the machine",
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
        f"intervals of 90 % covered in {ours} % of draws, and those with the naive error in "
        f"{naive} %."
    )
    held = results("comparison_level")
    held = held[held.equal]
    levels = held.groupby("test").holds.agg(["sum", "size"])
    page.holds((levels["sum"] < levels["size"]).all(), "no test keeps its level everywhere")
    page.says(
        f"none of {word(len(levels))} tests from the nested run kept its level in all of "
        f"{word(levels['size'].iloc[0])} settings."
    )
    nested = span(held[held.test == "nested"]["at_0.1"])
    page.says(f"it called one better in {nested} of draws at 0.10.")


LOG_ODDS = Page("docs/theory/log_odds.md", exempt={
    "The interval of two classes": "a definition", "near 0, too": "a definition",
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
    page.says(f"Without weights [{word_} is a better default](")


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
        f"by two standard errors on {word(more)} of {word(len(own))} data sets and worse on "
        f"{word(less)} ("
    )


THEORY_THRESHOLDS = Page(
    "docs/theory/thresholds.md",
    exempt={"The plug-in rule has three and varies less": "parameters of the rule"},
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
