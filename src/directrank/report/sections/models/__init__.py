"""Sections about the models behind the figures."""
