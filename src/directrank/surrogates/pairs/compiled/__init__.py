"""Losses on pairs inside the compiled pass over queries."""
