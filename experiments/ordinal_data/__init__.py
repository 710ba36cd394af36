"""Squared error against extended QWK on any CSV file with ordered integer labels."""
