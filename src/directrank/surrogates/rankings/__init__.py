"""Bounds over pairs of rankings, and the searches over the rankings of a query."""
