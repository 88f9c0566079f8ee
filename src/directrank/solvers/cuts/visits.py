"""Visits to the queries for their most violated cuts: in one compiled loop, or one by one.

The compiled loop fuses scores, search, direction and step, for linear scorers and surrogates that offer
`CutKernel`. Any other pair that fits is visited query by query through the oracle `MostViolated`.
"""

from typing import Protocol

import numba
import numpy as np

from directrank.contracts import CutKernel, LinearScorer
from directrank.kernels.compile import kernel
from directrank.kernels.plugins import cut_of_query, is_ours
from directrank.kernels.products import dot, row_products, transposed_product
from directrank.solvers.cuts.kept_cuts import Cuts, step_among_kept, take_cut


class Visits(Protocol):
    """The queries that are not skipped, by number from 0."""

    #: Weight of each, float64 (n,).
    weights: np.ndarray

    def visit(self, cuts: Cuts, order: np.ndarray, point: np.ndarray | None) -> tuple[float, float]:
        """Store the most violated cut of each query, all at one point, or each at w, with a step after it.

        Returns
        -------
        gap : float
            The sum of the queries' duality gaps, each when it was visited.
        risk : float
            The sum of cap · height.
        """
        ...

    def reorder(self, order: np.ndarray) -> None:
        """Renumber the queries."""
        ...


def visits_of(objective, scorer, features: np.ndarray) -> Visits:
    """Return the fastest way to visit the queries that the pair allows."""
    compiled = not numba.config.DISABLE_JIT  # type: ignore[attr-defined]
    if compiled and CutKernel in objective.offers and isinstance(scorer, LinearScorer):
        return CompiledVisits(objective, features)
    return SingleVisits(objective, scorer, features)


class SingleVisits:
    """Visits query by query through the surrogate's oracle, for any differentiable scorer."""

    def __init__(self, objective, scorer, features: np.ndarray):
        self.parts, self.scorer, self.features = objective.single_queries(), scorer, features
        self.dtype = objective.dtype
        self.weights = np.array([objective.weights[part.queries][0] for part in self.parts])

    def reorder(self, order: np.ndarray) -> None:
        """Renumber the queries."""
        self.parts, self.weights = [self.parts[number] for number in order], self.weights[order]

    def visit(self, cuts: Cuts, order: np.ndarray, point: np.ndarray | None) -> tuple[float, float]:
        """Store the most violated cut of each query; see `Visits`."""
        gap = risk = 0.0
        for number in order:
            part = self.parts[number]
            block, at = self.features[part.rows], cuts.w.copy() if point is None else point
            losses, direction = part.oracles.most_violated(self.scorer.forward(at, block, self.dtype))
            vector = self.scorer.backward(block, direction)
            risk += float(cuts.caps[number] * (losses[0] + vector @ at))
            gap += take_cut(cuts, number, losses[0], vector)
            if point is None:
                step_among_kept(cuts, number)
        return gap, risk


class CompiledVisits:
    """Visits in one compiled loop."""

    def __init__(self, objective, features: np.ndarray):
        self.features, self.dtype = features, objective.dtype
        self.plugin = objective.whole().oracles.cut_plugin()
        self.numbers = np.flatnonzero(objective.weights > 0)
        self.weights = objective.weights[self.numbers]
        self.loop = _visit if is_ours(self.plugin) else _visit_foreign
        # The scratch arrays of `_pass` are allocated here to shorten compilation.
        longest, n_features = self.plugin.longest, features.shape[1]
        self.scratch = (
            (np.empty((4, longest + 2), np.int64), np.empty((4, longest + 2))),
            (np.empty(longest, self.dtype), np.empty(longest, self.dtype)),
            (np.empty(n_features, self.dtype), np.zeros(n_features, self.dtype)),
            np.empty(n_features),
        )

    def reorder(self, order: np.ndarray) -> None:
        """Renumber the queries."""
        self.numbers, self.weights = self.numbers[order], self.weights[order]

    def visit(self, cuts: Cuts, order: np.ndarray, point: np.ndarray | None) -> tuple[float, float]:
        """Store the most violated cut of each query; see `Visits`."""
        moving = point is None
        at = np.zeros(len(cuts.w)) if moving else np.array(point)
        return self.loop(self.features, self.plugin, self.numbers, order, moving, at, cuts, self.scratch)


def _pass(features, plugin, numbers, order, moving, point, cuts, scratch):
    searching, (scores, direction), (typed, partial), vector = scratch
    gap, risk, indptr, caps = 0.0, 0.0, plugin.indptr, cuts.caps
    at = cuts.w if moving else point
    for number in order:
        q = numbers[number]
        start, stop = indptr[q], indptr[q + 1]
        block, s, d = features[start:stop], scores[: stop - start], direction[: stop - start]
        for k in range(len(at)):
            typed[k] = at[k]
            vector[k] = 0.0
        row_products(block, typed, s)
        offset = cut_of_query(plugin, q, s, searching, d)
        transposed_product(block, d, partial, vector)
        risk += caps[number] * (offset + dot(vector, at))
        gap += take_cut(cuts, number, offset, vector)
        if moving:
            step_among_kept(cuts, number)
    return gap, risk


_visit, _visit_foreign = kernel(_pass), kernel(_pass, cached=False)
