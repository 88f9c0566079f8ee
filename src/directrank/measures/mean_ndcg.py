"""The mean of nDCG over all cutoffs, as LETOR 4.0 reports it."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from directrank.data.queries import Queries
from directrank.kernels.compile import kernel
from directrank.measures.exchange.tables import filled_table, gain_swaps
from directrank.measures.families.definition import cached_by_queries
from directrank.measures.families.graded_gains import GradedGains, discounts_of, gains_of
from directrank.measures.positions import Positions


@dataclass(frozen=True, repr=False)
class MeanNDCG(GradedGains):
    r"""Mean of nDCG@k over k = 1 … n, n the documents of the query.

    .. math:: \frac{1}{n} \sum_{k=1}^{n} \mathrm{nDCG@}k = \sum_i g(y_i)\, D(\pi_i)\,
        \frac{1}{n} \sum_{k \ge \pi_i} \frac{1}{\mathrm{ideal}_k}

    Parameters
    ----------
    gain : {"exponential", "linear"}, default="exponential"
    discount : {"log2", "letor"}, default="log2"
        As in `NDCG`. LETOR 4.0 has ``MeanNDCG(dcg='exp-letor')``.
    """

    unretrieved: ClassVar = "beyond"
    meaning: ClassVar = "The mean of nDCG@k over all k up to the length of the list, as LETOR 4.0 reports it."

    def query_values(self, queries: Queries, positions: Positions) -> np.ndarray:
        """The value of each query, float64 (n_queries,); 0 where undefined."""
        values = np.empty(queries.n_queries)
        _mean_ndcg(
            gains_of(queries, self.gain), positions.above, positions.tied, queries.indptr, queries.n_positive,
            self._weights(queries), queries.longest, values,
        )  # fmt: skip
        return np.minimum(values, 1.0)

    def swap_differences(self, queries: Queries, rank: np.ndarray) -> np.ndarray:
        """See `Swappable`."""
        gain = gains_of(queries, self.gain)
        return filled_table(queries, rank, gain_swaps, gain, self._weights(queries))

    @cached_by_queries
    def _weights(self, queries: Queries) -> np.ndarray:
        """Return what a gain of 1 at each rank of each query adds to the value, float64 (n_docs,)."""
        gain, weights = gains_of(queries, self.gain), np.zeros(queries.n_docs)
        discount = discounts_of(queries.longest, self.discount)
        _weights_of_ranks(gain, queries.indptr, queries.n_positive, discount, weights)
        return weights


@kernel
def _mean_ndcg(gain, above, tied, indptr, n_read, weights, n_ranks, values):
    at_rank = np.empty(n_ranks)
    sums = np.zeros(n_ranks + 1)  # of the weights of the first 0, 1, … ranks
    for q in range(len(n_read)):
        values[q] = 0.0
        start, n = indptr[q], indptr[q + 1] - indptr[q]
        if n_read[q] == 0:
            continue
        for p in range(n):
            sums[p + 1] = sums[p] + weights[start + p]
            at_rank[p] = 0.0
        # Terms are added rank by rank, not document by document: the order of rows then changes no bit.
        for i in range(start, start + n_read[q]):
            a, m = above[i], tied[i]
            if a < n:
                at_rank[a] += gain[i] * (sums[a + m] - sums[a]) / m
        for p in range(n):
            values[q] += at_rank[p]


@kernel
def _weights_of_ranks(gain, indptr, n_read, discount, weights):
    # A gain of 1 at a rank adds the discount there, divided by the ideals of all cutoffs from that rank on.
    for q in range(len(n_read)):
        if n_read[q] > 0:
            start, n, ideal = indptr[q], indptr[q + 1] - indptr[q], 0.0
            weight = weights[start : start + n]
            for p in range(n):
                ideal += gain[start + p] * discount[p] if p < n_read[q] else 0.0
                weight[p] = 1.0 / ideal
            for p in range(n - 2, -1, -1):
                weight[p] += weight[p + 1]
            for p in range(n):
                weight[p] *= discount[p] / n
