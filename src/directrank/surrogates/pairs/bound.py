"""What surrogates made of pairs of documents share: the weights of pairs, and the bound sum over runs."""

from copy import copy

import numpy as np

from directrank.contracts import Surrogate
from directrank.data.queries import Queries
from directrank.surrogates.margins import Margin
from directrank.surrogates.pairs.by_sorting import goes_by_sorting, sorted_curvature, sorted_run
from directrank.surrogates.pairs.grade_weights import GradeWeight, SwapDrop
from directrank.surrogates.pairs.kernels import PAIR_CURVATURE, PAIR_SUMS
from directrank.surrogates.pairs.runs import weighted_runs


class WeightedPairs(Surrogate):
    """A margin on each pair of documents of different relevance, weighted by query and by grades."""

    normalise: bool
    weight: GradeWeight | SwapDrop | None

    def estimated(self, queries: Queries, weights: np.ndarray) -> Surrogate:
        """Return the surrogate with the weights of grades that training queries give to a `SwapDrop`."""
        if not isinstance(self.weight, SwapDrop):
            return self
        found = copy(self)
        found.weight = self.weight.estimated(queries, weights)
        return found

    def bound_to(self, queries: Queries, weights: np.ndarray, margin: Margin) -> "BoundPairs":
        """Return the weighted sum of a margin over the pairs of some queries."""
        runs, each = weighted_runs(queries, weights, self.normalise, self.weight)
        return BoundPairs(runs, each, np.ones(queries.n_docs), margin)


class BoundPairs:
    r"""The oracles of :math:`\sum_r w_r \sum_{i, j} a_i \varphi(s_i - s_j) - \text{constant}` over runs r.

    Parameters
    ----------
    runs : ndarray of shape (n_runs, 4), int64
        See `directrank.surrogates.pairs.runs`.
    weights : ndarray of shape (n_runs,)
    strength : ndarray of shape (n_docs,)
        a.
    margin : Margin
        φ.
    constant : float, default=0.0
        What pairs of a document with itself add to the sum.
    """

    def __init__(self, runs, weights, strength, margin: Margin, constant: float = 0.0):
        self.margin, self.strength, self.constant = margin, strength, constant
        sizes = runs[:, 1] - runs[:, 0], runs[:, 3] - runs[:, 2]
        by_sorting = goes_by_sorting(*sizes, margin)
        self.short = runs[~by_sorting], weights[~by_sorting]
        self.long = list(zip(runs[by_sorting], weights[by_sorting], strict=True))

    def value_and_gradient(self, scores: np.ndarray) -> tuple[float, np.ndarray]:
        """Return the weighted sum over pairs and its derivative with respect to each score."""
        gradient = np.zeros_like(scores)
        margin = self.margin
        total = PAIR_SUMS[margin.code](scores, *self.short, self.strength, margin.width, gradient)
        for run, weight in self.long:
            total += sorted_run(scores, run, weight, self.strength, margin, gradient)
        return total - self.constant, gradient

    def hessian_vector(self, scores: np.ndarray, direction: np.ndarray) -> np.ndarray:
        """Return the second derivative at `scores` times `direction`, shape (n_docs,)."""
        out = np.zeros_like(scores)
        margin = self.margin
        PAIR_CURVATURE[margin.code](scores, direction, *self.short, self.strength, margin.width, out)
        for run, weight in self.long:
            sorted_curvature(scores, direction, run, weight, self.strength, margin, out)
        return out
