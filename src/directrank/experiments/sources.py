"""What a comparison runs on: folds whose bytes are known before anything is read."""

import hashlib
import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

from directrank.data import QueryGroups, find_folds
from directrank.data.folds import PARTS, Fold
from directrank.errors import DataError

Triple = tuple[QueryGroups, QueryGroups, QueryGroups]


@dataclass(frozen=True)
class FoldSource:
    """One fold: its name, the digest of each part, and how to read it.

    Attributes
    ----------
    name : str
    digests : dict of str to str
        SHA-256 in hex of the bytes of each part, by ``train``, ``vali``, ``test``.
    files : dict of str to list of str
        Where each part came from; empty for data in memory.
    load : callable
        Returns train, vali and test; refuses parts that share queries.
    """

    name: str
    digests: Mapping[str, str]
    files: Mapping[str, Sequence[str]]
    load: Callable[[], Triple]


def folds_of(source: Any, *, missing: str | float = "error") -> tuple[str, list[FoldSource]]:
    """Return the name of a data set and its folds.

    Parameters
    ----------
    source : path, or sequence of three paths, or of three QueryGroups
        A folder as `directrank.find_folds` takes it, or the parts train, vali and test.
    missing : {"error", "query_min"} or float, default="error"
        See `directrank.read_letor`.

    Raises
    ------
    DataError
        If there are no folds, or a file is missing.
    ValueError
        If the source is none of these.
    """
    if isinstance(source, (str, os.PathLike)):
        return source_name(source), [_of_files(fold, missing) for fold in find_folds(source)]
    parts = list(source)
    if len(parts) != len(PARTS):
        raise ValueError(f"expected a folder, or three parts (train, vali, test), got {len(parts)}")
    if all(isinstance(part, QueryGroups) for part in parts):
        return source_name(parts), [_of_groups((parts[0], parts[1], parts[2]))]
    train, vali, test = (Path(part) for part in parts)
    name = source_name(parts)
    return name, [_of_files(Fold(name, (train,), (vali,), (test,)), missing)]


def source_name(source: Any) -> str:
    """Return the name of a data set: that of its folder, or what the train part is called."""
    if isinstance(source, (str, os.PathLike)):
        return Path(source).resolve().name or "data"
    first = source[0]
    if isinstance(first, QueryGroups):
        return first.name or "data"
    return Path(first).resolve().parent.name or "data"


def _of_files(fold: Fold, missing) -> FoldSource:
    files = {part: tuple(getattr(fold, part)) for part in PARTS}
    digests = {part: _joined([_file_digest(path) for path in paths]) for part, paths in files.items()}
    names = {part: [str(path) for path in paths] for part, paths in files.items()}
    return FoldSource(fold.name, digests, names, lambda: fold.load(missing=missing))


@cache
def _digest_at(path: Path, size: int, changed: int) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _file_digest(path: Path) -> str:
    # In official folds a file serves in several parts; it is read once.
    state = path.stat()
    return _digest_at(path, state.st_size, state.st_mtime_ns)


def _joined(digests: Sequence[str]) -> str:
    return digests[0] if len(digests) == 1 else hashlib.sha256(" ".join(digests).encode()).hexdigest()


def _of_groups(parts: Triple) -> FoldSource:
    digests: dict[str, str] = dict(zip(PARTS, map(_groups_digest, parts), strict=True))

    def load() -> Triple:
        _refuse_shared(parts)
        return parts

    return FoldSource("fold", digests, {}, load)


def _groups_digest(groups: QueryGroups) -> str:
    digest = hashlib.sha256()
    queries = groups.queries
    for array in (groups.features, queries.relevance, queries.indptr, queries.row):
        digest.update(f"{array.dtype.str}{array.shape}".encode())
        digest.update(np.ascontiguousarray(array).data)
    digest.update("\0".join(map(str, queries.qid.tolist())).encode())
    return digest.hexdigest()


def _refuse_shared(parts: Triple) -> None:
    names = [set(map(str, part.queries.qid.tolist())) for part in parts]
    for first, second in ((0, 1), (0, 2), (1, 2)):
        shared = names[first] & names[second]
        if shared:
            raise DataError(
                f"qid {min(shared)} is in {PARTS[first]} and in {PARTS[second]} ({len(shared)} shared in "
                "all): a test on queries seen in training says nothing. Split by query."
            )
