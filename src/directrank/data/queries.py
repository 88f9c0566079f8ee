"""The label side of a collection: relevance and the boundaries of queries, without features.

Measures, surrogates and objectives see no other part of the data.
"""

from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Protocol, TypeVar, runtime_checkable

import numpy as np

from directrank.errors import DataError

Value = TypeVar("Value")
#: The arrays with an entry for each document, and for each query.
OF_DOCUMENTS = ("relevance", "row", "docid", "subtopics", "confidence")
OF_QUERIES = ("qid", "judged", "pooled")


@dataclass(frozen=True, eq=False)
class Queries:
    """Queries whose documents are contiguous and sorted by descending relevance, stably.

    Documents without a judgment have relevance 0 and come last in their query: those that were pooled for
    judging first, then the others.

    Parameters
    ----------
    relevance : ndarray of shape (n_docs,), float64
        Relevance, descending within each query: the documents of one grade are contiguous, and relevant
        documents come first.
    indptr : ndarray of shape (n_queries + 1,), int64
        Query q has the documents ``indptr[q]:indptr[q + 1]``.
    row : ndarray of shape (n_docs,), int64
        The caller's row of each document. Only tie rules that are defined by the input order read it.
    qid : ndarray of shape (n_queries,)
        The caller's name of each query.
    docid : ndarray of shape (n_docs,) or None
        The caller's names of documents, in the inner order.
    standardised : bool, default=False
        Whether relevance is the standard form of another supervision (`directrank.data.supervision`).
    real : bool, default=False
        Whether relevance is of real labels (`directrank.data.RealLabels`), which may be negative: only
        measures and losses made for them take it.
    judged : ndarray of shape (n_queries,), int64, or None
        How many first documents of each query have a judgment; None for all.
    pooled : ndarray of shape (n_queries,), int64, or None
        How many first documents of each query have a judgment or were pooled for one; None for all.
    subtopics : ndarray of shape (n_docs, n_subtopics), float64, or None
        The grade of each document for each subtopic of its query; relevance is the largest of a row. Queries
        with fewer subtopics have columns of zeros. None where relevance is of the query as a whole.
    confidence : ndarray of shape (n_docs,), float64, or None
        How far the relevance of each document is trusted: its weight in losses that are sums over documents,
        and a factor of those of its pairs. None for 1 everywhere. Measures do not read it.
    """

    relevance: np.ndarray
    indptr: np.ndarray
    row: np.ndarray
    qid: np.ndarray
    docid: np.ndarray | None = None
    standardised: bool = False
    real: bool = False
    judged: np.ndarray | None = None
    pooled: np.ndarray | None = None
    subtopics: np.ndarray | None = None
    confidence: np.ndarray | None = None
    _cache: dict = field(default_factory=dict, repr=False)

    def cached(self, key: Hashable, compute: Callable[[], Value]) -> Value:
        """Return the value cached under `key`, such as gains or ideals; `compute` it the first time."""
        if key not in self._cache:
            self._cache[key] = compute()
        return self._cache[key]

    def __getstate__(self) -> dict:
        # Keys may be functions that cannot be pickled; what is cached is computed again.
        return {**vars(self), "_cache": {}}

    @property
    def n_docs(self) -> int:
        """Number of documents."""
        return len(self.relevance)

    @property
    def n_queries(self) -> int:
        """Number of queries."""
        return len(self.indptr) - 1

    @cached_property
    def sizes(self) -> np.ndarray:
        """Documents of each query, int64 of shape (n_queries,)."""
        return np.diff(self.indptr)

    @property
    def query(self) -> np.ndarray:
        """The number of each document's query, int64 (n_docs,)."""
        return np.repeat(np.arange(self.n_queries), self.sizes)

    @property
    def place(self) -> np.ndarray:
        """How many documents of its query come before each one, int64 (n_docs,)."""
        place = np.arange(self.n_docs)
        place -= np.repeat(self.indptr[:-1], self.sizes)
        return place

    @property
    def inner(self) -> np.ndarray:
        """Where each of the caller's rows is among the documents, int64 (n_docs,)."""
        inner = np.empty_like(self.row)
        inner[self.row] = np.arange(self.n_docs)
        return inner

    @cached_property
    def longest(self) -> int:
        """The largest number of documents of a query; 0 without queries."""
        return int(self.sizes.max(initial=0))

    @cached_property
    def max_relevance(self) -> float:
        """The largest grade."""
        return float(self.relevance.max(initial=0.0))

    def count(self, which: np.ndarray) -> np.ndarray:
        """Count the documents of each query that a condition selects, int64 (n_queries,)."""
        counted = np.zeros(len(which) + 1, np.int64)
        np.cumsum(which, out=counted[1:])
        return counted[self.indptr[1:]] - counted[self.indptr[:-1]]

    @cached_property
    def n_positive(self) -> np.ndarray:
        """Documents of positive relevance of each query, int64 of shape (n_queries,)."""
        return self.count(self.relevance > 0.0)

    @property
    def n_judged(self) -> np.ndarray:
        """Documents of each query with a judgment, int64 of shape (n_queries,)."""
        return self.sizes if self.judged is None else self.judged

    @property
    def n_pooled(self) -> np.ndarray:
        """Documents of each query with a judgment or pooled for one, int64 of shape (n_queries,)."""
        return self.sizes if self.pooled is None else self.pooled

    @cached_property
    def single_grade(self) -> np.ndarray:
        """Whether all documents of a query have the same relevance, bool of shape (n_queries,)."""
        return self.relevance[self.indptr[:-1]] == self.relevance[self.indptr[1:] - 1]

    def differing(self, weights: np.ndarray) -> str:
        """Return the words that name the first query whose documents do not all have the same weight."""
        number = self.query
        first = np.argmax(weights != weights[self.indptr[number]])
        return f"differs between rows of query {self.qid[number[first]]}"

    def chosen(self, which: np.ndarray) -> tuple["Queries", np.ndarray]:
        """Return the selected queries and the rows of their documents; `which` is bool (n_queries,)."""
        rows = np.flatnonzero(np.repeat(which, self.sizes))
        indptr = np.append(0, np.cumsum(self.sizes[which]))
        return self._at(indptr, rows, which), rows

    def with_documents(self, which: np.ndarray) -> tuple["Queries", np.ndarray]:
        """Return the queries that have one of the selected documents, with these alone, and their rows.

        `which` is bool (n_docs,), in the inner order.
        """
        counts, first = self.count(which), {}
        present = counts > 0
        for name in ("judged", "pooled"):
            if getattr(self, name) is not None:
                number = np.repeat(getattr(self, name), self.sizes)
                first[name] = self.count(which & (self.place < number))[present]
        rows = np.flatnonzero(which)
        part = self._at(np.append(0, np.cumsum(counts[present])), rows, present)
        return replace(part, **first), rows

    def part(self, start: int, stop: int) -> "Queries":
        """Return queries `start` to `stop` as views."""
        first, last = self.indptr[start], self.indptr[stop]
        indptr = self.indptr[start : stop + 1] - first
        return self._at(indptr, slice(first, last), slice(start, stop))

    @classmethod
    def concatenate(cls, parts: "Sequence[Queries]") -> "Queries":
        """Return the queries of several parts as one; the rows of a part follow those of the part before.

        Raises DataError if one has grades and another preferences, rankings or real labels.
        """
        standardised, real = parts[0].standardised, parts[0].real
        if any((part.standardised, part.real) != (standardised, real) for part in parts):
            raise DataError("the sets have unlike labels: grades, preferences or rankings, or real numbers")
        starts = np.cumsum([0, *(part.n_docs for part in parts)])
        shifted = list(zip(starts, parts, strict=False))
        arrays: dict = {
            "relevance": [part.relevance for part in parts],
            "indptr": [[0], *(start + part.indptr[1:] for start, part in shifted)],
            "row": [start + part.row for start, part in shifted],
            "qid": [part.qid for part in parts],
        }
        if all(part.docid is not None for part in parts):
            arrays["docid"] = [part.docid for part in parts]
        if any(part.judged is not None or part.pooled is not None for part in parts):
            arrays["judged"] = [part.n_judged for part in parts]
            arrays["pooled"] = [part.n_pooled for part in parts]
        if any(part.confidence is not None for part in parts):
            arrays["confidence"] = [
                np.ones(part.n_docs) if part.confidence is None else part.confidence for part in parts
            ]
        columns: dict = {name: np.concatenate(pieces) for name, pieces in arrays.items()}
        return cls(**columns, standardised=standardised, real=real)

    def repeated(self, times: int) -> "Queries":
        """Return all queries `times` times in turn, each copy with a number of its own as its name."""
        ends = np.arange(times)[:, None] * self.n_docs + self.indptr[1:]
        arrays: dict = {"row": np.arange(times * self.n_docs), "qid": np.arange(times * self.n_queries)}
        for name in ("relevance", "judged", "pooled", "subtopics", "confidence"):
            array = getattr(self, name)
            arrays[name] = None if array is None else np.tile(array.T, times).T
        return Queries(indptr=np.append(0, ends), standardised=self.standardised, real=self.real, **arrays)

    def _at(
        self, indptr: np.ndarray, documents: np.ndarray | slice, queries: np.ndarray | slice
    ) -> "Queries":
        """Return the documents and the queries at some places, with these boundaries."""
        arrays: dict = {}
        for names, places in ((OF_DOCUMENTS, documents), (OF_QUERIES, queries)):
            for name in names:
                array = getattr(self, name)
                arrays[name] = None if array is None else array[places]
        return Queries(indptr=indptr, standardised=self.standardised, real=self.real, **arrays)


@runtime_checkable
class WithQueries(Protocol):
    """Documents of which `queries` is the label side, such as `directrank.data.QueryGroups`."""

    queries: Queries
    labelled: bool


def one_query(relevance: Sequence[float]) -> Queries:
    """Return one query of documents with these grades, which do not rise."""
    grades = np.asarray(relevance, np.float64)
    return Queries(grades, np.array([0, len(grades)]), np.arange(len(grades)), np.zeros(1, np.int64))
