"""Trained rankers on disk: one file, data only."""

from directrank.models.saving import load, save

__all__ = ["load", "save"]
