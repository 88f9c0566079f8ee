"""Visits to the queries for their most violated cuts: in one compiled loop, or one by one.

The compiled loop fuses scores, search, direction and step, and is there for linear scorers and surrogates
that offer ``cut_form``. Any other pair that fits goes query by query through the oracle ``most_violated``.
"""

from typing import Protocol

import numpy as np

from directrank.kernels.compile import kernel
from directrank.scorers import Linear
from directrank.scorers.linear import row_products, transposed_product
from directrank.solvers.cuts.kept_cuts import Cuts, take_cut
from directrank.solvers.cuts.simplex_qp import dot
from directrank.surrogates.rankings.two_class_search import cumulative, cut_of_query, scratch


class Visits(Protocol):
    """The queries that can teach, by number from 0."""

    #: Weight of each, float64 (n,).
    weights: np.ndarray

    def visit(self, cuts: Cuts, order: np.ndarray, point: np.ndarray | None) -> tuple[float, float]:
        """Take the most violated cut of each query, all at one point, or each at w, with a step after it.

        Returns
        -------
        gap : float
            The sum of the queries' duality gaps, each when it was visited.
        risk : float
            The sum of cap · height.
        """
        ...

    def reorder(self, order: np.ndarray) -> None:
        """Number the queries anew."""
        ...


def visits_of(objective, scorer, features: np.ndarray) -> Visits:
    """Return the fastest way round the queries that the pair allows."""
    if "cut_form" in objective.offers and isinstance(scorer, Linear):
        return CompiledVisits(objective, features)
    return SingleVisits(objective, scorer, features)


class SingleVisits:
    """Query by query through the surrogate's oracle, for any differentiable scorer."""

    def __init__(self, objective, scorer, features: np.ndarray):
        self.parts, self.scorer, self.features = objective.single_queries(), scorer, features
        self.dtype = objective.dtype
        self.weights = np.array([objective.weights[part.queries][0] for part in self.parts])

    def reorder(self, order: np.ndarray) -> None:
        """See `Visits`."""
        self.parts, self.weights = [self.parts[number] for number in order], self.weights[order]

    def visit(self, cuts: Cuts, order: np.ndarray, point: np.ndarray | None) -> tuple[float, float]:
        """See `Visits`."""
        gap = risk = 0.0
        for number in order:
            part = self.parts[number]
            block, at = self.features[part.rows], cuts.w.copy() if point is None else point
            losses, direction = part.oracles.most_violated(self.scorer.forward(at, block, self.dtype))
            vector = self.scorer.backward(block, direction)
            risk += float(cuts.caps[number] * (losses[0] + vector @ at))
            gap += take_cut(cuts, number, losses[0], vector, point is None)
        return gap, risk


class CompiledVisits:
    """All in one compiled loop."""

    def __init__(self, objective, features: np.ndarray):
        self.features, self.dtype = features, objective.dtype
        self.form = objective.whole().oracles.cut_form()
        self.numbers = np.flatnonzero(objective.weights > 0)
        self.weights = objective.weights[self.numbers]

    def reorder(self, order: np.ndarray) -> None:
        """See `Visits`."""
        self.numbers, self.weights = self.numbers[order], self.weights[order]

    def visit(self, cuts: Cuts, order: np.ndarray, point: np.ndarray | None) -> tuple[float, float]:
        """See `Visits`."""
        at = np.zeros(len(cuts.w)) if point is None else np.array(point)
        typed = np.zeros(len(at), self.dtype)
        return _visit(self.features, self.form, self.numbers, order, at, typed, point is None, cuts)


@kernel
def _visit(features, form, numbers, order, at, typed, moving, cuts):
    longest = len(form.curve)
    room, sums = scratch(longest), cumulative(form.curve)
    scores, direction = np.empty(longest, typed.dtype), np.empty(longest, typed.dtype)
    partial, vector = np.zeros(len(at), typed.dtype), np.empty(len(at))
    gap, risk = 0.0, 0.0
    indptr, caps, w = form.indptr, cuts.caps, cuts.w
    for number in order:
        q = numbers[number]
        start, stop = indptr[q], indptr[q + 1]
        block, s, d = features[start:stop], scores[: stop - start], direction[: stop - start]
        for k in range(len(at)):
            if moving:
                at[k] = w[k]
            typed[k] = at[k]
            vector[k] = 0.0
        row_products(block, typed, s)
        offset = cut_of_query(form, q, sums, s, room, d)
        transposed_product(block, d, partial, vector)
        risk += caps[number] * (offset + dot(vector, at))
        gap += take_cut(cuts, number, offset, vector, moving)
    return gap, risk
