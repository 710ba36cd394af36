"""Experiments: a folder each, run as ``python -m experiments.<name>`` from the repository root."""
