"""Whether intervals of an estimated prior cover, and the test of a shift holds its level."""
