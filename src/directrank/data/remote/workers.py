"""Query groups whose features are in other processes, shard by shard; labels are here.

What is done with the features is sent to them: functions of modules with small arguments, which return sums.
"""

from collections.abc import Callable, Sequence
from typing import Any, Protocol

import numpy as np

from directrank.data.groups import QueryGroups
from directrank.data.queries import Queries

#: What a process holds of a shard: its ``queries``, its ``blocks`` (counted from 0), and what it was told to
#: keep under other keys, such as features.
Held = dict[str, Any]


class Workers(Protocol):
    """Processes that hold the features of some query groups, shard by shard.

    Functions are called with what a process holds of a shard, the arguments, and the shard's own rows of each
    vector of `rows`, and its own queries of each vector of `by_query`.
    """

    def over_shards(self, function: Callable, *arguments: Any, rows: Sequence[np.ndarray] = ()) -> list[Any]:
        """Return what a function returns for each shard, in shard order."""
        ...

    def total(self, function: Callable, *arguments: Any, rows: Sequence[np.ndarray] = ()) -> Any:
        """Return the sum over shards of an array of whole numbers, which may be added in any order."""
        ...

    def keep(
        self,
        key: str,
        function: Callable,
        *arguments: Any,
        rows: Sequence[np.ndarray] = (),
        by_query: Sequence[np.ndarray] = (),
    ) -> None:
        """Keep what a function returns for each shard under a key, also where a shard is loaded again."""
        ...

    def change(
        self, key: str, function: Callable, *, rows: Sequence[np.ndarray] = (), again: int = 1
    ) -> None:
        """Call a function on what is kept under a key, to change it; `again` times after loading again."""
        ...

    def drop_with(self, owner: Any, key: str) -> None:
        """Forget what is kept under a key when its owner is gone."""
        ...

    def new_key(self, kind: str) -> str:
        """Return a key that is not in use."""
        ...


class RemoteFeatures:
    """Features that other processes hold, float32 (n_docs, n_features); columns can be fetched."""

    dtype = np.dtype(np.float32)

    def __init__(self, workers: Workers, key: str, shape: tuple[int, int]):
        self.workers, self.key, self.shape = workers, key, shape

    def __len__(self) -> int:
        return self.shape[0]

    @property
    def size(self) -> int:
        """The number of values."""
        return self.shape[0] * self.shape[1]

    def __getitem__(self, index: Any) -> np.ndarray:
        """Return the first row, ``[0]``, or a column, ``[:, k]``; nothing else is fetched."""
        if isinstance(index, int) and index == 0:
            return self.workers.over_shards(_first_row, self.key)[0]
        if isinstance(index, tuple) and index[0] == slice(None):
            return np.concatenate(self.workers.over_shards(_column, self.key, int(index[1])))
        raise TypeError(f"features[{index}]: these features are in other processes; train without a client")

    def transformed(
        self, function: Callable, *arguments: Any, n_features: int | None = None
    ) -> "RemoteFeatures":
        """Return what a function makes of each shard, kept where the shard is, as long as it is in use.

        The function is called as those of `QueryGroups.over_shards`. It makes `n_features` columns, by
        default as many as there are.
        """
        key = self.workers.new_key("features")
        self.workers.keep(key, _of_features, self.key, function, arguments)
        made = RemoteFeatures(self.workers, key, (len(self), n_features or self.shape[1]))
        self.workers.drop_with(made, key)
        return made


class RemoteGroups(QueryGroups):
    """Query groups whose features are in other processes.

    Parameters
    ----------
    workers : Workers
    key : str
        What they keep the features under.
    queries : Queries
    n_features : int
    feature_names : sequence of str or None
    name : str
    labelled : bool
    """

    def __init__(self, workers: Workers, key: str, queries: Queries, n_features: int, **described: Any):
        self.workers, self.queries = workers, queries
        self.features: Any = RemoteFeatures(workers, key, (queries.n_docs, n_features))
        self.name, self.labelled = described["name"], described["labelled"]
        names = described["feature_names"]
        self.feature_names = None if names is None else tuple(map(str, names))

    def over_shards(self, function, *arguments, rows=(), n_threads=1) -> list[Any]:
        """Return what a function of a shard's features returns, in shard order; see `QueryGroups`."""
        return self.workers.over_shards(_of_features, self.features.key, function, arguments, rows=rows)

    def total(self, function, *arguments, rows=(), n_threads=1) -> Any:
        """Return the sum of an array of whole numbers over shards; see `QueryGroups`."""
        return self.workers.total(_of_features, self.features.key, function, arguments, rows=rows)

    def transformed(
        self, function: Callable, *arguments: Any, feature_names: Sequence[str] | None = None
    ) -> "RemoteGroups":
        """Return the same queries with the features that a function makes of each shard's.

        `feature_names` are given where other columns are chosen.
        """
        names = self.feature_names if feature_names is None else feature_names
        n_features = self.n_features if names is None else len(names)
        features = self.features.transformed(function, *arguments, n_features=n_features)
        made = RemoteGroups(
            self.workers, features.key, self.queries, n_features,
            feature_names=names, name=self.name, labelled=self.labelled,
        )  # fmt: skip
        # The workers forget what this object stands for when it is gone.
        made.features = features
        return made

    def select(self, queries) -> QueryGroups:
        """Refuse: the features are elsewhere."""
        raise TypeError("these features are in other processes: select queries before they are distributed")


def _of_features(held: Held, key: str, function: Callable, arguments: Sequence[Any], *rows) -> Any:
    return function(held[key], held["queries"].indptr, held["blocks"], *arguments, *rows)


def _first_row(held: Held, key: str) -> np.ndarray:
    return held[key][0].copy()


def _column(held: Held, key: str, k: int) -> np.ndarray:
    return held[key][:, k].copy()
