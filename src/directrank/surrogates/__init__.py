"""Surrogates: measures made into functions of scores."""

from directrank.surrogates.objective import Objective
from directrank.surrogates.pointwise import SquaredError
from directrank.surrogates.smoothed import SmoothedPositions
from directrank.surrogates.type_one import TypeOneBound
from directrank.surrogates.type_two import TypeTwoBound
from directrank.surrogates.working_set import WorkingSetBound

#: Every surrogate.
SURROGATES = (SquaredError, TypeOneBound, SmoothedPositions, TypeTwoBound, WorkingSetBound)

__all__ = [
    "SURROGATES",
    "Objective",
    "SmoothedPositions",
    "SquaredError",
    "TypeOneBound",
    "TypeTwoBound",
    "WorkingSetBound",
]
