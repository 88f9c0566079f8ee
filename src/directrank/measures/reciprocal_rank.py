"""Reciprocal rank: one over the position of the first relevant document."""

import math
from typing import Any, ClassVar

import numpy as np

from directrank.data.queries import Queries
from directrank.kernels.compile import kernel
from directrank.measures.capabilities import RelevantTerms
from directrank.measures.exchange.tables import pair_table, rr_swaps
from directrank.measures.naming.grammar import Named, checked_cutoff, checked_grade, grade
from directrank.measures.positions import Positions
from directrank.measures.relevant import longest, n_relevant, one_class, reciprocals, terms
from directrank.measures.smooth.error import comparison_error, cutoff_error, reciprocal_sums
from directrank.measures.smooth.stops import soft_stops


class RR(Named):
    r"""Reciprocal rank; its mean over queries is called MRR.

    .. math:: 1 / \min_{i : y_i \ge t} \pi_i, \qquad 0 \text{ if that position is beyond } k

    Parameters
    ----------
    cutoff : int, optional
        k, the last position that counts; all by default.
    rel : float, default=1
        t, the least grade of a relevant document.

    References
    ----------
    .. [1] F. McSherry, M. Najork, "Computing information retrieval performance measures efficiently in the
       presence of tied scores", ECIR 2008.
    .. [2] T. Qin, T.-Y. Liu, H. Li, "A general approximation framework for direct optimization of information
       retrieval measures", Information Retrieval 13, 2010.
    """

    bare_name = "RR"
    aliases = ("MRR", "recip_rank", "reciprocal_rank")
    parameters: ClassVar = {"rel": grade("rel")}

    def __init__(self, cutoff: int | None = None, *, rel: float = 1):
        self.cutoff, self.rel = checked_cutoff(cutoff), checked_grade("rel", rel)

    def printed(self) -> dict[str, Any]:
        """The parameters that are not at their defaults."""
        return {} if self.rel == 1 else {"rel": self.rel}

    def leading(self, queries: Queries) -> np.ndarray:
        """Relevant documents come first; the value depends on their positions alone."""
        return n_relevant(queries, self.rel)

    def undefined(self, queries: Queries) -> np.ndarray:
        """Queries without a relevant document."""
        return n_relevant(queries, self.rel) == 0

    def constant(self, queries: Queries) -> np.ndarray:
        """Queries whose documents are all relevant, or all not."""
        return one_class(queries, self.rel)

    def query_values(self, queries: Queries, positions: Positions) -> np.ndarray:
        """The value of each query, float64 (n_queries,); 0 where undefined."""
        values = np.empty(queries.n_queries)
        cutoff = self.cutoff or longest(queries)
        _first(positions.above, positions.tied, queries.indptr, self.leading(queries), cutoff, values)
        return values

    def position_gradient(self, queries: Queries, positions: np.ndarray, truncation: float):
        """See `PositionDifferentiable`; [2]_ (14) for who is first, and (16) for a cutoff."""
        values, gradient = np.zeros(queries.n_queries), np.zeros_like(positions)
        soft_stops(
            positions, queries.indptr, self.leading(queries),
            np.ones(queries.n_docs), np.zeros(queries.n_docs), np.ones(queries.n_queries),
            float(self.cutoff or math.inf), float(truncation), values, gradient,
        )  # fmt: skip
        return values, gradient

    def approximation_bound(self, queries: Queries, error: np.ndarray, truncation: float) -> np.ndarray:
        """See `Certified`; each of R products is off by at most R − 1 comparisons."""
        relevant = self.leading(queries)
        products = np.maximum(relevant - 1, 0) * comparison_error(error, truncation)
        return (
            products * reciprocal_sums(relevant, error) + error + cutoff_error(error, truncation, self.cutoff)
        )

    def relevant_terms(self, sizes: np.ndarray, n_relevant: np.ndarray) -> RelevantTerms:
        """See `TwoClassMeasure`: the first relevant document decides."""
        return terms(reciprocals(sizes, self.cutoff), first=1.0, n_queries=len(sizes))

    def swap_differences(self, queries: Queries, place: np.ndarray) -> np.ndarray:
        """See `Swappable`."""
        pairs = pair_table(queries)
        # One place more than the longest query has, for a relevant document that does not exist.
        worth = np.concatenate(([0.0], reciprocals(queries.sizes, self.cutoff), [0.0]))
        table = np.zeros(pairs.n_pairs)
        rr_swaps(place, queries.indptr, self.leading(queries), pairs.below, pairs.start, worth, table)
        return table

    @property
    def fixed_places(self) -> int:
        """The first position decides."""
        return 1


def first_naive(above, tied, cutoff) -> float:
    """Expected reciprocal rank of one query from the positions of its relevant documents, for tests."""
    if not len(above):
        return 0.0
    a = min(above)
    m, r = tied[np.argmin(above)], sum(above == a)
    value, none_yet = 0.0, 1.0
    for u in range(m - r + 1):
        value += none_yet * r / (m - u) / (a + u + 1) * (a + u < cutoff)
        none_yet *= 1.0 - r / (m - u)
    return value


@kernel
def _first(above, tied, indptr, leading, cutoff, values):
    for q in range(len(indptr) - 1):
        values[q] = 0.0
        if leading[q] == 0:
            continue
        first = indptr[q]
        a, m, r = above[first], tied[first], 0
        for i in range(indptr[q], indptr[q] + leading[q]):
            if above[i] < a:
                a, m, r = above[i], tied[i], 0
            r += above[i] == a
        # Of the m places of the block, the first that holds one of its r relevant documents.
        value, none_yet = 0.0, 1.0
        for u in range(min(m - r + 1, cutoff - a)):
            here = r / (m - u)
            value += none_yet * here / (a + u + 1.0)
            none_yet *= 1.0 - here
        values[q] = value
