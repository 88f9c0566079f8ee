"""Measures at fractional positions, with bounds on their error."""
