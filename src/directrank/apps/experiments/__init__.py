"""Comparisons of methods on a collection: protocol, records, tables.

Public names are imported on first use, so that a module of this package can be imported alone.
"""

from typing import TYPE_CHECKING

from directrank.lazy import lazy_names

if TYPE_CHECKING:
    from directrank.apps.experiments.plan.external_estimators import ExternalEstimator
    from directrank.apps.experiments.plan.plan import Observer
    from directrank.apps.experiments.results.categories import CategoryMean, by_category, query_categories
    from directrank.apps.experiments.results.comparison import Comparison, read_results
    from directrank.apps.experiments.results.evaluated import evaluate_runs, evaluate_submissions
    from directrank.apps.experiments.results.tables import Table
    from directrank.apps.experiments.results.verdict import Verdict, verdict
    from directrank.apps.experiments.run.protocol import compare
    from directrank.apps.experiments.run.scored import ScoredFold, ScoredPlan, ScoredRow, plan_scored
    from directrank.apps.experiments.splitting import leave_last_out
    from directrank.apps.experiments.store.identity import environment


__all__ = [
    "CategoryMean",
    "Comparison",
    "ExternalEstimator",
    "Observer",
    "ScoredFold",
    "ScoredPlan",
    "ScoredRow",
    "Table",
    "Verdict",
    "by_category",
    "compare",
    "environment",
    "evaluate_runs",
    "evaluate_submissions",
    "leave_last_out",
    "plan_scored",
    "query_categories",
    "read_results",
    "verdict",
]

__getattr__ = lazy_names(__name__)
