"""Training on a Dask cluster: the workers hold the features, and this process runs the solver.

::

    import directrank.dask

    ranker = ApproxRank("nDCG@10")
    with directrank.dask.connect("tcp://10.0.0.1:8786") as client:
        train = directrank.dask.distribute("data/train.store", client)
        vali = directrank.dask.distribute("data/vali.store", client)
        ranker.fit(train, eval_set=vali)
        scores = ranker.predict(vali)

The model has the same bits as one trained in this process. docs/clusters.md says what is sent, and where the
limits are.
"""

import os
from collections.abc import Sequence
from typing import Any

import numpy as np

from directrank.errors import DataError, install_line

try:
    import distributed
except ImportError as _error:
    raise ImportError(f"dask cannot be used ({_error}): {install_line('dask')}") from None

from directrank.data.groups import QueryGroups
from directrank.features import WorkerFeatures
from directrank.integrations.dask.clusters import Heartbeats, connect
from directrank.integrations.dask.placement import DaskWorkers
from directrank.integrations.dask.sources import RAW, Load, from_rows, from_store

__all__ = ["connect", "distribute", "fit", "predict"]


def distribute(
    data: Any,
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
        groups = QueryGroups.open(data, verify=False)
        return _loaded(client, groups, from_store(data, groups.queries, groups.shards, verify=verify))
    if isinstance(data, QueryGroups):
        if data.source.workers is not None:
            return data
        given: QueryGroups = data
        load = from_rows(lambda shard: given.features[shard.rows], given.queries, given.shards)
        return _loaded(client, given, load)
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
    data, eval_set
        As `data` of `distribute`.
    client : distributed.Client or str, optional
        As in `connect`; by default workers on this machine.
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
    from directrank.integrations.dask.sources import FrameRows

    heartbeats = Heartbeats(client)
    found = FrameRows(heartbeats, frame, relevance, qid, features)
    load = from_rows(found.rows_of, found.queries, found.shards)
    workers = DaskWorkers(heartbeats, found.shards, load)
    return QueryGroups.from_inner(
        WorkerFeatures(workers, RAW, (found.queries.n_docs, len(found.columns))),
        found.queries,
        feature_names=found.columns,
        labelled=found.labelled,
    )
