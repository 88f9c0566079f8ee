"""Comparisons of methods on a collection: protocol, records, tables.

Public names are imported on first use, so that a module of this package can be imported alone.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from directrank.experiments.evaluated import evaluate_runs
    from directrank.experiments.fusion import Fusion
    from directrank.experiments.plan import Observer
    from directrank.experiments.protocol import compare
    from directrank.experiments.results import Comparison, read_results
    from directrank.experiments.rivals import Rival
    from directrank.experiments.significance import PairedTest, paired_test

_MODULES = {
    "Comparison": "results",
    "Fusion": "fusion",
    "Observer": "plan",
    "PairedTest": "significance",
    "Rival": "rivals",
    "compare": "protocol",
    "evaluate_runs": "evaluated",
    "paired_test": "significance",
    "read_results": "results",
}

__all__ = [
    "Comparison",
    "Fusion",
    "Observer",
    "PairedTest",
    "Rival",
    "compare",
    "evaluate_runs",
    "paired_test",
    "read_results",
]


def __getattr__(name: str) -> Any:
    if name not in _MODULES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_MODULES[name]}"), name)
