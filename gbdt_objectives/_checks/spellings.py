"""What other libraries call our arguments and attributes, and what to write here instead.

A row is in force at every callable, method and result that a module exports. First come the rows of
one callable, then all meanings of the word that it has, then what can be left out, the nearest name
of its own, and last the list of its arguments.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping
from difflib import get_close_matches
from inspect import Parameter
from types import FunctionType
from typing import Any

from gbdt_objectives._registry import BY_NAME

WRITE_OUT = (
    "write the rows out, rows = numpy.repeat(numpy.arange(len(counts)), counts), and take these of "
    "each argument, y[rows], of pandas y.iloc[rows]"
)


def each_word(rows: Mapping[str, str]) -> dict[str, str]:
    """{word: what to say}, from {what to say: words}."""
    return {word: said for said, words in rows.items() for word in words.split()}


def each_row(table: Mapping[str, Mapping[str, str]]) -> dict[str, dict[str, str]]:
    """:func:`each_word` of every row of a table."""
    return {name: each_word(rows) for name, rows in table.items()}


WORDS = {
    "y_true": "y labels target actual y1 rater_a true_labs", "y": "y_true labels target",
    "y_pred": "predicted preds predictions y2 rater_b y_hat",
    "score": "y_score y_scores scores y_prob y_proba y_pred preds predictions pred_prob oof "
    "oof_preds margin probability X",
    "probability": "y_prob y_proba y_score y_pred proba prob probs probabilities p p_hat q "
    "confidences posteriors preds score",
    "sample_weight": "weight weights sample_weights w counts", "labels": "classes",
    "negative_keep_rate": "rate r keep_rate sampling_rate neg_sampling_rate negative_rate neg_rate "
    "keep_prob frac fraction downsampling_rate",
    "class_keep_rates": "rates class_rates", "train_prior": "old_prior source_prior y_bar",
    "target_prior": "new_prior base_rate pos_rate tau", "random_state": "seed random_seed rng salt",
    "cv": "n_splits n_folds folds nfold k", "nfold": "n_splits n_folds cv k",
    "seed": "random_state", "metric": "scoring eval_metric objective metrics feval custom_metric",
    "method": "algorithm optimizer solver methods threshold_method",
    "thresholds": "coef threshold bins cutoffs", "n_starts": "n_trials n_iter maxiter",
    "n_bins": "num_bins", "strategy": "binning bin_strategy", "confidence_level": "level",
    "n_bootstrap": "n_resamples", "n_resamples": "n_bootstrap", "n_repeats": "repeats n_bootstrap",
    "tol": "eps epsilon", "max_iter": "n_iter max_iterations",
    "estimator": "base_estimator base_learner model clf regressor classifier",
    "booster": "model bst", "model": "booster estimator", "obj": "objective",
    "objective": "obj fobj loss loss_function", "loss": "loss_fn function",
    "eval_metric": "metric metrics feval custom_metric", "num_iteration": "ntree_limit",
    "pred_contrib": "pred_contribs", "pred_contribs": "pred_contrib",
    "verbose_eval": "eval_freq log_period print_every_n",
    "function": "fobj obj func", "calibrator": "calibration calib_method", "correction": "method",
    "average": "voting", "n_bags": "n_estimators bags",
    "segments": "segment group groups by sensitive_features",
    "segment_features": "segments groups categorical_feature_column_names",
    "max_trees": "num_rounds n_estimators", "early_stopping_rounds": "n_iter_no_change",
    "rounds": "stopping_rounds patience", "gamma": "focal_gamma gamma_indct", "m": "smoothing",
    "arrived": "elapsed", "delay": "duration T", "key": "keys user_id groups", "floor": "min_rate",
    "folder": "path model_dir artifact_path model_uri", "path": "folder f", "X": "input_example",
    "api": "library framework", "values": "thresholds", "tree": "estimator",
    "num_boost_round": "nrounds num_round num_boost_rounds iterations num_iterations num_rounds "
    "n_estimators",
    "data": "dtrain train_set", "groups": "user", "delimiter": "separator sep",
    "output": "save out", "force": "overwrite",
}  # fmt: skip
"""Our names, and those of the same meaning elsewhere: write ours with the same value."""

SENTENCES = each_row({
    "eval_set": {"write eval_set=[(X_val, y_val)]":
            "eval_X eval_y X_val y_val validation_data valid_sets evals",
        "pass the rows themselves, eval_set=[(X_val, y_val)]":
            "validation_fraction validation_split"},
    "eval_sample_weight": {"write eval_sample_weight=[w_val]":
            "sample_weight_eval_set sample_weight_val"},
    "labels": {"write labels=range({})": "n_classes num_class num_classes N K",
        "write labels=, all classes in order":
            "pos_label label_min label_max min_rating max_rating label_range"},
    "label_range": {"write label_range=(lowest, highest)": "n_classes num_class num_classes "
            "min_rating max_rating label_min label_max min_value max_value y_true labels classes"},
    "n_classes": {"write n_classes=": "num_class num_classes K",
        "write n_classes=, how many there are": "labels label_range classes"},
    "outputs": {"write outputs={}": "n_classes num_class num_classes"},
    "intercept": {"write intercept=, the constant to start at, as a margin":
            "base_score init_score"},
    "center": {"write center= for the mean of the labels and spread= for their variance":
            "a b mean var variance std"},
    "delta": {"write delta=, what to add to the log-odds": "offset log_odds intercept base_score"},
    "shift": {"write shift=, what log_odds_shift returned": "delta log_odds offset",
        "write shift=log_odds_shift({}=...)":
            "negative_keep_rate train_prior target_prior positive_keep_rate",
        "weights of the classes are no sampling rate; pass shift=imbalance_shift(booster), or "
        "class_keep_rates= for rows that were copied": "scale_pos_weight class_weight pos_weight"},
    "negative_keep_rate": {
        "for the weight of a negative that was kept write negative_keep_rate=1 / weight":
            "alpha imbalance_alpha",
        "as the share of the negatives that was kept it is negative_keep_rate=": "beta ratio",
        "as a sampling strategy write negative_keep_rate=, the share of the negatives to keep; for "
        "k negatives per positive, k * positives / negatives":
            "sampling_strategy ratio neg_pos_ratio n max_samples",
        "a weight of the positives is no sampling rate; for negatives that were sampled write "
        "negative_keep_rate=, for weights sample_weight= where the booster takes it":
            "scale_pos_weight pos_weight class_weight",
        "it starts at the labels' own log-odds; the sampling rate is negative_keep_rate=":
            "init_score base_score offset shift",
        "write negative_keep_rate=rates[0], the rate of label 0": "class_keep_rates"},
    "target_prior": {"as the share of the positives in the population write target_prior=": "prior",
        "write target_prior={label: probability}, the classes as they should weigh":
            "class_weight"},
    "sample_weight": {"as the weight of each row write sample_weight=": "weights scale_pos_weight"},
    "cv": {f"copies are split over folds: {WRITE_OUT}": "counts"},
    "alpha": {"as the weights of the classes write alpha=":
            "weight weights class_weight pos_weight"},
    "output_margin": {"write output_margin=True": "raw_score"},
    "raw_score": {"write raw_score=True": "output_margin"},
    "iteration_range": {"write iteration_range=(first, last), without the last one":
            "num_iteration start_iteration ntree_limit"},
    "num_iteration": {"write start_iteration=first, num_iteration=last - first":
            "iteration_range"},
    "n_iter_no_change": {"write early_stopping=True, n_iter_no_change={}":
            "early_stopping_rounds"},
    "X_val": {"write X_val= and y_val=": "validation_data eval_X valid_sets evals",
        "leave it out: scikit-learn calls none": "callbacks"},
    "counts": {"as how many rows each row stands for write counts=": "n"},
    "matrix": {"write matrix=, the cost of each true class (rows) and predicted one (columns)":
            "cost_matrix fp fn cost_fp cost_fn utility"},
    "cost": {"write cost='squared' for quadratic, cost='absolute' for linear kappa, or a matrix":
            "weights cost_matrix"},
    "constraints": {"write constraints={'precision': {}}":
            "min_precision target_precision precision",
        "write constraints={'recall': {}}": "min_recall target_recall recall",
        "write constraints={'false_positive_rate': {}}": "max_fpr fpr",
        "write constraints={metric: bound}": "constraint bounds target_level"},
    "confidence_level": {"as a level of significance write confidence_level=1 - {}":
            "alpha significance_level"},
    "m": {"as additive smoothing write m=, rows that count as the prior": "alpha laplace"},
    "n_bins": {"write n_bins=, their number": "bins"},
    "input_space": {"write input_space='margin' for log-odds": "logits input_type margin"},
    "tree": {"write tree=DecisionTreeClassifier({}=...)": "max_depth min_samples_leaf"},
    "strategy": {"write strategy='quantile' or 'uniform'": "adaptive equal_intervals"},
    "partition": {"write partition=, the pieces within which rows agree": "bins n_bins"},
    "ensemble": {"write ensemble=False for one model of all rows, which is refit=True": "refit"},
    "early_stopping_rounds": {"write early_stopping_rounds=, after so many rounds without gain":
            "early_stopping callbacks"},
    "function": {"write one function of (y_true, margin, sample_weight) that returns both":
            "grad hess"},
    "method": {"write method=, the algorithm's name": "thresholds"},
    "groups": {"groups= keeps rows of one split together; write groups=": "group"},
})  # fmt: skip
"""The same where the value changes, or the word means other things elsewhere: what to write."""

LEAVE_OUT = each_word({
    "leave it out: the metric knows its direction": "maximize greater_is_better higher_better "
    "direction",
    "leave it out: the best are found without a start": "x0 initial_guess initial_thresholds "
    "initial initial_coef init coef0 bounds",
    "leave it out: the first metric decides, and only that": "first_metric_only",
    "leave it out: quadratic kappa is what it does": "norm",
    "leave it out: probabilities of 0 and 1 are refused or exact": "eps",
    "leave it out: the classes are those of the labels, the positive one is the higher":
        "pos_label min_rating max_rating label_min label_max n_classes num_class num_classes",
    "leave it out: each row is drawn at most once": "replacement replace",
    "leave it out: it returns a copy": "inplace copy",
    "leave it out: the example rows X tell": "target_opset initial_types signature",
    "leave it out: the picture is plain matplotlib, change what ax= and the display's ax_ hold":
        "ref_line name color figsize plot_chance_level label",
    "leave it out": "drop_intermediate out_of_bounds increasing reduction return_train_score "
    "return_estimator fit_params as_pandas n_jobs comparison task tol",
})  # fmt: skip
"""What has no counterpart here, or none is needed."""

_SIGMOID = (
    "write calibrator=, for instance LogitCalibrator() for 'sigmoid' and "
    "ROCConvexHullCalibrator() for 'isotonic'"
)
_ROWS_OR_CLASSES = (
    "write y_true= for the label of each row, or target_prior={label: probability} and "
    "label_range=(lowest, highest) for the classes there are"
)
_WRAPPED = "set it on the estimator that is wrapped"
_ALWAYS_KAPPA = "leave it out: it is judged by quadratic weighted kappa"
_ON_THE_DATA = "set weights on the data, weight= of the DMatrix or Dataset"

_COPIES = f"each copy is a row of its own, which a weight is not: {WRITE_OUT}"
_OF_ESTIMATOR = "set early_stopping_rounds of the estimator"
_SAMPLED = (
    "sampling has changed the probabilities: pass correct_probability(probability, "
    "negative_keep_rate=...), or class_keep_rates= there"
)
_MARGINS = "where margins are log-odds decision_function(X) has them"
_OF_ROUND = "where margins are log-odds staged_predict_proba(X) has those of each round"
_ROUNDS = "iteration_range num_iteration start_iteration ntree_limit"
ARGUMENTS = each_row({
    "CalibratedClassifier": {_SIGMOID: "method",
        _WRAPPED: "n_jobs verbose n_estimators",
        "write cv=StratifiedKFold(5, shuffle=True, random_state=...) for folds that are drawn anew":
            "random_state shuffle",
        "write calibrator=VennAbersCalibrator(), with cv= for its folds": "inductive"},
    "DownsampledClassifier": {_WRAPPED: "n_jobs verbose",
        "write negative_keep_rate={label: rate}, which takes rates by class": "class_keep_rates"},
    "QWKClassifier": {_ALWAYS_KAPPA: "scoring metric eval_metric",
        "the algorithm that places them is method=": "thresholds",
        "write estimator=, which takes a list too": "estimators",
        "write segment=, the column of X that holds them": "segments",
        "the estimators of a list are averaged; their weights are weights=": "final_estimator",
        _WRAPPED: "n_estimators learning_rate max_depth"},
    "CalibratedClassifier.fit": {
        _OF_ESTIMATOR: "callbacks early_stopping_rounds", _COPIES: "counts"},
    "DownsampledClassifier.fit": {
        _OF_ESTIMATOR: "callbacks early_stopping_rounds", _COPIES: "counts"},
    "ProbabilityEstimationTree.fit": {_COPIES: "counts"},
    "ThresholdClassifier.fit": {_COPIES: "counts"},
    "QWKClassifier.fit": {_COPIES: "counts",
        "leave it out: the folds are held out, early_stopping_rounds= of QWKClassifier stops on "
        "them": "eval_set early_stopping_rounds callbacks"},
    "ThresholdClassifier": {
        "fit finds them; given ones are for apply_thresholds(score, thresholds, labels)":
            "thresholds threshold coef",
        "it takes scores, no estimator: fit(score, y)": "estimator model",
        "leave it out: kappa is quadratic; others are metric=": "weights"},
    "Thresholds": {"write values=, which is the first argument": "thresholds"},
    "VennAbersCalibrator": {
        "give the estimator to CalibratedClassifier(estimator, VennAbersCalibrator(), cv=...)":
            "estimator inductive n_splits cal_size random_state"},
    "calibration_ratio": {"one ratio for each group is calibration_ratio_by_segment":
            "groups segments"},
    "choose_calibrator": {"leave it out: all candidates are compared by log loss":
            "methods scoring metric"},
    "cross_validate_thresholds": {"leave it out: in_sample_score has it": "return_train_score",
        "leave it out: kappa is quadratic; others are metric=": "weights"},
    "cv": {"leave it out: callbacks= sees each booster": "return_cvbooster"},
    "decide": {_SAMPLED: "negative_keep_rate keep_rate class_keep_rates",
        "one threshold is for apply_thresholds(score, [threshold], labels)": "threshold",
        "write metric=cost_metric(matrix)": "cost_matrix utility costs"},
    "HistGradientBoostingClassifier.predict": {
        _OF_ROUND: _ROUNDS, _MARGINS: "raw_score output_margin"},
    "HistGradientBoostingClassifier.predict_proba": {
        _OF_ROUND: _ROUNDS, _MARGINS: "raw_score output_margin"},
    "HistGradientBoostingRegressor.predict": {
        "staged_predict(X) has those of each round": _ROUNDS},
    "export": {"they are those of thresholds=Thresholds(values, labels)": "labels"},
    "export_onnx": {"they are those of thresholds=Thresholds(values, labels)": "labels"},
    "extended_qwk_metric": {
        "write y_true= for the label of each row, target_prior={label: probability} for classes":
            "labels n_classes num_class num_classes"},
    "fit_segment_shift": {"write segments=; groups are rows that share a side of a split":
            "groups group",
        "write handle_unknown=": "handle_unseen"},
    "ReliabilityDisplay.from_predictions": {
        "write probability={name: probability}, of several models too": "name"},
    "ThresholdDisplay.from_predictions": {"leave it out: the bins of the picture follow the scores":
            "bins n_bins"},
    "check_objective": {
        "write y_true= for the labels of rows, n_classes= for how many classes there are":
            "labels"},
    "kappa_objective": {_ROWS_OR_CLASSES: "labels"},
    "qwk_objective": {_ROWS_OR_CLASSES: "labels"},
    "negative_downsample": {"leave X out: it returns the positions of the rows, X[positions]": "X"},
    "normalized_entropy": {"leave it out: the base rate is that of the labels": "base_rate"},
    "optimize_decisions": {_SAMPLED: "negative_keep_rate keep_rate class_keep_rates",
        "leave it out: nothing is drawn": "random_state"},
    "prior_weights": {_COPIES: "counts"},
    "optimize_thresholds": {
        "cross_validate_thresholds(y_true, score, cv=...) judges them on rows held out": "cv",
        "write metric='macro_f1' or another name of a metric": "average"},
    "quadratic_weighted_kappa": {
        "leave it out, costs are squared; of rows it is sample_weight=; linear kappa is "
        "kappa_cost_metric(matrix)": "weights"},
    "qwk_metric": {"leave it out: the result has a form for each library as an attribute":
            " ".join(row.title for row in BY_NAME.values())},
    "report": {"write title=": "name heading",
        "leave it out: they are those of the model": "labels class_names target_names"},
    "shift_intercept": {"write shift=log_odds_shift({}=...)":
            "target_prior train_prior positive_keep_rate",
        "pass shift=imbalance_shift(booster)": "scale_pos_weight is_unbalance class_weight"},
    "XGBClassifier.predict_proba": {
        "predict(X, output_margin=True) has the margins": "raw_score output_margin"},
    "train": {_ON_THE_DATA: "weight sample_weight class_weight",
        "write evals=[(data, name), ...]": "watchlist valid_sets valid_names eval_set",
        "write metric=, a Metric such as qwk_metric()": "feval custom_metric eval_metric metrics"},
})  # fmt: skip
"""What one function, class or ``Class.method`` says of a word."""

CALLS = {
    **dict.fromkeys(
        ("ReliabilityDisplay", "ROCHullDisplay", "ThresholdDisplay"),
        "its from_predictions(y_true, ...) makes one",
    ),
    "compare_performance": "it takes two estimators, first and second",
    "focal_objective": "other libraries have alpha first: by position it takes gamma only",
    "cv": "others go on to the library by name, such as folds= and nfold=",
    "quadratic_weighted_kappa": "boosters, and scikit-learn's scoring=, take qwk_metric(); of "
    "classes that are words scoring= takes make_scorer(quadratic_weighted_kappa, labels=[...])",
}
"""What to add where a call of one function does not fit its signature."""


def counterpart(row: str, word: str, parameters: Collection[str]) -> str:
    """What the tables say of an argument that a callable, ``row`` there, does not have, or ""."""
    for key in (row, {"cv": "train"}.get(row, row)):
        if word in ARGUMENTS.get(key, {}):
            return ARGUMENTS[key][word].replace("{}", word)
    meant = [said[word] for ours, said in SENTENCES.items() if ours in parameters and word in said]
    meant = list(dict.fromkeys(said.replace("{}", word) for said in meant))
    plain = [f"write {ours}=" for ours, words in WORDS.items()
             if ours in parameters and word in words.split()]  # fmt: skip
    return "; ".join(meant or plain[:1])


def unknown_argument(
    row: str, word: str, parameters: Collection[str], elsewhere: Mapping[str, str] | None = None
) -> str:
    """What to write instead of an argument that a callable does not have; ``elsewhere`` says it of
    words that belong to another call."""
    if said := counterpart(row, word, parameters):
        return said
    if elsewhere and word in elsewhere:
        return elsewhere[word]
    if word in ("negative_keep_rate", "keep_rate") and "sample_weight" in parameters:
        return "weigh the rows of a sample: write sample_weight=, 1 / the rate of each"
    near = get_close_matches(word, parameters, n=1, cutoff=0.75)
    if word in LEAVE_OUT and not near:
        return LEAVE_OUT[word]
    if "params" in parameters and not near:
        return f"a parameter of the booster belongs into params, {{{word!r}: ...}}"
    listed = ", ".join(f"{name}=" for name in parameters)
    return f"did you mean {near[0]}=?" if near else f"its arguments are {listed or 'none'}"


def misplaced(
    called: str, row: str, given: int, named: Collection[str], parameters: Collection[Parameter],
    elsewhere: Mapping[str, str], doc: str,
) -> str | None:  # fmt: skip
    """What to write instead of a call that does not fit the signature, with as many arguments by
    position as ``given`` and others by name; None if it fits. Its name in the tables is ``row``."""
    kinds = {p.kind for p in parameters}
    names = [p.name for p in parameters if p.kind not in (p.VAR_POSITIONAL, p.VAR_KEYWORD)]
    placed = [p.name for p in parameters if p.kind == p.POSITIONAL_OR_KEYWORD]
    also = f"; {CALLS[row]}" if row in CALLS else ""
    for word in () if Parameter.VAR_KEYWORD in kinds else named:
        if word not in names:
            said = unknown_argument(row, word, names, elsewhere)
            return f"{called} has no argument {word!r}: {said}{also}"
    if given > len(placed) and Parameter.VAR_POSITIONAL not in kinds:
        others = ", ".join(f"{name}=" for name in names if name not in placed)
        others = f": write further ones by name, {others}" if others else ": leave the rest out"
        if called.endswith(("_objective", "_metric")):
            also = f"; a booster takes what it returns: call it, {called}(...)"
        taken = ", ".join(placed) or "nothing"
        return f"{called} takes {taken} by position, found {given} arguments{others}{also}"
    for name in placed[:given]:
        if name in named:
            return f"{called} got {name} twice, by position and by name"
    for p in parameters:
        if p.default is p.empty and p.name in names and p.name not in {*named, *placed[:given]}:
            return f"{called} needs {p.name}={description(doc, p.name)}{also}"
    return None


def description(doc: str, name: str) -> str:
    """What a docstring says of a parameter: its type, and the first sentence."""
    found = re.search(rf"^ *{name}(?:, \w+)* : (.+(?:\n(?! *\w+ : ).+)*)", doc, re.M)
    if not found:
        return ""
    sentence = " ".join(found[1].split()).partition(". ")[0].rstrip(".")
    return ": " + re.sub(r":\w+:`([^`]+)`|``([^`]+)``", r"\1\2", sentence)  # without markup


ATTRIBUTES = {
    "apply": "predict transform decide", "thresholds": "thresholds_ coef_ cuts",
    "predict": "predict_proba transform calibrate fit_transform fit_predict",
    "predict_score": "decision_function predict_margin", "predict_proba": "decision_function",
    "thresholds_": "coef_ coefficients coef threshold_ best_threshold_ thresholds",
    "p_value": "pvalue", "classes_": "labels_", "labels": "labels_ classes_",
    "get_booster": "booster_ save_model", "booster_": "get_booster save_model",
    "evals_result": "evals_result_", "evals_result_": "evals_result",
    "n_iter_": "n_estimators_ best_iteration_ best_iteration n_iter",
    "best_iteration": "best_iteration_", "best_iteration_": "best_iteration",
    "estimators_": "estimator_ best_iteration_ models_ estimators_samples_ sampler_",
    "estimator_": "estimators_ models_", "calibrator_": "calibrators calibrators_",
    "calibrator": "best_estimator_", "greater_is_better": "maximize higher_better",
    "score": "compute evaluate kappa_ best_score_ mean mean_ test_score",
    "estimate": "mean mean_ test_score",
    **{row.name: f"{row.alias}_metric {row.alias}" for row in BY_NAME.values()},
    "gradient_hessian": "gradient grad hess grad_hess hessian", "to_json": "to_dict save dump",
    "export": "save save_model dump", "shift_": "shift", "temperature_": "temperature T",
    "coef_": "map_ coefficients", "prior": "prevalence", "frequency": "prob_true", "auc": "roc_auc",
    "refinement": "resolution", "calibration": "reliability miscalibration",
    "fold_score": "cv_results_ test_score", "passed": "ok success raise_for_status",
    "findings": "as_dict summary report", "figure_": "show savefig", "difference": "pvalue",
    "interval": "ci confidence_interval",
}  # fmt: skip
"""Ours, and what attributes are called elsewhere."""

CATBOOST = (
    "CatBoost calls objectives and metrics in a form of its own: import CatBoostRegressor, "
    "CatBoostClassifier or train from gbdt_objectives.adapters.catboost"
)
"""What to do where CatBoost itself is given an objective or a metric."""

OBJECTS = each_row({
    "Thresholds": {"it is an array itself: thresholds[0], list(thresholds), thresholds.values":
            "coef_ coef coefficients threshold threshold_ best_threshold_ thresholds_ x",
        "measure quadratic_weighted_kappa(y_true, thresholds.apply(score))": "fun score",
        "gbdt_objectives.plotting.ThresholdDisplay draws them": "plot"},
    "ThresholdStatistics": {"add them, one + other": "merge update combine"},
    "ReliabilityBins": {"gbdt_objectives.plotting.ReliabilityDisplay draws them": "plot"},
    "SegmentRatios": {"to_frame() makes a pandas DataFrame of them": "to_pandas to_dict"},
    "ServedModel": {"gbdt_objectives.serving.export(model, folder) writes it": "save save_model",
        "gbdt_objectives.serving.export_onnx(model, path) writes it": "to_onnx"},
    "RegressorMixin": {"probabilities are those of the Classifier": "predict_proba"},
    "Wrapping": {"the fitted members have it, .estimator_ or each of .estimators_":
            "feature_importances_ best_iteration best_iteration_"},
    "Metric": {CATBOOST: "is_max_optimal evaluate get_final_error"},
    "Objective": {CATBOOST: "calc_ders_range calc_ders_multi",
        "gbdt_objectives.loss_metric(objective) is its loss": "metric eval_metric",
        "its link turns margins into predictions, objective.link.inverse(margin)": "predict"},
})  # fmt: skip
"""What objects of one class say of an attribute."""

SHORT = 25  # longer lists of names are not read


def about_attribute(thing: Any, name: str) -> str:
    kind = type(thing)
    has = {key for key in [*dir(kind), *getattr(thing, "__dict__", ())] if not key.startswith("_")}
    said = next((OBJECTS[base.__name__][name] for base in kind.__mro__
                 if name in OBJECTS.get(base.__name__, {})), "")  # fmt: skip
    fitted = [key for key in sorted(getattr(thing, "__dict__", ())) if key.endswith("_")]
    ours = next((k for k, words in ATTRIBUTES.items() if k in has and name in words.split()
                 and (k != "labels" or fitted or not hasattr(kind, "fit"))), None)  # fmt: skip
    near = get_close_matches(name, sorted(has), n=1, cutoff=0.75)
    if not said and ours:
        takes = getattr(kind, ours, None)
        said = f"here that is .{ours}{'(...)' if isinstance(takes, FunctionType) else ''}"
    elif not said and near:
        said = f"did you mean .{near[0]}?"
    elif not said and name.endswith("_") and hasattr(kind, "fit"):
        said = f"it has {', '.join(fitted)}" if fitted else "it is not fitted, call fit(...) first"
    elif not said and len(has) <= SHORT:
        said = f"it has {', '.join(sorted(has))}"
    text = f"{kind.__name__!r} object has no attribute {name!r}"
    return f"{text}: {said}" if said else text
