"""Differential fuzz: every public function of the maths rooms against a slow reference.

``python -m tests.fuzz --examples N --seed S`` draws nasty arguments, calls the package, and
compares what it gives with fractions, 50 digits or brute force. ``table.py`` pairs each public
name with its reference; ``generators.py`` draws; the other modules hold the references, one for
each room.
"""
