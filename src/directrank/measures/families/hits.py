"""Measures that count the relevant documents among the first k."""

from abc import abstractmethod
from dataclasses import dataclass, field

import numpy as np

from directrank.data.queries import Queries
from directrank.measures.families.gain_sum import GainSum
from directrank.measures.families.smooth import Smooth
from directrank.measures.families.two_classes import RelevantTerms, TwoClasses
from directrank.measures.smooth.error import cutoff_error
from directrank.measures.smooth.precision import HitsForm


@dataclass(frozen=True, repr=False)
class Hits(TwoClasses, GainSum, Smooth):
    r"""The number of relevant documents among the first `cutoff`, divided by a norm Z.

    .. math:: \frac{1}{Z} |\{i : y_i \ge t,\; \pi_i \le k\}|

    References
    ----------
    .. [1] T. Qin, T.-Y. Liu, H. Li, "A general approximation framework for direct optimization of information
       retrieval measures", Information Retrieval 13, 2010, Eqs. (1), (5), (16).
    """

    cutoff: int = field()

    @abstractmethod
    def divisor(self, sizes: np.ndarray, n_relevant: np.ndarray) -> np.ndarray:
        """Z > 0 of queries of `sizes` documents, of which `n_relevant` are relevant, float64 (n_queries,)."""

    def discounts(self, n_ranks: int) -> np.ndarray:
        """1 at each rank."""
        return np.ones(n_ranks)

    def norm(self, queries: Queries) -> np.ndarray:
        """What the number of relevant documents is divided by."""
        return self.divisor(queries.sizes, self.n_relevant(queries))

    def uninformative(self, queries: Queries) -> np.ndarray:
        """Queries whose documents are all of one class, or all within the cutoff."""
        return super().uninformative(queries) | (queries.sizes <= self.cutoff)

    def smooth_form(self, queries: Queries, truncation: float) -> HitsForm:
        """See `Smooth`; [1]_ (16)."""
        return HitsForm(self.norm(queries), float(self.cutoff), float(truncation))

    def approximation_bound(self, queries: Queries, error: np.ndarray, truncation: float) -> np.ndarray:
        """See `Certified`; the error of [1]_ (16) on each relevant document."""
        return self.n_read(queries) * cutoff_error(error, truncation, self.cutoff) / self.norm(queries)

    def relevant_terms(self, sizes: np.ndarray, n_relevant: np.ndarray) -> RelevantTerms:
        """See `TwoClassMeasure`: each position within the cutoff counts the same."""
        inside = (np.arange(int(sizes.max(initial=1))) < self.cutoff).astype(float)
        return RelevantTerms.of(inside, len(sizes), level=1.0 / self.divisor(sizes, n_relevant))
