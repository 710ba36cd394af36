"""What the locals of ``xgboost.train`` and ``xgboost.cv`` say of the training that calls us."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import xgboost as xgb

from gbdt_objectives.adapters._arguments import as_list, metrics_of
from gbdt_objectives.adapters._train import starts_of_sets
from gbdt_objectives.adapters.xgboost.stopping import watch

ORDERS = {"auc", "aucpr", "pre", "map", "ndcg", "merror", "error@0"}
"""XGBoost's own metrics for which margins are as good as what is made of them."""
DEFAULTS = {
    "reg:squarederror": "rmse", "binary:logistic": "logloss", "multi:softprob": "mlogloss",
}  # fmt: skip
"""What is measured where nobody names a metric, by the booster's objective."""


def read_call(seen: Mapping[str, Any], fit: Mapping[str, Any], name: str) -> dict[str, Any]:
    """Facts of a training; ``fit``: locals of a fit above, ``name``: the booster's objective."""
    given, sets = seen["params"], seen.get("evals") or ()
    pairs = [*(given.items() if isinstance(given, Mapping) else given)]
    own = [one for key, value in pairs if key == "eval_metric" for one in as_list(value)]
    own += seen.get("metrics", ())  # of cv, which has taken them out of the parameters
    functions = as_list(getattr(fit.get("self"), "eval_metric", seen.get("custom_metric")))
    functions = [one for one in functions if callable(one)]
    unnamed = [DEFAULTS[name]] if name in DEFAULTS and (sets or "cvfolds" in seen) else []
    if own or dict(pairs).get("disable_default_eval_metric") in (True, 1, "1", "true"):
        unnamed = []
    measured = [*own, *unnamed, *functions]
    stops = [c for c in seen["callbacks"] if isinstance(c, xgb.callback.EarlyStopping)]
    looked_at = [c.metric_name or measured[-1] for c in stops if c.metric_name or measured]
    facts = metrics_of(own, functions, looked_at) | {
        "parameters": [(key, key, value) for key, value in pairs],
        "orders": ORDERS, "unnamed": unnamed,
    }  # fmt: skip
    objective = getattr(fit.get("self"), "objective", seen.get("obj"))
    for found in seen.values() if stops else ():
        if isinstance(found, xgb.callback.CallbackContainer):
            watch(found, objective, sets, {*own, *unnamed, *ORDERS})
    if "dtrain" in seen and "cvfolds" not in seen:
        own = seen["dtrain"]
        facts |= {
            "sets": sets, "data": own, "looks_at": [c.data for c in stops],
            "labels": lambda k: (own if k is None else sets[k][0]).get_label(),
        }  # fmt: skip
        margins = {its: one.get_float_info("base_margin") for one, its in [(own, "dtrain"), *sets]}
        starts = {its: one if len(one) else None for its, one in margins.items()}
        if any(one is not None for one in starts.values()):
            facts |= starts_of_sets("base_margin", starts)
    return facts
