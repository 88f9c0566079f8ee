"""Definitions of features, a family a file, and the table of all of them."""
