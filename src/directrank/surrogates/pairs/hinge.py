"""The hinge on the pairs of documents of different relevance: RankSVM's loss as it stands."""

from functools import cached_property

import numpy as np

from directrank.data.queries import Queries
from directrank.surrogates.exchange.grade_weights import SwapDrop, estimated_weight
from directrank.surrogates.pairs.bound import BoundPairs
from directrank.surrogates.pairs.margins import Hinge
from directrank.surrogates.pairs.pairwise import GradeWeight, of_one_grade, weighted_runs


class PairwiseHinge:
    r"""The hinge on each pair of documents of different relevance, corner and all.

    .. math:: \sum_{i, j : y_i > y_j} w(y_i, y_j)\, \max(0,\, 1 - (s_i - s_j))

    It is the largest of as many planes as there are sets of pairs, so that solvers by cutting planes and
    Frank-Wolfe apply, with a duality gap. `Pairwise` has margins without a corner.

    Parameters
    ----------
    per_query : bool, default=False
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

    offers = frozenset({"value_and_gradient", "most_violated"})
    is_bound, is_convex, is_smooth = False, True, False

    def __init__(self, *, per_query: bool = False, weight: GradeWeight | SwapDrop | None = None):
        self.per_query, self.weight = per_query, weight

    @property
    def name(self) -> str:
        """The surrogate."""
        return f"PairwiseHinge({'per query' if self.per_query else ''})"

    def estimated(self, queries: Queries, weights: np.ndarray) -> "PairwiseHinge":
        """See `Estimated`: the weights of grades, where they are a `SwapDrop`."""
        weight = estimated_weight(self.weight, queries, weights)
        return PairwiseHinge(per_query=self.per_query, weight=weight)

    def constant(self, queries: Queries) -> np.ndarray:
        """Queries of one grade: they have no pairs."""
        return of_one_grade(queries)

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
        self._sum = self._pairs(queries, weights)

    def value_and_gradient(self, scores: np.ndarray) -> tuple[float, np.ndarray]:
        """Return the weighted sum over pairs and a derivative with respect to each score."""
        return self._sum.value_and_gradient(scores)

    def most_violated(self, scores: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return the set of pairs that violates most of each query: those with a margin below 1.

        The sum of query q is ``losses[q] + direction[rows] @ scores[rows]``, not weighted by the query.

        Returns
        -------
        losses : ndarray of shape (n_queries,), float64
            What the pairs of the set weigh.
        direction : ndarray of shape (n_docs,), type of `scores`
        """
        losses, direction = np.zeros(self.queries.n_queries), np.zeros_like(scores)
        for q in np.flatnonzero(self.weights > 0):
            rows = slice(self.queries.indptr[q], self.queries.indptr[q + 1])
            value, direction[rows] = self._single[q].value_and_gradient(scores[rows])
            losses[q] = value - direction[rows].astype(np.float64) @ scores[rows]
        return losses, direction

    @cached_property
    def _single(self) -> list[BoundPairs]:
        """Each query alone, of weight 1."""
        return [self._pairs(self.queries.part(q, q + 1), np.ones(1)) for q in range(self.queries.n_queries)]

    def _pairs(self, queries: Queries, weights: np.ndarray) -> BoundPairs:
        runs, each = weighted_runs(queries, weights, self.surrogate.per_query, self.surrogate.weight)
        return BoundPairs(runs, each, np.ones(queries.n_docs), Hinge())
