"""What is evaluated: judged documents and rankings of them, read from files or given as arrays."""

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from directrank.data import QueryGroups
from directrank.data.files import TABLE_ENDINGS, ReadOptions, read_file
from directrank.data.files.runs import read_run_table
from directrank.data.queries import Queries
from directrank.data.trec.forms import CALLED, LETOR, QRELS, RUN, SCORES, form_of
from directrank.data.trec.judgments import Judgments, judgments_of, read_qrels
from directrank.data.trec.retrieved import joined, read_run
from directrank.data.trec.runs import read_scores
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
    data : path or QueryGroups
    how : ReadOptions, optional
        How labelled documents are read.
    """

    def __init__(self, data: Any, how: ReadOptions | None = None):
        self._qrels: Judgments | None = None
        self.groups: QueryGroups | None = None
        if isinstance(data, QueryGroups):
            self.groups, self.source = data, data.name or "data"
            return
        path, self.source = Path(data), str(data)
        form = LETOR if path.name.lower().endswith(TABLE_ENDINGS) else form_of(path)
        if form == QRELS:
            self._qrels = read_qrels(path)
        elif form == LETOR:
            self.groups = read_file(path, how or ReadOptions(features=()))
        else:
            problem = f"this is {CALLED[form]}; give the qrels or the labelled documents first"
            raise DataFormatError(self.source, 0, 0, problem)

    @cached_property
    def judgments(self) -> Judgments:
        """The grades of documents by name."""
        return self._qrels or judgments_of(self._labelled(self.source))

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
        given : path, or array of shape (n_docs,)
            A TREC run, a table of scores with qid and docid, or a file of scores; or scores in row order.

        Raises
        ------
        DataError
            If the file is malformed or does not fit the data.
        """
        if not isinstance(given, (str, os.PathLike)):
            return Submission(label, "", self._labelled(label).queries, np.asarray(given), None, [])
        path = Path(given)
        is_table = path.name.lower().endswith(TABLE_ENDINGS)
        form = RUN if is_table else form_of(path)
        if form == RUN:
            found = joined(self.judgments, read_run_table(path) if is_table else read_run(path))
            return Submission(label, str(path), found.queries, found.scores, found.retrieved, found.notes)
        if form != SCORES:
            problem = f"this is {CALLED[form]}, expected a TREC run or a file of scores"
            raise DataFormatError(str(path), 0, 0, problem)
        groups = self._labelled(path)
        scores = read_scores(path, groups.n_docs, self.source)
        return Submission(label, str(path), groups.queries, scores, None, [])

    def _labelled(self, scores: Any) -> QueryGroups:
        """Return the labelled documents, whose order scores follow."""
        if self.groups is None:
            raise DataError(
                f"{scores}: scores are in the order of labelled documents, which the qrels {self.source} do "
                "not have; give a TREC run (`directrank rank --format trec` writes one)"
            )
        return self.groups


def named_runs(runs: Any) -> dict[str, Any]:
    """Return rankings by label: the names of a mapping, or the names of files, whole paths where equal.

    Raises
    ------
    ValueError
        If a file is given twice.
    """
    if isinstance(runs, Mapping):
        return {str(label): run for label, run in runs.items()}
    listed: Sequence[Any] = [runs] if isinstance(runs, (str, os.PathLike)) else list(runs)
    paths = [str(each) for each in listed]
    names = [Path(each).name for each in paths]
    labels = [name if names.count(name) == 1 else path for name, path in zip(names, paths, strict=True)]
    repeated = next((each for each in labels if labels.count(each) > 1), None)
    if repeated is not None:
        raise ValueError(f"{repeated} is given twice; give each run once")
    return dict(zip(labels, paths, strict=True))
