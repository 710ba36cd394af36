"""What the locals of ``lightgbm.train`` and ``lightgbm.cv`` say of the training that calls us."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from gbdt_objectives.adapters._arguments import as_list, metrics_of
from gbdt_objectives.adapters._estimators import sounding_like
from gbdt_objectives.adapters._train import starts_of_sets
from gbdt_objectives.adapters.lightgbm import _train, parameters

ORDERS = {"auc", "average_precision", "map", "mean_average_precision", "ndcg", "lambdarank",
          "multi_error", "auc_mu"}  # fmt: skip
"""LightGBM's own metrics for which margins are as good as what is made of them."""


def names_in(metrics: Sequence[Any]) -> list[str]:
    """The names of LightGBM's own metrics among all that are given."""
    names = (name for one in metrics if isinstance(one, str) for name in one.split(","))
    return [name.strip().lower() for name in names]


def ignored(names: Sequence[str]) -> dict[str, str]:
    """The names that LightGBM would drop without a word, and what to write instead."""
    unknown = (one for one in names if not parameters.names_of_metric(one))
    return {one: sounding_like(one, "metric") for one in unknown}


def read_call(seen: Mapping[str, Any], fit: Mapping[str, Any], name: str) -> dict[str, Any]:
    """The facts of a training; ``fit`` are the locals of an estimator's fit above it."""
    params, functions, main = seen["params"], as_list(seen.get("feval")), parameters.TABLE.main
    said = fit["self"].get_params() if fit else params
    own = [one for key in parameters.TABLE.given(said, "metric") for one in as_list(said[key])]
    own = [*as_list(fit.get("eval_metric")), *own]
    own = [one for one in names_in(own) if one not in parameters.NO_METRIC]
    booster = seen.get("booster") or (seen.get("cvbooster") or seen["cvfolds"]).boosters[0]
    unnamed = []
    if not said.keys() & parameters.NAMES["metric"]:
        written = {its for one in own for its in parameters.names_of_metric(one)}
        measured = getattr(booster, "_Booster__name_inner_eval", ())
        unnamed = [its for its in measured if its not in written]
    stops = [c for c in seen["callbacks_set"] if _train.stops_by_name(c)]
    first = [*own, *unnamed][:1]
    looks_at_all = any(not c.first_metric_only for c in stops) or not first
    functions = [getattr(one, "func", one) for one in functions]  # as estimators wrap them
    looked_at = [*own, *unnamed, *functions] if looks_at_all else first
    facts = _train.earlier_facts(seen) | metrics_of(own, functions, looked_at if stops else ()) | {
        "parameters": [(key, main.get(key, key), value) for key, value in params.items()],
        "orders": ORDERS, "unnamed": unnamed, "ignored": ignored(own),
    }  # fmt: skip
    if "valid_sets" in seen:
        data, sets = seen["train_set"], seen["reduced_valid_sets"]
        named = [*zip(sets, seen["name_valid_sets"], strict=False)]
        facts |= {  # of several, those of other rows stop it
            "sets": named, "data": data, "looks_at": [None] if stops and len(named) == 1 else [],
            "labels": lambda k: (data if k is None else sets[k]).get_label(),
        }  # fmt: skip
        K = int(parameters.TABLE.value(params, "num_class") or 1)
        starts = {its: _train.init_score(one, K) for one, its in [(data, "train_set"), *named]}
        facts |= starts_of_sets("init_score", starts)
        if not fit:  # of train, whose users add it to predictions
            facts.pop("lost_start", None)
    return facts
