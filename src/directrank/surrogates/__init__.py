"""Surrogates: measures made into functions of scores."""

from directrank.surrogates.objective import Objective
from directrank.surrogates.pointwise import SquaredError
from directrank.surrogates.smoothed import SmoothedPositions
from directrank.surrogates.type_one import TypeOneBound

#: Every surrogate.
SURROGATES = (SquaredError, TypeOneBound, SmoothedPositions)

__all__ = ["SURROGATES", "Objective", "SmoothedPositions", "SquaredError", "TypeOneBound"]
