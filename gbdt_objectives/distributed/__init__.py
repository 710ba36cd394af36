"""Engines of many machines: what one machine computes from rows, from sums over all of them."""
