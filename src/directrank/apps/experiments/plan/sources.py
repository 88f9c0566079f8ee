"""The data of a comparison: folds with digests of their files, read when they are needed."""

import hashlib
import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache, partial
from itertools import combinations
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from directrank.apps.experiments.options import Options, check_kfold
from directrank.apps.experiments.splitting import UNDIVIDED, Splitting
from directrank.data import QueryGroups, columns_in_order, encoded, encoding_of
from directrank.errors import DataError, of_option
from directrank.files import (
    PARTS,
    Columns,
    Fold,
    ReadOptions,
    columns_of,
    find_folds,
    input_digest,
    manifest_of,
    read_parts,
    size_files,
)
from directrank.storage.names import printable
from directrank.storage.strict_json import JSONObject


class Splits(NamedTuple):
    """The training, validation and test set of a fold."""

    train: QueryGroups
    vali: QueryGroups
    test: QueryGroups


@dataclass(frozen=True)
class FoldSource:
    """One fold: its name, SHA-256 and files of each split, how to read it, and columns of its tables.

    The function refuses splits that share queries. Data in memory have no files. Those that are not `judged`
    need no relevance: their rows know what measures them.
    """

    name: str
    digests: Mapping[str, str]
    files: Mapping[str, Sequence[str]]
    load: Callable[[], Splits]
    columns: Sequence[Columns] = ()
    judged: bool = True

    def reading(self, missing: str | float, *, docid: bool) -> JSONObject:
        """Return what decides how the files are read, without the names of documents unless `docid`."""
        columns_read = [
            columns if docid else columns._replace(docid=None, left_out=()) for columns in self.columns
        ]
        return {"missing": missing, "columns": [columns._asdict() for columns in columns_read]}


def folds_of(
    source: Any, how: ReadOptions | None = None, *, splitting: Splitting = UNDIVIDED
) -> tuple[str, list[FoldSource]]:
    """Return the name of a data set and its folds, of a folder or of training, validation and test set.

    A `splitting` divides all queries: at values of a column, which makes one fold; or into k random pieces,
    of which piece i is the test set of fold i, the next one the validation set, and the others are the
    training set. The source may then be one file or one QueryGroups, too.
    """
    how = how or ReadOptions()
    if splitting.divides:
        return _divided(source, how, splitting)
    # In official folds one file belongs to several splits; it is read once.
    digest_of = cache(input_digest)
    if isinstance(source, (str, os.PathLike)):
        return source_name(source), [_of_files(fold, how, digest_of) for fold in find_folds(source)]
    parts = list(source)
    if len(parts) != len(PARTS):
        raise ValueError(f"expected a folder, or three sets (train, vali, test), got {len(parts)}")
    if all(isinstance(part, QueryGroups) for part in parts):
        names = parts[0].feature_names
        splits = Splits(*(columns_in_order(part, names) for part in parts))
        digests = {name: _groups_digest(split) for name, split in splits._asdict().items()}
        load = partial(_without_shared_queries, splits)
        return source_name(parts), [FoldSource("fold", digests, {}, load)]
    train, vali, test = (Path(part) for part in parts)
    name = source_name(parts)
    return name, [_of_files(Fold(name, (train,), (vali,), (test,)), how, digest_of)]


def reading_lines(fold: FoldSource, options: Options) -> list[str]:
    """Return sentences on how the files of a fold are read: the columns of tables, and random folds."""
    # A name that cannot be printed is stored as another.
    files = [Path(name) for name in fold.files.get("train", ()) if Path(name).is_file()]
    columns = columns_of(files[0], options.read_options()) if files else None
    return [line for line in (columns and columns.line(), options.splitting.line()) if line]


def source_name(source: Any) -> str:
    """Return the name of a data set: that of its folder, or of its training set."""
    if isinstance(source, (str, os.PathLike)):
        return printable(Path(source).resolve().name) or "data"
    first = source[0]
    if isinstance(first, QueryGroups):
        return printable(first.name) or "data"
    return printable(Path(first).resolve().parent.name) or "data"


def _of_files(fold: Fold, how: ReadOptions, digest_of: Callable[[Path], str]) -> FoldSource:
    files = {split: getattr(fold, split) for split in PARTS}
    digests = {
        split: _digest_of([digest_of(file) for path in paths for file in (path, *size_files(path))])
        for split, paths in files.items()
    }
    names = {split: _printable(paths) for split, paths in files.items()}
    unchanged = {path: digest_of(path) for path in _files_of(fold)}

    def load() -> Splits:
        return Splits(*read_parts(files, replace(how, digests=unchanged), distinct=fold.name).values())

    columns = _columns([path for paths in files.values() for path in paths], how)
    return FoldSource(printable(fold.name), digests, names, load, columns)


def _columns(files: Sequence[Path], how: ReadOptions) -> list[Columns]:
    """Return the columns of the tables among files."""
    tables = (columns_of(path, how) for path in files)
    return [columns for columns in tables if columns is not None]


def _printable(paths: Iterable[Path]) -> list[str]:
    return [printable(str(path)) for path in paths]


def _text_digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()


def _digest_of(digests: Sequence[str]) -> str:
    return digests[0] if len(digests) == 1 else _text_digest(" ".join(digests))


def _groups_digest(groups: QueryGroups) -> str:
    digest = hashlib.sha256()
    queries = groups.queries
    for array in (groups.features, queries.relevance, queries.indptr, queries.row):
        digest.update(f"{array.dtype.str}{array.shape}".encode())
        digest.update(np.ascontiguousarray(array).data)
    digest.update("\0".join(map(str, queries.qid.tolist())).encode("utf-8", "surrogatepass"))
    digest.update(repr(groups.categories).encode() if groups.categories else b"")
    return digest.hexdigest()


def concatenated(parts: Sequence[QueryGroups]) -> QueryGroups:
    """Return all queries of several groups as one collection, in their row order.

    Features are found by their names, as the first part has them.
    """
    names = parts[0].feature_names
    return QueryGroups.concatenate(
        parts if names is None else [columns_in_order(part, names) for part in parts]
    )


def _divided(source: object, how: ReadOptions, splitting: Splitting) -> tuple[str, list[FoldSource]]:
    with of_option("kfold"):
        check_kfold(splitting.k)
    name, pool, digest = _pool_of(source, how)
    folds, columns = [], _columns(list(pool.files), how)
    for turn, fold in enumerate(splitting.names):
        facts = f"{digest} {splitting.settings_text} {turn}"
        digests = {split: _text_digest(f"{facts} {split}") for split in PARTS}
        files = {split: _printable(pool.files) for split in PARTS if pool.files}
        folds.append(FoldSource(fold, digests, files, partial(pool.fold, splitting, turn), columns))
    return name, folds


def _pool_of(source: Any, how: ReadOptions) -> tuple[str, "_Pool", str]:
    """Return name, reader and digest of all queries of a source."""
    if isinstance(source, QueryGroups):
        return source_name([source]), _Pool({}, how, source), _groups_digest(source)
    if isinstance(source, (str, os.PathLike)):
        one = Path(source) if Path(source).is_file() else manifest_of(Path(source))
        name = source_name(source) if one is None else printable(Path(source).name)
        files = _files_of(find_folds(source)[0]) if one is None else {one}
    else:
        name, (fold,) = folds_of(source, how)
        if not fold.files:
            return name, _Pool({}, how, concatenated(fold.load())), _digest_of(list(fold.digests.values()))
        files = set(map(Path, source))
    digests = {path: input_digest(path) for path in sorted(files)}
    sizes = [input_digest(sizes) for path in sorted(files) for sizes in size_files(path)]
    return name, _Pool(digests, how), _digest_of([*digests.values(), *sizes])


def _files_of(fold: Fold) -> set[Path]:
    return {path for part in PARTS for path in getattr(fold, part)}


@dataclass
class _Pool:
    """All queries of a source; files are read once, on the first call."""

    files: Mapping[Path, str]
    how: ReadOptions
    groups: QueryGroups | None = None
    parts: list[list[np.ndarray]] | None = None  # The queries, or documents, of the splits of each fold

    def fold(self, splitting: Splitting, turn: int) -> Splits:
        """Return one fold of a division of all queries."""
        if self.groups is None:
            how = replace(self.how, digests=self.files)
            self.groups = read_parts({"all": list(self.files)}, how)["all"]
        if self.parts is None:
            self.parts = splitting.parts(self.groups, list(self.files))
        return Splits(*map(splitting.select(self.groups), self.parts[turn]))


def _without_shared_queries(splits: Splits) -> Splits:
    """Return splits, or raise DataError if two of them share a query."""
    qids = {name: set(map(str, split.queries.qid.tolist())) for name, split in splits._asdict().items()}
    for first, second in combinations(qids, 2):
        shared = qids[first] & qids[second]
        if shared:
            raise DataError(
                f"qid {min(shared)} is in {first} and in {second} ({len(shared)} shared in all): a test on "
                "queries seen in training is invalid. Split by query."
            )
    return splits


class FoldReader:
    """Reads folds when they are needed and keeps only the last one in memory."""

    def __init__(self):
        self._last: dict[str, Splits] = {}

    def __call__(self, fold: FoldSource) -> Splits:
        """Return the splits of a fold."""
        if fold.name not in self._last:
            self._last.clear()  # free the old fold before reading the new one
            splits = fold.load()
            for name, split in splits._asdict().items():
                if fold.judged and not split.labelled:
                    problem = "has no relevance; a comparison needs it in all three files"
                    raise DataError(f"{split.name or name}: {problem}")
            # Every method gets the same features, which know the training set alone.
            if any(split.categories for split in splits):
                encoding = encoding_of(splits.train)
                splits = Splits(*(encoded(split, encoding) for split in splits))
            self._last[fold.name] = splits
        return self._last[fold.name]
