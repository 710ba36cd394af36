"""Thresholds for each segment of rows: common, separate, or shrunk shifts."""
