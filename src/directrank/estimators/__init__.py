"""Estimators: scikit-learn's face of the library."""

from directrank.estimators.presets import (
    AdaRank,
    ApproxRank,
    FRank,
    ListMLE,
    ListNet,
    NDCGBoost,
    RankBoost,
    RankCosine,
    Regression,
    SoftRank,
)
from directrank.estimators.ranker import Ranker

__all__ = [
    "AdaRank",
    "ApproxRank",
    "FRank",
    "ListMLE",
    "ListNet",
    "NDCGBoost",
    "RankBoost",
    "RankCosine",
    "Ranker",
    "Regression",
    "SoftRank",
]
