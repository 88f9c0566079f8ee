"""Open a store: its labels are read, its features mapped."""

import io
import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from directrank.data.queries import Queries
from directrank.data.store.manifest import (
    FEATURES,
    LABELS,
    MANIFEST,
    Manifest,
    check_digest,
    check_rows,
    check_sizes,
    manifest_of,
    read_manifest,
)
from directrank.errors import DataError
from directrank.storage.folders import MARK, is_marked
from directrank.storage.mapped import open_matrix


class Stored(NamedTuple):
    """What a store holds, as `QueryGroups.from_inner` takes it."""

    features: np.ndarray
    queries: Queries
    feature_names: Sequence[str] | None
    name: str
    labelled: bool


def read_store(path: str | os.PathLike, *, verify: bool = True) -> Stored:
    """Open a store.

    Parameters
    ----------
    path : path-like
        Its folder, or its manifest.
    verify : bool, default=True
        Compare the digests of the features, shard by shard, which reads all of them. The digests of all
        other files are compared in any case.

    Raises
    ------
    DataError
        If the folder is no store, or a file of it is missing or damaged.
    """
    found = manifest_of(Path(path))
    if found is None:
        raise DataError(f"{path}: no store, as {MANIFEST} is missing; make one with `directrank convert`")
    folder, manifest = found.parent, read_manifest(found)
    check_sizes(folder, manifest)
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
    return Stored(features, queries, manifest.feature_names, manifest.name, manifest.labelled)


def _queries(folder: Path, manifest: Manifest) -> Queries:
    arrays: dict[str, Any] = {name: _array(folder, manifest, f"{name}.npy") for name in LABELS}
    if not _fit(manifest.n_docs, **arrays):
        raise DataError(f"{folder}: the labels of this store do not fit together; convert the data again")
    return Queries(**arrays, standardised=manifest.standardised)


def _array(folder: Path, manifest: Manifest, name: str) -> np.ndarray | None:
    if name not in manifest.files:
        return None
    check_digest(folder, manifest, name)
    try:
        return np.load(io.BytesIO((folder / name).read_bytes()), allow_pickle=False)
    except ValueError as error:
        raise DataError(f"{folder / name}: {error}; convert the data again") from None


def _fit(n_docs: int, *, relevance, indptr, row, qid, docid) -> bool:
    """Say whether the arrays are those of so many documents, sorted as kernels need them."""
    kinds = [getattr(each, "dtype", None) for each in (relevance, indptr, row)]
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
