"""Decisions from class probabilities, and from thresholds on the score."""
