"""Which rows, how heavy, where, and who asks: rows and their values, places, workers and parts."""
