"""Losses on the pairs of documents of different relevance: preorder, RankSVM, RankNet."""

from copy import copy
from functools import cached_property
from typing import Any, Self

import numpy as np

from directrank.contracts import (
    Curvature,
    GradientKernel,
    HessianVector,
    MostViolated,
    Oracles,
    Surrogate,
    ValueAndGradient,
)
from directrank.data.queries import Queries
from directrank.surrogates.margins import Hinge, Logistic, Margin, pair_margin
from directrank.surrogates.pairs.hinges import HingeOracles, SmoothHingeOracles, goes_by_sorting
from directrank.surrogates.pairs.logistic import SmoothLogisticOracles
from directrank.surrogates.pairs.long_lists import LONG
from directrank.surrogates.pairs.runs import GradeWeight, SwapDrop, runs_of_pairs, weighted_runs


def gain_difference(better: np.ndarray, worse: np.ndarray) -> np.ndarray:
    """Return the difference of the exponential gains of two grades, 2^y − 2^y'."""
    return np.exp2(better) - np.exp2(worse)


def label_difference(better: np.ndarray, worse: np.ndarray) -> np.ndarray:
    """Return the difference of two labels, y − y'."""
    return better - worse


class WeightedPairs(Surrogate):
    """A margin on each pair of documents of different relevance, weighted by query, grades and confidence."""

    margin: Margin
    normalise: bool
    weight: GradeWeight | SwapDrop | None
    weighs_documents = True
    takes_real = True

    def estimated(self, queries: Queries, weights: np.ndarray) -> Self:
        """Return the surrogate with the weights of grades that training queries give to a `SwapDrop`."""
        surrogate = copy(self)
        if isinstance(self.weight, SwapDrop):
            surrogate.weight = self.weight.estimated(queries, weights)
        return surrogate

    def work(self, queries: Queries) -> np.ndarray:
        """See `Surrogate`: pairs, but for those that are sorted or summed; and runs of every two grades."""
        runs, query = runs_of_pairs(queries, by_grades=False)
        winners, losers = runs[:, 1] - runs[:, 0], runs[:, 3] - runs[:, 2]
        cost = (1.0 if isinstance(self.margin, Logistic) else 0.25) * winners * losers
        if isinstance(self.margin, Logistic):
            summed = winners * losers > LONG
            cost[summed] = 25.0 * (winners + losers)[summed]
        cost[goes_by_sorting(winners, losers, self.margin)] = 0.0
        grades = np.bincount(query, minlength=queries.n_queries)
        return np.bincount(query, cost, queries.n_queries) + (10.0 * grades**2 if self.weight else 0.0)

    def weighted_runs(self, queries: Queries, weights: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return the runs of pairs that have a weight, and what a pair of each weighs."""
        weight: Any = self.estimated(queries, weights).weight
        return weighted_runs(queries, weights, self.normalise, weight)

    def on(self, queries: Queries, weights: np.ndarray) -> Oracles:
        """Return the oracles on some queries, each with a weight.

        Raises ValueError if a pair of grades has a negative weight.
        """
        runs, run_weights = self.weighted_runs(queries, weights)
        if isinstance(self.margin, Logistic):
            return SmoothLogisticOracles(queries, runs, run_weights)
        return SmoothHingeOracles(runs, run_weights, self.margin, queries)


class Pairwise(WeightedPairs):
    r"""The preorder loss: a margin on each pair of documents of different relevance.

    Documents of grades 2, 1 and 0 with the scores 1, 2 and 0 have the value ln(1 + e) + ln(1 + 1/e) + ln(1 +
    1/e²) with the logistic margin:

    >>> loss = Pairwise(margin="logistic").on(one_query([2, 1, 0]), np.ones(1))
    >>> scores = np.array([1.0, 2.0, 0.0])
    >>> value, gradient = loss.value_and_gradient(scores)
    >>> round(value, 4), gradient.round(4).tolist()
    (1.7535, [-1.0, 0.6119, 0.3881])

    .. math:: \sum_{i, j : y_i > y_j} c_i c_j\, w(y_i, y_j)\, \varphi(s_i - s_j)

    c is the confidence of the label of a document, 1 by default.

    Parameters
    ----------
    margin : {"huber", "squared_hinge", "logistic"} or Margin, default="huber"
        φ; logistic to base e.
    width : float, default=0.5
        Of the Huber margin, in score units.
    normalise : bool, default=False
        Divide the sum of each query by its number of pairs [2]_.
    weight : callable or SwapDrop, optional
        w(y, y') ≥ 0 of arrays of grades, such as `gain_difference`, or estimated from the training queries; 1
        by default.

    Traits
    ------
    bound: no (of a rate of wrong pairs only). convex: yes. smooth: yes. shift-invariant: yes.

    Notes
    -----
    The documents of a grade are one segment: O(number of pairs) in vectorised loops, O(G n log n) for long
    lists of G grades.

    References
    ----------
    .. [1] D. Buffoni, C. Calauzènes, P. Gallinari, N. Usunier, "Learning scoring functions with
       order-preserving losses and standardized supervision", ICML 2011, Eqs. (5) and (14).
    .. [2] Y. Cao et al., "Adapting ranking SVM to document retrieval", SIGIR 2006.
    """

    offers = frozenset({ValueAndGradient, Curvature, GradientKernel, HessianVector})
    is_bound, is_convex, is_smooth = False, True, True

    def __init__(
        self,
        *,
        margin: str | Margin = "huber",
        width: float = 0.5,
        normalise: bool = False,
        weight: GradeWeight | SwapDrop | None = None,
    ):
        self.margin, self.normalise, self.weight = pair_margin(margin, width), normalise, weight
        self.variant = self.margin.name + (", normalised" if normalise else "")
        if isinstance(self.margin, Hinge):
            raise TypeError("the hinge has a corner and no second derivative: use PairwiseHinge")


class PairwiseHinge(WeightedPairs):
    r"""The hinge, with its corner, on each pair of documents of different relevance.

    Documents of grades 2, 1 and 0 with the scores 1, 2 and 0 have the value 2 + 0 + 0:

    >>> loss, scores = PairwiseHinge().on(one_query([2, 1, 0]), np.ones(1)), np.array([1.0, 2.0, 0.0])
    >>> value, gradient = loss.value_and_gradient(scores)
    >>> round(value, 4), gradient.round(4).tolist()
    (2.0, [-1.0, 1.0, 0.0])

    .. math:: \sum_{i, j : y_i > y_j} c_i c_j\, w(y_i, y_j)\, \max(0,\, 1 - (s_i - s_j))

    c is the confidence of the label of a document, 1 by default.

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

    offers = frozenset({ValueAndGradient, Curvature, GradientKernel, MostViolated})
    is_bound, is_convex, is_smooth = False, True, False
    margin = Hinge()

    def __init__(self, *, normalise: bool = False, weight: GradeWeight | SwapDrop | None = None):
        self.normalise, self.weight = normalise, weight
        self.variant = "normalised" if normalise else ""

    def on(self, queries: Queries, weights: np.ndarray) -> "_PairwiseHingeOracles":
        """Return the oracles on some queries, each with a weight."""
        return _PairwiseHingeOracles(self, queries, weights)


class _PairwiseHingeOracles(HingeOracles):
    """The oracles of `PairwiseHinge` on some queries."""

    def __init__(self, surrogate: PairwiseHinge, queries: Queries, weights: np.ndarray):
        runs, weights_of_runs = surrogate.weighted_runs(queries, weights)
        super().__init__(runs, weights_of_runs, surrogate.margin, queries)
        self.surrogate, self.queries, self.of_queries = surrogate, queries, weights

    def most_violated(self, scores: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return the cut of each query: the sum over its pairs with a margin below 1, not weighted by query.

        The offset of a cut is the weight of those pairs.
        """
        losses, direction = np.zeros(self.queries.n_queries), np.zeros_like(scores)
        for q in np.flatnonzero(self.of_queries > 0):
            rows = slice(self.queries.indptr[q], self.queries.indptr[q + 1])
            value, direction[rows] = self._single[q].value_and_gradient(scores[rows])
            losses[q] = value - direction[rows].astype(np.float64) @ scores[rows]
        return losses, direction

    @cached_property
    def _single(self) -> list[HingeOracles]:
        """Each query alone, with weight 1."""
        parts = (self.queries.part(q, q + 1) for q in range(self.queries.n_queries))
        return [self.surrogate.on(part, np.ones(1)) for part in parts]
