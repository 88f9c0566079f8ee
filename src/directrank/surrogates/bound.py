"""Bound forms of surrogates: oracles from kernels, and from the values of a measure."""

from collections.abc import Callable
from typing import Any

import numpy as np

from directrank.contracts import Measure
from directrank.data.queries import Queries
from directrank.measures.positions import positions_of


class BoundKernel:
    """The oracles of a surrogate on some queries, from kernels.

    `kernel` takes scores, `arguments` (such as boundaries and weights of queries) and a gradient; it returns
    the weighted sum over queries, and adds its derivative to the gradient. `curvatures` takes the same, and
    adds the curvature at each score to its last argument.
    """

    def __init__(self, kernel: Callable[..., float], curvatures: Callable[..., None], *arguments: Any):
        self.kernel, self.curvatures, self.arguments = kernel, curvatures, arguments

    def value_and_gradient(self, scores: np.ndarray) -> tuple[float, np.ndarray]:
        """Return the weighted sum over queries and its derivative with respect to each score."""
        gradient = np.zeros_like(scores)
        return float(self.kernel(scores, *self.arguments, gradient)), gradient

    def curvature(self, scores: np.ndarray) -> np.ndarray:
        """Return the curvature at each score, (n_docs,); see `directrank.contracts.Curvature`."""
        out = np.zeros_like(scores)
        self.curvatures(scores, *self.arguments, out)
        return out


class BoundValues:
    """The values of a measure on some queries."""

    def __init__(self, measure: Measure, queries: Queries, weights: np.ndarray):
        self.measure, self.queries, self.weights = measure, queries, weights
        self.n_read = measure.n_read(queries)

    def query_values(self, scores: np.ndarray) -> np.ndarray:
        """Return the measure of each query, float64 (n_queries,)."""
        return self.measure.query_values(self.queries, positions_of(self.queries, scores, n_read=self.n_read))
