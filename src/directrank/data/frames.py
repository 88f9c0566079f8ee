"""Data frames of any library: documents from their columns, and columns in the order of a model."""

from collections.abc import Sequence

import numpy as np

from directrank.data.categories import as_grades
from directrank.data.groups import QueryGroups
from directrank.data.remote.workers import RemoteGroups
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
    """Make query groups from the columns of a pandas, polars or pyarrow frame.

    Parameters
    ----------
    frame : data frame
        One row a document.
    relevance : str or None, default="relevance"
        The column of grades: numbers or ordered categories. None for documents without relevance.
    qid : str, default="qid"
        The column of queries.
    docid : str, optional
        The column of document names.
    features : sequence of str, optional
        The columns of features; all other columns by default. A missing value is NaN.
    name : str, default=""
        Where the data came from; messages use it.

    Returns
    -------
    QueryGroups
        Its feature names are the names of the columns.

    Raises
    ------
    DataError
        If a column does not exist or is not numeric, or a query or grade is missing.
    TypeError
        If `frame` is not a data frame.
    """
    import narwhals as nw  # It takes as long to import as the rest of directrank.data.

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
        X[:, place] = _numbers(table[column], column, missing=True)
    return QueryGroups(
        X,
        None if relevance is None else _grades(table[relevance], relevance),
        table[qid].to_numpy(),
        docid=None if docid is None else table[docid].to_numpy(),
        feature_names=columns,
        name=name,
    )


def columns_in_order(X, names: Sequence[str] | None):
    """Return the columns of a data frame, or of query groups, that have these names, in this order.

    Without names, of the columns or of the model, X is returned unchanged.

    Raises
    ------
    DataError
        If a column is missing.
    """
    if names is None or not (isinstance(X, QueryGroups) or hasattr(X, "columns")):
        return X
    if isinstance(X, QueryGroups):
        given = names if X.feature_names is None else X.feature_names
        if columns := _columns(list(given), list(names)):
            if isinstance(X, RemoteGroups):
                return X.transformed(_chosen, columns, feature_names=names)
            features = np.take(X.features, columns, axis=1)
            return QueryGroups.from_inner(
                features, X.queries, feature_names=names, name=X.name, labelled=X.labelled
            )
        return X
    import narwhals as nw

    table = nw.from_native(X, eager_only=True)
    return table.select(list(names)).to_native() if _columns(table.columns, list(names)) else X


def _chosen(features, indptr, blocks, columns: list[int]) -> np.ndarray:
    return np.take(features, columns, axis=1)


def _columns(given: list, wanted: list) -> list[int] | None:
    """Return the number of each wanted column, or None if they are in order, or columns have no names."""
    if given == wanted or not all(isinstance(name, str) for name in given):
        return None
    if missing := [name for name in wanted if name not in given]:
        raise DataError(f"X has no column {', '.join(map(repr, missing))}, which the model was fitted with")
    return [given.index(name) for name in wanted]


def _grades(column, name: str) -> np.ndarray:
    native = column.to_native()
    grades = as_grades(native, f"column {name!r}: ")
    return _numbers(column, name, "numbers or ordered categories") if grades is native else grades


def _numbers(column, name: str, expected: str = "numbers", missing: bool = False) -> np.ndarray:
    if not (column.dtype.is_numeric() or str(column.dtype) == "Boolean"):
        raise DataError(f"column {name!r} holds {column.dtype}, expected {expected}")
    empty = column.is_null().to_numpy().astype(np.bool_)
    if empty.any() and not missing:
        raise DataError(f"column {name!r} has no value in row {np.argmax(empty)}; give every row a grade")
    values = np.full(len(column), np.nan)
    with np.errstate(over="ignore"):
        values[~empty] = np.asarray(column.filter(~column.is_null()).to_numpy(), dtype=np.float64)
    refused = np.isinf(values) if missing else ~np.isfinite(values)
    wrong = np.flatnonzero(refused | (np.abs(values) > np.finfo(np.float32).max))
    if len(wrong):
        raise DataError(
            f"column {name!r} holds {values[wrong[0]]} in row {wrong[0]}; expected finite float32"
        )
    return values
