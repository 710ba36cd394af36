"""Segments that moved: repaired by trees inside the model, by logits, by a peer."""
