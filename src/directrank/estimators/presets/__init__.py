"""The field's names for particular triples: one family a file, no logic."""

from directrank.estimators.presets import adarank, approximate, frank, ndcgboost, rankboost, regression
from directrank.estimators.presets.adarank import AdaRank
from directrank.estimators.presets.approximate import ApproxRank
from directrank.estimators.presets.frank import FRank
from directrank.estimators.presets.ndcgboost import NDCGBoost
from directrank.estimators.presets.rankboost import RankBoost
from directrank.estimators.presets.regression import Regression

#: Every named method, in the order of printing.
METHODS = (
    *regression.METHODS,
    *rankboost.METHODS,
    *frank.METHODS,
    *adarank.METHODS,
    *approximate.METHODS,
    *ndcgboost.METHODS,
)

__all__ = ["METHODS", "AdaRank", "ApproxRank", "FRank", "NDCGBoost", "RankBoost", "Regression"]
