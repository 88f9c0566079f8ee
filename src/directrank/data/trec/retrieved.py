"""A TREC run, and what it is worth: its documents joined with the judged ones."""

import warnings
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from directrank.data.grouping import sorted_order
from directrank.data.queries import Queries
from directrank.data.trec.judgments import Judgments
from directrank.data.trec.words import Rows, as_bytes, numbered, read_rows, shown, text_of
from directrank.errors import DataFormatError

EXPECTED = "expected six: query, Q0, document, rank, score and tag (a TREC run)"
#: A run that shares a smaller part of its documents with the judgments probably calls them otherwise.
LEAST_COMMON = 0.1
QUERY, DOCUMENT, SCORE, TAG = 0, 2, 4, 5


@dataclass(frozen=True, eq=False)
class Run:
    """The rows of a TREC run with their scores."""

    path: Path
    rows: Rows
    scores: np.ndarray


@dataclass(frozen=True, eq=False)
class Retrieval:
    """Judged documents and those of a run, as `directrank.evaluate` takes them.

    Attributes
    ----------
    queries : Queries
        Those that are judged, with all documents that are judged or in the run.
    scores : ndarray of shape (n_docs,), float64
        In row order; NaN for documents that the run does not hold.
    retrieved : ndarray of shape (n_docs,), bool
    notes : list of str
        How many queries and documents are missing or unknown, and how they count.
    """

    queries: Queries
    scores: np.ndarray
    retrieved: np.ndarray
    notes: list[str]


def read_run(path: str | Path) -> Run:
    """Read a TREC run, plain or gzipped: ``query Q0 document rank score tag`` on each line.

    The score decides the order, as in trec_eval; the rank is not read.

    Raises
    ------
    DataFormatError
        If a line has other than six words, a score is not a finite number, or the tag changes.
    """
    rows = read_rows(Path(path), 6, EXPECTED)
    _, first = numbered(rows.block.bytes, rows.words[:, TAG].copy(), np.zeros(len(rows.line), np.int64))
    if len(first) > 1:
        raise rows.error(
            first[1],
            TAG,
            f"the tag is {shown(rows.text(first[1], TAG))}, but {shown(rows.text(0, TAG))} before: "
            "two runs in one file; write each into its own file",
        )
    return Run(Path(path), rows, rows.numbers(SCORE, "expected a score: a finite number"))


def joined(judgments: Judgments, run: Run) -> Retrieval:
    """Join a run with judgments, by trec_eval's rules.

    Documents without a judgment are not relevant; queries without a judgment are left out; queries that the
    run does not hold stay, without retrieved documents. Notes count them.

    Raises
    ------
    DataFormatError
        If no query or no document of the run is judged, or the run lists a document twice.

    Warns
    -----
    UserWarning
        If less than a tenth of the documents are common.
    """
    rows, shift = run.rows, len(judgments.content)
    content = np.concatenate([judgments.content, rows.block.bytes])
    query, kept = _judged_rows(judgments, run, content)
    documents = np.concatenate([judgments.documents, rows.words[kept, DOCUMENT] + shift])
    group = np.concatenate([judgments.query, query[kept]])
    codes, first = numbered(content, documents, group)
    n_judged, own = len(judgments.documents), codes[len(judgments.documents) :]
    _refuse_repeated(run, kept, own, len(first))
    _check_common(judgments, run, kept, query, own)
    grades, scores = np.zeros(len(first)), np.full(len(first), np.nan)
    grades[:n_judged] = judgments.grades
    scores[own] = run.scores[kept]
    order, indptr = sorted_order(group[first], grades, judgments.n_queries)
    docid = as_bytes(content, documents[first])[order]
    queries = Queries(grades[order], indptr, order, judgments.qid(), docid)
    notes = [*_query_notes(judgments, run, query), *_document_note(run, own, n_judged)]
    return Retrieval(queries, scores, ~np.isnan(scores), notes)


def _judged_rows(judgments: Judgments, run: Run, content: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the query of each row of a run, and the rows whose query is judged."""
    words = np.concatenate([judgments.queries, run.rows.words[:, QUERY] + len(judgments.content)])
    query = numbered(content, words, np.zeros(len(words), np.int64))[0][judgments.n_queries :]
    kept = np.flatnonzero(query < judgments.n_queries)
    if not len(kept):
        raise DataFormatError(
            str(run.path), 0, 0,
            f"none of its queries is in {judgments.source}: they are called {shown(run.rows.text(0, QUERY))} "
            f"and {shown(judgments.query_name(0))}, for example; give the run of these queries",
        )  # fmt: skip
    return query, kept


def _refuse_repeated(run: Run, kept: np.ndarray, own: np.ndarray, n_docs: int) -> None:
    many = np.flatnonzero(np.bincount(own, minlength=n_docs)[own] > 1)
    if not len(many):
        return
    same = many[own[many] == own[many[0]]]
    first, again = int(kept[same[0]]), int(kept[same[1]])
    rows = run.rows
    raise rows.error(
        again,
        DOCUMENT,
        f"document {shown(rows.text(again, DOCUMENT))} of query {shown(rows.text(again, QUERY))} is listed "
        f"twice, first in line {rows.line[first] + 1}; keep one of the lines",
    )


def _check_common(judgments: Judgments, run: Run, kept: np.ndarray, query: np.ndarray, own: np.ndarray):
    """Refuse a run without a judged document; warn if it has less than a tenth of those it could have."""
    judged = np.flatnonzero(np.isin(judgments.query, query[kept]))
    n_common, n_possible = int((own < len(judgments.documents)).sum()), min(len(judged), len(kept))
    if n_common >= LEAST_COMMON * n_possible:
        return
    names = (
        f"they are called {shown(run.rows.text(kept[0], DOCUMENT))} and "
        f"{shown(text_of(judgments.content, judgments.documents[judged[0]]))}, for example; name documents "
        "as the judgments do (in tables, --docid chooses the column)"
    )
    if not n_common:
        raise DataFormatError(str(run.path), 0, 0, f"none of its documents is in {judgments.source}: {names}")
    warnings.warn(
        f"{run.path}: only {n_common} of {len(kept)} documents are in {judgments.source}: {names}",
        UserWarning,
        stacklevel=2,
    )


def _query_notes(judgments: Judgments, run: Run, query: np.ndarray) -> list[str]:
    n_queries, notes = judgments.n_queries, []
    missing = np.flatnonzero(np.bincount(query, minlength=n_queries)[:n_queries] == 0)
    if len(missing):
        notes.append(
            f"{run.path}: the run lacks {len(missing)} of {n_queries} queries of {judgments.source}, which "
            f"count 0, such as {judgments.query_name(missing[0])}"
        )
    unknown = np.flatnonzero(query >= n_queries)
    if len(unknown):
        notes.append(
            f"{run.path}: left out queries that are not in {judgments.source}: "
            f"{len(np.unique(query[unknown]))}, such as {run.rows.text(unknown[0], QUERY)}"
        )
    return notes


def _document_note(run: Run, own: np.ndarray, n_judged: int) -> list[str]:
    unjudged = int((own >= n_judged).sum())
    if not unjudged:
        return []
    return [f"{run.path}: {unjudged} of {len(own)} documents have no judgment and count as not relevant"]
