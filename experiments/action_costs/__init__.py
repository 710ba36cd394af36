"""Costs of each row: one cut, decide, empulse; a review, and a capacity of reviews."""
