"""Trained rankers on disk: one file, data only; and the readers of other libraries' models.

Public names are imported on first use: the file of a fusion is read without rankers.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from directrank.models.saving import load, save
    from directrank.models.scorer_kinds import take_apart
    from directrank.models.state import set_state, state_of
    from directrank.models.weights import FORMS, SignalWeights

_NAMES = {
    "saving": ("load", "save"), "scorer_kinds": ("take_apart",), "state": ("set_state", "state_of"),
    "weights": ("FORMS", "SignalWeights"),
}  # fmt: skip

__all__ = [
    "FORMS",
    "SignalWeights",
    "load",
    "save",
    "set_state",
    "state_of",
    "take_apart",
]


def __getattr__(name: str) -> Any:
    for module, names in _NAMES.items():
        if name in names:
            return getattr(import_module(f"{__name__}.{module}"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
