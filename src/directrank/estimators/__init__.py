"""Estimators: scikit-learn's face of the library."""

from directrank.estimators.presets import AdaRank, ApproxRank, Regression
from directrank.estimators.ranker import Ranker

__all__ = ["AdaRank", "ApproxRank", "Ranker", "Regression"]
