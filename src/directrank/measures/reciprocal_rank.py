"""The rank of the first relevant document: reciprocal rank, and success at a cutoff."""

from abc import abstractmethod
from dataclasses import dataclass, field
from typing import ClassVar

import numpy as np

from directrank.data.queries import Queries
from directrank.kernels.compile import kernel
from directrank.measures.exchange import err_swaps, filled_table
from directrank.measures.families.definition import RelevantTerms, TwoClasses
from directrank.measures.families.stopping import Stopping
from directrank.measures.positions import Positions


@dataclass(frozen=True, repr=False)
class FirstRelevant(TwoClasses):
    r"""One over a divisor d of the rank of the first relevant document; 0 beyond the cutoff.

    .. math:: 1 / d(\min_{i : y_i \ge t} \pi_i)
    """

    unretrieved = "beyond"

    @abstractmethod
    def divisors(self, n_ranks: int) -> np.ndarray:
        """D of the ranks from 1 on, float64 (n_ranks,), 1 or more and not decreasing."""

    def query_values(self, queries: Queries, positions: Positions) -> np.ndarray:
        """The value of each query, float64 (n_queries,); 0 where undefined."""
        values, n_ranks = np.empty(queries.n_queries), queries.longest
        _first(
            positions.above, positions.tied, queries.indptr, self.n_read(queries),
            self.divisors(n_ranks)[: self.cutoff], values,
        )  # fmt: skip
        return np.minimum(values, 1.0)

    def relevant_terms(self, sizes: np.ndarray, n_relevant: np.ndarray) -> RelevantTerms:
        """See `TwoClassMeasure`: the first relevant document decides."""
        return RelevantTerms.of(self._values(int(sizes.max(initial=1))), len(sizes), first=1.0)

    def swap_differences(self, queries: Queries, rank: np.ndarray) -> np.ndarray:
        """See `Swappable`."""
        curve = np.append(0.0, self._values(queries.longest))
        return filled_table(queries, rank, err_swaps, self.gains(queries), curve, np.ones(queries.n_queries))

    def _values(self, n_ranks: int) -> np.ndarray:
        """Return the value if the first relevant document is at each rank, float64 (n_ranks,)."""
        values = 1.0 / self.divisors(n_ranks)
        values[self.cutoff or n_ranks :] = 0.0
        return values


@dataclass(frozen=True, repr=False)
class RR(FirstRelevant, Stopping):
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

    def divisors(self, n_ranks: int) -> np.ndarray:
        """The ranks."""
        return np.arange(1.0, n_ranks + 1)

    def stopping(self, queries: Queries) -> np.ndarray:
        """1 for relevant documents."""
        return self.gains(queries)


@dataclass(frozen=True, repr=False)
class Success(FirstRelevant):
    r"""Success: whether a relevant document is among the first `cutoff`; also called hit rate.

    .. math:: [\![ \min_{i : y_i \ge t} \pi_i \le k ]\!]

    Parameters
    ----------
    cutoff : int
        k, the last position that counts.
    rel : float, default=1
        t, the least grade of a relevant document.

    Notes
    -----
    Some texts call this measure recall at k. As in trec_eval, recall here is a share of the relevant
    documents, `R`.
    """

    aliases: ClassVar = ("hit", "hits", "hr", "hit_rate", "HitRate")
    meaning: ClassVar = "Success, or hit rate: whether a relevant document is among the first k."

    cutoff: int = field()

    def divisors(self, n_ranks: int) -> np.ndarray:
        """1 at each rank."""
        return np.ones(n_ranks)

    def uninformative(self, queries: Queries) -> np.ndarray:
        """Queries whose documents are all of one class, or with fewer than k irrelevant documents."""
        return super().uninformative(queries) | (queries.sizes - self.n_relevant(queries) < self.cutoff)


@kernel
def _first(above, tied, indptr, n_read, divisor, values):
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
        for u in range(min(m - r + 1, len(divisor) - a)):
            here = r / (m - u)
            value += none_yet * here / divisor[a + u]
            none_yet *= 1.0 - here
        values[q] = value
