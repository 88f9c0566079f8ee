"""Comparisons of methods on a collection: protocol, records, tables."""

from directrank.experiments.plan import Observer
from directrank.experiments.protocol import compare
from directrank.experiments.results import Comparison, read_results

__all__ = ["Comparison", "Observer", "compare", "read_results"]
