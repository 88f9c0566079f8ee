"""Surrogates: measures made into functions of scores."""

from directrank.surrogates.objective import Objective
from directrank.surrogates.order_preserving import OrderPreserving
from directrank.surrogates.pairwise import Pairwise, gain_difference
from directrank.surrogates.pointwise import SquaredError
from directrank.surrogates.smoothed import SmoothedPositions
from directrank.surrogates.swaps import SwapWeighted
from directrank.surrogates.type_one import TypeOneBound

#: Every surrogate.
SURROGATES = (SquaredError, TypeOneBound, SmoothedPositions, OrderPreserving, Pairwise, SwapWeighted)

__all__ = [
    "SURROGATES",
    "Objective",
    "OrderPreserving",
    "Pairwise",
    "SmoothedPositions",
    "SquaredError",
    "SwapWeighted",
    "TypeOneBound",
    "gain_difference",
]
