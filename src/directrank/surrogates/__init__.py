"""Surrogates: measures made into functions of scores."""

from directrank.surrogates.expected import ExpectedMeasure
from directrank.surrogates.exponential_pairs import ExponentialPairs
from directrank.surrogates.fidelity import Fidelity
from directrank.surrogates.gaussian import GaussianNoise
from directrank.surrogates.listwise import CosineDistance, PlackettLuce, SoftmaxCrossEntropy
from directrank.surrogates.objective import Objective
from directrank.surrogates.order_preserving import OrderPreserving
from directrank.surrogates.pairwise import Pairwise, gain_difference
from directrank.surrogates.pairwise_hinge import PairwiseHinge
from directrank.surrogates.pointwise import SquaredError
from directrank.surrogates.smoothed import SmoothedPositions
from directrank.surrogates.swap_drop import SwapDrop
from directrank.surrogates.swaps import SwapWeighted
from directrank.surrogates.type_one import TypeOneBound
from directrank.surrogates.type_two import TypeTwoBound
from directrank.surrogates.working_set import WorkingSetBound

#: Every surrogate.
SURROGATES = (
    SquaredError,
    TypeOneBound,
    SmoothedPositions,
    SoftmaxCrossEntropy,
    PlackettLuce,
    CosineDistance,
    GaussianNoise,
    ExpectedMeasure,
    ExponentialPairs,
    Fidelity,
    OrderPreserving,
    Pairwise,
    PairwiseHinge,
    SwapWeighted,
    TypeTwoBound,
    WorkingSetBound,
)

__all__ = [
    "SURROGATES",
    "CosineDistance",
    "ExpectedMeasure",
    "ExponentialPairs",
    "Fidelity",
    "GaussianNoise",
    "Objective",
    "OrderPreserving",
    "Pairwise",
    "PairwiseHinge",
    "PlackettLuce",
    "SmoothedPositions",
    "SoftmaxCrossEntropy",
    "SquaredError",
    "SwapDrop",
    "SwapWeighted",
    "TypeOneBound",
    "TypeTwoBound",
    "WorkingSetBound",
    "gain_difference",
]
