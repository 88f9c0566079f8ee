"""Compiled functions over arrays: the decorator, and kernels that several concepts share."""
