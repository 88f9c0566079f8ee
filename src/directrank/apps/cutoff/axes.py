"""Axes of a cut-off: the values of documents that a threshold is compared with."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from directrank.data import QueryGroups, descending_order
from directrank.errors import DataError


@dataclass(frozen=True, eq=False)
class ScoredLists:
    """Lists of scored documents, one a query, each in descending order of scores.

    Attributes
    ----------
    scores : ndarray of shape (n_docs,), float64
        Descending within each query.
    relevance : ndarray of shape (n_docs,), float64
        Zeros where none was given.
    indptr : ndarray of shape (n_queries + 1,), int64
        Query q has the documents ``indptr[q]:indptr[q + 1]``.
    row : ndarray of shape (n_docs,), int64
        The caller's row of each document.
    qid : ndarray of shape (n_queries,)
    """

    scores: np.ndarray
    relevance: np.ndarray
    indptr: np.ndarray
    row: np.ndarray
    qid: np.ndarray

    @classmethod
    def of(cls, scores: Any, qid: Any, relevance: Any = None) -> "ScoredLists":
        """Return the lists of documents in the caller's order.

        Raises DataError if a score is not finite, or lengths differ.
        """
        values = np.asarray(scores, np.float64)
        if values.ndim != 1 or not len(values):
            raise DataError(f"scores have the shape {values.shape}; expected one score per document")
        if not np.isfinite(values).all():
            row = int(np.argmin(np.isfinite(values)))
            raise DataError(f"scores: row {row + 1}: found {values[row]}; a cut-off needs finite scores")
        queries = QueryGroups(np.empty((len(values), 0), np.float32), relevance, qid).queries
        order = descending_order(values[queries.row], queries.indptr)
        row = queries.row[order]
        return cls(values[row], queries.relevance[order], queries.indptr, row, queries.qid)

    @property
    def n_queries(self) -> int:
        """Number of queries."""
        return len(self.qid)

    @cached_property
    def query(self) -> np.ndarray:
        """The number of each document's query, int64 (n_docs,)."""
        return np.repeat(np.arange(self.n_queries), np.diff(self.indptr))

    @property
    def top(self) -> np.ndarray:
        """The largest score of each query."""
        return self.scores[self.indptr[:-1]]

    def chosen(self, which: np.ndarray) -> "ScoredLists":
        """Return the lists of some queries; `which` is bool (n_queries,), rows stay the caller's."""
        documents = which[self.query]
        indptr = np.append(0, np.cumsum(np.diff(self.indptr)[which]))
        return ScoredLists(
            self.scores[documents], self.relevance[documents], indptr, self.row[documents], self.qid[which]
        )


def _standardised(lists: ScoredLists) -> np.ndarray:
    # Scores are sorted, so the sums do not depend on the caller's order.
    sizes, starts = np.diff(lists.indptr), lists.indptr[:-1]
    centred = lists.scores - (np.add.reduceat(lists.scores, starts) / sizes)[lists.query]
    deviation = np.sqrt(np.add.reduceat(centred**2, starts) / sizes)
    equal = lists.top == lists.scores[lists.indptr[1:] - 1]
    return np.where(equal[lists.query], 0.0, centred / np.where(equal, 1.0, deviation)[lists.query])


def _rank(lists: ScoredLists) -> np.ndarray:
    # Documents with equal scores have the best of their ranks, so that they are kept together.
    place = np.arange(len(lists.scores)) - lists.indptr[:-1][lists.query]
    falls = np.append(True, np.diff(lists.scores) < 0) | (place == 0)
    return -(
        1.0 + np.maximum.accumulate(np.where(falls, np.arange(len(place)), 0)) - lists.indptr[lists.query]
    )


#: Every axis: its values, larger for documents that are kept first, and the words for a threshold on it.
AXES: dict[str, tuple[Callable[[ScoredLists], np.ndarray], Callable[[float], str]]] = {
    "rank": (_rank, lambda threshold: f"a rank of at most {-threshold:.0f}"),
    "standardised": (
        _standardised,
        lambda threshold: f"a score of at least the query's mean {threshold:+.3f} standard deviations",
    ),
    "gap": (
        lambda lists: lists.scores - lists.top[lists.query],
        lambda threshold: f"a score of at most {-threshold:.6g} below the query's best",
    ),
    "score": (lambda lists: lists.scores, lambda threshold: f"a score of at least {threshold:.6g}"),
}
