"""Measures that know two classes of documents, relevant ones and the others."""

from dataclasses import KW_ONLY, dataclass
from typing import Any, ClassVar

import numpy as np

from directrank.data.queries import Queries
from directrank.measures.families.definition import Definition, parameter
from directrank.measures.naming import grammar


@dataclass(frozen=True, repr=False)
class TwoClasses(Definition):
    """A measure of the positions of relevant documents: those of grade `rel` or more."""

    graded: ClassVar = False
    over_grades: ClassVar = "swaps"

    _: KW_ONLY
    rel: float = parameter(1, grammar.grade)

    def n_relevant(self, queries: Queries) -> np.ndarray:
        """The number of relevant documents of each query, int64 (n_queries,)."""
        return queries.cached(("at least", self.rel), lambda: queries.count_at_least(self.rel))

    def gains(self, queries: Queries) -> np.ndarray:
        """1 for relevant documents, float64 (n_docs,)."""
        return (queries.relevance >= self.rel).astype(np.float64)

    def n_read(self, queries: Queries) -> np.ndarray:
        """Relevant documents come first; the value depends on their positions alone."""
        return self.n_relevant(queries)

    def undefined(self, queries: Queries) -> np.ndarray:
        """Queries without a relevant document."""
        return self.n_relevant(queries) == 0

    def uninformative(self, queries: Queries) -> np.ndarray:
        """Queries whose documents are all relevant, or all not."""
        relevant = self.n_relevant(queries)
        return (relevant == 0) | (relevant == queries.sizes)


@dataclass(frozen=True)
class RelevantTerms:
    r"""A measure of two classes as a sum over relevant documents, counted from the top.

    .. math:: E(\pi) = \text{const} + \sum_{i=1}^{R} (a + b\,i + e\,[\![ i = 1 ]\!]) \, v(p_i)

    where :math:`p_i` is the position of the i-th relevant document of the ranking.
    """

    # (longest + 1,), float64: v at each position from 1; its first entry belongs to no position
    curve: np.ndarray
    # level, growth, first: (n_queries,), float64: a, b and e of each query, the divisor of the measure
    # included
    level: np.ndarray
    growth: np.ndarray
    first: np.ndarray

    @classmethod
    def of(
        cls, curve: np.ndarray, n_queries: int, *, level: Any = 0.0, growth: Any = 0.0, first: Any = 0.0
    ) -> "RelevantTerms":
        """Return terms of a curve from position 1 on; a number stands for all queries."""
        whole = np.concatenate(([0.0], curve))
        return cls(whole, *(np.array(np.broadcast_to(x, n_queries)) for x in (level, growth, first)))


def reciprocals(n_ranks: int, cutoff: int | None) -> np.ndarray:
    """Return 1/p for the ranks p from 1 on, 0 beyond the cutoff, float64 (n_ranks,)."""
    ranks = np.arange(1.0, n_ranks + 1)
    return np.where(ranks <= (cutoff or np.inf), 1.0 / ranks, 0.0)
