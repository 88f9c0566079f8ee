"""Where the features of a shard come from when a worker loads it: a store, or this process."""

import os
from collections.abc import Callable, Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np

from directrank.data.queries import Queries
from directrank.data.store import FEATURES, check_rows, manifest_of, read_manifest
from directrank.errors import DataError
from directrank.features.shards import Block, Shard
from directrank.features.workers import Held
from directrank.kernels.aligned import aligned_zeros
from directrank.storage.mapped import open_matrix

#: What the features as they were given are held under.
RAW = "raw"
#: From the number of a shard to the function that loads it on a worker, and its arguments.
Load = Callable[[int], tuple]


def from_store(path: str | os.PathLike, queries: Queries, shards: Sequence[Shard], *, verify: bool) -> Load:
    """Load shards from a store in a folder that all workers can read, and compare their digests if asked."""
    manifest = manifest_of(Path(path).absolute())
    assert manifest is not None  # The store is open in this process.
    files = dict(read_manifest(manifest).files)

    def load(number: int) -> tuple:
        shard = shards[number]
        return _open, *_labels(queries, shard), str(manifest), files, shard.first_row, shard.last_row, verify

    return load


def from_rows(rows_of: Callable[[Shard], np.ndarray], queries: Queries, shards: Sequence[Shard]) -> Load:
    """Load shards whose features this process has, or can get, from a function."""
    return lambda number: (_receive, *_labels(queries, shards[number]), rows_of(shards[number]))


def _labels(queries: Queries, shard: Shard) -> tuple[Queries, tuple[Block, ...]]:
    """Return the label side of a shard without the names of documents, and its blocks."""
    part = queries.part(shard.first_query, shard.last_query)
    plain = Queries(part.relevance, part.indptr, part.row, part.qid, standardised=part.standardised)
    return plain, shard.own_blocks


def _receive(held: Held, queries: Queries, blocks: tuple[Block, ...], rows: np.ndarray) -> None:
    own = aligned_zeros(rows.shape, np.float32)
    own[:] = rows
    held.update({"queries": queries, "blocks": blocks, RAW: own})


def _open(
    held: Held,
    queries: Queries,
    blocks: tuple[Block, ...],
    manifest: str,
    files: dict[str, Any],
    first: int,
    last: int,
    verify: bool,
) -> None:
    path = Path(manifest)
    folder = path.parent
    if not path.is_file():
        raise DataError(f"{folder}: a worker finds no store there; convert it to a folder of all workers")
    found = read_manifest(path)
    if dict(found.files) != files:
        raise DataError(f"{folder}: a worker finds another store there than this process does")
    features = _mapped(folder / FEATURES, os.stat(folder / FEATURES).st_mtime_ns)
    if verify:
        here = [shard for shard in found.shards if shard[0] < last and first < shard[1]]
        check_rows(folder / FEATURES, features, here)
    held.update({"queries": queries, "blocks": blocks, RAW: features[first:last]})


@lru_cache(maxsize=8)
def _mapped(path: Path, written: int) -> np.ndarray:
    return open_matrix(path)
