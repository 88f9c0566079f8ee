"""The interface of features, and features of this process: in an array, which may be mapped from a file."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from functools import cached_property, lru_cache
from operator import itemgetter
from typing import Any

import numpy as np

from directrank.features.shards import Shard, make_shards, map_in_order, results_in_order
from directrank.kernels.aligned import aligned_zeros
from directrank.storage.mapped import is_mapped, temporary_matrix

#: What a function of a shard's features returns: an array, a number or a tuple of them.
ShardResult = Any


class Features(ABC):
    """Features of documents, (n_docs, n_features), wherever they lie.

    Functions are of modules, so that they can be sent to another process. They are called with the features
    of a shard, the boundaries of its queries, its blocks (counted from 0), the arguments, and the shard's own
    rows of each vector of `rows`.
    """

    #: Processes that hold the features; None if this one does.
    workers: Any = None
    #: The number of documents and of features.
    shape: tuple[int, int]

    @property
    @abstractmethod
    def rows(self) -> Any:
        """What solvers slice by the rows of a part, in a statistic of `ObjectiveOracles.over_shards`."""

    @abstractmethod
    def over_shards(
        self, function: Callable, *arguments: object, rows: Sequence[np.ndarray] = (), n_threads: int = 1
    ) -> list[ShardResult]:
        """Return what a function returns for each shard, in shard order."""

    def total(
        self, function: Callable, *arguments: object, rows: Sequence[np.ndarray] = (), n_threads: int = 1
    ) -> ShardResult:
        """Return the sum over shards of an array of whole numbers, which may be added in any order."""
        return sum(self.over_shards(function, *arguments, rows=rows, n_threads=n_threads))

    def columns(self, first: int, stop: int) -> np.ndarray:
        """Return some features of all documents, (n_docs, stop - first), C-contiguous."""
        return np.concatenate(self.over_shards(_columns_of_shard, first, stop))

    @abstractmethod
    def transformed(
        self,
        function: Callable,
        *arguments: object,
        n_features: int | None = None,
        dtype: type = np.float32,
        n_threads: int = 1,
        in_place: bool = False,
    ) -> "Features":
        """Return what a function makes of the features, where they are.

        Its last argument is an array for the result: zeros of `dtype` with a row for each row of the shard,
        and with `n_features` columns, by default as many as there are. With `in_place` it may be the array
        of these features itself, which the function then changes.
        """

    @abstractmethod
    def objects(
        self, function: Callable, *arguments: object, rows: Sequence[np.ndarray] = (), n_threads: int = 1
    ) -> "Features":
        """Return an object for each shard, which a function makes and which stays where the shard is.

        `over_shards` and `total` then call functions with the object in place of the features.
        """


class ArrayFeatures(Features):
    """Features in an array of this process, which may be mapped from a file.

    Parameters
    ----------
    array : ndarray of shape (n_docs, n_features), C-contiguous
    indptr : ndarray of shape (n_queries + 1,), int64, optional
        Query q has the rows ``indptr[q]:indptr[q + 1]``. Without queries, shards are runs of rows, and
        functions get None for their boundaries.
    """

    rows: Any = None

    def __init__(self, array: np.ndarray, indptr: np.ndarray | None = None):
        self.rows, self.indptr, self.shape = array, indptr, array.shape

    @cached_property
    def shards(self) -> tuple[Shard, ...]:
        """Runs of whole queries; they depend on the data alone."""
        if self.indptr is None:
            return _shards_of_rows(*self.shape)
        return make_shards(self.indptr, self.shape[1])

    def over_shards(self, function, *arguments, rows=(), n_threads=1) -> list[ShardResult]:
        """Return what a function returns for each shard; see `Features`."""
        return list(self._results(function, arguments, rows, n_threads))

    def total(self, function, *arguments, rows=(), n_threads=1) -> ShardResult:
        """Return the sum over shards, of which few are in memory at once; see `Features`."""
        return sum(self._results(function, arguments, rows, n_threads))

    def _results(self, function, arguments, rows, n_threads: int) -> Iterator[ShardResult]:
        def applied(shard: Shard) -> ShardResult:
            return function(*self._of(shard), *arguments, *map(itemgetter(shard.rows), rows))

        return results_in_order(applied, self.shards, n_threads)

    def transformed(
        self, function, *arguments, n_features=None, dtype=np.float32, n_threads=1, in_place=False
    ) -> "ArrayFeatures":
        """Return what a function makes of the features, in a file if these are in one; see `Features`."""
        shape = (len(self.rows), n_features or self.rows.shape[1])
        out = self.rows if in_place else zeros_like(self.rows, shape, dtype)

        def fill(shard: Shard) -> None:
            features, indptr, blocks = self._of(shard)
            function(features, indptr, blocks, *arguments, features if in_place else out[shard.rows])

        map_in_order(fill, self.shards, n_threads)
        return ArrayFeatures(out, self.indptr)

    def objects(self, function, *arguments, rows=(), n_threads=1) -> "ShardObjects":
        """Return an object for each shard; see `Features`."""
        return ShardObjects(self, self.over_shards(function, *arguments, rows=rows, n_threads=n_threads))

    def _of(self, shard: Shard) -> tuple[Any, np.ndarray | None, tuple]:
        """Return the features of a shard, the boundaries of its queries, and its blocks."""
        indptr = self.indptr
        if indptr is not None:
            indptr = indptr[shard.first_query : shard.last_query + 1] - shard.first_row
        return self.rows[shard.rows], indptr, shard.own_blocks


class ShardObjects(ArrayFeatures):
    """Features in an array, and an object for each of their shards."""

    def __init__(self, features: ArrayFeatures, objects: Sequence[object]):
        super().__init__(features.rows, features.indptr)
        self.shards = features.shards
        self._objects = {shard.first_row: value for shard, value in zip(self.shards, objects, strict=True)}

    def _of(self, shard: Shard) -> tuple[Any, np.ndarray | None, tuple]:
        return self._objects[shard.first_row], *super()._of(shard)[1:]


# Monitors score one array again and again.
@lru_cache(maxsize=8)
def _shards_of_rows(n_docs: int, n_features: int) -> tuple[Shard, ...]:
    return make_shards(np.arange(n_docs + 1), n_features)


def as_features(features: Any) -> Features:
    """Return features for an array without queries, and features as they are."""
    return ArrayFeatures(features) if isinstance(features, np.ndarray) else features


def scored(score: Callable[[np.ndarray], np.ndarray], features: object) -> np.ndarray:
    """Return what a scorer's method makes of documents, where their features are, float64 (n_docs,)."""
    return np.concatenate([np.empty(0), *as_features(features).over_shards(_scores_of_shard, score)])


def _scores_of_shard(features: np.ndarray, indptr, blocks, score: Callable) -> np.ndarray:
    return score(features)


def zeros_like(features: np.ndarray, shape=None, dtype: type = np.float32) -> np.ndarray:
    """Return zeros, by default of the shape of some features: in a temporary file if those are in a file."""
    shape = features.shape if shape is None else shape
    if not is_mapped(features):
        return aligned_zeros(shape, dtype)
    size, width = shape[0] * shape[1], np.dtype(dtype).itemsize
    numbers = temporary_matrix((-(-size * width // 4), 1))
    return numbers.reshape(-1).view(dtype)[:size].reshape(shape)


def _columns_of_shard(features: np.ndarray, indptr, blocks, first: int, stop: int) -> np.ndarray:
    return features[:, first:stop].copy()
