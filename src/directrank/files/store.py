"""A store: a folder of features that are mapped, labels that are read, and a manifest with their digests."""

import io
import os
import zlib
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from types import MappingProxyType
from typing import Any, NamedTuple

import numpy as np

from directrank.data.groups import QueryGroups
from directrank.data.queries import Queries
from directrank.data.reading_record import ReadingRecord
from directrank.errors import DataError, ModelFormatError
from directrank.features.shards import make_shards, map_in_order, processors
from directrank.files.manifest import check_files, read_manifest, size_and_digest
from directrank.storage.atomic import write_atomically
from directrank.storage.folders import MARK, claim_folder, is_marked
from directrank.storage.hashed_file import file_digest
from directrank.storage.mapped import create_matrix, open_matrix
from directrank.storage.strict_json import StrictJSONError, dump, parse, signed

#: The file that makes a folder a store. It is written last.
MANIFEST = "store.json"
FORMAT = "directrank store 2"
FEATURES, READING = "features.npy", "reading.json"
#: The files beside the features: all of them are read when the store is opened.
LABELS = ("relevance", "indptr", "row", "qid", "docid")
_AGAIN = "convert the data again"


@dataclass(frozen=True)
class Manifest:
    """What a store holds."""

    n_docs: int
    n_features: int
    feature_names: list[str] | None
    name: str  # The source of the data, for messages
    # labelled, standardised: Whether there is relevance, and whether it is the standard form of another
    # supervision
    labelled: bool
    standardised: bool
    files: Mapping[str, Any]  # Size in bytes and SHA-256 in hex of each file
    # First row, last row (exclusive) and CRC-32 of the features of each shard
    shards: Sequence[Sequence[int]]
    categories: Mapping[str, Sequence[str]] = field(default_factory=dict)

    def text(self) -> str:
        """Return the content of the manifest, which ends with its own digest."""
        facts = {"format": FORMAT, **asdict(self)}
        if not self.categories:  # Earlier releases read such stores.
            del facts["categories"]
        return signed(facts)


def manifest_of(path: Path) -> Path | None:
    """Return the manifest of a store that a path names, by its folder or by the manifest; None for others."""
    inside = path / MANIFEST
    if path.name == MANIFEST and path.is_file():
        return path
    return inside if inside.is_file() else None


def manifest_in(path: Path) -> Manifest:
    """Read the manifest of a store; raises DataError if it is none, or is damaged."""
    facts = read_manifest(path, FORMAT, _AGAIN)
    try:
        return Manifest(**{name: value for name, value in facts.items() if name != "format"})
    except TypeError:
        raise DataError(f"{path}: this manifest is damaged; {_AGAIN}") from None


def check_rows(path: Path, features: np.ndarray, shards: Sequence[Sequence[int]]) -> None:
    """Raise DataError if the features in a file do not have the CRC-32 of each of these shards."""

    def check(shard: Sequence[int]) -> None:
        first, last, digest = shard
        if zlib.crc32(features[first:last].data) != digest:
            raise DataError(f"{path}: rows {first} to {last - 1} changed since they were written; {_AGAIN}")

    map_in_order(check, shards, processors())


def stored_rows(manifest: Path, first: int, last: int, *, verify: bool = True) -> np.ndarray:
    """Return the features of some rows of a store, by its manifest, mapped to memory.

    Raises DataError if those of a shard that has some of the rows changed, unless `verify` is false.
    """
    file = manifest.parent / FEATURES
    features = open_matrix(file)
    if verify:
        shards = manifest_in(manifest).shards
        check_rows(file, features, [shard for shard in shards if shard[0] < last and first < shard[1]])
    return features[first:last]


class Stored(NamedTuple):
    """What a store holds, as `QueryGroups.from_inner` takes it."""

    features: np.ndarray
    queries: Queries
    feature_names: Sequence[str] | None
    name: str
    labelled: bool
    categories: Mapping[str, tuple[str, ...]]
    reading: ReadingRecord


def read_store(path: str | os.PathLike, *, verify: bool = True) -> Stored:
    """Open a store by its folder or its manifest.

    Unless `verify` is false, the digests of the features are compared, shard by shard, which reads all of
    them; those of all other files are compared in any case. Raises DataError if the folder is no store, or a
    file of it is missing or damaged.
    """
    stored = manifest_of(Path(path))
    if stored is None:
        raise DataError(f"{path}: no store, as {MANIFEST} is missing; make one with `directrank convert`")
    folder, manifest = stored.parent, manifest_in(stored)
    check_files(folder, manifest.files, _AGAIN)
    if (folder / MARK).is_file() and not is_marked(folder):
        raise DataError(f"{folder / MARK}: changed since it was written; convert the data into a new folder")
    queries = _queries(folder, manifest)
    try:
        features = open_matrix(folder / FEATURES)
    except ValueError as error:
        raise DataError(f"{folder / FEATURES}: {error}; convert the data again") from None
    if features.shape != (manifest.n_docs, manifest.n_features):
        raise DataError(f"{folder / FEATURES}: shape {features.shape}; convert the data again")
    if verify:
        check_rows(folder / FEATURES, features, manifest.shards)
    categories = {name: tuple(values) for name, values in manifest.categories.items()}
    reading = _reading(folder, manifest)
    return Stored(
        features, queries, manifest.feature_names, manifest.name, manifest.labelled, categories, reading
    )


def _reading(folder: Path, manifest: Manifest) -> ReadingRecord:
    """Return how the file was read of which a store was made; nothing of stores of the first release."""
    if READING not in manifest.files:
        return ReadingRecord()
    if file_digest(folder / READING) != manifest.files[READING][1]:
        raise DataError(f"{folder / READING}: changed since it was written; {_AGAIN}")
    try:
        return ReadingRecord.read(parse((folder / READING).read_bytes()))
    except (StrictJSONError, ModelFormatError) as error:
        raise DataError(f"{folder / READING}: {error}; {_AGAIN}") from None


def open_store(folder: str | os.PathLike, *, verify: bool = True) -> QueryGroups:
    """Open a store that `convert_data` or `directrank convert` has written.

    Features are read from the disk as they are used, and dropped from memory again: training, ranking and
    evaluation work on data larger than memory. Such query groups behave as those in memory do.

    Parameters
    ----------
    folder : path-like
    verify : bool, default=True
        Compare the digests of the features first, which reads all of them.

    Returns
    -------
    QueryGroups

    Raises
    ------
    DataError
        If the folder is no store, or is damaged.
    """
    return QueryGroups.from_inner(**read_store(folder, verify=verify)._asdict())


def _queries(folder: Path, manifest: Manifest) -> Queries:
    arrays: dict[str, Any] = {name: _array(folder, manifest, f"{name}.npy") for name in LABELS}
    if not _fit(manifest.n_docs, **arrays):
        raise DataError(f"{folder}: the labels of this store do not fit together; convert the data again")
    return Queries(**arrays, standardised=manifest.standardised)


def _array(folder: Path, manifest: Manifest, name: str) -> np.ndarray | None:
    if name not in manifest.files:
        return None
    if file_digest(folder / name) != manifest.files[name][1]:
        raise DataError(f"{folder / name}: changed since it was written; {_AGAIN}")
    try:
        return np.load(io.BytesIO((folder / name).read_bytes()), allow_pickle=False)
    except ValueError as error:
        raise DataError(f"{folder / name}: {error}; convert the data again") from None


def _fit(n_docs: int, *, relevance, indptr, row, qid, docid) -> bool:
    """Say whether the arrays are those of so many documents, sorted as kernels need them."""
    kinds = [getattr(array, "dtype", None) for array in (relevance, indptr, row)]
    if kinds != [np.float64, np.int64, np.int64] or qid is None or relevance.shape != (n_docs,):
        return False
    if (
        indptr.shape != (len(qid) + 1,)
        or indptr[0] != 0
        or indptr[-1] != n_docs
        or (np.diff(indptr) < 1).any()
    ):
        return False
    falls = np.diff(relevance) <= 0
    falls[indptr[1:-1] - 1] = True
    once = row.shape == (n_docs,) and np.array_equal(np.sort(row), np.arange(n_docs))
    graded = np.isfinite(relevance).all() and (relevance >= 0).all() and falls.all()
    return bool(once and graded and (docid is None or docid.shape == (n_docs,)))


class StoreWriter:
    """A store that is being written. Until `finish` has ended, the folder is none.

    Raises FileExistsError if the folder holds files of others, unless `force`.
    """

    def __init__(self, folder: str | os.PathLike, *, force: bool = False):
        self.folder = Path(folder)
        claim_folder(self.folder, force=force)
        (self.folder / MANIFEST).unlink(missing_ok=True)

    def allocate(self, name: str, n_docs: int, n_features: int) -> np.ndarray:
        """Return zeros in the file of the features, float32 (n_docs, n_features).

        Raises DataError if there is no feature, OSError if the disk is full.
        """
        if not n_docs * n_features:
            raise DataError(f"{name}: nothing to convert: {n_docs} documents of {n_features} features")
        path = self.folder / FEATURES
        path.unlink(missing_ok=True)
        return create_matrix(path, (n_docs, n_features))

    def finish(
        self,
        queries: Queries,
        n_features: int,
        feature_names: Sequence[str] | None,
        name: str,
        labelled: bool,
        categories: Mapping[str, Sequence[str]] = MappingProxyType({}),
        reading: ReadingRecord | None = None,
    ) -> None:
        """Write the labels and the manifest."""
        arrays = {name: getattr(queries, name) for name in LABELS}
        files = {FEATURES: size_and_digest(self.folder / FEATURES)}
        for label, values in arrays.items():
            path = self.folder / f"{label}.npy"
            path.unlink(missing_ok=True)
            if values is not None:
                write_atomically(path, _content(label, values, name))
                files[path.name] = size_and_digest(path)
        if reading is not None and reading.to_dict():
            write_atomically(self.folder / READING, dump(reading.to_dict()))
            files[READING] = size_and_digest(self.folder / READING)
        names = None if feature_names is None else list(feature_names)
        features = open_matrix(self.folder / FEATURES)
        shards = make_shards(queries.indptr, n_features)
        digests = map_in_order(lambda shard: zlib.crc32(features[shard.rows].data), shards, processors())
        shard_digests = [
            [shard.first_row, shard.last_row, digest] for shard, digest in zip(shards, digests, strict=True)
        ]
        manifest = Manifest(
            queries.n_docs, n_features, names, name, labelled, queries.standardised, files, shard_digests,
            dict(categories),
        )  # fmt: skip
        write_atomically(self.folder / MANIFEST, manifest.text())


def _content(label: str, values: np.ndarray, name: str) -> bytes:
    content = io.BytesIO()
    np.save(content, _names_array(label, values, name), allow_pickle=False)
    return content.getvalue()


def _names_array(label: str, values: np.ndarray, name: str) -> np.ndarray:
    """Return names as an array of text, of bytes or of numbers."""
    if values.dtype.kind != "O":
        return values
    kinds = {type(value) for value in values.tolist()}
    if kinds <= {str} or kinds <= {bytes} or kinds <= {int}:
        array = np.array(values.tolist())
        if array.tolist() == values.tolist():
            return array
    raise DataError(f"{name}: a {label} is no plain text and no whole number; rename the values first")
