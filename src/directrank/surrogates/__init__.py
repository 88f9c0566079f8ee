"""Surrogates: measures made into functions of scores."""

from directrank.surrogates.expected import ExpectedMeasure
from directrank.surrogates.exponential_pairs import ExponentialPairs
from directrank.surrogates.fidelity import Fidelity
from directrank.surrogates.objective import Objective
from directrank.surrogates.pointwise import SquaredError
from directrank.surrogates.smoothed import SmoothedPositions
from directrank.surrogates.type_one import TypeOneBound

#: Every surrogate.
SURROGATES = (SquaredError, TypeOneBound, SmoothedPositions, ExpectedMeasure, ExponentialPairs, Fidelity)

__all__ = [
    "SURROGATES",
    "ExpectedMeasure",
    "ExponentialPairs",
    "Fidelity",
    "Objective",
    "SmoothedPositions",
    "SquaredError",
    "TypeOneBound",
]
