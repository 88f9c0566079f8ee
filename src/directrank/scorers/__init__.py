"""Scorers: features to scores."""

from typing import Any

from directrank.scorers.contributions import contributions, contributions_by_paths
from directrank.scorers.ensemble import StandardisedMean, Sum, reads_queries, scores_in_queries, summed
from directrank.scorers.linear import LINEAR, Linear, LogLinear, QueryLinear
from directrank.scorers.trees import Additive, Trees, single_feature, stump, tree_of

#: Every scorer that can be trained.
SCORERS = (Linear, Additive, Trees)


def default_scorer(kind: type) -> Any:
    """Return the first scorer of `SCORERS`, untrained, that is of a kind, such as `LinearScorer`."""
    return next(scorer for scorer in (scorer_type() for scorer_type in SCORERS) if isinstance(scorer, kind))


__all__ = [
    "LINEAR",
    "SCORERS",
    "Additive",
    "Linear",
    "LogLinear",
    "QueryLinear",
    "StandardisedMean",
    "Sum",
    "Trees",
    "contributions",
    "contributions_by_paths",
    "default_scorer",
    "reads_queries",
    "scores_in_queries",
    "single_feature",
    "stump",
    "summed",
    "tree_of",
]
