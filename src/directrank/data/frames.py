"""Data frames of any library: documents from their columns, and columns in the order of a model."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from directrank.data.cells import quoted_cell
from directrank.data.columns import ReadOptions, choose_columns, warn_of_outcomes
from directrank.data.frame_columns import (
    coded,
    column_numbers,
    finite_numbers,
    first_cell_of_text,
    is_categorical,
    numbers_or_none,
    refuse_twice,
)
from directrank.data.grouping import as_grades, id_array, whole_numbers
from directrank.data.groups import QueryGroups
from directrank.errors import DataError


def from_frame(
    frame,
    *,
    qid: str | None = None,
    label: str | None = None,
    docid: str | None = None,
    features: Sequence[str] | None = None,
    drop: Sequence[str] = (),
    categorical: Sequence[str] | None = None,
    labelled: bool = True,
    name: str = "",
    ranker: Any = None,
) -> QueryGroups:
    """Make query groups from the columns of a pandas, polars or pyarrow frame, as `load_data` does of a file.

    Parameters
    ----------
    frame : data frame
        One row per document.
    qid, label, docid : str, optional
        The columns of queries, of grades (numbers or ordered categories) and of names of documents. By
        default a column with a usual name, such as ``query_id``, ``relevance``, ``doc``.
    features : sequence of str, optional
        The columns of features, or patterns such as ``bm25*``; all other columns by default. A missing value
        is NaN.
    drop : sequence of str, default=()
        Columns to leave out, or patterns.
    categorical : sequence of str, optional
        The features that are categories: text or whole numbers, beside columns of categories, and of text
        without a number; () for none.
    labelled : bool, default=True
        Whether the documents have relevance.
    name : str, default=""
        Where the data came from; messages use it.
    ranker : Ranker, optional
        A fitted ranker: its features are read, and what is not named here as in its training data.

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

    Warns
    -----
    UserWarning
        As `load_data` does.
    """
    how = ReadOptions(
        qid=qid, label=label, docid=docid, features=features, drop=drop, categorical=categorical,
        labelled=labelled,
    )  # fmt: skip
    how = how if ranker is None else ranker.read_options(how)
    groups = read_frame(frame, how, name)
    if how.features is None:
        warn_of_outcomes(groups.feature_names or (), name)
    return groups


def read_frame(frame, how: ReadOptions, name: str = "") -> QueryGroups:
    """Make query groups from the columns of a data frame, as `from_frame` does; missing values stay NaN."""
    import narwhals as nw  # It takes as long to import as the rest of directrank.data.

    refuse_twice(frame)
    table = nw.from_native(frame, eager_only=True)
    kinds = [each.name for each in table.iter_columns() if how.categorical and is_categorical(each)]
    columns = choose_columns(table.columns, how, name or "data frame", kinds)
    relevance = _grades(table, columns.label) if how.labelled and columns.label else None
    chosen = table.select(columns.features).to_native()
    chosen, categories = coded(chosen, None if how.categorical is None else columns.categorical)
    numbers = nw.from_native(chosen, eager_only=True)
    X = np.empty((len(table), len(columns.features)), np.float32)
    for place, column in enumerate(columns.features):
        X[:, place] = finite_numbers(column_numbers(numbers, column, columns.features, how.trained), column)
    groups = QueryGroups(
        X,
        relevance,
        table.get_column(str(columns.qid)).to_numpy(),
        docid=None if columns.docid is None else _names(table.get_column(columns.docid)),
        feature_names=columns.features,
        name=name,
        categories=categories,
    )
    groups.reading = replace(columns.record(how), missing=None)
    return groups


def columns_in_order(X, names: Sequence[str] | None):
    """Return the columns of a data frame, or of query groups, that have these names, in this order.

    Without names, of the columns or of the model, X is returned unchanged. Raises DataError if a column is
    missing.
    """
    if names is None or not (isinstance(X, QueryGroups) or hasattr(X, "columns")):
        return X
    if isinstance(X, QueryGroups):
        names_of_data = names if X.feature_names is None else X.feature_names
        if columns := _columns(list(names_of_data), list(names)):
            features = X.source.transformed(_chosen, columns, n_features=len(columns))
            return X.with_features(features, names)
        return X
    import narwhals as nw

    refuse_twice(X)
    table = nw.from_native(X, eager_only=True)
    return table.select(list(names)).to_native() if _columns(table.columns, list(names)) else X


def _chosen(features, indptr, blocks, columns: list[int], out: np.ndarray) -> None:
    np.take(features, columns, axis=1, out=out, mode="clip")


def _columns(present: list, wanted: list) -> list[int] | None:
    """Return the number of each wanted column, or None if they are in order, or columns have no names."""
    if present == wanted or not all(isinstance(name, str) for name in present):
        return None
    if missing := [name for name in wanted if name not in present]:
        raise DataError(f"X has no column {', '.join(map(repr, missing))}, which the model was fitted with")
    return [present.index(name) for name in wanted]


def _grades(table, name: str) -> np.ndarray:
    column = table.get_column(name)
    grades = as_grades(column.to_native(), f"column {name!r}: ")
    if isinstance(grades, np.ndarray):
        return grades
    values = numbers_or_none(column)
    if values is None:
        row, cell = first_cell_of_text(column)
        raise DataError(
            f"column {name!r}, row {row}: found {quoted_cell(cell)}, expected numbers or ordered categories, "
            "the best highest"
        )
    if np.isnan(values).any():
        row = np.argmax(np.isnan(values))
        raise DataError(f"column {name!r} has no value in row {row}; give every row a grade")
    return finite_numbers(values, name)


def _names(column) -> np.ndarray:
    """Return names of documents, whole floats as integers; an empty text where one is missing."""
    missing = column.is_null().to_numpy().astype(np.bool_)
    # With missing ones in it, integers would become floats.
    present = whole_numbers(id_array(column.filter(~column.is_null()).to_numpy(), f"column {column.name!r}"))
    if not missing.any():
        return present
    names = np.full(len(missing), "", object)
    names[~missing] = present
    return names
