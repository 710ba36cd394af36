"""The published QWK experiment, on synthetic data."""
