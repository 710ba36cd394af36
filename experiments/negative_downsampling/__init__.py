"""Rare events: trained on fewer negatives, uncorrected, corrected, weighted; time and quality."""
