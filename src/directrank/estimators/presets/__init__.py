"""The field's names for particular triples: one family a file, no logic."""

from directrank.estimators.presets import adarank, approximate, regression
from directrank.estimators.presets.adarank import AdaRank
from directrank.estimators.presets.approximate import ApproxRank
from directrank.estimators.presets.regression import Regression

#: Every named method, in the order of printing.
METHODS = (*regression.METHODS, *adarank.METHODS, *approximate.METHODS)

__all__ = ["METHODS", "AdaRank", "ApproxRank", "Regression"]
