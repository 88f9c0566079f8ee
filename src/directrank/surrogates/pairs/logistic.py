r"""The oracles of logistic losses on pairs: :math:`\sum w_{ij} \ln(1 + e^{-(s_i - s_j)})`.

Differences of scores are exact for all scores: `directrank.surrogates.pairs.differences`. Two forms save
time: in single precision quotients of powers, `directrank.surrogates.pairs.quotients`, and for long lists
sums in which hardly a pair is visited, `directrank.surrogates.pairs.long_lists`.
"""

import numpy as np

from directrank.contracts import KernelPlugin
from directrank.data.queries import Queries
from directrank.surrogates.margins import LogisticForm
from directrank.surrogates.pairs.differences import sums_of_runs
from directrank.surrogates.pairs.long_lists import (
    LONG,
    RankedPairs,
    add_ranked,
    add_sums,
    add_turns,
    are_near,
    n_pairs,
)
from directrank.surrogates.pairs.quotients import LogisticPairs, logistic_pairs, sums_of_few
from directrank.surrogates.pairs.runs import Equal, add_hessian

WeightedRuns = tuple[np.ndarray, np.ndarray]


class LogisticOracles:
    """The oracles of the logistic margin on runs of pairs, (n_runs, 4), of these weights.

    The pairs of `summed` runs have one weight each, and are not visited unless scores are far apart. Further
    pairs are those of near ranks, and those of `few` documents, ascending rows, with all of their query.
    """

    of_queries: np.ndarray  # What queries with few documents weigh

    def __init__(self, queries: Queries, runs: np.ndarray, weights: np.ndarray):
        self.queries, self.runs, self.weights = queries, runs, weights
        self.summed, self.few = (runs[:0], weights[:0]), np.zeros(0, np.int64)

    def ranked(self) -> list[RankedPairs]:
        """Return the pairs of documents that are near in a ranking, list by list."""
        return []

    def rule(self) -> KernelPlugin:
        """Return what a pair weighs besides the weight of its run."""
        return Equal()

    def value_and_gradient(self, scores: np.ndarray) -> tuple[float, np.ndarray]:
        """Return the weighted sum over pairs and its derivative with respect to each score."""
        near, far = self._by_distance(scores)
        value, gradient, _ = self._visited(scores, far)
        return value + add_sums(scores, *near, gradient), gradient

    def derivatives(self, scores: np.ndarray) -> tuple[float, np.ndarray, np.ndarray]:
        """Return value, gradient and curvature in one visit; see `directrank.contracts.Curvature`."""
        near, far = self._by_distance(scores)
        value, gradient, curvature = self._visited(scores, far)
        add_turns(scores, None, *near, curvature)
        return value + add_sums(scores, *near, gradient), gradient, curvature

    def _by_distance(self, scores: np.ndarray) -> tuple[WeightedRuns, WeightedRuns]:
        """Return the summed runs, and those of them whose scores are too far apart for it."""
        runs, weights = self.summed
        if not len(runs):
            return self.summed, self.summed
        near = are_near(scores, runs)
        return (runs[near], weights[near]), (runs[~near], weights[~near])

    def _visited(self, scores: np.ndarray, far: WeightedRuns) -> tuple[float, np.ndarray, np.ndarray]:
        """Return the value of the pairs that are not summed, its derivative and its curvature."""
        value, gradient, curvature, queries = 0.0, np.zeros_like(scores), np.zeros_like(scores), self.queries
        for rule, runs, weights in ((self.rule(), self.runs, self.weights), (Equal(), *far)):
            if len(runs):
                room = np.empty((5, queries.longest))
                value += sums_of_runs(rule, scores, runs, weights, room, gradient, curvature)
        for pairs in self.ranked():
            value += add_ranked(scores, pairs, gradient, curvature)
        if len(self.few):
            arguments = self.few, queries.relevance, scores, queries.indptr, self.of_queries
            value += sums_of_few(self.rule(), *arguments, gradient, curvature)
        return float(value), gradient, curvature


class SmoothLogisticOracles(LogisticOracles):
    """The oracles of the logistic margin on runs of one weight each, with its second derivative."""

    def __init__(self, queries: Queries, runs: np.ndarray, weights: np.ndarray):
        is_long = n_pairs(runs) > LONG
        super().__init__(queries, runs[~is_long], weights[~is_long])
        self.summed = runs[is_long], weights[is_long]

    def hessian_vector(self, scores: np.ndarray, direction: np.ndarray) -> np.ndarray:
        """Return the second derivative at `scores` times `direction`, shape (n_docs,)."""
        out, strength, (near, far) = np.zeros_like(scores), np.ones(len(scores)), self._by_distance(scores)
        for runs, weights in ((self.runs, self.weights), far):
            add_hessian(LogisticForm(), strength, scores, direction, runs, weights, out)
        add_turns(scores, direction, *near, out)
        return out

    def gradient_plugin(self) -> LogisticPairs:
        """Return what `directrank.kernels.plugins.query_gradient` reads."""
        is_long = np.zeros(self.queries.n_queries, np.bool_)
        is_long[self.queries.query[self.summed[0][:, 0]]] = True
        return logistic_pairs(self.queries, self.runs, self.weights, self.rule(), is_long)
