"""The derivatives of an objective as libraries that grow trees want them."""

from typing import Any

import numpy as np

from directrank.contracts import Reweighable

#: The least curvature of a document, as a share of its first one. Where a loss is nearly straight, a Newton
#: step would have no end.
FLOOR = 0.01
#: Bits of a rounded number, as many as float32 has.
BITS = 24


class Derivatives:
    """The gradient and the curvature of an objective, in the units of the libraries.

    An `Objective` is a mean over queries, divided by its value at zero scores. The libraries' limits, such as
    XGBoost's ``min_child_weight``, are for losses that add up over rows with a curvature of about 1 each, as
    the squared error's. So both derivatives are those of the sum over queries that can train, times the power
    of two that brings the mean of the first curvatures closest to 1. With a mean over queries no tree would
    split; with the sum alone, losses such as 1 − P@5, whose curvature is small, would not.

    Parameters
    ----------
    objective : directrank.contracts.BoundObjective
        Offers `ValueAndGradient` and `Curvature`. If it is `Reweighable` its weights follow the scores.

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
        """Return the objective, and the gradient and the curvature of each document, float32 (n_docs,).

        Parameters
        ----------
        scores : ndarray of shape (n_docs,)
            In the inner order of rows, as are the results.
        """
        objective = self.objective
        typed = scores.astype(objective.dtype)
        if Reweighable in objective.offers:
            objective.reweigh(typed)
        value, gradient = objective.value_and_gradient(typed)
        curvature = objective.curvature(typed).astype(np.float64)
        if self.first is None:
            self.factor *= _to_one(self.factor * curvature)
            self.first = self.factor * curvature
        curvature *= self.factor
        floored = np.maximum(curvature, FLOOR * self.first)
        return value, on_a_grid(self.factor * gradient.astype(np.float64)), on_a_grid(floored)


def _to_one(curvature: np.ndarray) -> float:
    """Return the power of two that brings the mean of positive curvatures closest to 1."""
    live = curvature[curvature > 0]
    return float(2.0 ** -np.rint(np.log2(live.mean()))) if live.size else 1.0


def on_a_grid(values: np.ndarray) -> np.ndarray:
    """Return values rounded to multiples of one power of two, the 2⁻²³ of the largest, as float32.

    The libraries add them up in float64. Sums of such numbers are exact, in whatever order threads add them.
    """
    largest = float(np.abs(values).max(initial=0.0))
    if not 0.0 < largest < np.inf:
        return values.astype(np.float32)
    unit = 2.0 ** (np.ceil(np.log2(largest)) - BITS + 1)
    return (np.rint(values / unit) * unit).astype(np.float32)
