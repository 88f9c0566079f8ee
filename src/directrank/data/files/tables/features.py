"""The second pass over a table: columns of features into the rows of X."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from directrank.data.cells import Place, first_text, not_a_number, numbers
from directrank.data.files.tables.columns import known_column
from directrank.data.files.tables.format import TableFormat, import_pyarrow

#: Rows that are turned from columns into rows at a time: they stay in the cache of the processor.
BLOCK_ROWS = 512
FIRST = ", which the first file has"


def fill_features(
    table: TableFormat,
    path: Path,
    schema: Any,
    features: Sequence[str],
    places: np.ndarray,
    X: np.ndarray,
    null: np.float32,
) -> int:
    """Read the columns of features of one file into rows of X, and return the number of rows.

    Parameters
    ----------
    table : TableFormat
    path : Path
    schema : schema of pyarrow
        The columns of the file.
    features : sequence of str
        The columns, in the order of X.
    places : ndarray of int64
        The row of X for each row of the file.
    X : ndarray of shape (n_docs, n_features), float32
    null : float32
        What stands for a missing value, which may be NaN; infinity refuses it.

    Raises
    ------
    DataError
        If a column does not exist, or a cell holds no finite float32.
    """
    pa = import_pyarrow(path)
    kinds = dict(zip(schema.names, schema.types, strict=True))
    for name in features:
        if name not in kinds:
            known_column(name, schema.names, str(path), FIRST)
    wanted = {name: kinds[name] if pa.types.is_boolean(kinds[name]) else pa.float32() for name in features}
    n_rows = 0
    for batch in table.batches(path, wanted):
        _fill_batch(batch, features, places[n_rows:], X, null, Place(path, n_rows))
        n_rows += len(batch)
    return n_rows


def _fill_batch(batch: Any, features: Sequence[str], places, X, null: np.float32, place: Place) -> None:
    by_name = dict(zip(batch.schema.names, batch.columns, strict=True))
    columns: list[Any] = [numbers(by_name[name], np.float32) for name in features]
    if wrong := [name for name, values in zip(features, columns, strict=True) if values is None]:
        values = by_name[wrong[0]]
        row, cell = first_text(values.to_pylist()) or (0, values.type)
        raise place.error(wrong[0], row, not_a_number(cell, wrong))
    block = np.empty((BLOCK_ROWS, len(features)), np.float32)
    for first in range(0, len(batch), BLOCK_ROWS):
        rows = block[: min(BLOCK_ROWS, len(batch) - first)]
        for number, values in enumerate(columns):
            rows[:, number] = values[first : first + len(rows)]
        finite = np.isfinite(rows)
        if not finite.all():
            _replace_missing(rows, finite, features, null, Place(place.path, place.first + first))
        X[places[first : first + len(rows)]] = rows


def _replace_missing(rows, finite, features: Sequence[str], null: np.float32, place: Place) -> None:
    refused = ~finite if np.isinf(null) else np.isinf(rows)
    if refused.any():
        row, column = map(int, np.argwhere(refused)[0])
        found = rows[row, column]
        problem = (
            "has no value; fill it, or read it by --missing (in Python, missing=) nan, query_min or a number"
            if np.isnan(found)
            else f"found {found}, expected a finite number that fits float32 (at most 3.4e38)"
        )
        raise place.error(features[column], row, problem)
    rows[~finite] = null
