"""Trained rankers on disk: one file, data only; and the readers of other libraries' models."""

from directrank.models.saving import load, save

__all__ = ["load", "save"]
