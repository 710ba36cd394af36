"""Which calibrator: excess log loss over the true probability, ours and peers."""
