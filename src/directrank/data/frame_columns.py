"""Columns of data frames of any library, as numbers and as codes of categories."""

import sys
from collections.abc import Collection, Sequence
from typing import Any

import numpy as np

from directrank.data.categories import Values
from directrank.data.cells import as_numbers, first_text, not_a_number, number_in, words_alone
from directrank.data.coded_rows import CodedRows
from directrank.errors import DataError


def column_names(X) -> list[str] | None:
    """Return the names of the columns of a data frame; None if there are none, or not all are text."""
    if hasattr(X, "collect_schema") and not hasattr(X, "__len__"):
        raise DataError(f"found a {type(X).__name__}, expected a data frame: pass its collect()")
    columns = getattr(X, "column_names", getattr(X, "columns", ()))
    names = [name for name in columns if isinstance(name, str)]
    return names if names and len(names) == len(columns) else None


def in_names(X: Any, names: Collection[str] | None = None, *, trained: bool = False):
    """Return a frame of pandas whose columns are called by whole numbers with these as text.

    Rows of query groups with categories become a frame with their names and texts.
    Numbers in turn from 0 on are no names, unless a model was `trained` with them. Of a model without names
    they are the places of columns. Anything else is returned unchanged.
    """
    if isinstance(X, CodedRows):
        return X.frame() if hasattr(X, "columns") else X
    pandas: Any = sys.modules.get("pandas")  # Who passes a frame of it has imported it.
    if pandas is None or not isinstance(X, pandas.DataFrame):
        return X
    columns = list(X.columns)
    if not all(isinstance(name, int | np.integer) and not isinstance(name, bool) for name in columns):
        return X
    in_turn = columns == list(range(len(columns)))
    if trained and names is None:
        return X[sorted(columns)] if sorted(columns) == list(range(len(columns))) else X
    texts = list(map(str, columns))
    return X if in_turn and set(texts) != set(() if names is None else names) else X.set_axis(texts, axis=1)


def coded(X, categorical: Collection[str] | None = None) -> tuple[Any, dict[str, tuple[str, ...]]]:
    """Return a data frame with codes in its categorical columns, and their values; anything else unchanged.

    `categorical` are the columns of a model; by default columns of categories, and of text without a number.
    """
    if column_names(X) is None:
        return X, {}
    import narwhals as nw

    refuse_twice(X)
    table, code_columns, categories = nw.from_native(X, eager_only=True, pass_through=True), [], {}
    if not isinstance(table, nw.DataFrame):
        return X, {}
    for name in table.columns:
        column = table.get_column(name)
        if is_categorical(column) if categorical is None else name in categorical:
            codes, categories[name] = _codes(column)
            code_columns.append(nw.new_series(name, codes, nw.Float32, backend=table.implementation))
    return (table.with_columns(*code_columns).to_native() if code_columns else X), categories


def is_categorical(column) -> bool:
    """Whether a column is of a type of categories, or of text without a number."""
    kind = str(column.dtype).partition("(")[0]
    if kind in ("Categorical", "Enum"):
        return True
    return kind in ("String", "Object") and words_alone(column.filter(~column.is_null()).to_list())


def _codes(column) -> tuple[np.ndarray, tuple[str, ...]]:
    """Return the codes of a categorical column, and its values."""
    missing, values = column.is_null().to_list(), Values()
    try:
        cells = zip(column.to_list(), missing, strict=True)
        numbers = values.codes(None if gone else cell for cell, gone in cells)
    except TypeError as error:
        raise DataError(f"column {column.name!r}: {error}") from None
    texts, codes = values.ordered()
    return codes[numbers.astype(np.int64)].astype(np.float32), texts


def refuse_twice(X) -> None:
    """Raise DataError if two columns of a data frame have the same name."""
    names = column_names(X) or []
    if len(set(names)) < len(names):
        twice = next(name for name in names if names.count(name) > 1)
        raise DataError(f"X has two columns called {twice!r}; rename one of them")


def numeric(X, dtype: object = np.float32, *, trained: bool = False):
    """Return X with numbers in all cells, NaN where a value is missing.

    A data frame stays one; a model was `trained` with its columns or not. Raises DataError that names the
    first cell that is no number.
    """
    if column_names(X) is None:
        # scikit-learn refuses names of which some are text.
        names = getattr(X, "columns", ())
        return X if any(isinstance(name, str) for name in names) else as_numbers(X, dtype)
    import narwhals as nw

    refuse_twice(X)
    table = nw.from_native(X, eager_only=True, pass_through=True)
    if not isinstance(table, nw.DataFrame):
        return X
    texts = [name for name, kind in table.schema.items() if not (kind.is_numeric() or kind == nw.Boolean)]
    number_columns = [
        nw.new_series(
            name,
            column_numbers(table, name, table.columns, trained=trained),
            nw.Float64,
            backend=table.implementation,
        )
        for name in texts
    ]
    return table.with_columns(*number_columns).to_native() if number_columns else X


def column_numbers(table, name: str, columns: Sequence[str], trained: bool) -> np.ndarray:
    """Return a column of a frame as float64, or raise DataError that names a cell that is no number."""
    values = numbers_or_none(table.get_column(name))
    if values is not None:
        return values
    wrong = [
        name,
        *(
            column
            for column in columns
            if column != name and numbers_or_none(table.get_column(column)) is None
        ),
    ]
    row, cell = first_cell_of_text(table.get_column(name))
    raise DataError(f"column {name!r}, row {row}: {not_a_number(cell, wrong, trained=trained)}")


def numbers_or_none(column) -> np.ndarray | None:
    """Return a column as float64, NaN where a value is missing; None if a cell is no number."""
    missing = column.is_null().to_numpy().astype(np.bool_)
    values = np.full(len(column), np.nan)
    some = column.filter(~column.is_null())
    if not (column.dtype.is_numeric() or str(column.dtype) == "Boolean"):
        some = [number_in(cell) for cell in some.to_list()]
        if None in some:
            return None
    with np.errstate(over="ignore"):
        values[~missing] = np.asarray(some, dtype=np.float64)
    return values


def first_cell_of_text(column) -> tuple[int, Any]:
    """Return row and value of the first cell that is no number."""
    missing = column.is_null().to_list()
    cells = (None if gone else cell for cell, gone in zip(column.to_list(), missing, strict=True))
    return first_text(cells) or (0, column.dtype)


def finite_numbers(values: np.ndarray, name: str) -> np.ndarray:
    """Return numbers, or raise DataError if one is infinite or beyond float32."""
    wrong = np.flatnonzero(np.abs(values) > np.finfo(np.float32).max)
    if len(wrong):
        raise DataError(
            f"column {name!r} holds {values[wrong[0]]} in row {wrong[0]}; expected finite float32"
        )
    return values
