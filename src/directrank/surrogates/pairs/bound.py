"""The weighted sum of a margin over runs of pairs."""

from typing import Any

import numpy as np

from directrank.data.queries import Queries
from directrank.surrogates.margins import Margin
from directrank.surrogates.pairs.by_sorting import goes_by_sorting, sorted_hessian, sorted_run
from directrank.surrogates.pairs.compiled.hinges import pairs_plugin
from directrank.surrogates.pairs.curvature import PAIR_CURVATURES
from directrank.surrogates.pairs.kernels import PAIR_HESSIANS, PAIR_SUMS


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
    queries : Queries
    constants : ndarray of shape (n_queries,), optional
        What pairs of a document with itself add to the sum of each query.
    """

    def __init__(self, runs, weights, strength, margin: Margin, queries: Queries, constants=None):
        self.margin, self.strength, self.queries = margin, strength, queries
        self.constants = np.zeros(queries.n_queries) if constants is None else constants
        self.constant = float(self.constants.sum())
        self.runs = runs, weights
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

    def gradient_plugin(self) -> Any:
        """Return what `directrank.kernels.plugins.query_gradient` reads."""
        return pairs_plugin(self.queries, *self.runs, self.strength, self.margin, self.constants)

    def curvature(self, scores: np.ndarray) -> np.ndarray:
        """Return the curvature at each score, (n_docs,); see `directrank.surrogates.pairs.curvature`."""
        out = np.zeros_like(scores)
        PAIR_CURVATURES[self.margin.code](scores, *self.runs, self.strength, self.margin.width, out)
        return out

    def hessian_vector(self, scores: np.ndarray, direction: np.ndarray) -> np.ndarray:
        """Return the second derivative at `scores` times `direction`, shape (n_docs,)."""
        out = np.zeros_like(scores)
        margin = self.margin
        PAIR_HESSIANS[margin.code](scores, direction, *self.short, self.strength, margin.width, out)
        for run, weight in self.long:
            sorted_hessian(scores, direction, run, weight, self.strength, margin, out)
        return out
