"""Whether a difference that compare_performance finds can be tested."""
