"""Estimators: learning to rank behind scikit-learn's interface."""

from directrank.estimators.ensembles import AutoRanker, Ensemble
from directrank.estimators.linear_ranker import SurrogateRanker
from directrank.estimators.presets.boosted import FRank, NDCGBoost, RankBoost
from directrank.estimators.presets.bounds import (
    AdaRank,
    CoordinateAscent,
    PermuRank,
    StructuralSVM,
)
from directrank.estimators.presets.listwise import (
    XENDCG,
    ApproxRank,
    LambdaLoss,
    LambdaRank,
    ListMLE,
    ListNet,
    PLRank,
    SoftRank,
)
from directrank.estimators.presets.pairs import ConsistentRank, Preorder, RankNet, RankSVM, Regression
from directrank.estimators.presets.trees import TreeRanker
from directrank.estimators.prior import CorrelationRanker
from directrank.estimators.ranker import Ranker

__all__ = [
    "XENDCG",
    "AdaRank",
    "ApproxRank",
    "AutoRanker",
    "ConsistentRank",
    "CoordinateAscent",
    "CorrelationRanker",
    "Ensemble",
    "FRank",
    "LambdaLoss",
    "LambdaRank",
    "ListMLE",
    "ListNet",
    "NDCGBoost",
    "PLRank",
    "PermuRank",
    "Preorder",
    "RankBoost",
    "RankNet",
    "RankSVM",
    "Ranker",
    "Regression",
    "SoftRank",
    "StructuralSVM",
    "SurrogateRanker",
    "TreeRanker",
]
