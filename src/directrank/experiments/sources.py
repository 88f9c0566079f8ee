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
from directrank.data.letor.reader import fill_letor, scan_letor
from directrank.data.queries import Queries
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


def folds_of(
    source: Any, *, missing: str | float = "error", k: int | None = None, seed: int = 0
) -> tuple[str, list[FoldSource]]:
    """Return the name of a data set and its folds.

    Parameters
    ----------
    source : path, or sequence of three paths, or of three QueryGroups
        A folder as `directrank.find_folds` takes it, or the parts train, vali and test.
    missing : {"error", "query_min"} or float, default="error"
        See `directrank.read_letor`.
    k : int, optional
        Take all queries together, whatever parts they came in, and make k folds of them at random: of fold
        i, part i is the test part, the next is the validation part, and the others train. The source may
        then be one file or one QueryGroups, too.
    seed : int, default=0
        Of that division.

    Raises
    ------
    DataError
        If there are no folds, a file is missing, or there are fewer than k queries.
    ValueError
        If the source is none of these, or k < 3.
    """
    if k is not None:
        return _divided(source, missing, k, seed)
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


def _text_digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()


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


def joined(parts: Sequence[QueryGroups]) -> QueryGroups:
    """Return all queries of some parts as one collection, in their row order."""
    sides = [part.queries for part in parts]
    firsts = np.cumsum([0, *(side.n_docs for side in sides)])
    starts = [side.indptr[:-1] + first for side, first in zip(sides, firsts, strict=False)]
    queries = Queries(
        np.concatenate([side.relevance for side in sides]),
        np.concatenate([*starts, firsts[-1:]]),
        np.concatenate([side.row + first for side, first in zip(sides, firsts, strict=False)]),
        np.concatenate([side.qid for side in sides]),
    )
    features = np.concatenate([part.features for part in parts])
    return QueryGroups.from_inner(features, queries, feature_names=parts[0].feature_names)


def _divided(source: Any, missing: str | float, k: int, seed: int) -> tuple[str, list[FoldSource]]:
    if k < 3:
        raise ValueError(f"k-fold needs three folds or more (to train, validate and test), got {k}")
    name, pool, digest, files = _pool_of(source, missing)
    folds = []
    for turn in range(k):
        marks = {part: _text_digest(f"{digest} {k} {seed} {turn} {part}") for part in PARTS}
        folds.append(
            FoldSource(f"Fold{turn + 1}", marks, dict.fromkeys(PARTS, files), _Turn(pool, k, seed, turn))
        )
    return name, folds


def _pool_of(source: Any, missing: str | float):
    """Return name, reader, digest and files of all queries of a source."""
    if isinstance(source, QueryGroups):
        return source.name or "data", _Pool(groups=source), _groups_digest(source), []
    if isinstance(source, (str, os.PathLike)) and Path(source).is_file():
        files, name = [Path(source)], Path(source).name
    else:
        name, folds = folds_of(source, missing=missing)
        if not folds[0].files:
            parts = folds[0].load()
            return name, _Pool(groups=joined(parts)), _joined(list(folds[0].digests.values())), []
        files = sorted({Path(path) for part in PARTS for path in folds[0].files[part]})
    digest = _joined([_file_digest(path) for path in files])
    return name, _Pool(files=files, missing=missing), digest, [str(path) for path in files]


class _Pool:
    """All queries of a source, read once when they are needed."""

    def __init__(
        self, *, groups: QueryGroups | None = None, files: Sequence[Path] = (), missing: str | float = "error"
    ):
        self.groups, self.files, self.missing = groups, list(files), missing

    def __call__(self) -> QueryGroups:
        if self.groups is None:
            scan = scan_letor(self.files, missing=self.missing)
            self.groups = fill_letor(scan, scan.largest_id, missing=self.missing)
        return self.groups


@dataclass(frozen=True)
class _Turn:
    """Reads one fold of a division."""

    pool: _Pool
    k: int
    seed: int
    turn: int

    def __call__(self) -> Triple:
        groups = self.pool()
        if groups.n_queries < self.k:
            raise DataError(f"{groups.n_queries} queries cannot be divided into {self.k} folds")
        order = np.random.default_rng(self.seed).permutation(groups.n_queries)
        pieces = np.array_split(order, self.k)
        turned = [pieces[(self.turn + place) % self.k] for place in range(self.k)]
        test, vali, train = turned[0], turned[1], np.concatenate(turned[2:])
        return groups.select(np.sort(train)), groups.select(np.sort(vali)), groups.select(np.sort(test))


def _refuse_shared(parts: Triple) -> None:
    names = [set(map(str, part.queries.qid.tolist())) for part in parts]
    for first, second in ((0, 1), (0, 2), (1, 2)):
        shared = names[first] & names[second]
        if shared:
            raise DataError(
                f"qid {min(shared)} is in {PARTS[first]} and in {PARTS[second]} ({len(shared)} shared in "
                "all): a test on queries seen in training says nothing. Split by query."
            )
