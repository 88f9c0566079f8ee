"""Surrogates: measures made into functions of scores."""

from directrank.surrogates.expected import ExpectedMeasure
from directrank.surrogates.exponential_pairs import ExponentialPairs
from directrank.surrogates.fidelity import Fidelity
from directrank.surrogates.gaussian import GaussianNoise
from directrank.surrogates.listwise import CosineDistance, PlackettLuce, SoftmaxCrossEntropy
from directrank.surrogates.objective import Objective
from directrank.surrogates.pointwise import SquaredError
from directrank.surrogates.smoothed import SmoothedPositions
from directrank.surrogates.type_one import TypeOneBound

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
)

__all__ = [
    "SURROGATES",
    "CosineDistance",
    "ExpectedMeasure",
    "ExponentialPairs",
    "Fidelity",
    "GaussianNoise",
    "Objective",
    "PlackettLuce",
    "SmoothedPositions",
    "SoftmaxCrossEntropy",
    "SquaredError",
    "TypeOneBound",
]
