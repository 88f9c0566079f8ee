"""Scorers: features to scores."""

from directrank.scorers.linear import Linear

#: Every scorer.
SCORERS = (Linear,)

__all__ = ["SCORERS", "Linear"]
