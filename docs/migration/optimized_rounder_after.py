from gbdt_objectives import apply_thresholds, optimize_thresholds


def run(score, y, test_score):
    thresholds = optimize_thresholds(y, score)
    return apply_thresholds(test_score, thresholds)
