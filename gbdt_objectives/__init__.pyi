"""The public names, each listed here and nowhere else; __init__.py imports them when asked for."""

from gbdt_objectives import (
    adapters as adapters,
    calibration as calibration,
    checking as checking,
    datasets as datasets,
    distributed as distributed,
    estimators as estimators,
    evaluation as evaluation,
    experimental as experimental,
    metrics as metrics,
    objectives as objectives,
    plotting as plotting,
    priors as priors,
    serving as serving,
    thresholds as thresholds,
)
from gbdt_objectives.adapters import shift_intercept as shift_intercept
from gbdt_objectives.checking import check_objective as check_objective
from gbdt_objectives.estimators import (
    CalibratedClassifier as CalibratedClassifier,
    DownsampledClassifier as DownsampledClassifier,
    QWKClassifier as QWKClassifier,
    ThresholdClassifier as ThresholdClassifier,
)
from gbdt_objectives.evaluation import cross_validate_thresholds as cross_validate_thresholds
from gbdt_objectives.metrics import (
    Metric as Metric,
    extended_qwk_metric as extended_qwk_metric,
    loss_metric as loss_metric,
    quadratic_weighted_kappa as quadratic_weighted_kappa,
    qwk_metric as qwk_metric,
    weighted_logloss_metric as weighted_logloss_metric,
)
from gbdt_objectives.objectives import (
    Objective as Objective,
    focal_objective as focal_objective,
    objective as objective,
    objective_from_loss as objective_from_loss,
    offset_logloss_objective as offset_logloss_objective,
    ordinal_logit_objective as ordinal_logit_objective,
    qwk_objective as qwk_objective,
    weighted_logloss_objective as weighted_logloss_objective,
)
from gbdt_objectives.priors import (
    correct_probability as correct_probability,
    log_odds_shift as log_odds_shift,
    negative_downsample as negative_downsample,
)
from gbdt_objectives.thresholds import (
    apply_thresholds as apply_thresholds,
    decide as decide,
    optimize_thresholds as optimize_thresholds,
)

__version__: str
