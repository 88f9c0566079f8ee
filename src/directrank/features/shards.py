"""The shard: a run of whole queries, the atom of work and of every sum over the data.

Shards depend on the data alone, never on the number of threads, processes or workers. Their results are added
in index order, so that the total is always bit-identical.
"""

import os
import sys
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor, wait
from contextlib import AbstractContextManager
from dataclasses import dataclass
from functools import cache, cached_property
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any, Generic, TypeVar

import numpy as np

from directrank.storage.mapped import mappings, relieve

if TYPE_CHECKING:
    from threadpoolctl import ThreadpoolController

__all__ = [
    "Block",
    "Shard",
    "added_up",
    "cut_by_documents",
    "map_in_order",
    "results_in_order",
    "shard_count",
]

Item = TypeVar("Item")
Result = TypeVar("Result")

SHARD_BYTES = 2**20
MAX_SHARDS = 64
# The documents of a block, and their scores and gradients, stay in the processor's cache between passes.
BLOCK_BYTES = 2**20
#: Documents of a run of shards, for work that reads no features; a block has up to twice as many.
DOCUMENTS_OF_RUN = 2**14
#: File in which Linux gives the share of processors of a container: "quota period", or "max period".
QUOTA = Path("/sys/fs/cgroup/cpu.max")


@dataclass
class Call(Generic[Item]):
    """A call of a function on another thread."""

    future: Future
    item: Item


@dataclass(frozen=True)
class Block:
    """Queries from `first_query` up to `last_query`, exclusive, and their rows."""

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

    @cached_property
    def own_blocks(self) -> tuple[Block, ...]:
        """The blocks, their queries and rows counted from the beginning of the shard."""
        q, r = self.first_query, self.first_row
        return tuple(
            Block(block.first_query - q, block.last_query - q, block.first_row - r, block.last_row - r)
            for block in self.blocks
        )


def shard_count(n_docs: int, n_features: int) -> int:
    """Return the number of shards: one a MiB of float32 features, from 1 to 64."""
    return int(np.clip(n_docs * n_features * 4 // SHARD_BYTES, 1, MAX_SHARDS))


def make_shards(indptr: np.ndarray, n_features: int) -> tuple[Shard, ...]:
    """Cut queries into shards.

    Shard i of n begins at the first query that starts at or after row ``i * n_docs / n``. A shard without a
    query (inside a long one) is skipped.
    """
    n_docs = int(indptr[-1])
    count = shard_count(n_docs, n_features)
    # This is ceil(i * n_docs / count), because row numbers are whole.
    targets = -(-np.arange(count, dtype=np.int64) * n_docs // count)
    starts = np.append(np.searchsorted(indptr[:-1], targets), len(indptr) - 1)
    return tuple(
        Shard(int(a), int(b), int(indptr[a]), int(indptr[b]), _blocks(indptr, int(a), int(b), n_features))
        for a, b in pairwise(starts)
        if b > a
    )


def cut_by_documents(shards: tuple[Shard, ...], indptr: np.ndarray) -> tuple[Shard, ...]:
    """Return runs of shards for work that reads no features: blocks of thousands of documents.

    One shard stays as it is, and several stay two or more.
    """
    if len(shards) == 1:
        return shards
    count = max(2, min(len(shards), int(indptr[-1]) // DOCUMENTS_OF_RUN))
    runs = [shards[some[0] : some[-1] + 1] for some in np.array_split(np.arange(len(shards)), count)]
    ends = [(run[0].first_query, run[-1].last_query, run[0].first_row, run[-1].last_row) for run in runs]
    width = BLOCK_BYTES // (8 * DOCUMENTS_OF_RUN)
    return tuple(Shard(*each, _blocks(indptr, each[0], each[1], width)) for each in ends)


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
    """Apply `function` to each item, on several threads if asked to; return the results in order."""
    return list(results_in_order(function, items, n_threads))


def results_in_order(
    function: Callable[[Item], Result], items: Sequence[Item], n_threads: int = 1
) -> Iterator[Result]:
    """Yield what `function` returns for each item, in order; few results wait in memory at once."""

    def relieved(item: Item) -> Result:
        result = function(item)
        relieve()
        return result

    applied = relieved if mappings else function
    n_threads = min(n_threads, len(items))
    if n_threads <= 1:
        yield from map(applied, items)
        return
    pool, calls = _threads(n_threads - 1), deque()
    try:
        for item in items:
            calls.append(Call(pool.submit(applied, item), item))
            if len(calls) > 2 * n_threads:
                yield _first_result(calls, applied)
        while calls:
            yield _first_result(calls, applied)
    finally:
        wait([call.future for call in calls if not call.future.cancel()])


def _first_result(calls: deque[Call[Item]], function: Callable[[Item], Result]) -> Result:
    """Remove the first call and return its result; make the last ones here that no thread has begun.

    So a call that itself maps over items ends even if all threads wait as it does.
    """
    for call in reversed(calls):
        if calls[0].future.done():
            break
        if call.future.cancel():
            call.future = Future()
            try:
                call.future.set_result(function(call.item))
            except Exception as error:  # It is raised in the order of items.
                call.future.set_exception(error)
    return calls.popleft().future.result()


@cache  # To start threads takes longer than many a call.
def _threads(count: int) -> ThreadPoolExecutor:
    return ThreadPoolExecutor(count, "directrank")


if hasattr(os, "register_at_fork"):  # The threads are not there in a new process.
    os.register_at_fork(after_in_child=_threads.cache_clear)


def added_up(results: Iterable[Sequence[Any]]) -> list[Any]:
    """Return the sum of some tuples of numbers or arrays, entry by entry, in the order given."""
    results = iter(results)
    totals = [0 + entry for entry in next(results, ())]
    for entries in results:
        # Arrays are added in place: a total is as large as a term.
        for k, entry in enumerate(entries):
            totals[k] += entry
    return totals


def processors() -> int:
    """Return the number of threads that this process should run at once.

    This is the number of processors that it may use, by affinity and by the quota of its container, and no
    more than ``OMP_NUM_THREADS`` if that is set.
    """
    allowed = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    setting = os.environ.get("OMP_NUM_THREADS", "")
    limit = int(setting) if setting.isdecimal() and int(setting) else allowed
    return max(1, min(allowed, limit, _quota()))


def one_blas_thread() -> AbstractContextManager:
    """Return a context in which BLAS uses one thread.

    Bits do not depend on the number of processors there, and small products do not wait for threads, which
    spin meanwhile.
    """
    # SciPy has a library of its own, which is there once its linear algebra is imported.
    return _blas_libraries("scipy.linalg" in sys.modules).limit(limits=1, user_api="blas")


@cache  # To look for these libraries takes milliseconds.
def _blas_libraries(with_scipy: bool) -> "ThreadpoolController":
    from threadpoolctl import ThreadpoolController

    return ThreadpoolController()


def _quota() -> int:
    try:
        quota, period = QUOTA.read_text().split()
        return max(1, int(quota) // int(period))
    except (OSError, ValueError):  # There is no such file, or no quota.
        return sys.maxsize
