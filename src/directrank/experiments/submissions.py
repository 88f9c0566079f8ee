"""Rankings made elsewhere: TREC runs, files of scores, and arrays."""

import os
from collections.abc import Mapping
from dataclasses import dataclass, replace
from numbers import Real
from pathlib import Path
from typing import Any

import numpy as np

from directrank.data import QueryGroups
from directrank.data.files import ENDINGS, TABLE_ENDINGS, ReadOptions, read_file
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
from directrank.data.frames import read_frame
from directrank.data.grouping import qid_array
from directrank.data.queries import Queries
from directrank.errors import DataError, DataFormatError
from directrank.experiments.rivals import Learned, Learner, Task
from directrank.experiments.sources import file_digest
from directrank.storage.names import printable


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


class Judged:
    """The data that rankings are evaluated on: qrels, labelled documents, or grades by qid and docid."""

    def __init__(self, data: Any, how: ReadOptions | None = None):
        self._qrels: Judgments | None = None
        self.groups: QueryGroups | None = None
        self._by_name: dict[bool, Judgments] = {}
        self._some_unjudged = False
        how = how or ReadOptions(features=())
        self.source = "data"
        if isinstance(data, QueryGroups):
            self.groups, self.source = data, data.name or "data"
            return
        if isinstance(data, Mapping):
            qid, docid, grades = _columns(data, "data")
            X = np.empty((len(qid), 0), np.float32)
            self.groups = QueryGroups(X, np.maximum(grades, 0), qid, docid=qid_array(docid), name="data")
            self._some_unjudged = min(grades) < 0
            self._by_name = {
                words: replace(self.judgments(words), grades=np.array(grades, np.float64))
                for words in (False, True)
            }
            return
        if hasattr(data, "columns"):
            self.groups = read_frame(data, how, "data")
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
        return (
            np.maximum(self._qrels.grades, 0.0)
            if self._qrels
            else self._labelled(self.source).queries.relevance
        )

    def submission(self, label: str, given: Any) -> Submission:
        """Return a ranking of the judged documents.

        It may be a TREC run, a table of scores with qid and docid, or a file of scores; a mapping of qid to a
        mapping of docid to score; or scores in row order.
        """
        path = Path(given) if isinstance(given, (str, os.PathLike)) else None
        if path is None and not isinstance(given, Mapping) and not hasattr(given, "columns"):
            return Submission(label, "", self._in_row_order(label).queries, np.asarray(given), None, [])
        if path is not None and is_text(path) and (form := form_of(path)) != RUN:
            if form != SCORES:
                problem = f"this is {CALLED[form]}, expected a TREC run or a file of scores"
                raise DataFormatError(str(path), 0, 0, problem)
            groups = self._in_row_order(path)
            scores = read_scores(path, groups.n_docs, self.source)
            return Submission(label, str(path), groups.queries, scores, None, [])
        found = joined(self.judgments(words=is_text(given)), run_from(label, given))
        name = "" if path is None else str(path)
        return Submission(label, name, found.queries, found.scores, found.retrieved, found.notes)

    def _in_row_order(self, scores: Any) -> QueryGroups:
        """Return the labelled documents, all of which are judged."""
        if self._some_unjudged:
            raise DataError(
                f"{scores}: scores in row order cannot tell documents with a grade below 0, which are not "
                "judged, from irrelevant ones; give a mapping of qid to a mapping of docid to score"
            )
        return self._labelled(scores)

    def _labelled(self, scores: Any) -> QueryGroups:
        """Return the labelled documents, whose order scores follow."""
        if self.groups is None:
            raise DataError(
                f"{scores}: scores are in the order of labelled documents, which the qrels {self.source} do "
                "not have; give a TREC run (`directrank rank --format trec` writes one)"
            )
        return self.groups


def is_text(given: Any) -> bool:
    """Whether a ranking is a file of words, which names documents by one word."""
    return isinstance(given, (str, os.PathLike)) and not Path(given).name.lower().endswith(TABLE_ENDINGS)


def run_from(label: str, given: Any) -> Run:
    """Return a ranking by names of documents: a TREC run, a table, a data frame or a mapping."""
    if isinstance(given, Mapping):
        return run_of(*_columns(given, label), Path(label))
    if hasattr(given, "columns"):
        return run_of_frame(given, label)
    path = Path(given)
    if not is_text(path):
        return read_run_table(path)
    form = form_of(path)
    if form != RUN:
        problem = f"this is {CALLED[form]}, expected a TREC run or a table of qid, docid and score"
        raise DataFormatError(str(path), 0, 0, problem)
    return read_run(path)


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


#: What the names of files end in; text may be compressed.
RUN_ENDINGS = (*(f"{end}{zipped}" for end in (".run", ".trec") for zipped in ("", ".gz")), *ENDINGS)
RULE = (
    "expected Fold1.txt, Fold1.run, Fold1/test.txt or the only file of a folder Fold1, and so for every fold"
)


@dataclass(frozen=True)
class RunFiles(Learner):
    """A folder of rankings that were made elsewhere; nothing is trained or chosen.

    The test set of ``Fold1`` is ranked by ``Fold1.txt`` in the folder, or ``Fold1/test.txt``, or the only
    file of ``Fold1/``; the validation set, if there are rankings of it, by ``Fold1.vali.txt`` or
    ``Fold1/vali.txt``. Instead of ``.txt`` a name may end in ``.run``, ``.trec``, ``.csv``, ``.tsv``,
    ``.parquet`` or ``.arrow``. One file instead of a folder ranks the test sets of all folds: a TREC run.
    """

    folder: Path
    partial = True
    reads_docid = True

    def describe(self, fold: str) -> Any:
        """Return the digests of the files."""
        vali = self._vali(fold)
        return {"test": file_digest(self._test(fold)), "vali": None if vali is None else file_digest(vali)}

    def learn(self, task: Task) -> Learned:
        """Read the scores of a fold."""
        vali = None if task.vali is None else self._vali(task.fold)
        scores = None if vali is None or task.vali is None else _scores(vali, task.vali)
        return Learned(scores, _scores(self._test(task.fold), task.to_score))

    def _test(self, fold: str) -> Path:
        if self.folder.is_file():
            return self.folder
        if not self.folder.is_dir():
            raise DataError(f"{self.folder}: no such folder; {RULE}")
        inside = self.folder / fold
        found = _named(self.folder, fold) or _named(inside, "test") or _only(inside)
        if len(found) > 1:
            names = " and ".join(sorted(each.name for each in found)[:2])
            raise DataError(f"{self.folder}: {names} are both rankings of {fold}; keep one of them")
        if not found:
            raise DataError(f"{self.folder}: no ranking of {fold}; {RULE}")
        return found[0]

    def _vali(self, fold: str) -> Path | None:
        if self.folder.is_file():
            return None
        found = _named(self.folder, f"{fold}.vali") or _named(self.folder / fold, "vali")
        return found[0] if found else None


def _named(folder: Path, stem: str) -> list[Path]:
    return [path for end in RUN_ENDINGS if (path := folder / f"{stem}{end}").is_file()]


def _only(folder: Path) -> list[Path]:
    """Return the files of a folder that may be rankings of a test set."""
    if not folder.is_dir():
        return []
    found = [each for each in sorted(folder.iterdir()) if each.name.endswith(RUN_ENDINGS) and each.is_file()]
    return [each for each in found if each.name.partition(".")[0] not in ("train", "vali")]


def _scores(path: Path, groups: QueryGroups) -> np.ndarray:
    """Return the scores of a file in the caller's row order; NaN for documents that a run does not hold."""
    scores = Judged(groups).submission("", path).scores
    # Documents that are not in the set come last.
    if len(scores) > groups.n_docs:
        raise DataError(
            f"{printable(str(path))}: {len(scores) - groups.n_docs} of its documents are not in the set of "
            f"{groups.n_docs} that the methods rank; leave them out, or use `directrank evaluate`"
        )
    return scores[: groups.n_docs]
