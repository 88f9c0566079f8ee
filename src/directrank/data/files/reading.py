"""Read files into query groups: one data set, or several that share their features."""

from collections.abc import Mapping, Sequence
from itertools import combinations
from pathlib import Path
from typing import Any

from directrank.data.files.formats import scan_files
from directrank.data.files.options import ReadOptions
from directrank.data.groups import QueryGroups
from directrank.errors import DataError


def read_file(path: Path, how: ReadOptions) -> QueryGroups:
    """Read the documents of one file.

    Raises
    ------
    DataError
        If the file cannot be used: names file, column, row and remedy.
    """
    return read_parts({"data": [path]}, how)["data"]


def read_parts(
    parts: Mapping[str, Sequence[Path]], how: ReadOptions, *, distinct: str | None = None
) -> dict[str, QueryGroups]:
    """Read data sets whose features are the same.

    Numbered features are as many as the widest set has; named features are those of the first set.

    Parameters
    ----------
    parts : mapping of str to sequence of Path
        The files of each set, by its name.
    how : ReadOptions
    distinct : str, optional
        The name of the whole, for the message that refuses a query that is in two sets. None accepts it.

    Raises
    ------
    DataError
        If a file cannot be used, if a set has no column that the first one has, or by `distinct`.
    """
    scans = {part: scan_files(paths, how) for part, paths in parts.items()}
    if distinct is not None:
        _refuse_shared(distinct, scans)
    features = _common_features(list(scans.values()))
    return {part: scan.fill(features) for part, scan in scans.items()}


def _common_features(scans: Sequence[Any]) -> Any:
    numbered = [scan for scan in scans if isinstance(scan.features, int)]
    named = [scan for scan in scans if not isinstance(scan.features, int)]
    if numbered and named:
        raise DataError(
            f"{numbered[0].name} is LETOR text, whose features have no names, and {named[0].name} is a "
            "table; save all sets in one format"
        )
    return max(scan.features for scan in numbered) if numbered else named[0].features


def _refuse_shared(name: str, scans: Mapping[str, Any]) -> None:
    qids = {part: set(map(str, scan.qid.tolist())) for part, scan in scans.items()}
    for one, other in combinations(qids, 2):
        if shared := qids[one] & qids[other]:
            raise DataError(
                f"{name}: qid {min(shared)} is in {one} and in {other} "
                f"({len(shared)} shared in all); expected parts without common queries: "
                "split by query (in Python, allow_shared_queries=True loads them all the same)"
            )
