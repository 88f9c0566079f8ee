"""Estimators: scikit-learn's face of the library."""

from directrank.estimators.presets import (
    AdaRank,
    ApproxRank,
    LambdaRank,
    OrderPreserving,
    Preorder,
    RankNet,
    RankSVM,
    Regression,
)
from directrank.estimators.ranker import Ranker

__all__ = [
    "AdaRank",
    "ApproxRank",
    "LambdaRank",
    "OrderPreserving",
    "Preorder",
    "RankNet",
    "RankSVM",
    "Ranker",
    "Regression",
]
