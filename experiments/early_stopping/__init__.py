"""The defaults of QWKClassifier: its objective, and early stopping."""
