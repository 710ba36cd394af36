"""Bags of models on downsampled negatives, averaged as probabilities or as log-odds."""
