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
    PermuRank,
    Preorder,
    RankBoost,
    RankCosine,
    RankNet,
    RankSVM,
    Regression,
    SoftRank,
    StructuralSVM,
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
    "PermuRank",
    "Preorder",
    "RankBoost",
    "RankCosine",
    "RankNet",
    "RankSVM",
    "Ranker",
    "Regression",
    "SoftRank",
    "StructuralSVM",
]
