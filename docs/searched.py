"""The words that people type into the search of the site, and the page that answers them.

Each word is an entry of the index that points at its page. Sphinx's search lists exact entries
first, before the names and titles that merely contain the word. ``.ci/search.py`` tries them.
"""

from __future__ import annotations

WORDS = {
    "training": "obj=, objective=, fobj, feval, custom_metric, eval_metric, early stopping, "
    "early_stopping, early_stopping_rounds, best_iteration, base_score, init_score, "
    "boost_from_average",
    "adapters": "base_margin, intercept, continued training, init_model, xgb_model",
    "start": "install, installation, pip install, extras, upgrade",
    "first_grades": "getting started, quickstart, first model, submission",
    "thresholds": "thresholds, threshold, qwk, kappa, quadratic weighted kappa, cohen kappa, "
    "cohen_kappa_score, cut points, rounding",
    "which_one": "which objective, when not to use",
    "rare_events": "downsampling, downsample, undersampling, negative sampling, rare events, "
    "keep rate, bagging, fraud",
    "resampled": "scale_pos_weight, is_unbalance, class imbalance, imbalanced, oversampling, "
    "smote, pos_bagging_fraction, class_weight",
    "keep_rates": "keep rates by row, class_keep_rates, pilot model, hard negatives, "
    "importance sampling",
    "probabilities": "calibrate, calibration, predict_proba, groups, reliability diagram, "
    "calibration curve, timeseriessplit",
    "calibrators": "calibrator, isotonic, platt scaling, temperature scaling, venn-abers",
    "calibration_error": "expected calibration error, ece, brier score",
    "monitor": "monitor, monitoring, alarm",
    "linear_member": "linear model, skrub",
    "focal_loss": "focal loss",
    "nominal": "multiclass, multi:softprob, softmax, classes without an order, multilabel",
    "segments": "segments, sites, sources, prompts, thresholds by segment",
    "blend": "blend, blending, ensemble, several models, stacking",
    "other_kappas": "linear kappa, other metrics, mean absolute error",
    "constraints": "recall, precision, minimum precision, minimum recall",
    "decide": "costs, cost matrix, cost-sensitive, capacity",
    "own_objective": "custom objective, custom loss, gradient, hessian, grad and hess, "
    "custom metric, own metric",
    "losses": "multi_output_tree, multi_strategy, offset",
    "tools": "optuna, mlflow, gridsearchcv, catboost",
    "deploy": "deploy, export, serving, production, pickle",
    "serving": "treelite, tl2cgen, compiled trees",
    "onnx": "onnx, onnxruntime",
    "distributed": "spark, pyspark, dask, ray, cluster",
    "large_data": "out of memory, external memory, large data, quantiledmatrix",
    "devices": "gpu, cuda, cupy",
    "kaggle": "kaggle, offline, no internet",
    "migration": "optimizedrounder, migrate",
    "command_line": "cli, command line, csv, parquet",
    "from_sql": "sql, counts",
    "delayed_labels": "delayed labels, delayed feedback, late labels, attribution window, "
    "positive and unlabelled, pu learning",
    "moved_segments": "moved segments, drift",
    "promises": "threads, memory leak, reproducibility",
    "glossary": "glossary, margin, raw_score",
}
"""A page of docs/, and its words."""


PAGES = {f"docs/{page}": words.split(", ") for page, words in WORDS.items()}
EVERY = {word for words in PAGES.values() for word in words}


def words_of(docname: str) -> list[str]:
    """What leads to a page, ``docs/training``."""
    return PAGES.get(docname, [])
