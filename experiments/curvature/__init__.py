"""Exact or bounded hessians of the logistic objectives, both tuned alike."""
