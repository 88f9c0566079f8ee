"""The field's names for particular triples: one family a file, no logic."""

from directrank.estimators.presets import (
    adarank,
    approximate,
    frank,
    listwise,
    ndcgboost,
    rankboost,
    regression,
    softrank,
)
from directrank.estimators.presets.adarank import AdaRank
from directrank.estimators.presets.approximate import ApproxRank
from directrank.estimators.presets.frank import FRank
from directrank.estimators.presets.listwise import ListMLE, ListNet, RankCosine
from directrank.estimators.presets.ndcgboost import NDCGBoost
from directrank.estimators.presets.rankboost import RankBoost
from directrank.estimators.presets.regression import Regression
from directrank.estimators.presets.softrank import SoftRank

#: Every named method, in the order of printing.
METHODS = (
    *regression.METHODS,
    *rankboost.METHODS,
    *frank.METHODS,
    *listwise.METHODS,
    *softrank.METHODS,
    *adarank.METHODS,
    *approximate.METHODS,
    *ndcgboost.METHODS,
)

__all__ = [
    "METHODS",
    "AdaRank",
    "ApproxRank",
    "FRank",
    "ListMLE",
    "ListNet",
    "NDCGBoost",
    "RankBoost",
    "RankCosine",
    "Regression",
    "SoftRank",
]
