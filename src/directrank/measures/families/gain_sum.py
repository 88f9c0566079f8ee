"""Measures that add up over documents: the gain of a document times the discount of its rank."""

from abc import abstractmethod
from functools import lru_cache

import numpy as np

from directrank.data.queries import Queries
from directrank.kernels.compile import kernel
from directrank.measures.families.definition import Definition, cached_by_queries
from directrank.measures.positions import Positions


class GainSum(Definition):
    r"""A sum of gains, each discounted by the rank of its document, over the documents of a query.

    .. math:: \frac{1}{Z} \sum_{i : \pi_i \le k} g_i \, D(\pi_i)

    A definition gives `gains` and `discounts`; a norm Z if it has one.
    """

    unretrieved = "beyond"

    @abstractmethod
    def gains(self, queries: Queries) -> np.ndarray:
        """The gain g ≥ 0 of each document, float64 (n_docs,), not increasing within a query."""

    @abstractmethod
    def discounts(self, n_ranks: int) -> np.ndarray:
        """D of the ranks from 1 on, float64 (n_ranks,), not increasing; the cutoff is applied elsewhere."""

    def norm(self, queries: Queries) -> np.ndarray:
        """Z of each query, float64 (n_queries,); 1 where the query is undefined."""
        return np.ones(queries.n_queries)

    @cached_by_queries
    def read_gains(self, queries: Queries) -> np.ndarray:
        """The gains of the documents that are read, without the others: a kernel then reads less memory."""
        gains = np.asarray(self.gains(queries), np.float64)
        return gains[gains > 0]

    @cached_by_queries
    def n_read(self, queries: Queries) -> np.ndarray:
        """Documents with a gain come first; the value depends on their positions alone."""
        return queries.count(self.gains(queries) > 0)

    def undefined(self, queries: Queries) -> np.ndarray:
        """Queries without a gain."""
        return self.n_read(queries) == 0

    def uninformative(self, queries: Queries) -> np.ndarray:
        """Queries whose documents all have the same gain, or whose ranks all have the same discount."""
        gains, discounts = self.gains(queries), cut_discounts(self, max(queries.longest, 1))[0]
        one_gain = gains[queries.indptr[:-1]] == gains[queries.indptr[1:] - 1]
        return one_gain | (discounts[0] == discounts[queries.sizes - 1])

    def query_values(self, queries: Queries, positions: Positions) -> np.ndarray:
        """The value of each query, float64 (n_queries,); 0 where undefined."""
        values, n_ranks = np.empty(queries.n_queries), queries.longest
        discounts, sums = cut_discounts(self, n_ranks)
        _add_gains(
            self.read_gains(queries), positions.above, positions.tied, queries.indptr, self.n_read(queries),
            discounts, sums, self.deciding_ranks or n_ranks, np.empty(n_ranks + 1), values,
        )  # fmt: skip
        values /= self.norm(queries)
        # Documents tied at the top may round to a hair above the largest value.
        return np.minimum(values, 1.0) if self.bounded else values

    def linear_in_positions(
        self, queries: Queries, n_ranks: int | None = None
    ) -> tuple[np.ndarray, np.ndarray]:
        """Gains over the norm, and discounts; see `PositionLinear`."""
        gains = self.gains(queries) / np.repeat(self.norm(queries), queries.sizes)
        return gains, cut_discounts(self, n_ranks or queries.longest)[0]


@lru_cache(64)
def cut_discounts(measure: GainSum, n_ranks: int) -> tuple[np.ndarray, np.ndarray]:
    """Return the discounts of ranks, 0 beyond the cutoff, and their sums from 0; not to be written to."""
    discounts = np.array(measure.discounts(n_ranks), np.float64)
    discounts[measure.cutoff or n_ranks :] = 0.0
    return discounts, np.concatenate(([0.0], np.cumsum(discounts)))


@kernel
def _add_gains(gains, above, tied, indptr, n_read, discounts, sums, cutoff, at_rank, values):
    # Terms are added rank by rank, not document by document: the order of rows then changes no bit.
    first = 0
    for q in range(len(n_read)):
        start, lead, n = indptr[q], indptr[q] + n_read[q], indptr[q + 1] - indptr[q]
        g, a, m = gains[first : first + n_read[q]], above[start:lead], tied[start:lead]
        first += n_read[q]
        last = n if n < cutoff else cutoff
        for p in range(last + 1):
            at_rank[p] = 0.0
        ties = 0
        for i in range(len(a)):
            # All documents beyond the cutoff share one entry after it, which is not added.
            at_rank[np.uint64(a[i] if a[i] < last else last)] = g[i]
            ties += m[i] != 1
        value = 0.0
        if ties == 0:
            for p in range(last):
                value += at_rank[p] * discounts[p]
        else:
            for p in range(last):
                at_rank[p] = 0.0
            for i in range(len(a)):
                p = a[i]
                if p < last:
                    at_rank[p] += g[i] * (sums[p + m[i]] - sums[p]) / m[i]
            for p in range(last):
                value += at_rank[p]
        values[q] = value
