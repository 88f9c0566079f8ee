"""What every measure, surrogate, solver and method promises, tried on small collections.

The tests of directrank and `directrank check` call the same promises.
"""
