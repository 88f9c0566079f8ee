"""Average precision."""

import math
from dataclasses import KW_ONLY, dataclass
from functools import lru_cache
from typing import ClassVar

import numpy as np

from directrank.data.queries import Queries
from directrank.kernels.compile import inline_kernel, kernel
from directrank.measures.exchange import ap_swaps, filled_table
from directrank.measures.families.definition import (
    RelevantTerms,
    TwoClasses,
    cached_by_queries,
    one_of,
    parameter,
    reciprocals,
)
from directrank.measures.families.smooth import (
    PrecisionForm,
    Smooth,
    comparison_error,
    cutoff_error,
    reciprocal_sums,
)
from directrank.measures.positions import Positions


@dataclass(frozen=True, repr=False)
class AP(TwoClasses, Smooth):
    r"""Average precision: the mean, over relevant documents, of the precision at their positions.

    .. math:: \frac{1}{R} \sum_{i : y_i \ge t, \pi_i \le k} \frac{|\{j : y_j \ge t, \pi_j \le \pi_i\}|}{\pi_i}

    Parameters
    ----------
    cutoff : int, optional
        k, the last position that counts; all by default.
    rel : float, default=1
        t, the least grade of a relevant document.
    denominator : {"relevant", "min"}, default="relevant"
        What the sum is divided by: R, all relevant documents of the query; or the smaller of R and k, as
        LightGBM and XGBoost do.

    Notes
    -----
    The mean of AP over queries is called MAP. Under random tie-breaking a relevant document at rank p of a
    block of m tied documents, r of them relevant, has (p − 1)(r − 1)/(m − 1) relevant ones before it in the
    block, which gives a closed form with harmonic numbers [2]_.

    References
    ----------
    .. [1] T. Qin, T.-Y. Liu, H. Li, "A general approximation framework for direct optimization of information
       retrieval measures", Information Retrieval 13, 2010, Eqs. (2), (7), (14), (15).
    .. [2] F. McSherry, M. Najork, "Computing information retrieval performance measures efficiently in the
       presence of tied scores", ECIR 2008.
    """

    aliases: ClassVar = ("MAP", "map_cut", "average_precision")
    meaning: ClassVar = (
        "Average precision: at each relevant document, the share of relevant documents down to it; averaged "
        "over the relevant documents. Its mean over queries is called MAP."
    )

    unretrieved: ClassVar = "beyond"

    cutoff: int | None = None
    _: KW_ONLY
    denominator: str = parameter("relevant", one_of("relevant", "min"))

    def query_values(self, queries: Queries, positions: Positions) -> np.ndarray:
        """The value of each query, float64 (n_queries,); 0 where undefined."""
        sums, n_ranks = np.empty(queries.n_queries), queries.longest
        _ap(
            positions.above, positions.tied, queries.indptr, self.n_read(queries), harmonic_numbers(n_ranks),
            reciprocals(n_ranks, self.cutoff), min(self.cutoff or n_ranks, n_ranks),
            np.empty(n_ranks + 1, np.uint8), np.empty(2 * n_ranks, np.int32), sums,
        )  # fmt: skip
        return np.minimum(sums / self._divisor(queries), 1.0)

    def smooth_form(self, queries: Queries, truncation: float) -> PrecisionForm:
        """See `Smooth`; [1]_ (15), and (16) for a cutoff."""
        return PrecisionForm(self._divisor(queries), float(self.cutoff or math.inf), float(truncation))

    position_form = smooth_form

    def approximation_bound(self, queries: Queries, error: np.ndarray, truncation: float) -> np.ndarray:
        """See `Certified`; a proved form of [1]_ Theorem 2, and the error of (16) for a cutoff."""
        relevant = self.n_read(queries)
        terms = error + np.maximum(relevant - 1, 0) * comparison_error(error, truncation)
        bound = terms * reciprocal_sums(relevant, error)
        return (bound + relevant * cutoff_error(error, truncation, self.cutoff)) / self._divisor(queries)

    def relevant_terms(self, sizes: np.ndarray, n_relevant: np.ndarray) -> RelevantTerms:
        """See `TwoClassMeasure`: the i-th relevant document adds i / p, divided by their number."""
        curve = reciprocals(int(sizes.max(initial=1)), self.cutoff)
        return RelevantTerms.of(curve, len(sizes), growth=1.0 / self._of_relevant(n_relevant))

    def swap_differences(self, queries: Queries, rank: np.ndarray) -> np.ndarray:
        """See `Swappable`."""
        reciprocal = np.append(0.0, reciprocals(queries.longest, self.cutoff))
        n_read, divisor = self.n_read(queries), self._divisor(queries)
        return filled_table(queries, rank, ap_swaps, n_read, reciprocal, divisor)

    @cached_by_queries
    def _divisor(self, queries: Queries) -> np.ndarray:
        return self._of_relevant(self.n_read(queries))

    def _of_relevant(self, relevant: np.ndarray) -> np.ndarray:
        if self.denominator == "min" and self.cutoff:
            relevant = np.minimum(relevant, self.cutoff)
        return np.maximum(relevant, 1.0)


@lru_cache(64)
def harmonic_numbers(n_ranks: int) -> np.ndarray:
    """Return the sums of 1/p over the first 0, 1, …, `n_ranks` ranks, not to be written to."""
    return np.concatenate(([0.0], np.cumsum(1.0 / np.arange(1.0, n_ranks + 1))))


@kernel
def _ap(above, tied, indptr, n_read, harmonic, reciprocal, cutoff, flags, scratch, sums):
    # Terms are added rank by rank, not document by document: the order of rows then changes no bit.
    for q in range(len(n_read)):
        start, lead, n = indptr[q], indptr[q] + n_read[q], indptr[q + 1] - indptr[q]
        a, m, relevant = above[start:lead], tied[start:lead], flags[:n]
        for p in range(n):
            relevant[p] = 0
        ties = 0
        for i in range(len(a)):
            flags[np.uint64(a[i])] = 1  # beyond all ranks for documents that a run does not hold
            ties += m[i] != 1
        if ties > 0:
            sums[q] = _sum_with_ties(a, m, harmonic, n, min(n, cutoff), scratch)
            continue
        last, hits = min(n, cutoff), np.int64(0)
        for p in range(last):
            hits += relevant[p]
            scratch[p] = hits * relevant[p]
        value = 0.0
        for p in range(last):
            value += scratch[p] * reciprocal[p]
        sums[q] = value


@inline_kernel
def _sum_with_ties(above, tied, harmonic, n, cutoff, scratch):
    relevant, size = scratch[:n], scratch[n : 2 * n]
    for p in range(n):
        relevant[p] = 0
    for p in range(n):
        size[p] = 1
    for i in range(len(above)):
        if above[i] < n:
            relevant[above[i]] += 1
            size[above[i]] = tied[i]
    value, ahead = 0.0, 0
    for p in range(cutoff):
        r, m = relevant[p], size[p]
        if m == 1:
            value += r * (ahead + 1.0) / (p + 1.0)
        else:
            b, c = min(p + m, cutoff), (r - 1.0) / (m - 1.0)
            rest = ahead + 1.0 - c * (p + 1.0)
            value += r / m * (rest * (harmonic[b] - harmonic[p]) + c * (b - p))
        ahead += r
    return value
