"""How steep the probabilities of averaged models must be."""
