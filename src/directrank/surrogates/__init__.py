"""Surrogates: measures made into functions of scores."""

from directrank.surrogates.exchange.lambda_weighted import SwapWeighted
from directrank.surrogates.listwise import GainCrossEntropy, PlackettLuce, SoftmaxCrossEntropy
from directrank.surrogates.measure_itself import MeasureItself
from directrank.surrogates.objective import Objective
from directrank.surrogates.pairs.exponential import ExponentialPairs
from directrank.surrogates.pairs.fidelity import Fidelity
from directrank.surrogates.pairs.order_preserving import OrderPreserving
from directrank.surrogates.pairs.pairwise import Pairwise, PairwiseHinge, gain_difference, label_difference
from directrank.surrogates.pairs.runs import SwapDrop
from directrank.surrogates.pointwise import LinearLoss, SquaredError
from directrank.surrogates.policy import PolicyMeasure, expected_exposure
from directrank.surrogates.positions.expected import ExpectedMeasure
from directrank.surrogates.positions.gaussian import GaussianNoise
from directrank.surrogates.positions.smoothed import SmoothedPositions
from directrank.surrogates.rankings.type_two import TypeTwoBound
from directrank.surrogates.rankings.working_set import WorkingSetBound
from directrank.surrogates.type_one import TypeOneBound

#: Every surrogate.
SURROGATES = (
    SquaredError,
    LinearLoss,
    MeasureItself,
    TypeOneBound,
    SmoothedPositions,
    SoftmaxCrossEntropy,
    GainCrossEntropy,
    PlackettLuce,
    GaussianNoise,
    ExpectedMeasure,
    ExponentialPairs,
    Fidelity,
    OrderPreserving,
    Pairwise,
    PairwiseHinge,
    SwapWeighted,
    PolicyMeasure,
    TypeTwoBound,
    WorkingSetBound,
)

__all__ = [
    "SURROGATES",
    "ExpectedMeasure",
    "ExponentialPairs",
    "Fidelity",
    "GainCrossEntropy",
    "GaussianNoise",
    "LinearLoss",
    "MeasureItself",
    "Objective",
    "OrderPreserving",
    "Pairwise",
    "PairwiseHinge",
    "PlackettLuce",
    "PolicyMeasure",
    "SmoothedPositions",
    "SoftmaxCrossEntropy",
    "SquaredError",
    "SwapDrop",
    "SwapWeighted",
    "TypeOneBound",
    "TypeTwoBound",
    "WorkingSetBound",
    "expected_exposure",
    "gain_difference",
    "label_difference",
]
