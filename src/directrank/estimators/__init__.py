"""Estimators: scikit-learn's face of the library."""

from directrank.estimators.presets import AdaRank, ApproxRank, FRank, NDCGBoost, RankBoost, Regression
from directrank.estimators.ranker import Ranker

__all__ = ["AdaRank", "ApproxRank", "FRank", "NDCGBoost", "RankBoost", "Ranker", "Regression"]
