"""The whole path on ordered grades: QWKClassifier against what a user would run instead."""
