"""Estimators: learning to rank behind scikit-learn's interface."""

# ruff: noqa: F401 - the names are exported by `directrank`, which lists them

from directrank.estimators.committees import AutoRanker, Ensemble
from directrank.estimators.linear_ranker import SurrogateRanker
from directrank.estimators.presets import (
    XENDCG,
    AdaRank,
    ApproxRank,
    ConsistentRank,
    CoordinateAscent,
    FRank,
    LambdaLoss,
    LambdaRank,
    ListMLE,
    ListNet,
    NDCGBoost,
    PermuRank,
    PLRank,
    Preorder,
    RankBoost,
    RankCosine,
    RankNet,
    RankSVM,
    Regression,
    SoftRank,
    StructuralPerceptron,
    StructuralSVM,
    TreeRanker,
    YetiLoss,
)
from directrank.estimators.ranker import Ranker
