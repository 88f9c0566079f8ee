"""Searches over the rankings of one query, on plain arrays.

Surrogates make the arrays and solvers compile the searches into their loops; neither has to know the other.
"""
