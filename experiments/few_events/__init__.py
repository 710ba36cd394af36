"""Calibrators on few events, and on kept negatives."""
