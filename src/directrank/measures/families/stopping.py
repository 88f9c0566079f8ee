"""Measures of the rank at which a user who reads from the top stops."""

import math
from abc import abstractmethod

import numpy as np

from directrank.data.queries import Queries
from directrank.kernels.compile import kernel
from directrank.measures.families.smooth import Smooth
from directrank.measures.smooth.error import comparison_error, cutoff_error, reciprocal_sums
from directrank.measures.smooth.stops import StopsForm


class Stopping(Smooth):
    r"""The expected 1/rank at which a user stops, who stops at document i with probability r_i.

    .. math:: \frac{1}{Z} \sum_{i : \pi_i \le k} \frac{r_i}{\pi_i} \prod_{j : \pi_j < \pi_i} (1 - r_j)

    References
    ----------
    .. [1] T. Qin, T.-Y. Liu, H. Li, "A general approximation framework for direct optimization of information
       retrieval measures", Information Retrieval 13, 2010.
    """

    unretrieved = "beyond"

    @abstractmethod
    def stopping(self, queries: Queries) -> np.ndarray:
        """The probability to stop at each document, float64 (n_docs,), not increasing within a query."""

    def norm(self, queries: Queries) -> np.ndarray:
        """Z of each query, float64 (n_queries,); 1 where the query is undefined."""
        return np.ones(queries.n_queries)

    def smooth_form(self, queries: Queries, truncation: float) -> StopsForm:
        """See `Smooth`; [1]_ (14) for who is before whom, and (16) for a cutoff."""
        stopping, cutoff = self.stopping(queries), float(self.cutoff or math.inf)
        norm = self.norm(queries)
        return StopsForm(queries.indptr, stopping, 1.0 - stopping, norm, cutoff, float(truncation))

    def approximation_bound(self, queries: Queries, error: np.ndarray, truncation: float) -> np.ndarray:
        """See `Certified`; each product is off by at most as many comparisons as it has factors."""
        stopping, n_read, first = self.stopping(queries), self.n_read(queries), queries.indptr[:-1]
        total = np.diff(np.concatenate(([0.0], np.cumsum(stopping)))[queries.indptr])
        least = stopping[first + np.maximum(n_read - 1, 0)]
        products = stopping[first] * np.maximum(total - least, 0.0) * comparison_error(error, truncation)
        bound = products * reciprocal_sums(n_read, error) + error
        return (bound + cutoff_error(error, truncation, self.cutoff)) / self.norm(queries)


@kernel
def add_stops(stopping, above, tied, indptr, n_read, cutoff, divisor, values):
    """Add to the value of each query the expected inverse of the divisor of the rank where a user stops.

    `stopping` is the probability to stop at each document, 0 after the first `n_read` of a query. `divisor`
    has the ranks up to the length of the longest query, for ERR the ranks themselves; `cutoff`, the last rank
    that counts, is at most its length.
    """
    n_ranks = len(divisor)
    first, following = np.empty(n_ranks, np.int64), np.empty(n_ranks, np.int64)
    mean = np.empty(n_ranks + 1)
    for q in range(len(indptr) - 1):
        start = indptr[q]
        length = min(cutoff, indptr[q + 1] - start)
        for p in range(length):
            first[p] = -1
        # The documents at each rank form a linked list, so that they are visited in a fixed order.
        for i in range(n_read[q] - 1, -1, -1):
            a = above[start + i]
            if a < length:
                following[i] = first[a]
                first[a] = i
        value, passed = 0.0, 1.0
        for p in range(length):
            if first[p] >= 0:
                m = tied[start + first[p]]
                _pass(stopping[start:], following, first[p], m, mean)
                for t in range(min(m, length - p)):
                    value += passed * (mean[t] - mean[t + 1]) / divisor[p + t]
                passed *= mean[m]
        values[q] += value


@kernel
def _pass(stopping, following, i, m, mean):
    # mean[t] is the mean product of 1 - r over the subsets of t documents of a block of m. Documents at which
    # no user stops come first.
    graded, each = 0, i
    while each >= 0:
        graded += 1
        each = following[each]
    for t in range(m - graded + 1):
        mean[t] = 1.0
    n, each = m - graded, i
    while each >= 0:
        n += 1
        u = 1.0 - stopping[each]
        mean[n] = u * mean[n - 1]
        for t in range(n - 1, 0, -1):
            mean[t] = (t * u * mean[t - 1] + (n - t) * mean[t]) / n
        each = following[each]
