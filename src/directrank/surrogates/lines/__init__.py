"""Measures along a line of scores."""
