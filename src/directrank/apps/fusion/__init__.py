"""Fusion of retrieval runs and weights of signals: rules as they are, and weights that are learned.

Public names are imported on first use: the features of `directrank.apps.text` need the rules alone.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from directrank.apps.fusion.fusion import Fusion
    from directrank.apps.fusion.rules import FIXED, NORMALISATIONS
    from directrank.apps.fusion.runs import Runs
    from directrank.apps.fusion.tuning import Signal, Tuning, tune, weights_in_use

_NAMES = {
    "fusion": ("Fusion",),
    "runs": ("Runs",),
    "rules": ("FIXED", "NORMALISATIONS"),
    "tuning": ("Signal", "Tuning", "tune", "weights_in_use"),
}

__all__ = ["FIXED", "NORMALISATIONS", "Fusion", "Runs", "Signal", "Tuning", "tune", "weights_in_use"]


def __getattr__(name: str) -> Any:
    for module, names in _NAMES.items():
        if name in names:
            return getattr(import_module(f"{__name__}.{module}"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
