"""Trained rankers on disk: one file, data only; and the readers of other libraries' models."""

from directrank.models.saving import load, save
from directrank.models.scorer_kinds import put_together, take_apart

__all__ = [
    "load",
    "put_together",
    "save",
    "take_apart",
]
