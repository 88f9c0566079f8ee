"""Supervision that is not a grade a document, from files: preferences and observed rankings."""

import math
from pathlib import Path
from typing import TYPE_CHECKING

from directrank.cli.failures import UsageError

if TYPE_CHECKING:
    import numpy as np

    from directrank.data import PreferenceGraph, QueryGroups


def supervised(
    parts: dict[str, "QueryGroups"], preferences: Path | None, rankings: bool
) -> dict[str, "QueryGroups"]:
    """Return the parts with what stands in place of grades: preferences in training, or rankings in all.

    Raises
    ------
    UsageError
        If both are asked for.
    DataError
        Naming the file and what was expected.
    """
    from directrank.data import ObservedRankings

    if preferences is not None and rankings:
        raise UsageError("--preferences and --rankings: give one of them")
    if preferences is not None:
        train = parts["train"]
        return parts | {"train": _with(train, read_preferences(preferences, train.qid), preferences)}
    if rankings:
        return {
            name: _with(part, ObservedRankings(part.relevance), part.name or name)
            for name, part in parts.items()
        }
    return parts


def read_preferences(path: Path, qid: "np.ndarray") -> "PreferenceGraph":
    """Read preferences, one a line: the better document, the worse one, and perhaps a weight.

    Documents are numbers in the order of the file of documents, from 1; `qid` is the query of each. Empty
    lines and what follows a # say nothing.

    Raises
    ------
    DataError
        Naming the file, the line and what was expected.
    """
    from directrank.data import PreferenceGraph
    from directrank.errors import DataError

    edges = []
    for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), start=1):
        words = line.split("#")[0].split()
        if not words:
            continue
        edge = _edge(words, len(qid))
        if edge is None:
            raise DataError(
                f"{path}, line {number}: {line.strip()!r}; expected two documents, 1 to {len(qid)}, and "
                "perhaps a weight above 0"
            )
        if qid[edge[0]] != qid[edge[1]]:
            raise DataError(
                f"{path}, line {number}: {line.strip()!r} joins queries {qid[edge[0]]} and {qid[edge[1]]}; "
                "expected documents of one query"
            )
        edges.append(edge)
    if not edges:
        raise DataError(f"{path}: no preferences; expected lines such as `1 3` or `1 3 0.5`")
    return PreferenceGraph(*zip(*edges, strict=True))


def _edge(words: list[str], n_docs: int) -> tuple[int, int, float] | None:
    """Return rows from 0 and a weight, or None for what is no preference."""
    if len(words) not in (2, 3) or not all(word.isascii() and word.isdigit() for word in words[:2]):
        return None
    better, worse = int(words[0]) - 1, int(words[1]) - 1
    try:
        weight = float(words[2]) if len(words) == 3 else 1.0
    except ValueError:
        return None
    inside = 0 <= better < n_docs and 0 <= worse < n_docs and better != worse
    return (better, worse, weight) if inside and 0 < weight < math.inf else None


def _with(part: "QueryGroups", supervision, place: Path | str) -> "QueryGroups":
    from directrank.data import QueryGroups
    from directrank.errors import DataError

    try:
        return QueryGroups(
            part.X, supervision, part.qid, docid=part.docid, feature_names=part.feature_names, name=part.name
        )
    except DataError as error:
        raise DataError(f"{place}: {error}") from None
