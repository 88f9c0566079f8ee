"""Rankings made elsewhere: TREC runs, files of scores, and arrays."""

import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from numbers import Real
from pathlib import Path
from typing import Any

import numpy as np

from directrank.apps.evaluation.evaluation import CONVENTIONS
from directrank.contracts import Measure
from directrank.data import Queries, QueryGroups, read_frame
from directrank.data.sampling import sampling_note
from directrank.errors import DataError, DataFormatError
from directrank.files import ReadOptions, read_file
from directrank.files.chunks import Chunks
from directrank.files.forms import (
    CALLED,
    JSON,
    JUDGED_FORMS,
    QRELS,
    RUN,
    SCORES,
    TABLE,
    TRIPLES,
    form_of,
)
from directrank.files.runs import (
    DOCUMENT,
    QUERY,
    Run,
    equal_scores,
    indexed_scores,
    read_ranking,
    run_of,
    run_of_frame,
)
from directrank.files.scores import document_names, document_words, read_scores
from directrank.files.trec import (
    Judgments,
    groups_of_grades,
    judgments_of,
    labelled_documents,
    match_run,
    read_json_judgments,
    read_qrels,
    recoded,
    unnamed,
)
from directrank.measures import NDCG

#: The forms that rankings have.
RANKED_FORMS = (RUN, QRELS, TRIPLES, TABLE, JSON)


@dataclass(frozen=True, eq=False)
class Submission:
    """One ranking, as `directrank.evaluate` takes it; `origin` is its path, or what it is.

    `retrieved` says which documents it holds, None for all; `notes` what was missing or unknown, and how it
    counts.
    """

    label: str
    origin: str
    queries: Queries
    scores: np.ndarray
    retrieved: np.ndarray | None
    notes: list[str]
    score_notes: Sequence[str] = ()  # Those of the notes that are about its scores alone


class Judged:
    """The data that rankings are evaluated on: qrels, labelled documents, or grades by qid and docid.

    `without_self` leaves out documents that are called like their query, of judgments and of rankings.
    """

    def __init__(self, data: object, how: ReadOptions | None = None, *, without_self: bool = False):
        self._qrels: Judgments | None = None
        self.groups: QueryGroups | None = None
        self.without_self = without_self
        self._by_name: dict[bool, Judgments] = {}
        self._some_unjudged = False
        self._grades: np.ndarray | None = None  # Of a mapping, in which some may be below 0
        #: Whether documents without names are called by their row numbers, as LETOR text and arrays allow.
        self._numbered = True
        self._how = how = replace(how or ReadOptions(), features=())  # Measures read none.
        self.source = "data"
        self._read(data, how)
        if how.grades and self.groups is not None and self._grades is None:
            # Measures of rankings read no features.
            labelled, X = self._labelled(self.source), np.empty((self.groups.n_docs, 0), np.float32)
            grades = recoded(labelled.relevance, how.grades)
            self.groups = QueryGroups(X, grades, labelled.qid, docid=labelled.docid, name=labelled.name)

    def _read(self, data: object, how: ReadOptions) -> None:
        """Read the judgments, as they are."""
        if isinstance(data, QueryGroups):
            self.groups, self.source = data, data.name or "data"
            self._numbered = data.feature_names is None
            return
        if isinstance(data, Mapping):
            self._grade(*_columns(data, "data"))
            return
        if hasattr(data, "columns"):
            self.groups = read_frame(data, how, "data")
            if not self.groups.n_docs:
                raise DataError("data: holds no document; expected one per row")
            self._numbered = False
            return
        path, self.source = _path("judgments", data), str(data)
        form = form_of(path)
        if form not in JUDGED_FORMS:
            problem = f"this is {CALLED[form]}; give the qrels or the labelled documents first"
            raise DataFormatError(self.source, 0, 0, problem)
        if form in (QRELS, TRIPLES):
            self._qrels = read_qrels(path, how.grades)
        elif form == JSON:
            self._grade(*read_json_judgments(path, how))
        elif form == TABLE:
            self.groups, self._numbered = labelled_documents(path, form, how), False
        else:
            self.groups = read_file(path, how)
            self._numbered = self.groups.feature_names is None

    def _grade(self, qid: list, docid: list, grades: list) -> None:
        """Set the documents with their grades, of which those below 0 are not judged."""
        if self._how.grades:
            grades = recoded(np.array(grades), self._how.grades).tolist()
        self.groups = groups_of_grades(qid, docid, grades, self.source)
        self._some_unjudged = min(grades) < 0
        self._grades = np.array(grades, np.float64)

    def judgments(self, words: bool, *, numbered: bool = True) -> Judgments:
        """Return the grades of documents by name; of words only, as TREC runs have them, if asked.

        Raises DataError if documents have no names, and are not `numbered`.
        """
        if words not in self._by_name:
            judgments = self._qrels
            if judgments is None:
                groups = self._labelled(self.source)
                docid: Any = groups.docid
                may_number = self._numbered and numbered and not self.without_self
                if docid is None and not may_number:
                    raise unnamed(self.source)
                if docid is not None and not may_number and (docid == "").any():
                    row = int((docid == "").argmax()) + 1
                    raise DataError(
                        f"{self.source}: row {row}: the document has no name; name every document"
                    )
                judgments = judgments_of(groups, document_words(groups) if words else None)
                if self._grades is not None:
                    judgments = replace(judgments, grades=self._grades)
            self._by_name[words] = judgments.without_self() if self.without_self else judgments
        return self._by_name[words]

    @property
    def notes(self) -> list[str]:
        """What was done to the grades, and whether the judged documents may be a sample."""
        if self.groups is not None:
            return [*filter(None, [sampling_note(self.groups.queries)])]
        return self._qrels.notes if self._qrels else []

    @property
    def relevance(self) -> np.ndarray:
        """The grades of all judged documents."""
        return (
            np.maximum(self._qrels.grades, 0.0)
            if self._qrels
            else self._labelled(self.source).queries.relevance
        )

    def submission(self, label: str, ranking: object) -> Submission:
        """Return a ranking of the judged documents.

        It may be a run, a table of scores with qid and docid, or a file of scores; a mapping of qid to a
        mapping of docid to score; or scores in row order.
        """
        path = Path(ranking) if isinstance(ranking, (str, os.PathLike)) else None
        if path is None and not isinstance(ranking, Mapping) and not hasattr(ranking, "columns"):
            scores = np.asarray(ranking)
            if scores.dtype.kind not in "iufb":
                raise DataError(f"{label}: {_kind(ranking)}; {RANKING_EXPECTED}")
            return self._of_rows(label, "", self._in_row_order(label), scores)
        form = None if path is None else form_of(path)
        if path is not None and form is not None and form not in RANKED_FORMS:
            if form != SCORES:
                problem = f"this is {CALLED[form]}, expected a TREC run or a file of scores"
                raise DataFormatError(str(path), 0, 0, problem)
            groups = self._in_row_order(path)
            return self._of_rows(label, str(path), groups, read_scores(path, groups.n_docs, self.source))
        if path is not None and form == TRIPLES and self.groups is not None:
            scores = indexed_scores(path, self.groups)
            if scores is not None:
                return self._of_rows(label, str(path), self._in_row_order(path), scores)
        run = self.run(label, ranking)
        retrieval = match_run(self.judgments(words=form not in (None, TABLE, JSON) and run.in_words), run)
        name = "" if path is None else str(path)
        return Submission(
            label, name, retrieval.queries, retrieval.scores, retrieval.retrieved, retrieval.notes, run.notes
        )

    def run(self, label: str, ranking: object) -> Run:
        """Return a ranking by names of documents, without those that are left out."""
        run = run_from(label, ranking, self._how)
        return run.without_self() if self.without_self else run

    def _of_rows(self, label: str, origin: str, groups: QueryGroups, scores: np.ndarray) -> Submission:
        """Return scores in row order as a ranking."""
        if self.without_self:
            judgments = self.judgments(words=False)
            qids, names = groups.qid.tolist(), document_names(groups).tolist()
            retrieval = match_run(
                judgments, run_of(qids, names, scores.tolist(), path=Path(label)).without_self()
            )
            return Submission(
                label, origin, retrieval.queries, retrieval.scores, retrieval.retrieved, retrieval.notes
            )
        query = groups.to_caller(groups.queries.query)
        notes = equal_scores(origin or label, query, scores) if scores.shape == query.shape else []
        return Submission(label, origin, groups.queries, scores, None, notes, notes)

    def _in_row_order(self, scores: object) -> QueryGroups:
        """Return the labelled documents, all of which are judged."""
        if self._some_unjudged:
            raise DataError(
                f"{scores}: scores in row order cannot tell documents with a grade below 0, which are not "
                "judged, from irrelevant ones; give a mapping of qid to a mapping of docid to score"
            )
        return self._labelled(scores)

    def _labelled(self, scores: object) -> QueryGroups:
        """Return the labelled documents, whose order scores follow."""
        if self.groups is None:
            raise DataError(
                f"{scores}: scores are in the order of labelled documents, which the qrels {self.source} do "
                "not have; give a TREC run (`directrank rank --format trec` writes one)"
            )
        return self.groups


RANKING_EXPECTED = (
    "expected a path, a data frame, a mapping of qid to a mapping of docid to score, or scores in row order"
)


def _kind(value: object) -> str:
    """Return what something unexpected is, for a message."""
    once = ", which can be read only once" if isinstance(value, Iterator) else ""
    return f"found a {type(value).__name__}{once}"


def _path(what: str, data: object) -> Path:
    if not isinstance(data, (str, os.PathLike)):
        raise DataError(
            f"{what}: {_kind(data)}; expected a path, QueryGroups, a data frame, or a mapping of qid to a "
            "mapping of docid to a number, such as dict(…)"
        )
    return Path(data)


def is_text(ranking: object) -> bool:
    """Whether a ranking is a file of words, which names documents by one word."""
    return isinstance(ranking, (str, os.PathLike)) and form_of(Path(ranking)) not in (TABLE, JSON)


def run_from(label: str, ranking: object, how: ReadOptions | None = None) -> Run:
    """Return a ranking by names of documents: a run, a table, a data frame or a mapping.

    Columns of queries and documents are those that `how` names, where a table has them. Chunks that it tells
    of become documents.
    """
    run = _run_as_listed(label, ranking, how)
    return run if how is None or how.chunks is None else Chunks.of(how.chunks, how.chunk_score).folded(run)


def fold_chunks(
    run: Any, chunks: str | os.PathLike | Mapping[str, str], *, score: str = "max"
) -> dict[Any, dict[str, float]]:
    """Return a run of documents, of a run of their chunks.

    Parameters
    ----------
    run : path, data frame, or mapping of qid to mapping of docid to score
        The run, as `directrank.evaluate_runs` takes it.
    chunks : str, path-like or mapping of str to str
        What is before the number of a chunk, such as ``#`` in ``doc7#3``; or a table, or mapping, of chunk
        and document. Other names are those of documents.
    score : {"max", "sum", "first"}, default="max"
        The score of a document: the largest of its chunks, their sum, or that of its first chunk that the run
        holds.

    Returns
    -------
    dict of qid to dict of docid to score
        A ranking for `evaluate_runs`, `agreement` and `Fusion`.

    Raises
    ------
    DataError
        If a chunk is listed twice for a query.

    Examples
    --------
    >>> fold_chunks({"q": {"a#0": 1.0, "a#1": 3.0, "b#0": 2.0}}, "#")
    {'q': {'a': 3.0, 'b': 2.0}}
    """
    whole = Chunks.of(chunks, score).folded(_run_as_listed("run", run, None))
    folded: dict[Any, dict[str, float]] = {}
    for row, value in enumerate(whole.scores.tolist()):
        qid = whole.rows.text(row, QUERY)
        folded.setdefault(whole.qids.get(qid, qid), {})[whole.rows.text(row, DOCUMENT)] = value
    return folded


def _run_as_listed(label: str, ranking: object, how: ReadOptions | None) -> Run:
    if isinstance(ranking, Mapping):
        return run_of(*_columns(ranking, label), path=Path(label))
    if hasattr(ranking, "columns"):
        return run_of_frame(ranking, label, how)
    path = _path(label, ranking)
    form = form_of(path)
    if form not in RANKED_FORMS:
        problem = f"this is {CALLED[form]}, expected a TREC run or a table of qid, docid and score"
        raise DataFormatError(str(path), 0, 0, problem)
    return read_ranking(path, how)


def definition_notes(
    measures: Sequence[Measure], convention: str, judged: Judged, submissions: Sequence[Submission]
) -> list[str]:
    """Return a line about measures that trec_eval defines otherwise, for runs with grades above 1."""
    if convention != "standard" or judged.relevance.max(initial=0.0) <= 1.0:
        return []
    if all(submission.retrieved is None for submission in submissions):
        return []
    linear = [
        measure
        for measure in measures
        if isinstance(measure, NDCG) and CONVENTIONS["trec_eval"].adjusted(measure).name != measure.name
    ]
    if not linear:
        return []
    other = [f"ndcg_cut.{measure.cutoff}" if measure.cutoff else "ndcg" for measure in linear]
    trec_names = ",".join(name.replace(".", "_") for name in other)
    return [
        f"{', '.join(measure.name for measure in linear)}: the gain is 2^y − 1; that of trec_eval's "
        f"{', '.join(other)} is y: name {trec_names} for it, or the convention trec_eval"
    ]


def _columns(mapping: Mapping, name: str) -> tuple[list[Any], list[Any], list[Any]]:
    """Return queries, documents and values of a mapping of qid to a mapping of docid to value."""
    for qid, values in mapping.items():
        if not isinstance(values, Mapping):
            raise DataError(
                f"{name}: query {qid!r}: {_kind(values)}; expected a mapping of docid to a number"
            )
    rows = [(qid, docid, value) for qid, values in mapping.items() for docid, value in values.items()]
    if not rows:
        raise DataError(
            f"{name}: holds no document; expected a mapping of qid to a mapping of docid to a number"
        )
    qids, docids, values = map(list, zip(*rows, strict=True))
    return qids, docids, values


def named_runs(runs: Any) -> dict[str, Any]:
    """Return rankings by label: the names of a mapping, or the names of files, whole paths where equal.

    Rankings that are no files and have no name are called run, or run 1, run 2, …
    """
    if isinstance(runs, Mapping) and not _is_run(runs):
        return {str(label): run for label, run in runs.items()}
    alone = any((isinstance(runs, (str, os.PathLike, Mapping)), hasattr(runs, "columns")))
    listed: list[Any] = [runs] if alone else [*runs]
    texts = [
        str(run) if isinstance(run, (str, os.PathLike)) else "run" if alone else f"run {number}"
        for number, run in enumerate(listed, 1)
    ]
    names = [Path(path).name for path in texts]
    labels = [name if names.count(name) == 1 else path for name, path in zip(names, texts, strict=True)]
    repeated = next((label for label in labels if labels.count(label) > 1), None)
    if repeated is not None:
        raise ValueError(f"{repeated} is given twice; give each run once")
    return dict(zip(labels, listed, strict=True))


def _is_run(mapping: Mapping) -> bool:
    """Whether a mapping is one ranking, of qid to docid to score, and not one of names to rankings."""
    values = next(
        (documents for documents in mapping.values() if not isinstance(documents, Mapping) or documents), None
    )
    return isinstance(values, Mapping) and isinstance(next(iter(values.values())), Real)
