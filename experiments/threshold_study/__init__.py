"""Rounding, Nelder-Mead, exact and plug-in thresholds: simulated scores and real data."""
