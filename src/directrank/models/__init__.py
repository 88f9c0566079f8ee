"""Trained rankers on disk: one file, data only; and in the forms of other engines."""

from directrank.apps.engines import export
from directrank.models.saving import load, save

__all__ = ["export", "load", "save"]
