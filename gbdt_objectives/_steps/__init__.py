"""What a fitted model computes: formulas, the ground of the house, and steps that name them."""
