"""Comparisons of methods on a collection: protocol, records, tables.

Public names are imported on first use, so that a module of this package can be imported alone.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from directrank.apps.experiments.plan.external_estimators import ExternalEstimator
    from directrank.apps.experiments.plan.plan import Observer
    from directrank.apps.experiments.results.categories import CategoryMean, by_category, query_categories
    from directrank.apps.experiments.results.comparison import Comparison, read_results
    from directrank.apps.experiments.results.evaluated import evaluate_runs
    from directrank.apps.experiments.run.protocol import compare
    from directrank.apps.experiments.splitting import leave_last_out

_NAMES = {
    "results.categories": ("CategoryMean", "by_category", "query_categories"),
    "results.evaluated": ("evaluate_runs",),
    "plan.external_estimators": ("ExternalEstimator",),
    "plan.plan": ("Observer",),
    "run.protocol": ("compare",),
    "results.comparison": ("Comparison", "read_results"),
    "splitting": ("leave_last_out",),
}

__all__ = [
    "CategoryMean",
    "Comparison",
    "ExternalEstimator",
    "Observer",
    "by_category",
    "compare",
    "evaluate_runs",
    "leave_last_out",
    "query_categories",
    "read_results",
]


def __getattr__(name: str) -> Any:
    for module, names in _NAMES.items():
        if name in names:
            return getattr(import_module(f"{__name__}.{module}"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
