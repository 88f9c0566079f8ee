"""Where the features of a shard come from when a worker loads it: a store, a data frame, or this process."""

import os
from collections.abc import Callable, Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from dask.delayed import delayed

from directrank.data.frames import from_frame
from directrank.data.queries import Queries
from directrank.data.store import FEATURES, check_rows, manifest_of, read_manifest
from directrank.errors import DataError
from directrank.features.shards import Block, Shard, make_shards
from directrank.features.workers import Held
from directrank.integrations.dask.clusters import Heartbeats
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


class FrameRows:
    """The rows of a Dask data frame, which may be in any order and any partition.

    The labels of all rows are collected here, where they decide what a query is and how its documents are
    sorted, so that a query may span partitions.
    """

    def __init__(
        self,
        heartbeats: Heartbeats,
        frame: Any,
        relevance: str | None,
        qid: str,
        features: Sequence[str] | None,
    ):
        self._heartbeats, self.parts = heartbeats, frame.to_delayed()
        named = [column for column in (relevance, qid) if column is not None]
        columns = [str(each) for each in frame.columns]
        self.columns = [each for each in columns if each not in named] if features is None else list(features)
        for column in (*named, *self.columns):
            if column not in columns:
                raise DataError(f"no column {column!r}; the frame has {', '.join(columns)}")
        if not self.columns:
            raise DataError("the frame has no column left for features")
        found = heartbeats.computed([delayed(_columns)(each, named) for each in self.parts])
        self.starts = np.cumsum([0, *(len(each) for each in found)])
        labels = pd.concat(found, ignore_index=True)
        if not len(labels):
            raise DataError("the data frame has no row")
        one = from_frame(
            labels.assign(**{_ROW: 0.0}), label=relevance, labelled=relevance is not None, qid=qid,
            features=[_ROW],
        )  # fmt: skip
        self.queries, self.labelled = one.queries, one.labelled
        self.shards = make_shards(self.queries.indptr, len(self.columns))

    def rows_of(self, shard: Shard) -> np.ndarray:
        """Return the features of a shard, float32 (n, n_features)."""
        rows = self.queries.row[shard.rows]
        which = np.searchsorted(self.starts, rows, side="right") - 1
        used = np.unique(which)
        pieces = [
            delayed(_features)(self.parts[k], self.columns, rows[which == k] - self.starts[k]) for k in used
        ]
        out = np.empty((len(rows), len(self.columns)), np.float32)
        for k, piece in zip(used, self._heartbeats.computed(pieces), strict=True):
            out[which == k] = piece
        return out


_ROW = "directrank row"


def _columns(part: Any, named: list[str]) -> Any:
    return part[named]


def _features(part: Any, columns: list[str], rows: np.ndarray) -> np.ndarray:
    some = part[columns].iloc[rows]
    return from_frame(
        some.assign(**{_ROW: np.arange(len(some))}),
        labelled=False,
        qid=_ROW,
        features=columns,
        categorical=(),
    ).X
