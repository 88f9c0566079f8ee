"""Estimators: scikit-learn's face of the library."""

from directrank.estimators.presets import AdaRank, ApproxRank, PermuRank, Regression, StructuralSVM
from directrank.estimators.ranker import Ranker

__all__ = ["AdaRank", "ApproxRank", "PermuRank", "Ranker", "Regression", "StructuralSVM"]
