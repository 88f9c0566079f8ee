"""The gradient and the curvature of an objective, for trees to grow on."""

from typing import Any

import numpy as np

from directrank.contracts import Reweighable
from directrank.solvers.trees.growing import pieces

#: The least curvature of a document, as a share of its first one. Where a loss is nearly straight, a Newton
#: step would have no end.
FLOOR = 0.01
#: Bits of whole numbers that stand for derivatives.
FINE = 30


class Derivatives:
    """The gradient and the curvature of an objective, in the units of the libraries.

    An `Objective` is a mean over queries, divided by its value at zero scores. The libraries' limits, such as
    XGBoost's ``min_child_weight``, are for losses that add up over rows with a curvature of about 1 each, as
    the squared error's. So both derivatives are those of the sum over queries that can train, times the power
    of two that brings the mean of the first curvatures closest to 1. With a mean over queries no tree would
    split; with the sum alone, losses such as 1 − P@5, whose curvature is small, would not.

    Parameters
    ----------
    objective : directrank.contracts.ObjectiveOracles
        Offers `Curvature`. If it is `Reweighable` its weights follow the scores.

    Attributes
    ----------
    factor : float
        What derivatives of the objective are multiplied by; the first scores set its power of two.
    first : ndarray of shape (n_docs,)
        The curvature at the first scores; 0 for documents from which nothing can be learned.
    """

    def __init__(self, objective: Any):
        self.objective = objective
        self.factor = np.count_nonzero(objective.weights) / objective.scale
        self.first: Any = None

    def __call__(self, scores: np.ndarray) -> tuple[float, np.ndarray, np.ndarray]:
        """Return the objective, and gradient and curvature of each document, float64, in inner order."""
        objective = self.objective
        typed = scores.astype(objective.dtype, copy=False)
        if Reweighable in objective.offers:
            objective.reweigh(typed)
        value, gradient, curvature = objective.derivatives(typed)
        curvature = curvature.astype(np.float64)
        if self.first is None:
            self.factor *= _to_one(self.factor * curvature)
            self.first = self.factor * curvature
        curvature *= self.factor
        for some in pieces(len(curvature)):
            np.maximum(curvature[some], FLOOR * self.first[some], out=curvature[some])
        gradient = gradient.astype(np.float64)
        gradient *= self.factor
        return value, gradient, curvature


def _to_one(curvature: np.ndarray) -> float:
    """Return the power of two that brings the mean of positive curvatures closest to 1."""
    live = curvature[curvature > 0]
    return float(2.0 ** -np.rint(np.log2(live.mean()))) if live.size else 1.0


def whole_numbers(values: np.ndarray) -> tuple[np.ndarray, float]:
    """Return values rounded to 2⁻³⁰ of the power of two above the largest, as int32, and this unit."""
    largest = max(float(values.max(initial=0.0)), -float(values.min(initial=0.0)))
    if not 0.0 < largest < np.inf:
        return np.zeros(len(values), np.int32), 1.0
    power, numbers = int(np.frexp(largest)[1]) - FINE, np.empty(len(values), np.int32)
    # Two powers of two, as one may overflow; NumPy's ldexp takes ten times as long as the products.
    first = -power // 2
    for some in pieces(len(values)):
        numbers[some] = np.rint(values[some] * 2.0**first * 2.0 ** (-power - first))
    return numbers, float(np.ldexp(1.0, power))


def exact_sum(values: np.ndarray) -> float:
    """Return a sum of rounded values, which does not depend on their order."""
    numbers, unit = whole_numbers(values)
    return float(numbers.sum() * unit)
