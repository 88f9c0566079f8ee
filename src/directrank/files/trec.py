"""Judgments, and their join with rankings: what a ranking is worth."""

import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from numbers import Real
from pathlib import Path
from types import MappingProxyType
from typing import Any

import numpy as np

from directrank.data.columns import ReadOptions, choose_columns, guessed_roles
from directrank.data.grouping import sorted_order, text_array
from directrank.data.groups import QueryGroups
from directrank.data.queries import Queries
from directrank.errors import DataError, DataFormatError, listed
from directrank.files.chunks import likely_separator
from directrank.files.forms import (
    CALLED,
    JSON,
    JUDGED_FORMS,
    QRELS,
    QRELS_WORDS,
    TABLE,
    TRIPLES,
    form_of,
    separator_of,
)
from directrank.files.json_rankings import LABEL, read_json
from directrank.files.letor import LetorFiles
from directrank.files.runs import DOCUMENT, QUERY, RANK, Run
from directrank.files.scores import document_names, document_words
from directrank.files.tables import TABLES, TableFiles, table_of
from directrank.files.words import (
    Rows,
    encoded,
    named_queries,
    numbered,
    quoted,
    read_words,
    text_of,
    texts_of,
)

__all__ = [
    "QRELS_EXPECTED",
    "Judgments",
    "Retrieval",
    "groups_of_grades",
    "judgments_of",
    "labelled_documents",
    "match_run",
    "read_json_judgments",
    "read_qrels",
    "recoded",
    "unnamed",
]

QRELS_EXPECTED = "expected four: query, iteration, document and grade (qrels)"
#: Grades 1, 2, 3, … of a query, as many as these or more, are ranks.
LEAST_RANKS = 3
#: A run that shares a smaller part of its documents with the judgments probably calls them otherwise.
LEAST_COMMON = 0.1
#: Documents whose names are looked at for a separator of chunks.
SOME = 1_000


@dataclass(frozen=True, eq=False)
class Judgments:
    """Grades of documents; every query has at least one document, and no document twice."""

    source: str  # The file, for messages
    queries: np.ndarray  # (n_queries,), bytes: Their names
    documents: np.ndarray  # (n_judged,), bytes
    query: np.ndarray  # (n_judged,), int64: The index of each document's query
    # (n_judged,), float64: Below 0 for documents that were pooled for judging and not judged
    grades: np.ndarray
    notes: list[str]  # What was done to the grades
    subtopics: np.ndarray | None = None  # (n_judged, n_subtopics), float64: See `Queries`

    @property
    def n_queries(self) -> int:
        """Number of queries."""
        return len(self.queries)

    def qid(self) -> np.ndarray:
        """Return the names of the queries: integers if all are plain ones, else texts."""
        return named_queries(map(text_of, self.queries.tolist()))

    def query_name(self, query: int) -> str:
        """Return the name of a query."""
        return text_of(self.queries[query])

    def by_name(self) -> dict[tuple[str, str], float]:
        """Return the grade of each judged document, by the names of query and document."""
        qids = [self.query_name(query) for query in range(self.n_queries)]
        rows = zip(self.query.tolist(), self.documents.tolist(), self.grades.tolist(), strict=True)
        return {(qids[query], text_of(document)): grade for query, document, grade in rows if grade >= 0}

    def without_self(self) -> "Judgments":
        """Return the judgments without documents that are called like their query, and the queries left.

        Raises DataError if none is left.
        """
        mask = self.documents != self.queries[self.query]
        if mask.all():
            return self
        if not mask.any():
            raise DataError(f"{self.source}: every document is called like its query, so that none is left")
        codes, query = np.unique(self.query[mask], return_inverse=True)
        return Judgments(
            self.source, self.queries[codes], self.documents[mask], query, self.grades[mask], self.notes,
            None if self.subtopics is None else self.subtopics[mask],
        )  # fmt: skip


def recoded(grades: np.ndarray, codes: Mapping[float, float]) -> np.ndarray:
    """Return grades with others in place of some of them."""
    exchanged = [(grades == code, grade) for code, grade in codes.items()]
    return np.select([rows for rows, _ in exchanged], [grade for _, grade in exchanged], grades)


def read_qrels(path: str | Path, codes: Mapping[float, float] = MappingProxyType({})) -> Judgments:
    """Read TREC qrels, plain or compressed: ``query iteration document grade`` on each line.

    The iteration may be left out. What follows a # at the beginning or after the grade is a comment.
    As in trec_eval, documents with grades below 0 were pooled and not judged: they are not relevant, and
    measures of judged documents alone skip them. A note counts them. Where the iteration differs within a
    query, it is the subtopic, as in the diversity qrels of TREC's web track: the grade of a document is then
    the largest over its subtopics, and measures of subtopics read them. `codes` are of `recoded`. Raises
    DataFormatError if a line has other than three or four words, a grade is not a number, or a document is
    judged twice.
    """
    words = read_words(Path(path), QRELS_EXPECTED, separator_of(Path(path)), QRELS_WORDS)
    width = 3 if words.counts[0] == 3 else QRELS_WORDS
    words.refuse_other(width, QRELS_EXPECTED)
    rows = words.rows(*range(QRELS_WORDS)) if width == QRELS_WORDS else words.rows(0, 0, 1, 2)
    grades = rows.numbers(3, "expected a grade: a number")
    qids, iterations, documents = map(rows.column, range(3))
    if width == 3:
        _refuse_ranks(rows, grades)
    grades = recoded(grades, codes) if codes else grades
    n_rows = len(documents)
    query, first = numbered(qids)
    subtopic, first_of_subtopic = numbered(iterations, query)
    _refuse_repeated(rows, np.arange(n_rows), numbered(documents, subtopic)[0], 2, "judged")
    notes, subtopics = words.notes(), None
    if len(first_of_subtopic) > len(first):
        document, first_rows = numbered(documents, query)
        # Subtopics are columns, counted within their query.
        owner = query[first_of_subtopic]
        column = np.array([np.count_nonzero(owner[:number] == owner[number]) for number in range(len(owner))])
        subtopics = np.zeros((len(first_rows), column.max() + 1))
        subtopics[document, column[subtopic]] = np.maximum(grades, 0.0)
        largest = np.full(len(first_rows), -np.inf)
        np.maximum.at(largest, document, grades)
        if len(first_rows) < n_rows:
            notes.append(f"{path}: the grade of a document is the largest over its subtopics (second column)")
        documents, query, grades = documents[first_rows], query[first_rows], largest
    negative = int((grades < 0).sum())
    if negative:
        notes.append(
            f"{path}: {negative} grades below 0: these documents are not judged, and count as not relevant"
        )
    return Judgments(str(path), qids[first], documents, query, grades, notes, subtopics)


def _refuse_ranks(rows: Rows, values: np.ndarray) -> None:
    """Raise DataFormatError if the numbers of every query are 1, 2, 3, …: those of a run."""
    query, first = rows.numbered(QUERY)
    places = np.arange(len(query)) - first[query]
    if np.bincount(query).max() >= LEAST_RANKS and np.array_equal(values, places + 1):
        problem = (
            "the numbers of every query are 1, 2, 3, …: a run with ranks, expected judgments with grades"
        )
        raise rows.error(0, RANK, f"{problem}; name judgments first, and write qrels with four words")


def read_judgments(path: Path) -> Judgments:
    """Read judgments of any form: qrels, a table, or labelled documents with names.

    Raises DataError if the file has another form, or documents have no names.
    """
    form = form_of(path)
    if form not in JUDGED_FORMS:
        raise DataFormatError(str(path), 0, 0, f"this is {CALLED[form]}, expected judgments, such as qrels")
    if form in (QRELS, TRIPLES):
        return read_qrels(path)
    if form == TABLE:
        names = (table_of(path) or TABLES[0]).schema(path).names
        roles = guessed_roles(names)
        if missing := [role for role in ("qid", "docid", "label") if roles[role] is None]:
            raise DataError(
                f"{path}: no column of judgments is called like a {missing[0]}; call one {missing[0]}; the "
                f"columns are {listed(names)}"
            )
    if form == JSON:
        columns = read_json_judgments(path, ReadOptions(features=()))
        groups = groups_of_grades(*columns, str(path))
        return replace(judgments_of(groups, document_words(groups)), grades=np.array(columns[2], np.float64))
    groups = labelled_documents(path, form, ReadOptions(features=()))
    docid: Any = groups.docid
    if docid is None or (docid == "").any():
        row = 1 if docid is None else int((docid == "").argmax()) + 1
        raise DataError(f"{path}: document {row} has no name; in LETOR text write it as a comment: # name")
    return judgments_of(groups, document_words(groups))


def read_json_judgments(path: Path, how: ReadOptions) -> tuple[list, list, list]:
    """Return the queries, documents and grades of judgments in JSON; grades below 0 are not judged.

    Raises DataError if a column is not there, or a grade is no number.
    """
    table = read_json(path, LABEL)
    columns = choose_columns(list(table), replace(how, features=()), str(path))
    if columns.docid is None:
        raise unnamed(str(path))
    return table[str(columns.qid)], table[str(columns.docid)], table[str(columns.label)]


def groups_of_grades(
    qids: Sequence[object], docids: Sequence[object], grades: Sequence[Any], name: str
) -> QueryGroups:
    """Return documents without features; grades below 0 become 0.

    Raises DataError if a grade is no number.
    """
    for query, document, grade in zip(qids, docids, grades, strict=True):
        if not isinstance(grade, Real | np.bool_):
            where = f"{name}: document {document!r} of query {query!r}"
            raise DataError(f"{where}: found {grade!r:.40}, expected a grade: a number")
    X = np.empty((len(qids), 0), np.float32)
    return QueryGroups(X, np.maximum(grades, 0), qids, docid=docids, name=name)


def labelled_documents(path: Path, form: str, how: ReadOptions) -> QueryGroups:
    """Return the documents of a table, whatever it is called, or of LETOR text, without features."""
    if form == TABLE:
        return TableFiles(table_of(path) or TABLES[0], [path], how).fill(())
    return LetorFiles([path], how).fill(0)


def unnamed(where: str) -> DataError:
    """Return the error for documents without names, where others are called by names."""
    return DataError(
        f"{where}: documents have no names, by which runs and judgments are joined; name their column by "
        "--docid (in Python, docid=), and in LETOR text write a comment: # name"
    )


def judgments_of(groups: QueryGroups, names: Sequence[object] | None = None) -> Judgments:
    """Return labelled documents as judgments, by the names given in row order, or by `document_names`.

    Raises DataError if two documents of a query have one docid.
    """
    queries = groups.queries
    codes = np.empty(groups.n_docs, np.int64)
    codes[queries.row] = queries.query
    docids = document_names(groups).tolist() if names is None else names
    where = groups.name or "data"
    qids, documents = (
        text_array(encoded(names, f"{where}: {what}"))
        for what, names in (("qid", queries.qid.tolist()), ("docid", docids))
    )
    _, first = numbered(documents, codes)
    if len(first) < groups.n_docs:
        again = np.setdiff1d(np.arange(groups.n_docs), first)[0]
        raise DataError(
            f"{where}: row {again + 1}: docid {quoted(str(docids[again]))} names another "
            f"document of query {queries.qid[codes[again]]} too, so a run cannot name either; "
            "make docids differ within a query"
        )
    source = groups.name or "the data"
    return Judgments(source, qids, documents, codes, groups.relevance, [])


@dataclass(frozen=True, eq=False)
class Retrieval:
    """Judged documents and those of a run, as `directrank.evaluate` takes them."""

    queries: Queries  # Those that are judged, with all documents that are judged or in the run
    scores: np.ndarray  # (n_docs,), float64: In row order; NaN for documents that the run does not hold
    retrieved: np.ndarray  # (n_docs,), bool
    notes: list[str]  # How many queries and documents are missing or unknown, and how they count


def match_run(judgments: Judgments, run: Run) -> Retrieval:
    """Join a run with judgments, by trec_eval's rules.

    Documents without a judgment are not relevant; queries without a judgment are left out; queries that the
    run does not hold stay, without retrieved documents. Notes count them. Raises DataFormatError if no query
    or no document of the run is judged, or the run lists a document twice. Warns if less than a tenth of the
    documents are common.
    """
    rows = run.rows
    query, judged_rows = _judged_rows(judgments, run)
    documents = np.concatenate([judgments.documents, rows.column(DOCUMENT)[judged_rows]])
    group = np.concatenate([judgments.query, query[judged_rows]])
    codes, first = numbered(documents, group)
    n_judged, rows_of_run = len(judgments.documents), codes[len(judgments.documents) :]
    _refuse_repeated(rows, judged_rows, rows_of_run, DOCUMENT, "listed")
    _check_common(judgments, run, judged_rows, query, rows_of_run)
    grades, scores = np.full(len(first), -np.inf), np.full(len(first), np.nan)
    grades[:n_judged] = judgments.grades
    scores[rows_of_run] = run.scores[judged_rows]
    subtopics = _padded(judgments, np.arange(n_judged), len(first))
    queries = _sorted_queries(group[first], grades, judgments.qid(), documents[first], subtopics)
    notes = [*run.notes, *_query_notes(judgments, run, query)]
    if unjudged := int((rows_of_run >= n_judged).sum()):
        notes.append(
            f"{run.path}: {unjudged} of {len(rows_of_run)} documents have no judgment and count as not "
            "relevant"
        )
    return Retrieval(queries, scores, ~np.isnan(scores), notes)


def _padded(judgments: Judgments, rows: np.ndarray, n_docs: int) -> np.ndarray | None:
    """Return the subtopics of `n_docs` documents; those in `rows` are judged."""
    if judgments.subtopics is None:
        return None
    subtopics = np.zeros((n_docs, judgments.subtopics.shape[1]))
    subtopics[rows] = judgments.subtopics
    return subtopics


def _sorted_queries(
    query: np.ndarray, grades: np.ndarray, qid: np.ndarray, docid: np.ndarray, subtopics: np.ndarray | None
) -> Queries:
    """Return the queries of documents; grades without a judgment are below 0 in the pool, -inf outside."""
    order, indptr = sorted_order(query, grades, len(qid))
    judged, pooled = (
        np.bincount(query[some], minlength=len(qid)) for some in (grades >= 0, grades > -np.inf)
    )
    relevance = np.maximum(grades[order], 0.0)
    return Queries(
        relevance, indptr, order, qid, docid[order], judged=judged, pooled=pooled,
        subtopics=None if subtopics is None else subtopics[order],
    )  # fmt: skip


@dataclass(frozen=True, eq=False)
class Union:
    """The documents of several runs, and those that are judged, each once."""

    queries: Queries  # Those of the runs, then judged ones that no run holds
    # (n_docs, n_runs), float64: In the inner order; NaN where a run does not hold the document
    scores: np.ndarray
    judged: np.ndarray  # (n_docs,), bool: Which documents have a judgment; the others count as not relevant

    @property
    def held(self) -> np.ndarray:
        """Which run holds which document, bool (n_docs, n_runs)."""
        return ~np.isnan(self.scores)

    @property
    def retrieved(self) -> np.ndarray:
        """Which documents are in a run, bool (n_docs,)."""
        return np.asarray(self.held.any(axis=1))

    def any_document(self, which: np.ndarray) -> np.ndarray:
        """Return for each query whether `which`, bool (n_docs,), is true of one of its documents."""
        return np.logical_or.reduceat(which, self.queries.indptr[:-1])

    def chosen(self, which: np.ndarray) -> "Union":
        """Return the selected queries; `which` is bool (n_queries,)."""
        queries, rows = self.queries.chosen(which)
        return Union(queries, self.scores[rows], self.judged[rows])


def united(runs: Sequence[Run], judgments: Judgments | None = None) -> Union:
    """Return the union of the documents of several runs, and of judgments, query by query.

    Raises DataFormatError if a run lists a document twice.
    """
    documents = [run.rows.column(DOCUMENT) for run in runs]
    numbers = [run.rows.numbered(QUERY) for run in runs]
    names = [run.rows.column(QUERY)[first] for run, (_, first) in zip(runs, numbers, strict=True)]
    if judgments is not None:
        documents.append(judgments.documents)
        numbers.append(numbered(judgments.query))
        names.append(judgments.queries[judgments.query[numbers[-1][1]]])
    every_name, every_document = np.concatenate(names), np.concatenate(documents)
    codes, first_names = numbered(every_name)
    by_name = np.split(codes, np.cumsum(list(map(len, names)))[:-1])
    query = np.concatenate([codes[number] for codes, (number, _) in zip(by_name, numbers, strict=True)])
    document, first = numbered(every_document, query)
    by_source = np.split(document, np.cumsum(list(map(len, documents)))[:-1])
    relevance, subtopics = np.full(len(first), -np.inf), None
    if judgments is not None:
        relevance[by_source[-1]] = judgments.grades
        subtopics = _padded(judgments, by_source[-1], len(first))
    qid = named_queries(map(text_of, every_name[first_names].tolist()))
    queries = _sorted_queries(query[first], relevance, qid, texts_of(every_document[first]), subtopics)
    scores, inner = np.full((len(first), len(runs)), np.nan), queries.inner
    for place, (run, rows_of_run) in enumerate(zip(runs, by_source, strict=False)):
        _refuse_repeated(run.rows, np.arange(len(rows_of_run)), rows_of_run, DOCUMENT, "listed")
        scores[inner[rows_of_run], place] = run.scores
    return Union(queries, scores, relevance[queries.row] >= 0.0)


def _judged_rows(judgments: Judgments, run: Run) -> tuple[np.ndarray, np.ndarray]:
    """Return the query of each row of a run, and the rows whose query is judged."""
    number, first = run.rows.numbered(QUERY)
    names = np.concatenate([judgments.queries, run.rows.column(QUERY)[first]])
    query = numbered(names)[0][judgments.n_queries :][number]
    judged_rows = np.flatnonzero(query < judgments.n_queries)
    if not len(judged_rows):
        raise DataFormatError(
            str(run.path), 0, 0,
            f"none of its queries is in {judgments.source}: they are called "
            f"{quoted(run.rows.text(0, QUERY))} and {quoted(judgments.query_name(0))}, for example; give "
            "the run of these queries",
        )  # fmt: skip
    return query, judged_rows


def _refuse_repeated(rows: Rows, places: np.ndarray, codes: np.ndarray, column: int, verb: str) -> None:
    """Raise an error if two of these rows have the same document of a query, whose number `codes` has."""
    counts = np.bincount(codes)
    if (counts < 2).all():
        return
    repeated = np.flatnonzero(counts[codes] > 1)
    first, again = places[repeated[codes[repeated] == codes[repeated[0]]][:2]].tolist()
    raise rows.error(
        again,
        column,
        f"document {quoted(rows.text(again, column))} of query {quoted(rows.text(again, QUERY))} is {verb} "
        f"twice, first in line {rows.line[first]}; keep one of the lines",
    )


def _check_common(
    judgments: Judgments, run: Run, judged_rows: np.ndarray, query: np.ndarray, rows_of_run: np.ndarray
):
    """Refuse a run without a judged document; warn if it has less than a tenth of those it could have."""
    judged = np.flatnonzero(np.isin(judgments.query, query[judged_rows]))
    n_common = int((rows_of_run < len(judgments.documents)).sum())
    n_possible = min(len(judged), len(judged_rows))
    if n_common >= LEAST_COMMON * n_possible:
        return
    names = (
        f"they are called {quoted(run.rows.text(judged_rows[0], DOCUMENT))} and "
        f"{quoted(text_of(judgments.documents.item(judged[0])))}, for example; name documents "
        "as the judgments do (in tables, --docid chooses the column)"
    )
    if not n_common:
        inside = {text_of(judgments.documents.item(row)) for row in judged.tolist()}
        some = [run.rows.text(row, DOCUMENT) for row in judged_rows[:SOME].tolist()]
        if separator := likely_separator(some, inside):
            names += (
                f"; without what follows {separator!r} they are: --chunks {separator!r} makes them "
                "documents (in Python, fold_chunks)"
            )
        raise DataFormatError(str(run.path), 0, 0, f"none of its documents is in {judgments.source}: {names}")
    warnings.warn(
        f"{run.path}: only {n_common} of {len(judged_rows)} documents are in {judgments.source}: {names}",
        UserWarning,
        stacklevel=2,
    )


def _query_notes(judgments: Judgments, run: Run, query: np.ndarray) -> list[str]:
    n_queries, notes = judgments.n_queries, []
    missing = np.flatnonzero(np.bincount(query, minlength=n_queries)[:n_queries] == 0)
    if len(missing):
        notes.append(
            f"{run.path}: the run lacks {len(missing)} of {n_queries} queries of {judgments.source}, which "
            f"count 0 (errors: that of an empty ranking), such as {judgments.query_name(missing[0])}"
        )
    unknown = np.flatnonzero(query >= n_queries)
    if len(unknown):
        notes.append(
            f"{run.path}: left out queries that are not in {judgments.source}: "
            f"{len(np.unique(query[unknown]))}, such as {run.rows.text(unknown[0], QUERY)}"
        )
    return notes
