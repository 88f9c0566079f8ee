"""Measures of how well a ranking covers the subtopics of a query."""

from abc import abstractmethod
from dataclasses import KW_ONLY, dataclass, field
from typing import ClassVar

import numpy as np

from directrank.data.queries import Queries
from directrank.measures.families.definition import (
    TwoClasses,
    cached_by_queries,
    parameter,
    probability,
)
from directrank.measures.families.stopping import add_stops
from directrank.measures.positions import Positions, perfect_positions


@dataclass(frozen=True, repr=False)
class OverSubtopics(TwoClasses):
    r"""A sum over subtopics: a user of each goes down the list and stops with probability α at its documents.

    .. math:: \frac{1}{Z} \sum_{s} \sum_{p \le k} \frac{1}{d(p)} \, \alpha J_s(p) (1 - \alpha)^{n_s(p - 1)}

    :math:`J_s(p)` says whether the document at rank p is relevant to subtopic s, and :math:`n_s(p)` is how
    many of the first p are. Where relevance is of the query as a whole, that is its one subtopic.
    """

    reads_subtopics: ClassVar = True
    unretrieved: ClassVar = "beyond"
    over_grades: ClassVar = None

    cutoff: int = field()

    @abstractmethod
    def divisors(self, n_ranks: int) -> np.ndarray:
        """The divisor d of the ranks from 1 on, float64 (n_ranks,)."""

    @abstractmethod
    def norm(self, queries: Queries) -> np.ndarray:
        """Z of each query, float64 (n_queries,); positive where the query has a relevant document."""

    def relevant_to(self, queries: Queries) -> np.ndarray:
        """Which document is relevant to which subtopic of its query, bool (n_docs, n_subtopics)."""
        grades = queries.relevance[:, None] if queries.subtopics is None else queries.subtopics
        return grades >= self.rel

    def n_subtopics(self, queries: Queries) -> np.ndarray:
        """The number of subtopics of each query with a relevant document, int64 (n_queries,)."""
        columns = self.relevant_to(queries).T
        return np.sum([queries.count(column) > 0 for column in columns], axis=0)

    def uninformative(self, queries: Queries) -> np.ndarray:
        """Queries without a relevant document, or of one subtopic that all documents are relevant to."""
        none = self.n_relevant(queries) == 0
        return super().uninformative(queries) if queries.subtopics is None else none

    def query_values(self, queries: Queries, positions: Positions) -> np.ndarray:
        """The value of each query, float64 (n_queries,); 0 where undefined."""
        values = self.stops(queries, positions) / np.where(self.undefined(queries), 1.0, self.norm(queries))
        return np.minimum(values, 1.0) if self.bounded else values

    def stops(self, queries: Queries, positions: Positions) -> np.ndarray:
        """The sum over subtopics, before it is divided by the norm, float64 (n_queries,)."""
        values, n_ranks = np.zeros(queries.n_queries), queries.longest
        alpha = getattr(self, "alpha", 1.0)
        for column in self.relevant_to(queries).T:
            add_stops(
                alpha * column, positions.above, positions.tied, queries.indptr, self.n_relevant(queries),
                min(self.cutoff or n_ranks, n_ranks), self.divisors(n_ranks), values,
            )  # fmt: skip
        return values


@dataclass(frozen=True, repr=False)
class AlphaNDCG(OverSubtopics):
    r"""α-nDCG: discounted gains, 1 − α times smaller for each document before of the same subtopic.

    Divided by the gain of the ranking that takes at each rank the document of the largest gain, among equal
    ones that with the last name, as ndeval does. This greedy ranking need not be the best, so that a value
    can be a little above 1.

    Parameters
    ----------
    cutoff : int
        k, the last position that counts, here and in the greedy ranking.
    rel : float, default=1
        The least grade of a document that is relevant to a subtopic.
    alpha : float, default=0.5
        α, above 0 and below 1: how much less a further document of the same subtopic gains.

    References
    ----------
    .. [1] C. Clarke et al., "Novelty and diversity in information retrieval evaluation", SIGIR 2008, Eq. (8).
    """

    bare_name: ClassVar = "alpha_nDCG"
    aliases: ClassVar = ("alpha-nDCG", "α-nDCG")
    meaning: ClassVar = (
        "nDCG over subtopics: a document gains less for each one before it that is relevant to the same "
        "subtopic."
    )
    bounded: ClassVar = False

    _: KW_ONLY
    alpha: float = parameter(0.5, probability)

    def divisors(self, n_ranks: int) -> np.ndarray:
        """The inverse of the discount of nDCG."""
        return np.log2(np.arange(2.0, n_ranks + 2))

    @cached_by_queries
    def norm(self, queries: Queries) -> np.ndarray:
        """The value of the greedy ranking."""
        above, relevant = perfect_positions(queries).above, self.relevant_to(queries)
        for start, lead in zip(queries.indptr, queries.indptr[:-1] + self.n_relevant(queries), strict=False):
            block = slice(int(start), int(lead))
            names = None if queries.docid is None else queries.docid[block]
            above[block][_greedy(relevant[block], names, self.cutoff, self.alpha)] = np.arange(lead - start)
        return self.stops(queries, Positions(above, np.ones_like(above)))


@dataclass(frozen=True, repr=False)
class ERRIA(OverSubtopics):
    r"""Intent-aware ERR: the mean over subtopics of the expected 1/rank at which its users stop.

    Divided by the same of a list whose documents are all relevant to all subtopics, as ndeval does.

    Parameters
    ----------
    cutoff : int
        k, the last position that counts.
    rel : float, default=1
        The least grade of a document that is relevant to a subtopic.
    alpha : float, default=0.5
        α, above 0 and below 1: the probability to stop at a relevant document.

    Notes
    -----
    ndeval does not divide at k = 1, and its values there can exceed 1.

    References
    ----------
    .. [1] O. Chapelle et al., "Intent-based diversification of web search results: metrics and algorithms",
       Information Retrieval 14, 2011.
    """

    bare_name: ClassVar = "ERR_IA"
    aliases: ClassVar = ("ERR-IA",)
    meaning: ClassVar = "Expected reciprocal rank of users of each subtopic, averaged over subtopics."

    _: KW_ONLY
    alpha: float = parameter(0.5, probability)

    def divisors(self, n_ranks: int) -> np.ndarray:
        """The ranks."""
        return np.arange(1.0, n_ranks + 1)

    def norm(self, queries: Queries) -> np.ndarray:
        """The number of subtopics times the value of one where all documents are relevant."""
        stop = self.alpha * (1.0 - self.alpha) ** np.arange(self.cutoff)
        return self.n_subtopics(queries) * (stop / self.divisors(self.cutoff)).sum()


@dataclass(frozen=True, repr=False)
class StRec(OverSubtopics):
    """Subtopic recall: the share of subtopics with a relevant document among the first `cutoff`.

    Parameters
    ----------
    cutoff : int
        k, the last position that counts.
    rel : float, default=1
        The least grade of a document that is relevant to a subtopic.

    References
    ----------
    .. [1] C. Zhai, W. W. Cohen, J. Lafferty, "Beyond independent relevance: methods and evaluation metrics
       for subtopic retrieval", SIGIR 2003.
    """

    bare_name: ClassVar = "StRecall"
    aliases: ClassVar = ("StRec", "subtopic_recall")
    meaning: ClassVar = "Subtopic recall: the share of subtopics with a relevant document among the first k."

    def uninformative(self, queries: Queries) -> np.ndarray:
        """Queries where every ranking covers all subtopics, or none."""
        covered = [
            queries.sizes - np.where(count > 0, count, queries.sizes) < self.cutoff
            for count in (queries.count(subtopic) for subtopic in self.relevant_to(queries).T)
        ]
        return super().uninformative(queries) | np.all(covered, axis=0)

    def divisors(self, n_ranks: int) -> np.ndarray:
        """1 for each rank."""
        return np.ones(n_ranks)

    def norm(self, queries: Queries) -> np.ndarray:
        """The number of subtopics."""
        return self.n_subtopics(queries).astype(np.float64)


def _greedy(relevant: np.ndarray, names: np.ndarray | None, cutoff: int, alpha: float) -> np.ndarray:
    """Return documents in the order of the greedy ranking of one query; those after `cutoff` in any order.

    The gain of a subtopic is (1 − α)^n after n of its documents; `relevant` is bool (n_docs, n_subtopics).
    """
    n = len(relevant)
    order = list(range(n) if names is None else np.argsort(names, kind="stable")[::-1])
    gain, ranking = np.ones(relevant.shape[1]), []
    for _ in range(min(cutoff, n)):
        # Gains that differ by rounding are equal.
        ranking.append(order.pop(int(np.argmax(np.round(relevant[order] @ gain, 12)))))
        gain[relevant[ranking[-1]]] *= 1.0 - alpha
    return np.array([*ranking, *order], np.int64)
