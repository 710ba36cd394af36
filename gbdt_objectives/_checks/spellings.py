"""What other libraries call our arguments and attributes, and what to write here instead.

An answer is code, which ``tests/test_foreign_names.py`` types and runs for each callable that gives
it. Where a word is not certain, Python's own error names the nearest arguments instead.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Collection, Mapping
from difflib import SequenceMatcher, get_close_matches
from inspect import Parameter
from types import FunctionType
from typing import Any


def each_word(rows: Mapping[str, str]) -> dict[str, str]:
    """{word: what to say}, from {what to say: words}."""
    return {word: said for said, words in rows.items() for word in words.split()}


def parse_table(text: str, **said: str) -> dict[str, dict[str, str]]:
    """{callables: {code: words}} of lines "callables | code <- words | code <- words", of which
    those that are indented go on; ``said`` are names of longer texts."""
    table = dict[str, dict[str, str]]()
    for line in re.sub(r"\n +", " ", text).strip().splitlines():
        key, *rows = line.split(" | ")
        pairs = (row.split(" <- ") for row in rows)
        table.setdefault(key, {}).update({said.get(code, code): words for code, words in pairs})
    return table


WRITE_OUT = (
    "write the rows out, rows = numpy.repeat(numpy.arange(len(counts)), counts), and take these of "
    "each argument, y[rows], of pandas y.iloc[rows]"
)

# What to write for words of other libraries: "callables | code <- words | code <- words". "{}" is
# the word itself; "word?" has other meanings too, and only makes these arguments the nearest. The
# row "*" has names that mean the same at every callable; those of single callables come before it.
ONLY_AT = parse_table("""
* | y_true <- target actual rater_a labels? | y <- y_true target labels? | y_pred <- rater_b y_hat
    | score <- y_prob y_proba preds predictions oof oof_preds margin? probability? y_pred? X?
    | probability <- y_prob probs p_hat confidences posteriors q? preds? score? y_score? y_pred?
    | sample_weight <- counts? | counts <- freq_weights? fweights? freq? repeats? sample_weight?
    | labels <- classes? n_classes? num_class? num_classes? N? K? min_rating? max_rating?
    | label_range <- classes? label_min? label_max? min_value? max_value?
    | label_range=(lowest, highest) <- n_classes num_class num_classes
    | label_range=(min_rating, max_rating) <- min_rating max_rating | n_classes <- K label_range?
    | outputs <- n_classes num_class num_classes | mean <- a | variance <- b var
    | variance=std ** 2 <- std | input_space='margin' <- logits from_logits
    | negative_keep_rate <- sampling_rate neg_sampling_rate neg_rate keep_prob keep_rate? rate? r?
      frac? fraction? beta? ratio? n? sampling_strategy? pos_weight? | class_keep_rates <- rates?
    | train_prior <- old_prior source_prior
    | target_prior <- new_prior base_rate? pos_rate? tau? class_weight? | shift <- delta? log_odds?
    | delta <- log_odds? intercept? | random_state <- seed rng | seed <- random_state
    | cv <- n_splits n_folds folds nfold k? | nfold <- n_splits n_folds
    | metric <- scoring objective? loss? feval? average? weights? | eval_metric <- feval?
    | method <- algorithm optimizer solver threshold_method | thresholds <- coef cutoffs bins?
    | n_starts <- maxiter? | strategy <- binning equal_intervals? | partition <- n_bins?
    | confidence_level=1 - {} <- alpha significance_level | n_bootstrap <- n_resamples
    | n_resamples <- n_bootstrap | constraints={'precision': {}} <- min_precision target_precision
    | constraints={'recall': {}} <- min_recall target_recall
    | constraints={'false_positive_rate': {}} <- max_fpr | m <- alpha? laplace?
    | constraints <- subject_to? budget? k? recall? fpr? | ax <- figsize? color? ref_line?
    | estimator <- base_learner model clf regressor classifier | booster <- model
    | model <- booster estimator clf | segments <- sensitive_features by? group? | groups <- user?
    | ensemble=not {} <- refit | early_stopping_rounds <- n_iter_no_change patience? callbacks?
    | eval_set=[(X_val, y_val)] <- eval_X eval_y X_val y_val | eval_set=[{}] <- validation_data
    | eval_sample_weight <- sample_weight_eval_set | sample_weight_eval_set <- eval_sample_weight
    | X_val={}[0], y_val={}[1] <- validation_data | output_margin <- raw_score
    | raw_score <- output_margin | num_iteration <- ntree_limit | margins <- y_pred?
    | iteration_range=(0, {}) <- num_iteration ntree_limit | delimiter <- separator sep
    | start_iteration={}[0], num_iteration={}[1] - {}[0] <- iteration_range
    | loss <- metric? | output <- save out | force <- overwrite | max_trees <- n_estimators
train | leave it out: evals= has the names <- valid_names
train cv | metric <- metrics eval_metric feval custom_metric | objective <- fobj loss
    | num_boost_round <- nrounds num_rounds iterations n_estimators
    | set it on the data, weight= of the DMatrix, Dataset or Pool <- weight sample_weight
train cv qwk_metric threshold_metric early_stopping optimize_thresholds cross_validate_thresholds
    ThresholdClassifier
    | leave it out: the metric knows its direction <- maximize greater_is_better direction
early_stopping | rounds <- patience
    | leave it out: the first metric decides, and only that <- first_metric_only
optimize_thresholds cross_validate_thresholds ThresholdClassifier | metric <- objective
    | leave it out: the best are found without a start <- x0 initial_guess initial_thresholds
      initial initial_coef init coef0
optimize_thresholds | write cross_validate_thresholds(y_true, score, cv={}) <- cv
cross_validate_thresholds | leave it out: in_sample_score has it <- return_train_score
    | sample_weight=numpy.where(y_true == 1, 1, 1 / {}) <- negative_keep_rate
quadratic_weighted_kappa
    | leave it out for 'quadratic'; write threshold_metric('linear')(y_true, y_pred) for 'linear';
      write sample_weight={} for numbers of rows <- weights
ThresholdClassifier | write apply_thresholds(score, {}, labels) <- thresholds coef
    | write apply_thresholds(score, [{}], labels) <- threshold
    | leave it out: it takes scores, fit(score, y) <- estimator model
apply_thresholds ThresholdDisplay.from_predictions | thresholds=[{}] <- threshold
optimize_decisions | metric=cost_metric({}) <- costs
optimize_actions | costs <- cost_matrix
decide optimize_decisions | metric=cost_metric({}) <- cost_matrix
decide
    | leave it out if the probabilities are of all rows already; write
      probability=correct_probability(probability, {}={}) <- negative_keep_rate class_keep_rates
    | write apply_thresholds(probability[:, 1], [{}], [0, 1]) <- threshold
optimize_decisions
    | probability=correct_probability(probability, {}={}) <- negative_keep_rate class_keep_rates
optimize_actions
    | leave it out: a capacity counts rows, so pass the true probabilities of all of them, which
      needs no labels
      <- negative_keep_rate class_keep_rates keep_rate sample_weight
export export_onnx Exported.export ServedModel | thresholds=Thresholds({}, labels) <- coef cutoffs
    | thresholds=Thresholds([{}], [0, 1]) <- threshold
export export_onnx Exported.export | thresholds=Thresholds(values, {}) <- labels
    | X <- input_example | leave it out: the example rows X tell <- initial_types signature
    | overwrite <- force exist_ok
export export_onnx Exported.export shift_intercept
    | shift=log_odds_shift({}={}) <- negative_keep_rate positive_keep_rate
    | shift=log_odds_shift(train_prior=train_prior, target_prior=target_prior) <- train_prior
      target_prior
export load | folder <- path model_dir artifact_path
export_onnx | path <- folder f
report | path <- folder | title <- name heading
kappa_objective | cost <- weights? cost_matrix
cost_metric kappa_cost_metric | matrix <- cost_matrix
cost_metric | matrix=[[0, fp], [fn, 0]] <- fp fn
    | matrix=[[0, cost_fp], [cost_fn, 0]] <- cost_fp cost_fn
shift_intercept correct_probability correct_margin correct_threshold
    | shift=imbalance_shift(booster) <- scale_pos_weight is_unbalance
shift_intercept | leave it out: it returns a copy <- inplace copy
negative_downsample | leave it out: it returns the positions of the rows, X[positions] <- X
negative_downsample DownsampledClassifier
    | leave it out: each row is drawn at most once <- replacement replace
DownsampledClassifier | n_bags <- n_estimators
DownsampledClassifier.fit
    | leave it out: DownsampledClassifier(estimator, rate) has it, and rows that are sampled
      already are for CalibratedClassifier.fit <- negative_keep_rate
negative_downsample_by_key | key <- user_id groups?
pilot_keep_rates | floor <- min_rate
estimate_prior prior_shift_test | tol <- eps epsilon
objective | function <- obj hess?
check_objective | api <- framework library
ProbabilityEstimationTree | tree <- estimator
    | tree=DecisionTreeClassifier({}={}) <- max_depth min_samples_leaf
SegmentCalibrator
    | leave it out: an array goes to fit, segments=, and the name of a column of X is segment=
      <- segments
    | calibrator <- base | handle_unknown <- unseen
Calibrator.fit Calibrator.predict ThresholdClassifier.fit ThresholdClassifier.predict | score <- X
calibration_ratio | write calibration_ratio_by_segment(y_true, probability, {}) <- groups segments
CalibratedClassifier
    | write calibrator=LogitCalibrator() for 'sigmoid'; write calibrator=ROCConvexHullCalibrator()
      for 'isotonic' <- method | calibrator=VennAbersCalibrator() <- inductive
    | cv=StratifiedKFold(5, shuffle=True, random_state={}) <- random_state
brier_score normalized_entropy calibration_refinement roc_convex_hull quadratic_weighted_kappa
    optimize_decisions fit_segment_shift Calibrator.fit | sample_weight <- counts
VennAbersCalibrator
    | write CalibratedClassifier(estimator, VennAbersCalibrator(), cv=5) <- estimator inductive
      cal_size n_splits random_state
CalibratedClassifier DownsampledClassifier QWKClassifier
    | write estimator.set_params({}={}) <- n_jobs n_estimators learning_rate max_depth
CalibratedClassifier.fit DownsampledClassifier.fit
    | write estimator.set_params({}={}) <- early_stopping_rounds
QWKClassifier | objective <- loss? | weights <- final_estimator?
    | leave it out: it is judged by quadratic weighted kappa <- scoring metric eval_metric
QWKClassifier.fit | leave it out: the folds are held out <- eval_set
cross_validate_thresholds estimate_performance compare_performance choose_calibrator
    CalibratedClassifier.fit DownsampledClassifier.fit QWKClassifier.fit ThresholdClassifier.fit
    ProbabilityEstimationTree.fit prior_weights | WRITE_OUT <- counts
ReliabilityDisplay.from_predictions | probability={{}: probability} <- name
HistGradientBoostingRegressor HistGradientBoostingClassifier | learning_rate <- eta
    | max_iter <- n_estimators num_boost_round iterations | l2_regularization <- l2_leaf_reg
    | early_stopping=True, n_iter_no_change={} <- early_stopping_rounds
    | categorical_features <- cat_features | eval_metric <- metric
HistGradientBoostingClassifier.predict HistGradientBoostingClassifier.predict_proba
    | where margins are log-odds write model.decision_function(X) <- raw_score output_margin
    | where margins are log-odds write model.staged_predict_proba(X) <- iteration_range
HistGradientBoostingRegressor.predict
    | write model.staged_predict(X) <- iteration_range num_iteration
XGBClassifier.predict_proba | write model.predict(X, output_margin=True) <- raw_score output_margin
LGBMRegressor.fit LGBMClassifier.fit
    | write model.set_params({}={}) <- early_stopping_rounds verbose
calibrate calibration apply | input_space='margin' <- margin?
""", WRITE_OUT=WRITE_OUT)  # fmt: skip
EVERYWHERE = ONLY_AT.pop("*")

_DISPLAYS = "ReliabilityDisplay", "ROCHullDisplay", "ThresholdDisplay"
CALLS = {
    **dict.fromkeys(_DISPLAYS, "its from_predictions(y_true, ...) makes one"),
    "compare_performance": "it takes two estimators, first and second",
    "focal_objective": "other libraries have alpha first: by position it takes gamma only",
    "cv": "others go on to the library by name, such as folds= and nfold=",
    "quadratic_weighted_kappa": "boosters, and scikit-learn's scoring=, take qwk_metric(); of "
    "classes that are words scoring= takes make_scorer(quadratic_weighted_kappa, labels=[...])",
}
"""What to add where positions of one function do not fit its signature."""


def written(code: str) -> list[str]:
    """The arguments that a row writes; none if it says something else."""
    if code.isidentifier() or code.startswith(("write ", "leave ", "where ", "set ")):
        return [code] * code.isidentifier()
    call: Any = ast.parse(f"f({code})", mode="eval").body
    return [keyword.arg for keyword in call.keywords]


def known(row: str, word: str, parameters: Collection[str]) -> tuple[str, list[str]]:
    """What the tables say of a word at a callable, ``row`` there: the code if they are certain of
    it, or "", and the arguments that may be meant."""
    sure, meant = list[str](), list[str]()
    tables = [rows for called, rows in ONLY_AT.items() if row in called.split()]
    for rows in (*tables, EVERYWHERE):
        is_open = rows is not EVERYWHERE or not meant
        found = [
            (code.replace("{}", word), word in words.split())
            for code, words in rows.items()
            if word in words and {word, f"{word}?"} & {*words.split()}
        ]  # fmt: skip
        found = [one for one in found if {*written(one[0])} <= {*parameters}]
        if is_open and (rows is not EVERYWHERE or len(found) == 1):
            sure += [code for code, is_sure in found if is_sure]
        meant += [name for code, _ in found for name in written(code)]
    return (sure or [""])[0], list(dict.fromkeys(meant))


def counterpart(row: str, word: str, parameters: Collection[str]) -> str:
    """What to write instead of an argument that a callable does not have, or ""."""
    code, _ = known(row, word, parameters)
    return f"write {code}{'=' * code.isidentifier()}" if written(code) else code


def nearest(row: str, word: str, parameters: Collection[str]) -> list[str]:
    """The three arguments that are nearest in meaning, then in spelling."""
    alike = sorted(parameters, key=lambda p: -SequenceMatcher(None, word, p).ratio())
    return list(dict.fromkeys([*known(row, word, parameters)[1], *alike]))[:3]


def unexpected(called: str, row: str, word: str, parameters: Collection[str]) -> str:
    """Python's own error for an argument that a callable does not have, and the nearest ones."""
    nearest_ones = say_nearest(row, word, parameters)
    return f"{called}() got an unexpected keyword argument {word!r}; {nearest_ones}"


def say_nearest(row: str, word: str, parameters: Collection[str]) -> str:
    which = "its arguments are" if len(parameters) <= 3 else "its nearest arguments are"
    names = ", ".join(f"{name}=" for name in nearest(row, word, parameters))
    return f"{which} {names}" if names else "it has none"


def misplaced(
    called: str, row: str, given: int, named: Collection[str], parameters: Collection[Parameter],
    elsewhere: Mapping[str, str], doc: str,
) -> str | None:  # fmt: skip
    """What to write instead of a call that does not fit the signature, with as many arguments by
    position as ``given`` and others by name; None if it fits. Its name in the tables is ``row``,
    and ``elsewhere`` says what to write for words that belong to another call."""
    kinds = {p.kind for p in parameters}
    names = [p.name for p in parameters if p.kind not in (p.VAR_POSITIONAL, p.VAR_KEYWORD)]
    placed = [p.name for p in parameters if p.kind == p.POSITIONAL_OR_KEYWORD]
    also = f"; {CALLS[row]}" if row in CALLS else ""
    for word in () if Parameter.VAR_KEYWORD in kinds else named:
        if word not in names:
            said = counterpart(row, word, names) or elsewhere.get(word)
            if said:
                return f"{called} has no argument {word!r}: {said}"
            return unexpected(called, row, word, names) + (also if row.endswith("Display") else "")
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


CATBOOST = (
    "CatBoost calls objectives and metrics in a form of its own: import CatBoostRegressor, "
    "CatBoostClassifier or train from gbdt_objectives.adapters.catboost"
)
"""What to do where CatBoost itself is given an objective or a metric."""

# What others call attributes: ours, or what to write, of a class and of those that inherit from it.
ATTRIBUTES = parse_table("""
Thresholds DecisionRule ActionRule SegmentShift | apply <- predict transform
Thresholds DecisionRule ActionRule | labels <- classes_
Thresholds
    | it is an array itself: thresholds[0], list(thresholds), thresholds.values <- coef_ coef
      coefficients threshold threshold_ best_threshold_ thresholds_ x
    | measure quadratic_weighted_kappa(y_true, thresholds.apply(score)) <- fun score
    | gbdt_objectives.plotting.ThresholdDisplay draws them <- plot
SavedAsJSON | to_json <- to_dict save dump
Calibrator TemperatureCalibrator SegmentCalibrator | predict <- predict_proba transform calibrate
ThresholdClassifier QWKClassifier | predict <- transform | thresholds_ <- coef_ coefficients
QWKClassifier ServedModel | predict_score <- decision_function predict_margin
CalibratedClassifier | calibrator_ <- calibrators
CalibratedClassifier DownsampledClassifier QWKClassifier
    | the fitted members have it, .estimator_ or each of .estimators_ <- feature_importances_
      best_iteration best_iteration_
ServedModel | gbdt_objectives.serving.export(model, folder) writes it <- save save_model
    | gbdt_objectives.serving.export_onnx(model, path) writes it <- to_onnx
Exported | export <- save_model
RegressorMixin | probabilities are those of the Classifier <- predict_proba
ClassifierMixin | classes_ <- labels_
Metric | CATBOOST <- is_max_optimal evaluate get_final_error
    | call it, metric(y_true, score) <- compute
    | greater_is_better <- maximize | xgboost <- xgb_metric xgb | lightgbm <- lgb_metric lgb
Objective | CATBOOST <- calc_ders_range calc_ders_multi
    | gradient_hessian <- gradient grad hess grad_hess hessian
    | gbdt_objectives.loss_metric(objective) is its loss <- metric eval_metric
    | its link turns margins into predictions, objective.link.inverse(margin) <- predict
ReliabilityBins | gbdt_objectives.plotting.ReliabilityDisplay draws them <- plot
    | frequency <- prob_true | probability <- prob_pred
SegmentRatios | to_frame() makes a pandas DataFrame of them <- to_pandas to_dict
CalibrationRefinement | calibration <- reliability miscalibration | refinement <- resolution
ThresholdCrossValidation | fold_score <- cv_results_ test_score | score <- mean best_score_
ObjectiveReport | passed <- ok success raise_for_status | findings <- as_dict summary report
ReliabilityDisplay ROCHullDisplay ThresholdDisplay | figure_ <- show savefig
XGBModel | get_booster <- booster_
LGBMModel | booster_ <- get_booster save_model
BaseHistGradientBoosting | n_iter_ <- n_estimators_ best_iteration_ best_iteration
""", CATBOOST=CATBOOST)  # fmt: skip

SHORT = 25  # longer lists of names are not read


def about_attribute(thing: Any, name: str) -> str:
    kind = type(thing)
    has = {key for key in [*dir(kind), *getattr(thing, "__dict__", ())] if not key.startswith("_")}
    bases = [base.__name__ for base in kind.__mro__]
    rows = [ATTRIBUTES[key] for base in bases for key in ATTRIBUTES if base in key.split()]
    said = next((each_word(row)[name] for row in rows if name in each_word(row)), "")
    fitted = [key for key in sorted(getattr(thing, "__dict__", ())) if key.endswith("_")]
    near = get_close_matches(name, sorted(has), n=1, cutoff=0.75)
    if said.isidentifier():
        takes = getattr(kind, said, None)
        said = f"here that is .{said}{'(...)' if isinstance(takes, FunctionType) else ''}"
    elif not said and near:
        said = f"did you mean .{near[0]}?"
    elif not said and name.endswith("_") and hasattr(kind, "fit"):
        said = f"it has {', '.join(fitted)}" if fitted else "it is not fitted, call fit(...) first"
    elif not said and len(has) <= SHORT:
        said = f"it has {', '.join(sorted(has))}"
    text = f"{kind.__name__!r} object has no attribute {name!r}"
    return f"{text}: {said}" if said else text
