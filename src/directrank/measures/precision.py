"""Precision and recall at a cutoff, of the first document alone, and at the number of relevant documents."""

from abc import abstractmethod
from dataclasses import KW_ONLY, dataclass, field
from typing import Any, ClassVar

import numpy as np

from directrank.data.queries import Queries
from directrank.measures.exchange import filled_table, gain_swaps
from directrank.measures.families.definition import (
    RelevantTerms,
    TwoClasses,
    expected_among_first,
    first_of,
    grade,
    one_of,
    parameter,
)
from directrank.measures.families.gain_sum import GainSum
from directrank.measures.families.smooth import HitsForm, Smooth, cutoff_error
from directrank.measures.positions import Positions


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


@dataclass(frozen=True, repr=False)
class P(Hits):
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
    """

    aliases: ClassVar = ("precision", "prec")
    meaning: ClassVar = "Precision: the share of relevant documents among the first k."

    _: KW_ONLY
    denominator: str = parameter("k", one_of("k", "list"))

    def divisor(self, sizes: np.ndarray, n_relevant: np.ndarray) -> np.ndarray:
        """K, or the length of a shorter list."""
        longest_list = sizes if self.denominator == "list" else self.cutoff
        return np.broadcast_to(np.minimum(longest_list, float(self.cutoff)), len(sizes))


def _grade_or_max(word: str, value: Any) -> float | str:
    return value if value == "max" else grade(word, value)


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


@dataclass(frozen=True, repr=False)
class R(Hits):
    r"""Recall: the share of the relevant documents that is among the first `cutoff`.

    .. math:: \frac{1}{R} |\{i : y_i \ge t,\; \pi_i \le k\}|

    Parameters
    ----------
    cutoff : int
        k, the last position that counts.
    rel : float, default=1
        t, the least grade of a relevant document.
    """

    aliases: ClassVar = ("recall",)
    meaning: ClassVar = "Recall: the share of the relevant documents that is among the first k."

    def divisor(self, sizes: np.ndarray, n_relevant: np.ndarray) -> np.ndarray:
        """R, the number of relevant documents."""
        return np.maximum(n_relevant, 1.0)


@dataclass(frozen=True, repr=False)
class Rprec(TwoClasses):
    r"""R-precision: the share of relevant documents among the first R, where R documents are relevant.

    .. math:: \frac{1}{R} |\{i : y_i \ge t,\; \pi_i \le R\}|

    Parameters
    ----------
    rel : float, default=1
        t, the least grade of a relevant document.
    """

    aliases: ClassVar = ("r_precision", "RPrecision")
    meaning: ClassVar = "R-precision: the share of relevant documents among the first R, if R are relevant."
    unretrieved: ClassVar = "beyond"

    def query_values(self, queries: Queries, positions: Positions) -> np.ndarray:
        """The value of each query, float64 (n_queries,); 0 where undefined."""
        relevant = self.n_relevant(queries)
        hits = expected_among_first(first_of(relevant, queries), relevant, queries, positions)
        return hits / np.maximum(relevant, 1)

    def swap_differences(self, queries: Queries, rank: np.ndarray) -> np.ndarray:
        """See `Swappable`."""
        relevant = self.n_relevant(queries)
        inside = first_of(relevant, queries)
        gain = inside / np.repeat(np.maximum(relevant, 1.0), queries.sizes)
        return filled_table(queries, rank, gain_swaps, gain, inside.astype(np.float64))
