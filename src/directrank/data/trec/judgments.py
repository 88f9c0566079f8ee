"""Judged documents by query: TREC qrels, or labelled documents that have names."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from directrank.data.groups import QueryGroups
from directrank.data.letor.scan import named_queries
from directrank.data.trec.runs import document_names
from directrank.data.trec.words import numbered, read_rows, shown, text_of
from directrank.errors import DataError

EXPECTED = "expected four: query, iteration, document and grade (qrels)"


@dataclass(frozen=True, eq=False)
class Judgments:
    """Grades of documents; every query has at least one document, and no document twice.

    Attributes
    ----------
    source : str
        The file, for messages.
    content : ndarray of uint8
        Text that the words are slices of.
    queries, documents : ndarray of shape (n_queries, 2) and (n_judged, 2), int64
        The words that name them: first and last byte, exclusive.
    query : ndarray of shape (n_judged,), int64
        The index of each document's query.
    grades : ndarray of shape (n_judged,), float64
        Not negative.
    notes : list of str
        What was done to the grades.
    """

    source: str
    content: np.ndarray
    queries: np.ndarray
    documents: np.ndarray
    query: np.ndarray
    grades: np.ndarray
    notes: list[str]

    @property
    def n_queries(self) -> int:
        """Number of queries."""
        return len(self.queries)

    def qid(self) -> np.ndarray:
        """Return the names of the queries: integers if all are plain ones, else texts."""
        return named_queries([text_of(self.content, each).encode() for each in self.queries])

    def query_name(self, query: int) -> str:
        """Return the name of a query."""
        return text_of(self.content, self.queries[query])


def read_qrels(path: str | Path) -> Judgments:
    """Read TREC qrels, plain or gzipped: ``query iteration document grade`` on each line.

    Negative grades count as 0, as in trec_eval, and a note counts them.

    Raises
    ------
    DataFormatError
        If a line has other than four words, a grade is not a number, or a document is judged twice.
    """
    rows = read_rows(Path(path), 4, EXPECTED)
    grades = rows.numbers(3, "expected a grade: a number")
    content, n_rows = rows.block.bytes, len(rows.line)
    query, first = numbered(content, rows.words[:, 0].copy(), np.zeros(n_rows, np.int64))
    documents = rows.words[:, 2].copy()
    codes, _ = numbered(content, documents, query)
    repeated = np.flatnonzero(np.bincount(codes)[codes] > 1)
    if len(repeated):
        again = next(row for row in repeated[1:] if codes[row] == codes[repeated[0]])
        raise rows.error(
            again,
            2,
            f"document {shown(rows.text(again, 2))} of query {shown(rows.text(again, 0))} is judged twice, "
            f"first in line {rows.line[repeated[0]] + 1}; keep one of the lines",
        )
    negative = int((grades < 0).sum())
    notes = [f"{path}: {negative} grades below 0 count as 0"] if negative else []
    words = rows.words[first, 0]
    return Judgments(str(path), content, words, documents, query, np.maximum(grades, 0.0), notes)


def judgments_of(groups: QueryGroups, names: Sequence[Any] | None = None) -> Judgments:
    """Return labelled documents as judgments, by the names given in row order, or by `document_names`.

    Raises
    ------
    DataError
        If two documents of a query have one docid.
    """
    queries = groups.queries
    codes = np.empty(groups.n_docs, np.int64)
    codes[queries.row] = np.repeat(np.arange(groups.n_queries), queries.sizes)
    named = document_names(groups).tolist() if names is None else names
    texts = [str(each).encode() for each in [*queries.qid.tolist(), *named]]
    ends = np.cumsum([len(each) for each in texts])
    words = np.stack([ends - [len(each) for each in texts], ends], axis=1)
    content = np.frombuffer(b"".join(texts) + b"\n", np.uint8)
    documents = words[groups.n_queries :].copy()
    _, first = numbered(content, documents, codes)
    if len(first) < groups.n_docs:
        again = np.setdiff1d(np.arange(groups.n_docs), first)[0]
        raise DataError(
            f"{groups.name or 'data'}: row {again + 1}: docid {shown(str(named[again]))} names another "
            f"document of query {queries.qid[codes[again]]} too, so a run cannot name either; "
            "make docids differ within a query"
        )
    source = groups.name or "the data"
    return Judgments(source, content, words[: groups.n_queries], documents, codes, groups.relevance, [])
