"""Sections about the figures of the methods."""
