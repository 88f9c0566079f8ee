"""Data frames with named columns, whichever library they are of."""

from collections.abc import Sequence

import numpy as np

from directrank.data.groups import QueryGroups
from directrank.errors import DataError


def from_frame(
    frame,
    *,
    relevance: str | None = "relevance",
    qid: str = "qid",
    docid: str | None = None,
    features: Sequence[str] | None = None,
    name: str = "",
) -> QueryGroups:
    """Take documents from the columns of a pandas, polars or pyarrow frame.

    Parameters
    ----------
    frame : data frame
        One row a document.
    relevance : str or None, default="relevance"
        The column of grades; None for documents that are only to be ranked.
    qid : str, default="qid"
        The column of queries.
    docid : str, optional
        The column of names of documents.
    features : sequence of str, optional
        The columns of features; all that remain by default.
    name : str, default=""
        Where the data came from; messages use it.

    Returns
    -------
    QueryGroups
        With the columns' names as feature names.

    Raises
    ------
    DataError
        If a column does not exist, is not numeric or has missing values.
    TypeError
        If `frame` is not a data frame.
    """
    import narwhals as nw  # takes as long to import as the rest of the room

    table = nw.from_native(frame, eager_only=True)
    named = [column for column in (relevance, qid, docid) if column is not None]
    columns = [c for c in table.columns if c not in named] if features is None else list(features)
    for column in (*named, *columns):
        if column not in table.columns:
            raise DataError(f"no column {column!r}; the frame has {', '.join(map(str, table.columns))}")
    if not columns:
        raise DataError("the frame has no column left for features")
    X = np.empty((len(table), len(columns)), np.float32)
    for place, column in enumerate(columns):
        X[:, place] = _numbers(table[column], column)
    return QueryGroups(
        X,
        None if relevance is None else _numbers(table[relevance], relevance),
        _names(table[qid]),
        docid=None if docid is None else _names(table[docid]),
        feature_names=columns,
        name=name,
    )


def _numbers(column, name: str) -> np.ndarray:
    if not (column.dtype.is_numeric() or str(column.dtype) == "Boolean"):
        raise DataError(f"column {name!r} holds {column.dtype}, expected numbers")
    missing = np.flatnonzero(column.is_null().to_numpy())
    if len(missing):
        raise DataError(f"column {name!r} has no value in row {missing[0]}; fill missing values first")
    with np.errstate(over="ignore"):
        values = np.asarray(column.to_numpy(), dtype=np.float64)
    wrong = np.flatnonzero(~np.isfinite(values) | (np.abs(values) > np.finfo(np.float32).max))
    if len(wrong):
        raise DataError(
            f"column {name!r} holds {values[wrong[0]]} in row {wrong[0]}; expected finite float32"
        )
    return values


def _names(column) -> np.ndarray:
    return np.asarray(column.to_numpy())
