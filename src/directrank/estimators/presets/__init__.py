"""The field's names for particular triples: one family a file, no logic."""

from directrank.estimators.presets import adarank, approximate, listwise, regression, softrank
from directrank.estimators.presets.adarank import AdaRank
from directrank.estimators.presets.approximate import ApproxRank
from directrank.estimators.presets.listwise import ListMLE, ListNet, RankCosine
from directrank.estimators.presets.regression import Regression
from directrank.estimators.presets.softrank import SoftRank

#: Every named method, in the order of printing.
METHODS = (
    *regression.METHODS,
    *listwise.METHODS,
    *adarank.METHODS,
    *approximate.METHODS,
    *softrank.METHODS,
)

__all__ = [
    "METHODS",
    "AdaRank",
    "ApproxRank",
    "ListMLE",
    "ListNet",
    "RankCosine",
    "Regression",
    "SoftRank",
]
