"""Trees and a linear model together in CalibratedClassifier, against trees alone."""
