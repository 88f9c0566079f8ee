"""Supervision other than grades, from files: preferences and observed rankings."""

import math
import re
from array import array
from pathlib import Path

import numpy as np

from directrank.data.groups import QueryGroups
from directrank.data.supervision import ObservedRankings, PreferenceGraph
from directrank.errors import DataError
from directrank.files.opening import numbered_lines

#: Two documents and, optionally, a weight.
NUMBER = r"\+?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?"
EDGE = re.compile(rf"([0-9]{{1,18}})\s+([0-9]{{1,18}})(?:\s+({NUMBER}))?")


def with_preferences(groups: QueryGroups, path: Path) -> QueryGroups:
    """Return documents with the preferences of a file in place of their grades.

    Raises DataError with the file, the line and the expected form.
    """
    return _supervised(groups, read_preferences(path, groups.qid), str(path))


def with_rankings(groups: QueryGroups) -> QueryGroups:
    """Return documents whose grades are read as positions in observed rankings, 1 the best.

    Raises DataError if the positions of a query are not 1 to n, each once.
    """
    return _supervised(groups, ObservedRankings(groups.relevance), groups.name or "the data")


def read_preferences(path: Path, qid: np.ndarray) -> PreferenceGraph:
    """Read preferences, one per line: the better document, the worse one, and optionally a weight.

    Documents are numbered from 1 in the order of the file of documents; `qid` has the query of each. Empty
    lines and text after a # are ignored. Raises DataError with the file, the line and the expected form.
    """
    better, worse, weights = array("q"), array("q"), array("d")
    for number, line in numbered_lines(path):
        if text := line.split("#")[0].strip():
            upper, lower, weight = _edge(text, qid, f"{path}, line {number}: {line!r}")
            better.append(upper)
            worse.append(lower)
            weights.append(weight)
    if not better:
        raise DataError(f"{path}: no preferences; expected lines such as `1 3` or `1 3 0.5`")
    return PreferenceGraph(np.array(better), np.array(worse), np.array(weights))


def _edge(text: str, qid: np.ndarray, where: str) -> tuple[int, int, float]:
    """Return the rows of the better and the worse document, from 0, and the weight."""
    match = EDGE.fullmatch(text)
    better, worse, weight = (int(match[1]), int(match[2]), float(match[3] or 1)) if match else (0, 0, 0.0)
    both_exist = all(1 <= document <= len(qid) for document in (better, worse))
    if better == worse or not both_exist or not 0 < weight < math.inf:
        raise DataError(f"{where}; expected two documents, 1 to {len(qid)}, and optionally a weight above 0")
    if qid[better - 1] != qid[worse - 1]:
        raise DataError(
            f"{where} joins queries {qid[better - 1]} and {qid[worse - 1]}; expected documents of one query"
        )
    return better - 1, worse - 1, weight


def _supervised(groups: QueryGroups, supervision, where: str) -> QueryGroups:
    names = {"docid": groups.docid, "feature_names": groups.feature_names, "name": groups.name,
             "categories": groups.categories}  # fmt: skip
    try:
        supervised = QueryGroups(groups.X, supervision, groups.qid, **names)
    except DataError as error:
        raise DataError(f"{where}: {error}") from None
    supervised.reading = groups.reading
    return supervised
