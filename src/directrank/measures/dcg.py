"""Discounted cumulative gain, plain and divided by its largest possible value."""

import math
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from directrank.data.queries import Queries
from directrank.measures.families.definition import best_values, cached_by_queries
from directrank.measures.families.gain_sum import GainSum, cut_discounts
from directrank.measures.families.graded_gains import SHIFTS, GradedGains, discounts_of, gains_of
from directrank.measures.families.smooth import Smooth
from directrank.measures.families.two_classes import RelevantTerms
from directrank.measures.positions import perfect_positions
from directrank.measures.smooth.error import cutoff_error
from directrank.measures.smooth.gain import GainForm, logarithms


@dataclass(frozen=True, repr=False)
class DCG(GradedGains, GainSum, Smooth):
    r"""Discounted cumulative gain of the first `cutoff` positions.

    .. math:: \sum_{i : \pi_i \le k} g(y_i) \, D(\pi_i)

    Parameters
    ----------
    cutoff : int, optional
        The last position that counts; all by default.
    gain : {"exponential", "linear"}, default="exponential"
        :math:`2^y - 1` or :math:`y`.
    discount : {"log2", "letor"}, default="log2"
        :math:`1/\log_2(1 + p)`; or LETOR's, which is 1 at positions 1 and 2 and :math:`1/\log_2 p` after.

    References
    ----------
    .. [1] K. Järvelin, J. Kekäläinen, "Cumulated gain-based evaluation of IR techniques", ACM TOIS 20, 2002.
    .. [2] T. Qin, T.-Y. Liu, H. Li, "A general approximation framework for direct optimization of information
       retrieval measures", Information Retrieval 13, 2010.
    """

    aliases: ClassVar = ("dcg_cut",)
    meaning: ClassVar = "Sum of gains, discounted by rank; not divided by the best possible value."
    bounded: ClassVar = False
    over_grades: ClassVar = "rises"

    cutoff: int | None = None

    def gains(self, queries: Queries) -> np.ndarray:
        """The gain of each document, float64 (n_docs,)."""
        return gains_of(queries, self.gain)

    def discounts(self, n_ranks: int) -> np.ndarray:
        """The discount of each rank, float64 (n_ranks,)."""
        return discounts_of(n_ranks, self.discount)

    def read_gains(self, queries: Queries) -> np.ndarray:
        """The gains of the documents that are read, one array for all cutoffs."""
        key = ("read gains", self.gain)
        return queries.cached(key, lambda: self.gains(queries)[queries.relevance > 0])

    def smooth_form(self, queries: Queries, truncation: float) -> GainForm:
        """See `Smooth`; [2]_ (13), and (16) for a cutoff."""
        return GainForm(
            self.gains(queries), queries.indptr, self.norm(queries), SHIFTS[self.discount],
            logarithms(queries.longest), float(self.cutoff or math.inf), float(truncation),
        )  # fmt: skip

    position_form = smooth_form

    def approximation_bound(self, queries: Queries, error: np.ndarray, truncation: float) -> np.ndarray:
        """See `Certified`; [2]_ Theorem 3, and the error of (16) on every gain for a cutoff."""
        everything = DCG(gain=self.gain, discount=self.discount)
        largest = everything.query_values(queries, perfect_positions(queries))
        off = error / (2.0 * math.log(2.0)) + cutoff_error(error, truncation, self.cutoff)
        return off * largest / self.norm(queries)

    @cached_by_queries
    def position_slopes(self, queries: Queries) -> np.ndarray:
        """See `PositionBounded`: gain over norm, times the steepest chord of the discount from rank 1."""
        discount = cut_discounts(self, max(queries.longest, 1))[0]
        chords = (discount[0] - discount[1:]) / np.arange(1.0, len(discount))
        # Each query takes the steepest chord to one of its own ranks.
        steepest = np.concatenate(([0.0], np.maximum.accumulate(chords)))[np.maximum(queries.sizes, 1) - 1]
        return self.gains(queries) * np.repeat(steepest / self.norm(queries), queries.sizes)

    def supervision(self, queries: Queries) -> np.ndarray:
        """See `Standardised`: the gain over the norm; the same for every cutoff of DCG."""
        return self.gains(queries) / np.repeat(self.norm(queries), queries.sizes)


class NDCG(DCG):
    r"""DCG divided by the DCG of the best ranking, in [0, 1].

    Parameters
    ----------
    cutoff : int, optional
        The last position that counts, here and in the ideal; all by default.
    gain : {"exponential", "linear"}, default="exponential"
        :math:`2^y - 1` or :math:`y`.
    discount : {"log2", "letor"}, default="log2"
        :math:`1/\log_2(1 + p)`; or LETOR's, which is 1 at positions 1 and 2 and :math:`1/\log_2 p` after.

    Notes
    -----
    ir_measures calls our default ``nDCG(dcg='exp-log2')``; its own plain ``nDCG`` has the linear gain.

    References
    ----------
    .. [1] K. Järvelin, J. Kekäläinen, "Cumulated gain-based evaluation of IR techniques", ACM TOIS 20, 2002.
    .. [2] T. Qin, T.-Y. Liu, H. Li, "A general approximation framework for direct optimization of information
       retrieval measures", Information Retrieval 13, 2010.
    """

    bare_name: ClassVar = "nDCG"
    aliases: ClassVar = ("ndcg_cut",)
    meaning: ClassVar = (
        "How good the ranking is compared with the best possible one. High grades and top ranks count most; "
        "@10 reads the first ten documents only."
    )
    bounded: ClassVar = True
    over_grades: ClassVar = "swaps"

    def relevant_terms(self, sizes: np.ndarray, n_relevant: np.ndarray) -> RelevantTerms:
        """See `TwoClassMeasure`: relevant documents have one gain, 1."""
        discounts, sums = cut_discounts(self, int(sizes.max(initial=1)))
        ideal = sums[n_relevant]
        return RelevantTerms.of(discounts, len(sizes), level=1.0 / np.where(ideal > 0, ideal, 1.0))

    @cached_by_queries
    def norm(self, queries: Queries) -> np.ndarray:
        """The DCG of the best ranking of each query; 1 where the query is undefined."""
        return best_values(DCG(self.cutoff, gain=self.gain, discount=self.discount), queries)
