"""Reciprocal rank: one over the position of the first relevant document."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from directrank.data.queries import Queries
from directrank.kernels.compile import kernel
from directrank.measures.exchange.tables import err_swaps, filled_table
from directrank.measures.families.stopping import Stopping
from directrank.measures.families.two_classes import RelevantTerms, TwoClasses, reciprocals
from directrank.measures.positions import Positions


@dataclass(frozen=True, repr=False)
class RR(TwoClasses, Stopping):
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
    """

    aliases: ClassVar = ("MRR", "recip_rank", "reciprocal_rank")
    meaning: ClassVar = (
        "Reciprocal rank: 1 if the first document is relevant, 1/2 if the second is the first relevant one, "
        "and so on. Its mean over queries is called MRR."
    )

    cutoff: int | None = None

    @property
    def deciding_ranks(self) -> int:
        """The first rank decides."""
        return 1

    def query_values(self, queries: Queries, positions: Positions) -> np.ndarray:
        """The value of each query, float64 (n_queries,); 0 where undefined."""
        values = np.empty(queries.n_queries)
        cutoff = min(self.cutoff or queries.longest, queries.longest)
        _first(positions.above, positions.tied, queries.indptr, self.n_read(queries), cutoff, values)
        return values

    def stopping(self, queries: Queries) -> np.ndarray:
        """1 for relevant documents."""
        return (queries.relevance >= self.rel).astype(np.float64)

    def relevant_terms(self, sizes: np.ndarray, n_relevant: np.ndarray) -> RelevantTerms:
        """See `TwoClassMeasure`: the first relevant document decides."""
        curve = reciprocals(int(sizes.max(initial=1)), self.cutoff)
        return RelevantTerms.of(curve, len(sizes), first=1.0)

    def swap_differences(self, queries: Queries, rank: np.ndarray) -> np.ndarray:
        """See `Swappable`."""
        reciprocal = np.append(0.0, reciprocals(queries.longest, self.cutoff))
        stopping, norm = self.stopping(queries), self.norm(queries)
        return filled_table(queries, rank, err_swaps, stopping, reciprocal, norm)


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
def _first(above, tied, indptr, n_read, cutoff, values):
    for q in range(len(indptr) - 1):
        values[q] = 0.0
        if n_read[q] == 0:
            continue
        first = indptr[q]
        a, m, r = above[first], tied[first], 0
        for i in range(indptr[q], indptr[q] + n_read[q]):
            if above[i] < a:
                a, m, r = above[i], tied[i], 0
            r += above[i] == a
        # The block has m ranks and r relevant documents; u ranks of it hold none before the first that does.
        value, none_yet = 0.0, 1.0
        for u in range(min(m - r + 1, cutoff - a)):
            here = r / (m - u)
            value += none_yet * here / (a + u + 1.0)
            none_yet *= 1.0 - here
        values[q] = value
