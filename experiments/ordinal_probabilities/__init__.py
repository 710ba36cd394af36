"""Class probabilities of ordered classes: a curve of a score, ordinal logit, multi-class."""
