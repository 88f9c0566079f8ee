"""Estimators: scikit-learn's face of the library."""

from directrank.estimators.presets import (
    AdaRank,
    ApproxRank,
    ListMLE,
    ListNet,
    RankCosine,
    Regression,
    SoftRank,
)
from directrank.estimators.ranker import Ranker

__all__ = [
    "AdaRank",
    "ApproxRank",
    "ListMLE",
    "ListNet",
    "RankCosine",
    "Ranker",
    "Regression",
    "SoftRank",
]
