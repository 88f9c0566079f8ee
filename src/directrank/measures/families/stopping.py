"""Measures of the rank at which a user who reads from the top stops."""

import math
from abc import abstractmethod

import numpy as np

from directrank.data.queries import Queries
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
