"""Solvers that collect cuts: Frank-Wolfe, cutting planes, working sets."""
