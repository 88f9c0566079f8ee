"""The manifest of a store: what its files hold, and the digest of each."""

import hashlib
import os
import zlib
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np

from directrank.errors import DataError
from directrank.features.shards import Shard, map_in_order, processors
from directrank.storage.strict_json import StrictJSONError, dump, parse

#: The file that makes a folder a store. It is written last.
MANIFEST = "store.json"
FORMAT = "directrank store 2"
FEATURES = "features.npy"
#: The files beside the features: all of them are read when the store is opened.
LABELS = ("relevance", "indptr", "row", "qid", "docid")
_LARGEST = 2**26
_AGAIN = "convert the data again"


@dataclass(frozen=True)
class Manifest:
    """What a store holds.

    Attributes
    ----------
    n_docs, n_features : int
    feature_names : list of str or None
    name : str
        The source of the data, for messages.
    labelled, standardised : bool
        Whether there is relevance, and whether it is the standard form of another supervision.
    files : dict of str to list
        Size in bytes and SHA-256 in hex of each file.
    shards : list of list of int
        First row, last row (exclusive) and CRC-32 of the features of each shard.
    """

    n_docs: int
    n_features: int
    feature_names: list[str] | None
    name: str
    labelled: bool
    standardised: bool
    files: Mapping[str, Any]
    shards: Sequence[Sequence[int]]

    def text(self) -> str:
        """Return the content of the manifest, which ends with its own digest."""
        facts = {"format": FORMAT, **asdict(self)}
        return dump({**facts, "sha256": hashlib.sha256(dump(facts).encode()).hexdigest()}) + "\n"


def manifest_of(path: Path) -> Path | None:
    """Return the manifest of a store that a path names, by its folder or by the manifest; None for others."""
    inside = path / MANIFEST
    if path.name == MANIFEST and path.is_file():
        return path
    return inside if inside.is_file() else None


def read_manifest(path: Path) -> Manifest:
    """Read a manifest and compare its digest.

    Raises
    ------
    DataError
        If it is not one, or is damaged.
    """
    with path.open("rb") as file:
        content = file.read(_LARGEST + 1)
    try:
        facts: Any = parse(content) if len(content) <= _LARGEST else None
        signed = facts.pop("sha256")
        if facts["format"] != FORMAT:
            raise DataError(f"{path}: written as {facts['format']!r}, expected {FORMAT!r}; {_AGAIN}")
        if hashlib.sha256(dump(facts).encode()).hexdigest() != signed:
            raise KeyError("sha256")
        return Manifest(**{name: value for name, value in facts.items() if name != "format"})
    except (StrictJSONError, KeyError, AttributeError, TypeError):
        raise DataError(f"{path}: this manifest of a store is damaged; {_AGAIN}") from None


def check_sizes(folder: Path, manifest: Manifest) -> None:
    """Raise DataError if a file of a store is missing or has another size."""
    for name, (size, _) in manifest.files.items():
        try:
            found = os.stat(folder / name).st_size
        except OSError:
            raise DataError(f"{folder / name}: the file is missing from its store; {_AGAIN}") from None
        if found != size:
            raise DataError(f"{folder / name}: {found} bytes, expected {size}; {_AGAIN}")


def described_shards(features: np.ndarray, shards: Sequence[Shard]) -> list[list[int]]:
    """Return first row, last row and CRC-32 of each shard of features that are in a file."""
    digests = map_in_order(lambda shard: zlib.crc32(features[shard.rows].data), shards, processors())
    return [[each.first_row, each.last_row, digest] for each, digest in zip(shards, digests, strict=True)]


def check_rows(path: Path, features: np.ndarray, shards: Sequence[Sequence[int]]) -> None:
    """Raise DataError if the features in a file do not have the CRC-32 of each of these shards."""

    def check(shard: Sequence[int]) -> None:
        first, last, digest = shard
        if zlib.crc32(features[first:last].data) != digest:
            raise DataError(f"{path}: rows {first} to {last - 1} changed since they were written; {_AGAIN}")

    map_in_order(check, shards, processors())


def check_digest(folder: Path, manifest: Manifest, name: str) -> None:
    """Raise DataError if a file of a store does not have its digest."""
    with (folder / name).open("rb") as file:
        if hashlib.file_digest(file, "sha256").hexdigest() != manifest.files[name][1]:
            raise DataError(f"{folder / name}: changed since it was written; {_AGAIN}")
