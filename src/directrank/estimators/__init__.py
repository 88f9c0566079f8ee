"""Estimators: learning to rank behind scikit-learn's interface."""

# ruff: noqa: F401 - the names are exported by `directrank`, which lists them

from directrank.estimators.committees import AutoRanker, Ensemble
from directrank.estimators.methods import SurrogateRanker
from directrank.estimators.presets.approximate import ApproxRank, SoftRank
from directrank.estimators.presets.boosted import FRank, NDCGBoost, RankBoost
from directrank.estimators.presets.bounds import (
    AdaRank,
    CoordinateAscent,
    PermuRank,
    StructuralPerceptron,
    StructuralSVM,
)
from directrank.estimators.presets.lambdas import LambdaLoss, LambdaRank, PLRank, YetiLoss
from directrank.estimators.presets.listwise import XENDCG, ListMLE, ListNet, RankCosine
from directrank.estimators.presets.pairs import ConsistentRank, Preorder, RankNet, RankSVM, Regression
from directrank.estimators.presets.trees import TreeRanker
from directrank.estimators.ranker import Ranker
