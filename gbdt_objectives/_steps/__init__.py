"""What a fitted model computes: formulas, and steps that name them.

``formulas`` is the ground of the house and imports numpy only; ``steps`` stands above the checks.
"""
