"""Checks of measures, surrogates, solvers and methods on small collections.

The tests of directrank and `directrank check` run the same checks.
"""
