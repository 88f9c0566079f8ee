"""The field's names for particular triples: one family a file, no logic."""

from directrank.estimators.presets import adarank, approximate, permurank, regression, structural
from directrank.estimators.presets.adarank import AdaRank
from directrank.estimators.presets.approximate import ApproxRank
from directrank.estimators.presets.permurank import PermuRank
from directrank.estimators.presets.regression import Regression
from directrank.estimators.presets.structural import StructuralSVM

#: Every named method, in the order of printing.
METHODS = (
    *regression.METHODS,
    *adarank.METHODS,
    *structural.METHODS,
    *permurank.METHODS,
    *approximate.METHODS,
)

__all__ = ["METHODS", "AdaRank", "ApproxRank", "PermuRank", "Regression", "StructuralSVM"]
