"""Scorers: features to scores."""

from typing import Any

from directrank.scorers.additive import Additive, Tree, single_feature, stump, tree_of
from directrank.scorers.linear import Linear

#: Every scorer.
SCORERS = (Linear, Additive)


def default_scorer(kind: type) -> Any:
    """Return the first scorer of `SCORERS`, untrained, that is of a kind, such as `LinearScorer`."""
    return next(scorer for scorer in (each() for each in SCORERS) if isinstance(scorer, kind))


__all__ = ["SCORERS", "Additive", "Linear", "Tree", "default_scorer", "single_feature", "stump", "tree_of"]
