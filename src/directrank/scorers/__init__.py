"""Scorers: features to scores."""

from directrank.scorers.additive import Additive, Tree, single_feature, stump, tree_of
from directrank.scorers.linear import Linear

#: Every scorer.
SCORERS = (Linear, Additive)

__all__ = ["SCORERS", "Additive", "Linear", "Tree", "single_feature", "stump", "tree_of"]
