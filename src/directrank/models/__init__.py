"""Trained rankers on disk: one file, data only.

Public names are imported on first use: the file of a fusion is read without rankers.
"""

from typing import TYPE_CHECKING

from directrank.lazy import lazy_names

if TYPE_CHECKING:
    from directrank.models.saving import load, save
    from directrank.models.scorer_kinds import take_apart
    from directrank.models.state import set_state, state_of
    from directrank.models.weights import FORMS, SignalWeights


__all__ = [
    "FORMS",
    "SignalWeights",
    "load",
    "save",
    "set_state",
    "state_of",
    "take_apart",
]

__getattr__ = lazy_names(__name__)
