"""Sections about the models."""
