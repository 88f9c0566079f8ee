"""Training on a Dask cluster: the workers hold the features, and this process runs the solver.

::

    import directrank.dask

    ranker = ApproxRank("nDCG@10")
    with directrank.dask.connect("tcp://10.0.0.1:8786") as client:
        train = directrank.dask.distribute("data/train.store", client)
        vali = directrank.dask.distribute("data/vali.store", client)
        ranker.fit(train, eval_set=vali)
        scores = ranker.predict(vali)

The model is bit-identical to one trained in this process. The page "clusters" of the
documentation has the limits.
"""

import os
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from directrank.errors import DataError, install_line
from directrank.files.store import open_store

try:
    import distributed
except ImportError as _error:
    raise ImportError(f"dask cannot be used ({_error}): {install_line('dask')}") from None

import pandas as pd
from dask.delayed import delayed

from directrank.apps.clusters.clusters import Heartbeats, connect
from directrank.apps.clusters.features import WorkerFeatures
from directrank.apps.clusters.placement import DaskWorkers, WorkerStore
from directrank.data.frames import from_frame
from directrank.data.groups import QueryGroups
from directrank.data.queries import Queries
from directrank.features.shards import Block, Shard, make_shards
from directrank.files.store import manifest_of, stored_rows
from directrank.kernels.aligned import aligned_zeros
from directrank.storage.hashed_file import file_digest

__all__ = ["connect", "distribute", "fit", "predict"]

#: What the features as they were given are held under.
RAW = "raw"
_ROW = "directrank row"
#: From the number of a shard to the function that loads it on a worker, and its arguments.
Load = Callable[[int], tuple]


def distribute(
    data: object,
    client: "distributed.Client",
    *,
    relevance: str | None = "relevance",
    qid: str = "qid",
    features: Sequence[str] | None = None,
    verify: bool = True,
) -> QueryGroups:
    """Have the workers of a cluster load data, shard by shard.

    Parameters
    ----------
    data : path-like, QueryGroups or dask.dataframe.DataFrame
        A store of `directrank convert`, in a folder that all workers can read; or query groups, which are
        sent from this process; or a Dask data frame, whose rows may be in any order: the rows of a query that
        spans partitions are brought together.
    client : distributed.Client
    relevance, qid, features
        The columns of a Dask data frame: grades, queries and features.
    verify : bool, default=True
        Each worker compares the features that it opens in a store with their digests.

    Returns
    -------
    QueryGroups
        Query groups for `Ranker.fit`, its `eval_set`, `predict` and `score`, as long as the client is open.

    Raises
    ------
    DataError
        If the data cannot be used.
    MethodError
        If no worker is left.
    """
    if isinstance(data, str | os.PathLike):
        groups = open_store(data, verify=False)
        return _loaded(client, groups, from_store(data, groups.queries, groups.shards, verify=verify))
    if isinstance(data, QueryGroups):
        if data.source.workers is not None:
            return data
        local_groups: QueryGroups = data
        load = from_rows(
            lambda shard: local_groups.features[shard.rows], local_groups.queries, local_groups.shards
        )
        return _loaded(client, local_groups, load)
    if type(data).__module__.partition(".")[0] in ("dask", "dask_expr") and hasattr(data, "to_delayed"):
        return _from_frame(client, data, relevance, qid, features)
    raise DataError(
        f"a {type(data).__name__} cannot be distributed: give the folder of a store, QueryGroups, or a Dask "
        "data frame"
    )


def fit(
    ranker: Any,
    data: Any,
    *,
    client: Any = None,
    eval_set: Any = None,
    sample_weight: np.ndarray | None = None,
    **columns: Any,
) -> Any:
    """Train a ranker on a cluster.

    Parameters
    ----------
    ranker : Ranker
    data : path-like, QueryGroups or dask.dataframe.DataFrame
        As in `distribute`.
    client : distributed.Client or str, optional
        As in `connect`; by default workers on this machine.
    eval_set
        As `data`, to validate.
    sample_weight : array of shape (n_queries,) or (n_docs,), optional
        As in `Ranker.fit`.
    **columns
        The columns of Dask data frames, as in `distribute`.

    Returns
    -------
    Ranker
        The ranker, with the bits that it has when it is trained in this process.

    Raises
    ------
    UnfitPairError
        If its solver is no sum over shards.
    """
    with connect(client) as open_client:
        validation = None if eval_set is None else distribute(eval_set, open_client, **columns)
        train = distribute(data, open_client, **columns)
        return ranker.fit(train, eval_set=validation, sample_weight=sample_weight)


def predict(ranker: Any, data: Any, *, client: Any = None, **columns: Any) -> np.ndarray:
    """Return the scores of documents, float64 (n_docs,), in the order of the rows given.

    Parameters
    ----------
    ranker : Ranker
        Trained anywhere.
    data, client, **columns
        As in `fit`; a Dask data frame without grades needs ``relevance=None``.
    """
    with connect(client) as open_client:
        return ranker.predict(distribute(data, open_client, **columns))


def _loaded(client: "distributed.Client", groups: QueryGroups, load: Load) -> QueryGroups:
    for column in groups.categories:
        raise DataError(f"column {column!r} is categorical, which workers do not take: train in one process")
    workers = DaskWorkers(Heartbeats(client), groups.shards, load)
    return groups.with_features(WorkerFeatures(workers, RAW, (groups.n_docs, groups.n_features)))


def _from_frame(client, frame, relevance, qid, features) -> QueryGroups:
    heartbeats = Heartbeats(client)
    frame_rows = FrameRows(heartbeats, frame, relevance, qid, features)
    load = from_rows(frame_rows.rows_of, frame_rows.queries, frame_rows.shards)
    workers = DaskWorkers(heartbeats, frame_rows.shards, load)
    return QueryGroups.from_inner(
        WorkerFeatures(workers, RAW, (frame_rows.queries.n_docs, len(frame_rows.columns))),
        frame_rows.queries,
        feature_names=frame_rows.columns,
        labelled=frame_rows.labelled,
    )


def from_store(path: str | os.PathLike, queries: Queries, shards: Sequence[Shard], *, verify: bool) -> Load:
    """Load shards from a store in a folder that all workers can read, and compare their digests if asked."""
    manifest = manifest_of(Path(path).absolute())
    assert manifest is not None  # The store is open in this process.
    digest = file_digest(manifest)

    def load(number: int) -> tuple:
        shard = shards[number]
        return _open, *_labels(queries, shard), str(manifest), digest, shard.first_row, shard.last_row, verify

    return load


def from_rows(rows_of: Callable[[Shard], np.ndarray], queries: Queries, shards: Sequence[Shard]) -> Load:
    """Load shards whose features this process has, or can get, from a function."""
    return lambda number: (_receive, *_labels(queries, shards[number]), rows_of(shards[number]))


def _labels(queries: Queries, shard: Shard) -> tuple[Queries, tuple[Block, ...]]:
    """Return the label side of a shard without the names of documents, and its blocks."""
    part = queries.part(shard.first_query, shard.last_query)
    nameless = Queries(part.relevance, part.indptr, part.row, part.qid, standardised=part.standardised)
    return nameless, shard.own_blocks


def _receive(store: WorkerStore, queries: Queries, blocks: tuple[Block, ...], rows: np.ndarray) -> None:
    aligned = aligned_zeros(rows.shape, np.float32)
    aligned[:] = rows
    store.update({"queries": queries, "blocks": blocks, RAW: aligned})


def _open(
    store: WorkerStore,
    queries: Queries,
    blocks: tuple[Block, ...],
    manifest: str,
    digest: str,
    first: int,
    last: int,
    verify: bool,
) -> None:
    path = Path(manifest)
    if not path.is_file():
        raise DataError(
            f"{path.parent}: a worker finds no store there; convert it to a folder of all workers"
        )
    if file_digest(path) != digest:
        raise DataError(f"{path.parent}: a worker finds another store there than this process does")
    rows = stored_rows(path, first, last, verify=verify)
    store.update({"queries": queries, "blocks": blocks, RAW: rows})


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
        roles = [column for column in (relevance, qid) if column is not None]
        columns = [str(column) for column in frame.columns]
        self.columns = (
            [column for column in columns if column not in roles] if features is None else list(features)
        )
        for column in (*roles, *self.columns):
            if column not in columns:
                raise DataError(f"no column {column!r}; the frame has {', '.join(columns)}")
        if not self.columns:
            raise DataError("the frame has no column left for features")
        label_parts = heartbeats.computed([delayed(_columns)(part, roles) for part in self.parts])
        self.starts = np.cumsum([0, *(len(part) for part in label_parts)])
        labels = pd.concat(label_parts, ignore_index=True)
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


def _columns(part: Any, names: list[str]) -> Any:
    return part[names]


def _features(part: Any, columns: list[str], rows: np.ndarray) -> np.ndarray:
    some = part[columns].iloc[rows]
    return from_frame(
        some.assign(**{_ROW: np.arange(len(some))}),
        labelled=False,
        qid=_ROW,
        features=columns,
        categorical=(),
    ).X
