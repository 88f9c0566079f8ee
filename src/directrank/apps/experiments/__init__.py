"""Comparisons of methods on a collection: protocol, records, tables.

Public names are imported on first use, so that a module of this package can be imported alone.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from directrank.apps.experiments.categories import CategoryMean, by_category, query_categories
    from directrank.apps.experiments.evaluated import evaluate_runs
    from directrank.apps.experiments.external_estimators import ExternalEstimator
    from directrank.apps.experiments.plan import Observer
    from directrank.apps.experiments.protocol import compare
    from directrank.apps.experiments.results import Comparison, read_results

_NAMES = {
    "categories": ("CategoryMean", "by_category", "query_categories"),
    "evaluated": ("evaluate_runs",),
    "external_estimators": ("ExternalEstimator",),
    "plan": ("Observer",),
    "protocol": ("compare",),
    "results": ("Comparison", "read_results"),
}

__all__ = [
    "CategoryMean",
    "Comparison",
    "ExternalEstimator",
    "Observer",
    "by_category",
    "compare",
    "evaluate_runs",
    "query_categories",
    "read_results",
]


def __getattr__(name: str) -> Any:
    for module, names in _NAMES.items():
        if name in names:
            return getattr(import_module(f"{__name__}.{module}"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
