"""Measurements of speed, and larger trials."""
