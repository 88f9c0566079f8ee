"""The hinge on the pairs of documents of different relevance: RankSVM's own loss."""

from functools import cached_property

import numpy as np

from directrank.data.queries import Queries
from directrank.oracles import MostViolated, ValueAndGradient
from directrank.surrogates.margins import Hinge
from directrank.surrogates.pairs.bound import BoundPairs, WeightedPairs
from directrank.surrogates.pairs.grade_weights import GradeWeight, SwapDrop


class PairwiseHinge(WeightedPairs):
    r"""The hinge, with its corner, on each pair of documents of different relevance.

    .. math:: \sum_{i, j : y_i > y_j} w(y_i, y_j)\, \max(0,\, 1 - (s_i - s_j))

    It is the largest of as many planes as there are sets of pairs, so that solvers by cutting planes and
    Frank-Wolfe apply, with a duality gap. `Pairwise` has margins without a corner.

    Parameters
    ----------
    normalise : bool, default=False
        Divide the sum of each query by its number of pairs.
    weight : callable or SwapDrop, optional
        w(y, y') ≥ 0 of arrays of grades; 1 by default.

    Traits
    ------
    bound: no (of a rate of wrong pairs only). convex: yes. smooth: no. shift-invariant: yes.

    Notes
    -----
    O(number of pairs) in vectorised loops, O(G n log n) for long lists of G grades.

    References
    ----------
    .. [1] T. Joachims, "Training linear SVMs in linear time", KDD 2006: one plane for all pairs.
    """

    offers = frozenset({ValueAndGradient, MostViolated})
    is_bound, is_convex, is_smooth = False, True, False

    def __init__(self, *, normalise: bool = False, weight: GradeWeight | SwapDrop | None = None):
        self.normalise, self.weight = normalise, weight
        self.variant = "normalised" if normalise else ""

    def bind(self, queries: Queries, weights: np.ndarray) -> "BoundHinge":
        """Bind to some queries with a weight each.

        Raises
        ------
        ValueError
            If a pair of grades has a negative weight.
        """
        return BoundHinge(self, queries, weights)


class BoundHinge:
    """The oracles of `PairwiseHinge` on some queries."""

    def __init__(self, surrogate: PairwiseHinge, queries: Queries, weights: np.ndarray):
        self.surrogate, self.queries, self.weights = surrogate, queries, weights
        self._sum = surrogate.bound_to(queries, weights, Hinge())

    def value_and_gradient(self, scores: np.ndarray) -> tuple[float, np.ndarray]:
        """Return the weighted sum over pairs and a derivative with respect to each score."""
        return self._sum.value_and_gradient(scores)

    def most_violated(self, scores: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return the cut of each query: the sum over its pairs with a margin below 1, not weighted by query.

        The offset of a cut is the weight of those pairs.
        """
        losses, direction = np.zeros(self.queries.n_queries), np.zeros_like(scores)
        for q in np.flatnonzero(self.weights > 0):
            rows = slice(self.queries.indptr[q], self.queries.indptr[q + 1])
            value, direction[rows] = self._single[q].value_and_gradient(scores[rows])
            losses[q] = value - direction[rows].astype(np.float64) @ scores[rows]
        return losses, direction

    @cached_property
    def _single(self) -> list[BoundPairs]:
        """Each query alone, with weight 1."""
        return [
            self.surrogate.bound_to(self.queries.part(q, q + 1), np.ones(1), Hinge())
            for q in range(self.queries.n_queries)
        ]
