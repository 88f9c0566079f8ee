"""Solvers that follow gradients: L-BFGS, SGD, truncated Newton, re-weighting."""
