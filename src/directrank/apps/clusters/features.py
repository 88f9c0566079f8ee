"""Features in other processes, shard by shard.

What is done with them is sent there: functions of modules with small arguments, which return sums.
"""

from collections.abc import Callable, Sequence

import numpy as np

from directrank.apps.clusters.placement import DaskWorkers, WorkerStore
from directrank.features import Features, ShardResult
from directrank.kernels.aligned import aligned_zeros


class WorkerFeatures(Features):
    """Features that other processes hold, float32 (n_docs, n_features); columns can be fetched.

    Parameters
    ----------
    workers : DaskWorkers
    key : str
        What they keep the features under.
    shape : tuple of int
    """

    dtype = np.dtype(np.float32)

    def __init__(self, workers: DaskWorkers, key: str, shape: tuple[int, int]):
        self.workers, self.key, self.shape = workers, key, shape

    def __len__(self) -> int:
        return self.shape[0]

    @property
    def rows(self) -> "WorkerFeatures":
        """The features themselves; in the processes that hold them, statistics get their rows."""
        return self

    @property
    def size(self) -> int:
        """The number of values."""
        return self.shape[0] * self.shape[1]

    def __getitem__(self, index: object) -> np.ndarray:
        """Return the first row, ``[0]``, or a column, ``[:, k]``; nothing else is fetched."""
        if isinstance(index, int) and index == 0:
            return self.over_shards(_first_row)[0]
        if isinstance(index, tuple) and index[0] == slice(None):
            return self.columns(int(index[1]), int(index[1]) + 1)[:, 0]
        raise TypeError(f"features[{index}]: these features are in other processes; train without a client")

    def over_shards(self, function, *arguments, rows=(), n_threads=1) -> list[ShardResult]:
        """Return what a function returns for each shard; see `directrank.features.Features`."""
        return self.workers.over_shards(_of_features, self.key, function, arguments, rows=rows)

    def total(self, function, *arguments, rows=(), n_threads=1) -> ShardResult:
        """Return the sum over shards of an array of whole numbers; see `directrank.features.Features`."""
        return self.workers.total(_of_features, self.key, function, arguments, rows=rows)

    def transformed(
        self, function, *arguments, n_features=None, dtype=np.float32, n_threads=1, in_place=False
    ) -> "WorkerFeatures":
        """Return what a function makes of each shard, kept where the shard is, as long as it is in use."""
        width = n_features or self.shape[1]
        return self._derived((len(self), width), (), _made_of, self.key, function, arguments, width, dtype)

    def objects(self, function, *arguments, rows=(), n_threads=1) -> "WorkerFeatures":
        """Return an object for each shard, kept where the shard is, as long as it is in use."""
        return self._derived(self.shape, rows, _of_features, self.key, function, arguments)

    def _derived(self, shape: tuple[int, int], rows, *call) -> "WorkerFeatures":
        key = self.workers.new_key("features")
        self.workers.keep(key, *call, rows=rows)
        derived = WorkerFeatures(self.workers, key, shape)
        self.workers.drop_with(derived, key)
        return derived


def _of_features(
    store: WorkerStore, key: str, function: Callable, arguments: Sequence[object], *rows
) -> ShardResult:
    return function(store[key], store["queries"].indptr, store["blocks"], *arguments, *rows)


def _made_of(
    store: WorkerStore, key: str, function: Callable, arguments: Sequence[object], width: int, dtype
) -> ShardResult:
    out = aligned_zeros((len(store[key]), width), dtype)
    _of_features(store, key, function, (*arguments, out))
    return out


def _first_row(features: np.ndarray, indptr, blocks) -> np.ndarray:
    return features[0].copy()
