"""Sections about the results of the methods."""
