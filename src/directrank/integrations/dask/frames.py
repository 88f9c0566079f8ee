"""Dask data frames: labels to this process, and the rows of each shard from its partitions."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd
from dask.delayed import delayed

from directrank.data.frames import from_frame
from directrank.errors import DataError
from directrank.features.shards import Shard, make_shards
from directrank.integrations.dask.heartbeats import Heartbeats


class FrameRows:
    """The rows of a Dask data frame, which may be in any order and any partition.

    Parameters
    ----------
    heartbeats : Heartbeats
        Of the workers of the cluster.
    frame : dask.dataframe.DataFrame
    relevance : str or None
        The column of grades.
    qid : str
        The column of queries.
    features : sequence of str, optional
        The columns of features; all others by default.

    Attributes
    ----------
    queries : Queries
        The labels of all rows. They decide here what a query is and how its documents are sorted, so that a
        query may span partitions.
    shards : tuple of Shard
    columns : list of str
        Of the features.
    labelled : bool
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
        found = heartbeats.computed([delayed(_labels)(each, named) for each in self.parts])
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


def _labels(part: Any, named: list[str]) -> Any:
    return part[named]


def _features(part: Any, columns: list[str], rows: np.ndarray) -> np.ndarray:
    some = part[columns].iloc[rows]
    return from_frame(
        some.assign(**{_ROW: np.arange(len(some))}), labelled=False, qid=_ROW, features=columns
    ).X
