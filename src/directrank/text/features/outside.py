"""Scores that others computed, such as those of a cross-encoder, as a feature."""

import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from directrank.data.files.trec import DOCUMENT, QUERY, RUN, form_of, read_run
from directrank.errors import DataError
from directrank.text.collections import tables
from directrank.text.collections.options import CollectionOptions
from directrank.text.collections.records import Faults

NO_SCORE = "candidates have no score"


def outside_scores(
    source: Any, name: str, qids: Sequence[str], docids: Sequence[Sequence[str]], faults: Faults
) -> np.ndarray:
    """Return the score of every pair, float32 (n_pairs,); pairs without one are NaN, and counted.

    Parameters
    ----------
    source : path, or data frame
        A TREC run, or a table of qid, docid and score.
    name : str
        The name of the feature.
    qids : sequence of str
    docids : sequence of sequence of str
        The names of the candidates of each query.
    faults : Faults

    Raises
    ------
    DataError
        If the source cannot be read, or has no score of any candidate.
    """
    scores = dict(_scores(source))
    found = [scores.get((qid, docid), np.nan) for qid, own in zip(qids, docids, strict=True) for docid in own]
    return counted(np.array(found, np.float32), str(source), name, qids, docids, faults)


def counted(
    values: np.ndarray,
    where: str,
    name: str,
    qids: Sequence[str],
    docids: Sequence[Sequence[str]],
    faults: Faults,
) -> np.ndarray:
    """Return the values of all pairs of a feature, after missing ones were counted.

    Raises
    ------
    DataError
        If all are missing.
    """
    missing = np.isnan(values)
    if missing.all():
        raise DataError(
            f"{where}: has no score of a candidate; its names of queries and documents are others"
        )
    pairs = [f"{qid} {docid}" for qid, own in zip(qids, docids, strict=True) for docid in own]
    for row in np.flatnonzero(missing):
        faults.add(f"{NO_SCORE} of {name} (a missing value)", pairs[row])
    return values


def _scores(source: Any):
    """Yield pairs of names, and their scores."""
    source = Path(source) if isinstance(source, (str, os.PathLike)) else source
    if isinstance(source, Path) and not tables.names_table(source) and form_of(source) == RUN:
        run = read_run(source)
        for row, score in enumerate(run.scores.tolist()):
            yield (run.rows.text(row, QUERY), run.rows.text(row, DOCUMENT)), score
        return
    for each in tables.judgements(source, CollectionOptions(), Faults()):
        yield (each.qid, each.docid), each.grade
