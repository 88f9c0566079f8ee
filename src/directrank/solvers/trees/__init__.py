"""Boosting of trees: rounds, bins, and the growth of one tree."""
