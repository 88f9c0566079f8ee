"""What is evaluated: judged documents and rankings of them, read from files or given as arrays."""

import os
from collections.abc import Mapping
from dataclasses import dataclass
from numbers import Real
from pathlib import Path
from typing import Any

import numpy as np

from directrank.data import QueryGroups, from_frame
from directrank.data.files import TABLE_ENDINGS, ReadOptions, read_file
from directrank.data.files.scores import document_words, read_scores
from directrank.data.files.trec import (
    CALLED,
    LETOR,
    QRELS,
    RUN,
    SCORES,
    Judgments,
    Run,
    form_of,
    joined,
    judgments_of,
    read_qrels,
    read_run,
    read_run_table,
    run_of,
    run_of_frame,
)
from directrank.data.grouping import qid_array
from directrank.data.queries import Queries
from directrank.errors import DataError, DataFormatError


@dataclass(frozen=True, eq=False)
class Submission:
    """One ranking, as `directrank.evaluate` takes it.

    Attributes
    ----------
    label : str
        The name in tables.
    path : str
        The file; empty for arrays.
    queries : Queries
    scores : ndarray of shape (n_docs,), float64
        In row order.
    retrieved : ndarray of shape (n_docs,), bool, or None
        Which documents the ranking holds; None for all.
    notes : list of str
        What was missing or unknown, and how it counts.
    """

    label: str
    path: str
    queries: Queries
    scores: np.ndarray
    retrieved: np.ndarray | None
    notes: list[str]


class Judged:
    """The data that rankings are evaluated on: qrels, or labelled documents.

    Parameters
    ----------
    data : path, QueryGroups, data frame, or mapping of qid to mapping of docid to grade
    how : ReadOptions, optional
        How labelled documents are read.
    """

    def __init__(self, data: Any, how: ReadOptions | None = None):
        self._qrels: Judgments | None = None
        self.groups: QueryGroups | None = None
        self._by_name: dict[bool, Judgments] = {}
        how = how or ReadOptions(features=())
        self.source = "data"
        if isinstance(data, QueryGroups):
            self.groups, self.source = data, data.name or "data"
            return
        if isinstance(data, Mapping):
            qid, docid, grades = _columns(data, "data")
            X = np.empty((len(qid), 0), np.float32)
            self.groups = QueryGroups(X, np.maximum(grades, 0), qid, docid=qid_array(docid), name="data")
            return
        if hasattr(data, "columns"):
            self.groups = from_frame(
                data, qid=how.qid, label=how.label, docid=how.docid, features=(), name="data"
            )
            return
        path, self.source = Path(data), str(data)
        form = LETOR if path.name.lower().endswith(TABLE_ENDINGS) else form_of(path)
        if form == QRELS:
            self._qrels = read_qrels(path)
        elif form == LETOR:
            self.groups = read_file(path, how)
        else:
            problem = f"this is {CALLED[form]}; give the qrels or the labelled documents first"
            raise DataFormatError(self.source, 0, 0, problem)

    def judgments(self, words: bool) -> Judgments:
        """Return the grades of documents by name; of words only, as TREC runs have them, if asked."""
        if self._qrels is not None:
            return self._qrels
        if words not in self._by_name:
            groups = self._labelled(self.source)
            self._by_name[words] = judgments_of(groups, document_words(groups) if words else None)
        return self._by_name[words]

    @property
    def notes(self) -> list[str]:
        """What was done to the grades."""
        return self._qrels.notes if self._qrels else []

    @property
    def relevance(self) -> np.ndarray:
        """The grades of all judged documents."""
        return self._qrels.grades if self._qrels else self._labelled(self.source).queries.relevance

    def submission(self, label: str, given: Any) -> Submission:
        """Return a ranking of the judged documents.

        Parameters
        ----------
        label : str
        given : path, data frame, mapping, or array of shape (n_docs,)
            A TREC run, a table of scores with qid and docid, or a file of scores; a mapping of qid to a
            mapping of docid to score; or scores in row order.

        Raises
        ------
        DataError
            If the file is malformed or does not fit the data.
        """
        if isinstance(given, Mapping):
            return self._joined(label, "", run_of(*_columns(given, label), Path(label)))
        if hasattr(given, "columns"):
            return self._joined(label, "", run_of_frame(given, label))
        if not isinstance(given, (str, os.PathLike)):
            return Submission(label, "", self._labelled(label).queries, np.asarray(given), None, [])
        path = Path(given)
        if path.name.lower().endswith(TABLE_ENDINGS):
            return self._joined(label, str(path), read_run_table(path))
        form = form_of(path)
        if form == RUN:
            return self._joined(label, str(path), read_run(path), words=True)
        if form != SCORES:
            problem = f"this is {CALLED[form]}, expected a TREC run or a file of scores"
            raise DataFormatError(str(path), 0, 0, problem)
        groups = self._labelled(path)
        scores = read_scores(path, groups.n_docs, self.source)
        return Submission(label, str(path), groups.queries, scores, None, [])

    def _joined(self, label: str, path: str, run: Run, *, words: bool = False) -> Submission:
        found = joined(self.judgments(words), run)
        return Submission(label, path, found.queries, found.scores, found.retrieved, found.notes)

    def _labelled(self, scores: Any) -> QueryGroups:
        """Return the labelled documents, whose order scores follow."""
        if self.groups is None:
            raise DataError(
                f"{scores}: scores are in the order of labelled documents, which the qrels {self.source} do "
                "not have; give a TREC run (`directrank rank --format trec` writes one)"
            )
        return self.groups


def _columns(mapping: Mapping, name: str) -> tuple[list[Any], list[Any], list[Any]]:
    """Return queries, documents and values of a mapping of qid to a mapping of docid to value."""
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

    Raises
    ------
    ValueError
        If a file is given twice.
    """
    if isinstance(runs, Mapping) and not _is_run(runs):
        return {str(label): run for label, run in runs.items()}
    alone = any((isinstance(runs, (str, os.PathLike, Mapping)), hasattr(runs, "columns")))
    listed: list[Any] = [runs] if alone else [*runs]
    called = [
        str(each) if isinstance(each, (str, os.PathLike)) else "run" if alone else f"run {number}"
        for number, each in enumerate(listed, 1)
    ]
    names = [Path(each).name for each in called]
    labels = [name if names.count(name) == 1 else path for name, path in zip(names, called, strict=True)]
    repeated = next((each for each in labels if labels.count(each) > 1), None)
    if repeated is not None:
        raise ValueError(f"{repeated} is given twice; give each run once")
    return dict(zip(labels, listed, strict=True))


def _is_run(mapping: Mapping) -> bool:
    """Whether a mapping is one ranking, of qid to docid to score, and not one of names to rankings."""
    values = next((each for each in mapping.values() if not isinstance(each, Mapping) or each), None)
    return isinstance(values, Mapping) and isinstance(next(iter(values.values())), Real)
