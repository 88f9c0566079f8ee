"""Measures of the rank at which a user who reads from the top stops.

Document y stops a user with probability r_y if no document before it has:

    Σ_y  r_y / π_y · Π_{x ≠ y} (1 − r_x · 1{π_x < π_y})

With r = 1 for relevant documents this is the reciprocal rank, with graded r the expected one. At fractional
positions a comparison becomes a logistic function of steepness β, as in Qin, Liu, Li 2010, Eq. (14). It is a
quotient of powers (`directrank.kernels.vector_math`), and sure for positions far apart: one evaluation takes
O(R) steps for documents that are compared with few others each, and O(R²) for R tied ones.
"""

import math
from abc import abstractmethod
from typing import NamedTuple

import numpy as np

from directrank.data.queries import Queries
from directrank.kernels.compile import kernel
from directrank.kernels.plugins import position_slopes, register_kernel
from directrank.kernels.vector_math import BAND, fill_powers_around
from directrank.measures.families.smooth import (
    Smooth,
    comparison_error,
    cutoff_error,
    reciprocal_sums,
    sort_by_rank,
    within,
)


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

    def smooth_form(self, queries: Queries, truncation: float) -> "StopsForm":
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
    graded, document = 0, i
    while document >= 0:
        graded += 1
        document = following[document]
    for t in range(m - graded + 1):
        mean[t] = 1.0
    n, document = m - graded, i
    while document >= 0:
        n += 1
        u = 1.0 - stopping[document]
        mean[n] = u * mean[n - 1]
        for t in range(n - 1, 0, -1):
            mean[t] = (t * u * mean[t - 1] + (n - t) * mean[t]) / n
        document = following[document]


# Documents that a smaller share of users reaches are skipped: their terms vanish beside the first one, in
# float64 and float32.
NEGLIGIBLE, FLOAT32_NEGLIGIBLE = 1e-22, 1e-11
# Times 1/β: positions further apart are in order, since 1 + e^−45 is 1.
SURE = 45.0


class StopsForm(NamedTuple):
    """A smooth reciprocal rank of all queries, expected or not."""

    indptr: np.ndarray  # (n_queries + 1,)
    # stopping, passing: (n_docs,), float64: r and 1 − r. Computed inside, the latter would be merged with
    # another 1 and lose small values.
    stopping: np.ndarray
    passing: np.ndarray
    norm: np.ndarray  # (n_queries,), float64
    cutoff: float
    truncation: float  # β


@register_kernel(position_slopes, StopsForm)
@kernel
def stops_slopes(form, q, p, scratch, slopes):
    """Return the smooth value of a query and write its slopes at the positions p."""
    n, start = len(p), form.indptr[q]
    order, begin = np.empty(n, np.int64), np.zeros(form.indptr[q + 1] - start + 2, np.int64)
    sort_by_rank(p, order, begin)
    numbers = np.empty((6, n))
    x, r, u, e, g, passed = numbers[0], numbers[1], numbers[2], numbers[3], numbers[4], numbers[5]
    share = 1.0
    for k in range(n):
        i = order[k]
        x[k], r[k], u[k], g[k], passed[k] = (
            p[i],
            form.stopping[start + i],
            form.passing[start + i],
            0.0,
            share,
        )
        share *= u[k]
    negligible = FLOAT32_NEGLIGIBLE if p.itemsize == 4 else NEGLIGIBLE
    total = _sum_of_terms(form, q, x, r, u, e, g, passed, begin, negligible)
    for k in range(n):
        slopes[order[k]] = g[k]
    return total / form.norm[q]


@kernel
def _sum_of_terms(form, q, x, r, u, e, g, passed, begin, negligible):
    # Documents of ranks within `reach` are compared. Those further before y pass on a share of 1 − r of the
    # users, and those further behind all of them.
    beta, total, ranks, norm = form.truncation, 0.0, len(begin) - 1, form.norm[q]
    reach = np.int64(min(SURE / beta, 1.0 * ranks)) + 1
    centre, least = -math.inf, 1.0
    for rank in range(ranks):
        # At most twice as large a share of users reaches a document of a later rank.
        if least < negligible:
            return total
        low, high = begin[max(rank - reach, 0)], begin[min(rank + reach + 1, ranks)]
        for y in range(begin[rank], begin[rank + 1]):
            if beta * abs(x[y] - centre) > BAND:
                centre = x[y]
                first, last = low, begin[min(np.int64(min(x[y] + BAND / beta, ranks)) + reach + 1, ranks)]
                fill_powers_around(x[first:last], beta, centre, e[first:last])
            near, rs, us, gs = e[low:high], r[low:high], u[low:high], g[low:high]
            arrive = passed[low] * _arrive(near, us, e[y]) / (0.5 + 0.5 * u[y])
            inside = 1.0 if form.cutoff == math.inf else within(x[y], form.cutoff, beta)
            term = r[y] * inside * arrive / x[y]
            total += term
            least = min(least, arrive)
            if arrive > negligible:
                pull = _pull(near, rs, us, e[y], beta * term / norm, gs)
                # The pull of y itself is added to g[y] there, and is taken off again here.
                g[y] -= pull + term / norm * (1.0 / x[y] + beta * (1.0 - inside))
    return total


@kernel
def _arrive(e, u, e_y):
    # The share of users whom the documents near y do not stop before it, with y at one half. A factor is
    # 1 − r σ with σ = e_y / (e_x + e_y).
    share = 1.0
    for x in range(len(e)):
        share *= (e[x] + u[x] * e_y) / (e[x] + e_y)
    return share


@kernel
def _pull(e, r, u, e_y, h, g):
    # Add the slopes of the logarithm of that share, times h, to the documents; return their sum.
    total = 0.0
    for x in range(len(e)):
        t = h * r[x] * (e[x] * e_y) / ((e[x] + e_y) * (e[x] + u[x] * e_y))
        g[x] += t
        total += t
    return total
