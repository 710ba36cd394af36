"""Sentences of docs/alternatives.md with figures of experiments/peers."""

from __future__ import annotations

from experiments.peers.__main__ import INSTALL, verdict
from tests.pages.cited import ROOT, Page, plus_minus, results, settings

FILE = ROOT / "docs/alternatives.md"
LONG = {"optimal-cutoffs": "optimal-classification-cutoffs"}
LEVEL, BETTER, WORSE = "no clear difference", "better than ours", "worse than ours"
LOSS = "excess log loss, e-3"


class Found:
    """The summary of the study, by task, figure and package."""

    def __init__(self) -> None:
        self.table = results("peers").set_index(["task", "figure", "way"])

    def mean(self, task: str, figure: str, way: str = "ours") -> float:
        return float(self.table.value[task, figure, way])

    def gain(self, task: str, figure: str, way: str) -> tuple[float, float]:
        own = self.table.loc[(task, figure, way)]
        return float(own.gain), float(own.error)

    def says(self, task: str, figure: str, way: str) -> str:
        return verdict(*self.gain(task, figure, way))


def versions(page: Page) -> None:
    """Every package that the study ran has a row with the version that it ran."""
    text = FILE.read_text("utf-8")
    ran = results("peers", "versions").set_index("package").version
    page.holds(set(ran.index) == set(INSTALL), "each package of the study has a version")
    for package, version in ran.items():
        name = LONG.get(package, package)
        own = [line for line in text.splitlines() if f" | [{name}](" in line]
        at = f") {version} |"
        page.holds(len(own) == 1 and at in own[0], f"{name} {version} has a row")


def costs(page: Page) -> None:
    rows = results("action_costs").query("way == 'decide, costs by row'")
    close = rows.less_than_peer.abs() <= 2 * rows.error_peer
    page.holds(bool(close.all()), "decide with costs of each row is as good as empulse")


def measured(page: Page) -> None:
    found = Found()
    page.holds(found.says("segments", LOSS, "probcal") == BETTER, "probcal is better by segment")
    gain, error = found.gain("segments", LOSS, "probcal")
    of = settings("peers")["segments"]
    page.says(
        f"For {of['segments']} segments, the excess log loss (e-3) of probcal is "
        f"{found.mean('segments', LOSS, 'probcal'):.2f}, and that of our `InterceptCalibrator` in "
        f"each segment {found.mean('segments', LOSS):.2f}. The difference is "
        f"{plus_minus(gain, error, 2)}."
    )
    false, late = "false alarm in some day", "days from the drift to the alarm"
    of = settings("peers")["monitor"]
    page.holds(found.says("monitor", false, "probcal") == LEVEL, "false alarms are level")
    page.holds(found.says("monitor", late, "probcal") == WORSE, "probcal's alarm is later")
    page.says(
        f"Looking at our p-values every day at {of['level']:g} gave a false alarm within "
        f"{of['days']} days in {100 * found.mean('monitor', false, 'ours, 0.05 each day'):.0f} % "
        f"of {of['draws']} runs. probcal gave one in "
        f"{100 * found.mean('monitor', false, 'probcal'):.0f} %, and so did our p-values "
        f"at {of['level']:g} over {of['days']}.",
        "After a large drift, probcal's alarm came after "
        f"{found.mean('monitor', late, 'probcal'):.1f} days, and ours after "
        f"{found.mean('monitor', late):.1f}.",
    )
    page.holds(
        found.mean("monitor", false) == found.mean("monitor", false, "probcal"), "so did ours"
    )
    low = [f"{figure} below the best" for figure in ("f1", "accuracy")]
    page.holds(
        all(found.says("ties", one, "optimal-cutoffs") == WORSE for one in low), "ties cost it"
    )
    page.holds(all(found.mean("ties", one) == 0 for one in low), "ours is best with ties")
    page.says(
        "With tied scores, the threshold of optimal-classification-cutoffs was below the best in "
        f"{100 * found.mean('ties', low[0], 'optimal-cutoffs'):.0f} % of draws for F1, and in "
        f"{100 * found.mean('ties', low[1], 'optimal-cutoffs'):.0f} % for accuracy."
    )
    page.holds(found.says("macro", "macro F1", "optimal-cutoffs") == WORSE, "macro F1 is ours")
    gain, error = found.gain("macro", "macro F1", "optimal-cutoffs")
    page.says(
        f"`optimize_decisions` has a macro F1 that is higher by {plus_minus(-gain, error)} than "
        "that of its coupled thresholds."
    )
    page.holds(
        found.says("actions", "expected cost", "optimal-cutoffs") == LEVEL, "costs are the same"
    )
    page.holds(
        found.says("bound", "no cut", "MAPIE") == WORSE and found.mean("bound", "no cut") > 0.9,
        "the promised precision was too high for both",
    )
    held = "share of sets with the truth"
    worst = "the same, worst class"
    page.says(
        f"Of MAPIE's sets {100 * found.mean('sets', held, 'MAPIE'):.0f} % held the truth, as asked "
        f"for, but of the worst class only {100 * found.mean('sets', worst, 'MAPIE'):.0f} %. "
        f"With a level for each class, crepes reached "
        f"{100 * found.mean('sets', worst, 'crepes, by class'):.0f} % there, with "
        f"{found.mean('sets', 'classes in a set', 'crepes, by class'):.1f} classes in a set in "
        f"place of {found.mean('sets', 'classes in a set', 'MAPIE'):.1f}."
    )
    alike = ("probcal", "probmetrics", "netcal", "betacal")
    page.holds(
        all(found.says("calibrators", LOSS, one) == LEVEL for one in alike),
        "four calibrators are level",
    )
    page.holds(
        all(found.says("calibrators", LOSS, one) == WORSE for one in ("mcgrad", "venn-abers")),
        "mcgrad and Venn-Abers are behind",
    )
    page.says("Calibrators of four packages are as good as our `BetaCalibrator`")
    page.holds(
        all(
            found.says("imbalance", LOSS, one) == WORSE
            for one in ("imbalanced-calibrate", "imbcal")
        ),
        "undoing weights is behind",
    )
    page.says(
        "the excess log loss (e-3) of `CalibratedClassifier` is "
        f"{found.mean('imbalance', LOSS):.1f}, and that of imbcal "
        f"{found.mean('imbalance', LOSS, 'imbcal'):.1f}. Balanced class weights have "
        f"{found.mean('imbalance', LOSS, 'nothing undone'):.0f}, and after imbalanced-calibrate "
        f"{found.mean('imbalance', LOSS, 'imbalanced-calibrate'):.1f}."
    )
