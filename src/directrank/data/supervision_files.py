"""Supervision other than grades, from files: preferences and observed rankings."""

import math
from pathlib import Path

import numpy as np

from directrank.data.groups import QueryGroups
from directrank.data.supervision import ObservedRankings, PreferenceGraph
from directrank.errors import DataError


def with_preferences(groups: QueryGroups, path: Path) -> QueryGroups:
    """Return documents with the preferences of a file in place of their grades.

    Raises
    ------
    DataError
        With the file, the line and the expected form.
    """
    return _supervised(groups, read_preferences(path, groups.qid), str(path))


def with_rankings(groups: QueryGroups) -> QueryGroups:
    """Return documents whose grades are read as positions in observed rankings, 1 the best.

    Raises
    ------
    DataError
        If the positions of a query are not 1 to n, each once.
    """
    return _supervised(groups, ObservedRankings(groups.relevance), groups.name or "the data")


def read_preferences(path: Path, qid: np.ndarray) -> PreferenceGraph:
    """Read preferences, one a line: the better document, the worse one, and optionally a weight.

    Documents are numbered from 1 in the order of the file of documents; `qid` has the query of each. Empty
    lines and text after a # are ignored.

    Raises
    ------
    DataError
        With the file, the line and the expected form.
    """
    edges = []
    for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), start=1):
        words = line.split("#")[0].split()
        if words:
            edges.append(_edge(words, qid, f"{path}, line {number}: {line.strip()!r}"))
    if not edges:
        raise DataError(f"{path}: no preferences; expected lines such as `1 3` or `1 3 0.5`")
    return PreferenceGraph(*zip(*edges, strict=True))


def _edge(words: list[str], qid: np.ndarray, where: str) -> tuple[int, int, float]:
    """Return the rows of the better and the worse document, from 0, and the weight."""
    edge = _numbers(words)
    if edge is None or not all(0 <= row < len(qid) for row in edge[:2]):
        raise DataError(f"{where}; expected two documents, 1 to {len(qid)}, and optionally a weight above 0")
    better, worse, _ = edge
    if qid[better] != qid[worse]:
        raise DataError(
            f"{where} joins queries {qid[better]} and {qid[worse]}; expected documents of one query"
        )
    return edge


def _numbers(words: list[str]) -> tuple[int, int, float] | None:
    """Return two different rows, from 0, and a weight above 0; None if the words are something else."""
    if len(words) not in (2, 3) or not all(word.isascii() and word.isdigit() for word in words[:2]):
        return None
    better, worse = int(words[0]) - 1, int(words[1]) - 1
    try:
        weight = float(words[2]) if len(words) == 3 else 1.0
    except ValueError:
        return None
    return (better, worse, weight) if better != worse and 0 < weight < math.inf else None


def _supervised(groups: QueryGroups, supervision, where: str) -> QueryGroups:
    names = {"docid": groups.docid, "feature_names": groups.feature_names, "name": groups.name}
    try:
        return QueryGroups(groups.X, supervision, groups.qid, **names)
    except DataError as error:
        raise DataError(f"{where}: {error}") from None
