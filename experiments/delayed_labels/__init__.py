"""Labels that have not arrived: what training on them costs, and what the objective saves."""
