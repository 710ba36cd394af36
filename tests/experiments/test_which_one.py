"""docs/which_one.md: every figure is that of a committed study."""

from __future__ import annotations

from pathlib import Path

import pandas as pd
import pytest

from experiments._common import corrected_error, mean_and_error

pytestmark = pytest.mark.slow

ROOT = Path(__file__).parents[2]
PAGE = " ".join((ROOT / "docs" / "which_one.md").read_text(encoding="utf-8").split())
TEST_SHARE = 0.25
"""Test rows over training rows of five folds."""


def results(path: str) -> pd.DataFrame:
    return pd.read_csv(ROOT / "experiments" / path)


def says(*texts: str) -> None:
    for text in texts:
        assert text in PAGE, f"docs/which_one.md does not say {text!r}"


def figure(mean: float, error: float, digits: int = 4) -> str:
    return f"{mean:+.{digits}f} ± {error:.{digits}f}"


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


def test_rounded() -> None:
    for file in ("winequality-white", "skill", "californiahousing"):
        table = ROOT / "experiments" / "ordinal_data" / "results" / file / "table.md"
        lines = table.read_text(encoding="utf-8").splitlines()
        own = [line.split("|")[3].strip() for line in lines if "| rounded - rounded" in line]
        assert len(own) == 2
        says(*own)


def test_squared_error_with_thresholds() -> None:
    pairs = paired(results("ordinal_data/results/ordinal-logit/folds.csv"), "method", "qwk", "qwk")
    says(
        f"ahead of the objective by two plain errors in {count(pairs)} of {len(pairs)}",
        f"clearly in {count(pairs, 2)}, and behind in none: from {figure(*min(pairs)[:2])} to "
        f"{figure(*max(pairs)[:2])}",
    )
    assert count(pairs, sign=-1) == 0
    folds = results("threshold_study/results/folds.csv")
    pairs = paired(folds, "objective", "plugin", "rounding")
    says(
        f"ahead in {count(pairs)} of {len(pairs)} (three files, two boosters), clearly in "
        f"{count(pairs, 2)}, by {figure(*min(pairs)[:2])} to {figure(*max(pairs)[:2])}"
    )


def test_benchmark() -> None:
    table = results("ordinal_benchmark/results/gains.csv")
    table = table[table.metric == "qwk"]
    gains = table[table.arm == "QWKClassifier"]

    def ahead(own: pd.DataFrame) -> list[int]:
        assert len(own) == 10
        return [int((own.verdict == word).sum()) for word in ("better", "worse")]

    more, less = ahead(gains[gains.other == "QWKClassifier, QWK objective"])
    says(f'is ahead of `"qwk"` by two plain errors on {more} and behind on {less}')
    blend = table[(table.arm == "blend") & (table.other == "QWKClassifier")]
    members = {name: ahead(own) for name, own in blend.groupby("other_booster")}
    says(
        f"ahead of LightGBM alone on {members['LightGBM'][0]} of 10 files, of XGBoost on "
        f"{members['XGBoost'][0]}, of CatBoost on {members['CatBoost'][0]}, and behind on "
        f"{members['LightGBM'][1]}, {members['XGBoost'][1]} and {members['CatBoost'][1]}"
    )
    gains = gains.set_index(["file", "other"])
    car = gains.loc[("car", "multi-class, argmax")]
    linear = gains.loc[("linear, 500 rows", "mord LogisticAT")]
    kappa = results("ordinal_benchmark/results/summary.csv").set_index(["file", "arm"]).qwk
    ridge, mord = (
        kappa["linear, 500 rows", arm] for arm in ("QWKClassifier, ridge", "mord LogisticAT")
    )
    says(f"has a kappa of {ridge:.3f} there, it {mord:.3f}")
    says(f"{-car.gain:.4f} ± {car.se:.4f} ahead", f"{-linear.gain:.4f} ± {linear.se:.4f} ahead")
    summary = results("ordinal_benchmark/results/summary.csv")
    own = summary[summary.booster == "all"]
    mae = own[own.file == "winequality-white"].set_index("arm").mae
    says(f"{mae['QWKClassifier']:.3f} against {mae['refitted, rounded']:.3f} of plain rounding")


def test_thresholds() -> None:
    table = results("threshold_study/results/simulated_summary.csv")
    table = table.rename(columns={"rows": "size_"})
    largest = table[table.size_ == 100_000].set_index("family")
    for family in (
        "4 equal classes, 0.5; score exp(2m)",
        ".05 .2 .3 .25 .12 .08, 0.5; score cubed",
    ):
        row = largest.loc[family]
        says(figure(row.plugin_minus_exact, row.plugin_minus_exact_se))
    calibrated = table[~table.family.str.contains("score")]
    many = calibrated[calibrated.size_ >= 10_000]
    says(f"exact comes within {(many.plugin - many.exact).max():.4f} of it from 10,000 rows on")
    best = calibrated[["rounding", "nelder-mead", "exact"]].max(axis=1)
    assert (calibrated.plugin >= best - 1e-4).all()
    real = results("threshold_study/results/differences.csv")
    others = ("plugin", "exact", "nelder-mead")
    pairs = [(row[f"curved_minus_{o}"], row[f"curved_minus_{o}_se"])
             for _, row in table.iterrows() for o in others]  # fmt: skip
    own = real[(real.method == "curved") & real.other.isin(others)]
    pairs += list(zip(own.difference, own.se, strict=True))
    assert len(pairs) == 3 * 82
    says(f"{count(pairs, sign=-1)} of {len(pairs) // 3} rows")
    own = real[(real.method == "plugin") & (real.other == "nelder-mead")]
    own = own[(own.file == "winequality-white") & (own.objective == "squared error")]
    for row in own.itertuples():
        says(f"{row.difference:.4f} ± {row.se:.4f}")


def test_probabilities_and_decisions() -> None:
    table = results("ordinal_probabilities/results/differences.csv")
    counts = {
        name: (own.verdict == "better").sum().item() * 100 + (own.verdict == "worse").sum().item()
        for name, own in table[table.measure == "log_loss"].groupby("method")
    }
    better, worse = divmod(counts["curve of squared error"], 100)
    says(f"in {better} of 12 comparisons, clearly worse in {worse}")
    better, worse = divmod(counts["ordinal logit"], 100)
    says(f"and {better} and {worse} (`ordinal_logit_objective`)")
    verdicts = results("decisions/results/differences.csv").verdict_corrected
    better, worse = (verdicts == "better").sum(), (verdicts == "worse").sum()
    says(f"in {len(verdicts)} comparisons `decide` is clearly better in {better}, clearly worse in "
         f"{worse}")  # fmt: skip


def test_rare_events() -> None:
    table = results("negative_downsampling/results/files/methods_differences.csv")
    weighed = table[(table["first"] == "weighted, tuned") & (table.second == "corrected, tuned")]
    tenth, fiftieth = (weighed[weighed.keep_rate == rate].verdict for rate in (0.1, 0.02))
    says(
        f"by two errors in {(tenth == 'worse').sum()} of {len(tenth)} comparisons at a tenth of "
        f"the negatives and in {(fiftieth == 'worse').sum()} of {len(fiftieth)} at a fiftieth, and "
        f"better in {(weighed.verdict == 'better').sum()}"
    )
    bags = table[(table["first"] == "corrected, tuned, 5 bags")
                 & (table.second == "corrected, tuned")].verdict  # fmt: skip
    says(f"in {(bags == 'better').sum()} of {len(bags)} comparisons, and worse in "
         f"{(bags == 'worse').sum()}")  # fmt: skip
    table = results("negative_downsampling/results/files/by_row_differences.csv")
    found = [(of.verdict == "better").sum() for _, of in table.groupby("per_positive")]
    sizes = [len(of) for _, of in table.groupby("per_positive")]
    says(f"in {found[0]} of {sizes[0]} comparisons at one negative per positive, in {found[1]} of "
         f"{sizes[1]} at three and in {found[2]} of {sizes[2]} at ten")  # fmt: skip
    table = results("negative_downsampling/results/published/weighting_summary.csv")
    curve = table[table.model == "curve missing"].set_index("rows")
    for rows, digits in ((20_000, 1), (2_000_000, 2)):
        row = curve.loc[rows]
        says(f"{figure(1e3 * row.difference, 1e3 * row.difference_se, digits)} e-3")
    assert (table[table.model == "terms missing"].verdict != "better").all()


def test_bounded_hessians_and_focal_loss() -> None:
    table = results("curvature/results/counts.csv")
    own = table[(table.kind == "weighted") & (table.weight > 1)]
    own = own[(own["first"] == "bounded") & (own.second == "exact")]
    total = own.better.sum() + own.level.sum() + own.worse.sum()
    says(f"in {own.better.sum()} of {total} comparisons, worse in {own.worse.sum()} ([study]")
    focal = results("focal/results/summary.csv")
    focal = focal[focal.method.str.startswith("focal")]
    better = focal.average_precision_difference > 2 * focal.average_precision_error
    says(f"average precision better by two errors in {better.sum()} of {len(focal)} comparisons")


def test_published_data() -> None:
    summary = results("qwk_synthetic/results/summary.csv").set_index(["booster", "objective"])
    of = summary.loc["XGBoost"]
    says(
        f"come to {of.qwk_thresholds['squared error']:.4f} and "
        f"{of.qwk_thresholds['extended QWK']:.4f} with thresholds (XGBoost), under a ceiling of "
        f"{of.ceiling.iloc[0]:.4f}"
    )


def test_a_wrong_figure_is_noticed() -> None:
    with pytest.raises(AssertionError, match="does not say"):
        says("+0.0565 ± 0.0051")


def test_defaults_of_qwk_classifier() -> None:
    table = results("qwk_default/results/differences.csv")
    own = table[table.booster == "both"].set_index(["compared", "file"])
    objective = own.loc["None minus qwk"]
    better, worse = (
        objective.index[objective.verdict == verdict] for verdict in ("better", "worse")
    )
    assert set(better) == {"skill", "car", "linear, 200 rows"}
    assert set(worse) == {"rare, 5 and 1 %", "rules, no noise"}
    lost = objective.loc["rare, 5 and 1 %"]
    seconds = results("qwk_default/results/seconds.csv").ratio
    says(
        f'better than `"qwk"` by two errors on {len(better)} of {len(objective)} files',
        f"worse on {len(worse)} (by {-lost.gain:.4f} ± {lost.se_corrected:.4f}",
        f"training takes {seconds.min():.2f} to {seconds.max():.2f} of the processor time",
    )
    stopped = own.loc["None, stopped minus not"]
    count = [(stopped.verdict == verdict).sum() for verdict in ("better", "worse")]
    says(
        f"all rounds by two errors on {count[0]} of {len(stopped)} files, worse on {count[1]}, and "
        f"{stopped.gain.mean():+.4f} in the mean",
        *(f"{figure(one.gain, one.se_corrected)} at {rows}" for one, rows in (
            (stopped.loc["linear, 200 rows"], 200), (stopped.loc["linear, 500 rows"], 500))),
    )  # fmt: skip
