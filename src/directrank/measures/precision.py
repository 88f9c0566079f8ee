"""Precision at a cutoff, and of the first document alone."""

from dataclasses import KW_ONLY, dataclass, field
from typing import Any, ClassVar

import numpy as np

from directrank.data.queries import Queries
from directrank.measures.families.definition import parameter
from directrank.measures.families.gain_sum import GainSum
from directrank.measures.families.smooth import Smooth
from directrank.measures.families.two_classes import RelevantTerms, TwoClasses
from directrank.measures.naming import grammar
from directrank.measures.smooth.error import cutoff_error
from directrank.measures.smooth.precision import HitsForm


@dataclass(frozen=True, repr=False)
class P(TwoClasses, GainSum, Smooth):
    r"""Precision: the relevant share of the first `cutoff` positions.

    .. math:: \frac{1}{k} |\{i : y_i \ge t,\; \pi_i \le k\}|

    Parameters
    ----------
    cutoff : int
        k, the last position that counts.
    rel : float, default=1
        t, the least grade of a relevant document.
    denominator : {"k", "list"}, default="k"
        What the number of relevant documents is divided by: k for a shorter query too, as if irrelevant
        documents followed; or the smaller of k and the length of the list, as XGBoost does.

    References
    ----------
    .. [1] T. Qin, T.-Y. Liu, H. Li, "A general approximation framework for direct optimization of information
       retrieval measures", Information Retrieval 13, 2010, Eqs. (1), (5), (16).
    """

    aliases: ClassVar = ("precision", "prec")
    meaning: ClassVar = "Precision: the share of relevant documents among the first k."

    cutoff: int = field()
    _: KW_ONLY
    denominator: str = parameter("k", grammar.one_of("k", "list"))

    def gains(self, queries: Queries) -> np.ndarray:
        """1 for relevant documents."""
        return (queries.relevance >= self.rel).astype(np.float64)

    def discounts(self, n_ranks: int) -> np.ndarray:
        """1 at each rank."""
        return np.ones(n_ranks)

    def norm(self, queries: Queries) -> np.ndarray:
        """What the number of relevant documents is divided by."""
        return self._of_sizes(queries.sizes)

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
        return RelevantTerms.of(inside, len(sizes), level=1.0 / self._of_sizes(sizes))

    def _of_sizes(self, sizes: np.ndarray) -> np.ndarray:
        longest_list = sizes if self.denominator == "list" else self.cutoff
        return np.broadcast_to(np.minimum(longest_list, float(self.cutoff)), len(sizes))


def _grade_or_max(word: str, value: Any) -> float | str:
    return value if value == "max" else grammar.grade(word, value)


@dataclass(frozen=True, repr=False)
class WTA(GainSum):
    r"""Winner takes all: whether the first document is relevant.

    .. math:: [\![ y_{(1)} \ge t ]\!]

    Parameters
    ----------
    rel : float or "max", default=1
        t, the least grade of a relevant document; "max" for the largest grade of the query.
    """

    aliases: ClassVar = ("winner_takes_all",)
    meaning: ClassVar = "Winner takes all: whether a relevant document comes first."
    graded: ClassVar = False

    _: KW_ONLY
    rel: float | str = parameter(1, _grade_or_max)

    def gains(self, queries: Queries) -> np.ndarray:
        """1 for relevant documents."""
        largest = np.repeat(queries.relevance[queries.indptr[:-1]], queries.sizes)
        least = np.where(largest > 0, largest, np.inf) if self.rel == "max" else self.rel
        return (queries.relevance >= least).astype(np.float64)

    def discounts(self, n_ranks: int) -> np.ndarray:
        """1 at the first rank, 0 at the others."""
        return (np.arange(n_ranks) < 1).astype(np.float64)

    @property
    def deciding_ranks(self) -> int:
        """The first rank decides."""
        return 1

    def relevant_terms(self, sizes: np.ndarray, n_relevant: np.ndarray) -> RelevantTerms:
        """See `TwoClassMeasure`: only the first position counts."""
        return RelevantTerms.of(self.discounts(int(sizes.max(initial=1))), len(sizes), level=1.0)
