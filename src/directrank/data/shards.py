"""The shard: a run of whole queries, the atom of work and of every sum over the data.

Shards depend on the data alone, never on the number of threads, processes or workers. Whoever computes
them, their results are added in index order, so that the total has the same bits.
"""

import os
import sys
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import TypeVar

import numpy as np

Item = TypeVar("Item")
Result = TypeVar("Result")

SHARD_BYTES = 2**20
MAX_SHARDS = 64
# Documents and what a kernel writes of them stay in the processor's cache between the passes over a block.
BLOCK_BYTES = 2**20
#: Where Linux says what share of the processors a container may use: "quota period", or "max period".
QUOTA = Path("/sys/fs/cgroup/cpu.max")


@dataclass(frozen=True)
class Block:
    """Whole queries `first_query` to `last_query`, which own rows `first_row` to `last_row`."""

    first_query: int
    last_query: int
    first_row: int
    last_row: int

    @property
    def rows(self) -> slice:
        """The rows of the block."""
        return slice(self.first_row, self.last_row)


@dataclass(frozen=True)
class Shard(Block):
    """A run of whole queries, streamed in `blocks` of a few MiB."""

    blocks: tuple[Block, ...]


def shard_count(n_docs: int, n_features: int) -> int:
    """Return the number of shards: one a MiB of float32 features, from 1 to 64."""
    return int(np.clip(n_docs * n_features * 4 // SHARD_BYTES, 1, MAX_SHARDS))


def make_shards(indptr: np.ndarray, n_features: int) -> tuple[Shard, ...]:
    """Cut queries into shards.

    Shard i of n begins at the first query that starts at or after row ``i * n_docs / n``. A shard that
    would hold no query (a long one spans it) is left out.
    """
    n_docs = int(indptr[-1])
    count = shard_count(n_docs, n_features)
    # ceil(i * n_docs / count) in integers: a start at or after the real number is at or after its ceiling.
    targets = -(-np.arange(count, dtype=np.int64) * n_docs // count)
    starts = np.append(np.searchsorted(indptr[:-1], targets), len(indptr) - 1)
    return tuple(
        Shard(int(a), int(b), int(indptr[a]), int(indptr[b]), _blocks(indptr, int(a), int(b), n_features))
        for a, b in pairwise(starts)
        if b > a
    )


def _blocks(indptr: np.ndarray, start: int, stop: int, n_features: int) -> tuple[Block, ...]:
    most_rows = max(1, BLOCK_BYTES // (4 * max(1, n_features)))
    blocks = []
    while start < stop:
        end = int(np.searchsorted(indptr, indptr[start] + most_rows, side="right")) - 1
        end = min(max(end, start + 1), stop)
        blocks.append(Block(start, end, int(indptr[start]), int(indptr[end])))
        start = end
    return tuple(blocks)


def map_in_order(
    function: Callable[[Item], Result], items: Sequence[Item], n_threads: int = 1
) -> list[Result]:
    """Apply `function` to each item, on a pool of threads if there is more than one, and keep the order."""
    if n_threads <= 1 or len(items) <= 1:
        return [function(item) for item in items]
    with ThreadPoolExecutor(min(n_threads, len(items))) as pool:
        return list(pool.map(function, items))


def processors() -> int:
    """Return how many threads this process should run at once.

    The processors that it may use, by affinity and by the quota of its container, and no more than
    ``OMP_NUM_THREADS`` where that is set: so a process that is given one thread keeps to it everywhere.
    """
    allowed = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    asked = os.environ.get("OMP_NUM_THREADS", "")
    limit = int(asked) if asked.isdecimal() and int(asked) else allowed
    return max(1, min(allowed, limit, _quota()))


def _quota() -> int:
    try:
        quota, period = QUOTA.read_text().split()
        return max(1, int(quota) // int(period))
    except (OSError, ValueError):  # no such file, or no quota
        return sys.maxsize
