"""The field's names for particular triples: one family a file, no logic."""

from directrank.estimators.presets import (
    adarank,
    approximate,
    consistent,
    lambdas,
    preorder,
    ranksvm,
    regression,
)
from directrank.estimators.presets.adarank import AdaRank
from directrank.estimators.presets.approximate import ApproxRank
from directrank.estimators.presets.consistent import OrderPreserving
from directrank.estimators.presets.lambdas import LambdaRank, RankNet
from directrank.estimators.presets.preorder import Preorder
from directrank.estimators.presets.ranksvm import RankSVM
from directrank.estimators.presets.regression import Regression

#: Every named method, in the order of printing.
METHODS = (
    *regression.METHODS,
    *ranksvm.METHODS,
    *lambdas.METHODS,
    *adarank.METHODS,
    *preorder.METHODS,
    *consistent.METHODS,
    *approximate.METHODS,
)

__all__ = [
    "METHODS",
    "AdaRank",
    "ApproxRank",
    "LambdaRank",
    "OrderPreserving",
    "Preorder",
    "RankNet",
    "RankSVM",
    "Regression",
]
