"""Squared error on each document: what regression minimises, blind to queries and positions."""

import numpy as np

from directrank.contracts import Curvature, Surrogate, Targets, ValueAndGradient
from directrank.data.queries import Queries


class SquaredError(Surrogate):
    r"""The mean squared difference between score and relevance.

    .. math:: \sum_i c_i (s_i - y_i)^2

    c is the confidence of the label, 1 by default. It is order-preserving for the DCG when the target is the
    gain, but knows nothing of positions, and queries with many documents weigh more.

    Traits
    ------
    bound: no. convex: yes. smooth: yes. shift-invariant in scores: no (the scorer's intercept is free).
    """

    offers = frozenset({ValueAndGradient, Curvature, Targets})
    is_bound, is_convex, is_smooth = False, True, True
    weighs_documents = True

    def uninformative(self, queries: Queries) -> np.ndarray:
        """Skip no query: every document has its own target, as in the published baseline."""
        return np.zeros(queries.n_queries, dtype=bool)

    def bind(self, queries: Queries, weights: np.ndarray) -> "BoundSquaredError":
        """Bind to some queries with a weight each."""
        of_query = np.repeat(weights, queries.sizes)
        confidence = 1.0 if queries.confidence is None else queries.confidence
        return BoundSquaredError(queries.relevance, of_query * confidence)


class BoundSquaredError:
    """The oracles of `SquaredError` on some queries."""

    def __init__(self, relevance: np.ndarray, weights: np.ndarray):
        self.relevance, self.weights = relevance, weights

    def targets(self) -> tuple[np.ndarray, np.ndarray]:
        """Return the score that each document should have, and its weight; float64 (n_docs,)."""
        return self.relevance, self.weights

    def value_and_gradient(self, scores: np.ndarray) -> tuple[float, np.ndarray]:
        """Return the weighted sum of squared errors and its derivative."""
        error = scores - self.relevance
        weighted = self.weights * error
        return float(weighted @ error), (2.0 * weighted).astype(scores.dtype)

    def curvature(self, scores: np.ndarray) -> np.ndarray:
        """Return the second derivative with respect to each score: twice the weight of the document."""
        return (2.0 * self.weights).astype(scores.dtype)
