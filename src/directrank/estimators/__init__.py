"""Estimators: scikit-learn's face of the library."""

from directrank.estimators.presets import (
    AdaRank,
    ApproxRank,
    FRank,
    LambdaRank,
    ListMLE,
    ListNet,
    NDCGBoost,
    OrderPreserving,
    Preorder,
    RankBoost,
    RankCosine,
    RankNet,
    RankSVM,
    Regression,
    SoftRank,
)
from directrank.estimators.ranker import Ranker

__all__ = [
    "AdaRank",
    "ApproxRank",
    "FRank",
    "LambdaRank",
    "ListMLE",
    "ListNet",
    "NDCGBoost",
    "OrderPreserving",
    "Preorder",
    "RankBoost",
    "RankCosine",
    "RankNet",
    "RankSVM",
    "Ranker",
    "Regression",
    "SoftRank",
]
