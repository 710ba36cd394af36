"""Averages of the models of folds and of bags, calibrated."""
