"""What is asked of curved thresholds."""

from __future__ import annotations

import numpy as np
import pandas as pd

from experiments.threshold_study.configuration import Configuration


def acceptance(
    simulations: pd.DataFrame, differences: pd.DataFrame, settings: Configuration
) -> tuple[list[str], bool]:
    """What to say of curved thresholds, and whether their rule holds.

    Of every row of the study, simulated or real, and by family on the mean over all sizes.
    """
    rule = settings.curved_acceptance
    lines, holds = [], True
    for method, other in settings.pairs:
        if method != "curved":
            continue
        name = f"curved_minus_{other}"
        found = [
            (f"{row.family}, {row.rows:,} rows", row.difference, row.se)
            for row in simulations.assign(
                difference=simulations[name], se=simulations[f"{name}_se"]
            ).itertuples()
        ]
        own = differences[(differences.method == "curved") & (differences.other == other)]
        found += [
            (f"{row.file}, {row.booster}, {row.objective}", row.difference, row.se)
            for row in own.itertuples()
        ]
        worse = [
            f"{where} {mean:+.4f} ± {error:.4f}"
            for where, mean, error in found
            if mean < -rule.never_worse_by_standard_errors * error
        ]
        lines.append(
            f"curved worse than {other} by more than {rule.never_worse_by_standard_errors:g} "
            f"standard errors: {len(worse)} of {len(found)}" + "".join(f"; {w}" for w in worse)
        )
        holds = holds and not worse
    for family in settings.families:
        other = rule.better_than[family.score]
        own = simulations[simulations.family == family.name]
        mean = float(own[f"curved_minus_{other}"].mean())
        error = float(np.sqrt((own[f"curved_minus_{other}_se"] ** 2).sum()) / len(own))
        better = mean > rule.better_by_standard_errors * error
        lines.append(
            f"curved - {other}, {family.name}, mean over sizes: {mean:+.4f} ± {error:.4f}: "
            + ("better" if better else "NOT better")
        )
        holds = holds and better
    return lines, holds
