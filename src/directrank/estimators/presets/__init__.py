"""The field's names for particular triples: one family a file, no logic."""

from directrank.estimators.presets import (
    adarank,
    approximate,
    consistent,
    frank,
    lambdas,
    listwise,
    ndcgboost,
    permurank,
    preorder,
    rankboost,
    ranksvm,
    regression,
    softrank,
    structural,
)
from directrank.estimators.presets.adarank import AdaRank
from directrank.estimators.presets.approximate import ApproxRank
from directrank.estimators.presets.consistent import OrderPreserving
from directrank.estimators.presets.frank import FRank
from directrank.estimators.presets.lambdas import LambdaRank, RankNet
from directrank.estimators.presets.listwise import ListMLE, ListNet, RankCosine
from directrank.estimators.presets.ndcgboost import NDCGBoost
from directrank.estimators.presets.permurank import PermuRank
from directrank.estimators.presets.preorder import Preorder
from directrank.estimators.presets.rankboost import RankBoost
from directrank.estimators.presets.ranksvm import RankSVM
from directrank.estimators.presets.regression import Regression
from directrank.estimators.presets.softrank import SoftRank
from directrank.estimators.presets.structural import StructuralSVM

#: Every named method, in the order of printing.
METHODS = (
    *regression.METHODS,
    *ranksvm.METHODS,
    *rankboost.METHODS,
    *frank.METHODS,
    *listwise.METHODS,
    *lambdas.METHODS,
    *softrank.METHODS,
    *adarank.METHODS,
    *structural.METHODS,
    *permurank.METHODS,
    *preorder.METHODS,
    *consistent.METHODS,
    *approximate.METHODS,
    *ndcgboost.METHODS,
)

__all__ = [
    "METHODS",
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
    "Regression",
    "SoftRank",
    "StructuralSVM",
]
