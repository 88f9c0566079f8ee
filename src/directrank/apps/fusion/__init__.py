"""Fusion of retrieval runs and weights of signals: rules as they are, and weights that are learned.

Public names are imported on first use: the features of `directrank.apps.text` need the rules alone.
"""

from typing import TYPE_CHECKING

from directrank.lazy import lazy_names

if TYPE_CHECKING:
    from directrank.apps.fusion.fusion import FusedDocument, Fusion
    from directrank.apps.fusion.rules import FIXED, NORMALISATIONS
    from directrank.apps.fusion.runs import Runs
    from directrank.apps.fusion.tuning import Signal, Tuning, tune, weights_in_use


__all__ = [
    "FIXED",
    "NORMALISATIONS",
    "FusedDocument",
    "Fusion",
    "Runs",
    "Signal",
    "Tuning",
    "tune",
    "weights_in_use",
]

__getattr__ = lazy_names(__name__)
